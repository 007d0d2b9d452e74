"""The log density and the log distribution function of the Polya-Gamma distribution, PyMC's PolyaGamma"""
import mpmath as mp
import numpy as np
import ptg
import pytest
from truth import POLYA_GAMMA, polya_gamma_float

GRAPHS = {
    False: "graph g(x: float64[n], h: float64[n], z: float64[n]) -> (y) { y = PolyaGamma_logp(x, h, z) }",
    True: "graph g(x: float64[n], h: float64[n], z: float64[n]) -> (y) { y = PolyaGamma_logcdf(x, h, z) }",
}
CDF = pytest.mark.parametrize("cdf", [False, True], ids=["logp", "logcdf"])
nan, inf = np.nan, np.inf


def check(cdf, x, h, z, rtol):
    """Densities are off by rtol at most, or as their logarithms; distribution functions, or what they lack to 1, too."""
    want = np.array([polya_gamma_float(*map(float, p), cdf) for p in zip(x, h, z)])
    got = ptg.run(GRAPHS[cdf], x, h, z)
    e = abs(got - want) / np.maximum(abs(want), 1e-290 if cdf else 1)
    i = int(np.argmax(e))
    assert e[i] <= rtol, (x[i], h[i], z[i], want[i], got[i], e[i])


@CDF
@pytest.mark.parametrize("where", POLYA_GAMMA)
def test_accuracy(cdf, where):
    check(cdf, *POLYA_GAMMA[where](np.random.default_rng(3), 60), 1e-12)


@CDF
def test_far_from_the_mean(cdf):
    x, h, z = (v.ravel() for v in np.meshgrid([1e-300, 1e-6, 0.021, 0.5, 3], [1e-6, 1, 9], [0, 1e-8, 3]))
    check(cdf, x, h, z, 1e-12)


@CDF
def test_large_shapes(cdf):
    """At the mean and beside it, where truth needs as many digits as h"""
    h = np.repeat([30.0, 120.0], 5)
    z = np.repeat([0.0, 4.0], 5)
    mean = np.where(z > 0, np.tanh(z / 2) * h / 8, h / 4)
    check(cdf, mean * np.tile([0.7, 0.95, 1, 1.01, 1.25], 2), h, z, 1e-11)
    # the distribution is nearly normal, with variance h/24
    h, u = np.array([1e6, 1e9]), np.array([0.5, -1])
    got = ptg.run(GRAPHS[cdf], h / 4 + u * np.sqrt(h / 24), h, 0 * h)
    with mp.workdps(30):
        normal = [float(mp.log(mp.ncdf(float(v)))) for v in u] if cdf else -u * u / 2 - np.log(2 * np.pi * h / 24) / 2
    np.testing.assert_allclose(got, normal, rtol=2e-3)


@CDF
def test_edges(cdf):
    x = [0, -1, -0.0, inf, nan, 1, 1, 1, 1, 1, -1, 1e300, 5e-324, 1, 1e-300, inf, 1e20]
    h = [1, 1, 1, 1, 1, 0, -1, nan, inf, 1, -1, 1, 1, 1, 1e-200, 0, 1e-5]
    z = [0, 0, 0, 2, 0, 0, 0, 0, 0, inf, 0, 0, 0, 1e200, 0, 0, 1]
    got = ptg.run(GRAPHS[cdf], *(np.array(v, float) for v in (x, h, z)))
    far = 0.0 if cdf else -inf
    low = -0.125 / 5e-324  # minus infinity
    few = 0.0 if cdf else np.log(1e-200) + 450 * np.log(10) - np.log(8 * np.pi) / 2
    want = [-inf, -inf, -inf, far, nan, *[nan] * 6, 0 if cdf else -np.pi**2 / 2 * 1e300, low, far, few, nan, 0 if cdf else -(np.pi**2 + 1) / 2 * 1e20]
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=3e-16)


@CDF
def test_sizes_signs_and_opsets(cdf):
    """One element, none, more than go through one step of the loop, other dtypes and broadcasting"""
    rng = np.random.default_rng(4)
    x, h, z = rng.uniform(0, 3, 700), rng.uniform(0.1, 5, 700), rng.normal(size=700)
    all = ptg.run(GRAPHS[cdf], x, h, z)
    for n in (0, 1, 5):
        np.testing.assert_allclose(ptg.run(GRAPHS[cdf], x[:n], h[:n], -z[:n]), all[:n], rtol=1e-13)
    for opset in (13, 26):
        np.testing.assert_array_equal(ptg.run(GRAPHS[cdf], x, h, z, opset=opset), all)
    text = GRAPHS[cdf].replace("float64[n], h: float64[n], z: float64[n]", "float32[n, 1], h: float32[m], z: float32[]")
    got = ptg.run(text, x[:6, None].astype("float32"), h[:6].astype("float32"), np.float32(1.5))
    wide = ptg.run(GRAPHS[cdf], *(v.ravel().astype("float32").astype(float) for v in np.broadcast_arrays(x[:6, None], h[:6], 1.5)))
    assert got.dtype == np.float32
    np.testing.assert_allclose(got.ravel(), wide, rtol=1e-7)
