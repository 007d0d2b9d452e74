#!/usr/bin/env python3
"""Probes releases of ONNX Runtime, and writes what they have into the compiler's tables.

usage: python tools/probe_release.py 1.33 [1.34 ...]   probes the latest patch of each; some minutes each
       python tools/probe_release.py --newer            says which releases the registry has that were not probed

Each release gets an environment of its own in build/releases. There tools/make_kernels.py finds its kernels, which go to
src/target/kernels_ort.def and releases.def, and tools/probe_faults.py what they compute for NaN, infinities, -0, ties, empty arrays
and the ends of dtypes. Where that is not what the newest probed release computes, the difference is printed: it belongs into
src/ort/wrong_kernels.def, with the releases that have it, and into doc/runtimes.md. PYTHON (default: this one) makes the
environments: old releases need an old one.
"""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "src/target"
FOUND = ROOT / "build/releases"
HEAD = """/*
 * The releases of ONNX Runtime that kernels_ort.def was probed with, the latest patch of each: made by
 * tools/probe_release.py, do not edit. RELEASE(n, version, newest opset, newest version of ai.onnx.ml,
 * newest IR version): n is the minor number, 29 of 1.29, which stands for a release everywhere.
 */
#ifndef RELEASE
#error "define RELEASE before including releases.def"
#endif
/* clang-format off */
"""
TAIL = "/* clang-format on */\n#undef RELEASE\n"


def known():
    """{minor number: row} of releases.def"""
    rows = re.findall(r"^RELEASE\((\d+), .*\)$", (TARGET / "releases.def").read_text(), re.M)
    lines = re.findall(r"^RELEASE\(.*\)$", (TARGET / "releases.def").read_text(), re.M)
    return dict(zip(map(int, rows), lines))


def environment(release):
    """the Python of an environment that has the release"""
    folder = FOUND / release
    python = folder / "bin/python"
    if not python.exists():
        old = int(release.split(".")[1]) < 19  # built for NumPy 1
        subprocess.run([os.environ.get("PYTHON", sys.executable), "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", f"onnxruntime=={release}.*", "numpy<2" if old else "numpy", "onnx",
                        "ml_dtypes"], check=True)
    return python


def probe(release, tool, *args):
    """the JSON that a tool prints in the environment of the release; kept for the next call"""
    kept = FOUND / f"{release}-{tool}.json"
    if not kept.exists():
        text = subprocess.run([environment(release), ROOT / "tools" / tool, *args], check=True, stdout=subprocess.PIPE).stdout
        kept.write_bytes(text)
    return json.loads(kept.read_text())


def write_tables(found):
    from make_kernels import merge
    (TARGET / "kernels_ort.def").write_text(merge(TARGET / "kernels_ort.def", found) + "\n")
    rows = known()
    for f in found:
        n = int(f["version"].split(".")[1])
        rows[n] = f'RELEASE({n}, "{f["version"]}", {f["opset"]}, {f["ml"]}, {f["ir"]})'
    (TARGET / "releases.def").write_text(HEAD + "".join(rows[n] + "\n" for n in sorted(rows)) + TAIL)


def report(release, before):
    """prints which faults come and go from one release to another"""
    now, then = (probe(r, "probe_faults.py", "--json") for r in (release, before))
    for name in sorted(set(now) | set(then)):
        a, b = now.get(name), then.get(name)
        if a and not b:
            print(f"{release}: {name}: {a[0]} cases are wrong that {before} has right, as {a[1]}: {a[2]}")
        elif b and not a:
            print(f"{release}: {name}: right; in {before} {b[0]} cases were wrong, as {b[1]}: {b[2]}")
        elif a[0] != b[0]:
            print(f"{release}: {name}: {a[0]} wrong cases, in {before} {b[0]}, as {a[1]}: {a[2]}")


def main(releases):
    if releases == ["--newer"]:
        versions = subprocess.run([sys.executable, "-m", "pip", "index", "versions", "onnxruntime"], check=True, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        have = sorted({int(v) for v in re.findall(r"\b1\.(\d+)\.\d+", versions)})
        newer = [f"1.{n}" for n in have if n > max(known())]
        print(f"onnxruntime {', '.join(newer)}: not probed yet; run tools/probe_release.py {' '.join(newer)}" if newer else
              f"onnxruntime 1.{max(known())} is the newest release, and it was probed")
        return
    FOUND.mkdir(parents=True, exist_ok=True)
    before = f"1.{max(known())}"
    write_tables([probe(r, "make_kernels.py", "--probe") for r in releases])
    for r in releases:
        report(r, before)


if __name__ == "__main__":
    if not sys.argv[1:] or sys.argv[1].startswith("-") and sys.argv[1:] != ["--newer"]:
        sys.exit(__doc__)
    main(sys.argv[1:])
