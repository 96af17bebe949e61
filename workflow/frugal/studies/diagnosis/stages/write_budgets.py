"""Stage `write_budgets`: what F1 is reached within each budget, as a text and as one page."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from frugal.core.files import all_digits
from frugal.core.streams import Streams
from frugal.draw.answers import Answer
from frugal.studies.diagnosis.spec import BASELINES


def write_budgets(
    *,
    catalogue: Mapping[str, Any],
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
    asked: Mapping[str, Any],
    **choice: Mapping[str, Any],
) -> dict[str, bytes]:
    """Words and table of the policies chosen for several budgets.

    Inputs `choice_0`, `choice_1`, … are those of `choose_policy`; the first was asked for. `asked`
    is the same among policies that new cases can be asked by, of which the bundle is made.
    Settings: `remarks` (what was assumed), `reading` (words → file or command).
    """
    del streams, progress
    first = choice["choice_0"]
    positive = catalogue["classes"][1]
    by_budget = {float(one["budget"]): one for one in choice.values()}
    told = Answer(
        title=catalogue["report"]["title"],
        heading=f"What is reached within each budget for panels ({first['cost_unit']} a case); "
        f"F1 counts {positive!r}",
        sentence=first["sentence"],
        curve=pd.DataFrame(
            [_all_positive(first["positive_for_all"], positive)]
            + [_line("0", one, f"none: {one['method']}") for one in _classifiers(first)]
            + [
                _line(all_digits(budget), by_budget[budget], _family(by_budget[budget]))
                for budget in sorted(by_budget)
            ]
        ),
        further=[_class(first), *settings["remarks"], *_other_family(first, asked)],
        reading=settings["reading"],
    )
    return {"text": told.text().encode(), "page": told.page("").encode()}


def _class(first: Mapping[str, Any]) -> str:
    """Which class F1 counts, and how to count the other one."""
    positive, units = first["positive"], first["expected_on_test"]["units"]
    return (
        f"F1 counts the class {positive['class']!r}, {positive['units']} of {units} test cases; to "
        "count the other one, let it stand last under 'label.classes' of the table's YAML."
    )


def _other_family(first: Mapping[str, Any], asked: Mapping[str, Any]) -> list[str]:
    """That new cases are asked by another family than the chosen one, where it keeps no policy."""
    if first["family"] == asked["family"]:
        return []
    reached = asked["expected_on_test"]["f1"]
    return [
        "The chosen family buys the same panels in every case and keeps no policy; new cases are "
        f"advised by the best family that keeps one, {asked['family']}: F1 {reached['value']:.3f} "
        f"({reached['low']:.3f} to {reached['high']:.3f})."
    ]


def _classifiers(first: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Classifiers that read no panel; where there are none, the best policy that buys nothing."""
    free = first["without_panels"]
    return [one for one in free if one["family"] == BASELINES] or free[:1]


def _all_positive(reached: Mapping[str, float], positive: str) -> dict[str, Any]:
    """The row that needs no column at all: every case is called positive."""
    return {
        "budget": "0", "panels": 0.0, "F1": reached["value"], "95 % from": reached["low"],
        "to": reached["high"], "sensitivity": 1.0, "AUROC": 0.5,
        "family": f"none: {positive!r} said of all",
    }  # fmt: skip


def _family(choice: Mapping[str, Any]) -> str:
    """The chosen family, of classifiers on the same panels for all cases the method."""
    return str(choice["method"] if choice["family"] == BASELINES else choice["family"])


def _line(budget: str, choice: Mapping[str, Any], family: str) -> dict[str, Any]:
    """A row: what a policy costs and reaches on test units."""
    found = choice["expected_on_test"]
    line: dict[str, Any] = {"budget": budget, "panels": found["cost"]["value"]}
    for name, words in (("f1", "F1"), ("sensitivity", "sensitivity"), ("auroc", "AUROC")):
        line[words] = found[name]["value"]
        if name == "f1":
            line |= {"95 % from": found[name]["low"], "to": found[name]["high"]}
    return line | {"family": family}
