"""Ops that move, join, split and make data: shapes known, unknown and computed; all opsets."""

import itertools

import numpy as np
import pytensor.tensor as pt
import pytest
from pytensor.tensor.basic import AllocEmpty, Alloc, ARange, Eye, Join, MakeVector, Split
from pytensor.tensor.elemwise import DimShuffle
from pytensor.tensor.shape import Reshape, Shape, Shape_i, SpecifyShape

import ptg
from harness import ALL, FLOATS, INTS, UINTS, Compiled, values, variable
from opsets import SOME_OPSETS

KINDS = (False, True)


def v64(name):
    return pt.tensor(name, dtype="int64", shape=())


@pytest.mark.parametrize("dtype", ALL)
def test_dimshuffle(dtype):
    orders = [(1, 0, 2), (2, 0, 1), ("x", 0, 1, 2), (0, "x", 2, 1), (2, 1, 0, "x", "x"), (0, 1, 2)]
    for dynamic in KINDS:
        x = variable(dtype, (2, 3, 4), dynamic, "x")
        c = Compiled([x], [x.dimshuffle(*o) for o in orders])
        c.run(values(dtype, (2, 3, 4)))
        if dynamic:
            c.run(values(dtype, (0, 3, 4)))
            c.run(values(dtype, (5, 0, 0)))


@pytest.mark.parametrize("dynamic", KINDS)
def test_dimshuffle_ones(dynamic):
    """Axes of length 1 that move, go and come."""
    x = variable("float32", (1, 3, 1, 4), dynamic, "x")
    orders = [(1, 3), (3, 1), (0, 1, 3), (2, 1, 0, 3), (1, "x", 3), ("x", 3, "x", 1), (3, 2, 1, 0), (1, 0, 2, 3), (1, 3, 0, 2)]
    c = Compiled([x], [x.dimshuffle(*o) for o in orders])
    c.run(values("float32", (1, 3, 1, 4)))
    if dynamic:
        c.run(values("float32", (1, 0, 1, 4)))


def test_dimshuffle_drops_unknown_axis():
    x = pt.tensor("x", dtype="float64", shape=(None, None))
    c = Compiled([x], [DimShuffle(input_ndim=2, new_order=(1,))(x), DimShuffle(input_ndim=2, new_order=("x", 1))(x)])
    c.run(np.ones((1, 3)))
    c.raises(np.ones((2, 3)))


def test_scalar_shapes():
    x = variable("float64", (), False, "x")
    Compiled([x], [x.dimshuffle("x"), x.dimshuffle("x", "x"), x.reshape((1, 1)), x.reshape(()), x.reshape((-1,)), pt.shape(x)]).run(2.5)
    y = variable("float64", (1, 1), False, "y")
    Compiled([y], [y.dimshuffle(), y.dimshuffle("x"), y.squeeze(), y.reshape(()), pt.expand_dims(y, (0, -1))]).run([[3.5]])


@pytest.mark.parametrize("dynamic", KINDS)
def test_reshape(dynamic):
    x = variable("float64", (2, 3, 4), dynamic, "x")
    n = x.shape[0]
    shapes = [(-1,), (-1, 4), (n, -1), (n, x.shape[1] * x.shape[2]), (x.shape[1], -1, n), (n * x.shape[1], x.shape[2]), (-1, x.shape[2], n, 1), (x.size,)]
    c = Compiled([x], [x.reshape(s, ndim=len(s)) for s in shapes])
    c.run(values("float64", (2, 3, 4)))
    if dynamic:
        c.run(values("float64", (1, 8, 4)))


@pytest.mark.parametrize("dtype", ["float64", "int8", "bool", "uint64", "float16"])
def test_reshape_to_constants(dtype):
    for dynamic in KINDS:
        x = variable(dtype, (2, 6), dynamic, "x")
        c = Compiled([x], [x.reshape(s) for s in ((12,), (3, 4), (-1,), (3, -1), (2, 6), (1, 12), (2, 1, 6), (2, 3, 2), (-1, 2, 2))])
        c.run(values(dtype, (2, 6)))
        if dynamic:
            c.run(values(dtype, (4, 3)))
            c.raises(values(dtype, (5, 3)))
            c.raises(values(dtype, (0, 3)))


