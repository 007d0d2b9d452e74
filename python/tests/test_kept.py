"""Rewritten graphs in the cache: what a later process takes is what the rewrites would give, for this graph alone."""

import importlib
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Mapping

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytensor.xtensor as px
import pytest
from pytensor.compile.builders import OpFromGraph
from pytensor.compile.mode import optdb
from pytensor.graph.basic import Apply
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.op import Op
from pytensor.graph.rewriting.basic import node_rewriter
from pytensor.xtensor import reduction

from ptgc import _cache, _graph_key, _kept
from ptgc._graph_key import tags
from ptgc.linker import ONNX
from ptgc.rewrites import ifelse

x, v, m = pt.dscalar("x"), pt.dvector("v"), pt.dmatrix("m")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PTGC_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(autouse=True)
def taken(monkeypatch):
    """For each graph that is looked up: was it there?"""
    found, take = [], _kept.take

    def noting_take(*args):
        found.append(take(*args))
        return found[-1]

    monkeypatch.setattr(_kept, "take", noting_take)
    return found


def files(cache):
    return sorted(cache.rglob("*.graph"))


def compiled(inputs, outputs, **options):
    return pytensor.function(inputs, outputs, mode="ONNX", on_unused_input="ignore", **options)


def contents(f):
    """All of the rewritten graph that someone may see"""
    nodes = f.maker.fgraph.toposort()
    made = [(v.name, v.type, getattr(v.tag, "trace", []), tags(v)) for node in nodes for v in node.outputs]
    return [(node.op, str(node.op), tags(node)) for node in nodes], made, f.vm.jit_fn.text


def scan_of(start, factor):
    return pytensor.scan(lambda s: s * factor + 1, outputs_info=[start], n_steps=5, return_updates=False)


def tagged(variable, tag):
    if tag:
        setattr(variable.tag, tag, True)
    return variable


@pytest.mark.parametrize(
    "inputs, outputs",
    [
        ([v], [pt.exp(v) + pt.exp(v), pt.log(1 + pt.exp(v))]),
        ([v], [v, pt.as_tensor(np.arange(4.0)) * 1, v * 1]),
        ([], [pt.as_tensor(3.0)]),
        ([x, m], [pt.dot(m, m.T) * x, m.sum(), pt.grad((m**3).sum(), m)]),
        ([x], [scan_of(x, pt.as_tensor(0.5))[-1]]),
        ([x, v], [ifelse(x > 0, v + 0, v * 2)]),
        ([x, v], [ifelse(x > 0, v + 0, v * 2, name="a").sum(), ifelse(x > 0, v, v * 2, name="b")[0]]),
        ([v], [OpFromGraph([v], [pt.special.logsumexp(v) + v])(v * 2)]),
        ([m], [pt.linalg.cholesky(m @ m.T + np.eye(3)), m[1:, ::2].T]),
        ([m], [tagged(pt.exp(m), "lower_triangular")]),
        ([v], [pt.log(pt.erfc(v))]),
        ([v], [v[pt.as_tensor([0, 0, 1])], pt.set_subtensor(v[1:], 0), v.astype("float32") + np.float32(1)]),
    ],
)
def test_what_is_taken_is_what_was_kept(inputs, outputs, taken, cache):
    first = compiled(inputs, outputs)
    assert taken == [False] and len(files(cache)) == 1
    second = compiled(inputs, outputs)
    assert taken == [False, True]
    assert contents(first) == contents(second)
    values = {x: 0.7, v: np.array([0.5, -1.0, 2.0]), m: np.arange(9.0).reshape(3, 3) / 7}
    arguments = [values[i] for i in inputs]
    want = pytensor.function(inputs, outputs, mode="FAST_COMPILE", on_unused_input="ignore")(*arguments)
    for got, right in zip(second(*arguments), want, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-12)


def test_mode_native_takes_what_mode_onnx_kept(taken):
    compiled([v], pt.exp(v) + 1)
    f = pytensor.function([v], pt.exp(v) + 1, mode="NATIVE")
    assert taken == [False, True] and f([0.0])[0] == 2


def test_modes_that_pymc_makes_of_ours_take_it(taken):
    ours = pytensor.compile.mode.get_mode("ONNX")
    optimizer = ours.provided_optimizer.including("random_make_inplace")
    mode = pytensor.compile.mode.Mode(linker=ours.linker, optimizer=optimizer)
    for m in (mode, pickle.loads(pickle.dumps(mode))):
        assert pytensor.function([v], pt.exp(v) + 1, mode=m)([0.0]) == 2
    assert taken == [False, True]


