"""Stages of the choice: a budget in, a policy out, and its bundle."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from frugal.acquire.bundles import bundle_payloads
from frugal.core.context import Context
from frugal.core.errors import ConfigError, DataError
from frugal.core.stored import StoredArrays
from frugal.core.streams import Streams
from frugal.data.case_document import TableColumns
from frugal.data.description import load_description
from frugal.judge.intervals import share_interval
from frugal.results.files import all_digits
from frugal.studies.diagnosis.choice import Candidate, candidates, compared, leading, solution_rows
from frugal.studies.diagnosis.frames import SOLUTION, divided
from frugal.studies.diagnosis.scores import SCORES, score_intervals

NEEDED = ("budget", "score", "cost_unit", "positive")
LEVEL = 0.95
_WORDS = {"f1": "F1", "am": "AM"}


def choose_policy(
    *,
    scores: pd.DataFrame,
    outcomes: pd.DataFrame,
    context: Context,
    pooled: pd.DataFrame | None = None,
) -> dict[str, Any]:
    """Choose by a rule written down beforehand, report test units [diagnosis, sec. 6.4].

    The policy is the best within the budget of all families, or of one, by the rule of
    `studies.diagnosis.choice`; its expected score is estimated on test units, which had no
    part in the choice [diagnosis, sec. 6.4].

    Settings: `budget` (the most that a unit may cost on average), `score` (f1 or am), `resamples`,
    `cost_unit`, `positive` (name of the class that F1 counts); and, where the answer shall name
    them, `policies` (family → pair → file and its position).

    Raises:
        ConfigError: nothing fits the budget, or a setting is lacking.
    """
    settings, streams = context.settings, context.streams
    if lacking := [key for key in (*NEEDED, "resamples") if key not in settings]:
        raise ConfigError(f"choose_policy needs the setting {lacking[0]!r}")
    scores, outcomes = (_with_family(frame, streams) for frame in (scores, outcomes))
    pooled_rows = None if pooled is None else _with_family(pooled, streams)
    score = settings["score"]
    of_families = candidates(scores, pooled_rows, budget=float(settings["budget"]), score=score)
    at = leading(of_families, outcomes, score=score)
    table = compared(of_families, at, outcomes, score=score, rng=streams.generator("compared"))
    choice = _answer(of_families[at].row, scores, outcomes, settings, streams)
    family = of_families[at].family
    choice["family"] = family
    choice["policy"] = settings.get("policies", {}).get(family, {}).get(str(choice["pair"]))
    choice["chosen_by"] |= {
        "pooled": None if np.isnan(of_families[at].pooled) else of_families[at].pooled,
        "units_of_choice": of_families[at].units,
    }
    choice["families"] = [
        {name: _json_value(value) for name, value in row.items()}
        for row in table.to_dict("records")
    ]
    choice["without_panels"] = _without_panels(of_families[at], scores, outcomes, settings, streams)
    sentence = _sentence(choice, table, at)
    return {"choice": choice | {"sentence": sentence}, "sentence": (sentence + "\n").encode()}


def _with_family(frame: pd.DataFrame, streams: Streams) -> pd.DataFrame:
    """The frame with the name of the family in each row; a single file does not name it."""
    if "family" not in frame:
        frame = frame.assign(family=streams.wildcards.get("family", ""))
    texts = [name for name in ("family", "method", "policy") if name in frame]
    return frame.astype(dict.fromkeys(texts, "str"))


def _answer(
    chosen: pd.Series,
    scores: pd.DataFrame,
    outcomes: pd.DataFrame,
    settings: Mapping[str, Any],
    streams: Streams,
) -> dict[str, Any]:
    """The chosen solution, and its scores on test units."""
    expected, label = _expected(chosen, scores, outcomes, settings, streams.generator("resamples"))
    hits, units = int(label.sum()), len(label)
    ends = share_interval(hits, units, level=LEVEL)
    value, low, high = (2 * p / (1 + p) for p in (hits / units, *ends))
    return {name: _json_value(chosen[name]) for name in SOLUTION} | {
        "budget": settings["budget"],
        "cost_unit": settings["cost_unit"],
        "chosen_by": {
            "validation": settings["score"],
            "value": _json_value(chosen[settings["score"]]),
            "cost": _json_value(chosen["cost"]),
            "units": int(chosen["n"]),
        },
        "expected_on_test": expected | {"units": len(label), "level": LEVEL},
        "positive": {"class": settings["positive"], "units": int(label.sum())},
        "positive_for_all": {"value": value, "low": low, "high": high},
    }


def _expected(
    chosen: pd.Series,
    scores: pd.DataFrame,
    outcomes: pd.DataFrame,
    settings: Mapping[str, Any],
    rng: np.random.Generator,
) -> tuple[dict[str, dict[str, Any]], np.ndarray]:
    """Each score of a solution on test units with its interval, and the units' labels."""
    mine = scores[(scores["family"] == chosen["family"]) & _is(scores, chosen)]
    of_family = outcomes[outcomes["family"] == chosen["family"]]
    rows = solution_rows(of_family, str(chosen["method"]), int(chosen["pair"]), "test")
    scored = mine[mine["split"] == "test"].iloc[0]
    label = rows["label"].to_numpy(np.int64)
    intervals = score_intervals(
        label,
        rows["verdict"].to_numpy(np.int64),
        rows["probability"].to_numpy(),
        rows["acquisition_cost"].to_numpy(),
        resamples=settings["resamples"],
        level=LEVEL,
        rng=rng,
    ).set_index("score")
    return {
        name: {
            "value": _json_value(scored[name]),
            "low": _json_value(intervals.at[name, "low"]),
            "high": _json_value(intervals.at[name, "high"]),
        }
        for name in SCORES
    }, label


