"""The logarithm to base 10 of earnings by height"""

import numpy as np
import pymc as pm


def model(data):
    with pm.Model() as m:
        beta = pm.Flat("beta", shape=2)
        sigma = pm.HalfFlat("sigma")
        mu = beta[0] + beta[1] * data["height"]
        pm.Normal("y", mu, sigma, observed=np.log10(data["earn"]))
    return m
