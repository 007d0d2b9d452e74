"""Predictive draws of all posterior draws at once. In: the variables that a model draws, of one point. Out: the same
numbers for many points, in as few draws as there are random variables.

PyMC draws a variable for one point after the other from its generator. Where NumPy takes the numbers of an array in one
pass, element by element or row by row, the draws of all points are that of one array whose first axis are the points:
the same words of the stream. Other variables keep a loop over the points, each its own.
"""

import re
from collections.abc import Sequence

import pytensor
import pytensor.tensor as pt
from pytensor.compile.builders import OpFromGraph
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.replace import clone_replace, vectorize_graph
from pytensor.graph.rewriting.basic import dfs_rewriter
from pytensor.graph.rewriting.utils import rewrite_graph
from pytensor.graph.traversal import ancestors, io_toposort
from pytensor.scan.op import Scan
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.extra_ops import broadcast_to
from pytensor.tensor.math import Dot
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.random.utils import compute_batch_shape
from pytensor.tensor.rewriting.subtensor_lift import local_subtensor_make_vector
from pytensor.tensor.type_other import NoneTypeT

from ptgc._batch import local_length_of_points
from ptgc._ops import is_generator

# The classes whose draws NumPy takes so: of PyTensor, then of PyMC
ONE_PASS = {
    "BernoulliRV", "BetaRV", "BinomialRV", "CategoricalRV", "CauchyRV", "DirichletRV", "ExponentialRV", "GammaRV",
    "GeometricRV", "GumbelRV", "HalfCauchyRV", "HalfNormalRV", "HyperGeometricRV", "InvGammaRV", "LaplaceRV",
    "LogNormalRV", "LogisticRV", "MultinomialRV", "NegBinomialRV", "NormalRV", "ParetoRV", "PoissonRV", "StudentTRV",
    "TriangularRV", "TruncExponentialRV", "UniformRV", "VonMisesRV", "WaldRV", "WeibullRV",
    "BetaClippedRV", "MoyalRV", "SkewStudentTRV", "TruncatedNormalRV",
}  # fmt: skip


def lengths_alone(graphs: list[Variable]) -> list[Variable]:
    """Graphs of lengths, without the values whose lengths they are."""
    return rewrite_graph(clone_replace(graphs), include=("ShapeOpt", "canonicalize"))


class PointByPoint(Exception):
    """The graph is computed for one point after the other."""


def is_one_pass(node: Apply) -> bool:
    op = node.op
    return isinstance(op, RandomVariable) and type(op).__name__ in ONE_PASS


def parts_in_one_pass(node: Apply) -> bool:
    """Is the node a graph of draws, as of a mixture, and is each of them one pass of a generator of its own?"""
    if not isinstance(node.op, OpFromGraph) or not any(map(is_generator, node.inputs)):
        return False
    inner = node.op.fgraph
    drawing = [n for n in inner.apply_nodes if any(map(is_generator, n.inputs))]
    own = all(len(inner.clients[v]) == 1 for v in inner.inputs if is_generator(v))
    return own and all(map(is_one_pass, drawing)) and not any(map(needs_points, inner.apply_nodes))


def elements_that_are_read(graphs: list[Variable]) -> list[Variable]:
    """The graphs without the elements of vectors that nothing reads. PyMC's lengths of a walk of vectors have one whose
    check fails, and PyTensor's rewrites leave it out too."""
    whole = FunctionGraph(outputs=graphs, clone=False)
    dfs_rewriter(local_subtensor_make_vector).rewrite(whole)
    return list(whole.outputs)


def with_parts(graphs: list[Variable]) -> list[Variable]:
    """Copies of the graphs, where the draws that a node consists of take its place."""
    whole = FunctionGraph(outputs=clone_replace(graphs), clone=False)
    for node in whole.toposort():
        if parts_in_one_pass(node):
            whole.replace_all(zip(node.outputs, node.op.fgraph.bind(node.inputs)), import_missing=True)
    return list(whole.outputs)


def name_of_draw(node: Apply, generators: dict[Variable, Variable]) -> str:
    """The variable that the node draws, or a part of it; then its generator has the name."""
    named = [v.name for v in node.outputs if v.name]
    return named[0] if named else re.sub(r"_rng(_\d+)?$", "", next(generators[v].name for v in node.inputs if v in generators))


def needs_points(node: Apply) -> bool:
    """Would the node be large for many points, as a matrix for each, or is it a loop of its own?"""
    op = node.op
    if isinstance(op, Blockwise):
        return not isinstance(op.core_op, Dot)
    if isinstance(op, OpFromGraph):
        return any(map(needs_points, op.fgraph.apply_nodes))
    return isinstance(op, Scan) or type(op).__name__ in ("IfElse", "LazyIfElse")


