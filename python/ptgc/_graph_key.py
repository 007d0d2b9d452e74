"""What PyTensor's rewrites of a graph depend on, as bytes that are the same in every process: the key under which
_kept.py finds a graph rewritten before.

These are the graph with its ops, types, constants, names and tags; the rewrites that are registered; PyTensor's options; and
the files of the packages that all these come from. Who defines an op or a rewrite in a notebook or a script may change
it without a trace, so there is no key then.
"""

import dataclasses
import enum
import hashlib
import sys
import sysconfig
import time
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np
import scipy
from pytensor.compile.mode import optdb
from pytensor.compile.rewriting import rewrite_ofg_inner_graph
from pytensor.configdefaults import config
from pytensor.graph.basic import Constant
from pytensor.graph.op import HasInnerGraph, Op
from pytensor.graph.rewriting.db import RewriteDatabase, RewriteDatabaseQuery
from pytensor.graph.type import Type
from pytensor.graph.utils import MetaObject
from pytensor.scan.rewriting.inner_graph import rewrite_scan_inner_graph
from pytensor.tensor.type import TensorType

SIMPLE = (type(None), bool, int, float, complex, str, bytes)
OF_ALL_OPS = "name", "destroy_map", "view_map"
OF_INNER_GRAPH = "fgraph", "info", "mode", *OF_ALL_OPS
FOUND_OF_DATA = "unique_indices", "jointly_unique_indices", "is_arange"  # tags: what PyTensor saw in a constant's elements
NUMBERS = "biufc"  # kinds of dtypes
COMPUTING = f"{sys.version} {np.__version__} {scipy.__version__}"  # what folds constants
LOADED = time.time_ns()
PARTS_OF_REWRITER = "fn", "node_rewriter", "rewrites", "data", "db"
OF_COMPILATION = "mode", "linker", "traceback__limit"  # options that PyTensor sets while it compiles, for all threads


class NoKey(Exception):
    """Something has no description that another process would give too."""


# ---- the code ----


def is_installed(folder: Path) -> bool:
    roots = (sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))
    return bool({"site-packages", "dist-packages"} & set(folder.parts)) or any(folder.is_relative_to(r) for r in roots)


@cache
def files_of(package: str) -> str:
    """The files of a package, with their times and sizes."""
    if package == "__main__":
        raise NoKey("something is defined in __main__")
    if package in sys.stdlib_module_names or package == "numpy":
        return ""  # COMPUTING has their versions
    module = sys.modules.get(package)
    if module is None or not getattr(module, "__file__", None):
        raise NoKey(f"{package} has no files")
    file = Path(module.__file__).resolve()
    if package not in ("pytensor", "ptgc") and not is_installed(file.parent):
        raise NoKey(f"{package} is not installed")
    files = sorted(file.parent.rglob("*.py")) if hasattr(module, "__path__") else [file]
    stats = [(str(f), f.stat()) for f in files if f.exists()]  # an editor may lock a file by a link to nowhere
    if any(s.st_ctime_ns > LOADED for _, s in stats):
        raise NoKey(f"files of {package} are newer than what runs")
    return repr([(name, s.st_mtime_ns, s.st_size) for name, s in stats])


# ---- one object ----


