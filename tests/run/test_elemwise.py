"""Elementwise ops of PyTensor: every dtype (and pair of dtypes), static and dynamic dims, all opsets."""

import itertools

import numpy as np
import pytensor.scalar as ps
import pytensor.tensor as pt
import pytest
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.math import MulWithoutZeros

from harness import ALL, BOOL, FLOATS, INTS, UINTS, Compiled, check, corner_values, values, variable

pytestmark = pytest.mark.sampled

INTEGERS = INTS + UINTS
REAL = INTEGERS + FLOATS

# op: (dtypes that it takes, opsets, tolerance)
UNARY = {
    "neg": REAL, "abs": ALL, "sign": REAL, "sqr": ALL, "sqrt": ALL, "reciprocal": ALL,
    "exp": ALL, "exp2": ALL, "expm1": ALL, "log": ALL, "log2": ALL, "log10": ALL, "log1p": ALL,
    "floor": ALL, "ceil": ALL, "trunc": ALL, "round_half_to_even": FLOATS, "round_half_away_from_zero": FLOATS,
    "identity": ALL, "isnan": ALL, "isinf": ALL,
    "sin": ALL, "cos": ALL, "tan": ALL, "arcsin": ALL, "arccos": ALL, "arctan": ALL,
    "sinh": ALL, "cosh": ALL, "tanh": ALL, "arcsinh": ALL, "arccosh": ALL, "arctanh": ALL,
    "sigmoid": ALL, "softplus": ALL, "erf": ALL, "erfc": ALL, "gammaln": ALL, "invert": BOOL + INTEGERS,
    "log1mexp": ALL,
}  # fmt: skip
BINARY = {
    "add": ALL, "sub": REAL, "mul": ALL, "true_div": ALL, "int_div": ALL, "mod": ALL,
    "maximum": ALL, "minimum": ALL, "eq": ALL, "neq": ALL, "lt": ALL, "le": ALL, "gt": ALL, "ge": ALL,
    "second": ALL, "arctan2": ALL,
}  # fmt: skip
BITS = {"and_": BOOL + INTEGERS, "or_": BOOL + INTEGERS, "xor": BOOL + INTEGERS}
LOOSE = {"erfc": {"float64": 12}}  # SciPy's own error beside ours, which test_special.py bounds by 7


ATOL = {
    "sigmoid": 1e-43,  # PyTensor's float32 sigmoid flushes what is subnormal
    "gammaln": 1e-15,  # SciPy's own error near 1 and 2, where the result is near 0
}
# where only the sign of a zero may differ: remainders, and where SciPy's own depends on the dtype
ZERO_SIGN_FREE = ("mod", "gammaln", "log1mexp")
COMPARISONS = ("eq", "neq", "lt", "le", "gt", "ge")


def op_of(name):
    return Elemwise(getattr(ps, name, None) or getattr(ps.math, name))


def by_cast(op):
    """The oracle of a float function: NumPy takes (u)int8 and bool through float16, whatever dtype
    PyTensor declares; the declared dtype is the one to compute in."""

    def build(*inputs):
        dtype = op(*inputs).dtype
        if not dtype.startswith("float"):
            return op(*inputs)
        return op(*[i.astype(dtype) if i.dtype in ("bool", "int8", "uint8") else i for i in inputs])

    return build


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    op = op_of(name)
    for dtype in UNARY[name]:
        sizes = (0, 1, 2, 7) if dtype in ("float64", "int64", "bool") else (7,)
        check(
            op, [(dtype, 2)], sizes=sizes, oracle=by_cast(op),
            ulp=LOOSE.get(name), atol=ATOL.get(name, 0.0), zero_sign=name not in ZERO_SIGN_FREE,
        )  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
def test_unary_corners(name):
    op = op_of(name)
    for dtype in UNARY[name]:
        x = variable(dtype, (3,), True, "x")
        c = Compiled([x], [op(x)], (18,), oracle=[by_cast(op)(x)])
        c.run(corner_values(dtype), ulp=LOOSE.get(name), atol=ATOL.get(name, 0.0), zero_sign=name not in ZERO_SIGN_FREE)


