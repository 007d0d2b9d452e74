"""The log density of a PyMC model as a graph that reads as the model does. In: a model, of which nothing but its own
methods is asked; PyMC is not imported. Out: inputs and terms under the model's names; of the inputs _data.py says
which are data. The term of a plain draw calls the log density of its distribution, and adds the Jacobian of its
transform. PyMC's own term stands where a variable is no plain draw. No constant is folded: numbers stay as the user
wrote them.
"""

import math
import operator
import sys
from dataclasses import dataclass
from inspect import signature

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.compile.builders import OpFromGraph
from pytensor.compile.mode import optdb
from pytensor.compile.ops import ViewOp
from pytensor.graph.basic import Constant, Variable, equal_computations
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.replace import clone_replace
from pytensor.graph.rewriting.basic import EquilibriumGraphRewriter, MergeOptimizer, node_rewriter
from pytensor.graph.rewriting.db import RewriteDatabaseQuery
from pytensor.graph.traversal import ancestors, apply_ancestors, toposort
from pytensor.raise_op import CheckAndRaise
from pytensor.scalar import basic as scalar
from pytensor.tensor.basic import Alloc, MakeVector
from pytensor.tensor.elemwise import CAReduce, DimShuffle, Elemwise
from pytensor.tensor.math import All, Any, Sum
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.rewriting.math import local_add_canonizer, local_expm1

from ptgc._batch import without_axes_of_numbers
from ptgc._data import Which, dims_of_model, lengths_read, with_inputs
from ptgc._left_out import is_elementwise, of_one_dtype
from ptgc._ops import is_xtensor

FOLDING = ("constant_folding", "topo_constant_folding")
# Called stabilizing too, but these fold constants into others, or change where axes are added; see expm1_alone()
LEFT_OUT = (*FOLDING, "local_greedy_distributor", "local_dimshuffle_lift", "local_expm1")

OF_ADDED_AXES = "local_subtensor_of_expand_dims"  # x[:, None][0] is [x[0]]

# What x is called of p = f(x)
BEHIND = {"Sigmoid": "logit", "Exp": "log", "Reciprocal": "inverse"}


class LogDensity(OpFromGraph):
    """The log density of a distribution, of a value and of parameters."""

    parameters: list[str]


@dataclass
class Density:
    """A model's log density: the value variables and data; the terms; their sum, and its gradient; what the model calls
    the lengths of inputs."""

    inputs: list[Variable]
    terms: list[Variable]
    outputs: list[Variable]
    dims: dict[Variable, dict[int, str]]


def is_model(source) -> bool:
    return hasattr(source, "value_vars") and hasattr(source, "logp")


# ---- rewrites ----


def sets_no_length(node) -> bool:
    """Does an Alloc give its argument the length that it has?"""
    v, out = node.inputs[0].type, node.outputs[0].type
    return v.ndim == out.ndim and v.broadcastable == out.broadcastable


@node_rewriter([Alloc, CAReduce, CheckAndRaise, Elemwise, ViewOp])
def plain(fgraph, node):
    """Leaves out what PyMC adds and what changes nothing: an Alloc to the same lengths, All of one condition, a check
    of what always holds, Identity, a power of 1, -(-x), 1 / (1 / x), x - 0, x / 1."""
    op, v = node.op, node.inputs[0]
    if isinstance(op, ViewOp):
        return [v]
    if isinstance(op, Alloc):
        return [v] if sets_no_length(node) else None
    if isinstance(op, CheckAndRaise):
        if str(op.msg).startswith("Could not broadcast dimensions"):
            return [v]  # of a length: the density itself fails where arrays do not fit
        return [v] if all(holds(c) for c in conditions_of(node.inputs[1:])) else None
    if isinstance(op, Any) and node.outputs[0].type.ndim == 0 and outcomes(v) == {False}:
        return [pt.constant(False, dtype="bool")]
    if isinstance(op, CAReduce):
        one = v.owner is not None and isinstance(v.owner.op, MakeVector) and len(v.owner.inputs) == 1
        return [v.owner.inputs[0]] if one and v.owner.inputs[0].type.dtype == node.outputs[0].type.dtype else None
    kind, out = type(op.scalar_op).__name__, node.outputs[0].type
    if kind == "Mul" and len(node.inputs) == 2 and number(v) == -1 and node.inputs[1].type == out:
        return [-node.inputs[1]]
    if kind in ("AND", "OR") and out.dtype == "bool" and len(node.inputs) == 2:
        known = next((u for u in node.inputs if isinstance(number(u), bool)), None)
        if known is not None:
            other = node.inputs[known is node.inputs[0]]
            chosen = other if number(known) == (kind == "AND") else known
            return [chosen] if chosen.type == out else None
    if kind == "Switch" and isinstance(number(v), bool):
        chosen = node.inputs[1 if number(v) else 2]
        return [chosen] if chosen.type == out else None
    if kind == kind_of(v) in ("Neg", "Reciprocal"):
        [inner] = v.owner.inputs
        return [inner] if inner.type == out else None
    if kind == "Sub" and number(node.inputs[1]) == 0 and not np.signbit(number(node.inputs[1])):
        return [v] if v.type == out else None
    if kind == "TrueDiv" and number(node.inputs[1]) == 1:
        return [v] if v.type == out else None
    unchanged = kind == "Identity" or (kind == "Pow" and number(node.inputs[1]) == 1)
    return [v] if unchanged and v.type == out else None


