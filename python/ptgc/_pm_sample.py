"""``ptgc.sample``: a posterior in one call, with the arguments of pm.sample where they mean the same. The others are
refused, by name."""

import os
from collections.abc import Mapping, Sequence
from inspect import signature
from typing import Any

import numpy as np

from ptgc._data import Data, Which, view_of
from ptgc.errors import no_such
from ptgc.sampling import compiled_sampler

# Arguments of pm.sample that mean nothing here, and why
REFUSED = {
    "blas_cores": "ONNX Runtime does the computing, on as many threads as cores= says",
    "mp_ctx": "there are no processes of chains",
    "step": "the sampler is NUTS for all variables",
    "nuts_sampler": "the sampler is that of ptgc",
    "nuts_sampler_kwargs": "the arguments of the sampler are arguments of ptgc.sample",
    "nuts": "the arguments of the sampler are arguments of ptgc.sample: target_accept, max_treedepth",
    "n_init": "NUTS starts by jitter+adapt_diag",
    "trace": "draws are kept in memory; checkpoint='run.npz' saves them",
    "callback": "ptgc.compile_nuts(model) gives a file whose steps a program may take by itself",
    "backend": "the backend is ONNX Runtime",
    "compile_kwargs": "options of ptgc.compile_nuts are not those of PyTensor's compiler",
    "idata_kwargs": "pm.compute_log_likelihood(idata, model=model) adds what is wanted",
    "keep_warning_stat": "there is no such statistic",
    "progressbar_theme": "the progress is a line of text",
}
# What PyMC calls a statistic in a MultiTrace, where that is not its name in `sample_stats`
IN_TRACE = {"lp": "model_logp", "acceptance_rate": "mean_tree_accept", "tree_depth": "depth", "n_steps": "tree_size"}
INITS = {"auto": None, "jitter+adapt_diag": None, "adapt_diag": 0.0}  # the jitter that each stands for


def sample(
    model: Any = None, draws: int | None = None, tune: int | None = None, chains: int | None = None, *, cores: int | None = None,
    random_seed: int | None = None, progressbar: bool | None = None, quiet: bool = False, var_names: Sequence[str] | None = None,
    initvals: Mapping[Any, Any] | Sequence[Mapping[Any, Any] | None] | None = None, init: str = "auto",
    jitter_max_retries: int = 100, target_accept: float = 0.8, max_treedepth: int = 10, return_inferencedata: bool = True,
    discard_tuned_samples: bool = True, compute_convergence_checks: bool = True, data: Which = "constants",
    checkpoint: str | os.PathLike | None = None, options: Any = None, **others: Any,
):  # fmt: skip
    """Draws from the posterior of a PyMC model by NUTS on ONNX Runtime, as ArviZ's InferenceData.

    Inside of ``with model:`` the model may be left out: ``sample(200)``, ``sample(draws=200)``.

    It is ``compile_nuts`` and ``Sampler.sample`` in one call, with those arguments and defaults of pm.sample that
    mean the same here. Other arguments of pm.sample are refused.

    - chains: 4, or as in pm.sample as many as ``cores``, but 2 at least; they are computed together.
    - cores: on how many threads ONNX Runtime computes. draws, tune: 1000 of each.
    - random_seed: an integer; None: another one at each call, which is among the attributes of the draws.
    - initvals: {variable or its name: value} that chains start around, or a list of one for each chain, None for the
      model's own.
    - init: "auto" and "jitter+adapt_diag", or "adapt_diag" for a start without jitter.
    - progressbar, checkpoint, options: as in ``Sampler.sample``.
    - quiet: no progress and no warnings.
    - return_inferencedata=False: PyMC's MultiTrace, also of the transformed variables, in place of InferenceData.
    - discard_tuned_samples=False: the groups ``warmup_posterior`` and ``warmup_sample_stats`` have the draws of tuning.
    """
    refuse_others(others)
    model, draws = model_and_draws(model, draws)
    if init not in INITS:
        raise ValueError(f"init is one of {', '.join(INITS)}, not {init!r}")
    if random_seed is not None and (isinstance(random_seed, bool) or not isinstance(random_seed, int | np.integer)):
        raise TypeError(f"random_seed is an integer or None, not {random_seed!r}: chains get seeds of their own from it")
    seed = int(np.random.default_rng().integers(2**63)) if random_seed is None else int(random_seed)
    jitter = INITS[init]
    of_graph = {
        "draws": 1000 if draws is None else draws, "tune": 1000 if tune is None else tune, "max_treedepth": max_treedepth,
        "target_accept": target_accept, "jitter": 1.0 if jitter is None else jitter,
        "jitter_max_retries": jitter_max_retries,
    }  # fmt: skip
    if chains is None:
        chains = 4 if cores is None else max(2, cores)
    of_chains = [Data(m, data) for m in models_of_chains(model, initvals, chains)]
    if not return_inferencedata and var_names is None:
        var_names = [v.name for v in model.unobserved_value_vars]
    keep_tuning = not discard_tuned_samples and bool(of_graph["tune"])
    sampler = compiled_sampler(of_chains[0], chains, var_names, of_graph, {}, keep_tuning=keep_tuning, of_chains=of_chains)
    if cores is not None:
        options = on_threads(cores, options)
    shown, checks = False if quiet else progressbar, compute_convergence_checks and not quiet
    found = sampler.drawn(seed, None, options, None, shown, checkpoint, checks, level=3)
    return found if return_inferencedata else multi_trace(model, found)


