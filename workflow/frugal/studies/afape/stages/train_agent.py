"""Stage `train_agent`: an acquisition agent that learns on blocked records (afape, A.11).

The agent acts on the rows of part `agent`, where it can acquire only what the records hold. The
policy is then fixed for all seeds; its file is all that it takes to ask it.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.acquire.kinds import Ground
from frugal.acquire.registry import kind_of
from frugal.core.errors import ConfigError, DataError
from frugal.core.layout import Bundle, Layout, bundle_header
from frugal.core.streams import Streams
from frugal.core.table import Table
from frugal.data.panel_columns import panel_matrix
from frugal.data.tables import sensitive_from_frames, table_from_frames
from frugal.learn.trees import TreeEnsemble
from frugal.studies.afape.laws import require_masks
from frugal.studies.shared.frames import by_seed


def train_agent(
    *,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    classifier: Mapping[str, np.ndarray],
    masks: pd.DataFrame,
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
    data, recorded, rows = _records(table, catalogue, masks)
    group = None
    if len(catalogue["groups"]) == 2:
        group = sensitive_from_frames(table, catalogue)[0][rows]
    ensemble = TreeEnsemble.from_arrays(classifier).require_table(data)
    ground = Ground(data, recorded, group, ensemble, streams, progress)
    learned = kind.fit(ground, settings)
    header = bundle_header(kind.name, settings, Layout.of(data), ground.digest)
    return {"policy": Bundle(header, learned.arrays), "training": learned.curve}


def _records(
    table: pd.DataFrame, catalogue: Mapping[str, Any], masks: pd.DataFrame
) -> tuple[Table, np.ndarray, np.ndarray]:
    """The rows to learn from, the panels that their records of the first seed hold (n, a), and
    their positions in the whole table. (n,)
    """
    data, part = table_from_frames(table, catalogue)
    require_masks(masks, data)
    rows = np.flatnonzero(part == "agent")
    if not rows.size:
        raise DataError(
            "an agent that learns needs rows in the part 'agent', and the data set has none; "
            "add it under split.parts of the data set's YAML"
        )
    _, first = next(by_seed(masks, rows))
    return data.take(rows), panel_matrix(first, "observed", data), rows
