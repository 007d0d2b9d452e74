"""The printer: what a graph becomes as text, and that the text says the same."""

import numpy as np
import pytensor
import pytensor.scalar as ps
import pytensor.tensor as pt
import pytest
from pytensor.compile.builders import OpFromGraph
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.replace import vectorize_graph
from pytensor.tensor.elemwise import Elemwise

import ptgc
from ptgc import _model, _printer, _text

x, y = pt.dmatrix("x"), pt.dmatrix("y")
v, w = pt.dvector("v"), pt.dvector("w")
t = pt.dtensor3("t")
i, n = pt.lscalar("i"), pt.lscalar("n")
idx = pt.lvector("idx")


def lines(inputs, outputs, **options):
    text = ptgc.to_ptg(inputs, outputs, **options)
    assert text.startswith("ptg 1\n")
    return [line.strip() for line in text.splitlines() if line.startswith("  ")]


def body(outputs, *inputs):
    [line] = lines(list(inputs), outputs)
    return line.removeprefix("out = ")


def test_whole_file():
    s = pt.tanh(x) + 2.5
    s.name = "total"
    assert ptgc.to_ptg([x, v], [s, v.sum()]) == (
        "ptg 1\n\ngraph main(x: float64[?, ?], v: float64[?]) -> (total, out1) {\n"
        "  total = Tanh(x) + 2.5\n"
        "  out1 = Sum(v)\n}\n"
    )


@pytest.mark.parametrize(
    "graph, text",
    [
        (lambda: x.sum(axis=0), "Sum{axis=0}(x)"),
        (lambda: pt.sum(x, dtype="float32"), 'Sum{dtype=float32, acc_dtype=float64}(x)'),
        (lambda: pt.max(x, axis=1), "Max{axis=1}(x)"),
        (lambda: pt.cast(x, "int8"), "Cast{int8}(x)"),
        (lambda: x.T, "x.T"),
        (lambda: (x * y).T, "(x * y).T"),
        (lambda: t.transpose(1, 0, 2), "Transpose{axes=[1, 0, 2]}(t)"),
        (lambda: x.dimshuffle(1, "x", 0), 'DimShuffle{order=[1, "x", 0]}(x)'),
        (lambda: pt.join(1, x, y), "Join{axis=1}(x, y)"),
        (lambda: x[1:n, i], "x[1:n, i]"),
        (lambda: x[::-1], "x[::-1]"),
        (lambda: x[idx], "x[idx]"),
        (lambda: x[1:, idx], "x[1:, idx]"),
        (lambda: x[i].set(v), "x[i].set(v)"),
        (lambda: x[idx].inc(1.0), "x[idx].inc(float32(1))"),
        (lambda: pt.special.softmax(x, axis=1), "Softmax{axis=1}(x)"),
        (lambda: pt.cumsum(x, axis=1), "Cumsum{axis=1}(x)"),
        (lambda: pt.sort(v), 'SortOp{kind="quicksort", axis=0}(v)'),
        (lambda: pt.as_tensor([1.0, 2.5])[i], "(float64([1, 2.5]))[i]"),
    ],
)
def test_ops(graph, text):
    inputs = [a for a in pytensor.graph.traversal.explicit_graph_inputs([graph()])]
    result = body(graph(), *inputs)
    result = result.split(" = ", 1)[-1]
    assert result == text


def test_blockwise():
    a = pt.dtensor3("a")
    [line] = lines([a], pt.linalg.cholesky(a))
    assert 'Blockwise{core_op=Cholesky{lower=True}, signature="(m,m)->(m,m)"}(a)' in line


def test_several_results():
    q, r = pt.linalg.qr(x, mode="reduced")
    fgraph = FunctionGraph([x], [q, r])
    ptgc.ONNX.optimizer.rewrite(fgraph)
    text = ptgc.to_ptg(fgraph)
    assert 'QR{mode="economic", pivoting=False}(x)' in text
    assert ", " in text.split("QR")[0].splitlines()[-1]


