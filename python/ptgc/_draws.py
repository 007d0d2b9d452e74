"""PyMC's own random variables, which draw by SciPy in Python, as graphs of PyTensor's: the same draws, as SciPy
takes them from NumPy's generator. PyMC is not imported: they are found by the names of their classes."""

from functools import partial

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.raise_op import CheckAndRaise
from pytensor.tensor.elemwise import DimShuffle
from pytensor.tensor.random import basic as draw
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.random.utils import compute_batch_shape
from pytensor.tensor.type_other import NoneTypeT

ROOT2 = np.sqrt(2)
Draw = tuple[Variable, Variable]  # the generator that is left, and the numbers


def of(op, rng, size, *params) -> Draw:
    return op(*params, size=size, rng=rng, dtype=op.dtype.replace("floatX", "float64"), return_next_rng=True)


def shape_of(size, *params, core=0) -> Variable:
    """The size, or what it is where it is left out; core: the rank of one item of the parameters."""
    return compute_batch_shape(params, ndims_params=[core] * len(params)) if size is None else size


def checked(x: Variable, good: Variable, what: str) -> Variable:
    """x; SciPy's error where a parameter is not good."""
    return CheckAndRaise(ValueError, f"Domain error in arguments of {what}")(x, pt.all(good))


def beta_clipped(rng, size, alpha, beta) -> Draw:
    rng, x = of(draw.beta, rng, size, alpha, beta)
    return rng, pt.clip(x, np.nextafter(0.0, 1.0), np.nextafter(1.0, 0.0))


def discrete_uniform(rng, size, lower, upper) -> Draw:
    return of(draw.integers, rng, size, lower, upper + 1)


def wald(rng, size, mu, lam, alpha) -> Draw:
    rng, x = of(draw.wald, rng, size, mu, lam)
    if size is None and not any(v.type.ndim for v in (mu, lam, alpha)):
        x = pt.cast(x, alpha.type.dtype)  # NumPy gives a Python float, which takes the dtype of what is added
    return rng, x + alpha


def moyal(rng, size, mu, sigma) -> Draw:
    size = shape_of(size, mu, sigma)
    rng, x = of(draw._gamma, rng, size, 0.5, 2.0)
    return rng, -pt.log(x) * checked(sigma, sigma >= 0, "moyal") + mu


def rice(rng, size, b, sigma) -> Draw:
    size = shape_of(size, b, sigma)
    rng, x = of(draw.normal, rng, pt.concatenate([[2], size]), 0.0, 1.0)
    x = pt.sqrt(pt.sum((b / np.sqrt(2) + x) ** 2, axis=0))
    return rng, x * checked(sigma, (sigma >= 0) & (b >= 0), "rice")


def skew_normal(rng, size, mu, sigma, alpha) -> Draw:
    size = shape_of(size, mu, sigma, alpha)
    rng, x = of(draw.normal, rng, size, 0.0, 1.0)
    rng, y = of(draw.normal, rng, size, 0.0, 1.0)
    d = alpha / pt.sqrt(1 + alpha**2)
    y = d * x + y * pt.sqrt(1 - d**2)
    return rng, pt.switch(x >= 0, y, -y) * checked(sigma, sigma >= 0, "skewnorm") + mu


def skew_student_t(rng, size, a, b, mu, sigma) -> Draw:
    rng, x = of(draw.beta, rng, size, a, b)
    x = (2 * x - 1) * pt.sqrt(a + b) / (2 * pt.sqrt(x * (1 - x)))
    return rng, x * checked(sigma, (sigma >= 0) & (a > 0) & (b > 0), "jf_skew_t") + mu


def matrix_normal(rng, size, mu, row, column) -> Draw:
    size = shape_of(size, mu, row, column, core=2)
    rng, x = of(draw.normal, rng, pt.concatenate([size, [row.shape[-2], column.shape[-2]]]), 0.0, 1.0)
    return rng, mu + row @ (x @ column.mT)


