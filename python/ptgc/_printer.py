"""PyTensor graphs as .ptg text.

One walk over the nodes in topological order; an op's class and ``__props__`` give its text, and the
op table of libptgc says which properties it has. Nothing is lowered here.
"""

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pytensor.compile.builders import OpFromGraph
from pytensor.graph.basic import Constant, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.op import Op
from pytensor.graph.replace import vectorize_graph
from pytensor.graph.traversal import io_toposort
from pytensor.graph.type import Type
from pytensor.raise_op import CheckAndRaise
from pytensor.scalar.basic import Composite, ScalarOp, ScalarType
from pytensor.scalar.loop import ScalarLoop
from pytensor.scan.op import Scan
from pytensor.tensor.basic import Join, ScalarFromTensor, Split, TensorFromScalar, alloc
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.elemwise import CAReduce, DimShuffle, Elemwise
from pytensor.tensor.extra_ops import CumOp
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.random.type import RandomType
from pytensor.tensor.shape import specify_shape
from pytensor.tensor.subtensor import (
    AdvancedIncSubtensor,
    AdvancedSubtensor,
    IncSubtensor,
    Subtensor,
)
from pytensor.tensor.type import TensorType
from pytensor.tensor.type_other import NoneTypeT

from ptgc import _extend, _lib, _text
from ptgc._fused import taken_apart
from ptgc._scalar import check_dtypes, scalar_name
from ptgc.errors import Problem, UnsupportedError, part_of

# Properties that change where a result is put, how it is shown or how it is rewritten, never what it is.
PLACEMENT = frozenset(
    """inplace destroyhandler_tolerate_aliased overwrite_a overwrite_b overwrite_c overwrite_x
    overwrite_dl overwrite_d overwrite_du view as_view inline upcast_discrete_output inplace_pattern
    input_ndim check_finite exc_type gufunc_spec global_fn attrs assumptions output_types""".split()
)
INLINE_WIDTH = 60  # longer expressions get a name of their own
REPEAT_WIDTH = 20  # longer constants that are used more than once get one too
TYPED_INT = re.compile(r"u?int\d+\((-?\d+)\)\Z")
INDEXABLE = re.compile(r"(`([^`]|``)*`|[^\W\d]\w*)\Z|[A-Z][\w.]*[({].*\)\Z", re.S)


class Line:
    """A statement: its text, the variables it defines, and those written out inside of it."""

    __slots__ = ("defines", "inner", "text")

    def __init__(self, text, defines=(), inner=()):
        self.text, self.defines, self.inner = text, defines, inner

    def variable(self, column: int, length: int = 0) -> Variable | None:
        """The variable at the column (from 1). Of x[i] and x, which begin at the same place, it is the
        one of that length; without a length, the longer one."""
        whole = self.defines[0] if self.defines else None
        start = self.text.find(" = ") + 4
        pieces = [(start, self.text[start - 1 :], whole)]
        for text, v in self.inner:
            at = self.text.find(text, start - 1)
            while at >= 0:
                pieces.append((at + 1, text, v))
                at = self.text.find(text, at + 1)
        exact = [(len(text), k) for k, (at, text, _) in enumerate(pieces) if at == column]
        if exact:
            size, k = min(exact) if length and all(n != length for n, _ in exact) else max(exact)
            k = next((k for n, k in exact if n == length), k)
            return pieces[k][2]
        around = [(len(text), k) for k, (at, text, _) in enumerate(pieces) if at < column < at + len(text)]
        return pieces[min(around)[1]][2] if around else whole


@dataclass
class Text:
    """What ``print_graph`` gives back."""

    text: str
    inputs: list[str]
    outputs: list[str]
    tensors: dict[str, np.ndarray] = field(default_factory=dict)  # what file("...") stands for
    statements: list[tuple[int, Line]] = field(default_factory=list)  # line number, statement
    roots: list[Variable] = field(default_factory=list)

    @property
    def lines(self) -> dict[int, Variable]:
        """Line -> the (first) variable that it defines."""
        return {n: s.defines[0] for n, s in self.statements if s.defines}

    def variable(self, line: int, column: int = 0, length: int = 0) -> Variable | None:
        """The variable that is computed at a place of the text."""
        found = None
        for number, statement in self.statements:
            if number > line:
                break
            found = (number, statement)
        if found is None or line >= found[0] + found[1].text.count("\n") + 1:
            return None
        return found[1].variable(column - 2 if line == found[0] else 0, length)

    def line(self, number: int) -> str:
        return self.text.splitlines()[number - 1] if number else ""


