"""Tensors have at most 64 axes: ops that need one more on the way are refused."""

import pytest

import ptg

ONES = ", ".join(["1"] * 64)


@pytest.mark.parametrize("params, body", [
    (f"a: float64[{ONES[:98]}], b: float64[{ONES[:98]}]", "KroneckerProduct(a, b)"),
    (f"a: complex64[{ONES}]", "a * a"),
    (f"a: complex64[{ONES}]", "Real(a)"),
    (f"a: float64[{ONES}]", "Softmax{axis=()}(a)"),
    (f"a: float64[{ONES}], b: float64[5]", "SearchsortedOp(b, a)"),
    (f"a: int64[{ONES}], b: float64[5, 5]", "b[a, a]"),
    (f"a: int64[{ONES}], b: float64[5, {ONES[:-3]}]", 'Choose{mode="clip"}(a, b)'),
    (f"a: float64[{ONES}]", "RFFTOp(a, int64([8]))"),
])  # fmt: skip
def test_more_dims_than_there_are(params, body):
    """What needs one more axis on the way is refused."""
    for opset in (13, 18):
        with pytest.raises(AssertionError, match=r"at most 6[34]|more than 64"):
            ptg.compile(f"graph g({params}) -> (y) {{ y = {body} }}", opset=opset)


def test_as_many_dims_as_there_are():
    for body in ("a", "a + a", "Sum{axes=None}(a)", "Exp(a[0:1])"):
        ptg.compile(f"graph g(a: float64[{ONES}]) -> (y) {{ y = {body} }}")
    ptg.compile(f"graph g(a: complex64[{ONES}]) -> (a) {{ }}")
    with pytest.raises(AssertionError, match="more than 64"):
        ptg.compile(f"graph g(a: int32[{ONES}]) -> (y) {{ y = a & a }}", opset=13)
