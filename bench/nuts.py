"""Effective draws a second

`nuts.py [--page FILE] [--ours] [model ...]` runs NUTS inside one ONNX file (`ptgc.compile_nuts`) at 1, 4, 64 and 512
chains. Beside it are nutpie and PyMC's own NUTS (by Numba), which run one chain after another on one processor: their
rate is that of any number of chains. Each chain has 1000 draws after 1000 of tuning, which count in the time;
compiling does not. The last column is the same for 64 chains by parts, as `Sampler.sample` runs them. --ours leaves
nutpie and PyMC out. Seconds are those of the processor, not of the clock, the best of two runs. Effective draws are
those of the element that has the fewest (ArviZ, bulk). The details go to standard error. --page writes the table into
FILE, in the place of the table of the last run. Needs: pymc, arviz, nutpie (bench/requirements.txt).
"""

import os

os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")

import argparse
import logging
import re
import sys
import time
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

import numpy as np  # noqa: E402
import onnxruntime as ort  # noqa: E402
import pymc as pm  # noqa: E402
from arviz_stats.base import array_stats  # noqa: E402

import ptgc  # noqa: E402
from ptgc._run import Run  # noqa: E402

CHAINS = 1, 4, 64, 512
BY_PARTS = 64
PEER_CHAINS = 8


def eight_schools():
    mu, tau, z = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5), pm.Normal("z", 0, 1, shape=8)
    sigma, y = np.array([15.0, 10, 16, 11, 9, 11, 10, 18]), np.array([28.0, 8, -3, 7, -1, 1, 18, 12])
    pm.Normal("y", mu + tau * z, sigma, observed=y)


def logistic_regression():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(569, 30))
    seen = rng.random(569) < 1 / (1 + np.exp(-x @ rng.normal(size=30) / 3))
    pm.Bernoulli("y", logit_p=x @ pm.Normal("beta", 0, 1, shape=30), observed=seen.astype(int))


def gaussian():
    pm.MvNormal("x", np.zeros(20), cov=np.diag(np.linspace(0.1, 4, 20)) + 0.1)


# What the table calls them, and for how many chains they are tried
MODELS = {
    "eight_schools": (eight_schools, "eight schools, 10 parameters", CHAINS),
    "gaussian": (gaussian, "normal distribution, 20 parameters", CHAINS),
    "logistic_regression": (logistic_regression, "logistic regression, 569 x 30", CHAINS[:3]),
}


def effective(variables):
    """Of arrays [chains, draws, ...]"""
    return min(
        float(array_stats.ess(x.reshape(*x.shape[:2], -1)[..., k], chain_axis=0, draw_axis=1))
        for x in variables for k in range(x[0, 0].size)
    )  # fmt: skip


def peers(model):
    """name -> (chains, run), where run(seed) returns the draws of each variable and the mean number of steps"""
    import nutpie

    compiled = nutpie.compile_pymc_model(model)
    names = [v.name for v in model.free_RVs]
    common = {"draws": 1000, "tune": 1000, "chains": PEER_CHAINS, "cores": 1}

    def results(found):
        return [found.posterior[v].values for v in names], float(found.sample_stats["n_steps"].mean())

    def by_nutpie(seed):
        return results(nutpie.sample(compiled, seed=seed, progress_bar=False, save_warmup=False, **common))

    def by_pymc(seed):
        with model:
            return results(pm.sample(random_seed=seed, progressbar=False, compute_convergence_checks=False, **common))

    return {"nutpie": (PEER_CHAINS, by_nutpie), "PyMC": (PEER_CHAINS, by_pymc)}


def ours(model, counts):
    sampler = ptgc.compile_nuts(model, chains=None, var_names=[v.name for v in model.free_RVs])
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = sampler.session(options)

    def in_one_call(inputs):
        return dict(zip(sampler.outputs, session.run(sampler.outputs, inputs)))

    def by_parts(inputs):
        run = Run(session, inputs, sampler.outputs, sampler.settings)
        run.go()
        return run.results()

    def with_chains(chains, sample):
        def run(seed):
            found = sample({"seed": np.array(seed), "chains": np.array(chains)})
            return [found[v.name] for v in model.free_RVs], found["n_steps"].mean()

        return chains, run

    return {str(chains): with_chains(chains, in_one_call) for chains in counts} | {"parts": with_chains(BY_PARTS, by_parts)}


def rates(model, counts, alone):
    """name -> effective draws a second, the best of two runs; the first one of nutpie and PyMC also compiles"""
    found = {}
    runs = ({} if alone else peers(model)) | ours(model, counts)
    for seed in 0, 1, 2:
        for who, (chains, run) in runs.items():
            if seed == 0 and chains != PEER_CHAINS or seed == 2 and who == "PyMC":
                continue
            begin = time.process_time()
            variables, steps = run(seed)
            seconds = time.process_time() - begin
            draws = effective(variables)
            about = f"{chains} chains, {seconds:.2f} s, {steps:.1f} steps a draw, {draws:.0f} effective draws"
            print(f"{who}: {about}", file=sys.stderr)
            if seed:
                found[who] = max(found.get(who, 0), draws / seconds)
    return found


def table(names, alone):
    yield f"| model | nutpie | PyMC | 1 chain | 4 | 64 | 512 | {BY_PARTS} by parts |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for name in names:
        define, about, counts = MODELS[name]
        print(name, file=sys.stderr)
        with pm.Model() as model:
            define()
        found = rates(model, counts, alone)
        cells = [f"{found[k]:,.0f}" if k in found else "" for k in ("nutpie", "PyMC", *map(str, CHAINS), "parts")]
        yield "| " + " | ".join([about, *cells]) + " |"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--page", type=Path)
    parser.add_argument("--ours", action="store_true")
    parser.add_argument("models", nargs="*")
    args = parser.parse_args()
    lines = "\n".join(table(args.models or MODELS, args.ours))
    print(lines)
    if args.page:
        text = args.page.read_text()
        old = re.search(r"\| model \| nutpie .*?(?=\n\n)", text, re.S)
        args.page.write_text(text[: old.start()] + lines + text[old.end() :])


if __name__ == "__main__":
    main()
