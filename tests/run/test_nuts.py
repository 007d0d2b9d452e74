"""`use <mcmc>`: NUTS of many chains in one loop, against laws that are known."""
import numpy as np
import pytest
import scipy.stats

import ptg

TEXT = """use <mcmc>

fn density(x: F[c, d]) -> (logp: F[c], gradient: F[c, d]) {
  at = x - F([10, 0, -3])
  p = F([[4, 1, 0], [1, 0.5, 0], [0, 0, 0.01]])
  gradient = -(at @ p)
  logp = 0.5 * Sum{axis=1}(gradient * at)
}

graph sample(start: FLOAT[3], words: uint64[chains, 6]) -> (
  x, logp, acceptance, depth, diverging, steps, energy, step, mass, left
) {
  x, logp, acceptance, depth, diverging, steps, energy, step, mass, left = Nuts{logp=density, OPTIONS}(start, words)
}
"""
HMC = TEXT.replace("x, logp, acceptance, depth, diverging, steps, energy", "x, logp, acceptance, diverging, energy").replace("Nuts{", "Hmc{")
MEAN = np.array([10, 0, -3.0])
PRECISION = np.array([[4, 1, 0], [1, 0.5, 0], [0, 0, 0.01]])


def words(seed, chains):
    """Of the generators that NumPy spawns"""
    states = [np.random.PCG64(s).state["state"] for s in np.random.SeedSequence(seed).spawn(chains)]
    half = 2 ** 64 - 1
    return np.array([[s["state"] >> 64, s["state"] & half, s["inc"] >> 64, s["inc"] & half, 0, 0] for s in states],
                    np.uint64)


def jumped_states(seed, chains, times):
    """For each chain its bit generator, jumped 0, 1, ... times"""
    return [[np.random.PCG64(s).jumped(k) if k else np.random.PCG64(s) for k in range(times)]
            for s in np.random.SeedSequence(seed).spawn(chains)]


def jumped(seed, chains, times):
    states = [s[times].state["state"]["state"] for s in jumped_states(seed, chains, times + 1)]
    return [(s >> 64, s & (2 ** 64 - 1)) for s in states]


def sample(chains, dtype="float64", seed=1, opset=18, **options):
    options = ", ".join(f"{k}={v}" for k, v in options.items())
    model = ptg.compile(TEXT.replace("FLOAT", dtype).replace("OPTIONS", options), opset=opset, math="standard")
    return ptg.run(model, np.zeros(3, dtype), words(seed, chains))


def effective(x):
    """Of chains [chains, draws]: effective draws by Geyer's initial positive sequence"""
    c, n = x.shape
    y = x - x.mean()
    f = np.fft.rfft(y, 2 * n, axis=1)
    rho = np.fft.irfft(abs(f) ** 2, axis=1)[:, :n].mean(0) / n / y.var()
    pairs = rho[0:n - 1:2] + rho[1:n:2]
    stop = np.argmax(pairs < 0) if (pairs < 0).any() else len(pairs)
    return c * n / max(2 * pairs[:stop].sum() - 1, 0.1)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_law(dtype):
    x, logp, acceptance, depth, diverging, steps, energy, step, mass, left = sample(16, dtype, draws=500, tune=400)
    assert x.shape == (16, 500, 3) and x.dtype == dtype and depth.dtype == steps.dtype == "int64"
    at = x.astype("float64") - MEAN
    np.testing.assert_allclose(logp, -0.5 * np.einsum("cni,ij,cnj->cn", at, PRECISION, at), rtol=2e-4, atol=2e-4)
    cov = np.linalg.inv(PRECISION)
    for k in range(3):
        n, sd = effective(at[..., k]), np.sqrt(cov[k, k])
        assert n > 1500
        assert abs(at[..., k].mean()) < 4 * sd / np.sqrt(n)
        assert abs(at[..., k].std() / sd - 1) < 4 / np.sqrt(n)
    got = np.cov(at.reshape(-1, 3).T)
    assert abs(got[0, 1] / cov[0, 1] - 1) < 0.15
    assert not diverging.any() and 0.75 < acceptance.mean() < 0.95
    assert (2 ** (depth - 1) <= steps).all() and (steps < 2 ** depth).all()
    assert abs(energy.mean() - 3) < 0.3 and (energy >= -logp - 1e-4).all()
    assert (mass / np.diag(cov)).max() < 2 and (mass / np.diag(cov)).min() > 0.5 and (step > 0.3).all()


