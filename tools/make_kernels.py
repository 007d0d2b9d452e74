#!/usr/bin/env python3
"""Finds which operator versions a runtime runs, for which dtypes.

usage: python tools/make_kernels.py --probe > found.json   (what the installed onnxruntime has; tools/probe_release.py
                                                            does this, and writes src/target/kernels_ort.def)
       python tools/make_kernels.py --runs-on web > src/target/kernels_web.def
       python tools/make_kernels.py --runs-on ort-old web openvino > src/target/kernels_portable.def

For every opset of src/base/opsets.def, every operator and every type variable of its
schema, a model of one node is made for each dtype, loaded with graph optimizations off, and run. It has a kernel when that
works and the node is still there afterwards; a node that the runtime replaced by its function body
has none, unless the operator has no kernel for any dtype: then the body is how it runs. For the
operators in JOINT all combinations of dtypes are tried. Children do the running, so that a crash
costs one probe.

--runs-on: the same probes, at the first opset of each version, by the drivers of tests/runtimes; a row is written
where one of these runtimes does not give what onnxruntime in Python gives.
"""
import itertools
import json
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto as TP, helper as oh, numpy_helper as nh

from make_onnx_ops import DTYPES, NEWEST, OLDEST, Sets, versions

warnings.simplefilter("ignore")
ENUM = {n: getattr(TP, n.upper()) for n in DTYPES}
NAME = {v: k for k, v in ENUM.items()}
FEEDABLE = [d for d in DTYPES if d not in ("bfloat16", "complex64", "complex128")]


def f(*shape):
    return np.random.RandomState(7).uniform(0.2, 2.6, shape).astype(np.float32)


def i64(*v):
    return np.array(v, np.int64)


def s64(v):
    return np.array(v, np.int64)


