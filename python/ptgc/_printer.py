"""A PyTensor graph as .ptg text: one walk over its nodes in topological order."""

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np
from pytensor.compile.builders import OpFromGraph
from pytensor.graph.basic import Constant, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.traversal import io_toposort
from pytensor.scalar.basic import Composite
from pytensor.scalar.loop import ScalarLoop
from pytensor.scan.op import Scan
from pytensor.tensor.basic import MakeVector, ScalarFromTensor, TensorFromScalar
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.elemwise import DimShuffle, Elemwise
from pytensor.tensor.random.op import AbstractRNGConstructor
from pytensor.tensor.subtensor import AdvancedIncSubtensor, AdvancedSubtensor, IncSubtensor
from pytensor.tensor.type_other import NoneTypeT

from ptgc import _expressions, _extend, _lib, _random, _text
from ptgc._batch_scan import batched_scan
from ptgc._draws import graph_of_draw
from ptgc._expressions import ATOM, Literal, level_of, place_in
from ptgc._model import LogDensity
from ptgc._ode import graph_of_ode
from ptgc._ops import (
    INDEXING,
    batched,
    check_perform,
    given_name,
    is_generator,
    is_list,
    is_tensor,
    is_value,
    op_name,
    op_text,
    own,
    property_text,
    type_text,
    unfused,
)
from ptgc.errors import Problem, UnsupportedError, part_of

NO_TYPE = "ONNX has no such type"
SPARSE = "sparse matrices are not supported: make it dense, as W.toarray() does with SciPy's"


def no_type(v: Variable) -> str:
    """Why a variable's type cannot be said."""
    return SPARSE if type(v.type).__name__ == "SparseTensorType" else NO_TYPE


WIDTH = 100  # of a line
INLINE_WIDTH = 60  # a longer expression becomes a statement
REPEAT_WIDTH = 20  # a longer constant that is used more than once becomes one too
ROLE_DEPTH = 3  # how many ops a named variable may be away from a constant that is called after it
REPEAT_BYTES = 16384  # of a file("..."): the compiler merges equal constants up to this size
NARY = ("Add", "Mul")  # ops of two operands or more
LISTED = {"bool", "float16", "float32", "float64"}  # dtypes whose MakeVector is a list; integers may be lengths
TYPED_INT = re.compile(r"u?int\d+\((-?\d+)\)\Z")
INDEXABLE = re.compile(r"(`([^`]|``)*`|[^\W\d]\w*)\Z|[A-Z][\w.]*[({].*\)\Z", re.S)  # among atoms


def solid(text: str) -> str:
    """The text without blanks and newlines."""
    return "".join(text.split())


def lengths(text: str) -> list[int]:
    """How many characters that are no blanks stand before each line, and before the end."""
    return [0, *accumulate(len(solid(row)) for row in text.splitlines())]


class Line:
    """A statement: its text, the variables that it defines, and the expressions inside of it with their variables."""

    __slots__ = ("defines", "inner", "place", "text")

    def __init__(self, text, defines=(), inner=(), place=0):
        self.text, self.defines, self.inner = text, defines, inner
        self.place = place  # where the compiler sees what stands behind " = "

    def variable(self, at: int, length: int = 0) -> Variable | None:
        """The variable behind so many characters that are no blanks: an infix operator stands for what it computes.
        Where several expressions begin there, as x[i] and x do, the one that is ``length`` characters long is meant, or
        the longest one. None: that is behind the statement; -1 stands for all of it."""
        places = [k for k, c in enumerate(self.text) if not c.isspace()]
        if at >= len(places):
            return None
        column = places[at] if at >= 0 else -1
        whole = self.defines[0] if self.defines else None
        start = self.text.find(" = ") + 3
        pieces = [(start, len(self.text) - start, start + self.place, whole)]
        for text, v in self.inner:
            at = self.text.find(text, start)
            while at >= 0:
                pieces.append((at, len(text), at + place_in(text), v))
                at = self.text.find(text, at + 1)
        exact = [(size, k) for k, (_, size, place, _) in enumerate(pieces) if place == column]
        if exact:
            _, k = min(exact) if length and all(n != length for n, _ in exact) else max(exact)
            k = next((k for n, k in exact if n == length), k)
            return pieces[k][3]
        around = [(size, k) for k, (at, size, _, _) in enumerate(pieces) if at < column < at + size]
        return pieces[min(around)[1]][3] if around else whole


