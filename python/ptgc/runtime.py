"""ONNX Runtime sessions, and their errors said again in the user's terms."""

import re

import numpy as np

from ptgc import _wire

LEVELS = {"none": 0, "basic": 1, "extended": 2, "all": 99}


def session_options(given=None):
    """A SessionOptions from a dict of its attributes, a SessionOptions or None.

    Entries of ``config`` in the dict are set with ``add_session_config_entry``; a
    ``graph_optimization_level`` may be "none", "basic", "extended" or "all".
    """
    import onnxruntime as ort

    if isinstance(given, ort.SessionOptions):
        return given
    options = ort.SessionOptions()
    options.log_severity_level = 4  # what goes wrong is raised, not printed
    # looking for buffers to use again takes time that grows with the square of the graph, and saves
    # neither time nor memory later: what is freed goes back to the arena
    options.enable_mem_reuse = False
    for key, value in (given or {}).items():
        if key == "config":
            for name, entry in value.items():
                options.add_session_config_entry(name, str(entry))
        elif not hasattr(options, key):
            raise ValueError(f"onnxruntime.SessionOptions has no {key!r}")
        elif key == "graph_optimization_level" and not isinstance(value, ort.GraphOptimizationLevel):
            if value not in LEVELS and value not in LEVELS.values():
                raise ValueError(f"graph_optimization_level {value!r}: expected one of {', '.join(LEVELS)}")
            options.graph_optimization_level = ort.GraphOptimizationLevel(LEVELS.get(value, value))
        else:
            setattr(options, key, value)
    return options


# ONNX's numbers of dtypes
DTYPES = {
    1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 9: "bool",
    10: "float16", 11: "float64", 12: "uint32", 13: "uint64",
}  # fmt: skip


def known_providers(providers):
    """ONNX Runtime prints about a provider that it does not have, and goes on without."""
    import onnxruntime as ort

    providers, known = list(providers or ["CPUExecutionProvider"]), ort.get_available_providers()
    for p in providers:
        if (p if isinstance(p, str) else p[0]) not in known:
            raise ValueError(f"ONNX Runtime has no execution provider {p!r} here, only {', '.join(known)}")
    return providers


def external_arrays(compiled) -> dict[str, np.ndarray]:
    """The tensors that are not in the model itself, as views of where they lie."""
    arrays = {}
    for name, dtype, dims, offset, length in _wire.external_tensors(compiled.model):
        data = compiled.external[offset : offset + length]
        arrays[name] = np.frombuffer(data, DTYPES[dtype]).reshape(dims)
    return arrays


def make_session(compiled, options=None, providers=None):
    """A session for a compiled model. Weights of models over 2 GB stay where they are."""
    import onnxruntime as ort

    options, providers, arrays = session_options(options), known_providers(providers), {}
    if compiled.external:
        arrays = external_arrays(compiled)
        values = [ort.OrtValue.ortvalue_from_numpy(a) for a in arrays.values()]
        options.add_external_initializers(list(arrays), values)
    try:
        session = ort.InferenceSession(compiled.model, options, providers=providers)
    except Exception as e:
        raise RuntimeError(f"ONNX Runtime does not load the model: {summary(str(e))}") from e
    session.kept = arrays  # the runtime may refer to them
    return session


def is_complex(variable) -> bool:
    return getattr(variable.type, "dtype", "").startswith("complex")


def pairs(array) -> np.ndarray:
    """A complex array as models take it: real and imaginary parts along one more axis at the end. It is
    a view, unless the array is not contiguous."""
    array = native_order(array)
    last = np.ascontiguousarray(array).reshape(*array.shape, 1)
    return last.view(array.real.dtype)


def seen_as(session, variables):
    """The outputs whose arrays are to be seen as other dtypes, and these. Complex variables come as
    pairs. Of 64-bit integers ONNX Runtime makes arrays of C's long long, which NumPy holds for another
    type than its own int64 where that is C's long, and so does compiled code."""
    wide = {"tensor(int64)": np.dtype("int64"), "tensor(uint64)": np.dtype("uint64")}
    seen = [(i, wide[o.type]) for i, o in enumerate(session.get_outputs()) if o.type in wide]
    return seen + [(i, np.dtype(v.type.dtype)) for i, v in enumerate(variables) if is_complex(v)]


def native(results, seen):
    """The results with the dtypes of seen_as. No data are copied."""
    for i, dtype in seen:
        results[i] = results[i].view(dtype)
        if dtype.kind == "c":
            results[i] = results[i][..., 0]
    return results


