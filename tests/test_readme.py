"""The documents tell the truth: their commands parse, their Python runs, their links lead somewhere."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from superjax.cli import distributed, main
from superjax.cli.app import COMMANDS, load
from superjax.cli.parsing import define_flags, parse
from superjax.report import captions

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted(ROOT.glob("*.md"))
WHOLE_COMMAND = re.compile(r"^(?:srun |exec |timeout -s INT \d+ )?(?:\./scripts/run\.sh|superjax) (?P<rest>[a-z].*)")


def blocks(document, language):
    """Code blocks of a language; `bash long` marks those that take too long to be run here."""
    return re.findall(rf"^```{language}\n(.*?)^```", document.read_text(), re.DOTALL | re.MULTILINE)


def commands(document, language):
    """The superjax commands of a document's blocks, in order, without what a comment says."""
    for block in blocks(document, language):
        for line in block.replace("\\\n", " ").splitlines():
            yield from commands_in(line)


def commands_of_containers(document):
    """The superjax commands in a document's Kubernetes manifests."""
    for block in blocks(document, "yaml"):
        for resource in yaml.safe_load_all(block):
            for container in resource["spec"].get("template", {}).get("spec", {}).get("containers", ()):
                for line in container["args"]:
                    yield from commands_in(line)


def commands_in(line):
    """What follows `superjax` where a line runs it, or hands it to others to run."""
    handed_on = re.search(r'--command="(.*?)"', line)
    match = WHOLE_COMMAND.match(handed_on[1] if handed_on else line.strip())
    if match:
        yield re.sub(r"\$\w+", "0", re.split(r"\s#|\s&$", match["rest"])[0].strip())


SHOWN = {
    (document.name, line)
    for document in DOCUMENTS
    for line in (*commands(document, "bash(?: long)?"), *commands_of_containers(document))
}


@pytest.mark.parametrize(("document", "line"), sorted(SHOWN))
def test_every_command_shown_parses(document, line):
    name, *arguments = shlex.split(line)
    command = load(name)
    if command.required or arguments:
        values = parse(name, command, arguments)
        if command.on_hosts:
            distributed.check(values)


def test_every_command_is_shown():
    assert {line.split()[0] for _, line in SHOWN} == set(COMMANDS)


@pytest.mark.readme
def test_every_command_of_the_readme_runs_where_a_reader_would_be(minilm_folder, tmp_path, monkeypatch, capsys):
    """In order, in one folder, but for the blocks marked long; what one leaves the next may use."""
    monkeypatch.chdir(tmp_path)
    for line in commands(ROOT / "README.md", "bash"):
        arguments = shlex.split(line.replace("PATH_TO_MODEL", str(minilm_folder)))
        code, (out, err) = main(arguments), capsys.readouterr()
        assert code == 0, (line, err)
        if line.startswith("embed --checkpoint=PATH_TO_MODEL --out="):
            assert printed_for_the_model() in out
    assert {path.name for path in (tmp_path / "runs").iterdir()} >= {"model", "toy", "packings", "report"}
    assert (tmp_path / "runs/report/report.html").stat().st_size > 10**5


@pytest.mark.readme
@pytest.mark.faults
def test_the_run_that_the_readme_stops_ends_as_the_one_it_does_not(tmp_path):
    (block,) = (text for text in blocks(ROOT / "README.md", "bash long") if "timeout" in text)
    script = block.replace("./scripts/run.sh", f"{shlex.quote(sys.executable)} -m superjax")
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.stdout.endswith("the same, bit for bit\n"), done.stderr
    assert "superjax: interrupted" in done.stderr
    if "interrupted, saved at" in done.stderr:  # a slow machine has not come so far
        assert "going on: " in done.stderr


def printed_for_the_model():
    """The README's output of `embed`, but for the last lines, which differ from machine to machine."""
    [shown] = [text for text in blocks(ROOT / "README.md", "text") if text.startswith("model  ")]
    return shown.partition("\n\ncpu, ")[0]


def test_the_readme_says_where_the_model_of_the_demo_lies(minilm_folder):
    [told] = re.findall(r"`\.venv/(lib/python3\*/\S+)`", (ROOT / "README.md").read_text())
    assert minilm_folder.match(told)


def test_the_two_scripts_come_first():
    head = (ROOT / "README.md").read_text().split("## ")[0]
    assert re.findall(r"^    (\S+)", head, re.MULTILINE) == ["./scripts/run.sh", "./scripts/test.sh"]


def test_every_figure_that_the_list_of_figures_names_is_one_of_ours():
    known = {name for _, name in captions._CAPTIONS}
    rows = [line for line in (ROOT / "docs" / "FIGURES.md").read_text().splitlines() if line.startswith("| ")]
    named = {name.removesuffix("_N") for line in rows for name in re.findall(r"`([a-z_]+N?)`", line)}
    assert named >= {"bracket", "geometry", "gram", "surfaces"}
    assert named - set(COMMANDS) - {"mean_sq_overlap", "ambiguity"} <= known  # columns


def test_every_flag_named_in_the_tables_exists():
    known = {flag for name in COMMANDS for flag in define_flags(load(name)).values}
    table_rows = [line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("|")]
    named = {flag for line in table_rows for flag in re.findall(r"`--(\w+)", line)}
    assert named
    assert named <= known


@pytest.mark.readme
def test_the_python_of_the_readme_runs(minilm_folder):
    names: dict = {}
    for block in blocks(ROOT / "README.md", "python"):
        exec(block.replace("path/to/model", str(minilm_folder)), names)
    assert names["matrix"].array.shape == (30522, 384)
    assert names["spectrum"].counts.sum() == 465_780_981
    assert names["packing"].coherence == pytest.approx(1 / 3, abs=1e-12)
    by_decay = names["result"].loss.reshape(10, 20).mean(axis=1)
    assert by_decay[0] < by_decay[-1]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_and_pictures_lead_somewhere(document):
    text = document.read_text()
    for target in re.findall(r"\]\(([^)#\s]+)\)", text):
        assert target.startswith("http") or (document.parent / target).exists(), target
    headings = {
        re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in re.findall(r"^#+ (.*)", text, re.M)
    }
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= headings


def test_the_pods_of_the_job_find_each_other():
    [block] = blocks(ROOT / "BUILD.md", "yaml")
    service, job = yaml.safe_load_all(block)
    name, spec = job["metadata"]["name"], job["spec"]
    [container] = spec["template"]["spec"]["containers"]
    [command] = container["args"]
    assert service["spec"]["selector"] == {"job-name": name}
    assert spec["template"]["spec"]["subdomain"] == service["metadata"]["name"]
    assert f"--coordinator={name}-0.{service['metadata']['name']}:" in command
    assert f"--num_processes={spec['completions']} --process_id=$JOB_COMPLETION_INDEX" in command
    assert spec["completions"] == spec["parallelism"]
