"""PyTensor linkers and modes: "ONNX", which ONNX Runtime runs, and "NATIVE", which is C."""

import importlib
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from pytensor.compile.mode import Mode, predefined_modes, register_linker, register_mode
from pytensor.compile.ops import DeepCopyOp, ViewOp
from pytensor.compile.rewriting import functional_rewrite_ofg_inner_graph, rewrite_ofg_inner_graph
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.traversal import ancestors
from pytensor.link.basic import JITLinker
from pytensor.link.utils import raise_with_op
from pytensor.raise_op import CheckAndRaise
from pytensor.scalar.basic import ScalarType
from pytensor.tensor.basic import Split
from pytensor.tensor.blas import BatchedDot
from pytensor.tensor.elemwise import DimShuffle
from pytensor.tensor.shape import SpecifyShape
from pytensor.tensor.subtensor import AdvancedIncSubtensor, AdvancedSubtensor

from ptgc import _lib, _random
from ptgc._cc import CFLAGS
from ptgc._compile import compile_graph
from ptgc._ops import first_generator, is_generator, is_tensor
from ptgc.errors import CompileError, list_of_texts
from ptgc.native import MODEL, generator_kinds, load_model, native_error
from ptgc.rewrites import EXCLUDE, INCLUDE, INCOMPATIBLE, REQUIRED, Query
from ptgc.runtime import (
    BROADCAST,
    generators_of,
    installed_target,
    is_complex,
    make_session,
    native,
    native_order,
    node_line,
    pairs,
    run_of,
    runtime_error,
    seen_as,
)


def adapter(variable):
    """What turns a value that PyTensor stores for the input into an array as the model takes it; None: nothing."""
    if is_generator(variable):
        return _random.generator_to_words
    if is_complex(variable):
        return pairs
    return np.asarray if isinstance(variable.type, ScalarType) else None


def dtype_of(variable):
    return np.dtype(variable.type.dtype) if hasattr(variable.type, "dtype") else None


class CompiledGraph:
    """A compiled graph: arrays in, arrays out. Of a PyTensor function it is ``fn.vm.jit_fn``.

    A subclass says how it is run: ``compute`` on a list of arrays in the order of the inputs; ``reader``, a function
    that runs it on what storages hold; ``error``, what an exception of a run means.
    """

    def __init__(self, graph, inputs, outputs, kinds, generators):
        self.graph = graph
        self.variables = inputs  # PyTensor's, in the order of the model's inputs
        self.text = graph.text  # as .ptg
        self.inputs = graph.inputs
        self.outputs = graph.outputs
        self.adapted = [(i, a) for i, v in enumerate(inputs) if (a := adapter(v))]
        self.scalar_outputs = [(i, v.dtype) for i, v in enumerate(outputs) if isinstance(v.type, ScalarType)]
        self.kinds = tuple(kinds[v] for v in inputs if is_generator(v))
        self.generators = [(k, kind, first_generator(outputs[k])) for k, kind in generators]

    def compute(self, values: list) -> list:
        raise NotImplementedError

    def reader(self, storages: list):
        raise NotImplementedError

    def error(self, error):
        """The exception to raise, the variable that could not be computed or None, and the name of an input of a
        wrong length or ""."""
        raise NotImplementedError

    def place(self, line: int, column: int):
        """The .ptg line, and the variable that is computed there."""
        return self.graph.line(line).strip(), self.graph.variable(line, column) if line else None

    def __call__(self, *args):
        values = [np.asarray(a) for _, a in zip(self.inputs, args, strict=True)]
        for i, adapt in self.adapted:
            values[i] = adapt(args[i])
        try:
            results = self.compute(values)
        except Exception as e:
            raise self.error(e)[0] from None
        given = dict(zip(self.variables, args))
        for i, kind, source in self.generators:
            results[i] = _random.words_to_generator(results[i], kind, given.get(source))
        return results


