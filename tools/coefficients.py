#!/usr/bin/env python3
"""Makes the polynomial and rational approximations of lib/*/*.ptg, with mpmath, and writes them there.

    coefficients.py lib/special/*.ptg lib/elementwise/*.ptg    rewrites the statements below its comments
    coefficients.py --check lib/*/*.ptg                   exit 1 if a file would change
    coefficients.py --errors                            prints the largest relative error of each fit

A comment "# coefficients.py: atan of z" says that the next statement, whatever name it assigns, is
the fit "atan" in the value z, as rational(z, [...], [...]); "atan of z, tan of w" are two results of
one call. "atan p of z" is the numerator alone, by Horner's rule ("q": the denominator, whose leading
coefficient is 1). A fit interpolates in the Chebyshev points of its interval.
"""
import re
import struct
import sys

import mpmath as mp

mp.mp.prec = 240
one = mp.mpf(1)
STEP = mp.mpf(2)


def chebyshev_points(a, b, n):
    m, h = (mp.mpf(a) + b) / 2, (mp.mpf(b) - a) / 2
    return [m + h * mp.cos(mp.pi * (2 * k + 1) / (2 * n)) for k in range(n)]


def evaluate(c, x):
    r = mp.mpf(0)
    for v in c:
        r = r * x + v
    return r


def interpolate(f, xs, p, q):
    """Coefficients, highest first, of P (degree p) and monic Q (degree q) with P/Q = f at all of xs."""
    n = p + q + 1
    A = mp.matrix(n, n)
    y = mp.matrix(n, 1)
    for i, x in enumerate(xs):
        v = f(x)
        for k in range(p + 1):
            A[i, k] = x**k
        for k in range(q):
            A[i, p + 1 + k] = -v * x**k
        y[i] = v * x**q
    s = mp.lu_solve(A, y)
    return [s[k] for k in range(p, -1, -1)], [one] + [s[p + 1 + k] for k in range(q - 1, -1, -1)]


def fit(f, a, b, p, q, weight=None, steps=60):
    """A near-minimax fit of the relative error (times weight), after Hofreither's BRASIL: the gaps
    between the points of interpolation are made longer where the error is small, until all are alike."""
    a, b = mp.mpf(a), mp.mpf(b)
    xs = sorted(chebyshev_points(a, b, p + q + 1))
    best, best_error = None, mp.inf
    for _ in range(steps):
        P, Q = interpolate(f, xs, p, q)
        ends = [a] + xs + [b]
        peaks = []
        for lo, hi in zip(ends, ends[1:]):
            worst = mp.mpf(0)
            for k in range(1, 6) if lo not in (a,) and hi not in (b,) else range(0, 7):
                x = lo + (hi - lo) * k / 6
                e = abs(evaluate(P, x) / evaluate(Q, x) / f(x) - 1)
                worst = max(worst, e * weight(x) if weight else e)
            peaks.append(worst + mp.mpf(2) ** -300)
        if max(peaks) < best_error:
            best, best_error = (P, Q), max(peaks)
        mean = mp.fsum(mp.log(v) for v in peaks) / len(peaks)
        if max(peaks) < 1.25 * mp.exp(mean):
            break
        gaps = [(hi - lo) * mp.exp((mean - mp.log(v)) * STEP / (p + q)) for lo, hi, v in zip(ends, ends[1:], peaks)]
        scale = (b - a) / mp.fsum(gaps)
        x, xs = a, []
        for g in gaps[:-1]:
            x += g * scale
            xs.append(x)
    return best


def erfcx(x):
    """exp(x^2) erfc(x), also where erfc underflows any precision."""
    return mp.exp(x * x) * mp.erfc(x)


def erfcx_y(c):
    """erfcx as a function of y = 1/(x + c), divided by y"""
    def f(y):
        if y == 0:
            return 1 / mp.sqrt(mp.pi)
        x = 1 / y - c
        if x > 200:  # asymptotic series
            t, s, z = one, one, 1 / (2 * x * x)
            for k in range(1, 60):
                t *= -(2 * k - 1) * z
                s += t
            return s / (x * mp.sqrt(mp.pi)) / y
        return erfcx(x) / y
    return f


tiny = mp.mpf(2) ** -60


