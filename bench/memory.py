"""Memory of many points in one call

`memory.py [name ...]`: kilobytes a point that one call of 64, 512 and 4,096 points takes at its peak. Each call runs
in a process of its own. Its peak of resident memory is compared with that of a process which calls the same model
with one point. Inputs and results count. Matrices are 8 x 8, in float64, and models are those of models.py. If memory
grows in proportion to the number of points, the figures of a row are alike. Figures below 1 are due to pages, not to
points.
"""

import sys
import tempfile
from pathlib import Path

POINTS = 1, 64, 512, 4096
MODELS = "eight_schools", "gaussian_process", "hidden_markov"


def call(model, values, n):
    """In a process of its own"""
    import numpy as np
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    with np.load(values) as one:
        feed = {name: np.repeat(one[name][None], n, axis=0) for name in one.files}
    session.run(None, feed)


def cases():
    """name: (inputs of one point, outputs, values)"""
    import models
    import numpy as np
    import pytensor
    import pytensor.tensor as pt
    import pytensor.tensor.linalg as ptl

    a, b, v = pt.matrix("a", shape=(8, 8)), pt.matrix("b", shape=(8, 8)), pt.vector("v", shape=(8,))
    rng = np.random.default_rng(1)
    m = rng.normal(size=(8, 8)) + 4 * np.eye(8)
    x = m @ m.T
    steps = pytensor.scan(lambda s, a: pt.tanh(a @ s), outputs_info=[v], non_sequences=[a], n_steps=50, return_updates=False)
    made = {
        "Cholesky": ([a], [ptl.cholesky(a)], [x]),
        "its gradient": ([a], [pt.grad(ptl.cholesky(a).sum(), a)], [x]),
        "solve": ([a, b], [ptl.solve(a, b)], [x, m]),
        "QR": ([a], list(ptl.qr(a)), [m]),
        "symmetric eigenvectors": ([a], list(ptl.eigh(a)), [x]),
        "SVD": ([a], list(ptl.svd(a)), [m]),
        "exponential": ([a], [ptl.expm(a)], [m]),
        "Scan of 50 steps": ([a, v], [steps], [m / 8, m[0]]),
    }
    return made | {name: models.graph(name) for name in MODELS}


def main(names):
    from measure import measure

    import numpy as np

    import ptgc

    print("| function | " + " | ".join(f"{n} points" for n in POINTS[1:]) + " |\n|---" + "|---:" * len(POINTS[1:]) + "|")
    for name, (inputs, outputs, values) in cases().items():
        if names and name not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            e = ptgc.compile_onnx(inputs, outputs, batch="points")
            model, data = Path(folder, "m.onnx"), Path(folder, "values.npz")
            model.write_bytes(e.model)
            np.savez(data, **dict(zip(e.inputs, map(np.asarray, values))))
            peak = {n: min(measure(sys.executable, __file__, "--call", model, data, n)[2] for _ in range(3)) for n in POINTS}
        took = [peak[n] - peak[POINTS[0]] for n in POINTS[1:]]
        cells = [f"{t / n / 1024:7.1f}" for t, n in zip(took, POINTS[1:])]
        print(f"| {name:24s} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--call"]:
        call(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        main(sys.argv[1:])
