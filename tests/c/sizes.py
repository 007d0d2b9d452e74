"""Sizes that no array has, or that do not fit: the run gives the number of a message, and touches nothing.

In: texts as C, under the sanitizers of native.py. Memory is as long as for sizes of 1; the sizes say otherwise.
"""

import ctypes as C
import sys
import tempfile
from pathlib import Path

from native import Native, compiled, to_c

BIG = 2**62
LEAST, GREATEST = -(2**63), 2**63 - 1
# header of the graph, statements; for each: sizes by field, words of the message (None: the run is right)
CASES = [
    ("x: float64[n], w: float64[m]) -> (y, s", "y = x[:, None] * w\n  s = Sum(x)", [
        ({"n": 1, "m": 1}, None), ({"n": -1, "m": 1}, "no array has the size n"), ({"n": 1, "m": LEAST}, "no array has the size m"),
        ({"n": GREATEST, "m": 1}, "no array has the size n"), ({"n": BIG, "m": BIG}, "no array has the size n"),
        ({"n": 2**40, "m": 2**40}, "the output y is larger than memory"), ({"n": 0, "m": 0}, None)]),
    ("x: float64[n, m, 3]) -> (y", "y = Sum{axis=[0, 1]}(x)", [
        ({"n": 1, "m": 1}, None), ({"n": 2**31, "m": 2**31}, "the input x is larger than memory"),
        ({"n": 2**57, "m": 2**57}, "no array has the size n")]),
    ("x: float64[n-2], w: float64[2*n]) -> (y", "y = Sum(x) + Sum(w)", [
        ({"n": 2}, None), ({"n": 1}, "negative"), ({"n": 0}, "negative"),
        ({"n": BIG}, "no array has the size n"), ({"n": LEAST}, "no array has the size n")]),
    ("x: float64[?], v: float64[?]) -> (y", "y = x + v", [
        ({"x_0": 1, "v_0": 1}, None), ({"x_0": 1, "v_0": 2}, "must be"), ({"x_0": -1, "v_0": -1}, "no array has the size x_0")]),
    ("x: float64[?, ?]) -> (y", "y = x[x[:, 0] > 0]", [
        ({"x_0": 1, "x_1": 1}, None), ({"x_0": 2**50, "x_1": 2**50}, "larger than memory"),
        ({"x_0": -1, "x_1": 1}, "no array has the size x_0")]),
    ("x: float64[n]) -> (y", "y = Cumsum{axis=0}(Exp(x)) @ x", [
        ({"n": 1}, None), ({"n": -5}, "no array has the size n"), ({"n": 2**58}, "no array has the size n")]),
    # of no elements: it needs no memory, but loops over it would not end
    ("n: int64[], m: int64[]) -> (y", "y = Tanh(Alloc(float64(1.5), n, m))[:, ::-1] + 1", [
        ({"n": 1, "m": 1}, None), ({"n": 0, "m": 2**50}, None), ({"n": GREATEST, "m": 0}, "beyond memory"),
        ({"n": 0, "m": 2**60}, "beyond memory"), ({"n": -1, "m": 0}, "negative")]),
    ("x: float64[n, 0], k: int64[], m: int64[]) -> (y", "y = Exp(Reshape{ndim=3}(x, MakeVector(k, 0, m)))", [
        ({"n": 1, "k": 2, "m": 3}, None), ({"n": 1, "k": GREATEST, "m": 1}, "beyond memory"), ({"n": 1, "k": -2, "m": 1}, "negative")]),
]


def given(model, sizes):
    """The structs of a call whose arrays have 6 elements."""
    array, keep = C.c_double * 6, []
    structs = model.In(), model.Out()
    for struct, fields in zip(structs, (model.inputs, model.outputs)):
        for name, _, pointer, const, dtype, _ in fields:
            if dtype and pointer and not (const and struct is structs[1]):
                keep.append(array(*range(1, 7)))
                setattr(struct, name, C.addressof(keep[-1]))
    for name, size in sizes.items():
        setattr(structs[0], name, size)
    return *structs, keep


def main():
    passed = failed = 0
    for header, statements, runs in CASES:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "g.ptg")
            path.write_text(f"ptg 1\ngraph g({header}) {{\n  {statements}\n}}\n")
            code = to_c(path, "-Wno-unused")
            model = Native(code, compiled(code, folder=folder))
        for sizes, words in runs:
            taken, results, keep = given(model, sizes)
            need, work = C.c_size_t(0), C.create_string_buffer(4096)
            result = model.run(C.byref(taken), C.byref(results), work, C.c_size_t(4096), C.byref(need))
            said = model.message(result).decode() if result else None
            right = said is None if words is None else result > 0 and words in said
            passed, failed = passed + right, failed + (not right)
            if not right:
                print(f"{header}: {sizes}: {result}, {said}")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
