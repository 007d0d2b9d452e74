"""NumPy's generators in ONNX mode and in exports: the same draws, and the same state after them."""

import pickle

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from numpy.random import MT19937, PCG64, PCG64DXSM, SFC64, Generator, Philox
from pytensor.compile.builders import OpFromGraph
from pytensor.conditional.op import ifelse
from pytensor.tensor.random.type import random_generator_type
from pytensor.tensor.random.utils import RandomStream

import ptgc
from ptgc.linker import onnx_mode

KINDS = [PCG64, PCG64DXSM, Philox]
pytestmark = pytest.mark.filterwarnings("ignore")


def state(generator):
    return ptgc.generator_to_words(generator).tolist()


def new(kind=PCG64, seed=7):
    """A generator that has drawn before, and that keeps half a word."""
    generator = Generator(kind(seed))
    generator.integers(10, size=3, dtype="uint32")
    generator.random(2)
    return generator


def both(build, *args, kind=PCG64, calls=2, mode="ONNX"):
    """Calls the function of ``build(shared generator)`` -> (inputs, outputs, updates) in ONNX and Python mode."""
    found = []
    for m in (mode, pytensor.compile.mode.Mode("py", "fast_run")):
        shared = pytensor.shared(new(kind), name="r")
        inputs, outputs, updates = build(shared)
        f = pytensor.function(inputs, outputs, updates=updates, mode=m)
        results = [f(*args) for _ in range(calls)]
        found.append((results, state(shared.get_value())))
    (got, left), (want, left_by_python) = found
    for g, w in zip(got, want, strict=True):
        for a, b in zip(g, w, strict=True):
            if isinstance(b, Generator):
                assert state(a) == state(b)
            else:
                assert np.asarray(a).dtype == np.asarray(b).dtype
                np.testing.assert_array_equal(a, b)
    assert left == left_by_python


# ---- words ----


@pytest.mark.parametrize("kind", KINDS)
def test_words_and_back(kind):
    generator = new(kind)
    words = ptgc.generator_to_words(generator)
    assert words.dtype == np.uint64 and words.shape == ((13,) if kind is Philox else (6,))
    back = ptgc.words_to_generator(words, kind.__name__)
    assert type(back.bit_generator) is kind
    assert str(back.bit_generator.state) == str(generator.bit_generator.state)
    assert back.integers(9, size=5, dtype="uint32").tolist() == generator.integers(9, size=5, dtype="uint32").tolist()
    np.testing.assert_array_equal(back.normal(size=7), generator.normal(size=7))


def test_words_of_several():
    several = np.random.default_rng(3).spawn(4)
    words = ptgc.generator_to_words(several)
    assert words.shape == (4, 6)
    assert [g.random() for g in ptgc.words_to_generator(words)] == [g.random() for g in several]


def test_what_has_no_words():
    for kind in (MT19937, SFC64):
        with pytest.raises(TypeError, match=kind.__name__):
            ptgc.generator_to_words(Generator(kind(1)))
    with pytest.raises(TypeError, match="of one kind"):
        ptgc.generator_to_words([new(), new(Philox)])
    with pytest.raises(ValueError, match="13 words"):
        ptgc.words_to_generator(np.zeros(6, np.uint64), "Philox")
    with pytest.raises(TypeError, match="int64"):
        ptgc.words_to_generator(np.zeros(6, int))


def test_children_of_words():
    a, b = (ptgc.words_to_generator(ptgc.generator_to_words(np.random.default_rng(s))) for s in (1, 2))
    assert a.spawn(1)[0].random() != b.spawn(1)[0].random()
    parent = np.random.default_rng(1)
    like = ptgc.words_to_generator(ptgc.generator_to_words(parent), like=parent)
    assert like.spawn(1)[0].random() == parent.spawn(1)[0].random()


# ---- shared generators ----


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [None, (), (1,), (5,), (3, 4), (0,)])
def test_draws_and_state(kind, size):
    def build(r):
        r2, x = r.uniform(0.5, 2.0, size=size)
        r3, y = r2.uniform(-1, x**2, size=size)
        return [], [x, y], {r: r3}

    both(build, kind=kind)


def test_open_sizes_and_parameters():
    mu, n = pt.dvector("mu"), pt.lscalar("n")

    def build(r):
        r2, x = r.uniform(mu, 1 + mu**2)
        r3, y = r2.uniform(mu[0], size=(n, 2))
        return [mu, n], [x, y], {r: r3}

    both(build, [0.5, -2.0, 3.0], 4)
    both(build, [0.5], 0)


def test_float32():
    def build(r):
        r2, x = r.uniform(np.float32(0.5), np.float32(1.5), size=(5,), dtype="float32")
        return [], [x], {r: r2}

    both(build)


def test_a_generator_that_is_not_updated_draws_the_same():
    r = pytensor.shared(new())
    f = pytensor.function([], r.uniform(size=3)[1], mode="ONNX")
    want = new().uniform(size=3)
    for _ in range(2):
        np.testing.assert_array_equal(f(), want)
    assert state(r.get_value()) == state(new())


