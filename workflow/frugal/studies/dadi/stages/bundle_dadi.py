"""Stage `bundle_dadi`: the agent that the answer names, with all that it takes to ask it."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from frugal.acquire.bundles import bundle_payloads
from frugal.acquire.policies.dadi import THRESHOLD
from frugal.core.stored import StoredArrays
from frugal.core.streams import Streams
from frugal.data.case_document import TableColumns
from frugal.data.description import load_description
from frugal.studies.dadi.frames import PRETRAINED, agents_of, fold_of


def bundle_dadi(
    *,
    choice: Mapping[str, Any],
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    description: Path,
    weights: StoredArrays,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, Any]:
    """The files of a bundle: `policy` and `cases`; see `acquire.bundles`.

    The policy is the file of the fold's agents with the threshold of their decisions; `cases` says
    which of them is meant.
    """
    del progress
    wildcards = {**streams.wildcards, "fold": str(choice["fold"])}
    of_fold = Streams(streams.root, "roll_out_dadi", wildcards)
    fold = fold_of(table, catalogue, settings["design"], of_fold)
    agents, _ = agents_of(weights, fold, settings["training"])
    kept = {name: array for name, array in weights.items() if not name.startswith(PRETRAINED)}
    kept[THRESHOLD] = np.full(agents.members, choice["threshold"])
    return bundle_payloads(
        settings={"kind": "dadi"},
        policy=StoredArrays(kept, weights.source, weights.header),
        table=TableColumns.of(fold.shown, fold.part),
        catalogue=catalogue,
        description=load_description(description),
        classifier=None,
        streams=of_fold,
        member=int(choice["member"]),
    )
