"""The texts of examples/pymc-by-hand beside PyMC's log densities: by_hand.py [NAME ...]

Each text is compiled once, and run at random points of models of several sizes. Its inputs must be the model's value
variables and data, with their dtypes; its `NAME_logprob` the log density of the variable NAME with the Jacobian of its
transform; and `logp` that of the model.

To PyTensor a number that float32 holds is float32 or int8, so PyMC rounds the logarithm of a prior's scale to float32:
log(5) is 3e-8 off. The texts have it in float64. So the numbers are float64 and int64 in most of the models here, which
the texts agree with to 1e-12; with PyTensor's own they agree to what float32 leaves.
"""

import itertools
import logging
import re
import sys
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

import numpy as np  # noqa: E402
import onnxruntime  # noqa: E402
import pytensor  # noqa: E402
from pytensor.compile.mode import Mode  # noqa: E402

import ptgc  # noqa: E402

FOLDER = Path(__file__).parents[2] / "examples" / "pymc-by-hand"
sys.path.insert(0, str(FOLDER))
import models  # noqa: E402

REFERENCE = Mode("py", "fast_run").excluding("fusion", "inplace")
LENGTHS = (0, 1, 2, 100, 5000)
SIZES = {
    "eight_schools": [{}],
    "linear_regression": [dict(n=n, k=k) for n, k in itertools.product(LENGTHS, (1, 3, 40))],
    "logistic_regression": [dict(n=n, k=k) for n, k in itertools.product(LENGTHS, (1, 3, 40))],
    "mixture": [dict(n=n) for n in LENGTHS],
    "hierarchical": [dict(n=n, counties=c) for n, c in itertools.product(LENGTHS, (1, 8, 300))],
}
POINTS, SPREADS = 4, (0.3, 1.0, 4.0)
WIDE, USUAL = "numpy+floatX", "custom"  # what PyTensor makes of Python's numbers
TOLERANCE = {WIDE: dict(rtol=1e-12, atol=1e-12), USUAL: dict(rtol=1e-7, atol=1e-6)}


def session(name, terms):
    """The text with the terms of its log density as outputs too."""
    text = (FOLDER / f"{name}.ptg").read_text()
    text, found = re.subn(r"(\ngraph [^{]*-> \()logp\)", rf"\1{', '.join(terms)})", text)
    assert found == 1, f"{name}.ptg: the graph has no single result logp"
    return onnxruntime.InferenceSession(ptgc.compile(text, directory=str(FOLDER)))


def compare(name, size, numbers, run, terms, rng):
    """The results of the text at random points, beside those of PyMC."""
    with pytensor.config.change_flags(cast_policy=numbers):
        model = getattr(models, name)(**size)
        functions = [model.compile_logp(vars=v, mode=REFERENCE) for v in (None, *model.basic_RVs)]
    data = {v.name: v.get_value() for v in model.data_vars}
    dtypes = {v.name: v.dtype for v in model.value_vars} | {k: str(v.dtype) for k, v in data.items()}
    inputs = {i.name: i.type[7:-1].replace("double", "float64") for i in run.get_inputs()}
    assert inputs == dtypes, f"inputs {inputs}, in PyMC {dtypes}"
    start = model.initial_point()
    for spread in np.repeat(SPREADS, POINTS):
        point = {k: np.asarray(spread * rng.normal(size=np.shape(v))) for k, v in start.items()}
        results = run.run(terms, point | data)
        for term, result, f in zip(terms, results, functions, strict=True):
            where = f"{name} {size}, {numbers}: {term} at {point}"
            np.testing.assert_allclose(result.sum(), f(point), err_msg=where, **TOLERANCE[numbers])


def main(*names):
    failed, rng = False, np.random.default_rng(7)
    for name in names or SIZES:
        terms = ["logp", *(f"{v.name}_logprob" for v in getattr(models, name)().basic_RVs)]
        try:
            run = session(name, terms)
            for size, numbers in [*((size, WIDE) for size in SIZES[name]), ({}, USUAL)]:
                compare(name, size, numbers, run, terms, rng)
            print(name, "by hand: as PyMC has it", flush=True)
        except Exception as e:
            print(name, "by hand:", type(e).__name__, e)
            failed = True
    return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
