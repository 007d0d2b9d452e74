"""What PyTensor's own Python code gives for a graph, node by node, and how far other results may be from it.

`Evaluated.run` bounds, element by element, how much another correct evaluation can differ: 0 for what is rounded
once or not at all, some units of the last place for what is not, the sum of what goes in for sums, and inf where
rounding decides about more than that (a comparison of rounded numbers). What is never bounded by inf here are
lengths: only exact integers may be used as indices, masks and shapes (see graphs.py).
"""

import itertools

import numpy as np
from harness import ULP
from pytensor.compile.builders import OpFromGraph
from pytensor.graph.basic import Constant
from pytensor.graph.traversal import io_toposort
from pytensor.tensor import extra_ops
from pytensor.tensor.basic import Alloc, Join, MakeVector, ScalarFromTensor, Split, TensorFromScalar
from pytensor.tensor.blas import BatchedDot
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.elemwise import DimShuffle, Elemwise
from pytensor.tensor.math import Dot, Max, Min, Prod, Sum
from pytensor.tensor.reshape import JoinDims, SplitDims
from pytensor.tensor.shape import Reshape, Shape, Shape_i, SpecifyShape
from pytensor.tensor.signal.conv import Convolve1d, Convolve2d
from pytensor.tensor.special import LogSoftmax, Softmax
from pytensor.tensor.sort import ArgSortOp, SortOp
from pytensor.tensor.subtensor import AdvancedIncSubtensor, AdvancedSubtensor, IncSubtensor, Subtensor


def eps(dtype):
    return float(np.finfo(dtype).eps) if np.dtype(dtype).kind == "f" else 0.0


def perform(node, values):
    """Results of one node. Equal elements keep their order in an unstable argsort too, as in models: which order
    NumPy gives them depends on the processor."""
    if isinstance(node.op, ArgSortOp) and node.op.kind != "stable":
        node = ArgSortOp("stable", node.op.axis)(*node.inputs).owner
    storage = {v: [values[v]] for v in node.inputs} | {v: [None] for v in node.outputs}
    computed = {v: [v in node.inputs] for v in storage}
    node.op.make_thunk(node, storage, computed, [], impl="py")()
    return [storage[v][0] for v in node.outputs]


def spread(*arrays):
    """Errors of elementwise arguments, in the shape of the result."""
    return np.broadcast_arrays(*arrays)


def grid(x, bits):
    """Is every sum of such numbers exact?"""
    x = np.asarray(x, "float64")
    return np.isfinite(x).all() and (x * 64 == np.rint(x * 64)).all() and np.abs(x).sum() < 2.0 ** (bits - 8)


ERFC = 260  # SciPy's largest error, in the tail; ours is 7
PRECISION = {"float16": 11, "float32": 24, "float64": 53}


def elementwise_error(name, x, out, e):
    """x: arguments as float64, out: the result, e: errors of the arguments."""
    d = eps(out.dtype)
    some = np.zeros(out.shape)
    for k in e:
        some = some + (k > 0)
    mag = np.abs(out.astype("float64"))
    if name in ("Add", "Sub"):
        r = sum(e) + len(x) * d * sum(np.abs(k) for k in x)
    elif name == "Mul" and len(x) == 2:
        r = np.abs(x[0]) * e[1] + np.abs(x[1]) * e[0] + e[0] * e[1] + 2 * d * mag
    elif name == "TrueDiv":
        far = np.abs(x[1]) > 2 * e[1]
        r = np.where(far, 2 * (e[0] + mag * e[1]) / np.where(far, np.abs(x[1]), 1) + 2 * d * mag, np.inf)
    elif name in ("Neg", "Abs", "Maximum", "Minimum", "Identity", "ScalarMaximum", "ScalarMinimum"):
        r = sum(e)
    elif name == "Switch":
        r = np.where(e[0] > 0, np.inf, np.where(x[0] != 0, e[1], e[2]))
    elif name == "Second":
        r = e[1]
    elif name == "Cast" and out.dtype.kind == "f":
        r = e[0] + d * mag
    elif name in ("Sin", "Cos", "Tanh", "ArcTan", "Sigmoid", "Softplus"):
        r = e[0] + 4 * d * mag
    else:
        r = np.full(out.shape, np.inf)
    return np.where(some > 0, np.nan_to_num(r, nan=np.inf, posinf=np.inf), 0.0)


