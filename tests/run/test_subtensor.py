"""Reading, setting and incrementing by index, basic and advanced, as PyTensor builds them."""

import itertools

import numpy as np
import onnx
import pytensor
import pytensor.scalar as ps
import pytensor.tensor as pt
from pytensor.graph.traversal import graph_inputs
from pytensor.tensor.subtensor import inc_subtensor
import pytest

from harness import ALL, INTS, UINTS, Compiled, values, variable
import ptg
from opsets import SOME_OPSETS

pytestmark = pytest.mark.sampled

KINDS = (False, True)
S = np.s_
FEW = (13, 15, 18, 26)
ADD = (13, 16, 18, 26)  # before 16, a loop adds at indices that may repeat


def scalar(name, dtype="int64"):
    return pt.tensor(name, dtype=dtype, shape=())


def data(dtype, shape, seed=0):
    """Small values, so that sums are exact in any order."""
    d = np.dtype(dtype)
    v = np.random.default_rng(seed).integers(0 if d.kind in "ub" else -8, 9, shape)
    return (v > 4) if d.kind == "b" else v.astype(d)


# --- basic: slices ---

BOUNDS = (None, 0, 1, 2, 3, 5, 9, -1, -2, -3, -5, -9)
STEPS = (None, 1, 2, 3, 7, -1, -2, -3, -7)


@pytest.mark.parametrize("step", STEPS)
def test_slices(step):
    """Every constant slice of vectors of any length."""
    slices = [slice(a, b, step) for a, b in itertools.product(BOUNDS, repeat=2)]
    x = variable("float64", (3,), True, "x")
    c = Compiled([x], [x[s] for s in slices], (13, 18))
    for n in (0, 1, 2, 3, 4, 5, 8):
        c.run(np.arange(float(n)))
    for n in (0, 1, 3):
        x = variable("float64", (n,), False, "x")
        Compiled([x], [x[s] for s in slices], (18,)).run(np.arange(float(n)))


@pytest.mark.parametrize("step", [None, 1, 2, -1, -2, "k"])
def test_symbolic_slices(step):
    """Bounds that only the run knows."""
    x, a, b, k = variable("float64", (3,), True, "x"), scalar("a"), scalar("b"), scalar("k")
    s = k if step == "k" else step
    c = Compiled([x, a, b, k], [x[a:b:s], x[a::s], x[:b:s], x[a:2:s], x[-2:b:s], x[::s]], SOME_OPSETS)
    for n in (0, 1, 2, 5):
        for i, j in itertools.product((-7, -2, -1, 0, 1, 2, 4, 7), repeat=2):
            for kk in (-2, -1, 1, 3) if step == "k" else (1,):
                c.run(np.arange(float(n)), i, j, kk)


def test_slice_bound_dtypes():
    x = variable("float64", (3,), True, "x")
    for dtype in INTS + UINTS:
        a, b = scalar("a", dtype), scalar("b", dtype)
        c = Compiled([x, a, b], [x[a:b], x[a:], x[:b:2], x[a]], FEW)
        c.run(np.arange(5.0), 1, 4)
        c.run(np.arange(5.0), 3, 2)
        if dtype in INTS:
            c.run(np.arange(5.0), -2, -1)


LIMITS = (2**63 - 1, 2**63 - 2, 2**62, 2**31, 2, 0, -1, -3, -(2**62), -(2**63) + 1, -(2**63))


@pytest.mark.parametrize("step", [None, -1, -2, "k"])
def test_bounds_at_the_limits(step):
    """A bound and a length have no sum in 64 bits there."""
    x, a, b, k = variable("float64", (3,), True, "x"), scalar("a"), scalar("b"), scalar("k")
    s = k if step == "k" else step
    c = Compiled([x, a, b, k], [x[a::s], x[:b:s], x[a:b:s], x[a:b:s].set(-1.0)], (18,))
    for i, j in itertools.product(LIMITS, repeat=2):
        for kk in (-1, 2, 2**62) if step == "k" else (1,):
            c.run(np.arange(4.0), i, j, kk)


@pytest.mark.parametrize("last", [2**64 - 1, 2**63, 2**63 - 1, 7])
def test_bounds_beyond_int64(last):
    """A slice takes them for the end; no element has such an index. Arrays of them wrap, as NumPy's."""
    x, a, v = variable("float64", (3,), True, "x"), scalar("a", "uint64"), variable("uint64", (3,), True, "v")
    c = Compiled([x, a], [x[a:], x[:a], x[a::-1], x[:a:-1], x[::a], x[a:].set(-1.0), x[:a].inc(1.0)], FEW)
    c.run(np.arange(4.0), np.uint64(last))
    c.run(np.arange(4.0), np.uint64(2))
    Compiled([x, a], [x[a]], FEW).raises(np.arange(4.0), np.uint64(last))
    Compiled([x, a, v], [x[None, a:, None][:, v]], FEW).run(np.arange(4.0), np.uint64(1), np.array([2**64 - 1, 2], "uint64"))
    large = ps.ScalarConstant(ps.uint64, np.uint64(last))
    Compiled([x], [x[large:], x[:large], x[large::-1], x[:large].set(-1.0)], FEW).run(np.arange(4.0))


EMPTY = {
    "2:2": lambda x: x[2:2], "3:1": lambda x: x[3:1], "-1:-3": lambda x: x[-1:-3], "4:2:2": lambda x: x[4:2:2],
    "2:4:-1": lambda x: x[2:4:-1], "7:9": lambda x: x[7:9], "7:9:2": lambda x: x[7:9:2], "array": lambda x: x[np.zeros(0, int)],
}  # fmt: skip


