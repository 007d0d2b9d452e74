"""For people who write .ptg in Python: text to bytes, text to something callable."""

from pathlib import Path

import numpy as np

from ptgc import _lib
from ptgc.runtime import make_session


def compile_source(source, **options):
    path = Path(source) if isinstance(source, Path) or (isinstance(source, str) and "\n" not in source and source.endswith(".ptg")) else None
    if path is not None:
        if not path.exists():
            raise FileNotFoundError(f"no such file: {path}")
        return _lib.compile_file(path, **options)
    return _lib.compile_text(source, **options)


def compile(source, **options) -> bytes:  # noqa: A001
    """An ONNX model from .ptg text, or from the file at a path that ends in .ptg.

    Options: opset, target, tensors ({name: array} that file("name") finds first), directory (what
    file(...) is relative to, for text), strip, model_name, doc_string.
    """
    return compile_source(source, **options).model


class Model:
    """A compiled .ptg file, callable on arrays in order or by name."""

    def __init__(self, compiled, session_options=None, providers=None):
        self.model = compiled.model
        self.session = make_session(compiled, session_options, providers)
        self.inputs = [i.name for i in self.session.get_inputs()]
        self.outputs = [o.name for o in self.session.get_outputs()]

    def __call__(self, *args, **named):
        feed = {**dict(zip(self.inputs, args)), **named}
        results = self.session.run(self.outputs, {k: np.asarray(v) for k, v in feed.items()})
        return results[0] if len(results) == 1 else results


def load(source, *, session_options=None, providers=None, **options) -> Model:
    """Compiles .ptg text or the file at a path, and makes it callable."""
    return Model(compile_source(source, **options), session_options, providers)
