"""doc/pymc-distributions.md from the results of sweep.py and usage.py: page.py FLOAT64 FLOAT32 USES"""

import importlib.metadata
import inspect
import pickle
import sys
from pathlib import Path

import cases
import usage

PARTS = ["logp", "logcdf", "icdf", "truncated", "censored"]
HEAD = """# PyMC's distributions and functions

`make check-pymc` makes this page: do not edit it. Versions: {versions}.

## Distributions
Each function below was compiled in mode ONNX and by PyTensor without ONNX. Both were called at the same points: inside the
support, at its edges and outside, at infinities and NaN, and with parameters that are wrong.

- **yes** means three things. All results are equal to 1e-9 (relative), or as close as PyTensor's own results for arguments that
  differ by 1e-14. Infinities and NaN are the same. Errors are raised where PyMC raises them.
- **∂** says the same of the derivatives by the variable and by all float parameters.
- `–` means that PyMC has no such function.
- "truncated" and "censored" are the log densities of `pm.Truncated` and `pm.Censored`.
- float32 is the same with `floatX=float32`, to 1e-4 or to what PyTensor's own float32 reaches.

PolyaGamma is compared with mpmath. PyMC calls the package polyagamma, whose series has no correct digit far above the mean, for
example at `x = 30` for `h = 2`. Differential equations are compared with SciPy's odeint at a tolerance of 1e-13. PyMC's results, at
its default of 1.5e-8, have errors of some 1e-7.

| distribution | log density | logcdf | icdf | truncated | censored | float32 |
|---|---|---|---|---|---|---|"""
MODELS = """
These models are not distributions by themselves:

| model | log density | gradient | float32 |
|---|---|---|---|"""
USES = """
## What PyMC's users do
Each line is a test in `tests/pymc/usage.py`.

| | |
|---|---|"""


class Notes:
    def __init__(self):
        self.texts = []

    def mark(self, text):
        if text not in self.texts:
            self.texts.append(text)
        return f"({self.texts.index(text) + 1})"


def said(found, notes):
    """A function in a word: yes, or why not."""
    kind, what = found
    if kind == "equal":
        return "yes"
    if kind == "differs":
        return "differs" + notes.mark("The results differ by infinite or more than 1e-9: a bug") if what == float("inf") \
            else f"{what:.0e}"  # fmt: skip
    return {"refused": "refused ", "fails": "fails ", "absent": "– "}[kind] + notes.mark(what)


def cell(results, name, part, notes):
    value, slope = results.get((name, part)), results.get((name, f"d {part}"))
    if value is None:
        return "–"
    a, b = said(value, notes), said(slope, notes) if slope else ""
    return f"{a}, ∂" if a == b == "yes" else a if not b or a == b else f"{a}, ∂ {b}"


def single(results, name, notes):
    """float32 in a word, for all functions together."""
    of = {k[1]: v for k, v in results.items() if k[0] == name and k[-1] not in ("points", "values")}
    bad = {part: v for part, v in of.items() if v[0] not in ("equal", "absent")}
    if not of:
        return "not run"
    if all(v[0] == "absent" for v in of.values()):
        return "–"
    return "yes" if not bad else "; ".join(f"{part.replace('d ', '∂ ')} {said(v, notes)}" for part, v in bad.items())


def main(double, half, uses):
    double, half, uses = (pickle.loads(Path(p).read_bytes()) for p in (double, half, uses))
    packages = "pymc", "pytensor", "onnxruntime"
    versions = ", ".join(f"{p} {importlib.metadata.version(p)}" for p in packages)
    notes, lines = Notes(), [HEAD.format(versions=versions)]
    for case in [*cases.SCALAR, *cases.VECTOR]:
        cells = [cell(double, case.name, part, notes) for part in PARTS]
        lines.append("| " + " | ".join([case.name, *cells, single(half, case.name, notes)]) + " |")
    lines.append(MODELS)
    for build in cases.MODELS:
        name = build.__name__
        value, slope = (said(double[name, p], notes) if (name, p) in double else "–" for p in ("logp", "d logp"))
        lines.append(f"| {name.replace('_', ' ')} | {value} | {slope} | {single(half, name, notes)} |")
    kinds = [v[0] for k, v in double.items() if k[-1] not in ("points", "values") and v[0] != "absent"]
    lines.append(f"\nOf {len(kinds)} functions {kinds.count('equal')} are equal, {kinds.count('refused')} are refused, "
                 f"{len(kinds) - kinds.count('equal') - kinds.count('refused')} differ.\n")  # fmt: skip
    lines += [f"- ({k}) {text}" for k, text in enumerate(notes.texts, 1)]
    lines.append(USES)
    for use in usage.USES:
        kind, more = uses[use.__name__]
        lines.append(f"| {inspect.getdoc(use)} | {kind}{f': {more}' if isinstance(more, str) and kind == 'works' else ''} |")
    Path(__file__).parents[2].joinpath("doc/pymc-distributions.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
