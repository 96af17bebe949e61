"""Stage `learn_candidates`: policies learned on all folds but one, followed along the last one.

Where `none` is held out they learn on every row and are followed there: these are the policies that
are handed out, and what they do.

All candidates share the models of their sets of panels, so that they differ by what they acquire.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.acquire.kinds import Ground
from frugal.core.layout import Bundle, Layout, bundle_header
from frugal.core.rows import Rows
from frugal.core.streams import Streams
from frugal.data.stored_table import EVERY
from frugal.studies.afape.candidates import (
    IN,
    PRACTICE,
    as_practised,
    follow,
    learn,
    levels,
    stem,
    to_frame,
    within,
)
from frugal.studies.afape.stored import StoredRecords
from frugal.studies.shared.stages.fit_classifier import classifier_of

ALL = "none"  # held out: policies learn on every row


def learn_candidates(
    *,
    table: pd.DataFrame | Rows,
    catalogue: Mapping[str, Any],
    masks: pd.DataFrame | Rows,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, Any]:
    """Paths of every candidate and of recorded practice on the rows of a fold, and the policies.

    Settings: `agents` (name → settings, in the order of preference), `practice` (the candidate
    whose models decide on what was recorded), `classifier` (decides for those that only stop),
    `objective` (cost or f1), `budgets` (of f1).
    """
    fold = streams.wildcards["held_out"]
    records = StoredRecords(table, catalogue, masks)
    data, observed = records.at(records.table.positions(EVERY), records.seeds[0])
    inside = np.array(records.table.folds)[records.table.fold] == fold
    learned, at = data.take(~inside), observed[~inside]
    asked, held = (data, observed) if fold == ALL else (data.take(inside), observed[inside])
    classifier = classifier_of(learned, settings["classifier"], streams)
    ground = Ground(
        learned, at, None, classifier, streams, progress,
        settings["objective"], levels(settings["budgets"]),
    )  # fmt: skip
    uniforms = streams.generator("decisions").random((len(asked), held.shape[1] + 1))
    frames, headers, arrays = [], {}, {}
    versions = bool(settings["budgets"])
    practice = within(settings["practice"], 0) if versions else settings["practice"]
    for name, policy, left in learn(ground, settings["agents"], progress):
        frames.append(to_frame(follow(policy, asked, held, uniforms, classifier), name, asked))
        if name == practice:
            practised = as_practised(policy, asked, held, classifier)
            frames.append(to_frame(practised, PRACTICE, asked))
        if left is not None:
            own = settings["agents"][stem(name) if versions else name]
            headers[name] = bundle_header(own["kind"], own, Layout.of(learned), ground.digest)
            arrays |= {f"{name}{IN}{key}": array for key, array in left.items()}
    return {
        "paths": pd.concat(frames, ignore_index=True),
        "policies": Bundle({"policies": headers}, arrays),
    }
