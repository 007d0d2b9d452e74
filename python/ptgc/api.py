"""Models from .ptg text or files: their bytes, or something callable."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ptgc import _lib
from ptgc._random import generator_to_words, is_generator, words_to_generator
from ptgc.runtime import arguments, generators_of, make_session, native, pairs, run_session, seen_as


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

    Options: opset (13 to 26; 18), target ("ort-cpu", "ort-web", "portable" or "onnx"), math ("exact", "standard" or
    "native"), float32 (True: what is float64 in the text is float32 in the model), tensors ({name: array} that
    file("name") finds before any file), directory (of a text: the folder that file(...) is relative to), allow (a
    list of more folders that files may be in), strip (True: the model does not name lines of the text), model_name,
    doc_string, model_version, meta (["key=value", ...]), expected (["dim=length", ...]: about how long dims of these
    names will be; the model takes other lengths too and computes the same), flags (["Werror", "fno-cse", ...], as of
    the command).
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
        self._generators = generators_of(self.session, self.outputs)
        self._dtypes = {i.name: numpy_dtype(i.type) for i in self.session.get_inputs()}

    def __reduce__(self):
        compiled, *rest = self.made_of
        return Model, (replace(compiled, external=bytes(compiled.external)), *rest)

    def __call__(self, *args, **named):
        """The results as a list, or the result if there is one. Python numbers take the input's dtype. Complex
        arguments may be given as such or as pairs, (..., 2); complex results are pairs. NumPy's generators may be
        given as such or as words; results of the type rng are generators."""
        feed = arguments(self.inputs, args, named)
        feed = {k: generator_to_words(v) if is_generator(v) else v for k, v in feed.items()}
        feed = {k: pairs(v) if np.iscomplexobj(v) else v for k, v in feed.items()}
        feed = {k: v if isinstance(v, np.ndarray) else np.asarray(v, self._dtypes[k]) for k, v in feed.items()}
        results = native(run_session(self.session, self.outputs, feed), self._seen)
        for k, kind in self._generators:
            results[k] = words_to_generator(results[k], kind)
        return results[0] if len(results) == 1 else results


def numpy_dtype(runtime_type: str) -> np.dtype | None:
    """NumPy's dtype for ONNX Runtime's "tensor(double)"; None if NumPy has none."""
    name = runtime_type.removeprefix("tensor(").removesuffix(")")
    name = {"float": "float32", "double": "float64"}.get(name, name)  # the others have NumPy's names
    return np.dtype(name) if hasattr(np, name) else None


def load(
    source: "str | os.PathLike", *, session_options: Any = None, providers: list | None = None, **options: Any
) -> Model:
    """Compiles .ptg text or the file at a path, and makes it callable on ONNX Runtime."""
    options.setdefault("external_name", "weights")
    return Model(compile_source(source, **options), session_options, providers)
