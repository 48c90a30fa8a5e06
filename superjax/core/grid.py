"""Grids of settings: products, groups of equal shape, and the notation of grid flags with errors at the character."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NoReturn, TypeVar

from superjax.core.errors import InputError

T = TypeVar("T")

MOST_VALUES = 100_000
"""More values than this in one range are taken for a slip of the hand."""


def product(axes: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """All combinations of settings, the last axis fastest.

    Args:
        axes: name -> values.

    Raises:
        InputError: an axis without values.

    Example:
        >>> product({"m": [10, 25], "decay": [-1.0]})
        [{'m': 10, 'decay': -1.0}, {'m': 25, 'decay': -1.0}]
    """
    for name, values in axes.items():
        if not len(values):
            raise InputError(f"{name}: no value, so the grid is empty; give at least one")
    return [dict(zip(axes, chosen, strict=True)) for chosen in itertools.product(*axes.values())]


def group_by(items: Iterable[T], key: Callable[[T], Hashable]) -> dict[Any, list[int]]:
    """The places of the items, grouped by what they share; groups in order of first appearance.

    Example:
        >>> group_by(["ab", "c", "de"], len)
        {2: [0, 2], 1: [1]}
    """
    groups: dict[Any, list[int]] = {}
    for place, item in enumerate(items):
        groups.setdefault(key(item), []).append(place)
    return groups


def parse_grid(text: str, name: str, *, whole: bool = False) -> tuple[Any, ...]:
    """The numbers that a grid flag lists.

    Items are separated by commas: a number, `A:B:N` for N evenly spaced values, `log:A:B:N` for N values evenly spaced
    in the logarithm, or `B**I:B**J` for consecutive powers. A number may be written `2**10`. Ranges include both ends;
    evenly spaced values of a whole-numbered flag are rounded down, and equal ones are kept once.

    Args:
        text: what the user wrote.
        name: the flag or argument, for the message.
        whole: whole numbers are wanted.

    Returns:
        The values in the order written: int when `whole`, else float.

    Raises:
        InputError: with the place of the first character that cannot be understood.

    Example:
        >>> parse_grid("10,15,25", "--m", whole=True)
        (10, 15, 25)
        >>> parse_grid("0:2:5", "--alpha")
        (0.0, 0.5, 1.0, 1.5, 2.0)
        >>> parse_grid("log:10:100:6", "--m", whole=True)
        (10, 15, 25, 39, 63, 100)
        >>> parse_grid("2**3:2**6", "--m", whole=True)
        (8, 16, 32, 64)
    """
    return _GridText(text, name, whole).values()


class _GridText:
    """One grid flag's text and how to complain about it."""

    _NUMBER = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?:\*\*([+-]?\d+))?\s*")

    def __init__(self, text: str, name: str, whole: bool) -> None:
        self._text, self._name, self._whole = text, name, whole

    def values(self) -> tuple[Any, ...]:
        if not self._text.strip():
            raise InputError(f"{self._name}: no value, so the grid is empty; give one such as 10,15,25 or log:10:100:6")
        found: list[Any] = []
        start = 0
        for item in self._text.split(","):
            found += self._item(start, start + len(item))
            start += len(item) + 1
        return tuple(found)

    def _item(self, start: int, stop: int) -> list[Any]:
        """The values of the item at text[start:stop]."""
        logarithmic = re.compile(r"\s*log\s*:").match(self._text, start, stop)
        bounds: list[tuple[int, int]] = []
        start = logarithmic.end() if logarithmic else start
        for part in self._text[start:stop].split(":"):
            bounds.append((start, start + len(part)))
            start += len(part) + 1
        if len(bounds) == 1 and not logarithmic:
            return [self._wanted(*self._number(*bounds[0])[:1], bounds[0][0])]
        if len(bounds) == 2 and not logarithmic:
            return self._powers(*bounds)
        if len(bounds) == 3:
            return self._spaced(bounds, logarithmic=bool(logarithmic))
        after = bounds[3][0] - 1 if len(bounds) > 3 else bounds[-1][1]
        return self._fail(after, "a range is A:B:N, log:A:B:N or B**I:B**J")

    def _number(self, start: int, stop: int) -> tuple[float, str, int | None]:
        """The value at text[start:stop], with its base and exponent as they are written."""
        match = self._NUMBER.match(self._text, start, stop)
        if match is None or match.end() < stop:
            blank = len(self._text[start:stop]) - len(self._text[start:stop].lstrip())
            self._fail(match.end() if match else start + blank, "expected a number")
        base, exponent = match.groups()
        try:
            value = float(base) if exponent is None else float(base) ** int(exponent)
        except (OverflowError, ZeroDivisionError):
            value = math.inf
        if not isinstance(value, float) or not math.isfinite(value):
            self._fail(start, "too large a number")
        return value, base, None if exponent is None else int(exponent)

    def _powers(self, first: tuple[int, int], last: tuple[int, int]) -> list[Any]:
        _, base, low = self._number(*first)
        _, other, high = self._number(*last)
        if low is None or high is None:
            self._fail(last[1], "a range is A:B:N, log:A:B:N or B**I:B**J")
        if float(base) != float(other):
            self._fail(last[0], f"both powers must have the base {base}")
        if high < low:
            self._fail(last[0], "the range ends before it begins")
        return [self._wanted(float(base) ** exponent, first[0]) for exponent in range(low, high + 1)]

    def _spaced(self, bounds: list[tuple[int, int]], *, logarithmic: bool) -> list[Any]:
        (low, *_), (high, *_), (number, *_) = (self._number(*bound) for bound in bounds)
        if number != int(number) or not 1 <= number <= MOST_VALUES:
            self._fail(bounds[2][0], f"the number of values must be whole, from 1 to {MOST_VALUES}")
        if logarithmic and min(low, high) <= 0:
            self._fail(bounds[0 if low <= 0 else 1][0], "a logarithmic range needs numbers above 0")
        steps = max(int(number) - 1, 1)
        inner: list[float] = []
        for i in range(1, steps):
            share = i / steps
            inner.append(low * (high / low) ** share if logarithmic else low + (high - low) * share)
        values = [low, *inner, high][: int(number)]
        if not self._whole:
            return values
        return list(dict.fromkeys(math.floor(value + 1e-9) for value in values))

    def _wanted(self, value: float, place: int) -> Any:
        if not self._whole:
            return value
        if value != int(value):
            self._fail(place, "expected a whole number")
        return int(value)

    def _fail(self, place: int, cause: str) -> NoReturn:
        seen = repr(self._text[place]) if place < len(self._text) else "the end"
        raise InputError(
            f"{self._name}={self._text}: {cause} at character {place + 1}, {seen}; "
            "write 10,15,25 or 0:2:17 or log:10:100:6 or 2**3:2**10"
        )
