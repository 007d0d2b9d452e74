"""The weight of mesquite bushes by their measures"""

import numpy as np
import pymc as pm


def model(data):
    x = np.column_stack([
        data["diam1"], data["diam2"], data["canopy_height"], data["total_height"], data["density"],
        data["group"],
    ])
    with pm.Model() as m:
        beta = pm.Flat("beta", shape=7)
        sigma = pm.HalfFlat("sigma")
        pm.Normal("y", beta[0] + x @ beta[1:], sigma, observed=data["weight"])
    return m
