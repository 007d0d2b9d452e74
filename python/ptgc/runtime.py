"""ONNX Runtime: sessions, the arrays that they take and give, and their errors in NumPy's terms."""

import ctypes
import os
import re
import warnings
import weakref
from collections.abc import Mapping
from functools import cache

import numpy as np

from ptgc import _lib, _wire
from ptgc.errors import no_such

LEVELS = {"none": 0, "basic": 1, "extended": 2, "all": 99}
# Bytes of a model, weights included, from which on a session has as many threads as there are cores. A float32
# matrix of 1024 x 1024 is as large; its product with one row takes 200 microseconds, as long as waking a thread
# some ten times. Smaller models are faster on one thread wherever other processes run, such as chains of a sampler.
LARGE = 4 << 20
SPINNING = "session.intra_op.allow_spinning"


@cache
def installed_release() -> int:
    """The minor number of the onnxruntime that is installed: 29 of 1.29.0."""
    import onnxruntime as ort

    return int(ort.__version__.split(".")[1])


@cache
def installed_target() -> str:
    """The target for models that run on the onnxruntime that is installed. One that is newer than all that ptgc was
    tried on is taken for the newest of these, with a warning."""
    oldest, newest, _ = _lib.runtimes()
    if installed_release() < oldest:
        raise ImportError(f"onnxruntime 1.{installed_release()} is installed, but ptgc needs 1.{oldest} or newer")
    if installed_release() > newest:
        warnings.warn(
            f"onnxruntime 1.{installed_release()} is installed, which this release of ptgc was not tried with: models are "
            f"compiled for 1.{newest}. Its kernels may have faults that they are not defended against", stacklevel=2,
        )
    return f"ort-cpu:1.{min(installed_release(), newest)}"


def session_options(given=None, size=0):
    """A SessionOptions from a dict of its attributes, a SessionOptions or None, for a model of so many bytes.

    Entries of ``config`` in the dict are set with ``add_session_config_entry``; a
    ``graph_optimization_level`` may be "none", "basic", "extended" or "all".
    """
    import onnxruntime as ort

    if isinstance(given, ort.SessionOptions):
        return given
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1 if size < LARGE else 0
    if SPINNING not in (given or {}).get("config", ()):
        options.add_session_config_entry(SPINNING, "0")  # threads that wait take no time from other processes
    options.log_severity_level = 4  # errors are raised, not printed
    # ONNX Runtime's search for buffers to use again takes time that grows with the square of the graph, and
    # saves neither time nor memory in a run: freed buffers go back to its arena
    options.enable_mem_reuse = False
    if installed_release() < 19:  # its second run of a Loop computes something else
        options.enable_mem_pattern = False
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


def known_providers(providers):
    """The providers, or ValueError: ONNX Runtime prints a warning about one that it does not have, and goes on."""
    import onnxruntime as ort

    providers, known = list(providers or ["CPUExecutionProvider"]), ort.get_available_providers()
    for p in providers:
        if (p if isinstance(p, str) else p[0]) not in known:
            raise ValueError(f"ONNX Runtime has no execution provider {p!r} here, only {', '.join(known)}")
    return providers


def external_arrays(compiled) -> dict[str, np.ndarray]:
    """The tensors that are not in the model itself, as views of the external data."""
    arrays, names = {}, {number: name for name, number in _lib.dtypes().items()}
    for name, dtype, dims, offset, length in _wire.external_tensors(compiled.model):
        data = compiled.external[offset : offset + length]
        arrays[name] = np.frombuffer(data, names[dtype]).reshape(dims)
    return arrays


threaded = weakref.WeakSet()  # sessions with threads of their own


class Forked:
    """What a session of the parent process has in place of ONNX Runtime's own until it is used again."""

    def __init__(self, session):
        self.session = session

    def __getattr__(self, name):
        self.session.set_providers(self.session.wanted)  # makes ONNX Runtime's session again
        return getattr(self.session._sess, name)


def leave_threads():
    """A forked process has the sessions of its parent but not their threads: a session must neither run, nor be
    deleted, which would wait for them for ever."""
    for session in list(threaded):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(session._sess))
        session._sess = Forked(session)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=leave_threads)


def run_of(session):
    """ONNX Runtime's own function below session.run, which checks the names of the inputs at each call."""
    inner = getattr(session, "_sess", None)
    if not hasattr(inner, "run"):
        return session.run
    return (lambda *args: session._sess.run(*args)) if session in threaded else inner.run


