"""The reference page is made from the declarations, and holds every one of them."""

from pathlib import Path

from frugal.acquire.registry import KINDS as AGENTS
from frugal.cover.generator import KINDS as GENERATORS
from frugal.judge.registry import ESTIMATORS
from frugal.run.reference import reference_page

PAGE = Path(__file__).parents[2] / "docs/reference.md"


def test_the_page_is_what_the_declarations_say():
    """If not: `python -m frugal reference > docs/reference.md`."""
    assert PAGE.read_text(encoding="utf-8") == reference_page()


def test_every_declaration_has_a_row_with_its_words():
    lines = reference_page().splitlines()
    for named in (AGENTS, GENERATORS, ESTIMATORS):
        for name in named:
            row = [line for line in lines if line.startswith(f"| `{name}` |")]
            assert len(row) == 1
            assert named[name].doc in row[0]
            for key in getattr(named[name], "settings", ()):
                assert f"`{key}`" in row[0]
