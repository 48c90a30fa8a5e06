"""Ensembles of toy autoencoders against plain PyTorch: python -m benchmarks.bench_toy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh

from benchmarks import _harness
from superjax.core import loop
from superjax.core import mesh as meshes
from superjax.toy import Member, Training, grid
from superjax.toy.group import Group
from superjax.toy.resources import Resources

SIZES = (10, 15, 25, 39, 63, 100)
GAMMAS = [float(gamma) for gamma in np.linspace(-1, 1, 10)]


class Ours:
    """The members of one program, compiled and warm; a call trains them for some more steps.

    Args:
        members: of one program.
        mesh: devices.
        steps: of one call.
    """

    def __init__(self, members: Sequence[Member], mesh: Mesh, steps: int) -> None:
        self.members, self.mesh, self.steps = members, mesh, steps
        group = Group(members[0].program, members, Training(steps=2**20), Resources(mesh))
        [layout] = group._plan()
        self.engine = group._engine
        self.constants = group._shard(group._constants(layout))
        start = group._shard(group._starting_state(layout))
        self.loop = loop.begin(self.engine, start, self.constants, 2**20, record_every=2**12)

    def __call__(self) -> None:
        """Train for `steps` steps."""
        until = int(self.loop.step) + self.steps
        options: dict[str, Any] = {"mesh": self.mesh, "record_every": 2**12, "chunk_seconds": 60.0}
        self.loop = loop.run(self.engine, self.loop, self.constants, until, **options)
        jax.block_until_ready(self.loop.state)

    def data_alone(self) -> Callable[[], None]:
        """A call that draws the batches of `steps` steps on every device, and does nothing with them."""

        def body(constants: Any) -> jax.Array:
            def draw(index: jax.Array, total: jax.Array) -> jax.Array:
                def touch(block: Any) -> jax.Array:
                    batch = self.engine._draw(block.train_key, block.table, index)
                    return jnp.stack([jnp.sum(leaf).astype(jnp.float32) for leaf in jax.tree.leaves(batch)]).sum()

                return total + lax.map(touch, constants)

            blocks = constants.hparams.decay.shape[0]
            return lax.fori_loop(0, self.steps, draw, meshes.varying(jnp.zeros(blocks)))

        program = jax.jit(lambda constants: meshes.over_rows(body, self.mesh)(constants))
        return lambda: jax.block_until_ready(program(self.constants))

    def flops(self) -> float:
        """Operations in the matrix products of one model's step."""
        member = self.members[0]
        filled = 1 - float(np.prod(1 - member.probabilities.astype(np.float64))) if member.program.sparse else 1.0
        return (6 if member.program.sparse else 10) * filled * member.batch * member.n * (member.m + 1)


def torch_published(m: int, gamma: float, steps: int, n: int, batch: int, p: np.ndarray) -> Callable[[], None]:
    """One model by the published procedure: dense draws, autograd, decay or growth before Adam's step."""
    import torch

    W = torch.nn.Parameter(torch.randn(n, m) / m**0.5)
    b = torch.nn.Parameter(torch.randn(n))
    adam = torch.optim.Adam([W, b], lr=1e-2)
    probability = torch.from_numpy(p)

    def train() -> None:
        for _ in range(steps):
            x = (torch.rand(batch, n) < probability) * torch.rand(batch, n) * 2
            loss = ((torch.relu(x @ W @ W.T + b) - x) ** 2).mean()
            adam.zero_grad()
            loss.backward()
            with torch.no_grad():
                factor = torch.ones(()) if gamma >= 0 else 1 / (W.norm(dim=1, keepdim=True) + 1e-8) - 1
                W.sub_(1e-2 * gamma * W * factor)
            adam.step()

    return train


