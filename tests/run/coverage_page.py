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
`d`: dynamic only). A letter is a reason below: why the compiler refuses all cases, or some of them (`13+ a`), or why PyTensor
itself has no result (`. a`). `-`: the dtype plays no part, or is left out, which [limits](#limits) gives the reason for. `(n)`
after a name: (n) forms of the op are tried. Ops that are refused as a whole are [at the end](#not-converted).
"""


def op_list():
    """(heading, name, why it is not converted or None) of each op of `ptgc --ops`."""
    text = subprocess.run([PTGC, "--ops"], capture_output=True, text=True, check=True).stdout
    title = ""
    for entry in re.split(r"\n(?=  ?[A-Za-z]|\n[A-Za-z])", "\n" + text):
        if head := re.match(r"\n*([A-Z][\w ,]*)$", entry.strip("\n").split("\n")[0]):
            title = head[1]
        for m in re.finditer(r"(?m)^  (\w+)[{(].*\n(?: {10,}.*\n?)*", entry + "\n"):
            why = re.search(r"(?s)\n +(not (?:yet|supported): .*)", m[0])
            yield title, m[1], why and " ".join(why[1].split())


def groups():
    """Headings of `ptgc --ops` and the ops below them that convert."""
    out = {}
    for title, name, why in op_list():
        out.setdefault(title, []).extend([] if why else [name])
    return list(out.items())


def ops():
    return [op for _, names in groups() for op in names]


def cell(result, dtype):
    """(text without letters, reasons)."""
    cells = {(k, o): result.cells.get((dtype, k, o), set()) for k in KINDS for o in OPSETS}
    if not any(cells.values()):
        raised = next(iter(result.raised.get(dtype, ())), None)
        return (".", [f"PyTensor raises {raised}"]) if raised else ("-", [])
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
    if not reason.startswith("PyTensor raises "):
        reason = re.sub(r"^[A-Z]\w+(\{[^}]*\})?(\([^)]*\))?:? ", "", reason)
    reason = re.sub(r"'[xy]\d' is \w+, but ", "", reason)
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
    out += ["\n## Limits", LIMITS, "| op | form | limit | why |\n|---|---|---|---|"]
    out += all_limits()
    out += ["\n## Not converted", "| op | why |\n|---|---|"]
    out += not_converted()
    return "\n".join(out) + "\n"


LIMITS = """Results agree exactly, those of float32 to 2 and of float64 to 4 units in the last place (float16: exactly), for dtypes, ranks 0
to 4 and lengths 0, 1, 2 and 7 alike, but for these."""


def limits(row):
    """Lines of an op whose rows allow or try less than all others do."""

    def line(form, what, why):
        assert why, f"{row.op}, {form}: {what} needs a reason"
        return f"| {row.op} | {form} | {what} | {why} |"

    if own := tolerance(row.ulp, row.atol, row.zero_sign, row.declared, row.as_declared):
        yield line("", own, row.why)
    for form in row.forms:
        name = form.name or "plain"
        if form.ulp:
            yield line(name, tolerance(form.ulp), row.why)
        if left_out := form.left_out():
            yield line(name, f"not tried: {left_out}", form.but)
        elif form.but:
            yield line(name, "values", form.but)


def all_limits():
    return [line for op in ops() for line in limits(ROWS[op])]


def not_converted():
    return [f"| {name} | {why} |" for _, name, why in op_list() if why]


def tolerance(ulp, atol=(), zero_sign=True, declared=False, as_declared=False):
    out = [f"{SHORT[d]} {n} ULP" for d, n in ulp.items()]
    out += [f"{SHORT[d]} within {atol[d]:g}" for d in atol]
    if not zero_sign:
        out.append("0 and -0 are one")
    if declared:
        out.append("computed in the dtype that PyTensor declares")
    if as_declared:
        out.append("cast to the dtype that PyTensor declares")
    return ", ".join(out)


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
        shown.append(f"{text} {marks}".strip() or "-")
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
