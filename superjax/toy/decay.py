"""Decoupled weight decay, growth towards unit rows, and the published learning rates over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from superjax.toy.sampling import Array

if TYPE_CHECKING:
    import optax

_NORM_FLOOR = 1e-8


def decayed(W: jax.Array, rate: Array | float) -> jax.Array:
    r"""What decay (rate >= 0) or growth (rate < 0) adds to W in one step; rate is learning rate times gamma.

    .. math:: \Delta W_i = -\eta\gamma W_i \;(\gamma \ge 0), \qquad
              \Delta W_i = -\eta\gamma W_i (1 / \|W_i\| - 1) \;(\gamma < 0)

    Growth moves the norm r of a row to r + eta |gamma| (1 - r) and keeps its direction; a zero row stays.

    Args:
        W: [n, m].
        rate: eta gamma.

    Returns:
        [n, m].

    Source:
        Liu, Liu and Gore 2025, arXiv 2505.10465, eq. 2; their code adds 1e-8 to the norm.

    Example:
        >>> W = jnp.array([[3.0, 4.0]])
        >>> [[round(float(x), 3) for x in decayed(W, rate)[0]] for rate in (0.25, -0.25)]
        [[-0.75, -1.0], [-0.6, -0.8]]
    """
    rate = jnp.asarray(rate, W.dtype)
    norm = jnp.sqrt(jnp.sum(W**2, axis=-1, keepdims=True))
    return -rate * W * jnp.where(rate < 0, 1 / (norm + _NORM_FLOOR) - 1, 1.0)


def norm_decay(rate: Array | float) -> optax.GradientTransformation:
    """`decayed` as an optax transformation for `Params`: added to the update of W, nothing to that of b.

    It reads the parameters the gradient was taken at, so placed last in a chain it does what the published code does,
    which decays W and then takes Adam's step.

    Args:
        rate: scheduled learning rate of W times gamma; may be traced.
    """
    import optax

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        return updates._replace(W=updates.W + decayed(params.W, rate)), state

    return optax.GradientTransformation(lambda _: optax.EmptyState(), update)


def warmup_cosine(step: jax.Array | int, steps: int, warmup: float, floor: float) -> jax.Array:
    r"""Learning rate at a step, as a fraction of its peak: linear warm-up, then half a cosine down to the floor.

    .. math:: t / w \;(t < w), \qquad f + (1 - f) \tfrac12 (1 + \cos(\pi (t - w) / (T - w))), \qquad t = step + 1

    Args:
        step: from 0.
        steps: T.
        warmup: w / T in [0, 1).
        floor: f in [0, 1]; 1 with warmup 0 keeps the rate constant.

    Returns:
        [] float32 in [0, 1].

    Source:
        Liu, Liu and Gore 2025, code of exp-10 (w = 2000 of 20000, f = .05) and exp-17 (w = T / 20, f = .05).

    Example:
        >>> [round(float(warmup_cosine(t - 1, 20000, 0.1, 0.05)), 4) for t in (1000, 2000, 11000, 20000)]
        [0.5, 1.0, 0.525, 0.05]
    """
    t = jnp.asarray(step + 1, jnp.float32)
    w = warmup * steps
    cosine = 0.5 * (1 + jnp.cos(jnp.pi * (t - w) / max(steps - w, 1)))
    return jnp.where(t < w, t / max(w, 1), floor + (1 - floor) * cosine)


def optimiser(rate: Array, bias_rate: Array, gamma: Array) -> optax.GradientTransformation:
    """Adam (.9, .999, 1e-8) with a rate for W and one for b, and decoupled decay of W; all rates may be traced.

    Args:
        rate: scheduled learning rate of W.
        bias_rate: scheduled learning rate of b.
        gamma: weight decay >= 0, or growth < 0.
    """
    import optax

    def scale(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        return updates._replace(W=-rate * updates.W, b=-bias_rate * updates.b), state

    scaling = optax.GradientTransformation(lambda _: optax.EmptyState(), scale)
    return optax.chain(optax.scale_by_adam(), scaling, norm_decay(rate * gamma))
