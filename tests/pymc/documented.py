"""Models as PyMC's documentation has them: their priors, dims, pm.Data and Deterministics, with data that are simulated."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt


def radon():
    """A multilevel model: intercepts and slopes of counties, of a predictor of theirs."""
    rng, n = np.random.default_rng(1), 60
    county = rng.integers(0, 6, n)
    with pm.Model(coords={"obs_id": np.arange(n), "county": list("abcdef")}) as model:
        floor = pm.Data("floor", rng.integers(0, 2, n), dims="obs_id")
        county_idx = pm.Data("county_idx", county, dims="obs_id")
        u = pm.Data("u", rng.normal(size=6), dims="county")
        log_radon = pm.Data("log_radon", rng.normal(1.3, 0.8, n), dims="obs_id")
        gamma_0 = pm.Normal("gamma_0", mu=0.0, sigma=10.0)
        gamma_1 = pm.Normal("gamma_1", mu=0.0, sigma=10.0)
        mu_a = pm.Deterministic("mu_a", gamma_0 + gamma_1 * u, dims="county")
        sigma_a = pm.Exponential("sigma_a", 1)
        z_a = pm.Normal("z_a", mu=0, sigma=1, dims="county")
        alpha = pm.Deterministic("alpha", mu_a + z_a * sigma_a, dims="county")
        beta = pm.Normal("beta", mu=0, sigma=10, dims="county")
        theta = alpha[county_idx] + beta[county_idx] * floor
        sigma = pm.Exponential("sigma", 1)
        pm.Normal("y", theta, sigma=sigma, observed=log_radon, dims="obs_id")
    return model


def rugby():
    """Attack and defence of teams, which add up to zero."""
    rng, n = np.random.default_rng(2), 30
    home, away = rng.integers(0, 3, n), rng.integers(3, 6, n)
    teams = ["Wales", "France", "Ireland", "Scotland", "Italy", "England"]
    with pm.Model(coords={"team": teams, "match": np.arange(n)}) as model:
        home_team = pm.Data("home_team", home, dims="match")
        away_team = pm.Data("away_team", away, dims="match")
        home_adv = pm.Normal("home", mu=0, sigma=1)
        sd_att = pm.HalfNormal("sd_att", sigma=2)
        sd_def = pm.HalfNormal("sd_def", sigma=2)
        intercept = pm.Normal("intercept", mu=3, sigma=1)
        atts_star = pm.Normal("atts_star", mu=0, sigma=sd_att, dims="team")
        defs_star = pm.Normal("defs_star", mu=0, sigma=sd_def, dims="team")
        atts = pm.Deterministic("atts", atts_star - pt.mean(atts_star), dims="team")
        defs = pm.Deterministic("defs", defs_star - pt.mean(defs_star), dims="team")
        home_theta = pt.exp(intercept + home_adv + atts[home_team] + defs[away_team])
        away_theta = pt.exp(intercept + atts[away_team] + defs[home_team])
        pm.Poisson("home_points", mu=home_theta, observed=rng.poisson(20, n), dims="match")
        pm.Poisson("away_points", mu=away_theta, observed=rng.poisson(18, n), dims="match")
    return model


def best():
    """Bayesian estimation supersedes the t test: two groups."""
    rng = np.random.default_rng(3)
    drug, placebo = rng.normal(102, 3, 47), rng.normal(100, 2, 42)
    both = np.concatenate([drug, placebo])
    with pm.Model() as model:
        group1_mean = pm.Normal("group1_mean", mu=both.mean(), sigma=both.std() * 2)
        group2_mean = pm.Normal("group2_mean", mu=both.mean(), sigma=both.std() * 2)
        group1_std = pm.Uniform("group1_std", lower=1e-1, upper=10)
        group2_std = pm.Uniform("group2_std", lower=1e-1, upper=10)
        nu = pm.Exponential("nu_minus_one", 1 / 29.0) + 1
        pm.Deterministic("nu", nu)
        pm.StudentT("drug", nu=nu, mu=group1_mean, lam=group1_std**-2, observed=drug)
        pm.StudentT("placebo", nu=nu, mu=group2_mean, lam=group2_std**-2, observed=placebo)
        diff = pm.Deterministic("difference of means", group1_mean - group2_mean)
        pm.Deterministic("effect size", diff / np.sqrt((group1_std**2 + group2_std**2) / 2))
    return model


def coal_mining():
    """Two rates of disasters, and the year that they change in; two years are missing."""
    counts = np.random.default_rng(4).poisson(np.r_[np.full(40, 3), np.full(71, 1)]).astype(float)
    counts[[30, 83]] = np.nan
    years = np.arange(1851, 1962)
    with pm.Model() as model:
        switchpoint = pm.DiscreteUniform("switchpoint", lower=years.min(), upper=years.max())
        early_rate = pm.Exponential("early_rate", 1.0)
        late_rate = pm.Exponential("late_rate", 1.0)
        rate = pm.math.switch(switchpoint >= years, early_rate, late_rate)
        pm.Poisson("disasters", rate, observed=counts)
    return model


def logistic():
    """A linear model of the logit, with an interaction; labels and predictors are data."""
    rng, n = np.random.default_rng(5), 50
    predictors = rng.normal(size=(n, 3))
    with pm.Model(coords={"coeffs": ["x1", "x2", "x1:x2"]}) as model:
        X = pm.Data("X", predictors)
        y = pm.Data("y", rng.integers(0, 2, n))
        b = pm.Normal("b", mu=0, sigma=1, dims="coeffs")
        p = pm.Deterministic("p", pm.math.invlogit(pm.math.dot(X, b)))
        pm.Bernoulli("obs", p=p, observed=y)
    return model


def robust():
    """A line through data with outliers."""
    rng, n = np.random.default_rng(6), 40
    where = np.linspace(0, 1, n)
    with pm.Model() as model:
        x, y = pm.Data("x", where), pm.Data("y", 1 + 2 * where + rng.standard_t(2, n) / 2)
        intercept = pm.Normal("Intercept", 0, sigma=20)
        slope = pm.Normal("slope", 0, sigma=20)
        sigma = pm.HalfCauchy("sigma", beta=10)
        nu = pm.Gamma("nu", alpha=2, beta=0.1)
        pm.StudentT("likelihood", nu=nu, mu=intercept + slope * x, sigma=sigma, observed=y)
    return model


def mixture():
    """Three normals in order, each with its own deviation."""
    rng = np.random.default_rng(7)
    values = rng.normal([-4, 0, 5], [1, 0.5, 1.5], (25, 3)).ravel()
    ordered = pm.distributions.transforms.ordered
    with pm.Model(coords={"cluster": range(3), "obs_id": np.arange(75)}) as model:
        x = pm.Data("values", values, dims="obs_id")
        mu = pm.Normal("mu", 0, 5, transform=ordered, initval=[-4, 0, 4], dims="cluster")
        sigma = pm.HalfNormal("sigma", sigma=1, dims="cluster")
        weights = pm.Dirichlet("w", np.ones(3), dims="cluster")
        pm.NormalMixture("x", w=weights, mu=mu, sigma=sigma, observed=x, dims="obs_id")
    return model


def varying_slopes():
    """Intercepts and slopes that are correlated, by the Cholesky factor of their covariance."""
    rng, n = np.random.default_rng(8), 60
    with pm.Model(coords={"county": np.arange(5), "param": ["alpha", "beta"], "obs_id": np.arange(n)}) as model:
        floor = pm.Data("floor_idx", rng.integers(0, 2, n), dims="obs_id")
        county = pm.Data("county_idx", rng.integers(0, 5, n), dims="obs_id")
        sd_dist = pm.Exponential.dist(0.5, shape=(2,))
        chol, _, _ = pm.LKJCholeskyCov("chol", n=2, eta=2.0, sd_dist=sd_dist, compute_corr=True)
        mu_alpha_beta = pm.Normal("mu_alpha_beta", mu=0.0, sigma=5.0, dims="param")
        z = pm.Normal("z", 0.0, 1.0, dims=("param", "county"))
        effect = pm.Deterministic("effect", pt.dot(chol, z).T, dims=("county", "param"))
        theta = mu_alpha_beta[0] + effect[county, 0] + (mu_alpha_beta[1] + effect[county, 1]) * floor
        sigma = pm.Exponential("sigma", 1.0)
        pm.Normal("y", theta, sigma=sigma, observed=rng.normal(size=n), dims="obs_id")
    return model


def survival():
    """Cox's model: events by patient and interval are Poisson of hazard and exposure."""
    rng, patients, intervals = np.random.default_rng(9), 12, 8
    exposure = rng.uniform(0.1, 3, (patients, intervals))
    death = (rng.random((patients, intervals)) < 0.1).astype(int)
    with pm.Model(coords={"intervals": np.arange(intervals), "patients": np.arange(patients)}) as model:
        metastasized = pm.Data("metastasized", rng.integers(0, 2, patients), dims="patients")
        lambda0 = pm.Gamma("lambda0", 0.01, 0.01, dims="intervals")
        beta = pm.Normal("beta", 0, sigma=1000)
        hazard = pm.Deterministic("lambda_", pt.outer(pt.exp(beta * metastasized), lambda0), dims=("patients", "intervals"))
        mu = pm.Deterministic("mu", exposure * hazard, dims=("patients", "intervals"))
        pm.Poisson("obs", mu, observed=death, dims=("patients", "intervals"))
    return model


