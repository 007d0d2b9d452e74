"""The logarithm of the weight of mesquite bushes by those of their measures"""

import numpy as np
import pymc as pm


def model(data):
    x = np.column_stack([
        np.log(data["diam1"]), np.log(data["diam2"]), np.log(data["canopy_height"]),
        np.log(data["total_height"]), np.log(data["density"]), data["group"],
    ])
    with pm.Model() as m:
        beta = pm.Flat("beta", shape=7)
        sigma = pm.HalfFlat("sigma")
        pm.Normal("y", beta[0] + x @ beta[1:], sigma, observed=np.log(data["weight"]))
    return m
