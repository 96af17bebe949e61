"""README and tutorials are for people in a hurry: short, with every abbreviation explained."""

import re
from pathlib import Path

import pytest

from tests.unit.page_words import PLAIN, ROOT, counted, glossary, pages

README = ROOT / "README.md"
TUTORIALS = sorted((ROOT / "docs/tutorials").glob("*.md"))
SHORT = [README, ROOT / "docs/README.md", ROOT / "docs/how-to/own_table.md", *TUTORIALS]
WORDS_A_SENTENCE, README_LINES = 20, 150
LONG_LINES = 3  # on all other pages together: rows of tables
SPELLED = {
    "AFA": "active feature acquisition",
    "AFAIS": "active feature acquisition importance sampling",
    "DADI": "Dynamic Discovery of Fair Information",
    "F1": "mean of precision and recall",
}


@pytest.mark.parametrize("path", SHORT, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_sentences_are_short_and_no_line_is_long(path: Path):
    page = counted(path)
    assert page.mean <= WORDS_A_SENTENCE
    assert max(len(s.split()) for s in page.sentences) <= 2.5 * WORDS_A_SENTENCE
    assert page.long_lines == 0


def test_the_readme_is_for_a_person_in_a_hurry():
    text = README.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= README_LINES
    for short in counted(README).abbreviations - PLAIN:
        assert SPELLED[short] in " ".join(text.split()), short


@pytest.mark.parametrize("path", SHORT[1:], ids=lambda path: path.name)
def test_what_tutorials_abbreviate_is_in_the_list_of_words(path: Path):
    assert counted(path).abbreviations - glossary() - PLAIN == set()


def test_other_pages_have_few_long_lines():
    assert sum(counted(path).long_lines for path in pages() if path not in SHORT) <= LONG_LINES


def test_the_index_names_every_page():
    index = (ROOT / "docs/README.md").read_text(encoding="utf-8")
    named = {(ROOT / "docs" / link).resolve() for link in re.findall(r"\]\(([^)#]+)", index)}
    assert {path.resolve() for path in pages()[1:]} - named == {ROOT / "docs/README.md"}


def test_links_between_pages_lead_somewhere():
    """Files, and headings where one is named."""
    lost = []
    for path in [*pages(), ROOT / "CONTRIBUTING.md", ROOT / "config/README.md"]:
        text = re.sub(r"`[^`]*`|^```.*?^```", "", path.read_text("utf-8"), flags=re.S | re.M)
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            if link.startswith(("http", "mailto")):
                continue
            name, _, anchor = link.partition("#")
            target = (path.parent / name).resolve() if name else path
            if not target.exists() or (anchor and anchor not in anchors(target)):
                lost.append(f"{path.relative_to(ROOT)}: {link}")
    assert lost == []


def anchors(page: Path) -> set[str]:
    """Addresses of a page's headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def test_sentences_and_abbreviations_are_counted_as_one_reads_them(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# A HEADING of words\n\nOne two three. Four `a.b.` six!\n\n| A | TABLE |\n\n"
        "- Seven [eight nine](x.md), ten.\n\n```\ncode. code.\n```\n" + "w " * 251
    )
    found = counted(page)
    assert [len(s.split()) for s in found.sentences] == [3, 3, 4, 251]
    assert found.abbreviations == {"HEADING", "TABLE"}
    assert found.long_lines == 1
