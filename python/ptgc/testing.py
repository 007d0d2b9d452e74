"""Helpers for tests of graphs in ONNX mode."""

import numpy as np
import pytensor

from ptgc import _wire


def compare_onnx_and_py(
    inputs, outputs, values, *, rtol=1e-7, atol=0.0, exact_dtype=True, mode="ONNX", py_mode="FAST_COMPILE"
):
    """Asserts that the graph gives the same dtypes, shapes and values in ONNX mode and in PyTensor's Python mode.

    Returns the function compiled in ONNX mode, and its results.
    """
    many = isinstance(outputs, list | tuple)
    f = pytensor.function(inputs, outputs, mode=mode, on_unused_input="ignore")
    g = pytensor.function(inputs, outputs, mode=py_mode, on_unused_input="ignore")
    got = f(*[np.array(v) if isinstance(v, np.ndarray) else v for v in values])
    want = g(*values)
    for k, (a, b) in enumerate(zip(got if many else [got], want if many else [want], strict=True)):
        a, b = np.asarray(a), np.asarray(b)
        if exact_dtype:
            assert a.dtype == b.dtype, f"output {k}: {a.dtype}, expected {b.dtype}"
        assert a.shape == b.shape, f"output {k}: shape {a.shape}, expected {b.shape}"
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol, err_msg=f"output {k}")
    return f, got


def onnx_node_types(fn) -> list[str]:
    """The ONNX operators of a function compiled in ONNX mode, in order, with those inside of loops and ifs."""
    nodes = _wire.nodes(_wire.main_graph(fn.vm.jit_fn.model))
    return [str(value, "utf-8") for node in nodes for number, value in node if number == _wire.NODE_OP]
