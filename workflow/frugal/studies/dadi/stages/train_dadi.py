"""Stage `train_dadi`: pretraining, then an agent for every γ, on one fold [dadi, app. C]."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.acquire.policies.dadi import NETWORKS, agent_settings
from frugal.acquire.train.dadi import fit_dadi
from frugal.acquire.train.dadi_checkpoints import iterations_done
from frugal.config.learners import DadiSettings
from frugal.core.layout import Bundle, Layout, bundle_header, rows_digest
from frugal.core.streams import Streams
from frugal.studies.dadi.frames import PRETRAINED, Checkpoint, Fold, fold_of


def train_dadi(
    *,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
    checkpoint: Checkpoint,
) -> dict[str, Any]:
    """Train all learners of a fold in lock-step; a killed run goes on from its checkpoint."""
    training = DadiSettings.of(settings["training"])
    fold = fold_of(table, catalogue, settings["design"], streams)
    state = checkpoint.load()
    done = iterations_done(state)
    bar = progress(total=training.iterations, initial=done, desc="iterations")
    result = fit_dadi(
        fold.values,
        fold.panel_of_column,
        fold.label,
        fold.sensitive,
        fold.rows("train"),
        fold.rows("validation"),
        panel_cost=fold.shown.action_cost,
        gammas=np.array(settings["gammas"], dtype=np.float64),
        settings=training,
        rng=streams.generator("train"),
        save=checkpoint.save,
        state=state,
        advance=bar.update,
    )
    bar.close()
    own = settings["training"]
    header = bundle_header(
        "dadi",
        agent_settings(own, settings["gammas"], settings["design"]["validation_share"]),
        Layout.of(fold.shown),
        _digest(fold),
    )
    arrays = {NETWORKS + name: array for name, array in result.weights.items()}
    arrays |= {PRETRAINED + name: array for name, array in result.pretrained.items()}
    arrays |= {"centre": fold.scaling.centre, "scale": fold.scaling.scale}
    return {"weights": Bundle(header, arrays), "curves": result.curves}


def _digest(fold: Fold) -> str:
    rows = fold.shown.take(fold.rows("train"))
    return rows_digest(rows, rows.values, np.ones((len(rows), len(rows.actions)), dtype=bool))
