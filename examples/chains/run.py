"""Draws from PyMC's eight schools by Hamiltonian Monte Carlo: 64 chains, one call of the model a leapfrog step.

Usage: run.py [chains.onnx]. Beside them a few chains one after the other, by the same model with one row. R-hat and
effective draws are those of Stan (split chains, Geyer's monotone sequence), the worst of the ten parameters. Needs
numpy and onnxruntime. chains.c is the same in C.
"""

import sys
import time
from pathlib import Path

import numpy as np
import onnxruntime as ort

here = Path(__file__).parent
CHAINS, ALONE, WARMUP, DRAWS, STEPS = 64, 4, 200, 300, 10
SIZE = 10  # of the parameters


def sample(model, chains, rng):
    """The draws [chains, DRAWS, SIZE], and the seconds that they took without the warmup."""
    q = rng.uniform(-1, 1, size=(chains, SIZE))
    logp, grad = model(q)
    size, kept = 0.1, np.empty((DRAWS, chains, SIZE))
    for i in range(WARMUP + DRAWS):
        if i == WARMUP:
            start = time.perf_counter()
        h = size * rng.uniform(0.8, 1.2)
        p0 = rng.normal(size=(chains, SIZE))
        new, p = q, p0 + h / 2 * grad
        for step in range(STEPS):
            new = new + h * p
            new_logp, new_grad = model(new)
            p = p + (h if step + 1 < STEPS else h / 2) * new_grad
        gain = new_logp - logp - 0.5 * ((p * p).sum(axis=1) - (p0 * p0).sum(axis=1))
        accept = np.exp(np.minimum(0, np.nan_to_num(gain, nan=-np.inf)))
        if i < WARMUP:  # towards 4 of 5 proposals accepted, by all chains together
            size *= np.exp((accept.mean() - 0.8) / (i + 1) ** 0.5)
        move = rng.uniform(size=chains) < accept
        q, grad = np.where(move[:, None], new, q), np.where(move[:, None], new_grad, grad)
        logp = np.where(move, new_logp, logp)
        if i >= WARMUP:
            kept[i - WARMUP] = q
    return kept.transpose(1, 0, 2), time.perf_counter() - start


def diagnose(x):
    """R-hat and the number of effective draws of one parameter, [chains, draws]."""
    half = x.shape[1] // 2
    x = np.concatenate([x[:, :half], x[:, half : 2 * half]])
    m, n = x.shape
    within, between = x.var(axis=1, ddof=1).mean(), x.mean(axis=1).var(ddof=1)
    total = (n - 1) / n * within + between
    centred = x - x.mean(axis=1, keepdims=True)
    power = np.abs(np.fft.rfft(centred, 2 * n)) ** 2
    covariance = np.fft.irfft(power, 2 * n)[:, :n].mean(axis=0) / n
    rho = 1 - (within - covariance * n / (n - 1)) / total
    rho[0] = 1
    pairs = rho[: n // 2 * 2].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs < 0)
    pairs = np.minimum.accumulate(pairs[: negative[0]] if len(negative) else pairs)
    return np.sqrt(total / within), m * n / max(2 * pairs.sum() - 1, 1 / np.log10(m * n))


def report(what, draws, seconds):
    chains, n, _ = draws.shape
    found = [diagnose(draws[:, :, k]) for k in range(SIZE)]
    rhat, ess = max(r for r, _ in found), min(e for _, e in found)
    print(f"{what:28} {chains * n:6} draws  R-hat {rhat:.3f}  effective {ess:6.0f}, {ess / seconds:7.0f} a second")
    return rhat, ess / seconds


def main(path):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def model(q):
        return session.run(["logp", "dlogp"], {"q": q})

    rng = np.random.default_rng(0)
    together, seconds = sample(model, CHAINS, rng)
    rhat, rate = report(f"{CHAINS} chains in one call", together, seconds)
    alone = [sample(model, 1, rng) for _ in range(ALONE)]
    draws = np.concatenate([d for d, _ in alone])
    _, rate_alone = report(f"{ALONE} chains, one after another", draws, sum(s for _, s in alone))
    mu, tau = together[:, :, 0].mean(), np.exp(together[:, :, 1]).mean()
    print(f"{rate / rate_alone:.0f} times the effective draws a second; mean of mu {mu:.1f}, of tau {tau:.1f}")
    return not (rhat < 1.05 and 3.5 < mu < 5.5 and 2.5 < tau < 5)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else here / "chains.onnx"))
