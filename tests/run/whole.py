"""Whole expressions on inputs that cancel: what they are in PyTensor and in mpmath, and the sizes of what they add up."""

import mpmath as mp
import numpy as np
import pytensor
import pytensor.tensor as pt

import ptgc
from harness import PYTHON

EXP, LOG, LOG1P, MPF = (np.frompyfunc(f, 1, 1) for f in (mp.exp, mp.log, mp.log1p, mp.mpf))
N = 1000


def near(x, spread):
    """Numbers around x, half of them with the other sign if the spread is negative"""
    return lambda rng: (x + abs(spread) * rng.integers(-4, 5, N) / 4) * (rng.choice([-1, 1], N) if spread < 0 else 1)


def number(x):
    return lambda rng: np.array(x)


def softplus(x):
    return LOG1P(EXP(-abs(x))) + np.maximum(x, 0)


def recurrence(x, a, m=abs):
    s = mp.mpf(0)
    for v in x:
        s = m(a) * s + m(v)
    return s


def steps(x, a):
    return pytensor.scan(lambda v, s, a: a * s + v, sequences=[x], outputs_info=[pt.zeros((), x.dtype)], non_sequences=[a], return_updates=False)[-1]


# name: (the expression in PyTensor, in mpmath, the sizes of what it adds up and rounds, inputs)
WHOLE = {
    "(x * x - u).sum()": (lambda x, u: (x * x - u).sum(), lambda x, u: (x * x - u).sum(), lambda x, u: abs(x * x - u).sum(), (near(4000, 4), number(16e6))),
    "(x * y - z).sum()": (
        lambda x, y, z: (x * y - z).sum(), lambda x, y, z: (x * y - z).sum(), lambda x, y, z: (abs(x * y) + abs(x * y - z)).sum(),
        (near(3.3, -1.1), near(1.7, 0.3), near(5.6, -2.2))),
    "x.mean()": (lambda x: x.mean(), lambda x: x.mean(), lambda x: abs(x).mean(), (near(1000, -3.1),)),
    "x.var()": (
        lambda x: x.var(), lambda x: ((x - x.mean()) ** 2).mean(), lambda x: ((x - x.mean()) ** 2 + 2 * abs(x - x.mean()) * abs(x.mean())).mean(),
        (near(1000, 3.1),)),
    "softmax(x)[0]": (
        lambda x: pt.special.softmax(x)[0], lambda x: EXP(x[0]) / EXP(x).sum(), lambda x: EXP(x[0]) / EXP(x).sum() * (1 + abs(x - x.max()).max()),
        (near(30, 7.3),)),
    "logsumexp(x)": (
        lambda x: pt.logsumexp(x), lambda x: mp.log(EXP(x).sum()), lambda x: 1 + abs(x).max() + abs(mp.log(EXP(x - x.max()).sum())), (near(-6.9, 0.3),)),
    "x @ A @ x": (
        lambda x, y: x @ (pt.outer(y, y) - 2 * pt.eye(N, dtype=x.dtype)) @ x, lambda x, y: (x * y).sum() ** 2 - 2 * (x * x).sum(),
        lambda x, y: abs(x * y).sum() ** 2 + 2 * (x * x).sum(), (near(1.3, -0.7), near(0.1, -0.03))),
    "normal log density": (
        lambda x, m, s: (-0.5 * ((x - m) / s) ** 2 - pt.log(s) - 0.91796875).sum(),
        lambda x, m, s: (-(((x - m) / s) ** 2) / 2 - mp.log(s) - mp.mpf(0.91796875)).sum(),
        lambda x, m, s: (((x - m) / s) ** 2 + abs(mp.log(s)) + 1).sum(), (near(3.3, 1.1), number(3.1), number(0.25))),
    "logistic log density": (
        lambda x, y: (x * y - pt.softplus(x)).sum(), lambda x, y: (x * y - softplus(x)).sum(), lambda x, y: (abs(x * y) + softplus(x)).sum(),
        (near(3.3, -3.1), lambda rng: rng.integers(0, 2, N) * 1.0)),
    "s = a * s + v, 1000 steps": (steps, lambda x, a: recurrence(x, a, lambda v: v), recurrence, (near(1.3, -0.3), number(0.97))),
}  # fmt: skip


def errors(name, dtype, levels):
    """Largest errors of PyTensor and at these levels for some inputs, in units of half an eps times the sizes"""
    build, true, sizes, draws = WHOLE[name]
    worst = np.zeros(1 + len(levels))
    inputs = [pt.tensor(f"x{i}", dtype=dtype, shape=d(np.random.default_rng(0)).shape) for i, d in enumerate(draws)]
    out = build(*inputs)
    runs = [pytensor.function(inputs, out, mode=PYTHON)]
    runs += [pytensor.function(inputs, out, mode=ptgc.onnx_mode(math=level)) for level in levels]
    for seed in range(5):
        args = [d(np.random.default_rng([seed, i])).astype(dtype) for i, d in enumerate(draws)]
        with mp.workdps(60):
            wide = [MPF(a.astype("float64")) for a in args]
            want, size = true(*wide), sizes(*wide)
            found = [abs(mp.mpf(float(f(*args))) - want) / (size * float(np.finfo(dtype).eps) / 2) for f in runs]
        worst = np.maximum(worst, [float(e) for e in found])
    return worst
