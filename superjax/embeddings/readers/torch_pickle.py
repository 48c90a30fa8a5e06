"""Looks into a pickle without running it: which Python names does it want, and are they harmless?"""

from __future__ import annotations

import pickletools
from collections.abc import Iterable
from typing import IO, Any

from superjax.core.errors import InputError

_PLAIN = frozenset(
    ("collections.OrderedDict", "collections.Counter", "_codecs.encode", "builtins.bytearray", "builtins.set")
)
_HARMLESS = (
    "accelerate.",
    "argparse.Namespace",
    "datetime.",
    "numpy.",
    "omegaconf.",
    "pathlib.",
    "transformers.integrations.",
    "transformers.trainer_",
    "transformers.training_args",
    "typing.Any",
)
"""Modules whose classes trainers leave beside the weights; their names are bound to `Inert`, never imported."""


class Inert:
    """Stands in for a foreign object: takes any arguments and any state, keeps and does nothing."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Inert:
        """Ignore what the pickle wanted to construct."""
        return super().__new__(cls)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Ignore the arguments."""

    def __setstate__(self, state: Any) -> None:
        """Ignore the state."""

    def __hash__(self) -> int:
        """All stand-ins may be keys of a dict."""
        return id(self)


def wanted_names(stream: IO[bytes], pickles: int = 1) -> set[str]:
    """The dotted names that a run of pickles would import, by reading their opcodes only."""
    names: set[str] = set()
    for _ in range(pickles):
        texts: list[str] = []
        for opcode, argument, _position in pickletools.genops(stream):
            if opcode.name == "GLOBAL":
                names.add(str(argument).replace(" ", ".", 1).replace("__builtin__.", "builtins.", 1))
            elif opcode.name == "STACK_GLOBAL":
                names.add(".".join(texts[-2:]))
            elif isinstance(argument, str):
                texts.append(argument)
    return {"".join(char if char.isprintable() else "?" for char in name) for name in names}


def harmless(names: Iterable[str]) -> set[str]:
    """The names that may become `Inert`: leftovers of well-known trainers."""
    return {name for name in names if name.startswith(_HARMLESS)}


def refuse_foreign(where: str, names: set[str]) -> None:
    """Raise InputError naming what a pickle wants beyond tensors and harmless leftovers."""
    foreign = sorted(name for name in names - _PLAIN - harmless(names) if not name.startswith("torch."))
    modules = sorted(name for name in names if name.startswith("torch.nn.modules."))
    if foreign:
        raise InputError(
            f"{where}: the pickle asks for {', '.join(foreign[:4])}, which is never loaded because it can run code; "
            "save only the weights: torch.save(model.state_dict(), FILE), or as .safetensors"
        )
    if modules:
        raise InputError(
            f"{where}: a whole pickled model ({', '.join(modules[:2])}), which is never loaded; "
            "save only the weights: torch.save(model.state_dict(), FILE), or as .safetensors"
        )
