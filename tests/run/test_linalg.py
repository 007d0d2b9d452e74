"""lib/linalg against NumPy and SciPy: backward errors, all sizes, failures."""
import numpy as np
import onnx
import onnx.numpy_helper
import ptg
import ptgc
import pytensor.tensor as pt
import pytest
import scipy.linalg as sl
from pytensor.graph.replace import vectorize_graph
from harness import Compiled
from opsets import SOME_OPSETS

SIZES = [0, 1, 2, 3, 5, 15, 16, 17, 33, 48, 49, 100]
DTYPES = ["float64", "float32"]


def rng():
    return np.random.default_rng(3)


def eps(x):
    return np.finfo(x.dtype).eps


def definite(n, dtype):
    a = rng().normal(size=(n, n))
    return (a @ a.T / max(n, 1) + np.eye(n)).astype(dtype)


def general(n, dtype, m=None):
    return rng().normal(size=(n, n if m is None else m)).astype(dtype)


def fill(a, lower):
    """Garbage in the triangle that must not be read"""
    g = np.full_like(a, np.nan)
    return np.tril(a) + np.triu(g, 1) if lower else np.triu(a) + np.tril(g, -1)


def text(call, args, results="r"):
    return f"graph g({args}) -> ({results}) {{\n  {results} = {call}\n}}\n"


