"""Scan against PyTensor's own loop: the graph as written, and as ONNX mode rewrites it."""
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.scan.basic import scan
from pytensor.scan.utils import until

import ptg
import ptgc  # noqa: F401
from harness import Compiled, compare
from opsets import SOME_OPSETS

@pytest.fixture
def rng():
    return np.random.default_rng(20260101)


NEAR = dict(atol=1e-14)  # products and their gradients, in another order, which cancel


def loop(fn, **options):
    return scan(fn, return_updates=False, **options)


def agree(inputs, outputs, *calls, opsets=SOME_OPSETS):
    """Both forms of the graph give what PyTensor's Python code gives for the graph as written."""
    c = Compiled(inputs, outputs, opsets=opsets)
    f = pytensor.function(inputs, outputs, mode="ONNX", on_unused_input="ignore")
    for args in calls:
        c.run(*args, **NEAR)
        args = [np.asarray(a, dtype=i.type.dtype) for a, i in zip(args, inputs)]
        for k, (got, want) in enumerate(zip(f(*args), c.python(*args), strict=True)):
            compare(got, want, f"ONNX mode, output {k}", **NEAR)


@pytest.fixture
def rnn(rng):
    xs, h0, w = pt.matrix("xs", dtype="float64"), pt.vector("h0", dtype="float64"), pt.matrix("W", dtype="float64")
    hs = loop(lambda x, h, w: pt.tanh(x + h @ w), sequences=[xs], outputs_info=[h0], non_sequences=[w])
    calls = [(rng.normal(size=(n, 3)), rng.normal(size=3), rng.normal(size=(3, 3))) for n in (1, 2, 7)]
    return [xs, h0, w], hs, calls


def test_states(rnn):
    inputs, hs, calls = rnn
    agree(inputs, [hs, hs[-1]], *calls)
    agree(inputs, [hs[-1]], *calls)
    agree(inputs, [hs[-2:], hs[::2], hs.shape[0]], *calls)


def test_gradient_of_states(rnn):
    inputs, hs, calls = rnn
    agree(inputs, pt.grad((hs**2).sum(), inputs), *calls)
    agree(inputs, pt.grad(hs[-1].sum(), inputs), *calls)


@pytest.mark.parametrize("steps", [1, 2, 3, 9])
def test_several_taps(rng, steps):
    a, c = pt.vector("a", dtype="float64"), pt.scalar("c", dtype="float64")
    y = loop(
        lambda u, v, w, c: pt.sin(u * c) + v * w, outputs_info=[dict(initial=a, taps=[-3, -2, -1])],
        non_sequences=[c], n_steps=steps)
    args = (rng.normal(size=3), 0.7)
    agree([a, c], [y, y[-1]], args)
    agree([a, c], pt.grad((y**2).sum(), [a, c]), args)


def test_sparse_taps(rng):
    a = pt.vector("a", dtype="float64")
    y = loop(lambda u, w: u * 0.5 + w, outputs_info=[dict(initial=a, taps=[-5, -2])], n_steps=8)
    agree([a], [y, y[-2:], *pt.grad(y.prod(), [a])], (rng.normal(size=5),))


def test_sequence_taps(rng):
    x = pt.vector("x", dtype="float64")
    y = loop(lambda u, v, s: s + u * v, sequences=[dict(input=x, taps=[-2, 1])], outputs_info=[pt.constant(0.0, dtype="float64")])
    agree([x], [y, *pt.grad(y.sum(), [x])], *[(rng.normal(size=n),) for n in (4, 9)])


@pytest.mark.parametrize("backwards", [False, True])
def test_counting(backwards):
    n = pt.lscalar("n")
    s, d = loop(
        lambda i, s: (s + i, i * 2), sequences=[pt.arange(n)], go_backwards=backwards,
        outputs_info=[pt.constant(0, dtype="int64"), None])
    agree([n], [s, d], (0,), (1,), (2,), (7,))
    agree([n], [s[-1:], d[-2:]], (2,), (7,))  # below 2 PyTensor's own rewrites give d two rows all the same


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float32", "float64"])
def test_dtypes(dtype):
    x, s = pt.matrix("x", dtype=dtype), pt.vector("s", dtype=dtype)
    y, z = loop(lambda x, s: (pt.maximum(x, s), pt.cast(x, "int32")), sequences=[x], outputs_info=[s, None])
    v = np.array([[3, 0, 1], [0, 1, 2]]).astype(dtype)
    agree([x, s], [y, z], (v, v[0]), (v[:1], v[1]))


@pytest.mark.parametrize("limit", [0.5, 3.0, 20.0, 1e9])
def test_until(limit):
    x = pt.scalar("x", dtype="float64")
    y, z = loop(lambda s, x: ((s * 2, s + x), until(s > x)), outputs_info=[pt.constant(1.0, dtype="float64"), None],
                non_sequences=[x], n_steps=12)
    agree([x], [y, z], (limit,))
    agree([x], [y[-1]], (limit,))
    agree([x], [y[-1], z[-1], y.shape[0]], (limit,))


READS = {"all": np.s_[:], "last but one": -2, "last rows": np.s_[-3:], "from 1": np.s_[1:], "row 1": 1, "backwards": np.s_[::-1]}


