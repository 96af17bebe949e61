"""Stages of dadi's tables: scores of a fold, summaries, their checks, and the answer."""

import base64
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.context import Context
from frugal.core.errors import DataError
from frugal.data.tables import table_from_frames
from frugal.draw.answers import AnswerText, Drawing
from frugal.draw.explorer.patients import Course, patients, spread_units
from frugal.judge.fairness import LEVEL, adversary_auc
from frugal.judge.verdicts import small_groups
from frugal.studies.dadi.fair_scores import (
    KEYS,
    MEASURES,
    fairness_row,
    least_disparities,
    over_folds,
    selection_rows,
    with_front,
)
from frugal.studies.dadi.spec import LABEL_SHARE

ACQUIRED = "acquired:"
_AUDITED = ("label", "sensitive", "adversary_probability")


def score_dadi(
    *, outcomes: pd.DataFrame, predictions: pd.DataFrame, audit: pd.DataFrame, context: Context
) -> dict[str, pd.DataFrame]:
    """Score every agent and baseline on test rows; how often each panel is acquired."""
    settings, streams = context.settings, context.streams
    test = outcomes[outcomes["part"] == "test"].rename(columns={"probability": "label_probability"})
    test = test.astype({"policy": str})
    panels = {c: c.removeprefix(ACQUIRED) for c in test.columns if c.startswith(ACQUIRED)}
    rows = []
    for (method, gamma), units in test.groupby(["policy", "gamma"], sort=False, dropna=False):
        of_group = np.nan
        if units["adversary_probability"].notna().all():
            columns = (units[name].to_numpy() for name in _AUDITED)
            of_group = adversary_auc(settings["objective"], *columns, level=LEVEL).value
        stream = (str(method), str(gamma)) if method == "dadi" else (str(method),)
        decision = units["verdict"].to_numpy() == 1
        rows.append(
            {"method": str(method), "gamma": float(str(gamma))}
            | _scored(units, decision, settings, streams.generator(*stream))
            | {
                "features_acquired": float(units[list(panels)].sum(axis=1).mean()),
                "cost": float(units["acquisition_cost"].mean()),
                "adversary_auc": of_group,
                "decision_threshold": float(units["decision_threshold"].iloc[0]),
            }
        )
    for method, units in predictions.groupby("method", sort=False):
        rows.append(
            {"method": str(method), "gamma": np.nan}
            | _scored(units, units["decision"].to_numpy(), settings, streams.generator(str(method)))
            | {
                "features_acquired": float(units["features_acquired"].mean()),
                "cost": float(units["cost"].mean()),
                "adversary_auc": np.nan,
                "decision_threshold": float(units["decision_threshold"].iloc[0]),
            }
        )
    scores = pd.DataFrame(rows)
    return {
        "scores": scores.merge(_worst(audit, settings), on=["method", "gamma"], how="left"),
        "selection": selection_rows(test[test["policy"] == "dadi"], panels, ["gamma", "stratum"]),
    }


def _scored(
    units: pd.DataFrame, decision: np.ndarray, settings: Mapping[str, Any], rng: np.random.Generator
) -> dict[str, float]:
    return fairness_row(
        units["label"].to_numpy(),
        units["sensitive"].to_numpy(),
        units["label_probability"].to_numpy(),
        decision,
        level=LEVEL,
        resamples=settings["resamples"],
        rng=rng,
    )


def _worst(audit: pd.DataFrame, settings: Mapping[str, Any]) -> pd.DataFrame:
    """The best outsider's AUC for the group, of each agent and of whoever reads all panels."""
    of_group = audit[audit["target"] == "sensitive"]
    agents = (
        of_group.groupby(["method", "gamma"], sort=False, dropna=False)["auc"].max().reset_index()
    )
    everything = agents.loc[agents["method"] == "all_panels", "auc"].iloc[0]
    readers = pd.DataFrame({"method": settings["reads_all"], "gamma": np.nan, "auc": everything})
    readers_and_agents = pd.concat(
        [agents[agents["method"] != "all_panels"], readers], ignore_index=True
    )
    return readers_and_agents.rename(columns={"auc": "audit_auc"})


