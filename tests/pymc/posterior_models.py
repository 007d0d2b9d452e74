"""The models of examples/posteriordb, on small data of our own: log densities and gradients beside PyTensor's, and
a short run of the sampler. bench/posteriordb.py compares them with the reference draws.

`posterior_models.py [NAME ...]`; each file there has data here."""

import logging
import sys
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

import numpy as np  # noqa: E402
import onnxruntime as ort  # noqa: E402

FOLDER = Path(__file__).parents[2] / "examples" / "posteriordb"
sys.path[:0] = [str(FOLDER), str(Path(__file__).parents[2] / "bench")]

import posteriordb as bench  # noqa: E402
import pytensor  # noqa: E402

import ptgc  # noqa: E402

SHARED = {"hmm"}  # no models
RNG = np.random.default_rng(1)
N = 20


def positive(*shape):
    return RNG.uniform(0.5, 3, shape or N)


def level(*values):
    return RNG.choice(values, N)


earnings = {"earn": 1000 * positive(), "height": 60 + 5 * positive(), "male": level(0, 1)}
kidiq = {
    "kid_score": 80 + 20 * RNG.normal(size=N), "mom_iq": 100 + 15 * RNG.normal(size=N), "mom_hs": level(0, 1),
    "mom_work": level(1, 2, 3, 4),
}  # fmt: skip
mesquite = {k: positive() for k in ("weight", "diam1", "diam2", "canopy_height", "total_height", "density")}
mesquite["group"] = level(0, 1)
eight = {"y": 10 * RNG.normal(size=8), "sigma": 10 * positive(8)}
series = {"y": RNG.normal(size=N), "K": 2, "sigma1": 0.5}
process = {"x": np.linspace(-3, 3, 7), "y": RNG.normal(size=7), "k": RNG.poisson(3, 7)}
chain = {"alpha": np.array([[4, 2], [2, 4]]), "u": positive(), "v": positive(), "tau": 0.1, "rho": 0.1}
chain["y"] = RNG.normal(6, 4, N)
line = {"x": np.arange(N) / 10, "y": RNG.normal(size=N), "pmualpha": 0, "psalpha": 2, "pmubeta": 0, "psbeta": 3}
bases = {
    "Y": RNG.normal(size=N), "Xgp_1": RNG.normal(size=(N, 4)), "slambda_1": positive(4, 1),
    "Xgp_sigma_1": RNG.normal(size=(N, 3)), "slambda_sigma_1": positive(3, 1),
}  # fmt: skip
party = {
    "partyid7": level(1, 2, 3, 4, 5, 6, 7), "real_ideo": level(1, 2, 3, 4, 5, 6, 7),
    "race_adj": level(1.0, 1.5, 2.0),
    "educ1": level(1, 2, 3, 4), "gender": level(1, 2), "income": level(1, 2, 3, 4, 5), "age_discrete": level(1, 2, 3, 4),
}  # fmt: skip
DATA = {
    "accel_gp": bases, "arK": series, "arma11": series, "blr": {"X": RNG.normal(size=(N, 3)), "y": RNG.normal(size=N)},
    "diamonds": {"X": RNG.normal(size=(N, 4)), "Y": RNG.normal(8, 1, N)}, "garch11": series, "kilpisjarvi": line,
    "eight_schools_centered": eight, "eight_schools_noncentered": eight, "gp_pois_regr": process, "gp_regr": process,
    "hmm_drive_0": chain, "hmm_drive_1": chain, "hmm_example": chain, "low_dim_gauss_mix": series, "nes": party,
    "lotka_volterra": {"ts": np.arange(1, 5) / 10, "y_init": np.array([30.0, 4]), "y": 30 * positive(4, 2)},
    "one_comp_mm_elim_abs": {"t0": 0, "D": 30, "V": 2, "times": np.array([0.5, 1, 2]), "C_hat": positive(3)},
}  # fmt: skip
PREFIXES = {"earn": earnings, "logearn": earnings, "log10earn": earnings, "kidscore": kidiq, "mesquite": mesquite,
            "logmesquite": mesquite}  # fmt: skip


def check(name):
    data = DATA.get(name) or PREFIXES[name.partition("_")[0]]
    model = __import__(name).model(data)
    inputs, outputs = bench.gradient(model)
    exported = ptgc.compile_onnx(inputs, outputs)
    oracle = pytensor.function(inputs, outputs, mode=bench.python_mode())
    bound = 1e-5 if bench.has_equation(model) else 1e-9  # PyMC calls odeint at 1.5e-8
    for k in range(3):
        point = [np.asarray(p[k]) for p in bench.near_start(model, 3, 0.3)]
        got, want = exported(*point), oracle(*point)
        for a, b in zip(got, want, strict=True):
            assert np.isfinite(b).all()
            np.testing.assert_allclose(a, b, rtol=bound, atol=bound * np.abs(b).max())
    sampler = ptgc.compile_nuts(model, draws=3, tune=5, chains=2)
    found = dict(zip(sampler.outputs, sampler.session(ort.SessionOptions()).run(None, {"seed": np.array(1)})))
    assert all(np.isfinite(found[rv.name]).all() and found[rv.name].shape[:2] == (2, 3) for rv in model.free_RVs)


def main(names):
    files, failed = sorted(p.stem for p in FOLDER.glob("*.py") if p.stem not in SHARED), 0
    for name in names or files:
        try:
            check(name)
        except Exception as e:  # all of them are tried
            failed += 1
            print(f"{name}: {type(e).__name__}: {e}")
    print(f"{len(names or files) - failed} of {len(names or files)} models of examples/posteriordb are PyTensor's")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
