"""Models from .ptg text or files: their bytes, or something callable."""

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from ptgc import _lib, _modelfile, _wire
from ptgc._random import words_given, words_to_generator
from ptgc._values import as_input, input_types
from ptgc.native import NativeFunction, NativeLibrary
from ptgc.runtime import (
    arguments,
    generators_of,
    installed_target,
    make_session,
    native,
    run_session,
    seen_as,
)


def is_path(source, *ends: str) -> bool:
    if isinstance(source, str):
        return "\n" not in source and "{" not in source and source.endswith(ends or (".ptg", ".onnx"))
    return isinstance(source, os.PathLike) and (not ends or Path(source).suffix in ends)


def compile_source(source, **options) -> _lib.Compiled:
    if is_path(source):
        path = Path(source)
        if not path.exists():
            raise FileNotFoundError(f"no such file: {path}")
        if path.suffix == ".onnx":
            raise ValueError(f"{path} is a model, not a text to compile: ptgc.load makes it callable")
        return _lib.compile_file(path, **options)
    if not isinstance(source, str | bytes):
        raise TypeError(f"expected .ptg text or a path, got {type(source).__name__}")
    if isinstance(source, str) and os.path.isfile(source):
        raise ValueError(f"{source} is a file, but its name does not end in .ptg: give a pathlib.Path if it is such a text")
    return _lib.compile_text(source, **options)


def compile(source: "str | os.PathLike", **options: Any) -> bytes:
    """An ONNX model from .ptg text, or from the file at a path that ends in .ptg. The options are:

    - opset: 13 to 26; 18 if not given.
    - target: "ort-cpu" for ONNX Runtime from 1.29 on, "ort-cpu:1.20" and the like for older releases, "ort-web",
      "portable" or "onnx".
    - math: "exact", "standard" or "native".
    - float32: True makes float32 in the model of what is float64 in the text.
    - tensors: {name: array}, which file("name") finds before any file.
    - directory: for a text, the folder that file(...) is relative to.
    - allow: a list of more folders that files may be in.
    - strip: True leaves out the lines of the text from the model.
    - model_name, doc_string, model_version, meta (["key=value", ...]).
    - expected: ["dim=length", ...] says roughly how long dims of these names will be. The model takes other lengths
      too and computes the same.
    - max_errors: how many errors a CompileError shows; 0: all; 20 if not given.
    - flags: those of the command, ["Werror", "fno-cse", "O0", ...].
    """
    return compile_source(source, **options).model


class Model:
    """A compiled .ptg file, callable on arrays in order or by name."""

    def __init__(self, compiled: _lib.Compiled, session_options: Any = None, providers: list | None = None):
        self.made_of = compiled, session_options, providers
        self.model = compiled.model
        self.warnings = compiled.warnings
        self.least_runtime = compiled.least_runtime  # the least release of ONNX Runtime that it runs on, 29 for 1.29
        self.session = make_session(compiled, session_options, providers)
        self.inputs = [i.name for i in self.session.get_inputs()]
        self.outputs = [o.name for o in self.session.get_outputs()]
        self._seen = seen_as(self.session, ())
        self._generators = generators_of(self.session, self.outputs)
        self._kinds = {self.inputs[k]: kind for k, kind in generators_of(self.session, self.inputs)}
        self._types = input_types(self.session)

    def __reduce__(self):
        compiled, *rest = self.made_of
        return Model, (replace(compiled, external=bytes(compiled.external)), *rest)

    def __call__(self, *args, **named):
        """The results as a list, or the result if there is one. Python numbers and lists take the input's dtype
        if it holds them; an array of another dtype is a TypeError that names the input. Complex
        arguments may be given as such or as pairs, (..., 2); complex results are pairs. NumPy's generators may be
        given as such or as words; results of the type rng are generators."""
        feed = arguments(self.inputs, args, named)
        feed |= {k: words_given(k, feed[k], kind) for k, kind in self._kinds.items()}
        feed = {k: as_input(k, v, *self._types[k]) for k, v in feed.items()}
        results = native(run_session(self.session, self.outputs, feed), self._seen)
        for k, kind in self._generators:
            results[k] = words_to_generator(results[k], kind)
        return results[0] if len(results) == 1 else results


def read_model(file: str | os.PathLike) -> _lib.Compiled:
    """A model from a file. ONNX Runtime opens it by its path if weights lie beside it."""
    path = Path(file)
    if not path.exists():
        raise FileNotFoundError(f"no such file: {path}")
    model = path.read_bytes()
    try:
        beside = any(_wire.external_tensors(model))
        least = re.fullmatch(r"onnxruntime 1\.(\d+)", _wire.model_metadata(model).get("least_runtime", ""))
    except (AttributeError, LookupError, RuntimeError, StopIteration, TypeError, ValueError):
        raise ValueError(f"{path} is not an ONNX model, or is damaged") from None
    path = str(path.absolute()) if beside else ""
    return _lib.Compiled(model, b"", [], path=path, least_runtime=int(least[1]) if least else 0)


def load(
    source: "str | os.PathLike", *, session_options: Any = None, providers: list | None = None, **options: Any
) -> "Model | _modelfile.OfModel | NativeFunction":
    """Makes .ptg text, or the .ptg file or ONNX model at a path, callable on ONNX Runtime.

    A file that was made from a PyMC model becomes the ``Sampler``, ``Density`` or ``Predictor`` that it was. A
    shared library of ``export_c``, ``name.so``, becomes a ``NativeFunction``; loading it runs the code in it. That of
    ``export_nuts`` has a method ``sample`` as well. The options are those of ``compile``. A model from a ``.onnx``
    file takes none of them, as it is compiled already.
    """
    if is_path(source, ".onnx"):
        if options:
            raise TypeError(f"{source} is compiled already: it takes no option {min(options)!r}")
        compiled = read_model(source)
        made_of = _wire.model_metadata(compiled.model).get(_modelfile.KEY)
        if made_of is not None:
            return _modelfile.from_file(compiled, made_of, session_options, providers)
        return Model(compiled, session_options, providers)
    if is_path(source, ".so"):
        if given := [*options, *(["session_options"] if session_options else []), *(["providers"] if providers else [])]:
            raise TypeError(f"{source} is compiled already: it takes no option {min(given)!r}")
        if not Path(source).exists():
            raise FileNotFoundError(f"no such file: {source}")
        library, kinds = NativeLibrary(os.fspath(source)), {kind.KIND: kind for kind in NativeLibrary.__subclasses__()}
        kind = kinds.get(library.metadata.get(_modelfile.KEY, {}).get("kind"))
        return kind(os.fspath(source)) if kind else library
    options.setdefault("external_name", "weights")
    options.setdefault("target", installed_target())
    return Model(compile_source(source, **options), session_options, providers)