def test_names():
    odd = pt.dvector("a b`c")
    word, dtype, greek = pt.dvector("if"), pt.dvector("float32"), pt.dvector("μ")
    text = ptgc.to_ptg([odd, word, dtype, greek], odd + word + dtype + greek)
    assert "graph main(`a b``c`: float64[?], `if`: float64[?], `float32`: float64[?], μ: float64[?])" in text
    assert ptgc.compile(text)


def test_names_given_twice_get_numbers():
    a, b = pt.dvector("a"), pt.dvector("a")
    s = a + b
    s.name = "a"
    text = ptgc.to_ptg([a, b], s)
    assert "a: float64[?], a_2: float64[?]) -> (a_3)" in text


def test_control_characters_in_names():
    text = ptgc.to_ptg([pt.dvector("a\nb")], [pt.constant(1.0)])
    assert "`a b`" in text and ptgc.compile(text)


def test_half_characters_in_names():
    text = ptgc.to_ptg([pt.dvector("a\ud800")], [pt.constant(1.0)])
    assert "main(a\ufffd: " in text and ptgc.compile(text)


def test_long_expressions_get_names():
    e = x
    for _ in range(30):
        e = pt.exp(e) * y
    out = lines([x, y], e)
    assert len(out) > 4 and max(map(len, out)) < 100


def test_deep_graph_is_linear():
    e = v
    for _ in range(20000):
        e = e + w
    text = ptgc.to_ptg([v, w], e)
    assert text.count("+") == 20000


def test_shared_variables_and_large_constants():
    s = pytensor.shared(np.arange(100.0), name="weights")
    text = ptgc.to_ptg([v], [v + s, v * np.arange(50.0)])
    assert 'weights = file("weights")' in text and 'v * file("factor")' in text


def test_compiled_function():
    f = pytensor.function([x], pt.exp(x).sum(), mode="FAST_COMPILE")
    assert "Sum(Exp(x))" in ptgc.to_ptg(f)


def test_types_option():
    text = ptgc.to_ptg([x], pt.exp(x).sum(axis=0), types=True)
    assert "v1: float64[?, ?] = Exp(x)" in text and ptgc.compile(text)


def test_floatx():
    with pytensor.config.change_flags(floatX="float32"):
        assert ptgc.to_ptg([v], v).startswith("ptg 1 floatX=float32\n")


def test_composite_becomes_a_fn():
    a, b = ps.float64("a"), ps.float64("b")
    op = pt.elemwise.Elemwise(ps.Composite([a, b], [a * b + a, a - b]))
    text = ptgc.to_ptg([v, w], op(v, w))
    assert "fn Fused(v1, v2) -> (" in text and "Fused(v, w)" in text
    p, q = ptgc.load(text)(np.array([2.0, 3.0]), np.array([5.0, 7.0]))
    np.testing.assert_array_equal(p, [12, 24])
    np.testing.assert_array_equal(q, [-3, -4])


def test_op_from_graph_becomes_a_fn_once():
    op = OpFromGraph([v, w], [pt.exp(v) - w], name="Shift")
    text = ptgc.to_ptg([v, w], op(op(v, w), w))
    assert text.count("fn ") == 1 and "Shift(Shift(v, w), w)" in text
    np.testing.assert_allclose(ptgc.load(text)([0.0], [1.0]), [0.0])


def test_derivatives_have_the_name_of_what_they_are_of():
    grad = pytensor.grad(pt.logsumexp(x, axis=0).sum(), x)
    assert "fn LogSumExp_grad(" in ptgc.to_ptg([x], grad)
    stacked = pt.dtensor3("stacked")
    assert "fn LogSumExp_grad_batch(" in ptgc.to_ptg([stacked], vectorize_graph(grad, {x: stacked}))


