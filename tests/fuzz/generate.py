#!/usr/bin/env python3
"""Random .ptg programs that are mostly well typed, and what must hold of every one of them.

    generate.py [--first SEED] [--count N] [--jobs J] [--seeds FOLDER] [--show SEED]

A program grows by statements: ops of the table with random properties, infix expressions, indexing,
updates, constants, raw ONNX nodes with attributes, loops, fors, ifs and fns; a file has consts, and names
library.ptg beside this script by `use "library.ptg" as m`. Each new statement is compiled;
what is refused must be refused well (a code, a place, exit status 1) and is mostly dropped. The program
then must give a model that passes the checker with full_check and strict shape inference, loads in
ONNX Runtime, and on random inputs gives the shapes it declares and the same values at another opset,
without rewrites and without the runtime's own rewrites. Every seed gives the same program always.

Programs run in child processes: one that dies or hangs is a finding, the others go on.
"""

import argparse
import ctypes
import functools
import multiprocessing
import os
import random
import re
import shutil
import signal
import sys
import time
import warnings

import numpy as np
import onnx
import onnxruntime as ort

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "python"))
from ptgc import _lib  # noqa: E402
from ptgc.errors import CompileError  # noqa: E402

warnings.filterwarnings("ignore")
np.seterr(all="ignore")
BOOL = ["bool"]
INTS = ["int8", "int16", "int32", "int64"]
UINTS = ["uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]
DTYPES = BOOL + INTS + UINTS + FLOATS
DIMS = ("n", "m", "k")
SLOW = 1.0  # seconds that no compilation of a small program may take


class Broken(Exception):
    """What must hold does not."""


@functools.cache
def op_table():
    """[(name, inputs, properties)] of all ops that can be compiled; from the library itself."""
    text = open(os.path.join(ROOT, "src", "ops", "ops.def")).read()
    out = []
    for name in sorted(set(re.findall(r"^[A-Z]+\((\w+),", text, re.M))):
        ready = ctypes.c_bool()
        sig = _lib.lib().ptgc_op_signature(name.encode(), ctypes.byref(ready))
        if sig is None:
            continue
        inputs, _, props = sig.decode().partition(";")
        pairs = []
        for p in _lib.split_top(props) if props.strip() else []:
            key, _, rest = p.strip().partition(":")
            kind, has, default = rest.partition("=")
            pairs.append((key.strip(), kind.strip(), bool(has), default.strip()))
        out.append((name, inputs.split(), pairs, ready.value))
    return out


@functools.cache
def rewrites():
    text = open(os.path.join(ROOT, "src", "rewrite", "rewrite.c")).read()
    return sorted(set(re.findall(r'^\s*\{ ?"([a-z-]+)"', text, re.M)))


@functools.cache
def onnx_schemas():
    return [s for s in onnx.defs.get_all_schemas() if s.domain == "" and not s.deprecated]


def compile_text(text, **options):
    """The model, or None and the refusal, which must be a proper one."""
    start = time.perf_counter()
    try:
        made = _lib.compile_text(text, directory=HERE, flags=["Wno-unused", *options.pop("flags", ())], **options).model
        refused = None
    except CompileError as e:
        made, refused = None, e
    if time.perf_counter() - start > SLOW:
        raise Broken(f"compiling took {time.perf_counter() - start:.1f} s")
    if refused:
        errors = [d for d in refused.diagnostics if d.severity == "error"]
        if not errors:
            raise Broken("refused without an error")
        for d in errors:
            if not re.fullmatch(r"PTG\d{4}", d.code) or not d.text or not d.line or not d.column:
                raise Broken(f"a poor message: {d}")
    return made, refused


noted = None  # of a child: what it tries


class Value:
    def __init__(self, name, dtype, shape):
        self.name, self.dtype, self.shape = name, dtype, shape

    @property
    def rank(self):
        return len(self.shape)


DTYPE_OF = {getattr(onnx.TensorProto, o): n for n, o in zip(
    DTYPES, "BOOL INT8 INT16 INT32 INT64 UINT8 UINT16 UINT32 UINT64 FLOAT16 FLOAT DOUBLE".split(), strict=True)}


def value_types(infos):
    out = {}
    for i in infos:
        t = i.type.tensor_type
        dims = tuple(d.dim_value if d.HasField("dim_value") else d.dim_param or None for d in t.shape.dim)
        out[i.name] = Value(i.name, DTYPE_OF.get(t.elem_type, "other"), dims)
    return out


class Generator:
    raw_nodes = True

    def __init__(self, seed):
        self.r, self.seed = random.Random(seed), seed
        self.inputs, self.lines, self.fns, self.consts, self.names = [], [], [], [], 0
        self.values = []  # what statements may use
        self.refusals = []
        for _ in range(self.r.randint(1, 4)):
            self.inputs.append(Value(self.fresh("x"), self.dtype(), self.shape()))
        self.values += self.inputs
        for _ in range(self.r.choice([0, 1, 1, 2, 3])):
            self.consts.append(self.const())

    # --- random pieces ---

    def fresh(self, prefix="v"):
        self.names += 1
        return f"{prefix}{self.names}"

    def dtype(self):
        return self.r.choice(["float64", "float32", "float64", "int64", self.r.choice(DTYPES)])

    def shape(self):
        return tuple(self.r.choice(["n", "n", "m", "k", 0, 1, 2, 3, 4]) for _ in range(self.r.choice([0, 1, 1, 2, 2, 3])))

    def number(self, dtype):
        r = self.r
        if dtype == "bool":
            return r.choice(["True", "False"])
        if dtype in FLOATS:
            return r.choice(["0", "1", "-1", "0.5", "2", "-0.0", "1.5", "3.25", "-2.5", "inf", "-inf", "nan", "1e-3",
                             "0x1.8p-3", "100"])
        low, high = (0, 255) if dtype in UINTS else (-128, 127)
        return str(r.choice([0, 1, 2, 3, high, low, r.randint(low, high)]))

    def constant(self):
        dtype, r = self.dtype(), self.r
        rank = r.choice([0, 0, 1, 1, 2])
        if rank == 0:
            return f"{dtype}({self.number(dtype)})"
        if r.random() < 0.3:
            return f"{dtype}[{', '.join(str(r.randint(0, 4)) for _ in range(rank))}]({self.number(dtype)})"
        row = lambda n: "[" + ", ".join(self.number(dtype) for _ in range(n)) + "]"  # noqa: E731
        n = r.randint(1 if rank == 2 else 0, 4)
        return f"{dtype}({row(n)})" if rank == 1 else f"{dtype}([{', '.join(row(n) for _ in range(r.randint(1, 3)))}])"

    def const(self):
        """(name, the line that defines it)"""
        r, name, earlier = self.r, self.fresh("c"), [c[0] for c in self.consts]
        number = lambda: self.number(r.choice(["int64", "int8", "float64"]))  # noqa: E731
        value = r.choice([
            number(), number(), f"[{number()}, {number()}]", f"({r.randint(-1, 3)}, {r.randint(0, 4)}, 2)", r.choice(DTYPES),
            r.choice(["True", '"a"', "m.half", "m.sizes"]), self.constant(), f"{number()} {r.choice('+-*/%')} {number()}",
            f"{r.choice(earlier or ['3'])} + 1", f"Sqrt({r.choice(earlier or ['2'])})", f"{r.choice(earlier or ['m.sizes'])}[1:]",
            f"{name} + 1",
        ])
        typed = r.random() < 0.2
        annotation = f": {self.dtype()}[{r.choice(['', '2', '3', '2, 2'])}]" if typed else ""
        return name, f"const {name}{annotation} = {value}"

    def pick(self, like=None, dtypes=None, rank=None):
        """Some value; mostly one that fits."""
        r = self.r
        fits = [v for v in self.values if (dtypes is None or v.dtype in dtypes) and (rank is None or v.rank == rank)]
        if like is not None and r.random() < 0.7:
            same = [v for v in fits if v.shape == like.shape and (v.dtype == like.dtype or r.random() < 0.5)]
            fits = same or [v for v in fits if v.rank == like.rank] or fits
        if not fits or r.random() < 0.03:
            fits = self.values
        return r.choice(fits)

    def atom(self, like=None, dtypes=None, rank=None):
        if self.r.random() < 0.1:
            consts = [c[0] for c in self.consts] + ["m.half", "m.sizes[0]"]
            return self.r.choice([self.constant(), self.number("int64"), self.number("float64"), self.r.choice(consts)])
        return self.pick(like, dtypes, rank).name

    def infix(self, depth=2, like=None):
        r = self.r
        like = like or self.pick()
        if depth == 0 or r.random() < 0.25:
            return self.atom(like)
        kind = r.random()
        if kind < 0.12:
            return f"{r.choice(['-', '~', '+'])}{self.infix(depth - 1, like)}"
        if kind < 0.25:
            return f"({self.infix(depth - 1, like)} {r.choice(['==', '!=', '<', '<=', '>', '>='])} {self.infix(depth - 1, like)})"
        op = r.choice("+ - * / // % ** @ & | ^ + - * /".split())
        return f"({self.infix(depth - 1, like)} {op} {self.infix(depth - 1, like)})"

    def property(self, key, kind):
        r = self.r
        axis = lambda: r.choice([0, 0, 1, -1, -2, 2, 5])  # noqa: E731
        if kind == "axes":
            return r.choice(["None", str(axis()), f"({axis()},)", f"[{axis()}, {axis()}]", "[]"])
        if kind == "ints":
            return "[" + ", ".join(str(r.randint(-1, 3)) for _ in range(r.randint(0, 3))) + "]"
        if kind == "int":
            return str(axis())
        if kind == "bool":
            return r.choice(["True", "False", "1"])
        if kind == "float":
            return self.number("float64")
        if kind == "dtype":
            return r.choice(DTYPES + ["complex64"])
        if kind == "op":
            name, _, props, _ = r.choice(op_table())
            return name + self.properties(props) if r.random() < 0.7 else r.choice(["Add", "Exp", "Cholesky", "Mul"])
        if kind == "slices":
            return r.choice(["0", "1:", ":2", "::-1", "i", "start:stop"])
        if kind == "str":
            return r.choice(['"a"', '"mean"', '"(m,m)->(m,m)"', '"(),()->()"', '""'])
        if "|" in kind:
            return f'"{r.choice(kind.split("|"))}"'
        if key in ("order", "new_order"):
            items = ['"x"', "0", "1", "2"][: r.randint(1, 4)]
            r.shuffle(items)
            return f"[{', '.join(items)}]"
        return r.choice(["None", "1", "True", '"a"', "[0, 1]", "float32", "Add", "1.5"])

    def properties(self, props):
        r, out = self.r, []
        for key, kind, has_default, _ in props:
            if r.random() < (0.5 if has_default else 0.98):
                out.append(f"{key}={self.property(key, kind)}")
        if r.random() < 0.01:
            out.append("nonsense=1")
        return "{" + ", ".join(out) + "}" if out else ""

    # --- expressions that statements are made of ---

    def op_call(self):
        r = self.r
        while True:
            name, inputs, props, ready = r.choice(op_table())
            if ready or r.random() < 0.05:
                break
        like, args = self.pick(), []
        for i in inputs:
            if i[-1] in "*+~":
                for _ in range(r.choice([0, 1, 1, 2]) + (i[-1] == "+")):
                    args.append(self.atom(like))
            elif i[-1] != "?" or r.random() < 0.5:
                if re.match(r"(i|idx|index|indices|n|ndim|shape|size|start|stop|step|axis|k)\b", i):
                    args.append(r.choice([self.atom(dtypes=INTS + UINTS), str(r.randint(-1, 4)), "n", "int64([2, 2])"]))
                else:
                    args.append(self.atom(like))
        if r.random() < 0.02:
            args = args[:-1] if r.random() < 0.5 else [*args, "1"]
        return f"{name}{self.properties(props)}({', '.join(args)})"

    def index(self, v):
        r, items = self.r, []
        end = lambda: r.choice(["", "", "0", "1", "2", "-1", "-2", "n", "7", "n-1", self.atom(dtypes=["int64"], rank=0)])  # noqa: E731
        rank = v.rank
        while rank > 0 and r.random() < 0.85:
            kind = r.random()
            if kind < 0.45:
                step = r.choice(["", "", "", ":2", ":-1", ":-2", ":3"])
                items.append(f"{end()}:{end()}{step}")
            elif kind < 0.6:
                items.append(r.choice(["0", "-1", "1", "n - 1", self.atom(dtypes=["int64", "int32"], rank=0)]))
            elif kind < 0.72:
                items.append(r.choice(["int64([0, -1])", "int64([[0], [0]])", self.atom(dtypes=INTS + UINTS, rank=1)]))
            elif kind < 0.8:
                items.append(r.choice([self.atom(dtypes=BOOL), f"{v.name} > 0", "[0, 1]"]))
            elif kind < 0.9:
                items.append("None")
                rank += 1
            else:
                items.append("...")
            rank -= 1
        return f"{v.name}[{', '.join(items) or '...'}]"

    def update(self):
        v = self.pick()
        return f"{self.index(v)}.{self.r.choice(['set', 'inc'])}({self.atom(v)})"

    def attribute(self, a):
        r, t = self.r, onnx.defs.OpSchema.AttrType
        if a.type == t.INT:
            if a.name in ("dtype", "to", "output_dtype"):
                return str(r.choice([1, 7, 9, 10, 11, 6]))
            return str(r.choice([0, 1, -1, 2, 1, 0]))
        if a.type == t.FLOAT:
            return r.choice(["0.5", "1.0", "0.1"])
        if a.type == t.STRING:
            return r.choice(['"NOTSET"', '"linear"', '"mean"', '"sum"', '"none"', '"DCR"', '"tanh"', '"constant"', '"reflect"'])
        if a.type == t.INTS:
            return "[" + ", ".join(str(r.choice([0, 1, 1, 2])) for _ in range(r.randint(1, 4))) + "]"
        if a.type == t.FLOATS:
            return "[0.5, 1.0]"
        return r.choice(["1", "[1]", "None"])

    def onnx_call(self):
        r = self.r
        s = r.choice(onnx_schemas())
        first, args = None, []
        for i in s.inputs:
            many = i.option == onnx.defs.OpSchema.FormalParameterOption.Variadic
            if i.option == onnx.defs.OpSchema.FormalParameterOption.Optional and r.random() < 0.6:
                if r.random() < 0.5:
                    break
                args.append("None")
                continue
            allowed = {DTYPE_NAME.get(t) for t in i.types}
            for _ in range(r.choice([1, 2, 2, 3]) if many else 1):
                if allowed == {"int64"} and r.random() < 0.4:
                    args.append(r.choice(["int64([1])", "int64([0])", "int64([1, 2])", "int64(1)", "int64([-1])"]))
                    continue
                v = self.pick(first, allowed)
                first = first or v
                args.append(v.name)
        attrs = [f"{a.name}={self.attribute(a)}" for a in s.attributes.values() if r.random() < (0.95 if a.required else 0.3)]
        return f"onnx.{s.name}{'{' + ', '.join(attrs) + '}' if attrs else ''}({', '.join(args)})", len(s.outputs)

    # --- statements: (targets, text) ---

    def block(self, indent, names, count, use=None):
        """Statements that define `names`."""
        pad, saved, out = "  " * indent, list(self.values), []
        for _ in range(count):
            name = self.fresh()
            out.append(f"{pad}{name} = {self.expression()}")
        for name in names:
            out.append(f"{pad}{name} = {use or self.infix(1)}")
        self.values = saved
        return "\n".join(out)

    def expression(self):
        kind = self.r.random()
        if kind < 0.5:
            return self.op_call()
        if kind < 0.7:
            return self.infix()
        if kind < 0.85:
            return self.index(self.pick())
        return self.update()

    def if_statement(self):
        name, v, r = self.fresh(), self.pick(), self.r
        condition = r.choice([self.atom(dtypes=BOOL, rank=0), f"Sum{{axis=None}}({v.name}) > 0", "True", "x1 == x1"])
        more = f" else if {self.atom(rank=0)} > 1 {{ {name} = {v.name} + 1 }}" if r.random() < 0.2 else ""
        return [name], (f"{name} = if {condition} {{\n{self.block(2, [name], r.randint(0, 1), v.name)}\n  }}{more} else {{\n"
                        f"{self.block(2, [name], r.randint(0, 1), f'({self.infix(1, v)})')}\n  }}")

    def loop_statement(self):
        r, s, x = self.r, self.fresh("s"), self.fresh("e")
        last, all_ = self.fresh(), self.fresh()
        over = r.choice([f"{x} in {self.pick().name}", f"{x} in 0:{r.choice(['3', 'n', '0', '5'])}", f"{x} in {r.randint(0, 2)}:9:{r.choice([2, 3, -1])}"])
        v = self.pick()
        start = r.choice([v.name, f"{v.name} * 0", self.constant()])
        annotation = f": {v.dtype}[{', '.join('?' if d is None else str(d) for d in v.shape)}]" if r.random() < 0.3 and start.startswith(v.name) else ""
        until = f"\n    until {r.choice(['Sum(' + s + ') > 10', 'False', f'{s} > 3'])}" if r.random() < 0.2 else ""
        while_ = f" while {r.choice([f'{s} < 100', 'True', f'Sum({s}) < 50'])}" if r.random() < 0.15 else ""
        inner = Value(s, v.dtype, v.shape) if start.startswith(v.name) else None
        saved = list(self.values)
        if inner:
            self.values.append(inner)
        step = self.fresh()
        body = f"    {step} = {r.choice([s + ' + 1', s + ' * ' + s, s, self.infix(1, inner or v), f'{s} + {x}', f'Tanh({s})', self.expression()])}"
        self.values = saved
        return [last, all_], (f"{last}, {all_} = loop ({over}, {s}{annotation} = {start}){while_} -> ({s}, [{step}]) {{\n{body}\n"
                              f"    next {s} = {step}{until}\n  }}")

    def for_statement(self):
        r, i, w, s = self.r, self.fresh("i"), self.fresh("w"), self.fresh("s")
        last, all_, step, v = self.fresh(), self.fresh(), self.fresh(), self.pick()
        start = r.choice([v.name, v.name, self.constant(), "0", "0.5"])
        lists = ["[1, 2, 3]", "[0.5, x1, 2]", '("a", "b")', "m.sizes", v.name, *(c[0] for c in self.consts)]
        items = [f"{i} in {r.choice(['0:3', '3:0:-1', '0:2', '1:9:4', 'm.sizes[0]:9', '0:n', '0:0'])}"]
        if r.random() < 0.5:
            items.append(f"{w} in {r.choice(lists)}")
        if r.random() < 0.05:
            items = items[1:]
        saved = list(self.values)
        if start == v.name:
            self.values.append(Value(s, v.dtype, v.shape))
        body = r.choice([f"{s} + {i}", f"{s} * 2 + {w}", f"Tanh({s})", f"Join{{axis=0}}({s}, {s})", f"{s}[{i}]", self.infix(1, v),
                         f"m.Scaled{{by={i}}}({s})", f"{s} / ({i} + 1)", f"float32[2, {i}]({i})"])
        self.values = saved
        more = r.choice(["", f"if {i} == 1 {{ next {s} = {step} }} else {{ next {s} = {s} }}", f"next {s} = {step}"]) or f"next {s} = {step} * 1"
        return [last, all_], (f"{last}, {all_} = for ({', '.join(items)}, {s} = {start}) -> ({s}, [{step}]) {{\n"
                              f"    {step} = {body}\n    {more}\n  }}")

    def used_statement(self):
        """Calls of fns of library.ptg."""
        r, v, out = self.r, self.pick(), self.fresh()
        call = r.choice([f"m.Scaled({v.name})", f"m.Scaled{{by={self.number('float64')}}}({v.name})", f"m.Shifted({v.name}, {self.atom(v)})",
                         f"m.Shifted({v.name}, by={self.atom(v)}, scale={self.atom()})", f"m.Applied{{f=m.Scaled}}({v.name})",
                         f"m.Applied{{f={r.choice(['Tanh', 'Sum', 'm.Nothing', 'm.Scaled{by=3}', 'Exp'])}}}({v.name})",
                         f"m.Hidden({v.name})", f"{v.name} * m.half + m.sizes[{r.randint(-2, 3)}]"])
        return [out], f"{out} = {call}"

    def fn_statement(self):
        r = self.r
        if not self.fns or r.random() < 0.5:
            name, generic = f"F{len(self.fns)}", r.random() < 0.5
            body = r.choice([
                "y = a + b", "y = Tanh(a) * b", "y = a[::-1] + b", "if rank(a) == 1 { y = a * b } else { y = Sum(a) + Sum(b) }",
                "y = if Sum(a) > 0 { y = a } else { y = a + b }", "c = a * 2\n  y = c - b", "y = Switch(a > b, a, b)",
                "if dtype(a) == float32 { y = a } else { y = Cast{float32}(b) }", "y = F0(a, b)", "y = a ** k + b",
            ])
            params = "a: F[...d], b: F[...d]" if generic else "a, b"
            self.fns.append((name, f"fn {name}{{k: int = {r.randint(-1, 3)}}}({params}) -> (y) {{\n  {body}\n}}"))
        name = r.choice(self.fns)[0]
        v, out = self.pick(), self.fresh()
        return [out], f"{out} = {name}{r.choice(['', '{k=2}', '{2}'])}({v.name}, {self.atom(v)})"

    def statement(self):
        r = self.r
        kind, name = r.random(), self.fresh()
        if kind < 0.08:
            return [name], f"{name} = {self.constant()}"
        if kind < 0.16:
            return self.if_statement()
        if kind < 0.21:
            return self.loop_statement()
        if kind < 0.24:
            return self.used_statement()
        if kind < 0.30:
            return self.fn_statement()
        if kind < 0.42 and self.raw_nodes:
            call, outputs = self.onnx_call()
            names = [name] + [self.fresh() for _ in range(min(outputs, r.randint(1, 3)) - 1)]
            annotation = f": {self.dtype()}[{', '.join(map(str, self.shape()))}]" if len(names) == 1 and r.random() < 0.15 else ""
            return names, f"{', '.join(names)}{annotation} = {call}"
        if kind < 0.47:
            return self.for_statement()
        if kind < 0.50:
            many = [op for op in op_table() if op[0] in ("Split", "QR", "SVD", "Eigh", "MaxAndArgmax", "Unique", "SLogDet")]
            if many:
                op = r.choice(many)
                names = [name] + [self.fresh() for _ in range(r.randint(1, 2))]
                args = ", ".join(self.atom() for _ in op[1]) if op[0] != "Split" else f"{self.pick().name}, 0, int64([1, 1])"
                return names, f"{', '.join(names)} = {op[0]}{self.properties(op[2])}({args})"
        return [name], f"{name} = {self.expression()}"

    # --- programs ---

    def note(self, text):
        """What is tried now, for the case that it kills the process."""
        self.trying = text
        if noted is not None:
            noted.value = text.encode()[: len(noted) - 1]

    def text(self, lines, outputs, fns=None):
        header = ", ".join(f"{v.name}: {v.dtype}[{', '.join(map(str, v.shape))}]" for v in self.inputs)
        fn_text = "".join(f[1] + "\n" for f in (self.fns if fns is None else fns))
        body = "".join(f"  {line}\n" for line in lines)
        consts = "".join(c[1] + "\n" for c in self.consts)
        used = 'use "library.ptg" as m\n' if "m." in consts + fn_text + body else ""
        return f"{used}{consts}{fn_text}graph g({header}) -> ({', '.join(outputs)}) {{\n{body}}}\n"

    def grow(self, statements):
        """Adds statements that compile. The program, or the refused one if it is to stay so."""
        outputs = []
        for c in list(self.consts):
            text = self.text([], [self.inputs[0].name])
            self.note(text)
            if compile_text(text)[0] is not None:
                break
            self.consts.remove(c)
        for _ in range(statements):
            for _ in range(8):
                before = list(self.fns)
                names, line = self.statement()
                text = self.text([*self.lines, line], [*outputs, *names])
                self.note(text)
                model, refused = compile_text(text)
                if model is not None:
                    self.lines.append(line)
                    outputs += names
                    types = value_types(onnx.load_model_from_string(model).graph.output)
                    self.values += [types[n] for n in names if types[n].dtype != "other"]
                    break
                self.refusals.append(refused)
                self.fns = before
                if self.r.random() < 0.01:
                    return text
        outputs = outputs or [self.inputs[0].name]
        return self.text(self.lines, outputs)


DTYPE_NAME = {f"tensor({o})": n for n, o in zip(
    DTYPES, "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float double".split(), strict=True)}


# --- what must hold of a program ---


def session(model, optimise=True):
    so = ort.SessionOptions()
    so.log_severity_level = 4
    so.intra_op_num_threads = 1
    so.graph_optimization_level = (
        ort.GraphOptimizationLevel.ORT_ENABLE_ALL if optimise else ort.GraphOptimizationLevel.ORT_DISABLE_ALL)
    return ort.InferenceSession(model, so, providers=["CPUExecutionProvider"])


def check_model(model):
    m = onnx.load_model_from_string(model)
    onnx.checker.check_model(m, full_check=True)
    onnx.shape_inference.infer_shapes(m, check_type=True, strict_mode=True, data_prop=True)
    return m


def random_input(rng, value, sizes):
    shape = tuple(int(rng.integers(0, 5)) if dim_of(d, sizes) is None else dim_of(d, sizes) for d in value.shape)
    d = np.dtype(value.dtype)
    if d.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if d.kind in "iu":
        return rng.integers(0 if d.kind == "u" else -4, 5, shape).astype(d)
    return np.asarray(np.round(rng.normal(size=shape) * 8) / 4).astype(d)


def dim_of(dim, sizes):
    """The size that a dim says, None if it is not said in terms of the inputs."""
    if dim is None or isinstance(dim, int):
        return dim
    if not re.fullmatch(r"[0-9nmk+*\- ]+", dim):
        return sizes.get(dim)
    return eval(re.sub(r"(\d)([nmk])", r"\1*\2", dim), {}, sizes)


def check_shapes(types, got, sizes):
    sizes = dict(sizes)
    for t, g in zip(types, got, strict=True):
        if g.dtype.name != t.dtype and t.dtype != "other":
            raise Broken(f"{t.name} is {g.dtype} but the model says {t.dtype}")
        if g.ndim != t.rank:
            raise Broken(f"{t.name} has shape {g.shape} but the model says {t.shape}")
        for said, is_ in zip(t.shape, g.shape):
            want = dim_of(said, sizes)
            if want is None and said is not None:
                sizes[said] = want = is_
            if want is not None and want != is_:
                raise Broken(f"{t.name} has shape {g.shape} but the model says {t.shape}, with {sizes}")


def same(a, b):
    if a.dtype.kind != "f":
        return np.array_equal(a, b)
    tolerance = {2: 2e-2, 4: 1e-4, 8: 1e-9}[a.dtype.itemsize]
    return np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)


