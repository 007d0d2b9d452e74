"""The table of the numeric test: a row for every op that converts. See grid.py for what a row says."""

import math
from dataclasses import replace

import mpmath as mp
import numpy as np
import pytensor.scalar as ps
import pytensor.tensor as pt
from pytensor.compile.builders import OpFromGraph
from pytensor.compile.ops import DeepCopyOp, ViewOp, wrap_py
from pytensor.conditional.op import LazyIfElse, ifelse
from pytensor.gradient import DisconnectedGrad, GradClip, GradScale, UndefinedGrad, ZeroGrad
from pytensor.printing import Print
from pytensor.raise_op import Assert, CheckAndRaise
from pytensor.scalar.basic import ScalarOp
from pytensor.scan.basic import scan
from pytensor.tensor.basic import PermuteRowElements, Choose, AllocDiag, AllocEmpty, ARange, ExtractDiag, Eye, Join, MakeVector, Split
from pytensor.tensor.blas import BatchedDot, Dot22, Dot22Scalar, gemm_no_inplace, gemv_no_inplace
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.elemwise import CAReduce, Elemwise
from pytensor.tensor.extra_ops import CpuContiguous, CumOp, FillDiagonal, FillDiagonalOffset, RavelMultiIndex, Repeat, UnravelIndex
from pytensor.tensor.shape import Shape, Shape_i, SpecifyShape
from pytensor.tensor import fft
from pytensor.tensor.linalg.solvers.linear_control import TRSYL
from pytensor.tensor.linalg.solvers.lstsq import Lstsq
from pytensor.tensor.linalg.solvers.tridiagonal import LUFactorTridiagonal, SolveLUFactorTridiagonal
from pytensor.tensor.linalg.constructors import BlockDiagonal
from pytensor.tensor.linalg.decomposition.lu import pivot_to_permutation
from pytensor.tensor.linalg.products import kron
from pytensor.tensor.linalg.summary import SLogDet
from pytensor.tensor.signal.conv import convolve1d, convolve2d
from pytensor.tensor.math import All, Any, Argmax, Dot, Max, Min, Prod, ProdWithoutZeros, Sum, mul_without_zeros

from grid import RANKS, A, Form, No, Row, anything
from harness import ALL, BOOL, FLOATS, INTS, PYTHON, UINTS, listed
from ptgc._printer import op_name

INTEGERS = INTS + UINTS
ROWS = {}
FORMS = {}


def row(op, *forms, **more):
    assert op not in ROWS, op
    ROWS[op] = Row(op, list(forms), **more)


# ---- values ----


def choice(*of):
    """Any of these, in the dtype."""

    def values(rng, dtype, shape, near=None):
        d = np.dtype(dtype)
        return rng.choice(np.asarray([v for v in of if d.kind == "f" or np.isfinite(v) and (v >= 0 or d.kind == "i")]), shape).astype(d)

    return values


def between(low, high):
    """Integers from low to high; 0 and 1 for bool, none below 0 for unsigned dtypes."""

    def values(rng, dtype, shape, near=None):
        d = np.dtype(dtype)
        low_, high_ = (0, 1) if d.kind == "b" else (max(low, 0) if d.kind == "u" else low, high)
        return rng.integers(low_, high_, shape, endpoint=True).astype(d)

    return values


def exact(values):
    """Integers of every size; floats that add up, or multiply, without rounding."""

    def either(rng, dtype, shape, near=None):
        return values(rng, dtype, shape) if np.dtype(dtype).kind == "f" else anything(rng, dtype, shape)

    return either


def index(rng, dtype, shape, near):
    """Into the first axis of the first argument, from both ends."""
    n = near.first[0] if near.first else 1
    return rng.integers(-n if np.dtype(dtype).kind == "i" else 0, max(n, 1), shape)


def either(floats, others):
    return lambda rng, dtype, shape, near: (floats if np.dtype(dtype).kind == "f" else others)(rng, dtype, shape, near)


EIGHTHS = exact(choice(*[k / 8 for k in range(-32, 33)]))
POWERS = exact(choice(0.5, 1, 2, -1, -2, -0.5))
SPECIAL = choice(1, -2, 0, -0.0, math.inf, -math.inf, math.nan, 3)
SMALL = between(-3, 3)

ROUGH = {"float16": 2e-3, "float32": 1e-6, "float64": 2e-15}  # absolute: where terms cancel

# ---- elementwise ----

SCALAR = {op_name(o): o for m in (ps, ps.math) for o in vars(m).values() if isinstance(o, ScalarOp)}


def elemwise(op, nin, pairs=True, **more):
    """Same shapes, one argument broadcast, one of rank 0; all pairs of dtypes."""
    build = Elemwise(SCALAR[op])
    forms = [Form(build, (A(),) * nin, corners=True)]
    if nin > 1:
        rest = (A(),) * (nin - 2)
        forms.append(Form(build, (A(), A(shape="...1"), *rest), "one broadcast", sizes=("0", "2", "7"), ranks=(2, 3, 4)))
        forms.append(Form(build, (A(shape="...0"), A(), *rest), "one of rank 0", sizes=("0", "2"), ranks=(1, 2)))
    if nin > 1 and pairs:
        forms.append(Form(build, (A(), A("E"), *rest), "pairs", corners=True))
    row(op, *forms, **more)


def log_gamma(x):
    return mp.loggamma(x).real if x > 0 else mp.log(abs(mp.gamma(x)))


def spelled(op, build=lambda x: x, **more):
    """An op that no live graph has, or not by that name: its text, and what PyTensor computes."""
    row(op, Form(build, text=op + "({0})", **more))


# where an argument is near a limit of a dtype, near a pole or a zero, or where code changes its method
HALVES = (0.49999999999999994, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 3.5, 4503599627370495.5, 4503599627370497.0, 8388607.5, 1023.5, 1025.0)
PI = tuple(k * math.pi / 4 for k in (1, 2, 3, 4, 5, 6, 8, 100, 1e5, 1e15, -1, -2, -4))
TINY = (1e-5, -1e-5, 1e-10, -1e-10, 1e-20, 1e-300, 5e-324)
EXP = (*TINY, 11.0898, 88.72283, -87.3365, -103.97, 709.782712893384, 709.79, -708.39, -745.13, -745.2, 0.34657359, -0.34657359)
EXP2 = (0.5, 18.5, 33.5, 37.5, -37.5, 1024, -1074, -1022.5, 16, -14.5, 20, 22, 710.4758600739439)
ONE = (1 + 2e-16, 1 - 1e-16, 1 + 1e-7, 1 - 1e-7, 1 + 1e-3, 1 - 1e-3, 0.99999, 0.5, 0.75, -0.99999, -0.5)
GAMMA = (*ONE, 2 - 1e-9, 2 + 1e-9, 3, 4, 8, 35.04, 171.6, 171.7, -0.5, -1.5, -3.5, -10.25, -2.0000001, 2.55e305, 1e5, 1e-3, -170.5, 33.5, 12.0)

