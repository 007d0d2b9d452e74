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
MUST_BE = {
    "return_inferencedata": (
        True, "the result is ArviZ's InferenceData. {name: v.values for name, v in idata.posterior.items()} are the arrays "
        "[chain, draw, ...]"),
}
INITS = {"auto": None, "jitter+adapt_diag": None, "adapt_diag": 0.0}  # the jitter that each stands for


def sample(
    model: Any = None, draws: int | None = None, tune: int | None = None, chains: int | None = None, *, cores: int | None = None,
    random_seed: int | None = None, progressbar: bool | None = None, quiet: bool = False, var_names: Sequence[str] | None = None,
    initvals: Mapping[Any, Any] | None = None, init: str = "auto", jitter_max_retries: int = 100, target_accept: float = 0.8,
    max_treedepth: int = 10, discard_tuned_samples: bool = True, compute_convergence_checks: bool = True,
    data: Which = "constants", checkpoint: str | os.PathLike | None = None, options: Any = None, **others: Any,
):  # fmt: skip
    """Draws from the posterior of a PyMC model by NUTS on ONNX Runtime, as ArviZ's InferenceData.

    Inside of ``with model:`` the model may be left out: ``sample(200)``, ``sample(draws=200)``.

    It is ``compile_nuts`` and ``Sampler.sample`` in one call, with those arguments and defaults of pm.sample that
    mean the same here. Other arguments of pm.sample are refused.

    - chains: 4, or as in pm.sample as many as ``cores``, but 2 at least; they are computed together.
    - cores: on how many threads ONNX Runtime computes. draws, tune: 1000 of each.
    - random_seed: an integer; None: another one at each call, which is among the attributes of the draws.
    - initvals: {variable or its name: value} that chains start around.
    - init: "auto" and "jitter+adapt_diag", or "adapt_diag" for a start without jitter.
    - progressbar, checkpoint, options: as in ``Sampler.sample``.
    - quiet: no progress and no warnings.
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
    given = Data(with_initvals(model, initvals), data)
    if chains is None:
        chains = 4 if cores is None else max(2, cores)
    keep_tuning = not discard_tuned_samples and bool(of_graph["tune"])
    sampler = compiled_sampler(given, chains, var_names, of_graph, {}, keep_tuning=keep_tuning)
    if cores is not None:
        options = on_threads(cores, options)
    shown, checks = False if quiet else progressbar, compute_convergence_checks and not quiet
    return sampler.drawn(seed, None, options, None, shown, checkpoint, checks, level=3)


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
    for name, value in others.items():
        if name in MUST_BE:
            must, why = MUST_BE[name]
            if value is not must:
                raise TypeError(f"sample: {name} is {must} here: {why}")
        elif name in REFUSED:
            raise TypeError(f"sample: pm.sample's argument {name} means nothing here: {REFUSED[name]}")
        else:
            known = [k for k in signature(sample).parameters if k != "others"]
            raise TypeError(no_such("sample: there is no argument", name, known))


def with_initvals(model: Any, initvals: Mapping[Any, Any] | None) -> Any:
    """The model with these initial values."""
    if not initvals:
        return model
    if not isinstance(initvals, Mapping):
        raise TypeError(
            "initvals is one mapping {variable: value}: all chains of a call start around the same point. A call with chains=1, "
            "initvals and a random_seed of its own gives a chain with another start; xarray.concat(posteriors, 'chain') joins "
            "their posteriors"
        )
    free = {v.name: v for v in model.free_RVs}
    new = dict(model.rvs_to_initial_values)
    for key, value in initvals.items():
        name = key if isinstance(key, str) else key.name
        if name not in free:
            raise ValueError(no_such("initvals: the model has no free variable", name, list(free)))
        new[free[name]] = value
    return view_of(model, rvs_to_initial_values=new)