def stirling(w):
    """(lgamma(x) - (x - 1/2) log x + x - log(2 pi)/2) x at x = 1/w"""
    if w < mp.mpf(1) / 500:
        return mp.fsum(mp.bernoulli(2 * k) / (2 * k * (2 * k - 1)) * w ** (2 * k - 2) for k in range(1, 30))
    x = 1 / w
    return (mp.loggamma(x) - (x - one / 2) * mp.log(x) + x - mp.log(2 * mp.pi) / 2) * x


def gamma_factor(w):
    """gamma(x) e^x x^(1/2 - x) at x = 1/w"""
    return mp.sqrt(2 * mp.pi) * mp.exp(w * stirling(w))


def lgamma_12(x):
    """lgamma(x) / ((x - 1)(x - 2))"""
    if abs(x - 1) < tiny:
        return mp.euler
    if abs(x - 2) < tiny:
        return 1 - mp.euler
    return mp.loggamma(x).real / ((x - 1) * (x - 2))


psi_root = mp.findroot(mp.digamma, 1.4616321449683623)


def psi_rest(x):
    if abs(x - psi_root) < tiny:
        return mp.polygamma(1, psi_root)
    return mp.digamma(x) / (x - psi_root)


def psi_tail(w):
    """(psi(x) - log x) x at x = 1/w"""
    if w < mp.mpf(1) / 500:
        return -one / 2 - mp.fsum(mp.bernoulli(2 * k) / (2 * k) * w ** (2 * k - 1) for k in range(1, 30))
    return (mp.digamma(1 / w) - mp.log(1 / w)) / w


def psi_tail_rest(z):
    w = mp.sqrt(z)
    return one / 12 if z == 0 else -(psi_tail(w) + one / 2) / w


def trigamma_tail(w):
    """psi'(x) x at x = 1/w"""
    if w < mp.mpf(1) / 500:
        return 1 + w / 2 + mp.fsum(mp.bernoulli(2 * k) * w ** (2 * k) for k in range(1, 30))
    return mp.polygamma(1, 1 / w) / w


def cosecant_rest(z):
    """((pi/sin(pi x))^2 - 1/x^2) (1 - z)^2, z = x^2: without the poles at 0 and 1"""
    if z < mp.mpf(2) ** -40:
        return (mp.pi**2 / 3 + z * mp.pi**4 / 15) * (1 - z) ** 2
    return ((mp.pi / mp.sin(mp.pi * mp.sqrt(z))) ** 2 - 1 / z) * (1 - z) ** 2


def erfinv_center(z):
    x = mp.sqrt(z)
    return mp.sqrt(mp.pi) / 2 if x < tiny else mp.erfinv(x) / x


def erfcinv_tail(y):
    """erfcinv(q)/r at r = 1/y = sqrt(-log q)"""
    if y == 0:
        return one
    r = 1 / y
    lq = -r * r
    x = r * mp.sqrt(max(one / 4, 1 - mp.log(r * mp.sqrt(mp.pi)) / (r * r)))
    for _ in range(60):  # Newton on log erfc(x) = -r^2
        e = erfcx(x) if x < 150 else erfcx_y(0)(1 / x) / x
        d = (mp.log(e) - x * x - lq) / (-2 / (mp.sqrt(mp.pi) * e))
        x -= d
        if abs(d) < mp.mpf(2) ** -250:
            break
    return x / r


def erfcinv_rest(y):
    """r - erfcinv(q) at r = 1/y"""
    return (1 - erfcinv_tail(y)) / y


def erfcinv_weight(y):
    return (1 - erfcinv_tail(y)) / erfcinv_tail(y)


def erfinv_of(w):
    """erfinv(x)/x where w = -log(1 - x^2)"""
    x = mp.sqrt(-mp.expm1(-w))
    if w < 2:
        return erfinv_center(x * x)
    r = mp.sqrt(-mp.log(mp.exp(-w) / (1 + x)))
    return erfcinv_tail(1 / r) * r / x


def erfinv_tail(v):
    """erfinv(x)/(x sqrt(w)) at v = 1/sqrt(w)"""
    return erfinv_of(1 / (v * v)) * v


def quantile_rest(t):
    """t - z, where z is the normal quantile of 1 - exp(-t^2/2)"""
    if t < 3:
        return t - mp.sqrt(2) * mp.erfinv(1 - 2 * mp.exp(-t * t / 2))
    r = mp.sqrt(t * t / 2 - mp.log(2))
    return t - mp.sqrt(2) * r * erfcinv_tail(1 / r)


