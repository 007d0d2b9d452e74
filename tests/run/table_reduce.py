"""Rows of the numeric test: reductions, sorting, sets and signals.

See grid.py for what a row says.
"""

import math
from dataclasses import replace

import numpy as np
import pytensor.scalar as ps
import pytensor.tensor as pt
from pytensor.tensor import fft, fourier
from pytensor.tensor.elemwise import CAReduce
from pytensor.tensor.extra_ops import CumOp
from pytensor.tensor.math import All, Any, Argmax, Max, Min, Prod, ProdWithoutZeros, Sum
from pytensor.tensor.signal.conv import convolve1d, convolve2d

from grid import A, Form, No, anything
from grid_rows import (
    EIGHTHS,
    FILLED,
    FORMS,
    INTEGERS,
    POWERS,
    ROUNDED,
    SMALL,
    SPECIAL,
    ZEROS,
    between,
    choice,
    either,
    row,
)
from harness import ALL, FLOATS, UINTS

# ---- reductions ----


def axes_of(name, rank):
    """Axes of a rank by name; an error where the rank has none such."""
    if rank < {"first": 1, "last": 1, "two": 2}.get(name, 0):
        raise ValueError("no such axes")
    axes = {"all": None, "first": (0,), "last": (rank - 1,), "two": (0, rank - 1), "none": ()}
    return axes[name]


def reductions(f, values, axes=("all", "first", "last", "two"), rounded=ALL, **more):
    """f(axis) is the op; over the axes named, of exact values, of special ones, of rounded ones."""
    for name in axes:
        build = lambda x, name=name: f(axes_of(name, x.ndim))(x)  # noqa: E731
        yield Form(build, (A(values=values),), name)
        if name in ("first", "all"):
            yield Form(build, (A(values=SPECIAL),), name + ", special", dtypes=rounded, **more)
            yield Form(build, (A(values=ROUNDED),), name + ", rounded", dtypes=rounded, **more)


WITH_NONE = ("all", "first", "last", "two", "none")
row(
    "Sum",
    *reductions(lambda a: Sum(axis=a), EIGHTHS, WITH_NONE),
    *[
        Form(lambda x, t=t: Sum(axis=(0,), dtype=t)(x), (A(values=SMALL),), f"to {t}")
        for t in ALL
        if t != "bool"
    ],
    zero_sign=False,
    why="NumPy's sum of nothing but -0 is 0 or -0, by length",
)
row("Prod", *reductions(lambda a: Prod(axis=a), POWERS, WITH_NONE))
row(
    "Mean",
    *[
        replace(
            f,
            text=lambda r, name=f.name: f"Mean{{{{axes={axes_of(name.split(',')[0], r)}}}}}({{0}})",
        )
        for f in reductions(
            lambda a: lambda x: pt.mean(x, axis=a),
            either(EIGHTHS, between(-99, 99)),
            rounded=FLOATS,
            but="PyTensor has no such op, only a function, whose sums of integers wrap; here they do not",
        )
    ],
)
EITHER_ZERO = {"zero_sign": False, "why": "NumPy's maximum of 0 and -0 is either one"}
row("Max", *reductions(lambda a: Max(axis=a), anything), **EITHER_ZERO)
row("Min", *reductions(lambda a: Min(axis=a), anything), **EITHER_ZERO)
row("All", *reductions(lambda a: All(axis=a), anything))
row("Any", *reductions(lambda a: Any(axis=a), anything))
row("Argmax", *reductions(lambda a: Argmax(axis=a), anything))
row(
    "ProdWithoutZeros",
    *reductions(
        lambda a: ProdWithoutZeros(axis=a),
        between(-1, 1),
        rounded=FLOATS,
        but="PyTensor's Python code raises where a product of integers overflows",
    ),
    zero_sign=False,
    why="the product of nothing but zeros is the last of them in PyTensor",
)
row(
    "CAReduce",
    *[
        Form(
            lambda x, f=f, a=a: CAReduce(f, axis=axes_of(a, x.ndim))(x),
            (A(values=SMALL),),
            f"{name}, {a}",
        )
        for name, f in (
            ("add", ps.add),
            ("mul", ps.mul),
            ("maximum", ps.maximum),
            ("minimum", ps.minimum),
            ("and", ps.and_),
            ("or", ps.or_),
            ("xor", ps.xor),
        )
        for a in ("all", "first")
    ],
)
for op, f, mode, values in (
    ("Cumsum", pt.cumsum, "add", EIGHTHS),
    ("Cumprod", pt.cumprod, "mul", POWERS),
):
    last = lambda x, mode=mode: CumOp(axis=x.ndim - 1, mode=mode)(x)  # noqa: E731
    row(
        op,
        Form(CumOp(axis=0, mode=mode), (A(values=values),), "first"),
        Form(last, (A(values=values),), "last"),
        Form(last, (A(values=SPECIAL),), "special"),
        Form(last, (A(values=ROUNDED),), "rounded"),
        Form(lambda x, f=f: f(x, axis=None), (A(values=values),), "of all"),
        no=(No("int64", tuple(d for d in ALL if d not in ("int64", "uint64", *FLOATS))),),
    )
