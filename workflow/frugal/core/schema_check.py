"""Reads YAML; words of refusals: names, values, and where a file is. Knows no key."""

import difflib
import os
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from frugal.core.errors import ConfigError, DataError, is_private
from frugal.core.strict_yaml import StrictYamlError, parse_yaml, placed, text_of

_TABLES = {".csv", ".tsv", ".txt", ".arff", ".parquet", ".pq", ".xlsx", ".xls", ".xpt", ".gz"}
_LONGEST_SHOWN = 200  # characters of a value, or of a list of names, in a sentence
_LONGEST_NAME = 80  # characters of one name in a list


def read_yaml(path: Path) -> Any:
    """Content of a YAML file.

    Raises:
        ConfigError: the file does not exist, is not YAML, writes a key twice, or holds content that
            `strict_yaml` refuses.
    """
    try:
        return parse_yaml(text_of(path))
    except FileNotFoundError:
        raise ConfigError(f"there is no file {path}") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}") from None
    except StrictYamlError as error:
        raise ConfigError(placed(path, error)) from None


def require_no_table(path: Path, remedy: str) -> None:
    """Refuse a table in place of the YAML that describes it.

    Args:
        path: that is about to be read as a YAML.
        remedy: use of a table; `{}` is the path, as a shell takes it.

    Raises:
        ConfigError: it is a file whose suffix is that of a table.
    """
    if path.suffix.lower() in _TABLES and path.is_file():
        done = remedy.format(shlex.quote(str(path)))
        raise ConfigError(f"{path} is a table; allowed is the YAML of one: {done}")


def requested_file(path: str | Path, base: Path) -> Path | None:
    """The file that a command names, from the working folder or from another; None if neither is.

    A name that no file can have (too long, for example) counts as no file.
    """
    return next((p for p in (Path(path), base / path) if os.path.isfile(p)), None)


def named_file(path: str | Path, base: Path) -> Path | None:
    """The file that a block of a config names, from the project or from the working folder.

    Args:
        path: as the config has it.
        base: the project's folder.

    Raises:
        ConfigError: there are two that differ, and the config may mean either.
    """
    in_working_folder, in_project = Path(path), base / path
    if not (os.path.isfile(in_working_folder) and os.path.isfile(in_project)):
        return requested_file(path, base)
    if in_working_folder.samefile(in_project):
        return in_working_folder
    if in_working_folder.read_bytes() != in_project.read_bytes():
        raise ConfigError(
            f"config: {str(path)!r} is a file of the working folder, and another one of the "
            f"project, {in_project}; write the full path of the one that is meant"
        )
    return in_project


def did_you_mean(word: object, allowed: Iterable[object]) -> str:
    """`; did you mean 'x'?` where an allowed value is similar to the value found, else empty."""
    close = difflib.get_close_matches(str(word), [str(a) for a in allowed], n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""


def cell_hint(cell: object, allowed: Iterable[object]) -> str:
    """The same for a cell of somebody's table; nothing where cells are not shown."""
    return "" if is_private() else did_you_mean(cell, allowed)


def as_item(name: str) -> str:
    """A name as an item of a list: in quotes where a comma would divide it."""
    return repr(name) if "," in name and name[0] not in "'\"" else name


def listed(values: Iterable[object], *, at_most: int = 30) -> str:
    """Values as text on one line, separated by commas; the tail of a long list is counted only."""
    texts = [as_item(printable(str(v))) for v in values]
    ends = accumulate(len(text) + 2 for text in texts[:at_most])
    count = max(1, sum(end <= _LONGEST_SHOWN for end in ends))
    shown = ", ".join(texts[:count])
    return shown if len(texts) <= count else f"{shown} and {len(texts) - count} more"


def may_be_record(names: Iterable[str]) -> bool:
    """Whether a number is where names are expected, as in a record (perhaps of persons).

    Where cells are not shown, every first line may be one.
    """
    numbers = (re.fullmatch(r"[+-]?\d+([.,]\d+)?", name.strip()) for name in names)
    return is_private() or any(numbers)


def require_unique_names(names: Sequence[object], source: object) -> None:
    """Refuse columns of one name; a name is shown where it is no cell of a record.

    Raises:
        DataError: two columns have the same name.
    """
    texts = [str(name) for name in names]
    name = next((text for text, times in Counter(texts).items() if times > 1), None)
    if name is None:
        return
    if may_be_record(texts):
        places = [number for number, text in enumerate(texts, start=1) if text == name]
        raise DataError(
            f"{source}: columns {places[0]} and {places[1]} have one name; names must be unique"
        )
    raise DataError(f"{source} has two columns named {name!r}; names must be unique")


def columns_listed(names: Iterable[object]) -> str:
    """The columns of a file in words; empty where a number among them indicates a record."""
    texts = [str(name) for name in names]
    if is_private():
        return "its columns are not shown (--private)"
    if may_be_record(texts):
        return "its first line holds a number, so it may be a record and no names"
    return f"its columns are {listed(texts, at_most=60)}"


def printable(text: str, *, at_most: int = _LONGEST_NAME) -> str:
    """A name as a sentence shows it: control characters as escapes, the tail of a long one out."""
    if not text.isprintable():
        text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return text if len(text) <= at_most else f"{text[:at_most]}…"


def shown(value: Any, *, at_most: int = _LONGEST_SHOWN) -> str:
    """A value as a sentence shows it: in one line, the tail of a long one left out."""
    text = repr(value)
    return text if len(text) <= at_most else f"{text[:at_most]}…"
