"""Blockwise over batches, reductions by any scalar op, Kronecker products."""

import itertools

import numpy as np
import onnx
import ptgc
import pytensor
import pytensor.scalar as ps
import pytensor.tensor as pt
import pytest
from pytensor.graph.replace import vectorize_graph
from pytensor.tensor.basic import AllocDiag, ExtractDiag
from pytensor.tensor.blockwise import Blockwise, safe_signature
from pytensor.tensor.elemwise import CAReduce
from pytensor.tensor.linalg.products import kron
from pytensor.tensor.extra_ops import fill_diagonal, fill_diagonal_offset
from pytensor.tensor.fft import IRFFTOp, RFFTOp
from pytensor.tensor.math import Dot, ProdWithoutZeros
from pytensor.tensor import linalg as ptl
from pytensor.tensor.linalg.constructors import BlockDiagonal
from pytensor.tensor.linalg.decomposition.cholesky import Cholesky
from pytensor.tensor.linalg.solvers.lstsq import Lstsq, TensorSolve
from pytensor.tensor.signal.conv import Convolve1d, Convolve2d, convolve1d
from pytensor.tensor.sort import ArgSortOp, SortOp

import ptg
from harness import ALL, FLOATS, INTS, OPSETS, UINTS, Compiled, check, values, variable
from opsets import SOME_OPSETS

pytestmark = pytest.mark.sampled

INTEGERS = INTS + UINTS


@pytest.mark.parametrize("dtype", [d for d in ALL if d != "bool"])
def test_prod_without_zeros(dtype):
    def data(d, shape, seed):
        v = values(d, shape, seed, 0, 2)
        v[np.random.default_rng(seed).random(shape) < 0.4] = 0
        return np.round(v).astype(d)

    for axis in (None, 0, 1, (0, 1)):
        check(ProdWithoutZeros(axis=axis), [(dtype, 2)], data=data)
    x = variable(dtype, (3, 3), True, "x")
    c = Compiled([x], [ProdWithoutZeros(axis=0)(x)])
    c.run(np.array([[0, 2, 0], [0, 0, 3], [0, 2, 5]], dtype))
    if dtype in FLOATS:
        c.run(np.array([[0, np.nan, np.inf], [0, 0, 0], [-0.0, 2, -1]], dtype), zero_sign=False)


def test_prod_without_zeros_of_bools():
    x = variable("float64", (4, 3), True, "x")
    c = Compiled([x], [ProdWithoutZeros(dtype="bool", axis=1)(x), ProdWithoutZeros(dtype="bool")(x)])
    c.run(np.array([[0, 0, 0], [0, 0.5, 2], [1, 1, 1], [0, 0.25, 0]]))
    c.run(np.zeros((2, 3)))


@pytest.mark.parametrize("name", ["and_", "or_", "xor"])
def test_bits(name):
    op = getattr(ps, name)
    for dtype in ("bool", *INTEGERS):
        for axis in ((0,), (1,), (0, 1), None):
            check(CAReduce(op, axis=axis), [(dtype, 2)], opsets=SOME_OPSETS, sizes=(0, 1, 7))



@pytest.mark.parametrize("name", ["add", "mul", "maximum", "minimum"])
def test_scalar_ops(name):
    op = getattr(ps, name)
    for dtype in ("bool", "int8", "uint16", "int64", "float32", "float64"):
        def data(d, shape, seed):
            return values(d, shape, seed, 0, 3)

        sizes = (1, 2, 7) if name[0] == "m" and name != "mul" else (0, 1, 2, 7)
        check(CAReduce(op, axis=(1,)), [(dtype, 2)], sizes=sizes, data=data)


@pytest.mark.parametrize("dtype", ALL)
def test_kron(dtype):
    shapes = [((2, 3), (3, 2)), ((2,), (3, 2)), ((2, 3), (4,)), ((2, 3, 2), (2, 2)), ((0, 3), (2, 2)), ((1, 1), (7, 2))]
    for a, b in shapes if dtype == "float64" else shapes[:2]:
        for dynamic in (False, True):
            x, y = variable(dtype, a, dynamic, "x"), variable(dtype, b, dynamic, "y")
            c = Compiled([x, y], [kron(x, y)], OPSETS if dtype == "float64" else (18,))
            c.run(values(dtype, a), values(dtype, b))


