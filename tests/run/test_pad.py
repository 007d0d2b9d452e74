"""Borders of what has no elements. PyTensor makes them of the zeros that it starts from, refuses them,
or copies nothing at all, by mode and by widths: each must come out here as it does there."""

import itertools

import numpy as np
import onnx
import ptg
import pytensor
import pytensor.tensor as pt
import pytest
from harness import OPSETS, PYTHON, Compiled, compare, listed, values

from ptgc.errors import CompileError

COPIES = ("wrap", "symmetric", "reflect")
MODES = ("constant", "edge", "linear_ramp", "maximum", "minimum", "mean", *COPIES)
MATRIX = [((0, 0), (0, 0)), ((1, 0), (0, 0)), ((0, 0), (0, 3)), ((1, 3), (3, 1)), ((0, 1), (1, 0))]
VECTOR = [((a, b),) for a, b in ((0, 0), (0, 1), (3, 0), (1, 1), (3, 9), (9, 1))]


def options(mode):
    return {"linear_ramp": {"end_values": 3}, "constant": {"constant_values": 2}}.get(mode, {})


def outcome(f, *args):
    try:
        return f(*args)
    except Exception:
        return None


def agree(python, ours, args, what):
    """Both give the same, or both fail."""
    want, got = outcome(python, *args), outcome(ours, *args)
    assert (got is None) == (want is None), f"{what}: {'fails' if got is None else got!r}, PyTensor {want!r}"
    if got is not None:
        compare(got, listed(want)[0], what)


def both(mode, shape, widths, given=False, opsets=(18,)):
    """PyTensor's function and ours, of x and, where they are given, of the widths."""
    x, w = pt.tensor("x", dtype="float64", shape=shape), np.array(widths, "int64")
    v = pt.tensor("w", dtype="int64", shape=w.shape) if given else w
    inputs, y = [x, v] if given else [x], pt.pad(x, v, mode=mode, **options(mode))
    python = pytensor.function(inputs, y, mode=PYTHON)
    try:
        c = Compiled(inputs, [y], opsets)
    except AssertionError as e:
        assert isinstance(e.__cause__, CompileError), e
        return python, {o: None for o in opsets}  # refused: whatever the inputs are, the run would fail
    return python, {o: lambda *a, s=s: s.run(None, c.feed(a))[0] for o, s in c.sessions.items()}


@pytest.mark.parametrize("mode", MODES)
def test_open_lengths(mode):
    for widths in (*VECTOR, *MATRIX):
        rank = len(widths)
        python, ours = both(mode, (None,) * rank, widths)
        for shape in itertools.product((0, 1, 2, 7) if rank == 1 else (0, 2), repeat=rank):
            agree(python, ours[18], [values("float64", shape)], f"{mode} of {shape} by {widths}")


@pytest.mark.parametrize("mode", MODES)
def test_given_widths(mode):
    for rank, many in (1, VECTOR), (2, MATRIX):
        python, ours = both(mode, (None,) * rank, many[0], True)
        for widths, shape in itertools.product(many, itertools.product((0, 2), repeat=rank)):
            agree(python, ours[18], [values("float64", shape), np.array(widths)], f"{mode} of {shape} by {widths}")


@pytest.mark.sampled
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("given", [False, True])
def test_static_lengths(mode, given):
    shapes = [(0,), (0, 2), (None, 0)] if given else [(0,), (0, 0), (0, 2), (2, 0), (1, 0), (None, 0), (0, None)]
    for shape in shapes:
        for widths in VECTOR[:4] if len(shape) == 1 else MATRIX:
            python, ours = both(mode, shape, widths, given)
            for n in (0, 2) if None in shape else (0,):
                of = tuple(n if s is None else s for s in shape)
                agree(python, ours[18], [values("float64", of), np.array(widths)][: 1 + given], f"{mode} {of} {widths}")


@pytest.mark.parametrize("mode", MODES)
def test_opsets(mode):
    for widths in ((1, 3), (3, 1)), ((0, 0), (2, 0)), ((0, 0), (1, 1)):
        python, ours = both(mode, (None, None), widths, opsets=OPSETS)
        for shape in itertools.product((0, 3), repeat=2):
            for opset, run in ours.items():
                agree(python, run, [values("float64", shape)], f"opset {opset}: {mode} of {shape} by {widths}")


def test_three_axes():
    for mode, widths in itertools.product(MODES, [((0, 0), (0, 2), (1, 0)), ((0, 0), (1, 1), (2, 2)), ((1, 1),) * 3]):
        python, ours = both(mode, (None,) * 3, widths)
        for shape in itertools.product((0, 2), repeat=3):
            agree(python, ours[18], [values("float64", shape)], f"{mode} of {shape} by {widths}")


def test_lengths_that_are_there_cost_nothing():
    for mode in ("edge", "reflect"):
        model = ptg.compile(f'graph g(x: float64[3, 4]) -> (y) {{ y = Pad{{pad_mode="{mode}"}}(x, [[0, 0], [1, 2]]) }}')
        assert [n.op_type for n in onnx.load_from_string(model).graph.node] == ["Pad"]


@pytest.mark.parametrize("options", [{"target": "onnx"}, {"options": ("-fno-check-dims",)}])
def test_without_checks_lengths_stay(options):
    model = ptg.compile('graph g(x: float64[n, m]) -> (y) {\n t = 2 * x\n y = Pad{pad_mode="maximum"}(t, [[1, 1], [0, 0]])\n}', **options)
    types = {v.name: v.type.tensor_type.shape.dim for v in onnx.load_from_string(model).graph.value_info}
    assert [d.dim_param for d in types["t"]] == ["n", "m"]
