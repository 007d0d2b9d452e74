"""Hares and lynxes: the equations of Lotka and Volterra"""

import numpy as np
import pymc as pm


def model(data):
    def rates(z, t, theta):
        hares, lynxes = z[0], z[1]
        return [(theta[0] - theta[1] * lynxes) * hares, (theta[3] * hares - theta[2]) * lynxes]

    solve = pm.ode.DifferentialEquation(rates, times=data["ts"], n_states=2, n_theta=4)
    with pm.Model() as m:
        mean = [1, 0.05, 1, 0.05]
        theta = pm.TruncatedNormal("theta", mu=mean, sigma=[0.5, 0.05, 0.5, 0.05], lower=0, initval=mean)
        z_init = pm.LogNormal("z_init", np.log(10), 1, shape=2)
        sigma = pm.LogNormal("sigma", -1, 1, shape=2)
        z = solve(y0=z_init, theta=theta)
        pm.LogNormal("y_init", pm.math.log(z_init), sigma, observed=data["y_init"])
        pm.LogNormal("y", pm.math.log(z), sigma, observed=data["y"])
    return m
