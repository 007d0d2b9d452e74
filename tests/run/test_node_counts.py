"""Usual expressions take no more nodes than by hand where nothing is given up for it: the operators that
stand in the model, and the numbers beside PyTensor's for lengths of 0, 1 and more."""

import numpy as np
import onnx
import pytensor.tensor as pt
import pytest
from pytensor.graph.traversal import explicit_graph_inputs

import ptg
import ptgc
from harness import Compiled, values
from opsets import SOME_OPSETS


def inputs(static):
    """x, y: matrices; v: a vector; w: of rank 3; i, j: indices; s, k: numbers"""
    shapes = {"x": (4, 5), "y": (4, 5), "v": (4,), "w": (4, 5, 6), "s": ()}
    given = [pt.tensor(n, dtype="float64", shape=s if static else (None,) * len(s)) for n, s in shapes.items()]
    i, j = (pt.tensor(n, dtype="int64", shape=(3,) if static else (None,)) for n in "ij")
    return (*given, i, j, pt.lscalar("k"))


def rows(x):
    return pt.arange(x.shape[0])


# name: (expression, operators with open lengths, with static ones)
TABLE = {
    "bits": (lambda x, y, v, w, s, i, j, k: x.astype("int64") & s.astype("int64"), "BitwiseAnd Cast Cast", "BitwiseAnd Cast Cast"),
    "stretch to length": (lambda x, y, v, w, s, i, j, k: pt.broadcast_to(v, (3, v.shape[0])), "Expand", "Expand"),
    "stretch column": (lambda x, y, v, w, s, i, j, k: pt.broadcast_to(v[:, None], (v.shape[0], k)), "Expand Unsqueeze Unsqueeze", "Expand Reshape Unsqueeze"),
    "stretch to a shape": (lambda x, y, v, w, s, i, j, k: pt.alloc(s, *x.shape), "Expand Shape", "Expand"),
    "flatten(2)": (lambda x, y, v, w, s, i, j, k: w.flatten(2), "Reshape", "Reshape"),
    "merged front": (lambda x, y, v, w, s, i, j, k: w.reshape((w.shape[0] * w.shape[1], w.shape[2])), "Flatten", "Reshape"),
    "merged back": (lambda x, y, v, w, s, i, j, k: w.reshape((w.shape[0], w.shape[1] * w.shape[2])), "Flatten", "Reshape"),
    "row sums kept": (lambda x, y, v, w, s, i, j, k: x / x.sum(1, keepdims=True), "Div ReduceSum", "Div ReduceSum"),
    "largest kept": (lambda x, y, v, w, s, i, j, k: x - x.max(1, keepdims=True), "Greater IsNaN ReduceL1 ReduceMax Reshape Shape Sub Where Where", "IsNaN ReduceL1 ReduceMax Sub Where"),
    "mean": (lambda x, y, v, w, s, i, j, k: x.mean(), "Cast Div ReduceSum Size", "Mul ReduceSum"),
    "mean of three axes": (lambda x, y, v, w, s, i, j, k: w.mean(), "Cast Div ReduceSum Size", "Mul ReduceSum"),
    "variance": (lambda x, y, v, w, s, i, j, k: x.var(), "Cast Div Div Mul ReduceSum ReduceSum Size Sub", "Mul Mul Mul ReduceSum ReduceSum Sub"),
    "softmax of all": (lambda x, y, v, w, s, i, j, k: pt.special.softmax(x, axis=None), "Greater Reshape Reshape Reshape Shape Softmax Where", "Reshape Reshape Softmax"),
    "rows, one column": (lambda x, y, v, w, s, i, j, k: x[i, 0], "Gather Gather", "Gather Gather"),
    "rows, a column": (lambda x, y, v, w, s, i, j, k: x[i, k], "Gather Gather", "Gather Gather"),
    "one of the first, rows": (lambda x, y, v, w, s, i, j, k: w[0, i], "Gather Gather", "Gather Gather"),
    "between": (lambda x, y, v, w, s, i, j, k: w[i, 1, j], "GatherND Unsqueeze Unsqueeze Where Where", "Concat GatherND Reshape Reshape"),
    "outer": (lambda x, y, v, w, s, i, j, k: x[i[:, None], j], "Gather Gather", "Gather Gather"),
    "outer of three": (lambda x, y, v, w, s, i, j, k: w[i[:, None, None], j[:, None], i], "Gather Gather Gather", "Gather Gather Gather"),
    "outer, the last axes": (lambda x, y, v, w, s, i, j, k: w[:, i[:, None], j], "Gather Gather", "Gather Gather"),
    "outer, turned": (lambda x, y, v, w, s, i, j, k: x[i, j[:, None]], "GatherND Unsqueeze Unsqueeze Unsqueeze Where", "GatherND Reshape Reshape Unsqueeze Where"),
    "pairs": (lambda x, y, v, w, s, i, j, k: x[i, j], "GatherND Unsqueeze Unsqueeze Where", "Concat GatherND Reshape Reshape"),
    "one a row": (lambda x, y, v, w, s, i, j, k: x[rows(i), i], "GatherElements Squeeze Unsqueeze", "GatherElements Reshape Squeeze"),
    "along an axis": (lambda x, y, v, w, s, i, j, k: pt.take_along_axis(x, pt.switch(x > y, 1, 0), axis=1), None, None),
    "put into a slice": (lambda x, y, v, w, s, i, j, k: x[1:3].set(s), "Concat Expand Shape Slice Slice Slice", "Concat Expand Slice Slice"),
    "put into the first": (lambda x, y, v, w, s, i, j, k: x[:k].set(s), "Concat Expand Shape Slice Slice Unsqueeze", "Concat Expand Shape Slice Slice Unsqueeze"),
    "added to the last": (lambda x, y, v, w, s, i, j, k: x[:, k:].inc(s), "Add Concat Slice Slice Unsqueeze", "Add Concat Slice Slice Unsqueeze"),
    "put into each other": (lambda x, y, v, w, s, i, j, k: x[::2].set(s), "Expand Gather Range ScatterND Shape Shape Slice Unsqueeze", "Expand ScatterND"),
    "put from the second on": (lambda x, y, v, w, s, i, j, k: x[1::2].set(v[0]), None, None),
    "put into columns": (lambda x, y, v, w, s, i, j, k: w[:, 1::2].set(s), None, None),
    "added to one": (lambda x, y, v, w, s, i, j, k: x[0, 1].inc(s), "ScatterND", "ScatterND"),
    "lower triangle": (lambda x, y, v, w, s, i, j, k: pt.tril(x), "ConstantOfShape Mul Shape Trilu", "Mul"),
    "upper triangle": (lambda x, y, v, w, s, i, j, k: pt.triu(x, 1), "ConstantOfShape Mul Shape Sub Trilu", "Mul"),
    "triangle below": (lambda x, y, v, w, s, i, j, k: pt.tril(x, -1), None, "Mul"),
    "triangle above": (lambda x, y, v, w, s, i, j, k: pt.tril(x, 2), None, "Mul"),
    "triangle of bools": (lambda x, y, v, w, s, i, j, k: pt.tri(*x.shape, dtype="bool"), "ConstantOfShape Shape Trilu", None),
    "triangle of int8": (lambda x, y, v, w, s, i, j, k: pt.tri(*x.shape, dtype="int8"), "Cast ConstantOfShape Shape Trilu", None),
    "triangle of another size": (lambda x, y, v, w, s, i, j, k: pt.tri(x.shape[1], k), None, None),
    "rolled by one": (lambda x, y, v, w, s, i, j, k: pt.roll(x, 1, axis=0), "Concat Slice Slice", "Concat Slice Slice"),
    "rolled by one, flat": (lambda x, y, v, w, s, i, j, k: pt.roll(v, 1), "Concat Slice Slice", "Concat Slice Slice"),
    "rolled back": (lambda x, y, v, w, s, i, j, k: pt.roll(x, -1, axis=1), None, "Concat Slice Slice"),
    "rolled by three": (lambda x, y, v, w, s, i, j, k: pt.roll(v, 3), "Concat Max Mod Neg Size Slice Slice", "Concat Slice Slice"),
    "remainder by a size": (lambda x, y, v, w, s, i, j, k: k % x.shape[0], "Gather Max Mod Shape", "Mod"),
    "remainder of minus one": (lambda x, y, v, w, s, i, j, k: pt.constant(-1) % x.shape[0], None, None),
    "set pairs": (lambda x, y, v, w, s, i, j, k: x[i, j].set(s), None, None),
    "inc outer": (lambda x, y, v, w, s, i, j, k: x[i[:, None], j].inc(s), None, None),
    "set one column": (lambda x, y, v, w, s, i, j, k: x[i, 0].inc(s), None, None),
}


