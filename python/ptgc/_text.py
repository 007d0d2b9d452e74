"""Pieces of .ptg text: names, types, constants. Nothing here knows PyTensor's ops."""

import base64
import re

import numpy as np

from ptgc import _lib

HARD_WORDS = frozenset(
    "if else None True False inf nan infj nanj and or not for as where".split()
)
SOFT_WORDS = frozenset("ptg graph fn use state next until loop while in".split())
DTYPES = frozenset(
    """bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64
    complex64 complex128 bfloat16 string int4 uint4 float8e4m3fn float8e4m3fnuz float8e5m2
    float8e5m2fnuz float8e8m0 float4e2m1 int2 uint2""".split()
)
WORDS = HARD_WORDS | SOFT_WORDS | DTYPES | {"_"}
PLAIN = re.compile(r"[^\W\d]\w*\Z")
MAX_INLINE = 24  # elements of a constant that are written out; larger ones go by reference


def clean_name(name: str) -> str:
    """A name that a line of UTF-8 and an ONNX file can hold: no control characters, no halves of characters."""
    name = re.sub(r"[\ud800-\udfff]", "\ufffd", str(name))
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]", " ", name) or "_"


def quote(name: str) -> str:
    """A name as .ptg text: in backquotes unless it is a plain name that means nothing else."""
    if PLAIN.match(name) and name not in WORDS:
        return name
    return "`" + name.replace("`", "``") + "`"


def string(text: str) -> str:
    for raw, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        text = text.replace(raw, escaped)
    return f'"{text}"'


def tensor_type(dtype: str, dims) -> str:
    return f"{dtype}[{', '.join(str(d) for d in dims)}]"


def real(value) -> str:
    """A float of NumPy's, exactly: the shortest decimal that reads back as the same bits."""
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
    """NaNs other than the default one: only bytes keep them."""
    if a.dtype.kind not in "fc":
        return False
    parts = np.ascontiguousarray(a).reshape(-1).view(a.real.dtype)
    bits = parts.view(f"u{parts.dtype.itemsize}")
    default = np.array(np.nan, parts.dtype).view(f"u{parts.dtype.itemsize}")
    return bool((bits[np.isnan(parts)] != default).any())


def nested(a: np.ndarray) -> str:
    if a.ndim == 0:
        return element(a[()], a.dtype.kind)
    return "[" + ", ".join(nested(row) for row in a) + "]"


def constant(a: np.ndarray, limit: int | None = MAX_INLINE) -> str | None:
    """A constant written out, with its dtype and exact; None if it has more than ``limit`` elements."""
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


def as_bytes(a: np.ndarray) -> str:
    data = np.ascontiguousarray(a).astype(a.dtype.newbyteorder("<")).tobytes()
    return f'{tensor_type(a.dtype.name, a.shape)}(bytes("{base64.b64encode(data).decode()}"))'


def fn_label(name) -> str:
    """A fn must not have the name of an op of the table, or of anything else."""
    name = re.sub(r"\W", "_", str(name))
    name = name if re.match(r"[A-Za-z]", name) else f"F{name}"
    if name in WORDS or name in ("file", "bytes", "dtype", "rank"):
        name += "_"
    return name if _lib.op_properties(name) is None else f"{name}_graph"
