"""One message a mistake: programs with one wrong token are refused by one error, in their words and
place; what else the token upsets is a note or is not said."""
import time

import mutants
import pytest

PER_FILE, SEED = 30, 7


def errors(diagnostics):
    return [d for d in diagnostics if d.severity == "error"]


def test_one_message_a_mistake():
    start, several, n = time.monotonic(), [], 0
    for name, path, text in mutants.mutants(PER_FILE, SEED):
        status, found, messages, _ = mutants.compile(text, path)
        n += 1
        assert status in (0, 1), f"{name}: status {status}\n{messages}"
        assert (status == 1) == bool(errors(found)), f"{name}: status {status}\n{messages}"
        assert all(d.line and d.column for d in errors(found)), f"{name}\n{messages}"
        if len(errors(found)) > 1:
            several.append(f"## {name}\n{messages}")
    assert n > 6000
    # a number torn in two, a type that two ops refuse for two reasons
    assert len(several) <= n / 500, f"{len(several)} of {n}\n" + "\n".join(several)
    assert time.monotonic() - start < 60


# (a file, what is replaced in it, by what): the one error and its place
MISTAKES = {
    "header type, read twice": (
        "graph f(x: float64[n], y: float64[n, n]) -> (a, b) {\n  a = Cholesky(x)\n  b = MatrixInverse(x)\n}\n",
        (2, 7), "Cholesky: expected 2 dims"),
    "header length, read twice": (
        "graph f(x: float64[46], y: float64[64], z: float64[64]) -> (a, b) {\n  a = x + y\n  b = x * z\n}\n",
        (2, 9), "Add: float64[46] and float64[64] do not broadcast"),
    "header name": (
        "graph f(y: float64[n]) -> (a, b) {\n  a = Exp(x)\n  b = x + x\n}\n", (2, 11), "'x' is not defined"),
    "brackets swapped over two lines": (
        "graph f(x: float64[n]) -> (a, b) {\n  a = Sum{axis=(0}\n  )(x)\n  b = Exp(x)\n}\n",
        (2, 16), "this '(' is never closed"),
    "bracket and the block's end": (
        "graph f(x: float64[n]) -> (a) {\n  a = Exp(x}\n)\n", (2, 10), "this '(' is never closed"),
    "comma in properties over lines": (
        'graph f(x: float64[n, 4]) -> (a) {\n  a = Pad{\n    pad_mode="edge"\n    constant=2,\n  }(x, [[1, 1], [0, 0]])\n}\n',
        (3, 20), "a ',' is missing"),
    "comma in a loop's header": (
        "graph f(x: float64[n]) -> (s) {\n  s = loop (\n    v in x,\n    s: float64[] = float64(0)\n"
        "    k = int64(0)\n  ) -> (s) {\n    next s = s + v\n    next k = k + 1\n  }\n}\n",
        (4, 30), "a ',' is missing"),
    "brace of properties": (
        "graph f(x: float64[n, 3]) -> (a, b) {\n  a = Sum{axis=0(x)\n  b = Exp(x)\n}\n", (2, 17), "expected '}'"),
    "brace of a block": (
        "graph f(x: float64[n]) -> (a, b) {\n  a = loop (v in x, s = float64(0)) -> (s)\n    next s = s + v\n  }\n"
        "  b = Exp(x)\n}\n", (2, 43), "expected '{'"),
    "brace before else": (
        "fn F(x: T) -> (y) {\n  if dtype(x) == float32 {\n    y = x\n  else {\n    y = Exp(x)\n  }\n}\n"
        "graph f(x: float64[n]) -> (y) { y = F(x) }\n", (4, 3), "a '}' is missing before 'else'"),
    "a name that is taken": (
        "graph f(x: float64[n]) -> (a, b) {\n  x = Exp(x)\n  b = x + a\n}\n", (2, 3), "'x' is already defined"),
    "no file(...)": (
        'graph f(x: float64[n]) -> (a, b) {\n  w = "w.npy"\n  a = x * w\n  b = x + w\n}\n',
        (3, 11), "expected a tensor but got a string"),
    "a type that is none": (
        "graph f(x: flot64[n]) -> (a, b) {\n  a = Exp(x)\n  b = x[n] + Foo(x)\n}\n", None, "unknown dtype"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_place_and_words(name):
    text, place, words = MISTAKES[name]
    _, found, messages, _ = mutants.compile(text, mutants.TOP / "tests/op/x.ptg")
    if place is None:  # two mistakes: both are said
        assert len(errors(found)) == 2 and words in errors(found)[0].text, messages
        return
    (one,) = errors(found)
    assert words in one.text and (one.line, one.column) == place, messages


def test_no_mistake_is_lost():
    """Wrong lines one after the other, with a good one between: each has its error."""
    lines = ["a = Exp(x", "b = x +", "c = Sum{axis=0(x)", "d = [1, 2", "e = x[0", "x y", "h = = 1", "k = Exp{a](x)"]
    text = "graph f(x: float64[n]) -> (o) {\n" + "".join(f"  {w}\n  o{i} = Exp(x)\n" for i, w in enumerate(lines)) + "}\n"
    _, found, messages, _ = mutants.compile(text, mutants.TOP / "tests/op/x.ptg")
    assert [d.line for d in errors(found)] == [2 * i + 2 for i in range(len(lines))], messages


def test_what_no_change_of_a_type_mends_is_two_mistakes():
    text = """graph f(x: float64[3], y: float64[4], z: float64[5]) -> (a, b, c, d) {
  a = x + y
  b = x * z
  c = x[5]
  d = x[7]
}
"""
    _, found, messages, _ = mutants.compile(text, mutants.TOP / "tests/op/x.ptg")
    assert [d.line for d in errors(found)] == [2, 3, 4, 5], messages


def test_mutants_are_the_same_on_every_run():
    assert [m[0] for m in mutants.mutants(1, 3)] == [m[0] for m in mutants.mutants(1, 3)]
