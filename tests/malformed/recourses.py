"""Catalogues, units and rules of `recourse`: through its commands."""

import json
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from frugal.studies.recourse.catalogue import catalogue_of, group_warnings, units_of
from frugal.studies.recourse.sheets import read_sheet

from tests.malformed.cases import ROOT, Case, Right, Warned, Wrong, command, mistakes
from tests.studies.recourse.test_recourse_catalogue import OWN, UNITS

RECOURSE = "`recourse`: catalogues, units and rules of one's own"


def _label(catalogue: str | bytes = OWN, units: str | bytes = UNITS, **settings: Any) -> str:
    """The command `label_units` on a catalogue and units of one's own."""
    for name, content in (("actions.csv", catalogue), ("units.csv", units)):
        Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
    chosen = {"source": {"kind": "own"}, "most_actions": 3, "max_nodes": 1000} | settings
    words = ["label_units", "--seed", "0", "--settings", json.dumps(chosen)]
    words += ["--input", "catalogue=actions.csv", "--input", "units=units.csv"]
    for name in ("labels.parquet", "names.json", "instance.safetensors"):
        words += ["--output", f"{Path(name).stem}=results/{name}"]
    return command(*words)


def _in_catalogue(old: str, new: str) -> Any:
    assert old in OWN, old
    return partial(_label, OWN.replace(old, new, 1))


def _in_units(old: str, new: str) -> Any:
    assert old in UNITS, old
    return partial(_label, OWN, UNITS.replace(old, new, 1))


def _read(catalogue: bytes, units: bytes) -> tuple[Any, ...]:
    """What `label_units` reads before it solves anything."""
    Path("actions.csv").write_bytes(catalogue)
    Path("units.csv").write_bytes(units)
    known = catalogue_of(read_sheet(Path("actions.csv")), source="actions.csv")
    people = read_sheet(Path("units.csv"))
    names, features, group = units_of(people, known, source="units.csv")
    warnings = group_warnings(people, group, known, source="actions.csv", of_units="units.csv")
    numbers = [known.instance.cost, known.instance.gain, known.instance.access, features, group]
    return known.actions, known.features, names, [array.tolist() for array in numbers], warnings


def _read_the_same(catalogue: bytes, units: bytes) -> Right:
    """Accepted, with the names and numbers of the plain files."""
    found = _read(catalogue, units)
    if found != _read(OWN.encode(), UNITS.encode()):
        raise Wrong(f"read as {found}")
    return Right("read: names and numbers of the plain files")


def _warning_of(catalogue: str, units: str) -> Warned:
    """Accepted with a sentence."""
    (warning,) = _read(catalogue.encode(), units.encode())[-1]
    return Warned(warning)


GERMAN = ROOT / "config/recourse/german_credit.yaml"


def _rules(old: str, new: str) -> str:
    text = GERMAN.read_text(encoding="utf-8")
    assert old in text, old
    Path("rules.yaml").write_text(text.replace(old, new, 1), encoding="utf-8")
    settings = {"source": {"kind": "table"}, "most_actions": 3, "max_nodes": 1000}
    words = ["label_units", "--seed", "0", "--settings", json.dumps(settings)]
    shutil.copy(ROOT / "config/datasets/german_credit.yaml", "german.yaml")
    Path("german.data").write_text("A11 6\n", encoding="utf-8")
    words += ["--input", "rules=rules.yaml", "--input", "description=german.yaml"]
    words += ["--input", "raw_0=german.data"]
    for name in ("labels.parquet", "names.json", "instance.safetensors"):
        words += ["--output", f"{Path(name).stem}=results/{name}"]
    return command(*words)


