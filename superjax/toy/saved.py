"""Final parameters of an ensemble as plain arrays, and back."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from superjax.core.errors import InputError
from superjax.core.grid import group_by
from superjax.toy.ensemble import EnsembleResult
from superjax.toy.model import Params

if TYPE_CHECKING:
    from superjax.toy.module import ToyAutoencoder


def to_arrays(result: EnsembleResult) -> dict[str, np.ndarray]:
    """W and b of every member, stacked by shape, with the losses' history.

    Args:
        result: the ensemble.

    Returns:
        For every shape n x m: `members_NxM` [e] int64, `W_NxM` [e, n, m] and `b_NxM` [e, n] float32; `history` [E, P]
        and `history_step` [P].

    Example:
        >>> from superjax.toy import Training, grid, train_ensemble
        >>> result = train_ensemble(grid(n=20, m=[2, 4], batch=64), Training(steps=20, test_batches=4))
        >>> sorted(to_arrays(result))[:2]
        ['W_20x2', 'W_20x4']
    """
    arrays = {"history": result.history, "history_step": result.history_step}
    for (n, m), places in group_by(result.params, lambda params: params.W.shape).items():
        arrays[f"members_{n}x{m}"] = np.array(places)
        arrays[f"W_{n}x{m}"] = np.stack([result.params[place].W for place in places])
        arrays[f"b_{n}x{m}"] = np.stack([result.params[place].b for place in places])
    return arrays


def load_params(path: str | Path) -> list[Params]:
    """The parameters that `superjax train` saved, in the order of its table.

    Args:
        path: a run folder, or its arrays.npz.

    Returns:
        W [n, m] and b [n] of every member, NumPy float32.

    Raises:
        InputError: there are none.
    """
    file = Path(path) / "arrays.npz" if Path(path).is_dir() else Path(path)
    try:
        with np.load(file) as arrays:
            shapes = [name.removeprefix("members_") for name in arrays.files if name.startswith("members_")]
            found = {
                int(member): Params(W, b)
                for shape in shapes
                for member, W, b in zip(
                    arrays[f"members_{shape}"], arrays[f"W_{shape}"], arrays[f"b_{shape}"], strict=True
                )
            }
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise InputError(f"{file}: cannot be read ({error}); give the run folder of `superjax train`") from None
    if not found:
        raise InputError(f"{file}: holds no parameters; give the run folder of `superjax train`")
    return [found[member] for member in sorted(found)]


def as_module(params: Params, activation: str = "relu") -> ToyAutoencoder:
    """A trained member as a `flax.nnx.Module` that maps x [..., n] to its reconstruction [..., n].

    Its parameters are `nnx.Param` leaves `W` [n, m] and `b` [n]; flax is imported here, not before.

    Args:
        params: W and b.
        activation: "relu" or "linear".

    Returns:
        The module.

    Example:
        >>> import jax.numpy as jnp
        >>> module = as_module(Params(jnp.eye(2), jnp.zeros(2)))
        >>> module(jnp.array([1.0, -1.0])).tolist()
        [1.0, 0.0]
    """
    from superjax.toy.module import ToyAutoencoder

    return ToyAutoencoder(params, activation)
