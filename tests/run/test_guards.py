"""Lengths that must be equal are checked when the model runs, where types and inputs leave it open.

Only what is known to be of length 1 is stretched. Every case is run with ONNX Runtime's own
optimizations and without, at the opsets where guards are made of other nodes.
"""

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
        "a: float64[n], b: float64[m]", "y = a[1:] + b",
        [(ones(4), ones(3)), (ones(0), ones(0)), (ones(2), ones(1))], lambda a, b: a[1:] + b,
        [(ones(4), ones(1)), (ones(2), ones(3)), (ones(0), ones(1))],
    ),
    "a product of dims": (
        "a: float64[n, m], b: float64[k]", "y = Reshape(a, [-1]) + b",
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
        "a: float64[n], c: bool[m]", "y = a[c]",
        [(ones(3), MASK)], lambda a, c: a[c],
        [(ones(3), MASK[:2]), (ones(2), MASK), (ones(3), MASK[:1])],
    ),
    "a length that is a value": (
        "a: float64[], i: int64[], b: float64[m]", "y = Alloc(a, i) + b",
        [(np.array(1.0), np.array(3), ones(3)), (np.array(1.0), np.array(1), ones(1))], lambda a, i, b: 1 + b,
        [(np.array(1.0), np.array(3), ones(1)), (np.array(1.0), np.array(1), ones(3))],
    ),
    "a product": (
        "a: float64[n, k], b: float64[q, m]", "y = a @ b",
        [(ones(2, 3), ones(3, 4)), (ones(2, 1), ones(1, 4))], lambda a, b: a @ b,
        [(ones(2, 3), ones(2, 4)), (ones(2, 1), ones(3, 4)), (ones(2, 3), ones(1, 4))],
    ),
    "batches": (
        "a: float64[p, n, k], b: float64[q, k, m]", "y = a @ b",
        [(ones(2, 3, 4), ones(2, 4, 5))], lambda a, b: a @ b,
        [(ones(2, 3, 4), ones(1, 4, 5)), (ones(1, 3, 4), ones(2, 4, 5))],
    ),
    "rows": (
        "a: float64[n, m], b: float64[m]", "y = a * b",
        [(ones(2, 3), ones(3)), (ones(2, 1), ones(1))], lambda a, b: a * b,
        [(ones(2, 3), ones(1)), (ones(2, 1), ones(3))],
    ),
    "one open length": (
        "a: float64[n, 3], b: float64[m, 3]", "y = a * b",
        [(ones(2, 3), ones(2, 3)), (ones(0, 3), ones(0, 3)), (ones(1, 3), ones(1, 3))], lambda a, b: a * b,
        [(ones(2, 3), ones(1, 3)), (ones(1, 3), ones(2, 3)), (ones(0, 3), ones(1, 3)), (ones(1, 3), ones(0, 3))],
    ),
    "one open length of each": (
        "a: float64[2, n], b: float64[m, 1, 1], c: float64[k, 3]", "y = Sum(a) + Sum(b * a) + Sum(b[:, :, 0] * c)",
        [(ones(2, 3), ones(4, 1, 1), ones(4, 3)), (ones(2, 3), ones(0, 1, 1), ones(0, 3))],
        lambda a, b, c: a.sum() + (b * a).sum() + (b[:, :, 0] * c).sum(),
        [(ones(2, 3), ones(4, 1, 1), ones(1, 3)), (ones(2, 3), ones(1, 1, 1), ones(4, 3)), (ones(2, 3), ones(0, 1, 1), ones(1, 3))],
    ),
    "vectors": (
        "a: float64[n], b: float64[m], c: float64[k]", "y = a + b + c",
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
        "a: float64[?, ?]", "y: float64[n, n] = a * 2",
        [(ones(3, 3),), (ones(0, 0),)], lambda a: a * 2,
        [(ones(2, 3),), (ones(1, 3),)],
    ),
    "inside a loop": (
        "a: float64[n, m], b: float64[k]", "y = loop (r in a, s: float64[m] = a[0]) -> (s) {\n next s = s + r * b\n}",
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
        "y = loop (r in m, u in z) -> ([s]) {\n c: float64[q] = x[r]\n s = Sum{axes=None}(c * u)\n}",
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
        "a: float64[n], b: float64[m]", "y = Join{axis=0}(ExpandDims{axis=0}(a[1:(n+1)//2]), ExpandDims{axis=0}(b))[0]",
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
        "a: float64[n, m], b: float64[k, j]", "y = Join{axis=0}(a, b, a[:, :1+j//2])[:n]",
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
    "a column": ("x: float64[?, ?], v: float64[?]", "z = Squeeze{axis=1}(Transpose(x) @ ExpandDims{axis=1}(v))", 4),
    "a row": ("x: float64[?, ?], v: float64[?]", "z = Squeeze{axis=0}(ExpandDims{axis=0}(v) @ x)", 3),
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


# Of reshapes in a row ONNX Runtime makes one, and drops what is in between: not so a check.
CHECK = np.array(True), np.array(False)
BESIDE_RESHAPES = {
    "a reshape before": ("a: float64[4], c: bool[]", "y = Assert(Reshape(a, [2, 2]), c)"),
    "a new axis before": ("a: float64[4], c: bool[]", "y = Exp(Assert(ExpandDims{axis=0}(a), c))"),
    "a reshape and an axis before": (
        "a: float64[4], c: bool[]", "y = Assert(ExpandDims{axis=0}(Reshape(a, [2, 2])), c)"),
    "a new axis after": ("a: float64[4], c: bool[]", "y = ExpandDims{axis=1}(Assert(a, c))"),
    "an axis dropped after": ("a: float64[1, 4], c: bool[]", "y = Squeeze{axis=0}(Assert(a, c))"),
    "the last axis dropped": ("a: float64[1, 4], c: bool[]", "y = Squeeze{axes=(0, 1)}(Assert(a[:, :1], c))"),
    "a reshape after": ("a: float64[4], c: bool[]", "y = Reshape(Assert(a, c), [2, 2])"),
    "on both sides": ("a: float64[4], c: bool[]", "y = Reshape(Assert(Reshape(a, [4, 1]), c), [2, 2])"),
    "two checks": ("a: float64[4], c: bool[]", "y = Assert(Assert(a, a[0] > 0), c)"),
    "two checks, the first fails": ("a: float64[4], c: bool[]", "y = Assert(Assert(a, c), a[0] > 0)"),
    "two conditions": ("a: float64[4], c: bool[]", "y = ExpandDims{axis=0}(Assert(a, a[0] > 0, c))"),
    "a factor of 1 after": ("a: float64[4], c: bool[]", "y = Reshape(Assert(a, c) * 1.0, [2, 2])"),
    "nothing added before": ("a: float64[4], c: bool[]", "y = Assert(Reshape(a, [2, 2]) + 0.0, c)"),
    "small integers": ("a: int8[4], c: bool[]", "y = Reshape(Assert(a, c), [2, 2])"),
    "lengths found at run time": (
        "a: float64[4], c: bool[]",
        "y = ExpandDims{axis=0}(a[a > Switch(c, float64(0), float64(1))] + float64([1, 2, 3, 4]))"),
    "several lengths": (
        "a: float64[4], c: bool[]",
        "m = a > Switch(c, float64(0), float64(1))\n  b = ExpandDims{axis=1}(a[m]) * ExpandDims{axis=0}(a[m])\n"
        "  y = ExpandDims{axis=0}(b + float64([[1, 2, 3, 4], [1, 2, 3, 4], [1, 2, 3, 4], [1, 2, 3, 4]]))"),
    "in a loop": (
        "a: float64[4], c: bool[]",
        "y = loop (i in 0:2, s: float64[2, 2] = float64[2, 2](0)) -> (s) {\n"
        "    next s = s + Reshape(Assert(a, c), [2, 2])\n  }"),
}


@pytest.mark.parametrize("case", BESIDE_RESHAPES)
@pytest.mark.parametrize("opset", [13, 18, 23, 26])
def test_guard_beside_reshapes(case, opset):
    params, body = BESIDE_RESHAPES[case]
    model = ptg.compile(f"ptg 1\n\ngraph g({params}) -> (y) {{\n  {body}\n}}\n", opset=opset)
    a = np.ones((1, 4) if "[1, 4]" in params else 4, "int8" if "int8" in params else "float64")
    for level in ("none", "all"):
        assert ptg.run(model, a, CHECK[0], level=level).size in (1, 4, 16)
        with pytest.raises(Exception, match="ONNXRuntimeError"):
            ptg.run(model, a, CHECK[1], level=level)
            raise AssertionError("runs")
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
    ("y = a[1:] + b[2:]", (ones(2), ones(5)), "axis 0 of b must be n"),
    ("y = Assert{msg=\"a must be small\"}(a, Sum(b) < 3)", (ones(3), ones(3)), "assertion failed: a must be small"),
    ("u = Unique(a)\n  y = Sum(u + b) + Sum(u)", (ones(3), ones(3)), "axis 0 of u must be n"),
])
def test_the_node_that_fails_says_what_must_hold(statement, args, said):
    model = ptg.compile(f"graph g(a: float64[n], b: float64[n]) -> (y) {{ {statement} }}")
    with pytest.raises(Exception, match=f"Name:'[^']*{said}"):
        ptg.run(model, *args)


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
        ("a: float64[n, m], b: float64[k]", 2),
        ("a: float64[n, 4], b: float64[m, 4]", 3),
        ("a: float64[n, m], b: float64[n, m]", 5),
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
    assert ptg.nodes(ptg.compile(one)) == 5
    assert ptg.nodes(ptg.compile(two)) == 7
    assert ptg.nodes(ptg.compile(one, options=("-fno-check-dims",))) == 1