for op in ("Neg", "Abs", "Sign", "Sqr", "Sqrt", "Reciprocal", "Isnan", "Isinf", "Identity", "Real", "Imag", "Conj"):
    elemwise(op, 1)
for op in ("Floor", "Ceil", "Trunc", "Roundhalftoeven", "Roundhalfawayfromzero"):
    elemwise(op, 1, near=HALVES)
for op, ufunc in (("Deg2rad", np.deg2rad), ("Rad2deg", np.rad2deg)):  # PyTensor has functions, no ops: NumPy is followed
    build = lambda x, ufunc=ufunc: wrap_py([x.type], [x.type])(ufunc)(x)  # noqa: E731
    row(op, Form(build, text=op + "({0})", corners=True, dtypes=FLOATS), near=TINY)

for op in ("Add", "Sub", "Mul", "True_div", "Int_div", "Mod", "Second"):
    elemwise(op, 2)
NO_OVERFLOW = A(values=either(anything, between(-9, 9)))  # Python code of PyTensor's own raises where a product overflows
row(
    "Mul_without_zeros",
    Form(Elemwise(mul_without_zeros), (NO_OVERFLOW, NO_OVERFLOW)),
    Form(Elemwise(mul_without_zeros), (NO_OVERFLOW, replace(NO_OVERFLOW, dtype="E")), "pairs"),
)
elemwise("Maximum", 2, zero_sign=False, why="of 0 and -0 NumPy takes either")
elemwise("Minimum", 2, zero_sign=False, why="of 0 and -0 NumPy takes either")
for op in ("Eq", "Neq", "Lt", "Le", "Gt", "Ge"):
    elemwise(op, 2)
for op in ("And", "Or", "Xor"):
    elemwise(op, 2, no=(No("Bitwise", INTEGERS, below=18),))
elemwise("Invert", 1, no=(No("Bitwise", INTEGERS, below=18),))
elemwise("Clip", 3, pairs=False)
SWITCH = Elemwise(ps.switch)
row(
    "Switch",
    Form(SWITCH, (A("bool"), A(), A()), corners=True),
    Form(SWITCH, (A(), A("float32"), A("float32")), "condition", corners=True),
    Form(SWITCH, (A("bool"), A(), A("E")), "pairs", corners=True),
    Form(SWITCH, (A("bool", "...1"), A(), A(shape="...0")), "broadcast", ranks=(1, 2, 3)),
)
row("Cast", *[Form(Elemwise(getattr(ps, f"convert_to_{t}")), name=f"to {t}", corners=True, ranks=(0, 1, 2, 4)) for t in ALL], near=HALVES)

for op in ("Exp", "Exp2", "Expm1", "Sinh", "Cosh", "Tanh"):
    elemwise(op, 1, near=(*EXP, *EXP2))
elemwise("Sigmoid", 1, near=(*EXP, *EXP2), atol={"float32": 1.2e-38}, why="PyTensor's float32 drops what is subnormal")
elemwise("Softplus", 1, near=(*EXP, *EXP2), declared=True)
for op in ("Log", "Log2", "Log10", "Log1p"):
    elemwise(op, 1, near=(*EXP, *ONE, 2, 4, 8, 1000, 1e15, 2**-1022, -1 + 1e-10))
elemwise("Log1mexp", 1, near=(*EXP, -0.6931471805599453, -0.69314718, -40.5, -1e-3))
for op in ("Sin", "Cos", "Tan"):
    elemwise(op, 1, near=(*PI, *TINY))
for op in ("Arcsin", "Arccos", "Arctan", "Arcsinh", "Arccosh", "Arctanh"):
    elemwise(op, 1, near=(*ONE, *TINY, 1e8, 1e19, 1e155, -1e155, 2.5, 0.625, 2.414, -2.414))
elemwise("Arctan2", 2, declared=True, exact=mp.atan2, why="NumPy's float32 and float16 are up to 3 ULP off")

ERF = (*ONE, *TINY, 0.84375, 1.25, 2.857, 3.9, 6.5, 9.3, 26.5, 27.2, -5.9, -26.6, 1.9999, 1.5, -0.9, 0.2, 50.5, 1e100)
elemwise("Erf", 1, near=ERF)
elemwise("Erfc", 1, near=ERF, exact=mp.erfc, ulp={"float64": 9}, why="SciPy's largest error in the tail")
elemwise("Erfcx", 1, near=ERF, exact=lambda x: mp.erfc(x) * mp.exp(x * x), ulp={"float64": 11}, why="SciPy's largest error")
elemwise("Erfinv", 1, near=ERF)
elemwise("Erfcinv", 1, near=ERF, exact=lambda x: mp.erfinv(1 - x), ulp={"float64": 5}, why="the rational function's own error")
GAMMA = (*GAMMA, 1.4616321449683623)
elemwise("Gammaln", 1, near=GAMMA, exact=log_gamma, ulp={"float64": 6}, atol={"float64": 1e-15}, why="near its zeros only SciPy's absolute error is small")
elemwise("Gamma", 1, near=GAMMA, exact=mp.gamma, ulp={"float64": 7}, why="SciPy's largest error")
elemwise("Psi", 1, near=GAMMA, exact=mp.digamma, atol={"float64": 2e-15}, why="near negative poles and zeros only SciPy's absolute error is small")
elemwise("Tri_gamma", 1, near=GAMMA, exact=lambda x: mp.polygamma(1, x), ulp={"float64": 6}, why="SciPy's largest error")
BESSEL = (*TINY, 2, 5, 7.5, 8, 8.5, 25.5, 87.5, 700.5, 2.404825557695773, 3.831705970207512, 1e4)
elemwise("I0", 1, near=BESSEL)
elemwise("I1", 1, near=BESSEL, ulp={"float64": 9}, why="SciPy's largest error")
for op in ("J0", "J1"):
    elemwise(op, 1, near=BESSEL, atol={"float64": 4e-15}, why="near its zeros only SciPy's absolute error is small")
