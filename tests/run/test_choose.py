"""Choose, PermuteRowElements, UnravelIndex, RavelMultiIndex."""

import itertools
import re

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.tensor.basic import PermuteRowElements, choose
from pytensor.tensor.extra_ops import ravel_multi_index, unravel_index

from harness import ALL, COMPLEX, INTS, OPSETS, SIZES, UINTS, Compiled, values, variable
import ptg
from opsets import SOME_OPSETS

pytestmark = pytest.mark.sampled


@pytest.mark.parametrize("order", ["C", "F"])
def test_unravel_index(order):
    for dtype in INTS:
        for rank in (0, 1, 2):
            for dynamic in (False, True):
                for size in SIZES:
                    i = variable(dtype, (size,) * rank, dynamic, "i")
                    c = Compiled([i], [*unravel_index(i, (3, 2, 4), order=order), *unravel_index(i, (30,), order=order)], SOME_OPSETS if dtype == "int64" else (18,))
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
                    c = Compiled(i, [ravel_multi_index(i, (3, 2, 4), mode=mode, order=order)], SOME_OPSETS if dtype == "int64" else (18,))
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


def lists(i_shape, x_shapes, dtype, dynamic):
    """An index and choices of one type, as PyTensor's lists want it."""
    i = variable("int64", i_shape, dynamic, "i")
    one = [None if dynamic or len({s[k] for s in x_shapes}) > 1 else x_shapes[0][k] for k in range(len(x_shapes[0]))]
    return i, [pt.tensor(f"x{k}", dtype=dtype, shape=one) for k in range(len(x_shapes))]


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
@pytest.mark.parametrize("dtype", [*ALL, *COMPLEX])
def test_list_of_choices(mode, dtype):
    """choose(i, [a, b, c]): the usual way to call it."""
    for i_shape, x_shapes in (
        ((5,), [(5,)] * 3), ((), [()] * 3), ((5,), [()] * 2), ((5,), [(5,)]), ((2, 5), [(5,)] * 3), ((0,), [(0,)] * 2),
        ((1,), [(1,)] * 2), ((4, 3), [(4, 3), (4, 1), (1, 3)]), ((1, 3), [(2, 1), (2, 3)]), ((2, 1, 4), [(3, 1)] * 3), ((3, 0), [(3, 1), (1, 0)]),
    ):
        for dynamic in (False, True):
            i, x = lists(i_shape, x_shapes, dtype, dynamic)
            c = Compiled([i, *x], [choose(i, x, mode=mode)], OPSETS if dtype in ("float64", "bool", "int16") else (18,))
            for low, high in [(0, len(x) - 1)] + [(-9, 9)] * (mode != "raise"):
                c.run(values("int64", i_shape, 1, low, high), *[values(dtype, s, k) for k, s in enumerate(x_shapes)])
            if mode == "raise" and 0 not in i_shape:
                for bad in (-1, len(x)):
                    c.raises(np.full(i_shape, bad), *[values(dtype, s) for s in x_shapes])


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
def test_lists_whose_lengths_only_the_run_shows(mode):
    """All lengths are open; NumPy broadcasts what it finds, and looks at no index if nothing comes out."""
    for rank, own in ((1, 1), (2, 1), (2, 2), (1, 0)):
        i, x = lists((2,) * rank, [(2,) * own] * 3, "float32", True)
        c = Compiled([i, *x], [choose(i, x, mode=mode), choose(i, x, mode=mode).sum(axis=None)], SOME_OPSETS)
        for lengths in itertools.product((0, 1, 3), repeat=4):
            shapes = [(n, n)[:rank] if k == 0 else (n, n)[:own] for k, n in enumerate(lengths)]
            args = [values("int64", shapes[0], 0, 0, 2), *[values("float32", s, k) for k, s in enumerate(shapes[1:])]]
            try:
                out = np.broadcast_shapes(*shapes)
            except ValueError:
                c.raises(*args)
                continue
            c.run(*args)
            if mode == "raise" and args[0].size:
                args[0] = args[0] + 3
                (c.raises if np.prod(out) else c.run)(*args)


def test_index_of_length_1_and_longer_choices():
    """PyTensor takes the result to have length 1; what comes out is as long as the choices."""
    i, x = pt.tensor("i", shape=(1,), dtype="int64"), [pt.tensor(f"x{k}", shape=(3,)) for k in range(2)]
    Compiled([i, *x], [choose(i, x), choose(i, x) + x[0]]).run([1], [1, 2, 3], [4, 5, 6])


@pytest.mark.parametrize("dtype", ["bool", *INTS, *UINTS])
def test_index_dtypes_of_a_list(dtype):
    i, x = pt.tensor("i", shape=(None,), dtype=dtype), [pt.dvector(f"x{k}") for k in range(3)]
    if dtype == "uint64":
        for choices in (x, pt.dmatrix()):
            with pytest.raises(AssertionError, match="NumPy refuses indices of uint64"):
                Compiled([i, *(x if choices is x else [choices])], [choose(i, choices)])
        return
    Compiled([i, *x], [choose(i, x)]).run([0, 1, 1 if dtype == "bool" else 2], [1, 2, 3], [4, 5, 6], [7, 8, 9])