# The least and the largest value of functions, whatever finite numbers they are of
RANGES = {"Softmax": (0, 1), "Sigmoid": (0, 1)}
COMPARISONS = {"LT": operator.lt, "LE": operator.le, "GT": operator.gt, "GE": operator.ge}
ROUNDING = 1e-6  # how far from 1 a sum of rounded probabilities may be


def kind_of(v: Variable) -> str:
    """The name of the function that gives v."""
    if v.owner is None:
        return ""
    op = v.owner.op
    return type(op.scalar_op if isinstance(op, Elemwise) else op).__name__


def outcomes(v: Variable) -> set[bool]:
    """What a comparison of a function's values with a number may give, if these are in a range; NaN apart."""
    compare = COMPARISONS.get(kind_of(v))
    ends = RANGES.get(kind_of(v.owner.inputs[0])) if compare else None
    bound = number(v.owner.inputs[1]) if ends else None
    return {True, False} if bound is None else {compare(end, bound) for end in ends}


def combines(c: Variable) -> bool:
    """Is a condition nothing but all of others?"""
    kind = kind_of(c)
    return kind in ("ScalarFromTensor", "MakeVector") or (kind == "All" and kind_of(c.owner.inputs[0]) == "MakeVector")


def conditions_of(found) -> list[Variable]:
    """The conditions that are combined to these."""
    todo = list(found)
    for c in todo:
        if combines(c):
            todo += c.owner.inputs
    return [c for c in todo if not combines(c)]


def adds_to_one(v: Variable) -> bool:
    """Is v the sum, or a known number of sums, of all the probabilities that a Softmax gives?"""
    if kind_of(v) != "Sum" or kind_of(v.owner.inputs[0]) != "Softmax" or None in v.type.shape:
        return False
    [p] = v.owner.inputs
    every = tuple(range(p.type.ndim))
    over, summed = (every if op.axis is None else tuple(np.atleast_1d(op.axis)) for op in (p.owner.op, v.owner.op))
    return {k % p.type.ndim for k in over} == {k % p.type.ndim for k in summed}


def holds(c: Variable) -> bool:
    """Does a condition always hold? That is one of constants, one of a function's range, or one of probabilities that
    add up to 1, as checks of weights that a Softmax gives."""
    if kind_of(c) == "All" and outcomes(c.owner.inputs[0]) == {True}:
        return True
    ones = [v for v in ancestors([c]) if adds_to_one(v)]
    for total in (1, 1 - ROUNDING, 1 + ROUNDING) if ones else (1,):
        values = {v: pt.constant(np.full(v.type.shape, total, v.type.dtype)) for v in ones}
        [at] = clone_replace([c], values)
        if not all(isinstance(u, Constant) for u in ancestors([at]) if u.owner is None) or not at.eval():
            return False
    return True


def number(v: Variable):
    """The number that a constant of one element is; None if it is no such constant."""
    while v.owner is not None and isinstance(v.owner.op, DimShuffle):
        [v] = v.owner.inputs
    one = isinstance(v, Constant) and hasattr(v.type, "ndim") and v.data.size == 1
    return v.data.item() if one else None


def without_first(v: Variable) -> Variable | None:
    """v without its first axis if that is an axis of length 1 that was added to it; else None."""
    if v.owner is None or not isinstance(v.owner.op, DimShuffle) or v.owner.op.new_order[:1] != ("x",):
        return None
    order, [inner] = v.owner.op.new_order[1:], v.owner.inputs
    return inner.dimshuffle(*order) if list(order) != list(range(inner.type.ndim)) else inner


