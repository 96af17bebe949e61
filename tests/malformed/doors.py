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
    in_units, in_actions = UNITS.replace, ACTIONS.replace
    for name, units, actions, message, *words in (
        ("the files in the other order", ACTIONS, UNITS, "name the units first"),
        (
            "an action misspelt in `forbidden`",
            in_units("sell_car,,", "sell_cat,,", 1),
            ACTIONS,
            "did you mean 'sell_car'",
        ),
        ("a budget in words", in_units(",5,9", ",five,9"), ACTIONS, "line 5: the budget is 'five'"),
        (
            "a price below zero",
            in_units(",5,9", ",5,-9"),
            ACTIONS,
            "line 5: 'cost:sell_car' is '-9'",
        ),
        (
            "a price of no action",
            in_units("cost:sell_car", "cost:car"),
            ACTIONS,
            "column 'cost:car'",
        ),
        (
            "an action that requires none there is",
            UNITS,
            in_actions("7,language", "7,langage"),
            "did you mean 'language_course'",
        ),
        (
            "an action that requires itself",
            UNITS,
            in_actions("7,language_course", "7,training"),
            "itself",
        ),
        (
            "actions that require each other",
            UNITS,
            in_actions("language_course,2,", "language_course,2,training"),
            "could be the first",
        ),
        (
            "an action that requires and excludes another",
            UNITS,
            in_actions("7,language_course,", "7,language_course,language_course"),
            "requires and excludes",
        ),
        ("`--budget much`", UNITS, ACTIONS, "--budget", "--budget", "much"),
        ("`--forbid` no action", UNITS, ACTIONS, "names 'car'", "--forbid", "car"),
        (
            "`--out` a file that is read",
            UNITS,
            ACTIONS,
            "is a file that is read",
            "--out",
            "units.csv",
        ),
        ("`--out` of another kind", UNITS, ACTIONS, ".csv or .parquet", "--out", "a.txt"),
    ):
        yield Case(RECOURSE, name, partial(_recourse, units, actions, *words), message)
    in_rows = ROWS.replace
    for name, text, message, changed in (
        ("an outcome misspelt", in_rows("same", "sam"), "'sam'; allowed are worse, same", {}),
        ("a column misspelt", in_rows("drug", "drog"), "no column 'drug'", {}),
        ("a day in words", in_rows("p1,3", "p1,soon"), "column 'day' holds 'soon'", {}),
        ("a trial without its step", in_rows("p1,3", "p1,"), "has an outcome and no step", {}),
        ("an age in words", in_rows("70", "old"), "column 'age' holds 'old'", {}),
        (
            "an age that changes",
            in_rows("B,well,60", "B,well,70"),
            "column 'age' differs within unit",
            {},
        ),
        ("a ward that is not described", in_rows("intensive", "other"), "'other'", {}),
        ("a unit without a name", in_rows("e2,", ","), "column 'episode' is empty", {}),
        ("`layout: long` with an order", ROWS, "does not apply", {"order": "columns"}),
        (
            "levels and edges",
            ROWS,
            "either levels",
            {"outcomes": {"levels": ["a", "b"], "edges": [1]}},
        ),
        (
            "edges that fall",
            ROWS,
            "do not ascend",
            {"outcomes": {"edges": [2, 1], "better": "lower"}},
        ),
        (
            "a worth that falls",
            ROWS,
            "ascending",
            {"outcomes": {"levels": ["a", "b"], "worth": [1, 0]}},
        ),
        ("`delta: [2]`", ROWS, "delta", {"delta": [2]}),
        ("`name: ..`", ROWS, "'name' is '..'; allowed is a text of letters", {"name": ".."}),
        ("an unknown key", ROWS, "'colour'", {"colour": "red"}),
    ):
        yield Case(SEARCH, name, partial(_records, text, changed), message)