@pytest.mark.parametrize("change", ["including", "excluding"])
def test_our_query_with_another_linker(change, taken):
    """It has the tags of that linker: NUMBA's, without which it cannot draw."""
    optimizer = getattr(pytensor.compile.mode.get_mode("NATIVE").provided_optimizer, change)("no_such_tag")
    mode = pytensor.compile.mode.Mode(linker="numba", optimizer=optimizer)
    assert not set(mode.linker.incompatible_rewrites) - set(mode._optimizer.exclude)
    assert set(mode.linker.required_rewrites) <= set(mode._optimizer.include)
    pytensor.function([x], x + 1, mode=mode)
    assert not taken


def test_graphs_in_ops_are_rewritten_for_their_linker(cache):
    """Numba's have copies of inputs that are passed on; ours do not need them."""
    native = pytensor.compile.mode.get_mode("NATIVE")
    inner = OpFromGraph([v], [v, v[::-1]])(v)
    numba = pytensor.compile.mode.Mode(linker="numba", optimizer=native.provided_optimizer)
    for mode in (native, numba):
        fgraph = FunctionGraph([v], list(inner), clone=True)
        fgraph._compile_mode = mode
        _kept.rewrite_or_take(fgraph, native._optimizer.query, lambda: None)
    assert len(files(cache)) == 2


def test_generators_and_updates(taken):
    for _ in range(2):
        rng = pytensor.shared(np.random.default_rng(3), name="rng")
        following, draw = pt.random.normal(x, 1, size=(4,), rng=rng).owner.outputs
        f = compiled([x], draw, updates={rng: following})
        np.testing.assert_array_equal(f(1.0), np.random.default_rng(3).normal(1, 1, 4))
        assert not np.array_equal(f(1.0), np.random.default_rng(3).normal(1, 1, 4))
    assert taken == [False, True]


IN_PROCESS = """
import pytensor, pytensor.tensor as pt, numpy as np
from ptgc import _kept
take, found = _kept.take, []
_kept.take = lambda *args: found.append(take(*args)) or found[-1]
v = pt.dvector("v")
y = pytensor.scan(lambda s: pt.special.softmax(s * 0.5), outputs_info=[v], n_steps=3, return_updates=False)[-1]
f = pytensor.function([v], [y, pt.grad(y[0], v)], mode="ONNX")
print(found, f([1.0, 2.0])[0].sum())
"""


def test_another_process_takes_it(cache):
    for k, found in enumerate(("[False]", "[True]", "[True]")):
        environment = {**os.environ, "PYTHONHASHSEED": str(k)}
        done = subprocess.run([sys.executable, "-c", IN_PROCESS], env=environment, capture_output=True, text=True)
        assert done.stdout == f"{found} 1.0\n", done.stderr
    assert len(files(cache)) == 1


CHECKED = """
import pytensor, pytensor.tensor as pt
from pytensor.raise_op import Assert
from ptgc import _kept
take, found = _kept.take, []
_kept.take = lambda *args: found.append(take(*args)) or found[-1]
v = pt.dvector("v")
for k in range(3):
    pytensor.function([v], Assert("")(v * (k + 1), pt.all(v > k)), mode="ONNX")
print(*found)
"""


def test_all_graphs_of_a_process_are_there_for_the_next_one():
    """PyTensor imports pytensor.sparse, which registers rewrites, when it first looks at an Assert."""
    found = [subprocess.run([sys.executable, "-c", CHECKED], capture_output=True, text=True).stdout for _ in range(2)]
    assert found == ["False False False\n", "True True True\n"]


# ---- graphs that are not the same ----


def of_constant(value):
    return [v], pt.exp(v) * pt.as_tensor(value, name="c")


def long_constant(last):
    return [v], v[:1] * pt.as_tensor(np.append(np.ones(9999), last)).sum()


def solved(tag=None, of=lambda a: a):
    a = pt.dmatrix("a")
    return [a, v], pt.linalg.solve(tagged(of(a), tag), v)


def ones(_):
    return pt.as_tensor(np.ones((3, 3)))


def of_dims(reduce):
    named = px.xtensor("named", dims=("a", "b"), shape=(2, 3))
    return [named], reduce(named, dim="a").values


