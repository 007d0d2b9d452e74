"""Odeint and OdeintSlopes of `use <ode>` beside SciPy: its odeint at the same tolerances, and others at 1e-13 as the truth"""
import numpy as np
import ptg
import pytest
from scipy.integrate import odeint, solve_ivp
from opsets import SOME_OPSETS

inf, nan = np.inf, np.nan


def join(*parts):
    return "Join{axis=1}(" + ", ".join(f"({p})[:, None]" for p in parts) + ")"


# rates, the same in Python, first states, parameters, times
SYSTEMS = {
    "decay": ("-p[:, :1] * y", lambda t, y, k: [-k * y[0]], [2.0], [0.7], np.linspace(0, 10, 11)),
    "fall": ("p[:, 1:] - p[:, :1] * y", lambda t, y, k, g: [g - k * y[0]], [0.0], [0.4, 9.8], np.linspace(0, 10, 21)),
    "forced": (
        "Sin(3 * t)[:, None] - p[:, :1] * y", lambda t, y, k: [np.sin(3 * t) - k * y[0]], [1.0], [2.0], np.linspace(0, 10, 21)),
    "predators": (
        join("y[:, 0] * (p[:, 0] - p[:, 1] * y[:, 1])", "y[:, 1] * (p[:, 3] * y[:, 0] - p[:, 2])"),
        lambda t, y, a, b, c, d: [y[0] * (a - b * y[1]), y[1] * (d * y[0] - c)],
        [30.0, 4.0], [0.55, 0.028, 0.84, 0.026], np.linspace(0, 20, 21)),
    "SIR": (
        join("-p[:, 0] * y[:, 0] * y[:, 1]", "(p[:, 0] * y[:, 0] - p[:, 1]) * y[:, 1]", "p[:, 1] * y[:, 1]"),
        lambda t, y, b, g: [-b * y[0] * y[1], b * y[0] * y[1] - g * y[1], g * y[1]],
        [0.99, 0.01, 0.0], [1.5, 0.4], np.linspace(0.5, 30, 40)),
    "Lorenz": (
        join("p[:, 0] * (y[:, 1] - y[:, 0])", "y[:, 0] * (p[:, 1] - y[:, 2]) - y[:, 1]", "y[:, 0] * y[:, 1] - p[:, 2] * y[:, 2]"),
        lambda t, y, s, r, b: [s * (y[1] - y[0]), y[0] * (r - y[2]) - y[1], y[0] * y[1] - b * y[2]],
        [1.0, 1.0, 1.0], [10.0, 28.0, 8 / 3], np.linspace(0, 5, 11)),
    # stiff ones
    "Robertson": (
        join("-p[:, 0] * y[:, 0] + p[:, 1] * y[:, 1] * y[:, 2]",
             "p[:, 0] * y[:, 0] - p[:, 1] * y[:, 1] * y[:, 2] - p[:, 2] * y[:, 1] ** 2", "p[:, 2] * y[:, 1] ** 2"),
        lambda t, y, a, b, c: [-a * y[0] + b * y[1] * y[2], a * y[0] - b * y[1] * y[2] - c * y[1] ** 2, c * y[1] ** 2],
        [1.0, 0.0, 0.0], [0.04, 1e4, 3e7], np.array([0.4, 4, 40, 400, 4000, 40000])),
    "van der Pol": (
        join("y[:, 1]", "p[:, 0] * (1 - y[:, 0] ** 2) * y[:, 1] - y[:, 0]"),
        lambda t, y, m: [y[1], m * (1 - y[0] ** 2) * y[1] - y[0]],
        [2.0, 0.0], [1000.0], np.array([0, 100, 500, 800, 900, 1200, 1500.0])),
}  # fmt: skip
STIFF = ("Robertson", "van der Pol")


def text(rates, n=1, m=1, options=""):
    return f"""use <ode>
fn rates(y: float64[l, {n}], t: float64[l], p: float64[l, {m}]) -> (dy) {{
  dy = {rates}
}}
graph g(y0: float64[b, {n}], times: float64[k], p: float64[b, {m}], t0: float64[]) -> (y) {{
  y = Odeint{{f=rates{options}}}(y0, times, p, t0)
}}"""


def of(name):
    rates, _, y0, p, _ = SYSTEMS[name]
    return text(rates, len(y0), len(p))


def truth(f, y0, p, times, t0=0.0, stiff=False):
    ts = np.concatenate([[t0], times])
    method = dict(method="Radau", rtol=1e-11, atol=1e-14) if stiff else dict(method="DOP853", rtol=1e-13, atol=1e-14)
    return solve_ivp(f, (t0, ts[-1]), y0, args=tuple(p), t_eval=np.unique(ts), **method).y.T[-len(times):]