def templates():
    """op -> (inputs, attributes[, number of outputs]): the smallest node that runs"""
    t = {}
    for o in ("Abs Acosh Ceil Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid HardSwish Identity IsInf IsNaN LeakyRelu Log Mish Neg "
              "Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh Asinh Atan Softplus Softsign Sqrt Swish Tan Tanh "
              "ThresholdedRelu Celu BitwiseNot Shape Size NonZero LogSoftmax Softmax Hardmax Flatten Transpose EyeLike "
              "Bernoulli RandomNormalLike RandomUniformLike LpNormalization").split():
        t[o] = ([f(3, 4)], {})
    for o in ("Acos", "Asin", "Atanh"):
        t[o] = ([f(3, 4) / 3], {})
    for o in ("Add Sub Mul Div Pow Equal Greater GreaterOrEqual Less LessOrEqual Max Min Mean Sum PRelu BitwiseAnd BitwiseOr "
              "BitwiseXor").split():
        t[o] = ([f(3, 4), f(3, 4) + 1], {})
    for o in ("And", "Or", "Xor"):
        t[o] = ([np.array([True, False]), np.array([True, True])], {})
    for o in "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare".split():
        t["Reduce" + o] = ([f(3, 4), i64(1)], {"keepdims": 0, "axes": [1]})
    for o in ("ArgMax", "ArgMin"):
        t[o] = ([f(3, 4)], {"axis": 1, "keepdims": 0})
    for o in ("AveragePool", "MaxPool", "LpPool"):
        t[o] = ([f(1, 1, 4, 4)], {"kernel_shape": [2, 2]})
    for o in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"):
        t[o] = ([f(1, 1, 4, 4)], {})
    for o in ("HannWindow", "HammingWindow", "BlackmanWindow"):
        t[o] = ([s64(5)], {})
    for o in ("RandomNormal", "RandomUniform"):
        t[o] = ([], {"shape": [3]})
    mask = np.array([[True, False, True, False]])
    words = np.array(["a b", "c d"], object)
    t.update({
        "Not": ([np.array([True, False])], {}), "Mod": ([f(3, 4) * 5, f(3, 4) + 1], {"fmod": "AUTO"}),
        "BitShift": ([f(3, 4), f(3, 4)], {"direction": "LEFT"}), "BitCast": ([f(3, 4)], {}), "Cast": ([f(3, 4)], {"to": TP.FLOAT}),
        "CastLike": ([f(3, 4), f(1)], {}), "Where": ([mask, f(3, 4), f(3, 4) + 1], {}),
        "Clip": ([f(3, 4), np.float32(1), np.float32(2)], {}), "MatMul": ([f(2, 3), f(3, 4)], {}),
        "Gemm": ([f(2, 3), f(3, 4), f(2, 4)], {}), "Einsum": ([f(2, 3), f(3, 4)], {"equation": "ij,jk->ik"}),
        "Det": ([f(3, 3)], {}), "CumSum": ([f(3, 4), s64(1)], {}), "CumProd": ([f(3, 4), s64(1)], {}), "TopK": ([f(3, 4), i64(2)], {}, 2),
        "Attention": ([f(1, 2, 3, 4)] * 3, {}), "Unique": ([f(6)], {"sorted": 1}), "Gather": ([f(3, 4), i64(0, -1)], {}),
        "GatherElements": ([f(3, 4), np.array([[0, 1, 2, 0]])], {}), "GatherND": ([f(3, 4), np.array([[0, 1], [2, 3]])], {}),
        "ScatterElements": ([f(3, 4), np.array([[0, 1, 2, 0]]), f(1, 4)], {}),
        "ScatterND": ([f(3, 4), np.array([[0, 1], [2, 3]]), f(2)], {}),
        "TensorScatter": ([f(1, 2, 4, 3), f(1, 2, 1, 3), i64(0)], {"axis": 2}),
        "Slice": ([f(3, 4), i64(0), i64(2), i64(1), i64(1)], {}), "Concat": ([f(3, 4), f(3, 4)], {"axis": 0}),
        "Split": ([f(4, 2), i64(1, 3)], {"axis": 0}, 2), "Reshape": ([f(3, 4), i64(4, 3)], {}),
        "Squeeze": ([f(3, 1), i64(1)], {}), "Unsqueeze": ([f(3, 4), i64(1)], {}), "Expand": ([f(1, 4), i64(3, 4)], {}),
        "Tile": ([f(3, 4), i64(2, 1)], {}), "Pad": ([f(3, 4), i64(0, 1, 0, 1), np.float32(1)], {}),
        "Trilu": ([f(3, 4), s64(0)], {}), "Range": ([np.float32(0), np.float32(5), np.float32(2)], {}),
        "ConstantOfShape": ([i64(2, 3)], {}), "Constant": ([], {}), "OneHot": ([i64(0, 2), s64(3), np.float32([0, 1])], {}),
        "Compress": ([f(3, 4), np.array([True, False, True])], {"axis": 0}),
        "ReverseSequence": ([f(3, 2), i64(3, 2)], {"time_axis": 0, "batch_axis": 1}), "Multinomial": ([f(2, 3)], {"sample_size": 4}),
        "Dropout": ([f(3, 4), np.float32(0.5), np.array(False)], {}), "DepthToSpace": ([f(1, 4, 2, 2)], {"blocksize": 2}),
        "SpaceToDepth": ([f(1, 1, 4, 4)], {"blocksize": 2}), "Conv": ([f(1, 1, 5, 5), f(1, 1, 3, 3)], {}),
        "ConvTranspose": ([f(1, 1, 5, 5), f(1, 1, 3, 3)], {}),
        "MaxRoiPool": ([f(1, 1, 6, 6), np.float32([[0, 0, 0, 3, 3]])], {"pooled_shape": [2, 2]}),
        "MaxUnpool": ([f(1, 1, 2, 2), np.array([[[[5, 7], [13, 15]]]])], {"kernel_shape": [2, 2], "strides": [2, 2]}),
        "BatchNormalization": ([f(1, 2, 3), f(2), f(2), f(2), f(2)], {}), "InstanceNormalization": ([f(1, 2, 3), f(2), f(2)], {}),
        "LayerNormalization": ([f(3, 4), f(4)], {}), "RMSNormalization": ([f(3, 4), f(4)], {}),
        "MeanVarianceNormalization": ([f(1, 2, 3, 3)], {}), "LRN": ([f(1, 2, 3, 3)], {"size": 3}),
        "Resize": ([f(1, 1, 2, 2), f(8), np.float32([1, 1, 2, 2])], {"mode": "nearest"}),
        "GridSample": ([f(1, 1, 3, 3), f(1, 2, 2, 2)], {"mode": "AUTO"}), "AffineGrid": ([f(1, 2, 3), i64(1, 1, 2, 2)], {}),
        "DFT": ([f(1, 4, 1), s64(4)], {}), "STFT": ([f(1, 16, 1), s64(4), f(8)], {}), "CenterCropPad": ([f(3, 4), i64(2, 2)], {}),
        "Col2Im": ([f(1, 4, 4), i64(4, 4), i64(2, 2)], {"strides": [2, 2]}),
        "MatMulInteger": ([f(2, 3).astype(np.uint8), f(3, 4).astype(np.uint8)], {}),
        "NegativeLogLikelihoodLoss": ([f(3, 4), i64(0, 1, 2)], {}), "SoftmaxCrossEntropyLoss": ([f(3, 4), i64(0, 1, 2)], {}),
        "MelWeightMatrix": ([s64(4), s64(16), s64(8000), np.float32(0), np.float32(4000)], {}),
        "RoiAlign": ([f(1, 1, 6, 6), np.float32([[0, 0, 3, 3]]), i64(0)], {"output_height": 2, "output_width": 2}),
        "StringConcat": ([words, words], {}), "StringSplit": ([words], {}, 2), "RegexFullMatch": ([words], {"pattern": "a"}),
        "StringNormalizer": ([words], {}),
    })
    return t


