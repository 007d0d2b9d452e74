"""All distributions of PyMC with values for their parameters, for sweep.py.

Float parameters are inputs of the compiled functions, so that nothing is folded; integers that decide shapes are
constants. `draws` are values of the distribution, at which all functions are compared beside the values of EDGES.
"""

import sys
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import scipy.integrate

sys.path.append(str(Path(__file__).parents[1] / "run"))
from truth import polya_gamma_float  # noqa: E402

CONTINUOUS = [-np.inf, -2.0, -1e-3, 0.0, 1e-6, 0.25, 0.5, 1.0, 1.75, 3.0, 30.0, np.inf, np.nan]
DISCRETE = [-1, 0, 1, 2, 3, 7, 40]
PROBABILITIES = [-0.1, 0.0, 0.001, 0.1, 0.5, 0.75, 0.999, 1.0, 1.1, np.nan]


@dataclass
class Case:
    name: str
    build: object  # the distribution, given the parameters as keywords
    params: list[dict]  # values that are valid; the first one is broken for the checks of parameters
    values: list = field(default_factory=list)  # besides draws; for vectors and matrices each one is an array
    parts: str = "logp logcdf icdf truncated censored"
    derive: bool = True  # PyMC's log density has a gradient
    draws: int = 5
    bounds: tuple = (0.25, 3.0)  # of the truncated and censored forms


SCALAR, VECTOR = [], []


def scalar(name, *params, build=None, **more):
    SCALAR.append(Case(name, build or getattr(pm, name).dist, list(params), **more))


def vector(name, build, *params, parts="logp", **more):
    VECTOR.append(Case(name, build, list(params), parts=parts, **more))


scalar("Uniform", dict(lower=-1.5, upper=2.5))
scalar("Flat", {}, draws=0)
scalar("HalfFlat", {}, draws=0)
scalar("Normal", dict(mu=0.3, sigma=1.25), dict(mu=-50.0, sigma=0.01))
scalar("TruncatedNormal", dict(mu=0.3, sigma=1.25, lower=-1.0, upper=2.0), parts="logp logcdf icdf")
scalar("TruncatedNormal (one bound)", dict(mu=0.3, sigma=1.25, lower=-1.0), build=pm.TruncatedNormal.dist,
       parts="logp logcdf icdf")  # fmt: skip
scalar("HalfNormal", dict(sigma=1.25))
scalar("Wald", dict(mu=1.5, lam=2.0), dict(mu=1.5, lam=40.0, alpha=0.1))
scalar("SkewNormal", dict(mu=0.3, sigma=1.25, alpha=3.0))
scalar("Beta", dict(alpha=1.5, beta=2.5), dict(alpha=0.25, beta=10.0))
scalar("Beta (mu, sigma)", dict(mu=0.375, sigma=0.25), build=pm.Beta.dist)
scalar("Kumaraswamy", dict(a=1.5, b=2.5))
scalar("Exponential", dict(lam=1.5))
scalar("Laplace", dict(mu=0.3, b=1.25))
scalar("AsymmetricLaplace", dict(kappa=1.5, mu=0.3, b=1.25))
scalar("LogNormal", dict(mu=0.3, sigma=1.25))
scalar("StudentT", dict(nu=3.5, mu=0.3, sigma=1.25), dict(nu=40.0, mu=0.3, sigma=1.25))
scalar("SkewStudentT", dict(a=1.5, b=2.5, mu=0.3, sigma=1.25))
scalar("HalfStudentT", dict(nu=3.5, sigma=1.25))
scalar("Cauchy", dict(alpha=0.3, beta=1.25))
scalar("HalfCauchy", dict(beta=1.25))
scalar("Gamma", dict(alpha=1.5, beta=0.75), dict(alpha=40.0, beta=3.0), dict(alpha=0.25, beta=3.0))
scalar("InverseGamma", dict(alpha=1.5, beta=0.75), dict(alpha=20.0, beta=30.0))
scalar("ChiSquared", dict(nu=3.5))
scalar("Weibull", dict(alpha=1.5, beta=0.75))
scalar("ExGaussian", dict(mu=0.3, sigma=1.25, nu=2.0), dict(mu=0.3, sigma=1.25, nu=0.03125))
scalar("VonMises", dict(mu=0.3, kappa=2.5), dict(mu=0.3, kappa=40.0))
scalar("Triangular", dict(lower=-1.0, c=0.5, upper=2.0))
scalar("Gumbel", dict(mu=0.3, beta=1.25))
scalar("Rice", dict(nu=1.5, sigma=1.25), dict(nu=20.0, sigma=0.5))
scalar("Logistic", dict(mu=0.3, s=1.25))
scalar("LogitNormal", dict(mu=0.3, sigma=1.25))
GRID = np.linspace(-2, 2, 50)
scalar("Interpolated", {}, build=lambda: pm.Interpolated.dist(GRID, np.exp(-(GRID**2))))
scalar("Moyal", dict(mu=0.3, sigma=1.25))


