"""A child's test score by the mother's, her high school and their product, in units of two deviations"""

import pymc as pm


def model(data):
    hs, iq = ((v - v.mean()) / (2 * v.std(ddof=1)) for v in (data["mom_hs"], data["mom_iq"]))
    with pm.Model() as m:
        beta = pm.Flat("beta", shape=4)
        sigma = pm.HalfFlat("sigma")
        mu = beta[0] + beta[1] * hs + beta[2] * iq + beta[3] * hs * iq
        pm.Normal("y", mu, sigma, observed=data["kid_score"])
    return m
