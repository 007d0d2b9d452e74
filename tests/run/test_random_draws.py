"""Draws of the continuous distributions through PyTensor's ops: those of PyTensor's Python mode, and the same
generator left behind. PTGC_DRAWS says how many draws are compared (`make check-random`: a million)."""
import os

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.tensor.random.type import random_generator_type

import ptg
import ptgc  # registers mode="ONNX"
import test_random_words

MANY = int(os.environ.get("PTGC_DRAWS", 10000))

# name: (op, sets of parameters, ULP that draws may be off, share of draws that may be off by more than 0)
DRAWS = {
    "uniform": (pt.random.uniform, [(0.0, 1.0), (-2.5, 3.0)], 0, 0),
    "triangular": (pt.random.triangular, [(-1.0, 0.3, 2.0)], 0, 0),
    "normal": (pt.random.normal, [(0.0, 1.0), (1.5, 0.3)], 2, 1e-4),
    "halfnormal": (pt.random.halfnormal, [(0.0, 1.0), (0.5, 2.0)], 2, 1e-4),
    "lognormal": (pt.random.lognormal, [(0.0, 1.0), (0.5, 2.0)], 16, 1),
    "exponential": (pt.random.exponential, [(1.0,), (3.7,)], 2, 1e-4),
    "laplace": (pt.random.laplace, [(0.0, 1.0)], 4, 1),
    "logistic": (pt.random.logistic, [(0.0, 1.0)], 4, 1),
    "gumbel": (pt.random.gumbel, [(0.0, 1.0)], 4, 1),
    "cauchy": (pt.random.cauchy, [(0.0, 1.0)], 4, 1),
    "halfcauchy": (pt.random.halfcauchy, [(0.0, 1.0)], 4, 1),
    "pareto": (pt.random.pareto, [(3.0, 1.5)], 4, 1),
    "weibull": (pt.random.weibull, [(1.7,)], 4, 1),
    "gamma": (pt.random.gamma, [(2.5, 1.0), (40.0, 3.0), (1.0, 2.0), (0.0, 1.0)], 4, 1e-4),
    "gamma below 1": (pt.random.gamma, [(0.6, 1.0), (0.9, 1.0)], 4, 1e-4),
    "invgamma": (pt.random.invgamma, [(2.5, 3.0)], 2, 1e-4),
    "gengamma": (pt.random.gengamma, [(5.0, 2.0, 1.5)], 4, 1),
    "t": (pt.random.t, [(4.0, 0.5, 2.0)], 4, 1),
    "beta": (pt.random.beta, [(2.0, 3.0), (0.6, 3.0)], 8, 1),
    "beta below 1": (pt.random.beta, [(0.5, 0.7)], 8, 1),
    "wald": (pt.random.wald, [(1.5, 2.0)], 8, 1),
    "vonmises": (pt.random.vonmises, [(0.3, 2.0), (0.3, 1e-6), (0.3, 1e-9), (0.3, 1e7)], 8, 1),
    "truncexpon": (pt.random.truncexpon, [(2.0, 0.0, 1.0)], 4, 1),
}


# where terms are added, the ULP are those of numbers of this size
SIZES = {"normal": 2, "laplace": 1, "logistic": 1, "gumbel": 1, "cauchy": 1, "halfcauchy": 1, "lognormal": 0}


def compare(name, x, y, ulp, share):
    assert x.dtype == y.dtype and x.shape == y.shape, name
    size = SIZES.get(name, 0)
    if name == "vonmises":  # an arc cosine near 1 or -1, of a point that is rounded there
        size = 4 / np.maximum(np.abs(np.sin(y - 0.3)), 1e-8)
    off = np.abs(x - y) / np.spacing(np.maximum(np.abs(y), size).astype(y.dtype))
    off = np.where((x == y) | (np.isnan(x) & np.isnan(y)), 0, off)
    assert np.all(off <= ulp), (name, off.max())
    assert (off > 0).sum() <= max(share * off.size, 1 if share else 0), (name, (off > 0).mean())


def both(r, inputs, outputs, args, ulp, share, name, opset=None):
    """Outputs of the ONNX mode and of PyTensor's Python mode; the first one is the generator."""
    mode = ptgc.linker.onnx_mode(opset=opset) if opset else "ONNX"
    got, want = (pytensor.function([r, *inputs], outputs, mode=m)(np.random.default_rng(3), *args)
                 for m in (mode, pytensor.compile.mode.Mode("py", None)))
    for x, y in zip(got[1:], want[1:], strict=True):
        compare(name, x, y, ulp, share if y.size > 100 else share and 1)
    assert got[0].bit_generator.state == want[0].bit_generator.state, name


def chain(r, op, calls):
    """Draws one after the other: the last generator, and the draws"""
    draws = []
    for params, size, dtype in calls:
        r, x = op(*params, size=size, rng=r, dtype=dtype, return_next_rng=True)
        draws.append(x)
    return [r, *draws]


