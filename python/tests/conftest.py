import os
from pathlib import Path

import numpy as np
import pytest

from ptgc import _lib

_lib.USUAL_MATH = "exact"  # as in tests/run
os.environ.setdefault("PTGC_CACHE", str(Path(__file__).parents[2] / "build" / "native-cache"))  # of mode NATIVE


@pytest.fixture
def rng():
    return np.random.default_rng(20260101)