def summarise_dadi(
    *,
    scores: pd.DataFrame,
    selection: pd.DataFrame,
    singles: pd.DataFrame,
    audit: pd.DataFrame,
    context: Context,
) -> dict[str, pd.DataFrame]:
    """One row per data set, method, γ and fold; means over folds with 95 % intervals; and who is
    fairest at nearly the accuracy of the classifier that reads every panel.
    """
    first = [*KEYS, *MEASURES[:4]]
    summary = _without_categories(scores)[first + [c for c in scores.columns if c not in first]]
    by = ["dataset", "method", "gamma"]
    means = over_folds(summary, by, MEASURES, level=LEVEL)
    degenerate = summary.groupby(by, sort=False, dropna=False)["degenerate"].any()
    means["degenerate"] = degenerate.to_numpy()
    return {
        "summary": summary,
        "means": with_front(means),
        "least_disparity": least_disparities(
            summary,
            context.settings["families"],
            reference=context.settings["reference"],
            auc_slack=context.settings["auc_slack"],
            level=LEVEL,
        ),
        "selection": over_folds(
            _without_categories(selection),
            ["dataset", "gamma", "stratum", "panel"],
            ["frequency"],
            level=LEVEL,
        ),
        "singles": over_folds(
            _without_categories(singles), ["dataset", "panel", "network"], ["auc"], level=LEVEL
        ),
        "audit": over_folds(
            _without_categories(audit),
            ["dataset", "method", "gamma", "target", "learner"],
            ["auc"],
            level=LEVEL,
        ),
    }


def _without_categories(table: pd.DataFrame) -> pd.DataFrame:
    """Folders' values as text and whole numbers instead of categories."""
    return table.assign(
        dataset=table["dataset"].astype(str).astype(object), fold=table["fold"].astype(int)
    )


def check_dadi(
    *,
    summary: pd.DataFrame,
    means: pd.DataFrame,
    selection: pd.DataFrame,
    least_disparity: pd.DataFrame,
    context: Context,
) -> dict[str, dict[str, Any]]:
    """Count rows, check ranges, search again for the fairest of each family, mix it again.

    Raises:
        DataError: the first check that fails.
    """
    settings = context.settings
    expected = {(d, m, -1.0 if g is None else float(g), f) for d, m, g, f in settings["rows"]}
    keys = summary[["dataset", "method", "gamma", "fold"]].fillna({"gamma": -1.0})
    present = set(keys.itertuples(index=False, name=None))
    if present != expected or len(summary) != len(expected):
        lost = sorted(expected - present) or sorted(present - expected)
        raise DataError(f"the dadi summary lacks or adds {len(lost)} rows, first {lost[:1]}")
    disparities = ["disparity", "equal_opportunity_gap", "equalised_odds_gap"]
    checks = {
        "an AUC is a share": summary["auc"].between(0, 1),
        "an AUC lies in its interval": summary["auc"].between(
            summary["auc_low"] - 1e-9, summary["auc_high"] + 1e-9
        ),
        "a gap is a share": ((summary[disparities] >= 0) & (summary[disparities] <= 1))
        | summary[disparities].isna(),
        "costs and numbers of features are not below zero": (summary["cost"] >= 0)
        & (summary["features_acquired"] >= 0),
        "a frequency is a share": selection["frequency"].between(0, 1),
        "each data set has a front, or decisions that are nearly all the same": (
            means["on_front"] | means["degenerate"]
        )
        .groupby(means["dataset"])
        .any(),
        "no degenerate decisions are on a front": ~(means["on_front"] & means["degenerate"]),
        "no solution of a family is as accurate as asked and fairer than the one that is named": (
            _none_is_fairer(means, least_disparity, settings)
        ),
        "a coin is the one that the means give": (
            _coins_are_between(means, least_disparity, settings)
        ),
    }
    for property_, holds in checks.items():
        if not np.all(holds):
            raise DataError(f"dadi: it does not hold that {property_}")
    return {"checks": {"rows": len(summary), "passed": list(checks)}}


