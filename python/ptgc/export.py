"""PyTensor graphs and compiled functions as ONNX models and as .ptg text, in memory and in files."""

import os
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytensor
from pytensor.compile.builders import OpFromGraph
from pytensor.compile.executor import Function
from pytensor.compile.rebuild import UnusedInputError
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.op import Op
from pytensor.graph.traversal import ancestors, graph_inputs
from pytensor.scan.op import Scan
from pytensor.tensor.basic import MakeVector
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.random.op import RNGConsumerOp

from ptgc import _lib
from ptgc._batch import expected_lengths, moved_axes, vectorized
from ptgc._cc import CFLAGS
from ptgc._compile import compile_graph
from ptgc._data import SIZE_NAME, Which
from ptgc._files import write_all, write_model
from ptgc._model import is_model, log_density
from ptgc._ops import first_generator, is_generator, is_tensor, is_value, unfused
from ptgc._printer import Text, no_type, print_graph
from ptgc._random import Generator, generator_to_words, kind_of, words_given, words_to_generator
from ptgc._shared import shared_library
from ptgc._values import ROUNDED, SAME, as_input, input_types
from ptgc.errors import Problem, UnsupportedError, list_of_texts
from ptgc.linker import ONNX, rewritten
from ptgc.native import MODEL, NativeFunction
from ptgc.runtime import arguments, generators_of, is_complex, make_session, native, node_line, pairs, run_session, seen_as

__all__ = ["Exported", "compile_native", "compile_onnx", "export_c", "export_function_onnx", "export_onnx", "save_ptg", "to_ptg"]


def as_list(v: Any) -> list:
    return list(v) if isinstance(v, list | tuple) else [v]


def graph_of(inputs, outputs) -> tuple[list, list, dict]:
    """Inputs, outputs, and {variable: value} for the shared variables that are not among the inputs."""
    if isinstance(inputs, Function):
        inputs = inputs.maker.fgraph
    if isinstance(inputs, FunctionGraph):
        return list(inputs.inputs), list(inputs.outputs), {}
    inputs, outputs = as_list(inputs), as_list(outputs)
    given = set(inputs)
    shared = [v for v in graph_inputs(outputs) if isinstance(v, SharedVariable) and v not in given]
    values = {v: v.get_value(borrow=True) for v in shared}
    return inputs, outputs, {v: d if is_value(v) else None for v, d in values.items()}


# Those of compile_onnx that mean something for C
OPTIONS_OF_C = {
    "optimize", "model_name", "input_names", "output_names", "dynamic_dims", "shared", "math", "float32", "values",
    "batch", "bit_generator", "strip", "flags", "on_unused_input", "external_data", "external_name", "header_name",
}  # fmt: skip


