"""libptgc through ctypes: text and tensors in, bytes and diagnostics out, all in this process.

What the package must know of the language (which names need backquotes, ops and their properties, dtypes,
targets, opsets) it asks here. The library is loaded when something of it is first needed.
"""

import ctypes as C
import os
import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from ptgc.errors import CompileError, list_of_texts

COPY_LIMIT = 1 << 16  # external data of more bytes is not copied: it stays in the library's memory
MISTAKE, UNSUPPORTED, RAISES = range(3)  # enum ptgc_cause
Strings = C.POINTER(C.c_char_p)  # NULL-terminated
# Warnings about what people write by mistake: a printed graph does it on purpose.
PRINTED = ["Wno-unused", "Wno-float64-weight", "Wno-length-one", "Wno-integer-float64", "Wno-drawn-twice"]


class Tensor(C.Structure):
    _fields_ = [
        ("name", C.c_char_p),
        ("dtype", C.c_char_p),
        ("rank", C.c_int),
        ("shape", C.POINTER(C.c_int64)),
        ("data", C.c_void_p),
    ]


class Options(C.Structure):
    _fields_ = [
        ("size", C.c_size_t),
        ("file_name", C.c_char_p),
        ("directory", C.c_char_p),
        ("allow", Strings),
        ("opset", C.c_int),
        ("target", C.c_int),
        ("strip", C.c_bool),
        ("model_name", C.c_char_p),
        ("doc_string", C.c_char_p),
        ("flags", Strings),
        ("tensors", C.POINTER(Tensor)),
        ("ntensors", C.c_size_t),
        ("external_threshold", C.c_uint64),
        ("external_name", C.c_char_p),
        ("model_limit", C.c_uint64),
        ("math", C.c_int),
        ("model_version", C.c_int64),
        ("meta", Strings),
        ("state_inputs", C.c_bool),
        ("float32", C.c_bool),
        ("expected", Strings),
        ("max_errors", C.c_int),
        ("runtime", C.c_int),
        ("ml_opset", C.c_int),
        ("header_name", C.c_char_p),
    ]


class CDiagnostic(C.Structure):
    _fields_ = [
        ("severity", C.c_int),
        ("code", C.c_char_p),
        ("name", C.c_char_p),
        ("text", C.c_char_p),
        ("file", C.c_char_p),
        ("line", C.c_uint),
        ("column", C.c_uint),
        ("length", C.c_uint),
        ("source_line", C.c_void_p),
        ("source_length", C.c_size_t),
    ]


@dataclass(frozen=True)
class Diagnostic:
    severity: str  # "note", "warning", "error"
    code: str  # "PTG0042"; "" for notes
    name: str  # "unknown-op"
    text: str
    file: str | None
    line: int  # from 1; 0: no place
    column: int  # from 1, in bytes
    length: int  # bytes that are meant in that line

    @property
    def cause(self) -> int:
        """Why there is an error: MISTAKE, UNSUPPORTED or RAISES."""
        return lib().ptgc_cause(self.code.encode())


@dataclass(frozen=True)
class Compiled:
    model: bytes
    external: bytes | memoryview  # the content of the file external_name, empty if there is none
    warnings: list
    external_name: str = ""
    path: str = ""  # of a model that was read from a file and has weights beside it
    least_runtime: int = 0  # the model needs this release of ONNX Runtime: 29 is 1.29; 0: unknown
    header: bytes = b""  # of a model that is C


# ---- the library ----


def candidates():
    here = Path(__file__).resolve().parent
    suffix = {"darwin": "dylib", "win32": "dll"}.get(sys.platform, "so")
    if path := os.environ.get("PTGC_LIBRARY"):
        yield Path(path)
    yield here / f"libptgc.{suffix}"
    yield here.parents[1] / "build" / f"libptgc.{suffix}"  # a source tree


@cache
def lib():
    for path in candidates():
        if path.exists():
            return declare(C.CDLL(str(path)))
    raise ImportError(
        "libptgc is not built: run 'make' in the source tree, or set PTGC_LIBRARY to libptgc.so"
    )


def declare(dll):
    result, size, integer = C.c_void_p, C.POINTER(C.c_size_t), C.POINTER(C.c_int)
    for name, restype, *argtypes in (
        ("ptgc_compile", result, C.c_char_p, C.c_size_t, C.POINTER(Options)),
        ("ptgc_compile_file", result, C.c_char_p, C.POINTER(Options)),
        ("ptgc_format", result, C.c_char_p, C.c_size_t, C.POINTER(Options)),
        ("ptgc_free", None, result),
        ("ptgc_status", C.c_int, result),
        ("ptgc_model", C.c_void_p, result, size),
        ("ptgc_external", C.c_void_p, result, size),
        ("ptgc_header", C.c_void_p, result, size),
        ("ptgc_external_name", C.c_char_p, result),
        ("ptgc_diagnostic_count", C.c_size_t, result),
        ("ptgc_diagnostic", CDiagnostic, result, C.c_size_t),
        ("ptgc_messages", C.c_char_p, result, C.c_bool),
        ("ptgc_explain", C.c_char_p, C.c_char_p),
        ("ptgc_cause", C.c_int, C.c_char_p),
        ("ptgc_version", C.c_char_p),
        ("ptgc_op_signature", C.c_char_p, C.c_char_p, C.POINTER(C.c_bool)),
        ("ptgc_op_name", C.c_bool, C.c_char_p),
        ("ptgc_plain_name", C.c_bool, C.c_char_p),
        ("ptgc_dtype", C.c_char_p, C.c_size_t, integer),
        ("ptgc_target", C.c_char_p, C.c_size_t),
        ("ptgc_math", C.c_char_p, C.c_size_t),
        ("ptgc_opsets", None, integer, integer, integer),
        ("ptgc_runtimes", None, integer, integer, integer),
        ("ptgc_least_runtime", C.c_int, result),
    ):
        f = getattr(dll, name)
        f.restype, f.argtypes = restype, argtypes
    return dll


