"""Looks of recourse generators: one colour per kind of information, one marker per kind of learner.

Blue knows names of explanations, green names of actions, vermillion effects of actions. Filled
marks are networks with the form of the problem, hollow ones the paper's. Knows no table.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from frugal.contracts.errors import ConfigError
from frugal.figures import style


@dataclass(frozen=True)
class GeneratorStyle:
    """How a kind of generator looks in every figure.

    Attributes:
        label: words shown to the reader.
        colour: of the information that it has.
        marker: matplotlib's code.
        hollow: True for the paper's own learners.
    """

    label: str
    colour: str
    marker: str
    hollow: bool


GENERATORS: dict[str, GeneratorStyle] = {
    "hamming": GeneratorStyle("Hamming", style.GREY, "X", True),
    "dense_named": GeneratorStyle("named, dense (MC)", style.BLUE, "s", True),
    "dense_named_action": GeneratorStyle("named action, dense (NA)", style.GREEN, "D", True),
    "padded_full_action": GeneratorStyle("full action, padded (FA)", style.VERMILLION, "^", True),
    "sequence_full_action": GeneratorStyle("full action, sequence", style.VERMILLION, "v", True),
    "seen_cover": GeneratorStyle("named, closed form", style.SKY, "o", False),
    "named": GeneratorStyle("named, scores", style.BLUE, "s", False),
    "named_action": GeneratorStyle("named action, scores", style.GREEN, "D", False),
    "full_action": GeneratorStyle("full action, scores", style.VERMILLION, "^", False),
}


def generator_kind(name: str) -> str:
    """The kind whose name begins a generator's name, the longest that does: `hamming_5` → hamming.

    Raises:
        ConfigError: there is none.
    """
    found = [kind for kind in GENERATORS if name == kind or name.startswith(f"{kind}_")]
    if not found:
        raise ConfigError(
            f"generator {name!r} has no colour and marker; a name begins with one of "
            f"{', '.join(GENERATORS)}"
        )
    return max(found, key=len)


def generator_style(name: str) -> GeneratorStyle:
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
    kinds = list(GENERATORS)
    return sorted(set(names), key=lambda name: (kinds.index(generator_kind(name)), name))


def face(look: GeneratorStyle) -> str:
    """Fill of a mark: white if hollow."""
    return "white" if look.hollow else look.colour
