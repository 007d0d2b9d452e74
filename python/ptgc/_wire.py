"""Reads from the bytes of an ONNX model where its nodes come from, and its external tensors, without the onnx package.

A protobuf message is a sequence of fields: the field's number with its wire type, then a varint (type 0),
eight bytes (1), a length and that many bytes (2), or four bytes (5).
"""

from collections.abc import Iterator

GRAPH, MODEL_METADATA, NODE, INITIALIZER = 7, 14, 1, 5  # two fields of a model; two of a graph
NODE_NAME, NODE_OP, NODE_ATTRIBUTE, NODE_METADATA, ATTRIBUTE_GRAPH = 3, 4, 5, 9, 6
TENSOR_DIMS, TENSOR_DTYPE, TENSOR_NAME, TENSOR_EXTERNAL, TENSOR_LOCATION = 1, 2, 8, 13, 14


def varint(data, at) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data) -> Iterator[tuple[int, object]]:
    """Number and value of each field: an int, or a memoryview of bytes."""
    data, at = memoryview(data), 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(key & 7)
            if size is None:
                size, at = varint(data, at)
            value, at = data[at : at + size], at + size
        yield key >> 3, value


def entry(data) -> tuple[str, str]:
    pair = dict(fields(data))
    return str(pair.get(1, b""), "utf-8"), str(pair.get(2, b""), "utf-8")


def main_graph(model):
    return next(value for number, value in fields(model) if number == GRAPH)


def nodes(graph) -> Iterator[list]:
    """The fields of every node, in order; the nodes of an inner graph follow the node that it belongs to."""
    for number, value in fields(graph):
        if number == NODE:
            node = list(fields(value))
            yield node
            for inner, attribute in node:
                if inner == NODE_ATTRIBUTE:
                    for k, body in fields(attribute):
                        if k == ATTRIBUTE_GRAPH:
                            yield from nodes(body)


def model_metadata(model) -> dict[str, str]:
    return dict(entry(value) for number, value in fields(model) if number == MODEL_METADATA)


def metadata(model, name: str) -> dict[str, str]:
    """The metadata of the node of that name."""
    for node in nodes(main_graph(model)):
        if any(number == NODE_NAME and str(value, "utf-8") == name for number, value in node):
            return dict(entry(value) for number, value in node if number == NODE_METADATA)
    return {}


def external_tensors(model) -> Iterator[tuple[str, int, list[int], int, int]]:
    """Name, ONNX dtype, dims, offset and length of each initializer whose data are external."""
    for number, tensor in fields(main_graph(model)):
        if number != INITIALIZER:
            continue
        found, dims, where = {}, [], {}
        for k, value in fields(tensor):
            if k == TENSOR_DIMS:
                at = 0
                while not isinstance(value, int) and at < len(value):  # a packed field holds many
                    dim, at = varint(value, at)
                    dims.append(dim)
                dims += [value] if isinstance(value, int) else []
            elif k == TENSOR_EXTERNAL:
                where.update([entry(value)])
            else:
                found[k] = value
        if found.get(TENSOR_LOCATION) == 1:
            name = str(found[TENSOR_NAME], "utf-8")
            yield name, found[TENSOR_DTYPE], dims, int(where.get("offset", 0)), int(where["length"])
