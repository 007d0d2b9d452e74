"""Compares all distributions of PyMC in mode ONNX with PyTensor's own evaluation: sweep.py RESULTS [NAME ...]

Prints what differs, and writes what was found to the file RESULTS; with names, those parts of it alone. With
floatX=float32 it reads the results of float64 first, whose inputs it takes and whose values are the truth:
--truth RESULTS. With --portable the models are of that target.
"""

import argparse
import logging
import pickle
import sys
import time
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

import cases  # noqa: E402
import numpy as np  # noqa: E402
import pymc as pm  # noqa: E402
import pytensor  # noqa: E402
import pytensor.tensor as pt  # noqa: E402
from pytensor.compile.mode import Mode  # noqa: E402
from pytensor.scalar.loop import ScalarLoop  # noqa: E402

import ptgc  # noqa: E402

REFERENCE = Mode("py", "fast_run").excluding("fusion", "inplace")
LOOPS = "NUMBA"  # where a ScalarLoop is in the graph, of which Python takes seconds
FLOATX = pytensor.config.floatX
PORTABLE = "--portable" in sys.argv
LIMIT = {"float64": 1e-9, "float32": 1e-4}[FLOATX]
CHANGE = {"float64": 1e-14, "float32": 1e-6}[FLOATX]
SMALL = {"float64": 1e-12, "float32": 1e-6}[FLOATX]  # smaller differences never count


class Absent(Exception):
    """PyMC has no such function."""


def sized(value):
    """The value with numbers that float32 holds too, in the dtype of a parameter or value."""
    value = np.asarray(value)
    if value.dtype.kind != "f":
        return value
    with np.errstate(over="ignore"):
        return value.astype("float32").astype(FLOATX)


def symbol(name, value, each):
    """An input for a parameter; each: a number of its own for each value, so that gradients are not summed."""
    return pt.TensorType(str(value.dtype), (None,) if each and not value.shape else value.shape)(name)


def gradients(result, wrt):
    wrt = [v for v in wrt if v.dtype.startswith("float")]
    return pt.grad(result.sum(), wrt, disconnected_inputs="ignore") if wrt else []


def functions(case):
    """(name of the function, its value variable, its results): the gradient of each function is one of its own."""
    params = {k: sized(v) for k, v in case.params[0].items()}
    several = case in cases.VECTOR
    symbols = {k: symbol(k, v, not several) if v.dtype.kind == "f" else v.item() for k, v in params.items()}
    floats = [v for v in symbols.values() if isinstance(v, pt.TensorVariable)]
    rv = case.build(**symbols)
    value = rv.type("value") if several else pt.TensorType(rv.dtype, (None,))("value")
    q = pt.TensorType(FLOATX, (None,))("q")
    low, high = case.bounds

    def derived(name, make, at):
        try:
            result = make()
        except NotImplementedError:
            return
        yield name, floats, at, [result]
        if case.derive and name != "censored" or name == "logp":
            try:
                slopes = gradients(result, [*floats, at])
            except Exception as e:
                print(f"{case.name}: {name} has no gradient: {type(e).__name__} {str(e)[:90]!r}")
                return
            if slopes:
                yield f"d {name}", floats, at, slopes

    def truncated():
        try:
            return pm.logp(pm.Truncated.dist(rv, lower=low, upper=high), value)
        except (NotImplementedError, TypeError):
            raise NotImplementedError from None

    makers = {
        "logp": lambda: pm.logp(rv, value),
        "logcdf": lambda: pm.logcdf(rv, value),
        "icdf": lambda: pm.icdf(rv, q),
        "truncated": truncated,
        "censored": lambda: pm.logp(pm.Censored.dist(rv, lower=low, upper=high), value),
    }
    for name, make in makers.items():
        if name in case.parts.split():
            yield from derived(name, make, q if name == "icdf" else value)