def stick_breaking_weights(rng, size, alpha, k) -> Draw:
    size = shape_of(size, alpha)
    k = k.squeeze()
    rng, betas = of(draw.beta, rng, pt.concatenate([size, [k]]), 1, alpha[..., None])
    sticks = pt.concatenate([pt.ones_like(betas[..., :1]), pt.cumprod(1 - betas[..., :-1], axis=-1)], axis=-1)
    weights = sticks * betas
    return rng, pt.concatenate([weights, 1 - weights.sum(axis=-1, keepdims=True)], axis=-1)


def log_cdf(x: Variable) -> Variable:
    """The logarithm of the normal distribution function"""
    return pt.switch(x < -1, pt.log(pt.erfcx(-x / ROOT2) / 2) - x**2 / 2, pt.log1p(-pt.erfc(x / ROOT2) / 2))


def inverse_log_cdf(y: Variable) -> Variable:
    """The x of which y is log_cdf; in the far tail by Newton's method"""
    near, middle, far = y > -0.145, pt.maximum(y, -40), pt.minimum(y, -30)
    x = -pt.sqrt(-2 * far - pt.log(2 * np.pi * -2 * far))
    for _ in range(3):
        x -= (log_cdf(x) - far) * pt.erfcx(-x / ROOT2) * np.sqrt(np.pi / 2)
    p = pt.switch(near, -pt.expm1(middle), pt.exp(middle))
    return pt.switch(y < -32, x, pt.switch(near, ROOT2, -ROOT2) * pt.erfcinv(2 * p))


def log_mass(a: Variable, b: Variable) -> Variable:
    """The logarithm of what the normal distribution has between a and b"""
    right = a > 0
    low, high = log_cdf(pt.switch(right, -b, a)), log_cdf(pt.switch(right, -a, b))
    tail = high + pt.log1mexp(low - high)
    center = pt.log1p(-(pt.erfc(-a / ROOT2) + pt.erfc(b / ROOT2)) / 2)
    return pt.switch(right | (b <= 0), tail, center)


def truncated_normal(rng, size, mu, sigma, lower, upper) -> Draw:
    rng, u = of(draw.uniform, rng, shape_of(size, mu, sigma, lower, upper), 0.0, 1.0)
    a, b = (pt.cast((x - mu) / sigma, "float64") for x in (lower, upper))
    left = a < 0
    outside = log_cdf(pt.switch(left, a, -b))
    inside = pt.switch(left, pt.log(u), pt.log1p(-u)) + log_mass(a, b)
    x = inverse_log_cdf(pt.maximum(outside, inside) + pt.log1p(pt.exp(-pt.abs(outside - inside))))
    sigma = checked(pt.cast(sigma, "float64"), (sigma >= 0) & (a < b), "truncnorm")
    return rng, pt.switch(left, x, -x) * sigma + pt.cast(mu, "float64")


def interpolated(rng, size, x, pdf, cdf) -> Draw:
    x, pdf, cdf = (v.squeeze(tuple(range(v.type.ndim - 1))) for v in (x, pdf, cdf))
    rng, p = of(draw.uniform, rng, size, 0.0, 1.0)
    i = pt.searchsorted(cdf, p) - 1
    slope = (pdf[i + 1] - pdf[i]) / (x[i + 1] - x[i])
    small = pt.switch(pt.abs(pdf[i]) <= 1e-8, 0.0, (p - cdf[i]) / pdf[i])
    large = (-pdf[i] + pt.sqrt(pdf[i] ** 2 + 2 * slope * (p - cdf[i]))) / slope
    return rng, x[i] + pt.switch(pt.abs(slope) <= 1e-8, small, large)