def make_session(compiled, options=None, providers=None):
    """A session for a compiled model. ONNX Runtime gets external weights by pointer: they are not copied."""
    import onnxruntime as ort

    path = getattr(compiled, "path", "")  # of a model in a file, with its weights beside it
    beside = sum(length for *_, length in _wire.external_tensors(compiled.model)) if path else len(compiled.external)
    options = session_options(options, len(compiled.model) + beside)
    providers, arrays = known_providers(providers), {}
    if compiled.external:
        arrays = external_arrays(compiled)
        values = [ort.OrtValue.ortvalue_from_numpy(a) for a in arrays.values()]
        options.add_external_initializers(list(arrays), values)
    if compiled.least_runtime > installed_release():
        raise RuntimeError(
            f"the model needs onnxruntime 1.{compiled.least_runtime} or newer, and {ort.__version__} is installed: compile "
            f"it with target={installed_target()!r}"
        )
    try:
        session = ort.InferenceSession(path or compiled.model, options, providers=providers)
    except Exception as e:
        raise RuntimeError(f"ONNX Runtime does not load the model: {summary(str(e))}") from e
    session.kept = arrays  # ONNX Runtime may refer to them as long as the session lives
    session.wanted = providers
    if options.intra_op_num_threads != 1 or options.execution_mode == ort.ExecutionMode.ORT_PARALLEL:
        threaded.add(session)
    return session


def is_complex(variable) -> bool:
    return getattr(variable.type, "dtype", "").startswith("complex")


def pairs(array) -> np.ndarray:
    """A complex array as models take it: real and imaginary parts along one more axis at the end. The result is a
    view of a contiguous array, and a copy of any other."""
    array = native_order(array)
    last = np.ascontiguousarray(array).reshape(*array.shape, 1)
    return last.view(array.real.dtype)


def generators_of(session, names) -> list[tuple[int, str]]:
    """Those of the inputs or outputs that are generators: position and kind."""
    kinds = session.get_modelmeta().custom_metadata_map
    return [(k, kinds[f"generator:{name}"]) for k, name in enumerate(names) if f"generator:{name}" in kinds]


def seen_as(session, variables):
    """Positions of the outputs that are to be viewed in another dtype, with that dtype.

    Complex variables come as pairs. 64-bit integers come as C's long long: where NumPy's int64 is C's long, NumPy
    and code compiled by PyTensor take it for another type, of the same size.
    """
    wide = {"tensor(int64)": np.dtype("int64"), "tensor(uint64)": np.dtype("uint64")}
    seen = [(i, wide[o.type]) for i, o in enumerate(session.get_outputs()) if o.type in wide]
    return seen + [(i, np.dtype(v.type.dtype)) for i, v in enumerate(variables) if is_complex(v)]


def native(results, seen):
    """The results, viewed in the dtypes of ``seen_as``. No data are copied."""
    for i, dtype in seen:
        if dtype.kind == "c":  # of complex128, a model of --float32 gives pairs of float32
            results[i] = results[i].view(np.result_type(results[i], np.complex64))[..., 0]
        else:
            results[i] = results[i].view(dtype)
    return results


INDEX = re.compile(
    r"out of (data )?bounds|invalid index found|invalid indice|indices element out of|out of range value in index"
    r"|'indices' shape should have values within bounds", re.I,
)  # fmt: skip
GUARD = re.compile(r"cannot be less than -1, got -2")
FAILING = re.compile(r"cannot be less than -1, got -\d")  # lengths of a check that fails on purpose: -2, or a multiple
PRODUCT = re.compile(r"MatMul dimension mismatch|GEMM: Dimension mismatch", re.I)
ARGMAX = re.compile(r"running Arg(Max|Min) node")  # it fails for no other reason
INVALID = re.compile(
    r"invalid dimensions for input: (.*) for the following indices\s+index: (\d+) Got: (\d+) Expected: (\d+)"
)
BROADCAST = (
    "Runtime broadcasting not allowed. Lengths that must be equal differ, and only dimensions whose "
    "type says that they are 1 are stretched"
)
# Checks in a model, by the names that ptgc gives their nodes, and the exception that NumPy raises there.
CHECKS = {
    "the reduced axes must not be empty": (
        ValueError, "zero-size array to a reduction that has no identity"),
    "the exponents of integers must not be negative": (
        ValueError, "Integers to negative integer powers are not allowed."),
    "the value must fit the place that it is put at": (
        ValueError, "could not broadcast the value to the shape of the place that it is put or added at"),
    "a length beside -1 must not be 0": (
        ValueError, "cannot reshape an array to a shape with a length of 0 and one to find"),
    "a matrix must not be singular": (np.linalg.LinAlgError, "Singular matrix"),
    "Matrix is not positive definite": (np.linalg.LinAlgError, "Matrix is not positive definite"),
    "the offset's dtype must hold the lengths": (
        OverflowError, "Python integer out of bounds for the dtype of the offset"),
    "lengths must be the same for all items of a batch": (
        ValueError, "could not broadcast: the lengths of results must be the same for all items of a batch"),
    "the step of a slice must not be 0": (ValueError, "slice step cannot be zero"),
    "an ARange must have a number of items": (
        ValueError, "Maximum allowed size exceeded: there is no number of items from start to stop by step"),
    "numbers of repeats must not be negative": (ValueError, "repeats may not contain negative values."),
    "index arrays must broadcast together": (
        IndexError, "shape mismatch: indexing arrays could not be broadcast together"),
}  # fmt: skip
SHAPES = re.compile(r"Input shape:\{([-\d,]*)\}, requested shape:\{([-\d,]*)\}")
NODE = re.compile(r"running (\S+) node\. Name:'(.*?)'(?= Status Message)")


