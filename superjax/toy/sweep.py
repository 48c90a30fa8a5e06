"""Sweeps over toy models: what a grid holds, the published ones, and what a sweep costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from superjax.core.errors import InputError
from superjax.core.grid import product
from superjax.toy.engine import Training
from superjax.toy.members import Member


@dataclass(frozen=True)
class Sweep:
    """All combinations of some settings, and how they are trained.

    Attributes:
        n: features.
        m: hidden dimensions.
        distribution: laws of the features' frequencies.
        alpha: exponents of the power law; other laws have none, and appear once.
        density: activation densities.
        decay: gamma.
        importance: r of the loss's weights I_i = r^i.
        activation: "relu" or "linear".
        seeds: how many, consecutive.
        steps: training steps.
        batch: samples a step.
        lr: peak learning rates of W and b alike; None for those of the large setting, 0.02 (8/m)^(1/4) for W and 2/m
            for b.
        warmup: share of the steps with rising learning rate.
        loss_scale: factor on the mean over features, which is the loss that Adam sees.
        window: smallest and largest m of the fitted exponents; None for all.
    """

    n: tuple[int, ...] = (1000,)
    m: tuple[int, ...] = (10, 15, 25, 39, 63, 100)
    distribution: tuple[str, ...] = ("power",)
    alpha: tuple[float, ...] = (1.0,)
    density: tuple[float, ...] = (1.0,)
    decay: tuple[float, ...] = (-1.0, 1.0)
    importance: tuple[float, ...] = (1.0,)
    activation: Literal["relu", "linear"] = "relu"
    seeds: int = 1
    steps: int = 20_000
    batch: int = 2048
    lr: tuple[float, ...] | None = (1e-2,)
    warmup: float = 0.1
    loss_scale: float = 1.0
    window: tuple[float, float] | None = None

    @property
    def training(self) -> Training:
        """Steps, schedule and test."""
        return Training(steps=self.steps, warmup=self.warmup)

    def members(self, seed: int = 0) -> list[Member]:
        """The members of the sweep.

        Args:
            seed: the first seed.

        Returns:
            One member for each combination, the seed fastest.

        Raises:
            InputError: a grid of nothing, or settings that cannot be.
        """
        if self.seeds < 1:
            raise InputError(f"seeds: {self.seeds} is not possible; give at least 1")
        axes = {
            "n": self.n,
            "m": self.m,
            "distribution": self.distribution,
            "alpha": self.alpha,
            "density": self.density,
            "decay": self.decay,
            "importance": self.importance,
            "learning_rate": (None,) if self.lr is None else self.lr,
            "seed": range(seed, seed + self.seeds),
        }
        return [self._member(**settings) for settings in product(axes) if self._is_new(settings)]

    def _is_new(self, settings: Mapping[str, Any]) -> bool:
        """Whether this is no repetition: alpha means nothing to laws other than the power law."""
        return settings["distribution"] == "power" or settings["alpha"] == self.alpha[0]

    def _member(self, *, learning_rate: float | None, **settings: Any) -> Member:
        n, m = settings["n"], settings["m"]
        by_width = learning_rate is None
        return Member(
            **settings,
            activation=self.activation,
            batch=self.batch,
            learning_rate=0.02 * (8 / m) ** 0.25 if learning_rate is None else learning_rate,
            bias_learning_rate=2 / m if by_width else None,
            loss_scale=self.loss_scale / n,
        )


@dataclass(frozen=True)
class Preset:
    """A named sweep.

    Attributes:
        sweep: what it runs.
        about: what it is, its source, and what it takes.
    """

    sweep: Sweep
    about: str


def _spaced(low: float, high: float, number: int) -> tuple[float, ...]:
    return tuple(low + (high - low) * i / (number - 1) for i in range(number))


_SMALL = Sweep(decay=_spaced(-1, 1, 10), alpha=_spaced(0, 2, 17))
_HARMONIC_1000 = sum(1 / i for i in range(1, 1001))

PRESETS = {
    "quick": Preset(
        Sweep(
            n=(256,),
            m=(8, 16, 32, 64),
            alpha=(0.5,),
            decay=_spaced(-1, 1, 10),
            seeds=3,
            steps=1200,
            batch=512,
            lr=(2.2e-2,),
        ),
        "120 members, n=256, three seeds: both regimes, a minute on two cores",
    ),
    "liu_small": Preset(
        _SMALL,
        "1020 members, n=1000 (Liu, Liu and Gore 2025, fig. 9b): 16 hours on two cores",
    ),
    "liu_density": Preset(
        replace(_SMALL, alpha=(1.0,), density=_spaced(1, _HARMONIC_1000, 9)),
        "540 members, n=1000, nine activation densities (their fig. 14): 14 hours on two cores",
    ),
    "liu_large": Preset(
        Sweep(
            n=(10_240,),
            m=tuple(2**i for i in range(3, 11)),
            distribution=("power", "exponential", "linear"),
            alpha=(1.2,),
            decay=(-1.0, 0.1),
            lr=None,
            warmup=0.05,
            loss_scale=100.0,
        ),
        "48 members, n=10240, m=8..1024 (their fig. 1): three days on two cores",
    ),
}
"""name -> preset. The losses and steps are the paper's: liu_large has its 20000 steps of 2048, not the code's 40000 of
8192; Adam sees the mean over features, times 100 in liu_large, as in the code."""


def preset(name: str) -> Preset:
    """The preset of that name.

    Raises:
        InputError: there is none.

    Example:
        >>> len(preset("liu_small").sweep.members()), len(preset("quick").sweep.members())
        (1020, 120)
    """
    if name not in PRESETS:
        raise InputError(f"preset: {name!r} is unknown; choose one of {', '.join(PRESETS)}")
    return PRESETS[name]
