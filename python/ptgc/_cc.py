"""C as shared libraries, made by the machine's compiler and kept in a cache.

In: the text of a file that libptgc wrote, and flags. Out: the path of a shared library. Its name is a hash of the text,
the flags, the compiler with its version, and the processor with its features.
"""

import os
import platform
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from ptgc import _cache

FLAGS = re.compile(r"/\* Compile with (.+?)\. \*/")  # the first line of a file
CFLAGS = ("-march=native",)


class NoCompiler(RuntimeError):
    """There is no C compiler."""


def compiler() -> list[str]:
    """The command of the C compiler: ``$CC``, or cc, gcc or clang."""
    try:
        given = shlex.split(os.environ.get("CC", ""))
    except ValueError as e:
        raise NoCompiler(f"CC is {os.environ['CC']!r}, which is no command: {e}") from None
    if given:
        if shutil.which(given[0]):
            return given
        raise NoCompiler(f"CC is {given[0]!r}, which is not a command here: set it to a C compiler, or unset it")
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name):
            return [name]
    raise NoCompiler(
        "machine code needs a C compiler, and there is none: install gcc or clang (Debian, Ubuntu: apt install gcc "
        "libc6-dev; Fedora: dnf install gcc; conda: conda install c-compiler), or set CC to one"
    )


@cache
def version_of(command: tuple[str, ...], path: str, changed: int) -> str:
    """What the compiler at the path says of itself."""
    r = subprocess.run([*command, "--version"], capture_output=True, text=True, errors="replace")
    if r.returncode:
        raise NoCompiler(f"{command[0]} --version fails, so it is not a C compiler: {r.stderr.strip()[:300]}")
    return r.stdout


@cache
def processor() -> str:
    """What -march=native depends on: the processor's model and features."""
    try:
        text = Path("/proc/cpuinfo").read_text(errors="replace")
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    first = text.partition("\n\n")[0].splitlines()
    names = ("model name", "cpu family", "model", "stepping", "flags", "Features", "CPU part", "isa")
    return "\n".join([platform.machine(), *(line for line in first if line.partition("\t")[0].strip() in names)])


def compiled(
    command: Sequence[str], code: bytes, flags: Sequence[str], beside: Mapping[str, bytes | memoryview] | None = None
) -> bytes:
    """A shared library, as bytes. beside: files by name, which the code includes; name.s is assembled and linked."""
    with tempfile.TemporaryDirectory(prefix="ptgc-") as folder:
        source, target = Path(folder) / "model.c", Path(folder) / "model.so"
        for name, text in {source.name: code, **(beside or {})}.items():
            (Path(folder) / name).write_bytes(text)
        more = [str(Path(folder) / name) for name in beside or () if name.endswith(".s")]
        r = subprocess.run(
            [*command, "-std=c99", "-w", *flags, f"-I{folder}", "-shared", "-fPIC", "-o", str(target), str(source), *more, "-lm"],
            capture_output=True, text=True, errors="replace",
        )  # fmt: skip
        if r.returncode or not target.exists():
            why = r.stderr.strip()[:1000] or f"it ends with {r.returncode} and writes no library"
            raise RuntimeError(f"{shlex.join(command)} {' '.join(flags)} does not compile the C of the graph: {why}")
        return target.read_bytes()


def flags_of(code: bytes, cflags: Sequence[str]) -> list[str]:
    """The flags for a file of C: those of its first line, and those given."""
    first = FLAGS.match(code[:1000].decode(errors="replace"))
    return [*(shlex.split(first[1]) if first else []), *cflags]


def library(code: bytes, cflags: Sequence[str] = CFLAGS, anew: bool = False) -> Path:
    """The shared library of a file of C; from the cache if it has it, unless it is to be made anew."""
    command = compiler()
    path = shutil.which(command[0])
    version = version_of(tuple(command), path, os.stat(path).st_mtime_ns)
    flags = flags_of(code, cflags)
    key = "\0".join([*command, version, processor(), *flags]).encode()
    file = _cache.file_of(key + b"\0\0" + code, "so")
    if not anew and _cache.content(file) is not None:
        return file
    data = compiled(command, code, flags)
    try:
        _cache.keep(file, data)
    except OSError as e:
        folder = _cache.folder()
        raise OSError(f"the cache of compiled graphs, {folder}, cannot be written: {e}. Set PTGC_CACHE to another folder") from e
    return file
