"""A tree as arrays by name, which is what a checkpoint holds, and back, with every name, shape and dtype compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import jax
import numpy as np

from superjax.core.errors import InputError

Tree = TypeVar("Tree")
Arrays = dict[str, jax.Array | np.ndarray]
"""name -> array; names are paths in a tree, such as `state/params/W`."""


def by_name(tree: Any, under: str = "") -> Arrays:
    """The leaves of `tree` by their paths in it, as they are: nothing is copied.

    Args:
        tree: any pytree of arrays.
        under: in front of every name.

    Returns:
        name -> leaf, in the order of the tree.

    Example:
        >>> by_name({"step": np.asarray(3), "state": (np.zeros(2),)}, "loop/")
        {'loop/state/0': array([0., 0.]), 'loop/step': array(3)}
    """
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {under + jax.tree_util.keystr(path, simple=True, separator="/"): leaf for path, leaf in leaves}


def from_names(like: Tree, arrays: Mapping[str, Any], under: str = "") -> Tree:
    """The tree that `by_name` took apart.

    Args:
        like: a tree of the same structure; its leaves say the wanted shapes and dtypes.
        arrays: what there is; names that `like` has not are passed over.
        under: in front of every name.

    Returns:
        The tree, with leaves of `arrays`.

    Raises:
        InputError: a leaf is absent, or has another shape or dtype.

    Example:
        >>> from_names({"step": np.zeros((), np.int64)}, {"step": np.asarray(16777217)})
        {'step': array(16777217)}
    """

    def find(path: Any, wanted: Any) -> Any:
        name = under + jax.tree_util.keystr(path, simple=True, separator="/")
        if name not in arrays:
            raise InputError(f"checkpoint: has no {name}; it belongs to other work, start anew")
        found = arrays[name]
        ours, theirs = (f"{leaf.dtype}{list(leaf.shape)}" for leaf in (wanted, found))
        if ours != theirs:
            raise InputError(f"checkpoint: {name} is {theirs}, this work has {ours}; start anew")
        return found

    return jax.tree_util.tree_map_with_path(find, like)
