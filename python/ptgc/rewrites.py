"""PyTensor's rewrites that make a graph ready for ONNX: which of them run, and those of our own.

A rewrite gives PyTensor's ops for PyTensor's ops: the same function, with fewer steps or in ops that the compiler turns
into better models. What ONNX lacks is the compiler's business."""

import gc
from contextlib import contextmanager
from functools import cache

import numpy as np
import pytensor.tensor as pt
from pytensor.compile.builders import OpFromGraph
from pytensor.compile.mode import optdb
from pytensor.graph.basic import Constant
from pytensor.graph.rewriting.basic import (
    GraphRewriter,
    copy_stack_trace,
    dfs_rewriter,
    graph_rewriter,
    node_rewriter,
)
from pytensor.graph.rewriting.db import RewriteDatabase
from pytensor.scalar import basic as scalar
from pytensor.scalar.loop import ScalarLoop
from pytensor.scan.op import Scan
from pytensor.scan.rewriting import ScanMerge
from pytensor.tensor.basic import Alloc, ExtractDiag, Join
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.elemwise import DimShuffle, Elemwise
from pytensor.tensor.math import Max, erf, isnan, switch
from pytensor.tensor.rewriting import math as patterns
from pytensor.tensor.rewriting.blockwise import blockwise_of
from pytensor.tensor.special import LogSumExp
from pytensor.tensor.subtensor import (
    AdvancedIncSubtensor,
    AdvancedSubtensor,
    IncSubtensor,
    Subtensor,
    indices_from_subtensor,
)

try:
    from pytensor.conditional.op import IfElse
except ImportError:  # PyTensor 3.3.4 has it there
    from pytensor.ifelse import IfElse

from ptgc._batch_scan import batched_scan, lengths_of, stretched, unbatched
from ptgc._passes import Merge, lean

# What they bring was measured with bench/models.py: time of a call, nodes, time to compile (geometric means).
#   scan_save_mem*              without: models with loops take 1.90 times as long
#   merging of scans            without: 1.46
#   pushing out of scans, left out      with: 1.00, GARCH 1.75: ptgc does the same, once it has merged equal states,
#                               of which PyTensor may push out one in another form
#   rewrites of inner graphs    without: 1.31 for models with LogSumExp and the like; a third of their time to compile
#   inline_ofg, left out        with: 1.05 (a Markov chain 1.28), as LogSumExp is taken apart; nodes 0.98
#   fusion, left out            with: 0.99; it hides ops in Composites, which errors and names then miss
#   local_pow_to_nested_squaring, left out    with: 1.00; x ** 5 is one Pow in place of three products
#   extract_diag_lift_pass      without: 1.00; it is asked only where a graph has something for it: to compile 0.96
#   local_greedy_distributor    without: to compile 0.9, nodes 0.96, but (a / x + b) * x is NaN at 0
#   useless, local_second_sink  without: to compile 0.99 and 1.07, as later phases do their work; nodes 1.00
INCLUDE = ["fast_run", "lazy_ifelse", "alloc_empty_to_zeros", "onnx"]
EXCLUDE = ["fusion", "inline_ofg", "local_pow_to_nested_squaring", "scan_push_out_seq", "scan_push_out_non_seq"]

MANY_OBJECTS = 1_000_000


@contextmanager
def rare_collections():
    """Python looks for cycles of garbage when there are many new objects, not after each few hundred: that took an
    eighth of the time of the rewrites, as it looks at all objects of a large process."""
    first, *others = gc.get_threshold()
    if not 0 < first < MANY_OBJECTS:  # switched off, or rare already, as in another thread
        yield
        return
    gc.set_threshold(MANY_OBJECTS, *others)
    try:
        yield
    finally:
        gc.set_threshold(first, *others)


class Rewrites(GraphRewriter):
    """The rewrites that a query finds in PyTensor's database, for all graphs. They are looked up when they are needed,
    and again once others were registered."""

    def __init__(self, query):
        self.query = query
        self.include, self.exclude, self.require = query.include, query.exclude, query.require  # read as of a query
        self.found, self.registered = None, -1

    def rewriter(self):
        databases = [optdb, *(r for found in optdb.__db__.values() for r in found if isinstance(r, RewriteDatabase))]
        registered = sum(sum(map(len, db.__db__.values())) for db in databases)
        if registered != self.registered:
            self.found, self.registered = lean(optdb.query(self.query)), registered
        return self.found

    def add_requirements(self, fgraph):
        if not hasattr(fgraph, "merge_feature"):
            fgraph.attach_feature(Merge())
        self.rewriter().add_requirements(fgraph)

    def apply(self, fgraph, *args, **kwargs):
        with rare_collections():
            return (self.found or self.rewriter()).apply(fgraph, *args, **kwargs)

    def print_summary(self, *args, **kwargs):
        self.rewriter().print_summary(*args, **kwargs)

    def print_profile(self, *args, **kwargs):
        self.rewriter().print_profile(*args, **kwargs)