def weibull_survival():
    """Accelerated failure times, of which some are censored: these are in a potential."""
    rng, n = np.random.default_rng(10), 30
    y, sex = np.log(rng.weibull(1.5, n) * 40 + 1), rng.integers(0, 2, n)
    censored = rng.random(n) < 0.3

    def gumbel_sf(y, mu, sigma):
        return 1.0 - pm.math.exp(-pm.math.exp(-(y - mu) / sigma))

    with pm.Model() as model:
        predictor = pm.Data("predictor", sex)
        event = pm.Data("event", np.flatnonzero(~censored))
        s = pm.HalfNormal("s", 5.0)
        beta = pm.Normal("beta", mu=0, sigma=10, shape=2)
        eta = beta[0] + beta[1] * predictor
        pm.Gumbel("events", eta[event], s, observed=y[~censored])
        pm.Potential("survived", pt.log(gumbel_sf(y[censored], eta[np.flatnonzero(censored)], s)))
    return model


def stochastic_volatility():
    """Returns whose volatility walks."""
    returns = np.random.default_rng(11).standard_t(5, 50) * 0.02
    with pm.Model(coords={"time": np.arange(50)}) as model:
        step_size = pm.Exponential("step_size", 10)
        volatility = pm.GaussianRandomWalk("volatility", sigma=step_size, dims="time", init_dist=pm.Normal.dist(0, 100))
        nu = pm.Exponential("nu", 0.1)
        pm.StudentT("returns", nu=nu, lam=np.exp(-2 * volatility), observed=returns, dims="time")
    return model


def negative_binomial():
    """Counts of sneezes with an interaction of alcohol and no antihistamines."""
    rng, n = np.random.default_rng(12), 80
    alcohol, nomeds = rng.integers(0, 2, n), rng.integers(0, 2, n)
    with pm.Model() as model:
        a, m = pm.Data("alcohol", alcohol), pm.Data("nomeds", nomeds)
        y = pm.Data("nsneeze", rng.negative_binomial(5, 0.4, n))
        b = [pm.Normal(name, 0, 2.5) for name in ("Intercept", "b_alcohol", "b_nomeds", "b_both")]
        alpha = pm.Exponential("alpha", 0.5)
        mu = pm.math.exp(b[0] + b[1] * a + b[2] * m + b[3] * a * m)
        pm.NegativeBinomial("y", mu=mu, alpha=alpha, observed=y)
    return model


MODELS = {f.__name__: f for f in (
    radon, rugby, best, coal_mining, logistic, robust, mixture, varying_slopes, survival, weibull_survival,
    stochastic_volatility, negative_binomial,
)}  # fmt: skip
