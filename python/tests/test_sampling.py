"""Samplers of a PyMC model in one ONNX model. PyMC itself is tried by `make check-pymc`; here a stand-in has its
parts."""

import sys
from types import ModuleType

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.tensor.special import softmax

import ptgc
from ptgc._nuts_ops import names_in_file


class Model:
    """A normal law of `a` around 3 and, given it, of b[0] and b[1] around a; `scale` is exp of a normal number."""

    name, coords, named_vars_to_dims = "pair", {"place": ("x", "y")}, {"b": ("place",)}
    data_vars, observed_RVs, dim_lengths, named_vars, check_bounds = (), (), {}, {}, True

    def __init__(self):
        self.a, self.b = pt.dscalar("a"), pt.vector("b", shape=(2,), dtype="float64")
        self.log_scale = pt.dscalar("scale_log__")
        self.value_vars = [self.a, self.b, self.log_scale]
        scale, total = pt.exp(self.log_scale), self.b.sum()
        scale.name, total.name = "scale", "total"
        self.unobserved_value_vars = [*self.value_vars, scale, total]
        rvs = [v.type(v.name) for v in self.value_vars]
        self.rvs_to_values = dict(zip(rvs, self.value_vars))
        self.rvs_to_transforms = {rvs[0]: None, rvs[1]: None, rvs[2]: "log"}
        self.basic_RVs, self.potentials = [*rvs[:2], pt.dscalar("scale")], []

    def initial_point(self):
        return {"a": np.array(0.0), "b": np.zeros(2), "scale_log__": np.array(0.0)}

    def terms(self):
        return [-0.5 * x**2 for x in (self.a - 3, self.b - self.a, self.log_scale)]

    def logp(self, sum=True):
        terms = self.terms()
        return pt.add(*(t.sum() for t in terms)) if sum else terms


@pytest.fixture(scope="module")
def draws():
    sampler = ptgc.compile_nuts(Model(), draws=400, tune=300, chains=None)
    run = {"seed": np.array(5), "chains": np.array(8)}
    return sampler, dict(zip(sampler.outputs, sampler.session().run(sampler.outputs, run), strict=True))


def test_outputs(draws):
    sampler, found = draws
    assert sampler.inputs == ["seed", "chains"]
    shapes = {name: v.shape for name, v in found.items()}
    each = (8, 400)
    assert shapes == {
        "a": each, "b": (*each, 2), "scale": each, "total": each, "lp": each, "acceptance_rate": each,
        "tree_depth": each, "diverging": each, "n_steps": each, "energy": each, "step_size": (8,), "energy_error": each,
        "reached_max_treedepth": each,
    }  # fmt: skip
    np.testing.assert_array_equal(found["total"], found["b"].sum(axis=2))
    assert not found["diverging"].any()


def test_law(draws):
    found = draws[1]
    for name, mean, sd in (("a", 3, 1), ("total", 6, 6**0.5), ("scale", np.exp(0.5), 2.16)):
        x = found[name]
        assert abs(x.mean() - mean) < 0.25 * sd
        assert 0.8 * sd < x.std() < 1.2 * sd
    correlation = np.corrcoef(found["a"].ravel(), found["b"][..., 0].ravel())[0, 1]
    assert abs(correlation - 0.5**0.5) < 0.1


def test_steps(draws):
    """A run by steps, from the states that each call leaves, which are inputs with default values"""
    sampler, whole = draws
    session = sampler.session()
    states = [v.name for v in session.get_overridable_initializers()]
    assert all(name.startswith("state_") for name in states) and session.get_outputs()[-1].name == f"{states[-1]}.next"
    given, parts = {"seed": np.array(5), "chains": np.array(8)}, []
    names = [*sampler.outputs, *(f"{name}.next" for name in states)]
    while not parts or parts[-1]["state_done.next"].min() < 700:
        held = {name: parts[-1][f"{name}.next"] for name in states} if parts else {}
        parts.append(dict(zip(names, session.run(names, given | held | {"state_steps": np.array(9)}))))
    assert len(parts) > 3
    for name, v in whole.items():
        found = parts[-1][name] if name == "step_size" else np.concatenate([p[name] for p in parts], axis=1)
        np.testing.assert_array_equal(found, v)


@pytest.mark.parametrize("chains", [1, 3, 13])
def test_chains_do_not_depend_on_one_another(draws, chains):
    sampler, found = draws
    (a,) = sampler.session().run(["a"], {"seed": np.array(5), "chains": np.array(chains)})
    np.testing.assert_array_equal(a[:8], found["a"][:chains])


def test_a_density_that_is_nowhere_finite():
    model = Model()
    model.terms = lambda: [pt.log(model.a - model.a), model.b, model.log_scale]
    sampler = ptgc.compile_nuts(model, draws=5, tune=5, chains=2)
    with pytest.raises(Exception, match="Initial evaluation of model at starting point failed"):
        sampler.session().run(None, {"seed": np.array(5)})


