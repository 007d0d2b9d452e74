#!/usr/bin/env python3
"""Random loops to try a compiler's patience: any headers, nested, long, and a number of steps that nobody would wait
for. Wild(seed).text is the same in every run. Most are refused or end some day; none takes the compiler long.

    wild_loops.py COUNT FOLDER

writes COUNT of them to FOLDER, of some 10 kB at most.
"""

import random
import sys
from pathlib import Path
from typing import NamedTuple

MAX_TEXT = 10_000  # bytes
COUNTS = ("0", "1", "1", "2", "2", "7", "8", "9", "16", "50", "1000", "n", "m", "n + 1", "n * m", "k", "-3", "2147483648",
          "4611686018427387904", "9223372036854775807")  # fmt: skip
CONDITIONS = ("True", "False", "Sum({s}) < 10", "Sum({s}) > {c}", "Any({s} > 1)", "n > 3", "k > 3", "Sum({s}) == Sum({s})")
# s and t are values of the same dims, c is a number, z is any scalar
FORMS = ("{s} + 1", "{s} * 0.5", "{s} * {c} + {t}", "{s} + {t}", "{s} + {z}", "{s} * {z}", "{s} - {z} * {t}", "{s} - {t} * {s}", "{t}", "-{s}",
         "Tanh({s} + {t})", "Switch({s} > {c}, {s}, {t})", "Maximum({s}, {t})", "0.5 * {s} + 0.25 * {t} + {c}", "Sqrt({s} * {s} + {t})",
         "LogAddExp({s}, {t})", "{s} ** {c}", "Exp({s}) / (1 + Exp({s}))", "({s} + {t}) * ({s} - {t})", "{s} / {t}", "{s}.T",
         "{s} + {s} + {t}", "Log(Exp({s}) + Exp({t}))", "Sqr({s} - {t})")  # fmt: skip
ALSO = {
    (): ("Sum(w * {s})", "Sum(v) * {s}", "w[0] + {s}", "Max(Join{{axis=0}}(v * {s}, w))", "{s} + n", "{s} * (Shape(f)[0] + 1)"),
    ("n",): ("{s}[::-1]", "Cumsum{{axis=0}}({s})", "v * {s}", "{s} - Max({s})", "Join{{axis=0}}({s}[1:], {s}[:1])"),
    (3,): ("a @ {s}", "{s} @ a + {t}", "{s}[0].inc({z})", "{s}[[2, 0, 1]]", "LogSumExp{{axes=(0,)}}({s}[:, None] + a) + {t}",
           "SortOp{{axis=0}}({s})", "0.3 * (a @ {s}) + {t}", "{s}[k].set({c})"),
    (3, 3): ("{s} @ {t}", "a @ {s}", "{s} + w[:, None] * w", "{s}[1].set(w)", "{s}[:, ::-1]", "MatrixInverse({s})"),
}  # fmt: skip


class Value(NamedTuple):
    text: str
    dims: tuple


AROUND = (Value("x", ()), Value("v", ("n",)), Value("w", (3,)), Value("a", (3, 3)))