@pytest.mark.parametrize("open_count", [False, True])
@pytest.mark.parametrize("read", READS)
def test_rows_of_until(read, open_count):
    """PyTensor's rewrites keep rows as if no loop ended early; here it ends after 6, 2 and 1 of 12 steps."""
    x, n = pt.scalar("x", dtype="float64"), pt.scalar("n", dtype="int64")
    y, z = loop(lambda s, x: ((s * x, s + x), until(s * x > 60)), outputs_info=[x, None], non_sequences=[x],
                n_steps=n if open_count else 12)
    calls = [(2.0, 12), (5.0, 12), (60.0, 12)][: 1 if isinstance(READS[read], int) else 3]
    agree([x, n], [y[READS[read]], z[READS[read]]], *calls, opsets=(18,))
    agree([x, n], [y[READS[read]], z[-1]], *calls, opsets=(18,))


@pytest.mark.parametrize("static", [False, True])
def test_batches(rng, static):
    """vectorize_graph computes the lengths of all items as an array."""
    xs, h, w = pt.matrix("xs", dtype="float64"), pt.matrix("h", dtype="float64", shape=(2, 3)), pt.scalar("w", dtype="float64")
    y, z = loop(lambda x, h, w: (pt.tanh(h * w + x), h.sum(axis=0)), sequences=[xs], outputs_info=[h, None], non_sequences=[w])
    one = [y, z[-1], *pt.grad(y[-1].sum() + (z**2).sum(), [xs, h, w])]
    for shape in ((3,), (1,), (2, 2), (0,)):
        values = [rng.normal(size=(*shape, *s)) for s in ((5, 3), (2, 3), ())]
        many = [pt.tensor(v.name, dtype="float64", shape=x.shape if static else [None] * x.ndim) for v, x in zip((xs, h, w), values)]
        outputs = pytensor.graph.replace.vectorize_graph(one, dict(zip((xs, h, w), many)))
        if 0 not in shape:
            Compiled(many, outputs, opsets=(18,)).run(*values, **NEAR)
            continue
        got = pytensor.function(many, outputs, mode="ONNX")(*values)
        assert [g.shape for g in got] == [(0, 5, 2, 3), (0, 3), (0, 5, 3), (0, 2, 3), (0,)]


def test_nested(rng):
    m, v = pt.matrix("m", dtype="float64"), pt.vector("v", dtype="float64")

    def outer(row, acc):
        inner = loop(lambda a, s: s * 0.5 + a, sequences=[row], outputs_info=[acc[0]])
        return acc + inner[-1]

    y = loop(outer, sequences=[m], outputs_info=[v])
    args = (rng.normal(size=(4, 3)), rng.normal(size=2))
    agree([m, v], [y], args)
    agree([m, v], pt.grad(y.sum(), [m, v]), args, opsets=(18,))


def test_truncated_gradient(rng):
    x = pt.vector("x", dtype="float64")
    y = loop(lambda x, s: x * s + 1, sequences=[x], outputs_info=[pt.constant(1.0, dtype="float64")], truncate_gradient=2)
    agree([x], pt.grad(y[-1], [x]), (rng.normal(size=6),), (rng.normal(size=2),))


def test_second_derivative(rng):
    x = pt.scalar("x", dtype="float64")
    y = loop(lambda s, x: s * x + pt.sin(s), outputs_info=[pt.constant(0.3, dtype="float64")], non_sequences=[x], n_steps=5)[-1]
    agree([x], [y, pt.grad(pt.grad(y, x), x)], (0.8,))


def test_map_of_matrices(rng):
    a = pt.tensor("a", dtype="float64", shape=(None, 2, None))
    y = loop(lambda m: (m @ m.T, m.sum(0)), sequences=[a])
    agree([a], [*y, *pt.grad(y[0].sum() + (y[1]**2).sum(), [a])], *[(rng.normal(size=(n, 2, 3)),) for n in (1, 4)])


STEP = """ptg 1

fn step(x: float64, s: float64) -> (t: float64) {
  t = x + s
}

"""


def test_by_hand():
    text = STEP + """graph g(x: float64[n], b: float64[m]) -> (y) {
  y = Scan{fn=step, n_seqs=1, n_sit_sot=1}(3, x, b)
}
"""
    none = ptg.compile(text.replace("(3, x, b)", "(ShapeI(x), x, b)").replace("ShapeI", "Shape_i{i=0}"))
    for rows in (1, 2, 5):  # without a step
        np.testing.assert_array_equal(ptg.run(none, np.zeros(0), np.arange(rows) + 5.0), np.arange(rows) + 5.0)
    model = ptg.compile(text)
    for rows in (1, 2, 4, 6):  # the last rows; what no step reaches is 0
        got = ptg.run(model, np.array([1.0, 2.0, 3.0]), np.full(rows, 10.0))
        want = np.array([10.0, 11.0, 13.0, 16.0, 0, 0])[:6]
        np.testing.assert_array_equal(got, want[:4][-rows:] if rows <= 4 else want[:rows])
    with pytest.raises(Exception, match="out of"):
        ptg.run(model, np.array([1.0, 2.0]), np.full(4, 10.0))  # a sequence shorter than n_steps


def test_negative_steps():
    model = ptg.compile(STEP + """graph g(x: float64[m], n: int64[]) -> (y) {
  y = Scan{fn=step, n_seqs=1, n_sit_sot=1}(n, x, float64[5](0))
}
""")
    x = np.arange(1.0, 5.0)
    np.testing.assert_array_equal(ptg.run(model, x, np.int64(4)), [0, 1, 3, 6, 10])
    np.testing.assert_array_equal(ptg.run(model, x, np.int64(0)), np.zeros(5))
    with pytest.raises(Exception):  # PyTensor: IndexError
        ptg.run(model, x, np.int64(-1))
