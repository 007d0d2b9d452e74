"""Writes cancer.npz: the breast cancer data of Wisconsin, ten standardised means and the diagnosis.

Needs numpy and scikit-learn.
"""
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer

data = load_breast_cancer()
x = data.data[:, :10]
x = (x - x.mean(0)) / x.std(0)
names = [n.removeprefix("mean ") for n in data.feature_names[:10]]
here = Path(__file__).parent
np.savez_compressed(here / "cancer.npz", x=x.astype(np.float32), malignant=data.target == 0, names=names)
