"""Stage `choose_policy`: given a budget, the policy of a front that fits it, and what to expect.

The policy is the best within the budget on validation units; what it is expected to reach is told
from test units, which had no part in the choice [diagnosis, sec. 6.4].
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.errors import ConfigError, DataError
from frugal.core.streams import Streams
from frugal.judge.diagnosis import SCORES, score_intervals
from frugal.judge.fronts import policy_for_budget
from frugal.studies.diagnosis.frames import SOLUTION

NEEDED = ("budget", "score", "cost_unit")
LEVEL = 0.95


def choose_policy(
    *,
    scores: pd.DataFrame,
    outcomes: pd.DataFrame,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, Any]:
    """Choose on validation units, report test units with intervals [diagnosis, sec. 6.4].

    Settings: `budget` (the most that a unit may cost on average), `score` (f1 or am), `resamples`,
    `cost_unit`; and, where the answer shall name them, `policies` (pair → file and its position).

    Raises:
        ConfigError: nothing fits the budget, or a setting is lacking.
    """
    del progress
    if lacking := [key for key in (*NEEDED, "resamples") if key not in settings]:
        raise ConfigError(f"choose_policy needs the setting {lacking[0]!r}")
    chosen = chosen_solution(scores, budget=float(settings["budget"]), score=settings["score"])
    rows = solution_rows(outcomes, str(chosen["method"]), int(chosen["pair"]), "test")
    found = scores[_is(scores, chosen) & (scores["split"] == "test")].iloc[0]
    intervals = score_intervals(
        rows["label"].to_numpy(np.int64), rows["verdict"].to_numpy(np.int64),
        rows["probability"].to_numpy(), rows["acquisition_cost"].to_numpy(),
        resamples=settings["resamples"], level=LEVEL, rng=streams.generator("resamples"),
    ).set_index("score")  # fmt: skip
    expected = {
        name: {"value": _plain(found[name]), "low": _plain(intervals.at[name, "low"]),
               "high": _plain(intervals.at[name, "high"])}
        for name in SCORES
    }  # fmt: skip
    choice = {name: _plain(chosen[name]) for name in SOLUTION} | {
        "budget": settings["budget"],
        "cost_unit": settings["cost_unit"],
        "chosen_by": {"validation": settings["score"], "value": _plain(chosen[settings["score"]]),
                      "cost": _plain(chosen["cost"]), "units": int(chosen["n"])},
        "expected_on_test": expected | {"units": int(found["n"]), "level": LEVEL},
        "policy": settings.get("policies", {}).get(str(chosen["pair"])),
    }  # fmt: skip
    sentence = _sentence(choice, expected)
    return {"choice": choice | {"sentence": sentence}, "sentence": (sentence + "\n").encode()}


def chosen_solution(scores: pd.DataFrame, *, budget: float, score: str) -> pd.Series:
    """The row of the validation scores that a budget leads to.

    Raises:
        ConfigError: nothing fits the budget, or the score cannot be chosen by.
    """
    if score not in ("f1", "am"):
        raise ConfigError(f"policies are chosen by 'f1' or 'am', not by {score!r}")
    seen = scores[scores["split"] == "validation"].reset_index(drop=True)
    return seen.iloc[policy_for_budget(seen, budget, score=score)]


def solution_rows(frame: pd.DataFrame, method: str, pair: int, split: str) -> pd.DataFrame:
    """The rows of one solution on one part.

    Raises:
        DataError: there are none.
    """
    kept = (frame["member"] == pair) & (frame["part"] == split) & (frame["policy"] == method)
    if not kept.any():
        raise DataError(f"no row has method {method!r}, pair {pair} and split {split!r}")
    return frame[kept].reset_index(drop=True)


def _is(frame: pd.DataFrame, solution: pd.Series) -> pd.Series:
    return (frame["method"] == solution["method"]) & (frame["pair"] == solution["pair"])


def _plain(value: Any) -> Any:
    """A number or text of a table as JSON can hold it; None for NaN."""
    if isinstance(value, str):
        return value
    number = float(value)
    if not np.isfinite(number):
        return None
    return (
        int(number)
        if float(number).is_integer() and isinstance(value, int | np.integer)
        else number
    )


def _sentence(choice: Mapping[str, Any], expected: Mapping[str, Mapping[str, Any]]) -> str:
    """The answer in words."""

    def told(name: str) -> str:
        value, low, high = (expected[name][key] for key in ("value", "low", "high"))
        if value is None or low is None:
            return f"{name} not defined"
        return f"{name} {value:.3f} ({low:.3f} to {high:.3f})"

    which = f"policy {choice['pair']} of {choice['method']}"
    if choice["lambda"] is not None:
        which += f" (λ = {choice['lambda']:g}, ρ = {choice['rho']:g})"
    return (
        f"Within {choice['budget']:g} {choice['cost_unit']}: {which}. Expected: "
        f"{told('f1')}, {told('sensitivity')}, {told('specificity')}, at a mean cost of "
        f"{expected['cost']['value']:.4g} ({expected['cost']['low']:.4g} to "
        f"{expected['cost']['high']:.4g}); {choice['expected_on_test']['units']} test units, "
        f"{100 * LEVEL:.0f} % intervals."
    )
