"""Trains the two-layer classifier of digits.ptg on scikit-learn's handwritten digits.

Writes digits-W1.npy, digits-b1.npy, digits.safetensors (W2, b2) and 200 test images with their
labels. Plain NumPy and a fixed seed: running it again gives the committed files.
Needs: numpy, scikit-learn, safetensors.
"""
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file
from sklearn.datasets import load_digits

HIDDEN, STEPS, BATCH, RATE, MOMENTUM = 32, 4000, 64, 0.05, 0.9
here = Path(__file__).parent


def split():
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    x, y = (x[order] / 16).astype(np.float32), y[order]
    return x[:-200], y[:-200], x[-200:], y[-200:]


def softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def train(x, y):
    rng = np.random.default_rng(1)
    w = [
        rng.normal(0, 0.2, (64, HIDDEN)), np.zeros(HIDDEN),
        rng.normal(0, 0.2, (HIDDEN, 10)), np.zeros(10),
    ]  # fmt: skip
    v = [np.zeros_like(p) for p in w]
    for _ in range(STEPS):
        i = rng.integers(0, len(y), BATCH)
        h = np.tanh(x[i] @ w[0] + w[1])
        d = softmax(h @ w[2] + w[3])
        d[np.arange(BATCH), y[i]] -= 1
        d /= BATCH
        dh = (d @ w[2].T) * (1 - h**2)
        for p, m, g in zip(w, v, (x[i].T @ dh, dh.sum(0), h.T @ d, d.sum(0))):
            m *= MOMENTUM
            m -= RATE * (g + 1e-4 * p)
            p += m
    return [p.astype(np.float32) for p in w]


def main():
    x, y, test_x, test_y = split()
    w1, b1, w2, b2 = train(x, y)
    np.save(here / "digits-W1.npy", w1)
    np.save(here / "digits-b1.npy", b1)
    save_file({"W2": w2, "b2": b2}, here / "digits.safetensors")
    np.save(here / "test-images.npy", test_x)
    np.save(here / "test-labels.npy", test_y.astype(np.int64))
    probs = softmax(np.tanh(test_x @ w1 + b1) @ w2 + b2)
    print(f"accuracy on the {len(test_y)} test images: {(probs.argmax(1) == test_y).mean():.3f}")


if __name__ == "__main__":
    main()
