"""Costs of the policies of an answer for other cases, whose labels are not known.

Knows no file; `judge/transport.py` has the estimate.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from frugal.answer.candidates import PRACTICE
from frugal.answer.part import Part, Section, Shown
from frugal.core.errors import DataError
from frugal.data.tables import EVERY, StoredTable
from frugal.judge.comparisons import LEVEL
from frugal.judge.intervals import normal_interval
from frugal.judge.transport import transport
from frugal.judge.verdicts import LARGEST_SHARE, LEAST_ESS, interval, number, percent

MOST_BEYOND = 0.1  # share of cases outside the range of the records in one column
ENDS = ("cost", "ci_low", "ci_high", "saving", "saving_low", "saving_high")


def costs(
    terms: pd.DataFrame,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    values: Float[np.ndarray, "m d"],
) -> pd.DataFrame:
    """Costs of the judged policies for other cases, whose labels are not known.

    Args:
        terms: of `judge_candidates`.
        table: of `prepare_data`, with its folds.
        catalogue: of `prepare_data`.
        values: encoded features of the other cases; only always-known columns are read. (m, d)

    Returns:
        agent, cost, std_error, ci_low, ci_high, saving (over practice), saving_low, saving_high
        (95 %, each alone), effective_rows, largest_weight_share, cases; the cheapest first.

    Raises:
        DataError: an always-known column has no value for some of the cases.
    """
    stored = StoredTable(table, catalogue, unlabelled=True)
    at = stored.positions(EVERY)
    data = stored.at(at)
    columns = data.free_columns & np.isfinite(data.values).all(axis=0)
    columns &= np.ptp(np.where(columns, data.values, 0.0), axis=0) > 0
    _require_inside(np.array(data.columns)[columns], data.values[:, columns], values[:, columns])
    names = list(terms["agent"].unique())
    each = terms.pivot(index="row_id", columns="agent", values="term")
    cost = each.loc[data.row_id, names].to_numpy()
    saving = cost[:, [names.index(PRACTICE)]] - cost
    moved = transport(
        np.hstack([cost, saving]),
        data.values[:, columns],
        values[:, columns],
        stored.fold[at],
        stored.clusters(EVERY),
    )
    low, high = normal_interval(moved.mean, moved.std_error, level=LEVEL)
    c = len(names)
    rows = pd.DataFrame(
        {
            "agent": names,
            "cost": moved.mean[:c],
            "std_error": moved.std_error[:c],
            "ci_low": low[:c],
            "ci_high": high[:c],
            "saving": moved.mean[c:],
            "saving_low": low[c:],
            "saving_high": high[c:],
            "effective_rows": moved.effective_rows,
            "largest_weight_share": moved.largest_share,
            "cases": len(values),
        }
    )
    return rows.sort_values(["cost", "agent"], kind="stable", ignore_index=True)


def _require_inside(
    names: np.ndarray, judged: Float[np.ndarray, "n w"], other: Float[np.ndarray, "m w"]
) -> None:
    """Refuse cases that the records do not reach: costs would be those of the regression alone."""
    low, high = judged.min(axis=0), judged.max(axis=0)
    beyond = ((other < low) | (other > high)).mean(axis=0)
    if beyond.max(initial=0.0) > MOST_BEYOND:
        k = int(beyond.argmax())
        raise DataError(
            f"transport: {percent(beyond[k])} of the cases have {str(names[k])!r} outside "
            f"{low[k]:g} to {high[k]:g}, the range of the records; allowed are "
            f"{percent(MOST_BEYOND)}"
        )


def overlap(rows: pd.DataFrame, judged: int) -> str:
    """A warning where few of the judged rows resemble the other cases; else an empty text.

    Args:
        rows: of `costs`.
        judged: number of judged rows.
    """
    first = rows.iloc[0]
    if first["effective_rows"] >= LEAST_ESS and first["largest_weight_share"] <= LARGEST_SHARE:
        return ""
    return (
        f"little overlap: the {judged:,} judged rows count as {first['effective_rows']:.0f} rows "
        f"for these cases, and one of them carries {percent(first['largest_weight_share'])} of the "
        "weight"
    )


def _document(rows: pd.DataFrame | None) -> dict[str, Any] | None:
    """Content of `elsewhere` of answer.json; None where no other cases were named."""
    if rows is None:
        return None
    first = rows.iloc[0]
    return {
        "cases": int(first["cases"]),
        "effective_rows": float(first["effective_rows"]),
        "largest_weight_share": float(first["largest_weight_share"]),
        "costs": {
            str(row["agent"]): {end: float(row[end]) for end in ENDS}
            for row in rows.to_dict("records")
        },
    }


def _sentences(shown: Shown) -> list[str]:
    """Costs for the other cases, as one line; none where no other cases were named."""
    rows, choice, unit = shown.frame, shown.choice, shown.unit
    content = _document(rows)
    if rows is None or content is None:
        return []
    each, name = content["costs"], choice["policy"]
    file = shown.settings["files"]["transport"]
    named = each[name]
    saving = interval(named["saving_low"], named["saving_high"])
    text = (
        f"For the {content['cases']:,} cases of {file}, {name} costs {number(named['cost'])} "
        f"{unit} a case ({interval(named['ci_low'], named['ci_high'])}) and saves "
        f"{number(named['saving'])} ({saving}) against today's practice"
    )
    cheapest = next(agent for agent in each if agent != PRACTICE)
    if cheapest != name:
        text += f"; {cheapest} has the lowest estimate, {number(each[cheapest]['cost'])}"
    warning = overlap(rows, choice["rows"])
    return [f"{text}. L{warning[1:]}." if warning else f"{text}."]


def _table(shown: Shown) -> pd.DataFrame | None:
    """A row for each policy, the cheapest first; None where no other cases were named."""
    rows = shown.frame
    if rows is None:
        return None
    return pd.DataFrame(
        {
            "policy": rows["agent"].replace({PRACTICE: "today's practice"}),
            f"cost, {shown.unit}": rows["cost"].map(number),
            "95 %": [interval(*ends) for ends in rows[["ci_low", "ci_high"]].to_numpy()],
            "saving": rows["saving"].map(number),
            "95 % of it": [
                interval(*ends) for ends in rows[["saving_low", "saving_high"]].to_numpy()
            ],
        }
    )


ELSEWHERE = Part(
    name="elsewhere",
    place=80,
    stage="judge_elsewhere",
    settings={
        "transport": (
            "InputFile",
            "CSV with the columns of the table, of other cases for which the answer estimates the "
            "costs; their labels are not read",
        )
    },
    needs={"transport": ("cost",)},
    document=_document,
    section=Section("Other cases", _sentences, ("Other cases, policy by policy", _table)),
)
