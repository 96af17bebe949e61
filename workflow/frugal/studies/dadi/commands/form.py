"""`python -m frugal form form.yaml`: fields to ask, accurate and fair.

In place of a YAML: a table without missing values, with the flags of `frugal decide` and the column
of two groups.
"""

import argparse
import json
import re
from collections.abc import Sequence
from typing import Any

import frugal
from frugal.core.arguments import program
from frugal.core.errors import ConfigError, DataError, extras_named, say, through
from frugal.core.schema_check import did_you_mean, listed
from frugal.data.opening import open_table
from frugal.library.commands import (
    add_flags,
    is_yaml,
    require_flags_of_yaml,
    stated_options,
    verb_flags,
    whole_folder,
)
from frugal.library.decide_command import described_in
from frugal.library.kept_answers import PAGE, bundle_files, keep
from frugal.results.replacing import replace_files
from frugal.run.init_command import table_parser


def _groups(args: argparse.Namespace) -> dict[str, Any]:
    """The two groups of a column, as the YAML has them.

    Raises:
        DataError: the table has no such column, or it holds other than two texts.
    """
    how = {"sheet": args.sheet, "form": args.format}
    opened = open_table(args.table, args.table, args.header, args.decimal, [], **how)
    if args.sensitive not in opened.cells:
        names = list(map(str, opened.cells))
        raise DataError(
            f"--sensitive is {args.sensitive!r}; the columns are {listed(names)}"
            f"{did_you_mean(args.sensitive, names)}"
        )
    texts = sorted({str(text) for text in opened.cells[args.sensitive].dropna()} - {""})
    if len(texts) != 2:
        raise DataError(
            f"--sensitive names {args.sensitive!r}, which holds {len(texts)} different texts; a "
            "form has two groups"
        )
    groups = [{"name": text, "values": [text]} for text in texts]
    return {"column": args.sensitive, "groups": groups}


@through("command")
def form_command(words: Sequence[str]) -> int:
    """Learn agents of each weight, print and keep the answer; returns the exit status.

    Raises:
        ConfigError, DataError: a sentence with the value found, and allowed values.
    """
    parser = table_parser("form", __doc__ or "")
    flags = verb_flags(frugal.fair_form)
    parser.add_argument("--sensitive", help="column of two groups, of a table without a YAML")
    args = add_flags(parser, flags).parse_args(list(words))
    if is_yaml(args.table):
        require_flags_of_yaml(words, args.table, flags)
    elif args.sensitive is None:
        raise ConfigError("--sensitive names the column of two groups, between whom it is fair")
    with whole_folder(args.into, args.table) as (folder, place), extras_named("frugal form"):
        path = args.table
        if not is_yaml(path):
            groups = json.dumps(_groups(args), ensure_ascii=False)  # JSON is YAML
            args.leave_out.append(args.sensitive)  # no field of the form
            path = described_in(args, place, folder)
            text = path.read_text(encoding="utf-8")
            text = re.sub("^sensitive: null$", lambda _: f"sensitive: {groups}", text, flags=re.M)
            replace_files({path: text.encode()})
        form = frugal.fair_form(path, **stated_options(args, flags))
        document = {"form": 1, "gamma": form.gamma, "policy": f"gamma={form.gamma:g}"}
        files = bundle_files(form.policy.bundle)
        advise = f"{program()} advise {folder} cases.csv"
        text = form.summary().replace("form.policy.advise", advise)
        keep(place, text, form._repr_html_().encode(), document, files)
    say(*text.rstrip("\n").split("\n"), f"All on one page: {folder / PAGE}")
    return 0
