"""Writes the posterior draws of score.ptg, or a table of parcels for it to score.

Usage: make.py                          writes draws-*.npy beside this file (a fixed seed)
       make.py FOLDER [ROWS [FILES]]    writes FILES Parquet files with ROWS rows in all

A table is written a row group at a time, so it may be larger than memory. Needs numpy, and pyarrow for tables.
"""

import sys
from pathlib import Path

import numpy as np

GROUP = 250_000  # rows
DRAWS = 200


def write_draws(folder):
    rng = np.random.default_rng(1)
    mean = np.array([0.55, 2.9, 0.04, -1.2])
    kinds = np.array([-0.6, 0.0, 0.3, 0.9, 1.5])
    spread = np.array([0.02, 0.1, 0.01, 0.05])
    np.save(folder / "draws-slopes.npy", mean[:, None] + spread[:, None] * rng.normal(size=(4, DRAWS)))
    np.save(folder / "draws-kinds.npy", kinds[:, None] + 0.1 * rng.normal(size=(5, DRAWS)))
    np.save(folder / "draws-noise.npy", np.exp(0.1 * rng.normal(size=DRAWS) - 1))


def columns(rows, rng):
    distance = rng.gamma(2, 150, rows)
    distance[rng.random(rows) < 0.02] = np.nan
    return {
        "parcel": rng.integers(0, 2**62, rows),
        "distance": distance,
        "weight": rng.gamma(2, 1.5, rows).astype(np.float32),
        "kind": rng.integers(0, 5, rows),
        "express": rng.random(rows) < 0.2,
    }


def write_table(folder, rows, files):
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    for i in range(files):
        left = rows * (i + 1) // files - rows * i // files
        rng = np.random.default_rng([2, i])
        table = pa.table(columns(0, rng))
        with pq.ParquetWriter(folder / f"parcels-{i:03d}.parquet", table.schema) as writer:
            while left:
                some = min(left, GROUP)
                writer.write_table(pa.table(columns(some, rng)))
                left -= some


if __name__ == "__main__":
    if len(sys.argv) == 1:
        write_draws(Path(__file__).parent)
    else:
        rows, files = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000, int(sys.argv[3]) if len(sys.argv) > 3 else 4
        write_table(Path(sys.argv[1]), rows, files)