pow_ = Elemwise(ps.pow)
SAFE = between(0, 5)  # PyTensor refuses negative exponents of integers at run time
row(
    "Pow",
    Form(pow_, (A(), A()), corners=True, dtypes=UINTS + FLOATS + BOOL),
    Form(pow_, (A(), A(values=SAFE)), "exponents from 0", dtypes=INTS),
    Form(pow_, (A(), A("E", values=SAFE)), "pairs"),
    Form(pow_, (A("E", values=SAFE), A(values=SAFE)), "pairs the other way"),
)
row("Polygamma", Form(Elemwise(ps.math.polygamma), (A("int64", values=between(0, 4)), A(values=choice(0.5, 1, 3, 20, -0.5, -3.25, 1e3, 1e-3, 0, -2, math.inf, math.nan)))), ulp={"float64": 9}, why="SciPy's largest error")
for op in ("Gammainc", "Gammaincc"):
    f = Elemwise(SCALAR[op])
    sizes = ("0", "1", "2", "7")
    few = choice(0, 1, 2, 0.5, 5, 11, -1, 30, 30.5, 0.001, math.inf, math.nan)
    row(op, Form(f, (A(values=few), A(values=few)), sizes=sizes), Form(f, (A(values=few), A("float32", values=few)), "float32 beside it", ranks=(2,), sizes=sizes), ulp={"float64": 300}, why="SciPy's largest error near x = k")
for op, f in (("XLogY", pt.special.xlogy), ("XLog1PY", pt.special.xlog1py), ("LogAddExp", pt.special.logaddexp)):
    row(op, Form(f, (A(), A()), corners=True), Form(f, (A(), A("E")), "pairs", ulp={"float64": 2**31}), declared=True,
        ulp={"float16": 2, "float32": 4}, atol=ROUGH if op == "LogAddExp" else {}, why="PyTensor rounds inside, and of two dtypes one may be float32")  # fmt: skip

MARKS = {
    "DeepCopyOp": DeepCopyOp(), "ViewOp": ViewOp(), "CpuContiguous": CpuContiguous(), "DisconnectedGrad": DisconnectedGrad(),
    "GradClip": GradClip(-1, 1), "GradScale": GradScale(2.0), "UndefinedGrad": UndefinedGrad(), "ZeroGrad": ZeroGrad(),
    "Print": Print("x", global_fn=lambda op, x: None),
}  # fmt: skip
for op, mark in MARKS.items():
    row(op, Form(mark))
row("SpecifyAssumptions", Form(lambda x: x, text="SpecifyAssumptions({0})"))
for op in ("TensorFromXTensor", "XTensorFromTensor"):
    row(op, Form(lambda x: x, text=op + "({0})"))
for op in ("ScalarFromTensor", "TensorFromScalar"):
    row(op, Form(lambda x: x, (A(shape=""),), text=op + "({0})", ranks=(0,)))
ok = between(1, 1)
for op, f in (("Assert", Assert("no")), ("CheckAndRaise", CheckAndRaise(ValueError, "no"))):
    row(op, Form(f, (A(), A("bool", "", ok))), Form(f, (A(), A("bool", "", between(0, 0))), "that fails", ranks=(1,), sizes=("2",)))

# ---- reductions ----

AXES = {"all": lambda r: None, "first": lambda r: (0,), "last": lambda r: (r - 1,), "two": lambda r: (0, r - 1), "none": lambda r: ()}


def reductions(f, values, more=(), axes=("all", "first", "last", "two"), **kw):
    """f(axis) is the op; over the axes named, of exact values and of special ones."""
    forms = []
    for name in axes:
        ranks = {"all": RANKS, "two": (2, 3, 4)}.get(name, (1, 2, 3, 4))
        build = lambda x, name=name: f(AXES[name](x.ndim))(x)  # noqa: E731
        forms.append(Form(build, (A(values=values),), name, ranks=ranks, **kw))
        if name in ("first", "all"):
            forms.append(Form(build, (A(values=SPECIAL),), name + ", special", ranks=(1, 2), dtypes=FLOATS, sizes=("2", "7")))
    return [*forms, *more]


WITH_NONE = ("all", "first", "last", "two", "none")
row("Sum", *reductions(lambda a: Sum(axis=a), EIGHTHS, axes=WITH_NONE, more=[
    Form(lambda x, t=t: Sum(axis=(0,), dtype=t)(x), (A(values=SMALL),), f"to {t}", ranks=(1, 2)) for t in ("int64", "float64", "float32", "int8")
]), zero_sign=False, why="a sum of -0 alone is -0 in NumPy for some lengths")  # fmt: skip
row("Prod", *reductions(lambda a: Prod(axis=a), POWERS, axes=WITH_NONE))
row("Mean", *[replace(f, text=lambda r, n=f.name.split(",")[0]: f"Mean{{{{axes={AXES[n](r)}}}}}({{0}})")
    for f in reductions(lambda a: lambda x: pt.mean(x, axis=a), either(EIGHTHS, between(-99, 99)))])  # fmt: skip
row("Max", *reductions(lambda a: Max(axis=a), anything), zero_sign=False, why="of 0 and -0 NumPy takes either")
row("Min", *reductions(lambda a: Min(axis=a), anything), zero_sign=False, why="of 0 and -0 NumPy takes either")
row("All", *reductions(lambda a: All(axis=a), anything))
row("Any", *reductions(lambda a: Any(axis=a), anything))
row("Argmax", *reductions(lambda a: Argmax(axis=a), anything))
row("ProdWithoutZeros", *reductions(lambda a: ProdWithoutZeros(axis=a), between(-1, 1)))
row("CAReduce", *[Form(lambda x, f=f: CAReduce(f, axis=(0,))(x), (A(values=SMALL),), n, ranks=(1, 2)) for n, f in
    (("add", ps.add), ("mul", ps.mul), ("maximum", ps.maximum), ("minimum", ps.minimum), ("and", ps.and_), ("or", ps.or_), ("xor", ps.xor))],
    no=(No("Bitwise", INTEGERS, below=18),))  # fmt: skip
for op, mode in (("Cumsum", "add"), ("Cumprod", "mul")):
    row(op, *[Form(lambda x, k=k, mode=mode: CumOp(axis=k if k == 0 else x.ndim - 1, mode=mode)(x), (A(values=EIGHTHS if mode == "add" else POWERS),), n, ranks=r)
              for n, k, r in (("first", 0, (1, 2, 3, 4)), ("last", 1, (2, 3, 4)))],
        no=(No("int64", tuple(d for d in ALL if d not in ("int64", "uint64", *FLOATS))),))  # fmt: skip
FILLED = ("1", "2", "7")  # PyTensor fails on empty ones
LOOSE = {"float16": 8, "float32": 16, "float64": 32}
LOOSE_WHY = "another order of the same sums; terms cancel"
WIDE = choice(*[k / 4 for k in range(-40, 41)], -math.inf)
MIXED = choice(0, 1, 1000, -1000, math.inf, -math.inf, math.nan)
for op, f in (("LogSumExp", pt.special.LogSumExp), ("Softmax", pt.special.Softmax), ("LogSoftmax", pt.special.LogSoftmax)):
    forms = []
    for name, ranks in (("all", (0, 1, 2, 3, 4)), ("first", (1, 2, 3, 4)), ("last", (2, 3, 4)), ("two", (3, 4))):
        build = lambda x, name=name, f=f: f(axis=AXES[name](x.ndim))(x)  # noqa: E731
        forms += [Form(build, (A(values=WIDE),), name, ranks=ranks), Form(build, (A(values=MIXED),), name + ", special", ranks=(2,), dtypes=FLOATS) if 2 in ranks else None]
    if op != "LogSumExp":
        forms = [replace(f, dtypes=tuple(d for d in f.dtypes if d not in UINTS)) for f in forms if f]
    row(op, *[f for f in forms if f], no=(No("at least one axis", form="all"),) if op != "LogSumExp" else (), ulp=LOOSE, atol=ROUGH, zero_sign=False, why=LOOSE_WHY)

