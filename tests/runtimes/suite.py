"""Emitted models on many runtimes.

usage: suite.py check   a few models on the runtimes of make check; the last line is "N passed, N failed"
       suite.py page [RUNTIME...]    all models on all runtimes; writes doc/runtimes.md. Of runtimes that are not
                        named it keeps what the page has, with the release that it is of
       suite.py [NAME...]   those runtimes and models alone; prints what is not equal

Inputs and expected outputs are PyTensor's, written to build/runtimes/cases. A driver (see cases.py) computes the
outputs; the comparison is here, once for all. A runtime that does not start has failed, and so has one of make check
whose results are not as doc/runtimes.md says.
"""

import os
import re
import shutil
import subprocess
import sys
import warnings
from multiprocessing.pool import ThreadPool
from pathlib import Path

import numpy as np

warnings.simplefilter("ignore")
np.seterr(all="ignore")

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / os.environ.get("B", "build") / "runtimes"
LEVELS = {"standard": {"math": "standard"}, "native": {"math": "native"}, "portable": {"target": "portable", "float32": True}}
BOUNDS = {"float64": 1e-9, "float32": 2e-5, "float16": 4e-3}
LOOSE = {"portable": {"float32": 1e-4, "float16": 4e-3}, "float16": dict.fromkeys(BOUNDS, 1e-2), "dynamic": dict.fromkeys(BOUNDS, 5e-2), "static": dict.fromkeys(BOUNDS, 5e-2)}
QUICK = ("dense", "functions", "int64", "uint8", "bools", "reductions", "shapes", "slices", "gather", "scatter", "lengths-differ",
         "asserts", "cholesky", "gru", "complex-numbers", "while-loop", "branches", "digits", "kalman", "pymc-mixture")  # fmt: skip
QUICK_PORTABLE = tuple(f"pymc-{p.stem}" for p in sorted((ROOT / "examples/pymc").glob("*.ptg")))  # at that level alone
PAGE = ROOT / "doc/runtimes.md"
OLD = BUILD / "old"
NATIVE = BUILD / "native"  # the drivers in C, Rust and Go


def python(venv, engine):
    return [f"{venv}/bin/python", HERE / "run_python.py", engine]


def node(package, folder):
    return ["node", HERE / "run_node.cjs", package, BUILD / folder]


RUNTIMES = {  # name -> command
    "ort": python(ROOT / ".venv", "onnxruntime"),
    "ort-old": python(OLD, "onnxruntime"),
    "reference": python(ROOT / ".venv", "reference"),
    "web": node("onnxruntime-web", "npm"),
    "chromium": [ROOT / ".venv/bin/python", HERE / "run_browser.py", BUILD / "npm"],
    "node": node("onnxruntime-node", "npm-node"),
    "c": [NATIVE / "run_c"],
    "rust": ["env", f"ORT_DYLIB_PATH={NATIVE}/libonnxruntime.so.1", NATIVE / "run_ort"],
    "go": [NATIVE / "run_go", NATIVE / "libonnxruntime.so.1"],
    "java": ["java", "-cp", BUILD / "java/onnxruntime.jar", HERE / "RunJava.java"],
    "openvino": python(BUILD / "tools", "openvino"),
    "tract": [NATIVE / "run_tract"],
    "onnx2torch": python(BUILD / "torch", "onnx2torch"),
}
TOOLS = ("onnxslim", "onnxsim", "ort_format", "float16", "dynamic", "static")  # of transform.py
QUICK_RUNTIMES = ("ort", "ort-old", "reference", "web")


# --- models, inputs, expected outputs ---


def graph_cases(name, build):
    """(models by level, [(feed, outputs or the error)]) of a graph of PyTensor"""
    import pytensor
    from pytensor.compile.mode import Mode

    from ptgc import UnsupportedError, compile_onnx

    inputs, outputs, feeds = build()
    exported = {"standard": compile_onnx(inputs, outputs, on_unused_input="ignore")}
    for level, options in LEVELS.items():
        try:
            exported[level] = compile_onnx(inputs, outputs, on_unused_input="ignore", **options)
        except UnsupportedError as e:
            exported[level] = e
    f = pytensor.function(inputs, outputs, mode=Mode("py", None), on_unused_input="ignore")
    cases = []
    for feed in feeds:
        feed = [np.asarray(a) for a in feed]
        try:
            want = [np.asarray(a) for a in f(*feed)]
        except Exception as e:
            want = e
        else:
            want = dict(zip(exported["standard"].outputs, map(real, want)))
        cases.append((dict(zip(exported["standard"].inputs, map(real, feed))), want))
    return {m: getattr(e, "model", e) for m, e in exported.items()}, cases


def real(a):
    """complex numbers as models have them: pairs along a last axis"""
    return np.stack([a.real, a.imag], axis=-1) if a.dtype.kind == "c" else a


