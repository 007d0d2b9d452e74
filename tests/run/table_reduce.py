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

from grid import RANKS, A, Form, No, anything
from grid_rows import (
    EIGHTHS,
    FILLED,
    FORMS,
    INTEGERS,
    LOOSE,
    LOOSE_WHY,
    POWERS,
    ROUGH,
    SMALL,
    SPECIAL,
    between,
    choice,
    either,
    row,
)
from harness import ALL, FLOATS, UINTS

# ---- reductions ----

AXES = {
    "all": lambda r: None,
    "first": lambda r: (0,),
    "last": lambda r: (r - 1,),
    "two": lambda r: (0, r - 1),
    "none": lambda r: (),
}


def reductions(f, values, more=(), axes=("all", "first", "last", "two"), **kw):
    """f(axis) is the op; over the axes named, of exact values and of special ones."""
    forms = []
    for name in axes:
        ranks = {"all": RANKS, "two": (2, 3, 4)}.get(name, (1, 2, 3, 4))
        build = lambda x, name=name: f(AXES[name](x.ndim))(x)  # noqa: E731
        forms.append(Form(build, (A(values=values),), name, ranks=ranks, **kw))
        if name in ("first", "all"):
            forms.append(
                Form(
                    build,
                    (A(values=SPECIAL),),
                    name + ", special",
                    ranks=(1, 2),
                    dtypes=FLOATS,
                    sizes=("2", "7"),
                )
            )
    return [*forms, *more]


WITH_NONE = ("all", "first", "last", "two", "none")
row(
    "Sum",
    *reductions(
        lambda a: Sum(axis=a),
        EIGHTHS,
        axes=WITH_NONE,
        more=[
            Form(
                lambda x, t=t: Sum(axis=(0,), dtype=t)(x),
                (A(values=SMALL),),
                f"to {t}",
                ranks=(1, 2),
            )
            for t in ("int64", "float64", "float32", "int8")
        ],
    ),
    zero_sign=False,
    why="a sum of -0 alone is -0 in NumPy for some lengths",
)
row("Prod", *reductions(lambda a: Prod(axis=a), POWERS, axes=WITH_NONE))
row(
    "Mean",
    *[
        replace(f, text=lambda r, n=f.name.split(",")[0]: f"Mean{{{{axes={AXES[n](r)}}}}}({{0}})")
        for f in reductions(
            lambda a: lambda x: pt.mean(x, axis=a), either(EIGHTHS, between(-99, 99))
        )
    ],
)
row(
    "Max",
    *reductions(lambda a: Max(axis=a), anything),
    zero_sign=False,
    why="of 0 and -0 NumPy takes either",
)
row(
    "Min",
    *reductions(lambda a: Min(axis=a), anything),
    zero_sign=False,
    why="of 0 and -0 NumPy takes either",
)
row("All", *reductions(lambda a: All(axis=a), anything))
row("Any", *reductions(lambda a: Any(axis=a), anything))
row("Argmax", *reductions(lambda a: Argmax(axis=a), anything))
row("ProdWithoutZeros", *reductions(lambda a: ProdWithoutZeros(axis=a), between(-1, 1)))
row(
    "CAReduce",
    *[
        Form(lambda x, f=f: CAReduce(f, axis=(0,))(x), (A(values=SMALL),), n, ranks=(1, 2))
        for n, f in (
            ("add", ps.add),
            ("mul", ps.mul),
            ("maximum", ps.maximum),
            ("minimum", ps.minimum),
            ("and", ps.and_),
            ("or", ps.or_),
            ("xor", ps.xor),
        )
    ],
    no=(No("Bitwise", INTEGERS, below=18),),
)
for op, mode in (("Cumsum", "add"), ("Cumprod", "mul")):
    row(
        op,
        *[
            Form(
                lambda x, k=k, mode=mode: CumOp(axis=k if k == 0 else x.ndim - 1, mode=mode)(x),
                (A(values=EIGHTHS if mode == "add" else POWERS),),
                n,
                ranks=r,
            )
            for n, k, r in (("first", 0, (1, 2, 3, 4)), ("last", 1, (2, 3, 4)))
        ],
        no=(No("int64", tuple(d for d in ALL if d not in ("int64", "uint64", *FLOATS))),),
    )
