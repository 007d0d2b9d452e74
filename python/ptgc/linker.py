"""ONNX Runtime as a PyTensor linker, and the mode "ONNX" built on it."""

import importlib

import numpy as np
from pytensor.compile.mode import Mode, predefined_modes, register_linker, register_mode
from pytensor.compile.rewriting import functional_rewrite_ofg_inner_graph, rewrite_ofg_inner_graph
from pytensor.graph.rewriting.db import RewriteDatabaseQuery
from pytensor.link.basic import JITLinker
from pytensor.scalar.basic import ScalarType

from ptgc import _lib
from ptgc._printer import print_graph
from ptgc.runtime import make_session, runtime_error

# What the graph should look like when it gets here, and why: fusion would hide ops in composites,
# inline_ofg would take Softmax and its like apart, in-place ops and BLAS calls mean nothing to ONNX.
INCLUDE = ["fast_run", "lazy_ifelse", "scan_save_mem_no_prealloc", "alloc_empty_to_zeros", "bool_idx_to_nonzero"]
EXCLUDE = ["fusion", "inline_ofg", "local_pow_to_nested_squaring"]


class OnnxCallable:
    """The compiled graph: arrays in, arrays out."""

    def __init__(self, text, compiled, session, names, scalars):
        self.text = text  # of the graph, as .ptg
        self.model = compiled.model
        self.session = session
        self.names = names
        self.outputs = [o.name for o in session.get_outputs()]
        self.scalars = scalars  # positions of inputs that PyTensor keeps as NumPy scalars
        self.run = session.run

    def __call__(self, *args):
        if self.scalars:
            args = list(args)
            for i in self.scalars:
                args[i] = np.asarray(args[i])
        try:
            return self.run(self.outputs, dict(zip(self.names, args)))
        except Exception as e:
            raise runtime_error(e, self.text) from None


class ONNXLinker(JITLinker):
    """Compiles a FunctionGraph to one ONNX model and runs it on ONNX Runtime.

    opset: 13 to 26. session_options: an onnxruntime.SessionOptions. providers: names of execution
    providers, in order.
    """

    required_rewrites = ("minimum_compile",)
    incompatible_rewrites = (
        "cxx_only",
        "BlasOpt",
        "fusion",
        "inplace",
        "local_careduce_fusion",
        "scan_reduce_trace_prealloc",
        "reuse_decomposition_multiple_solves",
        "scan_split_non_sequence_decomposition_and_solve",
    )

    def __init__(self, *args, opset=18, session_options=None, providers=None, **kwargs):
        super().__init__(*args, **kwargs)
        self.opset = opset
        self.session_options = session_options
        self.providers = providers

    def fgraph_convert(self, fgraph, order=None, input_storage=None, output_storage=None, storage_map=None, **kwargs):
        graph = print_graph(fgraph.inputs, fgraph.outputs, name="function")
        compiled = _lib.compile_text(
            graph.text, tensors=graph.tensors, opset=self.opset, file_name="<function>",
            external_name="weights", flags=["Wno-unused"],
        )  # fmt: skip
        session = make_session(compiled, self.session_options, self.providers)
        scalars = [i for i, v in enumerate(fgraph.inputs) if isinstance(v.type, ScalarType)]
        return OnnxCallable(graph, compiled, session, graph.inputs, scalars)

    def create_thunk_inputs(self, storage_map):
        return [storage_map[v] for v in self.fgraph.inputs]

    def jit_compile(self, fn):
        return fn


def register():
    """Registers the linker and the mode; importing ptgc calls it."""
    scan = importlib.import_module("pytensor.scan.rewriting.inner_graph")
    rewrite_ofg_inner_graph.register(ONNXLinker)(functional_rewrite_ofg_inner_graph)
    scan.rewrite_scan_inner_graph.register(ONNXLinker)(scan.functional_rewrite_scan_inner_graph)
    if "ONNX" not in predefined_modes:
        register_linker("onnx", ONNXLinker())
        register_mode("ONNX", Mode(ONNXLinker(), RewriteDatabaseQuery(include=INCLUDE, exclude=EXCLUDE)))
    return predefined_modes["ONNX"]


ONNX = register()
