"""What pytensor.tensor builds from its ops, as users write it: pytensor.function(..., mode="ONNX") with
all of PyTensor's rewrites, values and gradients, against Python mode."""

import warnings

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.tensor.interpolate import interp
from pytensor.tensor.signal import convolve1d
from pytensor.tensor.special import log_softmax, logsumexp, softmax

import ptgc  # noqa: F401  (registers the mode)
from harness import values

pytestmark = pytest.mark.sampled

PYTHON = pytensor.compile.mode.Mode("py", None)  # rewrites join constants in their own dtype
SOME = (2, 7)  # of no elements PyTensor raises

# name: (graph, ranks of its arguments[, lengths])
FLOATS = {
    "var": (lambda x: [pt.var(x, axis=0), pt.var(x, axis=1, ddof=1), pt.var(x)], (2,)),
    "var corrected": (lambda x: pt.var(x, axis=0, keepdims=True, corrected=True), (2,)),
    "std": (lambda x: [pt.std(x, axis=0), pt.std(x, ddof=1)], (2,)),
    "median": (lambda x: [pt.median(x, axis=0), pt.median(x)], (2,), SOME),
    "median of axes": (lambda x: pt.median(x, axis=(0, 1)), (3,), SOME),
    "logsumexp": (lambda x: [logsumexp(x, axis=1), pt.logsumexp(x, axis=0, keepdims=True)], (2,)),
    "logaddexp": (pt.logaddexp, (2, 2)),
    "softmax": (lambda x: [softmax(x, axis=0), log_softmax(x, axis=-1)], (2,), SOME),
    "tril": (lambda x: [f(x, k) for f in (pt.tril, pt.triu) for k in (0, 1, -1)], (2,)),
    "tril of stacks": (lambda x: [pt.tril(x), pt.triu(x, 1)], (3,)),
    "tri": (lambda x: pt.tri(x.shape[0], x.shape[1], 1, dtype=x.dtype) + x, (2,)),
    "roll": (lambda x: [pt.roll(x, 2, axis=0), pt.roll(x, -3, axis=1)], (2,)),
    "roll flat": (lambda x: pt.roll(x, 5), (2,), SOME),
    "flip": (lambda x: [pt.flip(x), pt.flip(x, 0)], (2,)),
    "tile": (lambda x: [pt.tile(x, (2, 3)), pt.tile(x, (2, 1, 3))], (2,)),
    "repeat": (lambda x: [pt.repeat(x, 3, axis=0), pt.repeat(x, 2), pt.repeat(x, pt.arange(x.shape[0]), axis=0)], (2,)),
    "pad, values": (lambda x: pt.pad(x, ((1, 2), (0, 3)), constant_values=((1, 2), (3, 4))), (2,)),
    "pad, statistics": (lambda x: [pt.pad(x, 2, mode=m, stat_length=2) for m in ("mean", "maximum", "minimum")], (2,), SOME),
    "pad, ramp": (lambda x: [pt.pad(x, 2, mode=m) for m in ("linear_ramp", "edge", "constant")], (2,), SOME),
    "pad, periodic": (lambda x: [pt.pad(x, ((1, 2), (0, 3)), mode=m) for m in ("wrap", "symmetric", "reflect")], (2,), SOME),
    "sort": (lambda x: [pt.sort(x, axis=0), pt.sort(x, axis=None)], (2,)),
    "diff": (lambda x: [pt.diff(x), pt.diff(x, n=2, axis=0)], (2,), SOME),
    "bincount, weights": (lambda x: pt.bincount(abs(x.astype("int64")) % 5, weights=x), (1,), SOME),
    "einsum": (lambda x, y: [pt.einsum("ij,kj->ik", x, y), pt.einsum("ij->j", x), pt.einsum("...i,...i->...", x, y)], (2, 2)),
    "einsum of squares": (lambda x, y: [pt.einsum(s, x[:, : x.shape[0]], y[:, : y.shape[0]]) for s in ("ij,jk", "ij,ji->", "ii,jk->ik")], (2, 2)),
    "einsum of stacks": (lambda x, y: pt.einsum("bij,bkj->bik", x, y), (3, 3)),
    "tensordot": (lambda x, y: [pt.tensordot(x, y, axes=[[1, 0], [1, 0]]), pt.tensordot(x, y, axes=0)], (2, 2)),
    "products": (lambda x, y: [pt.outer(x[0], y[0]), pt.vecdot(x, y), pt.matvec(x, y[0]), pt.vecmat(x[:, 0], y)], (2, 2), SOME),
    "block_diag": (pt.linalg.block_diag, (2, 2)),
    "kron": (pt.linalg.kron, (2, 2)),
    "norm": (lambda x: [pt.linalg.norm(x, "fro"), pt.linalg.norm(x, ord=3, axis=0), pt.linalg.norm(x[0])], (2,), SOME),
    "trace": (lambda x: [pt.linalg.trace(x), pt.diag(x, 1)], (2,), SOME),
    "diagonal": (lambda x: pt.diagonal(x, axis1=0, axis2=2, offset=-1), (3,), SOME),
    "fill_diagonal": (lambda x: [pt.fill_diagonal(x, 3), pt.fill_diagonal_offset(x, 2, 1)], (2,), SOME),
    "interp": (lambda x, y, z: interp(x, pt.sort(y), z), (1, 1, 1), SOME),
    "linspace": (lambda x: [pt.linspace(x, 2 * x + 1, 5), pt.linspace(x, x + 1, 4, endpoint=False)], (1,)),
    "cumsum": (lambda x: [pt.cumsum(x, axis=0), pt.cumprod(x)], (2,)),
    "reductions": (lambda x: [pt.prod(x, axis=0), pt.mean(x, axis=(0, 1)), pt.mean(x, axis=1, keepdims=True)], (2,)),
    "extremes": (lambda x: [pt.ptp(x, axis=0), pt.max(x, axis=1), pt.min(x)], (2,), SOME),
    "joining": (lambda x, y: [pt.stack([x, y], axis=1), pt.concatenate([x, y], axis=-1)], (2, 2)),
    "split": (lambda x: pt.split(x, pt.stack([1, x.shape[0] - 1]), n_splits=2, axis=0), (2,), SOME),
    "axes": (lambda x: [pt.moveaxis(x, 0, -1), pt.swapaxes(x, 0, 2), x.ravel(), pt.atleast_3d(x[0])], (3,), SOME),
    "broadcasting": (lambda x, y: [*pt.broadcast_arrays(x[:, None], y[None]), pt.broadcast_to(x, (3, x.shape[0]))], (1, 1)),
    "choices": (lambda x, y: [pt.where(x > y, x, y), pt.clip(x, -1, y), pt.maximum(x, y), pt.minimum(x, 0)], (2, 2)),
    "take": (lambda x: [pt.take(x, [0, -1, 0], axis=1), pt.take(x, [[0, -1]])], (2,), SOME),
    "take_along_axis": (lambda x: pt.take_along_axis(x, pt.argsort(x, axis=0), axis=0), (2,)),
    "updates": (lambda x: [x[1:].set(0), x[::-2, -1].inc(2), x[pt.arange(x.shape[0]) % 2].inc(1)], (2,), SOME),
    "masks": (lambda x: [x[x > 0].set(-1), x[x > 0]], (2,)),
    "convolve1d": (lambda x, y: [convolve1d(x, y, mode=m) for m in ("full", "same", "valid")], (1, 1), SOME),
    "powers": (lambda x: [(abs(x) + 1) ** x, pt.sqr(x), pt.expit(x)], (1,)),
}
NO_GRADIENT = {
    "tril_indices": (lambda x: [*pt.tril_indices(x.shape[0], k=-1), *pt.triu_indices_from(x)], (2,)),
    "searchsorted": (lambda x, y: [pt.searchsorted(pt.sort(x), y), pt.searchsorted(pt.sort(x), y, side="right")], (1, 2)),
    "searchsorted, sorter": (lambda x, y: pt.searchsorted(x, y, sorter=pt.argsort(x)), (1, 1)),
    "argsort": (lambda x: pt.argsort(x, axis=1, kind="stable"), (2,)),
    "bincount": (lambda x: [pt.bincount(abs(x.astype("int64")) % 5, minlength=k) for k in (0, 9)], (1,), SOME),
    "close": (lambda x, y: [pt.isclose(x, y), pt.allclose(x, x)], (2, 2)),
    "nonzero": (lambda x: [*pt.nonzero(x), pt.flatnonzero(x)], (2,)),
    "unique": (lambda x: pt.unique(x, return_index=True, return_inverse=True, return_counts=True), (1,)),
    "choose": (lambda x, y: pt.choose((x > 0).astype("int64"), pt.stack([x, y])), (1, 1)),
    "unravel_index": (lambda x: pt.unravel_index(pt.arange(x.shape[0]), (3, 4)), (1,)),
    "ravel_multi_index": (lambda x: pt.ravel_multi_index((pt.arange(x.shape[0]),) * 2, (9, 9)), (1,)),
    "divmod": (pt.divmod, (1, 1)),
    "ranges": (lambda x: [pt.arange(x.shape[0], 0, -1), *pt.mgrid[0 : x.shape[0], 0:3], *pt.ogrid[0 : x.shape[0], 0:3]], (1,)),
    "spaces": (lambda x: [pt.geomspace(abs(x) + 1, 100.0, 5), pt.logspace(x * 0, x * 0 + 2, 4)], (0,)),
    "any and all": (lambda x: [pt.any(x > 0, axis=0), pt.all(x > 0, axis=1), pt.any(x > 0)], (2,)),
    "argmax": (lambda x: [pt.argmax(x, axis=0), pt.argmin(x, axis=1), *pt.max_and_argmax(x, axis=1)], (2,), SOME),
}


