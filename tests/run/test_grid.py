"""Every op that converts, by dtype, rank, static and dynamic dims, sizes, special values and opsets,
against PyTensor's Python mode (see grid.py and grid_table.py). PTGC_FULL=1 runs each case at all
opsets with static and dynamic dims; without it these rotate, as on the page of coverage."""

import os

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

import coverage_page
from grid import Oracle, Run
from grid_table import ROWS
from harness import PYTHON

FULL = os.environ.get("PTGC_FULL", "0") != "0"


@pytest.mark.parametrize("op", ROWS)
def test_op(op):
    result = Run(ROWS[op], FULL).run()
    assert result.compared
    assert not result.failures, f"{len(result.failures)} failures\n" + "\n".join(result.failures[:20])
    assert coverage_page.current(op, result) == coverage_page.committed(op), "doc/coverage.md differs: make coverage"


def test_every_op_has_a_row():
    assert set(coverage_page.ops()) == set(ROWS), "grid_table.py needs a row for each op that converts"


def test_what_is_left_out_is_on_the_page():
    """With a reason each: tolerances, dtypes, ranks and sizes that are not tried, ops that are refused."""
    page = coverage_page.PAGE.read_text().splitlines()
    wanted = [*coverage_page.all_limits(), *coverage_page.not_converted()]
    assert not [line for line in wanted if line not in page], "doc/coverage.md differs: make coverage"


def test_oracle_is_python_mode():
    """Node by node, and as pytensor.function runs it."""
    x, y = pt.dmatrix("x"), pt.lvector("y")
    outputs = [pt.exp(x).sum(1) + y, pt.special.softmax(x, 0), x[y], pt.constant(3)]
    arrays = [np.random.default_rng(0).normal(size=(3, 4)), np.array([2, 0, 1])]
    got, want = Oracle([x, y], outputs)(arrays), pytensor.function([x, y], outputs, mode=PYTHON)(*arrays)
    for g, w in zip(got, want, strict=True):
        assert g.dtype == w.dtype and np.allclose(g, w, rtol=1e-15, atol=0)
