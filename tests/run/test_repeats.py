"""-frepeats (src/typed/repeats.c): what is summed up over constants is computed once for elements that are the same,
and by the classes that masks make of them (src/typed/classes.c)."""

import subprocess

import numpy as np
import onnx
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.graph.replace import vectorize_graph
from pytensor.raise_op import CheckAndRaise

import ptg
from harness import Compiled

K = 480
RNG = np.random.default_rng(0)
COUNTS = RNG.integers(0, 4, K).astype("float64")
SIGNED = np.where(COUNTS == 2, -0.0, COUNTS)  # 0 and -0 are two elements
WEIRD = np.select([COUNTS == 0, COUNTS == 1, COUNTS == 2], [np.nan, np.inf, -np.inf], COUNTS)
X = RNG.normal(size=K)


def longest(model):
    """The longest axis of a constant"""
    tensors = [*model.graph.initializer, *(a.t for n in model.graph.node for a in n.attribute if a.name == "value")]
    return max((d for t in tensors for d in t.dims), default=0)


def check(inputs, outputs, points, joined, math="standard", **tolerance):
    c = Compiled(inputs, outputs, math=math)
    assert joined in (None, longest(c.model) < K)
    for p in points:
        with np.errstate(all="ignore"):
            c.run(*p, ulp={"float64": 200, "float32": 200}, **tolerance)
    return c


POINTS = [0.3, 0.0, -0.0, -1.5, np.nan, np.inf, -np.inf]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("data", [COUNTS, SIGNED, WEIRD], ids=["counts", "signed", "weird"])
def test_densities(data, dtype):
    k, x = data.astype(dtype), pt.scalar("x", dtype=dtype)
    f = pt.switch(pt.eq(k, 0), -x, pt.exp(-x * x * k) + k * pt.log(abs(x * k) + np.asarray(1, dtype)))
    g = [f.sum(), pt.grad(f.sum(), x), pt.all(k + x > -1), pt.any(k + x > 2), pt.max(k * x), pt.min(k * x)]
    check([x], g, [(np.asarray(v, dtype),) for v in POINTS], True, atol=1e-4 if dtype == "float32" else 1e-9, zero_sign=False)


def test_exact_sums_of_float32_stay():
    x = pt.scalar("x", dtype="float32")
    y = pt.exp(x * COUNTS.astype("float32") + x).sum()
    check([x], [y], [(np.float32(0.3),)], False, math="exact", atol=1e-4)
    x = pt.scalar("x", dtype="float64")
    check([x], [pt.exp(pt.cos(x * COUNTS) + x).sum()], [(0.3,)], True, math="exact", atol=1e-11)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_many_points(n):
    """Axes before and behind that of the constants"""
    x = pt.matrix("x", shape=(None, 3))
    table = np.stack([COUNTS, 2 * COUNTS, 1 - COUNTS], 1)
    f = pt.log(1 + pt.exp(pt.cos(x[:, None, :] * table) + table))
    most, soft = pt.special.logsumexp(f, axis=2), pt.special.softmax(f, axis=2)
    both = pt.join(2, soft, most[:, :, None], pt.alloc(1.0, x.shape[0], K, 1))
    outs = [most.sum(axis=1), f.sum(axis=(1, 2)), both.sum(axis=1), (most[:, :, None] * soft).sum(axis=1), pt.all(f > 0)]
    check([x], outs, [(RNG.normal(size=(n, 3)),)], True, atol=1e-11)


GROUP, CLASS = RNG.integers(0, 5, K), RNG.integers(0, 4, K)
PLACES = np.arange(K)
PICKS = {
    "rows": lambda x: pt.exp(x[:, GROUP]).sum((1, 2)),
    "rows from behind": lambda x: pt.exp(x[:, GROUP - 5]).sum((1, 2)),
    "columns": lambda x: pt.exp(x[:, :, CLASS] + 1).sum(2),
    "elements": lambda x: pt.exp(x[:, GROUP, CLASS]).sum(1),
    "a table": lambda x: pt.exp(x[:, np.stack([GROUP, CLASS], 1)]).sum((1, 3)),
    "places": lambda x: pt.log(1 + pt.exp(x[:, GROUP])[:, PLACES, CLASS]).sum(1),
    "places of columns": lambda x: pt.exp(x[:, GROUP][:, PLACES[:, None], np.stack([CLASS, CLASS], 1)]).sum(1),
    "places twice": lambda x: pt.exp(x[:, GROUP][:, PLACES, CLASS][:, PLACES] + COUNTS).sum(1),
    "one column": lambda x: pt.exp(x[:, GROUP][:, PLACES, [1]]).sum(1),
    "checked": lambda x: pt.switch(pt.all(x[:, GROUP] < 5, (1, 2)), pt.exp(x[:, GROUP][:, PLACES, CLASS]).sum(1), 0.0),
}
OTHER_PICKS = {
    "some places": lambda x: pt.exp(x[:, GROUP][:, PLACES[:50], CLASS[:50]]).sum(1),
    "places backwards": lambda x: pt.exp(x[:, GROUP][:, PLACES[::-1], CLASS]).sum(1),
    "a place twice": lambda x: pt.exp(x[:, GROUP][:, np.maximum(PLACES, 1), CLASS]).sum(1),
    "a diagonal": lambda x: pt.exp(x[:, GROUP][:, :, GROUP % 4][:, PLACES, PLACES]).sum(1),
    "indices apart": lambda x: pt.exp(x[GROUP % 2, :, CLASS]).sum((0, 1)) + x[0, 0, 0],
    "a mask": lambda x: pt.exp(x[:, GROUP][:, CLASS > 1]).sum((1, 2)),
}  # fmt: skip


