"""Equations that a page lists point at functions that bear their tags; files it names are there."""

import importlib
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
ROW = re.compile(r"\| `(\[\w+, [^\]]+\])` \|[^|]*\| `(frugal(?:\.\w+)+)` \|")
ROWS = [
    (page.name, *found)
    for page in sorted(DOCS.rglob("*.md"))
    for found in ROW.findall(page.read_text(encoding="utf-8"))
]


def test_every_study_page_lists_its_equations():
    listed = {page for page, _, _ in ROWS}
    assert "afape.md" in listed
    assert len(ROWS) >= 20


@pytest.mark.parametrize(("page", "tag", "name"), ROWS)
def test_listed_function_bears_the_tag(page: str, tag: str, name: str):
    module, _, function = name.rpartition(".")
    text = getattr(importlib.import_module(module), function).__doc__ or ""
    study, place = tag.strip("[]").split(", ")
    tags = [t for t in re.findall(r"\[([^\]]+)\]", text) if t.startswith(study)]
    places = {p.strip() for t in tags for p in re.split(r",|;| and ", t)[1:]}
    assert place in places, f"{page}: {name} bears {sorted(places)}, not {place!r}"


PAGES = [DOCS.parent / "README.md", DOCS.parent / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]
SHIPPED = re.compile(r"\b(?:config|envs|docs/examples|profiles)/[\w/.-]+\.(?:yaml|csv)\b")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.name}")
def test_files_that_a_page_names_are_there(page: Path):
    """Those that come with the project; `config/datasets/…` of a person's own are not named."""
    named = set(SHIPPED.findall(page.read_text(encoding="utf-8")))
    assert [name for name in sorted(named) if not (DOCS.parent / name).is_file()] == []


HOW = (DOCS / "explanation" / "how_decide_works.md").read_text(encoding="utf-8")
READ_FIRST = re.findall(r"^\| (\d) \| `([\w/]+)\.py` \| (.+) \|$", HOW, re.MULTILINE)


def test_few_modules_are_to_be_read_first():
    assert len({module for _, module, _ in READ_FIRST}) <= 21
    assert [int(step) for step, _, _ in READ_FIRST] == sorted(int(s) for s, _, _ in READ_FIRST)
    assert {step for step, _, _ in READ_FIRST} == set(re.findall(r"^(\d)\. ", HOW, re.MULTILINE))


@pytest.mark.parametrize(("step", "module", "names"), READ_FIRST)
def test_what_a_page_states_to_read_is_there(step: str, module: str, names: str):
    part = importlib.import_module(f"frugal.{module.replace('/', '.')}")
    for name in re.findall(r"`(\w+)`", names):
        assert getattr(part, name).__module__ in (part.__name__, "frugal.library.question"), name
