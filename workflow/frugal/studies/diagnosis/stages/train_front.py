"""Stage `train_front`: a group of policies of a front, in lock-step [diagnosis, alg. 1]."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.acquire.policies.sm_ddpo import ACTOR, ENCODER, front_settings
from frugal.acquire.train.sm_ddpo import fit_sm_ddpo
from frugal.core.layout import Bundle, Layout, bundle_header, rows_digest
from frugal.core.streams import Streams
from frugal.data.availability import available_panels
from frugal.studies.diagnosis.frames import divided, rows_of
from frugal.studies.diagnosis.states import (
    PARTS,
    require_encoder,
    rewards_of,
    scaled_task,
    states_of,
    training_settings,
)


def train_front(
    *,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    encoder: Mapping[str, np.ndarray],
    states: Mapping[str, np.ndarray],
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, Any]:
    """Train on part `agent`; part `validation` chooses the weights of each policy and ends it.

    A boosted classifier learns from the part `encoder`, too.

    Part `test` is watched for the curves of Figure 5 and decides nothing.
    """
    del progress
    data, part = divided(table, catalogue, streams)
    task, unit = scaled_task(data)
    require_encoder(states, encoder, "input 'encoder'")
    kept = states_of(states, data, part)
    units = {name: (task.take(rows_of(part, name)), kept[name]) for name in PARTS}
    pairs = settings["pairs"]
    result = fit_sm_ddpo(
        units["agent"][0],
        units["agent"][1],
        units["validation"],
        reward=rewards_of(pairs),
        settings=training_settings(settings["training"], settings["criterion"]),
        rng=streams.generator("train"),
        watched={"test": units["test"]},
        also=task.take(rows_of(part, "encoder")),
    )
    learner = result.curves["learner"].to_numpy()
    numbers = np.array([pair[0] for pair in pairs], dtype=np.int64)
    curves = result.curves.drop(columns="learner").assign(
        cost=result.curves["cost"] * unit,
        kept=result.curves["iteration"].to_numpy() == result.best_iteration[learner],
    )
    curves.insert(0, "pair", numbers[learner])
    arrays = {ACTOR + name: array for name, array in result.weights.items()}
    arrays |= {ENCODER + name: array for name, array in encoder.items()}
    rows = data.take(rows_of(part, "agent"))
    header = bundle_header(
        "sm_ddpo",
        front_settings(settings["training"]),
        Layout.of(data),
        rows_digest(rows, rows.values, available_panels(rows)),
    )
    return {"policies": Bundle(header, arrays), "curves": curves}
