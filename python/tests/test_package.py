"""The package: its modules, what it asks of libptgc, its command, its functions for tests, its wheel."""

import ast
import os
import subprocess
import sys
from pathlib import Path

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


def test_compare_onnx_and_py_is_strict():
    ptgc.register(Counter, "fn Counter(x: float64[?]) -> (y) {\n  y = x * 0 + 2\n}\n")
    f, got = compare_onnx_and_py([v], v * 2, [[1.0]])
    assert got == [2.0] and f([2.0]) == [4.0]
    with pytest.raises(AssertionError):  # the same graph, but other values
        compare_onnx_and_py([v], Counter()(v), [[1.0]])


def test_node_types():
    f = pytensor.function([v], pt.exp(v) + 1, mode="ONNX")
    assert onnx_node_types(f) == ["Exp", "Add"]


# Each module imports, at its top or inside of its functions, none but those before it.
ORDER = """errors _files _lib _text _random _ops _pymc _extend _batch_scan _draws _batch _one_pass _ode _data _left_out _model
_expressions _printer _compile _wire runtime _values _cache _cc _shared native _passes
_graph_key _kept _rewrite_loops _rewrite_points rewrites linker export _modelfile api verifying _samplable density predictive
_nuts_ops _run _inference _predictions sampling _pm_sample testing
__init__ __main__""".split()


def test_modules_import_only_those_below_them():
    folder = Path(ptgc.__file__).parent
    assert sorted(p.stem for p in folder.glob("*.py")) == sorted(ORDER)
    for module in ORDER:
        for node in ast.walk(ast.parse((folder / f"{module}.py").read_text())):
            if isinstance(node, ast.ImportFrom) and node.module.partition(".")[0] == "ptgc":
                names = [a.name for a in node.names] if node.module == "ptgc" else [node.module[5:]]
            elif isinstance(node, ast.Import):
                names = [a.name.removeprefix("ptgc.") for a in node.names if a.name.startswith("ptgc")]
            else:
                continue
            assert set(names) <= set(ORDER[: ORDER.index(module)]), f"{module} imports {', '.join(names)}"


def test_names_dtypes_targets_and_opsets_are_the_library_s():
    assert _lib.is_plain_name("μ") and not any(map(_lib.is_plain_name, ("loop", "float64", "_", "a b", "1a", "int4")))
    assert _lib.is_op_name("Exp") and _lib.is_op_name("file") and not _lib.is_op_name("x")
    assert _lib.dtypes()["float64"] == 11 and "int4" not in _lib.dtypes()
    assert _lib.targets() == ["ort-cpu", "onnx", "ort-web", "portable"]
    least, greatest = _lib.opsets()
    for opset in (least - 1, greatest + 1, "18", True, 18.0):
        with pytest.raises(ValueError, match=f"out of range: {least} to {greatest}"):
            _lib.check_opset(opset)


def test_properties_of_ops():
    assert _lib.op_properties("Sum") == {"axes": "axes", "dtype": "dtype", "acc_dtype": "dtype", "keepdims": "bool"}
    assert tuple(_lib.op_properties("Pad")) == ("pad_mode", "reflect_type", "has_stat_length", "static_pad_width")
    assert _lib.op_properties("Exp") == {}
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


def test_places_and_external_tensors_are_read_as_onnx_reads_them():
    import onnx

    from ptgc import _wire

    text = """
graph g(x: float64[n], k: int64[]) -> (s, y) {
  big = file("big")
  s = loop (i in 0:k, s: float64[n] = x) -> (s) {
    t = if i > 2 { t = Sin(s) } else { t = Cos(s) }
    next s = t + Sum(big)
  }
  y = Sum(file("small") * s[:2])
}
"""
    tensors = {"big": np.arange(600.0).reshape(20, 30), "small": np.arange(2.0)}
    made = _lib.compile_text(text, tensors=tensors, external_threshold=1024, external_name="d", file_name="a.ptg")
    model = onnx.load_from_string(made.model)
    [tensor] = _wire.external_tensors(made.model)
    assert tensor == ("big", onnx.TensorProto.DOUBLE, [20, 30], 0, 4800)
    seen = 0

    def walk(graph):
        nonlocal seen
        for node in graph.node:
            want = {p.key: p.value for p in node.metadata_props}
            assert _wire.metadata(made.model, node.name) == want
            seen += bool(want)
            for a in node.attribute:
                if a.HasField("g"):
                    walk(a.g)

    walk(model.graph)
    assert seen > 20 and _wire.metadata(made.model, "no such node") == {}


def test_wheel(tmp_path):
    """Built by pip from the source distribution; what is in it works by itself, outside of the tree."""
    source = Path(__file__).parents[1]
    if not (source / "setup.py").exists():
        pytest.fail("the tests of the wheel need the source tree around them")
    build = {**os.environ, "PYTHONPATH": "", "MAKEFLAGS": ""}
    sdist = [sys.executable, "-m", "build", "--sdist", "-o", tmp_path, source]
    subprocess.run(sdist, check=True, env=build, capture_output=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "-q", "--no-deps"]
    subprocess.run([*pip, "--target", tmp_path / "site", *tmp_path.glob("*.tar.gz")], check=True, env=build)
    licences = {p.name for p in (tmp_path / "site").glob("ptgc-*.dist-info/licenses/**/LICENSE*")}
    assert licences == {"LICENSE", "LICENSE.protobuf-c"}
    script = """
import os, sys, numpy as np, pytensor, pytensor.tensor as pt, ptgc
from ptgc import _lib
site = os.path.dirname(os.path.dirname(ptgc.__file__))
assert site == sys.argv[1] and _lib.lib()._name == os.path.join(site, "ptgc", "libptgc.so"), _lib.lib()._name
assert "onnx" not in sys.modules and "onnxruntime" not in sys.modules
x = pt.dvector("x")
assert np.allclose(pytensor.function([x], pt.tanh(x), mode="ONNX")([0.5, 1.0]), np.tanh([0.5, 1.0]))
print(open(os.path.join(site, "ptgc", "py.typed")).read() + ptgc.__version__)
"""
    run = {**build, "PYTHONPATH": str(tmp_path / "site"), "PTGC_LIBRARY": "", "PTGC": ""}
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "site"], env=run, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == ptgc.__version__
    command = [sys.executable, "-m", "ptgc", "--version"]
    assert ptgc.__version__ in subprocess.run(command, env=run, cwd=tmp_path, capture_output=True, text=True, check=True).stdout


def test_model_limit():
    text = "graph g(x: float64[n]) -> (y) { y = x[:100] + file(\"w\") }"
    tensors = {"w": np.arange(100.0)}
    assert not _lib.compile_text(text, tensors=tensors, external_name="d").external
    assert len(_lib.compile_text(text, tensors=tensors, external_name="d", model_limit=800).external) == 0  # shorter than 1 KB
    tensors["w"] = np.arange(100.0).repeat(50)
    text = text.replace("100", "5000")
    assert len(_lib.compile_text(text, tensors=tensors, external_name="d", model_limit=8000).external) == 40000
    with pytest.raises(ptgc.CompileError, match="larger than 8000 bytes: its tensors must go to an external file"):
        _lib.compile_text(text, tensors=tensors, model_limit=8000)
