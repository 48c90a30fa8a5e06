"""A run folder as the report reads it: manifest, summary, table and figures, checked as they come in."""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from superjax.core.errors import InputError, InputWarning
from superjax.runs import RunFolder
from superjax.runs.results import FIGURES, MANIFEST, SUMMARY, TABLE, TEXT

_SVG_AT_MOST = 2**21
"""Bytes of a vector figure beyond which its picture of points, where that is smaller, is the better one."""


@dataclass(frozen=True)
class Figure:
    """One figure of a run.

    Attributes:
        name: the file's name without its ending.
        kind: "image/svg+xml" or "image/png".
        content: the file.
    """

    name: str
    kind: str
    content: bytes


@dataclass(frozen=True)
class Run:
    """What a run folder holds.

    Attributes:
        path: the folder.
        manifest: `manifest.json`; `command` is text, `argv` a list of texts, `config` and `versions` mappings.
        summary: `summary.json`, empty where there is none.
        table: `table.csv` as it stands, empty where there is none.
        text: `table.txt`, what the command printed.
        figures: those under `figures/`, by name.
    """

    path: Path
    manifest: Mapping[str, Any]
    summary: Mapping[str, Any]
    table: str
    text: str
    figures: tuple[Figure, ...]

    @property
    def command(self) -> str:
        return self.manifest["command"]

    @property
    def name(self) -> str:
        """The folder's own name."""
        return self.path.absolute().name

    @property
    def status(self) -> str:
        """ "finished", "running" (or broken off: nobody knows from outside) or "failed"."""
        return str(self.manifest.get("status", "running"))

    @property
    def config(self) -> Mapping[str, Any]:
        return self.manifest["config"]

    @property
    def command_line(self) -> list[str]:
        """What was run, the program's name first, without the folder it went to; with it where it is to go on there."""
        arguments = ["superjax", *_without_out(self.manifest["argv"])]
        return arguments if self.status == "finished" else [*arguments, f"--out={self.path.absolute()}"]

    @property
    def rerun_line(self) -> list[str] | None:
        """The arguments that run it again and compare; None where there is nothing to compare with."""
        return ["superjax", "rerun", str(self.path.absolute())] if self.status == "finished" else None

    def rows(self) -> list[dict[str, str]]:
        """The table's rows; header -> cell.

        Raises:
            InputError: it is no table, or a row has another number of cells than the header.
        """
        try:
            lines = list(csv.reader(io.StringIO(self.table, newline="")))
        except csv.Error as error:
            raise damaged(self.path / TABLE, f"is no table ({error})") from None
        header, *body = lines or [[]]
        for number, cells in enumerate(body, start=2):
            if len(cells) != len(header):
                raise damaged(self.path / TABLE, f"line {number} has {len(cells)} cells and the header {len(header)}")
        return [dict(zip(header, cells, strict=True)) for cells in body]


def _without_out(arguments: Sequence[str]) -> list[str]:
    """The arguments less `--out=FOLDER` or `--out FOLDER`: a finished folder would leave the command alone."""
    kept = [argument for argument in arguments if not re.match(r"--?out=", argument)]
    for place in [place for place, argument in enumerate(kept) if argument in ("--out", "-out")][::-1]:
        del kept[place : place + 2]
    return kept


def damaged(path: Path, cause: str) -> InputError:
    """The error of a file that is not as the command left it."""
    return InputError(f"{path}: {cause}; run the command again, or leave this folder out")


def read_run(path: Path) -> Run:
    """Read a run folder, finished or not.

    Args:
        path: the folder.

    Returns:
        The run.

    Raises:
        InputError: no run folder, or a file in it is damaged; names file, cause and remedy.

    Example:
        >>> read_run(Path("/nowhere"))
        Traceback (most recent call last):
        ...
        superjax.core.errors.InputError: /nowhere: no such folder; give a run folder, such as runs/embed-20261130-131342
    """
    try:
        return _read_run(path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}; give a run folder that can be read") from None


