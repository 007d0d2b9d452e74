#!/usr/bin/env python3
"""line_times.py MODEL [DIM=LENGTH...]: which lines of the .ptg text a model's time goes to, on inputs of ones.

ONNX Runtime's profiler gives the time of each node, and the node's metadata the place that it comes from:
"net.ptg:9:7 net.ptg:4:14" is line 4, of the fn that line 9 calls.
"""
import collections, json, os, sys

import numpy as np, onnx, onnxruntime as ort

path, runs = sys.argv[1], 20
lengths = dict(a.split("=") for a in sys.argv[2:])
options = ort.SessionOptions()
options.enable_profiling = True
session = ort.InferenceSession(path, options)
dtypes = {"float": "float32", "double": "float64"}
feed = {}
for i in session.get_inputs():
    shape = [d if isinstance(d, int) else int(lengths[d]) for d in i.shape]
    dtype = i.type.removeprefix("tensor(").removesuffix(")")
    feed[i.name] = np.ones(shape, dtypes.get(dtype, dtype))
for _ in range(runs):
    session.run(None, feed)
places = {n.name: p.value for n in onnx.load(path).graph.node for p in n.metadata_props if p.key == "ptg"}
times = collections.Counter()
profile = session.end_profiling()
for event in json.load(open(profile)):
    if event["cat"] == "Node" and event["name"].endswith("_kernel_time"):
        name = event["name"].removesuffix("_kernel_time")
        times[places.get(name, f"? {event['args']['op_name']}")] += event["dur"] / runs
os.remove(profile)
for place, us in times.most_common():
    print(f"{us:9.1f} us  {place}")
