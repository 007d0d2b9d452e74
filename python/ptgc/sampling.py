"""Samplers inside of one ONNX model: the posterior of a PyMC model, drawn by NUTS on any runtime."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from inspect import signature
from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.compile.mode import optdb
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.op import Op
from pytensor.graph.replace import clone_replace, graph_replace, vectorize_graph
from pytensor.graph.traversal import ancestors, graph_inputs

from ptgc._batch import vectorized, without_named_dims
from ptgc.errors import no_such
from ptgc.export import Exported, compile_onnx, in_python, takes_options_of, write_exported
from ptgc.linker import rewritten
from ptgc.runtime import arguments, run_session

__all__ = ["Sampler", "compile_nuts", "export_nuts", "nuts_graph"]

# The statistics, by ArviZ's names: dtype, and the number of axes after that of the chains. The last two are no outputs
# of a model.
STATS = {
    "lp": ("float64", 1), "acceptance_rate": ("float64", 1), "tree_depth": ("int64", 1), "diverging": ("bool", 1),
    "n_steps": ("int64", 1), "energy": ("float64", 1), "step_size": ("float64", 0), "inverse_mass": ("float64", 1),
    "generators": ("uint64", 1),
}  # fmt: skip

NO_START = "Initial evaluation of model at starting point failed"  # the check of lib/use/mcmc.ptg


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


class Nuts(Op):
    """Draws by the no-U-turn sampler. ``fgraph`` computes from points [chains, d] their log densities [chains] and
    the gradients [chains, d]. Inputs: a point [d] to start from, the generators' words [chains, 6]."""

    __props__ = ("draws", "fgraph", "jitter", "jitter_max_retries", "max_treedepth", "target_accept", "tune")

    def __init__(self, fgraph, draws, tune, max_treedepth, target_accept, jitter, jitter_max_retries):
        self.fgraph, self.draws, self.tune, self.max_treedepth = fgraph, draws, tune, max_treedepth
        self.target_accept, self.jitter, self.jitter_max_retries = target_accept, jitter, jitter_max_retries

    def make_node(self, start, words):
        d = start.type.shape[0]
        stats = [pt.TensorType(dtype, (None, *[None] * rank))() for dtype, rank in STATS.values()]
        return Apply(self, [start, words], [pt.TensorType("float64", (None, self.draws, d))(), *stats])

    def ptg_call(self, printer, args):
        printer.libraries.add("mcmc")
        step = printer.fn_property(self.fgraph, "log_density").replace("fn=", "logp=", 1)
        props = [f"{name}={getattr(self, name)!r}" for name in self.__props__ if name != "fgraph"]
        return f"Nuts{{{step}, {', '.join(props)}}}({', '.join(args)})"

    def perform(self, node, inputs, outputs):
        raise NotImplementedError("NUTS of ptgc runs in an ONNX model alone")


def parts_of(model, q) -> list:
    """The values of a PyMC model's variables as parts of the vector q: tensors in the order of model.value_vars."""
    start, parts, at = model.initial_point(), [], 0
    for v in model.value_vars:
        value = np.asarray(start[v.name])
        if v.type.dtype != "float64":
            kind = "discrete" if v.type.dtype.startswith(("int", "uint", "bool")) else v.type.dtype
            raise ValueError(f"NUTS draws float64 numbers, but the variable {v.name} is {kind}")
        parts.append(pt.specify_shape(q[at : at + value.size].reshape(value.shape), v.type.shape))
        at += value.size
    return parts


def start_of(model) -> np.ndarray:
    values = model.initial_point()
    return np.concatenate([np.ravel(values[v.name]).astype("float64") for v in model.value_vars])


def with_constants(variables: list) -> list:
    """The graphs with the present values of their shared variables: a fn of .ptg sees nothing of its caller."""
    shared = [v for v in graph_inputs(variables) if isinstance(v, SharedVariable)]
    return clone_replace(variables, {v: pt.constant(v.get_value(), v.name, dtype=v.type.dtype) for v in shared})


def density_graph(model, size: int) -> FunctionGraph:
    """From points [chains, size] to log densities and gradients, with PyTensor's rewrites."""
    q = pt.vector("q", shape=(size,), dtype="float64")
    values, (logp,) = without_named_dims(model.value_vars, [model.logp()])
    slopes = [g.ravel() for g in pytensor.grad(logp, values, disconnected_inputs="ignore")]
    parts = dict(zip(values, parts_of(model, q)))
    graph = with_constants(graph_replace([logp, pt.concatenate(slopes)], parts, strict=False))
    whole = FunctionGraph(outputs=graph, clone=False)
    # as pm.sample does: where a parameter is out of its range, the density is 0, which is no error. The graph has no
    # other
    # rewrite before it is vectorized: PyTensor vectorizes some gradients wrongly once they are in canonical form.
    optdb["canonicalize"].query("+local_check_parameter_to_ninf_switch").rewrite(whole)
    inputs, outputs, _ = vectorized([q], list(whole.outputs), "chains")
    inputs, outputs, _, _ = rewritten(inputs, outputs, {})
    outputs[0].name, outputs[1].name = "logp", "gradient"
    return FunctionGraph(inputs, outputs, clone=True)


