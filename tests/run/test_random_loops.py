"""Random loops: what the rewrites of loops give, each of them off by chance, is what the loop as written gives. And as
PyTensor's Scan: for a batch of points they give what they give for each point.

And the compiler ends soon whatever a loop says.

PTGC_EXAMPLES=10000 runs more than the 150 of `make check`; PTGC_SEED=n begins at that program. tests/check.sh compiles
others with the sanitizers.
"""

import os
import random
import resource
import subprocess

import numpy as np
import ptgc
import pytensor
import pytest
from files import PTGC
from harness import QUIET, check_model, ort
from random_loops import Program
from random_scans import Points
from wild_loops import Wild

from ptgc import _lib
from ptgc.native import NativeFunction
from opsets import SOME_OPSETS

FIRST = int(os.environ.get("PTGC_SEED", "450"))
SEEDS = range(FIRST, FIRST + int(os.environ.get("PTGC_EXAMPLES", "150")))
REWRITES = ("states", "hoist", "batch", "push-out", "scan", "linear", "associative")
NEAR = {"float64": 1e-9, "float32": 2e-4}
SECONDS = 10  # of a processor, that a text of 10 kB may take


def outputs(text, arguments, **options):
    model = _lib.compile_text(text, **options).model
    check_model(model)
    session = ort.InferenceSession(model, QUIET, providers=["CPUExecutionProvider"])
    return session.run(None, {i.name: a for i, a in zip(session.get_inputs(), arguments, strict=True)})


@pytest.mark.parametrize("seed", SEEDS)
def test_as_written(seed):
    program, draw = Program(seed), random.Random(-seed)
    arguments, math = program.arguments(), draw.choice(("standard", "standard", "native"))
    off = [f"fno-{r}" for r in REWRITES if not draw.randrange(5)]
    want = outputs(program.text, arguments, math="exact", flags=["Wno-unused", *(f"fno-{r}" for r in REWRITES)])
    if not all(np.all(np.abs(w) < 1e6) for w in want):
        return  # another way to compute it may overflow earlier
    got = outputs(program.text, arguments, math=math, opset=draw.choice(SOME_OPSETS), flags=["Wno-unused", *off])
    for k, (g, w) in enumerate(zip(got, want, strict=True)):
        assert g.dtype == w.dtype and g.shape == w.shape
        near = NEAR[program.dtype] * max(1, np.abs(w).max(initial=0))
        np.testing.assert_allclose(g, w, 0, near, err_msg=f"output {k}; {math} {off}\n{program.text}")


@pytest.mark.parametrize("seed", SEEDS[:: 10 if len(SEEDS) <= 150 else 1])
def test_as_c(seed):
    program = Program(seed)
    arguments = program.arguments()
    want = outputs(program.text, arguments, math="exact", flags=["Wno-unused"])
    compiled = _lib.compile_text(program.text, code=True, model_name="model", flags=["Wno-unused", "fentry"])
    got = NativeFunction(compiled, program.text, {}, [], ["-O0"])(*arguments)
    for k, (g, w) in enumerate(zip(got, want, strict=True)):
        assert g.dtype == w.dtype and g.shape == w.shape
        near = NEAR[program.dtype] * max(1, np.abs(w).max(initial=0))
        np.testing.assert_allclose(g, w, 0, near, err_msg=f"output {k}\n{program.text}")


def modes(points):
    yield ptgc.onnx_mode(math=points.pick("exact", "standard", "native"), opset=points.pick(*SOME_OPSETS))
    yield ptgc.native_mode(cflags=["-O0"])


# 110: lengths with products of integers
@pytest.mark.parametrize("seed", [*SEEDS[:: 25 if len(SEEDS) <= 150 else 1], 110])
def test_batches(seed):
    try:
        points = Points(seed)
        want = points.expected()
    except Exception as e:  # PyTensor's: a shape with a 1 that its types do not know, more steps than rows, no gradient
        pytest.skip(str(e)[:80])
    for mode in modes(points):
        check_batch(points, want, pytensor.function(points.many, points.results, mode=mode, on_unused_input="ignore"))


def check_batch(points, want, f):
    try:
        got = f(*points.values)
    except Exception:
        assert points.is_while and np.prod(points.batch) > 1  # all rows are read, and points end after unequal numbers of steps
        return
    for k, (g, w) in enumerate(zip(got, want, strict=True)):
        assert w is not None or 0 in points.batch, "points take unequal numbers of steps"
        if 0 in points.batch:
            assert w is None or g.shape[: len(points.batch)] == points.batch
        else:
            assert g.dtype == w.dtype and g.shape == w.shape, k
            near = NEAR[points.dtype] * max(1, np.abs(w).max(initial=0))
            np.testing.assert_allclose(g, w, 0, near, err_msg=f"output {k}")


@pytest.mark.parametrize("first", SEEDS[::50])
def test_time(first):
    for seed in range(first, first + 50):
        math = ("exact", "standard", "native")[seed % 3]
        run = subprocess.run([PTGC, f"--math={math}", "-o", os.devnull, "-"], input=Wild(seed).text.encode(), capture_output=True,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS)))  # fmt: skip
        assert run.returncode in (0, 1), seed
