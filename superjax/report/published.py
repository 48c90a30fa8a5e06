"""Published numbers that stand beside ours: of toy autoencoders, of the laws' constants, of language models."""

from __future__ import annotations

import csv
import math
import re
from functools import cache
from importlib import resources
from pathlib import PurePath

from superjax.laws import ModelCapacity, published_models

TOY_SOURCE = "Liu, Liu, Gore 2025, arXiv 2505.10465"
CAPACITY_SOURCE = "Guha 2026, arXiv 2606.02765"

_DECAY_SLACK = 0.006
"""The decays of the figures are printed to two decimals."""


def toy_value(
    quantity: str, *, n: int, distribution: str, alpha: float | None, decay: float, m: int | None = None
) -> tuple[float, str] | None:
    """The published number of a toy ensemble.

    Args:
        quantity: "exponent" (of loss against m, over the published range of m) or "phi_half".
        n: number of features.
        distribution: law of their frequencies.
        alpha: its exponent; None where the law has none.
        decay: gamma.
        m: hidden dimension, for phi_half.

    Returns:
        ``(value, source)``, or None where nothing was published.

    Source:
        Liu, Liu, Gore 2025, arXiv 2505.10465; values read off its figures.

    Example:
        >>> toy_value("exponent", n=1000, distribution="power", alpha=1.0, decay=-1.0)
        (1.24, 'Fig. 9b')
        >>> toy_value("exponent", n=256, distribution="power", alpha=1.0, decay=-1.0) is None
        True
    """
    for row in _rows("published_toy.csv"):
        same = (row["quantity"], row["n"], row["distribution"], row["m"]) == (
            quantity,
            str(n),
            distribution,
            "" if m is None else str(m),
        )
        near = abs(float(row["decay"]) - decay) < _DECAY_SLACK
        if same and near and _number(row["alpha"]) == alpha:
            return float(row["value"]), row["source"]
    return None


def law_constants(law: str, kind: str) -> dict[str, float] | None:
    """The published constants and errors of a capacity law fitted to optimised or random packings.

    Args:
        law: "jl", "ratio" or "full".
        kind: "optimised" or "random".

    Returns:
        Names (C, a, b, c, r2, mape) -> values, or None.

    Source:
        Guha 2026, arXiv 2606.02765.

    Example:
        >>> law_constants("ratio", "optimised")["C"]
        1.2934008
    """
    for row in _rows("published_fits.csv"):
        if (row["law"], row["kind"]) == (law, kind):
            return {name: float(text) for name, text in row.items() if name not in ("law", "kind") and text}
    return None


def model_named(checkpoint: str, dim: int) -> ModelCapacity | None:
    """The published model that a checkpoint's path names, of the same dimension.

    Args:
        checkpoint: its path or name.
        dim: its embedding dimension.

    Example:
        >>> model_named("/models/meta-llama/Llama-2-7b-hf", 4096).epsilon
        0.0645
        >>> model_named("/models/Llama-2-7b-hf", 384) is None
        True
    """
    named = _letters("".join(PurePath(checkpoint).parts[-3:]))
    found = [row for row in published_models() if row.d_model == dim and _letters(row.model) in named]
    return max(found, key=lambda row: len(row.model), default=None)


def model_at(dim: int, epsilon: float) -> ModelCapacity | None:
    """The published model of this very dimension and epsilon.

    Example:
        >>> model_at(4096, 0.0645).model
        'Llama 2 7B'
    """
    same = (row for row in published_models() if row.d_model == dim and math.isclose(row.epsilon, epsilon))
    return next(same, None)


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _number(text: str) -> float | None:
    return float(text) if text else None


@cache
def _rows(name: str) -> tuple[dict[str, str], ...]:
    text = (resources.files("superjax.report") / "data" / name).read_text(encoding="utf-8")
    return tuple(csv.DictReader(line for line in text.splitlines() if line and not line.startswith("#")))
