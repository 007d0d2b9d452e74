"""Rewrites of loops: Blockwise of a loop is one loop, loops keep the rows that are read, and NaN ends loops of
scalars."""

import numpy as np
import pytensor.tensor as pt
from pytensor.compile.mode import optdb
from pytensor.graph.basic import Constant
from pytensor.graph.rewriting.basic import copy_stack_trace, dfs_rewriter, node_rewriter
from pytensor.scalar import basic as scalar
from pytensor.scalar.loop import ScalarLoop
from pytensor.scan.op import Scan
from pytensor.scan.rewriting import ScanMerge
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.math import isnan, switch
from pytensor.tensor.rewriting.blockwise import blockwise_of
from pytensor.tensor.subtensor import Subtensor, indices_from_subtensor

try:
    from pytensor.conditional.op import IfElse
except ImportError:  # PyTensor 3.3.4 has it there
    from pytensor.ifelse import IfElse

from ptgc._batch_scan import batched_scan, lengths_of, stretched, unbatched

# ---- Blockwise of loops ----


def only_last(fgraph, variable, axis) -> bool:
    """Is nothing of the variable read but its last row along the axis, or x[1:] of which that holds?"""
    for node, _ in fgraph.clients[variable]:
        if not isinstance(getattr(node, "op", None), Subtensor) or node.inputs[0] is not variable:
            return False
        index = indices_from_subtensor(node.inputs[1:], node.op.idx_list)
        if len(index) <= axis or any(i != slice(None) for i in index[:axis]):
            return False
        last = index[axis]
        if isinstance(last, slice):
            starts = isinstance(last.start, Constant) and last.start.data >= 0
            if not (starts and last.stop is None and last.step is None):
                return False
            if len(index) > axis + 1 or not only_last(fgraph, node.outputs[0], axis):
                return False
        elif not (isinstance(last, Constant) and last.data == -1):
            return False
    return True


@node_rewriter([blockwise_of(Scan)])
def local_batched_scan(fgraph, node):
    """Blockwise of a loop is one loop, once it is known that all items have one number of steps."""
    n, info = node.op.batch_ndim(node), node.op.core_op.info
    at = info.n_outer_inputs - info.n_non_seqs
    counts = [node.inputs[0], *node.inputs[at - info.n_nit_sot : at]]
    if any(unbatched(v, n) is None for v in counts):
        return None
    try:
        new = batched_scan(node, lambda results: all(only_last(fgraph, v, n) for v in results))
    except (TypeError, NotImplementedError):
        return None
    copy_stack_trace(node.outputs, new)
    return new


@node_rewriter([blockwise_of(IfElse)])
def local_batched_if_else(fgraph, node):
    """Blockwise of an IfElse decides once, or, where items differ, takes each element from the side of its item."""
    n, core = node.op.batch_ndim(node), node.op.core_op
    cond, *sides = node.inputs
    ones = node.outputs[0].type.broadcastable[:n]
    lengths = lengths_of(node.inputs, ones)
    sides = [stretched(v, 0, v.type.ndim - n, lengths, ones) for v in sides]
    yes, no = sides[: core.n_outs], sides[core.n_outs :]
    if (one := unbatched(cond, n)) is not None:
        new = core.make_node(one, *sides).outputs
    else:
        cond = pt.neq(cond, 0)
        new = [pt.switch(pt.expand_dims(cond, tuple(range(n, a.type.ndim))), a, b) for a, b in zip(yes, no)]
    return [v if old.type.is_super(v.type) else pt.specify_shape(v, old.type.shape) for v, old in zip(new, node.outputs)]


# ---- buffers ----

shorter_buffers = optdb["scan_save_mem_no_prealloc"].node_rewriter


def reads_all_or_last(fgraph, variable, first) -> bool:
    """Are rows of the buffer of a loop, of which the first ones are given, counted from its end if not all are read?"""
    for node, _ in fgraph.clients[variable]:
        if not isinstance(getattr(node, "op", None), Subtensor) or node.inputs[0] is not variable:
            continue
        row = indices_from_subtensor(node.inputs[1:], node.op.idx_list)[0]
        start = row.start if isinstance(row, slice) else row
        if isinstance(start, Constant):
            start = int(start.data)
        if start is None or (isinstance(start, int) and start < 0):
            continue
        cut = any(isinstance(getattr(n, "op", None), Subtensor) for n, _ in fgraph.clients[node.outputs[0]])
        if not isinstance(row, slice) or not isinstance(start, int) or start > first or cut:
            return False
    return True