def points(case, known):
    """Values of the parameters and of the variable, the valid ones first."""
    if known is not None:
        return [({k: sized(v) for k, v in p.items()}, [sized(v) for v in vs]) for p, vs in known]
    out = []
    for k, params in enumerate(case.params):
        params = {k: sized(v) for k, v in params.items()}
        rv = case.build(**{k: v if v.shape else v.item() for k, v in params.items()})
        drawn = list(pm.draw(rv, case.draws, random_seed=3 + k)) if case.draws else []
        out.append((params, drawn + [np.asarray(v, rv.dtype) for v in case.values]))
        if case not in cases.VECTOR:
            edges = cases.DISCRETE if rv.dtype.startswith("int") else cases.CONTINUOUS
            out[-1] = params, [np.array(drawn + edges, dtype=rv.dtype)]
    params, values = out[0]
    for name, v in params.items():
        if v.dtype.kind == "f":
            wrong = [-v, 0 * v, v * np.nan] if v.ndim < 2 else [-v]
            out += [(params | {name: w}, values[:1]) for w in wrong]
    return [({k: sized(v) for k, v in p.items()}, [sized(v) for v in vs]) for p, vs in out]


def call(f, args):
    try:
        with np.errstate(all="ignore"):
            return [np.asarray(r) for r in f(*args)]
    except Exception as e:
        return e


def errors(a, b):
    """The error of each element of a beside b, relative to b; inf: another NaN or infinity."""
    a, b = a.astype("float64"), b.astype("float64")
    with np.errstate(all="ignore"):
        off = np.abs(a - b)
        relative = np.where(off < SMALL, 0, off / np.maximum(np.abs(b), 1e-300))
        relative = np.where(np.isfinite(a) & np.isfinite(b), relative, np.inf)
        return np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, relative)


def distance(a, b):
    """The largest error; inf for another shape or dtype."""
    return float(np.max(errors(a, b), initial=0)) if a.shape == b.shape and a.dtype == b.dtype else np.inf


def reasons(error):
    """What cannot be converted, and why, each once."""
    found = {}
    for p in error.problems:
        what, _, why = p.reason.rpartition("): ") if not p.what else (p.what, "", p.reason)
        found[what.partition("(")[0].partition("{")[0], why] = None
    return "; ".join(f"`{what}`: {why}" for what, why in found)


def is_own_error(f, args, i, got, want):
    """Is what got is off no more than twice what f itself is off where its arguments change by some units in the last
    place? What is lost in a difference of large numbers is lost in any evaluation."""
    off, own = errors(got, want), np.zeros(want.shape)
    rng = np.random.default_rng(1)
    for _ in range(8):
        shifts = [1 + CHANGE * rng.integers(-1, 2, np.shape(a)) for a in args]
        near = [(a * s).astype(a.dtype) if a.dtype.kind == "f" else a for a, s in zip(args, shifts)]
        other = call(f, near)
        if not isinstance(other, Exception):
            more = errors(other[i], want)
            own = np.maximum(own, np.where(np.isfinite(more), more, 0))
    return np.all((off <= LIMIT) | (off <= 2 * own))


def portable(inputs, results):
    """The float32 model; its results have the dtypes of PyTensor's."""
    f = ptgc.compile_onnx(inputs, results, target="portable", float32=True, on_unused_input="ignore")

    def call(*args):
        return [r.astype(v.dtype) for r, v in zip(f(*args), results)]

    return call


def check(inputs, results, where, truth, note):
    """What is found of one function: ("equal", error), ("refused", why), ("differs", error and where)."""
    try:
        reference = pytensor.function(inputs, results, mode=REFERENCE, on_unused_input="ignore")
        if any(isinstance(getattr(n.op, "scalar_op", None), ScalarLoop) for n in reference.maker.fgraph.apply_nodes):
            reference = pytensor.function(inputs, results, mode=LOOPS, on_unused_input="ignore")
    except Exception as e:
        return ("absent", f"{type(e).__name__}: {str(e).splitlines()[0][:150]}"), None
    try:
        ours = portable(inputs, results) if PORTABLE else pytensor.function(inputs, results, mode="ONNX", on_unused_input="ignore")
    except ptgc.UnsupportedError as e:
        return ("refused", reasons(e)), [call(reference, args) for args in where]
    except Exception as e:
        return ("fails", f"{type(e).__name__}: {str(e)[:300]}"), [call(reference, args) for args in where]
    worst, wanted = 0.0, []
    bad = []
    for k, args in enumerate(where):
        want, got = call(reference, args), call(ours, args)
        wanted.append(want)
        if isinstance(want, Exception) or isinstance(got, Exception):
            if isinstance(want, Exception) != isinstance(got, Exception):
                bad.append((np.inf, k, want, got))
            continue
        for i, (a, b) in enumerate(zip(got, want)):
            off = distance(a, b)
            if off > LIMIT and truth is not None and not isinstance(truth[k], Exception):
                exact = np.asarray(truth[k][i])
                own = distance(b.astype("float64"), exact)
                if distance(a.astype("float64"), exact) <= max(LIMIT, 2 * own):
                    off = 0.0
            if LIMIT < off < np.inf and is_own_error(reference, args, i, a, b):
                off = 0.0
            if off > LIMIT:
                bad.append((off, k, b, a))
            else:
                worst = max(worst, off)
    if not bad:
        return ("equal", worst), wanted
    off, k, want, got = max(bad, key=lambda b: b[0])
    return ("differs", (off, f"{note(k)}\n  PyTensor {want!r:.1500}\n  ONNX     {got!r:.1500}")), wanted


