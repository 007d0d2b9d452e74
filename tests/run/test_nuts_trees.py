"""NUTS of `use <mcmc>` beside the recursive form of Betancourt (2017) that Stan and PyMC have, in NumPy: the same
random numbers give the same points, U-turns, statistics and draws."""
import numpy as np
import pytest

import ptg
from test_nuts import jumped_states, words

TEXT = """use <mcmc>

# A parabola in noise, which is narrow and has long tails
fn density(x: F[c, 3]) -> (logp: F[c], gradient: F[c, 3]) {
  a = x[:, 0]
  b = x[:, 1]
  r = b - a * a
  s = x[:, 2]
  logp = -0.5 * a * a - 2 * r * r - 0.25 * s * s * s * s
  gradient = Join{axis=1}((-a + 8 * r * a)[:, None], (-4 * r)[:, None], (-s * s * s)[:, None])
}

graph sample(start: float64[3], words: uint64[chains, 6]) -> (x, logp, acceptance, depth, diverging, steps, energy, error, most) {
  x, logp, acceptance, depth, diverging, steps, energy, _, _, error, most, _, _, _, _, _, _, _ = NutsSteps{
    logp=density, tune=0, jitter=0, OPTIONS
  }(
    start, words, 1000000, float64[0, 0](0), float64[0, 0, 0](0), int64[0, 6](0), uint64[0, 12](0), float64[0, 0](0),
    int64[0](0), float64[0, 0](0)
  )
}
"""
START = np.array([0.3, 0.2, -0.5])


def density(x):
    a, b, s = x
    r = b - a * a
    return -0.5 * a * a - 2 * r * r - 0.25 * s ** 4, np.array([-a + 8 * r * a, -4 * r, -s ** 3])


class Chain:
    """Points are (q, v, gradient, log density); v is the momentum over sqrt(2), as the mass is 1"""

    def __init__(self, states, step, max_treedepth):
        _, decide, push, _ = states
        self.decide, self.push, self.step, self.max_treedepth = decide, push, step, max_treedepth

    def momentum(self):
        w = self.push.random_raw(2)
        r = np.sqrt(-np.log(((w >> np.uint64(32)) + 0.5) * 2.0 ** -32))
        a = (w & np.uint64(2 ** 32 - 1)) * (2 * np.pi * 2.0 ** -32)
        return np.stack([r * np.cos(a), r * np.sin(a)], 1).ravel()[:3]

    def word(self):
        w = int(self.decide.random_raw())
        return ((w >> 32) + 0.5) * 2.0 ** -32, ((w % 2 ** 32 >> 1) + 0.5) * 2.0 ** -31, w % 2

    def leap(self, point, way):
        q, v, g, _ = point
        drift = 2 ** 0.5 * self.step * way
        half = v + drift / 4 * g
        q = q + drift * half
        lp, g = density(q)
        return q, half + drift / 4 * g, g, lp

    def gain(self, point):
        return point[3] - point[1] @ point[1] - self.h

    def weight(self, point):
        gain = self.gain(point)
        return np.exp(min(gain, 300)) if gain > -1000 else 0

    def straight(self, one, two):
        """Of a tree of two halves, by PyMC's three criteria; each is a list of points in the order of steps"""
        spans = one + two, one + two[:1], one[-1:] + two
        return all(sum(p[1] for p in s) @ s[i][1] > 0 for s in spans for i in (0, -1))

    def build(self, point, depth, way):
        """The leaves of a subtree as far as they are computed, and whether it is good"""
        if depth == 0:
            leaf = self.leap(point, way)
            self.leaves += 1
            self.accepted += min(1, self.weight(leaf))
            self.diverged = not self.gain(leaf) > -1000
            return [leaf], not self.diverged
        one, good = self.build(point, depth - 1, way)
        if not good:
            return one, False
        two, good = self.build(one[-1], depth - 1, way)
        return one + two, good and self.straight(one, two)

    def draw(self, x, kind):
        """One trajectory: the next x, statistics, and the kind of the next"""
        lp, g = density(x)
        v = self.momentum()
        self.h, self.leaves, self.accepted, self.diverged = lp - v @ v, 0, 0.0, False
        tree, chosen, total, reached = [(x, v, g, lp)], (x, v, g, lp), 1.0, False
        way = -1 if kind == 2 else 1
        u, b, coin = self.word()
        for depth in range(self.max_treedepth):
            end = tree[-1] if way > 0 else tree[0]
            if depth > 1:
                u, b, coin = self.word()
            new, good = self.build(end, depth, way)
            weights = [self.weight(p) for p in new]
            # a point of the doubling, by the uniform number of each block of four
            part, leaf = 0.0, None
            for i in range(0, len(new), 4) if depth > 1 else [0]:
                if i:
                    u, b, coin = self.word()
                upto = np.cumsum(weights[i:i + 4])
                part += upto[-1]
                nth = int((u * part >= upto).sum())
                leaf = new[i + nth] if nth < len(upto) else leaf
            if depth == 0:
                if u < part:
                    chosen = new[0]
                total += part
            elif good:
                if b * total < part:
                    chosen = leaf
                total += part
            old = tree if way > 0 else tree[::-1]
            tree = tree + new if way > 0 else new[::-1] + tree
            if not good or not self.straight(old, new):
                break
            # the second doubling always goes forward, by the symmetry of momenta
            way = 1 if depth == 0 else -way if coin else way
        else:
            reached = True
        stats = self.accepted / self.leaves, depth + 1, self.diverged, self.leaves, reached, -self.h, -self.gain(chosen)
        return chosen, stats, 1 + coin


