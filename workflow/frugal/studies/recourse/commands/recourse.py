"""`python -m frugal recourse units.csv actions.csv`: the cheapest set of actions of every unit.

Needs the two tables, nothing else: no config, no results.
"""

import argparse
import json
import math
from collections import Counter
from pathlib import Path

import numpy as np

from frugal.core.arguments import command_parser, file_path, whole_number
from frugal.core.errors import DataError, say
from frugal.library.commands import whole_folder
from frugal.library.kept_answers import keep
from frugal.results.files import csv_bytes
from frugal.results.manifests import write_apart
from frugal.studies.recourse.advice import (
    Advice,
    advice_frame,
    group_lines,
    none_sentences,
    sentence,
)
from frugal.studies.recourse.catalogue import EVERYONE, catalogue_of, group_warnings, units_of
from frugal.studies.recourse.choices import (
    RulesForAll,
    cheapest_choices,
    prices_of_forbidding,
    rules_of,
    unread_columns,
)
from frugal.studies.recourse.sheets import cells_of, open_sheet, price_of

MOST_SHOWN = 20  # units on a terminal
MOST_CELLS = 2 * 10**7  # units × sets × actions in memory, about 300 MB
_STATUS = {
    "positive": "{n} meet{s} every threshold already",
    "proven": "{n} with a proven cheapest set",
    "unproven": "{n} with a set that is not proven to be the cheapest",
    "none": "{n} without any set",
    "not_found": "{n} for which no set was found yet",
}


def recourse_command(words: list[str]) -> int:
    """Print the actions for each unit; returns the exit status: 1 where an answer is not proven.

    Raises:
        DataError: a file has wrong content: which, where, and the values allowed.
    """
    parser = command_parser("recourse", __doc__)
    parser.add_argument("units", type=Path, metavar="units.csv", help="CSV or Parquet")
    parser.add_argument("actions", type=Path, metavar="actions.csv", help="CSV or Parquet")
    parser.add_argument(
        "--out", type=file_path, metavar="FILE", help="all answers; .csv or .parquet"
    )
    parser.add_argument("--into", type=Path, metavar="FOLDER", help="page, answer.json and a CSV")
    parser.add_argument(
        "--best", type=whole_number(1), default=3, metavar="K", help="sets to list (default 3)"
    )
    parser.add_argument("--unit", default="", metavar="WORD", help="of all costs, as EUR")
    parser.add_argument("--budget", type=_price, default=math.inf, help="for every unit")
    parser.add_argument("--at-most", type=whole_number(0), metavar="N", help="actions of a unit")
    for rule in ("forbid", "require"):
        parser.add_argument(
            f"--{rule}", action="append", default=[], metavar="ACTION", help="for every unit"
        )
    parser.add_argument(
        "--max-nodes",
        type=whole_number(1, 10**12),
        default=100_000,
        metavar="N",
        help="branches after which the search of one unit stops (100000)",
    )
    args = parser.parse_args(words)
    if args.out is not None and args.out.suffix.lower() not in (".csv", ".parquet"):
        raise DataError(f"--out {args.out}: the file's name ends in .csv or .parquet")
    if args.out is not None and args.out.resolve() in (
        args.units.resolve(),
        args.actions.resolve(),
    ):
        raise DataError(f"--out {args.out} is a file that is read; name another")
    for_all = RulesForAll(args.require, args.forbid, args.budget, args.at_most)
    advice, remarks = advise_units(
        args.units,
        args.actions,
        for_all,
        best=args.best,
        max_nodes=args.max_nodes,
        cost_unit=args.unit,
    )
    if args.out is not None:
        write_apart(args.out, _table(advice, args.out.suffix.lower()))
    if args.into is not None:
        with whole_folder(args.into, args.units) as (_, place):
            _keep(advice, place)
    say(*remarks, *summary_lines(advice, args.out))
    status = {advice.status(u) for u in range(len(advice.units))}
    return 1 if status & {"unproven", "not_found"} else 0