@pytest.mark.parametrize("chains", [None, 6])
def test_a_chain_without_a_start_is_named(chains, monkeypatch):
    """With its last point, and the term that is not finite there"""
    monkeypatch.setitem(sys.modules, "arviz", ModuleType("arviz"))
    model = Model()
    model.terms = lambda: [*Model.terms(model)[:2], pt.switch(model.a > -0.9, -model.log_scale**2, -np.inf)]
    sampler = ptgc.compile_nuts(model, draws=1, tune=0, chains=chains, jitter_max_retries=1)
    tries = [2 * g.random(8).reshape(2, 4) - 1 for g in np.random.default_rng(21).spawn(6)]
    (chain, point), *_ = [(k, x[1]) for k, x in enumerate(tries) if (x[:, 0] < -0.9).all()]
    assert 0 < chain < 6
    message = (f"chain {chain} of 6 found no start in 2 tries. At the last, a = {point[0]:.4g}, b = "
               rf"\[.*\], scale_log__ = {point[3]:.4g}, the term of scale is -inf")
    for call in (lambda: sampler(21, *([] if chains else [6])), lambda: sampler.sample(21, chains=None if chains else 6)):
        with pytest.raises(ValueError, match=message):
            call()


def test_a_slope_that_is_not_finite_is_named():
    model = Model()
    model.terms = lambda: [-model.a, -(model.b**2), pt.sqrt(pt.maximum(model.log_scale - 5, 0))]
    with pytest.raises(ValueError, match="chain 0 of 2 .* the slope of the log density by scale_log__ is nan"):
        ptgc.compile_nuts(model, draws=1, tune=0, chains=2, jitter_max_retries=1)(5)


def test_chains_that_look_for_a_start():
    """Where nine of ten points have no density, each of 64 chains finds one"""
    model = Model()
    model.terms = lambda: [*Model.terms(model), pt.switch(model.a > 0.8, 0.0, -np.inf)]
    model.potentials = [pt.dscalar("positive")]
    run = {"seed": np.array(1)}
    sampler = ptgc.compile_nuts(model, draws=1, tune=0, chains=64, jitter_max_retries=300)
    (a,) = sampler.session().run(["a"], run)
    assert a.shape == (64, 1) and (a > 0.8).all()
    with pytest.raises(Exception, match="Initial evaluation of model at starting point failed"):
        ptgc.compile_nuts(model, draws=1, tune=0, chains=64, jitter_max_retries=3).session().run(None, run)


def test_the_option_shared_of_earlier_releases():
    for how, write in (("input", "write nothing"), ("initializer", "data='constants'")):
        with pytest.warns(FutureWarning, match=write):
            assert ptgc.compile_nuts(Model(), draws=5, tune=5, shared=how).inputs == ["seed"]
    with pytest.raises(ValueError, match="data= says which"):
        ptgc.compile_nuts(Model(), draws=5, tune=5, shared="input", data="constants")


def test_number_of_chains_and_names():
    sampler = ptgc.compile_nuts(Model(), draws=5, tune=0, chains=2, var_names=["total"])
    assert sampler.inputs == ["seed"]
    assert sampler.outputs[:2] == ["total", "lp"]
    assert sampler.session().run(["total"], {"seed": np.array(1)})[0].shape == (2, 5)


def test_further_graph():
    inputs, outputs = ptgc.nuts_graph(Model(), draws=50, tune=50, chains=2)
    mean = outputs[0].mean()
    mean.name = "mean"
    found, a = ptgc.compile_onnx(inputs, [mean, outputs[0]])(7)
    assert np.isclose(found, a.mean())


@pytest.mark.parametrize(
    "options, message",
    [
        ({"draws": 0}, "draws must be an integer of at least 1"),
        ({"tune": -1}, "tune must be an integer of at least 0"),
        ({"chains": 2.5}, "chains must be an integer"),
        ({"target_accept": 1}, "target_accept must be between 0 and 1"),
        ({"var_names": ["mu"]}, r"the model has no variable 'mu' \(there are: a, b, scale, total\)"),
        ({"batch": "n"}, "a sampler has no option batch"),
    ],
)
def test_mistakes(options, message):
    with pytest.raises(ValueError, match=message):
        ptgc.compile_nuts(Model(), **options)


def test_discrete_variables_are_refused():
    model = Model()
    model.value_vars.append(pt.lscalar("k"))
    model.initial_point = lambda: {"a": 0.0, "b": np.zeros(2), "scale_log__": 0.0, "k": 0}
    with pytest.raises(ValueError, match="NUTS draws float64 numbers, but the variable k is discrete"):
        ptgc.compile_nuts(model)


