"""Files that are made of models, with data as inputs: densities beside PyMC's at other data, samplers beside the file
whose data are constants and beside PyMC's own posterior, predictions beside PyMC's draws. Each function is a test.

`files.py [NAME ...]` runs them; `make check-pymc` calls it.
"""

import logging
import pickle
import sys
import tempfile
import warnings

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from by_name import run_tests
from pymc.step_methods import STEP_METHODS, Metropolis
from pymc.step_methods.compound import Competence
from pytensor.compile.mode import Mode
from pytensor.tensor.random.op import RandomVariable

import ptgc
from ptgc import predictive

logging.disable(logging.WARNING)
warnings.filterwarnings("ignore", category=DeprecationWarning)
PYTHON = Mode("py", "fast_run").excluding("fusion", "inplace")
SHORT = dict(draws=3, tune=2, chains=3, max_treedepth=4)


def numbers(n):
    return np.random.default_rng(n)


def line(n):
    """Data of one length, with coordinates"""
    x = np.linspace(-1, 1, n)
    with pm.Model(coords={"row": range(n)}) as model:
        x = pm.Data("x", x, dims="row")
        y = pm.Data("y", 0.5 + 2 * np.linspace(-1, 1, n) + 0.3 * numbers(n).normal(size=n), dims="row")
        a, b, s = pm.Normal("a", 0, 5), pm.Normal("b", 0, 5), pm.HalfNormal("s", 1)
        mu = pm.Deterministic("mu", a + b * x, dims="row")
        pm.Normal("z", mu, s, observed=y, dims="row")
    return model


def counties(n):
    """Indices of rows into a fixed number of groups; a start that depends on data"""
    rng = numbers(n)
    with pm.Model(coords={"county": list("abcd"), "row": range(n)}) as model:
        county = pm.Data("county_of", rng.integers(0, 4, n), dims="row")
        floor = pm.Data("floor", rng.integers(0, 2, n), dims="row")
        y = pm.Data("radon", rng.normal(1, 1, n), dims="row")
        m = pm.Normal("m", y.mean(), 2)
        a = pm.Normal("a", m, pm.HalfNormal("t", 1), dims="county")
        b = pm.Normal("b", 0, 1)
        pm.Normal("y", a[county] + b * floor, pm.Exponential("s", 1), observed=y, dims="row")
    return model


def counts(n):
    """Integers that are observed, and a matrix of data"""
    rng = numbers(n)
    with pm.Model(coords={"k": ["u", "v", "w"]}) as model:
        x = pm.Data("x", rng.normal(size=(n, 3)), dims=("row", "k"))
        k = pm.Data("k_seen", rng.poisson(2, n), dims="row")
        b = pm.Normal("b", 0, 1, dims="k")
        pm.NegativeBinomial("y", mu=pt.exp(x @ b), alpha=pm.Gamma("alpha", 2, 1), observed=k, dims="row")
    return model


def effects(n):
    """A latent number for each row: the point has as many parts as data"""
    rng = numbers(n)
    with pm.Model(coords={"row": range(n)}) as model:
        y = pm.Data("y", rng.poisson(3, n), dims="row")
        mu, s = pm.Normal("mu", 1, 1), pm.HalfNormal("s", 0.5)
        z = pm.Normal("z", 0, 1, dims="row")
        rate = pm.Deterministic("rate", pt.exp(mu + s * z), dims="row")
        pm.Poisson("k", rate, observed=y, dims="row")
    return model


def process(n):
    """A latent Gaussian process over as many points as data"""
    with pm.Model() as model:
        x = pm.Data("x", np.linspace(0, 3, n)[:, None])
        y = pm.Data("y", np.sin(np.linspace(0, 3, n)))
        gp = pm.gp.Latent(cov_func=pm.Gamma("scale", 3, 2) ** 2 * pm.gp.cov.Matern52(1, ls=pm.Gamma("ls", 3, 2)))
        f = gp.prior("f", x)
        pm.Normal("z", f, pm.HalfNormal("s", 0.3), observed=y)
    return model


def marginal(n):
    """A Gaussian process whose function is integrated out"""
    with pm.Model() as model:
        x = pm.Data("x", np.linspace(0, 3, n)[:, None])
        y = pm.Data("y", np.sin(np.linspace(0, 3, n)))
        gp = pm.gp.Marginal(cov_func=pm.gp.cov.ExpQuad(1, ls=pm.Gamma("ls", 3, 2)))
        gp.marginal_likelihood("z", x, y, sigma=pm.HalfNormal("s", 0.3))
    return model


def written(n):
    """Observed values that are no pm.Data, and a simplex"""
    with pm.Model() as model:
        p = pm.Dirichlet("p", np.ones(3))
        a = pm.Normal("a", 0, 1, shape=3)
        pm.Normal("y", p @ a, pm.HalfNormal("s", 1), observed=numbers(n).normal(size=n))
        pm.Multinomial("m", 10, p, observed=[3, 3, 4])
    return model


def vectors(n):
    """A covariance by its Cholesky factor, and rows of vectors"""
    with pm.Model() as model:
        chol, _, _ = pm.LKJCholeskyCov("chol", n=2, eta=2, sd_dist=pm.Exponential.dist(1))
        rows = pm.Data("rows", numbers(n).normal(size=(n, 2)))
        pm.MvNormal("y", pm.Normal("mu", 0, 1, shape=2), chol=chol, observed=rows)
    return model


def contrasts(n):
    """Effects that sum to zero, one for each column of the data: the point has one number less"""
    with pm.Model(coords={"choice": range(n)}) as model:
        y = pm.Data("y", numbers(n).normal(size=(2, n)), dims=("row", "choice"))
        pm.Normal("z", pm.ZeroSumNormal("a", 1, dims="choice"), 1, observed=y)
    return model


MODELS = [line, counties, counts, effects, process, marginal, written, vectors]
LENGTHS = 9, 4, 30


def which_of(build):
    return "inputs" if build is written else None


def data_of(model):
    """The data of a model by the names that they have as inputs"""
    shared = {v.name: v.get_value() for v in model.data_vars}
    return shared | {v.name: model.rvs_to_values[v].data for v in ptgc._data.constant_observations(model)}


