"""Words of a command line as numbers and pairs; each refusal is argparse's sentence."""

import argparse
from collections.abc import Callable


def whole_number(least: int) -> Callable[[str], int]:
    """Reads a whole number from `least` on."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            raise argparse.ArgumentTypeError(
                f"{text[:50]!r} is not allowed; allowed are whole numbers from {least} on"
            )
        return number

    return read


def pair(text: str) -> tuple[str, str]:
    """Reads `name=value`."""
    name, _, value = text.partition("=")
    if not name or not value:
        raise argparse.ArgumentTypeError(f"{text[:200]!r} is not of the form name=value")
    return name, value
