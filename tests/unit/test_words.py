"""Pages are for people in a hurry: of one kind each, in short sentences, abbreviations explained.

`python -m tests.unit.page_words` prints the counts page by page; with `rates` and names of packages
the rates of words to avoid.
"""

import re
from pathlib import Path

import pytest

from tests.unit.page_words import (
    LONG_LINE,
    PLAIN,
    ROOT,
    SENTENCE,
    counted,
    glossary,
    ours,
    pages,
    rates,
    words_a_sentence,
)

README = ROOT / "README.md"
DOCS = ROOT / "docs"
KINDS = {  # folder → word by which a page of it says its kind
    "tutorials": "Tutorial",
    "how-to": "How-to",
    "reference": "Reference",
    "explanation": "Explanation",
    "results": "Results",
    "notes": "Notes",
}
ALL = pages()
READ_FIRST = [README, DOCS / "README.md", *sorted((DOCS / "tutorials").glob("*.md"))]
READ_NEXT = sorted([*(DOCS / "how-to").glob("*.md"), *(DOCS / "results").glob("*.md")])
# Derived: their words are those of declarations, of inputs, or of a table's columns
DERIVED = [
    DOCS / "reference" / f"{name}.md"
    for name in ("agents", "config", "data_sets", "library", "methods")
]
WORDS_A_SENTENCE, LONGEST_SENTENCE, README_LINES = 20, 55, 95
WORDS_OF_RESULTS = 700  # two screens of prose; tables do not count
COLUMNS = 7
SPELLED = {
    "AFA": "active feature acquisition",
    "AFAIS": "active feature acquisition importance sampling",
    "DADI": "Dynamic Discovery of Fair Information",
    "F1": "mean of precision and recall",
}


def named(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


@pytest.mark.parametrize("path", ALL, ids=named)
def test_sentences_are_short_on_average_and_no_line_is_long(path: Path):
    page = counted(path)
    assert page.mean <= WORDS_A_SENTENCE
    lines = path.read_text(encoding="utf-8").splitlines()
    long = [line[:60] for line in lines if len(line) > LONG_LINE]
    assert [line for line in long if path not in DERIVED or not line.startswith("|")] == []


def test_words_to_avoid_are_as_rare_as_in_other_projects():
    """Or, where the table has a kind of text above the other projects, no more often than there."""
    page = (DOCS / "notes" / "tests.md").read_text(encoding="utf-8")
    (lines,) = re.findall(r"^\| in 1,000 words .*(?:\n\|.*)+", page, re.MULTILINE)
    head, *rows = lines.splitlines()
    kinds = [cell.strip() for cell in head.split("|")[2:5]]
    table = {
        cells[1].strip(): [*map(float, cells[2:-1])] for cells in (r.split("|") for r in rows[1:])
    }
    for kind, texts in ours().items():
        most = {term: max(r[kinds.index(kind)], *r[3:]) for term, r in table.items()}
        found = rates(texts) | {SENTENCE: words_a_sentence(texts)}
        assert set(found) == set(table)
        assert {term: rate for term, rate in found.items() if rate > most[term]} == {}, kind


@pytest.mark.parametrize("path", [*READ_FIRST, *READ_NEXT], ids=named)
def test_no_sentence_of_what_is_read_first_is_endless(path: Path):
    assert max(len(s.split()) for s in counted(path).sentences) <= LONGEST_SENTENCE


def test_the_readme_is_for_a_person_in_a_hurry():
    text = README.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= README_LINES
    for short in counted(README).abbreviations - PLAIN:
        assert SPELLED[short] in " ".join(text.split()), short


@pytest.mark.parametrize("path", [p for p in ALL[1:] if p not in DERIVED], ids=named)
def test_what_a_page_abbreviates_is_in_the_glossary(path: Path):
    assert counted(path).abbreviations - glossary() - PLAIN == set()


@pytest.mark.parametrize("path", [p for p in ALL[1:] if p.parent != DOCS], ids=named)
def test_a_page_is_of_one_kind_and_says_which(path: Path):
    assert path.parent.parent == DOCS
    start = "\n".join(path.read_text(encoding="utf-8").splitlines()[:4])
    kinds = {kind for kind in KINDS.values() if re.search(rf"^(# |A )?{kind}\b", start, re.M)}
    assert kinds == {KINDS[path.parent.name]}


@pytest.mark.parametrize("path", sorted((DOCS / "results").glob("*.md")), ids=named)
def test_results_have_two_screens_of_prose(path: Path):
    assert counted(path).words <= WORDS_OF_RESULTS


@pytest.mark.parametrize("path", [p for p in ALL if p not in DERIVED], ids=named)
def test_a_table_has_at_most_seven_columns(path: Path):
    heads = re.findall(r"^\|(?: *:?-+:? *\|)+$", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert max((head.count("|") - 1 for head in heads), default=0) <= COLUMNS


def test_the_index_names_every_page():
    index = (DOCS / "README.md").read_text(encoding="utf-8")
    linked = {(DOCS / link).resolve() for link in re.findall(r"\]\(([^)#]+)", index)}
    assert {path.resolve() for path in ALL[1:]} - linked == {DOCS / "README.md"}


def test_links_between_pages_lead_somewhere():
    """Files, and headings where one is named."""
    lost = []
    for path in [*ALL, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", ROOT / "config/README.md"]:
        text = re.sub(r"^```.*?^```|`[^`]*`", "", path.read_text("utf-8"), flags=re.S | re.M)
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
