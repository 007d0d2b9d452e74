"""A variance that depends on the last value and the last variance"""

import pymc as pm


def model(data):
    with pm.Model() as m:
        mu = pm.Flat("mu")
        alpha0 = pm.HalfFlat("alpha0")
        alpha1 = pm.Uniform("alpha1", 0, 1)
        beta1 = pm.Uniform("beta1", 0, 1 - alpha1)
        pm.Potential("flat", pm.math.log1p(-alpha1))  # the prior is flat where alpha1 + beta1 < 1
        noise = pm.GARCH11.dist(
            omega=alpha0, alpha_1=alpha1, beta_1=beta1, initial_vol=data["sigma1"], steps=len(data["y"]) - 1
        )
        pm.Potential("y", pm.logp(noise, data["y"] - mu))
    return m
