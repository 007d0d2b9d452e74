"""A child's test score by the mother's and her high school"""

import pymc as pm


def model(data):
    with pm.Model() as m:
        beta = pm.Flat("beta", shape=3)
        sigma = pm.HalfCauchy("sigma", 2.5)
        mu = beta[0] + beta[1] * data["mom_hs"] + beta[2] * data["mom_iq"]
        pm.Normal("y", mu, sigma, observed=data["kid_score"])
    return m
