"""What elementwise functions are, in float64 or closer, for those who measure how far results are off."""
import functools
import warnings

import mpmath as mp
import numpy as np
import scipy.special as ss

import ptg

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


# ---- functions of two and more arguments, of mpmath's numbers at the precision that is set


def betainc(a, b, x):
    """Lentz's method for the continued fraction 8.17.22 of the DLMF, on the side on which x is"""

    def side(a, b, x, y):
        c = f = a * (a - (a + b) * x + 1) / (a + 1)
        d, n, step = mp.mpf(0), 0, mp.mpf(0)
        while abs(step - 1) > mp.eps * 16:
            n += 1
            m = a + 2 * n - 1
            p = (a + n - 1) * (a + b + n - 1) * n * (b - n) * x * x / m**2
            q = n + n * (b - n) * x / m + (a + n) * (a - (a + b) * x + 1 + n * (2 - x)) / (m + 2)
            d = 1 / (q + p * d)
            c = q + p / c
            step = c * d
            f *= step
        return mp.exp(a * mp.log(x) + b * mp.log(y) - mp.loggamma(a) - mp.loggamma(b) + mp.loggamma(a + b)) / f

    return side(a, b, x, 1 - x) if x * (a + b + 2) < a + 1 else 1 - side(b, a, 1 - x, x)


def inverse(function, start, slope):
    """Newton's method from SciPy's result"""

    def f(*args):
        x = mp.mpf(float(start(*map(float, args))))
        for _ in range(3):
            y = x - (function(*args[:-1], x) - args[-1]) / slope(*args[:-1], x) if 1e-290 < x < 1 - 1e-13 or x > 1 else x
            x = y if y > 0 else x / 2
        return x

    return f


def gamma_slope(a, x):
    return mp.exp((a - 1) * mp.log(x) - x - mp.loggamma(a))


def beta_slope(a, b, x):
    return mp.exp((a - 1) * mp.log(x) + (b - 1) * mp.log1p(-x) - mp.loggamma(a) - mp.loggamma(b) + mp.loggamma(a + b))


def gammainc(a, x):
    if a < 50:
        return mp.gammainc(a, 0, x, regularized=True)
    n, t, s = 0, mp.mpf(1), mp.mpf(1)
    while t > s * mp.eps:
        n += 1
        t *= x / (a + n)
        s += t
    return s * x / a * gamma_slope(a, x)


def gammaincc(a, x):
    return mp.gammainc(a, x, mp.inf, regularized=True) if a < 50 else 1 - gammainc(a, x)


gammaincinv = inverse(gammainc, ss.gammaincinv, gamma_slope)
gammainccinv = inverse(gammaincc, ss.gammainccinv, lambda a, x: -gamma_slope(a, x))
betaincinv = inverse(betainc, ss.betaincinv, beta_slope)


def owens_t(h, a):
    s = min(a, 20 / abs(h))
    rest = mp.quad(lambda x: mp.exp(-h * h * x * x / 2) / (1 + x * x), [0] + [s * mp.mpf(2) ** (k - 8) for k in range(9)])
    return mp.exp(-h * h / 2) / (2 * mp.pi) * rest


def ndtri_exp(x):
    y = mp.mpf(float(ss.ndtri_exp(float(x))))
    for _ in range(4):
        density = mp.exp(-y * y / 2) / mp.sqrt(2 * mp.pi)
        if y < 0:
            p = mp.erfc(-y / mp.sqrt(2)) / 2
            y -= (mp.log(p) - x) * p / density
        else:
            q = mp.erfc(y / mp.sqrt(2)) / 2
            y += (mp.log(q) - mp.log(-mp.expm1(x))) * q / density
    return y


def ive(v, x):
    """The power series, whose terms are positive"""
    t = s = mp.mpf(1)
    k, z = 0, x * x / 4
    while t > s * mp.eps:
        k += 1
        t *= z / (k * (k + v))
        s += t
    return s * mp.exp(v * mp.log(x / 2) - mp.loggamma(v + 1) - x)


