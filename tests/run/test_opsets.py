"""Every op that converts, and every example, at all opsets: the model is valid and loads.

An op that an opset cannot say is refused by name; which ones, is written down here.
"""

import re

import onnx
import onnxruntime as ort
import pytest

from files import EXAMPLES, OPS, compile_file, name_of
from harness import QUIET

OPSETS = range(13, 27)

# op -> its lowest opset; the others take all.
LOWEST = {
    "And": 18,  # integers: BitwiseAnd
    "Invert": 18,
    "Or": 18,
    "Fourier": 17,  # DFT
    "IRFFTOp": 17,
    "RFFTOp": 17,
    "Xor": 18,
}


def check_and_load(model):
    m = onnx.load_from_string(model)
    onnx.checker.check_model(m, full_check=True)
    onnx.shape_inference.infer_shapes(m, check_type=True, strict_mode=True, data_prop=True)
    ort.InferenceSession(model, QUIET, providers=["CPUExecutionProvider"])


def refused(said):
    """The message must be about the opset; gives the opset that it asks for."""
    errors = re.findall(r"error: .*", said)
    assert errors and all("[PTG0503]" in e for e in errors), said
    asked = [re.search(r"needs opset (\d+), |newest version: since (\d+)\)", e) for e in errors]
    assert all(asked), said
    return max(int(a[1] or a[2]) for a in asked)


@pytest.mark.parametrize("path", OPS + EXAMPLES, ids=name_of)
def test_all_opsets(path):
    is_op, asked = path in OPS, 13
    for opset in OPSETS:
        model, said = compile_file(path, f"--opset={opset}")
        if said:
            asked = refused(said)
            assert asked > opset, said
            if is_op:
                assert opset < LOWEST.get(path.stem, 13), said
            continue
        assert opset >= asked, f"refused below opset {asked}, but compiles at {opset}"
        if is_op:
            assert opset >= LOWEST.get(path.stem, 13), f"it compiles at opset {opset}: lower its row in LOWEST"
        try:
            check_and_load(model)
        except Exception as e:
            raise AssertionError(f"opset {opset}: {e}") from e


def test_table_names_ops():
    assert not LOWEST.keys() - {p.stem for p in OPS}
