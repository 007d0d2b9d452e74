#!/usr/bin/env python3
"""The special functions of lib/c beside mpmath.

    special.py LIBRARY [points [name...]]

Prints half of the errors, 99 % of them and the largest one, in units in the last place, for random
points of each row; exits with 1 where a bound does not hold, or an end is not SciPy's.
"""
import ctypes
import math
import random
import sys

import mpmath as mp

mp.mp.prec = 120


def erfcx(x):
    return mp.exp(mp.mpf(x) ** 2) * mp.erfc(x)


def ndtri_exp(x):
    """By Newton's method for the logarithm of erfc(-z/sqrt(2))/2, or of what it is less than 1"""
    z = mp.mpf(library("ndtri_exp")(x))
    sign = -1 if x > -1 else 1
    right = mp.log(-mp.expm1(x)) if x > -1 else mp.mpf(x)
    for _ in range(4):
        p = mp.erfc(-sign * z / mp.sqrt(2)) / 2
        z -= sign * (mp.log(p) - right) * p / (mp.exp(-z * z / 2) / mp.sqrt(2 * mp.pi))
    return z


def erfcinv(x):
    y = mp.mpf(library("erfcinv")(x))
    for _ in range(4):
        y += (mp.erfc(y) - x) / (2 / mp.sqrt(mp.pi) * mp.exp(-y * y))
    return y


def kve(v, x):
    with mp.workprec(900):
        return mp.besselk(v, x) * mp.exp(x)


def ive(v, x):
    with mp.workprec(900):
        return mp.besseli(v, x) * mp.exp(-abs(x))


def owens_t(h, a):
    f = lambda x: mp.exp(-mp.mpf(h) ** 2 * (1 + x * x) / 2) / (1 + x * x)
    return mp.quad(f, mp.linspace(0, a, 5)) / (2 * mp.pi)


def betainc(a, b, x):
    return mp.betainc(a, b, 0, x, regularized=True)


def inverse(name, f, density):
    """By Newton's method from what the function gives: its error, so to say"""

    def g(*args):
        x = mp.mpf(library(name)(*args))
        for _ in range(3):
            x -= (f(*args[:-1], x) - args[-1]) / density(*args[:-1], x)
        return x

    return g


def gammainc(a, x):
    return mp.gammainc(a, 0, x, regularized=True)


def gammaincc(a, x):
    return mp.gammainc(a, x, mp.inf, regularized=True)


def gamma_density(a, x):
    return mp.exp((a - 1) * mp.log(x) - x - mp.loggamma(a))


def beta_density(a, b, x):
    return x ** (a - 1) * (1 - x) ** (b - 1) / mp.beta(a, b)


def near(row):
    """Arguments a, x with x within some standard deviations of a"""
    def draw():
        a = row()
        return a, abs(a + random.gauss(0, 3) * math.sqrt(a))
    return draw


def uniform(a, b):
    return lambda: random.uniform(a, b)


def spread(a, b):
    """All exponents alike"""
    return lambda: math.exp(random.uniform(math.log(a), math.log(b)))


def minus(draw):
    return lambda: -draw()