def kve(v, x):
    """The trapezoidal rule for exp(-x (cosh(t) - 1)) cosh(v t), counted from its peak"""

    def exponent(t):
        return mp.log(mp.cosh(v * t)) - x * (mp.cosh(t) - 1)

    peak = mp.asinh(v / x)
    top = exponent(peak)
    h = min(1 / mp.sqrt(mp.sqrt(x * x + v * v)), mp.mpf(1) / 3) / 6
    t, s, d = h, mp.exp(exponent(mp.mpf(0)) - top) / 2, mp.mpf(1)
    while t <= peak + h or d > s * mp.eps:
        d = mp.exp(exponent(t) - top)
        s += d
        t += h
    return s * h * mp.exp(top)


def jv(v, x):
    return mp.besselj(v, x, maxprec=100000)


def polya_gamma(x, h, z, cdf=False):
    """The log density of PG(h, z) or its log cdf: the alternating series, with as many digits as it cancels"""
    with mp.workprec(mp.mp.prec + int(60 + 8 * x + 2 * h + x * z * z)):
        x, h, z = mp.mpf(x), mp.mpf(h), abs(mp.mpf(z))
        r, u = mp.sqrt(8 * x), z * mp.sqrt(x / 2)
        k, c, s, largest, t = 0, mp.mpf(1), mp.mpf(0), mp.mpf(0), mp.inf
        while k < 6 or abs(t) > largest * mp.eps:
            m = 2 * k + h
            if cdf:
                t = (mp.exp(-m * z / 2) * mp.erfc(m / r - u) + mp.exp(m * z / 2) * mp.erfc(m / r + u)) / 2
            else:
                t = m * mp.exp(-m * m / r**2 - u * u) / mp.sqrt(8 * mp.pi * x**3)
            t *= c
            s += t
            largest = max(largest, abs(t))
            c *= -(k + h) / (k + 1)
            k += 1
        return mp.log(s) + h * (z / 2 + mp.log1p(mp.exp(-z)))


@functools.cache
def polya_gamma_float(x, h, z, cdf=False):
    """The same of floats, with x outside of the support and parameters that are wrong"""
    if not (0 < h < inf and abs(z) < inf and x == x):
        return np.nan
    if x <= 0 or x == inf:
        return 0.0 if cdf and x > 0 else -inf
    with mp.workprec(140):
        return float(polya_gamma(x, h, z, cdf))


def polya_gamma_points(r, n, h, z):
    """x around the mean, h 10 to a random power, z from 0"""
    h, z = 10 ** r.uniform(*h, n), r.uniform(0, z, n) * r.integers(0, 2, n)
    return h * np.tanh(z / 2 + 1e-9) / (2 * z + 4e-9) * 10 ** r.uniform(-0.7, 0.7, n), h, z


POLYA_GAMMA = {
    "h from 0.1 to 10, z to 10": lambda r, n: polya_gamma_points(r, n, (-1, 1), 10),
    "h from 0.001 to 100, z to 30": lambda r, n: polya_gamma_points(r, n, (-3, 2), 30),
}


def beta_around(rng, n, a, b, width=1.5):
    """a and b, 10 to random powers, and an x of which I(a, b, x) is neither 0 nor 1"""
    a, b = 10 ** rng.uniform(*a, n), 10 ** rng.uniform(*b, n)
    u = np.log(a / b) + np.sqrt(1 / np.maximum(a, 0.1) + 1 / np.maximum(b, 0.1)) * width * rng.normal(size=n)
    return a, b, np.clip(1 / (1 + np.exp(-u)), 1e-300, 1 - 1e-16)


