"""The promises of doc/language.md, sections 15 and 16, at each level of --math: one row a promise."""

import re
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
import scipy.special

import ptg

README = " ".join((Path(ptg.ROOT) / "README.md").read_text().split())
LEVELS = ("exact", "standard", "native")
NAN, INF = np.nan, np.inf
FAILS = "the run fails"


def f32(*x):
    return np.array(x, "float32")


def f16(*x):
    return np.array(x, "float16")


def i64(*x):
    return np.array(x, "int64")


def at(exact, standard, native):
    return {"exact": exact, "standard": standard, "native": native}


LARGE = 2**63 - 1
# The largest int64 is 9223372036854775807: as float64 it is 2^63, and so is 2^63 as uint64
ONES = np.ones(5000, "float32")
# name: (parameters, expression, arguments, what it gives, or what at each level)
RULES = {
    # promotion
    "int32 with float32": ("x: int32[n], y: float32[n]", "x + y", (np.array([1], "int32"), f32(0.5)), np.array([1.5])),
    "uint64 with int64": ("x: uint64[n], y: int64[n]", "x + y", (np.array([1], "uint64"), i64(-2)), np.array([-1.0])),
    "uint8 with int8": ("x: uint8[n], y: int8[n]", "x + y", (np.array([255], "uint8"), np.array([1], "int8")), np.array([256], "int16")),
    "quotient of integers": ("x: int64[n], y: int64[n]", "x / y", (i64(1), i64(4)), np.array([0.25])),
    "quotient of small integers": ("x: int8[n], y: int8[n]", "x / y", (np.array([1], "int8"), np.array([4], "int8")), np.array([0.25])),
    "Exp of bool": ("x: bool[n]", "Exp(x)", (np.array([False]),), f32(1)),
    "Exp of int16": ("x: int16[n]", "Exp(x)", (np.array([0], "int16"),), f32(1)),
    "Exp of int32": ("x: int32[n]", "Exp(x)", (np.array([0], "int32"),), np.array([1.0])),
    "Sum of bools": ("x: bool[n]", "Sum(x)", (np.array([True, True]),), np.array(2)),
    "Sum of int8": ("x: int8[n]", "Sum(x)", (np.full(3, 127, "int8"),), np.array(381)),
    "Sum of uint8": ("x: uint8[n]", "Sum(x)", (np.full(3, 255, "uint8"),), np.array(765, "uint64")),
    "Prod of int32": ("x: int32[n]", "Prod(x)", (np.full(3, 2**20, "int32"),), np.array(2**60)),
    "Prod of uint32": ("x: uint32[n]", "Prod(x)", (np.full(2, 2**31, "uint32"),), np.array(2**62, "uint64")),
    # broadcasting
    "leading dims": ("x: float64[n], y: float64[m, n]", "x + y", (np.ones(2), np.zeros((3, 2))), np.ones((3, 2))),
    "a dim whose type says 1": ("x: float64[1], y: float64[n]", "x + y", (np.ones(1), np.zeros(3)), np.ones(3)),
    "a dim that is 1 in the run": ("x: float32[?n], y: float32[3]", "x + y", (f32(1), f32(0, 0, 0)), FAILS),
    "a dim that an equation makes 1": ("x: float64[?n], y: float64[?n, ?m], z: float64[?m]", "(x[:1] + y[0, :1]) * z", (np.ones(1), np.ones((1, 1)), np.ones(1)), np.full(1, 2.0)),
    "a dim that SpecifyShape makes 1": ("x: float64[?n], z: float64[m]", "SpecifyShape(x[:1], 1) * z", (np.full(2, 2.0), np.ones(3)), np.full(3, 2.0)),
    "SpecifyShape of another length": ("x: float64[?n], z: float64[m]", "SpecifyShape(x, 1) * z", (np.ones(2), np.ones(3)), FAILS),
    "indices are stretched": ("x: float64[n, m], i: int64[k], j: int64[l]", "x[i, j]", (np.arange(6.0).reshape(2, 3), i64(1), i64(0, 2)), np.array([3.0, 5.0])),
    "what is set is stretched": ("x: float64[n], y: float64[k]", "x[1:].set(y)", (np.zeros(3), np.ones(1)), np.array([0.0, 1, 1])),
    "what is added is stretched": ("x: float64[n, m], i: int64[k], j: int64[k], y: float64[l]", "x[i, j].inc(y)", (np.zeros((2, 2)), i64(0, 1), i64(0, 1), np.ones(1)), np.eye(2)),
    "what is set by a vector is not": ("x: float64[?n], i: int64[?k], y: float64[?l]", "x[i].set(y)", (np.zeros(3), i64(0, 1), np.ones(1)), FAILS),
    # integers
    "// rounds down": ("x: int64[n], y: int64[n]", "x // y", (i64(-7, 7, 7), i64(2, -2, 0)), i64(-4, -4, 0)),
    "% has the divisor's sign": ("x: int64[n], y: int64[n]", "x % y", (i64(-7, 7, 7), i64(3, -3, 0)), i64(2, -2, 0)),
    "// of floats": ("x: float64[n], y: float64[n]", "x // y", (np.array([-7.0, 7]), np.array([2.0, -2])), np.array([-4.0, -4])),
    "% of floats": ("x: float64[n], y: float64[n]", "x % y", (np.array([-7.0, 7]), np.array([3.0, -3])), np.array([2.0, -2])),
    "an integer to a negative power": ("x: int64[n], y: int64[n]", "x ** y", (i64(2), i64(-1)), FAILS),
    "int64 with uint64": ("x: int64[n], y: uint64[n]", "x < y", (i64(LARGE, -1), np.array([2**63, 0], "uint64")), np.array([True, True])),
    "others in the common dtype": ("x: int64[n], y: float64[n]", "Eq(x, y)", (i64(LARGE), np.array([2.0**63])), np.array([True])),
    # floats
    "Maximum": ("x: float64[n], y: float64[n]", "Maximum(x, y)", (np.array([NAN, 1]), np.array([1, NAN])), at(*[np.array([NAN, NAN])] * 2, None)),
    "Max": ("x: float64[m, n]", "Max{axis=1}(x)", (np.array([[1, NAN, 3]]),), at(*[np.array([NAN])] * 2, None)),
    "Argmax": ("x: float64[m, n]", "Argmax{axis=1}(x)", (np.array([[1, NAN, 3]]),), at(*[i64(1)] * 2, None)),
    "Argmax beside infinity": ("x: float64[m, n]", "Argmax{axis=1}(x)", (np.array([[INF, NAN, 3]]),), at(i64(1), i64(0), None)),
    "sum of float32": ("x: float32[4000]", "Sum(x)", (np.r_[f32(2**24), ONES[:3999]],), at(np.float32(2**24 + 4000), None, None)),
    "long sum of float32": ("x: float32[5001]", "Sum(x)", (np.r_[f32(2**24), ONES],), at(*[np.float32(2**24 + 5000)] * 2, None)),
    "acc_dtype": ("x: float32[2]", 'Sum{acc_dtype=float32}(x) - float32(16777216)', (f32(2**24, 1),), np.float32(0)),
    "sum of float16": ("x: float16[n]", "Sum(x)", (np.ones(3000, "float16"),), np.float16(3000)),
    "float16 is rounded": ("x: float16[n]", "(x + 1) - 1", (f16(2**-12),), at(f16(0), None, None)),
    "Switch keeps a zero's sign": ("x: float64[n], c: bool[n]", "1 / Switch(c, x, 1)", (np.array([-0.0]), np.array([True])), at(np.array([-INF]), None, None)),
    # errors
    "a negative size": ("k: int64[]", "Alloc(1.0, k)", (np.int64(-1),), FAILS),
    "a shape that does not fit": ("x: float64[n], k: int64[]", "Reshape(x, MakeVector(k, 2))", (np.ones(5), np.int64(3)), FAILS),
    "an index out of range": ("x: float64[n], k: int64[]", "x[k]", (np.ones(3), np.int64(3)), FAILS),
    "indices out of range": ("x: float64[n], i: int64[k]", "x[i]", (np.ones(3), i64(0, -4)), FAILS),
    "Assert": ("x: float64[n]", 'Assert{msg="positive"}(x, All(x > 0))', (np.array([0.0]),), FAILS),
    "Cholesky": ("x: float64[2, 2]", "Cholesky(x)", (-np.eye(2),), np.full((2, 2), NAN)),
    "Solve": ("x: float64[2, 2], y: float64[2]", 'Solve{b_ndim=1}(x, y)', (np.ones((2, 2)), np.ones(2)), np.full(2, NAN)),
    "MatrixInverse": ("x: float64[2, 2]", "MatrixInverse(x)", (np.ones((2, 2)),), FAILS),
    "TensorInv": ("x: float64[2, 2]", "TensorInv{ind=1}(x)", (np.ones((2, 2)),), FAILS),
    "TensorSolve": ("x: float64[4, 2, 2], y: float64[4]", "TensorSolve(x, y)", (np.ones((4, 2, 2)), np.ones(4)), FAILS),
    # levels: an empty axis, a sign of zero, a check of lengths
    "Softmax of nothing": ("x: float64[n, m]", "Softmax{axis=1}(x)", (np.zeros((2, 0)),), at(FAILS, np.zeros((2, 0)), np.zeros((2, 0)))),
    "lengths that differ": ("x: float64[?n], y: float64[?m]", "Dot(x, y)", (np.ones(2), np.ones(3)), FAILS),
    "a constant of all chains": ("x: float64[n]", "2.0 * (0.1 * x)", (np.array([0.7]),), at(np.array([2 * (0.1 * 0.7)]), None, None)),
    # differences
    "Reshape of no rows": ("x: float64[n, m]", "Reshape(x, MakeVector(Shape(x)[0], -1))", (np.zeros((0, 3)),), np.zeros((0, 3))),
    "JoinDims of no rows": ("x: float64[n, m, k]", "JoinDims{start_axis=1, n_axes=2}(x)", (np.zeros((0, 3, 2)),), np.zeros((0, 6))),
    "an index beside no indices": ("x: float64[n, m], i: int64[k], y: float64[]", "x[i, 7].set(y)", (np.ones((2, 2)), i64(), np.float64(3)), np.ones((2, 2))),
    "indices beside a slice of nothing": ("x: float64[n, m], i: int64[k]", "x[9:, i].set(5)", (np.ones((2, 2)), i64(7)), np.ones((2, 2))),
    "indices of elements of length 0": ("x: float64[2, 3, 0], i: int64[k], j: int64[k]", "x[i, j]", (np.zeros((2, 3, 0)), i64(7), i64(0)), np.zeros((1, 0))),
    "Choose of no choices": ("x: float64[n, m], i: int64[m]", "Choose(i, x)", (np.zeros((0, 0)), i64()), np.zeros(0)),
    "Choose of many rows": ("x: float64[n, 2], i: int64[2]", "Choose(i, x)", (np.arange(200.0).reshape(100, 2), i64(99, 0)), np.array([198.0, 1])),
    "linear algebra on bools": ("x: bool[2, 2]", "Cholesky(x)", (np.eye(2, dtype=bool),), np.eye(2, dtype="float32")),
    "linear algebra on int16": ("x: int16[2, 2]", "Det(x)", (np.eye(2, dtype="int16"),), np.float32(1)),
    "a product of complex numbers": ("x: complex64[n]", "x * x", (f32([1, 2]),), f32([-3, 4])),
    "no matrices": ("x: float64[n, 2, 2]", "Blockwise{Cholesky}(x)", (np.zeros((0, 2, 2)),), np.zeros((0, 2, 2))),
    "an infinite matrix": ("x: float64[2, 2]", "Cholesky(x)", (np.full((2, 2), INF),), np.full((2, 2), NAN)),
    "ends of a Fourier transform": ("x: float64[k, 8]", "RFFTOp(x, [8])[:, ::4, 1]", (np.sin(np.arange(16.0)).reshape(2, 8),), np.zeros((2, 2))),
    "AllocEmpty": ("k: int64[]", "AllocEmpty{float64}(k)", (np.int64(2),), np.zeros(2)),
    "Print": ("x: float64[n]", 'Print{message="x"}(x)', (np.ones(2),), np.ones(2)),
    "Convolve2d of float16": ("x: float16[2, 2]", 'Convolve2d{method="auto"}(x, x, True)', (np.ones((2, 2), "float16"),), f16(1, 2, 1, 2, 4, 2, 1, 2, 1).reshape(3, 3)),
}  # fmt: skip