def check_error(words, where):
    """The exception for a check of these words, which ptgc wrote; None: they say nothing that is known."""
    for name, (kind, what) in CHECKS.items():
        if words.startswith(name):
            return kind(what + where)
    if words.startswith("assertion failed: "):  # an Assert of the text
        return ValueError(words + where)
    return None


def wrong_length(name, axis, got, expected) -> str:
    what = f"Input dimension mismatch: input {name!r} has length {got} in dimension {axis}, expected {expected}"
    return what + (f". {BROADCAST}" if "1" in (str(got), str(expected)) else "")


def runtime_error(error, place=None):
    """The exception that NumPy would raise where a run of ONNX Runtime failed; the variable that could not be
    computed, or None; and the name of the input that has a wrong length, or "".

    ``place`` gives the .ptg line and the variable for the name of an ONNX node.
    """
    text = str(error)
    found = NODE.search(text)
    line, variable = place(found[2]) if found and place else ("", None)
    where = f"\n  in the line: {line}" if line else ""
    for inner in NODE.finditer(text):  # of a node in the body of a loop or branch, those around it come first
        found = inner
    if found and (error := check_error(found[2], where)):
        return error, variable, ""
    if found and found[2].startswith("Reshape: "):  # its node says of which sizes the lengths are made
        shapes = SHAPES.search(text)
        what = f"cannot reshape array of shape ({shapes[1]}) into shape ({shapes[2]})" if shapes else "cannot reshape array"
        return ValueError(f"{what}: {found[2]}{where}"), variable, ""
    if found and " must be " in found[2]:  # a check of lengths: the name of its node says what must hold
        return ValueError(f"{found[2]}. {BROADCAST}{where}"), variable, ""
    if found and " " in found[2] and (FAILING.search(text) or INDEX.search(text) or "_rv{" in line):
        return ValueError(found[2] + where), variable, ""  # NumPy's message about arguments, as of a draw
    if GUARD.search(text):
        return ValueError(f"{BROADCAST}{where}"), variable, ""
    if ARGMAX.search(text):
        return ValueError(f"zero-size array to a reduction that has no identity{where}"), variable, ""
    if PRODUCT.search(text):
        return ValueError(f"matrix product: the lengths that it adds along differ{where}"), variable, ""
    if found := INVALID.search(text):
        name, axis, got, expected = found.groups()
        return ValueError(wrong_length(name, axis, got, expected) + where), None, name
    if INDEX.search(text):
        found = re.search(r"(?:idx=|index = |indice = |index )(-?\d+)", text)
        what = f"index {found[1]} is out of bounds" if found else "index out of bounds"
        return IndexError(what + where), variable, ""
    if re.search(r"bad_alloc|failed to allocate|allocate memory", text, re.I):
        return MemoryError(f"ONNX Runtime could not allocate memory{where}"), variable, ""
    return ValueError(f"the graph cannot be computed for these inputs: {summary(text)}{where}"), variable, ""


def summary(text):
    """ONNX Runtime's message without its file names and the generated names of nodes."""
    text = re.sub(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ", "", text)
    text = re.sub(NODE.pattern + r".*?Status Message: ", r"\1: ", text, flags=re.S)
    text = re.sub(r"(Non-zero status code returned while )", "", text)
    text = re.sub(r"/\S+?\.(cc|h):\d+ .*?(?:\)|\]) ", "", text)
    text = re.sub(r"\[ShapeInferenceError\] ", "", text)
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[0].strip()[:300] if lines else "unknown error"


def arguments(names, args, named, how: Mapping[str, str] | None = None) -> dict:
    """Values by the names of the inputs. TypeError unless each input has one value. how: {input: how to give it}."""
    if len(args) == 1 and isinstance(args[0], Mapping):
        raise TypeError(
            f"values by name are given as f(**values), where f is called with a {type(args[0]).__name__}. The names of "
            f"the inputs: {', '.join(names)}. Of ArviZ's draws: values = {{name: np.concatenate(posterior[name].values) "
            "for name in posterior}, with chains and draws along one axis"
        )
    if len(args) > len(names):
        raise TypeError(f"the model has {len(names)} inputs but {len(args)} are given")
    feed = dict(zip(names, args))
    for name, value in named.items():
        if name in feed or name not in names:
            raise TypeError(f"input {name!r} is given twice" if name in feed else no_such("there is no input", name, names))
        feed[name] = value
    if missing := [name for name in names if name not in feed]:
        raise TypeError(f"missing input {missing[0]!r}{(how or {}).get(missing[0], '')}")
    return feed


def numpy_dtype(runtime_type: str) -> np.dtype | None:
    """NumPy's dtype for ONNX Runtime's "tensor(double)"; None if NumPy has none."""
    name = runtime_type.removeprefix("tensor(").removesuffix(")")
    name = {"float": "float32", "double": "float64"}.get(name, name)  # the others have NumPy's names
    return np.dtype(name) if hasattr(np, name) else None


def native_order(array) -> np.ndarray:
    """The array in this machine's byte order, which ONNX Runtime assumes."""
    array = np.asarray(array)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def run_session(session, outputs, feed, place=None):
    """Runs the session. Errors are those that NumPy would raise, not ONNX Runtime's."""
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
