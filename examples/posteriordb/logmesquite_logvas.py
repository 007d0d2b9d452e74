"""The logarithm of the weight of mesquite bushes by volume, area, shape, height and density"""

import numpy as np
import pymc as pm


def model(data):
    volume = np.log(data["diam1"] * data["diam2"] * data["canopy_height"])
    area = np.log(data["diam1"] * data["diam2"])
    shape = np.log(data["diam1"] / data["diam2"])
    x = np.column_stack([
        volume, area, shape, np.log(data["total_height"]), np.log(data["density"]), data["group"],
    ])
    with pm.Model() as m:
        beta = pm.Flat("beta", shape=7)
        sigma = pm.HalfFlat("sigma")
        pm.Normal("y", beta[0] + x @ beta[1:], sigma, observed=np.log(data["weight"]))
    return m
