"""What PyTensor's extra_ops, sort and reductions do at the edges of their arguments: small dtypes, lengths below 0, wrong kinds."""

import time

import numpy as np
import pytensor
import pytensor.scalar as ps
import pytensor.tensor as pt
import pytest
from pytensor.tensor.elemwise import CAReduce
from pytensor.tensor.math import Prod, ProdWithoutZeros, Sum

import ptg
from harness import Compiled, check, values, variable
from opsets import SOME_OPSETS

SOME = SOME_OPSETS


def refused(text, *words):
    with pytest.raises(AssertionError) as e:
        ptg.compile(text)
    for w in words:
        assert w in str(e.value)


def test_sorter_of_another_length():
    x, v, s = pt.dvector("x"), pt.dvector("v"), pt.lvector("s")
    c = Compiled([x, v, s], [pt.searchsorted(x, v, sorter=s)], SOME)
    c.run([3, 1, 2], [2.5, 0], [1, 2, 0])
    for wrong in ([1, 2], [1, 2, 0, 0], []):
        c.raises(np.array([3.0, 1, 2]), np.array([2.5]), np.array(wrong, "int64"))
    for wrong in ([-3, -2, -1], [0, 1, 3]):  # no order counts from the end
        c.raises(np.array([1.0, 2, 3]), np.array([9.0, 2.5, 0.5]), np.array(wrong))
    refused("graph g(x: float64[3], v: float64[2], s: int64[2]) -> (y) { y = SearchsortedOp(x, v, s) }", "as long")


@pytest.mark.parametrize("m", [-3, -1, 0, 1])
def test_bartlett_of_nothing(m):
    x = pt.dvector("x")
    c = Compiled([x], [pt.bartlett(np.array(m)), pt.bartlett(np.array(m)).shape[0] + x.sum()], (18,))
    c.run([1.0, 2])
    n = pt.lscalar("n")
    c = Compiled([n, x], [pt.bartlett(n).shape, pt.bartlett(x.shape[0] + m), pt.bartlett(x.shape[0] + m).shape[0]], SOME)
    c.run(m, [])
    c.run(m, [1.0, 2, 3, 4])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"])
def test_fill_diagonal_offset_wraps(dtype):
    """PyTensor computes where the diagonal ends in the dtype of the offset: it leaves int8 in a matrix of 20 rows."""
    k, v = pt.scalar("k", dtype=dtype), pt.dscalar("v")
    for shape in ((20, 20), (5, 8), (8, 5), (200, 3), (3, 200), (130, 130), (300, 2)):
        for dynamic in (False, True):
            x = variable("float64", shape, dynamic, "x")
            if not dynamic and shape[1] > np.iinfo(dtype).max:
                with pytest.raises(AssertionError, match="does not hold the lengths"):
                    Compiled([x, v, k], [pt.fill_diagonal_offset(x, v, k)], (18,))
                continue
            c = Compiled([x, v, k], [pt.fill_diagonal_offset(x, v, k)], SOME if shape == (20, 20) else (18,))
            for offset in (0, 1, 5, 8, 19, 25, 100, 127, -1, -5, -19, -25, -128):
                if offset >= 0 or dtype[0] == "i":
                    args = values("float64", shape), np.array(1.0), np.array(offset, dtype)
                    try:
                        c.python(*args)
                    except OverflowError:
                        c.raises(*args)
                    else:
                        c.run(*args)
    x = variable("float64", (20, 20), False, "x")
    Compiled([x, v], [pt.fill_diagonal_offset(x, v, 5), pt.fill_diagonal_offset(x, v, -7)]).run(values("float64", (20, 20)), 1)


def test_fill_diagonal_offset_overflows_as_in_pytensor():
    x, k = pt.dmatrix("x"), pt.bscalar("k")
    f = pytensor.function([x, k], pt.fill_diagonal_offset(x, 1.0, k), mode="ONNX")
    with pytest.raises(OverflowError, match="out of bounds"):
        f(np.zeros((3, 200)), 1)


def test_fill_diagonal_offset_beyond_int64():
    refused("graph g(x: float64[3, 3], k: uint64[]) -> (y) { y = FillDiagonalOffset(x, float64(1), k) }", "uint64", "Cast")


def test_what_does_not_fit():
    """PyTensor has no such nodes."""
    refused("graph g(x: int64[3, 3], v: float64[]) -> (y) { y = FillDiagonal(x, v) }", "float64", "int64")
    refused("graph g(x: int8[3, 3], v: int64[]) -> (y) { y = FillDiagonalOffset(x, v, 1) }", "int64", "int8")
    refused("graph g(x: float64[3, 3], k: bool[]) -> (y) { y = FillDiagonalOffset(x, float64(1), k) }", "bool")
    for dtype in ("float64", "bool", "uint64"):
        refused(f"graph g(x: int64[3], r: {dtype}[3]) -> (y) {{ y = Repeat{{axis=0}}(x, r) }}", dtype)
    ptg.compile("graph g(x: float32[3, 3], v: float16[]) -> (y) { y = FillDiagonal(x, v) }")


