"""Arguments of models on ONNX Runtime: what is no value for an input is refused by its name, and nothing is cut."""

import numpy as np
import onnx
import pytensor
import pytensor.tensor as pt
import pytest

import ptgc
from ptgc._values import EXACT, ROUNDED, SAME, as_input

RANKS = {"float64[]": (), "float64[n]": (None,), "int8[]": (), "int8[n]": (None,), "bool[n]": (None,), "uint64[n]": (None,)}


def models(kind):
    """The same as text and as graph."""
    dtype = kind.partition("[")[0]
    x = pt.tensor("x", dtype=dtype, shape=RANKS[kind])
    yield ptgc.load(f"graph g(x: {kind}) -> (y) {{ y = x }}")
    exported = ptgc.compile_onnx([x], [x.copy()])
    yield lambda v: exported(v)[0]


WRONG = [
    ("float64[]", 1 + 2j), ("float64[]", np.array(1j)), ("float64[]", "1"), ("float64[]", b"1"), ("float64[]", None),
    ("float64[]", np.datetime64("2020-01-01")), ("float64[]", np.timedelta64(3, "D")), ("float64[]", [1.0, 2.0]),
    ("float64[]", np.ones(1)), ("float64[]", (1 << 53) + 1), ("float64[]", np.array(3)), ("float64[n]", [1j]),
    ("float64[n]", np.zeros(2, "datetime64[D]")), ("float64[n]", np.array([1], object)), ("float64[n]", [[1.0], [2.0, 3.0]]),
    ("float64[n]", np.ma.array([1.0, 2.0], mask=[0, 1])), ("float64[n]", 1.0), ("float64[n]", np.ones(2, "float32")),
    ("int8[]", 128), ("int8[]", 1.5), ("int8[]", np.uint8(200)), ("int8[]", np.nan), ("int8[n]", [0, -129]),
    ("int8[n]", np.array([3])), ("uint64[n]", [-1]), ("uint64[n]", [2.0**64]), ("bool[n]", [2]), ("bool[n]", ["True"]),
]  # fmt: skip


@pytest.mark.parametrize("kind, value", WRONG, ids=str)
def test_what_does_not_fit_is_refused_by_name(kind, value):
    for f in models(kind):
        with pytest.raises(TypeError, match="input 'x'"):
            f(value)


RIGHT = [
    ("float64[]", 3), ("float64[]", 1 << 70), ("float64[]", True), ("float64[]", np.float32(0.1)), ("float64[]", np.int8(3)),
    ("float64[n]", [1, 2.5]), ("float64[n]", []), ("float64[n]", np.ones(2, ">f8")), ("float64[n]", np.ma.array([1.0])),
    ("float64[n]", [1 << 70]), ("int8[]", -128), ("int8[]", 2.0), ("int8[n]", [True]), ("bool[n]", [0, 1]),
    ("uint64[n]", [(1 << 64) - 1]),
]  # fmt: skip


@pytest.mark.parametrize("kind, value", RIGHT, ids=str)
def test_numbers_that_the_dtype_holds_are_taken(kind, value):
    for f in models(kind):
        got = f(value)
        assert got.dtype == kind.partition("[")[0] and got.tolist() == np.asarray(value).tolist()


def test_integers_too_large_for_a_float_say_so():
    for f in models("float64[]"):
        with pytest.raises(OverflowError, match="input 'x': 1000"):
            f(10**400)


def test_arrays_in_other_dtypes_as_files_of_models_take_them():
    double, single, integer = map(np.dtype, ("float64", "float32", "int32"))
    for value, dtype in ((np.arange(3), integer), (np.arange(3), double), (np.ones(2), single), (np.array([True]), integer)):
        assert as_input("v", value, dtype, [None], EXACT).tolist() == value.tolist()
        with pytest.raises(TypeError, match="'v' has the dtype"):
            as_input("v", value, dtype, [None], SAME)
    for value, dtype in (
        (np.array([1 << 40]), integer), (np.array([0.5]), integer), (np.array([np.nan]), integer), (np.array([0.1]), single),
        (np.array([(1 << 53) + 1]), double), (np.array([1 << 63], "uint64"), np.dtype("int64")),
        (np.array([2.0**63]), np.dtype("int64")), (np.array([(1 << 63) - 1]), double),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=r"'v' is \w+, which does not hold .* at \[0\] exactly"):
            as_input("v", value, dtype, [None], EXACT)
    assert as_input("v", np.array([0.1, np.inf, np.nan]), single, [None], ROUNDED)[0] == np.float32(0.1)
    for value in (np.array([1e300]), np.array([(1 << 24) + 1])):
        with pytest.raises(TypeError, match="does not hold"):
            as_input("v", value, single, [None], ROUNDED)