def model_and_draws(model: Any, draws: int | None) -> tuple[Any, int | None]:
    """Without a model, that of the context; a number in its place is the number of draws, as in pm.sample."""
    if isinstance(model, int | np.integer):
        if draws is not None:
            raise TypeError(f"sample: the first argument is the model. Inside of `with model:` write sample({model}, tune=...)")
        model, draws = None, int(model)
    if model is None:
        from pymc.model import modelcontext

        model = modelcontext(None)
    return model, draws


def on_threads(cores: int, options: Any) -> Any:
    """The options of a session that computes on so many threads."""
    if isinstance(cores, bool) or not isinstance(cores, int | np.integer) or cores < 1:
        raise TypeError(f"cores is the number of threads, 1 at least, not {cores!r}")
    if options is not None and not isinstance(options, Mapping):
        raise TypeError("cores: these options say on how many threads ONNX Runtime computes, intra_op_num_threads")
    return {**(options or {}), "intra_op_num_threads": int(cores)}


def refuse_others(others: Mapping[str, Any]) -> None:
    for name in others:
        if name in REFUSED:
            raise TypeError(f"sample: pm.sample's argument {name} means nothing here: {REFUSED[name]}")
        else:
            known = [k for k in signature(sample).parameters if k != "others"]
            raise TypeError(no_such("sample: there is no argument", name, known))


def models_of_chains(model: Any, initvals: Any, chains: int) -> list[Any]:
    """The model with the initial values of each chain; one of them, if all have the same."""
    if initvals is None or isinstance(initvals, Mapping):
        return [with_initvals(model, initvals)]
    if not isinstance(initvals, Sequence) or any(v is not None and not isinstance(v, Mapping) for v in initvals):
        raise TypeError("initvals is a mapping {variable: value}, or a list of one for each chain")
    if len(initvals) != chains:
        raise ValueError(f"initvals: {len(initvals)} mappings for {chains} chains")
    return [with_initvals(model, v) for v in initvals]


def with_initvals(model: Any, initvals: Mapping[Any, Any] | None) -> Any:
    """The model with these initial values."""
    if not initvals:
        return model
    free = {v.name: v for v in model.free_RVs}
    new = dict(model.rvs_to_initial_values)
    for key, value in initvals.items():
        name = key if isinstance(key, str) else key.name
        if name not in free:
            raise ValueError(no_such("initvals: the model has no free variable", name, list(free)))
        new[free[name]] = value
    return view_of(model, rvs_to_initial_values=new)


def multi_trace(model: Any, found: Any) -> Any:
    """The draws as PyMC's MultiTrace, those of tuning first if they are kept. Of the statistics, those that `sample_stats`
    has, by PyMC's names."""
    from pymc.backends.base import MultiTrace
    from pymc.backends.ndarray import NDArray

    groups = [(g, s) for g, s in (("warmup_posterior", "warmup_sample_stats"), ("posterior", "sample_stats")) if g in found]
    of_model = {v.name: v for v in model.unobserved_value_vars}
    names, stats = list(found.posterior), [name for name in found.sample_stats if name != "step_size"]
    straces = []
    for chain in range(found.posterior.sizes["chain"]):
        draws = {name: np.concatenate([found[g][name].values[chain] for g, _ in groups]) for name in names}
        stat = {IN_TRACE.get(n, n): np.concatenate([found[s][n].values[chain] for _, s in groups]) for n in stats}
        count = len(stat["energy"])
        stat["step_size"] = np.full(count, found.sample_stats["step_size"].values[chain, -1])
        shapes, dtypes = {k: v.shape[1:] for k, v in draws.items()}, {k: v.dtype for k, v in draws.items()}
        own = [of_model[name] for name in names]
        trace = NDArray(model=model, vars=own, fn=nothing_to_record, var_shapes=shapes, var_dtypes=dtypes)
        trace.setup(count, chain, [{k: v.dtype for k, v in stat.items()}])
        trace.samples, trace._stats, trace.draw_idx = draws, [stat], count
        straces.append(trace)
    trace = MultiTrace(straces)
    attrs = found.posterior.attrs
    trace._report._n_draws, trace._report._n_tune = found.posterior.sizes["draw"], attrs["tuning_steps"]
    trace._report._t_sampling = attrs["sampling_time"]
    return trace


def nothing_to_record(*point: Any):
    raise TypeError("these draws are complete: ptgc.sample has made them")
