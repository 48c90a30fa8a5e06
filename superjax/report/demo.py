"""What the demo says at its end: a dozen numbers of its run folders, each beside what it is to be held against."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from superjax.laws import published_models
from superjax.runs import RunFolder
from superjax.runs.results import SUMMARY

Row = dict[str, str]

_LLAMA = "Llama 2 7B"


def headlines(parts: Mapping[str, RunFolder]) -> list[Row]:
    """The headline numbers of a demo.

    Args:
        parts: "train", "pack", "embed", "fit" and "capacity", each a finished run folder.

    Returns:
        Rows with `what`, `here` and `beside`: what was measured, the number, and what to hold it against.

    Raises:
        InputError: a summary cannot be read.
    """
    read = {name: folder.read_json(SUMMARY) for name, folder in parts.items()}
    return [
        *_train(read["train"]),
        *_pack(read["pack"]),
        *_fit(read["fit"]),
        *_embed(read["embed"]),
        *_capacity(read["capacity"]),
    ]


def _row(what: str, here: str, beside: str) -> Row:
    return {"what": what, "here": here, "beside": beside}


def _train(summary: Mapping[str, Any]) -> Iterator[Row]:
    """The two regimes: strongest growth and strongest decay."""
    curves = sorted(summary["exponents"], key=lambda curve: curve["decay"])
    growth, decay = curves[0], curves[-1]
    yield _row("toy autoencoders trained", f"{summary['members']}", f"{summary['programs']} compiled programs")
    for curve, theory in ((growth, "theory 1"), (decay, f"m features kept {_number(decay['ideal_weak_exponent'])}")):
        name = f"x of loss ~ m^-x, γ {curve['decay']:+.2g}"
        yield _row(name, f"{_number(curve['exponent'])} ± {_number(curve['stderr'])}", theory)
    for curve, expected in ((growth, "all: 1"), (decay, f"m/n {decay['m'][-1] / decay['n']:.2f}")):
        name = f"share of features kept, m {curve['m'][-1]}, γ {curve['decay']:+.2g}"
        yield _row(name, _number(curve["mean_phi_half"][-1]), expected)


def _pack(summary: Mapping[str, Any]) -> Iterator[Row]:
    """The largest cell."""
    cell = max(summary["cells"], key=lambda cell: cell["k"] * cell["d"])
    yield _row(
        f"coherence of {cell['k']} packed lines in R^{cell['d']}",
        f"{cell['value']:.3f}",
        f"random {cell['random_mean']:.2f}, bound {cell['lower_bound']:.3f}",
    )


def _fit(summary: Mapping[str, Any]) -> Iterator[Row]:
    """The ratio law, whose one constant says how good the optimiser was."""
    found = next((fit for fit in summary["fits"] if fit["law"] == "ratio"), None)
    if found is not None:
        yield _row("C of ε² = C ln(k/d) / d, these packings", f"{found['constants']['C']:.3f}", "published 1.293")


def _embed(summary: Mapping[str, Any]) -> Iterator[Row]:
    found = summary["matrices"][0]
    yield _row("pairs of embedding rows, each once", f"{found['pairs']:,}", f"{found['rows_used']:,} rows")
    wanted = {"1": "class 1: above 0.2", "2": "class 2: below 0.1"}.get(found["class"], "between the classes")
    yield _row("epsilon = mean + 2 std of their cosine", f"{found['epsilon']:.4f}", wanted)
    yield _row("mean squared cosine times d", f"{found['mean_sq_overlap_times_d']:.2f}", "random vectors 1")


def _capacity(summary: Mapping[str, Any]) -> Iterator[Row]:
    at = f"d {summary['d']}, ε {summary['epsilon']:g}"
    published = next((model.capacity for model in published_models() if model.model == _LLAMA), None)
    beside = f"published {published:.3g}" if published and summary["d"] == 4096 else ""
    yield _row(f"directions, {at}: full law", f"{10 ** summary['expected']['full']['log10_k']:.3g}", beside)
    yield _row("  can be built", f"10^{summary['constructed']['log10_k']:.1f}", _family(summary))
    yield _row("  proven impossible above", f"10^{summary['bound']['log10_k']:.1f}", summary["bound"]["name"])


def _family(summary: Mapping[str, Any]) -> str:
    """The construction's family, without its parameters."""
    return str(summary["constructed"]["name"]).split(" in ")[0].split(" r=")[0]


def _number(value: float | None) -> str:
    return "-" if value is None or not np.isfinite(value) else f"{value:.2f}"
