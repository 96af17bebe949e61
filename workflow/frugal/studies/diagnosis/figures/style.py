"""Looks of ways to diagnose: one colour and marker per method, and the words for its name.

Learned policies are blue, other ways to choose panels each have a colour of their own, classifiers
on panels that are the same for all are orange (filled: all panels; hollow: fixed ones; crosses:
columns known at the start), the exact rule of a simulator is black. Looks of agents are declared by
their kinds, see `acquire.kinds`. Knows no table.
"""

from collections.abc import Iterable

from frugal.core.declarations import load_literals
from frugal.draw import style
from frugal.draw.style import Look

FULL, FIXED, FREE = "_full", "_fixed", "_free"
SAME_FOR_ALL = {  # ends of names of classifiers: what they read, marker, hollow
    FULL: ("all panels", "o", False),
    FIXED: ("fixed panels", "o", True),
    FREE: ("no panel", "x", False),
}


METHODS = style.looks_of(load_literals("frugal.acquire.policies", "AgentKind").values()) | {
    "bayes_static": Look("exact rule, fixed panels", style.BLACK, "*")
}
CLASSIFIERS: dict[str, str] = {
    name: says["label"]
    for name, says in load_literals("frugal.learn.tabular_baselines", "Classifier").items()
}
_SPARE = ("8", "H", ">")


def method_style(name: str) -> Look:
    """Look of a method; names that begin like a known one share its look and keep their own words.

    Classifiers on the same panels share a mark, since many stand at one cost. Any other name is
    grey with a marker that follows from it.
    """
    for end, (seen, marker, hollow) in SAME_FOR_ALL.items():
        if name.endswith(end):
            kind = name.removesuffix(end)
            words = CLASSIFIERS.get(kind, style.words(kind))
            return Look(f"{words}, {seen}", style.ORANGE, marker, hollow)
    if name in METHODS:
        return METHODS[name]
    begun = [known for known in METHODS if name.startswith(f"{known}_")]
    if begun:
        kind = max(begun, key=len)
        look, rest = METHODS[kind], style.words(name[len(kind) :].lstrip("_"))
        return Look(f"{look.label}, {rest}", look.colour, look.marker, True)
    return Look(style.words(name), style.GREY, _spare(name))


def method_order(names: Iterable[str]) -> list[str]:
    """Distinct methods: learned ones, other selections, the exact rule, classifiers by panels."""
    known = [*METHODS, *(f"{c}{end}" for end in SAME_FOR_ALL for c in CLASSIFIERS)]
    return sorted(
        set(names), key=lambda name: (known.index(name) if name in known else len(known), name)
    )


def _spare(name: str) -> str:
    return _SPARE[sum(map(ord, name)) % len(_SPARE)]
