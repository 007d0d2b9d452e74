"""The logarithm of the weight of mesquite bushes by that of the canopy's volume"""

import numpy as np
import pymc as pm


def model(data):
    volume = np.log(data["diam1"] * data["diam2"] * data["canopy_height"])
    with pm.Model() as m:
        beta = pm.Flat("beta", shape=2)
        sigma = pm.HalfFlat("sigma")
        mu = beta[0] + beta[1] * volume
        pm.Normal("y", mu, sigma, observed=np.log(data["weight"]))
    return m