SHAPES = [((3, 2, 4), (3, 4, 2)), ((1, 2, 4), (3, 4, 2)), ((2, 4), (3, 4, 2)), ((2, 3, 2, 4), (3, 4, 2)),
          ((2, 1, 2, 4), (1, 3, 4, 2)), ((1, 2, 4), (1, 4, 2)), ((3, 2, 0), (3, 0, 2)), ((3, 1, 1), (3, 1, 1))]  # fmt: skip


@pytest.mark.parametrize("dtype", [d for d in ALL if d != "bool"])
def test_blockwise_dot(dtype):
    op = Blockwise(Dot(), signature="(m,k),(k,n)->(m,n)")
    for a, b in SHAPES if dtype in ("float64", "uint32") else SHAPES[:1]:
        for dynamic in (False, True):
            x, y = variable(dtype, a, dynamic, "x"), variable(dtype, b, dynamic, "y")
            c = Compiled([x, y], [op(x, y)], SOME_OPSETS if dtype == "float64" else (18,))
            c.run(values(dtype, a, 0, 0, 5), values(dtype, b, 1, 0, 5))


def spd(shape, seed=0):
    a = np.random.default_rng(seed).normal(size=shape)
    return a @ np.swapaxes(a, -1, -2) + np.eye(shape[-1])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_blockwise_loop(dtype):
    op = Blockwise(Cholesky())
    for shape in ((3, 3), (1, 3, 3), (4, 3, 3), (2, 3, 2, 2), (1, 2, 3, 3)):  # PyTensor refuses empty batches
        for dynamic in (False, True):
            x = variable(dtype, shape, dynamic, "x")
            Compiled([x], [op(x)]).run(spd(shape).astype(dtype))


def test_blockwise_two_inputs():
    for a, b in (((3, 4), (3, 2)), ((4,), (3, 2)), ((2, 3, 4), (3, 2)), ((2, 1, 4), (1, 3, 2))):
        for mode in ("full", "valid"):
            for dynamic in (False, True):
                x, y = variable("float64", a, dynamic, "x"), variable("float64", b, dynamic, "y")
                Compiled([x, y], [convolve1d(x, y, mode)], SOME_OPSETS).run(values("float64", a, 0, -1, 1), values("float64", b, 1, -1, 1), atol=1e-16)


def test_blockwise_gradient():
    x = variable("float64", (3, 2, 2), True, "x")
    y = Blockwise(Cholesky())(x).sum() + (x @ x).sum()
    c = Compiled([x], [y, pt.grad(y, x)])
    c.run(spd((3, 2, 2)))


def test_einsum():
    for spec, ranks in (("ij,jk->ik", (2, 2)), ("ii", (2,)), ("ii->i", (2,)), ("bij,bjk->bik", (3, 3)), ("...j,j...->...", (2, 2)), ("i,j->ij", (1, 1)), ("ij,jk,kl->il", (2, 2, 2))):
        for dtype in ("float64", "int64"):
            for dynamic in (False, True):
                xs = [variable(dtype, (3,) * r, dynamic, f"x{i}") for i, r in enumerate(ranks)]
                c = Compiled(xs, [pt.einsum(spec, *xs)], SOME_OPSETS)
                c.run(*[values(dtype, (3,) * r, i, 1, 5) for i, r in enumerate(ranks)])


def test_blockwise_of_nothing():
    """At opset 13 a 0 in the shape of a Reshape copies a dim."""
    x = pt.tensor("x", dtype="uint32", shape=(3, 2, 0))
    v = pt.tensor("v", dtype="uint32", shape=(0,))
    out = vectorize_graph(pt.inc_subtensor(v[-1:], v[:1]), {v: x})
    Compiled([x], [out]).run(np.zeros((3, 2, 0)))


def test_blockwise_alloc_to_the_length_of_items():
    x = variable("float64", (3, 2), False, "x")
    v = pt.vector("v", dtype="float64")
    for of in (x, pt.exp(pt.constant(values("float64", (3, 2), 0, -1, 1)))):
        out = vectorize_graph(pt.alloc(v, 2, v.shape[0]), {v: of})
        Compiled([x], [out + x[0]], (13, 18)).run(values("float64", (3, 2)))