def without_leading(v: Variable) -> Variable:
    """v without the axes of length 1 that were added in front of it, or that a number has there."""
    if isinstance(v, Constant) and not v.name:
        data = v.data
        while data.ndim and len(data) == 1:
            data = data[0]
        return pt.constant(data, dtype=v.type.dtype)
    if v.owner is None or not isinstance(v.owner.op, DimShuffle):
        return v
    [inner], order = v.owner.inputs, list(v.owner.op.new_order)
    added = len(order) - inner.type.ndim
    return inner if order == ["x"] * added + list(range(inner.type.ndim)) else v


def added_axes(v: Variable) -> set[int]:
    """The axes of length 1 that were added to v, or that a constant has."""
    if isinstance(v, Constant):
        return {k for k, one in enumerate(v.type.broadcastable) if one}
    if v.owner is None or not isinstance(v.owner.op, DimShuffle) or v.owner.op.drop:
        return set()
    return {k for k, axis in enumerate(v.owner.op.new_order) if axis == "x"}


def without_axes(v: Variable, axes: set[int]) -> Variable:
    """v without axes that were added to it."""
    if isinstance(v, Constant):
        return pt.constant(np.squeeze(v.data, tuple(axes)), v.name, dtype=v.type.dtype)
    order, [inner] = [axis for k, axis in enumerate(v.owner.op.new_order) if k not in axes], v.owner.inputs
    return inner.dimshuffle(*order) if order != list(range(inner.type.ndim)) else inner


@node_rewriter([Elemwise, CAReduce])
def later_axes(fgraph, node):
    """Adds axes of length 1 to results rather than to operands; a sum over all does without those in front."""
    op, out = node.op, node.outputs[0].type
    if isinstance(op, CAReduce):
        inner = without_first(node.inputs[0]) if op.axis is None or len(op.axis) == node.inputs[0].type.ndim else None
        if inner is None or not isinstance(op, All | Any | Sum):
            return None
        done = type(op)(axis=None)(inner) if inner.type.ndim or isinstance(op, All | Any) else inner
        return [done] if done.type == out else None
    axes = set.intersection(*map(added_axes, node.inputs))
    if len(node.outputs) > 1 or not axes or all(isinstance(v, Constant) for v in node.inputs):
        return None
    done = op.make_node(*(without_axes(v, axes) for v in node.inputs)).outputs[0]
    others = iter(range(done.type.ndim))
    order = ["x" if k in axes else next(others) for k in range(out.ndim)]
    return [done.dimshuffle(*order)] if done.type.dtype == out.dtype else None


@node_rewriter([Elemwise])
def rounded_once(fgraph, node):
    """The float32 that PyTensor gives for Gammaln and the like of a small integer: the model's float32 functions may be
    off by some units in the last place (--math=standard), which a float64 density shows."""
    v, out = node.inputs[0], node.outputs[0].type
    kind = type(node.op.scalar_op)
    special = kind.__module__ == "pytensor.scalar.math" and len(node.inputs) == 1
    if pytensor.config.floatX != "float64" or not special or out.dtype != "float32":
        return None
    wide = pt.constant(v.data, dtype="float64") if isinstance(v, Constant) else v.astype("float64")
    return [node.op.make_node(wide).outputs[0].astype("float32")]


@node_rewriter([Elemwise])
def expm1_alone(fgraph, node):
    """Exp(x) - 1 is Expm1(x), but not where Exp(x) is read for something else too: that is a parameter, which the text
    names, and a node more."""
    if type(node.op.scalar_op).__name__ not in ("Add", "Sub"):
        return None
    if any(kind_of(v) == "Exp" and len(fgraph.clients[v]) > 1 for v in node.inputs):
        return None
    return local_expm1.transform(fgraph, node)


@node_rewriter([Elemwise])
def log1p_of_numbers(fgraph, node):
    """Log(1 + x) is Log1p(x), and Log(1 - x) is Log1p(-x), also where the 1 has new axes, which local_log1p does not see."""
    [out] = node.outputs
    if kind_of(out) != "Log" or kind_of(node.inputs[0]) not in ("Add", "Sub") or len(node.inputs[0].owner.inputs) != 2:
        return None
    one, x = node.inputs[0].owner.inputs
    if kind_of(node.inputs[0]) == "Sub":
        x = -x
    elif isinstance(scalar_of(x), Constant):
        one, x = x, one
    one = scalar_of(one)
    if not isinstance(one, Constant) or one.type.ndim or one.data != 1 or x.type != out.type:
        return None
    return [pt.log1p(x)]


SUMS = scalar.Add | scalar.Sub | scalar.Neg
in_one_dtype = of_one_dtype(SUMS, ("int32", "int64"), most=math.inf)  # without_opposites() looks at those that stay