@dataclass(repr=False)
class Exported:
    """A model: its bytes, the .ptg text that was compiled, the names of its inputs and outputs."""

    ARRAYS: ClassVar[int] = SAME  # what calls do with arrays of another dtype than the input's

    model: bytes
    text: str
    inputs: list[str]
    outputs: list[str]
    external: bytes | memoryview = b""  # the content of the file external_name, if the model has one
    external_name: str = ""
    warnings: list = field(default_factory=list)
    graph: tuple[list, list] = ((), ())  # the PyTensor variables
    printed: Text | None = None
    fgraph: FunctionGraph | None = None  # the graph that was printed, after its rewrites
    target: dict = field(default_factory=dict)  # the options opset, target and math
    constants: dict = field(default_factory=dict)  # {variable of fgraph: value} of the initializers
    kinds: dict = field(default_factory=dict)  # {variable of graph or fgraph: class of the bit generator}
    least_runtime: int = 0  # the least release of ONNX Runtime that it runs on: 29 is 1.29; 0: unknown
    header: bytes = b""  # of a model that is C

    def __repr__(self) -> str:
        more = f" and {len(self.external)} in {self.external_name!r}" if self.external else ""
        return f"Exported({', '.join(self.inputs)} -> {', '.join(self.outputs)}; {len(self.model)} bytes{more})"

    def session(self, options: Any = None, providers: Sequence[str] | None = None):
        """A new onnxruntime.InferenceSession of the model."""
        return make_session(self, options, providers)

    def own_session(self):
        """The session that calls use."""
        return self.session()

    def __call__(self, *args, **named) -> list[np.ndarray]:
        """Runs the model on values in the order of the inputs, or by name. Numbers and lists of Python are taken where
        the input's dtype holds them; arrays are not converted, but float64 for a model of float32=True. Generators may
        be given as such or as words; those that are results are new ones."""
        given, session, outputs = arguments(self.inputs, args, named), self.own_session(), self.graph[1]
        feed = self.feed_of(session, given)
        seen = [(k, dtype) for k, dtype in seen_as(session, outputs) if k < len(self.outputs)]  # not the next states
        results = native(run_session(session, self.outputs, feed, self.place), seen)
        for k, kind in generators_of(session, self.outputs):
            source = first_generator(outputs[k]) if outputs else None
            like = given[self.inputs[self.graph[0].index(source)]] if source in self.graph[0] else None
            results[k] = words_to_generator(results[k], kind, like if isinstance(like, Generator) else None)
        return results

    def feed_of(self, session, given: Mapping) -> dict[str, np.ndarray]:
        """The arguments as the arrays that the session takes. TypeError names an input whose value is none for it."""
        kinds = {self.inputs[k]: kind for k, kind in generators_of(session, self.inputs)}
        real = {name for name, v in zip(self.inputs, self.graph[0]) if not is_complex(v)}
        types, how = input_types(session), ROUNDED if self.target.get("float32") else self.ARRAYS
        return {
            k: words_given(k, v, kinds[k]) if k in kinds else as_input(k, v, *types[k], how, k in real)
            for k, v in given.items()
        }  # fmt: skip

    def generators(self, seed: Any) -> dict[str, Generator]:
        """A new PCG64 for each input that is a generator, by its name, from one seed as PyMC seeds its generators."""
        return self.seeded([name for name, v in zip(self.inputs, self.graph[0]) if is_generator(v)], seed)

    @staticmethod
    def seeded(names: Sequence[str], seed: Any) -> dict[str, Generator]:
        sequences = np.random.SeedSequence(seed).spawn(len(names))
        return {name: np.random.default_rng(s) for name, s in zip(names, sequences)}

    def place(self, node: str) -> tuple[str, Variable | None]:
        """The line of the text that an ONNX node comes from, and None: the node's variable is not looked for."""
        line, _ = node_line(self.model, node)
        return self.printed.line(line).strip() if line and self.printed else "", None

    def verify(
        self, values: Sequence | Mapping, *, rtol: float | None = None, atol: float = 0.0
    ) -> "bool | dict[str, float]":
        """Compares the results with PyTensor's at ``values`` (a list, or a dict by name).

        Dtypes and shapes must be equal and values close. AssertionError names the first value of the graph that
        differs, its element, and its line of the text. rtol: None is 1e-9. A model of compile_onnx(..., float32=True)
        is compared with PyTensor's float64: the answer is {output: its largest error, relative to its largest number},
        and only errors beyond rtol are wrong, if one is given.
        """
        single = self.target.get("float32")
        rtol = 1e-9 if rtol is None and not single else rtol
        inputs, outputs = self.graph
        if isinstance(values, Mapping):
            values = [values[name] for name in self.inputs]
        if len(values) != len(inputs):
            raise ValueError(f"the model has {len(inputs)} inputs but {len(values)} values are given")
        values = [
            np.asarray(v, dtype=i.type.dtype) if not is_generator(i) else as_generator(v, self.kinds[i])
            for v, i in zip(values, inputs)
        ]
        stand_in = {i: i.type() for i in inputs if isinstance(i, SharedVariable)}
        expected = in_python([stand_in.get(i, i) for i in inputs], outputs, stand_in, "fast_compile")(*values)
        got = self(*values)
        if single:
            errors = {name: error_of(g, w) for name, g, w in zip(self.outputs, got, expected, strict=True)}
            if rtol is not None and (wrong := [f"{n} is off by {e:.2g}" for n, e in errors.items() if not e <= rtol]):
                raise AssertionError(f"in float32, {', '.join(wrong)} of its largest number")
            return errors
        wrong = [
            difference(name, g, w, rtol, atol) for name, g, w in zip(self.outputs, got, expected, strict=True)
        ]
        wrong = [text for text in wrong if text]
        if wrong:
            raise AssertionError(self.first_difference(values, rtol, atol) or wrong[0])
        return True

    def first_difference(self, values, rtol, atol) -> str:
        """Computes every value of the graph on ONNX Runtime and in Python, and describes the first that differs."""
        fgraph, printed = self.fgraph, self.printed
        places = {}
        for number, line in printed.statements:
            for v in line.defines:
                if v.owner is not None and v in fgraph.variables and is_tensor(v):
                    places.setdefault(v, number)
        variables = list(places)
        rest = [v for v in fgraph.inputs if v not in self.constants]
        text = print_graph(
            rest, variables, input_names=[f"in{k}" for k in range(len(rest))],
            output_names=[f"t{k}" for k in range(len(variables))], constants=self.constants,
            generators=self.kinds,
        )  # fmt: skip
        model = _lib.compile_text(
            text.text, tensors=text.tensors, external_name="weights", flags=_lib.PRINTED, **self.target
        )
        names = [f"t{k}" for k in range(len(variables))]
        feed = {f"in{k}": plain(v) for k, v in enumerate(values)}
        session = make_session(model)
        got = native(session.run(names, feed), seen_as(session, variables))
        f = in_python(rest, variables, list(self.constants.items()), None)
        for v, g, w in zip(variables, got, f(*values), strict=True):
            name = v.name or "a value"
            if text := difference(name, g, np.asarray(w), rtol, atol):
                return f"{text}\n  in line {places[v]}: {printed.line(places[v]).strip()}"
        return ""


