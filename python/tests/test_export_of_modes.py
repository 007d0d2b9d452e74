"""Functions of every mode of PyTensor as files: what each linker has made of the graph is exported.

The rewrites are those of the mode, and inner graphs are rewritten for its linker; what runs the
function for comparison is PyTensor's Python code, so that no other compiler is needed here.
"""

import warnings

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.builders import OpFromGraph
from pytensor.compile.mode import Mode, get_mode
from pytensor.conditional.op import ifelse
from pytensor.graph.replace import vectorize_graph
from pytensor.link.vm import VMLinker
from pytensor.scan.utils import until

import ptgc

x, y, v, w = pt.dmatrix("x"), pt.dmatrix("y"), pt.dvector("v"), pt.dvector("w")
s, i, b = pt.dscalar("s"), pt.lvector("i"), pt.vector("b", dtype="bool")
t = pt.dtensor3("t")
MODES = ("CVM", "NUMBA", "JAX", "MLX", "FAST_COMPILE", "none")


def rewriting_as(name):
    """The mode, but its functions are run by PyTensor's Python code."""
    if name == "none":
        return Mode("py", None)
    mode = get_mode(name)
    if name == "FAST_COMPILE":
        return mode

    class Linker(type(mode.linker)):
        required_rewrites = mode.linker.required_rewrites
        incompatible_rewrites = mode.linker.incompatible_rewrites
        allow_gc = False

        def __init__(self, *args, **kwargs):
            pass

        def accept(self, *args, **kwargs):
            return VMLinker(allow_gc=False, use_cloop=False, c_thunks=False).accept(*args, **kwargs)

        def clone(self, **kwargs):
            return self

    return Mode(Linker(), mode.provided_optimizer)


def batch(outputs, *inputs):
    new = [pt.tensor(f"{v.name}s", dtype=v.dtype, shape=(None, *v.type.shape)) for v in inputs]
    return new, vectorize_graph(outputs, dict(zip(inputs, new)))


def steps():
    return pytensor.scan(lambda a, h, k: pt.tanh(a * h + k), [v], [pt.zeros(())], [s], return_updates=False)


def while_loop():
    return pytensor.scan(
        lambda h, k: (h * k, until(h * k > 20)), None, [s], [s + 1], n_steps=9, return_updates=False
    )


def epidemic():
    """Its gradient is a loop whose steps write into their arguments, if the mode lets them."""

    def day(healthy, ill, contact, seen):
        new = contact * healthy * ill / 100
        return healthy - new, ill + new - seen * ill, new

    first = [pt.constant(90.0, dtype="float64"), pt.constant(10.0, dtype="float64"), None]
    results = pytensor.scan(day, outputs_info=first, non_sequences=[s, v[0] ** 2], n_steps=12, return_updates=False)
    return (pt.log(results[2]) * np.arange(12)).sum()