# variables that an attribute sets
BY_ATTRIBUTE = {("EyeLike", "T2"): "dtype", ("RandomNormal", "T"): "dtype", ("RandomUniform", "T"): "dtype",
                ("RandomNormalLike", "T2"): "dtype", ("RandomUniformLike", "T2"): "dtype", ("Bernoulli", "T2"): "dtype",
                ("Multinomial", "T2"): "dtype", ("Cast", "T2"): "to", ("BitCast", "T2"): "to", ("HannWindow", "T2"): "output_datatype",
                ("HammingWindow", "T2"): "output_datatype", ("BlackmanWindow", "T2"): "output_datatype",
                ("MelWeightMatrix", "T3"): "output_datatype", ("Constant", "T"): "value", ("ConstantOfShape", "T2"): "value"}
# all combinations of their dtypes are tried
JOINT = {"OneHot", "Pow", "CumSum", "CumProd", "Cast", "BitCast", "EyeLike", "RandomNormalLike", "RandomUniformLike", "Bernoulli",
         "Multinomial", "MatMulInteger", "Dropout", "LayerNormalization", "RMSNormalization", "BatchNormalization", "Attention",
         "GridSample", "MaxUnpool", "AffineGrid"}
BLOCKS = {"If": "V", "Loop": "V", "Scan": "V"}
_backend = {}


def backend_template(op):
    """inputs and attributes of the smallest test that onnx has for the operator"""
    if not _backend:
        from onnx.backend.test.case.node import collect_testcases
        for case in collect_testcases(None):
            if len(case.model.graph.node) != 1 or "_expanded" in case.name:
                continue
            n = case.model.graph.node[0]
            data = case.data_sets[0][0] if case.data_sets else []
            if not all(isinstance(x, (np.ndarray, np.generic)) for x in data):
                continue
            it = iter(data)
            ins = [np.asarray(next(it)) if x else None for x in n.input]
            size = sum(x.size for x in ins if x is not None)
            if n.op_type not in _backend or size < _backend[n.op_type][0]:
                _backend[n.op_type] = (size, ins, {a.name: a for a in n.attribute}, len(n.output))
    return _backend[op][1:] if op in _backend else None


TEMPLATES = templates()


def template(schema):
    """(inputs, attributes, number of outputs) that this version of the operator takes, or None"""
    t = TEMPLATES.get(schema.name) or backend_template(schema.name)
    if t is None:
        return None
    ins, attrs = list(t[0])[:schema.max_input], {k: a for k, a in t[1].items() if k in schema.attributes}
    if schema.name == "GridSample":
        attrs["mode"] = "linear" if schema.since_version >= 20 else "bilinear"
    if schema.name == "DFT":
        ins = ins[:1]
        if schema.since_version < 20:
            attrs["axis"] = 1
    return ins, attrs, (t[2] if len(t) > 2 else 1)