def exact_polya_gamma(cdf):
    """In the place of the package `polyagamma`, which PyMC calls: it has an error of 100 % far above the mean"""
    function = np.vectorize(lambda *args: polya_gamma_float(*map(float, args), cdf), otypes=[float])
    return lambda x, h, z, return_log: function(x, h, z)


pm.distributions.continuous.polyagamma_pdf = exact_polya_gamma(False)
pm.distributions.continuous.polyagamma_cdf = exact_polya_gamma(True)
scalar("PolyaGamma", dict(h=2.0, z=0.5), dict(h=14.5, z=-3.0), dict(h=0.25, z=0.0), derive=False, draws=0)

scalar("Binomial", dict(n=9, p=0.375), dict(n=400, p=0.9375))
scalar("BetaBinomial", dict(alpha=1.5, beta=2.5, n=9), parts="logp")
vector("BetaBinomial (one value)", lambda **p: pm.BetaBinomial.dist(**p, n=9), dict(alpha=1.5, beta=2.5),
       parts="logcdf truncated censored", values=[-1, 0, 9, 10], bounds=(1, 7))  # fmt: skip
scalar("Bernoulli", dict(p=0.375))
scalar("Bernoulli (logit_p)", dict(logit_p=0.75), build=pm.Bernoulli.dist)
scalar("DiscreteWeibull", dict(q=0.875, beta=1.25))
scalar("Poisson", dict(mu=3.5), dict(mu=300.0))
scalar("NegativeBinomial", dict(mu=3.5, alpha=1.25), dict(mu=300.0, alpha=20.0))
scalar("Geometric", dict(p=0.375))
scalar("HyperGeometric", dict(N=20, k=8, n=9), parts="logp")
vector("HyperGeometric (one value)", lambda: pm.HyperGeometric.dist(20, 8, 9), {}, parts="logcdf truncated censored",
       values=[-1, 0, 4, 8, 9], bounds=(2, 6))  # fmt: skip
scalar("DiscreteUniform", dict(lower=-1, upper=9))
scalar("Categorical", dict(p=np.array([0.125, 0.5, 0.375])))
scalar("Categorical (logit_p)", dict(logit_p=np.array([0.125, 0.5, -0.375])), build=pm.Categorical.dist)
scalar("OrderedLogistic", dict(eta=0.3, cutpoints=np.array([-1.0, 0.5, 2.0])),
       build=lambda **p: pm.OrderedLogistic.dist(**p))  # fmt: skip
scalar("OrderedProbit", dict(eta=0.3, cutpoints=np.array([-1.0, 0.5, 2.0])),
       build=lambda **p: pm.OrderedProbit.dist(**p))  # fmt: skip

ZERO = dict(psi=0.75)
scalar("ZeroInflatedBinomial", ZERO | dict(n=9, p=0.375), parts="logp logcdf")
scalar("ZeroInflatedNegativeBinomial", ZERO | dict(mu=3.5, alpha=1.25), parts="logp logcdf")
scalar("ZeroInflatedPoisson", ZERO | dict(mu=3.5), parts="logp logcdf")
scalar("HurdleGamma", ZERO | dict(alpha=1.5, beta=0.75), parts="logp logcdf")
scalar("HurdleLogNormal", ZERO | dict(mu=0.3, sigma=1.25), parts="logp logcdf")
scalar("HurdleNegativeBinomial", ZERO | dict(mu=3.5, alpha=1.25), parts="logp logcdf")
scalar("HurdlePoisson", ZERO | dict(mu=3.5), parts="logp logcdf")


def mixture(w, mu, sigma):
    return pm.Mixture.dist(w, [pm.Normal.dist(mu, sigma), pm.StudentT.dist(nu=4.0, mu=mu, sigma=sigma)])


scalar("Mixture", dict(w=np.array([0.25, 0.75]), mu=0.3, sigma=1.25), build=mixture, parts="logp logcdf")
scalar("NormalMixture", dict(w=np.array([0.25, 0.75]), mu=np.array([-1.0, 2.0]), sigma=np.array([1.25, 0.5])),
       parts="logp logcdf")  # fmt: skip
