"""What of a PyMC model is data, and what its sizes are called. In: a model. Out: the data that become inputs of its
graphs, the model with them, and names for open lengths, which are those of its dims.
"""

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant, Variable
from pytensor.graph.traversal import ancestors
from pytensor.tensor.type import TensorType

from ptgc import _text
from ptgc.errors import no_such

Which = str | Sequence[str] | None  # the argument data= of those that export a model


def constant_observations(model: Any) -> dict[Variable, Constant]:
    """{observed variable: its values} where these are written into the model, and are no ``pm.Data``."""
    values = ((rv, model.rvs_to_values[rv]) for rv in model.observed_RVs)
    return {rv: v for rv, v in values if isinstance(v, Constant) and isinstance(v.type, TensorType)}


def names_of_inputs(model: Any, data: Which) -> set[str]:
    """The names of the data that become inputs. None: those of ``pm.Data``; "inputs": these and all that is observed;
    "constants": none; a list: those that it names."""
    shared = {v.name for v in model.data_vars}
    every = shared | {rv.name for rv in constant_observations(model)}
    if data is None or isinstance(data, str):
        choices = {None: shared, "inputs": every, "constants": set()}
        if data not in choices:
            raise ValueError(f"data is 'inputs', 'constants' or a list of names, not {data!r}")
        return choices[data]
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
        mutable = sys.modules["pymc"].Model  # a frozen model remembers graphs
        view = object.__new__(mutable)
        vars(view).update(vars(model), rvs_to_values={**model.rvs_to_values, **values})
        model = view
    return model, inputs


def keeps_lengths(model: Any, rv: Variable) -> bool:
    """Has the value variable the lengths of the random variable? So it is where its transform takes each element by
    itself: then the Jacobian has an element for each, too."""
    value, transform = model.rvs_to_values[rv], model.rvs_to_transforms.get(rv)
    if transform is None:
        return True
    return value.ndim == rv.ndim == transform.log_jac_det(value, *rv.owner.inputs).ndim


def dims_of_model(model: Any, inputs: Sequence[Variable]) -> dict[Variable, dict[int, str]]:
    """{input: {axis: PyMC's name of that dim}} for the lengths that its type leaves open."""
    rvs = {value: rv for rv, value in model.rvs_to_values.items()}
    found = {}
    for v in inputs:
        rv = rvs.get(v)
        if rv is not None and not keeps_lengths(model, rv):
            continue
        names = model.named_vars_to_dims.get((v if rv is None else rv).name) or ()
        at = {k: _text.clean_name(name) for k, name in enumerate(names) if name is not None and v.type.shape[k] is None}
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
    read, found = set(ancestors(graphs)), {}
    for dim, length in model.dim_lengths.items():
        if isinstance(length, SharedVariable) and length in read and length not in inputs:
            number = pt.constant(length.get_value(), name=length.name, dtype=length.type.dtype)
            found[length] = named.get(_text.clean_name(dim), number).astype(length.type.dtype)
    return found
