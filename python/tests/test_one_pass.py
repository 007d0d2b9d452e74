"""Draws of many points at once: the numbers and the generator that one draw after the other gives, in NumPy."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import Mode
from pytensor.tensor.random import basic
from pytensor.tensor.random.op import RandomVariable

from ptgc._one_pass import ONE_PASS, one_pass

PYTHON = Mode("py", "fast_compile")
# of each class: its op, and parameters from x > 0
CASES = {
    "BernoulliRV": (basic.bernoulli, lambda x: [x / (1 + x)]),
    "BetaRV": (basic.beta, lambda x: [x, 2 / x]),
    "BinomialRV": (basic.binomial, lambda x: [40, x / (1 + x)]),
    "CategoricalRV": (basic.categorical, lambda x: [pt.stack([x, 2 * x, 3 - x], axis=-1) / (3 + 2 * x)[..., None]]),
    "CauchyRV": (basic.cauchy, lambda x: [x, 2 * x]),
    "DirichletRV": (basic.dirichlet, lambda x: [pt.stack([x, 2 * x, 3 / x], axis=-1)]),
    "ExponentialRV": (basic.exponential, lambda x: [x]),
    "GammaRV": (basic._gamma, lambda x: [x, 2 * x]),
    "GeometricRV": (basic.geometric, lambda x: [x / (1 + x)]),
    "GumbelRV": (basic.gumbel, lambda x: [x, 2 * x]),
    "HalfCauchyRV": (basic.halfcauchy, lambda x: [0, x]),
    "HalfNormalRV": (basic.halfnormal, lambda x: [0, x]),
    "HyperGeometricRV": (basic.hypergeometric, lambda x: [10, 15, pt.cast(10 * x, "int64")]),
    "InvGammaRV": (basic.invgamma, lambda x: [x, 2 * x]),
    "LaplaceRV": (basic.laplace, lambda x: [x, 2 * x]),
    "LogNormalRV": (basic.lognormal, lambda x: [x, 0.5]),
    "LogisticRV": (basic.logistic, lambda x: [x, 2 * x]),
    "MultinomialRV": (
        basic.multinomial,
        lambda x: [pt.cast(9 * x, "int64"), pt.stack([x, 2 * x, 3 - x], axis=-1) / (3 + 2 * x)[..., None]],
    ),
    "NegBinomialRV": (basic.negative_binomial, lambda x: [5 * x, 0.3]),
    "NormalRV": (basic.normal, lambda x: [x, 2 * x]),
    "ParetoRV": (basic.pareto, lambda x: [x, 2]),
    "PoissonRV": (basic.poisson, lambda x: [8 * x]),
    "StudentTRV": (basic.t, lambda x: [2 * x, x, 1]),
    "TriangularRV": (basic.triangular, lambda x: [-x, 0, x]),
    "TruncExponentialRV": (basic.truncexpon, lambda x: [x, 0, 1]),
    "UniformRV": (basic.uniform, lambda x: [-x, x]),
    "VonMisesRV": (basic.vonmises, lambda x: [0, x]),
    "WaldRV": (basic.wald, lambda x: [x, 2]),
    "WeibullRV": (basic.weibull, lambda x: [x]),
}


def test_every_class_of_pytensor_has_a_case():
    ops = {type(op).__name__ for op in vars(basic).values() if isinstance(op, RandomVariable)}
    assert {name for name in ONE_PASS if name in ops} == set(CASES)


@pytest.mark.parametrize("size", [None, (2, 3)])
@pytest.mark.parametrize("name", CASES)
def test_one_call_draws_what_calls_in_turn_draw(name, size):
    op, parameters = CASES[name]
    x = pt.dvector("x")
    rng = pytensor.shared(np.random.default_rng(1), name="rng")
    left, drawn = op(*parameters(x), size=size, rng=rng, return_next_rng=True)
    points, given = pt.dmatrix("points"), rng.type("given")
    found = one_pass([drawn], {rng: left}, {x: points}, {rng: given}, points.shape[0])
    assert found is not None and not found[2]
    many = pytensor.function([points, given], [*found[0], *found[1]], mode=PYTHON)
    results = pytensor.graph.clone_replace([drawn, left], {rng: given})
    one = pytensor.function([x, pytensor.In(given, mutable=False)], results, mode=PYTHON)
    values = np.random.default_rng(3).uniform(0.2, 2, (7, 3))
    got, after = many(values, np.random.default_rng(5))
    state, want = np.random.default_rng(5), []
    for row in values:
        y, state = one(row, state)
        want.append(y)
    np.testing.assert_array_equal(got, want)
    assert after.bit_generator.state == state.bit_generator.state
    assert many(values[:0], np.random.default_rng(5))[0].shape == (0, *np.shape(want)[1:])


def test_a_draw_that_depends_on_no_point_is_a_draw_for_each():
    x, rng = pt.dscalar("x"), pytensor.shared(np.random.default_rng(1))
    left, y = basic.normal(0, 1, size=(3,), rng=rng, return_next_rng=True)
    points, given = pt.dvector("points"), rng.type("given")
    [z, fixed], _, looped = one_pass([y * x, pt.arange(2)], {rng: left}, {x: points}, {rng: given}, points.shape[0])
    f = pytensor.function([points, given], [z, fixed], mode=PYTHON)
    found, same = f(np.arange(4.0), np.random.default_rng(2))
    np.testing.assert_array_equal(found, np.random.default_rng(2).normal(size=(4, 3)) * np.arange(4)[:, None])
    np.testing.assert_array_equal(same, np.tile([0, 1], (4, 1)))
    assert looped == []


def test_draws_in_a_chain_and_decompositions_stay_a_loop():
    x, rng = pt.dscalar("x"), pytensor.shared(np.random.default_rng(1))
    first, y = basic.normal(x, 1, rng=rng, return_next_rng=True)
    left, z = basic.normal(y, 1, rng=first, return_next_rng=True)
    points, given = pt.dvector("points"), rng.type("given")
    assert one_pass([z], {rng: left}, {x: points}, {rng: given}, points.shape[0]) is None
    root = pt.linalg.cholesky(pt.eye(2) * x)
    left, y = basic.normal(root, 1, rng=rng, return_next_rng=True)
    assert one_pass([y], {rng: left}, {x: points}, {rng: given}, points.shape[0]) is None
