"""-0.0 stays -0.0 wherever a value is chosen: ONNX Runtime's Where makes +0 of it on one side."""

import itertools

import numpy as np
import onnx
import pytensor.tensor as pt
import pytest

import ptg
from harness import FLOATS, Compiled, compare, variable

SHAPES = ((), (1,), (4,), (3, 1), (3, 4), (1, 4))
VALUES = [-0.0, 0.0, np.nan, np.inf, -np.inf, 1, -2]


def draw(rng, shape, dtype):
    return np.asarray(rng.choice(np.array(VALUES, dtype), shape))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("dynamic", [False, True])
def test_switch(dtype, dynamic):
    """All ways in which three shapes broadcast; NaN and inf go through unchanged."""
    rng = np.random.default_rng(1)
    for shapes in itertools.product(SHAPES, repeat=3):
        if dynamic and len({len(s) for s in shapes}) > 1:
            continue
        c, x, y = [variable(d, s, dynamic, n) for d, s, n in zip(("bool", dtype, dtype), shapes, "cxy")]
        f = Compiled([c, x, y], [pt.switch(c, x, y), pt.switch(~c, x, y), pt.switch(c, x, 0), pt.switch(c, -1, y)], (18,))
        for _ in range(3):
            f.run(np.asarray(rng.integers(0, 2, shapes[0]), bool), *[draw(rng, s, dtype) for s in shapes[1:]])


def test_every_opset():
    c, x, y = pt.bmatrix("c"), pt.dmatrix("x"), pt.dmatrix("y")
    f = Compiled([c, x, y], [pt.switch(c, x, y), pt.switch(pt.neq(x, y), x, y)])
    f.run([[0, 1, 2]], [[-0.0, -0.0, 0]], [[-0.0, 1, -0.0]])


def test_one_row_at_run_time():
    """The side that the runtime asks first depends on lengths that are 1 only at run time."""
    c, x, y = pt.tensor("c", dtype="bool", shape=(None, 1)), pt.matrix("x"), pt.tensor("y", shape=(None, 1))
    f = Compiled([c, x, y], [pt.switch(c, x, y), pt.switch(c, y, x)], (18,))
    for n in (1, 3):
        for k in (True, False):
            f.run(np.full((2, 1), k), np.full((2, n), -0.0), np.full((2, 1), -0.0))