scalar("Mixture of counts", dict(w=np.array([0.25, 0.75]), mu=np.array([1.5, 20.0])),
       build=lambda w, mu: pm.Mixture.dist(w, pm.Poisson.dist(mu)), parts="logp logcdf")  # fmt: skip
scalar("DiracDelta", dict(c=1.0), parts="logp logcdf", derive=False)
scalar("CustomDist", dict(mu=0.3, sigma=1.25), parts="logp logcdf icdf",
       build=lambda mu, sigma: pm.CustomDist.dist(
           mu, sigma, dist=lambda mu, sigma, size: pt.exp(pm.Normal.dist(mu, sigma, size=size))))  # fmt: skip
scalar("CustomDist (logp)", dict(mu=0.3), parts="logp", draws=0,
       build=lambda mu: pm.CustomDist.dist(mu, logp=lambda value, mu: -((value - mu) ** 2)))  # fmt: skip

RNG = np.random.default_rng(7)
A = RNG.normal(size=(3, 3))
COV = np.round(A @ A.T + np.eye(3), 6)
B = RNG.normal(size=(2, 2))
COV2 = np.round(B @ B.T + np.eye(2), 6)
MU = np.array([0.5, -1.0, 2.0])
CHOL = np.linalg.cholesky(COV)
OUTSIDE = np.array([np.inf, 0.0, np.nan])

vector("MvNormal", lambda mu, cov: pm.MvNormal.dist(mu, cov), dict(mu=MU, cov=COV), values=[MU, OUTSIDE])
vector("MvNormal (chol)", lambda mu, chol: pm.MvNormal.dist(mu, chol=chol), dict(mu=MU, chol=CHOL))
vector("MvNormal (tau)", lambda mu, tau: pm.MvNormal.dist(mu, tau=tau), dict(mu=MU, tau=COV))
vector("MvStudentT", lambda nu, mu, scale: pm.MvStudentT.dist(nu=nu, mu=mu, scale=scale),
       dict(nu=3.5, mu=MU, scale=COV), values=[MU])  # fmt: skip
vector("Dirichlet", lambda a: pm.Dirichlet.dist(a), dict(a=np.array([1.5, 2.5, 0.75])),
       values=[np.array([0.0, 0.5, 0.5]), np.array([1.0, 0.0, 0.0]), np.array([0.5, 0.5, 0.5]), np.array([-0.5, 1.0, 0.5])])  # fmt: skip
vector("Multinomial", lambda p: pm.Multinomial.dist(9, p), dict(p=np.array([0.125, 0.5, 0.375])),
       values=[np.array([0, 0, 9]), np.array([1, 1, 1]), np.array([-1, 5, 5])])  # fmt: skip
vector("DirichletMultinomial", lambda a: pm.DirichletMultinomial.dist(9, a), dict(a=np.array([1.5, 2.5, 0.75])),
       values=[np.array([0, 0, 9]), np.array([1, 1, 1]), np.array([-1, 5, 5])])  # fmt: skip
vector("OrderedMultinomial", lambda eta, cutpoints: pm.OrderedMultinomial.dist(eta, cutpoints, 9),
       dict(eta=0.3, cutpoints=np.array([-1.0, 0.5, 2.0])))  # fmt: skip
vector("StickBreakingWeights", lambda alpha: pm.StickBreakingWeights.dist(alpha, K=3), dict(alpha=1.5),
       values=[np.array([0.0, 0.5, 0.25, 0.25]), np.array([0.5, 0.5, 0.5, 0.5])])  # fmt: skip
vector("Wishart", lambda V: pm.Wishart.dist(nu=5, V=V), dict(V=COV), values=[-np.eye(3)])
vector("LKJCorr", lambda eta: pm.LKJCorr.dist(n=3, eta=eta), dict(eta=1.5), values=[np.eye(3), 2 * np.ones((3, 3))])
vector("LKJCholeskyCov", lambda eta, sd: pm.LKJCholeskyCov.dist(
    n=3, eta=eta, sd_dist=pm.Exponential.dist(sd, size=3), compute_corr=False), dict(eta=1.5, sd=1.25))  # fmt: skip
vector("MatrixNormal", lambda mu, rowcov, colcov: pm.MatrixNormal.dist(mu=mu, rowcov=rowcov, colcov=colcov),
       dict(mu=np.arange(6.0).reshape(3, 2), rowcov=COV, colcov=COV2))  # fmt: skip
