"""Samples a posterior by a model that has the sampler inside, and prints a summary of it.

Usage: run.py MODEL.onnx [SEED [CHAINS]]. Needs numpy and onnxruntime. nuts.c is the same in C.
"""

import sys

import numpy as np
import onnxruntime as ort

STATISTICS = "lp", "acceptance_rate", "energy", "step_size"


def r_hat(x):
    """Of the draws [chains, draws, ...]: each chain is cut in half, and the spread of the halves' means compared."""
    half = x.shape[1] // 2
    x = np.concatenate([x[:, :half], x[:, half : 2 * half]])
    within, between = x.var(axis=1, ddof=1).mean(axis=0), x.mean(axis=1).var(axis=0, ddof=1)
    return np.sqrt((half - 1) / half + between / within)


def main(path, seed=1, chains=4):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    feed = {"seed": np.array(int(seed)), "chains": np.array(int(chains))}
    results = dict(zip(names, session.run(names, feed), strict=True))
    worst = 0
    np.set_printoptions(precision=2, suppress=True, linewidth=200)
    for name, draws in results.items():
        if draws.dtype == "float64" and name not in STATISTICS:
            found = r_hat(draws)
            worst = max(worst, found.max())
            print(f"{name:10} mean {draws.mean(axis=(0, 1))}  sd {draws.std(axis=(0, 1))}  R-hat {found.max():.3f}")
    diverged = results["diverging"].mean()
    print(f"{results['diverging'].size} draws, {100 * diverged:.1f} % of them diverged")
    return not (worst < 1.05 and diverged < 0.05)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
