"""What the log densities of PyMC models read like: `ptgc.to_ptg(model)` beside the five files of
examples/pymc-by-hand, which were written before it, the models of examples/pymc, and those of documented.py.

Each text is canonical, gives the same model again, and PyMC's values, also for data of other lengths; it has at most 1.5
times the tokens of the one written by hand, and its model takes at most 1.2 times the time of export_onnx's. Prints a
line for each model.
"""

import importlib
import re
import sys
import time
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")
import numpy as np  # noqa: E402
import pymc as pm  # noqa: E402
import pytensor  # noqa: E402

root = Path(__file__).parents[2]
sys.path[:0] = [str(root / "examples" / "pymc-by-hand"), str(root / "examples" / "pymc")]
import documented  # noqa: E402
import make  # noqa: E402
import models  # noqa: E402
import ptgc  # noqa: E402

BY_HAND = ("eight_schools", "linear_regression", "logistic_regression", "mixture", "hierarchical")
TOKEN = re.compile(r"""\#.*|"[^"]*"|`[^`]*`|[^\W\d][\w.]*|(?:\d[\w.]*(?:[eE][-+]\d+)?|\.\d+)|->|==|!=|<=|>=|\*\*|//|\S""")


def tokens(text):
    return sum(not t.startswith("#") for t in TOKEN.findall(text))


def made(name):
    with pm.Model() as model:
        make.MODELS[name]()
    return model


def points(model, n=3):
    start, rng = model.initial_point(), np.random.default_rng(1)
    return [
        {v.name: np.asarray(start[v.name] + 0.2 * k * rng.normal(size=np.shape(start[v.name])), v.dtype)
         for v in model.value_vars}
        for k in range(n)
    ]  # fmt: skip


def data_of(model, run):
    """The values of those inputs that are pm.Data."""
    return {v.name: v.get_value() for v in model.data_vars if v.name in run.inputs}


def loaded(tmp, model, gradient, data=None):
    """The model of the text, and the text; canonical and the same bytes once more."""
    text = ptgc.save_ptg(tmp / "m.ptg", model, gradient=gradient, data=data).text
    assert ptgc.format(text) == text == (tmp / "m.ptg").read_text(), text
    assert max(map(len, text.splitlines())) <= 100, text
    ptgc.save_ptg(tmp / "m.ptg", model, gradient=gradient, data=data)
    assert (tmp / "m.ptg").read_text() == text
    assert ptgc.compile(tmp / "m.ptg") == ptgc.compile(tmp / "m.ptg")
    return ptgc.load(tmp / "m.ptg"), text


def pymc_values(model, gradient):
    return pytensor.function(
        model.value_vars, [model.logp(), *([model.dlogp()] if gradient else [])], mode="FAST_COMPILE",
        on_unused_input="ignore",
    )  # fmt: skip


def check_values(name, model, run, gradient, want=None, points_of=points):
    want = want or pymc_values(model, gradient)
    for point in points_of(model):
        got = run(**point, **data_of(model, run))
        logp, *slopes = want(**point)
        if gradient:
            values = [np.ravel(v) for v in got[1:]]
            np.testing.assert_allclose(np.concatenate(values), slopes[0], 1e-11, 1e-11, err_msg=name)
        np.testing.assert_allclose(got[0] if gradient else got, logp, 1e-12, 1e-12, err_msg=name)


def slowdown(model, run, gradient):
    """How many times as long as export_onnx's model a call takes; the two take turns, as other programs run as well."""
    outputs = [model.logp(), *([model.dlogp()] if gradient else [])]
    sessions = [run.session, ptgc.compile_onnx(model.value_vars, outputs).session()]
    feed, best = points(model, 2)[1], [np.inf, np.inf]
    for _ in range(60):
        for k, session in enumerate(sessions):
            start = time.perf_counter()
            for _ in range(60):
                session.run(None, feed)
            best[k] = min(best[k], time.perf_counter() - start)
    return best[0] / best[1]


