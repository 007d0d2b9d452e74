"""Random PyTensor graphs with values: `Graph` draws typed inputs and adds op after op, all of which its values allow."""

import numpy as np
import pytensor.tensor as pt
from evaluated import Evaluated
from harness import ALL, FLOATS, INTS, UINTS, corner_values
from pytensor import scalar
from pytensor.compile.builders import OpFromGraph
from pytensor.compile.ops import deep_copy_op, view_op
from pytensor.gradient import disconnected_grad
from pytensor.graph.replace import vectorize_graph
from pytensor.graph.traversal import ancestors
from pytensor.raise_op import Assert
from pytensor.tensor.elemwise import CAReduce
from pytensor.tensor.math import ProdWithoutZeros
from pytensor.tensor.reshape import join_dims, split_dims
from pytensor.tensor.signal.conv import convolve1d, convolve2d

SIZES = (0, 1, 2, 7)
MAX_SIZE = 400  # elements of any value

# Elementwise ops: what they are called here, how many arguments, of which kinds, and whether rounded once
KINDS = {"b": ("bool",), "i": INTS + UINTS, "f": FLOATS}
EXACT = {
    "add": 2, "sub": 2, "mul": 2, "neg": 1, "abs": 1, "sqr": 1, "sign": 1, "maximum": 2, "minimum": 2, "eq": 2, "neq": 2,
    "lt": 2, "le": 2, "gt": 2, "ge": 2, "switch": 3, "true_div": 2, "int_div": 2, "mod": 2, "reciprocal": 1, "sqrt": 1,
    "floor": 1, "ceil": 1, "trunc": 1, "round": 1, "isnan": 1, "isinf": 1, "and_": 2, "or_": 2, "xor": 2, "invert": 1,
    "second": 2, "clip": 3,
}  # fmt: skip
ROUNDED = ("exp", "log", "log1p", "expm1", "sin", "cos", "tanh", "arctan", "sinh", "sigmoid", "softplus", "erf", "exp2", "log2", "log10",
           "cosh", "tan", "arcsin", "arccos", "arcsinh", "arccosh", "arctanh", "log1mexp", "erfc", "deg2rad", "rad2deg", "xlogx")  # fmt: skip
NO_BOOL = {"sub", "neg", "sqr", "sign", "maximum", "minimum", "reciprocal", "sqrt", "clip", "abs", "floor", "ceil", "trunc", "round",
           "int_div", "mod", "true_div"}  # fmt: skip
INTEGRAL = {"and_", "or_", "xor", "invert"}
FLOATING = {"reciprocal", "sqrt", "floor", "ceil", "trunc", "round", "isnan", "isinf"}


class NoneSuch(Exception):
    """No value of the pool is of the kind that an op takes."""


