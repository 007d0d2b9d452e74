"""Draws of vectors of different parameters, in NumPy's order on one stream: the numbers of NumPy's Generator, and the
same generator left behind, where kinds of parameters that read other numbers of words follow one another."""
import os
import time

import numpy as np
import pytest

import ptg
import test_random_words
from ptgc import _lib
from ptgc.native import MODEL, load_model

ROUNDS = int(os.environ.get("PTGC_ROUNDS", 12))
LENGTHS = 0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 100, 500


def mixed(*kinds):
    """Each parameter of one of the kinds: numbers, or ranges that it is drawn from"""
    def parameters(g, n):
        each = [g.uniform(*k, n) if isinstance(k, tuple) else np.full(n, float(k)) for k in kinds]
        return np.choose(g.integers(len(kinds), size=n), each)

    return parameters


def trials(*kinds):
    return lambda g, n: mixed(*kinds)(g, n).astype("int64")


def parts_of_one(*concentrations):
    """Vectors of three probabilities, of which some are 0 and some 1"""
    def parameters(g, n):
        p = g.dirichlet([g.choice(concentrations)] * 3, n)
        p[g.random((n, 3)) < 0.1] = 0
        p[:, 2] = np.maximum(1 - p[:, 0] - p[:, 1], 0)
        return p

    return parameters


def shapes_of_three(*kinds):
    return lambda g, n: np.stack([mixed(*kinds)(g, n) for _ in range(3)], axis=1)


def one_by_one(draw):
    """NumPy's draws of the rows of a matrix"""
    return lambda g, a: np.array([draw(g, row) for row in a]).reshape(a.shape)