def _families(
    means: pd.DataFrame, least: pd.DataFrame, settings: Mapping[str, Any]
) -> Iterator[tuple[pd.Series, pd.DataFrame, pd.Series]]:
    """Each row of the table, with the means of its family's solutions and of the reference."""
    family = means["method"].map(dict(settings["families"]))
    for _, row in least.iterrows():
        of_dataset = means["dataset"] == row["dataset"]
        of_family = means[of_dataset & (family == row["family"]) & ~means["degenerate"]]
        of_family = of_family.dropna(subset=["auc", "disparity"])
        yield row, of_family, means[of_dataset & (means["method"] == settings["reference"])].iloc[0]


def _none_is_fairer(
    means: pd.DataFrame, least: pd.DataFrame, settings: Mapping[str, Any]
) -> list[bool]:
    """Of each data set and family: whether the table of means knows no better answer."""
    agree = []
    for row, solutions, full in _families(means, least, settings):
        best = solutions.loc[
            solutions["auc"] >= full["auc"] - settings["auc_slack"], "disparity"
        ].min()
        agree.append(bool(np.isclose(best, row["disparity"], atol=1e-9, equal_nan=True)))
    return agree


def _coins_are_between(
    means: pd.DataFrame, least: pd.DataFrame, settings: Mapping[str, Any]
) -> list[bool]:
    """Of each data set and family: whether the table of means gives the same mixture, or none."""
    agree = []
    for row, solutions, full in _families(means, least, settings):
        required = full["auc"] - settings["auc_slack"]
        unbeaten = [not _beaten(solution, solutions) for _, solution in solutions.iterrows()]
        front = solutions[np.array(unbeaten, dtype=bool)]
        below, above = front[front["auc"] < required], front[front["auc"] >= required]
        if below.empty or above.empty:
            agree.append(bool(pd.isna(row["coin_share"])))
            continue
        other, side = below.loc[below["auc"].idxmax()], above.loc[above["auc"].idxmin()]
        same = _are(row["coin_method"], row["coin_gamma"], solutions, side)
        same &= _are(row["coin_other_method"], row["coin_other_gamma"], solutions, other)
        share = (required - other["auc"]) / (side["auc"] - other["auc"])
        line = share * side["disparity"] + (1 - share) * other["disparity"]
        numbers = row[["coin_share", "coin_disparity", "coin_cut"]].to_numpy(dtype=float)
        near = np.allclose(numbers, [share, line, full["disparity"] - line], rtol=0, atol=1e-9)
        agree.append(same and near)
    return agree


def _are(method: Any, gamma: float, solutions: pd.DataFrame, solution: pd.Series) -> bool:
    """Whether the solution named is this one, or another with the same accuracy and fairness."""
    at_gamma = solutions["gamma"].isna() if np.isnan(gamma) else solutions["gamma"] == gamma
    named = solutions[(solutions["method"] == method) & at_gamma]
    measures = ["auc", "disparity"]
    return len(named) == 1 and bool((named[measures].iloc[0] == solution[measures]).all())


def _beaten(solution: pd.Series, others: pd.DataFrame) -> bool:
    """Whether a solution is as accurate and as fair, and better in one of the two."""
    auc, disparity = others["auc"], others["disparity"]
    no_worse = (auc >= solution["auc"]) & (disparity <= solution["disparity"])
    return bool((no_worse & ((auc > solution["auc"]) | (disparity < solution["disparity"]))).any())