@pytest.mark.parametrize("dynamic", KINDS)
def test_reshape_empty(dynamic):
    x = variable("float64", (0, 6), dynamic, "x")
    shapes = [(0,), (0, 3), (3, 0), (0, 0, 5), (x.shape[0], 2, 3), (2, x.shape[0]), (x.shape[0] * x.shape[1],), (-1,), (-1, 6), (-1, 3)]
    c = Compiled([x], [x.reshape(s, ndim=len(s)) for s in shapes])
    c.run(np.zeros((0, 6)))
    if dynamic:
        c.raises(np.zeros((2, 6)))
        c = Compiled([x], [x.reshape((0, 3))])
        c.run(np.zeros((4, 0)))
        for shape in ((1, 3), (0, 3), (2, 3), (1, 1)):
            c.run(np.zeros(shape)) if 0 in shape else c.raises(np.zeros(shape))


def test_reshape_to_given_shape():
    """The shape is an input of the model."""
    x = variable("float64", (3,), True, "x")
    m = variable("float64", (3, 4), True, "m")
    s = pt.tensor("s", dtype="int64", shape=(2,))
    a, b = v64("a"), v64("b")
    c = Compiled([x, m, s, a, b], [Reshape(2)(x, s), Reshape(2)(m, s), Reshape(2)(x, pt.stack([a, b])), Reshape(3)(m, pt.stack([a, pt.constant(np.int64(1)), b]))])
    for n, shape in [((12,), (3, 4)), ((12,), (-1, 3)), ((12,), (12, 1)), ((0,), (0, 4)), ((0,), (3, 0)), ((0,), (0, 0)), ((6,), (2, -1))]:
        v = values("float64", n)
        c.run(v, v.reshape((-1, 1) if n[0] else (0, 5)), shape, *shape)
    for n, shape in [((12,), (3, 5)), ((0,), (3, 5)), ((12,), (0, 4)), ((12,), (5, -1)), ((12,), (-1, -1)), ((1,), (0, 0)), ((1,), (0, 1))]:
        v = values("float64", n)
        for k, case in enumerate([(v, np.zeros((1, 0)), shape, 0, 0), (np.zeros(0), v.reshape(-1, 1), shape, 0, 0), (v, np.zeros((1, 0)), (0, 0), *shape)]):
            c.raises(*[np.asarray(q, dtype=i.type.dtype) for q, i in zip(case, c.inputs)])


@pytest.mark.parametrize("rank", [1, 2])
def test_reshape_to_any_lengths(rank):
    """Several to find, one to find beside a 0 or that does not divide, too few and too many elements."""
    x, v = pt.tensor("x", dtype="float64", shape=(None,) * rank), pt.tensor("v", dtype="int64", shape=(3,))
    i, j = pt.lscalar("i"), pt.lscalar("j")
    general = Compiled([x, v], [x.reshape(v, ndim=3)])
    parts = Compiled([x, i, j], [x.reshape((i, 3, j))])
    beside = Compiled([x, i], [x.reshape((i, 0))])
    of = [(0,), (6,)] if rank == 1 else [(0, 0), (3, 0), (2, 3)]
    for shape, w in itertools.product(of, itertools.product((-2, -1, 0, 1, 3), repeat=3)):
        calls = [(general, np.zeros(shape), w)]
        calls += [(parts, np.zeros(shape), w[0], w[2])] if w[1] == 3 else []
        calls += [(beside, np.zeros(shape), w[0])] if w[1:] == (0, 0) else []
        for c, *args in calls:
            try:
                np.zeros(shape).reshape(w if c is general else (w[0], 3, w[2]) if c is parts else (w[0], 0))
            except ValueError:
                c.raises(*args)
            else:
                c.run(*args)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_reshape_shape_dtypes(dtype):
    x = variable("float64", (3,), True, "x")
    s = pt.tensor("s", dtype=dtype, shape=(None,))
    Compiled([x, s], [Reshape(2)(x, s)]).run(np.arange(6.0), np.array([2, 3]))


def test_shapes():
    for dtype in ("float64", "bool", "int8"):
        for dynamic in KINDS:
            x = variable(dtype, (2, 1, 4), dynamic, "x")
            outputs = [Shape()(x), Shape_i(0)(x), Shape_i(2)(x), x.shape[0], x.shape[-1], x.shape[1:], x.shape[::-1], x.size, pt.prod(x.shape), x.shape[0] * 2 + 1]
            c = Compiled([x], outputs)
            c.run(values(dtype, (2, 1, 4)))
            if dynamic:
                c.run(values(dtype, (0, 1, 5)))


