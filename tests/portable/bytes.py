#!/usr/bin/env python3
"""bytes.py [FILE]: what the library makes of each text, as a sum, for changes that must not change a byte.

Without FILE prints a line for each text and each way to compile it. With FILE, the lines of another build, prints the
lines that differ; the exit status is 1 if there are any. PTGC_LIBRARY: the build's libptgc.so. The texts are those of tests,
examples, lib/use and the documents, and random loops. Each is compiled in the WAYS below: three opsets, each target, each
level of numerics, and without the passes that may be left out. A text that is refused gives its messages; where there is an
internal error, or no end, the line says "died".
"""

import hashlib
import multiprocessing
import os
import re
import signal
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests" / "run")]
from ptgc import _lib  # noqa: E402
import random_loops  # noqa: E402

LOOPS = 300
SECONDS = 20  # a compilation that takes longer is given up
# opset, target, math, flags
WAYS = [
    (18, "ort-cpu", "standard", []),
    (13, "ort-cpu", "exact", []),
    (26, "ort-cpu", "native", []),
    (18, "ort-cpu", "standard", ["O0"]),
    (18, "onnx", "exact", []),
    (26, "ort-web", "standard", []),
    (13, "portable", "native", []),
    (0, "c", "standard", []),  # C has no opset
    (0, "c", "exact", ["O0"]),
]


def texts():
    patterns = ("tests/op/*.ptg", "tests/bad/*.ptg", "tests/stable/programs/*.ptg", "examples/*/*.ptg", "lib/use/*.ptg")
    for path in sorted(p for pattern in patterns for p in ROOT.glob(pattern)):
        yield str(path.relative_to(ROOT)), path.read_bytes()
    for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("doc/*.md")]):
        for i, text in enumerate(re.findall(r"^```ptg\n(.*?)^```", path.read_text(), re.M | re.S)):
            yield f"{path.relative_to(ROOT)} {i}", text.encode()
    for seed in range(LOOPS):
        yield f"loop {seed}", random_loops.Program(seed).text.encode()


def compiled(name, text, way):
    opset, target, math, flags = way
    o = _lib.Options(opset=opset, target=_lib.words(_lib.lib().ptgc_target).index(target), math=_lib.levels().index(math))
    o.size = _lib.C.sizeof(_lib.Options)
    o.file_name = name.encode()
    o.directory = str((ROOT / name).parent).encode()
    o.allow = _lib.strings([ROOT / "examples"])
    o.flags = _lib.strings(flags)
    r = _lib.Result(_lib.lib().ptgc_compile(text, len(text), o))
    made = [r.view(_lib.lib().ptgc_model), r.view(_lib.lib().ptgc_external), _lib.lib().ptgc_messages(r.handle, False)]
    return hashlib.sha256(b"|".join(map(bytes, made))).hexdigest()[:16]


def one_line(name, text, way):
    """Compiles in a child, which an internal error or an alarm ends."""
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(SECONDS)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.write(writes, compiled(name, text, way).encode())
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as pipe:
        made = pipe.read() or "died"
    os.waitpid(child, 0)
    opset, target, math, flags = way
    return f"{made} {' '.join([str(opset), target, math, *flags])} {name}\n"


def lines(item):
    return [one_line(*item, way) for way in WAYS]


def main():
    _lib.lib()
    with multiprocessing.Pool() as pool:
        made = [line for some in pool.imap(lines, texts(), 4) for line in some]
    if len(sys.argv) < 2:
        sys.stdout.writelines(made)
        return 0
    other = set(Path(sys.argv[1]).read_text().splitlines(True))
    differ = [line for line in made if line not in other]
    sys.stdout.writelines(differ)
    print(f"{len(made)} compilations, {len(differ)} are not the same")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
