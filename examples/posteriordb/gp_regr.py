"""A Gaussian process with noise"""

import pymc as pm


def model(data):
    with pm.Model() as m:
        rho = pm.Gamma("rho", 25, 4)
        alpha = pm.HalfNormal("alpha", 2)
        sigma = pm.HalfNormal("sigma", 1)  # a variance
        gp = pm.gp.Marginal(cov_func=alpha**2 * pm.gp.cov.ExpQuad(1, rho))
        gp.marginal_likelihood("y", data["x"][:, None], data["y"], sigma=pm.math.sqrt(sigma), jitter=0)
    return m