def own_error(node, x, out):
    """Of an op on exact arguments."""
    op, out = node.op, out
    if out.dtype.kind != "f":
        return 0.0
    unit, bits = eps(out.dtype), PRECISION[out.dtype.name]
    mag = np.abs(np.nan_to_num(out.astype("float64"), posinf=0, neginf=0))
    if isinstance(op, Elemwise):
        name = type(op.scalar_op).__name__
        exact = {"Add", "Sub", "Mul", "Neg", "Abs", "Sqr", "Sign", "TrueDiv", "IntDiv", "Mod", "Reciprocal", "Sqrt", "Floor", "Ceil",
                 "Trunc", "RoundHalfToEven", "RoundHalfAwayFromZero", "Switch", "Cast", "Second", "Identity", "Clip",
                 "ScalarMaximum", "ScalarMinimum", "Maximum", "Minimum"}  # fmt: skip
        ulps = ERFC if name == "Erfc" and out.dtype == "float64" else ULP[out.dtype.name] + 1
        return 0.0 if name in exact else ulps * unit * mag + np.finfo(out.dtype).tiny
    if isinstance(op, Sum):
        acc = getattr(op, "acc_dtype", None) or out.dtype.name
        if grid(x[0], min(bits, PRECISION.get(acc, 53))):
            return 0.0
        total = np.sum(np.abs(np.nan_to_num(x[0].astype("float64"), posinf=0, neginf=0)), axis=op.axis if op.axis is None else tuple(op.axis))
        return unit * mag + x[0].size * eps(acc) * total + (x[0].size * unit * total if acc == out.dtype.name else 0)
    if isinstance(op, Prod | extra_ops.CumOp):
        unit = max(unit, eps(getattr(op, "acc_dtype", None) or out.dtype))  # it may add up in fewer bits than it gives
        if isinstance(op, extra_ops.CumOp) and op.mode == "add":
            if grid(x[0], bits):
                return 0.0
            return 2 * x[0].size * unit * np.abs(np.nan_to_num(x[0].astype("float64"), posinf=0, neginf=0)).sum()
        return 2 * x[0].size * unit * mag + np.finfo(out.dtype).tiny
    if isinstance(op, Dot | BatchedDot) or (isinstance(op, Blockwise) and isinstance(op.core_op, Dot)):
        a, b = (np.abs(np.nan_to_num(k.astype("float64"), posinf=0, neginf=0)) for k in x)
        if grid(a, 60) and grid(b, 60) and a.sum() * b.sum() * 4096 < 2.0**bits:
            return 0.0
        if not (np.isfinite(x[0].astype("float64")).all() and np.isfinite(x[1].astype("float64")).all()):
            return np.inf
        return 4 * (x[0].shape[-1] + 2) * unit * np.matmul(a, b) + np.finfo(out.dtype).tiny
    if isinstance(op, Convolve1d | Convolve2d) or (isinstance(op, Blockwise) and isinstance(op.core_op, Convolve1d | Convolve2d)):
        a, b = (np.abs(np.nan_to_num(k.astype("float64"), posinf=0, neginf=0)) for k in x[:2])
        if not (np.isfinite(x[0].astype("float64")).all() and np.isfinite(x[1].astype("float64")).all()):
            return np.inf
        exact = grid(a, 60) and grid(b, 60) and a.sum() * b.sum() * 4096 < 2.0**bits
        return 0.0 if exact else 4 * (a.size + b.size) * unit * a.sum() * b.sum() + np.finfo(out.dtype).tiny
    if isinstance(op, AdvancedIncSubtensor) and not op.set_instead_of_inc and x[0].dtype != x[1].dtype:
        return 4 * x[1].size * unit * np.nan_to_num(np.abs(out.astype("float64"))).max(initial=0)  # rounded at every step
    if isinstance(op, Softmax | LogSoftmax):
        return 16 * x[0].size * unit * (1 + np.abs(x[0].astype("float64")).max(initial=0)) * np.maximum(mag, 1)
    return 0.0


def magnitudes(x):
    return np.nan_to_num(np.abs(x.astype("float64")), posinf=0, neginf=0)


def at_other_levels(math, node, x, out, e, bounds):
    """Bounds of the results below the level exact: functions of float32 are computed in float32, constants are joined,
    sums are in any order. The operator Sigmoid is off by so much at native (accuracy.md)."""
    if isinstance(node.op, STRUCTURAL):
        return bounds
    if isinstance(node.op, Elemwise):
        bounds = [by_corners(node, x, out[0], e)]
    found = []
    for o, b in zip(out, bounds):
        if o.dtype.kind == "f":
            size = magnitudes(o)
            if not isinstance(node.op, Elemwise):
                size = size + max((magnitudes(k).sum() for k in x if k.dtype.kind == "f"), default=0)
            least = 2 * eps(o.dtype) if math == "native" and "Sigmoid" in str(node.op) else np.finfo(o.dtype).tiny
            b = b + 16 * eps(o.dtype) * size + least
        found.append(b)
    return found