# op: SciPy's function, the true one, and (which arguments, n random ones): what doc/accuracy.md has rows of
SEVERAL = {
    "Betainc": (ss.betainc, betainc, {
        "a, b from 0.1 to 100": lambda r, n: beta_around(r, n, (-1, 2), (-1, 2)),
        "a, b from 0.001 to 10,000": lambda r, n: beta_around(r, n, (-3, 4), (-3, 4), 2),
        "a, b from 100 to 1,000,000": lambda r, n: beta_around(r, n, (2, 6), (2, 6), 3),
        "a from 0.1 to 10, b from 1e4 to 1e8": lambda r, n: beta_around(r, n, (-1, 1), (4, 8), 2),
    }),
    "Betaincinv": (ss.betaincinv, betaincinv, {
        "a, b from 0.1 to 100": lambda r, n: (10 ** r.uniform(-1, 2, n), 10 ** r.uniform(-1, 2, n), r.uniform(0, 1, n)),
        "a, b from 0.01 to 1000, p from 1e-30": lambda r, n: (10 ** r.uniform(-2, 3, n), 10 ** r.uniform(-2, 3, n), 10 ** r.uniform(-30, 0, n)),
    }),
    "Gammaincinv": (ss.gammaincinv, gammaincinv, {
        "k from 0.1 to 100": lambda r, n: (10 ** r.uniform(-1, 2, n), r.uniform(0, 1, n)),
        "k from 10 to 1e5": lambda r, n: (10 ** r.uniform(1, 5, n), r.uniform(0, 1, n)),
    }),
    "Gammainccinv": (ss.gammainccinv, gammainccinv, {
        "k from 0.1 to 100": lambda r, n: (10 ** r.uniform(-1, 2, n), r.uniform(0, 1, n)),
        "k from 0.001 to 10, p from 1e-30": lambda r, n: (10 ** r.uniform(-3, 1, n), 10 ** r.uniform(-30, 0, n)),
    }),
    "Hyp2f1": (ss.hyp2f1, mp.hyp2f1, {
        "a, b to 3, c to 6, z from -1 to 1": lambda r, n: (r.uniform(0, 3, n), r.uniform(0, 3, n), r.uniform(0, 6, n), r.uniform(-1, 1, n)),
        "a, b to 30, c to 60, z from -1 to 1": lambda r, n: (r.uniform(0, 30, n), r.uniform(0, 30, n), r.uniform(0, 60, n), r.uniform(-1, 1, n)),
        "a, b from -5 to 5, c from -10 to 10": lambda r, n: (r.uniform(-5, 5, n), r.uniform(-5, 5, n), r.uniform(-10, 10, n), r.uniform(-1, 1, n)),
        "a, b from -30 to 30, c to 60": lambda r, n: (r.uniform(-30, 30, n), r.uniform(-30, 30, n), r.uniform(0, 60, n), r.uniform(-1, 1, n)),
        "a, b, c from 1e-10 to 1": lambda r, n: (*10 ** r.uniform(-10, 0, (3, n)), r.uniform(-3, 1, n)),
        "a, b, c from 1 to 300": lambda r, n: (*10 ** r.uniform(0, 2.5, (3, n)), r.uniform(-1, 1, n)),
        "a, b to 5, c to 10, z from -1e6 to -0.01": lambda r, n: (r.uniform(0, 5, n), r.uniform(0, 5, n), r.uniform(0, 10, n), -(10 ** r.uniform(-2, 6, n))),
        "a, b to 5, c to 10, 1 - z from 1e-8": lambda r, n: (r.uniform(0, 5, n), r.uniform(0, 5, n), r.uniform(0, 10, n), 1 - 10 ** r.uniform(-8, 0, n)),
        "integers to 8, or 1e-14 to 0.001 beside them": lambda r, n: (r.integers(1, 6, n) + r.choice([0, 1], n) * 10 ** r.uniform(-14, -3, n), r.integers(1, 6, n), r.integers(1, 9, n), r.uniform(-4, 1, n)),
        "polynomials of degree to 20, z from -3 to 4": lambda r, n: (-r.integers(1, 20, n), r.uniform(0, 20, n), r.uniform(0.1, 10, n), r.uniform(-3, 4, n)),
        "a, b to 10, c from -60 to -20, z from -1 to 1": lambda r, n: (r.uniform(0, 10, n), r.uniform(0, 10, n), r.uniform(-60, -20, n), r.uniform(-1, 1, n)),
        "a, b from 10 to 60, c from -60 to -20, z from -1 to 1": lambda r, n: (r.uniform(10, 60, n), r.uniform(10, 60, n), r.uniform(-60, -20, n), r.uniform(-1, 1, n)),
    }),
    "Ive": (ss.ive, ive, {
        "order to 5, x from 0.01 to 100": lambda r, n: (r.uniform(0, 5, n), 10 ** r.uniform(-2, 2, n)),
        "order to 1000, x from 0.001 to 1000": lambda r, n: (10 ** r.uniform(-2, 3, n), 10 ** r.uniform(-3, 3, n)),
    }),
    "Kve": (ss.kve, kve, {
        "order to 5, x from 0.01 to 100": lambda r, n: (r.uniform(0, 5, n), 10 ** r.uniform(-2, 2, n)),
        "order to 1000, x from 0.001 to 1000": lambda r, n: (10 ** r.uniform(-2, 3, n), 10 ** r.uniform(-3, 3, n)),
    }),
    "Jv": (ss.jv, jv, {
        "order to 12, x from 0.01 to 100": lambda r, n: (r.uniform(0, 12, n), 10 ** r.uniform(-2, 2, n)),
        "order from -12 to 0, x from 0.01 to 100": lambda r, n: (r.uniform(-12, 0, n), 10 ** r.uniform(-2, 2, n)),
        "order to 100, x from 0.001 to 200": lambda r, n: (r.uniform(0, 100, n), 10 ** r.uniform(-3, 2.3, n)),
        "order from 2 to 1000, x from half to 1.5 times that": lambda r, n: (v := 10 ** r.uniform(0.3, 3, n), v * r.uniform(0.5, 1.5, n)),
        "order 0, 1, 2, 3, x from 3 to 1,000,000": lambda r, n: (r.integers(0, 4, n), 10 ** r.uniform(0.5, 6, n)),
    }),
    "Owens_t": (ss.owens_t, owens_t, {"h to 30, a to 1000": lambda r, n: (r.uniform(0, 30, n), 10 ** r.uniform(-3, 3, n))}),
    "PolyaGamma_logp": (None, polya_gamma, POLYA_GAMMA),
    "PolyaGamma_logcdf": (None, lambda *p: polya_gamma(*p, True), POLYA_GAMMA),
    "Ndtri_exp": (ss.ndtri_exp, ndtri_exp, {"-1e5 to -1e-300": lambda r, n: (-(10 ** r.uniform(-300, 5, n)),), "-50 to -0.01": lambda r, n: (-(10 ** r.uniform(-2, 1.7, n)),)}),
}  # fmt: skip


