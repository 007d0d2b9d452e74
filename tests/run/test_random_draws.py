"""Draws of the continuous distributions through PyTensor's ops: those of PyTensor's Python mode, and the same
generator left behind. PTGC_DRAWS says how many draws are compared (`make check-random`: a million)."""
import os

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.tensor.random.type import random_generator_type

import ptgc  # registers mode="ONNX"

MANY = int(os.environ.get("PTGC_DRAWS", 10000))

# name: (op, sets of parameters, ULP that draws may be off, share of draws that may be off by more than 0)
DRAWS = {
    "uniform": (pt.random.uniform, [(0.0, 1.0), (-2.5, 3.0)], 0, 0),
    "triangular": (pt.random.triangular, [(-1.0, 0.3, 2.0)], 0, 0),
    "normal": (pt.random.normal, [(0.0, 1.0), (1.5, 0.3)], 2, 1e-4),
    "halfnormal": (pt.random.halfnormal, [(0.0, 1.0), (0.5, 2.0)], 2, 1e-4),
    "lognormal": (pt.random.lognormal, [(0.0, 1.0), (0.5, 2.0)], 4, 1),
    "exponential": (pt.random.exponential, [(1.0,), (3.7,)], 2, 1e-4),
    "laplace": (pt.random.laplace, [(0.0, 1.0)], 4, 1),
    "logistic": (pt.random.logistic, [(0.0, 1.0)], 4, 1),
    "gumbel": (pt.random.gumbel, [(0.0, 1.0)], 4, 1),
    "cauchy": (pt.random.cauchy, [(0.0, 1.0)], 4, 1),
    "halfcauchy": (pt.random.halfcauchy, [(0.0, 1.0)], 4, 1),
    "pareto": (pt.random.pareto, [(3.0, 1.5)], 4, 1),
    "truncexpon": (pt.random.truncexpon, [(2.0, 0.0, 1.0)], 4, 1),
}


def draw(op, params, size, dtype="float64", opset=None, seed=3, mode=None):
    """The draw and the words of the generator after it, by the ONNX mode and by PyTensor's Python mode"""
    r = random_generator_type("r")
    n = pt.lscalar("n") if size == "open" else None
    length = MANY if size == "open" else size
    nxt, x = op(*params, size=(n,) if n is not None else size, rng=r, dtype=dtype, return_next_rng=True)
    inputs = [r] + ([n] if n is not None else [])
    results = []
    for m in (mode or "ONNX", pytensor.compile.mode.Mode("py", None)):
        f = pytensor.function([pytensor.In(r, mutable=False)] + inputs[1:], [nxt, x], mode=m)
        after, value = f(np.random.default_rng(seed), *([length] if n is not None else []))
        results.append((value, after.bit_generator.state))
    return results


def compare(name, results, ulp, share, largest=0):
    (x, state), (y, expected) = results
    assert x.dtype == y.dtype and x.shape == y.shape, name
    off = np.abs(x - y) / np.spacing(np.maximum(np.abs(y), largest))
    off = np.where(x == y, 0, off)
    assert np.all(off <= ulp), (name, off.max())
    assert (off > 0).sum() <= max(share * off.size, 1 if share else 0), (name, (off > 0).mean())
    assert state == expected, name


@pytest.mark.parametrize("name", DRAWS)
def test_draws(name):
    op, sets, ulp, share = DRAWS[name]
    for params in sets:
        largest = 1 if len(params) > 1 and ulp > 2 else 0
        compare(name, draw(op, params, "open"), ulp, share, largest)
        for size in (None, (0,), (1,), (3, 5)):
            for seed in range(3):
                compare(name, draw(op, params, size, seed=seed), ulp, 1, largest)
    compare(name, draw(op, params, (200,), dtype="float32"), ulp, share, largest)
    # a vector of each parameter
    vectors = [np.linspace(p, p + 0.125, 40) for p in params]
    compare(name, draw(op, vectors, None), ulp, share, largest)
    compare(name, draw(op, [vectors[0][:, None], *params[1:]], (40, 7)), ulp, share, largest)
