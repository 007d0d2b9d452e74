"""Exports the log density and its gradient of PyMC models as .ptg text.

Usage: make.py [model ...]   Needs pymc, and ptgc's Python package. For each model it writes NAME.ptg,
a .npy file for each larger constant, and NAME.npz: values of the parameters and what PyTensor's own
Python evaluation gives for them. run.py compares; neither ptgc nor run.py needs PyMC or PyTensor.
"""

import sys
from pathlib import Path

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt

import ptgc

here = Path(__file__).parent
N = 60
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 3))
Y = X @ [1, -2, 0.5] + rng.normal(size=N)
GROUP = rng.integers(0, 5, N)
COUNTS = rng.poisson(3, N)
BINARY = rng.integers(0, 2, N)
CLASSES = rng.integers(0, 4, N)
ordered = pm.distributions.transforms.ordered


def linear_regression():
    beta, a, s = pm.Normal("beta", 0, 1, shape=3), pm.Normal("a", 0, 5), pm.HalfNormal("s", 1)
    pm.Normal("y", a + pt.dot(X, beta), s, observed=Y)


def logistic_regression():
    pm.Bernoulli("y", logit_p=pt.dot(X, pm.Normal("beta", 0, 1, shape=3)), observed=BINARY)


def poisson_regression():
    pm.Poisson("y", pt.exp(pt.dot(X, pm.Normal("beta", 0, 1, shape=3))), observed=COUNTS)


def hierarchical():
    mu, tau = pm.Normal("mu", 0, 1), pm.HalfCauchy("tau", 1)
    a, s = pm.Normal("a", mu, tau, shape=5), pm.Exponential("s", 1)
    pm.Normal("y", a[GROUP] + X[:, 0] * pm.Normal("b", 0, 1), s, observed=Y)


def eight_schools():
    mu, tau, z = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5), pm.Normal("z", 0, 1, shape=8)
    sigma, y = np.array([15.0, 10, 16, 11, 9, 11, 10, 18]), np.array([28.0, 8, -3, 7, -1, 1, 18, 12])
    pm.Normal("y", mu + tau * z, sigma, observed=y)


def mixture():
    w, mu = pm.Dirichlet("w", np.ones(3)), pm.Normal("mu", 0, 3, shape=3)
    pm.NormalMixture("y", w, mu, sigma=pm.HalfNormal("s", 1, shape=3), observed=Y)


def student_t():
    nu, mu, s = pm.Gamma("nu", 2, 0.1), pm.Normal("mu", 0, 1), pm.HalfNormal("s", 1)
    pm.StudentT("y", nu, mu=mu, sigma=s, observed=Y)


def negative_binomial():
    alpha, mu = pm.Exponential("alpha", 1), pm.LogNormal("mu", 0, 1)
    pm.NegativeBinomial("y", mu=mu, alpha=alpha, observed=COUNTS)


def beta_binomial():
    a, b = pm.HalfNormal("a", 5), pm.HalfNormal("b", 5)
    pm.Binomial("y", 20, pm.Beta("theta", a, b, shape=10), observed=np.arange(10) + 2)


def ordinal_regression():
    cut = pm.Normal("cut", np.array([-1.0, 0, 1]), 1, shape=3, transform=ordered)
    pm.OrderedLogistic("y", eta=pt.dot(X, pm.Normal("beta", 0, 1, shape=3)), cutpoints=cut, observed=CLASSES)


def censored():
    mu, s = pm.Normal("mu", 0, 1), pm.HalfNormal("s", 1)
    pm.Censored("y", pm.Normal.dist(mu, s), lower=-1, upper=1, observed=np.clip(Y, -1, 1))


def gaussian_process():
    length, eta = pm.Gamma("length", 2, 1), pm.HalfNormal("eta", 1)
    gp = pm.gp.Marginal(cov_func=eta**2 * pm.gp.cov.ExpQuad(1, length))
    gp.marginal_likelihood("y", X=X[:, :1], y=Y, sigma=pm.HalfNormal("s", 1))


def autoregression():
    rho, s = pm.Normal("rho", 0, 0.5, shape=2), pm.HalfNormal("s", 1)
    pm.AR("y", rho, sigma=s, constant=False, init_dist=pm.Normal.dist(0, 1), observed=Y)