@pytest.mark.parametrize("kind", [pt.sum, pt.prod])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "uint64", "float16", "float32", "float64", "complex64"])
def test_usual_dtypes_of_reductions_are_left_out(kind, dtype):
    """libptgc takes the dtype that PyTensor takes, where the text has none."""
    a = pt.vector("a", dtype=dtype)
    text = ptgc.to_ptg([a], kind(a))
    assert f"out = {kind.__name__.capitalize()}(a)" in text
    value = np.array([1, 1, 0]).astype(dtype)
    got, want = ptgc.load(text)(value), pytensor.function([a], kind(a), mode="FAST_COMPILE")(value)
    assert (got.dtype if got.ndim == 0 else got.view(want.dtype).dtype) == want.dtype
    other = "float64" if dtype == "float32" else "float32" if dtype != "complex64" else "complex128"
    assert f"dtype={other}" in ptgc.to_ptg([a], kind(a, dtype=other))


def test_op_from_graph_does_not_take_the_name_of_an_op():
    op = OpFromGraph([v], [v * 3], name="Exp")
    np.testing.assert_array_equal(ptgc.load(ptgc.to_ptg([v], op(v)))([1.0]), [3.0])


@pytest.mark.parametrize("name", ["Tanh", "Add", "v", "_", "1a", "é", "a b",
    "a`b", "a.b", "onnx.Exp", "loop", "if", "float64", "file", "rank"])
def test_scan_does_not_take_a_name_that_means_something(name):
    out = pytensor.scan(
        lambda a, s: pt.tanh(a) + s * 0.5, sequences=[v], outputs_info=[np.float64(0)], name=name, return_updates=False
    )
    text = ptgc.to_ptg([v], out + pt.tanh(v))
    assert ptgc.format(text) == ptgc.format(ptgc.format(text))
    a = np.array([0.1, 0.2])
    want = np.tanh(a)
    want[1] += 0.5 * want[0]
    np.testing.assert_allclose(ptgc.load(text)(a), want + np.tanh(a), rtol=1e-15)


def test_ifelse():
    from pytensor.conditional.op import ifelse

    a, b = ifelse(i, (v, w), (w + 1, v))
    text = ptgc.to_ptg([i, v, w], [a, b])
    assert "out0, out1 = if i != 0 {" in text
    one, two = ptgc.load(text)(0, np.array([1.0]), np.array([5.0]))
    assert (one, two) == ([6.0], [1.0])


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64", "uint64", "float16", "float32", "float64"])
def test_constants_are_exact(dtype):
    if dtype == "bool":
        values = np.array([True, False, True])
    elif "float" in dtype:
        info = np.finfo(dtype)
        values = np.array(
            [0.0, -0.0, 1, 0.1, 1 / 3, info.max, info.min, info.tiny, info.smallest_subnormal, info.eps, 1e4, 123456,
             np.inf, -np.inf, np.nan], dtype,
        )  # fmt: skip
    else:
        info = np.iinfo(dtype)
        values = np.array([info.min, info.max, 0, 1, 7], dtype)
    for a in (values, values.reshape(1, -1), values[:1], values[0], values[:0], np.repeat(values[-1:], 5)):
        got = ptgc.load(ptgc.to_ptg([], pt.constant(a, dtype=dtype)))()
        assert got.dtype == a.dtype and got.shape == a.shape and got.tobytes() == a.tobytes()


def test_random_float_constants_are_exact(rng):
    bits = rng.integers(0, 2**64, 300, dtype="uint64")
    for a in (bits.view("float64"), bits.astype("uint32").view("float32"), bits.astype("uint16").view("float16")):
        text = "\n".join(f"  o{k} = {_text.constant(a[k])}" for k in range(len(a)))
        names = ", ".join(f"o{k}" for k in range(len(a)))
        got = ptgc.load(f"graph g() -> ({names}) {{\n{text}\n}}\n")()
        assert np.array(got).tobytes() == a.tobytes()


