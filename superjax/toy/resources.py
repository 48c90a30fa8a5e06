"""What an ensemble may use: devices, memory, precision."""

from __future__ import annotations

from dataclasses import dataclass

import jax
from jax.sharding import Mesh

from superjax.toy.members import Program
from superjax.toy.memory import members_at_a_time


@dataclass(frozen=True)
class Resources:
    """What an ensemble may use, and how.

    Attributes:
        mesh: devices; members are sharded over them.
        chunk: members of a program at a time; from the memory there is when None.
        memory: bytes they may take; from the memory there is when None.
        abreast: members side by side on a device; by the platform when None.
        precision: of matrix products.
    """

    mesh: Mesh
    chunk: int | None = None
    memory: int | None = None
    abreast: int | None = None
    precision: str = "highest"

    @property
    def devices(self) -> list[jax.Device]:
        """The devices of the mesh."""
        return list(self.mesh.devices.flat)

    def members_at_a_time(self, program: Program) -> int:
        """The chunk, given or found.

        Raises:
            InputError: not enough memory for one member.
        """
        return self.chunk or members_at_a_time(program, self.devices, self.memory)

    def members_abreast(self, number: int) -> int:
        """How many of a device's `number` members are computed side by side."""
        by_platform = 1 if self.devices[0].platform == "cpu" else number
        return min(number, self.abreast or by_platform)
