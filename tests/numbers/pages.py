"""Blocks as they stand on pages, and how they differ from those of a run."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.numbers.blocks import BLOCKS, Block, Run
from tests.unit.page_words import pages

_BLOCK = re.compile(r"(<!-- default run: (\w+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
_NUMBER = re.compile(r"[−-]?(?:\d[\d,]*)?\.?\d+")


@dataclass(frozen=True)
class Stand:
    """A block where it stands."""

    page: Path
    name: str
    text: str


def stands() -> Iterator[Stand]:
    """Every block of every page."""
    for page in pages():
        for _, name, text, _ in _BLOCK.findall(page.read_text(encoding="utf-8")):
            yield Stand(page, name, text.strip())


def difference(stand: Stand, run: Run, *, exactly: bool = False) -> str | None:
    """A sentence where a page says something else than a run; None where it does not.

    Args:
        stand: the block.
        run: of the default.
        exactly: to the digit, whatever the block's slack.
    """
    block = BLOCKS[stand.name]
    made = block.make(run)
    said, told = plain(stand.text), plain(made)
    if said == told:
        return None
    where = f"{stand.page.name}: block {stand.name}"
    if exactly or not block.slack:
        return f"{where}: the page has\n{stand.text}\nthe run\n{made}"
    ours, theirs = _numbers(said), _numbers(told)
    if len(ours) != len(theirs):
        return f"{where}: the page has\n{stand.text}\nthe run says it otherwise\n{made}"
    far = [(a, b) for a, b in zip(ours, theirs, strict=True) if not _near(a, b, block)]
    return f"{where}: page and run are further apart than {block.slack}: {far}" if far else None


def written(run: Run) -> list[Path]:
    """Put the blocks of a run onto the pages; returns the pages that changed."""
    changed = []
    for page in pages():
        text = page.read_text(encoding="utf-8")
        new = _BLOCK.sub(lambda m: f"{m[1]}{lines(BLOCKS[m[2]].make(run))}\n{m[4]}", text)
        if new != text:
            page.write_text(new, encoding="utf-8")
            changed.append(page)
    return changed


def lines(text: str) -> str:
    """A paragraph in lines of at most 120 characters; tables and quotes as they are."""
    if text.startswith(("|", ">")):
        return text
    words, rows = text.split(), [""]
    for word in words:
        if rows[-1] and len(rows[-1]) + len(word) >= 120:
            rows.append("")
        rows[-1] = f"{rows[-1]} {word}".strip()
    return "\n".join(rows)


def plain(text: str) -> str:
    """The text with its blanks as one."""
    return " ".join(text.split())


def _numbers(text: str) -> list[float]:
    return [float(n.replace("−", "-").replace(",", "") or 0) for n in _NUMBER.findall(text)]


def _near(a: float, b: float, block: Block) -> bool:
    return abs(a - b) <= block.slack * max(1.0, abs(b))
