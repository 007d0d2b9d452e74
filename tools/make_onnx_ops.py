#!/usr/bin/env python3
"""Writes src/onnx/operators.def from onnx.defs: what the specification says about every operator version
of domain ai.onnx that a model of an opset of src/base/opsets.def can name, and about those of domain ai.onnx.ml.

usage: python tools/make_onnx_ops.py > src/onnx/operators.def        (onnx 1.23.2)

In the C file: first the sets of dtypes, then one ONNX_OP row a version (sorted by name and version) or
one ML_OP row, then the names, then the slots of a hash without collisions over the names.
"""
import re
import sys
from pathlib import Path

import numpy as np
import onnx

OPSETS = [[int(n) for n in row] for row in re.findall(
    r"^ONNX_OPSET\((\d+), +(\d+), (\d+),", (Path(__file__).resolve().parents[1] / "src/base/opsets.def").read_text(), re.M)]
OLDEST, NEWEST = OPSETS[0][0], OPSETS[-1][0]
OLDEST_ML, NEWEST_ML = 1, OPSETS[-1][2]
SLOTS_LOG2 = 12
# dtypes.def, by ONNX's name; what is missing here (complex is there, float8 and int4 are not) is
# left out of the sets
DTYPES = {
    "bool": "BOOL", "uint8": "UINT8", "uint16": "UINT16", "uint32": "UINT32", "uint64": "UINT64",
    "int8": "INT8", "int16": "INT16", "int32": "INT32", "int64": "INT64", "float16": "FLOAT16",
    "float": "FLOAT32", "double": "FLOAT64", "complex64": "COMPLEX64", "complex128": "COMPLEX128",
    "bfloat16": "BFLOAT16", "string": "STRING",
}
PTG = {v: v.lower() for v in DTYPES.values()}
KINDS = {"INT": "AT_INT", "FLOAT": "AT_FLOAT", "STRING": "AT_STR", "TENSOR": "AT_TENSOR", "INTS": "AT_INTS",
         "FLOATS": "AT_FLOATS", "STRINGS": "AT_STRS", "GRAPH": "AT_GRAPH"}


def tensor_dtype(type_str):
    """tensor(float) -> FLOAT32; None for sequences, optionals and dtypes that ptgc lacks"""
    if type_str.startswith("tensor(") and type_str.endswith(")"):
        return DTYPES.get(type_str[7:-1])
    return None


def quote(s):
    return '"' + s.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def default_text(attr):
    """the default of an attribute as text, or None"""
    v = attr.default_value
    if v.type == onnx.AttributeProto.UNDEFINED:
        return None
    if v.type == onnx.AttributeProto.FLOAT:
        return repr(float(str(np.float32(v.f))))
    if v.type == onnx.AttributeProto.STRING:
        return v.s.decode()
    if v.type == onnx.AttributeProto.INTS:
        return ", ".join(str(x) for x in v.ints)
    if v.type == onnx.AttributeProto.STRINGS:
        return ", ".join(x.decode() for x in v.strings)
    assert v.type == onnx.AttributeProto.INT
    return str(v.i)


def repeat(formal):
    option = onnx.defs.OpSchema.FormalParameterOption
    if formal.option == option.Optional:
        return "'?'"
    if formal.option == option.Variadic:
        return "'*'" if formal.min_arity == 0 else "'+'"
    return "0"


class Sets:
    """the distinct sets of dtypes, named in the order they turn up"""

    def __init__(self):
        self.names = {}

    def name(self, dtypes):
        key = tuple(d for d in DTYPES.values() if d in dtypes)
        return self.names.setdefault(key, f"S{len(self.names)}") if key else "0"

    def lines(self):
        for key, name in self.names.items():
            yield f"#define {name} (" + " | ".join(f"D({d})" for d in key) + ")"


def io(formals):
    def one(f):
        fixed = tensor_dtype(f.type_str)
        return f"{{{quote(f.name)}, {quote(PTG[fixed] if fixed else f.type_str)}, {repeat(f)}}}"
    if not formals:
        return "0, NULL"
    return f"{len(formals)}, IO(" + ", ".join(one(f) for f in formals) + ")"