def terms_of(model) -> tuple:
    """A point, and the terms that the log density adds up there, each of the name of its variable."""
    q = pt.vector("q", dtype="float64")
    values, terms = without_named_dims(model.value_vars, [t.sum() for t in model.logp(sum=False)])
    terms = with_constants(graph_replace(terms, dict(zip(values, parts_of(model, q))), strict=False))
    for term, v in zip(terms, [*model.basic_RVs, *model.potentials], strict=True):
        term.name = v.name
    return q, terms


def variables_of(model, var_names: Sequence[str] | None) -> list:
    """What pm.sample returns: the free variables as the user wrote them, and the deterministics."""
    hidden = {v.name for rv, v in model.rvs_to_values.items() if model.rvs_to_transforms.get(rv) is not None}
    found = {v.name: v for v in model.unobserved_value_vars if v.name not in hidden}
    if unknown := [name for name in var_names or () if name not in found]:
        raise ValueError(no_such("var_names: the model has no variable", unknown[0], list(found)))
    return [found[name] for name in (found if var_names is None else var_names)]


def nuts_graph(
    model: Any, *, draws: int = 1000, tune: int = 1000, chains: int | None = 4, target_accept: float = 0.8,
    max_treedepth: int = 10, jitter: float = 1.0, jitter_max_retries: int = 100,
    var_names: Sequence[str] | None = None,
) -> tuple[list[Variable], list[Variable]]:  # fmt: skip
    """Returns (inputs, outputs) of a PyTensor graph that samples a PyMC model's posterior. PyTensor itself cannot
    run it:
    compile it to ONNX.

    The inputs: ``seed``, an int64, and with chains=None the number of ``chains``. The outputs: the variables that
    pm.sample returns, or those in ``var_names``, [chains, draws, ...]; and the statistics lp, acceptance_rate,
    tree_depth, diverging, n_steps, energy [chains, draws], and of each chain step_size [chains].
    Further graphs may be built on the outputs: means, quantiles, predictions.
    Chains start at the model's initial point plus ``jitter`` * uniform(-1, 1) in each coordinate, and again where the
    density or its gradient is not finite, up to ``jitter_max_retries`` times. The chains' generators are those that
    NumPy's default_rng(seed) spawns. Data that pm.set_data changes later stay as they are now.
    """
    for name, value, least in (
        ("draws", draws, 1), ("tune", tune, 0), ("max_treedepth", max_treedepth, 1), ("chains", chains, 1),
        ("jitter_max_retries", jitter_max_retries, 0),
    ):  # fmt: skip
        if value is not None and (not isinstance(value, int | np.integer) or value < least):
            raise ValueError(f"{name} must be an integer of at least {least}, not {value!r}")
    if not 0 < target_accept < 1:
        raise ValueError(f"target_accept lies between 0 and 1, unlike {target_accept!r}")
    start = start_of(model)
    nuts = Nuts(density_graph(model, start.size), draws, tune, max_treedepth, target_accept, jitter, jitter_max_retries)
    seed, n = pt.lscalar("seed"), pt.lscalar("chains")
    points, *stats = nuts(pt.constant(start), Spawn()(seed, n if chains is None else chains))
    q = pt.vector("q", shape=start.shape, dtype="float64")
    variables = variables_of(model, var_names)
    values, plain = without_named_dims(model.value_vars, variables)
    parts = dict(zip(values, parts_of(model, q)))
    outputs = vectorize_graph(with_constants(graph_replace(plain, parts, strict=False)), {q: points})
    for v, new in zip(variables, outputs):
        new.name = v.name
    if clash := {v.name for v in variables} & {*STATS, *(v.name for v in (seed, n))}:
        name = min(clash)
        raise ValueError(f"the model's variable {name} has the name of an input or statistic: leave it out by var_names")
    for name, v in zip(STATS, stats):
        v.name = name
    shown = [v for v in stats if v.name not in ("inverse_mass", "generators")]
    return [seed] if chains is not None else [seed, n], [*outputs, *shown]


