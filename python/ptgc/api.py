"""For people who write .ptg in Python: text to bytes, text to something callable."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ptgc import _lib
from ptgc.runtime import arguments, make_session, native, pairs, run_session, seen_as


def is_path(source) -> bool:
    return isinstance(source, os.PathLike) or (
        isinstance(source, str) and "\n" not in source and "{" not in source and source.endswith(".ptg")
    )


def compile_source(source, **options) -> _lib.Compiled:
    if is_path(source):
        path = Path(source)
        if not path.exists():
            raise FileNotFoundError(f"no such file: {path}")
        return _lib.compile_file(path, **options)
    if not isinstance(source, str | bytes):
        raise TypeError(f"expected .ptg text or a path, got {type(source).__name__}")
    return _lib.compile_text(source, **options)


def compile(source: "str | os.PathLike", **options: Any) -> bytes:  # noqa: A001
    """An ONNX model from .ptg text, or from the file at a path that ends in .ptg.

    Options: opset (13 to 26), target ("ort-cpu" or "onnx"), tensors ({name: array} that file("name")
    finds first), directory (what file(...) is relative to, for text), allow (more folders that files
    may be in), strip, model_name, doc_string, flags (["Werror", ...]).
    """
    return compile_source(source, **options).model


class Model:
    """A compiled .ptg file, callable on arrays in order or by name."""

    def __init__(self, compiled: _lib.Compiled, session_options: Any = None, providers: list | None = None):
        self.made_of = compiled, session_options, providers
        self.model = compiled.model
        self.warnings = compiled.warnings
        self.session = make_session(compiled, session_options, providers)
        self.inputs = [i.name for i in self.session.get_inputs()]
        self.outputs = [o.name for o in self.session.get_outputs()]
        self._seen = seen_as(self.session, ())
        self._dtypes = {i.name: NUMPY.get(i.type) for i in self.session.get_inputs()}

    def __reduce__(self):
        compiled, *rest = self.made_of
        return Model, (replace(compiled, external=bytes(compiled.external)), *rest)

    def __call__(self, *args, **named):
        """The results as a list; a single one by itself. Python numbers take the input's dtype. Complex
        arrays are given to the model as pairs; complex results are pairs, (..., 2)."""
        feed = arguments(self.inputs, args, named)
        feed = {k: pairs(v) if np.iscomplexobj(v) else v for k, v in feed.items()}
        feed = {k: v if isinstance(v, np.ndarray) else np.asarray(v, self._dtypes[k]) for k, v in feed.items()}
        results = native(run_session(self.session, self.outputs, feed), self._seen)
        return results[0] if len(results) == 1 else results


NUMPY = {
    "tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16, "tensor(bool)": np.bool_,
    **{f"tensor({kind}{bits})": np.dtype(f"{kind}{bits}") for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
}  # fmt: skip


def load(source: "str | os.PathLike", *, session_options: Any = None, providers: list | None = None, **options: Any) -> Model:
    """Compiles .ptg text or the file at a path, and makes it callable on ONNX Runtime."""
    options.setdefault("external_name", "weights")
    return Model(compile_source(source, **options), session_options, providers)
