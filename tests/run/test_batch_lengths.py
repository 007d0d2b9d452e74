"""Blockwise of ops whose lengths are computed from items of the batch: equal lengths, no loop; else an error, as PyTensor's."""

import itertools

import numpy as np
import onnx
import ptgc
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.raise_op import Assert
from pytensor.tensor.basic import ARange, Choose, Eye, MakeVector, PermuteRowElements
from pytensor.tensor.blas import BatchedDot, Dot22Scalar, gemm_no_inplace, gemv_no_inplace
from pytensor.tensor.blockwise import Blockwise, safe_signature
from pytensor.tensor.extra_ops import RavelMultiIndex, Repeat, UnravelIndex, fill_diagonal, fill_diagonal_offset
from pytensor.tensor.fft import RFFTOp
from pytensor.tensor.shape import Shape_i, SpecifyShape

import ptg
from opsets import SOME_OPSETS

pytestmark = pytest.mark.sampled

X, V = np.arange(48.0).reshape(4, 4, 3), np.arange(28).reshape(4, 7) * 0.5
K = np.array([1, 3, 0, 2])

S = np.array([[0, 2, 2, 7], [-3.5, 0, 0, np.nan], [1, 1, 1, 1], [-np.inf, 0, 5, np.inf]])
W = np.array([[[2, 0], [7, -1]], [[np.nan, 0], [3, 3.5]], [[1, 0], [2, 1]], [[np.inf, -np.inf], [6, np.nan]]])
A, B, C = np.arange(24.0).reshape(4, 2, 3), np.arange(36.0).reshape(4, 3, 3) / 7, np.arange(24.0).reshape(4, 2, 3) % 5 - 1
NUM = np.array([0.5, 0, -2, 1])
AT, SHAPES = np.array([[0, 5, 3], [4, 1, 2], [5, 5, 0], [1, 2, 3]]), np.array([[2, 3], [3, 2], [6, 2], [3, 3]])


def ramp(dtype):
    return lambda start, stop, step: ARange(dtype)(start, stop, step)