def write_dadi_answer(
    *,
    summary: pd.DataFrame,
    means: pd.DataFrame,
    least_disparity: pd.DataFrame,
    catalogue: Mapping[str, Any],
    picture: Path,
    context: Context,
) -> dict[str, Any]:
    """The agent of one data set, by a rule written down beforehand, next to all other methods.

    The rule: of the agents whose AUC is at most `auc_slack` below that of the reference the one of
    least disparity; where there is none, the one of highest AUC. An agent that decides nearly all
    the same is taken only where all do, and is then called no answer. The bundle is made of the
    first fold that is run.

    Settings: `reference` (a method), `auc_slack`, `threshold`, `reading` (words → file or command).

    Returns:
        `choice` (γ, fold, position and threshold of the agent), `sentence`, `page`.
    """
    dataset = context.streams.wildcards["dataset"]
    summary, means, least = (
        table[table["dataset"].astype(str) == dataset].reset_index(drop=True)
        for table in (summary, means, least_disparity)
    )
    chosen, near = _chosen(means, least)
    unit = str(catalogue["report"]["cost_unit"])
    reference = means[means["method"] == context.settings["reference"]].iloc[0]
    answer = AnswerText(
        title=str(catalogue["report"]["title"]),
        heading=f"Results of each way of acquiring (cost in {unit} a case)",
        sentence=_sentence(chosen, near, reference, context.settings["auc_slack"], unit),
        curve=_curve(summary, means, chosen),
        further=_further(summary, means, catalogue, context.settings["threshold"]),
        reading=context.settings["reading"],
    )
    image = base64.b64encode(picture.read_bytes()).decode()
    image = f"<img alt='{escape(answer.heading)}' src='data:image/png;base64,{image}'>"
    page = answer.page([Drawing(answer.heading, image)])
    return {
        "choice": _document(chosen, summary),
        "sentence": answer.text().encode(),
        "page": page.encode(),
    }


def _chosen(means: pd.DataFrame, least: pd.DataFrame) -> tuple[pd.Series, bool]:
    """The agent's row of the means, and whether it is near enough to all panels."""
    agents = means[means["method"] == "dadi"]
    agents = agents if agents["degenerate"].all() else agents[~agents["degenerate"]]
    gamma = float(least.loc[least["family"] == "dadi", "gamma"].iloc[0])
    near = agents[agents["gamma"] == gamma]
    if len(near):
        return near.iloc[0], True
    return agents.iloc[int(agents["auc"].fillna(0.0).to_numpy().argmax())], False


def _sentence(chosen: pd.Series, near: bool, reference: pd.Series, slack: float, unit: str) -> str:
    """The answer in words."""
    name = f"the agent of γ = {chosen['gamma']:g}"
    if chosen["degenerate"]:
        return (
            "No answer: every agent gives nearly all cases the same decision, so that its "
            f"disparity is uninformative; {name} has AUC {chosen['auc']:.3f}."
        )
    numbers = (
        f"AUC {chosen['auc']:.3f} instead of {reference['auc']:.3f} with all panels, "
        f"{chosen['cost']:.3g} instead of {reference['cost']:.3g} {unit} a case"
    )
    disparity = f"disparity {chosen['disparity']:.3f}"
    if reference["degenerate"]:
        return f"Ask by {name}: {disparity}, {numbers}, which give nearly all the same decision."
    disparity += f" instead of {reference['disparity']:.3f}"
    if not near:
        return (
            f"No agent of DADI comes within {slack:g} of the AUC of all panels. The most accurate "
            f"is {name}: {disparity}, {numbers}."
        )
    if chosen["disparity"] >= reference["disparity"]:
        return (
            f"No agent of DADI is fairer than all panels at nearly their AUC. Nearest is {name}: "
            f"{disparity}, {numbers}."
        )
    return f"Ask by {name}: {disparity}, {numbers}."


def _curve(summary: pd.DataFrame, means: pd.DataFrame, chosen: pd.Series) -> pd.DataFrame:
    """A row per method, agents by γ first."""
    rows = []
    for _, row in means.sort_values("gamma", kind="stable").iterrows():
        agent = row["method"] == "dadi"
        is_chosen = agent and row["gamma"] == chosen["gamma"]
        note = (
            "gives nearly all the same decision"
            if row["degenerate"]
            else "← this one"
            if is_chosen
            else ""
        )
        low, high = _ends(summary, row)
        disparities = ["–"] * 3 if row["degenerate"] else [row["disparity"], low, high]
        rows.append(
            [
                f"γ = {row['gamma']:g}" if agent else str(row["method"]),
                row["auc"],
                *disparities,
                row["positive_share"],
                row["cost"],
                note,
            ]
        )
    names = ["asked by", "AUC", "disparity", "from", "to", "share positive", "cost", ""]
    return pd.DataFrame(rows, columns=names)


