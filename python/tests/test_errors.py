"""What is refused, and what fails at run time, in the user's terms."""

import pickle
import warnings

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor import sparse
from pytensor.compile.builders import OpFromGraph
from pytensor.compile.ops import as_op
from pytensor.conditional.op import ifelse
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.tensor.random.type import random_generator_type
from pytensor.tensor.type_other import SliceType

import ptgc

x, y, v, w = pt.dmatrix("x"), pt.dmatrix("y"), pt.dvector("v"), pt.dvector("w")
idx = pt.lvector("idx")


class Mystery(Op):
    __props__ = ("k",)

    def __init__(self, k):
        self.k = k

    def make_node(self, a):
        return Apply(self, [a], [a.type()])

    def perform(self, node, inputs, outputs):
        outputs[0][0] = inputs[0] * self.k


class Exp(Mystery):
    """Has the name of an op of PyTensor, but is none."""


def function(*args, **kwargs):
    return pytensor.function(*args, mode="ONNX", **kwargs)


def test_all_unsupported_ops_are_reported_at_once():
    noise = Mystery(4)(v)
    noise.name = "noise"
    spectrum = pt.linalg.schur(x, output="complex")[0][0].real
    spectrum.name = "spectrum"
    total = Mystery(3)(v) + noise + spectrum  # the line of Python
    total.name = "total"
    with pytest.raises(ptgc.UnsupportedError) as e:
        function([x, v], total)
    text = str(e.value)
    assert len(e.value.problems) >= 3
    assert "Mystery{k=4}" in text and "Mystery{k=3}" in text and "Schur" in text
    assert "'noise'" in text and "'total'" in text
    assert "test_errors.py" in text and "the line of Python" in text
    assert isinstance(e.value, NotImplementedError)


def test_op_of_the_users_with_the_name_of_an_op_of_pytensors():
    with pytest.raises(ptgc.UnsupportedError, match=r"ptgc.register"):
        function([v], Exp(2)(v))


def test_unsupported_op_inside_of_a_loop():
    out = pytensor.scan(lambda a: Exp(2)(a), sequences=[v], outputs_info=[None], return_updates=False)
    with pytest.raises(ptgc.UnsupportedError, match="Exp"):
        function([v], out)


def graphs_that_pass_a_generator_on(r):
    new, draw = pt.random.normal(v, 1, rng=r).owner.outputs
    shared = pytensor.shared(np.random.default_rng(1), name="shared")

    def step(so_far):
        new, draw = pt.random.normal(so_far, 1, rng=shared).owner.outputs
        return draw, {shared: new}

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        steps, _ = pytensor.scan(step, outputs_info=[pt.constant(0.0, dtype="float64")], n_steps=3)
    return {
        "an inner graph that draws": OpFromGraph([r, v], [draw, new])(r, v)[0],
        "an inner graph that does not": OpFromGraph([r, v], [v * 2])(r, v),
        "a loop": steps * v,
        "a choice": pt.random.normal(v, 1, rng=ifelse(v[0] > 0, r, shared)),
    }


@pytest.mark.parametrize("graph", graphs_that_pass_a_generator_on(random_generator_type("r")))
def test_ops_that_take_a_generator(graph):
    """Also those that only hand it to an inner graph"""
    r = random_generator_type("r")
    out = graphs_that_pass_a_generator_on(r)[graph]
    got, want = (
        pytensor.function([r, v], out, mode=mode, on_unused_input="ignore")(np.random.default_rng(3), [1.0, 2.0, 3.0])
        for mode in ("ONNX", "FAST_COMPILE")
    )
    np.testing.assert_allclose(got, want, rtol=1e-14)


def test_inputs_that_no_model_has_are_refused():
    r = SliceType()("r")
    with pytest.raises(ptgc.UnsupportedError, match=r"(?s)slice.*'r'"):
        ptgc.compile_onnx([r, v], [v * 2], on_unused_input="ignore")


def test_variable_that_is_not_among_the_inputs():
    with pytest.raises(ValueError, match="w"):
        ptgc.to_ptg([v], v + w)


def test_index_out_of_range():
    f = function([x, idx], x[idx])
    with pytest.raises(IndexError, match="index 7 is out of bounds") as e:
        f(np.zeros((3, 2)), [0, 7])
    assert "x[idx]" in str(e.value) and "onnxruntime" not in str(e.value).lower()
    np.testing.assert_array_equal(f(np.zeros((3, 2)), [-1]), [[0, 0]])