class Names:
    """Names in use; a taken or missing one gets a number."""

    def __init__(self):
        self.taken = set()
        self.count = 0
        self.next = {}  # name -> the number to try next

    def exact(self, name):
        if name in self.taken:
            raise ValueError(f"the name {name!r} is given twice")
        self.taken.add(name)
        return name

    def near(self, name):
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
    """A node that a problem was already reported for."""


def own(op) -> bool:
    """Does the op come from PyTensor itself, so that its name means what the table says?"""
    return type(op).__module__.startswith("pytensor.")


def op_name(op: Op) -> str:
    """The op as dprint names it."""
    if isinstance(op, Elemwise):
        return op_name(op.scalar_op)
    if isinstance(op, ScalarOp):
        return type(op).__name__ if type(op).__name__ in ("Cast", "ScalarLoop") else scalar_name(op)
    if isinstance(op, CumOp):
        return "Cumsum" if op.mode == "add" else "Cumprod"
    if isinstance(op, IncSubtensor):
        return "SetSubtensor" if op.set_instead_of_inc else "IncSubtensor"
    if isinstance(op, AdvancedIncSubtensor):
        return "AdvancedSetSubtensor" if op.set_instead_of_inc else "AdvancedIncSubtensor"
    return type(op).__name__


def name_of(op: Op) -> str:
    """The name that its maker gave it, or its class's."""
    return getattr(op, "name", None) or type(op).__name__


def is_xtensor(t: Type) -> bool:
    return type(t).__name__ == "XTensorType" and type(t).__module__.startswith("pytensor.xtensor")


def is_tensor(v: Variable) -> bool:
    if type(v.type).__module__.startswith("pytensor.sparse"):
        return False
    return isinstance(v.type, TensorType | ScalarType) or is_xtensor(v.type)


def is_list(v: Variable) -> bool:
    """What PyTensor makes of a Python list of tensors."""
    typed_list = type(v.type).__module__.startswith("pytensor.typed_list")
    return typed_list and isinstance(v.type.ttype, TensorType)


def type_text(t: Type, dims=None) -> str:
    """The .ptg type of a PyTensor type; unknown dims are ``?`` unless ``dims`` names them."""
    if isinstance(t, ScalarType):
        return f"{t.dtype}[]"
    shape = [s if s is not None else (dims or {}).get(i, "?") for i, s in enumerate(t.shape)]
    return _text.tensor_type(t.dtype, shape)


def indexable(text: str) -> str:
    """A text that ``[...]`` may follow."""
    return text if INDEXABLE.match(text) else f"({text})"


def property_text(value) -> str:
    if value is None or isinstance(value, bool | np.bool_):
        return str(value)
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, float | np.floating):
        text = _text.real(np.float64(value))
        return text if re.search(r"[.en]", text) else text + ".0"
    if isinstance(value, str):
        return value if value in _text.DTYPES else _text.string(value)
    if isinstance(value, tuple | list):
        items = [property_text(x) for x in value]
        if isinstance(value, list):
            return "[" + ", ".join(items) + "]"
        return "(" + ", ".join(items) + ("," if len(items) == 1 else "") + ")"
    if isinstance(value, np.dtype):
        return value.name
    if isinstance(value, slice):
        parts = [value.start, value.stop, value.step]
        return ":".join("" if p is None else property_text(p) for p in (parts if parts[2] is not None else parts[:2]))
    if isinstance(value, Op):
        return op_text(value)
    raise TypeError(f"a property of type {type(value).__name__} cannot be written")


def axes_text(axes) -> str:
    """The property of axes as ``ptgc fmt`` spells it."""
    if axes is not None and len(axes) == 1:
        return f"axis={property_text(axes[0])}"
    return f"axes={property_text(axes if axes is None else list(axes))}"


def dimshuffle_text(op) -> str:
    order, new = op.new_order, [i for i, d in enumerate(op.new_order) if d == "x"]
    kept = [d for d in order if d != "x"]
    if kept == list(range(op.input_ndim)) and new:
        return f"ExpandDims{{{axes_text(new)}}}"
    dropped = [i for i in range(op.input_ndim) if i not in kept]
    if not new and kept == sorted(kept) and dropped:
        return f"Squeeze{{{axes_text(dropped)}}}"
    if not new and not dropped:
        return f"Transpose{{axes={property_text(tuple(order))}}}"
    return "DimShuffle{order=" + property_text(list(order)) + "}"


