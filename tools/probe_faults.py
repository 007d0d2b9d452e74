#!/usr/bin/env python3
"""What the installed onnxruntime's CPU kernels compute for NaN, infinities, -0, ties, empty arrays and the ends of dtypes.

usage: python tools/probe_faults.py            prints the cases whose results are not NumPy's, one a line
       python tools/probe_faults.py --json     the same as JSON, for tools/probe_release.py

A case is a model of one node, run with graph optimizations off, beside a function of NumPy. A node that the runtime has no
kernel for is left out: tools/make_kernels.py finds those. Children do the running, so that a crash costs one case.
"""
import itertools
import json
import math
import os
import subprocess
import sys
import warnings

import numpy as np
import onnx
from onnx import TensorProto as TP, helper as oh

warnings.simplefilter("ignore")
np.seterr(all="ignore")
NAN, INF = np.nan, np.inf
FLOATS = ("float16", "float32", "float64")
INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
ALL = FLOATS + INTS + ("bool",)
LENGTHS = (1, 3, 8, 17, 100)  # vector code has a head, a body and a tail
FAILS = "fails"


def specials(dtype):
    if dtype == "bool":
        return np.array([True, False])
    if dtype in FLOATS:
        i = np.finfo(dtype)
        return np.array([NAN, 0.0, -0.0, 1, -1, 0.5, -0.5, INF, -INF, 2.5, -1.5, i.tiny, i.max, -i.max, 3, 0.3], dtype)
    i = np.iinfo(dtype)
    return np.array([0, 1, i.max, i.min, 5, i.max - 1, i.min + 1, 7, i.max // 2, i.min // 2], dtype)


def lengths(x):
    """x in arrays of several lengths, from each of its elements on"""
    for n in LENGTHS:
        for start in range(0, len(x), 1 if n < 8 else 3):
            yield np.resize(np.roll(x, -start), n)


def erf(x):
    return np.array([math.erf(v) if v == v else v for v in x.astype(float)], x.dtype)


UNARY = {
    "Abs": np.abs, "Neg": np.negative, "Ceil": np.ceil, "Floor": np.floor, "Round": np.round, "Sqrt": np.sqrt, "Exp": np.exp,
    "Log": np.log, "Sin": np.sin, "Cos": np.cos, "Tan": np.tan, "Asin": np.arcsin, "Acos": np.arccos, "Atan": np.arctan,
    "Sinh": np.sinh, "Cosh": np.cosh, "Tanh": np.tanh, "Asinh": np.arcsinh, "Acosh": np.arccosh, "Atanh": np.arctanh,
    "Reciprocal": lambda x: 1 / x, "Sigmoid": lambda x: 1 / (1 + np.exp(-x.astype(float))), "Sign": np.sign, "Erf": erf,
    "Softplus": lambda x: np.logaddexp(0, x.astype(float)), "Relu": lambda x: np.maximum(x, 0), "IsNaN": np.isnan, "IsInf": np.isinf,
    "BitwiseNot": np.invert, "Not": np.logical_not,
}
BINARY = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Max": np.maximum, "Min": np.minimum, "Pow": np.power,
    "Equal": np.equal, "Greater": np.greater, "Less": np.less, "GreaterOrEqual": np.greater_equal, "LessOrEqual": np.less_equal,
    "And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor, "BitwiseAnd": np.bitwise_and, "BitwiseOr": np.bitwise_or,
    "BitwiseXor": np.bitwise_xor,
}
REDUCE = {
    "ReduceSum": np.sum, "ReduceMean": np.mean, "ReduceProd": np.prod, "ReduceMax": np.max, "ReduceMin": np.min,
    "ReduceL1": lambda x, axis: np.sum(np.abs(x), axis), "ReduceL2": lambda x, axis: np.sqrt(np.sum(np.square(x), axis)),
    "ReduceSumSquare": lambda x, axis: np.sum(np.square(x), axis),
}


def i64(*v):
    return np.array(v, np.int64)


def matrices(dtype):
    s = specials(dtype)
    for shape in ((3,), (2, 3), (5, 17), (64, 3), (2, 3, 4)):
        for start in range(0, len(s), 2):
            yield np.resize(np.roll(s, -start), shape)
        yield np.resize(s[3:5], shape)  # no NaN, many ties
    for shape in ((0,), (0, 3), (3, 0)):
        yield np.zeros(shape, dtype)


def axes_of(x):
    return [(0,), (x.ndim - 1,), tuple(range(x.ndim))] if x.ndim > 1 else [(0,)]


def tried(f):
    try:
        return f()
    except (ValueError, IndexError, TypeError):
        return None  # NumPy has no answer: nothing is compared


def elementwise():
    for op, f in UNARY.items():
        for d in ALL:
            for x in lengths(specials(d)):
                yield op, d, [x], {}, [tried(lambda: f(x))] if not (d == "bool" and op != "Not") else [None]
    for op, f in BINARY.items():
        for d in ALL:
            s = specials(d)
            pairs = np.array(list(itertools.product(s, s)), d)
            if op in ("Div", "Pow") and d not in FLOATS:
                continue  # what C leaves open
            for n in LENGTHS + (len(pairs),):
                for start in range(0, len(pairs), max(n, 37)):
                    a, b = np.resize(np.roll(pairs, -2 * start), (n, 2)).T.copy()
                    yield op, d, [a, b], {}, [tried(lambda: f(a, b))]
            for a in (s[:1], s[1:2], s[3:4] if len(s) > 3 else s[:1]):  # one number beside many
                for b in (s, np.resize(s, 40)):
                    yield op, d, [a.reshape(()), b], {}, [tried(lambda: f(a, b))]
                    yield op, d, [b, a.reshape(())], {}, [tried(lambda: f(b, a))]
    for d in ALL:
        s = specials(d)
        for x in lengths(s):
            y, c = x[::-1].copy(), np.arange(len(x)) % 3 == 0
            yield "Where", d, [c, x, y], {}, [np.where(c, x, y)]
            if d != "bool":
                lo, hi = (np.array(v, d) for v in sorted(s[3:5].tolist()))
                yield "Clip", d, [x, lo, hi], {}, [np.clip(x, lo, hi)]
        for to in ALL:
            x = s
            if d in FLOATS and to in INTS:
                x = s[np.isfinite(s) & (np.abs(s) < 100)]
                x = x if to[0] == "i" else np.abs(x)
            for n in (1, 40):
                x_n = np.resize(x, n)
                yield "Cast", f"{d} to {to}", [x_n], {"to": getattr(TP, {"float32": "FLOAT", "float64": "DOUBLE"}.get(to, to.upper()))}, [x_n.astype(to)]


def reductions():
    for op, f in REDUCE.items():
        for d in ALL:
            for x in matrices(d):
                if d in INTS and op in ("ReduceMean", "ReduceL2"):
                    continue
                for axes in axes_of(x):
                    want = tried(lambda: f(x.astype(float) if d in FLOATS else x, axis=axes))
                    want = None if want is None else np.asarray(want).astype(d)
                    yield op, d, [x, i64(*axes)], {"keepdims": 0}, [want]
    for op, f in (("ArgMax", np.argmax), ("ArgMin", np.argmin)):
        for d in ALL:
            for x in matrices(d):
                for axis in range(x.ndim):
                    yield op, d, [x], {"axis": axis, "keepdims": 0}, [tried(lambda: f(x, axis=axis))]
                    if x.size:
                        last = tried(lambda: x.shape[axis] - 1 - f(np.flip(x, axis), axis=axis))
                        yield op + " last", d, [x], {"axis": axis, "keepdims": 0, "select_last_index": 1}, [last]
    for d in FLOATS + INTS:
        for x in matrices(d):
            k = x.shape[-1]
            at = np.argsort(x, axis=-1, kind="stable")
            yield "TopK", d, [x, i64(k)], {"largest": 0}, [np.take_along_axis(x, at, -1), at]
            finite = x[..., ::-1].copy()
            at = k - 1 - np.argsort(finite, axis=-1, kind="stable")[..., ::-1]
            yield "TopK largest", d, [x, i64(k)], {"largest": 1}, [np.take_along_axis(x, at, -1), at]
            for axis in range(x.ndim):
                yield "CumSum", d, [x, np.array(axis)], {}, [np.cumsum(x, axis=axis, dtype=d)]
                yield "CumSum reverse exclusive", d, [x, np.array(axis)], {"reverse": 1, "exclusive": 1}, [
                    np.flip(np.cumsum(np.flip(x, axis), axis=axis, dtype=d), axis) - x if d in INTS else None]
    for d in FLOATS:
        for x in matrices(d):
            e = x.astype(float)
            for axis in range(x.ndim):
                if x.size:
                    p = np.exp(e - e.max(axis, keepdims=True))
                    yield "Softmax", d, [x], {"axis": axis}, [(p / p.sum(axis, keepdims=True)).astype(d)]


def products():
    for d in FLOATS + ("int32", "int64", "uint32", "uint64"):
        s = specials(d)
        for m, k, n in ((1, 1, 1), (2, 3, 4), (1, 17, 5), (20, 16, 33), (2, 0, 3), (0, 2, 3), (5, 1, 1)):
            for start in range(0, len(s), 2):
                a, b = np.resize(np.roll(s, start), (m, k)).astype(d), np.resize(s[::-1], (k, n)).astype(d)
                if d in FLOATS:
                    a, b = a.clip(-2, 2), b.clip(-2, 2)
                    if start % 4:
                        a, b = np.nan_to_num(a), np.nan_to_num(b)
                want = (a.astype(float) @ b.astype(float)).astype(d) if d in FLOATS else a @ b
                yield "MatMul", d, [a, b], {}, [want]
                yield "Gemm", d, [a, b, np.ones((1, n), d)], {}, [want + np.ones((1, n), d)]


def indexing():
    for d in ("float32", "float64", "int64", "bool", "float16", "int8"):
        x = np.resize(specials(d), (4, 3))
        for at in (i64(0, -1), i64(-4, 3), i64(), i64(1, 1)):
            yield "Gather", d, [x, at], {"axis": 0}, [x[at]]
        for at in (i64(4), i64(-5)):
            yield "Gather", d, [x, at], {"axis": 0}, [FAILS]
            yield "GatherElements", d, [x, np.resize(at, (1, 3))], {"axis": 0}, [FAILS]
            yield "GatherND", d, [x, at.reshape(1, 1)], {}, [FAILS]
            yield "ScatterND", d, [x, at.reshape(1, 1), x[:1]], {}, [FAILS]
            yield "ScatterElements", d, [x, np.resize(at, (1, 3)), x[:1]], {"axis": 0}, [FAILS]
        e = np.array([[0, -1, 2], [3, 1, -4]])
        yield "GatherElements", d, [x, e], {"axis": 0}, [np.take_along_axis(x, e % 4, 0)]
        yield "GatherND", d, [x, np.array([[0, -1], [-4, 2]])], {}, [x[[0, 0], [2, 2]]]
        for red, f in (("none", None), ("add", np.add), ("mul", np.multiply), ("max", np.maximum), ("min", np.minimum)):
            if d == "bool" and red != "none":
                continue
            at, u = np.array([[1], [-4], [1]]), x[1:].copy()
            want = x.copy()
            if f:
                f.at(want, at[:, 0], u)
            else:
                at, u = at[:2], u[:2]
                want[at[:, 0]] = u
            yield f"ScatterND {red}", d, [x, at, u], {"reduction": red} if f else {}, [want]
            yield f"ScatterElements {red}", d, [x, np.repeat(at, 3, 1), u], {"axis": 0, "reduction": red} if f else {"axis": 0}, [want]
        yield "ScatterND", d, [x, np.zeros((0, 1), np.int64), x[:0]], {}, [x]
        yield "Compress", d, [x, np.array([True, False, False, True])], {"axis": 0}, [x[[0, 3]]]
        for s, t, st in ((0, 4, 1), (3, -(1 << 62), -1), (-1, -5, -2), (2, 2, 1), (3, 1, 1), (1, 1 << 62, 2)):
            yield "Slice", d, [x, i64(s), i64(t), i64(0), i64(st)], {}, [x[s:None if t < -4 else t:st]]
        for reps in (i64(0, 2), i64(2, 1)):
            yield "Tile", d, [x, reps], {}, [np.tile(x, reps)]
        yield "Expand", d, [x[:1], i64(0, 3)], {}, [x[:0]]
        yield "Concat", d, [x[:0], x, x[:0]], {"axis": 0}, [x]
        yield "Reshape", d, [x[:0], i64(0, 3, 2)], {"allowzero": 1}, [np.zeros((0, 3, 2), d)]
        for k in (-5, -1, 0, 1, 5):
            yield "Trilu", d, [x, np.array(k)], {"upper": 0}, [np.tril(x, k)]
        for v in lengths(specials(d)):
            values, first, inverse, counts = np.unique(v, return_index=True, return_inverse=True, return_counts=True, equal_nan=False)
            yield "Unique", d, [v], {"sorted": 1}, [values, first, inverse.reshape(-1), counts] if not (d[0] == "f" and np.isnan(v).any()) else [None]
            yield "NonZero", d, [v], {}, [np.array(np.nonzero(v))]
        yield "Pad", d, [x, i64(1, 0, 0, 2)], {"mode": "edge"}, [np.pad(x, ((1, 0), (0, 2)), "edge")]
        yield "Pad", d, [x, i64(-1, 0, 0, 2)], {}, [np.pad(x[1:], ((0, 0), (0, 2)))]
    for d in ("float32", "float64", "int32", "int64", "int16"):
        for a, b, c in ((0, 5, 2), (5, 0, -2), (3, 3, 1), (5, 0, 1)):
            yield "Range", d, [np.array(v, d) for v in (a, b, c)], {}, [np.arange(a, b, c).astype(d)]


def cases():
    return list(itertools.chain(elementwise(), reductions(), products(), indexing()))


def model(op, ins, attrs, nout):
    names = [f"i{k}" for k in range(len(ins))]
    node = oh.make_node(op.split()[0], names, [f"o{j}" for j in range(nout)], **attrs)
    g = oh.make_graph([node], "g", [oh.make_tensor_value_info(n, oh.np_dtype_to_tensor_dtype(x.dtype), x.shape) for n, x in zip(names, ins)],
                      [onnx.ValueInfoProto(name=o) for o in node.output])
    return oh.make_model(g, opset_imports=[oh.make_opsetid("", 18)], ir_version=8).SerializeToString()


def equal(got, want):
    want = np.asarray(want)
    if got.shape != want.shape:
        return False
    if got.dtype.kind != "f":
        return np.array_equal(got, want)
    want = want.astype(got.dtype)
    near = np.isclose(got.astype(float), want.astype(float), rtol=float(np.finfo(got.dtype).eps) * 64, atol=0, equal_nan=True)
    return bool(np.all(near & ((got != 0) | (np.signbit(got) == np.signbit(want)) | (want != 0))))


def outcome(case):
    """"" as NumPy, "none" no kernel, or what is wrong"""
    import onnxruntime as ort
    op, _, ins, attrs, want = case
    if want[0] is None:
        return ""
    so = ort.SessionOptions()
    so.log_severity_level = 4
    so.intra_op_num_threads = 1
    so.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    nout = 1 if isinstance(want[0], str) else len(want)
    try:
        s = ort.InferenceSession(model(op, ins, attrs, nout), so, providers=["CPUExecutionProvider"])
    except Exception:
        return "none"
    try:
        got = s.run(None, {f"i{k}": x for k, x in enumerate(ins)})
    except Exception as e:
        return "" if isinstance(want[0], str) else f"fails: {str(e).splitlines()[0][-80:]}"
    if isinstance(want[0], str):
        return "does not fail"
    for g, w in zip(got, want):
        if not equal(g, w):
            w = np.asarray(w)
            if g.shape != w.shape:
                return f"shape {g.shape}, not {w.shape}"
            bad = [k for k in range(g.size) if not equal(g.reshape(-1)[k:k + 1], w.reshape(-1)[k:k + 1])]
            return f"{g.reshape(-1)[bad[0]]} for {w.reshape(-1)[bad[0]]}"
    return ""


def child():
    import onnxruntime as ort
    ort.set_default_logger_severity(4)
    every = cases()
    for line in sys.stdin:
        print("\t" + outcome(every[int(line)]), flush=True)


def run():
    answers, total = [], len(cases())
    while len(answers) < total:
        p = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--child"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True)
        while len(answers) < total:
            try:
                p.stdin.write(f"{len(answers)}\n")
                p.stdin.flush()
            except BrokenPipeError:
                break
            line = p.stdout.readline()
            while line and not line.startswith("\t"):
                line = p.stdout.readline()
            if not line:
                answers.append("crashes")
                break
            answers.append(line.strip())
        p.kill()
        p.wait()
    return answers


def text(case):
    op, dtype, ins, attrs, _ = case
    shown = ", ".join(str(x.tolist()) if x.size < 9 else f"{x.dtype}{list(x.shape)}" for x in ins)
    return f"{op} {dtype} {' '.join(f'{k}={v}' for k, v in attrs.items() if k in ('axis', 'keepdims'))}: ({shown})"


def faults():
    """{(operator, dtype): [number of wrong cases, the smallest of them, what came out]}"""
    found = {}
    for case, answer in zip(cases(), run()):
        if answer not in ("", "none"):
            entry = found.setdefault(f"{case[0]} {case[1]}", [0, None, None, 1 << 30])
            size = sum(x.size for x in case[2])
            entry[0] += 1
            if size < entry[3]:
                entry[1:] = [text(case), answer, size]
    return {k: v[:3] for k, v in found.items()}


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child()
    elif sys.argv[1:2] == ["--json"]:
        json.dump(faults(), sys.stdout)
    else:
        for name, (count, where, what) in sorted(faults().items()):
            print(f"{name}: {count} wrong, as {where}: {what}")
