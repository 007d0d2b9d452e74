"""Scalar ops as PyTensor ships them: one instance of each class, whose name and dtype rule the op table knows.

In: any instance, which can have a name or a rule of its own. Out: the usual name; an error where the dtype of a
result is not the usual one.
"""

import sys
from functools import cache

from pytensor.graph.basic import Apply
from pytensor.scalar.basic import ScalarOp, TrueDiv, get_scalar_type


@cache
def shipped(kind: type) -> ScalarOp | None:
    """PyTensor's own instance; None for Composite and other classes that it makes as it goes."""
    return next((v for v in vars(sys.modules[kind.__module__]).values() if type(v) is kind), None)


def scalar_name(op: ScalarOp) -> str:
    usual = shipped(type(op)) or op
    return str(usual.name or type(op).__name__).capitalize()


def check_dtypes(op: ScalarOp, node: Apply) -> None:
    usual = shipped(type(op))
    if usual is None or (op == usual and not isinstance(op, TrueDiv)):  # which asks for floatX
        return
    dtypes = [v.type.dtype for v in node.outputs]
    try:
        same = usual.make_node(*[get_scalar_type(v.type.dtype)() for v in node.inputs])
    except TypeError:
        same = None
    if same is None or [v.type.dtype for v in same.outputs] != dtypes:
        raise TypeError(f"it gives {', '.join(dtypes)}, by a dtype rule of its own or another floatX: use a Cast for that")
