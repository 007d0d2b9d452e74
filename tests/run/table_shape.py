"""Rows of the numeric test: shapes and indexing.

See grid.py for what a row says.
"""

import numpy as np
import pytensor.tensor as pt
from pytensor.tensor.basic import (
    AllocDiag,
    AllocEmpty,
    ARange,
    Choose,
    ExtractDiag,
    Eye,
    Join,
    MakeVector,
    PermuteRowElements,
    Split,
)
from pytensor.tensor.extra_ops import (
    FillDiagonal,
    FillDiagonalOffset,
    RavelMultiIndex,
    Repeat,
    UnravelIndex,
)
from pytensor.tensor.shape import Shape, Shape_i, SpecifyShape

from grid import A, Form, No, anything
from grid_rows import EIGHTHS, FILLED, FORMS, SMALL, between, index, row
from harness import FLOATS

# ---- shapes ----


def text_of(op, *props):
    return lambda r: f"{op}{{{{{', '.join(p.format(r=r, last=r - 1) for p in props)}}}}}({{0}})"


row(
    "DimShuffle",
    *[
        Form(
            lambda x, o=o: x.dimshuffle(*o),
            (A(shape="m,n,k,l"[: 2 * k - 1] if k else ""),),
            str(o),
            text=text_of("DimShuffle", f"order=[{', '.join(map(str, o))}]"),
        )
        for k, o in (
            (2, (0, "x", 1)),
            (2, (1, "x", 0)),
            (3, ("x", 2, 0, 1)),
            (4, (3, "x", 1, 0, 2)),
            (0, ("x", "x")),
            (1, (0, "x")),
        )
    ],
)
row(
    "ExpandDims",
    Form(lambda x: pt.expand_dims(x, 0), text="ExpandDims{{axis=0}}({0})"),
    Form(lambda x: pt.expand_dims(x, -1), name="last", text="ExpandDims{{axis=-1}}({0})"),
)
row(
    "Squeeze",
    Form(lambda x: pt.squeeze(x, 1), (A(shape="m,1,n"),), text="Squeeze{{axis=1}}({0})"),
    Form(
        lambda x: pt.squeeze(x, (0, 2)),
        (A(shape="1,m,1"),),
        "two",
        text="Squeeze{{axes=(0, 2)}}({0})",
    ),
)
row(
    "Transpose",
    Form(lambda x: x.transpose(), text="Transpose({0})"),
    Form(
        lambda x: x.transpose(2, 0, 1),
        (A(shape="m,n,k"),),
        name="turned",
        text="Transpose{{axes=(2, 0, 1)}}({0})",
    ),
)
row("MatrixTranspose", Form(lambda x: pt.matrix_transpose(x), text="MatrixTranspose({0})"))
row(
    "Reshape",
    Form(lambda x: x.reshape((-1,))),
    Form(
        lambda x: x.reshape((x.shape[-1], -1), ndim=2),
        name="by a dim",
        sizes=FILLED,
        but="NumPy cannot work out -1 where another length is 0; here the dims of x tell",
    ),
    Form(
        lambda x, n, m: pt.reshape(x, pt.stack([n, m])),
        (A(shape="6"), A("int64", "", between(2, 2)), A("int64", "", between(3, 3))),
        "given",
    ),
    Form(
        lambda x, n: x.reshape((n, 1), ndim=2),
        (A(shape="m"), A("int64", "", between(2, 3))),
        "to what may not fit",
    ),
)
row("Shape", Form(lambda x: Shape()(x)))
row("Shape_i", Form(lambda x: Shape_i(0)(x)), Form(lambda x: Shape_i(x.ndim - 1)(x), name="last"))
row(
    "SpecifyShape",
    Form(
        lambda x, n: SpecifyShape()(x, n, *[None] * (x.ndim - 1)),
        (A(), A("int64", "", between(2, 2))),
    ),
)
row(
    "Join",
    Form(lambda x, y: Join(0)(x, y), (A(), A())),
    Form(lambda x, y: Join(x.ndim - 1)(x, y, x), (A(), A()), "three at the last axis"),
    Form(lambda x, y: Join(0)(x, y), (A(), A("E")), "pairs"),
    Form(lambda x, y: Join(0)(x, y), (A(shape="m,k"), A(shape="n,k")), "other lengths"),
)
row(
    "Split",
    Form(lambda x: Split(2, 0)(x, pt.stack([x.shape[0] - 1, 1]))),
    Form(lambda x, s: Split(3, 0)(x, s), (A(shape="6,m"), A("int64", "3", between(2, 2))), "given"),
    Form(
        lambda x, s: Split(2, 1)(x, s),
        (A(shape="m,3"), A("int64", "2", between(1, 2))),
        "that may not fit",
    ),
)
row(
    "MakeVector",
    Form(lambda x, y: MakeVector(x.dtype)(x, y, x), (A(shape=""), A(shape=""))),
    Form(lambda x, y: MakeVector("float64")(x, y), (A(shape=""), A("int8", "")), "of two dtypes"),
)
LENGTH = A("int64", "", between(0, 4))
row(
    "Alloc",
    Form(lambda x, n: pt.alloc(x, n, *x.shape), (A(), LENGTH)),
    Form(lambda x, n: pt.alloc(x, 3, n), (A(shape="1"), LENGTH), "of a row of 1"),
    Form(lambda x, n: pt.alloc(x, n), (A(shape="m"), LENGTH), "that may not fit"),
)
row(
    "AllocEmpty",
    *[
        Form(lambda t, n, d=d: Shape()(AllocEmpty(t)(n, *[3] * d)), (LENGTH,), name, typed=True)
        for d, name in enumerate(("vector", "matrix", "rank 3"))
    ],
)
row(
    "ARange",
    Form(
        lambda a, b, s: ARange(a.dtype)(a, b, s),
        (
            A(shape="", values=between(-2, 3)),
            A(shape="", values=between(3, 12)),
            A(shape="", values=between(1, 3)),
        ),
    ),
    Form(
        lambda a, b, s: ARange(a.dtype)(a, b, s),
        (
            A(shape="", values=between(0, 9)),
            A(shape="", values=between(-5, 3)),
            A(shape="", values=between(-2, -1)),
        ),
        "down",
    ),
    Form(
        lambda a, b: ARange(a.dtype)(a, b, pt.constant(np.array(0.25, a.dtype))),
        (A(shape="", values=between(-2, 3)), A(shape="", values=between(1, 5))),
        "quarters",
        dtypes=FLOATS,
        but="these steps are quarters",
    ),
)
UP_TO_4 = A("int64", "", between(0, 4))
row(
    "Eye",
    *[
        Form(
            lambda t, n, m, k: Eye(t)(n, m, k),
            (UP_TO_4, UP_TO_4, A("int64", "", between(-3, 3))),
            f"{i}",
            typed=True,
        )
        for i in range(4)
    ],
)
JOINED = {
    "sizes": FILLED,
    "but": "PyTensor reshapes to -1 and raises where another length is 0; here the length is known",
}
row(
    "JoinDims",
    Form(lambda x: pt.join_dims(x, 0, 2), **JOINED),
    Form(lambda x: pt.join_dims(x, x.ndim - 2, 2), name="last", **JOINED),
    Form(lambda x: pt.join_dims(x, 1, 0), name="none", **JOINED),
)
row(
    "SplitDims",
    Form(lambda x: pt.split_dims(x, (2, 3), 0), (A(shape="6,m"),)),
    Form(
        lambda x, s: pt.split_dims(x, pt.stack([s[0], s[1]]), 1),
        (A(shape="m,6"), A("int64", "2", lambda rng, *_: rng.permutation([2, 3]))),
        "given",
    ),
    Form(lambda x: pt.split_dims(x, (-1, 2), 0), (A(shape="4"),), "rest"),
)
PADS = (
    "constant",
    "edge",
    "linear_ramp",
    "maximum",
    "mean",
    "minimum",
    "reflect",
    "symmetric",
    "wrap",
)
PADDED = {
    "ranks": (1, 2),
    "but": "axes are padded one after the other, so ranks 1 and 2 show all",
}
row(
    "Pad",
    *[Form(lambda x, m=m: pt.pad(x, 1, mode=m), (A(values=SMALL),), m, **PADDED) for m in PADS[1:]],
    Form(lambda x: pt.pad(x, 1), name="constant"),
    Form(lambda x: pt.pad(x, ((1, 2), (0, 3)), constant_values=2), (A(),), "by sides"),
    Form(lambda x: pt.pad(x, 0, mode="edge"), (A(),), "by nothing", **PADDED),
    Form(lambda x: pt.pad(x, 9, mode="reflect"), (A(),), "by more than there is", **PADDED),
    zero_sign=False,
    why="a ramp may end in 0 or -0",
)
row(
    "Repeat",
    Form(Repeat(0), (A(shape="m,n"), A("int64", "m", between(0, 3)))),
    Form(Repeat(2), (A(shape="m,n,k"), A("int64", "k", between(0, 2))), "last"),
    Form(Repeat(0), (A(shape="m"), A("int8", "m", between(-1, 3))), "negative or not"),
)
row(
    "AllocDiag",
    Form(lambda x: AllocDiag(offset=0, axis1=0, axis2=1)(x)),
    Form(lambda x: AllocDiag(offset=-2, axis1=0, axis2=1)(x), name="below"),
    zero_sign=False,
    why="off the diagonal, a -0 may be a 0",
)
row(
    "ExtractDiag",
    Form(lambda x: ExtractDiag(0, 0, 1)(x)),
    Form(lambda x: ExtractDiag(1, 0, 1)(x), name="above"),
    Form(lambda x: ExtractDiag(-1, x.ndim - 2, x.ndim - 1)(x), name="below"),
)
row(
    "FillDiagonal",
    Form(FillDiagonal(), (A(shape="m,n"), A(shape=""))),
    Form(FillDiagonal(), (A(shape="m,m,m"), A(shape="")), "three axes"),
)
row(
    "FillDiagonalOffset",
    Form(FillDiagonalOffset(), (A(shape="m,n"), A(shape=""), A("int64", "", between(-1, 1)))),
)
row("Bartlett", Form(pt.bartlett, (A(shape="", values=between(-1, 9)),)))

