"""The effects of coaching in eight schools"""

import pymc as pm


def model(data):
    with pm.Model() as m:
        mu = pm.Normal("mu", 0, 5)
        tau = pm.HalfCauchy("tau", 5)
        theta = pm.Normal("theta", mu, tau, shape=len(data["y"]))
        pm.Normal("y", theta, data["sigma"], observed=data["y"])
    return m
