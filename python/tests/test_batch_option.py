"""Many points in one call: compile_onnx(batch=...), and loops with the batch inside."""

from collections import Counter
from functools import cache

import numpy as np
import onnx
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.conditional.op import ifelse
from pytensor.graph.replace import vectorize_graph
from pytensor.scan.utils import until

import ptgc

x, s, M = pt.dvector("x"), pt.dscalar("s"), pt.dmatrix("M")


def operators(graph):
    bodies = [a.g for n in graph.node for a in n.attribute if a.type == onnx.AttributeProto.GRAPH]
    return sum(map(operators, bodies), Counter(n.op_type for n in graph.node))


def loops(e):
    found = operators(onnx.load_from_string(e.model).graph)
    return found["Loop"] + found["Scan"]


@cache
def at_one_point(inputs, outputs):
    return pytensor.function(list(inputs), list(outputs), mode="FAST_COMPILE", on_unused_input="ignore")


def by_lane(inputs, outputs, values, batch=None):
    """Each result of the batched model equals the graph's own at that point."""
    e = ptgc.compile_onnx(inputs, outputs, batch=batch or "chains")
    got = e(*values)
    f = at_one_point(tuple(inputs), tuple(outputs))
    moves = [batch is None or v.name in batch for v in inputs]
    lanes = next(len(v) for v, m in zip(values, moves) if m)
    for k in range(lanes):
        want = f(*[v[k] if m else v for v, m in zip(values, moves)])
        for g, w in zip(got, want, strict=True):
            assert g.shape == (lanes, *w.shape) and g.dtype == w.dtype
            np.testing.assert_allclose(g[k], w, rtol=1e-10, atol=1e-12)
    return e


def dims(values):
    return [v.shape for v in values]


def density():
    W = pytensor.shared(np.random.default_rng(0).normal(size=(3, 3)), name="W")
    y = pt.tanh(W @ x) * s
    y.name = "y"
    return [y, y.sum(), pt.grad(y.sum(), x), pt.constant(2.0)]


@pytest.mark.parametrize("lanes", [1, 5])
def test_all_inputs(rng, lanes):
    e = by_lane([x, s], density(), [rng.normal(size=(lanes, 3)), rng.normal(size=lanes)])
    assert dims(e.session().get_inputs()) == [["chains", 3], ["chains"]]
    assert e.outputs[0] == "y" and dims(e.session().get_outputs()) == [["chains", 3], ["chains"], ["chains", 3], ["chains"]]
    e.verify([rng.normal(size=(lanes, 3)), rng.normal(size=lanes)])


