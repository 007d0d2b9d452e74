"""One ONNX model over the rows of a Parquet table that need not fit in memory.

A table is one Parquet file or a folder of them. Its row groups become parts; a part is read in batches, and its
results are written to a Parquet file of its own, under a temporary name until it is whole. So a run that was stopped
leaves whole parts only, and the same run again does the others, and those of files that have changed or are new.
Needs numpy, pyarrow and onnxruntime.

Each input and output of the model is a column: float64[rows], or float32[rows, 64] for a column of lists of 64.
"""

import hashlib
import json
import os
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

DTYPES = {
    "tensor(float16)": np.float16, "tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(bool)": np.bool_,
    **{f"tensor({sign}int{bits})": np.dtype(f"{sign}int{bits}").type for sign in ("", "u") for bits in (8, 16, 32, 64)},
}  # fmt: skip
CHUNK = 65_536  # rows that are read at a time, and a row group of the results


class BadInput(Exception):
    """What the user can mend. The message says where; trying again would not help."""


@dataclass(frozen=True)
class Column:
    """An input or output of the model. `width` is that of a column of lists, else None."""

    name: str
    dtype: np.dtype
    width: int | None

    @property
    def arrow(self):
        flat = pa.from_numpy_dtype(self.dtype)
        return flat if self.width is None else pa.list_(flat, self.width)

    def __str__(self):
        return f"{self.name} ({self.dtype}{'' if self.width is None else f', lists of {self.width}'})"


def column(value, role):
    if value.type not in DTYPES or len(value.shape) not in (1, 2) or isinstance(value.shape[0], int):
        raise BadInput(f"{role} '{value.name}' of the model is {value.type}{value.shape}, not a column of numbers")
    width = value.shape[1] if len(value.shape) == 2 else None
    if width is not None and not isinstance(width, int):
        raise BadInput(f"{role} '{value.name}' of the model is {value.shape}: the second length must be a number")
    return Column(value.name, np.dtype(DTYPES[value.type]), width)


class Scorer:
    """A session, and how columns become its inputs. One a process, for as long as the process lives."""

    def __init__(self, model: bytes):
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1  # as many processes as processors do better than threads in one
        options.log_severity_level = 4  # what fails is raised, and told once
        try:
            self.session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        except Exception as e:
            raise BadInput(f"ONNX Runtime cannot load the model: {e}") from None
        self.inputs = [column(v, "input") for v in self.session.get_inputs()]
        self.outputs = [column(v, "output") for v in self.session.get_outputs()]

    def check(self, schema, keep, where):
        """All that is wrong with the columns of a file, in one message."""
        names = set(schema.names)
        wrong = [f"column '{name}' is missing" for name in [*(c.name for c in self.inputs), *keep] if name not in names]
        wrong += [f"column '{name}' is both kept and computed" for name in keep if name in {c.name for c in self.outputs}]
        for c in self.inputs:
            if c.name in names and (why := mismatch(schema.field(c.name).type, c)):
                wrong.append(f"column '{c.name}' is {schema.field(c.name).type}, and the model takes {c}: {why}")
        if wrong:
            raise BadInput(f"{where}: {'; '.join(wrong)}. The model takes {', '.join(map(str, self.inputs))}; "
                           f"the file has {', '.join(schema.names)}")  # fmt: skip

    def schema(self, schema, keep, about):
        fields = [schema.field(name) for name in keep] + [pa.field(c.name, c.arrow, False) for c in self.outputs]
        return pa.schema(fields, metadata=about)

    def score(self, batch, first):
        """The outputs as Arrow arrays. `first` is the number of the batch's first row, for messages."""
        feed = {c.name: to_numpy(batch.column(c.name), c, first) for c in self.inputs}
        try:
            results = self.session.run([c.name for c in self.outputs], feed)
        except Exception as e:
            raise BadInput(f"rows {first} to {first + batch.num_rows - 1}: the model refuses them: {e}") from None
        arrays = []
        for c, r in zip(self.outputs, results):
            if r.shape[0] != batch.num_rows:
                raise BadInput(f"output '{c.name}' has {r.shape[0]} rows for {batch.num_rows} of the table: not a model of rows")
            flat = pa.array(r.reshape(-1))
            arrays.append(flat if c.width is None else pa.FixedSizeListArray.from_arrays(flat, c.width))
        return arrays


def mismatch(kind, c):
    """Why a column of Arrow's type `kind` cannot be given to the model without loss, or None."""
    if c.width is not None:
        if not (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)):
            return "not a list"
        if pa.types.is_fixed_size_list(kind) and kind.list_size != c.width:
            return f"lists of {kind.list_size}"
        kind = kind.value_type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        return "not numbers"
    have = np.dtype(kind.to_pandas_dtype())
    if not np.can_cast(have, c.dtype, "safe") or (have.kind in "iu" and have.itemsize == 8 and c.dtype.kind == "f"):
        return "a cast could change values; cast the column yourself if it does not"
    return None


def to_numpy(array, c, first):
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if c.width is not None:
        sizes = pc.list_value_length(array)
        if array.null_count or pc.any(pc.not_equal(sizes, c.width)).as_py():
            raise BadInput(f"column '{c.name}' from row {first} on has lists that are null or not {c.width} long")
        array = array.flatten()
    if array.null_count:
        if c.dtype.kind != "f":
            row = first + pc.index(array.is_null(), True).as_py() // (c.width or 1)
            raise BadInput(f"column '{c.name}' has a null in row {row}, and {c.dtype} has no value for it")
        array = array.cast(pa.float64()) if not pa.types.is_floating(array.type) else array
        array = pc.fill_null(array, pa.scalar(np.nan, array.type))  # what NaN means says the model
    flat = array.to_numpy(zero_copy_only=False).astype(c.dtype, copy=False)
    return flat if c.width is None else flat.reshape(-1, c.width)


