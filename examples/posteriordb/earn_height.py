"""Earnings by height"""

import pymc as pm


def model(data):
    with pm.Model() as m:
        beta = pm.Flat("beta", shape=2)
        sigma = pm.HalfFlat("sigma")
        mu = beta[0] + beta[1] * data["height"]
        pm.Normal("y", mu, sigma, observed=data["earn"])
    return m
