"""The YAML of a data set: read by the command `prepare_data`, with a valid file beside it."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import yaml

from tests.malformed.cases import ROOT, Case, command, mistakes, prepared, write_small
from tests.malformed.plain_words import of_change
from tests.unit.dataset_documents import document
from tests.unit.hostile import REFUSED, REFUSED_FILES
from tests.unit.spoiling import spoilt

GROUP = "Data sets: their YAML"


def _taken(content: Any) -> Any:
    table = prepared(content)
    return f"a table of {len(table)} rows"


def _stays() -> dict[str, Any]:
    content = document()
    summary = {"name": "low", "measurement": "K", "statistic": "lowest"}
    content["source"]["format"] = {
        "kind": "stays",
        "missing": ["-1"],
        "hours": 24,
        "summaries": [summary | {"from_hour": 0, "to_hour": 24}],
    }
    return content


def _event() -> dict[str, Any]:
    content = document()
    content["label"] = {
        "column": "bad",
        "rule": {"kind": "event_within", "event": "cause", "time": "months", "horizon": 60},
        "classes": [{"name": "no", "values": [0]}, {"name": "yes", "values": [1]}],
    }
    return content


def _clinic() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "config/datasets/clinical_simulator.yaml").read_text())


def _changes() -> Iterator[Case]:
    """One value of a valid document replaced or removed."""
    for section, kind, content in (
        ("description", "", document()),
        ("stays", " of stays", _stays()),
        ("event", " of an event", _event()),
        ("clinic", " of `clinical_simulator`", _clinic()),
    ):
        for place, value, words in mistakes(section):
            made = partial(_taken, spoilt(content, place, value))
            yield Case(GROUP, of_change(place, value) + kind, made, words)
    long = document() | {"name": "x" * 300}
    yield Case(GROUP, "a name of 300 letters", partial(_taken, long), "'name'")


def _as_text(line: str, instead: str) -> str:
    """The small YAML with a line written otherwise."""
    text = yaml.safe_dump(document(), sort_keys=False)
    assert line in text
    return text.replace(line, instead, 1)


def _texts() -> Iterator[tuple[str, str, str]]:
    """What only a text shows: bare words that YAML reads as something else."""
    yield "a cost written `1:30`", _as_text("cost: 30", "cost: 1:30"), "'1:30' is 90"
    yield "a cost written `010`", _as_text("cost: 30", "cost: 010"), "'010' is 8"
    yield "a cost written `30 # EUR` without a blank", _as_text("cost: 30", "cost: 30#"), "'30#'"
    yield (
        "levels written bare, `[no, yes]`",
        _as_text("  - 'no'\n  - 'yes'", "  - no\n  - yes"),
        ("write the text in quotes"),
    )
    one_text = _as_text("columns:\n  - marker", "columns: marker, scan")
    yield "a panel's columns in one text", one_text, "panels[1].columns"
    yield "tabs for blanks", _as_text("  kind: path", "\tkind: path"), "not valid YAML"
    yield "a colon in a bare title", _as_text("title: Small", "title: Small: a table"), "line 2"
    yield "the end cut off", yaml.safe_dump(document(), sort_keys=False)[:200], "small.yaml"
    yield "a date as a level", _as_text("  - 'no'", "  - 2020-01-31"), "is a date to YAML"
    misspelt = yaml.safe_dump(document()).replace("panels:", "panel:")
    yield "panels misspelt", misspelt, "unknown key 'panel' … did you mean 'panels'?"
    yield "a list that is not closed", "name: [1,\n", "small.yaml, line 2 … not valid YAML"
    yield "an object of Python", "!!python/object/apply:os.system [id]", "not valid YAML"
    yield "an alias without an anchor", "name: *gone", "not valid YAML"
    yield "a key twice", "name: a\nname: b\n", "line 2, column 1 … 'name' is written twice"
    for text in ("- 1", "", "hello"):
        yield f"`{text}` alone", text, "'top level' is … allowed is a mapping of keys"
    yield "a YAML of 3 MB", "note: " + "x" * 3_000_000, "bytes; at most"


def _hostile(name: str, place: tuple[Any, ...]) -> Any:
    content = spoilt(document(), place, name)
    return partial(_taken, content)


def _groups() -> Iterator[Case]:
    """Ranges that tell people apart."""
    two = [{"name": "a", "below": 65}, {"name": "b", "from": 60}]
    for name, sensitive, words in (
        ("ranges of groups that overlap", {"column": "age", "groups": two}, "overlap at 60"),
        (
            "ranges of groups that leave a hole",
            {"column": "age", "groups": [{"name": "a", "below": 45}, {"name": "b", "from": 60}]},
            "'sensitive.groups'",
        ),
        (
            "ranges of groups on a column of texts",
            {"column": "smoker", "groups": [{"name": "a", "below": 45}, {"name": "b", "from": 45}]},
            "'smoker' holds 'yes'",
        ),
        (
            "ranges of groups that `by` need not choose",
            {
                "column": "age",
                "by": "smoker",
                "groups": [{"name": "a", "below": 45}, {"name": "b", "from": 45}],
            },
            "'by'",
        ),
    ):
        yield Case(GROUP, name, partial(_taken, document() | {"sensitive": sensitive}), words)


def _generators() -> Iterator[Case]:
    """Simulated tables."""
    loans = ROOT / "config/datasets/synthetic_loans.yaml"
    mnar = ROOT / "config/datasets/synthetic_mnar.yaml"
    for path, place, value, words in (
        (loans, ("source", "generator", "divisor"), 0, "divisor"),
        (loans, ("source", "generator", "seed"), 1.5, "seed"),
        (loans, ("split", "scheme"), "fractions", "split"),
        (mnar, ("source", "generator", "population"), -1, "population"),
        (mnar, ("source", "generator", "clusters_per_class"), 0, "clusters_per_class"),
        (mnar, ("source", "generator", "class_separation"), float("nan"), "class_separation"),
        (mnar, ("split", "parts", "test"), 1e9, "rows"),
    ):
        content = spoilt(yaml.safe_load(path.read_text(encoding="utf-8")), place, value)
        name = f"{of_change(place, value)} of `{path.stem}`"
        yield Case(GROUP, name, partial(_simulated, content), words)


def _simulated(content: Any) -> Any:
    write_small(content, None)
    words = ["prepare_data", "--seed", "0", "--input", "description=small.yaml"]
    command(*words, "--output", "table=results/t.parquet", "--output", "catalogue=results/c.json")
    return "a table"


def cases() -> Iterator[Case]:
    """Of all."""
    yield from _changes()
    for name, text, words in _texts():
        yield Case(GROUP, name, partial(_taken, text), words)
    yield from _groups()
    yield from _generators()
    for name in REFUSED:
        shown = name.encode("unicode_escape").decode()
        yield Case(GROUP, f"a panel named `{shown}`", _hostile(name, ("panels", 1, "name")), "name")
    for name in REFUSED_FILES:
        make = _hostile(name, ("source", "files", 0, "name"))
        yield Case(GROUP, f"a file named `{name}`", make, "name")
