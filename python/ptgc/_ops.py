"""PyTensor's ops in the language: the name and the properties of an op, and ops said by other ops.

An op's class and ``__props__`` give its text, and libptgc's op table says which properties it has; the few
exceptions stand here. Nothing is lowered.
"""

import re
import sys
from functools import cache

import numpy as np
from pytensor.compile.builders import OpFromGraph
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.op import Op
from pytensor.graph.replace import vectorize_graph
from pytensor.graph.traversal import ancestors
from pytensor.graph.type import Type
from pytensor.raise_op import CheckAndRaise
from pytensor.scalar.basic import Add, Cast, Composite, Mul, ScalarOp, ScalarType, TrueDiv, get_scalar_type
from pytensor.scalar.loop import ScalarLoop
from pytensor.tensor.basic import Join, Split, alloc
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.elemwise import CAReduce, DimShuffle, Elemwise
from pytensor.tensor.extra_ops import CumOp
from pytensor.tensor.math import Prod, Sum
from pytensor.tensor.random import basic as random_basic
from pytensor.tensor.random.op import RandomVariable, RNGConsumerOp
from pytensor.tensor.random.type import RandomType
from pytensor.tensor.shape import specify_shape
from pytensor.tensor.subtensor import AdvancedIncSubtensor, AdvancedSubtensor, IncSubtensor, Subtensor
from pytensor.tensor.type import TensorType

from ptgc import _lib, _text

# Properties that say where a result is put, how the op is shown or rewritten, never what it computes.
IGNORED = frozenset(
    """inplace destroyhandler_tolerate_aliased overwrite_a overwrite_b overwrite_c overwrite_x
    overwrite_dl overwrite_d overwrite_du view as_view inline upcast_discrete_output inplace_pattern
    input_ndim check_finite exc_type gufunc_spec global_fn attrs assumptions output_types""".split()
)
INDEXING = Subtensor | AdvancedSubtensor | IncSubtensor | AdvancedIncSubtensor
NOT_PYTENSORS = "the op is not PyTensor's: ptgc.register gives it a text"


# Random variables that PyTensor draws by calling the method of that name of a generator
PLAIN_DRAWS = frozenset(
    kind.name for kind in vars(random_basic).values()
    if isinstance(kind, type) and issubclass(kind, RandomVariable) and kind.rng_fn is RandomVariable.rng_fn
    and hasattr(kind, "name")
)  # fmt: skip


# ---- types ----


def is_xtensor(t: Type) -> bool:
    return type(t).__name__ == "XTensorType" and type(t).__module__.startswith("pytensor.xtensor")


def is_tensor(v: Variable) -> bool:
    if type(v.type).__module__.startswith("pytensor.sparse"):
        return False
    return isinstance(v.type, TensorType | ScalarType) or is_xtensor(v.type)


def is_generator(v: Variable) -> bool:
    return isinstance(v.type, RandomType)


def is_value(v: Variable) -> bool:
    """Can a model hold it?"""
    return is_tensor(v) or is_generator(v)


def is_list(v: Variable) -> bool:
    """Does PyTensor hold a Python list of tensors here?"""
    typed_list = type(v.type).__module__.startswith("pytensor.typed_list")
    return typed_list and isinstance(v.type.ttype, TensorType)


def type_text(t: Type, dims=None) -> str:
    """The .ptg type of a PyTensor type: a dim of unknown length is ``?``, or ``?name`` where ``dims`` names it. As in
    PyTensor, equations may set it."""
    if isinstance(t, ScalarType):
        return f"{t.dtype}[]"
    names = {axis: "?" + _text.quote(name) for axis, name in (dims or {}).items()}
    shape = [s if s is not None else names.get(i, "?") for i, s in enumerate(t.shape)]
    return _text.tensor_type(t.dtype, shape)


# ---- generators ----


def first_generator(v: Variable) -> Variable | None:
    """The input or constant that a generator is a later state of; None: an op makes the generator."""
    while v.owner is not None:
        node = v.owner
        if isinstance(node.op, RNGConsumerOp):
            v = next(old for old, new in node.op.update(node).items() if new is v)
        elif sources := [u for u in node.inputs if is_generator(u)]:
            v = sources[0]
        else:
            return None
    return v


# ---- names ----


def own(op) -> bool:
    """Does the op come from PyTensor itself, so that its name means what libptgc's table says? A random variable
    whose class inherits all that draws, as that of PyMC's minibatches, does."""
    kind = type(op)
    if isinstance(op, RandomVariable):
        for kind in type(op).__mro__:
            if kind.__module__.startswith("pytensor.") or {"perform", "rng_fn", "rng_fn_scipy", "name"} & set(vars(kind)):
                break
    return kind.__module__.startswith("pytensor.")


