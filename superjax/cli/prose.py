"""Sentences under a table, at 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence


def paragraphs(sentences: Sequence[str], *, width: int = 80) -> tuple[str, ...]:
    """The sentences wrapped, each on a line of its own, with a blank line before the first.

    Args:
        sentences: one or more sentences an item; empty items are left out.
        width: characters a line.

    Returns:
        What `Outcome.lines` takes.

    Example:
        >>> print(*paragraphs(["One.", "", "Two."]), sep="\\n")
        <BLANKLINE>
        One.
        Two.
    """
    wrapped = [textwrap.fill(sentence, width) for sentence in sentences if sentence]
    return ("\n" + "\n".join(wrapped),) if wrapped else ()
