"""lib/linalg/svd.ptg against NumPy: residuals, orthogonality, missing rank, all shapes."""
import numpy as np
import ptg
import pytest
from residuals import eps, small, text

SHAPES = [(0, 0), (0, 3), (3, 0), (1, 1), (1, 4), (4, 1), (2, 2), (3, 5), (5, 3), (17, 17), (40, 20), (20, 40)]
DTYPES = ["float64", "float32"]


def matrices(m, n):
    rng = np.random.default_rng(m * 100 + n)
    k, a = min(m, n), rng.normal(size=(m, n))
    yield a
    yield np.zeros((m, n))
    yield np.eye(m, n)
    yield np.ones((m, n))
    yield rng.normal(size=(m, 2)) @ rng.normal(size=(2, n))
    u, v = np.linalg.qr(rng.normal(size=(m, k)))[0], np.linalg.qr(rng.normal(size=(n, k)))[0]
    yield (u * np.logspace(0, -12, k)) @ v.T
    yield (u * np.repeat([1e30, 1e18], k)[: 2 * k : 2]) @ v.T
    yield a * 1e-30


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("full", [True, False])
def test_svd(dtype, full):
    model = ptg.compile(text(f"SVD{{full_matrices={full}}}(a)", f"a: {dtype}[m, n]", "u, s, v"))
    values = ptg.compile(text("SVD{compute_uv=False}(a)", f"a: {dtype}[m, n]"))
    for m, n in [*SHAPES, (24, 24), (64, 64), (100, 100)]:
        k = min(m, n)
        for a in matrices(m, n):
            a = a.astype(dtype)
            u, s, v = ptg.run(model, a)
            assert u.shape == (m, m if full else k) and s.shape == (k,) and v.shape == (n if full else k, n)
            assert u.dtype == s.dtype == v.dtype == a.dtype
            assert np.all(np.diff(s) <= 0) and np.all(s >= 0)
            e, x = eps(dtype) * (10 + (m + n) / 2), a.astype(float)
            want = np.linalg.svd(x, compute_uv=False) if k else s
            big = max(want[0] if k else 0, 1e-38)
            small(u.T.astype(float) @ u - np.eye(u.shape[1]), 2 * e)
            small(v.astype(float) @ v.T - np.eye(v.shape[0]), 2 * e)
            small((u[:, :k] * (s / big)) @ v[:k].astype(float) - x / big, 2 * e)
            small((s - want) / big, e)
            got = ptg.run(values, a)
            assert got.shape == (k,) and np.all(np.diff(got) <= 0)
            small((got - want) / big, e)


def hard_to_divide(n):
    """Blocks of them have many equal singular values, or vectors with last elements near the smallest numbers."""
    up, i = np.eye(n, k=1), np.arange(n)
    yield up
    yield np.diag(i % 2) + up
    yield np.diag(0.1**i) + np.diag(0.1 ** i[1:], 1)
    yield (np.diag(0.1**i) + np.diag(0.1 ** i[1:], -1))[::-1, ::-1]
    yield np.kron(np.eye(n), np.eye(5) + np.eye(5, k=1))[:n, :n] + 1e-8 * up
    yield np.triu(-np.ones((n, n)), 1) + np.eye(n)
    for seed in range(2):
        rng = np.random.default_rng(seed)
        yield np.where(rng.uniform(size=(n, n)) < 0.1, rng.normal(size=(n, n)), 0)
        yield rng.normal(size=(n, n)) * 10.0 ** rng.integers(-20, 20, size=n)


@pytest.mark.parametrize("dtype", DTYPES)
def test_hard_to_divide(dtype):
    one = ptg.compile(text("SVD(a)", f"a: {dtype}[m, n]", "u, s, v"))
    sig = "(m,n)->(m,m),(k),(n,n)"
    many = ptg.compile(text(f"Blockwise{{core_op=SVD, signature='{sig}'}}(a)", f"a: {dtype}[b, m, n]", "u, s, v"))
    for n in (16, 32, 45):
        a = np.array([*hard_to_divide(n)]).astype(dtype)
        batch = ptg.run(many, a)
        for i, x in enumerate(a.astype(float)):
            want = np.linalg.svd(x, compute_uv=False)
            for u, s, v in (ptg.run(one, a[i]), [r[i].astype(float) for r in batch]):
                e = eps(dtype) * (10 + n)
                small(u.T.astype(float) @ u - np.eye(n), 2 * e)
                small(v.astype(float) @ v.T - np.eye(n), 2 * e)
                small((u * (s / want[0])) @ v.astype(float) - x / want[0], 2 * e)
                small((s - want) / want[0], e)