# name: (the op on an item, its inputs with a batch of 4, which of them move with the batch)
LENGTHS = {
    "Alloc": (lambda v, n: pt.alloc(v, n, 3), (V[:, :3], np.full(4, 2)), ("11", "01")),
    "Reshape": (lambda x, to: x.reshape(to, ndim=2), (X, np.array([[6, 2], [-1, 2], [6, -1], [6, 2]])), ("11", "01")),
    "Split": (lambda x, s: pt.split(x, s, n_splits=2, axis=0), (X, np.tile([3, 1], (4, 1))), ("11", "01")),
    "SplitDims": (lambda x, s: pt.split_dims(x, s, axis=0), (X, np.array([[2, 2], [2, -1], [-1, 2], [2, 2]])), ("11", "01")),
    "JoinDims of a number": (lambda x: pt.join_dims(x, 0, 0), (NUM,), ("1",)),
    "Eye": (lambda n, m, k: Eye("int32")(n, m, k), (np.full(4, 3), np.full(4, 5), np.array([0, -2, 4, 7])), ("111", "001", "100", "011")),
    "Bartlett": (lambda m: pt.bartlett(m), (np.full(4, 5),), ("1",)),
    "ARange": (ramp("int64"), (np.array([0, 2, -3, 5]), np.array([6, 8, 2, 14]), np.array([2, 2, 2, 4])), ("111",)),
    "ARange of one step": (ramp("uint8"), (np.array([0, 2, 3, 5]), np.array([6, 8, 8, 10]), np.full(4, 2)), ("111", "110")),
    "ARange of other steps": (ramp("int8"), (np.array([0, 9, -3, 5], "int8"), np.array([6, 3, 3, -1], "int8"), np.array([2, -2, 2, -2], "int8")), ("111",)),
    "ARange of floats": (ramp("float64"), (np.array([0, -0.0, 1.5, 2]), np.array([1, 2.0, 2.5, -1]), np.array([0.3, 0.6, 0.3, -0.9])), ("111",)),
    "ARange of float32": (ramp("float32"), (np.array([0.1, 1, 2, 3], "float32"), np.array([1.15, 2.05, 3.05, 4.05], "float32"), np.float32([0.1, 0.1, 0.1, 0.1])), ("111", "110")),
    "ARange to a float": (ramp("float64"), (np.array([2**60, 1, 2, 3]), np.array([2**60 + 3, 4, 5, 6]), np.array([1, 1, 1, 1])), ("111", "110")),
    "ARange from an end": (ramp("int64"), (np.array([3, 3, 3, 3]), np.array([5, 6, 6, 5]), np.array([3, 3, 3, 3])), ("010", "011")),
    "Gemm": (lambda z, x, y, p, q: gemm_no_inplace(z, p, x, y, q), (C, A, B, NUM, NUM[::-1]), ("11111", "10100", "00010", "00001", "01000", "00100", "10000")),
    "Gemm without z": (lambda z, x, y: gemm_no_inplace(z, np.float64(2), x, y, np.float64(0)), (C, A, B), ("100", "110", "001")),
    "Gemv": (lambda y, a, x, p, q: gemv_no_inplace(y, p, a, x, q), (C[:, :, 0], A, B[:, 0], NUM, NUM[::-1]), ("11111", "01000", "00100", "00010", "00001", "10000")),
    "Dot22Scalar": (lambda x, y, p: Dot22Scalar()(x, y, p), (A, B, NUM), ("111", "100", "010", "001")),
    "Choose": (lambda i, x: Choose("wrap")(i, x), (AT, X), ("11", "10", "01")),
    "Choose of numbers": (lambda i, x: Choose("raise")(i, x), (AT % 4, V[:, :4]), ("11", "10", "01")),
    "Choose of matrices": (lambda i, x: Choose("clip")(i, x), (AT, X[:, :, None] + np.zeros((2, 1))), ("11", "10", "01")),
    "RavelMultiIndex": (lambda i, j, d: RavelMultiIndex("wrap")(i, j, d), (AT, AT[::-1], SHAPES), ("111", "001", "100", "011")),
    "RavelMultiIndex of numbers": (lambda i, j, d: RavelMultiIndex("clip", "F")(i, j, d), (AT[:, 0], AT[::-1, 1], SHAPES), ("111", "001", "100", "010")),
    "UnravelIndex": (lambda i, d: list(UnravelIndex("C")(i, d)), (AT, SHAPES), ("11", "01", "10")),
    "UnravelIndex of one dim": (lambda i, d: UnravelIndex("F")(i, d), (AT, SHAPES[:, :1] + 5), ("11", "01", "10")),
    "Searchsorted": (lambda x, v: pt.searchsorted(x, v), (S, W), ("11", "10", "01")),
    "Searchsorted of numbers": (lambda x, v: pt.searchsorted(x, v, side="right"), (S, W[:, 0, 0]), ("11", "10", "01")),
    "Searchsorted of many": (lambda x, v: pt.searchsorted(x, v), (np.sort(np.sin(np.arange(4 * 4001)).reshape(4, 4001).round(3)), W[:, 0] / 5), ("11", "10", "01")),
    "Searchsorted by a sorter": (lambda x, v, s: pt.searchsorted(x, v, sorter=s), (V[:, ::-1], W * 3, np.tile(np.arange(7)[::-1], (4, 1))), ("111", "101", "110", "001", "100")),
    "Repeat": (lambda x, r: Repeat(0)(x, r), (X, np.array([[1, 0, 2, 1], [4, 0, 0, 0], [1, 1, 1, 1], [0, 0, 0, 4]])), ("11", "01")),
    "Repeat by one number": (lambda x, r: Repeat(1)(x, r), (X, np.full((4, 1), 2)), ("11", "01")),
}  # fmt: skip
LO, HI, BACK = np.array([0, 1, -3, 2]), np.array([2, 3, -1, 9]), np.array([2, 3, -1, -1])
ROWS, IDX = X[:, :2] + 100, np.array([[0, 2, 0], [1, 1, 2], [2, -1, 0], [0, 0, 0]])
HI[2] = -1
# x[a:b] of each item has two rows
SLICES = {
    "x[a:b]": (lambda x, a, b: x[a:b], (X, LO, HI), ("111", "011")),
    "x[:b]": (lambda x, b: x[:b], (X, np.array([2, -2, 2, -2])), ("11", "01")),
    "x[a:b:-1]": (lambda x, a, b: x[a:b:-1], (X, np.array([3, 2, -1, 1]), np.array([1, 0, 1, -9])), ("111",)),
    "x[a::c]": (lambda x, a, c: x[a::c], (X, np.array([0, 3, 1, 1]), np.array([2, -2, 2, -1])), ("111", "011")),
    "x[a:b] of none": (lambda x, a, b: x[a:b], (X, np.array([3, 4, -1, 10]), LO % 4), ("111",)),
    "x[a:b, i]": (lambda x, a, b, i: x[a:b, i], (X, LO, HI, np.array([0, 2, -1, 1])), ("1111", "1110", "0110")),
    "x[i, a:b]": (lambda x, i, a: x[i, a:], (X, np.array([0, 2, -1, 1]), np.array([1, -2, 1, 1])), ("111", "101")),
    "x[a:b, c:]": (lambda x, a, b, c: x[a:b, c:], (X, LO, HI, np.array([1, -2, 1, 1])), ("1111", "0111", "1110")),
    "x[a:b, idx]": (lambda x, a, b, i: x[a:b, i], (X, LO, HI, IDX), ("1111", "1110", "0111")),
    "x[a:b].set(y)": (lambda x, y, a, b: x[a:b].set(y), (X, ROWS, LO, HI), ("1111", "0011", "1011", "0111")),
    "x[a:b].inc(y)": (lambda x, y, a, b: x[a:b].inc(y), (X, ROWS, LO, HI), ("1111", "0011", "1011")),
    "x[:b].set(number)": (lambda x, y, b: x[:b].set(y), (X, NUM, np.array([0, 2, -1, 9])), ("111", "001", "101")),
    "x[:b].inc(row)": (lambda x, y, b: x[:b].inc(y), (X, X[:, 0], np.array([0, 2, -1, 9])), ("111", "001", "101")),
    "x[a::c].set(y)": (lambda x, y, a, c: x[a::c].set(y), (X, ROWS, np.array([0, 3, 1, 1]), np.array([2, -2, 2, -1])), ("1111", "0011")),
    "x[a:b, i].set(y)": (lambda x, y, a, b, i: x[a:b, i].set(y), (X, ROWS[:, :, 0], LO, HI, np.array([0, 2, -1, 1])), ("11111", "00110", "10111")),
    "x[i, a:].inc(y)": (lambda x, y, i, a: x[i, a:].inc(y), (X, ROWS[:, 0, :2], np.array([0, 2, -1, 1]), np.array([1, -2, 1, 1])), ("1111", "0001")),
    "x[a:b, c:].set(y)": (lambda x, y, a, b, c: x[a:b, c:].set(y), (X, ROWS[:, :, :2], LO, HI, np.array([1, -2, 1, 1])), ("11111", "00111", "00001")),
    "x[a:b, idx].set(y)": (lambda x, y, a, b, i: x[a:b, i].set(y), (X, ROWS, LO, HI, IDX), ("11111", "00110", "00111")),
    "x[a:b, idx].inc(y)": (lambda x, y, a, b, i: x[a:b, i].inc(y), (X, ROWS, LO, HI, IDX), ("11111", "00110", "00111")),
    "x[idx, a:].inc(y)": (lambda x, y, a, i: x[i, a:].inc(y), (X, ROWS[:, 0, :2], np.array([1, -2, 1, 1]), IDX), ("1111", "0010")),
}  # fmt: skip
P2 = np.array([[[1, 0], [2, 1]], [[0, 1], [3, 0]], [[1, 0], [0, 3]], [[1, 0], [1, 2]]])
P1 = np.array([[1, 2], [0, 3], [3, 0], [2, 1]])