class Wild:
    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.names, self.room, self.fits = 0, self.pick(300, 1000, 3000, MAX_TEXT - 1000), self.one_in(1.1)
        lines, results, known = [], [], list(AROUND)
        loops = self.pick(1, 1, 2, 40)
        while self.room > 0 and len(results) < loops:
            known += self.loop(lines, 1, known)
            results.append(known[-1].text.partition("[")[0])
        self.text = "\n".join([f"graph g(x: float64[], v: float64[n], w: float64[3], a: float64[3, 3], k: int64[], f: float32[m]) -> "
                               f"({', '.join(results)}) {{", *lines, "}", ""])  # fmt: skip

    def pick(self, *items):
        return self.draw.choice(items)

    def one_in(self, n):
        return self.draw.random() * n < 1

    def few(self, *odd):
        """A number: small, or now and then one of these"""
        return self.pick(*odd) if self.one_in(8) else self.pick(1, 1, 2, 3)

    def name(self):
        self.names += 1
        return f"r{self.names}"

    def same(self, dims, known):
        """A value of these dims, of the last ones that there are; in a program that need not fit, of any"""
        some = [v for v in known if v.dims == dims] if self.fits or not self.one_in(20) else known
        return self.pick(*some[-4:], self.pick(*some)).text if some else f"float64[{', '.join(map(str, dims))}](1)"

    def filled(self, form, dims, known):
        return form.format(s=self.same(dims, known), t=self.same(dims, known), z=self.same((), known), c=self.pick("0", "2", "0.5", "-1", "1e9"))

    def form(self, dims):
        return self.pick(*FORMS, *ALSO[dims] * 4)

    def item(self, k, around):
        kind = self.draw.randrange(4)
        if kind == 0:
            step = self.pick("", ":1", ":2", ":-1", ":3")
            return f"j{k} in {self.pick('0', '0', '1', 'n', '-2')}:{self.pick(*COUNTS)}{step}", []
        if kind == 1:
            rows = [v for v in around if v.dims] + [Value(t, ("n",)) for t in ("v[1:]", "v[::-1]", "Join{axis=0}(v, w)")]
            row = self.pick(*rows)
            name = self.name()
            return f"{name} in {row.text}", [Value(name, row.dims[1:])]
        return f"i{k} in 0:{self.pick(*COUNTS)}", []

    def body(self, known, depth, indent):
        """Statements, some of them many times; what is known behind them"""
        lines, known = [], list(known)
        for _ in range(self.few(5, 20)):
            if self.room > 0 and depth < self.pick(2, 3, 25) and self.one_in(3):
                known += self.loop(lines, depth + 1, known)
                continue
            dims = self.pick(*known[-3:]).dims
            form = self.form(dims)
            for _ in range(self.few(10, 100)):
                if self.room < 0:
                    break
                lines.append(f"{indent}{self.name()} = {self.filled(form, dims, known)}")
                known.append(Value(f"r{self.names}", dims))
                self.room -= len(lines[-1]) + 1
        return lines, known

    def loop(self, lines, depth, around):
        """Adds a loop and gives its results"""
        states = [Value(f"s{depth}_{k}_{self.names}", self.pick((), (), ("n",), (3,), (3,), (3, 3))) for k in range(self.few(0, 8, 9, 60))]
        items, rows = [], []
        for k in range(self.few(0, 5, 20) - self.one_in(20)):
            text, row = self.item(k, around)
            items, rows = [*items, text], rows + row
        items += [f"{s.text}: float64[{', '.join(map(str, s.dims))}] = {self.same(s.dims, around)}" for s in states]
        items = items or ["i in 0:3"]
        condition = self.filled(self.pick(*CONDITIONS), self.pick(*states).dims, states) if states and self.one_in(6) else ""
        inside, known = self.body([*around, *rows, *states], depth, "  " * (depth + 1))
        if self.one_in(6):
            v = self.pick(*known)
            inside.append(f"  until {self.filled(self.pick(*CONDITIONS), v.dims, [v])}")
        for s in states:
            if not self.one_in(10):
                inside.append(f"  next {s.text} = {self.filled(self.form(s.dims), s.dims, known)}")
        known = [v for v in known if v.text[-1] != "]"]
        stack = [self.pick(*known) for _ in range(self.few(30) if not states else self.pick(0, 0, 0, 1, 3))]
        last = [self.pick(*states) for _ in range(self.few(30) if states else 0)]
        made = [Value(self.name(), v.dims) for v in (*stack, *last)]
        names, results = ", ".join(v.text for v in made), ", ".join([f"[{v.text}]" for v in stack] + [s.text for s in last])
        lines += [f"{names} = loop ({', '.join(items)}){condition and ' while ' + condition} -> ({results}) {{", *inside, "}"]
        self.room -= sum(map(len, (lines[-len(inside) - 2], *inside[-len(states) - 1 :])))
        return [Value(f"{v.text}[-1]", v.dims) for v in made[: len(stack)]] + made[len(stack) :]


if __name__ == "__main__":
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for seed in range(int(sys.argv[1])):
        (folder / f"wild{seed}.ptg").write_text(Wild(seed).text)
