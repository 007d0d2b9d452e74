"""The numeric test of every op: the table of grid_table.py, enumerated, against PyTensor's Python mode.

In: rows (an op, how PyTensor builds it, what its arguments are). Every row is run for each dtype of
PyTensor, rank, static and dynamic dims, sizes with 0 and 1, special values, and five opsets. Out:
`Result`, what each cell (dtype, static or dynamic, opset) came to, and all failures. Must hold:
values as PyTensor's, or an error where PyTensor has one, or a refusal that the row declares.
"""

import itertools
import re
import zlib
from dataclasses import dataclass, field, replace

import mpmath as mp
import numpy as np
import onnxruntime as ort
from pytensor.compile.builders import OpFromGraph
from pytensor.graph.basic import Constant
from pytensor.graph.traversal import io_toposort
from pytensor.tensor.blockwise import Blockwise

from harness import ALL, OPSETS, QUIET, check_model, corner_values, listed, ulps, variable
from ptgc import _lib
from ptgc._ops import op_name
from ptgc._printer import print_graph
from ptgc.errors import CompileError
from ptgc.runtime import native, pairs, seen_as

COMPLEX = ("complex64", "complex128")
DTYPES = (*ALL, *COMPLEX)
SETS = {  # words for dtypes that stand together
    "all dtypes": DTYPES,
    "integers": ALL[1:9],
    "signed integers": ALL[1:5],
    "unsigned integers": ALL[5:9],
    "floats": ALL[9:],
    "complex": COMPLEX,
}
NEAR = {"complex64": 1e-4, "complex128": 1e-11}  # of the largest number
RANKS = (0, 1, 2, 3, 4)
LENGTHS = {  # size -> lengths of the dims that have letters, in the order in which these appear
    "0": (0,) * 6, "1": (1,) * 6, "2": (2, 3, 4, 5, 6, 7), "7": (7, 3, 2, 5, 4, 6),
    "0x": (0, 3, 2, 4, 5, 6), "x0": (3, 2, 4, 5, 6, 7),
}  # fmt: skip
CORNERS = "corners"
KINDS = ("static", "dynamic")


def words(dtypes):
    """bool, int8, ..., uint64 -> "bool, integers"."""
    out, left = [], [d for d in DTYPES if d in dtypes]
    for name, group in SETS.items():
        if set(group) <= set(left):
            out.append((DTYPES.index(group[0]), name))
            left = [d for d in left if d not in group]
    return ", ".join(w for _, w in sorted([*out, *((DTYPES.index(d), d) for d in left)]))


@dataclass(frozen=True)
class Near:
    """What a generator of values may look at: the row's special points, the first argument's shape."""

    points: tuple = ()
    first: tuple = ()


