import numpy as np
import pytest

from ptgc import _lib

_lib.USUAL_MATH = "exact"  # as in tests/run


@pytest.fixture
def rng():
    return np.random.default_rng(20260101)