# Lengths that constants alone decide: ONNX Runtime computes them when it loads the model, which must
# not fail. (statement, does the run give x?)
CONSTANTS = [
    ("SpecifyShape(x, Sum(z))", False),
    ("SpecifyShape(x, Argmax{axis=None}(int64([1, 5, 2])))", False),
    ("SpecifyShape(x, Argmax{axis=None}(int64([1, 5, 2, 3, 9])))", True),
    ("x + 0 * Unique(int64([1, 2, 3, 4, 4]))", True),
    ("x + 0 * Nonzero(int64([1, 0, 3, 4, 4]))", True),
    ("SpecifyShape(x, Cast{int64}(Sqrt(float64(9))))", False),
    ("SpecifyShape(x, Cast{int64}(Sqrt(float64(16))))", True),
]


@pytest.mark.parametrize("statement, right", CONSTANTS)
@pytest.mark.parametrize("opset", OPSETS)
def test_lengths_of_constants(statement, right, opset):
    text = f"graph g(x: float64[4], z: uint32[k, 0]) -> (y) {{\n  y = {statement}\n}}\n"
    model = ptg.compile(text, opset=opset)
    x, z = np.arange(4.0), np.ones((2, 0), "uint32")
    for level in ("all", "none"):
        given = {"x": x, "z": z}
        s = ptg.session(model, level)
        inputs = {i.name: given[i.name] for i in s.get_inputs()}
        if right:
            np.testing.assert_array_equal(s.run(None, inputs)[0], x)
        else:
            with pytest.raises(Exception, match="ONNXRuntimeError"):
                s.run(None, inputs)