def gauss(n):
    """The squares of the positive points of the Gauss-Legendre rule of 2 n points, and their weights"""
    points = []
    for k in range(n):
        x = mp.cos(mp.pi * (4 * k + 3) / (8 * n + 2))
        for _ in range(8):  # Newton's method
            v = mp.legendre(2 * n, x)
            x -= v * (x * x - 1) / (2 * n * (x * v - mp.legendre(2 * n - 1, x)))
        points.append(x)
    weights = [2 * (1 - x * x) / (2 * n * mp.legendre(2 * n - 1, x)) ** 2 for x in points]
    return [x * x for x in points], weights


def bessel_i(n):
    """I_n(x) exp(-x) sqrt(x) at x = 1/w"""
    def f(w):
        if w < mp.mpf(1) / 500:
            t = s = one
            for k in range(1, 40):
                t *= -(4 * n * n - (2 * k - 1) ** 2) * w / (8 * k)
                s += t
            return s / mp.sqrt(2 * mp.pi)
        return mp.besseli(n, 1 / w) * mp.exp(-1 / w) / mp.sqrt(w)
    return f


bessel_middle = mp.mpf(1 / 15)  # of 1/x from 0 to 1/7.5


def hankel(n, odd):
    """P and x Q of J_n(x) = sqrt(2/(pi x)) (P cos - Q sin)(x - (2n + 1) pi/4) at x^2 = 1/z"""
    def f(z):
        if z < mp.mpf(1) / 4000:
            m = 4 * n * n
            t = mp.mpf(m - 1) / 8 if odd else one
            s = t
            for k in range(1, 22):
                a = 4 * k - 1 if odd else 4 * k - 3
                t *= -(m - a**2) * (m - (a + 2) ** 2) * z / 64 / ((2 * k) * (2 * k + (1 if odd else -1)))
                s += t
            return s
        x = 1 / mp.sqrt(z)
        h = (mp.besselj(n, x) + 1j * mp.bessely(n, x)) * mp.expj((2 * n + 1) * mp.pi / 4 - x)
        h *= mp.sqrt(mp.pi * x / 2)
        return h.imag * x if odd else h.real
    return f


def bessel_j_small(n):
    """J_n(x)/x^n without its first two zeros, z = x^2"""
    a, b = (mp.besseljzero(n, k) ** 2 for k in (1, 2))

    def f(z):
        if min(abs(z), abs(z - a), abs(z - b)) < tiny:
            z += 2 * tiny
        x = mp.sqrt(z)
        return mp.besselj(n, x) / x**n / ((z - a) * (z - b))
    return f


def atan_rest(z):
    """(atan(x)/x - 1)/x^2, z = x^2"""
    x = mp.sqrt(z)
    return -one / 3 if z < tiny else (mp.atan(x) / x - 1) / z


def atanh_rest(z):
    """2 (atanh(x)/x - 1)/x^2, z = x^2"""
    x = mp.sqrt(z)
    return 2 * one / 3 if z < tiny else 2 * (mp.atanh(x) / x - 1) / z


def tan_rest(z):
    x = mp.sqrt(z)
    return one / 3 if z < tiny else (mp.tan(x) / x - 1) / z


def erf_ratio(z):
    x = mp.sqrt(z)
    return 2 / mp.sqrt(mp.pi) if z < tiny else mp.erf(x) / x


def temme(eta):
    """1/mu - 1/eta, where eta^2/2 = mu - log(1 + mu), of the same sign: mu is the sum of m[k] eta^k"""
    m = [mp.mpf(0), one]
    for k in range(2, 40):  # mu mu' = eta (1 + mu)
        m.append((m[k - 1] - mp.fsum(m[i] * (k + 1 - i) * m[k + 1 - i] for i in range(2, k))) / (k + 1))
    ratio = evaluate(m[:0:-1], eta)  # mu/eta
    return -evaluate(m[:1:-1], eta) / ratio


def polya_gamma_saddle(t):
    """(w - q^2)/(q t) at q = 1/t - 1, where u coth(u) = q at u^2 = w - pi^2/4"""
    q = 1 / t - 1
    if q < tiny:
        return mp.mpf(2)
    w = q * q + 2 * q * t
    for _ in range(12):
        s = w - mp.pi**2 / 4
        if abs(s) < tiny:
            return (3 * (q - 1) + mp.pi**2 / 4 - q * q) / (q * t)
        u = mp.sqrt(mp.mpc(s))
        c = mp.cosh(u) / mp.sinh(u)
        w -= ((u * c - q) * 2 * u / (c - u / mp.sinh(u) ** 2)).real
    return (w - q * q) / (q * t)


