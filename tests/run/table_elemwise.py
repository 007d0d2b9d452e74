"""Rows of the numeric test: elementwise ops, conversions, special functions, marks.

See grid.py for what a row says.
"""

import functools
import math
from dataclasses import replace

import mpmath as mp
import numpy as np
import pytensor.scalar as ps
import pytensor.tensor as pt
import scipy.special as ss
from pytensor.compile.ops import DeepCopyOp, ViewOp, wrap_py
from pytensor.gradient import DisconnectedGrad, GradClip, GradScale, UndefinedGrad, ZeroGrad
from pytensor.printing import Print
from pytensor.raise_op import Assert, CheckAndRaise
from pytensor.scalar.basic import ScalarOp
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.extra_ops import CpuContiguous
from pytensor.tensor.math import mul_without_zeros

from grid import A, Form, anything
from grid_rows import between, choice, either, row
from harness import ALL, FLOATS
from ptgc._ops import op_name
from truth import polya_gamma_float

SCALAR = {op_name(o): o for m in (ps, ps.math) for o in vars(m).values() if isinstance(o, ScalarOp)}


def elemwise(op, nin, **more):
    """Same shapes, one argument broadcast, one of rank 0; all pairs of dtypes."""
    build = Elemwise(SCALAR[op])
    forms = [Form(build, (A(),) * nin, corners=True)]
    if nin > 1:
        rest = (A(),) * (nin - 2)
        forms.append(Form(build, (A(), A(shape="...1"), *rest), "one broadcast"))
        forms.append(Form(build, (A(shape="...0"), A(), *rest), "one of rank 0"))
        forms.append(Form(build, (A(), A("E"), *rest), "pairs", corners=True))
    row(op, *forms, **more)


def log_gamma(x):
    return mp.loggamma(x).real if x > 0 else mp.log(abs(mp.gamma(x)))


def spelled(op, build=lambda x: x, **more):
    """An op that no live graph has, or not by that name: its text, and what PyTensor computes."""
    row(op, Form(build, text=op + "({0})", **more))


NOT_HALF = tuple(d for d in ALL if d != "float16")
HALF = "PyTensor has no such op, only a function, which rounds the factor to float16 first"
NUMPYS = "NumPy's function gives other dtypes for integers than PyTensor's"

# where an argument is near a limit of a dtype, a pole or a zero, or where code changes its method
HALVES = (
    0.49999999999999994, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 3.5, 4503599627370495.5,
    4503599627370497.0, 8388607.5, 1023.5, 1025.0,
)  # fmt: skip
PI = tuple(k * math.pi / 4 for k in (1, 2, 3, 4, 5, 6, 8, 100, 1e5, 1e15, -1, -2, -4))
TINY = (1e-5, -1e-5, 1e-10, -1e-10, 1e-20, 1e-300, 5e-324)
EXP = (
    *TINY, 11.0898, 88.72283, -87.3365, -103.97, 709.782712893384, 709.79, -708.39, -745.13,
    -745.2, 0.34657359, -0.34657359,
)  # fmt: skip
EXP2 = (0.5, 18.5, 33.5, 37.5, -37.5, 1024, -1074, -1022.5, 16, -14.5, 20, 22, 710.4758600739439)
ONE = (
    1 + 2e-16, 1 - 1e-16, 1 + 1e-7, 1 - 1e-7, 1 + 1e-3, 1 - 1e-3, 0.99999, 0.5, 0.75,
    -0.99999, -0.5,
)  # fmt: skip
GAMMA = (
    *ONE, 2 - 1e-9, 2 + 1e-9, 3, 4, 8, 35.04, 171.6, 171.7, -0.5, -1.5, -3.5, -10.25,
    -2.0000001, 2.55e305, 1e5, 1e-3, -170.5, 33.5, 12.0,
)  # fmt: skip

for op in (
    "Neg",
    "Abs",
    "Sign",
    "Sqr",
    "Sqrt",
    "Reciprocal",
    "Isnan",
    "Isinf",
    "Identity",
    "Real",
    "Imag",
    "Conj",
):
    elemwise(op, 1)
elemwise("Complex", 2)
for op in ("Floor", "Ceil", "Trunc", "Roundhalftoeven", "Roundhalfawayfromzero"):
    elemwise(op, 1, near=HALVES)