def sum_dtypes(dtype: str) -> tuple[str, str]:
    """The dtypes of the result and of the accumulator that Sum and Prod take by themselves."""
    if dtype == "bool" or dtype.startswith("int"):
        return "int64", "int64"
    if dtype.startswith("uint"):
        return "uint64", "uint64"
    return dtype, {"float16": "float32", "float32": "float64", "complex64": "complex128"}.get(dtype, dtype)


def reduction_text(op, node=None) -> str:
    name = type(op).__name__ if own(op) else "CAReduce"
    parts = [axes_text(op.axis)]
    known = _lib.op_properties(name) or ()
    if isinstance(op.scalar_op, Composite):
        raise TypeError("it reduces by a graph of scalar ops")
    if "scalar_op" in known:
        parts.insert(0, f"scalar_op={op_text(op.scalar_op)}")
    usual = sum_dtypes(node.inputs[0].type.dtype) if node and name != "CAReduce" else (None, None)
    for p in ("dtype", "acc_dtype", "no_zeros_in_input", "initial"):
        value = getattr(op, p, None)
        if p not in known or value in (None, False):
            continue  # Max, All and others keep their input's dtype
        if p not in ("dtype", "acc_dtype") or (op.dtype, op.acc_dtype) != usual:
            parts.append(f"{p}={property_text(value)}")
    return f"{name}{{{', '.join(parts)}}}"


def op_text(op: Op, node=None) -> str:
    """The op with its properties, without arguments."""
    if isinstance(op, Elemwise):
        op = op.scalar_op
    if isinstance(op, DimShuffle):
        return dimshuffle_text(op)
    if isinstance(op, CAReduce):
        return reduction_text(op, node)
    if isinstance(op, CheckAndRaise):  # PyMC's CheckParameterValue too
        return f"CheckAndRaise{{msg={_text.string(str(op.msg))}}}"
    if not own(op):
        raise TypeError("the op is not PyTensor's: ptgc.register gives it a text")
    name = op_name(op)
    if isinstance(op, ScalarOp):
        if node and name != "Cast":
            check_dtypes(op, node)
        return f"Cast{{{op.o_type.dtype}}}" if name == "Cast" else name
    if isinstance(op, Join):
        return f"Join{{axis={op.axis}}}"
    if isinstance(op, Split):
        return f"Split{{axis={op.axis}, n={op.len_splits}}}"
    if isinstance(op, CumOp):
        return f"{name}{{axis={op.axis}}}"
    if isinstance(op, Subtensor | AdvancedSubtensor | IncSubtensor | AdvancedIncSubtensor):
        more = ", ignore_duplicates=True" if getattr(op, "ignore_duplicates", False) else ""
        return f"{name}{{{', '.join(property_text(p) for p in op.idx_list)}{more}}}"
    parts = [written(op, p) for p in properties(op) if p not in PLACEMENT]
    return f"{name}{{{', '.join(parts)}}}" if parts else name


def written(op, name) -> str:
    """name=value"""
    value = getattr(op, name)
    known = _lib.op_properties(op_name(op)) or {}
    try:
        if name in ("axis", "axes") and "axes" in known.values() and not isinstance(value, int):
            return axes_text(value)
        return f"{name}={property_text(value)}"
    except TypeError as e:
        what = "calls a Python function" if callable(value) and not isinstance(value, Op) else str(e)
        raise TypeError(f"its {name} {what}" if what != str(e) else f"its {name}: {e}") from None


def properties(op) -> tuple:
    props = tuple(getattr(op, "__props__", None) or ())
    if isinstance(op, Blockwise):
        return ("core_op", "signature")
    # ops that keep them as plain attributes (OpFromGraph subclasses)
    known = _lib.op_properties(op_name(op)) or ()
    return props + tuple(p for p in known if p not in props and not props and hasattr(op, p))


def index_text(idx_list, args) -> str:
    """1:n, i, : of idx_list, whose integers count the index arguments."""

    def part(p):
        if p is None:
            return ""
        found = TYPED_INT.match(args[p])  # int64(3): a bare number says the same here
        return found[1] if found and int(found[1]) < 2**63 else args[p]

    out = []
    for entry in idx_list:
        if isinstance(entry, slice):
            text = f"{part(entry.start)}:{part(entry.stop)}"
            out.append(text + (f":{part(entry.step)}" if entry.step is not None else ""))
        else:
            out.append(part(entry))
    return ", ".join(out) or "..."