STATE = {"numbers": "FLOAT[?, ?]", "levels": "FLOAT[?, ?, ?]", "counts": "int64[?, 6]", "streams": "uint64[?, 12]",
         "learned": "FLOAT[?, ?]", "done": "int64[?]", "waiting": "FLOAT[?, ?]"}  # fmt: skip
STEPS = TEXT.replace("words: uint64[chains, 6]", f"words: uint64[chains, 6], {', '.join(f'{k}0: {t}' for k, t in STATE.items())}, n: int64[]")
STEPS = STEPS.replace("(start, words)", f"(start, words, n, {', '.join(f'{k}0' for k in STATE)})")
STEPS = STEPS.replace("mass, left", f"mass, error, most, {', '.join(STATE)}").replace("Nuts{", "NutsSteps{")


def empty_state(dtype):
    ranks = {k: t.replace("FLOAT", dtype) for k, t in STATE.items()}
    widths = {"counts": 6, "streams": 12}
    return {k: np.zeros([0] * t.count("?") + [widths[k] for _ in [k] if k in widths], t.split("[")[0]) for k, t in ranks.items()}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("leave", [True, False])
def test_steps_by_steps(dtype, leave):
    """Of each call the draws that all chains have by then: all calls together give the draws of one, to the bit. A run
    that is over gives no more, and a state of other chains is refused."""
    options = f"draws=90, tune=60, max_treedepth=5, leave={leave}"
    once = ptg.compile(TEXT.replace("FLOAT", dtype).replace("OPTIONS", options), math="standard")
    model = ptg.compile(STEPS.replace("FLOAT", dtype).replace("OPTIONS", options), math="standard")
    for chains in (1, 5) if leave else (4,):
        given, state, parts = [np.zeros(3, dtype), words(1, chains)], empty_state(dtype), []
        want = ptg.run(once, *given)
        while not parts or len(state["done"]) == 0 or state["done"].min() < 150:
            results = ptg.run(model, *given, *state.values(), np.array(1 + len(parts) % 3))
            parts.append(results[: -len(state)])
            state = dict(zip(state, results[-len(state):]))
        assert len(parts) > 4
        for k, a in enumerate(want[:7]):
            np.testing.assert_array_equal(np.concatenate([p[k] for p in parts], 1), a)
        for k in 7, 8:
            np.testing.assert_array_equal(parts[-1][k], want[k])
        if leave:
            over = ptg.run(model, *given, *state.values(), np.array(5))
            assert over[0].shape == (chains, 0, 3)
        np.testing.assert_array_equal(ptg.run(model, *given, *empty_state(dtype).values(), np.array(2 ** 62))[0], want[0])
    with pytest.raises(Exception, match="another number of chains"):
        ptg.run(model, given[0], words(1, 9), *state.values(), np.array(1))


CONVERGENCE = """use <mcmc>

graph judge(x: FLOAT[c, n, k], whole: bool[]) -> (rhat, ess) {
  rhat, ess = Convergence(x, whole)
}
"""


def scores(x):
    rank = scipy.stats.rankdata(x, method="average")
    return scipy.stats.norm.ppf((rank - 0.375) / (x.size + 0.25)).reshape(x.shape)


def r_hat(z):
    n = z.shape[1]
    return np.sqrt((n * z.mean(1).var(ddof=1) / z.var(axis=1, ddof=1).mean() + n - 1) / n)


def effective_size(z):
    """By Geyer's initial monotone sequence, as ArviZ has it"""
    c, n = z.shape
    y = z - z.mean(1, keepdims=True)
    within = z.var(axis=1, ddof=1).mean()
    variance = within * (n - 1) / n + z.mean(1).var(ddof=1)
    rho = [1.0] + [1 - (within - (y[:, k:] * y[:, :-k]).sum() / c / n) / variance for k in range(1, n)]
    t = 1
    while t < n - 3 and rho[t - 1] + rho[t] > 0:
        t += 2
    pairs = np.minimum.accumulate([rho[k] + rho[k + 1] for k in range(0, t - 1, 2)] or [0])
    last = rho[t - 1] if rho[t - 1] > 0 or rho[t - 1] + rho[t] >= 0 else 0
    return c * n / max(2 * pairs.sum() - 1 + last, 1 / np.log10(c * n))


