#!/usr/bin/env python3
"""Writes src/target/costs_ort.def: what a node of ONNX Runtime's CPU provider takes.

usage: python tools/make_costs.py > src/target/costs_ort.def      (onnxruntime 1.31.1; five minutes)

A chain of nodes is run beside a longer one, on one thread and without graph optimizations; the difference is what
the further nodes take, the best of many runs. Of arrays of 1, 10,000 and 1,000,000 elements: a node costs what the first
takes, an element what the others take more. Absolute times differ by machine; their ratios are what counts.
"""
import sys
import time

import numpy as np
import onnxruntime as ort
from onnx import TensorProto as TP, helper as oh, numpy_helper as nh

DTYPES = {"FLOAT32": np.float32, "FLOAT64": np.float64, "INT64": np.int64}
SIZES = 1, 10_000, 1_000_000
# Of a node that reads p, an array of n elements of x's dtype: the operator, its inputs, its attributes. What does
# not give such an array is followed by a second node, whose own cost is taken off.
FORMS = {
    "Add": ("p x",), "Mul": ("p x",), "Where": ("c p x",), "Gather": ("p idx",), "Pad": ("p none",),
    "Slice": ("p zero n zero",), "Concat": ("p", {"axis": 0}), "Expand": ("p n",),
    "Less": ("p x", {}, "Where", "r x p"), "Cast": ("p", {"to": TP.BOOL}, "Where", "r x p"),
    "ReduceSum": ("p", {"keepdims": 1}, "Add", "r x"),
}  # fmt: skip
# Functions of floats alone, of 1 each: Min and Max see to that.
FUNCTIONS = {
    "Exp": ("p", {}, "Min", "r x"), "Log": ("p", {}, "Max", "r x"), "Pow": ("p half",), "Sigmoid": ("p",), "Sqrt": ("p",), "Tanh": ("p",),
}  # fmt: skip


def constants(n, dtype):
    values = {"half": np.array(0.5, dtype), "column": np.ones((n, 1), dtype), "c": np.arange(n) % 2 == 0, "idx": np.arange(n), "zero": np.zeros(1, int), "n": np.array([n]), "none": np.zeros(2, int)}
    return [nh.from_array(v, k) for k, v in values.items()]


def chain(form, op, n, dtype, count, inner=()):
    elem = oh.np_dtype_to_tensor_dtype(np.dtype(dtype))
    nodes, p = [], "x"
    for i in range(count):
        inputs, attrs, after, more = (*form, {}, None, "")[:4] if len(form) < 4 else form
        out = f"p{i}"
        name = {"p": p, "r": f"r{i}"}
        nodes.append(oh.make_node(op, [name.get(k, k) for k in inputs.split()], [f"r{i}" if after else out], **attrs))
        if after:
            nodes.append(oh.make_node(after, [name.get(k, k) for k in more.split()], [out]))
        p = out
    nodes.append(oh.make_node("Identity", [p], ["y"]))
    return session(nodes, elem, [n, *inner], constants(n, dtype))


def scan(n, dtype, op):
    """A loop of n steps that adds a number to a state, and stacks it."""
    elem = oh.np_dtype_to_tensor_dtype(np.dtype(dtype))
    out = [oh.make_tensor_value_info(name, elem, []) for name in ("s1", "row")]
    one = [nh.from_array(np.ones((), dtype), "one")]
    if op == "Scan":
        given = [oh.make_tensor_value_info("s", elem, []), *(oh.make_tensor_value_info(k, TP.INT64, []) for k in "kl")]
        body = oh.make_graph([oh.make_node("Add", ["s", "one"], ["s1"]), oh.make_node("Identity", ["s"], ["row"])], "body", given, out, one)
        nodes = [oh.make_node("Scan", ["first", "steps", "steps"], ["s_end", "rows"], body=body, num_scan_inputs=2)]
    else:
        given = [oh.make_tensor_value_info("i", TP.INT64, []), oh.make_tensor_value_info("go", TP.BOOL, []), oh.make_tensor_value_info("s", elem, [])]
        go = oh.make_tensor_value_info("go1", TP.BOOL, [])
        ends = [oh.make_node("Add", ["s", "one"], ["s1"]), oh.make_node("Identity", ["s"], ["row"]), oh.make_node("Identity", ["go"], ["go1"])]
        body = oh.make_graph(ends, "body", given, [go, *out], one)
        nodes = [oh.make_node("Loop", ["count", "", "first"], ["s_end", "rows"], body=body)]
    nodes.append(oh.make_node("Mul", ["x", "s_end"], ["y"]))
    values = [nh.from_array(v, k) for k, v in (("first", np.ones((), dtype)), ("steps", np.arange(n)), ("count", np.array(n)))]
    return session(nodes, elem, [1], values)


