"""Runs digits.onnx on ONNX Runtime over the test images and draws the first few.

Usage: run.py [digits.onnx]. Needs numpy and onnxruntime.
"""
import sys
from pathlib import Path

import numpy as np
import onnxruntime as ort

here = Path(__file__).parent
INK = " .:-=+*#%@"


def draw(image):
    return ["".join(INK[min(9, int(v * 10))] * 2 for v in row) for row in image.reshape(8, 8)]


def main(path):
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    x = np.load(here / "test-images.npy")
    y = np.load(here / "test-labels.npy")
    probs, label = session.run(["probs", "label"], {"x": x})
    for rows in zip(*(draw(image) for image in x[:4])):
        print("   ".join(rows).rstrip())
    print("   ".join(f"{k} ({p[k]:.0%})".ljust(16) for k, p in zip(label[:4], probs)).rstrip())
    right = int((label == y).sum())
    print(f"{right} of {len(y)} test images right")
    return right < 0.95 * len(y)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else here / "digits.onnx"))
