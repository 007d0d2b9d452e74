"""Array ops beside elementwise ones and reductions: sorting, sets, running sums, diagonals, repeats, checks."""

import numpy as np
import pytensor.tensor as pt
import pytest
from pytensor.raise_op import Assert, CheckAndRaise
from pytensor.tensor.basic import alloc_diag
from pytensor.tensor.extra_ops import FillDiagonal, FillDiagonalOffset

import ptg
from harness import ALL, FLOATS, INTS, OPSETS, SIZES, UINTS, Compiled, check, values, variable
from ptgc import _lib
from ptgc._printer import print_graph

INTEGERS = INTS + UINTS


def refused(build, *words):
    """The graph must not compile, with a message that has these words."""
    with pytest.raises(AssertionError) as e:
        build()
    for w in words:
        assert w in str(e.value)


ONES = ", ".join(["1"] * 64)


@pytest.mark.parametrize("params, body", [
    (f"a: float64[{ONES[:98]}], b: float64[{ONES[:98]}]", "KroneckerProduct(a, b)"),
    (f"a: complex64[{ONES}]", "a * a"),
    (f"a: complex64[{ONES}]", "Real(a)"),
    (f"a: float64[{ONES}]", "Softmax{axis=()}(a)"),
    (f"a: float64[{ONES}], b: float64[5]", "SearchsortedOp(b, a)"),
    (f"a: int64[{ONES}], b: float64[5, 5]", "b[a, a]"),
    (f"a: int64[{ONES}], b: float64[5, {ONES[:-3]}]", 'Choose{mode="clip"}(a, b)'),
    (f"a: float64[{ONES}]", "RFFTOp(a, int64([8]))"),
])  # fmt: skip
def test_more_dims_than_there_are(params, body):
    """What needs one more axis on the way is refused."""
    for opset in (13, 18):
        with pytest.raises(AssertionError, match=r"at most 6[34]|more than 64"):
            ptg.compile(f"graph g({params}) -> (y) {{ y = {body} }}", opset=opset)


@pytest.mark.parametrize("op", ["AllocDiag", "ExtractDiag"])
@pytest.mark.parametrize("offset", [-(2**63), -(2**31) - 1, 2**31, 2**63 - 1])
def test_diagonals_that_no_matrix_has(op, offset):
    """2^62 times a length of 4 would be 0."""
    with pytest.raises(AssertionError, match="the offset .* is more than NumPy takes"):
        ptg.compile(f"graph g(x: float64[n{', n' if op == 'ExtractDiag' else ''}]) -> (y) {{ y = {op}{{offset={offset}}}(x) }}")


def test_as_many_dims_as_there_are():
    for body in ("a", "a + a", "Sum{axes=None}(a)", "Exp(a[0:1])"):
        ptg.compile(f"graph g(a: float64[{ONES}]) -> (y) {{ y = {body} }}")
    ptg.compile(f"graph g(a: complex64[{ONES}]) -> (a) {{ }}")
    with pytest.raises(AssertionError, match="more than 64"):
        ptg.compile(f"graph g(a: int32[{ONES}]) -> (y) {{ y = a & a }}", opset=13)


def test_assert():
    for dtype, rank in (("float64", 2), ("float32", 0), ("int64", 1), ("bool", 1)):
        x, c = variable(dtype, (2,) * rank, True, "x"), pt.scalar("c", dtype="bool")
        f = Compiled([x, c], [Assert("no")(x, c)])
        for size in SIZES:
            f.run(values(dtype, (size,) * rank), True)
        f.raises(values(dtype, (2,) * rank), False)
    x = pt.vector("x")
    f = Compiled([x], [CheckAndRaise(ValueError, "neg")(x, pt.all(x >= 0), x.sum() < 9)])
    f.run([1.0, 2.0])
    f.run([])
    f.raises([-1.0])
    f.raises([8.0, 2.0])
    n = pt.scalar("n", dtype="int64")
    f = Compiled([x, n], [pt.zeros(Assert("n")(n, n > 1)) + x])
    f.run([1.0, 2.0], 2)
    f.raises([1.0], 1)


def test_assert_on_sizes():
    x, y = pt.vector("x"), pt.vector("y")
    size = Assert("long")(x.shape[0], pt.ge(y.shape[0], 2))
    f = Compiled([x, y], [pt.arange(size), x * 2])
    f.run([1.0, 2.0], [1.0, 2.0])
    f.raises([1.0, 2.0], [1.0])


@pytest.mark.parametrize("dtype", ALL)
def test_nonzero(dtype):
    for rank in (1, 3):
        check(lambda x: pt.nonzero(x), [(dtype, rank)])


