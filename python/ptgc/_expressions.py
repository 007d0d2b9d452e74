"""Expressions as a person writes them. In: the text of an op and of its operands. Out: infix operators with the
parentheses that they need, operands without what the language broadcasts by itself, and literals without a dtype where
the language gives them the same one. PyTensor's promotion is not derived again: where a literal would change what
``pytensor.scalar.upcast`` gives, or a shape what the node's type says, the operand stays as it is.
"""

import numpy as np
from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.scalar.basic import Composite, upcast
from pytensor.scalar.loop import ScalarLoop
from pytensor.tensor.basic import Alloc
from pytensor.tensor.blas import Dot22
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.elemwise import DimShuffle, Elemwise
from pytensor.tensor.math import Dot
from pytensor.tensor.subtensor import AdvancedIncSubtensor, AdvancedSubtensor, IncSubtensor, Subtensor
from pytensor.tensor.type import TensorType

from ptgc import _text

# How tightly an expression binds, as in the table of doc/language.md
COMPARISON, BIT_OR, BIT_XOR, BIT_AND, SUM, PRODUCT, UNARY, POWER, ATOM = range(9)
BINARY = {
    "Eq": ("==", COMPARISON), "Neq": ("!=", COMPARISON), "Lt": ("<", COMPARISON), "Le": ("<=", COMPARISON),
    "Gt": (">", COMPARISON), "Ge": (">=", COMPARISON), "Or": ("|", BIT_OR), "Xor": ("^", BIT_XOR),
    "And": ("&", BIT_AND), "Add": ("+", SUM), "Sub": ("-", SUM), "Mul": ("*", PRODUCT), "True_div": ("/", PRODUCT),
    "Int_div": ("//", PRODUCT), "Mod": ("%", PRODUCT), "Matmul": ("@", PRODUCT), "Pow": ("**", POWER),
}  # fmt: skip
PREFIX = {"Neg": "-", "Invert": "~"}
# Ops whose literals the language gives the dtype of their other operands. Switch: behind its condition
WEAK = frozenset([*BINARY, "Maximum", "Minimum", "Switch"]) - {"Matmul"}
EXACT = {"float16": 2**11, "float32": 2**24, "float64": 2**53}  # up to here floats hold all integers


class Expr(str):
    """The text of an expression, how tightly it binds, and where in it the compiler sees it: at its operator."""

    __slots__ = ("at", "level")


class Literal(Expr):
    """A literal without a dtype."""

    __slots__ = ()


def expr(text: str, level: int = ATOM, at: int = 0, kind: type[Expr] = Expr) -> Expr:
    made = kind(text)
    made.level, made.at = level, at
    return made


def level_of(text: str) -> int:
    return text.level if isinstance(text, Expr) else ATOM


def place_in(text: str) -> int:
    """The column, from 0, at which the compiler sees the expression."""
    return text.at if isinstance(text, Expr) else 0


def in_parentheses(text: str, wanted: bool) -> str:
    return f"({text})" if wanted else text


def infix(symbol: str, level: int, args) -> Expr:
    """The operands joined from left to right; a power has two."""
    text = in_parentheses(args[0], level_of(args[0]) < level or level == POWER == level_of(args[0]))
    at = 0
    for arg in args[1:]:
        inner = level_of(arg)
        loose = inner < UNARY if level == POWER else inner <= level
        at = len(text) + 1
        text = f"{text} {symbol} {in_parentheses(arg, loose)}"
    return expr(text, level, at)


def comparison(symbol: str, args) -> Expr:
    left, right = (in_parentheses(a, level_of(a) <= BIT_AND) for a in args)
    return expr(f"{left} {symbol} {right}", COMPARISON, len(left) + 1)


def call(op: str, args, same_dtypes: bool = True) -> str:
    """The op on its operands, infix where the language has an operator for it. same_dtypes: all operands and the result
    have one dtype, so that the sums of several may be taken one by one."""
    if op == "Transpose":
        return in_parentheses(args[0], level_of(args[0]) < ATOM) + ".T"
    if op in PREFIX and len(args) == 1:
        return expr(PREFIX[op] + in_parentheses(args[0], level_of(args[0]) <= UNARY), UNARY)
    if op not in BINARY or len(args) < 2 or (len(args) > 2 and not same_dtypes):
        return f"{op}({', '.join(args)})"
    symbol, level = BINARY[op]
    return comparison(symbol, args) if level == COMPARISON else infix(symbol, level, args)


# ---- broadcasting ----


def rank(v: Variable) -> int:
    return getattr(v.type, "ndim", 0)


def shape(v: Variable) -> tuple:
    return getattr(v.type, "shape", ())