def without_opposites(v: Variable) -> Variable | None:
    """x + y - x as y, and x + 1 - 1 as x; None if nothing cancels. No constants are joined to another one."""
    if v.owner is None or not is_elementwise(v.owner, SUMS) or not in_one_dtype(v.owner):
        return None
    terms, taken = local_add_canonizer.get_num_denum(v)
    left, right = local_add_canonizer.simplify(list(terms), list(taken), v.type)
    kept = [*left, *right]
    if not left or len(kept) == len(terms) + len(taken) or not {*kept} <= {*terms, *taken}:
        return None
    if sum(u.type.dtype != v.type.dtype for u in kept) > 1:
        return None  # two integers would be added as such
    found = pt.add(*left) if len(left) > 1 else left[0]
    return found - (pt.add(*right) if len(right) > 1 else right[0]) if right else found


def narrowed(v: Variable) -> Variable | None:
    """The same for a function of such a sum, and of that, ...: an array of fewer axes, or of axes of length 1."""
    if v.owner is None or not isinstance(v.owner.op, Elemwise):
        return None
    if len(v.owner.inputs) > 1:
        return without_opposites(v)
    inner = narrowed(v.owner.inputs[0])
    return None if inner is None else v.owner.op(inner)


@node_rewriter([Elemwise])
def cancelled(fgraph, node):
    """Leaves out terms that cancel, as all of PyTensor's modes do, where the result has its axes by others."""
    [out, *others] = node.outputs
    if others:  # of a ScalarLoop
        return None
    found = without_opposites(out)
    if found is None and len(node.inputs) > 1:
        new = [narrowed(v) for v in node.inputs]
        if any(v is not None for v in new):
            found = node.op(*(v if u is None else u for v, u in zip(node.inputs, new)))
    return [found] if found is not None and found.type == out.type else None


@node_rewriter([Elemwise])
def log_of_exp(fgraph, node):
    """Log(Exp(x)) is x, as all of PyTensor's modes have it."""
    [out] = node.outputs
    if kind_of(out) != "Log" or kind_of(node.inputs[0]) != "Exp":
        return None
    [x] = node.inputs[0].owner.inputs
    return [x] if x.type == out.type else None


def merged(outputs: list[Variable], *passes) -> list[Variable]:
    """A copy of the graph after the passes, in which nothing is computed twice."""
    fgraph = FunctionGraph(outputs=clone_replace(outputs), clone=False)
    tidy = EquilibriumGraphRewriter([plain, later_axes, rounded_once, cancelled], max_use_ratio=100)
    slices = optdb["canonicalize"].query(f"+{OF_ADDED_AXES}")
    for one in (MergeOptimizer(), slices, tidy, *passes, tidy, MergeOptimizer()):
        one.rewrite(fgraph)
    return list(fgraph.outputs)


def stabilized(outputs: list[Variable]) -> list[Variable]:
    stabilize = optdb.query(RewriteDatabaseQuery(include=["stabilize"], exclude=LEFT_OUT))
    alone = EquilibriumGraphRewriter([expm1_alone, log1p_of_numbers], max_use_ratio=100)
    return merged(outputs, stabilize, alone, stabilize)


# ---- terms ----


def parameter_names(op: RandomVariable, count: int) -> list[str]:
    """The names of a distribution's parameters, as its class in PyMC has them."""
    for name, module in list(sys.modules.items()):
        if not name.startswith("pymc.distributions."):
            continue
        for kind in list(vars(module).values()):
            if not isinstance(kind, type) or type(op) not in (type(getattr(kind, "rv_op", None)), getattr(kind, "rv_type", None)):
                continue
            for method, skip in (("logp", 1), ("dist", 0)):
                found = signature(getattr(kind, method)).parameters.values() if hasattr(kind, method) else ()
                names = [p.name for p in found if p.kind is p.POSITIONAL_OR_KEYWORD][skip:]
                if len(names) == count:
                    return names
    return [f"p{k + 1}" for k in range(count)]


def scalar_of(v: Variable) -> Variable:
    """The scalar behind new axes; else v."""
    if v.owner is not None and isinstance(v.owner.op, DimShuffle) and v.owner.inputs[0].type.ndim == 0:
        return v.owner.inputs[0]
    return v


def is_draw(v: Variable) -> bool:
    """Does a random variable of PyTensor's, or one that PyMC makes of such, give it?"""
    return v.owner is not None and hasattr(v.owner.op, "dist_params")


