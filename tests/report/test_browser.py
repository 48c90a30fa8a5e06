"""The page in a real browser: it loads in silence, sorts, filters, fits a phone, and can be read in the dark."""

from __future__ import annotations

import itertools

import pytest

TABLE = (
    "[...document.querySelectorAll('table')].find((table) => table.caption.textContent.startsWith('train: all rows'))"
)

CONTRASTS = """
(() => {
  const channel = (c) => ((c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
  };
  for (const details of document.querySelectorAll("details")) details.open = true;
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || !element.checkVisibility() || element.tagName === "SCRIPT") continue;
    const svg = element.namespaceURI.endsWith("svg");
    const ink = light(parse(getComputedStyle(element)[svg ? "fill" : "color"]));
    const paper = light(behind(svg ? document.body : element));
    const ratio = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    found.push([ratio, element.tagName + "." + element.className + ": " + element.textContent.slice(0, 40)]);
  }
  return found;
})()
"""


@pytest.fixture
def page(tab, report_file):
    tab.open(report_file)
    return tab


def column(page, name):
    """The texts of a column of the table of toy members, as it stands."""
    place = f"[...{TABLE}.tHead.rows[0].cells].findIndex((cell) => cell.textContent.trim() === '{name}')"
    shown = f"[...{TABLE}.tBodies[0].rows].filter((row) => !row.hidden)"
    return page.evaluate(
        f"(() => {{ const place = {place}; return {shown}.map((row) => row.cells[place].textContent); }})()"
    )


def heading(name):
    return f"[...{TABLE}.tHead.rows[0].cells].find((cell) => cell.textContent.trim() === '{name}')"


def test_it_loads_in_silence_and_asks_for_nothing(page, report_file):
    page.wait("[...document.images].every((image) => image.complete && image.naturalWidth > 0)")
    assert page.evaluate("document.images.length") >= 6
    assert page.complaints == []
    assert set(page.requests) == {report_file.absolute().as_uri()}


def test_a_complaint_would_be_heard(page):
    page.evaluate("console.error('trouble'); fetch('http://127.0.0.1:9/').catch(() => 0)")
    page.wait_for_complaint("trouble")
    page.wait_for_complaint("Content Security Policy")


def test_numbers_sort_as_numbers_both_ways(page):
    before = column(page, "loss")
    page.evaluate(f"{heading('loss')}.querySelector('button').click()")
    ascending = [float(text) for text in column(page, "loss")]
    assert ascending == sorted(ascending)
    assert len(set(ascending)) > 3
    assert page.evaluate(f"{heading('loss')}.getAttribute('aria-sort')") == "ascending"
    page.evaluate(f"{heading('loss')}.querySelector('button').click()")
    assert [float(text) for text in column(page, "loss")] == ascending[::-1]
    assert page.evaluate(f"{heading('loss')}.getAttribute('aria-sort')") == "descending"
    assert page.evaluate(f"{heading('seed')}.getAttribute('aria-sort')") == "none"
    assert sorted(before) == sorted(column(page, "loss"))


def test_negative_numbers_and_missing_ones_have_their_order(page):
    order = page.evaluate(
        "['10', '9', '', '-2', '0.5'].sort((a, b) => compareCells(a, b, true, 1)).concat("
        "['10', '9', '', '-2', '0.5'].sort((a, b) => compareCells(a, b, true, -1)))"
    )
    assert order == ["-2", "0.5", "9", "10", "", "10", "9", "0.5", "-2", ""]


def test_text_sorts_from_the_keyboard(page):
    names = "[...document.querySelector('.table tbody').rows].map((row) => row.cells[0].textContent)"
    page.evaluate("document.querySelector('.table thead button').focus()")
    page.press("Enter", text="\r")
    ascending = page.evaluate(names)
    assert ascending == ["capacity", "embed", "fit", "pack", "train"]
    page.press(" ", text=" ")
    assert page.evaluate(names) == ascending[::-1]


def test_the_filter_counts_what_is_left(page):
    block = f"{TABLE}.closest('.table')"
    page.evaluate(f"{block}.querySelector('input').focus()")
    page.type("-1 ")
    shown = column(page, "decay γ")
    assert shown == ["-1"] * 6
    assert page.evaluate(f"{block}.querySelector('output').value") == "6 of 12 rows"
    page.type("nothing like it")
    assert page.evaluate(f"{block}.querySelector('output').value") == "0 of 12 rows"
    page.evaluate(f"{block}.querySelector('input').select()")
    page.press("Delete")
    assert page.evaluate(f"{block}.querySelector('output').value") == "12 rows"


