"""The planner in a real browser gives what the Python functions give, to 1e-6."""

from __future__ import annotations

import json
import math
import random

import pytest

from superjax import laws
from superjax.cli.capacity_outcome import outward
from superjax.laws.checks import attained
from superjax.laws.constructions import best_construction, largest_construction
from superjax.report.planner import D_RANGE, EPSILON_RANGE

CLOSE = 1e-6


def log_uniform(rng, low, high):
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def dimension(rng):
    return round(log_uniform(rng, *D_RANGE))


def accepted(rng):
    """An epsilon, one in four exactly where a construction or a bound is attained."""
    exact = 1 / math.sqrt(rng.choice([4, 9, 16, 64, 256, 1024, 4096, rng.randint(4, 40_000)]))
    return exact if rng.random() < 0.25 else log_uniform(rng, *EPSILON_RANGE)


def number(rng):
    """A k, small or of hundreds of digits, exact as a float."""
    return int(float(f"{log_uniform(rng, 1, 10 ** rng.choice([3, 5, 9, 40, 290])):.5e}"))


def directions(d, epsilon):
    """What Python says: (built, bound, {law: (answer, formula, extrapolated)}), decimal logarithms."""
    bound = laws.largest_count(d, epsilon)
    formulas = {name: laws.log10_capacity(d, epsilon, name) for name in laws.LAWS}
    answers = {name: min(max(value, math.log10(d)), bound.log10_k) for name, value in formulas.items()}
    beyond = {name: laws.is_extrapolated(d, epsilon, name) for name in laws.LAWS}
    built = largest_construction(d, epsilon)
    found = {name: (answers[name], formulas[name], beyond[name]) for name in laws.LAWS}
    return (math.log10(built.k), built.name), (bound.log10_k, bound.name), found


def cosines(k, d):
    bound, built = laws.lower_bound(k, d), best_construction(k, d)
    formulas = {name: laws.epsilon_for(k, d, name) for name in laws.LAWS}
    beyond = {name: k > d and not bool(laws.law(name).range.holds(float(k), float(d))) for name in laws.LAWS}
    found = {name: (min(max(formulas[name], bound.value), 1), formulas[name], beyond[name]) for name in laws.LAWS}
    return (built.value, built.name), tuple(bound), found


def dimensions(k, epsilon):
    allowed = attained(epsilon)
    built = smallest(k, lambda d: best_construction(k, d).value <= allowed)
    least = smallest(k, lambda d: laws.lower_bound(k, d).value <= allowed)
    formulas = {name: laws.dimension_for(k, epsilon, name) for name in laws.LAWS}
    beyond = {name: not bool(laws.law(name).range.holds(float(k), formulas[name])) for name in laws.LAWS}
    by_law = {name: (max(formulas[name], least), formulas[name], beyond[name]) for name in laws.LAWS}
    bound_name = laws.lower_bound(k, least - 1).name if least > 1 else "orthonormal"
    return (built, best_construction(k, min(built, k)).name), (least, bound_name), by_law


def smallest(k, holds):
    """The smallest d >= 1 that holds, all larger ones holding too; it holds at k."""
    low, high = 0, 1
    while high < k and not (high > 1 and holds(high)):
        low, high = high, 2 * high
    high = min(high, k)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if middle > 1 and holds(middle) else (middle, high)
    return high


QUESTIONS = {
    "k": (("d", "epsilon"), (dimension, accepted), directions),
    "epsilon": (("k", "d"), (number, dimension), cosines),
    "d": (("k", "epsilon"), (number, accepted), dimensions),
}

SUMMARY = "document.getElementById('planner-summary').textContent"
ANSWER = """
(() => {
  const rows = [...document.querySelector("#planner-laws tbody").rows].map((row) => [...row.cells]);
  const value = (cell) => (cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value));
  return rows.map((cells) => cells.map((cell, place) => (place ? value(cell) : cell.textContent)));
})()
"""


@pytest.fixture
def page(tab, report_file):
    tab.open(report_file)
    return tab


def ask(page, find, **given):
    """Fill in the form as a person would, and read the table of the bracket."""
    page.evaluate(f"document.querySelector('#planner-form [value={find}]').click()")
    for name, value in given.items():
        page.evaluate(f"document.getElementById('planner-{name}').select()")
        page.type(value if isinstance(value, str) else repr(float(value)) if name == "k" else repr(value))
    assert page.evaluate("document.getElementById('planner-problem').hidden"), given
    return page.evaluate(ANSWER)


def agrees(ours, theirs):
    return ours == theirs or math.isclose(ours, theirs, rel_tol=CLOSE)


