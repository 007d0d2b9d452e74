"""A hidden Markov chain of two states with normal emissions"""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.distributions import transforms

from hmm import forward


def model(data):
    ordered = transforms.Chain([transforms.log, transforms.ordered])
    with pm.Model() as m:
        theta1 = pm.Dirichlet("theta1", np.ones(2))
        theta2 = pm.Dirichlet("theta2", np.ones(2))
        mu = pm.Normal("mu", [3, 10], 1, transform=ordered, initval=[3, 10])
        seen = pm.logp(pm.Normal.dist(mu, 1), data["y"][:, None])
        pm.Potential("y", forward(pt.log(pt.stack([theta1, theta2])), seen))
    return m
