"""Reductions of PyTensor: axes, dtypes, accumulators, empty axes, NaN, wraparound; all opsets."""

import numpy as np
import onnx
import onnxruntime as ort
import ptg
import ptgc
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.tensor.math import All, Any, Argmax, Max, Min, Prod, Sum
from pytensor.tensor.special import LogSoftmax, Softmax

from harness import ALL, BOOL, FLOATS, INTS, PYTHON, QUIET, UINTS, Compiled, check, compare, corner_values, values, variable
from opsets import SOME_OPSETS

pytestmark = pytest.mark.sampled

INTEGERS = INTS + UINTS
AXES = (None, (0,), (1,), (0, 2), (0, 1, 2), ())
# absolute: terms of sums in another order, which cancel (float32 adds up in float64: rounded once, like NumPy's)
NEAR = {"float16": 1e-3, "float32": 2.5e-7, "float64": 1e-15}


def arrays(rank, axes, sizes, rng):
    for size in sizes:
        yield tuple(size + (k if size > 1 else 0) for k in range(rank))


def cases(op, dtype, axes=AXES, rank=3, sizes=(1, 2, 7), data=None, kinds=(False, True), **tolerance):
    for axis in axes:
        check(op(axis), [(dtype, rank)], sizes=sizes, data=data, kinds=kinds, **tolerance)


def total(axis, **kw):
    return lambda x: Sum(axis=axis, **kw)(x)


def moderate(dtype, shape, seed):
    """Sums of these do not depend on the order too much."""
    v = values(dtype, shape, seed, **({"low": -3, "high": 3} if np.dtype(dtype).kind == "f" else {}))
    return v


@pytest.mark.parametrize("dtype", ALL)
def test_sum(dtype):
    axes = AXES if dtype in ("float64", "float32", "int64", "int8", "uint64", "bool") else (None, (1,))
    cases(total, dtype, axes, sizes=(0, 1, 2, 7), data=moderate, atol=2e-14 if dtype == "float64" else 0)  # 504 terms up to 3


@pytest.mark.parametrize("n", (1, 2, 4, 5, 6))
@pytest.mark.parametrize("dtype", ("float64", "float16", "int8", "uint64", "bool"))
def test_list_of_conditions(dtype, n):
    """All and Any of scalars, of which one may be a constant: what PyMC checks of a distribution's parameters"""
    x = [variable(dtype, (), True, f"x{i}") for i in range(n)]
    c = Compiled(x, [op(pt.stack(v)) for v in (x, [*x, pt.constant(True)], [pt.constant(0, dtype), *x]) for op in (pt.all, pt.any)])
    corners = [0, 1, *((np.nan, -0.0, -np.inf) if np.dtype(dtype).kind == "f" else ())]
    for k in range(2 * n + 4):
        c.run(*(corners[(k >> i & 1) + (2 if k % 3 == 2 and len(corners) > 2 else 0)] for i in range(n)))


@pytest.mark.parametrize("dtype", FLOATS)
def test_sum_corners(dtype):
    x = variable(dtype, (3, 5), True, "x")
    c = Compiled([x], [x.sum(1)])
    inf, nan = np.inf, np.nan
    c.run(np.array([[1, inf, 2], [inf, -inf, 1], [nan, 1, 2], [-0.0, -0.0, -0.0]], dtype), zero_sign=False)


@pytest.mark.parametrize("dtype", ALL)
def test_prod(dtype):
    def build(axis):
        return lambda x: Prod(axis=axis)(x)

    axes = AXES if dtype in ("float64", "int64", "uint8", "bool") else (None, (1,))
    cases(build, dtype, axes, sizes=(0, 1, 2), data=moderate)
    cases(build, dtype, [(0,)], rank=1, sizes=(0, 1, 7), data=moderate)


