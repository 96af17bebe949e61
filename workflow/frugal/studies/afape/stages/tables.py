"""Stages of afape's tables: the summary, verdicts, checks, cases to look at."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.blocks import block_slices
from frugal.core.context import Context
from frugal.core.errors import DataError
from frugal.core.rows import Partitions, Rows, rows_where
from frugal.data.tables import StoredTable
from frugal.draw.explorer.patients import Course, patients, spread_units
from frugal.judge.registry import ESTIMATORS, READ
from frugal.judge.verdicts import Words, contradicted, over_draws, stated_by_group, verdict

KEY = ["dataset", "mechanism", "agent", "estimator", "seed"]
NUMBERS = ["estimate", "ci_low", "ci_high", "truth", "n", "ess"]


def summarise_afape(*, estimates: pd.DataFrame, context: Context) -> dict[str, pd.DataFrame]:
    """Put all scenarios under each other; the contract's columns come first."""
    return {"summary": ordered(estimates, KEY + NUMBERS)}


def ordered(table: pd.DataFrame, first: list[str]) -> pd.DataFrame:
    """The columns that are promised, then the others; names as text."""
    texts = dict.fromkeys(["dataset", "mechanism", "agent"], "str")
    further = [c for c in table.columns if c not in first]
    return table.astype(texts)[first + further]


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
    context: Context,
) -> dict[str, Any]:
    """Compare all policies, and say which to use, and its effect on each group.

    Settings: `cost_units` (data set → unit of cost), `gammas` (Γ that were looked at),
    `margin` (share of the cost that counts as nothing).
    """
    settings = context.settings
    checked = graph_check.astype({"dataset": str, "mechanism": str}).set_index(DRAW)
    graphs = dict(zip(checked.index, checked.to_dict("records"), strict=True))
    pairs, apart = ordered(comparisons, PAIR), ordered(groups, GROUP)
    tips = tipping.astype({"dataset": str, "mechanism": str})
    labels = {name: estimator.label for name, estimator in ESTIMATORS.items()}
    read, rows_of_verdicts = [], []
    for (dataset, mechanism, seed), rows in summary.groupby(DRAW, sort=False):
        draw = {"dataset": dataset, "mechanism": mechanism, "seed": seed}
        most, margin = float(max(settings["gammas"])), float(settings["margin"])
        words = Words(settings["cost_units"][dataset], labels, most, margin)
        rng = context.streams.generator("worth", *map(str, draw.values()))
        answer = verdict(rows, _of_draw(pairs, draw), _of_draw(tips, draw), READ, words, rng)
        graph = graphs[dataset, mechanism, seed]
        if graph["graph_refuted"]:
            answer = contradicted(answer, graph["sentence"])
        mine = _of_draw(apart, draw)
        read.append(mine[mine["estimator"] == answer["estimator"]])
        by_group = stated_by_group(read[-1], str(answer["agent"]), settings["cost_units"][dataset])
        rows_of_verdicts.append(draw | answer | {"p_value": graph["p_value"], "by_group": by_group})
    verdicts = pd.DataFrame(rows_of_verdicts)
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


STATUSES = {"ok", "no_support", "not_identified", "not_available"}


def check_afape(*, summary: pd.DataFrame, context: Context) -> dict[str, dict[str, Any]]:
    """Count rows and check ranges.

    Raises:
        DataError: the first check that fails, with the row.
    """
    keys = ["dataset", "mechanism", "agent", "estimator", "seed"]
    expected = {
        (dataset, mechanism, agent, estimator, seed)
        for dataset, mechanism in context.settings["scenarios"]
        for agent in context.settings["agents"]
        for estimator in ESTIMATORS
        for seed in context.settings["seeds"]
    }
    present = set(summary[keys].itertuples(index=False, name=None))
    if lost := sorted(expected - present):
        raise DataError(
            f"the afape summary lacks {len(lost)} of {len(expected)} rows, first {lost[0]}"
        )
    if len(summary) != len(expected):
        raise DataError(
            f"the afape summary has {len(summary)} rows, {len(expected)} were requested"
        )
    checks = _checks(summary)
    for property_, holds in checks.items():
        if not holds.all():
            row = summary.loc[holds.index[~holds][0]]
            raise DataError(
                f"afape summary: it does not hold that {property_}, at {dict(row[keys])}"
            )
    return {
        "checks": {
            "rows": len(summary),
            "status": summary["status"].value_counts().to_dict(),
            "passed": ["every row that was requested is there", *checks],
        }
    }


