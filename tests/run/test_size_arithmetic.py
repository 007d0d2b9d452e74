"""Arithmetic on int64 scalars is done with sizes where it can be; it wraps as PyTensor's all the same."""
import numpy as np
import pytest

import ptg

NUMBERS = [0, 1, 2, 7, -1, -7, 2**31, 2**62, -2**62 - 1, 2**63 - 1, 2**63 - 2, -2**63, -2**63 + 1, -2**63 + 2]
FORMS = {
    "k // 3": lambda k: k // 3, "k // -3": lambda k: k // -3, "k // 1": lambda k: k // 1, "k // -1": lambda k: k // -1,
    "(k + 1) // 2": lambda k: (k + 1) // 2, "(k * 2) // 2": lambda k: k * 2 // 2, "(k - 1) % 5": lambda k: (k - 1) % 5,
    "k % 3": lambda k: k % 3, "k % -3": lambda k: k % -3, "(k * 48271) % 2147483647": lambda k: k * 48271 % 2147483647,
    "Maximum(k - 1, 5)": lambda k: np.maximum(k - 1, 5), "Minimum(2 * k, k)": lambda k: np.minimum(2 * k, k),
    "Maximum(k, 5) - 6": lambda k: np.maximum(k, 5) - 6, "Minimum(k, 5) * k": lambda k: np.minimum(k, 5) * k,
    "Abs(k - 1)": lambda k: np.abs(k - 1), "Abs(k)": np.abs, "Sign(k * 2)": lambda k: np.sign(k * 2), "-k": lambda k: -k,
    "Switch(k + 1 > k, k, 0)": lambda k: k if k + 1 > k else k * 0,
    "Switch(Eq(k + 1, k), k, 1)": lambda k: k * 0 + 1, "Sqr(k) - k * k": lambda k: k * 0, "k * 3 - k": lambda k: k * 2,
    "Cast{int64}(2 * k <= k)": lambda k: np.int64(2 * k <= k),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.filterwarnings("ignore")
def test_wraps(form):
    model = ptg.compile(f"ptg 1\n\ngraph g(k: int64[]) -> (y) {{\n  y = {form}\n}}\n")
    for n in NUMBERS:
        with np.errstate(all="ignore"):
            want = FORMS[form](np.int64(n))
            if form == "k // -1":  # NumPy's is undefined for the least one
                want = -np.int64(n)
        assert ptg.run(model, np.int64(n)) == want, n
