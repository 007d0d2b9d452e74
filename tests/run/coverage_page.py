"""doc/coverage.md: where the numeric test of every op finds something else than PyTensor's result.

`coverage_page.py` runs the whole table and writes the page; test_grid.py compares what the page says of an op
with its own run.
"""

import re
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

here = Path(__file__).resolve().parent
sys.path[:0] = [str(here), str(here.parents[1] / "python")]

from files import PTGC  # noqa: E402
from grid import DTYPES, KINDS, NEAR, ULP, Run, words  # noqa: E402
from grid_table import ROWS  # noqa: E402
from harness import ALL, OPSETS  # noqa: E402

PAGE = here.parents[1] / "doc/coverage.md"
HEAD = """# Coverage

This page says what the numeric test found. For every op that converts ([ops.md](ops.md)), `tests/run/grid.py` compiles models,
runs them on ONNX Runtime and compares each result with PyTensor's Python mode: its dtype, its shape, every value. **An op passes
for all of the following, except for what this page lists.**

| | |
|---|---|
| dtypes | {dtypes} |
| ranks | 0 to 4 |
| lengths | 0, 1, 2 and 7 |
| dims | static (`float32[2, 3]`) and dynamic (`float32[n, m]`) |
| opsets | {opsets} |
| values | small and large ones, NaN, infinities, zeros of both signs, the limits of the dtype, and points at which the op is hard |
| bool, integers, float16 | equal |
| float32, float64 | relative error at most {f32} and {f64}; NaN, infinities and the signs of zeros are equal |
| complex | error at most {c64} (complex64) and {c128} (complex128) of the largest element |

The test tries every dtype of an op at each opset, with static and with dynamic dims. It tries a single case at one of these, in
turn. Some cases are tried a second time with nodes before and after the op. `make coverage` writes this page. The test fails if a
row differs from what it finds (`make check` tries a third of the ops, `make check-all` every op).

Contents: [dtypes](#dtypes), [larger errors](#larger-errors), [not tried](#not-tried),
[loops over a batch](#loops-over-a-batch), [ops that were tried](#ops-that-were-tried).
Ops that do not convert at all: [ops.md](ops.md#not-supported). Random variables: [random.md](random.md#distributions).

**How to read a row.** This row is in the table of dtypes:

{example}

ptgc refuses `Cumsum` of an int8 vector, and of the other dtypes in the row. The reason is ptgc's message with T for each dtype:
PyTensor computes int64, but the type of its result says int8. int64, floats and complex numbers are not in the row, so they pass.
"refused in some forms" means that other uses of the op pass. If PyTensor raises, ptgc refuses as well, or the run of the model fails.
"""


def op_list():
    """(heading, name, why it is not converted or None) of each op of `ptgc --ops`."""
    text = subprocess.run([PTGC, "--ops"], capture_output=True, text=True, check=True).stdout
    title = ""
    for entry in re.sub(r"\n {10,}", " ", text).splitlines():
        if op := re.match(r"  (\w+)[{(]", entry):
            why = re.search(r" not (?:converted yet|supported): .*", entry)
            yield title, op[1], why and why[0].strip()
        elif entry:
            title = entry


RANDOM = "Random variables"  # doc/random.md has their table, by `make check-random`


def groups():
    """Headings of `ptgc --ops` and the ops below them that convert, but for random variables."""
    out = {}
    for title, name, why in op_list():
        out.setdefault(title, []).extend([] if why or title == RANDOM else [name])
    return [(title, names) for title, names in out.items() if names]


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


def general(reason):
    """The same for several ops and dtypes: without the op, with T for a dtype."""
    if raised := re.match(r"PyTensor raises \w+", reason):
        return raised[0]
    reason = re.sub(r"^[A-Z]\w+(\{[^}]*\})?(\([^)]*\))?:? ", "", reason)
    reason = re.sub(r"'[xy]\d' is \w+, but ", "", reason)
    return re.sub(rf"\b({'|'.join(DTYPES)})\b", "T", reason)


def outcome(text, reasons, row, dtype):
    """What the table says of one dtype; None where there is nothing to say."""
    why = "; ".join(sorted({general(r) for r in reasons}))
    if text == "-":
        left_out = any(form.has_dtype() and dtype not in form.dtypes for form in row.forms)
        return None if left_out and dtype in ALL else "not tried"
    if text == ".":
        return why
    if not text:
        return f"refused: {why}"
    if text == f"{OPSETS[0]}+":
        return why and f"refused in some forms: {why}"
    return f"converted from opset {text}" + (f", refused else: {why}" if why else "")


def exceptions(op, result):
    """(dtypes, what came of them) of all that is not simply converted."""
    found = {}
    for dtype in DTYPES:
        if said := outcome(*cell(result, dtype), ROWS[op], dtype):
            found.setdefault(said, []).append(dtype)
    out = [(words(dtypes), said) for said, dtypes in found.items()]
    pairs = {}
    for reason, some in result.pairs.items():
        said = f"refused: {general(reason)}"
        known = found.get(said, [])
        pairs.setdefault(said, set()).update(p for p in some if not set(p) & set(known))
    for said, some in sorted(pairs.items()):
        if some:
            first = min(some, key=lambda p: [DTYPES.index(d) for d in p])
            out.append((f"{len(some)} pairs of dtypes, such as {' and '.join(first)}", said))
    return out


def table(head, rows):
    """Rows (name, cell, ...) as a table; names of which the same is said share a row."""
    names = {}
    for name, *cells in rows:
        names.setdefault(tuple(cells), []).append(name)
    lines = [f"| {', '.join(shared)} | {' | '.join(cells)} |" for cells, shared in names.items()]
    return [f"| {' | '.join(head)} |", "|---" * len(head) + "|", *lines]