# ---- the language ----


@cache
def op_properties(name: str) -> dict | None:
    """The properties of an op and their kinds, {"axes": "axes"}; None if there is no such op."""
    sig = lib().ptgc_op_signature(name.encode(), None)
    if sig is None:
        return None
    _, _, props = sig.decode().partition(";")
    pairs = (p.partition(":") for p in split_top(props) if p.strip())
    return {name.strip(): kind.partition("=")[0].strip() for name, _, kind in pairs}


def split_top(text):
    """Splits the properties of a signature: at commas that are followed by a property's name."""
    out = []
    for piece in text.split(","):
        if out and ":" not in piece.split("=")[0]:
            out[-1] += "," + piece
        else:
            out.append(piece)
    return out


@cache
def op_known(name: str) -> bool:
    """Can ptgc compile the op by its name?"""
    ready = C.c_bool()
    return lib().ptgc_op_signature(name.encode(), C.byref(ready)) is not None and ready.value


def is_op_name(name: str) -> bool:
    """Does ``name(...)`` call an op or a function of the language, such as file?"""
    return lib().ptgc_op_name(name.encode())


def is_plain_name(name: str) -> bool:
    """May the name stand in a text without backquotes?"""
    return lib().ptgc_plain_name(name.encode())


@cache
def dtypes() -> dict[str, int]:
    """The dtypes of the language, and their numbers in ONNX."""
    found, number = {}, C.c_int()
    while name := lib().ptgc_dtype(len(found), C.byref(number)):
        found[name.decode()] = number.value
    return found


def words(function) -> list[str]:
    found = []
    while name := function(len(found)):
        found.append(name.decode())
    return found


CODE = "c"  # the target whose models are texts


@cache
def targets() -> list[str]:
    """The targets whose models are ONNX."""
    return [t for t in words(lib().ptgc_target) if t != CODE]


@cache
def levels() -> list[str]:
    """The levels of numerics: what ``math`` may be."""
    return words(lib().ptgc_math)


@cache
def runtimes() -> tuple[int, int, int]:
    """The releases of ONNX Runtime that models can be made for, 29 for 1.29: the oldest, the newest, and from which
    one on models run if the target names none."""
    found = C.c_int(), C.c_int(), C.c_int()
    lib().ptgc_runtimes(*map(C.byref, found))
    return tuple(n.value for n in found)


def parse_target(target: str) -> tuple[int, int]:
    """The number of a target, and of "ort-cpu:1.20" the release, 20; else 0. ValueError: there is no such target."""
    name, colon, release = target.partition(":")
    oldest, newest, _ = runtimes()
    if name not in targets() or (colon and name != targets()[0]):
        raise ValueError(f"unknown target {target!r}: expected one of {', '.join(targets())}, {targets()[0]}:1.{newest}")
    number = re.fullmatch(r"1\.(\d+)(\.\d+)*", release)
    if colon and (not number or not oldest <= int(number[1]) <= newest):
        raise ValueError(f"unknown target {target!r}: releases of ONNX Runtime from 1.{oldest} to 1.{newest} are known")
    return targets().index(name), int(number[1]) if number else 0


USUAL_MATH = "standard"  # what None stands for
USUAL_FLAGS = ()  # of all compilations, before those of the call


def check_math(math: str | None) -> None:
    """ValueError if there is no such level of numerics. None stands for the usual one."""
    if math is not None and math not in levels():
        raise ValueError(f"unknown math {math!r}: expected one of {', '.join(levels())}")


def opsets() -> tuple[int, int]:
    """The least and the greatest opset that there are models for."""
    least, greatest = C.c_int(), C.c_int()
    lib().ptgc_opsets(C.byref(least), C.byref(greatest), None)
    return least.value, greatest.value


def check_opset(opset: int | None) -> None:
    """ValueError if there are no models for the opset. None stands for the usual one."""
    if opset is None:
        return
    least, greatest = opsets()
    if isinstance(opset, bool) or not isinstance(opset, int) or not least <= opset <= greatest:
        raise ValueError(f"opset {opset!r} is out of range: {least} to {greatest}")


# ---- compiling ----


def strings(items):
    return (C.c_char_p * (len(items) + 1))(*[str(i).encode() for i in items], None)