def check_one_edit(tmp, model, text):
    """Another scale of the prior of mu is one number in the text."""
    assert text.count("Normal_logp(mu, 0, 5)") == 1
    (tmp / "m.ptg").write_text(text.replace("Normal_logp(mu, 0, 5)", "Normal_logp(mu, 0, 7)"))
    point = points(model, 2)[1]
    before = lambda s: -0.5 * (point["mu"] / s) ** 2 - np.float32(np.log(s))  # noqa: E731  PyMC's log(int8)
    changed = ptgc.load(tmp / "m.ptg")(**point) - model.compile_logp()(point)
    np.testing.assert_allclose(changed, before(7) - before(5), rtol=1e-6)


def unlike():
    """A mixture of two distributions."""
    w, mu, sigma = pm.Dirichlet("w", np.ones(2)), pm.Normal("mu", 0, 1), pm.HalfNormal("sigma", 1)
    parts = [pm.Normal.dist(mu, 1), pm.StudentT.dist(4, mu=mu, sigma=sigma)]
    pm.Mixture("y", w, parts, observed=np.linspace(-2, 3, 7))


def free_weights():
    """Weights that need not add up to 1."""
    pm.Mixture("y", pm.Flat("w", shape=2), pm.Normal.dist([0, 1], 1), observed=np.linspace(-2, 3, 7))


def other_axis():
    """Probabilities that add up to 1 along another axis than the one that is checked."""
    p = pm.math.softmax(pm.Normal("x", 0, 1, shape=(2, 2)), axis=0)
    pm.Categorical("y", p, observed=[0, 1])


def check_components(tmp):
    """Densities of components are calls, and just checks that always hold are left out."""
    with pm.Model() as model:
        unlike()
    run, text = loaded(tmp, model, False)
    assert "(Normal_logp(y, mu, 1))" in text and "(StudentT_logp(y, 4, mu, sigma))" in text, text
    assert "sum(" not in text, text
    check_values("unlike", model, run, False)
    for kind, bad in ((free_weights, {"w": [0.7, 0.7]}), (other_axis, {"x": [[0.0, 1], [2, 5]]})):
        with pm.Model() as model:
            kind()
        run, text = loaded(tmp, model, False)
        assert re.search(r'CheckAndRaise{msg="0 <= .*sum\(', text), text
        try:
            run(**bad)
        except ValueError as e:
            assert "assertion failed: 0 <= " in str(e), e
            continue
        raise AssertionError(f"{kind.__name__}: no check failed")


GROWS = ("radon", "logistic", "robust", "mixture", "negative_binomial")  # what is observed is pm.Data


def grow(model):
    """Seven observations more, of each pm.Data that has an element for each."""
    n = max(len(v.get_value()) for v in model.data_vars)
    values = {v.name: v.get_value() for v in model.data_vars}
    with model:
        coords = {"obs_id": np.arange(n + 7)} if "obs_id" in model.coords else None
        pm.set_data({k: np.concatenate([a, a[:7]]) for k, a in values.items() if len(a) == n}, coords=coords)


def check_documented(tmp, name):
    """Data are inputs, of any length, with the names of the model's dims; or constants, or inputs with all observed."""
    model = documented.MODELS[name]()
    names = [v.name for v in model.value_vars]
    for gradient in (False, True):
        want = pymc_values(model, gradient)
        run, text = loaded(tmp, model, gradient)
        assert set(run.inputs) == {*names, *(v.name for v in model.data_vars)}, text
        for i in run.session.get_inputs():
            dims = model.named_vars_to_dims.get(i.name, ())
            assert all(d in (n, None) or isinstance(d, int) for d, n in zip(i.shape, dims)), (i.name, i.shape, dims)
        check_values(name, model, run, gradient, want)
        if name in GROWS:
            assert "file(" not in text and "const" not in text, text
            grow(model)
            check_values(f"{name}, more data", model, run, gradient, want)
        run, text = loaded(tmp, model, gradient, "constants")
        assert run.inputs == names, run.inputs
        check_values(name, model, run, gradient, want)
    run, text = loaded(tmp, model, False, "inputs")
    observed = {rv.name: model.rvs_to_values[rv] for rv in model.observed_RVs}
    missing = {k for k in observed if f"{k.removesuffix('_observed')}_unobserved" in model.named_vars}  # stay constants
    observed = {k: v.data for k, v in observed.items() if hasattr(v, "data") and k not in missing}
    assert set(run.inputs) >= {*names, *observed}, run.inputs
    given = {k: v for k, v in (data_of(model, run) | observed).items()}
    for point in points(model):
        np.testing.assert_allclose(run(**point, **given), model.compile_logp()(point), 1e-12, 1e-12, err_msg=name)
    for k in observed:
        run, text = loaded(tmp, model, False, [k])
        assert run.inputs == [*names, k], run.inputs


