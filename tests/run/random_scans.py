"""The loops of random_loops.py as PyTensor's Scan, for one point and for a batch of points: Points(seed)."""

import re

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.graph.replace import vectorize_graph
from pytensor.scan.utils import until
from random_loops import Program

FUNCTIONS = {
    "Switch": pt.switch, "Tanh": pt.tanh, "Sin": pt.sin, "Sigmoid": pt.sigmoid, "Abs": pt.abs, "Neg": pt.neg, "Sqr": pt.sqr,
    "Sqrt": pt.sqrt, "LogAddExp": pt.logaddexp, "Second": pt.second, "Reshape": pt.reshape,
    "LogSumExp0": lambda x: pt.logsumexp(x, axis=0), "LogSumExp1": lambda x: pt.logsumexp(x, axis=1),
}  # fmt: skip


def inner_loop(w, z):
    return pytensor.scan(lambda w, z: 0.5 * z + 0.1 * w, sequences=[w], outputs_info=[z], return_updates=False)[-1]


def python_of(text):
    """An expression or a statement of the language as Python code"""
    text = re.sub(r"LogSumExp\{axes=\((\d),\)\}", r"LogSumExp\1", text)
    text = re.sub(r"(float\d\d)\[(.*?)\]\(", r"filled([\2], ", text)
    return re.sub(r"(\w+) = loop \(w in (\w+), z = (\w+)\).*", r"\1 = inner_loop(\2, \3)", text)


def with_ones(v, dims):
    """v, whose type says which of these dims are 1"""
    ones = [k == 1 for k in dims]
    return v if list(v.type.broadcastable) == ones else pt.specify_shape(v, [1 if one else None for one in ones])


class Points(Program):
    """inputs, outputs: of one point. many, results: the same for a batch, of which some inputs have none."""

    def __init__(self, seed):
        super().__init__(seed)
        number = lambda x: pt.constant(np.asarray(x, self.dtype), dtype=self.dtype)
        self.names = {**FUNCTIONS, **self.lengths, self.dtype: number, "inner_loop": inner_loop,
                      "filled": lambda dims, x: pt.alloc(number(x), *dims)}  # fmt: skip
        static = self.pick("all", "some", "none")
        self.variables = []
        for x in self.inputs:
            dims = [self.lengths.get(d, d) for d in x.dims]
            shape = [k if static == "all" or (static == "some" and self.one_in(2)) else None for k in dims]
            self.variables.append(pt.tensor(x.text, dtype=self.dtype, shape=shape))
            self.names[x.text] = self.variables[-1]
        for line in self.outside:
            exec(python_of(line), self.names)
        self.values = self.arguments()
        self.outputs = self.with_gradients(self.read(self.loop()))
        self.batch = self.pick((1,), (2,), (3,), (3,), (2, 3), (0,))
        self.add_batch(self.one_in(2))

    # The loop's parts as Program draws them; the text of the whole is not needed.
    def as_loop(self):
        self.sequences = [self.sequence(v.dims) for v in self.rows]
        self.firsts = [self.first(s.dims) for s in self.states]

    as_scan = as_loop

    def value(self, text, names=None):
        return eval(python_of(text), names or self.names)

    def loop(self):
        traced = [v for v in self.temporary if self.one_in(2)]
        self.is_while, limit = self.one_in(3), self.draw.uniform(-1, 1)

        def step(*arguments):
            names = dict(self.names)
            names.update(zip([v.text for v in (*self.rows, *self.states)], arguments))
            for line in self.body:
                exec(python_of(line), names)
            nexts = [with_ones(self.value(n.text, names), s.dims) for n, s in zip(self.nexts, self.states)]
            results = nexts + [names[v.text] for v in traced]
            return (results, until(nexts[0].sum() > limit)) if self.is_while else results

        firsts = [with_ones(self.value(f), s.dims) for f, s in zip(self.firsts, self.states)]
        found = pytensor.scan(
            step, sequences=[self.value(s) for s in self.sequences], outputs_info=firsts + [None] * len(traced),
            n_steps=self.steps if self.is_while or not self.sequences or self.one_in(2) else None, return_updates=False,
        )  # fmt: skip
        return found if isinstance(found, list) else [found]

    def read(self, results):
        forms = [lambda r: r[-1]] * (8 if self.is_while else 1)
        return [self.pick(*forms, lambda r: r, lambda r: r[1:], lambda r: r[::-1])(r) for r in results]

    def with_gradients(self, outputs):
        if not self.variables or not self.one_in(3):
            return outputs
        total = sum(v.sum() for v in outputs)
        return [total, *pt.grad(total, self.variables, disconnected_inputs="ignore")]

    def add_batch(self, static):
        rng, replace = np.random.default_rng(0), {}
        for k, (v, x) in enumerate(zip(self.variables, self.values)):
            if not self.one_in(4):
                shape = (*(self.batch if static else [None] * len(self.batch)), *v.type.shape)
                replace[v] = pt.tensor(v.name, dtype=v.dtype, shape=shape)
                self.values[k] = (x + rng.uniform(-0.2, 0.2, self.batch + x.shape)).astype(v.dtype)
        self.has_batch = [v in replace for v in self.variables]
        self.many = [replace.get(v, v) for v in self.variables]
        self.results = vectorize_graph(self.outputs, replace)

    def expected(self):
        """Of each result what it is, or None if it has no shape: points differ in their numbers of steps."""
        f = pytensor.function(self.variables, self.outputs, mode="FAST_COMPILE", on_unused_input="ignore")
        points = [f(*(x[at] if b else x for x, b in zip(self.values, self.has_batch))) for at in np.ndindex(*self.batch)]
        found = []
        for v, old, *parts in zip(self.results, self.outputs, *points):
            if v.ndim == old.ndim:
                found.append(parts[0] if parts else None)
            elif not parts:
                found.append(np.empty((*self.batch, *[1] * old.ndim)))
            else:
                same = len({p.shape for p in parts}) == 1
                found.append(np.reshape(parts, (*self.batch, *parts[0].shape)) if same else None)
        return found
