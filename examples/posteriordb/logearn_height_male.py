"""The logarithm of earnings by height and sex"""

import numpy as np
import pymc as pm


def model(data):
    with pm.Model() as m:
        beta = pm.Flat("beta", shape=3)
        sigma = pm.HalfFlat("sigma")
        mu = beta[0] + beta[1] * data["height"] + beta[2] * data["male"]
        pm.Normal("y", mu, sigma, observed=np.log(data["earn"]))
    return m
