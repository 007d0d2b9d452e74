"""What of a PyMC model is data, and what its sizes are called. In: a model. Out: the data that become inputs of its
graphs, the model with them, and names for open lengths, which are those of its dims.
"""

import re
import sys
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant, Variable
from pytensor.graph.replace import clone_replace
from pytensor.graph.traversal import ancestors, graph_inputs
from pytensor.tensor.type import TensorType
from pytensor.tensor.type_other import NoneTypeT

from ptgc._ops import is_xtensor
from ptgc.errors import no_such

SIZE_NAME = re.compile(r"[^\W\d]\w*\Z")  # what the language takes without quotes
DRAWS = "draws"  # the first size of predictions, and the input that says it for the prior's
Which = str | Sequence[str] | None  # the argument data= of those that export a model


def constant_observations(model: Any) -> dict[Variable, Constant]:
    """{observed variable: its values} where these are written into the model, and are no ``pm.Data``."""
    values = ((rv, model.rvs_to_values[rv]) for rv in model.observed_RVs)
    return {rv: v for rv, v in values if isinstance(v, Constant) and isinstance(v.type, TensorType)}


def partly_missing(model: Any) -> list[str]:
    """The names of observed values of which some are missing. Where these are is written into the model."""
    return [
        rv.name for rv in constant_observations(model)
        if f"{rv.name.removesuffix('_observed')}_unobserved" in model.named_vars
    ]  # fmt: skip


def names_of_inputs(model: Any, data: Which) -> set[str]:
    """The names of the data that become inputs. None: those of ``pm.Data``; "inputs": these and all that is observed;
    "constants": none; a list: those that it names."""
    partly = partly_missing(model)
    shared = {v.name for v in model.data_vars if isinstance(v, SharedVariable)}  # others are frozen
    every = shared | {rv.name for rv in constant_observations(model) if rv.name not in partly}
    if data is None or isinstance(data, str):
        choices = {None: shared, "inputs": every, "constants": set()}
        if data not in choices:
            raise ValueError(f"data is 'inputs', 'constants' or a list of names, not {data!r}")
        if data == "inputs" and partly:
            warnings.warn(
                f"{', '.join(partly)}: which values are missing is part of the model, so these data are constants",
                stacklevel=6,
            )
        return choices[data]
    if fixed := [name for name in data if name in partly]:
        raise ValueError(f"data: which values of {fixed[0]} are missing is part of the model, so it cannot be an input")
    if unknown := [name for name in data if name not in every]:
        raise ValueError(no_such("data: the model has no data", unknown[0], sorted(every)))
    return set(data)


def with_inputs(model: Any, data: Which) -> tuple[Any, list[Variable]]:
    """The model with variables of open lengths in the place of observed values that become inputs, and with names for
    those that stay; and all data that become inputs, ``pm.Data`` as they are, then those variables."""
    wanted = names_of_inputs(model, data)
    inputs, values = [v for v in model.data_vars if v.name in wanted], {}
    for rv, v in constant_observations(model).items():
        if rv.name in wanted:
            values[rv] = TensorType(v.type.dtype, [1 if n == 1 else None for n in v.type.shape])(rv.name)
            inputs.append(values[rv])
        elif v.name is None:
            values[rv] = v.clone()
            values[rv].name = rv.name
    if values:
        model = view_of(model, rvs_to_values={**model.rvs_to_values, **values})
    return model, inputs


def keeps_lengths(model: Any, rv: Variable) -> bool:
    """Has the value variable the lengths of the random variable? So it is where its transform takes each element by
    itself: then the Jacobian has an element for each, too."""
    value, transform = model.rvs_to_values[rv], model.rvs_to_transforms.get(rv)
    if transform is None:
        return True
    return value.ndim == rv.ndim == transform.log_jac_det(value, *rv.owner.inputs).ndim