class Descriptions:
    """Texts for objects: equal for equal objects, in any process. packages: those that their classes come from."""

    def __init__(self):
        self.packages: set[str] = set()
        self.known: dict[int, str] = {}  # by id
        self.alive: list = []  # what these ids are of

    def of(self, obj) -> str:
        if type(obj) in SIMPLE:
            return repr(obj)
        found = self.known.get(id(obj))
        if found is None:
            self.alive.append(obj)
            self.known[id(obj)] = "..."  # it holds itself
            found = self.known[id(obj)] = self.describe(obj)
        return found

    def list_of(self, items: Iterable) -> str:
        return ", ".join(map(self.of, items))

    def named(self, thing) -> str:
        """A class or function, which its module has under its name."""
        module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", None)
        if not module or not name or module not in sys.modules:
            raise NoKey(f"{thing} has no name")
        found = sys.modules[module]
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is not thing:
            raise NoKey(f"{name} is not what {module} has under this name")
        self.packages.add(module.partition(".")[0])
        return f"{module}.{name}"

    def describe(self, obj) -> str:
        return way_of(type(obj))(self, obj)

    def items(self, obj) -> str:
        return f"{type(obj).__name__}({self.list_of(obj)})"

    def members(self, obj) -> str:
        return f"{{{', '.join(sorted(map(self.of, obj)))}}}"

    def pairs(self, obj) -> str:
        return f"{{{', '.join(sorted(f'{self.of(k)}: {self.of(v)}' for k, v in obj.items()))}}}"

    def elements(self, obj) -> str:
        array = np.asarray(obj)
        if array.dtype.kind not in NUMBERS:
            raise NoKey(f"an array of {array.dtype}")
        return f"{array.dtype.str}{array.shape}{hashlib.sha256(np.ascontiguousarray(array)).hexdigest()}"

    def plain(self, obj) -> str:
        return repr(obj)

    def bounds(self, obj) -> str:
        return f"slice({self.list_of((obj.start, obj.stop, obj.step))})"

    def member(self, obj) -> str:
        return f"{self.of(type(obj))}.{obj.name}"

    def state(self, obj) -> str:
        return f"Generator({self.of(obj.bit_generator.state)})"

    def value(self, obj) -> str:
        return f"{self.of(type(obj))}({self.of(obj.type)}, {self.of(obj.data)}, {obj.name!r})"

    def tensor_type(self, obj) -> str:
        return f"{obj.dtype}{obj.shape}{obj.name or ''}"

    def attributes(self, obj) -> str:
        found = {k: getattr(obj, k, None) for k in compared(obj)}
        return f"{self.of(type(obj))}({', '.join(f'{k}={self.of(v)}' for k, v in found.items() if not is_default(v))})"

    def fields(self, obj) -> str:
        return f"{self.of(type(obj))}({self.list_of(getattr(obj, f.name) for f in dataclasses.fields(obj))})"

    def inner_graph(self, obj) -> str:
        return self.graph(obj.inputs, obj.outputs, obj.toposort())[0]

    def nothing(self, obj) -> str:
        raise NoKey(f"a {type(obj).__name__}")

    def graph(self, inputs, outputs, nodes) -> tuple[str, list]:
        """A hash of the graph, and its constants in the order in which the nodes read them."""
        number = {id(v): k for k, v in enumerate(inputs)}
        constants = []
        words = [f"{type(v).__name__} {self.of(v.type)} {v.name!r}{tags_text(v)}" for v in inputs]

        def numbers(variables):
            for v in variables:
                if id(v) not in number:
                    if not isinstance(v, Constant):
                        raise NoKey(f"{v} is no input")
                    number[id(v)] = len(number)
                    constants.append(v)
                    for tag in FOUND_OF_DATA:  # the data may be others since then
                        vars(v.tag).pop(tag, None)
                    words.append(self.of(v) + tags_text(v))
            return [number[id(v)] for v in variables]

        for node in nodes:
            read = numbers(node.inputs)
            for v in node.outputs:
                number[id(v)] = len(number)
            made = ", ".join(f"{self.of(v.type)} {v.name!r}{tags_text(v)}" for v in node.outputs)
            words.append(f"{made} = {self.of(node.op)}{read}{tags_text(node)}")
        words.append(str(numbers(outputs)))
        self.alive += [inputs, outputs, nodes]
        return hashlib.sha256("\n".join(words).encode()).hexdigest(), constants


def tags(thing) -> list[tuple]:
    """Tags that rewrites may read, such as ``psd``: not those that hold objects, as PyMC's ``transform`` does."""
    found = vars(thing.tag).items() if hasattr(thing, "tag") else ()
    return sorted((k, v) for k, v in found if type(v) in SIMPLE)


def tags_text(thing) -> str:
    return repr(found) if (found := tags(thing)) else ""


WAYS: list[tuple] = [
    ((type, FunctionType, BuiltinFunctionType), Descriptions.named),
    ((tuple, list), Descriptions.items),
    ((set, frozenset), Descriptions.members),
    ((Mapping,), Descriptions.pairs),
    ((np.ndarray, np.generic), Descriptions.elements),
    ((np.dtype, np.ufunc), Descriptions.plain),
    ((slice,), Descriptions.bounds),
    ((enum.Enum,), Descriptions.member),
    ((np.random.Generator,), Descriptions.state),
    ((Constant,), Descriptions.value),
    ((Op, Type, MetaObject), Descriptions.attributes),
]