@pytest.mark.parametrize("name", EMPTY)
@pytest.mark.parametrize("size", [None, 5])
def test_what_is_put_nowhere_must_fit(name, size):
    x, y = pt.tensor("x", shape=(size,)), pt.vector("y")
    m, z = pt.tensor("m", shape=(size, 4)), pt.matrix("z")
    cases = [([x, y], EMPTY[name](x), y, np.arange(5.0), [(0,), (1,)], [(2,), (3,)]),
             ([m, z], EMPTY[name](m), z, np.ones((5, 4)), [(0, 4), (1, 4), (0, 1), (1, 1)], [(2, 4), (0, 3), (3, 1)]),
             ([m, y], EMPTY[name](m), y, np.ones((5, 4)), [(4,), (1,)], [(3,), (0,)])]  # fmt: skip
    for inputs, place, v, a, right, wrong in cases:
        for out in (place.set(v), place.inc(v)):
            c = Compiled(inputs, [out], (13, 18))
            for shape in right + wrong:
                if shape in wrong or (name == "array" and 1 in shape):  # arrays stretch no length that is 1 at run time
                    c.raises(a, np.ones(shape))
                else:
                    c.run(a, np.ones(shape))


@pytest.mark.parametrize("dtype, y", [("float16", "float16"), ("float16", "float32"), ("float32", "float64"), ("float16", "int8"), ("float32", "float16")])
def test_sums_at_one_place_are_rounded_one_by_one(dtype, y):
    x, i, v = variable(dtype, (3,), True, "x"), variable("int64", (3,), True, "i"), variable(y, (3,), True, "v")
    m = variable(dtype, (3, 3), True, "m")
    c = Compiled([x, i, v, m], [x[i].inc(v), x[i].inc(v[0]), m[i, 1:].inc(v[:, None]), m[:, i].inc(v), x[[0, 1, 0]].inc(v[:3])], ADD)
    top = float(1 / np.finfo(dtype).eps * 2)
    big = np.array([top, 1, -top, 0.5])
    c.run(big, [0, 0, 0, 2, 2, 1], [1, 1, 1, 1, -1, 3], np.outer(big, [1, 1, 1, 1]))


@pytest.mark.parametrize("stop", [2**31 - 2, 2**31 - 1, 2**31, 2**63 - 1])
def test_stops_that_the_runtime_takes_for_none(stop):
    """Two numbers mean "to the end" to the runtime, which stepping down is the first element."""
    x, k, b, i = variable("float64", (3,), True, "x"), scalar("k"), scalar("b"), scalar("i", "int32")
    c = Compiled([x, k, b, i], [x[2:stop:-1], x[2:stop:k], x[:b:-1], x[:b:k], x[1:b], x[:i:-1], x[1:stop].set(0), x[2:b:-1].inc(1)], FEW)
    for n in (0, 3, 5):
        for step in (-1, 1, 2):
            c.run(np.arange(float(n)), step, stop, min(stop, 2**31 - 1))


TOP = 2**63 - 1


def test_largest_steps_and_bounds():
    x, m = pt.tensor("x", shape=(5,)), variable("float64", (3,), True, "m")
    places = [x[1:4:TOP], x[::TOP], x[-3::TOP], x[:-TOP], x[-TOP:3:TOP], x[3::-TOP], m[1::TOP], m[:-TOP], m[:-TOP-1], m[-TOP-1:], m[TOP:]]  # fmt: skip
    c = Compiled([x, m], [*[p.inc(1) for p in places], *[p.set(1) for p in places], *places], (13, 18))
    for n in (0, 1, 4):
        c.run(np.arange(5.0), np.arange(float(n)))


def test_borders_of_the_largest_width():
    """Two of them would add up to a small one."""
    for mode in ("constant", "edge", "reflect", "symmetric", "wrap", "mean"):
        with pytest.raises(AssertionError, match="PTG0306"):
            ptg.compile(f'graph g(x: float64[n]) -> (y) {{ y = Pad{{pad_mode="{mode}"}}(x, int64({TOP})) }}')


def test_stops_that_are_sizes_cost_nothing():
    text = "graph g(x: float64[n], y: float64[n], b: {}[]) -> (z) {{ z = x[:{}:-1] + x[:Shape(y)[0] // 2:-1] }}".format
    assert ptg.nodes(ptg.compile(text("int16", "b"))) == ptg.nodes(ptg.compile(text("int64", "b")))  # a cast; a clip


