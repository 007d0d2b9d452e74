"""Many points in one call: graphs whose inputs get leading dims, by PyTensor's ``vectorize_graph``."""

import math
import re
from collections.abc import Mapping
from typing import Any

import pytensor.tensor as pt
from numpy.exceptions import AxisError
from pytensor.compile.mode import optdb
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.replace import clone_replace, graph_replace, vectorize_graph
from pytensor.graph.rewriting.basic import dfs_rewriter, node_rewriter
from pytensor.graph.rewriting.utils import rewrite_graph
from pytensor.graph.traversal import ancestors, apply_ancestors
from pytensor.tensor.basic import MakeVector, Split, expand_dims, get_underlying_scalar_constant_value
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.elemwise import CAReduce
from pytensor.tensor.extra_ops import broadcast_to
from pytensor.tensor.linalg import Cholesky
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.reshape import JoinDims
from pytensor.tensor.shape import Reshape, Shape, specify_shape
from pytensor.tensor.subtensor import Subtensor, indices_from_subtensor
from pytensor.tensor.type import TensorType

from ptgc._ops import is_xtensor

Dims = dict[Variable, tuple[str, ...]]
EXPECTED = 64


def dims_of_batch(inputs: list[Variable], batch: Any) -> Dims:
    """The names of the leading dims that each input gets, in the order of the inputs."""
    if isinstance(batch, str):
        batch = dict.fromkeys(inputs, batch)
    if not isinstance(batch, Mapping) or not batch:
        raise ValueError(f"batch is the name of a dim, or {{input: name}}, not {batch!r}")
    found: Dims = {}
    for key, names in batch.items():
        hits = [v for v in inputs if v is key or (isinstance(key, str) and v.name == key)]
        if not hits or isinstance(hits[0], SharedVariable):
            of = "a shared variable, which has one value for all points" if hits or is_shared(key) else "not an input"
            raise ValueError(f"batch names {key!r}, which is {of}")
        names = (names,) if isinstance(names, str) else tuple(names)
        if not names or len(set(names)) < len(names):
            raise ValueError(f"batch: {key!r} needs names of dims that differ, not {names!r}")
        for name in names:
            if not isinstance(name, str) or not re.match(r"[^\W\d]\w*\Z", name):
                raise ValueError(f"batch: {name!r} is not a name for a dim")
        for v in hits:
            if not isinstance(v.type, TensorType) and not is_xtensor(v.type):
                raise ValueError(f"batch: the input {v} is not a tensor but of type {v.type}")
            found[v] = names
    return {v: found[v] for v in inputs if v in found}


def is_shared(key: Any) -> bool:
    return isinstance(key, SharedVariable)


def without_named_dims(inputs: list[Variable], outputs: list[Variable]) -> tuple[list, list]:
    """The same graph on plain tensors where it has tensors with named dims (PyTensor's xtensor, PyMC's pymc.dims)."""
    if not any(is_xtensor(v.type) for v in ancestors([*inputs, *outputs])):
        return inputs, outputs
    from pytensor.xtensor.basic import as_xtensor  # here, as this import warns that xtensor is experimental

    plain = [TensorType(v.type.dtype, v.type.shape)(v.name) if is_xtensor(v.type) else v for v in inputs]
    replace = {v: as_xtensor(t, dims=v.type.dims) for v, t in zip(inputs, plain) if t is not v}
    results = graph_replace([v.values if is_xtensor(v.type) else v for v in outputs], replace, strict=False)
    # a copy, as rewrites of the graph itself would be rewrites of the model's
    return plain, rewrite_graph(clone_replace(results), include=("lower_xtensor", "canonicalize"), clone=False)


def without_axes_of_numbers(outputs: list[Variable]) -> list[Variable]:
    """The same graph with Sum(x) for Sum{axis=0}(x) where x is one number: PyTensor takes such an axis as NumPy does, and
    its vectorize_graph does not. PyMC's CAR sums so."""
    found = {}
    for node in apply_ancestors(outputs):
        if isinstance(node.op, CAReduce) and node.op.axis and not node.inputs[0].type.ndim:
            found[node.outputs[0]] = node.op.clone(axis=None)(*node.inputs)
    return graph_replace(outputs, found, strict=False) if found else outputs


