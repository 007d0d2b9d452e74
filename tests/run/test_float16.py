"""float16 is rounded after each op, as in PyTensor: the runtime by itself rounds once after a chain."""

import numpy as np
import pytensor.tensor as pt
import pytest

import ptg
from harness import OPSETS, Compiled

CHAINS = {
    "arithmetic": lambda x, y: (x * y + y - x) / y,
    "n-ary": lambda x, y: x + y + x * y + y * y * x,
    "exact ops between": lambda x, y: abs(-(x * y)) + pt.maximum(x * y, y) - pt.floor(x * y),
    "a choice between": lambda x, y: pt.switch(x > y, x * y, x + y) * x,
    "moves between": lambda x, y: (x * y)[::-1] + (x + y).reshape((2, -1)).ravel() * x,
    "functions": lambda x, y: pt.sqrt(abs(x)) * pt.exp(y) - pt.sigmoid(x) * pt.tanh(y) + pt.log1p(abs(x)),
    "sum": lambda x, y: (x * y).sum() * y,
    "mean and max": lambda x, y: (x - x.mean()) / (x * y).max(),
    "dot": lambda x, y: pt.dot(x, y) * x,
    "dot of products": lambda x, y: pt.dot(x * y, x + y) + x,
    "update": lambda x, y: (x * y)[2:].inc(x[2:] * y[2:]) - x,
    "deg2rad": lambda x, y: pt.deg2rad(x) * y,
}


@pytest.mark.parametrize("name", CHAINS)
def test_chain(name):
    x, y = pt.vector("x", dtype="float16"), pt.vector("y", dtype="float16")
    c = Compiled([x, y], [CHAINS[name](x, y)], OPSETS if name == "arithmetic" else (18,))
    rng = np.random.default_rng(0)
    for scale in (1, 4):
        u, v = (rng.normal(size=(2, 200)) * scale).astype("float16")
        c.run(u, v, ulp={"float16": 1 if name in ("functions", "mean and max") else 0})


def test_flag():
    text = "ptg 1\n\ngraph g(x: float16[n], y: float16[n]) -> (z) {\n  z = x * y + y - x\n}\n"
    exact, fast = ptg.compile(text, options=("-fno-check-dims",)), ptg.compile(text, options=("-fno-check-dims", "-fexcess-precision"))
    assert (ptg.nodes(exact), ptg.nodes(fast)) == (10, 3)
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 200)).astype("float16")
    want = x * y + y - x
    for level in ("all", "none"):
        assert np.array_equal(ptg.run(exact, x, y, level=level), want)
    assert not np.array_equal(ptg.run(fast, x, y), want)


READERS = {
    "max": lambda x: pt.eq(x.max(), x),
    "order": lambda x: pt.lt(x, x[0]),
    "argsort": lambda x: pt.argsort(x, kind="stable"),
    "argmax": lambda x: pt.argmax(x),
    "clip": lambda x: pt.clip(x, x[0], x[3]),
    "a choice": lambda x: pt.eq(pt.switch(x > 0, x, x[::-1]), x[1]),
    "moves": lambda x: pt.eq(pt.tile(x, 2).reshape((2, -1))[0], x[1]),
    "negated": lambda x: pt.le(abs(-x), x[2]),
    "unique": lambda x: pt.unique(x).shape,
}


@pytest.mark.parametrize("name", READERS)
def test_rounded_before_it_is_read(name):
    """Of a cast to float16 the runtime drops the rounding where it reads it by a cast of its own."""
    x, y = pt.vector("x"), pt.vector("y", dtype="float16")
    rounded = [pt.cast(x, "float16"), pt.cast(x.astype("float32"), "float16"), y / 3, pt.cast(x, "float16") * y, y.sum() + y * y]
    rng = np.random.default_rng(0)
    u = np.concatenate([rng.normal(size=40), 1 + np.arange(8) / 2**12])
    v = rng.choice(rng.normal(size=9), 48).astype("float16")
    for r in rounded:
        Compiled([x, y], [READERS[name](r)], (13, 18)).run(u, v, ulp={"float16": 0})
