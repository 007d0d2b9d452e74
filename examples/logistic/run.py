"""Fits logistic.onnx to the breast cancer data on ONNX Runtime and compares with NumPy.

Usage: run.py [logistic.onnx]. Needs numpy and onnxruntime.
"""
import sys
from pathlib import Path

import numpy as np
import onnxruntime as ort

here = Path(__file__).parent
RIDGE = 1.0


def reference(x, y):
    b = np.zeros(x.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-x @ b))
        hessian = x.T @ ((p * (1 - p))[:, None] * x) + RIDGE * np.eye(len(b))
        step = np.linalg.solve(hessian, x.T @ (y - p) - RIDGE * b)
        b += step
        if np.abs(step).max() <= 1e-10:
            break
    p = 1 / (1 + np.exp(-x @ b))
    hessian = x.T @ ((p * (1 - p))[:, None] * x) + RIDGE * np.eye(len(b))
    return b, np.sqrt(np.diag(np.linalg.inv(hessian))), np.log(np.where(y > 0, p, 1 - p)).sum()


def main(path):
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    data = np.load(here / "cancer.npz")
    x = np.column_stack([np.ones(len(data["x"])), data["x"]]).astype(np.float64)
    y = data["malignant"].astype(np.float64)
    beta, error, loglik, steps = session.run(None, {"X": x, "y": y, "ridge": np.array(RIDGE)})
    b, e, l = reference(x, y)
    np.testing.assert_allclose(beta, b, rtol=1e-8)
    np.testing.assert_allclose(error, e, rtol=1e-8)
    np.testing.assert_allclose(loglik, l, rtol=1e-10)
    right = ((x @ beta > 0) == data["malignant"]).mean()
    print(f"{len(y)} cases, {steps} Newton steps, log likelihood {loglik:.2f}, {right:.1%} right")
    for name, v, s in zip(["(intercept)", *data["names"]], beta, error):
        print(f"{name:>18} {v:7.3f} +- {s:.3f}")
    return bool(right < 0.93)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else here / "logistic.onnx"))
