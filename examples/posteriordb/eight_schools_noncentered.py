"""The effects of coaching in eight schools, by their standardized deviations"""

import pymc as pm


def model(data):
    with pm.Model() as m:
        mu = pm.Normal("mu", 0, 5)
        tau = pm.HalfCauchy("tau", 5)
        theta_trans = pm.Normal("theta_trans", 0, 1, shape=len(data["y"]))
        theta = pm.Deterministic("theta", mu + tau * theta_trans)
        pm.Normal("y", theta, data["sigma"], observed=data["y"])
    return m