def single(arrays):
    return {k: a.astype("float32") if a.dtype == "float64" else a for k, a in arrays.items()}


def example_cases(name, path, feed):
    """The same of a .ptg file. Expected is what the newest ONNX Runtime computes at --math=exact, which the examples'
    own run.py compares with NumPy."""
    import onnxruntime as ort

    import ptgc

    models = {}
    for level, options in LEVELS.items():
        try:
            models[level] = ptgc.compile(str(path), **options)
        except ptgc.CompileError as e:
            models[level] = e
    session = ort.InferenceSession(ptgc.compile(str(path), math="exact"), providers=["CPUExecutionProvider"])
    feed = feed()
    return models, [(feed, dict(zip((o.name for o in session.get_outputs()), session.run(None, feed))))]


def make_cases(names, portable=()):
    """Writes the folder of cases, of some models at the level portable alone; returns [(case, model, level, expected)]."""
    from cases import write_tensors
    from models import EXAMPLES, GRAPHS

    folder = BUILD / "cases"
    folder.mkdir(parents=True, exist_ok=True)
    made, index = [], open(folder / "cases.txt", "w")
    for name in dict.fromkeys([*(names or [*GRAPHS, *EXAMPLES]), *portable]):
        models, feeds = graph_cases(name, GRAPHS[name]) if name in GRAPHS else example_cases(name, *EXAMPLES[name])
        for level, model in models.items():
            if name in portable and name not in names and level != "portable":
                continue
            if isinstance(model, Exception):
                made.append((None, name, level, model))
                continue
            (folder / f"{name}-{level}.onnx").write_bytes(model)
            for k, (feed, want) in enumerate(feeds):
                if level == "portable":
                    feed = single(feed)
                    want = want if isinstance(want, Exception) else single(want)
                if level == "native" and isinstance(want, Exception) and name == "lengths-differ":
                    continue  # not promised at this level
                case = f"{name}-{level}.{k}"
                write_tensors(folder / case, ".in", list(feed.items()))
                print(case, f"{name}-{level}.onnx", file=index)
                made.append((case, name, level, want))
    index.close()
    return made


# --- runs ---


def run(runtime, command, cases, timeout=300):
    """Runs a driver over all cases, once more after each case that kills it. Returns its version."""
    results = BUILD / "results" / runtime
    results.mkdir(parents=True, exist_ok=True)
    for f in results.iterdir():
        f.unlink()
    todo = [line for line in (cases / "cases.txt").read_text().splitlines() if line]
    log = open(BUILD / f"{runtime}.log", "w")
    while todo:
        why = "died"
        try:
            subprocess.run([*map(str, command), str(cases), str(results)], input="\n".join(todo) + "\n", text=True, stdout=log,
                           stderr=log, timeout=timeout, cwd=ROOT)  # fmt: skip
        except subprocess.TimeoutExpired:
            why = "took too long"
        except OSError as e:
            raise RuntimeError(f"{runtime} does not start: {e}") from e
        if not (results / "version").exists():
            raise RuntimeError(f"{runtime} does not start: {(BUILD / f'{runtime}.log').read_text()[-500:]}")
        left = [line for line in todo if not (results / f"{line.split()[0]}.out").exists()]
        if left:
            (results / f"{left[0].split()[0]}.out").write_text(f"run {why}\n")
        todo = left[1:]
    return (results / "version").read_text().strip()


def run_tool(tool, cases):
    """Puts the models through a tool, and runs what comes out on ONNX Runtime. Returns the tool's version."""
    changed, results = BUILD / "changed" / tool, BUILD / "results" / tool
    shutil.rmtree(changed, ignore_errors=True)
    changed.mkdir(parents=True)
    lines = (cases / "cases.txt").read_text()
    log = open(BUILD / f"{tool}.log", "w")
    subprocess.run([BUILD / "tools/bin/python", HERE / "transform.py", tool, cases, changed], input=lines, text=True, stdout=log,
                   stderr=log, cwd=changed)  # fmt: skip
    if not (changed / "version").exists():
        raise RuntimeError(f"{tool} does not start: {(BUILD / f'{tool}.log').read_text()[-500:]}")
    for f in cases.glob("*.in"):
        for suffix in (".in", ".bin"):
            (changed / (f.stem + suffix)).symlink_to(cases / (f.stem + suffix))
    todo, failed = [], []
    for line in lines.splitlines():
        case, model = line.split()
        made = changed / (model if tool != "ort_format" else model.removesuffix(".onnx") + ".ort")
        error = changed / f"{model}.error"
        if made.exists() and not error.exists():
            todo.append(f"{case} {made.name}\n")
        else:
            failed.append((case, error.read_text() if error.exists() else "the tool died"))
    (changed / "cases.txt").write_text("".join(todo))
    run(tool, RUNTIMES["ort"], changed)
    for case, why in failed:
        (results / f"{case}.out").write_text(f"load {why}\n")
    return (changed / "version").read_text()


