"""What people write by mistake, and the messages that say what to write."""

import warnings
from types import MappingProxyType

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile import UnusedInputError
from pytensor.tensor.random.type import random_generator_type
from test_sampling import Model as Pair

import ptgc
from ptgc import _lib, runtime

x, y = pt.vector("x"), pt.vector("y")
EXPORTS = {
    "compile_onnx": lambda tmp, *graph, **options: ptgc.compile_onnx(*graph, **options),
    "export_onnx": lambda tmp, *graph, **options: ptgc.export_onnx(*graph, tmp / "m.onnx", **options),
    "save_ptg": lambda tmp, *graph, **options: ptgc.save_ptg(tmp / "m.ptg", *graph, **options),
}


def regression(pm):
    with pm.Model() as model:
        a, s = pm.Normal("a"), pm.HalfNormal("s")
        mu = pm.Deterministic("mu", a * np.arange(3.0))
        pm.Normal("y", mu, s, observed=np.zeros(3))
    return model


@pytest.mark.parametrize("export", EXPORTS.values(), ids=EXPORTS)
def test_inputs_that_nothing_reads(tmp_path, export):
    with pytest.raises(UnusedInputError, match=r"no output reads the input y. on_unused_input='ignore'"):
        export(tmp_path, [x, y], [x + 1])
    assert not list(tmp_path.iterdir())
    with pytest.warns(UserWarning, match="no output reads the input y"):
        export(tmp_path, [x, y], [x + 1], on_unused_input="warn")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = export(tmp_path, [x, y], [x + 1], on_unused_input="ignore")
        assert "y: float64" in getattr(made, "text", made)
        export(tmp_path, [x, y], [x, y])
    with pytensor.config.change_flags(on_unused_input="ignore"):
        export(tmp_path, [x, y], [x + 1])
    with pytest.raises(ValueError, match="must be 'raise', 'warn' or 'ignore', not 'no'"):
        export(tmp_path, [x], [x], on_unused_input="no")


def test_functions_keep_the_inputs_that_pytensor_took(tmp_path):
    f = pytensor.function([x, y], x + y * 0, mode="FAST_COMPILE", on_unused_input="ignore")
    e = ptgc.export_function_onnx(f, tmp_path / "m.onnx")
    assert e.inputs == ["x", "y"]


def test_values_of_a_model_s_variables_in_place_of_the_draws(tmp_path):
    model = regression(pytest.importorskip("pymc"))
    with pytest.raises(UnusedInputError, match=r"inputs a, s_log__. The outputs draw a: .*replace_rvs_by_values\(outputs\)"):
        ptgc.export_onnx(model.value_vars, [model["mu"]], tmp_path / "m.onnx")
    with pytest.raises(UnusedInputError, match=r"reads the input s_log__. on"):
        ptgc.export_onnx(model.value_vars, model.replace_rvs_by_values([model["mu"]]), tmp_path / "m.onnx")
    [value] = [v for v in model.value_vars if v.name == "a"]
    e = ptgc.export_onnx([value], model.replace_rvs_by_values([model["mu"]]), tmp_path / "m.onnx")
    np.testing.assert_array_equal(e(2.0)[0], [0, 2, 4])


def test_a_model_in_place_of_a_graph(tmp_path):
    model = regression(pytest.importorskip("pymc"))
    for call in (
        lambda: ptgc.export_onnx(model, tmp_path / "m.onnx"), lambda: ptgc.export_onnx(model, [model.logp()], "m.onnx"),
        lambda: ptgc.compile_onnx(model, [model.logp()]),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=r"export_onnx\(model.value_vars, \[model.logp\(\)\], file\)"):
            call()
    with pytest.raises(TypeError, match=r"export_onnx\(inputs, outputs, file\): the file is missing"):
        ptgc.export_onnx([x], [x])
    e = ptgc.export_onnx(model.value_vars, [model.logp()], tmp_path / "m.onnx")
    with pytest.raises(TypeError, match=r"given as f\(\*\*values\), where f is called with a dict"):
        e(model.initial_point())
    assert np.isfinite(e(**model.initial_point())[0])