def outcome(text, args, math, *options):
    try:
        return ptg.run(text, *args, math=math, options=("-Wno-unused", *options))
    except Exception as e:
        assert "ONNXRuntimeError" in str(e), e
        return FAILS


@pytest.mark.parametrize("math", LEVELS)
@pytest.mark.parametrize("name", RULES)
def test_rules(name, math):
    parameters, expression, args, want = RULES[name]
    want = want[math] if isinstance(want, dict) else want
    got = outcome(f"ptg 1\n\ngraph g({parameters}) -> (r) {{\n  r = {expression}\n}}\n", args, math)
    if want is FAILS:
        assert got is FAILS
    elif want is not None:
        assert got is not FAILS and got.dtype == want.dtype and got.shape == np.shape(want)
        np.testing.assert_array_equal(got, want)


def refused(text, *options):
    """The codes of the messages, if it does not compile"""
    run = subprocess.run([ptg.PTGC, *options, "-", "-o", "-"], input=f"ptg 1\n\n{text}\n".encode(), capture_output=True)
    return run.returncode and run.stderr.decode()


REFUSED = {
    "an index that is always out of range": "graph g(x: float64[3]) -> (y) { y = x[3] }",
    "lengths that never fit": "graph g(x: float64[3], y: float64[4]) -> (z) { z = x + y }",
    "any size beside a length": "graph g(x: float32[n], y: float32[3]) -> (z) { z = x + y }",
    "a condition that is false, in a loop": "graph g(x: float64[3], k: int64[]) -> (y) { y = loop (i in 0:k, s = x) -> (s) { next s = Assert(s, Shape(s)[0] > 3) } }",
    "a condition that is false, in an if": "graph g(x: float64[3], k: int64[]) -> (y) {\n  y = if k > 0 {\n    y = Assert(x, Shape(x)[0] > 3)\n  } else {\n    y = x\n  }\n}",
    "a negative size": "graph g() -> (y) { y = Alloc(1.0, -1) }",
    "Cumsum of int8": "graph g(x: int8[n]) -> (y) { y = Cumsum{axis=0}(x) }",
    "Cumprod of uint16": "graph g(x: uint16[n]) -> (y) { y = Cumprod{axis=0}(x) }",
    "a name twice": "fn f(x: F) -> (y: F) { y = x }\nfn f(x: F) -> (y: F) { y = x }\ngraph g(x: float64[n]) -> (y) { y = f(x) }",
    "a number beyond float32": ("graph g(x: float64[n]) -> (y) { y = x * 1e300 }", "--float32"),
    "float64 of portable": ("graph g(x: float64[n]) -> (y) { y = x }", "--target=portable"),
    "Hyp2f1 of portable": ("graph g(x: float32[n]) -> (y) { y = Hyp2f1(x, x, x, x) }", "--target=portable"),
    "PolyaGamma of portable": ("graph g(x: float32[n]) -> (y) { y = PolyaGamma_logp(x, x, x) }", "--target=portable", "--float32"),
    "Exp of complex numbers of portable": ("graph g(x: complex64[n]) -> (y) { y = Exp(x) }", "--target=portable", "--float32"),
    "quotients of uint64 of portable": ("graph g(x: uint64[n]) -> (y) { y = x // x }", "--target=portable"),
    "draws of portable": ("graph g(r: rng) -> (s, y) { s, y = uniform_rv(r, None, float32(0), float32(1)) }", "--target=portable", "--float32"),
    "an opset of portable": ("graph g(x: float32[n]) -> (y) { y = x }", "--target=portable", "--opset=21"),
    "an opset of ONNX Runtime": ("graph g(x: float32[n]) -> (y) { y = x }", "--opset=12"),
}


