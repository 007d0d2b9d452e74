"""NumPy's generators as the words that stand for them in a model, and back.

The words are those of NumPy's own ``bit_generator.state``, in the order that doc/random.md gives.
"""

from collections.abc import Iterable
from copy import copy, deepcopy
from typing import Any

import numpy as np
from numpy.random import PCG64, PCG64DXSM, Generator, Philox, SeedSequence
from pytensor.graph.basic import Constant

LOW = (1 << 64) - 1
KINDS = {PCG64: "rng", PCG64DXSM: "rng_pcg64dxsm", Philox: "rng_philox"}  # and their dtypes in .ptg
LENGTHS = {PCG64: 6, PCG64DXSM: 6, Philox: 13}
NAMES = {kind.__name__: kind for kind in KINDS}


def kind_of(what: Any) -> type:
    """The class of a bit generator, from its name, a generator, its state or the class; TypeError: not in a model."""
    if isinstance(what, Generator):
        what = type(what.bit_generator)
    if isinstance(what, dict):
        what = what.get("bit_generator")
    name = what.__name__ if isinstance(what, type) else what
    if name not in NAMES:
        raise TypeError(f"a generator of the kind {name}: a model has {', '.join(NAMES)}")
    return NAMES[name]


def is_generator(value) -> bool:
    """Is it a generator, or a list of generators?"""
    return isinstance(value, Generator) or (isinstance(value, list | tuple) and any(map(is_generator, value)))


def words(state: dict) -> list[int]:
    """The words of one state, as NumPy describes it."""
    inner, rest = state["state"], [state["has_uint32"], state["uinteger"]]
    if "counter" in inner:
        return [*inner["counter"], *inner["key"], *state["buffer"], state["buffer_pos"], *rest]
    now, step = inner["state"], inner["inc"]
    return [now >> 64, now & LOW, step >> 64, step & LOW, *rest]


def state_of(row: np.ndarray, kind: type) -> dict:
    """The state that ``words`` gives these words for."""
    *body, has, last = (int(w) for w in row)
    state: dict[str, Any]
    if kind is Philox:
        counter, key, buffer = (np.array(row[a:b], np.uint64) for a, b in ((0, 4), (4, 6), (6, 10)))
        state = {"state": {"counter": counter, "key": key}, "buffer": buffer, "buffer_pos": body[10]}
    else:
        state = {"state": {"state": body[0] << 64 | body[1], "inc": body[2] << 64 | body[3]}}
    return {"bit_generator": kind.__name__, **state, "has_uint32": has, "uinteger": last}


def generator_to_words(generator: "Generator | dict | Iterable") -> np.ndarray:
    """The words of a NumPy generator, as a model takes them for an input of type ``rng``: uint64, 6 of PCG64 and
    PCG64DXSM, 13 of Philox. Of several generators of one kind, such as those of ``spawn``, one row each.

    PCG64, PCG64DXSM: state and increment, the upper half of each first; has_uint32; uinteger. Philox: counter (4),
    key (2), buffer (4), buffer_pos, has_uint32, uinteger.
    """
    if not isinstance(generator, Generator | dict):
        rows = list(generator)
        if not rows or not all(isinstance(g, Generator | dict) for g in rows) or len(set(map(kind_of, rows))) > 1:
            raise TypeError("expected a NumPy generator, or some of one kind")
        return np.stack([generator_to_words(g) for g in rows])
    kind_of(generator)
    state = generator if isinstance(generator, dict) else generator.bit_generator.state
    return np.array(words(state), np.uint64)


def words_given(name: str, value: Any, kind: str) -> np.ndarray:
    """The words of what is given for the input of this name, a generator of this kind, or of several."""
    if is_generator(value) or isinstance(value, dict):
        first = value
        while isinstance(first, list | tuple):
            first = first[0]
        if (given := kind_of(first).__name__) != kind:
            raise TypeError(f"{name} is a generator of the kind {kind}, not {given}")
        return generator_to_words(value)
    array = np.asarray(value, np.uint64 if isinstance(value, list | tuple) else None)
    if array.dtype != np.uint64 or not array.ndim:
        make = "np.random.default_rng(seed)" if kind == "PCG64" else f"np.random.Generator(np.random.{kind}(seed))"
        raise TypeError(f"{name} is a generator: give {make}, or its words as uint64, not {value!r}")
    return array


def words_to_generator(
    words: Any, bit_generator: "str | type | None" = None, like: Generator | None = None
) -> "Generator | list":
    """The NumPy generator of these words, or a list of generators, one for each row.

    bit_generator: "PCG64DXSM" for words of that kind; otherwise 6 words are PCG64's and 13 are Philox's. like: the
    generator that the words come from; what the new one spawns is what that one would have spawned.
    """
    array = np.asarray(words)
    if array.dtype != np.uint64 or array.ndim not in (1, 2):
        raise TypeError(f"expected uint64 words, one row a generator, not {array.dtype} of rank {array.ndim}")
    kind = kind_of(bit_generator or (Philox if array.shape[-1] == LENGTHS[Philox] else PCG64))
    if array.shape[-1] != LENGTHS[kind]:
        raise ValueError(f"{kind.__name__} has {LENGTHS[kind]} words, not {array.shape[-1]}")
    if array.ndim == 2:
        return [words_to_generator(row, kind, like) for row in array]
    return with_state(like, state_of(array, kind), kind)


def with_state(like: Generator | None, state: dict, kind: type) -> Generator:
    """A new generator in this state. Where none is like it, its seeds of children come from the state."""
    if like is not None and type(like.bit_generator) is kind:
        try:
            bits = kind(copy(like.bit_generator.seed_seq))
        except (NotImplementedError, TypeError):  # as of Philox(key=...)
            bits = deepcopy(like.bit_generator)
    else:
        bits = kind(SeedSequence([int(w) for w in words(state)]))
    bits.state = state
    return Generator(bits)


# ---- as .ptg ----


def text(generator: Generator | dict) -> str:
    """A generator in exactly this state, as an expression."""
    return f"{KINDS[kind_of(generator)]}([{', '.join(map(str, generator_to_words(generator).tolist()))}])"


def seeded(node) -> str:
    """The generator that PyTensor's op makes of a constant seed; "" if the seed is known when the model runs."""
    if not isinstance(node.inputs[0], Constant):
        return ""
    seed = node.inputs[0].data
    if seed is None:
        raise TypeError("it has no seed: pass a generator instead")
    return text(np.random.default_rng(int(seed) if np.size(seed) == 1 else seed))
