"""Runs of samplers: stopped and gone on with, watched, in one call with pm.sample's arguments, and the groups of their
results beside pm.sample's. `runs.py [NAME ...]`."""

import contextlib
import io
import logging
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

logging.disable(logging.WARNING)

import arviz  # noqa: E402
import numpy as np  # noqa: E402
import pymc as pm  # noqa: E402
import pytensor  # noqa: E402
import pytensor.tensor as pt  # noqa: E402
from by_name import run_tests  # noqa: E402

import ptgc  # noqa: E402
from ptgc._run import Run  # noqa: E402


def schools():
    with pm.Model(coords={"school": list("ABCDEFGH")}) as model:
        sigma = pm.Data("sigma", [15.0, 10, 16, 11, 9, 11, 10, 18], dims="school")
        mu, tau, z = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5), pm.Normal("z", 0, 1, dims="school")
        theta = pm.Deterministic("theta", mu + tau * z, dims="school")
        pm.Normal("y", theta, sigma, observed=[28.0, 8, -3, 7, -1, 1, 18, 12], dims="school")
    return model


def counts():
    """Data that are observed, as another dtype, and read elsewhere as well; a coordinate of numbers"""
    with pm.Model(coords={"day": [3, 5, 8, 9]}) as model:
        k = pm.Data("k", np.array([2, 0, 1, 5]), dims="day")
        x = pm.Data("x", np.arange(4.0), dims="day")
        pm.Poisson("seen", pm.math.exp(pm.Normal("a", 0, 1) + 0.1 * x), observed=k, dims="day")
        pm.Normal("again", pm.Normal("b", 0, 1), 1, observed=k)
        pm.Potential("more", -0.001 * k.sum() * x[0])
    return model


def missing():
    with pm.Model() as model:
        pm.Normal("y", pm.Normal("m", 0, 1), 1, observed=np.array([0.5, np.nan, 1.0]))
    return model


def equal(one, other):
    for group in "posterior", "sample_stats":
        for name, v in one[group].items():
            np.testing.assert_array_equal(v.values, other[group][name].values, err_msg=name)


@contextlib.contextmanager
def stopped_at(part):
    """As if the user pressed Ctrl-C before this part of a run"""
    take, calls = Run.take, []

    def taken(self, steps):
        calls.append(steps)
        if len(calls) == part:
            raise KeyboardInterrupt
        take(self, 3)

    Run.take = taken
    try:
        yield
    finally:
        Run.take = take


def quiet(call, *args, **named):
    """The result and the warnings of a call"""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", UserWarning)
        found = call(*args, **named)
    return found, [str(w.message) for w in seen if w.category is UserWarning]


def refused(kind, words, call, *args, **named):
    try:
        call(*args, **named)
    except kind as e:
        assert all(w in str(e) for w in words), e
    else:
        raise AssertionError(f"{words} is taken")


def stopped_and_gone_on_with():
    """By parts, stopped, saved, gone on with by the file that was read again: the draws of one call, to the bit"""
    with tempfile.TemporaryDirectory() as folder:
        sampler = ptgc.export_nuts(schools(), f"{folder}/schools.onnx", draws=200, tune=150, chains=None)
        read, saved = ptgc.load(f"{folder}/schools.onnx"), Path(folder) / "run.npz"
        data = {"sigma": np.array([15.0, 10, 16, 11, 9, 11, 10, 18])}
        whole = dict(zip(sampler.outputs, sampler(seed=np.array(3), chains=np.array(3))))
        with stopped_at(8):
            some, texts = quiet(sampler.sample, 3, 3, checkpoint=saved)
        assert 0 < some.posterior.sizes["draw"] < 200 and "of 200 draws of each chain" in texts[0], texts
        with stopped_at(2):
            more, _ = quiet(read.sample, 3, 3, data=data, checkpoint=saved)
        assert some.posterior.sizes["draw"] < more.posterior.sizes["draw"]
        rest, _ = quiet(read.sample, 3, 3, data=data, checkpoint=saved)
        once, _ = quiet(sampler.sample, 3, 3)
        equal(rest, once)
        for name, v in whole.items():
            if name != "step_size":
                group = once.posterior if name in once.posterior else once.sample_stats
                np.testing.assert_array_equal(v, group[name].values)
        refused(ValueError, ["another seed"], sampler.sample, 4, 3, checkpoint=saved)
        refused(ValueError, ["another chains"], sampler.sample, 3, 4, checkpoint=saved)
        refused(ValueError, ["another sigma"], sampler.sample, 3, 3, data={"sigma": np.ones(8)}, checkpoint=saved)
        other = ptgc.compile_nuts(schools(), draws=201, tune=150, chains=None)
        refused(ValueError, ["another model"], other.sample, 3, 3, checkpoint=saved)
        saved.write_bytes(saved.read_bytes()[:-100])
        refused(ValueError, ["damaged"], sampler.sample, 3, 3, checkpoint=saved)
        saved.unlink()
        with stopped_at(3):
            refused(KeyboardInterrupt, [], sampler.sample, 3, 3, checkpoint=saved)  # no draws yet, but tuning is kept
        equal(quiet(sampler.sample, 3, 3, checkpoint=saved)[0], once)