def dtype_table(found):
    rows = [(op, *e) for op in ops() for e in found.get(op, ())]
    kinds = ("refused:", "refused in some", "converted", "not tried", "PyTensor raises")
    rows.sort(key=lambda row: [row[2].startswith(kind) for kind in kinds], reverse=True)
    return table(("op", "dtypes", "what happens"), rows)


def error_table():
    rows = [(op, *e) for op in ops() for e in larger_errors(ROWS[op])]
    return table(("op", "relative error, or absolute", "why"), rows)


def not_tried_table():
    rows = [(name, *e) for op in ops() for name, *e in not_tried(ROWS[op])]
    return table(("op (its forms, if not all)", "left out", "why"), rows)


def tried():
    """The ops of each group, with the number of ways in which an op is used where there are several."""
    for title, names in groups():
        counted = [f"{n} ({len(ROWS[n].forms)})" if len(ROWS[n].forms) > 1 else n for n in names]
        yield f"**{title}**: {', '.join(counted)}."


def render(found):
    """The page. found: op -> exceptions(op)."""
    dtypes = dtype_table(found)
    head = HEAD.format(
        dtypes=", ".join(DTYPES),
        opsets=", ".join(map(str, OPSETS)),
        f32=relative("float32", ULP["float32"]),
        f64=relative("float64", ULP["float64"]),
        c64=f"{NEAR['complex64']:g}",
        c128=f"{NEAR['complex128']:g}",
        example="\n".join([*dtypes[:2], next(r for r in dtypes if "Cumsum" in r)]),
    )
    parts = [head, "## Dtypes", *dtypes, "\n## Larger errors", *error_table()]
    parts += ["\n## Not tried", NOT_TRIED, *not_tried_table()]
    parts += ["\n" + LOOPS]
    parts += ["\n## Ops that were tried", TRIED, *(f"\n{line}" for line in tried())]
    return "\n".join(parts) + "\n"


NOT_TRIED = """For these cases PyTensor has no result to compare with, or other cases stand for them.
"""
LOOPS = """## Loops over a batch
PyTensor's `vectorize_graph` and `batch="chains"` make `Blockwise`, which works on the whole batch. These exceptions take a Loop over
the items:

| op | why |
|---|---|
| Unique | how many elements are distinct depends on what an item holds |
| Einsum whose subscripts have dots or no result | the dots of the subscripts would be those of the batch as well |
| Pad by ramps whose widths or ends differ between items, or with another constant for each side | a border depends on its width; a constant of each side takes a choice for each corner |
| of complex numbers Max, Min, Argmax, Prod, ProdWithoutZeros, Cumprod, LogSumExp, SortOp, ArgSortOp, SearchsortedOp, Unique, Eig | for one item they are loops too, or order by both parts; other ops take the batch as pairs |
| IncSubtensor and AdvancedIncSubtensor below opset 16, where an index may occur twice | at these opsets ONNX has no operator that adds at indices, not even for single items |

A Scan is one loop for all items, and its step works on the batch. ptgc refuses the Scan if a state is not an array."""
TRIED = "The number in brackets says in how many ways the test uses an op."


def relative(dtype, ulp):
    return f"{ulp * np.finfo(dtype).eps:.2g}"


def larger_errors(row):
    """(bounds, why) where they are not those of all ops, first of the op and then of a form."""
    if own := bounds(row.ulp, row.atol, row.zero_sign, row.declared, row.as_declared):
        assert row.why, f"{row.op}: {own} needs a reason"
        yield own, row.why
    for form in row.forms:
        if form.ulp:
            yield f"{form.name or 'plain'}: {bounds(form.ulp)}", row.why


def bounds(ulp, atol=(), zero_sign=True, declared=False, as_declared=False):
    out = []
    for d in DTYPES:
        each = [relative(d, ulp[d])] if d in ulp else []
        each += [f"{atol[d]:g} absolute"] if d in atol else []
        out += [f"{d} {' or '.join(each)}"] if each else []
    if not zero_sign:
        out.append("a zero may have the other sign")
    if declared:
        out.append("compared with PyTensor's op in the dtype that its type says")
    if as_declared:
        out.append("PyTensor's result is cast to the dtype that its type says")
    return ", ".join(out)


def not_tried(row):
    """(op and its forms, what is left out, why)."""
    found = {}
    for form in row.forms:
        if left_out := form.left_out():
            assert form.but, f"{row.op}, {form.name}: {left_out} needs a reason"
            found.setdefault((left_out, form.but), []).append(form.name or "plain")
        elif form.but:
            found.setdefault(("some values", form.but), []).append(form.name or "plain")
    for (what, why), names in found.items():
        some = len(names) < len(row.forms)
        yield f"{row.op} ({'; '.join(names)})" if some else row.op, what, why


def committed(op):
    """What the page's table of dtypes says of an op."""
    rows = PAGE.read_text().split("\n## Dtypes\n")[1].split("\n\n")[0].splitlines()[2:]
    cells = [row.strip("| ").split(" | ") for row in rows]
    return [(dtypes, said) for names, dtypes, said in cells if op in names.split(", ")]


def run(op):
    result = Run(ROWS[op]).run()
    return op, exceptions(op, result), result.failures, result.compared, result.models


def main():
    results, failed, compared, models = {}, [], 0, 0
    with ProcessPoolExecutor(2) as pool:
        for op, found, failures, n, m in pool.map(run, ROWS, chunksize=1):
            results[op], compared, models = found, compared + n, models + m
            failed += failures
            for f in failures[:3]:
                print(f[:400], flush=True)
    PAGE.write_text(render(results))
    print(f"{len(results)} ops, {models} models, {compared} comparisons, {len(failed)} failures")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