# What gives n elements, n being computed in the run: {n} is not known to be anything.
COMPUTED = {
    "Alloc": "Alloc(float64(0), n)",
    "Alloc of two axes": "Sum{axis=0}(Alloc(float64(0), int64(2), n))",
    "Alloc of a vector": "Alloc(float64[1](0), n)",
    "AllocEmpty": "AllocEmpty{dtype=float64}(n)[:].set(float64(1))",
    "Eye": "Sum{axis=0}(Eye{dtype=float64}(int64(2), n, int8(0)))",
    "square Eye": "Sum{axis=0}(Eye{dtype=float64}(n, n, int8(0)))",
    "ARange": "ARange{dtype=float64}(int8(0), n, int8(1))",
    "ARange of int64": "ARange{dtype=int64}(int8(0), n, int8(1))",
    "Repeat": "Repeat{axis=0}(float64[1](1), ExpandDims{axis=0}(n))",
    "Reshape": "Reshape{ndim=1}(many[:n], MakeVector(n))",
    "slice": "many[:n]",
    "mask": "many[many < n]",
    "Pad": 'Pad{pad_mode="constant"}(float64([1]), MakeVector(int64(0), n - 1), float64(0))',
    "update": "Alloc(int64(0), n)[int64([0])].inc(int64(1))",
    "SplitDims": "Sum{axis=0}(SplitDims{axis=0}(float64([1, 2, 3, 4, 5, 6]), MakeVector(int64(2), n)))",
    "Second": "Second(Alloc(int8(0), n), float64(1))",
    "Switch": "Switch(bool(True), Alloc(float64(0), n), float64(1))",
    "Join": "Join{axis=0}(float64([1]), Alloc(float64(1), n - 1))",
    "Bartlett": "Bartlett(n)",
    "Unique": "Unique(ARange{dtype=int64}(int8(0), n, int8(1)))",
    "diagonal": "ExtractDiag{offset=0, axis1=0, axis2=1}(Alloc(float64(1), n, n))",
    "Dot": "Dot(Alloc(float64(1), n, int64(2)), float64([1, 2]))",
    "a part of complex numbers": "Real(Alloc(complex128(1), n))",
    "Convolve1d": "Convolve1d(Alloc(float64(1), n), float64([1]), bool(True))",
}


