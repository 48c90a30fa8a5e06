"""The page's text: what it holds of every command, of unfinished and hostile folders; and refusals of damaged ones."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import tomllib
from html import unescape
from pathlib import Path

import numpy as np
import pytest

import superjax
from superjax.cli import main
from superjax.core.errors import InputError, InputWarning
from superjax.report import build_report, read_runs, write_report
from superjax.report.markup import element, join
from superjax.runs import RunFolder
from tests.report.conftest import MODEL

PICTURE = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 10 10'><script>alert(1)</script></svg>"


@pytest.fixture
def copied(run_folders, tmp_path):
    """A function that gives a copy of a run folder that may be spoilt."""

    def copy(command, name="run"):
        return shutil.copytree(run_folders[command], tmp_path / name)

    return copy


def change(folder, name, **entries):
    """Other entries in a JSON file of a folder."""
    path = folder / name
    path.write_text(json.dumps({**json.loads(path.read_text()), **entries}))


def text_of(page):
    """The page's own text, without tags and what scripts and images hold."""
    bare = re.sub(r"<(script|style)\b.*?</\1>|<[^>]*>", " ", page, flags=re.DOTALL)
    return " ".join(unescape(bare).split())


def test_every_run_is_there_with_what_it_ran_on(run_folders):
    page = build_report(list(run_folders.values()))
    text = text_of(page)
    for command, folder in run_folders.items():
        manifest = json.loads((folder / "manifest.json").read_text())
        assert f'href="#run-{list(run_folders).index(command) + 1}"' in page
        assert str(folder) in text
        kept = [argument for argument in manifest["argv"] if not argument.startswith("--out=")]
        assert f"superjax {' '.join(kept)}" in text
        assert f"--out={folder}" not in text
        assert f"superjax rerun {folder}" in text
        assert f"jax {manifest['versions']['jax']}" in text
        assert manifest["started"].replace("T", " ").replace("+00:00", " UTC") in text
        assert page.count("<figure") == sum(len(list((f / "figures").glob("*.svg"))) for f in run_folders.values())
    assert "highest" in text
    assert "8 × cpu," not in text
    assert re.search(r"8 × cpu [^(]", text)


def test_the_command_that_reproduces_a_run_does(run_folders, tmp_path, monkeypatch, capsys):
    page = build_report([run_folders["capacity"]])
    first = re.search(r'<div class="command">.*?<code>(.*?)</code>', page, re.DOTALL)
    words = shlex.split(re.sub("<[^>]*>", "", first[1]))
    assert words[:2] == ["superjax", "rerun"]
    monkeypatch.chdir(tmp_path)
    assert main(words[1:]) == 0
    assert "every number is the same" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("out", [["--out=x"], ["--out", "x"], ["-out=x"], []])
def test_the_folder_of_a_finished_run_is_no_part_of_what_was_run(copied, out):
    folder = copied("capacity")
    change(folder, "manifest.json", argv=["capacity", *out, "--d=8"])
    assert read_runs([folder])[0].command_line == ["superjax", "capacity", "--d=8"]


def test_published_numbers_stand_beside_ours(run_folders):
    text = text_of(build_report(list(run_folders.values())))
    matrix = json.loads((run_folders["embed"] / "summary.json").read_text())["matrices"][0]
    assert f"{matrix['epsilon']:.5f} = {matrix['mean']:.5f} + 2 × {matrix['std']:.5f} 0.41554 Gemma 3 270M" in text
    assert "directions by the full law 39,944,613, extrapolated 3.99e7 Llama 2 7B" in text
    assert "ratio optimised law: C, rows of k ≤ d left out 1.2934 (95 % " in text
    assert "1.2934 Guha 2026, arXiv 2606.02765; k 2000 to 32000, d 32 to 4096" in text
    assert "fit: data/published_packings.csv" in text
    assert "ratio optimised law: mean error of epsilon, rows of k ≤ d left out 4.497 % of 160 rows – –" in text
    assert "ratio optimised law: mean error of epsilon, rows of k ≤ d taken as 0 7.949 % of 166 rows 7.949 %" in text
    alone = text_of(build_report([run_folders["pack"]]))
    assert "coherence of 6 vectors in R^3 0.447214; bound 0.4472; built 0.4472" in alone
    assert "A published number stands beside ours" in text
    assert "A published number stands beside ours" not in alone
    assert MODEL in text


