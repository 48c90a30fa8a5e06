"""Who may import whom, who may print, and what an import may bring about."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import superjax

SOURCE = Path(superjax.__file__).parent
DOMAINS = {"toy", "packing", "embeddings", "concepts"}
BELOW = {
    "core": set(),
    "laws": {"core"},
    **{domain: {"core", "laws"} for domain in DOMAINS},
    "runs": {"core", "laws", *DOMAINS},
    "figures": {"core", "laws", *DOMAINS, "runs"},
    "report": {"core", "laws", *DOMAINS, "runs", "figures"},
    "cli": {"core", "laws", *DOMAINS, "runs", "figures", "report"},
}
"""package -> the packages it may import beside itself."""

UNWANTED = ("torch", "tensorflow", "flax", "optax", "absl")


def modules() -> Iterator[tuple[str, ast.Module]]:
    """Every module inside a package of ours: its dotted name and its tree."""
    for path in sorted(SOURCE.glob("*/**/*.py")):
        name = ".".join(("superjax", *path.relative_to(SOURCE).with_suffix("").parts))
        yield name, ast.parse(path.read_text(), filename=str(path))


def imported(name: str, tree: ast.Module) -> Iterator[str]:
    """Dotted names of all that a module imports, at its top, within functions, or for types only."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = name.split(".")[: -node.level] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


def arrows(name: str, tree: ast.Module) -> set[str]:
    """The packages of ours that a module imports, its own aside; "superjax" when it imports the whole."""
    own = name.split(".")[1]
    targets = set()
    for target in imported(name, tree):
        parts = target.split(".")
        if parts[0] == "superjax" and parts[1:2] not in ([own], ["_version"], ["__version__"]):
            targets.add(parts[1] if len(parts) > 1 and parts[1] in BELOW else "superjax")
    return targets


def actions(tree: ast.Module) -> set[str]:
    """What only the command line may do, where a module does it: print, exit, read flags or the arguments."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("print", "exit", "quit"):
            found.add(node.func.id)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found |= {f"{node.value.id}.{node.attr}"} & {"sys.exit", "sys.argv", "os._exit", "sys.stdout", "sys.stderr"}
    return found


def test_every_package_has_its_place():
    assert {path.parent.name for path in SOURCE.glob("*/__init__.py")} <= BELOW.keys()


@pytest.mark.parametrize(("name", "tree"), list(modules()), ids=lambda value: value if isinstance(value, str) else "")
class TestEveryModule:
    def test_imports_only_what_lies_below(self, name, tree):
        package = name.split(".")[1]
        assert arrows(name, tree) <= BELOW[package], f"{name} imports up or sideways"

    def test_leaves_printing_flags_and_exits_to_the_command_line(self, name, tree):
        if name.split(".")[1] != "cli":
            assert actions(tree) == set()
            assert not {"absl", "argparse"} & {target.split(".")[0] for target in imported(name, tree)}

    def test_core_needs_only_numpy_and_jax(self, name, tree):
        if name.split(".")[1] == "core":
            needs = {target.split(".")[0] for target in imported(name, tree)} - sys.stdlib_module_names
            assert needs <= {"numpy", "jax", "superjax"}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("from superjax.packing import pack", {"packing"}),
        ("import superjax.runs.results as r", {"runs"}),
        ("def f():\n    from superjax import cli", {"cli"}),
        ("from ..cli import app", {"cli"}),
        ("from . import bounds\nfrom superjax.laws.bounds import x", set()),
        ("import superjax", {"superjax"}),
        ("import jax.numpy", set()),
    ],
)
def test_the_arrows_of_a_sample_are_seen(source, found):
    assert arrows("superjax.laws.sample", ast.parse(source)) == found


def test_the_actions_of_a_sample_are_seen():
    sample = ast.parse("import sys\ndef f():\n    print(1)\n    sys.exit(sys.argv)")
    assert actions(sample) == {"print", "sys.exit", "sys.argv"}


def in_a_fresh_process(code: str) -> dict:
    """Run code that prints JSON in an interpreter that has imported nothing of ours."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


PACKAGES = sorted(path.parent.name for path in SOURCE.glob("*/__init__.py"))


@pytest.mark.parametrize("package", ["", *PACKAGES])
def test_an_import_starts_no_device_and_brings_in_nothing_heavy(package):
    target = f"superjax.{package}".rstrip(".")
    found = in_a_fresh_process(
        f"import json, sys, {target}\n"
        f"heavy = [name for name in {UNWANTED!r} if name in sys.modules]\n"
        "bridge = sys.modules.get('jax._src.xla_bridge')\n"
        "started = bridge is not None and bridge.backends_are_initialized()\n"
        "print(json.dumps({'heavy': heavy, 'started': started}))"
    )
    assert found == {"heavy": [], "started": False}


def test_a_started_device_would_be_seen():
    found = in_a_fresh_process(
        "import json, jax; from jax._src import xla_bridge; before = xla_bridge.backends_are_initialized()\n"
        "jax.devices(); print(json.dumps([before, xla_bridge.backends_are_initialized()]))"
    )
    assert found == [False, True]


def test_the_whole_library_defines_no_flag():
    """Every module imported by name, and every one of the command line also run as a script would run it."""
    found = in_a_fresh_process(
        "import json, pkgutil, importlib, runpy, warnings, superjax\n"
        "from absl import flags\n"
        "names = [module.name for module in pkgutil.walk_packages(superjax.__path__, 'superjax.')]\n"
        "names.remove('superjax.__main__')\n"
        "ours = [n for n in names if n.startswith('superjax.cli.')]\n"
        "for name in names: importlib.import_module(name)\n"
        "warnings.simplefilter('ignore')\n"
        "for name in ours: runpy.run_module(name, run_name='__main__')\n"
        "flags.DEFINE_bool('seen', False, 'a flag of the main module')\n"
        "by_module = {m: [f.name for f in fs] for m, fs in flags.FLAGS.flags_by_module_dict().items()}\n"
        "print(json.dumps({'ours': len(ours), 'flags': by_module}))"
    )
    assert found["ours"] >= 5
    defined = {name for module, names in found["flags"].items() if not module.startswith("absl.") for name in names}
    assert defined == {"seen"}  # flax, which a module may import to meet its users, brings those of absl's logging
