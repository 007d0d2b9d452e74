"""lib/linalg/francis_qr.ptg against SciPy: Schur forms and what is solved from them."""
import numpy as np
import onnx
import ptg
import pytensor
import pytensor.tensor as pt
import pytest
from residuals import eps, small, text
import scipy.linalg as sl

import ptgc

DTYPES = ["float64", "float32"]


def matrices(n):
    rng = np.random.default_rng(n)
    a = rng.normal(size=(n, n))
    yield a
    yield a + a.T
    yield a - a.T
    yield np.zeros((n, n))
    yield np.eye(n)
    yield np.tril(a)
    yield np.eye(n, k=1) + np.eye(n, k=1 - n)  # a permutation: all eigenvalues on the circle
    yield np.eye(n, k=1)
    yield a * 1e-30
    yield a * 1e30
    yield rng.integers(-1, 2, (n, n)).astype(float)


@pytest.mark.parametrize("dtype", DTYPES)
def test_schur(dtype):
    model = ptg.compile(text("Schur(a)", f"a: {dtype}[n, n]", "t, z"))
    for n in (0, 1, 2, 3, 6, 15, 40):
        for a in matrices(n):
            a = a.astype(dtype)
            t, z = ptg.run(model, a)
            assert t.shape == z.shape == (n, n) and t.dtype == z.dtype == a.dtype
            big, e = max(np.max(np.abs(a), initial=0), 1e-38), eps(dtype) * (10 + 2 * n)
            small(z.T.astype(float) @ z - np.eye(n), e)
            small(z.astype(float) @ (t / big).astype(float) @ z.T - a / big, 2 * e)
            np.testing.assert_array_equal(t, np.triu(t, -1))
            below = np.diag(t, -1)
            assert not np.any((below[1:] != 0) & (below[:-1] != 0))
            for i in np.flatnonzero(below):
                assert t[i, i] == t[i + 1, i + 1] and np.sign(t[i, i + 1]) == -np.sign(t[i + 1, i])


def test_like_lapack():
    model = ptg.compile(text("Schur(a)", "a: float64[n, n]", "t, z"))
    for n in (2, 3, 4, 5):
        for seed in range(4):
            a = np.random.default_rng(seed).normal(size=(n, n))
            for got, want in zip(ptg.run(model, a), sl.schur(a), strict=True):
                small(got - want, 1e-12)
    a = np.random.default_rng(5).normal(size=(60, 60))  # the order of the eigenvalues
    small(np.diag(ptg.run(model, a)[0]) - np.diag(sl.schur(a)[0]), 1e-11)


def test_schur_not_finite():
    model = ptg.compile(text("Schur(a)", "a: float64[n, n]", "t, z"))
    for bad in (np.nan, np.inf):
        a = np.ones((4, 4))
        a[1, 2] = bad
        assert all(np.all(np.isnan(x)) for x in ptg.run(model, a))


