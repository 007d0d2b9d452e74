"""What PyMC's users do with a model, in mode ONNX: each function is one line of doc/pymc-distributions.md, and a test.

`usage.py RESULTS [NAME ...]` runs them and writes which ones work to the file RESULTS.
"""

import itertools
import logging
import pickle
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

import numpy as np  # noqa: E402
import pymc as pm  # noqa: E402
import pytensor  # noqa: E402
import pytensor.tensor as pt  # noqa: E402
from pytensor.compile.mode import Mode  # noqa: E402

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "pymc"))
import cases  # noqa: E402
import make  # noqa: E402
import ptgc  # noqa: E402

ONNX = {"mode": "ONNX"}
PYTHON = Mode("py", "fast_run").excluding("fusion", "inplace")
X = np.linspace(-1, 1, 20)
Y = 0.5 + 2 * X + 0.3 * np.random.default_rng(1).normal(size=20)
QUIET = dict(progressbar=False, random_seed=1)
TOLERANCE = dict(rtol=1e-9, atol=1e-10)


def line():
    """A straight line through noise, with data that can be set."""
    with pm.Model() as model:
        x, y = pm.Data("x", X), pm.Data("y", Y)
        a, b, s = pm.Normal("a", 0, 5), pm.Normal("b", 0, 5), pm.HalfNormal("s", 1)
        mu = pm.Deterministic("mu", a + b * x)
        pm.Normal("z", mu, s, observed=y, shape=x.shape)
    return model


def near_the_line(idata):
    mean = idata.posterior.mean()
    assert abs(float(mean["b"]) - 2) < 0.3, mean["b"]


def same(f, g, *args):
    for a, b in zip(np.atleast_1d(f(*args)), np.atleast_1d(g(*args)), strict=True):
        np.testing.assert_allclose(a, b, **TOLERANCE)


def draws():
    """A posterior to work with, drawn without ONNX."""
    with line() as model:
        return model, pm.sample(30, tune=60, chains=2, cores=1, **QUIET)


def sample_on_one_core():
    """`pm.sample(cores=1, compile_kwargs={"mode": "ONNX"})`"""
    with line():
        near_the_line(pm.sample(100, tune=200, chains=2, cores=1, compile_kwargs=ONNX, **QUIET))


def sample_on_four_cores():
    """`pm.sample(cores=4, chains=4, compile_kwargs={"mode": "ONNX"})`"""
    with line():
        near_the_line(pm.sample(100, tune=200, chains=4, cores=4, compile_kwargs=ONNX, **QUIET))


def sample_with_spawn():
    """`pm.sample(cores=2, mp_ctx="spawn", ...)`: the compiled function is pickled with its model"""
    with line():
        near_the_line(pm.sample(100, tune=200, chains=2, cores=2, mp_ctx="spawn", compile_kwargs=ONNX, **QUIET))


def find_map():
    """`pm.find_MAP`, with BFGS and its gradient"""
    with line():
        got = pm.find_MAP(compile_kwargs=ONNX, progressbar=False)
        want = pm.find_MAP(progressbar=False)
    for name in want:
        np.testing.assert_allclose(got[name], want[name], rtol=1e-5, atol=1e-6)


def compiled_logp():
    """`model.compile_logp`, `compile_dlogp`, `compile_d2logp`"""
    model = line()
    for compiled in (model.compile_logp, model.compile_dlogp, model.compile_d2logp):
        same(compiled(mode="ONNX"), compiled(mode=PYTHON), model.initial_point())


def log_likelihood():
    """`pm.compute_log_likelihood` of all draws"""
    model, idata = draws()
    with model:
        got = pm.compute_log_likelihood(idata, extend_inferencedata=False, progressbar=False, compile_kwargs=ONNX)
        want = pm.compute_log_likelihood(idata, extend_inferencedata=False, progressbar=False)
    np.testing.assert_allclose(got["z"], want["z"], **TOLERANCE)


def deterministics():
    """`pm.compute_deterministics` of all draws"""
    model, idata = draws()
    with model:
        got = pm.compute_deterministics(idata.posterior, progressbar=False, compile_kwargs=ONNX)
    np.testing.assert_allclose(got["mu"], idata.posterior["mu"], **TOLERANCE)