# ---- shapes ----



def text_of(op, *props):
    return lambda r: f"{op}{{{{{', '.join(p.format(r=r, last=r - 1) for p in props)}}}}}({{0}})"


row("DimShuffle", *[Form(lambda x, o=o: x.dimshuffle(*o), (A(),), str(o), ranks=(k,), text=text_of("DimShuffle", f"order=[{', '.join(map(str, o))}]"))
    for k, o in ((2, (0, "x", 1)), (2, (1, "x", 0)), (3, ("x", 2, 0, 1)), (4, (3, "x", 1, 0, 2)), (0, ("x", "x")), (1, (0, "x")))])  # fmt: skip
row("ExpandDims", Form(lambda x: pt.expand_dims(x, 0), text="ExpandDims{{axis=0}}({0})"), Form(lambda x: pt.expand_dims(x, -1), name="last", text="ExpandDims{{axis=-1}}({0})"))
row("Squeeze", Form(lambda x: pt.squeeze(x, 1), (A(shape="m,1,n"),), text="Squeeze{{axis=1}}({0})"), Form(lambda x: pt.squeeze(x, (0, 2)), (A(shape="1,m,1"),), "two", text="Squeeze{{axes=(0, 2)}}({0})"))
row("Transpose", Form(lambda x: x.transpose(), text="Transpose({0})"), Form(lambda x: x.transpose(2, 0, 1), name="turned", ranks=(3,), text="Transpose{{axes=(2, 0, 1)}}({0})"))
row("MatrixTranspose", Form(lambda x: pt.matrix_transpose(x), ranks=(2, 3, 4), text="MatrixTranspose({0})"))
row("Reshape", Form(lambda x: x.reshape((-1,))), Form(lambda x: x.reshape((x.shape[-1], -1), ndim=2), name="by a dim", ranks=(1, 2, 3, 4), sizes=FILLED),
    Form(lambda x, n, m: pt.reshape(x, pt.stack([n, m])), (A(shape="6"), A("int64", "", between(2, 2)), A("int64", "", between(3, 3))), "given"),
    Form(lambda x, n: x.reshape((n, 1), ndim=2), (A(shape="m"), A("int64", "", between(2, 3))), "to what may not fit"))  # fmt: skip
row("Shape", Form(lambda x: Shape()(x)))
row("Shape_i", Form(lambda x: Shape_i(0)(x), ranks=(1, 2, 3, 4)), Form(lambda x: Shape_i(x.ndim - 1)(x), name="last", ranks=(2, 3, 4)))
row("SpecifyShape", Form(lambda x, n: SpecifyShape()(x, n, *[None] * (x.ndim - 1)), (A(), A("int64", "", between(2, 2))), ranks=(1, 2, 3, 4)))
row("Join", Form(lambda x, y: Join(0)(x, y), (A(), A()), ranks=(1, 2, 3, 4)), Form(lambda x, y: Join(x.ndim - 1)(x, y, x), (A(), A()), "three at the last axis", ranks=(2, 3, 4)),
    Form(lambda x, y: Join(0)(x, y), (A(), A("E")), "pairs"), Form(lambda x, y: Join(0)(x, y), (A(shape="m,k"), A(shape="n,k")), "other lengths"))  # fmt: skip
row("Split", Form(lambda x: Split(2, 0)(x, pt.stack([x.shape[0] - 1, 1])), ranks=(1, 2, 3, 4)), Form(lambda x, s: Split(3, 0)(x, s), (A(shape="6,m"), A("int64", "3", between(2, 2))), "given"),
    Form(lambda x, s: Split(2, 1)(x, s), (A(shape="m,3"), A("int64", "2", between(1, 2))), "that may not fit"))  # fmt: skip
row("MakeVector", Form(lambda x, y: MakeVector(x.dtype)(x, y, x), (A(shape=""), A(shape=""))), Form(lambda x, y: MakeVector("float64")(x, y), (A(shape=""), A("int8", "")), "of two dtypes"))
LENGTH = A("int64", "", between(0, 4))
row("Alloc", Form(lambda x, n: pt.alloc(x, n, *x.shape), (A(), LENGTH), ranks=(0, 1, 2, 3)), Form(lambda x, n: pt.alloc(x, 3, n), (A(shape="1"), LENGTH), "of a row of 1"), Form(lambda x, n: pt.alloc(x, n), (A(shape="m"), LENGTH), "that may not fit"))
row("AllocEmpty", *[Form(lambda n, t=t: Shape()(AllocEmpty(t)(n, 3)), (LENGTH,), t, dtypes=("int64",)) for t in ALL])
STEPS = tuple(d for d in ALL if d != "bool")
row("ARange", Form(lambda a, b, s: ARange(a.dtype)(a, b, s), (A(shape="", values=between(-2, 3)), A(shape="", values=between(3, 12)), A(shape="", values=between(1, 3))), dtypes=STEPS),
    Form(lambda a, b, s: ARange(a.dtype)(a, b, s), (A(shape="", values=between(0, 9)), A(shape="", values=between(-5, 3)), A(shape="", values=between(-2, -1))), "down", dtypes=INTS + FLOATS),
    Form(lambda a, b: ARange(a.dtype)(a, b, pt.constant(np.array(0.25, a.dtype))), (A(shape="", values=between(-2, 3)), A(shape="", values=between(1, 5))), "quarters", dtypes=FLOATS), zero_sign=False, why="0 where NumPy has -0")  # fmt: skip