@pytest.mark.parametrize("name", ["seed", "chains", "energy"])
def test_names_that_the_file_needs(name):
    model = Model()
    model.unobserved_value_vars[-1].name = name
    inputs, outputs = ptgc.nuts_graph(model, chains=None)
    names = [v.name for v in [*inputs, *outputs]]
    assert f"nuts_{name}" in names and len(set(names)) == len(names)
    assert "energy" in [v.name for v in ptgc.nuts_graph(model, var_names=["a"])[1]]


def test_names_in_a_file():
    taken = {"lp", "seed", "nuts_seed"}
    assert names_in_file(["seed", "lp", "energy"], taken) == {"seed": "nuts_nuts_seed", "lp": "nuts_lp", "energy": "energy"}


@pytest.mark.filterwarnings("ignore:xtensor")
def test_named_dims():
    """What pymc.dims makes: values, density and deterministics with named axes."""
    from pytensor.xtensor import xtensor

    model = Model()
    named = xtensor("b", dims=("place",), shape=(2,))
    total = named.sum("place")
    total.name = "total"
    model.b = model.value_vars[1] = model.unobserved_value_vars[1] = named
    model.unobserved_value_vars[-1] = total
    model.rvs_to_values |= dict(zip([list(model.rvs_to_values)[1]], [named]))
    model.terms = lambda: [-0.5 * (model.a - 3) ** 2, (-0.5 * (named - model.a) ** 2).values, -0.5 * model.log_scale**2]
    sampler, plain = (ptgc.compile_nuts(m, draws=30, tune=20, chains=2) for m in (model, Model()))
    found, wanted = (s.session().run(["b", "total"], {"seed": np.array(5)}) for s in (sampler, plain))
    for x, y in zip(found, wanted):
        np.testing.assert_allclose(x, y, rtol=1e-6)


def test_gradient_where_probabilities_are_zero():
    """It is that of the stable form, as in PyMC: where sigmoid(x) is 0, the slope of log(sigmoid(x)) is 1, not 0 / 0."""
    from ptgc._data import Data
    from ptgc.sampling import density_graph, start_of

    model, b = Model(), pt.dvector("b")
    model.value_vars = [model.a, b]
    model.initial_point = lambda: {"a": np.zeros(()), "b": np.zeros(2)}
    model.terms = lambda: [pt.log(pt.sigmoid(model.a)), pt.log(softmax(b)[0]), pt.log(pt.exp(b) + pt.exp(2 * b))]
    points = np.array([[-800.0, -800, 800], [800, 800, -800], [0, 0, 0]])
    logp = np.array([-800.0 - 1600 - 800 + 1600, 1600 - 800, np.log(0.5) * 2 + 2 * np.log(2)])
    slopes = np.array([[1.0, 1 + 1, -1 + 2], [0, 0 + 2, 0 + 1], [0.5, 0.5 + 1.5, -0.5 + 1.5]])
    data = Data(model, None)
    graph, _ = density_graph(data, start_of(data))
    density, batch = ptgc.compile_density(model), ptgc.compile_density(model, batch="chains")
    for found in (
        ptgc.compile_onnx(graph.inputs, graph.outputs)(points),
        batch(points[:, 0], points[:, 1:]),
        [np.stack(v) for v in zip(*(density(q[0], q[1:]) for q in points))],
    ):
        np.testing.assert_allclose(found[0], logp, rtol=1e-12)
        np.testing.assert_allclose(found[1], slopes, rtol=1e-12)


def test_gradient_of_a_seasonal_effect():
    """PyTensor 3.3.7 vectorizes this gradient wrongly if the graph has gone through its canonical form before."""
    from ptgc._data import Data
    from ptgc.sampling import density_graph, start_of

    model, c = Model(), pt.dvector("c")
    model.value_vars = [model.a, c]
    model.initial_point = lambda: {"a": np.zeros(()), "c": np.zeros(6)}
    seasons = pt.concatenate([-c.sum()[None], c[:0:-1]])
    model.terms = lambda: [pt.sin(seasons) * np.arange(6), -(model.a**2), -(c**2)]
    data = Data(model, None)
    graph, _ = density_graph(data, start_of(data))
    at = np.linspace(0.1, 2, 21).reshape(3, 7)
    found = ptgc.compile_onnx(graph.inputs, graph.outputs)(at)
    logp = model.logp()
    slopes = pt.concatenate([g.ravel() for g in pt.grad(logp, model.value_vars)])
    f = pytensor.function(model.value_vars, [logp, slopes], mode="FAST_COMPILE")
    for k, q in enumerate(at):
        for got, want in zip(found, f(q[0], q[1:])):
            np.testing.assert_allclose(got[k], want, rtol=1e-12)