def test_specify_shape():
    x = variable("float64", (2, 3), True, "x")
    n = v64("n")
    c = Compiled([x, n], [SpecifyShape()(x, 2, None) + 1, pt.specify_shape(x, (n, 3)) * 2])
    c.run(np.ones((2, 3)), 2)
    c.raises(np.ones((3, 3)), np.array(3))
    c.raises(np.ones((2, 3)), np.array(1))
    c.raises(np.ones((2, 4)), np.array(2))


@pytest.mark.parametrize("dtype", ALL)
def test_join(dtype):
    for axis in (0, 1):
        for dynamic in KINDS:
            shapes = [[2, 3], [2, 3], [2, 3]]
            for k, s in enumerate(shapes):
                s[axis] += k
            xs = [variable(dtype, s, dynamic, f"x{k}") for k, s in enumerate(shapes)]
            c = Compiled(xs, [Join(axis)(*xs), Join(axis)(xs[1], xs[1]), Join(axis)(xs[0])])
            c.run(*[values(dtype, s, k) for k, s in enumerate(shapes)])
            if dynamic:
                for size in (0, 1):
                    shapes[1][axis] = size
                    c.run(*[values(dtype, s, k) for k, s in enumerate(shapes)])
                shapes = [[0 if k != axis % 2 else d for k, d in enumerate(s)] for s in shapes]
                c.run(*[values(dtype, s, k) for k, s in enumerate(shapes)])


@pytest.mark.parametrize("a", ALL)
def test_join_dtypes(a):
    for b in ALL:
        x, y = variable(a, (2,), True, "x"), variable(b, (3,), True, "y")
        Compiled([x, y], [Join(0)(x, y)], SOME_OPSETS).run(values(a, (3,), low=0, high=9), values(b, (2,), low=0, high=9))


def test_join_refuses():
    x, y = variable("float64", (2, 3), True, "x"), variable("float64", (2, 3), True, "y")
    c = Compiled([x, y], [Join(0)(x, y)])
    c.raises(np.ones((2, 3)), np.ones((2, 4)))
    c.raises(np.ones((2, 3)), np.ones((2, 1)))


@pytest.mark.parametrize("dtype", ALL)
def test_split(dtype):
    for axis in (0, 1):
        for dynamic in KINDS:
            x = variable(dtype, (6, 6), dynamic, "x")
            s = pt.tensor("s", dtype="int64", shape=(3,))
            outputs = list(Split(3, axis)(x, s)) + list(Split(2, axis)(x, np.array([2, 4]))) + list(Split(3, axis)(x, np.array([2, 2, 2]))) + list(Split(3, axis)(x, np.array([0, 6, 0])))
            c = Compiled([x, s], outputs)
            for sizes in ((1, 2, 3), (6, 0, 0), (2, 2, 2)):
                c.run(values(dtype, (6, 6)), sizes)
            c.raises(values(dtype, (6, 6)), np.array([1, 2, 4]))
            c.raises(values(dtype, (6, 6)), np.array([-1, 4, 3]))


def test_split_one():
    x = variable("float64", (3, 2), True, "x")
    Compiled([x], [Split(1, 0)(x, x.shape[:1])]).run(np.ones((5, 2)))


@pytest.mark.parametrize("dtype", ALL)
def test_makevector(dtype):
    xs = [variable(dtype, (), False, f"x{k}") for k in range(3)]
    outputs = [MakeVector(dtype)(*xs), MakeVector(dtype)(xs[0]), MakeVector("float64")(*xs)]
    v = values(dtype, (3,), low=0, high=9)
    Compiled(xs, outputs).run(*v)


def test_makevector_dtypes():
    i, j, n = pt.tensor("i", dtype="int8", shape=()), v64("j"), pt.matrix("n")
    c = Compiled([i, j, n], [MakeVector("int64")(i, j, n.shape[0]), MakeVector("int64")(), MakeVector("int32")(i, i), pt.stack([j, j + 1, n.shape[1]])])
    c.run(-3, 2**40, np.ones((2, 5)))


