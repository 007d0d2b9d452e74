#!/usr/bin/env python3
"""All examples and goldens on other releases of ONNX Runtime: what is compiled for a release must load there, and compute what
the default model computes on the one that is installed.

usage: PTGC=build/ptgc python tests/releases.py 1.17 [1.20 ...]

Each release runs in the environment that tools/probe_release.py makes for it. Inputs are random, with NaN, infinities, -0 and
lengths of 3, 1 and 0; a model that refuses them must refuse them everywhere. It is tested, too, that the least release that
ptgc tells of the default model is true: there, and nowhere before, the default model loads. The last line counts the tests.
"""
import os
import re
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "build/releases/models"
LENGTHS = (3, 1, 0)
sys.path.insert(0, str(ROOT / "tools"))


def arrays_for(session, length):
    """random inputs by name; dims of one name have one length, which differs a little from name to name"""
    rng = np.random.default_rng(7)
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1, -1, 0.5])

    def size(d):
        return d if isinstance(d, int) else length + (length > 1) * (zlib.crc32(str(d).encode()) % 3)
    feed = {}
    for i in session.get_inputs():
        name = i.type.removeprefix("tensor(").removesuffix(")")
        dtype = np.dtype({"float": "float32", "double": "float64"}.get(name, name))
        shape = [size(d) for d in i.shape]
        if dtype.kind == "f":
            x = rng.normal(size=shape) * 2
            x = np.where(rng.random(shape) < 0.1, special[rng.integers(len(special), size=shape)], x)
        elif dtype.kind == "b":
            x = rng.random(shape) < 0.5
        else:
            x = rng.integers(0, 3, size=shape)
        feed[i.name] = np.asarray(x, dtype)
    return feed


def run_models(folder, names):
    """in the environment of a release: results of the models, {length: {output: array}} or what is wrong, to folder/name.npz"""
    import onnxruntime as ort
    ort.set_default_logger_severity(4)
    for name in names:
        print(name, flush=True)  # the last one is what the process died of
        out, options = {}, ort.SessionOptions()
        options.intra_op_num_threads = 1
        if int(ort.__version__.split(".")[1]) < 19:
            options.enable_mem_pattern = False
        try:
            session = ort.InferenceSession(f"{folder}/{name}.onnx", options, providers=["CPUExecutionProvider"])
        except Exception as e:
            out["load"] = str(e)[-300:]
        else:
            for length in LENGTHS:
                try:
                    for o, x in zip(session.get_outputs(), session.run(None, arrays_for(session, length))):
                        out[f"{length} {o.name}"] = x
                except Exception as e:
                    out[f"{length} fails"] = str(e)[-300:]
        np.savez(f"{folder}/{name}.npz", **{k: np.asarray(v) for k, v in out.items()})


def results(python, folder, names):
    """{name: {what: array}} of models in the folder; a model that ends the process has {"dies": ...}"""
    left, died = list(names), set()
    while left:
        p = subprocess.run([python, __file__, "--run", folder, *left], stdout=subprocess.PIPE, text=True)
        seen = [line for line in p.stdout.splitlines() if line in left]
        if p.returncode == 0:
            break
        died.add(seen[-1])
        left = left[left.index(seen[-1]) + 1:]
    return {n: {"dies": n} if n in died else dict(np.load(f"{folder}/{n}.npz")) for n in names}


def texts():
    """{name: path} of the texts that are for ONNX Runtime"""
    found = sorted([*ROOT.glob("examples/*/*.ptg"), *ROOT.glob("tests/op/*.ptg")])
    return {f"{p.parent.name}-{p.stem}": p for p in found if "--target" not in options_of(p)}


def options_of(path):
    """the options in a comment of the text, as tests/run.sh reads them"""
    found = re.search(r"^# ptgc: (.*)$", path.read_text(), re.M)
    return found[1] if found else ""