def test_names_with_a_typo(tmp_path):
    model = regression(pytest.importorskip("pymc"))
    for call in (
        lambda names: ptgc.export_predictive(model, tmp_path / "m.onnx", var_names=names),
        lambda names: ptgc.export_predictive(model, tmp_path / "m.onnx", prior=True, var_names=names),
        lambda names: ptgc.compile_nuts(model, var_names=names),
    ):
        with pytest.raises(ValueError, match=r"no variable 'muu'; did you mean 'mu'\? \(there are: .*mu"):
            call(["muu"])
    with pytest.raises(TypeError, match="var_names is a list of names, not 'mu'"):
        ptgc.export_predictive(model, tmp_path / "m.onnx", var_names="mu")
    with pytest.raises(TypeError, match=r"there is no input 'xs'; did you mean 'x'\? \(there are: x\)"):
        ptgc.compile_onnx([x], [x * 2])(xs=np.ones(2))


def test_seeds():
    sampler = ptgc.compile_nuts(Pair(), draws=2, tune=2)
    for seed in (-1, 1.5, None, "a", 2**63, True):
        with pytest.raises(ValueError, match=r"seed must be an integer from 0 to 2\*\*63 - 1, not"):
            sampler.sample(seed=seed)
    with pytest.raises(ValueError, match=r"no variable 'scal'; did you mean 'scale'\? \(there are: a, b, scale, total\)"):
        ptgc.compile_nuts(Pair(), var_names=["scal"])


def test_models_and_dicts_without_pymc():
    with pytest.raises(TypeError, match=r"export_onnx\(model.value_vars, \[model.logp\(\)\], file\)"):
        ptgc.export_onnx(Pair(), "m.onnx")
    e = ptgc.compile_onnx([x], [x * 2])
    for values in {"x": np.ones(2)}, MappingProxyType({"x": np.ones(2)}):
        with pytest.raises(TypeError, match=r"given as f\(\*\*values\), where f is called with a \w+. The names .*: x"):
            e(values)
        np.testing.assert_array_equal(e(**values)[0], [2, 2])
    a = pt.random.normal(size=2)
    a.name = "a"
    with pytest.raises(UnusedInputError, match=r"input x. The outputs draw a: .*replace_rvs_by_values\(outputs\)"):
        ptgc.compile_onnx([x], [a * 2])


def test_sparse_matrices_are_to_be_made_dense():
    sparse = pytest.importorskip("scipy.sparse")
    import pytensor.sparse as ps

    W = sparse.csr_matrix(np.eye(3))
    for inputs, made in (([x], [ps.dot(ps.as_sparse_variable(W), x[:, None])]), ([m := ps.csr_matrix("m")], [m])):
        with pytest.raises(ptgc.UnsupportedError, match=r"sparse matrices are not supported: make it dense, as W.toarray\(\)"):
            ptgc.compile_onnx(inputs, made)


def test_load_of_a_model(tmp_path):
    W = pytensor.shared(np.arange(1200.0).reshape(3, 400), name="W")
    for options in {}, {"external_data": True}:
        e = ptgc.export_onnx([x], [x @ W, x.astype("float32")], tmp_path / "m.onnx", **options)
        for path in tmp_path / "m.onnx", str(tmp_path / "m.onnx"):
            m = ptgc.load(path)
            assert m.inputs == ["x"] and len(m.outputs) == 2 and m.least_runtime == e.least_runtime > 0
            for got, want in zip(m([1, 2, 3]), e(np.array([1.0, 2, 3])), strict=True):
                np.testing.assert_array_equal(got, want)
                assert got.dtype == want.dtype
    with pytest.raises(TypeError, match="compiled already: it takes no option 'opset'"):
        ptgc.load(tmp_path / "m.onnx", opset=17)
    with pytest.raises(ValueError, match=r"is a model, not a text to compile: ptgc.load makes it callable"):
        ptgc.compile(tmp_path / "m.onnx")
    with pytest.raises(FileNotFoundError, match="no such file"):
        ptgc.load("missing.onnx")
    for k, bad in enumerate((b"", b"x", b"graph g() -> (y) { y = 1 }", (tmp_path / "m.onnx").read_bytes()[:-50])):
        path = tmp_path / f"bad{k}.onnx"
        path.write_bytes(bad)
        with pytest.raises((ValueError, RuntimeError), match=r"is not an ONNX model|does not load the model"):
            ptgc.load(path)


@pytest.fixture
def pretend(monkeypatch):
    """A function that makes ptgc take another release of ONNX Runtime for the one that is installed"""
    import onnxruntime

    def forget():
        runtime.installed_release.cache_clear()
        runtime.installed_target.cache_clear()

    def set_release(minor):
        monkeypatch.setattr(onnxruntime, "__version__", f"1.{minor}.0")
        forget()

    yield set_release
    monkeypatch.undo()
    forget()