def given_of(file, model):
    return {name: v for name, v in data_of(model).items() if name in file.inputs}


def densities():
    """Of other data than those that the file was made with: one point, and several in one call"""
    for build in MODELS:
        file = ptgc.compile_density(build(12), data=which_of(build))
        fixed = None not in file.point.values()
        many = ptgc.compile_density(build(12), data=which_of(build), batch="points")
        assert file.outputs == many.outputs == ["logp", "dlogp"]
        for n in (*LENGTHS, 12):
            model = build(n)
            start = model.initial_point()
            rng = numbers(n)
            points = [{k: v + rng.normal(0, 0.3, np.shape(v)) for k, v in start.items()} for _ in range(3)]
            logp, dlogp = model.compile_logp(mode=PYTHON), model.compile_dlogp(mode=PYTHON)
            want = [(logp(p), dlogp(p)) for p in points]
            data = given_of(file, model)
            for p, (value, slopes) in zip(points, want):
                got = file(**p, **data)
                np.testing.assert_allclose(got[0], value, rtol=1e-10, err_msg=f"{build.__name__} {n}")
                np.testing.assert_allclose(got[1], slopes, rtol=1e-8, atol=1e-8, err_msg=f"{build.__name__} {n}")
            got = many(**{k: np.stack([p[k] for p in points]) for k in start}, **data)
            np.testing.assert_allclose(got[0], [w[0] for w in want], rtol=1e-10, err_msg=f"{build.__name__} {n} points")
            np.testing.assert_allclose(got[1], [w[1] for w in want], rtol=1e-8, atol=1e-8, err_msg=build.__name__)
        print(f"  {build.__name__}: {', '.join(file.inputs)}; d is {'fixed' if fixed else 'open'}", flush=True)


def samplers():
    """One file for data of other lengths, beside files of models whose data are constants: the first draw for a seed"""
    for build in MODELS:
        file = ptgc.compile_nuts(build(12), data=which_of(build), **SHORT)
        for n in (*LENGTHS, 12):
            model = build(n)
            alone = ptgc.compile_nuts(model, data="constants", **SHORT)
            got = dict(zip(file.outputs, file(seed=np.array(4), **given_of(file, model))))
            want = dict(zip(alone.outputs, alone(seed=np.array(4))))
            # rounding grows along a trajectory, so it is the first draw that is compared
            far = max(float(np.max(np.abs(got[k][:, :1] - want[k][:, :1]), initial=0)) for k in want if want[k].ndim > 1
                      and want[k].dtype == float)  # fmt: skip
            print(f"  {build.__name__} {n}: {far:.2g}", flush=True)
            assert far < 1e-6, f"{build.__name__} {n}: {far}"


def predicted(n, draw):
    """A model of one variable y, whose parameters depend on x"""
    with pm.Model() as model:
        draw(pm.Data("x", np.linspace(0.5, 2, n)), n)
    return model


# what is drawn, and whether that is one draw for all points
DRAWS = {
    "normal": (lambda x, n: pm.Normal("y", pm.Normal("g", 0, 1) * x, 1, observed=np.ones(n)), True),
    "poisson": (lambda x, n: pm.Poisson("y", pm.Gamma("g", 3, 1) * x, observed=np.ones(n)), True),
    "negative binomial": (
        lambda x, n: pm.NegativeBinomial("y", mu=pm.Gamma("g", 3, 1) * x, alpha=2, observed=np.ones(n)), True),
    "zero inflated": (
        lambda x, n: pm.ZeroInflatedPoisson("y", psi=0.7, mu=pm.Gamma("g", 3, 1) * x, observed=np.ones(n)), True),
    "zero inflated counts": (
        lambda x, n: pm.ZeroInflatedNegativeBinomial(
            "y", pm.Beta("p", 2, 2), mu=pm.Gamma("g", 3, 1) * x, alpha=2, observed=np.ones(n)), True),
    "mixture": (
        lambda x, n: pm.NormalMixture("y", [0.3, 0.7], mu=[0, pm.Normal("g", 3, 1)], sigma=1, observed=np.ones(n)),
        True),
    "mixture of others": (
        lambda x, n: pm.Mixture(
            "y", pt.stack([(p := pm.Beta("p", 2, 2)) / 3, 1 - p / 3]),
            [pm.Normal.dist(pm.Normal("g", 3, 1) * x), pm.StudentT.dist(4, x)], observed=np.ones(n)), True),
    "categories": (
        lambda x, n: pm.Categorical("y", logit_p=pm.Normal("g", 0, 1, shape=3) * x[:, None], observed=np.ones(n, int)),
        True),
    "truncated": (
        lambda x, n: pm.TruncatedNormal("y", pm.Normal("g", 0, 1) * x, 1, lower=-1, observed=np.ones(n)), True),
    "censored": (
        lambda x, n: pm.Censored("y", pm.Normal.dist(pm.Normal("g", 0, 1) * x, 1), -1, 1, observed=np.ones(n)), True),
    "censored mixture": (
        lambda x, n: pm.Censored(
            "y", pm.NormalMixture.dist([0.3, 0.7], mu=[0, pm.Normal("g", 3, 1)], sigma=1, shape=n), -1, 2, observed=np.ones(n)),
        True),
    "ordered": (
        lambda x, n: pm.OrderedLogistic("y", eta=pm.Normal("g", 0, 1) * x, cutpoints=[-1, 0, 1], observed=np.ones(n, int)), True),
    "hurdle": (lambda x, n: pm.HurdleGamma("y", 0.7, pm.Gamma("g", 3, 1) * x, 1, observed=np.ones(n)), True),
    "hurdle of counts": (lambda x, n: pm.HurdlePoisson("y", 0.7, pm.Gamma("g", 3, 1) * x, observed=np.ones(n, int)), False),
    "vectors": (lambda x, n: pm.MvNormal("y", pm.Normal("g", 0, 1) * x, np.eye(n), observed=np.ones(n)), False),
    "counts of kinds": (
        lambda x, n: pm.Multinomial(
            "y", n=9, p=pm.math.softmax(pt.outer(x, pm.Normal("g", 0, 1, shape=3)), axis=1), observed=np.full((n, 3), 3)),
        True),
    "shares": (
        lambda x, n: pm.Dirichlet("y", pt.outer(x, pm.Gamma("g", 3, 1, shape=3)) + 1, observed=np.full((n, 3), 1 / 3)), True),
    "random walk": (
        lambda x, n: pm.GaussianRandomWalk(
            "y", pm.Normal("g", 3, 1), 0.5, init_dist=pm.Normal.dist(0, 1), observed=np.ones(n)), True),
    "random walk of vectors": (
        lambda x, n: pm.MvGaussianRandomWalk(
            "y", mu=pm.Normal("g", 3, 1, shape=2), chol=np.eye(2), init_dist=pm.MvNormal.dist(np.zeros(2), np.eye(2)),
            observed=np.ones((n, 2))), False),
    "matrix": (
        lambda x, n: pm.Normal("y", pm.Normal("g", 3, 1, shape=(2, 3)) @ pt.ones((3, n)), 1, observed=np.ones((2, n))),
        True),
}  # fmt: skip


