"""Stage `train_dadi`: pretraining, then an agent for every γ, on one fold [dadi, app. C]."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.agents.dadi import fit_dadi
from frugal.agents.dadi_checkpoints import iterations_done
from frugal.agents.dadi_settings import DadiSettings
from frugal.contracts import Streams
from frugal.stages._dadi_frames import PRETRAINED, Checkpoint, fold_of


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
    training = DadiSettings.read(settings["training"])
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
    pretrained = {PRETRAINED + name: array for name, array in result.pretrained.items()}
    return {"weights": {**result.weights, **pretrained}, "curves": result.curves}