WIDE = choice(*[k / 4 for k in range(-40, 41)], -math.inf)
MIXED = choice(0, 1, 1000, -1000, math.inf, -math.inf, math.nan)
for op, f in (
    ("LogSumExp", pt.special.LogSumExp),
    ("Softmax", pt.special.Softmax),
    ("LogSoftmax", pt.special.LogSoftmax),
):
    forms = []
    for name, ranks in (
        ("all", (0, 1, 2, 3, 4)),
        ("first", (1, 2, 3, 4)),
        ("last", (2, 3, 4)),
        ("two", (3, 4)),
    ):
        build = lambda x, name=name, f=f: f(axis=AXES[name](x.ndim))(x)  # noqa: E731
        forms += [
            Form(build, (A(values=WIDE),), name, ranks=ranks),
            Form(build, (A(values=MIXED),), name + ", special", ranks=(2,), dtypes=FLOATS)
            if 2 in ranks
            else None,
        ]
    if op != "LogSumExp":
        forms = [
            replace(f, dtypes=tuple(d for d in f.dtypes if d not in UINTS)) for f in forms if f
        ]
    row(
        op,
        *[f for f in forms if f],
        no=(No("at least one axis", form="all"),) if op != "LogSumExp" else (),
        ulp=LOOSE,
        atol=ROUGH,
        zero_sign=False,
        why=LOOSE_WHY,
    )

# ---- sorting, signals ----

NANS = either(choice(0, 1, 1, 2, -3, math.inf, -math.inf, math.nan), anything)
row(
    "SortOp",
    Form(lambda x: pt.sort(x, 0), (A(values=NANS),), ranks=(1, 2, 3)),
    Form(lambda x: pt.sort(x, -1), (A(values=NANS),), "last", ranks=(2, 3, 4)),
    zero_sign=False,
    why="0 and -0 are equal",
)
row(
    "ArgSortOp",
    Form(lambda x: pt.argsort(x, 0, kind="stable"), (A(values=NANS),), ranks=(1, 2, 3)),
    Form(lambda x: pt.argsort(x, -1, kind="stable"), (A(values=NANS),), "last", ranks=(2, 3, 4)),
)
row(
    "SearchsortedOp",
    *[
        Form(
            lambda x, v, side=side: pt.searchsorted(x, v, side),
            (A(shape="m", values=lambda *a: np.sort(NANS(*a))), A(shape="n,k", values=NANS)),
            side,
        )
        for side in ("left", "right")
    ],
)
row(
    "Unique",
    Form(lambda x: pt.unique(x), (A(values=NANS),), ranks=(1, 2)),
    Form(
        lambda x: list(pt.unique(x, True, True, True)),
        (A(values=NANS),),
        "all results",
        ranks=(1, 2),
    ),
    Form(lambda x: pt.unique(x, axis=0), (A(shape="m,n", values=SMALL),), "rows", sizes=FILLED),
    zero_sign=False,
    why="0 and -0 are equal",
)
CONVOLVED = tuple(d for d in ALL if d not in ("bool", "float16"))  # SciPy does not take these two
for mode in (True, False):
    FORMS.setdefault("Convolve1d", []).append(
        Form(
            lambda x, y, mode=mode: convolve1d(x, y, mode="full" if mode else "valid"),
            (A(shape="m", values=EIGHTHS), A(shape="n", values=EIGHTHS)),
            f"full={mode}",
            sizes=FILLED,
        )
    )
    FORMS.setdefault("Convolve2d", []).append(
        Form(
            lambda x, y, mode=mode: convolve2d(
                x, y, mode="full" if mode else "valid", method="direct"
            ),
            (A(shape="m,n", values=EIGHTHS), A(shape="k,l", values=EIGHTHS)),
            f"full={mode}",
            sizes=FILLED if mode else ("1", "2"),
            dtypes=CONVOLVED,
        )
    )
row("Convolve1d", *FORMS["Convolve1d"], zero_sign=False, ulp=LOOSE, atol=ROUGH, why=LOOSE_WHY)
row("Convolve2d", *FORMS["Convolve2d"], zero_sign=False, ulp=LOOSE, atol=ROUGH, why=LOOSE_WHY)
FFT = {
    "ulp": {"float16": 1, "float32": 64, "float64": 64},
    "atol": {"float16": 1e-3, "float32": 1e-4, "float64": 1e-12},
    "zero_sign": False,
    "why": "sums in another order",
    "no": (
        No("DFT", FLOATS, below=17),
        No("does not take", tuple(d for d in ALL if d not in FLOATS)),
    ),
}
row("RFFTOp", Form(lambda x: fft.rfft(x), (A(shape="m,n", values=SMALL),)), **FFT)
row("IRFFTOp", Form(lambda x: fft.irfft(x), (A(shape="m,n,2", values=SMALL),)), **FFT)
row(
    "Fourier",
    Form(
        lambda x: fourier.fft(x.astype("complex128" if x.dtype[0] == "c" else "float64"), 5, 0),
        (A(shape="m,n", values=SMALL),),
    ),
    **{**FFT, "no": (No("DFT", ALL, below=17),)},
)
