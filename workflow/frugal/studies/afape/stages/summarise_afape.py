"""Stage `summarise_afape`: the study's summary tables: estimates, comparisons, and verdicts."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from frugal.core.streams import Streams
from frugal.judge.estimator import Need
from frugal.judge.registry import ESTIMATORS, READ
from frugal.judge.verdicts import Words, contradicted, verdict

KEY = ["dataset", "mechanism", "agent", "estimator", "seed"]
NUMBERS = ["estimate", "ci_low", "ci_high", "truth", "n", "ess"]
SCENARIO = ["dataset", "mechanism"]
DRAW = [*SCENARIO, "seed"]
WARNING = "graph_refuted"
_FITTED = (Need.PROPENSITY, Need.PATTERN_PROPENSITY)
PAIR = [*SCENARIO, "seed", "estimator", "agent", "other"]


def summarise_afape(
    *,
    estimates: pd.DataFrame,
    comparisons: pd.DataFrame,
    graph_check: pd.DataFrame,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, Any]:
    """Put all scenarios under each other, the contract's columns first; one verdict for each.

    Settings: `cost_units` (data set → unit of cost).
    """
    del streams, progress
    checked = graph_check.astype({"dataset": str, "mechanism": str}).set_index(DRAW)
    summary = _warned(_ordered(estimates, KEY + NUMBERS), checked)
    graphs = dict(zip(checked.index, checked.to_dict("records"), strict=True))
    pairs = _ordered(comparisons, PAIR)
    labels = {name: one.label for name, one in ESTIMATORS.items()}
    found = []
    for (dataset, mechanism, seed), rows in summary.groupby(DRAW, sort=False):
        mine = pairs[
            (pairs["dataset"] == dataset)
            & (pairs["mechanism"] == mechanism)
            & (pairs["seed"] == seed)
        ]
        answer = verdict(rows, mine, READ, Words(settings["cost_units"][dataset], labels))
        graph = graphs[dataset, mechanism, seed]
        if graph["graph_refuted"]:
            answer = contradicted(answer, graph["sentence"])
        told = {"dataset": dataset, "mechanism": mechanism, "seed": seed}
        found.append(told | answer | {"p_value": graph["p_value"]})
    verdicts = pd.DataFrame(found)
    return {
        "summary": summary,
        "comparisons": pairs,
        "verdicts": verdicts,
        "sentence": _page(verdicts).encode(),
    }


def _ordered(table: pd.DataFrame, first: list[str]) -> pd.DataFrame:
    """The columns that are promised, then the others; names as text."""
    texts = dict.fromkeys(["dataset", "mechanism", "agent"], "str")
    further = [c for c in table.columns if c not in first]
    return table.astype(texts)[first + further]


def _warned(summary: pd.DataFrame, checked: pd.DataFrame) -> pd.DataFrame:
    """The warning `graph_refuted` on estimates that rest on fitted probabilities of a graph."""
    weighted = [name for name, one in ESTIMATORS.items() if one.propensity in _FITTED]
    refuted = checked["graph_refuted"].reindex(pd.MultiIndex.from_frame(summary[DRAW]))
    rows = refuted.to_numpy() & summary["estimator"].isin(weighted) & (summary["status"] == "ok")
    warning = summary["warning"].to_numpy(dtype=object, copy=True)
    warning[rows] = [f"{old},{WARNING}" if old else WARNING for old in warning[rows]]
    return summary.assign(warning=warning)


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
