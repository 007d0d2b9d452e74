"""Pieces of .ptg text: names, types, constants. Nothing here knows PyTensor."""

import base64
import re

import numpy as np

from ptgc import _lib

MAX_INLINE = 24  # elements of a constant that is written out; a larger one is written as file("name")


def clean_name(name: str) -> str:
    """The name without what a line of UTF-8 cannot hold: control characters and halves of surrogate pairs."""
    name = re.sub(r"[\ud800-\udfff]", "\ufffd", str(name))
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]", " ", name) or "_"


def quote(name: str) -> str:
    """A name as .ptg text: in backquotes where the language asks for them."""
    return name if _lib.is_plain_name(name) else "`" + name.replace("`", "``") + "`"


def unquote(text: str) -> str:
    """The name that ``quote`` made the text of."""
    return text[1:-1].replace("``", "`") if text.startswith("`") else text


def fn_name(name: str) -> str:
    """The name for a fn, or a similar one where the fn would hide an op of that name."""
    name = clean_name(name)
    return f"{name}_graph" if _lib.is_op_name(name) else name


def string(text: str) -> str:
    for raw, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        text = text.replace(raw, escaped)
    return f'"{text}"'


def tensor_type(dtype: str, dims) -> str:
    return f"{dtype}[{', '.join(str(d) for d in dims)}]"


def real(value) -> str:
    """A NumPy float as the shortest decimal that reads back as the same bits."""
    if np.isnan(value):
        return "nan"
    if np.isinf(value):
        return "inf" if value > 0 else "-inf"
    if value == 0:
        return "-0.0" if np.signbit(value) else "0"
    if 1e-4 <= float(abs(value)) < 1e15:
        return np.format_float_positional(value, trim="-")
    return np.format_float_scientific(value, trim="-", exp_digits=1)


def element(value, kind: str) -> str:
    if kind == "b":
        return "True" if value else "False"
    if kind in "iu":
        return str(int(value))
    if kind == "c":
        imag = real(value.imag)
        return f"{real(value.real)}{'' if imag.startswith('-') else '+'}{imag}j"
    return real(value)


def has_odd_nans(a: np.ndarray) -> bool:
    """Are there NaNs with other bits than np.nan? Only bytes("...") keeps them."""
    if a.dtype.kind not in "fc":
        return False
    parts = np.ascontiguousarray(a).reshape(-1).view(a.real.dtype)
    bits = parts.view(f"u{parts.dtype.itemsize}")
    default = np.array(np.nan, parts.dtype).view(f"u{parts.dtype.itemsize}")
    return bool((bits[np.isnan(parts)] != default).any())


def nested(a: np.ndarray, decimals: bool = False) -> str:
    """The elements in brackets. decimals: each float is a decimal, 2.0 and not 2."""
    if a.ndim == 0:
        text = element(a[()], a.dtype.kind)
        return text + ".0" if decimals and text.lstrip("-").isdigit() else text
    return "[" + ", ".join(nested(row, decimals) for row in a) + "]"


def constant(a: np.ndarray, limit: int | None = MAX_INLINE) -> str | None:
    """The array as an exact .ptg constant with its dtype; None if it has more than ``limit`` elements that differ."""
    dtype, small = a.dtype.name, limit is None or a.size <= limit
    if has_odd_nans(a) or (a.dtype.kind == "c" and not np.isfinite(a).all()):
        return as_bytes(a) if small else None
    if a.size == 0:
        return f"{tensor_type(dtype, a.shape)}({'False' if dtype == 'bool' else '0'})"
    if a.ndim and a.size > 3:
        raw = np.ascontiguousarray(a).reshape(-1).view(np.uint8).reshape(a.size, -1)
        if (raw == raw[0]).all():
            return f"{tensor_type(dtype, a.shape)}({element(a.reshape(-1)[0], a.dtype.kind)})"
    return f"{dtype}({nested(a)})" if small else None


def alone(a: np.ndarray) -> str | None:
    """The array as a literal that has its dtype where nothing else gives one; None if there is none. floatX is
    float64."""
    kind, small = a.dtype.kind, a.size <= MAX_INLINE and not has_odd_nans(a)
    smallest = next((t for t in ("int8", "int16", "int32", "int64") if kind == "i" and a.size == 1 and a == a.astype(t)), "")
    if small and a.size and (a.dtype.name == ("int64" if a.ndim else smallest) or a.dtype.name == "float64"):
        return nested(a, decimals=kind == "f")
    return None


def as_bytes(a: np.ndarray) -> str:
    data = np.ascontiguousarray(a).astype(a.dtype.newbyteorder("<")).tobytes()
    return f'{tensor_type(a.dtype.name, a.shape)}(bytes("{base64.b64encode(data).decode()}"))'
