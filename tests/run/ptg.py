"""Compiles .ptg text with build/ptgc and runs the model on ONNX Runtime."""
import functools
import os
import subprocess

import numpy as np
import onnx
import onnxruntime as ort

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PTGC = os.environ.get("PTGC", os.path.join(ROOT, "build", "ptgc"))


@functools.lru_cache(maxsize=None)
def compile(text, opset=18, target="ort-cpu", options=(), math="exact"):
    """The model's bytes; checked as every emitted model must be."""
    run = subprocess.run(
        [PTGC, f"--opset={opset}", f"--target={target}", f"--math={math}", *options, "-", "-o", "-"],
        input=text.encode(), capture_output=True)
    assert run.returncode == 0, run.stderr.decode()
    model = onnx.load_model_from_string(run.stdout)
    onnx.checker.check_model(model, full_check=True)
    onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
    return run.stdout


@functools.lru_cache(maxsize=64)
def session(model, level="all"):
    so = ort.SessionOptions()
    so.intra_op_num_threads = 1
    so.log_severity_level = 3
    so.graph_optimization_level = {
        "all": ort.GraphOptimizationLevel.ORT_ENABLE_ALL,
        "none": ort.GraphOptimizationLevel.ORT_DISABLE_ALL,
    }[level]
    return ort.InferenceSession(model, so, providers=["CPUExecutionProvider"])


def run(model, *inputs, level="all", **options):
    """Outputs of a model (bytes, or text to compile) for inputs in order. One output comes alone."""
    if isinstance(model, str):
        model = compile(model, **options)
    s = session(model, level)
    out = s.run(None, {i.name: np.asarray(x) for i, x in zip(s.get_inputs(), inputs, strict=True)})
    return out[0] if len(out) == 1 else out


def nodes(model):
    """Number of nodes, those of subgraphs included."""
    def count(graph):
        return sum(1 + sum(count(a.g) for a in n.attribute if a.type == onnx.AttributeProto.GRAPH)
                   for n in graph.node)
    return count(onnx.load_model_from_string(model).graph)


def loops(model):
    """How many Loops and Scans, those of subgraphs included"""
    def count(graph):
        return sum((n.op_type in ("Loop", "Scan")) + sum(count(a.g) for a in n.attribute if a.type == onnx.AttributeProto.GRAPH)
                   for n in graph.node)
    return count(onnx.load_model_from_string(model).graph)


def same_at_all_levels(model, want, args, message, **close):
    """The model gives these results, with ONNX Runtime's optimizations and without."""
    for level in ("all", "none"):
        for g, w in zip(run(model, *args, level=level), want, strict=True):
            assert g.shape == w.shape and g.dtype == w.dtype
            np.testing.assert_allclose(g, w, **close, err_msg=message)
