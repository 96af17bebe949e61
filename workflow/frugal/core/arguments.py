"""Words of a command line as numbers and pairs; each refusal is argparse's sentence."""

import argparse
import math
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def command_parser(command: str, description: str | None, **more: Any) -> argparse.ArgumentParser:
    """The parser of a command; options are written in full, so none is taken for another."""
    prog = f"{program()} {command}".rstrip()
    return argparse.ArgumentParser(prog=prog, description=description, allow_abbrev=False, **more)


def program() -> str:
    """The words by which the program was started: `frugal`, or `python -m frugal`."""
    return "frugal" if Path(sys.argv[0]).stem == "frugal" else "python -m frugal"


def whole_number(least: int, most: int | None = None) -> Callable[[str], int]:
    """Reads a whole number from `least` on, to `most` if it is given."""
    allowed = f"from {least} on" if most is None else f"from {least} to {most}"

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least or (most is not None and number > most):
            raise argparse.ArgumentTypeError(
                f"{text[:50]!r} is not allowed; allowed are whole numbers {allowed}"
            )
        return number

    return read


def amount(text: str) -> float | None:
    """The finite number from 0 on that a text writes in digits, or None."""
    written = re.fullmatch(r"([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?", text.strip())
    number = float(text) if written else math.inf
    return number if math.isfinite(number) else None


def number_from(least: float) -> Callable[[str], float]:
    """Reads a finite number from `least` on."""

    def read(text: str) -> float:
        number = amount(text)
        if number is None or number < least:
            raise argparse.ArgumentTypeError(
                f"{text[:50]!r} is not allowed; allowed are numbers from {least:g} on"
            )
        return number

    return read


def one_line(text: str) -> str:
    """Reads a text that is shown within a line."""
    if not text.strip() or not text.isprintable():
        raise argparse.ArgumentTypeError(f"{text!r} is not allowed; allowed is a text of one line")
    return text


def file_path(text: str) -> Path:
    """Reads the name of a file."""
    path = Path(text)
    if not path.name:
        raise argparse.ArgumentTypeError(f"{text!r} is no name of a file")
    return path


def pair(text: str) -> tuple[str, str]:
    """Reads `name=value`."""
    name, _, value = text.partition("=")
    if not name or not value:
        raise argparse.ArgumentTypeError(f"{text[:200]!r} is not of the form name=value")
    return name, value
