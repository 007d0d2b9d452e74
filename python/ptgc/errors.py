"""The exceptions of ptgc, and the problems that they list."""

import dataclasses
import difflib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LONG = 200  # characters; an op whose text is longer is shown by its name


@dataclass
class Problem:
    """One thing that cannot be converted, and where it comes from."""

    what: str
    node: Any = None
    variable: Any = None
    reason: str = ""
    line: str = ""  # of the .ptg text
    part_of: str = ""  # the name of a variable that it is needed for

    def __str__(self):
        text = self.what
        if self.node is not None:
            op = str(self.node.op)
            if len(op) > LONG:  # PyTensor shows inner graphs in it
                op = f"{self.what}{{...}}"
            text = f"{op}({', '.join(str(v.type) for v in self.node.inputs)})"
        if self.reason:
            text += f": {self.reason}"
        name = getattr(self.variable, "name", None)
        if name:
            text += f"\n    it computes '{name}'"
        elif self.part_of:
            text += f"\n    it is needed for '{self.part_of}'"
        if self.line:
            text += f"\n    as .ptg: {self.line.strip()}"
        if frame := python_line(self.variable):
            text += f"\n    made at {frame[0]}:{frame[1]}: {frame[3]}"
        return text


def no_such(what: str, name: Any, known: Any) -> str:
    """The message about a name that is none of those known."""
    near = difflib.get_close_matches(str(name), known, 1)
    return f"{what} {name!r}{f'; did you mean {near[0]!r}?' if near else ''} (there are: {', '.join(known)})"


def list_of_texts(name: str, given: Any) -> list:
    """What is given for an option that is a list of texts. A text would be taken letter by letter."""
    if isinstance(given, str):
        raise TypeError(f"{name} is a list of texts, not {given!r}")
    return list(given or ())


def part_of(variable, outputs) -> str:
    """The name of the nearest variable with a name that is computed from this one."""
    from pytensor.graph.traversal import toposort

    clients: dict[Any, list] = {}
    for node in toposort(outputs):
        for v in node.inputs:
            clients.setdefault(v, []).extend(node.outputs)
    seen, todo = {variable}, [variable]
    for v in todo:
        if v.name and v is not variable:
            return v.name
        for c in clients.get(v, ()):
            if c not in seen:
                seen.add(c)
                todo.append(c)
    return ""


def python_line(variable):
    """The frame of the user's code that made the variable, if PyTensor recorded it: the innermost one that is not
    in PyTensor, in Python's library, in an op, or in an installed package, such as PyMC. If all are in packages, the
    innermost of these."""
    import pytensor

    package, library = str(Path(pytensor.__file__).parent), str(Path(dataclasses.__file__).parent)
    traces = getattr(getattr(variable, "tag", None), "trace", None) or []
    frames = [f for trace in traces for f in reversed(trace) if f[3] and f[2] not in ("make_node", "__call__")]
    installed = [f for f in frames if {"site-packages", "dist-packages"} & set(Path(f[0]).parts)]
    own = [f for f in frames if f not in installed and not f[0].startswith((package, library))]
    others = [f for f in installed if not f[0].startswith(package)]
    return (own + others + [None])[0]


class UnsupportedError(NotImplementedError):
    """A graph holds something that ONNX or C, or ptgc, cannot express. ``problems`` lists all of it."""

    def __init__(self, problems, probe=None, target="ONNX"):
        self.problems = list(problems)
        self.probe = probe  # the rest of the graph as text, in which libptgc may find further problems
        self.target = target
        lines = "\n".join(f"  {p}" for p in self.problems)
        super().__init__(f"not convertible to {target}:\n{lines}")

    def __reduce__(self):  # the message survives, the graph does not
        return UnsupportedError, ([Problem(str(p)) for p in self.problems], None, self.target)


class CompileError(ValueError):
    """libptgc refused a text. ``diagnostics`` are its messages, in order."""

    def __init__(self, message, diagnostics=(), problems=()):
        self.diagnostics = list(diagnostics)
        self.problems = list(problems)
        super().__init__(message)

    def __reduce__(self):
        return CompileError, (str(self), self.diagnostics)