def car(rng, size, mu, w, alpha, tau, valid, *, links) -> Draw:
    """PyMC solves a banded system in the order of reverse_cuthill_mckee, in which the normal numbers stand. The order
    is known where the links between sites are. As in PyMC the band ends before the first diagonal that is all 0."""
    from scipy import sparse

    links = sparse.csr_matrix(links)
    degrees = np.asarray(links.sum(axis=0)).ravel()
    precision = sparse.csr_matrix(sparse.diags(degrees) - 0.5 * links)
    order = sparse.csgraph.reverse_cuthill_mckee(precision, symmetric_mode=True)
    ordered, n = precision[order, :][:, order], len(degrees)
    width = next((u for u in range(1, n) if not ordered.diagonal(u).any()), n)
    place = np.argsort(order)
    near = np.abs(place[:, None] - place) < width
    alpha, tau = (pt.cast(v.squeeze(tuple(range(v.type.ndim))), "float64") for v in (alpha, tau))
    alpha = CheckAndRaise(ValueError, "the domain of alpha is: -1 < alpha < 1")(alpha, (alpha > -1) & (alpha < 1))
    alpha = CheckAndRaise(ValueError, "W must be a valid adjacency matrix")(alpha, pt.all(valid))
    alpha = CheckAndRaise(ValueError, "alpha is 0, where PyMC reads its band in a wrong way")(alpha, pt.neq(alpha, 0))
    q = tau * (np.diag(degrees) - alpha * (links.toarray() * near))
    if size is not None:
        mu = pt.broadcast_to(mu, (*(size[i] for i in range(size.type.shape[0])), mu.shape[-1]))
    rng, z = of(draw.normal, rng, pt.stack(list(mu.shape)), 0.0, 1.0)
    x = pt.linalg.solve(q, z[..., place].reshape((-1, n)).T, assume_a="pos").T
    x = CheckAndRaise(np.linalg.LinAlgError, "the precision matrix is not positive definite")(x, pt.all(pt.isfinite(x)))
    return rng, x.reshape(mu.shape, ndim=mu.type.ndim) + mu


def constant_matrix(v: Variable) -> np.ndarray:
    while v.owner is not None and isinstance(v.owner.op, DimShuffle):
        v = v.owner.inputs[0]
    if not isinstance(v, Constant) or not isinstance(v.data, np.ndarray):
        raise TypeError("SciPy orders the sites by W, which must be a constant that is not sparse")
    return v.data.reshape(v.data.shape[-2:]).astype("float64")


DRAWS = {
    "pymc.distributions.continuous.BetaClippedRV": beta_clipped,
    "pymc.distributions.continuous.InterpolatedRV": interpolated,
    "pymc.distributions.continuous.MoyalRV": moyal,
    "pymc.distributions.continuous.RiceRV": rice,
    "pymc.distributions.continuous.SkewNormalRV": skew_normal,
    "pymc.distributions.continuous.SkewStudentTRV": skew_student_t,
    "pymc.distributions.continuous.TruncatedNormalRV": truncated_normal,
    "pymc.distributions.continuous.WaldRV": wald,
    "pymc.distributions.discrete.DiscreteUniformRV": discrete_uniform,
    "pymc.distributions.multivariate.CARRV": car,
    "pymc.distributions.multivariate.MatrixNormalRV": matrix_normal,
    "pymc.distributions.multivariate.StickBreakingWeightsRV": stick_breaking_weights,
}


def graph_of_draw(node: Apply) -> FunctionGraph | None:
    """What a random variable of PyMC's draws, as a graph of the node's inputs but a size that is None."""
    kind = type(node.op)
    build = DRAWS.get(f"{kind.__module__}.{kind.__qualname__}") if isinstance(node.op, RandomVariable) else None
    if build is None:
        return None
    if build is car:
        build = partial(car, links=constant_matrix(node.inputs[3]))
    rng, size, *params = inputs = [v if isinstance(v.type, NoneTypeT) else v.type() for v in node.inputs]
    left, x = build(rng, None if isinstance(size.type, NoneTypeT) else size, *params)
    x = pt.specify_shape(pt.cast(x, node.op.dtype), node.outputs[1].type.shape)
    return FunctionGraph([v for v in inputs if not isinstance(v.type, NoneTypeT)], [left, x], clone=False)