def gamma_around(rng, n, k, width=2):
    """k, 10 to random powers, and an x of which P(k, x) is neither 0 nor 1"""
    k = 10 ** rng.uniform(*k, n)
    return k, np.maximum(k + width * rng.normal(size=n) * np.sqrt(k + 1), 1e-3)


FLOAT64_ALONE = "Hyp2f1", "PolyaGamma_logp", "PolyaGamma_logcdf"  # the target portable refuses them
# What the target portable computes in float32: op: SciPy's function, and ranges as above
INCOMPLETE = {
    "k from 0.1 to 100": lambda r, n: gamma_around(r, n, (-1, 2)),
    "k from 100 to 1e7": lambda r, n: gamma_around(r, n, (2, 7), 3),
    "k, x from 0.001 to 1000": lambda r, n: tuple(10 ** r.uniform(-3, 3, (2, n))),
}
PORTABLE = {
    "Gammainc": (ss.gammainc, INCOMPLETE),
    "Gammaincc": (ss.gammaincc, INCOMPLETE),
    "Polygamma": (ss.polygamma, {"n from 1 to 20, x from 0.1 to 40": lambda r, n: (r.integers(1, 21, n), 10 ** r.uniform(-1, 1.6, n))}),
} | {op: (scipy, ranges) for op, (scipy, _, ranges) in SEVERAL.items() if op not in FLOAT64_ALONE}


def portable_errors(op, where, n):
    """Of results from 1e-35 to 1e35 of the float32 model: errors in units in the last place, and the smaller one of
    absolute and relative errors"""
    scipy, ranges = PORTABLE[op]
    args = [np.asarray(a, "float32") for a in ranges[where](np.random.default_rng(0), n)]
    if op == "Polygamma":
        args[0] = args[0].astype("int8")
    names = "abc"[: len(args)]
    text = f"graph g({', '.join(f'{v}: {a.dtype}[n]' for v, a in zip(names, args))}) -> (r) {{ r = {op}({', '.join(names)}) }}"
    got = ptg.run(text, *args, target="portable", math="standard").astype("float64")
    with np.errstate(all="ignore"):
        want = scipy(*[a.astype("float64") for a in args])
        seen = (np.abs(want) > 1e-35) & (np.abs(want) < 1e35) & ~((np.abs(args[-1]) < 1e-35) & (args[-1] != 0))
        off = np.abs(got - want)[seen]
    want = np.abs(want[seen])
    return np.nan_to_num(off / np.spacing(want.astype("float32")), nan=np.inf), np.nan_to_num(np.minimum(off, off / want), nan=np.inf)