# ---- indexing ----

S = np.s_
BASIC = {
    "from 1": S[1:],
    "reversed": S[::-1],
    "every second": S[::2],
    "first": S[0],
    "last": S[-1],
    "up to -1": S[:-1],
    "new": S[None, ..., None],
    "nothing": S[2:1],
}
BOUND = A("int64", "", between(-3, 3))
row(
    "Subtensor",
    *[Form(lambda x, i=i: x[i], name=n) for n, i in BASIC.items() if n != "new"],
    Form(lambda x, a, b: x[a:b], (A(), BOUND, BOUND), "given bounds"),
    Form(lambda x, a: x[::-1, a], (A(), BOUND), "given index"),
    Form(lambda x, a: x[a], (A(), A("int8", "", between(-2, 1))), "given row"),
)
for op, f in (("SetSubtensor", pt.set_subtensor), ("IncSubtensor", pt.inc_subtensor)):
    row(
        op,
        Form(lambda x, y, f=f: f(x[1:], y), (A(), A(shape=""))),
        Form(lambda x, y, f=f: f(x[::-2], y), (A(), A(shape="")), "backwards"),
        Form(lambda x, y, f=f: f(x[0], y), (A(shape="m,n"), A(shape="n")), "a row"),
        Form(lambda x, y, f=f: f(x[:, -1], y), (A(shape="m,n"), A(shape="m")), "a column"),
        Form(lambda x, y, a, f=f: f(x[a:], y), (A(), A(shape=""), BOUND), "given"),
        Form(lambda x, y, f=f: f(x[1:], y[1:]), (A(), A("E")), "pairs"),
    )
