"""The posteriors of posteriordb that have reference draws, beside them: densities, NUTS in one file, and speed

`posteriordb.py PATH [--stages STAGE,...] [--limit SECONDS] [--results FILE] [--again] [--page FILE] [NAME ...]`

PATH is a checkout of github.com/stan-dev/posteriordb, NAME a part of a posterior's name. The models are those of
examples/posteriordb. Each stage of each posterior is a process of its own, with a limit of time, and a line of
FILE (build/posteriordb.jsonl); a run that was stopped goes on, and --again repeats what failed. --page writes the
page from the lines. Needs: PyMC, ArviZ, and for what is beside: JAX, Numba, nutpie (bench/requirements.txt).

convert  the log density and its gradient as an ONNX model, and the sampler
density  both at 100 reference draws, beside PyTensor's Python mode
nuts     the sampler's draws beside the reference's: means, standard deviations, R-hat
native   the same of the sampler as C, compiled by the machine's compiler
pymc     the same of pm.sample, where the draws of nuts or native do not pass
speed    microseconds of a log density and gradient: ONNX Runtime, C, JAX, Numba
nutpie   effective draws a second of nutpie
"""

import os

os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")

import argparse
import importlib
import importlib.metadata
import importlib.util
import json
import logging
import re
import subprocess
import sys
import tempfile
import time
import warnings
import zipfile
from functools import partial
from pathlib import Path
from types import SimpleNamespace

warnings.filterwarnings("ignore")

import numpy as np  # noqa: E402

TOP = Path(__file__).resolve().parents[1]
MODELS = TOP / "examples" / "posteriordb"
STAGES = "convert", "density", "nuts", "native", "pymc", "speed", "nutpie"

# All thresholds; they were written before the first table
DENSITY_POINTS = 100
DENSITY_BOUND = 1e-9  # of a log density or an element of the gradient, relative to the largest of all points
ODE_BOUND = 1e-6  # the same where an equation is solved to a tolerance of 1.5e-8
CONDITION = 1e-14  # ... or 10 times what such a relative change of the point makes of PyTensor's result
CHAINS, DRAWS, TUNE = 10, 1000, 1000
Z_BOUND = 5.0  # a difference of means or standard deviations, in standard errors of both
RHAT_BOUND = 1.01


class Posterior:
    def __init__(self, root: Path, name: str):
        self.root = root / "posterior_database"
        self.name = name
        self.info = json.loads((self.root / "posteriors" / f"{name}.json").read_text())
        self.reference = self.info["reference_posterior_name"]
        self.folder = self.root / "reference_posteriors"

    @staticmethod
    def zipped(path):
        with zipfile.ZipFile(path) as z:
            return json.loads(z.read(z.namelist()[0]))

    def data(self):
        found = self.zipped(self.root / "data" / "data" / f"{self.info['data_name']}.json.zip")
        return {k: np.array(v) if isinstance(v, list) else v for k, v in found.items()}

    def model(self):
        sys.path.insert(0, str(MODELS))
        return importlib.import_module(self.info["model_name"]).model(self.data())

    def settings(self):
        """target_accept and max_treedepth, as the reference was drawn"""
        given = json.loads((self.folder / "draws" / "info" / f"{self.reference}.info.json").read_text())
        control = given["inference"]["method_arguments"]["control"]
        return {"target_accept": control["adapt_delta"], "max_treedepth": control.get("max_treedepth", 10)}

    def draws(self):
        """name -> [chains, draws, ...] in the reference; None if the checkout lacks them"""
        path = self.folder / "draws" / "draws" / f"{self.reference}.json.zip"
        if not path.exists():
            return None
        chains = self.zipped(path)
        return collected({k: np.array([c[k] for c in chains]) for k in chains[0]})

    def summary(self):
        """name[k] -> mean, standard error, standard deviation, its standard error (or None)"""
        if (draws := self.draws()) is not None:
            return summary(draws)
        mean, square = (
            json.loads((self.folder / "summary_statistics" / kind / kind / f"{self.reference}.json").read_text())
            for kind in ("mean_value", "mean_squared_value")
        )
        rows = zip(mean["names"], mean["mean_value"], mean["mcse_mean"], square["mean_squared_value"], strict=True)
        return {element(name): (m, e, (s - m * m) ** 0.5, None) for name, m, e, s in rows}