def without_known_factors(outputs: list[Variable]) -> list[Variable]:
    """The same graph with L for cholesky(L @ L.T). PyMC marks such an L as triangular, a mark that its vectorized form
    does not have. PyTensor vectorizes some gradients wrongly once they are in canonical form, so other rewrites come
    later."""
    of = (getattr(node.op, "core_op", node.op) for node in apply_ancestors(outputs))
    if not any(isinstance(op, Cholesky) for op in of):
        return outputs
    whole = FunctionGraph(outputs=clone_replace(outputs), clone=False)
    optdb["canonicalize"].query("+cholesky_ldotlt").rewrite(whole)
    return list(whole.outputs)


def with_lengths_of_one(outputs: list[Variable]) -> list[Variable]:
    """The same graph where a part of a Split that has the length 1 has it by an axis of its own. PyTensor's vectorize_graph
    forgets that length, and then takes a sum with the part for one of unlike lengths: Split is the gradient of Join."""
    whole = FunctionGraph(outputs=clone_replace(outputs), clone=False)
    for node in whole.toposort():
        axis = getattr(node.op, "axis", None) if isinstance(node.op, Split) else None
        if axis is not None and any(v.type.shape[axis] == 1 for v in node.outputs):
            new = node.op.make_node(*node.inputs).outputs
            # by index, as C has no check yet that what is squeezed has the length 1
            first = (*[slice(None)] * (axis % node.outputs[0].ndim), 0)
            new = [expand_dims(v[first], axis) if v.type.shape[axis] == 1 else v for v in new]
            whole.replace_all(zip(node.outputs, new), import_missing=True)
    return list(whole.outputs)


def axis_of_points(length: Variable, x: Variable) -> tuple[int, int]:
    """(k, b), if the length is x.shape[:b][k], which is how vectorize_graph writes that of a batch of b dims; else
    (-1, 0)."""
    op = getattr(length.owner, "op", None)
    axes = length.owner.inputs[0].owner if isinstance(op, Subtensor) else None
    if axes is None or not isinstance(axes.op, Subtensor) or axes.op.idx_list != (slice(None, 0, None),):
        return -1, 0
    shape, stop = axes.inputs
    of_x = shape.owner is not None and isinstance(shape.owner.op, Shape) and shape.owner.inputs[0] is x
    (at,) = indices_from_subtensor(length.owner.inputs[1:], op.idx_list)
    if not of_x or not isinstance(stop, Constant) or not isinstance(at, Constant):
        return -1, 0
    return int(at.data), int(stop.data)


@node_rewriter([Reshape])
def local_length_of_points(fgraph, node):
    """x.reshape((points, -1)), as vectorize_graph writes x.flatten(): what -1 stands for, the other axes of x say.
    NumPy refuses a -1 beside no points."""
    x, shape = node.inputs
    lengths = list(shape.owner.inputs) if isinstance(getattr(shape.owner, "op", None), MakeVector) else []
    n = axis_of_points(lengths[0], x)[1] if lengths else 0
    if [axis_of_points(v, x) for v in lengths[:n]] != [(k, n) for k in range(n)]:
        return None
    numbers = [get_underlying_scalar_constant_value(v, raise_not_constant=False) for v in lengths[n:]]
    if not n or any(isinstance(k, Variable) or k == 0 for k in numbers) or -1 not in numbers:
        return None
    others = math.prod(int(k) for k in numbers if k != -1)
    one = pt.prod(pt.stack([1, *(x.shape[k] for k in range(n, x.type.ndim))])) // others
    return [x.reshape((*lengths[:n], *(one if k == -1 else k for k in numbers)), ndim=node.op.ndim)]


@node_rewriter([JoinDims])
def local_join_dims_of_points(fgraph, node):
    """The length of joined axes as a product. PyTensor writes -1, which NumPy refuses beside no points."""
    [x], first, count = node.inputs, node.op.start_axis, node.op.n_axes
    lengths = [x.shape[k] for k in range(x.type.ndim)]
    joined = pt.prod(pt.stack([1, *lengths[first : first + count]]))
    new = x.reshape((*lengths[:first], joined, *lengths[first + count :]), ndim=node.outputs[0].type.ndim)
    return [new] if node.outputs[0].type.is_super(new.type) else None


@node_rewriter([Blockwise])
def local_spline_of_points(fgraph, node):
    """PyMC's spline computes each number by itself, as many as there are: that of Interpolated."""
    core = node.op.core_op
    return [core(*node.inputs)] if type(core).__name__ == "SplineWrapper" else None