def predictions():
    """PyMC's draws for the same seed, of all draws of the parameters at once or not, and the generator that is left"""
    models = {name: (predicted(5, draw), once) for name, (draw, once) in DRAWS.items()}
    models |= {build.__name__: (build(7), once) for build, once in ((line, True), (effects, True), (marginal, None))}
    for name, (model, once) in models.items():
        with model:
            prior = pm.sample_prior_predictive(40, random_seed=3, compile_kwargs={"mode": PYTHON}).prior
            want = pm.sample_posterior_predictive(
                prior, progressbar=False, random_seed=1, return_inferencedata=False, compile_kwargs={"mode": PYTHON},
            )  # fmt: skip
        file = ptgc.compile_predictive(model)
        points = {k: prior[k].values.reshape(40, *prior[k].shape[2:]) for k in file.inputs if k in prior}
        generators = [k for k in file.inputs if k.endswith("rng") or "_rng_" in k]
        known = [f"{k}_rng" for k in want] + ["y_rng_2", "y_rng_3", "y_rng_4"]
        assert sorted(generators) == known[: len(generators)], f"{name}: {generators}"
        results = dict(zip(file.outputs, file(**points, **file.generators(1))))
        for k, v in want.items():
            v = v.reshape(results[k].shape)
            np.testing.assert_allclose(results[k], v, rtol=1e-9, atol=1e-9, err_msg=f"{name} {k}")
        assert file.looped == {True: [], None: None}.get(once, list(want)), f"{name}: {file.looped}"


def predictions_by_parts():
    """Many draws are computed by parts: the same numbers, to the bit, and the same generators are left"""
    large = predictive.LARGE
    for name, (draw, _) in DRAWS.items():
        model = predicted(5, draw)
        for file in (ptgc.compile_predictive(model), ptgc.compile_predictive(model, prior=True)):
            given = np.random.default_rng(2).uniform(0.2, 2, (200, 6))
            shapes = {k: (200, *v) for k, v in file.point.items()}
            points = {k: np.resize(given, shape) for k, shape in shapes.items()} or {"draws": 200}
            results = []
            for size in (large, 1):
                predictive.LARGE = size
                results.append(file(**points, **file.generators(1)))
            predictive.LARGE = large
            for k, whole, parts in zip(file.outputs, *results, strict=True):
                if k.endswith("_next"):
                    assert whole.bit_generator.state == parts.bit_generator.state, f"{name}: {k}"
                else:
                    assert whole.shape[0] == 200, f"{name}: {k}"
                    np.testing.assert_array_equal(whole, parts, err_msg=f"{name} {k}")
    try:
        file(**{k: np.ones((200 + i, *v)) for i, (k, v) in enumerate(file.point.items())}, **file.generators(1), draws=[1, 2])
    except (TypeError, ValueError) as e:
        assert "draws" in str(e), e
    else:
        raise AssertionError("draws=[1, 2] is taken")


def files_that_are_read():
    """The classes come back, and compute the same; other data than those of the model; Python's defaults"""
    model = counties(12)
    with tempfile.TemporaryDirectory() as folder:
        made = [
            ptgc.export_density(model, f"{folder}/density.onnx"),
            ptgc.export_nuts(model, f"{folder}/nuts.onnx", draws=3, tune=2, chains=2),
            ptgc.export_predictive(model, f"{folder}/predictive.onnx"),
        ]
        read = [ptgc.load(f"{folder}/{kind}.onnx") for kind in ("density", "nuts", "predictive")]
    data = data_of(counties(5))
    points = {k: np.asarray(v) for k, v in model.initial_point().items()}
    drawn = {k: np.ones(3 if k != "a" else (3, 4)) for k in ("m", "a", "b", "t", "s")}
    calls = [
        lambda f, given: f(**points, **given),
        lambda f, given: f(seed=np.array(1), **given),
        lambda f, given: f(**{k: v for k, v in drawn.items() if k in f.inputs}, **f.generators(1), **given)[:1],
    ]
    for one, other, call in zip(made, read, calls):
        assert type(one) is type(other) and one.inputs == other.inputs and one.outputs == other.outputs
        assert one.point == other.point and one.dims == other.dims and other.coords.keys() == one.coords.keys()
        for given in ({k: v for k, v in d.items() if k in one.inputs} for d in (data, data_of(model))):
            for a, b in zip(call(one, given), call(other, given), strict=True):
                np.testing.assert_array_equal(a, b)
        for a, b in zip(call(one, {}), call(other, given), strict=True):
            np.testing.assert_array_equal(a, b)
    few = read[1].sample(1, data=data).posterior
    assert list(few["a"].coords["county"].values) == list("abcd")


