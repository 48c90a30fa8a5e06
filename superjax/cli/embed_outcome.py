"""What `superjax embed` shows and saves of its analyses: summary, arrays, figures, and sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from superjax.cli.capacity_outcome import format_count
from superjax.cli.command import Outcome
from superjax.cli.tables import Column
from superjax.embeddings import EmbeddingMatrix, Spectrum, Verdict, judge, readable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN_NEIGHBORS = 10
"""Hubs named in the printed text."""

COMMON_NAMES = {"model", "pytorch_model", "weights", "checkpoint", "consolidated", "model.safetensors.index"}
"""Names of files and folders that tell no model from another."""

COLUMNS = (
    Column("model"),
    Column("matrix"),
    Column("vocab", "rows", ",d"),
    Column("dim", "d", "d"),
    Column("mean", format=".5f"),
    Column("std", format=".5f"),
    Column("epsilon", format=".5f"),
    Column("class"),
    Column("capacity", format=".3g"),
)


@dataclass(frozen=True)
class Analysis:
    """What is known of one matrix, its spectrum, and the tokens of its rows where they are known."""

    checkpoint: str
    tensor: str
    role: str
    vocab: int
    dtype: str
    format: str
    tied: bool | None
    tie_note: str
    spectrum: Spectrum
    unlimited: Spectrum | None
    tokens: list[str] | None

    @classmethod
    def of(
        cls,
        checkpoint: str,
        m: EmbeddingMatrix,
        spectrum: Spectrum,
        unlimited: Spectrum | None,
        tokens: list[str] | None,
    ) -> Analysis:
        """The same of a matrix `m`, whose array is not kept."""
        facts = (m.tensor, m.role, m.vocab, m.dtype, m.format, m.tied, m.tie_note)
        return cls(checkpoint, *facts, spectrum, unlimited, tokens)

    @property
    def name(self) -> str:
        """What people call the checkpoint: the last part of its path that says something."""
        parts = Path(self.checkpoint).absolute().parts
        cached = next((part for part in reversed(parts) if part.startswith("models--")), None)
        if cached is not None:
            return cached.removeprefix("models--").replace("--", "/")
        return "/".join(parts[-2:] if Path(parts[-1]).stem in COMMON_NAMES else parts[-1:])

    @property
    def title(self) -> str:
        return f"{self.name}: {self.tensor}"

    @property
    def verdict(self) -> Verdict:
        return judge(self.spectrum.dim, self.spectrum.epsilon, self.spectrum.rows.vocab, self.tied)

    @property
    def labels(self) -> list[str]:
        """[V] each row's token, or its number where there is none."""
        names = [readable(token) for token in (self.tokens or [])[: self.vocab]]
        return names + [str(row) for row in range(len(names), self.vocab)]


def outcome(analyses: Sequence[Analysis], pairs: Sequence[Partners], failures: Sequence[str]) -> Outcome:
    """Everything about the analyses that is printed and saved."""
    matrices = [_describe(analysis) for analysis in analyses]
    arrays = {key: value for number, a in enumerate(analyses) for key, value in _arrays(number, a)}
    return Outcome(
        rows=[{"model": a.name, "matrix": a.role, **found} for a, found in zip(analyses, matrices, strict=True)],
        columns=COLUMNS,
        summary={"matrices": matrices, "partners": [pair.summary() for pair in pairs]},
        arrays=arrays | {f"partner_cosines_{number}": pair.cosines for number, pair in enumerate(pairs)},
        figures=_figures(analyses, pairs),
        lines=[line for a in analyses for line in _sentences(a)] + [pair.sentence() for pair in pairs],
        failures=failures,
    )


