"""`superjax embed`: cosine spectrum, epsilon, class and capacity of the matrices of checkpoints."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from absl import flags
from absl.flags import FlagValues

from superjax.cli.command import Command, Context, Outcome
from superjax.core.errors import InputError

if TYPE_CHECKING:
    from superjax.cli.embed_outcome import Analysis, Partners
    from superjax.embeddings import EmbeddingMatrix, Spectrum


MOST_BINS = 2**24
"""Finer bins than float32 products can tell apart say nothing."""


@dataclass(frozen=True)
class EmbedConfig:
    """What is read and how it is counted."""

    checkpoint: tuple[str, ...]
    matrix: tuple[str, ...]
    tensor: str | None
    bins: int
    vocab_limit: int | None
    center: bool
    neighbors: int
    block: int | None


def define_flags(values: FlagValues) -> None:
    """What to read, and what to count."""
    flags.DEFINE_list("checkpoint", [], "`PATH[,PATH]` of Hugging Face folders or weight files", flag_values=values)
    flags.DEFINE_list("matrix", ["input"], "which matrices: `input,output` or one of them", flag_values=values)
    flags.DEFINE_string("tensor", None, "`NAME` of any tensor with two axes, instead of --matrix", flag_values=values)
    flags.DEFINE_integer(
        "bins", 2000, "bins of the histogram over [-1, 1]; 0 skips the pairs and gives the moments alone",
        lower_bound=0, upper_bound=MOST_BINS, flag_values=values,
    )  # fmt: skip
    flags.DEFINE_integer(
        "vocab_limit", None, "use only the first `N` rows, where the rest pads the vocabulary",
        lower_bound=1, flag_values=values,
    )  # fmt: skip
    flags.DEFINE_bool("center", False, "subtract the mean row first", flag_values=values)
    flags.DEFINE_integer(
        "neighbors", 0, "find each row's `K` nearest rows, and the rows that are most often someone's nearest",
        lower_bound=0, flag_values=values,
    )  # fmt: skip
    flags.DEFINE_integer(
        "block", None, "rows in a tile; chosen for the device by default, and never changes a result",
        lower_bound=1, flag_values=values,
    )  # fmt: skip


def configure(values: FlagValues) -> EmbedConfig:
    """Flags -> configuration."""
    from superjax.embeddings.names import parse_roles

    checkpoints = tuple(dict.fromkeys(_absolute(given) for given in values.checkpoint if given))
    if not checkpoints:
        raise InputError("--checkpoint: names no path; give --checkpoint=PATH[,PATH]")
    return EmbedConfig(
        checkpoint=checkpoints,
        matrix=tuple(parse_roles(values.matrix)),
        tensor=values.tensor,
        bins=values.bins,
        vocab_limit=values.vocab_limit,
        center=values.center,
        neighbors=values.neighbors,
        block=values.block,
    )


def _absolute(checkpoint: str) -> str:
    """The same path from wherever it is asked, so that a run is recognised; what is no path stays as it is."""
    try:
        path = Path(checkpoint).expanduser()
        return str(path.absolute()) if path.exists() else checkpoint
    except (OSError, RuntimeError) as error:
        raise InputError(f"{checkpoint}: {getattr(error, 'strerror', None) or error}; give a readable path") from error


def run(config: EmbedConfig, context: Context) -> Outcome:
    """Analyse every checkpoint; one that cannot be read is listed, unless it is the only one."""
    from superjax.cli.embed_outcome import outcome

    analyses: list[Analysis] = []
    pairs: list[Partners] = []
    failures: list[str] = []
    for checkpoint in config.checkpoint:
        try:
            found, partners = _analyse(checkpoint, config, context)
            analyses += found
            pairs += partners
        except InputError as error:
            if len(config.checkpoint) == 1:
                raise
            failures.append(str(error))
    if not analyses:
        raise InputError("; ".join(failures))
    return outcome(analyses, pairs, failures)


def _analyse(checkpoint: str, config: EmbedConfig, context: Context) -> tuple[list[Analysis], list[Partners]]:
    """Spectra of one checkpoint's matrices, and how they relate; the matrices themselves are not kept."""
    from superjax.cli.embed_outcome import Analysis, Partners
    from superjax.embeddings import partner_cosines, read_matrices, read_tokens

    try:
        tokens = read_tokens(checkpoint)
    except InputError as error:
        context.note(f"{error}; rows are named by number")
        tokens = None
    matrices = context.together(
        lambda: read_matrices(checkpoint, roles=config.matrix, tensor=config.tensor),
        lambda read: (np.ascontiguousarray(matrix.array).view(np.uint8).data for matrix in read),
    )
    found = [Analysis.of(checkpoint, m, *_spectra(checkpoint, m, config, context), tokens) for m in matrices]
    if len(matrices) < 2:
        return found, []
    one, other = matrices
    if one.dim != other.dim:
        context.note(f"{checkpoint}: rows of {one.dim} and of {other.dim} elements have no cosine with each other")
        return found, []
    limit = config.vocab_limit
    cosines = partner_cosines(one.array[:limit], other.array[:limit])
    return found, [Partners(found[0].name, checkpoint, cosines)] if np.isfinite(cosines).any() else []