def pad(mode, **more):
    return lambda x, w, *v: pt.pad(x, w, mode=mode, **dict(zip(more, v)))


# names of modes may be followed by more words
PADS = {
    "constant": (lambda x, w, v: pt.pad(x, w, constant_values=v), (X, P2, NUM), ("111", "110", "010", "001")),
    "constant of each side": (lambda x, w, v: pt.pad(x, w, constant_values=v), (X, P2, P2 * 0.5), ("110", "100")),
    "edge": (pad("edge"), (X, P2), ("11", "01")),
    "reflect": (pad("reflect"), (X, P2), ("11", "01")),
    "symmetric": (pad("symmetric"), (X, P2 * 3), ("11",)),
    "wrap": (pad("wrap"), (X, P2 * 2), ("11", "01")),
    "maximum": (pad("maximum"), (X, P2), ("11", "01")),
    "mean": (pad("mean"), (X, P2), ("11",)),
    "mean of a part": (lambda x, w: pt.pad(x, w, mode="mean", stat_length=((1, 2), (2, 3))), (X, P2), ("10", "11")),
    "minimum of a part": (lambda x, w: pt.pad(x, w, mode="minimum", stat_length=2), (X, P2), ("10", "11")),
    "linear_ramp": (lambda x, w, v: pt.pad(x, w, mode="linear_ramp", end_values=v), (X, P2, P2), ("100",)),
    "reflect of vectors": (pad("reflect"), (V, P1), ("11", "01")),
}  # fmt: skip
OTHERS = {
    "FillDiagonalOffset": (lambda x, v, k: fill_diagonal_offset(x, v, k), (X, NUM, np.array([0, 2, -1, 9])), ("111", "110", "011", "001", "101")),
    "FillDiagonalOffset far off": (lambda x, v, k: fill_diagonal_offset(x, v, k), (X, NUM, np.array([5, -9, 7, 4])), ("111", "110", "001")),
    "FillDiagonalOffset of few bits": (lambda x, v, k: fill_diagonal_offset(x, v, k), (X, NUM, np.array([1, -2, 0, 2], "int8")), ("111", "110", "001")),
    "FillDiagonal of three dims": (lambda x, v: fill_diagonal(x, v), (np.arange(4.0**4).reshape(4, 4, 4, 4), NUM), ("11", "10", "01")),
    "Kron of unlike ranks": (lambda x, y: pt.linalg.kron(x, y), (X, V[:, :2]), ("11", "10", "01")),
    "RFFT to a length": (lambda x, n: RFFTOp()(x, n), (X, np.full((4, 1), 5)), ("11", "01", "10")),
    "PermuteRowElements": (lambda x, p: PermuteRowElements(False)(x, p), (X, np.array([[2, 0, 1], [0, 1, 2], [1, 2, 0], [0, 2, 1]])), ("11", "10", "01")),
    "MakeVector": (lambda x, y: MakeVector("float64")(x, y), (NUM, K), ("11", "10", "01")),
    "Shape": (lambda x: pt.shape(x), (X,), ("1",)),
    "Shape_i": (lambda x: Shape_i(1)(x), (X,), ("1",)),
    "SpecifyShape": (lambda x, n: SpecifyShape()(x, n, 3), (X, np.full(4, 4)), ("11", "10", "01")),
    "Assert": (lambda x, c: Assert("")(x, c), (X, np.full(4, True)), ("11", "10", "01")),
    "BatchedDot": (lambda x, y: BatchedDot()(x, y), (A[:, :, None], A[:, :, :, None]), ("11", "10", "01")),
}
M = np.array([[1, 0, 0, 1], [0, 1, 1, 0], [1, 1, 0, 0], [0, 0, 1, 1]], bool)  # two hits each
M2 = np.array([[[1, 0], [0, 1], [0, 0]], [[0, 0], [1, 0], [1, 0]], [[1, 1], [0, 0], [0, 0]], [[0, 0], [0, 1], [0, 1]]], bool)
ANY = M * [[True], [False], [True], [True]] | (np.arange(4) == 3)  # other numbers of hits
MASKS = {
    "Nonzero": (lambda x: list(pt.nonzero(x)), (M2 * 2.5,), ("1",)),
    "Nonzero of a vector": (lambda x: pt.nonzero(x)[0], (M,), ("1",)),
    "x[mask]": (lambda x, m: x[m], (X, M), ("11", "01")),
    "x[mask, i]": (lambda x, m, i: x[m, i], (X, M, AT[:, 0] % 3), ("111", "101", "010")),
    "x[a:, mask]": (lambda x, a, m: x[a:, m], (X.swapaxes(1, 2), np.array([1, -2, 1, 1]), M), ("111", "011")),
    "x[two dims]": (lambda x, m: x[m], (X[:, :3, :2], M2), ("11", "01")),
    "x[mask].set(y)": (lambda x, y, m: x[m].set(y), (X, ROWS, M), ("111", "101", "001")),
    "x[mask].set(number)": (lambda x, y, m: x[m].set(y), (X, NUM, ANY), ("111", "001", "110")),
    "x[mask].inc(row)": (lambda x, y, m: x[m].inc(y), (X, X[:, 1], ANY), ("111", "001")),
    "x[mask].inc(y)": (lambda x, y, m: x[m].inc(y), (X, ROWS, M), ("111", "001")),
    "x[two dims].set(number)": (lambda x, y, m: x[m].set(y), (X[:, :3, :2], NUM, M2), ("111", "001")),
}  # fmt: skip
BATCHES = [((4,), "open"), ((2, 2), "static"), ((1,), "open"), ((2, 1), "open"), ((1, 2), "open"), ((0,), "open")]


