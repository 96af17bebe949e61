"""Errors for people: one sentence with the value found, the values allowed, and where.

How a sentence shows names and cells of others is decided here.
"""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

PRIVATE = "FRUGAL_PRIVATE"  # environment variable: refusals show no cell of a table
LONGEST_CELL = 60  # characters
_LONG_NAME = re.compile(r"(\S{60})\S{180,}(\S{60})")


class FrugalError(ValueError):
    """Base of every refusal: a sentence, and lines after it; names as `printable` shows them."""

    def __str__(self) -> str:
        return _LONG_NAME.sub(r"\1…\2", printable("\n".join(map(str, self.args))))


class ConfigError(FrugalError):
    """A value in config.yaml or in a data set's YAML is not allowed."""


class DataError(FrugalError):
    """A file or a table does not match its description."""


class MissingStateError(DataError):
    """A policy that is a table of states lacks the requested one."""


class GraphError(FrugalError):
    """A missingness graph is cyclic, or does not identify the quantity in question."""


class NoSupportError(FrugalError):
    """No row carries weight, so the quantity cannot be estimated from this data."""


_DOOR: ContextVar[str] = ContextVar("door", default="config")


@contextmanager
def through(door: str) -> Iterator[bool]:
    """Within it, refusals name arguments in the language of a door: `call`, or `command`.

    Yields:
        Whether this is the outermost door, the one that a person uses, which decides.
    """
    former = _DOOR.get()
    token = _DOOR.set(door if former == "config" else former)
    try:
        yield former == "config"
    finally:
        _DOOR.reset(token)


def argument(name: str, entry: object = None) -> str:
    """An argument as its door names it: `prices['crp']`, `--prices: 'crp'`, or a config's key."""
    match _DOOR.get():
        case "call":
            return name if entry is None else f"{name}[{entry!r}]"
        case "command":
            flag = "--panel" if name == "panels" else f"--{name.replace('_', '-')}"
            return flag if entry is None else f"{flag}: {entry!r}"
    return f"config: {name!r}" if entry is None else f"config: '{name}.{entry}'"


@contextmanager
def extras_named(feature: str) -> Iterator[None]:
    """Within it, a missing package of an extra of pyproject.toml ends in one sentence.

    Raises:
        ConfigError: `feature` needs the package; with the command that installs it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if not (extra := _extra_of(module)):
            raise
        raise ConfigError(
            f"{feature} needs {module}, which is not installed; run pip install 'frugal[{extra}]'"
        ) from None


@contextmanager
def sentences() -> Iterator[None]:
    """Within it, errors of the system, and inputs that no file could hold, are refusals.

    Raises:
        DataError: names the file and the reason.
    """
    try:
        yield
    except BrokenPipeError:  # nobody reads on: the program ends without a sentence
        raise
    except OSError as error:  # no such folder, a full disk, a name too long
        place = f"{error.filename}: " if error.filename else ""
        raise DataError(f"{place}{error.strerror or error}") from error
    except OverflowError as error:
        raise DataError(
            f"a number is too large or infinite ({error}); allowed are at most "
            f"{sys.float_info.max:g}"
        ) from error
    except RecursionError as error:
        raise DataError("a value is nested too deeply; allowed are some hundred levels") from error
    except UnicodeEncodeError as error:
        cell = ascii(error.object[error.start : error.end])[:LONGEST_CELL]
        raise DataError(f"a text holds {cell}, which is no character of UTF-8") from error
    except ValueError as error:
        if str(error) != "embedded null byte":
            raise
        raise DataError("the name of a file holds a zero byte, which none can have") from error


def _extra_of(module: str) -> str | None:
    """The first extra of this package whose distributions have the module; None if none has."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        lines = requires("frugal") or []
    except PackageNotFoundError:  # modules on a path, not installed
        return None
    name = re.escape(module.replace("_", "-"))
    of_extra = re.compile(rf"{name}(?![\w.\[])(?:-[\w-]*)?[^;]*;.*extra == .(?!all|dev)([\w-]+)")
    return next((match[1] for match in map(of_extra.match, lines) if match), None)


def printable(text: str) -> str:
    """Text for a terminal: unprintable characters other than line ends are escaped.

    The name of a file in results that somebody else has made could else rewrite the screen.
    """
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def say(*lines: str, file: Any = None) -> None:
    """Print lines; the one way by which names of others reach a terminal.

    A line stays one line, and characters outside the terminal's encoding are escaped.
    """
    stream = file or sys.stdout
    encoding = getattr(stream, "encoding", None) or "utf-8"
    for line in lines:
        text = printable(line).replace("\n", "\\n")
        print(text.encode(encoding, "backslashreplace").decode(encoding), file=stream)


def is_private() -> bool:
    """Whether refusals leave out the cell that is refused: `--private`, or the environment."""
    return os.environ.get(PRIVATE, "") not in ("", "0")


def shown_cell(value: object) -> str:
    """A cell of somebody's table as a refusal shows it, in quotes; the only one that it shows."""
    if is_private():
        return "a value (not shown: --private)"
    scalar: Any = value if getattr(value, "shape", None) == () else None
    text = repr(value if scalar is None else scalar.item())  # without the name of its type
    text = text if text.isprintable() else " ".join(text.split())  # of a Series, several lines
    return text if len(text) <= LONGEST_CELL else f"{text[:LONGEST_CELL]}…"
