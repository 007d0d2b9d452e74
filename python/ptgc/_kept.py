"""Graphs that PyTensor has rewritten, kept for later processes: nearly all of the time of pytensor.function and of an
export is that of the rewrites.

A file of the cache holds the nodes of a rewritten graph. Inputs, constants, ops and traces that the graph had before are
numbers there: a graph that is put together again reads the caller's constants, and its variables come from the caller's
lines of Python.
"""

import pickle
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache

from pytensor.configdefaults import config
from pytensor.graph.basic import Apply, Constant
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.op import HasInnerGraph
from pytensor.graph.rewriting.db import RewriteDatabaseQuery
from pytensor.graph.traversal import io_toposort

from ptgc import _cache, _graph_key
from ptgc._graph_key import Descriptions, tags

LARGEST = 1 << 22  # bytes; a larger graph, of which the rewrites have made long constants, is not kept
REASON = "rewritten before"


class Before:
    """A graph that is about to be rewritten, and the file for what becomes of it."""

    def __init__(self, fgraph: FunctionGraph, query: RewriteDatabaseQuery):
        # PyTensor does so in the middle of its rewrites, and the graphs after that would have other keys
        import pytensor.sparse  # noqa: F401  here, as it takes a tenth of a second

        descriptions = Descriptions()
        nodes = io_toposort(fgraph.inputs, fgraph.outputs)
        graph, constants = descriptions.graph(fgraph.inputs, fgraph.outputs, nodes)
        registered, packages = registered_rewrites(_graph_key.registration())
        files = [_graph_key.files_of(p) for p in sorted(packages | descriptions.packages)]
        features = [type(f).__name__ for f in fgraph._features]
        around = f"{features} {fgraph.update_mapping} {_graph_key.inner_rewrites(fgraph)}"
        asked = _graph_key.query_text(query), _graph_key.options_text()
        key = [graph, around, *asked, registered, _graph_key.COMPUTING, *files]
        self.file = _cache.file_of("\0".join(key).encode(), "graph")
        self.leaves = [*fgraph.inputs, *constants]
        self.ops = [node.op for node in nodes]
        variables = [*self.leaves, *(v for node in nodes for v in node.outputs)]
        self.traces = [list(trace_of(v)) for v in variables]


def trace_of(variable) -> list:
    """The places of Python that made it, each as a stack of calls."""
    return getattr(variable.tag, "trace", None) or []


@cache
def registered_rewrites(_registration: int) -> tuple[str, frozenset[str]]:
    """All rewrites, and the packages of their code."""
    packages: set[str] = set()
    return _graph_key.registered_text(packages), frozenset(packages)


# ---- from a graph to bytes ----


class Numbers(dict):
    """Numbers of things: those that the graph had before have their places there, new ones follow.
    ``key_of`` gives the same for things that may take each other's place."""

    def __init__(self, before: Sequence, key_of: Callable = id):
        self.before, self.key_of = len(before), key_of
        self.new: list = []
        for k, thing in enumerate(before):
            self.setdefault(key_of(thing), k)

    def of(self, thing) -> int:
        key = self.key_of(thing)
        if key not in self:
            self[key] = self.before + len(self.new)
            self.new.append(thing)
        return self[key]


def same_op(op):
    """Equal for ops that may take each other's place. Graphs inside of them are not compared."""
    return id(op) if isinstance(op, HasInnerGraph) else (op, getattr(op, "name", None))


def graph_as_bytes(fgraph: FunctionGraph, before: Before) -> bytes:
    nodes = io_toposort(fgraph.inputs, fgraph.outputs)
    values, ops, types = Numbers(before.leaves), Numbers(before.ops, same_op), Numbers((), lambda t: t)
    for v in [*(v for node in nodes for v in node.inputs), *fgraph.outputs]:
        if isinstance(v, Constant):
            values.of(v)
    constants = list(values.new)
    stacks = {id(stack): (k, i) for k, trace in enumerate(before.traces) for i, stack in enumerate(trace)}
    made = []
    for node in nodes:
        inputs = [values.of(v) for v in node.inputs]
        traces = [[stacks[id(stack)] for stack in trace_of(v) if id(stack) in stacks] for v in node.outputs]
        outputs = [(types.of(v.type), v.name, trace, tags(v)) for v, trace in zip(node.outputs, traces)]
        made.append((ops.of(node.op), inputs, outputs, tags(node)))
        for v in node.outputs:
            values.of(v)
    results = [values.of(v) for v in fgraph.outputs]
    return pickle.dumps((ops.new, types.new, constants, made, results), pickle.HIGHEST_PROTOCOL)


# ---- and back ----


def outputs_from(data: bytes, before: Before) -> list:
    """The outputs of the rewritten graph, as variables that are computed from the graph's inputs."""
    new_ops, types, constants, nodes, results = pickle.loads(data)
    ops, values = [*before.ops, *new_ops], [*before.leaves, *constants]
    for op, inputs, made, of_node in nodes:
        outputs = []
        for kind, name, trace, simple in made:
            v = types[kind].make_variable(name)
            vars(v.tag).update(simple)
            v.tag.trace = [before.traces[k][i] for k, i in trace]
            outputs.append(v)
        node = Apply(ops[op], [values[k] for k in inputs], outputs)
        vars(node.tag).update(of_node)
        values += outputs
    return [values[k] for k in results]


def take(fgraph: FunctionGraph, before: Before) -> bool:
    """Puts the rewritten graph in place, if it was kept."""
    data = _cache.content(before.file)
    if data is None:
        return False
    try:
        outputs = outputs_from(data, before)
    except Exception:  # whatever reading a pickle raises: the graph is rewritten and kept anew
        return False
    if not all(old.type.is_super(new.type) for old, new in zip(fgraph.outputs, outputs, strict=True)):
        return False
    for k, new in enumerate(outputs):
        node, i = fgraph.get_output_client(k)
        fgraph.change_node_input(node, i, new, REASON)
    return True


# ---- when ----

rewriting = threading.local()  # .kept: the thread rewrites a graph that is kept, so none inside of it is


def is_observed() -> bool:
    """Does someone want to see how PyTensor rewrites?"""
    seen = config.optimizer_verbose, config.profile_optimizer, config.traceback__compile_limit
    return any(seen) or config.check_stack_trace != "off"


def rewrite_or_take(fgraph: FunctionGraph, query: RewriteDatabaseQuery, rewrite: Callable):
    """Rewrites the graph by ``rewrite()``, whose result it returns, unless it was rewritten before."""
    if getattr(rewriting, "kept", False) or is_observed():
        return rewrite()
    try:
        before = Before(fgraph, query)
    except Exception:  # NoKey, or whatever an op of others raises when it is described
        return rewrite()
    if take(fgraph, before):
        return None
    rewriting.kept = True
    try:
        result = rewrite()
    finally:
        rewriting.kept = False
    with suppress(Exception):  # an op that cannot be pickled, or a folder that cannot be written
        if len(data := graph_as_bytes(fgraph, before)) <= LARGEST:
            _cache.keep(before.file, data)
    return result
