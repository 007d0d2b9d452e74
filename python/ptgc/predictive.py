"""Prior and posterior predictive sampling of a PyMC model as one ONNX file."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, ClassVar

import pytensor
import pytensor.tensor as pt
from pytensor.graph.basic import Variable
from pytensor.graph.replace import clone_replace
from pytensor.graph.traversal import ancestors
from pytensor.tensor.type import TensorType

from ptgc._data import Data, Which, data_option
from ptgc._modelfile import OfModel, described, options_of
from ptgc._one_pass import one_pass
from ptgc.errors import no_such
from ptgc.export import compile_onnx, takes_options_of, write_exported


def drawn_outputs(model: Any, prior: bool, var_names: Sequence[str] | None) -> list[Variable]:
    """The variables that PyMC would draw, in PyMC's order: it hands out seeds to generators in that order."""
    from pymc.sampling.forward import observed_dependent_deterministics
    from pymc.util import get_default_varnames

    if isinstance(var_names, str):
        raise TypeError(f"var_names is a list of names, not {var_names!r}")
    if unknown := [name for name in var_names or () if name not in model.named_vars]:
        raise ValueError(no_such("var_names: the model has no variable", unknown[0], list(model.named_vars)))
    if prior:
        asked = {v.name for v in model.basic_RVs + model.deterministics} if var_names is None else set(var_names)
        return [model[name] for name in sorted(get_default_varnames(asked, include_transformed=False))]
    if var_names is not None:
        return [model[name] for name in var_names]
    found = [*model.observed_RVs, *observed_dependent_deterministics(model)]
    return list(get_default_varnames(list(dict.fromkeys(found)), include_transformed=False))


def name_generators(model: Any, generators: Sequence[Variable]) -> list[str]:
    """``y_rng`` for the generator that the variable y is drawn by. Where a distribution is made of others, theirs are
    ``y_rng_2``, ...: of a mixture its components, of a censored variable, which draws nothing itself, ``y_rng`` too."""
    names: dict[Variable, str] = {}
    drawn = [v for v in [*model.basic_RVs, *model.deterministics] if v.owner is not None]
    own = [(v, g) for v in drawn for g in v.owner.inputs]
    parts = [(v, g) for v in drawn for g in ancestors([v], blockers=[u for u in drawn if u is not v])]
    others = [(v, v) for v in generators]  # of a draw that the model has no variable for
    for v, g in [*own, *parts, *others]:
        if g in generators and g not in names:
            first = "rng" if v is g else f"{v.name}_rng"
            names[g] = next(n for k in count(1) if (n := first if k == 1 else f"{first}_{k}") not in names.values())
    return [names[g] for g in generators]


@dataclass(repr=False)
class Predictor(OfModel):
    """The ONNX model of ``export_predictive``. ``looped``: the names of variables that are drawn in a loop over the
    draws of the parameters, where the others are one draw for all; None: all is computed in such a loop, or the file
    was read."""

    KIND: ClassVar[str] = "predictive"

    looped: list[str] | None = None


def point_by_point(given: Data, outputs, updates, free, points, generators, draws) -> list[Variable]:
    """The outputs and the generators that are left, by a loop over the points."""

    def step(*args):
        return given.placed(clone_replace([*outputs, *updates.values()], dict(zip([*free, *updates], args))))

    return pytensor.scan(
        step, sequences=points, outputs_info=[*[None] * len(outputs), *generators], n_steps=None if points else draws,
        return_updates=False, return_list=True,
    )  # fmt: skip


def drawn_for_points(
    given: Data, outputs, updates, free, points, generators, length
) -> tuple[list[Variable], list[str] | None]:
    """The outputs for all points and the generators that are left, and what is ``looped``."""
    found = one_pass(outputs, updates, dict(zip(free, points)), dict(zip(updates, generators)), length)
    if found is None:
        return point_by_point(given, outputs, updates, free, points, generators, length), None
    results, left, looped = found
    return given.placed([*results, *left]), looped


@takes_options_of(compile_onnx)
def compile_predictive(
    model: Any, *, prior: bool = False, var_names: Sequence[str] | None = None, data: Which = None, **options: Any
) -> Predictor:
    """Compiles the posterior (or prior) predictive sampling of a PyMC model to an ONNX model.

    Inputs of the ONNX model are the draws of the parameters, with the draws as first axis, which is called ``draws``:
    the model fails if lengths differ (``prior=True``: one integer, the number of ``draws``); one generator for
    each random variable that is drawn, ``y_rng`` of y; and the data, of any length: each ``pm.Data`` (None), observed
    values as well ("inputs"), none ("constants"), or those in a list of names. Outputs are the predictions, draws
    first, and the generators that are left, ``y_rng_next``. With the generators that PyMC would make of
    ``random_seed``, ``exported(**draws, **exported.generators(seed))``, predictions are equal to PyMC's. var_names: as
    of PyMC's function. options: those of ``compile_onnx``.
    """
    from pymc.pytensorf import collect_default_updates

    given = Data(model, data_option(options, data))
    outputs = drawn_outputs(model, prior, var_names)
    needed = set(ancestors(outputs))
    free = [] if prior else [v for v in model.free_RVs if v in needed and v not in outputs]
    updates = collect_default_updates(outputs, inputs=free)
    draws = pt.lscalar("draws")
    points = [TensorType(v.type.dtype, (None, *v.type.shape))(v.name) for v in free]
    generators = [v.type(name) for v, name in zip(updates, name_generators(model, list(updates)))]

    length = points[0].shape[0] if points else draws
    results, looped = drawn_for_points(given, outputs, updates, free, points, generators, length)
    for v, name in zip(results, [v.name for v in outputs] + [f"{v.name}_next" for v in generators]):
        v.name = name
    inputs = [*(points or [draws]), *generators, *given.read_by(results)]
    given.dims |= {v.name: {0: "draws"} for v in points}
    shapes = {v.name: None if None in v.type.shape else list(v.type.shape) for v in free}
    parts = described(given, inputs, results, shapes)
    options.setdefault("on_unused_input", "ignore")  # draws of what only other parameters are computed from
    exported = compile_onnx(inputs, results, **options_of(Predictor, given, inputs, parts, options))
    return Predictor.of(exported, parts, looped=looped)


@takes_options_of(compile_predictive)
def export_predictive(model: Any, file: str | os.PathLike, **options: Any) -> Predictor:
    """Writes the predictive sampling of ``compile_predictive`` as an ONNX file, and returns it."""
    return write_exported(lambda **o: compile_predictive(model, **o), file, options)