def expression(name, static):
    given = inputs(static)
    out = TABLE[name][0](*given)
    used = set(explicit_graph_inputs([out]))
    return [v for v in given if v in used], out


def operators(model):
    return " ".join(sorted(n.op_type for n in onnx.load_from_string(model).graph.node))


@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize("name", TABLE)
def test_operators(name, static):
    wanted = TABLE[name][1 + static]
    if wanted:
        used, out = expression(name, static)
        assert operators(ptgc.compile_onnx(used, [out]).model) == wanted


LENGTHS = {"x": (4, 5), "y": (4, 5), "v": (4,), "w": (4, 5, 6), "s": (), "i": (3,), "j": (3,)}


def data(name, lengths):
    shape = tuple(lengths.get(n, n) for n in LENGTHS[name]) if name != "k" else ()
    if name == "k":
        return np.array(2)
    if name in "ij":
        return np.array([0, -1, 2])[: shape[0]]
    return values("float64", shape)


@pytest.mark.parametrize("name", TABLE)
def test_numbers(name):
    for static in (False, True):
        used, out = expression(name, static)
        c = Compiled(used, [out], SOME_OPSETS)
        for lengths in [{}] if static else [{}, {3: 1}, {3: 0}, {4: 3}, {4: 0, 3: 0}, {4: 1, 5: 0}, {6: 0, 3: 0}]:
            args = [data(v.name, lengths) for v in used]
            try:
                c.python(*args)
            except Exception:  # PyTensor refuses it, beside no index at all too
                assert not static
                if name != "set one column":
                    c.raises(*args)
            else:
                c.run(*args, zero_sign=False, ulp={"float64": 64})