def _without_panels(
    chosen: Candidate,
    scores: pd.DataFrame,
    outcomes: pd.DataFrame,
    settings: Mapping[str, Any],
    streams: Streams,
) -> list[dict[str, Any]]:
    """Solutions that buy nothing, the best of each method on validation units, the best first.

    Each with its scores on test units, and with its difference from the chosen one there, with
    an interval.
    """
    score = settings["score"]
    free = scores[(scores["split"] == "validation") & (scores["cost"] == 0)]
    best = free[free[score].notna()].sort_values(score, ascending=False, kind="stable")
    solutions = []
    for _, row in best.drop_duplicates(["family", "method"]).iterrows():
        other = Candidate(str(row["family"]), row, np.nan, int(row["n"]))
        rng = streams.generator("without_panels", str(row["method"]))
        expected, _ = _expected(row, scores, outcomes, settings, rng)
        pair = compared([chosen, other], 0, outcomes, score=score, rng=rng).iloc[1]
        less = {name: _json_value(pair[name]) for name in ("less", "less_low", "less_high")}
        same = other.key == chosen.key
        solutions.append(
            {name: _json_value(row[name]) for name in ("family", *SOLUTION)}
            | {"expected_on_test": expected}
            | (dict.fromkeys(less) if same else less)
        )
    return solutions


def _is(frame: pd.DataFrame, solution: pd.Series) -> pd.Series:
    return (frame["method"] == solution["method"]) & (frame["pair"] == solution["pair"])


def _json_value(value: Any) -> Any:
    """A number or text of a table as JSON can hold it; None for NaN."""
    if isinstance(value, str | bool | np.bool_):
        return bool(value) if not isinstance(value, str) else value
    number = float(value)
    if not np.isfinite(number):
        return None
    return (
        int(number)
        if float(number).is_integer() and isinstance(value, int | np.integer)
        else number
    )


