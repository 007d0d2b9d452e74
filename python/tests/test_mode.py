"""mode="ONNX": what works in any PyTensor mode works in this one."""

import copy
import gc
import multiprocessing
import pickle
import re
import sys
import threading

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.builders import OpFromGraph
from pytensor.compile.io import In, Out
from pytensor.compile.mode import get_mode
from pytensor.conditional.op import ifelse
from pytensor.graph.replace import vectorize_graph
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.random.type import random_generator_type

import ptgc
from ptgc.testing import compare_onnx_and_py, onnx_node_types

x, v, w = pt.dmatrix("x"), pt.dvector("v"), pt.dvector("w")
i = pt.lscalar("i")


def function(*args, **kwargs):
    return pytensor.function(*args, mode="ONNX", **kwargs)


def test_mode_is_registered():
    assert get_mode("ONNX") is ptgc.ONNX
    assert isinstance(get_mode("ONNX").linker, ptgc.ONNXLinker)
    with pytensor.config.change_flags(mode=ptgc.ONNX):
        assert isinstance(pytensor.function([v], v + 1).vm.jit_fn.text, str)


def test_results_are_those_of_python_mode(rng):
    y = pt.tanh(x @ x.T)
    compare_onnx_and_py([x], [y, y.sum(axis=0), x[1:, ::-1]], [rng.normal(size=(4, 3))], rtol=1e-12)


def test_single_result_and_lists():
    np.testing.assert_array_equal(function([v], v + 1)([1.0]), [2.0])
    assert isinstance(function([v], [v + 1])([1.0]), list)
    assert function([], [])() == []


def test_python_and_numpy_scalars():
    a = pt.dscalar("a")
    got = function([a, i], a * i)(2.5, 3)
    assert got == 7.5 and isinstance(got, np.ndarray) and got.dtype == "float64"


def test_strided_fortran_and_readonly_inputs(rng):
    f = function([x], x * 2)
    a = rng.normal(size=(6, 8))
    b = a.copy()
    b.flags.writeable = False
    for value in (a[::2, ::-1], a.T, np.asfortranarray(a), b, a[:0], np.broadcast_to(a[0], (3, 8))):
        np.testing.assert_array_equal(f(value), value * 2)


def test_shared_variable_is_an_input():
    s = pytensor.shared(np.array([1.0, 2.0]), name="s")
    f = function([v], v * s)
    np.testing.assert_array_equal(f([1.0, 1.0]), [1, 2])
    s.set_value(np.array([5.0, 6.0]))
    np.testing.assert_array_equal(f([1.0, 1.0]), [5, 6])


def test_updates():
    s = pytensor.shared(0.0, name="s")
    f = function([v], [s * 2], updates={s: s + v.sum()})
    assert f([1.0, 2.0]) == [0.0]
    assert f([1.0, 2.0]) == [6.0]
    assert s.get_value() == 6.0
    only = function([v], [], updates={s: v.sum()})
    assert only([4.0]) == [] and s.get_value() == 4.0


def test_swapped_updates():
    a, b = pytensor.shared(np.array([1.0])), pytensor.shared(np.array([2.0]))
    function([], [], updates={a: b, b: a})()
    assert (a.get_value(), b.get_value()) == ([2.0], [1.0])


def test_givens():
    y = pt.exp(v)
    np.testing.assert_allclose(function([w], y, givens={v: w * 2})([1.0]), np.exp([2.0]))


def test_inputs_as_outputs():
    f = function([v, w], [v, w, v])
    a = np.array([1.0, 2.0])
    got = f(a, a + 1)
    np.testing.assert_array_equal(got, [a, a + 1, a])
    assert not any(np.shares_memory(g, a) for g in got)


