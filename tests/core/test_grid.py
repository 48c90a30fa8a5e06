"""Grid flags: every notation, and mistakes that point at the character."""

from __future__ import annotations

import pytest

from superjax.core.errors import InputError
from superjax.core.grid import group_by, parse_grid, product


@pytest.mark.parametrize(
    ("text", "whole", "values"),
    [
        ("10,15,25", True, (10, 15, 25)),
        (" 10 , 15 ", True, (10, 15)),
        ("-1,-.5,1e-1,2.", False, (-1.0, -0.5, 0.1, 2.0)),
        ("0:2:5", False, (0.0, 0.5, 1.0, 1.5, 2.0)),
        ("-1:1:10", False, (*(-1 + 2 * i / 9 for i in range(9)), 1.0)),
        ("5:1:3", True, (5, 3, 1)),
        ("7:9:1", True, (7,)),
        ("log:10:100:6", True, (10, 15, 25, 39, 63, 100)),
        ("log:1:8:4", False, (1.0, 2.0, 4.0, 8.0)),
        ("2**3:2**10", True, (8, 16, 32, 64, 128, 256, 512, 1024)),
        ("2**10,3", True, (1024, 3)),
        ("1:2:2,10:20:2", True, (1, 2, 10, 20)),
        ("1:3:100", True, (1, 2, 3)),
        ("4e1", True, (40,)),
    ],
)
def test_notations(text, whole, values):
    found = parse_grid(text, "--m", whole=whole)
    assert found == pytest.approx(values, rel=1e-12)
    assert all(type(value) is (int if whole else float) for value in found)


@pytest.mark.parametrize(
    ("text", "place", "seen"),
    [
        ("10,1x5", 5, "'x'"),
        ("10,,15", 4, "','"),
        ("10,", 4, "the end"),
        ("abc", 1, "'a'"),
        ("0:2", 4, "the end"),
        ("0:2:5:6", 6, "':'"),
        ("0:2:2.5", 5, "'2'"),
        ("0:2:0", 5, "'0'"),
        ("log:0:5:3", 5, "'0'"),
        ("log:1:5", 8, "the end"),
        ("2**3:3**5", 6, "'3'"),
        ("2**5:2**3", 6, "'2'"),
        ("__import__('os')", 1, "'_'"),
        ("1+1", 2, "'+'"),
        ("9**9**9", 5, "'*'"),
        ("10.5", 1, "'1'"),
        ("9**999999", 1, "'9'"),
    ],
)
def test_mistakes_point_at_the_character(text, place, seen):
    with pytest.raises(InputError) as caught:
        parse_grid(text, "--m", whole=True)
    message = str(caught.value)
    assert f"at character {place}, {seen};" in message
    assert message.startswith(f"--m={text}: ")
    assert "\n" not in message


@pytest.mark.parametrize("text", ["", "  "])
def test_a_grid_of_nothing(text):
    with pytest.raises(InputError, match="the grid is empty"):
        parse_grid(text, "--m")


def test_product_and_groups():
    settings = product({"m": [1, 2], "decay": [0.5], "seed": range(3)})
    assert len(settings) == 6
    assert settings[1] == {"m": 1, "decay": 0.5, "seed": 1}
    assert group_by(settings, lambda each: each["seed"]) == {0: [0, 3], 1: [1, 4], 2: [2, 5]}
    with pytest.raises(InputError, match="decay: no value"):
        product({"m": [1], "decay": []})