@dataclass(repr=False)
class Sampler(Exported):
    """The ONNX model of ``nuts_graph``."""

    dims: Mapping[str, list] = field(default_factory=dict)
    coords: Mapping[str, list] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)  # of the parts of a point, by the names of their variables
    terms: tuple = ()  # the point, and the terms of its log density

    def __call__(self, *args, **named) -> list[np.ndarray]:
        """As of ``Exported``. If a chain finds no start, the error names it, its point and the term that is not finite."""
        call = super().__call__
        return self.explained(lambda: call(*args, **named), arguments(self.inputs, args, named))

    def explained(self, run: Callable, feed: Mapping):
        """The results of run(), or an error that says more than the model's if a chain finds no start."""
        try:
            return run()
        except ValueError as e:
            if NO_START not in str(e):
                raise
            raise ValueError(self.why_no_start(**feed) or str(e)) from None

    def why_no_start(self, seed: int, chains: int | None = None) -> str:
        """Which chain has no density at any point that it tries, with the last of them; "" if all chains have one."""
        nuts = next(n for v in ancestors(self.graph[1]) if (n := v.owner) and isinstance(n.op, Nuts))
        op, density = nuts.op, in_python(nuts.op.fgraph.inputs, nuts.op.fgraph.outputs, None, "fast_compile")
        start, count = nuts.inputs[0].data, nuts.inputs[1].owner.inputs[1].data if chains is None else chains
        generators = np.random.default_rng(int(seed)).spawn(int(count))
        left = list(range(len(generators)))  # the chains that have none
        for _ in range(op.jitter_max_retries + 1):
            tries = [start + (2 * generators[k].random(start.size) - 1) * op.jitter for k in left]
            with np.errstate(all="ignore"):
                found = zip(left, tries, *density(np.array(tries)), strict=True)
                bad = [(k, point, slope) for k, point, lp, slope in found if not np.isfinite(lp + slope.sum())]
            left = [k for k, *_ in bad]
            if not left:
                return ""
        chain, point, slope = bad[0]
        return (
            f"{NO_START}: chain {chain} of {len(generators)} found no start in {op.jitter_max_retries + 1} tries. At the last, "
            f"{self.point_text(point)}, {self.not_finite(point, slope)}. More tries: jitter_max_retries; nearer to the "
            "model's initial point: a smaller jitter"
        )

    def point_text(self, point) -> str:
        """name = value of each variable; of the long ones some elements"""
        parts = np.split(point, np.cumsum(list(self.sizes.values()))[:-1])
        texts = [np.array2string(v, precision=4, threshold=6, edgeitems=2) if v.size != 1 else f"{v[0]:.4g}" for v in parts]
        return ", ".join(f"{name} = {text}" for name, text in zip(self.sizes, texts))

    def not_finite(self, point, slope) -> str:
        """The first terms of the log density that are not finite, or what it has no slope by."""
        q, terms = self.terms
        with np.errstate(all="ignore"):
            values = in_python([q], terms, None, "fast_compile")(point)
        if bad := [f"the term of {t.name} is {v}" for t, v in zip(terms, values, strict=True) if not np.isfinite(v)]:
            return " and ".join(bad[:3])
        names = np.repeat(list(self.sizes), list(self.sizes.values()))
        if (bad := np.flatnonzero(~np.isfinite(slope))).size:
            return f"the slope of the log density by {names[bad[0]]} is {slope[bad[0]]}"
        return "the sum of the terms or slopes is not finite"

    def sample(self, seed: int, chains: int | None = None, options: Any = None):
        """The draws for this seed as ArviZ's InferenceData. ``chains`` if the model was compiled with chains=None."""
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**63:
            raise ValueError(f"seed must be an integer from 0 to 2**63 - 1, not {seed!r}")
        import arviz

        feed = {"seed": np.array(seed, "int64")}
        if "chains" in self.inputs:
            feed["chains"] = np.array(4 if chains is None else chains, "int64")
        elif chains is not None:
            raise ValueError("the number of chains was chosen when the model was compiled: chains=None leaves it open")
        session = self.session(options)
        results = self.explained(lambda: run_session(session, self.outputs, feed, self.place), feed)
        results = dict(zip(self.outputs, results, strict=True))
        size = results["lp"].shape  # ArviZ wants a step size for each draw
        results["step_size"] = np.broadcast_to(results["step_size"][:, None], size)
        groups = {
            "posterior": {name: v for name, v in results.items() if name not in STATS},
            "sample_stats": {name: v for name, v in results.items() if name in STATS},
        }
        return arviz.from_dict(groups, dims=self.dims, coords=self.coords)


OF_GRAPH = tuple(p for p in signature(nuts_graph).parameters if p != "model")


@takes_options_of(compile_onnx)
@takes_options_of(nuts_graph)
def compile_nuts(model: Any, **options: Any) -> Sampler:
    """Compiles the sampler of ``nuts_graph`` to an ONNX model, which needs no Python to run. The other options are
    those of ``compile_onnx``."""
    if taken := {"batch", "float32"} & {k for k, v in options.items() if v}:
        raise ValueError(f"a sampler has no option {taken.pop()}")
    if options.get("shared") == "input":
        raise ValueError('a sampler has no option shared="input": the data of its model are constants, as they are now')
    inputs, outputs = nuts_graph(model, **{k: options.pop(k) for k in OF_GRAPH if k in options})
    options.setdefault("model_name", model.name or "nuts")
    exported, start = compile_onnx(inputs, outputs, **options), model.initial_point()
    return Sampler(
        **{f.name: getattr(exported, f.name) for f in fields(Exported)},
        dims={k: list(d) for k, d in model.named_vars_to_dims.items() if k in exported.outputs},
        coords={k: list(v) for k, v in model.coords.items() if v is not None},
        sizes={v.name: int(np.size(start[v.name])) for v in model.value_vars},
        terms=terms_of(model),
    )  # fmt: skip


@takes_options_of(compile_nuts)
def export_nuts(model: Any, file: str | os.PathLike, **options: Any) -> Sampler:
    """Writes the sampler of ``compile_nuts`` as an ONNX file, and returns it."""
    return write_exported(lambda **o: compile_nuts(model, **o), file, options)