def test_turns_of_short_rows():
    """In float32 the squares of rows of 1e-9 underflow, but turns of them stay orthogonal."""
    rng = np.random.default_rng(31)
    a = (rng.normal(size=(30, 18, 18)) * 10.0 ** rng.uniform(-20, 20, size=(30, 1, 18))).astype("float32")
    _, _, v = ptg.run(text("Blockwise{core_op=SVD, signature='(m,n)->(m,m),(k),(n,n)'}(a)", "a: float32[b, m, n]", "u, s, v"), a)
    small(v.astype(float) @ v.swapaxes(1, 2) - np.eye(18), 50 * eps("float32"))


@pytest.mark.parametrize("shape", [(2, 66, 16), (3, 16, 66), (3, 65, 10), (0, 11, 18)])
@pytest.mark.parametrize("opset", [13, 18])
def test_known_batch(shape, opset):
    """Of a known batch the steps of Gram-Schmidt stretch a direction to all columns, then to all others."""
    call = "Blockwise{core_op=SVD{full_matrices=False}, signature='(m,n)->(m,k),(k),(k,n)'}(a)"
    a = np.random.default_rng(0).normal(size=shape)
    u, s, v = ptg.run(text(call, f"a: float64{list(shape)}", "u, s, v"), a, opset=opset)
    small((u * s[:, None]) @ v - a, 1e-13)


@pytest.mark.parametrize("n", [2, 5, 8])
def test_signs_beside_a_singular_item(n):
    """A singular matrix in a batch takes another way, which leaves the signs of vectors of other items alone."""
    model = ptg.compile(text("Blockwise{core_op=SVD{full_matrices=False}, signature='(m,n)->(m,k),(k),(k,n)'}(a)", f"a: float64[b, {n}, {n}]", "u, s, v"))
    a = np.random.default_rng(n).normal(size=(9, n, n))
    for got, want in zip(ptg.run(model, np.concatenate([a, a[:1] * 0])), ptg.run(model, a)):
        small(got[:9] - want, 1e-11)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_squares_that_leave_the_range(scale):
    """The squares of such elements are 0 or inf; alone, and beside a matrix of another scale."""
    one = ptg.compile(text("SVD(a)", "a: float64[m, n]", "u, s, v"))
    sig = "(m,n)->(m,m),(k),(n,n)"
    many = ptg.compile(text(f"Blockwise{{core_op=SVD, signature='{sig}'}}(a)", "a: float64[b, m, n]", "u, s, v"))
    for m, n in [(1, 1), (1, 4), (2, 2), (5, 3), (3, 5), (17, 17), (40, 20)]:
        k = min(m, n)
        for a in list(matrices(m, n))[:6]:
            want = np.linalg.svd(a, compute_uv=False)
            e, big = eps("float64") * (10 + (m + n) / 2), want[0] or 1.0
            pair = ptg.run(many, np.stack([a * scale, a]))
            for u, s, v in (ptg.run(one, a * scale), [x[0] for x in pair]):
                small(u.T @ u - np.eye(m), 2 * e)
                small(v @ v.T - np.eye(n), 2 * e)
                small((s / scale - want) / big, e)
                small(((u[:, :k] * (s / scale)) @ v[:k] - a) / big, 2 * e)


@pytest.mark.parametrize("dtype", DTYPES)
def test_svd_not_finite(dtype):
    model = ptg.compile(text("SVD(a)", f"a: {dtype}[m, n]", "u, s, v"))
    for bad in (np.nan, np.inf):
        a = np.ones((3, 2), dtype)
        a[1, 1] = bad
        assert all(np.all(np.isnan(x)) for x in ptg.run(model, a))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("hermitian", [True, False])
