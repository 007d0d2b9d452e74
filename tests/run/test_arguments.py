"""Defaults and names of arguments of fns: the same numbers as with all arguments by position."""

import numpy as np
import pytest

import ptg

FNS = """fn Affine{power: int = 1}(x: F[n, m], k: F = 2, shift: F[m] = F[m](0), scale: F = k ** 2) -> (y) {
  y = (x * k + shift) * scale ** power
}
fn Apply{f: fn}(x: F) -> (y) {
  y = f(x, scale=F(3))
}
"""


@pytest.mark.parametrize("dims", ["n, m", "3, 4", "0, 4", "1, 1"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int64", "uint32"])
def test_defaults_and_names(dtype, dims):
    shape = {"n, m": (3, 4), "3, 4": (3, 4), "0, 4": (0, 4), "1, 1": (1, 1)}[dims]
    x = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    s = np.arange(shape[1]).astype(dtype)
    calls = {
        "Affine(x)": x * 2 * 4,
        "Affine(x, 3)": x * 3 * 9,
        "Affine(x, scale=1)": x * 2,
        "Affine(x, shift=s)": (x * 2 + s) * 4,
        "Affine(scale=2, shift=s, k=1, x=x)": (x + s) * 2,
        "Affine{power=2}(x, k=1, scale=2)": x * 4,
        "Apply{f=Affine{power=0}}(x)": x * 2,
        "Apply{f=Affine}(x)": x * 2 * 3,
    }
    names = [f"y{i}" for i in range(len(calls))]
    body = "\n".join(f"  {y} = {c}" for y, c in zip(names, calls))
    text = f"{FNS}graph g(x: {dtype}[{dims}], s: {dtype}[{dims.split(', ')[1]}]) -> ({', '.join(names)}) {{\n{body}\n}}"
    for opset in (13, 26):
        for got, want, call in zip(ptg.run(text, x, s, opset=opset), calls.values(), calls):
            assert got.dtype == x.dtype and got.shape == x.shape, call
            assert np.array_equal(got, want.astype(dtype)), call
