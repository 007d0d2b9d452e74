"""A child's test score by how much the mother worked, of four levels"""

import pymc as pm


def model(data):
    work = data["mom_work"]
    with pm.Model() as m:
        beta = pm.Flat("beta", shape=4)
        sigma = pm.HalfFlat("sigma")
        mu = beta[0] + beta[1] * (work == 2) + beta[2] * (work == 3) + beta[3] * (work == 4)
        pm.Normal("y", mu, sigma, observed=data["kid_score"])
    return m
