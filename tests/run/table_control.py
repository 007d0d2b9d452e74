"""Rows of the numeric test: control flow.

See grid.py for what a row says.
"""

import pytensor.tensor as pt
from pytensor.compile.builders import OpFromGraph
from pytensor.conditional.op import LazyIfElse, ifelse
from pytensor.scan.basic import scan

from grid import A, Form
from grid_rows import POWERS, SMALL, row
from harness import PYTHON, listed


def as_op(f, *inputs):
    """f as a graph that is an op."""
    own = [x.type() for x in inputs]
    return OpFromGraph(own, listed(f(*own)), mode=PYTHON)


def lazily(c, x, then, other):
    then, other = as_op(then, x), as_op(other, x)
    return LazyIfElse(then, other, then.output_types)(c, x)


def running(f, x):
    """A state from x[0], and a result of each step."""
    return scan(
        lambda x, s: (f(x, s), x),
        sequences=[x],
        outputs_info=[x[0], None],
        return_updates=False,
        mode=PYTHON,
    )


CONDITION = A("bool", "")
row(
    "IfElse",
    Form(lambda c, x, y: ifelse(c, x, y), (CONDITION, A(), A())),
    Form(lambda c, x, y: ifelse(c, [x, y], [y, x]), (CONDITION, A(), A()), "two"),
    Form(
        lambda c, x, y: ifelse(c, x, y),
        (A(shape=""), A(shape="m"), A(shape="n")),
        "on a number, of two lengths",
    ),
    Form(
        lambda c, x, y: ifelse(c, x, y),
        (CONDITION, A(), A()),
        "as text",
        text="IfElse({0}, {1}, {2})",
    ),
)
row(
    "LazyIfElse",
    Form(
        lambda c, x: lazily(c, x, pt.sqr, pt.abs),
        (CONDITION, A()),
        ranks=(1,),
        sizes=("0", "2"),
        but="PyTensor needs a second for each graph; other tests try the rest as text",
    ),
    Form(
        lambda c, x: ifelse(c, pt.sqr(x), pt.abs(x)),
        (CONDITION, A()),
        "as text",
        text="LazyIfElse{{true_branch=Sqr, false_branch=Abs}}({0}, {1})",
    ),
)
row(
    "OpFromGraph",
    Form(lambda x, y: as_op(lambda x, y: [x * y, x + y], x, y)(x, y), (A(), A())),
    Form(lambda x: as_op(pt.sqr, x)(x), (A(),), "as text", text="OpFromGraph{{fn=Sqr}}({0})"),
)
row(
    "Composite",
    Form(
        lambda x, y: x * y,
        (A(values=SMALL), A(values=SMALL)),
        "as text",
        text="Composite{{fn=Mul}}({0}, {1})",
    ),
)
for loop in ("ScalarLoop", "Grad2F1Loop"):
    row(
        loop,
        Form(
            lambda x, y: pt.minimum(pt.minimum(x, y), y),
            (A(values=SMALL), A(values=SMALL)),
            "as text",
            text=loop + "{{fn=Minimum}}(2, {0}, {1})",
        ),
    )
row(
    "FusedElemwise",
    Form(pt.abs, (A(values=SMALL),), "as text", text="FusedElemwise{{fn=Abs}}({0})"),
)
row(
    "Elemwise",
    Form(
        lambda x, y: x + y,
        (A(values=SMALL), A(values=SMALL)),
        "as text",
        text="Elemwise{{scalar_op=Add}}({0}, {1})",
    ),
)
row(
    "Scan",
    Form(lambda x: running(pt.maximum, x), (A(values=SMALL),)),
    Form(lambda x: running(lambda x, s: x * s, x), (A(values=POWERS),), "products"),
    Form(
        lambda x, y: scan(lambda x: x + y, sequences=[x], return_updates=False, mode=PYTHON),
        (A(shape="m,n", values=SMALL), A(shape="n", values=SMALL)),
        "a map",
        sizes=("0", "1", "2", "7"),
        but="with no steps PyTensor's result has length 0 on all axes, against its own type",
    ),
)