def in_python(inputs: list, outputs: list, givens: Any, optimizer: str | None) -> Callable:
    """A function in PyTensor's Python mode. Nothing is compiled: each op of C takes seconds, for one call."""
    import pytensor
    from pytensor.compile.mode import Mode

    def call(*values):  # a Scan makes its inner function when it is first called
        with pytensor.config.change_flags(cxx=""):
            mode = Mode(linker="py", optimizer=optimizer)
            f = pytensor.function(
                inputs, outputs, mode=mode, givens=givens, on_unused_input="ignore", no_default_updates=True
            )
            return f(*values)

    return call


def plain(value: Any) -> np.ndarray:
    """A value of PyTensor's as ONNX Runtime takes it."""
    array = generator_to_words(value) if isinstance(value, Generator) else np.asarray(value)
    return pairs(array) if array.dtype.kind == "c" else array


def as_generator(value, kind) -> Generator:
    return value if isinstance(value, Generator) else words_to_generator(value, kind)


def error_of(got, want) -> float:
    """The largest error relative to the largest number; infinite where shapes, NaN, infinities or integers differ."""
    if isinstance(want, Generator):
        got, want = generator_to_words(got), generator_to_words(want)
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape:
        return np.inf
    if want.dtype.kind not in "fc":
        return 0.0 if np.array_equal(got, want) else np.inf
    finite = np.isfinite(want)
    if not (np.array_equal(np.isfinite(got), finite) and np.array_equal(got[~finite], want[~finite], equal_nan=True)):
        return np.inf
    if not finite.any():
        return 0.0
    return float(np.max(np.abs(got[finite] - want[finite])) / (np.max(np.abs(want[finite])) or 1))


def difference(name, got, want, rtol, atol) -> str:
    """Describes the first difference between two arrays or generators; "" if they agree."""
    if isinstance(want, Generator):
        got, want = generator_to_words(got), generator_to_words(want)
    got, want = np.asarray(got), np.asarray(want)
    if got.dtype != want.dtype:
        return f"{name} is {got.dtype}, PyTensor gives {want.dtype}"
    if got.shape != want.shape:
        return f"{name} has shape {got.shape}, PyTensor gives {want.shape}"
    same = np.isclose(got, want, rtol=rtol, atol=atol, equal_nan=True) if got.dtype.kind in "fc" else got == want
    if np.all(same):
        return ""
    at = tuple(int(i) for i in np.argwhere(~np.asarray(same))[0]) if got.ndim else ()
    index = f"[{', '.join(map(str, at))}]" if at else ""
    return f"{name}{index} is {got[at]!r}, PyTensor gives {want[at]!r}"


def named(names, variables, what) -> list[str] | None:
    """The names that the user gave, one for each variable, or ValueError."""
    if names is None:
        return None
    if isinstance(names, str) or len(names := list(names)) != len(variables):
        raise ValueError(f"{what}: {len(variables)} names are needed")
    for name in names:
        if not isinstance(name, str) or not name or re.search(r"[\x00-\x1f]", name):
            raise ValueError(f"{what}: {name!r} is not a name")
    if len(set(names)) < len(names):
        twice = next(n for n in names if names.count(n) > 1)
        raise ValueError(f"{what}: the name {twice!r} is given twice")
    return names


def compile_onnx(
    inputs: Any,
    outputs: Any,
    *,
    opset: int | None = None,
    optimize: bool = True,
    model_name: str | None = None,
    doc_string: str | None = None,
    model_version: int = 1,
    metadata: Mapping[str, str] | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    dynamic_dims: Mapping | None = None,
    shared: str = "initializer",
    target: str = "ort-cpu",
    math: str | None = None,
    float32: bool = False,
    external_data: str | bool | None = None,
    external_name: str = "weights",
    values: Mapping | None = None,
    batch: str | Mapping | None = None,
    bit_generator: str | Mapping | None = None,
    strip: bool = False,
    flags: Sequence[str] = (),
    on_unused_input: str | None = None,
    opset_version: int | None = None,
) -> Exported:
    """Compiles the graph from ``inputs`` to ``outputs`` to an ONNX model in memory.

    - opset: 13 to 26; None: 18. opset_version is another name for it.
    - optimize: False leaves out the rewrites of ONNX mode.
    - dynamic_dims: {variable or its name: {axis: "name"}} names dims of unknown length. Dims of one name have one
      length.
    - shared: "initializer" makes shared variables named constants of the model. "input" makes inputs of those that
      the graph reads.
    - target: "ort-cpu" for ONNX Runtime from 1.29 on, "ort-cpu:1.20" and the like for older releases, "ort-web",
      "portable" or "onnx".
    - math: what results promise: "exact", "standard" (None) or "native", as in doc/language.md.
    - float32: True computes in float32 what is float64 in the graph, inputs and weights included. verify() then
      returns how far each output is off.
    - external_data: the name of a file beside the model, which gets the weights. The last * in the name becomes a
      hash of the weights. A model over 2 GB always has such a file. Without external_data its name is
      external_name.
    - values: {shared variable: value} to use instead of the variable's own value.
    - batch: "chains" gives all inputs an open leading dim of that name, and computes the graph for each item of it.
      {input or its name: "chains"} does so for these inputs only, as in the README. The number of items is open;
      about 64 are expected.
    - bit_generator: the kind of the inputs that are random generators, "PCG64" (None), "PCG64DXSM" or "Philox", or
      {input or its name: kind}. A shared generator has the kind of its value.
    - metadata: {key: text} for programs that read the model.
    - strip: True leaves out the places in the text that nodes come from.
    - flags: those of the command, ["fno-cse", "Werror", "O0"].
    - on_unused_input: as in pytensor.function, "raise" (None, unless PyTensor's config says otherwise), "warn" or
      "ignore".
    """
    return make_exported(inputs, outputs, locals())


