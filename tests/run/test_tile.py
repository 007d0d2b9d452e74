"""pt.tile and pt.repeat by one number, which PyTensor writes as Reshape(Alloc(ExpandDims(x))): one Tile or
Gather and what makes the numbers of repeats, with PyTensor's values for lengths and repeats of 0, 1 and more."""

import numpy as np
import onnx
import pytensor.tensor as pt
import pytest

import ptg
from harness import ALL, COMPLEX, Compiled, check, values, variable
from ptgc._lib import compile_text
from ptgc._printer import print_graph
from opsets import SOME_OPSETS

pytestmark = pytest.mark.sampled

V, M, T = (pt.tensor(n, dtype="float64", shape=(None,) * k) for n, k in (("v", 1), ("m", 2), ("t", 3)))
N, K = pt.lscalar("n"), pt.lscalar("k")
R2 = pt.tensor("r", dtype="int64", shape=(2,))
S = pt.tensor("s", dtype="float64", shape=(4, 5))
COLUMN = pt.tensor("c", dtype="float64", shape=(None, 1))


def operators(inputs, output, opset=18):
    graph = print_graph(inputs, [output])
    model = onnx.load_from_string(compile_text(graph.text, tensors=graph.tensors, opset=opset).model)
    return sorted(n.op_type for n in model.graph.node)


# by hand one would write no fewer
NODES = {
    "vector": ([V], pt.tile(V, 3), "Tile"),
    "matrix": ([M], pt.tile(M, (2, 3)), "Tile"),
    "fewer reps": ([T], pt.tile(T, (2,)), "Tile"),
    "more reps": ([V], pt.tile(V, (2, 3, 1)), "Tile Unsqueeze"),
    "none": ([M], pt.tile(M, (0, 2)), "Concat ConstantOfShape Mul Shape"),
    "once": ([M], pt.tile(M, (1, 1)), "Identity"),
    "static": ([S], pt.tile(S, (2, 3)), "Tile"),
    "symbolic": ([V, N], pt.tile(V, N), "Tile Unsqueeze"),
    "symbolic, mixed": ([M, N], pt.tile(M, (N, 2)), "Concat Tile Unsqueeze"),
    "a vector": ([M, R2], pt.tile(M, R2), "Tile"),
    "a sum of elements": ([M, R2], pt.tile(M, (R2[0] + R2[1], R2[1])), "Add Concat Gather Gather Tile"),
    "lengths": ([M, V], pt.tile(V, M.shape), "Shape Tile Unsqueeze"),
    "flat": ([M], pt.tile(M, (2, 1)).ravel(), "Reshape Tile"),
    "repeat a vector": ([V], pt.repeat(V, 3), "Reshape Tile Unsqueeze"),
    "repeat rows": ([M], pt.repeat(M, 3, 0), "Mul Reshape Shape Tile"),
    "repeat columns": ([M], pt.repeat(M, 3, 1), "Flatten Tile Unsqueeze"),
    "repeat few": ([S], pt.repeat(S, 3, 1), "Gather"),
    "repeat few, open beside": ([COLUMN], pt.repeat(COLUMN, 3, 0), "Reshape Tile"),
    "repeat by": ([V, N], pt.repeat(V, N), "Concat Reshape Tile Unsqueeze Unsqueeze"),
}


@pytest.mark.parametrize("name", NODES)
def test_nodes(name):
    inputs, output, want = NODES[name]
    assert " ".join(operators(inputs, output)) == want


TILED = {
    0: lambda x: [pt.tile(x, 3), pt.tile(x, (2, 1, 3))],
    1: lambda x: [pt.tile(x, 3), pt.tile(x, (2, 3)), pt.tile(x, (2, 1, 2)), pt.tile(x, 1), pt.tile(x, (3, 0))],
    2: lambda x: [pt.tile(x, 2), pt.tile(x, (3, 1)), pt.tile(x, (2, 1, 3)), pt.tile(x, (2, 2)).ravel(), pt.tile(x, (0, 1))],
    3: lambda x: [pt.tile(x, (1, 2, 1)), pt.tile(x, (2, 3)), pt.tile(x, (3, 1, 2)).reshape((-1,)), pt.tile(x, (2, 1, 2, 1))],
}


