"""The logarithm of earnings by the logarithm of height and by sex"""

import numpy as np
import pymc as pm


def model(data):
    with pm.Model() as m:
        beta = pm.Flat("beta", shape=3)
        sigma = pm.HalfFlat("sigma")
        mu = beta[0] + beta[1] * np.log(data["height"]) + beta[2] * data["male"]
        pm.Normal("y", mu, sigma, observed=np.log(data["earn"]))
    return m
