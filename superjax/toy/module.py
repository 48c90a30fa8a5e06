"""A trained toy autoencoder as a flax.nnx module; the one file of the package that imports flax."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from flax import nnx

from superjax.toy.model import Params, reconstruct


class ToyAutoencoder(nnx.Module):
    """y = activation(W W^T x + b) with `nnx.Param` leaves.

    Args:
        params: W [n, m] and b [n].
        activation: "relu" or "linear".
    """

    def __init__(self, params: Params, activation: str = "relu") -> None:
        self.W = nnx.Param(jnp.asarray(params.W))
        self.b = nnx.Param(jnp.asarray(params.b))
        self.activation = activation

    def __call__(self, x: jax.Array) -> jax.Array:
        """Reconstruct samples.

        Args:
            x: [..., n].

        Returns:
            [..., n].
        """
        samples = x.reshape(-1, x.shape[-1])
        return reconstruct(Params(self.W[...], self.b[...]), samples, self.activation).reshape(x.shape)