def effects():
    """A number for each row of the data: how many parameters there are, a run says"""
    with pm.Model() as model:
        y = pm.Data("y", np.array([1, 4, 2, 0, 3, 1, 7]))
        z = pm.Normal("z", 0, 1, shape=y.shape)
        pm.Poisson("k", pm.math.exp(pm.Normal("m", 0, 1) + z), observed=y)
    return model


def an_open_number_of_parameters():
    sampler = ptgc.compile_nuts(effects(), draws=70, tune=60)
    with tempfile.TemporaryDirectory() as folder:
        for rows in 7, 4:
            data, saved = {"y": np.arange(rows, dtype="int32")}, Path(folder) / f"{rows}.npz"
            with stopped_at(6):
                some, _ = quiet(sampler.sample, 1, data=data, checkpoint=saved)
            rest, _ = quiet(sampler.sample, 1, data=data, checkpoint=saved)
            assert some.posterior["z"].shape[1] < 70 and rest.posterior["z"].shape == (4, 70, rows)
            whole = dict(zip(sampler.outputs, sampler(seed=np.array(1), **data)))
            np.testing.assert_array_equal(rest.posterior["z"].values, whole["z"])


def a_sampler_in_c():
    """The first draws are those of the ONNX model; later ones part, where the two round in other ways."""
    with tempfile.TemporaryDirectory() as folder:
        for name in "m.c", "m.so":
            refused(ValueError, ["ONNX"], ptgc.export_predictive, schools(), f"{folder}/{name}")
        assert not list(Path(folder).iterdir())
        few = {"draws": 4, "tune": 4, "chains": 3, "data": "constants"}
        ptgc.export_nuts(schools(), f"{folder}/m.so", diagnostics=True, **few)
        native, onnx = ptgc.load(f"{folder}/m.so"), ptgc.compile_nuts(schools(), diagnostics=True, **few)
        want = dict(zip(onnx.outputs, onnx(np.int64(5))))
        assert native.outputs == [name for name in onnx.outputs if not name.startswith("state_")]
        for name, got in zip(native.outputs, native(np.int64(5))):
            if name.endswith("_rhat"):  # of distances from the median, of which two are equal but for rounding
                continue
            np.testing.assert_allclose(got, want[name], rtol=1e-7, atol=1e-12, err_msg=name)
        drawn, _ = quiet(native.sample, 5)
        same, _ = quiet(onnx.sample, 5)
        assert set(drawn.children) == {"posterior", "sample_stats"}  # observed values are no inputs here
        for group in "posterior", "sample_stats":
            assert drawn[group].attrs.keys() == same[group].attrs.keys() and list(drawn[group]) == list(same[group])
            for name, v in drawn[group].items():
                assert v.dims == same[group][name].dims, name
                np.testing.assert_allclose(v, same[group][name], rtol=1e-7, atol=1e-12, err_msg=name)