def blockwise(f, core, inputs):
    """Blockwise of the op that f makes, on inputs in the place of the core ones, and the op on one item"""
    made = f(*core)
    node = (made[0] if isinstance(made, list | tuple) else made).owner
    moved = [pytensor.graph.replace.vectorize_graph(v, dict(zip(core, inputs))) for v in node.inputs]
    signature = safe_signature([v.type.ndim for v in node.inputs], [v.type.ndim for v in node.outputs])
    return Blockwise(node.op, signature=signature).make_node(*moved).outputs, node.outputs


def compare(f, values, moves, batch, kind, opset, loops=False, tolerance=1e-14):
    args, inputs, core = [], [], []
    for v, each in zip(values, moves):
        a = np.resize(v, (*batch, *v.shape[1:])) if each == "1" else v[0]
        opened = len(batch) if each == "1" and kind == "open" else 0
        args.append(np.asarray(a))
        inputs.append(pt.tensor(dtype=v.dtype, shape=(*[None] * opened, *np.shape(a)[opened:])))
        core.append(pt.tensor(dtype=v.dtype, shape=v.shape[1:]))
    out, outputs = blockwise(f, core, inputs)
    one = pytensor.function(core, outputs, mode="FAST_COMPILE")
    e = ptgc.compile_onnx(inputs, out, optimize=False, opset=opset)
    got = e(*args)
    for at in np.ndindex(batch):
        want = one(*[a[at] if each == "1" else a for a, each in zip(args, moves)])
        for g, w in zip(got, want, strict=True):
            assert g.dtype == w.dtype and g.shape == (*batch, *w.shape)
            np.testing.assert_allclose(g[at], w, rtol=tolerance, atol=tolerance if tolerance > 1e-14 else 0)
    assert loops or "Loop" not in [n.op_type for n in onnx.load_model_from_string(e.model).graph.node]


