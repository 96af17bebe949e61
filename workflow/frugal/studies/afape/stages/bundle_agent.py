"""Stage `bundle_agent`: an agent with all that it takes to ask it about new cases.

The table tells which levels and ranges training saw; no value of a unit is kept beside what the
agent itself holds.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from frugal.acquire.bundles import bundle_payloads
from frugal.core.rows import Rows
from frugal.core.stored import StoredArrays
from frugal.core.streams import Streams
from frugal.data.case_document import JUDGES, TableColumns
from frugal.data.description import load_description
from frugal.data.stored_table import StoredTable
from frugal.studies.afape.candidates import one_of

_ERRORS = "misclassification_cost"  # those of the table, which may be open in the YAML


def bundle_agent(
    *,
    table: pd.DataFrame | Rows,
    catalogue: Mapping[str, Any],
    description: Path,
    classifier: Mapping[str, np.ndarray],
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
    policy: StoredArrays | Path | pd.DataFrame | None = None,
    policies: StoredArrays | None = None,
    choice: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The files of a bundle: `policy`, `classifier` and `cases`; see `acquire.bundles`.

    A trained agent comes with `policy`, as `train_agent` stored it, or among the `policies` of
    `learn_candidates`, the version that `choice` has of it; one's own with its file.
    """
    del progress
    stored = StoredTable(table, catalogue)
    trained = ~stored.part_rows([] if policies is not None else [JUDGES])
    who = {key: streams.wildcards[key] for key in ("dataset", "agent")}
    if policies is not None:
        agent = streams.wildcards["agent"]
        policy = one_of(policies, choice["versions"][agent] if choice else agent)
    return bundle_payloads(
        settings=settings,
        policy=policy,
        table=TableColumns(stored.layout, trained, stored.column),
        catalogue=catalogue,
        description=load_description(description, {_ERRORS: catalogue[_ERRORS]}),
        classifier=classifier,
        streams=Streams(streams.root, "roll_out", who),
    )
