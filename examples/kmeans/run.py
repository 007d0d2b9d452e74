"""Runs kmeans.onnx on ONNX Runtime over Fisher's irises and compares with NumPy.

Usage: run.py [kmeans.onnx]. Needs numpy and onnxruntime.
"""
import sys
from pathlib import Path

import numpy as np
import onnxruntime as ort

here = Path(__file__).parent


def nearest(rows, c):
    return ((rows[:, None] - c) ** 2).sum(2).argmin(1)


def reference(rows, c):
    old, steps = np.full(len(rows), -1), 0
    for steps in range(1, 101):
        group = nearest(rows, c)
        c = np.array([rows[group == j].mean(0) if (group == j).any() else c[j] for j in range(len(c))])
        if (group == old).all():
            break
        old = group
    group = nearest(rows, c)
    return group, c, np.bincount(group, minlength=len(c)), ((rows - c[group]) ** 2).sum(), steps


def main(path):
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    data = np.load(here / "iris.npz")
    rows, species = data["rows"].astype(np.float64), data["species"]
    for k in (1, 3, 7):
        first = rows[np.random.default_rng(k).permutation(len(rows))[:k]]
        got = session.run(None, {"rows": rows, "first": first})
        for a, b in zip(got, reference(rows, first)):
            np.testing.assert_allclose(a, b, rtol=1e-12)
        group, centres, sizes, spread, steps = got
        print(f"{k} groups of {' '.join(map(str, sizes))} after {steps} steps, spread {spread:.2f}")
        if k == 3:
            for j, c in enumerate(centres):
                names = " ".join(f"{n} {(species[group == j] == i).sum()}" for i, n in enumerate(data["names"]))
                print(f"  centre {np.round(c, 2)}: {names}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else here / "kmeans.onnx"))
