"""Samplers by rejection, at the end of the words that a model reads at once.

A number that is rejected takes more words, so how many a call takes nobody knows before. A model reads some more than
are needed as a rule; from the last ones begin numbers that end behind them, and if numbers lack, more words are read.
Both are rare: here streams are made in which that happens, and many calls follow one another on a stream. `make check-random`
makes a million calls of each sampler and length.
"""
import os
import sys

import numpy as np
import pytest

import ptg

sys.path.insert(0, os.path.join(ptg.ROOT, "bench"))
import streams  # noqa: E402

FULL = os.environ.get("PTGC_FULL", "0") != "0"
REJECTING = [line for line in streams.ROWS.strip().splitlines() if line.split()[0] in streams.REJECTING]
FACTOR, MODULUS, WORD = 0x2360ED051FC65DA44385DF649FCCF645, 1 << 128, (1 << 64) - 1
# A uniform number of 0 and one of nearly 1; a number of the normal tail, one with a sign, and one that the next word
# decides, which rejects it if that is large; the same of exponential numbers
ONE = WORD >> 31 << 31
WORDS = 0, ONE | 0x7FF, 0xFFFFFFFFFFFFF << 9, 0xFFFFFFFFFFFFF << 9 | 256, 0xFFFFFFFFFFFFF << 9 | 1, ONE, ONE | 8


def generator(state, increment, steps=0):
    """PCG64, so many steps behind this state"""
    g = np.random.Generator(np.random.PCG64())
    words = {"state": state % MODULUS, "inc": increment % MODULUS}
    g.bit_generator.state = {"bit_generator": "PCG64", "state": words, "has_uint32": 0, "uinteger": 0}
    g.bit_generator.advance(steps % MODULUS)
    return g


def state_of(word, high):
    """The state with this upper half that gives the word: the halves' exclusive or, turned right by the upper 6 bits"""
    turn = high >> 58
    return high << 64 | high ^ (word << turn | word >> 64 - turn) & WORD


def with_words(first, second, at, rand):
    """A stream that has these two words at the place `at`"""
    while True:
        one, two = (state_of(w, int(rand.integers(1 << 64, dtype=np.uint64))) for w in (first, second))
        if (two - FACTOR * one) % 2:
            return generator(one, two - FACTOR * one, -at - 1)


def with_few_bits(rand):
    """A stream of a short period, in which only the upper 20 bits of the state change. Most words have 44 bits that are
    the same but for their places, so that rejections come in crowds."""
    low, high, step = (int(v) for v in rand.integers(1 << 64, size=3, dtype=np.uint64))
    same = low ^ int(rand.choice(np.array([0, WORD, WORD // 3, WORD >> 32, WORD >> 32 << 32, high], np.uint64)))
    state = (high >> 44 << 44 | same & (1 << 44) - 1) << 64 | low
    return generator(state, state * (1 - FACTOR) + ((step | 1) << 108))


def test_streams_are_made():
    raw = with_words(123, 456, 255, np.random.default_rng(1)).bit_generator.random_raw(258)
    assert list(raw[255:257]) == [123, 456]


def test_words_read_are_counted():
    g = np.random.default_rng(1)
    states = [streams.words(g)]
    for count in (1, 2, 5, 0, 1000, 70_001):
        g.integers(1 << 32, size=count, dtype=np.uint32)
        states.append(streams.words(g))
    assert list(streams.halves_read(np.array(states[:-1]), np.array(states[1:]))) == [1, 2, 5, 0, 1000, 70_001]


def test_rarest_calls_are_chosen():
    reads, x = np.array([2, 2, 2, 3, 2, 9] + [2] * 14), np.arange(20.0)
    chosen = streams.rarest(reads, x, x, 20)
    assert list(chosen[:4]) == [0, 19, 3, 5] and sorted(chosen) == list(range(20))
    assert list(streams.rarest(reads, x, x, 3)) == [3, 5, 0]


@pytest.mark.parametrize("line", REJECTING)
def test_words_run_out(line):
    rand = np.random.default_rng(1)
    # as a rule the first words are read by 256 or less
    rejected = [with_words(w, int(rand.choice(np.array(WORDS, np.uint64))), at, rand) for at in range(258) for w in WORDS]
    assert streams.Calls(line, "PCG64", "[1]").apart(rejected if FULL else rejected[::3], 1) is None
    model = streams.Calls(line, "PCG64")
    assert model.apart([with_few_bits(rand) for _ in range(400 if FULL else 40)], 100) is None


def check_in_turn(model, n, calls, seed=7):
    g = np.random.default_rng(seed)
    for done in range(0, calls, 1000):
        assert model.in_turn(g, n, min(calls - done, 1000)) is None, n


@pytest.mark.parametrize("line", REJECTING)
def test_calls_in_turn_of_c(line):
    """10,000 of each length"""
    model = streams.CallsInC(line, "PCG64")
    for n in streams.LENGTHS:
        check_in_turn(model, n, 10_000)


@pytest.mark.parametrize("line", REJECTING)
def test_calls_in_turn(line):
    """On ONNX Runtime 10,000, where a call takes 0.1 to 10 ms: of each length where PTGC_FULL=1, else of all lengths. Of those
    that had failed at random there are 10,000 of each length; half of these are calls of a number that stands in the text, for
    which the nodes are others."""
    model = streams.Calls(line, "PCG64")
    for n in streams.LENGTHS:
        if line.split()[0] in streams.ZIGGURATS:
            check_in_turn(model, n, 5000)
            check_in_turn(streams.Calls(line, "PCG64", f"[{n}]"), n, 5000, seed=8)
        else:
            check_in_turn(model, n, 10_000 if FULL else 1000 if n > 3 else 3000)


def test_binomial_of_the_last_uniform_number():
    """NumPy draws again where the probabilities add up to less; a draw is no more than n in any case"""
    model = streams.Calls("beta_binomial 10 0.01 0.01", "PCG64")
    rand = np.random.default_rng(1)
    made = [streams.words(with_words(WORD, WORD, at, rand)) for at in range(200)]
    _, x = model.results({"rs": np.array(made), "n": np.array(10), **{f"p{i}": p for i, p in enumerate(model.params)}})
    assert x.min() == 0 and x.max() == 10


@pytest.mark.parametrize("line, seed", [("normal 0.5 2", 67), ("exponential 2", 455)])
def test_all_words_are_read(line, seed):
    """All 256 that are there for 100 numbers, which is more than were asked for"""
    after, whole = (with_few_bits(np.random.default_rng(seed)) for _ in range(2))
    streams.oracle(*streams.read(line, 1)[::3], 100)(after)
    whole.bit_generator.advance(256)
    assert after.bit_generator.state == whole.bit_generator.state
    assert streams.Calls(line, "PCG64").apart([with_few_bits(np.random.default_rng(seed))], 100) is None


@pytest.mark.parametrize("line", ["normal 0.5 2", "exponential 2"])
@pytest.mark.parametrize("kind", streams.KINDS)
def test_other_generators(line, kind):
    model, g = streams.Calls(line, kind), np.random.Generator(getattr(np.random, kind)(7))
    for n in streams.LENGTHS:
        assert model.in_turn(g, n, 100) is None, n
