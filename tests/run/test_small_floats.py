"""Weights of small floats that PyTensor has not: .safetensors files hold them, models get float32."""

import json
import subprocess

import ml_dtypes
import numpy as np
import onnx
import pytest
import ptg

KINDS = {
    "F16": np.float16, "BF16": ml_dtypes.bfloat16, "F8_E4M3": ml_dtypes.float8_e4m3fn, "F8_E5M2": ml_dtypes.float8_e5m2,
    "F8_E8M0": ml_dtypes.float8_e8m0fnu,
}  # fmt: skip


def write(path, tensors):
    """tensors: {name: (dtype's name, array of that dtype)}"""
    header, at = {}, 0
    for name, (kind, a) in tensors.items():
        header[name] = {"dtype": kind, "shape": list(a.shape), "data_offsets": [at, at + a.nbytes]}
        at += a.nbytes
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(a.tobytes() for _, a in tensors.values()))


@pytest.mark.parametrize("kind", KINDS)
def test_every_number(kind, tmp_path):
    dtype = np.dtype(KINDS[kind])
    count = 1 << 8 * dtype.itemsize
    every = np.arange(count).astype(f"uint{8 * dtype.itemsize}").view(dtype)
    write(tmp_path / "w.safetensors", {"w": (kind, every.reshape(2, -1)), "none": (kind, every[:0]), "one": (kind, every[60:61].reshape(()))})
    (tmp_path / "m.ptg").write_text(
        'ptg 1\n\ngraph g(x: float32[]) -> (y, n, o) {\n  y = file("w.safetensors", "w") * x\n'
        '  n = file("w.safetensors", "none") * x\n  o = file("w.safetensors", "one") + 0\n}\n')
    subprocess.run([ptg.PTGC, tmp_path / "m.ptg", "--math=exact"], check=True)
    model = (tmp_path / "m.onnx").read_bytes()
    onnx.checker.check_model(model, full_check=True)
    y, n, o = ptg.run(model, np.float32(1))
    assert n.shape == (0,) and o.shape == ()
    want = every.astype("float32").reshape(2, -1)
    assert y.dtype == "float32" and np.array_equal(y, want, equal_nan=True)
    assert (np.signbit(y) == np.signbit(want))[~np.isnan(want)].all()
    assert o == want.ravel()[60]