def test_default_updates_givens_and_streams():
    stream = RandomStream(seed=3)
    x = stream.uniform(0, 1, size=(3,))
    f = pytensor.function([], x, mode="ONNX")
    g = pytensor.function([], x, mode="FAST_COMPILE", no_default_updates=True)
    for _ in range(2):
        want = g()
        np.testing.assert_array_equal(f(), want)
    stream.seed(5)
    want = g()
    np.testing.assert_array_equal(f(), want)
    r, other = pytensor.shared(new()), pytensor.shared(new(PCG64DXSM))
    f = pytensor.function([], r.uniform(size=3)[1], givens={r: other}, mode="ONNX")
    np.testing.assert_array_equal(f(), new(PCG64DXSM).uniform(size=3))


def test_another_kind_is_set_later():
    r = pytensor.shared(new())
    r2, x = r.uniform(size=3)
    f = pytensor.function([], x, updates={r: r2}, mode="ONNX")
    for kind in (PCG64, PCG64DXSM, PCG64):
        r.set_value(new(kind))
        want = new(kind)
        np.testing.assert_array_equal(f(), want.uniform(size=3))
        assert state(r.get_value()) == state(want) and type(r.get_value().bit_generator) is kind
    r.set_value(Generator(MT19937(1)))
    with pytest.raises(TypeError, match="MT19937"):
        f()


def test_several_generators_of_several_kinds():
    a, b, c = (pytensor.shared(new(kind)) for kind in KINDS)
    draws = [r.uniform(size=4) for r in (a, b, c)]
    f = pytensor.function([], [x for _, x in draws], updates=dict(zip((a, b, c), [r for r, _ in draws])), mode="ONNX")
    expected = [new(kind) for kind in KINDS]
    for _ in range(2):
        for got, generator in zip(f(), expected):
            np.testing.assert_array_equal(got, generator.uniform(size=4))
    assert [state(r.get_value()) for r in (a, b, c)] == [state(g) for g in expected]


def test_a_generator_as_argument_is_not_changed():
    r = pt.random.rng("r")
    r2, x = r.uniform(size=3)
    f = pytensor.function([r], [r2, x], mode="ONNX")
    for kind in KINDS:
        given, want = new(kind), new(kind)
        left, draw = f(given)
        np.testing.assert_array_equal(draw, want.uniform(size=3))
        assert state(given) == state(new(kind)) and state(left) == state(want)
        assert left.spawn(1)[0].random() == want.spawn(1)[0].random()
    f = pytensor.function([r], [r, x], mode="ONNX")
    assert state(f(new())[0]) == state(new())


def test_the_same_generator_twice():
    def build(r):
        r2, x = r.uniform(size=2)
        return [], [x, r.uniform(size=2)[1], r2, r2], {r: r2}

    both(build)


def test_a_draw_that_nobody_uses():
    def build(r):
        r2, _x = r.uniform(size=2)
        r3, y = r2.uniform(size=3)
        return [], [y], {r: r3}

    both(build)


def test_pickled_functions():
    r = pytensor.shared(new())
    r2, x = r.uniform(size=3)
    f = pytensor.function([], x, updates={r: r2}, mode="ONNX")
    f()
    again = pickle.loads(pickle.dumps(f))
    np.testing.assert_array_equal(f(), again())
    np.testing.assert_array_equal(f(), again())


@pytest.mark.parametrize("options", [
    {"opset": 13}, {"opset": 26}, {"math": "exact"}, {"math": "native"},
    {"session_options": {"graph_optimization_level": "none"}}, {"session_options": {"intra_op_num_threads": 4}},
], ids=str)  # fmt: skip
def test_reproducible(options):
    def build(r):
        r2, x = r.uniform(size=1001)
        r3, y = r2.uniform(x, 2, size=(2, 1001))
        return [], [x, y], {r: r3}

    for kind in KINDS:
        both(build, kind=kind, mode=onnx_mode(**options))


# ---- loops, branches, inner graphs ----


@pytest.mark.parametrize("kind", KINDS)
def test_scan(kind):
    def build(r):
        def step(x, r):
            r2, e = r.uniform(0, 1)
            return 0.5 * x + e, r2

        (xs, r2) = pytensor.scan(step, outputs_info=[pt.as_tensor(np.float64(0)), r], n_steps=5, return_updates=False)
        return [], [xs], {r: r2}

    both(build, kind=kind)


def test_if_else():
    c = pt.bscalar("c")

    def build(r):
        a, x = r.uniform(size=3)
        b, y = r.uniform(size=3)
        r2, z = ifelse(c, (a, x), (b, y))
        return [c], [z], {r: r2}

    for value in (0, 1):
        both(build, value)


def test_op_from_graph():
    r0, mu = random_generator_type(), pt.dscalar()
    a, x = r0.uniform(mu, size=3)
    b, y = a.uniform(-x)
    op = OpFromGraph([r0, mu], [b, y])

    def build(r):
        r2, z = op(r, pt.as_tensor(np.float64(0.5)))
        return [], [z], {r: r2}

    both(build)