INDEX = re.compile(r"out of (data )?bounds|invalid index found|invalid indice|indices element out of", re.I)
GUARD = re.compile(r"cannot be less than -1, got -2")
EMPTY = re.compile(r"cannot be less than -1, got -3")
PRODUCT = re.compile(r"MatMul dimension mismatch|GEMM: Dimension mismatch", re.I)
ARGMAX = re.compile(r"running Arg(Max|Min) node")  # it fails for no other reason
INVALID = re.compile(r"invalid dimensions for input: (.*) for the following indices\s+index: (\d+) Got: (\d+) Expected: (\d+)")
BROADCAST = (
    "Runtime broadcasting not allowed. Lengths that must be equal differ, and only dimensions whose "
    "type says that they are 1 are stretched"
)
# Checks that the compiler made, by the names that it gives their nodes: what NumPy raises there.
CHECKS = {
    "the exponents of integers must not be negative": (
        ValueError, "Integers to negative integer powers are not allowed."),
    "what is put somewhere must fit there": (
        ValueError, "could not broadcast the value to the shape of the place that it is put or added at"),
    "a length beside one to find must not be 0": (
        ValueError, "cannot reshape an array to a shape with a length of 0 and one to find"),
    "a matrix must not be singular": (np.linalg.LinAlgError, "Singular matrix"),
    "the offset's dtype must hold the lengths": (
        OverflowError, "Python integer out of bounds for the dtype of the offset"),
    "index arrays must broadcast together": (
        IndexError, "shape mismatch: indexing arrays could not be broadcast together"),
}  # fmt: skip
NODE = re.compile(r"running (\S+) node\. Name:'(.*?)'(?= Status Message)")


def runtime_error(error, place=None):
    """The exception that stands for a failed run, IndexError or ValueError as NumPy has them.

    ``place`` gives the .ptg line and the variable of an ONNX node's name. With the exception come the
    variable that could not be computed, and the name of the input that has a wrong length.
    """
    text = str(error)
    found = NODE.search(text)
    line, variable = place(found[2]) if found and place else ("", None)
    where = f"\n  in the line: {line}" if line else ""
    for name, (kind, what) in CHECKS.items():
        if found and found[2].startswith(name):
            return kind(what + where), variable, ""
    if found and " must be " in found[2]:  # a check that the compiler made: the node is called what must hold
        return ValueError(f"{BROADCAST}: {found[2]}{where}"), variable, ""
    if GUARD.search(text):
        return ValueError(f"{BROADCAST}{where}"), variable, ""
    if EMPTY.search(text) or ARGMAX.search(text):
        return ValueError(f"zero-size array to a reduction that has no identity{where}"), variable, ""
    if PRODUCT.search(text):
        return ValueError(f"matrix product: the lengths that it adds along differ{where}"), variable, ""
    if found := INVALID.search(text):
        name, axis, got, expected = found.groups()
        what = f"Input dimension mismatch: input {name!r} has length {got} in dimension {axis}, expected {expected}"
        what += f". {BROADCAST}" if "1" in (got, expected) else ""
        return ValueError(what + where), None, name
    if INDEX.search(text):
        found = re.search(r"(?:idx=|index = |indice = |index )(-?\d+)", text)
        what = f"index {found[1]} is out of bounds" if found else "index out of bounds"
        return IndexError(what + where), variable, ""
    if re.search(r"bad_alloc|failed to allocate|allocate memory", text, re.I):
        return MemoryError(f"ONNX Runtime could not allocate memory{where}"), variable, ""
    return ValueError(f"the graph cannot be computed for these inputs: {summary(text)}{where}"), variable, ""


def summary(text):
    """What went wrong, without the runtime's own file names and generated node names."""
    text = re.sub(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ", "", text)
    text = re.sub(NODE.pattern + r".*?Status Message: ", r"\1: ", text, flags=re.S)
    text = re.sub(r"(Non-zero status code returned while )", "", text)
    text = re.sub(r"/\S+?\.(cc|h):\d+ .*?(?:\)|\]) ", "", text)
    text = re.sub(r"\[ShapeInferenceError\] ", "", text)
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[0].strip()[:300] if lines else "unknown error"


def arguments(names, args, named) -> dict:
    """Values by the names of the inputs, each of which has one."""
    if len(args) > len(names):
        raise TypeError(f"the model has {len(names)} inputs but {len(args)} are given")
    feed = dict(zip(names, args))
    for name, value in named.items():
        if name in feed or name not in names:
            raise TypeError(f"input {name!r} is given twice" if name in feed else f"there is no input {name!r}")
        feed[name] = value
    if missing := [name for name in names if name not in feed]:
        raise TypeError(f"missing input {missing[0]!r}")
    return feed


def native_order(array) -> np.ndarray:
    """The array in this machine's byte order: the runtime does not look at it."""
    array = np.asarray(array)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def run_session(session, outputs, feed, place=None):
    """The results of a session; what fails is said as NumPy would, not as the runtime does."""
    feed = {name: native_order(value) for name, value in feed.items()}
    try:
        return session.run(outputs, feed)
    except Exception as e:
        raise runtime_error(e, place)[0] from None


def node_line(model: bytes, name: str) -> tuple[int, int]:
    """The line and column of the .ptg text that the ONNX node was made from; (0, 0) if unknown."""
    for value in _wire.metadata(model, name).values():
        if found := re.search(r":(\d+):(\d+)$", value):
            return int(found[1]), int(found[2])
    return 0, 0