def test_slice_by_shapes():
    """Bounds made of sizes."""
    x, y = variable("float64", (3,), True, "x"), variable("float64", (3, 3), True, "y")
    n = x.shape[0]
    c = Compiled([x, y], [x[: n - 1], x[1:] - x[:-1], x[n // 2 :], x[:: -1], y[: n, 1:], x[-n:], x[n - 1], x[: y.shape[0]], x[n - 2 : n], x[1:n], y[: y.shape[0] - 1, : y.shape[1] - 1]])
    c.run(np.arange(5.0), data("float64", (6, 4)))
    c.run(np.arange(2.0), data("float64", (2, 1)))


BASIC = [S[0], S[-1], S[1:], S[:, 0], S[0, 0], S[-1, -2], S[0, :, 1], S[:, 1, :], S[..., 0], S[1:, ::-1], S[::-1, ::-1, ::-1], S[0, 1, 2], S[:, 1:2, :-1], S[1, ..., ::2], S[None, 0], S[:, None, 1], S[..., None], S[0:0], S[:, 5:], S[-1:, -1, 1:3], S[:1, 0], S[:, -1:], S[1:0, 1], S[:]]  # fmt: skip


@pytest.mark.parametrize("dtype", ALL)
def test_basic(dtype):
    for dynamic in KINDS:
        x = variable(dtype, (2, 3, 4), dynamic, "x")
        c = Compiled([x], [x[i] for i in BASIC], FEW if dtype in ("float64", "bool", "int8") else (18,))
        c.run(values(dtype, (2, 3, 4)))
        if dynamic:
            c.run(values(dtype, (3, 2, 5)))


def test_basic_symbolic():
    x, i, j = variable("float64", (2, 3, 4), True, "x"), scalar("i"), scalar("j")
    c = Compiled([x, i, j], [x[i], x[i, j], x[:, i, j], x[i, :, j], x[0, j], x[:, :, i], x[i, 1:, ::-1], x[i, j, -1], x[i : j + 1, j]])
    for k in ((0, 1), (-1, -2), (1, 0)):
        c.run(data("float64", (2, 3, 4)), *k)
    for k in ((2, 0), (-3, 0)):
        c = Compiled([x, i, j], [x[i]])
        c.raises(data("float64", (2, 3, 4)), *map(np.array, k))


def test_out_of_range():
    x = variable("float64", (3, 3), True, "x")
    for index in (S[5], S[-4], S[:, 3], S[1, -6]):
        c = Compiled([x], [x[index]])
        c.raises(np.ones((3, 3)))
        c = Compiled([x], [pt.set_subtensor(x[index], 1.0)])
        c.raises(np.ones((3, 3)))
        c = Compiled([x], [pt.inc_subtensor(x[index], 1.0)])
        c.raises(np.ones((3, 3)))


# --- basic: set and inc ---

UPDATES = [i for i in BASIC if not any(k is None for k in (i if isinstance(i, tuple) else (i,)))]


def updates(x, index, y):
    return [pt.set_subtensor(x[index], y), pt.inc_subtensor(x[index], y)]


@pytest.mark.parametrize("dtype", ALL)
def test_update(dtype):
    """With one value, and with a value of the size of the place."""
    for dynamic in KINDS:
        x, s = variable(dtype, (2, 3, 4), dynamic, "x"), variable(dtype, (), False, "s")
        v = data(dtype, (2, 3, 4))
        inputs, args, outputs = [x, s], [v, data(dtype, ()) + np.ones((), dtype)], []
        for k, i in enumerate(UPDATES):
            place = v[i]
            y = variable(dtype, place.shape, dynamic, f"y{k}")
            inputs.append(y)
            args.append(data(dtype, place.shape, k + 1))
            outputs += updates(x, i, s) + updates(x, i, y)
        Compiled(inputs, outputs, FEW if dtype in ("float64", "int64", "bool") else (18,)).run(*args, zero_sign=False)


@pytest.mark.parametrize("step", STEPS)
def test_update_slices(step):
    """Every constant slice; zero-length ones change nothing."""
    slices = [slice(a, b, step) for a, b in itertools.product(BOUNDS[::2], BOUNDS[1::2])]
    x = variable("float64", (3,), True, "x")
    c = Compiled([x], [o for s in slices for o in updates(x, s, -1.5)], (13, 18))
    for n in (0, 1, 2, 3, 5, 8):
        c.run(np.arange(float(n)), zero_sign=False)
    for n in (0, 1, 3):
        x = variable("float64", (n,), False, "x")
        Compiled([x], [o for s in slices for o in updates(x, s, -1.5)], (18,)).run(np.arange(float(n)), zero_sign=False)


def test_update_symbolic():
    x, y, i, j = variable("float64", (4, 3), True, "x"), variable("float64", (3,), True, "y"), scalar("i"), scalar("j")
    outputs = []
    for index in (S[i], S[i, j], S[:, j], S[i:j], S[i:], S[:j, 1], S[i:j, ::-1], S[::j], S[i::-1]):
        outputs += updates(x, index, 2.5)
    outputs += updates(x, i, y) + updates(x, S[i:j], y) + updates(x, S[i, :], y)
    c = Compiled([x, y, i, j], outputs, FEW)
    for k in ((0, 1), (1, 2), (-2, -1), (2, 1), (-4, -3)):
        c.run(data("float64", (4, 3)), data("float64", 3), *k)
    c = Compiled([x, y, i, j], updates(x, S[i:j], 2.5), FEW)
    for k in itertools.product((-9, -1, 0, 2, 9), repeat=2):
        c.run(data("float64", (4, 3)), data("float64", 3), *k)


def test_update_broadcast():
    """The value is stretched where its dims are 1 or missing."""
    x = variable("float64", (2, 3, 4), True, "x")
    ys = [variable("float64", s, True, f"y{k}") for k, s in enumerate([(4,), (3, 1), (1, 1, 4), (2, 1, 1), (1,), (3, 4)])]
    outputs = []
    for y in ys:
        outputs += updates(x, S[:], y) + updates(x, S[:, ::-1], y)
    outputs += updates(x, S[0], ys[0]) + updates(x, S[0], ys[1]) + updates(x, S[:, 1], ys[0]) + updates(x, S[..., 1], ys[4]) + updates(x, S[1:], ys[5])
    Compiled([x, *ys], outputs, FEW).run(data("float64", (2, 3, 4)), *[data("float64", y.type.shape if None not in y.type.shape else s, 9) for y, s in zip(ys, [(4,), (3, 1), (1, 1, 4), (2, 1, 1), (1,), (3, 4)])])


@pytest.mark.parametrize("index", [S[:], S[1:], S[0], S[::2], S[:, 1:3], S[:, 1], S[1:3, 2], S[2:0:-1], S[:2, :2], S[-1:], S[5:]], ids=str)
@pytest.mark.parametrize("into", ["x", "zeros", "static"])
def test_update_broadcast_of_unknown_lengths(index, into):
    """NumPy stretches the value of a basic index where its length is 1, whatever its type says."""
    x = variable("float64", (4, 3), into != "static", "x")
    y, z = variable("float64", (2,), True, "y"), variable("float64", (2, 2), True, "z")
    base = pt.zeros_like(x) if into == "zeros" else x
    for value, sizes in ((y, [(k,) for k in range(5)]), (z, itertools.product((0, 1, 2, 3, 4), repeat=2))):
        if value.ndim > x[index].ndim:
            continue
        compiled = [Compiled([x, value], [o], FEW) for o in updates(base, index, value)]
        for rows, shape in itertools.product((4, 1, 2, 0), sizes):
            if into == "static" and rows != 4:
                continue
            for c in compiled:
                args = data("float64", (rows, 3)), data("float64", shape, 9)
                try:
                    c.python(*args)
                except IndexError:
                    c.raises(*args)
                except (ValueError, AssertionError):
                    if 0 not in args[0][index].shape:  # what is put nowhere may have any shape
                        c.raises(*args)
                else:
                    c.run(*args)


@pytest.mark.parametrize("a", ["float64", "float32", "int64", "int8", "uint8"])
def test_update_casts(a):
    """The value is cast to x's dtype."""
    x, i = variable(a, (4,), True, "x"), variable("int64", (2,), True, "i")
    inputs, outputs, args = [x, i], [], [data(a, (4,)), np.array([3, 1])]
    for b in ALL:
        if not np.can_cast(np.result_type(a, b), a, "same_kind"):  # NumPy refuses it
            continue
        y = variable(b, (2,), True, f"y{b}")
        inputs.append(y)
        args.append(data(b, (2,), 3))
        outputs += [pt.set_subtensor(x[1:3], y), pt.set_subtensor(x[i], y), pt.inc_subtensor(x[::2], y), pt.inc_subtensor(x[i], y)]
    Compiled(inputs, outputs, ADD).run(*args, zero_sign=False)


PARTS = (S[1:], S[:-1], S[2:], S[:2], S[:-2], S[-1:], S[-3:], S[1:3], S[3:1], S[-3:-1], S[-1:-3], S[1:-1], S[2:-2], S[-3:2], S[0:], S[:5])


@pytest.mark.parametrize("dtype", ALL)
def test_update_parts(dtype):
    """Constant bounds on axes of any length, with values of the size of the place, or one; -0 stays."""
    for axis in (0, 1):
        index = [(slice(None),) * axis + (s,) for s in PARTS]
        x = variable(dtype, (9, 9), True, "x")
        one = variable(dtype, (), False, "one")
        ys = [variable(dtype, (9, 9), True, f"y{k}") for k in range(len(index))]
        outputs = [o for i, y in zip(index, ys) for o in updates(x, i, y) + updates(x, i, one)]
        c = Compiled([x, one, *ys], outputs, FEW if dtype in ("float64", "float16", "int64") else (18,))
        for n in (0, 1, 2, 3, 4, 7):
            v = data(dtype, (n, 2) if axis == 0 else (2, n))
            v = -v if v.dtype.kind == "f" else v
            c.run(v, np.ones((), dtype), *[data(dtype, v[i].shape, k + 1) for k, i in enumerate(index)])


def test_update_parts_of_several_axes():
    index = [S[1:, 0], S[1:, -1], S[1:, 1:], S[:-1, 1:], S[1:3, 1], S[:, 1:2], S[-1, :2], S[1:, 1:-1]]
    for dynamic in KINDS:
        x = variable("float64", (4, 3), dynamic, "x")
        v = data("float64", (4, 3)) * -1.0
        ys = [variable("float64", v[i].shape, dynamic, f"y{k}") for k, i in enumerate(index)]
        c = Compiled([x, *ys], [o for i, y in zip(index, ys) for o in updates(x, i, y)], FEW)
        c.run(v, *[data("float64", v[i].shape, k) for k, i in enumerate(index)])
        c.run(v, *[np.full(v[i].shape, k) for k, i in zip((-0.0, np.nan, np.inf, 1, 2, 3, 4, 5), index)])


def test_gradient_of_differences():
    for n in (1, 2, 7):
        for kind in KINDS:
            x = variable("float64", (n,), kind, "x")
            c = Compiled([x], [pt.grad(((x[1:] - x[:-1]) ** 2).sum(), x), pt.grad((x[1:] * x[:-1] + x[2:].sum()).sum(), x)])
            c.run(data("float64", (n,)), zero_sign=False)


def test_gradient_of_index():
    """Increments of zeros."""
    x, y = variable("float64", (4, 3), True, "x"), variable("float64", (3,), True, "y")
    z = pt.zeros_like(x)
    outputs = [pt.inc_subtensor(z[i], 1.5) for i in (S[1], S[:2], S[:, 1], S[-1], S[::2], S[1:, 1:], S[:, ::-1], S[5:], S[-9:2])]
    outputs += [pt.inc_subtensor(z[1], y), pt.inc_subtensor(z[:, :], y), pt.set_subtensor(pt.zeros((3, x.shape[0]))[:, 0], y)]
    outputs.append(pt.grad((x[1:] ** 2).sum() + x[0].sum() + (x[:, -1] * 3).sum(), x))
    c = Compiled([x, y], outputs, FEW)
    c.run(data("float64", (4, 3)), data("float64", 3))
    c.run(data("float64", (2, 3)), data("float64", 3))


# --- advanced ---

A, B = np.array([0, 2, 1, 2]), np.array([1, 0, -1, 1])


def forms(i, j, m, k):
    """i, j: vectors of 4; m: (2, 1); k: a scalar. Axes of x: 3, 4, 5, 2."""
    return [
        S[i], S[:, i], S[..., i[:2] % 2], S[i, j], S[i, :, j], S[:, i, j], S[i, 1:], S[1:, i], S[i, ::-1, j], S[i, 0], S[0, i], S[0, :, i], S[i, k],
        S[k, :, j], S[m, i], S[i, m], S[m], S[:, m], S[i, None], S[:, i, None, j], S[i, j, :, 1], S[i, :, 1, 0], S[:, i, 1:3, 0], S[m, :, i], S[::2, i, ::-1],
        S[i, j, i], S[:, 1:, i, 0], S[..., 0, 0, i % 2], S[m, m], S[i[:0]], S[:, i[:0], j[:0]], S[i[:1]],
    ]  # fmt: skip


def is_update(index):
    return not any(k is None for k in (index if isinstance(index, tuple) else (index,)))


@pytest.mark.parametrize("dtype", ALL)
def test_advanced(dtype):
    for dynamic in KINDS:
        x = variable(dtype, (3, 4, 5, 2), dynamic, "x")
        i, j, m, k = variable("int64", (4,), dynamic, "i"), variable("int64", (4,), dynamic, "j"), variable("int64", (2, 1), dynamic, "m"), scalar("k")
        outputs = [x[f] for f in forms(i, j, m, k)] + [x[f] for f in forms(A, B, np.array([[1], [0]]), 1)]
        c = Compiled([x, i, j, m, k], outputs, FEW if dtype in ("float64", "bool") else (18,))
        c.run(values(dtype, (3, 4, 5, 2)), A, B, [[1], [0]], 1)
        c.run(values(dtype, (3, 4, 5, 2)), -A - 1, B[::-1], [[-1], [2]], -2)


@pytest.mark.parametrize("dtype", INTS + UINTS)
def test_index_dtypes(dtype):
    x, i, j = variable("float64", (3, 4), True, "x"), variable(dtype, (4,), True, "i"), variable(dtype, (2, 2), True, "j")
    outputs = [x[i], x[:, i], x[i, 1], x[j], x[i, i], x[1:, j], pt.set_subtensor(x[i], 1.5), pt.inc_subtensor(x[:, i], 1.5)]
    c = Compiled([x, i, j], outputs, ADD)
    c.run(data("float64", (3, 4)), [0, 2, 1, 2], [[0, 1], [2, 0]])
    if dtype in INTS:
        c.run(data("float64", (3, 4)), [-1, 2, -3, 0], [[-1, 1], [-2, 0]])
    big = variable("float64", (200,), True, "b")
    Compiled([big, i], [big[i], pt.inc_subtensor(big[i], 1.0)], ADD).run(np.arange(200.0), [100, 120, 127, 3])


def test_advanced_empty():
    """Empty index arrays, and empty x."""
    x, i = variable("float64", (3, 4), True, "x"), variable("int64", (4,), True, "i")
    c = Compiled([x, i], [x[i], x[:, i], x[i, i], x[i, 0], x[i, 1:], pt.set_subtensor(x[i], 1.0), pt.inc_subtensor(x[:, i], 1.0), pt.inc_subtensor(x[i, i], 2.0)], ADD)
    c.run(data("float64", (3, 4)), np.zeros(0))
    c = Compiled([x, i], [x[i], x[i, 1:], pt.set_subtensor(x[i], 1.0), pt.inc_subtensor(x[i], 1.0)], ADD)
    c.run(np.zeros((0, 4)), np.zeros(0))
    c.run(np.zeros((3, 0)), [1, 2])


def test_out_of_range_beside_what_takes_nothing():
    """What is picked or put there has no elements: the index is looked at all the same."""
    x, t = variable("float64", (3, 4), True, "x"), variable("float64", (3, 4, 5), True, "t")
    i, k = pt.tensor("i", dtype="int64", shape=()), pt.tensor("k", dtype="int64", shape=())
    places = [lambda: x[i], lambda: x[i, 1:], lambda: x[1:, i], lambda: x[9:, i], lambda: x[i, k:], lambda: x[i, :k], lambda: x[i, k:2:-1]]
    more = [lambda: t[i, 1:, k], lambda: t[:, i, 1:], lambda: t[1:, i, 1:], lambda: t[i, k, :1], lambda: t[i, :, :k]]
    y = pt.tensor("y", dtype="float64", shape=())
    for v, forms, shapes in (x, places, [(0, 0), (0, 3), (2, 0), (2, 1), (3, 3)]), (t, more, [(0, 2, 2), (2, 2, 0), (2, 0, 2), (2, 2, 2)]):
        for form in forms:
            at = form()
            for out in (at, at.set(y), at.inc(y)):
                c = Compiled([v, i, k, y], [out], (13, 18))
                for shape, a, b in itertools.product(shapes, (-3, -1, 0, 5), (-1, 1, 7)):
                    args = [values("float64", shape), np.int64(a), np.int64(b), np.float64(2)]
                    try:
                        c.python(*args)
                    except Exception:
                        c.raises(*[np.asarray(q) for q in args])
                    else:
                        c.run(*args)


def test_advanced_out_of_range():
    x, i = variable("float64", (3, 4), True, "x"), variable("int64", (4,), True, "i")
    for o in (x[i], x[:, i], x[i, i], x[i, :, None], x[i, 0], pt.set_subtensor(x[i], 1.0), pt.inc_subtensor(x[i], 1.0), pt.set_subtensor(x[i, i], 1.0), pt.inc_subtensor(x[:, i], 1.0), pt.inc_subtensor(x[i, 1:], 1.0)):
        c = Compiled([x, i], [o], ADD)
        c.raises(np.ones((3, 4)), np.array([0, 4]))
        c.raises(np.ones((3, 4)), np.array([-5, 0]))


def runs_as_python(c, *args):
    try:
        c.python(*args)
    except (ValueError, IndexError, AssertionError):
        c.raises(*args)
    else:
        c.run(*args)


INDICES = [np.array(i, "int64") for i in ([], [1], [0, 2], [2, 1, 0])]


def test_index_arrays_of_unknown_lengths():
    x, i, j, k = variable("float64", (3, 4), True, "x"), *(variable("int64", (4,), True, n) for n in "ijk")
    m = variable("int64", (3, 2), True, "m")
    f = variable("int64", (2,), False, "f")
    for outputs, n in (([x[i, j]], 2), ([x[i, f]], 2), ([x[i, m]], 2), ([x[None][i * 0, j, k], x[i][..., None][j, k, i * 0]], 3), ([x.T[j, i], x[:, None][i, :, j]], 2)):
        inputs = [v for v in (i, j, k, m, f) if v in graph_inputs(outputs)]
        c = Compiled([x, *inputs], outputs, ADD)
        for given in itertools.product(INDICES, repeat=n):
            values = {i: given[0], j: given[1 % n], k: given[-1], f: np.array([1, 0]), m: given[1 % n][:, None] + [0, 1] if n > 1 else None}
            if f in inputs:
                values[i] = given[0]
            runs_as_python(c, data("float64", (3, 4)), *[values[v] for v in inputs])


@pytest.mark.parametrize("form", ["set", "inc"])
def test_advanced_update_broadcast_of_unknown_lengths(form):
    """Only a single vector of indices does not let its value be stretched."""
    x, i, j = variable("float64", (3, 4), True, "x"), variable("int64", (4,), True, "i"), variable("int64", (4,), True, "j")
    y, z, m = variable("float64", (2,), True, "y"), variable("float64", (2, 2), True, "z"), variable("bool", (3,), True, "m")
    sizes = [np.ones(k) * 7 for k in range(4)]
    for place in (lambda: x[i], lambda: x[i, j], lambda: x[:, i], lambda: x[i, :2], lambda: x[1, i], lambda: x[i[:, None]], lambda: x[m], lambda: x[m, 1], lambda: x[m, i]):
        for value in (y, z):
            if value.ndim > place().ndim:
                continue
            used = [x, *(v for v in (i, j, m) if v in graph_inputs([place()])), value]
            c = Compiled(used, [getattr(place(), form)(value)], ADD)
            for given, other, size in itertools.product(INDICES[:3], INDICES[1:3], sizes):
                values = {x: data("float64", (3, 4)), i: given, j: other, y: size, z: np.outer(other + 1.0, size), m: np.isin(np.arange(3), given)}
                runs_as_python(c, *[values[v] for v in used])


@pytest.mark.parametrize("dtype", ALL)
def test_advanced_update(dtype):
    """Set (the last duplicate wins), inc (duplicates add up), inc that ignores duplicates."""
    shape = (3, 4, 5, 2)
    v = data(dtype, shape)
    for dynamic in KINDS:
        x, s = variable(dtype, shape, dynamic, "x"), variable(dtype, (), False, "s")
        i, j, m, k = variable("int64", (4,), dynamic, "i"), variable("int64", (4,), dynamic, "j"), variable("int64", (2, 1), dynamic, "m"), scalar("k")
        inputs, args, outputs = [x, i, j, m, k, s], [v, A, B, np.array([[1], [0]]), 1, data(dtype, ()) + np.ones((), dtype)], []
        for n, (f, g) in enumerate(zip(forms(i, j, m, k), forms(A, B, np.array([[1], [0]]), 1))):
            if not is_update(f):
                continue
            y = variable(dtype, v[g].shape, dynamic, f"y{n}")
            inputs.append(y)
            args.append(data(dtype, v[g].shape, n + 1))
            outputs += updates(x, f, s) + updates(x, f, y)
            outputs.append(pt.inc_subtensor(x[f], y, ignore_duplicates=True))
            if dtype in ("float64", "int64"):
                outputs += updates(x, g, y)
        Compiled(inputs, outputs, ADD if dtype in ("float64", "int64", "bool", "int8", "float16") else (18,)).run(*args, zero_sign=False)


def test_duplicates():
    x, i, y = variable("float64", (4,), True, "x"), variable("int64", (3,), True, "i"), variable("float64", (3,), True, "y")
    c = Compiled([x, i, y], [pt.set_subtensor(x[i], y), pt.inc_subtensor(x[i], y), pt.inc_subtensor(x[i], 1.0), pt.inc_subtensor(x[i], y, ignore_duplicates=True)], ADD)
    c.run(np.arange(4.0), [1, 1, 1, 3, 3], [1, 2, 4, 8, 16])
    c.run(np.arange(4.0), [-1, 3, -1, 0, -4], [1, 2, 4, 8, 16])
    n = 5000
    c.run(np.arange(7.0), np.arange(n) % 7, np.arange(float(n)))


def test_early_opsets():
    """ScatterND adds from opset 16 on; before, what cannot repeat needs no loop."""
    x, i, y = variable("float64", (4, 3), True, "x"), variable("int64", (3,), True, "i"), variable("float64", (3, 3), True, "y")
    k = scalar("k")
    outputs = [pt.set_subtensor(x[i], y), pt.set_subtensor(x[:, i], 1.0), pt.set_subtensor(x[i, i], 1.0), pt.set_subtensor(x[i, 1:], 2.0)]
    outputs += [pt.inc_subtensor(x[i], y, ignore_duplicates=True), pt.inc_subtensor(x[i, 1:], 1.0, ignore_duplicates=True)]
    outputs += [pt.inc_subtensor(x[k], 1.0), pt.inc_subtensor(x[k, ::2], 1.0), pt.inc_subtensor(x[x > 0], 1.0), pt.inc_subtensor(x[:, x[0] > 0], 1.0)]
    c = Compiled([x, i, y, k], outputs, (13, 14, 15, 16))
    c.run(data("float64", (4, 3)), [0, 2, 0], data("float64", (3, 3)), 1)
    m = variable("int64", (2, 2), True, "m")
    outputs = [pt.inc_subtensor(x[i], y), pt.inc_subtensor(x[:, i], 1.0), pt.inc_subtensor(x[i, i], 1.0), pt.inc_subtensor(x[m], 2.0), pt.inc_subtensor(x[m, 1:], 2.0), pt.inc_subtensor(x[:, m], y.sum())]
    c = Compiled([x, i, y, m], outputs, (13, 14, 15, 16))
    c.run(data("float64", (4, 3)), [0, 2, 0], data("float64", (3, 3)), [[0, 1], [0, 0]])
    c.run(data("float64", (4, 3)), [], data("float64", (0, 3)), np.zeros((0, 0)))


def test_update_with_nan():
    x, i = variable("float64", (4,), True, "x"), variable("int64", (3,), True, "i")
    v = np.array([np.nan, np.inf, -0.0, 1.0])
    Compiled([x, i], [pt.set_subtensor(x[i], np.nan), pt.inc_subtensor(x[i], -np.inf), pt.set_subtensor(x[1:3], -0.0), pt.inc_subtensor(x[:2], 1.0)], ADD).run(v, [0, 1, 1])


@pytest.mark.parametrize("dtype", INTS)
def test_signed_into_uint64(dtype):
    """Goes by float64, as there is no integer dtype for both."""
    x, i, y, m = pt.vector("x", dtype="uint64"), pt.lvector("i"), pt.vector("y", dtype=dtype), pt.vector("m", dtype="bool")
    outputs = [pt.inc_subtensor(x[i], y), pt.inc_subtensor(x[i], np.array(1, dtype)), pt.inc_subtensor(x[m], np.array(-1, dtype))]
    v = np.array([9, 2**53 + 1, 2**63 + 1025, 1, 100], "uint64")
    for at in ([0, 1, 2], [4, 4, 4], [0, 2, 0], [-1, 1, -1]):
        Compiled([x, i, y, m], outputs, ADD).run(v, at, [-3, 2, -4], [True, True, True, True, False])
    with pytest.raises(AssertionError, match="cannot be added"):
        Compiled([x, i, y], [pt.inc_subtensor(x[i], y, ignore_duplicates=True)], ADD)


@pytest.mark.parametrize("pair", [("uint64", "int8"), ("int32", "uint64"), ("int64", "uint64")])
def test_integers_without_a_common_dtype(pair):
    x, i, y = pt.vector("x", dtype=pair[0]), pt.lvector("i"), pt.vector("y", dtype=pair[1])
    c = Compiled([x, i, y], [pt.inc_subtensor(x[i], y)], ADD)
    c.run([9, 8, 7], [0, 2, 0], [3, 2, 4])
    c.run([9, 2**30, 7], [0, -1, 0], [3, 2, 4])


@pytest.mark.parametrize("pair", [("float32", "float64"), ("float32", "int32"), ("float16", "float32"), ("float16", "int64")])
def test_added_in_the_wider_dtype(pair):
    rng = np.random.default_rng(0)
    x, i, y = pt.vector("x", dtype=pair[0]), pt.lvector("i"), pt.vector("y", dtype=pair[1])
    v = rng.normal(size=60).astype(pair[0])
    w = (rng.normal(size=20) * (1 if pair[1][0] == "f" else 1e4)).astype(pair[1])
    c = Compiled([x, i, y], [pt.inc_subtensor(x[i], y), pt.inc_subtensor(x[10:30], y)], ADD)
    c.run(v, rng.permutation(60)[:20], w, ulp={pair[0]: 0})


def test_set_of_nothing():
    """Of one row put at no place nothing is left."""
    x, y = pt.tensor("x", shape=(1, None), dtype="int64"), pt.tensor("y", shape=(1, None), dtype="int64")
    c = Compiled([x, y], [pt.set_subtensor(x[3:-1], y), pt.inc_subtensor(x[3:-1], y), pt.set_subtensor(x[1:0], y)])
    for n in (0, 1, 2):
        c.run(np.ones((1, n)), np.ones((1, n)))


# --- masks ---


@pytest.mark.parametrize("dtype", ["float64", "int8", "bool", "float16", "uint64"])
def test_masks(dtype):
    for dynamic in KINDS:
        x, s = variable(dtype, (3, 4, 2), dynamic, "x"), variable(dtype, (), False, "s")
        inputs, outputs = [x, s], []
        for rank in (1, 2, 3):
            m = variable("bool", (3, 4, 2)[:rank], dynamic, f"m{rank}")
            inputs.append(m)
            outputs += [x[m]] + updates(x, m, s)
        m1, m2 = inputs[2], inputs[3]
        n = variable("bool", (4,), dynamic, "n")
        q = variable("bool", (4, 2), dynamic, "q")
        inputs += [n, q]
        outputs += [x[:, n], x[:, q], x[1:, n], x[m1, 1], x[m1, :, 0], x[m2, 0], x[0, n], x[:, n, 1], x[m1, 1:], x[::-1, n]]
        outputs += updates(x, S[:, n], s) + updates(x, S[:, q], s) + updates(x, S[m1, 1], s) + updates(x, S[m2, 0], s) + updates(x, S[m1, ::-1], s)
        c = Compiled(inputs, outputs, FEW)
        for p in (0.5, 0, 1):
            rng = np.random.default_rng(1)
            c.run(data(dtype, (3, 4, 2)), data(dtype, (), 3), *[rng.random(s) < p for s in ((3,), (3, 4), (3, 4, 2), (4,), (4, 2))], zero_sign=False)


def test_mask_values():
    """As many values as the mask has trues; one row for all."""
    x, m = variable("float64", (4, 3), True, "x"), variable("bool", (4,), True, "m")
    y, r, q = variable("float64", (2, 3), True, "y"), variable("float64", (3,), True, "r"), variable("bool", (4, 3), True, "q")
    z = variable("float64", (5,), True, "z")
    outputs = updates(x, m, y) + updates(x, m, r) + updates(x, q, z) + updates(x, x > 0, 0.5) + [x[x > 0], x[(x > 0).any(axis=1)]]
    c = Compiled([x, m, y, r, q, z], outputs, FEW)
    mask = np.zeros((4, 3), bool)
    mask.flat[[0, 3, 4, 8, 11]] = True
    c.run(data("float64", (4, 3)), [True, False, True, False], data("float64", (2, 3), 4), data("float64", 3), mask, data("float64", 5))


def test_mask_of_two_axes_with_index():
    x, m, i = variable("float64", (3, 4, 5), True, "x"), variable("bool", (3, 4), True, "m"), variable("int64", (2,), True, "i")
    v = variable("bool", (3,), True, "v")
    mask = np.zeros((3, 4), bool)
    mask[[0, 2], [1, 3]] = True
    c = Compiled([x, m, i, v], [x[m, i], x[v, :, i], x[v, :, 1:][:, i]], FEW)
    c.run(data("float64", (3, 4, 5)), mask, [2, 0], [True, False, True])


def test_mask_refuses():
    x, m = variable("float64", (4, 3), True, "x"), variable("bool", (4,), True, "m")
    c = Compiled([x, m], [x[m]])
    c.raises(np.ones((4, 3)), np.array([True, False, True]))
    c.raises(np.ones((4, 3)), np.array([True, False, True, False, True]))


def test_scalar_bool_index():
    """numpy arrays of constants as indices: masks become their positions."""
    x = variable("float64", (3, 2), True, "x")
    Compiled([x], [x[np.array([True, False, True])], x[np.array([0, 2])], x[[2, 0, 0]], x[np.array([[0], [1]]), np.array([0, 1])]]).run(data("float64", (3, 2)))


def test_constants_and_empty_results():
    x = pt.constant(np.arange(12.0).reshape(3, 4))
    i = variable("int64", (2,), True, "i")
    Compiled([i], [x[i], x[:, i], x[i, i], x[1:, ::2] + i[0], pt.set_subtensor(x[i], 0.0)]).run([0, 2])


def test_take_and_friends():
    x, i = variable("float64", (3, 4), True, "x"), variable("int64", (2, 3), True, "i")
    j = variable("int64", (3, 4), True, "j")
    outputs = [pt.take(x, i, axis=1), pt.take(x, i, axis=0), pt.take(x, i), x[pt.arange(x.shape[0]), i[0]], pt.take_along_axis(x, j, axis=0), pt.take_along_axis(x, j, axis=1), x.flatten()[i]]
    Compiled([x, i, j], outputs, FEW).run(data("float64", (3, 4)), [[0, 2, 1], [1, 1, 0]], [[0, 2, 1, 1], [1, 1, 0, 0], [2, 0, 1, 2]])


def test_ranges_as_indices():
    """ONNX Runtime makes a Slice of a Gather with a Range: that clamps."""
    x, n, m = variable("float64", (4, 3), True, "x"), scalar("n"), scalar("m")
    r = pt.arange(n, m)
    outputs = [x[r], x[:, r], x[r[:, None]], x[r, 1:], x[pt.arange(n, m, 2)], x[pt.arange(m, n, -1)], x[pt.arange(x.shape[0])], x[::-1][pt.arange(m)], x[pt.arange(-1, m)], x[r, 0]]
    for o in outputs:
        c = Compiled([x, n, m], [o], SOME_OPSETS)
        c.run(data("float64", (4, 3)), 0, 2)
        c.run(data("float64", (4, 3)), 1, 1)
        c.run(data("float64", (4, 3)), -2, 2)
    for o in (x[r], x[:, r], x[pt.arange(m)], x[r[:, None]]):
        c = Compiled([x, n, m], [o], SOME_OPSETS)
        c.raises(data("float64", (4, 3)), np.array(0), np.array(9))
        c.raises(np.zeros((1, 1)), np.array(0), np.array(2))


@pytest.mark.parametrize("step", [-2**63, -2**63 + 1, -2**31 - 1, 2**31, 2**63 - 1])
def test_steps_at_the_ends_of_int64(step):
    x = np.arange(5.0)
    want = x.copy()
    want[::step] = 7
    text = f"graph g(x: float64[n], y: float64[5]) -> (a, b, c) {{\n" \
           f"a = x[::{step}]\nb = y[3::{step}]\nc = y[::{step}].set(7)\n}}\n"
    a, b, c = ptg.run(text, x, x)
    assert a.tolist() == x[::step].tolist()
    assert b.tolist() == x[3::step].tolist()
    assert c.tolist() == want.tolist()


# --- rounding ---

EXACT = {"float16": 0, "float32": 0, "float64": 0}
CASES = {
    "basic set": lambda x, y, i: x[1:].set(y[1:]),
    "basic inc": lambda x, y, i: x[1:].inc(y[1:]),
    "set": lambda x, y, i: x[i].set(y),
    "inc": lambda x, y, i: x[i].inc(y),
    "inc once": lambda x, y, i: inc_subtensor(x[i], y, ignore_duplicates=True),
    "mask": lambda x, y, i: x[i > 2].set(y[0]),
}


@pytest.mark.parametrize("x_dtype,y_dtype", [("float16", "float64"), ("complex64", "complex128"), ("complex64", "float64")])
def test_rounded_once(x_dtype, y_dtype):
    """What is put into a smaller dtype is rounded from what it was; sums are rounded after each addition."""
    x, y, i = (variable(d, (3,), True, n) for d, n in ((x_dtype, "x"), (y_dtype, "y"), ("int64", "i")))
    c = Compiled([x, y, i], [f(x, y, i) for f in CASES.values()], ADD)
    near = np.array([1 + 2**-11 + 2**-30, 3 - 2**-10 - 2**-35, 65519.99999999, -1 - 2**-11 - 2**-30, 2**-25 + 2**-50, 0.1])
    if y_dtype[0] == "c":
        near = near + 1j * np.roll(near, 1) / 3
    for start in (np.zeros(6, x_dtype), (-near).astype(x_dtype)):
        for at in ([0, 1, 2, 3, 4, 5], [3, 1, 3, 3, 0, 1]):
            c.run(start, near, np.array(at), ulp=EXACT)


@pytest.mark.parametrize("x_dtype,y_dtype", [("int8", "uint64"), ("int64", "uint64"), ("uint64", "int16"), ("uint64", "int64")])
def test_duplicates_beyond_all_integers(x_dtype, y_dtype):
    """Each of these sums is a float64 that becomes an integer again."""
    x, y, i = (variable(d, (3,), True, n) for d, n in ((x_dtype, "x"), (y_dtype, "y"), ("int64", "i")))
    c = Compiled([x, y, i], [x[i].inc(y)], ADD)
    for seed in range(3):
        for at in ([0, 1, 2, 3, 4, 5, 6, 7], [3, 3, 1, 0, 7, 7, -1, 2]):
            c.run(values(x_dtype, (8,), seed), values(y_dtype, (8,), seed + 9), np.array(at))


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
def test_an_element_of_each_row(dtype):
    """x[arange(n), at] is one GatherElements, also of fewer rows than x has."""
    x, t = pt.tensor("x", shape=(None, None), dtype=dtype), pt.lvector("t")
    y = x[pt.arange(t.shape[0]), t]
    c = Compiled([x, t], [y])
    a = values(dtype, (4, 3))
    for at in ([0, -1, 2, 1], [2, 0], []):
        c.run(a, np.array(at, "int64"))
    c.run(a[:0], np.zeros(0, "int64"))
    c.run(a[:, :0], np.zeros(0, "int64"))
    c.run(a[:1, :1], np.zeros(1, "int64"))
    f = pytensor.function([x, t], y, mode="ONNX", trust_input=True)
    assert [n.op_type for n in onnx.load_from_string(f.vm.jit_fn.model).graph.node].count("GatherElements") == 1
    for at in ([0, 1, 2, 0, 1], [3], [-4]):
        with pytest.raises(IndexError):
            f(a, np.array(at, "int64"))
