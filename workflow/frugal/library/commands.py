"""Commands from a file to an answer in a folder: flags of a verb, questions, the folder.

`frugal decide` and the commands of studies share this; each calls a verb of the library.
"""

import argparse
import inspect
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from frugal.core.arguments import number_from, pair, program, whole_number
from frugal.core.errors import DataError, FrugalError, say
from frugal.run.init_command import typed_amount

_RUN = ("folder", "config", "cores")  # arguments of verbs that no command has
_FLAGS: Mapping[Any, Mapping[str, Any]] = {  # type of an argument → that of its flag
    bool: {"action": argparse.BooleanOptionalAction, "default": None},
    int: {"type": whole_number(0)},
    float: {"type": number_from(0.0)},
    str: {},
    Path: {},
}


def verb_flags(verb: Callable[..., Any], leave_out: Collection[str] = ()) -> dict[str, Any]:
    """Keyword of a verb → the words of its flag, from its annotation and its docstring.

    Args:
        verb: a function with Google's docstring.
        leave_out: keywords that are no flags; those of no simple type are none, either.
    """
    text = inspect.getdoc(verb) or ""
    entries = re.split(r"^    (?=\w+: )", text.partition("Args:\n")[2], flags=re.MULTILINE)[1:]
    docs = {name: " ".join(doc.partition("\n\n")[0].split()) for name, _, doc in map(_cut, entries)}
    flags = {}
    for name, parameter in inspect.signature(verb).parameters.items():
        kinds = (parameter.annotation, *get_args(parameter.annotation))
        able = [how for how in map(_flag_of, kinds) if how is not None]
        if able and parameter.kind is parameter.KEYWORD_ONLY and name not in (*_RUN, *leave_out):
            flags[name] = {**able[0], "help": docs.get(name, "").rstrip(".").replace("%", "%%")}
    return flags


def _cut(entry: str) -> tuple[str, str, str]:
    return entry.partition(": ")


def _flag_of(kind: Any) -> dict[str, Any] | None:
    """Words of `add_argument` for a type; None where a flag cannot have it."""
    if get_origin(kind) is Literal:
        return {"choices": get_args(kind)}
    if get_origin(kind) is Sequence:
        entry = get_args(kind)[0]
        read = _FLAGS[entry].get("type", str.strip)
        return {"type": lambda text: [read(part) for part in text.split(",")], "metavar": "A,B,…"}
    if get_origin(kind) is Mapping and get_origin(get_args(kind)[1]) is Sequence:
        return {"type": _lists, "metavar": "NAME=A/B,…"}
    return dict(_FLAGS[kind]) if kind in _FLAGS else None


def _lists(text: str) -> dict[str, list[str]]:
    """Name → entries, of NAME=A/B,…"""
    return {name: entries.split("/") for name, entries in map(pair, text.split(","))}


def add_flags(parser: argparse.ArgumentParser, flags: Mapping[str, Any]) -> argparse.ArgumentParser:
    """The parser with these flags, and with those that all commands to an answer have."""
    parser.add_argument("--into", type=Path, help="folder of the answer (default: TABLE_answer)")
    parser.add_argument("--yes", action="store_true", help="take the guesses, which are printed")
    for name, how in flags.items():
        parser.add_argument(f"--{name.replace('_', '-')}", **how)
    return parser


def is_yaml(path: Path) -> bool:
    """Whether a file describes records, by its name."""
    return path.suffix.lower() in (".yaml", ".yml")


def require_flags_of_yaml(words: Sequence[str], path: Path, flags: Collection[str]) -> None:
    """Refuse flags that describe a file, with a YAML that describes it.

    Raises:
        DataError: names the first of them.
    """
    allowed = {f"--{name.replace('_', '-')}" for name in (*flags, "into", "yes")}
    allowed |= {f"--no-{flag[2:]}" for flag in allowed}
    stated = [word.partition("=")[0] for word in words if word.startswith("--")]
    if others := [word for word in stated if word not in allowed]:
        raise DataError(f"{others[0]} describes a table's file; {path} states it itself")


def is_interactive() -> bool:
    """Whether a person sits at the terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def stem_of(path: Path) -> str:
    """Name of a file without its endings."""
    return path.name.removesuffix(".gz").partition(".")[0]


def ask_prices(
    panels: Sequence[str], errors: Sequence[str], unit: str
) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Prices and costs of errors that a person types; None without one, or without an answer."""
    if not is_interactive():
        return None
    texts = {f"Price of {name} in {unit}: ": (0, name) for name in panels}
    texts |= {f"Cost of {name} in {unit}: ": (1, name) for name in errors}
    typed: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    for text, (place, name) in texts.items():
        if (number := typed_amount(input, text)) is not None:
            typed[place][name] = number
    return typed if any(typed) else None


def stated_options(args: argparse.Namespace, flags: Collection[str]) -> dict[str, Any]:
    """Arguments of a verb that flags state; others keep the verb's default."""
    options = {name: getattr(args, name) for name in flags}
    return {name: value for name, value in options.items() if value is not None}


def kept_lines(folder: Path, cases: str) -> list[str]:
    """Lines of where an answer lies, and how its policy takes new cases."""
    return [
        f"Next step of new cases: {program()} advise {folder}{cases}",
        f"All on one page: {folder / 'answer.html'}",
    ]


@contextmanager
def whole_folder(into: Path | None, table: Path) -> Iterator[tuple[Path, Path]]:
    """The folder of an answer, and a place that becomes it: all is there in the end, or nothing.

    Raises:
        DataError: there is such a folder already.
    """
    folder = into or table.with_name(f"{stem_of(table)}_answer")
    if folder.exists():
        raise DataError(f"{folder} is there already, and is not overwritten; name another: --into")
    folder.parent.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        yield folder, place
        place.chmod(0o755)
        place.rename(folder)
    except FrugalError as error:  # cites no file that is not there any more
        sentence = re.sub(rf"\S*{re.escape(place.name)}/\S+: ", "", str(error))
        raise type(error)(sentence) from error
    finally:
        shutil.rmtree(place, ignore_errors=True)


def go_on(lines: Sequence[str], *, yes: bool, back: bool = False) -> bool:
    """Show guesses; whether to go on with them, or, where one can, back to the questions.

    Raises:
        DataError: a person at the terminal takes neither.
    """
    say(*(f"  {line}" for line in lines))
    if yes or not is_interactive():
        return True
    words = "[Y/n, b: back to the questions]" if back else "[Y/n]"
    word = input(f"Go on with these guesses? {words} ").strip().lower()
    if word[:1] == "n":
        raise DataError("nothing was decided; flags correct the guesses, see --help")
    return not (back and word[:1] == "b")