def make_exported(
    inputs: Any, outputs: Any, o: Mapping, code: bool = False, states: Mapping[Variable, tuple] | None = None
) -> Exported:
    """The graph with the options of ``compile_onnx``, all of them; as C, with those of OPTIONS_OF_C. states: {variable:
    (its first value, the variable that is its next one)} for inputs that need not be given."""
    refuse_model(inputs)
    opset, batch, external_data = (o[name] for name in ("opset", "batch", "external_data"))
    if opset is not None and o["opset_version"] is not None and opset != o["opset_version"]:
        raise ValueError(f"opset is {opset} but opset_version, another name for it, is {o['opset_version']}")
    if o["shared"] not in ("initializer", "input"):
        raise ValueError(f"shared must be 'initializer' or 'input', not {o['shared']!r}")
    inputs, outputs = as_list(inputs), as_list(outputs)
    for v in [*inputs, *outputs]:
        if not isinstance(v, Variable):
            raise TypeError(f"expected a PyTensor variable, got {v!r}")
    if twice := [v for k, v in enumerate(inputs) if v in inputs[:k]]:
        raise ValueError(f"the input {twice[0]} is given twice")
    check_used(inputs, outputs, o["on_unused_input"])
    if external_data is True:
        external_data = o["external_name"]
    dynamic_dims = o["dynamic_dims"]
    if batch is not None:
        old = inputs
        inputs, outputs, leading = vectorized(old, outputs, batch)
        dynamic_dims = moved_axes(dynamic_dims, old, inputs, leading)
    states = states or {}
    held, following = list(states), [v for _, v in states.values()]
    _, _, constants = graph_of([*inputs, *held], [*outputs, *following])
    constants.update((v, value) for v, value in (o["values"] or {}).items() if v not in inputs)
    extra = list(constants)
    fgraph = FunctionGraph([*inputs, *extra, *held], [*outputs, *following], clone=True)
    new_inputs, names = list(fgraph.inputs), [v.name for v in outputs]
    if o["optimize"]:
        ONNX.optimizer.rewrite(fgraph)
    kept, all_inputs, listed = {}, inputs, new_inputs[: len(inputs)]
    # of some, such as a generator that nothing draws from any more, the rewrites have left nothing over
    rest = [(v, new) for v, new in zip(extra, new_inputs[len(inputs) :]) if fgraph.clients[new]]
    if o["shared"] == "initializer":
        kept = {new: constants[v] for v, new in rest}
    else:
        all_inputs, listed = [*inputs, *(v for v, _ in rest)], [*listed, *(new for _, new in rest)]
    kinds = kinds_of(o["bit_generator"], [*inputs, *extra], new_inputs, constants)
    options = {
        "math": o["math"], "float32": o["float32"], "expected": None if batch is None else expected_lengths(leading),
    }  # fmt: skip
    firsts, nexts = [first for first, _ in states.values()], fgraph.outputs[len(outputs) :]
    new_states = dict(zip(new_inputs[len(inputs) + len(extra) :], zip(firsts, nexts)))
    options |= {"code": True} if code else {"opset": opset or o["opset_version"], "target": o["target"]}
    model_name = o["model_name"]
    text, compiled = compile_graph(
        listed, fgraph.outputs[: len(outputs)],
        {
            "name": model_name or "main", "input_names": named(o["input_names"], listed, "input_names"),
            "output_names": named(o["output_names"], outputs, "output_names"),
            "dims": dims_of(dynamic_dims, all_inputs, listed), "constants": kept, "wanted_names": names,
            "generators": kinds, "states": new_states,
        },
        file_name=f"{model_name or 'main'}.ptg", model_name=model_name, doc_string=o["doc_string"],
        model_version=o["model_version"], meta=[f"{key}={value}" for key, value in (o["metadata"] or {}).items()],
        external_name=external_data or o["external_name"], external_threshold=1024 if external_data else 0,
        strip=o["strip"], flags=[*_lib.PRINTED, *list_of_texts("flags", o["flags"])], header_name=o.get("header_name"), **options,
    )  # fmt: skip
    if others := [v for v in inputs if not is_value(v)]:  # nothing uses them, or they were refused above
        raise UnsupportedError([Problem(f"an input of type {v.type}", None, v, no_type(v)) for v in others])
    return Exported(
        compiled.model, text.text, text.inputs, text.outputs, compiled.external, compiled.external_name,
        compiled.warnings, (all_inputs, outputs), text, fgraph, options, kept, kinds, compiled.least_runtime,
        compiled.header,
    )  # fmt: skip


