"""PyTensor's loop for each item of a batch as one loop with the batch inside.

This is PyTensor's vectorize_graph for Scan, which PyTensor lacks, and no lowering: the step is batched by PyTensor, and
PyTensor's rewrites of scans (merging, saving memory) see the result.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import accumulate, pairwise

import pytensor.tensor as pt
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.replace import vectorize_graph
from pytensor.raise_op import Assert
from pytensor.scan.op import Scan, ScanInfo
from pytensor.tensor.basic import AllocEmpty
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.elemwise import DimShuffle
from pytensor.tensor.shape import SpecifyShape
from pytensor.tensor.subtensor import IncSubtensor
from pytensor.tensor.type import TensorType

UNEQUAL = "the loops of a batch take different numbers of steps"


def runs(start: int, lengths) -> list[range]:
    """Consecutive ranges of these lengths."""
    return [range(a, b) for a, b in pairwise(accumulate(lengths, initial=start))]


def parts(info: ScanInfo) -> tuple[list, list, list, list]:
    """Inner inputs of each sequence, inner inputs and outputs of each state, outputs of each nit-sot, and
    inputs of the non-sequences; a state is a mit-mot, mit-sot or sit-sot."""
    taps = [len(t) for t in info.mit_mot_in_slices + info.mit_sot_in_slices] + [1] * info.n_sit_sot
    made = [len(t) for t in info.mit_mot_out_slices] + [1] * (info.n_mit_sot + info.n_sit_sot)
    ins, outs = runs(info.n_seqs, taps), runs(0, made)
    rest = info.n_seqs + sum(taps)
    non_seqs = list(range(rest, rest + info.n_non_seqs))
    nit_sots = list(range(sum(made), sum(made) + info.n_nit_sot))
    return list(range(info.n_seqs)), list(zip(ins, outs)), nit_sots, non_seqs


def unbatched(v: Variable, n: int) -> Variable | None:
    """The value that all items of the batch, the first n dims, have in common by the type; None: they may differ."""
    return v.squeeze(tuple(range(n))) if all(v.type.broadcastable[:n]) else None


def one_number(v: Variable, n: int) -> Variable:
    """The integer >= 0 that all items have, as a run checks."""
    if (one := unbatched(v, n)) is not None:
        return one
    value = pt.max(pt.concatenate([v.flatten(), pt.zeros(1, dtype=v.dtype)]))
    return Assert(UNEQUAL)(value, pt.all(pt.eq(v, value)))


def stretched(v: Variable, at: int, core: int, lengths: list, broadcastable: tuple) -> Variable:
    """v with the whole batch at axis ``at``, before its last ``core`` dims; it has no batch yet, or all its dims."""
    n = len(lengths)
    if v.type.ndim == at + core:
        v = pt.expand_dims(v, tuple(range(at, at + n)))
    if v.type.broadcastable[at : at + n] == broadcastable:
        return v
    return pt.broadcast_to(v, (*v.shape[:at], *lengths, *v.shape[at + n :]))


def lengths_of(values: list[Variable], broadcastable: tuple) -> list:
    """The lengths of the batch, the first dims of the values."""
    return [
        1 if one else next(v.shape[k] for v in values if not v.type.broadcastable[k])
        for k, one in enumerate(broadcastable)
    ]


def state_by_rows(v: Variable, n: int, rank: int, lengths: list, ones: tuple) -> Variable:
    """The buffer of a state, rows first, then the whole batch.

    PyTensor writes the first rows into an empty buffer. They are written into one of the new shape: so PyTensor's
    rewrites of loops still see them.
    """
    if isinstance(getattr(v.owner, "op", None), Blockwise):
        op, (x, y, *index) = v.owner.op.core_op, v.owner.inputs
        while x.owner is not None and isinstance(x.owner.op, DimShuffle | SpecifyShape):
            x = x.owner.inputs[0]
        sets = isinstance(op, IncSubtensor) and op.set_instead_of_inc and op.idx_list == (slice(None, 0, None),)
        empty = x.owner is not None and isinstance(x.owner.op, AllocEmpty)
        if sets and empty and y.type.ndim == v.type.ndim and (stop := unbatched(index[0], n)) is not None:
            buffer = x.owner.op(x.owner.inputs[0], *lengths, *x.owner.inputs[1:])
            first = stretched(by_rows(y, n), 1, rank, lengths, ones)
            return buffer[:stop].set(first)
    return stretched(by_rows(v, n), 1, rank, lengths, ones)


def by_rows(v: Variable, n: int) -> Variable:
    """v with its batch, the first n dims, behind the next one; without it if all items have one value by the type."""
    one = unbatched(v, n)
    return pt.moveaxis(v, n, 0) if one is None else one


def with_batch(t: TensorType, ones: tuple) -> Variable:
    """A new variable of this type with a batch, whose lengths are 1 where ``ones`` says so."""
    return TensorType(t.dtype, (*[1 if one else None for one in ones], *t.shape))()


def batched_step(
    inner: FunctionGraph, as_while: bool, given: dict, states: list, batched: set, ones: tuple, keeps: bool
) -> tuple[list, bool]:
    """The results of the step on the batch, and whether items end in different steps (``as_while``).

    given: the inner inputs that have a batch, by number; batched: the states that have one. Both get what follows: a
    state has a batch if its next value has one, or if items that have ended keep it (``keeps``).
    """
    more = batched
    while True:
        given |= {k: with_batch(inner.inputs[k].type, ones) for s in sorted(more) for k in states[s][0]}
        batched |= more
        results = vectorize_graph(list(inner.outputs), {inner.inputs[k]: v for k, v in given.items()})
        wide = [r.type.ndim > old.type.ndim for r, old in zip(results, inner.outputs)]
        ends_apart = as_while and wide[-1]
        needed = {s for s, (_, outs) in enumerate(states) if (ends_apart and keeps) or any(wide[k] for k in outs)}
        if not (more := needed - batched):
            return results, ends_apart


def keep_ended(inputs: list, results: list, done: Variable, states: list, taps: list, at: int, ones: tuple) -> None:
    """Items that have ended keep their states: which they are is one more state of the step, and it ends when all have.

    taps: which input of each state is its last value. at: the number of the inputs up to those of the states.
    """
    was_done = with_batch(TensorType("bool", ()), ones)
    for (ins, (k,)), tap in zip(states, taps):
        now, before = results[k], inputs[ins[tap]]
        lane = pt.expand_dims(was_done, tuple(range(len(ones), now.type.ndim)))
        results[k] = pt.switch(lane, before, now)
    done = pt.or_(was_done, done)
    inputs.insert(at, was_done)
    results.insert(len(states), done)
    results.append(pt.all(done))


def batched_scan(node: Apply, only_last: Callable[[list[Variable]], bool] = lambda v: False) -> list[Variable]:
    """The results of Blockwise{Scan} by a Scan whose step works on the batch. TypeError: there is none.

    A loop with a condition ends when all items of the batch have ended. Those that ended before keep their states,
    if only_last(results) tells that of each result the last row alone is read; else all must end in one step.
    """
    n, core = node.op.batch_ndim(node), node.op.core_op
    info = core.info
    if info.n_untraced_sit_sot:
        raise TypeError("a loop over a batch carries something that is not an array")
    seqs, states, nit_sots, non_seqs = parts(info)
    ones = node.outputs[0].type.broadcastable[:n]
    lengths = lengths_of(node.inputs, ones)
    outer = iter(node.inputs[1:])
    n_steps = one_number(node.inputs[0], n)
    outer_seqs, outer_states, outer_lengths, outer_rest = (
        [next(outer) for _ in group] for group in (seqs, states, nit_sots, non_seqs)
    )

    nit_sot_lengths = [one_number(v, n) for v in outer_lengths]
    inner = core.fgraph.unfreeze()
    given: dict[int, Variable] = {}  # the inner inputs that have a batch
    for k, v in [*zip(seqs, outer_seqs), *zip(non_seqs, outer_rest)]:
        if unbatched(v, n) is None:
            given[k] = with_batch(inner.inputs[k].type, v.type.broadcastable[:n])
    keeps = not info.n_mit_mot and all(-1 in taps for taps in info.mit_sot_in_slices) and only_last(node.outputs)
    batched = {s for s, v in enumerate(outer_states) if unbatched(v, n) is None}
    results, ends_apart = batched_step(inner, info.as_while, given, states, batched, ones, keeps)

    inner_inputs = [given.get(k, v) for k, v in enumerate(inner.inputs)]
    inside = lengths_of(list(given.values()), ones) if batched or ends_apart else []
    new_states = [by_rows(v, n) for v in outer_states]
    for s in batched:
        ins, outs = states[s]
        for k in outs:
            results[k] = stretched(results[k], 0, inner.outputs[k].type.ndim, inside, ones)
        new_states[s] = state_by_rows(outer_states[s], n, inner.inputs[ins[0]].type.ndim, lengths, ones)
    if ends_apart:
        done = stretched(results.pop(), 0, 0, inside, ones)
        if keeps:
            taps = [t.index(-1) for t in info.mit_sot_in_slices] + [0] * info.n_sit_sot
            keep_ended(inner_inputs, results, done, states, taps, len(inner_inputs) - len(non_seqs), ones)
            new_states.append(pt.zeros((n_steps + 1, *lengths), dtype="bool"))
            info = replace(info, sit_sot_in_slices=(*info.sit_sot_in_slices, (-1,)))
        else:
            all_done = pt.all(done)
            results.append(Assert(UNEQUAL)(all_done, pt.all(pt.eq(done, all_done))))  # of no items too

    loop = Scan(inner_inputs, results, info, mode=core.mode, truncate_gradient=core.truncate_gradient, name=core.name,
                allow_gc=core.allow_gc, strict=core.strict)  # fmt: skip
    new_rest = [v if (one := unbatched(v, n)) is None else one for v in outer_rest]
    made = loop.make_node(n_steps, *[by_rows(v, n) for v in outer_seqs], *new_states, *nit_sot_lengths, *new_rest).outputs
    if len(made) > len(node.outputs):
        made = [v for k, v in enumerate(made) if k != len(states)]
    final = []
    for v, old in zip(made, node.outputs, strict=True):
        rank = old.type.ndim - n
        v = stretched(pt.moveaxis(v, 0, n) if v.type.ndim > rank else v, 0, rank, lengths, ones)
        final.append(v if old.type.is_super(v.type) else pt.specify_shape(v, old.type.shape))
    return final
