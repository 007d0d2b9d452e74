"""PyMC's own ops, which ptgc knows by the names of their classes. PyMC is not needed: the classes here have them."""

import numpy as np
import pytensor
import pytensor.scalar as ps
import pytensor.tensor as pt
import pytest
import scipy.special
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from scipy.interpolate import InterpolatedUnivariateSpline, UnivariateSpline

import ptgc
from ptgc.testing import compare_onnx_and_py

X = np.sort(np.random.default_rng(5).normal(size=12))


class SplineWrapper(Op):
    __module__ = "pymc.distributions.dist_math"
    __props__ = ("spline",)

    def __init__(self, spline):
        self.spline = spline

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, outputs):
        outputs[0][0] = np.asarray(self.spline(inputs[0]), dtype=inputs[0].dtype)


@pytest.mark.parametrize("degree", [1, 2, 3, 5])
@pytest.mark.parametrize("ext", ["extrapolate", "zeros", "const"])
def test_splines(degree, ext):
    v = pt.dvector("v")
    spline = InterpolatedUnivariateSpline(X, np.sin(X), k=degree, ext=ext)
    splines = [spline, spline.derivative()]
    values = np.concatenate([np.linspace(-4, 4, 41), X])
    compare_onnx_and_py([v], [SplineWrapper(s)(v) for s in splines], [values], rtol=1e-10, atol=1e-10)
    compare_onnx_and_py([v], [SplineWrapper(s)(v) for s in splines], [values[:0]])


def test_splines_of_other_dtypes_and_ranks():
    spline = UnivariateSpline(X, np.exp(X), k=3)
    x, k = pt.fmatrix("x"), pt.lscalar("k")
    compare_onnx_and_py([x], SplineWrapper(spline)(x), [np.linspace(-1, 1, 6, dtype="float32").reshape(2, 3)], rtol=1e-6)
    compare_onnx_and_py([k], SplineWrapper(spline)(k), [3])


def test_what_is_no_spline_of_scipys_or_outside_of_the_knots():
    v = pt.dvector("v")
    with pytest.raises(ptgc.UnsupportedError, match="a spline of type"):
        pytensor.function([v], SplineWrapper(np.sin)(v), mode="ONNX")
    f = pytensor.function([v], SplineWrapper(UnivariateSpline(X, X, k=1, ext="raise"))(v), mode="ONNX")
    np.testing.assert_allclose(f(X[3:5]), X[3:5])
    with pytest.raises(ValueError):
        f([99.0])


@pytest.mark.parametrize("name", ["i0e", "i1e"])
def test_scaled_bessel_functions(name):
    function = getattr(scipy.special, name)
    kind = type(name.capitalize(), (ps.UnaryScalarOp,), {
        "__module__": "pymc.distributions.dist_math", "nfunc_spec": (f"scipy.special.{name}", 1, 1),
        "impl": lambda self, x: function(x),
    })  # fmt: skip
    op = pt.elemwise.Elemwise(kind(ps.upgrade_to_float_no_complex, name=name))
    for dtype, rtol in (("float64", 1e-14), ("float32", 1e-6), ("int16", 1e-6)):
        v = pt.vector("v", dtype=dtype)
        values = [0, 1, -2, 7, 8, -9, 40, 700, -900, 30000]
        compare_onnx_and_py([v], op(v), [np.array(values, dtype)], rtol=rtol)


class _PolyaGammaLogDistFunc(Op):
    __module__ = "pymc.distributions.continuous"
    __props__ = ("get_pdf",)

    def __init__(self, get_pdf):
        self.get_pdf = get_pdf

    def make_node(self, x, h, z):
        x, h, z = map(pt.as_tensor_variable, (x, h, z))
        return Apply(self, [x, h, z], [pt.TensorType(pytensor.config.floatX, (None,) * max(v.ndim for v in (x, h, z)))()])

    def perform(self, node, inputs, outputs):
        """The alternating series of Polson, Scott and Windle: for small x and h alone"""
        x, h, z = (v.astype("float64") for v in np.broadcast_arrays(*inputs))
        total = 0.0
        for n in range(200):
            m = 2 * n + h
            c = (-1) ** n * np.exp(scipy.special.gammaln(n + h) - scipy.special.gammaln(n + 1) - scipy.special.gammaln(h))
            if self.get_pdf:
                t = m / np.sqrt(8 * np.pi * x**3) * np.exp(-(m**2) / (8 * x) - x * z**2 / 2)
            else:
                r, u = np.sqrt(8 * x), z * np.sqrt(x / 2)
                t = (np.exp(-m * z / 2) * scipy.special.erfc(m / r - u) + np.exp(m * z / 2) * scipy.special.erfc(m / r + u)) / 2
            total = total + c * t
        outputs[0][0] = (np.log(total) + h * np.log(2 * np.cosh(z / 2))).astype(node.outputs[0].dtype)