def test_runtime_broadcasting_is_an_error():
    f = function([x, y], x + y)
    for a, b in (((2, 1), (2, 3)), ((1, 3), (2, 3)), ((2, 3), (2, 1))):
        with pytest.raises(ValueError, match="Runtime broadcasting not allowed"):
            f(np.zeros(a), np.zeros(b))
    with pytest.raises(ValueError):
        f(np.zeros((2, 3)), np.zeros((2, 4)))
    assert f(np.zeros((1, 3)), np.zeros((1, 3))).shape == (1, 3)


def test_the_one_equation_that_broke():
    f = ptgc.load("graph g(a: float32[n, d], b: float32[n + 1, d]) -> (y, z) {\n  y = a * 2\n  z = b * 2\n}")
    a, b = np.zeros((3, 2), "f"), np.zeros((4, 2), "f")
    assert f(a, b)[1].shape == (4, 2)
    with pytest.raises(ValueError, match=r"^axis 1 of b must be d") as e:
        f(a, np.zeros((4, 3), "f"))
    assert "n+1" not in str(e.value)
    with pytest.raises(ValueError, match=r"^axis 0 of b must be n\+1"):
        f(a, np.zeros((3, 2), "f"))


def test_reshapes_that_do_not_fit():
    k = pt.lscalar("k")
    f = function([x, k], x.reshape((k, -1)))
    assert f(np.zeros((3, 4)), 6).shape == (6, 2)
    with pytest.raises(ValueError, match=r"cannot reshape array of shape \(3,4\) into shape \(5,-1\)") as e:
        f(np.zeros((3, 4)), 5)
    assert "onnxruntime" not in str(e.value).lower() and "as many elements as [k, -1]" in str(e.value)
    with pytest.raises(ValueError, match="cannot reshape"):
        f(np.zeros((0, 4)), 0)
    g = ptgc.load("graph g(a: float32[n, d]) -> (y) {\n  y = Reshape(a, [n, 4])\n}")
    with pytest.raises(ValueError, match=r"shape \(3,2\) into shape \(3,4\).*\[n, d\] must have as many elements as \[n, 4\]"):
        g(np.zeros((3, 2), "f"))


def test_singular_matrices():
    f = function([x], pt.linalg.inv(x))
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        f(np.ones((2, 2)))
    np.testing.assert_allclose(f([[2, 0], [0, 4]]), [[0.5, 0], [0, 0.25]])


def test_lengths_that_indexing_cannot_broadcast():
    f = function([v, x], v[:1].set(x[0]))
    assert f([1, 2], [[7]]).tolist() == [7, 2]
    with pytest.raises(ValueError, match="could not broadcast the value"):
        f([1, 2], [[7, 8]])
    k = pt.lvector("k")
    f = function([x, idx, k], x[idx, k])
    assert f([[1, 2], [3, 4]], [1], [0, 1]).tolist() == [3, 4]
    with pytest.raises(IndexError, match="indexing arrays could not be broadcast together"):
        f([[1, 2], [3, 4]], [1, 0], [0, 1, 0])


def test_boolean_masks_of_other_lengths():
    f = function([v, x], v[v > 1].set(x[0]))
    assert f([1, 2, 3], [[7]]).tolist() == [1, 7, 7]
    m = pt.vector("m", dtype="bool")
    with pytest.raises(IndexError, match="boolean index did not match"):
        function([v, m], v[m])([1, 2], [True])
    assert function([v, m], v[m])([1, 2], [True, False]) == [1.0]


def test_reductions_of_nothing_that_have_no_identity():
    for y, shape in ((x.max(0), (0, 0)), (x.min(), (0, 0)), (x.argmax(1), (2, 0)), (x.argmax(1), (0, 0))):
        f = function([x], y)
        with pytest.raises(ValueError, match="zero-size array to a reduction that has no identity") as e:
            f(np.zeros(shape))
        assert "in the line: " in str(e.value)
        f(np.zeros((1, 2)))


