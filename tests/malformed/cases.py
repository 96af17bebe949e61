"""What a malformed input is, what can happen to it, and the ways in which it enters.

A case works in an empty folder of its own. It ends in one of four ways: a refusal (`FrugalError`,
`StrictYamlError`, or a command that ends with status 2), a `Warned`, a `Right` (the input was
taken, and the case has compared what came of it with what it means), or a defect: any other error,
a hang, or an input that was taken without a word and without an oracle.
"""

import contextlib
import io
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from frugal.__main__ import main
from frugal.results.files import read_payload

from tests.unit.dataset_documents import CSV, document
from tests.unit.spoiling import DELETE

TIME_LIMIT_S = 10
_PROGRESS = re.compile(r"\r[\w ]+: +\d+%\|[^\r\n]*\n?")
ROOT = Path(__file__).parents[2]


class Refused(Exception):
    """A command that ended with status 2, or a start that was refused; with what it said."""


class Wrong(AssertionError):
    """An input was taken for what it does not mean, or a refusal left something behind."""


@dataclass(frozen=True)
class Right:
    """The input was taken, and what came of it is right; in words, how it was read."""

    message: str


@dataclass(frozen=True)
class Warned:
    """The input was taken with a warning; what it said."""

    message: str


@dataclass(frozen=True)
class Case:
    """One malformed input.

    Attributes:
        group: where it enters.
        name: the input in plain words; with the group, unlike every other.
        work: gives the input to the project, in an empty working folder.
        words: that the sentence must have, such as the name of the file or the key; parts of it
            with `` … `` between.
        ends: how it must end: `refused`, `warned` or `accepted`.
        limit_s: seconds that it may take.
    """

    group: str
    name: str
    work: Callable[[], Right | Warned | Any]
    words: str = ""
    ends: str = "refused"
    limit_s: float = TIME_LIMIT_S

    def is_as_it_should(self, kind: str, message: str) -> bool:
        """Whether it ended so, in these words."""
        return kind == self.ends and all(part in message for part in self.words.split(" … "))


class _Loader(yaml.SafeLoader):
    """Reads `!gone` as what is removed."""


_Loader.add_constructor("!gone", lambda loader, node: DELETE)


@cache
def mistakes(section: str) -> list[tuple[Any, Any, str]]:
    """Of `mistakes.yaml`: where, or instead of what; what is written; words of the refusal."""
    path = Path(__file__).with_name("mistakes.yaml")
    found = yaml.load(path.read_text(encoding="utf-8"), _Loader)[section]
    return [(tuple(a) if isinstance(a, list) else a, value, words) for a, value, words in found]


def files_here() -> dict[str, bytes]:
    """Every plain file below the working folder with its bytes."""
    found = sorted(path for path in Path().rglob("*") if path.is_file() and not path.is_symlink())
    readable = (path for path in found if path.stat().st_mode & 0o444)
    return {path.as_posix(): path.read_bytes() for path in readable}


@contextlib.contextmanager
def captured(stdin: bytes = b"") -> Iterator[tuple[io.StringIO, io.StringIO]]:
    """The standard streams of a command, its input given as bytes."""
    out, err = io.StringIO(), io.StringIO()
    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            yield out, err
    finally:
        sys.stdin = before


def command(*words: str, stdin: bytes = b"") -> str:
    """Run `python -m frugal …` in this process; returns what it wrote on stdout and stderr.

    Raises:
        Refused: it ended with status 2; the message is all that it said, without argparse's usage.
        Wrong: a refused command has written, changed or removed a file.
    """
    before = files_here()
    with captured(stdin) as (out, err):
        try:
            status = main([*words])
        except SystemExit as stop:
            status = stop.code
            err = io.StringIO(err.getvalue().strip().rpartition("\n")[2])
    message = _PROGRESS.sub("", err.getvalue()).strip()
    if status != 2:
        return out.getvalue() + message
    if files_here() != before:
        raise Wrong("the refused command left files behind")
    raise Refused(message)


def write_small(
    content: Any = None, raw: bytes | None = CSV.encode(), name: str = "small.csv"
) -> None:
    """Write a description (the small one, or this mapping or text) and its file."""
    content = document() if content is None else content
    text = content if isinstance(content, str) else yaml.safe_dump(content, allow_unicode=True)
    Path("small.yaml").write_text(text, encoding="utf-8")
    if raw is not None:
        Path(name).write_bytes(raw)


def prepared(
    content: Any = None, raw: bytes | None = CSV.encode(), *more: str, name: str = "small.csv"
) -> pd.DataFrame:
    """The table that the command `prepare_data` makes of a description and its file.

    Args:
        content: the description, as a mapping or as text; None for the small valid one.
        raw: bytes of the file; None where it is there already.
        more: further words of the command.
        name: of the file.
    """
    write_small(content, raw, name)
    words = ["prepare_data", "--seed", "0", "--input", "description=small.yaml"]
    words += more or ["--input", f"raw_0={name}"]
    command(*words, "--output", "table=results/t.parquet", "--output", "catalogue=results/c.json")
    return read_payload(Path("results/t.parquet"))


def same_table(content: Any, raw: bytes, message: str, *, plain: bytes = CSV.encode()) -> Right:
    """The table is that of the plain file.

    Raises:
        Wrong: it is another.
    """
    found = prepared(content, raw)
    if not found.equals(prepared(None, plain)):
        raise Wrong(f"read as {found.to_dict('list')}")
    return Right(message)