def call_of_density(rv: Variable, value: Variable, named) -> Variable | None:
    """The log density of a draw at a value, as a call; None if it is none of one distribution alone, as that of a
    mixture. named: the variables of the model."""
    node = rv.owner
    if not is_draw(rv) or not type(node.op).__module__.startswith(("pymc.", "pytensor.")):
        return None
    plain = isinstance(node.op, RandomVariable)
    if not plain and not getattr(node.op, "extended_signature", None):  # of a truncated draw, or one that is partly observed
        return None
    parameters = list(node.op.dist_params(node))
    if any(is_draw(p) and p not in named for p in parameters) or (not plain and len(node.op.rng_params(node)) != 1):
        return None
    given = [scalar_of(p) if plain else p for p in parameters]
    names = parameter_names(node.op, len(given))
    for k, (v, name) in enumerate(zip(given, names)):
        if isinstance(v, Constant) and v.data.size > 1 and not v.name:
            given[k] = v.clone()
            given[k].name = f"{rv.name}_{name}"
    try:
        inputs, body = density_of(rv, given, names, value)
    except (AttributeError, NotImplementedError):  # PyMC reads numbers of the parameters, as of Interpolated and LKJCorr
        return None
    return called(label_of(node.op), inputs, body, [value, *(g for g in given if not is_infinite(g))])


def label_of(op) -> str:
    return f"{getattr(op, '_print_name', [type(op).__name__.removesuffix('RV')])[0]}_logp"


def is_infinite(v: Variable) -> bool:
    """Is v a bound that is none? Then PyMC writes another density, whose gradient is a number there."""
    return isinstance(v, Constant) and v.type.dtype.startswith("float") and v.data.size == 1 and bool(np.isinf(v.data).all())


def density_of(
    rv: Variable, given: list[Variable], names: list[str], value: Variable
) -> tuple[list[Variable], Variable]:
    """PyMC's log density of a draw as a function: its inputs, a value and parameters like those given, but of infinite
    ones; its body."""
    node = rv.owner
    x, inner = value.type("x"), [g if is_infinite(g) else g.type(name) for g, name in zip(given, names)]
    new: dict[Variable, list[Variable]] = {}  # a list, as two parameters may be one variable
    for p, i in zip(node.op.dist_params(node), inner):
        if p.type != i.type:
            wide = ["x"] * p.type.ndim
            i = pt.constant(i.data.reshape([1] * len(wide))) if isinstance(i, Constant) else i.dimshuffle(*wide)
        new.setdefault(p, []).append(i)
    if isinstance(node.op, RandomVariable):  # of the value's own lengths
        batch = x.type.ndim - node.op.ndim_supp
        new[node.inputs[1]] = [pt.as_tensor([x.shape[k] for k in range(batch)]) if batch else node.inputs[1]]
    inputs = [new[v].pop(0) if new.get(v) else v for v in node.inputs]
    drawn = node.op.make_node(*inputs).outputs[node.outputs.index(rv)]
    [body] = without_axes_of_numbers([sys.modules["pymc"].logp(drawn, x)])
    return [x, *(i for i in inner if not is_infinite(i))], body


def bindings(body: Variable, inputs: list[Variable], v: Variable) -> dict[Variable, Variable] | None:
    """What the inputs of the function are where v computes its body; None if v computes something else."""
    found: dict[Variable, Variable] = {}
    todo = [(body, v)]
    for of, u in todo:
        if of in inputs:
            if not equal_computations([found.setdefault(of, u)], [u]):
                return None
        elif of.owner is None or u.owner is None:
            if not (isinstance(of, Constant) and isinstance(u, Constant) and of.equals(u)):
                return None
        elif of.owner.op != u.owner.op or of.index != u.index or len(of.owner.inputs) != len(u.owner.inputs):
            return None
        else:
            todo += zip(of.owner.inputs, u.owner.inputs, strict=True)
    return found


def with_calls(rv: Variable, term: Variable, named) -> Variable:
    """PyMC's own term of a variable that is made of draws without names, as a mixture is of its components: the log
    densities of these as calls."""
    if rv.owner is None:
        return term
    for draw in rv.owner.inputs:
        if draw in named or not is_draw(draw) or not isinstance(draw.owner.op, RandomVariable):
            continue
        given = draw.owner.op.dist_params(draw.owner)
        names = parameter_names(draw.owner.op, len(given))
        inputs, body = density_of(draw, given, names, draw)
        while body.owner is not None and isinstance(body.owner.op, Alloc):  # to the lengths of the value
            body = body.owner.inputs[0]
        for v in list(ancestors([term])) if body.owner is not None else []:
            bound = bindings(body, inputs, v)
            if bound is None or len(bound) < len(inputs):
                continue
            at = [without_leading(bound[i]) for i in inputs]
            own = [a.type(i.name) for a, i in zip(at, inputs)]
            wide = {bound[i]: pt.shape_padleft(o, i.type.ndim - o.type.ndim) for o, i in zip(own, inputs)}
            call = called(label_of(draw.owner.op), own, clone_replace([v], wide)[0], at)
            if call is not None and call.type == v.type:
                [term] = clone_replace([term], {v: call})
    return term