@pytest.mark.parametrize("shapes", [((1,), (5,)), ((5,), (1,)), ((0,), (1,)), ((2, 1), (1, 3)), ((2, 3), (1, 3)), ((0, 1), (1, 3))])
def test_open_arrays_are_stretched(shapes):
    """Lengths of 1 at run time are stretched, as NumPy does it; others that differ fail."""
    x, w = pt.dmatrix("x"), pt.dtensor3("w")
    i, j, k = (pt.tensor(n, dtype="int64", shape=(None,) * len(shapes[0])) for n in "ijk")
    two = Compiled([x, i, j], [x[i, j], x[i, j].set(1.5), x[i, j].inc(1.5)])
    three = Compiled([w, i, j, k], [w[i, j, k], w[j, k, i].inc(2.0)])
    at = [np.arange(np.prod(s)).reshape(s) % 3 for s in shapes]
    two.run(values("float64", (3, 4)), *at)
    three.run(values("float64", (3, 4, 3)), at[0], at[1], at[0])
    if 0 not in shapes[0]:
        wrong = np.zeros((*shapes[0][:-1], 7), "int64")
        if 1 != shapes[1][-1] != 7:
            two.raises(values("float64", (3, 4)), wrong, at[1])
            three.raises(values("float64", (3, 4, 3)), at[1], wrong, at[1])


def test_along_an_axis():
    for axis in (0, 1, 2):
        w = pt.tensor("w", dtype="float64", shape=(3, 4, 2))
        at = pt.argsort(w, axis=axis)
        for open_w in (w, pt.dtensor3("w")):
            at = pt.argsort(open_w, axis=axis)
            out = pt.take_along_axis(open_w, at, axis=axis)
            assert "GatherND" not in operators(ptgc.compile_onnx([open_w], [out]).model)
            c = Compiled([open_w], [out])
            c.run(values("float64", (3, 4, 2)))
            if open_w is not w:
                for shape in ((1, 1, 1), (0, 2, 3), (2, 0, 3), (1, 3, 1)):
                    c.run(values("float64", shape))
    x, i = pt.tensor("x", dtype="float64", shape=(3, 4)), pt.tensor("i", dtype="int64", shape=(3, 2))
    c = Compiled([x, i], [x[pt.arange(3)[:, None], i], x[pt.arange(3)[:, None][::-1], i], x[np.array([[0], [2], [1]]), i]])
    c.run(values("float64", (3, 4)), [[0, 1], [-1, 2], [3, -4]])
    c.raises(values("float64", (3, 4)), np.array([[0, 1], [-1, 2], [4, 0]]))


