"""ScalarLoop, a loop for each element, against PyTensor's own: the graph as written, and as ONNX mode rewrites it."""
import mpmath as mp
import numpy as np
import pytensor
import pytensor.scalar as ps
import pytensor.tensor as pt
import pytest
from pytensor.scalar.loop import ScalarLoop
from pytensor.tensor.elemwise import Elemwise

import ptgc
from harness import Compiled, compare
from opsets import SOME_OPSETS


def agree(inputs, outputs, *calls, opsets=SOME_OPSETS, **tolerance):
    outputs = outputs if isinstance(outputs, list) else [outputs]
    c = Compiled(inputs, outputs, opsets=opsets)
    f = pytensor.function(inputs, outputs, mode="ONNX", on_unused_input="ignore")
    for args in calls:
        c.run(*args, **tolerance)
        args = [np.asarray(a, dtype=i.type.dtype) for a, i in zip(args, inputs)]
        for k, (got, want) in enumerate(zip(f(*args), c.python(*args), strict=True)):
            compare(got, want, f"ONNX mode, output {k}", **tolerance)


def horner(dtype, until):
    """Several states, one of them an integer: s = s * x + k, where k counts."""
    s, k, x = ps.get_scalar_type(dtype)("s"), ps.int16("k"), ps.get_scalar_type(dtype)("x")
    new, j = (s * x + k).astype(dtype), (k + 1).astype("int16")
    return Elemwise(ScalarLoop([s, k], [new, j], [x], until=new > 50 if until else None))


SIZES = [(0, 3), (1, 1), (2, 3), (3, 1)]


@pytest.mark.parametrize("until", [False, True])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int64", "uint32"])
def test_dtypes_and_sizes(dtype, until):
    n = pt.matrix("n", dtype="int32")
    s, x = pt.matrix("s", dtype=dtype), pt.row("x", dtype=dtype)
    out = horner(dtype, until)(n, s, pt.zeros_like(s, dtype="int16"), x)
    calls = [(np.arange(a * b).reshape(a, b), np.arange(a * b).reshape(a, b) % 3, np.arange(b)[None] % 4)
             for a, b in SIZES]  # fmt: skip
    agree([n, s, x], out, *calls)


@pytest.mark.parametrize("until", [False, True])
@pytest.mark.parametrize("steps", [0, 1, 7])
def test_one_number_of_steps(steps, until):
    n, s, x = pt.lscalar("n"), pt.dmatrix("s"), pt.drow("x")
    calls = [(steps, np.arange(float(a * b)).reshape(a, b), np.linspace(1, 2, b)[None]) for a, b in SIZES]
    agree([n, s, x], horner("float64", until)(n, s, np.int16(1), x), *calls)
    agree([n, s, x], horner("float64", until)(np.int64(steps), s, np.int16(1), x), *calls)


def test_numbers():
    n, s, x = ps.int64("n"), ps.float64("s"), ps.float64("x")
    op = ScalarLoop([s], [s * x], [x], until=s > 50)
    agree([n, s, x], list(op(n, s, x)), (0, 1.0, 2.0), (3, 1.0, 2.0), (30, 1.0, 2.0))


def test_a_negative_number_of_steps():
    """With `until` no step is taken; without, PyTensor raises."""
    n, s = pt.lvector("n"), pt.dvector("s")
    a = ps.float64("a")
    agree([n, s], Elemwise(ScalarLoop([a], [a + 1.0], until=a > 5))(n, s), ([-1, 2, 9], [1.0, 2.0, 3.0]))
    for steps in (n, pt.lscalar("m")):
        f = pytensor.function([steps, s], Elemwise(ScalarLoop([a], [a + 1.0]))(steps, s), mode="ONNX")
        with pytest.raises(ValueError):
            f(np.full(steps.type.ndim * (3,), -1), [1.0, 2.0, 3.0])


def test_elements_without_numbers_and_constant_results():
    """NaN never ends by `until`; a state whose next value is a number; a result that a step only passes on."""
    n, s, x = pt.lscalar("n"), pt.dvector("s"), pt.dvector("x")
    a, b, c = ps.float64("a"), ps.float64("b"), ps.float64("c")
    op = Elemwise(ScalarLoop([a, b], [a * c, ps.identity(ps.constant(np.float64(2.5)))], [c], until=a > 20))
    agree([n, s, x], op(n, s, s, x), (9, [1.0, np.nan, np.inf, 3.0], [2.0, 2.0, 2.0, np.nan]), (0, [], []))


def test_inside_of_a_scan():
    x = pt.dvector("x")
    a = ps.float64("a")
    op = Elemwise(ScalarLoop([a], [a * 1.5], until=a > 9))
    out = pytensor.scan(lambda s: op(np.int64(4), s)[0], outputs_info=[x], n_steps=3, return_updates=False)
    agree([x], [out], ([1.0, 2.0, 30.0],), ([],), opsets=(18,))