@pytest.mark.parametrize("name", [*PICKS, *OTHER_PICKS])
def test_picks(name):
    """x[:, k] for a constant k"""
    x = pt.tensor3("x", shape=(None, 5, 4))
    y = (PICKS | OTHER_PICKS)[name](x)
    points = [(RNG.normal(size=(n, 5, 4)),) for n in (3, 2)] + [(np.full((2, 5, 4), np.nan),)]
    c = Compiled([x], [y], math="standard")
    assert name in OTHER_PICKS or longest(c.model) < K
    for p in points:
        c.run(*p, atol=1e-10)


def test_picks_of_batches():
    """As vectorize_graph writes them: Blockwise of the indexing"""
    p, x = pt.matrix("p", shape=(5, 4)), pt.tensor3("x", shape=(None, 5, 4))
    y = pt.log(p[GROUP][PLACES, CLASS]).sum() + pt.all(p[GROUP] > 0)
    y = vectorize_graph(y, {p: x})
    c = Compiled([x], [y], math="standard")
    assert longest(c.model) < K
    for n in 0, 1, 3:
        c.run(RNG.uniform(size=(n, 5, 4)), atol=1e-9)


ROWS = np.stack([COUNTS, COUNTS, COUNTS], 1)
STAY = {
    "an input of this length": lambda x, v: pt.exp(v + COUNTS * x).sum(),
    "elements that are read": lambda x, v: pt.exp(x + COUNTS).sum() + pt.exp(x + COUNTS)[3],
    "a result": lambda x, v: [pt.exp(x + COUNTS).sum(), pt.exp(x + COUNTS)],
    "running sums": lambda x, v: pt.cumsum(pt.exp(x + COUNTS)).sum(),
    "order": lambda x, v: pt.exp(x + COUNTS)[::-1].sum() + pt.dot(pt.exp(x + COUNTS), v),
    "softmax": lambda x, v: (pt.special.softmax(x * COUNTS) * COUNTS).sum(),
    "products": lambda x, v: pt.tanh(x + COUNTS).prod() + pt.tanh(x + COUNTS).sum(),
    "means": lambda x, v: pt.exp(x + COUNTS).mean(),
    "integers": lambda x, v: pt.eq(x, COUNTS).sum() + pt.exp(x + COUNTS).sum(),
    "all different": lambda x, v: pt.exp(pt.cos(x + X)).sum(),
    "both axes": lambda x, v: (lambda f: (f + f.T).sum())(pt.exp(x + COUNTS[:, None] + X)),
    "a loop": lambda x, v: pytensor.scan(lambda f: f * f, pt.exp(x + COUNTS), return_updates=False).sum(),
}


@pytest.mark.parametrize("name", STAY)
def test_what_stays(name):
    x, v = pt.scalar("x"), pt.vector("v", shape=(K,))
    y = STAY[name](x, v)
    check([x, v], y if isinstance(y, list) else [y], [(0.3, X), (np.nan, X), (-2.0, 0 * X)], False, atol=1e-9)


def test_checks_stay():
    """A check in a region fails as before."""
    text = "graph g(x: float64[]) -> (y) { k = float64([1, 1, 2, 2" + 100 * ", 1" + "])\n c = CheckAndRaise{msg=\"x\"}(Exp(Cos(x * k)), All(Gt(x + k, 0.0)))\n y = Sum(Exp(Exp(Exp(Cos(c))))) }"
    model = ptg.compile(text)
    assert longest(onnx.load_from_string(model)) == 2
    k = np.array([1, 2])
    c = np.exp(np.cos(0.5 * k))
    np.testing.assert_allclose(ptg.run(model, 0.5), np.exp(np.exp(np.exp(np.cos(c)))) @ [102, 2], rtol=1e-12)
    with pytest.raises(Exception, match="x"):
        ptg.run(model, -1.5)