row("Eye", *[Form(lambda n, m, k, t=t: Eye(t)(n, m, k), (A("int64", "", between(0, 4)), A("int64", "", between(0, 4)), A("int64", "", between(-3, 3))), f"{t} {i}", dtypes=("int64",)) for t in ALL for i in range(2)])
row("JoinDims", Form(lambda x: pt.join_dims(x, 0, 2), ranks=(2, 3, 4), sizes=FILLED), Form(lambda x: pt.join_dims(x, x.ndim - 2, 2), name="last", ranks=(3, 4), sizes=FILLED), Form(lambda x: pt.join_dims(x, 1, 0), name="none", ranks=(1, 2, 3), sizes=FILLED))
row("SplitDims", Form(lambda x: pt.split_dims(x, (2, 3), 0), (A(shape="6,m"),)), Form(lambda x, s: pt.split_dims(x, s, 1), (A(shape="m,6"), A("int64", "2", choice(2, 3, 3))), "given"), Form(lambda x: pt.split_dims(x, (-1, 2), 0), (A(shape="4"),), "rest"))
PADS = ("constant", "edge", "linear_ramp", "maximum", "mean", "median", "minimum", "reflect", "symmetric", "wrap")
row("Pad", *[Form(lambda x, m=m: pt.pad(x, 1, mode=m), (A(values=SMALL),), m, ranks=(1, 2), sizes=("2",)) for m in PADS[1:]], Form(lambda x: pt.pad(x, 1), name="constant", ranks=(0, 1, 2, 3, 4)), Form(lambda x: pt.pad(x, ((1, 2), (0, 3)), constant_values=2), (A(),), "by sides", ranks=(2,)), ulp=LOOSE, zero_sign=False, why="means are added up in another order")
row("Repeat", Form(Repeat(0), (A(shape="m,n"), A("int64", "m", between(0, 3)))), Form(Repeat(2), (A(shape="m,n,k"), A("int64", "k", between(0, 2))), "last"),
    Form(Repeat(0), (A(shape="m"), A("int8", "m", between(-1, 3))), "negative or not"))  # fmt: skip
row("AllocDiag", Form(lambda x: AllocDiag(0, 0, 1)(x), ranks=(1, 2, 3)), Form(lambda x: AllocDiag(offset=-2, axis1=0, axis2=1)(x), name="below", ranks=(1, 2)), zero_sign=False, why="beside the diagonal -0 may be 0")
row("ExtractDiag", Form(lambda x: ExtractDiag(0, 0, 1)(x), ranks=(2, 3, 4)), Form(lambda x: ExtractDiag(1, 0, 1)(x), name="above", ranks=(2, 3)), Form(lambda x: ExtractDiag(-1, x.ndim - 2, x.ndim - 1)(x), name="below", ranks=(2, 3, 4)))
row("FillDiagonal", Form(FillDiagonal(), (A(shape="m,n"), A(shape=""))), Form(FillDiagonal(), (A(shape="m,m,m"), A(shape="")), "three axes", sizes=("1", "2")))
row("FillDiagonalOffset", Form(FillDiagonalOffset(), (A(shape="m,n"), A(shape=""), A("int64", "", between(-1, 1))), sizes=("1", "2", "7")))
row("Bartlett", Form(pt.bartlett, (A(shape="", values=between(-1, 9)),), dtypes=INTEGERS))

# ---- indexing ----

S = np.s_
BASIC = {"from 1": S[1:], "reversed": S[::-1], "every second": S[::2], "first": S[0], "last": S[-1], "up to -1": S[:-1], "new": S[None, ..., None], "nothing": S[2:1]}
BOUND = A("int64", "", between(-3, 3))
row("Subtensor", *[Form(lambda x, i=i: x[i], name=n, ranks=(1, 2, 3, 4)) for n, i in BASIC.items() if n != "new"],
    Form(lambda x, a, b: x[a:b], (A(), BOUND, BOUND), "given bounds", ranks=(1, 2, 3)), Form(lambda x, a: x[::-1, a], (A(), BOUND), "given index", ranks=(2, 3)),
    Form(lambda x, a: x[a], (A(), A("int8", "", between(-2, 1))), "given row", ranks=(1, 2)))  # fmt: skip
for op, f in (("SetSubtensor", pt.set_subtensor), ("IncSubtensor", pt.inc_subtensor)):
    row(op, Form(lambda x, y, f=f: f(x[1:], y), (A(), A(shape="")), ranks=(1, 2, 3, 4)), Form(lambda x, y, f=f: f(x[::-2], y), (A(), A(shape="")), "backwards", ranks=(1, 2, 3)),
        Form(lambda x, y, f=f: f(x[0], y), (A(shape="m,n"), A(shape="n")), "a row"), Form(lambda x, y, f=f: f(x[:, -1], y), (A(shape="m,n"), A(shape="m")), "a column"),
        Form(lambda x, y, a, f=f: f(x[a:], y), (A(), A(shape=""), BOUND), "given", ranks=(1, 2)), Form(lambda x, y, f=f: f(x[1:], y[1:]), (A(), A("E")), "pairs", ulp={"float16": 1}))  # fmt: skip
ROWS_ = A("int64", "k", index)
MASK = A("bool", "m")
row("AdvancedSubtensor", Form(lambda x, i: x[i], (A(), ROWS_), ranks=(1, 2, 3, 4)), Form(lambda x, i, j: x[i, j], (A(shape="m,m"), ROWS_, A("int32", "k", index)), "two"), Form(lambda x, i: x[:, i], (A(shape="m,m,n"), ROWS_), "columns"),
    Form(lambda x, i, j: x[i, :, j], (A(shape="m,n,m"), ROWS_, ROWS_), "apart"), Form(lambda x, i: x[i], (A(shape="m,n"), A("int64", "k,l", index)), "by a matrix"), Form(lambda x, b: x[b], (A(shape="m,n"), MASK), "mask"),
    Form(lambda x, b: x[b], (A(shape="m,n"), A("bool", "m,n")), "mask of all"), Form(lambda x, i: x[i], (A(shape="m"), A("int64", "k", between(-3, 3))), "out of range or not"), Form(lambda x, i: x[1:, i], (A(shape="n,m"), A("uint8", "k", between(0, 1))), "uint8"))  # fmt: skip
for op, f, values in (("AdvancedSetSubtensor", pt.set_subtensor, anything), ("AdvancedIncSubtensor", pt.inc_subtensor, EIGHTHS)):
    row(op, Form(lambda x, y, i, f=f: f(x[i], y), (A(values=values), A(shape="", values=values), ROWS_), ranks=(1, 2, 3)), Form(lambda x, y, i, f=f: f(x[i], y), (A(shape="m,n", values=values), A(shape="k,n", values=values), ROWS_), "rows"),
        Form(lambda x, y, i, j, f=f: f(x[i, j], y), (A(shape="m,m", values=values), A(shape="k", values=values), ROWS_, ROWS_), "two"), Form(lambda x, y, b, f=f: f(x[b], y), (A(shape="m,n", values=values), A(shape="", values=values), MASK), "mask"),
        Form(lambda x, y, i, f=f: f(x[i], y), (A(shape="m", values=SMALL), A("E", "m", SMALL), A("int64", "m", index)), "pairs"), no=(No("cannot be added into", form="pairs"),) if op == "AdvancedIncSubtensor" else ())  # fmt: skip