def check_two_groups():
    """Equal numbers of two priors are numbers of their own, and an interval's ends have a name each."""
    text = ptgc.to_ptg(documented.MODELS["best"]())
    assert len(re.findall(r"Normal_logp\(group._mean, 100\.\d+, 6\.\d+\)", text)) == 2, text
    assert text.count("group1_std_upper = int8(10)\n") == 1 and "nu = nu_minus_one + 1\n" in text, text
    assert text.count("StudentT_logp(") == 3 and "inf" not in text[text.index("graph main") :], text


def check_calls_and_names():
    """A density of data is a call with the model's parameters, and a number behind a reciprocal is called so."""
    for gradient in (False, True):
        assert "Weibull_logp(y, alpha, beta)" in (text := ptgc.to_ptg(made("weibull"), gradient=gradient)), text
        assert "Expm1" not in text, text
    text = ptgc.to_ptg(models.hierarchical(), gradient=True)
    assert "sigma_inverse_mu = int8(1)\n" in text and "sigma_mu" not in text, text


def check_stable(tmp):
    """A term that the user writes has PyMC's numbers where an exponential overflows."""
    with pm.Model() as model:
        x = pm.Flat("x", shape=3)
        pm.Potential("p", pm.math.log(1 + pm.math.exp(x)).sum() + pm.math.log(1 - pm.math.exp(-x[0])))
    want = pytensor.function(model.value_vars, [model.logp(), model.dlogp()], mode="FAST_RUN")
    for gradient in False, True:
        run, _ = loaded(tmp, model, gradient)
        check_values("log(1 + exp(x))", model, run, gradient, want, lambda _: [{"x": np.array([1e-9, 800, -800])}])


def check_shared():
    """The gradient reads what the density computes; what cancels is computed in neither."""
    text = ptgc.to_ptg(made("negative_binomial"), gradient=True)
    assert "Gammaln(x + v1)" in text and "Gammaln(v1)" in text, text
    assert "Psi(y + alpha)" in text and "Psi(alpha)" in text and "Log(alpha) - Log(mu)" not in text, text
    text = ptgc.to_ptg(models.eight_schools(), gradient=True)
    assert text.count("tau * z") == 1, text
    text = ptgc.to_ptg(made("epidemic"), gradient=True)
    assert text.count("Scan{") == 2 and "fn scan_fn_2" not in text, text
    assert text.startswith('ptg 1\n\nconst y = file("y")\n'), text


def check_refused(tmp):
    """data= that means nothing."""
    model = documented.MODELS["robust"]()
    for data, message in (("input", "'inputs', 'constants' or a list"), (["xs"], "no data 'xs'; did you mean 'x'?")):
        try:
            ptgc.to_ptg(model, data=data)
        except ValueError as e:
            assert message in str(e), e
            continue
        raise AssertionError(f"data={data!r} is taken")


def check_integers(tmp):
    """PyMC's HalfStudentT multiplies nu and sigma ** 2, in int8 if they are written so. Its modes divide by 300, and so do
    ours; a text would divide by 44: it is refused, and 10.0 is taken."""
    for sigma in 10, 10.0:
        with pm.Model() as model:
            pm.HalfStudentT("s", nu=3, sigma=sigma)
        at = {"s_log__": np.log(7.0)}
        want = model.compile_logp()(at)
        assert abs(want - -0.9669956578) < 1e-6  # of SciPy
        got = ptgc.compile_onnx(model.value_vars, [model.logp()])(**at)[0]
        np.testing.assert_allclose(got, want, rtol=1e-12)
        try:
            text = ptgc.to_ptg(model)
        except ValueError as e:
            assert sigma == 10 and isinstance(sigma, int) and "10.0 for 10" in str(e), e
            continue
        assert isinstance(sigma, float), text
        (tmp / "m.ptg").write_text(text)
        np.testing.assert_allclose(ptgc.load(tmp / "m.ptg")(**at), want, rtol=1e-12)


