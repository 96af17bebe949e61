"""Stage `train_agent`: an acquisition agent that learns on blocked records (afape, A.11).

The agent acts on the rows of part `agent`, where it can acquire only what the records hold. The
policy is then fixed for all seeds; its file is all that it takes to ask it.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.acquire.kinds import Ground
from frugal.acquire.registry import kind_of, train_bundle
from frugal.core.errors import ConfigError, DataError
from frugal.core.rows import Rows
from frugal.core.streams import Streams
from frugal.learn.trees import TreeEnsemble
from frugal.studies.afape.stored import StoredRecords


def train_agent(
    *,
    table: pd.DataFrame | Rows,
    catalogue: Mapping[str, Any],
    classifier: Mapping[str, np.ndarray],
    masks: pd.DataFrame | Rows,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, Any]:
    """Learn on the records of the first seed, blocked  [afape, sec. A.11].

    Raises:
        ConfigError: an agent of this kind does not learn.
        DataError: the table has no row in the part `agent`.
    """
    kind = kind_of(settings)
    if kind.fit is None:
        raise ConfigError(f"an agent of kind {kind.name!r} does not learn, so it is not trained")
    records = StoredRecords(table, catalogue, masks)
    data, recorded = records.at(records.table.positions(["agent"]), records.seeds[0])
    if not len(data):
        raise DataError(
            "an agent that learns needs rows in the part 'agent', and the data set has none; "
            "add it under split.parts of the data set's YAML"
        )
    group = None
    if len(catalogue["groups"]) == 2:
        group = records.table.sensitive(["agent"])
    ensemble = TreeEnsemble.from_arrays(classifier).require_table(data)
    ground = Ground(data, recorded, group, ensemble, streams, progress)
    policy, curve = train_bundle(settings, ground)
    return {"policy": policy, "training": curve}