def attributes(schema):
    rows = []
    for a in sorted(schema.attributes.values(), key=lambda a: a.name):
        kind = KINDS.get(str(a.type).split(".")[-1])
        if not kind:    # sparse tensors, type protos
            continue
        text = default_text(a)
        rows.append(f"{{{quote(a.name)}, {kind}, {int(a.required)}, {quote(text) if text is not None else 'NULL'}}}")
    return "ATTRS(" + ", ".join(rows + ["{NULL, 0, 0, NULL}"]) + ")"


def constraints(schema, sets):
    rows = [f"{{{quote(c.type_param_str)}, {sets.name({tensor_dtype(t) for t in c.allowed_type_strs} - {None})}}}"
            for c in schema.type_constraints]
    return "TYPES(" + ", ".join(rows + ["{NULL, 0}"]) + ")"


def versions(domain, oldest, newest):
    """(schema, until) of all versions that opsets oldest..newest of the domain can name, sorted by name and version"""
    by_name = {}
    for s in onnx.defs.get_all_schemas_with_history():
        if s.domain == domain and s.since_version <= newest:
            by_name.setdefault(s.name, []).append(s)
    for name in sorted(by_name):
        all_of = sorted(by_name[name], key=lambda s: s.since_version)
        ends = [s.since_version - 1 for s in all_of[1:]] + [newest]
        for s, until in zip(all_of, ends):
            if until >= oldest and not s.deprecated:
                yield s, until


def row(macro, s, until, sets):
    return (f"{macro}({s.name}, {s.since_version}, {until}, {io(list(s.inputs))}, {io(list(s.outputs))},\n"
            f"\t{attributes(s)}, {constraints(s, sets)})")


def name_hash(name, factor):
    h = 0
    for c in name.encode():
        h = ((h + c) * factor) & 0xFFFFFFFF
    return h >> (32 - SLOTS_LOG2)


def perfect_factor(names):
    factor = 0x9E3779B1
    while len({name_hash(n, factor) for n in names}) != len(names):
        factor = (factor + 2) & 0xFFFFFFFF
    return factor


def main():
    sets, rows, first = Sets(), [], {}
    for s, until in versions("", OLDEST, NEWEST):
        first.setdefault(s.name, len(rows))
        rows.append(row("ONNX_OP", s, until, sets))
    ml = [row("ML_OP", s, until, sets) for s, until in versions("ai.onnx.ml", OLDEST_ML, NEWEST_ML)]
    names = list(first)
    factor = perfect_factor(names)
    print("/*\n * The operators of ONNX, from onnx.defs: made by tools/make_onnx_ops.py (onnx "
          f"{onnx.__version__}), do not edit.\n"
          f" * ONNX_OP(name, since, until, inputs, outputs, attributes, types): the {len(rows)} versions that "
          f"opsets\n * {OLDEST} to {NEWEST} can name, sorted; ONNX_NAME(name, index of its first row); "
          "ONNX_SLOT(hash, index of the\n * name); ML_OP, as ONNX_OP: those of domain ai.onnx.ml, versions "
          f"{OLDEST_ML} to {NEWEST_ML}. A file defines what\n * it wants to see.\n */\n/* clang-format off */")
    print("#if defined(ONNX_OP) || defined(ML_OP)")
    print("\n".join(sets.lines()))
    print("#ifdef ONNX_OP")
    print("\n".join(rows))
    print("#undef ONNX_OP\n#endif\n#ifdef ML_OP")
    print("\n".join(ml))
    print("#undef ML_OP\n#endif")
    for key, name in sets.names.items():
        print(f"#undef {name}")
    print("#endif\n#ifdef ONNX_NAME")
    for n in names:
        print(f"ONNX_NAME({n}, {first[n]})")
    print("#undef ONNX_NAME\n#endif\n#ifdef ONNX_SLOT")
    print(f"#define ONNX_HASH_FACTOR 0x{factor:08x}u\n#define ONNX_HASH_BITS {SLOTS_LOG2}")
    for i, n in enumerate(names):
        print(f"ONNX_SLOT({name_hash(n, factor)}, {i})")
    print("#undef ONNX_SLOT\n#endif\n/* clang-format on */")
    print(f"{len(rows)} versions of {len(names)} operators, {len(sets.names)} sets of dtypes", file=sys.stderr)


if __name__ == "__main__":
    main()