def chains_with_starts_of_their_own():
    model = schools()
    options = {"init": "adapt_diag", "random_seed": 1, "max_treedepth": 1}  # so the first draw is near to the start
    apart, _ = quiet(ptgc.sample, model, 5, 0, 3, initvals=[{"tau": 0.5}, None, {"tau": 60.0, "mu": 7.0}], **options)
    first = apart.posterior["tau"].values[:, 0]
    assert first[0] < 1.5 < first[1] < 25 < first[2], first
    # the draws are those of chains that start there together, also of a number of chains that is filled up
    few = {"draws": 20, "tune": 20, "chains": 3, "random_seed": 2}
    same, _ = quiet(ptgc.sample, model, initvals={"tau": 2.0}, **few)
    each, _ = quiet(ptgc.sample, model, initvals=[{"tau": 2.0}] * 3, **few)
    np.testing.assert_array_equal(each.posterior["z"], same.posterior["z"])
    with pm.Model() as nowhere:
        x = pm.Normal("x", 0, 1)
        pm.Potential("p", pt.switch(pt.gt(x, 0), 0.0, -np.inf))
    refused(ValueError, ["chain 1 of 2", "the term of p"], ptgc.sample, nowhere, 5, 5, 2, initvals=[{"x": 9.0}, {"x": -9.0}])


def a_multi_trace():
    """As pm.sample's with return_inferencedata=False, and what PyMC makes of it"""
    model, options = schools(), {"random_seed": 1, "progressbar": False}
    found, _ = quiet(ptgc.sample, model, 30, 40, 3, **options)
    trace, _ = quiet(ptgc.sample, model, 30, 40, 3, return_inferencedata=False, **options)
    with model:
        own, _ = quiet(pm.sample, 5, tune=5, chains=1, cores=1, return_inferencedata=False, progressbar=False)
    assert type(trace) is type(own) and trace.varnames == own.varnames and set(trace.stat_names) <= set(own.stat_names)
    assert trace.chains == [0, 1, 2] and len(trace) == 30 == trace.report.n_draws and trace.report.n_tune == 40
    for name in found.posterior:
        np.testing.assert_array_equal(trace.get_values(name, combine=False), found.posterior[name].values)
    np.testing.assert_allclose(trace["tau_log__"], np.log(trace["tau"]))
    np.testing.assert_array_equal(trace.get_sampler_stats("depth"), found.sample_stats["tree_depth"].values.ravel())
    assert trace.point(3).keys() == own.point(3).keys()
    read, predicted = pm.to_inference_data(trace, model=model), pm.sample_posterior_predictive(trace, model, progressbar=False)
    np.testing.assert_array_equal(read.posterior["theta"], found.posterior["theta"])
    np.testing.assert_array_equal(read.sample_stats["lp"], found.sample_stats["lp"])
    assert dict(predicted.posterior_predictive.sizes) == {"chain": 3, "draw": 30, "school": 8}
    whole, _ = quiet(ptgc.sample, model, 30, 40, 3, return_inferencedata=False, discard_tuned_samples=False, **options)
    np.testing.assert_allclose(whole["theta"].reshape(3, 70, 8)[:, 40:], found.posterior["theta"], rtol=1e-12)


PREDICT = r"""
#include <stdio.h>
#include <stdlib.h>
#include "line.h"

int main(void)
{
	double dose[] = {-1, -0.5, 0, 0.5, 1}, seen[] = {-1.6, -0.4, 0.5, 1.4, 2.6}, rows[] = {0.0, 3.0};
	static double d[3][400], mu[800], y[800], step[4], of_draws[4][400], fitted[2000];
	static int64_t depth[400], steps[400];
	static uint8_t diverging[400], most[400];
	struct line_in in = {.seed = 1, .dose_0 = 5, .dose = dose, .seen_0 = 5, .seen = seen, .dose_new_0 = 2, .dose_new = rows};
	struct line_out out = {.a = d[0], .b = d[1], .sigma = d[2], .mu = fitted, .y_new = y, .mu_new = mu, .lp = of_draws[0],
		.acceptance_rate = of_draws[1], .energy = of_draws[2], .tree_depth = depth, .n_steps = steps,
		.diverging = diverging, .step_size = step, .energy_error = of_draws[3],
		.reached_max_treedepth = most};
	size_t bytes = 1 << 20, need = 0;
	void *work = malloc(bytes);
	int status;
	while ((status = line_run(&in, &out, work, bytes, &need)) == line_MORE) {
		free(work);
		work = malloc(bytes = need);
	}
	for (int k = 0; k < 800; k++)
		printf("%.17g %.17g\n", mu[k], y[k]);
	printf("%.17g %.17g\n", out.a_rhat, out.a_ess);
	return status;
}
"""