def refuse_model(inputs: Any) -> None:
    """A PyMC model is no list of variables: says what to write."""
    if is_model(inputs):
        raise TypeError(
            "a model of PyMC has several graphs. Its log density: export_onnx(model.value_vars, [model.logp()], file), "
            "where model.value_vars are the unconstrained values; a sampler of its posterior: export_nuts(model, file); "
            "predictions: export_predictive(model, file)"
        )


def check_used(inputs: Sequence[Variable], outputs: Sequence[Variable], on_unused_input: str | None) -> None:
    """As pytensor.function does it, and with its default (config.on_unused_input)."""
    how = pytensor.config.on_unused_input if on_unused_input is None else on_unused_input
    if how not in ("raise", "warn", "ignore"):
        raise ValueError(f"on_unused_input must be 'raise', 'warn' or 'ignore', not {how!r}")
    read = set(ancestors(outputs, blockers=inputs))
    unused = [v.name or str(v) for v in inputs if v not in read]
    if how == "ignore" or not unused:
        return
    text = f"no output reads the input{'s' * (len(unused) > 1)} {', '.join(unused)}"
    drawn = {v.name for v in read if v.owner is not None and isinstance(v.owner.op, RNGConsumerOp) and v.name}
    if drawn:
        text += (
            f". The outputs draw {', '.join(sorted(drawn))}: if the inputs are values of a PyMC model's variables, put "
            "them in place of the draws first, outputs = model.replace_rvs_by_values(outputs)"
        )
    text += ". on_unused_input='ignore' makes a model with inputs that nothing reads"
    if how == "raise":
        raise UnusedInputError(text)
    warnings.warn(text, stacklevel=4)


def kinds_of(bit_generator, old, new, constants) -> dict:
    """{input, as the user's and as printed: class of its bit generator} for those that are generators."""
    found = {}
    if not isinstance(bit_generator, Mapping):
        bit_generator = {v: bit_generator for v in old if is_generator(v) and bit_generator is not None}
    else:
        for key in bit_generator:
            if not any(is_generator(v) and key in (v, v.name) for v in old):
                raise ValueError(f"bit_generator names {key!r}, which is not a generator among the inputs")
    for v, n in zip(old, new):
        if is_generator(v):
            own = v.get_value(borrow=True) if isinstance(v, SharedVariable) else "PCG64"
            asked = bit_generator.get(v, bit_generator.get(v.name))
            found[v] = found[n] = kind_of(constants.get(v) or (own if asked is None else asked))
    return found


def dims_of(dynamic_dims, old, new):
    """{printed input: {axis: name}} for ``dynamic_dims``; ``new`` are the printed inputs, ``old`` the user's."""
    out = {}
    for key, axes in (dynamic_dims or {}).items():
        hits = [(n, o) for o, n in zip(old, new) if o is key or (isinstance(key, str) and o.name == key)]
        if not hits:
            raise ValueError(f"dynamic_dims names {key!r}, which is not an input")
        axes = dict(axes) if isinstance(axes, Mapping) else dict(enumerate(axes))
        for n, o in hits:
            for axis, name in axes.items():
                if not isinstance(axis, int) or not -o.type.ndim <= axis < o.type.ndim:
                    raise ValueError(f"dynamic_dims: {key!r} has no axis {axis!r}")
                if name is not None and not (isinstance(name, str) and SIZE_NAME.match(name)):
                    raise ValueError(f"dynamic_dims: {name!r} is not a name for a dim")
                if name is not None and o.type.shape[axis] is not None:
                    raise ValueError(f"dynamic_dims: axis {axis} of {key!r} has the length {o.type.shape[axis]}")
            out[n] = {axis % o.type.ndim: name for axis, name in axes.items() if name is not None}
    return out


