"""Looks of ways to diagnose: one colour and marker per method, and the words for its name.

Learned policies are blue, other ways to choose panels each have a colour of their own, classifiers
on panels that are the same for all are orange (filled: all panels; hollow: fixed ones), the exact
rule of a simulator is black. Knows no table.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from frugal.figures import style

FULL, FIXED = "_full", "_fixed"  # ends of the name of a classifier on all, or on fixed, panels


@dataclass(frozen=True)
class MethodStyle:
    """How one way to diagnose looks in every figure.

    Attributes:
        label: words shown to the reader.
        colour: of its kind.
        marker: matplotlib's code.
        hollow: True for a mark that is not filled.
    """

    label: str
    colour: str
    marker: str
    hollow: bool

    @property
    def face(self) -> str:
        """Fill of a mark: white if hollow."""
        return "white" if self.hollow else self.colour


METHODS: dict[str, MethodStyle] = {
    "sm_ddpo_end2end": MethodStyle("SM-DDPO, end to end", style.BLUE, "o", False),
    "sm_ddpo_pretrain": MethodStyle("SM-DDPO, pretrained", style.SKY, "s", False),
    "cwcf": MethodStyle("CWCF", style.VERMILLION, "v", False),
    "greedy": MethodStyle("greedy information", style.GREEN, "^", False),
    "random": MethodStyle("random selection", style.GREY, "X", False),
    "fixed": MethodStyle("fixed selection", style.PURPLE, "P", False),
    "bayes_static": MethodStyle("exact rule, fixed panels", style.BLACK, "*", False),
}
CLASSIFIERS: dict[str, tuple[str, str]] = {
    "logistic": ("logistic regression", "o"),
    "forest": ("random forest", "s"),
    "xgboost": ("XGBoost", "D"),
    "lightgbm": ("LightGBM", "^"),
    "perceptron": ("perceptron", "v"),
}
_SPARE = ("p", "h", "d", "8", "H", "<", ">")


def method_style(name: str) -> MethodStyle:
    """Look of a method; names that begin like a known one share its look and keep their own words.

    A classifier that the list does not know is orange with a marker that follows from its name; any
    other name is grey with one.
    """
    for end, hollow, seen in ((FULL, False, "all panels"), (FIXED, True, "fixed panels")):
        if name.endswith(end):
            kind = name.removesuffix(end)
            words, marker = CLASSIFIERS.get(kind, (style.words(kind), _spare(kind)))
            return MethodStyle(f"{words}, {seen}", style.ORANGE, marker, hollow)
    if name in METHODS:
        return METHODS[name]
    begun = [known for known in METHODS if name.startswith(f"{known}_")]
    if begun:
        kind = max(begun, key=len)
        look, rest = METHODS[kind], style.words(name[len(kind) :].lstrip("_"))
        return MethodStyle(f"{look.label}, {rest}", look.colour, look.marker, True)
    return MethodStyle(style.words(name), style.GREY, _spare(name), False)


def method_order(names: Iterable[str]) -> list[str]:
    """Distinct methods: learned ones, other selections, the exact rule, classifiers by panels."""
    known = [*METHODS, *(f"{c}{FULL}" for c in CLASSIFIERS), *(f"{c}{FIXED}" for c in CLASSIFIERS)]
    return sorted(
        set(names), key=lambda name: (known.index(name) if name in known else len(known), name)
    )


def _spare(name: str) -> str:
    return _SPARE[sum(map(ord, name)) % len(_SPARE)]
