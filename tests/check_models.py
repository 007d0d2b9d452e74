"""Reads names of models, one a line: each must pass ONNX's checker and load in ONNX Runtime."""

import sys

import onnx
import onnxruntime


def check(path):
    onnx.checker.check_model(path, full_check=True)
    model = onnx.load(path, load_external_data=False)
    onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def main():
    for path in sys.stdin.read().splitlines():
        name = path.rpartition("/")[2]
        try:
            check(path)
        except Exception as e:  # whatever the checker or the runtime raises is the finding
            print(f"failed: {name}: {e}")
        else:
            print(f"ok: {name}")


main()