def make_tensors(tensors):
    """C structs for named arrays, and what must stay alive as long as they are used."""
    keep, out = [], (Tensor * max(1, len(tensors)))()
    for slot, (name, array) in zip(out, tensors.items()):
        array = np.asarray(array)
        array = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(array.shape)
        shape = (C.c_int64 * max(1, array.ndim))(*array.shape)
        keep += [array, shape]
        slot.name, slot.dtype = str(name).encode(), array.dtype.name.encode()
        slot.rank, slot.shape = array.ndim, shape
        slot.data = array.ctypes.data
    return out, keep


def diagnostics(handle):
    dll = lib()
    out = []
    for i in range(dll.ptgc_diagnostic_count(handle)):
        d = dll.ptgc_diagnostic(handle, i)
        out.append(
            Diagnostic(
                ("note", "warning", "error")[d.severity],
                (d.code or b"").decode(),
                (d.name or b"").decode(),
                (d.text or b"").decode(errors="replace"),
                d.file.decode(errors="replace") if d.file else None,
                d.line,
                d.column,
                d.length,
            )
        )
    return out


class Result:
    """A result of the library, freed when nothing refers to it."""

    def __init__(self, handle):
        self.handle, self.free = handle, lib().ptgc_free  # at exit this module may be gone before the result

    def __del__(self):
        self.free(self.handle)

    def view(self, get) -> memoryview:
        """The library's memory, which lives as long as the view: models over 2 GB are not copied."""
        size = C.c_size_t()
        at = get(self.handle, C.byref(size))
        if not at:
            return memoryview(b"")
        array = (C.c_char * size.value).from_address(at)
        array.owner = self
        return memoryview(array).cast("B")


# The members of struct ptgc_options that callers give by name
OWN = ("size", "opset", "target", "runtime", "math", "tensors", "ntensors", "max_errors")
OPTIONS = {name: kind for name, kind in Options._fields_ if name not in OWN}


def run(
    call, *, tensors=(), opset=None, target="ort-cpu", math=None, max_errors=None, code=False, **options
) -> Compiled:
    """Calls the library and copies its results. Raises CompileError, ValueError, MemoryError or OSError.

    code: the model is C, and its header the second text.
    """
    dll = lib()
    target_number, runtime = (words(dll.ptgc_target).index(CODE), 0) if code else parse_target(target)
    check_opset(opset)
    check_math(math)
    if unknown := sorted(set(options) - set(OPTIONS)):
        raise TypeError(f"unknown option {unknown[0]!r}: expected {', '.join(sorted(OPTIONS))}")
    o = Options(
        size=C.sizeof(Options), opset=opset or 0, target=target_number, runtime=runtime,
        math=levels().index(math or USUAL_MATH), max_errors=-1 if max_errors == 0 else max_errors or 0,
    )
    c_tensors, keep = make_tensors(dict(tensors))
    o.tensors, o.ntensors = c_tensors, len(dict(tensors))
    if USUAL_FLAGS:
        options["flags"] = [*USUAL_FLAGS, *list_of_texts("flags", options.get("flags"))]
    for key, value in options.items():
        if value is None:
            continue
        if OPTIONS[key] is Strings:
            keep.append(value := strings(list_of_texts(key, value)))
        elif OPTIONS[key] is C.c_char_p:
            if not isinstance(value, str | Path):  # ctypes would take a number for an address
                raise TypeError(f"{key} is a text, not {value!r}")
            value = str(value).encode()
        setattr(o, key, value)
    handle = call(dll, o)
    if not handle:
        raise MemoryError("libptgc ran out of memory")
    result = Result(handle)
    status = dll.ptgc_status(handle)
    found = diagnostics(handle)
    if status:
        text = dll.ptgc_messages(handle, False).decode(errors="replace").rstrip()
        if status == 1:
            raise CompileError(text, found)
        raise (ValueError if any(d.name == "option" for d in found) else OSError)(text)
    model = bytes(result.view(dll.ptgc_model))
    external = result.view(dll.ptgc_external)
    external = external if len(external) > COPY_LIMIT else bytes(external)
    name = (dll.ptgc_external_name(handle) or b"").decode()
    warnings = [d for d in found if d.severity == "warning"]
    least, header = dll.ptgc_least_runtime(handle), bytes(result.view(dll.ptgc_header))
    return Compiled(model, external, warnings, name, least_runtime=least, header=header)


def compile_text(text: str | bytes, **options) -> Compiled:
    data = text if isinstance(text, bytes) else text.encode()
    return run(lambda dll, o: dll.ptgc_compile(data, len(data), C.byref(o)), **options)


def compile_file(path, **options) -> Compiled:
    name = os.fsencode(path)  # the result refers to it
    return run(lambda dll, o: dll.ptgc_compile_file(name, C.byref(o)), **options)


def format_text(text: str) -> str:
    """The text as ``ptgc fmt`` writes it; comments stay."""
    data = text.encode()
    return run(lambda dll, o: dll.ptgc_format(data, len(data), C.byref(o))).model.decode()
