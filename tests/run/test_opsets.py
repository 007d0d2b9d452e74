"""Every op that converts, and every example, at all opsets: the model is valid and loads.

Only a raw node of an operator that came later is refused, by name.
"""

import re
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from files import EXAMPLES, OPS, compile_file, name_of
import ptg
from harness import QUIET
from ptgc import _lib

pytestmark = pytest.mark.sampled

OPSETS = range(_lib.opsets()[0], _lib.opsets()[1] + 1)
SRC = Path(__file__).resolve().parents[2] / "src"


def rows(path, pattern):
    return re.findall(pattern, (SRC / path).read_text(), re.M)


def test_opsets_are_those_of_onnx():
    """What opsets.def says is what onnx says of its releases; the first release of an opset brought it."""
    known = {}
    for release, ir, opset, ml, *_ in onnx.helper.VERSION_TABLE:
        known.setdefault(str(opset), (str(ir), str(ml), release.removesuffix(".0")))
    table = rows("base/opsets.def", r'^ONNX_OPSET\((\d+), +(\d+), (\d+), "(.*)"\)$')
    assert [int(opset) for opset, *_ in table] == list(OPSETS)
    for opset, *said in table:
        assert tuple(said) == known[opset], opset


def test_operators_end_at_the_newest_opset():
    assert max(int(until) for until in rows("onnx/operators.def", r"^ONNX_OP\(\w+, \d+, (\d+),")) == OPSETS[-1]


def test_all_versions_of_operators_on_tensors_were_probed():
    """One that was not has no kernel."""
    probed = rows("target/kernels_ort.def", r"^(?:NO_)?KERNEL\((\w+), (\d+)")
    left = {name for name, since in rows("onnx/operators.def", r"^ONNX_OP\((\w+), (\d+),") if (name, since) not in probed}
    assert all("Sequence" in name or "Optional" in name for name in left), left


MADE_UP = ("strings-joined",)  # operators of a domain that nobody has


def check_and_load(model, load=True):
    m = onnx.load_from_string(model)
    onnx.checker.check_model(m, full_check=True)
    onnx.shape_inference.infer_shapes(m, check_type=True, strict_mode=True, data_prop=True)
    if load:
        ort.InferenceSession(model, QUIET, providers=["CPUExecutionProvider"])


def asked_for(said):
    """The opset that the messages ask for: they must be about raw nodes."""
    errors = re.findall(r"error: .*", said)
    asked = [re.search(r"error: onnx\.\w+ needs opset (\d+); this is opset \d+ \[PTG0503\]", e) for e in errors]
    assert errors and all(asked), said
    return max(int(a[1]) for a in asked)


@pytest.mark.parametrize("path", OPS + EXAMPLES, ids=name_of)
def test_all_opsets(path):
    least = re.search(r"^# ptgc: .*--opset=(\d+)", path.read_text(), re.M)
    for opset in OPSETS:
        if path.stem == "raw-ml" and opset < int(least[1]):  # strings are compared from there on
            continue
        model, said = compile_file(path, f"--opset={opset}")
        if said:
            too_new = "PTG0440" in said and opset > 20  # for the releases of --target=portable
            assert path.stem.startswith("portable-") and too_new or path.stem in ("raw", "infix-onnx") and asked_for(said) > opset, (opset, said)
            continue
        try:
            check_and_load(model, path.stem not in MADE_UP)
        except Exception as e:
            raise AssertionError(f"opset {opset}: {e}") from e


@pytest.mark.parametrize("opset", OPSETS)
def test_oldest_ir_version(opset):
    """The version of the file format is the one that came with the opset: older runtimes take no newer one."""
    model = onnx.load_from_string(ptg.compile("ptg 1\n\ngraph g(x: float64[n]) -> (y) {\n  y = Exp(x)\n}\n", opset))
    assert model.ir_version == onnx.helper.find_min_ir_version_for(model.opset_import)
    assert model.graph.node[0].metadata_props


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"])
def test_bitwise_operators_before_opset_18(dtype):
    """Pairs of bytes from a table, and shifts or a remainder where a mask is one of the lowest bits"""
    ends, r = np.iinfo(dtype), np.random.default_rng(1)
    for shapes in ((), ()), ((5,), ()), ((), (5,)), ((3, 1), (4,)), ((2, 3, 4), (4,)), ((0,), (0,)):
        a, b = (r.integers(ends.min, ends.max, s, dtype, endpoint=True) for s in shapes)
        x, y = (f"{dtype}[{', '.join('1' if n == 1 else '?' for n in s)}]" for s in shapes)
        results = "a & b", "a | b", "a ^ b", "a & 15", "1 & b", f"a & {ends.max}", "a & 6"
        body = "".join(f"  r{i} = {e}\n" for i, e in enumerate(results))
        text = f"graph g(a: {x}, b: {y}) -> ({', '.join(f'r{i}' for i in range(7))}) {{\n{body}}}"
        got = ptg.run(text, a, b, opset=13)
        k = [np.array(i, dtype) for i in (15, 1, ends.max, 6)]
        want = a & b, a | b, a ^ b, a & k[0], b & k[1], a & k[2], a & k[3]
        for x, y in zip(got, want, strict=True):
            assert x.dtype == y.dtype and x.shape == y.shape
            np.testing.assert_array_equal(x, y)