@pytest.mark.parametrize("math", LEVELS)
@pytest.mark.parametrize("name", REFUSED)
def test_refused(name, math):
    text, *options = REFUSED[name] if isinstance(REFUSED[name], tuple) else (REFUSED[name],)
    assert refused(text, f"--math={math}", *options)


# ---- flags: (parameters, expression, arguments, result with -fname, result with -fno-name)
FLAGS = {
    "check-dims": ("x: float32[?n], y: float32[?m]", "x[:2] + Sum(y) * 0 + (x + y)[:2]", (f32(1, 1), f32(1)), FAILS, f32(3, 3)),
    "nans": ("x: float64[m, n]", "Max{axis=1}(x)", (np.array([[1, NAN, 3]]),), np.array([NAN]), None),
    "strict-argmax": ("x: float64[m, n]", "Argmax{axis=1}(x)", (np.array([[INF, NAN, 3]]),), i64(1), i64(0)),
    "empty-axes": ("x: float64[n, m]", "Softmax{axis=1}(x)", (np.zeros((2, 0)),), FAILS, np.zeros((2, 0))),
    "signed-zeros": ("x: float64[n]", "1 / (x + 0.0)", (np.array([-0.0]),), np.array([INF]), np.array([-INF])),
    "excess-precision": ("x: float16[n]", "(x + 1) - 1", (f16(2**-12),), None, f16(0)),
    "wide-functions": ("x: float32[n]", "Erfc(x)", (f32(0.829398),), scipy.special.erfc(f32(0.829398).astype("float64")).astype("float32"), None),
    "wide-sums": ("x: float32[4000]", "Sum(x)", (np.r_[f32(2**24), ONES[:3999]],), np.float32(2**24 + 4000), None),
    "long-sums": ("x: float32[5001]", "Sum(x)", (np.r_[f32(2**24), ONES],), np.float32(2**24 + 5000), None),
    "reassociate": ("x: float64[n]", "2.5 * (3.1 * x)", (np.array([0.7]),), np.array([2.5 * 3.1 * 0.7]), np.array([2.5 * (3.1 * 0.7)])),
    "large-terms": ("f: float32[1000], u: float32[]", "Sum(f * f - u)", ((4000 + np.arange(1000) % 3).astype("float32"), np.float32(16e6)), np.float32(8002560), np.float32(7993665)),
    "associative": ("x: float64[64], a: float64[], b: float64[]", "x[63] + a * b", (np.ones(64), np.float64(1), np.float64(1)), np.float64(2), np.float64(2)),
    "native-functions": ("x: float32[n]", "Sigmoid(x)", (f32(-50),), f32(0), None),
}  # fmt: skip