def _sentence(choice: Mapping[str, Any], table: pd.DataFrame, at: int) -> str:
    """The answer in words."""
    expected, name = choice["expected_on_test"], _WORDS[choice["chosen_by"]["validation"]]

    def with_interval(key: str) -> str:
        value, low, high = (expected[key][part] for part in ("value", "low", "high"))
        if value is None or low is None:
            return f"{key} not defined"
        return (
            f"{key.upper() if key in ('f1', 'am') else key} {value:.3f} ({low:.3f} to {high:.3f})"
        )

    which = f"policy {choice['pair']} of {choice['method']}"
    if choice["lambda"] is not None:
        which += f" (λ = {choice['lambda']:g}, ρ = {choice['rho']:g})"
    if choice["setting"] and choice["family"] == choice["method"]:
        which += f": {choice['setting']}"
    cost = expected["cost"]
    words = [
        f"Within {all_digits(choice['budget'])} {choice['cost_unit']}: {which}.",
        f"Positive is {choice['positive']['class']!r} ({choice['positive']['units']} of "
        f"{expected['units']} test units). Expected: {with_interval('f1')}, "
        f"{with_interval('sensitivity')}, {with_interval('specificity')}, at a mean cost of "
        f"{cost['value']:.4g} ({cost['low']:.4g} to {cost['high']:.4g}); "
        f"{expected['units']} test units, {100 * LEVEL:.0f} % intervals.",
    ]
    if choice["without_panels"]:
        words.append(_free_words(choice["without_panels"][0], name))
    if len(table) > 1:
        row, others = table.iloc[at], table.drop(index=at)
        not_worse = others[others["not_worse"]]["family"].tolist()
        words.append(
            f"Chosen among {len(table)} families before test units were looked at; for whichever "
            f"had been chosen {name} lies between {row['low']:.3f} and {row['high']:.3f}."
        )
        if not row["not_worse"]:
            best = table.iloc[int(table["test"].to_numpy().argmax())]["family"]
            words.append(f"On test units {best} is better by more than chance.")
        elif not_worse:
            words.append(f"Not significantly different: {', '.join(not_worse)}.")
        else:
            words.append("All others are worse by more than chance.")
    return " ".join(words)


def _free_words(free: Mapping[str, Any], name: str) -> str:
    """Score of the best solution of price 0, and by how much the chosen one is better."""
    reached = free["expected_on_test"][name.lower()]
    reads = f" ({free['setting']})" if free["setting"] else ""
    sentence = (
        f"At price 0 {free['method']}{reads} reaches {name} "
        f"{reached['value']:.3f} ({reached['low']:.3f} to {reached['high']:.3f})"
    )
    if free["less"] is None:
        return f"{sentence}: the chosen policy itself."
    low, high = free["less_low"], free["less_high"]
    return f"{sentence}, {free['less']:.3f} ({low:.3f} to {high:.3f}) less than the chosen policy."


def bundle_choice(
    *,
    choice: Mapping[str, Any],
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    description: Path,
    context: Context,
    **policies: StoredArrays,
) -> dict[str, Any]:
    """The files of a bundle: `policy` and `cases`; see `acquire.bundles`.

    `policies` are the files of all families that may have been chosen.

    A policy of a front is one member of its file; the bundle keeps the file and names the member.

    Raises:
        DataError: the chosen solution keeps no policy, or its file is not among the inputs.
    """
    place = choice["policy"]
    if place is None:
        raise DataError(
            f"the budget led to a solution of the family {choice['family']!r}, which keeps no "
            "policy to use; choose among fronts and trees (diagnosis.choose.method)"
        )
    stored = next((policy for policy in policies.values() if policy.source == place["file"]), None)
    if stored is None:
        raise DataError(
            f"the chosen policy lies in {place['file']}, which is not among the inputs "
            f"{', '.join(policy.source for policy in policies.values()) or 'none'}"
        )
    data, part = divided(table, catalogue, context.streams)
    return bundle_payloads(
        settings=context.settings,
        policy=stored,
        table=TableColumns.of(data, part),
        catalogue=catalogue,
        description=load_description(description),
        classifier=None,  # that of a policy that only stops lies in its file
        streams=Streams(context.streams.root, "roll_out_front", dict(context.streams.wildcards)),
        member=int(place["position"]),
    )
