"""Prints the eight schools model, as PyMC writes it, and its gradient to eight_schools.ptg.

The parts of the log density are those that PyMC derives: a normal prior on mu, a half-Cauchy prior on
tau with its log transform, standard normal offsets, a normal likelihood. Needs: pytensor, ptgc.
"""
from pathlib import Path

import numpy as np
import pytensor
import pytensor.tensor as pt

import ptgc

here = Path(__file__).parent
EFFECT = np.array([28.0, 8, -3, 7, -1, 1, 18, 12])
SIGMA = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])


def normal(x, mu, sigma):
    return -0.5 * ((x - mu) / sigma) ** 2 - np.log(sigma) - 0.5 * np.log(2 * np.pi)


def half_cauchy(x, beta):
    return pt.switch(x >= 0, np.log(2 / (np.pi * beta)) - pt.log1p((x / beta) ** 2), -np.inf)


def model():
    mu, tau_log = pt.dscalar("mu"), pt.dscalar("tau_log__")
    z = pt.vector("z", dtype="float64", shape=(8,))
    tau = pt.exp(tau_log)
    theta = mu + tau * z
    theta.name = "theta"
    logp = (
        normal(mu, 0.0, 5.0)
        + half_cauchy(tau, 5.0) + tau_log
        + normal(z, 0.0, 1.0).sum()
        + normal(EFFECT, theta, SIGMA).sum()
    )  # fmt: skip
    logp.name = "logp"
    gradient = pytensor.grad(logp, [mu, tau_log, z])
    for g, x in zip(gradient, (mu, tau_log, z)):
        g.name = f"d_{x.name}"
    return [mu, tau_log, z], [logp, *gradient, theta]


def main():
    inputs, outputs = model()
    text = ptgc.to_ptg(inputs, outputs, name="eight_schools", optimize=True)
    note = "# Log density of the eight schools model, its gradient and the school effects theta.\n"
    note += "# Printed from a live PyTensor graph by make.py.\n"
    (here / "eight_schools.ptg").write_text(text.replace("graph ", note + "graph ", 1))


if __name__ == "__main__":
    main()