@pytest.mark.parametrize("order", ["C", "F"])
def test_unravel_index_of_lengths_below_0(order):
    """Two of them make a product above 0."""
    i, d = pt.lvector("i"), pt.lvector("d")
    d2 = pt.specify_shape(d, 2)
    c = Compiled([i, d], list(pt.unravel_index(i, d2, order=order)), SOME)
    c.run([0, 5, 11], [3, 4])
    for wrong in ([-3, -4], [-3, 4], [3, -4]):
        for run in c.sessions.values():
            with pytest.raises(Exception, match="inside of the tensor"):
                run.run(None, c.feed([np.array([0, 5]), np.array(wrong)]))
    text = f'graph g(i: int64[n]) -> (y, z) {{ y, z = UnravelIndex{{order="{order}"}}(i, int64([-3, -4])) }}'
    assert [len(a) for a in ptg.run(text, np.zeros(0, "int64"))] == [0, 0]
    with pytest.raises(Exception, match="inside of the tensor"):
        ptg.run(text, np.array([0, 5]))


def test_sums_of_bools_as_bools():
    x = variable("bool", (3, 4), True, "x")
    for axis in (0, 1, None, ()):
        for dtype in (None, "bool", "int8", "float32"):
            for cls in (Sum, Prod):
                c = Compiled([x], [cls(axis=axis, dtype=dtype, acc_dtype="bool")(x)], SOME)
                c.run(np.array([[True, True, False], [True, False, False]]))
                c.run(np.zeros((2, 0), bool))


class MySum(Sum):
    pass


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "int64", "float16", "float32", "float64"])
def test_dtypes_of_any_reduction(dtype):
    """What Sum takes by itself is not what other reductions do."""
    x = variable(dtype, (3, 4), True, "x")
    data = values(dtype, (3, 4), low=0, high=100)
    for up in (False, True):
        outs = [CAReduce(op, axis=(0,), upcast_discrete_output=up)(x) for op in (ps.add, ps.mul, ps.maximum)]
        Compiled([x], outs, (18,)).run(data)
    Compiled([x], [MySum(axis=(0,))(x), CAReduce(ps.add, axis=(1,), dtype="float64", upcast_discrete_output=True)(x)], (18,)).run(data)


def test_bits_of_no_floats():
    x = variable("int8", (3,), True, "x")
    with pytest.raises(AssertionError, match="AND|And"):
        Compiled([x], [CAReduce(ps.and_, acc_dtype="float64")(x)], (18,))


def test_maxima_by_way_of_floats():
    x = variable("int64", (3,), True, "x")
    out = [CAReduce(op, acc_dtype="float64")(x) for op in (ps.maximum, ps.minimum)]
    Compiled([x], out, (18,)).run([2**53 + 1, 2**53, 3])


@pytest.mark.parametrize("body, like, data", [
    ("Sum{axes=None, dtype=int8}(x)", lambda x: Sum(dtype="int8")(x), [0.6, 0.6, 0.6, 3]),
    ("Sum{axes=None, dtype=float16}(x)", lambda x: Sum(dtype="float16")(x), np.float32([2**24, 1, 1, -(2**24)])),
    ("Sum{axes=None, dtype=float64}(x)", lambda x: Sum(dtype="float64")(x), [2**53, 1, 1, -(2**53)]),
    ("Sum{axes=None, dtype=float32}(x)", lambda x: Sum(dtype="float32")(x), [2**53, 1, 1, -(2**53)]),
    ("Sum{axes=None, dtype=int64}(x)", lambda x: Sum(dtype="int64")(x), np.uint64([2**64 - 1, 2])),
    ("Prod{axes=None, dtype=float32}(x)", lambda x: Prod(dtype="float32")(x), [2**40, 2**40]),
    ("Prod{axes=None, dtype=float32}(x)", lambda x: Prod(dtype="float32")(x), [1e30, 1e30, 1e-30]),
    ("CAReduce{scalar_op=Add, axes=None, dtype=float16}(x)", lambda x: CAReduce(ps.add, dtype="float16", upcast_discrete_output=True)(x),
     np.float32([2**24, 1, 1, -(2**24)])),
])  # fmt: skip
def test_accumulators_come_from_the_input(body, like, data):
    """A dtype that is given is that of the result alone."""
    data = np.asarray(data)
    x = pt.vector("x", dtype=data.dtype.name)
    want = Compiled([x], [like(x)], (18,)).python(data)[0]
    got = ptg.run(f"graph g(x: {data.dtype}[{len(data)}]) -> (y) {{ y = {body} }}", data)
    assert got.dtype == want.dtype and np.array_equal(got, want)


