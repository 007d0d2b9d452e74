"""ptgc: PyTensor graphs as .ptg text and as ONNX models, and ONNX Runtime as a PyTensor backend.

    import pytensor, ptgc
    f = pytensor.function([x], y, mode="ONNX")
    ptgc.export_onnx([x], [y], "model.onnx")
    print(ptgc.to_ptg([x], [y]))
"""

from ptgc._extend import register
from ptgc._lib import format_text as format
from ptgc._random import generator_to_words, words_to_generator
from ptgc.api import Model, compile, load
from ptgc.density import Density, compile_density, export_density
from ptgc.errors import CompileError, UnsupportedError
from ptgc.export import Exported, compile_onnx, export_function_onnx, export_onnx, save_ptg, to_ptg
from ptgc.linker import ONNX, ONNXLinker, onnx_mode
from ptgc.predictive import Predictor, compile_predictive, export_predictive
from ptgc.sampling import Sampler, compile_nuts, export_nuts, nuts_graph

__version__ = "0.2.0"
__all__ = [
    "ONNX",
    "CompileError",
    "Density",
    "Exported",
    "Model",
    "ONNXLinker",
    "Predictor",
    "Sampler",
    "UnsupportedError",
    "compile",
    "compile_density",
    "compile_nuts",
    "compile_onnx",
    "compile_predictive",
    "export_density",
    "export_function_onnx",
    "export_nuts",
    "export_onnx",
    "export_predictive",
    "format",
    "generator_to_words",
    "load",
    "nuts_graph",
    "onnx_mode",
    "register",
    "save_ptg",
    "to_ptg",
    "words_to_generator",
]


def __getattr__(name):
    if name == "testing":  # imported when it is first used
        import importlib

        return importlib.import_module("ptgc.testing")
    raise AttributeError(f"module 'ptgc' has no attribute {name!r}")