def retyped(a, dtype):
    """the array as (NumPy array or None, TensorProto) of ONNX dtype `dtype`"""
    a = np.asarray(a)
    if dtype == "string":
        x = np.array([v if a.dtype == object else str(int(v)) for v in a.ravel()], object).reshape(a.shape)
        return x, oh.make_tensor("x", TP.STRING, a.shape, [s.encode() for s in x.ravel()])
    if a.dtype == object:
        raise ValueError("text")
    to = oh.tensor_dtype_to_np_dtype(ENUM[dtype])
    if dtype == "bool":
        x = np.asarray(a > np.median(a) if a.dtype.kind == "f" and a.size else a.astype(bool))
    elif np.dtype(to).kind in "iu" and a.dtype.kind == "f":
        x = np.asarray(np.round(a).astype(to))
    else:
        x = np.asarray(a.astype(to))
    if dtype in FEEDABLE:
        return x, nh.from_array(x)
    return None, oh.make_tensor("x", ENUM[dtype], a.shape, np.ascontiguousarray(x).tobytes(), raw=True)


def model(nodes, inputs, outputs, inits, opset):
    g = oh.make_graph(nodes, "g", inputs, outputs, initializer=inits)
    return oh.make_model(g, opset_imports=[oh.make_opsetid("", opset)], ir_version=8 if opset <= 20 else 10)


def allowed(schema):
    return {c.type_param_str: [d for d in DTYPES if f"tensor({d})" in c.allowed_type_strs] for c in schema.type_constraints}


def build(op, opset, dtypes):
    """(model, feeds, variables that the model sets) with the variables `dtypes` set as wished"""
    schema = onnx.defs.get_schema(op, opset, "")
    if op in BLOCKS:
        return build_block(op, opset, dtypes["V"])
    ins, attrs, nout = template(schema)
    cons, bound, set_vars = allowed(schema), dict(dtypes), set()
    names, inits, infos, feeds = [], [], [], {}
    for k, a in enumerate(ins):
        var = schema.inputs[min(k, len(schema.inputs) - 1)].type_str
        if a is None:
            names.append("")
            continue
        own = "string" if np.asarray(a).dtype == object else NAME[oh.np_dtype_to_tensor_dtype(np.asarray(a).dtype)]
        if var in cons:
            usual = [d for d in (own, "float", "int64", "uint8", "int32", "bool") if d in cons[var]] + cons[var]
            d = bound.setdefault(var, usual[0])
            set_vars.add(var)
        else:
            d = var[7:-1]
        x, tensor = retyped(a, d)
        names.append(f"i{k}")
        tensor.name = names[-1]
        if d in FEEDABLE:
            infos.append(oh.make_tensor_value_info(names[-1], ENUM[d], x.shape))
            feeds[names[-1]] = x
        else:
            inits.append(tensor)
    for (o, var), attr in BY_ATTRIBUTE.items():
        if o == op and var in cons and attr in schema.attributes and var in dtypes:
            set_vars.add(var)
            attrs[attr] = ENUM[dtypes[var]] if attr != "value" else retyped(f(1), dtypes[var])[1]
    if op == "Mod":
        attrs["fmod"] = int("float" in bound["T"] or bound["T"] == "double")
    node = oh.make_node(op, names, [f"o{j}" for j in range(nout)])
    for k, v in attrs.items():
        node.attribute.append(v if isinstance(v, onnx.AttributeProto) else oh.make_attribute(k, v))
    return model([node], infos, [onnx.ValueInfoProto(name=o) for o in node.output], inits, opset), feeds, set_vars


