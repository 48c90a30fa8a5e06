"""Finds and applies the scales that go with a float8 matrix: one, one a row, or one a block of rows and columns."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from superjax.core.errors import InputError
from superjax.embeddings.model_config import ModelConfig
from superjax.embeddings.readers import TensorSource, listed

_APPLIED = ("_scale", "_scale_inv")  # both are factors: DeepSeek's "inverse" is that of the quantiser
_OF_ACTIVATIONS = ("input_scale", "input_activation_scale", "output_scale", "k_scale", "v_scale")
_REMEDY = "use the unquantised checkpoint"


@dataclass(frozen=True)
class Scale:
    """Factors [R, C] for a matrix [V, d], each covering `rows` x `columns` entries."""

    factors: np.ndarray
    rows: int
    columns: int

    def apply(self, values: np.ndarray, start: int) -> np.ndarray:
        """Rows `start...` of the matrix times their factors: w[i, j] s[i // rows, j // columns], float32."""
        rows = (start + np.arange(values.shape[0])) // self.rows
        columns = np.arange(values.shape[1]) // self.columns
        scaled: np.ndarray = values * self.factors[rows[:, None], columns[None, :]]
        return scaled


def find_scale(
    source: TensorSource, name: str, shape: tuple[int, int], config: ModelConfig
) -> tuple[Scale | None, tuple[str, ...]]:
    """The scale stored beside a float8 matrix, and notes where there is none.

    Args:
        source: the open checkpoint.
        name: the matrix's tensor name.
        shape: its shape, [V, d].
        config: gives the block size (128 x 128 where nothing is said).

    Returns:
        The `Scale`, or None with a note where the float8 values stand for themselves.

    Raises:
        InputError: scales of a kind or shape this package does not know, or a quantised model without any.
    """
    stem = name.removesuffix("weight")
    siblings = [n for n in source.names() if n != name and n.startswith(stem) and "scale" in n[len(stem) :]]
    siblings = [n for n in siblings if "." not in n[len(stem) :] and not n.endswith(_OF_ACTIVATIONS)]
    known = [name + tail for tail in _APPLIED if name + tail in siblings]
    if len(siblings) > 1 or len(known) != len(siblings):
        raise InputError(
            f"{source.path}: {name} is float8 with the scales {listed(siblings)}, not known here; {_REMEDY}"
        )
    if known:
        return _read(source, name, known[0], shape, config), ()
    if config.quantisation is not None:
        raise InputError(f"{source.path}: {name} is float8 ({config.quantisation}) without {name}_scale; {_REMEDY}")
    return None, (f"{name} is float8 without scales; its values are taken as they are",)


def _read(source: TensorSource, name: str, scale: str, shape: tuple[int, int], config: ModelConfig) -> Scale:
    info = source.info(scale)
    if info.dtype not in ("F32", "F16", "BF16", "F64"):
        raise InputError(f"{source.path}: {scale} has dtype {info.dtype}, not known for float8 scales; {_REMEDY}")
    stored = info.shape or ()
    rows, columns = _covered(stored, shape, config.block)
    if not rows:
        raise InputError(
            f"{source.path}: {scale} has shape {list(stored)}, which fits neither one factor, one a row nor blocks of "
            f"{list(config.block)}; {_REMEDY}"
        )
    factors = source.rows(scale, 0, (*stored, 1)[0]).astype(np.float32)
    return Scale(factors.reshape(-(-shape[0] // rows), -(-shape[1] // columns)), rows, columns)


def _covered(stored: tuple[int, ...], shape: tuple[int, int], block: tuple[int, int]) -> tuple[int, int]:
    """Rows and columns of the matrix that one factor covers; (0, 0) where the shapes do not fit."""
    if math.prod(stored) == 1:
        return shape
    if stored in ((shape[0],), (shape[0], 1)):
        return 1, shape[1]
    if stored == (-(-shape[0] // block[0]), -(-shape[1] // block[1])):
        return block
    return 0, 0
