r"""Very many lines from few vectors: orbits of generators under the real Pauli group of R^d, d a power of 2.

The group's elements :math:`X^a Z^b` permute coordinates, :math:`(X^a v)_x = v_{x \oplus a}`, and change signs,
:math:`(Z^b v)_x = (-1)^{b \cdot x} v_x`. G generators give k = G d^2 lines, and an inner product of two lines is, up to
its sign, one between generators: a Walsh transform of :math:`u_x v_{x \oplus a}`. So a step costs G^2 d^3 instead of
k^2 d, a thousandth and less, and there are only G d unknowns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from superjax.core import loop
from superjax.core.errors import InputError
from superjax.core.pairwise import Reducer
from superjax.laws import lower_bound
from superjax.packing.anneal import AnnealHparams, advance, start, time_of
from superjax.packing.closed_forms import has_closed_form
from superjax.packing.measure import coherence, quick_on_host
from superjax.packing.objectives import Objective, Pull, SmoothMaximum
from superjax.packing.pack import Packing, pack
from superjax.packing.starts import random_start
from superjax.packing.watch import OnCheckpoint, OnValue, Watch, saved_loop

_STEPS = 1000


def pack_orbits(
    k: int,
    d: int,
    *,
    steps: int | None = None,
    seed: int = 0,
    hparams: AnnealHparams | None = None,
    on_value: OnValue | None = None,
    on_checkpoint: OnCheckpoint | None = None,
    resume: Mapping[str, Any] | None = None,
) -> Packing:
    """k lines of low coherence in R^d as orbits of ceil(k / d^2) generators, for k up to millions.

    Args:
        k: number of lines >= 1; the first k of whole orbits are taken.
        d: dimension, a power of 2 up to 256.
        steps: how many steps; 1000 by default.
        seed: of the random generators.
        hparams: the schedule of sharpness and rate.
        on_value: called with (steps done, steps, least coherence so far).
        on_checkpoint: as in `pack`.
        resume: as in `pack`.

    Returns:
        The packing, float32; its coherence is that of the whole orbits from k = 65,536 on. Orthonormal sets and
        simplices need no orbits: those of `pack`.

    Raises:
        InputError: d is no power of 2 in [2, 256], or k < 1.

    Source:
        Weyl-Heisenberg orbits as in Renes et al. 2004, over the reals: Calderbank, Cameron, Kantor and Seidel 1997.

    Example:
        >>> found = pack_orbits(30, 4, steps=100)
        >>> found.vectors.shape, found.bound <= found.coherence < 1
        ((30, 4), True)
    """
    if k < 1:
        raise InputError(f"k: {k} is not positive; give a whole number from 1 on")
    require_group(d)
    if has_closed_form(k, d):
        return pack(k, d)
    steps = _STEPS if steps is None else steps
    generators = random_start(-(-k // d**2), d, seed)
    largest = orbit_coherence(generators)
    step = OrbitStep(steps, d)
    state = jax.tree.map(jnp.asarray, start(generators, np.full(1, largest)))
    first = loop.LoopState(np.asarray(0, np.int64), state, {"value": np.zeros((steps, 1))})
    if resume is not None:
        then = saved_loop(resume, len(generators), d, steps)
        first = loop.LoopState(then.step, jax.tree.map(jnp.asarray, then.state), then.history)
    watch = Watch(on_value, on_checkpoint)

    def report(now: loop.LoopState) -> None:
        watch.keep(now, steps)
        if on_value is not None:
            on_value(int(now.step), steps, float(np.min(now.history["value"][: int(now.step)])))

    last = loop.run(step, first, hparams or AnnealHparams(), steps, on_checkpoint=report)
    best = np.asarray(last.state.best)
    vectors = orbit(best)[:k]
    reached = coherence(vectors) if quick_on_host(k, d) else orbit_coherence(best)
    bound = lower_bound(k, d)
    return Packing(
        vectors=vectors, objective="coherence", value=reached, coherence=reached, bound=bound.value,
        bound_name=bound.name, steps=steps, restarts=1, history=last.history["value"][:, 0],
    )  # fmt: skip


def require_group(d: int) -> None:
    """Check that R^d has the group.

    Raises:
        InputError: d is no power of 2 in [2, 256].
    """
    if d not in (2, 4, 8, 16, 32, 64, 128, 256):
        raise InputError(f"d: {d} is no power of 2 from 2 to 256; orbits need one, so leave them out for this d")


def orbit(generators: np.ndarray) -> np.ndarray:
    """All lines of the generators' orbits.

    Args:
        generators: [G, d] unit rows, d a power of 2.

    Returns:
        [G d^2, d]; of each generator the d^2 images under X^a Z^b, b fastest.

    Example:
        >>> orbit(np.array([[0.6, 0.8]])).tolist()
        [[0.6, 0.8], [0.6, -0.8], [0.8, 0.6], [0.8, -0.6]]
    """
    d = generators.shape[1]
    moved = generators[:, _xor(d)]
    signs = walsh(d).astype(generators.dtype)
    return np.reshape(moved[:, :, None, :] * signs[None, None], (-1, d))


def orbit_coherence(generators: np.ndarray) -> float:
    """The coherence of the generators' orbits in float64, one Walsh transform a pair of generators.

    Args:
        generators: [G, d] unit rows, d a power of 2.

    Example:
        >>> rows = np.array([[0.1, 0.5, 0.2, 0.8], [0.9, 0.1, 0.3, 0.3]])
        >>> rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        >>> abs(orbit_coherence(rows) - coherence(orbit(rows))) < 1e-12
        True
    """
    wide = np.asarray(generators, np.float64)
    wide = wide / np.linalg.norm(wide, axis=1, keepdims=True)
    d = wide.shape[1]
    moved, signs = wide[:, _xor(d)], walsh(d).astype(np.float64)
    largest = 0.0
    for i, left in enumerate(wide):
        for j in range(i, len(wide)):
            products = np.abs((left * moved[j]) @ signs)
            if i == j:
                products[0, 0] = 0  # each line with itself
            largest = max(largest, float(products.max()))
    return min(largest, 1.0)


def walsh(d: int) -> np.ndarray:
    """The Walsh-Hadamard matrix (-1)^(b . x), [d, d] int8, d a power of 2."""
    bits = np.arange(d)
    parity = np.bitwise_count(bits[:, None] & bits[None, :]) & 1
    return np.where(parity, np.int8(-1), np.int8(1))


def _xor(d: int) -> np.ndarray:
    return np.arange(d)[:, None] ^ np.arange(d)[None, :]


@dataclass(frozen=True)
class OrbitStep:
    """A `loop.Step` for the generators of orbits.

    Attributes:
        steps: how many there will be.
        dim: d.
    """

    steps: int
    dim: int

    def __call__(self, state: Any, hparams: AnnealHparams, index: jax.Array) -> tuple[Any, dict[str, jax.Array]]:
        temperature = hparams.at(time_of(index, self.steps))
        new, value = advance(Objective(), state, len(state.x), temperature, index, reduce_orbits)
        return new, {"value": value[None]}


def reduce_orbits(generators: jax.Array, reducer: Reducer) -> tuple[Pull, jax.Array]:
    """A reduction over the kinds of pairs of lines, with gradients of the generators.

    A kind is a pair of generators and an element of the group; each counts once, though kinds within one orbit stand
    for half as many pairs of lines.

    Args:
        generators: [G, d] unit rows.
        reducer: a `SmoothMaximum`.

    Returns:
        The totals, and [G, d] pulls.
    """
    assert isinstance(reducer, SmoothMaximum)
    number, d = generators.shape
    first, second = (jnp.asarray(part, jnp.int32) for part in np.triu_indices(number))
    signs, xor = jnp.asarray(walsh(d), jnp.float32), jnp.asarray(_xor(d))
    identity = jnp.zeros((d, d), bool).at[0, 0].set(True)
    product = partial(jnp.matmul, precision="highest")

    def meet(place: jax.Array, carry: tuple[Pull, jax.Array]) -> tuple[Pull, jax.Array]:
        totals, pull = carry
        i, j = first[place], second[place]
        u, moved = generators[i], generators[j][xor]
        gram = product(u[None, :] * moved, signs)
        slope, weight = reducer.slope(gram, ~((i == j) & identity))
        back = product(slope, signs)
        to_i = jnp.sum(back * moved, axis=0)
        to_j = jnp.sum(jnp.take_along_axis(u[None, :] * back, xor, axis=1), axis=0)
        return reducer.merge(totals, weight, jnp), pull.at[i].add(to_i).at[j].add(to_j)

    empty = (reducer.empty(), jnp.zeros_like(generators))
    return lax.fori_loop(0, len(first), meet, empty)