def values(*ranges, n=40):
    rng = np.random.default_rng(3)
    return [rng.uniform(*r, size=n) for r in ranges]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_gradients_of_gammainc(dtype):
    k, x = pt.vector("k", dtype=dtype), pt.vector("x", dtype=dtype)
    out = pt.grad(pt.gammainc(k, x).sum(), k)
    tight = dict(ulp={"float64": 500_000, "float32": 2000}, atol=1e-14 if dtype == "float64" else 1e-6)
    edges = [[1.0, -1.0, 1.0, 2.0, 0.5, 3.0], [0.0, 1.0, -1.0, np.inf, 1e-9, 800.0]]
    agree([k, x], out, values((0.1, 30), (0, 40)), edges, ([], []), opsets=(18,), zero_sign=False, **tight)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_gradients_of_hyp2f1(dtype):
    """By all arguments, beside PyTensor's own loop and in float64 beside mpmath; NaN where the loop does not converge"""
    x = [pt.vector(v, dtype=dtype) for v in "abcz"]
    out = pt.grad(pt.hyp2f1(*x).sum(), x)
    tight = dict(ulp={"float64": 10_000 if dtype == "float64" else 2e10}, atol=1e-14)
    edges = [[1.0, 2.0, -2.0, 1.5, 1.0], [2.0, 0.5, 1.5, 2.0, 1.0], [3.5, 1.0, 2.5, 4.0, 1.0], [0.0, -1.5, 0.5, 0.9, 0.25]]
    p = values((0.1, 4), (0.1, 4), (1, 8), (-0.8, 0.8))
    agree(x, out, p, edges, ([],) * 4, opsets=(18,), zero_sign=False, **tight)
    if dtype == "float64":
        got = pytensor.function(x, out, mode="ONNX")(*p)
        for k in range(4):
            want = [mp.diff(lambda v: mp.hyp2f1(*q[:k], v, *q[k + 1 :]), q[k]) for q in zip(*map(list, p))]
            np.testing.assert_allclose(got[k], np.array(want, float), rtol=1e-10)


def test_nan_ends_a_loop_at_once_only_if_no_result_differs():
    """The gradient of gammainc would take 100,000 steps for NaN. A loop that gets rid of NaN takes all of its steps."""
    k, x = pt.dvector("k"), pt.dvector("x")
    f = pytensor.function([k, x], pt.grad(pt.gammainc(k, x).sum(), k), mode="ONNX")
    np.testing.assert_array_equal(np.isnan(f([np.nan, 1.0, 2.0], [1.0, np.nan, 3.0])), [True, True, False])
    a, b, n = ps.float64("a"), ps.float64("b"), ps.float64("n")
    states = [ps.switch(n > 3, 1.0, a * b), n + 1.0]
    agree([k, x], Elemwise(ScalarLoop([a, n], states, [b], until=a > 100))(np.int64(9), k, np.float64(0), x),
          ([np.nan, 2.0, 2.0], [1.5, np.nan, 1.5]), opsets=(18,))  # fmt: skip
    agree([k, x], Elemwise(ScalarLoop([a, n], [a * b, n + 1.0], [b], until=a > 100))(np.int64(9), k, np.float64(0), x),
          ([np.nan, 2.0, 2.0], [1.5, np.nan, 1.5]), opsets=(18,))  # fmt: skip
    steps = Elemwise(ScalarLoop([a], [a * b], [b], until=a > 100))
    agree([k, x], steps(pt.as_tensor([0, 1, 9]), k, x), ([2.0, np.nan, 2.0], [np.nan, 1.5, np.nan]), opsets=(18,))


def test_what_is_refused():
    with pytest.raises(ptgc.CompileError, match="needs 2 states and a number of steps"):
        ptgc.compile("fn f(a, b) -> (c, d) {\n c = a\n d = b\n}\ngraph g(x: float64[n]) -> (y, z) {\n"
                     " y, z = ScalarLoop{fn=f}(3, x)\n}\n")  # fmt: skip
    with pytest.raises(ptgc.CompileError, match="state is float64.* but its next value is int64"):
        ptgc.compile("fn f(a) -> (c) {\n c = int64(3)\n}\ngraph g(x: float64[n]) -> (y) {\n"
                     " y = ScalarLoop{fn=f}(3, x)\n}\n")  # fmt: skip
    with pytest.raises(ptgc.CompileError, match="number of steps of ScalarLoop is an integer"):
        ptgc.compile("fn f(a) -> (c) {\n c = a * 2\n}\ngraph g(x: float64[n]) -> (y) {\n"
                     " y = ScalarLoop{fn=f}(x, x)\n}\n")  # fmt: skip
