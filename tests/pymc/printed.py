"""What the log densities of PyMC models read like: `ptgc.to_ptg(model)` beside the five files of
examples/pymc-by-hand, which were written before it, and the models of examples/pymc.

Each text is canonical, gives the same model again, and PyMC's values; it has at most 1.5 times the tokens of the one
written by hand, and its model takes at most 1.2 times the time of export_onnx's. Prints a line for each model.
"""

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


def loaded(tmp, model, gradient):
    """The model of the text, and the text; canonical and the same bytes once more."""
    text = ptgc.save_ptg(tmp / "m.ptg", model, gradient=gradient).text
    assert ptgc.format(text) == text == (tmp / "m.ptg").read_text(), text
    assert max(map(len, text.splitlines())) <= 100, text
    ptgc.save_ptg(tmp / "m.ptg", model, gradient=gradient)
    assert (tmp / "m.ptg").read_text() == text
    assert ptgc.compile(tmp / "m.ptg") == ptgc.compile(tmp / "m.ptg")
    return ptgc.load(tmp / "m.ptg"), text


def check_values(name, model, run, gradient):
    want = pytensor.function(
        model.value_vars, [model.logp(), *([model.dlogp()] if gradient else [])], mode="FAST_COMPILE"
    )
    for point in points(model):
        got = run(**point)
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
        except IndexError:  # what a check of a model that is loaded ends in
            continue
        raise AssertionError(f"{kind.__name__}: no check failed")


TIMES, SHARE = 1.2, 1.5  # of export_onnx's model; of the text by hand


def main(tmp):
    slow = []
    check_components(tmp)
    for name in BY_HAND:
        model = getattr(models, name)()
        run, text = loaded(tmp, model, False)
        check_values(name, model, run, False)
        share = tokens(text) / tokens((root / f"examples/pymc-by-hand/{name}.ptg").read_text())
        assert share <= SHARE, f"{name}: {share:.2f} times the tokens"
        times = slowdown(model, run, False)
        print(f"{name}: {share:.2f} times the tokens, {times:.2f} times the time", flush=True)
        slow += [f"{name}: {times:.2f}"] if times > TIMES else []
        if name == "eight_schools":
            check_one_edit(tmp, model, text)
        run, _ = loaded(tmp, model, True)
        check_values(name, model, run, True)
        times = slowdown(model, run, True)
        print(f"{name}, gradient: {times:.2f} times the time", flush=True)
        slow += [f"{name}, gradient: {times:.2f}"] if times > TIMES else []
    for name in make.MODELS:
        model = made(name)
        run, text = loaded(tmp, model, False)
        check_values(name, model, run, False)
        print(f"{name}: {slowdown(model, run, False):.2f} times the time", flush=True)
    assert not slow, slow


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        main(Path(folder))
