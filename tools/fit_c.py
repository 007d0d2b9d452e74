#!/usr/bin/env python3
"""Makes the polynomials of lib/c/*.h, with mpmath, and writes them there.

    fit_c.py lib/c/*.h          rewrites the function below each comment "/* fit_c.py: NAME */"
    fit_c.py --check lib/c/*.h  exit 1 if a file would change
    fit_c.py --errors           prints the largest relative error of each fit

The fit NAME becomes ptgc_fit_NAME(x), a polynomial; of a rational fit, the numerator is NAME_p and
the denominator NAME_q, also of the fits of coefficients.py.
gauss22_squares and gauss22_weights are arrays. Fits whose names end in _f are functions of float. Evaluation is by pairs
(Estrin's scheme), which has short chains; the order of the additions is in the text, so that all
compilers have the same bits. The fits are near-minimax: see fit() of coefficients.py.
"""
import re
import sys

import mpmath as mp

import coefficients as base
from coefficients import fit, literal, one, tiny

log2 = mp.log(2)
HALF = log2 / 2 * mp.mpf("1.0001")


def exp_rest(r):
    """(exp(r) - 1 - r)/r^2"""
    return one / 2 + r / 6 if abs(r) < tiny else (mp.expm1(r) - r) / (r * r)


def log_rest(z):
    """(log((1 + s)/(1 - s)) - 2 s)/s^3, z = s^2"""
    s = mp.sqrt(z)
    return 2 * one / 3 if z < tiny else (2 * mp.atanh(s) / s - 2) / z


def log_rest2(z):
    """(log((1 + s)/(1 - s)) - 2 s - 2 s^3/3)/s^5, z = s^2"""
    s = mp.sqrt(z)
    return 2 * one / 5 + z * 2 / 7 if z < mp.mpf(2) ** -30 else (2 * mp.atanh(s) / s - 2 - 2 * z / 3) / (z * z)


def sin_rest(z):
    """(sin(x)/x - 1)/x^2, z = x^2"""
    x = mp.sqrt(z)
    return -one / 6 if z < tiny else (mp.sin(x) / x - 1) / z


def cos_rest(z):
    """(cos(x) - 1 + x^2/2)/x^4, z = x^2"""
    x = mp.sqrt(z)
    return one / 24 - z / 720 if z < mp.mpf(2) ** -30 else (mp.cos(x) - 1 + z / 2) / (z * z)


def asin_rest(z):
    """(asin(x)/x - 1)/x^2, z = x^2"""
    x = mp.sqrt(z)
    return one / 6 if z < tiny else (mp.asin(x) / x - 1) / z


def erf_rest(z):
    """erf(x)/x - 1, z = x^2"""
    return base.erf_ratio(z) - 1


def erfcx_bent(t):
    """erfcx(x) (1 + 2 x) at x = 3 (1 + t)/(1 - t), less 9/8"""
    if t > 1 - mp.mpf(2) ** -60:
        return 2 / mp.sqrt(mp.pi) - one * 9 / 8
    x = 3 * (1 + t) / (1 - t)
    if x > 100:
        return base.erfcx_y(0)(1 / x) / x * (1 + 2 * x) - one * 9 / 8
    return mp.exp(x * x) * mp.erfc(x) * (1 + 2 * x) - one * 9 / 8


def lgamma_less(v):
    """lgamma(1 + v)/(v (v - 1)), less 7/16"""
    return base.lgamma_12(1 + v) - one * 7 / 16


def psi_less(v):
    """psi(1 + v)/(1 + v - root), less 3/4"""
    return base.psi_rest(1 + v) - one * 3 / 4


def trigamma_rest(w):
    """(psi'(x) x - 1) x at x = 1/w"""
    return one / 2 + w / 6 if w < tiny else (base.trigamma_tail(w) - 1) / w


def gamma_rest(w):
    """(gamma(x) e^x x^(1/2 - x) - sqrt(2 pi)) x at x = 1/w"""
    root = mp.sqrt(2 * mp.pi)
    return root / 12 + w * root / 288 if w < tiny else (base.gamma_factor(w) - root) / w


def bessel_j_bent(n):
    """J_n(x)/x^n without its first two zeros, times (x^2 + 20)^2, at x^2 = 32 (1 + t)"""
    f = base.bessel_j_small(n)
    return lambda t: f(32 * (1 + t)) * (32 * (1 + t) + 20) ** 2


def absolute(f, a, b, p, q):
    """As fit(), for functions with zeros in between"""
    return fit(f, a, b, p, q, lambda x: abs(f(x)))


def chebyshev(f, a, b, n):
    """Interpolation in the Chebyshev points: for functions with zeros, where the absolute error counts"""
    return base.interpolate(f, base.chebyshev_points(mp.mpf(a), mp.mpf(b), n + 1), n, 0)


OCTANT = (mp.pi / 4 * mp.mpf("1.001")) ** 2
LOG_END = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2 * mp.mpf("1.001")

