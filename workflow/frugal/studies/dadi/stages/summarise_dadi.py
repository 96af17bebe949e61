"""Stage `summarise_dadi`: the study's tables over data sets and folds (dadi, figures 2 and 3)."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from frugal.core.streams import Streams
from frugal.judge.fair_scores import KEYS, MEASURES, least_disparities, over_folds, with_front
from frugal.judge.fairness import LEVEL


def summarise_dadi(
    *,
    scores: pd.DataFrame,
    selection: pd.DataFrame,
    singles: pd.DataFrame,
    audit: pd.DataFrame,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, pd.DataFrame]:
    """One row per data set, method, γ and fold; means over folds with 95 % intervals; and who is
    fairest at nearly the accuracy of the classifier that reads every panel.
    """
    del streams, progress
    first = [*KEYS, *MEASURES[:4]]
    summary = _plain(scores)[first + [c for c in scores.columns if c not in first]]
    by = ["dataset", "method", "gamma"]
    means = over_folds(summary, by, MEASURES, level=LEVEL)
    alike = summary.groupby(by, sort=False, dropna=False)["degenerate"].any()
    means["degenerate"] = alike.to_numpy()
    return {
        "summary": summary,
        "means": with_front(means),
        "least_disparity": least_disparities(
            summary,
            settings["families"],
            reference=settings["reference"],
            auc_slack=settings["auc_slack"],
            level=LEVEL,
        ),
        "selection": over_folds(
            _plain(selection), ["dataset", "gamma", "stratum", "panel"], ["frequency"], level=LEVEL
        ),
        "singles": over_folds(
            _plain(singles), ["dataset", "panel", "network"], ["auc"], level=LEVEL
        ),
        "audit": over_folds(
            _plain(audit), ["dataset", "method", "gamma", "target", "learner"], ["auc"], level=LEVEL
        ),
    }


def _plain(table: pd.DataFrame) -> pd.DataFrame:
    """Folders' values as text and whole numbers instead of categories."""
    return table.assign(
        dataset=table["dataset"].astype(str).astype(object), fold=table["fold"].astype(int)
    )
