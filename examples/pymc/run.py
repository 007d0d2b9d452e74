"""Compares the models with what PyTensor computed (see make.py). Usage: run.py MODEL.onnx ...
Needs numpy and onnxruntime alone.
"""

import sys
from pathlib import Path

import numpy as np
import onnxruntime as ort

here = Path(__file__).parent


def error(path):
    """Largest error of log density and gradient, relative to the largest entry of each."""
    saved = np.load(here / f"{Path(path).stem}.npz")
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    feed = {k[3:]: saved[k] for k in saved if k.startswith("in_")}
    results = session.run(["logp", "dlogp"], feed)
    worst = 0.0
    for got, name in zip(results, ("logp", "dlogp")):
        want = saved[name]
        assert got.dtype == want.dtype and got.shape == want.shape, f"{name} is {got.dtype}{got.shape}"
        worst = max(worst, float(np.max(np.abs(got - want)) / np.max(np.abs(want))))
    return worst


def main(paths):
    bad = 0
    for path in paths:
        e = error(path)
        bad += not e <= 1e-9
        print(f"{Path(path).stem:24s} log density and gradient within {e:.1e} of PyTensor's")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
