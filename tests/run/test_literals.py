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


ROUNDED = [  # texts that are on one side of the middle of two numbers by less than a double can tell
    ("float16", "2.98023223876953126e-08", 2.0**-24),
    ("float16", "2.98023223876953125e-08", 0),
    ("float16", "2049.00000000000000000001", 2050),
    ("float16", "2049", 2048),
    ("float16", "65519.99999999999999999999", 65504),
    ("float32", "1.000000059604644775391", 1 + 2.0**-23),
    ("float32", "1.000000059604644775390", 1),
    ("float32", "7.006492321624085354618647916449581e-46", 2.0**-149),
    ("float32", "7.006492321624085354618e-46", 0),
    ("float32", "3.4028235677973366163753939545814e38", float(np.finfo("float32").max)),
    ("float32", "0x1.000001000000000000000001p0", 1 + 2.0**-23),
    ("float32", "0x1.000001000000000000000000p0", 1),
]


def test_decimals_are_rounded_once():
    forms = ["{t}({s})", "{t}(-{s})", "{t}((-({s})))", "{t}([0.5, # -\n - # 2\n {s}])[1]", "{t}[2]({s})[1]"]
    lines, names = [], []
    for i, (dtype, text, _) in enumerate(ROUNDED):
        for k, form in enumerate(forms):
            names.append(f"v{i}_{k}")
            lines.append(f"  {names[-1]} = {form.format(t=dtype, s=text)}\n")
    got = iter(ptg.run(ptg.compile(f"ptg 1\n\ngraph g() -> ({', '.join(names)}) {{\n{''.join(lines)}}}\n")))
    for dtype, text, want in ROUNDED:
        for k, form in enumerate(forms):
            v = next(got)
            assert v.dtype == dtype
            assert float(v) == (-want if k in (1, 2, 3) else want), form.format(t=dtype, s=text)


def test_parts_of_complex_numbers_are_rounded_once():
    text = "complex64([16777217.0000000000001 - 16777217.0000000000001j, -16777217.0000000000001j, 16777217 + 2j])"
    got = ptg.run(ptg.compile(f"ptg 1\n\ngraph g() -> (y) {{\n  y = {text}\n}}\n"))
    assert got.tolist() == [[16777218, -16777218], [0, -16777218], [16777216, 2]]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64", "uint8", "complex64"])
def test_large_weak_integers(dtype):
    """An integer takes the dtype beside it where that holds it exactly, else its own."""
    numbers = [2**11, 2**11 + 1, 65504, 65505, 2**24, 2**24 + 1, 2**53, 2**53 + 1, 2**63, 2**64 - 2**11, 2**64 - 2, 2**64 - 1]
    for n in numbers:
        small = next(t for t in ("int8", "int16", "int32", "int64", "uint64") if n <= np.iinfo(t).max)
        kind = np.dtype(dtype).kind
        if kind == "c":
            exact = n <= 2**24 or n % 2**40 == 0
        else:
            exact = n <= np.iinfo(dtype).max if kind in "iu" else float(n) < np.inf and int(float(n)) == n and \
                n <= float(np.finfo(dtype).max) and int(np.array(n, "float64").astype(dtype)) == n
        want = dtype if exact else str(np.result_type(dtype, small))
        ptg.compile(f"graph g(x: {dtype}[n]) -> (y: {want}[n]) {{\n  y = x + {n}\n}}\n")


def test_lists_of_typed_constants_keep_their_dtype():
    """Once they were int64: 0.5 became 0, and 300 became 44 beside int8."""
    lists = {
        "[float64(0.5), float64(1.5)]": np.array([0.5, 1.5]),
        "[float32(0.5), 0.1]": np.array([0.5, 0.1], "float32"),
        "[True, int8(3)]": np.array([1, 3], "int8"),
        "[int64(300), 0.5]": np.array([300, 0.5]),
        "[int8(1), 1000]": np.array([1, 1000], "int16"),
        "[s, 1]": np.array([2, 1], "float32"),
        "x * [float64(0.5), 1]": np.array([1.5, 4]),
        "x * [s, s]": np.array([6, 8], "float64"),
        "k + [int64(300), 1]": np.array([305, 7]),
        "k + [k[0], 1000]": np.array([10, 1006], "int16"),
        "int8([float64(3), int64(1)])": np.array([3, 1], "int8"),
    }
    lines = "".join(f"  v{i} = {text}\n" for i, text in enumerate(lists))
    names = ", ".join(f"v{i}" for i in range(len(lists)))
    model = ptg.compile(f"graph g(x: int64[2], k: int8[2], s: float32[]) -> ({names}) {{\n{lines}}}\n")
    got = ptg.run(model, np.array([3, 4]), np.array([5, 6], "int8"), np.array(2, "float32"))
    for (text, want), v in zip(lists.items(), got, strict=True):
        assert v.dtype == want.dtype and np.array_equal(v, want), text


@pytest.mark.parametrize("text", ["int8([int64(300), 1])", "int8([float64(0.5)])", "uint8([int8(-1)])", "bool([int8(2)])"])
def test_typed_constants_are_not_lost_in_a_list(text):
    with pytest.raises(AssertionError, match="the literal does not fit"):
        ptg.compile(f"graph g() -> (y) {{\n  y = {text}\n}}\n")
