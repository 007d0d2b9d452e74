"""The mode NATIVE, compile_native and export_c: graphs as C, called from Python."""

import os
import pickle
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.scan.utils import until

import ptgc
from ptgc import _cache, _cc, _lib
from ptgc.native import MODEL, extension, load_model

x, y, s = pt.dmatrix("x"), pt.dvector("y"), pt.dscalar("s")


def function(inputs, outputs, **options):
    return pytensor.function(inputs, outputs, mode="NATIVE", **options)


def of_text(text, **options):
    """The Model of a .ptg text."""
    return load_model(_lib.compile_text(text, code=True, model_name=MODEL, flags=["fentry"], **options))


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PTGC_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def libraries(folder):
    return sorted(folder.glob("*/*.so"))


# ---- the mode ----


def test_results_are_pytensors():
    outputs = [pt.exp(x) @ y, pt.grad((x @ y).sum() ** 2, x), x[x[:, 0] > 0], x.argmax(1)]
    f, g = function([x, y], outputs), pytensor.function([x, y], outputs, mode="FAST_COMPILE")
    rng = np.random.default_rng(0)
    for n, m in ((3, 4), (1, 1), (0, 2), (40, 7)):
        args = rng.normal(size=(n, m)), rng.normal(size=m)
        for got, want in zip(f(*args), g(*args), strict=True):
            assert got.dtype == want.dtype and got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol=1e-12)


def test_shared_variables_updates_and_givens():
    state, step = pytensor.shared(np.zeros(2), "state"), pt.dvector("step")
    f = function([step], state.sum(), updates={state: state + step})
    assert [f([1.0, 2.0]), f([1.0, 2.0])] == [0, 3]
    assert state.get_value().tolist() == [2, 4]
    state.set_value(np.ones(2))
    assert f([0.0, 0.0]) == 2
    assert function([step], y.sum(), givens={y: step * 3})([1.0, 2.0]) == 9


def test_copies_and_pickles():
    state = pytensor.shared(np.zeros(()), "state")
    f = function([s], state * s, updates={state: state + s})
    for g in (f.copy(), pickle.loads(pickle.dumps(f)), copy(f)):
        assert g(2.0) in (0, 4)
    n = pickle.loads(pickle.dumps(ptgc.compile_native([s], [s * 2])))
    assert n(2.0)[0] == 4


def test_scans():
    def step(a, total):
        return total + a

    sums = pytensor.scan(step, sequences=y, outputs_info=pt.zeros((), "float64"), return_updates=False)
    assert function([y], sums[-1])(np.arange(5.0)) == 10


@pytest.mark.parametrize("steps", ["int8", "int32", "int64", "half", "element"])
def test_scans_of_computed_steps(steps):
    k = pt.vector("k", dtype="int32")
    n = k[1] if steps == "element" else k.sum() // 2 if steps == "half" else pt.scalar("n", dtype=steps)
    given = k if steps in ("half", "element") else n
    rows = pytensor.scan(lambda v: (v * 2, until(v > s)), outputs_info=[s], n_steps=n, return_updates=False)
    f, g = (pytensor.function([given, s], [rows, pt.grad(rows[-1], s)], mode=mode) for mode in ("NATIVE", "FAST_COMPILE"))
    for value in (1, 3, 7):
        count = np.array([value, value] if given is k else value, given.type.dtype)
        for got, want in zip(f(count, 1.5), g(count, 1.5), strict=True):
            np.testing.assert_allclose(got, want)
    with pytest.raises(ValueError, match="must be"):
        f(np.array([-4, -4] if given is k else -4, given.type.dtype), 1.5)


def test_what_has_no_c_is_refused_by_name():
    from pytensor.compile.ops import wrap_py

    op = wrap_py(itypes=[pt.dvector], otypes=[pt.dvector])(lambda a: a)
    with pytest.raises(ptgc.UnsupportedError, match=r"not convertible to C"):
        function([y], op(y))


def test_options_of_the_mode():
    assert function([s], s * 2)(3.0) == 6
    f = pytensor.function([s], s * 2, mode=ptgc.native_mode(math="exact", cflags=["-O1"]))
    assert f(3.0) == 6
    with pytest.raises(ValueError, match="unknown math"):
        ptgc.native_mode(math="wrong")