def nonzero_text(v: Variable, text: str) -> str:
    return text if v.type.dtype == "bool" else f"Neq({text}, {v.type.dtype}(0))"


def batched(node) -> FunctionGraph:
    """A Blockwise whose core is a graph, as the graph of what it does to whole batches.

    Inputs that are stretched are stretched first, and the others must agree with them, as Blockwise
    checks it; so every result has all of the batch.
    """
    op, n = node.op, node.op.batch_ndim(node)
    inputs = [v.type() for v in node.inputs]
    lengths = []  # of the batch
    for axis in range(n):
        long = [v for v in inputs if not v.type.broadcastable[axis]]
        lengths.append(long[0].shape[axis] if long else 1)
    ready = []
    for v in inputs:
        if any(v.type.broadcastable[axis] and not isinstance(lengths[axis], int) for axis in range(n)):
            v = alloc(v, *lengths, *[v.shape[axis] for axis in range(n, v.type.ndim)])
        elif v is not inputs[0]:
            v = specify_shape(v, (*lengths, *[None] * (v.type.ndim - n)))
        ready.append(v)
    core = op.core_op.fgraph.unfreeze()
    try:
        results = vectorize_graph(list(core.outputs), dict(zip(core.inputs, ready)))
    except Exception as e:
        raise TypeError(f"PyTensor cannot vectorize its inner graph: {e}") from None
    for k, (v, like) in enumerate(zip(results, node.outputs)):
        if v.type.ndim < like.type.ndim:  # it depends on no input
            results[k] = alloc(v, *lengths, *v.shape)
    return FunctionGraph(inputs, results, clone=False)