def compare(got, want, bounds):
    """None if equal within bounds, else how they differ"""
    if list(got) != list(want):
        return f"outputs {list(got)} instead of {list(want)}"
    for name, w in want.items():
        g = got[name]
        if g.dtype != w.dtype or g.shape != w.shape:
            return f"{name} is {g.dtype}{list(g.shape)} instead of {w.dtype}{list(w.shape)}"
        if w.dtype.kind != "f":
            if not np.array_equal(g, w):
                at = tuple(map(int, np.argwhere(g != w)[0]))
                return f"{name}{list(at)} is {g[at]} instead of {w[at]}"
            continue
        finite = np.isfinite(w)
        if not np.array_equal(np.isfinite(g), finite) or not np.array_equal(g[~finite], w[~finite], equal_nan=True):
            return f"{name}: NaN or infinite in other places"
        if not finite.any():
            continue
        error = np.max(np.abs(g[finite].astype("float64") - w[finite])) / (np.max(np.abs(w[finite].astype("float64"))) or 1)
        if error > bounds[w.dtype.name]:
            return f"{name} is off by {error:.1e} of its largest number"
    return None


def judge(runtime, made):
    """{(model, level): None or ("not loaded" or "differs" or "fails", why)}: the first thing that is wrong"""
    from cases import read_tensors

    results, verdicts = BUILD / "results" / runtime, {}
    for case, name, level, want in made:
        if verdicts.setdefault((name, level), None):
            continue
        if case is None:
            verdicts[name, level] = ("refused", first_words(want, 300))
            continue
        out = results / case
        kind, _, why = Path(f"{out}.out").read_text().partition(" ")
        if kind == "load":
            verdict = ("not loaded", why.strip())
        elif isinstance(want, Exception):
            verdict = None if kind == "run" and why.strip() not in ("died", "took too long") else (
                "differs", f"computes where PyTensor raises an error ({first_words(want)})")  # fmt: skip
        elif kind == "run":
            verdict = ("fails", why.strip())
        else:
            differs = compare(read_tensors(out, ".out"), want, LOOSE.get(runtime) or LOOSE.get(level, BOUNDS))
            verdict = differs and ("differs", differs)
        verdicts[name, level] = verdict
    return verdicts


def first_words(e, n=60):
    return " ".join(str(e).split())[:n]


def results_of(names, runtimes, portable=()):
    """{runtime: (version, {(model, level): verdict})}; a runtime that does not start has the error in place of both"""
    made = make_cases(names, portable)

    def one(runtime):
        try:
            if runtime in TOOLS:
                return run_tool(runtime, BUILD / "cases"), judge(runtime, made)
            return run(runtime, RUNTIMES[runtime], BUILD / "cases"), judge(runtime, made)
        except RuntimeError as e:
            return e

    with ThreadPool(2) as pool:
        return dict(zip(runtimes, pool.map(one, runtimes, 1)))


# --- doc/runtimes.md ---

MARKS = {None: "=", "differs": "≠", "fails": "!", "not loaded": "–", "refused": "·"}


def cell(verdicts, name):
    marks = [MARKS[(verdicts[name, level] or [None])[0]] for level in LEVELS if (name, level) in verdicts]
    return marks[0] if len(set(marks)) == 1 else "".join(marks)


def reason(why):
    """the message without what names a node of one model"""
    why = re.sub(r"^\w+ is off by \S+e-(0[6-9]|1\d) .*", "off by less than 1e-5 of an output's largest number", why)
    for kind in ("Unimplemented\\((\\w+)\\)", "Converter is not implemented .*operation_type='(\\w+)'"):
        if operator := re.search(kind, why):
            return f"{operator[1]} is not implemented"
    while (shorter := re.sub(r"^[\w.]*(Error|Exception|NotImplemented|Fail|InvalidArgument|InvalidGraph): ", "", why)) != why:
        why = shorter
    for name in (r"\[ONNXRuntimeError\] : \d+ : [A-Z_]+ : ", r"Can't create a session. ERROR_CODE: \d+, ERROR_MESSAGE: ",
                 r"Load model from \S+ failed: ?", r" with name '[^']*'", r"/[^ ]*/", r" #\d+ \"[^\"]*\"", r" Name:'[^']*'", r" of node \([^)]*\)",
                 r"^Node \([^)]*\) ", r"(?<=output arg) \([^)]*\)", r"(?<=input parameter) \([^)]*\)", r"(?<=same node name) \([^)]*\)",
                 r"(?<=Node input) '[^']*'", r"Failed analyse for node (?=\w+:)", r"Infering facts: (Applying rule )?"):  # fmt: skip
        why = re.sub(name, "", why)
    return why.replace("|", "/")[:150]