@pytest.mark.parametrize("dtype", ALL)
def test_alloc(dtype):
    n, m = v64("n"), v64("m")
    s = variable(dtype, (), False, "s")
    v = variable(dtype, (3,), True, "v")
    k = pt.constant(np.array(1, dtype))
    outputs = [pt.alloc(s, n, m), pt.alloc(s, 2, 3), pt.alloc(v, n, v.shape[0]), pt.alloc(k, n), pt.alloc(k, 3, m), pt.alloc(s), pt.alloc(v, n, m, 3), pt.alloc(v.dimshuffle(0, "x"), 3, m), pt.zeros((n, 2), dtype=dtype), pt.ones_like(v)]
    c = Compiled([n, m, s, v], outputs)
    for a, b in ((2, 4), (0, 3), (1, 1), (3, 0)):
        c.run(a, b, values(dtype, ()), values(dtype, (3,)))


def test_alloc_refuses():
    """Only lengths known to be 1 are repeated."""
    n, v = v64("n"), variable("float64", (3,), True, "v")
    c = Compiled([n, v], [pt.alloc(v, n)])
    c.run(3, np.ones(3))
    c.raises(np.array(2), np.ones(3))
    c.raises(np.array(4), np.ones(1))
    c.raises(np.array(-1), np.ones(1))
    c = Compiled([n, v], [Alloc()(v, 2, n), AllocEmpty("float64")(n)])
    c.raises(np.array(-2), np.ones(3))


def test_alloc_empty():
    n = v64("n")
    for dtype in ALL:
        x = AllocEmpty(dtype)(n, 3)
        Compiled([n], [Shape()(x), pt.set_subtensor(x[:], np.array(1, dtype))]).run(4)


@pytest.mark.parametrize("dtype", INTS + UINTS + FLOATS)
def test_arange(dtype):
    """In the input's dtype; in another; dynamic, negative and empty."""
    a, b, s = (variable(dtype, (), False, k) for k in "abs")
    outputs = [ARange(dtype)(a, b, s), ARange("float64")(a, b, s), ARange("int64")(a, b, s) if dtype not in FLOATS else ARange("float32")(a, b, s)]
    c = Compiled([a, b, s], outputs)
    cases = [(0, 5, 1), (2, 2, 1), (5, 2, 1), (1, 10, 3), (0, 1, 1), (3, 100, 7)]
    if dtype not in UINTS:
        cases += [(5, 0, -1), (5, 0, -2), (0, 5, -1), (-3, 3, 2), (-3, -10, -3)]
    if dtype in FLOATS:
        cases += [(0, 1, 0.25), (0.5, 2.75, 0.5), (1, 0, -0.125), (0, 1, 0.1), (-1, 1, 0.3)]
    for case in cases:
        c.run(*case, ulp={"float64": 2, "float32": 2, "float16": 1})


def test_arange_mixed():
    a, b, s = pt.tensor("a", dtype="int8", shape=()), pt.tensor("b", dtype="float64", shape=()), pt.tensor("s", dtype="uint8", shape=())
    n, x = v64("n"), pt.vector("x")
    c = Compiled([a, b, s, n, x], [pt.arange(a, b, s), pt.arange(a, n), pt.arange(n), pt.arange(x.shape[0]), pt.arange(n, 0, -1), pt.arange(0, n, s), pt.arange(4), pt.arange(x.shape[0])[::-1], pt.arange(1, x.shape[0] + 1)])
    c.run(-2, 4.5, 2, 7, np.ones(5))
    c.run(3, 2.5, 1, 0, np.ones(0))
    c.run(3, 2.5, 1, -4, np.ones(1))


def test_reshape_beside_a_raw_one():
    """The same node in front of the branches that opset 13 needs."""
    text = """graph g(x: float64[n], z: float64[p, q]) -> (a, b) {
  s = Shape(z)
  a: float64[?, ?] = onnx.Reshape(x, s)
  b = Reshape{ndim=2}(x, s)
}"""
    for opset in (13, 18):
        a, b = ptg.run(text, np.arange(6.0), np.ones((2, 3)), opset=opset)
        assert np.array_equal(a, np.arange(6.0).reshape(2, 3)) and np.array_equal(a, b)


