"""A child's test score by the mother's, her high school and their product, centred at 100 and a half"""

import pymc as pm


def model(data):
    hs, iq = data["mom_hs"] - 0.5, data["mom_iq"] - 100
    with pm.Model() as m:
        beta = pm.Flat("beta", shape=4)
        sigma = pm.HalfFlat("sigma")
        mu = beta[0] + beta[1] * hs + beta[2] * iq + beta[3] * hs * iq
        pm.Normal("y", mu, sigma, observed=data["kid_score"])
    return m
