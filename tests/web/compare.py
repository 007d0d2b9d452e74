"""What the models computed in Node and in Chromium, beside ONNX Runtime in Python on the same inputs;
and the posterior that the page drew, beside quadrature. Reads $B/web-test/*.json."""

import json
import os
import sys
from pathlib import Path

import numpy as np
import onnxruntime as ort

B = Path(os.environ.get("B", "build"))
DTYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(int64)": np.int64}


def array(numbers, dtype):
    return np.array([np.nan if v == "nan" else v for v in numbers], dtype)


def compare_runs(name, runs):
    """Largest difference in any output, relative to the largest entry of that output."""
    session = ort.InferenceSession(B / "web" / f"{name}.onnx", providers=["CPUExecutionProvider"])
    worst = 0.0
    for run in runs:
        feed = {i.name: array(run["feed"][i.name][0], DTYPES[i.type]).reshape(run["feed"][i.name][1]) for i in session.get_inputs()}
        for out, want in zip(session.get_outputs(), session.run(None, feed)):
            got = array(run["results"][out.name], want.dtype)
            assert got.size == want.size, (name, out.name)
            if want.dtype.kind in "iub":
                assert (got == want.ravel()).all(), (name, out.name)
            elif want.size:
                worst = max(worst, float(np.max(np.abs(got - want.ravel())) / max(np.max(np.abs(want)), 1e-30)))
        bound = 1e-6 if any(i.type == "tensor(float)" for i in session.get_inputs()) else 1e-12
        assert worst <= bound, f"{worst} > {bound}"
    return worst


def posterior():
    """Means and standard deviations of the eight schools, by sums over a grid of mu and log tau."""
    y, sigma = np.array([28.0, 8, -3, 7, -1, 1, 18, 12]), np.array([15.0, 10, 16, 11, 9, 11, 10, 18])
    mu, log_tau = np.meshgrid(np.linspace(-30, 40, 701), np.linspace(-12, 6, 1801), indexing="ij")
    tau = np.exp(log_tau)
    logp = -(mu**2) / 50 - np.log1p((tau / 5) ** 2) + log_tau
    for yi, si in zip(y, sigma):
        v = si**2 + tau**2
        logp -= (np.log(v) + (yi - mu) ** 2 / v) / 2
    w = np.exp(logp - logp.max())
    w /= w.sum()
    share = tau**2 / (tau**2 + sigma[0] ** 2)
    mean_a, var_a = mu + share * (y[0] - mu), share * sigma[0] ** 2

    def moments(mean, var=0):
        m = (w * mean).sum()
        return m, float(np.sqrt((w * (mean**2 + var)).sum() - m**2))

    return {"mu": moments(mu), "tau": moments(tau), "school_A": moments(mean_a, var_a)}


def compare_posterior(drawn):
    for name, (mean, sd) in posterior().items():
        s = drawn[name]
        error = abs(s["mean"] - mean) / (sd / np.sqrt(s["ess"]))
        print(f"  {name}: mean {s['mean']:.2f}, exactly {mean:.2f}; sd {s['sd']:.2f}, exactly {sd:.2f}; {s['ess']:.0f} effective draws")
        assert error < 5 and abs(s["sd"] / sd - 1) < 0.1 and s["rhat"] < 1.02, (name, s)


passed = failed = 0


def check(title, body):
    global passed, failed
    try:
        note = body()
        print(f"ok: {title}" + (f": {note}" if note else ""))
        passed += 1
    except Exception as e:
        print(f"failed: {title}: {type(e).__name__}: {e}")
        failed += 1


for path in sorted((B / "web-test").glob("*.json")):
    facts = json.loads(path.read_text())
    for name in sorted({f["name"] for f in facts if "name" in f}):
        runs = [f for f in facts if f.get("name") == name]
        check(f"{path.stem}: {len(runs)} runs of {name}", lambda: f"within {compare_runs(name, runs):.1e}")
    for f in facts:
        if "posterior" in f:
            check(f"{path.stem}: posterior of the eight schools", lambda: compare_posterior(f["posterior"]))
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0 or passed == 0)