for op, f, ufunc in (("Deg2rad", pt.deg2rad, np.deg2rad), ("Rad2deg", pt.rad2deg, np.rad2deg)):
    text = op + "({0})"
    rounded_once = lambda x, ufunc=ufunc: wrap_py([x.type], [x.type])(ufunc)(x)  # noqa: E731
    row(
        op,
        Form(f, name="PyTensor's function", text=text, corners=True, dtypes=NOT_HALF, but=HALF),
        Form(rounded_once, name="NumPy's", text=text, corners=True, dtypes=FLOATS, but=NUMPYS),
        near=TINY,
    )

for op in ("Add", "Sub", "Mul", "True_div", "Int_div", "Mod", "Second"):
    elemwise(op, 2)
NO_OVERFLOW = A(
    values=either(anything, between(-9, 9))
)  # Python code of PyTensor's own raises where a product overflows
row(
    "Mul_without_zeros",
    Form(Elemwise(mul_without_zeros), (NO_OVERFLOW, NO_OVERFLOW)),
    Form(Elemwise(mul_without_zeros), (NO_OVERFLOW, replace(NO_OVERFLOW, dtype="E")), "pairs"),
)
elemwise("Maximum", 2, zero_sign=False, why="NumPy's maximum of 0 and -0 is either one")
elemwise("Minimum", 2, zero_sign=False, why="NumPy's maximum of 0 and -0 is either one")
for op in ("Eq", "Neq", "Lt", "Le", "Gt", "Ge"):
    elemwise(op, 2)
for op in ("And", "Or", "Xor"):
    elemwise(op, 2)
elemwise("Invert", 1)
elemwise("Clip", 3)
SWITCH = Elemwise(ps.switch)
row(
    "Switch",
    Form(SWITCH, (A("bool"), A(), A()), corners=True),
    Form(SWITCH, (A(), A("float32"), A("float32")), "condition", corners=True),
    Form(SWITCH, (A("bool"), A(), A("E")), "pairs", corners=True),
    Form(SWITCH, (A("bool", "...1"), A(), A(shape="...0")), "broadcast"),
)
CASTS = [Form(Elemwise(getattr(ps, f"convert_to_{t}")), name=f"to {t}", corners=True) for t in ALL]
row("Cast", *CASTS, near=HALVES)

for op in ("Exp", "Exp2", "Expm1", "Sinh", "Cosh", "Tanh"):
    elemwise(op, 1, near=(*EXP, *EXP2))
elemwise(
    "Sigmoid",
    1,
    near=(*EXP, *EXP2),
    atol={"float32": 1.2e-38},
    why="PyTensor's float32 gives 0 for subnormal results",
)
elemwise(
    "Softplus",
    1,
    near=(*EXP, *EXP2),
    declared=True,
    why="NumPy computes bool and 8-bit integers in float16, against PyTensor's type",
)
for op in ("Log", "Log2", "Log10", "Log1p"):
    elemwise(op, 1, near=(*EXP, *ONE, 2, 4, 8, 1000, 1e15, 2**-1022, -1 + 1e-10))
elemwise("Log1mexp", 1, near=(*EXP, -0.6931471805599453, -0.69314718, -40.5, -1e-3))
for op in ("Sin", "Cos", "Tan"):
    elemwise(op, 1, near=(*PI, *TINY))
for op in ("Arcsin", "Arccos", "Arctan", "Arcsinh", "Arccosh", "Arctanh"):
    elemwise(op, 1, near=(*ONE, *TINY, 1e8, 1e19, 1e155, -1e155, 2.5, 0.625, 2.414, -2.414))
elemwise(
    "Arctan2",
    2,
    declared=True,
    exact=mp.atan2,
    why="NumPy's float16 and float32 are up to 3.6e-7 off, and NumPy computes small integers in float16",
)