def called(label: str, inputs, body: Variable, given) -> Variable | None:
    """A call of the density; None if it reads more than its inputs."""
    [body] = merged([body])
    read = {v for v in ancestors([body]) if v.owner is None and not isinstance(v, Constant)}
    if read - set(inputs):
        return None
    op = LogDensity(inputs, [body], name=label, on_unused_input="ignore")
    op.parameters = [v.name for v in inputs]
    return op(*given)


def stable_call(call: Variable) -> Variable:
    """The call with PyTensor's stabilizing rewrites done in its body; where these also look at how an argument is
    computed, as log(sigmoid(x)), with what the argument is computed from as the argument; else no call."""
    op = call.owner.op
    data = {v: v.type(v.name) for v in call.owner.inputs if isinstance(v, Constant) and v.data.size > 1}
    given = [data.get(v, v) for v in call.owner.inputs]  # no rewrite is for some numbers alone
    [stable] = stable_body(op, given)
    return clone_replace([stable], {u: v for v, u in data.items()})[0] if data else stable


def stable_body(op: LogDensity, given: list[Variable]) -> list[Variable]:
    graph = op.fgraph.unfreeze()
    inputs, [body] = list(graph.inputs), graph.outputs
    for v, name in zip(inputs, op.parameters):
        v.name = name
    [whole] = stabilized(clone_replace([body], dict(zip(inputs, given))))
    for _ in range(2):
        [inner] = stabilized([body])
        if equal_computations(merged(clone_replace([inner], dict(zip(inputs, given)))), [whole]):
            return [called(op.name, inputs, inner, given)]
        for k, v in enumerate(given):
            if k and v.owner is not None and isinstance(v.owner.op, Elemwise) and len(v.owner.inputs) == 1:
                [behind] = v.owner.inputs
                kind = type(v.owner.op.scalar_op).__name__
                deeper = behind.type(f"{BEHIND.get(kind, kind.lower())}_{inputs[k].name}")
                [body] = clone_replace([body], {inputs[k]: v.owner.op(deeper)})
                given[k], inputs[k] = behind, deeper
    return [whole]


def with_jacobian(model, rv: Variable, logp: Variable) -> Variable:
    """The density of a variable in its unconstrained space."""
    transform = model.rvs_to_transforms.get(rv)
    if transform is None:
        return logp
    jacobian = transform.log_jac_det(model.rvs_to_values[rv], *rv.owner.inputs)
    if jacobian.ndim < logp.ndim:  # the last axes are no longer independent
        logp = logp.sum(axis=tuple(range(jacobian.ndim - logp.ndim, 0)))
    return logp + jacobian


def numbers_of(calls) -> dict[Constant, str]:
    """The numbers in the parameters of the calls, and what to call them: after variable and parameter."""
    found: dict[Constant, str] = {}
    for rv, call in calls.items():
        for v, name in list(zip(call.owner.inputs, call.owner.op.parameters))[1:]:
            todo = [(v, name)]
            for u, called_so in todo:
                if isinstance(u, Constant):
                    found.setdefault(u, u.name or f"{rv.name}_{called_so}")
                elif u.owner is not None and isinstance(u.owner.op, Elemwise | DimShuffle):
                    before = f"{BEHIND[kind_of(u)]}_" if kind_of(u) in BEHIND else ""
                    todo += [(i, before + called_so) for i in u.owner.inputs]
    return found


def is_integer(v: Variable) -> bool:
    return getattr(v.type, "dtype", "").startswith(("int", "uint"))


EXACT = {"Add": sum, "Mul": math.prod, "Sub": lambda v: v[0] - v[1], "Pow": lambda v: v[0] ** max(v[1], 0)}


