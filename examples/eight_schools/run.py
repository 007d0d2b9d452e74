"""Runs eight_schools.onnx on ONNX Runtime and compares it with NumPy.

Usage: run.py [eight_schools.onnx]. Draws from the posterior with Hamiltonian Monte Carlo, all of whose
gradients come from the model. Needs numpy and onnxruntime.
"""
import sys
from pathlib import Path

import numpy as np
import onnxruntime as ort

here = Path(__file__).parent
EFFECT = np.array([28.0, 8, -3, 7, -1, 1, 18, 12])
SIGMA = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])


def normal(x, mu, sigma):
    return -0.5 * ((x - mu) / sigma) ** 2 - np.log(sigma) - 0.5 * np.log(2 * np.pi)


def reference(q):
    mu, tau_log, z = q[0], q[1], q[2:]
    tau = np.exp(tau_log)
    prior = np.log(2 / (np.pi * 5)) - np.log1p((tau / 5) ** 2) + tau_log
    likelihood = normal(EFFECT, mu + tau * z, SIGMA).sum()
    return normal(mu, 0, 5) + prior + normal(z, 0, 1).sum() + likelihood


def slopes(f, q, h=1e-5):
    return np.array([(f(q + h * e) - f(q - h * e)) / (2 * h) for e in np.eye(len(q))])


def hmc(model, q, rng, draws=1000, steps=15, size=0.2):
    kept = []
    logp, grad, theta = model(q)
    for i in range(draws + 200):
        p0 = rng.normal(size=len(q))
        new, new_grad, p = q, grad, p0 + size / 2 * grad
        for _ in range(steps):
            new = new + size * p
            new_logp, new_grad, new_theta = model(new)
            p = p + size * new_grad
        p = p - size / 2 * new_grad
        if np.log(rng.uniform()) < new_logp - logp - (p @ p - p0 @ p0) / 2:
            q, logp, grad, theta = new, new_logp, new_grad, new_theta
        if i >= 200:
            kept.append(np.concatenate([[q[0], np.exp(q[1])], theta]))
    return np.array(kept)


def main(path):
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])

    def model(q):
        inputs = {"mu": np.array(q[0]), "tau_log__": np.array(q[1]), "z": q[2:]}
        logp, d_mu, d_tau, d_z, theta = session.run(None, inputs)
        return logp, np.concatenate([[d_mu, d_tau], d_z]), theta

    rng = np.random.default_rng(0)
    for q in rng.normal(size=(20, 10)):
        logp, grad, _ = model(q)
        np.testing.assert_allclose(logp, reference(q), rtol=1e-13)
        np.testing.assert_allclose(grad, slopes(reference, q), rtol=1e-6, atol=1e-7)
    print("log density and gradient at 20 points: NumPy's, to 13 and 6 digits")
    draws = hmc(model, np.zeros(10), rng)
    print(f"mean of {len(draws)} draws: mu {draws[:, 0].mean():.1f}, tau {draws[:, 1].mean():.1f}")
    print("school  effect  posterior mean")
    for name, y, m in zip("ABCDEFGH", EFFECT, draws[:, 2:].mean(0)):
        print(f"{name:>6} {y:7.0f} {m:15.1f}")
    return not (2 < draws[:, 0].mean() < 7)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else here / "eight_schools.onnx"))
