"""Functions at the levels of --math: how far they are off, NaN and infinities, and that float32 stays float32."""
import functools
import re
import subprocess

import numpy as np
import onnx
import pytest
import pytensor.tensor as pt
from onnx import TensorProto
from onnx.reference import ReferenceEvaluator

import ptg
import test_special
from files import OPS
from harness import Compiled
from truth import FUNCTIONS, TWO, errors, graph, truth
from opsets import SOME_OPSETS

LEVELS = ("exact", "standard", "native")
DTYPES = ("float16", "float32", "float64")

# Of float32, in units in the last place, for results of 1e-36 and more in magnitude: at exact, and at standard and native.
# doc/accuracy.md has the largest errors found in all numbers.
BOUNDS = {
    "Exp": (1, 1), "Exp2": (0.6, 0.6), "Expm1": (0.6, 6.1), "Log": (0.6, 3.3), "Log2": (0.6, 4), "Log10": (0.6, 3.9),
    "Log1p": (0.6, 3.9), "Log1mexp": (0.7, 4.8), "Softplus": (0.6, 4.4), "Sigmoid": (0.6, 3.7), "Sqrt": (0.51, 0.51),
    "Reciprocal": (0.51, 0.51), "Sin": (0.6, 2.4), "Cos": (0.6, 2.4), "Tan": (1.4, 1.4), "Arcsin": (0.6, 4.3),
    "Arccos": (0.6, 4.3), "Arctan": (0.6, 3.9), "Sinh": (1.9, 1.9), "Cosh": (1.9, 1.9), "Tanh": (0.6, 5.4),
    "Arcsinh": (1.8, 1.8), "Arccosh": (2.1, 2.1), "Arctanh": (1.7, 1.7), "Erf": (1, 1), "Erfc": (0.6, 7), "Erfcx": (0.6, 6.5),
    "Erfinv": (0.6, 5.2), "Erfcinv": (0.6, 5), "Gammaln": (0.6, 8), "Gamma": (0.6, 8), "Psi": (0.6, 8), "Tri_gamma": (0.6, 5),
    "I0": (0.6, 6), "I1": (0.6, 6), "J0": (0.6, 8), "J1": (0.6, 8), "Arctan2": (0.6, 4.5), "LogAddExp": (0.6, 8),
    "Pow": (0.6, 0.6),
}  # fmt: skip
# What may be off by more units, but by no more than this: results near zeros of the function.
ABSOLUTE = {"Gammaln": 3e-6, "Psi": 3e-6, "J0": 1e-6, "J1": 1e-6, "LogAddExp": 1e-6}
NATIVE = {"Sigmoid": 1.7e-7}  # the operator, at native
# float64 at native, absolute: the operator instead of the library
NATIVE64 = {"Sigmoid": 1e-15, "Sin": 1e-15, "Cos": 1e-15, "Tanh": 1e-15}
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, 1.0, -1.0, 2.0, -2.0, 1e30, -1e30, 1e-30, -1e-30, 0.5, -0.5, 200, -200]


def arguments(op, dtype):
    """Random numbers of every size, and those around 1"""
    rng = np.random.default_rng(1)
    bits = np.dtype(f"u{np.dtype(dtype).itemsize}")
    _, low, high = FUNCTIONS[op]
    args = []
    for _ in range(2 if op in TWO else 1):
        wide = rng.integers(0, np.iinfo(bits).max, 20000, bits, endpoint=True).view(dtype)
        near = np.concatenate([rng.uniform(-12, 12, 20000), rng.uniform(-1, 1, 20000)]).astype(dtype)
        args.append(np.concatenate([wide, near]))
    wide = [x.astype(np.float64) for x in args]
    keep = np.all([(x >= low) & (x <= high) & (x != 0) for x in wide], axis=0)
    return [x[keep] for x in args]


def model(op, dtype, level, dims="n"):
    return ptg.compile(graph(op, dtype, dims), math=level)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("op", FUNCTIONS)
def test_error(op, dtype):
    args = arguments(op, dtype)
    want = truth(op, *args)
    for level in LEVELS:
        ulp, absolute = errors(ptg.run(model(op, dtype, level), *args), want, dtype)
        bound = BOUNDS[op][level != "exact"] if dtype == "float32" else 0.6
        allowed = ABSOLUTE.get(op, 0) if level != "exact" else 1e-15
        if level == "native":
            allowed = max(allowed, NATIVE.get(op, 0))
            if dtype == "float16" and op in NATIVE:
                bound = 3
        bad = (ulp > bound) & (absolute > allowed) & ~(np.abs(want) < 1e-36)
        i = int(np.argmax(np.where(bad, ulp, 0)))
        assert not bad.any(), (op, dtype, level, [float(x[i]) for x in args], want[i], ulp[i], absolute[i])