class OnnxCallable(CompiledGraph):
    """A graph that ONNX Runtime runs."""

    def __init__(self, graph, compiled, session, inputs, outputs, kinds):
        super().__init__(graph, inputs, outputs, kinds, generators_of(session, graph.outputs))
        self.model = compiled.model  # the bytes of the ONNX file
        self.session = session
        run, seen, names = run_of(session), seen_as(session, outputs), self.outputs
        if seen:
            self.run = lambda feed: native(run(names, feed, None), seen)
        else:
            self.run = lambda feed: run(names, feed, None)

    def compute(self, values):
        return self.run({name: native_order(value) for name, value in zip(self.inputs, values)})

    def reader(self, storages):
        # with trust_input a storage may have a NumPy scalar, or an array of another byte order
        run, feeds = self.run, list(zip(self.inputs, storages, map(dtype_of, self.variables), strict=True))
        return lambda: run(
            {
                name: value if type(value := storage[0]) is np.ndarray and value.dtype is dtype else native_order(value)
                for name, storage, dtype in feeds
            }
        )

    def error(self, error):
        return runtime_error(error, lambda node: self.place(*node_line(self.model, node)))


class NativeCallable(CompiledGraph):
    """A graph that the machine's compiler has made."""

    def __init__(self, graph, code, model, inputs, outputs, kinds):
        found = generator_kinds(model)
        generators = [(k, found[name]) for k, name in enumerate(graph.outputs) if name in found]
        super().__init__(graph, inputs, outputs, kinds, generators)
        self.code = code
        self.model = model
        self.pairs = [(k, np.dtype(v.type.dtype)) for k, v in enumerate(outputs) if is_complex(v)]
        self.run = model.run

    def compute(self, values):
        return native(self.run(*values), self.pairs)

    def reader(self, storages):
        run, seen = self.run, self.pairs
        if seen:
            return lambda: native(run(*[storage[0] for storage in storages]), seen)
        return lambda: run(*[storage[0] for storage in storages])

    def error(self, error):
        return native_error(error, self.inputs, self.place)


def first_use(fgraph, variable):
    """The first node that reads the input, for errors about its length. Changes of its axes do not count."""
    todo = [variable]
    for v in todo:
        for node, _ in fgraph.clients.get(v, ()):
            if isinstance(node.op, DimShuffle):
                todo.append(node.outputs[0])
            elif node in fgraph.apply_nodes:
                return node
    return None


def split_error(text, node, variable):
    """PyTensor's error for the sizes of a Split: there are too many, one is negative, or their sum is wrong."""
    if "pieces, but the sizes are" in text or variable is node.inputs[1]:
        return ValueError(f"Length of splits is not equal to n_splits: {text}")
    if "negative" in text or ">= 0" in text:
        return ValueError("Split sizes cannot be negative")
    length = re.search(r"has length (\d+)", text)
    if found := re.search(r"Input shape=\{([\d,]+)\}", text):
        length = re.match(rf"(?:\d+,){{{node.op.axis}}}(\d+)", found[1])
    length = f": {length[1]}" if length else ""
    return ValueError(f"Split sizes do not sum up to input length along axis{length} (axis {node.op.axis}). {text}")


def as_pytensor(error, node, variable=None, shapes=None):
    """The exception that PyTensor's op raises for lengths that do not fit it, with its words.

    shapes: {variable: shape} of the function's arguments.
    """
    if not isinstance(error, ValueError | IndexError) or node is None:
        return error
    op, text = getattr(node.op, "core_op", node.op), str(error)
    if isinstance(op, CheckAndRaise):
        return op.exc_type(op.msg)
    if isinstance(op, SpecifyShape):
        return AssertionError(f"SpecifyShape: {text}")
    if isinstance(op, Split):
        return split_error(text, node, variable)
    lengths = {(shapes or {}).get(v, (None,))[0] for v in node.inputs[:2]} if isinstance(op, BatchedDot) else ()
    if len(lengths) == 2 and "axis 0" in text:
        return TypeError(f"BatchedDot: the inputs must have the same size in axis 0. {text}")
    if isinstance(error, IndexError):
        return error
    if isinstance(op, AdvancedSubtensor | AdvancedIncSubtensor) and any(
        getattr(v.type, "dtype", "") == "bool" for v in node.inputs[1:]
    ):
        return IndexError(f"boolean index did not match the indexed array: {text}")
    if BROADCAST in text and (own := getattr(op, "_runtime_broadcast_error_msg", None)):
        return ValueError(text.replace(BROADCAST, own))
    return error