@pytest.mark.parametrize("name", DRAWS)
def test_draws(name):
    op, sets, ulp, share = DRAWS[name]
    r, n = random_generator_type("r"), pt.lscalar("n")
    calls = [(params, (n,), "float64") for params in sets]
    calls += [(sets[0], size, "float64") for size in (None, (0,), (3, 5))]
    calls += [(sets[0], (150,), "float32")]
    both(r, [n], chain(r, op, calls), [MANY], ulp, share, name)


# the fns that ask for the rank of a parameter, and some of the others
VECTORS = ["uniform", "normal", "pareto", "weibull", "gamma", "gamma below 1", "t", "beta", "beta below 1", "wald",
           "vonmises", "truncexpon"]


@pytest.mark.parametrize("name", VECTORS if os.environ.get("PTGC_FULL", "0") == "0" else DRAWS)
def test_draws_of_vectors(name):
    """Parameters that differ from draw to draw"""
    op, sets, ulp, share = DRAWS[name]
    r, scalars = random_generator_type("r"), [pt.dscalar() for _ in sets[0]]
    vectors = [np.linspace(p, p + 0.125, 40) for p in sets[0]]
    calls = [(vectors, None, "float64"), ([vectors[0][:, None], *sets[0][1:]], (40, 7), "float64"),
             (scalars, (4,), "float64"), ([v[:0] for v in vectors], None, "float64")]
    both(r, scalars, chain(r, op, calls), sets[0], ulp, share, name)


KINDS = {"rng": np.random.PCG64, "rng_pcg64dxsm": np.random.PCG64DXSM, "rng_philox": np.random.Philox}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("opset, math, level", [(13, "exact", "none"), (18, "standard", "all"), (26, "native", "all")])
def test_bit_generators_and_opsets(kind, opset, math, level):
    """One stream for every kind, opset, level of numerics and of ONNX Runtime's optimiser"""
    text = f"""graph g(r: {kind}, n: int64[], a: float64[]) -> (next: {kind}, u, z, e, x, y, one) {{
      r1, u = uniform_rv(r, MakeVector(n), -1.0, a)
      r2, z = normal_rv(r1, MakeVector(n), 0.0, a)
      r3, e = exponential_rv(r2, MakeVector(n), a)
      r4, x = gamma_rv(r3, MakeVector(n), a, 1.0)
      r5, y = normal_rv(r4, [3], 0.0, 1.0)
      next, one = normal_rv(r5, None, 0.0, 1.0)
    }}"""
    n = 40 if opset == 13 else 700
    g = np.random.Generator(KINDS[kind](5))
    after, *draws = ptg.run(text, test_random_words.vector(g.bit_generator), np.array(n), np.array(2.5),
                            opset=opset, math=math, level=level)
    want = [g.uniform(-1, 2.5, n), g.normal(0, 2.5, n), g.exponential(2.5, n), g.gamma(2.5, 1, n),
            g.normal(size=3), g.normal()]
    for x, y in zip(draws, want, strict=True):
        compare(kind, x, np.asarray(y), 1, 1e-4)
    np.testing.assert_array_equal(after, test_random_words.vector(g.bit_generator))


@pytest.mark.parametrize("draw, message", [
    ("normal_rv(r, None, 0.0, p)", "scale < 0"), ("lognormal_rv(r, None, 0.0, p)", "sigma < 0"),
    ("gamma_rv(r, None, p, 1.0)", "shape < 0"), ("gamma_rv(r, None, [p, p], 1.0)", "shape < 0"),
    ("beta_rv(r, None, [p, p], 1.0)", "a <= 0"), ("t_rv(r, None, p, 0.0, 1.0)", "Domain error"), ("uniform_rv(r, None, 0.0, p)", "high - low < 0"),
    ("beta_rv(r, None, p, 1.0)", "a <= 0"), ("vonmises_rv(r, None, 0.0, p)", "kappa < 0"),
    ("triangular_rv(r, None, 0.0, p, 1.0)", "left > mode"), ("gumbel_rv(r, None, 0.0, p)", "Domain error in arguments"),
])
def test_bad_parameters(draw, message):
    text = f"graph g(r: rng, p: float64[]) -> (next: rng, x) {{\n  next, x = {draw}\n}}"
    with pytest.raises(Exception, match=message):
        ptg.run(text, test_random_words.vector(np.random.PCG64(1)), np.array(-0.5))


@pytest.mark.parametrize("draw", [
    "vonmises_rv(r, [2], 0.0, p)", "vonmises_rv(r, None, 0.0, [p, p])", "gamma_rv(r, [2], p, 1.0)",
    "gamma_rv(r, None, [p, p], 1.0)", "beta_rv(r, [2], p, 3.0)", "normal_rv(r, [2], p, 1.0)",
])
def test_parameters_that_are_no_number(draw):
    """NaN, also where NumPy draws for ever (gamma, beta)"""
    text = f"graph g(r: rng, p: float64[]) -> (next: rng, x) {{\n  next, x = {draw}\n}}"
    assert np.isnan(ptg.run(text, test_random_words.vector(np.random.PCG64(1)), np.array(np.nan))[1]).all()
