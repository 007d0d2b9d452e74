"""Lengths that something else says are 1: the result of an op whose type is 1 for PyTensor is stretched, though
the length was computed by another input; that input itself is not.
"""

import numpy as np
import ptg
import pytensor.tensor as pt
import pytest
from harness import Compiled
from pytensor.conditional.op import ifelse
from pytensor.tensor.basic import Join
from pytensor.tensor.shape import specify_shape

TWO = np.array([10.0, 20.0])


def half(x):
    """x[1:(n+1)//2]: one element of 3 or 4"""
    return x[1 : (x.shape[0] + 1) // 2]


def part(x):
    return x[: x.shape[0] // 3 + 1]


ONE = pt.tensor("one", shape=(1,))

# What is 1 by its type, made of something of an open length and of what is 1.
MADE = {
    "Join": lambda h: Join(0)(h[None, :], ONE[None, :]),
    "Join, the 1 first": lambda h: Join(0)(ONE[None, :], h[None, :]),
    "Join, the last": lambda h: Join(0)(h[None, :], h[None, :] + 1, ONE[None, :]),
    "Join of two axes": lambda h: Join(1)(h[:, None, None] + ONE[:, None], (ONE + 1)[:, None, None])[:, 0, 0],
    "SpecifyShape": lambda h: specify_shape(h, (1,)),
    "SpecifyShape of what is 1": lambda h: specify_shape(ONE, (h.shape[0],)),
    "Alloc": lambda h: pt.alloc(h, 1),
}


def inputs(*more):
    return [pt.vector("x"), ONE, *more]


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("computed", [half, part, lambda x: x])
def test_result_is_stretched(name, computed):
    x, one = inputs()
    made = MADE[name](computed(x))
    assert made.type.shape[-1] == 1
    c = Compiled([x, one], [made + TWO, made, computed(x) + 1])
    for n in range(6):
        v = np.arange(1.0, n + 1)
        if computed(v).shape == (1,):
            c.run(v, [0.5])
        else:
            c.raises(v, np.array([0.5]))


def test_annotation_says_it():
    """What a fn says of its parameter, or a SpecifyShape of its argument, is known from then on."""
    body = "fn f(x: F[1]) -> (y) {\n  y = x + float64([10, 20])\n}\n"
    text = "ptg 1\n\n%sgraph g(x: float64[?n]) -> (y) {\n  h = %s\n  y = %s\n}\n"
    for given in (
        text % (body, "x[1:(n+1)//2]", "f(h)"),
        text % ("", "SpecifyShape(x[1:(n+1)//2], 1)", "h + float64([10, 20])"),
    ):
        assert ptg.run(given, np.arange(4.0)).tolist() == [11.0, 21.0]
        for n in (0, 2, 5):
            with pytest.raises(Exception, match="must be 1"):
                ptg.run(given, np.arange(float(n)))


# What asks for a length of 1 of something whose type leaves it open.
ASKS = {
    "Join": lambda x: Join(0)(x[None, :], ONE[None, :])[0],
    "SpecifyShape": lambda x: specify_shape(x, (1,)),
    "Squeeze": lambda x: x.dimshuffle(),
    "Dot": lambda x: pt.dot(x[None, :], ONE[:, None]),
    "Alloc": lambda x: pt.alloc(x, 1),
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", ASKS)
@pytest.mark.parametrize("computed", [half, lambda x: x, lambda x: x[::-1], lambda x: pt.concatenate([x, x])[1:]])
def test_what_must_be_one_is_not_stretched(name, computed):
    """PyTensor's run fails, as x has an element where it should have two; here it need not compile."""
    x, one, w = inputs(pt.vector("w"))
    h = computed(x)
    for outputs in ([ASKS[name](h), h + TWO], [h + TWO, ASKS[name](h)]):
        try:
            c = Compiled([x, one], outputs)
        except AssertionError as e:
            assert "PTG0301" in str(e)
            continue
        for n in range(1, 5):
            c.raises(np.arange(1.0, n + 1), np.array([0.5]))
    c = Compiled([x, one, w], [ASKS[name](h), h + w])
    for n in range(5):
        v = np.arange(1.0, n + 1)
        if len(computed(pt.constant(v)).eval()) == 1:
            c.run(v, [0.5], [2.0])
        c.raises(v, np.array([0.5]), TWO)


@pytest.mark.parametrize("other", [lambda h: h * 2, lambda h: h * ONE])
def test_branch_of_an_if(other):
    """Its result is stretched where both branches are 1 by their types."""
    x, one, c = inputs(pt.scalar("c", dtype="bool"))
    h = half(x)
    for a, b in ((other(h), ONE), (ONE, other(h))):
        y = ifelse(c, a, b)
        assert y.type.shape == (None,)
        f = Compiled([x, one, c], [y, Join(1)(h[:, None], ONE[:, None]), y + TWO])
        for k in (False, True):
            f.raises(np.arange(3.0), np.array([0.5]), np.array(k))
