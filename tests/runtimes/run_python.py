"""The driver of runtimes in Python. Usage: run_python.py ENGINE CASES RESULTS < lines of cases.txt

ENGINE: onnxruntime, reference (ONNX's own evaluator), openvino or onnx2torch.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
from cases import read_tensors, write_tensors


def onnxruntime():
    import onnxruntime as ort

    def load(path):
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        # see page.md
        options.enable_mem_pattern = tuple(map(int, ort.__version__.split(".")[:2])) > (1, 18)
        session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        names = [o.name for o in session.get_outputs()]
        return lambda feed: dict(zip(names, session.run(names, feed)))

    return f"ONNX Runtime {ort.__version__} (Python)", load


def reference():
    import onnx
    from onnx.reference import ReferenceEvaluator

    def load(path):
        evaluator = ReferenceEvaluator(str(path))
        return lambda feed: dict(zip(evaluator.output_names, evaluator.run(None, feed)))

    return f"ONNX's reference evaluator {onnx.__version__}", load


def openvino():
    import openvino as ov

    core = ov.Core()

    def load(path):
        # as exact as the others: else it computes in bfloat16 where the processor can
        model = core.compile_model(str(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        return lambda feed: {o.get_any_name(): np.array(v) for o, v in model({k: np.array(v) for k, v in feed.items()}).items()}

    return f"OpenVINO {ov.__version__.split('-')[0]}", load


def onnx2torch():
    from importlib.metadata import version

    import onnx
    import torch
    from onnx2torch import convert

    def load(path):
        model = onnx.load(path)
        names, outputs = [i.name for i in model.graph.input], [o.name for o in model.graph.output]
        module = convert(model).eval()

        def run(feed):
            with torch.no_grad():
                got = module(*(torch.from_numpy(np.array(feed[n])) for n in names))
            return dict(zip(outputs, [x.numpy() for x in (got if isinstance(got, list | tuple) else [got])]))

        return run

    return f"onnx2torch {version('onnx2torch')}, PyTorch {version('torch')}", load


def first_line(e):
    return " ".join(f"{type(e).__name__}: {e}".split())[:300]


def main(engine, cases, results):
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    cases, results = Path(cases), Path(results)
    version, load = {f.__name__: f for f in (onnxruntime, reference, openvino, onnx2torch)}[engine]()
    (results / "version").write_text(version)
    loaded, run = None, None
    for line in sys.stdin:
        name, model = line.split()
        failed = "load"
        try:
            if model != loaded:
                loaded, run = None, None
                run, loaded = load(cases / model), model
            failed = "run"
            outputs = [(k, np.asarray(v)) for k, v in run(read_tensors(cases / name, ".in")).items()]
            write_tensors(results / name, ".out", outputs)
        except Exception as e:
            (results / f"{name}.out").write_text(f"{failed} {first_line(e)}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
