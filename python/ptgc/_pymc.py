"""The texts of PyMC's own ops, as ptgc.register takes them, by the names of their classes: PyMC is not imported."""

from math import factorial

import numpy as np

from ptgc._text import real

EXTRAPOLATE, ZEROS, RAISE, BOUNDARY = range(4)  # what SciPy's splines give outside of their knots


def numbers(values) -> str:
    return f"float64([{', '.join(real(np.float64(v)) for v in values)}])"


def spline_text(op, node) -> str:
    """A UnivariateSpline of SciPy as a polynomial for each interval between knots, with constant coefficients."""
    from scipy.interpolate import UnivariateSpline, splev

    spline = op.spline
    if not isinstance(spline, UnivariateSpline):
        raise TypeError(f"a spline of type {type(spline).__name__}: SciPy's UnivariateSpline can be converted")
    t, c, degree = spline._eval_args
    knots = np.unique(t[degree : len(t) - degree])
    lowest, highest, left = knots[0], knots[-1], knots[:-1]
    # SciPy's derivatives at a knot are those of the interval to its right
    powers = [splev(left, (t, c, degree), der=k) / factorial(k) for k in range(degree + 1)]
    if spline.ext == RAISE:
        inside = 'CheckAndRaise{msg="a value is outside of the knots of the spline"}(z, All(Invert(outside)))'
    elif spline.ext == BOUNDARY:
        inside = f"Clip(z, {real(lowest)}, {real(highest)})"
    else:
        inside = "z"
    lines = ["z = Cast{float64}(x)", f"outside = (z < {real(lowest)}) | (z > {real(highest)})", f"a = {inside}"]
    lines.append(f'i = SearchsortedOp{{side="right"}}({numbers(knots[1:-1])}, a)')
    lines.append(f"d = a - {numbers(left)}[i]")
    lines.append(f"p{degree} = {numbers(powers[degree])}[i]")
    lines += [f"p{k} = p{k + 1} * d + {numbers(powers[k])}[i]" for k in reversed(range(degree))]
    result = "Switch(outside, float64(0), p0)" if spline.ext == ZEROS else "p0"
    lines.append(f"y = Cast{{{node.outputs[0].type.dtype}}}({result})")
    return "fn Spline(x) -> (y) {\n" + "".join(f"  {line}\n" for line in lines) + "}\n"


def refuse(why):
    def text(op, node):
        raise TypeError(why)

    return text


def polya_gamma_text(op, node) -> str:
    name = "PolyaGamma_logp" if op.get_pdf else "PolyaGamma_logcdf"
    return f"fn PolyaGamma(x, h, z) -> (y) {{\n  y = Cast{{{node.outputs[0].type.dtype}}}({name}(x, h, z))\n}}\n"


DIAGONALS = """
fn BatchedDiag(x: F[m, n]) -> (y: F[m, n, n]) {
  y = AllocDiag{axis1=1, axis2=2}(x)
}
"""
TEXTS = {
    "pymc.distributions.dist_math.I0e": "I0e",
    "pymc.distributions.dist_math.I1e": "I1e",
    "pymc.distributions.dist_math.SplineWrapper": spline_text,
    "pymc.math.BatchedDiag": DIAGONALS,
    "pymc.distributions.continuous._PolyaGammaLogDistFunc": polya_gamma_text,
    "pymc.distributions.continuous.PolyaGammaRV": refuse("the package polyagamma draws"),
}
