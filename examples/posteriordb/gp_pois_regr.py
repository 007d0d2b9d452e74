"""Counts whose logarithm of the mean is a Gaussian process"""

import pymc as pm


def model(data):
    with pm.Model() as m:
        rho = pm.Gamma("rho", 25, 4)
        alpha = pm.HalfNormal("alpha", 2)
        gp = pm.gp.Latent(cov_func=alpha**2 * pm.gp.cov.ExpQuad(1, rho))
        f = gp.prior("f", data["x"][:, None], jitter=1e-10)
        pm.Poisson("k", pm.math.exp(f), observed=data["k"])
    return m
