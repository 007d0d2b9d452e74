"""The cases of test_grid.py as C: every op by dtype, rank, static and dynamic dims, sizes and special values, against
PyTensor's Python mode. What has no C must be refused by name. PTGC_FULL=1 runs all cases; without it one in PART of the
graphs is compiled, two for each op and kind of dims at least."""

import os
import zlib

import numpy as np
import pytest

from grid import KINDS, Refused, Run, reason
from grid_table import ROWS
from harness import pairs
from ptgc import _lib
from ptgc.errors import CompileError
from ptgc.native import MODEL, load_model
from ptgc.runtime import is_complex, native

FULL = os.environ.get("PTGC_FULL", "0") != "0"
PART = 64


class NativeSession:
    def __init__(self, text, names, tensors, opset, inside):
        try:
            made = _lib.compile_text(
                text, tensors=tensors, math="exact", code=True, model_name=MODEL, flags=["Wno-unused", "fentry"]
            )
        except CompileError as e:
            raise Refused(reason(e)) from e
        self.model = load_model(made, ("-O1",))

    def __call__(self, arrays, outputs=()):
        results = self.model.run(*(pairs(a) if a.dtype.kind == "c" else a for a in arrays))
        return native(results, [(k, np.dtype(v.type.dtype)) for k, v in enumerate(outputs) if is_complex(v)])


class NativeRun(Run):
    """The opset says nothing here, and there are no optimizations around the model that a place could change."""

    def __init__(self, row, full):
        super().__init__(row, full)
        self.refused, self.tried = set(), dict.fromkeys(KINDS, 0)

    make_session = staticmethod(lambda *args: NativeSession(*args))

    def opsets(self, case, kind):
        if not self.full and self.tried[kind] >= 2 and zlib.crc32(f"{case} {kind}".encode()) % PART:
            return []
        self.tried[kind] += 1
        return [18]

    def places(self, case, kind):
        return (False,)

    def compare(self, got, want, arrays, limits):
        """NumPy's uint32 of a float that is out of range is another one in long arrays, where it takes vectors."""
        if self.row.op == "Cast" and want.dtype == "uint32" and arrays[0].dtype.kind == "f":
            defined = (arrays[0] > -1) & (arrays[0] < 2.0**32)
            got, want, arrays = got[defined], want[defined], [arrays[0][defined]]
        super().compare(got, want, arrays, limits)

    def may_refuse(self, case, opset, said):
        self.refused.add(said)
        return "target c" in said or super().may_refuse(case, opset, said)


@pytest.mark.sampled
@pytest.mark.parametrize("op", ROWS)
def test_op(op):
    run = NativeRun(ROWS[op], FULL)
    run.run_cases()
    failures = run.result.failures
    assert not failures, f"{len(failures)} failures\n" + "\n".join(failures[:20])
    assert run.result.compared or run.refused