def vectorized(inputs: list[Variable], outputs: list[Variable], batch: Any) -> tuple[list, list, Dims]:
    """The same graph for many points: new inputs and outputs, and the leading dims of the old inputs.

    Every output gets all of the dims, in the order in which the inputs name them first.
    """
    dims = dims_of_batch(inputs, batch)
    whole = list(dict.fromkeys(name for names in dims.values() for name in names))
    for node in apply_ancestors(outputs):
        if isinstance(node.op, RandomVariable):
            raise ValueError(f"batch: {node.op} draws from one generator for all points; draw before the call")
    names = [v.name for v in outputs]
    plain, outputs = without_named_dims(inputs, outputs)
    replace, new_inputs = {}, []
    for v, point in zip(inputs, plain):
        if v not in dims:
            new_inputs.append(point)
            continue
        own = [name for name in whole if name in dims[v]]
        if list(dims[v]) != own:
            raise ValueError(f"batch: the dims of {v} are {dims[v]}, but another input has them in another order")
        new = TensorType(v.type.dtype, (*[None] * len(own), *v.type.shape))(v.name)
        new_inputs.append(new)
        first = min(whole.index(name) for name in own)  # dims before this one need not be there
        replace[point] = expand_dims(new, [k for k, n in enumerate(whole[first:]) if n not in own])
    try:
        outputs_of_point = with_lengths_of_one(without_known_factors(without_axes_of_numbers(list(outputs))))
        whole_graph = FunctionGraph(outputs=vectorize_graph(outputs_of_point, replace), clone=False)
    except (NotImplementedError, AxisError) as e:  # of an axis of one number, as in softmax
        raise ValueError(f"batch: PyTensor cannot vectorize the graph: {e}") from None
    dfs_rewriter(local_length_of_points, local_join_dims_of_points, local_spline_of_points).rewrite(whole_graph)
    results = whole_graph.outputs
    lengths = [next(new.shape[dims[v].index(name)] for v, new in zip(inputs, new_inputs) if name in dims.get(v, ()))
               for name in whole]  # fmt: skip
    new_outputs: list[Variable] = []
    for v, old, name in zip(results, outputs, names):
        missing = len(whole) - (v.type.ndim - old.type.ndim)
        read = set(ancestors([v]))
        has = {d for x, new in zip(inputs, new_inputs) if new in read for d in dims.get(x, ())}
        # a dim that no input of v has is 1 long, though the type of v may not say so, as behind a Reshape
        shape = [n if d in has else 1 for n, d in zip(v.type.shape, whole[missing:])]
        if shape != list(v.type.shape[: len(shape)]):
            v = specify_shape(v, (*shape, *v.type.shape[len(shape) :]))
        if missing or any(v.type.broadcastable[: len(whole)]):
            v = broadcast_to(v, (*lengths, *v.shape[len(whole) - missing :]))
        if v.owner is None or v in new_outputs:
            v = v.copy()
        v.name = name
        new_outputs.append(v)
    return new_inputs, new_outputs, dims


def expected_lengths(dims: Dims) -> list[str]:
    """What libptgc is told about the leading dims: the model takes any number of points and is fast for so many."""
    return [f"{name}={EXPECTED}" for name in dict.fromkeys(name for names in dims.values() for name in names)]


def moved_axes(dynamic_dims: Any, inputs: list, new_inputs: list, dims: Dims) -> dict:
    """``dynamic_dims`` of the old inputs, said of the new ones, and the names of the leading dims."""
    moved = {new: dict(enumerate(dims[v])) for v, new in zip(inputs, new_inputs) if v in dims}
    for key, axes in (dynamic_dims or {}).items():
        axes = dict(axes) if isinstance(axes, Mapping) else dict(enumerate(axes))
        hits = [(v, new) for v, new in zip(inputs, new_inputs) if v is key or (isinstance(key, str) and v.name == key)]
        for v, new in hits:
            n, rank = len(dims.get(v, ())), v.type.ndim
            for k, name in axes.items():
                inner = isinstance(k, int) and -rank <= k < 0
                moved.setdefault(new, {})[k if inner or not isinstance(k, int) else k + n if k >= 0 else k - n] = name
        if not hits:
            moved[key] = axes
    return moved
