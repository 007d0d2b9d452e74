"""doc/coverage.md: what the numeric test of every op came to, a line an op.

`coverage_page.py` runs the whole table and writes the page; test_grid.py compares the line of each op with
its own run.
"""

import re
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

here = Path(__file__).resolve().parent
sys.path[:0] = [str(here), str(here.parents[1] / "python")]

from files import PTGC  # noqa: E402
from grid import COMPLEX, KINDS, Run  # noqa: E402
from grid_table import ROWS  # noqa: E402
from harness import ALL, OPSETS  # noqa: E402

PAGE = here.parents[1] / "doc/coverage.md"
DTYPES = (*ALL, *COMPLEX)
SHORT = {
    "bool": "bool",
    **{
        d: d.replace("uint", "u").replace("int", "i").replace("float", "f").replace("complex", "c")
        for d in DTYPES[1:]
    },
}
HEAD = """# Coverage

Made by `make coverage` from the numeric test itself (`tests/run/grid.py`, table in `tests/run/grid_table.py`): every op that
converts, run on ONNX Runtime and compared with PyTensor's Python mode in dtype, shape and value, by dtype, rank 0 to 4, static
and dynamic dims, lengths 0, 1, 2, 7 and special values, at opsets 13, 15, 18, 21 and 26. A line that differs from the run fails
the test.

A cell is the first opset of these five from which all cases agree, with static dims and with dynamic ones (`s`: static only,
`d`: dynamic only). A letter is a reason below, why the compiler refuses all cases, or some of them (`13+ a`). `.`: PyTensor
has no such op, it raises, or the dtype plays no part; `(n)` after a name: (n) forms of the op are tried.
"""


def groups():
    """Headings of `ptgc --ops` and the ops below them that convert."""
    text = subprocess.run([PTGC, "--ops"], capture_output=True, text=True, check=True).stdout
    out = []
    for entry in re.split(r"\n(?=  ?[A-Za-z]|\n[A-Za-z])", "\n" + text):
        if head := re.match(r"\n*([A-Z][\w ,]*)$", entry.strip("\n").split("\n")[0]):
            out.append((head[1], []))
        for m in re.finditer(r"(?m)^  (\w+)[{(].*\n(?: {10,}.*\n?)*", entry + "\n"):
            if not re.search(r"\n +not (yet|supported): ", m[0]):
                out[-1][1].append(m[1])
    return out


def ops():
    return [op for _, names in groups() for op in names]


def cell(result, dtype):
    """(text without letters, reasons)."""
    cells = {(k, o): result.cells.get((dtype, k, o), set()) for k in KINDS for o in OPSETS}
    reasons = sorted({r for c in cells.values() for r in c} - {"ok"})
    first = {}
    for kind in KINDS:
        good = [o for o in OPSETS if "ok" in cells[kind, o]]
        from_ = [o for o in OPSETS if all(p in good for p in OPSETS[OPSETS.index(o) :])]
        first[kind] = min(from_, default=None)
    a, b = first.values()
    if a == b:
        text = f"{a}+" if a else ""
    else:
        text = " ".join(f"{o}+{k[0]}" for k, o in first.items() if o)
    return text, reasons


def line_of(op, result):
    """What the page says of an op: cells, and the pairs of dtypes that are refused."""
    cells = {SHORT[d]: cell(result, d) for d in DTYPES}
    pairs = {
        reason: sorted(f"{SHORT[a]} with {SHORT[b]}" for a, b in found)
        for reason, found in result.pairs.items()
    }
    return cells, pairs


class Letters:
    """a, b, ... z, aa, ab, ... in the order of appearance."""

    def __init__(self):
        self.of = {}

    def __call__(self, reason):
        k = self.of.setdefault(reason, len(self.of))
        return (chr(96 + k // 26) if k >= 26 else "") + chr(97 + k % 26)


def general(reason):
    """The same reason of several ops and dtypes is one footnote."""
    reason = re.sub(r"^[A-Z]\w+(\{[^}]*\})?(\([^)]*\))?:? ", "", reason)
    reason = re.sub(r"'x\d' is \w+, but ", "", reason)
    return re.sub(rf"\b({'|'.join(DTYPES)})\b", "T", reason)


def render(results):
    letters, out = Letters(), [HEAD]
    for title, names in groups():
        names = [n for n in names if n in results]
        if not names:
            continue
        out.append(
            f"## {title}\n| op | "
            + " | ".join(SHORT.values())
            + " |\n"
            + "|---" * (len(SHORT) + 1)
            + "|"
        )
        for op in names:
            out.append(row_text(op, results[op], letters))
        out.append("")
    out.append("## Reasons")
    out += [f"- **{letters(r)}**: {r}" for r in letters.of]
    return "\n".join(out) + "\n"


def merged(pairs):
    out = {}
    for reason, found in pairs.items():
        out[general(reason)] = sorted({*out.get(general(reason), ()), *found})
    return out


def shortened(found):
    return ", ".join(found[:4]) + (f" and {len(found) - 4} more" if len(found) > 4 else "")


def row_text(op, line, letters):
    cells, pairs = line
    shown = []
    for text, reasons in cells.values():
        marks = " ".join(letters(r) for r in sorted({general(r) for r in reasons}))
        shown.append(f"{text} {marks}".strip() or ".")
    note = "; ".join(
        f"{shortened(found)}: {letters(reason)}" for reason, found in sorted(merged(pairs).items())
    )
    count = f" ({len(ROWS[op].forms)})" if len(ROWS[op].forms) > 1 else ""
    return f"| {op}{count}{f' [{note}]' if note else ''} | " + " | ".join(shown) + " |"


def committed(op):
    """The line of the page, its letters written out."""
    text = PAGE.read_text()
    reasons = dict(re.findall(r"(?m)^- \*\*(\w+)\*\*: (.*)$", text))
    line = re.search(rf"(?m)^\| {op}[ (].*$", text)
    return line and spelled_out(line[0], reasons)


def spelled_out(line, reasons):
    """The cells of a line with reasons in place of letters."""
    name, *cells = line.strip("| ").split(" | ")
    name = re.sub(r": (\w+)(?=[;\]])", lambda m: f": {reasons[m[1]]}", name)
    return [name, *[[reasons.get(word, word) for word in c.split()] for c in cells]]


def current(op, result):
    letters = Letters()
    text = row_text(op, line_of(op, result), letters)
    return spelled_out(text, {letters(r): r for r in list(letters.of)})


def run(op):
    result = Run(ROWS[op]).run()
    return op, line_of(op, result), result.failures, result.compared, result.models


def main():
    results, failed, compared, models = {}, [], 0, 0
    with ProcessPoolExecutor(2) as pool:
        for op, line, failures, n, m in pool.map(run, ROWS, chunksize=1):
            results[op], compared, models = line, compared + n, models + m
            failed += failures
            for f in failures[:3]:
                print(f[:400], flush=True)
    PAGE.write_text(render(results))
    print(f"{len(results)} ops, {models} models, {compared} comparisons, {len(failed)} failures")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
