"""The memory of a process is bounded by its control group, of either version, and by those above."""

from __future__ import annotations

import pytest

from superjax.core.host import host_memory


def put(folder, **files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


@pytest.fixture
def own(tmp_path):
    def names(text):
        (tmp_path / "own").write_text(text)
        return tmp_path / "own"

    return names


def test_version_2_and_the_groups_above(tmp_path, own):
    file = own("0::/jobs/one\n")
    put(tmp_path / "g", memory__max="max\n", memory__current="9\n")
    put(tmp_path / "g/jobs", memory__max="1000\n", memory__current="900\n", memory__stat="anon 5\ninactive_file 60\n")
    put(tmp_path / "g/jobs/one", memory__max="700\n", memory__current="300\n")
    memory = host_memory(tmp_path / "g", file)
    assert (memory.total, memory.available) == (700, 160)


def test_version_1_and_a_container_that_sees_its_group_as_the_root(tmp_path, own):
    file = own("8:pids:/\n4:cpu,memory:/docker/abc\n0::/\n")
    put(tmp_path / "g/memory", memory__limit_in_bytes="4096\n", memory__usage_in_bytes="96\n")
    memory = host_memory(tmp_path / "g", file)
    assert (memory.total, memory.available) == (4096, 4000)


def test_no_limit_is_the_machines_own_memory(tmp_path, own):
    file = own("0::/\n")
    put(tmp_path / "g", memory__max="max\n", memory__current="9\n")
    put(tmp_path / "g/memory", memory__limit_in_bytes=f"{2**63 - 4096}\n", memory__usage_in_bytes="9\n")
    limited, machine = host_memory(tmp_path / "g", file), host_memory(tmp_path, tmp_path / "absent")
    assert limited.total == machine.total > 2**28
    assert 0 < machine.available <= machine.total


def test_more_in_use_than_allowed_is_nothing_left(tmp_path, own):
    put(tmp_path / "g", memory__max="100\n", memory__current="120\n")
    assert host_memory(tmp_path / "g", own("0::/\n")).available == 0
