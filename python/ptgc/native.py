"""Graphs as C: compiled by the machine's compiler, called through a small extension module."""

import importlib.machinery
import importlib.util
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ptgc import _cc, _lib
from ptgc._random import words_given, words_to_generator
from ptgc._shared import private_copy, texts_of
from ptgc._values import complex_pairs
from ptgc.runtime import BROADCAST, arguments, check_error, native, native_order, wrong_length

MODEL = "model"  # what the symbols of a graph begin with
EXTENSION = "_native.abi3.so"
PLACE = re.compile(r" \([^()]*:(\d+):(\d+)\)\Z", re.S)  # behind the words of a check
LENGTHS = re.compile(r"lengths do not fit|must be |the number of elements is another one|equally long|the length is not 1")


@cache
def extension():
    """The extension module: beside the library that is loaded, whose folder is that of a wheel or of a build."""
    name = "ptgc._native"
    for path in (p.with_name(EXTENSION) for p in _lib.candidates()):
        if path.exists():
            loader = importlib.machinery.ExtensionFileLoader(name, str(path))
            module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
            loader.exec_module(module)
            sys.modules[name] = module
            return module
    raise ImportError(
        f"{EXTENSION} is not built, as Python.h was not there: install Python's headers (Debian, Ubuntu: apt install "
        "python3-dev), then run 'make' in the source tree, or install ptgc again"
    )


@cache
def numpy_dtypes() -> dict[str, np.dtype]:
    return {name: np.dtype(name) for name in _lib.dtypes() if hasattr(np, name)}


def generator_kinds(model) -> dict[str, str]:
    """{name of an input or output: kind of bit generator}"""
    lines = [line.partition(":")[2] for line in model.interface.split("\n") if line.startswith("generator:")]
    return dict(line.rsplit("=", 1) for line in lines)


def load_model(compiled, cflags: Sequence[str] = _cc.CFLAGS):
    """The graph that was compiled to C as the extension's Model, whose ``run`` takes and gives arrays. It keeps the
    weights that are not in the C."""
    module = extension()
    code, weights = compiled.model, compiled.external or None
    file = _cc.library(code, cflags)
    try:
        return module.Model(file, MODEL, np.empty, numpy_dtypes(), weights)
    except ImportError:  # of a machine whose C library is another one
        return module.Model(_cc.library(code, cflags, anew=True), MODEL, np.empty, numpy_dtypes(), weights)


def native_error(error, names, place=None):
    """As ``runtime_error``, of a run of C: the exception that NumPy would raise, the variable that could not be
    computed or None, and the name of the input that has a wrong length or "".

    ``place`` gives the .ptg line and the variable for a line and a column.
    """
    module = extension()
    if isinstance(error, module.LengthError):
        k, axis, got, expected = error.args
        return ValueError(wrong_length(names[k], axis, got, expected)), None, names[k]
    if not isinstance(error, module.CheckError):
        return error, None, ""
    words = str(error)
    found = PLACE.search(words)
    line, variable = place(int(found[1]), int(found[2])) if found and place else ("", None)
    words = words[: found.start()] if found else words
    where = f"\n  in the line: {line}" if line else ""
    if known := check_error(words, where):
        return known, variable, ""
    if "index is out of range" in words:
        return IndexError(f"index out of bounds{where}"), variable, ""
    if words.startswith("Reshape: "):
        return ValueError(f"cannot reshape array: {words}{where}"), variable, ""
    if LENGTHS.search(words):
        return ValueError(f"{words}. {BROADCAST}{where}"), variable, ""
    return ValueError(words + where), variable, ""


class NativeFunction:
    """A compiled graph, callable on arrays in order or by name; made by ``compile_native``."""

    metadata: Mapping[str, Any] = {}  # of a library that was read

    def __init__(
        self, compiled: _lib.Compiled, text: str, complex_inputs: dict, complex_results: list, cflags: Sequence[str]
    ):
        self.made_of = compiled, text, complex_inputs, complex_results, cflags
        self.code = compiled.model.decode()
        self.header = compiled.header.decode()
        self.text = text  # as .ptg
        self.set_model(load_model(compiled, cflags), complex_inputs, complex_results)

    def set_model(self, model, complex_inputs: Mapping[str, str], complex_results: Sequence) -> None:
        self.model = model
        self.inputs = self.model.inputs
        self.outputs = self.model.outputs
        self.run = self.model.run  # arrays in the order of the inputs -> list of arrays
        self._kinds = generator_kinds(self.model)
        self._complex_inputs = complex_inputs  # {name: dtype of the parts}
        self._complex = complex_results  # [(position, dtype)]

    def __reduce__(self):
        compiled, *rest = self.made_of
        return type(self), (replace(compiled, external=bytes(compiled.external)), *rest)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self.inputs)} -> {', '.join(self.outputs)})"

    def place(self, line: int, column: int):
        lines = self.text.splitlines()
        return lines[line - 1].strip() if 0 < line <= len(lines) else "", None

    def __call__(self, *args: Any, **named: Any) -> list:
        """The results as a list. No array is converted: TypeError names the input whose dtype or rank is another
        one. Python numbers are taken for scalars that hold them, generators or their words for inputs of type rng,
        complex arrays or pairs for complex ones."""
        if named or len(args) != len(self.inputs):
            given = arguments(self.inputs, args, named)
            args = tuple(given[name] for name in self.inputs)
        try:
            results = self.run(*args)
        except TypeError:
            changed = self.adapted(args)
            if all(a is b for a, b in zip(args, changed)):
                raise
            return self(*changed)
        except ValueError as e:
            raise native_error(e, self.inputs, self.place)[0] from None
        return self.seen(results) if self._kinds or self._complex else results

    def seen(self, results) -> list:
        """Complex numbers and generators in place of pairs and words."""
        results = native(results, self._complex)
        for k, name in enumerate(self.outputs):
            if name in self._kinds:
                results[k] = words_to_generator(results[k], self._kinds[name])
        return results

    def adapted(self, args) -> list:
        """Generators as words and complex numbers as pairs, as the C takes them."""
        return [self.adapted_one(name, value) for name, value in zip(self.inputs, args)]

    def adapted_one(self, name: str, value: Any) -> Any:
        if name in self._kinds and not isinstance(value, np.ndarray):
            return words_given(name, value, self._kinds[name])
        is_number = isinstance(value, int | float)
        if name in self._complex_inputs and (is_number or np.iscomplexobj(value)):
            array = native_order(np.asarray(value, "complex128" if type(value) in (int, float) else None))
            return complex_pairs(name, array, self._complex_inputs[name], not hasattr(value, "dtype"))
        return value


class NativeLibrary(NativeFunction):
    """A shared library that ``export_c`` wrote, as ``ptgc.load`` gives it. It has no C; ``metadata`` are those of the
    export, of a PyMC model under "pymc"."""

    def __init__(self, file: str):
        path = Path(file).absolute()
        self.made_of = (str(path),)
        with private_copy(path) as copy:
            graph, found = texts_of(copy)
            model = extension().Model(str(copy), graph, np.empty, numpy_dtypes())
        self.code = self.text = ""
        beside = path.with_suffix(".h")
        self.header = beside.read_text() if beside.exists() else ""
        self.metadata = found["metadata"]
        self.set_model(model, found["complex_inputs"], [(k, np.dtype(d)) for k, d in found["complex_results"]])

    def __reduce__(self):
        return type(self), self.made_of