DIFFERENT = {
    "the value of a constant": (of_constant(2.0), of_constant(3.0)),
    "the sign of a zero": (([v], v / pt.as_tensor(0.0)), ([v], v / pt.as_tensor(-0.0))),
    "an element of a long constant": (long_constant(1.0), long_constant(2.0)),
    "the dtype of a constant": (([v], (v * 0).astype("int8") + np.int8(2)), ([v], (v * 0).astype("int8") + np.int16(2))),
    "the order of inputs": (([x, v], x - v), ([v, x], x - v)),
    "the order of operands": (([x, v], x - v), ([x, v], v - x)),
    "the order of outputs": (([v], [v + 1, v * 2]), ([v], [v * 2, v + 1])),
    "a property of an op": (([m], m.sum(axis=0)), ([m], m.sum(axis=1))),
    "an index": (([v], v[1:]), ([v], v[:1])),
    "an index that is an input": (([v, pt.lscalar("i")], v[1] + v), ([v, pt.lscalar("i")], v[2] + v)),
    "what a loop does": (([x], scan_of(x, 0.5)), ([x], scan_of(x, 0.25))),
    "what a graph in a graph does": (
        ([v], OpFromGraph([v], [v + 1])(v)),
        ([v], OpFromGraph([v], [v + 2])(v)),
    ),
    "the length of an input": (
        ([pt.tensor("t", shape=(3,))], None),
        ([pt.tensor("t", shape=(None,))], None),
    ),
    "the name of an output": (([v], (v + 1).copy(name="a")), ([v], (v + 1).copy(name="b"))),
    "a property of an op with slots": (of_dims(reduction.sum), of_dims(reduction.prod)),
    "a tag of an input": (solved(), solved("lower_triangular")),
    "a tag of a constant": (solved(of=ones), solved("upper_triangular", of=ones)),
    "a tag of what a node computes": (solved(of=pt.exp), solved("lower_triangular", of=pt.exp)),
}


@pytest.mark.parametrize("pair", DIFFERENT.values(), ids=list(DIFFERENT))
def test_graphs_that_differ_have_files_of_their_own(pair, taken):
    texts = []
    for inputs, outputs in pair:
        outputs = inputs[0] + 1 if outputs is None else outputs
        f = compiled(inputs, outputs)
        texts.append((f.vm.jit_fn.text, [a.tobytes() for a in f.vm.jit_fn.graph.tensors.values()]))
    assert not any(taken) and texts[0] != texts[1]


def test_options_of_an_op_with_a_graph_are_part_of_the_key():
    def file_of(**options):
        smallest, _ = pt.optimize.minimize((x - 1) ** 4, x, optimizer_kwargs=options)
        return _kept.Before(FunctionGraph([x], [smallest]), ONNX._optimizer.query).file

    assert file_of(tol=0.1) == file_of(tol=0.1) != file_of(tol=1e-9)


def test_data_that_change_in_place(taken):
    """PyTensor notes in the tags of a constant that no index is there twice, and believes it after a change."""
    indices = np.arange(3)

    def added(index):
        return compiled([v], pt.inc_subtensor(v[index], v)[index])([1.0, 2.0, 4.0])

    constant = pt.as_tensor(indices)
    np.testing.assert_array_equal(added(constant), [2, 4, 8])
    indices[:] = 0, 0, 1
    for index in (constant, pt.as_tensor(indices.copy())):
        np.testing.assert_array_equal(added(index), [4, 4, 6])
    assert taken == [False, False, True]


def test_options_and_rewrites_are_part_of_the_key(taken):
    def compile_again():
        compiled([v], v.sum() + 1)
        return taken.pop()

    assert [compile_again(), compile_again()] == [False, True]
    with pytensor.config.change_flags(cast_policy="numpy+floatX"):
        assert not compile_again()
    excluding = pytensor.compile.mode.get_mode("ONNX").excluding("local_sum_prod_alloc")
    pytensor.function([v], v.sum() + 1, mode=excluding)
    assert not taken.pop() and compile_again()


def test_an_option_that_another_thread_has_while_it_compiles():
    def file():
        return _kept.Before(FunctionGraph([v], [v + 1]), ONNX._optimizer.query).file

    before = file()
    with pytensor.config.change_flags(traceback__limit=0):
        assert file() == before


def test_releases_of_what_folds_constants_are_part_of_the_key(taken, monkeypatch):
    compiled([v], pt.exp(v) + 1)
    monkeypatch.setattr(_graph_key, "COMPUTING", "SciPy of tomorrow")
    compiled([v], pt.exp(v) + 1)
    assert taken == [False, False]


def installed(tmp_path, monkeypatch, name):
    folder = tmp_path / "site-packages" / name
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(folder.parent)
    importlib.import_module(name)
    return folder


def test_a_link_to_nowhere_among_the_files_of_a_package(tmp_path, monkeypatch):
    """as an editor makes for a file that it has open"""
    folder = installed(tmp_path, monkeypatch, "package_of_kept_1")
    monkeypatch.setattr(_graph_key, "LOADED", time.time_ns() + 10**9)
    (folder / ".#file.py").symlink_to("nowhere")
    assert str(folder / "__init__.py") in _graph_key.files_of(folder.name)


