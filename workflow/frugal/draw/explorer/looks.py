"""Colour and shape of each name on the page: Okabe and Ito's colours, and shapes that all differ.

Knows no study. Loads nothing, so that a stage that fills the page starts as fast as any other.
"""

from collections.abc import Iterable

# those of `frugal.draw.style`, which loads matplotlib; a test holds them to it
COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#6E6E6E", "#000000",
)  # fmt: skip
SHAPES = (
    "circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right",
    "triangle-left",
)  # fmt: skip


def looks_of(names: Iterable[str]) -> dict[str, dict[str, str]]:
    """Name → its words, colour and shape; the first 64 names have pairs that are all different."""
    found = {}
    for k, name in enumerate(dict.fromkeys(names)):
        turn = k // len(COLOURS)
        found[name] = {
            "label": words(name),
            "colour": COLOURS[k % len(COLOURS)],
            "shape": SHAPES[(k + turn) % len(SHAPES)],
        }
    return found


def words(name: str) -> str:
    """A table's name as words: underscores become spaces."""
    return str(name).replace("_", " ").strip()