def make_thunk(fgraph, call: CompiledGraph, thunk_inputs, thunk_outputs):
    """A function without arguments that runs the model from input storage to output storage."""
    run, compute, adapted = call.reader(thunk_inputs), call.compute, call.adapted
    scalar_outputs = call.scalar_outputs
    storages = dict(zip(call.variables, thunk_inputs))
    generators = [(i, kind, storages.get(source, [None])) for i, kind, source in call.generators]

    def fail(error):
        raised, variable, wrong_input = call.error(error)
        if wrong_input in call.inputs:
            variable = call.variables[call.inputs.index(wrong_input)]
            node = first_use(fgraph, variable)
        else:
            node = variable.owner if variable is not None else None
        shapes = {v: np.shape(storage[0]) for v, storage in zip(call.variables, thunk_inputs)}
        raised = as_pytensor(raised, node, variable, shapes)
        raised.__suppress_context__ = True
        node = node or next((o.owner for o in fgraph.outputs if o.owner is not None), None)
        if node is None or node not in fgraph.apply_nodes:
            raise raised
        raise_with_op(fgraph, node, None, (type(raised), raised, error.__traceback__))

    def thunk():
        try:
            results = run()
        except Exception as e:
            fail(e)
        for storage, value in zip(thunk_outputs, results):
            storage[0] = value

    def adapting_thunk():
        """The same with generators, NumPy scalars and complex arrays among the inputs or outputs."""
        values = [storage[0] for storage in thunk_inputs]
        for i, adapt in adapted:
            values[i] = adapt(values[i])
        try:
            results = compute(values)
        except Exception as e:
            fail(e)
        for storage, value in zip(thunk_outputs, results):
            storage[0] = value
        for i, dtype in scalar_outputs:
            thunk_outputs[i][0] = results[i].astype(dtype, copy=False)[()]
        for i, kind, source in generators:
            thunk_outputs[i][0] = _random.words_to_generator(results[i], kind, source[0])

    return adapting_thunk if adapted or scalar_outputs or generators else thunk


def thunk_by_kind(generators, kinds, thunk, compiled):
    """The thunk, and more of them for bit generators of other kinds, compiled when the first one is there."""
    thunks = {kinds: thunk}

    def thunk_for_values():
        kinds = tuple(type(storage[0].bit_generator) for storage in generators)
        if kinds not in thunks:
            thunks[kinds] = compiled()
        thunks[kinds]()

    return thunk_for_values


def passed_on(fgraph) -> dict:
    """Outputs that are inputs of a type that ONNX does not have, such as random generators, or copies of them.

    {position of the output: (the input, the nodes that copy it)}. The model does not have these inputs and outputs.
    """
    found = {}
    for k, v in enumerate(fgraph.outputs):
        copies = []
        while v.owner is not None and isinstance(v.owner.op, DeepCopyOp | ViewOp):
            copies.insert(0, v.owner)
            v = v.owner.inputs[0]
        if v.owner is None and not is_tensor(v) and any(v is i for i in fgraph.inputs):
            found[k] = v, copies
    return found


def passing_on(thunk, passed, storage_map, outputs):
    """The thunk, which then also sets the outputs that are only passed on, copied where PyTensor copies them."""
    moves = [(storage_map[v], storage_map[outputs[k]], copies) for k, (v, copies) in passed.items()]

    def passing_thunk():
        thunk()
        for source, target, copies in moves:
            value = source[0]
            for node in copies:
                result = [None]
                node.op.perform(node, [value], [result])
                value = result[0]
            target[0] = value

    return passing_thunk


