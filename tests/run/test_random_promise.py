"""Draws do not depend on how a model was compiled nor on how it is run.

Each row of random variables is drawn at every opset of OPSETS, with every set of OPTIONS, at every level of ONNX
Runtime's optimiser, on one thread and on several: always the same numbers, and always NumPy's state afterwards. In
`make check` a row takes two of these ways, and with PTGC_FULL=1 each opset with each set of options, at two levels.
"""
import itertools
import os
import re
import subprocess
import sys

import numpy as np
import onnxruntime as ort
import pytest

import ptg

sys.path.insert(0, os.path.join(ptg.ROOT, "bench"))
import streams  # noqa: E402  the rows, and what NumPy draws

N = 10_000
FULL = os.environ.get("PTGC_FULL", "0") != "0"
OPSETS = 13, 17, 18, 26
REWRITES = "identity cast transpose reshape squeeze keepdims expand gemm zero reciprocal finite relu split dead splat guard " \
           "states hoist batch push-out scan linear stretch fold cse share-calls".split()
OPTIONS = ("--math=exact",), ("--math=standard",), ("--math=native",), ("--math=exact", *(f"-fno-{f}" for f in REWRITES))
LEVELS = "DISABLE_ALL", "ENABLE_BASIC", "ENABLE_EXTENDED", "ENABLE_ALL"
THREADS = 1, 4


def ways(k):
    if FULL:
        return [(OPSETS[i], OPTIONS[j], LEVELS[(i + j + k) % 4], THREADS[k // 2]) for i, j, k in itertools.product(range(4), range(4), (0, 3))]
    return [(OPSETS[(k + i) % 4], OPTIONS[(k // 4 + i) % 4], LEVELS[(k // 2 + i) % 4], THREADS[(k + i // 2) % 2]) for i in (0, 2)]


def session(text, opset, options, level, threads):
    so = ort.SessionOptions()
    so.intra_op_num_threads = threads
    so.log_severity_level = 3
    so.graph_optimization_level = getattr(ort.GraphOptimizationLevel, f"ORT_{level}")
    return ort.InferenceSession(ptg.compile(text, opset, options=options[1:], math=options[0].partition("=")[2]), so,
                                providers=["CPUExecutionProvider"])


def test_all_distributions_have_rows():
    ops = subprocess.run([ptg.PTGC, "--ops"], capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r"\w+_rv(?=\{)", ops)) == {f"{line.split()[0]}_rv" for line in streams.ROWS.strip().splitlines()}


@pytest.mark.parametrize("line", streams.ROWS.strip().splitlines())
def test_draws_are_the_same(line):
    name, given, n, params = streams.read(line, N)
    text = streams.text_of(name, params, "PCG64")
    g = np.random.default_rng(5)
    g.integers(10, dtype=np.uint32)
    feeds = {"r": streams.words(g), "n": np.array(n), **{f"p{i}": p for i, p in enumerate(params)}}
    want = np.asarray(streams.oracle(name, params, n)(g))
    first = None
    for way in ways(streams.ROWS.strip().splitlines().index(line)):
        s = session(text, *way)
        after, x = s.run(None, {i.name: feeds[i.name] for i in s.get_inputs()})
        np.testing.assert_array_equal(after, streams.words(g), err_msg=str(way))
        first = x if first is None else first
        np.testing.assert_array_equal(x, first, err_msg=str(way))
        assert not streams.far_off(name, x, want), way