def size_names(model: Any) -> dict[str, str]:
    """{PyMC's name of a dim: the name of its size}. Where that can be no name of a size, or is that of the size of
    predictions, it is one like it that no other dim has."""
    dims = dict.fromkeys([*model.dim_lengths, *(dim for dims in model.named_vars_to_dims.values() for dim in dims if dim)])
    found = {dim: dim for dim in dims if SIZE_NAME.match(dim) and dim != DRAWS}
    for dim in dims:
        if dim not in found:
            name = re.sub(r"\W", "_", dim)
            name = name if SIZE_NAME.match(name) else f"_{name}"
            found[dim] = other_than([DRAWS, *found.values()], name)
    return found


def other_than(taken: Collection[str], name: str) -> str:
    """The name, with underscores behind it as long as it is among those taken."""
    while name in taken:
        name += "_"
    return name


def dims_of_model(model: Any, inputs: Sequence[Variable]) -> dict[Variable, dict[int, str]]:
    """{input: {axis: the name of that size}} for the lengths that its type leaves open."""
    rvs, sizes = {value: rv for rv, value in model.rvs_to_values.items()}, size_names(model)
    found = {}
    for v in inputs:
        rv = rvs.get(v)
        if rv is not None and not keeps_lengths(model, rv):
            continue
        names = model.named_vars_to_dims.get((v if rv is None else rv).name) or ()
        at = {k: sizes[name] for k, name in enumerate(names) if name is not None and v.type.shape[k] is None}
        if isinstance(v, SharedVariable):  # PyMC lets data have another length than the coordinates of their dims
            at = {k: name for k, name in at.items() if v.get_value(borrow=True).shape[k] == length_of(model, names[k])}
        if at:
            found[v] = at
    return found


def length_of(model: Any, dim: str) -> int | None:
    length = model.dim_lengths.get(dim)
    return None if length is None else int(np.asarray(length.eval()))


def lengths_read(model: Any, inputs: Sequence[Variable], graphs: Sequence[Variable]) -> dict[Variable, Variable]:
    """{length of a dim that the graphs read: what to read in its place}, an input's length that is named so, or the
    number that it is: so the length is no input of its own."""
    named = {name: v.shape[k] for v, at in reversed(dims_of_model(model, inputs).items()) for k, name in at.items()}
    read, found, sizes = set(ancestors(graphs)), {}, size_names(model)
    for dim, length in model.dim_lengths.items():
        if isinstance(length, SharedVariable) and length in read and length not in inputs:
            number = pt.constant(length.get_value(), name=length.name, dtype=length.type.dtype)
            found[length] = named.get(sizes[dim], number).astype(length.type.dtype)
    return found


class Now(Mapping):
    """What a model has when it is asked: ``pm.set_data`` may change that after an export. ``read``: {name: a function that
    gives it}. A pickle has what it is then."""

    def __init__(self, read: Mapping[str, Callable[[], Any]]):
        self.read = dict(read)

    def __getitem__(self, name: str) -> Any:
        return self.read[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self.read)

    def __len__(self) -> int:
        return len(self.read)

    def __or__(self, other: "Now") -> "Now":
        return Now(self.read | other.read)

    def __reduce__(self):
        return dict, (dict(self),)

    def of(self, names: Mapping[str, str]) -> "Now":
        """The same by other names: {new name: name}."""
        return Now({new: self.read[name] for new, name in names.items()})


class Data:
    """The data of a model that become inputs of its graphs. ``model``: the model whose graphs read them. ``inputs``:
    {what these graphs read: the input in its place}. ``values``: what the data are now. ``dims``: the names of open
    lengths, {axis: name}; both by the names of inputs."""

    def __init__(self, source: Any, which: Which):
        self.source = source
        self.model, found = with_inputs(source, which)
        self.inputs = {v: TensorType(v.type.dtype, v.type.shape)(v.name) for v in found}
        self.read = {v: as_in_model(new, v) for v, new in self.inputs.items()}
        self.model = with_own_lengths(self.model, found)
        written = {rv.name: v.data for rv, v in constant_observations(source).items()}
        self.values = Now({
            v.name: partial(v.get_value, borrow=True) if isinstance(v, SharedVariable) else partial(np.asarray, written[v.name])
            for v in found
        })
        self.dims = {v.name: axes for v, axes in dims_of_model(self.model, found).items()}

    def placed(self, graphs: Sequence[Variable]) -> list[Variable]:
        """The graphs of the inputs: lengths are those of inputs, and other shared variables have their present values.
        Generators stay."""
        if self.inputs:
            graphs = clone_replace(list(graphs), lengths_read(self.model, list(self.inputs), graphs))
            graphs = clone_replace(graphs, self.read)
        shared = [v for v in graph_inputs(graphs) if isinstance(v, SharedVariable) and hasattr(v.type, "dtype")]
        return clone_replace(list(graphs), {v: constant_of(v) for v in shared})

    def read_by(self, graphs: Sequence[Variable]) -> list[Variable]:
        """The inputs that the graphs read, in the model's order."""
        read = set(ancestors(graphs))
        return [v for v in self.inputs.values() if v in read]