def ifs(results, dtype, count):
    """Ifs that give so many copies of the first result of the one before."""
    elem = oh.np_dtype_to_tensor_dtype(np.dtype(dtype))
    nodes, p = [], "x"
    for i in range(count):
        sides = []
        for side in "te":
            names = [f"{side}{i}_{k}" for k in range(results)]
            copies = [oh.make_node("Identity", [p], [name]) for name in names]
            sides.append(oh.make_graph(copies, side, [], [oh.make_tensor_value_info(name, elem, [1]) for name in names]))
        nodes.append(oh.make_node("If", ["yes"], [f"p{i}_{k}" for k in range(results)], then_branch=sides[0], else_branch=sides[1]))
        p = f"p{i}_0"
    nodes.append(oh.make_node("Identity", [p], ["y"]))
    return session(nodes, elem, [1], [nh.from_array(np.array(True), "yes")])


def session(nodes, elem, shape, values):
    used = {i for node in nodes for i in node.input}
    graph = oh.make_graph(nodes, "g", [oh.make_tensor_value_info("x", elem, shape)], [oh.make_tensor_value_info("y", elem, shape)],
                          [v for v in values if v.name in used])  # fmt: skip
    model = oh.make_model(graph, opset_imports=[oh.make_opsetid("", 18)], ir_version=8)
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    run = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run
    x = np.ones(shape, oh.tensor_dtype_to_np_dtype(elem))
    return lambda: run(None, {"x": x})


def further(short, long, count, seconds=0.25):
    """What `long` takes more than `short`, in nanoseconds for each of `count`."""
    best, end = [np.inf, np.inf], time.perf_counter() + seconds
    while time.perf_counter() < end:
        for i, run in enumerate((short, long)):
            start = time.perf_counter()
            run()
            best[i] = min(best[i], time.perf_counter() - start)
    return (best[1] - best[0]) / count * 1e9


def costs(op, form, dtype):
    if op == "If":
        copy = further(chain(("p",), "Identity", 1, dtype, 4), chain(("p",), "Identity", 1, dtype, 44), 40)
        one, five = (further(ifs(n, dtype, 4), ifs(n, dtype, 44), 40) for n in (1, 5))
        each = (five - one) / 4 - copy
        return one - copy - each, each, each
    if op in ("Loop", "Scan"):
        step = further(scan(100, dtype, op), scan(1100, dtype, op), 1000, 0.5)
        return 0, step, step
    if op == "MatMul":
        one, many = (further(chain(("p x",), op, n, dtype, 4, (4, 4)), chain(("p x",), op, n, dtype, 44, (4, 4)), 40) for n in (1, 1001))
        each = (many - one) / 1000
        return one - each, each, each
    times = []
    for n in SIZES:
        few, many = (4, 44) if n < 100_000 else (2, 8)
        at = further(chain(form, op, n, dtype, few), chain(form, op, n, dtype, many), many - few, 0.25 if n < 100_000 else 0.8)
        if len(form) > 2:
            after = (form[3].replace("r", "c" if form[2] == "Where" else "x"),)
            at -= further(chain(after, form[2], n, dtype, few), chain(after, form[2], n, dtype, many), many - few)
        times.append(max(at, 0))
    node, near, far = times
    return node, (near - node) / SIZES[1], (far - node) / SIZES[2]


def run_cost(dtype):
    """What a run of a broadcast takes: x + column for x of [n, 4], where all elements are read in turn in x + x."""
    n = 1000
    whole, runs = (further(chain(f, "Add", n, dtype, 4, (4,)), chain(f, "Add", n, dtype, 44, (4,)), 40) for f in (("p x",), ("p column",)))
    return (runs - whole) / n


def machine():
    """What /proc/cpuinfo calls the processor"""
    return next(line.split(": ", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name"))


def main():
    print(f"""/*
 * What nodes of ONNX Runtime {ort.__version__} take on one core of {machine()}: made by tools/make_costs.py,
 * do not edit. COST(operator, dtype of the first numbers, nanoseconds of a node, of each element of
 * a small array, and of one that is larger than the cache). Of ReduceSum the elements that are added up count; of MatMul the
 * matrices, of 4 rows and columns; of Loop and Scan the steps, with a state, a stacked result and,
 * in Scan, two sequences, and of If the results, without what they compute. RUN(dtype, nanoseconds
 * of a run of a broadcast, its elements apart).
 */
/* clang-format off */""")
    rows = [(op, form, t) for t in DTYPES for op, form in [*FORMS.items(), *(FUNCTIONS.items() if t != "INT64" else ()), ("MatMul", None), ("Loop", None), ("Scan", None), ("If", None)]]
    # three times, apart from each other: what another process slows down is fast the next time
    best = np.min([[costs(op, form, DTYPES[t]) for op, form, t in rows] for _ in range(3)], axis=0)
    for (op, form, t), (node, near, far) in zip(rows, best, strict=True):
        if op in ("Loop", "Scan"):
            near = far = near - best[rows.index(("Add", FORMS["Add"], t))][0]
        print(f"COST({op}, {t}, {node:.0f}, {max(near, 0.01):.3g}, {max(far, near, 0.01):.3g})")
    for t in DTYPES:
        print(f"RUN({t}, {min(run_cost(DTYPES[t]) for _ in range(3)):.3g})")
    print("/* clang-format on */\n#undef COST\n#undef RUN")


if __name__ == "__main__":
    sys.exit(main())