def test_the_download_is_the_table_itself(page, run_folders):
    link = f"{TABLE}.closest('.table').querySelector('a[download]').href"
    text = page.evaluate(f"decodeURIComponent({link}.slice({link}.indexOf(',') + 1))")
    assert text == (run_folders["train"] / "table.csv").read_text()


def test_the_copy_button_copies_the_command(page, run_folders):
    page.allow("clipboardReadWrite", "clipboardSanitizedWrite")
    page.evaluate("document.querySelector('#run-2 .command button').click()")
    page.wait("document.querySelector('#run-2 .command [role=status]').textContent === 'copied'")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == f"superjax rerun {run_folders['train']}"


@pytest.mark.parametrize("width", [320, 390])
def test_a_phone_scrolls_tables_not_the_page(tab, report_file, width):
    tab.open(report_file, width=width, height=844, mobile=True)
    tab.evaluate("document.querySelectorAll('details').forEach((details) => (details.open = true))")
    assert tab.evaluate("[document.documentElement.scrollWidth, document.body.scrollWidth]") == [width, width]
    wide = "[...document.querySelectorAll('.scroll')].some((box) => box.scrollWidth > box.clientWidth)"
    assert tab.evaluate(wide)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_light_and_dark(tab, report_file, scheme):
    """WCAG 2.1 AA: 4.5 to 1 for all text."""
    tab.media(prefers_color_scheme=scheme)
    tab.open(report_file)
    background = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 29)"}[scheme]
    found = tab.evaluate(CONTRASTS)
    assert len(found) > 300
    assert [entry for entry in found if entry[0] < 4.5] == []
    figure = tab.evaluate("getComputedStyle(document.querySelector('figure')).backgroundColor")
    assert figure == "rgb(255, 255, 255)", "figures are drawn for paper"


def test_a_keyboard_finds_its_way(page):
    page.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    assert page.evaluate("document.activeElement.getBoundingClientRect().left >= 0")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    for _ in range(2):
        page.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('href')") == "#run-1"


def test_a_screen_reader_finds_names_landmarks_and_headings(page):
    levels = page.evaluate("[...document.querySelectorAll('h1, h2, h3, h4')].map((each) => Number(each.tagName[1]))")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    assert (
        page.evaluate("['header', 'nav', 'main', 'footer'].map((name) => document.querySelectorAll(name).length)")
        == [1] * 4
    )
    tree = page.call("Accessibility.getFullAXTree")["nodes"]
    roles = {"textbox", "searchbox", "button", "link", "radio", "image", "table", "region", "navigation"}
    named = [node for node in tree if node.get("role", {}).get("value") in roles and not node.get("ignored")]
    assert {node["role"]["value"] for node in named} == roles
    assert [node for node in named if not node.get("name", {}).get("value")] == []
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((each) => each.id)")
    assert len(set(ids)) == len(ids)
    assert page.evaluate(
        "[...document.querySelectorAll('a[href^=\"#\"]')].every((each) => document.querySelector(each.hash))"
    )


def test_on_paper_it_is_whole_and_without_controls(page):
    page.media("print")
    controls = "['nav', '.tools', '.download', '.command button']"
    shown = page.evaluate(f"{controls}.map((name) => document.querySelector(name).checkVisibility())")
    assert shown == [False] * 4
    assert page.evaluate(
        "[...document.querySelectorAll('.scroll')].every((box) => getComputedStyle(box).overflow === 'visible')"
    )
    page.media()
    assert page.pdf().startswith(b"%PDF")


def test_what_is_folded_is_printed_and_figures_stay_legible_on_a_phone(tab, report_file):
    tab.open(report_file, width=360, height=800, mobile=True)
    assert tab.evaluate("Math.min(...[...document.images].map((image) => image.clientWidth)) >= 576")
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    folded = "document.querySelector('details:not([open]) pre')"
    assert not tab.evaluate(f"{folded}.checkVisibility({{ contentVisibilityAuto: true, visibilityProperty: true }})")
    tab.media("print")
    assert tab.evaluate(f"{folded}.getBoundingClientRect().height > 20")