def build_block(op, opset, dtype):
    _, x = retyped(f(2, 3), dtype)
    x.name = "x"

    def info(name, d=dtype, shape=None):
        return oh.make_tensor_value_info(name, ENUM[d], shape)

    def same(a, b):
        return oh.make_node("Identity", [a], [b])
    if op == "If":
        branches = [oh.make_graph([same("x", n)], n, [], [info(n)]) for n in "ab"]
        node = oh.make_node("If", ["c"], ["y"], then_branch=branches[0], else_branch=branches[1])
        return model([node], [], [info("y")], [x, nh.from_array(np.array(True), "c")], opset), {}, {"V"}
    if op == "Loop":
        body = oh.make_graph([same("ci", "co"), same("v", "vo"), same("v", "so")], "b",
                             [info("it", "int64", []), info("ci", "bool", []), info("v")], [info("co", "bool", []), info("vo"), info("so")])
        node = oh.make_node("Loop", ["n", "", "x"], ["y", "ys"], body=body)
        return model([node], [], [info("y"), info("ys")], [x, nh.from_array(s64(2), "n")], opset), {}, {"V"}
    body = oh.make_graph([same("v", "vo"), same("xi", "so")], "b", [info("v"), info("xi")], [info("vo"), info("so")])
    node = oh.make_node("Scan", ["x", "x"], ["y", "ys"], body=body, num_scan_inputs=1)
    return model([node], [], [info("y"), info("ys")], [x], opset), {}, {"V"}


def probe(op, opset, dtypes, path):
    """kernel, body (the runtime expanded the node), none, or unset (the model cannot set the variable)"""
    import onnxruntime as ort
    try:
        m, feeds, set_vars = build(op, opset, dtypes)
    except (ValueError, TypeError):
        return "none"
    if not set(dtypes) <= set_vars:
        return "unset"
    so = ort.SessionOptions()
    so.log_severity_level = 4
    so.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    so.intra_op_num_threads = 1
    so.optimized_model_filepath = path
    try:
        s = ort.InferenceSession(m.SerializeToString(), so, providers=["CPUExecutionProvider"])
        if any("bfloat16" in o.type for o in s.get_outputs()):  # cannot be fetched as NumPy arrays
            s.run_with_ort_values([o.name for o in s.get_outputs()], {k: ort.OrtValue.ortvalue_from_numpy(v) for k, v in feeds.items()})
        else:
            s.run(None, feeds)
    except Exception:
        return "none"
    left = [n.op_type for n in onnx.load(path).graph.node]
    return "kernel" if op in left or op == "Constant" else "body"


def child():
    import onnxruntime as ort
    ort.set_default_logger_severity(4)
    np.seterr(all="ignore")
    path = f"/dev/shm/probe{os.getpid()}.onnx" if os.path.isdir("/dev/shm") else f"probe{os.getpid()}.onnx"
    for line in sys.stdin:
        op, opset, dtypes = json.loads(line)
        print("\t" + probe(op, opset, dtypes, path), flush=True)
    if os.path.exists(path):
        os.remove(path)


def run(tasks):
    """the answers of probe() for all tasks, in order"""
    answers = []
    while len(answers) < len(tasks):
        p = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--child"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True)
        while len(answers) < len(tasks):
            try:
                p.stdin.write(json.dumps(tasks[len(answers)]) + "\n")
                p.stdin.flush()
            except BrokenPipeError:
                break
            line = p.stdout.readline()
            while line and not line.startswith("\t"):
                line = p.stdout.readline()
            if not line:
                answers.append("none")  # it died
                break
            answers.append(line.strip())
        try:
            p.stdin.close()
        except BrokenPipeError:
            pass
        p.wait()
    return answers


def make_tasks(newest=NEWEST):
    tasks = []
    for s, until in versions("", OLDEST, NEWEST):
        cons = allowed(s)
        if s.name in BLOCKS:
            cons = {"V": cons["V"]}
        elif not all(cons.values()) or template(s) is None:  # sequences, optionals
            continue
        opsets = range(max(OLDEST, s.since_version), min(until, newest) + 1)
        for opset in opsets:
            if not cons:
                tasks.append((s.name, opset, {}))
            for v, ds in cons.items():
                tasks += [(s.name, opset, {v: d}) for d in ds]
        if opsets and s.name in JOINT and len(cons) > 1:
            tasks += [(s.name, opsets[-1], dict(zip(cons, ds))) for ds in itertools.product(*cons.values())]
    return tasks


