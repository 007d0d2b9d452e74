"""Posteriors of the models of examples/nuts by PyMC's own NUTS

Means and quantiles of every parameter with their standard errors, from a long run of 16 chains. What this prints is
tests/run/nuts_posteriors.json, which tests/run/test_nuts_posteriors.py compares with the samplers inside of a model.
Needs: pymc, arviz, numba. 12 minutes on one core.
"""

import json
import logging
import sys
from pathlib import Path

import numpy as np
import pymc as pm
from arviz_stats.base import array_stats

sys.path.insert(0, str(Path(__file__).parents[1] / "examples" / "nuts"))

import make  # noqa: E402

logging.disable(logging.WARNING)
PROBABILITIES = 0.05, 0.5, 0.95


def row(x):
    """Of draws [chains, draws]: mean and quantiles, then their standard errors"""
    axes = {"chain_axis": 0, "draw_axis": 1}
    values = [x.mean(), *np.quantile(x, PROBABILITIES)]
    errors = [array_stats.mcse(x, method="mean", **axes)]
    errors += [array_stats.mcse(x, method="quantile", prob=p, **axes) for p in PROBABILITIES]
    return [[float(f"{v:.6g}") for v in values], [float(f"{v:.2g}") for v in errors]]


def main():
    found = {}
    for define in make.eight_schools, make.regression:
        with pm.Model() as model:
            define()
            names = [v.name for v in model.free_RVs]
            draws = pm.sample(
                draws=12_000, tune=2000, chains=16, cores=1, random_seed=1, target_accept=0.9, progressbar=False
            ).posterior  # fmt: skip
        found[define.__name__] = {
            f"{name}[{k}]": row(x[..., k])
            for name in names
            for x in [draws[name].values.reshape(16, 12_000, -1)]
            for k in range(x.shape[-1])
        }
    lines = [f'"{m}": {{\n' + ",\n".join(f'"{k}": {v}' for k, v in rows.items()) + "\n}" for m, rows in found.items()]
    print("{\n" + ",\n".join(lines) + "\n}")
    json.loads("{" + ",".join(lines) + "}")


if __name__ == "__main__":
    main()