def element(name):
    """The element of Stan's name[1] in Python: name[0]"""
    name, *index = re.split(r"[\[\],]", name.rstrip("]"))
    return f"{name}{[int(k) - 1 for k in index]}"


def collected(elements):
    """Arrays [chains, draws, ...] by the names of variables, of arrays by the names of elements"""
    found = {}
    for full, values in elements.items():
        name, *index = re.split(r"[\[\],]", full.rstrip("]"))
        found.setdefault(name, {})[tuple(int(k) - 1 for k in index)] = values
    for name, parts in found.items():
        shape = tuple(np.max(list(parts), axis=0).astype(int) + 1) if () not in parts else ()
        whole = np.empty((*next(iter(parts.values())).shape, *shape))
        for index, values in parts.items():
            whole[(..., *index)] = values
        found[name] = whole
    return found


def elements(draws):
    for name, x in draws.items():
        for index in np.ndindex(x.shape[2:]):
            yield f"{name}{list(index)}", x[(..., *index)]


def summary(draws):
    from arviz_stats.base import array_stats

    found, axes = {}, {"chain_axis": 0, "draw_axis": 1}
    for name, x in elements(draws):
        errors = [float(array_stats.mcse(x, method=method, **axes)) for method in ("mean", "sd")]
        found[name] = float(x.mean()), errors[0], float(x.std(ddof=1)), errors[1]
    return found


def compared(draws, divergent, reference):
    """What a table says of draws: the largest distances from the reference, R-hat, effective draws"""
    from arviz_stats.base import array_stats

    ours, axes = summary(draws), {"chain_axis": 0, "draw_axis": 1}
    worst = {"mean": (0.0, ""), "sd": (0.0, "")}
    for name, (m, m_error, sd, sd_error) in reference.items():
        mean, mean_error, deviation, deviation_error = ours[name]
        z = {"mean": abs(mean - m) / np.hypot(mean_error, m_error)}
        if sd_error is not None:
            z["sd"] = abs(deviation - sd) / np.hypot(deviation_error, sd_error)
        for kind, value in z.items():
            if not value <= worst[kind][0]:  # NaN is the worst
                worst[kind] = float(value), name
    rhat = max(float(array_stats.rhat(x, **axes)) for _, x in elements(draws))
    ess = min(float(array_stats.ess(x, **axes)) for _, x in elements(draws))
    passes = worst["mean"][0] < Z_BOUND and worst["sd"][0] < Z_BOUND and rhat < RHAT_BOUND
    return {
        "z_mean": worst["mean"], "z_sd": worst["sd"], "compared": len(reference), "rhat": rhat, "ess": ess,
        "divergent": int(np.sum(divergent)), "passes": bool(passes),
    }  # fmt: skip


def names(root):
    """The posteriors that have reference draws"""
    files = sorted((root / "posterior_database" / "posteriors").glob("*.json"))
    return [f.stem for f in files if json.loads(f.read_text()).get("reference_posterior_name")]


def gradient(model):
    import pytensor
    import pytensor.tensor as pt

    logp = model.logp()
    slopes = pytensor.grad(logp, model.value_vars, disconnected_inputs="ignore")
    inputs, outputs = model.value_vars, [logp, pt.concatenate([g.ravel() for g in slopes])]
    outputs[0].name, outputs[1].name = "logp", "dlogp"
    return inputs, outputs


def session_of(exported):
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    return exported.session(options)


def compile_density(model):
    import ptgc

    return ptgc.compile_onnx(*gradient(model))


def compile_sampler(posterior, model):
    import ptgc

    return ptgc.compile_nuts(model, draws=DRAWS, tune=TUNE, chains=None, **posterior.settings())


def python_mode():
    from pytensor.compile.mode import Mode

    return Mode("py", "fast_run").excluding("fusion", "inplace")


