"""PyTensor's rewrites that change what a graph computes: the mode and the exporter leave them out.

doc/upstream.md says the same in words. tests/run/test_upstream.py runs the examples, and fails when PyTensor has mended
one: then its row goes."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from pytensor.compile.mode import optdb
from pytensor.graph.rewriting.basic import NodeRewriter, node_rewriter

PHASES = "canonicalize", "stabilize", "specialize", "uncanonicalize"


class Wrong(NamedTuple):
    """A rewrite of PyTensor's, by its name there, and an expression that it makes wrong for these x.

    holds: for which nodes it is right and stays; None: for too few."""

    name: str
    example: str
    x: np.ndarray
    becomes: str
    holds: Callable | None = None


def is_float(node) -> bool:
    return node.outputs[0].type.dtype.startswith("float")


def of_one_dtype(node) -> bool:
    return all(v.type.dtype == node.outputs[0].type.dtype for v in node.inputs)


WRONG = (
    Wrong(
        "local_dimshuffle_subtensor", "pt.specify_shape(x, (2, None))[::-2].squeeze(0)", np.array([[1.0], [2.0]]),
        "x[0], where x[-1] is meant: a slice without a start begins at the end if its step is negative",
    ),
    Wrong(
        "local_pow_specialize", "x ** 2.0", np.array([126], "int8"),
        "sqr(x), computed in int8: 4, not 15876",
        # a power of integers is a power of integers, and 1 / x of integers is a float
        lambda node: node.inputs[0].type.dtype == node.outputs[0].type.dtype,
    ),
    Wrong(
        "local_max_to_min", "-pt.max(-x)", np.array([0, 5], "uint8"),
        "min(x), 0: but -x of a uint8 is 256 - x, of 0 it is 0, and the greatest of 0 and 251 is 251",
        is_float,
    ),
)  # fmt: skip


def where_it_holds(wrong: Wrong, own: NodeRewriter) -> NodeRewriter:
    """The rewrite for the nodes for which it is right"""

    def transform(fgraph, node):
        return own.transform(fgraph, node, enforce_tracks=False) if wrong.holds(node) else None

    transform.__name__ = f"{wrong.name}_where_it_holds"
    return node_rewriter(own.tracks())(transform)


def leave_out() -> list[str]:
    """Registers for the mode what stays of these rewrites, and gives the names of those to exclude."""
    for wrong in WRONG:
        for phase in PHASES:
            if wrong.holds and wrong.name in optdb[phase]:
                kept = where_it_holds(wrong, optdb[phase][wrong.name])
                optdb[phase].register(str(kept), kept, "onnx", use_db_name_as_tag=False)
    return [wrong.name for wrong in WRONG]
