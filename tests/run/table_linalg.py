"""Rows of the numeric test: linear algebra.

See grid.py for what a row says.
"""

import numpy as np
import pytensor.tensor as pt
from pytensor.tensor.blas import BatchedDot, Dot22, Dot22Scalar, gemm_no_inplace, gemv_no_inplace
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.linalg.constructors import BlockDiagonal
from pytensor.tensor.linalg.decomposition.lu import pivot_to_permutation
from pytensor.tensor.linalg.products import kron
from pytensor.tensor.linalg.solvers.linear_control import TRSYL
from pytensor.tensor.linalg.solvers.lstsq import Lstsq
from pytensor.tensor.linalg.solvers.tridiagonal import LUFactorTridiagonal, SolveLUFactorTridiagonal
from pytensor.tensor.linalg.summary import SLogDet
from pytensor.tensor.math import Dot

from grid import A, Form, No
from grid_rows import EIGHTHS, FILLED, INTEGERS, SMALL, between, choice, row
from harness import ALL, BOOL, UINTS

FACTOR = A(values=EIGHTHS)


def f(shape, values=EIGHTHS, dtype="D"):
    return A(dtype, shape, values)


row(
    "Dot",
    Form(pt.dot, (f("m,k"), f("k,n"))),
    Form(pt.dot, (f("k"), f("k")), "vectors"),
    Form(pt.dot, (f("m,k"), f("k")), "matrix and vector"),
    Form(pt.dot, (f("k"), f("k,n")), "vector and matrix"),
    Form(lambda x, y: pt.dot(x, y), (f("k", SMALL), A("E", "k", SMALL)), "pairs"),
    zero_sign=False,
    why="a sum of zeros is 0 or -0, by the order of addition",
)
row(
    "Matmul",
    Form(lambda x, y: x @ y, (f("b,m,k"), f("b,k,n")), text="Matmul({0}, {1})"),
    Form(lambda x, y: x @ y, (f("b,m,k"), f("k,n")), "broadcast", text="Matmul({0}, {1})"),
    zero_sign=False,
    why="a sum of zeros is 0 or -0, by the order of addition",
)
row("BatchedDot", Form(BatchedDot(), (f("b,m,k"), f("b,k,n"))), zero_sign=False, why="a sum of zeros is 0 or -0, by the order of addition")
row(
    "Blockwise",
    Form(Blockwise(Dot(), signature="(m,k),(k,n)->(m,n)"), (f("b,m,k"), f("b,k,n"))),
    Form(
        Blockwise(Dot(), signature="(m,k),(k,n)->(m,n)"), (f("c,b,m,k"), f("1,b,k,n")), "broadcast"
    ),
    zero_sign=False,
    why="a sum of zeros is 0 or -0, by the order of addition",
)
row("Dot22", Form(Dot22(), (f("m,k"), f("k,n"))), zero_sign=False, why="a sum of zeros is 0 or -0, by the order of addition")
row(
    "Dot22Scalar",
    Form(Dot22Scalar(), (f("m,k"), f("k,n"), f(""))),
    zero_sign=False,
    why="a sum of zeros is 0 or -0, by the order of addition",
)
ONE_SUM = {"zero_sign": False, "why": "a sum of zeros is 0 or -0, by the order of addition"}
TAKES = {"no": (No("does not take", BOOL + INTEGERS),)}
row("Gemm", Form(gemm_no_inplace, (f("m,n"), f(""), f("m,k"), f("k,n"), f(""))), **ONE_SUM)
VECTOR = (f("m"), f(""), f("m,n"), f("n"), f(""))
row("Gemv", Form(gemv_no_inplace, VECTOR), **TAKES, **ONE_SUM)
row(
    "CGemv",
    Form(gemv_no_inplace, VECTOR, text="CGemv({0}, {1}, {2}, {3}, {4})"),
    **TAKES,
    **ONE_SUM,
)
row(
    "Ger",
    Form(
        lambda a, s, x, y: a + s * pt.outer(x, y),
        (f("m,n"), f(""), f("m"), f("n")),
        text="Ger({0}, {1}, {2}, {3})",
    ),
    **TAKES,
    **ONE_SUM,
)
row(
    "KroneckerProduct",
    Form(kron, (f("m,n"), f("k,l"))),
    Form(kron, (f("m"), f("k,l")), "of a vector"),
)
row(
    "BlockDiagonal",
    Form(lambda x, y: BlockDiagonal(2)(x, y), (A(shape="m,n"), A(shape="k,l"))),
    Form(
        lambda x, y: BlockDiagonal(3)(x, y, x),
        (A(shape="m,n"), A("float32", "k,l")),
        "of two dtypes",
    ),
)