def _spectra(
    checkpoint: str, matrix: EmbeddingMatrix, config: EmbedConfig, context: Context
) -> tuple[Spectrum, Spectrum | None]:
    """The matrix's spectrum, and under a vocabulary limit also that of all rows (moments alone)."""
    from superjax.core.mesh import row_mesh
    from superjax.embeddings import cosine_spectrum

    for note in matrix.notes:
        context.note(f"{checkpoint}: {note}")
    limit = config.vocab_limit
    if limit is not None and limit > matrix.vocab:
        raise InputError(f"--vocab_limit={limit}: {matrix.tensor} has {matrix.vocab} rows; give at most that")
    pairs_wanted = config.bins > 0 or config.neighbors > 0
    with context.progress(f"{Path(checkpoint).name} {matrix.role}") as on_progress:
        spectrum = cosine_spectrum(
            matrix.array, bins=config.bins, center=config.center, neighbors=config.neighbors, vocab_limit=limit,
            mesh=row_mesh(context.devices) if pairs_wanted else None, block=config.block,
            precision=context.precision, on_progress=on_progress,
        )  # fmt: skip
    if not spectrum.pairs:
        raise InputError(
            f"{checkpoint}: {matrix.tensor} has {spectrum.rows.used} usable rows of {spectrum.rows.vocab}; "
            "give a matrix with at least two"
        )
    return spectrum, cosine_spectrum(matrix.array, bins=0, center=config.center) if limit is not None else None


COMMAND = Command(
    summary="cosine spectrum, epsilon, class and capacity of a checkpoint's embedding",
    details=(
        "Reads the input embedding (or the output matrix, or any tensor with two axes) of a PyTorch checkpoint and "
        "counts the cosines of all pairs of its rows: mean, standard deviation, epsilon = mean + 2 std, the class "
        "(1 above 0.2, 2 below 0.1) and how many directions fit at that epsilon. Formats: a Hugging Face folder, "
        ".safetensors, .bin, .pt, .pth, .npy, .npz, .gguf. Nothing in a file is ever run."
    ),
    examples=(
        "superjax embed --checkpoint=path/to/model",
        "superjax embed --checkpoint=llama,qwen --matrix=input,output --out=runs/two",
        "superjax embed --checkpoint=model.safetensors --tensor=W_dec --neighbors=5",
        "superjax embed --checkpoint=path/to/model --bins=0",
    ),
    define_flags=define_flags,
    configure=configure,
    run=run,
    on_hosts=True,
    required=("checkpoint",),
    inputs=lambda config: config.checkpoint,
)