def test_negative_powers_of_integers():
    k = pt.lvector("k")
    f = function([idx, k], idx**k)
    words = "Integers to negative integer powers are not allowed"
    with pytest.raises(ValueError, match=words):
        f([1, 2], [1, -1])
    with pytest.raises(ValueError, match="integers to negative integer powers are not allowed: the exponent is -3"):
        function([idx], idx**-3)([1, 2])
    assert f([2, -3], [5, 3]).tolist() == [32, -27]


def test_wrong_inputs_get_pytensors_message():
    f = function([v], v + 1)
    with pytest.raises(TypeError, match="Wrong number of dimensions"):
        f(np.zeros((2, 2)))
    with pytest.raises(TypeError):
        f(np.array([1 + 2j]))
    with pytest.raises(TypeError):
        function([pt.vector("a", shape=(3,))], [pt.constant(1.0)], on_unused_input="ignore")(np.zeros(4))


def test_errors_can_be_pickled():
    with pytest.raises(ptgc.UnsupportedError) as e:
        function([x], Mystery(3)(x))
    again = pickle.loads(pickle.dumps(e.value))
    assert str(again) == str(e.value) and len(again.problems) == len(e.value.problems)
    with pytest.raises(ptgc.CompileError) as e:
        ptgc.compile("graph g(x: float64[]) -> (y) { y = q }")
    again = pickle.loads(pickle.dumps(e.value))
    assert str(again) == str(e.value) and again.diagnostics == e.value.diagnostics


def test_runtime_errors_have_no_generated_names():
    f = function([x, y], pt.dot(x, y))
    with pytest.raises(ValueError) as e:
        f(np.zeros((2, 3)), np.zeros((4, 5)))
    assert "ONNXRuntimeError" not in str(e.value) and "onnxruntime_src" not in str(e.value)


def test_compile_error_has_diagnostics():
    with pytest.raises(ptgc.CompileError) as e:
        ptgc.compile("graph g(x: float64[3]) -> (y) {\n  y = Exq(x)\n}\n")
    [d, *_] = e.value.diagnostics
    assert (d.severity, d.line, d.code) == ("error", 2, "PTG0500")
    assert "did you mean" in str(e.value)


def test_options_are_checked():
    text = "graph g(x: float64[3]) -> (y) { y = Exp(x) }"
    with pytest.raises(ValueError, match="opset"):
        ptgc.compile(text, opset=12)
    with pytest.raises(ValueError, match="target"):
        ptgc.compile(text, target="gpu")
    with pytest.raises(TypeError, match="colour"):
        ptgc.compile(text, colour=True)
    with pytest.raises(FileNotFoundError):
        ptgc.compile("no-such-file.ptg")
    with pytest.raises(TypeError):
        ptgc.compile(3)


def test_a_graph_that_always_raises_is_compiled():
    g = function([x], pt.split(x, [5, -1], n_splits=2)[0])
    with pytest.raises(ValueError, match="Split"):
        g(np.zeros((4, 4)))


def test_assert_and_specify_shape():
    from pytensor.raise_op import Assert, CheckAndRaise

    f = function([v], Assert("v must be positive")(v, (v > 0).all()))
    assert f([1.0]) == [1.0]
    with pytest.raises(AssertionError, match="v must be positive"):
        f([-1.0])
    g = function([v], CheckAndRaise(KeyError, "no")(v, (v > 0).all()))
    with pytest.raises(KeyError):
        g([-1.0])
    never = function([], Assert("never")(pt.constant(3), pt.constant(np.array(False))))
    with pytest.raises(AssertionError, match="never"):
        never()
    for result in ([pt.constant(5)], [pt.constant(5), v + 1]):  # nothing but a constant depends on the check
        g = function([v], [Assert("v must be positive")(r, (v > 0).all()) if k == 0 else r for k, r in enumerate(result)])
        assert g([1.0])[0] == 5
        with pytest.raises(AssertionError, match="v must be positive"):
            g([-1.0])
    n = pt.lscalar("n")
    two = function([n], pt.stack([Assert("odd")(n, pt.eq(n % 2, 0)), Assert("small")(n, n > 9)]))
    assert list(two(10)) == [10, 10]
    for wrong, message in ((11, "odd"), (8, "small")):
        with pytest.raises(AssertionError, match=message):
            two(wrong)
    h = function([v], pt.specify_shape(pt.exp(v), 3))
    assert h(np.zeros(3)).shape == (3,)
    with pytest.raises(AssertionError, match="SpecifyShape"):
        h(np.zeros(4))