def refuse_wrapped(name: str, graphs) -> None:
    """The numbers 3 and 100 are of int8 in PyTensor, where 3 * 100 is 44. Its modes join some of such numbers in
    float64, which no text says: what does not fit is an error."""
    known: dict[Variable, int] = {}
    for node in toposort(graphs):
        [out], inputs = node.outputs[:1], node.inputs
        for v in inputs:
            if isinstance(v, Constant) and is_integer(v) and v.data.size == 1:
                known[v] = int(v.data.item())
        if not is_integer(out) or not all(v in known for v in inputs):
            continue
        if isinstance(node.op, DimShuffle):
            known[out] = known[inputs[0]]
        elif isinstance(node.op, Elemwise) and (rule := EXACT.get(type(node.op.scalar_op).__name__)):
            known[out] = value = rule([known[v] for v in inputs])
            if not np.iinfo(out.type.dtype).min <= value <= np.iinfo(out.type.dtype).max:
                raise ValueError(
                    f"the log density of {name}: from the integers of the model PyTensor computes {value} in "
                    f"{out.type.dtype}, which does not hold it: write them as floats, as 10.0 for 10"
                )


def bounds_known(graphs) -> dict[Variable, Constant]:
    """{comparison of numbers with infinity: what it gives}: transforms ask so which bounds an interval has."""
    found = {}
    for node in apply_ancestors(graphs):
        if not (isinstance(node.op, Elemwise) and type(node.op.scalar_op).__name__ in ("EQ", "NEQ")):
            continue
        if all(isinstance(v, Constant) for v in node.inputs) and any(np.isinf(v.data).all() for v in node.inputs):
            [out] = node.outputs
            a, b = (np.asarray(v.data) for v in node.inputs)
            equal = type(node.op.scalar_op).__name__ == "EQ"
            found[out] = pt.constant(a == b if equal else a != b, dtype="bool")
    return found


def read_twice(graphs) -> set[Variable]:
    """The variables that several nodes read."""
    found, seen = set(), set()
    for node in apply_ancestors(graphs):
        found |= seen.intersection(node.inputs)
        seen.update(node.inputs)
    return found


def data_of(graphs) -> dict[Constant, str]:
    """The arrays of numbers that the graphs read, and their names."""
    arrays = (v for v in ancestors(graphs) if isinstance(v, Constant) and getattr(v.type, "ndim", 0) and v.data.size > 1)
    return {v: v.name or "data" for v in arrays if v.name or v.type.dtype.startswith("float")}


def with_variables(graphs, numbers) -> tuple[list[Variable], dict]:
    """The graphs with a variable in the place of each number, and {variable: number with its name, if it has one}. So
    equal numbers of two distributions stay apart, and no rewrite folds them."""
    stand_in, back = {}, {}
    for v, name in numbers.items():
        number = v.clone()
        number.name = name
        stand_in[v] = v.type(name)
        back[stand_in[v]] = number
    return clone_replace(graphs, stand_in), back


def log_density(model, gradient=None, data: Which = None) -> Density:
    """The log density of a PyMC model, term by term, and its gradient by the value variables that are no integers if
    the rewrites for it are given. Numbers of the model that stand in several places get names. data: those that are
    inputs."""
    for v in [*model.basic_RVs, *model.potentials]:
        if is_xtensor(v.type):
            raise ValueError(f"the variable {v.name} has named dims, which a text has not: export_density takes pymc.dims")
    model, data_inputs = with_inputs(model, data)
    inputs = [*model.value_vars, *data_inputs]
    rvs = list(model.basic_RVs)
    own_values = {v: v for v in rvs} | {rv: v for rv, v in model.rvs_to_values.items() if v in data_inputs}
    calls = {rv: call for rv in rvs if (call := call_of_density(rv, own_values[rv], rvs)) is not None}
    numbers = numbers_of(calls)
    own = [with_jacobian(model, rv, call) for rv, call in calls.items()]
    seen = [*rvs, *model.deterministics]
    replaced = model.replace_rvs_by_values([*own, *seen])
    rest = [v for v in rvs if v not in calls] + model.potentials
    others = list(model.logp(rest, sum=False)) if rest else []
    others = [with_calls(v, term, rvs) for v, term in zip(rest, others, strict=True)]
    known = lengths_read(model, inputs, [*replaced, *others]) | bounds_known([*replaced, *others])
    replaced, others = (clone_replace(graphs, known) for graphs in (replaced, others))
    for rv, call in calls.items():
        graph = call.owner.op.fgraph.unfreeze()
        refuse_wrapped(rv.name, clone_replace(graph.outputs, dict(zip(graph.inputs, call.owner.inputs))))
    for rv, term in zip(rest, others):
        refuse_wrapped(rv.name, [term])
    if gradient is None:
        within = replaced[len(own) :]
        within += [term.owner.inputs[1] for rv, term in zip(calls, replaced) if model.rvs_to_transforms.get(rv)]
        found, several = set(ancestors(within)), read_twice([*replaced, *others])
        numbers = {v: name if v in several else None for v, name in numbers.items() if v in found}
    else:
        numbers |= data_of([*replaced, *others])
    found, back = with_variables([*replaced, *others], numbers)
    terms = dict(zip([*calls, *rest], [*found[: len(own)], *found[len(replaced) :]]))
    terms = {v: terms[v] for v in [*rvs, *model.potentials]}
    names = [f"{v.name}_logprob" if v in rvs else v.name for v in terms]
    replaced = found[: len(replaced)]
    found = stabilized([*terms.values(), *replaced[len(own) :]])
    fgraph = FunctionGraph(outputs=found, clone=False)
    for node in fgraph.toposort():
        if isinstance(node.op, LogDensity):
            fgraph.replace(node.outputs[0], stable_call(node.outputs[0]), import_missing=True)
    found = merged(stabilized(list(fgraph.outputs)), EquilibriumGraphRewriter([log_of_exp], max_use_ratio=100))
    by = [v for v in model.value_vars if gradient and v.type.dtype.startswith("float")]
    found = merged([*found, *gradient_of(total(found[: len(names)]), by, gradient)])
    found = clone_replace(found, back)
    slopes = found[len(names) + len(seen) :]
    for v, name in zip(found, names + [v.name for v in seen]):
        if v.owner is not None:
            v.name = name
    for v, slope in zip(by, slopes, strict=True):
        slope.name = f"d_{v.name}"
    logp = total(found[: len(names)])
    logp.name = "logp"
    outputs = [logp, *slopes]
    read = set(ancestors(outputs))
    ours = {*found, *inputs, *outputs}
    taken = {v.name for v in ours}
    for v in read - ours:
        if v.name in taken:  # PyMC has a name like that of a term for what the term is computed from
            v.name = None
    inputs = [v for v in inputs if v in read or v not in data_inputs]
    return Density(inputs, found[: len(names)], outputs, dims_of_model(model, inputs))


