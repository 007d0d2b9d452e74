"""Rewrites for log densities: the same numbers, infinities, NaN and errors as the graph itself, in fewer nodes."""

from collections import Counter

import numpy as np
import onnx
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.raise_op import Assert
from pytensor.tensor.special import log_softmax, softmax

import ptgc

DATA = np.arange(24) % 5
BINARY = DATA % 2 == 0
HARD = np.array([0.0, -0.0, 1.0, -1.5, 36.0, -36.5, 700.0, -700.0, 800.0, -800.0, 1e308, np.inf, -np.inf, np.nan])
PLAIN = pytensor.compile.Mode(linker="py", optimizer=None)
x = pt.dvector("x")


def check(message, value, *conditions):
    """As in PyMC"""
    return Assert(message)(value, pt.all(pt.stack([pt.all(c) for c in conditions])))


def both(inputs, outputs, lanes, **options):
    """The outputs for all lanes in one call, and those of PyTensor's graph, lane by lane; None where a run fails."""
    e = ptgc.compile_onnx(inputs, outputs, batch="points", **options)
    f = pytensor.function(inputs, outputs, mode=PLAIN)
    got, want = [], []
    for lane in lanes:
        try:
            want.append([np.asarray(v) for v in f(*lane)])
        except AssertionError:
            want.append(None)
        try:
            got.append([np.asarray(v[0]) for v in e(*[np.asarray(a)[None] for a in lane])])
        except Exception:
            got.append(None)
    good = [k for k, w in enumerate(want) if w is not None]
    if good:
        whole = e(*[np.stack([np.asarray(lanes[k][i]) for k in good]) for i in range(len(inputs))])
        for at, k in enumerate(good):
            got[k] = got[k] and [*got[k], *[v[at] for v in whole]]
            want[k] = [*want[k], *want[k]]
    return got, want, e


def agree(inputs, outputs, lanes, rtol=1e-11, **options):
    got, want, e = both(inputs, outputs, lanes, **options)
    for k, (g, w) in enumerate(zip(got, want)):
        assert (g is None) == (w is None), (k, g, w)
        for a, b in zip(g or (), w or (), strict=True):
            assert a.shape == b.shape and a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-300, err_msg=str(k))
    return Counter(n.op_type for n in onnx.load_from_string(e.model).graph.node)


def lanes_of(n):
    """Lanes of ordinary numbers, and some with one hard number each."""
    rng = np.random.default_rng(n)
    lanes = [[rng.normal(size=n)] for _ in range(3)]
    for h in HARD:
        lane = rng.normal(size=n)
        lane[rng.integers(n)] = h
        lanes.append([lane])
    return lanes


@pytest.mark.parametrize("opset, math", [(13, "standard"), (18, "exact"), (26, "standard")])
def test_bernoulli(opset, math):
    p = pt.sigmoid(x)
    chosen = pt.switch(BINARY, -pt.softplus(-x), -pt.softplus(x))
    chosen = check("0 <= p <= 1", chosen, pt.ge(p, 0), pt.le(p, 1))
    ops = agree([x], [chosen, pt.grad(chosen.sum(), x)], lanes_of(24), opset=opset, math=math)
    assert ops["Exp"] == 1 and ops["Log"] == 1, ops


@pytest.mark.parametrize("f", [pt.exp, pt.tanh, pt.erfc, pt.log1p])
def test_one_of_two_signs(f):
    sides = [pt.switch(BINARY, s * f(a * x), t * f(-a * x)) for s in (1, -1) for t in (1, -1) for a in (1, -1)]
    with np.errstate(all="ignore"):
        agree([x], sides, lanes_of(24))


def test_choices_of_both_sides_needed():
    c = pt.dvector("c")
    agree([x, c], [pt.switch(c > 0, pt.sigmoid(x), pt.sigmoid(-x)), pt.softplus(x)], [[a[0], a[0][::-1]] for a in lanes_of(24)])


def test_categorical():
    z = pt.dmatrix("z")
    z4 = pt.specify_shape(z, (6, 4))
    p = softmax(z4, axis=-1)
    rows, classes = np.arange(6), DATA[:6] % 4
    value = pt.sqrt(p[rows, classes])  # PyTensor makes a LogSoftmax of a logarithm
    value = check("p", value, p >= 0, p <= 1, pt.isclose(p.sum(-1), 1))
    rng = np.random.default_rng(0)
    lanes = [[rng.normal(size=(6, 4))] for _ in range(3)]
    for h in HARD:
        lane = rng.normal(size=(6, 4))
        lane[2, 1] = h
        lanes.append([lane])
    lanes.append([np.full((6, 4), -np.inf)])
    agree([z], [value, pt.grad(value.sum(), z)], lanes)
    group = np.array([0, 1, 1, 5, 2, 0])
    value = p[group][rows, classes]
    value = check("p", value, p[group] >= 0, p[group] <= 1, pt.isclose(p[group].sum(-1), 1))
    ops = agree([z], [value, pt.grad(value.sum(), z), pt.any(p < 0), pt.any(p > 1, axis=0), pt.all(p >= 0, axis=1),
                      pt.all(p <= 1, axis=0)], lanes)  # fmt: skip
    last = np.array([3, 3, 3, 0, 1, 3])  # an index more than once
    agree([z], [pt.grad((p[group][:, last] * np.arange(6.0)).sum(), z)], lanes[:3])
    assert not ops["ScatterND"] and not ops["ScatterElements"], ops


