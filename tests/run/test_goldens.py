"""The golden models of tests/op: ONNX's own parser and checker read what they show, and no op is without one."""

import collections
import os
import re
import subprocess
from pathlib import Path

import onnx
import onnx.parser
import pytest

from coverage_page import op_list

TOP = Path(__file__).resolve().parents[2]
PTGC = TOP / os.environ.get("PTGC", "build/ptgc")
GOLDENS = sorted((TOP / "tests/op").glob("*.ptg"))


def test_every_op_has_a_golden():
    missing = [op for _, op, why in op_list() if not why and not any((TOP / f"tests/op/{op}.{e}").exists() for e in ("onnxtxt", "nodes"))]
    assert not missing, f"write tests/op/<op>.ptg for {' '.join(missing)}, then tests/run.sh -u op/"


def all_nodes(graph):
    for node in graph.node:
        yield node
        for a in node.attribute:
            if a.type == onnx.AttributeProto.GRAPH:
                yield from all_nodes(a.g)


@pytest.mark.parametrize("path", GOLDENS, ids=lambda p: p.stem)
def test_onnx_reads_golden(path):
    """The model is valid, its text is that model, and the golden is that text or counts its nodes."""
    options = [o for line in path.read_text().splitlines() if line.startswith("# ptgc: ") for o in line[8:].split()]
    text, model = (subprocess.run([PTGC, *options, path, *output], capture_output=True, check=True).stdout
                   for output in (["--dump=onnx"], ["-o", "-"]))  # fmt: skip
    text = text.decode()
    model, read = onnx.load_from_string(model), onnx.parser.parse_model(text)
    onnx.checker.check_model(model, full_check=True)
    # the text leaves out the elements of large constants: they stand there as external data
    if not any(t.data_location == onnx.TensorProto.EXTERNAL for t in read.graph.initializer):
        onnx.checker.check_model(read, full_check=True)
    nodes = [(n.op_type, list(n.input), list(n.output)) for n in all_nodes(model.graph)]
    assert nodes == [(n.op_type, list(n.input), list(n.output)) for n in all_nodes(read.graph)]
    counted = path.with_suffix(".nodes")
    if not counted.exists():
        assert path.with_suffix(".onnxtxt").read_text() == text
        return
    shown = collections.Counter()
    lines = [line for line in counted.read_text().splitlines() if " constants: " not in line]
    for op, n in re.findall(r"\b([A-Z][A-Za-z0-9]*) (\d+)\b", "\n".join(lines)):
        shown[op] += int(n)
    assert shown == collections.Counter(op for op, _, _ in nodes)


# Codes whose message cannot come from a file: of the C interface, and of sizes above limits. The
# unit test that has them, and what it calls them.
ELSEWHERE = {
    "PTG0407": ("test_tensor.c", "E_TABLE"),
    "PTG0410": ("test_emit.c", "E_TOO_LARGE"),
    "PTG0440": ("test_hostile.c", "PTG0440"),
}


def test_every_message_has_a_golden():
    rows = (TOP / "src/base/diag.def").read_text()
    codes = {f"PTG0{n}" for n in re.findall(r"^DIAG\(\w+, *(\d+),", rows, re.M)}
    goldens = [*TOP.glob("tests/bad/*.err"), *TOP.glob("tests/cli/*.out")]
    seen = set(re.findall(r"PTG0\d+", "".join(p.read_text() for p in goldens)))
    missing = codes - seen - set(ELSEWHERE)
    for code, (path, name) in ELSEWHERE.items():
        assert code in codes and name in (TOP / "tests/unit" / path).read_text(), code
    assert not missing, f"write tests/bad/<rule>.ptg for {' '.join(sorted(missing))}"
