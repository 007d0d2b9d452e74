"""Reductions that PyTensor's C modes fuse with what they reduce, taken apart again.

In: a node that is CAReduce{Composite} of (so far, x) -> so far + f(x), or of a product, or any other. Out:
the nodes Elemwise{f} and Sum or Prod that it was made from. Only PyTensor's C code computes the fused op: its
Python code starts with x where f(x) is meant.
"""

from pytensor.graph.basic import Apply, Variable
from pytensor.graph.traversal import ancestors
from pytensor.scalar.basic import Add, Cast, Composite, Mul
from pytensor.tensor.elemwise import CAReduce, Elemwise
from pytensor.tensor.math import Prod, Sum


def taken_apart(node: Apply) -> tuple[Apply, ...]:
    """What is reduced, and its reduction; the node alone if it is none of these."""
    op = node.op
    if not (isinstance(op, CAReduce) and isinstance(op.scalar_op, Composite)):
        return (node,)
    graph = op.scalar_op.fgraph.unfreeze()
    carried, x = graph.inputs
    result = graph.outputs[0].owner
    if result is not None and isinstance(result.op, Cast):  # to the dtype of the accumulator
        result = result.inputs[0].owner
    kinds: dict[type, type] = {Add: Sum, Mul: Prod}
    kind = kinds.get(type(result.op)) if result is not None and len(result.inputs) == 2 else None
    if kind is None or carried not in result.inputs:
        return (node,)
    value: Variable = result.inputs[1 - result.inputs.index(carried)]
    if carried in ancestors([value]):
        return (node,)
    inner = value.owner
    whole = inner is not None and inner.inputs == [x] and len(inner.outputs) == 1
    scalar_op = inner.op if whole else Composite([x], [value])
    each = Elemwise(scalar_op).make_node(*node.inputs)
    reduction = kind(axis=op.axis, dtype=node.outputs[0].type.dtype, acc_dtype=op.acc_dtype)
    return each, reduction.make_node(each.outputs[0])
