"""Products of matrices and vectors: ranks, dtypes, wraparound, empty sizes; the BLAS ops."""

import itertools

import numpy as np
import pytensor.tensor as pt
import pytest
from pytensor.tensor.blas import BatchedDot, Dot22, Dot22Scalar, gemm_no_inplace, gemv_no_inplace

import ptg
from harness import ALL, FLOATS, INTS, UINTS, Compiled, values, variable
from opsets import SOME_OPSETS

# Sums of up to 7 products below 9 in another order, where terms cancel: eps of 8 (measured: of 1, against PyTensor's BLAS)
NEAR = {"float32": 1e-6, "float64": 2e-15}
EXACT = ("bool",) + INTS + UINTS
# m, k, n
SIZES = ((2, 3, 4), (1, 1, 1), (0, 3, 4), (2, 0, 4), (2, 3, 0), (0, 0, 0), (1, 0, 1), (0, 1, 0), (7, 2, 1), (1, 5, 0))


def data(dtype, shape, seed=0):
    low = {"low": -3, "high": 3} if np.dtype(dtype).kind == "f" else {}
    return values(dtype, shape, seed, **low)


def shapes_of(ranks, m, k, n):
    return ((m, k) if ranks[0] == 2 else (k,)), ((k, n) if ranks[1] == 2 else (k,))


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("ranks", [(2, 2), (2, 1), (1, 2), (1, 1)])
def test_dot(ranks, dtype):
    """Static and dynamic dims; PyTensor takes static 1s as given."""
    full = dtype in ("float64", "float32", "int64", "int8", "uint64")
    some = shapes_of(ranks, 2, 3, 4)
    x, y = variable(dtype, some[0], True, "x"), variable(dtype, some[1], True, "y")
    c = Compiled([x, y], [pt.dot(x, y)])
    for sizes in SIZES if full else SIZES[:5]:
        a, b = shapes_of(ranks, *sizes)
        u, v = data(dtype, a, 1), data(dtype, b, 2)
        c.run(u, v, atol=NEAR.get(dtype, 0), zero_sign=False)
        if full:
            x, y = variable(dtype, a, False, "x"), variable(dtype, b, False, "y")
            Compiled([x, y], [pt.dot(x, y)], SOME_OPSETS).run(u, v, atol=NEAR.get(dtype, 0), zero_sign=False)


@pytest.mark.parametrize("a", ALL)
def test_dot_dtypes(a):
    """Any pair of dtypes."""
    for b in ALL:
        x, y = variable(a, (2, 3), True, "x"), variable(b, (3, 4), True, "y")
        c = Compiled([x, y], [pt.dot(x, y)], SOME_OPSETS)
        c.run(data(a, (3, 5)), data(b, (5, 2), 3), atol=NEAR.get(c.outputs[0].dtype, 0))


