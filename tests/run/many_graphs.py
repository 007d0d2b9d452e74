"""Random graphs in bulk: mode="ONNX" at the level exact, beside PyTensor's Python code without any rewrite.

`many_graphs.py [--native] [--graphs 100000] [--first 0] [--log FILE]` appends a line of JSON to FILE for each difference, and one of
counts for each 1000 graphs; a run that was stopped goes on behind the last of those. A graph may differ in these ways:

    rewrites   PyTensor's rewrites changed what PyTensor's own code computes; the mode follows them. If what differs is but
    nan        elements that are NaN or infinite before, as x / x becomes 1 for 0, too,
    zero       signs of zeros, or
    rounding   last places, it is counted as that
    mode       the model gives something else than PyTensor's code for the graph after its rewrites
    compile    the compiler refuses it, and test_property.py does not allow for that
    run        the model fails
    invalid    PyTensor's code computes the graph, but not that which its rewrites made of it
    warning    a rewrite of PyTensor's raised an exception, which PyTensor reports and goes on

With --native it is mode="NATIVE", whose C is compiled at -O1, and a graph takes about as long as gcc takes for it.
`many_graphs.py --show 4711` prints graph 4711, how it differs, and which of PyTensor's rewrites does it: without that one
it does not differ. A finding becomes a test of its own.
"""

import argparse
import gc
import json
import logging
import os
import random
import re
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2] / "python")]

os.environ.setdefault("PYTENSOR_FLAGS", "cxx=,traceback__limit=1")  # PyTensor compiles no C

import numpy as np  # noqa: E402
import pytensor  # noqa: E402
from evaluated import Differs, Evaluated  # noqa: E402
from graphs import NARROW, SHAPING, Graph  # noqa: E402
from pytensor.graph.features import Feature  # noqa: E402
from test_property import refused, sinks  # noqa: E402

import ptgc  # noqa: E402
from ptgc._printer import print_graph  # noqa: E402
from ptgc.linker import NativeLinker, NativeMode, ONNXLinker, ONNXMode  # noqa: E402
from ptgc.rewrites import EXCLUDE, INCLUDE, Query  # noqa: E402

SECONDS = 120  # for one graph
PART = 1000
SESSION = {"intra_op_num_threads": 1, "log_severity_level": 4}
OPSETS = 13, 18, 21, 26
C = 98  # mode="NATIVE", as if it were an opset above all others: nothing that ONNX has is missing there


def mode_without(*names, opset=None):
    """mode="ONNX" without the rewrites of these names, or mode="NATIVE" """
    rewrites = Query(include=INCLUDE, exclude=[*EXCLUDE, *names])
    if opset == C:
        return NativeMode(NativeLinker(math="exact", cflags=["-O1"]), rewrites)
    return ONNXMode(ONNXLinker(math="exact", opset=opset, session_options=SESSION), rewrites)


MODES = {opset: mode_without(opset=opset) for opset in (*OPSETS, C)}


def graph_of(number):
    """Graph `number` and its outputs: always the same one"""
    drawn = random.Random(number)
    pick = lambda n: drawn.randrange(n) if n > 1 else 0
    kind = pick(4)
    graph = Graph(pick, dtypes=NARROW if kind == 1 else (), ops=SHAPING if kind in (1, 2) else ())
    for _ in range(1 + pick(3)):
        graph.input()
    for _ in range(1 + pick(5 if pick(12) else 25)):
        graph.add()
    return graph, sinks(graph)


class Warnings(logging.Handler):
    """What PyTensor reports while it rewrites"""

    def __init__(self):
        super().__init__()
        self.said = []

    def emit(self, record):
        if found := re.search(r"Rewrite failure due to: (\w+)", record.getMessage()):
            self.said.append(found[1])


class Reasons(Feature):
    """The names of the rewrites that changed a graph"""

    def __init__(self, found):
        self.found = found

    def on_change_input(self, fgraph, node, i, r, new_r, reason=None):
        for name in re.findall(r"\w+", str(reason)):
            self.found.setdefault(name)


def kind_of(got, want):
    """What differs, if it is less than a wrong number; else None"""
    if want.dtype.kind != "f":
        return None
    known = np.isfinite(want)
    far = np.abs(got.astype("float64") - want)[known] > 32 * np.finfo(want.dtype).eps * np.abs(want.astype("float64"))[known]
    return None if far.any() else "nan" if not known.all() else "rounding" if (got != want).any() else "zero"