def anything(rng, dtype, shape, near=Near()):
    """Corner values first, then numbers of every magnitude."""
    d, n = np.dtype(dtype), int(np.prod(shape))
    if d.kind == "b":
        v = rng.integers(0, 2, n).astype(bool)
    elif d.kind in "iu":
        i = np.iinfo(d)
        v = np.where(rng.random(n) < 0.5, rng.integers(max(i.min, -9), 10, n), 0).astype(d)
        big = rng.integers(i.min, i.max, n, dtype=d, endpoint=True)
        v = np.where(v == 0, big, v).astype(d)
    else:
        v = rng.normal(size=n) * 10.0 ** np.where(rng.random(n) < 0.7, 0.5, rng.uniform(-8, 8, n))
        v = v.astype(d)
    c = corners(dtype, near.points)
    if n >= 2:
        c = rng.permutation(c)[: (n + 1) // 2]
        v[rng.permutation(n)[: len(c)]] = c
    return v.reshape(shape)


def corners(dtype, points=()):
    d = np.dtype(dtype)
    if d.kind != "f" or not points:
        return corner_values(dtype)
    with np.errstate(all="ignore"):
        return np.concatenate([corner_values(dtype), np.asarray(points).astype(d)])


@dataclass(frozen=True)
class A:
    """An argument. dtype: D is that of the column, E any other one; else it is fixed. shape: letters and
    numbers; "..." stands for as many dims as the rank asks for, "...1" for these with every other one
    of length 1, "...0" for none of them."""

    dtype: str = "D"
    shape: str = "..."
    values: object = anything


def tokens(shape):
    return [t.strip() for t in shape.split(",")] if shape else []


@dataclass(frozen=True)
class Form:
    """One way to use an op. build makes PyTensor's graph from variables; text is the body in .ptg,
    where a live graph would not say the op so ({0}, {1} are the arguments). typed: build takes the
    dtype of the column first. A form that leaves out dtypes, ranks or sizes says why in `but`."""

    build: object
    args: tuple = (A(),)
    name: str = ""
    text: object = None  # or a function of the rank
    ranks: tuple = RANKS
    sizes: tuple = ("0", "1", "2", "7", "0x", "x0")
    corners: bool = False  # also vectors of all combinations of corner values
    dtypes: tuple = ALL
    ulp: dict | None = None  # in place of the row's
    typed: bool = False
    but: str = ""

    def left_out(self):
        """What the form does not try, in words."""
        out = []
        if self.has_dtype() and (missing := [d for d in ALL if d not in self.dtypes]):
            out.append(words(missing))
        if any("..." in a.shape for a in self.args) and (missing := set(RANKS) - set(self.ranks)):
            out.append(f"rank {', '.join(map(str, sorted(missing)))}")
        letters = any(t.isalpha() or "..." in t for a in self.args for t in tokens(a.shape))
        if letters and (missing := [n for n in ("0", "1", "2", "7") if n not in self.sizes]):
            out.append(f"size {', '.join(missing)}")
        return "; ".join(out)

    def has_dtype(self):
        return self.typed or any(a.dtype == "D" for a in self.args)


@dataclass(frozen=True)
class No:
    """What the compiler must refuse: dtypes, below an opset, in words."""

    words: str
    dtypes: tuple = ALL
    below: int = 99
    form: str | None = None


@dataclass
class Row:
    """An op of the table. ulp, atol, zero_sign: tolerances that differ, with `why`. declared: where the
    Python mode takes small integers through float16, the oracle computes in the dtype it declares."""

    op: str
    forms: list
    near: tuple = ()
    ulp: dict = field(default_factory=dict)
    atol: dict = field(default_factory=dict)
    zero_sign: bool = True
    declared: bool = False
    no: tuple = ()
    as_declared: bool = (
        False  # PyTensor's value has another dtype than its variable, which is followed here
    )
    exact: object = None  # mpmath's function: decides where SciPy's result is not good enough
    inner: object = None  # of the arguments' dtypes: the one that PyTensor rounds to on the way
    why: str = ""


ULP = {"float16": 0, "float32": 2, "float64": 4}


@dataclass
class Result:
    cells: dict = field(default_factory=dict)  # (dtype, kind, opset) -> set of what happened
    pairs: dict = field(default_factory=dict)  # reason -> set of (dtype, other dtype)
    raised: dict = field(default_factory=dict)  # dtype -> PyTensor's errors
    forms: set = field(default_factory=set)  # those of which something was compared
    failures: list = field(default_factory=list)
    compared: int = 0
    models: int = 0

    def saw(self, case, kind, opset, outcome):
        if case.other:
            if outcome != "ok":
                self.pairs.setdefault(outcome, set()).add((case.dtype, case.other))
        else:
            self.cells.setdefault((case.dtype, kind, opset), set()).add(outcome)


@dataclass(frozen=True)
class Case:
    form: Form
    dtype: str
    other: str | None
    rank: int
    size: str
    number: int  # of the form, the dtype, the rank: rotates the opsets

    def __str__(self):
        pair = f" and {self.other}" if self.other else ""
        return (
            f"{self.form.name or 'plain'}: {self.dtype}{pair}, rank {self.rank}, size {self.size}"
        )


# ---- arguments ----


def fits(form, rank):
    """Has the form arguments of this rank? Without "..." a form has one rank, that of its first argument."""
    free = [tokens(a.shape) for a in form.args if "..." in a.shape]
    if not free:
        return rank == len(tokens(form.args[0].shape)) if form.args else rank == 0
    return rank in form.ranks and all(rank >= len(t) - 1 for t in free)


def batch_dims(form, rank):
    """How many dims "..." stands for: the first argument that has it gets the rank."""
    first = next((tokens(a.shape) for a in form.args if "..." in a.shape), None)
    return rank - (len(first) - 1) if first else 0


def shapes(form, rank, size):
    batch = batch_dims(form, rank)
    names = [f"d{i}" for i in range(batch)]
    for a in form.args:
        names += [t for t in tokens(a.shape) if t.isalpha() and t not in names]
    length = dict(zip(names, LENGTHS[size]))
    if size == "x0" and names:
        length[names[-1]] = 0
    out = []
    for a in form.args:
        shape = []
        for t in tokens(a.shape):
            if t == "...":
                shape += [length[f"d{i}"] for i in range(batch)]
            elif t == "...1":
                shape += [length[f"d{i}"] if i % 2 else 1 for i in range(batch)]
            elif t != "...0":
                shape.append(length[t] if t.isalpha() else int(t))
        out.append(tuple(shape))
    return out


def letters(form, rank):
    own = {t for a in form.args for t in tokens(a.shape) if t.isalpha()}
    return batch_dims(form, rank) + len(own)


def cases_of(row):
    for f, form in enumerate(row.forms):
        others = ALL if any(a.dtype == "E" for a in form.args) else (None,)
        for (d, dtype), (e, other) in itertools.product(enumerate(form.dtypes), enumerate(others)):
            for rank in RANKS:
                if not fits(form, rank) or other and rank != 1:
                    continue
                sizes = [s for s in form.sizes if len(s) == 1 or letters(form, rank) > 1]
                if not letters(form, rank):
                    sizes = sizes[-1:]
                if other:
                    sizes = ["2"]
                if form.corners and rank == 1:
                    sizes = [*sizes, CORNERS]
                for size in sizes:
                    yield Case(form, dtype, other, rank, size, f + d + e + rank)


def complex_arguments(row, case):
    """Numbers of ordinary size: the last bits of products differ between processors (see test_complex.py)."""
    rng = np.random.default_rng(1)
    real = replace(case, dtype="float64")
    return [
        (a.real.clip(-9, 9) + 1j * rng.normal(size=a.shape)).astype(case.dtype) if arg.dtype == "D" else a
        for arg, a in zip(case.form.args, arguments(row, real))
    ]


def dtype_of(a, case):
    return {"D": case.dtype, "E": case.other}.get(a.dtype, a.dtype)


def arguments(row, case):
    """The arrays of a case, the same at every opset and for every kind of dims."""
    form = case.form
    rng = np.random.default_rng(zlib.crc32(f"{row.op} {case}".encode()))
    if case.size == CORNERS:
        each = [corners(dtype_of(a, case), row.near) for a in form.args]
        arrays = [g.ravel() for g in np.meshgrid(*each, indexing="ij")]
        more = [a.values(rng, dtype_of(a, case), (200,), Near(row.near)) for a in form.args]
        arrays = [np.concatenate(p) for p in zip(arrays, more)]
        return [
            v[:1].reshape(()) if "...0" in a.shape else v[:1] if "...1" in a.shape else v
            for a, v in zip(form.args, arrays)
        ]
    out = []
    every = shapes(form, case.rank, case.size)
    near = Near(row.near, every[0] if every else ())
    for a, shape in zip(form.args, every):
        values = a.values(rng, dtype_of(a, case), shape, near)
        out.append(np.asarray(values, dtype_of(a, case)))
    return out


# ---- PyTensor ----


class Oracle:
    """PyTensor's Python code for a graph, node by node, as its own linker of thunks runs it."""

    def __init__(self, inputs, outputs):
        self.inputs, self.outputs = inputs, outputs
        self.nodes = io_toposort(inputs, outputs)
        self.storage = {v: [None] for v in [*inputs, *outputs]}
        for node in self.nodes:
            for v in [*node.inputs, *node.outputs]:
                self.storage.setdefault(v, [v.data if isinstance(v, Constant) else None])
        for v in outputs:
            if isinstance(v, Constant):
                self.storage[v] = [v.data]
        ready = {v: [True] for v in self.storage}
        self.thunks = [self.thunk(n, ready) for n in self.nodes]

    def thunk(self, node, ready):
        if not isinstance(node.op, OpFromGraph):
            return node.op.make_thunk(node, self.storage, ready, [], "py")
        inner = Oracle(node.op.inner_inputs, node.op.inner_outputs)

        def run():
            results = inner([self.storage[v][0] for v in node.inputs])
            for v, r in zip(node.outputs, results):
                self.storage[v][0] = r

        return run

    def __call__(self, arrays):
        for v, a in zip(self.inputs, arrays):
            self.storage[v][0] = np.array(a)
        for node in self.nodes:
            for v in node.outputs:
                self.storage[v][0] = None
        for thunk in self.thunks:
            thunk()
        return [np.asarray(self.storage[v][0]).copy() for v in self.outputs]


def by_declared_dtype(build):
    """NumPy takes bool and (u)int8 through float16, also beside float16, whatever PyTensor declares."""

    def other(*inputs):
        out = build(*inputs)
        dtype = listed(out)[0].dtype
        if not dtype.startswith("float"):
            return out
        return build(
            *[
                i.astype(dtype) if i.dtype in ("bool", "int8", "uint8", "float16") else i
                for i in inputs
            ]
        )

    return other


def ops_in(outputs, inputs):
    """Names of the ops of a graph, those inside of Blockwise too."""
    for node in io_toposort(inputs, outputs):
        yield op_name(node.op)
        if isinstance(node.op, Blockwise):
            yield op_name(node.op.core_op)


# ---- one row ----


class Refused(Exception):
    """By the compiler, for a reason."""


def set_inside(text, names):
    """The graph with an if before and behind it: ONNX Runtime takes away or joins nodes where inputs and outputs of
    the model are not next to them. What is chosen is the same on both sides, which neither the compiler nor the
    runtime looks at."""
    head, body = re.match(r"(?s)(.*?graph \w+\(.*?\)) -> (\(.*?\) \{.*)\}", text).groups()
    results = re.findall(r"\w+", body[: body.index(")")])
    for name in names:
        head = re.sub(rf"\b{name}:", f"{name}_in:", head)
    more = ", inside: bool[]" if names else "inside: bool[]"
    before = "".join(f"  {x} = if inside {{ {x} = {x}_in }} else {{ {x} = {x}_in }}\n" for x in names)
    behind = "".join(f"  {y}_out = if inside {{ {y}_out = {y} }} else {{ {y}_out = {y} }}\n" for y in results)
    outputs = ", ".join(f"{y}_out" for y in results)
    return f"{head[:-1]}{more}) -> ({outputs}) {{\n{before}{body[body.index('{') + 1 :].lstrip(chr(10))}{behind}}}\n"


class Session:
    """A graph as a model of one opset."""

    def __init__(self, text, names, tensors, opset, inside=False):
        self.names = [f"{n}_in" for n in names] if inside else names
        self.more = {"inside": np.array(True)} if inside else {}
        if inside:
            text = set_inside(text, names)
        try:
            model = _lib.compile_text(
                text, tensors=tensors, opset=opset, math="exact", flags=["Wno-unused"]
            ).model
        except CompileError as e:
            raise Refused(reason(e)) from e
        check_model(model, data_prop="O0" not in _lib.USUAL_FLAGS)  # at -O0 floats look like shapes to onnx
        self.session = ort.InferenceSession(model, QUIET, providers=["CPUExecutionProvider"])

    def __call__(self, arrays, outputs=()):
        feed = {n: pairs(a) if a.dtype.kind == "c" else a for n, a in zip(self.names, arrays)} | self.more
        return native(self.session.run(None, feed), seen_as(self.session, outputs))


def reason(e):
    """The first error in one line, without what differs between cases."""
    first = next(d for d in e.diagnostics if d.severity == "error")
    return re.sub(r"(?<=\w)\[[^\]]*\]", "", f"{first.text} [{first.code}]")


def invalid_text(text, names, inputs, case, dtype):
    """The same text for a dtype that PyTensor refuses: other types in the head. None: it says the op in another way"""
    head, body = text.split("{\n", 1)
    if "@" in body:  # Dot22, for which the printer writes @, takes floats alone
        return None
    for a, name, v in zip(case.form.args, names, inputs):
        if a.dtype == "D":
            head = head.replace(f"{name}: {v.type.dtype}[", f"{name}: {dtype}[")
    return None if re.search(rf"\b{inputs[0].type.dtype}\b", body) else head + "{\n" + body


class Run:
    """One row. Not full: each graph sees one opset, and one of three static sizes is taken, and a
    quarter of them set inside of the model; they rotate."""

    def __init__(self, row, full=False):
        self.row, self.full = row, full
        self.result = Result()
        self.used = set()
        self.valid = {}  # (form, rank) -> a case that PyTensor takes, its text
        self.good = {}  # (dtype, kind) -> a case that agreed
        self.graphs, self.oracles, self.sessions = {}, {}, {}

    def fail(self, case, message):
        self.result.failures.append(f"{self.row.op}, {case}: {message}")

    def raised(self, dtype, error):
        """PyTensor has no result: where that is so for all cases of a dtype the page says why."""
        first = (str(error).strip() or type(error).__name__).split("\n")[0]
        self.result.raised.setdefault(dtype, {}).setdefault(f"{type(error).__name__}: {first}", 0)

    # -- graphs and sessions are kept: dynamic ones serve several sizes --

    def graph(self, case, arrays, dynamic):
        types = (self.type_of(a, dynamic) for a in arrays)
        key = (case.form.name, dynamic, *self.first(case), *types)
        if key not in self.graphs:
            try:
                self.graphs[key] = self.make_graph(case, arrays, dynamic)
            except Exception as e:  # PyTensor has no such graph
                self.graphs[key] = e
        return key, self.graphs[key]

    @staticmethod
    def type_of(a, dynamic):
        return a.dtype.name, tuple(-1 if dynamic and s != 1 else s for s in a.shape)

    def make_graph(self, case, arrays, dynamic):
        inputs = [variable(a.dtype.name, a.shape, dynamic, f"x{k}") for k, a in enumerate(arrays)]
        return inputs, listed(case.form.build(*self.first(case), *inputs))

    @staticmethod
    def first(case):
        return [case.dtype] if case.form.typed else []

    def text(self, case, inputs, outputs):
        if case.form.text is None:
            assert self.row.op in ops_in(outputs, inputs), f"the graph has no {self.row.op}"
            g = print_graph(inputs, outputs)
            return g.text, g.inputs, g.tensors
        g = print_graph(inputs, inputs[:1])
        head = re.match(r"(?s).*?graph \w+\(.*?\) -> ", g.text)[0]
        names = [f"y{k}" for k in range(len(outputs))]
        text = case.form.text if isinstance(case.form.text, str) else case.form.text(inputs[0].ndim)
        body = text.format(*g.inputs)
        assert re.search(rf"\b{self.row.op}\b", body)
        return f"{head}({', '.join(names)}) {{\n  {', '.join(names)} = {body}\n}}\n", g.inputs, {}

    def oracle(self, key, case, graph):
        if key not in self.oracles:
            inputs, outputs = graph
            if self.row.declared:
                outputs = listed(by_declared_dtype(case.form.build)(*inputs))
            self.oracles[key] = Oracle(inputs, outputs)
        return self.oracles[key]

    def session(self, key, case, graph, opset, inside=False):
        key = (*key, opset, inside)
        if key not in self.sessions:
            try:
                text, names, tensors = self.text(case, *graph)
                self.result.models += 1
                self.sessions[key] = self.make_session(text, names, tensors, opset, inside)
                self.valid.setdefault((case.form.name, case.rank), (case, graph[0], text, names))
            except Refused as e:
                self.sessions[key] = e
            except Exception as e:
                self.sessions[key] = AssertionError(f"no model: {type(e).__name__}: {e}")
        return self.sessions[key]

    @staticmethod
    def make_session(*args):
        return Session(*args)

    # -- cases --

    def run(self):
        invalid = self.run_cases()
        self.check_invalid(invalid)
        self.check_complex()
        self.fill_up()
        for form in self.row.forms:
            if form.name not in self.result.forms:
                self.result.failures.append(
                    f"{self.row.op}, {form.name or 'plain'}: never compared"
                )
        for k, no in enumerate(self.row.no):
            if k not in self.used:
                self.result.failures.append(
                    f"{self.row.op}: nothing is refused any more with {no.words!r}: take it out"
                )
        return self.result

    def run_cases(self):
        """What PyTensor takes is compared; the other cases are the result, with PyTensor's errors."""
        invalid = []
        for case in cases_of(self.row):
            arrays = arguments(self.row, case)
            key, graph = self.graph(case, arrays, True)
            if isinstance(graph, Exception):
                invalid.append((case, graph))
                self.raised(case.dtype, graph)
                continue
            want = self.expected(key, case, graph, arrays)
            for kind in KINDS:
                key, graph = self.graph(case, arrays, kind == "dynamic")
                if isinstance(graph, Exception):
                    if not isinstance(want, Exception):
                        invalid.append((case, graph))
                    continue
                for opset in self.opsets(case, kind):
                    for inside in self.places(case, kind):
                        self.one(key, case, graph, arrays, want, kind, opset, inside)
        return invalid

    def opsets(self, case, kind):
        if self.full:
            return OPSETS
        turn = case.number
        if kind == "static":
            turn += list(LENGTHS).index(case.size) if case.size in LENGTHS else 0
        if (
            case.other
            and turn % 2 == (kind == "static")
            or kind == "static"
            and case.rank > 1
            and turn % 3
        ):
            return []
        return [OPSETS[turn % len(OPSETS)]]

    def places(self, case, kind):
        """Is the op next to the inputs and outputs of the model (False), or inside of it? A quarter is."""
        return (False, True) if self.full else (zlib.crc32(f"{case} {kind}".encode()) % 4 == 0,)

    def expected(self, key, case, graph, arrays):
        try:
            with np.errstate(all="ignore"):
                values = self.oracle(key, case, graph)(arrays)
                return (
                    [v.astype(o.dtype) for v, o in zip(values, graph[1])]
                    if self.row.as_declared
                    else values
                )
        except Exception as e:
            return e

    def one(self, key, case, graph, arrays, want, kind, opset, inside=False):
        where = f"{case}, {kind}, opset {opset}{', inside' * inside}"
        session = self.session(key, case, graph, opset, inside)
        raised = isinstance(want, Exception)
        if raised:
            self.raised(case.dtype, want)
        if isinstance(session, Refused):
            if raised:
                return
            self.result.saw(case, kind, opset, str(session))
            if not self.may_refuse(case, opset, str(session)):
                self.fail(where, f"refused: {session}")
            return
        if isinstance(session, Exception):
            self.fail(where, str(session))
            return
        try:
            got = session(arrays, graph[1])
        except Exception as e:
            if not raised:
                self.fail(where, f"it does not run: {e}; PyTensor gives {want}")
            return
        if raised:
            self.fail(
                where, f"it gives {got} of {arrays}; PyTensor raises {type(want).__name__}: {want}"
            )
            return
        self.result.compared += 1
        self.result.forms.add(case.form.name)
        try:
            for g, w in zip(got, want, strict=True):
                self.compare(g, w, arrays, {**ULP, **(case.form.ulp or self.row.ulp)})
            self.result.saw(case, kind, opset, "ok")
            if not case.other:
                self.good.setdefault((case.dtype, kind), case)
        except AssertionError as e:
            self.fail(where, str(e))

    def compare(self, got, want, arrays, limits):
        """Raises AssertionError; where a result is off, the true one of the row's `exact` decides."""
        assert got.dtype == want.dtype, f"{got.dtype}, PyTensor gives {want.dtype}"
        assert got.shape == want.shape, f"shape {got.shape}, PyTensor gives {want.shape}"
        bad = np.asarray(self.differ(got, want, limits))
        if self.row.exact and bad.any():
            for at in map(tuple, np.argwhere(bad)):
                bad[at] = not self.is_true(
                    got[at], want[at], [np.broadcast_to(a, got.shape)[at] for a in arrays]
                )
        if bad.any():
            at = tuple(np.argwhere(bad)[0])
            args = [
                repr(a[at]) if a.shape == got.shape else f"{a.dtype}{list(a.shape)}" for a in arrays
            ]
            raise AssertionError(
                f"result{list(map(int, at))}: {got[at]!r}, PyTensor gives {want[at]!r}"
                f" ({ulps(got[at], want[at]) if got.dtype.kind == 'f' else ''} ULP) of {', '.join(args)}"
            )

    def differ(self, got, want, limits):
        if got.dtype.kind == "c":
            return self.differ(got.real, want.real, limits) | self.differ(got.imag, want.imag, limits)
        if got.dtype.kind != "f":
            return np.asarray(got != want)
        name = got.dtype.name
        with np.errstate(all="ignore"):
            bad = (ulps(got, want) > limits[name]) & ~(
                np.abs(got - want) <= self.row.atol.get(name, 0.0)
            )
        if self.row.zero_sign:
            bad |= (got == 0) & (want == 0) & (np.signbit(got) != np.signbit(want))
        return bad

    def is_true(self, got, want, args):
        """Is it as near to the true result as the row allows?"""
        if not np.all(np.isfinite([got, *args])) or np.isnan(want) or got == want:
            return False
        mp.mp.prec = 1200
        true = self.row.exact(*[mp.mpf(float(a)) for a in args])
        unit = mp.mpf(float(np.spacing(np.abs(got))))
        if self.row.inner:
            inner = self.row.inner(*[np.asarray(a).dtype for a in args])
            unit = max(unit, abs(true) * float(np.finfo(inner).eps))
        return (
            abs(mp.mpf(float(got)) - true)
            <= max({**ULP, **self.row.ulp}[got.dtype.name], 0.5) * unit
        )

    def may_refuse(self, case, opset, said):
        for k, no in enumerate(self.row.no):
            if (
                case.dtype in no.dtypes and opset < no.below and re.search(no.words, said)
                and (no.form is None or no.form == case.form.name)
            ):  # fmt: skip
                self.used.add(k)
                return True
        return False

    def check_invalid(self, invalid):
        """What PyTensor refuses to build must be refused here too."""
        seen = set()
        for case, error in invalid:
            valid = self.valid.get((case.form.name, case.rank))
            if case.other or (case.form.name, case.dtype, case.rank) in seen:
                continue
            seen.add((case.form.name, case.dtype, case.rank))
            if not valid or valid[0].dtype == case.dtype:
                continue
            self.refuses(
                valid, case.dtype, str(case), f"PyTensor raises {type(error).__name__}: {error}"
            )

    def check_complex(self):
        """Forms that are converted on complex numbers are compared, the others must refuse them."""
        seen = set()
        for (form, _), valid in sorted(self.valid.items(), key=lambda v: abs(v[0][1] - 2)):
            if form in seen or not any(a.dtype == "D" for a in valid[0].form.args):
                continue
            seen.add(form)
            for dtype in COMPLEX:
                case = replace(valid[0], dtype=dtype, size="2", number=0)
                arrays = complex_arguments(self.row, case)
                key, graph = self.graph(case, arrays, True)
                if isinstance(graph, Exception):
                    why = f"PyTensor raises {type(graph).__name__}: {graph}"
                    said = self.refuses(valid, dtype, f"{form or 'plain'}: {dtype}", why)
                    for kind, opset in itertools.product(KINDS, OPSETS if said else ()):
                        self.result.cells.setdefault((dtype, kind, opset), set()).add(said)
                    continue
                want = self.expected(key, case, graph, arrays)
                for kind, opset in itertools.product(KINDS, OPSETS):
                    self.one_complex(case, arrays, want, kind, opset)

    def one_complex(self, case, arrays, want, kind, opset):
        where = f"{case}, {kind}, opset {opset}"
        key, graph = self.graph(case, arrays, kind == "dynamic")
        session = self.session(key, case, graph, opset)
        if isinstance(session, Refused):
            self.result.saw(case, kind, opset, str(session))
            return
        try:
            got = session(arrays, graph[1])
        except Exception as e:
            if not isinstance(want, Exception):
                self.fail(where, f"it does not run: {e or session}; PyTensor gives {want}")
            return
        if isinstance(want, Exception):
            self.fail(where, f"it gives {got}; PyTensor raises {type(want).__name__}: {want}")
            return
        self.result.compared += 1
        for g, w in zip(got, want, strict=True):
            large = np.abs(w[np.isfinite(w)]).max(initial=1) if w.dtype.kind in "fc" else 0
            if (g.dtype, g.shape) != (w.dtype, w.shape) or not np.allclose(
                g, w, rtol=0, atol=NEAR[case.dtype] * large, equal_nan=True
            ):
                self.fail(where, f"{g!r} of {arrays}, PyTensor gives {w!r}")
                return
        self.result.saw(case, kind, opset, "ok")

    def refuses(self, valid, dtype, where, why):
        case, inputs, text, names = valid
        text = invalid_text(text, names, inputs, case, dtype)
        if text is None:
            return None
        try:
            Session(text, names, {}, 18)
        except Refused as e:
            return str(e)
        except Exception as e:
            self.fail(where, f"{why}; here no model: {e}")
            return None
        self.fail(where, f"it compiles; {why}")
        return None

    def fill_up(self):
        """Each dtype meets all opsets with static and with dynamic dims, however few cases it has."""
        cases = {}
        for case in cases_of(self.row):
            if not case.other:
                cases.setdefault(case.dtype, []).append(case)
        for (dtype, own), kind in itertools.product(cases.items(), KINDS):
            best = [self.good.get((dtype, k)) for k in (kind, *KINDS)]
            for case in [*filter(None, best), *own[-1:-6:-1]]:
                self.fill(case, kind)

    def fill(self, case, kind):
        missing = [o for o in OPSETS if (case.dtype, kind, o) not in self.result.cells]
        arrays = arguments(self.row, case)
        key, graph = self.graph(case, arrays, True)
        if isinstance(graph, Exception) or not missing:
            return
        want = self.expected(key, case, graph, arrays)
        key, graph = self.graph(case, arrays, kind == "dynamic")
        if not isinstance(graph, Exception):
            for opset in missing:
                self.one(key, case, graph, arrays, want, kind, opset)