def test_checks_are_numpys_errors():
    i = pt.lvector("i")
    f = function([y, i], y[i])
    assert f([1.0, 2.0], [1]).tolist() == [2]
    with pytest.raises(IndexError, match="out of bounds"):
        f([1.0, 2.0], [2])
    g = function([y, i], y + i)
    with pytest.raises(ValueError, match="broadcasting not allowed"):
        g([1.0, 2.0], [1, 2, 3])
    h = function([y], pt.specify_shape(y, 3))
    with pytest.raises(AssertionError, match="SpecifyShape"):
        h([1.0])


def test_lengths_that_an_op_says_are_checked_without_python_too():
    """C has no types that a runtime compares."""
    split = pt.split(y, [1, 2], n_splits=2)
    f = ptgc.compile_native([y], split)
    assert [r.size for r in f(np.ones(3))] == [1, 2]
    with pytest.raises(ValueError, match="length 4 in dimension 0, expected 3"):
        f(np.ones(4))
    assert "axis 0 of y must be 3" in f.code


# ---- calls ----


def test_arguments_are_not_converted():
    f = ptgc.compile_native([x, s], [x * s])
    a = np.ones((2, 3))
    for wrong, message in (
        ((a.astype("float32"), 1.0), "'x' has the dtype float32, expected float64"),
        ((a[0], 1.0), "'x' has the rank 1, expected 2"),
        (([[1.0]], 1.0), "'x' must be an array of float64, not list"),
        ((a, "1"), "'s' must be an array of float64, not str"),
        ((a, np.float32(1)), "'s' has the dtype float32, expected float64"),
        ((a, a), "'s' has the rank 2, expected 0"),
        ((a.astype(">f8"), 1.0), "'x' has the dtype >f8, expected float64"),
        ((a,), "missing input 's'"),
        ((a, 1.0, 1.0), "has 2 inputs but 3 are given"),
    ):
        with pytest.raises(TypeError, match=message):
            f(*wrong)
    assert f(s=2.0, x=a)[0].tolist() == (a * 2).tolist()


def test_python_numbers_are_scalars():
    k, h = pt.bscalar("k"), pt.fscalar("h")
    f = ptgc.compile_native([k, h, s], [k + 0, h + 0, s + 0])
    assert [r.item() for r in f(-128, 0.5, 3)] == [-128, 0.5, 3]
    assert [r.dtype.name for r in f(1, 1, 1)] == ["int8", "float32", "float64"]
    for wrong in (128, -129, 1 << 70):
        with pytest.raises(OverflowError, match="'k': .* beyond int8"):
            f(wrong, 1.0, 1.0)
    for wrong in (1e300, -4e38, 1 << 200):
        with pytest.raises(OverflowError, match="'h': .* beyond float32"):
            f(1, wrong, 1.0)
    with pytest.raises(OverflowError, match="'s': 1000.* beyond float64"):
        f(1, 1.0, 10**400)
    assert f(1, 1 << 30, 1 << 70)[1:] == [1 << 30, 1 << 70] and f(1, -np.inf, 1.0)[1] == -np.inf
    for number, given in (("h", (1, (1 << 24) + 1, 1.0)), ("s", (1, 1.0, (1 << 53) + 1))):
        with pytest.raises(TypeError, match=f"'{number}' is float.., which cannot hold .* exactly"):
            f(*given)
    with pytest.raises(TypeError, match="'h' has the dtype float64"):
        f(1, np.float64(0.1), 1.0)


@pytest.mark.parametrize("v", [pt.dscalar("v"), pt.dvector("v"), pt.lvector("v"), pt.tensor("v", dtype="float64", shape=(2,))])
def test_what_is_no_real_number_is_refused_by_name(v):
    """Dates have no buffer; complex numbers were pairs for any input of a rank more."""
    f = ptgc.compile_native([v], [v + 0])
    dates = np.zeros(2, "datetime64[D]"), np.zeros(2, "timedelta64[D]")
    wrong = [1j, np.complex128(1), np.array(1j), np.array([1j]), np.array(["1"]), np.array([b"1"]), np.array([None]), "1"]
    for given in (*wrong, *dates, *(d[0] for d in dates), np.zeros(2, np.longdouble)):
        with pytest.raises(TypeError, match="input 'v' (has the dtype|must be an array)"):
            f(given)