ERF = (
    *ONE, *TINY, 0.84375, 1.25, 2.857, 3.9, 6.5, 9.3, 26.5, 27.2, -5.9, -26.6, 1.9999, 1.5,
    -0.9, 0.2, 50.5, 1e100,
)  # fmt: skip
elemwise("Erf", 1, near=ERF)
elemwise(
    "Erfc", 1, near=ERF, exact=mp.erfc, ulp={"float64": 7}, why="SciPy's largest error, in the tail"
)
elemwise(
    "Erfcx",
    1,
    near=ERF,
    exact=lambda x: mp.erfc(x) * mp.exp(x * x),
    ulp={"float64": 7},
    why="SciPy's largest error",
)
elemwise("Erfinv", 1, near=ERF)
elemwise("Erfcinv", 1, near=ERF, exact=lambda x: mp.erfinv(1 - x))
GAMMA = (*GAMMA, 1.4616321449683623)
elemwise(
    "Gammaln",
    1,
    near=GAMMA,
    exact=log_gamma,
    ulp={"float64": 5},
    atol={"float64": 1e-15},
    why="near its zeros (1 and 2) only SciPy's absolute error is small",
)
elemwise("Gamma", 1, near=GAMMA, exact=mp.gamma, ulp={"float64": 7}, why="SciPy's largest error")
elemwise(
    "Psi",
    1,
    near=GAMMA,
    exact=mp.digamma,
    atol={"float64": 2e-15},
    why="near negative poles and zeros only SciPy's absolute error is small",
)
elemwise(
    "Tri_gamma",
    1,
    near=GAMMA,
    exact=lambda x: mp.polygamma(1, x),
    ulp={"float64": 5},
    why="SciPy's largest error",
)
BESSEL = (*TINY, 2, 5, 7.5, 8, 8.5, 25.5, 87.5, 700.5, 709.5, 711, -713.5, 2.404825557695773, 3.831705970207512, 1e4)
elemwise("I0", 1, near=BESSEL)
elemwise("I1", 1, near=BESSEL, exact=lambda x: mp.besseli(1, x))
for name, function in (("i0e", ss.i0e), ("i1e", ss.i1e)):  # as PyMC defines them
    parts = {"nfunc_spec": (f"scipy.special.{name}", 1, 1), "impl": lambda self, x, function=function: function(x)}
    kind = type(name.capitalize(), (ps.UnaryScalarOp,), parts)
    op = Elemwise(kind(ps.upgrade_to_float_no_complex, name=name))
    row(name.capitalize(), Form(op, text=name.capitalize() + "({0})"), ulp={"float64": 12}, why="SciPy's own errors")
for name, cdf in (("PolyaGamma_logp", False), ("PolyaGamma_logcdf", True)):
    function = functools.partial(polya_gamma_float, cdf=cdf)
    parts = {"impl": lambda self, *args, function=function: np.float64(function(*map(float, args)))}
    op = Elemwise(type(name, (ps.ScalarOp,), {"nin": 3} | parts)(ps.upgrade_to_float_no_complex, name=name))
    x, h = choice(0.5, 1, 2, 0, -1, 0.01, 6, math.inf, math.nan), choice(0.5, 1, 2, 3, 7, 0, -1, math.nan)
    row(
        name,
        Form(op, (A(values=x), A(values=h), A(values=choice(0, 1, -2, 3), shape="...1")), "one broadcast", text=name + "({0}, {1}, {2})"),
        exact=lambda *args, function=function: mp.mpf(function(*map(float, args))),
        ulp={"float64": 1000},
        why="the exponential of large numbers",
    )
for op in ("J0", "J1"):
    elemwise(
        op,
        1,
        near=BESSEL,
        atol={"float64": 2e-15},
        why="near its zeros only SciPy's absolute error is small",
    )
pow_ = Elemwise(ps.pow)
FROM_0 = between(0, 5)  # an integer to a negative power raises, for all elements
row(
    "Pow",
    Form(pow_, (A(), A()), corners=True),
    Form(pow_, (A(), A(values=FROM_0)), "exponents from 0"),
    Form(pow_, (A(), A("E", values=FROM_0)), "pairs"),
    Form(pow_, (A("E"), A(values=FROM_0)), "pairs the other way"),
    Form(pow_, (A(), A("E")), "pairs of any values", corners=True),
    Form(pow_, (A(), A(shape="...1", values=FROM_0)), "one broadcast"),
)
row(
    "Polygamma",
    Form(
        Elemwise(ps.math.polygamma),
        (
            A("int64", values=between(0, 4)),
            A(values=choice(0.5, 1, 3, 20, -0.5, -3.25, 1e3, 1e-3, 0, -2, math.inf, math.nan)),
        ),
    ),
    exact=lambda n, x: mp.polygamma(int(n), x),
)
FEW = A(values=choice(0, 1, 2, 0.5, 5, 11, -1, 30, 30.5, 0.001, math.inf, math.nan))
for op, true in (
    ("Gammainc", lambda k, x: mp.gammainc(k, 0, x, regularized=True)),
    ("Gammaincc", lambda k, x: mp.gammainc(k, x, mp.inf, regularized=True)),
):
    f = Elemwise(SCALAR[op])
    row(
        op,
        Form(f, (FEW, FEW)),
        Form(f, (FEW, replace(FEW, dtype="E")), "pairs"),
        Form(f, (FEW, replace(FEW, shape="...1")), "one broadcast"),
        exact=true,
        ulp={"float64": 147},
        why="SciPy's largest error",
    )