def coordinates_that_are_read():
    """Dates and numbers have the dtype again that they have in PyMC's own groups"""
    import pandas as pd

    day = np.datetime64("2024-01-01")
    for values in (
        day + np.arange(3), pd.date_range("2024", periods=3, freq="MS"), [pd.NaT, pd.Timestamp("2024-02-03 04:05:06.789")],
        day - np.array(["2020-01-01", "NaT"], "datetime64[D]"), pd.to_timedelta([1.5, 2], unit="s"), np.arange(2, dtype="int8"),
        np.float32([0.1, np.nan]), np.array([True, False]), list("ab"), range(2), pd.Index(["x", "y"]), [None, "a"],
        pd.date_range("2024", periods=2, tz="UTC"), pd.period_range("2024", periods=3, freq="M"),
    ):  # fmt: skip
        with pm.Model(coords={"dim": values}) as model:
            pm.Normal("a", dims="dim")
        want = pm.sample_prior_predictive(2, model=model, compile_kwargs={"mode": PYTHON}).prior["dim"].values
        with tempfile.TemporaryDirectory() as folder:
            made = ptgc.export_nuts(model, f"{folder}/nuts.onnx", draws=3, tune=2, chains=1)
            with warnings.catch_warnings(action="ignore"):  # of few draws
                found = [f.sample(seed=1).posterior["dim"].values for f in (made, ptgc.load(f"{folder}/nuts.onnx"))]
        if want.dtype == object:  # JSON has no such values
            assert list(found[1]) == [str(v) for v in values]
            continue
        assert found[0].dtype == found[1].dtype == want.dtype, (found, want)
        for values in found:
            np.testing.assert_array_equal(values, want)


def values_of_data():
    """Data in another dtype than the input's are taken where it holds them, as made and as read; else the input is named"""
    with pm.Model() as model:
        g, x = pm.Data("g", np.array([0, 1, 1], "int32")), pm.Data("x", np.arange(3.0))
        m = pm.Data("m", np.array([True, False, True]))
        pm.Bernoulli("y", logit_p=pm.Normal("a", 0, 1, shape=2)[g] * x + m, observed=pm.Data("k", np.array([1, 0, 1])))
    with tempfile.TemporaryDirectory() as folder:
        made = [
            ptgc.export_density(model, f"{folder}/density.onnx"),
            ptgc.export_predictive(model, f"{folder}/predictive.onnx"),
            ptgc.export_nuts(model, f"{folder}/nuts.onnx", draws=3, tune=2, chains=1),
        ]
        files = [*made, *(ptgc.load(f"{folder}/{name}.onnx") for name in ("density", "predictive", "nuts"))]
        single = ptgc.export_density(model, f"{folder}/single.onnx", float32=True), ptgc.load(f"{folder}/single.onnx")
    usual = {"g": np.array([0, 1], "int32"), "x": np.array([1.0, 2.0]), "m": np.array([True, False]), "k": np.array([1, 0], "int32")}

    def run(f, data):
        data = usual | data
        if isinstance(f, ptgc.Sampler):
            with warnings.catch_warnings(action="ignore"):  # of few draws
                return f.sample(1, data=data).posterior["a"].values
        if isinstance(f, ptgc.Predictor):
            return f(a=np.zeros((5, 2)), **f.generators(1), **data)[0]
        return np.hstack(f(a=np.zeros(2), **data))

    for f in files:
        want = run(f, {})
        for data in (
            {"g": np.array([0, 1], "int8")}, {"g": np.array([0, 1], "uint64")}, {"g": [0, 1]}, {"g": np.array([0.0, 1.0])},
            {"x": np.array([1, 2])}, {"x": np.array([1, 2], "float32")}, {"k": np.array([True, False])}, {"m": np.array([1, 0])},
        ):  # fmt: skip
            np.testing.assert_array_equal(run(f, data), want, err_msg=f"{f} {data}")
        for name, data in (
            ("g", [0, 1 << 40]), ("g", [0.0, np.nan]), ("g", [0.0, 0.5]), ("k", [1.0, np.nan]), ("k", [1, 1 << 31]), ("m", [2, 0]),
            ("x", [1, (1 << 53) + 1]), ("x", [1j, 2]), ("x", ["1", "2"]), ("x", np.zeros(2, "datetime64[D]")), ("x", [[1.0], [2.0]]),
            ("x", np.ma.array([1.0, 2.0], mask=[1, 0])),
        ):  # fmt: skip
            try:
                run(f, {name: np.ma.asarray(data) if np.ma.is_masked(data) else np.asarray(data)})
            except TypeError as e:
                assert f"input '{name}'" in str(e), e
            else:
                raise AssertionError(f"{f}: {name} = {data} is taken")
    for f in single:
        assert run(f, {"x": np.array([0.1, 1])}).dtype == "float32"
        for data in (np.array([1e300, 1]), np.array([(1 << 24) + 1, 1])):
            try:
                run(f, {"x": data})
            except TypeError as e:
                assert "input 'x' is float32, which does not hold" in str(e), e
            else:
                raise AssertionError(f"{data} is taken")


def refits():
    """One sampler for three data sets of other lengths: the posterior that pm.sample has after set_data. The mean is
    within four standard errors, of both"""
    import arviz

    file = ptgc.compile_nuts(line(12), draws=1000, tune=1000, chains=4)
    for n in (8, 40, 150):
        model = line(n)
        with model:
            want = pm.sample(1000, tune=1000, chains=4, cores=1, progressbar=False, random_seed=n).posterior
        got = file.sample(n, data=data_of(model)).posterior
        for name in ("a", "b", "s"):
            errors = [float(v[name].std()) / np.sqrt(float(arviz.ess(v[name].values))) for v in (got, want)]
            z = float(got[name].mean() - want[name].mean()) / np.hypot(*errors)
            print(f"  {n} rows, {name}: z = {z:.2f}", flush=True)
            assert abs(z) < 4
            assert abs(float(got[name].std() / want[name].std()) - 1) < 0.15


def many_points_of_a_spatial_model():
    """PyMC's CAR sums one number along axis 0"""
    ring = np.roll(np.eye(5), 1, 0) + np.roll(np.eye(5), -1, 0)
    with pm.Model() as model:
        phi = pm.CAR("phi", np.zeros(5), W=ring, alpha=pm.Beta("alpha", 1, 1), tau=pm.Gamma("tau", 2, 2))
        pm.Poisson("y", pm.math.exp(pm.Normal("b", 0, 1) + phi), observed=[1, 2, 3, 1, 0])
    start = model.initial_point()
    points = [{k: v + numbers(n).normal(0, 0.3, np.shape(v)) for k, v in start.items()} for n in range(3)]
    logp, dlogp = ptgc.compile_density(model, batch="points")(**{k: np.stack([p[k] for p in points]) for k in start})
    np.testing.assert_allclose(logp, [model.compile_logp(mode=PYTHON)(p) for p in points], rtol=1e-10)
    np.testing.assert_allclose(dlogp, [model.compile_dlogp(mode=PYTHON)(p) for p in points], rtol=1e-8)


