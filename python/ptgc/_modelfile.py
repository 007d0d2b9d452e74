"""What files that are made of a PyMC model have in common. In: the model's data, dims and coordinates. Out: a class of
which samplers, densities and predictors are kinds. The file's metadata have what it says of the model, so that
``ptgc.load`` gives the same class back.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from ptgc import _lib
from ptgc._data import Data, Now
from ptgc._random import Generator
from ptgc._values import EXACT
from ptgc.export import Exported
from ptgc.runtime import generators_of, make_session

KEY = "pymc"  # of the metadata: a text in JSON


def plain(value: Any) -> Any:
    """A coordinate as JSON has it: a number, a text or a truth value."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, int | float | str | bool) else str(value)


def dtype_of(values: list) -> str:
    """The dtype that xarray gives a coordinate of these values, if it is one that JSON's values do not have; else ""."""
    if {type(v) for v in values} <= {int, float, str, bool} or any(isinstance(v, tuple | list) for v in values):
        return ""
    from xarray import Variable  # PyMC has it, too

    dtype = Variable("dim", values).dtype
    return dtype.name if dtype.kind in "biufMm" else ""


def written_coord(values: list, dtype: str) -> list:
    """The coordinate as JSON has it. Dates are texts of ISO 8601, and durations numbers of the dtype's unit."""
    if dtype.startswith("datetime64"):
        return np.datetime_as_string(coord_array(values, dtype)).tolist()
    return coord_array(values, dtype).astype("int64").tolist() if dtype.startswith("timedelta64") else [plain(v) for v in values]


def coord_array(values: list, dtype: str) -> np.ndarray:
    from xarray import Variable

    return Variable("dim", values).values.astype(dtype)


def read_coords(coords: Mapping[str, list], dtypes: Mapping[str, str]) -> dict[str, list]:
    """The coordinates that ``written_coord`` wrote."""
    return {dim: list(np.array(v, dtypes[dim])) if dim in dtypes else v for dim, v in coords.items()}


@dataclass(repr=False)
class OfModel(Exported):
    """A file that was made of a PyMC model. ``data``: what those of its inputs that are data are in the model, also where
    a call leaves them out; it follows ``pm.set_data``, and so do ``coords``. A file that was read has no data."""

    KIND: ClassVar[str] = ""
    ARRAYS: ClassVar[int] = EXACT
    MORE: ClassVar[tuple[str, ...]] = ()  # fields of the kind that the metadata have, too

    dims: Mapping[str, list] = field(default_factory=dict)  # of variables, by their names
    coords: Mapping[str, list] = field(default_factory=dict)  # by the names of dims
    data: Mapping[str, np.ndarray] = field(default_factory=dict)
    data_names: list[str] = field(default_factory=list)  # of the inputs that are data
    point: Mapping[str, list | None] = field(default_factory=dict)  # {value variable: shape}; None: it depends on data
    path: str = ""  # of a file that was read and has weights beside it
    kept: Any = field(default=None, compare=False)  # the session of the calls

    def __getstate__(self) -> dict:
        return {**vars(self), "kept": None}

    def own_session(self):
        self.kept = self.kept or self.session()
        return self.kept

    def __call__(self, *args, **named) -> list[np.ndarray]:
        """Runs the model on values in the order of the inputs, or by name. Data that are left out are those of the
        model. Arrays of another dtype are taken where the input's holds them exactly."""
        return super().__call__(*args, **{**self.left_out(args, named), **named})

    def generators(self, seed: Any) -> dict[str, Generator]:
        return self.seeded([self.inputs[k] for k, _ in generators_of(self.own_session(), self.inputs)], seed)

    def left_out(self, args, named) -> dict[str, np.ndarray]:
        given = {*self.inputs[: len(args)], *named}
        return {name: self.data[name] for name in self.data if name not in given}

    def coords_of(self, arrays: Mapping[str, np.ndarray], leading: int) -> dict[str, list]:
        """The coordinates of dims that have the length of these in the arrays; other data may have another one."""
        lengths: dict[str, set] = {}
        for name, dims in self.dims.items():
            if name in arrays:
                for dim, n in zip(dims, arrays[name].shape[leading:]):
                    lengths.setdefault(dim, set()).add(n)
        return {dim: v for dim, v in self.coords.items() if lengths.get(dim) == {len(v)}}

    @classmethod
    def of(cls, exported: Exported, parts: dict[str, Any], **more: Any) -> Self:
        found = {f.name: getattr(exported, f.name) for f in fields(Exported)}
        return cls(**found, **parts, **more)  # type: ignore[misc]


