"""Gradients of normal log densities by a covariance matrix (src/typed/covariance.c)."""

import numpy as np
import onnx
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.tensor.linalg import cholesky, solve_triangular

import ptgc


def log_density(k, y, logs=1.0, form=0.5):
    """A log determinant and a quadratic form: y is a vector, or has columns."""
    factor = cholesky(k)
    half = solve_triangular(factor, y, lower=True)
    terms = [-logs * pt.sum(pt.log(pt.diag(factor)))] * bool(logs) + [-form * pt.sum(half**2)] * bool(form)
    return terms[0] if len(terms) == 1 else terms[0] + terms[1]


def positive_definite(rng, n, low=-1.0):
    q, _ = np.linalg.qr(rng.normal(size=(n, n)))
    k = q * np.logspace(low, 1, n) @ q.T
    return (k + k.T) / 2


def inverse(k):
    """By elimination in long double"""
    a = np.concatenate([k.astype(np.longdouble), np.eye(len(k), dtype=np.longdouble)], 1)
    for i in range(len(k)):
        a[i] /= a[i, i].copy()
        for j in range(len(k)):
            if j != i:
                a[j] -= a[i] * a[j, i].copy()
    return a[:, len(k) :]


def gradient(k, y, logs=1.0, form=0.5):
    """By the lower triangle of k, as Cholesky reads it"""
    inv = inverse(k)
    a = inv @ y.reshape(len(k), -1)
    full = -logs / 2 * inv + form * a @ a.T
    return 2 * np.tril(full) - np.diag(np.diag(full))


def nodes(e):
    return len(onnx.load_from_string(e.model).graph.node)


def compiled(inputs, outputs, batch="points", math="standard"):
    return ptgc.compile_onnx(inputs, outputs, batch=batch, math=math)


def graph(n, value, dtype="float64"):
    k = pt.matrix("k", dtype=dtype, shape=(n, n))
    v = value(k)
    return [k], [v, pytensor.grad(v, k)]


KINDS = [{"logs": 8.0}, {"logs": -2.0, "form": 0.25}, {"logs": 0.0}, {"form": 0.0}]


@pytest.mark.parametrize("n, columns, kinds", [
    *((3, 3 * (i % 2), k) for i, k in enumerate(KINDS)), (2, 0, {}), (4, 1, {}), (9, 2, {}), (33, 0, {"logs": 2.0})])  # fmt: skip
def test_numbers(n, columns, kinds):
    rng = np.random.default_rng(n)
    y = rng.normal(size=(n, columns) if columns else n)
    inputs, outputs = graph(n, lambda k: log_density(k, y, **kinds))
    e = compiled(inputs, outputs)
    assert nodes(e) < nodes(compiled(inputs, outputs, math="exact"))
    for lanes in 1, 0, 3:
        ks = np.array([positive_definite(rng, n) for _ in range(lanes)]).reshape(lanes, n, n)
        got = e(ks)[1]
        assert got.shape == (lanes, n, n)
        for k, g in zip(ks, got, strict=True):
            np.testing.assert_allclose(g, gradient(k, y, **kinds), rtol=1e-10, atol=1e-10)


def test_as_in_pytensor():
    inputs, outputs = graph(4, lambda k: log_density(k, np.arange(4.0)))
    k = positive_definite(np.random.default_rng(1), 4)
    want = pytensor.function(inputs, outputs, mode="FAST_COMPILE")(k)
    for g, w in zip(compiled(inputs, outputs, None)(k), want, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-12)


@pytest.mark.parametrize("n, low", [(4, -10.0), (30, -7.0)])
def test_nearly_singular(n, low):
    """As accurate as the two solves, which --math=exact takes."""
    rng = np.random.default_rng(n)
    y = rng.normal(size=n)
    inputs, outputs = graph(n, lambda k: log_density(k, y))
    ours, solves = (compiled(inputs, outputs, math=m) for m in ("standard", "exact"))
    ks = np.array([positive_definite(rng, n, low) for _ in range(8)])
    want = np.array([gradient(k, y) for k in ks])
    size = np.abs(want).max((1, 2))
    off = [np.median(np.abs(e(ks)[1] - want).max((1, 2)) / size) for e in (ours, solves)]
    assert off[0] <= 4 * off[1]


def test_float32():
    rng = np.random.default_rng(5)
    y = rng.normal(size=6).astype("float32")
    inputs, outputs = graph(6, lambda k: log_density(k, y, np.float32(1), np.float32(0.5)), "float32")
    ks = np.array([positive_definite(rng, 6) for _ in range(3)]).astype("float32")
    got = compiled(inputs, outputs)(ks)[1]
    assert got.dtype == np.float32
    for k, g in zip(ks, got, strict=True):
        np.testing.assert_allclose(g, gradient(k, y), rtol=1e-4, atol=1e-4)