# --- the plan ---


@dataclass(frozen=True)
class Part:
    path: str
    groups: tuple  # row groups of the file
    first: int  # row of the file
    rows: int
    target: str
    key: str  # the same for the same model, options and file


@dataclass(frozen=True)
class Plan:
    keep: tuple
    batch: int  # rows


def open_parquet(path):
    try:
        return pq.ParquetFile(path)
    except (pa.ArrowInvalid, OSError) as e:
        raise BadInput(f"{path}: cannot be read as Parquet: {e}") from None


def digest(*facts):
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def write_whole(path, write):
    """Calls write(temporary name); the file has its own name only when it is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        write(temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def make_plan(model: bytes, table: Path, out: Path, keep, batch, part_rows):
    """The plan and its parts. Every file is looked at first; all mistakes are in one message."""
    folder = table if table.is_dir() else table.parent
    files = sorted(p for p in table.rglob("*.parquet") if not p.name.startswith(".")) if table.is_dir() else [table]
    if not files:
        raise BadInput(f"{table}: no file whose name ends in .parquet")
    if out == table or out in table.parents or (table.is_dir() and table in out.parents):
        raise BadInput(f"{out}: results cannot lie where the table lies")
    scorer, parts, wrong, kept = Scorer(model), [], [], None
    facts = {"model": hashlib.sha256(model).hexdigest(), "keep": list(keep), "batch": batch, "part": part_rows}
    for path in files:
        try:
            file = open_parquet(path)
            scorer.check(file.schema_arrow, keep, path)
            fields = [file.schema_arrow.field(name) for name in keep]
            if fields != (kept := kept or fields):
                raise BadInput(f"{path}: the columns to keep have other types than in {files[0]}")
            parts += split(file, path, out / path.relative_to(folder), facts, part_rows)
        except BadInput as e:
            wrong.append(str(e))
    if wrong:
        raise BadInput("\n".join(wrong))
    check_folder(out, facts, {p.target for p in parts})
    return Plan(tuple(keep), batch), parts


def split(file, path, target, facts, part_rows):
    """Parts of a file: row groups one after the other, up to `part_rows` rows. An empty file is one part."""
    state = path.stat()
    sizes = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
    parts, groups, first, rows = [], [], 0, 0
    for i in range(max(len(sizes), 1)):
        if sizes:
            groups.append(i)
            rows += sizes[i]
        if i + 1 >= len(sizes) or rows + sizes[i + 1] > part_rows:
            key = digest(facts, state.st_size, state.st_mtime_ns, groups)
            name = target.with_name(f"{target.stem}-{len(parts):05d}.parquet")
            parts.append(Part(str(path), tuple(groups), first, rows, str(name), key))
            groups, first, rows = [], first + rows, 0
    return parts


def check_folder(out, facts, targets):
    """Results of another model, of other options or of files that are gone are not to be mixed with these."""
    saved = out / "_plan.json"  # readers of Parquet folders skip such names
    there = [str(p) for p in out.rglob("*.parquet") if not p.name.startswith(".")]
    if saved.exists():
        before = json.loads(saved.read_text())
        if other := [k for k in facts if before.get(k) != facts[k]]:
            raise BadInput(f"{out} was begun with another {' and '.join(other)}: write to another folder, or remove that one")
        if stale := sorted(set(there) - targets):
            raise BadInput(f"{stale[0]} and perhaps others belong to no file of the table: remove them")
    elif there:
        raise BadInput(f"{out} has Parquet files and no _plan.json: write to another folder")
    else:
        write_whole(saved, lambda name: name.write_text(json.dumps(facts, indent=1)))


def is_done(part):
    try:
        about = pq.read_metadata(part.target)
        return about.num_rows == part.rows and (about.metadata or {}).get(b"part") == part.key.encode()
    except (OSError, pa.ArrowInvalid):
        return False


# --- a part ---


def score_part(scorer, part, plan):
    file = open_parquet(part.path)
    schema = scorer.schema(file.schema_arrow, plan.keep, {"part": part.key})
    names = list(dict.fromkeys([*plan.keep, *(c.name for c in scorer.inputs)]))

    def write(name):
        first = part.first
        with pq.ParquetWriter(name, schema) as writer:
            for chunk in file.iter_batches(CHUNK, part.groups, names) if part.groups else ():
                pieces = []
                for at in range(0, chunk.num_rows, plan.batch):
                    batch = chunk.slice(at, plan.batch)
                    arrays = [batch.column(name) for name in plan.keep] + scorer.score(batch, first)
                    pieces.append(pa.RecordBatch.from_arrays(arrays, schema=schema))
                    first += batch.num_rows
                writer.write_table(pa.Table.from_batches(pieces, schema))
        if first != part.first + part.rows:
            raise BadInput(f"{part.rows} rows were promised, and {first - part.first} found")

    write_whole(Path(part.target), write)


def try_part(scorer, part, plan, retries):
    """Scores a part; what comes back tells how it went. A disk or network that fails is tried again."""
    start, cpu = time.perf_counter(), time.process_time()
    tries, error = 0, None
    while True:
        tries += 1
        try:
            score_part(scorer, part, plan)
            error = None
            break
        except BadInput as e:
            error = str(e)
            break
        except (OSError, pa.ArrowException) as e:
            error = f"{type(e).__name__}: {e}"
            if tries > retries:
                break
            time.sleep(min(0.2 * 2**tries, 30))
    if error and not error.startswith(part.path):
        error = f"{part.path}: {error}"
    return {"rows": part.rows, "error": error, "tries": tries,
            "seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu}  # fmt: skip
