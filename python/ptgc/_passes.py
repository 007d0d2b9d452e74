"""PyTensor's walks over a graph and its fixed points in less time: the same rewrites in the same order.

PyTensor times each call of a rewrite and notes it for profiles, walks over a graph in search of ops that it does not
have, and ends a fixed point by a round over all nodes that finds nothing."""

from collections import Counter, deque
from copy import copy
from functools import partial

from pytensor.graph.basic import Constant
from pytensor.graph.features import Feature
from pytensor.graph.rewriting.basic import (
    EquilibriumGraphRewriter,
    FromFunctionNodeRewriter,
    GraphRewriter,
    MergeFeature,
    NodeRewriter,
    OpPattern,
    SequentialGraphRewriter,
    SequentialNodeRewriter,
    WalkingGraphRewriter,
)
from pytensor.graph.traversal import toposort
from pytensor.tensor.rewriting.basic import constant_folding
from pytensor.tensor.rewriting.blockwise import local_blockwise_alloc_inputs
from pytensor.tensor.variable import TensorConstant

REACH = 2  # nodes between a change and a node that may be rewritten because of it
SMALL = 64  # elements
MANY_OPS = 1000
MAX_TRACES = 64  # of a variable: places of the user's code that it comes from


class Merge(MergeFeature):
    """Finds equal constants by their bytes, where PyTensor adds their elements up, which takes 20 times as long."""

    def process_atomic(self, fgraph, c):
        if id(c) in self.seen_atomics or type(c) is not TensorConstant or c.data.size > SMALL:
            return super().process_atomic(fgraph, c)
        signature = c.type, c.data.shape, c.data.tobytes()
        other = self.atomic_sig_inv.get(signature, None)
        if other is not None:
            self.scheduled.append([[(c, other, "merge")]])
        else:
            self.atomic_sig[c] = signature
            self.atomic_sig_inv[signature] = c
            self.seen_atomics.add(id(c))

    def on_change_input(self, fgraph, node, i, r, new_r, reason):
        """Keeps traces short. PyTensor gives what takes a node's place those of the node's arguments too: a constant
        in place of Switch(c, constant, constant) has three times as many, and it lives on in the caller's graph."""
        if len(traces := getattr(new_r.tag, "trace", ())) > MAX_TRACES:
            new_r.tag.trace = traces[:MAX_TRACES]
        super().on_change_input(fgraph, node, i, r, new_r, reason)


class Changes(Feature):
    """What changed in a graph: the nodes that are new, and those with another input or another reader."""

    def __init__(self):
        self.new, self.touched, self.changed = [], set(), False

    def on_import(self, fgraph, node, reason):
        self.new.append(node)
        self.touched.add(node)
        self.changed = True

    def on_change_input(self, fgraph, node, i, r, new_r, reason):
        self.touched.update(n for n in (node, r.owner, new_r.owner) if n is not None)
        self.changed = True

    def within_reach(self, fgraph):
        """The nodes that a change may concern. Forgets the changes."""
        near = edge = {n for n in self.touched if n in fgraph.apply_nodes}
        for _ in range(REACH):
            readers = {n for known in edge for v in known.outputs for n, _ in fgraph.clients[v]}
            edge = (readers | {v.owner for n in edge for v in n.inputs if v.owner is not None}) - near
            near = near | edge
        self.touched = set()
        return near


class Found(NodeRewriter):
    """What a rewriter of this name gave for a node, as a rewriter, for PyTensor's process_node()"""

    def __init__(self, name, replacements):
        self.name, self.replacements = name, replacements

    def transform(self, fgraph, node, enforce_tracks=True):
        return self.replacements

    def __str__(self):
        return self.name


class Pass(GraphRewriter):
    """One of PyTensor's rewriters of graphs, applied in another way"""

    def __init__(self, own):
        self.own, self.name = own, getattr(own, "name", None)

    def add_requirements(self, fgraph):
        self.own.add_requirements(fgraph)

    def print_summary(self, *args, **kwargs):
        self.own.print_summary(*args, **kwargs)


def push_alloc_inputs(fgraph, node):
    """PyTensor's local_blockwise_alloc_inputs, unless the new node reads arrays of the same dims: then the Allocs had
    nothing but core dims to give, and local_dimshuffle_alloc makes the old node of the new one, without end."""
    made = local_blockwise_alloc_inputs.fn(fgraph, node)
    new = made and made[0].owner
    same = (
        new
        and new.op == node.op
        and [v.type.broadcastable for v in new.inputs] == [v.type.broadcastable for v in node.inputs]
    )
    return None if same else made


def transform_of(rewriter: NodeRewriter):
    """The function of a graph and a node whose op the rewriter tracks"""
    if rewriter is local_blockwise_alloc_inputs:
        return push_alloc_inputs
    if type(rewriter) is FromFunctionNodeRewriter:
        return rewriter.fn
    return partial(rewriter.transform, enforce_tracks=False)