def unconstrained(model, draws, points):
    """Reference draws as values of model.value_vars, by the model's own transforms: an array for each, [points, ...]"""
    import pytensor
    import pytensor.tensor as pt
    from pytensor.graph.replace import graph_replace

    flat = {name: x.reshape(-1, *x.shape[2:]) for name, x in draws.items()}
    total = len(next(iter(flat.values())))
    picked = {name: x[:: max(1, total // points)][:points] for name, x in flat.items()}
    free = {rv: rv.type(rv.name) for rv in model.free_RVs}
    known = [rv for rv in model.free_RVs if rv.name in picked]
    for rv in model.free_RVs:  # what the reference lacks
        if rv in known:
            continue
        shown = [d for d in model.deterministics if d.name in picked]
        joined = pt.concatenate([graph_replace(d, free, strict=False).ravel() for d in shown])
        slope = pytensor.gradient.jacobian(joined, free[rv]).reshape((joined.size, -1))
        linear = pytensor.function([free[v] for v in (*known, rv)], [joined, slope], mode=python_mode())
        zero, found = np.zeros(model.initial_point()[model.rvs_to_values[rv].name].shape), []
        for k in range(len(next(iter(picked.values())))):
            at, matrix = linear(*[picked[v.name][k] for v in known], zero)
            want = np.concatenate([np.ravel(picked[d.name][k]) for d in shown])
            found.append(np.linalg.solve(matrix, want - at).reshape(zero.shape))
        picked[rv.name] = np.array(found)
        known.append(rv)
    values = []
    for rv in model.free_RVs:
        transform = model.rvs_to_transforms[rv]
        values.append(free[rv] if transform is None else transform.forward(free[rv], *rv.owner.inputs))
    f = pytensor.function(
        list(free.values()), graph_replace(values, free, strict=False), mode=python_mode(), on_unused_input="ignore"
    )
    rows = [f(*[picked[rv.name][k] for rv in model.free_RVs]) for k in range(len(picked[model.free_RVs[0].name]))]
    return [np.array(column) for column in zip(*rows)]


def near_start(model, points, reach=1.0):
    """Where a sampler begins, for a posterior whose draws the checkout lacks"""
    rng, start = np.random.default_rng(1), model.initial_point()
    values = [np.asarray(start[v.name]) for v in model.value_vars]
    return [v + reach * rng.uniform(-1, 1, (points, *v.shape)) for v in values]


def has_equation(model):
    from pymc.ode.ode import DifferentialEquation
    from pytensor.graph.traversal import ancestors

    return any(v.owner and isinstance(v.owner.op, DifferentialEquation) for v in ancestors([model.logp()]))


def convert(posterior):
    start = time.perf_counter()
    model = posterior.model()
    built = time.perf_counter()
    density = compile_density(model)
    compiled = time.perf_counter()
    sampler = compile_sampler(posterior, model)
    return {
        "parameters": sum(np.size(v) for v in model.initial_point().values()),
        "build_s": built - start, "density_s": compiled - built, "sampler_s": time.perf_counter() - compiled,
        "density_bytes": len(density.model), "sampler_bytes": len(sampler.model),
    }  # fmt: skip


def density(posterior):
    import pymc as pm
    import pytensor
    import scipy.integrate

    model, draws = posterior.model(), posterior.draws()
    equation = has_equation(model)
    if equation:  # PyMC calls odeint at a tolerance of 1.5e-8: as an oracle it is to be nearer to the truth
        exact = partial(scipy.integrate.odeint, rtol=1e-13, atol=1e-13, mxstep=5000)
        pm.ode.ode.scipy = SimpleNamespace(integrate=SimpleNamespace(odeint=exact))
    points = near_start(model, DENSITY_POINTS) if draws is None else unconstrained(model, draws, DENSITY_POINTS)
    inputs, outputs = gradient(model)
    session = session_of(compile_density(model))
    names = [i.name for i in session.get_inputs()]
    oracle = pytensor.function(inputs, outputs, mode=python_mode())
    rows, rng = [], np.random.default_rng(2)
    for k in range(len(points[0])):
        point = [np.asarray(p[k]) for p in points]
        nudged = [np.asarray(p * (1 + CONDITION * rng.choice([-1, 1], p.shape))) for p in point]
        results = [session.run(None, dict(zip(names, point, strict=True))), oracle(*point), oracle(*nudged)]
        rows.append([np.append(slope, logp) for logp, slope in results])
    ours, want, other = np.moveaxis(np.array(rows), 1, 0)
    if not (np.isfinite(ours) == np.isfinite(want)).all() or not np.isfinite(want).all():
        return {"points": len(ours), "error": "a density or gradient is not finite", "passes": False}
    scale = np.abs(want).max(axis=0)
    error, condition = (np.abs(x - want).max(axis=0) / np.where(scale > 0, scale, 1) for x in (ours, other))
    bound = np.maximum(ODE_BOUND if equation else DENSITY_BOUND, 10 * condition)
    return {
        "points": len(ours), "where": "draws" if draws is not None else "near the start",
        "logp": float(error[-1]), "gradient": float(error[:-1].max()), "bound": float(bound.max()),
        "passes": bool((error <= bound).all()),
    }  # fmt: skip


def nuts(posterior):
    model = posterior.model()
    sampler = compile_sampler(posterior, model)
    session = session_of(sampler)
    begin = time.process_time()
    found = session.run(sampler.outputs, {"seed": np.array(1), "chains": np.array(CHAINS)})
    seconds = time.process_time() - begin
    found = dict(zip(sampler.outputs, found))
    reference = posterior.summary()
    names = {k.partition("[")[0] for k in reference}
    row = compared({k: found[k] for k in found if k in names}, found["diverging"], reference)
    return row | posterior.settings() | {
        "seconds": seconds, "steps": float(found["n_steps"].mean()), "depth": int(found["tree_depth"].max()),
    }  # fmt: skip


def processor_seconds():
    """of this process and of the compilers that it ran"""
    return sum(os.times()[:4])


def native(posterior):
    import ptgc

    model, reference, settings = posterior.model(), posterior.summary(), posterior.settings()
    names = {k.partition("[")[0] for k in reference}
    with tempfile.TemporaryDirectory() as folder:
        begin = processor_seconds()
        path = f"{folder}/sampler.so"
        ptgc.export_nuts(model, path, draws=DRAWS, tune=TUNE, chains=CHAINS, data="constants", **settings)
        library, compiled = ptgc.load(path), processor_seconds() - begin
        begin = time.process_time()
        found = dict(zip(library.outputs, library(np.int64(1))))
        seconds = time.process_time() - begin
    row = compared({k: found[k] for k in found if k in names}, found["diverging"], reference)
    row |= settings | {"compile_s": compiled, "seconds": seconds, "steps": float(found["n_steps"].mean())}
    return row | ({"cc": os.environ["CC"]} if os.environ.get("CC") else {})


def by_pymc(posterior):
    import pymc as pm

    reference, settings = posterior.summary(), posterior.settings()
    with posterior.model():
        step = pm.NUTS(**settings)
        begin = time.process_time()
        found = pm.sample(draws=DRAWS, tune=TUNE, chains=CHAINS, cores=1, step=step, random_seed=1, progressbar=False)
    names = {k.partition("[")[0] for k in reference}
    draws = {k: found.posterior[k].values for k in names}
    return compared(draws, found.sample_stats["diverging"].values, reference) | {"seconds": time.process_time() - begin}


def by_nutpie(posterior):
    import nutpie

    begin = processor_seconds()
    model, settings = posterior.model(), posterior.settings()
    compiled = nutpie.compile_pymc_model(model)
    seconds = processor_seconds() - begin
    more = {"target_accept": settings["target_accept"], "maxdepth": settings["max_treedepth"]}
    begin = time.process_time()
    found = nutpie.sample(
        compiled, draws=DRAWS, tune=TUNE, chains=CHAINS, cores=1, seed=1, progress_bar=False, save_warmup=False, **more
    )
    took = time.process_time() - begin
    reference = posterior.summary()
    draws = {k: found.posterior[k].values for k in {k.partition("[")[0] for k in reference}}
    row = compared(draws, found.sample_stats["diverging"].values, reference)
    return row | {"compile_s": seconds, "seconds": took}


def speed(posterior):
    import ctypes

    import pytensor

    import ptgc

    spec = importlib.util.spec_from_file_location("native_speed", TOP / "bench" / "native.py")
    spec.loader.exec_module(native := importlib.util.module_from_spec(spec))
    from native import Refused  # that of tests/c, which bench/native.py reads too

    def microseconds(call):
        return native.turns(call)[0]

    model, draws = posterior.model(), posterior.draws()
    points = near_start(model, 1) if draws is None else unconstrained(model, draws, 1)
    point = [np.asarray(p[0]) for p in points]
    inputs, outputs = gradient(model)
    row, exported = {}, compile_density(model)
    session = session_of(exported)
    feed = dict(zip([i.name for i in session.get_inputs()], point, strict=True))
    want = session.run(None, feed)
    scale = np.abs(want[1]).max()
    row["onnx"] = microseconds(lambda k: [session.run(None, feed) for _ in range(k)])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "density.ptg"
        ptgc.save_ptg(path, inputs, outputs, name="density")
        try:
            code = native.to_c(path, "--strip")
        except Refused as e:
            row["c_refused"] = str(e).splitlines()[0].split("error: ")[-1]
        else:
            library = native.compiled(code + native.LOOP % {"name": "density"}, native.FLAGS)
            c = native.Native(code, library)
            given = dict(zip([f[0] for f in c.inputs if f[4]], point, strict=True))
            lengths = {"dlogp": want[1].shape, "logp": ()}
            got = c(given, lengths)
            np.testing.assert_allclose(got["dlogp"], want[1], rtol=1e-6, atol=1e-6 * scale)
            call, keep = c.prepared(given, lengths)
            run = c.dll.bench_density
            assert run(*call, ctypes.c_int(1)) == 0
            row["c"] = microseconds(lambda k: run(*call, ctypes.c_int(k)))
            del keep
    for mode in "JAX", "NUMBA":
        try:
            begin = time.perf_counter()
            f = pytensor.function(inputs, outputs, mode=mode, trust_input=True)
            got = f(*point)
            row[f"{mode.lower()}_compile_s"] = time.perf_counter() - begin
            np.testing.assert_allclose(np.asarray(got[1]), want[1], rtol=1e-6, atol=1e-6 * scale)
            row[mode.lower()] = microseconds(lambda k, f=f: [[np.asarray(r) for r in f(*point)] for _ in range(k)])
        except Exception as e:  # what a mode cannot do is part of the comparison
            row[f"{mode.lower()}_refused"] = f"{type(e).__name__}: {str(e).splitlines()[0][:80]}"
    return row


RUN = {
    "convert": convert, "density": density, "nuts": nuts, "native": native, "pymc": by_pymc, "speed": speed, "nutpie": by_nutpie,
}  # fmt: skip


def one(root, name, stage):
    """The process of a stage: its row is the last line that it prints"""
    logging.disable(logging.WARNING)
    print("\n" + json.dumps(RUN[stage](Posterior(root, name))))


def run(root, name, stage, limit):
    """The row of a stage that runs as a process of its own"""
    command = [sys.executable, __file__, str(root), "--one", name, stage]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return {"error": f"not done in {limit} s"}
    last = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()[-1:] or ["no words"]
    return json.loads(last[0]) if done.returncode == 0 else {"error": last[0]}


def read(path):
    """(posterior, stage) -> the last row of it"""
    lines = path.read_text().splitlines() if path.exists() else []
    return {(row["posterior"], row["stage"]): row for row in map(json.loads, lines)}


def wanted(stage, name, rows):
    """PyMC's own run decides where the sampler's draws do not pass"""
    drawn = [rows.get((name, kind), {}) for kind in ("nuts", "native")]
    return stage != "pymc" or not all(row.get("passes", True) for row in drawn)


def versions():
    found = []
    for package in "onnxruntime", "pytensor", "pymc", "jax", "numba", "nutpie", "numpy":
        try:
            found.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return ", ".join(found)


def processor():
    names = re.findall(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.M)
    return f"{names[0]}, one core of {len(names)}" if names else "unknown"


HEAD = """# posteriordb

`bench/posteriordb.py PATH --page doc/posteriordb.md` makes this page: do not edit it. Its figures are of {dates}.
The processor: {processor}. Other programs ran on it, so only ratios count.
Versions: {versions}.

[posteriordb](https://github.com/stan-dev/posteriordb) has {n} posteriors with reference draws: 10,000 each, thinned from ten long
chains of Stan. [examples/posteriordb](../examples/posteriordb) has their models in PyMC, written anew from the mathematics of the
Stan programs, with one file for each program. This repository has no code or data of posteriordb: the tables are made from a
checkout. No code of ptgc is specific to one of these models.

**{converted} of {n} convert**, log density with gradient and sampler. **{dense} of {n}** have densities and gradients that pass. Of
{run} whose sampler was run on ONNX Runtime, **{drawn} have draws that pass**; of {run_c} whose sampler was run as C, **{drawn_c}**.

## Thresholds
The thresholds were written into the program before it made the first table.

- **Density**: the log density and its gradient are compared with PyTensor's Python mode at {points} reference draws, on the
  unconstrained scale of the model's transforms. An error is the largest of all points. It is relative to the largest value of the
  log density, or of that element of the gradient, at any of the points. The bound is {bound:g}. If a relative change of the point by
  {condition:g} changes PyTensor's own result by more than a tenth of that, the bound is ten times this change. For a model with a
  differential equation, the oracle calls odeint at a tolerance of 1e-13, and the bound is {ode:g}.
- **Draws**: the sampler in the file runs {chains} chains from one seed, each with {tune} steps of tuning and {draws} draws.
  `target_accept` and `max_treedepth` are those of the reference's own run. Each mean and each standard deviation must be within
  {z:g} standard errors of the reference's. These are standard errors of both runs, from effective sample sizes. R-hat must be below
  {rhat:g}.
- If the draws do not pass, `pm.sample` runs with the same settings. Its result decides whether the model or the sampler is to blame.
"""
DRAWN = """
## Densities and draws
Each distance from the reference is the largest of all elements, in standard errors. Steps are leapfrog steps a draw.

| posterior | parameters | error of logp | of gradient | passes | distance of means | of deviations | R-hat | divergent | steps | passes |
| --- | ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | --- |"""
AS_C = """
## The sampler as C
`ptgc.export_nuts(model, "sampler.so")` with the same settings. The first seconds are what it takes to print, to convert and to
compile the sampler, the second ones the run of all chains, one behind the other. All are seconds of the processor. Effective draws
a second are those of the run.

| posterior | distance of means | of deviations | R-hat | divergent | steps | passes | to compile, s | to run, s | draws a second |
| --- | ---: | ---: | ---: | ---: | ---: | --- | ---: | ---: | ---: |"""
SPEED = """
## Speed and size
The first four columns are microseconds of a log density and its gradient: ONNX Runtime on one thread, the same model as C
(`--target=c`, gcc -O3), and PyTensor's modes JAX and NUMBA as Python calls them. The next three are effective draws a second of
the processor: of the sampler on ONNX Runtime, of the sampler as C, and of nutpie with the same settings. They include tuning, and
are those of the element that has the fewest. Seconds of the processor to compile the sampler as C, and nutpie's, follow. The last
two columns are the bytes of the models, with their data: the density with its gradient, and the sampler.

| posterior | ONNX Runtime | C | JAX | Numba | draws, ONNX Runtime | C | nutpie | to compile, C | nutpie | bytes, density | sampler |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"""


def number(x, digits=3):
    return "–" if x is None else f"{float(f'{x:.{digits}g}'):,.10g}"


def verdict(row):
    if row is None or "error" in row:
        return "–" if row is None else row["error"]
    return "yes" if row["passes"] else "**no**"


def rate(row):
    return row["ess"] / row["seconds"] if row and "ess" in row else None


def line(*cells):
    return f"| {' | '.join(map(str, cells))} |"


def drawn_row(name, convert, density, nuts):
    made, dense = convert or {}, density or {}
    errors = [f"{dense[k]:.0e}" if k in dense else "–" for k in ("logp", "gradient")]
    return line(name, made.get("parameters", "–"), *errors, verdict(density), *compared_cells(nuts))


def compared_cells(row):
    """What a table says of draws beside the reference's"""
    drawn = row or {}
    z = [number(drawn[k][0], 2) if k in drawn else "–" for k in ("z_mean", "z_sd")]
    return *z, number(drawn.get("rhat"), 5), drawn.get("divergent", "–"), number(drawn.get("steps"), 2), verdict(row)


def native_row(name, native):
    seconds = [number((native or {}).get(k), 2) for k in ("compile_s", "seconds")]
    return line(name, *compared_cells(native), *seconds, number(rate(native)))


def speed_row(name, convert, nuts, native, speed, nutpie):
    times = [number((speed or {}).get(k)) for k in ("onnx", "c", "jax", "numba")]
    rates = [number(rate(row)) for row in (nuts, native, nutpie)]
    compiles = [number((row or {}).get("compile_s")) for row in (native, nutpie)]
    sizes = [number((convert or {}).get(k), 12) for k in ("density_bytes", "sampler_bytes")]
    return line(name, *times, *rates, *compiles, *sizes)


def remark(name, density, nuts, pymc):
    """What the tables have no column for"""
    if density and density.get("where") == "near the start":
        yield f"- {name}: densities were compared near the start, as the checkout lacks the reference draws."
    elif density and density.get("bound", 0) > ODE_BOUND / 10 and density["gradient"] > DENSITY_BOUND:
        yield f"- {name}: the largest bound of an element is {number(density['bound'], 2)}."
    if not pymc:
        return
    said = pymc.get("error")
    if said is None:
        z = f"means within {number(pymc['z_mean'][0], 2)} and deviations within {number(pymc['z_sd'][0], 2)} standard errors"
        passes = "passes" if pymc["passes"] else "does not pass either"
        said = f"{z}, R-hat {number(pymc['rhat'], 5)}, {pymc['divergent']} divergent: {passes}"
    yield f"- {name}, `pm.sample`: {said}."


def mean_ratio(ratios):
    return f"{len(ratios)}: {np.exp(np.mean(np.log(ratios))):.2f}"


def means(speeds):
    for key, what in (("onnx", "ONNX Runtime / Numba"), ("c", "C / Numba"), ("jax", "JAX / Numba")):
        ratios = [s[key] / s["numba"] for s in speeds if key in s and "numba" in s]
        if ratios:
            yield f"- {what}, geometric mean of {mean_ratio(ratios)}"


def page(names, rows):
    def of(name, *stages):
        return [rows.get((name, stage)) for stage in stages]

    def count(stage, holds):
        return sum(bool(holds(row)) for name in names for row in of(name, stage) if row)

    last = max(rows.values(), key=lambda row: row["date"])
    dates = " to ".join(dict.fromkeys((min(row["date"] for row in rows.values()), last["date"])))
    text = HEAD.format(
        **{k: last[k] for k in ("processor", "versions")}, dates=dates, n=len(names),
        converted=count("convert", lambda row: "error" not in row), dense=count("density", lambda row: row.get("passes")),
        run=count("nuts", lambda row: True), drawn=count("nuts", lambda row: row.get("passes")), points=DENSITY_POINTS,
        run_c=count("native", lambda row: True), drawn_c=count("native", lambda row: row.get("passes")),
        bound=DENSITY_BOUND, condition=CONDITION, ode=ODE_BOUND, chains=CHAINS, tune=TUNE, draws=DRAWS, z=Z_BOUND,
        rhat=RHAT_BOUND,
    )  # fmt: skip
    lines = [text.rstrip(), DRAWN, *(drawn_row(name, *of(name, "convert", "density", "nuts")) for name in names), ""]
    lines += [text for name in names for text in remark(name, *of(name, "density", "nuts", "pymc"))]
    lines += [AS_C, *(native_row(name, *of(name, "native")) for name in names)]
    if compilers := {name: row["cc"] for name in names for row in of(name, "native") if row and "cc" in row}:
        lines += ["", *(f"- {name}: compiled by `{cc}`, which changes no draw." for name, cc in compilers.items())]
    lines += [SPEED, *(speed_row(name, *of(name, "convert", "nuts", "native", "speed", "nutpie")) for name in names), ""]
    speeds = {name: row for name in names for row in of(name, "speed") if row}
    lines += means(speeds.values())
    pairs = [[rate(row) for row in of(name, "native", "nutpie")] for name in names]
    if ratios := [c / n for c, n in pairs if c and n]:
        lines += [f"- effective draws a second, C / nutpie, geometric mean of {mean_ratio(ratios)}"]
    for name, row in speeds.items():
        lines += [f"- {name}, {k.split('_')[0]}: {text}" for k, text in row.items() if k.endswith("_refused")]
    return "\n".join(lines).rstrip() + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=Path)
    parser.add_argument("--stages", default=",".join(STAGES))
    parser.add_argument("--limit", type=int, default=900)
    parser.add_argument("--results", type=Path, default=TOP / "build" / "posteriordb.jsonl")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--page", type=Path)
    parser.add_argument("--one", nargs=2)
    parser.add_argument("names", nargs="*")
    args = parser.parse_intermixed_args()
    if args.one:
        return one(args.root, *args.one)
    rows = read(args.results)
    for stage in args.stages.split(",") if args.stages else ():
        for name in names(args.root):
            if args.names and not any(part in name for part in args.names):
                continue
            old = rows.get((name, stage))
            if old and not (args.again and "error" in old) or not wanted(stage, name, rows):
                continue
            row = {"posterior": name, "stage": stage, **run(args.root, name, stage, args.limit)}
            row |= {"date": time.strftime("%Y-%m-%d"), "versions": versions(), "processor": processor()}
            rows[name, stage] = row
            with args.results.open("a") as f:
                f.write(json.dumps(row) + "\n")
            print(json.dumps({k: v for k, v in row.items() if k not in ("date", "versions", "processor")}), flush=True)
    if args.page:
        args.page.write_text(page(names(args.root), rows))


if __name__ == "__main__":
    main()
