"""Compiles PyTensor graphs by way of their text. What libptgc refuses is said in terms of the PyTensor graph."""

from ptgc import _lib
from ptgc._printer import Text, print_graph
from ptgc.errors import CompileError, Problem, UnsupportedError, part_of


def problem_of(diagnostic, graph: Text) -> Problem:
    """The diagnostic with the variable that is computed at its place."""
    line = graph.line(diagnostic.line) if diagnostic.line else ""
    v = graph.variable(diagnostic.line, diagnostic.column, diagnostic.length) if diagnostic.line else None
    problem = Problem("", v.owner if v is not None else None, v, diagnostic.text, line)
    if problem.node is None:
        problem.what, problem.reason = diagnostic.text, ""
    if v is not None and not v.name:
        problem.part_of = part_of(v, graph.roots)
    return problem


def explained(error: CompileError, graph: Text, target: str) -> Exception:
    """libptgc's error as an exception that names the user's variables and lines of Python."""
    errors = [d for d in error.diagnostics if d.severity == "error"]
    problems = [problem_of(d, graph) for d in errors]
    if errors and all(d.cause == _lib.UNSUPPORTED for d in errors):
        return UnsupportedError(problems, target=target)
    lines = "\n".join(f"  {p}" for p in problems) or str(error)
    return CompileError(f"the graph cannot be compiled to {target}:\n{lines}", error.diagnostics, problems)


def compile_graph(inputs, outputs, print_options, **options) -> tuple[Text, _lib.Compiled]:
    """Prints the graph and compiles its text. One UnsupportedError lists all that is not supported."""
    target = "C" if options.get("code") else "ONNX"
    try:
        graph = print_graph(inputs, outputs, **print_options)
    except UnsupportedError as e:
        try:
            _lib.compile_text(e.probe.text, tensors=e.probe.tensors, **options)
        except CompileError as more:
            found = explained(more, e.probe, target)
            if isinstance(found, UnsupportedError):
                raise UnsupportedError([*e.problems, *found.problems], target=target) from None
        raise UnsupportedError(e.problems, e.probe, target) from None
    try:
        return graph, _lib.compile_text(graph.text, tensors=graph.tensors, **options)
    except CompileError as e:
        raise explained(e, graph, target) from None