@pytest.mark.parametrize("find", QUESTIONS)
def test_the_form_agrees_with_python_at_20_random_points(page, find):
    names, draws, python = QUESTIONS[find]
    rng = random.Random(7)
    for _ in range(20):
        given = [draw(rng) for draw in draws]
        (built, construction), (bound, bound_name), by_law = python(*given)
        first, *middle, last = ask(page, find, **dict(zip(names, given, strict=True)))
        if find == "d" and built > D_RANGE[1]:
            assert first[1] == f"more than {D_RANGE[1]}"
        else:
            assert agrees(first[1], built), given
            assert first[2] == construction, given
        assert agrees(last[1], bound), given
        assert last[2] == bound_name, given
        for (name, answer, formula), law in zip(middle, laws.LAWS, strict=True):
            assert name == (f"{law} *" if by_law[law][2] else law), given
            assert agrees(answer, by_law[law][0]), (law, given)
            assert agrees(formula, by_law[law][1]), (law, given)
    assert page.complaints == []


def test_bounds_and_constructions_agree_at_many_more(page):
    rng = random.Random(8)
    points = [(dimension(rng), accepted(rng), number(rng)) for _ in range(300)]
    asked = json.dumps([(d, epsilon, float(k)) for d, epsilon, k in points])
    found = page.evaluate(
        f"{asked}.map(([d, epsilon, k]) => [largestCount(d, epsilon), constructionsWithin(d, epsilon)[0],"
        " lowerBound(k, d), constructionsHolding(k, d)[0]])"
    )
    for (d, epsilon, k), (most, largest, least, best) in zip(points, found, strict=True):
        count, bound, built = laws.largest_count(d, epsilon), laws.lower_bound(k, d), best_construction(k, d)
        assert agrees(most["log10"], count.log10_k), (d, epsilon)
        assert most["k"] is None or agrees(most["k"], count.k), (d, epsilon)
        assert largest["name"] == largest_construction(d, epsilon).name, (d, epsilon)
        assert agrees(least["value"], bound.value), (k, d)
        assert least["name"] == bound.name, (k, d)
        assert agrees(best["coherence"], built.value), (k, d)


@pytest.mark.parametrize(("k", "d"), [(28, 7), (500, 24), (6, 4), (20, 3), (5, 2), (10**12, 300)])
def test_each_bound_in_the_table_is_pythons(page, k, d):
    found = dict(page.evaluate(f"allBounds({k}, {d}).map(({{ name, value }}) => [name, value])"))
    closed = {"welch": laws.welch, "bukh_cox": laws.bukh_cox, "orthoplex": laws.orthoplex, "cap": laws.cap_bound}
    if d == 2:
        assert found["exact_d2"] == pytest.approx(math.cos(math.pi / k))
        return
    expected = {name: function(k, d) for name, function in closed.items()}
    expected |= {f"sidelnikov_{order}": laws.sidelnikov(k, d, order) for order in (2, 3)}
    value, level = laws.levenshtein_lines(k, d)
    expected[f"levenshtein_{level}"] = value
    if d == 3:
        expected["fejes_toth"] = laws.fejes_toth(2 * k)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_huge_answers_are_said_as_powers_of_ten(page):
    ask(page, "k", d=16384, epsilon=0.5)
    assert "More than 10^" in page.evaluate(SUMMARY)
    assert "class 1" in page.evaluate("document.getElementById('planner-notes').textContent")


def test_fractions_are_read_and_exact_sets_found(page):
    first, *_, last = ask(page, "k", d="4096", epsilon="1/64")
    assert 10 ** first[1] == pytest.approx(8392704)
    assert 10 ** last[1] == pytest.approx(8392704)
    assert page.evaluate("document.querySelectorAll('#planner-figure circle').length") == len(laws.LAWS) + 2


def test_what_is_reached_is_rounded_up_and_what_is_impossible_down(page):
    assert page.evaluate("formatOutward(0.0145901, 1)") == "0.014591"
    assert page.evaluate("formatOutward(0.0145909, -1)") == "0.014590"
    assert page.evaluate("[1, -1].map((direction) => formatOutward(1 / 64, direction))") == ["0.015625"] * 2
    ask(page, "epsilon", k=32000, d=4096)
    assert f"Below {outward(laws.lower_bound(32000, 4096).value, -1)} it is" in page.evaluate(SUMMARY)


@pytest.mark.parametrize(
    ("field", "text", "wanted"),
    [
        ("d", "1", "d: give a whole number from 2 to 16384"),
        ("d", "7.5", "d: give a whole number from 2 to 16384"),
        ("epsilon", "0.6", "epsilon: give a number from 0.005 to 0.5"),
        ("epsilon", "", "epsilon: give a number from 0.005 to 0.5"),
        ("epsilon", "1/0", "epsilon: give a number from 0.005 to 0.5"),
        ("epsilon", "<b>", "epsilon: give a number from 0.005 to 0.5"),
    ],
)
def test_what_cannot_be_answered_is_said(page, field, text, wanted):
    page.evaluate(f"document.getElementById('planner-{field}').select()")
    page.type(text) if text else page.press("Delete")
    assert page.evaluate("document.getElementById('planner-problem').textContent") == wanted
    assert page.evaluate(f"document.getElementById('planner-{field}').getAttribute('aria-invalid')") == "true"
    assert page.evaluate("document.getElementById('planner-answer').hidden")
    assert page.complaints == []