WIDE = A(values=choice(*[k / 4 for k in range(-40, 41)], -math.inf))
MIXED = A(values=choice(0, 1, 1000, -1000, math.inf, -math.inf, math.nan))
LARGE = A(values=either(choice(*[2.0**15 + k / 4 for k in range(9)]), between(100, 127)))
SIGNED = {
    "dtypes": tuple(d for d in ALL if d not in UINTS),
    "but": "differences of unsigned integers wrap to large numbers, of which few digits are left",
}
NEAR_ONE = {
    "ulp": {"float16": 1},
    "atol": {"float16": 1e-3, "float32": 2.5e-7, "float64": 1e-15},
    "why": "the logarithm of a sum near 1 that is added in another order; float16 is computed in float32",
}
for op, f, more in (
    ("LogSumExp", lambda axis: lambda x: pt.logsumexp(x, axis=axis), NEAR_ONE),
    (
        "Softmax",
        lambda axis: pt.special.Softmax(axis=axis),
        {
            "ulp": {"float16": 2, "float32": 4},
            "why": "exp of a rounded difference: as near to the true value as SciPy's, up to 1000 elements; float16 is computed in float32",
        },
    ),
    ("LogSoftmax", lambda axis: pt.special.LogSoftmax(axis=axis), NEAR_ONE),
):
    forms = []
    for name in ("all", "first", "last", "two"):
        build = lambda x, name=name, f=f: f(axes_of(name, x.ndim))(x)  # noqa: E731
        forms += [
            Form(build, (WIDE,), name),
            Form(build, (MIXED,), name + ", special", **(SIGNED if op == "LogSoftmax" else {})),
            Form(build, (LARGE,), name + ", large"),
        ]
        if op == "Softmax":
            any_integer = {"dtypes": INTEGERS, "but": "the other forms try floats"}
            forms.append(Form(build, (A(),), name + ", anything", **any_integer))
    row(op, *forms, **more)

# ---- sorting, signals ----

NANS = either(choice(0, 1, 1, 2, -3, math.inf, -math.inf, math.nan), anything)
EQUAL_ZEROS = {"zero_sign": False, "why": "0 and -0 compare as equal, so their order is free"}
row(
    "SortOp",
    Form(lambda x: pt.sort(x, 0), (A(values=NANS),)),
    Form(lambda x: pt.sort(x, -1), (A(values=NANS),), "last"),
    Form(lambda x: pt.sort(x, None), (A(values=NANS),), "of all"),
    **EQUAL_ZEROS,
)
row(
    "ArgSortOp",
    Form(lambda x: pt.argsort(x, 0, kind="stable"), (A(values=NANS),)),
    Form(lambda x: pt.argsort(x, -1, kind="stable"), (A(values=NANS),), "last"),
    Form(lambda x: pt.argsort(x, None, kind="stable"), (A(values=NANS),), "of all"),
)


def in_order(*a):
    return np.sort(NANS(*a))


def descending(rng, dtype, shape, near):
    return np.arange(shape[0])[::-1]


