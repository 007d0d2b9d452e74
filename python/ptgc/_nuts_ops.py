"""The ops of a graph that samples: the generators of the chains, and NUTS, whole or by steps of its loop. PyTensor cannot
run NUTS: lib/use/mcmc.ptg has it."""

from collections.abc import Collection, Iterable

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.tensor.type import TensorType

# The statistics of NUTS, by ArviZ's names: dtype, and the number of axes after that of the chains
STATS = {
    "lp": ("float64", 1), "acceptance_rate": ("float64", 1), "tree_depth": ("int64", 1), "diverging": ("bool", 1),
    "n_steps": ("int64", 1), "energy": ("float64", 1), "step_size": ("float64", 0), "inverse_mass": ("float64", 1),
    "energy_error": ("float64", 1), "reached_max_treedepth": ("bool", 1),
}  # fmt: skip
HIDDEN = ("inverse_mass",)  # no output of a model

# What a run is between two steps of its loop, see _Nuts_packed: nothing before it begins
STATE = {
    "numbers": TensorType("float64", (None, None)), "levels": TensorType("float64", (None, None, None)),
    "counts": TensorType("int64", (None, 6)), "streams": TensorType("uint64", (None, 12)),
    "learned": TensorType("float64", (None, None)), "done": TensorType("int64", (None,)),
    "waiting": TensorType("float64", (None, None)),
}  # fmt: skip
ALL_STEPS = 2**63 - 1


def names_in_file(own: Iterable[str], of_model: Collection[str]) -> dict[str, str]:
    """{input or statistic: what it is called in a file}: "nuts_..." where the model has a variable of its name."""
    own, found = list(own), {}
    for name in own:
        found[name] = name
        while found[name] in of_model or (found[name] != name and found[name] in own):
            found[name] = "nuts_" + found[name]
    return found


def nothing(type: TensorType) -> np.ndarray:
    return np.zeros([n or 0 for n in type.shape], type.dtype)


class Spawn(Op):
    """The words of the generators that NumPy's ``default_rng(seed).spawn(n)`` gives: uint64[n, 6]."""

    __props__ = ()
    itypes, otypes = (pt.lscalar, pt.lscalar), (pt.TensorType("uint64", (None, 6)),)

    def make_node(self, seed, n):
        return Apply(self, [pt.as_tensor(seed, dtype="int64"), pt.as_tensor(n, dtype="int64")], [self.otypes[0]()])

    def ptg_call(self, printer, args):
        seed, n = args
        return f"GeneratorToWords(rng[{n.removeprefix('int64(').removesuffix(')')}]({seed}))"

    def perform(self, node, inputs, outputs):
        from ptgc._random import generator_to_words

        seed, n = (int(v) for v in inputs)
        words = [generator_to_words(g) for g in np.random.default_rng(seed).spawn(n)]
        outputs[0][0] = np.array(words, "uint64").reshape(n, 6)


class NutsDraws(Op):
    """Draws by the no-U-turn sampler. ``fgraph`` computes from points [chains, d] their log densities [chains] and
    the gradients [chains, d]. Inputs: a point [d] to start from, the generators' words [chains, 6], and the further
    inputs of ``fgraph``, which are the same for all points. The last result are the generators that are left."""

    __props__ = ("draws", "fgraph", "jitter", "jitter_max_retries", "max_treedepth", "target_accept", "tune")

    own_inputs = 2  # before the data

    def __init__(self, fgraph, draws, tune, max_treedepth, target_accept, jitter, jitter_max_retries):
        self.fgraph, self.draws, self.tune, self.max_treedepth = fgraph, draws, tune, max_treedepth
        self.target_accept, self.jitter, self.jitter_max_retries = target_accept, jitter, jitter_max_retries

    def make_node(self, start, words, *data):
        return Apply(self, [start, words, *data], [*self.results(start, self.draws), Spawn.otypes[0]()])

    @staticmethod
    def results(start, draws):
        points = pt.TensorType("float64", (None, draws, start.type.shape[-1]))()
        return [points, *(pt.TensorType(dtype, (None, *[None] * rank))() for dtype, rank in STATS.values())]

    def ptg_call(self, printer, args):
        printer.libraries.add("mcmc")
        own, data = args[: self.own_inputs], args[self.own_inputs :]
        density = printer.fn_of_graph(self.fgraph, "log_density")
        if data:  # a fn sees nothing of its caller: data are properties of the one that is called with points
            names = [f"data{k + 1}" for k in range(len(data))]
            bound, listed = printer.new_fn("log_density_given"), ", ".join(names)
            text = f"fn {bound}{{{listed}}}(q) -> (logp, gradient) {{\n  logp, gradient = {density}(q, {listed})\n}}\n"
            printer.add_text(text)
            density = f"{bound}{{{', '.join(f'{name}={v}' for name, v in zip(names, data))}}}"
        given = {name: getattr(self, name) for name in self.__props__ if name != "fgraph"}
        props = [f"{name}={v!r}" for name, v in given.items() if v is not False]
        given = [f"logp={density if data else density + '{}'}", *props]
        return f"{type(self).__name__}{{{', '.join(given)}}}({', '.join(own)})"

    def perform(self, node, inputs, outputs):
        raise NotImplementedError("NUTS of ptgc runs only in an ONNX model")


class Convergence(Op):
    """R-hat and the effective sample sizes of x[chain, draw, k]; NaN if ``whole`` is not true: these are not all draws."""

    __props__ = ()

    def make_node(self, x, whole):
        return Apply(self, [x, whole], [TensorType("float64", (None,))() for _ in range(2)])

    def ptg_call(self, printer, args):
        printer.libraries.add("mcmc")
        return f"Convergence({', '.join(args)})"

    def perform(self, node, inputs, outputs):
        raise NotImplementedError("this is computed only in an ONNX model")


class NutsSteps(NutsDraws):
    """The same by steps of its loop. Inputs: start, which may have a row for each chain, and words, how many steps, what
    the run is, of the types of STATE, then the data. The last results are what the run is then. keep_tuning: the draws of
    tuning come first."""

    __props__ = (*NutsDraws.__props__, "keep_tuning")

    own_inputs = 3 + len(STATE)

    def __init__(self, *args, keep_tuning: bool = False, **named):
        super().__init__(*args, **named)
        self.keep_tuning = keep_tuning

    def make_node(self, start, words, steps, *state_and_data):
        results = [*self.results(start, None), *(type() for type in STATE.values())]
        return Apply(self, [start, words, steps, *state_and_data], results)