@pytest.mark.parametrize("dtype", ALL + COMPLEX)
def test_tile(dtype):
    for rank, build in TILED.items():
        check(build, [(dtype, rank)], opsets=(13, 26) if rank else (18,), sizes=(0, 1, 3) if rank else (1,))


def repeats(x):
    return [pt.repeat(x, r, axis) for r in (1, 5) for axis in (*range(x.ndim), None)]


@pytest.mark.parametrize("dtype", [t for t in ALL + COMPLEX if t != "uint64"])
def test_repeat(dtype):
    for rank in (1, 2, 3):
        check(repeats, [(dtype, rank)], opsets=(13, 26), sizes=(0, 1, 3))
    for shape in ((3, None), (None, 4), (None, 1, 4), (1, None), (700, None), (None, 700, 1)):
        x = pt.tensor("x", dtype=dtype, shape=shape)
        Compiled([x], repeats(x), (18,)).run(values(dtype, tuple(3 if s is None else s for s in shape)))


@pytest.mark.parametrize("dynamic", [False, True])
def test_symbolic(dynamic):
    for size in (0, 1, 3):
        v, m = (variable("float64", shape, dynamic, "x") for shape in ((size,), (size, size + 1)))
        for x in (v, m):
            forms = [pt.tile(x, N), pt.tile(x, (N, 2)), pt.tile(x, (K, N + 1)), pt.tile(x, (2, N, K))]
            forms += [pt.repeat(x, N, 0), pt.repeat(x, N, x.ndim - 1), pt.repeat(x, N), pt.tile(x, x.shape)]
            at = values("float64", (size, size + 1)[: x.ndim])
            c = Compiled([x, N, K], forms, SOME_OPSETS)
            for n, k in ((0, 2), (1, 1), (3, 0), (2, 3)):
                c.run(at, n, k)
            if not (dynamic or size):  # of no elements whatever n is: nothing is left that asks for it
                continue
            for one in forms[:2] + forms[4:7]:
                Compiled([x, N], [one], (13, 18)).raises(at, np.array(-1))
            # two negative numbers make one that is not
            Compiled([x, N, K], [pt.tile(x, (N, K)).ravel()], (13, 18)).raises(at, np.array(-1), np.array(-2))
            Compiled([x, N, K], [pt.repeat(pt.repeat(x, N, 0), K, 0)], (13, 18)).raises(at, np.array(-1), np.array(-2))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
def test_dtypes_of_reps(dtype):
    n, r = pt.scalar("n", dtype=dtype), pt.tensor("r", dtype=dtype, shape=(2,))
    c = Compiled([M, n, r], [pt.tile(M, n), pt.tile(M, r), pt.repeat(M, n, 0), pt.tile(M, (r[1], n, 2))], (13, 18))
    for k in (0, 1, 3):
        c.run(values("float64", (2, 3)), k, [2, k])


@pytest.mark.parametrize("dynamic", [False, True])
def test_gradients(dynamic):
    for build in (lambda x: pt.tile(x, (2, 3)), lambda x: pt.tile(x, (2, 1, 2)), lambda x: pt.repeat(x, 3, 0), lambda x: pt.repeat(x, 2, 1), lambda x: pt.repeat(x, 2)):
        def gradient(x):
            y = build(x)
            w = pt.arange(y.size, dtype="float64").reshape(y.shape)
            return pt.grad((w * y**2).sum(), x)

        check(gradient, [("float64", 2)], opsets=SOME_OPSETS, sizes=(0, 1, 2, 7), kinds=(dynamic,), zero_sign=False)


LOOP = """ptg 1
graph f(x: float64[n], s: float64[k]) -> (ys) {
  wide = Alloc(x, int64(3), Shape(x)[0])
  ys = loop (a in s) -> ([y]) {
    y = Reshape{ndim=1}(wide, [3 * n]) * a
  }
}
"""


def test_a_loop_reads_what_was_made_once():
    """Stretched outside of a loop, reshaped in it: a Tile would be made in each step."""
    model = onnx.load_from_string(ptg.compile(LOOP))
    assert "Expand" in [n.op_type for n in model.graph.node]
    x, s = values("float64", (4,)), np.array([2.0, 0.5])
    assert np.array_equal(ptg.run(LOOP, x, s), np.tile(x, 3) * s[:, None], equal_nan=True)
