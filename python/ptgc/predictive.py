"""Prior and posterior predictive sampling of a PyMC model as one ONNX file."""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, ClassVar

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.graph.basic import Variable
from pytensor.graph.replace import clone_replace
from pytensor.graph.traversal import ancestors
from pytensor.tensor.type import TensorType

from ptgc._batch import without_named_dims
from ptgc._data import DRAWS, Data, Which, data_option, draw_of
from ptgc._modelfile import OfModel, described, options_of
from ptgc._one_pass import one_pass
from ptgc._samplable import refuse_own_samplers
from ptgc.errors import no_such
from ptgc.export import compile_onnx, takes_options_of, write_exported
from ptgc.runtime import arguments

NEXT = "_next"  # behind the names of generators that are left
LARGE, LEAST = 2**23, 64  # bytes of predictions, and draws, that a run computes at once


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
        names = sorted(get_default_varnames(asked, include_transformed=False))
    elif var_names is not None:
        if given := [v.name for v in model.free_RVs if v.name in var_names]:
            raise ValueError(
                f"var_names: {given[0]} is a parameter, whose draws are inputs: leave it out. If it is to be "
                f"drawn, as a gp.conditional is, observe it: pm.observe(model, {{{given[0]!r}: any values}})"
            )
        names = var_names
    else:
        found = [*model.observed_RVs, *observed_dependent_deterministics(model)]
        names = [v.name for v in get_default_varnames(list(dict.fromkeys(found)), include_transformed=False)]
    return [draw_of(model[name]) for name in names]


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
            taken = {*names.values(), *model.named_vars}
            names[g] = next(n for k in count(1) if (n := first if k == 1 else f"{first}_{k}") not in taken)
    return [names[g] for g in generators]


@dataclass(repr=False)
class Predictor(OfModel):
    """The ONNX model of ``export_predictive``. ``looped``: the names of variables that are drawn in a loop over the
    draws of the parameters, where the others are one draw for all; None: all is computed in such a loop, or the file
    was read."""

    KIND: ClassVar[str] = "predictive"

    looped: list[str] | None = None

    def __call__(self, *args, **named) -> list[np.ndarray]:
        """As of ``Exported``; data that are left out are those of the model. Where predictions are larger than some 8 MB
        the model is run for so many draws at a time, which draws the same numbers."""
        generators = [name for name in self.inputs if name not in {DRAWS, *self.point, *self.data_names}]
        how = dict.fromkeys(generators, ": predictor.generators(seed) gives all generators, by name")
        given = arguments(self.inputs, args, {**self.left_out(args, named), **named}, how)
        self.refuse_chains(given)
        count = self.draws_of(given)
        if count <= LEAST or (step := self.draws_at_once(given)) >= count:
            return super().__call__(**given)
        results: list = []
        done = 0
        while done < count:
            found = super().__call__(**self.part(given, done, min(done + step, count)))
            if not results:
                results = [np.empty((count, *v.shape[1:]), v.dtype) if is_array(v) else v for v in found]
            for k, v in enumerate(found):
                if is_array(v):
                    results[k][done : done + step] = v
                else:
                    results[k] = v
            done += step
            step = at_once(sum(v[:1].nbytes for v in found if is_array(v)))
            left = dict(zip(self.outputs, found))
            given |= {name: left[name + NEXT] for name in self.inputs if name + NEXT in left}
        return results

    def refuse_chains(self, given: Mapping[str, Any]) -> None:
        """TypeError where chains and draws are two axes, as ArviZ has them."""
        for name, shape in self.point.items():
            if shape is not None and name in given and np.ndim(given[name]) == len(shape) + 2:
                raise TypeError(
                    f"input {name!r} has the rank {len(shape) + 2}, expected {len(shape) + 1}: chains and draws are one axis, "
                    f"np.concatenate(posterior[{name!r}].values)"
                )

    def draws_of(self, given: Mapping[str, Any]) -> int:
        """How many draws are asked for; 0 where lengths differ, for which the model has an error."""
        if not self.point:
            return int(given[DRAWS]) if DRAWS in given and np.ndim(given[DRAWS]) == 0 else 0
        lengths = {len(v) if np.ndim(v := np.asarray(given[name])) else 0 for name in self.point if name in given}
        return lengths.pop() if len(lengths) == 1 else 0

    def draws_at_once(self, given: Mapping[str, Any]) -> int:
        """As many as give some 8 MB, by the lengths that the inputs say; a few where these do not say them."""
        session, size = self.own_session(), 0
        known = {
            dim: n for v in session.get_inputs() if v.name in self.data_names
            for dim, n in zip(v.shape, np.shape(given[v.name])) if isinstance(dim, str)
        }  # fmt: skip
        for v in session.get_outputs():
            if v.name.endswith(NEXT):
                continue
            lengths = [known.get(dim, dim) for dim in v.shape[1:]]
            if not all(isinstance(n, int) for n in lengths):
                return LEAST
            size += 8 * math.prod(lengths)
        return at_once(size)

    def part(self, given: Mapping[str, Any], begin: int, end: int) -> dict[str, Any]:
        """The arguments for these draws alone."""
        if not self.point:
            return {**given, DRAWS: np.array(end - begin, "int64")}
        return {k: np.asarray(v)[begin:end] if k in self.point else v for k, v in given.items()}


