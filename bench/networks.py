"""Float32 networks exported from PyTensor beside the same networks written by hand in ONNX

`networks.py [--text] [network ...]`: each network is exported at all levels of `--math`. Times are ratios to the
model by hand. "C" is the target c, compiled by the machine's compiler and called as mode="NATIVE" calls it, without a
BLAS. All run in one process and one thread, in turns, and the fastest turn counts. Nodes of bodies count. The columns
`float64` count the nodes that give float64. `--text` prints the models.
"""

import argparse
import statistics
import time

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytensor
import pytensor.tensor as pt
from onnx import numpy_helper
from onnx.inliner import inline_local_functions
from pytensor.tensor.signal import convolve2d

import ptgc

LEVELS = "exact", "standard", "native"
ROUNDS = 150
TURN = 3e-4  # seconds that a turn takes at least: short ones fit between those of other processes
rng = np.random.default_rng(0)


def weight(*shape):
    return (rng.normal(size=shape) / np.sqrt(shape[0])).astype("float32")


def mlp():
    sizes = 64, 128, 128, 10
    w = {f"w{i}": weight(a, b) for i, (a, b) in enumerate(zip(sizes, sizes[1:]))}
    w |= {f"b{i}": weight(b) for i, b in enumerate(sizes[1:])}
    x = pt.fmatrix("x", shape=(None, 64))
    y = pt.tanh(x @ w["w0"] + w["b0"])
    y = pt.tanh(y @ w["w1"] + w["b1"])
    return [x], [y @ w["w2"] + w["b2"]], [weight(32, 64)], w, """
    main (float[n, 64] x) => (float[n, 10] y) {
        h0 = Gemm(x, w0, b0)
        t0 = Tanh(h0)
        h1 = Gemm(t0, w1, b1)
        t1 = Tanh(h1)
        y = Gemm(t1, w2, b2)
    }"""


def gru():
    """Thirty steps of a batch of eight."""
    w = {"wx": weight(16, 96), "wh": weight(32, 64), "wn": weight(32, 32), "b": weight(96)}
    x, h0 = pt.ftensor3("x", shape=(30, 8, 16)), pt.fmatrix("h0", shape=(8, 32))

    def step(x, h):
        g = x @ w["wx"] + w["b"]
        zr = pt.sigmoid(g[:, :64] + h @ w["wh"])
        z, r = zr[:, :32], zr[:, 32:]
        new = pt.tanh(g[:, 64:] + (r * h) @ w["wn"])
        return z * h + (1 - z) * new

    h = pytensor.scan(step, sequences=[x], outputs_info=[h0], return_updates=False)
    w |= {"split": np.array([32, 32, 32]), "one": np.float32(1), "halves": np.array([64, 32])}
    return [x, h0], [h[-1]], [weight(30, 8, 16), weight(8, 32)], w, """
    main (float[30, 8, 16] x, float[8, 32] h0) => (float[8, 32] y) {
        gx = MatMul(x, wx)
        gb = Add(gx, b)
        gzr, gn = Split <axis = 2> (gb, halves)
        y = Scan <num_scan_inputs = 2, body = step (float[8, 32] h, float[8, 64] a, float[8, 32] c) => (float[8, 32] new) {
            hm = MatMul(h, wh)
            s = Add(a, hm)
            zr = Sigmoid(s)
            z, r = Split <axis = 1, num_outputs = 2> (zr)
            rh = Mul(r, h)
            m = MatMul(rh, wn)
            t = Add(c, m)
            n = Tanh(t)
            d = Sub(h, n)
            zd = Mul(z, d)
            new = Add(n, zd)
        }> (h0, gzr, gn)
    }"""


def gates():
    w = {"w": weight(64, 64), "u": weight(64, 64), "b": weight(64), "c": weight(64)}
    x = pt.fmatrix("x", shape=(None, 64))
    y = pt.sigmoid(x @ w["w"] + w["b"]) * pt.tanh(x @ w["u"] + w["c"])
    return [x], [y], [weight(32, 64)], w, """
    main (float[n, 64] x) => (float[n, 64] y) {
        p = Gemm(x, w, b)
        s = Sigmoid(p)
        q = Gemm(x, u, c)
        t = Tanh(q)
        y = Mul(s, t)
    }"""


