"""CAPACITY.md says what the library computes."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from superjax.laws import capacity_bracket, dimension_bracket, epsilon_bracket, epsilon_for, published_models

PAGE = (Path(__file__).parents[2] / "CAPACITY.md").read_text(encoding="utf-8")


def test_the_table_of_models():
    published = {row.model: row for row in published_models()}
    rows = [line.strip("|").split("|") for line in PAGE.splitlines() if "10^" in line and line.startswith("|")]
    assert len(rows) == 5
    for cells in rows:
        model, d, epsilon, built, full, ratio, most = (cell.strip() for cell in cells)
        row = published[model]
        assert (int(d), float(epsilon)) == (row.d_model, row.epsilon)
        found = capacity_bracket(row.d_model, row.epsilon)
        expected, low, high = re.fullmatch(r"10\^([\d.]+) \(([\d.]+) to ([\d.]+)\)", full).groups()
        said = [float(text.removeprefix("10^")) for text in (built, ratio, most)]
        assert said == pytest.approx(
            [found.log10_constructed, found.log10_expected["ratio"], found.log10_bound], abs=0.051
        )
        assert float(expected) == pytest.approx(found.log10_expected["full"], abs=0.051)
        assert (float(low), float(high)) == pytest.approx(found.laws["full"].interval.bootstrap, abs=0.051)


def test_the_numbers_in_its_sentences():
    assert capacity_bracket(4096, 1 / 64).expected["full"] == pytest.approx(9600, rel=0.01)
    coherence = epsilon_bracket(32000, 4096)
    found = (coherence.constructed, coherence.expected["full"], coherence.random, coherence.bound)
    assert found == pytest.approx((1 / 64, 0.0247, 0.0950, 0.0146), abs=6e-5)
    planner = dimension_bracket(32000, 0.0645)
    assert (planner.constructed, math.ceil(planner.expected["full"]), planner.bound) == (256, 1039, 250)
    for k, d, constant in ((32000, 32, 1.25), (1e9, 4096, 1.60)):
        epsilon = epsilon_for(k, d, "quantile")
        assert d * epsilon**2 / math.log(k / d) == pytest.approx(constant, abs=0.006)
