"""lib/linalg/eigh.ptg against NumPy and SciPy: residuals, orthogonality, hard spectra, all sizes."""
import numpy as np
import ptg
import pytest
from residuals import small, text
import scipy.linalg as sl

SIZES = [0, 1, 2, 3, 5, 17, 65]
DTYPES = ["float64", "float32"]


def eps(dtype):
    return np.finfo(dtype).eps


def symmetric(n, dtype):
    """Spectra that are hard: equal, clustered, graded, zero, of any scale."""
    rng = np.random.default_rng(n)
    a = rng.normal(size=(n, n))
    q = np.linalg.qr(a)[0] if n else a
    yield a + a.T
    yield np.zeros((n, n))
    yield np.eye(n)
    yield np.ones((n, n))
    yield np.diag(np.arange(n, 0.0, -1))
    yield (q * np.repeat([1.0, 2.0], n)[: 2 * n : 2]) @ q.T
    yield (q * np.logspace(0, -12, n)) @ q.T
    yield a[:, :2] @ a[:, :2].T
    yield (a + a.T) * 1e30
    yield (a + a.T) * 1e-30
    yield np.diag(np.ones(max(n - 1, 0)), 1)[:n, :n] + np.diag(np.ones(max(n - 1, 0)), -1)[:n, :n]
    yield np.diag(np.abs(np.arange(n) - n / 2))[:n, :n] + np.eye(n, k=1) + np.eye(n, k=-1)


def fill(a, lower):
    """Garbage in the triangle that must not be read"""
    g = np.full_like(a, 1e6)
    return np.tril(a) + np.triu(g, 1) if lower else np.triu(a) + np.tril(g, -1)


def norm_of(a):
    a = np.abs(a.astype(np.longdouble))
    return float(np.max(np.sum(a, 0), initial=0))


def limits(a):
    """How far what belongs to a may be off, in units of the second one, its size"""
    return eps(a.dtype) * (8 + len(a) / 2), max(norm_of(a), 1e-38)


def check_pairs(a, w, v, loose=1):
    """w and v are eigenvalues in order and eigenvectors of a; NaN where a has one. Residuals may be `loose` times the limit."""
    n, (e, big) = len(a), limits(a)
    assert w.shape == (n,) and v.shape == (n, n) and w.dtype == v.dtype == a.dtype
    if n and not np.isfinite(a[0, 0]):
        assert np.all(np.isnan(w)) and np.all(np.isnan(v))
        return
    x = a.astype(np.longdouble) / big
    assert np.all(np.diff(w) >= 0)
    small(v.T.astype(float) @ v - np.eye(n), 2 * e)
    small((x @ v - v * (w / big)).astype(float), loose * e)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lower", [True, False])
def test_eigh(dtype, lower):
    model = ptg.compile(text(f"Eigh{{lower={lower}}}(a)", f"a: {dtype}[n, n]", "w, v"))
    values = ptg.compile(text(f"Eigvalsh{{lower={lower}}}(a)", f"a: {dtype}[n, n]"))
    for n in SIZES:
        for a in symmetric(n, dtype):
            a = ((a + a.T) / 2).astype(dtype)
            w, v = ptg.run(model, fill(a, lower))
            check_pairs(a, w, v)
            e, big = limits(a)
            if n:
                small((w - np.linalg.eigvalsh(a.astype(float))) / big, e)
            small((ptg.run(values, fill(a, lower)) - w) / big, e)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", [False, True])
def test_elements_whose_squares_underflow(dtype, batch):
    """Blocks far below the largest element, down to the smallest numbers"""
    call = "Blockwise{core_op=Eigh, signature='(m,m)->(m),(m,m)'}(a)" if batch else "Eigh(a)"
    model = ptg.compile(text(call, f"a: {dtype}[{'b, ' * batch}n, n]", "w, v"))
    for n in (4, 7, 20):
        for tiny in np.logspace(-12, -44, 9) if dtype == "float32" else np.logspace(-100, -320, 23):
            a = (tiny * (np.eye(n, k=1) + np.eye(n, k=-1))).astype(dtype)
            a[0, 0] = n % 2
            for x in (a, a + np.diag(np.arange(n) == n - 1).astype(dtype)):
                w, v = (r[0] for r in ptg.run(model, x[None])) if batch else ptg.run(model, x)
                small(v.T @ v - np.eye(n), 20 * eps(dtype))
                small(w - np.linalg.eigvalsh(x.astype(float)), 30 * eps(dtype) * abs(x).max() + np.finfo(dtype).tiny)


