"""Looks of recourse generators: one colour per kind of information, one marker per kind of learner.

Blue knows names of explanations, green names of actions, vermillion effects of actions. Filled
marks are networks with the form of the problem, hollow ones the paper's. Knows no table.
"""

from collections.abc import Iterable
from dataclasses import replace

from frugal.draw import style
from frugal.draw.style import Look

GENERATORS: dict[str, Look] = {
    "hamming": Look("Hamming", style.GREY, "X", hollow=True),
    "dense_named": Look("named, dense (MC)", style.BLUE, "s", hollow=True),
    "dense_named_action": Look("named action, dense (NA)", style.GREEN, "D", hollow=True),
    "padded_full_action": Look("full action, padded (FA)", style.VERMILLION, "^", hollow=True),
    "sequence_full_action": Look("full action, sequence", style.VERMILLION, "v", hollow=True),
    "seen_cover": Look("named, closed form", style.SKY, "o"),
    "named": Look("named, scores", style.BLUE, "s"),
    "named_action": Look("named action, scores", style.GREEN, "D"),
    "full_action": Look("full action, scores", style.VERMILLION, "^"),
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