class Printer:
    """Writes one graph or fn. Printers of inner graphs share ``shared`` with the outer one."""

    def __init__(self, dims=None, types=False, outer=None, file_of=None):
        self.names = Names()
        self.dims = dims or {}
        self.types = types
        self.fns: list[Block] = outer.fns if outer else []  # in the order that they are needed
        self.fn_names = outer.fn_names if outer else Names()
        self.fn_of = outer.fn_of if outer else {}  # id of an inner graph, or a text -> name
        self.tensors = outer.tensors if outer else {}
        self.file_of = outer.file_of if outer else file_of or (lambda label: label)
        self.alive = outer.alive if outer else []  # objects whose ids are in use
        self.nested = outer is not None
        self.problems = []
        self.texts = {}  # variable -> its name or, if it is written where it is used, its text
        self.inner = {}  # such a variable -> [(text, variable)...] inside of it
        self.missing = set()
        self.lines: list[Line] = []
        self.params = []

    # ---- values ----

    def constant(self, v: Constant) -> str:
        if isinstance(v.type, NoneTypeT) or v.data is None:
            return "None"
        if is_list(v):
            return self.listed(self.constant(v.type.ttype.make_constant(x)) for x in v.data)
        if not is_tensor(v):
            raise TypeError(f"a constant of type {v.type}")
        data = np.asarray(v.data)
        if data.dtype.kind not in "biufc" or data.dtype.name not in _text.DTYPES:
            raise TypeError(f"a constant of dtype {data.dtype}")
        text = _text.constant(data)
        if text is None:
            name = self.names.near(v.name or "const")
            label, k = name, 2
            while label in self.tensors:  # of another fn
                label, k = f"{name}_{k}", k + 1
            self.tensors[label] = data
            text = f"file({_text.string(self.file_of(label))})"
            if not v.name and self.uses.get(v, 0) < 2:
                return text  # only what has a name is kept as it is in the model
        elif not v.name and (len(text) <= REPEAT_WIDTH or self.uses.get(v, 0) < 2):
            return text
        else:
            name = self.names.near(v.name)
        self.texts[v] = _text.quote(name)
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

    def updated(self, op, args) -> str:
        x, y, *idx = args
        if getattr(op, "ignore_duplicates", False):
            return f"{op_text(op)}({', '.join(args)})"
        how = "set" if op.set_instead_of_inc else "inc"
        return f"{indexable(x)}[{index_text(op.idx_list, idx)}].{how}({y})"

    def indexing(self, node, args) -> str | None:
        """x[...] and its updates; None if that would be read as another op."""
        op = node.op
        if isinstance(op, AdvancedSubtensor | AdvancedIncSubtensor):
            skip = 1 if isinstance(op, AdvancedSubtensor) else 2
            if not any(getattr(v.type, "ndim", 0) for v in node.inputs[skip:]):
                # only scalars: as indices of x[...] they would make the basic op
                return f"{op_text(op)}({', '.join(args)})"
        if isinstance(op, IncSubtensor | AdvancedIncSubtensor):
            return self.updated(op, args)
        return f"{indexable(args[0])}[{index_text(op.idx_list, args[1:])}]"

    def call(self, node, args) -> str:
        op = node.op
        scalar_op = op.scalar_op if isinstance(op, Elemwise) else op
        if (entry := _extend.lookup(op) or _extend.lookup(scalar_op)) is not None:
            return self.registered(entry, scalar_op, node, args)
        _extend.check_perform(op)
        if isinstance(op, Scan):
            return self.scan(op, args)
        if isinstance(scalar_op, ScalarLoop):
            raise TypeError("loops inside of scalar ops cannot be converted yet")
        if type(op).__module__.startswith("pytensor.sparse"):
            raise TypeError("sparse matrices cannot be converted yet")
        if type(op).__module__.startswith("pytensor.xtensor"):
            if op_name(op) in ("XTensorFromTensor", "TensorFromXTensor", "Rename"):
                return f"Identity({args[0]})"
            raise TypeError("ONNX has no such tensors; xtensor graphs are lowered by PyTensor's rewrites")
        if isinstance(op, Subtensor | AdvancedSubtensor | IncSubtensor | AdvancedIncSubtensor) and own(op):
            return self.indexing(node, args)
        if type(op).__name__ == "JAXShapeTuple":  # functions compiled by JAX have it
            return f"MakeVector{{dtype={node.outputs[0].type.dtype}}}({', '.join(args)})"
        if isinstance(scalar_op, Composite):
            return self.fn_call(scalar_op.fgraph, "Fused", args, typed=False)
        if len(parts := taken_apart(node)) == 2:
            return f"{op_text(parts[1].op, parts[1])}({self.call(parts[0], args)})"
        # the graph inside of an Einsum is what PyTensor computes, for integers too
        if isinstance(op, OpFromGraph) and not (own(op) and _lib.op_known(op_name(op)) and op_name(op) != "Einsum"):
            return self.fn_call(op.fgraph, _text.fn_label(name_of(op)), args)
        if isinstance(op, Blockwise) and isinstance(core := op.core_op, OpFromGraph):
            if not (own(core) and _lib.op_known(op_name(core))):
                return self.fn_call(batched(node), _text.fn_label(name_of(core)) + "_batch", args)
        return f"{op_text(op, node)}({', '.join(args)})"

    def registered(self, entry, op, node, args) -> str:
        callee, text = entry.text_of(op, node)
        if text is not None:
            header = _extend.last_header(text)
            if text not in self.fn_of:  # the fn must not hide an op, nor be another op's
                name = self.fn_names.near(_text.fn_label(header[1].strip("`")))
                self.fn_of[text] = name
                written = text[: header.start(1)] + name + text[header.end(1) :]
                self.fns.append(Block(written.rstrip("\n") + "\n", [], []))
            callee = self.fn_of[text] + callee.removeprefix(header[1])
        return f"{callee}({', '.join(args)})"

    def scan(self, op, args) -> str:
        """Properties are those of ScanInfo that are not nothing."""
        info = op.info
        name = self.fn_name(op.fgraph, _text.fn_label(op.name or "scan_fn"))
        # with braces it cannot be taken for a value or a dim of that name
        dims = (dim for axes in self.dims.values() for dim in axes.values())
        parts = [f"fn={name}{{}}" if name in self.names.taken or name in dims else f"fn={name}"]
        for p in (
            "n_seqs", "mit_mot_in_slices", "mit_mot_out_slices", "mit_sot_in_slices", "n_sit_sot",
            "n_nit_sot", "n_untraced_sit_sot", "as_while",
        ):  # fmt: skip
            if value := getattr(info, p):
                parts.append(f"{p}={property_text(value)}")
        return f"Scan{{{', '.join(parts)}}}({', '.join(args)})"

    def fn_name(self, fgraph, label, typed=True) -> str:
        """The name of the fn for an inner graph, which is written if it is new."""
        fgraph = getattr(fgraph, "fgraph", fgraph)
        if id(fgraph) not in self.fn_of:
            inner = Printer(types=self.types and typed, outer=self)
            name = self.fn_names.near(label)
            block = inner.block(f"fn {name}", fgraph.inputs, fgraph.outputs, typed=typed)
            self.problems += inner.problems
            self.alive.append(fgraph)
            self.fn_of[id(fgraph)] = None if inner.problems else name
            self.fns.append(block)
        if self.fn_of[id(fgraph)] is None:
            raise Skip
        return self.fn_of[id(fgraph)]

    def fn_call(self, fgraph, label, args, typed=True) -> str:
        return f"{self.fn_name(fgraph, label, typed)}({', '.join(args)})"

    def branches(self, node, args, targets) -> str:
        """IfElse and LazyIfElse as a run-time if."""
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

    def statement(self, node, wanted):
        op, out = node.op, node.outputs[0]
        if isinstance(op, RandomVariable):
            raise TypeError("random variables cannot be converted yet")
        args = [self.argument(v) for v in node.inputs]
        inner = [piece for v in node.inputs if v in self.inner for piece in self.inner[v]]
        if op_name(op) == "MakeList" and own(op) and is_list(out) and out not in wanted:  # written where it is used
            self.texts[out] = self.listed(args)
            self.inner[out] = inner
            return
        for v in node.outputs:
            if not is_tensor(v):
                raise TypeError(f"it gives {v.type}, which ONNX cannot hold")
        inline = len(node.outputs) == 1 and out not in wanted and not out.name
        if isinstance(op, ScalarFromTensor | TensorFromScalar) and inline:
            # no difference in the language
            if node.inputs[0] not in self.inner or self.uses.get(out) == 1:
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
            left = [f"{t}: {type_text(v.type)}" for t, v in zip(targets, node.outputs)]
        for v, target in zip(node.outputs, targets):
            self.texts[v] = target
        self.lines.append(Line(f"{', '.join(left)} = {text}", tuple(node.outputs), inner))

    def target(self, v, wanted, may_drop) -> str:
        if may_drop and v not in wanted and not self.uses.get(v):
            return "_"
        return _text.quote(wanted.get(v) or self.names.near(v.name))

    def failed(self, node, problems):
        """Goes on as if the results were inputs, to find what else is wrong."""
        self.problems += problems
        for v in node.outputs:
            if self.nested or not is_tensor(v):
                self.missing.add(v)
            else:
                self.texts[v] = _text.quote(self.names.near(v.name))
                self.params.append(("", f"{self.texts[v]}: {type_text(v.type)}"))

    def try_statement(self, node, wanted):
        try:
            self.statement(node, wanted)
        except Skip:
            self.failed(node, [])
        except TypeError as e:
            v = next((v for v in node.outputs if v.name), node.outputs[-1])
            self.failed(node, [Problem(op_name(node.op), node, v, str(e))])

    # ---- blocks ----

    def declare(self, inputs, input_names, constants, typed=True):
        for k, v in enumerate(inputs):
            name = v.name if self.nested else v.name or f"in{k}"
            name = self.names.exact(input_names[k]) if input_names else self.names.near(name)
            self.texts[v] = _text.quote(name)
            if not is_tensor(v):
                self.missing.add(v)
                del self.texts[v]
                if not isinstance(v.type, RandomType):  # where that is used, the op is reported
                    self.problems.append(Problem(f"an input of type {v.type}", None, v, "no tensor"))
                continue
            text = f"{self.texts[v]}: {type_text(v.type, self.dims.get(v))}" if typed else self.texts[v]
            self.params.append((name, text))
        for v, data in (constants or {}).items():  # shared variables that become initializers
            if not is_tensor(v):
                self.missing.add(v)
                if not isinstance(v.type, RandomType):
                    self.problems.append(Problem(f"a shared variable of type {v.type}", None, v, "no tensor"))
                continue
            name = self.names.near(v.name or "shared")
            self.tensors[name] = np.asarray(data)
            self.texts[v] = _text.quote(name)
            file = _text.string(self.file_of(name))
            self.lines.append(Line(f"{self.texts[v]} = file({file})", (v,)))

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

    def finish(self, results):
        for v, name in results:
            target = _text.quote(name)
            if v in self.missing and v.owner is None:
                self.problems.append(Problem(f"a result of type {v.type}", None, v, "no tensor"))
            if v in self.missing or self.texts.get(v) == target:
                continue
            before = v in self.texts
            text = self.argument(v)
            text = f"Identity({text})" if before or v in self.texts else text
            self.lines.append(Line(f"{target} = {text}", (v,), self.inner.get(v, ())))

    def block(
        self, head, inputs, outputs, *, input_names=None, output_names=None, constants=None,
        wanted_names=None, typed=True,
    ):  # fmt: skip
        sources = [*inputs, *(constants or ())]
        order = io_toposort(sources, outputs[::-1])  # what the first output needs comes first
        self.uses = count_uses(order, outputs)
        self.declare(inputs, input_names, constants, typed)
        results = self.result_names(outputs, output_names, wanted_names)
        wanted = {v: name for v, name in reversed(results) if v not in self.texts}
        for node in order:
            self.try_statement(node, wanted)
        self.finish(results)
        results = [(v, name) for v, name in results if v not in self.missing]
        names = ", ".join(_text.quote(name) for _, name in results)
        head = f"{head}({', '.join(text for _, text in self.params)}) -> ({names}) {{\n"
        return Block(head, self.lines, [n for n, _ in self.params if n], [n for _, n in results])


