"""A drug in one compartment: absorbed at a rate, eliminated by Michaelis and Menten"""

import pymc as pm
import pytensor.tensor as pt


def model(data):
    dose, volume = float(data["D"]), float(data["V"])

    def rates(c, t, theta):
        k_a, k_m, v_m = theta[0], theta[1], theta[2]
        return [pt.exp(-k_a * t) * dose * k_a / volume - v_m / volume * c[0] / (k_m + c[0])]

    solve = pm.ode.DifferentialEquation(rates, times=data["times"], n_states=1, n_theta=3, t0=float(data["t0"]))
    with pm.Model() as m:
        k_a = pm.HalfCauchy("k_a", 1)
        k_m = pm.HalfCauchy("K_m", 1)
        v_m = pm.HalfCauchy("V_m", 1)
        sigma = pm.HalfCauchy("sigma", 1)
        c = solve(y0=[0.0], theta=pt.stack([k_a, k_m, v_m]))
        pm.LogNormal("y", pt.log(c[:, 0]), sigma, observed=data["C_hat"])
    return m
