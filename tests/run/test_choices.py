"""-fchoices (src/typed/choices.c) where a choice only looks like one that can go: NumPy's numbers at every level."""

import numpy as np
import onnx
import pytest

import ptg

LEVELS = "exact", "standard", "native"
TERMS = [f"t{i}" for i in range(1, 10)]


def text(parameters, *lines):
    body = "\n".join(f"  {line}" for line in lines)
    return f"ptg 1\ngraph g({parameters}) -> (y) {{\n{body}\n}}\n"


@pytest.mark.parametrize("math", LEVELS)
@pytest.mark.parametrize("stretched", [False, True])
def test_mask_of_rows_is_no_mask_of_columns(math, stretched):
    k = "Second(x, [[0.0, 5.0, 7.0]])" if stretched else "[[0.0, 5.0, 7.0]]"
    model = text("c: bool[3,3], x: float64[3,3]", f"y = Switch(c & bool([[1], [0], [0]]), 0.0, {k})")
    c = np.ones((3, 3), bool)
    expected = np.where(c & np.array([[True], [False], [False]]), 0.0, [[0.0, 5.0, 7.0]])
    np.testing.assert_array_equal(ptg.run(model, c, np.ones((3, 3)), math=math), expected)


@pytest.mark.parametrize("math", LEVELS)
@pytest.mark.parametrize("no", ["[9007199254740993, 4]", "Switch(c, 9007199254740993, x)"])
def test_integers_that_doubles_do_not_tell_apart(math, no):
    model = text("c: bool[2], x: int64[2]", f"y = Switch(c & bool([1, 0]), 9007199254740992, {no})")
    got = ptg.run(model, np.array([True, False]), np.array([1, 4]), math=math)
    np.testing.assert_array_equal(got, [9007199254740992, 4])


@pytest.mark.parametrize("choice", ["Switch(c, 0.0, Switch(c, -0.0, x))", "Switch(c & bool([1, 1]), 0.0, [-0.0, -0.0])"])
def test_signs_of_zeros(choice):
    model = text("c: bool[2], x: float64[2]", f"y = {choice}")
    got = ptg.run(model, np.ones(2, bool), np.ones(2), math="exact")
    np.testing.assert_array_equal(np.signbit(got), [False, False])


@pytest.mark.parametrize("math", LEVELS)
@pytest.mark.parametrize("choice", ["Switch(all, a, Switch(some, b, x))", "Switch(some, 1.0, Switch(all, 1.0, x))"])
@pytest.mark.parametrize("first", [False, True])
def test_conditions_of_many_terms(math, choice, first):
    """`all` has one term more than `some`, which must not get lost."""

    def conjunction(terms):
        if first:
            return " & ".join(terms)
        return " & (".join(terms) + ")" * (len(terms) - 1)

    model = text(
        ", ".join(f"{t}: bool[2]" for t in TERMS) + ", a: float64[2], b: float64[2], x: float64[2]",
        f"all = {conjunction(TERMS)}", f"some = {conjunction(TERMS[:-1])}", f"y = {choice}")
    last = np.array([False, True])
    a, b, x = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    expected = np.where(last, a, b) if "a," in choice else [1.0, 1.0]
    np.testing.assert_array_equal(ptg.run(model, *[np.ones(2, bool)] * 8, last, a, b, x, math=math), expected)


