"""lib/elementwise/arithmetic.ptg against NumPy, to the last bit and the sign of zero."""
import numpy as np
import ptg
import pytest

FLOATS = ["float64", "float32", "float16"]
INTS = [s + "int" + b for s in ("", "u") for b in ("8", "16", "32", "64")]
EDGES = [0.0, -0.0, 1, -1, 0.1, -0.1, 2, -2, 3, 0.5, -0.5, 1.5, 2.5, -2.5, 7, -7.5, np.inf, -np.inf, np.nan]


def rng():
    return np.random.default_rng(99)


def graph(op, *dtypes, dims="n"):
    args = ", ".join(f"x{i}: {d}[{dims}]" for i, d in enumerate(dtypes))
    names = ", ".join(f"x{i}" for i in range(len(dtypes)))
    return f"graph g({args}) -> (y) {{\n  y = {op}({names})\n}}\n"


def check(got, want, *args):
    assert got.dtype == want.dtype and got.shape == want.shape
    same = got == want
    if got.dtype.kind == "f":
        same = np.where(np.isnan(want), np.isnan(got), same & (np.signbit(got) == np.signbit(want)))
    bad = np.flatnonzero(~np.atleast_1d(same))
    assert not len(bad), [(*(a[i] for a in args), got[i], want[i]) for i in bad[:5]]


def float_pairs(dtype):
    extra = [1e300, -1e-300, 5e-324, 1e16, 1e15] if dtype == "float64" else []
    v = np.array(EDGES + extra).astype(dtype)
    a, b = (m.ravel() for m in np.meshgrid(v, v))
    r = rng()
    x = (r.normal(size=5000) * 10 ** r.uniform(-3, 3, 5000)).astype(dtype)
    y = (r.normal(size=5000) * 10 ** r.uniform(-2, 2, 5000)).astype(dtype)
    return np.concatenate([a, x, np.round(x)]), np.concatenate([b, y, (np.round(y * 3) / 8).astype(dtype)])


def int_values(dtype, n=3000):
    i = np.iinfo(dtype)
    v = np.array(sorted({i.min, i.min + 1, max(i.min, -1), 0, 1, 2, 3, max(i.min, -7), i.max, i.max - 1}), dtype)
    a, b = (m.ravel() for m in np.meshgrid(v, v))
    r = rng()
    small = r.integers(max(i.min, -20), 20, n).astype(dtype)
    wide = r.integers(i.min, i.max, (3, n), dtype=dtype, endpoint=True)
    return np.concatenate([a, wide[0], wide[1]]), np.concatenate([b, wide[2], small])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", ["Int_div", "Mod"])
def test_float_division(op, dtype):
    a, b = float_pairs(dtype)
    with np.errstate(all="ignore"):
        want = {"Int_div": np.floor_divide, "Mod": np.remainder}[op](a, b)
    check(ptg.run(graph(op, dtype, dtype), a, b), want, a, b)


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("op", ["Int_div", "Mod"])
@pytest.mark.parametrize("opset", [13, 18])
def test_int_division(op, dtype, opset):
    a, b = int_values(dtype)
    with np.errstate(all="ignore"):
        want = {"Int_div": np.floor_divide, "Mod": np.remainder}[op](a, b)
    check(ptg.run(graph(op, dtype, dtype), a, b, opset=opset), want, a, b)


@pytest.mark.parametrize("dtype", FLOATS)
def test_float_power(dtype):
    a, b = float_pairs(dtype)
    with np.errstate(all="ignore"):
        want = np.power(a, b)
    got = ptg.run(graph("Pow", dtype, dtype), a, b)
    fine = np.isfinite(want) & (want != 0)
    check(got[~fine], want[~fine], a[~fine], b[~fine])
    unit = np.spacing(np.abs(want[fine]))
    assert np.max(np.abs(got[fine].astype(np.longdouble) - want[fine].astype(np.longdouble)) / unit) <= 1


@pytest.mark.parametrize("dtype", INTS)
def test_int_power(dtype):
    a, b = int_values(dtype, 500)
    if np.iinfo(dtype).min < 0:
        b = np.where(b < 0, ~b, b)
    with np.errstate(all="ignore"):
        want = np.power(a, b)
    check(ptg.run(graph("Pow", dtype, dtype), a, b), want, a, b)
    check(ptg.run(graph("Pow", dtype, dtype), a[:0], b[:0]), want[:0])


def away(x):
    """In Python's float, as PyTensor does it."""
    d = x.astype("float64")
    return np.where(d > 0, np.floor(d + 0.5), np.ceil(d - 0.5)).astype(x.dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op,f", [("Trunc", np.trunc), ("Roundhalfawayfromzero", away), ("Sign", np.sign),
                                  ("Neg", np.negative), ("Abs", np.abs), ("Isnan", np.isnan), ("Isinf", np.isinf)])
def test_float_unary(op, f, dtype):
    x, _ = float_pairs(dtype)
    t, odd = np.dtype(dtype).type, 2.0 ** np.finfo(dtype).nmant + 1
    x = np.append(x, np.array([np.nextafter(t(0.5), t(0)), odd, odd / 2, 0.5, 1.5], dtype))
    x = np.append(x, -x)
    check(ptg.run(graph(op, dtype), x), f(x), x)


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("op,f", [("Sign", np.sign), ("Neg", np.negative), ("Abs", np.abs), ("Invert", np.invert),
                                  ("Isnan", np.isnan), ("Isinf", np.isinf)])
def test_int_unary(op, f, dtype):
    x, _ = int_values(dtype, 200)
    with np.errstate(all="ignore"):
        check(ptg.run(graph(op, dtype), x), f(x), x)


@pytest.mark.parametrize("dtype", ["bool", *INTS])
@pytest.mark.parametrize("op,f", [("And", np.bitwise_and), ("Or", np.bitwise_or), ("Xor", np.bitwise_xor)])
def test_bits(op, f, dtype):
    a, b = int_values("uint8" if dtype == "bool" else dtype, 200)
    a, b = (a % 2).astype(dtype) if dtype == "bool" else a, (b % 2).astype(dtype) if dtype == "bool" else b
    check(ptg.run(graph(op, dtype, dtype), a, b), f(a, b), a, b)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTS])
def test_clip(dtype):
    a, b = float_pairs(dtype) if "f" in dtype else int_values(dtype, 300)
    c = np.roll(b, 7)
    got = ptg.run(graph("Clip", dtype, dtype, dtype), a, b, c)
    check(got + dtype_zero(got), np.where(a < b, b, np.where(a > c, c, a)) + dtype_zero(got), a, b, c)


def dtype_zero(x):
    return x.dtype.type(0)


@pytest.mark.parametrize("opset", [13, 18, 21, 26])
@pytest.mark.parametrize("op", ["Int_div", "Mod", "Pow"])
def test_sizes(op, opset):
    for dtype in ("float64", "float32", "float16", "int64", "int32", "int8", "uint8", "uint64"):
        for dims, shape in (("n", (0,)), ("n", (1,)), ("7", (7,)), ("", ()), ("a, b", (2, 3))):
            x = np.arange(1, 1 + np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
            y = np.full(shape, 2, dtype)
            f = {"Int_div": np.floor_divide, "Mod": np.remainder, "Pow": np.power}[op]
            got = ptg.run(graph(op, dtype, dtype, dims=dims), x, y, opset=opset)
            np.testing.assert_array_equal(got, f(x, y))
            assert got.dtype == x.dtype and got.shape == x.shape
