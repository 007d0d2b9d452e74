"""--expect n=64: other nodes for the same numbers, whatever the length then is."""

import numpy as np
import pytest
import scipy.special as ss

import ptg

FUNCTIONS = {"Gammaln": ss.gammaln, "Psi": ss.psi, "Erf": ss.erf, "Erfc": ss.erfc, "Erfcx": ss.erfcx}


@pytest.mark.parametrize("dims, dtype, opset", [("n", "float64", 13), ("n", "float32", 18), ("n, 1", "float64", 26), ("2, n", "float64", 18)])
def test_same_numbers(dims, dtype, opset):
    text = f"""graph g(x: {dtype}[{dims}], y: {dtype}[n]) -> (a, b, c, d, e, f, g) {{
  a = Gammaln(x)
  b = Psi(x)
  c = Erf(x)
  d = Erfc(x)
  e = Erfcx(x)
  f = Gammaln(Join{{axis=0}}(y, y))
  g = Psi(ExpandDims{{axis=1}}(y)) * Gammaln(y)
}}
"""
    models = [ptg.compile(text, opset=opset, math="standard", options=o) for o in ((), ("--expect=n=64",), ("--expect=n=100000000",))]
    assert ptg.nodes(models[1]) < ptg.nodes(models[0]) == ptg.nodes(models[2])
    near = {"rtol": 1e-12, "atol": 1e-13} if dtype == "float64" else {"rtol": 2e-5, "atol": 2e-6}
    for n in (0, 1, 64, 3000):
        y = np.linspace(0.05, 20, n).astype(dtype)
        x = y[:, None] if dims == "n, 1" else np.stack([y, y / 2]) if dims == "2, n" else y
        for model in models[:2]:
            *got, f, g = ptg.run(model, x, y)
            for r, want in zip(got, FUNCTIONS.values(), strict=True):
                np.testing.assert_allclose(r, want(x.astype(float)), **near)
            np.testing.assert_allclose(f, ss.gammaln(np.tile(y.astype(float), 2)), **near)
            np.testing.assert_allclose(g, ss.psi(y.astype(float))[:, None] * ss.gammaln(y.astype(float)), **near)
