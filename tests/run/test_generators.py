"""Generators of random numbers as values of the language: seeds, words, states, loops, ifs, fns, arrays of them."""

import numpy as np
import onnx
import pytest

import ptg
from opsets import SOME_OPSETS

HALF = 2**64 - 1
default_rng = np.random.default_rng


def words(g):
    """The words of a generator, in the order of doc/random.md"""
    s = (g if isinstance(g, np.random.BitGenerator) else g.bit_generator).state
    of = s["state"]
    if s["bit_generator"] == "Philox":
        return np.array([*of["counter"], *of["key"], *s["buffer"], s["buffer_pos"], s["has_uint32"], s["uinteger"]],
                        np.uint64)
    return np.array([of["state"] >> 64, of["state"] & HALF, of["inc"] >> 64, of["inc"] & HALF, s["has_uint32"],
                     s["uinteger"]], np.uint64)


def same(got, want):
    np.testing.assert_array_equal(got, want)


def test_seeds_while_compiling():
    kinds = {"rng": np.random.PCG64, "rng_pcg64dxsm": np.random.PCG64DXSM, "rng_philox": np.random.Philox}
    for dtype, kind in kinds.items():
        for seed in (0, 1, 42, 2**32 - 1, 2**32, 2**64 - 1):
            one, three, copy = ptg.run(f"""graph g() -> (one, three, copy) {{
              one = {dtype}({seed})
              three = {dtype}[3]({seed})
              copy = {dtype}({words(kind(seed)).tolist()})
            }}""")
            same(one, words(kind(seed)))
            same(three, [words(kind(s)) for s in np.random.SeedSequence(seed).spawn(3)])
            same(copy, one)


@pytest.mark.parametrize("opset", SOME_OPSETS)
def test_seeds_at_run_time(opset):
    text = """graph g(seed: int64[], n: int64[]) -> (r: rng, three: rng[3], some: rng[?]) {
      r = rng(seed)
      three = rng[3](seed)
      some = rng[n](5)
    }"""
    for seed in (0, 1, 2**63 - 1):
        r, three, some = ptg.run(text, np.array(seed), np.array(4), opset=opset)
        same(r, words(default_rng(seed)))
        same(three, [words(g) for g in default_rng(seed).spawn(3)])
        same(some, [words(g) for g in default_rng(5).spawn(4)])
    with pytest.raises(Exception, match="expected non-negative integer"):
        ptg.run(text, np.array(-1), np.array(4), opset=opset)


@pytest.mark.parametrize("opset", SOME_OPSETS)
def test_flow(opset):
    """Fns, Scan, loops over generators and with a carried one, ifs, lists, joins, indices"""
    text = """
    fn Two(r, n) -> (r2, x) { r2, x = uniform_rv(r, [n], 0.0, 1.0) }
    fn Step(r) -> (x, r2) { r2, x = uniform_rv(r, None, 0.0, 1.0) }
    graph g(k: int64[], all: rng[c], r: rng, w: uint64[2, 6]) ->
        (x, last: rng, y, after: rng[c], z, w2, p, listed: rng[2], picked: rng, set: rng[c], e: rng[c + 2], s, sr) {
      _, x = Two(rng(11), k)
      last, y = loop (i in 0:k, s: rng = r) -> (s, [u]) {
        t, u = uniform_rv(s, None, 0.0, 1.0)
        next s = t
      }
      after, z = loop (s in all) -> ([t], [u]) { t, u = Two(s, 2) }
      w2 = GeneratorToWords(r)
      ws = rng(w)
      _, p = uniform_rv(ws[1], None, 2.0, 3.0)
      listed = [r, all[0]]
      picked = if k > 2 { picked = rng(3) } else { picked = all[-1] }
      set = all[1].set(r)
      e = Join{axis=-1}(all, ws)
      s, sr = Scan{fn=Step, n_nit_sot=1, n_untraced_sit_sot=1}(4, r, 4)
    }"""
    for k in (0, 1, 4):
        all = [default_rng(i) for i in range(3)]
        of = np.array([words(g) for g in all])
        r, w = words(default_rng(5)), np.array([words(default_rng(8)), words(default_rng(9))])
        x, last, y, after, z, w2, p, listed, picked, put, e, s, sr = ptg.run(text, np.array(k), of, r, w, opset=opset)
        same(x, default_rng(11).uniform(size=k))
        g = default_rng(5)
        same(y, g.uniform(size=k))
        same(last, words(g))
        same(z, [g.uniform(size=2) for g in all])
        same(after, [words(g) for g in all])
        same(w2, r)
        same(p, default_rng(9).uniform(2, 3))
        same(listed, [r, of[0]])
        same(picked, words(default_rng(3)) if k > 2 else of[-1])
        same(put, [of[0], r, of[2]])
        same(e, [*of, *w])
        g = default_rng(5)
        same(s, g.uniform(size=4))
        same(sr, words(g))


SHAPES = """graph g(r: rng, mu: float64[n], one: float64[1, 1], n2: int64[], size: int32[2]) ->
    (next: rng, a: float64[], b: float64[n], c: float64[n2, n], d: float64[1, 1], e: float64[?, ?], f: float32[3, 0]) {
  r1, a = uniform_rv{"(),()->()"}(r, None, 0, 2.0)
  r2, b = uniform_rv(r1, None, mu, 2.0)
  r3, c = uniform_rv{signature="(),()->()", dtype=float64}(r2, [n2, n], mu, 2.0)
  r4, d = uniform_rv(r3, None, one, 2)
  r5, e = uniform_rv(r4, size, -1.5, mu)
  next, f = uniform_rv{dtype=float32}(r5, [3, 0], -1.0, one)
}"""