@pytest.mark.parametrize("name", LENGTHS)
def test_lengths_that_are_equal(name):
    f, values, patterns = LENGTHS[name]
    for moves, (k, (batch, kind)) in itertools.product(patterns, enumerate(BATCHES)):
        if 0 in batch and name == "Split":  # PyTensor refuses batches of none
            continue
        compare(f, values, moves, batch, kind, SOME_OPSETS[k % 3])


@pytest.mark.parametrize("name", SLICES | MASKS)
def test_slices_whose_bounds_differ(name):
    f, values, patterns = (SLICES | MASKS)[name]
    for moves, (k, (batch, kind)) in itertools.product(patterns, enumerate(BATCHES)):
        opset = (26, 18, 13)[k % 3]
        if 0 in batch and "mask].set(y)" in name:  # PyTensor refuses batches of none
            continue
        compare(f, values, moves, batch, kind, opset, loops="inc" in name and opset < 16)


@pytest.mark.parametrize("name", PADS | OTHERS)
def test_borders_and_others(name):
    f, values, patterns = (PADS | OTHERS)[name]
    for moves, (k, (batch, kind)) in itertools.product(patterns, enumerate(BATCHES)):
        if 0 in batch and name not in ("constant", "Shape"):  # PyTensor refuses batches of none
            continue
        compare(f, values, moves, batch, kind, SOME_OPSETS[k % 3], tolerance=1e-13 if "RFFT" in name else 1e-14)


