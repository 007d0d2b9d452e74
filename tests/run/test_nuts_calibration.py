"""Simulation-based calibration of NUTS: the ranks of parameters that data were simulated with, among the draws of the
posterior of these data, are uniform (Talts et al. 2018). Every data set is a chain of one call. PTGC_FULL=1 tries
more data sets, and the second model, whose trees are deep."""
import os

import numpy as np
import pytest

import ptg
from test_nuts import words

SAMPLER = """use <mcmc>

fn density(x: F[c, d]) -> (logp: F[c], gradient: F[c, d]) {
  DENSITY
}

graph sample(words: uint64[CHAINS, 6]) -> (x, diverging) {
  x, _, _, _, diverging, _, _, _, _, _ = Nuts{logp=density, draws=DRAWS, tune=TUNE, leave=False}(float64[DIMS](0), words)
}
"""
# A scale and a mean, with five observations of each of the c data sets
SCALE = """m = x[:, 0]
  l = x[:, 1]
  y = Y
  r = (y - m[:, None]) * Exp(-l)[:, None]
  logp = -0.5 * m * m - 2 * l * l - 5 * l - 0.5 * Sum{axis=1}(r * r)
  dm = -m + Sum{axis=1}(r) * Exp(-l)
  dl = -4 * l - 5 + Sum{axis=1}(r * r)
  gradient = Join{axis=1}(dm[:, None], dl[:, None])"""
# A hierarchy, not centred: the scale of four effects, of which three numbers each are seen
GROUPS = """l = x[:, 0]
  z = x[:, 1:]
  y = Y
  s = Exp(l)
  r = y - (s[:, None] * z)
  logp = -0.5 * l * l - 0.5 * Sum{axis=1}(z * z) - 1.5 * Sum{axis=1}(r * r)
  dz = 3 * r * s[:, None] - z
  dl = 3 * Sum{axis=1}(r * z) * s - l
  gradient = Join{axis=1}(dl[:, None], dz)"""


def scale(rng, n):
    x = np.stack([rng.normal(size=n), rng.normal(size=n) / 2], 1)
    return x, x[:, :1] + np.exp(x[:, 1:]) * rng.normal(size=(n, 5))


def groups(rng, n):
    x = rng.normal(size=(n, 5))
    return x, np.exp(x[:, :1]) * x[:, 1:] + rng.normal(size=(n, 4)) / np.sqrt(3)


FULL = os.environ.get("PTGC_FULL", "0") != "0"
BINS = 16


@pytest.mark.parametrize("text, simulate", [(SCALE, scale), (GROUPS, groups)] if FULL else [(SCALE, scale)])
def test_ranks_are_uniform(text, simulate):
    n, tune, thin, kept = (1024, 500, 15, 5 * BINS - 1) if FULL else (96, 300, 10, 3 * BINS - 1)
    x, y = simulate(np.random.default_rng(3), n)
    values = ", ".join(f"[{', '.join(map(repr, map(float, row)))}]" for row in y)
    model = SAMPLER.replace("DENSITY", text).replace("Y", f"float64([{values}])")
    for name, value in {"CHAINS": n, "DRAWS": thin * kept, "TUNE": tune, "DIMS": x.shape[1]}.items():
        model = model.replace(name, str(value))
    got, diverging = ptg.run(model, words(11, n), math="standard")
    assert diverging.mean() < 0.01
    for k in range(x.shape[1]):
        ranks = (got[:, ::thin, k] < x[:, None, k]).sum(1)
        counts = np.bincount(ranks * BINS // (kept + 1), minlength=BINS)
        chi2 = ((counts - n / BINS) ** 2 / (n / BINS)).sum()
        assert chi2 < BINS - 1 + 4.5 * np.sqrt(2 * (BINS - 1)), (k, counts)