@dataclass
class Text:
    """A printed graph, with the names that it uses and the places of its variables."""

    text: str
    inputs: list[str]
    outputs: list[str]
    tensors: dict[str, np.ndarray] = field(default_factory=dict)  # what file("...") stands for
    statements: list[tuple[int, Line]] = field(default_factory=list)  # line number, statement
    roots: list[Variable] = field(default_factory=list)

    def __post_init__(self):
        """Breaks long lines as ``ptgc fmt`` does, which adds blanks and newlines alone."""
        if max(map(len, self.text.splitlines()), default=0) <= WIDTH:
            return
        broken = _lib.format_text(self.text)
        if solid(broken) == solid(self.text):
            before, ends = lengths(self.text), lengths(broken)
            self.statements = [(bisect_right(ends, before[n - 1]), s) for n, s in self.statements]
            self.text = broken

    @property
    def lines(self) -> dict[int, Variable]:
        """The first variable that each line defines, by the line's number."""
        return {n: s.defines[0] for n, s in self.statements if s.defines}

    def variable(self, line: int, column: int = 0, length: int = 0) -> Variable | None:
        """The variable that is computed at a place of the text; lines and columns count from 1."""
        k = bisect_right(self.statements, line, key=lambda found: found[0]) - 1
        rows = self.text.splitlines()
        before = lengths(self.text)
        for number, statement in reversed(self.statements[: k + 1]):
            at = before[line - 1] + len(solid(rows[line - 1][: max(column - 1, 0)])) - before[number - 1]
            if at >= 0:
                return statement.variable(at if column else -1, length)
        return None

    def line(self, number: int) -> str:
        return self.text.splitlines()[number - 1] if number else ""


class Names:
    """Gives every value a name of its own."""

    def __init__(self):
        self.taken = set()
        self.count = 0
        self.next = {}  # name -> the number to try next

    def exact(self, name):
        """This name, which must be free."""
        if name in self.taken:
            raise ValueError(f"the name {name!r} is given twice")
        self.taken.add(name)
        return name

    def near(self, name):
        """This name if it is free, else with a number: x, x_2, x_3. For None it is v1, v2 and so on."""
        if not name:
            return self.fresh()
        name = _text.clean_name(name)
        if name in self.taken:
            k = self.next.get(name, 2)
            while f"{name}_{k}" in self.taken:
                k += 1
            self.next[name] = k + 1
            name = f"{name}_{k}"
        self.taken.add(name)
        return name

    def fresh(self):
        while True:
            self.count += 1
            if (name := f"v{self.count}") not in self.taken:
                self.taken.add(name)
                return name


class Skip(Exception):
    """The node needs a value that could not be written; the problem is reported already."""


def indexable(text: str) -> str:
    """The expression in a form that ``[...]`` may follow."""
    return text if level_of(text) == ATOM and INDEXABLE.match(text) else f"({text})"


def index_text(idx_list, args) -> str:
    """The inside of x[...]: ``1:n, i``. The integers in idx_list are positions among the index arguments."""

    def part(p):
        if p is None:
            return ""
        found = TYPED_INT.match(args[p])  # instead of int64(3), an index may be written 3
        return found[1] if found and int(found[1]) < 2**63 else args[p]

    out = []
    for entry in idx_list:
        if isinstance(entry, slice):
            text = f"{part(entry.start)}:{part(entry.stop)}"
            out.append(text + (f":{part(entry.step)}" if entry.step is not None else ""))
        else:
            out.append(part(entry))
    return ", ".join(out) or "..."


def is_transpose(v: Variable) -> bool:
    """Has PyTensor named it x.T, after x?"""
    return isinstance(v.owner.op, DimShuffle) and v.name == f"{v.owner.inputs[0].name}.T"


def through_conversions(v: Variable) -> Variable:
    """The language makes no difference between scalars and tensors of rank 0."""
    while v.owner is not None and isinstance(v.owner.op, ScalarFromTensor | TensorFromScalar):
        v = v.owner.inputs[0]
    return v


def nonzero_text(v: Variable, text: str) -> str:
    return text if v.type.dtype == "bool" else _expressions.call("Neq", [text, "0"])