def test_bounds_that_may_fail():
    """Comparisons with other numbers, and of what is no probability, stay."""
    p = pt.sigmoid(pt.clip(x, -700, 700))  # beyond, standard numerics gives 0 in place of numbers below 1e-308
    results = [p > 0.5, p < 0.5, p >= 0.5, p <= 0.5, p > 0, p < 1, p >= 1, p <= 0, p < 0, p > 1, x >= 0, x < 0, p >= -1, p <= 2]
    agree([x], [r.all() for r in results] + results, lanes_of(24))


@pytest.mark.parametrize("k", [DATA, DATA + 1])
def test_poisson(k):
    mu = pt.exp(x)
    value = pt.switch(pt.eq(mu, 0) * pt.eq(k, 0), 0, pt.switch(pt.eq(k, 0) & pt.eq(x, -np.inf), 0.0, k * x) - mu)
    value = check("mu >= 0", value, mu >= 0)
    agree([x], [value, pt.grad(value.sum(), x)], lanes_of(24))
    rate = pt.abs(x)
    value = pt.switch(pt.eq(rate, 0) & pt.eq(k, 0), 0,
        pt.switch(pt.eq(pt.log(rate), -np.inf) & pt.eq(k, 0), 3.0, k * pt.log(rate)) - rate)
    agree([x], [value], lanes_of(24))


def test_choices_that_stay():
    """The inner condition holds where the outer one does not."""
    value = pt.switch(pt.eq(x, 0) & BINARY, 1.0, pt.switch(pt.eq(x, 0), 2.0, x) * 3)
    other = pt.switch(pt.eq(x, 0), 1.0, x)
    last = pt.switch(pt.eq(x, 1), 0.0, x)
    agree([x], [value, other, last, pt.switch(pt.eq(x, 0), 0.0, pt.exp(x))], lanes_of(24))


def test_constants_for_many_points():
    n = 24
    y = pt.zeros((n, 4))[np.arange(n), DATA % 4].inc(1.0) * x[:, None]
    z = pt.ones((n, 4))[np.arange(n) % 3, DATA % 4].inc(np.arange(24.0)) * x[:, None]
    s = pt.set_subtensor(pt.zeros(n)[2:5], 7.0) * x
    t = pt.set_subtensor(x[DATA], 7.0)
    i = pt.inc_subtensor(x[DATA], np.arange(24.0))
    j = pt.inc_subtensor(x[3:9:2], 1.5)
    apart = pt.inc_subtensor(pt.zeros((5, 2, 3))[[0, 0, 4], :, [1, 1, 2]], np.arange(6.0).reshape(3, 2)) * x[:5, None, None]
    twice = pt.zeros((4, 3))[[1, 1, 1], [2, 2, 0]].inc([1.0, 10.0, 100.0]) * x[:4, None]
    once = pt.zeros((4, 3))[[1, 1, 1], [2, 2, 0]].set([1.0, 10.0, 100.0]) * x[:4, None]
    agree([x], [y, z, s, t, i, j, apart, twice, once, y.sum(), i.sum()], lanes_of(n))


def test_logsumexp_gradient():
    z = pt.dmatrix("z")
    lse = pt.logsumexp(pt.specify_shape(z, (6, 3)), axis=1)
    rng = np.random.default_rng(0)
    lanes = [[rng.normal(size=(6, 3)) * k] for k in (1, 30, 800)]
    for h in HARD:
        lane = rng.normal(size=(6, 3))
        lane[2, 1] = h
        lanes.append([lane])
    lane = np.zeros((6, 3))
    lane[1], lane[2, :2] = -np.inf, np.inf
    ops = agree([z], [lse, pt.grad(lse.sum(), z)], [*lanes[:-3], [lane * 0]])
    agree([z], [log_softmax(z, axis=1), lse], lanes)
    assert ops["Exp"] == 1, ops


def test_joins_of_constants():
    ends = [pt.concatenate([pt.zeros((1,)), pt.cumsum(x), pt.ones((2,))]), pt.concatenate([x, pt.zeros((1,)), x])]
    agree([x], [*ends, pt.logsumexp(ends[0]), pt.grad(pt.logsumexp(ends[1]), x)], [a for a in lanes_of(24)[:3]])


@pytest.mark.parametrize("points", [1, 3, 700])
@pytest.mark.parametrize("rows", [1, 5, 40])
def test_checks_of_many_bools(points, rows):
    """A check fails where a single element does, of a whole batch too."""
    z = pt.tensor("z", shape=(rows, 3), dtype="float64")
    value = check("in range", z * 2, pt.all(z >= 0, axis=1), pt.all(z.T <= 1) & pt.all(z.sum(0) < rows))
    e = ptgc.compile_onnx([z], [value], batch="points")
    good = np.full((points, rows, 3), 0.5)
    np.testing.assert_array_equal(e(good)[0] if isinstance(e(good), list) else e(good), good * 2)
    for bad in (-1.0, 2.0, np.nan):
        wrong = good.copy()
        wrong[-1, rows // 2, 1] = bad
        with pytest.raises(Exception, match="in range"):
            e(wrong)