OTHERS = {
    "clip": lambda x, y: pt.clip(x, y, 5),
    "clip both": lambda x, y: pt.clip(x, -0.0, y),
    "mask set": lambda x, y: x[pt.isnan(y)].set(-0.0),
    "mask inc": lambda x, y: x[pt.isnan(y)].inc(-0.0),
    "diag": lambda x, y: pt.diag(x),
    "diag offset": lambda x, y: pt.diag(x, 1),
    "fill_diagonal": lambda x, y: pt.fill_diagonal(pt.outer(x, y), -0.0),
    "trunc": lambda x, y: pt.trunc(x),
    "round": lambda x, y: pt.round(x),
    "round away": lambda x, y: pt.round(x, mode="half_away_from_zero"),
    "sign": lambda x, y: pt.sign(x),
    "ceil": lambda x, y: pt.ceil(x * 0.1),
    "sin": lambda x, y: pt.sin(x),
    "tan": lambda x, y: pt.tan(x),
    "arcsin": lambda x, y: pt.arcsin(x),
    "arctan": lambda x, y: pt.arctan(x),
    "arctan2": lambda x, y: pt.arctan2(x, y),
    "sinh": lambda x, y: pt.sinh(x),
    "tanh": lambda x, y: pt.tanh(x),
    "arcsinh": lambda x, y: pt.arcsinh(x),
    "arctanh": lambda x, y: pt.arctanh(x),
    "expm1": lambda x, y: pt.expm1(x),
    "log1p": lambda x, y: pt.log1p(x),
    "erf": lambda x, y: pt.erf(x),
    "erfinv": lambda x, y: pt.erfinv(x),
    "pow": lambda x, y: x**3,
    "sqrt": lambda x, y: pt.sqrt(x),
    "deg2rad": lambda x, y: pt.deg2rad(x),
    "j1": lambda x, y: pt.j1(x),
    "i1": lambda x, y: pt.i1(x),
    "int_div": lambda x, y: x // 1,
    "pad": lambda x, y: pt.pad(x, 2, constant_values=-0.0),
    "pad edge": lambda x, y: pt.pad(x, 2, mode="edge"),
    "cumsum": lambda x, y: pt.cumsum(x[:1]),
    "relu": lambda x, y: pt.switch(x > 0, x, y),
    "choose": lambda x, y: pt.choose(pt.isnan(y).astype("int64"), pt.stack([x, y])),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", OTHERS)
def test_others(name, dtype):
    x, y = pt.vector("x", dtype=dtype), pt.vector("y", dtype=dtype)
    f = Compiled([x, y], [OTHERS[name](x, y)], (18,))
    zeros = np.array([-0.0, 0.0, -0.0, 0.0, -0.0, 0.5])
    f.run(zeros, np.array([np.nan, np.nan, 1, -1, -0.0, 0]))
    f.run(zeros, np.array([-0.0, 0, np.nan, -0.0, 1, -0.0]))


def test_a_negative_factor_of_gemm():
    text = """graph g(c: bool[n], z: float64[2, 2], u: float64[n]) -> (y) {
  p = Exp(z)
  g = Gemm(p, float64(-1), p, p, float64(1))
  y = Switch(c, Abs(u) * g[0, 0], 1.0)
}"""
    z = np.array([[0.0, 1], [1, 2]])
    assert (np.exp(z) - np.exp(z) @ np.exp(z))[0, 0] < 0
    y = ptg.run(text, np.array([True, False]), z, np.zeros(2))
    assert np.array_equal(np.signbit(y), [True, False]) and np.array_equal(y, [0, 1])


@pytest.mark.parametrize("dtype", FLOATS)
def test_added_to_zeros(dtype):
    """The sum of 0 and -0 is 0, whatever stands for it."""
    y, n = pt.vector("y", dtype=dtype), pt.lscalar("n")
    zero = np.zeros(5, dtype)
    outputs = [pt.zeros(5, dtype=dtype)[1:4].inc(y), pt.as_tensor(zero)[1:4].inc(y), pt.zeros(n, dtype=dtype)[1:4].inc(y)]
    outputs += [pt.zeros_like(y)[:3].inc(y), pt.zeros_like(y)[1].inc(y[0]), pt.zeros((2, 3), dtype=dtype)[1].inc(y), pt.zeros(5, dtype=dtype)[1:4].set(y)]
    f = Compiled([y, n], outputs)
    f.run([-0.0, 1, -0.0], 5)


def count(params, body, *options):
    model = ptg.compile(f"ptg 1\n\ngraph g({params}) -> (y) {{\n  {body}\n}}\n", options=options)
    return ptg.nodes(model), model


COSTS = {  # condition and first value, second value: nodes
    "neither can be": ("x: float64[n], c: bool[n]", "Switch(c, Exp(x), 0.5)", 2),
    "the second can be": ("x: float64[n], c: bool[n]", "Switch(c, -1.0, x)", 1),
    "integers": ("x: int64[n], c: bool[n]", "Switch(c, x, 0)", 1),
    "a sum with a constant": ("x: float64[n], c: bool[n]", "Switch(c, x + 1, x)", 2),
    "a scalar condition": ("x: float64[3], c: bool[]", "Switch(ExpandDims{axis=0}(c), x, 0.5)", 1),
    "the first can be": ("x: float64[n], c: bool[n]", "Switch(c, x, 0.5)", 2),
    "Neq": ("x: float64[n], c: float64[n]", "Switch(Neq(c, 2), x, 0.5)", 2),
    "relu": ("x: float64[n]", "Switch(x > 0, x, 0.1 * x)", 3),
    "relu, mirrored": ("x: float64[n]", "Switch(float64([0]) < x, x, 0.1 * x)", 3),
    "relu from below": ("x: float64[n]", "Switch(x < 0, -x, x)", 3),
    "at least 0": ("x: float64[n]", "Switch(x >= 0, x, 0.1 * x)", 6),
    "not 0": ("x: float64[n], z: float64[n]", "Switch(Neq(x, 0), x, 0.1 * z)", 4),
    "both can be": ("x: float64[n], z: float64[n], c: bool[n]", "Switch(c, x, z)", 4),
}


@pytest.mark.parametrize("case", COSTS)
def test_cost(case):
    params, body, nodes = COSTS[case]
    assert count(params, f"y = {body}", "-fno-check-dims")[0] == nodes


def test_off():
    params, body = "x: float64[n], z: float64[n], c: bool[n]", "y = Switch(c, x, z)"
    nodes, model = count(params, body, "-fno-check-dims", "-fno-signed-zeros")
    assert nodes == 1 and onnx.load_from_string(model).graph.node[0].op_type == "Where"
    nodes, model = count(params, body, "--target=onnx")
    assert nodes == 1
    got = ptg.run(count(params, body, "-fno-check-dims")[1], [-0.0], [1.0], [True])
    compare(got, np.array([-0.0]), "with signed zeros")


@pytest.mark.parametrize("option", ["-fhoist", "-fno-hoist"])
def test_a_shared_choice(option):
    """A Where by hand that leaves a loop and stands for a Switch, too, keeps -0 for that."""
    body = """
  a = loop (i in 0:steps, s: float64[n, 4] = y) -> (s) {
    w = onnx.Where(onnx.Not(c), x, y)
    next s = s * w + 1.0
  }
  b = 1.0 / Switch(onnx.Not(c), x, y)"""
    text = f"ptg 1 optimise\ngraph g(c: bool[n, 1], x: float64[n, 1], y: float64[n, 4], steps: int64[]) -> (a, b) {{{body}\n}}\n"
    model = ptg.compile(text, math="exact", options=(option,))
    zeros = -np.zeros((2, 4))
    b = ptg.run(model, np.array([[True], [False]]), zeros[:, :1], zeros, np.array(1))[1]
    np.testing.assert_array_equal(b, np.full((2, 4), -np.inf))


PLUS_ZERO = ("Sin(x) * 0.5 + 0.0", "0.0 + Tanh(x)", "Sin(x) - (-0.0)", "w * float64(0.5) + 0.5 * float64(0.5) * float64(0.0)")


@pytest.mark.parametrize("opset", [13, 18, 26])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("form", PLUS_ZERO)
def test_plus_zero(form, dtype, opset):
    """-0 + 0 is +0: ONNX Runtime drops an Add of 0 to what a node computes."""
    form = form.replace("float64", dtype)
    text = f"ptg 1\ngraph g(x: {dtype}[n], w: {dtype}[]) -> (y) {{\n  y = 1 / ({form})\n}}\n"
    for level in "-O0", "-O1":
        model = ptg.compile(text, math="exact", opset=opset, options=(level, "-Wno-unused"))
        for n in 0, 1, 2:
            y = ptg.run(model, np.array([-0.0, 0.0][:n], dtype), np.array(-0.0, dtype))
            np.testing.assert_array_equal(y, np.full(np.shape(y), np.inf))
