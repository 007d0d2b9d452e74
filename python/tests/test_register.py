"""Ops of the user's own: a text, a function, a file."""

import numpy as np
import pytensor
import pytensor.scalar as ps
import pytensor.tensor as pt
import pytest
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.raise_op import CheckAndRaise
from pytensor.tensor.elemwise import CAReduce, Elemwise

import ptgc
from ptgc import _extend
from ptgc.testing import compare_onnx_and_py

v = pt.dvector("v")


@pytest.fixture(autouse=True)
def forget():
    before = dict(_extend.registry)
    yield
    _extend.registry.clear()
    _extend.registry.update(before)


class Scale(Op):
    """y = k * x, rounded to steps of `step`."""

    __props__ = ("k", "step")

    def __init__(self, k, step=0.5):
        self.k, self.step = k, step

    def make_node(self, x):
        return Apply(self, [pt.as_tensor(x)], [pt.as_tensor(x).type()])

    def perform(self, node, inputs, outputs):
        outputs[0][0] = np.round(inputs[0] * self.k / self.step) * self.step


SCALE = """
fn Nearest{step: float64[]}(x: F[...n]) -> (y) {
  y = Roundhalftoeven(x / step) * step
}
fn Scale{k: int64[], step: float64[]}(x: F[...n]) -> (y) {
  y = Nearest{step=step}(x * k)
}
"""


def test_text_of_fns():
    ptgc.register(Scale, SCALE)
    compare_onnx_and_py([v], [Scale(3)(v), Scale(2, 0.25)(v) + 1], [[0.1, 0.9, -3.3]])


def test_a_fn_with_the_name_of_an_op_hides_nothing():
    class Other(Scale):
        pass

    text = "fn Softplus(x: F[...n]) -> (y: F[...n]) {\n  y = x * %d\n}\n"
    ptgc.register(Scale, text % 3)
    ptgc.register(Other, text % 2)
    f = pytensor.function([v], [Scale(3)(v), Other(2)(v), pt.softplus(v)], mode="ONNX")
    three, two, soft = f([1.0, 2.0])
    np.testing.assert_array_equal(three, [3.0, 6.0])
    np.testing.assert_array_equal(two, [2.0, 4.0])
    np.testing.assert_allclose(soft, np.log1p(np.exp([1.0, 2.0])), rtol=1e-14)


def test_file_with_the_text(tmp_path):
    (tmp_path / "scale.ptg").write_text(SCALE)
    ptgc.register(Scale, tmp_path / "scale.ptg")
    compare_onnx_and_py([v], Scale(3)(v), [[0.1, 0.9, -3.3]])


def test_function_that_returns_the_text():
    def text(op, node):
        name = f"Scale_{node.inputs[0].type.ndim}"
        return f"fn {name}(x) -> (y) {{\n  y = Roundhalftoeven(x * {op.k}.0 / {op.step}) * {op.step}\n}}\n"

    ptgc.register(Scale, text)
    compare_onnx_and_py([v], Scale(3)(v), [[0.1, 0.9, -3.3]])


def test_op_that_ptgc_knows():
    class Twice(Op):
        __props__ = ()

        def make_node(self, x, y):
            return Apply(self, [x, y], [x.type()])

        def perform(self, node, inputs, outputs):
            outputs[0][0] = np.maximum(*inputs)

    ptgc.register(Twice, "Maximum")
    compare_onnx_and_py([v], Twice()(v, -v), [[0.1, -0.9]])


def test_scalar_op():
    class Cube(ps.UnaryScalarOp):
        def impl(self, x):
            return x**3

    ptgc.register(Cube, "fn Cube(x: F[...n]) -> (y) {\n  y = x * x * x\n}\n")
    op = pt.elemwise.Elemwise(Cube(ps.upgrade_to_float, name="cube"))
    compare_onnx_and_py([v], op(v), [[0.5, -2.0]])


def test_subclasses_inherit():
    class Special(Scale):
        pass

    ptgc.register(Scale, SCALE)
    compare_onnx_and_py([v], Special(3)(v), [[0.1, 0.9, -3.3]])


def test_wrong_use():
    with pytest.raises(TypeError):
        ptgc.register(Scale(1), SCALE)
    with pytest.raises(TypeError):
        ptgc.register(Scale, 3)
    ptgc.register(Scale, "this is no text")
    with pytest.raises(ptgc.UnsupportedError, match="neither a fn nor an op"):
        pytensor.function([v], Scale(1)(v), mode="ONNX")
    ptgc.register(Scale, lambda op, node: None)
    with pytest.raises(ptgc.UnsupportedError, match="did not give a text"):
        pytensor.function([v], Scale(1)(v), mode="ONNX")


def test_ops_that_compute_something_else():
    """What is made from an op of PyTensor's, with a perform of its own, is not that op."""

    class Sevens(Elemwise):
        def perform(self, node, inputs, outputs):
            outputs[0][0] = inputs[0] * 0 + 7

    class Total(CAReduce):
        def perform(self, node, inputs, outputs):
            outputs[0][0] = np.asarray(7.0)

    class Checked(CheckAndRaise):
        pass

    for out in (Sevens(ps.exp)(v), Total(ps.add)(v)):
        with pytest.raises(ptgc.UnsupportedError, match="the op is not PyTensor's"):
            ptgc.to_ptg([v], out)
    assert "CheckAndRaise" in ptgc.to_ptg([v], Checked(ValueError, "sign")(v, pt.all(v > 0)))


def test_the_query_of_the_mode_is_read_as_of_other_modes():
    """PyTensor's own tests do this with their JAX mode."""
    optimizer = ptgc.ONNX._optimizer
    assert "fusion" in optimizer.exclude and "onnx" in optimizer.include
    assert not ptgc.ONNX.including("fusion")._optimizer.exclude - set(optimizer.exclude)