@dataclass(frozen=True)
class Partners:
    """The cosines of each token's two vectors, in a checkpoint of which both matrices were read."""

    name: str
    checkpoint: str
    cosines: np.ndarray

    def summary(self) -> dict[str, Any]:
        known = self.cosines[np.isfinite(self.cosines)]
        return {"checkpoint": self.checkpoint, "tokens": len(known), "mean": known.mean(), "std": known.std()}

    def sentence(self) -> str:
        found = self.summary()
        return (
            f"{self.name}: a token's input and output vector have cosine {found['mean']:.4f} +- {found['std']:.4f} "
            f"({found['tokens']:,} tokens)"
        )


def _describe(analysis: Analysis) -> dict[str, Any]:
    """A matrix's entry in `summary.json`."""
    spectrum, rows = analysis.spectrum, analysis.spectrum.rows
    verdict = analysis.verdict
    return {
        "checkpoint": analysis.checkpoint,
        "tensor": analysis.tensor,
        "role": analysis.role,
        "vocab": analysis.vocab,
        "dim": spectrum.dim,
        "dtype": analysis.dtype,
        "tied": analysis.tied,
        "rows_used": rows.used,
        "rows_zero": rows.zero,
        "rows_nonfinite": rows.nonfinite,
        "rows_duplicate": rows.duplicate,
        "pairs": spectrum.pairs,
        "mean": spectrum.mean,
        "std": spectrum.std,
        "epsilon": spectrum.epsilon,
        "class": verdict.assessment.label,
        "capacity": verdict.assessment.capacity,
        "capacity_extrapolated": verdict.assessment.extrapolated,
        "bracket": _bracket(verdict),
        "directions_vocabulary": verdict.vocabulary,
        "directions_remaining": verdict.remaining,
        "mean_sq_overlap": spectrum.mean_sq_overlap,
        "mean_sq_overlap_times_d": spectrum.mean_sq_overlap * spectrum.dim,
        "norm_mean": rows.norm_mean,
        "norm_std": rows.norm_std,
        "norm_min": rows.norm_min,
        "norm_max": rows.norm_max,
        "min_cosine": spectrum.min_cosine,
        "max_cosine": spectrum.max_cosine,
        "centered": spectrum.centered,
        "vocab_limit": rows.vocab if rows.vocab < analysis.vocab else None,
        "quantiles": _quantiles(spectrum),
        "format": analysis.format,
    }


def _bracket(verdict: Verdict) -> dict[str, Any] | None:
    found = verdict.bracket
    if found is None:
        return None
    return {
        "constructed": found.constructed,
        "construction": found.construction.name,
        "log10_expected": found.log10_expected,
        "log10_bound": found.log10_bound,
        "bound_name": found.bound_name,
    }


def _quantiles(spectrum: Spectrum) -> dict[str, float] | None:
    shares = (0.001, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999)
    if not len(spectrum.counts):
        return None
    return dict(zip(map(str, shares), map(float, spectrum.quantile(np.array(shares))), strict=True))


def _arrays(number: int, analysis: Analysis) -> Iterator[tuple[str, np.ndarray]]:
    """What goes into `arrays.npz` for one matrix."""
    spectrum = analysis.spectrum
    yield f"counts_{number}", spectrum.counts
    yield f"edges_{number}", spectrum.edges
    yield f"norms_{number}", spectrum.norms
    if spectrum.neighbors is not None:
        yield f"neighbors_{number}", spectrum.neighbors.index
        yield f"neighbor_cosines_{number}", spectrum.neighbors.cosine
        yield f"hubness_{number}", spectrum.neighbors.hubness