@pytest.mark.parametrize("dtype, rtol", [("float64", 1e-8), ("float32", 1e-2)])
@pytest.mark.parametrize("chains, draws", [(4, 400), (2, 101), (3, 6), (4, 4), (1, 50)])
def test_convergence(chains, draws, dtype, rtol):
    """R-hat and effective sample sizes are those of ranks: of chains that mix, that do not, that swing, and with ties"""
    rng = np.random.default_rng(draws)
    x = rng.normal(size=(chains, draws, 5))
    for t in range(1, draws):
        x[:, t, 1] += 0.9 * x[:, t - 1, 1]
        x[:, t, 2] -= 0.8 * x[:, t - 1, 2]
    x[..., 3] = np.round(x[..., 3], 1)
    x[0, :, 4] += 2
    x = x.astype(dtype)
    model = ptg.compile(CONVERGENCE.replace("FLOAT", dtype), math="standard")
    rhat, ess = ptg.run(model, x, np.array(True))
    half = draws // 2
    for k in range(5):
        both = np.concatenate([x[:, :half, k], x[:, draws - half:, k]])
        bulk, tails = scores(both), scores(abs(both - np.median(both)))
        if chains > 1:
            np.testing.assert_allclose(rhat[k], max(r_hat(bulk), r_hat(tails)), rtol=rtol)
        np.testing.assert_allclose(ess[k], effective_size(bulk), rtol=rtol)
    assert chains > 1 or np.isnan(rhat).all()
    assert np.isnan(ptg.run(model, x, np.array(False))).all() and np.isnan(ptg.run(model, x[:, :3], np.array(True))).all()
    x[0, 0, 0] = np.nan
    assert np.isnan([v[0] for v in ptg.run(model, x, np.array(True))]).all()


LOGISTIC = """use <mcmc>

fn density(b: F[c, 7]) -> (logp: F[c], gradient: F[c, 7]) {
  X = F(VALUES)
  eta = b @ Transpose(X)
  logp = -Sum{axis=1}(Softplus(eta)) - 0.5 * Sum{axis=1}(b * b)
  gradient = -(Sigmoid(eta) @ X) - b
}

graph sample(start: FLOAT[7], words: uint64[chains, 6]) -> (x) {
  x, _, _, _, _, _, _, _, _, _ = Nuts{logp=density, OPTIONS}(start, words)
}
"""


SCALES = [1, 0.1, 0.001]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_scales_that_are_far_from_each_other(dtype):
    """A variance far below 0.001, which Stan's rule adds to each, is learned, too, and steps stay long."""
    text = TEXT.replace("x - F([10, 0, -3])", "x / F([1, 0.1, 0.001])").replace("[4, 1, 0], [1, 0.5, 0], [0, 0, 0.01]",
                                                                           "[1, 0, 0], [0, 1, 0], [0, 0, 1]")
    text = text.replace("gradient = -(at @ p)", "gradient = -at / F([1, 0.1, 0.001])").replace("Sum{axis=1}(gradient * at)", "Sum{axis=1}(-at * at)")
    model = ptg.compile(text.replace("FLOAT", dtype).replace("OPTIONS", "draws=1000, tune=1000"), math="standard")
    x, _, _, depth, diverging, steps, _, step, mass, _ = ptg.run(model, np.zeros(3, dtype), words(1, 4))
    np.testing.assert_allclose(mass, np.broadcast_to(np.square(SCALES), (4, 3)), rtol=0.35)
    np.testing.assert_allclose(x.std(axis=(0, 1)), SCALES, rtol=0.1)
    assert step.min() > 0.5 and steps.mean() < 8 and not diverging.any()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_chains_do_not_depend_on_each_other(dtype):
    """Equal to the bit; some chains have all draws before the others, and leave"""
    many = sample(13, dtype, draws=100, tune=150)
    for chains in 1, 3, 8:
        for a, b in zip(many, sample(chains, dtype, draws=100, tune=150)):
            np.testing.assert_array_equal(a[:chains], b)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_chains_of_a_density_with_matmul(dtype):
    x = np.random.default_rng(1).normal(size=(83, 7)).round(2)
    values = ", ".join(f"[{', '.join(map(repr, map(float, row)))}]" for row in x)
    text = LOGISTIC.replace("VALUES", f"[{values}]")
    model = ptg.compile(text.replace("FLOAT", dtype).replace("OPTIONS", "draws=40, tune=60"), math="standard")
    many = ptg.run(model, np.zeros(7, dtype), words(3, 13))
    for chains in 1, 3, 8:
        np.testing.assert_array_equal(many[:chains], ptg.run(model, np.zeros(7, dtype), words(3, chains)))