def test_a_model_of_float32_takes_float64_but_no_number_beyond_it():
    x = pt.dvector("x")
    f = ptgc.compile_onnx([x], [x * 1], float32=True)
    assert f(np.array([0.1]))[0].dtype == "float32"
    with pytest.raises(TypeError, match="input 'x' is float32, which does not hold 1e[+]300"):
        f(np.array([1e300]))


def test_complex_numbers_for_pairs_alone():
    text = ptgc.load("graph g(x: float64[n, 3], z: complex64[n]) -> (y, w) {\n  y = x\n  w = z * 1\n}\n")
    z = np.array([1 + 2j], "complex64")
    assert text(np.ones((1, 3)), z)[1].tolist() == [[1, 2]] and text(np.ones((1, 3)), [1j])[1].tolist() == [[0, 1]]
    for given, name in (((np.array([1j]), z), "x"), ((np.ones((1, 3)), z.astype("complex128")), "z")):
        with pytest.raises(TypeError, match=f"input '{name}'"):
            text(*given)
    v = pt.tensor("v", dtype="float64", shape=(None, 2))
    with pytest.raises(TypeError, match="'v' has the dtype complex128, expected float64"):
        ptgc.compile_onnx([v], [v + 1])(np.array([1j]))


def test_models_that_others_wrote(tmp_path):
    """ONNX Runtime says the shape of a scalar for one that a model does not say."""
    i = onnx.ValueInfoProto(name="x")
    i.type.tensor_type.elem_type = onnx.TensorProto.DOUBLE
    o = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.DOUBLE, None)
    graph = onnx.helper.make_graph([onnx.helper.make_node("Abs", ["x"], ["y"])], "g", [i], [o])
    opset = [onnx.helper.make_opsetid("", 18)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=opset, ir_version=8), tmp_path / "m.onnx")
    assert ptgc.load(tmp_path / "m.onnx")(-np.ones((2, 2))).tolist() == [[1, 1], [1, 1]]


@pytest.mark.parametrize("mode", ["ONNX", "NATIVE"])
@pytest.mark.parametrize("floatX", ["float32", "float64"])
@pytest.mark.parametrize("options", [{}, {"allow_input_downcast": True}, {"allow_input_downcast": False}, {"strict": True}])
def test_the_modes_take_what_pytensors_function_takes(mode, floatX, options):
    given = [
        3, 0.1, 1e300, True, np.float32(0.1), np.int64(3), np.int64(300), np.array(0.5), np.array(3), 1j, "1", None,
        np.datetime64(3, "D"), [1.0], [[1]], np.array([1.5]), np.array([300]), np.ones(1, "float32"), np.array([1j]),
    ]  # fmt: skip

    def told(f, value):
        try:
            return f(value).tolist()
        except Exception as e:
            return type(e), str(e)

    with pytensor.config.change_flags(floatX=floatX, cxx=""):
        for dtype in ("float64", "float32", "int8"):
            for shape in ((), (None,)):
                x = pt.tensor("x", dtype=dtype, shape=shape)
                spec = pytensor.In(x, **{k: v for k, v in options.items() if k == "strict"})
                rest = {k: v for k, v in options.items() if k != "strict"}
                want, got = (pytensor.function([spec], x[...] * 1, mode=m, **rest) for m in ("FAST_COMPILE", mode))
                for value in given:
                    assert told(got, value) == told(want, value), (dtype, shape, value)
