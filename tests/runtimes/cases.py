"""The folder that all drivers read. Needs NumPy alone.

    cases.txt         a line for each case: its name, and the file of its model
    NAME.in, NAME.bin  the inputs: a line "name dtype length length ..." for each, and their bytes, little endian

A driver is called with this folder and one for results, and gets lines of cases.txt on its standard input. There it
writes "version" when it starts (the runtime's name and version), and for each case NAME.bin and then NAME.out: lines
as in NAME.in for the outputs, or "load MESSAGE" if the model cannot be loaded, "run MESSAGE" if a run fails.
"""

import numpy as np


def write_tensors(path, suffix, tensors):
    """tensors: (name, array) pairs"""
    with open(f"{path}.bin", "wb") as f:
        for _, a in tensors:
            f.write(np.ascontiguousarray(a).tobytes())
    with open(f"{path}{suffix}", "w") as f:
        for name, a in tensors:
            print(name, a.dtype.name, *a.shape, file=f)


def read_tensors(path, suffix):
    data, at, tensors = open(f"{path}.bin", "rb").read(), 0, {}
    for line in open(f"{path}{suffix}"):
        name, dtype, *shape = line.split()
        shape = tuple(map(int, shape))
        size = np.dtype(dtype).itemsize * int(np.prod(shape))
        tensors[name] = np.frombuffer(data[at : at + size], dtype).reshape(shape)
        at += size
    if at != len(data):
        raise ValueError(f"{path}.bin has {len(data)} bytes, not {at}")
    return tensors
