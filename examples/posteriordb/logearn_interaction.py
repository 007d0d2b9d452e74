"""The logarithm of earnings by height, sex and their product"""

import numpy as np
import pymc as pm


def model(data):
    height, male = data["height"], data["male"]
    with pm.Model() as m:
        beta = pm.Flat("beta", shape=4)
        sigma = pm.HalfFlat("sigma")
        mu = beta[0] + beta[1] * height + beta[2] * male + beta[3] * height * male
        pm.Normal("y", mu, sigma, observed=np.log(data["earn"]))
    return m