# name, exact function, draws of the arguments, bound; "absolute" counts errors below 1 as if of 1
ROWS = [
    ("erfcx", erfcx, [uniform(0, 30)], 2),
    ("erfcx", erfcx, [uniform(-26, 2)], 2.5),
    ("lgamma", lambda x: mp.loggamma(x).real, [uniform(0, 4)], 3.5),
    ("lgamma", lambda x: mp.loggamma(x).real, [spread(1e-300, 1e300)], 3.5),
    ("lgamma", lambda x: mp.log(abs(mp.gamma(x))), [uniform(-20, 0)], 6, "absolute"),
    ("gamma", mp.gamma, [uniform(-20, 20)], 4),
    ("gamma", mp.gamma, [uniform(-180, 171.6)], 4),
    ("gamma", mp.gamma, [spread(1e-300, 1)], 4),
    ("psi", mp.digamma, [uniform(0, 6)], 3),
    ("psi", mp.digamma, [spread(1e-300, 1e300)], 3),
    ("psi", mp.digamma, [uniform(-20, 0)], 5, "absolute"),
    ("trigamma", lambda x: mp.polygamma(1, x), [uniform(0, 6)], 4),
    ("trigamma", lambda x: mp.polygamma(1, x), [uniform(-20, 0)], 4),
    ("trigamma", lambda x: mp.polygamma(1, x), [spread(1e-140, 1e5)], 4),
    ("erfinv", mp.erfinv, [uniform(-1, 1)], 3.5),
    ("erfcinv", erfcinv, [uniform(0, 2)], 3.5),
    ("erfcinv", erfcinv, [spread(1e-300, 1)], 3.5),
    ("ndtri_exp", ndtri_exp, [minus(spread(1e-300, 1e5))], 3),
    ("ndtri_exp", ndtri_exp, [uniform(-50, 0)], 4.5),
    ("i0", lambda x: mp.besseli(0, x), [uniform(-20, 20)], 4.5),
    ("i0", lambda x: mp.besseli(0, x), [uniform(20, 709.7)], 4.5),
    ("i1", lambda x: mp.besseli(1, x), [uniform(-20, 20)], 4.5),
    ("i1", lambda x: mp.besseli(1, x), [uniform(20, 709.7)], 4.5),
    ("i0e", lambda x: mp.besseli(0, x) * mp.exp(-abs(x)), [uniform(-30, 30)], 4.5),
    ("i1e", lambda x: mp.besseli(1, x) * mp.exp(-abs(x)), [uniform(-30, 30)], 4.5),
    ("j0", lambda x: mp.besselj(0, x), [uniform(-50, 50)], 7, "wave"),
    ("j1", lambda x: mp.besselj(1, x), [uniform(-50, 50)], 7, "wave"),
    ("j0", lambda x: mp.besselj(0, x), [spread(1, 1e8)], 7, "wave"),
    ("gammainc", gammainc, [spread(0.1, 100), spread(0.1, 200)], 500),
    ("gammaincc", gammaincc, [spread(0.1, 100), spread(0.1, 200)], 500),
    ("gammainc", gammainc, [near(spread(1, 1e4))], 300),
    ("gammaincc", gammaincc, [near(spread(1, 1e4))], 300),
    ("gammaincinv", inverse("gammaincinv", gammainc, gamma_density), [spread(0.1, 100), uniform(0, 1)], 100),
    ("gammainccinv", inverse("gammainccinv", gammaincc, lambda a, x: -gamma_density(a, x)), [spread(0.1, 100), uniform(0, 1)], 100),
    ("betainc", betainc, [spread(0.1, 100), spread(0.1, 100), uniform(0, 1)], 400),
    ("betaincinv", inverse("betaincinv", betainc, beta_density), [spread(0.1, 100), spread(0.1, 100), uniform(0, 1)], 100),
    ("ive", ive, [uniform(-5, 5), spread(0.01, 100)], 40),
    ("ive", ive, [spread(1, 300), spread(1, 300)], 1500),
    ("kve", kve, [uniform(-5, 5), spread(0.01, 100)], 60),
    ("kve", kve, [spread(1, 300), spread(1, 300)], 1500),
    ("hyp2f1", mp.hyp2f1, [uniform(0, 3), uniform(0, 3), uniform(0, 6), uniform(-1, 1)], 400),
    ("hyp2f1", mp.hyp2f1, [spread(1e-10, 1), spread(1e-10, 1), spread(1e-10, 1), uniform(-3, 1)], 300),
    ("hyp2f1", mp.hyp2f1, [uniform(0, 5), uniform(0, 5), uniform(0, 10), minus(spread(0.01, 1e6))], 500),
    ("hyp2f1", mp.hyp2f1, [uniform(0, 5), uniform(0, 5), uniform(0, 10), lambda: 1 - spread(1e-8, 1)()], 1000),
    ("polygamma", lambda n, x: mp.polygamma(int(n), x), [lambda: random.randint(1, 20), spread(0.1, 40)], 40),
    ("owens_t", owens_t, [uniform(-10, 10), uniform(-10, 10)], 6),
    ("j1", lambda x: mp.besselj(1, x), [spread(1e-10, 1e8)], 7, "wave"),
]