# ---- exports ----


@pytest.mark.parametrize("kind", KINDS)
def test_export_of_generators(kind):
    r, mu = pt.random.rng("r"), pt.dvector("mu")
    r2, x = r.uniform(mu, 3)
    exported = ptgc.compile_onnx([r, mu], [x, r2], bit_generator=kind.__name__, output_names=["x", "next"])
    given, want = new(kind), new(kind)
    x, left = exported(given, [1.0, 2.0])
    np.testing.assert_array_equal(x, want.uniform([1.0, 2.0], 3))
    assert state(left) == state(want) and state(given) == state(new(kind))
    raw = exported.session().run(None, {"r": ptgc.generator_to_words(given), "mu": np.array([1.0, 2.0])})
    assert raw[1].tolist() == state(want)
    assert exported.verify([given, [1.0, 2.0]]) and exported.verify([ptgc.generator_to_words(given), [1.0, 2.0]])
    left, x = ptgc.load(exported.text)(given, [1.0, 2.0])[::-1]
    assert state(left) == state(want)


def test_export_names_kinds():
    r = pt.random.rng("r")
    out = r.uniform(size=2)[1]
    assert "r: rng_pcg64dxsm" in ptgc.compile_onnx([r], out, bit_generator={"r": "PCG64DXSM"}).text
    assert "r: rng_pcg64dxsm" in ptgc.compile_onnx([r], out, bit_generator={r: PCG64DXSM}).text
    with pytest.raises(ValueError, match="not a generator among the inputs"):
        ptgc.compile_onnx([r], out, bit_generator={"s": "Philox"})
    with pytest.raises(TypeError, match="SFC64"):
        ptgc.compile_onnx([r], out, bit_generator="SFC64")


def test_export_of_shared_generators():
    r = pytensor.shared(new(PCG64DXSM), name="r")
    x = r.uniform(size=3)[1]
    constant = ptgc.compile_onnx([], x)
    for _ in range(2):
        np.testing.assert_array_equal(constant()[0], new(PCG64DXSM).uniform(size=3))
    as_input = ptgc.compile_onnx([], x, shared="input")
    assert as_input.inputs == ["r"]
    np.testing.assert_array_equal(as_input(new(PCG64DXSM, 5))[0], new(PCG64DXSM, 5).uniform(size=3))


def test_export_of_functions(tmp_path):
    for mode in ("ONNX", "FAST_COMPILE", "FAST_RUN", "NUMBA"):
        r = pytensor.shared(new(), name="r")
        r2, x = r.uniform(size=3)
        f = pytensor.function([], x, updates={r: r2}, mode=mode)
        exported = ptgc.export_function_onnx(f, tmp_path / "f.onnx")
        assert exported.outputs[1] == "r_next"
        want = new()
        x, left = exported(new())
        np.testing.assert_array_equal(x, want.uniform(size=3))
        assert state(left) == state(want)


def test_generators_from_seeds():
    r = pt.random.default_rng(3)
    np.testing.assert_array_equal(
        pytensor.function([], r.uniform(size=3)[1], mode="ONNX")(), np.random.default_rng(3).uniform(size=3)
    )
    seed = pt.lscalar("seed")
    f = pytensor.function([seed], pt.random.default_rng(seed).uniform(size=3)[1], mode="ONNX")
    np.testing.assert_array_equal(f(2**40), np.random.default_rng(2**40).uniform(size=3))


def test_an_op_that_draws_by_python_is_refused():
    from pytensor.tensor.random.basic import UniformRV

    class Own(UniformRV):
        def rng_fn(self, rng, *args):
            return np.zeros(args[-1])

    r = pytensor.shared(new())
    with pytest.raises(ptgc.UnsupportedError, match="not PyTensor's"):
        pytensor.function([], Own()(0, 1, size=(3,), rng=r), mode="ONNX")


def test_constant_parameters():
    """The model is loaded although ONNX Runtime could decide each of its ifs then."""

    def build(r):
        r2, x = r.poisson([1.5, 20.0])
        r3, _y = r2.dirichlet([0.5, 1.5, 2.0])
        return [], [x], {r: r3}

    both(build)


def test_bad_parameters_raise_as_numpy_does():
    r, sigma, n, cov = pytensor.shared(new()), pt.dscalar("sigma"), pt.lscalar("n"), pt.dmatrix("cov")
    for inputs, (left, x), bad, error, message in (
        ([sigma], r.normal(0, sigma, size=3), [-1.0], ValueError, "scale < 0"),
        ([n], r.normal(size=(n, 2)), [-1], ValueError, "negative dimensions"),
        ([cov], r.multivariate_normal([0, 0], cov), [-np.eye(2)], np.linalg.LinAlgError, "positive definite"),
    ):
        f = pytensor.function(inputs, x, updates={r: left}, mode="ONNX")
        with pytest.raises(error, match=message):
            f(*bad)
        assert state(r.get_value()) == state(new())
