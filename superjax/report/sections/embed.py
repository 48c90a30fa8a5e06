"""The report of `superjax embed`: epsilon, class and capacity of each matrix, beside the published model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from superjax.laws import ModelCapacity
from superjax.report.folders import Run
from superjax.report.published import CAPACITY_SOURCE, model_named
from superjax.report.section import Headline, Section, shown

_COLUMNS = (
    "model", "matrix", "vocab", "dim", "rows_used", "rows_duplicate", "mean", "std", "epsilon", "class", "capacity",
    "mean_sq_overlap_times_d", "min_cosine", "max_cosine", "dtype", "tensor",
)  # fmt: skip


def section(run: Run) -> Section:
    """What an embed run has to say."""
    matrices = run.summary["matrices"]
    names = dict.fromkeys(_name(matrix) for matrix in matrices)
    return Section(
        subject=", ".join(names),
        headlines=[headline for matrix in matrices for headline in _headlines(matrix)],
        columns=_COLUMNS,
    )


def _name(matrix: Mapping[str, Any]) -> str:
    return "/".join(PurePath(matrix["checkpoint"]).parts[-2:])


def _headlines(matrix: Mapping[str, Any]) -> Iterator[Headline]:
    of = f"{_name(matrix)}, {matrix['role']}: "
    model = model_named(matrix["checkpoint"], matrix["dim"]) if matrix["role"] == "input" else None
    yield Headline(
        f"{of}epsilon = mean + 2 std of the cosine over {matrix['pairs']:,d} pairs",
        f"{matrix['epsilon']:.5f} = {matrix['mean']:.5f} + 2 × {matrix['std']:.5f}",
        *_published(model, None if model is None else model.epsilon, ".5f"),
    )
    if matrix["capacity"] is None:
        yield Headline(f"{of}class", f"{matrix['class']}: epsilon above 0.2, where a capacity means nothing")
        return
    beyond = ", extrapolated" if matrix.get("capacity_extrapolated") else ""
    yield Headline(
        f"{of}class {matrix['class']}, capacity by the full law",
        f"{shown(matrix['capacity'], '.3g')} directions{beyond}",
        *_published(model, None if model is None else model.capacity, ".3g"),
    )


def _published(model: ModelCapacity | None, value: float | None, form: str) -> tuple[str, str]:
    return ("", "") if model is None or value is None else (shown(value, form), f"{model.model}; {CAPACITY_SOURCE}")
