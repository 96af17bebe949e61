"""`frugal decide TABLE`: a table to an answer, in one command and without Snakemake.

The library decides; the answer is printed and kept in a folder.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from frugal.config.parts import part_keys
from frugal.core.arguments import number_from, whole_number
from frugal.core.errors import DataError, extras_named, say
from frugal.core.schema_check import listed
from frugal.core.studies import forms_of_records
from frugal.data.opening import open_table
from frugal.results.replacing import replace_files
from frugal.run.init_command import describe_file, table_parser
from frugal.run.own_table import QUESTION

_SHOWN = 12  # columns that a question lists
_FLAGS: Mapping[str, Mapping[str, Any]] = {  # type of a key of a part → that of its flag
    "Switch": {"action": "store_true", "default": None},
    "Amount": {"type": number_from(0.0)},
    "Number": {"type": whole_number(1)},
    "InputFile": {},
}


def decide_command(words: Sequence[str]) -> int:
    """Decide, print and keep the answer; returns the exit status.

    Raises:
        ConfigError, DataError: a sentence with what was found and what is allowed.
    """
    parser = _parser()
    args = parser.parse_args(list(words))
    for name in ("out", *(name for form in forms_of_records() for name in form.options)):
        if getattr(args, name) != parser.get_default(name):
            raise DataError(f"--{name} goes with `frugal init`, not with `frugal decide`")
    is_yaml = args.table.suffix.lower() in (".yaml", ".yml")
    stem = args.table.name.removesuffix(".gz").partition(".")[0]
    folder = args.into or args.table.with_name(f"{stem}_answer")
    if folder.exists():
        raise DataError(f"{folder} is there already, and is not overwritten; name another: --into")
    if is_yaml:
        stated = [word for word in words if word.startswith("--")]
        allowed = {
            f"--{name.replace('_', '-')}" for name in (*QUESTION, *part_keys(), "into", "yes")
        }
        if others := [word for word in stated if word.partition("=")[0] not in allowed]:
            raise DataError(f"{others[0]} describes a table's file; {args.table} states it itself")
        path, files = args.table, {}
    else:
        path, files = _described(args, folder / f"{stem}.yaml")
    folder.parent.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:  # all of it is there in the end, or nothing
        replace_files({place / file.name: content for file, content in files.items()})
        text = _decided(place / path.name if files else path, args, place, folder)
        place.chmod(0o755)
        place.rename(folder)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    say(*text.rstrip("\n").split("\n"))
    return 0


def _decided(path: Path, args: argparse.Namespace, place: Path, folder: Path) -> str:
    """The text of the answer, which is kept in a place that becomes the folder."""
    from frugal.library.kept_answers import save_answer
    from frugal.library.verbs import decide

    options: dict[str, Any] = {name: getattr(args, name) for name in (*QUESTION, *part_keys())}
    with extras_named("frugal decide"):
        answer = decide(path, **options)
        return save_answer(answer, place, shown=folder)


def _described(args: argparse.Namespace, path: Path) -> tuple[Path, Mapping[Path, bytes]]:
    """The YAML of a table's file, and the files that are to lie in the folder of the answer.

    Raises:
        DataError: the label, a price or the cost of an error is not stated.
    """
    asks = sys.stdin.isatty() and sys.stdout.isatty()
    if args.label is None:
        cells = open_table(args.table, path, args.header, args.decimal, [], sheet=args.sheet).cells
        columns = f"its columns are {listed(list(map(str, cells.columns))[:_SHOWN])}"
        if not asks:
            raise DataError(f"--label names the column to predict in {args.table}; {columns}")
        say(f"{args.table}: {columns}")
        args.label = input("Column to predict: ").strip()
    described = describe_file(args, path)
    lacking = [
        f"{option} lacks {listed([repr(name) for name in names])}"
        for option, names in (
            ("--prices", described.open_prices),
            ("--errors", [] if args.objective == "f1" else described.open_errors),
        )
        if names
    ]
    if lacking:
        raise DataError(
            f"{'; '.join(lacking)}; allowed is a number from 0 on for each, as NAME=NUMBER,… or a "
            "CSV; columns that are known at the start are named by --free"
        )
    say(*(f"  {line}" for line in described.lines()))
    if asks and not args.yes and input("Go on with these guesses? [Y/n] ").strip().lower() == "n":
        raise DataError("nothing was decided; correct the guesses by --free, --leave-out, --panel")
    return path, described.files


def _parser() -> argparse.ArgumentParser:
    parser = table_parser("decide", "A table to an answer: which panel to acquire next.")
    parser.add_argument("--into", type=Path, help="folder of the answer (default: TABLE_answer)")
    parser.add_argument("--yes", action="store_true", help="take the guesses, which are printed")
    parser.add_argument("--objective", choices=["cost", "f1"], help="cost (default), or f1")
    amount = number_from(0.0)
    parser.add_argument("--budget", type=amount, help="most that panels may cost a case")
    parser.add_argument("--margin", type=amount, help="share that counts as nothing (0.05)")
    parser.add_argument("--sensitive", help="column whose values are groups, judged apart")
    parser.add_argument("--causes", help="YAML of the causes of missing values")
    parser.add_argument("--recorded", help="YAML of the protocol by which rows were recorded")
    parser.add_argument("--most-missed", type=amount, help="most of the positives to miss, a share")
    for key, part in part_keys().items():
        flag = f"--{key.replace('_', '-')}"
        parser.add_argument(flag, help=part.doc.replace("%", "%%"), **_FLAGS[part.word])
    return parser
