"""What readers find beside each other while models are written, and what runs that were killed leave behind."""

import fcntl
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import pytensor
import pytensor.tensor as pt
import pytest

import ptgc
from ptgc import _files

x = pt.matrix("x")

# The module alone: PyTensor would take seconds for each process.
LOADED = f"""
import importlib.util, os, signal, sys
from pathlib import Path
spec = importlib.util.spec_from_file_location("_files", {_files.__file__!r})
spec.loader.exec_module(_files := importlib.util.module_from_spec(spec))
"""
# Writes the second version over the first, and is killed before call number sys.argv[2] that changes a file.
KILLED = LOADED + """
folder, at, number = Path(sys.argv[1]), int(sys.argv[2]), 0

def before(owner, name):
    real = getattr(owner, name)
    def call(*args, **named):
        global number
        number += 1
        if number == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args, **named)
    setattr(owner, name, call)

for owner, name in (os, "open"), (os, "replace"), (os, "dup"), (os, "close"), (Path, "unlink"), (_files, "flock"):
    before(owner, name)
name = f"m.onnx-{'2' * 16}.data"
_files.write_model(folder / "m.onnx", b"model 2 " + name.encode(), name, b"weights 2")
"""


def write(folder, version):
    name = f"m.onnx-{version * 16}.data"
    _files.write_model(folder / "m.onnx", f"model {version} {name}".encode(), name, f"weights {version}".encode())


def version(folder):
    model = (folder / "m.onnx").read_text()
    weights = (folder / re.search(r"m\.onnx-\w+\.data", model)[0]).read_text()
    assert model.split()[1] == weights.split()[1]
    return model.split()[1]


def test_whoever_reads_the_model_finds_its_weights_wherever_a_write_is_killed(tmp_path):
    seen = set()
    for at in range(1, 40):
        folder = tmp_path / str(at)
        folder.mkdir()
        write(folder, "0"), write(folder, "1")
        done = subprocess.run([sys.executable, "-c", KILLED, folder, str(at)], timeout=100)
        seen.add((done.returncode, found := version(folder), any(f.name.startswith(".") for f in folder.iterdir())))
        write(folder, "3")
        assert sorted(os.listdir(folder)) == sorted(["m.onnx", *(f"m.onnx-{v * 16}.data" for v in (found, "3"))])
        if not done.returncode:
            break
    killed = -signal.SIGKILL
    assert {(killed, "1", True), (killed, "2", False), (0, "2", False)} == seen


def test_the_command_and_the_package_remove_what_the_other_left(tmp_path):
    ptgc_command = Path(__file__).parents[2] / "build" / "ptgc"
    (tmp_path / "m.ptg").write_text("graph g(x: float64[n]) -> (y) { y = x + 1 }")
    names = [".ptgc-1-0.tmp", ".ptgc-1-1.tmp"]
    for run in (
        lambda: subprocess.run([os.environ.get("PTGC", ptgc_command), tmp_path / "m.ptg"], check=True),
        lambda: ptgc.export_onnx([x], [x + 1], tmp_path / "m.onnx"),
    ):
        for name in names:
            (tmp_path / name).write_bytes(b"left")
        with open(tmp_path / names[0], "rb") as writing:
            fcntl.flock(writing, fcntl.LOCK_EX)
            run()
        assert sorted(os.listdir(tmp_path)) == [names[0], "m.onnx", "m.ptg"]


def test_each_version_of_a_model_has_its_own_weights(tmp_path):
    W = pytensor.shared(np.zeros((3, 400)), name="W")
    generations = []
    for k in range(4):
        W.set_value(np.full((3, 400), k / 2))
        e = ptgc.export_onnx([x], [x @ W], tmp_path / "m.onnx", external_data=True)
        generations.append(e.external_name)
        assert sorted(os.listdir(tmp_path)) == sorted(["m.onnx", *generations[-2:]])
        onnx.checker.check_model(str(tmp_path / "m.onnx"))
    assert len(set(generations)) == 4
    again = ptgc.export_onnx([x], [x @ W], tmp_path / "m.onnx", external_data=True)
    assert again.external_name == generations[-1] and again.verify([np.ones((2, 3))])
    assert sorted(os.listdir(tmp_path)) == sorted(["m.onnx", generations[-1]])
    named = ptgc.compile_onnx([x], [x @ W], external_data="w-*.bin")
    assert named.external_name == generations[-1].replace("m.onnx-", "w-").replace(".data", ".bin")


def test_a_keyboard_interrupt_leaves_the_older_files(tmp_path):
    """It comes while 1 GB is written, and need not wait for the end of it."""
    write(tmp_path, "1")
    script = LOADED + """
big = memoryview(bytes(1 << 24))
class Endless:
    def __len__(self): return 1 << 40
class View:
    def __init__(self, data): pass
    def __getitem__(self, at): return big
_files.memoryview = View
signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it
print("writes", flush=True)
_files.write_model(Path(sys.argv[1]) / "m.onnx", b"model 2", "w", Endless())
"""
    run = subprocess.Popen([sys.executable, "-c", script, tmp_path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert run.stdout.readline() == b"writes\n"
    while len(os.listdir(tmp_path)) == 2:
        time.sleep(0.01)
    run.send_signal(signal.SIGINT)
    try:
        assert b"KeyboardInterrupt" in run.communicate(timeout=30)[1]
    finally:
        run.kill()
    assert version(tmp_path) == "1" and len(os.listdir(tmp_path)) == 2


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_what_fails_leaves_nothing(tmp_path, monkeypatch, error):
    def fail(*args):
        raise error

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(error):
        _files.write_all([(tmp_path / "a", b"1"), (tmp_path / "b", b"2")])
    assert not os.listdir(tmp_path)