def takes_options_of(other: Callable) -> Callable:
    """For a function that hands its ``**options`` to the other: help() and editors show them by name."""
    options = [p for p in signature(other).parameters.values() if p.kind is Parameter.KEYWORD_ONLY]

    def decorate(function: Callable) -> Callable:
        shown = signature(function)
        own = [p for p in shown.parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
        more = [p for p in options if p.name not in shown.parameters]
        function.__signature__ = shown.replace(parameters=[*own, *more])  # type: ignore[attr-defined]
        return function

    return decorate


@takes_options_of(compile_onnx)
def export_onnx(inputs: Any, outputs: Any, file: str | os.PathLike | None = None, **options: Any) -> Exported:
    """Writes the graph as an ONNX file, with the options of ``compile_onnx``, and returns what is in it.

    ``external_data=True`` names the data file after the model and what is in it, as ``model.onnx-<hash>.data``, so
    that no model finds the weights of another version of it. A name that is given has no such promise.
    """
    refuse_model(inputs)
    if file is None:
        raise TypeError("export_onnx(inputs, outputs, file): the file is missing")
    return write_exported(lambda **o: compile_onnx(inputs, outputs, **o), file, options)


def code_of(inputs: Any, outputs: Any, options: dict) -> Exported:
    """The graph as C. TypeError: an option of ONNX models."""
    for name in options:
        if name not in OPTIONS_OF_C:
            raise TypeError(f"unknown option {name!r} of C: expected {', '.join(sorted(OPTIONS_OF_C))}")
    return make_exported(inputs, outputs, usual_options() | options, code=True)


def usual_options() -> dict[str, Any]:
    """The options of ``compile_onnx`` by their names."""
    return {p.name: p.default for p in signature(compile_onnx).parameters.values() if p.kind is Parameter.KEYWORD_ONLY}


def export_c(
    inputs: Any, outputs: Any, file: str | os.PathLike | None = None, *, cflags: Sequence[str] = (), **options: Any
) -> Exported:
    """Writes the graph as a file of C, ``name.c``, or as a shared library, ``name.so``, and beside it the header for
    its callers, ``name.h``, as doc/native.md says.

    ``$CC`` or cc compiles a library, with ``cflags`` besides the flags that the C needs. ``("-march=native",)`` is
    faster, but only for machines like this one. ``ptgc.load`` reads the library. The options are ``model_name``,
    which all symbols begin with (None: the file's name), and those of ``compile_onnx`` that make sense for C:
    optimize, input_names, output_names, dynamic_dims, shared, math, float32, values, batch, bit_generator, strip,
    flags, external_data and on_unused_input. A library also takes ``metadata``.

    Weights of more than 1 MB lie in a file beside ``name.c``, which the caller maps; with ``external_data=True`` all
    of 1024 bytes and more, and with a name in a file of that name. A library has its weights in itself.
    """
    if file is None:
        raise TypeError("export_c(inputs, outputs, file): the file is missing")
    path = Path(file)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"no such directory: {path.parent}")
    if path.suffix not in (".c", ".so"):
        raise ValueError(
            f"the file of C is called {path.stem}.c, and a library {path.stem}.so, not {path.name}: the header is {path.stem}.h"
        )
    is_library, header = path.suffix == ".so", path.with_suffix(".h")
    options.setdefault("model_name", path.stem)
    options.setdefault("external_name", path.name + "-*.data")
    check_external_data(path, options)
    if is_library:
        metadata = options.pop("metadata", None)
        options["flags"] = [*list_of_texts("flags", options.get("flags")), "fentry"]
    elif cflags:
        raise TypeError("cflags are for a library, name.so")
    exported = code_of(inputs, outputs, options | {"header_name": header.name})
    content = exported.model
    if is_library:
        taken, given = complex_parts(exported, options)
        shown = {"complex_inputs": taken, "complex_results": [(k, str(d)) for k, d in given], "metadata": metadata or {}}
        content = shared_library(content, exported.header, header.name, exported.external, shown, list_of_texts("cflags", cflags))
        write_all([(header, exported.header), (path, content)])
    else:
        write_model(path, content, exported.external_name, exported.external, [(header, exported.header)])
    return exported


def complex_parts(exported: Exported, options: Mapping) -> tuple[dict[str, str], list[tuple[int, np.dtype]]]:
    """The dtypes of the parts of inputs that are complex, by name, and of results that are, with their positions."""
    inputs, outputs = exported.graph

    def part(v):
        return "float32" if v.type.dtype == "complex64" or options.get("float32") else "float64"

    taken = {name: part(v) for name, v in zip(exported.inputs, inputs) if is_complex(v)}
    return taken, [(k, np.dtype(v.type.dtype)) for k, v in enumerate(outputs) if is_complex(v)]