def generator_graphs():
    r, other = random_generator_type("r"), pytensor.shared(np.random.default_rng(5), name="other")
    return {
        "an output": ([r, v], [r, v * 2], {}),
        "the only output": ([r], [r], {}),
        "between tensors": ([v, r, w], [v * 2, r, w, r], {}),
        "not used": ([r, v], [v * 2], {"on_unused_input": "ignore"}),
        "a shared variable": ([v], [v * 2, other], {}),
        "its own update": ([v], [v * 2], {"updates": {other: other}}),
        "another's update": ([r, v], [v * 2], {"updates": {other: r}}),
        "borrowed": ([In(r, borrow=True), v], [Out(r, borrow=True), v * 2], {}),
    }, r, other  # fmt: skip


@pytest.mark.parametrize("case", generator_graphs()[0])
def test_generators_are_passed_on(case):
    """They are no part of the model. A function returns them as those of any other mode do."""
    seen = {}
    for mode in ("FAST_COMPILE", "ONNX"):
        graphs, r, other = generator_graphs()
        inputs, outputs, options = graphs[case]
        f = pytensor.function(inputs, outputs, mode=mode, **options)
        given, values = np.random.default_rng(7), {r: None, v: np.array([1.0, 2.0]), w: np.array([3.0])}
        values[r] = given
        for _ in range(2):
            got = f(*[values[getattr(i, "variable", i)] for i in inputs])
        kinds = [(type(g), g is given, g is other.get_value(borrow=True)) for g in got]
        numbers = [g.tolist() if isinstance(g, np.ndarray) else g.normal() for g in got]
        seen[mode] = kinds, numbers, given.normal(), other.get_value(borrow=True).normal()
    assert seen["ONNX"] == seen["FAST_COMPILE"]


def test_same_output_twice():
    y = pt.exp(v)
    a, b = function([v], [y, y])([1.0])
    np.testing.assert_array_equal(a, b)
    assert not np.shares_memory(a, b)


def test_results_are_the_callers(rng):
    f = function([v], v * 2)
    a = f([1.0])
    a[0] = 7
    assert f([1.0]) == [2.0] and a == [7.0]


def test_constants_as_outputs_and_no_inputs():
    s = pytensor.shared(2.0)
    one, big, two = function([], [pt.constant(3.0), pt.constant(np.arange(100)), s * 2])()
    assert one == 3 and two == 4 and big.dtype == "int64"
    np.testing.assert_array_equal(big, np.arange(100))


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_64_bit_integers_have_numpy_s_own_type(dtype):
    x, s = pt.vector("x", dtype=dtype), pytensor.shared(np.arange(3, dtype=dtype))
    y = x * np.array(2, dtype)
    f = function([x], y, updates={s: s + np.array(1, dtype)})
    own, value = np.dtype(dtype), np.arange(4, dtype=dtype)
    assert f(value).dtype.char == own.char and type(f(value)[0]) is own.type
    assert s.get_value(borrow=True).dtype.char == own.char
    np.testing.assert_array_equal(pytensor.function([], s * s, mode="CVM")(), np.arange(2, 5) ** 2)  # compiled C looks
    exported = ptgc.compile_onnx([x], [y])
    assert exported(value)[0].dtype.char == own.char == ptgc.load(exported.text)(value).dtype.char


def test_unused_inputs():
    with pytest.raises(pytensor.compile.UnusedInputError):
        function([v, w], v + 1)
    assert function([v, w], v + 1, on_unused_input="ignore")([1.0], [2.0]) == [2.0]


def test_borrow():
    f = function([In(v, borrow=True)], Out(v + 1, borrow=True))
    assert f([1.0]) == [2.0]


def test_names_that_collide():
    a, b = pt.dvector("out"), pt.dvector("out")
    np.testing.assert_array_equal(function([a, b], [a - b, b])([3.0], [1.0])[0], [2.0])
    unnamed = [pt.dvector() for _ in range(3)]
    assert function(unnamed, unnamed[0] - unnamed[1] * unnamed[2])([9.0], [2.0], [3.0]) == [3.0]


def test_pickle():
    s = pytensor.shared(np.array(1.0), name="s")
    f = function([v], v * s, updates={s: s + 1})
    f([1.0])
    g = pickle.loads(pickle.dumps(f))
    assert g([3.0]) == [6.0] and g([3.0]) == [9.0]
    assert f([3.0]) == [6.0]


