"""doc/dataflow.md: what its Python block prints, and what PyTensor's modes run, are as the page says."""

import contextlib
import io
import re
from pathlib import Path

import onnx
import pytensor
import pytest

import ptgc

PAGE = (Path(__file__).resolve().parents[2] / "doc/dataflow.md").read_text()
BLOCKS = re.findall(r"^```(python|text)\n(.*?)^```", PAGE, re.M | re.S)


@pytest.fixture(scope="module")
def run():
    """What the Python block of the page prints, and its names"""
    names, printed = {}, io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(next(text for kind, text in BLOCKS if kind == "python"), names)
    return printed.getvalue(), names


def test_the_block_prints_what_the_page_shows(run):
    graph, text = (text for kind, text in BLOCKS if kind == "text")
    assert run[0].split() == (graph + text).split()


@pytest.mark.parametrize("mode, shown", re.findall(r"^\| `(\w+)` \| `(.*?)` \|", PAGE, re.M))
def test_a_mode_runs_what_the_page_shows(run, mode, shown, tmp_path):
    names = run[1]
    if mode == "ONNX":
        ptgc.export_onnx([names["x"]], [names["y"]], tmp_path / "sum.onnx", math="standard")
        nodes = onnx.load(tmp_path / "sum.onnx").graph.node
        assert [f"{n.op_type}({', '.join(n.input)})" for n in nodes] == [shown]
        return
    f = pytensor.function([names["x"]], names["y"], mode=mode)
    result = f.maker.fgraph.outputs[0].owner
    got = re.sub(r", axes=None|\{axes=None\}", "", str(result))
    for inner in result.inputs:
        if inner.owner:
            got = got.replace(str(inner), str(inner.owner))
    assert got == shown
