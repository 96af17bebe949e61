"""Tables of Markdown, and the line by which a page says what it is made from."""

import textwrap
from collections.abc import Iterable, Sequence

WIDEST_VALUE = 60  # characters of a value in a cell


def head(title: str, page: str) -> str:
    """Title of a derived page, and the command that makes it."""
    return (
        f"# {title}\n\n"
        f"Reference. Made from the declarations by `python -m frugal reference {page}`.\n"
    )


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; what would end a cell is escaped."""
    lines = [row(columns), row("---" for _ in columns)]
    return "\n".join([*lines, *(row(map(in_cell, cells)) for cells in rows)]) + "\n"


def row(cells: Iterable[str]) -> str:
    """One line of a table."""
    return f"| {' | '.join(cells)} |"


def in_cell(text: str) -> str:
    """A text on one line, without a bar that would end its cell."""
    return " ".join(text.split()).replace("|", "\\|")


def code(text: str) -> str:
    """As code; a long one is cut, nothing is nothing."""
    text = " ".join(text.split())
    text = text if len(text) <= WIDEST_VALUE else f"{text[: WIDEST_VALUE - 1]}…"
    return f"`{text}`" if text else ""


def sentence(text: str) -> str:
    """A description as a sentence; one that begins with a path keeps its letter."""
    begins_with_path = "/" in text.partition(" ")[0]
    text = text if begins_with_path else text[:1].upper() + text[1:]
    return text if text.endswith((".", "?")) else f"{text}."


def lines_of(text: str) -> str:
    """A paragraph in lines that fit a screen."""
    said = " ".join(text.split())
    lines = textwrap.wrap(said, 110, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines)
