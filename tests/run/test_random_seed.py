"""Seeds in the graph: the words of the generators that NumPy makes of the same seed."""

import numpy as np
import pytest
from ptg import run
from test_random_words import vector
from opsets import SOME_OPSETS

SEEDS = 0, 1, 42, 2**32 - 1, 2**32, 2**63 + 12345, 2**64 - 1
HIGH, LOW = 64, 2**64 - 1


def words(generator):
    state = generator.bit_generator.state
    at, step = state["state"]["state"], state["state"]["inc"]
    return [at >> HIGH, at & LOW, step >> HIGH, step & LOW, state["has_uint32"], state["uinteger"]]


@pytest.mark.parametrize("opset", SOME_OPSETS)
def test_seeds(opset):
    text = """ptg 1
    graph g(seed: uint64[], n: int64[]) -> (one, children) {
      one = _Seeded(seed)
      children = _Spawned(seed, n)
    }
    """
    for seed in SEEDS:
        for n in (0, 1, 5):
            one, children = run(text, np.array(seed, "uint64"), np.array(n), opset=opset)
            generator = np.random.default_rng(seed)
            assert one.tolist() == words(generator)
            assert children.shape == (n, 6)
            assert children.tolist() == [words(g) for g in generator.spawn(n)]


@pytest.mark.parametrize("opset", [13, 18])
@pytest.mark.parametrize("dtype, kind", [("rng_philox", np.random.Philox), ("rng_pcg64dxsm", np.random.PCG64DXSM)])
def test_seeds_of_other_kinds(dtype, kind, opset):
    text = f"""graph g(seed: int64[], n: int64[]) -> (one, children) {{
      one = {dtype}(seed)
      children = {dtype}[n](seed)
    }}"""
    for seed in (0, 42, 2**62 + 5):
        one, children = run(text, np.array(seed), np.array(3), opset=opset)
        generator = np.random.Generator(kind(seed))
        assert one.tolist() == vector(generator.bit_generator).tolist()
        assert children.tolist() == [vector(g.bit_generator).tolist() for g in generator.spawn(3)]
