"""Runs doc/pymc.md from top to bottom: its Python; its programs, whose first line is their file's name, as servers on
this machine and commands, whose answers are compared with PyMC's; and the text that it shows, with what is printed.
"""

import contextlib
import json
import logging
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import numpy as np
import pymc as pm

logging.disable(logging.WARNING)
ROOT = Path(__file__).parents[2]
page = (ROOT / "doc" / "pymc.md").read_text()
blocks = re.findall(r"^```(\w+)\n(.*?)^```$", page, re.M | re.S)
DOSE = [0.0, 0.5, 3.0]
MODULES = Path(os.environ["NODE_MODULES"]).resolve()  # where onnxruntime-node is


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def answer(command, port, path, question):
    """What the server that the command starts says to the question."""
    server = subprocess.Popen(command)
    try:
        for _ in range(600):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            if server.poll() is not None:
                raise RuntimeError(f"{command[:3]} ends with {server.returncode}")
            time.sleep(0.1)
        url, body = f"http://127.0.0.1:{port}{path}", json.dumps(question).encode()
        request = urllib.request.Request(url, body, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.load(response)
    finally:
        server.terminate()
        server.wait()


def check_recipes(model, posterior):
    with model:
        pm.set_data({"dose": DOSE}, coords={"row": range(3)})
        want = pm.sample_posterior_predictive(
            posterior, var_names=["y", "mu"], random_seed=1, progressbar=False, predictions=True
        ).predictions  # fmt: skip
    y, mu = (want[name].values.reshape(-1, 3) for name in ("y", "mu"))
    port = free_port()
    said = answer([sys.executable, "-m", "uvicorn", "server:app", "--port", str(port), "--log-level", "warning"],
                  port, "/predict", {"dose": DOSE, "seed": 1})  # fmt: skip
    np.testing.assert_allclose(said["draws"], y, rtol=1e-12)
    np.testing.assert_allclose(said["interval"], np.quantile(y, [0.05, 0.95], axis=0), rtol=1e-12)
    os.symlink(MODULES, "node_modules")
    port = free_port()
    said = answer(["node", "server.mjs", str(port)], port, "/", {"dose": DOSE})
    np.testing.assert_allclose(said["mu"], mu.mean(0), rtol=1e-12)
    subprocess.run(["cc", "-O3", "-ffp-contract=off", "client.c", "mean.c", "-lm", "-o", "client"], check=True)
    printed = subprocess.run(["./client", *map(str, DOSE)], capture_output=True, text=True, check=True).stdout
    np.testing.assert_allclose(list(map(float, printed.split())), mu.mean(0), rtol=1e-12)


names: dict = {}
with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
    for language, text in blocks:
        program = re.match(r"(?:#|//) (\w+\.\w+)\n", text)
        if program:
            Path(program[1]).write_text(text)
        elif language == "python":
            exec(compile(text, "doc/pymc.md", "exec"), names)
    check_recipes(names["model"], names["sampler"].sample(seed=1))
[shown] = [text for language, text in blocks if language == "ptg"]
assert names["text"] == shown, f"doc/pymc.md shows another text than\n{names['text']}"
print("doc/pymc.md works")