@pytest.mark.parametrize("name", BINARY)
def test_binary_same_dtype(name):
    op = op_of(name)
    for dtype in BINARY[name]:
        check(
            op, [(dtype, 1), (dtype, 1)], oracle=by_cast(op),
            zero_sign=name not in ZERO_SIGN_FREE,
        )  # fmt: skip


@pytest.mark.parametrize("name", BINARY)
def test_binary_dtype_pairs(name):
    op = op_of(name)
    for a, b in itertools.product(BINARY[name], repeat=2):
        x, y = variable(a, (3,), True, "x"), variable(b, (3,), True, "y")
        exact = name in COMPARISONS and {a, b} == {"int64", "uint64"}  # not in their common dtype
        c = Compiled([x, y], [op(x, y)], (18,), oracle=[(op if exact else by_cast(op))(x, y)])
        u, v = corner_values(a), corner_values(b)
        u, v = np.repeat(u, len(v)), np.tile(v, len(u))
        c.run(u, v, zero_sign=name not in ZERO_SIGN_FREE)


@pytest.mark.parametrize("dtypes", [("int8", "int8", "int64"), ("float32", "float32", "int32"), ("bool", "bool", "int8"),
                                    ("uint8", "int8", "float64"), ("float16", "float16", "float32", "int8")])  # fmt: skip
def test_several_dtypes(dtypes):
    """NumPy promotes from the left, two by two."""
    x = [pt.vector(f"x{k}", dtype=d) for k, d in enumerate(dtypes)]
    c = Compiled(x, [pt.add(*x), pt.mul(*x), pt.add(*x[::-1])])
    c.run(*[values(d, (20,), k, -100 if d[0] in "if" else 0, 100) for k, d in enumerate(dtypes)], ulp={"float32": 0, "float64": 0})


def test_several_dtypes_of_known_integers():
    """What is known of lengths and constants is what wraps two by two."""
    x, v = pt.vector("x"), lambda k, d: pt.constant(np.array(k, d))
    sums = [(v(True, "bool"), v(True, "bool"), x.shape[0]), (v(200, "uint8"), v(100, "uint8"), x.shape[0])]
    sums += [(v([100, 1], "int8"), v([100, 2], "int8"), v([1, 2], "int64")), (v(100, "int8"), v(27, "int8"), x.shape[0])]
    Compiled([x], [op(*s) for op in (pt.add, pt.mul) for s in sums]).run(np.ones(3))


def test_numbers_beside_several_dtypes():
    """A number among several operands is printed with its dtype where the narrow ones wrap, or are rounded, first."""
    v, u = pt.vector("v"), pt.vector("u", dtype="uint8")
    few = [pt.constant(np.array(k, d)) for k, d in ((100, "uint8"), (200, "uint8"), (0.1, "float32"), (0.3, "float32"))]
    threes = [t for a, b in itertools.permutations(few, 2) for t in ((a, b, v), (a, v, b), (v, a, b), (a, u, v), (u, b, v))]
    for op in (pt.add, pt.mul):
        Compiled([v, u], [op(*t) for t in threes]).run(np.ones(3), np.array([100, 200, 3], "uint8"))


def test_lengths_beside_large_numbers():
    """A length and the largest integer have a sum that wraps, and a product."""
    x, top = pt.vector("x"), pt.constant(np.array(2**63 - 1))
    sums = [x.shape[0] + top, pt.stack([x.shape[0], top, pt.constant(0)]).sum(), x.shape[0] * top, x.shape[0] - (2 - top)]
    outputs = [x[: pt.clip(s, -5, 9)] for s in sums] + [pt.minimum(x.shape[0], top), pt.maximum(sums[0], 0)]
    Compiled([x], outputs).run(np.ones(3))


@pytest.mark.parametrize("name", BITS)
def test_bits(name):
    op = op_of(name)
    for dtype in BITS[name]:
        check(op, [(dtype, 1), (dtype, 1)])