class Printer:
    """Writes one graph or fn. The printer of an inner graph shares the fns and tensors of the outer one."""

    def __init__(self, dims=None, types=False, outer=None, file_of=None, generators=None, of_model=False):
        self.names = Names()
        self.of_model = of_model  # large constants are data, which are no weights that other tools may exchange
        self.consts: list[str] = []
        self.dims = dims or {}
        self.generators = generators or {}
        self.types = types
        self.fns: list[Block] = outer.fns if outer else []  # a fn stands before those that call it
        self.fn_names = outer.fn_names if outer else Names()
        self.fn_of = outer.fn_of if outer else {}  # id of an inner graph, or a registered text -> the fn's name
        self.tensors = outer.tensors if outer else {}
        self.file_of = outer.file_of if outer else file_of or (lambda label: label)
        self.alive = outer.alive if outer else []  # objects whose ids are in use
        self.libraries = outer.libraries if outer else set()  # what `use <name>` brings in
        self.nested = outer is not None
        self.problems = []
        self.texts = {}  # variable -> its name, or its expression if that is written where the variable is used
        self.inner = {}  # variable of such an expression -> [(text, variable)...] inside of it
        self.missing = set()  # variables that cannot be written
        self.lines: list[Line] = []
        self.params = []
        self.shown = {}  # node -> what is written as its operands, where these are not its inputs
        self.products = set()  # nodes that are written a @ b
        self.readers = {}  # variable -> the first node that reads it, and at which place among the operands

    # ---- values ----

    def constant(self, v: Constant) -> str:
        if isinstance(v.type, NoneTypeT) or v.data is None:
            return "None"
        if is_generator(v):
            return self.define(v, _random.text(v.data))
        if is_list(v):
            return self.listed(self.constant(v.type.ttype.make_constant(x)) for x in v.data)
        if not is_tensor(v):
            raise TypeError(f"a constant of type {v.type}: {no_type(v)}")
        data = np.asarray(v.data)
        if data.dtype.kind not in "biufc" or data.dtype.name not in _lib.dtypes():
            raise TypeError(f"a constant of dtype {data.dtype}")
        text = _text.constant(data)
        if text is None:
            name = self.names.near(v.name or self.role(v))
            label, k = name, 2
            while label in self.tensors:  # another fn has it
                label, k = f"{name}_{k}", k + 1
            self.tensors[label] = data
            text = f"file({_text.string(self.file_of(label))})"
            if not v.name and (self.uses.get(v, 0) < 2 or data.nbytes <= REPEAT_BYTES):
                self.texts[v] = text  # the same file at each use
                return text  # a constant with a name is kept under it in the model
            if self.of_model:
                self.texts[v] = _text.quote(name)
                self.consts.append(f"const {self.texts[v]} = {text}\n")
                return self.texts[v]
        elif not v.name and (len(text) <= REPEAT_WIDTH or self.uses.get(v, 0) < 2):
            return text
        else:
            name = self.names.near(v.name)
        return self.define(v, text, name)

    def role(self, v: Constant) -> str:
        """What to call a constant without a name: after what it is to the op that reads it, and what that computes."""
        node, k = self.readers.get(v, (None, 0))
        role = "weight" if node in self.products else _expressions.role(node, k)
        role = "mask" if v.type.dtype == "bool" else role
        for _ in range(ROLE_DEPTH):
            if node is None or len(node.outputs) > 1:
                break
            [out] = node.outputs
            if out.name:
                return f"{out.name.removesuffix('_logprob')}_{role}"
            if self.uses.get(out) != 1:
                break
            node, _ = self.readers.get(out, (None, 0))
        return role

    def define(self, v, text, name=None) -> str:
        """Writes the statement ``name = text`` for a variable without an op; returns the name."""
        self.texts[v] = _text.quote(name or self.names.near(v.name))
        self.lines.append(Line(f"{self.texts[v]} = {text}", (v,)))
        return self.texts[v]

    def argument(self, v) -> str:
        if v in self.texts:
            return self.texts[v]
        if isinstance(v, Constant):
            return self.constant(v)
        if v in self.missing:
            raise Skip
        raise ValueError(f"the graph needs {v}, which is not among the inputs")

    def listed(self, items) -> str:
        return f"[{', '.join(items)}]"

    # ---- calls ----

    def update(self, op, args) -> str:
        """x[...].set(y) or .inc(y)"""
        x, y, *idx = args
        if getattr(op, "ignore_duplicates", False):
            return f"{op_text(op)}({', '.join(args)})"
        how = "set" if op.set_instead_of_inc else "inc"
        return f"{indexable(x)}[{index_text(op.idx_list, idx)}].{how}({y})"

    def indexing(self, node, args) -> str:
        """x[...], x[...].set(y) or .inc(y); the op with properties where these would be read as another op."""
        op = node.op
        if isinstance(op, AdvancedSubtensor | AdvancedIncSubtensor):
            skip = 1 if isinstance(op, AdvancedSubtensor) else 2
            if not any(getattr(v.type, "ndim", 0) for v in node.inputs[skip:]):
                # with indices that are all scalars x[...] would be the basic op
                return f"{op_text(op)}({', '.join(args)})"
        if isinstance(op, IncSubtensor | AdvancedIncSubtensor):
            return self.update(op, args)
        return f"{indexable(args[0])}[{index_text(op.idx_list, args[1:])}]"

    def call(self, node, args) -> str:
        op = node.op
        if (write := getattr(op, "ptg_call", None)) is not None:  # an op of this package
            return write(self, args)
        scalar_op = op.scalar_op if isinstance(op, Elemwise) else op
        if (entry := _extend.lookup(op) or _extend.lookup(scalar_op)) is not None:
            return self.registered(entry, scalar_op, node, args)
        if (graph := graph_of_draw(node)) is not None:
            given = [a for a, v in zip(args, node.inputs) if not isinstance(v.type, NoneTypeT)]
            return self.fn_call(graph, type(op).__name__, given)
        if (graph := graph_of_ode(node, bool(self.uses.get(node.outputs[-1])))) is not None:
            return self.fn_call(graph, "solution", args)
        check_perform(op)
        if node in self.products:
            return _expressions.call("Matmul", args)
        if isinstance(op, Scan):
            return self.scan(op, args)
        if isinstance(scalar_op, ScalarLoop):
            step = self.fn_property(scalar_op.fgraph, scalar_op.name or "step", typed=False)
            is_while = ", is_while=True" if scalar_op.is_while else ""
            return f"{op_name(op)}{{{step}{is_while}}}({', '.join(args)})"
        if type(op).__module__.startswith("pytensor.sparse"):
            raise TypeError(SPARSE)
        if type(op).__module__.startswith("pytensor.xtensor"):
            if op_name(op) in ("XTensorFromTensor", "TensorFromXTensor", "Rename", "RNGToXRNG", "XRNGToRNG"):
                return f"Identity({args[0]})"
            raise TypeError("ONNX has no such tensors; xtensor graphs are lowered by PyTensor's rewrites")
        if isinstance(op, AbstractRNGConstructor) and own(op) and (text := _random.seeded(node)):
            return text
        if isinstance(op, INDEXING) and own(op):
            return self.indexing(node, args)
        if isinstance(op, MakeVector) and args and {v.type.dtype for v in node.inputs} == {op.dtype} <= LISTED:
            return self.listed(args)
        if (
            isinstance(op, DimShuffle)
            and not node.inputs[0].type.ndim
            and tuple(op.new_order) == ("x",)
            and node.inputs[0].type.dtype in LISTED - {"bool"}
        ):
            return self.listed(args)
        if type(op).__name__ == "JAXShapeTuple":  # functions compiled by JAX have it
            return f"MakeVector{{dtype={node.outputs[0].type.dtype}}}({', '.join(args)})"
        if isinstance(scalar_op, Composite):
            return self.fn_call(scalar_op.fgraph, "Fused", args, typed=False)
        if len(parts := unfused(node)) == 2:
            return f"{op_text(parts[1].op, parts[1])}({self.call(parts[0], args)})"
        if isinstance(op, LogDensity):
            return self.generic_call(op, node, args)
        # an Einsum is written as the graph inside of it: that is what PyTensor computes, for integers too
        if isinstance(op, OpFromGraph) and not (own(op) and _lib.op_known(op_name(op)) and op_name(op) != "Einsum"):
            return self.fn_call(op.fgraph, given_name(node), args)
        if (
            isinstance(op, Blockwise)
            and isinstance(core := op.core_op, OpFromGraph)
            and not (own(core) and _lib.op_known(op_name(core)))
        ):
            return self.fn_call(batched(node), given_name(node) + "_batch", args)
        if isinstance(op, Blockwise) and isinstance(op.core_op, Scan):
            inputs = [v.type() for v in node.inputs]
            loop = FunctionGraph(inputs, batched_scan(op.make_node(*inputs)), clone=False)
            return self.fn_call(loop, (op.core_op.name or "scan_fn") + "_batch", args)
        strong = [v for v, text in zip(self.operands(node), args) if not isinstance(text, Literal)]
        name = op_text(op, node)
        same = name in NARY and all(v.type.dtype == node.outputs[0].type.dtype for v in strong)
        return _expressions.call(name, args, same)

    def registered(self, entry, op, node, args) -> str:
        callee, text = entry.text_of(op, node)
        if text is not None:
            header = _extend.last_header(text)
            if text not in self.fn_of:
                name = self.new_fn(_text.unquote(header[1]))
                self.fn_of[text] = name
                written = text[: header.start(1)] + name + text[header.end(1) :]
                self.fns.append(Block(written.rstrip("\n") + "\n", [], []))
            callee = self.fn_of[text] + callee.removeprefix(header[1])
        return f"{callee}({', '.join(args)})"

    def scan(self, op, args) -> str:
        """Scan with its fn, and those of its properties, which are those of ScanInfo, that are not 0 or empty."""
        parts = [self.fn_property(op.fgraph, op.name or "scan_fn")]
        for p in _lib.op_properties("Scan"):
            if value := getattr(op.info, p, None):
                parts.append(f"{p}={property_text(value)}")
        return f"Scan{{{', '.join(parts)}}}({', '.join(args)})"

    def fn_property(self, fgraph, label, typed=True) -> str:
        name = self.fn_of_graph(fgraph, label, typed)
        # f{} is the fn where f would be a value or a dim of that name
        plain, dims = _text.unquote(name), (dim for axes in self.dims.values() for dim in axes.values())
        return f"fn={name}{{}}" if plain in self.names.taken or plain in dims else f"fn={name}"

    def add_text(self, text: str) -> None:
        """Writes a whole fn before what is printed next."""
        self.fns.append(Block(text, [], []))

    def new_fn(self, name) -> str:
        """The text of a fn's name that no other fn has and that hides no op."""
        return _text.quote(self.fn_names.near(_text.fn_name(name)))

    def generic_call(self, op, node, args) -> str:
        """A call of a fn without types, which serves all graphs that read the same."""
        if id(op) not in self.fn_of:
            inner = Printer(outer=self)
            graph = op.fgraph
            block = inner.block(
                "", graph.inputs, graph.outputs, input_names=op.parameters, output_names=["logp"], typed=False
            )
            self.problems += inner.problems
            key = (op.name, block.head, *(line.text for line in block.lines))
            if key not in self.fn_of:
                self.fn_of[key] = self.new_fn(op.name)
                block.head = f"fn {self.fn_of[key]}{block.head}"
                self.fns.append(block)
            self.alive.append(op)
            self.fn_of[id(op)] = None if inner.problems else self.fn_of[key]
        if self.fn_of[id(op)] is None:
            raise Skip
        return f"{self.fn_of[id(op)]}({', '.join(args)})"

    def fn_of_graph(self, fgraph, label, typed=True) -> str:
        """The name of the fn for an inner graph. The fn is written when the graph is first met."""
        fgraph = getattr(fgraph, "fgraph", fgraph)
        if id(fgraph) not in self.fn_of:
            inner = Printer(types=self.types and typed, outer=self)
            name = self.new_fn(label)
            block = inner.block(f"fn {name}", fgraph.inputs, fgraph.outputs, typed=typed)
            self.problems += inner.problems
            self.alive.append(fgraph)
            self.fn_of[id(fgraph)] = None if inner.problems else name
            self.fns.append(block)
        if self.fn_of[id(fgraph)] is None:
            raise Skip
        return self.fn_of[id(fgraph)]

    def fn_call(self, fgraph, label, args, typed=True) -> str:
        return f"{self.fn_of_graph(fgraph, label, typed)}({', '.join(args)})"

    def branches(self, node, args, targets) -> str:
        """IfElse and LazyIfElse as an if that is decided at run time."""
        op, n = node.op, len(node.outputs)
        cond, rest = nonzero_text(node.inputs[0], args[0]), args[1:]
        if hasattr(op, "true_branch"):
            sides = [
                self.fn_call(g, name, rest)
                for g, name in ((op.true_branch, "Then"), (op.false_branch, "Else"))
            ]
            bodies = [f"{', '.join(targets)} = {side}" for side in sides]
        else:
            halves = rest[:n], rest[n:]
            bodies = ["\n    ".join(f"{t} = {v}" for t, v in zip(targets, half)) for half in halves]
        return f"if {cond} {{\n    {bodies[0]}\n  }} else {{\n    {bodies[1]}\n  }}"

    # ---- statements ----

    def operands(self, node) -> list:
        """The variables that are written as the operands of a node."""
        return self.shown.get(node, node.inputs)

    def as_written(self, order, outputs) -> dict:
        """{node: operands} for the nodes whose operands are not written as PyTensor has them: those of elementwise ops
        without what these broadcast by themselves, those of a @ b."""
        _, uses = self.needed(order, outputs)
        found = {}
        for node in order:
            scalar_op = node.op.scalar_op if isinstance(node.op, Elemwise) else node.op
            if _extend.lookup(node.op) or _extend.lookup(scalar_op):
                continue
            shown = _expressions.product(node, lambda v: uses[v] == 1)
            if shown is not None:
                self.products.add(node)
            else:
                shown = _expressions.operands(node)
            shown = [through_conversions(v) for v in shown]
            if any(a is not b for a, b in zip(shown, node.inputs)) or len(shown) > len(node.inputs):
                found[node] = shown
        return found

    def needed(self, order, outputs) -> tuple[list, dict]:
        """The nodes that the text needs, and how often each variable is an operand. An output counts twice, so that it
        becomes a statement."""
        uses: dict[Variable, int] = {}
        for v in outputs:
            uses[v] = uses.get(v, 0) + 2
        found = []
        for node in reversed(order):
            if any(v in uses for v in node.outputs):
                found.append(node)
                for k, v in enumerate(self.operands(node)):
                    uses[v] = uses.get(v, 0) + 1
                    self.readers[v] = node, k
        return found[::-1], uses

    def arguments(self, node) -> tuple[list[str], list]:
        """The texts of a node's operands, and the expressions inside of them."""
        shown, texts, inner = self.operands(node), [], []
        found = _expressions.literals(op_name(node.op), node, shown) if self.plain else {}
        called = isinstance(node.op, LogDensity)  # whose fn has no types, so it takes literals as they are
        if called:
            alone = {k: _text.alone(np.asarray(v.data)) for k, v in enumerate(shown) if isinstance(v, Constant)}
            found = {k: text for k, text in alone.items() if text and not shown[k].name}
        for k, v in enumerate(shown):
            apart = called and not v.type.ndim  # each call has its own numbers
            short = k in found and (apart or len(found[k]) <= REPEAT_WIDTH or self.uses[v] < 2)
            if short and v not in self.texts:
                texts.append(found[k])
                continue
            texts.append(self.argument(v))
            inner += self.inner.get(v, ())
        for k in _expressions.promoted(op_name(node.op), node, shown):
            texts[k] = f"Cast{{float64}}({texts[k]})"
        return texts, inner

    def statement(self, node, wanted):
        op, out = node.op, node.outputs[0]
        args, inner = self.arguments(node)
        if op_name(op) == "MakeList" and own(op) and is_list(out) and out not in wanted:
            # a list is written where it is used
            self.texts[out] = self.listed(args)
            self.inner[out] = inner
            return
        for v in node.outputs:
            if not is_value(v):
                raise TypeError(f"it gives {v.type}, which ONNX cannot hold")
        inline = len(node.outputs) == 1 and out not in wanted and (not out.name or is_transpose(out))
        # the language makes no difference between scalars and tensors of rank 0
        same = isinstance(op, ScalarFromTensor | TensorFromScalar) and inline
        if same and (node.inputs[0] not in self.inner or self.uses.get(out) == 1):
            self.texts[out] = args[0]
            if inner:
                self.inner[out] = inner
            return
        lazy = type(op).__name__ in ("IfElse", "LazyIfElse") and own(op)
        if not lazy:
            text = self.call(node, args)
            if inline and self.uses.get(out) == 1 and len(text) <= INLINE_WIDTH and not self.types:
                self.texts[out] = text
                self.inner[out] = [*inner, (text, out)]
                return
        targets = [self.target(v, wanted, len(node.outputs) > 1 and not lazy) for v in node.outputs]
        if lazy:
            text = self.branches(node, args, targets)
        left = targets
        if self.types and not lazy:
            # the kind of a generator is that of the one that it comes from
            left = [t if is_generator(v) else f"{t}: {type_text(v.type)}" for t, v in zip(targets, node.outputs)]
        for v, target in zip(node.outputs, targets):
            self.texts[v] = target
        left = ", ".join(left)
        if level_of(text) < ATOM and len(left) + len(text) + 5 > WIDTH:
            text = _expressions.expr(f"({text})", at=place_in(text) + 1)  # a line can be broken in parentheses
        self.lines.append(Line(f"{left} = {text}", tuple(node.outputs), inner, place_in(text)))

    def target(self, v, wanted, may_drop) -> str:
        if may_drop and v not in wanted and not self.uses.get(v):
            return "_"
        return _text.quote(wanted.get(v) or self.names.near(v.name))

    def failed(self, node, problems):
        """Notes the problems, and goes on as if the results were inputs: so all problems are found at once."""
        self.problems += problems
        for v in node.outputs:
            if self.nested or not is_value(v):
                self.missing.add(v)
            else:
                self.texts[v] = _text.quote(self.names.near(v.name))
                self.params.append(("", f"{self.texts[v]}: {self.type_of(v)}"))

    def try_statement(self, node, wanted):
        try:
            self.statement(node, wanted)
        except Skip:
            self.failed(node, [])
        except TypeError as e:
            v = next((v for v in node.outputs if v.name), node.outputs[-1])
            self.failed(node, [Problem(op_name(node.op), node, v, str(e))])

    # ---- blocks ----

    def type_of(self, v) -> str:
        if is_generator(v):
            return _random.KINDS[_random.kind_of(self.generators.get(v, "PCG64"))]
        return type_text(v.type, self.dims.get(v))

    def declare(self, inputs, input_names, constants, typed=True):
        for k, v in enumerate(inputs):
            name = v.name if self.nested else v.name or f"in{k}"
            name = self.names.exact(input_names[k]) if input_names else self.names.near(name)
            self.texts[v] = _text.quote(name)
            if not is_value(v):
                self.missing.add(v)
                del self.texts[v]
                self.problems.append(Problem(f"an input of type {v.type}", None, v, no_type(v)))
                continue
            typed_here = typed and not (self.nested and is_generator(v))  # a fn draws from generators of any kind
            text = f"{self.texts[v]}: {self.type_of(v)}" if typed_here else self.texts[v]
            self.params.append((name, text))
        for v, data in (constants or {}).items():  # shared variables that become initializers
            if not is_value(v):
                self.missing.add(v)
                self.problems.append(Problem(f"a shared variable of type {v.type}", None, v, no_type(v)))
                continue
            if is_generator(v):
                self.define(v, _random.text(data))
                continue
            name = self.names.near(v.name or "shared")
            self.tensors[name] = np.asarray(data)
            self.define(v, f"file({_text.string(self.file_of(name))})", name)

    def declare_states(self, states):
        for v, (first, _) in states.items():
            name = self.names.exact(v.name)
            self.texts[v] = _text.quote(name)
            text = _text.constant(np.asarray(first))
            self.lines.append(Line(f"state {self.texts[v]}: {self.type_of(v)} = {text}"))

    def result_names(self, outputs, output_names, wanted):
        results, seen = [], set()
        for k, v in enumerate(outputs):
            name = (wanted[k] if wanted else None) or v.name
            if output_names:
                name = output_names[k]
                if self.texts.get(v) != _text.quote(name) or v in seen:
                    self.names.exact(name)
            else:
                name = self.names.near(name or ("out" if len(outputs) == 1 else f"out{k}"))
            seen.add(v)
            results.append((v, name))
        return results

    def finish_states(self, states):
        for v, (_, following) in states.items():
            self.lines.append(Line(f"next {self.texts[v]} = {self.argument(following)}", (), self.inner.get(following, ())))

    def finish(self, results):
        for v, name in results:
            target = _text.quote(name)
            if v in self.missing and v.owner is None:
                self.problems.append(Problem(f"a result of type {v.type}", None, v, no_type(v)))
            if v in self.missing or self.texts.get(v) == target:
                continue
            before = v in self.texts
            text = self.argument(v)
            text = f"Identity({text})" if before or v in self.texts else text
            self.lines.append(Line(f"{target} = {text}", (v,), self.inner.get(v, ()), place_in(text)))

    def block(
        self, head, inputs, outputs, *, input_names=None, output_names=None, constants=None,
        wanted_names=None, typed=True, terms=(), states=None,
    ):  # fmt: skip
        states = states or {}
        sources, results = [*inputs, *states, *(constants or ())], [*outputs, *(v for _, v in states.values())]
        order = io_toposort(sources, [*terms, *results][::-1])  # what the first output needs comes first
        self.plain = typed or bool(input_names)
        self.shown = self.as_written(order, results) if self.plain else {}
        order, self.uses = self.needed(order, results)
        self.declare(inputs, input_names, constants, typed)
        self.declare_states(states)
        results = self.result_names(outputs, output_names, wanted_names)
        wanted = {v: name for v, name in reversed(results) if v not in self.texts}
        for node in order:
            self.try_statement(node, wanted)
        self.finish(results)
        self.finish_states(states)
        results = [(v, name) for v, name in results if v not in self.missing]
        names = ", ".join(_text.quote(name) for _, name in results)
        head = f"{head}({', '.join(text for _, text in self.params)}) -> ({names}) {{\n"
        return Block(head, self.lines, [n for n, _ in self.params if n], [n for _, n in results])