def check_own_terms(tmp):
    """Of a truncated draw, of vectors that are partly observed, of a table: PyMC's terms, as no call says them. With an
    infinite bound the gradient is a number. Named dims are refused."""
    x = np.linspace(-2, 2, 9)
    with pm.Model() as model:
        mu, ip = pm.Normal("mu", 0, 1, shape=2), pm.Interpolated("ip", x, np.exp(-x * x))
        seen = np.array([[1.0, np.nan], [np.nan, 2], [3, 4]])
        with warnings.catch_warnings(action="ignore"):
            pm.MvNormal("z", mu, np.eye(2) * 2 + 0.5, observed=seen)
        pm.Truncated("t", pm.Gamma.dist(2, 1), lower=pm.math.exp(ip), observed=[9.0, 12])
    for gradient in False, True:
        run, _ = loaded(tmp, model, gradient)
        check_values("own terms", model, run, gradient)
    with pm.Model() as model:
        a = pm.HalfNormal("a")
        pm.TruncatedNormal("t", a, 1, lower=-a, shape=2)
        pm.TruncatedNormal("u", a, a, upper=a + 1)
        pm.TruncatedNormal("v", a, 2, lower=0.5, upper=np.inf, observed=[1.0, 2])
    for gradient in False, True:
        run, text = loaded(tmp, model, gradient)
        check_values("bounds that are none", model, run, gradient)
    assert "fn TruncatedNormal_logp_2(x, mu, sigma, upper)" in text and "(upper - mu) / sigma" in text, text
    ring = np.roll(np.eye(4), 1, 0) + np.roll(np.eye(4), -1, 0)
    with pm.Model() as model:  # sums one number along axis 0; and a loop of several results, of sums that cancel in part
        a = pm.Gamma("a", 3.0, 2.0)
        pm.CAR("r", np.zeros(4), W=ring, alpha=0.5, tau=a)
        pm.HurdleNegativeBinomial("h", 0.4, pm.Gamma("v", 3.0, 2.0, shape=2), a, observed=[0, 3])
    for gradient in False, True:
        check_values("CAR", model, ptgc.load(ptgc.to_ptg(model, gradient=gradient)), gradient)
    with pm.Model() as model:
        pm.LKJCorr("r", n=2, eta=2.0)
    check_values("LKJCorr", model, ptgc.load(ptgc.to_ptg(model)), False)
    with pm.Model(coords={"a": [1, 2]}) as model:
        importlib.import_module("pymc.dims").Normal("named", 0, 1, dims="a")
    try:
        ptgc.to_ptg(model)
    except ValueError as e:
        assert "named has named dims" in str(e), e
    else:
        raise AssertionError("named dims are taken")


TIMES, SHARE = 1.2, 1.5  # of export_onnx's model; of the text by hand


def main(tmp):
    slow = []
    check_components(tmp)
    for name in BY_HAND:
        model = getattr(models, name)()
        run, text = loaded(tmp, model, False, "constants")
        check_values(name, model, run, False)
        share = tokens(text) / tokens((root / f"examples/pymc-by-hand/{name}.ptg").read_text())
        assert share <= SHARE, f"{name}: {share:.2f} times the tokens"
        times = slowdown(model, run, False)
        print(f"{name}: {share:.2f} times the tokens, {times:.2f} times the time", flush=True)
        slow += [f"{name}: {times:.2f}"] if times > TIMES else []
        if name == "eight_schools":
            check_one_edit(tmp, model, text)
        run, _ = loaded(tmp, model, True, "constants")
        check_values(name, model, run, True)
        times = slowdown(model, run, True)
        print(f"{name}, gradient: {times:.2f} times the time", flush=True)
        slow += [f"{name}, gradient: {times:.2f}"] if times > TIMES else []
    check_refused(tmp)
    check_integers(tmp)
    check_own_terms(tmp)
    check_two_groups()
    check_calls_and_names()
    check_stable(tmp)
    check_shared()
    for name in documented.MODELS:
        check_documented(tmp, name)
        print(f"{name}: PyMC's values", flush=True)
    for name in make.MODELS:
        model, times = made(name), []
        for gradient in (False, True):
            run, text = loaded(tmp, model, gradient)
            check_values(name, model, run, gradient)
            times.append(slowdown(model, run, gradient))
        print(f"{name}: {times[0]:.2f} times the time, with gradient {times[1]:.2f}", flush=True)
    assert not slow, slow


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        main(Path(folder))
