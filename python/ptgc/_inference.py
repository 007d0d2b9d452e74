"""The draws of a sampler as ArviZ's InferenceData, with the groups and names that pm.sample has, and what PyMC would say of
them."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant, Variable
from pytensor.graph.traversal import ancestors
from pytensor.scalar.basic import Cast
from pytensor.tensor.elemwise import Elemwise

from ptgc._data import Data


@dataclass
class Seen:
    """What a model was fitted to. ``inputs``: {group: {variable: [input of the file, dtype]}}; ``written``: {group:
    {variable: values}} of those that are no inputs."""

    inputs: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    written: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)

    def groups(self, data: Mapping[str, Any]) -> dict[str, dict[str, np.ndarray]]:
        found: dict[str, dict[str, np.ndarray]] = {}
        for name in ("observed_data", "constant_data"):
            given = {k: np.asarray(data[v], dtype) for k, (v, dtype) in self.inputs.get(name, {}).items() if v in data}
            if group := given | self.written.get(name, {}):
                found[name] = group
        return found


def seen_by(data: Data) -> Seen:
    """As pm.sample fills the groups: what is observed, and the pm.Data that are not only that."""
    model, found = data.source, Seen({"observed_data": {}, "constant_data": {}}, {"observed_data": {}, "constant_data": {}})

    def put(group: str, name: str, value: Variable) -> None:
        v, dtype = without_casts(value), value.type.dtype
        input_name = v.name if isinstance(v, SharedVariable) else name
        if input_name in data.values:
            found.inputs[group][name] = [input_name, dtype]
        elif isinstance(v, Constant | SharedVariable):
            values = v.get_value() if isinstance(v, SharedVariable) else v.data
            found.written[group][name] = np.asarray(values, dtype)

    for rv in model.observed_RVs:
        put("observed_data", rv.name, model.rvs_to_values[rv])
    observed = set(model.rvs_to_values.values())
    for v in model.data_vars:
        if v not in observed or v in ancestors([*model.basic_RVs, *model.deterministics, *model.potentials]):
            put("constant_data", v.name, v)
    return found


def without_casts(v: Variable) -> Variable:
    while v.owner is not None and isinstance(v.owner.op, Elemwise) and isinstance(v.owner.op.scalar_op, Cast):
        v = v.owner.inputs[0]
    return v


STATISTICS = ("sample_stats", "warmup_sample_stats")  # groups whose names may be those of variables, too


def inference_data(
    variables: Mapping[str, np.ndarray], stats: Mapping[str, np.ndarray], groups: Mapping[str, Mapping[str, np.ndarray]],
    dims: Mapping[str, list], coords: Mapping[str, list], pred_coords: Mapping[str, list], attrs: Mapping[str, Any],
):  # fmt: skip
    """variables and stats: draws [chains, draws, ...]. groups: the further ones. pred_coords: of the predictions, whose
    data may have other lengths. attrs: of the groups that were drawn."""
    import arviz
    from xarray import DataTree

    size = stats["lp"].shape  # ArviZ wants a step size for each draw
    stats = {**stats, "step_size": np.broadcast_to(stats["step_size"][:, None], size)}
    every = {"posterior": dict(variables), "sample_stats": stats, **{k: dict(v) for k, v in groups.items()}}
    of_stats = {k: v for k, v in every.items() if k in STATISTICS}
    others = {k: v for k, v in every.items() if k not in STATISTICS}
    named = {name for group in others.values() for name in group}
    shown = {k: v for k, v in dims.items() if k in named}
    found = arviz.from_dict(others, dims=shown, coords=coords, pred_dims=shown, pred_coords=pred_coords, save_warmup=True)
    beside = arviz.from_dict(of_stats, save_warmup=True)
    found = DataTree.from_dict({k: (beside if k in STATISTICS else found)[k].to_dataset() for k in every})
    for name in {"posterior", "sample_stats", "predictions"} & set(every):
        found[name].attrs.update(attrs)
    return found


def doubts(found, names: Sequence[str]) -> list[str]:
    """What PyMC would say of the draws, with its limits: divergences, trajectories that were cut off, and of the
    variables named R-hat and effective sample sizes."""
    import arviz

    stats, texts = found.sample_stats, []
    if count := int(stats["diverging"].sum()):
        texts.append(f"{count} of the draws diverged: increase target_accept or reparameterize the model")
    if "reached_max_treedepth" in stats:
        often = np.flatnonzero(stats["reached_max_treedepth"].values.mean(axis=1) > 0.05)
        if often.size:
            texts.append(
                f"the maximum tree depth was reached in more than 5 % of the draws of {said(often)}: increase "
                "max_treedepth or target_accept, or reparameterize the model"
            )
    chains, draws = stats["lp"].shape
    if chains < 2 or draws < 100:
        return [*texts, "too few draws to judge convergence: R-hat needs two chains of 100 draws"]
    rhat = [float(np.nanmax(v)) for name in names if (v := one_of_each(arviz.rhat, found.posterior[name])).size]
    if rhat and max(rhat) > 1.01:
        texts.append(f"R-hat is up to {max(rhat):.4f}, above 1.01: the chains have not mixed, so run longer ones")
    least = [float(np.nanmin(v)) for name in names if (v := one_of_each(arviz.ess, found.posterior[name])).size]
    if least and min(least) < 100 * chains:
        texts.append(f"the effective sample size is down to {min(least):.0f}, less than 100 a chain: run longer ones")
    return texts


def said(chains: np.ndarray) -> str:
    return f"chain {chains[0]}" if len(chains) == 1 else f"{len(chains)} chains, the first of them chain {chains[0]}"


def one_of_each(statistic: Callable, x) -> np.ndarray:
    """A statistic of each element over chains and draws, of those that have spread."""
    flat = x.values.reshape(*x.shape[:2], -1)
    return np.array([float(statistic(v)) for v in np.moveaxis(flat, 2, 0) if np.ptp(v) > 0])


def free_variables(point: Sequence[str], shown: Sequence[str]) -> list[str]:
    """Those of the variables shown that the value variables stand for: sigma for sigma_log__."""
    return [name for name in shown if any(p == name or re.fullmatch(rf"{re.escape(name)}_\S+__", p) for p in point)]
