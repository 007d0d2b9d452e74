"""The acceleration of a head in a crash: Gaussian processes, by basis functions, for mean and deviation"""

import numpy as np
import pymc as pm


def model(data):
    def process(name, basis, frequencies):
        sd = pm.HalfStudentT(f"sdgp{name}_1", nu=3, sigma=36.0)
        scale = pm.InverseGamma(f"lscale{name}_1", 1.124909, 0.0177)
        z = pm.Normal(f"zgp{name}_1", 0, 1, shape=basis.shape[1])
        # the spectral density of the exponentiated quadratic covariance
        density = sd**2 * np.sqrt(2 * np.pi) * scale * pm.math.exp(-0.5 * scale**2 * frequencies[:, 0] ** 2)
        return basis @ (pm.math.sqrt(density) * z)

    with pm.Model() as m:
        intercept = pm.StudentT("Intercept", nu=3, mu=-13.0, sigma=36.0)
        mu = intercept + process("", data["Xgp_1"], data["slambda_1"])
        intercept_sigma = pm.StudentT("Intercept_sigma", nu=3, mu=0, sigma=10.0)
        log_sigma = intercept_sigma + process("_sigma", data["Xgp_sigma_1"], data["slambda_sigma_1"])
        pm.Normal("y", mu, pm.math.exp(log_sigma), observed=data["Y"])
    return m
