"""`frugal decide TABLE`: a table to an answer, in one command and without Snakemake.

The library decides; the answer is printed and kept in a folder.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from frugal.core.errors import DataError, extras_named, say, through
from frugal.core.schema_check import listed
from frugal.data.opening import open_table
from frugal.library.commands import (
    add_flags,
    go_on,
    is_interactive,
    is_yaml,
    require_flags_of_yaml,
    stated_options,
    stem_of,
    verb_flags,
    whole_folder,
)
from frugal.library.verbs import OF_CELLS, load
from frugal.results.replacing import replace_files
from frugal.run.init_command import DescribedFile, describe_file, table_parser

_SHOWN = 12  # columns that a question lists


@through("command")
def decide_command(words: Sequence[str]) -> int:
    """Decide, print and keep the answer; returns the exit status.

    Raises:
        ConfigError, DataError: a sentence with the value found, and allowed values.
    """
    args = _parser().parse_args(list(words))
    flags = verb_flags(load, OF_CELLS)
    if is_yaml(args.table):
        require_flags_of_yaml(words, args.table, flags)
    with whole_folder(args.into, args.table) as (folder, place):
        path = args.table if is_yaml(args.table) else described_in(args, place, folder)
        text = _decided(path, stated_options(args, flags), place, folder)
    say(*text.rstrip("\n").split("\n"))
    return 0


def _decided(path: Path, options: Mapping[str, Any], place: Path, folder: Path) -> str:
    """The text of the answer, which is kept in a place that becomes the folder."""
    _import_lightgbm()
    from frugal.library.chain import one_bar
    from frugal.library.kept_answers import save_answer
    from frugal.library.verbs import decide

    with extras_named("frugal decide"), one_bar(4):  # the table, then the policy and the page
        return save_answer(decide(path, **options), place, shown=folder)


def _import_lightgbm() -> None:
    """Import LightGBM without its classes for scikit-learn, whose import takes a CPU second."""
    left_out = sys.modules.setdefault("sklearn", cast(Any, None)) is None
    import_module("lightgbm")
    if left_out:
        del sys.modules["sklearn"]


def described_in(args: argparse.Namespace, place: Path, folder: Path) -> Path:
    """The YAML of a table's file, written into a place that becomes the folder of the answer.

    Raises:
        DataError: the label, a price or the cost of an error is not stated.
    """
    path, files = _described(args, folder / f"{stem_of(args.table)}.yaml")
    replace_files({place / file.name: content for file, content in files.items()})
    return place / path.name


def _described(args: argparse.Namespace, path: Path) -> tuple[Path, Mapping[Path, bytes]]:
    """The YAML of a table's file, and the files that are to lie in the folder of the answer.

    Raises:
        DataError: the label, a price or the cost of an error is not stated.
    """
    if args.label is None:
        how = {"sheet": args.sheet, "form": args.format}
        cells = open_table(args.table, path, args.header, args.decimal, [], **how).cells
        columns = f"its columns are {listed(list(map(str, cells.columns))[:_SHOWN])}"
        if not is_interactive():
            raise DataError(f"--label names the column to predict in {args.table}; {columns}")
        say(f"{args.table}: {columns}")
        args.label = input("Column to predict: ").strip()
    described = describe_file(args, path)
    counted = getattr(args, "objective", None) == "f1"
    described.terms.require_all(described.guess, counted=counted)
    if not go_on(described.lines(), yes=args.yes, back=True):
        _ask_again(args, described)
        return _described(args, path)
    return path, described.files


def _ask_again(args: argparse.Namespace, described: DescribedFile) -> None:
    """Ask for each statement, with the present one; an empty line keeps it."""
    terms = described.terms
    pairs = (
        (name, ",".join(f"{key}={_written(value)}" for key, value in of.items()))
        for name, of in (("prices", terms.prices), ("errors", terms.errors))
    )
    for name, present in (("label", args.label), ("free", ",".join(terms.free)), *pairs):
        text = input(f"--{name} [{present}]: ").strip() or present
        setattr(args, name, [text] if name == "free" and text else text or [])


def _written(price: Any) -> str:
    """A price as `--prices` reads it."""
    return "..".join(map(str, price)) if isinstance(price, tuple) else str(price)


def _parser() -> argparse.ArgumentParser:
    parser = table_parser("decide", "A table to an answer: which panel to acquire next.")
    return add_flags(parser, verb_flags(load, OF_CELLS))