VIEWS = {
    "Exp": ("Exp", "(m,n)->(m,n)", np.exp),
    "MatrixTranspose": ("MatrixTranspose", "(m,n)->(n,m)", lambda x: x.swapaxes(-1, -2)),
    "Transpose": ("Transpose", "(m,n)->(n,m)", lambda x: x.swapaxes(-1, -2)),
    "Transpose with axes": ("Transpose{axes=[2, 0, 1]}", "(m,n,k)->(k,m,n)", lambda x: x.transpose(0, 3, 1, 2)),
    "DimShuffle": ('DimShuffle{order=[1, "x", 0]}', "(m,n)->(n,k,m)", lambda x: x.swapaxes(-1, -2)[..., None, :]),
    "ExpandDims": ("ExpandDims{axes=[0, 2]}", "(n)->(k,n,m)", lambda x: x[..., None, :, None]),
    "Squeeze": ("Squeeze{axes=[1]}", "(m,n)->(m)", lambda x: x[..., 0]),
}  # fmt: skip


@pytest.mark.parametrize("name", VIEWS)
def test_views_and_elementwise_take_no_loop(name):
    op, signature, f = VIEWS[name]
    last = 1 if name == "Squeeze" else 4
    for shape in ((2, 5, 3, last), (0, 5, 3, last), (2, 0, 3, last), (1, 1, 1, last), (3, 1, 0, last)):
        dims = "b, c, n, " + ("1" if last == 1 else "k")
        text = f"graph g(x: float64[{dims}]) -> (y) {{ y = Blockwise{{core_op={op}, signature='{signature}'}}(x) }}"
        x = np.random.default_rng(5).normal(size=shape)
        for opset in SOME_OPSETS:
            got, want = ptg.run(text, x, opset=opset), f(x)
            assert got.shape == want.shape and np.allclose(got, want, 1e-14)
    assert "Loop" not in str([n.op_type for n in onnx.load_model_from_string(ptg.compile(text)).graph.node])


def test_elementwise_of_unlike_batches():
    text = "graph g(x: float64[b, n, m], y: float64[n, m], z: float64[1, n, m]) -> (p, q) {\n p = Blockwise{core_op=Mul, signature='(m,n),(m,n)->(m,n)'}(x, y)\n q = Blockwise{core_op=Sub, signature='(m,n),(m,n)->(m,n)'}(z, x) }"
    for b, n, m in itertools.product((0, 1, 3), (0, 1, 2), (1, 4)):
        x, y, z = (np.random.default_rng(6).normal(size=s) for s in ((b, n, m), (n, m), (1, n, m)))
        for opset in SOME_OPSETS:
            p, q = ptg.run(text, x, y, z, opset=opset)
            assert np.array_equal(p, x * y) and np.array_equal(q, z - x)
    assert ptg.nodes(ptg.compile(text, options=("-fno-check-dims",))) == 2


# ---- an op on the whole batch in place of a loop ----

X, Y, V, M3 = np.arange(12.0).reshape(4, 3), np.arange(3.0), np.array([0.5, -1, 2, 0.5]), np.arange(24.0).reshape(2, 3, 4)
AT, TO = np.array([2, 0, -1, 2]), np.array([[1, 0], [-2, 3]])


