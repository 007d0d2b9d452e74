"""Predictions in the graph of a sampler. In: the draws of the parameters, [chains, draws, ...]. Out: what PyMC would draw
for each, for data of their own, the data of new rows.

They are drawn in the order of the draws, all chains of one draw after the other: so a run by parts draws the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pytensor.tensor as pt
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.op import Op
from pytensor.graph.traversal import ancestors
from pytensor.tensor.random.type import random_generator_type
from pytensor.tensor.type import TensorType

from ptgc._data import Data, Now, other_than, size_names
from ptgc.errors import no_such
from ptgc.predictive import drawn_for_points, drawn_outputs, name_generators

NEW = "_new"  # behind the names of inputs and outputs of predictions
WORDS = TensorType("uint64", (None, 6))


class FromWords(Op):
    """The generator of the words uint64[6]."""

    __props__ = ()
    itypes, otypes = (TensorType("uint64", (6,)),), (random_generator_type,)

    def ptg_call(self, printer, args):
        return f"WordsToGenerator({args[0]})"

    def perform(self, node, inputs, outputs):
        from ptgc._random import words_to_generator

        outputs[0][0] = words_to_generator(inputs[0], "PCG64")


class ToWords(Op):
    """The words uint64[6] of a generator."""

    __props__ = ()
    otypes = (TensorType("uint64", (6,)),)

    def make_node(self, rng):
        return Apply(self, [rng], [self.otypes[0]()])

    def ptg_call(self, printer, args):
        return f"GeneratorToWords({args[0]})"

    def perform(self, node, inputs, outputs):
        from ptgc._random import generator_to_words

        outputs[0][0] = generator_to_words(inputs[0])


@dataclass
class Predictions:
    """``outputs``: [chains, draws, ...]. ``inputs``: the data that they read. ``words``: what is left of the generators, or
    None if there are none."""

    outputs: list[Variable]
    inputs: list[Variable]
    words: Variable | None


class Predicted:
    """What is to be predicted of a model: variables of ``names``. ``generators``: how many of them are needed."""

    def __init__(self, data: Data, names: Sequence[str]):
        from pymc.pytensorf import collect_default_updates

        if isinstance(names, str):
            raise TypeError(f"predict is a list of names, not {names!r}")
        model = data.source

        predictable = [v.name for v in [*model.observed_RVs, *model.deterministics]]
        free = {v.name for v in model.free_RVs}
        if wrong := [name for name in names if name in free]:
            raise ValueError(f"predict: {wrong[0]} is a parameter, whose draws are among the outputs anyway")
        if unknown := [name for name in names if name not in predictable]:
            raise ValueError(no_such("predict: the model has no variable", unknown[0], predictable))
        self.given = Data(model, [v.name for v in model.data_vars if v.name in data.values])
        self.inputs: list[Variable] = []  # those of the data that predictions read
        self.variables = drawn_outputs(model, False, names)
        needed = set(ancestors(self.variables))
        self.free = [v for v in model.free_RVs if v in needed]
        self.updates = collect_default_updates(self.variables, inputs=self.free)
        self.generators = len(self.updates)

    def of_draws(self, values: Mapping[str, Variable], chains: Variable, draws: Variable, words: Variable) -> Predictions:
        """values: {free variable: its draws [chains, draws, ...]}; words: [generators, 6]"""
        count = chains * draws
        points = [flattened(values[v.name], count) for v in self.free]
        generators = [FromWords()(words[k]) for k in range(self.generators)]
        for v, name in zip(generators, name_generators(self.given.source, list(self.updates)), strict=True):
            v.name = name
        results, _ = drawn_for_points(self.given, self.variables, self.updates, self.free, points, generators, count)
        results, left = results[: len(self.variables)], results[len(self.variables) :]
        outputs = []
        for v, flat in zip(self.variables, results, strict=True):
            shape = [draws, chains, *(flat.shape[k] for k in range(1, flat.ndim))]
            new = pt.moveaxis(flat.reshape(shape, ndim=flat.ndim + 1), 0, 1)
            new.name = v.name + NEW
            outputs.append(new)
        self.inputs = self.given.read_by(results)
        for v in self.inputs:
            v.name += NEW
        return Predictions(outputs, self.inputs, pt.stack([ToWords()(g) for g in left]) if left else None)

    def values(self) -> Now:
        """What the data of new rows are in the model: the rows that it is fitted to."""
        return self.given.values.of({v.name: v.name.removesuffix(NEW) for v in self.inputs})

    def lengths(self) -> dict[str, dict[int, str]]:
        """The names of open lengths, which are no lengths of the data that the model is fitted to."""
        of = {v.name: self.given.dims.get(v.name.removesuffix(NEW), {}) for v in self.inputs}
        taken = size_names(self.given.model).values()
        return {name: {k: other_than(taken, dim + NEW) for k, dim in axes.items()} for name, axes in of.items() if axes}

    def meaning(self) -> dict[str, str]:
        """{output or input of predictions: what it is of the model}"""
        names = [*(v.name for v in self.variables), *(v.name.removesuffix(NEW) for v in self.inputs)]
        return {name + NEW: name for name in names}


def flattened(draws: Variable, count: Variable) -> Variable:
    """[chains, draws, ...] as [draws * chains, ...]"""
    shape = [count, *(draws.shape[k] for k in range(2, draws.ndim))]
    flat = pt.moveaxis(draws, 0, 1).reshape(shape, ndim=draws.ndim - 1)
    return pt.specify_shape(flat, (None, *draws.type.shape[2:]))