def check_predictions(whole, rows):
    """Predictions of a line at new rows, by four chains from seed 1, beside NumPy; their diagnostics beside ArviZ"""
    np.testing.assert_allclose(whole["mu_new"], whole["a"][..., None] + whole["b"][..., None] * rows)
    generator = np.random.default_rng(1).spawn(5)[4]  # behind those of the chains
    want = generator.normal(whole["mu_new"].swapaxes(0, 1), whole["sigma"].T[..., None]).swapaxes(0, 1)
    np.testing.assert_allclose(whole["y_new"], want)
    for name in "a", "b", "sigma":
        for kind, statistic in (("rhat", arviz.rhat), ("ess", arviz.ess)):
            np.testing.assert_allclose(whole[f"{name}_{kind}"], statistic(whole[name]), rtol=1e-9)


def predictions_in_c():
    """One file takes data and gives draws, predictions of new rows, R-hat and effective sample sizes, from C too"""
    options = {"draws": 100, "tune": 100, "predict": ["y", "mu"]}
    given = [np.array([-1, -0.5, 0, 0.5, 1]), np.array([-1.6, -0.4, 0.5, 1.4, 2.6]), np.array([0.0, 3.0])]
    with tempfile.TemporaryDirectory() as folder:
        made = ptgc.export_nuts(line(), f"{folder}/line.so", **options)
        assert made.inputs == ["seed", "dose", "seen", "dose_new"]
        library = ptgc.load(f"{folder}/line.so")
        whole = dict(zip(made.outputs, library(np.int64(1), *given)))
        drawn, _ = quiet(library.sample, 1, data=dict(zip(made.inputs[1:], given)))
        np.testing.assert_array_equal(drawn.predictions["y"], whole["y_new"])
        np.testing.assert_array_equal(drawn.observed_data["y"], given[1])
        ptgc.export_nuts(line(), f"{folder}/line.c", **options)
        (Path(folder) / "main.c").write_text(PREDICT)
        flags = ["-O1", "-ffp-contract=off", "-fno-strict-aliasing"]
        subprocess.run(["cc", *flags, "main.c", "line.c", "-o", "main", "-lm"], cwd=folder, check=True)
        printed = subprocess.run(["./main"], cwd=folder, check=True, capture_output=True, text=True).stdout.split()
    check_predictions(whole, given[2])
    from_c = np.array(printed, float).reshape(-1, 2)
    np.testing.assert_array_equal(from_c[:-1], np.stack([whole["mu_new"].ravel(), whole["y_new"].ravel()], axis=1))
    np.testing.assert_array_equal(from_c[-1], [whole["a_rhat"], whole["a_ess"]])


def watched():
    sampler = ptgc.compile_nuts(schools(), draws=60, tune=40)
    for asked in True, False, None:
        with contextlib.redirect_stderr(io.StringIO()) as out:
            quiet(sampler.sample, 1, progressbar=asked)
        shown = out.getvalue()
        if asked:
            assert all(w in shown for w in ("4 chains", "100 % of 100 draws", "left", "divergences", "step size")), shown
        else:
            assert not shown


