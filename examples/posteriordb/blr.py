"""A linear regression with normal priors"""

import pymc as pm


def model(data):
    with pm.Model() as m:
        beta = pm.Normal("beta", 0, 10, shape=data["X"].shape[1])
        sigma = pm.HalfNormal("sigma", 10)
        pm.Normal("y", data["X"] @ beta, sigma, observed=data["y"])
    return m
