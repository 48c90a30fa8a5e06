"""Bounds against worked values, attained cells, moments at 80 digits, and the best-known tables."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import special

from superjax.core.errors import InputError
from superjax.laws import (
    bukh_cox,
    cap_bound,
    fejes_toth,
    largest_construction,
    largest_count,
    levenshtein_code,
    levenshtein_lines,
    lower_bound,
    lower_bound_code,
    orthoplex,
    sidelnikov,
    welch,
)
from superjax.laws.levenshtein import MAX_LEVEL, code_threshold, line_threshold
from tests.laws import oracles

BEST_KNOWN = json.loads((Path(__file__).parent / "data" / "best_known.json").read_text())

# d, k, Welch, Sidelnikov m = 2, orthoplex, Levenshtein, level, Bukh-Cox, cap volume, best
WORKED = [
    (3, 5, 0.4082482905, 0, 0, 0.4082482905, 1, 0.4285714286, 0.2800000000, 0.4285714286),
    (3, 7, 0.4714045208, 0.5081327482, 0.5773502692, 0.5477225575, 2, 0.4401477747, 0.4693877551, 0.5773502692),
    (4, 6, 0.3162277660, 0, 0, 0.3162277660, 1, 0.3333333333, 0.0483481510, 0.3333333333),
    (5, 10, 0.3333333333, 0, 0, 0.3333333333, 1, 0.3130541958, 0.0637548669, 0.3333333333),
    (6, 16, 0.3333333333, 0, 0, 0.3333333333, 1, 0.2613878161, 0.0658707258, 0.3333333333),
    (7, 28, 0.3333333333, 0.3333333333, 0, 0.3333333333, 1, 0.2026612979, 0.0959950584, 0.3333333333),
    (8, 120, 0.3429971703, 0.4141238766, 0.3535533906, 0.5, 2, 0.0975018372, 0.3075852516, 0.5),
    (16, 50, 0.2082482820, 0, 0, 0.2082482820, 1, 0.1350737798, 0, 0.2082482820),
    (16, 144, 0.2365249584, 0.2431691584, 0.25, 0.25, 2, 0.0858697277, 0, 0.25),
    (23, 276, 0.2, 0.2, 0, 0.2, 1, 0.0613804123, 0, 0.2),
    (24, 98280, 0.2041002585, 0.2631814298, 0.2041241452, 0.5, 4, 0.0031996772, 0.1571539378, 0.5),
    (32, 2000, 0.1754006348, 0.2179988322, 0.1767766953, 0.2709425248, 2, 0.0226954991, 0, 0.2709425248),
    (32, 32000, 0.1766910457, 0.2285014476, 0.1767766953, 0.3707870504, 3, 0.0056189431, 0, 0.3707870504),
    (64, 2112, 0.1231206423, 0.1240567624, 0.125, 0.125, 2, 0.0219071195, 0, 0.125),
    (768, 32000, 0.0356493064, 0, 0, 0.0356493064, 1, 0.0055535267, 0, 0.0356493064),
    (4096, 32000, 0.0145909999, 0, 0, 0.0145909999, 1, 0.0052477330, 0, 0.0145909999),
]

# packing.md prints ten digits: half a unit of the last is 5e-11, well inside 1e-9
ATTAINED = [
    (3, 6, 1 / math.sqrt(5)),
    (4, 6, 1 / 3),
    (4, 12, 1 / 2),
    (5, 10, 1 / 3),
    (6, 16, 1 / 3),
    (6, 36, 1 / 2),
    (7, 28, 1 / 3),
    (7, 63, 1 / 2),
    (8, 120, 1 / 2),
    (16, 144, 1 / 4),
    (16, 256, 1 / 3),
    (22, 1408, 1 / 3),
    (23, 276, 1 / 5),
    (23, 2300, 1 / 3),
    (24, 98280, 1 / 2),
    (64, 2112, 1 / 8),
    (1024, 525312, 1 / 32),
]

SHARP_CODES = [
    (3, 12, 1 / math.sqrt(5)),
    (5, 16, 1 / 5),
    (6, 27, 1 / 4),
    (7, 56, 1 / 3),
    (8, 240, 1 / 2),
    (21, 112, 1 / 9),
    (21, 162, 1 / 7),
    (22, 100, 1 / 11),
    (22, 275, 1 / 6),
    (22, 891, 1 / 4),
    (23, 552, 1 / 5),
    (23, 4600, 1 / 3),
    (24, 196560, 1 / 2),
]


@pytest.mark.parametrize("row", WORKED, ids=lambda row: f"{row[:2]}")
def test_worked_values_to_1e9(row):
    d, k, *expected, best = row
    mu, level = levenshtein_lines(k, d)
    found = (welch(k, d), sidelnikov(k, d), orthoplex(k, d), mu, level, bukh_cox(k, d), cap_bound(k, d))
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert lower_bound(k, d).value == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize(("d", "k", "value"), ATTAINED)
def test_attained_cells_to_1e12(d, k, value):
    assert lower_bound(k, d).value == pytest.approx(value, abs=1e-12)
    assert largest_count(d, value).k == k


@pytest.mark.parametrize(("d", "n", "value"), SHARP_CODES)
def test_sharp_spherical_codes_attain_the_bound(d, n, value):
    assert lower_bound_code(n, d).value == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("d", [3, 8, 57, 768, 4096])
@pytest.mark.parametrize("level", range(1, 10))
def test_the_line_hierarchy_equals_its_moments_at_80_digits(d, level):
    low, high = line_threshold(d, level), line_threshold(d, level + 1)
    for k in {low + 1, (low + high) // 2, high - 1}:
        value, found = levenshtein_lines(k, d)
        assert found == level
        assert value == pytest.approx(oracles.levenshtein_lines(k, d, level), rel=1e-11)


@pytest.mark.parametrize("d", [3, 8, 57, 768])
@pytest.mark.parametrize("level", range(1, 10))
def test_the_code_hierarchy_equals_its_moments_at_80_digits(d, level):
    low, high = code_threshold(d, level), code_threshold(d, level + 1)
    for n in {low + 1, (low + high) // 2, high}:
        value, found = levenshtein_code(n, d)
        assert found == level
        assert value == pytest.approx(oracles.levenshtein_code(n, d, level), abs=1e-11)


def test_the_hierarchy_is_monotone_across_its_levels_up_to_the_last():
    for d in (3, 24, 4096):
        thresholds = [line_threshold(d, level) for level in range(1, MAX_LEVEL + 3)]
        sizes = sorted({t + step for t in thresholds for step in (0, 1, t // 3)})
        values = [levenshtein_lines(k, d)[0] for k in sizes]
        assert np.all(np.diff(values) >= -1e-12)


def test_sidelnikov_is_welch_at_order_one_and_never_beats_levenshtein():
    rng = np.random.default_rng(0)
    for d, factor in zip(rng.integers(3, 300, 300), 10 ** rng.uniform(0.1, 6, 300), strict=True):
        k = int(d * factor) + 1
        assert sidelnikov(k, int(d), 1) == pytest.approx(welch(k, int(d)), rel=1e-12)
        for order in (2, 3, 4):
            assert sidelnikov(k, int(d), order) <= levenshtein_lines(k, int(d))[0] + 1e-12


def test_the_cap_bound_is_the_volume_of_caps():
    k, d = 10**6, 6
    half = math.acos(cap_bound(k, d)) / 2
    cap = special.betainc((d - 1) / 2, 0.5, math.sin(half) ** 2) / 2
    assert 2 * k * cap == pytest.approx(1, rel=1e-9)


def test_fejes_toth_is_attained_by_three_four_six_and_twelve_points():
    for n, value in ((3, -1 / 2), (4, -1 / 3), (6, 0.0), (12, 1 / math.sqrt(5))):
        assert fejes_toth(n) == pytest.approx(value, abs=1e-12)


def test_the_plane_is_exact_and_small_sets_are_trivial():
    assert lower_bound(7, 2) == (pytest.approx(math.cos(math.pi / 7)), "exact_d2")
    assert lower_bound(4, 4) == (0.0, "orthonormal")
    assert lower_bound(9, 8).value == pytest.approx(1 / 8)
    assert lower_bound_code(5, 2).value == pytest.approx(math.cos(2 * math.pi / 5))
    assert lower_bound_code(4, 3).value == pytest.approx(-1 / 3)
    assert lower_bound_code(6, 3).value == 0.0


def test_every_best_known_entry_respects_the_bounds():
    assert len(BEST_KNOWN["lines"]) > 1000
    for d, k, value in BEST_KNOWN["lines"]:  # entries carry 9 to 15 digits
        assert lower_bound(k, d).value <= value + 3e-9, (d, k)
    for d, n, value in BEST_KNOWN["spherical_codes"]:
        assert lower_bound_code(n, d).value <= value + 1e-8, (d, n)


def test_the_bounds_of_the_166_published_cells():
    for k, d, lower, *_ in BEST_KNOWN["headroom"]:
        assert lower_bound(k, d).value == pytest.approx(lower, abs=1e-9), (k, d)


@pytest.mark.parametrize("d", [2, 3, 4, 23, 256, 4096])
@pytest.mark.parametrize("epsilon", [0.01, 0.0645, 0.2, 0.5, 0.8])
def test_the_largest_count_is_where_the_bound_passes_epsilon(d, epsilon):
    found = largest_count(d, epsilon)
    assert found.log10_k >= math.log10(d) - 1e-12
    if found.k is not None:
        assert lower_bound(found.k, d).value <= epsilon * (1 + 1e-9)
        assert lower_bound(found.k + 1, d).value > epsilon
    elif found.log10_k < 90:
        k = int(10**found.log10_k)
        assert lower_bound(int(k * 0.999999), d).value <= epsilon * (1 + 1e-9)
        assert lower_bound(int(k * 1.000001), d).value > epsilon


def test_counts_no_float_holds():
    found = largest_count(100_000, 0.9)
    assert found.name == "cap"
    assert found.log10_k == pytest.approx(-oracles.log_tail(math.sqrt(0.95), 100_000) / math.log(10), rel=1e-9)
    beyond = lower_bound(10**2000, 4096)
    assert beyond.name == "cap"
    half = math.sqrt((1 + beyond.value) / 2)
    assert oracles.log_tail(half, 4096) == pytest.approx(-2000 * math.log(10), rel=1e-9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: lower_bound(0, 4), "k: 0 is not a whole number >= 1"),
        (lambda: lower_bound(4.5, 4), "k: 4.5 is not"),
        (lambda: lower_bound_code(1, 4), "n: 1 is not a whole number >= 2"),
        (lambda: largest_count(4, 1.0), "epsilon: 1 is not inside"),
        (lambda: largest_count(0, 0.5), "d: 0 is not"),
        (lambda: lower_bound(float("nan"), 4), "k: nan is not"),
        (lambda: lower_bound(np.float32("inf"), 4), "k: inf is not"),
        (lambda: lower_bound("abc", 4), "k: 'abc' is not"),
        (lambda: lower_bound(None, 4), "k: None is not"),
        (lambda: welch(5, 0), "d: 0 is not"),
        (lambda: fejes_toth(2), "n: 2 is not a whole number >= 3"),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(InputError, match=message):
        call()


@pytest.mark.parametrize("d", [2, 3, 4, 100])
@pytest.mark.parametrize("gap", [1e-11, 1e-12, 1e-13, 1e-15, 2.0**-53])
def test_an_epsilon_within_rounding_of_one_has_a_count(d, gap):
    found = largest_count(d, 1 - gap)
    assert found.k is None or found.k >= largest_construction(d, 1 - gap).k
    assert math.isfinite(found.log10_k)
    assert found.log10_k >= largest_count(d, 1 - 1e-10).log10_k
    if gap >= 1e-13:  # the gap is cos of a small angle: pi / acos in the plane, P ~ (2 gap)^((d-1)/2) in space
        allowed = math.pi / math.sqrt(2 * gap)
        assert found.log10_k >= math.log10(0.99 * allowed)
        if d == 2:
            assert found.k == pytest.approx(allowed, rel=0.42)


def test_numbers_no_float_holds_give_a_weaker_bound():
    assert 0 <= bukh_cox(10**400, 3) <= lower_bound(10**400, 3).value
    assert 0 < sidelnikov(10**400, 3) <= 1


@pytest.mark.parametrize("d", [3, 5, 24])
@pytest.mark.parametrize("n", [10**12, 10**20, 10**40])
def test_beyond_the_hierarchy_codes_are_bounded_by_volume(n, d):
    """n caps of half the angle fit: n P(cos > cos(theta/2)) <= 1, one-sided, so 2/n two-sided."""
    found = lower_bound_code(n, d)
    assert found.value > levenshtein_code(n, d)[0]
    if found.value < 1 - 1e-9:  # nearer to 1 the value's own rounding shows in its tail
        assert found.name == "cap"
        half = math.sqrt((1 + found.value) / 2)
        assert oracles.log_tail(half, d) == pytest.approx(math.log(2 / n), rel=1e-6)


def test_the_last_level_ends_where_the_next_would_begin():
    d = 5
    end = line_threshold(d, MAX_LEVEL + 1)
    at_end = levenshtein_lines(end, d)
    assert at_end[1] == MAX_LEVEL
    for k in (end + 1, 50 * end, 10**40):
        assert levenshtein_lines(k, d) == at_end
    assert levenshtein_lines(end - end // 10, d)[0] < at_end[0] < 1
