"""The logarithm of earnings by standardized height, sex and their product"""

import numpy as np
import pymc as pm


def model(data):
    height, male = data["height"], data["male"]
    z = (height - height.mean()) / height.std(ddof=1)
    with pm.Model() as m:
        beta = pm.Flat("beta", shape=4)
        sigma = pm.HalfFlat("sigma")
        mu = beta[0] + beta[1] * z + beta[2] * male + beta[3] * z * male
        pm.Normal("y", mu, sigma, observed=np.log(data["earn"]))
    return m