def _ends(summary: pd.DataFrame, row: pd.Series) -> tuple[float, float]:
    """Ends of the disparity: over folds, of two folds their range, of one over its rows."""
    if row["folds"] == 1:
        same = (summary["method"] == row["method"]) & (
            summary["gamma"].eq(row["gamma"]) | summary["gamma"].isna()
        )
        row = summary[same].iloc[0]
    low, high = ("least", "most") if row.get("folds") == 2 else ("low", "high")
    return float(row[f"disparity_{low}"]), float(row[f"disparity_{high}"])


def _further(
    summary: pd.DataFrame,
    means: pd.DataFrame,
    catalogue: Mapping[str, Any],
    threshold: float | int | str,
) -> list[str]:
    """Notes on decisions, intervals, and uninformative disparities."""
    folds = int(means["folds"].max())
    rows = int(summary.groupby("fold")["n"].first().sum())
    positive, shares = catalogue["classes"][1], catalogue["report"].get("group_share") or {}
    few = small_groups({name: share * rows for name, share in shares.items()})
    cut = (
        f"The probability from which {positive!r} is decided is chosen on validation rows, so that "
        "as many are decided so as have that label"
        if threshold == LABEL_SHARE
        else f"{positive!r} is decided from a probability of {threshold:g} on"
    )
    spread = {1: "a 95 % interval over rows", 2: "the range of the folds"}
    notes = [
        f"{cut}; disparity is the difference between the groups' shares of {positive!r}.{few}",
        f"{rows} test rows in {folds} fold{'s'[: folds > 1]}; from and to are "
        f"{spread.get(folds, '95 % intervals over folds')}.",
        "Agents are chosen and evaluated on the same rows: the best of several looks a little "
        "fairer than it is.",
    ]
    if n_degenerate := int(means["degenerate"].sum()):
        notes.insert(
            0,
            f"{n_degenerate} of {len(means)} methods give nearly all cases the same decision: "
            "their groups get the same decision by any panels, which is no fairness.",
        )
    return notes


def _document(chosen: pd.Series, summary: pd.DataFrame) -> dict[str, Any]:
    """Which member of which fold's agents is meant, and its threshold."""
    agents = summary[summary["method"] == "dadi"]
    first_agent = agents[agents["gamma"] == chosen["gamma"]].sort_values("fold").iloc[0]
    of_fold = agents[agents["fold"] == first_agent["fold"]]["gamma"].tolist()
    return {
        "gamma": float(first_agent["gamma"]),
        "fold": int(first_agent["fold"]),
        "member": of_fold.index(first_agent["gamma"]),
        "threshold": float(first_agent["decision_threshold"]),
    }


def show_dadi_cases(
    *,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    decisions: pd.DataFrame,
    outcomes: pd.DataFrame,
    context: Context,
) -> dict[str, Any]:
    """Test people of the fold, under the agent of every γ.

    Settings: `units` (how many), `fold`.
    """
    data, _ = table_from_frames(table, catalogue)
    ends = outcomes[outcomes["part"] == "test"]
    first = ends[ends["member"] == ends["member"].min()]
    chosen = spread_units(
        first["row_id"].to_numpy(), first["label"].to_numpy(), int(context.settings["units"])
    )
    ends, logs = ends[ends["row_id"].isin(chosen)], decisions[decisions["row_id"].isin(chosen)]
    courses = [
        Course(
            f"γ = {gamma:g}",
            _why(gamma),
            logs[logs["member"] == member],
            rows.assign(probability=rows.get("label_probability", rows["probability"])),
        )
        for (member, gamma), rows in ends.groupby(["member", "gamma"], sort=True)
    ]
    units = {column["name"]: column["unit"] or "" for column in catalogue["columns"]}
    report = catalogue["report"]
    return {
        "cases": {
            "kind": "cases",
            "study": "dadi",
            "title": report["title"],
            "scope": {
                "dataset": context.streams.wildcards["dataset"],
                "fold": str(context.settings["fold"]),
            },
            "cost_unit": report["cost_unit"],
            "logs": {"input": "decisions", "key": "fold"},
            "patients": patients(data, units, courses, chosen),
        }
    }


def _why(gamma: object) -> str:
    """Name of an agent of that γ."""
    return (
        f"With γ = {gamma:g} it weighs the information of a panel of the label against what it "
        "tells of the group."
    )
