"""Own catalogues and own records: `python -m frugal recourse` and `snakemake search`, spoilt."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import yaml
from frugal.studies.treatment.data.own_records import describe_records, read_own_records

from tests.malformed.cases import Case, Right, command

RECOURSE = "`python -m frugal recourse`"
SEARCH = "`snakemake search`: one's own records"
EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
UNITS, ACTIONS = ((EXAMPLES / f"loan_{name}.csv").read_text() for name in ("units", "actions"))
DESCRIPTION = yaml.safe_load((EXAMPLES / "searches.yaml").read_text())
ROWS = (
    "episode,patient,day,drug,result,age,ward\n"
    "e1,p1,0,A,worse,60,general\ne1,p1,3,B,well,60,general\ne2,p2,0,B,same,70,intensive\n"
)


def _recourse(units: str, actions: str, *words: str) -> str:
    Path("units.csv").write_text(units)
    Path("actions.csv").write_text(actions)
    return command("recourse", "units.csv", "actions.csv", *words)


def _records(text: str, changed: dict) -> Right:
    path = Path("searches.yaml").absolute()
    Path("searches.csv").write_text(text)
    own = read_own_records(describe_records(DESCRIPTION | changed, path), Path("searches.csv"))
    return Right(f"read: {len(own.names)} units; {'; '.join(own.remarks)}")


def cases() -> Iterator[Case]:
    """Every case of both groups."""
    for name, units, actions, words, said in (
        ("the files in the other order", ACTIONS, UNITS, [], "name the units first"),
        (
            "an action misspelt in `forbidden`",
            UNITS.replace("sell_car,,", "sell_cat,,", 1),
            ACTIONS,
            [],
            "did you mean 'sell_car'",
        ),
        (
            "a budget in words",
            UNITS.replace(",5,9", ",five,9"),
            ACTIONS,
            [],
            "line 5: the budget is 'five'",
        ),
        (
            "a price below zero",
            UNITS.replace(",5,9", ",5,-9"),
            ACTIONS,
            [],
            "line 5: 'cost:sell_car' is '-9'",
        ),
        (
            "a price of no action",
            UNITS.replace("cost:sell_car", "cost:car"),
            ACTIONS,
            [],
            "column 'cost:car'",
        ),
        (
            "an action that requires none there is",
            UNITS,
            ACTIONS.replace("7,language", "7,langage"),
            [],
            "did you mean 'language_course'",
        ),
        (
            "an action that requires itself",
            UNITS,
            ACTIONS.replace("7,language_course", "7,training"),
            [],
            "itself",
        ),
        (
            "actions that require each other",
            UNITS,
            ACTIONS.replace("language_course,2,", "language_course,2,training"),
            [],
            "could be the first",
        ),
        (
            "an action that requires and excludes another",
            UNITS,
            ACTIONS.replace("7,language_course,", "7,language_course,language_course"),
            [],
            "requires and excludes",
        ),
        ("`--budget much`", UNITS, ACTIONS, ["--budget", "much"], "--budget"),
        ("`--forbid` no action", UNITS, ACTIONS, ["--forbid", "car"], "names 'car'"),
        (
            "`--out` a file that is read",
            UNITS,
            ACTIONS,
            ["--out", "units.csv"],
            "is a file that is read",
        ),
        ("`--out` of another kind", UNITS, ACTIONS, ["--out", "a.txt"], ".csv or .parquet"),
    ):
        yield Case(RECOURSE, name, partial(_recourse, units, actions, *words), said)
    for name, text, changed, said in (
        ("an outcome misspelt", ROWS.replace("same", "sam"), {}, "'sam'; allowed are worse, same"),
        ("a column misspelt", ROWS.replace("drug", "drog"), {}, "no column 'drug'"),
        ("a day in words", ROWS.replace("p1,3", "p1,soon"), {}, "column 'day' holds 'soon'"),
        ("a trial without its step", ROWS.replace("p1,3", "p1,"), {}, "has an outcome and no step"),
        ("an age in words", ROWS.replace("70", "old"), {}, "column 'age' holds 'old'"),
        (
            "an age that changes",
            ROWS.replace("B,well,60", "B,well,70"),
            {},
            "column 'age' differs within unit",
        ),
        ("a ward that is not described", ROWS.replace("intensive", "other"), {}, "'other'"),
        ("a unit without a name", ROWS.replace("e2,", ","), {}, "column 'episode' is empty"),
        ("`layout: long` with an order", ROWS, {"order": "columns"}, "does not apply"),
        (
            "levels and edges",
            ROWS,
            {"outcomes": {"levels": ["a", "b"], "edges": [1]}},
            "either levels",
        ),
        (
            "edges that fall",
            ROWS,
            {"outcomes": {"edges": [2, 1], "better": "lower"}},
            "do not ascend",
        ),
        (
            "a worth that falls",
            ROWS,
            {"outcomes": {"levels": ["a", "b"], "worth": [1, 0]}},
            "ascending",
        ),
        ("`delta: [2]`", ROWS, {"delta": [2]}, "delta"),
        ("`name: ..`", ROWS, {"name": ".."}, "'name' is '..'; allowed is a text of letters"),
        ("an unknown key", ROWS, {"colour": "red"}, "'colour'"),
    ):
        yield Case(SEARCH, name, partial(_records, text, changed), said)
