"""Raw ONNX nodes that make no sense are refused by the compiler, not by the checker or the runtime: ONNX's
own examples of its operators, with an input of another rank or none, or an attribute of another value. What
the compiler takes has to pass onnx.checker and strict inference and to load in ONNX Runtime. And infix operators
of a file that says infix=onnx.
"""
import time
import types
import warnings

import numpy as np
import onnx
import onnxruntime as ort
import pytest

import ptg
import ptgc
from harness import QUIET, check_model

DTYPES = {onnx.helper.np_dtype_to_tensor_dtype(np.dtype(t)): t for t in (
    "float32 uint8 int8 uint16 int16 int32 int64 bool float16 float64 uint32 uint64 complex64 complex128".split())}
OPSETS = (26, 18, 13)
PLAIN = (onnx.AttributeProto.INT, onnx.AttributeProto.FLOAT, onnx.AttributeProto.STRING, onnx.AttributeProto.INTS,
         onnx.AttributeProto.FLOATS)


def examples():
    """The first example of each operator whose inputs are tensors and whose attributes are numbers and words:
    {operator: (inputs, attributes, number of results)}; an input is None, ("constant", array) or (dtype, dims)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        cases = collect_testcases(None)
    found = {}
    for case in cases:
        (node, *more), graph = case.model.graph.node, case.model.graph
        data = dict(zip([i.name for i in graph.input], case.data_sets[0][0])) if case.data_sets else {}
        arrays = [data.get(name) if name else None for name in node.input]
        usable = all(a is None if not name else isinstance(a, np.ndarray) and str(a.dtype) in DTYPES.values()
                     for name, a in zip(node.input, arrays))
        if more or node.domain or not usable or any(a.type not in PLAIN for a in node.attribute):
            continue
        inputs = [None if a is None
                  else ("constant", a) if a.dtype == np.int64 and a.ndim <= 1 and a.size <= 16
                  else (str(a.dtype), list(a.shape)) for a in arrays]
        attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        new = inputs, attributes, len(node.output)
        if node.op_type not in found or len(attributes) > len(found[node.op_type][1]):
            found[node.op_type] = new
    return found


def number(x):
    return str(bool(x)) if isinstance(x, (bool, np.bool_)) else repr(float(x)) if isinstance(x, float) else str(int(x))


def written(value):
    if isinstance(value, bytes):
        return '"' + value.decode() + '"'
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return "[" + ", ".join(map(written, value)) + "]" if isinstance(value, (list, tuple)) else number(value)


def program(op, inputs, attributes, results):
    params, args = [], []
    for i, x in enumerate(inputs):
        if x is None:
            args.append("None")
        elif x[0] == "constant":
            a = np.asarray(x[1])
            args.append(f"{a.dtype}({written(a)})" if a.size else f"{a.dtype}[{', '.join(map(str, a.shape))}](0)")
        else:
            params.append(f"x{i}: {x[0]}[{', '.join(map(str, x[1]))}]")
            args.append(f"x{i}")
    props = ", ".join(f"{k}={written(v)}" for k, v in attributes.items())
    names = ", ".join(f"y{i}" for i in range(results))
    return (f"graph g({', '.join(params)}) -> ({names}) {{\n"
            f"  {names} = onnx.{op}{'{' + props + '}' if props else ''}({', '.join(args)})\n}}\n")


def wrong_inputs(inputs):
    for i, x in enumerate(inputs):
        if x is None:
            continue
        others = [None]
        if x[0] == "constant":
            others += [("constant", x[1][None]), ("constant", np.float32(x[1]))]
            others += [("constant", x[1][:-1])] if x[1].ndim else []
        else:
            dtype, dims = x
            others += [(dtype, [1, *dims]), (dtype, [*dims, 2]), (dtype, []), (dtype, dims[1:])]
            others += [(dtype, [n + 1 if k == j else n for k, n in enumerate(dims)]) for j in range(len(dims))]
        for other in others:
            yield [other if k == i else y for k, y in enumerate(inputs)]


def wrong_attributes(attributes):
    for name, value in attributes.items():
        yield {k: v for k, v in attributes.items() if k != name}
        others = ([b"bogus", 1] if isinstance(value, bytes) else [99, -99, 0] if isinstance(value, int)
                  else [-1.0, b"x"] if isinstance(value, float)
                  else [[*value, 1], [-1] * len(value), [99] * len(value), 3])
        for other in others:
            yield {**attributes, name: other}


@pytest.mark.parametrize("opset", OPSETS)
def test_what_is_taken_loads(opset):
    start, taken, refused, wrong = time.monotonic(), 0, 0, []
    for op, (inputs, attributes, results) in sorted(examples().items()):
        nodes = [(inputs, attributes, n) for n in range(1, results + 2)]
        nodes += [(i, attributes, results) for i in wrong_inputs(inputs)]
        nodes += [(inputs, a, results) for a in wrong_attributes(attributes)]
        for node in nodes:
            text = program(op, *node)
            try:
                model = ptgc.compile(text, opset=opset, flags=["Wno-unused"])
            except ptgc.CompileError as e:
                refused += 1
                assert ": error: " in str(e), text
                continue
            taken += 1
            try:
                check_model(model)
                ort.InferenceSession(model, QUIET, providers=["CPUExecutionProvider"])
            except Exception as e:  # noqa: BLE001 - each of them has its own
                wrong.append(f"{text}{e}\n")
    assert taken > 200 and refused > 800
    assert not wrong, f"{len(wrong)} of {taken} taken\n" + "\n".join(wrong[:20])
    assert time.monotonic() - start < 200


INFIX = [  # in a file with infix=onnx; the same in calls; the same in NumPy
    ("i / j", "onnx.Div(i, j)", lambda v: np.trunc(v.i / v.j).astype("int64")),
    ("i % j", "onnx.Mod(i, j)", lambda v: v.i % v.j),
    ("x % y", "onnx.Mod{fmod=1}(x, y)", lambda v: np.fmod(v.x, v.y)),
    ("x % -0.75", "onnx.Mod{fmod=1}(x, -0.75)", lambda v: np.fmod(v.x, np.float32(-0.75))),
    ("2 ** x - x ** 2", "onnx.Sub(onnx.Pow(2, x), onnx.Pow(x, 2))", lambda v: 2 ** v.x - v.x ** 2),
    ("-(x * w + 0.1)", "onnx.Neg(onnx.Add(onnx.Mul(x, w), 0.1))", lambda v: -(v.x * v.w + np.float32(0.1))),
    ("x @ onnx.Transpose(y)", "onnx.MatMul(x, onnx.Transpose(y))", lambda v: v.x @ v.y.T),
    ("i != j", "onnx.Not(onnx.Equal(i, j))", lambda v: v.i != v.j),
    ("x == y", "onnx.Equal(x, y)", lambda v: v.x == v.y),
    ("(x < y) ^ (x >= 0)", "onnx.Xor(onnx.Less(x, y), onnx.GreaterOrEqual(x, 0))", lambda v: (v.x < v.y) ^ (v.x >= 0)),
    ("~(x > 1) & (x <= y) | False", "onnx.Or(onnx.And(onnx.Not(onnx.Greater(x, 1)), onnx.LessOrEqual(x, y)), False)",
     lambda v: ~(v.x > 1) & (v.x <= v.y)),
    ("i & 6 | ~j ^ 1", "onnx.BitwiseOr(onnx.BitwiseAnd(i, 6), onnx.BitwiseXor(onnx.BitwiseNot(j), 1))",
     lambda v: v.i & 6 | ~v.j ^ 1),
    ("i * n - n / 2", "onnx.Sub(onnx.Mul(i, n), onnx.Div(n, 2))", lambda v: v.i * 3 - 1),
]


@pytest.mark.parametrize("infix, calls, expected", INFIX, ids=[row[0] for row in INFIX])
def test_infix_operators_mean_those_of_onnx(infix, calls, expected):
    graph = """graph g(x: float32[n, 2], y: float32[n, 2], w: float32[1, 2], i: int64[n], j: int64[n]) -> (z) {{
  z = {}
}}
"""
    v = types.SimpleNamespace(
        x=np.array([[1.5, -2.25], [np.nan, 0], [-0.5, 7]], "float32"),
        y=np.array([[1, -2], [3, -0.5], [2, 7]], "float32"),
        w=np.array([[3, -4]], "float32"), i=np.array([7, -7, 5]), j=np.array([2, 2, -3]))
    model = ptg.compile("ptg 1 infix=onnx\n" + graph.format(infix))
    same, called = (onnx.printer.to_text(onnx.load_model_from_string(m)) for m in (model, ptg.compile(graph.format(calls))))
    assert same == called
    result, want = ptg.run(model, *vars(v).values()), expected(v)
    assert result.dtype == want.dtype
    np.testing.assert_allclose(result, want, rtol=1e-6)


def test_results_without_a_name():
    """TopK has two results, whether the user names the second one or not."""
    x = np.array([3.0, 9, 4])
    got, some = ptg.run("graph g(x: float64[3]) -> (y, z) { y = onnx.TopK(x, [2]) + 1\n z = onnx.TopK(-x, [1]) }", x)
    assert got.tolist() == [10, 5] and some.tolist() == [-3]


@pytest.mark.parametrize("target, version", [("ort-cpu", 5), ("ort-web", 5), ("onnx", 5), ("portable", 4)])
def test_label_encoders_name_the_version_of_ai_onnx_ml_that_the_target_has(target, version):
    """Of version 1, which every other domain gets, ONNX Runtime takes no keys_int64s."""
    text = """graph g(s: string[n], k: int64[m]) -> (i, t) {
  i: int64[n] = ai.onnx.ml.LabelEncoder{keys_strings=["cat", "dog"], values_int64s=[3, 4], default_int64=-1}(s)
  t: string[m] = ai.onnx.ml.LabelEncoder{keys_int64s=[3, 4], values_strings=["cat", "dog"], default_string="none"}(k)
}"""
    model = ptgc.compile(text, target=target)
    imports = {i.domain: i.version for i in onnx.load_from_string(model).opset_import}
    assert imports["ai.onnx.ml"] == version
    session = ort.InferenceSession(model, QUIET)
    i, t = session.run(None, {"s": np.array(["dog", "x", "cat"], object), "k": np.array([4, 3, 9])})
    assert i.tolist() == [4, -1, 3] and t.tolist() == ["dog", "cat", "none"]


def test_versions_of_ai_onnx_ml_and_strings():
    """The header or ml_opset chooses the version; strings of a text are constants of the model."""
    text = """ptg 1 ai.onnx.ml=4
