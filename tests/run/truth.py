"""What elementwise functions are, in float64 or closer, for those who measure how far results are off."""
import warnings

import numpy as np
import scipy.special as ss

inf = np.inf


def log1mexp(x):
    return np.where(x > -0.6931, np.log(-np.expm1(x)), np.log1p(-np.exp(x)))


# op: the function in float64, for arguments that are float32 numbers; the least and the greatest argument
FUNCTIONS = {
    "Exp": (np.exp, -inf, inf),
    "Exp2": (np.exp2, -inf, inf),
    "Expm1": (np.expm1, -inf, inf),
    "Log": (np.log, -inf, inf),
    "Log2": (np.log2, -inf, inf),
    "Log10": (np.log10, -inf, inf),
    "Log1p": (np.log1p, -inf, inf),
    "Log1mexp": (log1mexp, -inf, -1e-36),  # the kernel of Tanh has few digits of smaller ones
    "Softplus": (lambda x: np.logaddexp(0, x), -inf, inf),
    "Sigmoid": (ss.expit, -inf, inf),
    "Sqrt": (np.sqrt, -inf, inf),
    "Reciprocal": (np.reciprocal, -inf, inf),
    "Sin": (np.sin, -inf, inf),
    "Cos": (np.cos, -inf, inf),
    "Tan": (np.tan, -inf, inf),
    "Arcsin": (np.arcsin, -inf, inf),
    "Arccos": (np.arccos, -inf, inf),
    "Arctan": (np.arctan, -inf, inf),
    "Sinh": (np.sinh, -inf, inf),
    "Cosh": (np.cosh, -inf, inf),
    "Tanh": (np.tanh, -inf, inf),
    "Arcsinh": (np.arcsinh, -inf, inf),
    "Arccosh": (np.arccosh, -inf, inf),
    "Arctanh": (np.arctanh, -inf, inf),
    "Erf": (ss.erf, -inf, inf),
    "Erfc": (ss.erfc, -inf, inf),
    "Erfcx": (ss.erfcx, -inf, inf),
    "Erfinv": (ss.erfinv, -inf, inf),
    "Erfcinv": (ss.erfcinv, -inf, inf),
    "Gammaln": (ss.gammaln, -1e30, inf),  # of -inf it is -inf in SciPy, inf in C
    "Gamma": (ss.gamma, -1e30, inf),
    "Psi": (ss.psi, -1e30, inf),
    "Tri_gamma": (lambda x: ss.polygamma(1, x), -100, inf),  # SciPy is slow below
    "I0": (ss.i0, -inf, inf),
    "I1": (ss.i1, -inf, inf),
    "J0": (ss.j0, -1e6, 1e6),  # SciPy is wrong outside
    "J1": (ss.j1, -1e6, 1e6),
    "Arctan2": (np.arctan2, -inf, inf),
    "LogAddExp": (np.logaddexp, -inf, inf),
    "Pow": (np.power, -inf, inf),
}
TWO = ("Arctan2", "LogAddExp", "Pow")  # of two arguments


def graph(op, dtype, dims="n"):
    if op in TWO:
        return f"graph g(x: {dtype}[{dims}], y: {dtype}[{dims}]) -> (z) {{\n  z = {op}(x, y)\n}}\n"
    return f"graph g(x: {dtype}[{dims}]) -> (z) {{\n  z = {op}(x)\n}}\n"


def truth(op, *args):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return FUNCTIONS[op][0](*(x.astype(np.float64) for x in args))


def errors(got, want, dtype):
    """In units in the last place of `want` (float64) rounded to dtype, and absolute. Both are infinite where one of
    the two is NaN or infinite and the other is not the same."""
    with np.errstate(all="ignore"):
        rounded = want.astype(dtype)
        unit = np.spacing(np.maximum(np.abs(rounded), np.finfo(dtype).tiny)).astype(np.float64)
        absolute = np.abs(got.astype(np.float64) - want)
        ulp = absolute / unit
        special = ~(np.isfinite(rounded) & np.isfinite(got))
        same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
        # the largest numbers may be rounded to infinity
        same |= (np.abs(want) > 0.999999 * np.finfo(dtype).max) & (np.sign(got) == np.sign(want))
    ulp[special] = absolute[special] = inf
    ulp[special & same] = absolute[special & same] = 0
    return ulp, absolute