def test_all_flags_are_tried():
    text = subprocess.run([ptg.PTGC, "--help"], capture_output=True, text=True, check=True).stdout
    rows = text.split("-f of numerics")[1].split("\n\n")[0].splitlines()[1:]
    assert [r.split()[0] for r in rows] and {r.split()[0] for r in rows} == set(FLAGS)


@pytest.mark.parametrize("math", LEVELS)
@pytest.mark.parametrize("flag", FLAGS)
def test_a_flag_wins_over_the_level(flag, math):
    parameters, expression, args, *wants = FLAGS[flag]
    other = {"wide-sums": ["-fno-long-sums"], "long-sums": ["-fno-wide-sums"], "large-terms": ["-fno-wide-sums", "-freassociate"],
             "strict-argmax": ["-fnans"], "empty-axes": ["-fcheck-dims"], "nans": ["-freassociate"], "native-functions": ["-fno-wide-functions"]}.get(flag, [])  # fmt: skip
    for name, want in zip((flag, f"no-{flag}"), wants):
        got = outcome(f"ptg 1\n\ngraph g({parameters}) -> (r) {{\n  r = {expression}\n}}\n", args, math, f"-f{name}", *other)
        if want is FAILS:
            assert got is FAILS, name
        elif want is not None:
            np.testing.assert_array_equal(got, want, err_msg=name)


