"""Drives in basketball: a hidden Markov chain with exponential emissions"""

import pymc as pm
import pytensor.tensor as pt
from pymc.distributions import transforms

from hmm import forward


def model(data):
    ordered = transforms.Chain([transforms.log, transforms.ordered])
    with pm.Model() as m:
        theta1 = pm.Dirichlet("theta1", data["alpha"][0])
        theta2 = pm.Dirichlet("theta2", data["alpha"][1])
        phi = pm.Normal("phi", [0, 3], 1, transform=ordered, initval=[1, 3])
        lam = pm.Normal("lambda", [0, 3], 1, transform=ordered, initval=[1, 3])
        seen = pm.logp(pm.Exponential.dist(phi), data["u"][:, None])
        seen = seen + pm.logp(pm.Exponential.dist(lam), data["v"][:, None])
        pm.Potential("y", forward(pt.log(pt.stack([theta1, theta2])), seen))
    return m
