"""`--distributed`: joining the other processes of a run before any device starts, and leaving them."""

from __future__ import annotations

import contextlib
import re
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable

from absl import flags
from absl.flags import FlagValues

from superjax.cli.endings import LOST_PEER
from superjax.cli.place import Place
from superjax.core.errors import EnvironmentFailure, InputError

_LINGER_S = 5.0
"""How long a process that failed stays, so that others that fail alike can say so themselves."""

_LAST_PORT = 2**16 - 1

_STARTED = "--distributed: JAX has started devices in this process; run it before that, or from the shell"

_AFTER_ALL_S = 5
"""How much longer than it is told the runtime waits for the others."""


def define_flags(values: FlagValues) -> None:
    """Whether and how to join other processes."""
    flags.DEFINE_bool(
        "distributed", False, "be one of several processes, on one host or many; each is started with the same command",
        flag_values=values,
    )  # fmt: skip
    flags.DEFINE_string(
        "coordinator", None,
        "with --distributed: `HOST:PORT` where process 0 listens; needless on a TPU slice and under Slurm or Open MPI",
        flag_values=values,
    )  # fmt: skip
    flags.DEFINE_integer(
        "num_processes", None, "with --coordinator: how many processes there are", lower_bound=1, flag_values=values
    )
    flags.DEFINE_integer(
        "process_id", None, "with --coordinator: which one this is, from 0", lower_bound=0, flag_values=values
    )
    flags.DEFINE_integer(
        "distributed_timeout", 100,
        "with --distributed: `SECONDS` to wait for the others, and until a silent one is dead", lower_bound=1,
        flag_values=values,
    )  # fmt: skip


def check(values: FlagValues) -> None:
    """Check the flags against each other.

    Raises:
        InputError: they do not fit.
    """
    given = {name: values[name].value for name in ("coordinator", "num_processes", "process_id")}
    named = [name for name, value in given.items() if value is not None]
    if named and not values.distributed:
        raise InputError(f"--{named[0]}: means nothing alone; add --distributed, or leave it out")
    if named and len(named) < len(given):
        missing = next(name for name in given if name not in named)
        raise InputError(f"--{missing}: missing; --{named[0]} needs --coordinator, --num_processes and --process_id")
    if not named:
        return
    address = re.fullmatch(r"\S+:(\d{1,5})", values.coordinator)
    if address is None or int(address[1]) > _LAST_PORT:
        raise InputError(f"--coordinator={values.coordinator}: is no address; give HOST:PORT, such as 10.0.0.1:9876")
    if values.process_id >= values.num_processes:
        raise InputError(
            f"--process_id={values.process_id}: there are {values.num_processes} processes; "
            f"give 0 to {values.num_processes - 1}"
        )


def require_fresh_process() -> None:
    """See that this process has started no devices, which a worker would then find taken.

    Raises:
        InputError: it has.
    """
    if "jax" not in sys.modules:
        return
    from superjax.cli.devices import have_started

    if have_started():
        raise InputError(_STARTED)


def join(values: FlagValues, expect: Callable[[str, str], None]) -> Place:
    """Join the other processes; before any device starts.

    Args:
        values: the parsed flags, checked.
        expect: told what it means if the runtime aborts the process while it joins, and the remedy.

    Returns:
        Which process this is.

    Raises:
        InputError: no cluster is detected, or devices have started already.
        EnvironmentFailure: the others are not there in time.
    """
    import jax

    from superjax.cli.devices import prepare_cpu_devices, start_devices

    timeout = values.distributed_timeout
    where = f"--coordinator={values.coordinator}" if values.coordinator else "--distributed"
    late = f"{where}: not all processes joined within {timeout} s"
    expect(late, "start all of them with the same command, or give a longer --distributed_timeout")
    if values.devices is None:
        prepare_cpu_devices(None)
    else:  # no more than that, since every process must have as many as the others
        jax.config.update("jax_num_cpu_devices", values.devices)
    if values.coordinator:
        _require_coordinator(values.coordinator, values.process_id, timeout)
    try:
        jax.distributed.initialize(
            values.coordinator, values.num_processes, values.process_id,
            cluster_detection_method="deactivate" if values.coordinator else None,
            initialization_timeout=max(1, timeout - _AFTER_ALL_S),
            heartbeat_timeout_seconds=timeout, shutdown_timeout_seconds=timeout,
        )  # fmt: skip
    except ValueError:
        raise InputError(
            "--distributed: no cluster is detected here; give --coordinator=HOST:PORT, --num_processes and --process_id"
        ) from None
    except RuntimeError as error:
        raise _not_joined(error, where) from None
    numbers = Counter(device.process_index for device in start_devices(None, None))
    if len(set(numbers.values())) > 1:
        least = min(numbers.values())
        raise InputError(f"--devices: processes have {least} to {max(numbers.values())} each; give --devices={least}")
    if values.num_processes not in (None, jax.process_count()):
        raise EnvironmentFailure(f"{where}: {jax.process_count()} processes joined of {values.num_processes}")
    expect(LOST_PEER, "nothing was saved")
    return Place(jax.process_index(), jax.process_count(), expect)


def _not_joined(error: RuntimeError, where: str) -> InputError | EnvironmentFailure:
    cause = str(error).splitlines()[0] if str(error) else type(error).__name__
    if "must be called before" in cause or "only be called once" in cause:
        return InputError(_STARTED)
    return EnvironmentFailure(f"{where}: cannot be joined ({cause})")


def _require_coordinator(address: str, process: int, timeout: float) -> None:
    """See that the first process can listen, and that the others can reach it: the runtime would abort otherwise.

    Raises:
        InputError: the port is taken.
        EnvironmentFailure: nobody answers in time.
    """
    host, port = address.rsplit(":", 1)
    if process == 0:
        try:
            with socket.socket() as trial:
                trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                trial.bind(("", int(port)))
        except OSError as error:
            cause = error.strerror or error
            raise InputError(f"--coordinator={address}: cannot listen there ({cause}); give another port") from None
        return
    until = time.monotonic() + timeout
    while True:
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=max(0.1, until - time.monotonic())).close()
            return
        except OSError as error:
            if time.monotonic() > until:
                cause = error.strerror or error
                raise EnvironmentFailure(
                    f"--coordinator={address}: not reached within {timeout} s ({cause}); start process 0 there"
                ) from None
            time.sleep(0.2)


def leave(wait: float = _LINGER_S) -> None:
    """Leave the other processes when they leave too, or after a while without them.

    Args:
        wait: seconds.
    """
    import jax

    def shut_down() -> None:
        with contextlib.suppress(Exception):
            jax.distributed.shutdown()

    leaving = threading.Thread(target=shut_down, daemon=True)
    leaving.start()
    leaving.join(wait)