def error(got, want):
    return np.max(abs(got - want) / (abs(want) + 1))


@pytest.mark.parametrize("name", SYSTEMS)
def test_nearer_to_the_truth_than_odeint(name):
    _, f, y0, p, times = SYSTEMS[name]
    want = truth(f, y0, p, times, stiff=name in STIFF)
    theirs = odeint(f, y0, np.concatenate([[0], times]), args=tuple(p), tfirst=True, mxstep=5000)[1:]
    got = ptg.run(of(name), [y0], times, [p], 0.0, math="standard")[0]
    assert error(got, want) < max(error(theirs, want), 1e-10) and error(got, want) < 1e-8


@pytest.mark.parametrize("opset", SOME_OPSETS)
def test_points_have_steps_of_their_own(opset):
    """Points that need more steps, that have ended, and that have no solution"""
    _, f, y0, p, times = SYSTEMS["predators"]
    model = of("predators")
    rng = np.random.default_rng(1)
    y0, p = y0 * rng.uniform(0.5, 2, (7, 2)), p * rng.uniform(0.5, 2, (7, 4))
    p[3], p[5] = [5, 0, 5, 0], nan
    y0[6] = 0
    got = ptg.run(model, y0, times[:6], p, 0.0, opset=opset, math="standard")
    for i in range(7):
        alone = ptg.run(model, y0[i:i + 1], times[:6], p[i:i + 1], 0.0, opset=opset, math="standard")[0]
        np.testing.assert_allclose(got[i], alone, rtol=1e-9)
        if i != 5:
            np.testing.assert_allclose(got[i], truth(f, y0[i], p[i], times[:6])[:6], rtol=2e-8)
    assert np.isnan(got[5, 1:]).all()


def test_times():
    """In any order, twice, at the start, none; and backwards"""
    _, f, y0, p, _ = SYSTEMS["forced"]
    model = ptg.compile(of("forced"), math="standard")

    def run(times, t0, y0=y0):
        return ptg.run(model, [y0], np.array(times, float), [p], t0)[0]

    np.testing.assert_array_equal(run([1.0, 1.0], 1.0), [y0, y0])
    got = run([4.0, 2.0, 4.0, 1.0], 1.0)
    np.testing.assert_allclose(got[[3, 1, 0]], [y0, *truth(f, y0, p, [2.0, 4.0], 1.0)], rtol=1e-9)
    np.testing.assert_array_equal(got[0], got[2])
    np.testing.assert_allclose(run([2.0, 1.0], 4.0, got[0]), [got[1], y0], rtol=1e-6)
    assert run([], 0.0).shape == (0, 1)
    with pytest.raises(Exception, match="Odeint: times lie on both sides of t0"):
        run([0.0, 2.0], 1.0)


@pytest.mark.parametrize("where", [0.0, 3.0, 3.02, 4.97, 5.0])
def test_jumps(where):
    """Of the rates, at a time and at a state: where a step ends, and a little before and after it"""
    rates = f"Cast{{float64}}((t > {where}) & (t < 5.5))[:, None] * p[:, 1:] - p[:, :1] * y"
    k, g, times = 0.5, 2.0, np.linspace(0, 10, 21)
    got = ptg.run(text(rates, 1, 2), [[0.0]], times, [[k, g]], 0.0, math="standard")[0, :, 0]
    dosed = g / k * (1 - np.exp(-k * (np.clip(times, where, 5.5) - where)))
    np.testing.assert_allclose(got, dosed * np.exp(-k * np.maximum(times - 5.5, 0)), atol=2e-8)
    rates = f"Switch(y < {where + 0.5}, p[:, :1], p[:, 1:])"
    got = ptg.run(text(rates, 1, 2), [[0.0]], times, [[k, g]], 0.0, math="standard")[0, :, 0]
    at = (where + 0.5) / k
    np.testing.assert_allclose(got, np.where(times < at, k * times, where + 0.5 + g * (times - at)), atol=2e-8)


def test_what_has_no_solution_is_nan():
    """y' = y^2 ends at t = 1/y0; the other point does not, and max_steps"""
    got = ptg.run(text("y * y"), [[1.0], [0.1]], [0.5, 0.99, 1.01, 3.0], [[0.0]] * 2, 0.0, math="standard")[..., 0]
    np.testing.assert_allclose(got[0, :2], [2, 100], rtol=1e-6)
    assert np.isnan(got[0, 2:]).all()
    np.testing.assert_allclose(got[1], 1 / (10 - np.array([0.5, 0.99, 1.01, 3])), rtol=1e-8)
    rates, _, y0, p, times = SYSTEMS["predators"]
    got = ptg.run(text(rates, 2, 4, ", max_steps=10"), [y0], times, [p], 0.0, math="standard")[0, :, 0]
    assert np.isnan(got[-1]) and not np.isnan(got[1])