# name: (the core op on core values, its inputs, which inputs have a batch: 1, or none: 0)
FORMS = {
    "Join": (lambda x, y: pt.join(1, x, y), (X, X[:, :2]), ("11", "10", "01")),
    "Join of vectors": (lambda x, y: pt.join(0, x, y), (Y, V), ("11", "10")),
    "Split": (lambda x: pt.split(x, [3, 1], n_splits=2, axis=0), (X,), ("1",)),
    "LogSumExp": (lambda x: pt.logsumexp(x, axis=0), (X,), ("1",)),
    "LogSumExp of all": (lambda x: pt.logsumexp(x, axis=None), (X,), ("1",)),
    "Sum": (lambda x: x.sum(axis=-2), (X,), ("1",)),
    "Max of all": (lambda x: x.max(), (X,), ("1",)),
    "Argmax": (lambda x: pt.argmax(x, axis=None), (X,), ("1",)),
    "Cumsum": (lambda x: pt.cumsum(x, axis=1), (X,), ("1",)),
    "Softmax": (lambda x: pt.special.softmax(x, axis=0), (X,), ("1",)),
    "Repeat": (lambda x: pt.repeat(x, np.array([1, 0, 2]), axis=1), (X,), ("1",)),
    "AllocDiag": (lambda x: AllocDiag(axis1=0, axis2=1, offset=1)(x), (V,), ("1",)),
    "AllocDiag of rows": (lambda x: AllocDiag(axis1=0, axis2=2, offset=0)(x), (X,), ("1",)),
    "ExtractDiag": (lambda x: ExtractDiag(offset=-1)(x), (X,), ("1",)),
    "Sort": (lambda x: SortOp("quicksort", 0)(x), (X[::-1],), ("1",)),
    "ArgSort": (lambda x: ArgSortOp("stable", 0)(x), (V,), ("1",)),
    "Alloc": (lambda x: pt.alloc(x, 2, 4, 3), (X,), ("1",)),
    "Reshape": (lambda x: x.reshape((2, -1)), (X,), ("1",)),
    "FillDiagonal": (lambda x, v: fill_diagonal(x, v), (X, np.float64(7)), ("11", "10", "01")),
    "FillDiagonalOffset": (lambda x, v: fill_diagonal_offset(x, v, 1), (X, np.float64(7)), ("11", "10")),
    "Pad": (lambda x: pt.pad(x, ((1, 0), (0, 2)), constant_values=2.5), (X,), ("1",)),
    "Pad by reflection": (lambda x: pt.pad(x, ((1, 2), (0, 1)), mode="reflect"), (X,), ("1",)),
    "Searchsorted": (lambda x, v: pt.extra_ops.searchsorted(x, v), (np.array([-1.0, 0.5, 3, np.nan]), np.where(X == 4, np.nan, X)), ("01", "10", "11")),
    "Searchsorted in integers": (lambda x, v: pt.extra_ops.searchsorted(x, v, side="right"), (np.array([1, 3, 3, 8]), AT), ("01", "10", "11")),
    "RFFT": (lambda x: RFFTOp()(x, np.array([3])), (X,), ("1",)),
    "IRFFT": (lambda x: IRFFTOp()(x, np.array([4])), (M3[:, :, :2],), ("1",)),
    "Kron": (lambda x, y: pt.linalg.kron(x, y), (X, X[:2]), ("11", "10", "01")),
    "x[1:, i]": (lambda x, i: x[1:, i], (X, np.int64(2)), ("10", "11", "01")),
    "x[i, :, j]": (lambda x, i, j: x[i, :, j], (M3, np.int64(1), np.int64(-1)), ("100", "111", "010")),
    "x[idx]": (lambda x, i: x[i], (X, AT), ("10", "11", "01")),
    "x[:, idx]": (lambda x, i: x[:, i], (X, AT % 3), ("10", "11", "01")),
    "x[:, idx, 1:]": (lambda x, i: x[:, i, 1:], (M3, TO % 3), ("10", "11", "01")),
    "x[idx, :, idx]": (lambda x, i, j: x[i, :, j], (M3, AT % 2, AT), ("100", "111", "010", "011")),
    "x[idx, :, 1]": (lambda x, i: x[i, :, 1], (M3, AT % 2), ("10", "11")),
    "x[idx, jdx]": (lambda x, i, j: x[i, j], (X, TO, np.array([0, 2])), ("111", "010", "101")),
    "x[mask]": (lambda x: x[np.array([True, False, True, True])], (X,), ("1",)),
    "x[i].set(y)": (lambda x, y, i: x[i].set(y), (X, Y, np.int64(2)), ("111", "100", "010", "001")),
    "x[:, 1:].inc(v)": (lambda x, y: x[:, 1:].inc(y), (X, np.float64(3)), ("11", "10", "01")),
    "x[i, :, j].inc(v)": (lambda x, y, i: x[i, :, -1].inc(y), (M3, Y, np.int64(1)), ("111", "100", "001")),
    "x[idx].set(y)": (lambda x, y, i: x[i].set(y), (X, Y, AT[:2]), ("111", "100", "010", "001")),
    "x[idx].inc(y)": (lambda x, y, i: x[i].inc(y), (X, X, AT), ("111", "100", "010", "001")),
    "x[:, idx].inc(y)": (lambda x, y, i: x[:, i].inc(y), (X, V, AT % 3), ("111", "100", "001")),
    "x[:, idx, 1:].set(y)": (lambda x, y, i: x[:, i, 1:].set(y), (M3, Y, TO[0]), ("111", "010", "001")),
    "x[idx, :, idx].inc(y)": (lambda x, y, i, j: x[i, :, j].inc(y), (M3, Y, AT % 2, AT), ("1111", "0100", "0010")),
}  # fmt: skip


