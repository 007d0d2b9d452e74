"""Samplers inside of one ONNX model: the posterior of a PyMC model, drawn by NUTS on any runtime."""

import json
import math
import os
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytensor.tensor as pt
from pytensor.compile.mode import optdb
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.replace import clone_replace, graph_replace, vectorize_graph
from pytensor.graph.traversal import ancestors, graph_inputs
from pytensor.tensor.extra_ops import broadcast_to
from pytensor.tensor.random.op import RandomVariable

from ptgc._batch import vectorized, without_named_dims
from ptgc._data import Data, Which, data_option
from ptgc._inference import Seen, doubts, free_variables, inference_data, seen_by
from ptgc._modelfile import KEY, OfModel, described, options_of, read_parts
from ptgc._nuts_ops import (
    ALL_STEPS,
    HIDDEN,
    STATE,
    STATS,
    Convergence,
    NutsDraws,
    NutsSteps,
    Spawn,
    names_in_file,
    nothing,
)
from ptgc._predictions import WORDS, Predicted, Predictions
from ptgc._run import Checkpoint, Run, own_name, progress_of, warn_of_stop
from ptgc._samplable import check_samplable, refuse_draws
from ptgc.density import with_slopes
from ptgc.errors import no_such
from ptgc.export import (
    Exported,
    compile_onnx,
    export_c,
    in_python,
    make_exported,
    takes_options_of,
    usual_options,
    write_exported,
)
from ptgc.linker import rewritten
from ptgc.native import NativeLibrary
from ptgc.runtime import arguments

__all__ = ["Sampler", "compile_nuts", "export_nuts", "nuts_graph"]

RHAT, ESS = "_rhat", "_ess"  # behind the names of variables
NO_START = "Initial evaluation of model at starting point failed"  # the check of lib/use/mcmc.ptg


@dataclass
class Start:
    """The point that chains begin around, [d], and the shapes of its parts, in the order of model.value_vars: lengths
    are numbers, or graphs where they depend on data. each: [chains, d], if each chain has a point of its own."""

    point: Variable
    shapes: list[tuple]
    each: Variable | None = None

    @property
    def begin(self) -> Variable:
        return self.point if self.each is None else self.each

    def sizes(self) -> list:
        return [math.prod(shape) for shape in self.shapes]


def start_of(data: Data) -> Start:
    """The model's initial point: numbers, or a graph where it depends on data that are inputs."""
    model = data.model
    check_samplable(model)
    known, graphs = data.source.initial_point(), initial_graphs(data) if data.inputs else {}
    found = [graphs.get(v, np.asarray(known[v.name], "float64")) for v in model.value_vars]
    shapes = [
        tuple(x.shape[k] if n is None else n for k, n in enumerate(x.type.shape)) if isinstance(x, Variable) else x.shape
        for x in found
    ]
    if graphs:
        return Start(pt.concatenate([pt.as_tensor(x).ravel() for x in found]), shapes)
    return Start(pt.constant(np.concatenate([x.ravel() for x in found])), shapes)


def starts_of(datas: Sequence[Data]) -> Start:
    """The same of the model that each chain has, which differ in their initial values."""
    starts = [start_of(data) for data in datas]
    if len(starts) > 1:
        starts[0].each = pt.stack([start.point for start in starts])
    return starts[0]


def initial_graphs(data: Data) -> dict[Variable, Variable]:
    """{value variable: its initial value} for those that depend on data."""
    from pymc.initial_point import make_initial_point_expression

    model = data.model
    found = make_initial_point_expression(
        free_rvs=model.free_RVs, rvs_to_transforms=model.rvs_to_transforms,
        initval_strategies=model.rvs_to_initial_values, return_transformed=True,
    )  # fmt: skip
    # PyMC has made copies of the shared variables, which hold the same values
    own = {id(v.container): v for v in [*model.data_vars, *model.dim_lengths.values()] if isinstance(v, SharedVariable)}
    copies = [v for v in graph_inputs(found) if isinstance(v, SharedVariable) and id(v.container) in own]
    found = clone_replace(found, {v: own[id(v.container)] for v in copies})
    _, found = without_named_dims([], found)
    found = data.placed(found)
    # Generators are inputs too: an initial value may be a draw, or need only the shape of one
    given = [*data.inputs.values(), *(v for v in graph_inputs(found) if isinstance(v, SharedVariable))]
    clones, found, _, _ = rewritten(given, found, {})
    found = clone_replace(found, dict(zip(clones, given, strict=True)))
    graphs = {}
    for rv, x in zip(model.free_RVs, found, strict=True):
        read = set(ancestors([x]))
        if not read.intersection(data.inputs.values()):
            continue
        if any(v.owner is not None and isinstance(v.owner.op, RandomVariable) for v in read):
            raise ValueError(
                f"the initial value of {rv.name} is drawn and depends on data: give it an initval, or leave these data "
                "constants, data='constants'"
            )
        graphs[model.rvs_to_values[rv]] = x
    return graphs