def refusal(why):
    """what ptgc says, without the graph and the place"""
    why = re.sub(r"^not convertible to ONNX: ", "", why).partition(" as .ptg:")[0]
    return re.sub(r"^.*error: ", "", why)[-150:].replace("|", "/")


def page(results):
    """The page. Of a runtime that has no results the column, the release and the reasons are those of the page as committed."""
    text, old, old_cells = (HERE / "page.md").read_text(), PAGE.read_text(), page_cells()
    kept = {r: m[0] for r in [*RUNTIMES, *TOOLS] if r not in results and (m := re.search(f"^- {r}: .*\n", old, re.M))}
    columns = [r for r in [*RUNTIMES, *TOOLS] if r in results or r in kept]
    versions = "".join(kept.get(r) or f"- {r}: {results[r][0]}\n" for r in columns)
    names = list(dict.fromkeys(name for name, _ in next(iter(results.values()))[1]))
    total = f"**equal, of {len(names) * len(LEVELS)}**"
    cells = {(name, r): cell(v, name) for r, (_, v) in results.items() for name in names}
    cells |= {(total, r): str(list(v.values()).count(None)) for r, (_, v) in results.items()}
    if lost := [n for n in (*names, total) for r in kept if (n, r) not in old_cells][:1]:
        raise SystemExit(f"the page has no row {lost[0]}: run all runtimes")
    table = f"| model | {' | '.join(columns)} |\n|---{'|:-:' * len(columns)}|\n"
    for name in (*names, total):
        table += f"| {name} | {' | '.join(cells.get((name, r)) or old_cells[name, r] for r in columns)} |\n"
    reasons = "### refused by ptgc for the target portable\n"
    for (name, _), verdict in next(iter(results.values()))[1].items():
        if verdict and verdict[0] == "refused":
            reasons += f"- {name}: {refusal(verdict[1])}\n"
    for runtime in columns:
        if runtime in kept:
            reasons += "\n" + re.search(rf"^### {runtime}\n(?:.+\n)*", old, re.M)[0]
            continue
        why, verdicts = {}, results[runtime][1]
        for (name, _), verdict in verdicts.items():
            if verdict and verdict[0] != "refused":
                why.setdefault(f"{verdict[0]}: {reason(verdict[1])}", {})[name] = True
        reasons += f"\n### {runtime}\n" + ("".join(f"- {w} ({', '.join(n)})\n" for w, n in why.items()) or "All equal.\n")
    return text.replace("@VERSIONS@\n", versions).replace("@TABLE@\n", table).replace("@REASONS@\n", reasons.strip() + "\n")


def page_cells():
    """{(model, runtime): cell} of the page as committed"""
    table = PAGE.read_text().partition("| model |")
    rows = [[c.strip() for c in line.split("|")[1:-1]] for line in "".join(table[1:]).splitlines() if line.startswith("|")]
    return {(row[0], runtime): c for row in rows[2:] for runtime, c in zip(rows[0][1:], row[1:])}


def check():
    """Compares with the page. A result better than there is fine."""
    cells, passed, failed = page_cells(), 0, 0
    for runtime, result in results_of(QUICK, QUICK_RUNTIMES, QUICK_PORTABLE).items():
        if isinstance(result, RuntimeError):
            print(f"failed: {result}")
            failed += 1
            continue
        version, verdicts = result
        for name in dict.fromkeys(QUICK + QUICK_PORTABLE):
            now, was = cell(verdicts, name), cells.get((name, runtime), "")
            was = was if name in QUICK else was[-1:]
            if now in (was, "="):
                passed += 1
                continue
            failed += 1
            print(f"failed: {version}, {name}: {now}, doc/runtimes.md has {was}; make check-runtimes writes that page")
            for level in (level for level in LEVELS if (name, level) in verdicts):
                print(f"   {level}: {': '.join(verdicts[name, level] or ['equal'])}")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


def main(words):
    if words == ["check"]:
        return check()
    whole, words = words[:1] == ["page"], [w for w in words if w != "page"]
    known = [*RUNTIMES, *TOOLS]
    runtimes = [w for w in words if w in known] or known
    results = results_of([] if whole else [w for w in words if w not in known], runtimes)
    for runtime, result in results.items():
        if isinstance(result, RuntimeError):
            print(f"failed: {result}")
            continue
        version, verdicts = result
        for (name, level), verdict in verdicts.items():
            if verdict and not whole:
                print(f"{runtime}: {name} at {level}: {': '.join(verdict)}")
        print(f"{version}: {sum(v is None for v in verdicts.values())} of {len(verdicts)} equal")
    if any(isinstance(r, RuntimeError) for r in results.values()):
        return 1
    if whole:
        PAGE.write_text(page(results))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
