"""The YAML of a data set: read by the command `prepare_data`, with a valid file beside it."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import yaml

from tests.malformed.cases import ROOT, Case, command, prepared, write_small
from tests.malformed.plain_words import of_change
from tests.unit import test_bad_files, test_description, test_description_diagnosis
from tests.unit.dataset_documents import document
from tests.unit.hostile import REFUSED, REFUSED_FILES
from tests.unit.spoiling import DELETE, spoilt

GROUP = "Data sets: their YAML"
# Of `test_bad_files.DESCRIPTIONS`, what `test_description.MISTAKES` has as well.
AGAIN = {
    "unknown key",
    "missing key",
    "unknown column kind",
    "panel of no column",
    "negative cost",
    "costs of another shape",
    "one class",
    "a key twice",
    "infinite cost",
}


def _taken(content: Any) -> Any:
    table = prepared(content)
    return f"a table of {len(table)} rows"


def _listed_mistakes() -> Iterator[Case]:
    """Those that other tests have."""
    for name, (spoil, words) in test_description.MISTAKES.items():
        content = document()
        spoil(content)
        yield Case(GROUP, name, partial(_taken, content), words[0])
    for name, (make, place, value, words) in test_description_diagnosis.MISTAKES.items():
        content = spoilt(make(), place, DELETE if value is None else value)
        yield Case(GROUP, f"{name} (diagnosis)", partial(_taken, content), words[0])
    for name, (content, words) in test_bad_files.DESCRIPTIONS.items():
        if name not in AGAIN:
            yield Case(GROUP, name, partial(_taken, content), words)


def _changes() -> Iterator[tuple[tuple[Any, ...], Any, str]]:
    """Place, value, and words of the sentence."""
    blood, age, smoker = ("panels", 1), ("columns", 0), ("columns", 1)
    yield (*blood, "cost"), "1,5", "panels[1].cost"
    yield (*blood, "cost"), "50%", "panels[1].cost"
    yield (*blood, "cost"), "1e5", "panels[1].cost"
    yield (*blood, "cost"), float("nan"), "panels[1].cost"
    yield (*blood, "cost"), None, "panels[1].cost"
    yield (*blood, "cost"), True, "panels[1].cost"
    yield (*blood, "cost"), [30, 40], "panels[1].cost"
    yield (*blood, "columns"), [], "panels[1].columns"
    yield (*blood, "columns"), "marker", "panels[1].columns"
    yield (*blood, "columns"), ["marker", "marker"], "panels[1].columns"
    yield (*blood, "free"), "no", "panels[1].free"
    yield (*blood, "name"), "", "panels[1].name"
    yield (*age, "unit"), 1, "columns[0].unit"
    yield (*age, "special_values"), [{"value": -9, "meaning": "a"}] * 2, "special value"
    yield (*age, "special_values"), [{"value": "n/a", "meaning": "a"}], "special_values"
    yield (*age, "valid"), [120], "columns[0].valid"
    yield (*age, "valid"), ["0", "120"], "columns[0].valid"
    yield (*smoker, "levels"), [], "columns[1].levels"
    yield (*smoker, "levels"), ["no", "no"], "columns[1].levels"
    yield (*smoker, "levels"), [0, 1], "columns[1].levels"
    yield (*smoker, "levels"), "no, yes", "columns[1].levels"
    yield ("columns",), [], "'columns' is []"
    yield ("cost_unit",), None, "'cost_unit'"
    yield ("cost_draw",), {"distribution": "normal", "low": 0, "high": 1, "seed": 0}, "distribution"
    yield ("cost_draw",), {"distribution": "uniform", "low": -1, "high": 1, "seed": 0}, "cost_draw"
    yield ("label", "classes", 0, "values"), [], "label.classes[0].values"
    yield ("label", "classes", 0, "values"), [True], "label.classes[0].values"
    yield ("label", "classes", 1, "name"), "healthy", "'healthy'"
    yield ("label", "classes", 0), {"name": "low", "below": 1}, "either all by"
    yield ("label", "column"), "", "label.column"
    yield ("misclassification_cost",), [], "misclassification_cost"
    yield ("misclassification_cost",), [0, 1000, 5000, 0], "misclassification_cost"
    yield ("misclassification_cost", 0, 1), float("nan"), "misclassification_cost"
    yield ("misclassification_cost", 0, 1), float("inf"), "misclassification_cost"
    yield ("misclassification_cost", 0, 1), "1.000", "misclassification_cost"
    yield ("missing_values",), "none", "'missing_values' is 'none'"
    yield ("missing_values",), None, "'missing_values'"
    yield ("split", "parts"), {}, "split"
    yield ("split", "parts"), {"train": 50, "test": 50}, "split.parts"
    yield ("split", "parts"), {"train": "50%", "test": "50%"}, "split.parts"
    yield ("split", "parts"), {"train": 1.5, "test": -0.5}, "split.parts"
    yield ("split",), {"scheme": "counts", "seed": 0, "parts": {"train": 3, "test": 30}}, "33 rows"
    yield ("split", "parts"), {"train": 0.9, "test": 0.1}, "none of class"
    yield ("split", "seed"), -1, "split.seed"
    yield ("split",), None, "'split'"
    yield ("source", "files"), [], "source.files"
    yield ("source", "files"), ["small.csv"], "source.files[0]"
    yield ("source", "files"), [{"name": "small.csv"}] * 2, "twice"
    yield ("source", "files", 0, "sha256"), "0" * 64, "small.csv has SHA-256"
    yield ("source", "files", 0, "bytes"), -1, "bytes"
    yield ("source", "kind"), "url", "source.kind"
    yield ("source", "kind"), "bundled", "source"
    yield ("source", "loader"), "iris", "source.loader"
    yield ("source", "format", "kind"), "xlsx", "source.format.kind"
    yield ("source", "format", "kind"), "parquet", "separator does not go with kind 'parquet'"
    yield ("source", "format", "separator"), "", "separator"
    yield ("source", "format", "separator"), ", ", "separator"
    yield ("source", "format", "separator"), '"', "'age'"
    yield ("source", "format", "separator"), "\n", "'age'"
    yield ("source", "format", "comment"), "", "comment"
    yield ("source", "format", "header"), ["age", "age", "marker", "scan", "ill"], "header"
    yield ("source", "format", "header"), ["age", "smoker"], "5 cells"
    yield ("source", "format", "missing"), "NA", "missing"
    yield ("source", "format", "missing"), [-9], "missing"
    yield ("source", "format", "encoding"), "undefined", "encoding"
    yield ("source", "format", "encoding"), "utf-16", "is not utf-16 text"
    yield ("source", "format", "encoding"), "base64", "encoding"
    yield ("source", "format", "encoding"), "idna", "encoding"
    yield ("source", "format", "encoding"), "", "encoding"
    yield ("source", "format", "personal"), ["names"], "personal"
    yield ("source", "format", "personal"), ["age"], "'age'"
    yield ("source", "join"), "id", "'id'"
    yield ("drop_rows",), [{"rule": "below", "column": "agee", "value": 3, "reason": "r"}], "'agee'"
    yield (
        ("drop_rows",),
        [{"rule": "below", "column": "smoker", "value": 3, "reason": "r"}],
        "'yes'",
    )
    yield ("drop_rows",), [{"rule": "above", "column": "age", "value": -1, "reason": "r"}], "no row"
    yield ("drop_rows",), [{"rule": "below", "column": "age", "value": "3", "reason": "r"}], "value"
    yield (
        ("drop_rows",),
        [{"rule": "feature_missing", "columns": ["agee"], "reason": "r"}],
        "'agee'",
    )
    yield ("drop_rows",), [{"rule": "feature_missing", "columns": [], "reason": "r"}], "columns"
    yield ("drop_rows",), [{"rule": "feature_mising", "columns": ["age"], "reason": "r"}], "did you"
    yield ("drop_rows",), [{"rule": "label_missing"}], "'reason' is missing"
    yield ("drop_rows",), "label_missing", "drop_rows"
    yield ("sensitive",), {"column": "smoker"}, "'groups' is missing"
    yield ("sensitive",), {"column": "sex", "groups": _two("f", "m")}, "'sex'"
    yield ("sensitive",), {"column": "smoker", "groups": _two("no", "never")}, "'yes'"
    yield ("sensitive",), {"column": "smoker", "groups": _two("no", "no")}, "'no'"
    yield ("groups",), "smokr", "'smoker'"
    yield ("groups",), {"column": "smoker", "groups": _two("no", "never")}, "'yes'"
    yield ("groups",), 7, "'groups' is 7"
    yield ("cluster",), "pasient", "'cluster'"
    yield ("cluster",), "marker", "holds no value"
    yield ("note",), None, "'note'"
    yield ("name",), "", "'name'"
    yield ("name",), 7, "'name' is 7"
    yield ("name",), "x" * 300, "'name'"


def _two(first: str, second: str) -> list[dict[str, Any]]:
    return [{"name": "a", "values": [first]}, {"name": "b", "values": [second]}]


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
    yield from _listed_mistakes()
    for place, value, words in _changes():
        content = spoilt(document(), place, value)
        yield Case(GROUP, of_change(place, value), partial(_taken, content), words)
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
