"""Writes eight_schools.ptg and regression.ptg, samplers of two PyMC models, and line.ptg, which takes data, is run by parts
and predicts. Needs: pymc, ptgc."""

from pathlib import Path

import numpy as np
import pymc as pm

import ptgc

here = Path(__file__).parent


def eight_schools():
    mu, tau, z = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5), pm.Normal("z", 0, 1, shape=8)
    theta = pm.Deterministic("theta", mu + tau * z)
    sigma, y = np.array([15.0, 10, 16, 11, 9, 11, 10, 18]), np.array([28.0, 8, -3, 7, -1, 1, 18, 12])
    pm.Normal("y", theta, sigma, observed=y)


def regression():
    """Student's t around a plane, through points that the plane 1 + 2 a - b + 0.5 c has, with noise of 0.5."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=(100, 3)).round(2)
    y = (1 + x @ [2, -1, 0.5] + 0.5 * rng.standard_t(4, size=100)).round(2)
    intercept, slopes = pm.Normal("intercept", 0, 10), pm.Normal("slopes", 0, 10, shape=3)
    sigma, nu = pm.HalfNormal("sigma", 5), pm.Gamma("nu", 2, 0.1)
    pm.StudentT("y", nu, mu=intercept + x @ slopes, sigma=sigma, observed=y)


def line():
    """The data are inputs: these here only stand for their types"""
    x, seen = pm.Data("x", np.arange(3.0)), pm.Data("seen", np.zeros(3))
    a, b, sigma = pm.Normal("a", 0, 5), pm.Normal("b", 0, 5), pm.HalfNormal("sigma", 1)
    pm.Normal("y", a + b * x, sigma, observed=seen, shape=x.shape)


def write(path, text, model):
    head, _, rest = text.partition("\n")
    note = f"# PyMC's model `{model}` of make.py, which wrote this file, with the sampler inside\n"
    path.write_text(f"{head}\n\n{note}{rest.lstrip()}")


def main():
    for name, define in {"eight_schools": eight_schools, "regression": regression}.items():
        with pm.Model() as model:
            define()
        inputs, outputs = ptgc.nuts_graph(model, chains=None)
        path = here / f"{name}.ptg"
        ptgc.save_ptg(path, inputs, outputs, name=name, optimize=True)
        write(path, path.read_text(), name)
    with pm.Model() as model:
        line()
    sampler = ptgc.compile_nuts(model, chains=None, predict=["y"], model_name="line")
    write(here / "line.ptg", ptgc.format(sampler.text), "line")


if __name__ == "__main__":
    main()