vector("KroneckerNormal", lambda mu, a, b, sigma: pm.KroneckerNormal.dist(mu=mu, covs=[a, b], sigma=sigma),
       dict(mu=np.arange(6.0), a=COV, b=COV2, sigma=0.5))  # fmt: skip
vector("KroneckerNormal (chols)", lambda mu, a, b: pm.KroneckerNormal.dist(mu=mu, chols=[a, b]),
       dict(mu=np.arange(6.0), a=CHOL, b=np.linalg.cholesky(COV2)))  # fmt: skip
LINKS = np.array([[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]])
vector("CAR", lambda mu, alpha, tau: pm.CAR.dist(mu, LINKS, alpha, tau),
       dict(mu=np.zeros(4), alpha=0.5, tau=1.25))  # fmt: skip
vector("ICAR", lambda sigma: pm.ICAR.dist(LINKS, sigma), dict(sigma=1.25), draws=0,
       values=[np.array([0.5, -1.0, 0.25, 0.25])])  # fmt: skip
vector("ZeroSumNormal", lambda sigma: pm.ZeroSumNormal.dist(sigma, support_shape=(4,)), dict(sigma=1.25),
       values=[np.array([1.0, 0.0, 0.0, 0.0]), np.array([0.5, -1.0, 0.25, 0.25]), np.zeros(4)])  # fmt: skip
vector("AR", lambda rho, sigma: pm.AR.dist(rho, sigma, steps=6, constant=True, init_dist=pm.Normal.dist(0, 1, size=2)),
       dict(rho=np.array([0.5, 0.25, -0.25]), sigma=1.25))  # fmt: skip
vector("GARCH11", lambda **p: pm.GARCH11.dist(**p, steps=6),
       dict(omega=0.5, alpha_1=0.25, beta_1=0.5, initial_vol=1.25))  # fmt: skip
vector("GaussianRandomWalk", lambda mu, sigma: pm.GaussianRandomWalk.dist(
    mu, sigma, init_dist=pm.Normal.dist(0, 1), steps=6), dict(mu=0.3, sigma=1.25))  # fmt: skip
vector("RandomWalk", lambda nu: pm.RandomWalk.dist(pm.Normal.dist(0, 1), pm.StudentT.dist(nu=nu, mu=0, sigma=1), steps=6),
       dict(nu=3.5))  # fmt: skip
vector("MvGaussianRandomWalk", lambda mu, cov: pm.MvGaussianRandomWalk.dist(
    mu=mu, cov=cov, init_dist=pm.MvNormal.dist(np.zeros(3), np.eye(3)), steps=4), dict(mu=MU, cov=COV))  # fmt: skip
vector("MvStudentTRandomWalk", lambda nu, mu, scale: pm.MvStudentTRandomWalk.dist(
    nu=nu, mu=mu, scale=scale, init_dist=pm.MvNormal.dist(np.zeros(3), np.eye(3)), steps=4),
    dict(nu=3.5, mu=MU, scale=COV))  # fmt: skip
vector("EulerMaruyama", lambda lam, s: pm.EulerMaruyama.dist(
    0.1, lambda x, lam, s: (lam * x, s), [lam, s], init_dist=pm.Normal.dist(0, 1), steps=6),
    dict(lam=-0.75, s=0.5))  # fmt: skip
vector("Mixture of vectors", lambda w, mu, cov: pm.Mixture.dist(
    w, [pm.MvNormal.dist(mu, cov), pm.MvNormal.dist(-mu, cov)]),
    dict(w=np.array([0.25, 0.75]), mu=MU, cov=COV))  # fmt: skip


# ---- models: what has no distribution of its own ----


def wishart_bartlett():
    pm.WishartBartlett("W", np.eye(3), 5)


def hsgp():
    x = np.linspace(-1, 1, 12)[:, None]
    gp = pm.gp.HSGP(m=[6], c=1.5, cov_func=pm.Gamma("s", 2, 1) * pm.gp.cov.Matern52(1, pm.Gamma("l", 2, 1)))
    pm.Normal("y", gp.prior("f", X=x), 0.5, observed=np.sin(3 * x[:, 0]))


def hsgp_periodic():
    x = np.linspace(-1, 1, 12)[:, None]
    cov = pm.gp.cov.Periodic(1, period=1, ls=pm.Gamma("l", 2, 1))
    gp = pm.gp.HSGPPeriodic(m=6, scale=pm.HalfNormal("s", 1), cov_func=cov)
    pm.Normal("y", gp.prior("f", X=x), 0.5, observed=np.sin(3 * x[:, 0]))


