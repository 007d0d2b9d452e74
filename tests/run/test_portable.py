"""--target=portable: which ops it refuses, and how exact the functions are that other targets compute in float64."""


import numpy as np
import pytest
from coverage_page import op_list
from grid import Case, Run, arguments, fits, reason
from grid_table import ROWS
from ptg import compile, run
from test_targets import has_float64
from truth import FLOAT64_ALONE, PORTABLE, portable_errors

from ptgc import _lib
from ptgc.errors import CompileError

# With --float32. Random variables are refused too, but for permutation_rv; and complex numbers where a function of them is no
# arithmetic: PTG0503 says so.
REFUSED = dict.fromkeys(FLOAT64_ALONE, "float64, which the target portable lacks")
# of the smaller one of the absolute and the relative error
BOUNDS = {"Betainc": 4e-5, "Betaincinv": 2e-5, "Kve": 3e-5, "Jv": 8e-6, "Gammaincinv": 8e-6, "Gammainccinv": 8e-6, "Polygamma": 4e-6}


def texts(row, dtype):
    """A text for each form of an op that PyTensor has in the dtype, or in its first one."""
    r = Run(row)
    for form in row.forms:
        first = dtype if dtype in form.dtypes else form.dtypes[0]
        other = first if any(a.dtype == "E" for a in form.args) else None
        size = "2" if "2" in form.sizes else form.sizes[-1]
        for rank in (1, 2, 3, 0, 4):
            if not fits(form, rank):
                continue
            case = Case(form, first, other, rank, size, 0)
            try:
                _, graph = r.graph(case, arguments(row, case), True)
                yield form, r.text(case, *graph)
                break
            except Exception:  # PyTensor has no such graph
                continue


@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_which_ops_are_refused(dtype):
    refused, tried = {}, 0
    for op, row in ROWS.items():
        for form, (text, _, tensors) in texts(row, dtype):
            tried += 1
            try:
                _lib.compile_text(text, tensors=tensors, target="portable", float32=True, flags=["Wno-unused"])
            except CompileError as e:
                try:  # or is that so on each target?
                    _lib.compile_text(text, tensors=tensors, flags=["Wno-unused"])
                except CompileError:
                    continue
                refused.setdefault(op, set()).add(reason(e))
    assert tried > 550
    assert set(refused) == set(REFUSED), refused
    assert all(REFUSED[op] in why for op in refused for why in refused[op])


@pytest.mark.parametrize("op", [name for title, name, _ in op_list() if title == "Random variables" and name.endswith("_rv")][:4])
def test_draws_are_refused_with_a_way_out(op):
    text = {"bernoulli_rv": "0.5", "beta_binomial_rv": "3, 1.5, 2.0", "beta_rv": "1.5, 2.0", "binomial_rv": "3, 0.5"}[op]
    with pytest.raises(CompileError, match="draws have NumPy's bits.*make the numbers an input"):
        _lib.compile_text(f"graph f(r: rng, n: int64[1]) -> (r2, x) {{\n  r2, x = {op}(r, n, {text})\n}}\n", target="portable", float32=True)


@pytest.mark.parametrize("op, where", [(op, where) for op, (_, ranges) in PORTABLE.items() for where in ranges])
def test_error(op, where):
    ulp, least = portable_errors(op, where, 2000)
    assert len(ulp) > 200 and np.median(ulp) < 8
    assert least.max() <= BOUNDS.get(op, 3e-6)


EDGES = [0.0, 0.01, 0.5, 1.0, 2.0, 30.0, np.inf, np.nan, -1.0]


@pytest.mark.parametrize("op", [op for op in PORTABLE if op != "Polygamma"])
def test_edges(op):
    scipy, ranges = PORTABLE[op]
    count = len(next(iter(ranges.values()))(np.random.default_rng(0), 1))
    args = [a.ravel().astype("float32") for a in np.meshgrid(*[EDGES] * count)]
    names = "abc"[:count]
    text = f"graph g({', '.join(f'{v}: float32[n]' for v in names)}) -> (r) {{ r = {op}({', '.join(names)}) }}"
    for opset in (13, 18, 20):
        model = compile(text, target="portable", math="standard", opset=opset)
        assert not has_float64(model)
        got = run(model, *args)
        with np.errstate(all="ignore"):
            want = scipy(*[a.astype("float64") for a in args])
            wide = run(compile(text, math="standard", opset=opset), *args)
        same = (np.isnan(got) == np.isnan(wide)) & (np.isnan(got) | (got == wide) | (abs(got - want) <= 1e-5 * np.maximum(abs(want), 1)))
        assert same.all(), [(*(a[~same][0] for a in args), got[~same][0], wide[~same][0])]
        assert run(model, *[a[:0] for a in args]).shape == (0,)


def test_float64_in_a_loop_is_refused():
    loop = "graph g(x: float64[n]) -> (y) {\n  y = loop (i in 0:3, s: float64[] = 0) -> (s) { next s = s + x[i] }\n}"
    with pytest.raises(AssertionError, match="'x' is float64, which the target portable lacks"):
        compile(loop, target="portable")


@pytest.mark.parametrize("opset", [13, 18])
def test_qr(opset):
    """No operator that the target lacks is needed for the signs of R."""
    call = "q, r = QR{mode=\"economic\"}(a)"
    q, r = run(f"graph g(a: float32[3, 2]) -> (q, r) {{\n  {call}\n}}\n", A := np.array([[1, 2], [0, 3], [0, 4]], "float32"), target="portable", opset=opset)
    want = np.linalg.qr(A)
    np.testing.assert_allclose(q, want[0], atol=1e-6)
    np.testing.assert_allclose(r, want[1], atol=1e-6)