def test_number_of_choices():
    """NumPy broadcasts up to 64 arrays, the index among them."""
    i, x = pt.lvector("i"), pt.dvector("x")
    Compiled([i, x], [choose(i, [x + k for k in range(63)])], (18,)).run([62, 0, 31], [1, 2, 3])
    for choices in ([x + k for k in range(64)], pt.ones((64, 3))):
        with pytest.raises(AssertionError, match="NumPy refuses more than 63 choices"):
            Compiled([i, x], [choose(i, choices)])


def test_lists_of_constants():
    """Rewriting makes a constant of such a list."""
    i, x = pt.lvector("i"), pt.dvector("x")
    big = np.arange(3000.0).reshape(2, 1500)
    outputs = [
        choose(i, [pt.constant(big[0]), pt.constant(big[1])]), choose(i, [1, 0], mode="clip"), choose(i, [x, pt.constant([0.5])]),
        choose(i, [choose(i, [x, 2 * x]), x.sum(keepdims=True)], mode="wrap"),
    ]
    args = [np.resize([0, 1, 1], 1500), np.arange(1500.0)]
    want = pytensor.function([i, x], outputs, mode="FAST_COMPILE")(*args)
    for got in (Compiled([i, x], outputs).run(*args), pytensor.function([i, x], outputs, mode="ONNX")(*args)):
        for g, w in zip(got or want, want, strict=True):
            assert g.dtype == w.dtype and np.array_equal(g, w)


def test_more_dims_than_the_index():
    """PyTensor's type of the result has the dims of the index alone, and its backends give what is in memory there."""
    i, x = pt.lscalar("i"), [pt.dvector("x"), pt.dvector("y")]
    with pytest.raises(AssertionError, match="as many dims as the indices have, 0, and choice 0 is float64"):
        Compiled([i, *x], [choose(i, x)])


def test_lists_in_text():
    """Values of a list keep their dtype, literals take it; a list of literals is a tensor, as ever."""
    text = """graph g(i: int64[3], x: float32[3], s: float32[]) -> (a, b, c, d, e) {
  a = Choose{mode="wrap"}(i, [x, 0.5, s])
  b = Choose(i, [[1, 2, 3], [4, 5, 6], [7, 8, 9]])
  c = Choose(i, [int16(1), 2, -3])
  d = Choose{mode="clip"}(i, [[x[0], x[1], 0.0], x])
  e = Choose(i, [float64(0.5), 1, 2])
}
"""
    got = ptg.run(ptg.compile(text), np.array([2, 0, 1]), np.array([1, 2, 3], "float32"), np.array(9, "float32"))
    want = [("float32", [9, 2, 0.5]), ("int64", [7, 2, 6]), ("int16", [-3, 1, 2]), ("float32", [1, 2, 3]), ("float64", [2, 0.5, 1])]
    for g, (dtype, w) in zip(got, want, strict=True):
        assert g.dtype == dtype and g.tolist() == w


@pytest.mark.parametrize(
    "call, message",
    [
        ("Choose(i, x, x)", "expected 2 arguments (index, choices[]), got 3"),
        ("Choose(i, None, x, x)", "expected 2 arguments (index, choices[]), got 4"),
        ("Choose(i, None)", "argument 2 (choices) cannot be None"),
        ("Choose(i, [x, int8(1)])", "the choices must have one dtype, got float64[n] and int8[]"),
        ("Choose(i, [x, None])", "item 1 of argument 2 (choices) is None"),
        ("Choose(i, [x, q])", "'q' is not defined"),
        ("Choose(x, [x, x])", "argument 1 must be integers, got float64[n]"),
        ("Choose(int64([0, 2]), [x, x])", "there is no choice 2 among 2"),
        ("Choose(Cast{int64}(float64[3](0)), [x, float64[4](0)])", "indices int64[3] do not broadcast with choices of float64[4]"),
        ("MakeList(x, x)", "an argument that is a list of tensors is written [a, b]"),
        ("Length([x, x])", "the language has no lists of tensors"),
        ("Exp([x, x])", "a list of values takes scalars"),
    ],
)
def test_lists_that_are_refused(call, message):
    with pytest.raises(AssertionError, match=re.escape(message)):
        ptg.compile(f"graph g(i: int64[n], x: float64[n]) -> (y) {{\n  y = {call}\n}}\n")


def test_constant_indices():
    """The condition that they are in range is a constant: a model of nothing but constants fails or does not."""
    text = 'graph g(x: int64[?n]) -> (y) {{ y = RavelMultiIndex{{mode="raise", order="F"}}(int64({}), int64([2, 3, 0]), int64([3, 4])) + x }}'
    alone = text.replace("x: int64[?n]", "").replace(" + x", "")
    x = np.arange(3)
    for opset in SOME_OPSETS:
        assert ptg.run(text.format("[1, 2, 2]"), x, opset=opset).tolist() == [7, 12, 4]
        assert ptg.run(alone.format("[1, 2, 2]"), opset=opset).tolist() == [7, 11, 2]
    with pytest.raises(Exception, match="(?i)indices"):
        ptg.run(text.format("[1, 3, 2]"), x)