def is_elementwise(node: Apply, name: str = "") -> bool:
    """Is it one of PyTensor's own elementwise functions, the one of that name if one is given?"""
    if not isinstance(node.op, Elemwise) or isinstance(node.op.scalar_op, Composite | ScalarLoop):
        return False
    kind = type(node.op.scalar_op)
    return kind.__module__.startswith("pytensor.") and name in ("", kind.__name__)


def is_splat(v: Variable) -> bool:
    """Is it a constant whose elements are all equal?"""
    if not isinstance(v, Constant) or not isinstance(v.type, TensorType) or not v.data.size:
        return False
    data = np.ascontiguousarray(v.data).reshape(-1)
    first = data[:1].tobytes()
    return data.size == 1 or data.tobytes() == first * data.size


def without_leading(v: Variable) -> Variable:
    """x for ExpandDims of x along its first axes, which elementwise ops add by themselves; else v."""
    while v.owner is not None and isinstance(v.owner.op, DimShuffle):
        [x] = v.owner.inputs
        kept = list(range(x.type.ndim))
        order = list(v.owner.op.new_order)
        if not isinstance(x.type, TensorType) or order != ["x"] * (len(order) - len(kept)) + kept:
            break
        v = x
    return v


def filled(v: Variable, others) -> Variable:
    """x for an Alloc of x, or for what fills the shape of another operand with x, if the others have that shape."""
    node = v.owner
    if node is None:
        return v
    if isinstance(node.op, Alloc) and None not in v.type.shape:
        return node.inputs[0]
    if is_elementwise(node, "Second") and any(node.inputs[0] is u for u in others):
        return node.inputs[1]
    return v


def stretches(bare: Variable, v: Variable) -> bool:
    """Is each length of `bare` that of v, or 1 by its type? An Alloc stretches what is 1 in a run, too; an operator
    does not."""
    return all(n in (1, m) for n, m in zip(shape(bare)[::-1], shape(v)[::-1]))


def broadcast_shape(variables, ndim: int) -> list | None:
    """The static shape of what the operands give together, as far as it is certain; None: they have fewer dims."""
    if max((rank(v) for v in variables), default=-1) < ndim:
        return None
    dims = []
    for axis in range(-ndim, 0):
        lengths = {shape(v)[axis] for v in variables if rank(v) >= -axis} - {1}
        dims.append(1 if not lengths else next((n for n in lengths if n is not None), None))
    return dims


def operands(node: Apply) -> list[Variable]:
    """What to write as the operands of an elementwise op: each without what the others broadcast it to."""
    args = list(node.inputs)
    if len(args) < 2 or not is_elementwise(node):
        return args
    out = node.outputs[0].type
    wanted = list(out.shape)
    for k, v in enumerate(args):
        bare = filled(v, [u for i, u in enumerate(args) if i != k])
        bare = without_leading(bare)
        if bare is v or not stretches(bare, v):
            continue
        rest = [*args[:k], bare, *args[k + 1 :]]
        if broadcast_shape(rest, out.ndim) == wanted and broadcast_shape(args, out.ndim) == wanted:
            args[k] = bare
    return args


# ---- names ----


ROLES = {"Add": "offset", "Mul": "factor"}


def role(node: Apply | None, k: int) -> str:
    """What an operand of an op is to it, in a word: `weight` of a product of matrices, `index` of x[...]."""
    if node is None:
        return "data"
    if isinstance(node.op, Subtensor | AdvancedSubtensor):
        return "index" if k else "table"
    if isinstance(node.op, IncSubtensor | AdvancedIncSubtensor):
        return ("table", "update", "index")[min(k, 2)]
    if is_dot(node):
        return "weight"
    return ROLES.get(type(node.op.scalar_op).__name__, "data") if isinstance(node.op, Elemwise) else "data"


# ---- products ----


def added_axis(v: Variable) -> int | None:
    """0 or 1 for a vector that is made a row or a column."""
    if v.owner is None or not isinstance(v.owner.op, DimShuffle) or rank(v.owner.inputs[0]) != 1:
        return None
    return {("x", 0): 0, (0, "x"): 1}.get(tuple(v.owner.op.new_order))


def is_dot(node: Apply | None) -> bool:
    """Is it a product of matrices, or of batches of them, as numpy.matmul gives it?"""
    if node is None:
        return False
    if isinstance(node.op, Blockwise):
        return type(node.op.core_op) is Dot and node.op.signature == "(m,n),(n,p)->(m,p)"
    return type(node.op) in (Dot, Dot22) and all(rank(v) in (1, 2) for v in node.inputs)