# The coefficients of fits whose names end in _single are written as float32.
FITS = {
    "atan": lambda: fit(lambda z: -atan_rest(z), 0, 1, 5, 6),
    "atan32": lambda: fit(lambda z: 1 + z * atan_rest(z), 0, 1, 3, 3),
    "atanh": lambda: fit(atanh_rest, 0, one / 15, 3, 3),
    "tan": lambda: fit(tan_rest, 0, (mp.pi / 4 * 1.0001) ** 2, 2, 3),
    "erf": lambda: fit(erf_ratio, 0, 1, 4, 5),
    "erfcx_1_6": lambda: fit(erfcx, 1, 6, 5, 6, lambda x: mp.erfc(x) / mp.erfc(1)),
    "erfcx": lambda: fit(erfcx_y(one * 7 / 4), 0, one * 4 / 7, 10, 11),
    "erfcx32": lambda: fit(erfcx_y(2), 0, one / 2, 5, 5),
    "erfc_single": lambda: fit(erfcx_y(one * 3 / 2), 1 / mp.mpf(11.7), one * 2 / 3, 8, 0),
    "erfcx_single": lambda: fit(erfcx_y(one), 0, one, 5, 4),
    "erfinv_single": lambda: fit(lambda t: erfinv_of(t + one * 5 / 2), -one * 5 / 2, one * 5 / 2, 8, 0, steps=15),
    "erfinv_tail_single": lambda: fit(erfinv_tail, 1 / mp.sqrt(17), 1 / mp.sqrt(5), 6, 0, steps=15),
    "erfcinv_tail_single": lambda: fit(lambda t: erfinv_tail(t + one * 35 / 128), 1 / mp.sqrt(103) - one * 35 / 128, 1 / mp.sqrt(5) - one * 35 / 128, 10, 0, steps=30),
    "lgamma_single": lambda: fit(lambda v: lgamma_12(1 + v), 0, 3, 4, 3, steps=25),
    "stirling_single": lambda: fit(lambda z: stirling(mp.sqrt(z)), 0, one / 9, 2, 0, steps=25),
    "gamma_single": lambda: fit(gamma_factor, 0, 1, 6, 0, steps=25),
    "psi_single": lambda: fit(lambda v: psi_rest(1 + v), 0, 3, 3, 3, steps=25),
    "psi_tail_single": lambda: fit(psi_tail_rest, 0, one / 9, 2, 0, steps=25),
    "cosecant_single": lambda: fit(cosecant_rest, 0, one / 4, 4, 0, steps=25),
    "trigamma_single": lambda: fit(trigamma_tail, 0, 1, 6, 0, steps=25),
    "i0_single": lambda: fit(lambda z: mp.besseli(0, 2 * mp.sqrt(z)), 0, mp.mpf(7.5) ** 2 / 4, 9, 0, steps=20),
    "i0_large_single": lambda: fit(bessel_i(0), 0, one * 2 / 15, 5, 0, steps=20),
    "i1_single": lambda: fit(lambda z: mp.besseli(1, 2 * mp.sqrt(z)) / (2 * mp.sqrt(z)) if z else one / 2, 0, mp.mpf(7.5) ** 2 / 4, 9, 0, steps=20),
    "i1_large_single": lambda: fit(bessel_i(1), 0, one * 2 / 15, 5, 0, steps=20),
    "j0_single": lambda: fit(lambda t: bessel_j_small(0)(t + 32), -32, 32, 7, 0, steps=20),
    "j0_cos_single": lambda: fit(hankel(0, False), 0, one / 64, 2, 0, steps=20),
    "j0_sin_single": lambda: fit(hankel(0, True), 0, one / 64, 2, 0, steps=20),
    "j1_single": lambda: fit(lambda t: bessel_j_small(1)(t + 32), -32, 32, 7, 0, steps=20),
    "j1_cos_single": lambda: fit(hankel(1, False), 0, one / 64, 2, 0, steps=20),
    "j1_sin_single": lambda: fit(hankel(1, True), 0, one / 64, 2, 0, steps=20),
    "erfinv": lambda: fit(lambda d: erfinv_center(mp.mpf(9) / 16 - d), 0, mp.mpf(9) / 16, 6, 7),
    "erfcinv_near": lambda: fit(erfcinv_rest, one / mp.mpf(6.3), 1 / mp.sqrt(mp.log(4)), 8, 8, erfcinv_weight),
    "erfcinv_far": lambda: fit(erfcinv_rest, one / mp.mpf(27.4), one / 6, 7, 7, erfcinv_weight),
    "lgamma": lambda: fit(lambda v: lgamma_12(1 + v), 0, 3, 7, 8),
    "stirling": lambda: fit(lambda z: stirling(mp.sqrt(z)), 0, one / 9, 4, 4),
    "gamma": lambda: fit(gamma_factor, 0, 1, 8, 8),
    "psi": lambda: fit(lambda v: psi_rest(1 + v), 0, 3, 7, 7),
    "psi_tail": lambda: fit(psi_tail_rest, 0, one / 9, 4, 4),
    "i0": lambda: fit(lambda z: mp.besseli(0, 2 * mp.sqrt(z)), 0, mp.mpf(7.5) ** 2 / 4, 14, 0),
    "i0_large": lambda: fit(lambda t: bessel_i(0)(abs(t + bessel_middle)), -bessel_middle, bessel_middle, 23, 0),
    "i1": lambda: fit(lambda z: mp.besseli(1, 2 * mp.sqrt(z)) / (2 * mp.sqrt(z)) if z else one / 2, 0, mp.mpf(7.5) ** 2 / 4, 14, 0),
    "i1_large": lambda: fit(lambda t: bessel_i(1)(abs(t + bessel_middle)), -bessel_middle, bessel_middle, 23, 0),
    "j0": lambda: fit(bessel_j_small(0), 0, 64, 7, 6),
    "j0_cos": lambda: fit(hankel(0, False), 0, one / 64, 5, 5),
    "j0_sin": lambda: fit(hankel(0, True), 0, one / 64, 4, 5),
    "j1": lambda: fit(bessel_j_small(1), 0, 64, 7, 6),
    "j1_cos": lambda: fit(hankel(1, False), 0, one / 64, 5, 5),
    "j1_sin": lambda: fit(hankel(1, True), 0, one / 64, 4, 5),
    "quantile_single": lambda: fit(quantile_rest, mp.sqrt(mp.log(4)), 38, 2, 2, steps=15),
    "gauss22": lambda: gauss(22),
    "temme": lambda: fit(temme, -one / 20, one / 20, 6, 0),
    "polya_gamma": lambda: fit(polya_gamma_saddle, one / 27, 1, 6, 6, steps=15),
    "cosecant": lambda: fit(cosecant_rest, 0, one / 4, 9, 0),
    "trigamma": lambda: fit(trigamma_tail, 0, 1, 8, 8),
}


