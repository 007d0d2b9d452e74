"""Rewrites for log densities: the same numbers, infinities, NaN and errors as the graph itself, in fewer nodes."""

from collections import Counter

import numpy as np
import onnx
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.raise_op import Assert
from pytensor.tensor.special import log_softmax

import ptgc

HARD = np.array([0.0, -0.0, 1.0, -1.5, 36.0, -36.5, 700.0, -700.0, 800.0, -800.0, 1e308, np.inf, -np.inf, np.nan])
PLAIN = pytensor.compile.Mode(linker="py", optimizer=None)


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
