"""`superjax train`: ensembles of toy autoencoders over a grid of settings."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from absl import flags
from absl.flags import FlagValues

from superjax.cli.command import Command, Context, Outcome
from superjax.core.errors import InputError
from superjax.core.grid import parse_grid

if TYPE_CHECKING:
    from superjax.toy import Sweep


@dataclass(frozen=True)
class TrainConfig:
    """The sweep, and how it is run."""

    preset: str | None
    sweep: Sweep
    chunk: int | None = field(compare=False)  # changes no result
    dry_run: bool = field(compare=False)


_GRIDS = {
    "n": ("numbers of features, a `GRID` such as 256 or 2**8:2**10", True),
    "m": ("hidden dimensions, a `GRID` such as 10,15,25 or log:10:100:6", True),
    "alpha": ("exponents of the power law of the features' frequencies, a `GRID` such as 0:2:17", False),
    "decay": ("gamma, a `GRID` such as -1:1:10: weight decay above 0, growth towards unit rows below", False),
    "density": ("activation densities, mean number of active features in a sample, a `GRID`", False),
    "importance": ("r of the loss's weights I_i = r^i, i from 0, a `GRID`", False),
    "lr": ("peak learning rates, a `GRID`", False),
}
"""Grid flags: their help, and whether they are whole numbers."""


def define_flags(values: FlagValues) -> None:
    """What to train, and how."""
    from superjax.toy.sweep import PRESETS

    listed = "; ".join(f"{name}: {preset.about}" for name, preset in PRESETS.items())
    flags.DEFINE_string("preset", None, f"`NAME` of a sweep, which other flags change: {listed}", flag_values=values)
    for name, (meaning, _) in _GRIDS.items():
        flags.DEFINE_string(name, None, meaning, flag_values=values)
    flags.DEFINE_list(
        "distribution", None, "laws of the features' frequencies, of `power,exponential,linear,uniform`",
        flag_values=values,
    )  # fmt: skip
    flags.DEFINE_enum("activation", None, ["relu", "linear"], "of the output", flag_values=values)
    for name, meaning in (
        ("seeds", "train every setting with `N` seeds, from --seed on"),
        ("steps", "training steps"),
        ("batch", "samples a step"),
        ("chunk", "train `N` members of a size at a time; by default as many as the memory holds"),
    ):
        flags.DEFINE_integer(name, None, meaning, lower_bound=1, flag_values=values)
    flags.DEFINE_bool("dry_run", False, "say what would be trained and what it takes, and stop", flag_values=values)


def configure(values: FlagValues) -> TrainConfig:
    """Flags -> configuration: the preset's sweep, or the plain one, with what the flags say otherwise."""
    from superjax.toy import Sweep, preset

    sweep = Sweep() if values.preset is None else preset(values.preset).sweep
    changes: dict[str, Any] = {
        name: parse_grid(text, f"--{name}", whole=whole)
        for name, (_, whole) in _GRIDS.items()
        if (text := values[name].value) is not None
    }
    for name in ("activation", "seeds", "steps", "batch"):
        if values[name].value is not None:
            changes[name] = values[name].value
    if values.distribution is not None:
        changes["distribution"] = tuple(values.distribution)
    sweep = replace(sweep, **changes)
    try:
        _ = sweep.training, [member.program for member in sweep.members(values.seed)]
    except InputError as error:
        raise InputError(f"--{error}") from None
    return TrainConfig(values.preset, sweep, values.chunk, values.dry_run)


def run(config: TrainConfig, context: Context) -> Outcome:
    """Train and measure, or say what it would take."""
    from superjax.cli.train_outcome import forecast, outcome
    from superjax.cli.train_records import Records
    from superjax.core.mesh import row_mesh
    from superjax.toy import train_ensemble

    members = config.sweep.members(context.seed)
    if config.dry_run:
        return forecast(config.sweep, members, context.devices, config.chunk)
    with (
        context.checkpoints() as kept,
        context.progress(f"{len(members)} members") as on_progress,
        Records(members, config.sweep.training, context, kept) as records,
    ):
        result = train_ensemble(
            members,
            config.sweep.training,
            mesh=row_mesh(context.devices),
            chunk=config.chunk,
            precision=context.precision,
            on_progress=on_progress,
            on_checkpoint=records.offer,
            on_trained=records.add,
            unfinished=records.unfinished,
        )
    return outcome(config.sweep, result, records.geometries)


COMMAND = Command(
    summary="ensembles of toy autoencoders over a grid of sizes, decays and data",
    details=(
        "Trains y = relu(W W^T x + b), W of n features by m hidden dimensions, for every combination of the settings, "
        "hundreds in one program. Fits the exponent of loss against m, and measures which features are represented "
        "and how their directions overlap. Grids: 10,15,25 or 0:2:17 (evenly spaced) or log:10:100:6 or 2**3:2**10."
    ),
    examples=(
        "superjax train --preset=quick",
        "superjax train --preset=liu_small --alpha=1 --decay=-1,1 --out=runs/liu",
        "superjax train --n=200 --m=20 --density=0.5:4:8 --decay=-1,0,1 --steps=2000 --batch=1024",
        "superjax train --preset=liu_large --dry_run",
    ),
    define_flags=define_flags,
    configure=configure,
    run=run,
    on_hosts=True,
    keeps_checkpoints=True,
)