@pytest.mark.parametrize("dtype", ALL)
def test_mean(dtype):
    def build(axis):
        return lambda x: pt.mean(x, axis=axis)

    axes = (None, 0, 1, (0, 2), -1) if dtype in ("float64", "int64", "bool") else (None, 1)
    cases(build, dtype, axes, sizes=(0, 1, 2, 7), data=moderate, atol=1e-15 if dtype == "float64" else 0)


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("op", [Max, Min])
def test_extremes(op, dtype):
    def build(axis):
        return lambda x: op(axis=axis)(x)

    axes = AXES[:-1] if dtype in ("float64", "int64", "uint64", "int8", "bool") else (None, (1,))
    cases(lambda axis: build(axis or (0, 1, 2)), dtype, axes)
    x = variable(dtype, (2, 3), True, "x")
    c = Compiled([x], [op(axis=(0,))(x), op(axis=(1,))(x), op(axis=(0, 1))(x)])
    v = corner_values(dtype)
    c.run(np.tile(v, (3, 1)), zero_sign=False)
    c.run(v[:, None], zero_sign=False)
    if np.dtype(dtype).kind == "f":
        for at in range(3):  # wherever the NaN stands
            a = np.array([[1, 2, 3], [np.inf, -np.inf, 0], [np.inf, np.inf, np.inf]], dtype)
            a[:, at] = np.nan
            c.run(a)
            c.run(a.T)
        c.run(np.array([[-np.inf, -np.inf], [np.inf, np.inf]], dtype))


@pytest.mark.parametrize("dtype", ALL)
def test_argmax(dtype):
    def build(axis):
        return lambda x: Argmax(axis=axis)(x)

    axes = (None, (0,), (1,), (0, 2), (0, 1, 2)) if dtype in ("float64", "int64", "uint64", "int8", "bool") else (None, (1,))
    cases(lambda axis: build(axis or (0, 1, 2)), dtype, axes)
    x = variable(dtype, (2, 3), True, "x")
    c = Compiled([x], [Argmax(axis=(0,))(x), Argmax(axis=(1,))(x), Argmax(axis=(0, 1))(x)])
    v = corner_values(dtype)
    c.run(np.tile(v, (3, 1)))
    c.run(v[:, None])
    c.run(np.ones((3, 4), dtype))
    if np.dtype(dtype).kind == "f":
        for at in range(3):
            a = np.array([[1, 2, 3], [np.inf, -np.inf, 0], [np.inf, np.inf, np.inf]], dtype)
            a[:, at] = np.nan
            a[1:, 2] = np.nan
            c.run(a)


@pytest.mark.parametrize("opset", SOME_OPSETS)
@pytest.mark.parametrize("dtype", ALL)
def test_argmin(dtype, opset):
    """A fn of the library; PyTensor has no such op. The least integer is its own negative, so pt.argmin never finds it."""
    graph = f"graph g(x: {dtype}[n, m]) -> (a, b, c) {{\n  a = Argmin{{axis=0}}(x)\n  b = Argmin{{axes=[1]}}(x)\n  c = Argmin(x)\n}}"
    model = ptg.compile(graph, opset=opset)
    x = variable(dtype, (2, 3), True, "x")
    f = pytensor.function([x], [pt.argmin(x, axis=0), pt.argmin(x, axis=1), pt.argmin(x)], mode=PYTHON)
    v = corner_values(dtype)
    arrays = [np.tile(v, (3, 1)), v[:, None], v[::-1][:, None], np.ones((3, 4), dtype), values(dtype, (1, 1)), values(dtype, (7, 5))]
    if np.dtype(dtype).kind == "f":
        arrays.append(np.array([[1, np.nan, 2], [np.inf, -np.inf, np.nan], [-0.0, 0.0, 1]], dtype))
    for a in arrays:
        for got, want in zip(ptg.run(model, a), f(a), strict=True):
            compare(got, want, "argmin")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("math", ["standard", "native"])