def below_diagonal(rng, dtype, shape):
    """Whole numbers that the dtype holds."""
    signed = np.dtype(dtype).kind in "if"
    return np.tril(rng.integers(-1 if signed else 0, 1 if dtype == "bool" else 2, shape), -1)


def definite(rng, dtype, shape, near):
    """Symmetric, positive definite, well conditioned."""
    a = below_diagonal(rng, dtype, shape)
    return a + np.swapaxes(a, -1, -2) + np.eye(shape[-1], dtype=int) * 2 * max(shape[-1], 1)


def lower(rng, dtype, shape, near):
    return below_diagonal(rng, dtype, shape) + np.eye(shape[-1], dtype=int) * 2


SOLVED = {
    "ulp": {"float32": 64, "float64": 64},
    "atol": {"float32": 2e-5, "float64": 4e-14},
    "zero_sign": False,
    "why": "sums in another order than LAPACK's; measured: 7e-7 (float32) and 4e-15 (float64), the SVD 5e-6 and 1.1e-14",
}
SQUARE, RIGHT = A(shape="m,m", values=definite), A(shape="m,n", values=SMALL)
BATCH = A(shape="b,m,m", values=definite)
NUMPY = {
    "dtypes": tuple(d for d in ALL if d != "float16"),
    "but": "NumPy's linalg raises for float16; here it is computed in float32",
}
CANNOT_HAVE = No("which its result cannot have", tuple(d for d in ALL if d[:5] != "float"))
NOT_IN_HALF = No("which its result cannot have", ("float16",))
SOLVED_SOME = {
    **NUMPY,
    "sizes": FILLED,
    "but": "PyTensor raises where nothing is to be solved, NumPy for float16; both are computed",
}
ONE_MORE = {
    **NUMPY,
    "sizes": FILLED,
    "but": "PyTensor raises for an empty batch, NumPy's linalg for float16; here both are computed",
}
for op, make, numpy in (
    ("Cholesky", pt.linalg.cholesky, {}),
    ("MatrixInverse", pt.linalg.inv, NUMPY),
    ("Det", pt.linalg.det, NUMPY),
):
    row(
        op,
        Form(make, (SQUARE,), **numpy),
        Form(make, (BATCH,), "batch", **ONE_MORE),
        as_declared=True,
        **SOLVED,
    )
