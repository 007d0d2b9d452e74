"""Runs edges.onnx on ONNX Runtime over a picture of a temple, draws it and compares with NumPy.

Usage: run.py [edges.onnx]. Needs numpy and onnxruntime.
"""
import sys
from pathlib import Path

import numpy as np
import onnxruntime as ort

here = Path(__file__).parent
INK = " .:-=+*#%@"


def convolve(x, w):
    p = np.pad(x, 1)
    h, v = x.shape
    return sum(w[i, j] * p[i : i + h, j : j + v] for i in range(3) for j in range(3))


def reference(picture):
    smooth = np.array([[1, 2, 1], [2, 4, 2], [1, 2, 1]]) / 16
    across = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])
    s = convolve(picture.astype(np.float64), smooth)
    strength = np.hypot(convolve(s, across), convolve(s, across.T))
    out = np.zeros_like(strength)
    inner = strength[2:-2, 2:-2]
    out[2:-2, 2:-2] = inner * (255 / inner.max())
    out[0] = out[-1] = 255
    return out, np.bincount(picture.ravel() // 32, minlength=8)


def main(path):
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    picture = np.load(here / "temple.npy")
    for part in (picture, picture[:40, 10:47].copy()):
        edges, histogram = session.run(None, {"picture": part})
        want, counts = reference(part)
        assert np.abs(edges - want).max() <= 1.001, "edges differ from NumPy's"
        assert (histogram == counts).all(), "the histogram differs from NumPy's"
    edges, histogram = session.run(None, {"picture": picture})
    small = edges.reshape(28, 2, 96).max(1) / 256.0
    for row in small:
        print("".join(INK[int(min(0.99, v * 1.5) * 10)] for v in row))
    print("pixels by brightness:", *histogram)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else here / "edges.onnx"))
