"""The table of the numeric test: a row for every op that converts, by the modules below. See grid.py
for what a row says."""

import table_control
import table_elemwise
import table_linalg
import table_reduce
import table_shape
from grid_rows import ROWS

__all__ = ["ROWS"]
