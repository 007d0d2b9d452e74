#!/usr/bin/env python3
"""circles.py OBJECTS [-v]: files of a folder of src/ whose functions call one another in a circle.

Prints the folders that have more or fewer such files than BOUNDS says; the exit status is 1 if there are any. With -v
prints all folders, and the calls inside of each circle: from, to, symbols. OBJECTS is the folder of object files
(build/obj). A file calls another one if it needs a symbol that the other defines.
"""

import subprocess
import sys
from collections import defaultdict
from pathlib import Path


SRC = Path(__file__).resolve().parents[2] / "src"
# Files in a circle, by folder, as long as nobody has cut them: the numbers may fall.
BOUNDS = {
    "base": 2, "cmd": 4, "complex": 2, "dims": 4, "elab": 14, "lower": 2, "lower/ops": 12, "ops": 10,
    "rewrite": 5, "syntax": 3, "typed": 2,
}


def symbols(path):
    """(what the object defines, what it needs)"""
    defined, needed = set(), set()
    for line in subprocess.run(["nm", str(path)], capture_output=True, text=True, check=True).stdout.splitlines():
        kind, name = line.split()[-2:]
        if kind in "TDRB":
            defined.add(name)
        elif kind == "U":
            needed.add(name)
    return defined, needed


def calls(objects):
    """{file: {other file of its folder: symbols}}, by paths without suffix"""
    files = sorted(str(p.relative_to(SRC).with_suffix("")) for p in SRC.rglob("*.c"))
    found = {file: symbols(objects / f"{file}.o") for file in files}
    home = {name: file for file, (defined, _) in found.items() for name in defined}
    edges = {file: defaultdict(set) for file in found}
    for file, (_, needed) in found.items():
        for name in needed & home.keys():
            if Path(home[name]).parent == Path(file).parent:
                edges[file][home[name]].add(name)
    return edges


def reach(edges, start):
    seen, todo = set(), [start]
    while todo:
        for other in edges[todo.pop()]:
            if other not in seen:
                seen.add(other)
                todo.append(other)
    return seen


def circles(edges):
    """{folder: (files, [circle])}, a circle being a set of files that reach one another"""
    reached = {file: reach(edges, file) for file in edges}
    folders = defaultdict(lambda: [0, []])
    for file in edges:
        folder = folders[str(Path(file).parent)]
        folder[0] += 1
        circle = {other for other in reached[file] if file in reached[other]}
        if circle and circle not in folder[1]:
            folder[1].append(circle)
    return folders


def main():
    edges = calls(Path(sys.argv[1]))
    verbose, wrong = "-v" in sys.argv[2:], False
    for folder, (count, found) in sorted(circles(edges).items()):
        inside, bound = sum(map(len, found)), BOUNDS.get(folder, 0)
        wrong |= inside != bound
        if inside > bound:
            print(f"{folder}: {inside} of {count} files call one another in a circle; {bound} at most, see circles.py -v")
        elif inside < bound:
            print(f"{folder}: {inside} of {count} files are in a circle: write {inside} for {bound} in circles.py")
        elif verbose and inside:
            print(f"{folder}: {inside} of {count} files")
        for circle in found if verbose else []:
            for file in sorted(circle):
                for other in sorted(edges[file].keys() & circle):
                    print(f"  {Path(file).name} -> {Path(other).name}: {' '.join(sorted(edges[file][other]))}")
    sys.exit(wrong)


if __name__ == "__main__":
    main()
