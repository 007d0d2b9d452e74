"""Random loops: what the rewrites of loops give, each of them off by chance, is what the loop as written gives.

PTGC_EXAMPLES=10000 runs more than the 150 of `make check`; PTGC_SEED=n begins at that program. tests/check.sh compiles
others with the sanitizers.
"""

import os
import random

import numpy as np
import pytest
from harness import QUIET, check_model, ort
from random_loops import Program

from ptgc import _lib

FIRST = int(os.environ.get("PTGC_SEED", "450"))
SEEDS = range(FIRST, FIRST + int(os.environ.get("PTGC_EXAMPLES", "150")))
REWRITES = ("states", "hoist", "batch", "push-out", "scan", "linear", "associative")
NEAR = {"float64": 1e-9, "float32": 2e-4}


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
    got = outputs(program.text, arguments, math=math, opset=draw.choice((13, 18, 26)), flags=["Wno-unused", *off])
    for k, (g, w) in enumerate(zip(got, want, strict=True)):
        assert g.dtype == w.dtype and g.shape == w.shape
        near = NEAR[program.dtype] * max(1, np.abs(w).max(initial=0))
        np.testing.assert_allclose(g, w, 0, near, err_msg=f"output {k}; {math} {off}\n{program.text}")
