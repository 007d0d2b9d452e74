"""Writes iris.npz: Fisher's 150 irises. Needs numpy and scikit-learn."""
from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris

data = load_iris()
np.savez_compressed(
    Path(__file__).parent / "iris.npz",
    rows=data.data.astype(np.float32), species=data.target.astype(np.int8), names=data.target_names,
)  # fmt: skip
