"""Proven lower bounds on coherence for lines and spherical codes, each with its range, and the best of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from superjax.core.errors import InputError
from superjax.laws.checks import ATTAINED, attained, whole
from superjax.laws.levenshtein import MAX_LEVEL, levenshtein_code, levenshtein_lines, line_threshold
from superjax.laws.tail import inverse_log_tail, log_tail

_LARGEST = 10**100  # every bound grows with k: the algebraic ones are evaluated at most here, where floats still hold


class Bound(NamedTuple):
    """A proven lower bound and where it comes from."""

    value: float
    name: str


class LargestCount(NamedTuple):
    """The largest number of vectors a bound allows: log10_k, k as an int below 2^53 and else None, and the bound."""

    log10_k: float
    k: int | None
    name: str


def welch(k: int, d: int) -> float:
    """Welch's bound sqrt((k-d) / (d(k-1))) for k > d; attained by equiangular tight frames, k <= d(d+1)/2.

    Source:
        Welch 1974.

    Example:
        >>> welch(28, 7) == 1 / 3
        True
    """
    k, d = whole("k", k, 1), whole("d", d, 1)
    return math.sqrt((k - d) / (d * (k - 1))) if k > d else 0.0


def sidelnikov(k: int, d: int, order: int = 2) -> float:
    r"""The real higher-order Welch bound :math:`\mu^{2m} \ge (k a_m - 1)/(k-1)`, informative for k a_m > 1.

    :math:`a_m = (2m-1)!! / (d(d+2)...(d+2m-2))` is the mean of a random cosine to the power 2m; order 1 is Welch.

    Source:
        Sidelnikov 1974; Delsarte, Goethals and Seidel 1977.

    Example:
        >>> round(sidelnikov(120, 8), 10)
        0.4141238766
    """
    k, d, order = min(whole("k", k, 1), _LARGEST), whole("d", d, 1), whole("order", order, 1)
    if k == 1:
        return 0.0
    moment = math.prod((2 * j + 1) / (d + 2 * j) for j in range(order))
    excess = k * moment - 1
    return (excess / (k - 1)) ** (1 / (2 * order)) if excess > 0 else 0.0


def orthoplex(k: int, d: int) -> float:
    """Rankin's bound 1/sqrt(d) for k > d(d+1)/2; attained up to d(d+2)/2 by real mutually unbiased bases.

    Source:
        Rankin 1955; Conway, Hardin and Sloane 1996.

    Example:
        >>> orthoplex(144, 16), orthoplex(136, 16)
        (0.25, 0.0)
    """
    k, d = whole("k", k, 1), whole("d", d, 1)
    return 1 / math.sqrt(d) if k > d * (d + 1) // 2 else 0.0


def bukh_cox(k: int, d: int) -> float:
    r"""With r = k - d: :math:`r(r+1) / (2k + (k^2 - dk - k)\sqrt{2+r} - r(r+1))`, the best up to r of about sqrt(2d).

    Source:
        Bukh and Cox 2020, "Nearly orthogonal vectors and small antipodal spherical codes".

    Example:
        >>> round(bukh_cox(6, 4), 12)
        0.333333333333
    """
    k, d = min(whole("k", k, 1), _LARGEST), whole("d", d, 1)
    r = k - d
    return r * (r + 1) / (2 * k + k * (r - 1) * math.sqrt(2 + r) - r * (r + 1)) if r > 0 else 0.0


def cap_bound(k: int, d: int) -> float:
    r"""The volume bound: 2k caps of half the angle fit on the sphere, :math:`k\,P(|\cos| > \cos(\theta/2)) \le 1`.

    Any k and d >= 2; the best of all beyond the 20th level of Levenshtein's hierarchy.

    Source:
        Rankin 1955; Conway and Sloane 1999, chapter 1.

    Example:
        >>> round(cap_bound(5, 3), 12)
        0.28
    """
    k, d = whole("k", k, 1), whole("d", d, 2)
    return max(2 * inverse_log_tail(-math.log(k), d) ** 2 - 1, 0.0)


def fejes_toth(n: int) -> float:
    r"""The largest cosine of n points in R^3 is at least :math:`(\cot^2 w - 1)/2`, w = n pi / (6(n-2)), n >= 3.

    Attained for n = 3, 4, 6, 12. For k lines use n = 2k.

    Source:
        Fejes Toth 1943.

    Example:
        >>> round(fejes_toth(12) * math.sqrt(5), 12)
        1.0
    """
    n = whole("n", n, 3)
    return min((math.tan(math.pi / 6 * (n / (n - 2))) ** -2 - 1) / 2, 1.0)


def lower_bound(k: int, d: int) -> Bound:
    """The best proven lower bound on the coherence of k lines in R^d.

    Args:
        k: number of lines >= 1; an integer of any size.
        d: dimension >= 1.

    Returns:
        ``Bound(value, name)``: value in [0, 1], exactly 0 ("orthonormal") for k <= d; name is exact_d2, welch,
        bukh_cox, orthoplex, levenshtein_L (its level L), fejes_toth or cap. float64, about 1e-14.

    Raises:
        InputError: k < 1 or d < 1, or not whole numbers.

    Source:
        Each bound's docstring. Sidelnikov's higher orders never exceed Levenshtein's bound and are left out.

    Example:
        >>> lower_bound(144, 16)
        Bound(value=0.25, name='orthoplex')
    """
    k, d = whole("k", k, 1), whole("d", d, 1)
    if k <= d:
        return Bound(0.0, "orthonormal")
    if d == 1:
        return Bound(1.0, "one_line")
    if d == 2:
        return Bound(math.cos(math.pi / k), "exact_d2")
    best = _best(_algebraic(min(k, _LARGEST), d))
    if log_tail(math.sqrt((1 + best.value) / 2), d) <= -math.log(k):  # the caps fit with room: no need to solve
        return best
    return _best([best, Bound(cap_bound(k, d), "cap")])


def lower_bound_code(n: int, d: int) -> Bound:
    """The best proven lower bound on the largest signed cosine of n points of the unit sphere in R^d.

    Args:
        n: number of points >= 2; an integer of any size.
        d: dimension >= 1.

    Returns:
        ``Bound(value, name)``: value in [-1, 1]; simplex -1/(n-1) for n <= d + 1, rankin 0 up to 2d, then
        levenshtein_L, fejes_toth, cap, exact_d2.

    Raises:
        InputError: n < 2 or d < 1, or not whole numbers.

    Source:
        Rankin 1955; Levenshtein 1979; Fejes Toth 1943.

    Example:
        >>> lower_bound_code(5, 4), lower_bound_code(8, 4)
        (Bound(value=-0.25, name='simplex'), Bound(value=0.0, name='rankin'))
    """
    n, d = whole("n", n, 2), whole("d", d, 1)
    if n <= d + 1:
        return Bound(-1 / (n - 1), "simplex")
    if d == 1:
        return Bound(1.0, "two_points")
    if d == 2:
        return Bound(math.cos(2 * math.pi / n), "exact_d2")
    if n <= 2 * d:
        return Bound(0.0, "rankin")
    value, level = levenshtein_code(n, d)
    found = [Bound(0.0, "rankin"), Bound(value, f"levenshtein_{level}")]
    found.append(Bound(2 * inverse_log_tail(math.log(2) - math.log(n), d) ** 2 - 1, "cap"))
    if d == 3:
        found.append(Bound(fejes_toth(min(n, _LARGEST)), "fejes_toth"))
    return _best(found)


def largest_count(d: int, epsilon: float) -> LargestCount:
    """The largest number of lines of coherence epsilon that no bound forbids in R^d.

    Args:
        d: dimension >= 1.
        epsilon: largest absolute cosine in [0, 1); a bound within 1e-12 of it, relatively, counts as attained.

    Returns:
        ``LargestCount(log10_k, k, name)``: k + 1 lines are impossible, by the bound of that name. At least d.

    Raises:
        InputError: epsilon outside [0, 1) or d < 1.

    Example:
        >>> largest_count(4096, 1 / 64)
        LargestCount(log10_k=6.923..., k=8392704, name='levenshtein_2')
    """
    d = whole("d", d, 1)
    if not 0 <= epsilon < 1:
        raise InputError(f"epsilon: {epsilon:g} is not inside [0, 1); give an absolute cosine such as .05")
    if d == 1:
        return LargestCount(0.0, 1, "one_line")
    allowed = attained(epsilon)
    by_volume = -log_tail(math.sqrt((1 + allowed) / 2), d)
    if d == 2:
        return _count(max(2, math.floor(math.pi / math.acos(allowed))), "exact_d2")
    ceiling = line_threshold(d, MAX_LEVEL + 1)
    best = _largest(lambda k: _best(_algebraic(k, d)).value <= allowed, d, min(ceiling, _LARGEST))
    if math.log(best) <= by_volume and best < min(ceiling, _LARGEST):
        return _count(best, _best(_algebraic(best + 1, d)).name)
    if by_volume < math.log(2**53):
        return _count(max(d, math.floor(math.exp(by_volume) * (1 + ATTAINED))), "cap")
    return LargestCount(by_volume / math.log(10), None, "cap")


@dataclass(frozen=True)
class _Named:
    name: str
    function: Callable[[int, int], float]


_FORMULAS = (_Named("welch", welch), _Named("bukh_cox", bukh_cox), _Named("orthoplex", orthoplex))


def _algebraic(k: int, d: int) -> list[Bound]:
    """All bounds but the volume bound, d >= 3, k > d."""
    found = [Bound(formula.function(k, d), formula.name) for formula in _FORMULAS]
    value, level = levenshtein_lines(k, d)
    found.append(Bound(value, f"levenshtein_{level}"))
    if d == 3:
        found.append(Bound(fejes_toth(2 * k), "fejes_toth"))
    return found


def _best(found: list[Bound]) -> Bound:
    """The largest; the first of those equal to rounding, so a closed form names the bound where two agree."""
    top = max(bound.value for bound in found)
    return next(bound for bound in found if bound.value >= top - ATTAINED * abs(top))


def _largest(holds: Callable[[int], bool], low: int, high: int) -> int:
    """A k in [low, high] that holds while k + 1 does not (or is beyond high), by bisection on integers."""
    step = 1
    while low + step < high and holds(low + step):  # gallop: answers are often near low
        low, step = low + step, 2 * step
    high = min(low + step, high + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _count(k: int, name: str) -> LargestCount:
    return LargestCount(math.log10(k), k if k < 2**53 else None, name)
