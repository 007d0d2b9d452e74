"""What the tests of linear algebra share: a graph of one call, and bounds on residuals."""
import numpy as np


def text(call, args, results="r"):
    return f"graph g({args}) -> ({results}) {{\n  {results} = {call}\n}}\n"


def eps(dtype):
    return float(np.finfo(dtype).eps)


def small(x, bound):
    assert np.all(np.isfinite(x))
    assert np.max(np.abs(x), initial=0) <= bound, (np.max(np.abs(x), initial=0), bound)