def many_points_of_a_table():
    """PyMC's Interpolated has a spline of SciPy's"""
    x = np.linspace(-2, 2, 9)
    with pm.Model() as model:
        a = pm.Interpolated("a", x, np.exp(-x * x), shape=2)
        b = pm.Interpolated("b", x, np.exp(-x))
        pm.Normal("y", a.sum() + b, 1, observed=1.0)
    start = model.initial_point()
    points = [{k: v + numbers(n).normal(0, 0.3, np.shape(v)) for k, v in start.items()} for n in range(3)]
    logp, dlogp = ptgc.compile_density(model, batch="points")(**{k: np.stack([p[k] for p in points]) for k in start})
    np.testing.assert_allclose(logp, [model.compile_logp(mode=PYTHON)(p) for p in points], rtol=1e-10)
    np.testing.assert_allclose(dlogp, [model.compile_dlogp(mode=PYTHON)(p) for p in points], rtol=1e-8)
    assert ptgc.compile_nuts(model, draws=5, tune=5, chains=2).sample(1).posterior["a"].shape == (2, 5, 2)


def many_points_of_named_dims():
    """Effects that sum to zero: the gradient of PyMC's transform splits off a part of length 1"""
    import pymc.dims as pmd

    with pm.Model(coords={"a": ["x", "y"], "b": [1, 2, 3]}) as model:
        d = pmd.Data("d", np.ones((2, 3)), dims=("a", "b"))
        z = pmd.ZeroSumNormal("z", 1, core_dims="b", dims=("a", "b"))
        mu = pmd.Normal("mu", 0, 1, dims="a") * pmd.HalfNormal("s", 1, dims="b") * d + z
        pmd.Normal("y", mu, 1, observed=pmd.as_xtensor(np.arange(6.0).reshape(2, 3), dims=("a", "b")))
    start = model.initial_point()
    points = [{k: v + numbers(n).normal(0, 0.3, np.shape(v)) for k, v in start.items()} for n in range(3)]
    logp, dlogp = ptgc.compile_density(model, batch="points")(**{k: np.stack([p[k] for p in points]) for k in start})
    np.testing.assert_allclose(logp, [model.compile_logp(mode=PYTHON)(p) for p in points], rtol=1e-10)
    np.testing.assert_allclose(dlogp, [model.compile_dlogp(mode=PYTHON)(p) for p in points], rtol=1e-8)
    sampler = ptgc.compile_nuts(model, draws=5, tune=5, chains=2, predict=["y"])
    with warnings.catch_warnings(action="ignore"):
        found = sampler.sample(1)
    assert found.posterior["z"].shape == found.predictions["y"].shape == (2, 5, 2, 3)


def predictions_of_named_dims():
    """The numbers of PyMC, and the model is left as it was"""
    import pymc.dims as pmd

    with pm.Model(coords={"a": ["x", "y"], "b": [1, 2, 3]}) as model:
        d = pmd.Data("d", np.arange(6.0).reshape(2, 3), dims=("a", "b"))
        mu, s = pmd.Normal("mu", 0, 1, dims="a"), pmd.HalfNormal("s", 1, dims="b")
        q = pmd.Deterministic("q", mu * s)
        pmd.Normal("y", q * d, 1, observed=pmd.as_xtensor(np.ones((2, 3)), dims=("a", "b")), dims=("a", "b"))
    for _ in range(2):
        prior = ptgc.compile_predictive(model, prior=True)
        got = dict(zip(prior.outputs, prior(draws=np.array(5), **prior.generators(3))))
        with model:
            want = pm.sample_prior_predictive(5, random_seed=3, compile_kwargs={"mode": PYTHON})
        for name in ("mu", "s", "q", "y"):
            group = "prior_predictive" if name == "y" else "prior"
            np.testing.assert_allclose(got[name], want[group][name].values[0], rtol=1e-12)
        posterior = ptgc.compile_predictive(model)
        y, _ = posterior(mu=got["mu"], s=got["s"], **posterior.generators(4))
        with model:
            found = pm.sample_posterior_predictive(
                want.prior.to_dataset(), random_seed=4, progressbar=False, compile_kwargs={"mode": PYTHON}
            )
        np.testing.assert_allclose(y, found.posterior_predictive["y"].values[0], rtol=1e-12)


def a_parameter_that_is_predicted():
    """As a gp.conditional, which the posterior does not have: it is drawn if it is observed, as PyMC draws it"""
    with pm.Model() as model:
        a = pm.Normal("a", shape=3)
        pm.Normal("y", a, 1, observed=[1.0, 2, 3])
        new = pm.Normal("new", a.sum(), 1, shape=2)
        pm.Poisson("count", pt.exp(new / 9))
        draws = pm.sample_prior_predictive(7, random_seed=3, var_names=["a"], compile_kwargs={"mode": PYTHON}).prior
        found = pm.sample_posterior_predictive(
            draws.to_dataset(), var_names=["new", "y"], random_seed=4, progressbar=False, compile_kwargs={"mode": PYTHON}
        ).posterior_predictive
    file = ptgc.compile_predictive(pm.observe(model, {"new": np.zeros(2)}), var_names=["new", "y"])
    got = dict(zip(file.outputs, file(a=draws["a"].values[0], **file.generators(4))))
    for name in ("new", "y"):
        np.testing.assert_allclose(got[name], found[name].values[0], rtol=1e-12)


