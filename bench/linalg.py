"""Linear algebra of one matrix and of a batch, beside JAX and NumPy

`linalg.py [--sizes n,...] [--batches b,...] [name ...]`: microseconds of one call in float64, with static sizes, for
`b` matrices of n x n (1: without a batch). ONNX Runtime, JAX (jit, LAPACK) and NumPy or SciPy take turns in one
process and one thread, from NumPy arrays to NumPy arrays, and the fastest turn counts. `/ JAX` is ptgc's time divided
by JAX's, and `/ one` is ptgc's time divided by its time for one matrix.

Small matrices have a least cost. A session call without nodes takes some 5 us, and a whole call of JAX on one 4x4 or
8x8 matrix 8 to 10 us. A node on such a matrix takes 0.25 to 0.35 us. A column takes four nodes in Cholesky's
factorisation, five in the elimination with a search for a pivot (2.0 us), and eleven in LU, which moves rows as
LAPACK does.
"""

import argparse
import os
import time

os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")

import jax
import jax.numpy as jnp
import numpy as np
import onnxruntime
import pytensor.tensor as pt
import pytensor.tensor.linalg as ptl
import scipy.linalg
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.linalg.solvers.lstsq import Lstsq

import ptgc

jax.config.update("jax_enable_x64", True)
rng = np.random.default_rng(0)


def definite(batch, n):
    a = rng.normal(size=(*batch, n, n))
    return a @ a.swapaxes(-1, -2) / n + np.eye(n)


def general(batch, n):
    return rng.normal(size=(*batch, n, n)) + 2 * np.eye(n)


def triangle(batch, n):
    return np.tril(general(batch, n)) / np.sqrt(n) + 2 * np.eye(n)


def column(batch, n):
    return rng.normal(size=(*batch, n, 1))


def gradient(f):
    return lambda *a: pt.grad(f(*a).sum(), a[0])


def least_squares(a, b):
    return Blockwise(Lstsq(), signature="(m,n),(m,k),()->(n,k),(r),(),(q)")(a, b, 1e-15)[0]


def stable(batch, n):
    a = general(batch, n)
    return 0.5 * a / np.linalg.norm(a, axis=(-2, -1), ord=2, keepdims=True)


def in_jax_lyapunov(a, q):
    """x = a x a' + q as a linear system: JAX has no function for it"""
    n = a.shape[-1]
    system = jnp.eye(n * n) - jnp.einsum("...ij,...kl->...ikjl", a, a).reshape(*a.shape[:-2], n * n, n * n)
    return jnp.linalg.solve(system, q.reshape(*q.shape[:-2], n * n, 1)).reshape(q.shape)


def each(f):
    """f, which takes single matrices, over a batch"""
    return lambda a, *more: f(a, *more) if a.ndim == 2 else jax.vmap(f)(a, *more)


