"""rational(x, p, q): a quotient of two polynomials, in one chain of nodes for few elements, in two for many."""

import numpy as np
import ptg
import pytest
from opsets import SOME_OPSETS

P, Q = [0.25, -3, 2.5, 7], [1, 4.5]


def graph(dims, dtype="float64", p=P, q=Q):
    return f"graph g(x: {dtype}[{dims}]) -> (y) {{ y = rational(x, {p}, {q}) }}"


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("p, q", [(P, Q), (Q, P), ([2], [1, 3]), ([1, 2], [4]), ([1, 2, 3], [1, 0, 5])])
@pytest.mark.parametrize("dims, shape", [("", ()), ("0", (0,)), ("1", (1,)), ("7", (7,)), ("2, 3", (2, 3)), ("1, 1, 4", (1, 1, 4)), ("5000", (5000,)), ("n", (6,)), ("n", (0,)), ("n", (1,)), ("n, 3", (2, 3))])
def test_values(dims, shape, p, q, dtype):
    x = np.random.default_rng(3).uniform(-3, 9, shape).astype(dtype)
    for opset in SOME_OPSETS:
        y = ptg.run(graph(dims, dtype, p, q), x, opset=opset)
        assert y.dtype == x.dtype and y.shape == x.shape
        d = x.astype(float)
        np.testing.assert_allclose(y, np.polyval(p, d) / np.polyval(q, d), rtol=1e-4 if dtype == "float32" else 1e-12)


def test_nodes():
    assert ptg.nodes(ptg.compile(graph("2048"))) == 6 + 3
    assert ptg.nodes(ptg.compile(graph("2049"))) == ptg.nodes(ptg.compile(graph("n"))) == 6 + 1 + 1


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("dims, shape", [("", ()), ("1", (1,)), ("7", (7,)), ("0", (0,)), ("2, 3", (2, 3)), ("129", (129,)), ("200", (200,)), ("5000", (5000,)), ("n", (6,)), ("n", (0,))])
def test_several(dims, shape, dtype):
    """Of the same argument, of two, of three; numerators and denominators of any degree."""
    lists = [([1, 2], [1, 3, 5]), ([0.5, 2, 1], [4]), ([3], [1, 0, 2]), ([2, 5], [3, 4])]
    rng = np.random.default_rng(4)
    x, y, z = (rng.uniform(0, 9, shape).astype(dtype) for _ in range(3))
    for names in ("xxxx", "xyxy", "yyyx", "xyzx"):
        call = ", ".join(f"{n}, {p}, {q}" for n, (p, q) in zip(names, lists))
        text = f"graph g(x: {dtype}[{dims}], y: {dtype}[{dims}], z: {dtype}[{dims}]) -> (a, b, c, d) {{ a, b, c, d = rational({call}) }}"
        for opset in SOME_OPSETS:
            model = ptg.compile(text, opset, options=("-Wno-unused",))
            got = ptg.run(model, x, y, z)
            for n, (p, q), r in zip(names, lists, got):
                v = {"x": x, "y": y, "z": z}[n].astype(float)
                assert r.dtype == x.dtype and r.shape == x.shape
                np.testing.assert_allclose(r, np.polyval(p, v) / np.polyval(q, v), rtol=1e-4 if dtype == "float32" else 1e-12)


def test_several_of_unlike_shapes():
    text = "graph g(x: float64[3], y: float64[]) -> (a, b) { a, b = rational(x, [1, 2], [3, 1], y, [2, 1], [1, 4]) }"
    x, y = np.array([1.0, 2, 3]), np.array(5.0)
    a, b = ptg.run(text, x, y)
    np.testing.assert_allclose(a, (x + 2) / (3 * x + 1))
    np.testing.assert_allclose(b, (2 * y + 1) / (y + 4))


def test_nodes_of_several():
    text = "graph g(x: float64[{n}], y: float64[{n}]) -> (a, b) {{ a, b = rational(x, [1, 2, 3], [3, 1], y, [2, 1], [1, 4]) }}"
    assert ptg.nodes(ptg.compile(text.format(n=512))) == 1 + 4 + 3 + 2
    assert ptg.nodes(ptg.compile(text.format(n=513))) == 4 + 3 + 2 + 3


def test_a_fn_of_that_name_hides_it():
    text = "fn rational(x: F) -> (y) { y = x + 1 }\ngraph g(x: float64[n]) -> (y) { y = rational(x) }"
    assert ptg.run(text, np.array([2.0]))[0] == 3


LONG = [0.3, 1.5, 2, 0.7, 5, 3, 2.25, 1], [1, 0.5, 4, 3, 2, 7, 1, 6, 2]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("dims, shape", [("", ()), ("1", (1,)), ("7", (7,)), ("28", (28,)), ("29", (29,)), ("2, 3", (2, 3)), ("1, 1, 4", (1, 1, 4)), ("0", (0,))])
def test_long_polynomials(dims, shape, dtype):
    """Sums of powers, where these are few."""
    x = np.random.default_rng(5).uniform(0, 3, shape).astype(dtype)
    y = np.full(shape, 1e60 if dtype == "float64" else 1e15, dtype)
    d = x.astype(np.longdouble)
    near = 1e-14 if dtype == "float64" else 4e-6
    for opset in SOME_OPSETS:
        model = ptg.compile(graph(dims, dtype, *LONG), opset)
        np.testing.assert_allclose(ptg.run(model, x), np.polyval(LONG[0], d) / np.polyval(LONG[1], d), near)
        text = f"graph g(x: {dtype}[{dims}], y: {dtype}[{dims}]) -> (a, b) {{ a, b = rational(x, {LONG[0]}, {LONG[1]}, y, [1, 2], [4, 1]) }}"
        a, b = ptg.run(ptg.compile(text, opset), x, y)
        np.testing.assert_allclose(a, np.polyval(LONG[0], d) / np.polyval(LONG[1], d), near)
        np.testing.assert_allclose(b, np.full(shape, 0.25), near)  # y**8 overflows, but nobody asks for it
        assert np.isnan(ptg.run(model, np.full(shape, np.nan, dtype))).all()


def test_nodes_of_long_polynomials():
    assert ptg.nodes(ptg.compile(graph("28", "float64", *LONG))) == 4 + 3
    assert ptg.nodes(ptg.compile(graph("29", "float64", *LONG))) == 16 + 3


@pytest.mark.parametrize("name", ["Gammaln", "Psi", "Erf", "Erfc", "Erfcx", "Ndtri", "Owens_t", "I0e", "Kve", "Tri_gamma"])
def test_numbers_and_arrays(name):
    """A function of single numbers and of arrays, which go other ways."""
    x = np.random.default_rng(6).uniform(0.01, 0.99, 4000)
    x[1000:] *= np.geomspace(0.01, 40, 3000) if name != "Ndtri" else 1
    call = {"Owens_t": "Owens_t(x, 0.7)", "Kve": "Kve(0.5, x)", "Ndtri": "Erfinv(x)"}.get(name, f"{name}(x)")
    for dtype in ("float64", "float32"):
        v = x.astype(dtype)
        many = ptg.run(f"graph g(x: {dtype}[4000]) -> (y) {{ y = {call} }}", v, math="standard")
        few = ptg.compile(f"graph g(x: {dtype}[4]) -> (y) {{ y = {call} }}", math="standard")
        got = np.concatenate([ptg.run(few, v[k : k + 4]) for k in range(0, 4000, 40)])
        want = np.concatenate([many[k : k + 4] for k in range(0, 4000, 40)])
        np.testing.assert_allclose(got, want, *((2e-15, 4e-16) if dtype == "float64" else (1e-6, 1e-6)))
