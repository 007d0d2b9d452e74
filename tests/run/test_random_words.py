"""The words of NumPy's bit generators, and the states that they leave behind."""
import numpy as np
import pytest

import ptg
from opsets import SOME_OPSETS
from ptgc import _lib
from ptgc.native import MODEL, load_model

HALF = 2 ** 64 - 1
KINDS = {"pcg64": np.random.PCG64, "pcg64dxsm": np.random.PCG64DXSM, "philox": np.random.Philox}
WORDS = """graph g(s: uint64[6], n: int64[], used: int64[]) -> (w, next) {
  w, h, l = _Words{kind="KIND"}(s, n)
  next = _After{kind="KIND"}(s, h, l, used)
}"""
WORDS32 = """graph g(s: uint64[6], n: int64[], used: int64[]) -> (x, next) {
  x, w, h, l = _Words32{kind="KIND"}(s, n)
  next = _After32{kind="KIND"}(s, w, h, l, used)
}"""


def vector(bits):
    """A bit generator as the words of lib/random/words.ptg"""
    state = bits.state
    s = state["state"]
    if "counter" in s:
        return np.array([*s["counter"], *s["key"], *state["buffer"], state["buffer_pos"],
                         state["has_uint32"], state["uinteger"]], np.uint64)
    return np.array([s["state"] >> 64, s["state"] & HALF, s["inc"] >> 64, s["inc"] & HALF,
                     state["has_uint32"], state["uinteger"]], np.uint64)


def raw(bits, n):
    return np.asarray(bits.random_raw(n), np.uint64) if n else np.zeros(0, np.uint64)


def raw32(bits, n):
    f = bits.ctypes
    return np.array([f.next_uint32(f.state_address) for _ in range(n)], np.uint64)


def run_c(text, *inputs):
    """ptg.run() of the C of a text"""
    made = _lib.compile_text("ptg 1\n" + text, code=True, model_name=MODEL, flags=["fentry"])
    return load_model(made, ("-O1",)).run(*inputs)


def check(text, kind, read, before, n, used, opset=18, fixed=False, run=ptg.run):
    bits = KINDS[kind](7)
    options = {"opset": opset} if run is ptg.run else {}
    raw32(bits, before)
    s, state = vector(bits), bits.state
    expected = read(bits, n)
    bits.state = state
    read(bits, used)
    text = text.replace("KIND", kind).replace("uint64[6]", f"uint64[{len(s)}]")
    if fixed:
        text = text.replace("n: int64[], used: int64[]", "").replace("(s, n)", f"(s, {n})").replace("used)", f"{used})")
        w, after = run(text, s, **options)
    else:
        w, after = run(text, s, np.array(n), np.array(used), **options)
    np.testing.assert_array_equal(w, expected)
    np.testing.assert_array_equal(after, vector(bits))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("opset", SOME_OPSETS)