# name: (op, its parameters, NumPy's draw, how far off draws may be in relation to their size)
DRAWS = {
    "gamma": ("gamma_rv", [mixed((0.01, 1), (1, 9), 1, 0, (10, 1e5)), mixed((0.5, 2))], np.random.Generator.gamma, 1e-15),
    "gamma near 1": ("gamma_rv", [mixed((1.0001, 1.3)), mixed(1)], np.random.Generator.gamma, 1e-15),
    "beta": ("beta_rv", [mixed((0.01, 1), (1, 9), 1, 1e-104, 1e-3), mixed((0.01, 1), (1, 9), 1, 1e-104)],
             np.random.Generator.beta, 1e-14),
    "t": ("t_rv", [mixed((0.1, 2), (1, 90), 2), mixed(0), mixed(1)], lambda g, df, loc, scale: g.standard_t(df), 1e-14),
    "vonmises": ("vonmises_rv", [mixed(0), mixed((0.01, 2), (1, 90), 0, 1e7)], np.random.Generator.vonmises, 1e-4),
    "poisson": ("poisson_rv", [mixed((0, 1), (0, 10), (10, 90), 0, (10, 8e7))], np.random.Generator.poisson, 0),
    "small poisson": ("poisson_rv", [mixed((0, 1), (0, 10), 0)], np.random.Generator.poisson, 0),
    "large poisson": ("poisson_rv", [mixed((10, 20), (10, 8e7))], np.random.Generator.poisson, 0),
    "huge poisson": ("poisson_rv", [mixed((10, 20), (10, 1e18))], np.random.Generator.poisson, 0),
    "mostly huge poisson": ("poisson_rv", [mixed((0, 20), (10, 1e18), (0, 20), 3, (0, 20))], np.random.Generator.poisson, 0),
    "binomial": ("binomial_rv", [trials((0, 20), (20, 200), (2, 1e6)), mixed((0, 1), (0, 1), 0, 1, (0, 0.01))],
                 np.random.Generator.binomial, 0),
    "large binomial": ("binomial_rv", [trials((310, 2000), (1000, 1e8)), mixed((0.1, 0.9))], np.random.Generator.binomial, 0),
    "huge binomial": ("binomial_rv", [trials((310, 2000), (1e9, 1e15)), mixed((0.1, 0.9))], np.random.Generator.binomial, 0),
    "mostly huge binomial": ("binomial_rv", [trials((1, 2000), (1e9, 1e15)), mixed((0, 0.9))], np.random.Generator.binomial, 0),
    "negative binomial": (
        "negative_binomial_rv", [mixed((0.01, 1), (1, 9), 1, (10, 100)), mixed((0.01, 0.1), (0.1, 1), 1)],
        np.random.Generator.negative_binomial, 0),
    "small negative binomial": (
        "negative_binomial_rv", [mixed((0.05, 0.9)), mixed((0.05, 0.9))], np.random.Generator.negative_binomial, 0),
    "hypergeometric": (
        "hypergeometric_rv", [trials((0, 9), (20, 90)), trials((10, 20), (20, 90)), trials((0, 10), (0, 10), 10)],
        np.random.Generator.hypergeometric, 0),
    "small hypergeometric": (
        "hypergeometric_rv", [trials((0, 9), (1, 4), (20, 90), 1e8), trials((10, 20), (17, 90)), trials((0, 10), (0, 10), 9, 2)],
        np.random.Generator.hypergeometric, 0),
    "small hypergeometric of few bad items": (
        "hypergeometric_rv", [trials((10, 20), (17, 90)), trials((0, 9), (1, 4), (20, 90)), trials((0, 10), (1, 3))],
        np.random.Generator.hypergeometric, 0),
    "all but few items": (
        "hypergeometric_rv", [trials(5, 6), trials(3, 4), trials((5, 9), 7)], np.random.Generator.hypergeometric, 0),
    "large hypergeometric": (
        "hypergeometric_rv", [trials((50, 500), (1000, 1e8)), trials((50, 500), (1000, 1e8)), trials((10, 90))],
        np.random.Generator.hypergeometric, 0),
    "hypergeometric by items and by rejection": (
        "hypergeometric_rv", [trials((0, 4), (20, 90), (1e8, 9e8)), trials((17, 90)), trials((0, 10), (10, 17), 9, 10)],
        np.random.Generator.hypergeometric, 0),
    "hypergeometric, mostly by rejection": (
        "hypergeometric_rv", [trials((0, 400)), trials((20, 900)), trials(10, (10, 20), (10, 20), (10, 20), 1)],
        np.random.Generator.hypergeometric, 0),
    "small beta": ("beta_rv", [mixed((0.01, 1)), mixed((0.01, 1))], np.random.Generator.beta, 1e-14),
    "large negative binomial": (
        "negative_binomial_rv", [mixed((2, 100)), mixed((0.01, 0.1))], np.random.Generator.negative_binomial, 0),
    "huge negative binomial": (
        "negative_binomial_rv", [mixed((1, 1.2), (0.5, 9)), mixed((1e-9, 1e-7), (0.01, 1))], np.random.Generator.negative_binomial, 0),
    "integers": ("integers_rv", [trials((-9, 9)), trials(10, (10, 1000))], np.random.Generator.integers, 0),
    "integers, some of one": ("integers_rv", [trials(9), trials(10, (10, 1000))], np.random.Generator.integers, 0),
    "integers of 32 and of 64 bits": (
        "integers_rv", [trials((-9, 9)), trials(10, (10, 1000), (1e10, 1e18))], np.random.Generator.integers, 0),
    "integers near 2^32": ("integers_rv", [trials(0), trials((2.2e9, 4.2e9))], np.random.Generator.integers, 0),
    "integers near 2^64": ("integers_rv", [trials((-9e18, -5e18)), trials((1e18, 9e18))], np.random.Generator.integers, 0),
    "integers near 2^32 and 2^64": (
        "integers_rv", [trials((-9e18, -5e18), (-9, 9)), trials((10, 4e9))], np.random.Generator.integers, 0),
    "multinomial": ("multinomial_rv", [trials((0, 40), 0, 1), parts_of_one(0.3, 3)], np.random.Generator.multinomial, 0),
    "large multinomial": (
        "multinomial_rv", [trials((0, 40), (200, 9000)), parts_of_one(0.3, 3)], np.random.Generator.multinomial, 0),
    "dirichlet": (
        "dirichlet_rv", [shapes_of_three((0.1, 1), (1, 9), 1)], one_by_one(np.random.Generator.dirichlet), 1e-14),
    "dirichlet, some by beta numbers": (
        "dirichlet_rv", [shapes_of_three((0.01, 0.2), 0)], one_by_one(np.random.Generator.dirichlet), 1e-13),
    "geometric": ("geometric_rv", [mixed((1e-9, 0.3), (0.3, 0.4), (0.3, 1), 1)], np.random.Generator.geometric, 0),
}  # fmt: skip


