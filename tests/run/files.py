"""The .ptg files of tests/op and examples, compiled by build/ptgc, and inputs for their models."""

import os
import re
import subprocess
from pathlib import Path

import numpy as np
import onnx

TOP = Path(__file__).resolve().parents[2]
PTGC = TOP / os.environ.get("PTGC", "build/ptgc")


def is_model(path):
    """Files that define no graph hold fns for `use`."""
    return re.search(r"^graph\b", path.read_text(), re.M)


OPS = sorted((TOP / "tests/op").glob("*.ptg"))
EXAMPLES = sorted(p for p in (TOP / "examples").rglob("*.ptg") if is_model(p))


def name_of(path):
    return str(path.relative_to(TOP).with_suffix(""))


def compile_file(path, *options):
    """The model's bytes and None, or None and what the compiler said."""
    own = " ".join(re.findall(r"^# ptgc: (.*)$", path.read_text(), re.M)).split()
    command = [PTGC, *own, "-Wno-unused", *options, path, "-o", "-"]
    run = subprocess.run(command, capture_output=True, timeout=120)
    if run.returncode:
        assert run.returncode == 1, run.stderr.decode()
        return None, run.stderr.decode()
    return run.stdout, None


def sizes_of(dims, given):
    """Lengths for dims as a model names them: `n`, `2*n+1`, a number, or nothing."""
    for d in dims:
        for name in re.findall(r"(?!max\b|min\b)\b[A-Za-z_]\w*", d.dim_param):
            given.setdefault(name, {"height": 5, "width": 6}.get(name, 2 + len(given) % 4))
    return [d.dim_value if d.HasField("dim_value") else eval(d.dim_param or "3", {}, given) for d in dims]


def positive_definite(x):
    return (x @ x.swapaxes(-1, -2) + np.eye(x.shape[-1])).astype(x.dtype)


def generator_words(kind, shape, seed):
    """Words of generators, uint64[shape]"""
    parts = []
    for k in range(int(np.prod(shape[:-1]))):
        state = getattr(np.random, kind)(seed + k).state
        if kind == "Philox":
            of, rest = state["state"], [state["buffer_pos"], state["has_uint32"], state["uinteger"]]
            parts.append([*of["counter"], *of["key"], *state["buffer"], *rest])
        else:
            halves = [w for v in (state["state"]["state"], state["state"]["inc"]) for w in (v >> 64, v % 2**64)]
            parts.append([*halves, state["has_uint32"], state["uinteger"]])
    return np.array(parts, np.uint64).reshape(shape)


def random_inputs(model, values=None, seed=0):
    """Moderate numbers; int64 may be indices, sizes or counts: 0 and 1. `values` are those of some inputs."""
    rng, given, inputs = np.random.default_rng(seed), {}, {}
    model = onnx.load_from_string(model)
    kinds = {p.key.removeprefix("generator:"): p.value for p in model.metadata_props if p.key.startswith("generator:")}
    for i in model.graph.input:
        t = i.type.tensor_type
        shape = sizes_of(t.shape.dim, given)
        dtype = onnx.helper.tensor_dtype_to_np_dtype(t.elem_type)
        if values and i.name in values:
            x = np.asarray(values[i.name], dtype).reshape(shape)
        elif i.name in kinds:
            x = generator_words(kinds[i.name], shape, seed)
        elif dtype.kind in "biu":
            narrow = dtype.kind == "b" or dtype == np.int64
            x = rng.integers(0 if narrow or dtype.kind == "u" else -9, 2 if narrow else 10, shape).astype(dtype)
        else:
            x = rng.uniform(0.2, 0.9, shape).astype(dtype)
            if len(shape) >= 2 and shape[-1] == shape[-2]:
                x = positive_definite(x)
        inputs[i.name] = np.asarray(x)
    return inputs