def deterministics_in_one_call():
    """A deterministic over all draws in one call: `vectorize_graph`, then `pytensor.function(mode="ONNX")`"""
    model, idata = draws()
    (mu,) = model.replace_rvs_by_values([model["mu"]])
    free = [model.rvs_to_values[model[n]] for n in ("a", "b")]
    many = {v: pt.TensorType(v.dtype, (None, None))(v.name) for v in free}
    f = pytensor.function(list(many.values()), pytensor.graph.vectorize_graph(mu, many), mode="ONNX")
    post = idata.posterior
    np.testing.assert_allclose(f(post["a"].values, post["b"].values), post["mu"], **TOLERANCE)


def data_of_other_sizes():
    """`pm.set_data` with more rows: the compiled function takes them, nothing is compiled again"""
    model = line()
    got, want = model.compile_logp(mode="ONNX"), model.compile_logp(mode=PYTHON)
    for n in (20, 7, 1, 50):
        with model:
            pm.set_data({"x": np.linspace(0, 1, n), "y": np.linspace(1, 2, n)})
        same(got, want, model.initial_point())


def smc():
    """`pm.sample_smc`"""
    with line():
        idata = pm.sample_smc(200, chains=2, cores=1, compile_kwargs=ONNX, **QUIET)
    near_the_line(idata)


def metropolis_and_slice():
    """`pm.Metropolis` and `pm.Slice` as steps of `pm.sample`"""
    for kind in (pm.Metropolis, pm.Slice):
        with line():
            step = kind(compile_kwargs=ONNX)
            near_the_line(pm.sample(300, tune=300, step=step, chains=1, cores=1, **QUIET))


def discrete_and_continuous():
    """`pm.sample` of a model with counts: NUTS and Metropolis in turn"""
    with pm.Model():
        k = pm.Poisson("k", 4)
        pm.Normal("y", k + pm.Normal("a", 0, 1), 1, observed=[4.5, 5.0])
        pm.sample(50, tune=50, chains=1, cores=1, compile_kwargs=ONNX, **QUIET)


def model_logp(build):
    with pm.Model() as model:
        build()
    point = model.initial_point()
    point = {k: v + 0.1 * np.random.default_rng(2).normal(size=np.shape(v)) for k, v in point.items()}
    for compiled in (model.compile_logp, model.compile_dlogp):
        same(compiled(mode="ONNX"), compiled(mode=PYTHON), point)


def potential():
    """`pm.Potential`"""

    def build():
        a = pm.Normal("a", 0, 1, shape=3)
        pm.Potential("sum", -100 * pt.sqr(a.sum() - 1))

    model_logp(build)


def scan_of_an_ode():
    """An ordinary differential equation, its steps of Runge and Kutta in a `pytensor.scan`"""

    def build():
        k, m = pm.HalfNormal("k", 1), pm.HalfNormal("m", 1)

        def slope(y, k, m):
            return pt.stack([k * y[0] - 0.5 * y[0] * y[1], m * y[0] * y[1] - y[1]])

        def step(y, *p):
            a = slope(y, *p)
            b = slope(y + 0.05 * a, *p)
            c = slope(y + 0.05 * b, *p)
            d = slope(y + 0.1 * c, *p)
            return y + (a + 2 * b + 2 * c + d) * (0.1 / 6)

        first = pt.as_tensor([1.0, 0.5])
        ys = pytensor.scan(step, outputs_info=[first], non_sequences=[k, m], n_steps=20, return_updates=False)
        pm.LogNormal("y", pt.log(ys), 0.1, observed=np.ones((20, 2)))

    model_logp(build)


def imputation():
    """Missing values in `observed=`, which are drawn as well"""
    model_logp(lambda: pm.Normal("y", pm.Normal("mu", 0, 1), 1, observed=np.array([0.5, np.nan, 1.0])))


def do_and_observe():
    """`pm.do` and `pm.observe`"""
    with pm.Model() as model:
        a = pm.Normal("a", 0, 1)
        b = pm.Normal("b", a, pm.HalfNormal("s", 1))
        pm.Normal("c", a * b, 1)
    for changed in (pm.do(model, {"a": 2.0}), pm.observe(model, {"c": 1.5}), pm.observe(pm.do(model, {"b": 1.0}), {"c": 2.0})):
        for name in ("compile_logp", "compile_dlogp"):
            make = getattr(changed, name)
            same(make(mode="ONNX"), make(mode=PYTHON), changed.initial_point())


