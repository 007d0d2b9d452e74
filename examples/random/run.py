"""Runs the three models on ONNX Runtime and compares with NumPy, which draws the same numbers.

Usage: run.py. Needs numpy and onnxruntime. The data of the bootstrap are the law schools of Efron and Tibshirani.
"""

import sys
from pathlib import Path

import numpy as np
import onnxruntime as ort

here = Path(__file__).parent
LAW = """576 3.39 635 3.30 558 2.81 578 3.03 666 3.44 580 3.07 555 3.00 661 3.43 651 3.36 605 3.13 653 3.12 575 2.74
545 2.76 572 2.88 594 2.96"""


def words(g):
    """A generator as models take it: see doc/random.md"""
    s = g.bit_generator.state
    low, at, step = 2**64 - 1, s["state"]["state"], s["state"]["inc"]
    return np.array([at >> 64, at & low, step >> 64, step & low, s["has_uint32"], s["uinteger"]], np.uint64)


def runner(name):
    options = ort.SessionOptions()
    options.log_severity_level = 3  # it says that a state may be replaced
    session = ort.InferenceSession(here / f"{name}.onnx", options, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]

    def run(**feeds):
        return dict(zip(names, session.run(None, {k: np.asarray(v) for k, v in feeds.items()}), strict=True))

    return run


def option():
    run, g, paths = runner("option"), np.random.default_rng(2026), 20_000
    spot, strike, rate, volatility, years = 100.0, 105.0, 0.03, 0.2, 1.0
    feeds = dict(paths=paths, spot=spot, strike=strike, rate=rate, volatility=volatility, years=years)
    r = words(g)
    for i in range(3):
        out = run(r=r, **feeds)
        z = g.normal(size=(paths, 12))
        steps = (rate - 0.5 * volatility**2) * years / 12 + volatility * np.sqrt(years / 12) * z
        pay = np.exp(-rate * years) * np.maximum((spot * np.exp(steps.cumsum(1))).mean(1) - strike, 0)
        np.testing.assert_allclose(out["price"], pay.mean(), rtol=1e-12)
        np.testing.assert_allclose(out["error"], pay.std() / np.sqrt(paths), rtol=1e-12)
        r = out["r2"]
        np.testing.assert_array_equal(r, words(g))
        print(f"Asian call, {paths} paths, run {i + 1}: {out['price']:.4f} +- {out['error']:.4f}")


def particles():
    run, n, steps = runner("particles"), 1000, 50
    g = np.random.default_rng(1993)

    def moved(x, t):
        return 0.5 * x + 25 * x / (1 + x * x) + 8 * np.cos(1.2 * t)

    truth = [g.normal(0, 2)]
    for t in range(steps):
        truth.append(moved(truth[-1], t) + g.normal(0, 10**0.5))
    truth = np.array(truth[1:])
    y = truth**2 / 20 + g.normal(size=steps)
    out = run(r=words(g), y=y, n=n)

    x, loglik, mean = g.normal(0, 2, n), 0.0, []
    for t in range(steps):
        x = moved(x, t) + g.normal(0, 10**0.5, n)
        logw = -0.5 * (y[t] - x * x / 20) ** 2
        w = np.exp(logw - logw.max())
        total = w.cumsum()[-1]
        mean.append((w * x).sum() / total)
        places = (np.arange(n) + g.uniform()) * (total / n)
        x = x[np.minimum(np.searchsorted(w.cumsum(), places), n - 1)]
        loglik += logw.max() + np.log(total / n) - 0.5 * np.log(2 * np.pi)
    np.testing.assert_allclose(out["mean"], mean, rtol=1e-9)
    np.testing.assert_allclose(out["loglik"], loglik, rtol=1e-12)
    np.testing.assert_array_equal(out["r2"], words(g))
    print(f"particle filter, {n} particles: log likelihood {loglik:.2f}, mean error {np.abs(mean - truth).mean():.2f}")


def bootstrap():
    run, samples = runner("bootstrap"), 2000
    x, y = np.array(LAW.split(), float).reshape(-1, 2).T
    g, feeds = np.random.default_rng(1979), {}
    for _ in range(2):
        out = run(x=x, y=y, samples=samples, **feeds)
        at = g.integers(0, len(x), (samples, len(x)))
        all = np.sort([np.corrcoef(x[i], y[i])[0, 1] for i in at])
        want = all.mean(), all[samples * 25 // 1000], all[samples * 975 // 1000]
        np.testing.assert_allclose([out["r"], out["low"], out["high"]], want, rtol=1e-12)
        feeds = {"g": out["g.next"]}
        np.testing.assert_array_equal(feeds["g"], words(g))
        print(f"bootstrap of a correlation, {samples} samples: {out['r']:.4f}, 95 % from {out['low']:.4f} to {out['high']:.4f}")


def main():
    option()
    particles()
    bootstrap()


if __name__ == "__main__":
    sys.exit(main())