# ---- section 15, targets and --float32


@pytest.mark.parametrize("math", LEVELS)
def test_use(tmp_path, math):
    """The fns of a file, and of those that it uses, also of one that uses it; its graphs do not count; a name is one fn in all."""
    (tmp_path / "parts").mkdir()
    main, a, b = tmp_path / "m.ptg", tmp_path / "parts" / "a.ptg", tmp_path / "parts" / "b.ptg"
    main.write_text('ptg 1\nuse "parts/a.ptg"\nfn Main(x: F) -> (y: F) { y = x + 1 }\ngraph g(x: float64[n]) -> (y) { y = A(x) + B(x) }\n')
    a.write_text('use "b.ptg"\nfn A(x: F) -> (y: F) { y = B(x) + Main(x) }\ngraph other(x: float64[n]) -> (y) { y = x }\n')
    b.write_text('use "../m.ptg"\nfn B(x: F) -> (y: F) { y = 2 * x }\n')
    command = [ptg.PTGC, f"--math={math}", "-Wno-unused", str(main), "-o", "-"]
    run = subprocess.run(command, capture_output=True)
    assert run.returncode == 0, run.stderr.decode()
    np.testing.assert_array_equal(ptg.run(run.stdout, np.array([1.0, 2])), [6, 11])
    for text, code in (("fn Main(x: F) -> (y: F) { y = x }\n", "Main"), ('use "../../c.ptg"\n', "c.ptg")):
        b.write_text('fn B(x: F) -> (y: F) { y = 2 * x }\nuse "../m.ptg"\n' + text)
        (tmp_path.parent / "c.ptg").write_text("fn C(x: F) -> (y: F) { y = x }\n")
        run = subprocess.run(command, capture_output=True)
        assert run.returncode == 1 and code in run.stderr.decode()