def total(terms: list[Variable]) -> Variable:
    sums = [v.sum() if v.type.ndim else v for v in terms]
    return pt.add(*sums) if len(sums) > 1 else sums[0].copy()


# Their factors cancel with those of the gradient: 1 / (x * x) of an x / s may be no number where x / s is one
PRODUCTS = ("Mul", "Neg", "Pow", "Reciprocal", "Sqr", "TrueDiv")


def gradient_of(logp: Variable, by: list[Variable], rewrites) -> list[Variable]:
    """The gradient after the rewrites. What the density computes too keeps its form, so that it is computed once."""
    if not by:
        return []
    fgraph = FunctionGraph(outputs=clone_replace([logp]), clone=False)
    for node in fgraph.toposort():
        if isinstance(node.op, LogDensity):
            body = node.op.fgraph.unfreeze()
            [inline] = clone_replace(body.outputs, dict(zip(body.inputs, node.inputs)))
            fgraph.replace(node.outputs[0], inline, import_missing=True)
    [logp] = merged(fgraph.outputs)
    slopes = pytensor.grad(logp, by, disconnected_inputs="ignore")
    fgraph = FunctionGraph(outputs=clone_replace([logp, *slopes]), clone=False)
    MergeOptimizer().rewrite(fgraph)
    [logp, *slopes] = fgraph.outputs
    kept = {v: v.type() for v in shared_values(logp, slopes)}
    fgraph = FunctionGraph(outputs=clone_replace(slopes, kept), clone=False)
    rewrites.rewrite(fgraph)
    return clone_replace(fgraph.outputs, {stand_in: v for v, stand_in in kept.items()})


def shared_values(logp: Variable, slopes: list[Variable]) -> list[Variable]:
    """What a density computes from its inputs and the gradient reads, but for products of it and axes added to it."""
    within = set(ancestors([logp]))
    within.update(v for node in apply_ancestors([logp]) for v in node.outputs)  # other results of a Scan too
    readers = (node for node in apply_ancestors(slopes) if within.isdisjoint(node.outputs))
    read = within.intersection([*slopes, *(v for node in readers for v in node.inputs)])
    todo, found = list(read), []
    for v in todo:
        if all(isinstance(u, Constant) for u in ancestors([v]) if u.owner is None) or v.owner is None:
            continue
        of_one = all(u.type.dtype == v.type.dtype for u in v.owner.inputs)  # 1 / 10 of int8 is rounded to float32
        if (kind_of(v) in PRODUCTS and of_one) or (isinstance(v.owner.op, DimShuffle) and not v.owner.op.drop):
            todo += [u for u in v.owner.inputs if u not in read]
            read.update(v.owner.inputs)
        else:
            found.append(v)
    return found