class Graph:
    """pick(n): a drawn integer from 0 to n - 1. math: the level of numerics; below exact there is no float16, which
    is rounded elsewhere then, no number that overflows when constants are joined, and at native no NaN or infinity.
    dtypes, ops: those that are drawn from, if not all."""

    def __init__(self, pick, math="exact", dtypes=(), ops=()):
        self.pick, self.inputs, self.pool, self.all, self.math = pick, [], [], Evaluated(math), math
        self.dtypes = dtypes or (ALL if math == "exact" else tuple(d for d in ALL if d != "float16"))
        self.usual = dtypes or ("float64", "float32", "int64", "bool")
        self.ops = ops or OPS

    def choose(self, items):
        items = list(items)
        return items[self.pick(len(items))]

    # values and types

    def numbers(self, dtype, shape):
        rng = np.random.default_rng(self.pick(1000))
        d, n = np.dtype(dtype), int(np.prod(shape))
        if d.kind == "b":
            v = rng.integers(0, 2, n).astype(bool)
        elif d.kind in "iu":
            v = rng.integers(-4 if d.kind == "i" else 0, 9, n).astype(d)
        else:
            v = (rng.integers(-20, 20, n) / 4 if self.pick(2) else rng.normal(size=n) * 3).astype(d)
        if n and d.kind != "b" and not self.pick(3):
            v[rng.integers(0, n)] = rng.choice([k for k in corner_values(dtype) if self.is_tame(k)])
        return v.reshape(shape)

    def is_tame(self, x):
        """May such numbers be in a graph?"""
        x = np.asarray(x)
        if x.dtype.kind != "f" or self.math == "exact":
            return True
        size = np.abs(x.astype("float64"))
        return not ((size > 1e12) & (size < np.inf) | (size > 0) & (size < 1e-12)).any() and (self.math == "standard" or np.isfinite(x).all())

    def input(self):
        shape = tuple(self.choose(SIZES[1:] + (3,) if self.pick(5) else SIZES) for _ in range(self.choose((0, 1, 1, 2, 2, 2, 3, 3, 4))))
        dtype = self.choose(self.dtypes if self.pick(2) else self.usual)
        static = tuple(n if self.pick(2) else None for n in shape)
        value = self.numbers(dtype, shape)
        if not self.pick(4):
            v = pt.constant(value, dtype=dtype)
        else:
            v = pt.tensor(f"x{len(self.inputs)}", dtype=dtype, shape=static)
            self.inputs.append(v)
        self.all.set(v, value)
        self.pool.append(v)
        return v

    def value(self, v):
        return np.asarray(self.all.value[v])

    def exact(self, v):
        return not self.all.error[v].any()

    def of(self, kinds="bif", rank=None, exact=False, where=None):
        """A value of the pool of such a kind."""
        found = [
            v for v in self.pool[-12:]
            if v.dtype in sum((KINDS[k] for k in kinds), ()) and (rank is None or v.ndim in rank)
            and (not exact or self.exact(v)) and (where is None or where(v))
        ]  # fmt: skip
        if not found:
            raise NoneSuch
        return self.choose(found)

    def fits(self, a):
        """Is b broadcast against a as PyTensor allows it?"""
        def test(b):
            for n, m, p, q in zip(a.type.shape[::-1], b.type.shape[::-1], self.value(a).shape[::-1], self.value(b).shape[::-1]):
                if p != q and n != 1 and m != 1:
                    return False
            size = np.prod(np.broadcast_shapes(self.value(a).shape, self.value(b).shape))
            return size <= MAX_SIZE
        return test

    def number(self, low, high, dtype="int64"):
        """An integer from low to high: a constant, or a scalar input."""
        k = low + self.pick(high - low + 1)
        if self.pick(3):
            return k
        v = pt.tensor(f"x{len(self.inputs)}", dtype=dtype, shape=())
        self.inputs.append(v)
        self.all.set(v, np.array(k, dtype))
        return v

    def add(self):
        """One more op; False: none of that kind is possible here."""
        build = getattr(self, self.choose(self.ops))
        try:
            out = build()
        except (NoneSuch, TypeError, ValueError, IndexError, NotImplementedError):
            return False  # PyTensor has no such op
        out = [v for v in (out if isinstance(out, list | tuple) else [out]) if v is not None]
        known = len(self.all.value)
        try:
            with np.errstate(all="ignore"):
                self.all.run(out)
        except Exception:
            return False  # PyTensor does not compute it
        if not all(self.is_tame(x) for x in list(self.all.value.values())[known:]):
            return False
        # PyTensor types a Reshape of nothing to a computed shape wrongly: such a value is no argument of what checks types
        out = [v for v in out if self.value(v).size <= MAX_SIZE and self.value(v).dtype == v.dtype and self.is_typed(v)]
        self.pool += out
        return bool(out)

    def is_typed(self, v):
        return all(n in (None, k) for n, k in zip(v.type.shape, self.value(v).shape, strict=True))

    # ops

    def elementwise(self):
        name = self.choose(EXACT)
        kinds = "i" if name in INTEGRAL and self.pick(3) else "b" if name in INTEGRAL else "f" if name in FLOATING else "if" if name in NO_BOOL else "bif"
        if name == "switch":
            cond = self.of("bi", exact=True)
            a = self.of(where=self.fits(cond))
            b = self.of(where=lambda v: self.fits(cond)(v) and self.fits(a)(v))
            return pt.switch(cond, a, b)
        a = self.of(kinds)
        others = [self.of(kinds if name in INTEGRAL or name in NO_BOOL else "bif", where=self.fits(a)) for _ in range(EXACT[name] - 1)]
        if len(others) == 2 and not self.fits(others[0])(others[1]):
            return None
        return getattr(pt, name)(a, *others)

    def several(self):
        a = self.of("if")
        b = self.of("if", where=self.fits(a))
        c = self.of("if", where=lambda v: self.fits(a)(v) and self.fits(b)(v))
        return self.choose((pt.add, pt.mul))(a, b, c)

    def rounded(self):
        return getattr(pt, self.choose(ROUNDED))(self.of("f" if self.pick(4) else "if", exact=True))

    def power(self):
        x = self.of("if", exact=True)
        # np.power takes a root for 0.5 where all exponents are one number: of -inf that is NaN, not inf
        return x ** self.choose((2, 3, 0, 1, 2.0, -1.0) + ((0.5,) if (self.value(x) > 0).all() else ()))

    def cast(self):
        x, to = self.of(), self.choose(self.dtypes)
        v = self.value(x)
        if v.dtype.kind == "f" and np.dtype(to).kind in "iu":
            i = np.iinfo(to)
            if not (self.exact(x) and np.isfinite(v).all() and (v > i.min - 1.0).all() and (v < i.max).all()):
                return None
        return pt.cast(x, to)

    def axes(self, x):
        if not x.ndim or not self.pick(3):
            return None
        axes = sorted({self.pick(x.ndim) for _ in range(1 + self.pick(2))})
        return axes[0] if len(axes) == 1 and self.pick(2) else tuple(axes)

    def reduction(self):
        name = self.choose(("sum", "sum", "prod", "max", "min", "mean", "all", "any", "argmax", "argmin", "var"))
        exact = name in ("prod", "argmax", "argmin", "all", "any", "var")
        x = self.of("b" if name in ("all", "any") else "if" if name in ("max", "min", "argmax", "argmin", "mean", "var") else "bif", exact=exact)
        axis, keep = self.axes(x), bool(self.pick(2))
        if self.math != "exact" and name.startswith("arg") and np.isnan(self.value(x)).any():
            return None  # a NaN beside an infinity
        if name in ("sum", "prod") and not self.pick(3):
            kinds = [d for d in self.dtypes if d in (FLOATS if x.dtype in FLOATS else INTS + UINTS)]
            given = {k: self.choose(kinds) for k in ("dtype", "acc_dtype") if self.pick(2)}
            return getattr(pt, name)(x, axis=axis, keepdims=keep, **given)
        return getattr(pt, name)(x, axis=axis, keepdims=keep)

    def cumulative(self):
        x = self.of(exact=True)
        return self.choose((pt.cumsum, pt.cumprod))(x, axis=self.choose((None, *range(x.ndim))))

    def softmax(self):
        x = self.of("f" if self.pick(3) else "i", rank=(1, 2, 3), exact=True)
        if not np.isfinite(self.value(x)).all() or not self.value(x).size:
            return None
        axis = None if not x.ndim or not self.pick(4) else self.pick(x.ndim)
        return self.choose((pt.special.softmax, pt.special.log_softmax, pt.logsumexp))(x, axis=axis)

    def statistic(self):
        x = self.of("f", exact=True, where=lambda v: np.isfinite(self.value(v)).all())
        return self.choose((pt.std, pt.var, pt.ptp, pt.median))(x, axis=self.axes(x))

    def counted(self):
        kind = self.pick(3)
        if kind == 0:
            x = self.of("i", rank=(1,), exact=True, where=lambda v: (np.abs(self.value(v).astype(float)) < 50).all())
            weights = None if self.pick(2) else self.of("if", rank=(1,), exact=True, where=lambda v: self.value(v).shape == self.value(x).shape)
            return pt.bincount(x, weights=weights, minlength=self.pick(5))
        if kind == 1:
            x = self.of("if", rank=(1, 2, 3), exact=True)
            return pt.diff(x, n=1 + self.pick(2), axis=self.pick(x.ndim))
        place = self.of("i", rank=(0, 1, 2), exact=True)
        return list(pt.unravel_index(place, (3, 4), order=self.choose("CF")))

    def chosen(self):
        kind = self.pick(4)
        x = self.of(rank=(2,))
        if kind == 3:
            return pt.fill_diagonal_offset(x, self.of(rank=(0,), where=lambda v: v.dtype == x.dtype), self.number(-3, 3))
        if kind == 0:
            return pt.fill_diagonal(x, self.of("bif", rank=(0,), exact=True))
        n = self.value(x).shape[1]
        if kind == 1 and n:
            i = pt.constant(np.array([[self.pick(2 * n) - n for _ in range(2)] for _ in range(self.value(x).shape[0])], "int64").reshape(-1, 2))
            return pt.take_along_axis(x, i, axis=1)
        if not self.value(x).shape[0]:
            return None
        at = np.array([self.pick(self.value(x).shape[0]) for _ in range(n)], "int64")
        return pt.choose(pt.constant(at), x, mode=self.choose(("raise", "wrap", "clip")))

    def convolved(self):
        if not self.pick(3):
            x = self.of("if", rank=(2,), exact=True)
            y = self.of("if", rank=(2,), exact=True, where=lambda v: v.dtype == x.dtype)
            if not self.value(x).size or not self.value(y).size:
                return None
            return convolve2d(x, y, mode=self.choose(("full", "valid", "same")), method="direct")
        x = self.of("if", rank=(1,), exact=True)
        y = self.of("if", rank=(1,), exact=True, where=lambda v: v.dtype == x.dtype)
        if not self.value(x).size or not self.value(y).size:
            return None
        return convolve1d(x, y, mode=self.choose(("full", "valid", "same")))

    def summed(self):
        """Products and sums over named axes, of what has the same lengths."""
        x = self.of("f", rank=(2,), exact=True)
        m, n = self.value(x).shape
        form, shape = self.choose((("ij,jk->ik", (n, None)), ("ij,ij->i", (m, n)), ("ij,ij->", (m, n)), ("ij,kj->ik", (None, n)), ("ij,j->ij", (n,))))
        y = self.of("f", rank=(len(shape),), exact=True, where=lambda v: all(b in (None, a) for a, b in zip(self.value(v).shape, shape)))
        return pt.einsum(form, x, y)

    def made(self):
        kind = self.pick(6)
        if kind == 0:
            return pt.tri(self.pick(4), self.pick(4), self.pick(5) - 2, dtype=self.choose(self.dtypes))
        x = self.of(rank=(0, 1, 2, 3))
        if kind == 1:
            return x.flatten()
        if kind == 2:
            return pt.zeros_like(x) if self.pick(2) else pt.ones_like(x, dtype=self.choose(self.dtypes))
        if kind == 3:
            return self.choose((pt.squeeze, pt.atleast_3d, view_op, deep_copy_op, disconnected_grad))(x)
        if kind == 4:
            return pt.trace(self.of("bi", rank=(2,), exact=True), offset=self.pick(3) - 1)
        return Assert("never")(x, pt.constant(True))

    def bits(self):
        """Reductions that have an op but no function."""
        x = self.of("bi", rank=(1, 2, 3), exact=True)
        op = self.choose((scalar.and_, scalar.or_, scalar.xor))
        if x.dtype != "bool" and not self.pick(3):
            return ProdWithoutZeros(axis=self.pick(x.ndim))(x)
        return CAReduce(op, axis=self.axes(x))(x)

    def dims(self):
        """Several axes made one, and one made several."""
        x = self.of(rank=(1, 2, 3))
        axis = self.pick(x.ndim)
        if self.pick(2):
            return join_dims(x, start_axis=axis, n_axes=self.pick(x.ndim - axis + 1))
        n = self.value(x).shape[axis]
        k = self.choose([d for d in range(1, n + 1) if n % d == 0])
        shape = (k, n // k) if self.pick(3) else (self.same(k), self.same(n // k))
        return split_dims(x, axis=axis, shape=shape)

    def outer(self):
        x = self.of("if", rank=(1,), exact=True)
        y = self.of("if", rank=(1,), exact=True)
        return self.choose((pt.outer, pt.linalg.kron))(x, y)

    def gradient(self):
        y = self.of("f")
        floats = [v for v in ancestors([y]) if v in self.inputs and v.dtype in FLOATS and v is not y]
        if y.owner is None or not floats:
            return None
        try:
            return pt.grad(y.sum(), self.choose(floats), disconnected_inputs="ignore")
        except Exception as e:  # PyTensor has none
            raise NoneSuch from e

    def shifted(self):
        x = self.of("i", exact=True)
        by = pt.constant(self.pick(np.iinfo(x.dtype).bits - 1), dtype=x.dtype)
        return x << by if self.pick(2) else x >> by

    def tested(self):
        kind = self.pick(4)
        x = self.of("f")
        if kind == 0:
            return pt.nan_to_num(x, nan=self.pick(3), posinf=7.0, neginf=-7.0)
        if kind == 1:
            return self.choose((pt.isposinf, pt.isneginf))(x)
        y = self.of("f", exact=True, where=self.fits(x))
        return pt.isclose(x, y, rtol=0.5) if self.exact(x) and kind == 2 else pt.arctan2(x, y) if self.exact(x) else None

    def vectorized(self):
        """A function of vectors, for each of a batch."""
        x = self.of("bi", rank=(2, 3), exact=True)
        n = self.value(x).shape[-1]
        one = pt.constant(np.array([self.pick(3) + 3 * k for k in range(1 + self.pick(2))], x.dtype if x.dtype != "bool" else "int8"))
        function = self.choose((
            lambda v: pt.cumsum(v), lambda v: pt.argsort(v, kind="stable"), lambda v: v[::-1], lambda v: v[1:], lambda v: pt.sort(v),
            lambda v: convolve1d(v, one, mode="full"), lambda v: v[pt.constant(np.array([0, -1, 0])[: 3 * bool(n)], dtype="int64")],
            lambda v: pt.set_subtensor(v[:1], 1), lambda v: pt.inc_subtensor(v[-1:], v[:1]), lambda v: pt.repeat(v, 2), lambda v: pt.diag(v),
            lambda v: v.max() if n else v.sum(), lambda v: pt.concatenate([v, v[:1]]), lambda v: pt.outer(v, one), lambda v: pt.eq(v[:, None], v),
            lambda v: pt.alloc(v, 2, v.shape[0]), lambda v: v.reshape((1, -1) if n else (0, 1)), lambda v: pt.searchsorted(one, v),
        ))  # fmt: skip
        core = pt.tensor(dtype=x.dtype, shape=x.type.shape[-1:])
        return vectorize_graph(function(core), {core: x})

    def products(self):
        """Products of matrices and vectors, with and without a batch."""
        x = self.of("if", rank=(1, 2, 3), exact=True)
        kind = self.choose(("vecdot", "matvec", "vecmat", "tensordot", "batched_dot", "einsum", "gemm"))
        shape = self.value(x).shape
        if kind == "gemm":
            y = self.of("if", rank=(1, 2), exact=True, where=lambda v: x.ndim == 2 and self.value(v).shape[0] == shape[-1])
            z = pt.dot(x, y)
            return self.choose((2, 0.5, -1)) * z + self.of("if", exact=True, where=lambda v: v.dtype == z.dtype and v.type.shape == z.type.shape
                                                           and self.value(v).shape == shape[:1] + self.value(y).shape[1:])  # fmt: skip
        if kind == "einsum":
            form, want = self.choose((("ij,jk", (shape[-1], None)), ("ij,ik->jk", (shape[0], None)), ("ij->ji", None), ("ij->j", None), ("ij->", None)))
            if x.ndim != 2:
                return None
            if want is None:
                return pt.einsum(form, x)
            return pt.einsum(form, x, self.of("if", rank=(2,), exact=True, where=lambda v: v.dtype == x.dtype and self.value(v).shape[0] == want[0]))
        if kind == "tensordot":
            y = self.of("if", rank=(1, 2, 3), exact=True, where=lambda v: self.value(v).shape[0] == shape[-1])
            return pt.tensordot(x, y, axes=1)
        if kind == "batched_dot":
            y = self.of("if", rank=(2, 3), exact=True, where=lambda v: x.ndim == 3 and self.value(v).shape[:2] == (shape[0], shape[2]))
            return pt.matmul(x, y) if y.ndim == 3 else pt.matmul(x, y[..., None])[..., 0]
        ranks = {"vecdot": (1, 2), "matvec": (1,), "vecmat": (2, 3)}[kind]
        at = -2 if kind == "vecmat" else -1
        if kind == "matvec" and x.ndim < 2:
            return None
        return getattr(pt, kind)(x, self.of("if", rank=ranks, exact=True, where=lambda v: self.value(v).shape[at] == shape[-1]))

    def several_axes(self):
        x = self.of("if", rank=(2, 3), exact=True)
        axes = tuple(sorted({self.pick(x.ndim) for _ in range(2)}))
        kind = self.pick(4)
        if kind == 0:
            return list(pt.max_and_argmax(x, axis=axes))
        if kind == 1:
            return pt.all(pt.isfinite(x), axis=axes) 
        if kind == 2:
            return pt.moveaxis(x, 0, -1).flatten(self.pick(2) + 1)
        return list(pt.broadcast_arrays(x, self.of("bif", where=self.fits(x))))[:1]

    def lined(self):
        kind = self.pick(4)
        if kind == 0:
            x = self.of("if", rank=(1,), exact=True)
            y = self.of("if", rank=(1,), exact=True)
            return list(pt.mgrid[0 : self.pick(3), 1 : 1 + self.pick(3)]) + [pt.maximum(x[:, None], y)]
        if kind == 1:
            x = self.of(rank=(1, 2, 3))
            n = self.value(x).shape[0]
            return pt.repeat(x, pt.constant(np.array([self.pick(3) for _ in range(n)], "int64")), axis=0)
        if kind == 2:
            x = self.of("bif", rank=(2, 3))
            return x.swapaxes(0, 1)[::-1, self.pick(2) :]
        at = [pt.constant(np.array([self.pick(d) for _ in range(3)])) for d in (3, 4)]
        return pt.ravel_multi_index(tuple(at), (3, 4), order=self.choose("CF"))

    def inside(self):
        """An inner graph as one op."""
        x, y = self.of("if", exact=True), self.of("if", exact=True)
        a, b = x.type(), y.type()
        body = self.choose((lambda: [a + 1, b], lambda: [pt.concatenate([a.ravel(), a.ravel()]), b.sum()], lambda: [a[..., ::-1] if a.ndim else a, a.shape]))
        try:
            return OpFromGraph([a, b], body(), on_unused_input="ignore")(x, y)
        except Exception as e:
            raise NoneSuch from e

    def reshape(self):
        x = self.of()
        n, shape = self.value(x).size, []
        while n > 1 and len(shape) < 3 and self.pick(4):
            k = self.choose([d for d in range(1, n + 1) if n % d == 0])
            shape.append(k)
            n //= k
        shape.append(n)
        if not self.pick(3) and n and self.value(x).size:
            shape[self.pick(len(shape))] = -1
        if not self.pick(4):
            shape = [self.same(k) for k in shape]
        return x.reshape(tuple(shape))

    def same(self, k):
        """k, as something that is only known at run time."""
        if k < 0:
            return k
        v = pt.tensor(f"x{len(self.inputs)}", dtype="int64", shape=())
        self.inputs.append(v)
        self.all.set(v, np.array(k))
        return v

    def axes_moved(self):
        x = self.of(rank=(0, 1, 2, 3))
        order = list(range(x.ndim))
        order = [order.pop(self.pick(len(order))) for _ in range(x.ndim)]
        kind = self.pick(4)
        if kind == 0:
            return pt.expand_dims(x, self.pick(x.ndim + 1))
        if kind == 1:
            ones = [i for i, n in enumerate(x.type.shape) if n == 1]
            return x.dimshuffle([i for i in order if i not in ones])
        if kind == 2:
            order.insert(self.pick(x.ndim + 1), "x")
            return x.dimshuffle(order)
        return x.transpose(*order)

    def join(self):
        x = self.of(rank=(1, 2, 3))
        axis, shape = self.pick(x.ndim), list(self.value(x).shape)

        def alike(v):
            other = list(self.value(v).shape)
            return v.ndim == x.ndim and all(i == axis or a == b for i, (a, b) in enumerate(zip(shape, other)))

        parts = [x] + [self.of(where=alike) for _ in range(1 + self.pick(2))]
        return pt.join(axis, *parts)

    def stack(self):
        x = self.of(rank=(0, 1, 2))
        parts = [x] + [self.of(where=lambda v: self.value(v).shape == self.value(x).shape) for _ in range(1 + self.pick(2))]
        return pt.stack(parts, axis=self.pick(x.ndim + 1))

    def split(self):
        x = self.of(rank=(1, 2, 3))
        axis = self.pick(x.ndim)
        n = self.value(x).shape[axis]
        k = self.pick(n + 1)
        sizes = [k, n - k] if self.pick(2) else pt.stack([self.same(k), self.same(n - k)])
        return pt.split(x, sizes, n_splits=2, axis=axis)

    def broadcast(self):
        x = self.of()
        shape = list(self.value(x).shape)
        for i, n in enumerate(x.type.shape):
            if n == 1 and self.pick(2):
                shape[i] = self.choose(SIZES)
        if self.pick(2):
            shape.insert(0, self.choose(SIZES))
        return pt.alloc(x, *[self.same(n) if not self.pick(3) else n for n in shape])

    def shape_of(self):
        x = self.of()
        return x.shape if self.pick(2) or not x.ndim else x.shape[self.pick(x.ndim)]

    def repeated(self):
        x = self.of(rank=(1, 2))
        axis, kind = self.pick(x.ndim), self.pick(4)
        if kind == 0:
            return pt.repeat(x, self.number(0, 3), axis=axis)
        if kind == 1:
            return pt.tile(x, tuple(self.pick(3) for _ in range(x.ndim)))
        if kind == 2:
            return pt.roll(x, self.pick(9) - 4, axis=axis)
        return pt.flip(x, axis=axis)

    def diagonal(self):
        x = self.of(rank=(1, 2))
        kind = self.pick(3)
        if kind == 0 and x.ndim == 2:
            return self.choose((pt.tril, pt.triu))(x, self.pick(5) - 2)
        if kind == 1 and x.ndim == 1:
            return pt.diag(x, self.pick(5) - 2)
        return pt.diagonal(x, self.pick(5) - 2) if x.ndim == 2 else pt.eye(self.pick(4), dtype=self.choose(self.dtypes))

    def padded(self):
        x = self.of(rank=(1, 2))
        mode = self.choose(("constant", "edge", "reflect", "wrap", "symmetric"))
        width = [(self.pick(3), self.pick(3)) for _ in range(x.ndim)]
        if mode != "constant" and any(b + a >= n for (b, a), n in zip(width, self.value(x).shape)):
            return None
        return pt.pad(x, width, mode=mode)

    def arange(self):
        start, stop, step = self.number(-3, 3), self.number(0, 9), self.choose((1, 2, 3, -1))
        return pt.arange(start, stop, step, dtype=self.choose(("int64", "int32", "float64", "float32")))

    def basic_index(self, x):
        index = []
        for n in self.value(x).shape:
            kind = self.pick(6)
            if kind == 0 and n:
                index.append(self.number(-n, n - 1))
            elif kind < 3:
                bound = [None if not self.pick(3) else self.number(-n - 2, n + 2) for _ in range(2)]
                index.append(slice(*bound, self.choose((None, None, 1, 2, -1, -2, 3))))
            else:
                index.append(slice(None))
        if index and not self.pick(4):
            index = index[: self.pick(len(index)) + 1]
        if not self.pick(6):
            index.insert(self.pick(len(index) + 1), None)
        return tuple(index)

    def advanced_index(self, x):
        index, length = list(self.basic_index(x)), self.choose((1, 2, 5))
        places = [i for i in range(len(index)) if index[i] is not None]
        for _ in range(1 + self.pick(2)):
            at = self.choose(places)
            n = self.value(x).shape[sum(k is not None for k in index[:at])]
            if not n:
                return None
            kind = self.pick(5)
            if kind == 0:
                index[at] = np.array([self.pick(2 * n) - n for _ in range(length)])
            elif kind == 3:
                index[at] = np.array([[self.pick(2 * n) - n for _ in range(length)] for _ in range(1 + self.pick(2))])
            elif kind == 4:
                index[at] = self.number(-n, n - 1)
            else:
                v = pt.tensor(f"x{len(self.inputs)}", dtype=self.choose(INTS + ("uint8",)), shape=(None,) if kind == 1 else (length,))
                low = max(-n, np.iinfo(v.dtype).min)
                n = min(n, np.iinfo(v.dtype).max + 1)
                self.inputs.append(v)
                self.all.set(v, np.array([low + self.pick(n - low) for _ in range(length)], v.dtype))
                index[at] = v
        return tuple(index)

    def mask_index(self, x):
        rank = 1 + self.pick(x.ndim)
        try:
            m = self.of("b", rank=(rank,), exact=True, where=lambda v: self.value(v).shape == self.value(x).shape[:rank])
        except NoneSuch:
            m = pt.tensor(f"x{len(self.inputs)}", dtype="bool", shape=(None,) * rank)
            self.inputs.append(m)
            self.all.set(m, self.numbers("bool", self.value(x).shape[:rank]))
        return (m,)

    def index(self, x):
        return (self.basic_index, self.basic_index, self.advanced_index, self.mask_index)[self.pick(4)](x)

    def taken(self):
        x = self.of(rank=(1, 2, 3))
        return x[self.index(x)]

    def put(self):
        x = self.of(rank=(1, 2, 3))
        index = self.index(x)
        if any(k is None for k in index):
            return None
        place = x[index]
        if place.owner is None:
            return None
        self.all.run([place])
        put = pt.set_subtensor if self.pick(2) else pt.inc_subtensor

        def fits(v):
            wide = self.fits(place)(v) and np.broadcast_shapes(self.value(v).shape, self.value(place).shape)
            kinds = np.can_cast(v.dtype, x.dtype, "same_kind") or (put is pt.set_subtensor and v.dtype not in FLOATS)
            # of a stretched value NumPy adds one row alone where an index has two axes (its add.at, not PyTensor's C)
            stretched = put is pt.inc_subtensor and any(np.ndim(k) == 2 for k in index if isinstance(k, np.ndarray))
            return kinds and v.ndim <= place.ndim and wide == self.value(place).shape and (not stretched or self.value(v).shape == wide)

        return put(place, self.of(where=fits))

    def taken_along(self):
        x = self.of(rank=(1, 2))
        n = self.value(x).shape[0]
        if not n:
            return None
        if not self.pick(3):
            i = pt.constant(np.array([self.pick(4 * n) - 2 * n for _ in range(3)]))
            return pt.take(x, i, axis=0, mode=self.choose(("wrap", "clip")))
        i = pt.constant(np.array([self.pick(n) for _ in range(3)]))
        return pt.take(x, i, axis=0)

    def dot(self):
        x = self.of("if", rank=(1, 2), exact=True)
        y = self.of("if", rank=(1, 2), exact=True, where=lambda v: self.value(v).shape[0] == self.value(x).shape[-1])
        return pt.dot(x, y)

    def matmul(self):
        x = self.of("if", rank=(1, 2, 3), exact=True)
        y = self.of("if", rank=(1, 2, 3), exact=True, where=lambda v: self.value(v).shape[max(v.ndim - 2, 0)] == self.value(x).shape[-1])
        return pt.matmul(x, y)

    def sorted(self):
        x = self.of("bif", rank=(1, 2, 3), exact=True)
        axis = self.choose((None, -1, 0))
        return pt.sort(x, axis=axis) if self.pick(2) else pt.argsort(x, axis=axis, kind="stable")

    def searched(self):
        kind = self.pick(3)
        if kind == 0:
            x = self.of("if", rank=(1,), exact=True)
            v, side = self.of("if", exact=True), self.choose(("left", "right"))
            if not self.pick(3):
                return pt.searchsorted(x, v, side=side, sorter=pt.argsort(x, kind="stable"))
            return pt.searchsorted(pt.sort(x), v, side=side)
        if kind == 1:
            return list(pt.nonzero(self.of(rank=(1, 2, 3), exact=True)))
        x = self.of("bi", rank=(1, 2), exact=True)
        if self.pick(2):
            return pt.unique(x)
        return list(pt.unique(x, True, True, True, axis=self.choose((None, 0))))

    def checked(self):
        x = self.of()
        return pt.specify_shape(x, tuple(self.choose((n, self.same(n), None)) for n in self.value(x).shape))


OPS = (
    *["elementwise"] * 6, "several", "rounded", "power", "cast", "cast", "reduction", "reduction", "reduction", "cumulative", "softmax",
    "reshape", "reshape", "axes_moved", "axes_moved", "join", "stack", "split", "broadcast", "shape_of", "repeated", "diagonal", "padded",
    "arange", "taken", "taken", "taken", "put", "put", "put", "taken_along", "dot", "matmul", "sorted", "searched", "checked",
    "statistic", "counted", "chosen", "convolved", "summed", "made", "outer", "gradient", "gradient", "shifted", "tested", "vectorized",
    "vectorized", "products", "products", "several_axes", "lined", "inside", "bits", "dims",
)  # fmt: skip

# Shapes, views and arithmetic alone: what PyTensor's rewrites take apart most
SHAPING = (
    *["elementwise"] * 5, "several", "rounded", "cast", "reduction", "reduction", "reshape", "reshape", "reshape", "axes_moved",
    "axes_moved", "axes_moved", "join", "stack", "split", "broadcast", "shape_of", "repeated", "taken", "taken", "taken", "taken", "put",
    "put", "dims", "several_axes", "lined", "made", "gradient", "checked",
)  # fmt: skip
NARROW = "float16", "uint8", "int8", "bool", "uint16", "float32"  # where arithmetic wraps and rounds