class Drawn:
    """Variables of one point, and what they are for all: ``new``. ``count``: how many points there are. ``left``: the
    generators after the draws. ``looped``: the names of variables that are drawn for one point after the other."""

    def __init__(self, new: dict[Variable, Variable], count: Variable, generators: dict[Variable, Variable]):
        self.new, self.count, self.generators = new, count, generators
        self.left: dict[Variable, Variable] = {}
        self.looped: list[str] = []

    def of_all(self, variables: Sequence[Variable]) -> list[Variable]:
        """The variables with the points as first axis, where they depend on the point."""
        if not (replace := {v: new for v, new in self.new.items() if v in set(ancestors(variables))}):
            return list(variables)
        try:
            return vectorize_graph(list(variables), replace)
        except NotImplementedError:
            raise PointByPoint from None

    def generator(self, v: Variable) -> Variable:
        """What an unused generator of the model is among the inputs."""
        if v not in self.generators or v in self.left:  # chained: another draw comes before
            raise PointByPoint
        return self.generators[v]

    def draw(self, node: Apply) -> None:
        """One draw for all points."""
        rng, size, *_ = node.inputs
        out = node.outputs[1]
        old = node.op.dist_params(node)
        params, ranks, batch = self.of_all(old), node.op.ndims_params, out.ndim - node.op.ndim_supp
        wide = [
            p.dimshuffle(0, *["x"] * (batch + rank - o.ndim), *range(1, p.ndim)) if p.ndim > o.ndim else p
            for o, p, rank in zip(old, params, ranks)
        ]
        given = not isinstance(size.type, NoneTypeT)
        if given or all(a is b for a, b in zip(wide, old)):
            one = size if given else compute_batch_shape(old, ndims_params=ranks)
            [all_of] = self.of_all([one])
            if all_of.ndim > 1:
                [all_of] = self.of_all(lengths_alone([one]))
            if all_of.ndim > 1:  # each point has a length of its own
                raise PointByPoint
            size = pt.concatenate([pt.as_tensor(self.count)[None], pt.as_tensor(all_of, dtype="int64")])
        left, x = node.op.make_node(self.generator(rng), size, *wide).outputs
        self.left[rng], self.new[out] = left, x

    def loop(self, node: Apply, updates: dict[Variable, Variable]) -> None:
        """A draw for each point in turn."""
        rngs = [v for v in node.inputs if is_generator(v)]
        if any(updates[v].owner is not node for v in rngs if v in updates):
            raise PointByPoint
        carried = [self.generator(v) for v in rngs]
        inputs = [v for v in node.inputs if v not in rngs]
        given = self.of_all(inputs)
        each = [k for k, (a, b) in enumerate(zip(inputs, given)) if a is not b]
        if isinstance(node.op, RandomVariable):
            ranks = zip(node.op.dist_params(node), node.op.ndims_params)
            if any(rank > 1 and inputs.index(p) in each for p, rank in ranks):  # a matrix for each point is large
                raise PointByPoint
        results = [v for v in node.outputs if not is_generator(v)]

        def step(*args):
            now = dict(zip(inputs, given)) | {inputs[k]: a for k, a in zip(each, args)}
            now |= dict(zip(rngs, args[len(each) :]))
            made = dict(zip(node.outputs, node.op.make_node(*[now[v] for v in node.inputs]).outputs))
            return [made[v] for v in results] + [made[updates[v]] for v in rngs]

        found = pytensor.scan(
            step, sequences=[given[k] for k in each], outputs_info=[*[None] * len(results), *carried],
            n_steps=self.count, return_updates=False, return_list=True,
        )  # fmt: skip
        self.new.update(zip(results, found))
        self.left.update((v, found[len(results) + k]) for k, v in enumerate(rngs))
        if (name := name_of_draw(node, self.generators)) not in self.looped:  # as of a variable of two draws
            self.looped.append(name)


def one_pass(
    outputs: list[Variable], updates: dict[Variable, Variable], points: dict[Variable, Variable],
    generators: dict[Variable, Variable], count: Variable,
) -> tuple[list[Variable], list[Variable], list[str]] | None:  # fmt: skip
    """The outputs for all points, the generators that are left, and the names of what is drawn in a loop. points:
    {variable: its values, points first}; generators: {that of the model: the input}; updates: {that of the model: what
    is left of it}. None: all is computed for one point after the other."""
    leaves = {v: v.type(v.name) for v in points}
    copied = elements_that_are_read(clone_replace([*outputs, *updates.values()], leaves))
    points = {leaves[v]: x for v, x in points.items()}
    for graphs in with_parts(copied), copied:
        named = dict(zip(updates, graphs[len(outputs) :]))
        if found := drawn_at_once(graphs[: len(outputs)], named, points, generators, count):
            return found
    return None


def drawn_at_once(
    outputs: list[Variable], updates: dict[Variable, Variable], points: dict[Variable, Variable],
    generators: dict[Variable, Variable], count: Variable,
) -> tuple[list[Variable], list[Variable], list[str]] | None:  # fmt: skip
    """As of ``one_pass``, of graphs that are its own."""
    drawn = Drawn(dict(points), count, generators)
    try:
        for node in io_toposort(list(points), [*outputs, *updates.values()]):
            if any(map(is_generator, node.inputs)):
                if is_one_pass(node):
                    drawn.draw(node)
                else:
                    drawn.loop(node, updates)
            elif needs_points(node):
                raise PointByPoint
        results = drawn.of_all(outputs)
        left = [drawn.left[v] for v in updates]
    except (PointByPoint, KeyError):
        return None
    results = [
        v if v.ndim > old.ndim else broadcast_to(v, (count, *v.shape)) for v, old in zip(results, outputs, strict=True)
    ]
    whole = FunctionGraph(outputs=[*results, *left], clone=False)
    dfs_rewriter(local_length_of_points).rewrite(whole)
    return list(whole.outputs[: len(results)]), list(whole.outputs[len(results) :]), drawn.looped
