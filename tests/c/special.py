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
    ("i0", lambda x: mp.besseli(0, x), [uniform(20, 713)], 4.5),
    ("i1", lambda x: mp.besseli(1, x), [uniform(-20, 20)], 4.5),
    ("i1", lambda x: mp.besseli(1, x), [uniform(20, 713)], 4.5),
    ("i0e", lambda x: mp.besseli(0, x) * mp.exp(-abs(x)), [uniform(-30, 30)], 4.5),
    ("i1e", lambda x: mp.besseli(1, x) * mp.exp(-abs(x)), [uniform(-30, 30)], 4.5),
    ("j0", lambda x: mp.besselj(0, x), [uniform(-50, 50)], 7, "wave"),
    ("j1", lambda x: mp.besselj(1, x), [uniform(-50, 50)], 7, "wave"),
    ("j0", lambda x: mp.besselj(0, x), [spread(1, 1e8)], 7, "wave"),
    ("j1", lambda x: mp.besselj(1, x), [spread(1e-10, 1e8)], 7, "wave"),
]

inf, nan = math.inf, math.nan
ENDS = [
    ("lgamma", [(inf, inf), (-inf, -inf), (0, inf), (-0.0, inf), (-3, inf), (1, 0), (2, 0), (nan, nan)]),
    ("gamma", [(inf, inf), (-inf, nan), (0, inf), (-0.0, -inf), (-3, nan), (1, 1), (23, 1.1240007277776077e21), (171.7, inf), (nan, nan)]),
    ("psi", [(inf, inf), (0, -inf), (-0.0, inf), (-3, nan), (nan, nan)]),
    ("trigamma", [(inf, 0), (0, inf), (nan, nan)]),
    ("erfinv", [(-0.0, 0), (1, inf), (-1, -inf), (0, 0), (1.5, nan), (nan, nan)]),
    ("erfcinv", [(0, inf), (2, -inf), (1, -0.0), (3, nan), (nan, nan)]),
    ("ndtri_exp", [(0, inf), (-inf, -inf), (1, nan), (nan, nan)]),
    ("i0", [(inf, inf), (-inf, inf), (0, 1), (nan, nan)]),
    ("i1", [(-0.0, 0), (inf, inf), (-inf, -inf), (0, 0), (nan, nan)]),
    ("i0e", [(inf, 0), (-inf, 0), (0, 1), (nan, nan)]),
    ("i1e", [(-0.0, 0), (inf, 0), (0, 0), (nan, nan)]),
    ("j0", [(inf, nan), (-inf, nan), (0, 1), (nan, nan)]),
    ("j1", [(inf, nan), (-inf, nan), (0, 0), (nan, nan)]),
]

functions = {}


def library(name):
    if name not in functions:
        f = functions[name] = getattr(so, "test_" + name)
        f.restype = ctypes.c_double
    n = next((len(r[2]) for r in ROWS if r[0] == name), 1)
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
            args = [d() for d in draws]
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
