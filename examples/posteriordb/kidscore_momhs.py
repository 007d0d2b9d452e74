"""A child's test score by whether the mother finished high school"""

import pymc as pm


def model(data):
    with pm.Model() as m:
        beta = pm.Flat("beta", shape=2)
        sigma = pm.HalfCauchy("sigma", 2.5)
        mu = beta[0] + beta[1] * data["mom_hs"]
        pm.Normal("y", mu, sigma, observed=data["kid_score"])
    return m