def test_not_positive_definite():
    """NaN for this matrix alone."""
    inputs, outputs = graph(3, lambda k: log_density(k, np.arange(3.0)))
    ks = np.array([np.eye(3), -np.eye(3), 2 * np.eye(3)])
    got = compiled(inputs, outputs)(ks)[1]
    assert np.isnan(got[1]).all() and np.isfinite(got[[0, 2]]).all()


Y, Z = np.array([1.0, -2.0, 3.0]), np.array([0.5, 0.25, -1.0])


def of_other_factor(k):
    return log_density(k, Y) + log_density(2.0 * k + np.eye(3), Z)


def of_two_forms(k):
    return log_density(k, Y) + log_density(k, Z, form=2.0)


def of_weighted_logs(k):
    return pt.sum(pt.log(pt.diag(cholesky(k))) * Y)


def of_bilinear_form(k):
    c = cholesky(k)
    return pt.sum(solve_triangular(c, Y, lower=True) * solve_triangular(c, Z, lower=True)) + pt.sum(pt.log(pt.diag(c)))


def of_upper_factor(k):
    c = cholesky(k, lower=False)
    return pt.sum(solve_triangular(c, Y, lower=False) ** 2) + pt.sum(pt.log(pt.diag(c)))


def of_unit_triangle(k):
    c = cholesky(k)
    return pt.sum(solve_triangular(c, Y, lower=True, unit_diagonal=True) ** 2) + pt.sum(pt.log(pt.diag(c)))


def of_transposed_system(k):
    c = cholesky(k)
    return pt.sum(solve_triangular(c.T, Y, lower=False) ** 2) + pt.sum(pt.log(pt.diag(c)))


@pytest.mark.parametrize("value", [
    of_other_factor, of_two_forms, of_weighted_logs, of_bilinear_form, of_upper_factor, of_unit_triangle,
    of_transposed_system])  # fmt: skip
def test_what_only_looks_like_it(value):
    inputs, outputs = graph(3, value)
    k = positive_definite(np.random.default_rng(2), 3)
    plain, ours = (compiled(inputs, outputs, math=m)(k[None]) for m in ("exact", "standard"))
    np.testing.assert_allclose(ours[1], plain[1], rtol=1e-11, atol=1e-12)


UPPER = np.triu(np.ones((3, 3), np.float32))
MASKED = {  # value: does it become one product?
    "half": (lambda a, b: a * UPPER - pt.diag(pt.diag(a) / 2), True),
    "of the transposed": (lambda a, b: a.T * UPPER - pt.diag(np.float32(0.25) * pt.diag(a)), True),
    "of a sum": (lambda a, b: (a + a.T) * UPPER - pt.diag(pt.diag(a)), True),
    "any mask": (lambda a, b: a * (7 * UPPER - 2) - pt.diag(-3 * pt.diag(a)), True),
    "of another": (lambda a, b: a * UPPER - pt.diag(pt.diag(b)), False),
    "of another sum": (lambda a, b: (a + b.T) * UPPER - pt.diag(pt.diag(a)), False),
    "of a sum of three": (lambda a, b: (a + a.T + b) * UPPER - pt.diag(pt.diag(a)), False),
    "of two": (lambda a, b: a * UPPER - pt.diag(pt.diag(a) * pt.diag(b)), False),
    "another diagonal": (lambda a, b: a * UPPER - pt.diag(pt.diag(pt.roll(a, 1, 0))), False),
}  # fmt: skip


@pytest.mark.parametrize("batch", [None, "points"])
@pytest.mark.parametrize("name", MASKED)
def test_masked_less_diagonal(name, batch):
    value, one = MASKED[name]
    rng = np.random.default_rng(3)
    for dtype, tolerance in ("float64", 1e-14), ("float32", 1e-6):
        a, b = (pt.matrix(x, dtype=dtype, shape=(3, 3)) for x in "ab")
        e = compiled([a, b], value(a, b) + 0 * b, batch)
        want = pytensor.function([a, b], value(a, b) + 0 * b, mode=pytensor.compile.Mode("py", None))
        values = [rng.normal(size=(2, 3, 3)).astype(dtype) for _ in "ab"]
        each = np.array([want(*v) for v in zip(*values)])
        got = e(*values)[0] if batch else np.array([e(*v)[0] for v in zip(*values)])
        np.testing.assert_allclose(got, each, rtol=tolerance, atol=tolerance)
        if one:
            assert not {"Slice", "Sub"} & {n.op_type for n in onnx.load_from_string(e.model).graph.node}