def test_pickle_of_modes():
    mode = ptgc.onnx_mode(opset=20, session_options={"intra_op_num_threads": 1})
    f = pytensor.function([v], v + 1, mode=mode)
    assert f([1.0]) == [2.0]
    assert pickle.loads(pickle.dumps(f))([1.0]) == [2.0]
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.execution_mode = ort.ExecutionMode.ORT_PARALLEL
    again = pickle.loads(pickle.dumps(ptgc.ONNXLinker(session_options=options)))
    assert again.session_options["intra_op_num_threads"] == 1
    assert again.session_options["execution_mode"] == ort.ExecutionMode.ORT_PARALLEL
    assert pytensor.function([v], v + 1, mode=pytensor.compile.mode.Mode(again))([1.0]) == [2.0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_with_erf(dtype):
    """In float32 they stay sums, unless their relative error counts; values as in PyTensor's own modes."""
    z = pt.vector("z", dtype=dtype)
    half = np.asarray(0.5, dtype)
    phi = half * (1 + pt.erf(z))
    values = np.array([-5, -3, -1, -0.0, 1, 5], dtype)
    for y, relative in (
        (z * phi, False), (pytensor.grad((z * phi).sum(), z), False), (z * (1 - pt.erf(z)), False),
        (pt.log(phi), True), (pytensor.grad(pt.log(phi).sum(), z), True), (z / phi, True), (phi ** -2, True),
    ):  # fmt: skip
        f, g = function([z], y), pytensor.function([z], y, mode="FAST_RUN")
        assert ("Erfc(" in f.vm.jit_fn.text) == (relative or dtype == "float64")
        close = {"rtol": 2e-6 if relative else 1e-6, "atol": 0 if relative else 1e-6} if dtype == "float32" else {"rtol": 1e-13}
        np.testing.assert_allclose(f(values), g(values), **close)


PLAIN = pytensor.compile.mode.Mode("py", optimizer=None)


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients_of_logsumexp(dtype, batched):
    """One exponential and a product, and NaN where PyTensor has it, for infinities too; inside of loops as well."""
    z, y = pt.matrix("z", dtype=dtype), pt.vector("y", dtype=dtype)
    inf, nan = np.inf, np.nan
    special = [[-inf, 1, 2], [1, -inf, -inf], [-inf] * 3, [inf, 1, 2], [inf, inf, 1], [nan, 1, 2], [80, 79, -1000]]
    values = [np.array(special, dtype),
        *[np.random.default_rng(1).normal(size=s).astype(dtype) for s in ((1, 1), (4, 3), (0, 3))]]
    for axis in (1, 0, (0, 1)):
        g = pytensor.grad((pt.logsumexp(z, axis=axis) * (2 if axis == (0, 1) else y)).sum(), z)
        if batched:
            big = pt.tensor3("big", dtype=dtype)
            g = vectorize_graph(g, {z: big})
        f, want = (pytensor.function([big if batched else z, y], g, mode=m, on_unused_input="ignore") for m in ("ONNX", PLAIN))
        assert not {"Eq", "Max"} & set(re.findall(r"\w+", f.vm.jit_fn.text))
        for v in values:
            if not v.shape[0] and axis != 1:
                continue
            given = np.stack([v, v + 1]) if batched else v, np.ones(np.sum(v, axis=axis).shape or 3, dtype)
            np.testing.assert_allclose(f(*given), want(*given), rtol=1e-5 if dtype == "float32" else 1e-12, atol=1e-30)


def test_graph_of_three_inputs_with_a_maximum():
    """It is looked at as what may be a gradient of LogSumExp, which has floats and these axes."""
    s, a, y = pt.dscalar("s"), pt.dmatrix("a"), pt.dvector("y")
    generator = pytensor.shared(np.random.default_rng(1))
    r = generator.type()
    with pytensor.config.change_flags(on_opt_error="raise"):
        f = pytensor.function([s, a, y], OpFromGraph([s, a, y], [a.max(axis=1) * s + y])(s, a, y), mode="ONNX")
        draw = OpFromGraph([r, a, y], [pt.random.normal(a.max(axis=0), 1e-9, rng=r) + y])(generator, a, y)
        g = pytensor.function([a, y], draw, mode="ONNX")
    np.testing.assert_allclose(f(2, [[1, 3], [4, 2]], [1, 0]), [7, 8])
    np.testing.assert_allclose(g([[1, 3], [4, 2]], [1, 0]), [5, 3], rtol=1e-6)


def test_gradients_of_logsumexp_in_loops(rng):
    """What is computed for all steps at once is not computed in the loop, nor the sum's gradient."""
    seq, start = pt.matrix("seq", shape=(None, 2)), pt.vector("start", shape=(2,))
    last = pytensor.scan(
        lambda e, a, w: e + pt.logsumexp(a[:, None] + w, axis=0), seq, start, [x], return_updates=False
    )[-1]  # fmt: skip
    g = pytensor.grad(pt.logsumexp(last), [seq, start, x])
    f, want = (pytensor.function([seq, start, x], g, mode=m) for m in ("ONNX", PLAIN))
    for n in (1, 2, 40):
        given = rng.normal(size=(n, 2)), rng.normal(size=2), rng.normal(size=(2, 2))
        for a, b in zip(f(*given), want(*given), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-11)


def product(threads):
    """A function whose work two threads share."""
    mode = ptgc.onnx_mode(session_options={"intra_op_num_threads": threads})
    return pytensor.function([x], pt.tanh(x @ np.random.default_rng(0).normal(size=(600, 600))), mode=mode)


@pytest.mark.parametrize("threads", [1, 2])
def test_forked_processes_call_a_function_of_their_parent(threads):
    f, value = product(threads), np.full((100, 600), 0.01)
    expected, context = f(value), multiprocessing.get_context("fork")

    def child(queue):
        nonlocal f
        queue.put([f(value) for _ in range(3)])
        f = None
        gc.collect()

    queue = context.Queue()
    children = [context.Process(target=child, args=(queue,), daemon=True) for _ in range(2)]
    for c in children:
        c.start()
    for _ in children:
        np.testing.assert_array_equal(queue.get(timeout=60), [expected] * 3)
    for c in children:
        c.join(60)
        assert c.exitcode == 0
    np.testing.assert_array_equal(f(value), expected)


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_processes_are_given_a_function(start):
    f, values = product(2), [np.full((100, 600), k / 100) for k in range(4)]
    with multiprocessing.get_context(start).Pool(2) as pool:
        got = pool.map_async(f, values).get(timeout=120)
    np.testing.assert_allclose(got, [f(value) for value in values], rtol=1e-12)


def test_threads_of_sessions():
    """One, without spinning; those of ONNX Runtime for large models; and what the user says."""

    def options(y, **given):
        mode = ptgc.onnx_mode(session_options=given)
        f = pytensor.function([x], y, mode=mode)
        found = f.vm.jit_fn.session.get_session_options()
        return found.intra_op_num_threads, found.get_session_config_entry("session.intra_op.allow_spinning")

    large = x @ np.arange(1e6).reshape(1000, 1000)
    assert options(x + 1) == (1, "0")
    assert options(large) == (0, "0")
    assert options(x + 1, intra_op_num_threads=2) == (2, "0")
    assert options(large, intra_op_num_threads=1, config={"session.intra_op.allow_spinning": 1}) == (1, "1")


def test_session_options_reach_the_session_as_they_are(monkeypatch):
    import onnxruntime as ort

    options, seen = ort.SessionOptions(), []
    made = ptgc.linker.make_session
    monkeypatch.setattr(ptgc.linker, "make_session", lambda *args: seen.append(args[1]) or made(*args))
    assert pytensor.function([v], v + 1, mode=ptgc.onnx_mode(session_options=options))([1.0]) == [2.0]
    assert seen == [options]  # with entries of its config, which nothing can list


def test_deep_copy():
    s = pytensor.shared(np.array(1.0))
    f = function([v], v * s, updates={s: s + 1})
    g = copy.deepcopy(f)
    assert g([1.0]) == [1.0] and g([1.0]) == [2.0] and f([1.0]) == [1.0]


def test_function_copy():
    s, t = pytensor.shared(np.array(1.0)), pytensor.shared(np.array(10.0))
    f = function([v], v * s, updates={s: s + 1})
    assert f.copy(share_memory=True)([1.0]) == [1.0]
    assert f.copy(swap={s: t})([1.0]) == [10.0]
    assert f.copy(delete_updates=True)([1.0]) == [2.0] and s.get_value() == 2


def test_profile():
    f = function([v], v.sum(), profile=True)
    assert f([1.0, 2.0]) == 3
    assert f.profile.fct_callcount == 1


def test_threads(rng):
    functions = [function([x], pt.tanh(x @ x) * k) for k in range(4)]
    a = rng.normal(size=(30, 30))
    want = [np.tanh(a @ a) * k for k in range(4)]
    errors = []

    def run(k):
        try:
            for _ in range(50):
                np.testing.assert_allclose(functions[k](a), want[k], rtol=1e-12)
        except Exception as e:
            errors.append(e)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not errors


def test_compiling_in_threads():
    errors = []

    def run(k):
        try:
            u = pt.dvector("u")
            fg = pytensor.graph.fg.FunctionGraph([u], [pt.exp(u) * k])
            assert ptgc.load(ptgc.to_ptg(fg))([0.0]) == [k]
        except Exception as e:
            errors.append(e)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not errors


def test_ifelse_evaluates_one_branch():
    idx = pt.lvector("idx")
    f = function([i, v, w, idx], ifelse(i, pt.exp(v), w[idx]))
    np.testing.assert_allclose(f(1, [0.0], [0.0], [100]), [1.0])
    with pytest.raises(IndexError):
        f(0, [0.0], [0.0], [100])
    assert "If" in onnx_node_types(f)


def test_ifelse_with_several_results():
    a, b = ifelse(i > 2, (v, w), (w + 1, v))
    f = function([i, v, w], [a, b])
    assert f(3, [1.0], [5.0]) == [[1.0], [5.0]]
    assert f(0, [1.0], [5.0]) == [[6.0], [1.0]]


def test_op_from_graph():
    op = OpFromGraph([v, w], [pt.exp(v) - w, v * w])
    a, b = op(v, w + 1)
    compare_onnx_and_py([v, w], [a * b], [[1.0, 2.0], [3.0, 4.0]], rtol=1e-12)


def test_batches_of_an_inner_graph(rng):
    """Every result has all of the batch, whatever inputs it depends on, and lengths are checked."""
    inner = OpFromGraph([v, w], [v * pt.dot(v, w), pt.exp(w).cumsum(), v.sum(), pt.ones((2,))])
    blocks = Blockwise(inner, signature="(n),(n)->(n),(n),(),(two)")
    t, row = pt.dtensor3("t"), pt.tensor("row", dtype="float64", shape=(1, None))
    for second in (v, x, row, t):
        shapes = {0: (4,), 1: (4,), 2: (3, 4), 3: (2, 3, 4)}
        values = [rng.normal(size=(2, 3, 4)), rng.normal(size=(1, 4) if second is row else shapes[second.type.ndim])]
        inputs = [t, second if second is not t else pt.dtensor3("t2")]
        compare_onnx_and_py(inputs, blocks(*inputs), values, rtol=1e-12)
    f = function([t, x], blocks(t, x)[2:3])
    with pytest.raises((ValueError, AssertionError)):
        f(np.ones((2, 3, 4)), np.ones((2, 4)))


def test_gradients(rng):
    W = pt.dmatrix("W")
    loss = pt.log1p(pt.exp(x @ W)).sum()
    compare_onnx_and_py(
        [x, W], pytensor.grad(loss, [x, W]), [rng.normal(size=(5, 3)), rng.normal(size=(3, 2))], rtol=1e-10
    )


@pytest.mark.parametrize("dtype", ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
                                   "float16", "float32", "float64"])  # fmt: skip
