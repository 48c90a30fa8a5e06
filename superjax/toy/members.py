"""What one toy model of an ensemble is, and how members share shapes, programs and batches of data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from superjax.core import grid as grids
from superjax.core import keys
from superjax.core.errors import InputError
from superjax.toy.features import activation_probabilities
from superjax.toy.model import ACTIVATIONS
from superjax.toy.sampling import is_sparse

DATA_OVERHEAD = 0.5
"""Time to draw a batch, in steps of one model; decides how members that share batches are laid over devices."""


@dataclass(frozen=True, eq=False)
class Member:
    r"""The settings of one toy autoencoder.

    Attributes:
        n: features, >= 2.
        m: hidden dimensions, 1 <= m <= n.
        decay: gamma; weight decay when >= 0, growth towards unit rows when < 0.
        distribution: "power", "exponential", "linear", "uniform", or [n] weights of the features.
        alpha: exponent of the power law.
        density: activation density E, the sum of the probabilities; None takes the weights as probabilities.
        high: values of active features are uniform on [0, high).
        importance: [n] weights I_i of the loss, or one number r for I_i = r^i, i from 0.
        activation: "relu" or "linear".
        seed: of the starting values and of the data.
        learning_rate: peak learning rate of W.
        bias_learning_rate: peak learning rate of b; that of W when None.
        weight_std: standard deviation of W's starting values; 1 / sqrt(m) when None.
        bias_std: standard deviation of b's starting values.
        loss_scale: factor on the loss that Adam sees; it matters only through Adam's epsilon.
        batch: B, samples a step.
    """

    n: int
    m: int
    decay: float = -1.0
    distribution: str | Sequence[float] | np.ndarray = "power"
    alpha: float = 1.0
    density: float | None = 1.0
    high: float = 2.0
    importance: float | Sequence[float] | np.ndarray = 1.0
    activation: str = "relu"
    seed: int = 0
    learning_rate: float = 1e-2
    bias_learning_rate: float | None = None
    weight_std: float | None = None
    bias_std: float = 1.0
    loss_scale: float = 1.0
    batch: int = 2048

    def __post_init__(self) -> None:
        _check_whole("n", self.n, 2, 2**24)
        _check_whole("m", self.m, 1, self.n, remedy=f"give 1 <= m <= n = {self.n}")
        _check_whole("batch", self.batch, 1, (2**31 - 1) // self.n)
        _check_whole("seed", self.seed, 0, 2**63 - 1)
        if self.activation not in ACTIVATIONS:
            raise InputError(f"activation: {self.activation!r} is unknown; choose one of {', '.join(ACTIVATIONS)}")
        if self.density is not None:
            _check_number("density", self.density, above_zero=True)
        _check_number("high", self.high, above_zero=True)
        for name in ("decay", "alpha", "learning_rate", "bias_std", "loss_scale"):
            _check_number(name, getattr(self, name))

    @cached_property
    def probabilities(self) -> np.ndarray:
        """[n] float32, how often each feature is active."""
        return activation_probabilities(self.distribution, self.n, alpha=self.alpha, density=self.density)

    @cached_property
    def importances(self) -> np.ndarray:
        """[n] float32, weights of the loss."""
        given = np.asarray(self.importance, np.float64)
        weights = given ** np.arange(self.n) if given.ndim == 0 else given
        if weights.shape != (self.n,) or not np.all(np.isfinite(weights)) or np.any(weights < 0):
            raise InputError(f"importance: {given.shape} for n = {self.n}; give one number, or n finite numbers >= 0")
        return weights.astype(np.float32)

    @property
    def bias_rate(self) -> float:
        """Peak learning rate of b."""
        return self.learning_rate if self.bias_learning_rate is None else self.bias_learning_rate

    @property
    def start_scale(self) -> float:
        """Standard deviation of W's starting values."""
        return self.m**-0.5 if self.weight_std is None else self.weight_std

    @property
    def program(self) -> Program:
        """What the compiled program depends on."""
        return Program(self.n, self.m, self.batch, self.activation, is_sparse(self.probabilities))

    @cached_property
    def data(self) -> tuple[int, ...]:
        """Identity of the stream of batches: members with the same one see the same samples."""
        return (self.seed, self.n, self.batch, *keys.digest(self.probabilities, f"uniform(0, {self.high!r})"))