def by_corners(node, x, out, e):
    """What an elementwise op makes of the errors of its arguments, by trying those errors."""
    far = np.zeros(out.shape)
    if any(k.any() for k in e):
        wide = [np.where(np.isinf(k), 0, k) for k in e]
        unknown = np.any(np.broadcast_arrays(*[np.isinf(k) for k in e], far)[:-1], axis=0)
        for signs in itertools.product((-1, 1), repeat=len(x)):
            moved = [k + s * w if k.dtype.kind == "f" else k for k, s, w in zip(x, signs, wide)]
            near = perform(node, dict(zip(node.inputs, [k.astype(v.dtype) for k, v in zip(moved, x)])))[0]
            same = (near == out) | ((near != near) & (out != out))
            apart = np.abs(near.astype("float64") - out.astype("float64"))
            apart = np.where(np.isfinite(apart), 2 * apart, np.inf) if out.dtype.kind == "f" else np.inf
            far = np.maximum(far, np.where(same, 0, apart))
        far = np.where(unknown, np.inf, far)
    return far


STRUCTURAL = (DimShuffle, Reshape, Subtensor, Join, Alloc, MakeVector, Split, SpecifyShape, AdvancedSubtensor, ScalarFromTensor,
              TensorFromScalar, JoinDims, SplitDims, extra_ops.Repeat)  # fmt: skip


def errors(node, x, out, e):
    """Bounds of the results of one node, for arguments x with bounds e."""
    op, inexact = node.op, any(k.any() for k in e)
    own = [own_error(node, x, o) for o in out]
    if not inexact:
        return [np.broadcast_to(np.asarray(k, "float64"), o.shape) for k, o in zip(own, out)]
    if isinstance(op, Shape | Shape_i):
        return [np.zeros(o.shape) for o in out]
    if isinstance(op, Elemwise):
        wide = np.broadcast_arrays(*[k.astype("float64") for k in x])
        r = elementwise_error(type(op.scalar_op).__name__, wide, out[0], spread(*e))
        return [r + own[0]]
    setting = isinstance(op, IncSubtensor | AdvancedIncSubtensor)
    if isinstance(op, STRUCTURAL) or (setting and op.set_instead_of_inc):
        values = dict(zip(node.inputs, [k if i in data_inputs(node) else v for i, (k, v) in enumerate(zip(e, x))]))
        return [np.asarray(k, "float64") for k in perform(node, values)]
    if setting:
        return [np.full(o.shape, np.inf if np.isinf(e[0]).any() or np.isinf(e[1]).any() else
                        e[0].max(initial=0) + e[1].sum() + 4 * (1 + x[1].size) * eps(o.dtype) * np.nan_to_num(np.abs(o.astype("float64")), posinf=0).max(initial=0))
                for o in out]  # fmt: skip
    if isinstance(op, Sum) and out[0].dtype.kind == "f":
        return [np.sum(e[0], axis=None if op.axis is None else tuple(op.axis)) + own[0]]
    if isinstance(op, Max | Min | SortOp):
        return [np.full(o.shape, e[0].max(initial=0)) for o in out]
    return [np.full(o.shape, np.inf) for o in out]


def data_inputs(node):
    """Which arguments of a structural op are data, and not lengths or indices."""
    op = node.op
    if isinstance(op, Join | MakeVector):
        return range(len(node.inputs))
    if isinstance(op, IncSubtensor | AdvancedIncSubtensor):
        return (0, 1)
    return (0,)


NEGATIVE_ZERO = {"ScalarMaximum", "ScalarMinimum", "Maximum", "Minimum"}