def test_dtypes_pass_through(dtype):
    a = pt.vector("a", dtype=dtype)
    value = np.array([0, 1], dtype)
    got = function([a], a[::-1])(value)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, value[::-1])


def test_scalar_typed_values():
    import pytensor.scalar as ps

    a = ps.float64("a")
    f = function([a, v], [pt.tensor_from_scalar(a) + v])
    assert f(2.0, [1.0]) == [[3.0]]


def test_opset_and_session_options():
    import onnx

    for opset in (13, 18, 22):
        mode = ptgc.onnx_mode(opset=opset, session_options={"graph_optimization_level": "none"})
        f = pytensor.function([v], v.sum(), mode=mode)
        assert f([1.0, 2.0]) == 3
        assert onnx.load_from_string(f.vm.jit_fn.model).opset_import[0].version == opset


@pytest.mark.parametrize(
    "options, words",
    [
        ({"opset": "18"}, "opset '18' is out of range"),
        ({"opset": 27}, "opset 27 is out of range"),
        ({"session_options": {"threads": 1}}, "has no 'threads'"),
        ({"session_options": {"graph_optimization_level": "most"}}, "expected one of none, basic"),
        ({"providers": ["Abacus"]}, "no execution provider 'Abacus'"),
    ],
)
def test_wrong_options_of_the_mode(options, words):
    with pytest.raises(ValueError, match=words):
        pytensor.function([v], v * 2, mode=ptgc.onnx_mode(**options))