def sweep_case(case, truth, found):
    known = truth and truth[case.name, "points"]
    sets = points(case, known)
    found[case.name, "points"] = sets
    where = [(params, value) for params, values in sets for value in values]
    for name, floats, at, results in functions(case):
        inputs, args = [*floats, at], {}
        for params, value in where:
            value = sized(np.array(cases.PROBABILITIES)) if at.name == "q" else value
            given = [params[v.name] for v in floats]
            given = [np.full(value.shape, p) if v.type.ndim > p.ndim else p for v, p in zip(floats, given)]
            args[repr((given, value))] = [*given, value]
        args = list(args.values())
        old = truth and truth.get((case.name, name, "values"))
        found[case.name, name], found[case.name, name, "values"] = check(
            inputs, results, args, old, lambda k: f"at {args[k]}"
        )
        report(case.name, name, found[case.name, name])


def sweep_model(build, truth, found):
    name = build.__name__
    with pm.Model() as model:
        try:
            build()
            inputs = model.value_vars
            pieces = {"logp": [model.logp()], "d logp": [model.dlogp()]}
            start = model.initial_point()
        except Exception as e:
            found[name, "logp"] = "absent", f"{type(e).__name__}: {str(e).splitlines()[0][:150]}"
            return report(name, "logp", found[name, "logp"])
    shake = np.random.default_rng(1)
    args = truth and truth[name, "points"]
    if args is None:
        args = [[sized(start[v.name] + s * shake.normal(size=np.shape(start[v.name]))) for v in inputs]
                for s in (0, 0.1, 0.5)]  # fmt: skip
    args = [[sized(v) for v in a] for a in args]
    found[name, "points"] = args
    for part, results in pieces.items():
        old = truth and truth.get((name, part, "values"))
        found[name, part], found[name, part, "values"] = check(inputs, results, args, old, lambda k: f"at {args[k]}")
        report(name, part, found[name, part])


def report(name, part, found):
    kind, what = found
    if kind != "equal":
        text = what if isinstance(what, str) else f"{what[0]:.2g} {what[1]}"
        print(f"{name}: {part} {kind}: {text}", flush=True)


def save(found, path):
    """Values that differ are kept as the error, and exceptions as their texts."""
    for key, value in found.items():
        if key[-1] == "values" and value is not None:
            found[key] = [Exception(str(v)) if isinstance(v, Exception) else v for v in value]
        elif key[-1] != "points" and value[0] == "differs" and isinstance(value[1], tuple):
            found[key] = "differs", value[1][0]
    Path(path).write_bytes(pickle.dumps(found))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--truth")
    parser.add_argument("--portable", action="store_true")
    options = parser.parse_args()
    truth = pickle.load(open(options.truth, "rb")) if options.truth else None
    found, start = {}, time.time()
    if options.names and Path(options.results).exists():  # these again, the others as they were
        found = pickle.loads(Path(options.results).read_bytes())
    wanted = lambda name: not options.names or name in options.names  # noqa: E731
    for case in [*cases.SCALAR, *cases.VECTOR]:
        if wanted(case.name):
            try:
                sweep_case(case, truth, found)
            except Exception as e:
                print(f"{case.name}: {type(e).__name__}: {str(e)[:300]}", flush=True)
            save(found, options.results)
    for build in cases.MODELS:
        if wanted(build.__name__):
            sweep_model(build, truth, found)
    save(found, options.results)
    kinds = [v[0] for k, v in found.items() if k[-1] not in ("points", "values")]
    print({kind: kinds.count(kind) for kind in sorted(set(kinds))}, f"{time.time() - start:.0f} s")
    return "differs" in kinds or "fails" in kinds


if __name__ == "__main__":
    sys.exit(main())