def parts_of(model, start: Start, q) -> list:
    """The values of a PyMC model's variables as parts of the vector q: tensors in the order of model.value_vars."""
    parts, at = [], 0
    for v, shape, size in zip(model.value_vars, start.shapes, start.sizes(), strict=True):
        part = q[at : at + size].reshape(shape, ndim=len(shape))
        parts.append(pt.specify_shape(part, v.type.shape))
        at = at + size
    return parts


def density_graph(data: Data, start: Start) -> tuple[FunctionGraph, list[Variable]]:
    """From points [chains, d] and data to log densities and gradients, with PyTensor's rewrites; and those data."""
    model, q = data.model, pt.vector("q", shape=start.point.type.shape, dtype="float64")
    values, (logp,) = without_named_dims(model.value_vars, [model.logp()])
    refuse_draws(logp)
    logp, slopes = with_slopes(logp, values)
    parts = dict(zip(values, parts_of(model, start, q)))
    graph = data.placed(graph_replace([logp, pt.concatenate([g.ravel() for g in slopes])], parts, strict=False))
    given = data.read_by(graph)
    inputs, outputs, _ = vectorized([q, *given], without_errors(graph), {q: "chains"})
    inputs, outputs, _, _ = rewritten(inputs, outputs, {})
    outputs[0].name, outputs[1].name = "logp", "gradient"
    return FunctionGraph(inputs, outputs, clone=True), given


def without_errors(graph: list[Variable]) -> list[Variable]:
    """As pm.sample does it: where a parameter is out of its range, the density is 0, which is no error. The graph has no
    other rewrite before it is vectorized: PyTensor vectorizes some gradients wrongly once they are in canonical form."""
    whole = FunctionGraph(outputs=graph, clone=False)
    optdb["canonicalize"].query("+local_check_parameter_to_ninf_switch").rewrite(whole)
    return list(whole.outputs)