row("SLogDet", Form(lambda x: list(SLogDet()(x)), (SQUARE,), **NUMPY), as_declared=True, **SOLVED)
row("Eigvalsh", Form(lambda x: pt.linalg.eigvalsh(x, None), (SQUARE,)), **SOLVED)
row("Eigh", Form(lambda x: [pt.linalg.eigh(x)[0]], (SQUARE,)), **SOLVED)
row(
    "QR",
    Form(lambda x: list(pt.linalg.qr(x)), (SQUARE,)),
    Form(lambda x: [pt.linalg.qr(x, mode="r")], (SQUARE,), "r"),
    **SOLVED,
)
row(
    "Solve",
    Form(lambda a, b: pt.linalg.solve(a, b), (SQUARE, RIGHT)),
    Form(lambda a, b: pt.linalg.solve(a, b, assume_a="pos"), (SQUARE, RIGHT), "positive"),
    Form(
        lambda a, b: pt.linalg.solve(a, b),
        (SQUARE, A("float64", "m,n", SMALL)),
        "float64 beside it",
    ),
    as_declared=True,
    **SOLVED,
)
row(
    "SolveTriangular",
    Form(
        lambda a, b: pt.linalg.solve_triangular(a, b, lower=True),
        (A(shape="m,m", values=lower), RIGHT),
    ),
    Form(
        lambda a, b: pt.linalg.solve_triangular(a, b, b_ndim=1),
        (SQUARE, A(shape="m", values=SMALL)),
        "upper, a vector",
    ),
    **SOLVED,
)
row(
    "CholeskySolve",
    Form(lambda a, b: pt.linalg.cho_solve((a, True), b), (A(shape="m,m", values=lower), RIGHT)),
    **SOLVED,
)
row("LU", Form(lambda a: list(pt.linalg.lu(a)), (SQUARE,)), **SOLVED)
row(
    "LUFactor",
    Form(lambda a: list(pt.linalg.lu_factor(a)), (SQUARE,)),
    no=(CANNOT_HAVE, NOT_IN_HALF),
    **SOLVED,
)
row(
    "PivotToPermutations",
    Form(
        lambda p: pivot_to_permutation(p),
        (A("D", "m", lambda rng, d, s, near: np.arange(s[0])),),
        dtypes=INTEGERS,
        but="PyTensor raises for pivots that are not integers, unless there are none",
    ),
)
THREE = (
    A(shape="m", values=SMALL),
    A(shape="k", values=choice(5, 6, 7)),
    A(shape="m", values=SMALL),
)
row("LUFactorTridiagonal", Form(lambda *x: list(LUFactorTridiagonal()(*x)), THREE), **SOLVED)
row(
    "SolveLUFactorTridiagonal",
    Form(
        lambda *x: SolveLUFactorTridiagonal(b_ndim=1, transposed=False)(
            *LUFactorTridiagonal()(*x[:3]), x[3]
        ),
        (*THREE, A(shape="k", values=SMALL)),
    ),
    **SOLVED,
)


def whole_rank(rng, dtype, shape, near):
    """Well conditioned, of any shape."""
    d = np.dtype(dtype)
    if d.kind == "b":
        return np.tri(*shape, dtype=bool)
    return rng.integers(-1 if d.kind in "if" else 0, 2, shape) + np.eye(
        *shape, dtype=int
    ) * 2 * max(shape)


def upper(rng, dtype, shape, near):
    return lower(rng, dtype, shape, near).T


def six_by_six(rng, dtype, shape, near):
    return definite(rng, dtype, (6, 6), near).reshape(shape)


def always(value):
    return lambda rng, dtype, shape, near: np.full(shape, value)


def svd_parts(x, full):
    """What does not depend on the signs of the vectors."""
    u, s, v = pt.linalg.svd(x, full_matrices=full)
    k = s.shape[0]
    return [s, (u[:, :k] * s) @ v[:k], u.T @ u, v @ v.T]


def schur_parts(x):
    """What does not depend on the signs of the vectors and the order of the eigenvalues."""
    t, z = pt.linalg.schur(x)
    return [z @ t @ z.T, z.T @ z, pt.tril(t, -2), pt.sort(pt.diagonal(t))]


def eig_parts(x):
    """What does not depend on the factors of the vectors and the order of the eigenvalues."""
    w, v = pt.linalg.eig(x)
    both = v * w
    rest = [x @ pt.real(v) - pt.real(both), x @ pt.imag(v) - pt.imag(both)]
    return [pt.sort(pt.real(w)), *rest, (pt.real(v) ** 2 + pt.imag(v) ** 2).sum(0)]