@pytest.mark.parametrize("slopes", [False, True])
@pytest.mark.parametrize("n, m", [(1, 1), (3, 2), (6, 1)])
def test_sizes_and_derivatives(n, m, slopes):
    """A chain of n compartments, with the Jacobian and the derivatives given, beside the exponential of its matrix"""
    from scipy.linalg import expm, expm_frechet

    def matrix(p):
        return -np.diag(np.full(n, p[0])) + np.diag(np.full(n - 1, p[-1]), -1)

    below = np.diag(np.ones(n - 1), -1).tolist()
    a = f"p[:, :1, None] * float64({(-np.eye(n)).tolist()}) + p[:, {m - 1}:, None] * float64({below})"
    fed = f"y @ Transpose(float64({below}))"
    slope = f"({fed} - y)[:, :, None]" if m == 1 else f"Join{{axis=2}}((-y)[:, :, None], ({fed})[:, :, None])"
    results = "(dy, j, s)" if slopes else "(dy, j)"
    body = f"  dy = -p[:, :1] * y + p[:, {m - 1}:] * ({fed})\n  j = {a}\n" + (f"  s = {slope}\n" if slopes else "")
    call = "y, s = OdeintSlopes{f=rates}(y0, times, p, 0)" if slopes else "y = Odeint{f=rates, jacobian=True}(y0, times, p, 0)"
    model = f"""use <ode>
fn rates(y: float64[l, {n}], t: float64[l], p: float64[l, {m}]) -> {results} {{
{body}}}
graph g(y0: float64[b, {n}], times: float64[k], p: float64[b, {m}]) -> ({"y, s" if slopes else "y"}) {{
  {call}
}}"""
    rng = np.random.default_rng(1)
    y0, p, times = rng.uniform(0.5, 1, (2, n)), rng.uniform(0.5, 1, (2, m)), np.array([0.0, 0.3, 2.0])
    got = ptg.run(model, y0, times, p, math="standard")
    y, s = got if slopes else (got, None)
    for i in range(2):
        for k, t in enumerate(times):
            e = expm(t * matrix(p[i]))
            np.testing.assert_allclose(y[i, k], e @ y0[i], rtol=1e-8, atol=1e-9)
            if slopes:
                ways = [matrix(d) for d in np.eye(m)]
                by_p = np.stack([expm_frechet(t * matrix(p[i]), t * w, compute_expm=False) @ y0[i] for w in ways], 1)
                np.testing.assert_allclose(s[i, k], np.concatenate([e, by_p], 1), rtol=1e-8, atol=1e-8)


def test_float32_is_refused():
    for options in (("--float32",), ("--target=portable", "--float32")):
        with pytest.raises(AssertionError, match="Odeint needs float64"):
            ptg.compile(text("-p * y"), options=options)


@pytest.mark.parametrize("slopes", [False, True])
@pytest.mark.parametrize("b, m", [(0, 0), (0, 2), (1, 0), (3, 0)])
@pytest.mark.parametrize("times", [[], [1.0], [1.0, 1.0], [1.0, 3.0, 3.0], [1.0, -2.0]])
def test_no_points_parameters_or_times(slopes, b, m, times):
    n, k = 2, len(times)
    more = ", j, q" if slopes else ""
    model = ptg.compile(f"""use <ode>
fn rates(y: float64[l, n], t: float64[l], p: float64[l, m]) -> (dy{more}) {{
  dy = 0 * y + 3
  {"j = onnx.Expand(float64(0), onnx.Concat{axis=0}(Shape(y), Shape(y)[1:]))" if slopes else ""}
  {"q = onnx.Expand(float64(0), onnx.Concat{axis=0}(Shape(y), Shape(p)[1:]))" if slopes else ""}
}}
graph g(y0: float64[b, {n}], times: float64[k], p: float64[b, m]) -> (y{", s" if slopes else ""}) {{
  y{", s" if slopes else ""} = Odeint{"Slopes" if slopes else ""}{{f=rates}}(y0, times, p, 1)
}}""")
    y0 = np.arange(2.0 * b).reshape(b, n)
    got = ptg.run(model, y0, np.array(times, float), np.ones((b, m)))
    want = y0[:, None] + 3 * (np.array(times, float)[:, None] - 1)
    np.testing.assert_allclose(got[0] if slopes else got, want, rtol=1e-9, atol=1e-9)
    if slopes:
        np.testing.assert_allclose(got[1], np.broadcast_to(np.eye(n, n + m), (b, k, n, n + m)), atol=1e-9)
