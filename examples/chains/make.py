"""Exports the log density of PyMC's eight schools and its gradient, for many chains in one call, to chains.ptg.

The input q has a row for each chain: mu, log(tau) and the eight offsets z. Needs: pymc, ptgc.
"""

from pathlib import Path

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.graph.replace import graph_replace

import ptgc

here = Path(__file__).parent


def eight_schools():
    mu, tau, z = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5), pm.Normal("z", 0, 1, shape=8)
    sigma, y = np.array([15.0, 10, 16, 11, 9, 11, 10, 18]), np.array([28.0, 8, -3, 7, -1, 1, 18, 12])
    pm.Normal("y", mu + tau * z, sigma, observed=y)


def main():
    with pm.Model() as model:
        eight_schools()
    q = pt.vector("q", dtype="float64", shape=(10,))
    at = {"mu": q[0], "tau_log__": q[1], "z": q[2:]}
    logp, dlogp = graph_replace([model.logp(), model.dlogp()], {v: at[v.name] for v in model.value_vars})
    logp.name, dlogp.name = "logp", "dlogp"
    path = here / "chains.ptg"
    ptgc.save_ptg(path, [q], [logp, dlogp], name="chains", batch="chains")
    head, _, rest = path.read_text().partition("\n")
    note = "# PyMC's eight schools: log density and gradient of many chains, at mu, log(tau) and z.\n# Written by make.py.\n"
    path.write_text(f"{head}\n\n{note}{rest.lstrip()}")


if __name__ == "__main__":
    main()
