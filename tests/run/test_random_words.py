"""The words of NumPy's bit generators, and the states that they leave behind."""
import numpy as np
import pytest

import ptg

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
    """A bit generator as the words of lib/random.ptg"""
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


def check(text, kind, read, before, n, used, opset=18, fixed=False):
    bits = KINDS[kind](7)
    raw32(bits, before)
    s, state = vector(bits), bits.state
    expected = read(bits, n)
    bits.state = state
    read(bits, used)
    text = text.replace("KIND", kind).replace("uint64[6]", f"uint64[{len(s)}]")
    if fixed:
        text = text.replace("n: int64[], used: int64[]", "").replace("(s, n)", f"(s, {n})").replace("used)", f"{used})")
        w, after = ptg.run(text, s, opset=opset)
    else:
        w, after = ptg.run(text, s, np.array(n), np.array(used), opset=opset)
    np.testing.assert_array_equal(w, expected)
    np.testing.assert_array_equal(after, vector(bits))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("opset", [13, 18, 26])
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


@pytest.mark.parametrize("kind, opset", [("pcg64", 13), ("pcg64", 18), ("pcg64", 26), ("philox", 18)])
def test_words_of_32_bits(kind, opset):
    for before in (0, 1, 2, 3):
        for n in (0, 1, 2, 3, 300):
            for used in sorted({0, min(n, 1), n // 2, n}):
                check(WORDS32, kind, raw32, before, n, used, opset)


@pytest.mark.parametrize("kind, size", [("pcg64", 6), ("philox", 13)])
def test_words_of_several_generators(kind, size):
    for text, read in ((WORDS, raw), (WORDS32, raw32)):
        text = text.replace("KIND", kind).replace("uint64[6]", f"uint64[c, {size}]").replace("used: int64[]", "used: int64[c]")
        generators = [KINDS[kind](i) for i in range(4)]
        for i, bits in enumerate(generators):
            raw32(bits, i)
        used = np.array([0, 1, 6, 300])
        w, after = ptg.run(text, np.stack([vector(bits) for bits in generators]), np.array(300), used)
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
