"""`superjax fit`: fits a capacity law, a power law, or a loss with offsets to a table."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from absl import flags
from absl.flags import FlagValues

from superjax.cli.command import Command, Context, Outcome
from superjax.core.errors import InputError

CAPACITY_LAWS = ("jl", "ratio", "full", "quantile")
LAWS = (*CAPACITY_LAWS, "power", "offset")
_USED_BY = {
    "low_k": ("capacity",),
    "x": ("power", "offset"),
    "y": ("power", "offset"),
    "by": ("power", "offset"),
    "window": ("power",),
    "parameters": ("power",),
}


@dataclass(frozen=True)
class FitConfig:
    """Which table, which laws, and how."""

    table: str
    sha256: str
    laws: tuple[str, ...]
    low_k: str | None
    x: str
    y: str
    by: tuple[str, ...]
    window: tuple[float, float] | None
    parameters: bool
    draws: int
    seed: int


def define_flags(values: FlagValues) -> None:
    """What to fit to what."""
    flags.DEFINE_string("table", None, "the CSV file `PATH`, with a header", flag_values=values)
    flags.DEFINE_list(
        "law",
        [],
        "`LAW[,LAW]`: jl, ratio, full, quantile (columns k, d, coherence), power (columns --x, --y), or offset "
        "(columns --x, --y and those of --by); by default the first four, for random draws jl",
        flag_values=values,
    )
    flags.DEFINE_enum(
        "low_k", None, ("formula", "zero", "exclude"),
        "rows with k <= d, where an orthonormal set has coherence 0: use the formula, predict zero, or leave them out; "
        "by default they are left out, and the published treatment is shown beside",
        flag_values=values,
    )  # fmt: skip
    flags.DEFINE_string("x", "m", "the column `NAME` a power law runs over", flag_values=values)
    flags.DEFINE_string("y", "loss", "the column `NAME` it gives", flag_values=values)
    flags.DEFINE_list("by", None, "columns `NAME[,NAME]` that tell groups apart; class,dataset for offset",
                      flag_values=values)  # fmt: skip
    flags.DEFINE_string("window", None, "use x from `LOW:HIGH` only, in a power law", flag_values=values)
    flags.DEFINE_bool(
        "parameters", False, "x counts parameters: convert the exponent to width as well", flag_values=values
    )
    flags.DEFINE_integer("draws", 200, "bootstrap with `N` refits", lower_bound=2, flag_values=values)
    flags.DEFINE_integer("seed", 0, "the number `N` the bootstrap comes from", flag_values=values)


def configure(values: FlagValues) -> FitConfig:
    """Flags -> configuration."""
    unknown = [law for law in values.law if law not in LAWS]
    if unknown:
        raise InputError(f"--law={','.join(values.law)}: give {', '.join(LAWS)}, or several of the first four")
    if len(values.law) > 1 and not set(values.law) <= set(CAPACITY_LAWS):
        raise InputError(f"--law={','.join(values.law)}: power and offset need other columns; give one of them alone")
    _refuse_unused(values)
    by = values.by if values.by is not None else (["class", "dataset"] if values.law == ["offset"] else [])
    return FitConfig(
        table=values.table,
        sha256=_digest(values.table),  # another content is another run
        laws=tuple(values.law),
        low_k=values.low_k,
        x=values.x,
        y=values.y,
        by=tuple(by),
        window=None if values.window is None else _window(values.window),
        parameters=values.parameters,
        draws=values.draws,
        seed=values.seed,
    )


def _refuse_unused(values: FlagValues) -> None:
    """A flag that the chosen law would silently ignore."""
    kind = values.law[0] if values.law and values.law[0] not in CAPACITY_LAWS else "capacity"
    unused = [name for name, kinds in _USED_BY.items() if kind not in kinds and values[name].present]
    if unused:
        law = f"--law={','.join(values.law)}" if values.law else "the capacity laws"
        belongs = " or ".join(
            f"--law={name}" if name != "capacity" else "a capacity law" for name in _USED_BY[unused[0]]
        )
        raise InputError(f"--{unused[0]}: not used by {law}; leave it out, or give {belongs}")


def run(config: FitConfig, _: Context) -> Outcome:
    """Fit, and say how well."""
    from superjax.cli import fit_outcome
    from superjax.laws import read_table

    table = read_table(config.table)
    if config.laws == ("power",):
        return fit_outcome.power(table, config)
    if config.laws == ("offset",):
        return fit_outcome.offset(table, config)
    return fit_outcome.capacity_laws(table, config)


def _digest(path: str) -> str:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; give a CSV file") from None


def _window(text: str) -> tuple[float, float]:
    try:
        low, high = (float(part) for part in text.split(":"))
    except ValueError:
        raise InputError(f"--window={text}: is not LOW:HIGH; give two numbers such as 32:1024") from None
    if not low < high:
        raise InputError(f"--window={text}: holds no interval; give LOW < HIGH, such as 32:1024")
    return low, high


COMMAND = Command(
    summary="fits a law to a table: constants, intervals, errors, residuals",
    details=(
        "Fits capacity laws to packings (columns k, d, coherence, such as the table.csv of superjax pack), with the "
        "published constants beside them; a power law to losses over widths; or loss = A / m^alpha + B, with one A and "
        "alpha and a B per group. Rows of a column kind are fitted apart; of a column objective only coherence is used."
    ),
    examples=(
        "superjax fit --table=runs/pack/table.csv",
        "superjax fit --table=packings.csv --law=full --low_k=zero",
        "superjax fit --table=losses.csv --law=power --window=32:1024",
        "superjax fit --table=llm.csv --law=offset --by=class,dataset",
    ),
    define_flags=define_flags,
    configure=configure,
    run=run,
    required=("table",),
    on_devices=False,
)
