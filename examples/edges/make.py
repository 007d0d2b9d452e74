"""Writes temple.npy: a grey part of scikit-learn's picture of a temple in China, 56 x 96.

The picture is by danielbuechele, CC BY 2.0 (flickr.com). Needs numpy, pillow and scikit-learn.
"""
from pathlib import Path

import numpy as np
from sklearn.datasets import load_sample_image

grey = load_sample_image("china.jpg").astype(np.float64) @ [0.299, 0.587, 0.114]
part = grey[70:350, 40:520].reshape(56, 5, 96, 5).mean((1, 3))
np.save(Path(__file__).parent / "temple.npy", part.round().astype(np.uint8))
