"""A text on ONNX Runtime and as C, on the same inputs: where the two part first."""

import re
from pathlib import Path
from typing import Any

import numpy as np

from ptgc import _lib
from ptgc._random import generator_to_words
from ptgc.api import is_path, load
from ptgc.errors import CompileError, list_of_texts
from ptgc.native import MODEL, extension, generator_kinds, load_model, native_error

HEADER = re.compile(r"^graph .*?\) -> (\([^{]*\)) \{\n(.*?)^\}", re.M | re.S)
CLOSE = {"float16": 1e-2, "float32": 1e-4, "float64": 1e-9}
TRIES = 100


NAME = re.compile(r"(`(?:[^`]|``)+`|[^\W\d]\w*)(?=\s*(?:,|:|$))")


def names_in(text: str) -> list[str]:
    """The names of a list of names, of which some have types."""
    return NAME.findall(re.sub(r"\[[^\]]*\]|: *\w+", "", text))


def statements(body: str) -> list[str]:
    """The names that statements of the graph itself define, in order."""
    names: list[str] = []
    for line in body.splitlines():
        left, equals, _ = line.partition(" = ")
        if equals and re.match(r"  [^\s}]", line):
            names += [name for name in names_in(left) if name != "_" and name not in names]
    return names


def showing_all(text: str) -> str:
    """The text with every value of the graph among its outputs."""
    found = HEADER.search(text)
    if not found:
        return text
    outputs = names_in(found[1].strip("()"))
    names = [*(n for n in statements(found[2]) if n not in outputs), *outputs]
    return f"{text[: found.start(1)]}({', '.join(names)}){text[found.end(1) :]}"


def random_inputs(model, seed: int) -> list:
    """Arrays for the inputs of the C, of lengths that fit."""
    rng, kinds = np.random.default_rng(seed), generator_kinds(model)
    lines = [line.split(" ", 3) for line in model.interface.splitlines() if line.startswith("in ")]
    shapes = [[3] * int(rank) for _, _, rank, _ in lines]

    def values(dtype, name, shape):
        if name in kinds:
            bits = getattr(np.random, kinds[name])(seed)
            return generator_to_words(np.random.Generator(bits))
        if dtype == "bool":
            return rng.integers(0, 2, shape).astype(bool)
        return (rng.uniform(0.1, 0.9, shape) if "float" in dtype else rng.integers(0, 3, shape)).astype(dtype)

    for _ in range(TRIES):
        arrays = [values(dtype, name, shape) for (_, dtype, _, name), shape in zip(lines, shapes)]
        try:
            model.run(*arrays)
        except extension().LengthError as e:
            k, axis, _, expected = e.args
            shapes[k][axis] = expected
            continue
        except extension().CheckError:
            pass
        return arrays
    raise ValueError("no lengths of the inputs were found that fit: give values")


def differ(got, want, rtol) -> str:
    if (got.dtype, got.shape) != (want.dtype, want.shape):
        return f"is {got.dtype}{list(got.shape)}, on ONNX Runtime {want.dtype}{list(want.shape)}"
    if got.dtype.kind == "f":
        scale = np.max(np.abs(want[np.isfinite(want)]), initial=0)
        close = CLOSE[got.dtype.name] if rtol is None else rtol
        same = np.isclose(got, want, rtol=close, atol=close * 0.01 * float(scale), equal_nan=True)
    else:
        same = np.asarray(got == want)
    if same.all():
        return ""
    at = tuple(int(i) for i in np.argwhere(~same)[0])
    return f"{list(at) if at else ''} is {got[at]!r}, on ONNX Runtime {want[at]!r}"


def verify(source: Any, *values: Any, seed: int = 0, rtol: float | None = None, **options: Any) -> bool:
    """Runs a text, the .ptg file at a path, or a function of mode ONNX or NATIVE on ONNX Runtime and as C.

    AssertionError names the first value of the graph in which the two differ, with its line. Values are given in
    the order of the inputs. If there are none, they are random. rtol: None is 1e-9, for float32 1e-4. The options
    are tensors, directory, allow, math, float32 and flags of ``compile``.
    """
    text = source
    if hasattr(source, "vm"):
        graph = source.vm.jit_fn.graph
        text, options["tensors"] = graph.text, graph.tensors
    elif is_path(source, ".ptg"):
        text = Path(source).read_text(encoding="utf-8")
        options.setdefault("directory", Path(source).parent)
        options.setdefault("file_name", str(source))
    text = _lib.format_text(text)
    options["flags"] = [*list_of_texts("flags", options.get("flags")), *_lib.PRINTED]
    shown = showing_all(text)

    def compiled(text):
        flags = [*options["flags"], "fentry"]
        given = options | {"flags": flags, "external_name": "weights"}
        return load_model(_lib.compile_text(text, code=True, model_name=MODEL, **given))

    try:
        onnx, model = load(shown, **options), compiled(shown)
    except CompileError:  # of a value that cannot be an output
        shown, onnx, model = text, load(text, **options), compiled(text)
    arrays = list(values) or random_inputs(model, seed)
    results: list = []
    for run in (lambda: model.run(*arrays), lambda: onnx.session.run(onnx.outputs, dict(zip(onnx.inputs, arrays)))):
        try:
            results.append(run())
        except TypeError:
            raise
        except Exception as e:
            results.append(native_error(e, model.inputs)[0])
    got, want = results
    if isinstance(got, Exception) or isinstance(want, Exception):
        if isinstance(got, Exception) and isinstance(want, Exception):
            return True
        where = "C" if isinstance(got, Exception) else "ONNX Runtime"
        raise AssertionError(f"only {where} fails: {got if where == 'C' else want}")
    lines = text.splitlines()
    for name, g, w in zip(model.outputs, got, want, strict=True):
        if what := differ(g, w, rtol):
            line = next((k for k, t in enumerate(lines, 1) if re.match(rf"  [^=]*\b{re.escape(name)}\b[^=]* = ", t)), 0)
            place = f"\n  in line {line}: {lines[line - 1].strip()}" if line else ""
            raise AssertionError(f"{name}{what}{place}")
    return True


def main(arguments: list[str]) -> int:
    """python -m ptgc verify FILE [--seed N]"""
    import argparse

    parser = argparse.ArgumentParser("python -m ptgc verify", description="Runs a .ptg file on ONNX Runtime and as C.")
    parser.add_argument("file")
    parser.add_argument("--seed", type=int, default=0, help="of the random inputs")
    given = parser.parse_args(arguments)
    try:
        verify(given.file, seed=given.seed)
    except AssertionError as e:
        print(f"{given.file}: {e}")
        return 1
    except CompileError as e:  # whose places have the file's name
        print(e)
        return 2
    except (OSError, RuntimeError, ValueError) as e:
        print(f"{given.file}: {e}")
        return 2
    print(f"{given.file}: the same on ONNX Runtime and as C")
    return 0