def small(x, bound):
    assert np.all(np.isfinite(x))
    assert np.max(np.abs(x), initial=0) <= bound, np.max(np.abs(x), initial=0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lower", [True, False])
def test_cholesky(dtype, lower):
    model = ptg.compile(text(f"Cholesky{{lower={lower}}}(a)", f"a: {dtype}[n, n]"))
    for n in SIZES:
        a = definite(n, dtype)
        c = ptg.run(model, fill(a, lower))
        assert c.shape == a.shape and c.dtype == a.dtype
        np.testing.assert_array_equal(c, np.tril(c) if lower else np.triu(c))
        small((c @ c.T if lower else c.T @ c) - a, 20 * eps(a))


@pytest.mark.parametrize("dtype", DTYPES)
def test_cholesky_fails_as_nan(dtype):
    model = ptg.compile(text("Cholesky(a)", f"a: {dtype}[n, n]"))
    for n in (1, 3, 20, 60):
        for bad in (0, n // 2, n - 1):
            for value in (0, -1, np.nan):
                a = definite(n, dtype)
                a[bad] = a[:, bad] = 0
                a[bad, bad] = value
                assert np.all(np.isnan(ptg.run(model, a))), (n, bad, value)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("unit", [True, False])
@pytest.mark.parametrize("vector", [True, False])
def test_solve_triangular(dtype, lower, unit, vector):
    call = f"SolveTriangular{{lower={lower}, unit_diagonal={unit}, b_ndim={1 if vector else 2}}}(a, b)"
    model = ptg.compile(text(call, f"a: {dtype}[n, n], b: {dtype}[n{'' if vector else ', m'}]"))
    for n in SIZES:
        a = (general(n, dtype) / np.sqrt(max(n, 1)) + 2 * np.eye(n)).astype(dtype)
        b = general(n, dtype, 3)[:, 0] if vector else general(n, dtype, 3)
        x = ptg.run(model, fill(a, lower), b)
        assert x.shape == b.shape and x.dtype == b.dtype
        t = np.tril(a) if lower else np.triu(a)
        if unit:
            t = t - np.diag(np.diag(t)) + np.eye(n, dtype=dtype)
        small(t @ x - b, 30 * eps(a) * max(1, np.max(np.abs(x), initial=0)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_singular_triangle(dtype):
    model = ptg.compile(text("SolveTriangular{lower=True}(a, b)", f"a: {dtype}[n, n], b: {dtype}[n, m]"))
    for n in (1, 3, 20):
        a = np.tril(definite(n, dtype))
        a[n // 2, n // 2] = 0
        assert np.all(np.isnan(ptg.run(model, a, general(n, dtype, 2))))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lower", [True, False])
def test_cholesky_solve(dtype, lower):
    model = ptg.compile(text(f"CholeskySolve{{lower={lower}, b_ndim=2}}(c, b)", f"c: {dtype}[n, n], b: {dtype}[n, m]"))
    for n in SIZES:
        a = definite(n, dtype)
        c = np.linalg.cholesky(a) if n else a
        b = general(n, dtype, 2)
        x = ptg.run(model, fill(c if lower else c.T, lower), b)
        small(a @ x - b, 60 * eps(a))


ASSUME = {
    "gen": lambda a: a,
    "sym": lambda a: (a + a.T) / 2,
    "pos": lambda a: a @ a.T / max(len(a), 1) + np.eye(len(a)),
    "upper triangular": lambda a: np.triu(a) / 8 + 2 * np.eye(len(a)),
    "lower triangular": lambda a: np.tril(a) / 8 + 2 * np.eye(len(a)),
    "tridiagonal": lambda a: np.tril(np.triu(a, -1), 1) + 4 * np.eye(len(a)),
    "diagonal": lambda a: np.diag(np.diag(a)) + 4 * np.eye(len(a)),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("assume", ASSUME)
@pytest.mark.parametrize("vector", [True, False])
def test_solve(dtype, assume, vector):
    call = f'Solve{{assume_a="{assume}", b_ndim={1 if vector else 2}}}(a, b)'
    model = ptg.compile(text(call, f"a: {dtype}[n, n], b: {dtype}[n{'' if vector else ', m'}]"))
    for n in SIZES:
        a = ASSUME[assume](general(n, "float64")).astype(dtype)
        b = general(n, dtype, 3)[:, 0] if vector else general(n, dtype, 3)
        x = ptg.run(model, fill(a, False) if assume in ("sym", "pos") else a, b)
        assert x.shape == b.shape and x.dtype == b.dtype
        small(a @ x - b, 300 * eps(a) * max(1, np.max(np.abs(x), initial=0)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_solve_at_any_scale(dtype, scale):
    model = ptg.compile(text("Solve(a, b)", f"a: {dtype}[n, n], b: {dtype}[n, m]"))
    for n in (1, 3, 20, 60):
        a, b = general(n, dtype), general(n, dtype, 2)
        x = ptg.run(model, (a * scale).astype(dtype), b) * scale
        small(a @ x - b, 300 * eps(a) * max(1, np.max(np.abs(x))))


@pytest.mark.parametrize("dtype", DTYPES)
def test_inverse(dtype):
    model = ptg.compile(text("MatrixInverse(a)", f"a: {dtype}[n, n]"))
    for n in SIZES:
        a = general(n, dtype)
        x = ptg.run(model, a)
        assert x.shape == a.shape and x.dtype == a.dtype
        small(a @ x - np.eye(n), 300 * eps(a) * max(1, np.max(np.abs(x), initial=0)))
    for n in (1, 2, 5, 20):
        with pytest.raises(Exception, match="a matrix must not be singular"):
            ptg.run(model, np.ones((n, n), dtype) - (n == 1))


@pytest.mark.parametrize("dtype", DTYPES)
def test_determinants(dtype):
    det = ptg.compile(text("Det(a)", f"a: {dtype}[n, n]"))
    slog = ptg.compile(text("SLogDet(a)", f"a: {dtype}[n, n]", "s, l"))
    for n in SIZES:
        a = general(n, dtype) / np.asarray(np.sqrt(max(n, 1)), dtype)
        want = np.linalg.slogdet(a.astype(float))
        s, l = ptg.run(slog, a)
        assert s.shape == l.shape == () and s.dtype == l.dtype == a.dtype
        assert s == want[0]
        np.testing.assert_allclose(l, want[1], atol=200 * eps(a))
        np.testing.assert_allclose(ptg.run(det, a), want[0] * np.exp(want[1]), rtol=500 * eps(a))
    for n in (1, 2, 20):
        a = general(n, dtype)
        a[:, n // 2] = 0
        assert ptg.run(det, a) == 0
        s, l = ptg.run(slog, a)
        assert s == 0 and l == -np.inf
    p = np.eye(6, dtype=dtype)[[1, 0, 3, 4, 5, 2]]
    assert ptg.run(det, p) == np.linalg.det(p)


SHAPES = [(0, 0), (0, 3), (3, 0), (1, 1), (1, 5), (5, 1), (5, 5), (16, 16), (17, 17), (40, 7), (7, 40), (33, 16), (60, 35)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mode", ["full", "economic", "r"])
def test_qr(dtype, mode):
    results = "r" if mode == "r" else "q, r"
    model = ptg.compile(text(f'QR{{mode="{mode}"}}(a)', f"a: {dtype}[m, n]", results))
    for m, n in SHAPES:
        for scale in (1, 1e-18, 1e15):
            a = (general(m, "float64", n) * scale).astype(dtype)
            out = ptg.run(model, a)
            r = out if mode == "r" else out[1]
            bound = 30 * eps(a) * scale * max(m, n, 1) ** 0.5
            k = min(m, n)
            assert r.shape == ((k if mode == "economic" else m), n) and r.dtype == a.dtype
            np.testing.assert_array_equal(r, np.triu(r))
            if m and n:
                small(r[:k] - sl.qr(a.astype(float), mode="economic")[1], bound)
            if mode != "r":
                q = out[0]
                assert q.shape == (m, k if mode == "economic" else m)
                small(q.T @ q - np.eye(q.shape[1]), 30 * eps(a))
                small(q @ r - a, bound)


def test_signs_of_tiny_heads():
    """The sign of a row of R is that of the head of its column, however far that is below the rest."""
    for dtype, tiny in (("float64", 1e-40), ("float64", 1e-290), ("float32", 1e-37)):
        model = ptg.compile(text('QR{mode="economic"}(a)', f"a: {dtype}[m, n]", "q, r"))
        for head in (tiny, -tiny, 0):
            a = np.array([[head, 2, 1], [1, 1, 3], [1, 0, -1], [0, 1, 1]], dtype)
            for got, want in zip(ptg.run(model, a), np.linalg.qr(a)):
                small(got - want, 1e-5)


def test_qr_of_rank_deficient():
    model = ptg.compile(text("QR(a)", "a: float64[m, n]", "q, r"))
    base = general(20, "float64", 4)
    for a in (np.zeros((20, 20)), np.ones((20, 20)), base @ base.T, np.eye(20), np.triu(np.ones((20, 20)))):
        q, r = ptg.run(model, a)
        small(q @ r - a, 1e-13)
        small(q.T @ q - np.eye(20), 1e-14)


def hard_for_qr(m, n):
    """Matrices whose columns are dependent, zero, triangular, or of sizes whose squares over- and underflow"""
    a = np.random.default_rng(0).normal(size=(m, n))
    yield from (a[:, :1] @ a[:1], a * 0, np.eye(m, n), np.ones((m, n)), np.triu(a), np.where(np.arange(n) == n // 2, 0, a))
    yield from (a * 1e150, a * 1e-150, a * np.logspace(-120, 120, n), a * np.logspace(100, -100, m)[:, None], np.fliplr(np.eye(m, n)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("m,n", [(4, 4), (7, 3), (3, 6), (17, 17), (40, 12), (12, 20)])
@pytest.mark.parametrize("static", [False, True])
def test_hard_qr(dtype, m, n, static):
    """One by one and as a batch: residuals beside the columns' largest elements, R of what LAPACK does not reflect"""
    with np.errstate(over="ignore", under="ignore"):
        a = np.stack([x for x in (h.astype(dtype) for h in hard_for_qr(m, n)) if np.isfinite(x).all()])
    largest = np.sign(np.random.default_rng(1).normal(size=(1, m, n))) * 0.06 * np.finfo(dtype).max  # sums of 17 overflow
    a = np.concatenate([a, largest.astype(dtype)])
    d = f"{m}, {n}" if static else "m, n"
    one = ptg.compile(text("QR(a)", f"a: {dtype}[{d}]", "q, r"))
    many = ptg.compile(text("Blockwise{core_op=QR, signature='(m,n)->(m,m),(m,n)'}(a)", f"a: {dtype}[b, {d}]", "q, r"))
    for x, q, r in [(x, *ptg.run(one, x)) for x in a] + list(zip(a, *ptg.run(many, a))):
        top = np.maximum(abs(x).max(0), np.finfo(dtype).tiny)
        small(q.astype(float) @ (r / top) - x / top, 30 * eps(x) * m)
        small(q.T.astype(float) @ q - np.eye(m), 30 * eps(x))
        np.testing.assert_array_equal(r, np.triu(r))
        if not np.tril(x, -1).any():
            np.testing.assert_array_equal(abs(q), np.eye(m))
            np.testing.assert_array_equal(r, x)


@pytest.mark.parametrize("opset", [13, 18, 21, 26])
@pytest.mark.parametrize("dims", ["n", "20"])
def test_opsets(opset, dims):
    a = definite(20, "float64")
    args = f"a: float64[{dims}, {dims}]"
    for call in ("Cholesky(a)", "MatrixInverse(a)", "Det(a)", "Solve(a, a)", "SolveTriangular{lower=True}(a, a)"):
        x = ptg.run(text(call, args), a, opset=opset)
        want = {"C": lambda: np.linalg.cholesky(a), "M": lambda: np.linalg.inv(a), "D": lambda: np.linalg.det(a),
                "S": lambda: np.eye(20) if "Tri" not in call else sl.solve_triangular(a, a, lower=True)}[call[0]]()
        np.testing.assert_allclose(x, want, atol=1e-13, rtol=1e-12)
    q, r = ptg.run(text("QR(a)", args, "q, r"), a, opset=opset)
    small(q @ r - a, 1e-13)
    s, l = ptg.run(text("SLogDet(a)", args, "s, l"), a, opset=opset)
    np.testing.assert_allclose(l, np.linalg.slogdet(a)[1], atol=1e-13)


@pytest.mark.parametrize("dtype,opset", [("float64", 13), ("float32", 18), ("float64", 26)])
def test_expm_of_batch(dtype, opset):
    """Each matrix has its own number of squarings; NaN stays in its own. No loop is over the batch."""
    model = ptg.compile(text("Blockwise{core_op=Expm, signature='(m,m)->(m,m)'}(a)", f"a: {dtype}[b, n, n]"), opset)
    for n in (0, 1, 2, 5, 17):
        a = np.random.default_rng(n).normal(size=(5, n, n)) * np.array([1e-8, 1, 2, 0, 0.3])[:, None, None]
        a[3] = np.nan
        for b in (a.astype(dtype), a[:1].astype(dtype), a[:0].astype(dtype)):
            x = ptg.run(model, b)
            assert x.shape == b.shape and x.dtype == b.dtype
            for i in range(len(b) if n else 0):
                if i == 3:
                    assert np.all(np.isnan(x[i]))
                else:
                    want = sl.expm(b[i].astype(float))
                    small((x[i] - want) / np.max(np.abs(want)), 1000 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", DTYPES)
def test_expm(dtype):
    model = ptg.compile(text("Expm(a)", f"a: {dtype}[n, n]"))
    matrices = [general(n, dtype) * s for n in (1, 2, 5, 17, 50) for s in (1e-3, 1, 3)]
    matrices += [np.array([[1, 1e6], [0, -1]]), np.zeros((3, 3)), np.diag([1, -700.0, 3]), np.eye(6) + np.eye(6, k=1) * 100]
    for a in matrices:
        a = a.astype(dtype)
        want = sl.expm(a.astype(float))
        x = ptg.run(model, a)
        assert x.dtype == a.dtype
        small((x - want) / np.max(np.abs(want)), 4 * eps(a) + 2e-14 * np.log2(2 + np.max(np.abs(a))))
    assert ptg.run(model, np.zeros((0, 0), dtype)).shape == (0, 0)
    assert np.all(np.isnan(ptg.run(model, np.full((2, 2), np.inf, dtype))))


SINGULAR = [[[1, 2], [2, 4]], [[0, 0], [0, 0]], [[1, 0], [1, 0]]]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_singular_matrices(dtype):
    """NumPy's raise. PyTensor's own Solve gives NaN."""
    x = pt.tensor("x", dtype=dtype, shape=(None, None))
    t, z = pt.tensor("t", dtype=dtype, shape=(None, None, None)), pt.tensor("z", dtype=dtype, shape=(2, 1, 2))
    b = pt.tensor("b", dtype=dtype, shape=(2, 1))
    inverse, many = Compiled([x], [pt.linalg.inv(x)], SOME_OPSETS), Compiled([t], [pt.linalg.inv(t)], SOME_OPSETS)
    w = pt.tensor("w", dtype=dtype, shape=(2, 1, 2, 1))
    folded, solve = Compiled([z], [pt.linalg.tensorinv(z)], SOME_OPSETS), Compiled([w, b], [pt.linalg.tensorsolve(w, b)], SOME_OPSETS)
    good = np.array([[2, 1], [1, 3]], dtype)
    inverse.run(good)
    inverse.run(np.zeros((0, 0)))
    many.run([good, good.T + 1])
    folded.run(good[:, None])
    solve.run(good[:, None, :, None], [[1], [2]])
    for bad in np.array(SINGULAR, dtype):
        inverse.raises(bad)
        many.raises(np.array([good, bad]))
        folded.raises(bad[:, None])
        solve.raises(bad[:, None, :, None], np.ones((2, 1), dtype))
    big = np.random.default_rng(0).normal(size=(60, 60)).astype(dtype)
    big[7] = 0
    inverse.raises(big)


# ---- batches

BATCHES = [("b, ", (5,)), ("b, ", (0,)), ("b, ", (1,)), ("b, c, ", (2, 3)), ("b, 4, ", (0, 4)), ("3, ", (3,))]


def loops(model):
    """The numbers of trips of the model's loops, None where the run decides"""
    graph = onnx.load_model_from_string(model).graph
    known = {t.name: onnx.numpy_helper.to_array(t) for t in graph.initializer}
    return [known.get(n.input[0]) for n in graph.node if n.op_type == "Loop"]


def blockwise(op, args, results="r", signature=""):
    return text(f"Blockwise{{core_op={op}{signature and f', signature={signature!r}'}}}({', '.join(a.split(':')[0] for a in args)})",
                ", ".join(args), results)  # fmt: skip


def each(f, *arrays):
    """f of each item of batches of matrices"""
    batch = arrays[0].shape[:-2]
    out = [f(*(a[i] for a in arrays)) for i in np.ndindex(*batch)]
    return np.array(out).reshape(*batch, *out[0].shape)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lower", [True, False])
def test_cholesky_of_batches(dtype, lower):
    for dims, batch in BATCHES:
        for opset in SOME_OPSETS if batch == (5,) else (18,):
            for n in (0, 1, 2, 3, 4, 7, 20, 60):
                size = n if n in (3, 60) else "n"
                model = ptg.compile(blockwise(f"Cholesky{{lower={lower}}}", [f"a: {dtype}[{dims}{size}, {size}]"]), opset=opset)
                a = np.zeros((*batch, n, n), dtype) + definite(n, dtype)
                a *= (10.0 ** rng().integers(-6, 6, (*batch, 1, 1))).astype(dtype)
                c = ptg.run(model, fill_all(a, lower))
                assert c.shape == a.shape and c.dtype == a.dtype
                np.testing.assert_array_equal(c, np.tril(c) if lower else np.triu(c))
                t = np.swapaxes(c, -1, -2)
                scale = np.max(np.abs(a), axis=(-1, -2), keepdims=True, initial=1e-9)
                small(((c @ t if lower else t @ c) - a) / scale, 40 * eps(a))


def fill_all(a, lower):
    """Garbage in the triangle that must not be read"""
    g = np.full_like(a, np.nan)
    return np.tril(a) + np.triu(g, 1) if lower else np.triu(a) + np.tril(g, -1)


@pytest.mark.parametrize("dtype", DTYPES)
def test_cholesky_fails_for_one_of_a_batch(dtype):
    model = ptg.compile(blockwise("Cholesky", [f"a: {dtype}[b, n, n]"]))
    for n in (1, 3, 20, 60):
        good = np.array([definite(n, dtype)] * 4)
        for value in (0, -1, np.nan, np.inf):
            a = good.copy()
            a[2, n // 2, n // 2] = value
            if value == 0:
                a[2] = 0
            c = ptg.run(model, a)
            assert np.all(np.isnan(c[2])), (n, value)
            np.testing.assert_array_equal(c[[0, 1, 3]], ptg.run(model, good)[[0, 1, 3]])


def kernel(n, dtype):
    """Nearly singular: covariances of a smooth process, with 1e-10 or 1e-4 added"""
    x = np.linspace(0, 1, n)[:, None]
    return (np.exp(-((x - x.T) ** 2) / 0.18) + {"float64": 1e-10, "float32": 1e-4}[dtype] * np.eye(n)).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n, size", [(1, 1), (2, 2), (8, 8), (17, 17), (30, 30), (40, 40), (40, "n"), (130, 130), (130, "n"), (513, 513), (640, 640)])
def test_factors_of_nearly_singular(dtype, n, size):
    """As close to the matrix as LAPACK's, for each of a batch; each size takes other fns of the library."""
    a = kernel(n, dtype)
    for opset in (13, 18) if n in (8, 40) else (18,):
        one = ptg.compile(text("Cholesky(a)", f"a: {dtype}[{size}, {size}]"), opset=opset)
        some = ptg.compile(blockwise("Cholesky", [f"a: {dtype}[3, {size}, {size}]"]), opset=opset)
        c = ptg.run(one, fill(a, True))
        batch = ptg.run(some, fill_all(np.array([a, np.eye(n, dtype=dtype) - 2 * a, 4 * a]), True))
        for found, of in (c, a), (batch[0], a), (batch[2], 4 * a):
            np.testing.assert_array_equal(found, np.tril(found))
            small((found.astype(float) @ found.T - of) / max(of[0, 0], 1), 20 * eps(a))
        assert np.all(np.isnan(batch[1]))
        bad = a.copy()
        bad[-1, -1] = 0
        assert np.all(np.isnan(ptg.run(one, bad)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n, size, batch, opset", [(12, 12, 5, 13), (30, 30, 5, 26), (12, 12, 20, 18), (40, 40, 10, 13), (40, 40, "b", 18), (100, 100, 5, 18), (150, "n", "b", 18)])
def test_factors_of_hard_batches(dtype, n, size, batch, opset):
    """Few and many matrices take other fns: nearly singular, of scales that grow and shrink, and one that is not positive definite."""
    scale = np.logspace(-75, 75, n) if dtype == "float64" else np.logspace(-15, 15, n)
    a = np.array([kernel(n, dtype), definite(n, "float64") * scale * scale[:, None], -np.eye(n), kernel(n, dtype) * scale[::-1] * scale[::-1, None], np.eye(n)])
    a[4, -1, -1] = 0
    a = np.tile(a.astype(dtype), (2 if batch == "b" else batch // 5, 1, 1))
    model = ptg.compile(blockwise("Cholesky", [f"a: {dtype}[{batch}, {size}, {size}]"]), opset=opset)
    for k, (c, of) in enumerate(zip(ptg.run(model, fill_all(a, True)), a)):
        if k % 5 in (2, 4):
            assert np.isnan(c).all()
        else:
            np.testing.assert_array_equal(c, np.tril(c))
            root = np.sqrt(np.diag(of).astype(float))
            unit = c / root[:, None]
            small(unit @ unit.T - of / root / root[:, None], 20 * eps(a))


def of_no_rows(call, signature, items, results="x"):
    arrays = [np.zeros(shape) for shape in items]
    inputs = [f"a{k}: float64{list(shape)}" for k, shape in enumerate(items)]
    names = ", ".join(f"a{k}" for k in range(len(items)))
    op = f'Blockwise{{core_op={call}, signature="{signature}"}}' if items[0][:-2] else call
    return ptg.run(f"graph g({', '.join(inputs)}) -> ({results}) {{\n  {results} = {op}({names})\n}}\n", *arrays)


@pytest.mark.parametrize("batch", [(), (3,), (0,)])
def test_matrices_of_no_rows(batch):
    """Of a size that is known to be 0. ONNX Runtime drops an Expand that only takes elements away."""
    square = (*batch, 0, 0)
    assert np.all(of_no_rows("Det", "(m,m)->()", [square]) == 1)
    sign, log = of_no_rows("SLogDet", "(m,m)->(),()", [square], "s, l")
    assert sign.shape == batch and np.all(sign == 1) and np.all(log == 0)
    assert of_no_rows("Solve", "(m,m),(m,k)->(m,k)", [square, (*batch, 0, 2)]).shape == (*batch, 0, 2)
    for shape in square, (*batch, 0, 2), (*batch, 2, 0):
        u, s, v = of_no_rows("SVD", "(m,n)->(m,m),(k),(n,n)", [shape], "u, s, v")
        assert (s.shape, u.shape, v.shape) == ((*batch, 0), (*batch, *shape[-2:-1] * 2), (*batch, *shape[-1:] * 2))
        for w in u, v:
            np.testing.assert_allclose(abs(w), np.broadcast_to(np.eye(w.shape[-1]), w.shape), rtol=1e-14)
        assert of_no_rows("MatrixPinv{hermitian=False}", "(m,n)->(n,m)", [shape]).shape == (*batch, *shape[:-3:-1])


@pytest.mark.parametrize("n", [0, 1, 13])
def test_eigenvalues_of_no_matrices(n):
    w, v = of_no_rows("Eigh", "(m,m)->(m),(m,m)", [(0, n, n)], "w, v")
    assert w.shape == (0, n) and v.shape == (0, n, n)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("n", [1, 2, 3, 8, 17, 40, 130])
def test_triangles_of_known_size(lower, n):
    triangle = np.tril if lower else np.triu
    a = triangle(definite(n, "float64")) / np.sqrt(n) + 2 * np.eye(n)
    b = rng().normal(size=(n, 2))
    for unit in (False, True):
        call = f"SolveTriangular{{lower={lower}, unit_diagonal={unit}}}(a, b)"
        model = ptg.compile(text(call, f"a: float64[{n}, {n}], b: float64[{n}, 2]"), opset=13 if n == 17 else 18)
        want = sl.solve_triangular(a, b, lower=lower, unit_diagonal=unit)
        np.testing.assert_allclose(ptg.run(model, fill(a, lower), b), want, rtol=1e-9, atol=1e-12)
        for at in {0, n // 2, n - 1}:
            zero = a.copy()
            zero[at, at] = 0
            x = ptg.run(model, zero, b)
            assert np.all(np.isfinite(x)) if unit else np.all(np.isnan(x)), at


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 3, 8, 16, 17, 30, 60, 130])
def test_systems_of_known_size(dtype, n):
    """One matrix and a batch: nearly singular ones are solved as exactly as others; a column of 0, wherever it is, makes NaN and 0."""
    u, v = (np.linalg.qr(rng().normal(size=(n, n)) + k)[0] for k in (0, 1))
    a = (u * np.geomspace(1, 10 * np.finfo(dtype).eps, n) @ v).astype(dtype)
    b = rng().normal(size=(n, 2)).astype(dtype)
    at = f"{dtype}[{n}, {n}]", f"{dtype}[{n}, 2]"
    systems = ptg.compile(
        f"graph g(a: {at[0]}, b: {at[1]}) -> (x, s, l, d) {{\n  x = Solve(a, b)\n  s, l = SLogDet(a)\n  d = Det(a)\n}}\n")
    many = [f"a: {dtype}[4, {n}, {n}]", f"b: {dtype}[4, {n}, 2]"]
    solve = ptg.compile(blockwise("Solve", many, signature="(m,m),(m,k)->(m,k)"))
    slog = ptg.compile(blockwise("SLogDet", many[:1], "s, l"))

    def exact(x, of):
        assert np.all(np.isfinite(x))
        small((of.astype(float) @ x - b) / (np.max(np.abs(x)) * np.max(np.abs(of)) + np.max(np.abs(b))), 20 * eps(a))

    scale = a.dtype.type({"float64": 2.0**500, "float32": 2.0**50}[dtype])
    for column in (0, n // 2, n - 1):
        zero = (a * 2).copy()
        zero[:, column] = 0
        exact(ptg.run(systems, a * scale, b)[0] * scale, a)
        x, s, l, d = ptg.run(systems, zero, b)
        assert np.all(np.isnan(x)) and s == d == 0 and l == -np.inf
        lanes = np.array([a, zero, a * scale, -a])
        x = ptg.run(solve, lanes, np.array([b] * 4))
        assert np.all(np.isnan(x[1]))
        exact(x[0], a), exact(x[2] * scale, a), exact(-x[3], a)
        s, l = ptg.run(slog, lanes)
        assert s[1] == 0 and l[1] == -np.inf and s[0] == s[2] == s[3] * (-1) ** n
        np.testing.assert_allclose(l[2] - l[0], n * np.log(float(scale)), atol=10 * eps(a) * np.max(np.abs(l[2:])))


@pytest.mark.parametrize("n", [8, 16, 17, 40, 100])
def test_residuals_of_nearly_singular(n):
    """Inverses of blocks of the diagonal are as exact as a substitution, though the blocks are nearly singular."""
    a = kernel(n, "float64")
    a[np.diag_indices(n)] = 1
    c = np.linalg.cholesky(a + 1e-13 * n * np.eye(n))
    b = rng().normal(size=(n, 2))
    for m, op in ((a, "Solve"), (c, "SolveTriangular{lower=True}"), (c.T.copy(), "SolveTriangular{lower=False}")):
        for size in (n, "n"):
            x = ptg.run(ptg.compile(text(f"{op}(a, b)", f"a: float64[{size}, {size}], b: float64[{size}, 2]")), m, b)
            small((m @ x - b) / (np.abs(m) @ np.abs(x) + np.abs(b)).max(axis=0), 30 * eps(b))


def well(batch, n, dtype):
    """Matrices that are far from singular"""
    return (rng().normal(size=(*batch, n, n)) / np.sqrt(max(n, 1)) + 3 * np.eye(n)).astype(dtype)


PAIRS = [(((5,), (5,)), SOME_OPSETS), (((5,), ()), (18,)), (((), (5,)), (18,)), (((2, 1), (1, 3)), (18,)), (((0,), (0,)), (18,)), (((2, 3), (3,)), (18,))]
SYSTEMS = {
    "SolveTriangular{lower=True}": np.tril, "SolveTriangular{lower=False}": np.triu,
    "SolveTriangular{lower=True, unit_diagonal=True}": lambda a: np.tril(a, -1) + np.eye(a.shape[-1]),
    "Solve": lambda a: a, 'Solve{assume_a="pos"}': lambda a: np.triu(a) + np.swapaxes(np.triu(a, 1), -1, -2),
    'Solve{assume_a="sym"}': lambda a: np.triu(a) + np.swapaxes(np.triu(a, 1), -1, -2),
    'Solve{assume_a="tridiagonal"}': lambda a: np.tril(np.triu(a, -1), 1),
    "CholeskySolve": lambda a: np.tril(a) @ np.swapaxes(np.tril(a), -1, -2),
}  # fmt: skip


@pytest.mark.sampled
@pytest.mark.parametrize("op", SYSTEMS)
def test_systems_of_batches(op):
    for (left, right), opsets in PAIRS:
        for n in (0, 1, 3, 20, 60) if right == (5,) == left else (4, 60):
            for dtype, size in (("float64", "n"), ("float32", n)):
                a, b = well(left, n, dtype), rng().normal(size=(*right, n, 2)).astype(dtype)
                s = SYSTEMS[op](a.astype(float))
                args = [f"{name}: {dtype}[{''.join(f'{k}, ' for k in batch)}{size}, {last}]" for name, batch, last in (("a", left, size), ("b", right, 2))]
                for opset in opsets:
                    model = ptg.compile(blockwise(op, args, signature="(m,m),(m,k)->(m,k)"), opset=opset)
                    x = ptg.run(model, a, b)
                    assert x.dtype == b.dtype and x.shape == (*np.broadcast_shapes(left, right), n, 2)
                    small(s @ x - b, 300 * eps(a) * max(1, np.max(np.abs(x), initial=0)))
        assert len(loops(model)) < 3  # over panels


def test_vectors_of_batches():
    for op in ("Solve{b_ndim=1}", "SolveTriangular{lower=True, b_ndim=1}", "CholeskySolve{b_ndim=1}"):
        model = ptg.compile(blockwise(op, ["a: float64[b, n, n]", "b: float64[b, n]"], signature="(m,m),(m)->(m)"))
        for n in (0, 1, 3, 60):
            a, b = np.tril(well((4,), n, "float64")), rng().normal(size=(4, n))
            s = a @ np.swapaxes(a, -1, -2) if op[0] == "C" else a
            small((s @ ptg.run(model, a, b)[..., None])[..., 0] - b, 1e-11)


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", DTYPES)
def test_inverses_and_determinants_of_batches(dtype):
    for dims, batch in BATCHES:
        for n in (0, 1, 2, 3, 7, 20, 60) if batch == (5,) else (4, 60):
            size = n if n in (3, 4, 60) else "n"
            args = [f"a: {dtype}[{dims}{size}, {size}]"]
            for opset in SOME_OPSETS if batch == (5,) else (18,):
                inverse, det, slog = (ptg.compile(blockwise(op, args, r), opset=opset) for op, r in (("MatrixInverse", "r"), ("Det", "r"), ("SLogDet", "s, l")))
                a = well(batch, n, dtype) * (rng().integers(0, 2, (*batch, 1, 1)) * 2 - 1).astype(dtype)
                small(a @ ptg.run(inverse, a) - np.eye(n), 100 * eps(a))
                sign, log = ptg.run(slog, a)
                want = np.linalg.slogdet(a.astype(float))
                np.testing.assert_array_equal(sign, want[0])
                np.testing.assert_allclose(log, want[1], atol=100 * eps(a) * max(n, 1))
                np.testing.assert_allclose(ptg.run(det, a), want[0] * np.exp(want[1]), rtol=300 * eps(a) * max(n, 1))


def test_one_singular_of_a_batch():
    """It is NaN, or its determinant 0, and the others are what they are without it."""
    args = ["a: float64[b, n, n]", "b: float64[b, n, m]"]
    solve, lower = (ptg.compile(blockwise(op, args, signature="(m,m),(m,k)->(m,k)")) for op in ("Solve", "SolveTriangular{lower=True}"))
    slog, det = ptg.compile(blockwise("SLogDet", args[:1], "s, l")), ptg.compile(blockwise("Det", args[:1]))
    for n in (1, 3, 20, 60):
        good, b = well((4,), n, "float64"), rng().normal(size=(4, n, 2))
        for bad in (np.zeros((n, n)), np.full((n, n), np.nan), np.where(np.arange(n) == n // 2, 0, good[2])):
            a = good.copy()
            a[2] = bad
            for model in (solve, lower):
                x, y = ptg.run(model, a, b), ptg.run(model, good, b)
                assert np.all(np.isnan(x[2]))
                np.testing.assert_array_equal(x[[0, 1, 3]], y[[0, 1, 3]])
            (s, l), (s1, l1), d, d1 = ptg.run(slog, a), ptg.run(slog, good), ptg.run(det, a), ptg.run(det, good)
            for x, y in ((s, s1), (l, l1), (d, d1)):
                np.testing.assert_array_equal(x[[0, 1, 3]], y[[0, 1, 3]])
            if np.isfinite(bad).all():
                assert s[2] == d[2] == 0 and l[2] == -np.inf
            else:
                assert np.isnan([s[2], l[2], d[2]]).all()


def test_nan_is_not_singular():
    """The search for a pivot may pass over NaN and end at a row that was a pivot's: the determinant is NaN all the same, and the inverse."""
    r = rng()
    for n, b, opset in ((2, "", 18), (8, "", 13), (9, "", 26), (17, "", 18), (60, "", 18), (8, "3, ", 13), (40, "3, ", 18)):
        body = "s, l = SLogDet(a)\n  d = Det(a)\n  x = MatrixInverse(a)"
        if b:
            one = 'Blockwise{core_op=%s, signature="(m,m)->%s"}(a)'
            body = f"s, l = {one % ('SLogDet', '(),()')}\n  d = {one % ('Det', '()')}\n  x = {one % ('MatrixInverse', '(m,m)')}"
        model = ptg.compile(f"graph g(a: float64[{b}{n}, {n}]) -> (s, l, d, x) {{\n  {body}\n}}\n", opset=opset)
        for count in (1, 1, 1, 2, 2, 2):
            a = well((3,), n, "float64")
            a[1].flat[r.choice(n * n, count, replace=False)] = np.nan
            s, l, d, x = ptg.run(model, a if b else a[1])
            if b:
                assert np.isfinite([s[[0, 2]], l[[0, 2]], d[[0, 2]]]).all() and np.isfinite(x[[0, 2]]).all()
                s, l, d, x = s[1], l[1], d[1], x[1]
            assert np.isnan([l, d]).all() and s != 0 and np.isnan(x).any(), (n, b, count)


def test_batches_at_any_scale():
    for n in (2, 4, 20):
        scale = np.array([1e-150, 1, 1e150, 1e10])[:, None, None]
        a, b = well((4,), n, "float64") * scale, rng().normal(size=(4, n, 2))
        for size in ("n", n):
            args = [f"a: float64[4, {size}, {size}]", f"b: float64[4, {size}, 2]"]
            x = ptg.run(ptg.compile(blockwise("Solve", args, signature="(m,m),(m,k)->(m,k)")), a, b)
            small(a / scale @ (x * scale) - b, 1e-12)
            s = a / scale @ np.swapaxes(a / scale, -1, -2)
            c = ptg.run(ptg.compile(blockwise("Cholesky", args[:1])), s * scale) / np.sqrt(scale)
            small(c @ np.swapaxes(c, -1, -2) - s, 1e-12)
            h = np.array([sl.hilbert(n)] * 4) * scale  # nearly singular
            x = ptg.run(ptg.compile(blockwise("Solve", args, signature="(m,m),(m,k)->(m,k)")), h, b) * scale
            small((h / scale @ x - b) / np.max(np.abs(x), axis=(-1, -2), keepdims=True), 1e-14)


DENSITIES = {
    "normal": lambda x, s: (pt.linalg.solve_triangular(pt.linalg.cholesky(s), x, lower=True) ** 2).sum() + pt.log(pt.diag(pt.linalg.cholesky(s))).sum(),
    "solve": lambda x, s: (pt.linalg.solve(s, x) * x).sum() + pt.linalg.slogdet(s)[1],
    "inverse": lambda x, s: (pt.linalg.inv(s) @ x * x).sum() + pt.linalg.det(s),
    "qr": lambda x, s: (pt.linalg.qr(s)[1] @ x).sum() + (pt.linalg.lu(s)[2] * s).sum(),
}  # fmt: skip


@pytest.mark.sampled
@pytest.mark.parametrize("name", DENSITIES)
def test_gradients_of_batches_take_no_loop(name):
    x, m = pt.dvector("x", shape=(4,)), pt.dmatrix("m", shape=(4, 4))
    y = DENSITIES[name](x, m @ m.T + pt.eye(4))
    many = [pt.dmatrix("x", shape=(None, 4)), pt.dtensor3("m", shape=(None, 4, 4))]
    out = vectorize_graph([y, *pt.grad(y, [x, m])], dict(zip((x, m), many)))
    model = onnx.load_model_from_string(ptgc.compile_onnx(many, out).model)
    assert not {n.op_type for n in model.graph.node} & {"Loop", "Scan"}
    for b in (1, 3):
        Compiled(many, out).run(rng().normal(size=(b, 4)), rng().normal(size=(b, 4, 4)), atol=1e-8)


@pytest.mark.parametrize("op", [op for op in SYSTEMS if "Triangular" in op])
def test_wide_right_sides_of_batches(op):
    """Small triangles are inverted for these; what the other triangle has is not read, and one that is singular is NaN alone."""
    lower = "lower=True" in op
    for n, m, dims, opsets in ((2, 60, "60", (18,)), (3, 9, "9", SOME_OPSETS), (8, 30, "m", (18,)), (3, 0, "m", (18,))):
        for batch, dtype in ((5, "float64"), (5, "float32"), (1, "float64"), (0, "float64")):
            args = [f"a: {dtype}[b, {n}, {n}]", f"b: {dtype}[b, {n}, {dims}]"]
            a, b = well((batch,), n, dtype), rng().normal(size=(batch, n, m)).astype(dtype)
            s = SYSTEMS[op](a.astype(float))
            other = np.triu(np.ones((n, n)), 1) if lower else np.tril(np.ones((n, n)), -1)
            a = np.where(other, np.nan, a).astype(dtype)
            for opset in opsets:
                model = ptg.compile(blockwise(op, args, signature="(m,m),(m,k)->(m,k)"), opset=opset)
                x = ptg.run(model, a, b)
                assert x.dtype == b.dtype and x.shape == b.shape and not loops(model)
                small(s @ x - b, 300 * eps(a) * max(1, np.max(np.abs(x), initial=0)))
            if batch == 5 and "unit" not in op:
                a[2, 1, 1] = 0
                y = ptg.run(model, a, b)
                assert np.isnan(y[2]).all()
                np.testing.assert_array_equal(y[[0, 1, 3, 4]], x[[0, 1, 3, 4]])
