"""Stage `train_fair_agent`: an agent of another kind than `dadi`, on the same fold.

It knows nothing of the adversary: what it collects is audited as DADI's choice is.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from frugal.acquire.kinds import Ground
from frugal.acquire.registry import train_bundle
from frugal.core.streams import Streams
from frugal.studies.dadi.frames import fold_of
from frugal.studies.shared.stages.fit_classifier import classifier_of


def train_fair_agent(
    *,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, Any]:
    """The agent, trained on the training rows of a fold, and the classifier that it may ask.

    Settings: `design` of the folds; `agent`, its block; `error_weight` of the costs of errors that
    it learns for; `classifier`, for agents that only stop.
    """
    fold = fold_of(table, catalogue, settings["design"], streams)
    rows = fold.rows("train")
    data = fold.shown.take(rows)
    errors = settings["error_weight"] * data.misclassification_cost
    data = replace(data, misclassification_cost=errors)
    classifier = classifier_of(data, settings["classifier"], streams)
    recorded = np.ones((len(data), len(data.actions)), dtype=bool)
    ground = Ground(data, recorded, fold.sensitive[rows], classifier, streams, progress)
    policy, _ = train_bundle(settings["agent"], ground)
    return {"policy": policy, "classifier": classifier.to_arrays()}