@pytest.mark.parametrize("to", ALL)
def test_cast(to):
    op = Elemwise(getattr(ps, f"convert_to_{to}"))
    for dtype in ALL:
        check(op, [(dtype, 1)], sizes=(0, 7))
        x = variable(dtype, (3,), True, "x")
        Compiled([x], [op(x)]).run(corner_values(dtype))


@pytest.mark.parametrize("dtype", ALL)
def test_switch(dtype):
    op = Elemwise(ps.switch)
    for cond in ("bool", "int8", "float32", "float64"):
        check(op, [(cond, 1), (dtype, 1), (dtype, 1)])
    check(op, [("bool", 1), (dtype, 1), ("float64", 1)], sizes=(7,))


@pytest.mark.parametrize("dtype", ALL)
def test_clip(dtype):
    check(Elemwise(ps.clip), [(dtype, 1)] * 3)


@pytest.mark.parametrize("dtype", ALL)
def test_clip_constant(dtype):
    """Bounds that are numbers, of every sign; crossing ones and NaN are as PyTensor has them."""
    d = np.dtype(dtype)
    bounds = [(0, 1), (1, 1), (0, 100), (100, 0)]
    bounds += [(-1, 0), (-0.0, 1), (-1, -0.0), (-2.5, 2.5), (-np.inf, 0.5), (0.5, np.nan), (np.nan, 2)] if d.kind == "f" else []
    bounds += [(-7, 7), (np.iinfo(d).min, 3)] if d.kind == "i" else []
    bounds += [(3, np.iinfo(d).max)] if d.kind in "iu" else []
    check(lambda x: [Elemwise(ps.clip)(x, *(pt.constant(np.array(v).astype(d)) for v in b)) for b in bounds], [(dtype, 1)])
    x = pt.tensor("x", dtype=dtype, shape=(1,))
    lows = pt.constant(np.array([0, 1, 1]).astype(d))
    Compiled([x], [Elemwise(ps.clip)(x, lows, pt.constant(np.array([1, 1, 1]).astype(d)))]).run(np.ones(1, d))


@pytest.mark.parametrize("dtype", INTS + UINTS)
def test_pow_constant(dtype):
    exponents = (0, 1, 2, 3, 4, 5, 7, 15, 63, 64, 100)
    check(lambda x: [Elemwise(ps.pow)(x, pt.constant(np.array(e, dtype))) for e in exponents], [(dtype, 1)])
    check(lambda x: [Elemwise(ps.pow)(x, pt.constant(np.array(2, "int8")))], [(dtype, 2)], sizes=(0, 1, 7))
    x = pt.tensor("x", dtype=dtype, shape=(1,))
    Compiled([x], [Elemwise(ps.pow)(x, pt.constant(np.array([2, 2], dtype)))]).run(np.array([3], dtype))


@pytest.mark.parametrize("dtype", FLOATS)
def test_pow_constant_of_floats(dtype):
    """NumPy takes the root for 0.5: of -inf it is NaN, of -0 it is -0."""
    x, v = variable(dtype, (3,), True, "x"), corner_values(dtype)
    exponents = [pt.constant(np.array(e, dtype)) for e in (0.5, [0.5], 2, 3, -1, 1, 0, -0.5, np.inf, np.nan)]
    exponents.append(pt.constant(np.full(len(v), 0.5, dtype)))
    Compiled([x], [Elemwise(ps.pow)(x, e) for e in exponents]).run(v)


@pytest.mark.parametrize("dtype", ALL)
def test_nary(dtype):
    check(Elemwise(ps.add), [(dtype, 1)] * 4, sizes=(7,), ulp={"float16": 0})
    check(Elemwise(ps.mul), [(dtype, 1)] * 3, sizes=(7,), ulp={"float16": 0})