TWO = {"gammainc", "gammaincc"}
inf, nan = math.inf, math.nan
ENDS = [
    ("lgamma", [(inf, inf), (-inf, -inf), (0, inf), (-0.0, inf), (-3, inf), (1, 0), (2, 0), (nan, nan)]),
    ("gamma", [(inf, inf), (-inf, nan), (0, inf), (-0.0, -inf), (-3, nan), (1, 1), (23, 1.1240007277776077e21), (171.7, inf), (nan, nan)]),
    ("psi", [(inf, inf), (0, -inf), (-0.0, inf), (-3, nan), (nan, nan)]),
    ("trigamma", [(inf, 0), (0, inf), (nan, nan)]),
    ("erfinv", [(-0.0, 0), (1, inf), (-1, -inf), (0, 0), (1.5, nan), (nan, nan)]),
    ("erfcinv", [(0, inf), (2, -inf), (1, -0.0), (3, nan), (nan, nan)]),
    ("ndtri_exp", [(0, inf), (-inf, -inf), (1, nan), (nan, nan)]),
    ("i0", [(inf, nan), (-inf, nan), (0, 1), (nan, nan)]),
    ("i1", [(-0.0, 0), (inf, nan), (-inf, nan), (0, 0), (nan, nan)]),
    ("i0e", [(inf, 0), (-inf, 0), (0, 1), (nan, nan)]),
    ("i1e", [(-0.0, 0), (inf, 0), (0, 0), (nan, nan)]),
    ("gammainc", [(2, 0, 0), (2, inf, 1), (0, 2, 1), (inf, 2, 0), (0, 0, nan), (inf, inf, nan), (-1, 1, nan), (1, -1, nan), (nan, 1, nan), (1, nan, nan)]),
    ("gammaincc", [(2, 0, 1), (2, inf, 0), (0, 2, 0), (inf, 2, 1), (0, 0, nan), (inf, inf, nan), (-1, 1, nan), (nan, 1, nan), (1, nan, nan)]),
    ("gammaincinv", [(2, 0, 0), (2, 1, inf), (2, 1.5, nan), (2, nan, nan), (nan, 0.5, nan)]),
    ("gammainccinv", [(2, 0, inf), (2, 1, 0), (2, 1.5, nan), (2, nan, nan), (nan, 0.5, nan)]),
    ("betainc", [(2, 3, 0, 0), (2, 3, 1, 1), (2, 3, -1, nan), (2, 3, 2, nan), (-1, 3, 0.5, nan), (nan, 3, 0.5, nan), (2, 3, nan, nan)]),
    ("betaincinv", [(2, 3, 0, 0), (2, 3, 1, 1), (2, 3, nan, nan), (nan, 3, 0.5, nan), (2, 3, 2, nan)]),
    ("hyp2f1", [(1, 2, 3, 0, 1), (0, nan, 3, 0.5, 1), (1, 2, 3, nan, nan), (inf, 2, 3, 0.5, nan), (1, 2, 3, 2, inf), (1, 1, 3, 1, 2), (2, 2, 3, 1, inf),
                (-2, 1, 3, 4, 1), (1, 2, -3, 0.5, inf), (-1, 2, -3, 3, 3), (2, 3, 3, 0.5, 4)]),
    ("ive", [(0, 0, 1), (2, 0, 0), (0.5, -1, nan), (nan, 1, nan), (1, nan, nan)]),
    ("kve", [(0, 0, inf), (2, -1, nan), (nan, 1, nan), (1, nan, nan)]),
    ("owens_t", [(nan, 1, nan), (1, nan, nan), (1, 0, 0), (200, 3, 0)]),
    ("j0", [(inf, nan), (-inf, nan), (0, 1), (nan, nan)]),
    ("j1", [(inf, nan), (-inf, nan), (0, 0), (nan, nan)]),
]

functions = {}


def library(name):
    if name not in functions:
        f = functions[name] = getattr(so, "test_" + name)
        f.restype = ctypes.c_double
    n = 2 if name in TWO else next((len(r[2]) for r in ROWS if r[0] == name), 1)
    functions[name].argtypes = [ctypes.c_double] * n
    return functions[name]


def ulps(y, right, kind, args):
    size = abs(right)
    if kind == "absolute":
        size = max(size, mp.mpf(1))
    elif kind == "wave":
        size = max(size, mp.sqrt(2 / (mp.pi * max(1, abs(args[-1])))) if abs(args[-1]) > 1 else size)
    d = float(size)
    if math.isinf(d) or math.isinf(y) or y != y:
        return 0.0 if float(right) == y else math.inf
    return float(abs(y - right) / mp.mpf(math.ulp(d)))


def main():
    points = int(sys.argv[2]) if len(sys.argv) > 2 else 300
    failed = 0
    for name, exact, draws, bound, *kind in ROWS:
        if sys.argv[3:] and name not in sys.argv[3:]:
            continue
        random.seed(name)
        f = library(name)
        errors = []
        for _ in range(points):
            args = list(draws[0]()) if len(draws) == 1 and name in TWO else [d() for d in draws]
            errors.append((ulps(f(*args), exact(*args), (kind or [None])[0], args), args))
        errors.sort(key=lambda e: (e[0], e[1]))
        half, most, (worst, at) = errors[len(errors) // 2][0], errors[len(errors) * 99 // 100][0], errors[-1]
        bad = not worst <= bound
        failed |= bad
        at = ", ".join(f"{a!r}" for a in at)
        print(f"{name:12} {half:5.2g} {most:8.2g} {worst:8.2g} {bound:6g}  at {at}{'  FAILED' if bad else ''}")
    for name, ends in ENDS:
        for *args, right in ends:
            y = library(name)(*args)
            if not (y == right and math.copysign(1, y) == math.copysign(1, right) or y != y and right != right):
                print(f"{name}({', '.join(map(str, args))}) is {y}, not {right}  FAILED")
                failed = 1
    return failed


if __name__ == "__main__":
    so = ctypes.CDLL(sys.argv[1])
    sys.exit(main())