@pytest.mark.parametrize("math", LEVELS)
def test_use_as(tmp_path, math):
    """Two files with a fn of one name side by side; consts; a fn in a property; what the file itself uses is not seen."""
    main = tmp_path / "m.ptg"
    (tmp_path / "a.ptg").write_text('use "c.ptg"\nconst k = 3\nfn Act(x: F) -> (y: F) { y = Help(x) * k }\n')
    (tmp_path / "b.ptg").write_text("const k = 7\nfn Act(x: F) -> (y: F) { y = x + k }\n")
    (tmp_path / "c.ptg").write_text("fn Help(x: F) -> (y: F) { y = x - 7 }\n")
    head = 'use "a.ptg" as a\nuse "b.ptg" as b\nfn Twice{f: fn}(x: F) -> (y: F) { y = f(f(x)) }\n'

    def compiled(text):
        main.write_text(f"ptg 1\n{head}graph g(x: float64[n]) -> (y) {{ y = {text} }}\n")
        return subprocess.run([ptg.PTGC, f"--math={math}", "-Wno-unused", str(main), "-o", "-"], capture_output=True)

    x = np.array([8.0, 10])
    for text, want in (("a.Act(x) + b.Act(x)", (x - 7) * 3 + x + 7), ("x * a.k + b.k", x * 3 + 7), ("Twice{f=b.Act}(x)", x + 14)):
        run = compiled(text)
        assert run.returncode == 0, run.stderr.decode()
        np.testing.assert_array_equal(ptg.run(run.stdout, x), want)
    for text in "a.Help(x)", "Act(x)", "x * k":
        assert compiled(text).returncode == 1
    head = 'use "a.ptg" as a\n'
    assert compiled("x").returncode == 0
    for name in "onnx", "ai", "com":
        head = f'use "a.ptg" as {name}\n'
        assert compiled("x").returncode == 1


MCMC = """use <mcmc>
fn normal(x: float64[chains, d]) -> (logp: float64[chains], gradient: float64[chains, d]) {
  logp = -0.5 * Sum{axis=1}(x * x)
  gradient = -x
}
graph sampler(words: uint64[chains, 6]) -> (x) {
  x, _, _, _, _, _, _, _, _, _ = Nuts{logp=normal, draws=5, tune=5}(float64[3](0), words)
}
"""
ODE = """use <ode>
fn rates(y: float64[l, 1], t: float64[l], p: float64[l, 1]) -> (dy) { dy = -p * y }
graph decay(y0: float64[points, 1], times: float64[k], p: float64[points, 1]) -> (y) { y = Odeint{f=rates}(y0, times, p, 0) }
"""


@pytest.mark.parametrize("math", LEVELS)
def test_use_of_the_library(math):
    words = np.random.default_rng(1).integers(0, 2**63, (2, 6), "uint64") | np.uint64(1)
    x = ptg.run("ptg 1\n" + MCMC, words, math=math, options=("-Wno-unused",))
    assert x.shape[-1] == 3 and np.isfinite(x).all() and x.std() > 0
    y = ptg.run("ptg 1\n" + ODE, np.ones((1, 1)), np.array([0.0, 1]), np.full((1, 1), 2.0), math=math, options=("-Wno-unused",))
    np.testing.assert_allclose(y[0, :, 0], [1, np.exp(-2)], rtol=1e-6)


TARGETS = {"ort-cpu": "float64", "ort-web": "float64", "portable": "float32", "onnx": "float64"}