def make_failing_thunk(fgraph, refused: CompileError):
    """The thunk for a graph that PyTensor compiles too, and whose every call raises."""
    problem, name = refused.problems[0], next(d.name for d in refused.diagnostics if d.severity == "error")
    node = problem.node

    def thunk():
        error = (IndexError if name == "out-of-range" else ValueError)(str(problem))
        error = as_pytensor(error, node)
        error.__suppress_context__ = True
        if node is None or node not in fgraph.apply_nodes:
            raise error
        raise_with_op(fgraph, node, None, (type(error), error, None))

    return thunk


class GraphLinker(JITLinker):
    """Compiles a FunctionGraph to one model by way of its text. A subclass says what runs it: ``callable_of``.

    math: "exact", "standard" (None) or "native", as in doc/language.md.
    """

    required_rewrites = REQUIRED
    incompatible_rewrites = INCOMPATIBLE

    def __init__(self, *args: Any, math: str | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _lib.check_math(math)
        self.math = math

    def __copy__(self):  # PyTensor copies the linker for each function; unlike a pickle, a copy keeps all options
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__)
        return new

    def callable_of(self, inputs, outputs, kinds, print_options, options) -> CompiledGraph:
        raise NotImplementedError

    def fgraph_convert(self, fgraph, order=None, input_storage=None, output_storage=None, storage_map=None, **kwargs):
        passed = passed_on(fgraph)
        outputs = [v for k, v in enumerate(fgraph.outputs) if k not in passed]
        inputs = fgraph.inputs
        values = {v: (storage_map or {}).get(v, [None])[0] for v in inputs if is_generator(v)}
        kinds = {v: _random.kind_of(value or "PCG64") for v, value in values.items()}
        if not all(map(is_tensor, inputs)):
            needed = set(ancestors(outputs))
            inputs = [v for v in inputs if is_tensor(v) or v in needed]
        print_options = {"name": getattr(fgraph, "name", None) or "function", "generators": kinds}
        return self.callable_of(
            inputs, outputs, kinds, print_options,
            {"math": self.math, "file_name": "function.ptg", "external_name": "weights", "flags": _lib.PRINTED},
        )  # fmt: skip

    def create_thunk_inputs(self, storage_map):
        return [storage_map[v] for v in self.fgraph.inputs]

    def jit_compile(self, fn):
        return fn

    def create_jitable_thunk(self, compute_map, order, input_storage, output_storage, storage_map):
        fgraph = self.fgraph
        thunk_inputs = self.create_thunk_inputs(storage_map)
        thunk_outputs = [storage_map[v] for v in fgraph.outputs]
        passed = passed_on(fgraph)
        if len(passed) < len(fgraph.outputs):
            try:
                call = self.fgraph_convert(fgraph, order, input_storage, output_storage, storage_map)
                computed = [s for k, s in enumerate(thunk_outputs) if k not in passed]

                def thunk_of(call):
                    return make_thunk(fgraph, call, [storage_map[v] for v in call.variables], computed)

                thunk = thunk_of(call)
                if generators := [storage_map[v] for v in call.variables if is_generator(v)]:
                    again = partial(self.fgraph_convert, fgraph, order, input_storage, output_storage, storage_map)
                    thunk = thunk_by_kind(generators, call.kinds, thunk, lambda: thunk_of(again()))
            except CompileError as e:
                if not e.diagnostics or any(d.cause != _lib.RAISES for d in e.diagnostics if d.severity == "error"):
                    raise
                call, thunk = None, make_failing_thunk(fgraph, e)
        else:
            call = None

            def thunk():
                pass

        if passed:
            thunk = passing_on(thunk, passed, storage_map, fgraph.outputs)
        thunk.inputs, thunk.outputs, thunk.lazy = thunk_inputs, thunk_outputs, False
        nodes = [v.owner for v in fgraph.outputs if v.owner is not None][:1]
        return [thunk], nodes, call


