"""Independent float64 answers about packings, and meshes for their tests."""

from __future__ import annotations

import jax
import numpy as np

from superjax.core import mesh as meshes


def mesh_of(devices):
    return meshes.row_mesh(jax.devices()[:devices])


def random_unit(k, d, seed=0):
    x = np.random.default_rng(seed).normal(size=(k, d))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def off_diagonal(x):
    """The Gram matrix in float64, its diagonal -inf."""
    gram = np.asarray(x, np.float64) @ np.asarray(x, np.float64).T
    np.fill_diagonal(gram, -np.inf)
    return gram


def coherence(x):
    x = np.asarray(x, np.float64)
    x = x / np.linalg.norm(x, axis=1, keepdims=True)
    gram = np.abs(x @ x.T)
    np.fill_diagonal(gram, 0)
    return gram.max(initial=0)


def smooth_maximum(x, sharpness, *, signed):
    """Log-sum-exp of all pairs, and its gradient by the rows."""
    x = np.asarray(x, np.float64)
    gram = off_diagonal(x)
    value = gram if signed else np.where(np.isfinite(gram), np.abs(gram), -np.inf)
    weight = np.exp(sharpness * (value - value.max()))
    total = weight.sum() / 2
    slope = (weight if signed else np.where(np.isfinite(gram), np.copysign(weight, gram), 0)) / total
    return value.max() + np.log(total) / sharpness, slope @ x


def riesz(x, s):
    """Energy and its gradient by the rows."""
    x = np.asarray(x, np.float64)
    distance = np.sqrt(np.maximum(2 - 2 * x @ x.T, 0))
    np.fill_diagonal(distance, np.inf)
    return (distance**-s).sum() / 2, s * distance ** (-s - 2) @ x