ROWS_ = A("int64", "k", index)
MASK = A("bool", "m")
row(
    "AdvancedSubtensor",
    Form(lambda x, i: x[i], (A(), ROWS_)),
    Form(lambda x, i, j: x[i, j], (A(shape="m,m"), ROWS_, A("int32", "k", index)), "two"),
    Form(lambda x, i: x[:, i], (A(shape="m,m,n"), ROWS_), "columns"),
    Form(lambda x, i, j: x[i, :, j], (A(shape="m,n,m"), ROWS_, ROWS_), "apart"),
    Form(lambda x, i: x[i], (A(shape="m,n"), A("int64", "k,l", index)), "by a matrix"),
    Form(lambda x, b: x[b], (A(shape="m,n"), MASK), "mask"),
    Form(lambda x, b: x[b], (A(shape="m,n"), A("bool", "m,n")), "mask of all"),
    Form(lambda x, i: x[i], (A(shape="m"), A("int64", "k", between(-3, 3))), "out of range or not"),
    Form(lambda x, i: x[1:, i], (A(shape="n,m"), A("uint8", "k", between(0, 1))), "uint8"),
)
for op, f, values in (
    ("AdvancedSetSubtensor", pt.set_subtensor, anything),
    ("AdvancedIncSubtensor", pt.inc_subtensor, EIGHTHS),
):
    row(
        op,
        Form(
            lambda x, y, i, f=f: f(x[i], y), (A(values=values), A(shape="", values=values), ROWS_)
        ),
        Form(
            lambda x, y, i, f=f: f(x[i], y),
            (A(shape="m,n", values=values), A(shape="k,n", values=values), ROWS_),
            "rows",
        ),
        Form(
            lambda x, y, i, j, f=f: f(x[i, j], y),
            (A(shape="m,m", values=values), A(shape="k", values=values), ROWS_, ROWS_),
            "two",
        ),
        Form(
            lambda x, y, b, f=f: f(x[b], y),
            (A(shape="m,n", values=values), A(shape="", values=values), MASK),
            "mask",
        ),
        Form(
            lambda x, y, i, f=f: f(x[i], y),
            (A(shape="m", values=SMALL), A("E", "m", SMALL), A("int64", "m", index)),
            "pairs",
        ),
        no=(No("cannot be added into", form="pairs"),) if op == "AdvancedIncSubtensor" else (),
    )
