"""pm.ode.DifferentialEquation, whose op calls SciPy's odeint in Python, as a call of ``Odeint`` of the library ``ode``.
PyMC is not imported: its op is found by the name of its class."""

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.compile.mode import optdb
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.op import Op
from pytensor.graph.replace import vectorize_graph
from pytensor.graph.rewriting.utils import rewrite_graph
from pytensor.graph.traversal import graph_inputs
from pytensor.tensor.blockwise import Blockwise

from ptgc._batch import vectorized

NAME = "pymc.ode.ode", "DifferentialEquation"
FEW = 8  # states whose derivatives are formulas of single numbers


class Odeint(Op):
    """States [points, times, n] from y0 [points, n] and p [points, m]; and with ``slopes`` their derivatives
    [points, times, n, n + m]. ``fgraph`` has the rates of change, their Jacobian and the derivatives by p."""

    __props__ = ("fgraph", "slopes", "t0", "times")

    def __init__(self, fgraph, times, t0, slopes):
        self.fgraph, self.times, self.t0, self.slopes = fgraph, times, t0, slopes

    def make_node(self, y0, p):
        k, n, m = len(self.times), y0.type.shape[1], p.type.shape[1]
        given = [pt.constant(np.array(v, "float64")) for v in (self.times, self.t0)]
        shapes = ((None, k, n), (None, k, n, n + m))[: 1 + self.slopes]
        return Apply(self, [y0, p, *given], [pt.TensorType("float64", s)() for s in shapes])

    def ptg_call(self, printer, args):
        printer.libraries.add("ode")
        f = printer.fn_property(self.fgraph, "rates").replace("fn=", "f=", 1)
        y0, p, times, t0 = args
        name, jacobian = ("OdeintSlopes", "") if self.slopes else ("Odeint", ", jacobian=True")
        # odeint takes 500 steps to each time at most, of which 100 here are the like
        steps = 1000 + 100 * len(self.times)
        return f"{name}{{{f}{jacobian}, max_steps={steps}}}({y0}, {times}, {p}, {t0})"

    def perform(self, node, inputs, outputs):
        raise NotImplementedError("it is a solver for ONNX models only")


def rates_of(op, y, t, p) -> Variable:
    """What the user's function gives, as a vector."""
    rates = op.func(y, t, p)
    rates = pt.atleast_1d(rates) if isinstance(rates, pt.TensorVariable) else pt.stack(list(rates), axis=0)
    if rates.ndim != 1 or rates.type.shape[0] not in (None, op.n_states):
        raise TypeError(f"its function gives rates of the shape {rates.type.shape}, but there are {op.n_states} states")
    return pt.specify_shape(pt.cast(rates, "float64"), (op.n_states,))


def check_closed(outputs, inputs):
    for v in graph_inputs(outputs):
        if v not in inputs and not isinstance(v, Constant):
            kind = "shared variable" if isinstance(v, SharedVariable) else "variable"
            raise TypeError(f"its function reads the {kind} {v.name or v} from outside: pass it in theta")


def by_formulas(op, slopes: bool) -> tuple[list[Variable], list[Variable]]:
    """The inputs y, t, p of many points, and the results: formulas of the single states and parameters, most of whose
    derivatives are 0. Each is a column [points, 1]."""
    n, m = op.n_states, op.n_theta
    ys, ps, t = [pt.dscalar() for _ in range(n)], [pt.dscalar() for _ in range(m)], pt.dscalar()
    rates = rates_of(op, pt.stack(ys), t, pt.stack(ps))
    check_closed([rates], {*ys, t, *ps})
    graph = FunctionGraph([*ys, t, *ps], [rates[i] for i in range(n)], clone=False)
    optdb["canonicalize"].query("+canonicalize").rewrite(graph)  # an element of stacked numbers is the number
    wrt = [*ys, *(ps if slopes else [])]
    found = [pytensor.grad(r, wrt, disconnected_inputs="ignore") for r in graph.outputs]
    y, p = (pt.TensorType("float64", (None, size))() for size in (n, m))
    ts = pt.dvector()
    columns = {v: x[:, i : i + 1] for x, vs in ((y, ys), (p, ps)) for i, v in enumerate(vs)} | {t: ts[:, None]}

    def joined(entries, *shape):
        lanes = y.shape[0]
        wide = [v if v.type.ndim == 2 else pt.alloc(v, lanes, 1) for v in vectorize_graph(entries, columns)]
        return pt.join(1, *wide).reshape((lanes, *shape))

    results = [joined(list(graph.outputs), n), joined([d for row in found for d in row[:n]], n, n)]
    if slopes:
        results.append(joined([d for row in found for d in row[n:]], n, m))
    return [y, ts, p], results


def by_vectors(op, slopes: bool) -> tuple[list[Variable], list[Variable]]:
    """The same for many states."""
    y, p = (pt.TensorType("float64", (size,))() for size in (op.n_states, op.n_theta))
    t = pt.dscalar()
    rates = rates_of(op, y, t, p)
    check_closed([rates], {y, t, p})
    results = [rates]
    for wrt in (y, p)[: 1 + slopes]:
        results.append(pytensor.gradient.jacobian(rates, wrt, disconnected_inputs="ignore", vectorize=True))
    inputs, outputs, _ = vectorized([y, t, p], results, "points")
    return inputs, outputs


def rates_graph(op, slopes: bool) -> FunctionGraph:
    """Of many points: from y [points, n], t [points] and p [points, m] the rates of change, their Jacobian, and with
    ``slopes`` the derivatives by p."""
    inputs, outputs = (by_formulas if op.n_states <= FEW else by_vectors)(op, slopes)
    outputs = rewrite_graph(outputs, include=("canonicalize", "stabilize", "specialize"), clone=False)
    for v, name in zip([*inputs, *outputs], ("y", "t", "p", "rates", "jacobian", "by_p")):
        v.name = name
    return FunctionGraph(inputs, outputs, clone=True)


def graph_of_ode(node: Apply, slopes: bool) -> FunctionGraph | None:
    """What a DifferentialEquation, or a Blockwise of one, computes: its states and, with ``slopes``, their
    derivatives."""
    op = node.op.core_op if isinstance(node.op, Blockwise) else node.op
    if not any((c.__module__, c.__qualname__) == NAME for c in type(op).__mro__):
        return None
    t0, *times = (float(t) for t in op._augmented_times)
    steps = np.diff([t0, *times])
    if not (np.all(steps >= 0) or np.all(steps <= 0)):
        raise TypeError("its times are not in order")
    inputs = [v.type() for v in node.inputs]
    lead = inputs[0].type.ndim - 1
    wide = [pt.specify_shape(pt.cast(v, "float64"), (*[None] * lead, size))
            for v, size in zip(inputs, (op.n_states, op.n_theta))]  # fmt: skip
    batch = pt.broadcast_shape(*(v[..., 0] for v in wide)) if lead else ()
    flat = [pt.broadcast_to(v, (*batch, size)).reshape((-1, size)) if lead else v[None]
            for v, size in zip(wide, (op.n_states, op.n_theta))]  # fmt: skip
    found = Odeint(rates_graph(op, slopes), tuple(times), t0, slopes)(*flat, return_list=True)
    if not slopes:  # nobody reads them
        found.append(pt.zeros((flat[0].shape[0], len(times), op.n_states, op.n_p)))
    results = []
    for v, like in zip(found, node.outputs):
        v = v.reshape((*batch, *(v.shape[i] for i in range(1, v.ndim)))) if lead else v[0]
        results.append(pt.cast(v, like.type.dtype))
    return FunctionGraph(inputs, results, clone=False)