def product(node: Apply, is_alone) -> list[Variable] | None:
    """The operands a and b if the node is a @ b, with vectors as such: where PyTensor makes rows and columns of them
    and takes the axes away again. is_alone: whether nothing but one node reads a variable. None: it is no product."""
    if is_dot(node):
        return list(node.inputs)
    if not isinstance(node.op, DimShuffle) or rank(node.inputs[0]) != 2 or "x" in node.op.new_order:
        return None
    dot, dropped = node.inputs[0].owner, {0, 1} - set(node.op.new_order)
    if not is_dot(dot) or not dropped or not is_alone(node.inputs[0]):
        return None
    operands = list(dot.inputs)
    for axis in dropped:
        if rank(operands[axis]) != 2 or added_axis(operands[axis]) != axis:
            return None
    return [v.owner.inputs[0] if k in dropped else v for k, v in enumerate(operands)]


# ---- dtypes ----


def promoted(op: str, node: Apply, args) -> list[int]:
    """The positions of the integers that make float64 of float32 in PyTensor's promotion. The text says so with a Cast,
    which changes no value: without it ptgc warns that it is hardly meant, as it is not where a person writes it.

    Of Mul(a, b, x) with integers a and b the product a * b is an integer, which wraps: there it is x that is cast."""
    if op not in WEAK or not isinstance(node.op, Elemwise) or node.outputs[0].type.dtype != "float64":
        return []
    dtypes = {
        k: v.type.dtype for k, v in enumerate(args) if not isinstance(v, Constant) and not (op == "Switch" and k == 0)
    }  # fmt: skip
    if "float32" not in dtypes.values() or any(t in ("float64", "complex64", "complex128") for t in dtypes.values()):
        return []
    if op in ("Add", "Mul") and all(v.type.dtype.startswith(("int", "uint", "bool")) for v in args[:2]):
        first = next(k for k, v in enumerate(args) if v.type.dtype.startswith("float"))
        return [first] if first in dtypes else []
    return [k for k, t in dtypes.items() if upcast(t, "float32") == "float64"]


# ---- literals ----


def dtype_with(op: str, args, known) -> str | None:
    """The dtype that a literal beside the other operands meets; None if there are none."""
    dtypes = [v.type.dtype for k, v in enumerate(args) if k not in known and not (op == "Switch" and k == 0)]
    return upcast(*dtypes) if dtypes else None


def literal(data: np.ndarray, met: str) -> str | None:
    """The text of an array as a literal that takes the same value beside a tensor of dtype ``met``; None if there is
    none, or if the array would change the dtype that the op computes in."""
    kind, other = data.dtype.kind, np.dtype(met).kind
    if kind == "b":
        return _text.nested(data) if other == "b" else None
    if kind not in "iuf" or other not in "iuf" or _text.has_odd_nans(data):
        return None
    if kind == "f" and other in "iu":
        wide = upcast(met, data.dtype.name) == "float64" == upcast(met, "float64")
        return _text.nested(data.astype("float64"), decimals=True) if wide else None
    if upcast(met, data.dtype.name) != met:
        return None
    taken = data.astype(met)
    with np.errstate(all="ignore"):
        if not np.array_equal(taken.astype(data.dtype), data, equal_nan=kind == "f"):
            return None
    # the shortest digits of a large float32 may be those of another integer, which as a literal is none of that dtype
    return _text.nested(taken, decimals=other == "f" and bool((abs(taken) >= EXACT[met]).any()))


def literals(op: str, node: Apply, args) -> dict[int, str]:
    """{position: text} for the operands that are written as literals without a dtype."""
    if op not in WEAK or not isinstance(node.op, Elemwise):
        return {}
    condition = 0 if op == "Switch" else -1
    weak = {
        k: v for k, v in enumerate(args)
        if isinstance(v, Constant) and isinstance(v.type, TensorType) and not v.name and k != condition
    }  # fmt: skip
    wanted = list(node.outputs[0].type.shape)
    while weak:  # what is no literal is among those that give literals their dtype
        met = dtype_with(op, args, weak)
        if met is None:
            return {}
        # PyTensor takes several two by two: uint8(200) + uint8(100) wraps before it meets what is wide
        strong = {v.type.dtype for k, v in enumerate(args) if k not in weak}
        if condition < 0 and len(args) > 2 and strong != {node.outputs[0].type.dtype}:
            return {}
        texts = {}
        for k, v in weak.items():
            others = [u for i, u in enumerate(args) if i not in weak or (i > k and not is_splat(u))]
            data = np.asarray(v.data)
            if data.ndim and is_splat(v) and broadcast_shape(others, len(wanted)) == wanted:
                data = data.reshape(-1)[0]
            if 0 < data.size <= _text.MAX_INLINE and (not data.ndim or data.dtype.name == met):
                texts[k] = literal(np.asarray(data), met)
        taken = {k for k, text in texts.items() if text is not None}
        if condition < 0 and {0, 1} <= taken:  # the language would compute with these two at once
            taken.remove(0)
        if taken == weak.keys():
            return {k: expr(t, UNARY if t.startswith("-") else ATOM, kind=Literal) for k, t in texts.items()}
        weak = {k: v for k, v in weak.items() if k in taken}
    return {}
