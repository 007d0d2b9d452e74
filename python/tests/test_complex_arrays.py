"""Complex numbers in ONNX mode and in exported models, which hold them as pairs."""

import numpy as np
import onnxruntime as ort
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.conditional.op import ifelse

import ptgc

DTYPES = ["complex64", "complex128"]


def numbers(dtype, *shape):
    rng = np.random.default_rng(3)
    return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_mode_takes_and_gives_complex_arrays(dtype):
    z, s = pt.tensor("z", dtype=dtype, shape=(None, None)), pt.scalar("s", dtype=dtype)
    f = pytensor.function([z, s], [z * s, s.conj(), pt.abs(z).sum(), z.T], mode="ONNX")
    x, k = numbers(dtype, 2, 3), numbers(dtype)
    for given in (x, x.T, x[:0], x[::-1, ::2], np.asfortranarray(x)):
        got = f(given, k)
        assert [g.dtype for g in got[:2]] == [dtype, dtype] and got[1].shape == ()
        np.testing.assert_allclose(got[0], given * k, rtol=1e-6)
        np.testing.assert_allclose(got[2], np.abs(given).sum(), rtol=1e-6)
        assert np.array_equal(got[1], k.conj()) and np.array_equal(got[3], given.T)
    assert not np.shares_memory(got[3], given)


def test_contiguous_arrays_are_not_copied():
    x = numbers("complex64", 3, 4)
    assert np.shares_memory(ptgc.runtime.pairs(x), x)
    assert ptgc.runtime.pairs(x[0, 0]).shape == (2,) and ptgc.runtime.pairs(x[:0]).shape == (0, 4, 2)


def test_shared_variables_and_updates():
    w = pytensor.shared(numbers("complex128", 3), name="w")
    before, x = w.get_value(), pt.zvector("x")
    f = pytensor.function([x], pt.dot(w, x), updates={w: w * 1j}, mode="ONNX")
    v = numbers("complex128", 3)
    np.testing.assert_allclose(f(v), before @ v)
    np.testing.assert_allclose(w.get_value(), before * 1j)


def test_loops_carry_complex_numbers():
    z, c = pt.zvector("z"), pt.zscalar("c")
    steps = pytensor.scan(lambda v, c: v * v + c, outputs_info=[z], non_sequences=[c], n_steps=4, return_updates=False)
    f = pytensor.function([z, c], [steps, ifelse(pt.gt(pt.real(c), 0), z, z * c)], mode="ONNX")
    x, k = numbers("complex128", 5) / 2, 0.1 - 0.2j
    want = [x]
    for _ in range(4):
        want.append(want[-1] ** 2 + k)
    got = f(x, k)
    np.testing.assert_allclose(got[0], want[1:])
    assert np.array_equal(got[1], x)


@pytest.mark.parametrize("target", ["ort-cpu", "onnx"])
def test_exported_models_have_pairs(tmp_path, target):
    z, x = pt.tensor("z", dtype="complex64", shape=(None, 3)), pt.fvector("x")
    w = pytensor.shared(numbers("complex64", 3), name="w")
    path = tmp_path / "m.onnx"
    out = ptgc.export_onnx([z, x], [z * w + pt.complex(x, x), pt.real(z)], path, target=target, output_names=["y", "re"])
    session = ort.InferenceSession(path)
    assert session.get_inputs()[0].shape[1:] == [3, 2] and session.get_inputs()[0].type == "tensor(float)"
    assert session.get_outputs()[0].shape[1:] == [3, 2] and session.get_outputs()[1].shape[1:] == [3]
    v, u = numbers("complex64", 4, 3), np.float32([1, 2, 3])
    y, re = session.run(None, {"z": np.stack([v.real, v.imag], -1), "x": u})
    np.testing.assert_allclose(y[..., 0] + 1j * y[..., 1], v * w.get_value() + (1 + 1j) * u, rtol=1e-5)
    assert np.array_equal(re, v.real)
    assert out.verify([v, u], rtol=1e-5)
    assert out(v, u)[0].dtype == "complex64"


def test_text_with_complex_files(tmp_path):
    w = numbers("complex128", 2, 3)
    np.save(tmp_path / "w.npy", w)
    (tmp_path / "g.ptg").write_text('graph g(x: complex128[3]) -> (y) { y = Sum{axes=(1,)}(file("w.npy") * x) }')
    model = ptgc.load(tmp_path / "g.ptg")
    x = numbers("complex128", 3)
    np.testing.assert_allclose(model(x) @ [1, 1j], w @ x)