@pytest.mark.parametrize("name", LENGTHS | SLICES | MASKS | PADS | OTHERS)
def test_batches_that_meet(name):
    """Dims of the batch that only some of the inputs have: what says lengths has dims of the batch too."""
    f, values, patterns = (LENGTHS | SLICES | MASKS | PADS | OTHERS)[name]
    core = [pt.tensor(dtype=v.dtype, shape=v.shape[1:]) for v in values]
    for moves, swap in itertools.product(patterns[:1], (False, True)):
        args, inputs = [], []
        for i, (v, each) in enumerate(zip(values, moves)):
            own = [(2, 1), (3,), (1, 3), ()][(i + swap) % 4] if each == "1" and (i or len(values) > 1) else ()
            args.append(np.resize(v if v.ndim > 2 and not i else v[:1], (*own, *v.shape[1:])))
            inputs.append(pt.tensor(dtype=v.dtype, shape=(*[None if n > 1 else 1 for n in own], *v.shape[1:])))
        out, outputs = blockwise(f, core, inputs)
        one = pytensor.function(core, outputs, mode="FAST_COMPILE")
        got = ptgc.compile_onnx(inputs, out, optimize=False)(*args)
        batch = np.broadcast_shapes(*[a.shape[: a.ndim - v.ndim + 1] for a, v in zip(args, values)])
        items = [np.broadcast_to(a, (*batch, *v.shape[1:])) for a, v in zip(args, values)]
        for at in np.ndindex(batch):
            for g, w in zip(got, one(*[a[at] for a in items]), strict=True):
                assert g.dtype == w.dtype and g.shape == (*batch, *w.shape)
                np.testing.assert_allclose(g[at], w, rtol=1e-13, atol=1e-13)


def test_einsum():
    for b, names in itertools.product((0, 1, 3), ("ij,jk->ik", "ij,ij->", "ii->i", "ij,k->kji")):
        x, y = np.random.default_rng(b).normal(size=(b, 3, 3)), np.random.default_rng(4).normal(size=(3, 3))
        given = ("x", "y") if "," in names else ("x",)
        y = y[0] if ",k" in names else y
        cores = ",".join(f"({','.join(n)})" for n in names.split("->")[0].split(","))
        text = f"graph g(x: float64[b, n, n]{', y: float64[' + ', '.join('n' * y.ndim) + ']' if len(given) == 2 else ''}) -> (z) {{ z = Blockwise{{core_op=Einsum{{subscripts='{names}'}}, signature='{cores}->({','.join(names.split('->')[1])})'}}({', '.join(given)}) }}"
        want = [np.einsum(names, *([i, y] if len(given) == 2 else [i])) for i in x]
        got = ptg.run(text, *([x, y] if len(given) == 2 else [x]))
        assert len(got) == b and (not b or np.allclose(got, want)) and b"Loop" not in ptg.compile(text)