@pytest.mark.parametrize("dtype", ALL)
def test_mul_without_zeros(dtype):
    op = Elemwise(MulWithoutZeros(ps.upcast_out, name="mul_without_zeros"))
    x, y = variable(dtype, (3,), True, "x"), variable(dtype, (3,), True, "y")
    v = corner_values(dtype) if dtype in FLOATS else np.arange(-3 if dtype in INTS else 0, 4).astype(dtype)  # Python overflows above
    Compiled([x, y], [op(x, y)], (18,)).run(np.repeat(v, len(v)), np.tile(v, len(v)))


@pytest.mark.parametrize("dtype", REAL)
def test_pow(dtype):
    op = Elemwise(ps.pow)

    def data(d, shape, seed):
        v = values(d, shape, seed)
        return np.abs(v) if seed and np.dtype(d).kind == "i" else v

    for other in (dtype, "int8", "float64"):
        if np.dtype(dtype).kind in "iu" and np.dtype(other).kind == "i":
            continue
        check(op, [(dtype, 1), (other, 1)], sizes=(0, 7), data=data, zero_sign=False)


def test_broadcasting():
    op = Elemwise(ps.add)
    for a, b in [((3, 1), (1, 4)), ((1,), (5,)), ((2, 3), (1, 3)), ((1, 1), (0, 4))]:
        for dynamic in (False, True):
            x, y = variable("float32", a, dynamic, "x"), variable("float32", b, dynamic, "y")
            Compiled([x, y], [op(x, y)]).run(np.ones(a), np.full(b, 2.0))


def test_runtime_broadcasting_is_refused():
    x, y = variable("float64", (2, 3), True, "x"), variable("float64", (2, 3), True, "y")
    c = Compiled([x, y], [x + y])
    c.run(np.ones((2, 3)), np.ones((2, 3)))
    c.raises(np.ones((1, 3)), np.ones((2, 3)))
    c.raises(np.ones((2, 1)), np.ones((2, 3)))


def test_outer():
    """Vectors of known and unknown lengths along different axes, through onnx's inference too."""
    for op in (ps.add, ps.sub, ps.mul, ps.true_div, ps.maximum):
        for n, m in ((1, 1), (1, 3), (5, 3), (2, 2), (0, 3)):
            for dynamic in (False, True):
                x, y = variable("float64", (n,), dynamic, "x"), variable("float64", (m,), dynamic, "y")
                f = Elemwise(op)
                outs = [f(x[:, None], y[None]), f(y[None], x[:, None]), f(x[None, :, None], y), f(x[:, None] * 2.0, y[None] + 1.0)]
                Compiled([x, y], outs).run(values("float64", (n,)), values("float64", (m,), 1))


@pytest.mark.parametrize("opset", (13, 15, 18, 26))
def test_outer_inference(opset):
    """Columns beside vectors of known lengths: through casts, in integers, and from fns of the library."""
    ops = (ps.add, ps.sub, ps.mul, ps.true_div, ps.pow, ps.lt, ps.ge, ps.eq, ps.minimum)
    for n, m in ((7, 3), (1, 3), (7, 1), (0, 3), (3, 0)):
        for a, c in (("float64", "float64"), ("float16", "float16"), ("int64", "int64"), ("int32", "float64"), ("int8", "int64")):
            x, y = variable(a, (n,), False, "x"), variable(c, (m,), False, "y")
            outs = [Elemwise(op)(x[:, None], y) for op in ops]
            outs += [Elemwise(op)(y + y, (x + x)[:, None]) for op in ops]
            outs += [pt.switch(x[:, None] > y, x[:, None], y), x[None][..., None] - y]
            ones = np.ones(n, dtype=a), np.ones(m, dtype=c)
            Compiled([x, y], outs, opsets=(opset,)).run(*ones)
    for n in (0, 1, 7):
        x, y = variable("float64", (n,), False, "x"), variable("float64", (n,), False, "y")
        outs = [pt.gammaincc(x, y), pt.gammainc(x, y)] if n else [pt.gammainc(x, y)]
        Compiled([x, y], outs, opsets=(opset,)).run(np.full(n, 2.5), np.full(n, 1.5))