@pytest.mark.parametrize("op", test_special.OPS)
def test_error_of_float64(op):
    x = test_special.OPS[op][2]
    want = test_special.reference(op, x)
    for level in ("standard", "native"):
        got = ptg.run(model(op, "float64", level), x)
        e = test_special.ulps(got, want, "float64")
        tiny = np.finfo("float64").tiny  # subnormal results may be 0
        e[[bool(abs(float(g) - w) < tiny) for g, w in zip(got, want)]] = 0
        if level == "native" and op in NATIVE64:
            e[[bool(abs(float(g) - w) < NATIVE64[op] * max(1, abs(w))) for g, w in zip(got, want)]] = 0
        i = int(np.argmax(e))
        assert e[i] <= test_special.OPS[op][3], (op, level, x[i], got[i], e[i])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", FUNCTIONS)
def test_nan_and_infinities(op, dtype):
    with np.errstate(over="ignore"):
        x = np.array(SPECIAL).astype(dtype)
    args = [x]
    if op in TWO:
        args = [a.ravel() for a in np.meshgrid(x, x)]
    elif op in ("Gammaln", "Gamma", "Psi", "Tri_gamma", "J0", "J1"):
        args = [x[~np.isneginf(x) & ~(np.abs(x) > 1e6)]]  # where SciPy differs from C, or is wrong
    want = truth(op, *args)
    with np.errstate(over="ignore"):
        want = want.astype(dtype)
    for level in LEVELS:
        got = ptg.run(model(op, dtype, level), *args)
        for *a, g, w in zip(*args, got, want):
            if dtype == "float64" and abs(w) > 1e300 and np.isfinite(w):
                continue
            where = (op, dtype, level, a, g, w)
            assert np.isnan(g) == np.isnan(w), where
            assert np.isinf(g) == np.isinf(w) and (np.isfinite(w) or np.isnan(w) or g == w), where


@pytest.mark.parametrize("op", FUNCTIONS)
def test_sizes(op):
    for dtype in DTYPES:
        for level in ("standard", "native"):
            whole = None
            for dims, shape in (("n", (7,)), ("n", (1,)), ("n", (0,)), ("7", (7,)), ("", ()), ("a, b", (2, 3))):
                x = np.linspace(-0.9, -0.1, 7) if op == "Log1mexp" else np.linspace(0.1, 0.9, 7) + (op == "Arccosh")
                x = x[: int(np.prod(shape))].reshape(shape).astype(dtype)
                got = ptg.run(model(op, dtype, level, dims), *[x] * (2 if op in TWO else 1))
                same = got.dtype == ("float32" if op == "LogAddExp" and dtype == "float16" else dtype)  # as in PyTensor
                assert got.shape == shape and same, (op, dtype, level, dims)
                whole = got if whole is None else whole
                np.testing.assert_allclose(got.ravel(), whole[: got.size], rtol=1e-6 if dtype == "float32" else 2e-3)


@pytest.mark.parametrize("op", FUNCTIONS)
def test_opsets(op):
    x = np.linspace(-0.9, -0.1, 9) if op == "Log1mexp" else np.linspace(0.1, 0.9, 9) + (op == "Arccosh")
    for dtype in DTYPES:
        args = [x.astype(dtype)] * (2 if op in TWO else 1)
        for level in ("standard", "native"):
            a, b, c = (ptg.run(graph(op, dtype), *args, math=level, opset=opset) for opset in SOME_OPSETS)
            np.testing.assert_array_equal(a, b)
            np.testing.assert_array_equal(c, b)


# PyTensor's own ops, at each level: the graph is PyTensor's, and so is the result that it is compared with.
def scalar_op(op):
    return getattr(pt, {"Gammaln": "gammaln", "Tri_gamma": "tri_gamma"}.get(op, op.lower()))


