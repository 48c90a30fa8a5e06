"""The toy model of superposition, y = activation(W W^T x + b): its loss, and the gradient of a batch of few entries."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from superjax.core.pairwise import Precision
from superjax.toy.sampling import Array, SparseBatch

ACTIVATIONS = ("relu", "linear")

_TILE_ENTRIES = 2**18


class Params(NamedTuple):
    """Parameters of one toy model, or gradients of its loss; with a leading axis, of several.

    Attributes:
        W: [n, m] float32, row i is the direction of feature i.
        b: [n] float32.
    """

    W: Array
    b: Array


def reconstruct(
    params: Params, x: jax.Array, activation: str = "relu", precision: Precision = lax.Precision.HIGHEST
) -> jax.Array:
    """y = activation(W W^T x + b).

    Args:
        params: the model.
        x: [B, n] samples.
        activation: "relu" or "linear".
        precision: of the matrix products; accumulation is float32.

    Returns:
        [B, n].

    Source:
        Elhage et al. 2022, Toy models of superposition; Liu, Liu and Gore 2025, arXiv 2505.10465.

    Example:
        >>> reconstruct(Params(jnp.eye(2), jnp.array([0.0, -3.0])), jnp.array([[1.0, 2.0]])).tolist()
        [[1.0, 0.0]]
    """
    hidden = jnp.matmul(x, params.W, precision=precision)
    return _activate(jnp.matmul(hidden, params.W.T, precision=precision) + jnp.asarray(params.b)[None], activation)


def loss(
    params: Params,
    x: jax.Array,
    importance: Array,
    activation: str = "relu",
    precision: Precision = lax.Precision.HIGHEST,
) -> jax.Array:
    r"""The reconstruction loss, summed over features and averaged over samples.

    .. math:: L = \frac1B \sum_x \sum_i I_i (y_i - x_i)^2

    Args:
        params: the model.
        x: [B, n] samples.
        importance: [n] I_i >= 0.
        activation: "relu" or "linear".
        precision: of the matrix products.

    Returns:
        [] float32.

    Example:
        >>> float(loss(Params(jnp.eye(2), jnp.zeros(2)), jnp.array([[1.0, 0.5]]), jnp.ones(2)))
        0.0
    """
    error = reconstruct(params, x, activation, precision) - x
    return jnp.sum(error**2 * importance[None]) / len(x)


def dense_gradient(
    params: Params,
    x: jax.Array,
    importance: Array,
    activation: str = "relu",
    precision: Precision = lax.Precision.HIGHEST,
) -> tuple[jax.Array, Params]:
    """`loss` and its gradient."""
    return jax.value_and_grad(loss)(params, x, importance, activation, precision)


def sparse_gradient(
    params: Params,
    batch: SparseBatch,
    size: int,
    importance: Array,
    activation: str = "relu",
    precision: Precision = lax.Precision.HIGHEST,
) -> tuple[jax.Array, Params]:
    r"""`loss` and its gradient over a batch given by its entries, in one pass over tiles of samples.

    With :math:`Z = H W^T + b`, :math:`H = X W` and :math:`R = \mathrm{activation}(Z)`, the error is R - X, and where
    x = 0 its product with the slope of the ReLU is R itself. So all but the few entries of X is dense algebra with R,
    of which a tile at a time exists; the entries' own parts are added through their list. Empty samples all
    give activation(b) and are counted once.

    Args:
        params: the model.
        batch: the samples.
        size: B, empty samples included.
        importance: [n] I_i >= 0.
        activation: "relu" or "linear".
        precision: of the matrix products.

    Returns:
        The loss [] and the gradient.

    Note:
        The sum of R^2 is taken as <R^T H, W> + <R^T 1, b>, which costs nothing; relative to plain summation it loses
        about a digit in float32 where reconstruction is good.
    """
    W, b = jnp.asarray(params.W), jnp.asarray(params.b)
    tile = _tile(size, W.shape[0])
    rows = -(-min(size, batch.row.shape[0]) // tile) * tile
    directions = W[batch.feature] * batch.used[:, None]
    H = jnp.zeros((rows, W.shape[1]), W.dtype).at[batch.row].add(directions * batch.value[:, None])
    own = H[batch.row]
    z = jnp.sum(own * directions, axis=1) + b[batch.feature]
    weight = importance[batch.feature]
    # d loss / d z of the entries beyond what R alone gives, up to the factor 1 / B
    pull = -2 * weight * batch.value * _slope(z, activation)

    WtR, sumR, pushed = _tiles(params, H, batch.filled, importance, tile, activation, precision)
    empty = (size - batch.filled) * _activate(b, activation)
    scale = 2 * jnp.asarray(importance)
    dH = (2 * pushed).at[batch.row].add(pull[:, None] * directions)
    from_entries = pull[:, None] * own + batch.value[:, None] * dH[batch.row]
    dW = (scale[:, None] * WtR).at[batch.feature].add(from_entries)
    db = (scale * (sumR + empty)).at[batch.feature].add(pull)

    squares = jnp.sum(importance * (jnp.sum(WtR * W, axis=1) + (sumR + empty) * b))
    corrections = jnp.sum(weight * batch.value * (batch.value - 2 * _activate(z, activation)))
    return (squares + corrections) / size, Params(dW / size, db / size)


def _tiles(
    params: Params,
    H: jax.Array,
    filled: jax.Array,
    importance: Array,
    tile: int,
    activation: str,
    precision: Precision,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """R^T H [n, m], R^T 1 [n] and R diag(I) W [rows, m], R a tile of samples at a time and never whole."""
    ones = (jnp.arange(len(H)) < filled).astype(H.dtype)
    H1 = jnp.concatenate([H, ones[:, None]], axis=1)
    # Bias and sum of R ride along as one more hidden dimension; the wide axis is kept last, which XLA's CPU likes.
    Wb = jnp.concatenate([params.W.T, params.b[None]])
    back = importance[:, None] * params.W

    def body(index: jax.Array, sums: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        total, pushed = sums
        h = lax.dynamic_slice_in_dim(H1, index * tile, tile)
        R = _activate(jnp.matmul(h, Wb, precision=precision), activation)
        total = total + jnp.matmul(h.T, R, precision=precision)
        part = jnp.matmul(R, back, precision=precision)
        return total, lax.dynamic_update_slice_in_dim(pushed, part, index * tile, axis=0)

    number = (filled + tile - 1) // tile
    total, pushed = lax.fori_loop(0, number, body, (jnp.zeros_like(Wb), jnp.zeros_like(H)))
    return total[:-1].T, total[-1], pushed


def _tile(size: int, n: int) -> int:
    """Samples in a tile: few enough that the tile's R stays in a core's cache."""
    return min(max(16, _TILE_ENTRIES // n // 16 * 16), size)


def _activate(z: jax.Array, activation: str) -> jax.Array:
    return jnp.maximum(z, 0) if activation == "relu" else z


def _slope(z: jax.Array, activation: str) -> jax.Array:
    return (z > 0).astype(z.dtype) if activation == "relu" else jnp.ones_like(z)