@pytest.mark.parametrize("args", ["k", "k, x", "k, x, k", "x"])
def test_ops_of_any_number_of_arguments(args):
    """The costs of LogAddExp are those of its body, which has two arguments."""
    text = f"graph g(x: float64[]) -> (y) {{ k = float64([{'1, 2, ' * 40}])\n y = Sum(LogAddExp({args})) }}"
    k, x = np.array([1.0, 2.0] * 40), np.float64(0.5)
    want = np.sum(np.logaddexp.reduce(np.broadcast_arrays(*[{"k": k, "x": x}[a] for a in args.split(", ")])))
    np.testing.assert_allclose(ptg.run(text, x), want, rtol=1e-13)


def test_many_terms():
    """Regions by the thousand, those that are given up included"""
    lines = [f"a{i} = Sum(Exp(Exp(x * float64([{i}, {i}, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]))) + {'v' if i % 2 else 'x'})" for i in range(1000)]
    text = "graph g(x: float64[], v: float64[16]) -> (y) {\n" + "\n".join(lines) + "\n y = " + " + ".join(f"a{i}" for i in range(1000)) + "\n}"
    x, v = 0.01, np.linspace(0, 1, 16)
    want = sum(np.sum(np.exp(np.exp(x * np.array([i] * 2 + [1.0] * 14))) + (v if i % 2 else x)) for i in range(1000))
    np.testing.assert_allclose(ptg.run(text, x, v), want, rtol=1e-12)


def test_known_integers():
    """y + 1 and y < 2 of few integers are known while compiling, and repeat as y does."""
    y = RNG.integers(0, 4, 60)
    text = f"graph g(x: float64[]) -> (s) {{ y = int64({y.tolist()})\n s = Sum(Switch(y < 2, Exp(Cos(y + x)), Exp(Cos((y + 1) * x)))) }}"
    model = ptg.compile(text)
    assert longest(onnx.load_from_string(model)) <= 4
    want = np.sum(np.where(y < 2, np.exp(np.cos(y + 0.3)), np.exp(np.cos((y + 1) * 0.3))))
    np.testing.assert_allclose(ptg.run(model, 0.3), want, rtol=1e-13)


@pytest.mark.parametrize("statement", ["a = Exp(x)", "a = Exp(x)\n b = Sum(a)", "a: float64[] = Exp(x)"])
def test_calls_that_are_written_twice(statement):
    """What a density computes and a text computes again is one region, and one value of the model."""
    text = f"""fn Density(k, x) -> (y) {{ y = Sum(Exp(Cos(k + Exp(x)))) }}
    graph g(x: float64[]) -> (s, t) {{
      k = float64([{"1, 2, 3, " * 40}])
      {statement}
      s = Density(k, x)
      t = Sum(Sin(k + a)) + a
    }}"""
    model = ptg.compile(text)
    graph = onnx.load_from_string(model).graph
    assert longest(onnx.load_from_string(model)) == 3
    assert sum(n.op_type == "Exp" for n in graph.node) == 2  # of x, and of the cosines
    k, a = np.array([1.0, 2, 3] * 40), np.exp(0.3)
    np.testing.assert_allclose(ptg.run(model, 0.3), [np.exp(np.cos(k + a)).sum(), np.sin(k + a).sum() + a], rtol=1e-12)


def test_lengths_of_equal_calls():
    """x[c] has a length of its own each time that it is written: nothing is confused."""
    text = """graph g(x: float64[n], c: bool[n]) -> (s, t, u) {
      y = x[c]
      z = x[c]
      s = Sum(y * y)
      t = Shape(z)[0]
      u = y + z
    }"""
    x, c = np.array([1.0, 2, 3]), np.array([True, False, True])
    s, t, u = ptg.run(ptg.compile(text), x, c)
    assert (s, t) == (10, 2) and u.tolist() == [2, 6]


@pytest.mark.parametrize("line, weight", [("const k = FILE", False), ("const k: float64[K] = FILE", False), ("k = FILE", True)])
def test_data_of_files(line, weight, tmp_path):
    """A const is a number of the text, which a statement's weight is not: other tools may exchange that."""
    np.save(tmp_path / "k.npy", COUNTS)
    line = line.replace("FILE", 'file("k.npy")').replace("K", str(K))
    const, inside = ("", line) if weight else (line, "")
    (tmp_path / "m.ptg").write_text(f"{const}\ngraph g(x: float64[]) -> (s) {{ {inside}\n s = Sum(Exp(Cos(k + x)))\n}}\n")
    subprocess.run([ptg.PTGC, tmp_path / "m.ptg", "-o", tmp_path / "m.onnx"], check=True)
    model = onnx.load(tmp_path / "m.onnx")
    assert (longest(model) == K) == weight
    assert weight == ("k" in {t.name for t in model.graph.initializer})
    np.testing.assert_allclose(ptg.run(model.SerializeToString(), 0.3), np.exp(np.cos(COUNTS + 0.3)).sum(), rtol=1e-12)


