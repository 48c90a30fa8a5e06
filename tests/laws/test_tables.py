"""Tables to fit: what is read, and which line a complaint names."""

from __future__ import annotations

import pytest

from superjax.core.errors import InputError
from superjax.laws import read_table


def table(tmp_path, text):
    path = tmp_path / "t.csv"
    path.write_text(text)
    return path


def test_comments_blank_lines_and_quotes(tmp_path):
    found = read_table(table(tmp_path, '# source\nk, d,note\n\n10,4,"a, b"\n# more\n12,4,c\n'))
    assert found.header == ("k", "d", "note")
    assert found.numbers("k").tolist() == [10.0, 12.0]
    assert found.text("note") == ["a, b", "c"]
    assert found.where([False, True]).lines == (6,)
    assert found.has("k", "d")
    assert not found.has("k", "coherence")


@pytest.mark.parametrize("cell", ["abc", "", "nan", "inf", "-1", "2"])
def test_a_value_that_is_no_number_is_named_with_its_line(tmp_path, cell):
    found = read_table(table(tmp_path, f"# s\nk,coherence\n10,0.5\n11,{cell}\n"))
    with pytest.raises(InputError, match=r"t\.csv: line 4: coherence is .*, not a number from 0 to 1"):
        found.numbers("coherence", low=0, high=1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("k,d\n", "has no rows"),
        ("", "has no rows"),
        ("k,d\n1,2\n1,2,3\n", "line 3: 3 cells, the header has 2"),
        ('k,note\n1,"two\nlines"\n', "line 2: a quoted cell does not end on the line"),
        ('k,d\n"1,2\n3,4\n', "line 2: a quoted cell does not end on the line"),
        ("k,d\n1," + "x" * 140_000 + "\n", "line 2: field larger than field limit"),
        ("# s\nk,k,d\n1,2,3\n", "line 2: the column 'k' stands there twice"),
    ],
)
def test_broken_tables(tmp_path, text, message):
    with pytest.raises(InputError, match=message) as caught:
        read_table(table(tmp_path, text))
    assert "\n" not in str(caught.value)


def test_what_a_value_should_have_been_is_said(tmp_path):
    found = read_table(table(tmp_path, "k,m\ninf,0\n"))
    with pytest.raises(InputError, match="k is 'inf', not a finite number >= 1;"):
        found.numbers("k", low=1)
    with pytest.raises(InputError, match="k is 'inf', not a finite number;"):
        found.numbers("k")
    with pytest.raises(InputError, match="m is '0', not a positive finite number"):
        found.positive("m")


def test_missing_columns_and_files(tmp_path):
    with pytest.raises(InputError, match="no column coherence, x; its columns are k, d"):
        read_table(table(tmp_path, "k,d\n1,2\n")).require("k", "coherence", "x")
    with pytest.raises(InputError, match="No such file"):
        read_table(tmp_path / "absent.csv")
    (tmp_path / "b.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not UTF-8"):
        read_table(tmp_path / "b.csv")