def _figures(analyses: Sequence[Analysis], pairs: Sequence[Partners]) -> dict[str, Callable[[], Figure]]:
    """Name -> how to draw it; nothing is drawn before there is a folder."""
    from superjax.figures import spectrum as draw

    figures: dict[str, Callable[[], Figure]] = {}
    for number, a in enumerate(analyses):
        if len(a.spectrum.counts):
            figures[f"distribution_{number}"] = partial(draw.distribution, a.spectrum, a.title)
        figures[f"norms_{number}"] = partial(draw.norms, a.spectrum, a.title)
        if a.spectrum.neighbors is not None:
            figures[f"hubs_{number}"] = partial(draw.hubs, a.spectrum, a.labels, a.title)
    for number, pair in enumerate(pairs):
        figures[f"partners_{number}"] = partial(draw.partners, pair.cosines, pair.name)
    if len(analyses) > 1:
        points = [(f"{a.name} ({a.role})", a.spectrum.dim, a.spectrum.epsilon) for a in analyses]
        figures["dimension_against_epsilon"] = partial(draw.models, points)
        overlaps = [(f"{a.name} ({a.role})", a.spectrum.dim, a.spectrum.mean_sq_overlap) for a in analyses]
        figures["overlap_against_dimension"] = partial(draw.overlaps_against_dimension, overlaps)
    return figures


def _sentences(analysis: Analysis) -> Iterator[str]:
    """What the numbers mean, one line each."""
    spectrum, rows = analysis.spectrum, analysis.spectrum.rows
    unknown = analysis.tie_note or "tying unknown"
    tied = {True: "tied to the output", False: "not tied", None: unknown}[analysis.tied]
    yield f"\n{analysis.name}: {analysis.tensor}, {analysis.dtype}, {tied}{', mean row subtracted' * spectrum.centered}"
    yield (
        f"  {spectrum.pairs:,} pairs of {rows.used:,} rows; left out: {rows.zero:,} zero, {rows.nonfinite:,} not "
        f"finite; {rows.duplicate:,} equal to an earlier row"
    )
    yield (
        f"  row length {rows.norm_mean:.4g} +- {rows.norm_std:.3g} ({rows.norm_min:.4g} to {rows.norm_max:.4g}); "
        f"mean squared cosine {spectrum.mean_sq_overlap:.3g}, {spectrum.mean_sq_overlap * spectrum.dim:.3g} times 1/d"
    )
    yield from _vocabulary_sentences(analysis)
    yield from _capacity_sentences(analysis.verdict)
    if spectrum.neighbors is not None:
        labels = analysis.labels
        top = spectrum.neighbors.hubs(SHOWN_NEIGHBORS)
        named = ", ".join(f"{labels[row]!r} ({spectrum.neighbors.hubness[row]:,})" for row in top)
        yield f"  most often someone's nearest neighbour: {named}"


def _vocabulary_sentences(analysis: Analysis) -> Iterator[str]:
    rows, tokens, whole = analysis.spectrum.rows, analysis.tokens, analysis.unlimited
    if whole is not None:
        yield (
            f"  the first {rows.vocab:,} rows only; with all {whole.rows.vocab:,}: "
            f"mean {whole.mean:.5f}, std {whole.std:.5f}, epsilon {whole.epsilon:.5f}"
        )
    elif tokens is not None and 0 < len(tokens) < rows.vocab:
        yield f"  {rows.vocab - len(tokens):,} rows have no token; --vocab_limit={len(tokens)} leaves them out"


def _capacity_sentences(verdict: Verdict) -> Iterator[str]:
    found = verdict.assessment
    if found.capacity is None:
        yield f"  class {found.label}: epsilon above 0.2, where a capacity means nothing; --center may lower it"
        return
    if verdict.bracket is None:
        yield f"  class {found.label}: at an epsilon of 0 or below at most d = {found.capacity:,.0f} directions fit"
        return
    beyond = ", outside the range it was fitted on" if found.extrapolated else ""
    yield f"  class {found.label}: capacity {found.capacity:.3g} directions at epsilon by the full law{beyond}"
    bracket = verdict.bracket
    yield (
        f"  bracket: {format_count(bracket.log10_constructed, bracket.constructed)} can be built "
        f"({bracket.construction.name}), more than {format_count(bracket.log10_bound)} are impossible "
        f"({bracket.bound_name}); `superjax capacity --d={bracket.d} --epsilon={bracket.epsilon:.5g}` says more"
    )
    if verdict.vocabulary is not None:
        yield f"  the vocabulary takes {verdict.vocabulary:,} of them, which leaves {verdict.remaining:.3g}"
