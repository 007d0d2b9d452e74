"""The package around it: the command line, the helpers for tests, the op table's view of PyTensor."""

import subprocess
import sys

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op

import ptgc
from ptgc import _lib
from ptgc.testing import compare_onnx_and_py, onnx_node_types

v = pt.dvector("v")


class Counter(Op):
    """Python says 1 where the registered text says 2."""

    __props__ = ()

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, outputs):
        outputs[0][0] = np.ones_like(inputs[0])


def test_command_line(tmp_path):
    (tmp_path / "a.ptg").write_text("graph g(x: float64[3]) -> (y) { y = Exp(x) }")
    run = [sys.executable, "-m", "ptgc"]
    subprocess.run([*run, "a.ptg", "-o", "a.onnx"], cwd=tmp_path, check=True)
    assert (tmp_path / "a.onnx").exists()
    done = subprocess.run([*run, "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and ptgc.__version__ in done.stdout
    assert subprocess.run([*run, "none.ptg"], capture_output=True, cwd=tmp_path).returncode == 2


def test_versions_agree():
    assert _lib.lib().ptgc_version().decode() == ptgc.__version__


def test_compare_is_strict():
    ptgc.register(Counter, "fn Counter(x: float64[?]) -> (y) {\n  y = x * 0 + 2\n}\n")
    f, got = compare_onnx_and_py([v], v * 2, [[1.0]])
    assert got == [2.0] and f([2.0]) == [4.0]
    with pytest.raises(AssertionError):  # the same graph, but other values
        compare_onnx_and_py([v], Counter()(v), [[1.0]])


def test_node_types():
    f = pytensor.function([v], pt.exp(v) + 1, mode="ONNX")
    assert onnx_node_types(f) == ["Exp", "Add"]


def test_signature_properties():
    assert _lib.op_properties("Sum") == ("axes", "dtype", "acc_dtype")
    assert _lib.op_properties("Pad") == ("pad_mode", "reflect_type", "has_stat_length", "static_pad_width")
    assert _lib.op_properties("Exp") == ()
    assert _lib.op_properties("Nonsense") is None


def test_warnings_and_diagnostics():
    m = ptgc.load("graph g(x: float64[2]) -> (y) {\n  unused = Exp(x)\n  y = x\n}\n")
    [warning] = m.warnings
    assert warning.name == "unused" and warning.line == 2


def test_memory_is_freed():
    import resource

    text = ptgc.to_ptg([v], sum((pt.exp(v * k) for k in range(50)), v))
    for _ in range(50):
        ptgc.compile(text)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(500):
        ptgc.compile(text)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 5000  # kilobytes


def test_large_tensors_are_not_copied_by_the_text():
    s = pytensor.shared(np.zeros((1000, 1000)), name="big")
    e = ptgc.compile_onnx([v], [v + s.sum(axis=0)])
    assert len(e.text) < 500 and len(e.model) > 8_000_000