def transforms():
    """Transforms: zero sum, simplex, ordered, intervals, Cholesky factors of covariances"""

    def build():
        pm.ZeroSumNormal("zero", 1, shape=4)
        pm.Dirichlet("simplex", np.ones(3))
        pm.Normal("ordered", 0, 1, shape=3, transform=pm.distributions.transforms.ordered, initval=[-1, 0, 1])
        pm.Uniform("interval", -1, 2)
        pm.LKJCholeskyCov("chol", n=3, eta=2, sd_dist=pm.Exponential.dist(1))

    model_logp(build)


def same_draws(draw):
    """Are the draws of both modes equal, from the same seeds?"""
    got, want = draw("ONNX"), draw(PYTHON)
    assert set(got) == set(want)
    for name in want:
        np.testing.assert_allclose(got[name], want[name], err_msg=name, **TOLERANCE)
    return want


def draws_of_distributions():
    """`pm.draw(x, mode="ONNX")` of the distributions above: PyMC's draws for the same seed"""
    equal, refused, absent = 0, {}, []
    for case in [*cases.SCALAR, *cases.VECTOR]:
        x = case.build(**{k: v if isinstance(v, int) else np.asarray(v) for k, v in case.params[0].items()})
        try:
            want = pm.draw(x, draws=3, random_seed=5, mode=PYTHON)
        except (NotImplementedError, RuntimeError):  # as of Flat; PolyaGamma needs a package
            absent.append(case.name)
            continue
        try:
            got = pm.draw(x, draws=3, random_seed=5, mode="ONNX")
        except ptgc.UnsupportedError as e:
            refused[case.name] = e.problems[0].reason
            continue
        np.testing.assert_allclose(got, want, err_msg=case.name, **TOLERANCE)
        equal += 1
    assert set(refused) <= {"PolyaGamma"}, refused
    why = "".join(f"; {name} is refused: {reason}" for name, reason in refused.items())
    return f"{equal} are equal{why}; PyMC by itself does not draw {', '.join(absent)}"


def spatial_draws():
    """`pm.draw` of `pm.CAR`: sites in any order, in parts without links, and batches"""
    rng = np.random.default_rng(3)
    at = rng.permutation(20)
    rows, columns = at // 5, at % 5
    grid = np.abs(rows[:, None] - rows) + np.abs(columns[:, None] - columns) == 1
    for links in (grid, np.kron(np.eye(2), cases.LINKS), np.eye(2)[::-1]):
        n = len(links)
        for mu, alpha in ((np.zeros(n), 0.95), (rng.normal(size=n), 0.5), (rng.normal(size=(3, n)), -0.3)):
            x = pm.CAR.dist(mu, links.astype(int), alpha, 1.25)
            got, want = (pm.draw(x, draws=2, random_seed=5, mode=mode) for mode in ("ONNX", PYTHON))
            np.testing.assert_allclose(got, want, **TOLERANCE)
    for alpha, tau in ((1.0, 1.0), (0.5, -1.0)):
        x = pm.CAR.dist(np.zeros(4), cases.LINKS, alpha, tau)
        for mode in ("ONNX", PYTHON):
            try:
                pm.draw(x, mode=mode)
            except (ValueError, np.linalg.LinAlgError):
                continue
            raise AssertionError(f"alpha={alpha}, tau={tau} are drawn from")