def random_walk():
    s = pm.HalfNormal("s", 1)
    x = pm.GaussianRandomWalk("x", sigma=s, init_dist=pm.Normal.dist(0, 1), steps=N - 1)
    pm.Normal("y", x, 1, observed=Y)


def softmax_regression():
    p = pm.math.softmax(pt.dot(X, pm.Normal("W", 0, 1, shape=(3, 4))), axis=1)
    pm.Categorical("y", p=p, observed=CLASSES)


def weibull():
    pm.Weibull("y", pm.HalfNormal("alpha", 2), pm.HalfNormal("beta", 2), observed=np.abs(Y) + 0.1)


def zero_inflated_poisson():
    pm.ZeroInflatedPoisson("y", pm.Beta("psi", 1, 1), pm.Exponential("mu", 1), observed=COUNTS)


def multivariate_normal():
    chol, _, _ = pm.LKJCholeskyCov("chol", n=3, eta=2, sd_dist=pm.Exponential.dist(1.0))
    pm.MvNormal("y", np.zeros(3), chol=chol, observed=X)


def garch():
    omega, alpha, beta = pm.HalfNormal("omega", 1), pm.Uniform("alpha", 0, 1), pm.Uniform("beta", 0, 1)
    pm.GARCH11("y", omega=omega, alpha_1=alpha, beta_1=beta, initial_vol=1.0, observed=Y)


def hidden_markov():
    """Two regimes, summed over by the forward algorithm."""
    mu, stay = pm.Normal("mu", [-1, 1], 1, shape=2), pm.Beta("stay", 5, 1, shape=2)
    move = pt.log(pt.stack([pt.stack([stay[0], 1 - stay[0]]), pt.stack([1 - stay[1], stay[1]])]))
    seen = pm.logp(pm.Normal.dist(mu, 1), Y[:, None])

    def step(now, before, move):
        return now + pt.logsumexp(before[:, None] + move, axis=0)

    forward = pytensor.scan(
        step, sequences=[seen[1:]], outputs_info=[seen[0] + np.log(0.5)], non_sequences=[move], return_updates=False)
    pm.Potential("forward", pt.logsumexp(forward[-1]))


def epidemic():
    """Susceptible, infected, recovered, by the day."""
    contact, recover = pm.LogNormal("contact", -1, 0.5), pm.Beta("recover", 2, 8)

    def day(s, i, contact, recover):
        new = contact * s * i / 1000
        return s - new, i + new - recover * i, new

    _, _, new = pytensor.scan(
        day, outputs_info=[pt.constant(990.0, dtype="float64"), pt.constant(10.0, dtype="float64"), None],
        non_sequences=[contact, recover], n_steps=N, return_updates=False)
    pm.Poisson("y", new + 1e-6, observed=COUNTS)


MODELS = {f.__name__: f for f in (
    linear_regression, logistic_regression, poisson_regression, hierarchical, eight_schools, mixture, student_t,
    negative_binomial, beta_binomial, ordinal_regression, censored, gaussian_process, autoregression, random_walk,
    softmax_regression, weibull, zero_inflated_poisson, multivariate_normal, garch, hidden_markov,
    epidemic,
)}  # fmt: skip


def export(name):
    with pm.Model() as model:
        MODELS[name]()
    inputs, outputs = model.value_vars, [model.logp(), model.dlogp()]
    outputs[0].name, outputs[1].name = "logp", "dlogp"
    start, shake = model.initial_point(), np.random.default_rng(1)
    values = [np.asarray(start[v.name]) + 0.1 * shake.normal(size=np.shape(start[v.name])) for v in inputs]
    text = ptgc.save_ptg(here / f"{name}.ptg", inputs, outputs, name=name)
    path = here / f"{name}.ptg"
    note = f"# PyMC's {name.replace('_', ' ')}: log density and gradient at the unconstrained parameters.\n# Written by make.py.\n"
    head, _, rest = path.read_text().partition("\n")
    path.write_text(f"{head}\n\n{note}{rest.lstrip()}")
    logp, dlogp = pytensor.function(inputs, outputs, mode="FAST_COMPILE")(*values)
    np.savez(here / f"{name}.npz", logp=logp, dlogp=dlogp, **{f"in_{n}": v for n, v in zip(text.inputs, values)})
    print(f"{name}: {len(path.read_text().splitlines())} lines")


if __name__ == "__main__":
    for model in sys.argv[1:] or MODELS:
        export(model)