row("Nonzero", Form(lambda x: pt.nonzero(x)))
for mode in ("raise", "wrap", "clip"):
    FORMS.setdefault("Choose", []).append(
        Form(
            lambda i, x, mode=mode: Choose(mode)(i, x),
            (A("int64", "n", between(-1, 3) if mode != "raise" else between(0, 1)), A(shape="m,n")),
            mode,
            sizes=FILLED,
            but="NumPy raises for no choices; here the result is empty",
        )
    )
    FORMS["Choose"].append(
        Form(
            lambda i, x, y, z, mode=mode: pt.choose(i, [x, y, z], mode=mode),
            (A("int64", values=between(-4, 7) if mode != "raise" else between(0, 2)), A(), A(), A()),
            mode + " list",
        )
    )
    for order in "CF":
        FORMS.setdefault("RavelMultiIndex", []).append(
            Form(
                lambda i, j, mode=mode, order=order: RavelMultiIndex(mode=mode, order=order)(
                    i, j, pt.constant(np.array([3, 4]))
                ),
                (A(values=between(0, 2)), A(values=between(0, 4))),
                mode + order,
            )
        )
row("Choose", *FORMS["Choose"])
row("RavelMultiIndex", *FORMS["RavelMultiIndex"])
row(
    "UnravelIndex",
    *[
        Form(
            lambda i, order=order: UnravelIndex(order=order)(i, pt.constant(np.array([3, 4]))),
            (A(values=between(0, 12)),),
            order,
        )
        for order in "CF"
    ],
)


def permutation(rng, dtype, shape, near):
    return rng.permuted(np.broadcast_to(np.arange(shape[-1]), shape), axis=-1)


row(
    "PermuteRowElements",
    *[
        Form(
            lambda x, p, k=k: PermuteRowElements(k)(x, p),
            (A(shape="m,n"), A("int64", "m,n", permutation)),
            f"inverse={k}",
        )
        for k in (False, True)
    ],
)
