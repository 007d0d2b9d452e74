"""Puts models through a tool that deployers use. Usage: transform.py TOOL CASES RESULTS < lines of cases.txt

Writes RESULTS/FILE.onnx (or .ort) for each model and, where the tool fails, FILE.error. "version" is the tool's.
"""

import sys
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
import onnx
from cases import read_tensors


def onnxslim(model, feeds, out):
    import onnxslim

    onnx.save(onnxslim.slim(model), out)


def onnxsim(model, feeds, out):
    import onnxsim

    simple, ok = onnxsim.simplify(model)
    if not ok:
        raise RuntimeError("its own check fails")
    onnx.save(simple, out)


def float16(model, feeds, out):
    from onnxruntime.transformers.float16 import convert_float_to_float16

    onnx.save(convert_float_to_float16(model, keep_io_types=True), out)


def dynamic(model, feeds, out):
    from onnxruntime.quantization import quantize_dynamic

    quantize_dynamic(model, out)


def static(model, feeds, out):
    import onnxruntime as ort
    from onnxruntime.quantization import CalibrationDataReader, quantize_static

    def usable(feed):
        """has elements, and the model takes it"""
        try:
            return all(a.size for a in feed.values()) and session.run(None, feed)
        except Exception:
            return False

    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])

    class Reader(CalibrationDataReader):
        left = filter(usable, feeds)

        def get_next(self):
            return next(self.left, None)

    quantize_static(model, out, Reader())


def ort_format(model, feeds, out):
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(out)
    options.add_session_config_entry("session.save_model_format", "ORT")
    ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


PACKAGES = {"onnxslim": "onnxslim", "onnxsim": "onnxsim"}


def main(tool, cases, results):
    warnings.simplefilter("ignore")
    cases, results = Path(cases), Path(results)
    package = PACKAGES.get(tool, "onnxruntime")
    names = {"dynamic": "quantize_dynamic of onnxruntime", "static": "quantize_static of onnxruntime",
             "ort_format": "ORT format of onnxruntime", "float16": "convert_float_to_float16 of onnxruntime"}  # fmt: skip
    (results / "version").write_text(f"{names.get(tool, tool)} {version(package)}")
    by_model = {}
    for line in sys.stdin:
        case, model = line.split()
        by_model.setdefault(model, []).append(case)
    for model, names in by_model.items():
        feeds = [read_tensors(cases / n, ".in") for n in names]
        out = results / (model.removesuffix(".onnx") + (".ort" if tool == "ort_format" else ".onnx"))
        try:
            globals()[tool](onnx.load(cases / model), feeds, out)
        except BaseException as e:  # noqa: B036  a tool may call sys.exit()
            (results / f"{model}.error").write_text(" ".join(f"{type(e).__name__}: {e}".split())[:300])


if __name__ == "__main__":
    np.seterr(all="ignore")
    main(*sys.argv[1:])