def differential_equations():
    """`pm.ode.DifferentialEquation`, stiff ones too: states, derivatives, many points in one call, and a sampler as a file"""

    def robertson(y, t, p):
        slow, fast = p[0] * y[0] - 1e4 * y[1] * y[2], 3e7 * y[1] ** 2
        return [-slow, slow - fast, fast]

    def diffusion(y, t, p):
        return p[0] * (pt.roll(y, 1) - 2 * y + pt.roll(y, -1)) + pt.switch(t > 0.7, p[1], 0)

    ring = np.sin(np.arange(12) * np.pi / 6)
    for rates, times, y0, theta in (
        (robertson, [0.4, 40, 4000], [1.0, 0, 0], [0.04]), (diffusion, [0.3, 1, 1, 2], ring, [3.0, 0.5]),
    ):  # fmt: skip
        solve = pm.ode.DifferentialEquation(rates, times=np.array(times), n_states=len(y0), n_theta=len(theta))
        y, p = pt.vector("y"), pt.vector("p")
        states, slopes = solve(y, p, return_sens=True)
        results = [states, slopes, *pytensor.grad(states.prod(), [y, p])]
        got, want = (pytensor.function([y, p], results, mode=mode)(y0, theta) for mode in ("ONNX", PYTHON))
        for a, b in zip(got, want):
            np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-7)
        many = ptgc.compile_onnx([y, p], [states], batch={"p": "points"})(y0, np.outer([1, 1.5, 1], theta))[0]
        np.testing.assert_allclose(many[[0, 2]], np.stack([want[0]] * 2), rtol=1e-7, atol=1e-7)
    with pm.Model() as model:
        cases.ode_system()
    same_density(model, ptgc.compile_nuts(model, draws=2, tune=2, chains=2, max_treedepth=2))


def prior_predictive():
    """`pm.sample_prior_predictive(compile_kwargs={"mode": "ONNX"})`: PyMC's draws for the same seed"""
    more = dict(draws=5, random_seed=1, return_inferencedata=False)
    with line():
        same_draws(lambda mode: pm.sample_prior_predictive(compile_kwargs={"mode": mode}, **more))


def posterior_predictive():
    """`pm.sample_posterior_predictive(compile_kwargs={"mode": "ONNX"})`: PyMC's draws for the same seed"""
    model, idata = draws()
    more = dict(return_inferencedata=False, **QUIET)
    with model:
        same_draws(lambda mode: pm.sample_posterior_predictive(idata, compile_kwargs={"mode": mode}, **more))


def predictive_as_a_file():
    """`ptgc.export_predictive(model, file)`, and with `prior=True`: PyMC's draws for the same seed"""
    model, idata = draws()
    points = {v.name: idata.posterior[v.name].values.reshape(-1) for v in model.free_RVs}
    n, more = len(points["a"]), dict(return_inferencedata=False, **QUIET)
    with tempfile.TemporaryDirectory() as folder:
        with model:
            want = pm.sample_posterior_predictive(idata, compile_kwargs={"mode": PYTHON}, **more)
        exported = ptgc.export_predictive(model, folder + "/posterior.onnx")
        given = {name: points[name] for name in exported.inputs if name in points}
        got = dict(zip(exported.outputs, exported(**given, **exported.generators(1))))
        np.testing.assert_allclose(got["z"], want["z"].reshape(n, -1), **TOLERANCE)
        for name, fewer in itertools.product(given, (1, n - 1)):
            try:
                exported(**{**given, name: given[name][:fewer]}, **exported.generators(1))
            except ValueError as e:
                assert "must be draws" in str(e)
            else:
                assert len(given) == 1, f"{fewer} draws of {name}, {n} of the others"
        with model:
            want = pm.sample_prior_predictive(7, compile_kwargs={"mode": PYTHON}, random_seed=1, return_inferencedata=False)
        exported = ptgc.export_predictive(model, folder + "/prior.onnx", prior=True)
        got = dict(zip(exported.outputs, exported(draws=7, **exported.generators(1))))
        for name in want:
            np.testing.assert_allclose(got[name], want[name], err_msg=name, **TOLERANCE)


def advi():
    """`pm.fit(method="advi", fn_kwargs={"mode": "ONNX"})`: the same losses"""
    with line():
        same_draws(lambda mode: {"loss": pm.fit(30, method="advi", fn_kwargs={"mode": mode}, **QUIET).hist})


def minibatch():
    """ADVI with `pm.Minibatch`, whose rows are drawn: the same losses"""
    with pm.Model():
        data = pm.Minibatch(Y, batch_size=5)
        pm.Normal("y", pm.Normal("mu", 0, 1), 1, observed=data, total_size=20)
        same_draws(lambda mode: {"loss": pm.fit(30, method="advi", fn_kwargs={"mode": mode}, **QUIET).hist})