def test_words(kind, opset):
    for n in (0, 1, 2, 255, 256, 257, 1000):
        check(WORDS, kind, raw, 3, n, n, opset)
        check(WORDS, kind, raw, 3, n, n // 2, opset)
    for n in (1, 256, 1000):
        check(WORDS, kind, raw, 3, n, n, opset, fixed=True)


@pytest.mark.parametrize("kind", KINDS)
def test_many_words(kind):
    """Jumps of more than 2^16 words, and of one block more or less"""
    for n in (65534, 65535, 65536, 200000):
        check(WORDS, kind, raw, 0, n, n)
    check(WORDS, kind, raw, 0, 200000, 199999, fixed=True)


@pytest.mark.parametrize("kind", KINDS)
def test_words_in_c(kind):
    for n, used in ((0, 0), (1, 1), (2, 1), (257, 257), (1000, 0), (70000, 65537)):
        check(WORDS, kind, raw, 3, n, used, run=run_c)
        check(WORDS32, kind, raw32, 1, n, used, run=run_c)
    check(WORDS, kind, raw, 0, 1000, 999, fixed=True, run=run_c)


@pytest.mark.parametrize("kind, opset", [("pcg64", 13), ("pcg64", 18), ("pcg64", 26), ("philox", 18)])
def test_words_of_32_bits(kind, opset):
    for before in (0, 1, 2, 3):
        for n in (0, 1, 2, 3, 300):
            for used in sorted({0, min(n, 1), n // 2, n}):
                check(WORDS32, kind, raw32, before, n, used, opset)


@pytest.mark.parametrize("run", [ptg.run, run_c])
@pytest.mark.parametrize("kind, size", [("pcg64", 6), ("pcg64dxsm", 6), ("philox", 13)])
def test_words_of_several_generators(kind, size, run):
    for text, read in ((WORDS, raw), (WORDS32, raw32)):
        text = text.replace("KIND", kind).replace("uint64[6]", f"uint64[c, {size}]").replace("used: int64[]", "used: int64[c]")
        generators = [KINDS[kind](i) for i in range(4)]
        for i, bits in enumerate(generators):
            raw32(bits, i)
        used = np.array([0, 1, 6, 300])
        w, after = run(text, np.stack([vector(bits) for bits in generators]), np.array(300), used)
        for i, bits in enumerate(generators):
            state = bits.state
            np.testing.assert_array_equal(w[i], read(bits, 300))
            bits.state = state
            read(bits, used[i])
            np.testing.assert_array_equal(after[i], vector(bits))


def test_counter_of_philox_carries():
    bits = np.random.Philox(counter=[2 ** 64 - 3, 2 ** 64 - 1, 2 ** 64 - 1, 7], key=5)
    s, text = vector(bits), WORDS.replace("KIND", "philox").replace("[6]", "[13]")
    w, after = ptg.run(text, s, np.array(23), np.array(21))
    np.testing.assert_array_equal(w[:21], raw(bits, 21))
    np.testing.assert_array_equal(after, vector(bits))


@pytest.mark.parametrize("kind, size", [("pcg64", 6), ("philox", 13)])
@pytest.mark.parametrize("waiting", [2, 3, 2 ** 32, 2 ** 63 + 1, HALF])
def test_words_that_are_no_generator(kind, size, waiting):
    """has_uint32 above 1, a uinteger of more than 32 bits, buffer_pos above 4: NumPy takes the first and the last as 1 and 4.
    Draws must not read words without end, nor be out of range."""
    bits = KINDS[kind](7)
    bits.random_raw(4)
    raw32(bits, 1)
    like, s = bits.state, vector(bits)
    s[-2:] = waiting, s[-1] | np.uint64(1 << 63)
    if kind == "philox":
        s[10], like["buffer_pos"] = waiting | 4, 4
    g = np.random.Generator(bits)
    for call, draw in (("permutation_rv(r, None, [1, 2, 3, 4, 5, 6])", lambda: g.permutation(np.arange(1, 7))),
                       ("integers_rv(r, [5], 0, 1000)", lambda: g.integers(0, 1000, 5)),
                       ('choice_without_replacement_rv{"(a0),(1)->(s0)"}(r, None, [1, 2, 3, 4], [2])', lambda: g.choice([1, 2, 3, 4], 2, replace=False)),
                       ("hypergeometric_rv(r, [3], 15, 20, 8)", lambda: g.hypergeometric(15, 20, 8, 3)),
                       ("normal_rv(r, [3], 0.0, 1.0)", lambda: g.normal(size=3))):
        bits.state = like
        after, x = ptg.run(f"graph g(r: {'rng' if kind == 'pcg64' else 'rng_philox'}) -> (next, x) {{\n  next, x = {call}\n}}", s)
        np.testing.assert_allclose(x, draw(), rtol=1e-14, err_msg=call)
        if "normal" not in call:  # which passes on the last two words as they are
            np.testing.assert_array_equal(after, vector(bits), err_msg=call)