def coord_of(model: Any, dim: str) -> list:
    return list(model.coords[dim] or ())


def described(
    data: Data, inputs: list, outputs: list, point: Mapping[str, Any], more: Iterable[str] = ()
) -> dict[str, Any]:
    """The fields of ``OfModel`` for a graph: what it says of the model. more: further variables whose dims it says."""
    model, names = data.source, {*(v.name for v in [*inputs, *outputs]), *more}
    dims = {k: list(d) for k, d in model.named_vars_to_dims.items() if k in names}
    used = {d for names in dims.values() for d in names}
    return {
        "dims": dims,
        "coords": Now({k: partial(coord_of, model, k) for k, v in model.coords.items() if v is not None and k in used}),
        "data": data.values.of({v.name: v.name for v in inputs if v in data.inputs.values()}),
        "data_names": [v.name for v in inputs if v in data.inputs.values()],
        "point": dict(point),
    }  # fmt: skip


def options_of(kind: type[OfModel], data: Data, inputs: list, parts: dict[str, Any], options: Mapping) -> dict[str, Any]:
    """The options of ``compile_onnx``, with the names of sizes and the metadata of a file of this kind."""
    dtypes = {dim: dtype_of(v) for dim, v in parts["coords"].items()}
    shown = {
        "kind": kind.KIND, "dims": parts["dims"], "data": parts["data_names"], "point": parts["point"],
        "coords": {dim: written_coord(v, dtypes[dim]) for dim, v in parts["coords"].items()},
        "coord_dtypes": {dim: dtype for dim, dtype in dtypes.items() if dtype},
        "float32": bool(options.get("float32")),
        **{name: parts[name] for name in kind.MORE},
    }  # fmt: skip
    sizes = {v.name: data.dims[v.name] for v in inputs if v.name in data.dims}
    for key, axes in (options.get("dynamic_dims") or {}).items():
        name = key if isinstance(key, str) else key.name
        sizes[name] = {**sizes.get(name, {}), **(axes if isinstance(axes, Mapping) else dict(enumerate(axes)))}
    metadata = {KEY: json.dumps(shown), **(options.get("metadata") or {})}
    more = {"model_name": data.source.name or kind.KIND, **options}
    return {**more, "dynamic_dims": sizes, "metadata": metadata}


def from_file(compiled: _lib.Compiled, text: str, session_options: Any = None, providers: list | None = None) -> OfModel:
    """The object behind a file that has these metadata."""
    found = json.loads(text)
    kinds = {kind.KIND: kind for kind in OfModel.__subclasses__()}
    session = make_session(compiled, session_options, providers)
    kind, states = kinds[found["kind"]], {f"{v.name}.next" for v in session.get_overridable_initializers()}
    return kind(
        compiled.model, "", [v.name for v in session.get_inputs()],
        [v.name for v in session.get_outputs() if v.name not in states],
        least_runtime=compiled.least_runtime, path=compiled.path, kept=session, **read_parts(kind, found),
    )  # fmt: skip


def read_parts(kind: type[OfModel], found: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of ``OfModel`` that the metadata of a file or a library say."""
    return {
        "dims": found["dims"], "data_names": found["data"], "point": found["point"],
        "coords": read_coords(found["coords"], found.get("coord_dtypes", {})),
        "target": {"float32": found.get("float32", False)}, **{k: found[k] for k in kind.MORE if k in found},
    }  # fmt: skip