def test_no_points(rng):
    """A -1 in a shape is a number that the lengths of a point say: NumPy takes none beside a batch of no points."""
    forms = [M.flatten(), M.reshape((2, -1)), M.T.reshape((-1, 1, 3)), s.reshape((-1, 1)), M.reshape((-1,))[:4]]
    for y in (forms, [pt.grad((v**2).sum(), [M, s], disconnected_inputs="ignore")[k // 3] for k, v in enumerate(forms[:4])]):
        e = by_lane([M, s], y, [rng.normal(size=(5, 2, 3)), rng.normal(size=5)])
        one = at_one_point((M, s), tuple(y))(np.ones((2, 3)), 1.0)
        assert dims(e(np.ones((0, 2, 3)), np.ones(0))) == [(0, *v.shape) for v in one]


@pytest.mark.parametrize("make", [ptgc.compile_onnx, ptgc.compile_native])
def test_sizes_of_a_split_at_no_points(rng, make):
    """Split is the gradient of Join: the sizes of a point are repeated for each, and there is no first one that has them."""
    v = pt.vector("v", shape=(1,))
    slope = pt.grad(pt.special.softmax(pt.concatenate([v, -v]))[0], v)
    by_lane([v], [slope], [rng.normal(size=(3, 1))])
    for batch, lanes in (("chains", (0,)), ({"v": ("a", "b")}, (0, 4)), ({"v": ("a", "b")}, (4, 0))):
        assert make([v], [slope], batch=batch)(np.ones((*lanes, 1)))[0].shape == (*lanes, 1)


def test_lengths_of_a_user(rng):
    """a, b = t.shape[:2] reads like lengths of a batch, but t.reshape((a, 4, -1)) need not keep the axes of t."""
    t = pt.tensor3("t")
    a, b = t.shape[:2]
    forms = [t.reshape(to) * s for to in ((a, 4, -1), (b, 4, -1), (b, -1), (a, b, -1), (b, a, -1))]
    for batch in ({"s": "chains"}, "chains"):
        by_lane([t, s], forms, [rng.normal(size=(3, 5, 8, 4) if batch == "chains" else (5, 8, 4)), rng.normal(size=3)], {
            "t": "chains", "s": "chains"} if batch == "chains" else batch)  # fmt: skip


def test_lengths_of_the_batch_are_expected(rng):
    """Polynomials of some points are computed together, however many points a call then has."""
    q, t = pt.vector("q", shape=(2,)), pt.matrix("t", shape=(None, 2))
    e, open_dims = ptgc.compile_onnx([q], [pt.erfc(q)], batch="chains"), ptgc.compile_onnx([t], [pt.erfc(t)])
    assert len(onnx.load_from_string(e.model).graph.node) < len(onnx.load_from_string(open_dims.model).graph.node)
    for n in (0, 1, 3000):
        x = rng.normal(size=(n, 2))
        np.testing.assert_allclose(e(x)[0], open_dims(x)[0], rtol=1e-12)


def test_no_lanes():
    e = ptgc.compile_onnx([x, s], density(), batch="chains")
    assert dims(e(np.ones((0, 3)), np.ones(0))) == [(0, 3), (0,), (0, 3), (0,)]


SHORT = [(), (1,), (None,), (1, None), (3,)]  # arrays without dims, and of length 1 by their types or not


@pytest.mark.parametrize("shape", SHORT, ids=str)
def test_numbers_and_arrays_of_length_one(rng, shape):
    """Reductions, other shapes and their gradients; NumPy and PyTensor take an axis of one number, as PyMC's CAR writes it"""
    v = pt.tensor("v", dtype="float64", shape=shape)
    reduced = [op(axis=k)(v) for op in (pt.math.Sum, pt.math.Prod, pt.math.Max, pt.math.Min) for k in (0, (0,), None)]
    flat = v.ravel()
    others = [
        v.sum(keepdims=True), v.mean(), flat.argmax(), pt.logsumexp(flat), flat.cumsum(), v.reshape((-1, 1)), v[None],
        v[..., None], pt.stack([v.sum(), 1.0]), pt.concatenate([flat, [1.0]]), pt.alloc(v.sum(), 3), pt.zeros(3)[:1].set(v.sum()),
        pt.broadcast_to(v, (2, *v.shape)), flat[::-1], pt.join_dims(pt.expand_dims(v, 0)), pt.outer(flat, flat), v.T, v.squeeze(),
        pt.grad((v**2).sum(), v), pt.grad(pt.logsumexp(v), v), pt.grad(pt.stack([v.max(), 1.0])[1:].sum() + flat[0] ** 2, v),
    ]  # fmt: skip
    for n in (1, 2) if None in shape else (1,):
        lengths = [n if k is None else k for k in shape]
        for lanes in (1, 3):
            by_lane([v], [*reduced, *others], [rng.normal(size=(lanes, *lengths))])
    for r in ptgc.compile_onnx([v], [*reduced, *others], batch="chains")(rng.normal(size=(0, *lengths))):
        assert r.shape[0] == 0


def test_some_inputs(rng):
    e = by_lane([x, s], density(), [rng.normal(size=(4, 3)), np.float64(2)], {"x": "chains"})
    assert dims(e.session().get_inputs()) == [["chains", 3], []]


def test_two_dims(rng):
    """x of 4 chains beside s of 4 chains with 5 draws each; an input of draws alone stands for all chains."""
    outputs = density()
    e = ptgc.compile_onnx([x, s], outputs, batch={x: "chains", "s": ("chains", "draws")})
    a, b = rng.normal(size=(4, 3)), rng.normal(size=(4, 5))
    f = pytensor.function([x, s], outputs, mode="FAST_COMPILE")
    for g, w in zip(e(a, b), zip(*[f(a[i], b[i, j]) for i in range(4) for j in range(5)])):
        np.testing.assert_allclose(g.reshape(np.shape(w)), w, rtol=1e-12)
    e = ptgc.compile_onnx([x, s], outputs, batch={x: "chains", "s": "draws"})
    for g, w in zip(e(a, b[0]), zip(*[f(a[i], b[0, j]) for i in range(4) for j in range(5)])):
        np.testing.assert_allclose(g.reshape(np.shape(w)), w, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:xtensor")
def test_an_output_that_lacks_a_dim(rng):
    """It has the dim, too, though it is computed behind a Reshape whose type says no length."""
    rows, n = pt.tensor("rows", shape=(1,), dtype="float64"), pt.lscalar("n")
    e = ptgc.compile_onnx([s, rows, n], [s + n, rows.reshape((1, n))], batch={s: ("a", "b"), rows: "a"})
    many, one = rng.normal(size=(3, 2)), rng.normal(size=(3, 1))
    first, second = e(many, one, 1)
    np.testing.assert_array_equal(first, many + 1)
    np.testing.assert_array_equal(second, np.broadcast_to(one[:, None, None], (3, 2, 1, 1)))


def test_tensors_with_named_dims(rng):
    from pytensor.xtensor import xtensor
    from pytensor.xtensor.math import exp

    a, b = xtensor("a", dims=("u", "v"), shape=(None, 3)), xtensor("b", dims=("v",), shape=(3,))
    total = (exp(a) * b).sum("v")
    total.name = "total"
    at = [rng.normal(size=s) for s in ((5, 2, 3), (5, 3), (5, 4))]
    e = by_lane([a, b, x], [total, (a * b).mean() + x.sum()], at)
    assert e.inputs == ["a", "b", "x"] and e.outputs[0] == "total"


def test_dims_of_the_user_move_behind_the_batch(rng):
    e = ptgc.compile_onnx([M, s], [M.sum() * s], batch="chains", dynamic_dims={"M": {0: "rows", -1: "columns"}})
    assert dims(e.session().get_inputs()) == [["chains", "rows", "columns"], ["chains"]]
    with pytest.raises(ValueError, match="no axis"):
        ptgc.compile_onnx([M, s], [M.sum() * s], batch="chains", dynamic_dims={"M": {-3: "rows"}})


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
def test_compiled_functions(tmp_path, rng, mode):
    f = pytensor.function([x, s], density(), mode=mode)
    e = ptgc.export_function_onnx(f, tmp_path / "f.onnx", batch="chains")
    a, b = rng.normal(size=(4, 3)), rng.normal(size=4)
    for k, want in enumerate(zip(*e(a, b))):
        for g, w in zip(want, f(a[k], b[k])):
            np.testing.assert_allclose(g, w, rtol=1e-12)


def test_a_matrix_that_is_made_of_its_factor_is_not_factored(rng):
    """L is the factor of L @ L.T where L is marked as triangular, as PyMC does: a mark that vectorized values lose."""
    rows, columns = np.tril_indices(3)
    L = pt.set_subtensor(pt.zeros((3, 3))[rows, columns], pt.exp(q := pt.vector("q", shape=(6,))))
    L.tag.lower_triangular = True
    total = pt.linalg.solve_triangular(pt.linalg.cholesky(L @ L.T), pt.arange(3.0), lower=True).sum()
    before = pytensor.dprint(total, file="str")
    e = by_lane([q], [total, pt.grad(total, q)], [rng.uniform(0, 0.3, (5, 6))])
    assert "Sqrt" not in {n.op_type for n in onnx.load_from_string(e.model).graph.node}
    assert pytensor.dprint(total, file="str") == before


def test_what_cannot_have_a_batch(tmp_path):
    with pytest.raises(ValueError, match="batch: PyTensor cannot vectorize the graph: axis"):
        ptgc.compile_onnx([s], [pt.special.softmax(s, axis=0)], batch="chains")
    w = pytensor.shared(np.ones(3), name="w")
    for batch, text in (
        ({"y": "chains"}, "'y', which is not an input"), ({w: "chains"}, "shared variable"), ({}, "name of a dim"),
        ({"x": "a b"}, "not a name for a dim"), (3, "name of a dim"), ({"x": ()}, "names of dims"), ({"x": ("c", "c")}, "differ"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=text):
            ptgc.compile_onnx([x], [x * w], batch=batch)
    with pytest.raises(ValueError, match="another order"):
        ptgc.compile_onnx([x, s], [x * s], batch={"x": ("a", "b"), "s": ("b", "a")})
    f = pytensor.function([x], x * w, updates={w: w + x})
    with pytest.raises(ValueError, match="updates the shared variable w"):
        ptgc.export_function_onnx(f, tmp_path / "f.onnx", batch="chains")
    with pytest.raises(ValueError, match="draws from one generator"):
        ptgc.compile_onnx([x], [pt.random.normal(x)], batch="chains")
    assert not list(tmp_path.iterdir())


# ---- loops ----


def scan(*args, **options):
    return pytensor.scan(*args, **options, return_updates=False)


def test_loops_have_the_batch_inside(rng):
    y = scan(lambda a, b, s: pt.tanh(a * s + b), sequences=[x], outputs_info=[s], non_sequences=[s])
    outputs = [y, y[-1], pt.grad(y[-1], x)]
    for lanes in (1, 4):
        a, b = rng.normal(size=(lanes, 7)), rng.normal(size=lanes)
        assert loops(by_lane([x, s], outputs, [a, b])) == 2
    by_lane([x, s], outputs, [a, b[0]], {"x": "chains"})
    e = by_lane([x, s], outputs, [a[0], b], {"s": "chains"})
    assert dims(e(np.ones(7), np.ones(0))) == [(0, 7), (0,), (0, 7)]


def test_loops_with_several_taps(rng):
    y = scan(
        lambda a, p, q, M: (M @ (p + a) - q, p.sum()), sequences=[x],
        outputs_info=[{"initial": M[:2], "taps": [-1, -2]}, None], non_sequences=[M],
    )  # fmt: skip
    outputs = [*y, pt.grad(pt.sin(y[0]).sum() + y[1][-1], M)]
    by_lane([x, M], outputs, [rng.normal(size=(4, 6)), rng.normal(size=(4, 3, 3))])
    by_lane([x, M], outputs, [rng.normal(size=6), rng.normal(size=(4, 3, 3))], {"M": "chains"})


def test_loops_in_a_grid(rng):
    y = scan(lambda a, b, s: pt.tanh(a * s + b), sequences=[x], outputs_info=[s], non_sequences=[s])
    e = ptgc.compile_onnx([x, s], [y[-1], pt.grad(y[-1], s)], batch={"x": "a", "s": "b"})
    f = pytensor.function([x, s], [y[-1], pt.grad(y[-1], s)], mode="FAST_COMPILE")
    a, b = rng.normal(size=(3, 7)), rng.normal(size=2)
    for g, w in zip(e(a, b), zip(*[f(i, j) for i in a for j in b])):
        np.testing.assert_allclose(g.reshape(-1), w, rtol=1e-10)


def doubling(**options):
    """s, s*s, s*s*s, ... until it exceeds 50"""
    return scan(
        lambda p, q, s: ((p * s, q + 1), until(p * s > 50)), non_sequences=[s], n_steps=40,
        outputs_info=[pt.constant(1.0, dtype="float64"), pt.constant(0.0, dtype="float64")], **options,
    )  # fmt: skip


def test_lanes_that_are_done_keep_their_state():
    p, q = doubling()
    e = by_lane([s], [p[-1], q[-1]], [np.array([1.2, 1.5, 3.0, 60.0, 1.01])])
    assert loops(e) == 1


def test_lanes_that_end_together_give_all_steps():
    """All rows are read: where numbers of steps differ, they are no array."""
    p, q = doubling()
    e = by_lane([s], [p, q], [np.array([1.5, 1.5001, 1.52])])
    with pytest.raises(Exception, match=r"must be equal|number of steps|different numbers"):
        e(np.array([1.5, 3.0]))
    assert [v.shape[0] for v in e(np.ones(0))] == [0, 0]


def test_decisions(rng):
    """One for all items, or for each of them."""
    y = [ifelse(s > 0, x * s, x - 1), ifelse(M.sum() > 0, s, -s)]
    values = [rng.normal(size=(4, 3)), np.array([1.0, -1, 2, 0]), rng.normal(size=(4, 2, 2))]
    assert not loops(by_lane([x, s, M], y, values))
    by_lane([x, s], y[:1], [values[0], np.float64(1.5)], {"x": "chains"})


def test_exported_functions_with_loops(tmp_path, rng):
    """A function of another mode keeps Blockwise of a Scan."""
    y = scan(lambda a, b, s: pt.tanh(a * s + b), sequences=[x], outputs_info=[s], non_sequences=[s])
    X, S = pt.dmatrix("X"), pt.dvector("S")
    many = vectorize_graph([y, y[-1]], {x: X, s: S})
    f = pytensor.function([X, S], many, mode="FAST_COMPILE")
    a, b = rng.normal(size=(3, 5)), rng.normal(size=3)
    e = ptgc.export_function_onnx(f, tmp_path / "f.onnx")
    for g, w in zip(e(a, b), f(a, b)):
        np.testing.assert_allclose(g, w, rtol=1e-12)


@pytest.mark.parametrize("math", ["exact", "standard"])
def test_constants_added_to_some_elements(math):
    """Where nothing is added, -0 stays -0."""
    p = pt.matrix("p", shape=(2, 3))
    e = ptgc.compile_onnx([p], [p[[0, 1, 0], [2, 1, 2]].inc(1.5)], batch="chains", math=math)
    assert "ScatterND" not in operators(onnx.load_from_string(e.model).graph)
    got = e(-np.zeros((4, 2, 3)))[0]
    np.testing.assert_array_equal(got[3], [[0, 0, 3], [0, 1.5, 0]])
    assert np.signbit(got).sum() == 4 * 4


def test_parts_of_length_one(rng):
    """The gradient of a Join is a Split, whose last part has one column: PyTensor's vectorize_graph forgets that."""
    by = pt.matrix("by", shape=(2, 3))
    last = M.sum(1, keepdims=True) / pt.sqrt(M.shape[1])
    slope = pt.grad((by * pt.tanh(pt.join(1, M, last) - last)).sum(), M)
    values = [rng.normal(size=(4, 2, 2)), rng.normal(size=(2, 3))]
    by_lane([M, by], [slope, slope.ravel()], values, {"M": "chains"})
    by_lane([M, by], [slope.ravel(), *pt.split(M @ by, [2, 1], n_splits=2, axis=1)], values, {"M": "chains"})
    got = ptgc.compile_native([M, by], [slope], batch={"M": "chains"})(*values)
    np.testing.assert_allclose(got[0], ptgc.compile_onnx([M, by], [slope], batch={"M": "chains"})(*values)[0], rtol=1e-12)