def test_pinv(dtype, hermitian):
    model = ptg.compile(text(f"MatrixPinv{{hermitian={hermitian}}}(a)", f"a: {dtype}[{'n' if hermitian else 'm'}, n]"))
    for m, n in SHAPES:
        if hermitian and m != n:
            continue
        for i, a in enumerate(matrices(m, n)):
            if dtype == "float32" and i not in (0, 1, 2) or i in (5, 6):
                continue  # NumPy's limit of 1e-15 leaves rounding errors in, or lets them decide
            a = (a + a.T if hermitian else a).astype(dtype)
            x = ptg.run(model, a)
            want = np.linalg.pinv(a, hermitian=hermitian)
            assert x.shape == (n, m) and x.dtype == a.dtype
            big = max(np.max(np.abs(want), initial=0), 1e-38)
            cond = np.max(np.abs(a), initial=1e-38) * big * max(m, n, 1)
            small((x - want) / big, 200 * eps(dtype) * max(cond, 1))


def test_pinv_of_missing_rank():
    model = ptg.compile(text("MatrixPinv{hermitian=False}(a)", "a: float64[m, n]"))
    for m, n, r in ((60, 60, 40), (80, 30, 5), (30, 90, 29), (100, 100, 1)):
        rng = np.random.default_rng(m)
        a = rng.normal(size=(m, r)) @ rng.normal(size=(r, n))
        want = np.linalg.pinv(a, rcond=1e-12)
        small(ptg.run(model, a) - want, 1e-10 * np.max(np.abs(want)))


@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (7, 3), (3, 7), (30, 20)])
def test_lstsq(shape):
    model = ptg.compile(text("Lstsq(a, b, r)", "a: float64[m, n], b: float64[m, k], r: float64[]", "x, rest, rank, s"))
    m, n = shape
    rng = np.random.default_rng(m)
    for k, rcond, r in ((1, -1, n), (2, 1, n), (2, 1e-10, 2), (0, 0, n), (2, 0.5, n)):
        a = rng.normal(size=(m, r)) @ rng.normal(size=(r, n)) if r < n else rng.normal(size=(m, n))
        b = rng.normal(size=(m, k))
        x, rest, rank, s = ptg.run(model, a, b, float(rcond))
        want = np.linalg.lstsq(a, b, rcond if 0 < rcond < 1 else 1e-16)
        assert rank.dtype == np.int32 and rank.shape == () and rank == want[2]
        assert rest.shape == want[1].shape and x.shape == want[0].shape
        small(x - want[0], 1e-11)
        small(rest - want[1], 1e-11)
        small(s - want[3], 1e-12)


@pytest.mark.parametrize("dtype,opset", [("float64", 18), ("float32", 18), ("float32", 13), ("float64", 26)])
def test_batch(dtype, opset):
    """Hard matrices and one with NaN side by side; each is as good as alone. No loop is over the batch."""
    args, full = f"a: {dtype}[b, m, n]", opset == 18
    sig = "(m,n)->(m,m),(k),(n,n)" if full else "(m,n)->(m,k),(k),(k,n)"
    model = ptg.compile(text(f"Blockwise{{core_op=SVD{{full_matrices={full}}}, signature='{sig}'}}(a)", args, "u, s, v"), opset)
    values = ptg.compile(text("Blockwise{core_op=SVD{compute_uv=False}, signature='(m,n)->(k)'}(a)", args), opset)
    pinv = ptg.compile(text("Blockwise{core_op=MatrixPinv{hermitian=False}, signature='(m,n)->(n,m)'}(a)", args), opset)
    for m, n in SHAPES[::2] if full else [(0, 2), (3, 5), (9, 9)]:
        hard = np.array([*matrices(m, n), np.full((m, n), np.nan)]).astype(dtype)
        for a in (hard, hard[:0], hard[:1]):
            k = min(m, n)
            u, s, v = ptg.run(model, a)
            only, x = ptg.run(values, a), ptg.run(pinv, a)
            assert s.shape == only.shape == (len(a), k) and x.shape == (len(a), n, m)
            assert u.shape[1:] == (m, m if full else k) and v.shape[1:] == (n if full else k, n)
            for i in range(len(a) if k else 0):
                if np.isnan(a[i, 0, 0]):
                    assert all_nan(u[i], s[i], v[i], only[i], x[i])
                    continue
                b = a[i].astype(float)
                want = np.linalg.svd(b, compute_uv=False)
                e, big = eps(dtype) * (10 + (m + n) / 2), max(want[0], 1e-38)
                small(u[i].T.astype(float) @ u[i] - np.eye(u.shape[2]), 2 * e)
                small(v[i].astype(float) @ v[i].T - np.eye(v.shape[1]), 2 * e)
                small((u[i][:, :k] * (s[i] / big)) @ v[i][:k].astype(float) - b / big, 2 * e)
                small((s[i] - want) / big, e)
                small((only[i] - want) / big, e)
                if i == 0:
                    want = np.linalg.pinv(b)
                    small(x[i] - want, 200 * eps(dtype) * np.linalg.cond(b) * np.max(np.abs(want)))