@pytest.mark.parametrize("moves", ["11", "10", "01"])
def test_dot_of_vectors(moves):
    rng = np.random.default_rng(2)
    for op, (a, c) in itertools.product(("Dot", "Matmul"), [("m,k", "k"), ("k", "k,n"), ("k", "k"), ("m,k", "k,n")]):
        lengths = {"m": 2, "k": 3, "n": 4}
        x, y = (rng.normal(size=(5, *[lengths[k] for k in s.split(",")])) for s in (a, c))
        x, y = x if moves[0] == "1" else x[0], y if moves[1] == "1" else y[0]
        types = [f"float64[{'b, ' if moves[i] == '1' else ''}{s}]" for i, s in enumerate((a, c))]
        out = ",".join([*a.split(",")[:-1], *c.split(",")[1:]])
        text = f"graph g(x: {types[0]}, y: {types[1]}) -> (z) {{ z = Blockwise{{core_op={op}, signature='({a}),({c})->({out})'}}(x, y) }}"
        want = [np.dot(x[i] if moves[0] == "1" else x, y[i] if moves[1] == "1" else y) for i in range(5)]
        np.testing.assert_allclose(ptg.run(text, x, y), want, rtol=1e-13)
        assert b"Loop" not in ptg.compile(text)


def test_lengths_that_differ():
    n, x = pt.vector("n", dtype="int64"), pt.tensor("x", shape=(None, 4, 3))
    ends = np.array([2, 3])
    forms = {
        "arange": lambda x, n: pt.arange(n),
        "eye": lambda x, n: pt.eye(n, 2),
        "alloc": lambda x, n: pt.alloc(x[0, 0], n),
        "slice": lambda x, n: x[:n],
        "slice of a column": lambda x, n: x[:n, 0],
        "write": lambda x, n: x[:n].set(x[:2]),
        "mask": lambda x, n: x[pt.arange(4) < n],
        "repeat": lambda x, n: Repeat(0)(x, n[None]),
    }
    for name, f in forms.items():
        out, _ = blockwise(f, [x[0].type(), n[0].type()], [x, n])
        e = ptgc.compile_onnx([x, n], out, optimize=False, on_unused_input="ignore")
        e(np.zeros((2, 4, 3)), ends * 0 + 2)
        with pytest.raises(ValueError, match="could not broadcast|Reshape"):
            e(np.zeros((2, 4, 3)), ends)
        with pytest.raises(ValueError):
            pytensor.function([x, n], out, mode="FAST_COMPILE", on_unused_input="ignore")(np.zeros((2, 4, 3)), ends)


@pytest.mark.parametrize("moves", ["11", "01", "10"])
def test_alloc_of_what_does_not_fit(moves):
    """Only an axis that is known to be 1 is stretched."""
    for have, to in ((3, 1), (1, 4), (3, 4), (3, 3)):
        values = [np.arange(2.0 * have).reshape(2, have), np.full(2, to)]
        args = [v if each == "1" else v[0] for v, each in zip(values, moves)]
        inputs = [pt.tensor(dtype=v.dtype, shape=(None,) * v.ndim) for v in args]
        out, _ = blockwise(lambda v, n: pt.alloc(v, 2, n), [pt.vector(), pt.lscalar()], inputs)
        e = ptgc.compile_onnx(inputs, out, optimize=False)
        if have == to:
            np.testing.assert_array_equal(e(*args)[0], np.broadcast_to(args[0][..., None, :], (2, 2, 3)))
            continue
        with pytest.raises(ValueError):
            e(*args)


@pytest.mark.parametrize("pattern", ["1111", "0100", "0010", "0001", "1000"])
def test_ger(pattern):
    rng = np.random.default_rng(2)
    values = [rng.normal(size=s) for s in ((3, 2, 4), (3,), (3, 2), (3, 4))]
    args = [v if each == "1" else v[0] for v, each in zip(values, pattern)]
    types = ", ".join(f"{name}: float64[{'b, ' if each == '1' else ''}{dims}]".replace(", ]", "]") for name, dims, each in zip("apxy", ("m, n", "", "m", "n"), pattern))
    text = f"graph g({types}) -> (r) {{ r = Blockwise{{core_op=Ger, signature='(m,n),(),(m),(n)->(m,n)'}}(a, p, x, y) }}"
    a, p, x, y = (v if each == "1" else v[:1] for v, each in zip(values, pattern))
    np.testing.assert_allclose(ptg.run(text, *args), a + p[:, None, None] * x[:, :, None] * y[:, None, :], rtol=1e-14)
    assert b"Loop" not in ptg.compile(text)