@pytest.mark.parametrize(
    ("change_by", "published"),
    [({}, "1.24"), ({"n": 999}, None), ({"density": 2.0}, None), ({"m": [10, 15, 25]}, None), ({"decay": -0.9}, None)],
)
def test_a_published_exponent_wants_the_published_setting(copied, change_by, published):
    folder = copied("train")
    curve = json.loads((folder / "summary.json").read_text())["exponents"][0]
    setting = {"n": 1000, "m": [10, 15, 25, 39, 63, 100], "alpha": 1.0, "density": 1.0, "decay": -1.0}
    found = {"exponent": 1.11, "stderr": 0.09, "r2": 0.99, "mean_phi_half": [1.0] * 6} | setting | change_by
    found["mean_phi_half"] = [0.875] * len(found["m"])
    change(folder, "summary.json", exponents=[curve | found])
    text = text_of(build_report([folder]))
    assert "x = 1.11 ± 0.09" in text
    assert ("1.24 Liu, Liu, Gore 2025, arXiv 2505.10465, Fig. 9b" in text) == (published is not None)


def test_the_same_folders_give_the_same_page(run_folders):
    folders = list(run_folders.values())
    assert build_report(folders) == build_report([*folders, folders[0]])


def test_one_file_that_asks_for_no_other(report_file):
    page = report_file.read_text()
    assert [entry.name for entry in report_file.parent.iterdir()] == ["report.html"]
    assert "default-src 'none'" in unescape(page.partition("<style")[0])
    for forbidden in ("<link", "@import", "url(", 'src="http', 'href="http', "unsafe-inline"):
        assert forbidden not in page