@pytest.mark.parametrize("op", ["Tanh", "Sigmoid", "Softplus", "Log1p", "Expm1", "Log1mexp", "Erfc", "Erfinv", "Gammaln", "Gamma", "Psi", "Arctan2"])
@pytest.mark.parametrize("level", ["standard", "native"])
def test_as_pytensor(op, level):
    for dtype in ("float16", "float32"):
        x, y = (pt.vector(name, dtype=dtype) for name in "xy")
        args = [x, y] if op in TWO else [x]
        c = Compiled(args, [scalar_op(op)(*args)], math=level)
        for n in (0, 1, 300):
            v = np.random.default_rng(n).uniform(0.05, 0.95, (2, n)).astype(dtype)
            v = -v if op == "Log1mexp" else v
            c.run(*v[: len(args)], ulp={"float16": 1, "float32": 10}, atol=1e-3 if dtype == "float16" else 1e-6)


def test_roundhalfawayfromzero():
    edge = np.array([0.49999997, 0.5, 1.5, 2.5, 8388607.5, 8388608, 8388609, 1e30, np.inf, np.nan, 0.3, 0], "float32")
    rng = np.random.default_rng(0)
    x = np.concatenate([edge, -edge, np.round(rng.uniform(-9, 9, 1000) * 4) / 4, rng.normal(size=1000) * 1e6]).astype("float32")
    wide = x.astype("float64")
    with np.errstate(invalid="ignore"):
        want = np.where(wide > 0, np.floor(wide + 0.5), np.ceil(wide - 0.5)).astype("float32")
    for level in LEVELS:
        np.testing.assert_array_equal(ptg.run(model("Roundhalfawayfromzero", "float32", level), x), want)


# ---- no float64


def float64_nodes(data):
    """Operators that have float64 results, bodies included."""
    m = onnx.shape_inference.infer_shapes(onnx.load_model_from_string(data))
    found, graphs = set(), [m.graph]
    while graphs:
        g = graphs.pop()
        types = {v.name: v.type.tensor_type.elem_type for v in [*g.value_info, *g.output, *g.input]}
        for n in g.node:
            graphs += [a.g for a in n.attribute if a.type == onnx.AttributeProto.GRAPH]
            if any(types.get(o) == TensorProto.DOUBLE for o in n.output):
                found.add(n.op_type)
    return found


# Elementwise functions of float32 that go through float64 at standard: also a list in doc/accuracy.md
WIDE = {"Betainc", "Betaincinv", "Gammainc", "Gammaincc", "Gammaincinv", "Gammainccinv", "Hyp2f1", "Ive", "Jv", "Kve", "Ndtri_exp", "Owens_t", "PolyaGamma_logp", "PolyaGamma_logcdf"}  # and Polygamma, whose first argument is an integer
# Other ops of float32, as far as tests/op has them. Where tests/op also has integers beside float32, PyTensor's result is float64.
WIDE_FILES = {
    "ARange": "the count of items", "Sum_choice": "sums of any length", "Nuts": "NumPy draws float64", "Bartlett": "the result of an integer", "Pow_int": "integer exponents",
    "IRFFTOp": "Fourier transforms", "RFFTOp": "Fourier transforms", "Fourier": "Fourier transforms",
    "ArgSortOp": "keys that are larger than infinity", "SortOp": "keys", "Unique": "keys", "SearchsortedOp": "keys",
    "numbers": "functions of sizes, and integers", "CAReduce": "products", "keepdims": "products", "Prod": "products", "Det": "products", "SLogDet": "products", "ProdWithoutZeros": "products", "Eigh": "products", "Eigvalsh": "products",
    "MatrixPinv": "products", "SVD": "products", "Lstsq": "products, and linear algebra", "Complex": "float64 numbers of its own",
    "FusedElemwise": "sums of open length", "LazyIfElse": "sums of open length", "Mean": "sums of open length",
    "OpFromGraph": "sums of open length", "no-mistakes": "sums of open length", "const": "sums of open length", "tuple-const": "sums of open length", "open-names": "sums of open length", "Sum": "sums of open length", "LogSumExp": "sums of open length",
    "LengthsOfLaterInputs": "sums of open length", "ScanComputedSteps": "an integer division",
    "Expm": "linear algebra", "LU": "linear algebra", "Schur": "linear algebra", "Eig": "linear algebra", "SolveSylvester": "linear algebra",
    "Betainc": "", "Betaincinv": "", "Gammaincinv": "", "Gammainccinv": "", "Hyp2f1": "", "Ive": "", "Jv": "", "Kve": "", "Ndtri_exp": "", "Owens_t": "", "PolyaGamma_logp": "", "PolyaGamma_logcdf": "", "Polygamma": "", "Gammainc": "", "Gammaincc": "",
} | dict.fromkeys(
    ("Add", "BlockDiagonal", "Ceil", "Elemwise", "Floor", "Join", "Maximum", "Minimum", "Mul", "Pow", "Sqrt", "Sub", "True_div",
     "Trunc", "XLog1PY", "XLogY"), "integers"
)  # fmt: skip