class Program(NamedTuple):
    """The static part of members: one compiled program each.

    Attributes:
        n: features.
        m: hidden dimensions.
        batch: samples a step.
        activation: "relu" or "linear".
        sparse: whether batches are drawn and used as lists of entries.
    """

    n: int
    m: int
    batch: int
    activation: str
    sparse: bool


def grid(**axes: Any) -> list[Member]:
    """Members for all combinations of settings; a setting that is a list, a tuple or a range has several values.

    Args:
        axes: settings of `Member`; an array per member, such as probabilities, goes into a list of arrays.

    Returns:
        The members, the last axis fastest.

    Raises:
        InputError: an unknown setting, a grid of nothing, or settings that cannot be.

    Example:
        >>> [(member.m, member.decay) for member in grid(n=100, m=[5, 10], decay=[-1.0, 1.0])]
        [(5, -1.0), (5, 1.0), (10, -1.0), (10, 1.0)]
    """
    unknown = set(axes) - set(Member.__dataclass_fields__)
    if unknown:
        raise InputError(f"{min(unknown)}: no setting of a toy model; it has {', '.join(Member.__dataclass_fields__)}")
    lists = {name: value if isinstance(value, list | tuple | range) else [value] for name, value in axes.items()}
    return [Member(**settings) for settings in grids.product(lists)]


@dataclass(frozen=True)
class Layout:
    """Members of one program as blocks of equal width that share their data: how they are laid over devices.

    Attributes:
        places: [N, F] index of the member in each place; places beyond the members repeat one and are not read.
        real: [N, F] bool, whether the place is its member's own.
    """

    places: np.ndarray
    real: np.ndarray = field(repr=False)

    @property
    def blocks(self) -> int:
        """N, a multiple of the number of devices."""
        return self.places.shape[0]

    @property
    def width(self) -> int:
        """F."""
        return self.places.shape[1]

    @property
    def members(self) -> list[int]:
        """Whose places these are."""
        return self.places[self.real].tolist()


def lay_out(members: Sequence[Member], devices: int, most: int | None = None) -> Layout:
    """Blocks of members with one stream of data each, cut so that the devices are evenly busy.

    Args:
        members: of one program.
        devices: how many devices.
        most: members at a time on all devices together, no less than one a device; all of them when None.

    Returns:
        The layout of least estimated time.

    Example:
        >>> lay_out(grid(n=100, m=5, decay=[-1.0, -0.5, 0.5, 1.0]), devices=2).places.tolist()
        [[0, 1], [2, 3]]
    """
    streams = list(grids.group_by(members, lambda member: member.data).values())

    def cost(width: int) -> float:
        blocks = sum(-(-len(stream) // width) for stream in streams)
        return -(-blocks // devices) * (width + DATA_OVERHEAD)

    widest = min(max(map(len, streams)), max(1, (most or len(members)) // devices))
    width = min(range(1, widest + 1), key=lambda width: (cost(width), width))
    rows = [(s[i : i + width] + [-1] * width)[:width] for s in streams for i in range(0, len(s), width)]
    rows += [[-1] * width] * (-len(rows) % devices)
    places = np.array(rows)
    real = places >= 0
    # An idle place repeats the first member of its block, or of all: it computes something harmless.
    first = np.maximum(places[:, :1], 0)
    return Layout(np.where(real, places, first), real)


def _check_whole(name: str, value: Any, low: int, high: int, remedy: str | None = None) -> None:
    if not isinstance(value, int | np.integer) or not low <= value <= high:
        raise InputError(f"{name}: {value!r} is not possible; {remedy or f'give a whole number from {low} to {high}'}")


def _check_number(name: str, value: Any, *, above_zero: bool = False) -> None:
    if not isinstance(value, int | float | np.number) or not np.isfinite(value) or (above_zero and not value > 0):
        raise InputError(f"{name}: {value!r} is not possible; give a finite number{' above 0' * above_zero}")