def groups():
    """observed_data and constant_data are those of pm.sample; statistics have its names"""
    for build in (schools, counts, missing):
        model = build()
        with model:
            want = pm.sample(20, tune=20, chains=2, cores=1, progressbar=False, random_seed=1, nuts_sampler="pymc")
        for data in None, "constants", "inputs":
            if build is missing and data == "inputs":
                continue
            got, _ = quiet(ptgc.sample, model, 20, 20, 2, random_seed=1, data=data)
            assert list(got.groups) == list(want.groups), (build.__name__, data, got.groups)
            for group in "observed_data", "constant_data":
                if group not in want:
                    continue
                assert set(got[group]) == set(want[group]), (build.__name__, data, group, got[group])
                for name, v in want[group].items():
                    assert got[group][name].dims == v.dims and got[group][name].dtype == v.dtype, (name, got[group][name])
                    np.testing.assert_array_equal(got[group][name].values, v.values)
                    for dim in v.dims:
                        np.testing.assert_array_equal(got[group].coords[dim].values, v.coords[dim].values)
            assert set(got.posterior) == set(want.posterior) and set(got.sample_stats) <= set(want.sample_stats)
            attrs = got.posterior.attrs
            assert attrs["tuning_steps"] == 20 and attrs["sampling_time"] > 0 and attrs["inference_library"] == "ptgc"
    for build in (schools, counts):  # other data than those of the model
        sampler = ptgc.compile_nuts(build(), draws=5, tune=5, chains=2)
        given = {k: v[:2] for k, v in sampler.data.items()}
        if build is counts:
            got, _ = quiet(sampler.sample, 1, data=given)
            np.testing.assert_array_equal(got.observed_data["seen"].values, given["k"])
            assert list(got.observed_data.coords["day"].values) == [0, 1]


def one_call():
    model = schools()
    got, texts = quiet(ptgc.sample, model, 100, 200, 4, random_seed=5, progressbar=False, max_treedepth=2)
    assert any("maximum tree depth" in text for text in texts), texts
    assert got.sample_stats["reached_max_treedepth"].values.mean() > 0.05
    sampler = ptgc.compile_nuts(model, draws=100, tune=200, max_treedepth=2, data="constants")
    equal(quiet(sampler.sample, 5)[0], got)
    assert not quiet(ptgc.sample, model, 100, 200, random_seed=5, quiet=True)[1]
    options = {"init": "adapt_diag", "random_seed": 1, "max_treedepth": 1}  # so the first draw is near to the start
    for start in 1.0, 20.0:
        near, _ = quiet(ptgc.sample, model, 5, 0, 1, initvals={"tau": start}, **options)
        assert 0.5 < float(near.posterior["tau"][0, 0]) / start < 2
    for words, named in (
        (["cores", "1 at least"], {"cores": 0}), (["blas_cores"], {"blas_cores": 2}), (["step", "NUTS"], {"step": None}), (["did you mean 'tune'"], {"tunes": 4}),
        (["random_seed"], {"random_seed": [1, 2]}), (["initvals"], {"initvals": [1, 2, 3, 4]}), (["initvals"], {"initvals": 1}),
    ):  # fmt: skip
        refused(TypeError, words, ptgc.sample, model, **named)
    refused(ValueError, ["init"], ptgc.sample, model, init="advi")
    refused(ValueError, ["no free variable 'theta'"], ptgc.sample, model, initvals={"theta": 1})
    refused(ValueError, ["2 mappings for 4 chains"], ptgc.sample, model, initvals=[{}, None])
    quiet(ptgc.sample, model, 5, 5, return_inferencedata=True, discard_tuned_samples=True)
    options = {"random_seed": 3, "progressbar": False}
    kept, _ = quiet(ptgc.sample, model, 40, 50, 2, discard_tuned_samples=False, **options)
    alone, _ = quiet(ptgc.sample, model, 40, 50, 2, **options)
    for group in "posterior", "sample_stats":
        warm = kept[f"warmup_{group}"]
        for name, v in alone[group].items():
            np.testing.assert_allclose(kept[group][name].values, v.values, rtol=1e-12)
            if name != "step_size":
                assert warm[name].dims == v.dims and warm[name].shape == (2, 50, *v.shape[2:]), name
    np.testing.assert_array_equal(kept.warmup_posterior.coords["school"].values, list("ABCDEFGH"))
    with stopped_at(8):
        some, _ = quiet(ptgc.sample, model, 1000, 30, 2, discard_tuned_samples=False, random_seed=3)
    assert some.warmup_posterior["mu"].shape == (2, 30) and 0 < some.posterior["mu"].shape[1] < 1000
    on_one, _ = quiet(ptgc.sample, model, 5, 5, cores=1, random_seed=1)
    assert on_one.posterior.sizes["chain"] == 2 and quiet(ptgc.sample, model, 5, 5, cores=3)[0].posterior.sizes["chain"] == 3
    equal(quiet(ptgc.sample, model, 5, 5, 2, random_seed=1)[0], on_one)