def test_files_that_changed_since_they_were_loaded(tmp_path, monkeypatch):
    folder = installed(tmp_path, monkeypatch, "package_of_kept_2")
    with pytest.raises(_graph_key.NoKey, match="newer"):
        _graph_key.files_of(folder.name)


def test_verbose_rewrites_are_done(taken, capsys):
    compiled([v], v * 1)
    with pytensor.config.change_flags(optimizer_verbose=True):
        compiled([v], v * 1)
    assert taken == [False] and "local_mul" in capsys.readouterr().out


# ---- what is not kept ----


class Local(Op):
    """Defined in a file that is not installed: it may be another op tomorrow."""

    __props__ = ()

    def make_node(self, a):
        return Apply(self, [a], [a.type()])

    def perform(self, node, inputs, outputs):
        outputs[0][0] = inputs[0].copy()


def test_ops_and_rewrites_of_scripts_are_not_kept(taken, cache):
    with pytest.raises(NotImplementedError):
        compiled([v], Local()(v * 1))
    assert not files(cache)

    @node_rewriter([pt.exp])
    def local_exp_of_tests(fgraph, node):
        return None

    optdb["canonicalize"].register("local_exp_of_tests", local_exp_of_tests, "fast_run")
    try:
        compiled([v], pt.exp(v))
        compiled([v], pt.exp(v))
    finally:
        optdb["canonicalize"].remove_tags("local_exp_of_tests", "fast_run", "canonicalize")
        db = optdb["canonicalize"].__db__
        db[type(local_exp_of_tests).__name__].remove(local_exp_of_tests)
        del db["local_exp_of_tests"]
        optdb["canonicalize"]._names.discard("local_exp_of_tests")
    assert not files(cache) and not taken
    compiled([v], pt.exp(v))
    assert len(files(cache)) == 1


def test_loops_with_a_mode_of_their_own_are_not_kept(taken, cache):
    for mode in ("FAST_COMPILE", "FAST_RUN"):
        own = pytensor.compile.mode.get_mode(mode)
        with pytest.warns(FutureWarning, match="`mode` argument"):
            y = pytensor.scan(lambda s: s * 0.5, outputs_info=[x], n_steps=5, return_updates=False, mode=own)
        compiled([x], y)
    assert not taken and not files(cache)


class Indescribable(Mapping):
    __hash__ = object.__hash__

    def __getitem__(self, key):
        raise RuntimeError("no items")

    def __iter__(self):
        return iter(["a"])

    def __len__(self):
        return 1


class WithIndescribable(Local):
    __props__ = ("size",)
    size = Indescribable()


def test_ops_that_raise_when_they_are_described_are_not_kept(taken, cache):
    with pytest.raises(NotImplementedError):
        compiled([v], WithIndescribable()(v * 1))
    assert not taken and not files(cache)


def test_long_folded_constants_are_not_kept(taken, cache):
    n = _kept.LARGEST // 8 + 1
    compiled([v], v[0] + pt.arange(n) * 0.5)
    assert all(f.stat().st_size < 1e5 for f in files(cache))


@pytest.mark.parametrize("damage", [lambda b: b[:100], lambda b: b"", lambda b: b[:50] + b"\0" * 8 + b[58:]])
def test_damaged_files_are_made_anew(damage, taken, cache):
    compiled([v], pt.exp(v) + 1)
    (file,) = files(cache)
    file.write_bytes(damage(file.read_bytes()))
    assert compiled([v], pt.exp(v) + 1)([0.0]) == 2
    assert compiled([v], pt.exp(v) + 1)([0.0]) == 2
    assert taken == [False, False, True]


def test_files_that_are_no_graphs_are_made_anew(taken, cache):
    compiled([v], pt.exp(v) + 1)
    (file,) = files(cache)
    _cache.keep(file, b"no pickle")
    assert compiled([v], pt.exp(v) + 1)([0.0]) == 2
    assert compiled([v], pt.exp(v) + 1)([0.0]) == 2
    assert taken == [False, False, True]


def test_a_folder_that_cannot_be_written(tmp_path, monkeypatch, taken):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PTGC_CACHE", str(tmp_path / "file" / "cache"))
    for _ in range(2):
        assert compiled([v], pt.exp(v) + 1)([0.0]) == 2
    assert taken == [False, False]


def test_threads(taken, cache):
    found = []
    graphs = [pt.exp(v) * k + scan_of(v.sum(), 0.5)[-1] for k in range(4)] * 2
    threads = [threading.Thread(target=lambda y=y: found.append(compiled([v], y)([0.0])[0])) for y in graphs]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(found) == sorted([k + 1.9375 for k in range(4)] * 2)
    # PyTensor sets optdb__max_use_ratio for all threads while it looks for a static shape: another key
    assert len(files(cache)) >= 4 and not list(cache.rglob("*.tmp"))
