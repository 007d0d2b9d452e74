"""Posteriors of examples/nuts, drawn by the sampler inside of the model, beside those of PyMC's own NUTS.
nuts_posteriors.json has the latter, with standard errors; bench/posteriors.py made it."""
import json
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest

from files import compile_file

HERE = Path(__file__).parent
PYMC = json.loads((HERE / "nuts_posteriors.json").read_text())
PROBABILITIES = 0.05, 0.5, 0.95


def sample(name, chains, seed=1):
    model, said = compile_file(HERE.parents[1] / "examples" / "nuts" / f"{name}.ptg")
    assert model, said
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    return dict(zip(names, session.run(names, {"seed": np.array(seed), "chains": np.array(chains)})))


def statistics(x):
    return np.array([x.mean(), *np.quantile(x, PROBABILITIES)])


def r_hat(x):
    half = x.shape[1] // 2
    x = np.concatenate([x[:, :half], x[:, half:2 * half]])
    within, between = x.var(axis=1, ddof=1).mean(), x.mean(axis=1).var(ddof=1)
    return np.sqrt((half - 1) / half + between / within)


@pytest.mark.parametrize("name, chains", [("eight_schools", 32), ("regression", 16)])
def test_posterior(name, chains):
    found = sample(name, chains)
    assert found["diverging"].mean() < 0.005
    for key, (values, errors) in PYMC[name].items():
        variable, _, k = key.rstrip("]").partition("[")
        x = found[variable].reshape(chains, 1000, -1)[..., int(k)]
        assert r_hat(x) < 1.01, key
        # chains do not depend on each other, so their spread gives the standard errors
        own = np.std([statistics(chain) for chain in x], axis=0, ddof=1) / chains ** 0.5
        away = (statistics(x) - values) / np.hypot(errors, own)
        assert (abs(away) < 4.5).all(), (key, away)
        assert (own < 0.05 * x.std()).all(), key
    try:
        from arviz_stats.base import array_stats
    except ImportError:
        return
    for variable in {key.partition("[")[0] for key in PYMC[name]}:
        x = found[variable].reshape(chains, 1000, -1)
        assert array_stats.rhat(x, chain_axis=0, draw_axis=1).max() < 1.01
        assert array_stats.ess(x, chain_axis=0, draw_axis=1).min() > 100 * chains