def test_arange_of_no_number():
    """NumPy refuses to make so many items."""
    a, s = pt.scalar("a", dtype="float64"), pt.scalar("s", dtype="float64")
    c = Compiled([a, s], [ARange("float64")(0.0, a, 1.0), ARange("float32")(a, 5.0, s), ARange("int64")(a, 5.0, 1.0)])
    c.run(3, 1)
    c.run(-4.5, 0.5)
    for wrong in ((np.inf, 1), (-np.inf, 1), (np.nan, 1), (3, np.nan), (3, 0), (1e300, -1)):
        c.raises(*map(np.array, wrong))
    for stop in ("inf", "nan", "-inf", "1e300"):
        with pytest.raises(AssertionError, match="PTG0505.*|no number of items"):
            ptg.compile(f"graph g() -> (y) {{ y = ARange{{dtype=float64}}(0.0, float64({stop}), 1.0) }}")


def test_arange_of_one_item():
    """Where the step is so large that (stop - start) / step is 0 NumPy makes the start alone, with its sign."""
    for dtype in FLOATS:
        a, b, s = (pt.scalar(n, dtype=dtype) for n in "abs")
        two = pt.constant(np.array(2, dtype))
        c = Compiled([a, b, s], [ARange(dtype)(a, b, s), ARange("int64")(a, b, s), ARange(dtype)(a, b, two), ARange(dtype)(0.0, b, s)])
        for case in ((0, 10, np.inf), (3, -10, -np.inf), (-0.0, 3, 1), (0, -3, -1), (-0.0, -3, -2), (0, 10, -np.inf), (-0.0, 0, np.inf)):
            c.run(*(np.array(v, dtype) for v in case))
    c.run(0.0, 5e-324, 4)
    c.run(0.0, -5e-324, -3)
    assert np.signbit(ptg.run("graph g(x: float64[]) -> (y) { y = ARange{dtype=float64}(-0.0, x, 1.0) }", 2.0)).tolist() == [True, False]


@pytest.mark.parametrize("dtype", ["int64", "uint64", "float64", "float32"])
def test_arange_of_large_integers(dtype):
    """How many there are float64 does not say: NumPy subtracts Python's numbers."""
    a, b, s = v64("a"), v64("b"), v64("s")
    c = Compiled([a, b, s], [ARange(dtype)(a, b, s), ARange(dtype)(0, b - a, s), ARange(dtype)(3, b - a, s)])
    top = 2**63 - 1
    cases = [(2**62, 2**62 + 5, 2), (2**53 + 1, 2**53 + 4, 1), (top - 3, top, 1), (top - 3, top, 2**40)]
    for case in cases if dtype[0] == "u" else [*cases, (2**62 + 5, 2**62, -1), (-(2**62), 3 - 2**62, 1)]:
        c.run(*case)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint64"])
def test_arange_out_of_its_dtype(dtype):
    """The first two numbers must fit; those that follow may wrap."""
    a, b, s, top = v64("a"), v64("b"), v64("s"), min(np.iinfo(dtype).max, 2**63 - 9)
    c = Compiled([a, b, s], [ARange(dtype)(a, b, s)])
    for case in ((top - 2, top + 3, 1), (top, top + 1, 1), (top, top + 3, 4), (0, 5, 2**40), (2**40, 0, 1)):
        c.run(*case)
    wrong = [(-1, 3, 1), (5, -10, -6)] if dtype[0] == "u" else [(top, top + 2, 1), (-top - 2, -top, 1)]
    for case in wrong if dtype[0] == "u" else [*wrong, (0, 2**41, 2**40)]:
        c.raises(*map(np.array, case))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64"])
def test_arange_of_floats_out_of_its_dtype(dtype):
    a, b, s = (pt.scalar(n, dtype="float64") for n in "abs")
    c = Compiled([a, b, s], [ARange(dtype)(a, b, s)])
    for case in ((0.5, 4, 1.5), (-0.5, 4, 1), (5, -0.5, -2.75), (1e18, 0, 1), (0, 5, 1e300), (127, 128, 1e9)):
        c.run(*case)
    for case in ((1e19, 1e19 + 9999, 5000.0), (-1e19, -1e19 + 9999, 5000.0), (0, 2e300, 1e300)):
        c.raises(*map(np.array, case))


def test_arange_step_zero():
    a, s = v64("a"), v64("s")
    c = Compiled([a, s], [pt.arange(0, a, s)])
    c.raises(np.array(3), np.array(0))
    a, s = pt.dscalar("a"), pt.dscalar("s")
    c = Compiled([a, s], [ARange("float64")(0.0, a, s)])
    c.raises(np.array(3.0), np.array(0.0))
    c.run(3, -1)
    c.run(3, 0.7, ulp={"float64": 2})


