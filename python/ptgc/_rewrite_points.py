"""Rewrites of graphs for many points: constants keep from being stretched along the points.

Here and not in the compiler, as PyTensor folds and merges what follows: sums and products of these constants, and
the second LogSumExp of one join."""

import numpy as np
import pytensor.tensor as pt
from pytensor.compile.mode import optdb
from pytensor.graph.basic import Constant
from pytensor.graph.rewriting.basic import copy_stack_trace, node_rewriter
from pytensor.tensor.basic import Alloc, Join
from pytensor.tensor.rewriting.blockwise import blockwise_of
from pytensor.tensor.subtensor import AdvancedIncSubtensor, AdvancedSubtensor, IncSubtensor, Subtensor

MAX_DENSE = 8  # elements of a constant for each one that is added to some of them


def splat_of(v, n):
    """The array that v holds at each index of its first n axes, if v is a constant that does not change along them."""
    value = v.owner.inputs[0] if v.owner and isinstance(v.owner.op, Alloc) else v
    if not isinstance(value, Constant):
        return None
    data = np.asarray(value.data)
    extra = max(data.ndim - (v.type.ndim - n), 0)
    return data.reshape(data.shape[extra:]) if all(k == 1 for k in data.shape[:extra]) else None


def is_stretched(fgraph, v, like, n) -> bool:
    """Has v the lengths of ``like`` along the first n axes, or 1?"""
    if isinstance(v, Constant):
        return True
    return all(one or fgraph.shape_feature.same_shape(v, like, k, k) for k, one in enumerate(v.type.broadcastable[:n]))


@node_rewriter([AdvancedIncSubtensor, IncSubtensor])
def local_inc_subtensor_of_constant(fgraph, node):
    """Constants that are set into constants, or added to a variable at constant indices, for any number of points: the
    gradient of p[:, rows, classes] is so. It is done once, while compiling."""
    x, y, *indices = node.inputs
    op, out = node.op, node.outputs[0]
    at = [k for k, i in enumerate(op.idx_list) if i != slice(None)]
    if not at or not all(isinstance(i, Constant) for i in indices) or not hasattr(fgraph, "shape_feature"):
        return None
    n, rest = at[0], out.type.shape[at[0] :]
    if None in rest or None not in out.type.shape[:n] or at != list(range(n, at[-1] + 1)):
        return None  # indices apart from one another put their axis first
    base = splat_of(x, n)
    part = Subtensor if isinstance(op, IncSubtensor) else AdvancedSubtensor
    zeros = np.full((*[1] * n, *rest), -0.0, out.type.dtype)  # -0 + -0 is -0
    leading = max(y.type.ndim - part(op.idx_list)(pt.as_tensor(zeros), *indices).type.ndim + n, 0)
    added = splat_of(y, leading)
    if leading not in (0, n) or added is None or (base is None and op.set_instead_of_inc):
        return None
    if not is_stretched(fgraph, y, out, leading) or np.prod(rest) > MAX_DENSE * max(added.size, 512):
        return None
    new = op(pt.as_tensor(zeros if base is None else zeros + base.astype(zeros.dtype)), pt.as_tensor(added), *indices)
    new = x + new if base is None else pt.alloc(new, *[x.shape[k] for k in range(x.type.ndim)])
    if not out.type.is_super(new.type):
        return None
    copy_stack_trace(out, new)
    return [new]


@node_rewriter([blockwise_of(Join)])
def local_blockwise_join(fgraph, node):
    """Blockwise of Join is a Join, with constants stretched along the axes of the batch."""
    n, axis = node.op.batch_ndim(node), node.op.core_op.axis
    whole = next((v for v in node.inputs if not any(v.type.broadcastable[:n])), None)
    if whole is None or axis < 0 or not hasattr(fgraph, "shape_feature"):
        return None
    parts = []
    for v in node.inputs:
        if all(v.type.broadcastable[:n]):
            value = v.owner.inputs[0] if v.owner and isinstance(v.owner.op, Alloc) else v
            if not isinstance(value, Constant):
                return None
            v = pt.alloc(value, *[whole.shape[k] for k in range(n)], *[v.shape[k] for k in range(n, v.type.ndim)])
        elif any(v.type.broadcastable[:n]) or not is_stretched(fgraph, v, whole, n):
            return None
        parts.append(v)
    new = pt.join(axis + n, *parts)
    if not node.outputs[0].type.is_super(new.type):
        return None
    copy_stack_trace(node.outputs, new)
    return [new]


for phase in ("canonicalize", "specialize"):
    for rewrite in (local_inc_subtensor_of_constant, local_blockwise_join):
        optdb[phase].register(rewrite.__name__, rewrite, "onnx", use_db_name_as_tag=False)