def merged(combinations):
    """the combinations of dtypes as few rows of sets: a row stands for the product of its sets"""
    rows = {tuple(frozenset([d]) for d in c) for c in combinations}
    for i in reversed(range(len(next(iter(rows), ())))):
        groups = {}
        for r in rows:
            groups.setdefault(r[:i] + r[i + 1:], set()).update(r[i])
        rows = {k[:i] + (frozenset(ds),) + k[i:] for k, ds in groups.items()}
    return sorted(rows, key=lambda r: [sorted(x) for x in r])


def version_rows(s, answers):
    """rows of sets (one a type variable, in the order of the schema) for one version"""
    variables = [c.type_param_str for c in s.type_constraints]
    working = {"kernel"} if "kernel" in answers.values() else {"body"}
    single, joint, unset = {}, {}, set()
    for (opset, dtypes), a in answers.items():
        if a == "unset":
            unset |= {v for v, _ in dtypes} if len(dtypes) == 1 else set()
        elif len(dtypes) <= 1:
            single.setdefault(dtypes, set()).add(a in working)
        else:
            joint[dtypes] = a in working
    for d, seen in single.items():
        if len(seen) > 1:
            print(f"note: {s.name} {s.since_version} {d}: not the same at all opsets of this version; left out", file=sys.stderr)
    if joint:
        combos = [tuple(dict(d)[v] for v in variables if v in dict(d)) for d, ok in joint.items() if ok]
        covered = [v for v in variables if v in dict(next(iter(joint)))]
        rows = [dict(zip(covered, r)) for r in merged(combos)]
    else:
        rows = [{}]
        for d, seen in single.items():
            for v, t in d:
                rows[0].setdefault(v, set())
                if seen == {True}:
                    rows[0][v].add(t)
        rows = [r for r in rows if all(r.values())] if not any(len(d) == 0 for d in single) else rows
        if single.get((), {True}) != {True}:
            rows = []
    full = allowed(s)
    return [[r.get(v, full[v]) for v in variables] for r in rows], unset


def newest_versions():
    """the newest opset, version of ai.onnx.ml and IR version of which this onnxruntime loads a model"""
    import onnxruntime as ort

    def loads(opset, ml, ir):
        info = [oh.make_tensor_value_info(n, TP.FLOAT, [1]) for n in "xy"]
        g = oh.make_graph([oh.make_node("Identity", ["x"], ["y"])], "g", info[:1], info[1:])
        sets = [oh.make_opsetid("", opset), oh.make_opsetid("ai.onnx.ml", ml)]
        try:
            ort.InferenceSession(oh.make_model(g, opset_imports=sets, ir_version=ir).SerializeToString(), providers=["CPUExecutionProvider"])
        except Exception:
            return False
        return True
    ort.set_default_logger_severity(4)
    return (max(o for o in range(OLDEST, NEWEST + 1) if loads(o, 1, 8)), max(v for v in range(1, 9) if loads(OLDEST, v, 8)),
            max(v for v in range(8, 16) if loads(OLDEST, 1, v)))


def probe_release():
    """prints what the installed onnxruntime has, as JSON"""
    import onnxruntime
    opset, ml, ir = newest_versions()
    tasks = make_tasks(opset)
    answers, rows = {}, []
    for (op, at, dtypes), a in zip(tasks, run(tasks)):
        since = onnx.defs.get_schema(op, at, "").since_version
        answers.setdefault((op, since), {})[at, tuple(dtypes.items())] = a
    for s, _ in versions("", OLDEST, NEWEST):
        if (s.name, s.since_version) in answers:
            sets, _unset = version_rows(s, answers[s.name, s.since_version])
            rows.append([s.name, s.since_version, [[sorted(DTYPES[d] for d in ds) for ds in r] for r in sets]])
    json.dump({"version": onnxruntime.__version__, "opset": opset, "ml": ml, "ir": ir, "rows": rows}, sys.stdout)