def compile_native(
    inputs: Any, outputs: Any, *, cflags: Sequence[str] = CFLAGS, **options: Any
) -> NativeFunction:
    """Compiles the graph to C, and the C with ``$CC`` or cc. The result is called on arrays.

    The machine code is kept in a cache, ``PTGC_CACHE`` or ``~/.cache/ptgc``, so that the next process finds it.
    cflags are flags for the compiler besides those that the C needs. The other options are those of ``export_c``,
    without ``model_name``.
    """
    options["flags"] = [*list_of_texts("flags", options.get("flags")), "fentry"]
    exported = code_of(inputs, outputs, options | {"model_name": MODEL})
    compiled = _lib.Compiled(exported.model, exported.external, exported.warnings, header=exported.header)
    return NativeFunction(compiled, exported.text, *complex_parts(exported, options), list_of_texts("cflags", cflags))


def check_external_data(path: Path, options: Mapping) -> None:
    name = options.get("external_data")
    taken = (path.name, path.with_suffix(".h").name) if path.suffix == ".c" else (path.name,)
    if name and name is not True and (Path(name).name != name or name in taken):
        raise ValueError(f"external_data must be the name of another file beside the model, not {name!r}")


def write_exported(compiled: Callable[..., Exported], file: str | os.PathLike, options: dict) -> Exported:
    """Writes the model that the function makes with the options, and the data file beside it if there is one."""
    path = Path(file)
    if path.suffix in (".c", ".h", ".so"):
        raise ValueError(f"an ONNX model cannot be called {path.name}: export_c, export_density and export_nuts write C")
    options.setdefault("external_name", path.name + "-*.data")
    check_external_data(path, options)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"no such directory: {path.parent}")
    exported = compiled(**options)
    write_model(path, exported.model, exported.external_name, exported.external)
    return exported


# Attributes that tell an op to write into its inputs
IN_PLACE = ("inplace", "destructive", "overwrite_a", "overwrite_b", "overwrite_c", "overwrite_x", "inplace_pattern")


def out_of_place(node: Apply) -> Op:
    """The op that computes the same without writing into its inputs."""
    op = node.op
    if type(op).__name__ == "JAXShapeTuple":
        return MakeVector(node.outputs[0].type.dtype)
    if isinstance(op, Scan):  # its steps may write into their arguments, whatever it does itself
        op = op.clone_with_inner_graph(FunctionGraph(*graph_out_of_place(op.fgraph.unfreeze()), clone=False))
    if not op.destroy_map:
        return op
    if isinstance(op, Elemwise):
        return Elemwise(op.scalar_op, {}, name=op.name, nfunc_spec=op.nfunc_spec)
    if isinstance(op, OpFromGraph):
        return OpFromGraph(*graph_out_of_place(op.fgraph), name=op.name)
    op = copy(op)
    op.destroy_map = {}
    for name in IN_PLACE:
        if getattr(op, name, None):
            setattr(op, name, type(getattr(op, name))())
    return op


def graph_out_of_place(fgraph: FunctionGraph) -> tuple[list, list]:
    """The inputs and outputs of the same graph, with ops that do not write into their inputs."""
    new = {v: v for v in fgraph.inputs}
    for node in fgraph.toposort():
        for part in unfused(node):
            results = [v.clone() for v in part.outputs]
            copied = Apply(out_of_place(part), [new.get(v, v) for v in part.inputs], results)
            copied.tag = copy(node.tag)
            new.update(zip(part.outputs, copied.outputs))
        new.update(zip(node.outputs, copied.outputs))
    return list(fgraph.inputs), [new.get(v, v) for v in fgraph.outputs]


def named_copy(v: Variable, name: str | None, taken: Sequence[Variable]) -> Variable:
    """The variable with this name; a copy of it if it is an input or has another name already, in ``taken``."""
    if v.owner is None or v in taken:
        v = v.copy()
    v.name = name
    return v


@takes_options_of(compile_onnx)
def export_function_onnx(fn: Any, file: str | os.PathLike, **options: Any) -> Exported:
    """Writes a function compiled by ``pytensor.function`` in any mode, with the options of ``compile_onnx``.

    Shared variables that the function updates are inputs of the model, and their next values are further outputs
    named ``<name>_next``. The option ``shared`` is about the other ones.
    """
    if not isinstance(fn, Function):
        raise TypeError(f"expected a function compiled by pytensor.function, got {type(fn).__name__}")
    specs, updates = fn.maker.inputs, fn.maker.fgraph.update_mapping or {}
    if updates and options.get("batch") is not None:
        name = specs[next(iter(updates.values()))].variable
        raise ValueError(f"batch: the function updates the shared variable {name}, which has one value for all points")
    variables, results = graph_out_of_place(fn.maker.fgraph)
    inputs, updated, values = [], [], {}
    for k, (spec, v, container) in enumerate(zip(specs, variables, fn.input_storage, strict=True)):
        if k in updates.values():
            updated.append(v)
        elif not spec.implicit or (fn.maker.fgraph.clients[v] and options.get("shared") == "input"):
            inputs.append(v)
        elif fn.maker.fgraph.clients[v]:
            values[v] = container.storage[0]
    outputs: list[Variable] = []
    for spec, v in zip(fn.maker.outputs, results):
        name = spec.variable.name
        outputs.append(named_copy(v, name, outputs) if name and v.owner is not None else v)
    for at, k in updates.items():
        outputs.append(named_copy(results[at], f"{specs[k].variable.name or 'shared'}_next", outputs))
    options.setdefault("on_unused_input", "ignore")  # PyTensor has looked, before its rewrites
    return export_onnx([*inputs, *updated], outputs, file, values=values, **options)