def all_nan(*xs):
    return all(np.all(np.isnan(x)) for x in xs)


def hard_batches(n, b=24):
    """Batches whose matrices are hard in one way: what is chosen for a batch by its hardest matrix is chosen for that."""
    rng = np.random.default_rng(n)
    i, a = np.arange(n), rng.normal(size=(b, n, n))
    u, _, v = np.linalg.svd(a)
    yield a
    for s in (0.1**i, 0.01**i, np.logspace(0, -6.5, n), np.where(i < n / 2, 1, 1e-3), np.where(i < n / 2, 1.0, 0)):
        yield u * s @ v
    yield u[:, :, :1] @ v[:, :1]
    yield u @ v
    yield np.eye(n) + 1e-9 * a
    yield np.zeros((b, n, n)) + np.eye(n, k=1)
    yield np.where(rng.uniform(size=(b, n, n)) < 0.25, a, 0)
    yield rng.integers(-1, 2, size=(b, n, n)).astype(float)
    yield a * 10.0 ** rng.integers(-15, 15, size=(b, 1, n))
    yield a * 10.0 ** rng.integers(-15, 15, size=(b, n, 1))
    yield a * (i >= 2)
    yield a * (i >= 2)[:, None]
    mixed = np.where(i[:b, None, None] % 3 == 0, a[:n], 0.0)
    mixed[1 % n] = np.nan
    yield mixed


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("m,n", [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (8, 8), (16, 16), (5, 8), (16, 5), (20, 20)])
def test_batches_of_small(m, n, dtype):
    """Lengths that are known, as unrolled loops need them, and a batch of any length"""
    k, size = min(m, n), max(m, n)
    args = f"a: {dtype}[b, {m}, {n}]"
    vectors = ptg.compile(text("Blockwise{core_op=SVD{full_matrices=False}, signature='(m,n)->(m,k),(k),(k,n)'}(a)", args, "u, s, v"))
    values = ptg.compile(text("Blockwise{core_op=SVD{compute_uv=False}, signature='(m,n)->(k)'}(a)", args))
    for x in hard_batches(size):
        a = x[:, :m, :n].astype(dtype)
        bad = np.isnan(a[:, 0, 0])
        (u, s, v), only = ptg.run(vectors, a), ptg.run(values, a)
        assert all(np.isnan(r[bad]).all() for r in (u, s, v, only))
        u, s, v, only, b = (r[~bad].astype(float) for r in (u, s, v, only, a))
        want = np.linalg.svd(b, compute_uv=False)
        e, big = eps(dtype) * (20 + 2 * size), np.maximum(want[:, :1], 1e-38)
        assert np.all(np.diff(s) <= 0) and np.all(np.diff(only) <= 0) and np.all(s >= 0) and np.all(only >= 0)
        small(u.transpose(0, 2, 1) @ u - np.eye(k), e)
        small(v @ v.transpose(0, 2, 1) - np.eye(k), e)
        small((u * (s / big)[:, None]) @ v - b / big[:, :, None], e)
        small((s - want) / big, e)
        small((only - want) / big, e)
