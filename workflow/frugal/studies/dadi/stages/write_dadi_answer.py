"""Stage `write_dadi_answer`: which agent to ask by, as a text, as one page, and as a document."""

import base64
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from frugal.core.streams import Streams
from frugal.draw.answers import Answer
from frugal.studies.dadi.spec import LABEL_SHARE


def write_dadi_answer(
    *,
    summary: pd.DataFrame,
    means: pd.DataFrame,
    least_disparity: pd.DataFrame,
    catalogue: Mapping[str, Any],
    picture: Path,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, Any]:
    """The agent of one data set, by a rule written down beforehand, beside all other methods.

    The rule: of the agents whose AUC is at most `auc_slack` below that of the reference the one of
    least disparity; where there is none, the one of highest AUC. An agent that decides nearly all
    alike is taken only where all do, and is then called no answer. The bundle is made of the first
    fold that is run.

    Settings: `reference` (a method), `auc_slack`, `threshold`, `reading` (words → file or command).

    Returns:
        `choice` (γ, fold, position and threshold of the agent), `sentence`, `page`.
    """
    del progress
    dataset = streams.wildcards["dataset"]
    summary, means, least = (
        table[table["dataset"].astype(str) == dataset].reset_index(drop=True)
        for table in (summary, means, least_disparity)
    )
    chosen, near = _chosen(means, least)
    unit = str(catalogue["report"]["cost_unit"])
    reference = means[means["method"] == settings["reference"]].iloc[0]
    told = Answer(
        title=str(catalogue["report"]["title"]),
        heading=f"What each way of asking reaches (cost in {unit} a case)",
        sentence=_sentence(chosen, near, reference, settings["auc_slack"], unit),
        curve=_curve(summary, means, chosen),
        further=_further(summary, means, catalogue["classes"][1], settings["threshold"]),
        reading=settings["reading"],
    )
    image = base64.b64encode(picture.read_bytes()).decode()
    page = told.page(f"data:image/png;base64,{image}")
    return {
        "choice": _document(chosen, summary),
        "sentence": told.text().encode(),
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
            "No answer: every agent decides nearly all cases alike, so that its disparity says "
            f"nothing; {name} has AUC {chosen['auc']:.3f}."
        )
    numbers = (
        f"AUC {chosen['auc']:.3f} instead of {reference['auc']:.3f} with all panels, "
        f"{chosen['cost']:.3g} instead of {reference['cost']:.3g} {unit} a case"
    )
    gap = f"disparity {chosen['disparity']:.3f}"
    if reference["degenerate"]:
        return f"Ask by {name}: {gap}, {numbers}, which decide nearly all alike."
    gap += f" instead of {reference['disparity']:.3f}"
    if not near:
        return (
            f"No agent of DADI comes within {slack:g} of the AUC of all panels. The most accurate "
            f"is {name}: {gap}, {numbers}."
        )
    if chosen["disparity"] >= reference["disparity"]:
        return (
            f"No agent of DADI is fairer than all panels at nearly their AUC. Nearest is {name}: "
            f"{gap}, {numbers}."
        )
    return f"Ask by {name}: {gap}, {numbers}."


def _curve(summary: pd.DataFrame, means: pd.DataFrame, chosen: pd.Series) -> pd.DataFrame:
    """A row per method, agents by γ first."""
    rows = []
    for _, row in means.sort_values("gamma", kind="stable").iterrows():
        agent = row["method"] == "dadi"
        taken = agent and row["gamma"] == chosen["gamma"]
        note = "decides nearly all alike" if row["degenerate"] else "← this one" if taken else ""
        low, high = _ends(summary, row)
        gaps = ["–"] * 3 if row["degenerate"] else [row["disparity"], low, high]
        rows.append(
            [f"γ = {row['gamma']:g}" if agent else str(row["method"]), row["auc"], *gaps,
             row["positive_share"], row["cost"], note]
        )  # fmt: skip
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
    summary: pd.DataFrame, means: pd.DataFrame, positive: str, threshold: float | int | str
) -> list[str]:
    """How decisions are made, what the intervals are, and whose disparity says nothing."""
    folds = int(means["folds"].max())
    rows = int(summary.groupby("fold")["n"].first().sum())
    cut = (
        f"The probability from which {positive!r} is decided is chosen on validation rows, so that "
        "as many are decided so as have that label"
        if threshold == LABEL_SHARE
        else f"{positive!r} is decided from a probability of {threshold:g} on"
    )
    spread = {1: "a 95 % interval over rows", 2: "the range of the folds"}
    told = [
        f"{cut}; disparity is the gap between the groups' shares of {positive!r}.",
        f"{rows} test rows in {folds} fold{'s'[: folds > 1]}; from and to are "
        f"{spread.get(folds, '95 % intervals over folds')}.",
        "Agents are chosen and judged on the same rows: the best of several looks a little fairer "
        "than it is.",
    ]
    if alike := int(means["degenerate"].sum()):
        told.insert(
            0,
            f"{alike} of {len(means)} methods decide nearly all cases alike: their groups get the "
            "same decision whatever is asked, which is no fairness.",
        )
    return told


def _document(chosen: pd.Series, summary: pd.DataFrame) -> dict[str, Any]:
    """Which member of which fold's agents is meant, and its threshold."""
    agents = summary[summary["method"] == "dadi"]
    own = agents[agents["gamma"] == chosen["gamma"]].sort_values("fold").iloc[0]
    of_fold = agents[agents["fold"] == own["fold"]]["gamma"].tolist()
    return {
        "gamma": float(own["gamma"]), "fold": int(own["fold"]),
        "member": of_fold.index(own["gamma"]), "threshold": float(own["decision_threshold"]),
    }  # fmt: skip
