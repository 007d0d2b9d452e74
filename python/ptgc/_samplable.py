"""Which variables of a PyMC model NUTS can draw. In: a model. Out: nothing, or an error that names the variable."""

import sys
from typing import Any

from pytensor.graph.basic import Variable
from pytensor.graph.traversal import graph_inputs

from ptgc._ops import is_generator


def check_samplable(model: Any) -> None:
    """ValueError unless pm.sample would draw each free variable by NUTS."""
    if not model.value_vars:
        raise ValueError("the model has no free variable: there is nothing to sample")
    refuse_simulators(model)
    refuse_own_samplers(model, free_variables_of(model), "ptgc draws all variables by NUTS: sample this model by pm.sample")
    for v in model.value_vars:
        if v.type.dtype != "float64":
            kind = "discrete" if v.type.dtype.startswith(("int", "uint", "bool")) else v.type.dtype
            how = ": sum it out of the model, as pm.Mixture does, or sample by pm.sample" if kind == "discrete" else ""
            raise ValueError(f"NUTS draws float64 numbers, but the variable {v.name} is {kind}{how}")


def refuse_simulators(model: Any) -> None:
    """ValueError if PyMC simulates a variable to compare it with what is observed: that is no graph, and has no gradient."""
    if simulator := getattr(sys.modules.get("pymc.distributions.simulator"), "SimulatorRV", None):
        for rv in model.basic_RVs:
            if rv.owner is not None and isinstance(rv.owner.op, simulator):
                raise ValueError(
                    f"the variable {rv.name} is a pm.Simulator, which has neither a density nor its gradient: "
                    "pm.sample_smc draws the posterior of this model"
                )


def refuse_draws(logp: Variable) -> None:
    """ValueError if the log density is one of rows that are drawn in each call: a file would have those of one draw."""
    if any(is_generator(v) for v in graph_inputs([logp])):
        raise ValueError(
            "the log density is of data that are drawn anew in each call, as pm.Minibatch does, which a file does not do: "
            "make the rows a pm.Data, with total_size= as now, and give each call its own"
        )


def free_variables_of(model: Any) -> list[Variable]:
    free = set(model.value_vars)
    return [rv for rv, value in model.rvs_to_values.items() if value in free]


def refuse_own_samplers(model: Any, variables: list[Variable], instead: str) -> None:
    """ValueError if a variable has a step method of its own, as BART has PGBART. PyMC may know no density of it: that of
    BART is 0, as if it were flat."""
    for rv in variables:
        if method := step_method_before_nuts(rv):
            kind = "" if rv.owner is None else f" ({type(rv.owner.op).__name__})"
            raise ValueError(
                f"the variable {rv.name}{kind} has a sampler of its own in PyMC, {method}: its log density does not say "
                f"all that it is. {instead}, or put a distribution in its place that NUTS draws, as a Gaussian process"
            )


def step_method_before_nuts(rv: Variable) -> str | None:
    """The step method that pm.sample would choose for a continuous variable, if it is another one than NUTS."""
    steps = sys.modules.get("pymc.step_methods")
    if steps is None or not rv.type.dtype.startswith("float"):
        return None
    best = max(steps.STEP_METHODS, key=lambda method: method._competence(rv, True))  # as assign_step_methods does
    return None if issubclass(best, steps.NUTS) else best.__name__