def listed(v):
    return list(v) if isinstance(v, list | tuple) else [v]


def compare(inputs, outputs, ranks, lengths, dtype):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        onnx = pytensor.function(inputs, outputs, mode="ONNX", on_unused_input="ignore")
        python = pytensor.function(inputs, outputs, mode=PYTHON, on_unused_input="ignore")
        for n in lengths:
            args = [values(dtype, tuple(n + (k if n else 0) for k in range(r)), n + i, -3, 3) for i, r in enumerate(ranks)]
            for k, (got, want) in enumerate(zip(onnx(*args), python(*args), strict=True)):
                assert (got.dtype, got.shape) == (want.dtype, want.shape), (n, k)
                if got.dtype.kind == "f":
                    close = 1e-12 if dtype == "float64" else 2e-5
                    np.testing.assert_allclose(got, want, close, close, err_msg=f"output {k}, length {n}")
                else:
                    np.testing.assert_array_equal(got, want, err_msg=f"output {k}, length {n}")


def build(case, dtype):
    graph, ranks, *lengths = case
    inputs = [pt.tensor(f"x{k}", dtype=dtype, shape=(None,) * r) for k, r in enumerate(ranks)]
    return inputs, listed(graph(*inputs)), ranks, lengths[0] if lengths else (0, 2, 7)


@pytest.mark.parametrize("name", FLOATS | NO_GRADIENT)
def test_values(name):
    compare(*build((FLOATS | NO_GRADIENT)[name], "float64"), "float64")


@pytest.mark.parametrize("name", ["tile", "roll", "flip", "einsum", "choices", "updates", "masks", "joining", "searchsorted", "unique", "argmax", "tril"])
@pytest.mark.parametrize("dtype", ["int64", "float32"])
def test_other_dtypes(name, dtype):
    compare(*build((FLOATS | NO_GRADIENT)[name], dtype), dtype)


@pytest.mark.parametrize("name", FLOATS)
def test_gradients(name):
    inputs, outputs, ranks, lengths = build(FLOATS[name], "float64")
    cost = sum((pt.sqr(o) * 0.1 + o).sum() for o in outputs)
    gradients = pytensor.grad(cost, inputs, disconnected_inputs="ignore")
    compare(inputs, gradients, ranks, tuple(n for n in lengths if n), "float64")