BATCHES = [((3,), "open"), ((2, 3), "static"), ((1,), "open"), ((0,), "open"), ((2, 1, 2), "open")]


def input_for(a, opened):
    """Of the type of a, whose first dims are open"""
    return pt.tensor(dtype=a.dtype, shape=(*[None] * opened, *a.shape[opened:]))


def compare_items(got, one, args, pattern, batch, *others, rtol=0, atol=0):
    """Each item of what a model gives for a batch is what `one`, a function of PyTensor's, gives for the item alone."""
    for at in np.ndindex(batch):
        want = one(*[a[at] if moves == "1" else a for a, moves in zip(args, pattern)], *others)
        for g, w in zip(got, want, strict=True):
            assert g.dtype == w.dtype and g.shape == (*batch, *w.shape)
            np.testing.assert_allclose(g[at], w, rtol=rtol, atol=atol)


@pytest.mark.parametrize("name", FORMS)
def test_forms_of_the_whole_batch(name):
    f, values, patterns = FORMS[name]
    core = [pt.as_tensor(v).type() for v in values]
    made = f(*core)
    node = (made[0] if isinstance(made, list) else made).owner
    signature = safe_signature([v.type.ndim for v in node.inputs], [v.type.ndim for v in node.outputs])
    one = pytensor.function(core, node.outputs, mode="FAST_COMPILE")
    rng = np.random.default_rng(3)
    for pattern, (k, (batch, kind)) in itertools.product(patterns, enumerate(BATCHES)):
        args, inputs = [], []
        for c, v, moves in zip(core, values, pattern):
            shape = (*batch, *v.shape) if moves == "1" else v.shape
            a = np.broadcast_to(v, shape).copy()
            if v.dtype == np.float64 and "sorted" not in name:
                a += np.where(rng.random(shape) < 0.5, 0, rng.normal(size=shape)).round(1)
            elif moves == "1" and a.size and "sorted" not in name:  # other indices of the same range
                a = rng.permuted(a, axis=0) if v.ndim == 0 else rng.permuted(a, axis=-1)
            open_dims = len(batch) if moves == "1" and kind == "open" else 0
            inputs.append(input_for(a, open_dims))
            args.append(a)
        moved = vectorize_graph(list(node.inputs), dict(zip(core, inputs)))
        out = Blockwise(node.op, signature=signature).make_node(*moved).outputs
        e = ptgc.compile_onnx(inputs, out, optimize=False, opset=OPSETS[k % len(OPSETS)])
        compare_items(e(*args), one, args, pattern, batch, rtol=1e-14, atol=1e-14 if "FFT" in name else 0)
        if ".inc(" in name and OPSETS[k % len(OPSETS)] < 16:
            continue  # no operator adds there
        assert "Loop" not in [n.op_type for n in onnx.load_model_from_string(e.model).graph.node]


def most_loops(graph, depth=0):
    """How deep loops stand in one another"""
    inner = [most_loops(a.g, depth + (n.op_type in ("Loop", "Scan"))) for n in graph.node for a in n.attribute if a.g.node]
    return max(inner, default=depth)


# name: (the core op, the core shapes of its inputs, which inputs have a batch)
SOLVERS = {
    "TensorInv": (lambda a: ptl.tensorinv(a, ind=1), [(6, 2, 3)], ("1",)),
    "TensorSolve": (TensorSolve(), [(2, 3, 2, 3), (2, 3)], ("11", "10", "01")),
    "TensorSolve with axes": (TensorSolve(axes=(0, 2)), [(2, 2, 3, 3), (2, 3)], ("11", "10", "01")),
    "Lstsq of tall matrices": (Lstsq(), [(5, 3), (5, 2), ()], ("110", "100", "010", "001", "111")),
    "Lstsq of wide matrices": (Lstsq(), [(2, 4), (2, 1), ()], ("110", "100", "010")),
    "Lstsq of a vector": (Lstsq(), [(3, 1), (3, 4), ()], ("110",)),
    "BlockDiagonal": (BlockDiagonal(2), [(2, 3), (1, 2)], ("11", "10", "01")),
    "BlockDiagonal of four": (BlockDiagonal(4), [(2, 1), (0, 2), (1, 1), (2, 0)], ("1111", "0100", "0001")),
}  # fmt: skip