def test_complex_numbers_keep_their_digits():
    z, c = pt.zscalar("z"), pt.cvector("c")
    f = ptgc.compile_native([z, c], [z * 1, c * 1])
    v = np.array([1 + 2j], "complex64")
    assert [r.tolist() for r in f(1.5, v)] == [1.5, [1 + 2j]] and f(1j, v)[0] == 1j
    for given, name in (((np.complex64(1), v), "z"), ((1j, v.astype("complex128")), "c")):
        with pytest.raises(TypeError, match=f"input '{name}' has the dtype complex"):
            f(*given)


@pytest.mark.parametrize("dtype", [d for d in ("bool", *"bBhHiIlL", *"efd")])
def test_all_dtypes_and_layouts(dtype):
    dtype = np.dtype(dtype)
    v = pt.tensor("v", dtype=dtype.name, shape=(None, None))
    f = ptgc.compile_native([v], [v[::-1].T])
    a = np.arange(24).reshape(4, 6).astype(dtype)
    odd = np.zeros(24 * dtype.itemsize + 1, np.uint8)[1:].view(dtype).reshape(4, 6)
    odd[...] = a
    for given in (a, np.asfortranarray(a), a[:, ::2], a[::-1], a.T, odd, a[:0], a[:, :0]):
        (got,) = f(given)
        assert got.dtype == dtype and got.flags.owndata and np.array_equal(got, given[::-1].T)
    readonly = a.copy()
    readonly.setflags(write=False)
    assert np.array_equal(f(readonly)[0], a[::-1].T)


def test_complex_arrays():
    z, v = pt.zvector("z"), np.array([1 + 2j, 3])
    (got,) = ptgc.compile_native([z], [z * z])(v)
    assert got.dtype == v.dtype
    np.testing.assert_allclose(got, v * v)


def test_generators():
    """Drawing is test_random.py's; here they come and go."""
    model = of_text("ptg 1\ngraph g(r: rng, n: int64[]) -> (q, m) { q = r\n  m = n + 1 }\n")
    assert "\ngenerator:r=PCG64\n" in model.interface and "\ngenerator:q=PCG64\n" in model.interface
    words = ptgc.generator_to_words(np.random.default_rng(3))
    assert np.array_equal(model.run(words, 1)[0], words)


def test_sizes_are_solved_from_lengths():
    model = of_text("ptg 1\ngraph g(a: float64[n+1], b: float64[2*k], c: float64[n]) -> (d, e) { d = a[1:] + c\n  e = b }\n")
    d, e = model.run(np.arange(3.0), np.ones(4), np.ones(2))
    assert d.tolist() == [2, 3] and e.size == 4
    length = extension().LengthError
    for wrong, said in (((3, 3, 2), (1, 0, 3, 2)), ((4, 4, 2), (0, 0, 4, 3)), ((0, 4, 0), (0, 0, 0, 1))):
        with pytest.raises(length) as info:
            model.run(*(np.ones(n) for n in wrong))
        assert info.value.args == said
    with pytest.raises(ptgc.CompileError, match="cannot solve for the size"):
        of_text("ptg 1\ngraph g(a: float64[n*m], b: float64[]) -> (c) { c = a }\n")


def test_lengths_that_only_the_run_knows_and_large_workspaces():
    f = ptgc.compile_native([y], [y[y > 0], pt.sort(y)])
    for n in (0, 5, 300_000, 7):
        v = np.random.default_rng(n).normal(size=n)
        positive, ordered = f(v)
        assert np.array_equal(positive, v[v > 0]) and np.array_equal(ordered, np.sort(v))


def test_threads_have_workspaces_of_their_own():
    f = ptgc.compile_native([x], [(x @ x.T).sum(0), x[x[:, 0] > 0]])

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(30):
            a = rng.normal(size=(rng.integers(1, 60), 5))
            total, some = f(a)
            np.testing.assert_allclose(total, (a @ a.T).sum(0), rtol=1e-9, atol=1e-9)
            assert np.array_equal(some, a[a[:, 0] > 0])
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(16)))