@pytest.mark.parametrize("floatX", ["float64", "float32"])
def test_polya_gamma(floatX):
    x, h, k, z = pt.dmatrix("x"), pt.dvector("h"), pt.lvector("k"), pt.dscalar("z")
    values = [np.random.default_rng(1).uniform(0.02, 1, (3, 2)), np.array([0.5, 2.0]), np.array([1, 3]), 0.75]
    with pytensor.config.change_flags(floatX=floatX):
        ops = [_PolyaGammaLogDistFunc(pdf) for pdf in (True, False)]
        results = [op(x, n, z) for op in ops for n in (h, k)]
        rtol = 1e-12 if floatX == "float64" else 1e-6
        compare_onnx_and_py([x, h, k, z], results, values, rtol=rtol, atol=rtol)
        compare_onnx_and_py([x, h, k, z], results, [values[0][:0], *values[1:]])


class DifferentialEquation(Op):
    """Decay: y' = -p0 y + p1, which has formulas"""

    __module__ = "pymc.ode.ode"
    n_states, n_theta, n_p = 2, 2, 4

    def __init__(self, times, t0=0.0, rates=lambda y, t, p: [p[1] - p[0] * y[0], -p[0] * y[1] + p[1]]):
        self.func, self._augmented_times = rates, np.array([t0, *times])

    def make_node(self, y0, theta):
        return Apply(self, [y0, theta], [pt.dmatrix(), pt.dtensor3()])

    def perform(self, node, inputs, outputs):
        y0, (k, c) = inputs
        t = (self._augmented_times[1:] - self._augmented_times[0])[:, None]
        e = np.exp(-k * t)
        outputs[0][0] = y0 * e + c / k * (1 - e)
        by_k = -t * y0 * e + c * (t * e / k - (1 - e) / k**2)
        one = np.broadcast_to(e[:, :, None] * np.eye(2), (len(t), 2, 2))
        by_c = np.broadcast_to((1 - e) / k, (*y0.shape[:-1], len(t), 2))
        outputs[1][0] = np.concatenate([one, by_k[:, :, None], by_c[:, :, None]], axis=2)


@pytest.mark.parametrize("times, t0", [([0.5, 1, 1, 4], 0.0), ([2.0], 2.0), ([1.0, -1.0], 3.0)])
def test_differential_equations(times, t0):
    y, p = pt.dvector("y"), pt.dvector("p")
    results = DifferentialEquation(times, t0)(y, p)
    values = [np.array([2.0, -1.0]), np.array([0.7, 0.3])]
    for wanted in (results, results[:1]):
        compare_onnx_and_py([y, p], wanted, values, rtol=1e-9, atol=1e-10)
    many = ptgc.compile_onnx([y, p], results, batch={"p": "points"})
    got = many(values[0], np.outer([1.0, 2.0], values[1]))
    plain = pytensor.function([y, p], results, mode="FAST_COMPILE")
    for i in range(2):
        for a, b in zip(got, plain(values[0], values[1] * (i + 1))):
            np.testing.assert_allclose(a[i], b, rtol=1e-9, atol=1e-10)


def test_differential_equations_that_are_refused():
    y, p = pt.dvector("y"), pt.dvector("p")
    data = pytensor.shared(2.0, "data")
    for op, why in (
        (DifferentialEquation([1.0], rates=lambda y, t, p: [data * y[0], y[1]]), "reads the shared variable data"),
        (DifferentialEquation([1.0], rates=lambda y, t, p: [y[0]]), "rates of the shape"),
        (DifferentialEquation([1.0, 3.0, 2.0]), "not in order"),
    ):
        with pytest.raises(ptgc.UnsupportedError, match=why):
            ptgc.compile_onnx([y, p], op(y, p)[:1])