@pytest.mark.parametrize("dtype", DTYPES)
def test_sylvester(dtype):
    args = f"a: {dtype}[m, m], b: {dtype}[n, n], c: {dtype}[m, n]"
    whole = ptg.compile(text("SolveSylvester(a, b, c)", args))
    part = ptg.compile(text("TRSYL(a, b, c)", args))
    for m, n in ((0, 0), (1, 1), (3, 4), (4, 3), (1, 5), (20, 8)):
        rng = np.random.default_rng(m)
        a, b = rng.normal(size=(m, m)) + 2 * m * np.eye(m), rng.normal(size=(n, n))
        a, b, c = a.astype(dtype), b.astype(dtype), rng.normal(size=(m, n)).astype(dtype)
        x = ptg.run(whole, a, b, c)
        assert x.shape == c.shape and x.dtype == c.dtype
        small(a @ x + x @ b - c, 100 * (m + 1) * eps(dtype))
        if m:
            a, b = (sl.schur(x)[0] for x in (a, b))
        x = ptg.run(part, a, b, c)
        small(a @ x + x @ b - c, 100 * (m + 1) * eps(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_riccati(dtype):
    args = f"a: {dtype}[m, m], b: {dtype}[m, n], q: {dtype}[m, m], r: {dtype}[n, n]"
    model = ptg.compile(text("SolveDiscreteARE(a, b, q, r)", args, "x"))
    cases = [(np.array([[4, 3], [-4.5, -3.5]]), np.array([[1], [-1]]), np.array([[9, 6], [6, 4]]), np.eye(1))]
    for m, n in ((1, 1), (3, 1), (4, 2), (12, 5)):
        rng = np.random.default_rng(m)
        q, r = rng.normal(size=(m, m)), rng.normal(size=(n, n))
        cases.append((rng.normal(size=(m, m)), rng.normal(size=(m, n)), q @ q.T, r @ r.T + np.eye(n)))
    for case in cases:
        want = sl.solve_discrete_are(*case)
        x = ptg.run(model, *(c.astype(dtype) for c in case))
        assert x.dtype == np.float64  # floatX, as PyTensor's
        np.testing.assert_array_equal(x, x.T)
        small((x - want) / np.max(np.abs(want)), 2e4 * eps(dtype))
    a, b, q, r = np.eye(2) * 2, np.zeros((2, 1)), np.eye(2), np.eye(1)  # nothing makes a stable
    assert np.all(np.isnan(ptg.run(model, *(c.astype(dtype) for c in (a, b, q, r)))))


def test_riccati_of_batch():
    """One that has no solution, or has NaN, leaves the others alone; each stops by itself. b and r may be the same for all."""
    rng = np.random.default_rng(3)
    a, q = rng.normal(size=(2, 5, 3, 3))
    q, b, r = q @ q.swapaxes(-1, -2), rng.normal(size=(3, 2)), np.eye(2)
    a[1] *= 0.01
    a[2, 0, 0] = np.nan
    sig = "(m,m),(m,n),(m,m),(n,n)->(m,m)"
    args = "a: float64[k, m, m], b: float64[m, n], q: float64[k, m, m], r: float64[n, n]"
    model = ptg.compile(text(f"Blockwise{{core_op=SolveDiscreteARE, signature='{sig}'}}(a, b, q, r)", args, "x"))
    one = ptg.compile(text("SolveDiscreteARE(a, b, q, r)", args.replace("k, ", ""), "x"))
    for k in (0, 1, 5):
        x = ptg.run(model, a[:k], b, q[:k], r)
        assert x.shape == (k, 3, 3)
        for i in range(k):
            want = ptg.run(one, a[i], b, q[i], r)
            np.testing.assert_allclose(x[i], want, 1e-9)
            assert np.all(np.isnan(want)) == (i == 2)


def nested(graph, depth=0):
    """How deep loops stand in one another"""
    inner = [nested(a.g, depth + (n.op_type == "Loop")) for n in graph.node for a in n.attribute if a.g.node]
    return max(inner, default=depth)


def lanes(n, count):
    """Matrices that take unlike numbers of steps: all kinds, one with NaN among them"""
    kinds = [*matrices(n)]
    a = np.array([kinds[i % len(kinds)] + (np.eye(n) if i >= len(kinds) else 0) for i in range(count)]).reshape(count, n, n)
    if n and count > 3:
        a[3, n - 1, 0] = np.nan
    return a


BATCHES = [((17,), "17"), ((4, 3), "i, j"), ((1,), "i"), ((0,), "i"), ((2, 1, 2), "i, 1, k")]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch, dims", BATCHES)
def test_schur_of_a_batch(dtype, batch, dims):
    """Each matrix has the form that it has by itself, whatever steps the others take; no loop is over the batch."""
    one = ptg.compile(text("Schur(a)", f"a: {dtype}[n, n]", "t, z"))
    call = "Blockwise{core_op=Schur, signature='(m,m)->(m,m),(m,m)'}(a)"
    many = ptg.compile(text(call, f"a: {dtype}[{dims}, n, n]", "t, z"), opset=13 if len(batch) > 1 else 18)
    assert nested(onnx.load_model_from_string(many).graph) == nested(onnx.load_model_from_string(one).graph)
    for n in (0, 1, 2, 3, 7):
        a = lanes(n, int(np.prod(batch))).reshape(*batch, n, n).astype(dtype)
        t, z = ptg.run(many, a)
        assert t.shape == z.shape == a.shape and t.dtype == z.dtype == a.dtype
        for at in np.ndindex(batch):
            for got, want in zip((t[at], z[at]), ptg.run(one, a[at]), strict=True):
                assert np.isnan(got).all() or not np.isnan(want).any()
                np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("op", ["SolveSylvester", "TRSYL"])
@pytest.mark.parametrize("batch, dims", BATCHES)
def test_sylvester_of_a_batch(op, batch, dims):
    """Blocks of one and of two rows at different places; one matrix for all items in place of each argument"""
    sig = "(m,m),(n,n),(m,n)->(m,n)"
    rng = np.random.default_rng(len(dims))
    for has in ("111", "101", "011", "001", "110"):
        args = ", ".join(f"{v}: float64[{dims + ', ' if h == '1' else ''}{d}]" for v, h, d in zip("abc", has, ("m, m", "n, n", "m, n")))
        model = ptg.compile(text(f"Blockwise{{core_op={op}, signature='{sig}'}}(a, b, c)", args, "x"), opset=13 if len(batch) > 1 else 18)
        for m, n in ((3, 7), (2, 1), (1, 2), (0, 3), (3, 0), (6, 7)):
            lead = [batch if h == "1" else () for h in has]
            a = rng.normal(size=(*lead[0], m, m)) + 6 * np.eye(m)
            b = (lanes(n, int(np.prod(batch))).reshape(*batch, n, n) if lead[1] else rng.normal(size=(n, n))) + 6 * np.eye(n)
            b = np.where(np.abs(b) > 1e10, b / 1e30, b)
            if op == "TRSYL":
                b = np.array([sl.schur(np.nan_to_num(v))[0] for v in b.reshape(-1, n, n)]).reshape(b.shape) if n else b
            c = rng.normal(size=(*lead[2], m, n))
            x = ptg.run(model, a, b, c)
            assert x.shape == (*batch, m, n)
            item = lambda v, l, at: v[at] if l else v
            for at in np.ndindex(batch):
                p, q, r = item(a, lead[0], at), item(b, lead[1], at), item(c, lead[2], at)
                if np.isnan(q).any():
                    assert np.isnan(x[at]).all()
                else:
                    np.testing.assert_allclose(p @ x[at] + x[at] @ q, r, atol=1e-12)


EIG = {
    "random": lambda n: np.random.default_rng(n).normal(size=(n, n)),
    "symmetric": lambda n: np.minimum.outer(np.arange(n), np.arange(n)) + 1.0,
    "pairs": lambda n: np.roll(np.eye(n), 1, 0) * np.arange(1, n + 1),
    "one block": lambda n: np.diag(np.ones(max(n - 1, 0)), 1) if n else np.zeros((0, 0)),
    "diagonal": lambda n: np.diag(np.arange(n) % 3 - 1.0),
    "large": lambda n: np.random.default_rng(n).normal(size=(n, n)) * 1e200,
}


@pytest.mark.parametrize("kind", EIG)
def test_eig(kind):
    """a v = v w, vectors of length 1 whose largest element is real, and NumPy's eigenvalues; a matrix with NaN"""
    x = pt.dmatrix("x")
    f = pytensor.function([x], pt.linalg.eig(x), mode="ONNX")
    for n in (0, 1, 2, 3, 6, 17):
        a = EIG[kind](n)
        w, v = f(a)
        assert w.dtype == v.dtype == np.complex128 and w.shape == (n,) and v.shape == (n, n)
        if not n:
            continue
        size = np.abs(a).max() or 1
        np.testing.assert_allclose(a @ v / size, v * w / size, atol=1e-14 * n)
        np.testing.assert_allclose(np.linalg.norm(v, axis=0), 1, rtol=1e-14)
        largest = v[np.argmax(np.abs(v) - np.arange(n)[:, None] * 1e-12, 0), np.arange(n)]
        assert (np.abs(largest.imag) < 1e-6).all()
        want = list(np.linalg.eigvals(a))
        for value in w:
            i = int(np.argmin(np.abs(np.array(want) - value)))
            assert abs(want.pop(i) - value) < 1e-13 * n * size
    assert np.isnan(f(np.array([[1, np.nan], [0, 1]]))[0]).all()


@pytest.mark.parametrize("dtype", ["float32", "int64", "int8", "bool"])
def test_eig_of_batches_and_dtypes(dtype):
    x = pt.tensor3("x", dtype=dtype)
    f = pytensor.function([x], pt.linalg.eig(x), mode="ONNX")
    for shape in ((3, 4, 4), (1, 2, 2), (2, 1, 1)):
        a = np.random.default_rng(5).integers(0, 2 if dtype == "bool" else 9, shape).astype(dtype)
        w, v = f(a)
        assert w.dtype == v.dtype == np.promote_types(dtype, np.complex64) and w.shape == shape[:2] and v.shape == shape
        np.testing.assert_allclose(a.astype(float) @ v, v * w[:, None], atol=2e-5 if w.dtype == np.complex64 else 1e-12)
    with pytest.raises(ptgc.CompileError, match="complex128"):
        pytensor.function([z := pt.zmatrix()], pt.linalg.eig(z), mode="ONNX")
