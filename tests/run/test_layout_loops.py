"""Loops over many short arrays at once (src/ort/layout_loops.c): the same values with axis 0 behind all others."""

import numpy as np
import onnx
import pytest

import ptg
from opsets import SOME_OPSETS

W = 3  # elements of a row
PARAMS = {  # sequences first
    "v": "n, p, W", "d": "n, p, W, W", "r": "n, W", "k": "n, p", "m": "p, W, W", "q": "W", "t": "W, W", "c": "p, 1", "s0": "p, W", "z0": "p",
}  # fmt: skip
SEQUENCES = "vdrk"


def random_body(rng):
    """An expression of [p, W] and one of [p] in the states s and z"""
    pick = lambda *of: of[rng.integers(len(of))]  # noqa: E731

    def one(depth):
        if not depth:
            return pick("z", "z", "k")
        return pick(lambda: f"({one(depth - 1)} - {one(0)})", lambda: f"Sum{{axis=1}}({two(depth - 1)})", lambda: f"{two(depth - 1)}[:, {pick(0, 2)}]",
                    lambda: f"Max{{axis=1}}({two(depth - 1)})")()  # fmt: skip

    def two(depth):
        if not depth:
            return pick("s", "s", "s", "v", "(s * q)", "(s + r)", "(s + c)", "(s - z[:, None])")
        less = depth - 1
        return pick(
            lambda: f"({two(less)} {pick('+', '-', '*')} {two(0)} + s * 0.5)", lambda: f"Sum{{axis={pick(1, 2)}}}({three(less)})",
            lambda: f"LogSumExp{{axes=({pick(1, 2)},)}}({three(less)})", lambda: f"Max{{axis={pick(1, 2)}}}({three(less)})",
            lambda: f"Switch({two(0)} > {pick('q', 'v', 's')}, s, {two(less)})", lambda: f"({one(less)}[:, None] + s)",
            lambda: f"Join{{axis=1}}(s[:, 1:], {one(less)}[:, None])", lambda: f"Clip({two(less)} * s, -0.5, 0.5)",
            lambda: f"Sin({three(less)}[:, {pick(0, 1)}])",
        )()  # fmt: skip

    def three(depth):
        if not depth:
            return pick("(s[:, None] + d)", "(s[:, :, None] * m)", "(s[:, None] - t)")
        less = depth - 1
        return pick(
            lambda: f"({three(less)} + {two(less)}[:, None, :])", lambda: f"({pick('d', 'm', 't')} * {two(0)}[:, :, None] - {three(less)})",
            lambda: f"Transpose{{axes=[0, 2, 1]}}({three(less)})", lambda: f"Exp(-Abs({three(less)}))",
        )()  # fmt: skip

    return two(rng.integers(1, 4)), one(rng.integers(1, 3))


def text(two, one, dtype="float64", n="n"):
    params = ", ".join(f"{k}: {dtype}[{v.replace('W', str(W)).replace('n,', f'{n},')}]" for k, v in PARAMS.items())
    params = params.replace("v:", "vs:").replace("d:", "ds:").replace("r:", "rs:").replace("k:", "ks:")
    of = ", ".join(f"{k} in {k}s" for k in SEQUENCES)
    return f"""graph g({params}) -> (y, x, a, b) {{
  y, x, a, b = loop ({of}, s = s0, z = z0) -> (s, z, [u], [w]) {{
    f = {two}
    g = {one}
    u = f / (1 + Abs(f)) + 0 * s
    w = g / (1 + Abs(g)) + 0 * z
    next s = u
    next z = w
  }}
}}
"""


def arguments(rng, n, p, dtype="float64"):
    sizes = {"n": n, "p": p, "W": W, "1": 1}
    return [rng.normal(size=[sizes[d.strip()] for d in v.split(",")]).astype(dtype) for v in PARAMS.values()]


def is_batch_last(model):
    scans = [n for n in onnx.load_model_from_string(model).graph.node if n.op_type == "Scan"]
    dims = [[d.dim_param or d.dim_value for d in i.type.tensor_type.shape.dim] for s in scans for a in s.attribute if a.name == "body" for i in a.g.input]
    return any(len(d) > 1 and d[-1] == "p" for d in dims)


def compare(body, opset, dtype="float64", n="7", sizes=((7, 3), (7, 1), (7, 0), (7, 70))):
    options = ("-Wno-unused",)
    model, plain = (ptg.compile(text(*body, dtype, n), opset=opset, math="standard", options=options + o) for o in ((), ("-fno-stretch",)))
    rng = np.random.default_rng(0)
    for steps, p in sizes:
        args = arguments(rng, steps, p, dtype)
        if p > 2:
            args[0][0, 1], args[-2][2] = np.nan, np.inf  # another point is none of their business
        near = 1e-12 if dtype == "float64" else 1e-5
        ptg.same_at_all_levels(model, ptg.run(plain, *args), args, str(body), rtol=near, atol=near)
    return is_batch_last(model)


@pytest.mark.parametrize("opset", SOME_OPSETS)
def test_random_bodies(opset):
    rng = np.random.default_rng(opset)
    batch_last = sum(compare(random_body(rng), opset, "float32" if i % 4 == 3 else "float64") for i in range(12))
    assert batch_last >= 6


BODIES = {  # and whether they are batch-last
    "log sum exp": ("LogSumExp{axes=(1,)}(s[:, :, None] + m) + v", "z * k", True),
    "row that all share": ("Sum{axis=2}(d * s[:, None]) + r", "z", True),
    "sum over points": ("Sum{axis=1}(d * s[:, None]) + Sum{axis=0}(s)", "z", False),
    "points to the right": ("Sum{axis=1}(d * s[:, None]) + Sum{axis=1}(Transpose(s) * 2)", "z", False),
    "nothing short": ("s * v", "z", False),
}


@pytest.mark.parametrize("name", BODIES)
def test_which_bodies(name):
    *body, batch_last = BODIES[name]
    assert compare(body, 18) == batch_last
    assert not compare(body, 18, n="n", sizes=((5, 3), (1, 1), (0, 2), (6, 0)))  # no Scan, as there may be no step
