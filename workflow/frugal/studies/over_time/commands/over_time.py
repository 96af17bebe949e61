"""`python -m frugal over_time wards.yaml`: when to measure again, over time.

In place of a YAML: a file with a row for each value, with `--units` and `--label`.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from frugal.core.errors import DataError, extras_named, say, through
from frugal.library.commands import (
    add_flags,
    ask_prices,
    go_on,
    is_yaml,
    kept_lines,
    require_flags_of_yaml,
    stated_options,
    verb_flags,
    whole_folder,
)
from frugal.results.replacing import replace_files
from frugal.run.init_command import records_parser, stated_amounts
from frugal.run.table_yaml import require_prices
from frugal.studies.over_time.init import RECORDS, guess_files
from frugal.studies.over_time.verbs import load_over_time, over_time


@through("command")
def over_time_command(words: Sequence[str]) -> int:
    """Judge the plans, print and keep the answer; returns the exit status.

    Raises:
        ConfigError, DataError: a sentence with the value found, and allowed values.
    """
    table = "the YAML of records over time, or a CSV or Parquet file with a row for each value"
    parser = records_parser("over_time", str(__doc__), table)
    for option, how in RECORDS.options.items():
        parser.add_argument(f"--{option}", **how)
    flags = verb_flags(over_time)
    args = add_flags(parser, flags).parse_args(list(words))
    if is_yaml(args.table):
        require_flags_of_yaml(words, args.table, flags)
    with whole_folder(args.into, args.table) as (folder, place), extras_named("frugal over_time"):
        path = args.table
        if not is_yaml(path):
            path = place / f"{path.stem}.yaml"
            replace_files({path: _described(args, path).encode()})
        data = load_over_time(path)
        if path != args.table:
            path.unlink()  # the answer's has its settings, too
        answer = over_time(data, **stated_options(args, flags))
        answer.save(place)
    more = f" {args.table} --units {args.units}" if args.units else " FILE.csv --units UNITS.csv"
    say(*answer.summary().split("\n"), *kept_lines(folder, more))
    return 0


def _described(args: argparse.Namespace, path: Path) -> str:
    """The YAML of two files.

    Raises:
        DataError: the units, the label, a price or the cost of an error is not stated.
    """
    if lacking := [f"--{name}" for name in ("units", "label") if getattr(args, name) is None]:
        raise DataError(
            f"{' and '.join(lacking)} lack; records over time are a file with a row for each "
            "value, --units the file of units, and --label its column to predict"
        )
    prices = stated_amounts("--prices", args.prices, args.unit)
    errors = stated_amounts("--errors", args.errors, args.unit)
    while True:
        text, remarks = guess_files(args, path, prices, errors)
        document: dict[str, Any] = yaml.safe_load(text)
        panels = [name for name, panel in document["panels"].items() if panel["price"] is None]
        costs = [name for name, cost in document["errors"].items() if cost is None]
        if not (panels or costs) or not (more := ask_prices(panels, costs, args.unit)):
            break
        prices, errors = {**prices, **more[0]}, {**errors, **more[1]}
    require_prices(panels, costs)
    go_on(remarks, yes=args.yes)
    return text