@pytest.mark.parametrize("mode", ["NATIVE", "ONNX", "compile_native", "load"])
def test_threads_have_copies_of_functions(mode):
    """A function keeps arguments between its threads; what compile_native and load give keeps nothing."""
    numbers = [pt.dscalar(f"v{k}") for k in range(12)]
    total = pt.exp(y).sum() * 0 + sum(numbers)
    made = {"compile_native": ptgc.compile_native, "load": lambda i, o: ptgc.load(ptgc.to_ptg(i, o))}
    f = made[mode]([y, *numbers], [total]) if mode in made else pytensor.function([y, *numbers], total, mode=mode)
    calls = [f] * 6 if mode in made else [f.copy() for _ in range(6)]
    a, interval = np.ones(3000), sys.getswitchinterval()

    def work(k):
        return all(np.ravel(calls[k](a, *[1000.0 * k + i] * 12))[0] == 12 * (1000.0 * k + i) for i in range(300))

    sys.setswitchinterval(1e-7)
    try:
        with ThreadPoolExecutor(6) as pool:
            assert all(pool.map(work, range(6)))
    finally:
        sys.setswitchinterval(interval)


def test_calls_leak_nothing():
    f = ptgc.compile_native([x], [x * 2, x[x[:, 0] > 0]])
    a = np.ones((3, 2))
    before = sys.getrefcount(a)
    for _ in range(100):
        f(a), f(a.T.copy())
        with pytest.raises(TypeError):
            f(a[0])
    assert sys.getrefcount(a) == before


# ---- the cache ----

PROGRAM = """
import numpy as np, pytensor.tensor as pt, ptgc
v = pt.dvector("v")
print(ptgc.compile_native([v], [v * 2 + 1])(np.arange(3.0))[0].tolist())
"""


def in_process(**env):
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM], env={**os.environ, **env}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def counting_compiler(folder):
    """A compiler that notes each call but those for its version."""
    script, log = folder / "count-cc", folder / "calls"
    log.touch()
    script.write_text(f'#!/bin/sh\ncase $* in *--version*) ;; *) echo call >>{shlex.quote(str(log))} ;; esac\nexec cc "$@"\n')
    script.chmod(0o755)
    return str(script), lambda: len(log.read_text().split())


def test_a_second_process_does_not_compile(cache, tmp_path):
    command, calls = counting_compiler(tmp_path)
    for _ in range(2):
        out, err = in_process(CC=command).communicate()
        assert out == "[1.0, 3.0, 5.0]\n", err
    assert calls() == 1 and len(libraries(cache)) == 1


def test_several_processes_at_once(cache):
    for out, err in [p.communicate() for p in [in_process() for _ in range(3)]]:
        assert out == "[1.0, 3.0, 5.0]\n", err
    assert len(libraries(cache)) == 1 and not list(cache.rglob("*.tmp"))


@pytest.mark.parametrize("damage", [lambda b: b[:100], lambda b: b"", lambda b: b[:500] + b"\0" * 64 + b[564:]])
def test_damaged_files_are_made_anew(cache, damage):
    f = ptgc.compile_native([s], [s * 3])
    assert f(1.0)[0] == 3
    (file,) = libraries(cache)
    del f
    file.write_bytes(damage(file.read_bytes()))
    assert ptgc.compile_native([s], [s * 3])(2.0)[0] == 6
    assert _cache.content(file)


def test_other_flags_and_processors_have_files_of_their_own(cache, monkeypatch):
    ptgc.compile_native([s], [s * 5])
    ptgc.compile_native([s], [s * 5], cflags=["-O1"])
    monkeypatch.setattr(_cc, "processor", lambda: "another one")
    ptgc.compile_native([s], [s * 5])
    assert len(libraries(cache)) == 3