def op_name(op: Op) -> str:
    """The name by which pytensor.dprint shows the op."""
    if isinstance(op, Elemwise):
        return op_name(op.scalar_op)
    if isinstance(op, ScalarOp):
        return type(op).__name__ if isinstance(op, Cast | ScalarLoop) else scalar_name(op)
    if isinstance(op, CumOp):
        return "Cumsum" if op.mode == "add" else "Cumprod"
    if isinstance(op, IncSubtensor):
        return "SetSubtensor" if op.set_instead_of_inc else "IncSubtensor"
    if isinstance(op, AdvancedIncSubtensor):
        return "AdvancedSetSubtensor" if op.set_instead_of_inc else "AdvancedIncSubtensor"
    if isinstance(op, RandomVariable):
        return f"{getattr(type(op), 'name', op.name)}_rv"
    return type(op).__name__


def given_name(node: Apply) -> str:
    """The name of the node's OpFromGraph, as its user gives it; of a derivative, which reads the arguments and
    results of another one, that of this op with _grad; else that of its class."""
    op = getattr(node.op, "core_op", node.op)
    if name := getattr(op, "name", None):
        return name
    for n in {v.owner for v in node.inputs if v.owner is not None}:
        of, read = getattr(n.op, "core_op", n.op), n.inputs + n.outputs
        if isinstance(of, OpFromGraph) and node.inputs[: len(read)] == read:
            return f"{op_name(of)}_grad"
    return op_name(op)


@cache
def shipped(kind: type) -> ScalarOp | None:
    """PyTensor's own instance of a class of scalar ops; None where there is none, as for Composite.

    Other instances can have a name and a dtype rule of their own; the op table means this one.
    """
    known = getattr(sys.modules.get(kind.__module__), "__dict__", {})
    return next((v for v in known.values() if type(v) is kind), None)


def scalar_name(op: ScalarOp) -> str:
    usual = shipped(type(op)) or op
    return str(usual.name or type(op).__name__).capitalize()


def check_scalar_dtypes(op: ScalarOp, node: Apply) -> None:
    """TypeError if the results have other dtypes than PyTensor's own instance of the op gives."""
    usual = shipped(type(op))
    if usual is None or (op == usual and not isinstance(op, TrueDiv)):  # TrueDiv's rule depends on floatX
        return
    dtypes = [v.type.dtype for v in node.outputs]
    try:
        same = usual.make_node(*[get_scalar_type(v.type.dtype)() for v in node.inputs])
    except TypeError:
        same = None
    if same is None or [v.type.dtype for v in same.outputs] != dtypes:
        given = ", ".join(dtypes)
        raise TypeError(f"it gives {given}, by a dtype rule of its own or another floatX: use a Cast for that")


def check_perform(op) -> None:
    """TypeError if the op computes something else than PyTensor's class that it inherits from."""
    if type(op) is RandomVariable and op.name not in PLAIN_DRAWS:  # it draws by NumPy's method of its name
        raise TypeError(NOT_PYTENSORS)
    base = next(c for c in type(op).__mro__ if c.__module__.startswith("pytensor."))
    if type(op).perform is not base.perform:
        raise TypeError(NOT_PYTENSORS)


# ---- properties ----


def property_text(value) -> str:
    if value is None or isinstance(value, bool | np.bool_):
        return str(value)
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, float | np.floating):
        text = _text.real(np.float64(value))
        return text if re.search(r"[.en]", text) else text + ".0"
    if isinstance(value, str):
        return value if value in _lib.dtypes() else _text.string(value)
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


def properties(op) -> tuple:
    props = tuple(getattr(op, "__props__", None) or ())
    if isinstance(op, RandomVariable):
        return tuple(p for p in props if p != "name")  # the name of the op has it
    if isinstance(op, Blockwise):
        return ("core_op", "signature")
    if props:
        return props
    known = _lib.op_properties(op_name(op)) or ()  # subclasses of OpFromGraph have plain attributes
    return tuple(p for p in known if hasattr(op, p))


def name_and_value(op, name) -> str:
    value = getattr(op, name)
    known = _lib.op_properties(op_name(op)) or {}
    try:
        if name in ("axis", "axes") and "axes" in known.values() and not isinstance(value, int):
            return axes_text(value)
        return f"{name}={property_text(value)}"
    except TypeError as e:
        if callable(value) and not isinstance(value, Op):
            raise TypeError(f"its {name} calls a Python function") from None
        raise TypeError(f"its {name}: {e}") from None


def dimshuffle_text(op) -> str:
    order, new = op.new_order, [i for i, d in enumerate(op.new_order) if d == "x"]
    kept = [d for d in order if d != "x"]
    order_reversed = tuple(range(op.input_ndim))[::-1]
    if kept == list(range(op.input_ndim)) and new:
        return f"ExpandDims{{{axes_text(new)}}}"
    dropped = [i for i in range(op.input_ndim) if i not in kept]
    if not new and kept == sorted(kept) and dropped:
        return f"Squeeze{{{axes_text(dropped)}}}"
    if not new and not dropped:
        return "Transpose" if order == order_reversed else f"Transpose{{axes={property_text(list(order))}}}"
    return "DimShuffle{order=" + property_text(list(order)) + "}"


