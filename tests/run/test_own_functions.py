"""The ops of src/onnx/own.def, for which the target c has functions, as C beside PyTensor: the rows of grid_table.py,
with their values and bounds."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import grid
from grid_table import ROWS

sys.path.append(str(Path(__file__).resolve().parents[1] / "c"))
from native import TOP, Native, Refused, compiled, to_c

OPSET = 18
OPS = re.findall(r"^(?:OWN|SAME)\((\w+),", (TOP / "src/onnx/own.def").read_text(), re.M)


class Library:
    """A graph as C, called as grid.Session is."""

    def __init__(self, text, folder):
        path = folder / "model.ptg"
        path.write_text(text)
        try:
            code = to_c(path, "--strip", "--math=exact", "-Wno-unused")
        except Refused as e:
            raise grid.Refused(str(e).split("\n")[0]) from e
        self.model = Native(code, compiled(code, folder=folder))
        self.calls = bool(re.search(r"\bptgc_\w+\(", code))

    def __call__(self, arrays, outputs=()):
        names, results = ([f[0] for f in fields if f[4]] for fields in (self.model.inputs, self.model.outputs))
        lengths = dict.fromkeys(results, np.broadcast_shapes(*(a.shape for a in arrays)))
        got = self.model(dict(zip(names, arrays, strict=True)), lengths)
        return [got[r] for r in results]


class Run(grid.Run):
    """Vectors of all dtypes: sizes that the text leaves open, corner values"""

    def __init__(self, row, folder):
        super().__init__(row)
        self.folder = folder

    def session(self, key, case, graph, opset, inside=False):
        if key not in self.sessions:
            text = self.text(case, *graph)[0]
            try:
                self.sessions[key] = Library(text, self.folder)
                # x // y of bools is x: no function is needed
                assert self.sessions[key].calls or "bool[" in text, "no function of lib/c is called"
            except (grid.Refused, AssertionError) as e:
                self.sessions[key] = e
        return self.sessions[key]

    def run(self):
        for case in grid.cases_of(self.row):
            arrays = grid.arguments(self.row, case) if case.rank == 1 and not case.other else []
            key, graph = self.graph(case, arrays, True) if arrays else (None, None)
            if graph and not isinstance(graph, Exception):
                self.one(key, case, graph, arrays, self.expected(key, case, graph, arrays), "dynamic", OPSET)
        return self.result


@pytest.mark.sampled
@pytest.mark.parametrize("op", OPS)
def test_op(op, tmp_path):
    result = Run(ROWS[op], tmp_path).run()
    assert result.compared
    assert not result.failures, "\n".join(result.failures[:20])
