"""The tile engine over two real processes that join through jax.distributed gives what one process gives."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import numpy as np
import pytest

from superjax.core.pairwise import stream_pairs
from superjax.core.reducers import Nearest
from tests import oracles

WORKER = """
import sys
import jax
import numpy as np
jax.config.update("jax_num_cpu_devices", 2)
address, place, out = sys.argv[1:]
jax.distributed.initialize(address, 2, int(place), initialization_timeout=60)
from superjax.core.mesh import row_mesh
from superjax.core.pairwise import stream_pairs
from superjax.core.reducers import Histogram, Nearest, Together
assert len(jax.devices()) == 4 and len(jax.local_devices()) == 2
x = np.load(out + "/x.npy")
(counts, _), (_, nearest) = stream_pairs(x, Together((Histogram(64), Nearest(2))), mesh=row_mesh(), block=16)
np.savez(f"{out}/{place}.npz", counts=counts, row=nearest.row, **told(int(place)))
"""

AGREEMENTS = """
import numpy as np

def told(place):
    # What the processes tell each other, and a loop whose chunks their clocks would cut differently.
    from superjax.core import loop, mesh, processes
    def step(state, constants, index):
        return state + constants, {"sum": state}
    devices = mesh.row_mesh()
    state, constants = (mesh.shard_rows(np.arange(4, dtype=np.float32), devices) for _ in range(2))
    first = loop.LoopState(np.asarray(0), state, {"sum": np.zeros((50, 4))})
    last = loop.run(step, first, constants, 50, mesh=devices, chunk=16, chunk_seconds=1e-6 if place else 10.0)
    return {
        "everyones": processes.everyones(2.0**53 - place),
        "agreed": processes.agreed(place),
        "any": processes.any_of_them(place == 1),
        "text": processes.agreed_text("runs/\u00e4" if place == 0 else "longer than that"),
        "hosts": processes.summed_over_hosts(3.0 + place),
        "sums": last.history["sum"],
    }
"""


def free_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


@pytest.mark.processes
def test_two_processes_agree_with_one_and_with_each_other(tmp_path):
    x = np.random.default_rng(0).standard_normal((150, 6))
    x = (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    address = f"127.0.0.1:{free_port()}"
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", AGREEMENTS + WORKER, address, str(place), str(tmp_path)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, "JAX_PLATFORMS": "cpu"},
        )
        for place in range(2)
    ]  # fmt: skip
    try:
        output = [worker.communicate(timeout=240)[0] for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
    assert [worker.returncode for worker in workers] == [0, 0], output
    _, nearest = stream_pairs(x, Nearest(2), block=16)
    for place in range(2):
        found = np.load(tmp_path / f"{place}.npz")
        oracles.assert_counts_match(found["counts"], oracles.pair_products(x), 64)
        np.testing.assert_array_equal(found["row"], nearest.row)
        assert found["everyones"].tolist() == [2.0**53, 2.0**53 - 1]
        assert (int(found["agreed"]), bool(found["any"]), str(found["text"])) == (0, True, "runs/ä")
        assert float(found["hosts"]) == 3.0
        np.testing.assert_array_equal(found["sums"], np.arange(1, 51)[:, None] * np.arange(4))