@pytest.mark.parametrize("name", SOLVERS)
def test_solvers_take_the_whole_batch(name):
    f, shapes, patterns = SOLVERS[name]
    core = [pt.tensor(dtype="float64", shape=s) for s in shapes]
    made = f(*core)
    node = (made[0] if isinstance(made, list | tuple) else made).owner
    ranks = [[v.type.ndim for v in vs] for vs in (node.inputs, node.outputs)]
    one = pytensor.function(core, node.outputs, mode="FAST_COMPILE")
    looped, results = core, node.outputs
    if name.startswith("Lstsq"):  # small matrices have loops in loops where a batch of them is turned, and no others
        looped = [pt.tensor(dtype="float64", shape=(2, *shapes[0]))]
        results = pt.linalg.svd(looped[0])
    loops = most_loops(onnx.load_model_from_string(ptgc.compile_onnx(looped, results, optimize=False).model).graph)
    rng = np.random.default_rng(4)
    for pattern, (k, (batch, kind)) in itertools.product(patterns, enumerate(BATCHES)):
        args, inputs = [], []
        for s, moves in zip(shapes, pattern):
            lead = batch if moves == "1" else ()
            a = rng.normal(size=(*lead, *s)) if s else np.full(lead, 1e-9)
            if name.startswith("Tensor") and s == shapes[0]:
                a *= 1 + 9 * (rng.permuted(np.arange(a.size).reshape(a.shape), axis=-1) % 3 == 0)
            args.append(a)
            inputs.append(input_for(a, len(lead) if kind == "open" else 0))
        out = Blockwise(node.op, signature=safe_signature(*ranks)).make_node(*inputs).outputs
        e = ptgc.compile_onnx(inputs, out, optimize=False, opset=OPSETS[k % len(OPSETS)])
        compare_items(e(*args), one, args, pattern, batch, rtol=1e-9, atol=1e-11)
        if len(batch) == 1 and batch != (1,):
            assert most_loops(onnx.load_model_from_string(e.model).graph) <= loops


CONVOLUTIONS = [("float64", (9,), (4,)), ("float32", (4,), (9,)), ("int64", (5,), (5,)), ("float16", (6,), (1,)),
                ("float64", (5, 6), (2, 3)), ("float32", (5, 6), (2, 3)), ("float32", (3, 2), (3, 4)), ("int32", (4, 4), (1, 3))]  # fmt: skip


@pytest.mark.parametrize("mode", ["full", "valid", "at run time"])
@pytest.mark.parametrize("dtype, x, k", CONVOLUTIONS)
def test_convolutions_take_the_whole_batch(dtype, x, k, mode):
    """One kernel for all items, a kernel for each, one image for all kernels; with NaN and infinities in one item"""
    rng = np.random.default_rng(6)
    full = ps.as_scalar(np.bool_(mode == "full")) if mode != "at run time" else pt.tensor("full", dtype="bool", shape=())
    core = [pt.tensor(dtype=dtype, shape=s) for s in (x, k)]
    op = Convolve1d() if len(x) == 1 else Convolve2d("direct" if dtype != "float16" else "auto")
    dims = ",".join("ij"[: len(x)])
    signature = f"({dims}),({dims.upper()}),()->({dims.lower().replace('i', 'p').replace('j', 'q')})"
    one = pytensor.function([*core, *([full] if mode == "at run time" else [])], [op(*core, full)], mode="FAST_COMPILE")
    for pattern, (n, (batch, kind)) in itertools.product(("11", "10", "01"), enumerate(BATCHES)):
        args, inputs = [], []
        for s, moves in zip((x, k), pattern):
            lead = batch if moves == "1" else ()
            a = rng.integers(-4, 5, (*lead, *s)).astype(dtype)
            if len(a) > 1 and lead and dtype == "float64" and len(s) == 1:
                a[0, ..., 1], a[1, ..., 2] = np.nan, np.inf
            args.append(a)
            inputs.append(input_for(a, len(lead) + (len(s) if n == 2 else 0) if kind == "open" else 0))
        run = [full] if mode == "at run time" else []
        out = Blockwise(op, signature=signature)(*inputs, full)
        e = ptgc.compile_onnx([*inputs, *run], out, optimize=False, opset=OPSETS[n % len(OPSETS)])
        assert not most_loops(onnx.load_model_from_string(e.model).graph)
        for flag in [[np.bool_(False)], [np.bool_(True)]] if run else [[]]:
            compare_items(e(*args, *flag), one, args, pattern, batch, *flag)


