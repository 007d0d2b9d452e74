"""What the tables of the numeric test share: their rows, values that arguments take, tolerances."""

import math

import numpy as np

from grid import Row, anything
from harness import INTS, UINTS

INTEGERS = INTS + UINTS
ROWS = {}
FORMS = {}


def row(op, *forms, **more):
    assert op not in ROWS, op
    assert len({f.name for f in forms}) == len(forms), f"{op}: two forms of one name"
    ROWS[op] = Row(op, list(forms), **more)


# ---- values ----


def choice(*of):
    """Any of these, in the dtype."""

    def values(rng, dtype, shape, near=None):
        d = np.dtype(dtype)
        fit = [v for v in of if d.kind == "f" or (np.isfinite(v) and (v >= 0 or d.kind == "i"))]
        return rng.choice(np.asarray(fit), shape).astype(d)

    return values


def between(low, high):
    """Integers from low to high; 0 and 1 for bool, none below 0 for unsigned dtypes."""

    def values(rng, dtype, shape, near=None):
        d = np.dtype(dtype)
        low_, high_ = (0, 1) if d.kind == "b" else (max(low, 0) if d.kind == "u" else low, high)
        return rng.integers(low_, max(low_, high_), shape, endpoint=True).astype(d)

    return values


def exact(values):
    """Integers of every size; floats that add up, or multiply, without rounding."""

    def either(rng, dtype, shape, near=None):
        return (
            values(rng, dtype, shape)
            if np.dtype(dtype).kind == "f"
            else anything(rng, dtype, shape)
        )

    return either


def index(rng, dtype, shape, near):
    """Into the first axis of the first argument, from both ends."""
    n = near.first[0] if near.first else 1
    return rng.integers(-n if np.dtype(dtype).kind == "i" else 0, max(n, 1), shape)


def either(floats, others):
    return lambda rng, dtype, shape, near: (floats if np.dtype(dtype).kind == "f" else others)(
        rng, dtype, shape, near
    )


EIGHTHS = exact(choice(*[k / 8 for k in range(-32, 33)]))
POWERS = exact(choice(0.5, 1, 2, -1, -2, -0.5))
SPECIAL = choice(1, -2, 0, -0.0, math.inf, -math.inf, math.nan, 3)
SMALL = between(-3, 3)


def rounded(rng, dtype, shape, near=None):
    """Floats that do not cancel: sums and products of them are rounded. Integers of every size."""
    if np.dtype(dtype).kind != "f":
        return anything(rng, dtype, shape)
    return rng.uniform(0.5, 1.5, shape).astype(dtype)


ROUNDED = rounded
ZEROS = "a sum of zeros is 0 or -0, by the order of addition"

FILLED = ("1", "2", "7")  # PyTensor fails on empty ones
