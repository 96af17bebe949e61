"""YAML as people write it; what would hurt its reader is in `tests/malformed/configs.py`."""

import json
from pathlib import Path

import pytest
import yaml
from frugal.config.blocks import Block, require_plain_text
from frugal.core.errors import ConfigError
from frugal.core.schema_check import read_yaml
from frugal.core.strict_yaml import (
    MOST_ALIASED,
    StrictYamlError,
    parse_config,
    parse_yaml,
    read_config_file,
    require_word,
)
from frugal.run.config_files import typed_entries
from snakemake.cli import parse_config as words_of_snakemake


class Small(Block):
    """Two keys."""

    level: str = "low"
    seed: int = 0


def test_bytes_that_are_no_text_are_one_sentence(tmp_path):
    path = tmp_path / "small.yaml"
    path.write_bytes(b"seed: 1 # \xe9\n")
    with pytest.raises(ConfigError, match=f"^{path} .*byte 10 is 0xe9; allowed is UTF-8"):
        read_yaml(path)


def test_what_people_write_is_read():
    text = (
        "\ufeffa: &a {x: 1, y: 'no'}\nb: {<<: *a, x: 2}\nc: [*a, *a]\nd: 1_000\ne: .5\nf: '010'\n"
    )
    a = {"x": 1, "y": "no"}
    expected = {"a": a, "b": {"x": 2, "y": "no"}, "c": [a, a], "d": 1000, "e": 0.5, "f": "010"}
    assert parse_yaml(text) == expected
    assert parse_config(json.dumps(expected)) == expected
    assert parse_yaml(yaml.safe_dump(expected)) == expected


def test_aliases_up_to_the_limit_are_read_and_looked_at_once():
    """A chain of mappings whose every value is shared: 2²⁰⁰ paths, if paths were walked."""
    shared: dict = {"x": 1}
    for _ in range(90):
        shared = {"a": shared, "b": shared}
    require_plain_text(shared, "small.yaml")
    count = MOST_ALIASED // 2
    text = f"a: &a [1]\nb: [{', '.join(['*a'] * count)}]"
    assert len(parse_yaml(text)["b"]) == count


@pytest.mark.parametrize("value", ["1:30", "010", "a: b: c", "/path: x", "2020-01-31", "", "{"])
def test_a_value_of_the_command_line_is_text_where_it_is_no_yaml(value):
    require_word(value)


def test_a_bare_no_is_stated_to_be_quoted():
    with pytest.raises(ConfigError, match="'level' is False; allowed is a text; YAML reads yes"):
        Small.read(parse_yaml("level: no"), where="small.yaml")


def test_a_sentence_shows_the_head_of_a_long_value():
    with pytest.raises(ConfigError) as caught:
        Small.read({"seed": "x" * 5000}, where="config")
    assert len(str(caught.value)) < 300
    assert "…" in str(caught.value)


def test_the_reader_stands_alone():
    """Snakemake's plugin loads it by its path, before the package is imported."""
    root = Path(__file__).parents[2]
    text = (root / "workflow/frugal/core/strict_yaml.py").read_text(encoding="utf-8")
    assert "frugal." not in text
    assert "import frugal" not in text


@pytest.mark.parametrize(
    "key", ["__use_yte__: false", '"\\x5f_use_yte__": yes', "<<: {__use_yte__: 1}"]
)
def test_a_config_that_requests_to_be_run_is_refused(tmp_path, key):
    path = tmp_path / "study.yaml"
    path.write_text(f"{key}\nseed: ?1 + 1\n", encoding="utf-8")
    with pytest.raises(StrictYamlError, match="unknown key '__use_yte__' at top level"):
        read_config_file(path)


def test_lists_and_mappings_of_config_words_have_numbers():
    entries = ["afape={seeds: [0, 1]}", "afape={grid: {a: 0.5}}", "seed=7", "data_mirror=[x]/y"]
    found = typed_entries(entries, words_of_snakemake(entries))
    assert found == {"afape": {"seeds": [0, 1], "grid": {"a": 0.5}}}
    with pytest.raises(ConfigError, match=r"--config afape: .* written twice"):
        typed_entries(["afape={a: 1, a: 2}"], {"afape": {}})