@dataclass
class Block:
    """A graph or fn. Without lines, ``head`` is all of its text."""

    head: str
    lines: list[Line]
    inputs: list[str]
    outputs: list[str] = field(default_factory=list)

    def write(self, out: list[str], number: int, statements) -> int:
        """Appends its text, and the places of its statements; the number of the line after it."""
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


def count_uses(order, outputs):
    uses: dict[Variable, int] = {}
    for node in order:
        for v in node.inputs:
            uses[v] = uses.get(v, 0) + 1
    for v in outputs:
        uses[v] = uses.get(v, 0) + 2
    return uses


def print_graph(
    inputs, outputs, *, name="main", input_names=None, output_names=None, dims=None, constants=None,
    wanted_names=None, types=False, file_of=None,
) -> Text:  # fmt: skip
    """The graph from ``inputs`` to ``outputs`` as a complete .ptg file.

    ``file_of`` gives the path to write in ``file(...)`` for the name of a large constant.
    """
    from pytensor import config

    p = Printer(dims, types, file_of=file_of)
    main = p.block(
        f"graph {_text.quote(_text.clean_name(name))}", inputs, outputs, input_names=input_names,
        output_names=output_names, constants=constants, wanted_names=wanted_names,
    )  # fmt: skip
    out = ["ptg 1\n" if config.floatX == "float64" else f"ptg 1 floatX={config.floatX}\n"]
    number, statements = 2, []
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