@pytest.mark.parametrize("dtype", ("int64", "uint64") + FLOATS)
def test_cum(dtype):
    """Every step is rounded, in the order of the elements: the bits are NumPy's."""

    def data(d, shape, seed):
        return values(d, shape, seed, -3, 3) if d != "uint64" else values(d, shape, seed)

    exact = dict(ulp=dict.fromkeys(FLOATS, 0))
    for rank in (1, 2, 3):
        for axis in range(rank):
            check(lambda x: (pt.cumsum(x, axis), pt.cumprod(x, axis)), [(dtype, rank)], data=data, **exact)
    check(lambda x: (pt.cumsum(x), pt.cumprod(x)), [(dtype, 2)], data=data, **exact)
    if dtype in FLOATS:
        x = variable(dtype, (300,), True, "x")
        Compiled([x], [pt.cumsum(x), pt.cumprod(x)]).run(values(dtype, (300,), 1, -1, 1.5), **exact)
        Compiled([x], [pt.cumsum(x[:1])]).run([-0.0], **exact)


def test_cum_special():
    for op in (pt.cumsum, pt.cumprod):
        x = pt.dvector("x")
        c = Compiled([x], [op(x)])
        c.run([1.0, -0.0, 2, np.inf, -1, -np.inf, 3, np.nan, 1])
        c.run([-0.0, -0.0])
        x = pt.lvector("x")
        c = Compiled([x], [op(x)])
        c.run([2**62, 2**62, 2**62, 3, -(2**63)])


@pytest.mark.parametrize("dtype", [d for d in ALL if d not in ("int64", "uint64", *FLOATS)])
def test_cum_lies(dtype):
    for op in (pt.cumsum, pt.cumprod):
        x = variable(dtype, (3,), True, "x")
        refused(lambda: Compiled([x], [op(x)], (18,)), "int64")
        Compiled([x], [op(x.astype("int64"))]).run(values(dtype, (9,)))


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


@pytest.mark.parametrize("dtype", ("float64", "int8", "bool"))
def test_join_split_dims(dtype):
    for start in range(4):
        for n in range(4 - start):
            check(lambda x: pt.join_dims(x, start, n), [(dtype, 3)], sizes=(1, 2, 7))
    for dynamic in (False, True):
        x, s = variable(dtype, (6, 4, 6), dynamic, "x"), pt.lvector("s")
        out = [pt.split_dims(x, (2, 3), 0), pt.split_dims(x, (3, 1, 2), 2), pt.split_dims(x, (-1, 2), 1)]
        c = Compiled([x], out)
        c.run(values(dtype, (6, 4, 6)))
        y = variable(dtype, (6, 1), dynamic, "y")
        c = Compiled([y], [pt.split_dims(y, (), 1)])
        c.run(values(dtype, (6, 1)))
        s = pt.tensor("s", shape=(2,), dtype="int64")
        c = Compiled([x, s], [pt.split_dims(x, s, 2)])
        for v in ([2, 3], [-1, 3], [6, 1]):
            c.run(values(dtype, (6, 4, 6)), v)
        c.raises(values(dtype, (6, 4, 6)), [4, 2])
    x = variable(dtype, (0, 4), True, "x")
    Compiled([x], [pt.split_dims(x, (0, 3), 0), pt.split_dims(x, (2, 2), 1)]).run(values(dtype, (0, 4)))


@pytest.mark.parametrize("dtype", ALL)
def test_diagonals(dtype):
    shapes = [(0, 0), (1, 1), (2, 2), (7, 7), (2, 5), (5, 2), (0, 3), (3, 0), (1, 4)]
    some = dtype in ("float64", "bool")
    for k in (0, 1, -1, 2, -3, 9, -9) if some else (1, -1):
        for dynamic in (False, True):
            for shape in shapes if some else shapes[3:5]:
                x = variable(dtype, shape, dynamic, "x")
                Compiled([x], [pt.diagonal(x, k)], OPSETS if dtype == "bool" else (13, 26)).run(values(dtype, shape))
    for dynamic in (False, True):
        x = variable(dtype, (2, 3, 4), dynamic, "x")
        out = [pt.diagonal(x, k, a, b) for k in (0, 1, -1) for a, b in ((0, 1), (0, 2), (1, 2), (2, 0), (1, 0))]
        Compiled([x], out).run(values(dtype, (2, 3, 4)))
    for k in (0, 1, -1, 3, -3):
        check(lambda x: pt.diag(x, k), [(dtype, 1)], zero_sign=False, sizes=SIZES if k < 3 else (2,))
    check(lambda x: alloc_diag(x, offset=1, axis1=0, axis2=2), [(dtype, 2)], zero_sign=False)
    check(lambda x: alloc_diag(x, offset=-2, axis1=1, axis2=2), [(dtype, 2)], sizes=(2,), zero_sign=False)
    check(lambda x: alloc_diag(x, offset=0, axis1=0, axis2=1), [(dtype, 3)], sizes=(2,), zero_sign=False)


