"""Saved parameters come back, and become a flax module."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from superjax.core.errors import InputError
from superjax.toy import Params, Training, as_module, grid, load_params, reconstruct, to_arrays, train_ensemble


def test_parameters_come_back_in_order(tmp_path):
    result = train_ensemble(grid(n=10, m=[2, 3], batch=16, decay=[0.0, 1.0]), Training(steps=1, test_batches=2))
    np.savez(tmp_path / "arrays.npz", **to_arrays(result))
    for found in (load_params(tmp_path), load_params(tmp_path / "arrays.npz")):
        for ours, theirs in zip(found, result.params, strict=True):
            assert np.array_equal(ours.W, theirs.W)
            assert np.array_equal(ours.b, theirs.b)


def test_files_that_hold_no_parameters(tmp_path):
    (tmp_path / "arrays.npz").write_bytes(b"nothing")
    np.savez(tmp_path / "other.npz", x=np.ones(2))
    for name in ("absent", ".", "other.npz"):
        with pytest.raises(InputError, match="give the run folder"):
            load_params(tmp_path / name)


@pytest.mark.parametrize("activation", ["relu", "linear"])
def test_a_member_is_a_flax_module(activation):
    rng = np.random.default_rng(0)
    params = Params(rng.standard_normal((6, 2)).astype(np.float32), rng.standard_normal(6).astype(np.float32))
    module = as_module(params, activation)
    x = jnp.asarray(rng.random((4, 5, 6)), jnp.float32)
    expected = reconstruct(params, x.reshape(20, 6), activation).reshape(4, 5, 6)
    np.testing.assert_allclose(module(x), expected, rtol=1e-6)
    np.testing.assert_allclose(module(x[0, 0]), expected[0, 0], rtol=1e-5)
    assert {path[-1] for path, _ in nnx.to_flat_state(nnx.state(module, nnx.Param))} == {"W", "b"}
    gradient = nnx.grad(lambda model: jnp.sum(model(x) ** 2))(module)
    assert jax.tree.leaves(gradient)[0].shape == (6, 2)
