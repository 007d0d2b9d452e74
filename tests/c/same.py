"""Every text of tests/op and examples, as C beside ONNX Runtime: the same inputs, the same outputs, or both fail.

    same.py [-v] [--list] [--by WAY] [NAME...]     only files with NAME in their path; --list: what has no C, and why

--by gcc, clang or g++: compiled by it with the flags that the C names, and the bits are those of gcc; address: under the
address sanitizer too; aarch64: compiled for that machine and run by an emulator, too, and the bits are those of this
machine. Else with -O1, under the undefined sanitizer.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnxruntime as ort
from native import (
    ADDRESS, BY, EMULATED, PROMISED, PTGC, TOP, Emulated, Failed, Native, Refused, compiled, environment, to_c,
)

warnings.filterwarnings("ignore")
np.seterr(all="ignore")
QUIET = ort.SessionOptions()
QUIET.log_severity_level = 4
QUIET.intra_op_num_threads = 1
SIZES = (3, 1, 0, 7)
PARTS = r"kind [01]: \w+: element"
PARTED = "after 1,000 steps trajectories have parted that round in other ways; tests/op/Nuts.ptg compares ten steps"
# Where ONNX Runtime and C differ, as a pattern of how, and why that is right. All else in these texts must be the same.
LAPACK = "C divides by an infinity as LAPACK does, and gives PyTensor's numbers where ONNX Runtime gives NaN"
KNOWN = {
    "examples/nuts/eight_schools.ptg": (PARTS, PARTED),
    "examples/nuts/regression.ptg": (PARTS, PARTED),
    "tests/op/Fourier.ptg": ("size 7, kind 3: .*(nan|inf)", "what an infinity makes of a transform depends on the algorithm, and C has no DFT"),
    "tests/op/MatrixInverse.ptg": ("kind 3: .*(nan|inf)", LAPACK),
    "tests/op/Solve.ptg": ("kind 3: .*(nan|inf)", LAPACK),
    "tests/op/SolveDiscreteARE.ptg": (
        "size 7, .* x: ", "the matrices are not symmetric: there is no solution, and its iteration doubles errors"),
    "tests/op/TensorInv.ptg": (
        "size 7, kind .: y: element", "float32: the inverse of 49 x 49 numbers is 1.7e-6 from NumPy's there, 2.0e-6 in C"),
}
CLOSE = {"float16": 2e-3, "float32": 2e-5, "float64": 1e-9}
NUMPY = {"float": "float32", "double": "float64"}


def values(dtype, shape, rng, kind):
    d = np.dtype(dtype)
    if d.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if d.kind in "iu":
        low = 0 if d.kind == "u" or kind == 1 else -2
        return rng.integers(low, 3, shape, endpoint=True).astype(d)
    if kind == 1:
        return rng.uniform(0.05, 0.95, shape).astype(d)
    v = np.asarray(rng.normal(size=shape) * 2, d)
    if kind == 3 and v.size:
        v.flat[:: 3] = rng.choice(np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30, 1.5], d), v.flat[:: 3].shape)
    return v


def arrays_for(session, fields, size, kind):
    rng, sizes, out = np.random.default_rng(size + 10 * kind), {}, {}
    for i, f in zip(session.get_inputs() + session.get_overridable_initializers(), [f for f in fields if f[4]]):
        t = i.type[len("tensor("):-1]
        for d in f[5]:
            for name in re.findall(r"[^\W\d]\w*", d):
                sizes.setdefault(name, size)
        known = sizes | {"max": max, "min": min}
        shape = [n if isinstance(n, int) else size if d == "?" else max(eval(d, dict(known)), 0) for n, d in zip(i.shape, f[5])]
        out[i.name] = values(NUMPY.get(t, t), shape, rng, kind)
    return out


def differ(got, want):
    if got.shape != want.shape:
        return f"shape {got.shape}, ONNX Runtime {want.shape}"
    if got.dtype != want.dtype:
        return f"dtype {got.dtype}, ONNX Runtime {want.dtype}"
    if got.dtype.kind != "f":
        same = got == want
    else:
        r, scale = CLOSE[got.dtype.name], np.max(np.abs(want[np.isfinite(want)]), initial=0)
        a, b = got.astype(float), want.astype(float)
        same = (np.abs(a - b) <= r * np.maximum(np.abs(b), 1e-2 * float(scale))) | (a == b) | (np.isnan(a) & np.isnan(b))
    if same.all():
        return None
    k = np.flatnonzero(~np.asarray(same).ravel())[0]
    return f"element {k}: {got.ravel()[k]!r}, ONNX Runtime {want.ravel()[k]!r} ({(~same).sum()} of {same.size})"


def models(code, folder, by):
    """The model, and one that must give the same bits: that of gcc, if it is of another compiler, or of another machine"""
    if by == "address":
        Native.SLACK = 0  # the sanitizer sees what is written behind
        return Native(code, compiled(code, ADDRESS, folder, by)), None
    if not by:
        return Native(code, compiled(code, folder=folder)), None
    if by in EMULATED:
        model = Native(code, compiled(code, ("-O1", *PROMISED[1:]), folder))
        return model, Emulated(model, code, folder, by)
    made = [Native(code, compiled(code, PROMISED, folder, way)) for way in dict.fromkeys((by, "gcc"))]
    return made[0], made[1] if len(made) > 1 else None


def compare(path, folder, by=None):
    """(what happened, details)"""
    try:
        code = to_c(path, "--math=exact", *(["-fentry"] if by in EMULATED else []))
    except Refused as e:
        return "refused", str(e).split("\n")[0]
    made = subprocess.run([PTGC, "--strip", "--math=exact", "-o", "-", str(path)], capture_output=True)
    if made.returncode:
        return "no ONNX", made.stderr.decode().split("\n")[0]
    try:
        model, twin = models(code, folder, by)
    except AssertionError as e:
        return "no compile", str(e)
    session = ort.InferenceSession(made.stdout, QUIET)
    names = [o.name for o in session.get_outputs()]
    pattern, reason = KNOWN.get(str(Path(path).resolve().relative_to(TOP)), (None, None))
    runs, known = 0, 0
    for size in SIZES:
        for kind in (0, 1, 3) if size > 1 else (0,):
            arrays = arrays_for(session, model.inputs, size, kind)
            try:
                want = dict(zip(names, session.run(None, arrays)))
            except Exception as e:
                want = e
            own = {n: arrays[o] for n, o in zip([f[0] for f in model.inputs if f[4]], arrays)}
            fields = [f[0] for f in model.outputs if f[4]]
            lengths = {f: want[n].shape for f, n in zip(fields, names)} if isinstance(want, dict) else None
            if lengths is None and any(f[2] and not f[3] for f in model.outputs if f[4]):
                lengths = {f[0]: (100000,) for f in model.outputs if f[4]}
            got = outcome(model, own, lengths)
            for why in [*differences(model, got, want, names), *(other_bits(got, outcome(twin, own, lengths)) if twin else ())]:
                why = f"size {size}, kind {kind}: {why}"
                if not pattern or not re.search(pattern, why):
                    return "wrong", why
                known += 1
            runs += 1
    if pattern and not known:
        return "wrong", "a row of KNOWN that nothing needs"
    return ("known", reason) if known else ("same", f"{runs} runs")


def outcome(model, arrays, lengths):
    """Results by name, or how the run failed"""
    try:
        return model(arrays, lengths)
    except Failed as e:
        return e


def other_bits(got, twin):
    """How results are not those of the twin, but for sign and payload of NaN"""
    if not isinstance(got, dict) or not isinstance(twin, dict):
        if str(got) != str(twin):
            yield f"{got}, its twin {twin}"
        return
    for name, a in got.items():
        b = twin[name]
        bits = [np.where(np.isnan(x), np.nan, x).astype(x.dtype) if x.dtype.kind == "f" else x for x in (a, b)]
        if a.shape != b.shape or bits[0].tobytes() != bits[1].tobytes():
            yield f"{name}: other bits than those of its twin: {a.ravel()[:9]}, {b.ravel()[:9]}"


def differences(model, got, want, names):
    """How what C gives is not what ONNX Runtime gave: results by name, or the error that it raised"""
    if isinstance(got, Failed):
        if isinstance(want, dict):
            yield f"fails with {got}"
        return
    if not isinstance(want, dict):
        yield f"ONNX Runtime fails, C does not: {str(want)[:200]}"
        return
    for f, n in zip([f[0] for f in model.outputs if f[4]], names):
        if why := differ(got[f], want[n]):
            yield f"{f}: {why}"


def one(path, folder, by):
    """In a process of its own: what crashes is that one alone."""
    way = ["--by", by] if by else []
    r = subprocess.run([sys.executable, __file__, "--one", str(path), folder, *way], capture_output=True, text=True,
                       env=environment(by))
    if r.returncode:
        return "crash", (r.stderr or str(r.returncode))[-1500:]
    what, _, details = r.stdout.partition("\t")
    return what, details.rstrip("\n")


def main():
    args = argparse.ArgumentParser()
    args.add_argument("names", nargs="*")
    args.add_argument("-v", action="store_true")
    args.add_argument("--list", action="store_true")
    args.add_argument("--by", choices=[*BY, *EMULATED])
    args.add_argument("--one", nargs=2)
    a = args.parse_args()
    if a.one:
        print("\t".join(compare(*a.one, a.by)))
        return 0
    files = sorted(TOP.glob("tests/op/**/*.ptg")) + sorted(TOP.glob("examples/**/*.ptg"))
    files = [f for f in files if not a.names or any(n in str(f) for n in a.names)]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda f: one(f, folder, a.by), files))
    count, bad = Counter(w for w, _ in results), 0
    for f, (what, details) in zip(files, results):
        failed = what in ("wrong", "crash", "no compile")
        bad += failed
        if failed or a.v or (a.list and what == "refused"):
            print(f"{f.relative_to(TOP)}: {what}: {details}")
    print(", ".join(f"{n} {w}" for w, n in count.most_common()))
    print(f"{count['same'] + count['known']} passed, {bad} failed")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
