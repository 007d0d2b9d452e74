"""The price of diamonds by 24 centred predictors"""

import pymc as pm


def model(data):
    x = data["X"][:, 1:]
    with pm.Model() as m:
        b = pm.Normal("b", 0, 1, shape=x.shape[1])
        intercept = pm.StudentT("Intercept", nu=3, mu=8, sigma=10.0)
        sigma = pm.HalfStudentT("sigma", nu=3, sigma=10.0)
        pm.Normal("y", intercept + (x - x.mean(axis=0)) @ b, sigma, observed=data["Y"])
    return m