def a_variable_of_another_op():
    """pymc-extras sums a variable out of those that depend on it, which are then one op; it says of no axis that it is one
    of a batch. Their data are inputs too, of the lengths that PyMC takes"""
    from pymc.logprob.abstract import MeasurableOp, _logprob
    from pytensor.compile.builders import OpFromGraph

    class SummedOut(MeasurableOp, OpFromGraph):
        pass

    @_logprob.register(SummedOut)
    def logprob(op, values, mu, *others, **_):
        return pm.logp(pm.NormalMixture.dist([0.25, 0.75], mu=pt.stack([mu, -mu], -1), sigma=1), values[0])

    def model(of_data):
        with pm.Model() as found:
            y = pm.Data("seen", [1.0, 2, 3]) if of_data else [1.0, 2, 3]
            mu = pm.Normal("mu") + pt.zeros(3)
            draw = pm.Normal.dist(mu)
            rng = draw.owner.inputs[0]
            found.register_rv(SummedOut([mu, rng], [draw])(mu, rng), "y", observed=y)
        return found

    for of_data, data in ((False, "inputs"), (True, None)):
        m = model(of_data)
        file = ptgc.compile_density(m, data=data)
        assert len(file.inputs) == 2
        np.testing.assert_allclose(file(mu=0.3)[0], m.compile_logp(mode=PYTHON)({"mu": 0.3}), rtol=1e-12)
        assert "length" in refusal(ValueError, lambda: file(0.3, np.ones(4)))


def densities_in_c():
    """The function of the C that is written for a density, at other data than those of the model; and the library"""
    for build in (line, counties, effects, written, contrasts):
        with tempfile.TemporaryDirectory() as folder:
            file = ptgc.export_density(build(12), f"{folder}/density.c", data=which_of(build))
            assert "int density_run(const struct density_in" in open(f"{folder}/density.h").read()
            ptgc.export_density(build(12), f"{folder}/density.so", data=which_of(build))
            library = ptgc.load(f"{folder}/density.so")
        onnx = ptgc.compile_density(build(12), data=which_of(build))
        about = library.metadata["pymc"]
        assert about["point"] == onnx.point and about["data"] == onnx.data_names and about["kind"] == "density"
        native = ptgc.compile_native(*file.graph)
        for n in (1, *LENGTHS):
            model = build(n)
            point = {k: v + 0.1 for k, v in model.initial_point().items()}
            given = point | {k: v for k, v in data_of(model).items() if k in file.inputs}
            logp, dlogp = native(*[np.asarray(given[k], v.type.dtype) for k, v in zip(file.inputs, file.graph[0])])
            np.testing.assert_allclose(logp, model.compile_logp(mode=PYTHON)(point), rtol=1e-10)
            np.testing.assert_allclose(dlogp, model.compile_dlogp(mode=PYTHON)(point), rtol=1e-8, atol=1e-8)
            again = library(*[np.asarray(given[k], v.type.dtype) for k, v in zip(file.inputs, file.graph[0])])
            np.testing.assert_allclose(again[0], logp, rtol=1e-14)
            np.testing.assert_allclose(again[1], dlogp, rtol=1e-12, atol=1e-12)


def rows_of_two_states():
    """Rows of probabilities of two states, as a hidden Markov chain has them: many points of them as C, beside one by one"""
    with pm.Model() as model:
        rows = pt.log(pt.stack([pm.Dirichlet("first", np.ones(2)), pm.Dirichlet("second", np.ones(2))]))
        seen = pm.logp(pm.Normal.dist(pm.Normal("mu", 0, 1, shape=2), 1), np.arange(5.0)[:, None])
        alpha = seen[0]
        for k in range(1, 5):
            alpha = pt.logsumexp(alpha[:, None] + rows, axis=0) + seen[k]
        pm.Potential("y", pt.logsumexp(alpha))
    with tempfile.TemporaryDirectory() as folder:
        ptgc.export_nuts(model, f"{folder}/sampler.c", draws=5, tune=5, chains=2)
        many = ptgc.export_density(model, f"{folder}/density.c", batch="chains")
        one = ptgc.compile_density(model)
        native = ptgc.compile_native(*many.graph)
    rand = np.random.default_rng(1)
    points = [rand.normal(size=(3, *v.type.shape[1:])) for v in many.graph[0]]
    logp, dlogp = native(*points)
    for k in range(3):
        want = one(*[p[k] for p in points])
        np.testing.assert_allclose(logp[k], want[0], rtol=1e-12)
        np.testing.assert_allclose(dlogp[k], want[1], rtol=1e-10, atol=1e-12)


def doubts_about_draws():
    """A funnel's draws come with warnings, a line's without; few draws with one that says so"""
    with pm.Model() as funnel:
        pm.Normal("x", 0, pm.math.exp(pm.Normal("v", 0, 3) / 2), shape=9)
    for model, draws, words in (
        (line(40), 2000, []), (funnel, 300, ["diverged", "R-hat", "effective sample size"]), (line(40), 20, ["too few draws"]),
    ):  # fmt: skip
        sampler = ptgc.compile_nuts(model, draws=draws, tune=500, chains=4)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always", UserWarning)
            sampler.sample(1)
        texts = [str(w.message) for w in seen if w.category is UserWarning and w.filename == __file__]
        assert len(texts) == len(words) and all(word in text for word, text in zip(words, texts)), texts


def data_that_are_set_later():
    """Data that a call leaves out are those that the model has then, with its coordinates, as in a function of PyMC's"""
    model = line(12)
    made = ptgc.compile_density(model), ptgc.compile_nuts(model, predict=["z"], **SHORT), ptgc.compile_predictive(model)
    kept = pickle.loads(pickle.dumps(made[0]))
    point, drawn = model.initial_point(), {k: np.ones(3) for k in "abs"}
    before, data = kept(**point)[0], data_of(model)
    for n, rows in ((5, list("abcde")), (12, [*range(50, 62)])):
        with model:
            pm.set_data({k: v[:n] + 1 for k, v in data.items()}, coords={"row": rows})
        np.testing.assert_allclose(made[0](**point)[0], model.compile_logp(mode=PYTHON)(point), rtol=1e-12)
        draws = made[1].drawn(1, None, None, None, False, None, False)
        for group, name in ((draws.posterior, "mu"), (draws.constant_data, "x"), (draws.observed_data, "z"), (draws.predictions, "z")):
            assert group[name].sizes["row"] == n and list(group["row"].values) == rows
        np.testing.assert_array_equal(draws.constant_data["x"], model["x"].get_value())
        predictor = made[2]
        given = {k: v for k, v in drawn.items() if k in predictor.inputs}
        assert predictor(**given, **predictor.generators(1))[0].shape == (3, n)
        np.testing.assert_array_equal(kept(**point)[0], before)