@dataclass
class Terms:
    """What a chain that finds no start is explained by: the names of the value variables, the data, and graphs of
    these: the initial point, the sizes of its parts, and the terms that the log density adds up at the point q."""

    names: list[str]
    data: list[Variable]
    start: Variable
    sizes: list
    q: Variable
    terms: list[Variable]

    def at(self, values: Mapping[str, np.ndarray]) -> tuple[np.ndarray, dict[str, int]]:
        """The initial point for these data, of all chains or of each, and the sizes of its parts."""
        outputs = [self.start, *map(pt.as_tensor, self.sizes)]
        start, *sizes = in_python(self.data, outputs, None, "fast_compile")(*self.given(values))
        return start, {name: int(n) for name, n in zip(self.names, sizes)}

    def given(self, values: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        return [np.asarray(values[v.name], v.type.dtype) for v in self.data]


def terms_of(data: Data, start: Start) -> Terms:
    model, q = data.model, pt.vector("q", dtype="float64")
    values, terms = without_named_dims(model.value_vars, [t.sum() for t in model.logp(sum=False)])
    terms = data.placed(graph_replace(terms, dict(zip(values, parts_of(model, start, q))), strict=False))
    for term, v in zip(terms, [*model.basic_RVs, *model.potentials], strict=True):
        term.name = v.name
    given = data.read_by([start.begin, *terms])
    return Terms([v.name for v in model.value_vars], given, start.begin, start.sizes(), q, terms)


def variables_of(model, var_names: Sequence[str] | None) -> list:
    """What pm.sample returns: the free variables as the user wrote them, and the deterministics; by name also what they are
    transformed to."""
    hidden = {v.name for rv, v in model.rvs_to_values.items() if model.rvs_to_transforms.get(rv) is not None}
    every = {v.name: v for v in model.unobserved_value_vars}
    found = [name for name in every if name not in hidden]
    if unknown := [name for name in var_names or () if name not in every]:
        raise ValueError(no_such("var_names: the model has no variable", unknown[0], found))
    return [every[name] for name in (found if var_names is None else var_names)]


def nuts_graph(
    model: Any, *, draws: int = 1000, tune: int = 1000, chains: int | None = 4, target_accept: float = 0.8,
    max_treedepth: int = 10, jitter: float = 1.0, jitter_max_retries: int = 100,
    var_names: Sequence[str] | None = None, data: Which = None,
) -> tuple[list[Variable], list[Variable]]:  # fmt: skip
    """Returns (inputs, outputs) of a PyTensor graph that samples a PyMC model's posterior. PyTensor itself cannot run
    it: compile it to ONNX.

    The inputs are ``seed``, an int64, and with chains=None the number of ``chains``. Then come the data, of any
    length: each ``pm.Data`` (None), observed values as well ("inputs"), none ("constants"), or those in a list of
    names. Data that are not inputs stay as they are now.

    The outputs are the variables that pm.sample returns, or those in ``var_names``, [chains, draws, ...]. Then come
    the statistics lp, acceptance_rate, tree_depth, diverging, n_steps, energy [chains, draws], step_size
    [chains] for each chain, energy_error and reached_max_treedepth [chains, draws]. Further graphs may be built on
    the outputs: means, quantiles, predictions.

    If the model has a variable with the name of one of these inputs or statistics, as ``step_size``, the sampler's
    own is called ``nuts_step_size``.

    Chains start at the model's initial point plus ``jitter`` * uniform(-1, 1) in each coordinate. If the density or
    its gradient is not finite there, a chain tries again, up to ``jitter_max_retries`` times. The chains'
    generators are those that NumPy's default_rng(seed) spawns.
    """
    options = {
        "draws": draws, "tune": tune, "max_treedepth": max_treedepth, "target_accept": target_accept, "jitter": jitter,
        "jitter_max_retries": jitter_max_retries,
    }  # fmt: skip
    given = Data(model, data)
    graph = graph_of_sampler(given, start_of(given), chains, var_names, options)
    return graph.inputs, graph.outputs


def check_options(chains, *, draws, tune, max_treedepth, target_accept, jitter, jitter_max_retries) -> None:
    for name, value, least in (
        ("draws", draws, 1), ("tune", tune, 0), ("max_treedepth", max_treedepth, 1), ("chains", chains, 1),
        ("jitter_max_retries", jitter_max_retries, 0),
    ):  # fmt: skip
        if value is not None and (not isinstance(value, int | np.integer) or value < least):
            raise ValueError(f"{name} must be an integer of at least {least}, not {value!r}")
    if not 0 < target_accept < 1:
        raise ValueError(f"target_accept must be between 0 and 1, not {target_accept!r}")


@dataclass
class SamplerGraph:
    """``states``: {variable: (its first value, the variable that is its next one)} of a sampler by steps."""

    inputs: list[Variable]
    outputs: list[Variable]
    states: dict[Variable, tuple[np.ndarray, Variable]] = field(default_factory=dict)
    diagnostics: list[str] = field(default_factory=list)  # the names of outputs that say whether the chains converged
    renamed: dict[str, str] = field(default_factory=dict)  # {input or statistic: another name, as the model has its own}


def graph_of_sampler(
    data: Data, start: Start, chains: int | None, var_names: Sequence[str] | None, options: dict[str, Any],
    by_steps: bool = False, predicted: Predicted | None = None, diagnostics: bool = False, keep_tuning: bool = False,
) -> SamplerGraph:  # fmt: skip
    """As of ``nuts_graph``; by_steps: a call may take some steps of the loop, and the next one goes on. predicted: what is
    to be predicted by these steps. diagnostics: R-hat and effective sample sizes, too. keep_tuning: of a sampler by steps,
    whether the draws of tuning come first."""
    check_options(chains, **options)
    model = data.model
    density, read = density_graph(data, start)
    seed, asked = pt.lscalar("seed"), pt.lscalar("chains")
    n = asked if chains is None else chains
    streams = Spawn()(seed, n + predicted.generators if predicted else n)
    begin = start.begin, streams[:n] if predicted else streams
    states = {}
    if by_steps:
        steps, held = pt.lscalar("state_steps"), [type(f"state_{name}") for name, type in STATE.items()]
        points, *found = NutsSteps(density, **options, keep_tuning=keep_tuning)(*begin, steps, *held, *read)
        following = found[len(STATS) :]
        states = {steps: (np.array(ALL_STEPS), steps)}
        states |= {v: (nothing(v.type), new) for v, new in zip(held, following, strict=True)}
    else:
        points, *found = NutsDraws(density, **options)(*begin, *read)
    stats = dict(zip(STATS, found))
    variables = variables_of(model, var_names)
    outputs = at_points(data, start, variables, points)
    for v, new in zip(variables, outputs):
        new.name = v.name
    given = data.read_by([*outputs, *stats.values()])
    if predicted:
        more = predicted_by(predicted, data, start, points, streams[n:], states if by_steps else None)
        outputs, given = [*outputs, *more.outputs], [*given, *more.inputs]
        variables = [*variables, *more.outputs]
    judged = convergence(data, outputs, points.shape[1] >= options["draws"]) if diagnostics else []
    outputs, variables = [*outputs, *judged], [*variables, *judged]
    refuse_names([v.name for v in [*variables, *given]])
    own = stats | {v.name: v for v in [seed, asked, *states]}
    names = names_in_file(own, {v.name for v in [*variables, *given]})
    for name, v in own.items():
        v.name = names[name]
    shown = [v for name, v in stats.items() if name not in HIDDEN]
    inputs = [seed, *([asked] if chains is None else []), *given]
    renamed = {name: new for name, new in names.items() if new != name}
    return SamplerGraph(inputs, [*outputs, *shown], states, [v.name for v in judged], renamed)


def refuse_names(names: list[str]) -> None:
    """ValueError for the names of ArviZ's axes, and for a variable whose name predictions or diagnostics have."""
    for k, name in enumerate(names):
        if name in ("chain", "draw") or name in names[:k]:
            what = "an axis of the draws" if name in ("chain", "draw") else "a prediction, its data or a diagnostic"
            raise ValueError(f"the model's variable {name} has the name of {what}: rename it, or leave it out by var_names")


def convergence(data: Data, outputs: list[Variable], whole: Variable) -> list[Variable]:
    """R-hat and the effective sample size of each element of the free variables among the outputs."""
    free = free_variables([v.name for v in data.model.value_vars], [v.name for v in outputs])
    judged = [v for v in outputs if v.name in free]
    if not judged:
        return []
    shapes = [[x.shape[k] for k in range(2, x.ndim)] for x in judged]
    numbers = [x.reshape([*x.shape[:2], math.prod(shape)], ndim=3) for x, shape in zip(judged, shapes)]
    results = Convergence()(pt.concatenate(numbers, axis=2), whole)
    found, begin = [], 0
    for x, shape in zip(judged, shapes):
        end = begin + math.prod(shape)
        for name, v in zip((RHAT, ESS), results):
            found.append(v[begin:end].reshape(shape, ndim=len(shape)))
            found[-1].name = x.name + name
        begin = end
    return found


def at_points(data: Data, start: Start, variables: list[Variable], points: Variable) -> list[Variable]:
    """The variables of the model at points [..., d], each [..., its own lengths]: those that depend on no point, too."""
    q = pt.vector("q", shape=start.point.type.shape, dtype="float64")
    values, plain = without_named_dims(data.model.value_vars, variables)
    parts = dict(zip(values, parts_of(data.model, start, q)))
    of_point = data.placed(graph_replace(plain, parts, strict=False))
    many, leading = vectorize_graph(of_point, {q: points}), [points.shape[k] for k in range(points.ndim - 1)]
    return [
        v if v.ndim > one.ndim else broadcast_to(v, (*leading, *(v.shape[k] for k in range(v.ndim))))
        for v, one in zip(many, of_point, strict=True)
    ]


def predicted_by(predicted: Predicted, data: Data, start: Start, points, words, states: dict | None) -> Predictions:
    """What is predicted of these draws. What is left of the generators is one more of the states, if the sampler is one by
    steps."""
    needed = {v.name for v in predicted.free}
    free = [v for v in variables_of(data.model, None) if v.name in needed]
    values = dict(zip((v.name for v in free), at_points(data, start, free, points)))
    if states is None:
        return predicted.of_draws(values, points.shape[0], points.shape[1], words)
    held = WORDS("state_predicting")
    first = pt.concatenate([held, words], axis=0)[: predicted.generators]  # a run that begins has none
    found = predicted.of_draws(values, points.shape[0], points.shape[1], first)
    if found.words is not None:
        states[held] = (nothing(held.type), found.words)
    return found


@dataclass(repr=False)
class Sampler(OfModel):
    """The ONNX model of a sampler. ``settings``: draws, tune, chains, target_accept and the like; ``groups``: which of
    its inputs are observed or constant data, {group: {variable: [input, dtype]}}; ``written``: the values of the others;
    ``predicted``: {output or input of predictions: what it is of the model}."""

    KIND: ClassVar[str] = "nuts"
    MORE: ClassVar[tuple[str, ...]] = "settings", "groups", "predicted", "versions"

    settings: Mapping[str, Any] = field(default_factory=dict)
    predicted: Mapping[str, str] = field(default_factory=dict)
    groups: Mapping[str, dict] = field(default_factory=dict)
    written: Mapping[str, dict] = field(default_factory=dict)  # of a file that was read: {}
    versions: Mapping[str, str] = field(default_factory=dict)  # of what made the model
    terms: Terms | None = None  # of a file that was read: None

    def __call__(self, *args, **named) -> list[np.ndarray]:
        """As of ``Exported``; data that are left out are those of the model. If a chain finds no start, the error names
        it, its point and the term that is not finite."""
        call = super().__call__
        feed = arguments(self.inputs, args, {**self.left_out(args, named), **named})
        return self.explained(lambda: call(*args, **named), feed)

    def explained(self, run: Callable, feed: Mapping):
        """The results of run(), or an error that says more than the model's if a chain finds no start."""
        try:
            return run()
        except ValueError as e:
            if NO_START not in str(e) or self.terms is None:
                raise
            raise ValueError(self.why_no_start(feed) or str(e)) from None

    def own(self, name: str) -> str:
        return own_name(self.settings, name)

    def why_no_start(self, data: Mapping) -> str:
        """Which chain has no density at any point that it tries, with the last of them; "" if all chains have one."""
        nuts = next(n for v in ancestors(self.graph[1]) if (n := v.owner) and isinstance(n.op, NutsDraws))
        op, density = nuts.op, in_python(nuts.op.fgraph.inputs, nuts.op.fgraph.outputs, None, "fast_compile")
        count = data.get(self.own("chains")) if self.settings["chains"] is None else self.settings["chains"]
        start, sizes = self.terms.at(data)
        read = [np.asarray(data[v.name], v.type.dtype) for v in nuts.inputs[op.own_inputs :]]
        generators = np.random.default_rng(int(data[self.own("seed")])).spawn(int(count))
        start = np.broadcast_to(start, (len(generators), start.shape[-1]))
        left = list(range(len(generators)))  # the chains that have none
        for _ in range(op.jitter_max_retries + 1):
            tries = [start[k] + (2 * generators[k].random(start.shape[1]) - 1) * op.jitter for k in left]
            with np.errstate(all="ignore"):
                found = zip(left, tries, *density(np.array(tries), *read), strict=True)
                bad = [(k, point, slope) for k, point, lp, slope in found if not np.isfinite(lp + slope.sum())]
            left = [k for k, *_ in bad]
            if not left:
                return ""
        chain, point, slope = bad[0]
        return (
            f"{NO_START}: chain {chain} of {len(generators)} found no start in {op.jitter_max_retries + 1} tries. At the last, "
            f"{point_text(point, sizes)}, {self.not_finite(point, slope, sizes, data)}. More tries: jitter_max_retries; "
            "nearer to the model's initial point: a smaller jitter"
        )

    def not_finite(self, point, slope, sizes, data) -> str:
        """The first terms of the log density that are not finite, or what it has no slope by."""
        t = self.terms
        with np.errstate(all="ignore"):
            values = in_python([t.q, *t.data], t.terms, None, "fast_compile")(point, *t.given(data))
        if bad := [f"the term of {v.name} is {x}" for v, x in zip(t.terms, values, strict=True) if not np.isfinite(x)]:
            return " and ".join(bad[:3])
        names = np.repeat(list(sizes), list(sizes.values()))
        if (bad := np.flatnonzero(~np.isfinite(slope))).size:
            return f"the slope of the log density by {names[bad[0]]} is {slope[bad[0]]}"
        return "the sum of the terms or slopes is not finite"

    def sample(
        self, seed: int, chains: int | None = None, options: Any = None, data: Mapping[str, Any] | None = None, *,
        progressbar: bool | None = None, checkpoint: str | os.PathLike | None = None,
    ):  # fmt: skip
        """The draws for this seed as ArviZ's InferenceData.

        - chains: their number, if the model was compiled with chains=None.
        - data: {name: array} for data that differ from the model's.
        - progressbar: a line on standard error; None: if that is a terminal.
        - checkpoint: a file that saves the run, each minute and when it ends or is stopped. The same call continues
          where the file ends. The draws are the same, to the bit, as without a stop.

        Ctrl-C stops the run with a warning. The result is then what all chains have so far.
        """
        return self.drawn(seed, chains, options, data, progressbar, checkpoint, level=3)

    def drawn(self, seed, chains, options, data, progressbar, checkpoint, checks=True, level=2):
        """As of ``sample``. checks: whether it warns of doubtful draws. level: of the warnings' caller."""
        named = self.named_arguments(seed, chains, data)
        feed = arguments(self.inputs, (), {**self.left_out((), named), **named})
        session = self.own_session() if options is None else self.session(options)
        outputs = [name for name in self.outputs if name not in self.settings.get("diagnostics", ())]
        run = Run(session, self.feed_of(session, feed), outputs, self.settings, self.place)
        saved = None if checkpoint is None else Checkpoint.of(checkpoint, self.model, run.inputs)
        if saved:
            if not run.held:
                raise ValueError("checkpoint: this file was made by an earlier release, whose samplers run in one call")
            saved.restore(run)
        over = self.explained(lambda: run.go(progress_of(progressbar), saved), feed)
        results = run.results() if run.parts else {}
        drawn = results[self.own("lp")].shape[1] - run.kept_tuning if results else 0
        if not over:
            if drawn <= 0:
                raise KeyboardInterrupt
            warn_of_stop(run, drawn, saved, level)
        return self.described(results, feed, run, checks, level + 1)

    def named_arguments(self, seed, chains, data) -> dict[str, Any]:
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**63:
            raise ValueError(f"seed must be an integer from 0 to 2**63 - 1, not {seed!r}")
        named: dict[str, Any] = {self.own("seed"): np.array(seed, "int64"), **(data or {})}
        if self.own("chains") in self.inputs:
            named[self.own("chains")] = np.array(4 if chains is None else chains, "int64")
        elif chains is not None:
            raise ValueError("the number of chains was chosen when the model was compiled: chains=None leaves it open")
        return named

    def described(self, results, feed, run: "Run | OneCall", checks: bool, level: int):
        groups = Seen(dict(self.groups), dict(self.written)).groups(feed)
        predictions, results = parted(results, self.predicted)
        stats, variables = parted(results, {self.own(name): name for name in STATS})
        new_data, _ = parted(feed, self.predicted)
        sizes = self.coords_of({k: v[0, 0] for k, v in variables.items() if k in self.dims} | flat(groups), 0)
        if predictions:
            groups |= {"predictions": predictions} | ({"predictions_constant_data": new_data} if new_data else {})
        once = {"step_size": stats.pop("step_size")}  # for each chain, that of its end
        if tune := run.kept_tuning:
            groups |= {"warmup_posterior": part(variables, 0, tune), "warmup_sample_stats": part(stats, 0, tune)}
            variables, stats = part(variables, tune, None), part(stats, tune, None)
        new_sizes = self.coords_of({k: v[0, 0] for k, v in predictions.items()} | new_data, 0)
        attrs = {
            "inference_library": "ptgc", "inference_library_version": version_of("ptgc"), **self.versions,
            "onnxruntime_version": version_of("onnxruntime"), "sampling_time": run.seconds, "seed": int(feed[self.own("seed")]),
        }  # fmt: skip
        if self.settings:
            attrs |= {"tuning_steps": self.settings["tune"], "target_accept": self.settings["target_accept"]}
        found = inference_data(variables, stats | once, groups, self.dims, sizes, new_sizes, attrs)
        if checks:
            for text in doubts(found, free_variables(list(self.point), list(found.posterior))):
                warnings.warn(text, stacklevel=level)
        return found


def part(arrays: Mapping[str, np.ndarray], begin: int, end: int | None) -> dict[str, np.ndarray]:
    """These draws of each chain."""
    return {k: v[:, begin:end] for k, v in arrays.items()}


def parted(arrays: Mapping[str, Any], names: Mapping[str, str]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Those of the names, by what they are names for, and the others."""
    found = {names[k]: np.asarray(v) for k, v in arrays.items() if k in names}
    return found, {k: v for k, v in arrays.items() if k not in names}


def flat(groups: Mapping[str, Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    return {k: v for group in groups.values() for k, v in group.items()}


def version_of(package: str) -> str:
    return import_module(package).__version__


def point_text(point, sizes: Mapping[str, int]) -> str:
    """name = value of each variable; of the long ones some elements"""
    parts = np.split(point, np.cumsum(list(sizes.values()))[:-1])
    texts = [np.array2string(v, precision=4, threshold=6, edgeitems=2) if v.size != 1 else f"{v[0]:.4g}" for v in parts]
    return ", ".join(f"{name} = {text}" for name, text in zip(sizes, texts))


@takes_options_of(compile_onnx)
@takes_options_of(nuts_graph)
def compile_nuts(
    model: Any, *, predict: Sequence[str] = (), diagnostics: bool | None = None, **options: Any
) -> Sampler:
    """Compiles the sampler of ``nuts_graph`` to an ONNX model, which needs no Python to run. The other options are
    those of ``compile_onnx``.

    The model has further inputs with default values, ``state_...``, and their next values, ``state_....next``, as
    outputs. They hold a run after ``state_steps`` steps of its loop, from which the next call continues.

    - predict: the names of observed variables and Deterministics to predict, for each draw. The data that these
      read are inputs of their own, ``x_new`` of x, of any length. The outputs are ``y_new`` of y, [chains, draws,
      ...].
    - diagnostics: whether R-hat and effective sample sizes of the parameters are outputs, ``b_rhat`` and ``b_ess``
      of b; None: if something is predicted. They are those of ArviZ, and NaN if a call does not give all draws.
    """
    if taken := {"batch", "float32"} & {k for k, v in options.items() if v}:
        raise ValueError(f"a sampler has no option {taken.pop()}")
    of_graph = {k: options.pop(k, p.default) for k, p in signature(nuts_graph).parameters.items() if k != "model"}
    data = Data(model, data_option(options, of_graph.pop("data")))
    return compiled_sampler(data, of_graph.pop("chains"), of_graph.pop("var_names"), of_graph, options, predict, diagnostics)


def compiled_sampler(
    data: Data, chains, var_names, of_graph: dict[str, Any], options: dict[str, Any], predict: Sequence[str] = (),
    diagnostics: bool | None = None, keep_tuning: bool = False, of_chains: Sequence[Data] = (),
) -> Sampler:  # fmt: skip
    """of_chains: the data with the model of each chain, if their initial values differ."""
    start = starts_of(of_chains or [data])
    predicted = Predicted(data, predict) if predict else None
    judged = bool(predict) if diagnostics is None else diagnostics
    graph = graph_of_sampler(data, start, chains, var_names, of_graph, True, predicted, judged, keep_tuning)
    settings = {**of_graph, "chains": chains, "keep_tuning": keep_tuning}
    seen, parts = described_sampler(data, start, graph, settings, predict, predicted)
    if predicted:
        options["dynamic_dims"] = {**predicted.lengths(), **(options.get("dynamic_dims") or {})}
    options = usual_options() | options_of(Sampler, data, graph.inputs, parts, options)
    exported = make_exported(graph.inputs, graph.outputs, options, states=graph.states)
    return Sampler.of(exported, parts, written=seen.written, terms=terms_of(data, start))


def described_sampler(
    data: Data, start: Start, graph: SamplerGraph, settings: dict[str, Any], predict: Sequence[str], predicted: Predicted | None
) -> tuple[Seen, dict[str, Any]]:
    """What the model was fitted to, and the fields of ``Sampler`` for a graph."""
    shapes = [[n if isinstance(n, int) else None for n in shape] for shape in start.shapes]
    seen = seen_by(data)
    parts = described(
        data, graph.inputs, graph.outputs, dict(zip((v.name for v in data.model.value_vars), shapes)),
        {*flat(seen.inputs), *flat(seen.written), *predict},
    )  # fmt: skip
    settings = {**settings, "diagnostics": graph.diagnostics, "renamed": graph.renamed}
    parts |= {"settings": settings, "groups": seen.inputs, "predicted": {}}
    made_by = sys.modules[type(data.source).__module__.partition(".")[0]]
    parts["versions"] = {"modeling_interface": "PyMC", "modeling_interface_version": getattr(made_by, "__version__", "")}
    if predicted:
        parts["data"] |= predicted.values()
        parts["data_names"] = [*parts["data_names"], *predicted.values()]
        parts["predicted"] = predicted.meaning()
    return seen, parts


@takes_options_of(compile_nuts)
def export_nuts(model: Any, file: str | os.PathLike, **options: Any) -> Exported:
    """Writes the sampler of ``compile_nuts`` as an ONNX file, and returns it.

    If the file is called ``name.c`` it is C, and if it is called ``name.so`` a shared library, with its header
    beside it, as from ``export_c``. There one call gives all draws, with what ``predict`` and
    ``diagnostics`` ask for. So it has no ``state_...`` inputs.
    """
    path = Path(file)
    if path.suffix not in (".c", ".so"):
        return write_exported(lambda **o: compile_nuts(model, **o), file, options)
    predict, judged = options.pop("predict", ()), options.pop("diagnostics", None)
    of_graph = {k: options.pop(k, p.default) for k, p in signature(nuts_graph).parameters.items() if k != "model"}
    data = Data(model, data_option(options, of_graph.pop("data")))
    chains, var_names = of_graph.pop("chains"), of_graph.pop("var_names")
    predicted = Predicted(data, predict) if predict else None
    judged = bool(predict) if judged is None else judged
    start = start_of(data)
    graph = graph_of_sampler(data, start, chains, var_names, of_graph, False, predicted, judged)
    if path.suffix == ".so":
        settings = {**of_graph, "chains": chains, "keep_tuning": False}
        _, parts = described_sampler(data, start, graph, settings, predict, predicted)
        shown = options_of(Sampler, data, graph.inputs, parts, {})["metadata"]
        options["metadata"] = {KEY: json.loads(shown[KEY]), **(options.get("metadata") or {})}
    return export_c(graph.inputs, graph.outputs, file, **{"model_name": path.stem, **options})


@dataclass
class OneCall:
    """As ``Run``: of a sampler whose one call gives all draws."""

    seconds: float
    kept_tuning: int = 0


class NativeSampler(NativeLibrary):
    """The shared library of ``export_nuts``, as ``ptgc.load`` gives it. One call gives all draws: there is no progress
    and no checkpoint."""

    KIND: ClassVar[str] = Sampler.KIND

    def sampler(self) -> Sampler:
        """What the metadata say."""
        return Sampler(b"", "", self.inputs, self.outputs, **read_parts(Sampler, self.metadata[KEY]))

    def sample(self, seed: int, chains: int | None = None, data: Mapping[str, Any] | None = None):
        """The draws for this seed as ArviZ's InferenceData, as of ``Sampler.sample``. data: {name: array}, all of them."""
        of = self.sampler()
        feed = arguments(self.inputs, (), of.named_arguments(seed, chains, data))
        begin = time.perf_counter()
        results = dict(zip(self.outputs, self(*(feed[name] for name in self.inputs)), strict=True))
        run = OneCall(time.perf_counter() - begin)
        for name in of.settings["diagnostics"]:
            del results[name]
        return of.described(results, feed, run, True, level=3)