def torch_batched(members: int, n: int, m: int, batch: int, steps: int, p: np.ndarray) -> Callable[[], None]:
    """All models in one tensor with einsum, as Anthropic's notebook has it; p [1 or E, n], one batch for each row."""
    import torch

    W = torch.nn.Parameter(torch.randn(members, n, m) / m**0.5)
    b = torch.nn.Parameter(torch.zeros(members, n))
    adam = torch.optim.AdamW([W, b], lr=1e-3)
    probability = torch.from_numpy(p)

    def train() -> None:
        for _ in range(steps):
            shape = (batch, *probability.shape)
            x = torch.where(torch.rand(shape) <= probability, torch.rand(shape), torch.zeros(()))
            hidden = torch.einsum("...ei,eih->...eh", x.expand(batch, members, n), W)
            y = torch.relu(torch.einsum("...eh,eih->...ei", hidden, W) + b)
            loss = ((y - x) ** 2).mean(dim=(0, 2)).sum()
            adam.zero_grad()
            loss.backward()
            adam.step()

    return train


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Run the three comparisons and print their table."""
    flags = _harness.arguments(__doc__, argv, steps=20)
    mesh = meshes.row_mesh(_harness.start_devices(flags.devices))
    scale = 10 if flags.smoke else 1
    if flags.smoke:
        flags.steps, flags.repeats = 2, 1
    results = {
        **_published(mesh, flags.steps, flags.repeats, scale),
        **_many_small(mesh, flags.steps, flags.repeats, scale),
        **_own_data(mesh, flags.steps, flags.repeats, scale),
    }
    _harness.report("Toy ensembles", results, flags.json)
    return results


def _published(mesh: Mesh, steps: int, repeats: int, scale: int) -> dict[str, Any]:
    """Six m by ten gamma, n = 1000, batch 2048; both sides in milliseconds for a model's step."""
    n, batch = 1000 // scale, 2048 // scale
    results: dict[str, Any] = {}
    ours_total = theirs_total = data_total = operations = 0.0
    for m in SIZES[:: 3 if scale > 1 else 1]:
        ours = Ours(grid(n=n, m=m, batch=batch, decay=GAMMAS, loss_scale=1 / n), mesh, steps)
        p = ours.members[0].probabilities
        cases: dict[str, Callable[[], None]] = {
            "ours": ours,
            "data": ours.data_alone(),
            "growth": torch_published(m, -1.0, steps, n, batch, p),
            "decay": torch_published(m, 1.0, steps, n, batch, p),
        }
        times = _harness.take_turns(cases, repeats)
        mine = times["ours"].best / (steps * len(GAMMAS))
        theirs = (times["growth"].best + times["decay"].best) / (2 * steps)
        results[f"m = {m}: ours, ms a model-step"] = 1e3 * mine
        results[f"m = {m}: PyTorch, ms a model-step"] = 1e3 * theirs
        results[f"m = {m}: times faster (wanted: 3)"] = theirs / mine
        ours_total, theirs_total = ours_total + mine, theirs_total + theirs
        data_total += times["data"].best / (steps * len(GAMMAS))
        operations += ours.flops()
    models = len(results) // 3
    results["60 members: times faster (wanted: 5)"] = theirs_total / ours_total
    results["60 members: model-steps a second"] = models / ours_total
    results["60 members: GFLOP/s in products"] = operations / ours_total / 1e9
    results["60 members: share of time on data"] = data_total / ours_total
    return results


def _many_small(mesh: Mesh, steps: int, repeats: int, scale: int) -> dict[str, Any]:
    """512 members of n = 20, m = 5, batch 1024 that share one batch a step."""
    members = grid(
        n=20, m=5, batch=1024 // scale, distribution="uniform", density=1.0, high=1.0,
        decay=[float(gamma) for gamma in np.linspace(-1, 1, 512 // scale)], learning_rate=1e-3, bias_std=0.0,
    )  # fmt: skip
    theirs = torch_batched(len(members), 20, 5, 1024 // scale, steps, members[0].probabilities[None])
    return _compare(f"{len(members)} small members, one batch", "3", members, mesh, steps, repeats, theirs)


def _own_data(mesh: Mesh, steps: int, repeats: int, scale: int) -> dict[str, Any]:
    """20 members of n = 200, m = 20, batch 1024, each with its own density from 1 to 1/20."""
    n = 200 // scale
    levels = [np.full(n, 20 ** (-k / 19), np.float32) for k in range(20)]
    members = [
        Member(n=n, m=20 // min(scale, 4), batch=1024 // scale, distribution=level, density=None, high=1.0, decay=0.0,
               learning_rate=1e-3, bias_std=0.0)
        for level in levels
    ]  # fmt: skip
    theirs = torch_batched(20, n, members[0].m, members[0].batch, steps, np.stack(levels))
    return _compare("20 members, each its own data", "1.5", members, mesh, steps, repeats, theirs)


def _compare(
    name: str,
    wanted: str,
    members: Sequence[Member],
    mesh: Mesh,
    steps: int,
    repeats: int,
    theirs: Callable[[], None],
) -> dict[str, Any]:
    ours = Ours(members, mesh, steps)
    times = _harness.take_turns({"ours": ours, "data": ours.data_alone(), "theirs": theirs}, repeats)
    seconds = {key: timing.best / steps for key, timing in times.items()}
    return {
        f"{name}: ours, ms a step": 1e3 * seconds["ours"],
        f"{name}: PyTorch, ms a step": 1e3 * seconds["theirs"],
        f"{name}: times faster (wanted: {wanted})": seconds["theirs"] / seconds["ours"],
        f"{name}: model-steps a second": len(members) / seconds["ours"],
        f"{name}: GFLOP/s in products": len(members) * ours.flops() / seconds["ours"] / 1e9,
        f"{name}: share of time on data": seconds["data"] / seconds["ours"],
    }


if __name__ == "__main__":
    main()
