"""Einsum written by hand: NumPy's meaning of the subscripts, on known and unknown lengths."""

import subprocess

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from harness import PYTHON

import ptg
from opsets import SOME_OPSETS

CASES = {  # subscripts: ranks
    "ij,jk->ik": (2, 2),
    "ij,jk": (2, 2),
    "ba": (2,),
    "ij->j": (2,),
    "ij->": (2,),
    "ii->i": (2,),
    "ii": (2,),
    "iij->ij": (3,),
    "i,j->ij": (1, 1),
    "i,i": (1, 1),
    "bij,bjk->bik": (3, 3),
    "bij,kjb->ki": (3, 3),
    "ij,jk,kl->il": (2, 2, 2),
    "ij , kj -> k i": (2, 2),
    "...i,...i->...": (3, 2),
    "i...,j...->ij...": (2, 3),
    "ijk->kji": (3,),
    "iA,Aj->ji": (2, 2),
    "i,ij,j->": (1, 2, 1),
    "ii,i->i": (2, 1),
}


def text(subscripts, types):
    params = ", ".join(f"x{k}: {t}" for k, t in enumerate(types))
    args = ", ".join(f"x{k}" for k in range(len(types)))
    return f'ptg 1\n\ngraph g({params}) -> (y) {{\n  y = Einsum{{subscripts="{subscripts}"}}({args})\n}}\n'


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("subscripts", CASES)
def test_einsum(subscripts, dtype):
    ranks = CASES[subscripts]
    rng = np.random.default_rng(0)
    tolerance = {"float64": 1e-14, "float32": 1e-5, "float16": 2e-2}[dtype]
    for n in (0, 1, 2, 5):
        args = [rng.normal(size=(n,) * r).astype(dtype) for r in ranks]
        want = np.einsum(subscripts, *[a.astype("float64") for a in args])
        for dims in ("n", n):
            types = [f"{dtype}[{', '.join([str(dims)] * r)}]" for r in ranks]
            for opset in SOME_OPSETS:
                got = ptg.run(text(subscripts, types), *args, opset=opset)
                assert got.dtype == dtype and got.shape == want.shape, (n, dims, opset)
                assert np.allclose(got, want, tolerance, tolerance), (n, dims, opset, got, want)


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "uint64"])
@pytest.mark.parametrize("subscripts", CASES)
def test_integers_wrap(subscripts, dtype):
    ranks = CASES[subscripts]
    rng = np.random.default_rng(0)
    limits = (0, 1) if dtype == "bool" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    for n in (0, 1, 2, 5):
        args = [rng.integers(*limits, (n,) * r, "int64" if dtype == "bool" else dtype, True).astype(dtype) for r in ranks]
        declared = pt.einsum(subscripts, *[pt.tensor(dtype=dtype, shape=(None,) * r) for r in ranks]).dtype
        want = np.einsum(subscripts, *[a.astype(declared) for a in args])
        for dims in ("n", n):
            types = [f"{dtype}[{', '.join([str(dims)] * r)}]" for r in ranks]
            for opset in SOME_OPSETS:
                got = ptg.run(text(subscripts, types), *args, opset=opset)
                assert got.dtype == declared and got.shape == want.shape, (n, dims, opset)
                assert np.array_equal(got, want), (n, dims, opset, got, want)


@pytest.mark.parametrize(
    "dtypes", ["int8 int16 int16", "int16 int16 int8", "uint8 int8 int16", "int8 uint8 int16 int16", "bool int8 int8", "uint32 int32 int64"]
)
def test_order_of_products_that_makes_no_difference(dtypes):
    """Each two of them are multiplied in the dtype of the result, whichever come first."""
    dtypes = dtypes.split()
    subscripts = ",".join(["ij", "jk", "kl", "lm"][: len(dtypes)]) + "->i" + "jklm"[len(dtypes) - 1]
    rng = np.random.default_rng(0)
    arrays = [rng.integers(*((0, 2) if d == "bool" else (np.iinfo(d).min, np.iinfo(d).max)), (3, 3)).astype(d) for d in dtypes]
    model = ptg.compile(text(subscripts, [f"{d}[3, 3]" for d in dtypes]))
    got = ptg.run(model, *arrays)
    for length in (3, None):  # PyTensor looks for the shortest order where it knows the lengths
        x = [pt.tensor(dtype=d, shape=(length, length)) for d in dtypes]
        want = pytensor.function(x, pt.einsum(subscripts, *x), mode=PYTHON)(*arrays)
        assert got.dtype == want.dtype and np.array_equal(got, want)


def test_integers_of_length_one_are_stretched():
    x, y = np.arange(3, dtype="int8")[:, None], np.arange(8, dtype="int8").reshape(4, 2)
    for subscripts in ("ij,jk->ik", "ij,jk->jik", "ij,jk->", "jk,ij->i"):
        types = ["int8[3, 1]", "int8[n, 2]"] if subscripts[0] == "i" else ["int8[n, 2]", "int8[3, 1]"]
        args = (x, y) if subscripts[0] == "i" else (y, x)
        assert np.array_equal(ptg.run(text(subscripts, types), *args), np.einsum(subscripts, *args)), subscripts
    z = np.array([[3]], "int64")
    assert np.array_equal(ptg.run(text("ii->i", ["int64[1, 1]"]), z), [3])


def test_lengths_of_one_are_stretched():
    model = text("ij,jk->ik", ["float64[3, 1]", "float64[n, 2]"])
    x, y = np.ones((3, 1)), np.arange(8.0).reshape(4, 2)
    assert np.array_equal(ptg.run(model, x, y), np.einsum("ij,jk->ik", x, y))


def test_lengths_that_differ_fail():
    model = text("ij,jk->ik", ["float64[a, ?b]", "float64[?c, d]"])
    for wrong in ((1, 3), (3, 1), (2, 3)):
        with pytest.raises(Exception, match="ONNXRuntimeError"):
            ptg.run(model, np.ones((2, wrong[0])), np.ones((wrong[1], 2)))


@pytest.mark.parametrize(
    "subscripts, types, said",
    [
        ("ij,jk->ik", ["float64[2, 3]", "float64[4, 2]"], "the lengths of one letter differ"),
        ("ij->ii", ["float64[2, 3]"], "each letter of the result"),
        ("ij->k", ["float64[2, 3]"], "each letter of the result"),
        ("ij->i", ["float64[2]"], "'ij' has 2 letters, but the operand is float64[2]"),
        ("ij,j->i", ["float64[2, 3]"], "name more operands than are given"),
        ("i%->i", ["float64[2, 3]"], "letters and at most one"),
        ("...i->i", ["float64[2, 3]"], "needs the '...' too"),
        ("ij,jk,kl->l", ["int8[2, 2]"] * 3, "depend on their order: cast the operands to int64"),
        ("ij,jk,kl->il", ["int8[2, 2]", "int8[2, 2]", "int16[2, 2]"], "cast the operands to int16"),
        ("ij,jk,kl->il", ["int8[2, 2]", "int16[2, 2]", "int32[2, 2]"], "cast the operands to int32"),
        ("ij,jk,kl->il", ["bool[2, 2]", "bool[2, 2]", "int8[2, 2]"], "cast the operands to int8"),
        ("ij,k->k", ["int8[2, 2]", "uint64[2]"], "cast the operands to float64"),
    ],
)
def test_refused(subscripts, types, said):
    run = subprocess.run([ptg.PTGC, "-", "-o", "/dev/null"], input=text(subscripts, types), capture_output=True, text=True)
    assert run.returncode == 1 and said in run.stderr, run.stderr
