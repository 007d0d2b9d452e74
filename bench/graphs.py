"""Compile time and memory on large graphs: ptgc beside onnx.parser + checker + shape inference

`graphs.py [nodes ...]`: by default 100,000 and 1,000,000. Both tools read a text of n nodes and write a model. The
ratio is what counts, as machines differ. Times of ptgc, and its peak memory, are of the whole process. Those of the
peer leave out Python's start. The best of some runs counts.
For PyTensor's numbers a Sigmoid is four nodes of the model, so the second chain has 1.75 as many as the text.
"""

import sys
import tempfile
import time
from pathlib import Path

import onnx
import onnx.parser
from measure import measure

ROOT = Path(__file__).parents[1]
PTGC = ROOT / "build" / "ptgc"
ROUNDS = 3


SUMS = ("Add(v{}, x)",)
NETWORK = "Tanh(v{})", "Sigmoid(v{})", "Add(v{}, x)", "Mul(v{}, x)"
CHAINS = {"Add": SUMS, "Tanh, Sigmoid, Add, Mul": NETWORK}


def lines(chain, n):
    return "\n".join(f"  v{i} = " + chain[i % len(chain)].format(i - 1) for i in range(1, n))


def ptg_text(chain, n):
    return f"ptg 1\ngraph g(x: float32[n]) -> (out) {{\n  v0 = Exp(x)\n{lines(chain, n)}\n  out = Tanh(v{n - 1})\n}}\n"


def onnx_text(chain, n):
    head = '<ir_version: 10, opset_import: ["" : 18]>\ng (float[n] x) => (float[n] out) {\n  v0 = Exp(x)\n'
    return f"{head}{lines(chain, n)}\n  out = Tanh(v{n - 1})\n}}\n"


def run_peer(text, out):
    """Seconds by the clock, and of the processor"""
    start = time.perf_counter(), time.process_time()
    model = onnx.parser.parse_model(text)
    onnx.checker.check_model(model)
    model = onnx.shape_inference.infer_shapes(model)
    onnx.save(model, out)
    return time.perf_counter() - start[0], time.process_time() - start[1]


def show(name, chain, sizes, folder):
    print(f"float32 chain of {name}\n{'':>9} {'by the clock':^23} {'processor':^23}".rstrip())
    print(f"{'nodes':>9} {2 * f'{'ptgc':>8} {'peer':>8} {'ratio':>5} '}{'bytes a node':>13}")
    ours = {}
    for n in sizes:
        path, out, text = Path(folder, "g.ptg"), Path(folder, "g.onnx"), onnx_text(chain, n)
        path.write_text(ptg_text(chain, n))
        runs = [measure(PTGC, path, "-o", out) for _ in range(ROUNDS)]
        wall, ours[n], memory = map(min, zip(*runs, strict=True))
        peers = [run_peer(text, out) for _ in range(1 if n > 500000 else ROUNDS)]
        pairs = zip((wall, ours[n]), map(min, zip(*peers, strict=True)), strict=True)
        times = "".join(f"{t:7.2f}s {peer:7.2f}s {t / peer:5.2f} " for t, peer in pairs)
        print(f"{n:9} {times}{memory / n:13.0f}", flush=True)
    for a in sizes:
        if 10 * a in ours:
            print(f"growth from {a} to {10 * a} nodes: {ours[10 * a] / ours[a]:.1f}x")


def main(sizes):
    with tempfile.TemporaryDirectory() as folder:
        for name, chain in CHAINS.items():
            show(name, chain, sizes, folder)


if __name__ == "__main__":
    main([int(a) for a in sys.argv[1:]] or [100_000, 1_000_000])