graph g(x: float32[n, 2], s: string[n]) -> (y, known, both, longer) {
  y: float32[n, 1] = ai.onnx.ml.LinearRegressor{coefficients=[1.0, 2.0], intercepts=[0.5]}(x)
  known = onnx.Equal(s, ["cat"])
  both = string(["cat", "dög"])
  longer = onnx.StringConcat(s, "!")
}"""
    for ml_opset, version in ((None, 4), (2, 2)):
        model = ptgc.compile(text, opset=20, ml_opset=ml_opset)
        check_model(model)
        assert {i.domain: i.version for i in onnx.load_from_string(model).opset_import}["ai.onnx.ml"] == version
    x, s = np.array([[1, 2], [3, 4]], "float32"), np.array(["cat", "a"], object)
    y, known, both, longer = ort.InferenceSession(model, QUIET).run(None, {"x": x, "s": s})
    assert y.tolist() == [[5.5], [11.5]] and known.tolist() == [True, False]
    assert both.tolist() == ["cat", "dög"] and longer.tolist() == ["cat!", "a!"]
    with pytest.raises(ptgc.CompileError, match="ended with version 4 .* --opset=ai.onnx.ml:4"):
        ptgc.compile("graph g(x: float32[n, 2]) -> (y) { y: float32[n, 1] = ai.onnx.ml.TreeEnsembleRegressor(x) }")
    with pytest.raises(ValueError, match="ml_opset 6: expected 1 to 5"):
        ptgc.compile("graph g(x: int8[]) -> (y) { y = x + 1 }", ml_opset=6)