def test_importing_changes_nothing_else():
    import subprocess
    import sys

    code = (
        "import pytensor, sys\nfrom pytensor.compile import mode\nbefore = set(mode.predefined_modes), pytensor.config.mode\n"
        "import ptgc\nassert set(mode.predefined_modes) - before[0] == {'NATIVE', 'ONNX'}\n"
        "assert pytensor.config.mode == before[1]\nassert 'onnxruntime' not in sys.modules and 'onnx' not in sys.modules\n"
        "assert 'jax' not in sys.modules and 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_weights_outside_of_the_model(monkeypatch):
    """The path that constants of models over 2 GB take, with tensors of other sizes."""
    import ptgc.linker

    plain = ptgc.linker.compile_graph
    monkeypatch.setattr(ptgc.linker, "compile_graph", lambda *a, **k: plain(*a, external_threshold=1024, **k))
    tables = [np.arange(3000.0).reshape(30, 100), np.arange(2000) % 7 == 0, np.arange(1200, dtype="int8")]
    tables += [np.linspace(0, 1, 900).astype("float16"), np.arange(4.0)]
    u = pt.dvector("u")
    y = [pt.constant(tables[0]) @ u, pt.constant(tables[1]) & (u[0] > 0)]
    y += [pt.constant(t) * u[1].astype(t.dtype) for t in tables[2:]]
    f = pytensor.function([u], y, mode="ONNX")
    assert len(f.vm.jit_fn.model) < 6000
    gc.collect()
    for g in (f, copy.deepcopy(f), pickle.loads(pickle.dumps(f))):
        value = np.arange(100.0) + 1
        want = pytensor.function([u], y, mode="FAST_COMPILE")(value)
        for a, b in zip(g(value), want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
            assert a.dtype == b.dtype


@pytest.mark.parametrize("mode", ["ONNX", "NATIVE"])
def test_trusted_inputs_that_are_no_plain_arrays(mode):
    """A byte order that is not the machine's was read as if it were."""
    v, b = pt.dvector("v"), pt.bscalar("b")
    f, g = (pytensor.function([x], x * 2, mode=mode) for x in (v, b))
    f.trust_input = g.trust_input = True
    assert g(np.int8(3)) == 6
    swapped = np.arange(3.0).astype(">f8" if sys.byteorder == "little" else "<f8")
    if mode == "NATIVE":
        with pytest.raises(TypeError, match="has the dtype"):
            f(swapped)
    else:
        np.testing.assert_array_equal(f(swapped), [0, 2, 4])
        np.testing.assert_array_equal(f.vm.jit_fn(swapped)[0], [0, 2, 4])
        with pytest.raises(Exception, match="float"):
            f(np.arange(3, dtype="f4"))