class FixedPoint(Pass):
    """EquilibriumGraphRewriter: rewrites nodes until nothing changes. From the second round on it looks only at nodes
    near to those that the round before has changed."""

    def __init__(self, own: EquilibriumGraphRewriter):
        super().__init__(own)
        self.first, self.last = [[lean(r) for r in found] for found in (own.global_rewriters, own.final_rewriters)]
        self.steps = {r: (r, transform_of(r), str(r)) for r in own.get_node_rewriters()}
        self.demanding = [r for r in self.steps if type(r) is not FromFunctionNodeRewriter or r.requirements]
        self.demanding += [*self.first, *self.last, *own.cleanup_rewriters]

    def add_requirements(self, fgraph):
        for rewriter in self.demanding:
            rewriter.add_requirements(fgraph)

    def run(self, rewriters, fgraph, changes):
        changes.changed = False
        for rewriter in rewriters:
            rewriter.apply(fgraph)
        return changes.changed

    def apply(self, fgraph):
        changes, uses, largest = Changes(), Counter(), 0
        fgraph.attach_feature(changes)
        near = None
        try:
            while self.round(fgraph, changes, uses, near):
                largest = max(largest, len(fgraph.apply_nodes))
                if uses and max(uses.values()) > largest * self.own.max_use_ratio:
                    return self.own.apply(fgraph)  # PyTensor says so and stops
                near = changes.within_reach(fgraph)
        finally:
            fgraph.remove_feature(changes)
            if self.own.node_tracker.get_trackers.cache_info().currsize > MANY_OPS:
                self.own.node_tracker.get_trackers.cache_clear()

    def round(self, fgraph, changes, uses, near):
        own, apply_nodes, known = self.own, fgraph.apply_nodes, {}
        changed = self.run(self.first, fgraph, changes)
        changed |= self.run(own.cleanup_rewriters, fgraph, changes)
        nodes = toposort(fgraph.outputs)
        if near is not None:
            near |= changes.within_reach(fgraph)
            nodes = (n for n in nodes if n in near)
        todo, new = deque(nodes), changes.new
        new.clear()
        while todo:
            node = todo.pop()
            if node not in apply_nodes:
                continue
            op = node.op
            if id(op) not in known:
                known[id(op)] = op, [self.steps[r] for r in own.node_tracker.get_trackers(op)]
            for rewriter, transform, name in known[id(op)][1]:
                try:
                    new_outputs = transform(fgraph, node)
                except Exception as e:
                    if own.failure_callback is None:
                        raise
                    own.failure_callback(e, own, [(v, None) for v in node.outputs], rewriter, node)
                    continue
                if not new_outputs or not own.process_node(fgraph, node, Found(name, new_outputs)):
                    continue
                uses[rewriter] += 1
                changed = True
                self.run(own.cleanup_rewriters, fgraph, changes)
                if not own.ignore_newtrees:
                    todo.extend(n for n in new if n is not node)
                new.clear()
                if node not in apply_nodes:
                    break
        changed |= self.run(self.last, fgraph, changes)
        return changed | self.run(own.cleanup_rewriters, fgraph, changes)


class Walk(Pass):
    """WalkingGraphRewriter, where the graph has an op of those types that it rewrites"""

    def __init__(self, own: WalkingGraphRewriter, tracks):
        super().__init__(own)
        tracked = [t.op_type if isinstance(t, OpPattern) else t for t in tracks]
        self.types = tuple({t if isinstance(t, type) else type(t) for t in tracked})

    def apply(self, fgraph):
        if any(issubclass(t, self.types) for t in {type(node.op) for node in fgraph.apply_nodes}):
            self.own.apply(fgraph)


class Fold(Pass):
    """Constant folding: a walk in which only nodes that read nothing but constants count"""

    def apply(self, fgraph):
        if any(map(reads_constants, fgraph.apply_nodes)):
            for node in list(toposort(fgraph.outputs)):
                if reads_constants(node) and node in fgraph.apply_nodes:
                    self.own.process_node(fgraph, node)


def reads_constants(node) -> bool:
    return all(v.owner is None and isinstance(v, Constant) for v in node.inputs)


def tracks_of(rewriter: NodeRewriter):
    """Ops, types of ops and patterns of those nodes that the rewriter may change; None: of all"""
    if not isinstance(rewriter, SequentialNodeRewriter):
        return rewriter.tracks()
    tracks = [r.tracks() for r in rewriter.rewrites]
    return None if None in tracks else [t for found in tracks for t in found]


def lean(rewriter: GraphRewriter) -> GraphRewriter:
    """The same rewriter in less time, where there is such a one"""
    kind = type(rewriter)
    if kind is SequentialGraphRewriter:
        rewriter = copy(rewriter)
        rewriter.data = [lean(r) for r in rewriter.data]
    elif kind is EquilibriumGraphRewriter:
        return FixedPoint(rewriter)
    elif kind is WalkingGraphRewriter and (rewriter.node_rewriter, rewriter.order) == (constant_folding, "in_to_out"):
        return Fold(rewriter)
    elif kind is WalkingGraphRewriter and (tracks := tracks_of(rewriter.node_rewriter)) is not None:
        return Walk(rewriter, tracks)
    return rewriter