@pytest.mark.parametrize("math", LEVELS)
@pytest.mark.parametrize("target", TARGETS)
def test_targets(target, math):
    dtype = TARGETS[target]
    text = f"ptg 1\n\ngraph g(x: {dtype}[n, 3]) -> (y, z) {{\n  y = Softmax{{axis=1}}(x)\n  z = Sum{{axis=0}}(Erf(x) * Gammaln(Abs(x) + 1))\n}}\n"
    x = np.random.default_rng(2).normal(size=(4, 3)).astype(dtype)
    model = ptg.compile(text, target=target, math=math)
    want = scipy.special.softmax(x, 1), (scipy.special.erf(x) * scipy.special.gammaln(abs(x) + 1)).sum(0)
    if target != "onnx":  # its Erf of float64 has no kernel here
        for got, w in zip(ptg.run(model, x), want):
            np.testing.assert_allclose(got, w, rtol=1e-5 if dtype == "float32" else 1e-13)
    if target == "portable":
        permuted = "graph g(r: rng, x: float32[n]) -> (s, y) { s, y = permutation_rv(r, None, x) }"
        _, y = ptg.run("ptg 1\n" + permuted, np.array([1, 2, 3, 5, 0, 0], "uint64"), x[:, 0], target=target, math=math)
        np.testing.assert_array_equal(sorted(y), sorted(x[:, 0]))
        types = {v.type.tensor_type.elem_type for v in onnx.shape_inference.infer_shapes(onnx.load_from_string(model)).graph.value_info}
        assert onnx.TensorProto.DOUBLE not in types


@pytest.mark.parametrize("math", LEVELS)
def test_target_onnx(math):
    """-fnative-functions is on and -fwide-functions off; an Assert is left out with a warning."""
    model = ptg.compile("ptg 1\n\ngraph g(x: float32[n]) -> (y) { y = Erf(Log(x)) }\n", target="onnx", math=math)
    assert [n.op_type for n in onnx.load_from_string(model).graph.node] == ["Log", "Erf"]
    text = "graph g(x: float64[n]) -> (y) { y = Assert(x, All(x > 0)) }"
    assert "PTG0910" in refused(text, "--target=onnx", f"--math={math}", "-Werror")


@pytest.mark.parametrize("math", LEVELS)
def test_float32(math):
    """Inputs, constants, weights and results; complex numbers too."""
    text = "ptg 1\n\ngraph g(x: float64[n], z: complex128[n]) -> (y, w) {\n  y = x * 0.1 + Sum(x)\n  w = z * z\n}\n"
    model = ptg.compile(text, math=math, options=("--float32",))
    graph = onnx.load_from_string(model).graph
    assert {v.type.tensor_type.elem_type for v in (*graph.input, *graph.output)} == {onnx.TensorProto.FLOAT}
    assert onnx.TensorProto.DOUBLE not in {t.data_type for t in graph.initializer}
    y, w = ptg.run(model, f32(1, 2), f32([1, 2], [0, 1]))
    np.testing.assert_allclose(y, [3.1, 3.2], rtol=1e-6)
    np.testing.assert_array_equal(w, [[-3, 4], [-1, 0]])


def test_readme_counts_ops():
    last = subprocess.run([ptg.PTGC, "--ops"], capture_output=True, text=True, check=True).stdout.splitlines()[-1]
    known, converted = re.match(r"(\d+) ops: (\d+) are converted", last).groups()
    assert f"ptgc knows {known} ops of PyTensor by name and converts {converted} of them" in README


def test_readme_and_the_times_of_pymc_models():
    """Geometric means, rounded as the README does: a call beside JAX and Numba, 64 points, the first result"""
    page = (Path(ptg.ROOT) / "doc" / "performance.md").read_text()
    jax, numba = re.search(r"ONNX / JAX ([\d.]+), ONNX / NUMBA ([\d.]+)", page).groups()
    many = r"ONNX / NUMBA, 1 ([\d.]+) .*ONNX / JAX, 64 ([\d.]+) \((\d+) models.*C / NUMBA, 1 ([\d.]+) .*C / JAX, 64 ([\d.]+) "
    at_numba, at_jax, models, c_at_numba, c_at_jax = re.search(many, page).groups()
    assert f"each point takes {c_at_numba} of Numba's time and {c_at_jax} of JAX's." in README
    first = re.search(r"to the first result.*ONNX / JAX ([\d.]+)\.", page)[1]
    assert f"For {models} models, most calls take" in README
    said = re.search(r"takes ([\d.]+) times as long as a call of JAX, and ([\d.]+) times as long as a call of Numba", README).groups()
    for number, measured in zip(said, (jax, numba), strict=True):
        assert abs(float(number) - float(measured)) <= 0.051
    assert "takes a quarter of Numba's time" in README and abs(float(at_numba) - 0.25) < 0.05
    assert abs(float(re.search(r"time and ([\d.]+) times JAX's", README)[1]) - float(at_jax)) <= 0.051
    assert "takes a fifth of the time that JAX takes" in README and abs(float(first) - 0.2) < 0.05