@functools.cache
def elementwise_ops():
    """(op, number of arguments) of the groups of elementwise ops in ptgc --ops"""
    text = subprocess.run([ptg.PTGC, "--ops"], capture_output=True, text=True, check=True).stdout
    found, group = [], None
    for line in text.splitlines():
        if line and line[0] != " ":
            group = line
        m = re.match(r"  (\w+)\((\w+(?:, \w+)*)[^)]*\) ", line)
        if m and group in ("Arithmetic", "Exponentials and logarithms", "Rounding", "Comparison and logic",
                           "Conversion and copies", "Trigonometry", "Special functions"):  # fmt: skip
            found.append((m.group(1), m.group(2).count(",") + 1))
    return found


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("level", ["standard", "native"])
def test_no_float64(level, dtype):
    wide, tried = set(), 0
    for op, n in elementwise_ops():
        names = "xyzuvw"[:n]
        text = f"ptg 1 floatX=float32\ngraph g({', '.join(f'{v}: {dtype}[n]' for v in names)}) -> (r) {{\n  r = {op}({', '.join(names)})\n}}\n"
        try:
            data = ptg.compile(text, math=level)
        except AssertionError:
            continue  # not for floats
        tried += 1
        if float64_nodes(data):
            wide.add(op)
    assert tried > 60
    assert wide == WIDE


@pytest.mark.parametrize("path", OPS, ids=lambda p: p.stem)
def test_no_unlisted_float64(path):
    if path.stem == "raw-range":  # its lengths are those of its dtypes
        return
    text = path.read_text()
    own = tuple(" ".join(re.findall(r"^# ptgc: (.*)$", text, re.M)).split())
    head = re.search(r"^ptg 1(.*)\n", text, re.M)
    text = text.replace(head[0], "\n", 1) if head else text
    text = f"ptg 1 floatX=float32{head[1] if head else ''}\n" + text.replace("float64", "float32").replace("complex128", "complex64")
    try:
        data = ptg.compile(text, options=own, math="standard")
    except AssertionError:  # these say float64 where float32 does not fit
        assert path.stem in ("ExpandDims-weight", "Fourier", "MakeVector", "Switch-weight", "raw")
        return
    assert path.stem in WIDE_FILES or path.stem.endswith("_rv") or not float64_nodes(data)  # NumPy draws float64


# ---- ONNX's operators


@pytest.mark.parametrize("op", ["Tanh", "Sigmoid", "Softplus", "Log", "Sin", "Cos", "Tan", "Sinh", "Cosh", "Erf", "Arctan"])
def test_operators_at_native(op):
    name = {"Arctan": "Atan"}.get(op, op)
    have = {"Tanh", "Sigmoid", "Log", "Sin", "Cos"}  # for float64, on ONNX Runtime
    x = np.linspace(-0.9, 0.9, 7) + (op == "Log")
    for dtype in DTYPES:
        m = onnx.load_from_string(model(op, dtype, "native"))
        if dtype != "float64" or op in have:
            assert [n.op_type for n in m.graph.node if n.op_type != "Cast"] == [name], (op, dtype)
        for level in LEVELS:
            m = onnx.load_from_string(ptg.compile(graph(op, dtype), target="onnx", math=level, options=("-fno-check-dims",)))
            assert [n.op_type for n in m.graph.node if n.op_type != "Cast"] == [name], (op, dtype, level)
            if dtype == "float64" or level != "exact":
                assert len(m.graph.node) == 1, (op, dtype, level)
            got = ReferenceEvaluator(m).run(None, {"x": x.astype(dtype)})[0]
            rtol = {"float16": 2e-3, "float32": 1e-6, "float64": 1e-14 if op != "Erf" else 1e-6}[dtype]  # its Erf is float32
            np.testing.assert_allclose(got, truth(op, x.astype(dtype)), rtol=rtol, atol=rtol / 100)