POSITIVE = x @ x.T + pt.eye(3) * 4
SOLVED = pt.linalg.solve(POSITIVE, y, assume_a="pos")
GRAPHS = {
    "a fused sum": [pt.exp(x).sum(axis=1), (x**2).sum(), pt.sqrt(abs(x)).mean(), pt.prod(pt.tanh(x), axis=0)],
    "fused sums of other dtypes": [(x.astype("float32") ** 2).sum(axis=0), pt.neq(x, 0).sum(), pt.floor(x).astype("int8").sum()],
    "a fused loop": [pt.tanh(x * 2 + y) - y, (pt.tanh(x * 2 + y)).sum(axis=0), pt.exp(x) / (1 + y**2)],
    "scalars": [v.sum() * v[0] + pt.exp(-s), pt.stack([v.max(), s, v[-1] * 2]), pt.join(0, v, (v.sum() / s)[None]), x * v.mean()],
    "products": [s * (x @ y.T) + 2 * x @ x.T, x @ v + w[:3], pt.outer(v, w) * s + y[0][:, None] * w, v @ y.T],
    "gathers": [pt.exp(v[i]) * w[i], (v[i] * 2).sum(), pt.inc_subtensor(v[i], pt.exp(w[i])), pt.set_subtensor(x[i, 1], 0.0)],
    "masks": [pt.set_subtensor(v[b], 0.0), pt.inc_subtensor(v[b], s), v[b].sum(), pt.switch(b, v, w)],
    "updates": [pt.inc_subtensor(x[1:], 1.5), pt.set_subtensor(v[::-1], w[: v.shape[0]]), pt.set_subtensor(x[:, -1], s)],
    "shapes": [x.reshape((x.shape[1], -1)), pt.repeat(v, 2), pt.join(0, x, y), pt.diag(x),
        pt.tile(v, 2), pt.alloc(s, v.shape[0], 2)],
    "solve": [SOLVED, pt.linalg.inv(POSITIVE), pt.linalg.cholesky(POSITIVE), pt.linalg.det(POSITIVE),
        *pt.linalg.slogdet(POSITIVE)],
    "gradient of solve": [pytensor.grad(SOLVED.sum() + pt.linalg.slogdet(POSITIVE)[1], [x, y])[0]],
    "decompositions": [*map(abs, pt.linalg.svd(POSITIVE)), pt.linalg.eigh(POSITIVE)[0], pt.linalg.pinv(x)],
    "sorting": [pt.sort(v), pt.argsort(x, axis=0), pt.cumsum(x, axis=1), pt.searchsorted(pt.sort(v), w), pt.argmax(x, axis=1)],
    "softmax": [pt.special.softmax(x, axis=1), pytensor.grad(pt.special.log_softmax(x, axis=0)[0].sum(), x),
        pt.logsumexp(x, axis=0)],
    "scan": [steps(), pytensor.grad(steps().sum(), v), while_loop()],
    "gradient of scan": [epidemic(), *pytensor.grad(epidemic(), [s, v])],
    "choices": [ifelse(s > 0, x, y), ifelse(v.sum() > 0, v * 2, v - 1), OpFromGraph([x, s], [x * s, x.sum()])(x, s)[0]],
}  # fmt: skip
RNG = np.random.default_rng(3)
VALUES = {
    x: RNG.normal(size=(3, 4)), y: RNG.normal(size=(3, 4)), v: RNG.normal(size=4), w: RNG.normal(size=4), s: np.array(0.5),
    i: np.array([1, 0, 2, 1]), b: np.array([True, False, True, True]), t: RNG.normal(size=(2, 3, 3)),
}  # fmt: skip
A = pt.dmatrix("A")
CORES = {
    "cholesky": (pt.linalg.cholesky(A @ A.T + pt.eye(3)), A),
    "solve": (pt.linalg.solve(A @ A.T + pt.eye(3), A), A),
    "triangular": (pt.linalg.solve_triangular(pt.tril(A) + 5 * pt.eye(3), A[0], lower=True), A),
    "gradient": (pytensor.grad(pt.linalg.slogdet(A @ A.T + pt.eye(3))[1], A), A),
    "rows of sums": (pt.exp(A).sum(axis=1) * A[0, 0] + A.max(), A),
    "qr": (pt.linalg.qr(A, mode="r"), A),
    "svd": (pt.linalg.svd(A, compute_uv=False), A),
    "rows": (A[1:][:, [0, 2]], A),
    "sorted": (pt.sort(A, axis=0) * pt.argsort(A, axis=1), A),
}


def exported(inputs, outputs, values, mode, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        f = pytensor.function(inputs, outputs, mode=rewriting_as(mode), on_unused_input="ignore")
        want = pytensor.function(inputs, outputs, mode="FAST_COMPILE", on_unused_input="ignore")(*values)
    e = ptgc.export_function_onnx(f, tmp_path / "f.onnx")
    assert e.verify(values, rtol=1e-9, atol=1e-12)
    for k, (got, value) in enumerate(zip(e(*values), want, strict=True)):
        np.testing.assert_allclose(got, value, rtol=1e-9, atol=1e-12, err_msg=f"output {k}")
    return e


@pytest.mark.sampled
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("mode", MODES)
def test_graphs_of_every_mode(tmp_path, mode, graph):
    inputs = [k for k in VALUES if k is not t]
    exported(inputs, GRAPHS[graph], [VALUES[k] for k in inputs], mode, tmp_path)


@pytest.mark.parametrize("mode", MODES)
def test_batches_of_every_mode(tmp_path, mode):
    """What PyTensor wraps in Blockwise, and what modes make of that."""
    for core, argument in CORES.values():
        inputs, (out,) = batch([core], argument)
        exported(inputs, [out], [VALUES[t]], mode, tmp_path)


def test_text_of_a_fused_sum_is_the_sum():
    f = pytensor.function([x], pt.exp(x).sum(axis=1), mode=rewriting_as("CVM"))
    assert "Composite" in str(f.maker.fgraph.outputs[0].owner.op)
    assert "Sum{axis=1}(Exp(x))" in ptgc.to_ptg(f)


def test_reductions_by_other_graphs_are_refused():
    from pytensor.scalar.basic import Composite, float64
    from pytensor.tensor.elemwise import CAReduce

    first, second = float64("first"), float64("second")
    op = Composite([first, second], [first * 0.5 + second * first])
    op.identity, op.nin, op.nout = 0, 2, 1
    with pytest.raises(ptgc.UnsupportedError, match="reduces by a graph of scalar ops"):
        ptgc.compile_onnx([v], [CAReduce(op, axis=0)(v)])