def text_of(op, arguments):
    names = [f"a{k}" for k in range(len(arguments))]
    header = ", ".join(f"{name}: {v.dtype}[{', '.join(['n', *map(str, v.shape[1:])])}]" for name, v in zip(names, arguments))
    return f"graph g(r: rng, {header}) -> (next: rng, x) {{\n  next, x = {op}(r, None, {', '.join(names)})\n}}"


def on_onnx_runtime(text):
    return lambda *values: ptg.run(text, *values)


def in_c(text):
    made = _lib.compile_text(text, code=True, model_name=MODEL, flags=["Wno-unused", "fentry"])
    return load_model(made, ("-O1",)).run


@pytest.mark.parametrize("make", [on_onnx_runtime, in_c])
@pytest.mark.parametrize("name", DRAWS)
def test_draws_of_vectors(name, make):
    op, parameters, numpys, off = DRAWS[name]
    g = np.random.default_rng(5)
    run = make(text_of(op, [p(g, 1) for p in parameters]))
    for k in range(ROUNDS):
        arguments = [p(g, LENGTHS[-k % len(LENGTHS)]) for p in parameters]
        r = np.random.default_rng(int(g.integers(1 << 40)))
        r.integers(9, size=k % 2, dtype=np.uint32)  # leaves half a word for the next draw that takes halves
        words, x = run(test_random_words.vector(r.bit_generator), *arguments)
        np.testing.assert_allclose(x, numpys(r, *arguments), rtol=off, atol=0)
        np.testing.assert_array_equal(words, test_random_words.vector(r.bit_generator))


def samples(g, n):
    """Numbers of good and of bad items, and samples of none, of few, of half and of all of them"""
    good, bad = (np.choose(g.integers(5, size=n), g.integers(0, [[4], [12], [40], [2000], [10**9]], (5, n))) for _ in range(2))
    count = np.choose(
        g.integers(7, size=n),
        [g.integers(4, size=n), g.integers(9, 12, n), g.integers(10, 40, n), good + bad, good + bad - g.integers(9, 12, n),
         (good + bad) // 2, (good + bad) // 2 + 1])
    return good, bad, np.clip(count, 0, good + bad)


@pytest.mark.parametrize("make", [on_onnx_runtime, in_c])
def test_hypergeometric_samples_of_any_size(make):
    g = np.random.default_rng(6)
    run = make(text_of("hypergeometric_rv", samples(g, 1)))
    for k in range(2 * ROUNDS):
        arguments = samples(g, LENGTHS[-k % len(LENGTHS)])
        r = np.random.default_rng(int(g.integers(1 << 40)))
        r.integers(9, size=k % 2, dtype=np.uint32)
        words, x = run(test_random_words.vector(r.bit_generator), *arguments)
        np.testing.assert_array_equal(x, r.hypergeometric(*arguments))
        np.testing.assert_array_equal(words, test_random_words.vector(r.bit_generator))


# op, what its parameters are, NumPy's draw: a comparison that is not sure of its last digits must not be met in many draws
MANY = {
    "negative_binomial_rv": ([mixed((0.1, 0.9)), mixed((0.05, 0.9))], np.random.Generator.negative_binomial),
    "poisson_rv": ([mixed((0, 30))], np.random.Generator.poisson),
    "hypergeometric_rv": (
        [trials((15, 90)), trials((15, 90)), trials((0, 10), (10, 20))], np.random.Generator.hypergeometric),
    "integers_rv": ([trials((-9, 9)), trials((10, 1000), (1e10, 1e18))], np.random.Generator.integers),
    "dirichlet_rv": ([shapes_of_three((0.1, 9))], one_by_one(np.random.Generator.dirichlet)),
}


@pytest.mark.parametrize("op", MANY)
def test_many_draws_are_not_made_one_by_one(op):
    parameters, numpys = MANY[op]
    g = np.random.default_rng(6)
    run = on_onnx_runtime(text_of(op, [p(g, 1) for p in parameters]))
    taken = []
    for n in (2000, 40_000):
        arguments = [p(g, n) for p in parameters]
        r = np.random.default_rng(7)
        words = test_random_words.vector(r.bit_generator)
        start = time.process_time()
        _, x = run(words, *arguments)
        taken.append(time.process_time() - start)
        np.testing.assert_allclose(x, numpys(r, *arguments), rtol=1e-13, atol=0)
    assert taken[1] < 60 * taken[0]
    assert taken[1] < 1.5
