"""Files that a stranger can use: PyTensor graphs and compiled functions as ONNX models."""

import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.traversal import graph_inputs

from ptgc import _lib
from ptgc._printer import print_graph
from ptgc.linker import ONNX
from ptgc.runtime import make_session


@dataclass
class Exported:
    """A model: its bytes, the .ptg text it was made from, its inputs and outputs by name."""

    model: bytes
    text: str
    inputs: list[str]
    outputs: list[str]
    external: bytes = b""
    warnings: list = field(default_factory=list)
    graph: tuple = ()
    lines: dict = field(default_factory=dict)

    def session(self, options=None, providers=None):
        """A new onnxruntime.InferenceSession of the model."""
        return make_session(self, options, providers)

    def __call__(self, *args, **named):
        """Runs the model on values in the order of the inputs, or by name."""
        feed = {**dict(zip(self.inputs, args)), **named}
        return self.session().run(self.outputs, {k: np.asarray(v) for k, v in feed.items()})

    def verify(self, values, *, rtol=1e-9, atol=0.0):
        """Compares with PyTensor's own evaluation at ``values`` (a list or a dict by name).

        Dtypes and shapes must be the same and values close. AssertionError names the first output
        that differs, its element, and its line of the text.
        """
        import pytensor

        inputs, outputs = self.graph
        if isinstance(values, dict):
            values = [values[name] for name in self.inputs]
        values = [np.asarray(v, dtype=i.type.dtype) for v, i in zip(values, inputs, strict=True)]
        expected = pytensor.function(inputs, outputs, mode="FAST_COMPILE", on_unused_input="ignore")(*values)
        for k, (name, got, want) in enumerate(zip(self.outputs, self(*values), expected, strict=True)):
            compare(name, np.asarray(got), np.asarray(want), rtol, atol, self.place(outputs[k], name))
        return True

    def place(self, variable, name):
        for number, line in enumerate(self.text.splitlines(), 1):
            if line.strip().startswith(f"{name} =") or line.strip().startswith(f"`{name}` ="):
                return f"line {number}: {line.strip()}"
        return ""


def compare(name, got, want, rtol, atol, place):
    where = f" ({place})" if place else ""
    if got.dtype != want.dtype:
        raise AssertionError(f"{name} is {got.dtype}, PyTensor gives {want.dtype}{where}")
    if got.shape != want.shape:
        raise AssertionError(f"{name} has shape {got.shape}, PyTensor gives {want.shape}{where}")
    same = np.isclose(got, want, rtol=rtol, atol=atol, equal_nan=True) if got.dtype.kind in "fc" else got == want
    if not np.all(same):
        at = tuple(int(i) for i in np.argwhere(~np.atleast_1d(same))[0])[: got.ndim]
        raise AssertionError(f"{name}[{', '.join(map(str, at))}] is {got[at]!r}, PyTensor gives {want[at]!r}{where}")


def as_list(v):
    return list(v) if isinstance(v, list | tuple) else [v]


def split_inputs(inputs, outputs, given):
    """Shared variables the graph reads, which the caller did not list."""
    return [
        v for v in graph_inputs(outputs)
        if isinstance(v, SharedVariable) and v not in given
    ]  # fmt: skip


def compile_onnx(
    inputs,
    outputs,
    *,
    opset_version=18,
    optimize=True,
    model_name=None,
    doc_string=None,
    input_names=None,
    output_names=None,
    dynamic_dims=None,
    shared="initializer",
    target="ort-cpu",
    external_data=None,
):
    """Compiles the graph from ``inputs`` to ``outputs`` to an ONNX model in memory.

    dynamic_dims: {variable or its name: {axis: "name"}} names dims of unknown length; the same name
    is the same length. shared: "initializer" makes shared variables named constants of the model,
    "input" makes them inputs. external_data: file name for the weights, beside the model.
    """
    if shared not in ("initializer", "input"):
        raise ValueError(f"shared must be 'initializer' or 'input', not {shared!r}")
    inputs, outputs = as_list(inputs), as_list(outputs)
    shareds = split_inputs(inputs, outputs, inputs)
    graph_in = inputs + shareds
    fgraph = FunctionGraph(graph_in, outputs, clone=True)
    for new, old in zip(fgraph.outputs, outputs):
        new.name = new.name or old.name
    names = [v.name for v in fgraph.outputs]
    if optimize:
        ONNX.optimizer.rewrite(fgraph)
    new_inputs = fgraph.inputs
    constants = {}
    if shared == "initializer":
        for v, old in zip(new_inputs[len(inputs) :], shareds):
            constants[v] = np.asarray(old.get_value(borrow=True))
    listed = [v for v in new_inputs if v not in constants]
    dims = dims_of(dynamic_dims, inputs, new_inputs)
    text = print_graph(
        listed, fgraph.outputs, name=model_name or "main", input_names=input_names,
        output_names=output_names, dims=dims, constants=constants, wanted_names=names,
    )  # fmt: skip
    compiled = _lib.compile_text(
        text.text, tensors=text.tensors, opset=opset_version, target=target, file_name=f"{model_name or 'main'}.ptg",
        model_name=model_name, doc_string=doc_string, external_name=external_data,
        external_threshold=1024 if external_data else 0, flags=["Wno-unused"],
    )  # fmt: skip
    graph = inputs + ([] if shared == "initializer" else shareds), outputs
    return Exported(
        compiled.model, text.text, text.inputs, text.outputs, compiled.external, compiled.warnings, graph, text.lines
    )


def dims_of(dynamic_dims, old, new):
    out = {}
    for key, axes in (dynamic_dims or {}).items():
        hits = [n for o, n in zip(old, new) if o is key or (isinstance(key, str) and o.name == key)]
        if not hits:
            raise ValueError(f"dynamic_dims names {key!r}, which is no input")
        out[hits[0]] = dict(axes) if isinstance(axes, dict) else dict(enumerate(axes))
    return out


def write(path, data):
    """All or nothing: a temporary file that is renamed."""
    path = Path(path)
    fd, temporary = tempfile.mkstemp(dir=path.parent or ".", prefix=f".{path.name}.")
    try:
        with os.fdopen(fd, "wb") as f:
            f.write(data)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def export_onnx(inputs, outputs, file, **options):
    """Writes the graph as an ONNX file; options as of ``compile_onnx``. The result tells what is in it."""
    exported = compile_onnx(inputs, outputs, **options)
    if exported.external:
        write(Path(file).parent / options["external_data"], exported.external)
    write(file, exported.model)
    return exported


def export_function_onnx(fn, file, **options):
    """Writes a function compiled by ``pytensor.function`` in any mode. Updates of shared variables
    become further outputs when ``shared="input"``."""
    maker = fn.maker
    inputs = [i.variable for i in maker.inputs if not i.implicit]
    outputs = [o.variable for o in maker.outputs]
    return export_onnx(inputs, outputs, file, **options)
