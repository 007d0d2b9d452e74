"""The log density of a PyMC model, and its gradient, as one ONNX file. In: a model. Out: a function of its value
variables and data, of one point or of many."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytensor
import pytensor.tensor as pt
from pytensor.compile.mode import optdb
from pytensor.graph.basic import Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.rewriting.db import RewriteDatabaseQuery

from ptgc._batch import without_named_dims
from ptgc._data import Data, Which, data_option
from ptgc._modelfile import KEY, OfModel, described, options_of
from ptgc._samplable import refuse_draws, refuse_simulators
from ptgc.export import Exported, compile_onnx, export_c, takes_options_of, write_exported
from ptgc.rewrites import EXCLUDE

STABLE = RewriteDatabaseQuery(include=["stabilize", "onnx"], exclude=EXCLUDE)

__all__ = ["Density", "compile_density", "export_density"]


class Density(OfModel):
    """The ONNX model of ``compile_density``."""

    KIND: ClassVar[str] = "density"


def with_slopes(logp: Variable, values: list[Variable]) -> tuple[Variable, list[Variable]]:
    """The log density in PyTensor's stable form, and its slope by each value. As in PyMC, the gradient is that of the
    stable form: the slope of log(sigmoid(x)) is 0 / 0 where sigmoid(x) is 0, that of -softplus(-x) is 1. There is no
    canonical form: see without_errors() of sampling.py."""
    graph = FunctionGraph(outputs=[logp], clone=False)
    optdb["stabilize"].query(STABLE).rewrite(graph)
    [logp] = graph.outputs
    return logp, pytensor.grad(logp, values, disconnected_inputs="ignore")


def graph_of_density(data: Data, gradient: bool) -> tuple[list[Variable], list[Variable]]:
    """The value variables as plain tensors, and the outputs logp and dlogp."""
    model = data.model
    values, (logp,) = without_named_dims(model.value_vars, [model.logp()])
    outputs = [logp]
    if gradient:
        refuse_simulators(model)
        by = [v for v in values if v.type.dtype.startswith("float")]
        if not by:
            of = "only discrete variables, which have no gradient" if values else "no free variable, so there is no gradient"
            raise ValueError(f"the model has {of}: write gradient=False")
        logp, slopes = with_slopes(logp, by)
        outputs = [logp, pt.concatenate([g.ravel() for g in slopes])]
    refuse_draws(logp)
    whole = FunctionGraph(outputs=data.placed(outputs), clone=False)
    # what model.compile_logp does: a parameter out of its range gives -inf, or is not looked at
    name = "local_check_parameter_to_ninf_switch" if model.check_bounds else "local_remove_check_parameter"
    optdb["canonicalize"].query(f"+{name}").rewrite(whole)
    for v, name in zip(whole.outputs, ("logp", "dlogp")):
        v.name = name
    return values, list(whole.outputs)


@takes_options_of(compile_onnx)
def compile_density(
    model: Any, *, gradient: bool = True, data: Which = None, batch: str | Mapping | None = None, **options: Any
) -> Density:
    """Compiles the log density of a PyMC model to an ONNX model, which needs no Python to run.

    The inputs are the value variables, which are not constrained, by PyMC's names (``sigma_log__``). Then come the
    data, of any length: each ``pm.Data`` (None), observed values as well ("inputs"), none ("constants"), or those
    in a list of names.

    The outputs are ``logp``, and with ``gradient`` also ``dlogp``: the gradient by the value variables that are not
    integers, as one vector, in the order of the inputs, each in C order. A parameter out of its range gives -inf,
    as from ``model.compile_logp``.

    batch is the name of a leading dim of all value variables, "chains". Then one call computes many points, and the
    data are the same for all. The other options are those of ``compile_onnx``.
    """
    inputs, outputs, options, parts = prepared(model, gradient, data, batch, options)
    return Density.of(compile_onnx(inputs, outputs, **options), parts)


def prepared(
    model, gradient, data, batch, options
) -> tuple[list[Variable], list[Variable], dict[str, Any], dict[str, Any]]:
    """The inputs and outputs, the options of ``compile_onnx``, and the fields of ``OfModel``."""
    given = Data(model, data_option(options, data))
    values, outputs = graph_of_density(given, gradient)
    inputs = [*values, *given.read_by(outputs)]
    if isinstance(batch, str):
        batch = dict.fromkeys(values, batch)
    shapes = {v.name: None if None in v.type.shape else list(v.type.shape) for v in values}
    parts = described(given, inputs, outputs, shapes)
    options.setdefault("on_unused_input", "ignore")  # a variable whose density does not depend on it, as of Flat
    return inputs, outputs, {"batch": batch, **options_of(Density, given, inputs, parts, options)}, parts


@takes_options_of(compile_density)
def export_density(model: Any, file: str | os.PathLike, **options: Any) -> Exported:
    """Writes the log density of ``compile_density`` as an ONNX file, and returns it. If the file is called ``name.c``
    it is C, and a shared library if it is called ``name.so``, with its header beside it, as from ``export_c``, whose
    option ``cflags`` is taken too."""
    path = Path(file)
    if path.suffix not in (".c", ".so"):
        return write_exported(lambda **o: compile_density(model, **o), file, options)
    gradient, data, batch = options.pop("gradient", True), options.pop("data", None), options.pop("batch", None)
    options.setdefault("model_name", path.stem)
    inputs, outputs, options, _ = prepared(model, gradient, data, batch, options)
    metadata = {k: json.loads(v) if k == KEY else v for k, v in options.pop("metadata").items()}
    if path.suffix == ".so":
        options["metadata"] = metadata
    return export_c(inputs, outputs, file, **options)
