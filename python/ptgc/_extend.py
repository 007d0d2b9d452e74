"""Texts that users register for ops of their own."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pytensor.graph.op import Op

from ptgc import _pymc
from ptgc._ops import property_text

HEADER = re.compile(r"^\s*fn\s+(`(?:[^`]|``)+`|[^\W\d]\w*)\s*(?:\{([^}]*)\})?\s*\(", re.M)
CALLEE = re.compile(r"[^\W\d][\w.]*(\{.*\})?\Z", re.S)


@dataclass(frozen=True)
class Entry:
    source: str | Callable

    def text_of(self, op, node) -> tuple[str, str | None]:
        """The fn or op that is called, with its properties; and the text of the fns that it needs, or None."""
        text = self.source if isinstance(self.source, str) else self.source(op, node)
        if not isinstance(text, str):
            raise TypeError(f"the function registered for {type(op).__name__} did not give a text but {text!r}")
        header = last_header(text)
        if header is None:
            if not CALLEE.match(text.strip()):
                raise TypeError(f"{text!r} is neither a fn nor an op with properties")
            return text.strip(), None
        names = [p.partition(":")[0].partition("=")[0].strip() for p in split(header[2] or "")]
        props = [f"{p}={property_text(getattr(op, p))}" for p in names if hasattr(op, p)]
        return header[1] + (f"{{{', '.join(props)}}}" if props else ""), text


def split(text):
    """Splits the text at commas that are outside of brackets."""
    out, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "([") - (c in ")]")
        if c == "," and not depth:
            out.append(text[start:i])
            start = i + 1
    return [p for p in (*out, text[start:]) if p.strip()]


def last_header(text):
    """The header of the last fn of a text, which is the one that is called."""
    return next(reversed(list(HEADER.finditer(text))), None)


registry: dict[type, Entry] = {}
shipped = {name: Entry(source) for name, source in _pymc.TEXTS.items()}  # by module and name of the class


def lookup(op) -> Entry | None:
    """The text registered for the op's class, or for the nearest class that it inherits from; else what ptgc ships."""
    classes = type(op).__mro__
    if registry:
        for cls in classes:
            if (entry := registry.get(cls)) is not None:
                return entry
    if classes[0].__module__.startswith("pytensor."):
        return None
    return next((shipped[name] for c in classes if (name := f"{c.__module__}.{c.__qualname__}") in shipped), None)


def register(op_class: type, text_or_function: "str | Path | Callable[[Op, object], str]") -> None:
    """Registers the .ptg text of an op class, so that graphs with such ops can be converted.

    ``text_or_function`` is the text of one or more ``fn``, or the path of a file with such a text, or an op that ptgc
    knows, with its properties, or a function that takes the op and its Apply node and returns such a text. The last
    ``fn`` of the text is called with the node's inputs; its properties take the op's attributes of the same names.
    The text of a scalar op holds in ``Elemwise`` too. Subclasses inherit the text of their class.
    """
    if not (isinstance(op_class, type) and issubclass(op_class, Op)):
        raise TypeError(f"expected a class of ops, got {op_class!r}")
    source = text_or_function
    if isinstance(source, Path):
        source = source.read_text(encoding="utf-8")
    if not isinstance(source, str) and not callable(source):
        raise TypeError(f"expected a text, a path or a function, got {text_or_function!r}")
    registry[op_class] = Entry(source)
