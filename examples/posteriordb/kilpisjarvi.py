"""Summer temperatures in Kilpisjarvi by year"""

import pymc as pm


def model(data):
    with pm.Model() as m:
        alpha = pm.Normal("alpha", data["pmualpha"], data["psalpha"])
        beta = pm.Normal("beta", data["pmubeta"], data["psbeta"])
        sigma = pm.HalfFlat("sigma")
        pm.Normal("y", alpha + beta * data["x"], sigma, observed=data["y"])
    return m