def compile_all(folder, *options):
    """{name: None, or what ptgc says} of all texts, as folder/name.onnx"""
    folder.mkdir(parents=True, exist_ok=True)
    said = {}
    for name, path in texts().items():
        p = subprocess.run([os.environ["PTGC"], *options_of(path).split(), *options, path, "-o", folder / f"{name}.onnx"], stderr=subprocess.PIPE, text=True)
        said[name] = p.stderr or f"exit status {p.returncode}" if p.returncode else None
    return said


def has_kernels(path):
    """Are all operators ONNX's own? Those of other domains no release has."""
    import onnx
    return {o.domain for o in onnx.load(path, load_external_data=False).opset_import} <= {"", "ai.onnx.ml"}


def least_release(path):
    import onnx
    meta = {p.key: p.value for p in onnx.load(path, load_external_data=False).metadata_props}
    return int(meta["least_runtime"].split(".")[1]) if "least_runtime" in meta else 0


def differs(name, got, want):
    """what is wrong, or None"""
    if name.startswith("nuts-"):  # chains that differ in one last digit go ways of their own
        got, want = ({k: v for k, v in r.items() if k in ("dies", "load")} for r in (got, want))
    if "dies" in got:
        return "the process dies"
    if "load" in got:
        return f"does not load: {got['load']}"
    for key in want.keys() | got.keys():
        length, what = key.split(" ", 1)
        if what == "fails" or f"{length} fails" in want or f"{length} fails" in got:
            if (f"{length} fails" in want) != (f"{length} fails" in got):
                return f"at length {length}: {got.get(f'{length} fails', 'computes')}, not {want.get(f'{length} fails', 'computes')}"
            continue
        g, w = got[key], want[key]
        if g.shape != w.shape or g.dtype != w.dtype:
            return f"{key}: {g.dtype}{list(g.shape)}, not {w.dtype}{list(w.shape)}"
        eps = {"float16": 4e-3, "float32": 1e-4, "float64": 1e-8}.get(g.dtype.name)
        same = np.array_equal(g, w) if eps is None else np.allclose(
            g.astype(float), w.astype(float), rtol=eps, atol=eps * float(np.max(np.abs(w[np.isfinite(w)]), initial=0)), equal_nan=True)
        if not same:
            return f"{key}: {g.reshape(-1)[:8]}, not {w.reshape(-1)[:8]}"
    return None


def main(releases):
    from probe_release import environment

    def python_of(release):  # tools/setup.sh has made one for the oldest, in a Python that has wheels for it
        old = ROOT / "build/runtimes/old/bin/python"
        return old if release == "1.17" and old.exists() else environment(release)
    passed, failed = 0, []
    names = [n for n, e in compile_all(WORK / "default").items() if not e and has_kernels(WORK / f"default/{n}.onnx")]
    want = results(sys.executable, WORK / "default", names)
    least = {n: least_release(WORK / f"default/{n}.onnx") for n in names}
    for release in releases:
        minor, python = int(release.split(".")[1]), python_of(release)
        loads = results(python, WORK / "default", names)
        said = compile_all(WORK / release, f"--target=ort-cpu:{release}")
        made = [n for n in names if not said[n]]
        got = results(python, WORK / release, made)
        print(f"{release}: {len(names)} default models, {sum('load' not in r for r in loads.values())} load there, "
              f"{sum(least[n] <= minor for n in names)} say so; {len(made)} compiled for it")
        for n in names:
            wrong = [f"for {release}, {differs(n, got[n], want[n])}"] if n in got and differs(n, got[n], want[n]) else []
            if 0 < least[n] <= minor and differs(n, loads[n], want[n]):
                wrong.append(f"the default model names 1.{least[n]}, but on {release}: {differs(n, loads[n], want[n])}")
            passed += not wrong
            failed += [f"{n}: {w}" for w in wrong]
        for n in sorted(set(names) - set(made)):
            print(f"  {release}: {n} is refused: {said[n].splitlines()[0][-160:]}")
    print(*failed, sep="\n")
    print(f"{passed} passed, {len(failed)} failed")
    return bool(failed)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        run_models(sys.argv[2], sys.argv[3:])
    elif sys.argv[1:]:
        sys.exit(main(sys.argv[1:]))
    else:
        sys.exit(__doc__)
