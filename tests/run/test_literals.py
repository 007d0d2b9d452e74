"""Arithmetic on literals happens at compile time, in Python's integers: exact, or refused where 64 bits do not hold the result."""
import operator
import subprocess

import numpy as np
import pytest

import ptg

EDGES = [0, 1, 2, 3, 7, 63, 64, 255, 2**31, 2**32 + 1, 2**63 - 1, 2**63, 2**64 - 1]
NUMBERS = EDGES + [-n for n in EDGES if 0 < n <= 2**63]
OPS = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
    "&": operator.and_, "|": operator.or_, "^": operator.xor, "**": operator.pow,
}


def fits(n):
    return -(2**63) <= n < 2**64


@pytest.mark.parametrize("op", OPS)
def test_integer_literals(op):
    good, bad = [], []
    for a in NUMBERS:
        for b in NUMBERS:
            if op in ("//", "%") and b == 0 or op == "**" and (b < 0 or b > 2**32):
                continue
            if op == "**" and b > 64:
                n = {0: 0, 1: 1, -1: 1 - 2 * (b % 2)}.get(a, 2**64)
            else:
                n = OPS[op](a, b)
            (good if fits(n) else bad).append((f"({a}) {op} ({b})", n))
    assert good
    lines = "".join(f"  v{i}: {'int64' if n < 2**63 else 'uint64'}[] = {text}\n" for i, (text, n) in enumerate(good))
    names = ", ".join(f"v{i}" for i in range(len(good)))
    got = ptg.run(ptg.compile(f"ptg 1\n\ngraph g() -> ({names}) {{\n{lines}}}\n"))
    for (text, n), v in zip(good, got, strict=True):
        assert int(v) == n, text
        assert v.dtype == (np.int64 if n < 2**63 else np.uint64)
    for start in range(0, len(bad), 20):  # as many as one run shows
        some = bad[start:start + 20]
        lines = "".join(f"  v{i} = ({text}) + x\n" for i, (text, _) in enumerate(some))
        names = ", ".join(f"v{i}" for i in range(len(some)))
        run = subprocess.run([ptg.PTGC, "-", "-o", "-"], capture_output=True,
                             input=f"ptg 1\n\ngraph g(x: int64[]) -> ({names}) {{\n{lines}}}\n".encode())
        assert run.returncode == 1
        assert run.stderr.decode().count("the number does not fit 64 bits") == len(some)
