"""Programs of version 1 of the language, which go on meaning what they mean: tests/stable/programs/*.ptg, and what they give for
the inputs that inputs() makes, in results.json. New programs are added with `programs.py`, which records what has no result yet;
texts and results that are there are not edited.
"""
import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime as ort

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
OTHER = {"tensor(float)": "float32", "tensor(double)": "float64"}


def inputs(session):
    """Arrays of the types of the inputs: a size that has a name is 3, 4, 5, ... in the order of the names."""
    sizes, feeds, given = {}, {}, session.get_inputs()
    for d in (d for value in given for d in value.shape if isinstance(d, str) and d.isidentifier()):
        sizes.setdefault(d, 3 + len(sizes))
    for k, value in enumerate(given):
        dtype = OTHER.get(value.type, value.type[7:-1])
        shape = [d if isinstance(d, int) else eval(d, {"max": max, "min": min}, sizes) for d in value.shape]  # n, n+1
        steps = np.arange(np.prod(shape, dtype=int)).reshape(shape)
        kind = "f" if dtype.startswith("float") else dtype[0]
        x = np.asarray(np.sin(steps + k + 1) if kind == "f" else steps % 3 == 0 if kind == "b" else steps % 3)
        feeds[value.name] = np.asarray(x.astype(str), object) if dtype == "string" else x.astype(dtype)
    return feeds


def run(path):
    """{name: [dtype, shape, list of values]} of the results"""
    import ptgc

    model = ptgc.compile(path, math="standard")
    session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    results = session.run(names, inputs(session))
    return {n: [str(r.dtype), list(r.shape), r.ravel().tolist()] for n, r in zip(names, results)}


def main():
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for path in sorted(HERE.glob("programs/*.ptg")):
        if path.stem not in results:
            results[path.stem] = run(path)
            print("recorded", path.stem)
    RESULTS.write_text("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in sorted(results.items())) + "\n}\n")


if __name__ == "__main__":
    sys.exit(main())