def dims_of_any_name():
    """Names of dims that are no names of sizes: the sizes have names like them, and the file keeps those of the dims"""
    dims = ["obs id", "obs-id", "obs_id", "1st", "n.obs", "Größe", "float64"]
    with pm.Model(coords={dim: range(2 + k) for k, dim in enumerate(dims)}) as model:
        for dim in dims:
            x = pm.Data(f"x {dim}", np.arange(2.0 + dims.index(dim)), dims=dim)
            pm.Normal(f"y {dim}", pm.Normal(f"a {dim}", dims=dim) * x, 1, observed=np.ones_like(x.get_value()), dims=dim)
    point = model.initial_point()
    with tempfile.TemporaryDirectory() as folder:
        for name in ("onnx", "so", "ptg"):
            if name == "ptg":
                ptgc.save_ptg(f"{folder}/f.ptg", model)
            else:
                ptgc.export_density(model, f"{folder}/f.{name}", gradient=False)
            f = ptgc.load(f"{folder}/f.{name}")
            given = point | {k: v for k, v in data_of(model).items() if k in f.inputs}
            logp = np.ravel(f(*(given[k] for k in f.inputs)))
            np.testing.assert_allclose(logp, model.compile_logp(mode=PYTHON)(point), rtol=1e-12)
    draws = ptgc.compile_nuts(model, draws=3, tune=2, chains=2, predict=["y 1st"]).drawn(1, None, None, None, False, None, False)
    assert draws.posterior["a obs id"].dims[2:] == ("obs id",) and draws.predictions["y 1st"].dims[2:] == ("1st",)
    assert list(draws.posterior["n.obs"]) == list(range(6))
    assert "x obs id" in ptgc.compile_predictive(model, var_names=["y obs id"]).inputs
    with pm.Model(coords={"draws": range(2), "draws_new": range(3)}) as model:
        pm.Normal("y", pm.Data("x", np.ones((2, 3)), dims=("draws", "draws_new")) + pm.Normal("a"), observed=np.ones((2, 3)))
    predictor = ptgc.compile_predictive(model)
    assert predictor(a=np.zeros(5), **predictor.generators(1))[0].shape == (5, 2, 3)


def missing_values():
    """Partly missing data stay constants, with one warning; a list that names them is refused"""
    with pm.Model() as model:
        pm.Normal("y", pm.Normal("m", 0, 1), 1, observed=np.array([0.5, np.nan, 1.0]))
        pm.Normal("z", 0, 1, observed=np.ones(4))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", UserWarning)
        file = ptgc.compile_density(model, data="inputs")
    assert file.inputs == ["m", "y_unobserved", "z"]
    assert ["y_observed" in str(w.message) for w in seen if w.category is UserWarning].count(True) == 1
    try:
        ptgc.compile_density(model, data=["y_observed"])
    except ValueError as e:
        assert "missing" in str(e)
    else:
        raise AssertionError("data=['y_observed'] is taken")


class OwnSamplerRV(RandomVariable):
    name, signature, dtype = "own_sampler", "() -> ()", "floatX"
    _print_name = ("OwnSampler", "OwnSampler")

    @classmethod
    def rng_fn(cls, rng, mean, size=None):
        return rng.normal(mean, size=size)


class OwnSampler(pm.Continuous):
    """As BART: PyMC's density of it is 0, and a step method draws it"""

    rv_op = OwnSamplerRV()

    @classmethod
    def dist(cls, mean, **named):
        return super().dist([mean], **named)

    def logp(value, mean):
        return pt.zeros_like(value)

    def support_point(rv, size, mean):
        return pt.zeros_like(rv)


class OwnStep(Metropolis):
    @staticmethod
    def competence(var, has_grad):
        own = var.owner is not None and isinstance(var.owner.op, OwnSamplerRV)
        return Competence.IDEAL if own else Competence.INCOMPATIBLE


def a_step_method_of_its_own():
    """A variable that pm.sample draws by another method than NUTS is refused by name wherever it would be drawn or read"""
    with pm.Model() as model:
        mu = OwnSampler("mu", 1.0, shape=3)
        pm.Normal("y", mu, pm.HalfNormal("s", 1), observed=np.ones(3))
        pm.Deterministic("twice", 2 * model["s"])
    STEP_METHODS.append(OwnStep)
    try:
        calls = {
            "sample": lambda: ptgc.sample(model, 2, 2), "compile_nuts": lambda: ptgc.compile_nuts(model, predict=["y"]),
            "export_nuts": lambda: ptgc.export_nuts(model, "no.so"), "nuts_graph": lambda: ptgc.nuts_graph(model),
            "compile_predictive": lambda: ptgc.compile_predictive(model),
        }  # fmt: skip
        for name, call in calls.items():
            words = ["the variable mu (OwnSamplerRV)", "OwnStep", "pm.sample"]
            assert all(word in (text := refusal(ValueError, call)) for word in words), (name, text)
        assert ptgc.compile_predictive(model, var_names=["twice"]).inputs == ["s"]
        np.testing.assert_allclose(ptgc.compile_density(model)(mu=np.ones(3), s_log__=0.5)[0], model.compile_logp()({"mu": np.ones(3), "s_log__": 0.5}))
    finally:
        STEP_METHODS.remove(OwnStep)