MODEST = A(values=choice(0.5, 1, 2, 5, 11, 30, 30.5, 0, -1, math.nan))


def wide(f):
    """SciPy in float64, of which its float32 is far off"""
    return lambda *args: mp.mpf(float(f(*map(float, args))))


PART = A(values=choice(0, 1, 0.5, 0.01, 0.99, -0.0, -1, 2, math.inf, math.nan))
for op, args, true, worst in (
    ("Betainc", (FEW, FEW, PART), lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True), 200),
    ("Gammaincinv", (MODEST, PART), wide(ss.gammaincinv), 40),
    ("Gammainccinv", (MODEST, PART), wide(ss.gammainccinv), 40),
    ("Betaincinv", (MODEST, MODEST, PART), wide(ss.betaincinv), 40),
    ("Owens_t", (A(values=choice(0, 1, 2, 0.5, 5, -1, math.nan)), FEW), wide(ss.owens_t), 100),
    ("Ndtri_exp", (A(values=choice(0, -1, 1, -0.3, -0.7, -3, -40, -800, -0.001, math.inf, -math.inf, math.nan)),), wide(ss.ndtri_exp), 20),
    ("Kve", (MODEST, FEW), wide(ss.kve), 400),
    ("Ive", (MODEST, FEW), wide(ss.ive), 400),
    ("Jv", (MODEST, FEW), wide(ss.jv), 1000),
    ("Hyp2f1", (MODEST, A(values=choice(0.5, 1, 2, -1.5)), A(values=choice(0.25, 1.5, 2, 3.5)), A(values=choice(0, 0.5, -0.5, -3, 0.9, math.nan))), wide(ss.hyp2f1), 400),
):
    f = Elemwise(SCALAR[op])
    row(
        op,
        Form(f, (*args[:-1], replace(args[-1], shape="...1")), "one broadcast"),
        exact=true,
        ulp={"float64": worst},
        why="near zeros only its absolute error is small" if op == "Jv" else "the exponential of large numbers",
    )
for op, f, true in (
    ("XLogY", pt.special.xlogy, lambda x, y: x and x * mp.log(y)),
    ("XLog1PY", pt.special.xlog1py, lambda x, y: x and x * mp.log1p(y)),
    ("LogAddExp", pt.special.logaddexp, lambda x, y: mp.log(mp.exp(x) + mp.exp(y))),
):
    row(
        op,
        Form(f, (A(), A()), corners=True),
        Form(f, (A(), A("E")), "pairs"),
        declared=True,
        exact=true,
        inner=None if op == "LogAddExp" else lambda x, y: y if y.kind == "f" else "float32" if y.itemsize < 4 else "float64",
        atol={"float16": 1e-3, "float32": 2.5e-7} if op == "LogAddExp" else {},
        ulp={"float16": 1},
        why="PyTensor rounds the logarithm to the dtype of y first; here it is rounded once",
    )

MARKS = {
    "DeepCopyOp": DeepCopyOp(),
    "ViewOp": ViewOp(),
    "CpuContiguous": CpuContiguous(),
    "DisconnectedGrad": DisconnectedGrad(),
    "GradClip": GradClip(-1, 1),
    "GradScale": GradScale(2.0),
    "UndefinedGrad": UndefinedGrad(),
    "ZeroGrad": ZeroGrad(),
    "Print": Print("x", global_fn=lambda op, x: None),
}
for op, mark in MARKS.items():
    row(op, Form(mark))
row("SpecifyAssumptions", Form(lambda x: x, text="SpecifyAssumptions({0})"))
for op in ("TensorFromXTensor", "XTensorFromTensor"):
    row(op, Form(lambda x: x, text=op + "({0})"))
for op in ("ScalarFromTensor", "TensorFromScalar"):
    row(op, Form(lambda x: x, (A(shape=""),), text=op + "({0})"))
ok = between(1, 1)
for op, f in (("Assert", Assert("no")), ("CheckAndRaise", CheckAndRaise(ValueError, "no"))):
    row(
        op,
        Form(f, (A(), A("bool", "", ok))),
        Form(f, (A(), A("bool", "", between(0, 0))), "that fails"),
    )
