"""Stage `give_verdicts`: comparisons of all scenarios, and one verdict for each."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.streams import Streams
from frugal.judge.registry import ESTIMATORS, READ
from frugal.judge.verdicts import Words, contradicted, over_draws, told_by_group, verdict
from frugal.studies.afape.stages.summarise_afape import ordered

SCENARIO = ["dataset", "mechanism"]
DRAW = [*SCENARIO, "seed"]
GROUP = [*SCENARIO, "seed", "agent", "estimator", "group", "other", "quantity"]
RANGE = [*SCENARIO, "agent", "estimator", "seed", "kind", "gamma"]
PAIR = [*SCENARIO, "seed", "estimator", "agent", "other"]


def give_verdicts(
    *,
    summary: pd.DataFrame,
    comparisons: pd.DataFrame,
    groups: pd.DataFrame,
    graph_check: pd.DataFrame,
    sensitivity: pd.DataFrame,
    tipping: pd.DataFrame,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, Any]:
    """Compare all policies, and say which to use, and what it does to each group.

    Settings: `cost_units` (data set → unit of cost), `gammas` (Γ that were looked at),
    `margin` (share of the cost that counts as nothing).
    """
    del progress
    checked = graph_check.astype({"dataset": str, "mechanism": str}).set_index(DRAW)
    graphs = dict(zip(checked.index, checked.to_dict("records"), strict=True))
    pairs, apart = ordered(comparisons, PAIR), ordered(groups, GROUP)
    tips = tipping.astype({"dataset": str, "mechanism": str})
    labels = {name: one.label for name, one in ESTIMATORS.items()}
    read, found = [], []
    for (dataset, mechanism, seed), rows in summary.groupby(DRAW, sort=False):
        told = {"dataset": dataset, "mechanism": mechanism, "seed": seed}
        most, margin = float(max(settings["gammas"])), float(settings["margin"])
        words = Words(settings["cost_units"][dataset], labels, most, margin)
        rng = streams.generator("worth", *map(str, told.values()))
        answer = verdict(rows, _of_draw(pairs, told), _of_draw(tips, told), READ, words, rng)
        graph = graphs[dataset, mechanism, seed]
        if graph["graph_refuted"]:
            answer = contradicted(answer, graph["sentence"])
        mine = _of_draw(apart, told)
        read.append(mine[mine["estimator"] == answer["estimator"]])
        by_group = told_by_group(read[-1], str(answer["agent"]), settings["cost_units"][dataset])
        found.append(told | answer | {"p_value": graph["p_value"], "by_group": by_group})
    verdicts = pd.DataFrame(found)
    return {
        "comparisons": pairs,
        "groups": pd.concat(read, ignore_index=True),
        "sensitivity": ordered(sensitivity, RANGE),
        "verdicts": verdicts,
        "sentence": _page(verdicts).encode(),
    }


def _of_draw(table: pd.DataFrame, draw: Mapping[str, Any]) -> pd.DataFrame:
    """Rows of one scenario and seed."""
    return table[np.logical_and.reduce([table[key] == value for key, value in draw.items()])]


def _page(verdicts: pd.DataFrame) -> str:
    """A sentence for each scenario: that of its first draw, and in how many it is the same."""
    lines = []
    for (dataset, mechanism), rows in verdicts.groupby(SCENARIO, sort=False):
        first = rows.iloc[0]
        lines.append(f"{dataset}, {mechanism}. {first['sentence']}")
        if len(rows) > 1 and first["agent"]:
            lines[-1] += f" {over_draws(rows)}"
        if first["by_group"]:
            lines[-1] += f" {first['by_group']}"
    return "\n".join(lines) + "\n"
