#!/usr/bin/env python3
"""Random .ptg programs of one loop each, with values for their inputs. Program(seed) is the same in every run.

    random_loops.py COUNT FOLDER

writes COUNT of them to FOLDER, for compilers that are built with sanitizers.

A state is linear in the states before, a product, a LogSumExp, a copy, a sum, or reads no state at all. A sequence is
an input or a constant; the shortest one says how many steps there are, which may be 0. One program in four is a Scan.
All numbers are about 1 or smaller, and no step makes them much larger, so that another way to compute them stays near.
"""

import random
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

STEPS = (0, 1, 2, 5, 7, 8, 8, 9, 13, 13, 24, 24, 33, 59, 59)
STATES = ((), (), (), (1,), (2,), (3,), (2, 3), ("m",), ("m", 2))  # dims


class Value(NamedTuple):
    text: str  # an expression
    dims: tuple


class Program:
    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.dtype = self.pick("float64", "float64", "float32")
        self.is_scan = self.one_in(4)
        self.steps = self.pick(*STEPS)
        self.n = "n" if self.one_in(5) else self.steps  # a length that the inputs say, or the text
        self.lengths = {"n": self.steps, "m": self.pick(0, 1, 2, 4)}
        self.inputs, self.shared, self.temporary = [], [], []  # values; shared: that all steps read
        self.outside, self.body = [], []  # statements before the loop, and of a step
        self.states = [Value("s0", self.pick(*STATES))]
        for k in range(1, self.pick(1, 1, 1, 1, 2, 2, 3, 4)):
            self.states.append(Value(f"s{k}", self.pick(*STATES, *[s.dims for s in self.states] * 4)))
        some_dims = [s.dims for s in self.states]
        self.rows = [Value(f"v{k}", self.pick(*some_dims, ())) for k in range(self.pick(0, 1, 1, 1, 2, 3))]
        for _ in range(self.pick(0, 1, 2)):
            self.new_shared(self.pick(*some_dims, ()))
        for k in range(self.pick(0, 0, 0, 1, 2)):
            self.temporary.append(self.assign(f"t{k}", self.expression(self.pick(*some_dims, ()), 2, self.states)))
        self.nexts = [s if self.one_in(15) else self.assign(f"n{s.text}", self.next(s)) for s in self.states]
        self.text = self.as_scan() if self.is_scan else self.as_loop()

    def pick(self, *items):
        return self.draw.choice(items)

    def one_in(self, n):
        return self.draw.randrange(n) == 0

    def arguments(self):
        """What the model is run on, in the order of its inputs"""
        rng = np.random.default_rng(self.draw.randrange(1 << 30))
        return [rng.uniform(-1, 1, [self.lengths.get(d, d) for d in x.dims]).astype(self.dtype) for x in self.inputs]

    # values outside of the loop

    def typed(self, dims):
        return f"{self.dtype}[{', '.join(map(str, dims))}]"

    def number(self):
        return str(self.pick(0.0, 1.0, -1.0, 0.5, -0.25, round(self.draw.uniform(-1, 1), 3)))

    def constant(self, dims):
        """A list, or one number in all elements"""
        if not dims or 0 in dims or any(isinstance(d, str) for d in dims) or self.one_in(3):
            return f"{self.typed(dims)}({self.number()})"
        items = f"{self.dtype}([{', '.join(self.number() for _ in range(np.prod(dims)))}])"
        return items if len(dims) == 1 else f"Reshape({items}, {list(dims)})"

    def new_input(self, dims):
        self.inputs.append(Value(f"x{len(self.inputs)}", dims))
        return self.inputs[-1].text

    def new_shared(self, dims):
        name = f"c{len(self.shared)}"
        self.outside.append(f"{name} = {self.first(dims)}")
        self.shared.append(Value(name, dims))
        return name

    def first(self, dims):
        known = "m" not in dims or any("m" in x.dims for x in self.inputs)
        return self.constant(dims) if known and self.one_in(2) else self.new_input(dims)

    def sequence(self, dims):
        """What the loop walks along. A Scan wants one element for each step, or more."""
        n, kind = self.n, self.draw.randrange(6)
        if n != "n":
            n += self.pick(0, 0, 0, 1, 5)
        if kind == 0 and "m" not in dims:
            shorter = not self.is_scan and self.one_in(4)
            return self.constant((self.pick(0, 1, 8) if shorter else self.steps + self.pick(0, 0, 1, 5), *dims))
        if kind == 1:
            return f"{self.new_input((n, *dims))}[::-1]"
        if kind == 2 and n != "n":
            return f"{self.new_input((n + 1, *dims))}[1:]"
        return self.new_input((n, *dims))

    # statements of a step

    def assign(self, name, v):
        self.body.append(f"{name} = {v.text}")
        return Value(name, v.dims)

    def expression(self, dims, depth, states=()):
        """Has these dims or is a number; about 1 where what it reads is"""
        known = [v for v in (*self.rows * 2, *self.shared, *self.temporary, *states) if v.dims in (dims, ())]
        kind = self.draw.randrange(9) if depth else 0
        if kind < 2:
            return self.pick(*known) if known and not self.one_in(5) else Value(f"{self.dtype}({self.number()})", ())
        a, b, c = (self.expression(dims, depth - 1, states) for _ in range(3))
        form = self.pick("{} * {}", "{} * {}", "(0.5 * {} + 0.5 * {})", "0.5 * ({} - {})", f"Switch({{}} > {self.draw.uniform(-1, 1)}, {{}}, {{}})",
                         "Tanh({})", "Sin({})", "Sigmoid({})", "Abs({})", "Neg({})")  # fmt: skip
        read = (a, b, c)[: form.count("{}")]
        return Value(form.format(*(v.text for v in read)), max((v.dims for v in read), key=len))

    def next(self, s):
        """The next value of a state: `v` reads no state, `alike` are those of the same dims."""
        x, dims, alike = s.text, s.dims, [o.text for o in self.states if o.dims == s.dims]
        given = self.expression(dims, 2)
        v = given.text if given.dims == dims else f"Second({x}, {given.text})"
        forms = ["linear"] * 4 + ["forget"] * 3 + ["copy", "sum", "product", "root", "any", "log", "inner"]
        if len(dims) == 1 and dims != ("m",):
            forms += ["matrix", "matrix", "logsum", "logsum", "element"]
        form = self.pick(*forms)
        if form == "linear":
            terms = [f"{self.expression(dims, 1).text} * {o}" if self.one_in(2) else o for o in alike if o == x or self.one_in(2)]
            text = f"{round(1 / len(terms), 2)} * ({' - '.join(terms)}) {self.pick('+', '-')} {v}"
        elif form == "matrix":
            text = f"{round(1 / dims[0], 2)} * ({self.new_shared(dims * 2)} @ {self.pick(*alike)}) + {v}"
        elif form == "logsum":
            wide, axis = self.pick((f"{x}[:, None]", 0), (f"{x}[None, :]", 1))
            text = f"LogSumExp{{axes=({axis},)}}({wide} + {self.new_shared(dims * 2)}) + {v} - 1.0"
        elif form == "element":
            text = f"{x}[{self.draw.randrange(dims[0])}].inc({self.expression((), 1).text})"
        elif form == "inner":
            self.body.append(f"y{x} = loop (w in {self.new_shared((3,))}, z = {x}) -> (z) {{ next z = 0.5 * z + 0.1 * w }}")
            text = f"0.5 * y{x} + {v}"
        else:
            text = {
                "forget": f"{v} - {self.number()}",
                "copy": self.pick(*alike),
                "sum": f"{x} + {v}",
                "product": f"{x} - 0.1 * {v} * {x} * {self.pick(*alike)}",  # as in an epidemic
                "root": f"Sqrt(Abs({v}) + 0.5 * Sqr({x}))",
                "any": f"Tanh({self.expression(dims, 3, self.states).text} - {x})",
                "log": f"LogAddExp({x}, {v}) - 0.7",
            }[form]
        return Value(text, dims)

    # the text

    def count(self):
        """How many steps, as text"""
        return "n" if any("n" in x.dims for x in self.inputs) else self.steps

    def as_loop(self):
        rows = [f"{v.text} in {self.sequence(v.dims)}" for v in self.rows]
        rows += [f"i in 0:{self.count()}"] * (not rows or self.one_in(4))
        states = [f"{s.text}: {self.typed(s.dims)} = {self.first(s.dims)}" for s in self.states]
        results = [s.text for s in self.states if not self.one_in(3)] or ["s0"]
        results += [f"[{v.text}]" for v in (*self.states, *self.nexts, *self.temporary) if not self.one_in(3)]
        nexts = [f"next {s.text} = {v.text}" for s, v in zip(self.states, self.nexts) if s != v]
        names = ", ".join(f"r{k}" for k in range(len(results)))
        loop = f"{names} = loop ({', '.join(rows + states)}) -> ({', '.join(results)}) {{"
        return self.graph(names, [loop, *("  " + line for line in self.body + nexts), "}"])

    def as_scan(self):
        """Buffers have the first value in front; their rest is not read."""
        traced = [v for v in self.temporary if self.one_in(2)]
        sequences, n = [self.sequence(v.dims) for v in self.rows], self.count()
        buffers = []
        for k, s in enumerate(self.states):
            room = f"Alloc({self.dtype}(7), {', '.join(map(str, (n, *s.dims)))})"
            self.outside.append(f"b{k} = Join{{axis=0}}(ExpandDims{{axis=0}}({self.first(s.dims)}), {room})")
            buffers.append(f"b{k}")
        results = [f"a{k}" for k in range(len(buffers) + len(traced))]
        arguments = ", ".join(map(str, [n, *sequences, *buffers, *[n] * len(traced), *(c.text for c in self.shared)]))
        scan = f"{', '.join(results)} = Scan{{fn=step, n_seqs={len(sequences)}, n_sit_sot={len(buffers)}, n_nit_sot={len(traced)}}}({arguments})"
        last = [f"r{k} = a{k}{self.pick('', '[-1]', '[1:]', '[:-1]')}" for k in range(len(buffers))]
        parameters = ", ".join(f"{v.text}: {self.typed(v.dims)}" for v in (*self.rows, *self.states, *self.shared))
        step = f"fn step({parameters}) -> ({', '.join(f'o{k}' for k in range(len(results)))}) {{"
        step = "\n  ".join([step, *self.body, *(f"o{k} = {v.text}" for k, v in enumerate((*self.nexts, *traced)))]) + "\n}\n"
        return step + self.graph(", ".join([f"r{k}" for k in range(len(buffers))] + results[len(buffers) :]), [scan, *last])

    def graph(self, results, statements):
        parameters = ", ".join(f"{x.text}: {self.typed(x.dims)}" for x in self.inputs)
        return "\n  ".join([f"graph g({parameters}) -> ({results}) {{", *self.outside, *statements]) + "\n}\n"


if __name__ == "__main__":
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for seed in range(int(sys.argv[1])):
        (folder / f"{seed}.ptg").write_text(Program(seed).text)
