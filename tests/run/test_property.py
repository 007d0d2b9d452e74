"""Random graphs of 1 to 30 ops, of all dtypes, with known and unknown dims and axes of length 0 and 1: what
they give is what PyTensor's Python code gives, by way of text and by way of mode="ONNX", at each level of numerics.

PTGC_EXAMPLES=10000 runs more than the 300 of `make check`; PTGC_SEED=n other ones.
"""

import os
import re

import numpy as np
import onnx
import onnxruntime as ort
import pytensor
from evaluated import Evaluated
from graphs import Graph
from harness import QUIET, check_model
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import ptgc
from ptgc import _lib
from ptgc._printer import print_graph

EXAMPLES, SEED = int(os.environ.get("PTGC_EXAMPLES", "300")), os.environ.get("PTGC_SEED")

# A smaller graph that fails too takes minutes to find: PTGC_SHRINK=1.
PHASES = [Phase.explicit, Phase.generate] + [Phase.shrink] * bool(os.environ.get("PTGC_SHRINK"))

# What may be refused, and why.
REFUSED = {
    r"\bIncSubtensor: uint64 cannot be added into int": 99,  # NumPy does that to single elements only, by float64
    # How long what Unique, Nonzero or a mask give of constants is: the runtime works it out when it loads the
    # model, and where it does not fit refuses the model as a whole. (PyTensor's rewrites make a constant of most.)
    "constants alone decide that": 99,
}


def refused(error, opset):
    text = str(error)
    return any(re.search(pattern, text) and opset < below for pattern, below in REFUSED.items())


def sinks(graph):
    """Values that no op reads, and some that one does."""
    read = {v for o in graph.pool if o.owner for v in o.owner.inputs}
    last = [v for v in graph.pool if v.owner is not None and v not in read]
    return last + [v for v in graph.pool if v.owner is not None and v in read and not graph.pick(4)]


def drawn(numbers, math):
    graph = Graph(lambda n: numbers.randrange(n) if n > 1 else 0, math)
    for _ in range(1 + graph.pick(3)):
        graph.input()
    for _ in range(1 + graph.pick(30)):
        graph.add()
    return graph, sinks(graph)


def by_text(graph, outputs, opset):
    text = print_graph(graph.inputs, outputs)
    assert _lib.format_text(text.text) == text.text
    model = _lib.compile_text(text.text, tensors=text.tensors, opset=opset, math=graph.math, flags=["Wno-unused"]).model
    try:
        check_model(model)
    except onnx.shape_inference.InferenceError as e:
        # Where onnx works out values it takes a vector that Unsqueeze made a matrix of for a vector still,
        # and wants no wraparound.
        if not re.search("Invalid rank for|op_type:Gather.*indices must be in|overflow in .* during data", str(e)):
            raise
        onnx.shape_inference.infer_shapes(onnx.load_from_string(model), check_type=True, strict_mode=True)
    session = ort.InferenceSession(model, QUIET, providers=["CPUExecutionProvider"])
    got = session.run(None, {n: graph.value(v) for n, v in zip(text.inputs, graph.inputs)})
    for k, (g, v) in enumerate(zip(got, outputs, strict=True)):
        graph.all.compare(v, g, f"output {k}")


def by_mode(graph, outputs, opset):
    f = pytensor.function(graph.inputs, outputs, mode=ptgc.onnx_mode(opset=opset, math=graph.math), on_unused_input="ignore")
    fgraph, again = f.maker.fgraph, Evaluated(graph.math)
    for v, x in zip(fgraph.inputs, graph.inputs, strict=True):
        again.set(v, graph.value(x))
    try:
        with np.errstate(all="ignore"):
            again.run(fgraph.outputs)
    except Exception:
        return  # PyTensor's rewrites made a graph that its own code refuses to compute (a stretched x for Alloc(x))
    got = f(*[graph.value(v) for v in graph.inputs])
    for k, (g, v) in enumerate(zip(got, fgraph.outputs, strict=True)):
        again.compare(v, np.asarray(g), f"output {k}")


def examples(way, share, math="exact"):
    def test(numbers):
        graph, outputs = drawn(numbers, math)
        if not outputs:
            return
        opset = 13 + graph.pick(14)
        try:
            way(graph, outputs, opset)
        except Exception as e:
            if isinstance(e, ptgc.CompileError | ptgc.UnsupportedError) and refused(e, opset):
                return
            shown = "\n".join(f"{v} {v.type} = {graph.value(v)!r}" for v in graph.inputs)
            raise AssertionError(f"opset {opset}, {math}: {e}\n{shown}\n{print_graph(graph.inputs, outputs).text}") from e

    test = given(st.randoms(use_true_random=False))(test)
    test = seed(int(SEED))(test) if SEED else test
    return settings(
        max_examples=max(1, int(EXAMPLES * share)), derandomize=SEED is None, deadline=None, database=None,
        suppress_health_check=list(HealthCheck), print_blob=False, phases=PHASES,
    )(test)  # fmt: skip


test_by_text = examples(by_text, 0.7)
test_by_mode = examples(by_mode, 0.2)
test_standard = examples(by_text, 0.15, "standard")
test_standard_by_mode = examples(by_mode, 0.05, "standard")
test_native = examples(by_text, 0.1, "native")