def literal(v, single):
    """The shortest decimal number that is v rounded to float64, or to float32."""
    s = repr(float(v))
    if single:
        bits = struct.pack("f", float(v))
        (v,) = struct.unpack("f", bits)
        s = next(t for n in range(1, 10) if struct.pack("f", float(t := repr(float(f"{v:.{n}g}")))) == bits)
    return s[:-2] if s.endswith(".0") else s


def horner(c, x, indent, base, single):
    """The expression; its first line starts at column `indent` of a statement that starts at `base`."""
    monic = float(c[0]) == 1.0
    out = []
    rest = c[1:]
    if len(c) == 1:
        return literal(c[0], single)
    if monic:
        first, rest = x, c[1:]
    else:
        first = f"{literal(c[0], single)} * {x}"
    for k, v in enumerate(rest):
        f = float(v)
        out.append(f" {'-' if f < 0 else '+'} {literal(abs(f), single)})")
        if k + 1 < len(rest):
            out.append(f" * {x}")
    pieces = ["(" * (len(rest)) + first] + out
    text, line = "", " " * indent
    for p in pieces:
        if len(line) + len(p) > (101 if p is pieces[-1] else 100):
            text += line.rstrip() + "\n"
            line = " " * (base + 4) + p.lstrip()
        else:
            line += p
    return (text + line).lstrip()