def test_argmax_at_other_levels(math, dtype):
    """In fewer nodes. At standard, a NaN is found where no infinity is in its row; a vector finds it in any case. At native
    it is found by the releases of ONNX Runtime whose ArgMax finds it."""
    x, v = variable(dtype, (2, 3), True, "x"), variable(dtype, (3,), True, "v")
    for outputs, nodes in (([Argmax(axis=(1,))(x)], 3), ([Argmax(axis=(0,))(x)], 3)):
        c = Compiled([x], outputs, math=math)
        assert len(c.model.graph.node) == (nodes if math == "standard" else 1)
        c.run(np.array([[1, 2, 2], [3, 1, 3], [-np.inf, -np.inf, -1], [np.inf, 0, np.inf]], dtype))
        c.run(np.ones((1, 1), dtype))
        if math == "standard":
            c.run(np.array([[1, np.nan, 2], [np.nan, 5, np.nan], [1, 2, 3]], dtype))
    c = Compiled([v], [Argmax(axis=(0,))(v)], math=math)
    for n in (1, 2, 9, 100):
        a = values(dtype, (n,), n)
        if math == "native":
            a[np.isnan(a)] = 0
        c.run(a)
        a[n // 2] = np.inf
        c.run(a)
        if math == "standard":
            a[n // 3] = np.nan
            c.run(a)


@pytest.mark.parametrize("dtype", BOOL + INTEGERS)
def test_logic(dtype):
    for op in (All, Any):
        if dtype != "bool":
            check(lambda x: op(axis=(1,))(x.astype("bool")), [(dtype, 2)])
            continue
        cases(lambda axis: lambda x: op(axis=axis)(x), dtype, sizes=(0, 1, 2, 7))
        for v in (0, 1):
            check(lambda x: op(axis=(1,))(x), [(dtype, 2)], data=lambda d, s, k: np.full(s, v, d))


@pytest.mark.parametrize("dynamic", [False, True])
def test_empty_axes(dynamic):
    """Sum 0, Prod 1, Mean NaN, All true, Any false; the other axis may be empty as well."""
    for shape in ((0, 3), (3, 0), (0, 0)):
        for dtype in ("float64", "float32", "float16", "int64", "int8", "uint64", "bool"):
            x = variable(dtype, shape, dynamic, "x")
            ops = [Sum, Prod] + ([All, Any] if dtype == "bool" else [])
            outputs = [op(axis=a)(x) for op in ops for a in ((0,), (1,), (0, 1))]
            outputs += [pt.mean(x, axis=a) for a in (0, 1, None)]
            Compiled([x], outputs).run(np.zeros(shape))


def test_empty_extremes_keep_other_axes():
    """No elements in, none out: only the reduced axis must not be empty."""
    x = variable("float64", (2, 3), True, "x")
    Compiled([x], [Max(axis=(0,))(x), Min(axis=(0,))(x), Argmax(axis=(0,))(x)]).run(np.zeros((3, 0)))


@pytest.mark.parametrize("dtype", ["float64", "int64", "uint8", "bool", "float16"])
@pytest.mark.parametrize("op", [Max, Min, Argmax])
def test_empty_extremes_raise(op, dtype):
    """An axis that is empty only at run time has no maximum: both raise."""
    for axis, shapes in {(0,): [(0, 3), (0, 0)], (1,): [(3, 0), (0, 0)], (0, 1): [(0, 3), (3, 0), (0, 0)]}.items():
        x = variable(dtype, (2, 3), True, "x")
        c = Compiled([x], [op(axis=axis)(x)], SOME_OPSETS)
        for shape in shapes:
            c.raises(np.zeros(shape, dtype))
        c.run(np.ones((2, 3), dtype))


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("op", [Max, Min])
def test_initial(op, dtype):
    """initial=True: an empty axis gives the least value of the dtype, or the largest."""
    for axis in ((1,), (0, 1)):
        x = variable(dtype, (2, 3), True, "x")
        c = Compiled([x], [op(axis=axis, initial=True)(x)], SOME_OPSETS)
        for shape in ((0, 3), (3, 0), (0, 0), (2, 3), (1, 1)):
            c.run(values(dtype, shape), zero_sign=False)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_wrap(dtype):
    """Sums and products wrap in 64 bits and are exact beyond 2^53."""
    i = np.iinfo(dtype)
    big = np.array([i.max, i.max - 1, i.max, 1, 3, i.min, i.max // 3], dtype)
    x = variable(dtype, (3,), True, "x")
    c = Compiled([x], [x.sum(), x.prod(), Sum(axis=(0,), dtype="int64")(x)])
    c.run(big)
    c.run(np.full(100, i.max, dtype))
    y = variable(dtype, (3, 3), True, "y")
    c = Compiled([y], [y.sum(0), y.sum(1), y.prod(0), y.prod(1)])
    c.run(np.tile(big, (4, 1)))
    for shape in ((7,), (4, 7)):
        z = variable(dtype, shape, False, "z")
        Compiled([z], [z.sum(-1), z.prod(-1)]).run(np.broadcast_to(big, shape))


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_exact_beyond_doubles(dtype):
    a = np.array([2**53, 1, 1, 1, 2**55 + 1, 3], dtype)
    x = variable(dtype, (3,), True, "x")
    Compiled([x], [x.sum(), x.max(), x.min(), Argmax(axis=(0,))(x)]).run(a)
    Compiled([x], [x.max(), x.min(), Argmax(axis=(0,))(x)]).run(a[::-1] + np.array(2**62, dtype))


def test_float32_accumulates_in_float64():
    x = variable("float32", (3,), True, "x")
    a = np.full(100000, 0.1, "float32")
    Compiled([x], [x.sum(), x.mean()]).run(a, ulp={"float32": 0})
    y = variable("float32", (3, 3), True, "y")
    Compiled([y], [y.sum(0), y.sum(1), y.mean(0)]).run(np.tile(a, (2, 1)), ulp={"float32": 0})


@pytest.mark.parametrize("math", ["standard", "native"])
@pytest.mark.parametrize("length", [1, 7, 4096, 4097, None])
def test_where_float32_is_summed_up(math, length):
    """At standard up to 4,096 numbers are added in float32, more in float64; at native all in float32. An acc_dtype
    that is written counts."""
    text = f"ptg 1\n\ngraph f(x: float32[{length or 'n'}]) -> (s, m, d) {{ s = Sum(x)\n m = Mean(x)\n d = Sum{{acc_dtype=float64}}(x) }}\n"
    model = ptg.compile(text, math=math)
    s, m, d = ptg.run(model, a := np.random.default_rng(0).uniform(0.5, 1, length or 100_000).astype("float32"))
    close = 1e-7 if math == "standard" and (length or 9999) > 4096 else 2e-6
    assert abs(s / a.sum(dtype="float64") - 1) < close and abs(m / a.mean(dtype="float64") - 1) < close
    assert abs(d / a.sum(dtype="float64") - 1) < 1e-7 and s.dtype == m.dtype == d.dtype == "float32"
    wide = [n for n in onnx.load_from_string(model).graph.node if n.op_type == "Cast" and n.attribute[0].i == 11]
    assert bool(len(wide) > (d is not None)) == (math == "standard" and (length or 9999) > 4096) or len(wide) == 1


@pytest.mark.parametrize("math", ["standard", "native"])
def test_extremes_at_other_levels(math):
    x = variable("float32", (2, 3), True, "x")
    c = Compiled([x], [Max(axis=(1,))(x), Min(axis=(0,))(x)], math=math)
    c.run(np.array([[1, 2, 2], [3, 1, -np.inf]], "float32"))
    if math == "standard":
        c.run(np.array([[1, np.nan, 2], [np.inf, np.nan, -np.inf]], "float32"))
    else:
        assert len(c.model.graph.node) == 2


@pytest.mark.parametrize("dtype", ("int8", "int32", "int64", "uint8", "uint64", "bool", "float16", "float32", "float64"))
def test_dtype_and_acc_dtype(dtype):
    x = variable(dtype, (3, 3), True, "x")
    outputs = []
    for op in (Sum, Prod):
        for out in ("int64", "float32", "float64", "uint64", "int32", "int8", "uint8"):
            for acc in (None, "float64", "int64", "float32", "uint8", "int16"):
                try:
                    o = op(axis=(1,), dtype=out, acc_dtype=acc)(x)
                except TypeError:  # PyTensor refuses it
                    continue
                if np.dtype(acc or out).kind in "iu" and np.dtype(dtype).kind == "f":
                    continue
                outputs.append(o)
    c = Compiled([x], outputs, SOME_OPSETS)
    c.run(values(dtype, (4, 3), 1, low=0, high=5))
    if x.dtype not in FLOATS:  # sums that wrap in the dtype they are added up in
        c.run(values(dtype, (4, 3), 1, low=70, high=100))


def test_keepdims():
    for dynamic in (False, True):
        x = variable("float64", (2, 3, 4), dynamic, "x")
        outputs = []
        for axis in (None, 0, -1, (0, 2), (-3, -1)):
            outputs += [f(x, axis=axis, keepdims=True) for f in (pt.sum, pt.prod, pt.mean, pt.max, pt.min, pt.var)]
            outputs.append(pt.argmax(x, axis=axis, keepdims=True))
        Compiled([x], outputs).run(values("float64", (2, 3, 4), low=-2, high=2), atol=NEAR["float64"])


def test_scalars():
    for dtype in ALL:
        x = variable(dtype, (), False, "x")
        outputs = [x.sum(), x.prod(), x.mean(), x.max(), x.min()]
        c = Compiled([x], outputs, SOME_OPSETS)
        for v in corner_values(dtype):
            c.run(v, zero_sign=False)


def test_size_limits():
    """One element, many elements, many results."""
    x = variable("float64", (5, 5), True, "x")
    c = Compiled([x], [x.sum(0), x.sum(1), x.max(0), x.min(1), Argmax(axis=(1,))(x)], (18,))
    for shape in ((1, 1), (1, 1000), (1000, 1), (33, 65)):
        c.run(values("float64", shape, low=-1, high=1), atol=1e-14)  # 1000 terms


# one Softmax, whose exp is of a rounded difference like NumPy's: as far from the true value (test_grid.py measures both)
SOFTMAX = {"float16": 4, "float32": 4}  # of float16 NumPy rounds each step, here the result alone is


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", [Softmax, LogSoftmax])
def test_softmax(op, dtype):
    def data(d, shape, seed):
        return values(d, shape, seed, low=-30, high=30)

    axes = (0, 1, -1, None, (0, 1), (0, 2))
    for axis in axes if dtype == "float64" else (1, None):
        check(
            lambda x: op(axis=axis)(x), [(dtype, 3)], sizes=(1, 2, 7), data=data,
            ulp=SOFTMAX, atol=NEAR[dtype] if op is LogSoftmax else 0, zero_sign=False,
        )  # fmt: skip
    x = variable(dtype, (3, 3), True, "x")
    inf, nan = np.inf, np.nan
    Compiled([x], [op(axis=1)(x)]).run(
        np.array([[1000, 1000, 0], [-inf, 0, 1], [-inf, -inf, -inf], [inf, 0, 1], [nan, 0, 1]], dtype),
        zero_sign=False,
    )  # fmt: skip
    Compiled([x], [op(axis=1)(x)]).run(np.zeros((0, 3)))


@pytest.mark.parametrize("op", [Softmax, LogSoftmax])
def test_softmax_without_maximum(op):
    """Nothing has no maximum."""
    for axis, shape in ((0, (0, 3)), (1, (3, 0)), (None, (0, 3)), (1, (0, 0))):
        x = variable("float32", (3, 3), True, "x")
        c = Compiled([x], [op(axis=axis)(x)])
        c.run(np.ones((2, 3)))
        c.raises(np.zeros(shape, "float32"))
        for session in Compiled([c.inputs[0]], c.outputs, math="standard").sessions.values():  # -fno-empty-axes
            (got,) = session.run(None, {"x": np.zeros(shape, "float32")})
            assert got.shape == shape
        x = variable("float32", shape, False, "x")
        with pytest.raises(AssertionError, match="no maximum"):
            Compiled([x], [op(axis=axis)(x)], (18,))


@pytest.mark.parametrize("dtype", INTS + UINTS)
@pytest.mark.parametrize("op", [Softmax, LogSoftmax])
def test_softmax_of_integers(op, dtype):
    """PyTensor subtracts the maximum in the integers' own dtype, which wraps. (Written out, as the C code
    that the op's own graph runs finds no maximum of large integers.)"""
    i = np.iinfo(dtype)
    for axis in (0, 1, None):
        x = variable(dtype, (3, 3), True, "x")
        y = x - x.max(axis, keepdims=True)
        sum = pt.exp(y).sum(axis, keepdims=True)
        c = Compiled([x], [op(axis=axis)(x)], oracle=[pt.exp(y) / sum if op is Softmax else y - pt.log(sum)])
        for v in ([[1, 2, 3], [3, 3, 0]], [[i.min, i.max, 0], [1, i.max - 1, 5]], [[i.max, i.max, i.min]], [[7]]):
            c.run(np.array(v, dtype), ulp=SOFTMAX, zero_sign=False)
        c.raises(np.zeros((0, 3) if axis == 0 else (3, 0), dtype))


def test_chains():
    """Reductions of reductions, and of what they are made from."""
    x = variable("float64", (3, 4), True, "x")
    c = Compiled([x], [pt.var(x, axis=0), pt.std(x), (x - x.mean(1, keepdims=True)).sum(0), pt.any(x > 0, axis=1), pt.all(x > 0)])
    c.run(values("float64", (3, 4), low=-2, high=2), atol=NEAR["float64"])


def test_accumulators_of_known_integers():
    """What a constant adds up to is known only if the accumulator holds it."""
    x, small, bools = pt.vector("x"), pt.constant(np.array([100, 100], "int8")), pt.constant(np.array([True, True]))
    outputs = [op(dtype="int64", acc_dtype="int8")(small) + x.shape[0] for op in (Sum, Prod)]
    outputs += [Sum(dtype="int64", acc_dtype="bool")(bools), Sum(dtype="int64", acc_dtype="float16")(pt.stack([x.shape[0], pt.constant(2**11 + 3)]))]
    Compiled([x], outputs).run(np.ones(3))


@pytest.mark.parametrize("dtype", ALL)
def test_logsumexp(dtype):
    def data(d, shape, seed):
        return values(d, shape, seed, -3, 3) if np.dtype(d).kind == "f" else values(d, shape, seed, 0, 3)

    if np.dtype(dtype).kind != "f":
        return
    for rank in (1, 2, 3):
        for axis in [None, 0, -1, (0, rank - 1)]:
            for keep in (False, True):
                if axis == (0, 0):
                    continue
                check(lambda x: pt.logsumexp(x, axis=axis, keepdims=keep), [(dtype, rank)], data=data)


def test_logsumexp_special():
    x = pt.dmatrix("x")
    c = Compiled([x], [pt.logsumexp(x, axis=1)])
    i = np.inf
    c.run([[i, 1.0], [-i, -i], [-i, 2], [i, -i], [np.nan, 1], [1, np.nan], [1000, 1000], [-1000, -1000], [i, i]])
    c.run(np.zeros((3, 0)))
    c.run(np.zeros((0, 3)))


@pytest.mark.parametrize("math", ["exact", "standard", "native"])
def test_the_dtype_of_a_sum_is_that_of_its_digits(math):
    """Sum{dtype=float64} of float32 was added up in float32 below the level exact, and cast."""
    x = np.float32([1, 2**-24, 2**-24, -1])
    text = "graph g(x: float32[4]) -> (s) { s = Sum{dtype=float64}(x) }"
    session = ort.InferenceSession(ptgc.compile(text, math=math), QUIET)
    assert session.run(None, {"x": x})[0] == 2**-23