@pytest.mark.parametrize("dtype", ALL)
def test_fill_diagonal(dtype):
    shapes = [(0, 0), (1, 1), (7, 7), (2, 5), (5, 2), (0, 3), (3, 0)]
    shapes = shapes if dtype in ("float64", "bool") else shapes[3:4]
    for dynamic in (False, True):
        for shape in shapes:
            x, v, k = variable(dtype, shape, dynamic, "x"), pt.scalar("v", dtype=dtype), pt.scalar("k", dtype="int32")
            Compiled([x, v], [FillDiagonal()(x, v)]).run(values(dtype, shape), 1)
            if shape[1] == 0:
                continue
            c = Compiled([x, v, k], [FillDiagonalOffset()(x, v, k)], (13, 26))
            for offset in range(-8, 9):
                c.run(values(dtype, shape), 1, offset)
    x, v = pt.tensor("x", shape=(3, 3, 3), dtype=dtype), pt.scalar("v", dtype=dtype)
    Compiled([x, v], [FillDiagonal()(x, v)]).run(values(dtype, (3, 3, 3)), 1)
    x = pt.tensor("x", shape=(None, None, None), dtype=dtype)
    c = Compiled([x, v], [FillDiagonal()(x, v)], (13, 26))
    for size in (0, 1, 4):
        c.run(values(dtype, (size,) * 3), 1)
    c.raises(values(dtype, (3, 3, 2)), np.array(1, dtype))
    c.raises(values(dtype, (1, 2, 2)), np.array(1, dtype))


@pytest.mark.parametrize("dtype", ALL)
def test_repeat(dtype):
    if dtype == "uint64":  # PyTensor refuses it
        return
    for rank in (1, 2):
        for axis in range(rank):
            check(lambda x: pt.repeat(x, 3, axis), [(dtype, rank)], sizes=(0, 1, 7))
    for dynamic in (False, True):
        x, r = variable(dtype, (3, 4), dynamic, "x"), pt.vector("r", dtype="int64")
        c = Compiled([x, r], [pt.repeat(x, r, 1)])
        for v in ([1, 2, 0, 3], [0, 0, 0, 0], [1, 1, 1, 1], [5, 0, 0, 0]):
            c.run(values(dtype, (3, 4)), v)
        c.raises(values(dtype, (3, 4)), [1, 2, -1, 1])
        Compiled([x], [pt.repeat(x, [1, 2, 0, 3], 1), pt.repeat(x, np.array([2]), 1)]).run(values(dtype, (3, 4)))
    x, r = variable(dtype, (7,), True, "x"), pt.vector("r", dtype="int8")
    c = Compiled([x, r], [pt.repeat(x, r, 0)])
    c.run(values(dtype, (0,)), [])
    c.run(values(dtype, (2,)), [0, 1])
    x, r = variable(dtype, (7,), True, "x"), pt.tensor("r", shape=(1,), dtype="int64")
    c = Compiled([x, r], [pt.repeat(x, r, 0)])
    c.run(values(dtype, (3,)), [2])
    c.run(values(dtype, (3,)), [0])


def nan_data(d, shape, seed):
    v = values(d, shape, seed)
    if np.dtype(d).kind == "f" and v.size > 4:
        rng = np.random.default_rng(seed)
        v.ravel()[rng.integers(0, v.size, v.size)] = rng.choice([np.nan, np.inf, -np.inf, 1, 1, 2], v.size)
    return v


@pytest.mark.parametrize("dtype", ALL)
def test_sort(dtype):
    for rank in (1, 2, 3):
        for axis in range(rank):
            check(lambda x: (pt.sort(x, axis), pt.argsort(x, axis, kind="stable")), [(dtype, rank)], data=nan_data, zero_sign=False)
    check(lambda x: (pt.sort(x, None), pt.argsort(x, None, kind="mergesort")), [(dtype, 2)], data=nan_data, zero_sign=False)
    x = variable(dtype, (200,), True, "x")
    c = Compiled([x], [pt.sort(x), pt.argsort(x, kind="stable"), x[pt.argsort(x)]])
    for seed in range(5):
        c.run(nan_data(dtype, (200,), seed), zero_sign=False)