def as_list(v: Any) -> list:
    return list(v) if isinstance(v, list | tuple) else [v]


def graph_of(inputs, outputs) -> tuple[list, list, dict]:
    """Inputs, outputs and the values of shared variables that are not among the inputs."""
    from pytensor.compile.executor import Function
    from pytensor.compile.sharedvalue import SharedVariable
    from pytensor.graph.traversal import graph_inputs

    if isinstance(inputs, Function):
        inputs = inputs.maker.fgraph
    if isinstance(inputs, FunctionGraph):
        return list(inputs.inputs), list(inputs.outputs), {}
    inputs, outputs = as_list(inputs), as_list(outputs)
    given = set(inputs)
    shared = [v for v in graph_inputs(outputs) if isinstance(v, SharedVariable) and v not in given]
    values = {v: v.get_value(borrow=True) for v in shared}
    return inputs, outputs, {v: d if is_tensor(v) else None for v, d in values.items()}


def to_ptg(inputs, outputs=None, *, name: str = "main", types: bool = False, optimize: bool = False) -> str:
    """Any PyTensor graph, before or after rewriting, as .ptg text.

    ``inputs`` and ``outputs`` are variables or lists of them; a FunctionGraph or a compiled function
    serves as both. ``types`` writes PyTensor's type beside every name; ``optimize`` rewrites the graph
    as ONNX mode does. Large constants and shared variables are written as ``file("name")``:
    ``save_ptg`` writes their files too.
    """
    inputs, outputs, constants = graph_of(inputs, outputs)
    if optimize:
        from ptgc.linker import rewritten  # which imports this module

        inputs, outputs, constants, names = rewritten(inputs, outputs, constants)
    else:
        names = None
    return print_graph(inputs, outputs, name=name, constants=constants, types=types, wanted_names=names).text
