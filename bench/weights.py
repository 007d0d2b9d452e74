"""Compiling a model with large weights beside `cp` of the same bytes

`weights.py [megabytes]`: by default 1000. It prints both times, their ratio, and the memory that ptgc held beyond the
mapping of the weights. Both programs read a file that is in the page cache and write a new one on the same file
system. They take turns, and take turns in being first. Neither waits for the disk, and what was written is on the
disk before the next one starts.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median

import numpy as np
from measure import measure

PTGC = Path(__file__).parents[1] / "build" / "ptgc"
ROUNDS = 5


def write_weights(path, megabytes):
    rows, columns = 1000, megabytes * 1_000_000 // 8 // 1000
    values = np.random.default_rng(0).random((rows, columns))
    if path.suffix == ".npy":
        np.save(path, values)
        return '"w.npy"'
    head = f'{{"w":{{"dtype":"F64","shape":[{rows},{columns}],"data_offsets":[0,{values.nbytes}]}}}}'.encode()
    with path.open("wb") as f:
        f.write(len(head).to_bytes(8, "little") + head)
        values.tofile(f)
    return '"w.safetensors", "w"'


def one(path, command):
    path.unlink(missing_ok=True)
    os.sync()
    return measure(*command)


def compare(folder, name, megabytes):
    weights, model, copy, text = (Path(folder, n) for n in (name, "m.onnx", "w.copy", "m.ptg"))
    source = write_weights(weights, megabytes)
    text.write_text(f"ptg 1\ngraph g(x: float64[n, 1000]) -> (y) {{\n  y = x @ file({source})\n}}\n")
    ours, cp = (model, [PTGC, text, "-o", model]), (copy, [shutil.which("cp"), weights, copy])
    runs = {id(ours): [], id(cp): []}
    for pair in (ours, cp):
        one(*pair)  # the weights are in the page cache from here on
    for i in range(ROUNDS):
        for pair in (ours, cp) if i % 2 else (cp, ours):
            runs[id(pair)].append(one(*pair))
    (a, a_cpu, peak), (b, b_cpu, _) = ([median(x) for x in zip(*runs[id(p)])] for p in (ours, cp))
    size = weights.stat().st_size
    print(f"{name}, {size / 1e6:.0f} MB: ptgc {a:.2f}s, cp {b:.2f}s, ratio {a / b:.2f}")
    print(f"  processor {a_cpu:.2f}s, {b_cpu:.2f}s; peak resident {peak / 1e6:.0f} MB with what is mapped", flush=True)
    for path in (weights, model, copy):
        path.unlink()


def main(megabytes):
    with tempfile.TemporaryDirectory() as folder:
        for name in ("w.npy", "w.safetensors"):
            compare(folder, name, megabytes)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
