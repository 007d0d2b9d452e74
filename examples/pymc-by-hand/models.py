"""The five models of this folder in PyMC, with data that are simulated but for the eight schools.

Each function is named after its .ptg file, and returns a pm.Model whose log density is the `logp` of the file: inputs
of the graph are the model's value variables and its pm.Data, under their names.
"""

import numpy as np
import pymc as pm


def eight_schools():
    y = np.array([28.0, 8, -3, 7, -1, 1, 18, 12])
    sigma = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 5)
        tau = pm.HalfCauchy("tau", 5)
        z = pm.Normal("z", 0, 1, shape=8)
        pm.Normal("y", mu + tau * z, sigma, observed=y)
    return model


def linear_regression(n=100, k=3, seed=1):
    rng = np.random.default_rng(seed)
    predictors = rng.normal(size=(n, k))
    observed = 1 + predictors @ rng.normal(size=k) + 0.5 * rng.normal(size=n)
    with pm.Model() as model:
        X, y = pm.Data("X", predictors), pm.Data("y", observed)
        alpha = pm.Normal("alpha", 0, 10)
        beta = pm.Normal("beta", 0, 2.5, shape=k)
        sigma = pm.HalfNormal("sigma", 5)
        pm.Normal("y_obs", alpha + X @ beta, sigma, observed=y)
    return model


def logistic_regression(n=100, k=3, seed=2):
    rng = np.random.default_rng(seed)
    predictors = rng.normal(size=(n, k))
    observed = rng.random(n) < 1 / (1 + np.exp(-predictors @ rng.normal(size=k)))
    with pm.Model() as model:
        X, y = pm.Data("X", predictors), pm.Data("y", observed)
        alpha = pm.Normal("alpha", 0, 2.5)
        beta = pm.Normal("beta", 0, 1, shape=k)
        pm.Bernoulli("y_obs", logit_p=alpha + X @ beta, observed=y)
    return model


def mixture(n=100, seed=3):
    rng = np.random.default_rng(seed)
    observed = rng.normal([-3, 0, 4], [1, 0.5, 1.5], size=(n, 3))[np.arange(n), rng.integers(3, size=n)]
    with pm.Model() as model:
        y = pm.Data("y", observed)
        w = pm.Dirichlet("w", [2, 2, 2])
        mu = pm.Normal("mu", 0, 5, shape=3, transform=pm.distributions.transforms.ordered, initval=[-1, 0, 1])
        sigma = pm.HalfNormal("sigma", 2, shape=3)
        pm.NormalMixture("y_obs", w, mu, sigma, observed=y)
    return model


def hierarchical(n=100, counties=8, seed=4):
    rng = np.random.default_rng(seed)
    where, level = rng.integers(counties, size=n), rng.integers(2, size=n).astype(float)
    observed = rng.normal(1.5, 0.3, size=counties)[where] - 0.7 * level + 0.7 * rng.normal(size=n)
    with pm.Model() as model:
        county, floor, y = pm.Data("county", where), pm.Data("floor", level), pm.Data("y", observed)
        mu_alpha = pm.Normal("mu_alpha", 0, 10)
        sigma_alpha = pm.Exponential("sigma_alpha", 1)
        alpha = pm.Normal("alpha", mu_alpha, sigma_alpha, shape=counties)
        beta = pm.Normal("beta", 0, 10)
        sigma = pm.Exponential("sigma", 1)
        pm.Normal("y_obs", alpha[county] + beta * floor, sigma, observed=y)
    return model
