"""Stage `write_budgets`: what F1 is reached within each budget, as a text and as one page."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from frugal.core.streams import Streams
from frugal.draw.answers import Answer


def write_budgets(
    *,
    catalogue: Mapping[str, Any],
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
    **choice: Mapping[str, Any],
) -> dict[str, bytes]:
    """Words and table of the policies chosen for several budgets.

    Inputs `choice_0`, `choice_1`, … are those of `choose_policy`; the first was asked for.
    Settings: `remarks` (what was assumed), `reading` (words → file or command).
    """
    del streams, progress
    asked = choice["choice_0"]
    by_budget = {float(one["budget"]): one for one in choice.values()}
    told = Answer(
        title=catalogue["report"]["title"],
        heading=f"What is reached within each budget for panels ({asked['cost_unit']} a case)",
        sentence=asked["sentence"],
        curve=pd.DataFrame([_line(by_budget[one]) for one in sorted(by_budget)]),
        further=settings["remarks"],
        reading=settings["reading"],
    )
    return {"text": told.text().encode(), "page": told.page("").encode()}


def _line(choice: Mapping[str, Any]) -> dict[str, Any]:
    """A budget's row: what the chosen policy costs and reaches on test units."""
    found = choice["expected_on_test"]
    line: dict[str, Any] = {"budget": f"{choice['budget']:g}", "panels": found["cost"]["value"]}
    for name, words in (("f1", "F1"), ("sensitivity", "sensitivity"), ("auroc", "AUROC")):
        line[words] = found[name]["value"]
        if name == "f1":
            line |= {"95 % from": found[name]["low"], "to": found[name]["high"]}
    return line | {"family": str(choice["family"])}
