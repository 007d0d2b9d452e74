"""Lengths that must be equal are checked when the model runs, where types and inputs leave it open.

Only what is known to be of length 1 is stretched. Every case is run with ONNX Runtime's own
optimizations and without, at the opsets where guards are made of other nodes.
"""

import re

import numpy as np
import pytest

import ptg

OPSETS = (13, 15, 18, 26)


def ones(*shape):
    return np.ones(shape)


MASK = np.array([True, False, True])

# title: (parameters, statement, inputs that are right, what they give, inputs that are wrong)
CASES = {
    "a name twice": (
        "a: float64[n], b: float64[n]", "y = a + b",
        [(ones(3), ones(3)), (ones(1), ones(1)), (ones(0), ones(0))], lambda a, b: a + b,
        [(ones(3), ones(1)), (ones(1), ones(3)), (ones(0), ones(1)), (ones(2), ones(3))],
    ),
    "matrices": (
        "a: float64[n, m], b: float64[n, m]", "y = a + b",
        [(ones(2, 3), ones(2, 3)), (ones(0, 3), ones(0, 3))], lambda a, b: a + b,
        [(ones(2, 3), ones(1, 3)), (ones(2, 1), ones(2, 3)), (ones(0, 3), ones(1, 3)), (ones(2, 1), ones(1, 3))],
    ),
    "unknown dims": (
        "a: float64[?, ?], b: float64[?, ?]", "y = a + b",
        [(ones(2, 3), ones(2, 3)), (ones(1, 1), ones(1, 1))], lambda a, b: a + b,
        [(ones(2, 3), ones(1, 3)), (ones(2, 3), ones(1, 1))],
    ),
    "a choice": (
        "a: float64[?, ?], b: float64[?, ?]", "y = Switch(a > 0, a, b)",
        [(ones(2, 3), ones(2, 3))], lambda a, b: a,
        [(ones(2, 3), ones(1, 3)), (ones(2, 3), ones(2, 1))],
    ),
    "before a sum": (
        "a: float64[n, m], b: float64[n, m]", "y = Sum(a * b)",
        [(ones(2, 3), ones(2, 3))], lambda a, b: np.sum(a * b),
        [(ones(2, 3), ones(1, 3)), (ones(1, 3), ones(2, 3))],
    ),
    "three operands": (
        "a: float64[n, m], b: float64[n, m], c: float64[n, m]", "y = a + b + c",
        [(ones(2, 3),) * 3], lambda a, b, c: a + b + c,
        [(ones(2, 3), ones(2, 3), ones(2, 1)), (ones(1, 3), ones(2, 3), ones(1, 3))],
    ),
    "arithmetic of dims": (
        "a: float64[n+1], b: float64[n]", "y = a[1:] + b",
        [(ones(4), ones(3)), (ones(2), ones(1)), (ones(1), ones(0))], lambda a, b: a[1:] + b,
        [(ones(2), ones(3)), (ones(4), ones(1)), (ones(4), ones(4))],
    ),
    "a name that is in sums only": (
        "a: float64[n+1]", "y = a[1:] * Cast{float64}(n)",
        [(ones(1),), (ones(4),)], lambda a: a[1:] * (len(a) - 1),
        [(ones(0),)],
    ),
    "names that say each other": (
        "a: float64[n+m], b: float64[m+k], c: float64[2*k-1]", "y = a[n:] + c[0] + b[0]",
        [(ones(5), ones(4), ones(3)), (ones(2), ones(3), ones(3))],
        lambda a, b, c: a[len(a) - len(b) + (len(c) + 1) // 2:] + 2,
        [(ones(5), ones(4), ones(4)), (ones(1), ones(4), ones(3)), (ones(5), ones(1), ones(3))],
    ),
    "a slice": (
        "a: float64[?n], b: float64[?m]", "y = a[1:] + b",
        [(ones(4), ones(3)), (ones(0), ones(0)), (ones(2), ones(1))], lambda a, b: a[1:] + b,
        [(ones(4), ones(1)), (ones(2), ones(3)), (ones(0), ones(1))],
    ),
    "a product of dims": (
        "a: float64[?n, ?m], b: float64[?k]", "y = Reshape(a, [-1]) + b",
        [(ones(2, 3), ones(6)), (ones(1, 1), ones(1))], lambda a, b: a.ravel() + b,
        [(ones(2, 3), ones(1)), (ones(1, 1), ones(6)), (ones(0, 3), ones(1))],
    ),
    "a masked length": (
        "a: float64[n], b: float64[m], c: bool[n]", "y = a[c] + b",
        [(ones(3), ones(2), MASK), (ones(3), ones(3), MASK | True)], lambda a, b, c: a[c] + b,
        [(ones(3), ones(1), MASK), (ones(3), ones(3), MASK), (ones(3), ones(5), np.array([True, False, False]))],
    ),
    "a masked length, known": (
        "a: float64[n], b: float64[5], c: bool[n]", "y = Sum(a[c] + b)",
        [(ones(6), ones(5), np.arange(6) > 0)], lambda a, b, c: np.sum(a[c] + b),
        [(ones(3), ones(5), np.array([True, False, False])), (ones(3), ones(5), MASK)],
    ),
    "the mask itself": (
        "a: float64[?n], c: bool[?m]", "y = a[c]",
        [(ones(3), MASK)], lambda a, c: a[c],
        [(ones(3), MASK[:2]), (ones(2), MASK), (ones(3), MASK[:1])],
    ),
    "a length that is a value": (
        "a: float64[], i: int64[], b: float64[m]", "y = Alloc(a, i) + b",
        [(np.array(1.0), np.array(3), ones(3)), (np.array(1.0), np.array(1), ones(1))], lambda a, i, b: 1 + b,
        [(np.array(1.0), np.array(3), ones(1)), (np.array(1.0), np.array(1), ones(3))],
    ),
    "a product": (
        "a: float64[?n, ?k], b: float64[?q, ?m]", "y = a @ b",
        [(ones(2, 3), ones(3, 4)), (ones(2, 1), ones(1, 4))], lambda a, b: a @ b,
        [(ones(2, 3), ones(2, 4)), (ones(2, 1), ones(3, 4)), (ones(2, 3), ones(1, 4))],
    ),
    "batches": (
        "a: float64[?p, ?n, ?k], b: float64[?q, ?k, ?m]", "y = a @ b",
        [(ones(2, 3, 4), ones(2, 4, 5))], lambda a, b: a @ b,
        [(ones(2, 3, 4), ones(1, 4, 5)), (ones(1, 3, 4), ones(2, 4, 5))],
    ),
    "rows": (
        "a: float64[n, m], b: float64[m]", "y = a * b",
        [(ones(2, 3), ones(3)), (ones(2, 1), ones(1))], lambda a, b: a * b,
        [(ones(2, 3), ones(1)), (ones(2, 1), ones(3))],
    ),
    "one open length": (
        "a: float64[?n, 3], b: float64[?m, 3]", "y = a * b",
        [(ones(2, 3), ones(2, 3)), (ones(0, 3), ones(0, 3)), (ones(1, 3), ones(1, 3))], lambda a, b: a * b,
        [(ones(2, 3), ones(1, 3)), (ones(1, 3), ones(2, 3)), (ones(0, 3), ones(1, 3)), (ones(1, 3), ones(0, 3))],
    ),
    "one open length of each": (
        "a: float64[2, ?n], b: float64[?m, 1, 1], c: float64[?k, 3]", "y = Sum(a) + Sum(b * a) + Sum(b[:, :, 0] * c)",
        [(ones(2, 3), ones(4, 1, 1), ones(4, 3)), (ones(2, 3), ones(0, 1, 1), ones(0, 3))],
        lambda a, b, c: a.sum() + (b * a).sum() + (b[:, :, 0] * c).sum(),
        [(ones(2, 3), ones(4, 1, 1), ones(1, 3)), (ones(2, 3), ones(1, 1, 1), ones(4, 3)), (ones(2, 3), ones(0, 1, 1), ones(1, 3))],
    ),
    "vectors": (
        "a: float64[?n], b: float64[?m], c: float64[?k]", "y = a + b + c",
        [(ones(3), ones(3), ones(3)), (ones(0), ones(0), ones(0))], lambda a, b, c: a + b + c,
        [(ones(3), ones(3), ones(1)), (ones(1), ones(3), ones(3)), (ones(3), ones(1), ones(1)), (ones(0), ones(0), ones(1))],
    ),
    "a length less one": (
        "a: float64[n], b: float64[n-1]", "y = Sum(a) + b",
        [(ones(3), ones(2)), (ones(1), ones(0))], lambda a, b: a.sum() + b,
        [(ones(3), ones(3)), (ones(0), ones(2)), (ones(0), ones(0)), (ones(3), ones(1))],
    ),
    "a constant": (
        "a: float64[?]", "y = a + float64([1, 2, 3])",
        [(ones(3),)], lambda a: a + [1, 2, 3],
        [(ones(1),), (ones(2),)],
    ),
    "a result's type": (
        "a: float64[?, ?]", "n = Shape(a)[0]\n  y = SpecifyShape(a * 2, n, n)",
        [(ones(3, 3),), (ones(0, 0),)], lambda a: a * 2,
        [(ones(2, 3),), (ones(1, 3),)],
    ),
    "inside a loop": (
        "a: float64[?n, ?m], b: float64[?k]", "y = loop (r in a, s: float64[m] = a[0]) -> (s) {\n next s = s + r * b\n}",
        [(ones(2, 3), ones(3)), (ones(2, 1), ones(1))], lambda a, b: a[0] + b * len(a),
        [(ones(2, 3), ones(1)), (ones(2, 1), ones(3))],
    ),
    "inside a loop, of what is not read": (
        "x: float64[k], m: bool[t, k], z: float64[t, q]",
        "y = loop (r in m, u in z) -> ([s]) {\n c = x[r]\n d = c + u\n s = Sum{axes=None}(c * u)\n}",
        [(ones(3), np.array([[1, 1, 0], [1, 0, 1]], bool), ones(2, 2))], lambda x, m, z: z.sum(1),
        [(ones(3), np.array([[1, 0, 0], [0, 0, 1]], bool), ones(2, 3)), (ones(3), np.array([[1, 1, 0], [1, 0, 1]], bool), ones(2, 1))],
    ),
    "inside a loop, of what only the shape is read of": (
        "x: float64[k], m: bool[t, k], z: float64[t, q]",
        "y = loop (r in m, u in z, p: float64[] = 0) -> (p) {\n c = x[r]\n d = Shape(c + u)\n next p = p + Sum{axes=None}(c * u) + Cast{float64}(d[0])\n}",
        [(ones(3), np.array([[1, 1, 0], [1, 0, 1]], bool), ones(2, 2))], lambda x, m, z: 2 * z.sum(),
        [(ones(3), np.array([[1, 0, 0], [0, 0, 1]], bool), ones(2, 3)), (ones(3), np.array([[1, 1, 0], [1, 0, 1]], bool), ones(2, 1))],
    ),
    "inside a branch in a loop, of what is not read": (
        "x: float64[k], m: bool[t, k], z: float64[t, q]",
        "y = loop (r in m, u in z) -> ([s]) {\n s = if u[0] > 0 {\n c = x[r]\n d = c + u\n s = Sum{axes=None}(c * u)\n} else {\n s = 1.0 }\n}",
        [(ones(3), np.array([[1, 1, 0], [1, 0, 1]], bool), ones(2, 2)), (ones(3), np.array([[1, 0, 0]], bool), 0 * ones(1, 2))],
        lambda x, m, z: z.sum(1) + (z.sum(1) == 0),
        [(ones(3), np.array([[1, 0, 0], [0, 0, 1]], bool), ones(2, 3)), (ones(3), np.array([[1, 1, 0], [1, 0, 1]], bool), ones(2, 1))],
    ),
    "inside a loop, what a type says": (
        "x: float64[k], m: bool[t, k], z: float64[t, q]",
        "y = loop (r in m, u in z) -> ([s]) {\n c = SpecifyShape(x[r], q)\n s = Sum{axes=None}(c * u)\n}",
        [(ones(3), np.array([[1, 1, 0], [1, 0, 1]], bool), ones(2, 2))], lambda x, m, z: z.sum(1),
        [(ones(3), np.array([[1, 0, 0], [0, 0, 1]], bool), ones(2, 3)), (ones(3), np.array([[1, 1, 0], [1, 0, 1]], bool), ones(2, 1))],
    ),
    "a choice by constants of what is no constant": (
        "x: float64[3], z: float64[q]",
        "p = Any(Sqrt(float64([1, 2])) > 3)\n m = if p { m = x > 0 } else { m = x < 0 }\n y = float64([1, 2, 3])[m] + z",
        [(-1 * ones(3), ones(3)), (np.array([-1.0, 1, -1]), ones(2))], lambda x, z: np.array([1.0, 2, 3])[x < 0] + z,
        [(-1 * ones(3), ones(1)), (ones(3), ones(1)), (np.array([1.0, 1, -1]), ones(3))],
    ),
    "an update": (
        "a: float64[n, m], b: float64[k]", "y = a[0].set(b)",
        [(ones(2, 3), ones(3)), (ones(2, 3), ones(1))], lambda a, b: np.concatenate([[b + 0 * a[0]], a[1:]]),
        [(ones(2, 1), ones(3)), (ones(2, 3), ones(2)), (ones(2, 3), ones(0))],
    ),
    "one row of a join": (
        "a: float64[?n], b: float64[?m]", "y = Join{axis=0}(ExpandDims{axis=0}(a[1:(n+1)//2]), ExpandDims{axis=0}(b))[0]",
        [(ones(4), ones(1)), (ones(5), ones(2)), (ones(0), ones(0))], lambda a, b: b,
        [(ones(4), ones(2)), (ones(5), ones(1)), (ones(0), ones(1)), (ones(3), ones(0))],
    ),
    "one row of a join, in a loop": (
        "a: float64[n], b: float64[k], m: int64[]",
        "y = loop (i in 0:m, s: float64[k] = b) -> (s) {\n t = Join{axis=0}((a[:i] + s)[None, :], s[None, :])[1]\n next s = t + 1\n}",
        [(ones(3), ones(0), np.int64(1)), (ones(3), ones(2), np.int64(0))], lambda a, b, m: b + m,
        [(ones(3), ones(2), np.int64(1)), (ones(3), ones(0), np.int64(2)), (ones(3), ones(1), np.int64(1))],
    ),
    "one row of a join, in a branch in a loop": (
        "a: float64[n], b: float64[k], m: int64[]",
        "y = loop (i in 0:m, s: float64[k] = b) -> (s) {\n t = if i > 0 {\n p = Join{axis=0}((a[:i] + s)[None, :], s[None, :])\n"
        " t = p[1]\n} else { t = s }\n next s = t + 1\n}",
        [(ones(3), ones(1), np.int64(2)), (ones(3), ones(2), np.int64(1))], lambda a, b, m: b + m,
        [(ones(3), ones(2), np.int64(2)), (ones(3), ones(1), np.int64(3))],
    ),
    "one part of a join": (
        "a: float64[n, ?], b: float64[k, ?]", "y = Join{axis=0}(a, b, a[:, :1+Shape_i{i=1}(b)//2])[:n]",
        [(ones(2, 1), ones(3, 1)), (ones(0, 2), ones(3, 2))], lambda a, b: a,
        [(ones(2, 2), ones(3, 1)), (ones(2, 1), ones(3, 2)), (ones(2, 3), ones(3, 3)), (ones(0, 2), ones(3, 1))],
    ),
}


@pytest.mark.parametrize("call", [
    "loop (r in m, u in z) -> ([s]) { s = g(r, u, x) }",
    "Scan{fn=g, n_seqs=2, n_nit_sot=1}(Shape(m)[0], m, z, Shape(m)[0], x)",
])  # fmt: skip
def test_in_a_loop_by_a_fn(call):
    """What a fn assumes stands elsewhere in the text."""
    graph = f"""
fn g(r: bool[?], u: float64[?], x: float64[?]) -> (s) {{
  c = x[r]
  d = c + u
  s = Sum{{axes=None}}(c * u)
}}
graph f(x: float64[k], m: bool[t, k], z: float64[t, q]) -> (y) {{ y = {call} }}
"""
    one, two = np.array([[1, 0, 0], [0, 0, 1]], bool), np.array([[1, 1, 0], [1, 0, 1]], bool)
    for opset in OPSETS:
        assert np.array_equal(ptg.run(graph, ones(3), two, ones(2, 2), opset=opset), [2, 2])
        for m, z in ((one, ones(2, 3)), (two, ones(2, 1))):
            with pytest.raises(Exception, match="must be"):
                ptg.run(graph, ones(3), m, z, opset=opset)


# MatMul and Gemm compare what they add along; nothing else may be taken for that comparison.
PRODUCTS = {
    "open": ("x: float64[?, ?], y: float64[?, ?]", "z = x @ y", 1),
    "a name twice": ("x: float64[n, k], y: float64[k, m]", "z = x @ y", 1),
    "transposed": ("x: float64[?, ?], y: float64[?, ?]", "z = Transpose(x) @ Transpose(Exp(y))", 4),
    "a bias": ("x: float32[n, k], y: float32[k, m], b: float32[m]", "z = x @ y + b", 3),
    "two layers": ("x: float32[?, ?], y: float32[?, ?], b: float32[?], w: float32[?, ?]", "z = Maximum(x @ y + b, 0) @ w", 5),
    "vectors": ("x: float64[?], y: float64[?]", "z = x @ y", 1),
    "a column": ("x: float64[?, ?], v: float64[?]", "z = Squeeze{axis=1}(Transpose(x) @ ExpandDims{axis=1}(v))", 1),
    "a row": ("x: float64[?, ?], v: float64[?]", "z = Squeeze{axis=0}(ExpandDims{axis=0}(v) @ x)", 1),
    "integers": ("x: int64[n, k], y: int64[k, m]", "z = x @ y", 1),
    "small integers": ("x: int8[n, k], y: int8[k, m]", "z = x @ y", 4),
    "a mask": ("x: float64[?, ?], y: float64[?, ?], m: bool[?]", "z = x[m].T @ y".replace("x[m].T", "Transpose(x[m])"), None),
    "a weight": ("x: float64[?, ?], y: float64[?, 2]", "z = Exp(x @ y) @ [[1.0, 2.0], [3.0, 4.0]]", 3),
    "only its size": ("x: float64[?, ?], y: float64[?, ?]", "z = Sum(x) + Cast{dtype=float64}(Shape(x @ y)[0])", None),
    "and something else": ("x: float64[n, k], y: float64[k, m]", "z = (Sum(x @ y), Sum(x))[1]", None),
}  # fmt: skip


@pytest.mark.parametrize("case", [c for c in PRODUCTS if PRODUCTS[c][2]])
def test_products_need_no_guard(case):
    params, statement, nodes = PRODUCTS[case]
    assert ptg.nodes(ptg.compile(f"graph g({params}) -> (z) {{ {statement} }}")) == nodes


@pytest.mark.parametrize("value, shapes, said", [
    ("Tanh(x @ w) @ v", ((2, 5), (4, 3), (3, 1)), "axis 1 of x must be axis 0 of w"),
    ("Tanh(x @ w) @ v", ((2, 5), (5, 4), (3, 1)), "axis 1 of w must be axis 0 of v"),
    ("x[:, m] @ v", ((2, 5), (1, 1), (4, 1)), "axis 1 of x[:, m] must be axis 0 of v"),
])  # fmt: skip
def test_a_product_says_what_must_hold(value, shapes, said):
    params = "x: float32[?, ?], w: float32[?, ?], v: float32[?, ?], m: bool[?]"
    model = ptg.compile(f"graph g({params}) -> (y) {{ y = {value} }}")
    for level in ("all", "none"):
        with pytest.raises(Exception, match=f"Name:'{re.escape(said)}"):
            ptg.run(model, *[ones(*s).astype("f") for s in shapes], np.ones(5, bool), level=level)


# (parameters, statement, shapes that are right, shapes that are wrong)
FACTORS = {
    "inner lengths": ("x: float64[?, ?], y: float64[?, ?]", "z = x @ y", [(2, 3), (3, 4)], [[(2, 3), (1, 4)], [(2, 1), (3, 4)], [(0, 3), (2, 0)], [(2, 0), (1, 0)]]),
    "a name twice": ("x: float64[n, k], y: float64[k, m]", "z = x @ y", [(2, 3), (3, 4)], [[(2, 3), (1, 4)], [(2, 1), (3, 4)], [(0, 3), (2, 0)]]),
    "a name three times": ("x: float64[n, k], y: float64[k, m], w: float64[m, k]", "z = x @ y @ w", [(2, 3), (3, 4), (4, 3)], [[(2, 3), (3, 4), (4, 2)], [(2, 3), (3, 4), (4, 1)], [(2, 3), (3, 1), (4, 3)]]),
    "two that rely on each other": ("x: float64[n], y: float64[n], w: float64[n]", "u = (x + w) @ y\n  z = u + ((x + y) @ w)", [(3,), (3,), (3,)], [[(1,), (3,), (3,)], [(3,), (1,), (3,)], [(3,), (3,), (1,)], [(3,), (1,), (1,)]]),
    "one that relies on itself": ("x: float64[n], y: float64[n]", "z = (y + x) @ x", [(3,), (3,)], [[(3,), (1,)], [(1,), (3,)]]),
    "one that relies on itself, computed": ("x: float64[n], y: float64[n]", "z = x @ (Exp(y) * x)", [(3,), (3,)], [[(3,), (1,)], [(1,), (3,)]]),
    "a name that is no inner length": ("x: float64[n, k], y: float64[k, n]", "z = x @ y", [(2, 3), (3, 2)], [[(2, 3), (3, 4)], [(2, 3), (3, 1)], [(2, 3), (2, 2)]]),
    "stretched before": ("x: float64[?, ?], c: float64[?], y: float64[?, ?]", "z = (x + c) @ y", [(2, 3), (3,), (3, 4)], [[(2, 1), (3,), (3, 4)], [(2, 3), (1,), (3, 4)], [(2, 3), (3,), (1, 4)]]),
    "one length in a sum": ("x: float64[?, 1], c: float64[1, ?], y: float64[?, ?]", "z = (x * c) @ y", [(2, 1), (1, 3), (3, 4)], [[(2, 1), (1, 3), (1, 4)], [(2, 1), (1, 1), (3, 4)]]),
    "made like the other one": ("x: float64[?, 3], y: float64[?, ?]", "u = Alloc(1.0, 2, Shape(y)[0])\n  z = Sum(x) + (u @ y)", [(2, 3), (3, 4)], []),
    "reshaped and stretched": ("x: float64[?, ?], v: float64[?], y: float64[?, ?]", "z = (x + Reshape{ndim=2}(v, [-1, Shape(x)[1]])) @ y", [(2, 3), (6,), (3, 4)], [[(2, 1), (2,), (3, 4)], [(2, 1), (6,), (3, 4)]]),
    "reshaped": ("x: float64[?], y: float64[?, ?]", "z = Reshape{ndim=2}(x, [2, -1]) @ y", [(6,), (3, 4)], [[(6,), (2, 4)], [(6,), (1, 4)], [(2,), (3, 4)]]),
    "a stack": ("x: float64[?, ?], y: float64[?, ?, ?]", "z = Blockwise{core_op=Dot, signature=\"(m,n),(n,p)->(m,p)\"}(ExpandDims{axis=0}(x), y)", [(2, 3), (5, 3, 4)], [[(2, 3), (5, 1, 4)], [(2, 1), (5, 3, 4)], [(0, 2), (5, 3, 0)]]),
    "its size alone": ("x: float64[?, ?], y: float64[?, ?]", "u = x @ y\n  z = Sum(x) + Cast{dtype=float64}(Shape(u)[0])", [(2, 3), (3, 4)], [[(2, 3), (2, 4)]]),
    "a column": ("x: float64[?, ?], v: float64[?]", "z = Squeeze{axis=1}(Transpose(x) @ ExpandDims{axis=1}(v))", [(3, 2), (3,)], [[(3, 2), (1,)], [(1, 2), (3,)], [(0, 2), (1,)], [(3, 2), (0,)], [(1, 2), (0,)], [(1, 0), (2,)]]),
    "a row": ("x: float64[?, ?], v: float64[?]", "z = Squeeze{axis=0}(ExpandDims{axis=0}(v) @ x)", [(3, 2), (3,)], [[(3, 2), (1,)], [(1, 2), (3,)], [(0, 2), (1,)], [(3, 2), (0,)], [(1, 2), (0,)], [(1, 0), (2,)]]),
    "a column of a stack": ("x: float64[?, ?], v: float64[?, ?]", "z = Transpose(x) @ ExpandDims{axis=1}(v[:, 0])", [(3, 2), (3, 2)], [[(3, 2), (1, 2)], [(1, 2), (3, 2)], [(0, 2), (1, 2)]]),
    "in a branch": ("x: float64[?, ?], y: float64[?, ?]", "z = if Sum(x) < 100 {\n z = Sum(x @ y) } else {\n z = Sum(y) }", [(2, 3), (3, 4)], [[(2, 3), (2, 4)]]),
    "in a loop": ("x: float64[?, ?], y: float64[?, ?]", "z = loop (i in 0:2, s = 0.0) -> (s) { next s = s + Sum(x @ y) }", [(2, 3), (3, 4)], [[(2, 3), (2, 4)]]),
    "twice by a fn": ("x: float64[?, ?], y: float64[?, ?], w: float64[?, ?]", "z = F(x, y) + F(x, w)", [(2, 3), (3, 4), (3, 4)], [[(2, 3), (3, 4), (1, 4)], [(2, 3), (1, 4), (3, 4)]]),
}  # fmt: skip


@pytest.mark.parametrize("case", FACTORS)
def test_products_check_their_factors(case):
    params, statement, right, wrong = FACTORS[case]
    text = f"fn F(a: float64[?, ?], b: float64[?, ?]) -> (c) {{ c = Exp(a @ b) }}\ngraph g({params}) -> (z) {{ {statement} }}"
    for opset in OPSETS:
        for level in ("all", "none"):
            ptg.run(text, *[ones(*s) for s in right], opset=opset, level=level)
            for shapes in wrong:
                with pytest.raises(Exception, match="ONNXRuntimeError"):
                    ptg.run(text, *[ones(*s) for s in shapes], opset=opset, level=level)
                    raise AssertionError(f"opset {opset}, {level}: runs with {shapes}")


def text(case):
    return f"ptg 1\n\ngraph g({CASES[case][0]}) -> (y) {{\n  {CASES[case][1]}\n}}\n"


@pytest.mark.parametrize("case", CASES)
def test_guard(case):
    _, _, right, want, wrong = CASES[case]
    for opset in OPSETS:
        model = ptg.compile(text(case), opset=opset)
        for level in ("all", "none"):
            for args in right:
                got = ptg.run(model, *args, level=level)
                assert np.array_equal(got, want(*args)) and got.shape == np.shape(want(*args)), (opset, level, args)
            for args in wrong:
                with pytest.raises(Exception, match="ONNXRuntimeError"):
                    ptg.run(model, *args, level=level)
                    raise AssertionError(f"opset {opset}, {level}: runs with lengths {[a.shape for a in args]}")


def test_lengths_that_two_statements_share():
    """The check of the first one leaves the vector of lengths as it is."""
    text = """graph g(x: float64[1, 2], f: float64[]) -> (y, z) {
      k = Cast{int64}(f)
      y = Squeeze{axis=0}(Alloc(x, k, int64(2)))
      z = Alloc(Exp(x), int64(3), k, int64(2))
    }
    """
    for opset in OPSETS:
        y, z = ptg.run(text, ones(1, 2), np.array(1.0), opset=opset)
        assert y.shape == (2,) and z.shape == (3, 1, 2)
        with pytest.raises(Exception, match="ONNXRuntimeError"):
            ptg.run(text, ones(1, 2), np.array(2.0), opset=opset)


# An equation holds in the whole graph: also where the statement that made it is not used, or not run.
ELSEWHERE = {
    "unused": "d = u + float64[4](0)\n  z = u + b",
    "only its size is used": "d = Shape_i{i=0}(u + float64[4](0))\n  z = (u + b) * d",
    "only its size is read": "z = Second(u + float64[4](0), 2.0) + u + b",
    "not chosen": "d = if c { d = Sum(u + float64[4](0)) } else { d = 0.0 }\n  z = u + b + d",
    "not chosen, inside": """d = if c {
    e = loop (i in 0:2, s: float64[] = 0) -> (s) {
      next s = s + Sum(u + float64[4](0))
    }
    d = e
  } else { d = 0.0 }
  z = u + b + d""",
    "no step": "d = loop (i in w, s: float64[] = 0) -> (s) { next s = s + Sum(u + float64[4](0)) }\n  z = u + b + d",
}


@pytest.mark.parametrize("case", ELSEWHERE)
def test_guard_of_what_does_not_run(case):
    params = "x: float64[n], b: float64[4], c: bool[], w: float64[k]"
    model = ptg.compile(f"graph g({params}) -> (z) {{\n  u = Unique(x)\n  {ELSEWHERE[case]}\n}}\n")
    for level in ("all", "none"):
        args = [ones(4), np.array(False), ones(0)]
        assert ptg.run(model, np.arange(4.0), *args, level=level).shape == (4,)
        with pytest.raises(Exception, match="axis 0 of u must be 4"):
            ptg.run(model, ones(3), *args, level=level)


def test_an_output_whose_size_is_checked_later():
    """ONNX Runtime would take the length that is declared for the output and drop the check."""
    text = "graph g(x: float32[2]) -> (u, z) {\n  u = Unique(x)\n  z = u + x\n}\n"
    for level in ("all", "none"):
        assert ptg.run(ptg.compile(text), np.array([1, 2], "f"), level=level)[1].shape == (2,)
        with pytest.raises(Exception, match="axis 0 of u must be 2"):
            ptg.run(ptg.compile(text), ones(2).astype("f"), level=level)


def test_more_sizes_than_a_list_of_known_integers_has():
    names = [f"x{i}" for i in range(75)]
    model = ptg.compile(f"graph g({', '.join(f'{x}: float64[n]' for x in names)}) -> (z) {{ z = {' + '.join(names)} }}")
    assert ptg.run(model, *[ones(3)] * 75)[0] == 75
    for wrong in (1, 40, 74):
        with pytest.raises(Exception, match=r"axis 0 of x\d+ must be n"):
            ptg.run(model, *[ones(1 if i == wrong else 3) for i in range(75)])


@pytest.mark.parametrize("statement, args, said", [
    ("y = a + b", (ones(2), ones(3)), "axis 0 of b must be n"),
    ("y = a[1:] + b[1:]", (ones(2), ones(5)), "axis 0 of b must be n"),
    ("y = Assert{msg=\"a must be small\"}(a, Sum(b) < 3)", (ones(3), ones(3)), "assertion failed: a must be small"),
    ("u = Unique(a)\n  y = Sum(u + b) + Sum(u)", (ones(3), ones(3)), "axis 0 of u must be n"),
])
def test_the_node_that_fails_says_what_must_hold(statement, args, said):
    model = ptg.compile(f"graph g(a: float64[n], b: float64[n]) -> (y) {{ {statement} }}")
    with pytest.raises(Exception, match=f"Name:'[^']*{said}"):
        ptg.run(model, *args)


SEVERAL = """graph g(a: float32[n, d], b: float32[n + 1, d], c: float32[2 * n, 5], w: float32[n, d], m: float32[d], s: float32[]) -> (y{}) {{
  y = Sum(a @ m) + Sum(b) + Sum(c) + Sum(w) + s
{}}}
"""


@pytest.mark.parametrize("also", ["", "z = m * 2", "z = c * 2", "z = a * 2", "z = Reshape(b, [-1])"])
@pytest.mark.parametrize("target", ["ort-cpu", "ort-web"])
def test_the_node_that_fails_names_the_one_equation(also, target):
    """Each of several equations that one op or many ask for has a node of its own."""
    model = ptg.compile(SEVERAL.format(", z" if also else "", f"  {also}\n" if also else ""), target=target)
    shapes = {"a": [3, 2], "b": [4, 2], "c": [6, 5], "w": [3, 2], "m": [2], "s": []}
    said = {("b", 0): "axis 0 of b must be n+1", ("b", 1): "axis 1 of b must be d", ("c", 0): "axis 0 of c must be 2*n",
            ("w", 0): "axis 0 of w must be n", ("w", 1): "axis 1 of w must be d"}

    def run(shapes):
        for level in ("all", "none"):
            ptg.run(model, *[np.ones(s, "f") for s in shapes.values()], level=level)

    run(shapes)
    run({"a": [0, 2], "b": [1, 2], "c": [0, 5], "w": [0, 2], "m": [2], "s": []})
    run({"a": [3, 0], "b": [4, 0], "c": [6, 5], "w": [3, 0], "m": [0], "s": []})
    for (name, axis), what in said.items():
        for length in {0, 1, 3, 5, 40, shapes[name][axis] - 1, shapes[name][axis] + 1} - {shapes[name][axis]}:
            wrong = {**shapes, name: [length if i == axis else k for i, k in enumerate(shapes[name])]}
            with pytest.raises(Exception, match=f"Name:'{re.escape(what)}'"):
                run(wrong)


@pytest.mark.parametrize("shape, said", [
    ("[n, 4]", "[n, 4]"), ("[-1, 4]", "[-1, 4]"), ("[k, 2]", "[k, 2]"), ("s", "[s[0], s[1]]"), ("[k, -1]", "[k, -1]"),
    ("[k, 0]", "[k, 0]"), ("[2, 3]", "[2, 3]"), ("[n // 2, 2, m]", "[n//2, 2, m]"), ("[5, -1]", "[5, -1]"),
    ("[k // 2, 2]", "[?, 2]"), ("[max(n, 4), m]", "[max(n, 4), m]"),
])
def test_a_reshape_that_fails_says_of_which_sizes(shape, said):
    text = f"""graph g(x: float32[n, m], k: int64[], s: int64[2]) -> (y, z) {{
  y = Reshape(x, {shape})
  z = k + s
}}
"""
    model = ptg.compile(text)
    for level in ("all", "none"):
        with pytest.raises(Exception, match=re.escape(f"Name:'Reshape: [n, m] must have as many elements as {said}'")):
            ptg.run(model, ones(3, 7).astype("f"), np.int64(4), np.array([2, 5]), level=level)


@pytest.mark.parametrize("shape", ["[m, n]", "[n * m]", "[-1]", "[n, -1]", "[n, 1, m]", "[1, -1, m]"])
def test_a_reshape_that_cannot_fail_has_no_such_name(shape):
    model = ptg.compile(f"graph g(x: float32[n, m]) -> (y) {{ y = Reshape(x, {shape}) * 2 }}")
    assert b"as many elements" not in model
    ptg.run(model, ones(3, 7).astype("f"))


@pytest.mark.parametrize("value", ["Reshape(x, [n, 2])", "Reshape(Tanh(x), [n, 2])", "Reshape(x[::-1], [n, 2])",
                                   "x[:n] + x[n:]", "Tanh(x[:n]) * Exp(x[n:])"])
def test_a_length_that_an_input_breaks_is_named_before_a_node_fails(value):
    """x: float32[2 * n] of 5 elements: n is 2, and a Reshape or an Add would fail by itself."""
    model = ptg.compile(f"graph g(x: float32[2 * n]) -> (y) {{ y = {value} }}")
    for level in ("all", "none"):
        for length in (0, 2, 4):
            ptg.run(model, ones(length).astype("f"), level=level)
        for length in (1, 3, 5):
            with pytest.raises(Exception, match=re.escape("Name:'axis 0 of x must be 2*n'")):
                ptg.run(model, ones(length).astype("f"), level=level)


@pytest.mark.parametrize("value, said", [
    ("x[m] * v", "axis 0 of x[m] must be k"), ("v - x[m]", "axis 0 of x[m] must be k"), ("u + v", "axis 0 of u must be k"),
    ("Exp(u * x[m])", "axis 0 of x[m] must be axis 0 of u"),
    ("w[:, m] + w[:, Abs(v) > 0]", "axis 1 of w[:, m] must be axis 1 of w[:, Abs(v) > 0]"),
    ("Unique(Exp(v)) + v", "a length of Unique in line 3 must be k"),
])
def test_a_node_that_broadcasts_says_what_must_hold(value, said):
    text = f"""graph g(x: float32[n], m: bool[n], v: float32[k], w: float32[2, n]) -> (y) {{
  u = Unique(x)
  y = {value}
}}
"""
    model = ptg.compile(text.replace("[k]", "[n]") if "w" in value else text)
    x, w = np.arange(5).astype("f"), np.ones((2, 5), "f")
    for level in ("all", "none"):
        v = np.array([0, 0, 1, 1, 1], "f") if "w" in value else ones(4).astype("f")
        with pytest.raises(Exception, match=f"Name:'{re.escape(said)}"):
            ptg.run(model, x, np.array([1, 1, 0, 0, 0], bool), v, w, level=level)


def test_nodes_with_the_same_text_have_names_of_their_own():
    check = 'Assert{msg="m"}'
    model = ptg.compile(f"graph g(a: float64[n], b: float64[n]) -> (y, `assertion failed: m`) {{\n"
                        f"  y = {check}(a, a[0] > 0) + {check}(b, b[0] > 0)\n  `assertion failed: m` = a * 2\n}}")
    assert ptg.run(model, ones(3), ones(3))[0][0] == 2
    with pytest.raises(Exception, match="assertion failed: m"):
        ptg.run(model, ones(3), -ones(3))


def test_a_long_name_is_cut_between_characters():
    name = "é" * 70
    model = ptg.compile(f"graph g({name}: float64[n], b: float64[n]) -> (y) {{ y = {name} + b }}")
    with pytest.raises(Exception, match="must be n"):
        ptg.run(model, ones(1), ones(2))


def test_stack_of_no_step_with_a_size_that_is_not_known():
    text = """graph g(a: float64[3, m], b: float64[k, m]) -> (y) {
  _, s = loop (e in 0:0, p = a) -> (p, [q]) {
    q = p + e
    next p = q
  }
  _, y = loop (e in b, p: float64[?, 3, m] = s) -> (p, [q]) {
    q = p + e
    next p = q
  }
}
"""
    assert ptg.run(ptg.compile(text), ones(3, 2), ones(0, 2)).shape == (0, 0, 3, 2)


@pytest.mark.parametrize("form", ["3", "1"])
def test_no_guard_for_known_lengths(form):
    params = f"a: float64[{form}], b: float64[{form}]"
    assert ptg.nodes(ptg.compile(f"ptg 1\ngraph g({params}) -> (y) {{\n  y = a + b\n}}\n")) == 1


@pytest.mark.parametrize(
    "params, nodes",
    [
        ("a: float64[n], b: float64[n]", 2),
        ("a: float64[n, 4], b: float64[4]", 0),
        ("a: float64[?n, ?m], b: float64[?k]", 2),
        ("a: float64[?n, 4], b: float64[?m, 4]", 3),
        ("a: float64[n, m], b: float64[n, m]", 8),
    ],
)
def test_nodes_of_a_guard(params, nodes):
    assert ptg.nodes(ptg.compile(f"ptg 1\ngraph g({params}) -> (y) {{\n  y = a + b\n}}\n")) == 1 + nodes


def test_one_check_for_all_inputs():
    """Equations between inputs are checked once, together, however often they are used."""
    params = "a: float64[n, m], b: float64[n, m], c: float64[n, m]"
    once = f"ptg 1\ngraph g({params}) -> (y) {{\n  y = a + b + c\n}}\n"
    often = f"ptg 1\ngraph g({params}) -> (y) {{\n  y = (a + b + c) * (a - b) * (b - c) * (c - a)\n}}\n"
    assert ptg.nodes(ptg.compile(often)) - ptg.nodes(ptg.compile(once)) == 6


@pytest.mark.parametrize("options", [("-fno-check-dims",), ("--target=onnx",)])
def test_no_guards(options):
    target = "onnx" if "--target=onnx" in options else "ort-cpu"
    options = tuple(o for o in options if not o.startswith("--target"))
    model = ptg.compile(text("matrices"), target=target, options=options)
    assert ptg.nodes(model) == 1


def test_one_check_of_a_length():
    """That an axis is not empty is worked out once; -fno-check-dims leaves it out."""
    text = "ptg 1\n\ngraph g(x: int32[n, 3]) -> (y) {{\n  y = {}\n}}\n".format
    one, two = text("Max{axis=0}(x)"), text("Max{axis=0}(x) - Min{axis=0}(x)")
    assert ptg.nodes(ptg.compile(one)) == 6
    assert ptg.nodes(ptg.compile(two)) == 8
    assert ptg.nodes(ptg.compile(one, options=("-fno-check-dims",))) == 1