FITS = {
    "exp": lambda: fit(exp_rest, -HALF, HALF, 9, 0),
    "exp_near": lambda: fit(exp_rest, -HALF, HALF, 5, 0),
    "log": lambda: fit(log_rest, 0, LOG_END, 6, 0),
    "log_wide": lambda: fit(log_rest2, 0, LOG_END, 7, 0),
    "sin": lambda: fit(sin_rest, 0, OCTANT, 5, 0),
    "cos": lambda: fit(cos_rest, 0, OCTANT, 5, 0),
    "asin": lambda: chebyshev(asin_rest, 0, one / 4, 12),
    "erf_small": lambda: chebyshev(erf_rest, 0, 1, 12),
    "lgamma_less": lambda: absolute(lgamma_less, 0, 3, 8, 8),
    "psi_less": lambda: absolute(psi_less, 0, 3, 7, 7),
    "trigamma_rest": lambda: fit(trigamma_rest, 0, 1, 8, 8),
    "gamma_rest": lambda: fit(gamma_rest, 0, 1, 8, 7),
    "j0_bent": lambda: chebyshev(bessel_j_bent(0), -1, 1, 15),
    "j1_bent": lambda: chebyshev(bessel_j_bent(1), -1, 1, 15),
    "erfcx_bent": lambda: chebyshev(erfcx_bent, -1, 1, 24),
}


def number(v, single):
    s = literal(v, single)
    if not re.search(r"[.e]", s):
        s += ".0"
    return s + "f" if single else s


def polynomial(name, c, single):
    """The C function of the polynomial with coefficients c, highest first."""
    t = "float" if single else "double"
    c = c[::-1]
    out = [f"PTGC_INLINE {t} ptgc_fit_{name}({t} x)", "{"]
    if len(c) == 1:
        return out + [f"\treturn {number(c[0], single)} + 0 * x;", "}"]
    powers, n = [], 2
    while n < len(c):
        powers.append(f"x{n} = " + ("x * x" if n == 2 else f"x{n // 2} * x{n // 2}"))
        n *= 2
    if powers:
        out.append(f"\tconst {t} " + ", ".join(powers) + ";")
    terms, power, level = [number(v, single) for v in c], "x", 0
    while len(terms) > 1:
        pairs = []
        for i in range(0, len(terms), 2):
            if i + 1 == len(terms):
                pairs.append(terms[i])
                continue
            low, high = terms[i], terms[i + 1]
            e = f"{low} - {high[1:]} * {power}" if high.startswith("-") else f"{low} + {high} * {power}"
            if high in ("1.0", "1.0f"):
                e = f"{low} + {power}"
            if len(terms) > 2:
                v = f"{'abcdef'[level]}{i // 2}"
                out.append(f"\tconst {t} {v} = {e};")
                pairs.append(v)
            else:
                out.append(f"\treturn {e};")
                pairs.append(e)
        terms, level = pairs, level + 1
        power = f"x{2 ** level}"
    return out + ["}"]


done = {}


def fitted(name):
    if name not in done:
        done[name] = FITS[name]() if name in FITS else base.FITS[name]()
    return done[name]


def table(name, values):
    """The C array of constants"""
    lines, line = [], "\t"
    for v in values:
        piece = number(v, False) + ", "
        if len(line) + len(piece) > 90:
            lines.append(line.rstrip())
            line = "\t"
        line += piece
    lines.append(line.rstrip(" "))
    body = "\n".join(lines)
    head = f"static const double ptgc_fit_{name}[{len(values)}] = {{"
    return f"/* clang-format off */\n{head}\n{body}\n}};\n/* clang-format on */"


def code(name):
    if name.startswith("gauss22_"):
        return table(name, fitted("gauss22")[["squares", "weights"].index(name[8:])])
    if name in FITS or name in base.FITS:
        return "\n".join(polynomial(name, fitted(name)[0], name.endswith("_f")))
    whole, part = name.rsplit("_", 1)
    return "\n".join(polynomial(name, fitted(whole)["pq".index(part)], whole.endswith("_f")))


def rewrite(text):
    pattern = r"(/\* fit_c\.py: (\w+) \*/\n)(?:PTGC_INLINE (?:.*\n)*?}\n|/\* clang-format off (?:.*\n)*?/\* clang-format on \*/\n)?"
    return re.sub(pattern, lambda m: m.group(1) + code(m.group(2)) + "\n", text)


def main():
    check = "--check" in sys.argv[1:]
    different = 0
    for path in sys.argv[1:]:
        if path.startswith("--"):
            continue
        with open(path, encoding="utf-8") as f:
            old = f.read()
        new = rewrite(old)
        if new != old and check:
            print(f"{path}: not what fit_c.py makes", file=sys.stderr)
            different = 1
        elif new != old:
            with open(path, "w", encoding="utf-8") as f:
                f.write(new)
    return different


if __name__ == "__main__":
    sys.exit(main())