def attention():
    q, k, v = (pt.ftensor3(n, shape=(4, None, 16)) for n in "qkv")
    y = pt.special.softmax(q @ k.mT / np.float32(4), axis=-1) @ v
    return [q, k, v], [y], [weight(4, 32, 16) for _ in "qkv"], {"scale": np.float32(0.25)}, """
    main (float[4, a, 16] q, float[4, b, 16] k, float[4, c, 16] v) => (float[4, a, 16] y) {
        s = Mul(q, scale)
        t = Transpose <perm = [0, 2, 1]> (k)
        p = MatMul(s, t)
        m = Softmax <axis = -1> (p)
        y = MatMul(m, v)
    }"""


def norm_gelu():
    """A layer's norm, and GELU by erf. LayerNormalization is left to ONNX Runtime, as in exports of PyTorch."""
    w = {"scale": 1 + weight(128), "shift": weight(128)}
    x = pt.fmatrix("x", shape=(None, 128))
    d = x - x.mean(axis=1, keepdims=True)
    n = d / pt.sqrt((d * d).mean(axis=1, keepdims=True) + np.float32(1e-5)) * w["scale"] + w["shift"]
    y = n * np.float32(0.5) * (1 + pt.erf(n / np.float32(np.sqrt(2))))
    w |= {"axes": np.array([1]), "eps": np.float32(1e-5), "half": np.float32(0.5), "one": np.float32(1)}
    w |= {"root": np.float32(np.sqrt(0.5))}
    return [x], [y], [weight(64, 128)], w, """
    main (float[n, 128] x) => (float[n, 128] y) {
        mean = ReduceMean <keepdims = 1> (x, axes)
        d = Sub(x, mean)
        dd = Mul(d, d)
        var = ReduceMean <keepdims = 1> (dd, axes)
        ve = Add(var, eps)
        sd = Sqrt(ve)
        u = Div(d, sd)
        us = Mul(u, scale)
        n = Add(us, shift)
        r = Mul(n, root)
        e = Erf(r)
        o = Add(e, one)
        h = Mul(n, half)
        y = Mul(h, o)
    }"""


def logistic_scoring():
    w = {"w": weight(30), "b": np.float32(0.5)}
    x = pt.fmatrix("x", shape=(None, 30))
    y = pt.sigmoid(x @ w["w"] + w["b"])
    return [x], [y], [weight(569, 30)], w | {"w": w["w"][:, None], "axes": np.array([1])}, """
    main (float[n, 30] x) => (float[n] y) {
        c = MatMul(x, w)
        v = Squeeze(c, axes)
        p = Add(v, b)
        y = Sigmoid(p)
    }"""


def cross_entropy():
    x, t = pt.fmatrix("x", shape=(None, 10)), pt.lvector("t")
    y = -pt.special.log_softmax(x, axis=1)[pt.arange(t.shape[0]), t].mean()
    labels = rng.integers(0, 10, 64)
    return [x, t], [y], [weight(64, 10), labels], {"axes": np.array([1])}, """
    main (float[n, 10] x, int64[n] t) => (float y) {
        l = LogSoftmax <axis = 1> (x)
        u = Unsqueeze(t, axes)
        p = GatherElements <axis = 1> (l, u)
        m = ReduceMean <keepdims = 0> (p)
        y = Neg(m)
    }"""


def convolution():
    w = {"k": weight(5, 5), "b": np.float32(0.1), "zero": np.float32(0), "axes": np.array([0, 1])}
    x = pt.fmatrix("x", shape=(64, 64))
    y = pt.maximum(convolve2d(x, w["k"], mode="valid") + w["b"], np.float32(0))
    return [x], [y], [weight(64, 64)], w | {"k": w["k"][None, None, ::-1, ::-1].copy(), "b": np.float32([0.1])}, """
    main (float[64, 64] x) => (float[60, 60] y) {
        u = Unsqueeze(x, axes)
        c = Conv(u, k, b)
        r = Relu(c)
        y = Squeeze(r, axes)
    }"""


def cosine():
    a, b = (pt.fmatrix(n, shape=(None, 128)) for n in "ab")
    y = (a * b).sum(axis=1) / (pt.sqrt((a * a).sum(axis=1)) * pt.sqrt((b * b).sum(axis=1)))
    return [a, b], [y], [weight(64, 128), weight(64, 128)], {"axes": np.array([1])}, """
    main (float[n, 128] a, float[n, 128] b) => (float[n] y) {
        ab = Mul(a, b)
        s = ReduceSum <keepdims = 0> (ab, axes)
        la = ReduceL2 <keepdims = 0> (a, axes)
        lb = ReduceL2 <keepdims = 0> (b, axes)
        l = Mul(la, lb)
        y = Div(s, l)
    }"""


