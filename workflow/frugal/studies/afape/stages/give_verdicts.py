"""Stage `give_verdicts`: comparisons of all scenarios, and one verdict for each."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from frugal.core.streams import Streams
from frugal.judge.registry import ESTIMATORS, READ
from frugal.judge.verdicts import Words, contradicted, verdict
from frugal.studies.afape.stages.summarise_afape import ordered

SCENARIO = ["dataset", "mechanism"]
DRAW = [*SCENARIO, "seed"]
RANGE = [*SCENARIO, "agent", "estimator", "seed", "kind", "gamma"]
PAIR = [*SCENARIO, "seed", "estimator", "agent", "other"]


def give_verdicts(
    *,
    summary: pd.DataFrame,
    comparisons: pd.DataFrame,
    graph_check: pd.DataFrame,
    sensitivity: pd.DataFrame,
    tipping: pd.DataFrame,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, Any]:
    """Compare all policies, and say which to use.

    Settings: `cost_units` (data set → unit of cost), `gammas` (Γ that were looked at).
    """
    del streams, progress
    checked = graph_check.astype({"dataset": str, "mechanism": str}).set_index(DRAW)
    graphs = dict(zip(checked.index, checked.to_dict("records"), strict=True))
    pairs = ordered(comparisons, PAIR)
    tips = tipping.astype({"dataset": str, "mechanism": str})
    labels = {name: one.label for name, one in ESTIMATORS.items()}
    found = []
    for (dataset, mechanism, seed), rows in summary.groupby(DRAW, sort=False):
        mine, tipped = (
            table[
                (table["dataset"] == dataset)
                & (table["mechanism"] == mechanism)
                & (table["seed"] == seed)
            ]
            for table in (pairs, tips)
        )
        words = Words(settings["cost_units"][dataset], labels, float(max(settings["gammas"])))
        answer = verdict(rows, mine, tipped, READ, words)
        graph = graphs[dataset, mechanism, seed]
        if graph["graph_refuted"]:
            answer = contradicted(answer, graph["sentence"])
        told = {"dataset": dataset, "mechanism": mechanism, "seed": seed}
        found.append(told | answer | {"p_value": graph["p_value"]})
    verdicts = pd.DataFrame(found)
    return {
        "comparisons": pairs,
        "sensitivity": ordered(sensitivity, RANGE),
        "verdicts": verdicts,
        "sentence": _page(verdicts).encode(),
    }


def _page(verdicts: pd.DataFrame) -> str:
    """A sentence for each scenario: that of its first draw, and in how many it is the same."""
    lines = []
    for (dataset, mechanism), rows in verdicts.groupby(SCENARIO, sort=False):
        first = rows.iloc[0]
        lines.append(f"{dataset}, {mechanism}. {first['sentence']}")
        if len(rows) > 1 and first["agent"]:
            same = int((rows["agent"] == first["agent"]).sum())
            sure = int(rows["sure"].sum())
            lines[-1] += (
                f" The same policy in {same} of {len(rows)} draws of the gaps; sure in {sure}."
            )
    return "\n".join(lines) + "\n"