@pytest.mark.parametrize("opset", SOME_OPSETS)
def test_a_length_to_find_beside_nothing(opset):
    """(0, -1) is refused by NumPy, and (3, -1) of nothing is (3, 0)."""
    w = pt.dtensor3("w")
    c = Compiled([w], [w.flatten(2)], (opset,))
    c.run(np.zeros((3, 0, 2)))
    c.run(np.zeros((3, 2, 0)))
    c.raises(np.zeros((0, 2, 3)))
    c = Compiled([w], [w.reshape((w.shape[0], w.shape[1], -1, 2))], (opset,))
    c.run(np.zeros((3, 2, 4)))
    c.run(np.zeros((3, 2, 0)))
    c.raises(np.zeros((3, 0, 4)))
    c.raises(np.zeros((3, 2, 3)))


def test_more_axes_are_summed_than_come_back():
    """A number made a vector is not what a Reduce that keeps three axes gives."""
    w = pt.ftensor3("w")
    for opset in SOME_OPSETS:
        c = Compiled([w], [w.sum().reshape((-1,)), w.sum((0, 1)).reshape((1, -1)), w.max().reshape((1, 1))], (opset,))
        for shape in ((2, 3, 4), (1, 1, 1)):
            c.run(values("float32", shape, low=-3, high=3))


@pytest.mark.parametrize("dtype", ["float64", "float16", "int8"])
def test_halves(dtype):
    """x[:k] and x[k:] are all of x for any k, beyond both ends too."""
    x, k = pt.matrix("x", dtype=dtype), pt.lscalar("k")
    row, s = pt.vector("row", dtype=dtype), pt.scalar("s", dtype=dtype)
    forms = [x[:k].set(s), x[k:].set(s), x[:, :k].inc(s), x[k:].inc(row), x[:k].set(row), x[:, k:].set(s)]
    c = Compiled([x, k, row, s], forms, SOME_OPSETS)
    for shape in ((3, 4), (1, 1), (0, 2), (2, 0)):
        for at in (-9, -3, -1, 0, 1, 2, 9):
            c.run(values(dtype, shape), at, values(dtype, shape[1:]), values(dtype, ()))
    part = Compiled([x, k, row], [x[:, :k].set(row)])
    part.run(values(dtype, (3, 4)), 2, values(dtype, (2,)))
    part.run(values(dtype, (3, 4)), -1, values(dtype, (3,)))
    part.raises(values(dtype, (3, 4)), np.array(2), values(dtype, (3,)))
    part.raises(values(dtype, (3, 4)), np.array(-1), values(dtype, (4,)))


@pytest.mark.parametrize("x,y", [("?", "2"), ("?", "0"), ("5", "2"), ("?, ?", "2, 1"), ("?, ?", "0, 2"), ("?, m", "2, m"), ("?, ?", "?")])
@pytest.mark.parametrize("form", ["x[k:].set(y)", "x[:k].set(y)", "x[k:].inc(y)", "x[:k].inc(y)"])
def test_half_of_another_length(x, y, form):
    """What does not fit into a half fails, whatever is left of the half, and never makes the result longer."""
    text = f"graph g(x: float64[{x}], y: float64[{y}], k: int64[]) -> (z) {{ z = {form} }}"
    lengths = {"m": 3, "?": 2, "0": 0, "1": 1, "2": 2}
    put = 100.0 + np.zeros([lengths[n] for n in y.split(", ")])
    for shape in [(5,)] if x == "5" else [(0,), (1,), (2,), (3,)] if x == "?" else [(1, 3), (2, 3), (3, 3), (0, 3)] if "m" in x else [(1, 1), (2, 2), (2, 1), (3, 2)]:
        for k in (0, 1, 2, 3, -1, -7, 7):
            old = np.arange(float(np.prod(shape))).reshape(shape)
            want, at = old.copy(), slice(k, None) if "k:" in form else slice(None, k)
            try:
                want[at] = put + (old[at] if "inc" in form else 0)
            except ValueError:
                with pytest.raises(Exception, match="ONNXRuntimeError"):
                    ptg.run(text, old, put, np.int64(k))
                    raise AssertionError(f"runs with {shape}, {k}") from None
            else:
                np.testing.assert_array_equal(ptg.run(text, old, put, np.int64(k)), want)