SIGNS = {**SOLVED, "why": "signs and order of the factors are free, so their product is compared"}
ANY_RANK = A(shape="m,n", values=whole_rank)
row(
    "SVD",
    Form(lambda x: svd_parts(x, False), (ANY_RANK,), **NUMPY),
    Form(lambda x: svd_parts(x, True), (ANY_RANK,), "full", **NUMPY),
    Form(lambda x: pt.linalg.svd(x, compute_uv=False), (ANY_RANK,), "values", **NUMPY),
    as_declared=True,
    **SIGNS,
)
row("Eig", Form(eig_parts, (SQUARE,), **NUMPY), as_declared=True, **SIGNS)
row("Schur", Form(schur_parts, (SQUARE,), **NUMPY), as_declared=True, **SIGNS)
row(
    "MatrixPinv",
    Form(lambda x: pt.linalg.pinv(x), (ANY_RANK,), **NUMPY),
    Form(lambda x: pt.linalg.pinv(x, hermitian=True), (SQUARE,), "hermitian", **NUMPY),
    as_declared=True,
    **SOLVED,
)
RCOND = A("float64", "", always(1e-10))
row(
    "Lstsq",
    Form(lambda a, b, r: Lstsq()(a, b, r), (ANY_RANK, A("float64", "m,k", SMALL), RCOND), **NUMPY),
    as_declared=True,
    **SOLVED,
)
row(
    "TensorSolve",
    Form(
        pt.linalg.tensorsolve, (A(shape="2,3,3,2", values=six_by_six), A(shape="2,3", values=SMALL))
    ),
    as_declared=True,
    no=(No("its result cannot have", BOOL + INTEGERS),),
    **SOLVED,
)
row(
    "TensorInv",
    Form(lambda a: pt.linalg.tensorinv(a), (A(shape="2,3,6", values=six_by_six),)),
    Form(lambda a: pt.linalg.tensorinv(a, ind=1), (A(shape="6,2,3", values=six_by_six),), "ind=1"),
    as_declared=True,
    no=(No("its result cannot have", BOOL + INTEGERS),),
    **SOLVED,
)
row(
    "Expm",
    Form(pt.linalg.expm, (A(shape="m,m", values=between(-1, 1)),), **NUMPY),
    ulp={"float32": 64, "float64": 32},
    atol={"float32": 1e-3},
    as_declared=True,
    why="errors are relative to the norm; measured: 5e-4 of some hundreds (float32)",
)
UPPER = A(shape="m,m", values=upper)
OTHER = A(shape="n,n", values=definite)
row(
    "SolveSylvester",
    Form(pt.linalg.solve_sylvester, (SQUARE, OTHER, RIGHT), **SOLVED_SOME),
    as_declared=True,
    **SOLVED,
)
row(
    "TRSYL",
    Form(
        TRSYL(),
        (UPPER, A(shape="n,n", values=upper), RIGHT),
        sizes=FILLED,
        but="PyTensor's result for an empty matrix is no array",
    ),
    no=(CANNOT_HAVE, NOT_IN_HALF),
    **SOLVED,
)
RICCATI = (A(shape="m,m", values=lower),) * 2 + (SQUARE,) * 2
NOTHING = "PyTensor raises for an empty matrix; "
row(
    "SolveDiscreteARE",
    Form(
        pt.linalg.solve_discrete_are,
        RICCATI,
        sizes=FILLED,
        dtypes=("int32", "int64", *UINTS, "float64"),
        but=NOTHING + "the other form tries the other dtypes",
    ),
    Form(
        pt.linalg.solve_discrete_are,
        RICCATI,
        "in float32",
        sizes=FILLED,
        dtypes=("int8", "int16", "float16", "float32"),
        ulp={"float64": 2**38},
        but=NOTHING + "float64 is computed where PyTensor computes in float32",
    ),
    no=(No("does not take", UINTS),),
    ulp={"float64": 2**14},
    atol={"float64": 1e-11},
    zero_sign=False,
    as_declared=True,
    why="PyTensor solves another way, by a matrix pencil of twice the size",
)


def einsum(subscripts, *shapes):
    args = tuple(A(shape=s, values=SMALL) for s in shapes)
    inputs = ", ".join(f"{{{k}}}" for k in range(len(shapes)))
    text = f'Einsum{{{{subscripts="{subscripts}"}}}}({inputs})'
    build = lambda *x: pt.einsum(subscripts, *x)  # noqa: E731
    return Form(build, args, f"{subscripts} as text", text=text), Form(build, args, subscripts)


row(
    "Einsum",
    *einsum("ij,jk->ik", "m,k", "k,n"),
    *einsum("bij,bjk->ik", "b,m,k", "b,k,n"),
    *einsum("ij->j", "m,n"),
    *einsum("i,j->ij", "m", "n"),
    zero_sign=False,
    why="a sum of zeros is 0 or -0, by the order of addition",
)
