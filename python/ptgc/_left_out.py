"""PyTensor's rewrites that change what a graph computes: the mode and the exporter leave them out.

doc/upstream.md says the same in words. tests/run/test_upstream.py runs the examples, and fails when PyTensor has mended
one: then its row goes."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from pytensor.compile.mode import local_useless, optdb
from pytensor.graph.basic import Constant
from pytensor.graph.rewriting.basic import NodeRewriter, node_rewriter
from pytensor.graph.rewriting.db import LocalGroupDB
from pytensor.graph.traversal import graph_inputs
from pytensor.scalar import basic as scalar
from pytensor.scalar.math import Erfc, Sigmoid
from pytensor.tensor.elemwise import DimShuffle, Elemwise
from pytensor.tensor.math import Prod, Sum

DATABASES = *(optdb[phase] for phase in ("canonicalize", "stabilize", "specialize", "uncanonicalize")), local_useless


class Wrong(NamedTuple):
    """A rewrite of PyTensor's, by its name there, and an expression that it makes wrong for these x.

    holds: for which nodes it is right and stays; None: for too few."""

    name: str
    example: str
    x: np.ndarray
    becomes: str
    holds: Callable | None = None


EXACT = 2**53  # PyTensor joins constants that are integers by way of float64


def is_float(node) -> bool:
    return node.outputs[0].type.dtype.startswith("float")


def without_dimshuffles(v):
    while v.owner and isinstance(v.owner.op, DimShuffle):
        v = v.owner.inputs[0]
    return v


def is_integer(v) -> bool:
    return v.type.dtype.startswith(("int", "uint"))


def keeps_dtype(node) -> bool:
    return node.inputs[-1].type.dtype == node.outputs[0].type.dtype


def has_usual_accumulator(node) -> bool:
    """Is the dtype in which the sum is computed that which PyTensor chooses by itself?"""
    usual = type(node.op)(axis=node.op.axis, dtype=node.op.dtype).make_node(*node.inputs).op
    return node.op.acc_dtype == usual.acc_dtype


def reduces_products_of_one_dtype(node) -> bool:
    """Of a sum or product of a product or quotient: have the factors the dtype of that, but for constants, and has the
    result the dtype of integers?"""
    inner = node.inputs[0].owner
    if is_integer(node.inputs[0]) and not keeps_dtype(node):
        return False
    if inner is None or not is_elementwise(inner, scalar.Mul | scalar.TrueDiv):
        return True
    return all(v.type.dtype == node.inputs[0].type.dtype or isinstance(v, Constant) for v in inner.inputs)


def reduces_in_one_dtype(node) -> bool:
    """Of a reduction of a reduction: is what lies between them of the dtype of the result, or of floats?"""
    between = node.inputs[0].type.dtype
    return between == node.outputs[0].type.dtype == getattr(node.op, "acc_dtype", None) or between.startswith("float")


def of_constants(v) -> bool:
    """Is it an integer that is computed from constants alone?"""
    return is_integer(v) and all(isinstance(u, Constant) for u in graph_inputs([v]))


def of_one_dtype(operations, leaves=(), most=1):
    """Of an expression of these operations that ends in a node: is each computed in the dtype of the result, from
    values of that dtype and one other at most, a constant or of a dtype of ``leaves``?

    Of ``leaves`` the whole expression has ``most``: of a * x * b / x with integers a and b the rewrite leaves a * b, which
    wraps.

    An integer that is computed from constants is a constant for a result of floats, whatever its dtype holds: then
    x / (3 * 100) is x / 300, in int8 too, as all modes of PyTensor have it."""

    def holds(node) -> bool:
        dtype, todo, seen, constants = node.outputs[0].type.dtype, [node], {node}, 1.0
        of_floats = dtype.startswith("float")
        integers = 0
        for at in todo:
            if sum(v.type.dtype != dtype for v in at.inputs) > 1:
                return False
            for v in at.inputs:
                if of_floats and of_constants(v):
                    continue
                inner = v.owner and (isinstance(v.owner.op, DimShuffle) or is_elementwise(v.owner, operations))
                if inner and v.owner not in seen:
                    seen.add(v.owner)
                    todo.append(v.owner)
                if isinstance(v, Constant):
                    if not of_floats:
                        constants *= max(1.0, np.abs(v.data.astype(float)).max(initial=0))
                elif v.type.dtype != dtype:
                    integers += 1
                    if inner or v.type.dtype not in leaves or integers > most:
                        return False
        return of_floats or constants < EXACT

    return holds


def widens_one_operand(node) -> bool:
    """Have all operands but one the dtype of the result, and a negated one too, and is none -1 that stands beside
    another dtype? Then one constant less, or a sign taken out, leaves the dtypes as they are in which a sum or product
    is computed."""
    dtype = node.outputs[0].type.dtype
    other = [v for v in node.inputs if v.type.dtype != dtype]
    minus = any(isinstance(v, Constant) and np.all(v.data == -1) for v in node.inputs)
    return not other or (len(other) == 1 and negated_have_dtype(node) and not minus)


def negated_have_dtype(node) -> bool:
    """Have negated operands the dtype of the result? Then a sign that is taken from them is that of the result."""
    negated = [v for v in node.inputs if v.owner and is_elementwise(v.owner, scalar.Neg)]
    return all(v.type.dtype == node.outputs[0].type.dtype for v in negated)


def negates_quotient_of_float(node) -> bool:
    inner = node.inputs[0].owner
    return inner is None or not is_elementwise(inner, scalar.TrueDiv) or not is_integer(inner.inputs[0])


def of_floats(operations):
    """Are the arguments of these operations floats, in an expression that ends in a node and is four deep at most?
    Integers wrap where they are negated or added."""

    def holds(node) -> bool:
        level = node.outputs
        for _ in range(4):
            nodes = [at for v in level if (at := without_dimshuffles(v).owner) and isinstance(at.op, Elemwise)]
            if any(is_elementwise(at, operations) and any(map(is_integer, at.inputs)) for at in nodes):
                return False
            level = [v for at in nodes for v in at.inputs]
        return True

    return holds


def terms_and_factors_have_dtype(node) -> bool:
    """Have the sums and products of which it is made the dtype of the result? They are taken apart."""
    dtype, todo = node.outputs[0].type.dtype, list(node.inputs)
    apart = scalar.Add | scalar.Sub | scalar.Neg | scalar.Mul | scalar.TrueDiv | scalar.Reciprocal
    for v in todo:
        if v.owner and (isinstance(v.owner.op, DimShuffle) or is_elementwise(v.owner, apart)):
            if v.type.dtype != dtype:
                return False
            todo += v.owner.inputs
    return True


def is_power_of_one_dtype(node) -> bool:
    """Has the base the dtype of the power, and is the exponent of an integer not negative?"""
    base, exponent = node.inputs
    negative = isinstance(exponent, Constant) and np.any(exponent.data < 0)
    return base.type.dtype == node.outputs[0].type.dtype and not (negative and is_integer(base))


def is_elementwise(node, operations) -> bool:
    return isinstance(node.op, Elemwise) and isinstance(node.op.scalar_op, operations)


def may_be_nan(node) -> bool:
    return len(node.inputs) == 2 and node.inputs[0] is node.inputs[1] and node.inputs[0].type.dtype.startswith("float")


WRONG = (
    Wrong(
        "local_dimshuffle_subtensor", "pt.specify_shape(x, (2, None))[::-2].squeeze(0)", np.array([[1.0], [2.0]]),
        "x[0], where x[-1] is meant: a slice without a start begins at the end if its step is negative",
    ),
    Wrong(
        "local_pow_specialize", "x ** 2.0", np.array([126], "int8"),
        "sqr(x), computed in int8: 4, not 15876",
        is_power_of_one_dtype,
    ),
    Wrong(
        "local_max_to_min", "-pt.max(-x)", np.array([0, 5], "uint8"),
        "min(x), 0: but -x of a uint8 is 256 - x, of 0 it is 0, and the greatest of 0 and 251 is 251",
        is_float,
    ),
    Wrong(
        "local_div_to_reciprocal", "pt.constant(1.0, dtype='float64') / x", np.array([3], "int8"),
        "reciprocal(x), computed in float32, as PyTensor has it for int8",
        keeps_dtype,
    ),
    Wrong(
        "local_sum_prod_all_to_none", "pt.prod(x, axis=[0], dtype='int64', acc_dtype='uint8')", np.array([70, 60], "uint8"),
        "4200: acc_dtype is forgotten, in which the product is 104",
        has_usual_accumulator,
    ),
    Wrong(
        "local_reduce_chain", "x.sum(axis=0, dtype='int8').sum()", np.array([[100], [100]], "int8"),
        "x.sum(), 200: the inner sum is -56 in int8",
        reduces_in_one_dtype,
    ),
    Wrong(
        "local_upcast_elemwise_constant_inputs", "pt.add(x, pt.constant([2**64 - 1], dtype='uint64'), pt.cast(x, 'int8'))",
        np.array([9], "uint8"),
        "a sum in float64, 18446744073709551616: of x and the constant it is 8 in uint64",
        lambda node: len(node.inputs) <= 2,
    ),
    Wrong(
        "flatten_nested_add_mul", "pt.cast(x, 'float64') + (x + x)", np.array([100], "int8"),
        "a sum in float64, 300: x + x is -56 in int8",
    ),
    Wrong(
        "constant_fold_branches_of_add_mul", "pt.mul(c := pt.join(0, k := pt.constant([126], dtype='int8'), k), x[0], c)",
        np.array([1.0]),
        "mul(c * c, x), c * c in int8: 4, not 15876",
    ),
    Wrong(
        "local_sum_prod_of_mul_or_div", "pt.prod(pt.constant([2.0, 3.0]) * x[0])", np.array([2**40], "uint64"),
        "prod([2, 3]) * x ** 2, a power of uint64: 0, not 6 * 2**80",
        reduces_products_of_one_dtype,
    ),
    Wrong(
        "local_sum_of_neg_to_neg_of_sum", "pt.sum(-x)", np.array([9], "uint8"),
        "-sum(x), 2**64 - 9, as the sum is uint64: -x is 247",
        keeps_dtype,
    ),
    Wrong(
        "local_careduce_of_alloc", "pt.any(pt.alloc(np.array(True), x.shape[0]))", np.array([], "bool"),
        "True, what is repeated: of no elements it is False, and the maximum of none is an error",
        # a sum is x * n: in the dtype of x, if that is as wide as n, and of uint64 and int64 in float64
        lambda node: isinstance(node.op, Sum | Prod) and node.outputs[0].type.dtype != "uint64"
        and (keeps_dtype(node) or not is_integer(node.inputs[0])),
    ),
    Wrong(
        "local_div_by_one", "x // 1", np.array([2.5]),
        "x, 2.5: x // 1 is the floor of x",
        lambda node: not is_elementwise(node, scalar.IntDiv) or not is_float(node),
    ),
    Wrong(
        "local_merge_alloc", "pt.alloc(pt.alloc(x, 1), x[0])", np.array([0]),
        "alloc(x, 1), which has an element",
    ),
    Wrong(
        "local_add_canonizer", "(y := pt.cast(x, 'int16')) - x - y", np.array([9], "uint8"),
        "-x, 247 in uint8: -9 in int16 is right",
        of_one_dtype(scalar.Add | scalar.Sub | scalar.Neg),
    ),
    Wrong(
        "local_mul_canonizer", "x * x / x", np.array([16], "uint8"),
        "x, 16: but x * x is 0 in uint8",
        of_one_dtype(scalar.Mul | scalar.TrueDiv | scalar.Reciprocal, ("int32", "int64")),
    ),
    Wrong(
        "local_mul_specialize", "pt.mul(pt.constant(1.0, dtype='float64'), x, x)", np.array([127], "uint8"),
        "x * x, computed in uint8: 1, not 16129",
        widens_one_operand,
    ),
    Wrong(
        "local_add_remove_zeros", "pt.add(pt.constant(0.0, dtype='float64'), x, x)", np.array([100], "int8"),
        "x + x, computed in int8: -56, not 200",
        widens_one_operand,
    ),
    Wrong(
        "local_add_neg_to_sub", "pt.cast(x, 'int32') + -x", np.array([9], "uint8"),
        "x - x, 0 in int32: -x is 247 in uint8",
        negated_have_dtype,
    ),
    Wrong(
        "local_sub_neg_to_add", "pt.cast(x, 'int32') - -x", np.array([9], "uint8"),
        "x + x, 18 in int32: -x is 247 in uint8",
        negated_have_dtype,
    ),
    Wrong(
        "local_neg_div_neg", "-(-x / 2.0)", np.array([9], "uint8"),
        "x / 2.0, 4.5: -x is 247 in uint8",
        negates_quotient_of_float,
    ),
    Wrong(
        "local_greedy_distributor", "-x / pt.constant(-2.0, dtype='float64')", np.array([9], "uint8"),
        "x / 2, 4.5: -x is 247 in uint8",
        terms_and_factors_have_dtype,
    ),
    Wrong(
        "local_1msigmoid", "1 - pt.sigmoid(x)", np.array([9], "uint8"),
        "sigmoid(-x), 1: -x is 247 in uint8",
        of_floats(Sigmoid),
    ),
    Wrong(
        "logsigm_to_softplus", "pt.log(pt.sigmoid(x))", np.array([9], "uint8"),
        "-softplus(-x), -247: -x is 247 in uint8",
        of_floats(Sigmoid),
    ),
    Wrong(
        "local_exp_over_1_plus_exp", "1 / (1 + pt.exp(x))", np.array([9], "uint8"),
        "sigmoid(-x), 1: -x is 247 in uint8",
        of_floats(scalar.Exp),
    ),
    Wrong(
        "local_div_exp_to_mul_exp", "1 / pt.exp(x)", np.array([9], "uint8"),
        "exp(-x), infinite: -x is 247 in uint8",
        of_floats(scalar.Exp),
    ),
    Wrong(
        "local_mul_exp_to_exp_add", "pt.exp(x) * pt.exp(x)", np.array([-128], "int8"),
        "exp(x + x), 1: x + x is 0 in int8",
        of_floats(scalar.Exp),
    ),
    Wrong(
        "local_mul_pow_to_pow_add", "x**100 * x**100", np.array([2.0]),
        "x ** (100 + 100), which is x ** -56: the exponents are of int8",
        of_floats(scalar.Pow),
    ),
    Wrong(
        "local_sigm_times_exp", "pt.exp(x) * pt.sigmoid(-x)", np.array([200], "uint8"),
        "sigmoid(x), 1: -x is 56 in uint8",
        of_floats(scalar.Exp | Sigmoid),
    ),
    Wrong(
        "local_erf_neg_minus_one", "pt.erfc(-x) - 1", np.array([20], "uint8"),
        "erf(x), 1: -x is 236 in uint8",
        of_floats(Erfc | scalar.Neg),
    ),
    Wrong(
        "local_log_erfc", "pt.log(pt.erfc(x))", np.array([100_000], "int32"),
        "-x**2 - log(x) and more for large x: x**2 wraps in int32",
        of_floats(Erfc),
    ),
    Wrong(
        "local_abs_lift", "pt.abs(x * pt.constant(2.0, dtype='float64'))", np.array([-128], "int8"),
        "abs(x) * 2, -256: abs(x) is -128 in int8",
        of_floats(scalar.Mul | scalar.TrueDiv),
    ),
    Wrong(
        "local_softmax_stabilize", "pt.exp(x) / pt.sum(pt.exp(x))", np.array([0, 800], "uint64"),
        "softmax(x), of which PyTensor computes exp(x - max(x)), where the difference wraps",
        of_floats(scalar.Exp),
    ),
    Wrong(
        "local_log_add_exp", "pt.log(pt.exp(x) + pt.exp(-x))", np.array([-128], "int8"),
        "x + log(exp(x - x) + exp(-x - x)), where -x - x is 0 in int8",
        of_floats(scalar.Exp),
    ),
    Wrong(
        "local_log_sqrt_sqr", "pt.log(x * x)", np.array([100], "int8"),
        "2 * log(abs(x)): x * x is 16 in int8",
        of_floats(scalar.Sqr),
    ),
    Wrong(
        "local_sqrt_sqr", "pt.sqrt(x * x)", np.array([100], "int8"),
        "abs(x): x * x is 16 in int8",
        of_floats(scalar.Sqr),
    ),
    Wrong(
        "reassociate_matmul_chain", "pt.dot(x * np.int8(3), x)", np.array([9, 200], "uint8"),
        "3 * dot(x, x): x * 3 is of int16, and the dot of x with itself of uint8",
        # rewrites.py has what stays of it: products of floats
    ),
    Wrong(
        "local_useless_elemwise", "pt.neq(x, x)", np.array([np.nan]),
        "False. This is how NaN is found",
        lambda node: not may_be_nan(node),
    ),
    Wrong(
        "local_useless_elemwise_comparison", "pt.ge(x, x)", np.array([np.nan]),
        "True, as if no x were NaN",
        lambda node: not may_be_nan(node),
    ),
)  # fmt: skip


# PyTensor's tag of rewrites that make an op of a formula. It leaves them out in the graph of that op, which is the formula.
RECOGNISES = "symbolic_op_recognition"


def where_it_holds(wrong: Wrong, own: NodeRewriter) -> NodeRewriter:
    """The rewrite for the nodes for which it is right"""

    def transform(fgraph, node):
        return own.transform(fgraph, node, enforce_tracks=False) if wrong.holds(node) else None

    transform.__name__ = f"{wrong.name}_where_it_holds"
    return node_rewriter(own.tracks())(transform)


def leave_out() -> list[str]:
    """Registers for the mode what stays of these rewrites, and gives the names of those to exclude."""
    for wrong in WRONG:
        for db in DATABASES:
            if wrong.holds and wrong.name in db:
                own = db[wrong.name]
                kept = where_it_holds(wrong, own)
                at = {"position": "last"} if isinstance(db, LocalGroupDB) else {"use_db_name_as_tag": False}
                tags = [RECOGNISES] if own in db.__db__[RECOGNISES] else []
                db.register(str(kept), kept, "onnx", *tags, **at)
    return [wrong.name for wrong in WRONG]
