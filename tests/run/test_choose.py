"""Choose, PermuteRowElements, UnravelIndex, RavelMultiIndex."""

import numpy as np
import pytensor.tensor as pt
import pytest
from pytensor.tensor.basic import PermuteRowElements, choose
from pytensor.tensor.extra_ops import ravel_multi_index, unravel_index

from harness import ALL, INTS, OPSETS, SIZES, UINTS, Compiled, values, variable
import ptg


@pytest.mark.parametrize("order", ["C", "F"])
def test_unravel_index(order):
    for dtype in INTS:
        for rank in (0, 1, 2):
            for dynamic in (False, True):
                for size in SIZES:
                    i = variable(dtype, (size,) * rank, dynamic, "i")
                    c = Compiled([i], [*unravel_index(i, (3, 2, 4), order=order), *unravel_index(i, (30,), order=order)], (13, 18, 26) if dtype == "int64" else (18,))
                    c.run(values(dtype, (size,) * rank, 0, 0, 23))
    i, d = pt.lvector("i"), pt.tensor("d", shape=(2,), dtype="int64")
    c = Compiled([i, d], list(unravel_index(i, d, order=order)))
    c.run([0, 5, 3], [2, 3])
    c.raises([6], [2, 3])
    c.raises([-1], [2, 3])


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
def test_ravel_multi_index(order, mode):
    for dtype in INTS:
        for rank in (0, 1, 2):
            for dynamic in (False, True):
                for size in SIZES:
                    shape = (size,) * rank
                    i = [variable(dtype, shape, dynamic, f"i{k}") for k in range(3)]
                    c = Compiled(i, [ravel_multi_index(i, (3, 2, 4), mode=mode, order=order)], (13, 18, 26) if dtype == "int64" else (18,))
                    low = 0 if mode == "raise" else -9
                    c.run(*[values(dtype, shape, k, low, n - 1 if mode == "raise" else 9) for k, n in enumerate((3, 2, 4))])
    i, d = [pt.lvector("i"), pt.lvector("j")], pt.tensor("d", shape=(2,), dtype="int64")
    c = Compiled([*i, d], [ravel_multi_index(i, d, mode=mode, order=order)])
    c.run([0, 1], [2, 1], [2, 3])
    if mode == "raise":
        c.raises([0, -1], [2, 1], [2, 3])
        c.raises([0, 1], [2, 3], [2, 3])
    else:
        c.run([2**62, -(2**62)], [7, -8], [2, 3])


@pytest.mark.parametrize("dtype", ALL)
def test_permute_row_elements(dtype):
    rng = np.random.default_rng(0)
    for a, p in (((4,), (4,)), ((3, 4), (4,)), ((3, 4), (3, 4)), ((4,), (3, 4)), ((2, 1, 4), (2, 3, 4)), ((0,), (0,)), ((1, 1), (2, 1))):
        for dynamic in (False, True):
            x, y = variable(dtype, a, dynamic, "x"), variable("int64", p, dynamic, "y")
            c = Compiled([x, y], [PermuteRowElements(False)(x, y), PermuteRowElements(True)(x, y)], OPSETS if dtype == "bool" else (18,))
            c.run(values(dtype, a), rng.permuted(np.broadcast_to(np.arange(p[-1]), p), axis=-1))


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
def test_choose(mode):
    for dtype in ALL:
        for a, x in (((5,), (3, 5)), ((5,), (3,)), ((2, 5), (3, 5)), ((5,), (3, 2, 5)), ((), (3, 2)), ((0,), (3, 0)), ((2, 1), (3, 1, 4))):
            for dynamic in (False, True):
                i, v = variable("int64", a, dynamic, "i"), variable(dtype, x, dynamic, "v")
                c = Compiled([i, v], [choose(i, v, mode=mode)], OPSETS if dtype == "float64" else (18,))
                c.run(values("int64", a, 0, 0, 2), values(dtype, x))
                if mode != "raise":
                    c.run(values("int64", a, 0, -9, 9), values(dtype, x))
                elif a == (5,):
                    c.raises(np.array([0, 1, -1, 0, 0]), values(dtype, x))
                    c.raises(np.array([0, 1, 3, 0, 0]), values(dtype, x))


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
def test_lengths_of_one_that_only_the_run_shows(mode):
    """NumPy broadcasts indices and choices whatever their types say."""
    for a_rank, x_rank in ((1, 2), (2, 2), (1, 3), (2, 3), (0, 2)):
        a, x = pt.tensor("a", shape=(None,) * a_rank, dtype="int64"), pt.tensor("x", shape=(None,) * x_rank)
        c = Compiled([a, x], [choose(a, x, mode=mode), choose(a, x, mode=mode).sum(axis=None)])
        for k in (1, 3):
            for m in (1, 3):
                own, items = (k, k + 1)[:a_rank], (2, m, m + 1)[:x_rank]
                try:
                    np.broadcast_shapes(own, items[1:])
                except ValueError:
                    c.raises(np.zeros(own, int), np.zeros(items))
                    continue
                c.run(np.ones(own, int), values("float64", items))
    a, x = pt.tensor("a", shape=(None,), dtype="int64"), pt.tensor("x", shape=(2, 3))
    c = Compiled([a, x], [choose(a, x, mode=mode)])
    c.run([1], values("float64", (2, 3)))
    c.run([1, 0, 1], values("float64", (2, 3)))
    c.raises([1, 0], values("float64", (2, 3)))


@pytest.mark.parametrize("form", ["d", "int64([{}, {}])"])
def test_dims_of_zero(form):
    """No indices lie in a tensor without elements; others make the run fail, in every mode."""
    for dims in ((1, 0), (0, 3), (0, 0), (2, 3)):
        text = form.format(*dims)
        sig = "i: int64[n], d: int64[2]"
        body = [f"a, b = UnravelIndex(i, {text})", f"e, f = UnravelIndex{{order=\"F\"}}(i, {text})"]
        model = ptg.compile(f"graph g({sig}) -> (a, b, e, f) {{\n" + "\n".join(body) + "\n}\n", options=("-Wno-unused",))
        for i in ([], [0]):
            if i and 0 in dims:
                with pytest.raises(Exception, match="indices must lie"):
                    ptg.run(model, np.array(i, "int64"), np.array(dims))
                continue
            want = [*np.unravel_index(np.array(i, int), dims), *np.unravel_index(np.array(i, int), dims, order="F")]
            for g, w in zip(ptg.run(model, np.array(i, "int64"), np.array(dims)), want, strict=True):
                assert g.tolist() == w.tolist()
        for mode in ("raise", "wrap", "clip"):
            model = ptg.compile(f"graph g({sig}) -> (a) {{\na = RavelMultiIndex{{mode=\"{mode}\"}}(i, i, {text})\n}}\n", options=("-Wno-unused",))
            for i in ([], [0]):
                if i and 0 in dims:
                    with pytest.raises(Exception, match="indices must lie"):
                        ptg.run(model, np.array(i, "int64"), np.array(dims))
                    continue
                want = np.ravel_multi_index((np.array(i, int), np.array(i, int)), dims, mode=mode)
                assert ptg.run(model, np.array(i, "int64"), np.array(dims)).tolist() == want.tolist()


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
def test_no_choices(mode):
    with pytest.raises(AssertionError, match="nothing to choose from"):
        ptg.compile(f"graph g(i: int64[n], x: float64[0]) -> (y) {{\ny = Choose{{mode=\"{mode}\"}}(i, x)\n}}\n")