ERFC = [patterns.local_one_plus_erf, patterns.local_one_minus_erf, patterns.local_erf_minus_one]
EXCLUDE += [pattern.name for pattern in ERFC]
# What passes a value on with its relative error, and what makes an error of it that is not small
SCALING = scalar.Mul | scalar.Neg | scalar.Cast | scalar.Sqr | scalar.Sqrt
RELATIVE = scalar.Log | scalar.Log2 | scalar.Log10 | scalar.Log1p | scalar.TrueDiv | scalar.Reciprocal | scalar.Pow


def is_relative(fgraph, variable) -> bool:
    """Does a logarithm, a quotient or a power read the variable or a multiple of it?"""
    todo = [variable]
    for v in todo:
        for node, _ in fgraph.clients[v]:
            op = getattr(node.op, "scalar_op", None)
            if isinstance(op, RELATIVE):
                return True
            if isinstance(op, SCALING) or isinstance(node.op, DimShuffle):
                todo += [o for o in node.outputs if o not in todo]
    return False


@node_rewriter([erf])
def local_erfc(fgraph, node):
    """1 + erf(x) is erfc(-x), as in all modes, but not for float32 where it is a factor, as in GELU: ONNX has Erf,
    and no Erfc. What is lost is 1e-7 of the sum."""
    sums = [n for n, _ in fgraph.clients[node.outputs[0]] if isinstance(n.op, Elemwise)]
    if node.outputs[0].dtype == "float32" and not any(is_relative(fgraph, o) for n in sums for o in n.outputs):
        return None
    for pattern in ERFC:
        if found := pattern.transform(fgraph, node):
            return found
    return None


for phase in ("canonicalize", "stabilize", "specialize"):
    optdb[phase].register("local_erfc", local_erfc, "onnx", use_db_name_as_tag=False)


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


# ---- PyTensor's own, for graphs that have something for them ----

EXTRACT_DIAG = "extract_diag_lift_pass"
if EXTRACT_DIAG in optdb["specialize"]:
    EXCLUDE.append(EXTRACT_DIAG)
    lift = optdb["specialize"][EXTRACT_DIAG]

    @graph_rewriter
    def lift_extract_diag(fgraph):
        """PyTensor walks twice over any graph in each round of its phase, in a twentieth of the time of all."""
        if any(isinstance(node.op, ExtractDiag | AdvancedSubtensor) for node in fgraph.apply_nodes):
            lift.apply(fgraph)

    optdb["specialize"].register("lift_extract_diag", lift_extract_diag, "onnx", "shape_unsafe", use_db_name_as_tag=False)


# ---- gradients of LogSumExp ----

FLOATS = "float16", "float32", "float64"



@cache
def pullback_of_logsumexp(kind, axis):
    """The op that PyTensor makes of the gradient of LogSumExp, of arguments x, the result and its gradient: an
    OpFromGraph, or in PyTensor 3.3.8 one of its own class."""
    x = kind()
    out = LogSumExp(axis=axis)(x)
    return out.owner.op.pullback([x], [out], [out.type()])[0].owner.op


@node_rewriter([OpFromGraph, blockwise_of(OpFromGraph)])
def local_logsumexp_grad(fgraph, node):
    """The gradient of LogSumExp is g * exp(x - logsumexp(x)), for NaN and infinities too.
    PyTensor also differentiates the maximum that it subtracts, which adds g - g / s * s in a dozen ops."""
    batch = node.op.batch_ndim(node) if isinstance(node.op, Blockwise) else 0
    core = getattr(node.op, "core_op", node.op)
    if len(node.inputs) != 3 or len(node.outputs) != 1 or getattr(core.input_types[0], "dtype", None) not in FLOATS:
        return None
    axes = {n.op.axis for n in core.fgraph.apply_nodes if isinstance(n.op, Max)}
    axis = axes.pop() if len(axes) == 1 else None
    if not axis or max(axis) >= core.input_types[0].ndim or core != pullback_of_logsumexp(core.input_types[0], axis):
        return None
    x, _, g = node.inputs
    axis = tuple(batch + a for a in axis)
    new = pt.expand_dims(g, axis) * pt.exp(x - pt.expand_dims(LogSumExp(axis=axis)(x), axis))
    if new.type.dtype != node.outputs[0].type.dtype:
        return None
    if not node.outputs[0].type.is_super(new.type):
        new = pt.specify_shape(new, node.outputs[0].type.shape)
    copy_stack_trace(node.outputs, new)
    return [new]


# after the phase in which PyTensor makes a Softmax of this, which is NaN where an element is inf
optdb.register("logsumexp_grad", dfs_rewriter(local_logsumexp_grad), "onnx", position=1.6)
optdb["specialize"].register("local_logsumexp_grad", local_logsumexp_grad, "onnx", use_db_name_as_tag=False)


# ---- constants for many points ----
# Here and not in the compiler, as PyTensor folds and merges what follows: sums and products of these constants, and
# the second LogSumExp of one join.

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
    zeros = np.zeros((*[1] * n, *rest), out.type.dtype)
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
