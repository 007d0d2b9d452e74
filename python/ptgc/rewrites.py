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
from pytensor.graph.rewriting.db import RewriteDatabaseQuery
from pytensor.scalar import basic as scalar
from pytensor.tensor.basic import ExtractDiag
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.elemwise import DimShuffle, Elemwise
from pytensor.tensor.math import Dot, Max, erf
from pytensor.tensor.rewriting import math as patterns
from pytensor.tensor.rewriting.blockwise import blockwise_of
from pytensor.tensor.special import LogSumExp
from pytensor.tensor.subtensor import AdvancedSubtensor

try:
    from pytensor.conditional.op import ifelse
except ImportError:  # PyTensor 3.3.4 has it there
    from pytensor.ifelse import ifelse

from ptgc import _rewrite_loops, _rewrite_points  # noqa: F401  they register their rewrites
from ptgc._graph_key import registration
from ptgc._kept import rewrite_or_take
from ptgc._left_out import is_integer, leave_out
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
EXCLUDE += leave_out()

# What a Mode adds to a query for our linkers
REQUIRED = ("minimum_compile",)
INCOMPATIBLE = (
    "cxx_only",
    "BlasOpt",
    "fusion",
    "inplace",
    "local_careduce_fusion",
    "scan_reduce_trace_prealloc",
    "reuse_decomposition_multiple_solves",
    "scan_split_non_sequence_decomposition_and_solve",
)

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
        self.found, self.registered = None, None

    def rewriter(self):
        now = registration()
        if now != self.registered:
            self.found, self.registered = lean(optdb.query(self.query)), now
        return self.found

    def apply(self, fgraph, *args, **kwargs):
        def rewrite():
            if not hasattr(fgraph, "merge_feature"):
                fgraph.attach_feature(Merge())
            return self.rewriter().rewrite(fgraph, *args, **kwargs)

        with rare_collections():
            return rewrite_or_take(fgraph, self.query, rewrite)

    def print_summary(self, *args, **kwargs):
        self.rewriter().print_summary(*args, **kwargs)

    def print_profile(self, *args, **kwargs):
        self.rewriter().print_profile(*args, **kwargs)


class Query(RewriteDatabaseQuery):
    """The query of our modes. A Mode asks it last to leave out what its linker does not go with: for one of ours it then
    gives Rewrites, also in a Mode that PyMC makes of ``mode.provided_optimizer``. With another linker it is a query
    like any other."""

    def including(self, *tags):
        return self.like(super().including(*tags))

    def excluding(self, *tags):
        found = self.like(super().excluding(*tags))
        return Rewrites(found) if tags == INCOMPATIBLE else found

    def requiring(self, *tags):
        return self.like(super().requiring(*tags))

    def register(self, *rewrites):
        return self.like(super().register(*rewrites))

    def like(self, query: RewriteDatabaseQuery) -> "Query":
        new = object.__new__(type(self))
        new.__dict__.update(query.__dict__)
        return new


# ---- 1 + erf(x) ----

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
    """1 + erf(x) is erfc(-x), as in all modes, but not for integers, which wrap, and not for float32 where it is a factor,
    as in GELU: ONNX has Erf, and no Erfc. What is lost is 1e-7 of the sum."""
    if is_integer(node.inputs[0]):
        return None
    sums = [n for n, _ in fgraph.clients[node.outputs[0]] if isinstance(n.op, Elemwise)]
    if node.outputs[0].dtype == "float32" and not any(is_relative(fgraph, o) for n in sums for o in n.outputs):
        return None
    for pattern in ERFC:
        if found := pattern.transform(fgraph, node):
            return found
    return None


for phase in ("canonicalize", "stabilize", "specialize"):
    optdb[phase].register("local_erfc", local_erfc, "onnx", use_db_name_as_tag=False)


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


@graph_rewriter
def reassociate_products_of_floats(fgraph):
    """Of integers, products of other pairs may have a narrower dtype, which wraps."""
    products = [node for node in fgraph.apply_nodes if isinstance(getattr(node.op, "core_op", node.op), Dot)]
    if not any(is_integer(v) for node in products for v in node.inputs):
        optdb["reassociate_matmul_chain"].apply(fgraph)


if "reassociate_matmul_chain" in optdb:
    optdb.register("reassociate_products_of_floats", reassociate_products_of_floats, "onnx", position=1.65)


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


# ---- gradients of powers ----

MANY = 1000  # elements of which a power takes longer than the nodes that see whether it can be had of another one
OPEN = 64  # assumed length of an axis of unknown length, as in the compiler


def one_more(exponent):
    """a, if the exponent is a - 1"""
    op = getattr(getattr(exponent.owner, "op", None), "scalar_op", None)
    if not isinstance(op, scalar.Add | scalar.Sub) or len(exponent.owner.inputs) != 2:
        return None
    sides = exponent.owner.inputs
    ways, one = ([sides, sides[::-1]], -1) if isinstance(op, scalar.Add) else ([sides], 1)
    return next((a for a, k in ways if isinstance(k, Constant) and np.all(k.data == one)), None)


@node_rewriter([Elemwise])
def local_power_less_one(fgraph, node):
    """x ** (a - 1), as in the gradient of x ** a, is x ** a / x, if for no element x ** a is so small or large that
    digits are lost, and no x is negative, of which a power may have another sign."""
    if not isinstance(node.op.scalar_op, scalar.Pow):
        return None
    x, exponent = node.inputs
    out, a = node.outputs[0], one_more(exponent)
    if a is None or out.type.dtype not in ("float32", "float64"):
        return None
    if any(v.type.dtype != out.type.dtype for v in (x, exponent, a)):  # a - 1 of integers wraps
        return None
    if np.prod([OPEN if k is None else k for k in out.type.shape], dtype=float) < MANY:
        return None
    powers = [n for n, _ in fgraph.clients[x] if isinstance(getattr(n.op, "scalar_op", None), scalar.Pow)]
    same = [n.outputs[0] for n in powers if n.inputs[0] is x and n.inputs[1] is a and n.outputs[0].type == out.type]
    if not same:
        return None
    limits = np.finfo(out.type.dtype)
    can = pt.all((same[0] >= limits.tiny) & (same[0] <= limits.max) & (x >= 0))
    new = ifelse(can, same[0] / x, out)
    copy_stack_trace(out, new)
    return [new]


optdb.register("power_less_one", dfs_rewriter(local_power_less_one, ignore_newtrees=True), "onnx", position=2.7)