def line():
    x = np.linspace(-1, 1, 20)
    with pm.Model(coords={"row": range(20)}) as model:
        dose = pm.Data("dose", x, dims="row")
        seen = pm.Data("seen", 0.5 + 2 * x + np.random.default_rng(0).normal(0, 0.1, 20), dims="row")
        a, b, sigma = pm.Normal("a", 0, 5), pm.Normal("b", 0, 5), pm.HalfNormal("sigma", 1)
        mu = pm.Deterministic("mu", a + b * dose, dims="row")
        pm.Normal("y", mu, sigma, observed=seen, dims="row")
    return model


def inflated():
    """What is drawn for one draw of the parameters after the other, and two generators"""
    with pm.Model() as model:
        x = pm.Data("x", np.arange(6.0))
        rate = pm.math.exp(pm.Normal("a", 0, 0.3) + 0.1 * x)
        pm.ZeroInflatedPoisson("k", 0.7, rate, observed=np.array([0, 1, 2, 0, 3, 1]), shape=x.shape)
        pm.Gamma("t", 2, rate, observed=np.ones(6), shape=x.shape)
    return model


def predictions_in_the_file():
    """Of new rows, from data of their own; by parts the same, to the bit; groups as of pm.sample_posterior_predictive"""
    new = np.array([0.0, 0.5, 3.0])
    sampler = ptgc.compile_nuts(line(), draws=100, tune=100, predict=["y", "mu"])
    assert sampler.inputs == ["seed", "dose", "seen", "dose_new"]
    whole = dict(zip(sampler.outputs, sampler(seed=np.array(1), dose_new=new)))
    check_predictions(whole, new)
    alone = ptgc.compile_nuts(line(), draws=100, tune=100)
    np.testing.assert_array_equal(dict(zip(alone.outputs, alone(seed=np.array(1))))["b"], whole["b"])
    with stopped_at(10**9):
        got, _ = quiet(sampler.sample, 1, data={"dose_new": new})
    for name in "y", "mu":
        np.testing.assert_array_equal(got.predictions[name].values, whole[f"{name}_new"])
        assert got.predictions[name].dims == ("chain", "draw", "row")
    np.testing.assert_array_equal(got.predictions_constant_data["dose"].values, new)
    assert got.posterior.sizes["row"] == 20
    with tempfile.TemporaryDirectory() as folder:
        made = ptgc.export_nuts(inflated(), f"{folder}/m.onnx", draws=64, tune=60, chains=None, predict=["k", "t"])
        read, given = ptgc.load(f"{folder}/m.onnx"), {"x": np.arange(6.0), "x_new": np.arange(2.0)}
        with stopped_at(10**9):
            got, _ = quiet(read.sample, 2, 3, data=given)
        whole = dict(zip(made.outputs, made(seed=np.array(2), chains=np.array(3), **given)))
        for name in "k", "t":
            np.testing.assert_array_equal(got.predictions[name].values, whole[f"{name}_new"])
            assert got.predictions[name].shape == (3, 64, 2)
    some = ptgc.compile_nuts(schools(), draws=32, tune=50, diagnostics=True, var_names=["z", "theta"])
    assert [name for name in some.outputs if name.startswith(("z_", "theta_"))] == ["z_rhat", "z_ess"]
    whole = dict(zip(some.outputs, some(seed=np.array(1))))
    want = [float(arviz.ess(whole["z"][..., k])) for k in range(8)]
    np.testing.assert_allclose(whole["z_ess"], want, rtol=1e-9)
    refused(ValueError, ["parameter"], ptgc.compile_nuts, line(), predict=["a"])
    refused(ValueError, ["no variable 'dose'"], ptgc.compile_nuts, line(), predict=["dose"])
    refused(TypeError, ["list of names"], ptgc.compile_nuts, line(), predict="y")