def read_table(path):
    """{(name, version): {row: releases}} of a kernels_ort.def; a row is a tuple of frozen sets of dtypes"""
    sets, kernels = {}, {}
    for line in Path(path).read_text().splitlines():
        if m := re.match(r"#define (S\d+) \((.*)\)", line):
            sets[m[1]] = frozenset(re.findall(r"D\((\w+)\)", m[2]))
        elif m := re.match(r"KERNEL\((\w+), (\d+), (\d+), (\d+), (.*)\)", line):
            row = () if m[5] == "ALL" else tuple(sets.get(x, frozenset()) for x in m[5].split(", "))
            kernels.setdefault((m[1], int(m[2])), {}).setdefault(row, set()).update(range(int(m[3]), int(m[4]) + 1))
        elif m := re.match(r"NO_KERNEL\((\w+), (\d+)\)", line):
            kernels.setdefault((m[1], int(m[2])), {})
    return kernels


def runs_of(numbers):
    """[(first, last)] of the runs of consecutive numbers"""
    runs = []
    for n in sorted(numbers):
        if runs and runs[-1][1] == n - 1:
            runs[-1] = (runs[-1][0], n)
        else:
            runs.append((n, n))
    return runs


def merge(table, found):
    """writes the table anew with what probe_release() found of some releases"""
    kernels = read_table(table) if os.path.exists(table) else {}
    for f in found:
        release = int(f["version"].split(".")[1])
        for rows in kernels.values():
            for releases in rows.values():
                releases.discard(release)
        for name, since, rows in f["rows"]:
            for r in rows:
                kernels.setdefault((name, since), {}).setdefault(tuple(frozenset(ds) for ds in r), set()).add(release)
            kernels.setdefault((name, since), {})
    sets, lines = Sets(), []
    for s, _ in versions("", OLDEST, NEWEST):
        rows = kernels.get((s.name, s.since_version))
        if rows is None:
            continue
        ranges = sorted((run, [sorted(x) for x in r], r) for r, releases in rows.items() for run in runs_of(releases))
        for (first, last), _, r in ranges:
            masks = ", ".join(sets.name(ds) for ds in r)
            lines.append(f"KERNEL({s.name}, {s.since_version}, {first}, {last}, {masks or 'ALL'})")
        if not ranges:
            lines.append(f"NO_KERNEL({s.name}, {s.since_version})")
    return table_text(
        "What ONNX Runtime's CPU provider runs, release by release (releases.def): made by tools/probe_release.py.\n"
        f" * It was probed at opsets {OLDEST} to {NEWEST}. The runtime picks kernels by an operator's version, so a row is\n"
        " * good for all opsets of that version. KERNEL(name, version, first release, last release, a set of dtypes\n"
        " * for each type variable in the order of its row in onnx/operators.def): several rows are alternatives;\n"
        " * releases are minor numbers, 29 is 1.29. NO_KERNEL: no release has one. Versions without rows were not\n"
        " * probed: they have no kernel", sets, lines)


def table_text(what, sets, lines):
    return "\n".join([f"/*\n * {what}, do not edit.\n */", "/* clang-format off */", *sets.lines(), *lines,
                      *(f"#undef {name}" for name in sets.names.values()), "#undef KERNEL", "#undef NO_KERNEL", "/* clang-format on */"])


def print_table(what, versions_and_rows):
    sets, lines, unset_vars = Sets(), [], []
    for s, rows, unset in versions_and_rows:
        unset_vars += [f"{s.name}.{v}" for v in sorted(unset)]
        for r in rows or [[()] * len(s.type_constraints)]:
            masks = ", ".join(sets.name({DTYPES[d] for d in ds}) for ds in r)
            lines.append(f"KERNEL({s.name}, {s.since_version}, {masks or 'ALL'})" if rows else f"NO_KERNEL({s.name}, {s.since_version})")
    probed = f"#ifdef PROBED\nPROBED({NEWEST}) /* the newest opset that was probed; newer versions have no kernel */\n#undef PROBED\n#else"
    head, table = table_text(what, sets, lines).split("/* clang-format off */\n")
    print(f"{head}/* clang-format off */\n{probed}\n{table}\n#endif")
    print(f"{len(lines)} rows; not steerable: {sorted(set(unset_vars))}", file=sys.stderr)