@dataclass
class Block:
    """A graph or fn. A registered fn has no lines: all of its text is ``head``."""

    head: str
    lines: list[Line]
    inputs: list[str]
    outputs: list[str] = field(default_factory=list)

    def write(self, out: list[str], number: int, statements) -> int:
        """Appends the text to ``out`` and its statements to ``statements``; returns the number of the next line."""
        out.append(self.head)
        number += self.head.count("\n")
        for line in self.lines:
            statements.append((number, line))
            out.append(f"  {line.text}\n")
            number += line.text.count("\n") + 1
        if self.head.endswith("{\n"):
            out.append("}\n")
            number += 1
        return number


def print_graph(
    inputs, outputs, *, name="main", input_names=None, output_names=None, dims=None, constants=None,
    wanted_names=None, types=False, file_of=None, generators=None, terms=(), states=None,
) -> Text:  # fmt: skip
    """The graph from ``inputs`` to ``outputs`` as a complete .ptg file.

    dims: {variable: {axis: name}} for lengths that the types leave open. constants: {variable: value} for
    variables that are not inputs, such as shared ones. wanted_names: names for the outputs, as far as they are
    free, where ``output_names`` are exactly those to use. types: writes the type of every value. file_of: the
    path to write in ``file(...)`` for the name of a large constant. terms: of a model's density, whose data are
    consts. generators: {input: "Philox"}, the kinds of those that are not PCG64. states: {variable: (its first
    value, the variable that is its next one)}. UnsupportedError lists all that cannot be written.
    """
    from pytensor import config

    p = Printer(dims, types, file_of=file_of, generators=generators, of_model=bool(terms))
    main = p.block(
        f"graph {_text.quote(_text.clean_name(name))}", inputs, outputs, input_names=input_names,
        output_names=output_names, constants=constants, wanted_names=wanted_names, terms=terms,
        states=states,
    )  # fmt: skip
    out = ["ptg 1\n" if config.floatX == "float64" else f"ptg 1 floatX={config.floatX}\n"]
    out += [f"use <{name}>\n" for name in sorted(p.libraries)]
    out += ["\n", *p.consts] if p.consts else []
    number, statements = 1 + len(out), []
    for block in [*p.fns, main]:
        out.append("\n")
        number = block.write(out, number + 1, statements)
    text = Text("".join(out), main.inputs, main.outputs, p.tensors, statements, list(outputs))
    if p.problems:
        for problem in p.problems:
            if problem.variable is not None and not problem.variable.name:
                problem.part_of = part_of(problem.variable, outputs)
        raise UnsupportedError(p.problems, text)
    return text
