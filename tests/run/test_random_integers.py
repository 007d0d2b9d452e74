"""Integers of a range, as NumPy's Generator.integers draws them: the same integers, and the same state after them."""

import numpy as np
import pytest

import ptg
from test_generators import same, words
from opsets import SOME_OPSETS

TEXT = """graph g(r: rng, low: int64[LOW], high: DTYPE[HIGH], before: bool[]) -> (next: rng, x) {
  used = if before { used, _ = integers_rv(r, None, 0, 10) } else { used = r }
  next, x = integers_rv(used, SIZE, low, high)
}"""
SPANS = [1, 2, 3, 10, 2**16, 2**31, 2**31 + 1, 3 * 2**30, 2**32 - 2, 2**32 - 1, 2**32, 2**32 + 1, 2**40 + 7, 2**63 - 5,
         2**63, 3 * 2**62, 2**64 - 1]


def check(low, high, size, before=False, opset=18, kind=np.random.PCG64):
    g = np.random.Generator(kind(5))
    r = words(g)
    if before:
        g.integers(10)
    want = g.integers(low, high, size)
    low, high = np.asarray(low), np.asarray(high)

    def dims(x):
        return ", ".join("1" if n == 1 else "?" for n in x.shape)

    text = TEXT.replace("LOW", dims(low)).replace("HIGH", dims(high)).replace("DTYPE", str(high.dtype))
    text = text.replace("SIZE", str(size)).replace("r: rng", {"PCG64DXSM": "r: rng_pcg64dxsm"}.get(kind.__name__, "r: rng"))
    text = text.replace("next: rng", "next")
    after, x = ptg.run(text, r, low, high, np.array(before), opset=opset)
    same(x, want)
    assert x.dtype == np.int64 and x.shape == np.shape(want)
    same(after, words(g))


@pytest.mark.parametrize("opset", SOME_OPSETS)
def test_one_range(opset):
    for span in SPANS:
        low = -(2**63) if span > 2**62 else -3
        high = low + span
        high = np.uint64(high) if high == 2**63 else high
        for size in (None, [0], [1], [3, 5]) if opset == 18 else ([3, 5],):
            check(low, high, size, before=size == [3, 5], opset=opset)


def test_many():
    for span in (10, 2**31 + 1, 3 * 2**30, 2**63 + 1):
        check(-(2**63), span - 2**63, [20000], before=True)
    check(0, 1000, [1000], kind=np.random.PCG64DXSM)


def test_ranges_for_each():
    low = np.array([-5, 0, 7])
    check(low, 10, None, before=True)
    check(low, np.array([10, 2**31, 2**32]), None)
    check(low, np.array([[10], [3 * 2**30]]) + 2**31, [4, 2, 3])
    check(np.array([0, 0, 3, 3]), np.array([1, 2**40, 9, 2**31 + 9]), [50, 4], before=True)
    check(np.zeros(0, int), 5, None)
    check(0, np.full(2000, 2**31 + 1), None)


def test_wrong_ranges():
    for low, high in ((0, 0), (3, 2), (0, np.array([1, 0])), (np.array([0, 5]), np.array([1, 5]))):
        with pytest.raises(ValueError) as e:
            np.random.default_rng(1).integers(low, high)
        with pytest.raises(Exception, match=f"Name:'{e.value}"):
            one, two = ("[n]" if np.ndim(x) else "[]" for x in (low, high))
            ptg.run(f"graph g(a: int64{one}, b: int64{two}) -> (x) {{ _, x = integers_rv(rng(1), None, a, b) }}",
                    np.array(low), np.array(high))
    check(3, 2, [0])
