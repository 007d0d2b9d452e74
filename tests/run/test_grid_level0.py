"""The numeric test of every op once more, without rewrites (-O0) and with the graph verified after each pass: what a
right model needs is a lowering or a pass that is marked as needed, never a rewrite."""

import os

import pytest
from grid import Run
from grid_table import ROWS

from ptgc import _lib

FULL = os.environ.get("PTGC_FULL", "0") != "0"


@pytest.mark.sampled
@pytest.mark.parametrize("op", ROWS)
def test_op_without_rewrites(op, monkeypatch):
    monkeypatch.setattr(_lib, "USUAL_FLAGS", ("O0", "fverify-each"))
    result = Run(ROWS[op], FULL).run()
    assert result.compared
    assert not result.failures, f"{len(result.failures)} failures\n" + "\n".join(result.failures[:20])
