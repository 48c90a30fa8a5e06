"""The table of known packings: complete, resumed cell by cell, honest about what is missed and what is beaten."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import known_packings as known

CELLS = [
    known.Cell("spherical", 4, 3, -1 / 3),
    known.Cell("coherence", 36, 15, 0.2, built=True),
    known.Cell("coherence", 3, 2, 0.6),  # optimum 1/2: better than "known"
    known.Cell("riesz", 3, 3, 1.7),  # optimum sqrt(3): worse than "known"
]


def test_a_table_says_what_was_met_missed_and_beaten_and_keeps_the_vectors_that_beat(tmp_path):
    path = tmp_path / "table.csv"
    rows = known.run(CELLS, path)
    assert path.read_text().splitlines()[0] == ",".join(known.COLUMNS)
    np.testing.assert_allclose([float(row["value"]) for row in rows], [-1 / 3, 1 / 5, 1 / 2, 3**0.5], atol=1e-12)
    assert known.summary(rows).splitlines() == [
        "3 of 4 cells met, 3 of them by closed forms and constructions",
        f"missed: riesz k=3 d=3: {rows[3]['value']}, known 1.7",
        f"beaten: coherence k=3 d=2: {rows[2]['value']}, known 0.6",
    ]
    (saved,) = (tmp_path / "table").iterdir()
    gram = np.load(saved) @ np.load(saved).T
    assert np.abs(gram[np.triu_indices(3, 1)]).max() == pytest.approx(float(rows[2]["value"]), abs=1e-15)


def test_cells_of_an_earlier_run_are_not_run_again(tmp_path):
    path = tmp_path / "table.csv"
    known.run(CELLS[:1], path)
    path.write_text(path.read_text().replace("-0.333", "-0.222"))
    rows = known.run(CELLS[:2], path)
    assert [float(row["value"]) for row in rows] == pytest.approx([-0.2223333333333333, 0.2])


def test_the_cells_are_those_of_the_tables():
    """Lines up to (30, 8), frames up to 36 lines, energies of 2 to 32 points, codes to 16 dimensions; none twice."""
    cells = [cell for group in known.GROUPS.values() for cell in group()]
    assert len({cell[:3] for cell in cells}) == len(cells)
    lines = {(cell.k, cell.d) for cell in cells if cell.objective == "coherence"}
    assert {(k, d) for d in range(3, 9) for k in range(d + 1, 31)} | {(k, 2) for k in range(3, 21)} <= lines
    assert {(26, 13), (30, 15), (36, 15), (36, 21), (28, 21), (16, 10), (18, 9)} <= lines
    assert {cell.k for cell in cells if cell.objective == "riesz"} == set(range(2, 33))
    codes = {(cell.k, cell.d): cell.known for cell in cells if cell.objective == "spherical"}
    assert {(d + 1, d) for d in range(2, 17)} | {(2 * d, d) for d in range(2, 17)} <= set(codes)
    assert codes[8, 3] == pytest.approx(0.261203874963741)
    assert codes[12, 3] == pytest.approx(5**-0.5)
