"""Differential equations of PyMC models beside PyMC, whose op calls SciPy's odeint

`odes.py` in an environment with PyMC. A figure is the milliseconds of a call on one thread. The first two columns
compute the sum of all states at 20 times (Robertson: 5) and its derivatives by first states and parameters. Then come
the sum alone, and one point of the first computation if one call has 64 points. All take turns, and the fastest turn
counts.
"""

import os
import time
import warnings

warnings.filterwarnings("ignore")
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import numpy as np
import onnxruntime as ort
import pymc as pm
import pytensor
import pytensor.tensor as pt

import ptgc


def predators(y, t, p):
    return [p[0] * y[0] - p[1] * y[0] * y[1], p[3] * y[0] * y[1] - p[2] * y[1]]


def infections(y, t, p):
    return [-p[0] * y[0] * y[1], p[0] * y[0] * y[1] - p[1] * y[1]]


def robertson(y, t, p):
    slow, fast = p[0] * y[0] - p[1] * y[1] * y[2], p[2] * y[1] ** 2
    return [-slow, slow - fast, fast]


TIMES = np.linspace(1, 20, 20)
CASES = {
    "Lotka-Volterra": (predators, TIMES, [30.0, 4.0], [0.55, 0.028, 0.84, 0.026]),
    "SIR": (infections, TIMES, [0.98, 0.02], [0.5, 0.2]),
    "Robertson (stiff)": (robertson, np.array([0.4, 4, 40, 400, 4000]), [1.0, 0.0, 0.0], [0.04, 1e4, 3e7]),
}


def main():
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    print("| system | PyMC | ONNX | value alone | a point of 64 |\n|---|---:|---:|---:|---:|")
    for name, (rates, times, y0, theta) in CASES.items():
        solve = pm.ode.DifferentialEquation(rates, times=times, n_states=len(y0), n_theta=len(theta))
        y, p = pt.vector("y"), pt.vector("p")
        total = solve(y, p).sum()
        results = [total, *pytensor.grad(total, [y, p])]
        one = {"y": np.array(y0), "p": np.array(theta)}
        many = one | {"p": theta * np.random.default_rng(1).uniform(0.9, 1.1, (64, len(theta)))}
        theirs = pytensor.function([y, p], results)
        turns = [(lambda: theirs(*one.values()), 1)]
        for outputs, feed, batch in ((results, one, None), ([total], one, None), (results, many, {"p": "points"})):
            session = ptgc.compile_onnx([y, p], outputs, **({"batch": batch} if batch else {})).session(options)
            turns.append((lambda s=session, feed=feed: s.run(None, feed), 64 if batch else 1))
        best = [np.inf] * len(turns)
        for _ in range(20):
            for k, (run, points) in enumerate(turns):
                start = time.perf_counter()
                run()
                best[k] = min(best[k], (time.perf_counter() - start) * 1e3 / points)
        print(f"| {name} | " + " | ".join(f"{b:.2g}" for b in best) + " |")


if __name__ == "__main__":
    main()