row("Nonzero", Form(lambda x: pt.nonzero(x), ranks=(1, 2, 3, 4)))
for mode in ("raise", "wrap", "clip"):
    FORMS.setdefault("Choose", []).append(Form(lambda i, x, mode=mode: Choose(mode)(i, x), (A("int64", "n", between(-1, 3) if mode != "raise" else between(0, 1)), A(shape="m,n")), mode, sizes=FILLED))
    for order in "CF":
        FORMS.setdefault("RavelMultiIndex", []).append(Form(lambda i, j, mode=mode, order=order: RavelMultiIndex(mode=mode, order=order)(i, j, pt.constant(np.array([3, 4]))), (A("int64", "m", between(0, 2)), A("int64", "m", between(0, 4))), mode + order, dtypes=("int64",)))
row("Choose", *FORMS["Choose"])
row("RavelMultiIndex", *FORMS["RavelMultiIndex"])
row("UnravelIndex", *[Form(lambda i, order=order: UnravelIndex(order=order)(i, pt.constant(np.array([3, 4]))), (A("int64", "m", between(0, 12)),), order, dtypes=("int64",)) for order in "CF"])


def permutation(rng, dtype, shape, near):
    return rng.permuted(np.broadcast_to(np.arange(shape[-1]), shape), axis=-1)


row("PermuteRowElements", *[Form(lambda x, p, k=k: PermuteRowElements(k)(x, p), (A(shape="m,n"), A("int64", "m,n", permutation)), f"inverse={k}") for k in (False, True)])

# ---- linear algebra ----

PRODUCT = {"atol": ROUGH, "zero_sign": False, "why": "sums in another order"}
FACTOR = A(values=EIGHTHS)


def f(shape, values=EIGHTHS, dtype="D"):
    return A(dtype, shape, values)


row("Dot", Form(pt.dot, (f("m,k"), f("k,n"))), Form(pt.dot, (f("k"), f("k")), "vectors"), Form(pt.dot, (f("m,k"), f("k")), "matrix and vector"), Form(pt.dot, (f("k"), f("k,n")), "vector and matrix"),
    Form(lambda x, y: pt.dot(x, y), (f("k", SMALL), A("E", "k", SMALL)), "pairs"), zero_sign=False, why="sums of -0")  # fmt: skip
row("Matmul", Form(lambda x, y: x @ y, (f("b,m,k"), f("b,k,n")), text="Matmul({0}, {1})"), Form(lambda x, y: x @ y, (f("b,m,k"), f("k,n")), "broadcast", text="Matmul({0}, {1})"), zero_sign=False, why="sums of -0")
row("BatchedDot", Form(BatchedDot(), (f("b,m,k"), f("b,k,n"))), zero_sign=False, why="sums of -0")
row("Blockwise", Form(Blockwise(Dot(), signature="(m,k),(k,n)->(m,n)"), (f("b,m,k"), f("b,k,n"))), Form(Blockwise(Dot(), signature="(m,k),(k,n)->(m,n)"), (f("c,b,m,k"), f("1,b,k,n")), "broadcast"), zero_sign=False, why="sums of -0")
row("Dot22", Form(Dot22(), (f("m,k"), f("k,n"))), zero_sign=False, why="sums of -0")
row("Dot22Scalar", Form(Dot22Scalar(), (f("m,k"), f("k,n"), f(""))), zero_sign=False, why="sums of -0")
row("Gemm", Form(gemm_no_inplace, (f("m,n"), f(""), f("m,k"), f("k,n"), f(""))), ulp=LOOSE, **PRODUCT)
TAKES = {"no": (No("does not take", BOOL + INTEGERS),)}
row("Gemv", Form(gemv_no_inplace, (f("m"), f(""), f("m,n"), f("n"), f(""))), ulp=LOOSE, **TAKES, **PRODUCT)
row("CGemv", Form(gemv_no_inplace, (f("m"), f(""), f("m,n"), f("n"), f("")), text="CGemv({0}, {1}, {2}, {3}, {4})"), ulp=LOOSE, **TAKES, **PRODUCT)
row("Ger", Form(lambda a, s, x, y: a + s * pt.outer(x, y), (f("m,n"), f(""), f("m"), f("n")), text="Ger({0}, {1}, {2}, {3})", dtypes=FLOATS, sizes=("0", "1")), ulp=LOOSE, **PRODUCT)
row("KroneckerProduct", Form(kron, (f("m,n"), f("k,l"))), Form(kron, (f("m"), f("k,l")), "of a vector"))
row("BlockDiagonal", Form(lambda x, y: BlockDiagonal(2)(x, y), (A(shape="m,n"), A(shape="k,l"))), Form(lambda x, y: BlockDiagonal(3)(x, y, x), (A(shape="m,n"), A("float32", "k,l")), "of two dtypes"))


def below_diagonal(rng, dtype, shape):
    """Whole numbers that the dtype holds."""
    signed = np.dtype(dtype).kind in "if"
    return np.tril(rng.integers(-1 if signed else 0, 1 if dtype == "bool" else 2, shape), -1)


def definite(rng, dtype, shape, near):
    """Symmetric, positive definite, well conditioned."""
    a = below_diagonal(rng, dtype, shape)
    return a + np.swapaxes(a, -1, -2) + np.eye(shape[-1], dtype=int) * 2 * max(shape[-1], 1)


def lower(rng, dtype, shape, near):
    return below_diagonal(rng, dtype, shape) + np.eye(shape[-1], dtype=int) * 2


SOLVED = {"ulp": {"float32": 64, "float64": 64}, "atol": {"float32": 2e-5, "float64": 4e-14}, "zero_sign": False, "why": "LAPACK's sums in another order"}
SQUARE, RIGHT = A(shape="m,m", values=definite), A(shape="m,n", values=SMALL)
BATCH = A(shape="b,m,m", values=definite)
NUMPY = tuple(d for d in ALL if d != "float16")  # NumPy's linalg raises for float16
for op, make, dtypes in (("Cholesky", pt.linalg.cholesky, ALL), ("MatrixInverse", pt.linalg.inv, NUMPY), ("Det", pt.linalg.det, NUMPY)):
    row(op, Form(make, (SQUARE,), dtypes=dtypes), Form(make, (BATCH,), "batch", dtypes=dtypes, sizes=FILLED), as_declared=True, **SOLVED)