def advise_units(
    units: Path, actions: Path, for_all: RulesForAll, *, best: int, max_nodes: int, cost_unit: str
) -> tuple[Advice, list[str]]:
    """Answers for all units of a file, and remarks on the files."""
    for path in (units, actions):
        if not path.is_file():
            raise DataError(f"there is no file {path}")
    files = open_sheet(units, "unit"), open_sheet(actions, "action", "cost")
    people, sheet = map(cells_of, files)
    if "action" in people[0].columns and "unit" in sheet[0].columns:
        raise DataError(
            f"{units.name} holds actions and {actions.name} holds units: name the units first"
        )
    catalogue = catalogue_of(sheet, source=actions.name)
    names, features, group = units_of(people, catalogue, source=units.name)
    rules = rules_of(people, catalogue, for_all, source=units.name)
    remarks = [remark for file in files for remark in file.remarks]
    remarks += unread_columns(people, catalogue, source=units.name) + group_warnings(
        people, group, catalogue, source=actions.name, of_units=units.name
    )
    most = max(MOST_CELLS // max(len(names) * (len(catalogue.actions) + 1), 1), 1)
    if best > most:
        raise DataError(
            f"--best {best} needs too much memory; with {len(catalogue.actions)} actions and "
            f"{len(names)} rows in {units.name}, at most {most} sets of each unit are possible"
        )
    choices = cheapest_choices(features, group, catalogue, rules, keep=best, max_nodes=max_nodes)
    without = prices_of_forbidding(choices, features, group, catalogue, rules, max_nodes=max_nodes)
    none = np.flatnonzero(~choices.feasible & choices.proven)
    reasons = [""] * len(names)
    if len(none):
        sentences = none_sentences(
            tuple(names[u] for u in none),
            features[none],
            group[none],
            catalogue,
            rules.take(none),
            max_nodes=max_nodes,
            cost_unit=cost_unit,
        )
        for u, reason in zip(none, sentences, strict=True):
            reasons[u] = reason
    grouped = tuple(catalogue.groups[g] for g in group) if catalogue.groups != (EVERYONE,) else ()
    return Advice(
        names, features, catalogue, rules, choices, without, tuple(reasons), grouped, cost_unit
    ), remarks


def summary_lines(advice: Advice, out: Path | None) -> list[str]:
    """The answer of each unit, at most `MOST_SHOWN` of them, and how many fared how."""
    n = len(advice.units)
    lines = [sentence(advice, u) for u in range(min(n, MOST_SHOWN))]
    if n > MOST_SHOWN:
        lines.append(f"… {n - MOST_SHOWN} more" + ("; name a file by --out" if out is None else ""))
    lines += group_lines(advice)
    count = Counter(advice.status(u) for u in range(n))
    parts = [
        text.format(n=count[status], s="s" if count[status] == 1 else "")
        for status, text in _STATUS.items()
        if count[status]
    ]
    lines.append(f"{n} unit{'s' if n != 1 else ''}: {', '.join(parts) or 'none'}")
    return lines + ([f"→ {out}"] if out is not None else [])


def _keep(advice: Advice, place: Path) -> None:
    """The answers as a folder: the words, a page, `answer.json`, and a table."""
    lines, frame = summary_lines(advice, None), advice_frame(advice)
    page = (
        f'<!doctype html><meta charset="utf-8"><title>Recourse</title>{frame.to_html(index=False)}'
    )
    document = {"recourse": 1, "units": json.loads(frame.to_json(orient="records"))}
    keep(place, "\n".join(lines) + "\n", page.encode(), document, {"answers.csv": csv_bytes(frame)})


def _table(advice: Advice, suffix: str) -> bytes:
    frame = advice_frame(advice)
    if suffix == ".csv":
        return csv_bytes(frame)
    return frame.to_parquet(index=False)


def _price(text: str) -> float:
    try:
        return price_of(text, 0, "--budget")
    except DataError:
        raise argparse.ArgumentTypeError(
            f"{text[:50]!r} is not allowed; allowed is a number from 0 with at most six decimals"
        ) from None