@cache
def usual_dtypes(kind: type, dtype: str) -> tuple:
    """The dtypes of the result and of the accumulator of a Sum or Prod that is given none."""
    op = kind(axis=None).make_node(TensorType(dtype, (None,))()).op
    return op.dtype, op.acc_dtype


def reduction_text(op, node=None) -> str:
    name = type(op).__name__ if own(op) else "CAReduce"
    every = op.axis is None or (node is not None and sorted(op.axis) == list(range(node.inputs[0].type.ndim)) != [])
    parts = [] if every else [axes_text(op.axis)]  # without axes all are meant
    known = _lib.op_properties(name) or ()
    if isinstance(op.scalar_op, Composite):
        raise TypeError("it reduces by a graph of scalar ops")
    if "scalar_op" in known:
        parts.insert(0, f"scalar_op={op_text(op.scalar_op)}")
    usual = (None, None)
    if node and name != "CAReduce" and "acc_dtype" in known:
        usual = usual_dtypes(type(op), node.inputs[0].type.dtype)
    for p in ("dtype", "acc_dtype", "no_zeros_in_input", "initial"):
        value = getattr(op, p, None)
        if p not in known or value in (None, False):
            continue  # Max, All and others keep their input's dtype
        if p not in ("dtype", "acc_dtype") or (op.dtype, op.acc_dtype) != usual:
            parts.append(f"{p}={property_text(value)}")
    return f"{name}{{{', '.join(parts)}}}" if parts else name


def op_text(op: Op, node=None) -> str:
    """The op with its properties, without arguments. TypeError says why it cannot be written."""
    if isinstance(op, Elemwise):
        op = op.scalar_op
    if isinstance(op, DimShuffle):
        return dimshuffle_text(op)
    if isinstance(op, CAReduce):
        return reduction_text(op, node)
    if isinstance(op, CheckAndRaise):  # PyMC's CheckParameterValue too
        return f"CheckAndRaise{{msg={_text.string(str(op.msg))}}}"
    if not own(op):
        raise TypeError(NOT_PYTENSORS)
    name = op_name(op)
    if isinstance(op, ScalarOp):
        if node and name != "Cast":
            check_scalar_dtypes(op, node)
        return f"Cast{{{op.o_type.dtype}}}" if name == "Cast" else name
    if isinstance(op, Join):
        return f"Join{{axis={op.axis}}}"
    if isinstance(op, Split):
        return f"Split{{axis={op.axis}, n={op.len_splits}}}"
    if isinstance(op, CumOp):
        return f"{name}{{axis={op.axis}}}"
    if isinstance(op, INDEXING):
        more = ", ignore_duplicates=True" if getattr(op, "ignore_duplicates", False) else ""
        return f"{name}{{{', '.join(property_text(p) for p in op.idx_list)}{more}}}"
    parts = [name_and_value(op, p) for p in properties(op) if p not in IGNORED]
    return f"{name}{{{', '.join(parts)}}}" if parts else name


# ---- ops said by other ops ----


def unfused(node: Apply) -> tuple[Apply, ...]:
    """The nodes Elemwise{f} and Sum or Prod of a node that PyTensor's C modes made of them; any other node alone.

    The fused node is CAReduce{Composite}, with a Composite of (so far, x) -> so far + f(x), or of a product.
    Only PyTensor's C code computes what it means: its Python code starts with x instead of f(x).
    """
    op = node.op
    if not (isinstance(op, CAReduce) and isinstance(op.scalar_op, Composite)):
        return (node,)
    graph = op.scalar_op.fgraph.unfreeze()
    so_far, x = graph.inputs
    result = graph.outputs[0].owner
    if result is not None and isinstance(result.op, Cast):  # to the dtype of the accumulator
        result = result.inputs[0].owner
    kinds: dict[type, type] = {Add: Sum, Mul: Prod}
    kind = kinds.get(type(result.op)) if result is not None and len(result.inputs) == 2 else None
    if kind is None or so_far not in result.inputs:
        return (node,)
    value: Variable = result.inputs[1 - result.inputs.index(so_far)]
    if so_far in ancestors([value]):
        return (node,)
    inner = value.owner
    one_op = inner is not None and inner.inputs == [x] and len(inner.outputs) == 1
    scalar_op = inner.op if one_op else Composite([x], [value])
    each = Elemwise(scalar_op).make_node(*node.inputs)
    reduction = kind(axis=op.axis, dtype=node.outputs[0].type.dtype, acc_dtype=op.acc_dtype)
    return each, reduction.make_node(each.outputs[0])


def batched(node: Apply) -> FunctionGraph:
    """The graph that a Blockwise of an inner graph computes on whole batches.

    Inputs whose batch is stretched are stretched first, and the other inputs must agree with them in the
    lengths of the batch, as Blockwise checks; so every result has all of the batch.
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