def frozen_models():
    """PyMC's freeze_dims_and_data makes constants of pm.Data and of lengths: those are no inputs, what is observed may be"""
    from pymc.model.transform.optimization import freeze_dims_and_data

    with pm.Model(coords={"row": range(3)}) as model:
        x, seen = pm.Data("x", [1.0, 2, 3], dims="row"), pm.Data("seen", [1.0, 2, 4], dims="row")
        pm.Normal("y", pm.Normal("a") * x, pm.HalfNormal("b", dims="row"), observed=seen, dims="row")
    frozen, at = freeze_dims_and_data(model), model.initial_point()
    for data, inputs in ((None, []), ("inputs", ["y"]), ("constants", [])):
        density = ptgc.compile_density(frozen, data=data)
        assert density.inputs == [*(v.name for v in frozen.value_vars), *inputs], density
        np.testing.assert_allclose(density(**at)[1], frozen.compile_dlogp(mode=PYTHON)(at), rtol=1e-10)
    found = ptgc.compile_nuts(frozen, draws=3, tune=3, chains=2).sample(1)
    np.testing.assert_array_equal(found.constant_data["x"].values, [1, 2, 3])
    np.testing.assert_array_equal(found.observed_data["y"].values, [1, 2, 4])
    assert found.constant_data["x"].dims == ("row",) and list(found.posterior["row"].values) == [0, 1, 2]
    prior = ptgc.compile_predictive(frozen, prior=True)
    assert prior.inputs[0] == "draws" and "x" not in prior.inputs
    assert "x: " not in ptgc.to_ptg(frozen)
    assert "no data 'x'" in refusal(ValueError, lambda: ptgc.compile_density(frozen, data=["x"]))


def rows_that_stand_for_more():
    """total_size=: data of other lengths, and predictions"""
    def build(n):
        x = numbers(n).normal(size=n)
        with pm.Model() as model:
            a = pm.Normal("a", 0, 1)
            pm.Normal("y", a, 1, observed=x, total_size=200)
            pm.MvNormal("z", pt.stack([a, 2 * a]), np.eye(2), observed=np.stack([x, -x], 1), total_size=[100, ...])
        return model

    files = ptgc.compile_density(build(6), data="inputs"), ptgc.compile_nuts(build(6), data="inputs", draws=4, tune=4, chains=1)
    for n in LENGTHS:
        model, x = build(n), numbers(n).normal(size=n)
        data, at = {"y": x, "z": np.stack([x, -x], 1)}, {"a": np.array(0.3)}
        logp, dlogp = files[0](**at, **data)
        np.testing.assert_allclose(logp, model.compile_logp(mode=PYTHON)(at), rtol=1e-10)
        np.testing.assert_allclose(dlogp, model.compile_dlogp(mode=PYTHON)(at), rtol=1e-8)
        found = files[1].sample(1, data=data)
        at = {"a": found.posterior["a"].values[0, 0]}
        np.testing.assert_allclose(found.sample_stats["lp"].values[0, 0], model.compile_logp(mode=PYTHON)(at), rtol=1e-9)
    model = build(6)
    prior = ptgc.compile_predictive(model, prior=True)
    got = dict(zip(prior.outputs, prior(draws=np.array(5), **prior.generators(3))))
    with model:
        want = pm.sample_prior_predictive(5, random_seed=3, compile_kwargs={"mode": PYTHON})
    for name, group in (("a", "prior"), ("y", "prior_predictive"), ("z", "prior_predictive")):
        np.testing.assert_allclose(got[name], want[group][name].values[0], rtol=1e-12)


def models_that_are_refused():
    """By messages that say what helps"""
    def simulate(rng, a, size=None):
        return rng.normal(a, 1, size=size)

    with pm.Model() as potential:
        pm.Potential("p", -pm.Deterministic("twice", 2 * pm.Normal("a")) ** 2)
    with pm.Model() as discrete:
        pm.Normal("y", pm.Bernoulli("z", 0.5), 1, observed=1.0)
    with pm.Model() as simulator:
        pm.Simulator("y", simulate, pm.Normal("a"), observed=np.ones(3))
    with pm.Model() as minibatch:
        pm.Normal("y", pm.Normal("a"), 1, observed=pm.Minibatch(np.arange(9.0), batch_size=3), total_size=9)
    with pm.Model() as empty:
        pm.Normal("y", 0, 1, observed=[1.0, 2])
    for words, call in (
        (["nothing is observed", "twice"], lambda: ptgc.compile_predictive(potential)),
        (["z is discrete", "pm.Mixture"], lambda: ptgc.sample(discrete)),
        (["y is a pm.Simulator", "pm.sample_smc"], lambda: ptgc.sample(simulator)),
        (["y is a pm.Simulator"], lambda: ptgc.compile_density(simulator)),
        (["var_names: a is a parameter", "pm.observe(model, {'a': any values})"], lambda: ptgc.compile_predictive(line(5), var_names=["z", "a"])),
        (["pm.Minibatch", "pm.Data"], lambda: ptgc.compile_density(minibatch)),
        (["pm.Minibatch"], lambda: ptgc.compile_nuts(minibatch)), (["pm.Minibatch"], lambda: ptgc.compile_density(minibatch, batch="k")),
        (["no free variable"], lambda: ptgc.sample(empty)), (["no free variable"], lambda: ptgc.compile_density(empty)),
    ):  # fmt: skip
        assert all(word in (text := refusal(ValueError, call)) for word in words), text
    predictor = ptgc.compile_predictive(line(5))
    draws = {name: np.ones((2, 3)) for name in predictor.point}
    for words, given in (
        (["rank 2, expected 1", "np.concatenate(posterior['a'].values)"], {**draws, **predictor.generators(1)}),
        (["missing input 'z_rng'", "predictor.generators(seed)"], {name: v[0] for name, v in draws.items()}),
    ):
        assert all(word in (text := refusal(TypeError, lambda: predictor(**given))) for word in words), text


def refusal(kind, call):
    """The message of the error that the call must raise."""
    try:
        call()
    except kind as e:
        return str(e)
    raise AssertionError(f"no {kind.__name__}")


TESTS = [
    a_step_method_of_its_own, models_that_are_refused, densities, samplers, predictions, predictions_by_parts, a_variable_of_another_op,
    a_parameter_that_is_predicted,
    files_that_are_read, coordinates_that_are_read, values_of_data, refits, densities_in_c, many_points_of_a_spatial_model,
    many_points_of_named_dims, predictions_of_named_dims, many_points_of_a_table, rows_that_stand_for_more, rows_of_two_states, frozen_models,
    doubts_about_draws, missing_values, dims_of_any_name, data_that_are_set_later,
]  # fmt: skip

if __name__ == "__main__":
    sys.exit(run_tests(TESTS, sys.argv[1:]))