def data_option(options: dict[str, Any], data: Which) -> Which:
    """What ``data`` is, if the option ``shared``, which came before it, is given: that goes in the next release."""
    shared = options.pop("shared", None)
    if shared is None:
        return data
    if data is not None or shared not in ("initializer", "input"):
        raise ValueError(f"shared={shared!r}: of a model, data= says which data are inputs")
    which: Which = "constants" if shared == "initializer" else None
    write = "data='constants'" if which else "nothing, as pm.Data are inputs"
    warnings.warn(f"shared={shared!r} is removed in the next release of ptgc: write {write}", FutureWarning, stacklevel=4)
    return which


def with_own_lengths(model: Any, inputs: Sequence[Variable]) -> Any:
    """The model whose observed variables have the lengths of their values, where these are inputs, and not the lengths
    of what was observed. A variable that others are computed from, or that PyMC cannot give another length, is left: so
    is one that pymc-extras has summed another out of, whose op says nothing of its batch dims."""
    fixed = [rv for rv in model.observed_RVs if model.rvs_to_values[rv] in inputs and None not in rv.type.shape]
    fixed = [rv for rv in fixed if rv.type.ndim > getattr(draw_of(rv).owner.op, "ndim_supp", rv.type.ndim)]
    if not fixed:
        return model
    others, new = [*model.basic_RVs, *model.deterministics, *model.potentials], {}
    for rv in fixed:
        if rv in ancestors([v for v in others if v is not rv]):
            continue
        value = model.rvs_to_values[rv]
        try:
            new[rv] = with_lengths(rv, [value.shape[k] for k in range(rv.type.ndim - draw_of(rv).owner.op.ndim_supp)])
        except NotImplementedError:
            continue
        new[rv].name = rv.name
    return view_of(
        model, observed_RVs=[new.get(rv, rv) for rv in model.observed_RVs],
        **{name: {new.get(rv, rv): v for rv, v in getattr(model, name).items()}
           for name in ("rvs_to_values", "rvs_to_transforms", "rvs_to_initial_values")},
    )  # fmt: skip


def draw_of(rv: Variable) -> Variable:
    """The draw behind a variable that PyMC counts as more rows than it has, by ``total_size``."""
    if rv.owner is None:
        return rv
    return rv.owner.inputs[0] if type(rv.owner.op).__name__ == "MinibatchRandomVariable" else rv


def with_lengths(rv: Variable, lengths: list[Variable]) -> Variable:
    from pymc.distributions.shape_utils import change_dist_size

    if (draw := draw_of(rv)) is rv:
        return change_dist_size(rv, lengths)
    totals = [None if isinstance(n.type, NoneTypeT) else n for n in rv.owner.inputs[1:]]
    return rv.owner.op(change_dist_size(draw, lengths), *totals)


def view_of(model: Any, **changed: Any) -> Any:
    """The model with other attributes; a frozen model remembers graphs, so it is none."""
    view = object.__new__(sys.modules["pymc"].Model)
    vars(view).update({**vars(model), **changed})
    return view


def as_in_model(plain: Variable, v: Variable) -> Variable:
    """The input in the type of the model's variable, which may have named dims."""
    if not is_xtensor(v.type):
        return plain
    from pytensor.xtensor.basic import as_xtensor  # here, as this import warns that xtensor is experimental

    return as_xtensor(plain, dims=v.type.dims)


def constant_of(v: SharedVariable) -> Variable:
    return as_in_model(pt.constant(v.get_value(), v.name, dtype=v.type.dtype), v)