def rational(fits, base, head):
    """The call, as 'ptgc fmt' has it in a statement that starts at column `base`. fits: (fit, value, is it
    of float32?)"""
    words = []  # of each argument
    for fit, x, single in fits:
        words += [x] + [[literal(v, single) for v in c] for c in fit]
    flat = [w if isinstance(w, str) else "[" + ", ".join(w) + "]" for w in words]
    text = "rational(" + ", ".join(flat) + ")"
    if len(head) + len(text) <= 100:
        return text
    pad, rows = "\n" + " " * (base + 2), []
    for w, row in zip(words, flat):
        if len(pad + row) <= 100:  # and a line feed in front, a comma behind
            rows.append(pad + row)
            continue
        lines = [pad + " "]
        for i, word in enumerate(w):
            word = f" {word}" + ("," if i + 1 < len(w) else "")
            if len(lines[-1]) - 1 + len(word) > 100:
                lines.append(pad + " ")
            lines[-1] += word
        rows.append(f"{pad}[" + "".join(lines) + f"{pad}]")
    return "rational(" + ",".join(rows) + "\n" + " " * base + ")"


def listed(words, base):
    """A float64 vector, as 'ptgc fmt' has it"""
    lines = ["\n" + " " * (base + 1)]
    for i, word in enumerate(words):
        word = f" {word}" + ("," if i + 1 < len(words) else "")
        if len(lines[-1]) - 1 + len(word) > 100:
            lines.append("\n" + " " * (base + 1))
        lines[-1] += word
    return "float64([" + "".join(lines) + "\n" + " " * base + "])"


def rewrite(path, cache):
    lines = open(path, encoding="utf-8").read().split("\n")
    out, i = [], 0
    while i < len(lines):
        out.append(lines[i])
        m = re.match(r"(\s*)# coefficients\.py: (\w+ (?:[pq] )?of \w+(?:, \w+ of \w+)*|\w+ squares|\w+ weights)$", lines[i])
        i += 1
        if not m:
            continue
        fits = [f.split() for f in m.group(2).split(", ")]
        for name, *_ in fits:
            if name not in cache:
                cache[name] = FITS[name]()
        name, part, x = fits[0][0], fits[0][1], fits[0][-1]
        head = re.match(r"(\s*\w+(?:, \w+)* = )", lines[i]).group(1)
        depth = 0
        while True:  # the old statement, over all its lines
            depth += sum(lines[i].count(c) for c in "([") - sum(lines[i].count(c) for c in ")]")
            i += 1
            if depth <= 0:
                break
        base = len(m.group(1))
        if part in ("squares", "weights"):
            text = listed([literal(v, False) for v in cache[name][part == "weights"]], base)
        elif part == "of":
            text = rational([(cache[f[0]], f[-1], f[0].endswith("_single")) for f in fits], base, head)
        else:
            text = horner(cache[name][part == "q"], x, len(head), base, name.endswith("_single"))
        out += (head + text).split("\n")
    return "\n".join(out)


def errors(names):
    global fit
    plain = fit
    for name in names or FITS:
        seen = []

        def spy(f, a, b, p, q, *more, **options):
            seen.append((f, mp.mpf(a), mp.mpf(b)))
            return plain(f, a, b, p, q, *more, **options)
        fit = spy
        P, Q = FITS[name]()
        fit = plain
        f, a, b = seen[0]
        worst = mp.mpf(0)
        for k in range(201):
            x = a + (b - a) * (1 - mp.cos(mp.pi * k / 200)) / 2
            v = f(x)
            e = evaluate(P, x) / evaluate(Q, x) / v - 1
            worst = max(worst, abs(e))
        lo = min(abs(evaluate(Q, a + (b - a) * k / 400)) for k in range(401))
        print(f"{name:12s} {len(P) - 1}/{len(Q) - 1}  2^{float(mp.log(worst, 2)):.1f}  min|Q| {float(lo):.3g} "
              f"coefficients of one sign: P {all(c > 0 for c in P) or all(c < 0 for c in P)} Q {all(c > 0 for c in Q)}")


def main(args):
    if args and args[0] == "--errors":
        return errors(args[1:])
    check = "--check" in args
    cache, changed = {}, False
    for path in [a for a in args if not a.startswith("-")]:
        new = rewrite(path, cache)
        if new != open(path, encoding="utf-8").read():
            changed = True
            if not check:
                open(path, "w", encoding="utf-8").write(new)
    return 1 if check and changed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