row("SLogDet", Form(lambda x: list(SLogDet()(x)), (SQUARE,), dtypes=NUMPY), as_declared=True, **SOLVED)
row("Eigvalsh", Form(lambda x: pt.linalg.eigvalsh(x, None), (SQUARE,)), **SOLVED)
row("Eigh", Form(lambda x: [pt.linalg.eigh(x)[0]], (SQUARE,)), **SOLVED)
row("QR", Form(lambda x: list(pt.linalg.qr(x)), (SQUARE,), sizes=FILLED), Form(lambda x: [pt.linalg.qr(x, mode="r")], (SQUARE,), "r", sizes=FILLED), **SOLVED)
row("Solve", Form(lambda a, b: pt.linalg.solve(a, b), (SQUARE, RIGHT)), Form(lambda a, b: pt.linalg.solve(a, b, assume_a="pos"), (SQUARE, RIGHT), "positive"), Form(lambda a, b: pt.linalg.solve(a, b), (SQUARE, A("float64", "m,n", SMALL)), "float64 beside it"), as_declared=True, **SOLVED)
row("SolveTriangular", Form(lambda a, b: pt.linalg.solve_triangular(a, b, lower=True), (A(shape="m,m", values=lower), RIGHT)), Form(lambda a, b: pt.linalg.solve_triangular(a, b, b_ndim=1), (SQUARE, A(shape="m", values=SMALL)), "upper, a vector"), **SOLVED)
row("CholeskySolve", Form(lambda a, b: pt.linalg.cho_solve((a, True), b), (A(shape="m,m", values=lower), RIGHT)), **SOLVED)
row("LU", Form(lambda a: list(pt.linalg.lu(a)), (SQUARE,)), **SOLVED)
row("LUFactor", Form(lambda a: list(pt.linalg.lu_factor(a)), (SQUARE,), dtypes=("float32", "float64")), **SOLVED)
row("PivotToPermutations", Form(lambda p: pivot_to_permutation(p), (A("int32", "m", lambda rng, d, s, near: np.arange(s[0])),), dtypes=("int32",)))
THREE = (A(shape="m", values=SMALL), A(shape="k", values=choice(5, 6, 7)), A(shape="m", values=SMALL))
row("LUFactorTridiagonal", Form(lambda *x: list(LUFactorTridiagonal()(*x)), THREE, sizes=("2",), dtypes=("float32", "float64")), **SOLVED)
row("SolveLUFactorTridiagonal", Form(lambda *x: SolveLUFactorTridiagonal(b_ndim=1, transposed=False)(*LUFactorTridiagonal()(*x[:3]), x[3]), (*THREE, A(shape="k", values=SMALL)), sizes=("2",), dtypes=("float32", "float64")), **SOLVED)


def whole_rank(rng, dtype, shape, near):
    """Well conditioned, of any shape."""
    d = np.dtype(dtype)
    if d.kind == "b":
        return np.tri(*shape, dtype=bool)
    return rng.integers(-1 if d.kind in "if" else 0, 2, shape) + np.eye(*shape, dtype=int) * 2 * max(shape)


def upper(rng, dtype, shape, near):
    return lower(rng, dtype, shape, near).T


def six_by_six(rng, dtype, shape, near):
    return definite(rng, dtype, (6, 6), near).reshape(shape)


def always(value):
    return lambda rng, dtype, shape, near: np.full(shape, value)


def svd_parts(x, full):
    """What does not depend on the signs of the vectors."""
    u, s, v = pt.linalg.svd(x, full_matrices=full)
    k = s.shape[0]
    return [s, (u[:, :k] * s) @ v[:k], u.T @ u, v @ v.T]


def schur_parts(x):
    """What does not depend on the signs of the vectors and the order of the eigenvalues."""
    t, z = pt.linalg.schur(x)
    return [z @ t @ z.T, z.T @ z, pt.tril(t, -2), pt.sort(pt.diagonal(t))]


SIGNS = {**SOLVED, "why": "signs and order are free: put together again, to LAPACK's rounding"}
ANY_RANK = A(shape="m,n", values=whole_rank)
row(
    "SVD",
    Form(lambda x: svd_parts(x, False), (ANY_RANK,), dtypes=NUMPY),
    Form(lambda x: svd_parts(x, True), (ANY_RANK,), "full", dtypes=NUMPY),
    Form(lambda x: pt.linalg.svd(x, compute_uv=False), (ANY_RANK,), "values", dtypes=NUMPY),
    as_declared=True,
    **SIGNS,
)
row("Schur", Form(schur_parts, (SQUARE,), dtypes=NUMPY), as_declared=True, **SIGNS)
row(
    "MatrixPinv",
    Form(lambda x: pt.linalg.pinv(x), (ANY_RANK,), dtypes=NUMPY),
    Form(lambda x: pt.linalg.pinv(x, hermitian=True), (SQUARE,), "hermitian", dtypes=NUMPY),
    as_declared=True,
    **SOLVED,
)
RCOND = A("float64", "", always(1e-10))
row(
    "Lstsq",
    Form(lambda a, b, r: Lstsq()(a, b, r), (ANY_RANK, A("float64", "m,k", SMALL), RCOND), sizes=FILLED, dtypes=NUMPY),
    as_declared=True,
    **SOLVED,
)
row(
    "TensorSolve",
    Form(pt.linalg.tensorsolve, (A(shape="2,3,3,2", values=six_by_six), A(shape="2,3", values=SMALL)), dtypes=NUMPY),
    as_declared=True,
    no=(No("its result cannot have", BOOL + INTEGERS),),
    **SOLVED,
)
row(
    "TensorInv",
    Form(lambda a: pt.linalg.tensorinv(a), (A(shape="2,3,6", values=six_by_six),), dtypes=NUMPY),
    Form(lambda a: pt.linalg.tensorinv(a, ind=1), (A(shape="6,2,3", values=six_by_six),), "ind=1", dtypes=NUMPY),
    as_declared=True,
    no=(No("its result cannot have", BOOL + INTEGERS),),
    **SOLVED,
)
row(
    "Expm",
    Form(pt.linalg.expm, (A(shape="m,m", values=between(-1, 1)),), dtypes=NUMPY),
    ulp={"float32": 64, "float64": 64},
    atol={"float32": 1e-3, "float64": 1e-11},
    as_declared=True,
    why="errors are relative to the norm",
)
UPPER = A(shape="m,m", values=upper)
OTHER = A(shape="n,n", values=definite)
row(
    "SolveSylvester",
    Form(pt.linalg.solve_sylvester, (SQUARE, OTHER, RIGHT), sizes=FILLED, dtypes=NUMPY),
    as_declared=True,
    **SOLVED,
)
row(
    "TRSYL",
    Form(TRSYL(), (UPPER, A(shape="n,n", values=upper), RIGHT), sizes=FILLED, dtypes=("float32", "float64")),
    **SOLVED,
)
row(
    "SolveDiscreteARE",
    Form(pt.linalg.solve_discrete_are, (A(shape="m,m", values=lower),) * 2 + (SQUARE,) * 2, sizes=FILLED, dtypes=("float64",)),
    ulp={"float32": 2**14, "float64": 2**14},
    atol={"float32": 1e-3, "float64": 1e-11},
    zero_sign=False,
    as_declared=True,
    why="PyTensor solves by another way, from a pencil of twice the size",
)