def test_releases_of_onnx_runtime(tmp_path, pretend):
    """One warning for a release that is newer than the tables; an error for one that is older than the model needs."""
    oldest, newest, _ = _lib.runtimes()
    ptgc.export_onnx([x], [pt.cos(x)], tmp_path / "m.onnx")
    needs = ptgc.load(tmp_path / "m.onnx").least_runtime
    text = "graph g(x: float64[n]) -> (y) { y = Cos(x) }"
    pretend(newest + 1)
    with pytest.warns(UserWarning, match=f"onnxruntime 1.{newest + 1} is installed, .* compiled for 1.{newest}") as seen:
        for mode in "ONNX", ptgc.onnx_mode(math="exact"):
            np.testing.assert_array_equal(pytensor.function([x], pt.cos(x), mode=mode)([0.0]), [1])
        assert ptgc.load(text)([0.0]) == 1
    assert len(seen) == 1
    pretend(needs - 1)
    with pytest.raises(RuntimeError, match=f"needs onnxruntime 1.{needs} or newer, and 1.{needs - 1}.0 is installed"):
        ptgc.load(tmp_path / "m.onnx")
    assert ptgc.load(text).least_runtime < needs
    pretend(oldest - 1)
    with pytest.raises(ImportError, match=f"ptgc needs 1.{oldest} or newer"):
        ptgc.load(text)


def test_as_many_errors_as_one_likes():
    text = "graph g(x: float64[n]) -> (y) {\n" + "".join(f"v{k} = Exp(x, x)\n" for k in range(2000)) + "y = x }\n"
    for most, shown, rest in (None, 20, "1980 more errors"), (3, 3, "1997 more errors"), (0, 2000, ""):
        with pytest.raises(ptgc.CompileError) as e:
            ptgc.load(text, max_errors=most)
        assert str(e.value).count(": error: ") == shown and str(e.value).endswith(rest)
        assert len(e.value.diagnostics) == 2000


def test_checks_of_loaded_texts_say_what_must_hold():
    """Whatever node of the runtime fails for them"""
    for dims, message in (("n", "all of x must be positive"), ("3", "all of x must be positive"), ("3", "positive")):
        f = ptgc.load(f'graph g(x: float64[{dims}]) -> (y) {{ y = Assert{{msg="{message}"}}(x, All(x > 0)) }}')
        with pytest.raises(ValueError, match=f"^assertion failed: {message}$"):
            f(-np.ones(3))
    f = ptgc.load("graph g(r: rng, p: float64[]) -> (next: rng, x) { next, x = normal_rv(r, [3], 0.0, p) }")
    with pytest.raises(ValueError, match="^scale < 0$"):
        f(np.random.default_rng(1), -1.0)
    with pytest.raises(IndexError):
        ptgc.load("graph g(x: float64[3], i: int64[]) -> (y) { y = x[i] }")(np.ones(3), 7)


def test_inputs_that_are_generators():
    """A number is not taken for a seed, nor a generator for one of another kind."""
    r, mu = random_generator_type("y_rng"), pt.dscalar("mu")
    next_r, y = pt.random.normal(mu, 1, rng=r, return_next_rng=True)
    exported = ptgc.compile_onnx([r, mu], [next_r, y])
    loaded = ptgc.load("graph g(y_rng: rng, mu: float64[]) -> (next: rng, y) { next, y = normal_rv(y_rng, None, mu, 1.0) }")
    g = np.random.default_rng(5)
    for f in (exported, loaded):
        for wrong, message in ((-1, "default_rng.* not -1"), (3, "not 3"), (None, "not None"), (np.ones(6), "as uint64"),
                               (np.random.Generator(np.random.Philox(1)), "of the kind PCG64, not Philox")):
            with pytest.raises(TypeError, match=f"y_rng is a generator.*{message}"):
                f(wrong, 1.0)
        want = f(g, 1.0)[1]
        for same in (ptgc.generator_to_words(g), ptgc.generator_to_words(g).tolist(), g.bit_generator.state):
            assert f(same, 1.0)[1] == want
    dxsm = ptgc.load("graph g(r: rng_pcg64dxsm) -> (next: rng_pcg64dxsm, y) { next, y = normal_rv(r, None, 0.0, 1.0) }")
    with pytest.raises(TypeError, match="of the kind PCG64DXSM, not PCG64$"):
        dxsm(g)