@node_rewriter([Scan])
def local_shorter_buffers(fgraph, node):
    """PyTensor's rewrite, which keeps those rows of the buffers of a loop that are read. It takes it that all steps are
    run: buffer[2:] of 12 steps becomes the last 11 rows, which are others if a condition ends the loop earlier."""
    info = node.op.info
    first = [0] * info.n_mit_mot + [-min(taps) for taps in info.mit_sot_in_slices] + [1] * info.n_sit_sot
    buffers = zip(node.outputs, first + [0] * info.n_nit_sot)
    if info.as_while and not all(reads_all_or_last(fgraph, v, n) for v, n in buffers):
        return None
    return shorter_buffers.transform(fgraph, node)


optdb.register("shorter_buffers", dfs_rewriter(local_shorter_buffers, ignore_newtrees=True), "onnx", position=1.612)
optdb.register("batched_if_else", dfs_rewriter(local_batched_if_else), "onnx", position=0.1)
optdb.register("batched_scan", dfs_rewriter(local_batched_scan), "onnx", position=0.1)
for phase in ("canonicalize", "specialize"):
    optdb[phase].register("local_batched_scan", local_batched_scan, "onnx", use_db_name_as_tag=False)
# loops that were batched after PyTensor merged the others
optdb.register("merge_batched_scans", ScanMerge(), "onnx", position=2.6)


# ---- loops of scalars that NaN keeps from ending ----

ABSORBING = (
    scalar.Add | scalar.Sub | scalar.Mul | scalar.TrueDiv | scalar.Neg | scalar.Abs | scalar.Exp | scalar.Log
    | scalar.Log1p | scalar.Expm1 | scalar.Sqr | scalar.Sqrt | scalar.Reciprocal | scalar.Identity
    | scalar.ScalarMaximum | scalar.ScalarMinimum
)  # fmt: skip
NAN = "NaN"


def value_for_nan(op, args, dtype):
    """What a scalar op certainly gives for arguments that are certainly NAN, True or False; else None."""
    if isinstance(op, scalar.Switch):
        cond, a, b = args
        return (a if cond else b) if isinstance(cond, bool) else (a if a is b else None)
    if isinstance(op, scalar.AND | scalar.OR):
        decides = isinstance(op, scalar.OR)
        if decides in args:
            return decides
        return not decides if None not in args and NAN not in args else None
    if isinstance(op, scalar.Invert) and isinstance(args[0], bool):
        return not args[0]
    if NAN not in args:
        return None
    if isinstance(op, scalar.LogicalComparison):
        return isinstance(op, scalar.NEQ)
    absorbs = isinstance(op, ABSORBING) or (isinstance(op, scalar.Cast) and op.o_type.dtype.startswith("float"))
    return NAN if absorbs and dtype.startswith("float") else None


def steps_of_nan(op, given):
    """The sets of states that are NaN after 0, 1, ... steps where input ``given`` of the loop is: the last one is that
    of all further steps. None: the loop may end, or a state may be a number again."""
    graph, n = op.fgraph, len(op.outputs) - 1
    nodes, constants = graph.toposort(), {given} - set(range(n))
    states, seen = {given} & set(range(n)), []
    while states not in seen:
        seen.append(states)
        values = {graph.inputs[k]: NAN for k in states | constants}
        for node in nodes:
            args = [values.get(v) for v in node.inputs]
            values[node.outputs[0]] = value_for_nan(node.op, args, node.outputs[0].type.dtype)
        if values.get(graph.outputs[n]) is not False:
            return None
        states = {k for k in range(n) if values.get(graph.outputs[k]) == NAN}
    return seen if states == seen[-1] else None


@node_rewriter([Elemwise])
def local_loop_of_nan(fgraph, node):
    """A loop of scalars with ``until`` takes all of its steps, 100,000 in the gradient of gammainc, where an argument
    is NaN. The model takes no step there, if it is certain that the loop does not end by ``until``, and that all
    results that are used are NaN."""
    op = node.op.scalar_op
    if not (isinstance(op, ScalarLoop) and op.is_while):
        return None
    used = {k for k, v in enumerate(node.outputs[:-1]) if fgraph.clients[v]}
    where, least = None, 0
    for k, v in enumerate(node.inputs[1:]):
        if isinstance(v, Constant) or not v.type.dtype.startswith("float"):
            continue
        steps = steps_of_nan(op, k)
        if steps is not None and used <= steps[-1]:
            where = isnan(v) if where is None else where | isnan(v)
            least = max(least, len(steps) - 1)
    if where is None:
        return None
    where = where & (node.inputs[0] > least)
    n_steps = switch(where, np.zeros((), node.inputs[0].type.dtype), node.inputs[0])
    new = node.op(n_steps, *node.inputs[1:], return_list=True)
    for k in used:
        new[k] = switch(where, np.asarray(np.nan, new[k].type.dtype), new[k])
    return {node.outputs[k]: new[k] for k in [*used, len(new) - 1] if fgraph.clients[node.outputs[k]]}


optdb.register("loop_of_nan", dfs_rewriter(local_loop_of_nan, ignore_newtrees=True), "onnx", position=48.5)
