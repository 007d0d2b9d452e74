"""lib/linalg/lu.ptg and tridiagonal_lu.ptg against SciPy: factors, pivots with ties, singular matrices, tridiagonal systems."""
import numpy as np
import ptg
import pytest
from residuals import text
import scipy.linalg as sl
from opsets import SOME_OPSETS

SIZES = [0, 1, 2, 3, 5, 16, 17, 48, 49, 64, 100]
DTYPES = ["float64", "float32"]


def matrices(n, dtype):
    rng = np.random.default_rng(n)
    yield rng.normal(size=(n, n)).astype(dtype)
    yield rng.integers(-1, 2, (n, n)).astype(dtype)  # ties, and often singular
    yield np.zeros((n, n), dtype)
    yield np.eye(n, dtype=dtype)[::-1].copy()


def close(got, want, bound):
    assert got.shape == want.shape and got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=0, atol=bound * np.finfo(got.dtype if got.dtype.kind == "f" else "f8").eps)


@pytest.mark.parametrize("dtype", DTYPES)
def test_lu(dtype):
    model = ptg.compile(text("LU(a)", f"a: {dtype}[n, n]", "p, l, u"))
    permuted = ptg.compile(text("LU{permute_l=True}(a)", f"a: {dtype}[n, n]", "l, u"))
    indices = ptg.compile(text("LU{p_indices=True}(a)", f"a: {dtype}[n, n]", "p, l, u"))
    for n in SIZES:
        for k, a in enumerate(matrices(n, dtype)):
            p, l, u = ptg.run(model, a)
            np.testing.assert_array_equal(u, np.triu(u))
            np.testing.assert_array_equal(l, np.tril(l, -1) + np.eye(n))
            assert np.max(np.abs(l), initial=0) <= 1
            close(p @ l @ u, a, 10 * max(n, 1))
            pl, u2 = ptg.run(permuted, a)
            np.testing.assert_array_equal(pl, p @ l)
            np.testing.assert_array_equal(u2, u)
            ix, l2, u2 = ptg.run(indices, a)
            assert ix.dtype == np.int32
            np.testing.assert_array_equal(l2[ix], pl)
            if k != 1 or n < 20:  # rounding decides between near ties of larger matrices
                want = sl.lu(a, p_indices=True) if n else (np.zeros(0, np.int32), a, a)
                np.testing.assert_array_equal(ix, want[0])
                close(l, want[1], 300 * max(n, 1))
                close(u, want[2], 300 * max(n, 1))


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 9, 30, 49, 70])
def test_lu_of_known_sizes(n):
    """Steps that are written out, loops and panels; columns of zeros, and NaN, which spoils numbers alone"""
    model = ptg.compile(text("LU{p_indices=True}(a)", f"a: float64[{n}, {n}]", "p, l, u"))
    least = np.diag(5e-324 * np.where(np.arange(n) % 2, 1, -1))
    p, l, u = ptg.run(model, least)
    np.testing.assert_array_equal((l @ u)[p], least)
    for k, a in enumerate(matrices(n, "float64")):
        p, l, u = ptg.run(model, a)
        close((l @ u)[p], a, 10 * n)
        if k != 1 or n < 20:
            np.testing.assert_array_equal(p, sl.lu(a, p_indices=True)[0])
        tiny = 2.0**-1015
        p1, l1, u1 = ptg.run(model, a * tiny)
        np.testing.assert_array_equal(p1, p)
        close((l1 @ (u1 / tiny))[p], a, 10 * n)
        a[n // 2] = np.nan
        p, l, u = ptg.run(model, a)
        assert np.isnan(u).any() and (p >= 0).all() and (p < n).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_lu_factor(dtype):
    model = ptg.compile(text("LUFactor(a)", f"a: {dtype}[n, n]", "lu, piv"))
    for n in SIZES[1:]:
        for k, a in enumerate(matrices(n, dtype)):
            lu, piv = ptg.run(model, a)
            want, piv2, info = sl.lapack.get_lapack_funcs("getrf", (a,))(a)
            if k == 1 and n >= 20:
                continue
            assert piv.dtype == np.int32
            np.testing.assert_array_equal(piv, piv2)
            if info:
                assert np.all(np.isnan(lu))
            else:
                close(lu, want, 300 * n)
    lu, piv = ptg.run(model, np.zeros((0, 0), dtype))
    assert lu.shape == (0, 0) and piv.shape == (0,)


@pytest.mark.parametrize("inverse", [True, False])
def test_pivots(inverse):
    model = ptg.compile(text(f"PivotToPermutations{{inverse={inverse}}}(p)", "p: int32[n]"))
    for n in SIZES:
        rng = np.random.default_rng(n)
        piv = np.array([rng.integers(i, n) for i in range(n)], np.int32)
        want = np.arange(n)
        for i in range(n):
            want[i], want[piv[i]] = want[piv[i]], want[i]
        got = ptg.run(model, piv)
        assert got.dtype == np.int64
        np.testing.assert_array_equal(got, want if inverse else np.argsort(want))


def tridiagonal(n, dtype):
    rng = np.random.default_rng(n)
    return [rng.normal(size=k).astype(dtype) for k in (n - 1, n, n - 1)]


@pytest.mark.parametrize("dtype", DTYPES)
def test_tridiagonal(dtype):
    factor = ptg.compile(text("LUFactorTridiagonal(dl, d, du)",
                              f"dl: {dtype}[?p], d: {dtype}[?n], du: {dtype}[?p]", "l, c, u, w, piv"))
    f, s = sl.get_lapack_funcs(("gttrf", "gttrs"), dtype=dtype)
    for n in (3, 4, 9, 60):
        parts = tridiagonal(n, dtype)
        got = ptg.run(factor, *parts)
        *want, _ = f(*parts)
        for g, w in zip(got, want, strict=True):
            close(g, w, 100)
        for transposed in (False, True):
            for shape in ((n,), (n, 2)):
                b = np.random.default_rng(1).normal(size=shape).astype(dtype)
                call = f"SolveLUFactorTridiagonal{{b_ndim={len(shape)}, transposed={transposed}}}(dl, d, du, w, piv, b)"
                args = f"dl: {dtype}[n-1], d: {dtype}[n], du: {dtype}[n-1], w: {dtype}[n-2], piv: int32[n], b: {dtype}[n{', m' * (len(shape) - 1)}]"
                x = ptg.run(ptg.compile(text(call, args)), *want, b)
                w, _ = s(*want, b, trans="T" if transposed else "N")
                close(x, w, 100 * np.max(np.abs(w)))


def test_tridiagonal_zero_pivots():
    factor = ptg.compile(text("LUFactorTridiagonal(dl, d, du)", "dl: float64[?p], d: float64[?n], du: float64[?p]", "l, c, u, w, piv"))
    f = sl.get_lapack_funcs("gttrf", dtype="float64")
    for parts in ([0, 1], [0, 0, 1], [1, 2]), ([0, 0], [0, 0, 0], [1, 1]), ([3, 0], [0, 0, 2], [0, 5]):
        parts = [np.array(p, float) for p in parts]
        for g, w in zip(ptg.run(factor, *parts), f(*parts)[:5], strict=True):
            np.testing.assert_array_equal(g, w)


def blockwise(op, signature, args, results, opset):
    names = ", ".join(a.split(":")[0] for a in args)
    return ptg.compile(text(f'Blockwise{{core_op={op}, signature="{signature}"}}({names})', ", ".join(args), results), opset=opset)


@pytest.mark.parametrize("n", [1, 2, 5, 8, 9, 30, 130])
def test_batches_of_known_sizes(n):
    """Each item of a batch has its own rows, ties and zeros."""
    a = np.stack([m for k in range(3) for m in matrices(n, "float64")])
    model = blockwise("LU{p_indices=True}", "(m,m)->(m),(m,m),(m,m)", [f"a: float64[b, {n}, {n}]"], "p, l, u", 18)
    for i, (p, l, u) in enumerate(zip(*ptg.run(model, a), strict=True)):
        close((l @ u)[p], a[i], 10 * n)
        if n < 20 or i % 4 != 1:
            np.testing.assert_array_equal(p, sl.lu(a[i], p_indices=True)[0])


BATCHES = [("b, ", (5,), SOME_OPSETS), ("b, c, ", (2, 3), (18,)), ("b, ", (0,), (18,)), ("b, ", (1,), (18,))]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.sampled
def test_batches(dtype):
    for dims, batch, opsets in BATCHES:
        for opset in opsets:
            for n in (0, 1, 3, 20, 60):
                size = n if n == 3 else "n"
                args = [f"a: {dtype}[{dims}{size}, {size}]"]
                a = np.random.default_rng(n).normal(size=(*batch, n, n)).astype(dtype)
                if n == 3 and batch == (5,):
                    a[2] = 0
                p, l, u = ptg.run(blockwise("LU", "(m,m)->(m,m),(m,m),(m,m)", args, "p, l, u", opset), a)
                close(p @ l @ u, a, 20 * max(n, 1))
                lu, piv = ptg.run(blockwise("LUFactor", "(m,m)->(m,m),(m)", args, "lu, piv", opset), a)
                order = ptg.run(blockwise("PivotToPermutations", "(m)->(m)", [f"p: int32[{dims}{size}]"], "r", opset), piv)
                for i in np.ndindex(*batch):
                    if n and a[i].any():
                        want, pivots = sl.lu_factor(a[i])
                        np.testing.assert_array_equal(piv[i], pivots)
                        close(lu[i], want, 300 * n)
                    elif n:
                        assert np.isnan(lu[i]).all()
                    np.testing.assert_array_equal(np.eye(n)[:, order[i]], p[i])


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", DTYPES)
def test_qr_of_batches(dtype):
    for dims, batch, opsets in BATCHES:
        for m, n in ((0, 3), (1, 1), (4, 4), (7, 40), (40, 7)):
            for opset in opsets:
                args = [f"a: {dtype}[{dims}{m}, {n}]" if m == 4 else f"a: {dtype}[{dims}m, n]"]
                a = np.random.default_rng(m).normal(size=(*batch, m, n)).astype(dtype)
                q, r = ptg.run(blockwise('QR{mode="economic"}', "(m,n)->(m,k),(k,n)", args, "q, r", opset), a)
                close(q @ r, a, 60)
                close(np.swapaxes(q, -1, -2) @ q, np.broadcast_to(np.eye(min(m, n), dtype=dtype), (*batch, min(m, n), min(m, n))), 60)
                full = ptg.run(blockwise('QR{mode="r"}', "(m,n)->(m,n)", args, "r", opset), a)
                close(full[..., : min(m, n), :], r, 60)


def test_tridiagonal_batches():
    """One diagonal is the same for all."""
    text_of = """graph g(e: float64[%s n-1], c: float64[%s n], f: float64[n-1], b: float64[%s n]) -> (x) {
  l, d, u, w, p = Blockwise{core_op=LUFactorTridiagonal, signature="(a),(b),(a)->(a),(b),(a),(c),(b)"}(e, c, f)
  x = Blockwise{core_op=SolveLUFactorTridiagonal{transposed=%s}, signature="(a),(b),(a),(c),(b),(b)->(b)"}(l, d, u, w, p, b)
}"""
    for dims, batch, opsets in BATCHES:
        for transposed in (False, True):
            for n in (3, 9):
                rng = np.random.default_rng(n)
                e, c, b = (rng.normal(size=(*batch, k)) for k in (n - 1, n, n))
                f = rng.normal(size=n - 1)
                for opset in opsets:
                    x = ptg.run(text_of % (dims, dims, dims, transposed), e, c, f, b, opset=opset)
                    for i in np.ndindex(*batch):
                        a = np.diag(c[i]) + np.diag(e[i], -1) + np.diag(f, 1)
                        small = (a.T if transposed else a) @ x[i] - b[i]
                        assert np.max(np.abs(small)) < 1e-12 * max(1, np.max(np.abs(x[i])))
