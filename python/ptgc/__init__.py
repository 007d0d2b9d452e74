"""ptgc: PyTensor graphs as .ptg text, as ONNX models and as C; ONNX Runtime and C as PyTensor backends.

    import pytensor, ptgc
    f = pytensor.function([x], y, mode="ONNX")
    g = pytensor.function([x], y, mode="NATIVE")
    ptgc.export_onnx([x], [y], "model.onnx")
    ptgc.export_c([x], [y], "model.c")
    print(ptgc.to_ptg([x], [y]))
"""

from ptgc._extend import register
from ptgc._lib import format_text as format
from ptgc._pm_sample import sample
from ptgc._random import generator_to_words, words_to_generator
from ptgc.api import Model, compile, load
from ptgc.density import Density, compile_density, export_density
from ptgc.errors import CompileError, UnsupportedError
from ptgc.export import (
    Exported,
    compile_native,
    compile_onnx,
    export_c,
    export_function_onnx,
    export_onnx,
    save_ptg,
    to_ptg,
)
from ptgc.linker import NATIVE, ONNX, NativeLinker, ONNXLinker, native_mode, onnx_mode
from ptgc.native import NativeFunction
from ptgc.predictive import Predictor, compile_predictive, export_predictive
from ptgc.sampling import Sampler, compile_nuts, export_nuts, nuts_graph
from ptgc.verifying import verify

__version__ = "0.2.0"
__all__ = [
    "NATIVE",
    "ONNX",
    "CompileError",
    "Density",
    "Exported",
    "Model",
    "NativeFunction",
    "NativeLinker",
    "ONNXLinker",
    "Predictor",
    "Sampler",
    "UnsupportedError",
    "compile",
    "compile_density",
    "compile_native",
    "compile_nuts",
    "compile_onnx",
    "compile_predictive",
    "export_c",
    "export_density",
    "export_function_onnx",
    "export_nuts",
    "export_onnx",
    "export_predictive",
    "format",
    "generator_to_words",
    "load",
    "native_mode",
    "nuts_graph",
    "onnx_mode",
    "register",
    "sample",
    "save_ptg",
    "to_ptg",
    "verify",
    "words_to_generator",
]


def __getattr__(name):
    if name == "testing":  # imported when it is first used
        import importlib

        return importlib.import_module("ptgc.testing")
    raise AttributeError(f"module 'ptgc' has no attribute {name!r}")