def complex_graphs():
    z, A = pt.zvector("z"), pt.tensor3("A", dtype="complex128")
    twice = OpFromGraph([z], [pt.gamma(z) + z])(z)
    return [
        ("input", [z], pt.psi(z), ["Psi(complex128[?])"]),
        ("two", [z, A], pt.psi(z)[0] + pt.erf(A)[0, 0, 0], ["Psi", "Erf"]),
        ("a stack of matrices", [A], pt.linalg.det(A).real, ["Det"]),
        ("inner graph", [z], twice, ["Gamma(complex128[?])"]),
    ]


@pytest.mark.parametrize("case", complex_graphs(), ids=lambda case: case[0])
@pytest.mark.parametrize("export", [True, False], ids=["export", "mode"])
def test_unsupported_ops_of_complex_numbers(case, export):
    """By the op and its types, and never by an op of ONNX's."""
    _, inputs, y, ops = case
    with pytest.raises(ptgc.UnsupportedError) as e:
        if export:
            ptgc.compile_onnx(inputs, [y], optimize=False)
        else:
            pytensor.function(inputs, y, mode="ONNX", on_unused_input="ignore")
    text = str(e.value)
    assert len(e.value.problems) == len(ops) and text.count("pairs of real and imaginary parts") == len(ops)
    assert all(op in text for op in ops) and "Gather" not in text and "Concat" not in text


@pytest.mark.parametrize(
    "sizes, n, words",
    [
        ([2, 2, 2], 2, "Length of splits is not equal to n_splits"),
        ([2, 5], 2, "Split sizes do not sum"),
        ([-2, 8], 2, "Split sizes cannot be negative"),
    ],
)
@pytest.mark.parametrize("known", [True, False])
def test_split_sizes(sizes, n, words, known):
    s = pt.lvector("s")
    parts = pt.split(x, sizes if known else s, n_splits=n)
    f = pytensor.function([x, s], parts, mode="ONNX", on_unused_input="ignore")
    with pytest.raises(ValueError, match=words):
        f(np.zeros((6, 4)), sizes)


def test_python_functions_and_sparse_matrices_are_refused():
    function_op = as_op(itypes=[pt.dvector], otypes=[pt.dvector])(lambda a: a)
    m = sparse.csr_matrix("m")
    with pytest.raises(ptgc.UnsupportedError) as e:
        ptgc.compile_onnx([v, m], [function_op(v), sparse.dot(m, v.dimshuffle(0, "x"))])
    text = str(e.value)
    assert "FromFunctionOp" in text and "SparseTensorType" in text and "'m'" in text and "made at" in text


def test_python_line_is_the_users_where_pytensor_calls_through_pythons_library():
    """A batched op is made by a singledispatch function: the line is not one of functools."""
    from pytensor.graph.replace import vectorize_graph

    out = Mystery(3)(v)
    batch = pt.dmatrix("batch")
    many = vectorize_graph(out, {v: batch})  # the batch
    with pytest.raises(ptgc.UnsupportedError) as e:
        ptgc.compile_onnx([batch], [many])
    assert "# the batch" in str(e.value) and "functools" not in str(e.value)


def test_python_line_is_the_users_where_an_installed_package_makes_the_variable(tmp_path, monkeypatch):
    """As PyMC does: its distributions make their variables five calls below the model."""
    package = tmp_path / "site-packages"
    package.mkdir()
    (package / "distributions_.py").write_text("def dist(op, x):\n    return op(x)  # in the package\n")
    monkeypatch.syspath_prepend(str(package))
    from distributions_ import dist

    out = dist(Mystery(3), v)  # in the model
    with pytest.raises(ptgc.UnsupportedError) as e:
        ptgc.compile_onnx([v], [out])
    assert "# in the model" in str(e.value) and "in the package" not in str(e.value)


def test_batches_of_other_lengths_are_a_type_error_as_in_pytensor():
    from pytensor.tensor.blas import BatchedDot

    a, b = pt.dtensor3("a"), pt.dtensor3("b")
    f = function([a, b], BatchedDot()(a, b))
    with pytest.raises(TypeError, match="same size in axis 0"):
        f(np.zeros((2, 3, 4)), np.zeros((5, 4, 3)))
    with pytest.raises(ValueError):
        f(np.zeros((2, 3, 4)), np.zeros((2, 5, 3)))
