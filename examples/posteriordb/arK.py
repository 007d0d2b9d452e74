"""An autoregression on the last K values"""

import numpy as np
import pymc as pm


def model(data):
    y, k = data["y"], int(data["K"])
    lags = np.column_stack([y[k - i - 1 : len(y) - i - 1] for i in range(k)])
    with pm.Model() as m:
        alpha = pm.Normal("alpha", 0, 10)
        beta = pm.Normal("beta", 0, 10, shape=k)
        sigma = pm.HalfCauchy("sigma", 2.5)
        pm.Normal("y", alpha + lags @ beta, sigma, observed=y[k:])
    return m