@cache
def way_of(kind: type) -> Callable[[Descriptions, Any], str]:
    """How objects of the type are described"""
    if kind is TensorType:  # most of all; a subclass may have more to say
        return Descriptions.tensor_type
    for kinds, way in WAYS:
        if issubclass(kind, kinds):
            return way
    if hasattr(kind, "toposort"):
        return Descriptions.inner_graph
    return Descriptions.fields if dataclasses.is_dataclass(kind) else Descriptions.nothing


def is_default(value) -> bool:
    """PyTensor sets some attributes to this when it needs them first."""
    return value is None or (type(value) is dict and not value)


@cache
def slots_of(kind: type) -> list[str]:
    """The attributes that have no place in __dict__"""
    found = [vars(base).get("__slots__", ()) for base in kind.__mro__]
    return [name for names in found for name in ([names] if isinstance(names, str) else names)]


def compared(obj) -> list[str]:
    """The attributes that PyTensor compares of an op or a type; all that an op is which has no __props__."""
    props, own = getattr(type(obj), "__props__", None), [*getattr(obj, "__dict__", ()), *slots_of(type(obj))]
    if isinstance(obj, HasInnerGraph):
        simple = [k for k in own if type(getattr(obj, k, None)) in (*SIMPLE, dict) and not k.startswith("_")]
        return list(dict.fromkeys([*(props or ()), *OF_INNER_GRAPH, *simple]))
    return [*(own if props is None else props), *OF_ALL_OPS]


# ---- the rewrites and options ----


def databases() -> list[RewriteDatabase]:
    """PyTensor's database of rewrites, and those inside of it."""
    found = [optdb]
    for db in found:
        inside = [r for rewriters in db.__db__.values() for r in rewriters if is_database(type(r))]
        inside += [db.db] if is_database(type(getattr(db, "db", None))) else []
        found += [r for r in dict.fromkeys(inside) if r not in found]
    return found


@cache
def is_database(kind: type) -> bool:
    return issubclass(kind, RewriteDatabase)


def rewriter_text(rewriter, packages: set[str]) -> str:
    """A rewrite with those that it is made of. Adds the packages of their code."""
    if isinstance(rewriter, list | tuple):
        return f"[{', '.join(rewriter_text(r, packages) for r in rewriter)}]"
    code = rewriter if isinstance(rewriter, FunctionType) else type(rewriter)
    packages.add(code.__module__.partition(".")[0])
    parts = [rewriter_text(getattr(rewriter, p), packages) for p in PARTS_OF_REWRITER if hasattr(rewriter, p)]
    return f"{code.__module__}.{code.__qualname__} {getattr(rewriter, 'name', '')} {' '.join(parts)}"


def registered_text(packages: set[str]) -> str:
    """All rewrites that are registered, in order. Adds the packages of their code."""
    found = databases()
    texts = {r: "" for db in found for rewriters in db.__db__.values() for r in rewriters}
    texts = {r: f"database {found.index(r)}" if r in found else rewriter_text(r, packages) for r in texts}
    lines = []
    for db in found:
        lines.append(f"{type(db).__name__} {db.name} {getattr(db, '__position__', '')}")
        lines += [f"{tag}: {', '.join(texts[r] for r in rewriters)}" for tag, rewriters in db.__db__.items()]
    return "\n".join(lines)


def registration() -> int:
    """Another number once rewrites were registered."""
    return hash(tuple(id(r) for db in databases() for rewriters in db.__db__.values() for r in rewriters))


def inner_rewrites(fgraph) -> str:
    """How the linker of the active mode has graphs inside of ops rewritten"""
    linker = type(getattr(getattr(fgraph, "_compile_mode", None), "linker", None))
    ways = (rewrite_ofg_inner_graph.dispatch(linker), rewrite_scan_inner_graph.dispatch(linker))
    return " ".join(f"{way.__module__}.{way.__qualname__}" for way in ways)


def query_text(query: RewriteDatabaseQuery) -> str:
    if query.extra_rewrites:
        raise NoKey("rewrites that are in no database")
    inner = {name: query_text(q) for name, q in query.subquery.items()}
    return f"{list(query.include)} {list(query.require)} {list(query.exclude)} {query.position_cutoff} {inner}"


def options_text() -> str:
    """PyTensor's options, without those whose defaults it must search the machine for."""
    found = config._config_var_dict.items()
    return repr({k: getattr(config, k) for k, p in found if k not in OF_COMPILATION and not callable(p.default)})
