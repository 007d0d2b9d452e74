"""Effective draws a second

`nuts.py [model ...]`: NUTS inside of one ONNX file (`ptgc.compile_nuts`) at 1, 4, 64 and 512 chains, beside nutpie and
PyMC's own NUTS (by Numba), which run one chain after another on one processor: their rate is that of any number of
chains. 1000 draws of a chain after 1000 of tuning, which count in the time; compiling does not. Seconds are those of
the processor, not of the clock. Effective draws are those of the element that has the fewest (ArviZ, bulk).
Needs: pymc, arviz, nutpie.
"""

import os

os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")

import logging
import sys
import time
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

import numpy as np  # noqa: E402
import onnxruntime as ort  # noqa: E402
import pymc as pm  # noqa: E402
from arviz_stats.base import array_stats  # noqa: E402

import ptgc  # noqa: E402

CHAINS = 1, 4, 64, 512
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


MODELS = {f.__name__: f for f in (eight_schools, logistic_regression, gaussian)}


def effective(variables):
    """Of arrays [chains, draws, ...]"""
    return min(
        float(array_stats.ess(x.reshape(*x.shape[:2], -1)[..., k], chain_axis=0, draw_axis=1))
        for x in variables for k in range(x[0, 0].size)
    )  # fmt: skip


def seconds(run):
    run(0)
    begin = time.process_time()
    found = run(1)
    return time.process_time() - begin, found


def peers(model):
    import nutpie

    compiled = nutpie.compile_pymc_model(model)
    names = [v.name for v in model.free_RVs]
    common = {"draws": 1000, "tune": 1000, "chains": PEER_CHAINS, "cores": 1}

    def by_nutpie(seed):
        return nutpie.sample(compiled, seed=seed, progress_bar=False, save_warmup=False, **common)

    def by_pymc(seed):
        with model:
            return pm.sample(random_seed=seed, progressbar=False, compute_convergence_checks=False, **common)

    for name, run in {"nutpie": by_nutpie, "PyMC": by_pymc}.items():
        time_, found = seconds(run)
        draws = effective([found.posterior[v].values for v in names])
        yield name, PEER_CHAINS, time_, draws, float(found.sample_stats["n_steps"].mean())


def ours(model):
    sampler = ptgc.compile_nuts(model, chains=None, var_names=[v.name for v in model.free_RVs])
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = sampler.session(options)
    for chains in CHAINS:
        feed = {"seed": np.array(1), "chains": np.array(chains)}
        time_, found = seconds(lambda seed: session.run(sampler.outputs, feed | {"seed": np.array(seed)}))
        found = dict(zip(sampler.outputs, found))
        draws = effective([found[v.name] for v in model.free_RVs])
        yield "ONNX", chains, time_, draws, found["n_steps"].mean()


def main(names):
    print("| model | | chains | seconds | steps a draw | effective draws a second | times nutpie's |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for name in names or MODELS:
        with pm.Model() as model:
            MODELS[name]()
        base = None
        for run in (peers(model), ours(model)):
            for who, chains, time_, draws, steps in run:
                rate = draws / time_
                base = base or rate
                print(f"| {name} | {who} | {chains} | {time_:.2f} | {steps:.1f} | {rate:,.0f} | {rate / base:.2f} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
