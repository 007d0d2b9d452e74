"""The table of doc/packaging.md: what tests of which build passed, from the log of the last run of tests/check.sh.

In: counts.tsv in the logs of $B, a line for each layer: title, passed, failed. Out: the rows of the builds that this run
tested. Rows of other builds stay as they are, so no count is there that no run has made.
"""

import datetime
import os
import platform
import re
import subprocess
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "doc/packaging.md"
COLUMNS = ["unit", "golden", "examples", "models"]
CROSS = ["s390x", "aarch64"]
COMPILERS = {"clang": "clang", "gcc-lto": "gcc", "clang-lto": "clang"}


def version(command):
    """The name of a program and its version: gcc 12.2.0."""
    text = subprocess.run([*command.split(), "--version"], capture_output=True, text=True, check=True).stdout
    name = next(n for n in ("clang", "qemu", "gcc", command) if n in text.lower() or n in command)
    return name + " " + re.search(r"\d+\.\d+(\.\d+)?", re.sub(r"\(.*?\)", "", text.splitlines()[0]))[0]


def name_and_compiler(build):
    """The first two cells of a build's row. "" is the build of make check."""
    here = platform.machine()
    if build in CROSS:
        qemu = "" if build == here else ", " + version(f"qemu-{build}")
        return build + qemu, version(f"{build}-linux-gnu-gcc")
    if build:
        return here + (", -flto" if build.endswith("-lto") else ""), version(COMPILERS[build])
    goal = "check-all" if os.environ.get("PTGC_FULL") else "check"
    return f"{here}, `make {goal}`", version(os.environ.get("CC", "gcc"))


def rows_of(counts):
    """The rows of one run. counts: layer's title to passed; that of another build ends with its name."""
    builds = {"": {}}
    for title, passed in counts.items():
        layer, _, build = title.partition(", ")
        if build in CROSS or build in COMPILERS:
            builds.setdefault(build, {})[layer] = passed
        else:
            builds[""][title] = passed
    if "fuzz" not in builds[""]:  # not the whole of make check
        del builds[""]
    day = datetime.date.today().isoformat()
    for build, layers in builds.items():
        cells = [str(layers.get(c, "")) for c in COLUMNS] + [str(sum(layers.values())), day]
        yield [*name_and_compiler(build), *cells]


def key(row):
    """What a row is of: versions of emulator and compiler may change."""
    return re.sub(r" [0-9.]+$", "", row[0]), row[1].split()[0]


def main():
    lines = (Path(os.environ["B"]) / "log/counts.tsv").read_text().splitlines()
    layers = [line.split("\t") for line in lines]
    if any(failed != "0" for _, _, failed in layers):
        raise SystemExit("page.py: a layer failed; the page is not written")
    text = PAGE.read_text()
    head, table, tail = re.fullmatch(r"(.*<!-- counts -->\n)(.*)(<!-- end -->.*)", text, re.S).groups()
    title, line, *old = [[c.strip() for c in row.strip("|\n").split("|")] for row in table.strip().splitlines()]
    rows = {key(row): row for row in old}
    rows.update((key(row), row) for row in rows_of({name: int(passed) for name, passed, _ in layers}))
    table = [title, line, *(rows[k] for k in sorted(rows))]
    PAGE.write_text(head + "".join("| " + " | ".join(row) + " |\n" for row in table) + tail)


if __name__ == "__main__":
    main()
