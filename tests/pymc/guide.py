"""Runs the Python of doc/pymc.md from top to bottom, and compares the text that it shows with what is printed."""

import contextlib
import logging
import re
import tempfile
from pathlib import Path

logging.disable(logging.WARNING)
page = (Path(__file__).parents[2] / "doc" / "pymc.md").read_text()
blocks = re.findall(r"^```(\w+)\n(.*?)^```$", page, re.M | re.S)
names: dict = {}
with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
    for language, text in blocks:
        if language == "python":
            exec(compile(text, "doc/pymc.md", "exec"), names)
[shown] = [text for language, text in blocks if language == "ptg"]
assert names["text"] == shown, f"doc/pymc.md shows another text than\n{names['text']}"
print("doc/pymc.md works")
