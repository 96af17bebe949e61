"""Reference pages are made from the declarations, and hold every one of them."""

import inspect
from pathlib import Path

import frugal.library
import pytest
from frugal.acquire.registry import KINDS as AGENTS
from frugal.core.errors import ConfigError
from frugal.cover.generator import KINDS as GENERATORS
from frugal.judge.registry import ESTIMATORS
from frugal.run.library_page import library_page
from frugal.run.reference import reference_command, reference_page

PAGE = Path(__file__).parents[2] / "docs/reference.md"
LIBRARY = PAGE.with_name("library.md")


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


def test_the_librarys_page_is_what_its_docstrings_say(capsys):
    """If not: `python -m frugal reference library > docs/library.md`."""
    assert LIBRARY.read_text(encoding="utf-8") == library_page()
    assert reference_command(["library"]) == 0
    assert capsys.readouterr().out == library_page()
    with pytest.raises(ConfigError, match="allowed is nothing, or library"):
        reference_command(["libary"])


@pytest.mark.parametrize("name", frugal.library.__all__)
def test_every_public_name_has_its_part_on_the_page(name: str):
    first = inspect.cleandoc(getattr(frugal.library, name).__doc__).partition("\n")[0]
    _, _, part = library_page().partition(f"### `{name}`\n")
    assert first in part.partition("\n### ")[0]
