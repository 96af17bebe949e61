"""Small tables as the figures of the treatment study take them."""

import numpy as np
import pandas as pd


def means_frame(facets: list[str], series: list[str], thresholds: list[float]) -> pd.DataFrame:
    """Means with spread, one row per facet, series and threshold; sizes 50 … beside them."""
    rng = np.random.default_rng(0)
    rows = [
        {
            "facet": facet,
            "series": name,
            "threshold": threshold,
            "n_train": 50 * 10**k,
            "efficacy": 1 - 0.2 * threshold - 0.01 * i,
            "efficacy_se": 0.01,
            "efficacy_variance": 0.0025,
            "mean_trials": 2.5 - threshold + 0.1 * rng.random(),
            "mean_trials_se": 0.05,
            "mean_trials_variance": 0.04,
            "repeats": 5,
            "parameter": "δ",
        }
        for facet in facets
        for i, name in enumerate(series)
        for k, threshold in enumerate(thresholds)
    ]
    return pd.DataFrame(rows)


def curve_frame(planners: list[str], trials: int) -> pd.DataFrame:
    """Best outcome by trials; of the records the first trial only."""
    rows = [
        {"series": p, "trials": t, "outcome": 1 + 0.1 * t, "outcome_se": 0.02, "repeats": 5}
        for p in planners
        for t in range(1, trials + 1)
        if p != "observed" or t == 1
    ]
    return pd.DataFrame(rows)


def full_policy(actions: list[str], results: list[str], depth: int) -> pd.DataFrame:
    """A policy that tries the actions in order and stops after so many trials."""
    rows, histories = [], [()]
    while histories:
        history, *histories = histories
        done = len(history) == depth
        best = max((results.index(y) for _, y in history), default=-1)
        rows.append(
            {
                "context": "all",
                "history": ", ".join(f"{a}: {y}" for a, y in sorted(history)),
                "trials": len(history),
                "best": results[best] if history else "",
                "next": "stop" if done else actions[len(history)],
                "better_untried": 0.25,
            }
        )
        if not done:
            histories += [(*history, (actions[len(history)], y)) for y in results[:-1]]
    return pd.DataFrame(rows)
