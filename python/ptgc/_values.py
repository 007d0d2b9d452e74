"""Arguments of a call as the arrays that a model takes. In: what the user gave. Out: an array of the input's dtype and
rank that holds the same numbers, or TypeError that names the input. Nothing is cut in silence.
"""

from typing import Any

import numpy as np

from ptgc.runtime import native_order, numpy_dtype, pairs

NUMBERS = "biuf"  # kinds of dtypes that are cast where nothing is lost; no dates, texts or objects
SAME, EXACT, ROUNDED = range(3)  # arrays of other dtypes: refused; taken where nothing is lost; float64 for float32 too


def input_types(session) -> dict[str, tuple[np.dtype | None, list | None]]:
    """{name of an input: dtype or None, shape}. None if a model that ptgc did not write says no shape: ONNX Runtime
    then gives that of a scalar."""
    ours = session.get_modelmeta().producer_name == "ptgc"
    return {v.name: (numpy_dtype(v.type), v.shape if ours or v.shape else None) for v in session.get_inputs()}


def as_array(name: str, value: Any) -> np.ndarray:
    if np.ma.is_masked(value):
        raise TypeError(f"input {name!r}: some of its values are masked, which a model cannot know")
    try:
        return native_order(value)
    except ValueError as e:  # as of lists of several lengths
        raise TypeError(f"input {name!r}: {e}") from None


def whole_numbers(array: np.ndarray) -> bool:
    """Is it made of Python's integers of which some are too large for any dtype?"""
    return array.dtype == object and all(type(v) is int for v in array.flat)


def held(array: np.ndarray, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """The array in this dtype, and which of its elements are the same numbers there."""
    with np.errstate(all="ignore"):
        cast = array.astype(dtype)
        back = cast.astype(array.dtype)
    same = np.asarray((back == array) | ((array != array) & (cast != cast)))
    if array.dtype.kind in "iu" and dtype.kind in "iu":
        same &= cast == array  # NumPy compares these without rounding
    floats, whole = (cast, array.dtype) if dtype.kind == "f" else (array, dtype)
    if floats.dtype.kind == "f" and whole.kind in "iu":  # beyond the integer's range a cast gives any number
        wide = floats.astype("float64")
        same &= (wide >= float(np.iinfo(whole).min)) & (wide < float(np.iinfo(whole).max) + 1)
    return cast, same


def in_dtype(name: str, array: np.ndarray, dtype: np.dtype, rounds: bool) -> np.ndarray:
    """The array in this dtype; TypeError where that changes a number. rounds: floats may have fewer digits there."""
    if whole_numbers(array) and dtype.kind in "iuf":
        try:
            cast = array.astype(dtype)
        except OverflowError:
            raise OverflowError(f"input {name!r}: {max(array.flat, key=abs)} is beyond {dtype}") from None
        same = np.array([int(c) == v for c, v in zip(cast.flat, array.flat)]).reshape(array.shape)
    elif array.dtype.kind not in NUMBERS:
        raise TypeError(f"input {name!r} is {dtype}, but {array.dtype} is given")
    else:
        cast, same = held(array, dtype)
        if rounds and array.dtype.kind == dtype.kind == "f":
            same |= np.isfinite(cast)
    if not same.all():
        at = tuple(int(k) for k in np.argwhere(~same)[0])
        what = f"{array[at]} at {list(at)}" if at else str(array[at])
        raise TypeError(f"input {name!r} is {dtype}, which does not hold {what} exactly ({array.dtype} is given)")
    return cast


def complex_pairs(name: str, array: np.ndarray, dtype: Any, is_python: bool, how: int = SAME) -> np.ndarray:
    """Complex numbers as pairs of this dtype."""
    dtype = np.dtype(dtype)
    want = np.result_type(dtype, np.complex64)
    if array.dtype != want:
        if not is_python and how != ROUNDED:
            raise TypeError(f"input {name!r} has the dtype {array.dtype}, expected {want}")
        return in_dtype(name, pairs(array), dtype, rounds=True)
    return pairs(array)


def as_input(
    name: str, value: Any, dtype: np.dtype | None, shape: list | None, how: int = SAME, is_real: bool = False
) -> np.ndarray:
    """The value as an array for an input of this dtype and shape. Numbers and lists of Python and NumPy's scalars are
    taken where the dtype holds them, Python's floats rounded; arrays of other dtypes as ``how`` says. Complex numbers
    become pairs for an input whose last axis has the length 2, unless it is known to be real."""
    array = value if type(value) is np.ndarray and value.dtype == dtype else as_array(name, value)
    if dtype is None:
        return array
    is_python = not hasattr(value, "dtype")
    if array.dtype.kind == "c" and not is_real and shape and shape[-1] == 2 and len(shape) == array.ndim + 1:
        array = complex_pairs(name, array, dtype, is_python, how)
    if array.dtype != dtype:
        if how == SAME and not is_python and not isinstance(value, np.generic):
            raise TypeError(f"input {name!r} has the dtype {array.dtype}, expected {dtype}")
        array = in_dtype(name, array, dtype, rounds=is_python or how == ROUNDED)
    if shape is not None and array.ndim != len(shape):
        raise TypeError(f"input {name!r} has the rank {array.ndim}, expected {len(shape)}")
    return array