def difference(runtimes):
    """prints the rows of what all of the runtimes run, for the versions where that is not all that onnxruntime runs"""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/runtimes"))
    import suite
    from cases import read_tensors, write_tensors
    suite.BUILD = suite.BUILD / "kernels"
    folder = suite.BUILD / "cases"
    folder.mkdir(parents=True, exist_ok=True)
    first = {}
    for op, opset, dtypes in make_tasks():
        since = onnx.defs.get_schema(op, opset, "").since_version
        if op in BLOCKS:  # tests/runtimes has them
            continue
        if op in JOINT and len(dtypes) < 2 and len(allowed(onnx.defs.get_schema(op, opset, ""))) > 1:
            continue
        key = (op, since, tuple(dtypes.items()))
        first[key] = max(since, OLDEST)
    tasks, lines = [], []
    for (op, since, dtypes), opset in first.items():
        try:
            m, feeds, set_vars = build(op, opset, dict(dtypes))
        except (ValueError, TypeError):
            continue
        if not set(dict(dtypes)) <= set_vars:
            continue
        # some runtimes want axes, lengths and the like to be constants: either way will do
        for inputs in (feeds, {k: v for k, v in feeds.items() if k == "i0"}):
            case = f"c{len(tasks)}"
            m.graph.initializer.extend(nh.from_array(v, k) for k, v in feeds.items() if k not in inputs)
            kept = [i for i in m.graph.input if i.name in inputs]
            del m.graph.input[:]
            m.graph.input.extend(kept)
            (folder / f"{case}.onnx").write_bytes(m.SerializeToString())
            write_tensors(folder / case, ".in", list(inputs.items()))
            tasks.append((op, since, dtypes))
            lines.append(f"{case} {case}.onnx")

    def results(runtime, case):
        path = suite.BUILD / "results" / runtime / case
        if Path(f"{path}.out").read_text().startswith(("load ", "run ")):
            return None
        try:
            return read_tensors(path, ".out")
        except (ValueError, TypeError):  # texts
            return None

    versions_of, want = {}, {}
    left = {k for k, t in enumerate(tasks) if len(runtimes) == 1 or "double" not in dict(t[2]).values()}
    for r in ["ort", *runtimes]:
        asked = range(len(tasks)) if r == "ort" else sorted(left)
        (folder / "cases.txt").write_text("\n".join(lines[k] for k in asked) + "\n")
        versions_of[r] = suite.run(r, suite.RUNTIMES[r], folder, 3600)
        if r == "ort":
            want = {k: results(r, f"c{k}") for k in asked}
        left = {k for k in left if want[k] is not None and alike(tasks[k][0], results(r, f"c{k}"), want[k])}
    runs, differ = {}, set()
    for k, (op, since, dtypes) in list(enumerate(tasks))[::2]:
        ok = k in left or k + 1 in left
        runs.setdefault((op, since), {})[since, dtypes] = "kernel" if ok else "none"
        if want[k] is not None and not ok:
            differ.add((op, since))
    names = [versions_of[r] for r in runtimes]
    print_table(f"What {', '.join(names[:-1])}{' and ' if names[1:] else ''}{names[-1]}{' all run' if names[1:] else ' runs'}, where\n"
                f" * that is less than what {versions_of['ort']} runs: made by tools/make_kernels.py --runs-on\n"
                f" * {' '.join(runtimes)}. The form is that of kernels_ort.def",
                [(s, *version_rows(s, runs[s.name, s.since_version])) for s, _ in versions("", OLDEST, NEWEST) if (s.name, s.since_version) in differ])


def alike(op, got, want):
    """Are these the same results? Of random numbers, dtypes and shapes count alone."""
    if got is None or list(got) != list(want):
        return False
    for g, w in zip(got.values(), want.values()):
        if g.dtype != w.dtype or g.shape != w.shape:
            return False
        if not re.match("Random|Bernoulli|Multinomial", op) and not np.allclose(
                g.astype("complex128"), w.astype("complex128"), rtol=1e-2, atol=1e-3, equal_nan=True):
            return False
    return True


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child()
    elif sys.argv[1:2] == ["--runs-on"]:
        difference(sys.argv[2:])
    elif sys.argv[1:2] == ["--probe"]:
        probe_release()
    else:
        sys.exit(__doc__)
