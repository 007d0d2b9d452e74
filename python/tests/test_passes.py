"""PyTensor's rewriters applied in less time give the graphs that PyTensor gives."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import optdb
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.replace import vectorize_graph
from pytensor.graph.rewriting.basic import EquilibriumGraphRewriter, node_rewriter
from pytensor.tensor.elemwise import DimShuffle

import ptgc
from ptgc._passes import FixedPoint, lean
from ptgc._printer import print_graph

x, y, m = pt.dvector("x"), pt.dvector("y"), pt.dmatrix("m")


def with_gradients(cost):
    return [cost, *pytensor.grad(cost, [x, m], disconnected_inputs="ignore")]


def logistic():
    eta = m @ x
    return with_gradients((y * pt.log(pt.sigmoid(eta)) + (1 - y) * pt.log1p(-pt.sigmoid(eta))).sum())


def loop():
    s = pytensor.scan(lambda a, b: pt.tanh(a * b) + b / 2, sequences=[x], outputs_info=[y[0]], return_updates=False)
    return with_gradients((s[-1] ** 2).sum())


def sums():
    return with_gradients(pt.logsumexp(m / pt.exp(x), axis=1).sum() + pt.special.softmax(m * 2, axis=0)[0].sum())


def matrices():
    k = m @ m.T + pt.eye(m.shape[0])
    chol = pt.linalg.cholesky(k)
    return with_gradients(pt.log(pt.diag(chol)).sum() + pt.linalg.solve_triangular(chol, x, lower=True).sum())


def switches():
    z = pt.switch(x > 0, pt.log(x), 0.0) + pt.switch(x > 0, -x, pt.inf)
    return with_gradients((pt.concatenate([z, z[::-1], pt.zeros(3)]) / 2 * 2).sum())


@pytest.mark.parametrize("graph", [logistic, loop, sums, matrices, switches], ids=lambda g: g.__name__)
def test_graphs_are_those_of_pytensor(graph):
    query, texts = ptgc.ONNX.optimizer.query, []
    for optimizer in ptgc.ONNX.optimizer, optdb.query(query):
        fgraph = FunctionGraph([x, y, m], graph(), clone=True)
        fgraph._compile_mode = ptgc.ONNX  # as pytensor.function has it
        optimizer.rewrite(fgraph)
        texts.append(print_graph(fgraph.inputs, fgraph.outputs, name="f").text)
    assert texts[0] == texts[1]


def test_constants_are_merged_by_their_bits():
    f = pytensor.function([x], [pt.switch(x > 0, x, z) for z in (0.0, -0.0, 0.0)], mode="ONNX")
    assert [bool(np.signbit(r)[0]) for r in f([-1.0])] == [False, True, False]
    assert len(f.maker.fgraph.apply_nodes) == 4  # with a copy of what two outputs share
    f = pytensor.function([x], [x + np.nan, (x + np.nan) * y], mode="ONNX", on_unused_input="ignore", givens={y: x})
    assert f.vm.jit_fn.text.lower().count("nan") == 1


def test_traces_of_constants_stay_short():
    """A constant lives on in the user's graph; what each Switch gave was three times as long as what came before."""
    zero = pt.constant(0.0)
    conditions = [pt.lt(x[k], y[k]) for k in range(12)]
    total = sum(pt.switch(c, zero, zero) for c in conditions)
    for _ in range(2):
        pytensor.function([x, y], total + x, mode="ONNX")
        assert len(getattr(zero.tag, "trace", ())) < 1000


def test_registered_rewriters_stay_as_they_are():
    """Rewriters of the database belong to all modes."""
    found = optdb.query(ptgc.ONNX.optimizer.query)
    before = list(found.data)
    assert lean(found) is not found and list(found.data) == before


def fixed_point(rewriter):
    own = EquilibriumGraphRewriter([rewriter], max_use_ratio=3, failure_callback=EquilibriumGraphRewriter.warn)
    own.name = "test"
    return FixedPoint(own)


def test_rewriter_without_end_is_stopped():
    @node_rewriter([pt.add])
    def swap(fgraph, node):
        return [pt.add(*node.inputs[::-1])]

    fgraph = FunctionGraph([x, y], [x + y], clone=True)
    with pytensor.config.change_flags(on_opt_error="raise"), pytest.raises(AssertionError, match="max'ed out by swap"):
        fixed_point(swap).rewrite(fgraph)


def test_rewriter_that_fails_is_told():
    @node_rewriter([pt.exp])
    def broken(fgraph, node):
        raise ZeroDivisionError("broken")

    fgraph = FunctionGraph([x], [pt.exp(x)], clone=True)
    with pytensor.config.change_flags(on_opt_error="raise"), pytest.raises(ZeroDivisionError):
        fixed_point(broken).rewrite(fgraph)
    with pytest.raises(ZeroDivisionError):
        FixedPoint(EquilibriumGraphRewriter([broken], max_use_ratio=3)).rewrite(fgraph)


def test_change_far_from_a_node_reaches_it():
    """Each round finds what the one before has made possible, one node further."""

    @node_rewriter([DimShuffle])
    def sink(fgraph, node):
        """Moves an axis of length 1 below exp, the inner one only once the outer one is gone."""
        inner = node.inputs[0].owner
        return [pt.exp(node.op(inner.inputs[0]))] if inner is not None and inner.op == pt.exp else None

    z = x
    for _ in range(8):
        z = pt.exp(z)
    fgraph = FunctionGraph([x], [z[None]], clone=True)
    fixed_point(sink).rewrite(fgraph)
    assert fgraph.outputs[0].owner.op == pt.exp
    assert isinstance(fgraph.toposort()[0].op, DimShuffle)


def test_an_alloc_of_core_dims_ends_a_fixed_point(caplog, capfd):
    """PyTensor's local_blockwise_alloc_inputs and local_dimshuffle_alloc undo one another here until PyTensor stops
    them."""
    m, i, n = pt.vector("m", shape=(3,)), pt.vector("i", dtype="int32"), pt.lscalar("n")
    mu = pt.matrix("mu", shape=(None, 3))
    at = pt.alloc(np.array([[0], [1], [2]], "int32"), 3, n)[None]
    out = vectorize_graph(m[i], {m: mu[:, None], i: at})
    (got,) = ptgc.compile_onnx([mu, n], [out])(x := np.arange(6.0).reshape(2, 3), np.int64(4))
    np.testing.assert_array_equal(got, np.repeat(x[:, :, None], 4, 2))
    assert "max'ed out" not in caplog.text + capfd.readouterr().err


def test_excluded_tags_are_left_out():
    """x[[1, 0]] becomes the slice x[1::-1] in "shape_unsafe" rewrites alone: an index out of range would be no
    error."""
    x = pytensor.shared(np.arange(4.0))
    f = pytensor.function([], x[[1, 0]], mode=pytensor.compile.mode.get_mode("ONNX").excluding("shape_unsafe"))
    assert [type(n.op).__name__ for n in f.maker.fgraph.toposort()] == ["AdvancedSubtensor"]
    assert list(f()) == [1, 0]