def to_ptg(
    inputs: Any, outputs: Any = None, *, name: str | None = None, types: bool = False, optimize: bool = False,
    gradient: bool = False, data: Which = None,
) -> str:  # fmt: skip
    """The text of any PyTensor graph, before or after rewriting, or of the log density of a PyMC model.

    ``inputs`` and ``outputs`` are variables or lists of them; a FunctionGraph or a compiled function stands for both.
    A model stands for its value variables and its log density, printed term by term; ``gradient`` adds the gradient.
    Its ``pm.Data`` are inputs, of any length; ``data="constants"`` writes their values, ``data="inputs"`` makes
    inputs of observed values too, and a list of names says which ones. Open lengths are called as PyMC's dims.
    ``types`` writes PyTensor's type with every name; ``optimize`` applies the rewrites of ONNX mode. Large constants
    and shared variables are written as ``file("name")``: ``save_ptg`` writes their files too.
    """
    given = graph_to_print(inputs, outputs, optimize, gradient, data)
    return print_graph(**given, name=name or "main", types=types).text


def graph_to_print(inputs, outputs, optimize, gradient, data) -> dict[str, Any]:
    """What ``print_graph`` is given for a graph or model."""
    more: dict[str, Any] = {}
    if is_model(inputs):
        if outputs is not None or optimize:
            raise TypeError("a model stands for its inputs and outputs, and its numbers stay: no outputs, no optimize")
        density = log_density(inputs, ONNX.optimizer if gradient else None, data)
        inputs, outputs, more = density.inputs, density.outputs, {"terms": density.terms, "dims": density.dims}
    elif gradient:
        raise TypeError("gradient is for a PyMC model: among outputs it is pytensor.grad(...)")
    elif data is not None:
        raise TypeError("data is for a PyMC model: an input of a graph is one of its inputs")
    inputs, outputs, constants = graph_of(inputs, outputs)
    names = None
    if optimize:
        inputs, outputs, constants, names = rewritten(inputs, outputs, constants)
    return {"inputs": inputs, "outputs": outputs, "constants": constants, "wanted_names": names, **more}


def save_ptg(
    file: str | os.PathLike, inputs: Any, outputs: Any = None, *, name: str = "main", optimize: bool | None = None,
    gradient: bool = False, data: Which = None, batch: str | Mapping | None = None, on_unused_input: str | None = None,
) -> Text:  # fmt: skip
    """Writes a graph as .ptg text, with a .npy file beside it for every large constant and shared variable.

    ``ptgc FILE`` and ``ptgc.load(FILE)`` compile the text without PyTensor. A graph is printed after the rewrites of
    ONNX mode unless ``optimize`` is False, a PyMC model as ``to_ptg`` prints it. batch, on_unused_input: as of
    ``compile_onnx``.
    """
    path = Path(file)
    if outputs is not None:  # else PyTensor has looked
        check_used(as_list(inputs), as_list(outputs), on_unused_input)
    leading = {}
    if batch is not None:
        if is_model(inputs):
            raise TypeError("batch is for a graph: give the value variables and the log density of the model")
        old, outputs, _ = graph_of(inputs, outputs)
        inputs, outputs, leading = vectorized(old, outputs, batch)
        leading = {k: leading[v] for k, v in enumerate(old) if v in leading}
    optimize = not is_model(inputs) if optimize is None else optimize
    given = graph_to_print(inputs, outputs, optimize, gradient, data)
    if leading:
        given["dims"] = {given["inputs"][k]: dict(enumerate(dims)) for k, dims in leading.items()}
    taken: dict[str, str] = {}

    def file_of(label):
        stem = f"{path.stem}-{re.sub(r'[^A-Za-z0-9_.-]', '_', label)}"
        while f"{stem}.npy" in taken:
            stem += "_"
        taken[f"{stem}.npy"] = label
        return f"{stem}.npy"

    text = print_graph(**given, name=name, file_of=file_of)
    files = [(path.parent / f, npy(text.tensors[label])) for f, label in taken.items()]
    write_all([*files, (path, text.text.encode())])
    return text


def npy(array) -> bytes:
    import io

    out = io.BytesIO()
    array = np.asarray(array)
    np.save(out, np.ascontiguousarray(array).reshape(array.shape), allow_pickle=False)
    return out.getvalue()