def cases() -> Iterator[Case]:
    """Catalogues, units, rules, settings."""
    add = partial(Case, RECOURSE)
    for old, new, words in mistakes("catalogue"):
        name = f"a catalogue with `{new or 'nothing'}` for `{old}`"
        yield add(name, _in_catalogue(old, new), words)
    for old, new, words in mistakes("units"):
        yield add(f"units with `{new}` for `{old}`", _in_units(old, new), words)
    for old, new, words in mistakes("rules"):
        yield add(f"rules with `{new}` for `{old}`", partial(_rules, old, new), words)
    of_actions = partial(partial, _label)
    for name, work, words in (
        ("an empty catalogue", of_actions(""), "actions.csv has 0 lines"),
        (
            "a catalogue of thresholds only",
            of_actions("action,cost,f\nthreshold,,1\n"),
            "no action",
        ),
        ("a catalogue without features", of_actions("action,cost\nthreshold,\n"), "no feature"),
        ("a catalogue that is a spreadsheet", of_actions(b"PK\x03\x04" * 20), "actions.csv"),
        (
            "a remark between the actions",
            _in_catalogue("save,2.5", "# old\nsave,2.5"),
            "line 5 has 1 cells",
        ),
        (
            "a cost with a decimal comma, bare",
            _in_catalogue("save,2.5", "save,2,5"),
            "actions.csv, line 5",
        ),
        ("a cost in percent", _in_catalogue("save,2.5", "save,25%"), "'25%'"),
        ("a cost that is missing", _in_catalogue("save,2.5", "save,"), "actions.csv, line 5"),
        ("an infinite cost", _in_catalogue("save,2.5", "save,inf"), "'inf'"),
        ("a cost of 10 decimals", _in_catalogue("save,2.5", "save,2.5000000001"), "decimals"),
        (
            "an open quote in a catalogue",
            _in_catalogue("save,2.5", '"save,2.5'),
            "actions.csv, line 5",
        ),
        ("a feature named twice", of_actions(OWN.replace("skills", "savings", 1)), "'savings'"),
        ("a second row of thresholds", _in_catalogue("save,2.5", "threshold,2.5"), "'threshold'"),
        (
            "an amount beyond nine digits",
            _in_catalogue("save,2.5,,1", "save,2.5,,12345678901"),
            "allowed",
        ),
        ("units of no record", of_actions(OWN, UNITS.split("\n")[0]), "units.csv"),
        ("empty units", of_actions(OWN, ""), "units.csv has 0 lines"),
        ("units with a cell too few", of_actions(OWN, UNITS.rstrip()[:-2]), "units.csv, line"),
        ("units with a decimal", _in_units("bob,old,0", "bob,old,0.5"), "'0.5'"),
        ("units with a negative number", _in_units("bob,old,0", "bob,old,-1"), "'-1'"),
        ("the catalogue given for the units", of_actions(OWN, OWN), "units.csv has no column"),
        ("settings without `max_nodes`", _without("max_nodes"), "max_nodes"),
        ("settings of no source", of_actions(source={"kind": "owm"}), "'owm'"),
        ("`max_nodes` of 0", of_actions(max_nodes=0), "max_nodes"),
        ("`most_actions` in words", of_actions(most_actions="three"), "most_actions"),
    ):
        yield add(name, work, words)
    for name, catalogue, units in (
        (
            "a byte order mark in both files",
            b"\xef\xbb\xbf" + OWN.encode(),
            b"\xef\xbb\xbf" + UNITS.encode(),
        ),
        (
            "line ends of Windows",
            OWN.encode().replace(b"\n", b"\r\n"),
            UNITS.encode().replace(b"\n", b"\r\n"),
        ),
        (
            "line ends of an old Mac",
            OWN.encode().replace(b"\n", b"\r"),
            UNITS.encode().replace(b"\n", b"\r"),
        ),
    ):
        yield add(name, partial(_read_the_same, catalogue, units), ends="accepted")
    yield add(
        "a group that no unit is in",
        partial(_warning_of, OWN.replace("young;old", "young;old;odl"), UNITS),
        "'odl'",
        "warned",
    )


def _without(key: str) -> Any:
    def work() -> str:
        chosen: dict[str, Any] = {"source": {"kind": "own"}, "most_actions": 3, "max_nodes": 1000}
        del chosen[key]
        Path("actions.csv").write_text(OWN, encoding="utf-8")
        Path("units.csv").write_text(UNITS, encoding="utf-8")
        words = ["label_units", "--seed", "0", "--settings", json.dumps(chosen)]
        words += ["--input", "catalogue=actions.csv", "--input", "units=units.csv"]
        return command(*words, "--output", "labels=results/labels.parquet")

    return work