@pytest.mark.parametrize("opset", SOME_OPSETS)
def test_shapes(opset):
    for n, n2, size in ((0, 0, (2, 0)), (1, 3, (4, 1)), (5, 2, (3, 5)), (1, 2, (2, 7))):
        g, mu, one = default_rng(5), np.linspace(-1, 1, n), np.ones((1, 1))
        r = words(g)
        want = [g.uniform(0, 2.0), g.uniform(mu, 2.0), g.uniform(mu, 2.0, (n2, n)), g.uniform(one, 2),
                g.uniform(-1.5, mu, size), g.uniform(-1, one, (3, 0)).astype("float32")]
        got = ptg.run(SHAPES, r, mu, one, np.array(n2), np.array(size, "int32"), opset=opset)
        same(got[0], words(g))
        for x, y in zip(got[1:], want, strict=True):
            same(x, y)
            assert x.dtype == np.asarray(y).dtype and x.shape == np.shape(y)


def test_wrong_sizes():
    def fails(n, size, text):
        with pytest.raises(Exception, match=text):
            ptg.run(SHAPES, words(default_rng(5)), np.zeros(n), np.ones((1, 1)), np.array(2), np.array(size, "int32"))

    fails(3, (4, 4), "the size is not compatible with the broadcast dimensions of inputs")
    fails(3, (3, 1), "the size is not compatible with the broadcast dimensions of inputs")
    for size in ((-1, 3), (-2, -3)):
        with pytest.raises(Exception, match="negative dimensions are not allowed|Reshape"):
            ptg.run("graph g(s: int64[2]) -> (x) { _, x = uniform_rv(rng(1), s, 0.0, 1.0) }", np.array(size))


DRAWS = """graph g(r: rng, a: float64[...], b: float64[...], size: int64[1]) -> (next: rng, x, y) {
  r2, x = NAME_rv{"(),()->()"}(r, SIZE, a, b)
  next, y = NAME_rv(r2, [2, 1], 0.25, 3)
}"""
NAN, INF = np.nan, np.inf


def draw(name, a, b, size, opset=18, level="all", math="standard"):
    """What the model draws, and what NumPy draws"""
    r = default_rng(3)
    text = DRAWS.replace("NAME", name).replace("SIZE", "size" if size is not None else "None")
    for x in (a, b):
        text = text.replace("[...]", f"[{', '.join('1' if n == 1 else '?' for n in np.shape(x))}]", 1)
    got = ptg.run(text, words(r), np.float64(a), np.float64(b), np.array(size or [0]), opset=opset, level=level, math=math)
    x = getattr(r, name)(a, b, size)
    y = getattr(r, name)(0.25, 3, (2, 1))
    return got, (words(r), x, y)


@pytest.mark.parametrize("opset", SOME_OPSETS)
@pytest.mark.parametrize("name", ["uniform", "normal"])
def test_two_parameters(name, opset):
    v = np.linspace(0, 2, 5)
    for a, b, size in ((0, 1, None), (-2.5, 7, [1000]), (v, 2.5, None), (v, v + 1, None), (0.5, v[1:] + 1, [4]),
                       (v, v[:1] + 3, None), (v[:0], 1, None), (1, 2, [0]), (v[:, None], v[None] + 9, None)):
        got, want = draw(name, a, b, size, opset)
        for x, y in zip(got, want, strict=True):
            same(x, y)
            assert x.shape == np.shape(y)


def test_the_same_everywhere():
    want = draw("normal", 0, 1, [1000])[0][1]
    for level in ("none", "all"):
        for math in ("exact", "standard", "native"):
            same(draw("normal", 0, 1, [1000], level=level, math=math)[0][1], want)


@pytest.mark.parametrize("name, a, b", [
    ("normal", 0, -1), ("normal", 0, -0.0), ("normal", 0, [1, -0.0]), ("normal", 0, [NAN, -1]), ("normal", 0, -INF),
    ("normal", 0, NAN), ("uniform", 1, 0), ("uniform", 0, INF), ("uniform", NAN, 0), ("uniform", [0, 1], [1, 0]),
    ("uniform", [0, 1], [1, NAN]), ("uniform", 2, 2)])
def test_bad_parameters(name, a, b):
    try:
        getattr(default_rng(1), name)(a, b)
    except (ValueError, OverflowError) as e:
        with pytest.raises(Exception, match=f"Name:'{e}'"):
            draw_alone(name, a, b)
    else:
        same(draw_alone(name, a, b), getattr(default_rng(3), name)(a, b))


def draw_alone(name, a, b):
    text = f"graph g(a: float64{'[n]' * np.ndim(a) or '[]'}, b: float64{'[n]' * np.ndim(b) or '[]'}) -> (x) {{"
    return ptg.run(text + f"_, x = {name}_rv(rng(3), None, a, b)}}", np.float64(a), np.float64(b))


def test_state_and_notes():
    text = """graph g(a: rng_philox) -> (x, b: rng_philox, `odd name`: rng) {
      state r: rng = rng(42)
      r2, x = uniform_rv(r, [3], 0.0, 1.0)
      next r = r2
      b = a
      `odd name` = r
    }"""
    model = onnx.load_from_string(ptg.compile(text))
    notes = {p.key: p.value for p in model.metadata_props if p.key != "least_runtime"}
    assert notes == {"generator:a": "Philox", "generator:r": "PCG64", "generator:b": "Philox",
                     "generator:odd name": "PCG64", "generator:r.next": "PCG64"}
    s, g = ptg.session(ptg.compile(text)), default_rng(42)
    feeds = {"a": words(np.random.Philox(1))}
    for _ in range(3):
        out = dict(zip([o.name for o in s.get_outputs()], s.run(None, feeds)))
        same(out["x"], g.uniform(size=3))
        feeds["r"] = out["r.next"]
        same(feeds["r"], words(g))
