"""The data files that ship with the laws: published packings, the model table, fitted constants."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np


@dataclass(frozen=True)
class ModelCapacity:
    """One row of the published table of 45 language models.

    Attributes:
        model: the model's name.
        d_model: embedding dimension.
        epsilon: mean + 2 standard deviations of the cosine over pairs of embedding rows.
        capacity: directions by the full law, None for class 1 (epsilon > 0.2).
    """

    model: str
    d_model: int
    epsilon: float
    capacity: float | None


@cache
def published_models() -> tuple[ModelCapacity, ...]:
    """The 45 published (d, epsilon, capacity), 31 of them with a capacity.

    Returns:
        Rows in the published order.

    Source:
        Guha 2026, arXiv 2606.02765, Table 1 (CC BY 4.0).

    Example:
        >>> next(row for row in published_models() if row.model == "Llama 2 7B").capacity
        39900000.0
    """
    return tuple(
        ModelCapacity(
            row["model"],
            int(row["d_model"]),
            float(row["epsilon"]),
            float(row["capacity"]) if row["capacity"] else None,
        )
        for row in _rows("capacity_models.csv")
    )


@cache
def published_packings(kind: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The published best coherences over a grid of (k, d).

    Args:
        kind: "optimised" (166 cells, Adam, 5000 steps) or "random" (256 cells, best of 1000 float16 draws).

    Returns:
        ``(k, d, coherence)``, float64 ``[n]`` each.

    Source:
        Data of Guha 2026, arXiv 2606.02765 (MIT licence).

    Example:
        >>> [len(column) for column in published_packings("optimised")]
        [166, 166, 166]
    """
    rows = [row for row in _rows("published_packings.csv") if row["kind"] == kind]
    k, d, coherence = (np.array([float(row[name]) for row in rows]) for name in ("k", "d", "coherence"))
    return k, d, coherence


@cache
def shipped_fits() -> dict[str, dict[str, Any]]:
    """The constants fitted to the published packings, with covariance and bootstrap draws.

    Returns:
        Law name to ``{"low_k", "constants", "covariance", "bootstrap", "range", ...}``; what
        :func:`superjax.laws.fitting.shipped_records` makes from :func:`published_packings`.

    Example:
        >>> round(shipped_fits()["ratio"]["constants"]["C"], 4)
        1.2934
    """
    return json.loads(_text("fits.json"))


def _rows(name: str) -> list[dict[str, str]]:
    lines = [line for line in _text(name).splitlines() if line and not line.startswith("#")]
    return list(csv.DictReader(lines))


def _text(name: str) -> str:
    return (resources.files("superjax.laws") / "data" / name).read_text(encoding="utf-8")
