"""What a call of a model takes as C, beside ONNX Runtime: log densities and gradients of examples/pymc.

    bench/native.py [--numba] [NAME...]     microseconds of the bare C function and of session.run(), and their ratio

--numba: also of PyTensor's function by Numba for the same model, as Python calls it (some 2 us of it are the call).
This needs PyMC and Numba.
"""

import ctypes as C
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnxruntime as ort

TOP = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TOP / "tests" / "c"))
from native import PTGC, Native, Refused, compiled, to_c  # noqa: E402
from same import arrays_for  # noqa: E402

FLAGS = ("-O3", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math")
TURNS, TURN = 200, 300  # how many turns, of how many microseconds: short ones fit between those of other processes
LOOP = """
int bench_%(name)s(const struct %(name)s_in *in, struct %(name)s_out *out, void *work, size_t bytes, int n);
int bench_%(name)s(const struct %(name)s_in *in, struct %(name)s_out *out, void *work, size_t bytes, int n)
{
	int status = 0;
	size_t need;
	for (int i = 0; i < n; ++i)
		status |= %(name)s_run(in, out, work, bytes, &need);
	return status;
}
"""


def best(call):
    """Microseconds of one of the n that call(n) makes: the least of many turns."""
    t = time.perf_counter()
    call(10)
    n = max(1, int(10 * TURN / ((time.perf_counter() - t) * 1e6)))
    times = []
    for _ in range(TURNS):
        t = time.perf_counter()
        call(n)
        times.append((time.perf_counter() - t) / n)
    return min(times) * 1e6


def measure(path):
    code = to_c(path, "--strip")
    name = Native.name_of(code)
    t = time.perf_counter()
    library = compiled(code + LOOP % {"name": name}, FLAGS)
    gcc = time.perf_counter() - t
    model = Native(code, library)
    onnx = subprocess.run([PTGC, "--strip", "-o", "-", str(path)], capture_output=True, check=True).stdout
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(onnx, options)
    arrays = arrays_for(session, model.inputs, 3, 1)
    saved = np.load(path.with_suffix(".npz"))
    arrays |= {k[3:]: saved[k] for k in saved if k.startswith("in_")}  # the example's point
    want = session.run(None, arrays)
    fields = [f for f in model.outputs if f[4]]
    lengths = {f[0]: w.shape for f, w in zip(fields, want, strict=True)}
    call, keep = model.prepared(dict(zip([f[0] for f in model.inputs if f[4]], arrays.values(), strict=True)), lengths)
    got = model(dict(zip([f[0] for f in model.inputs if f[4]], arrays.values(), strict=True)), lengths)
    for k in ("logp", "dlogp"):
        np.testing.assert_allclose(got[k], saved[k], rtol=1e-9, atol=1e-9 * np.max(np.abs(saved[k])))
    run = getattr(model.dll, f"bench_{name}")
    assert run(*call, C.c_int(100)) == 0
    c = best(lambda k: run(*call, C.c_int(k)))
    o = best(lambda k: [session.run(None, arrays) for _ in range(k)])
    del keep
    return c, o, gcc


def measure_numba(name):
    """Microseconds of a call of the log density and gradient of examples/pymc/make.py, compiled by Numba"""
    import models
    import pytensor

    inputs, outputs, values = models.graph(name)
    f = pytensor.function(inputs, outputs, mode="NUMBA", trust_input=True)
    f(*values)  # compiles
    return best(lambda k: [f(*values) for _ in range(k)])


def main():
    ratios, to_numba, names = [], [], [a for a in sys.argv[1:] if a != "--numba"]
    for path in sorted((TOP / "examples" / "pymc").glob("*.ptg")):
        if names and not any(a in path.stem for a in names):
            continue
        try:
            c, o, gcc = measure(path)
        except Refused as e:
            print(f"{path.stem:24} no C: {str(e).splitlines()[0]}")
            continue
        ratios.append(o / c)
        print(f"{path.stem:24} C {c:8.2f} us   ONNX Runtime {o:8.2f} us   {o / c:6.1f} x   gcc {gcc:.1f} s", end="")
        if "--numba" in sys.argv:
            numba = measure_numba(path.stem)
            to_numba.append(c / numba)
            print(f"   Numba {numba:8.2f} us, C / Numba {c / numba:.2f}", end="")
        print(flush=True)
    for what, of in (("ONNX Runtime / C", ratios), ("C / Numba", to_numba)):
        if of:
            print(f"geometric mean of {what}: {np.exp(np.mean(np.log(of))):.2f}")


if __name__ == "__main__":
    main()
