#!/usr/bin/env python3
"""Prints the interface that doc/stability.md promises, a line for each thing that programs and files name: options of the
command, codes of messages, functions and members of ptgc.h, ops and their properties, names of the Python package.

usage: interface.py [file]: with a file, says which of its lines no longer hold, and ends with 1 if there is one.
`interface.py >tests/stable/interface.txt` takes up what is new; lines go only with a version of the language or of the soname.
"""
import inspect
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).parents[2]
PTGC = os.environ.get("PTGC", str(TOP / "build/ptgc"))


def ptgc(*args):
    return subprocess.run([PTGC, *args], capture_output=True, text=True, check=True).stdout


def command():
    for word in ("fmt", "dump", "check", "why"):
        assert f"ptgc {word}" in ptgc("--help")
        yield f"command {word}"
    for name in re.findall(r"^  (--?[\w-]+)", ptgc("--help"), re.M):
        yield f"option {name}"
    for name in re.search(r"^Warnings: (.*)", ptgc("--help"), re.M)[1].split():
        yield f"warning {name}"


def messages():
    for number, name in re.findall(r"DIAG\(\w+,\s*(\d+),[^\"]*\"([\w-]+)\"", (TOP / "src/base/diag.def").read_text()):
        yield f"code PTG{int(number):04} {name}"


def ops():
    for name, _, props in re.findall(r"^  (\w+)(\{([^}]*)\})?\(", ptgc("--ops"), re.M):
        yield f"op {name}"
        for prop in re.findall(r"(\w+)\s*[=,]", props + ","):
            yield f"op {name} {prop}"


def c_api():
    header = (TOP / "src/ptgc.h").read_text()
    for name in re.findall(r"^[a-z][^\n=;]*?\b(ptgc_\w+)\(", header, re.M):
        yield f"function {name}"
    options = re.search(r"struct ptgc_options \{(.*?)\n\};", header, re.S)[1]
    options = re.sub(r"/\*.*?\*/", "", options, flags=re.S)
    members = re.findall(r"(\w+);", options)
    constants = re.findall(r"\b(PTGC_[A-Z0-9_]+)\b(?:,| =|\n| /)", "".join(re.findall(r"enum ptgc_\w+ \{.*?\};", header, re.S)))
    program = ["#include <stdio.h>", "#include <stddef.h>", '#include "ptgc.h"', "int main(void) {"]
    program += [f'printf("member {m} %zu\\n", offsetof(struct ptgc_options, {m}));' for m in members]
    program += [f'printf("constant {c} %d\\n", (int){c});' for c in dict.fromkeys(constants)]
    with tempfile.TemporaryDirectory() as folder:
        source, binary = Path(folder, "m.c"), Path(folder, "m")
        source.write_text("\n".join([*program, "return 0; }"]))
        subprocess.run([*os.environ.get("CC", "cc").split(), "-I", TOP / "src", source, "-o", binary], check=True)
        yield from subprocess.run([binary], capture_output=True, text=True, check=True).stdout.splitlines()


def package():
    sys.path.insert(0, str(TOP / "python"))
    import ptgc as package

    for name in package.__all__:
        yield f"python {name}"
        thing = getattr(package, name)
        if inspect.isfunction(thing):
            for p in inspect.signature(thing).parameters.values():
                if p.kind is not p.VAR_KEYWORD:
                    yield f"python {name}({p.name})"


def main():
    now = list(dict.fromkeys(line for part in (command, messages, ops, c_api, package) for line in part()))
    if len(sys.argv) == 1:
        print("\n".join(now))
        return 0
    gone = [line for line in Path(sys.argv[1]).read_text().splitlines() if line not in set(now)]
    for line in gone:
        print(f"no longer there: {line}")
    return bool(gone)


if __name__ == "__main__":
    sys.exit(main())
