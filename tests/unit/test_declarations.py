"""A folder of declarations: read without importing, loaded by name, one name each."""

import sys

import pytest
from frugal.core import declarations
from frugal.core.declarations import declared, load_all, load_literals, load_one
from frugal.core.errors import ConfigError

ONE = """
class Kind:
    def __init__(self, **says): self.says = says
A = Kind(name="a", fit=None)
"""
TWO = """
raise OSError
B = Kind(name="b", settings={"x": ("count", "rows")}, fit=print)
C = str(3)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """`frugal.kinds` in a package of its own, of which nothing is imported yet."""
    package = tmp_path / "frugal" / "kinds"
    package.mkdir(parents=True)
    (package / "one.py").write_text(ONE)
    monkeypatch.setattr(declarations, "PACKAGE", tmp_path / "frugal")
    declarations.declared.cache_clear()
    yield package
    declarations.declared.cache_clear()


def test_what_is_stated_is_read_without_importing(folder):
    (folder / "two.py").write_text(TWO)
    found = declared("frugal.kinds", "Kind")
    assert list(found) == ["a", "b"]
    assert found["a"].literals == {"name": "a", "fit": None}
    assert found["b"].literals == {"name": "b", "settings": {"x": ("count", "rows")}}
    assert load_literals("frugal.kinds", "Kind") == {
        name: one.literals for name, one in found.items()
    }
    assert [one.has("fit") for one in found.values()] == [False, True]
    assert [one.has("settings") for one in found.values()] == [False, True]
    assert (found["b"].module, found["b"].variable) == ("frugal.kinds.two", "B")
    assert "frugal.kinds.two" not in sys.modules


def test_a_study_adds_to_the_folder_of_that_name_alone(folder):
    for study, room in (("s", "kinds"), ("t", "others")):
        added = folder.parent / "studies" / study / room
        added.mkdir(parents=True)
        (added / "more.py").write_text(f'B = Kind(name="{study}")\n')
    found = declared("frugal.kinds", "Kind")
    assert {name: one.module for name, one in found.items()} == {
        "a": "frugal.kinds.one",
        "s": "frugal.studies.s.kinds.more",
    }
    assert list(declared("frugal.studies.t.others", "Kind")) == ["t"]


def test_a_function_is_declared_by_its_decorators_and_its_docstring(folder):
    (folder / "two.py").write_text(
        '@Kind(name="c", doc="own")\n@Kind(name="b")\ndef f():\n    """Its words.\n\n    More."""\n'
    )
    found = declared("frugal.kinds", "Kind")
    assert {name: found[name].literals["doc"] for name in "bc"} == {"b": "Its words", "c": "own"}
    assert {found[name].variable for name in "bc"} == {"f"}


def test_two_of_one_name_are_refused(folder):
    (folder / "two.py").write_text('B = Kind(name="a")\n')
    with pytest.raises(ConfigError, match=r"\.one and frugal\.kinds\.two both declare"):
        declared("frugal.kinds", "Kind")


def test_objects_come_by_import_when_they_are_requested_for(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "frugal.kinds.one", vars_of(ONE))
    assert load_one("frugal.kinds", "Kind", "a").says["name"] == "a"
    assert list(load_all("frugal.kinds", "Kind")) == ["a"]
    with pytest.raises(KeyError):
        load_one("frugal.kinds", "Kind", "b")


def vars_of(text):
    """A module made of a text."""
    module = type(sys)("one")
    exec(text, module.__dict__)
    return module