# Mul takes more than two arguments
MANY_FACTORS = {
    "Switch(Mul(b, c, d), 0.0, Switch(b & c, 1.0, x))": lambda b, c, d, x: np.where(b & c & d, 0, np.where(b & c, 1, x)),
    "Switch(Mul(b, c, d), 1.0, Switch(Mul(b, c), 1.0, x))": lambda b, c, d, x: np.where(b & c, 1, x),
    "Switch(b & c, 1.0, Switch(Mul(b, c, d), 1.0, x))": lambda b, c, d, x: np.where(b & c, 1, x),
    "Switch(Mul(b, c, bool([1, 1, 1, 1, 0, 0, 0, 0])), 0.0, [0.0, 0, 0, 0, 5, 6, 7, 8])": lambda b, c, d, x: [0, 0, 0, 0, 5, 6, 7, 8],
    "Switch(bool([1, 0, 1, 0, 1, 0, 1, 0]), Exp(Mul(-1.0, x, x)), Exp(x))": lambda b, c, d, x: np.exp(np.where(np.arange(8) % 2, x, -x * x)),
    "Switch(bool([1, 0, 1, 0, 1, 0, 1, 0]), Mul(Exp(x), -1.0, x), Exp(-x))": lambda b, c, d, x: np.where(np.arange(8) % 2, np.exp(-x), -x * np.exp(x)),
    "Switch(x == 0.0, 0.0, Mul(-1.0, x, [inf, 1, 1, 1, 1, 1, 1, 1]))": lambda b, c, d, x: np.where(x == 0, 0, -x),
}


@pytest.mark.parametrize("math", LEVELS)
@pytest.mark.parametrize("choice", MANY_FACTORS)
def test_products_of_more_than_two_factors(choice, math):
    b, c, d = (np.array([(i >> k) & 1 for i in range(8)], bool) for k in range(3))
    x = np.array([0.0, 2, -1, 3, 0.5, -2, 4, 1.5])
    got = ptg.run(text("b: bool[8], c: bool[8], d: bool[8], x: float64[8]", f"y = {choice}"), b, c, d, x, math=math)
    np.testing.assert_allclose(got, MANY_FACTORS[choice](b, c, d, x), rtol=1e-14)