def _checks(summary: pd.DataFrame) -> dict[str, pd.Series]:
    """Condition → where it holds."""
    done = summary[summary["status"] == "ok"]
    slack = 1e-9 * (1 + done["estimate"].abs())
    above = done["ci_low"] <= done["estimate"] + slack
    return {
        "a status is known": summary["status"].isin(STATUSES),
        "rows that are not ok have a reason": (summary["status"] == "ok")
        | (summary["reason"] != ""),
        "rows that are not ok have no estimate": (summary["status"] == "ok")
        == summary["estimate"].notna(),
        "a cost is finite": done["estimate"].abs() < np.inf,
        "an interval holds its estimate, or a warning says that no cost can be so": (
            done["ci_low"] <= done["ci_high"]
        )
        & (
            (above & (done["estimate"] - slack <= done["ci_high"]))
            | done["warning"].str.contains("outside_range")
        ),
        "an interval for all policies at once holds that of one": (
            done["simultaneous_low"] <= done["ci_low"]
        )
        & (done["ci_high"] <= done["simultaneous_high"]),
        "the effective sample size is at most the usable rows": done["ess"]
        <= done["usable_rows"] + 1e-6,
        "the parts sum to the cost": np.abs(
            done["acquisition_cost"] + done["misclassification_cost"] - done["estimate"]
        )
        <= 1e-9 * (1 + done["estimate"].abs()),
    }


def show_afape_cases(
    *,
    table: pd.DataFrame | Rows,
    catalogue: Mapping[str, Any],
    decisions: Partitions,
    worlds: Partitions,
    blocked: Partitions,
    context: Context,
) -> dict[str, Any]:
    """Units with all panels on record, as a policy meets them at run time.

    Where the table has missing values of its own, no unit is whole: the episodes shown are blocked,
    so that a panel that is not recorded is not acquired.

    Of the logs only the rows of these units are held.

    Settings: `units` (how many), `seed` (of the draw), `kinds` (agent → description of its kind).
    """
    logs = _Logs(decisions, worlds, blocked, int(context.settings["seed"]))
    agents = decisions.values("agent")
    chosen = logs.units(agents[0], int(context.settings["units"]))
    courses = [
        Course(agent, context.settings["kinds"].get(agent, ""), *logs.of(agent, chosen), agent)
        for agent in context.progress(agents, desc="policies")
    ]
    stored = StoredTable(table, catalogue)
    data = stored.at(stored.places(chosen))
    units = {column["name"]: column["unit"] or "" for column in catalogue["columns"]}
    scope = {key: context.streams.wildcards[key] for key in ("dataset", "mechanism")}
    report = catalogue["report"]
    return {
        "cases": {
            "kind": "cases",
            "study": "afape",
            "title": report["title"],
            "scope": scope | {"seed": str(context.settings["seed"])},
            "cost_unit": report["cost_unit"],
            "logs": {"input": "decisions", "key": "agent"},
            "patients": patients(data, units, courses, chosen),
        }
    }


class _Logs:
    """Decisions and outcomes of every policy, in one seed."""

    def __init__(
        self, decisions: Partitions, worlds: Partitions, blocked: Partitions, seed: int
    ) -> None:
        self._decisions, self._worlds, self._blocked = decisions, worlds, blocked
        self._seed = seed

    def _ends(self, agent: str) -> tuple[Rows, str]:
        """Outcomes of a policy, and the world that is shown."""
        worlds = self._worlds.rows("agent", agent)
        blocks = (worlds.read(rows, ["world"])["world"] for rows in block_slices(len(worlds)))
        if any((world == "full").any() for world in blocks):
            return worlds, "full"
        return self._blocked.rows("agent", agent), "blocked"

    def units(self, agent: str, count: int) -> list[int]:
        """Units of every class, from the rows of one policy."""
        ends, world = self._ends(agent)
        named = ["world", "seed", "row_id", "label"]
        ends_here = rows_where(ends, lambda frame: self._here(frame, world), named)
        return spread_units(ends_here["row_id"].to_numpy(), ends_here["label"].to_numpy(), count)

    def of(self, agent: str, units: list[int]) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Decisions and outcomes of some units."""
        ends, world = self._ends(agent)

        def is_requested(frame: pd.DataFrame) -> np.ndarray:
            return self._here(frame, world) & frame["row_id"].isin(units).to_numpy()

        return rows_where(self._decisions.rows("agent", agent), is_requested), rows_where(
            ends, is_requested
        )

    def _here(self, frame: pd.DataFrame, world: str) -> np.ndarray:
        """Rows of one world and draw."""
        return ((frame["world"] == world) & (frame["seed"] == self._seed)).to_numpy()
