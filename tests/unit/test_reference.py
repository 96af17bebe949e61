"""Reference pages are made from the declarations, and hold every one of them."""

import re
from pathlib import Path

import frugal.sklearn
import pytest
from frugal.acquire.kinds import KINDS as AGENTS
from frugal.config.blocks import schema_of
from frugal.config.dataset import Dataset
from frugal.config.refusals import FORMS
from frugal.config.root import Config, effective
from frugal.core.errors import ConfigError
from frugal.core.schema_check import read_yaml
from frugal.judge.registry import ESTIMATORS
from frugal.run.reference.command import FOLDER, PAGES, data_sets_page, reference_command
from frugal.run.reference.parts import allowed
from frugal.run.reference.schemas import CONFIG, agents_page, config_page, methods_page
from frugal.studies.recourse.config import RecourseRules
from frugal.studies.recourse.generator import KINDS as GENERATORS
from frugal.studies.treatment.data.keys import RecordsEntry, SearchDataset

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_what_the_declarations_say(name: str):
    """If not: `python -m frugal reference --into docs/reference`."""
    assert (DOCS / "reference" / f"{name}.md").read_text(encoding="utf-8") == PAGES[name]()


def test_the_command_prints_a_page_or_writes_all(tmp_path, capsys):
    assert reference_command(["methods"]) == 0
    assert capsys.readouterr().out == methods_page()
    assert reference_command(["--into", str(tmp_path)]) == 0
    assert {path.stem for path in tmp_path.glob("*.md")} == set(PAGES)
    assert (tmp_path / "config.md").read_text(encoding="utf-8") == config_page()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["agent"], "there is no page 'agent'; did you mean 'agents'.*allowed are config, "),
        ([], "allowed is one page of config, .*, or --into FOLDER for all"),
        (["agents", "--into", "."], "allowed is one page of config, "),
        (["--into", "nowhere"], "--into nowhere is no folder"),
    ],
)
def test_what_is_no_page_is_refused_in_a_sentence(words: list[str], sentence: str):
    with pytest.raises(ConfigError, match=sentence):
        reference_command(words)


@pytest.mark.parametrize("page", [methods_page, agents_page], ids=["methods", "agents"])
def test_every_declaration_has_a_row_with_its_words(page):
    lines = page().partition("\n## `")[0].splitlines()
    for named in (ESTIMATORS, GENERATORS) if page is methods_page else (AGENTS,):
        for name in named:
            row = [line for line in lines if line.startswith((f"| `{name}` |", f"| [`{name}`]"))]
            assert len(row) == 1
            assert named[name].doc in row[0]


def test_every_setting_of_an_agent_has_a_row_under_its_kind():
    _, *parts = agents_page().split("\n## `")
    kinds = {part.partition("`")[0]: part for part in parts}
    assert set(kinds) == set(AGENTS)
    for name, agent in AGENTS.items():
        for key in agent.settings:
            assert re.search(rf"\n- `{key}[:`]", kinds[name])


def test_every_key_of_the_config_has_a_line():
    """But names that a person chooses, what has a page of its own, and repeated blocks."""
    page, found = config_page(), 0
    document = effective(read_yaml(CONFIG))

    def walk(path: str, value) -> None:
        nonlocal found
        if path in ("datasets", "afape.agents", "recourse.generators") or not isinstance(
            value, dict
        ):
            assert f"\n- `{path}" in page or ".NAME" in path, path
            found += 1
            return
        if re.search(rf"^- `{re.escape(path)}`: (.*; )?as `", page, re.M):
            return
        for key, inner in value.items():
            deeper = f"{path}.{key}".lstrip(".")
            if f"`{deeper}" in page:
                walk(deeper, inner)
            else:
                assert f"`{path}.NAME" in page, deeper

    walk("", document)
    assert found > 100


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"$ref": "#/$defs/share"}, "number (0,1]"),
        ({"type": ["integer", "null"], "minimum": 1}, "integer or null"),
        ({"enum": ["a", None]}, "`a`, `null`"),
        (
            {"type": "array", "items": {"type": "array", "items": {"type": "string"}}},
            "list of lists of texts",
        ),
        ({"oneOf": [{"const": True}, {"type": "object"}]}, "`true` or keys"),
    ],
)
def test_a_schema_is_stated_in_words(schema, words):
    share = {"type": "number", "exclusiveMinimum": 0, "maximum": 1}
    assert allowed(schema, {"share": share}) == words


def patterns(schema) -> set[str]:
    """Every `pattern` of a schema, at any depth."""
    if isinstance(schema, dict):
        own = {schema["pattern"]} if isinstance(schema.get("pattern"), str) else set()
        return own.union(*map(patterns, schema.values()))
    return set().union(*map(patterns, schema)) if isinstance(schema, list) else set()


def test_every_form_of_a_text_has_its_words():
    blocks = (Config, Dataset, SearchDataset, RecordsEntry, RecourseRules)
    assert set().union(*(patterns(schema_of(block)) for block in blocks)) == set(FORMS)


def test_every_data_set_is_there_with_its_file():
    page = data_sets_page()
    paths = [path for path in FOLDER.rglob("*.yaml") if path.stem != "template"]
    assert len(paths) > 25
    for path in paths:
        place = path.relative_to(FOLDER.parents[1]).as_posix()
        assert f"\n| [`{read_yaml(path)['name']}`](../../{place}) | " in page


def test_every_public_name_has_its_part_on_the_page():
    page = (DOCS / "reference" / "library.md").read_text(encoding="utf-8")
    stub = (DOCS.parent / "workflow/frugal/__init__.pyi").read_text(encoding="utf-8")
    names = re.findall(r" as (\w+)$", stub, re.M)
    assert sorted(re.findall(r"^\.\. auto\w+:: (\w+)$", page, re.M)) == sorted(
        [*names, *frugal.sklearn.__all__]
    )