def test_readme_and_the_times_of_c():
    """Geometric means beside Numba and JAX, the model that takes longest beside Numba, and the function without Python"""
    page = (Path(ptg.ROOT) / "doc" / "performance.md").read_text()
    table = page.split("## C beside ONNX Runtime, Numba and JAX")[1].split("\n## ")[0]
    rows = [[c.strip() for c in line.split("|")[1:-1]] for line in table.splitlines() if line.startswith("| ")]
    at = {name: rows[0].index(name) for name in ("C / NUMBA", "NATIVE / NUMBA", "NATIVE / JAX", "cc, s")}

    def mean(name):
        return np.exp(np.mean([np.log(float(r[at[name]])) for r in rows[1:]]))

    said = re.search(r"gradients of (\d+) PyMC models, .* take .* That is ([\d.]+) of Numba's time and ([\d.]+) of JAX's", README)
    assert int(said[1]) == len(rows) - 1
    assert abs(float(said[2]) - mean("NATIVE / NUMBA")) < 0.006 and abs(float(said[3]) - mean("NATIVE / JAX")) < 0.006
    assert abs(float(re.search(r"in C alone takes ([\d.]+) of a call of Numba", README)[1]) - mean("C / NUMBA")) < 0.006
    most = max(float(r[at["NATIVE / NUMBA"]]) for r in rows[1:])
    said = float(re.search(r"No model takes longer\s+than with Numba: the most is ([\d.]+)\.", README)[1])
    assert abs(said - most) < 0.006 and most < 1
    full = r"\(\d+ models\), with a full cache ([\d.]+) s"
    found = rf"NATIVE ([\d.]+) s {full}.*NUMBA ([\d.]+) s {full}.*JAX ([\d.]+) s \((\d+) models"
    cold, warm, numba, numba_warm, jax, models = re.search(found, page).groups()
    assert f"{models} models take {cold} s, and {warm} s once the cache has them" in README
    assert f"JAX takes {float(jax):.0f} s, and Numba {float(numba):.0f} s, or {numba_warm} s with its own cache" in README
    assert "gcc compiles each model in less than a second" in README and max(float(r[at["cc, s"]]) for r in rows[1:]) < 1


def test_readme_says_what_the_tables_show():
    """Nodes beside those by hand, the time, the functions that go through float64, and the error of the others"""
    top = Path(ptg.ROOT)
    table = (top / "doc" / "performance.md").read_text().split("## Float32 networks")[1].split("\n## ")[0]
    rows = [[c.strip() for c in line.split("|")[1:-1]] for line in table.splitlines() if line.startswith("| ")]
    hand = rows[0].index("nodes by hand")
    assert rows[0][hand + 2 : hand + 4] == ["standard", "native"] and len(rows) == 1 + 10
    more = [max(int(r[at]) - int(r[hand]) for r in rows[1:]) for at in (hand + 2, hand + 3)]
    time = re.search(r"standard ([\d.]+), native", table)[1]
    assert f"has up to {more[0]} nodes more than the same network written by hand in ONNX, and takes {time} times as long." in README
    assert f"it has up to {more[1]} more (" in README
    page = (top / "doc" / "accuracy.md").read_text()
    wide = next(line for line in page.splitlines() if line.startswith("- `Polygamma`")).count("`") // 2
    assert f"{wide} functions, such as `Betainc`, are computed in float64" in README
    float32 = next(line for line in page.splitlines() if line.startswith("| float32 |")).split("|")
    assert re.match(r" (\d+) units ", float32[3])[1] == re.search(r"functions of float32 are within (\d+) units", README)[1]
