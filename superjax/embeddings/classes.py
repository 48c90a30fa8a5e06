"""What a spectrum says about a model: its class, its published capacity, and what is left beside the vocabulary."""

from __future__ import annotations

from dataclasses import dataclass

from superjax.laws import Assessment, Bracket, assess, capacity_bracket


@dataclass(frozen=True)
class Verdict:
    """Class and capacity of an embedding, and how many directions the vocabulary itself takes.

    Attributes:
        assessment: class, capacity by the full law, and whether that lies outside the fitted range.
        vocabulary: directions the tokens take: V where input and output are tied, 2 V where not, None if unknown.
        remaining: capacity - vocabulary, what is left for other features; negative when the tokens alone exceed
            the capacity, None where either is unknown.
        bracket: at least (constructed), expected (each law) and at most (proven), for an epsilon in (0, 1) that is not
            of class 1; None otherwise.
    """

    assessment: Assessment
    vocabulary: int | None
    remaining: float | None
    bracket: Bracket | None


def judge(dim: int, epsilon: float, vocab: int, tied: bool | None) -> Verdict:
    """The verdict on a [vocab, dim] embedding with accepted deviation `epsilon`.

    Args:
        dim: d >= 2.
        epsilon: mean + 2 std of the cosines.
        vocab: V, rows of the matrix.
        tied: whether the output matrix is the same; None if that is not known.

    Raises:
        InputError: when `epsilon` is NaN or d < 2.

    Source:
        Guha 2026 (arXiv 2606.02765), section 6: about 2 V + features directions are needed untied, V + features tied.

    Example:
        >>> verdict = judge(4096, 0.0645, 32000, tied=False)
        >>> verdict.vocabulary, f"{verdict.remaining:.2e}"
        (64000, '3.99e+07')
    """
    found = assess(dim, epsilon)
    vocabulary = None if tied is None else vocab * (1 if tied else 2)
    known = found.capacity is not None and vocabulary is not None
    remaining = found.capacity - vocabulary if known else None  # type: ignore[operator]
    bracketed = found.capacity is not None and 0 < epsilon < 1
    return Verdict(found, vocabulary, remaining, capacity_bracket(dim, epsilon) if bracketed else None)
