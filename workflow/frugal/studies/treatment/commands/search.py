"""`python -m frugal search searches.yaml`: the next treatment, and when to stop.

In place of a YAML: a file with a row for each trial, with the flags that name its columns.
"""

from collections.abc import Sequence

from frugal.core.arguments import command_parser, file_path
from frugal.core.errors import extras_named, say, through
from frugal.data.long_files import LongFile
from frugal.library.commands import (
    add_flags,
    is_interactive,
    is_yaml,
    kept_lines,
    stated_options,
    verb_flags,
    whole_folder,
)
from frugal.studies.treatment.verbs import NEEDED, search


@through("command")
def search_command(words: Sequence[str]) -> int:
    """Learn and judge policies, print and keep the answer; returns the exit status.

    Raises:
        ConfigError, DataError: a sentence with the value found, and allowed values.
    """
    parser = command_parser("search", __doc__)
    table = "the YAML of records of searches, or a CSV or Parquet file with a row for each trial"
    parser.add_argument("table", type=file_path, help=table)
    flags = verb_flags(search)
    args = add_flags(parser, flags).parse_args(list(words))
    with whole_folder(args.into, args.table) as (folder, place), extras_named("frugal search"):
        if not is_yaml(args.table) and is_interactive():
            lacking = [name for name in NEEDED if getattr(args, name) is None]
            if lacking:
                say(f"{args.table}: columns {', '.join(map(str, LongFile.of(args.table).cells))}")
            for name in lacking:
                several = name == "outcomes"
                typed = input(
                    "Outcomes from the worst on, A,B,…: " if several else f"Column {name}: "
                )
                setattr(args, name, flags[name]["type"](typed) if several else typed.strip())
        answer = search(args.table, **stated_options(args, flags))
        answer.save(place)
    say(*answer.summary().rstrip("\n").split("\n"), *kept_lines(folder, " cases.csv"))
    return 0
