"""Hundreds of toy autoencoders in a few compiled programs: `train_ensemble`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import jax
import numpy as np
from jax.sharding import Mesh

from superjax.core import grid as grids
from superjax.core import mesh as meshes
from superjax.core.arrays import Arrays
from superjax.core.errors import InputError
from superjax.toy.cost import step_flops
from superjax.toy.engine import Training
from superjax.toy.group import Group
from superjax.toy.members import Member
from superjax.toy.model import Params
from superjax.toy.resources import Resources
from superjax.toy.trained import Trained, Unfinished, Watchers


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class EnsembleResult:
    """A trained ensemble, by members in the order they were given; arrays on the host.

    Attributes:
        members: E settings.
        training: how they were trained.
        params: E parameters, W [n, m] and b [n] float32; those of the last finite step where a member failed.
        loss: [E] float64, test loss: sum over features of squared error, mean over fresh samples; NaN if it failed.
        loss_stderr: [E] float64, its standard error over the test batches.
        history_step: [P] int64, steps done at the end of each window of the history.
        history: [E, P] float64, mean training loss in each window, NaN once frozen.
        failed_at: [E] int64, first step (from 0) whose loss or gradient was not finite; -1 for none.
        programs: how many programs were compiled.
    """

    members: tuple[Member, ...] = field(metadata={"static": True})
    training: Training = field(metadata={"static": True})
    params: tuple[Params, ...]
    loss: np.ndarray
    loss_stderr: np.ndarray
    history_step: np.ndarray
    history: np.ndarray
    failed_at: np.ndarray
    programs: int = field(metadata={"static": True})

    @property
    def status(self) -> list[str]:
        """For every member "trained", or "failed at step N" where it was frozen."""
        return [one.status for one in self.trained]

    @property
    def trained(self) -> list[Trained]:
        """The members one by one."""
        return [
            Trained(params, float(loss), float(stderr), history, int(failed_at))
            for params, loss, stderr, history, failed_at in zip(
                self.params, self.loss, self.loss_stderr, self.history, self.failed_at, strict=True
            )
        ]


def train_ensemble(
    members: Sequence[Member],
    training: Training | None = None,
    *,
    mesh: Mesh | None = None,
    chunk: int | None = None,
    memory: int | None = None,
    abreast: int | None = None,
    precision: str = "highest",
    on_progress: Callable[[int, int], None] | None = None,
    on_checkpoint: Callable[[Arrays], None] | None = None,
    on_trained: Callable[[Mapping[int, Trained]], None] | None = None,
    unfinished: Unfinished | None = None,
) -> EnsembleResult:
    """Train toy autoencoders, however many and however different, in one compiled program for each shape.

    Members of equal (n, m, batch, activation) and kind of sampling share a program, in which everything else may
    differ between them. A member is the same run whatever the ensemble around it: its starting values come from
    (seed, n, m), its data from (seed, n, batch, probabilities, step), both bitwise; trained parameters may differ in
    their last bits with the number of members abreast. A member whose loss or gradient stops being finite is frozen.

    Args:
        members: E >= 1 settings, for instance from `grid`.
        training: steps, schedule and test; the published small setting by default.
        mesh: devices to use, members sharded over them; the first local one by default.
        chunk: members of one program that train at a time; chosen from the memory there is by default.
        memory: bytes the members may take; half of what is available by default.
        abreast: members computed side by side on a device, the others in turn. By default 1 on a CPU, where one model
            fills a core's cache, and all elsewhere.
        precision: of matrix products, "highest", "high" or "default"; accumulation is float32.
        on_progress: called with (member-steps done, member-steps in all), once a second or so.
        on_checkpoint: called as often, with arrays by name from which the members that are being trained can go on
            exactly; to be read before it returns, for instance by `np.savez(path, **arrays)`.
        on_trained: called with members that are done, by their places.
        unfinished: what an earlier call with these members and this training left; devices, chunk and memory may
            have changed meanwhile, which matters as much as it does without a stop.

    Returns:
        The trained members.

    Raises:
        InputError: no members, not enough memory for one, or the checkpoint of another ensemble.

    Example:
        >>> from superjax.toy import Training, grid, train_ensemble
        >>> members = grid(n=20, m=5, batch=64, decay=[-1.0, 1.0], seed=[0, 1])
        >>> result = train_ensemble(members, Training(steps=30, test_batches=4))
        >>> result.loss.shape, result.params[3].W.shape, result.status[0]
        ((4,), (20, 5), 'trained')

        Stopped, and gone on:

        >>> import tempfile
        >>> file = tempfile.mkdtemp() + "/newest.npz"
        >>> def stop(arrays):
        ...     np.savez(file, **arrays)
        ...     raise KeyboardInterrupt
        >>> try:
        ...     train_ensemble(members, Training(steps=30, test_batches=4), on_checkpoint=stop)
        ... except KeyboardInterrupt:
        ...     rest = Unfinished(under_way=np.load(file))
        >>> again = train_ensemble(members, Training(steps=30, test_batches=4), unfinished=rest)
        >>> bool(np.all(again.loss == result.loss))
        True
    """
    members, training = tuple(members), training or Training()
    if not members:
        raise InputError("members: there are none; give at least one")
    if chunk is not None and chunk < 1:
        raise InputError(f"chunk: {chunk} is not possible; give at least 1 member at a time")
    resources = Resources(mesh or meshes.single_device_mesh(), chunk, memory, abreast, precision)
    by_program = grids.group_by(members, lambda member: member.program)
    # All groups first: one that cannot be trained is known before hours have gone into the others.
    groups = [
        Group(program, [members[place] for place in places], training, resources, places)
        for program, places in by_program.items()
    ]
    longest_first = sorted(
        zip(groups, by_program.values(), strict=True),
        key=lambda one: -sum(step_flops(members[place]) for place in one[1]),
    )
    trained: dict[int, Trained] = {}
    before_us = unfinished or Unfinished()
    for group, places in longest_first:

        def report(done: int, before: int = len(trained) * training.steps) -> None:
            if on_progress is not None:
                on_progress(before + done, len(members) * training.steps)

        rest = Unfinished({**before_us.trained, **trained}, before_us.under_way)
        found = group.train(Watchers(report, on_checkpoint, on_trained), rest)
        trained.update(zip(places, found, strict=True))
    return _collect(members, training, [trained[place] for place in range(len(members))], len(groups))


def _collect(
    members: tuple[Member, ...], training: Training, trained: Sequence[Trained], programs: int
) -> EnsembleResult:
    ends = np.minimum(np.arange(1, len(trained[0].history) + 1) * training.record_every, training.steps)
    return EnsembleResult(
        members,
        training,
        tuple(one.params for one in trained),
        np.array([one.loss for one in trained]),
        np.array([one.loss_stderr for one in trained]),
        ends,
        np.stack([one.history for one in trained]),
        np.array([one.failed_at for one in trained]),
        programs,
    )
