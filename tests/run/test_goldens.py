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