def predictions_of_parts():
    """Of distributions that are made of draws without names, the draws are those of export_predictive's file"""
    exp, ones = pm.math.exp, np.ones(3)
    parts = {
        "censored": lambda a: pm.Censored("y", pm.Weibull.dist(1.5, exp(a)), lower=None, upper=5.0, observed=ones),
        "hurdle": lambda a: pm.HurdleNegativeBinomial("y", 0.5, exp(a), 2.0, observed=ones.astype(int)),
        "chained": lambda a: pm.CustomDist("y", a, dist=two_draws_of_one_generator, logp=lambda y, a: -((y - a) ** 2), observed=ones),
    }
    for name, build in parts.items():
        with pm.Model() as model:
            build(pm.Normal("a"))
        sampler = ptgc.compile_nuts(model, draws=4, tune=4, chains=2, predict=["y"])
        whole, predictor = dict(zip(sampler.outputs, sampler(seed=np.array(1)))), ptgc.compile_predictive(model)
        generators = [v for v in predictor.inputs if v.endswith("_rng") or "_rng_" in v]
        given = dict(zip(generators, np.random.default_rng(1).spawn(2 + len(generators))[2:], strict=True))
        want = predictor(a=whole["a"].T.ravel(), **given)[0]
        np.testing.assert_array_equal(whole["y_new"].swapaxes(0, 1).reshape(8, 3), want, err_msg=name)


def two_draws_of_one_generator(a, size):
    rng, noise = pt.random.normal(a, 1, size=size, rng=pytensor.shared(np.random.default_rng())).owner.outputs
    return noise + pt.random.gamma(2, scale=1, size=size, rng=rng)


def variables_with_names_of_the_sampler():
    """The sampler's own inputs and statistics have other names in the file: the draws are those of a model without"""
    taken = {"step_size": "a", "energy": "b", "lp": "c", "chains": "d", "state_steps": "e", "state_done": "f", "seed": "x"}

    def model_of(name):
        with pm.Model(coords={"row": range(3)}) as model:
            seed = pm.Data(name("seed"), [0.1, 0.4, 1.2], dims="row")
            step, lp = pm.HalfNormal(name("step_size"), 1), pm.Normal(name("lp"), 0, 1)
            energy = pm.Normal(name("energy"), seed, step, dims="row")
            pm.Normal(name("chains"), lp, 1, observed=0.3)
            pm.Deterministic(name("state_steps"), 2 * energy, dims="row")
            pm.Deterministic(name("state_done"), lp + 1)
            pm.Normal("y", energy, 1, observed=[1.0, 2, 3], dims="row")
        return model

    options = {"draws": 60, "tune": 60, "chains": None, "predict": ["y"]}
    plain = ptgc.compile_nuts(model_of(taken.get), **options)
    with tempfile.TemporaryDirectory() as folder:
        made = ptgc.export_nuts(model_of(str), f"{folder}/m.onnx", **options)
        assert made.inputs == ["nuts_seed", "chains", "seed", "seed_new"] and "nuts_step_size" in made.outputs, made
        read, data = ptgc.load(f"{folder}/m.onnx"), np.array([0.1, 0.4, 1.2])
        library = ptgc.export_nuts(model_of(str), f"{folder}/m.so", draws=5, tune=5)
        assert library.inputs == ["nuts_seed", "seed"], library.inputs
    want, _ = quiet(plain.sample, 3, 2)
    with contextlib.redirect_stderr(io.StringIO()) as out:
        got, _ = quiet(made.sample, 3, 2, progressbar=True)
    assert "step size" in out.getvalue()
    with tempfile.TemporaryDirectory() as folder:
        saved = Path(folder) / "run.npz"
        given = {"data": {"seed": data, "seed_new": data}, "checkpoint": saved}
        with stopped_at(4):
            refused(KeyboardInterrupt, [], read.sample, 3, 2, **given)  # no draws yet
        rest, _ = quiet(read.sample, 3, 2, **given)
    equal(rest, got)
    assert list(got.groups) == list(want.groups) and set(got.sample_stats) == set(want.sample_stats)
    for name, v in got.sample_stats.items():
        np.testing.assert_allclose(v.values, want.sample_stats[name].values, rtol=1e-9)
        assert v.dims == ("chain", "draw")
    for name, v in got.posterior.items():
        np.testing.assert_allclose(v.values, want.posterior[taken[name]].values, rtol=1e-9)
        assert v.dims == want.posterior[taken[name]].dims
    np.testing.assert_array_equal(got.constant_data["seed"].values, data)
    np.testing.assert_allclose(got.predictions["y"].values, want.predictions["y"].values, rtol=1e-9)


