"""What must fail still fails after each rewrite: a check stands on what the rewrite removes or merges."""

import numpy as np
import pytest

import ptg

ones = np.ones

# rewrite: (parameters, statements, inputs that are right, inputs that are wrong)
CASES = {
    "reshape": [
        ("x: float64[n]", "y = Reshape(Reshape(x, [-1, 2]), [-1])", [(ones(4),), (ones(0),)], [(ones(3),), (ones(1),)]),
        ("x: float64[n]", "y = Reshape(Reshape(x, [-1, 2]), [1, -1])", [(ones(4),)], [(ones(3),)]),
        ("x: float64[n, m]", "y = Reshape(Reshape(x, [3, -1]), [-1])", [(ones((3, 2)),), (ones((2, 6)),)], [(ones((2, 2)),)]),
    ],
    "squeeze": [
        ("x: float64[n]", "y = Squeeze{axis=0}(ExpandDims{axis=0}(Reshape(x, [-1, 2])))", [(ones(4),)], [(ones(3),)]),
        ("x: float64[n]", "y = Reshape(x, [-1, 2])[:, 0]", [(ones(4),)], [(ones(3),)]),
        ("x: float64[n, m]", "u = ExpandDims{axis=0}(Reshape(x, [2, -1]))\n  y = Reshape(u, [-1])", [(ones((2, 3)),)], [(ones((3, 3)),)]),
    ],
}  # fmt: skip
ALL = [(name, i) for name, cases in CASES.items() for i in range(len(cases))]


@pytest.mark.parametrize("name, case", ALL)
def test_what_must_fail_fails(name, case):
    """With ONNX Runtime's own optimizations and without, with the rewrite and without."""
    params, statements, right, wrong = CASES[name][case]
    text = f"graph g({params}) -> (y) {{\n  {statements}\n}}\n"
    for opset in (13, 18, 26):
        for options in ((), (f"-fno-{name}",)):
            model = ptg.compile(text, opset=opset, options=options)
            for level in ("all", "none"):
                for args in right:
                    ptg.run(model, *args, level=level)
                for args in wrong:
                    with pytest.raises(Exception, match="ONNXRuntimeError"):
                        ptg.run(model, *args, level=level)
                        raise AssertionError(f"opset {opset}, {options}, {level}: runs with {[a.shape for a in args]}")


@pytest.mark.parametrize("opset", [14, 18, 26])
def test_reshape_to_no_elements_fails_for_some(opset):
    """That the result has no elements says nothing of x: it is not folded to an empty constant."""
    model = ptg.compile("graph g(x: int64[n]) -> (y) {\n  y = onnx.Reshape{allowzero=1}(x, int64([0]))\n}\n", opset=opset)
    for level in ("all", "none"):
        assert ptg.run(model, np.ones(0, "int64"), level=level).shape == (0,)
        with pytest.raises(Exception, match="ONNXRuntimeError"):
            ptg.run(model, np.ones(3, "int64"), level=level)