class ONNXLinker(GraphLinker):
    """Compiles a FunctionGraph to one ONNX model and runs it on ONNX Runtime.

    opset: 13 to 26; None: 18. math: "exact", "standard" (None) or "native", as in doc/language.md.
    session_options: an onnxruntime.SessionOptions or a dict of its attributes, such as
    ``{"intra_op_num_threads": 1}``. providers: names of execution providers, the first one preferred.
    """

    def __init__(
        self, *args: Any, opset: int | None = None, math: str | None = None, session_options: Any = None,
        providers: list | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(*args, math=math, **kwargs)
        _lib.check_opset(opset)
        self.opset = opset
        self.session_options = session_options
        self.providers = providers

    def __getstate__(self):
        state = self.__dict__.copy()
        given = state["session_options"]
        if given is not None and not isinstance(given, dict):
            # an onnxruntime.SessionOptions cannot be pickled, and its config entries cannot be listed
            names = [k for k in dir(given) if not k.startswith("_") and not callable(getattr(given, k))]
            state["session_options"] = {k: getattr(given, k) for k in names}
        return state

    def callable_of(self, inputs, outputs, kinds, print_options, options):
        graph, compiled = compile_graph(
            inputs, outputs, print_options, opset=self.opset, target=installed_target(), **options
        )
        session = make_session(compiled, self.session_options, self.providers)
        return OnnxCallable(graph, compiled, session, inputs, outputs, kinds)


class NativeLinker(GraphLinker):
    """Compiles a FunctionGraph to C, and that by the machine's C compiler.

    math: "exact", "standard" (None) or "native", as in doc/language.md. cflags: of the compiler, besides those that
    the C asks for.
    """

    def __init__(
        self, *args: Any, math: str | None = None, cflags: Sequence[str] = CFLAGS, **kwargs: Any
    ) -> None:
        super().__init__(*args, math=math, **kwargs)
        self.cflags = tuple(list_of_texts("cflags", cflags))

    def callable_of(self, inputs, outputs, kinds, print_options, options):
        options["flags"] = [*options["flags"], "fentry"]
        graph, compiled = compile_graph(inputs, outputs, print_options, code=True, model_name=MODEL, **options)
        model = load_model(compiled, self.cflags)
        return NativeCallable(graph, compiled.model, model, inputs, outputs, kinds)


def register(linker: type, name: str, mode: Callable[[], Mode]) -> Mode:
    """Registers a linker and its mode; importing ptgc calls it."""
    scan = importlib.import_module("pytensor.scan.rewriting.inner_graph")
    rewrite_ofg_inner_graph.register(linker)(functional_rewrite_ofg_inner_graph)
    scan.rewrite_scan_inner_graph.register(linker)(scan.functional_rewrite_scan_inner_graph)
    if name not in predefined_modes:
        register_linker(name.lower(), linker())
        register_mode(name, mode())
    return predefined_modes[name]


class ONNXMode(Mode):
    """The mode of ONNXLinker."""


class NativeMode(Mode):
    """The mode of NativeLinker."""


def onnx_mode(**options: Any) -> Mode:
    """The mode "ONNX" with options of ONNXLinker: ``onnx_mode(opset=21, session_options={...})``."""
    return ONNXMode(ONNXLinker(**options), Query(include=INCLUDE, exclude=EXCLUDE))


def native_mode(**options: Any) -> Mode:
    """The mode "NATIVE" with options of NativeLinker: ``native_mode(math="exact", cflags=["-march=x86-64-v3"])``."""
    return NativeMode(NativeLinker(**options), Query(include=INCLUDE, exclude=EXCLUDE))


ONNX = register(ONNXLinker, "ONNX", onnx_mode)
NATIVE = register(NativeLinker, "NATIVE", native_mode)


def rewritten(inputs, outputs, constants):
    """A copy of the graph after the rewrites of ONNX mode, the constants that it still reads, and the outputs'
    names."""
    fgraph = FunctionGraph([*inputs, *constants], outputs, clone=True)
    new = list(fgraph.inputs)
    ONNX.optimizer.rewrite(fgraph)
    n = len(inputs)
    kept = {v: value for v, value in zip(new[n:], constants.values()) if fgraph.clients[v]}
    return new[:n], list(fgraph.outputs), kept, [v.name for v in outputs]