def _read_run(path: Path) -> Run:
    manifest = _read_manifest(path)
    finished = manifest.get("status") == "finished"
    run = Run(
        path=path,
        manifest=manifest,
        summary=_read_summary(path, needed=finished),
        table=_read_text(path / TABLE),
        text=_read_text(path / TEXT),
        figures=tuple(_figures(path / FIGURES)),
    )
    run.rows()
    return run


def _read_manifest(path: Path) -> dict[str, Any]:
    if not path.exists():
        raise InputError(f"{path}: no such folder; give a run folder, such as runs/embed-20261130-131342")
    if not path.is_dir():
        raise InputError(f"{path}: is a file; give the run folder that holds it")
    if not (path / MANIFEST).exists():
        inside = sorted(child.name for child in path.iterdir() if (child / MANIFEST).exists())
        remedy = f"give the run folders in it, such as {path / inside[0]}" if inside else "give a run folder"
        raise InputError(f"{path}: holds no {MANIFEST}; {remedy}")
    manifest = _read_json(path, MANIFEST)
    wanted = {"command": str, "argv": list, "config": dict}
    for field, kind in wanted.items():
        if not isinstance(manifest.get(field), kind):
            raise damaged(path / MANIFEST, f"has no {field}")
    return {
        **manifest,
        "argv": [str(argument) for argument in manifest["argv"]],
        "versions": manifest["versions"] if isinstance(manifest.get("versions"), dict) else {},
    }


def _read_summary(path: Path, *, needed: bool) -> dict[str, Any]:
    return _read_json(path, SUMMARY) if needed or (path / SUMMARY).exists() else {}


def _read_json(path: Path, name: str) -> dict[str, Any]:
    try:
        return RunFolder(path).read_json(name)
    except InputError as error:
        cause = str(error).removeprefix(f"{path / name}: ").removesuffix("; give another --out")
        raise damaged(path / name, " ".join(cause.split())) from None
    except RecursionError:
        raise damaged(path / name, "is nested too deeply") from None


def _read_text(path: Path) -> str:
    if not path.exists():
        return ""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise damaged(path, f"cannot be read ({getattr(error, 'strerror', None) or error})") from None


def _figures(folder: Path) -> Iterator[Figure]:
    """Each figure once: the SVG, or the PNG where there is no SVG or a very large one."""
    if not folder.is_dir():
        return
    for stem in sorted({path.stem for path in folder.iterdir() if path.suffix in (".svg", ".png")}):
        svg, png = (_read_bytes(folder / f"{stem}{ending}") for ending in (".svg", ".png"))
        if svg is not None and b"<svg" not in svg[:2000]:
            raise damaged(folder / f"{stem}.svg", "is no SVG")
        if png is not None and not png.startswith(b"\x89PNG\r\n\x1a\n"):
            raise damaged(folder / f"{stem}.png", "is no PNG")
        if svg is not None and (png is None or len(svg) <= max(_SVG_AT_MOST, len(png))):
            yield Figure(stem, "image/svg+xml", svg)
        elif png is not None:
            yield Figure(stem, "image/png", png)


def _read_bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes() if path.exists() else None
    except OSError as error:
        raise damaged(path, f"cannot be read ({error.strerror})") from None


def read_runs(paths: Sequence[Path]) -> list[Run]:
    """Read several run folders, each once, however often it is given; earlier reports are left out with a warning.

    Args:
        paths: the folders.

    Returns:
        The runs, in the order given.

    Raises:
        InputError: none is given, all are reports, or as :func:`read_run`.
    """
    if not paths:
        raise InputError("RUN: no run folder is given; give one or more, such as runs/embed-20261130-131342")
    found = [read_run(path) for path in dict.fromkeys(Path(path) for path in paths)]
    runs = [run for run in found if run.command != "report"]
    if not runs:
        raise InputError(f"{found[0].path}: is itself a report; give the runs it was made of")
    for run in found:
        if run.command == "report":
            warnings.warn(f"{run.path}: is itself a report and left out", InputWarning, stacklevel=2)
    return runs