def test_lstsq_of_unlike_ranks():
    """Sums of squares are there for all items or for none; all else has a value."""
    a, b = np.random.default_rng(1).normal(size=(3, 4, 2)), np.ones((3, 4, 1))
    text = "graph g(a: float64[k, m, n], b: float64[k, m, c]) -> (x, rest, rank, s) { x, rest, rank, s = Blockwise{core_op=Lstsq, signature='(m,n),(m,c),()->(n,c),(r),(),(q)'}(a, b, 1e-10) }"
    a[1, :, 1] = a[1, :, 0]
    with pytest.raises(Exception, match="ndices|ndex"):
        ptg.run(text, a, b)
    x, rank = ptg.run(text.replace("-> (x, rest, rank, s)", "-> (x, rank)").replace("x, rest, rank, s =", "x, _, rank, _ ="), a, b)
    assert list(rank) == [2, 1, 2]
    for i in range(3):
        np.testing.assert_allclose(x[i], np.linalg.lstsq(a[i], b[i], rcond=1e-10)[0], rtol=1e-10)
    a[:, :, 1] = a[:, :, 0]
    assert ptg.run(text, a, b)[1].shape == (3, 0)


@pytest.mark.parametrize("rank", [1, 2])
def test_right_sides_of_one_matrix_are_columns(rank):
    """[b, 1, n, n] and [1, k, n] are b problems with k columns, not b * k problems."""
    shapes = [((3, 1), (1, 4)), ((3, 1), (3, 4)), ((1, 1), (2, 4)), ((2, 1, 3), (1, 5, 1)), ((1, 3), (2, 1)), ((0, 1), (1, 4)), ((3, 1), (1, 0))]
    for (a, b), op in itertools.product(shapes, ("SolveTriangular", "Solve", "CholeskySolve")):
        m, y = spd((*a, 3, 3)), np.random.default_rng(1).normal(size=(*b, 3, 2)[: len(b) + rank])
        p = f"Blockwise{{core_op={op}{{lower=True, b_ndim={rank}}}, signature='(m,m),(m{',n' * (rank - 1)})->(m{',n' * (rank - 1)})'}}(m, y)"
        named = [",".join("1" if k == 1 else f"?{letter}{i}" for i, k in enumerate(s)) for letter, s in (("b", a), ("c", b))]
        text = f"graph g(m: float64[{named[0]}, 3, 3], y: float64[{named[1]}, 3{', 2' * (rank - 1)}]) -> (x) {{ x = {p} }}"
        lower = np.tril(m)
        full = {"SolveTriangular": lower, "Solve": m, "CholeskySolve": lower @ np.swapaxes(lower, -1, -2)}[op]
        want = np.linalg.solve(full, y if rank == 2 else y[..., None])
        got = ptg.run(text, m, y)
        np.testing.assert_allclose(got, want if rank == 2 else want[..., 0], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("opset", SOME_OPSETS)
def test_reshape_to_unknown_lengths(opset):
    """-1 is a length of the items, which a batch of none leaves known; nothing of the shapes is known before."""
    text = """ptg 1

graph g(x: float64[b, m, n], to: int64[2]) -> (y) {
  y = Blockwise{core_op=Reshape{ndim=2}, signature="(m,n),(k)->(p,q)"}(x, to)
}
"""
    model = ptg.compile(text, opset=opset)
    for b, (m, n) in itertools.product((0, 1, 3), [(2, 6), (1, 1), (0, 4), (3, 0)]):
        x = np.arange(float(b * m * n)).reshape(b, m, n)
        for to in ((-1, 2), (4, -1), (m, n), (n, -1), (-1, 1)):
            if -1 in to and (m * n) % max(abs(to[0] * to[1]), 1):
                continue
            if 0 in to and -1 in to:
                continue  # NumPy refuses that too
            want = x.reshape(b, *np.empty((m, n)).reshape(to).shape)
            got = ptg.run(model, x, np.array(to))
            assert got.shape == want.shape
            np.testing.assert_array_equal(got, want)