def marginal_gp():
    x = np.linspace(-1, 1, 12)[:, None]
    gp = pm.gp.Marginal(cov_func=pm.gp.cov.ExpQuad(1, pm.Gamma("l", 2, 1)))
    gp.marginal_likelihood("y", X=x, y=np.sin(3 * x[:, 0]), sigma=pm.HalfNormal("s", 1))


def latent_gp():
    x = np.linspace(-1, 1, 8)[:, None]
    gp = pm.gp.Latent(cov_func=pm.gp.cov.Matern32(1, pm.Gamma("l", 2, 1)))
    pm.Bernoulli("y", logit_p=gp.prior("f", X=x), observed=np.arange(8) % 2)


def sparse_gp():
    x = np.linspace(-1, 1, 12)[:, None]
    gp = pm.gp.MarginalApprox(cov_func=pm.gp.cov.ExpQuad(1, pm.Gamma("l", 2, 1)), approx="FITC")
    gp.marginal_likelihood("y", X=x, Xu=x[::3], y=np.sin(3 * x[:, 0]), sigma=pm.HalfNormal("s", 1))


def imputed():
    seen = np.array([0.5, np.nan, 1.5, -1.0, np.nan])
    pm.Normal("y", pm.Normal("mu", 0, 1), pm.HalfNormal("s", 1), observed=seen)


def imputed_vectors():
    seen = np.array([[0.5, np.nan], [1.5, -1.0], [0.25, 0.5]])
    pm.MvNormal("y", pm.Normal("mu", 0, 1, shape=2), np.eye(2) + 0.5, observed=seen)


def zero_sum():
    a = pm.ZeroSumNormal("a", 1, shape=(3, 4), n_zerosum_axes=2)
    pm.Normal("y", a.sum(0), 1, observed=np.arange(4.0))


def ordered():
    cuts = pm.Normal("cuts", 0, 2, shape=3, transform=pm.distributions.transforms.ordered, initval=[-1, 0, 1])
    pm.OrderedLogistic("y", eta=pm.Normal("eta", 0, 1), cutpoints=cuts, observed=[0, 1, 2, 3, 1])


def interpolated_prior():
    x = pm.Interpolated("x", GRID, np.exp(-(GRID**2)))
    pm.Normal("y", x, 1, observed=[0.5, 0.25])


def circular():
    mu = pm.VonMises("mu", 0, 1)
    pm.VonMises("y", mu, pm.HalfNormal("kappa", 3), observed=[0.5, -1.0, 3.0])


def simulator():
    pm.Simulator("y", lambda rng, mu, size=None: rng.normal(mu, size=size), pm.Normal("mu", 0, 1),
                 observed=np.arange(4.0))  # fmt: skip


def minibatch():
    data = pm.Minibatch(np.arange(100.0), batch_size=10)
    pm.Normal("y", pm.Normal("mu", 0, 1), 1, observed=data, total_size=100)


# In the place of SciPy's odeint as PyMC calls it, whose results have errors of 1e-7
pm.ode.ode.scipy = SimpleNamespace(integrate=SimpleNamespace(
    odeint=partial(scipy.integrate.odeint, rtol=1e-13, atol=1e-13, mxstep=5000)))  # fmt: skip


def ode_system():
    def infections(y, t, p):
        return [-p[0] * y[0] * y[1], p[0] * y[0] * y[1] - p[1] * y[1]]

    sir = pm.ode.DifferentialEquation(infections, times=np.linspace(1, 10, 12), n_states=2, n_theta=2)
    first = pm.Beta("first", 1, 30)
    y = sir(y0=[1 - first, first], theta=[pm.LogNormal("beta", 0.5, 0.3), 0.4])
    pm.LogNormal("y", pm.math.log(y), 0.5, observed=np.full((12, 2), 0.3))


def ode():
    decay = pm.ode.DifferentialEquation(lambda y, t, p: [-p[0] * y[0]], times=np.arange(1, 4), n_states=1, n_theta=1)
    pm.Normal("y", decay(y0=[1.0], theta=[pm.HalfNormal("k", 1)]), 0.1, observed=np.ones((3, 1)))


MODELS = [wishart_bartlett, hsgp, hsgp_periodic, marginal_gp, latent_gp, sparse_gp, imputed, imputed_vectors,
          zero_sum, ordered, interpolated_prior, circular, minibatch, simulator, ode, ode_system]  # fmt: skip
