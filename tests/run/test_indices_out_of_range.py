"""An index out of range fails the run, whatever a loop becomes: ONNX Runtime would make a shorter Slice of some Gathers."""

import itertools

import numpy as np
import onnxruntime as ort
import pytest

import ptg
from harness import QUIET

INDICES = ("i", "i + 1", "k - 1 - i", "-1 - i", "i * 2", "2 - i", "i - 1", "j[i]", "i // 2", "3", "k")
# what is written, and the same in Python, which raises IndexError
FORMS = {
    "stacked": ("b = loop (i in 0:k) -> ([y]) {{\n    y = x[{0}] * 2\n  }}", lambda v, at: [v.x[at(i)] * 2 for i in range(v.k)]),
    "rows": ("b = loop (i in 0:k) -> ([y]) {{\n    y = Sum(z[{0}])\n  }}", lambda v, at: [v.z[at(i)].sum() for i in range(v.k)]),
    "columns": (
        "b = loop (i in 0:k) -> ([y]) {{\n    y = w[0, {0}] + x[{0}]\n  }}",
        lambda v, at: [v.w[0, at(i)] + v.x[at(i)] for i in range(v.k)],
    ),
    "summed": ("b = loop (i in 0:k, s = 0.5) -> (s) {{\n    next s = s + x[{0}]\n  }}", lambda v, at: 0.5 + sum(v.x[at(i)] for i in range(v.k))),
    "carried": ("b = loop (i in 0:k, s = 0.5) -> (s) {{\n    next s = s * 0.5 + x[{0}]\n  }}", lambda v, at: halved(v, at)),
    "set": ("b = loop (i in 0:k, s = x) -> (s) {{\n    next s = s[{0}].set(1.5)\n  }}", lambda v, at: put(v, at)),
    "at once": ('i = ARange{{dtype="int64"}}(0, k, 1)\n  b = x[({0}) + 0 * i] * 2', lambda v, at: [v.x[at(i)] * 2 for i in range(v.k)]),
}  # fmt: skip


class Values:
    def __init__(self, n, k):
        rng = np.random.default_rng(n + 10 * k)
        self.x, self.z, self.w, self.k = rng.normal(size=n), rng.normal(size=(n, 3)), rng.normal(size=(3, n)), k
        self.j = np.array([0, 1, 1, -1, 2])


def halved(v, at):
    s = 0.5
    for i in range(v.k):
        s = s * 0.5 + v.x[at(i)]
    return s


def put(v, at):
    s = v.x.copy()
    for i in range(v.k):
        s[at(i)] = 1.5
    return s


def check(session, v, want, index):
    feed = {i.name: np.asarray(getattr(v, i.name)) for i in session.get_inputs()}
    try:
        want = np.asarray(want(v, lambda i: eval(index, {"i": i, "k": v.k, "j": v.j})))
    except IndexError:
        with pytest.raises(Exception, match="indice|out of"):
            session.run(None, feed)
        return
    (got,) = session.run(None, feed)
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-12)


@pytest.mark.parametrize("opset", (13, 18, 26))
@pytest.mark.parametrize("form", FORMS)
def test_fails(form, opset):
    body, want = FORMS[form]
    header = "ptg 1\ngraph f(x: float64[n], z: float64[n, m], w: float64[m, n], k: int64[], j: int64[p]) -> (b) {\n  "
    for index in INDICES:
        model = ptg.compile(header + body.format(index) + "\n}\n", opset=opset, options=("-Wno-unused",))
        session = ort.InferenceSession(model, QUIET, providers=["CPUExecutionProvider"])
        for n, k in itertools.product((0, 1, 2, 5), (0, 1, 2, 3, 6)):
            check(session, Values(n, k), want, index)