LOW, HIGH, MOST = COUNTS == 0, COUNTS == 3, np.arange(K) > 5


def chooses(model):
    """Does a constant choose?"""
    known = {t.name for t in model.graph.initializer} | {n.output[0] for n in model.graph.node if n.op_type == "Constant"}
    return any(n.op_type == "Where" and n.input[0] in known for n in model.graph.node)


def censored(x, k):
    """Each side has a tail of its own, as PyMC's Censored has."""
    low, high = pt.log1p(-0.5 * pt.erfc(x * k)), pt.log(0.5 * pt.erfcx(x + k))
    return pt.switch(LOW, low, pt.switch(HIGH, high, -0.5 * (x - k) ** 2))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("data", [COUNTS, RNG.normal(size=K)], ids=["counts", "different"])
def test_classes(data, dtype):
    x = pt.scalar("x", dtype=dtype)
    f = censored(x, data.astype(dtype)).sum()
    points = [(np.asarray(v, dtype),) for v in POINTS]
    c = check([x], [f], points, data is COUNTS or None, zero_sign=False)
    assert not chooses(c.model)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_classes_of_many_points(n):
    x = pt.vector("x")
    f = censored(x[:, None], COUNTS)
    outs = [f.sum(axis=1), pt.grad(f.sum(axis=1).sum(), x), pt.all(f < 1e9, axis=1), f.max(axis=1), f.min(axis=1), pt.any(f < 0)]
    check([x], outs, [(RNG.normal(size=n),)], True, atol=1e-9)


W = RNG.normal(size=K)
SHORTER = {  # a Switch whose argument is shorter than the result, and whether it stays
    "zeros": (lambda x, e: pt.switch(LOW, 0, pt.erfcx(x * W)).sum(), False),
    "zeros that are chosen again": (lambda x, e: (pt.switch(x > 0, pt.switch(LOW, 0, pt.erfcx(x + W)), pt.switch(LOW, 0.0, W)) + 0).sum(), False),
    "numbers stretched": (lambda x, e: (pt.switch(MOST, 2, pt.erfcx(x * W)) * (x + W)).sum(), False),
    "numbers": (lambda x, e: pt.switch(LOW, 2, pt.erfcx(x * W)).sum(), True),
    "parameters": (lambda x, e: pt.switch(LOW, x, pt.erfcx(x * W)).sum(), True),
    "zeros as divisors": (lambda x, e: (pt.exp(x + W) / pt.switch(MOST, 0, pt.erfcx(x * W))).sum(), False),
    "zeros in a function": (lambda x, e: pt.exp(pt.switch(LOW, 0, pt.erfcx(x * W))).sum(), True),
    "zeros alone": (lambda x, e: (pt.switch(LOW, 0, pt.erfcx(x * W)) * pt.switch(LOW, pt.erfcx(x - W), 0)).sum(), None),
    "a check": (lambda x, e: e(pt.switch(LOW, 0, e(pt.erfcx(x * W), pt.le(abs(x), np.inf) | pt.isnan(x))), pt.eq(x, x) | pt.isnan(x)).sum(), False),
    "another axis": (lambda x, e: pt.switch(LOW[:, None], pt.erfc(x * W)[:, None], pt.erfcx(x + W)[:, None] * ROWS).sum(axis=0).sum(), None),
    "softmax": (lambda x, e: (pt.special.softmax(pt.switch(LOW, 0, pt.erfcx(x * W))[:, None] * ROWS[:1, :2] + W[:, None], axis=1) ** 2).sum(), None),
    "a number of a lower rank": (lambda x, e: pt.switch(LOW[:, None], np.int8(0), pt.erfcx(x * W)[:, None] * ROWS).sum(), False),
    "an integer": (lambda x, e: (pt.exp(x + W) * pt.switch(~MOST, pt.erfc(x * W), np.int8(3))).sum(), False),
    "any": (lambda x, e: pt.any(pt.switch(LOW, np.array(False), pt.erfcx(x * W) > 1)) * pt.erfc(x), None),
}


@pytest.mark.parametrize("name", SHORTER)
@pytest.mark.parametrize("many", [False, True])
def test_shorter_arguments(name, many):
    f, stays = SHORTER[name]
    x = pt.scalar("x")
    y = f(x, lambda v, c: pt.switch(c, v, v) if many else CheckAndRaise(ValueError, "x")(v, c))
    if many:
        y, x = vectorize_graph([y], {x: (v := pt.vector("v"))})[0], v
    c = check([x], [y], [(np.asarray([p] * 3 if many else p),) for p in POINTS], None, atol=1e-9, zero_sign=False)
    assert stays in (None, chooses(c.model))