def einsum(subscripts, *shapes):
    args = tuple(A(shape=s, values=SMALL) for s in shapes)
    text = f'Einsum{{{{subscripts="{subscripts}"}}}}({", ".join(f"{{{k}}}" for k in range(len(shapes)))})'
    build = lambda *x: pt.einsum(subscripts, *x)  # noqa: E731
    return Form(build, args, f"{subscripts} as text", text=text), Form(build, args, subscripts)


row(
    "Einsum",
    *einsum("ij,jk->ik", "m,k", "k,n"),
    *einsum("bij,bjk->ik", "b,m,k", "b,k,n"),
    *einsum("ij->j", "m,n"),
    *einsum("i,j->ij", "m", "n"),
    no=tuple(
        No("write it with", BOOL + INTEGERS, form=f"{s} as text") for s in ("ij,jk->ik", "bij,bjk->ik", "ij->j", "i,j->ij")
    ),
    zero_sign=False,
    why="sums of -0",
)

# ---- control ----


def as_op(f, *inputs):
    """f as a graph that is an op."""
    own = [x.type() for x in inputs]
    return OpFromGraph(own, listed(f(*own)), mode=PYTHON)


def lazily(c, x, then, other):
    then, other = as_op(then, x), as_op(other, x)
    return LazyIfElse(then, other, then.output_types)(c, x)


def running(f, x):
    """A state from x[0], and a result of each step."""
    return scan(lambda x, s: (f(x, s), x), sequences=[x], outputs_info=[x[0], None], return_updates=False, mode=PYTHON)


CONDITION = A("bool", "")
row(
    "IfElse",
    Form(lambda c, x, y: ifelse(c, x, y), (CONDITION, A(), A())),
    Form(lambda c, x, y: ifelse(c, [x, y], [y, x]), (CONDITION, A(), A()), "two", ranks=(1, 2)),
    Form(lambda c, x, y: ifelse(c, x, y), (A(shape=""), A(shape="m"), A(shape="n")), "on a number, of two lengths"),
    Form(lambda c, x, y: ifelse(c, x, y), (CONDITION, A(), A()), "as text", ranks=(1, 2), text="IfElse({0}, {1}, {2})"),
)
row(
    "LazyIfElse",
    Form(lambda c, x: lazily(c, x, pt.sqr, pt.abs), (CONDITION, A()), ranks=(1,), sizes=("0", "2")),
    Form(
        lambda c, x: ifelse(c, pt.sqr(x), pt.abs(x)), (CONDITION, A()), "as text",
        text="LazyIfElse{{true_branch=Sqr, false_branch=Abs}}({0}, {1})",
    ),
)  # fmt: skip
row(
    "OpFromGraph",
    Form(lambda x, y: as_op(lambda x, y: [x * y, x + y], x, y)(x, y), (A(), A())),
    Form(lambda x: as_op(pt.sqr, x)(x), (A(),), "as text", text="OpFromGraph{{fn=Sqr}}({0})"),
)
row(
    "Scan",
    Form(lambda x: running(pt.maximum, x), (A(values=SMALL),), ranks=(1, 2, 3), sizes=FILLED),
    Form(lambda x: running(lambda x, s: x * s, x), (A(values=POWERS),), "products", ranks=(1, 2), sizes=FILLED),
    Form(
        lambda x, y: scan(lambda x: x + y, sequences=[x], return_updates=False, mode=PYTHON),
        (A(shape="m,n", values=SMALL), A(shape="n", values=SMALL)), "a map", sizes=("0", *FILLED),
    ),
)  # fmt: skip

# ---- sorting, signals ----

NANS = either(choice(0, 1, 1, 2, -3, math.inf, -math.inf, math.nan), anything)
row("SortOp", Form(lambda x: pt.sort(x, 0), (A(values=NANS),), ranks=(1, 2, 3)), Form(lambda x: pt.sort(x, -1), (A(values=NANS),), "last", ranks=(2, 3, 4)), zero_sign=False, why="0 and -0 are equal")
row("ArgSortOp", Form(lambda x: pt.argsort(x, 0, kind="stable"), (A(values=NANS),), ranks=(1, 2, 3)), Form(lambda x: pt.argsort(x, -1, kind="stable"), (A(values=NANS),), "last", ranks=(2, 3, 4)))
row("SearchsortedOp", *[Form(lambda x, v, side=side: pt.searchsorted(x, v, side), (A(shape="m", values=lambda *a: np.sort(NANS(*a))), A(shape="n,k", values=NANS)), side) for side in ("left", "right")])
row("Unique", Form(lambda x: pt.unique(x), (A(values=NANS),), ranks=(1, 2)), Form(lambda x: list(pt.unique(x, True, True, True)), (A(values=NANS),), "all results", ranks=(1, 2)),
    Form(lambda x: pt.unique(x, axis=0), (A(shape="m,n", values=SMALL),), "rows", sizes=FILLED), no=(No("NaN", FLOATS, form="rows"),), zero_sign=False, why="0 and -0 are equal")  # fmt: skip
CONVOLVED = tuple(d for d in ALL if d not in ("bool", "float16"))  # SciPy does not take these two
for mode in (True, False):
    FORMS.setdefault("Convolve1d", []).append(Form(lambda x, y, mode=mode: convolve1d(x, y, mode="full" if mode else "valid"), (A(shape="m", values=EIGHTHS), A(shape="n", values=EIGHTHS)), f"full={mode}", sizes=FILLED))
    FORMS.setdefault("Convolve2d", []).append(Form(lambda x, y, mode=mode: convolve2d(x, y, mode="full" if mode else "valid", method="direct"), (A(shape="m,n", values=EIGHTHS), A(shape="k,l", values=EIGHTHS)), f"full={mode}", sizes=FILLED if mode else ("1", "2"), dtypes=CONVOLVED))
row("Convolve1d", *FORMS["Convolve1d"], zero_sign=False, ulp=LOOSE, atol=ROUGH, why=LOOSE_WHY)
row("Convolve2d", *FORMS["Convolve2d"], zero_sign=False, ulp=LOOSE, atol=ROUGH, why=LOOSE_WHY)
FFT = {"ulp": {"float16": 1, "float32": 64, "float64": 64}, "atol": {"float16": 1e-3, "float32": 1e-4, "float64": 1e-12}, "zero_sign": False, "why": "sums in another order", "no": (No("DFT", FLOATS, below=17), No("does not take", tuple(d for d in ALL if d not in FLOATS)))}
row("RFFTOp", Form(lambda x: fft.rfft(x), (A(shape="m,n", values=SMALL),)), **FFT)
row("IRFFTOp", Form(lambda x: fft.irfft(x), (A(shape="m,n,2", values=SMALL),)), **FFT)
