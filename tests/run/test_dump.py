"""ptgc dump prints models of any origin as text that onnx.parser reads as the same model."""

import os
import subprocess
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
from onnx import TensorProto, helper, numpy_helper

PTGC = Path(__file__).resolve().parents[2] / os.environ.get("PTGC", "build/ptgc")

# a value of each dtype as the fields of TensorProto hold it, and as raw bytes
TYPED = [
    (TensorProto.FLOAT, [1.5, float("inf")]), (TensorProto.DOUBLE, [0.1, -0.0]), (TensorProto.INT64, [-1, 2**63 - 1]),
    (TensorProto.UINT64, [2**64 - 1, 0]), (TensorProto.UINT32, [2**32 - 1, 0]), (TensorProto.INT8, [-128, 127]),
    (TensorProto.BOOL, [True, False]), (TensorProto.STRING, [b'a "b" \\', "ü\n".encode()]), (TensorProto.COMPLEX64, [1 + 2j, -1j]),
    (TensorProto.COMPLEX128, [0.1j, 3]), (TensorProto.FLOAT16, [0.1, -2]), (TensorProto.BFLOAT16, [0.1, -2]),
    (TensorProto.FLOAT8E4M3FN, [0.5, -2]), (TensorProto.INT4, [-8, 7]),
]  # fmt: skip


def dumped(model):
    return subprocess.run([PTGC, "dump", "-"], input=model.SerializeToString(), capture_output=True, check=True).stdout.decode()


def model_of(nodes, inputs, outputs, inits=()):
    graph = helper.make_graph(nodes, "a graph", inputs, outputs, inits)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 3)],
                             ir_version=10, producer_name="test", producer_version="1", domain="d", model_version=7)  # fmt: skip


def test_types_of_values():
    tensor = helper.make_tensor_type_proto(TensorProto.FLOAT, [2, "n", None, "a b"])
    types = [tensor, helper.make_tensor_type_proto(TensorProto.INT4, None), helper.make_sequence_type_proto(tensor),
             helper.make_optional_type_proto(helper.make_sequence_type_proto(tensor)),
             helper.make_map_type_proto(TensorProto.STRING, tensor)]  # fmt: skip
    model = model_of([], [helper.make_value_info(f"x {i}", t) for i, t in enumerate(types)], [])
    helper.set_model_props(model, {"key": "a value", "other": ""})
    assert onnx.parser.parse_model(dumped(model)) == model


def test_constants():
    for raw in (False, True):
        inits = []
        for dtype, values in TYPED:
            t = helper.make_tensor(f"c{dtype}", dtype, [2, 1], values)
            if raw and dtype != TensorProto.STRING:
                t = numpy_helper.from_array(numpy_helper.to_array(t), t.name)
            inits.append(t)
        inits.append(numpy_helper.from_array(np.float32(2), "scalar"))
        inits.append(numpy_helper.from_array(np.zeros((0, 3), np.int32), "empty"))
        inits.append(numpy_helper.from_array(np.zeros(300), "large"))
        external = onnx.TensorProto(name="external", data_type=1, dims=[3], data_location=TensorProto.EXTERNAL)
        for key, value in {"location": "weights.bin", "offset": "4096", "length": "12"}.items():
            external.external_data.add(key=key, value=value)
        read = onnx.parser.parse_model(dumped(model_of([], [], [], [*inits, external]))).graph.initializer
        assert read[-1] == external
        assert [(e.key, e.value) for e in read[-2].external_data] == [("location", "300 elements")]
        for is_, should in zip(read[:-2], inits[:-1], strict=True):
            assert (is_.name, is_.data_type, is_.dims) == (should.name, should.data_type, should.dims)
            if is_.data_location == TensorProto.EXTERNAL:
                assert raw and is_.data_type in (TensorProto.FLOAT8E4M3FN, TensorProto.INT4)
                continue
            a, b = numpy_helper.to_array(is_), numpy_helper.to_array(should)
            assert a.dtype == b.dtype and a.tobytes() == b.tobytes() or a.dtype == object and (a == b).all(), is_


def test_nodes():
    branch = helper.make_graph([helper.make_node("Neg", ["x"], ["y"], domain="")], "inner", [], [helper.make_tensor_value_info("y", 1, None)])
    attributes = {"i": -3, "f": 0.1, "s": 'a "string"\nof lines', "t": helper.make_tensor("", TensorProto.FLOAT, [2], [1, 2]),
                  "is": [1, 2], "fs": [0.5, float("nan")], "ss": ["a", "b"],
                  "tp": helper.make_tensor_type_proto(1, ["n"])}  # fmt: skip
    nodes = [helper.make_node("Unknown", ["x", "", "a/b"], ["1", "", "y z"], domain="my.domain", **attributes),
             helper.make_node("If", ["c"], ["r"], domain="", then_branch=branch, else_branch=branch)]  # fmt: skip
    nodes[0].attribute.append(helper.make_attribute("none", [], attr_type=onnx.AttributeProto.INTS))
    model = model_of(nodes, [], [])
    read = onnx.parser.parse_model(dumped(model))
    assert str(read) == str(model)  # where nan is nan


def test_text_cannot_control_the_terminal():
    model = model_of([helper.make_node("Op", ["\x1b[2J"], ["\x7f"], domain="\x1b", s="\r\x00")], [], [])
    text = dumped(model)
    assert r"\x1b[2J" in text and not any(c < " " and c != "\n" or c == "\x7f" for c in text)


def test_zeros_that_are_not_written():
    model = model_of([helper.make_node("Op", [], ["y"], i=0, f=0.0, s="")], [], [])
    for a in model.graph.node[0].attribute:
        for field in "ifs":
            a.ClearField(field)
    assert [s in dumped(model) for s in ("i: int = 0", "f: float = 0", 's: string = ""')] == [True] * 3
