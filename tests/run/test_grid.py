"""Every op that converts, by dtype, rank, static and dynamic dims, sizes, special values and opsets,
against PyTensor's Python mode (see grid.py and grid_table.py). PTGC_FULL=1 runs each case at all
opsets with static and dynamic dims; without it these rotate, as on the page of coverage."""

import os

import mpmath as mp
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

import coverage_page
from grid import Near, Oracle, Run
from grid_table import ROWS
from harness import PYTHON, Compiled

FULL = os.environ.get("PTGC_FULL", "0") != "0"


@pytest.mark.sampled
@pytest.mark.parametrize("op", ROWS)
def test_op(op):
    result = Run(ROWS[op], FULL).run()
    assert result.compared
    assert not result.failures, f"{len(result.failures)} failures\n" + "\n".join(result.failures[:20])
    assert sorted(coverage_page.exceptions(op, result)) == sorted(coverage_page.committed(op)), "doc/coverage.md differs: make coverage"


LOOSER = [op for op, row in ROWS.items() if row.exact and row.why.startswith("SciPy's largest error")]


@pytest.mark.parametrize("op", LOOSER)
def test_looser_bound_is_scipys_own(op):
    """More than 4 ULP of float64 are granted only where SciPy itself is that far from the true value."""
    row, rng, worst = ROWS[op], np.random.default_rng(0), 0.0
    form = row.forms[0]
    arrays = [a.values(rng, "float64" if a.dtype == "D" else a.dtype, (600,), Near(row.near)) for a in form.args]
    if len(arrays) == 1:
        arrays[0] = np.concatenate([arrays[0], rng.uniform(-30, 30, 900)])
    x = [pt.vector(dtype=a.dtype) for a in arrays]
    mp.mp.prec = 300
    for got, *args in zip(Oracle(x, [form.build(*x)])(arrays)[0], *arrays):
        if not np.isfinite([got, *args]).all() or got == 0 or abs(got) < np.finfo("float64").tiny or max(map(abs, args)) > 1e4:
            continue
        try:
            off = abs(mp.mpf(float(got)) - row.exact(*[mp.mpf(float(a)) for a in args]))
        except (ValueError, ZeroDivisionError):  # a pole
            continue
        if off > row.atol.get("float64", 0):
            worst = max(worst, float(off / mp.mpf(float(np.spacing(abs(got))))))
    assert np.ceil(worst) >= row.ulp["float64"], f"SciPy's largest error is {worst} ULP"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_softmax_is_as_near_as_scipys(dtype):
    """The runtime's own kernel against the true value, at 10 and 1000 elements of small and large spread."""
    x, worst = pt.vector("x", dtype=dtype), np.zeros(2)
    softmax = Compiled([x], [pt.special.softmax(x)], (18,))
    (session,) = softmax.sessions.values()
    mp.mp.prec = 120
    for scale in (0.3, 1, 10):
        for seed, n in [(0, 10), *((seed, 1000) for seed in range(6))]:
            v = (np.random.default_rng(seed).normal(size=n) * scale).astype(dtype)
            powers = [mp.exp(mp.mpf(float(k))) for k in v]
            total = mp.fsum(powers)
            for k, got in enumerate((session.run(None, softmax.feed([v]))[0], softmax.python(v)[0])):
                off = [abs(mp.mpf(float(g)) - p / total) / mp.mpf(float(np.spacing(g))) for g, p in zip(got, powers) if g > np.finfo(dtype).tiny]
                worst[k] = max(worst[k], float(max(off)))
    assert worst[0] <= max(4 if dtype == "float64" else 2, worst[1]), worst


def test_every_op_has_a_row():
    assert set(coverage_page.ops()) == set(ROWS), "grid_table.py needs a row for each op that converts"


def test_every_random_variable_has_a_row():
    page = (coverage_page.PAGE.parent / "random.md").read_text()
    names = [name for title, name, _ in coverage_page.op_list() if title == coverage_page.RANDOM and name.endswith("_rv")]
    assert len(names) > 30
    assert not [name for name in names if f"| `{name}` |" not in page], "bench/streams.py needs a row for each"


def test_what_is_left_out_is_on_the_page():
    """With a reason each: larger errors, and dtypes, ranks and sizes that are not tried."""
    page = coverage_page.PAGE.read_text().splitlines()
    wanted = [*coverage_page.error_table(), *coverage_page.not_tried_table(), *coverage_page.tried()]
    assert not [line for line in wanted if line not in page], "doc/coverage.md differs: make coverage"


def test_oracle_is_python_mode():
    """Node by node, and as pytensor.function runs it."""
    x, y = pt.dmatrix("x"), pt.lvector("y")
    outputs = [pt.exp(x).sum(1) + y, pt.special.softmax(x, 0), x[y], pt.constant(3)]
    arrays = [np.random.default_rng(0).normal(size=(3, 4)), np.array([2, 0, 1])]
    got, want = Oracle([x, y], outputs)(arrays), pytensor.function([x, y], outputs, mode=PYTHON)(*arrays)
    for g, w in zip(got, want, strict=True):
        assert g.dtype == w.dtype and np.allclose(g, w, rtol=1e-15, atol=0)