COMPARED = {"==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}


@pytest.mark.parametrize("math", ["exact", "standard"])
@pytest.mark.parametrize("op", COMPARED)
@pytest.mark.parametrize(
    "dtype, k",
    [("float64", [2.0, np.nan, np.inf, -np.inf, -0.0]), ("int64", [2, 2**53 + 1, -5, 0, 1]), ("float32", [3, 4, 5, 6, 7])],
)
@pytest.mark.parametrize("number", [2, 0, 100, -100])
def test_comparisons_of_constants(math, op, dtype, k, number, tmp_path, monkeypatch):
    """A mask of data may hold everywhere, nowhere, or here and there; both sides stay what they are."""
    k, x = np.array(k, dtype), np.array([np.nan, -0.0, np.inf, 4.0, 5.0])
    monkeypatch.chdir(tmp_path)
    np.save(f"k_{dtype}.npy", k)
    model = text("x: float64[5]", f'k = file("k_{dtype}.npy")', f"y = Switch(k {op} {number}, x, Switch(k {op} {number}, 1.0, 7.0))")
    got = ptg.run(model, x, math=math)
    np.testing.assert_array_equal(got, np.where(COMPARED[op](k, number), x, 7.0))


@pytest.mark.parametrize("math", LEVELS)
def test_guards_of_data(math, tmp_path, monkeypatch):
    """x * log(m) as Poisson's density guards it: 0 where both are 0, -inf where only m is."""
    monkeypatch.chdir(tmp_path)
    np.save("counts.npy", np.array([0, 0, 2, 3]))
    model = text(
        "m: float64[4]", 'k = file("counts.npy")', "l = Log(m)",
        "y = Switch((l == -inf) & (k <= 0), Switch(k == 0, 0.0, -inf), k * l)",
        "d = Switch((l == -inf) & (k <= 0), 0.0, Cast{float64}(k) / m)").replace("(y)", "(y, d)")  # fmt: skip
    m = np.array([0.0, 0.5, 0.0, 2.0])
    y, d = ptg.run(model, m, math=math)
    np.testing.assert_allclose(y, [0, 0, -np.inf, 3 * np.log(2)], rtol=1e-15)
    np.testing.assert_array_equal(d, [0, 0, np.inf, 1.5])


def summed(c, x, k, axes):
    with np.errstate(invalid="ignore"):
        return np.sum(np.where(c, x, k), axis=axes)


# the condition, x, the number that is chosen elsewhere, axes; the condition is longer than one element in some
SUMS = {
    "number": ("bool[]", "float64[4]", "-inf", "[0]"), "one": ("bool[1]", "float64[4]", "-inf", "[0]"),
    "all axes": ("bool[1, 1]", "float64[2, 3]", "-inf", "None"), "rows": ("bool[2, 1]", "float64[2, 3]", "-inf", "[1]"),
    "columns": ("bool[2, 1]", "float64[2, 3]", "-inf", "[0]"), "each": ("bool[2, 3]", "float64[2, 3]", "-inf", "[1]"),
    "lower rank": ("bool[1]", "float64[2, 3]", "-inf", "[1]"), "middle": ("bool[2, 1, 3]", "float64[2, 4, 3]", "nan", "[1]"),
    "zero": ("bool[2, 1]", "float64[2, 3]", "0.0", "[-1]"), "negative zero": ("bool[1]", "float64[3]", "-0.0", "[0]"),
    "finite": ("bool[2, 1]", "float64[2, 3]", "0.1", "[1]"), "empty": ("bool[2, 1]", "float64[2, 0]", "-inf", "[1]"),
    "open": ("bool[2, 1]", "float64[2, n]", "-inf", "[1]"), "open zero": ("bool[2, 1]", "float64[2, n]", "0.0", "[1]"),
    "stretched": ("bool[2, 1]", "float64[2, 1]", "[[-inf, -inf, -inf]]", "[1]"), "short": ("bool[3]", "float64[1]", "-inf", "[0]"),
    "integers": ("bool[2, 1]", "int8[2, 3]", "int8(0)", "[1]"), "bools": ("bool[2, 1]", "bool[2, 3]", "False", "[1]"),
    "floats": ("bool[2, 1]", "float32[2, 3]", "float32(inf)", "[1]"),
}  # fmt: skip


@pytest.mark.parametrize("math", LEVELS)
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("case", SUMS)
def test_sums_of_choices(case, turned, math):
    """A condition that is the same for all that is summed up may choose between sums."""
    condition, type_, k, axes = SUMS[case]
    dtype = type_.partition("[")[0]
    sides = f"{k}, x" if turned else f"x, {k}"
    model = text(f"c: {condition}, x: {type_}", f"y = Sum{{axes={axes}}}(Switch(c, {sides}))")
    number = {"-inf": -np.inf, "nan": np.nan, "False": False}.get(k)
    number = np.array(eval(k, {"inf": np.inf, **vars(np)}) if number is None else number, dtype)
    rng = np.random.default_rng(1)
    for n in (0, 1, 5) if "n" in type_.partition("[")[2] else (2,):
        shape = [int(d.replace("n", str(n))) for d in type_.partition("[")[2][:-1].split(",")]
        lengths = [int(d) for d in condition[5:-1].split(",") if d]
        for way in "same", "other", "mixed":
            x = rng.integers(0, 2 if dtype == "bool" else 100, shape).astype(dtype)
            if dtype.startswith("float") and way == "mixed" and x.size:
                x.flat[0], x.flat[-1] = np.nan, np.inf
            c = np.full(lengths, way == "same") if way != "mixed" else rng.random(lengths) < 0.5
            want = summed(~c if turned else c, x, number, None if axes == "None" else tuple(eval(axes)))
            np.testing.assert_array_equal(ptg.run(model, c, x, math=math), want)


def test_sum_of_a_checked_density_chooses_once():
    model = text("s: float64[b, 1], x: float64[b, 100]", "y = Sum{axes=[1]}(Switch(s > 0, -0.5 * x * x - Log(s), -inf))")
    made = onnx.shape_inference.infer_shapes(onnx.load_model_from_string(ptg.compile(model)), data_prop=True).graph
    ranks = {v.name: len(v.type.tensor_type.shape.dim) for v in [*made.value_info, *made.output]}
    assert {ranks[n.output[0]] for n in made.node if n.op_type == "Where"} == {1}