def zero_sign_is_free(op, x):
    """Is the sign of a zero in the results not defined? x: the arguments.

    It is for + - * / and for sums of anything: -0 where all terms are -0, else 0, in any order. NumPy begins a sum
    with 0, ONNX Runtime with the first term, so that of nothing but -0 is free. Of products that are added up
    neither says where it begins, and a maximum of 0 and -0 is either one. PyTensor's Alloc makes 0 of one -0.
    """
    negative = [(k == 0) & np.signbit(k) for k in x if k.dtype.kind == "f"]
    if isinstance(op, Alloc | Max | Min | SortOp) or type(op).__name__ in NEGATIVE_ZERO:
        return any(k.any() for k in negative)
    if isinstance(op, Sum):
        return any(np.all(k, axis=None if op.axis is None else tuple(op.axis)).any() for k in negative)
    return isinstance(op, Dot | BatchedDot | Blockwise | Convolve1d | Convolve2d)


class Differs(AssertionError):
    """got, want: the elements that differ"""

    def __init__(self, message, got, want):
        super().__init__(message)
        self.got, self.want = got, want


class Evaluated:
    """Values of all variables, their bounds, and whether the sign of their zeros is sure, at the level of numerics."""

    def __init__(self, math="exact"):
        self.value, self.error, self.blurred, self.math = {}, {}, {}, math

    def set(self, v, value):
        self.value[v], self.error[v], self.blurred[v] = value, np.zeros(np.shape(value)), False

    def run(self, outputs):
        """Evaluates what is new among the ancestors of the outputs."""
        for node in io_toposort([v for v in self.value], outputs):
            for v in node.inputs:
                if isinstance(v, Constant) and v not in self.value:
                    self.set(v, v.data)
            if isinstance(node.op, OpFromGraph):
                self.inner(node)
                continue
            out = perform(node, self.value)
            x = [np.asarray(self.value[v]) for v in node.inputs]
            e = [self.error[v] for v in node.inputs]
            blurred = any(self.blurred[v] for v in node.inputs)
            own = node.op.scalar_op if isinstance(node.op, Elemwise) else node.op
            blurs = zero_sign_is_free(own, x)
            bounds = errors(node, x, [np.asarray(o) for o in out], e)
            if self.math != "exact":
                bounds, blurs = at_other_levels(self.math, node, x, [np.asarray(o) for o in out], e, bounds), True
            if blurred and type(own).__name__ in ("TrueDiv", "Reciprocal", "ArcTan2"):
                by = (x[-1] == 0) | (x[0] == 0 if len(x) == 2 and type(own).__name__ == "ArcTan2" else False)
                bounds = [np.where(np.broadcast_to(by, b.shape), np.inf, b) for b in bounds]
            for v, o, b in zip(node.outputs, out, bounds):
                self.value[v], self.error[v], self.blurred[v] = o, b, blurred or blurs
        for v in outputs:
            if isinstance(v, Constant) and v not in self.value:
                self.set(v, v.data)

    def inner(self, node):
        graph, part = node.op.fgraph, Evaluated(self.math)
        tables = (self.value, part.value), (self.error, part.error), (self.blurred, part.blurred)
        for v, x in zip(graph.inputs, node.inputs, strict=True):
            for mine, its in tables:
                its[v] = mine[x]
        part.run(graph.outputs)
        for v, x in zip(graph.outputs, node.outputs, strict=True):
            for mine, its in tables:
                mine[x] = its[v]
        if isinstance(node.op, LogSoftmax):  # 0 - log(1) or the negated log1p of 0
            self.blurred[node.outputs[0]] = True

    def compare(self, v, got, what, beside=None):
        """beside: (another Evaluated, its variable) which computes the same in another way, whose bounds count too."""
        want, error, blurred = np.asarray(self.value[v]), self.error[v], self.blurred[v]
        assert got.dtype == want.dtype, f"{what}: {got.dtype}, PyTensor gives {want.dtype}"
        assert got.shape == want.shape, f"{what}: shape {got.shape}, PyTensor gives {want.shape}"
        if beside:
            other, w = beside
            if np.shape(other.value[w]) == want.shape:
                error = np.maximum(error, other.error[w])
            blurred |= other.blurred[w]
        if want.dtype.kind != "f":
            bad = (got != want) & (error == 0)
        else:
            with np.errstate(all="ignore"):
                near = np.abs(got.astype("float64") - want.astype("float64")) <= error
            bad = ~((got == want) | (np.isnan(got) & np.isnan(want)) | near | np.isinf(error))
            if not blurred:
                bad |= (error == 0) & (got == 0) & (want == 0) & (np.signbit(got) != np.signbit(want))
        if bad.any():
            at = tuple(np.argwhere(bad)[0])
            raise Differs(f"{what}{list(map(int, at))}: {got[at]!r}, PyTensor gives {want[at]!r} (bound {error[at]})", got[bad], want[bad])