@pytest.mark.parametrize("dtype", ALL)
def test_eye(dtype):
    n, m, k = v64("n"), v64("m"), v64("k")
    outputs = [Eye(dtype)(n, m, k), Eye(dtype)(n, m, 0), Eye(dtype)(n, m, 1), Eye(dtype)(n, m, -2), Eye(dtype)(3, 4, k), Eye(dtype)(3, 4, 1), Eye(dtype)(2, 2, 5)]
    c = Compiled([n, m, k], outputs)
    for case in ((3, 4, 0), (4, 2, -1), (2, 5, 3), (1, 1, 0), (0, 3, 0), (3, 0, 1), (2, 2, 9), (2, 2, -9)):
        c.run(*case)
    for refuses in (c, Compiled([n, m, k], outputs[:1])):
        for wrong in ((-1, 2, 0), (2, -2, 1), (-3, -1, 0)):
            refuses.raises(*map(np.array, wrong))


def test_computed_shapes():
    """Shapes that arithmetic in the graph makes."""
    x, y = variable("float64", (2, 3), True, "x"), variable("float64", (3,), True, "y")
    n = x.shape[0]
    outputs = [
        pt.zeros((n + 1, x.shape[1] * 2)), pt.ones(pt.maximum(n - 2, 0)), x.reshape((n * x.shape[1],)), pt.concatenate([y, y]),
        pt.arange(n * 2), pt.zeros(x.shape), pt.zeros_like(x) + y[None, :], x.flatten(), x.T.reshape((-1,)), pt.zeros((n // 2, n % 2)), pt.eye(n), pt.eye(n, x.shape[1], 1),
    ]  # fmt: skip
    c = Compiled([x, y], outputs)
    for shape in ((2, 3), (5, 3), (0, 2), (3, 0)):
        c.run(values("float64", shape), values("float64", shape[1:]))


@pytest.mark.parametrize("dtype", ALL)
def test_second_and_broadcast(dtype):
    x, y = variable(dtype, (2, 3), True, "x"), variable("float64", (), False, "y")
    c = Compiled([x, y], [pt.second(x, y), pt.second(x, x + x), pt.zeros_like(x), pt.ones_like(x)])
    c.run(values(dtype, (2, 3)), 1.5)
    c.run(values(dtype, (0, 3)), 1.5)


def test_reshape_to_a_length_that_must_be_one():
    """PyTensor's type says 1, though the shape is an input: it is stretched."""
    x, n, y = pt.scalar("x"), pt.lscalar("n"), pt.vector("y")
    c = Compiled([x, n, y], [x.reshape((n,)) + y, x.reshape((n, 1)) + y])
    c.run(2.0, 1, [1.0, 2.0, 3.0])
    c.raises(np.array(2.0), np.array(2), np.array([1.0, 2.0]))


@pytest.mark.parametrize("declared", ["n", "N"])
@pytest.mark.parametrize("shape", ["[k, 1]", "[1, k]", "[k, 2]", "[2, k, 1]", "[k]", "[k, k]"])
def test_reshape_to_what_may_not_fit(shape, declared):
    """ONNX Runtime takes a number among the lengths of a Reshape for -1 where it can."""
    for n, k in ((6, 4), (6, 6), (6, 3), (1, 2), (1, 1), (2, 3), (2, 2), (4, 2), (0, 0), (0, 3)):
        dim = n if declared == "N" else declared
        text = f"ptg 1\n\ngraph g(x: float64[{dim}], k: int64[]) -> (y) {{\n  y = Reshape(x, {shape})\n}}\n"
        x = np.arange(float(n))
        try:
            want = x.reshape(eval(shape))
        except ValueError:
            want = None
        for opset in SOME_OPSETS:
            if want is None:
                with pytest.raises(Exception):
                    ptg.run(ptg.compile(text, opset=opset), x, np.array(k))
            else:
                got = ptg.run(ptg.compile(text, opset=opset), x, np.array(k))
                assert got.shape == want.shape


def test_reshape_where_one_length_is_known():
    """Beside a length that is computed a 1 is still one, as in PyTensor's types: it is stretched."""
    x, k = pt.vector("x"), pt.lscalar("k")
    n = pt.constant(np.array([1]))[0:1].set(k)[0]
    y = Reshape(2)(x, pt.stack([pt.constant(np.int64(1)), n]))
    assert y.type.shape == (1, None)
    c = Compiled([x, k], [pt.alloc(y, 3, n), y + np.ones((3, 1))])
    for length in (0, 1, 2):
        c.run(np.arange(float(length)), length)
    c.raises(np.arange(3.0), np.array(2))


def test_reshape_beside_a_zero_that_is_found_later():
    x = pt.tensor("x", shape=(3, None))
    for shape in ((-1, x.shape[1]), (x.shape[1], -1)):
        y = x.reshape(shape)
        with pytest.raises(AssertionError, match="a shape with -1 cannot have a length of 0"):
            Compiled([x], [y + np.zeros((3, 0)) if shape[0] == -1 else y + np.zeros((0, 3))])


def test_any_negative_length_is_to_be_found():
    """NumPy takes -2 for -1, where it is computed; PyTensor looks at those that it knows."""
    v, x = pt.vector("v"), pt.matrix("x")
    n, m = pt.lscalar("n"), pt.lscalar("m")
    s = pt.tensor("s", shape=(2,), dtype="int64")
    six, twelve = np.arange(6.0), np.arange(12.0).reshape(6, 2)
    c = Compiled([v, n], [v.reshape((2, n)), v.reshape((n,)), v.reshape((n, 1, 3)), pt.split_dims(v, (n, 3), 0)])
    for k in (-1, -2, -7, -(2**40)):
        c.run(six, k)
    c = Compiled([x, s], [x.reshape(s), x.reshape(s, ndim=2).sum(axis=0), pt.split_dims(x, s, 0)])
    for shape in ([3, -2], [-9, 2], [-1, 3]):
        c.run(twelve, shape)
    c.raises(twelve, [-2, -3])
    c.raises(twelve, [5, -3])
    c = Compiled([v, n, m], [v.reshape((n, m))])
    c.run(six, -3, 2)
    c.run(six, 3, -1)
    c.run(six, 3, 2)
    c.raises(six, -3, -2)  # not 6 of them


def test_column_of_a_row_whose_length_only_lowering_knows():
    text = """graph g(x: uint32[1, 1]) -> (y) {
  k = Alloc(Shape(x)[1:], (Shape(x)[:1])[0], int8(1))
  v = Alloc(ExpandDims{axis=2}(x), 1, Squeeze{axis=0}(k[:, 0]), int64(2))
  n = ExpandDims{axis=1}(Mul(k[:, 0], ExpandDims{axis=0}(int64(2))))
  y = ExpandDims{axis=2}(Blockwise{core_op=Reshape{ndim=1}, signature="(i00,i01),(i10)->(o00)"}(v, n))
}"""
    got = ptg.run(text, np.array([[3]], "uint32"))
    assert got.dtype == "uint32" and np.array_equal(got, np.full((1, 2, 1), 3))


def test_reshape_to_no_axes_by_an_input():
    """A shape of no lengths has no least one."""
    text = "graph g(x: float64[?, ?], s: int64[0]) -> (z) { z = Reshape{ndim=0}(x, s) }"
    assert ptg.run(text, np.full((1, 1), 3.0), np.zeros(0, np.int64)) == 3.0
    with pytest.raises(Exception, match="ONNXRuntimeError"):
        ptg.run(text, np.zeros((2, 1)), np.zeros(0, np.int64))


FAR = [-(2**63), -(2**62), -1, 0, 1, 2**62, 2**63 - 1]


@pytest.mark.parametrize("math", ["exact", "standard"])
@pytest.mark.parametrize("step", [1, -1, 2**61, -(2**61), 2**62, -(2**63), 2**63 - 1])
def test_ranges_whose_ends_are_far_from_each_other(step, math):
    """Their distance may be no int64: then the run fails."""
    model = "ptg 1\ngraph g(a: int64[], b: int64[], c: int64[]) -> (y, n) {\n  y = ARange{dtype=int64}(a, b, c)\n"
    model += "  n = loop (i in a:b:c, s: int64[] = 0) -> (s) {\n    next s = s + 1\n  }\n}\n"
    for a, b in itertools.product(FAR, FAR):
        want = range(a, b, step)
        if (b - a) // step > 1000:
            continue
        try:
            y, n = ptg.run(model, np.array(a), np.array(b), np.array(step), math=math)
        except Exception as e:
            assert abs(b - a) >= 2**63 and ("an ARange is too long" in str(e) or "Range node" in str(e))
            continue
        assert y.tolist() == list(want) and n == len(want)
