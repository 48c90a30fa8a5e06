"""Tables: aligned, within the width, and never a trailing blank."""

from __future__ import annotations

import numpy as np
import pytest

from superjax.cli.tables import Column, format_table

ROWS = [{"name": "input", "a": 1.5, "ok": True, "text": "x"}, {"name": "out", "a": None, "ok": False, "text": ""}]


def test_numbers_stand_right_and_words_left():
    text = format_table(ROWS, [Column("name"), Column("a", "mean", ".2f"), Column("ok"), Column("text")])
    assert text.splitlines() == ["name   mean  ok   text", "input  1.50  yes  x", "out       -  no"]


def test_numpy_scalars_are_formatted_as_numbers():
    text = format_table(
        [{"n": np.int64(465_780_981), "x": np.float32(0.25)}], [Column("n", "", ",d"), Column("x", "", ".1e")]
    )
    assert text.splitlines()[1] == "465,780,981  2.5e-01"


@pytest.mark.parametrize("width", [20, 33, 80])
def test_what_does_not_fit_goes_below_with_the_first_column_again(width):
    columns = [Column("name"), *(Column(f"column{i}") for i in range(9))]
    rows = [{"name": "m", **{f"column{i}": i for i in range(9)}}]
    text = format_table(rows, columns, width=width)
    assert max(map(len, text.splitlines())) <= width
    blocks = text.split("\n\n")
    assert all(block.startswith("name") for block in blocks)
    assert [heading for block in blocks for heading in block.splitlines()[0].split()[1:]] == [
        f"column{i}" for i in range(9)
    ]


def test_nothing_to_show_is_nothing():
    assert format_table([], [Column("a")]) == ""
    assert format_table(ROWS, []) == ""
