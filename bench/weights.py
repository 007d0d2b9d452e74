"""Compiling a model with large weights beside `cp` of the same bytes.

Usage: weights.py [megabytes]   (default 1000). Prints both times, their ratio and the memory that
ptgc held beyond the mapping of the weights.
"""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

PTGC = Path(__file__).parents[1] / "build" / "ptgc"
ROUNDS = 3


def timed(*command):
    start = time.perf_counter()
    subprocess.run([str(c) for c in command], check=True)
    return time.perf_counter() - start


def main(megabytes):
    with tempfile.TemporaryDirectory() as d:
        weights, model, copy, text = (Path(d, n) for n in ("w.npy", "m.onnx", "w.copy", "m.ptg"))
        columns = megabytes * 1_000_000 // 8 // 1000
        np.save(weights, np.random.default_rng(0).random((1000, columns)))
        text.write_text(f'ptg 1\ngraph g(x: float64[n, 1000]) -> (y) {{\n  y = x @ file("w.npy")\n}}\n')
        ours, cp = [], []
        for _ in range(ROUNDS):
            for path, times, command in ((model, ours, (PTGC, text, "-o", model)), (copy, cp, ("cp", weights, copy))):
                path.unlink(missing_ok=True)
                times.append(timed(*command))
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        size = weights.stat().st_size
        print(f"{size / 1e6:.0f} MB: ptgc {min(ours):.2f}s, cp {min(cp):.2f}s, ratio {min(ours) / min(cp):.2f}")
        print(f"peak resident {peak / 1e6:.0f} MB, of which at most {size / 1e6:.0f} MB are the mapping")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
