"""ptgc: PyTensor graphs as .ptg text and as ONNX models, and ONNX Runtime as a PyTensor backend.

    import pytensor, ptgc
    f = pytensor.function([x], y, mode="ONNX")
    ptgc.export_onnx([x], [y], "model.onnx")
    print(ptgc.to_ptg([x], [y]))
"""

from ptgc.api import compile, load  # noqa: A004
from ptgc.errors import CompileError, UnsupportedError
from ptgc._printer import to_ptg
from ptgc.linker import ONNX, ONNXLinker
from ptgc.export import compile_onnx, export_function_onnx, export_onnx

__version__ = "0.1.0"
__all__ = [
    "ONNX",
    "CompileError",
    "ONNXLinker",
    "UnsupportedError",
    "compile",
    "compile_onnx",
    "export_function_onnx",
    "export_onnx",
    "load",
    "to_ptg",
]
