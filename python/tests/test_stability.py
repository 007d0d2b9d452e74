"""What doc/stability.md promises: programs go on meaning what they mean, and names of the interface stay."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

STABLE = Path(__file__).parents[2] / "tests/stable"
sys.path.insert(0, str(STABLE))

import programs  # noqa: E402

RESULTS = json.loads(programs.RESULTS.read_text())


def test_every_program_has_a_result():
    assert sorted(RESULTS) == sorted(p.stem for p in STABLE.glob("programs/*.ptg")) and len(RESULTS) >= 30


@pytest.mark.parametrize("name", sorted(RESULTS))
def test_program(name):
    found = programs.run(STABLE / f"programs/{name}.ptg")
    assert list(found) == list(RESULTS[name])
    for output, (dtype, shape, values) in RESULTS[name].items():
        assert found[output][:2] == [dtype, shape], output
        if dtype.startswith("float"):
            np.testing.assert_allclose(found[output][2], values, rtol=1e-5 if dtype == "float32" else 1e-12, err_msg=output)
        else:
            assert found[output][2] == values, output


def test_interface():
    run = subprocess.run([sys.executable, STABLE / "interface.py", STABLE / "interface.txt"], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