@pytest.mark.parametrize("dtype", ALL)
def test_unique(dtype):
    for rank in (1, 2):
        check(lambda x: pt.unique(x), [(dtype, rank)], data=nan_data, zero_sign=False)
        check(lambda x: pt.unique(x, True, True, True), [(dtype, rank)], data=nan_data, zero_sign=False)
        check(lambda x: pt.unique(x, False, True, False), [(dtype, rank)], data=nan_data, zero_sign=False)
    x = variable(dtype, (200,), True, "x")
    c = Compiled([x], list(pt.unique(x, True, True, True)))
    for seed in range(5):
        c.run(nan_data(dtype, (200,), seed), zero_sign=False)
    x = variable(dtype, (3, 3), True, "x")
    for axis in (0, 1):
        c = Compiled([x], list(pt.unique(x, True, True, True, axis=axis)))
        v = values(dtype, (5, 4))
        v[3] = v[1]
        v[:, 2] = v[:, 0]
        c.run(v, zero_sign=False)


@pytest.mark.parametrize("dtype", FLOATS)
def test_unique_slices_of_floats(dtype):
    """Slices with a NaN are all different; NaN comes last, of float16 first."""
    rng = np.random.default_rng(0)
    for rank, axis in ((1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2)):
        x = variable(dtype, (2, 3, 4)[:rank], True, "x")
        c = Compiled([x], list(pt.unique(x, True, True, True, axis=axis)), (13, 18))
        for shape in ((2, 3, 2), (5, 3, 1), (6, 1, 2), (1, 1, 1)):
            for pool in ([0, 1, 2.5], [0, 1, np.nan], [np.nan, np.inf, -np.inf]):
                c.run(rng.choice(np.array(pool, dtype), shape[:rank]), zero_sign=False)


@pytest.mark.parametrize("dtype", ALL)
def test_searchsorted(dtype):
    for other in sorted({dtype, "float64"}):
        for side in ("left", "right"):
            for rank in (0, 1, 2):
                x, v = variable(dtype, (3,), True, "x"), variable(other, (2, 3)[:rank], True, "v")
                s = pt.lvector("s")
                c = Compiled([x, v], [pt.searchsorted(x, v, side)], (13, 18, 26))
                d = Compiled([x, v, s], [pt.searchsorted(x, v, side, s)], (18,)) if rank else c
                for n in SIZES:
                    u, w = nan_data(dtype, (n,), n), nan_data(other, (5, 4)[:rank], 3)
                    c.run(np.sort(u), w)
                    if rank:
                        d.run(u, w, np.argsort(u))


def test_bartlett():
    for dtype in INTEGERS:
        m = pt.scalar("m", dtype=dtype)
        c = Compiled([m], [pt.bartlett(m)])
        for k in (0, 1, 2, 3, 7, 8):
            c.run(k)
    m = pt.lscalar("m")
    Compiled([m], [pt.bartlett(m)]).run(-3)


def test_assert_for_the_specification():
    """ONNX itself has nothing that fails on purpose: the check is left out, with a warning."""
    x = variable("float64", (3,), True, "x")
    c = Compiled([x], [Assert("no")(x, pt.all(x > 0))], (18,), target="onnx")
    graph = print_graph(c.inputs, c.outputs)
    r = _lib.compile_text(graph.text, tensors=graph.tensors, opset=18, target="onnx", flags=[])
    assert any("left out" in str(d) for d in r.warnings)


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "uint16", "float64"])
@pytest.mark.parametrize("shape,axis", [((3, 0), 0), ((0, 3), 1), ((3, 2, 0), 1), ((0, 3), 0), ((4, 2), 0), ((2, 5), 1)])
def test_unique_slices_without_elements(dtype, shape, axis):
    """ONNX Runtime's Unique ends the process there."""
    v = np.arange(np.prod(shape)).reshape(shape).astype(dtype) // 3 if dtype != "bool" else np.ones(shape, bool)
    for dynamic in (False, True):
        x = variable(dtype, shape, dynamic, "x")
        c = Compiled([x], list(pt.unique(x, True, True, True, axis=axis)), (13, 18, 26))
        c.run(v.astype(dtype), zero_sign=False)


@pytest.mark.parametrize("rows", [None, 3, 1, 0])
def test_one_repeat_for_all(rows):
    """A vector of repeats that turns out to have one element is stretched; one row for many repeats is not."""
    x, r = pt.tensor("x", dtype="float64", shape=(rows, 2)), pt.lvector("r")
    c = Compiled([x, r], [pt.repeat(x, r, axis=0)], (13, 18))
    for n in (0, 1, 3) if rows is None else (rows,):
        for repeats in ([2], [0], [2] * n):
            c.run(np.ones((n, 2)), repeats)
        c.raises(np.ones((n, 2)), [2, 0, 0, 0])
        c.raises(np.ones((n, 2)), [1, 0] if n != 1 else [])
