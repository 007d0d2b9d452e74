"""Shared libraries as files of a user's: the C of a graph, compiled, with what is known of it. In: the C and its header.
Out: bytes that any program may load, and ``ptgc.load``. Two texts in the library say what the C does not: ``ptgc_graph``,
what its symbols begin with, and ``ptgc_metadata``, in JSON.
"""

import ctypes
import json
import re
import shutil
import tempfile
from _ctypes import dlclose  # ctypes itself never closes a library
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ptgc import _cc

RUN = re.compile(rb"^int (\w+)_run\(", re.M)
PIECE = 500  # characters of a literal: C has a limit
SPECIAL = {ord(c): f"\\{c}" for c in '"\\?'}  # a ? may be part of a trigraph


def as_c(name: str, text: str) -> str:
    """A definition of the text, in ASCII, as an array of characters."""
    pieces = [text[k : k + PIECE].translate(SPECIAL) for k in range(0, len(text), PIECE)] or [""]
    return f"const char {name}[] =\n" + "\n".join(f'\t"{piece}"' for piece in pieces) + ";\n"


# The weights as an array of the library's own, which no other library's can replace
LINKED = """\t.section .rodata
\t.balign 64
\t.globl {graph}_weights
\t.hidden {graph}_weights
{graph}_weights:
\t.incbin "weights.data"
\t.section .note.GNU-stack,"",%progbits
"""


def shared_library(
    code: bytes, header: bytes, header_name: str, weights: bytes | memoryview, metadata: Mapping[str, Any],
    cflags: Sequence[str],
) -> bytes:  # fmt: skip
    """The library of a file of C that was compiled with ``fentry``, with its weights."""
    graph = RUN.search(header)[1].decode()
    beside = {header_name: header}
    if weights:
        beside |= {"weights.s": LINKED.format(graph=graph).encode(), "weights.data": weights}
        cflags = [*cflags, "-DPTGC_LINKED"]
    texts = as_c("ptgc_graph", graph) + as_c("ptgc_metadata", json.dumps(metadata))
    whole = code + b"\n" + texts.encode()
    return _cc.compiled(_cc.compiler(), whole, _cc.flags_of(code, cflags), beside)


@contextmanager
def private_copy(path: Path) -> Iterator[Path]:
    """A copy of a file, which is removed after the block. dlopen gives what it has under a path, even if the file there
    is another one by now, and code of an open file changes when a program writes into that file."""
    with tempfile.TemporaryDirectory(prefix="ptgc-") as folder:
        yield Path(shutil.copyfile(path, Path(folder) / path.name))


def texts_of(path: Path) -> tuple[str, dict[str, Any]]:
    """What the symbols of a library at an absolute path begin with, and its metadata."""
    try:
        library = ctypes.CDLL(str(path))
    except OSError as e:
        raise ValueError(f"{path.name} is not a shared library for this machine: {e}") from None
    try:
        graph, metadata = (
            ctypes.string_at(ctypes.addressof(ctypes.c_char.in_dll(library, name))) for name in ("ptgc_graph", "ptgc_metadata")
        )
    except ValueError:
        raise ValueError(f"{path.name} is not a library that ptgc wrote") from None
    finally:
        dlclose(library._handle)
    return graph.decode(), json.loads(metadata)
