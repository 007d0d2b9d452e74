"""Drives in basketball: a hidden Markov chain with normal emissions"""

import pymc as pm
import pytensor.tensor as pt
from pymc.distributions import transforms

from hmm import forward


def model(data):
    ordered = transforms.ordered
    with pm.Model() as m:
        theta1 = pm.Dirichlet("theta1", data["alpha"][0])
        theta2 = pm.Dirichlet("theta2", data["alpha"][1])
        phi = pm.Normal("phi", [0, 3], 1, transform=ordered, initval=[1, 3])
        lam = pm.Normal("lambda", [0, 3], 1, transform=ordered, initval=[1, 3])
        seen = pm.logp(pm.Normal.dist(phi, data["tau"]), data["u"][:, None])
        seen = seen + pm.logp(pm.Normal.dist(lam, data["rho"]), data["v"][:, None])
        pm.Potential("y", forward(pt.log(pt.stack([theta1, theta2])), seen))
    return m
