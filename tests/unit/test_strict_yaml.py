"""YAML that would hurt its reader, or means another thing than it says: one sentence each."""

import json
from pathlib import Path

import pytest
import yaml
from frugal.core.errors import ConfigError
from frugal.core.schema_check import check_against_schema, read_yaml
from frugal.core.strict_yaml import (
    MOST_ALIASED,
    MOST_BYTES,
    StrictYamlError,
    parse_config,
    parse_yaml,
    read_config_file,
    require_word,
)
from frugal.run.config_files import typed_entries
from snakemake.cli import parse_config as words_of_snakemake

DIGITS = "9" * 6000


def laughs(levels: int, first: str, pair: str, ends: str) -> str:
    """Every level holds the one before it eight times."""
    lines = [f"a0: &a0 {first}"]
    for k in range(levels):
        inner = ", ".join(pair.format(k=i, anchor=f"*a{k}") for i in range(8))
        lines.append(f"a{k + 1}: &a{k + 1} {ends[0]}{inner}{ends[1]}")
    return "\n".join(lines)


HOSTILE = {
    "lists of lists": (laughs(9, "[x]", "{anchor}", "[]"), "aliases expand to more than"),
    "mappings of mappings": (laughs(9, "{x: 1}", "k{k}: {anchor}", "{}"), "aliases expand to"),
    "merges of merges": ("a: &a {x: 1}\nb: {<<: [" + "*a, " * 30_000 + "]}", "aliases expand to"),
    "an alias inside itself": ("seed: &a {b: *a}", "line 1, column 14: *a is inside the value"),
    "10,000 lists": ("[" * 10_000 + "]" * 10_000, "nested deeper than 100 levels"),
    "10,000 mappings": ("a: " + "{a: " * 10_000, "nested deeper than 100 levels"),
    "10,000 lines of a block": ("- " * 10_000, "nested deeper than 100 levels"),
    "10,000 mappings in JSON": ('{"a": ' * 10_000 + "1" + "}" * 10_000, "nested deeper than 100"),
    "a list as a key": ("? [a, b]\n: 1", "a key is a sequence; allowed are keys of text"),
    "a mapping as a key": ("{a: 1}: 1", "a key is a mapping; allowed are keys of text"),
    "a key twice": ("seed: 1\nseed: 2", "line 2, column 1: key 'seed' is written twice"),
    "a key twice further down": ("a: {b: 1, c: 2, b: 3}", "key 'b' is written twice"),
    "a key twice in JSON": ('{"a": {"b": 1, "b": 2}}', "key 'b' is written twice"),
    "6,000 digits": (f"seed: {DIGITS}", "a number has 6000 characters; at most 100 are read"),
    "6,000 digits in JSON": (f'{{"seed": {DIGITS}}}', "a number has 6000 characters"),
    "6,000 digits to the base 16": (f"seed: 0x{DIGITS}", "a number has 6002 characters"),
    "6,000 decimals": (f"seed: 0.{DIGITS}", "a number has 6002 characters"),
    "base 60": ("cost: 1:30", "'1:30' is 90 to YAML, which reads colons as base 60"),
    "base 60, not whole": ("cost: -1:30.5", "'-1:30.5' is -90.5 to YAML"),
    "a leading zero": ("cost: 010", "'010' is 8 to YAML, which counts to the base 8"),
    "a date": ("value: 2020-01-31", "'2020-01-31' is a date to YAML; write it in quotes"),
    "a date that is none": ("value: 2020-13-45", "'2020-13-45' is a date to YAML"),
    "an equals sign": ("value: =", "'=' has a meaning of its own in YAML; write it in quotes"),
    "no number after 0x": ("value: 0x_", "not valid YAML"),
    "a Python object": ("a: !!python/object/apply:os.system [id]", "the tag '!!python/object/"),
    "a tuple": ("a: !!python/tuple [1, 2]", "the tag '!!python/tuple' is not allowed"),
    "a wrong number": ("a: !!int x", "the tag '!!int' is not allowed; write the value without it"),
    "a wrong truth": ("a: !!bool x", "the tag '!!bool' is not allowed"),
    "bytes": ("a: !!binary abc", "the tag '!!binary' is not allowed"),
    "a set": ("a: !!set {a, b}", "the tag '!!set' is not allowed"),
    "two documents": ("seed: 1\n---\nseed: 2", "expected a single document in the stream"),
    "an anchor twice": ("a: &a 1\nb: &a 2", "found duplicate anchor 'a'; first occurrence"),
    "a tab as indentation": ("afape:\n\tx: 1", "line 2, column 1: not valid YAML"),
    "a zero byte": ("seed: 1\0", "unacceptable character #x0000"),
    "half a character": ('note: "\\ud800"', "holds half a character"),
}
BYTES = {
    "two bytes a letter": ("seed: 1\n".encode("utf-16"), "byte 0 is 0xff; allowed is UTF-8"),
    "latin-1": (b"seed: 1 # \xe9\n", "byte 10 is 0xe9; allowed is UTF-8"),
    "too much": (b"#" * (MOST_BYTES + 1), f"at most {MOST_BYTES} are read"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_is_one_sentence(name):
    text, words = HOSTILE[name]
    with pytest.raises(StrictYamlError) as caught:
        parse_config(text)
    said = str(caught.value)
    assert words in said
    assert "\n" not in said
    assert len(said) < 400


@pytest.mark.parametrize("name", BYTES)
def test_bytes_that_are_no_text_are_one_sentence(tmp_path, name):
    content, words = BYTES[name]
    path = tmp_path / "study.yaml"
    path.write_bytes(content)
    for refuse, error in ((read_config_file, StrictYamlError), (read_yaml, ConfigError)):
        with pytest.raises(error, match=words) as caught:
            refuse(path)
        assert str(caught.value).startswith(f"{path} ")


@pytest.mark.parametrize(
    ("content", "words"),
    [("", "holds nothing"), ("- 1", "holds a list"), ("hello", "holds a single value")],
)
def test_a_config_without_keys_is_refused_by_its_name(tmp_path, content, words):
    path = tmp_path / "study.yaml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(StrictYamlError, match=f"{path} {words}; allowed is a mapping of keys"):
        read_config_file(path)


def test_a_config_that_is_no_file_is_refused(tmp_path):
    with pytest.raises(StrictYamlError, match="is a folder or a device, not a file"):
        read_config_file(tmp_path)
    with pytest.raises(StrictYamlError, match="there is no file"):
        read_config_file(tmp_path / "study.yaml")


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
    check_against_schema(shared, {"type": "object"}, where="small.yaml")
    count = MOST_ALIASED // 2
    text = f"a: &a [1]\nb: [{', '.join(['*a'] * count)}]"
    assert len(parse_yaml(text)["b"]) == count


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (laughs(9, "{x: 1}", "k{k}: {anchor}", "{}"), "aliases expand to more than"),
        ("{a: 1, a: 2}", "key 'a' is written twice"),
        ("[" * 10_000, "nested deeper than"),
    ],
)
def test_a_value_of_the_command_line_is_held_to_the_same(value, words):
    with pytest.raises(StrictYamlError, match=words):
        require_word(value)


@pytest.mark.parametrize("value", ["1:30", "010", "a: b: c", "/path: x", "2020-01-31", "", "{"])
def test_a_value_of_the_command_line_is_text_where_it_is_no_yaml(value):
    require_word(value)


def test_a_bare_no_is_told_to_be_quoted():
    schema = {"type": "object", "properties": {"level": {"type": "string"}}}
    with pytest.raises(ConfigError, match="'level' is False; allowed is a text; YAML reads yes"):
        check_against_schema(parse_yaml("level: no"), schema, where="small.yaml")


def test_a_sentence_shows_the_head_of_a_long_value():
    schema = {"type": "object", "properties": {"seed": {"type": "integer"}}}
    with pytest.raises(ConfigError) as caught:
        check_against_schema({"seed": "x" * 5000}, schema, where="config")
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
def test_a_config_that_asks_to_be_run_is_refused(tmp_path, key):
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