def sincos_encoding():
    f = (10000 ** (-np.arange(32) / 32)).astype("float32")
    p = pt.fvector("p")
    angle = p[:, None] * f
    y = pt.concatenate([pt.sin(angle), pt.cos(angle)], axis=1)
    return [p], [y], [np.arange(64, dtype="float32")], {"f": f, "axes": np.array([1])}, """
    main (float[n] p) => (float[n, 64] y) {
        u = Unsqueeze(p, axes)
        a = Mul(u, f)
        s = Sin(a)
        c = Cos(a)
        y = Concat <axis = 1> (s, c)
    }"""


NETWORKS = {f.__name__: f for f in (
    mlp, gru, gates, attention, norm_gelu, logistic_scoring, cross_entropy, convolution, cosine, sincos_encoding,
)}  # fmt: skip


def by_hand(text, weights):
    model = onnx.parser.parse_model('<ir_version: 10, opset_import: ["" : 18]>' + text)
    model.graph.initializer.extend(numpy_helper.from_array(np.asarray(v), k) for k, v in weights.items() if k in text)
    onnx.checker.check_model(model, full_check=True)
    return model


def graphs(graph):
    yield graph
    for node in graph.node:
        for a in node.attribute:
            if a.type == onnx.AttributeProto.GRAPH:
                yield from graphs(a.g)


def nodes(model):
    """The number of nodes, and of those that give float64."""
    model = onnx.shape_inference.infer_shapes(inline_local_functions(model))
    double, count = 0, 0
    for g in graphs(model.graph):
        wide = {v.name for v in [*g.value_info, *g.output] if v.type.tensor_type.elem_type == onnx.TensorProto.DOUBLE}
        count += len(g.node)
        double += sum(any(o in wide for o in n.output) for n in g.node)
    return count, double


def session(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def fastest(runs):
    """The fastest turn of each, in seconds a call."""
    best, calls = {}, {}
    for key, run in runs.items():
        start = time.perf_counter()
        for _ in range(3):
            run()
        best[key] = (time.perf_counter() - start) / 3
        calls[key] = max(1, int(TURN / best[key]))
    for _ in range(ROUNDS):
        for key, run in runs.items():
            start = time.perf_counter()
            for _ in range(calls[key]):
                run()
            best[key] = min(best[key], (time.perf_counter() - start) / calls[key])
    return best


def measure(name, text):
    """{level or "hand": (seconds, nodes, nodes of float64)}"""
    inputs, outputs, values, weights, source = NETWORKS[name]()
    models = {"hand": by_hand(source, weights)}
    for level in LEVELS:
        exported = ptgc.compile_onnx(inputs, outputs, math=level)
        models[level] = onnx.load_from_string(exported.model)
        if text:
            print(f"{name}, {level}:\n{onnx.printer.to_text(models[level])}\n")
    runs, results = {}, {}
    for key, model in models.items():
        run = session(model).run
        feed = dict(zip((i.name for i in model.graph.input), values, strict=True))
        results[key] = run(None, feed)
        runs[key] = lambda run=run, feed=feed: run(None, feed)
    native = ptgc.compile_native(inputs, outputs)
    results["C"] = native(*values)
    runs["C"] = lambda: native(*values)
    for key, got in results.items():
        for a, b in zip(got, results["hand"], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5, err_msg=f"{name}, {key}")
    took = fastest(runs)
    return {key: (took[key], *nodes(model)) for key, model in models.items()} | {"C": (took["C"],)}


def main(names, text):
    head = ["network", "by hand, us", *LEVELS, "C", "nodes by hand", *LEVELS, *(f"float64, {k}" for k in LEVELS[1:])]
    print("| " + " | ".join(head) + " |\n|---" + "|---:" * (len(head) - 1) + "|")
    rows = []
    for name in names:
        row = measure(name, text)
        rows.append(row)
        hand = row["hand"]
        cells = [f"{name:16s}", f"{1e6 * hand[0]:6.1f}", *(f"{row[k][0] / hand[0]:5.2f}" for k in (*LEVELS, "C")), f"{hand[1]:3d}"]
        cells += [f"{row[k][1]:3d}" for k in LEVELS] + [f"{row[k][2]:3d}" for k in LEVELS[1:]]
        print("| " + " | ".join(cells) + " |", flush=True)
    means = (f"{k} {statistics.geometric_mean(r[k][0] / r['hand'][0] for r in rows):.2f}" for k in (*LEVELS, "C"))
    print(f"\nGeometric means of the time beside that by hand: {', '.join(means)}.")


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("--text", action="store_true")
    options.add_argument("networks", nargs="*")
    given = options.parse_args()
    main(given.networks or NETWORKS, given.text)