def deterministics_that_no_draw_changes():
    """Of constants, of data alone, and a copy of a parameter: [chains, draws, ...], as from pm.sample"""
    with pm.Model(coords={"row": range(3)}) as model:
        x, a = pm.Data("x", [1.0, 2, 3], dims="row"), pm.Normal("a", 0, 1)
        pm.Deterministic("numbers", pt.constant([1.0, 2]))
        pm.Deterministic("one", pt.constant(5))
        pm.Deterministic("twice", 2 * x, dims="row")
        pm.Deterministic("copy", a)
        pm.Normal("y", a * x, 1, observed=[1.0, 2, 3], dims="row")
    want = {"numbers": [1.0, 2], "one": np.int8(5), "twice": [2.0, 4, 6]}
    for chains in (2, None):
        sampler = ptgc.compile_nuts(model, draws=60, tune=60, chains=chains, predict=["twice", "one"])
        found = quiet(sampler.sample, 1, None if chains else 2)[0]
        for group, names in (("posterior", want), ("predictions", ["twice", "one"])):
            for name in names:
                v = found[group][name].values
                assert v.shape == (2, 60, *np.shape(want[name])) and v.dtype == np.asarray(want[name]).dtype, (name, v.shape)
                assert np.all(v == want[name]), name
        np.testing.assert_array_equal(found.posterior["copy"].values, found.posterior["a"].values)
    with tempfile.TemporaryDirectory() as folder:
        ptgc.export_nuts(model, f"{folder}/m.so", draws=4, tune=4, chains=2)
        found, _ = quiet(ptgc.load(f"{folder}/m.so").sample, 1, data={"x": np.arange(1.0, 4)})
    assert all(np.all(found.posterior[name].values == want[name]) for name in want)
    assert found.posterior["twice"].shape == (2, 4, 3)


def names_of_files():
    """A variable with the name of a prediction, of its data, of a diagnostic or of an axis is refused by name"""
    for name in "y_new", "x_new", "a_rhat", "chain", "y_rng":
        with pm.Model() as model:
            x = pm.Data("x", np.ones(3))
            pm.Normal("y", pm.Normal("a") * x + pm.Normal(name), 1, shape=x.shape, observed=np.ones(3))
        if name != "y_rng":
            refused(ValueError, [f"variable {name} "], ptgc.compile_nuts, model, predict=["y"])
    predictor = ptgc.compile_predictive(model)
    assert predictor.inputs == ["a", "y_rng", "y_rng_2", "x"]
    noise = np.random.default_rng(1).normal(size=(4, 3))
    [y, _] = predictor(a=np.ones(4), y_rng=np.full(4, 5.0), y_rng_2=np.random.default_rng(1))
    np.testing.assert_allclose(y, 6 + noise)


def the_model_of_the_context():
    model, named = schools(), {"tune": 10, "chains": 2, "random_seed": 1}
    want, _ = quiet(ptgc.sample, model, 20, **named)
    equal(quiet(ptgc.sample, model=model, draws=20, **named)[0], want)
    with model:
        equal(quiet(ptgc.sample, 20, **named)[0], want)
        equal(quiet(ptgc.sample, draws=20, **named)[0], want)
        refused(TypeError, ["sample(20, tune=...)"], ptgc.sample, 20, 10)
    refused(TypeError, ["context"], ptgc.sample, 20)


TESTS = [
    deterministics_that_no_draw_changes, predictions_of_parts, variables_with_names_of_the_sampler, names_of_files, the_model_of_the_context,
    stopped_and_gone_on_with, an_open_number_of_parameters, watched, groups, one_call, predictions_in_the_file, a_sampler_in_c,
    predictions_in_c, chains_with_starts_of_their_own, a_multi_trace,
]  # fmt: skip


if __name__ == "__main__":
    sys.exit(run_tests(TESTS, sys.argv[1:]))