@pytest.mark.parametrize(
    "step, max_treedepth", [(0.02, 6), (0.1, 10), (0.3, 10), (0.6, 10), (1.3, 10), (0.1, 3), (0.1, 2), (0.3, 1)])
def test_trees(step, max_treedepth):
    chains, draws = 5, 60
    options = f"draws={draws}, max_treedepth={max_treedepth}, step_scale={step * 3 ** 0.25!r}"
    model = ptg.compile(TEXT.replace("OPTIONS", options), math="standard")
    x, logp, acceptance, depth, diverging, steps, energy, error, most = ptg.run(model, START, words(7, chains))
    seen = set()
    for c, states in enumerate(jumped_states(7, chains, 4)):
        chain, at, kind = Chain(states, step, max_treedepth), START, 1
        for i in range(draws):
            point, (rate, deep, lost, leaves, reached, begun, change), kind = chain.draw(at, kind)
            at = point[0]
            where = f"chain {c}, draw {i}"
            assert (deep, lost, leaves, reached) == (depth[c, i], diverging[c, i], steps[c, i], most[c, i]), where
            np.testing.assert_allclose(x[c, i], at, rtol=1e-7, atol=1e-9, err_msg=where)
            np.testing.assert_allclose(logp[c, i], point[3], rtol=1e-7, err_msg=where)
            np.testing.assert_allclose(energy[c, i], begun + change, rtol=1e-6, err_msg=where)
            np.testing.assert_allclose(error[c, i], change, rtol=1e-6, atol=1e-9, err_msg=where)
            np.testing.assert_allclose(acceptance[c, i], rate, rtol=1e-7, atol=1e-12, err_msg=where)
            at = x[c, i]  # or rounding would grow
            seen.add((deep, lost))
    assert (max_treedepth, False) in seen or (max_treedepth == 10 and len(seen) > 2)


def test_records_are_of_draws():
    """A round of the loop has room for some draws, whether one ends or not: so it is as long as the longest trajectory"""
    options = "draws=4, max_treedepth=10, step_scale=1e-6"
    model = ptg.compile(TEXT.replace("OPTIONS", options).replace("1000000", "16"), math="standard")
    x, *_, steps, _, _, _ = ptg.run(model, START, words(7, 2))
    assert x.shape[1] == 4, x.shape
    assert (steps == 1023).all()


def test_a_chain_that_is_done_ends_no_rounds():
    """Around 100, the density is a thousand times as narrow: there a trajectory has a few steps, and its chain is done early"""
    density = """
fn density(x: F[c, 1]) -> (logp: F[c], gradient: F[c, 1]) {
  narrow = x > 50
  z = Switch(narrow, (x - 100) * 1000, x)
  gradient = -z * Switch(narrow, 1000, 1)
  logp = -0.5 * Sqr(z[:, 0])
}
"""
    begin, end = TEXT.index("fn density"), TEXT.index("graph")
    text = TEXT[:begin] + density + TEXT[end:].replace("start: float64[3]", "start: float64[chains, 1]")
    text = text.replace("OPTIONS", "draws=64, max_treedepth=10, step_scale=1e-3").replace("1000000", "90")
    x, *_, steps, _, _, _ = ptg.run(ptg.compile(text, math="standard"), np.array([[100.0], [0.0]]), words(7, 2))
    assert x.shape[1] == 64, x.shape
    assert steps[0].max() < 16 < 500 < steps[1].mean()


def test_draws_do_not_depend_on_rounds():
    """Equal to the bit. A chain that has all draws goes on in rounds of one block, and of more blocks than velocities."""
    options = "draws=40, max_treedepth=9, step_scale=0.02"
    found = [
        ptg.run(ptg.compile(TEXT.replace("OPTIONS", rounds + options), math="standard"), START, words(7, 5))
        for rounds in ("", "blocks=1, rows=2, ", "blocks=64, rows=1, ", "blocks=2000, rows=40, ")
    ]
    for other in found[1:]:
        for a, b in zip(found[0], other):
            np.testing.assert_array_equal(a, b)