def differences(number, mode=None, native=False):
    """[(kind of difference, message)] of a graph"""
    graph, outputs = graph_of(number)
    opset = C if native else OPSETS[number % len(OPSETS)]
    if not outputs:
        return []
    warnings, log, found = Warnings(), logging.getLogger("pytensor.graph.rewriting.basic"), []

    def check(kind, compare):
        for k, (v, w) in enumerate(zip(outputs, fgraph.outputs, strict=True)):
            try:
                compare(k, v, w)
            except Differs as e:
                found.append((kind == "rewrites" and kind_of(e.got, e.want) or kind, str(e)))
            except AssertionError as e:
                found.append((kind, str(e)))

    values = [graph.value(v) for v in graph.inputs]
    handlers, log.handlers = log.handlers, [warnings]
    propagate, log.propagate = log.propagate, False
    try:
        f = pytensor.function(graph.inputs, outputs, mode=mode or MODES[opset], on_unused_input="ignore")
    except Exception as e:
        if isinstance(e, ptgc.CompileError | ptgc.UnsupportedError) and refused(e, opset):
            return []
        return [("compile", f"{type(e).__name__}: {e}")]
    finally:
        log.handlers, log.propagate = handlers, propagate
    found += [("warning", name) for name in dict.fromkeys(warnings.said)]
    fgraph, again = f.maker.fgraph, Evaluated()
    for v, value in zip(fgraph.inputs, values, strict=True):
        again.set(v, value)
    try:
        again.run(fgraph.outputs)
    except Exception as e:
        again = None
        found.append(("invalid", f"{type(e).__name__}: {e}"))
    else:
        check("rewrites", lambda k, v, w: graph.all.compare(v, np.asarray(again.value[w]), f"output {k}", (again, w)))
    try:
        got = f(*values)
    except Exception as e:
        return [*found, ("run", f"{type(e).__name__}: {e}")]
    if again:
        check("mode", lambda k, v, w: again.compare(w, np.asarray(got[k]), f"output {k}"))
    else:
        check("mode", lambda k, v, w: graph.all.compare(v, np.asarray(got[k]), f"output {k}"))
    return found


def blame(number, native):
    """The rewrites without which a graph does not differ"""
    graph, outputs = graph_of(number)
    names = {}
    fgraph = pytensor.graph.FunctionGraph(graph.inputs, outputs, clone=True)
    fgraph.attach_feature(Reasons(names))
    MODES[18].optimizer.rewrite(fgraph)
    kinds = {kind for kind, _ in differences(number, native=native)}
    without = lambda n: mode_without(n, opset=C if native else None)
    return [n for n in names if {kind for kind, _ in differences(number, without(n), native)} < kinds]


def show(number, native):
    graph, outputs = graph_of(number)
    print(f"# graph {number}\n{print_graph(graph.inputs, outputs).text}")
    for v in graph.inputs:
        print(f"{v} {v.type} = {graph.value(v)!r}")
    for kind, message in differences(number, native=native):
        print(f"{kind}: {message}")
    print("not without:", *blame(number, native))


def too_long(*_):
    raise TimeoutError


def in_time(number, native):
    signal.alarm(SECONDS)
    try:
        return differences(number, native=native)
    except Exception as e:
        return [("harness", f"{type(e).__name__}: {e}")]
    finally:
        signal.alarm(0)


def run(first, end, log, native):
    lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    first = max([first, *(k["end"] for k in lines if "end" in k)])
    signal.signal(signal.SIGALRM, too_long)
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)
    with log.open("a") as out:
        write = lambda **facts: print(json.dumps(facts), file=out, flush=True)
        for start in range(first, end, PART):
            stop, counts, began = min(start + PART, end), Counter(), time.time()
            for number in range(start, stop):
                for kind, message in in_time(number, native):
                    counts[kind] += 1
                    write(graph=number, kind=kind, message=message)
            write(first=start, end=stop, counts=counts, seconds=round(time.time() - began))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--graphs", type=int, default=100000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--log", type=Path, default="build/many_graphs.log")
    parser.add_argument("--show", type=int, nargs="*", default=[])
    parser.add_argument("--native", action="store_true")
    args = parser.parse_args()
    np.seterr(all="ignore")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PTGC_CACHE"] = folder  # nobody calls these libraries again
        for number in args.show:
            show(number, args.native)
        if not args.show:
            run(args.first, args.first + args.graphs, args.log, args.native)