def is_array(v: Any) -> bool:
    """Not a generator."""
    return isinstance(v, np.ndarray)


def at_once(size: int) -> int:
    """The number of draws of so many bytes each that a run computes at once."""
    return max(LEAST, LARGE // max(size, 1) // LEAST * LEAST)


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
    free, graphs = without_named_dims(free, [*outputs, *updates.values()])
    outputs, updates = graphs[: len(outputs)], dict(zip(updates, graphs[len(outputs) :], strict=True))
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

    The inputs are the draws of the parameters, one generator for each random variable that is drawn, ``y_rng`` of
    y, and the data. The draws are the first axis of each parameter, which is called ``draws``; the model fails if
    its lengths differ. With ``prior=True`` the number of ``draws``, an integer, takes the place of the parameters.
    The data may have any length: each ``pm.Data`` (None), observed values as well ("inputs"), none ("constants"),
    or those in a list of names.

    The outputs are the predictions, draws first, and the generators that are left, ``y_rng_next``. With the
    generators that PyMC would make from ``random_seed``, ``exported(**draws, **exported.generators(seed))``, the
    predictions are equal to PyMC's. var_names is that of PyMC's function, without parameters. The other options are those of
    ``compile_onnx``.
    """
    from pymc.pytensorf import collect_default_updates

    given = Data(model, data_option(options, data))
    outputs = drawn_outputs(model, prior, var_names)
    if not outputs:
        others = ", ".join(v.name for v in model.deterministics)
        raise ValueError(
            "there is no variable to predict: nothing is observed, and a pm.Potential predicts nothing. var_names says what "
            f"to predict{', as the Deterministics ' + others if others else ''}"
        )
    needed = set(ancestors(outputs))
    free = [] if prior else [v for v in model.free_RVs if v in needed and v not in outputs]
    refuse_own_samplers(model, free, "Predict by pm.sample_posterior_predictive, which calls it for new data")
    updates = collect_default_updates(outputs, inputs=free)
    draws = pt.lscalar(DRAWS)
    points = [TensorType(v.type.dtype, (None, *v.type.shape))(v.name) for v in free]
    generators = [v.type(name) for v, name in zip(updates, name_generators(model, list(updates)))]

    length = points[0].shape[0] if points else draws
    results, looped = drawn_for_points(given, outputs, updates, free, points, generators, length)
    for v, name in zip(results, [v.name for v in outputs] + [v.name + NEXT for v in generators]):
        v.name = name
    inputs = [*(points or [draws]), *generators, *given.read_by(results)]
    given.dims |= {v.name: {0: DRAWS} for v in points}
    shapes = {v.name: None if None in v.type.shape else list(v.type.shape) for v in free}
    parts = described(given, inputs, results, shapes)
    options.setdefault("on_unused_input", "ignore")  # draws of what only other parameters are computed from
    exported = compile_onnx(inputs, results, **options_of(Predictor, given, inputs, parts, options))
    return Predictor.of(exported, parts, looped=looped)


@takes_options_of(compile_predictive)
def export_predictive(model: Any, file: str | os.PathLike, **options: Any) -> Predictor:
    """Writes the predictive sampling of ``compile_predictive`` as an ONNX file, and returns it."""
    return write_exported(lambda **o: compile_predictive(model, **o), file, options)
