"""Looks of recourse generators: one colour per kind of information, one marker per kind of learner.

Each kind declares its own; see `cover.generator`. Filled marks are networks with the form of the
problem, hollow ones the paper's. Knows no table.
"""

from collections.abc import Iterable
from dataclasses import replace

from frugal.core.declarations import load_all
from frugal.draw import style
from frugal.draw.style import Look

_DECLARED = load_all("frugal.cover.generators", "GeneratorKind").values()
GENERATORS: dict[str, Look] = {
    kind.name: Look(kind.label, style.COLOURS[kind.look[0]], kind.look[1], hollow=kind.look[2])
    for kind in sorted(_DECLARED, key=lambda kind: (kind.place, kind.name))
}


def generator_kind(name: str) -> str:
    """The kind whose name begins a generator's name; a name of none is refused."""
    return style.kind_of(name, GENERATORS, what="generator")


def generator_style(name: str) -> Look:
    """Look of a generator; one trained on augmented units (`_ag1`, `_ag2`) has a cross."""
    kind = generator_kind(name)
    augmented = name[len(kind) :].startswith("_ag")
    return replace(GENERATORS[kind], marker="P") if augmented else GENERATORS[kind]


def generator_label(name: str) -> str:
    """Words for a generator; what its name adds to its kind stands behind them."""
    kind = generator_kind(name)
    rest = style.words(name[len(kind) :].lstrip("_"))
    label = GENERATORS[kind].label
    return f"{label}, {rest.upper() if rest.startswith('ag') else rest}" if rest else label


def generator_order(names: Iterable[str]) -> list[str]:
    """Distinct generators in the order in which every figure lists them."""
    return style.kind_order(names, GENERATORS, what="generator")


def generator_looks(names: Iterable[str]) -> dict[str, Look]:
    """Looks of distinct generators in that order, each with its own words."""
    return {
        name: replace(generator_style(name), label=generator_label(name))
        for name in generator_order(names)
    }
