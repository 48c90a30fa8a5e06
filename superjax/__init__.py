"""superjax: the geometry of superposition in JAX.

Subpackages load on first use, so ``import superjax`` starts no device and brings in neither torch,
flax, optax nor absl::

    import superjax
    spectrum = superjax.embeddings.cosine_spectrum(rows)   # rows: [V, d]
"""

from __future__ import annotations

import importlib
from types import ModuleType

from superjax._version import __version__

_SUBPACKAGES = ("core", "laws", "toy", "packing", "embeddings", "runs", "figures", "report", "cli")

__all__ = ["__version__", *_SUBPACKAGES]


def __getattr__(name: str) -> ModuleType:
    if name in _SUBPACKAGES:
        return importlib.import_module(f"superjax.{name}")
    raise AttributeError(f"module 'superjax' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