def run(model, feeds, optimise=True):
    try:
        return session(model, optimise).run(None, feeds), None
    except Exception as e:  # any of the runtime's
        return None, str(e).strip().splitlines()[0]


def check_runs(g, text, model, types, rng, counts):
    sizes = {d: int(rng.integers(0, 5)) for d in DIMS}
    inputs = value_types(onnx.load_model_from_string(model).graph.input)  # equal dims have one name there
    feeds = {v.name: random_input(rng, v, sizes) for v in inputs.values()}
    got, failed = run(model, feeds)
    if failed:
        counts.append("failed: " + failed)
    else:
        check_shapes(types, got, sizes)
    others = [("no runtime rewrites", model, False)]
    for what, options in (("another opset", {"opset": int(rng.integers(13, 27))}), ("no rewrites", {"flags": [f"fno-{name}" for name in rewrites()]})):
        other, refused = compile_text(text, **options)
        if other is not None:
            check_model(other)
            others.append((f"{what} {options}", other, True))
        elif "flags" in options:
            raise Broken(f"refused without rewrites: {refused}")
    for what, other, optimise in others:
        again, failed_too = run(other, feeds, optimise)
        if bool(failed) != bool(failed_too):
            raise Broken(f"{what}: {failed or 'runs'} / {failed_too or 'runs'} with {sizes}")
        for t, a, b in zip(types, got or [], again or []):
            if not same(a, b):
                raise Broken(f"{what}: {t.name} differs with {sizes}\n{a!r}\n{b!r}\n{feeds}")