@pytest.mark.parametrize("name", COMPUTED)
def test_computed_lengths(name):
    """A length that is computed is what it is, and not what stands beside it."""
    for declared in ("3", "m"):
        text = (
            f"ptg 1\n\ngraph g(x: float64[{declared}], k: int32[2]) -> (y) {{\n"
            "  n = Max{axes=None}(Cast{int64}(k))\n  many = float64([0, 1, 2, 3, 4, 5, 6])\n"
            f"  y = {COMPUTED[name]} + x\n}}\n"
        )
        for opset in (13, 18):
            model = ptg.compile(text, opset=opset)
            for n in (1, 2, 3, 4):
                x, k = np.zeros(3), np.array([n, 0], "int32")
                if n == 3:
                    assert ptg.run(model, x, k).shape == (3,)
                    continue
                with pytest.raises(Exception):
                    ptg.run(model, x, k)


def test_computed_trips():
    for declared in ("3", "m"):
        text = (
            f"ptg 1\n\ngraph g(x: float64[{declared}], k: int32[2]) -> (y) {{\n  n = Max{{axes=None}}(Cast{{int64}}(k))\n"
            "  s, hs = loop (i in 0:n, s: float64[] = float64(0)) -> (s, [s1]) {\n    s1 = s + 1\n    next s = s1\n  }\n"
            "  y = hs + x + s\n}\n"
        )
        for opset in (13, 18, 26):
            model = ptg.compile(text, opset=opset)
            assert np.array_equal(ptg.run(model, np.zeros(3), np.array([3, 0], "int32")), [4, 5, 6])
            for n in (0, 1, 2, 4):
                with pytest.raises(Exception):
                    ptg.run(model, np.zeros(3), np.array([n, 0], "int32"))


@pytest.mark.parametrize("value", ["x + x", "x[0:1]", "SpecifyShape(x[0:1], int8(1), None)"])
def test_length_that_the_runtime_finds_out_is_zero(value):
    """It drops an Expand to 1s and 0s that it computed itself, and with it the 0."""
    for declared in ("1, 2", "m, 2", "m, n"):
        zero = "(int64([[0, 2], [0, 1]])[0])[0]"
        text = f"ptg 1\n\ngraph g(x: float64[{declared}]) -> (y) {{\n  y = (Alloc(x[0], 4, Shape(x)[1]))[:{zero}, :].set({value})\n}}\n"
        got = ptg.run(ptg.compile(text), ones(1, 2))
        assert np.array_equal(got, ones(4, 2))