def minibatch_given():
    """A minibatch that is passed in: `pm.Data` and `total_size=`"""
    with pm.Model() as model:
        rows = pm.Data("rows", Y[:5])
        pm.Normal("y", pm.Normal("mu", 0, 1), 1, observed=rows, total_size=20)
    same(model.compile_logp(mode="ONNX"), model.compile_logp(mode=PYTHON), model.initial_point())


def named_dims():
    """`pymc.dims`: log density and gradient, of many points in one call too, and a sampler as a file"""
    import pymc.dims as pmd

    with pm.Model(coords={"place": range(4)}) as model:
        mu, s = pmd.Normal("mu", 0, 1), pmd.HalfNormal("s", 1)
        twice = pmd.Deterministic("twice", 2 * pmd.Normal("a", mu, s, dims="place"))
        pmd.Normal("y", twice, 1, observed=pmd.as_xtensor(Y[:4], dims=("place",)))
    point = model.initial_point()
    for compiled in (model.compile_logp, model.compile_dlogp):
        same(compiled(mode="ONNX"), compiled(mode=PYTHON), point)
    many = ptgc.compile_onnx(model.value_vars, [model.logp()], batch="points")
    rng = np.random.default_rng(1)
    points = {k: rng.normal(size=(5, *np.shape(v))) for k, v in point.items()}
    f = model.compile_logp(mode=PYTHON)
    want = [f({k: v[i] for k, v in points.items()}) for i in range(5)]
    np.testing.assert_allclose(many(**points)[0], want, **TOLERANCE)
    same_density(model, ptgc.compile_nuts(model, draws=3, tune=3, chains=2))


def same_density(model, sampler):
    """The densities that a sampler's file says of its draws are PyMC's."""
    found = dict(zip(sampler.outputs, sampler(seed=np.array(1))))
    laws = model.rvs_to_transforms
    forward = [v if laws[v] is None else laws[v].forward(v, *v.owner.inputs) for v in model.free_RVs]
    values_of = pytensor.function(model.free_RVs, forward, mode=PYTHON, on_unused_input="ignore")
    f, names = model.compile_logp(mode=PYTHON), [v.name for v in model.value_vars]
    for at in np.ndindex(found["lp"].shape):
        point = dict(zip(names, values_of(*[found[v.name][at] for v in model.free_RVs])))
        np.testing.assert_allclose(found["lp"][at], f(point), rtol=1e-6, atol=1e-6)


def samplers_as_files():
    """`ptgc.compile_nuts` of each model of examples/pymc: the densities of its draws are PyMC's"""
    for build in make.MODELS.values():
        with pm.Model() as model:
            build()
        same_density(model, ptgc.compile_nuts(model, draws=2, tune=3, chains=2, max_treedepth=3))


USES = [
    sample_on_one_core, sample_on_four_cores, sample_with_spawn, discrete_and_continuous, metropolis_and_slice, smc,
    find_map, compiled_logp, log_likelihood, deterministics, deterministics_in_one_call, data_of_other_sizes,
    minibatch_given, potential, scan_of_an_ode, imputation, do_and_observe, transforms, draws_of_distributions,
    spatial_draws, differential_equations, prior_predictive, posterior_predictive, predictive_as_a_file, advi, minibatch, named_dims, samplers_as_files,
]  # fmt: skip


def main(results, *names):
    found, start, compiled = {}, time.time(), []
    compile_graph = ptgc.linker.compile_graph
    for module in (ptgc.linker, ptgc.export):
        module.compile_graph = lambda *args, **more: compiled.append(args) or compile_graph(*args, **more)
    for use in USES:
        if names and use.__name__ not in names:
            continue
        compiled.clear()
        try:
            found[use.__name__] = "works", use()
            assert compiled, "nothing was compiled in mode ONNX"
        except Exception as e:
            found[use.__name__] = "fails", f"{type(e).__name__}: {str(e)[:300]}"
            traceback.print_exc(limit=-3)
        print(use.__name__, *found[use.__name__], f"{time.time() - start:.0f} s", flush=True)
    with open(results, "wb") as f:
        pickle.dump(found, f)
    return any(kind == "fails" for kind, _ in found.values())


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