def test_no_compiler(cache, monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(RuntimeError, match="CC is 'no-such-compiler', which is not a command"):
        function([s], s * 7)
    monkeypatch.setenv("CC", "gcc 'x")
    with pytest.raises(RuntimeError, match="CC is \"gcc 'x\", which is no command: No closing quotation"):
        function([s], s * 7)
    monkeypatch.delenv("CC")
    monkeypatch.setenv("PATH", str(cache))
    with pytest.raises(RuntimeError, match="needs a C compiler, and there is none: install gcc or clang"):
        function([s], s * 7)


def test_a_compiler_that_fails_is_shown(cache, tmp_path, monkeypatch):
    script = tmp_path / "bad-cc"
    script.write_text('#!/bin/sh\ncase $1 in --version) echo 1; exit;; esac\necho "out of order" >&2\nexit 1\n')
    script.chmod(0o755)
    monkeypatch.setenv("CC", str(script))
    with pytest.raises(RuntimeError, match="out of order"):
        ptgc.compile_native([s], [s * 11])
    monkeypatch.setenv("CC", "echo")
    with pytest.raises(RuntimeError, match="does not compile the C of the graph: it ends with 0 and writes no library"):
        ptgc.compile_native([s], [s * 11])
    assert not libraries(cache)


def test_a_cache_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("PTGC_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(OSError, match="Set PTGC_CACHE to another folder"):
        ptgc.compile_native([s], [s * 13])


# ---- files ----


def test_export_c(tmp_path):
    exported = ptgc.export_c([x], [x.sum(0)], tmp_path / "sums.c", output_names=["sums"])
    assert exported.inputs == ["x"] and exported.outputs == ["sums"]
    code, header = (tmp_path / "sums.c").read_text(), (tmp_path / "sums.h").read_text()
    assert '#include "sums.h"' in code and "int sums_run(" in header
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-c"]
    subprocess.run([*_cc.compiler(), *flags, "sums.c", "-o", "sums.o"], cwd=tmp_path, check=True)
    for file, error, message in (
        (None, TypeError, "the file is missing"),
        (tmp_path / "sums.onnx", ValueError, "is called sums.c"),
        (tmp_path / "none" / "sums.c", FileNotFoundError, "no such directory"),
    ):
        with pytest.raises(error, match=message):
            ptgc.export_c([x], [x.sum(0)], file)
    with pytest.raises(TypeError, match="unknown option 'opset' of C"):
        ptgc.export_c([x], [x.sum(0)], tmp_path / "sums.c", opset=18)
    assert Path(tmp_path / "sums.c").read_text() == code


CALLER = """
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include "sums.h"

int main(void)
{
	double x[] = {1, 2, 3, 4}, sums[2];
	struct sums_in in = {.x_0 = 2, .x_1 = 2, .x = x};
	struct sums_out out = {.sums = sums};
	void *library = dlopen("./sums.so", RTLD_NOW), *work = NULL;
	int (*run)(const struct sums_in *, struct sums_out *, void *, size_t, size_t *);
	size_t need = 0;

	*(void **)&run = dlsym(library, "sums_run");
	while (run(&in, &out, work, need, &need) == sums_MORE)
		work = realloc(work, need);
	printf("%g %g\\n", sums[0], sums[1]);
	return 0;
}
"""


def test_libraries(tmp_path):
    """Loaded again, and called by a program that knows the header."""
    z = pt.cvector("z")
    metadata = {"what": 'a "quote", a \\, ??/ and ü\n', "more": ["x" * 2000]}
    ptgc.export_c([x, z], [x.sum(0), z * 2], tmp_path / "my sums.so", metadata=metadata)
    assert 'int my_20sums_run(' in (tmp_path / "my sums.h").read_text()
    a, c = np.arange(6.0).reshape(2, 3), np.array([1 + 2j], "complex64")
    for f in (ptgc.load(tmp_path / "my sums.so"), pickle.loads(pickle.dumps(ptgc.load(str(tmp_path / "my sums.so"))))):
        assert f.inputs == ["x", "z"] and f.metadata == metadata and "my_20sums_run(" in f.header
        sums, twice = f(a, c)
        assert sums.tolist() == [3, 5, 7] and twice.dtype == "complex64" and twice.tolist() == [2 + 4j]
        with pytest.raises(TypeError, match="'x' has the dtype int64"):
            f(np.ones((2, 3), int), c)
        with pytest.raises(TypeError, match="'z' has the dtype complex128"):
            f(a, c.astype("complex128"))
    ptgc.export_c([x], [x.sum(0)], tmp_path / "sums.so", output_names=["sums"], cflags=["-O1"])
    (tmp_path / "main.c").write_text(CALLER)
    subprocess.run([*_cc.compiler(), "main.c", "-o", "main", "-ldl"], cwd=tmp_path, check=True)
    assert subprocess.run(["./main"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout == "4 6\n"


def test_libraries_of_one_name(tmp_path):
    """Each load gives the library that the file is then, and keeps it, whatever is written into the file later."""
    file, a, loaded = tmp_path / "sums.so", np.arange(6.0).reshape(2, 3), []
    for n in range(3):
        ptgc.export_c([x], [x.sum(0) + n], file, metadata={"n": n})
        loaded.append(ptgc.load(file))
    ptgc.export_c([x], [x * 2], tmp_path / "other.so", model_name="sums")
    file.write_bytes((tmp_path / "other.so").read_bytes())  # in place
    loaded.append(ptgc.load(file))
    file.write_bytes(b"no library")
    for n, f in enumerate(loaded[:3]):
        assert f.metadata == {"n": n} and f(a)[0].tolist() == [3 + n, 5 + n, 7 + n]
    assert loaded[3](a)[0].tolist() == (2 * a).tolist()


def test_what_is_no_library(tmp_path):
    (tmp_path / "text.so").write_text("no library")
    (tmp_path / "other.c").write_text("int other;\n")
    subprocess.run([*_cc.compiler(), "-shared", "-fPIC", "other.c", "-o", "other.so"], cwd=tmp_path, check=True)
    for name, error, message in (
        ("text", ValueError, "text.so is not a shared library for this machine"),
        ("other", ValueError, "other.so is not a library that ptgc wrote"),
        ("none", FileNotFoundError, "no such file"),
    ):
        with pytest.raises(error, match=message):
            ptgc.load(tmp_path / f"{name}.so")
    with pytest.raises(TypeError, match="compiled already: it takes no option 'math'"):
        ptgc.load(tmp_path / "other.so", math="exact")
    for options, message in (({"metadata": {}}, "unknown option 'metadata' of C"), ({"cflags": ["-O1"]}, "for a library")):
        with pytest.raises(TypeError, match=message):
            ptgc.export_c([x], [x + 1], tmp_path / "m.c", **options)
    (tmp_path / "m.c").write_bytes(b"")
    with pytest.raises(ValueError, match="m.c is a file, but its name does not end in .ptg"):
        ptgc.load(str(tmp_path / "m.c"))


def test_flags_are_a_list():
    """A text would be taken letter by letter."""
    x = pt.vector("x", dtype="float64")
    for call in (
        lambda: ptgc.compile_native([x], [x + 1], cflags="-O1"),
        lambda: ptgc.export_c([x], [x + 1], "m.so", cflags="-O1"),
        lambda: ptgc.native_mode(cflags="-O1"),
        lambda: ptgc.compile_native([x], [x + 1], flags="-O1"),
        lambda: ptgc.compile_onnx([x], [x + 1], flags="-O1"),
    ):
        with pytest.raises(TypeError, match="flags is a list of texts, not '-O1'"):
            call()


# ---- weights ----


@pytest.fixture
def weights():
    return np.random.default_rng(4).normal(size=(400, 400))


def test_many_weights_are_no_text(weights, cache, tmp_path):
    args = np.random.default_rng(5).normal(size=(3, 400))
    want = np.tanh(args @ weights)
    y = pt.tanh(x @ weights)
    f, g = function([x], y), ptgc.compile_native([x], [y])
    again = pickle.loads(pickle.dumps(g))
    for got in (f(args), g(args)[0], again(args)[0], pickle.loads(pickle.dumps(f))(args)):
        np.testing.assert_allclose(got, want)
    assert len(g.code) < 100_000
    assert ptgc.verify(f, args)
    with pytest.raises(ValueError, match="weights and weights_bytes must be the file weights"):
        file = libraries(cache)[0]
        extension().Model(str(file), MODEL, np.empty, {"float64": np.dtype("float64")}).run(args)
    with pytest.raises(ImportError, match="the weights are 8 bytes"):
        extension().Model(str(file), MODEL, np.empty, {"float64": np.dtype("float64")}, bytes(8))


def test_threads_share_weights(weights, cache):
    g = ptgc.compile_native([x], [x @ weights])
    rows = np.random.default_rng(6).normal(size=(20, 2, 400))
    with ThreadPoolExecutor(4) as pool:
        for row, (got,) in zip(rows, pool.map(g, rows), strict=True):
            np.testing.assert_allclose(got, row @ weights)


def test_weights_of_files(weights, cache, tmp_path):
    args = np.random.default_rng(5).normal(size=(3, 400))
    ptgc.export_c([x], [x @ weights], tmp_path / "m.so")
    assert sorted(p.name for p in tmp_path.iterdir() if p.is_file()) == ["m.h", "m.so"]
    np.testing.assert_allclose(ptgc.load(tmp_path / "m.so")(args)[0], args @ weights)
    exported = ptgc.export_c([x], [x @ weights], tmp_path / "m.c")
    assert (tmp_path / exported.external_name).read_bytes() == exported.external
    assert exported.external_name.encode() in exported.model
    names = [exported.external_name]
    for k in range(3):  # weights of the version before the last one go
        names.append(ptgc.export_c([x], [x @ (weights + k + 1)], tmp_path / "m.c").external_name)
        assert {p.name for p in tmp_path.glob("*.data")} == set(names[-2:])
    ptgc.export_c([x], [x @ weights], tmp_path / "m.c", external_data="m.weights")
    assert (tmp_path / "m.weights").read_bytes() == exported.external


def test_few_weights_in_a_file(tmp_path):
    few = np.arange(200.0)
    assert not ptgc.export_c([y], [y * few], tmp_path / "a.c").external
    assert len(ptgc.export_c([y], [y * few], tmp_path / "b.c", external_data=True).external) == 1608
    for name in ("b.c", "b.h", "other/b"):
        with pytest.raises(ValueError, match="external_data must be the name of another file"):
            ptgc.export_c([y], [y * few], tmp_path / "b.c", external_data=name)
    g = ptgc.compile_native([y], [y * few], external_data=True)
    np.testing.assert_array_equal(g(few)[0], few * few)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_a_program_that_links_a_library_with_weights(compiler, weights, tmp_path, monkeypatch):
    monkeypatch.setenv("CC", compiler)
    ptgc.export_c([y], [y @ weights], tmp_path / "m.so", output_names=["z"])
    (tmp_path / "main.c").write_text("""
#include <stdio.h>
#include <stdlib.h>
#include "m.h"
int main(void)
{
	static double y[400], out[400];
	struct m_in in = {.y_0 = 400, .y = y};
	struct m_out to = {.z = out};
	size_t need = 0;
	y[7] = 1;
	m_run(&in, &to, NULL, 0, &need);
	int status = m_run(&in, &to, malloc(need), need, &need);
	printf("%s%.17g\\n", m_message(status), out[11]);
	return status;
}
""")
    subprocess.run([compiler, "main.c", "./m.so", "-o", "main"], cwd=tmp_path, check=True)
    r = subprocess.run([tmp_path / "main"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert float(r.stdout) == weights[7, 11]


# ---- verify ----

TEXT = """ptg 1

graph m(x: float64[n, 3], w: float64[3], k: int64[], b: bool[n+1]) -> (out: float64[n], total) {
  h = Tanh(x) + k
  q: float64[n] = h @ w
  out = Switch(b[1:], q, -q)
  total = loop (v in q, t = float64(0)) -> (t) {
    next t = t + v
  }
}
"""


def test_verify(tmp_path, monkeypatch):
    assert ptgc.verify(TEXT) and ptgc.verify(TEXT, seed=3)
    assert ptgc.verify(TEXT, np.ones((2, 3)), np.ones(3), np.array(1), np.ones(3, bool))
    assert ptgc.verify(function([y], pt.exp(y).sum()), np.ones(2))
    assert ptgc.verify("ptg 1\ngraph g(x: float64[n], i: int64[]) -> (y) { y = x[i] }\n", np.ones(2), np.array(5))
    file = tmp_path / "m.ptg"
    file.write_text(TEXT)
    run = [sys.executable, "-m", "ptgc", "verify", str(file)]
    assert "the same on" in subprocess.run(run, capture_output=True, text=True, check=True).stdout
    (tmp_path / "bad.ptg").write_text("ptg 1\n\ngraph g(x: float64[n]) -> (y) { y = Wrong(x) }\n")
    bad = subprocess.run([*run[:-1], str(tmp_path / "bad.ptg")], capture_output=True, text=True)
    assert bad.returncode == 2 and bad.stdout.startswith(f"{tmp_path / 'bad.ptg'}:4:7: error: unknown op 'Wrong'")
    made = ptgc.verifying.load_model

    def broken(compiled):
        return made(replace(compiled, model=re.sub(rb"(?<!double )ptgc_tanh\(", b"sqrt(", compiled.model)))

    monkeypatch.setattr(ptgc.verifying, "load_model", broken)
    with pytest.raises(AssertionError, match=r"h\[0, 0\] is .*\n  in line 4: h = Tanh\(x\) \+ k"):
        ptgc.verify(TEXT)


def test_a_length_that_an_integer_says_is_checked():
    """Never left out: the length would be another one."""
    n = pt.lscalar("n")
    f = function([y, n], pt.specify_shape(y, (n,)) * 2)
    np.testing.assert_array_equal(f(np.ones(3), 3), np.full(3, 2.0))
    for other in -1, 0, 2, 4:
        with pytest.raises(AssertionError, match="axis 0 of y must be n"):
            f(np.ones(3), other)