@pytest.mark.parametrize("n", [2, 9, 14])
@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_near_the_largest_number(dtype, n):
    """No power of 2 is as large."""
    size = np.linspace(0.5, 1, n) * (0.9 * float(np.finfo(dtype).max))
    a = np.diag(size).astype(dtype)
    for call, want in ("x = Eigvalsh(a, None)", size), ("x = SVD{compute_uv=False}(a)", size[::-1]), ("x, _ = Schur(a)", a):
        x = ptg.run(f"graph g(a: {dtype}[?, ?]) -> (x) {{\n  {call}\n}}\n", a)
        np.testing.assert_allclose(x, want, rtol=100 * eps(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_signs(dtype):
    """Where the largest element of an eigenvector of the tridiagonal matrix stands out, LAPACK's sign"""
    model = ptg.compile(text("Eigh(a)", f"a: {dtype}[n, n]", "w, v"))
    for n in range(3, 9):
        rng = np.random.default_rng(n)
        off = rng.normal(size=n - 1) / 10
        a = (np.diag(rng.permutation(n)) + np.diag(off, 1) + np.diag(off, -1)).astype(dtype)
        want = sl.eigh(a)[1]
        small(ptg.run(model, a)[1] - want, 1e3 * eps(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lower", [True, False])
def test_generalized(dtype, lower):
    args = f"a: {dtype}[n, n], b: {dtype}[n, n]"
    model = ptg.compile(text(f"Eigh{{lower={lower}}}(a, b)", args, "w, v"))
    values = ptg.compile(text(f"Eigvalsh{{lower={lower}}}(a, b)", args))
    for n in SIZES:
        rng = np.random.default_rng(n)
        a, b = rng.normal(size=(2, n, n))
        a, b = (a + a.T).astype(dtype), (b @ b.T / max(n, 1) + np.eye(n)).astype(dtype)
        w, v = ptg.run(model, fill(a, lower), fill(b, lower))
        if n:
            want = sl.eigh(a, b)
            small(w - want[0], 200 * max(n, 1) * eps(dtype))
            small(np.abs(np.sum(v * (b @ want[1]), 0)) - 1, 2000 * max(n, 1) * eps(dtype))
        small(v.T @ b @ v - np.eye(n), 200 * max(n, 1) * eps(dtype))
        small(a @ v - b @ v * w, 400 * max(n, 1) * eps(dtype))
        small(ptg.run(values, fill(a, lower), fill(b, lower)) - w, 200 * max(n, 1) * eps(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_not_finite_is_nan(dtype):
    model = ptg.compile(text("Eigh(a)", f"a: {dtype}[n, n]", "w, v"))
    for n in (1, 2, 5, 20):
        for bad in (np.nan, np.inf):
            a = np.eye(n, dtype=dtype)
            a[n - 1, 0] = bad
            assert all(np.all(np.isnan(x)) for x in ptg.run(model, a))


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_squares_that_leave_the_range(scale):
    """The squares of such elements are 0 or inf; alone, and beside a matrix of another scale."""
    one = ptg.compile(text("Eigh(a)", "a: float64[n, n]", "w, v"))
    many = ptg.compile(text(BATCH_OF["Eigh"], "a: float64[b, n, n]", "w, v"))
    for n in (1, 2, 3, 5, 17, 65):
        for a in list(symmetric(n, "float64"))[:8]:
            a = (a + a.T) / 2
            pair = ptg.run(many, np.stack([a * scale, a]))
            for w, v in (ptg.run(one, a * scale), (pair[0][0], pair[1][0])):
                e, big = eps("float64") * (8 + n / 2), norm_of(a) or 1.0
                small(v.T @ v - np.eye(n), 2 * e)
                small((a @ v - v * (w / scale)) / big, e)


BATCH_OF = {
    "Eigh": 'Blockwise{core_op=Eigh, signature="(m,m)->(m),(m,m)"}(a)',
    "Eigvalsh": 'Blockwise{core_op=Eigvalsh, signature="(m,m)->(m)"}(a)',
}


@pytest.mark.parametrize("dtype,opset", [("float64", 18), ("float32", 18), ("float64", 13), ("float32", 26)])
def test_batch(dtype, opset):
    """Hard matrices and one with NaN side by side; each is as good as alone. No loop is over the batch."""
    model = ptg.compile(text(BATCH_OF["Eigh"], f"a: {dtype}[b, n, n]", "w, v"), opset)
    values = ptg.compile(text(BATCH_OF["Eigvalsh"], f"a: {dtype}[b, n, n]"), opset)
    for n in SIZES if opset == 18 else (0, 3, 14):
        a = np.array([(x + x.T) / 2 for x in symmetric(n, dtype)])
        a = np.concatenate([a, np.full((1, n, n), np.nan), a[:1] * (1e150 if dtype == "float64" else 1)]).astype(dtype)
        for b in (a, a[:0], a[:1]):
            w, v = ptg.run(model, b)
            only = ptg.run(values, b)
            assert w.shape == only.shape == b.shape[:2] and v.shape == b.shape
            for x, y, q, z in zip(b, w, v, only):
                check_pairs(x, y, q)
                e, big = limits(x)
                if n and np.isnan(x[0, 0]):
                    assert np.all(np.isnan(z))
                else:
                    small((z - y) / big, e)


def hard_for_rotations(n):
    """Clusters of all widths, lengths and diagonals that are equal, kernels, grades: what the last step must leave to sweeps"""
    rng = np.random.default_rng(n)
    q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    k, half = np.arange(n), np.arange(n) < n // 2
    for gap in np.logspace(-2, -16, 15):
        yield (q * (1 + gap * k)) @ q.T
        yield (q * np.where(half, 1 + gap * k, -1)) @ q.T
    yield 1 - np.eye(n)
    yield np.eye(n)[::-1]
    yield 0.9 ** np.abs(k[:, None] - k)
    yield np.exp(-0.5 * (k[:, None] - k) ** 2 / n)
    yield 10.0 ** -(k[:, None] + k) * (1 + 0.1 * (q + q.T))
    yield np.where(k[:, None] // 2 == k // 2, 1.0, 0.0)
    yield from (lambda a: a @ a.swapaxes(1, 2))(rng.normal(size=(64, n, n)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [2, 3, 8, 12])
def test_static_batch(dtype, n):
    """Matrices that need more sweeps beside such as need fewer, and beside NaN and other scales"""
    model = ptg.compile(text(BATCH_OF["Eigh"], f"a: {dtype}[b, {n}, {n}]", "w, v"))
    values = ptg.compile(text(BATCH_OF["Eigvalsh"], f"a: {dtype}[b, {n}, {n}]"))
    a = np.array([(x + x.T) / 2 for x in [*symmetric(n, dtype), *hard_for_rotations(n)]])
    a[5::7] *= 1e-150 if dtype == "float64" else 1e-20
    a[6::7] *= 1e150 if dtype == "float64" else 1e18
    a = np.concatenate([a, np.full((1, n, n), np.nan), np.full((1, n, n), np.inf)]).astype(dtype)
    w, v = ptg.run(model, a)
    only = ptg.run(values, a)
    for x, y, q, z in zip(a, w, v, only):
        if np.isfinite(x[0, 0]):
            big = norm_of(x) or 1.0
            check_pairs((x / big).astype(dtype), (y / big).astype(dtype), q, 2)
            small((z - y) / big, limits(x)[0])
        else:
            assert all(np.all(np.isnan(r)) for r in (y, q, z))


def test_static_sizes_and_batch_dims():
    """Closed dims, several batch dims, and a gradient: without a loop over the batch"""
    for n in (1, 2, 4, 13):
        a = np.random.default_rng(n).normal(size=(2, 3, n, n))
        a = a + a.swapaxes(-1, -2)
        w, v = ptg.run(text(BATCH_OF["Eigh"], f"a: float64[2, 3, {n}, {n}]", "w, v"), a)
        small(w - np.linalg.eigvalsh(a), 1e-13)
        small(a @ v - v * w[..., None, :], 1e-13)
    one, many = (ptg.compile(text(BATCH_OF["Eigvalsh"], f"a: float64[{d}, 4, 4]")) for d in ("2", "b"))
    assert ptg.loops(one) == ptg.loops(many)


PAIRS = """ptg 1
graph g(a: {t}[{n}, {n}], b: {t}[{k}, {k}]) -> (wa, va, wb, vb) {{
  wa, va = Eigh(a)
  wb, vb = Eigh{{lower=True}}(b)
}}
"""


@pytest.mark.parametrize("dtype", DTYPES)
def test_two_at_once(dtype):
    """Two small matrices share a loop, and are as good as alone, whatever the scale of the other one, or its NaN."""
    for n, k, opset in ((1, 1, 18), (2, 1, 18), (2, 3, 13), (5, 6, 18), (8, 3, 18), (8, 8, 26)):
        model = ptg.compile(PAIRS.format(t=dtype, n=n, k=k), opset)
        assert ptg.loops(model) == ptg.loops(ptg.compile(text("Eigh(a)", f"a: {dtype}[{max(n, k)}, {max(n, k)}]", "w, v")))
        first = [(x + x.T) / 2 for x in symmetric(n, dtype)]
        second = [(x + x.T) / 2 for x in symmetric(k, dtype)][::-1]
        first += [np.full((n, n), np.nan), first[0], first[0] * (1e150 if dtype == "float64" else 1e10)]
        second += [second[0], np.full((k, k), np.inf), second[0]]
        for a, b in zip(first, second):
            a, b = a.astype(dtype), b.astype(dtype)
            wa, va, wb, vb = ptg.run(model, fill(a, True), fill(b, True))
            check_pairs(a, wa, va)
            check_pairs(b, wb, vb)


def test_dependent_calls_stay_apart():
    """The second matrix is made of the first one's eigenvectors."""
    source = """ptg 1
graph g(a: float64[4, 4], b: float64[3, 3]) -> (w, u, x) {
  w, v = Eigh(a)
  c = Add(v, v.T)
  u, _ = Eigh(c)
  x, _ = Eigh(b)
}
"""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(4, 4)), rng.normal(size=(3, 3))
    w, u, x = ptg.run(source, a, b)
    v = ptg.run(text("Eigh(a)", "a: float64[4, 4]", "w, v"), a)[1]
    small(w - np.linalg.eigvalsh(a), 1e-13)
    small(u - np.linalg.eigvalsh(v + v.T), 1e-13)
    small(x - np.linalg.eigvalsh(b), 1e-13)
