"""--target=onnx: models for the specification alone, run by ONNX's reference evaluator, agree with
those for ONNX Runtime. The reference evaluator is slow and has faults of its own: they are listed.
"""

import re

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx.reference import ReferenceEvaluator
from onnx.reference.ops import op_loop

from files import EXAMPLES, OPS, compile_file, name_of, random_inputs
from harness import QUIET, check_model

pytestmark = pytest.mark.sampled

# Inputs that random_inputs() does not guess.
VALUES = {
    "hierarchical": {"county": [0, 1, 0]},
    "Assert": {"c": True, "d": True},  # what they check holds
    "Blockwise-Alloc-ones": {"n": [[2, 2, 2], [2, 2, 2]]},
    "CheckAndRaise": {"c": True},
    "Arccosh": {"x": [1.5, 7.25], "y": [[1, 2, 3], [1.01, 4, 5], [100, 1.5, 1e9]]},
    "Fourier": {"n": 3},
    "Log1mexp": {"x": [-0.5, -7.25], "y": [[-1, -2, -3], [-0.01, -0.7, -5], [-100, -1.5, -1e-9]]},
    "Pow_int": {"e": [3, 0]},
    "PivotToPermutations": {"p": [1, 1]},
    "Ndtri_exp": {"x": [-0.5, -7.25], "y": [-1, -2, -300]},
    "Reshape": {"k": 2},
    "ScalarLoop": {"steps": [3, 0], "k": 4},
    "Grad2F1Loop": {"steps": [3, 0]},
    "Split": {"sizes": [2, 0]},
    "LengthsOfMasks": {"m": [[0, 1], [1, 0], [0, 0]], "k": [0, 1, 0]},
    "ScanComputedSteps": {"top": 2.5, "n": 4, "k": [1, 7]},
}

# Raw nodes go over as they are, and the target portable has no opset 21. The evaluator's STFT takes no single frame, its
# Pad no lengths below zero. Of random numbers it cannot compute GatherElements, which it does by numpy.choose for at most
# 64 elements.
PATHS = [
    p for p in OPS + EXAMPLES
    if p.stem not in ("raw", "infix-onnx", "strings-joined", "raw-ml", "portable-extremes", "portable-opset13", "pad-shifts") and p.parent.name not in ("nuts", "random") and not re.search(r"_rv$|Generator|^Nuts$", p.stem)
]  # fmt: skip

TOLERANCE = {"float16": 2e-3, "float32": 2e-5, "float64": 1e-10}


class Loop(op_loop.Loop):
    """ONNX's own with its faults mended, so that loops are compared at all:
    scan outputs are put together by vstack, right for vectors alone, instead of stack;
    without a trip, putting together raises: the outputs have length 0 and the dims that are known.
    A condition or trip count that is left out is taken for false or 0, instead of true or endless: ptgc gives both.
    """

    op_domain = ""

    def _run(self, M, cond, *args, **keywords):
        states, rows = list(args), [[] for _ in range(self.K)]
        body, trip = self.body, 0
        inputs = dict(keywords.pop("context") or {})
        assert M is not None and cond is not None
        while cond and trip < M:
            inputs |= zip(body.input_names, [np.array(trip), np.array(cond), *states], strict=True)
            cond, *results = self._run_body(inputs, attributes=keywords.get("attributes"))
            states, trip = results[: self.N], trip + 1
            for row, r in zip(rows, results[self.N :], strict=True):
                row.append(r)
        stacked = [np.stack(r) if r else self.nothing(t) for r, t in zip(rows, body.output_types[1 + self.N :], strict=True)]
        return self._check_and_fix_outputs((*states, *stacked))

    def nothing(self, type):
        t = type.tensor_type
        shape = [d.dim_value for d in t.shape.dim]  # 0 for one without a value
        return np.zeros((0, *shape), onnx.helper.tensor_dtype_to_np_dtype(t.elem_type))


ERF = 1e-6  # the evaluator's Erf is an approximation


def agree(got, want, what, least=0):
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape, (
        f"{what}: {got.dtype}{list(got.shape)}, ONNX Runtime gives {want.dtype}{list(want.shape)}"
    )
    tol = max(TOLERANCE.get(want.dtype.name, 0), least)
    close = np.allclose(got, want, rtol=tol, atol=tol, equal_nan=True)
    assert close, f"{what}: {got!r}, ONNX Runtime gives {want!r}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", PATHS, ids=name_of)
def test_reference_evaluator(path):
    for opset in (18, 21):
        own, said = compile_file(path, f"--opset={opset}")
        assert not said, said
        model, said = compile_file(path, f"--opset={opset}", "--target=onnx")
        assert not said, said
        check_model(model)
        inputs = random_inputs(own, VALUES.get(path.stem))
        session = ort.InferenceSession(own, QUIET, providers=["CPUExecutionProvider"])
        names = [o.name for o in session.get_outputs()]
        want = session.run(None, inputs)
        with np.errstate(all="ignore"):
            got = ReferenceEvaluator(onnx.load_from_string(model), new_ops=[Loop]).run(None, inputs)
        for g, w, name in zip(got, want, names, strict=True):
            agree(g, w, f"opset {opset}, {name}", ERF if path.stem == "Erf" else 0)
            assert w.dtype.kind != "f" or not w.size or not np.isnan(w).all(), f"{name} is NaN: give other inputs"