@pytest.mark.parametrize("sampler", ["Nuts", "Hmc"])
@pytest.mark.parametrize("bad", ["nan", "-inf"])
def test_a_density_that_is_nowhere_finite(sampler, bad):
    """No draws, but an error as that of PyMC"""
    text = TEXT if sampler == "Nuts" else HMC
    text = text.replace("logp = 0.5 *", f"logp = {bad} +").replace("FLOAT", "float64")
    model = ptg.compile(text.replace("OPTIONS", "draws=5, tune=5"), math="standard")
    with pytest.raises(Exception, match="Initial evaluation of model at starting point failed"):
        ptg.run(model, np.zeros(3), words(1, 2))


def test_the_generator_that_is_left():
    left = sample(3, draws=10, tune=10)[-1]
    assert [(int(a), int(b)) for a, b in left[:, :2]] == jumped(1, 3, 3)
    np.testing.assert_array_equal(left[:, 2:], words(1, 3)[:, 2:])


@pytest.mark.parametrize("opset", [13, 26])
def test_opsets(opset):
    for a, b in zip(sample(2, opset=opset, draws=30, tune=30), sample(2, draws=30, tune=30)):
        np.testing.assert_array_equal(a, b)


def test_without_tuning():
    x, *_, step, mass, _ = sample(4, draws=20, tune=0, step_scale=0.5, max_treedepth=3, jitter=0)
    assert x.shape == (4, 20, 3) and (mass == 1).all()
    np.testing.assert_allclose(step, 0.5 * 3 ** -0.25)


@pytest.mark.parametrize("dtype, opset", [("float64", 18), ("float32", 18), ("float64", 13), ("float64", 26)])
def test_hmc(dtype, opset):
    options = "draws=600, tune=300, steps=12" if opset == 18 else "draws=20, tune=20"
    model = ptg.compile(HMC.replace("FLOAT", dtype).replace("OPTIONS", options), opset=opset, math="standard")
    x, logp, acceptance, diverging, energy, step, mass, left = ptg.run(model, np.zeros(3, dtype), words(2, 16))
    assert x.dtype == dtype
    assert [(int(a), int(b)) for a, b in left[:, :2]] == jumped(2, 16, 2)
    at = x.astype("float64") - MEAN
    np.testing.assert_allclose(logp, -0.5 * np.einsum("cni,ij,cnj->cn", at, PRECISION, at), rtol=2e-4, atol=2e-4)
    if opset != 18:
        return
    assert not diverging.any()
    cov = np.linalg.inv(PRECISION)
    for k in range(3):
        n, sd = effective(at[..., k]), np.sqrt(cov[k, k])
        assert n > 1000
        assert abs(at[..., k].mean()) < 4 * sd / np.sqrt(n)
        assert abs(at[..., k].std() / sd - 1) < 4 / np.sqrt(n)
    assert 0.7 < acceptance.mean() < 0.97 and abs(energy.mean() - 3) < 0.3
    assert (mass / np.diag(cov)).max() < 2 and (mass / np.diag(cov)).min() > 0.5


def test_hmc_without_tuning():
    model = ptg.compile(HMC.replace("FLOAT", "float64").replace("OPTIONS", "draws=1, tune=0, jitter=0"), math="standard")
    x, *_, step, mass, _ = ptg.run(model, np.zeros(3), words(1, 1))
    assert x.shape == (1, 1, 3) and (mass == 1).all()
    np.testing.assert_allclose(step, 0.25 * 3 ** -0.25)
