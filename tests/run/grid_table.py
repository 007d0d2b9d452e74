"""The table of the numeric test: a row for every op that converts, by the modules below. See grid.py
for what a row says."""

import table_control  # noqa: F401  its rows
import table_elemwise  # noqa: F401  its rows
import table_linalg  # noqa: F401  its rows
import table_reduce  # noqa: F401  its rows
import table_shape  # noqa: F401  its rows
from grid_rows import ROWS

__all__ = ["ROWS"]
