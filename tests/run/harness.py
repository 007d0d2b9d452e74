"""Numeric tests against PyTensor: a graph built in PyTensor is evaluated by PyTensor's own Python
code and, printed as .ptg and compiled, by ONNX Runtime. Shapes, dtypes and values must agree.

Every model is also put through onnx.checker (full_check) and strict shape inference, and loaded.
"""

import warnings

import numpy as np
import onnx
import onnxruntime as ort
import pytensor
import pytensor.tensor as pt
from onnx import shape_inference
from pytensor.compile.mode import OPT_MINIMUM, Mode

from opsets import NEWEST, OLDEST
from ptgc import _lib
from ptgc._printer import print_graph
from ptgc.runtime import native, pairs, seen_as

warnings.filterwarnings("ignore")
np.seterr(all="ignore")

OPSETS = (OLDEST, 15, 18, 21, NEWEST)
BOOL, INTS, UINTS = ("bool",), ("int8", "int16", "int32", "int64"), ("uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
ALL = BOOL + INTS + UINTS + FLOATS
SIZES = (0, 1, 2, 7)
ULP = {"float16": 1, "float32": 2, "float64": 4}
PYTHON = Mode("py", OPT_MINIMUM)

QUIET = ort.SessionOptions()
QUIET.log_severity_level = 4
QUIET.intra_op_num_threads = 1


def corner_values(dtype):
    """Values at which conversions go wrong first."""
    d = np.dtype(dtype)
    if d.kind == "b":
        return np.array([False, True])
    if d.kind in "iu":
        i = np.iinfo(d)
        v = [0, 1, 2, 3, 7, 11, i.max, i.max - 1, i.max // 2]
        if d.kind == "i":
            v += [-1, -2, -3, -7, i.min, i.min + 1]
        return np.array(v, d)
    f = np.finfo(d)
    v = [0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3, -3, 0.1, -0.7, 7.25, -11, 100, -100, 0.999, 1.001]
    v += [np.nan, np.inf, -np.inf, f.tiny, -f.tiny, f.eps, f.max, f.min]
    return np.array(v, d)


def values(dtype, shape, seed=0, low=None, high=None):
    """Corner values first, then random ones."""
    rng = np.random.default_rng(seed)
    d, n = np.dtype(dtype), int(np.prod(shape))
    if d.kind == "c":
        return values(f"float{4 * d.itemsize}", (*shape, 2), seed, low, high).view(d)[..., 0]
    if d.kind == "b":
        v = rng.integers(0, 2, n).astype(bool)
    elif d.kind in "iu":
        i = np.iinfo(d)
        lo, hi = (max(i.min, -9) if low is None else low), (min(i.max, 9) if high is None else high)
        v = rng.integers(lo, hi, n, endpoint=True).astype(d)
    else:
        v = (rng.normal(size=n) * 3 if low is None else rng.uniform(low, high, n)).astype(d)
    if low is None and n >= 7:
        corners = corner_values(dtype)
        pick = rng.permutation(len(corners))[: n // 2]
        v[rng.permutation(n)[: len(pick)]] = corners[pick]
    return v.reshape(shape)


def ulps(got, want):
    """Distance in units of the last place; 0 where both are NaN."""
    n = got.dtype.itemsize
    bits, unsigned = {2: (np.int16, np.uint16), 4: (np.int32, np.uint32), 8: (np.int64, np.uint64)}[n]

    def order(a):
        i = np.ascontiguousarray(a).view(bits).reshape(a.shape)  # makes vectors of 0-d arrays
        return np.where(i < 0, np.iinfo(bits).min - i, i)

    a, b = order(got), order(want)
    d = (np.maximum(a, b).view(unsigned) - np.minimum(a, b).view(unsigned)).astype(float)  # exact: it wraps
    same = (np.isnan(got) & np.isnan(want)) | (got == want)
    return np.where(same, 0.0, np.where(np.isnan(got) | np.isnan(want) | np.isinf(got) | np.isinf(want), np.inf, d))


def compare(got, want, what, ulp=None, zero_sign=True, atol=0.0):
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype, f"{what}: {got.dtype}, PyTensor gives {want.dtype}"
    assert got.shape == want.shape, f"{what}: shape {got.shape}, PyTensor gives {want.shape}"
    if got.dtype.kind == "c":
        for part in ("real", "imag"):
            compare(getattr(got, part), getattr(want, part), f"{part} part of {what}", ulp, zero_sign, atol)
        return
    if got.dtype.kind != "f":
        assert np.array_equal(got, want), f"{what}:\n got  {got!r}\n want {want!r}"
        return
    limit = ULP[got.dtype.name] if ulp is None else ulp.get(got.dtype.name, ULP[got.dtype.name])
    d = ulps(got, want)
    bad = (d > limit) & ~(np.abs(got - want) <= atol)
    if zero_sign:
        bad |= (got == 0) & (want == 0) & (np.signbit(got) != np.signbit(want))
    if bad.any():
        at = tuple(np.argwhere(bad)[0])
        raise AssertionError(f"{what}{list(map(int, at))}: {got[at]!r}, PyTensor gives {want[at]!r} ({d[at]} ULP)")


def variable(dtype, shape, dynamic, name):
    """dynamic: dims of length other than 1 are unknown. 1 stays static: PyTensor broadcasts only those."""
    return pt.tensor(name, dtype=dtype, shape=tuple(None if dynamic and s != 1 else s for s in shape))


def check_model(model, data_prop=True):
    """data_prop: what onnx's inference of values takes for a shape must broadcast as one, though floats may be meant"""
    m = onnx.load_from_string(model)
    onnx.checker.check_model(m, full_check=True)
    shape_inference.infer_shapes(m, check_type=True, strict_mode=True, data_prop=data_prop)
    return m


class Compiled:
    """One PyTensor graph as an ONNX model of each opset asked for."""

    def __init__(self, inputs, outputs, opsets=OPSETS, target="ort-cpu", oracle=None, math="exact"):
        """oracle: outputs that PyTensor evaluates in place of `outputs`."""
        self.inputs, self.outputs = inputs, outputs
        graph = print_graph(inputs, outputs)
        self.text, self.names = graph.text, graph.inputs
        self.sessions = {}
        for opset in opsets:
            try:
                model = _lib.compile_text(
                    graph.text, tensors=graph.tensors, opset=opset, target=target, math=math,
                    flags=["Wno-unused"],
                ).model  # fmt: skip
                self.model = onnx.load_from_string(model)
            except Exception as e:
                raise AssertionError(f"opset {opset}: {e}\n{graph.text}") from e
            try:
                check_model(model)
                self.sessions[opset] = ort.InferenceSession(model, QUIET, providers=["CPUExecutionProvider"])
            except Exception as e:
                raise AssertionError(f"opset {opset}: {e}\n{graph.text}") from e
        self.python = pytensor.function(inputs, oracle or outputs, mode=PYTHON, on_unused_input="ignore")

    def run(self, *args, **tolerance):
        args = [np.asarray(a, dtype=i.type.dtype) for a, i in zip(args, self.inputs)]
        want = self.python(*args)
        for opset, session in self.sessions.items():
            got = native(session.run(None, self.feed(args)), seen_as(session, self.outputs))
            for k, (g, w) in enumerate(zip(got, want, strict=True)):
                shapes = ", ".join(f"{a.dtype}{list(a.shape)}" for a in args)
                compare(g, w, f"opset {opset}, output {k} of ({shapes})\n{self.text}", **tolerance)

    def feed(self, args):
        return {n: pairs(a) if a.dtype.kind == "c" else a for n, a in zip(self.names, args)}

    def raises(self, *args):
        """Both must refuse these inputs."""
        for f in [lambda: self.python(*args)] + [
            lambda s=s: s.run(None, self.feed(args)) for s in self.sessions.values()
        ]:
            try:
                f()
            except Exception:
                continue
            raise AssertionError(f"expected an error for {args}\n{self.text}")


def listed(v):
    return list(v) if isinstance(v, list | tuple) else [v]


def check(build, specs, *, opsets=OPSETS, sizes=SIZES, data=None, seed=0, kinds=(False, True), oracle=None, **tolerance):
    """Builds the graph from variables of `specs` [(dtype, rank)] with static and dynamic dims and runs
    it at all sizes. data(dtype, shape, seed) gives other values than `values`."""
    data = data or values
    for dynamic in kinds:
        general = None  # serves all sizes; 1 needs a type of its own
        for size in sizes:
            shapes = [tuple(size + (k if size > 1 else 0) for k in range(rank)) for _, rank in specs]
            unknown = dynamic and size != 1
            c = general if unknown else None
            if c is None:
                inputs = [variable(d, s, unknown, f"x{k}") for k, ((d, _), s) in enumerate(zip(specs, shapes))]
                c = Compiled(inputs, listed(build(*inputs)), opsets, oracle=oracle and listed(oracle(*inputs)))
            if unknown:
                general = c
            c.run(*[data(d, s, seed + k) for k, ((d, _), s) in enumerate(zip(specs, shapes))], **tolerance)
