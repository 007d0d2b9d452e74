"""The golden models of tests/op: ONNX's own parser and checker read them, and no op is without one."""

import os
import re
import subprocess
from pathlib import Path

import onnx
import onnx.parser
import pytest

TOP = Path(__file__).resolve().parents[2]
PTGC = TOP / os.environ.get("PTGC", "build/ptgc")
GOLDENS = sorted((TOP / "tests/op").glob("*.onnxtxt"))


def ops_that_convert():
    text = subprocess.run([PTGC, "--ops"], capture_output=True, text=True, check=True).stdout
    entries = re.split(r"\n(?=  [A-Za-z])", text)
    return [
        re.match(r" *(\w+)[{(]", e)[1]
        for e in entries
        if re.match(r" +\w+[{(]", e) and not re.search(r"\n +not (yet|supported): ", e)
    ]


def test_every_op_has_a_golden():
    missing = [op for op in ops_that_convert() if not (TOP / f"tests/op/{op}.onnxtxt").exists()]
    assert not missing, f"write tests/op/<op>.ptg for {' '.join(missing)}, then tests/run.sh -u op/"


@pytest.mark.parametrize("path", GOLDENS, ids=lambda p: p.stem)
def test_onnx_reads_golden(path):
    model = onnx.parser.parse_model(path.read_text())
    onnx.checker.check_model(model, full_check=True)


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
