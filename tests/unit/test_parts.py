"""Parts of an answer: each is one file, which alone names it, its keys and its content."""

import ast
import re
from pathlib import Path

import pytest
from frugal.answer.part import parts
from frugal.config.parts import declared_parts, further_paths, part_keys, requested
from frugal.config.root import Config
from frugal.core.declarations import PACKAGE, Declared
from frugal.core.errors import ConfigError
from frugal.library.decide_command import _parser
from frugal.library.verbs import load
from frugal.run.reference.command import OPTIONS, part_options

from tests.workflow.runs import ROOT

FOLDER = PACKAGE / "answer" / "parts"
ROOMS = ("answer", "config", "run", "library", "draw")
WORDS = {"labels", "groups", "elsewhere", "recorded"}  # that mean more than parts
ELSEWHERE = {  # columns and pictures of a part's table, and calls that are older than parts
    "answer/columns.py": {"net_benefit"},
    "answer/pictures.py": {"net_benefit"},
    "library/objects.py": {"design", "transport", "net_benefit", "refer"},
    "library/part_options.py": {*part_keys()},
    "run/own_table.py": {"design"},  # whose protocol `recorded` reads
    "run/advise.py": {"refer", "referral"},
    "run/search_advice.py": {"refer"},
}


def _texts(path: Path) -> set[str]:
    """Texts of a module that may be keys, names of arguments and attributes."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    keys = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)}
    names = {n.arg for n in ast.walk(tree) if isinstance(n, ast.keyword | ast.arg)}
    names |= {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    return {str(key) for key in keys} | {str(name) for name in names}


def test_no_other_file_names_a_part_or_its_keys():
    own = {*declared_parts(), *part_keys()} - WORDS
    paths = [path for room in ROOMS for path in (PACKAGE / room).rglob("*.py")]
    found = {}
    for path in paths:
        name = path.relative_to(PACKAGE).as_posix()
        if FOLDER not in path.parents and (
            named := own & _texts(path) - ELSEWHERE.get(name, set())
        ):
            found[name] = named
    assert found == {}


def test_a_key_of_a_part_is_in_the_config_the_command_and_the_library():
    flags = {word for action in _parser()._actions for word in action.option_strings}
    for key, one in part_keys().items():
        assert key in Config.model_fields
        assert f"--{key.replace('_', '-')}" in flags
        words = re.sub(r"\s+", " ", load.__doc__ or "")
        assert f"{key}: {one.doc}." in words
    assert "PARTS" not in (load.__doc__ or "")
    assert OPTIONS.read_text(encoding="utf-8") == part_options(), (
        "frugal reference --into docs/reference"
    )


def test_each_part_has_a_place_and_a_row_of_its_own():
    places = [part.place for part in parts()]
    assert places == sorted(set(places))
    page = (ROOT / "docs/reference/answer.md").read_text(encoding="utf-8")
    for part in parts():
        assert re.search(rf"^\| (`\w+`, )*`{part.name}`", page, re.MULTILINE), part.name


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (("Positive", "a weight"), "is ('Positive', 'a weight'); allowed is a type, one of Switch"),
        (("Amount", "a weight", 1.0), "allowed is a type"),
        (("InputFile", "weights"), "is a file, which a 'stage' has to read"),
    ],
)
def test_a_setting_that_no_part_can_have_is_refused(entry, reason, monkeypatch):
    part = Declared(
        "frugal.answer.parts.weight", "WEIGHT", {"settings": {"weight": entry}}, frozenset()
    )
    monkeypatch.setattr("frugal.config.parts.declared_parts", lambda: {"weight": part})
    with pytest.raises(ConfigError, match=f"part 'weight': 'weight' .*{re.escape(reason)}"):
        part_keys.__wrapped__()


@pytest.mark.parametrize("text", [False, True])
def test_only_a_part_whose_first_key_is_stated_is_requested(text):
    nothing = dict.fromkeys(part_keys()) | {"budget": None}
    assert requested(nothing) == {}
    stated = nothing | {"refer": "9" if text else 9.0, "audit_habit": "false" if text else False}
    assert requested(stated) == {"referral": {"refer": 9.0, "refer_risk": None}}
    assert further_paths(stated) == []
    more = stated | {"refer_risk": 2.0, "audit_habit": True, "design": 5, "budget": "3"}
    assert further_paths(more) == ["recorded_only", "without_panels"]
    stated = {key: value for key, value in requested(more)["design"].items() if value is not None}
    assert stated == {"design": 5, "budget": 3.0}