row(
    "SearchsortedOp",
    *[
        Form(
            lambda x, v, side=side: pt.searchsorted(x, v, side),
            (A(shape="m", values=in_order), A(shape=shape, values=NANS)),
            f"{side}, {shape}",
        )
        for side in ("left", "right")
        for shape in ("", "n", "n,k", "n,k,l")
    ],
    Form(
        lambda x, v: pt.searchsorted(x, v),
        (A(shape="m", values=in_order), A("E", "n", NANS)),
        "pairs",
    ),
    Form(
        lambda x, v, s: pt.searchsorted(x, v, sorter=s),
        (
            A(shape="m", values=lambda *a: in_order(*a)[::-1]),
            A(shape="n", values=NANS),
            A("int64", "m", descending),
        ),
        "with a sorter",
    ),
)
row(
    "Unique",
    Form(lambda x: pt.unique(x), (A(values=NANS),)),
    Form(lambda x: list(pt.unique(x, True, True, True)), (A(values=NANS),), "all results"),
    Form(lambda x: pt.unique(x, axis=0), (A(values=SMALL),), "slices"),
    Form(
        lambda x: list(pt.unique(x, True, True, True, axis=x.ndim - 1)),
        (A(values=SMALL),),
        "slices, all results",
    ),
    **EQUAL_ZEROS,
)
EVERY = ("0", "1", "2", "7", "0x", "x0")
for mode in ("full", "valid"):
    FORMS.setdefault("Convolve1d", []).append(
        Form(
            lambda x, y, mode=mode: convolve1d(x, y, mode=mode),
            (A(shape="m", values=EIGHTHS), A(shape="n", values=EIGHTHS)),
            mode,
        )
    )
    FORMS["Convolve1d"].append(
        Form(
            lambda x, y, mode=mode: convolve1d(x, y, mode=mode),
            (A(shape="m", values=SPECIAL), A(shape="n", values=SPECIAL)),
            mode + ", special",
        )
    )
    FORMS.setdefault("Convolve2d", []).append(
        Form(
            lambda x, y, mode=mode: convolve2d(x, y, mode=mode, method="direct"),
            (A(shape="m,n", values=EIGHTHS), A(shape="k,l", values=EIGHTHS)),
            mode,
            sizes=EVERY if mode == "full" else FILLED,
            but="SciPy's valid part of an empty matrix is zeros; here the run fails" * (mode == "valid"),
        )
    )
row("Convolve1d", *FORMS["Convolve1d"], zero_sign=False, why=ZEROS)
row("Convolve2d", *FORMS["Convolve2d"], zero_sign=False, why=ZEROS)
FFT = {
    "atol": {"float32": 5e-7, "float64": 2e-14},
    "zero_sign": False,
    "why": "terms cancel: measured for any length 1.1e-15 of the norm (NumPy: 0.8e-15)",
    "no": (No("does not take", tuple(d for d in ALL if d not in FLOATS)),),
}
FLAT, DEEP = A(shape="m,n", values=SMALL), A(shape="m,n,k", values=SMALL)
row(
    "RFFTOp",
    Form(lambda x: fft.rfft(x), (FLAT,)),
    Form(lambda x: fft.rfft(x, norm="ortho"), (FLAT,), "ortho"),
    Form(lambda x: fft.rfft(x), (DEEP,), "of planes"),
    **FFT,
)
HALF, HALVES = A(shape="m,n,2", values=SMALL), A(shape="m,n,k,2", values=SMALL)
row(
    "IRFFTOp",
    Form(lambda x: fft.irfft(x), (HALF,)),
    Form(lambda x: fft.irfft(x, is_odd=True), (HALF,), "odd"),
    Form(lambda x: fft.irfft(x), (HALVES,), "of planes"),
    **FFT,
)
def transformed(n):
    return lambda x: fourier.fft(x.astype("complex128" if x.dtype[0] == "c" else "float64"), n, 0)


row(
    "Fourier",
    Form(transformed(5), (FLAT,)),
    Form(transformed(23), (FLAT,), "long"),
    **{**FFT, "no": ()},
)