# name: how arguments are made, PyTensor's, JAX's (None: there is none), NumPy's function (None: no batched one). Vectors of eigenvalues and of
# singular values may have other signs.
CASES = {
    "Cholesky": ([definite], ptl.cholesky, jnp.linalg.cholesky, np.linalg.cholesky),
    "its gradient": ([definite], gradient(ptl.cholesky), jax.grad(lambda a: jnp.linalg.cholesky(a).sum()), None),
    "triangular solve": ([triangle, column], lambda a, b: ptl.solve_triangular(a, b, lower=True, b_ndim=2),
                         lambda a, b: jax.lax.linalg.triangular_solve(a, b, left_side=True, lower=True), None),
    "solve": ([general, column], lambda a, b: ptl.solve(a, b, b_ndim=2), jnp.linalg.solve, np.linalg.solve),
    "inverse": ([general], ptl.inv, jnp.linalg.inv, np.linalg.inv),
    "log determinant": ([general], lambda a: ptl.slogdet(a)[1], lambda a: jnp.linalg.slogdet(a)[1], lambda a: np.linalg.slogdet(a)[1]),
    "LU": ([general], lambda a: ptl.lu(a)[2], lambda a: jnp.triu(jax.lax.linalg.lu(a)[0]), None),
    "QR": ([general], lambda a: ptl.qr(a, mode="r"), lambda a: jnp.linalg.qr(a, mode="r"), lambda a: np.linalg.qr(a, mode="r")),
    "symmetric eigenvalues": ([definite], lambda a: ptl.eigvalsh(a, None), jnp.linalg.eigvalsh, np.linalg.eigvalsh),
    "and eigenvectors": ([definite], lambda a: abs(ptl.eigh(a)[1]), lambda a: abs(jnp.linalg.eigh(a)[1]), lambda a: np.linalg.eigh(a)[1]),
    "singular values": ([general], lambda a: ptl.svd(a, compute_uv=False), lambda a: jnp.linalg.svd(a, compute_uv=False),
                        lambda a: np.linalg.svd(a, compute_uv=False)),
    "SVD": ([general], lambda a: abs(ptl.svd(a)[2]), lambda a: abs(jnp.linalg.svd(a)[2]), lambda a: np.linalg.svd(a)[2]),
    "pseudo-inverse": ([general], ptl.pinv, jnp.linalg.pinv, np.linalg.pinv),
    "least squares": ([general, column], least_squares, each(lambda a, b: jnp.linalg.lstsq(a, b)[0]), None),
    "exponential": ([general], ptl.expm, jax.scipy.linalg.expm, scipy.linalg.expm),
    "Schur form": ([general], lambda a: abs(ptl.schur(a)[0]), None, None),
    "Sylvester": ([definite, definite, general], ptl.solve_sylvester, None, None),
    "discrete Lyapunov": ([stable, definite], ptl.solve_discrete_lyapunov, in_jax_lyapunov, None),
}  # fmt: skip

SLOW = "Schur form", "Sylvester", "discrete Lyapunov"  # seconds a call for large n; JAX's last one has n^4 elements


def calls(name, batch, n):
    """Functions without arguments: ours, JAX's, NumPy's"""
    data, f, in_jax, in_numpy = CASES[name]
    values = [make(batch, n) for make in data]
    args = [pt.tensor(f"x{i}", dtype="float64", shape=v.shape) for i, v in enumerate(values)]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    model = ptgc.compile_onnx(args, f(*args)).model
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    feed = {i.name: v for i, v in zip(session.get_inputs(), values)}
    ours = lambda: session.run(None, feed)
    jitted = in_jax and jax.jit(in_jax)
    theirs = in_jax and (lambda: np.asarray(jitted(*values)))
    if in_jax and name != "its gradient":  # JAX's is symmetric, PyTensor's a lower triangle
        np.testing.assert_allclose(ours()[0], theirs(), rtol=1e-5, atol=1e-7)
    return ours, theirs, in_numpy and (lambda: in_numpy(*values))


def fastest(functions, seconds):
    """Microseconds of each, in turns"""
    best = [np.inf] * len(functions)
    end, turn = time.perf_counter() + seconds * len(functions), 0
    while turn < 3 or time.perf_counter() < end:
        for i, f in enumerate(functions):
            if f:
                start = time.perf_counter()
                f()
                best[i] = min(best[i], time.perf_counter() - start)
        turn += 1
    return [t * 1e6 for t in best]


def main():
    numbers = lambda s: [int(x) for x in s.split(",")]
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--sizes", type=numbers, default=[2, 4, 8, 30, 100, 300])
    parser.add_argument("--batches", type=numbers, default=[1, 4, 64, 512])
    parser.add_argument("--seconds", type=float, default=0.15)
    options = parser.parse_args()
    print("| function | n | b | ptgc | JAX | NumPy | / JAX | / one |\n|---|---|---|---|---|---|---|---|")
    for name in options.names or CASES:
        for n in options.sizes:
            one = None
            for b in options.batches:
                if (b > 1 and b * n > 4096) or (name in SLOW and n > 30):
                    continue
                ours, theirs, numpys = fastest(calls(name, (b,) if b > 1 else (), n), options.seconds)
                one = one or ours
                shown = f"{numpys:.0f}" if np.isfinite(numpys) else ""
                jaxs = (f"{theirs:.0f}", f"{ours / theirs:.1f}") if np.isfinite(theirs) else ("", "")
                print(f"| {name} | {n} | {b} | {ours:.0f} | {jaxs[0]} | {shown} | {jaxs[1]} | {ours / one:.1f} |", flush=True)


if __name__ == "__main__":
    main()