def test_nan_payloads():
    a = np.array([0x7FF8000000000001, 0x7FF8000000000000], "uint64").view("float64")
    assert "bytes(" in _text.constant(a)
    got = ptgc.load(ptgc.to_ptg([], pt.constant(a)))()
    assert got.tobytes() == a.tobytes()


def test_format_is_a_fixed_point():
    e = pt.tanh(x @ y) + v
    once = ptgc.format(ptgc.to_ptg([x, y, v, n], [e, x[1:n].sum()]))
    assert ptgc.format(once) == once


def test_places_of_lines():
    inner = pt.exp(v)
    out = pt.log(inner) + pt.sin(w)
    text = _printer.print_graph([v, w], [out])
    number = next(k for k, line in enumerate(text.text.splitlines(), 1) if "Log" in line)
    line = text.line(number)
    assert text.variable(number, line.index("Exp") + 1) is inner
    assert text.variable(number, line.index("Sin") + 1).owner.op == pt.sin
    assert text.variable(number, line.index("+") + 1) is out
    assert text.lines[number] is out
    assert text.variable(1) is None


def test_places_inside_of_fns_and_ifs():
    from pytensor.conditional.op import ifelse

    op = OpFromGraph([v], [pt.exp(v) + 1], name="F")
    z = ifelse(i, op(v), w)
    after = pt.log(z)
    text = _printer.print_graph([i, v, w], [after])
    rows = text.text.splitlines()
    for k, row in enumerate(rows, 1):
        if "Exp" in row:
            assert "Exp" in str(text.variable(k, row.index("Exp") + 1).owner.op).capitalize()
        if "Log" in row:
            assert text.variable(k, row.index("Log") + 1) is after
        if row.strip().startswith("} else"):
            assert text.variable(k) is z


def test_scalar_ops_of_other_dtypes():
    """An instance of an op can have a name and a dtype rule of its own."""
    x, y = pt.vector("x", dtype="int8"), pt.vector("y", dtype="int8")
    assert "x + y" in ptgc.to_ptg([x, y], Elemwise(ps.Add(ps.upcast_out, name="mul"))(x, y))
    assert "x + y" in ptgc.to_ptg([x, y], Elemwise(ps.Add(ps.specific_out(ps.int8)))(x, y))
    less = ps.LT()
    less.bool = False
    with pytensor.config.change_flags(floatX="float32"):
        quotient = x / y
    for out in (
        Elemwise(ps.Add(ps.upgrade_to_float))(x, y),
        Elemwise(ps.Second(ps.specific_out(ps.float32)))(x, y),
        Elemwise(less)(x, y),
        quotient,
    ):
        with pytest.raises(ptgc.UnsupportedError, match=f"it gives {out.dtype}, by a dtype rule"):
            ptgc.to_ptg([x, y], out)


def test_scalars_of_squeezed_matrices_in_models():
    """later_axes() of _model.py looks at DimShuffles that leave no axis, too."""
    m = pt.tensor("m", dtype="float64", shape=(1, 1))
    [out] = _model.merged([pt.exp(m.dimshuffle())])
    assert out.eval({m: np.zeros((1, 1))}) == 1


def test_data_is_for_models():
    v = pt.dvector("v")
    with pytest.raises(TypeError, match="data is for a PyMC model"):
        ptgc.to_ptg([v], v + 1, data="constants")


def test_constants_are_called_after_what_they_are():
    x, i = pt.dmatrix("x"), pt.lvector("i")
    big = lambda *shape: np.arange(float(np.prod(shape))).reshape(shape)  # noqa: E731
    hidden = pt.tanh(x @ big(30, 40) + big(40))
    hidden.name = "hidden"
    rows = pt.as_tensor(big(50, 40))[i]
    out = pt.switch(big(40) > 3, hidden - big(40) * 2, rows.sum())
    text = ptgc.to_ptg([x, i], [out, hidden[np.arange(30) % 2]])
    for name in ("hidden_weight", "hidden_offset", "mask", "data", "table", "index"):
        assert f'file("{name}")' in text, text