def try_seed(seed, counts):
    """Raises Broken, with the program."""
    g = Generator(seed)
    g.trying = ""
    try:
        text = g.grow(g.r.randint(1, 9))
        g.note(text)
        model, refused = compile_text(text)
        if refused:
            counts.append("refused")
            return text
        again, _ = compile_text(text)
        if model != again:
            raise Broken("two compilations, two models")
        m = check_model(model)
        session(model)
        types = value_types(m.graph.output)
        check_runs(g, text, model, list(types.values()), np.random.default_rng(seed), counts)
        counts.append("ran")
    except Exception as e:
        raise Broken(f"seed {seed}: {type(e).__name__}: {e}\n{g.trying}") from e
    return text


def child(seeds, at, text, queue):
    global noted
    noted = text
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    for seed in seeds:
        at.value = seed
        signal.alarm(60)
        counts = []
        try:
            try_seed(seed, counts)
            queue.put((seed, None, counts))
        except Broken as e:
            queue.put((seed, str(e), counts))
    signal.alarm(0)
    queue.put((None, None, []))


def run_range(first, count, jobs, report):
    """All seeds of the range; a child that dies is followed by another one behind the fatal seed."""
    spawn = multiprocessing.get_context("fork")
    todo = [range(first + i, first + count, jobs) for i in range(jobs)]
    work = [None] * jobs
    while any(t is not None for t in todo):
        for i in range(jobs):
            if todo[i] is None:
                continue
            if work[i] is None:
                at, text, queue = spawn.Value("q", -1), spawn.Array("c", 1 << 16), spawn.SimpleQueue()
                p = spawn.Process(target=child, args=(todo[i], at, text, queue))
                p.start()
                work[i] = (p, at, text, queue)
            p, at, text, queue = work[i]
            while not queue.empty():
                seed, broken, counts = queue.get()
                if seed is None:
                    p.join()
                    todo[i] = work[i] = None
                    break
                report(seed, broken, counts)
            if work[i] and not p.is_alive() and queue.empty():
                report(at.value, f"seed {at.value}: the process died with {p.exitcode}\n{text.value.decode()}", [])
                todo[i] = range(at.value + jobs, first + count, jobs)
                work[i] = None
                if not len(todo[i]):
                    todo[i] = None
        time.sleep(0.01)


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--first", type=int, default=0)
    a.add_argument("--count", type=int, default=300)
    a.add_argument("--jobs", type=int, default=1)
    a.add_argument("--seeds", help="write the programs to this folder instead of testing them")
    a.add_argument("--show", type=int, help="test one seed in this process")
    a.add_argument("--no-raw", action="store_true", help="no raw ONNX nodes")
    o = a.parse_args()
    Generator.raw_nodes = not o.no_raw
    if o.show is not None:
        print(try_seed(o.show, []))
        return
    if o.seeds:
        shutil.copy(os.path.join(HERE, "library.ptg"), o.seeds)
        for seed in range(o.first, o.first + o.count):
            g = Generator(seed)
            with open(os.path.join(o.seeds, f"generated{seed}.ptg"), "w") as f:
                f.write(g.grow(g.r.randint(1, 9)))
        return
    totals, broken = {}, 0

    def report(seed, why, counts):
        nonlocal broken
        if why:
            broken += 1
            print(f"--- {why}\n", flush=True)
        for c in counts:
            totals[c] = totals.get(c, 0) + 1

    run_range(o.first, o.count, o.jobs, report)
    for what, n in sorted(totals.items(), key=lambda x: -x[1]):
        print(f"{n:6d} {what}")
    print(f"{o.count} programs, {broken} broken")
    sys.exit(broken > 0)


if __name__ == "__main__":
    main()