def test_every_file_beside_the_modules_goes_into_the_package():
    root = Path(superjax.__file__).parent
    patterns = tomllib.loads((root.parent / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"][
        "superjax"
    ]
    others = [path for path in (root / "report").rglob("*.*") if path.suffix not in (".py", ".pyc")]
    assert len(others) == 9
    assert all(any(path.relative_to(root).match(pattern) for pattern in patterns) for path in others)


def test_a_page_of_any_name(run_folders, tmp_path):
    assert write_report([run_folders["capacity"]], tmp_path / "a" / "page.html") == tmp_path / "a" / "page.html"
    assert "<title>Week &lt;1&gt;</title>" in build_report([run_folders["capacity"]], title="Week <1>")


def test_an_unfinished_run_says_so_and_how_to_go_on(tmp_path):
    folder = RunFolder(tmp_path / "broken off")
    folder.begin({"command": "train", "argv": ["train", "--preset=quick"], "config": {}})
    folder.release()
    text = text_of(build_report([folder.path]))
    assert "Unfinished: this run is still going on, or was broken off" in text
    assert f"superjax train --preset=quick '--out={folder.path}'" in text


def test_a_run_of_a_command_the_report_knows_nothing_of(tmp_path):
    folder = RunFolder(tmp_path / "run")
    folder.begin({"command": "something", "argv": ["something"], "config": {"depth": {"x": [1, 2]}}})
    folder.write_json("summary.json", {"anything": 1})
    folder.write_table([{"name": "a", "size": 2.5}, {"name": "b", "size": None}])
    folder.finish({"command": "something", "argv": ["something"], "config": {"depth": {"x": [1, 2]}}})
    page = build_report([folder.path])
    assert '<td class="number" data-value="2.5">2.5</td>' in page
    assert "<dt>depth.x</dt><dd>1, 2</dd>" in page


def test_nothing_in_a_folder_becomes_markup(copied, tab, tmp_path):
    """Names, settings, cells and figures that would like to run."""
    evil = '"><img src=x onerror="window.hacked=1"><script>window.hacked=1</script>&amp;\u202e'
    folder = copied("embed", "<img src=x onerror=window.hacked=1>")
    manifest = json.loads((folder / "manifest.json").read_text())
    change(folder, "manifest.json", argv=["embed", evil], cwd=evil, config={evil: evil}, versions={evil: evil},
           started=evil, device_kind=evil, git={"commit": evil}, failures=[evil])  # fmt: skip
    matrix = json.loads((folder / "summary.json").read_text())["matrices"][0]
    change(folder, "summary.json", matrices=[{**matrix, "checkpoint": f"/x/{evil}", "role": evil, "class": evil}])
    (folder / "table.csv").write_text(f'"{evil.replace(chr(34), chr(34) * 2)}",model\n</table>,</script>\n')
    (folder / "table.txt").write_text(f"</pre>{evil}")
    (folder / "figures" / "<svg onload=window.hacked=1>.svg").write_text(PICTURE.replace("alert(1)", "window.hacked=1"))
    assert manifest["command"] == "embed"
    file = write_report([folder], tmp_path / "page", title=evil)
    tab.open(file)
    assert tab.evaluate("window.hacked === undefined")
    assert tab.evaluate("document.querySelectorAll('[onerror], [onload], main script:not([type])').length") == 0
    assert tab.evaluate("[...document.images].every((image) => image.src.startsWith('data:image/'))")
    assert tab.complaints == []
    assert set(tab.requests) == {file.absolute().as_uri()}
    assert tab.evaluate("document.title") == evil.replace("\u202e", "\ufffd")


def test_names_no_utf8_can_hold_are_shown_escaped():
    assert element("p", "a\udc80b\x1b[2J\n") == "<p>a\\udc80b\ufffd[2J\n</p>"
    assert join("<", element("i", "&")) == "&lt;<i>&amp;</i>"


def test_what_is_the_same_in_all_rows_is_said_once(run_folders):
    page = build_report([run_folders["train"]])
    table = page[page.index("train: all rows") :]
    assert "The same in all rows: n 12; m 3; law of data power; " in table
    assert ">decay γ</th>" in table
    assert ">law of data</th>" not in table


def test_long_tables_are_cut_and_said_to_be(copied):
    folder = copied("capacity")
    (folder / "table.csv").write_text("shown,log10_k\n" + "\n".join(f"law {i},{i}" for i in range(2500)) + "\n")
    page = build_report([folder])
    assert "The first 2,000 of 2,500 rows; the CSV has all." in page
    assert page.count('<tr><th scope="row">law ') == 2000
    assert "law%202499,2499" in page


def spoil_json(name):
    return lambda folder: (folder / name).write_text("{")


DAMAGES = {
    "no manifest": (lambda f: (f / "manifest.json").unlink(), "", "holds no manifest.json; give a run folder"),
    "manifest cut off": (spoil_json("manifest.json"), "manifest.json", "is no JSON"),
    "manifest is a list": (lambda f: (f / "manifest.json").write_text("[1]"), "manifest.json", "is no JSON object"),
    "no command": (lambda f: change(f, "manifest.json", command=None), "manifest.json", "has no command"),
    "no config": (lambda f: change(f, "manifest.json", config=[]), "manifest.json", "has no config"),
    "summary cut off": (spoil_json("summary.json"), "summary.json", "is no JSON"),
    "no summary": (lambda f: (f / "summary.json").unlink(), "summary.json", "cannot be read"),
    "another summary": (lambda f: (f / "summary.json").write_text('{"k": []}'), "summary.json", "is not what"),
    "nested summary": (lambda f: (f / "summary.json").write_text('{"a":' + "[" * 99999), "summary.json", "deeply"),
    "table of two widths": (lambda f: (f / "table.csv").write_text("a,b\n1\n"), "table.csv", "line 2 has 1 cells"),
    "table of bytes": (lambda f: (f / "table.csv").write_bytes(b"\xff\xfe\x00"), "table.csv", "cannot be read"),
    "a huge cell": (lambda f: (f / "table.csv").write_text("a\n" + "x" * 200_000), "table.csv", "is no table"),
    "figure of text": (lambda f: (f / "figures/x.svg").write_text("hello"), "figures/x.svg", "is no SVG"),
    "figure of nothing": (lambda f: (f / "figures/x.png").write_bytes(b""), "figures/x.png", "is no PNG"),
}


@pytest.mark.parametrize("command", ["capacity", "train"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_folder_is_named_with_cause_and_remedy(copied, damage, command):
    spoil, file, cause = DAMAGES[damage]
    folder = copied(command)
    spoil(folder)
    with pytest.raises(InputError) as caught:
        build_report([folder])
    message = str(caught.value)
    assert message.startswith(str(folder / file))
    assert cause in message
    assert "; " in message
    assert "\n" not in message


def complaint_about(folder):
    """What is said against the folder, or None where the page can be made; anything but an InputError escapes."""
    try:
        build_report([folder])
    except InputError as error:
        return str(error)
    return None


@pytest.mark.parametrize("command", ["embed", "train", "pack", "fit", "capacity"])
def test_any_entry_of_the_wrong_kind_is_refused_not_crashed_on(copied, command):
    """Every value of a summary in turn becomes text, null and a list."""
    folder = copied(command)
    original = json.loads((folder / "summary.json").read_text())
    for key in original:
        for wrong in ("text", None, ["x"], {"x": 1}):
            change(folder, "summary.json", **{key: wrong})
            complaint = complaint_about(folder)
            assert complaint is None or complaint.startswith(f"{folder}/summary.json: is not what {command} writes")
        change(folder, "summary.json", **original)


def test_reports_are_left_out_of_reports(run_folders, tmp_path):
    report = RunFolder(tmp_path / "report")
    report.begin({"command": "report", "argv": ["report"], "config": {}})
    report.release()
    with pytest.warns(InputWarning, match="is itself a report and left out"):
        assert len(read_runs([report.path, run_folders["pack"]])) == 1
    with pytest.raises(InputError, match="is itself a report; give the runs it was made of"):
        read_runs([report.path])


def test_numbers_of_any_size_are_shown(copied):
    folder = copied("capacity")
    found = json.loads((folder / "summary.json").read_text())
    found["expected"]["full"] |= {"k": None, "log10_k": 1234.5}
    change(folder, "summary.json", **found)
    assert "10^1234.50, extrapolated" in text_of(build_report([folder]))


def test_a_picture_of_points_stands_in_where_there_is_no_vector(copied):
    folder = copied("capacity")
    (folder / "figures" / "bracket.svg").unlink()
    assert 'src="data:image/png;base64,' in build_report([folder])


def test_the_published_tables_are_whole():
    from superjax.report.published import _rows, toy_value

    rows = _rows("published_toy.csv")
    assert len(rows) == 9 * 10 + 6 * 10 + 6
    assert all(0 <= float(row["value"]) < 3 for row in rows)
    decays = np.linspace(-1, 1, 10)
    grid = [toy_value("exponent", n=1000, distribution="power", alpha=a, decay=g) for a in (0, 1, 2) for g in decays]
    assert [value for value, _ in grid][:2] == [0.83, 0.83]
    assert grid[-1][0] == 0.22
    assert toy_value("phi_half", n=1000, distribution="power", alpha=1.0, decay=-1 / 9, m=39)[0] == 0.686


@pytest.mark.parametrize(("more", "said"), [(1, "The CSV has 1 more column."), (2, "The CSV has 2 more columns.")])
def test_columns_left_out_are_counted_in_words(copied, more, said):
    folder = copied("capacity")
    names = [f"unknown_{number}" for number in range(more)]
    (folder / "table.csv").write_text(f"shown,log10_k,{','.join(names)}\nfull,7.6,{','.join('1' * more)}\n")
    assert said in build_report([folder])