@pytest.mark.parametrize("dtype", EXACT[1:])
def test_integers_wrap(dtype):
    x, y = variable(dtype, (2, 3), True, "x"), variable(dtype, (3,), True, "y")
    i = np.iinfo(dtype)
    big = np.array([[i.max, i.max - 1, 3], [i.min, i.max, i.max // 3]], dtype)
    c = Compiled([x, y], [pt.dot(x, y), pt.dot(x, x.T), pt.dot(y, x.T)])
    c.run(big, np.array([i.max, 2, 3], dtype))
    c.run(big, big[0])


@pytest.mark.parametrize("dtype", FLOATS)
def test_infinities(dtype):
    x, y = variable(dtype, (2, 3), True, "x"), variable(dtype, (3, 2), True, "y")
    a = np.array([[np.inf, 1, 2], [np.nan, 1, 1], [1, 2, 3]], dtype)
    b = np.array([[1, 0], [2, 1], [3, -np.inf]], dtype)
    Compiled([x, y], [pt.dot(x, y)]).run(a, b)


RANKS = [((3,), (2, 3, 4)), ((2, 3), (5, 3, 4)), ((5, 2, 3), (3, 4)), ((5, 2, 3), (3,)), ((5, 2, 3), (5, 3, 4)),
         ((5, 1, 2, 3), (6, 3, 4)), ((6, 5, 2, 3), (6, 5, 3, 2)), ((1, 2, 3), (5, 3, 4)), ((5, 2, 3), (1, 3, 4)), ((3,), (3,)), ((2, 3), (3, 2))]  # fmt: skip


@pytest.mark.parametrize("a,b", RANKS)
def test_matmul(a, b):
    """`@` is Blockwise in a live graph: this is what the language writes."""
    import ptg

    def run(a, b, x, y):
        dim = lambda s: ", ".join("1" if k == 1 else "?" for k in s)  # noqa: E731
        for dtype in ("float64", "int32", "uint64", "float16"):
            u, v = data(dtype, x, 1), data(dtype, y, 2)
            want = u @ v
            for opset in SOME_OPSETS:
                for form in ((dim(a), dim(b)), (", ".join(map(str, x)), ", ".join(map(str, y)))):
                    text = f"ptg 1\ngraph g(x: {dtype}[{form[0]}], y: {dtype}[{form[1]}]) -> (z) {{\n  z = x @ y\n}}\n"
                    got = ptg.run(text, u, v, opset=opset)
                    assert got.dtype == want.dtype and got.shape == want.shape, (text, x, y, got.shape, want.shape)
                    assert np.allclose(got, want, rtol=1e-2 if dtype == "float16" else 1e-12), (text, x, y)

    run(a, b, a, b)
    for zero in {k for k in a + b if k != 1}:
        x, y = (tuple(0 if k == zero else k for k in s) for s in (a, b))
        run(a, b, x, y)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "int8", "uint32"])
def test_batched_dot(dtype):
    x, y = variable(dtype, (2, 3, 4), True, "x"), variable(dtype, (2, 4, 5), True, "y")
    c = Compiled([x, y], [BatchedDot()(x, y)])
    for b, (m, k, n) in itertools.product((0, 1, 3), SIZES[:6]):
        c.run(data(dtype, (b, m, k)), data(dtype, (b, k, n), 5), atol=NEAR.get(dtype, 0))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_blas(dtype):
    x, y = variable(dtype, (2, 3), True, "x"), variable(dtype, (3, 4), True, "y")
    z, v, w = variable(dtype, (2, 4), True, "z"), variable(dtype, (2,), True, "v"), variable(dtype, (3,), True, "w")
    s, t = variable(dtype, (), False, "s"), variable(dtype, (), False, "t")
    k = lambda v: pt.constant(np.array(v, dtype))  # noqa: E731
    outputs = [Dot22()(x, y), Dot22Scalar()(x, y, s), Dot22Scalar()(x, y, k(2.5))]
    for a, b in [(s, t), (k(2), k(0.5)), (k(1), k(1)), (k(0.1), k(0)), (k(0), k(1)), (s, k(0.1)), (k(1), t)]:
        outputs.append(gemm_no_inplace(z, a, x, y, b))
        outputs.append(gemv_no_inplace(v, a, x, w, b))
    c = Compiled([x, y, z, v, w, s, t], outputs)
    for m, n, p in SIZES:
        args = [data(dtype, shape, 7 + i) for i, shape in enumerate([(m, n), (n, p), (m, p), (m,), (n,)])]
        for scale in ((1.5, -0.5), (0, 1), (1, 0), (-1, 2)):
            c.run(*args, *scale, atol=NEAR[dtype], zero_sign=False)
    m, n, p = 2, 3, 4  # beta 0 forgets even NaN
    c.run(data(dtype, (m, n)), data(dtype, (n, p)), np.full((m, p), np.nan), np.full(m, np.inf), data(dtype, n), 1, 0,
          atol=NEAR[dtype], zero_sign=False)  # fmt: skip


def test_gemm_of_matmul_and_add():
    """MatMul + bias may become Gemm: also for empty sizes and every bias."""
    for dtype in ("float64", "float32"):
        x, y = variable(dtype, (2, 3), True, "x"), variable(dtype, (3, 4), True, "y")
        b, c, r = variable(dtype, (4,), True, "b"), variable(dtype, (2, 4), True, "c"), variable(dtype, (2, 1), True, "r")
        m = Compiled([x, y, b, c, r], [pt.dot(x, y) + b, c + pt.dot(x, y), pt.dot(x, y) + r, pt.dot(x, x.T) + pt.dot(x, x.T)])
        for s in SIZES:
            if 1 in s[::2]:
                continue
            args = [data(dtype, shape, 3) for shape in ((s[0], s[1]), (s[1], s[2]), (s[2],), (s[0], s[2]), (s[0], 1))]
            m.run(*args, atol=NEAR[dtype], zero_sign=False)


def test_other_sizes_are_refused():
    x, y = variable("float64", (2, 3), True, "x"), variable("float64", (3, 4), True, "y")
    c = Compiled([x, y], [pt.dot(x, y)])
    c.raises(np.ones((2, 3)), np.ones((2, 3)))
    c.raises(np.ones((2, 1)), np.ones((2, 3)))
    v = variable("float64", (3,), True, "v")
    c = Compiled([x, v], [pt.dot(x, v)])
    c.raises(np.ones((2, 3)), np.ones(2))
    c.raises(np.ones((2, 3)), np.ones(1))
    c.raises(np.ones((2, 1)), np.ones(3))


@pytest.mark.parametrize("a,b", RANKS)
def test_scaled(a, b):
    """A factor beside a product keeps its precision, at all sizes; infinite ones load too."""
    import ptg

    dim = lambda s: ", ".join("1" if k == 1 else "?" for k in s)  # noqa: E731
    for zero in {0} | {k for k in a + b if k != 1}:
        x, y = (tuple(0 if k == zero else k for k in s) for s in (a, b))
        for dtype in ("float64", "float32"):
            u, v = data(dtype, x, 1), data(dtype, y, 2)
            number = np.dtype(dtype).type
            for expr, want in (("(x @ y) * 0.1", u @ v * number(0.1)), ("(x / 3.0) @ y", u / number(3) @ v), ("x @ y / 0.0", u @ v / number(0))):
                text = f"ptg 1\ngraph g(x: {dtype}[{dim(a)}], y: {dtype}[{dim(b)}]) -> (z) {{\n  z = {expr}\n}}\n"
                for opset in SOME_OPSETS:
                    got = ptg.run(text, u, v, opset=opset)
                    assert got.dtype == want.dtype and got.shape == want.shape, (text, x, y, got.shape, want.shape)
                    assert np.allclose(got, want, rtol=3e-7 if dtype == "float32" else 5e-16, atol=NEAR[dtype], equal_nan=True), (text, x, y)


@pytest.mark.parametrize("factor", ["0.0", "inf", "nan", "-0.0", "1e-320", "1e300"])
def test_odd_factors(factor):
    import ptg

    a = np.array([[1, np.inf, 0], [0, 0, 1]])
    b = np.array([[1, 0], [0, 0], [1, 2]])
    for dtype in ("float64", "float32"):
        u, v, k = a.astype(dtype), b.astype(dtype), np.dtype(dtype).type(float(factor))
        for expr, want in (("(x @ y) * k", u @ v * k), ("(k * x) @ y", (k * u) @ v), ("x @ y / k", u @ v / k), ("x @ (y / k)", u @ (v / k))):
            if dtype == "float32" and factor[0] == "1":
                continue
            text = f"ptg 1\ngraph g(x: {dtype}[?, ?], y: {dtype}[?, ?]) -> (z) {{\n  k = {dtype}({factor})\n  z = {expr}\n}}\n"
            got = ptg.run(text, u, v)
            assert np.allclose(got, want, rtol=3e-7 if dtype == "float32" else 5e-16, atol=0, equal_nan=True), (text, got, want)


def test_transposed_operands():
    """ONNX Runtime folds transposes into products: all sizes, also none."""
    for dtype in ("float64", "float32", "int64"):
        x, y, v = variable(dtype, (3, 2), True, "x"), variable(dtype, (3, 4), True, "y"), variable(dtype, (3,), True, "v")
        b, c = variable(dtype, (5, 3, 2), True, "b"), variable(dtype, (5, 3, 4), True, "c")
        outputs = [pt.dot(x.T, y), pt.dot(y.T, x), pt.dot(x.T, v), pt.dot(v, y), pt.dot(x.T * 2, y), pt.dot(x.T, y) + y.sum(), BatchedDot()(b.dimshuffle(0, 2, 1), c), pt.dot(x.T, x), pt.dot(x, x.T)]
        m = Compiled([x, y, v, b, c], outputs)
        for k, p, q, n in ((3, 2, 4, 5), (0, 2, 4, 5), (3, 0, 4, 2), (3, 2, 0, 2), (0, 0, 0, 0), (2, 3, 2, 0)):
            m.run(*[data(dtype, s, 3 + i) for i, s in enumerate(((k, p), (k, q), (k,), (n, k, p), (n, k, q)))], atol=NEAR.get(dtype, 0), zero_sign=False)


def test_product_that_is_stretched_by_a_sum():
    """Gemm gives the shape of its product, so the sum is not part of it."""
    x, c = variable("float64", (1, 3), False, "x"), variable("float64", (5, 1), False, "c")
    Compiled([x, c], [pt.dot(x, x.T) + c, c + pt.dot(x, x.T)]).run(np.ones((1, 3)), np.arange(5.0)[:, None])


def test_empty_stack_on_the_left_transposed():
    x, y = pt.tensor3("x"), pt.matrix("y")
    c = Compiled([x, y], [pt.matmul(x.transpose(0, 2, 1), y), pt.matmul(x.transpose(0, 2, 1), y[None])])
    for n in (0, 1, 4):
        c.run(np.ones((n, 3, 2)), np.ones((3, 5)))


def test_nothing_times_a_matrix_of_powers():
    text = "graph g(x: int64[0], y: int64[?n, ?k]) -> (v) {\n  v = x @ (y ** x)\n}\n"
    got = ptg.run(text, np.zeros(0, "int64"), np.zeros((0, 0), "int64"))
    assert got.shape == (0,) and got.dtype == np.int64


@pytest.mark.parametrize("dtype", FLOATS)
def test_products_of_minus_0(dtype):
    """Where beta is 0, nothing is added to the product: -0 stays."""
    z, x, y = (pt.matrix(n, dtype=dtype) for n in "zxy")
    a, b = pt.scalar("a", dtype=dtype), pt.scalar("b", dtype=dtype)
    c = Compiled([z, a, x, y, b], [gemm_no_inplace(z, a, x, y, b), gemv_no_inplace(z[:, 0], a, x, y[:, 0], b)], (13, 18))
    for beta in (0, -0.0, 1, 2):
        for alpha in (-1, -0.0, 0, 1):
            c.run([[np.nan, 1], [3, -0.0]] if not beta else [[0, 1], [3, -0.0]], alpha, [[0, 1], [2, 3]], [[2, -1], [0, 0]], beta)


VECTOR_FORMS = {
    "matrix": lambda x, v, u: x @ v,
    "transpose": lambda x, v, u: x.T @ u,
    "left": lambda x, v, u: u @ x,
    "left transpose": lambda x, v, u: v @ x.T,
    "column": lambda x, v, u: x @ v[:, None],
    "column of transpose": lambda x, v, u: x.T @ u[:, None],
    "squeezed": lambda x, v, u: (x @ v[:, None])[:, 0],
    "row": lambda x, v, u: v[None] @ x.T,
    "factor behind": lambda x, v, u: (x @ v) * 0.1,
    "factor before": lambda x, v, u: (0.1 * x) @ (v / 3),
    "factor of row": lambda x, v, u: 0.1 * (v[None] @ x.T),
    "twice": lambda x, v, u: (0.1 * (x @ v)) @ x,
}  # fmt: skip


@pytest.mark.parametrize("dtype", ("float32", "float64", "float16", "int64"))
@pytest.mark.parametrize("form", VECTOR_FORMS)
def test_matrix_and_vector(form, dtype):
    """A MatMul whose right operand has rank 1 is slow: other forms, open and static, of any size."""
    near = {"float32": 3e-6, "float64": 1e-14, "float16": 0.05}.get(dtype, 0)
    build = VECTOR_FORMS[form]
    if ("factor" in form or form == "twice") and dtype == "int64":
        return
    for dynamic in (True, False):
        c = None
        for m, k in ((2, 3), (1, 1), (0, 3), (3, 0), (0, 0), (1, 3), (3, 1), (60, 3), (200, 180)):
            if dtype == "float16" and m * k > 1000:
                continue
            shapes = (m, k), (k,), (m,)
            if not c or not dynamic:
                ins = [variable(dtype, s if not dynamic else tuple(7 for _ in s), dynamic, n) for s, n in zip(shapes, "xvu")]
                y = build(*ins)
                c = Compiled(ins, [y.astype(dtype)], SOME_OPSETS)
            args = [data(dtype, s, i) for i, s in enumerate(shapes)]
            c.run(*args, atol=near * (1 + k + m), zero_sign=False)


@pytest.mark.parametrize("dtype", ("float32", "float64", "int32"))
@pytest.mark.parametrize("length", (0, 1, 99, 100, 3000))
def test_long_vectors(length, dtype):
    for dynamic in (True, False):
        x, y = variable(dtype, (length,), dynamic, "x"), variable(dtype, (length,), dynamic, "y")
        c = Compiled([x, y], [pt.dot(x, y), pt.dot(x, x)], SOME_OPSETS)
        c.run(data(dtype, (length,), 1), data(dtype, (length,), 2), atol={"float32": 1e-3, "float64": 1e-11}.get(dtype, 0), zero_sign=False)