def test_products_without_zeros_of_other_dtypes():
    """Python's numbers do not overflow as they pass by."""
    x = variable("float32", (3,), True, "x")
    for acc in (None, "float32", "float64"):
        Compiled([x], [ProdWithoutZeros(acc_dtype=acc)(x)], (18,)).run([1e30, 1e30, 1e-30])
    h = variable("float16", (12,), True, "h")
    Compiled([h], [ProdWithoutZeros(acc_dtype=acc)(h) for acc in (None, "float16")], (18,)).run([6e4] * 6 + [2e-5] * 6)
    check(ProdWithoutZeros(axis=0, acc_dtype="float32"), [("int16", 2)], data=lambda d, s, seed: values(d, s, seed, 0, 3), sizes=(0, 1, 2))
    for dtype, given in (("int16", 'acc_dtype=int16'), ("int16", "dtype=int32"), ("uint8", "acc_dtype=uint8"), ("float64", "dtype=int64")):
        refused(f"graph g(x: {dtype}[3]) -> (y) {{ y = ProdWithoutZeros{{axes=None, {given}}}(x) }}", "ProdWithoutZeros", dtype)


@pytest.mark.parametrize("name", ["xlogy", "xlog1py"])
@pytest.mark.parametrize("dtypes", [("float64", "float16"), ("float32", "float16"), ("float16", "float16"), ("int64", "float16"), ("float16", "int8"), ("float64", "int8")])
def test_logarithms_in_the_dtype_of_what_they_are_of(name, dtypes):
    """They are rounded there, though the product is wider: one unit of float32 or float16 is many of the result."""
    check(lambda x, y: getattr(pt.special, name)(x, y), [(d, 1) for d in dtypes], data=lambda d, s, seed: values(d, s, seed, 0, 9), sizes=(0, 1, 7),
          opsets=SOME, atol=1e-6 if dtypes[1] == "int8" else 0.0)  # fmt: skip


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_sums_of_float16_are_rounded_before_their_logarithm(name):
    """1 + exp(-9) is 1 in float16, and its logarithm 0."""
    f = getattr(pt.special, name)
    x = variable("float16", (3, 2), True, "x")
    c = Compiled([x], [f(x, axis=0), f(x, axis=1), f(x, axis=None)], SOME)
    c.run(np.array([[0, -9], [5, -3], [60000, -60000]]), zero_sign=False)
    c.run(np.array([[0, np.inf], [np.nan, -3], [-np.inf, -np.inf]]), zero_sign=False)
    rng = np.random.default_rng(0)
    c.run(rng.normal(size=(40, 30)) * 4, zero_sign=False)


def test_repeats_below_0_that_only_a_length_is_read_of():
    x = pt.dmatrix("x")
    c = Compiled([x], [pt.repeat(x, x.shape - np.array([1, 3]), axis=1).shape], SOME)
    c.raises(np.zeros((4, 2)))
    ok = Compiled([x], [pt.repeat(x, x.shape, axis=1).shape], SOME)
    ok.run(np.zeros((4, 2)))


@pytest.mark.parametrize("dtype", ("float64", "float32", "int64", "int32", "uint8", "bool"))
@pytest.mark.parametrize("side", ("left", "right"))
def test_searchsorted_by_bisection(side, dtype):
    """Any lengths, duplicates, NaN at the end, infinities; open and static."""
    rng = np.random.default_rng(3)
    for n in (0, 1, 2, 3, 4, 5, 7, 8, 9, 63, 64, 65, 1000):
        for m in ((), (0,), (1,), (5,), (100,), (3, 40)):
            x, v = rng.normal(size=n) * n / 4, rng.normal(size=m) * n / 3
            if dtype == "int64":
                x, v = x * 2**61 / (n + 1), np.asarray(v * 2**61 / (n + 1))
            x, v = np.sort(x.astype(dtype)), v.astype(dtype)
            if dtype.startswith("float") and n > 4:
                x[-2:], x[-3], x[0] = np.nan, np.inf, -np.inf
                if v.size > 3:
                    v.reshape(-1)[:3] = np.nan, np.inf, -np.inf
            if v.size > 4 and n:
                v.reshape(-1)[3] = x[n // 2]
            want = np.searchsorted(x, v, side)
            dims = ", ".join(["?"] * len(m))
            texts = [f"graph g(x: {dtype}[?], v: {dtype}[{dims}]) -> (y) {{ y = SearchsortedOp{{side='{side}'}}(x, v) }}"]
            if n in (65, 1000) and m in ((100,), (3, 40)):
                texts.append(texts[0].replace("[?]", f"[{n}]", 1).replace(f"[{dims}]", f"[{', '.join(map(str, m))}]"))
            for text in texts:
                for opset in SOME if n in (0, 9, 1000) else (18,):
                    got = ptg.run(text, x, v, opset=opset)
                    assert got.dtype == np.int64 and np.array_equal(got, want), (n, m, opset)


def test_searchsorted_of_many():
    """20,000 in 20,000 take memory for these, not for their product, and no seconds."""
    x, v = np.sort(np.random.default_rng(4).normal(size=(2, 20_000)))
    text = "graph g(x: float64[?], v: float64[?]) -> (y) { y = SearchsortedOp(x, v) }"
    start = time.perf_counter()
    assert np.array_equal(ptg.run(text, x, v), np.searchsorted(x, v))
    assert time.perf_counter() - start < 1
