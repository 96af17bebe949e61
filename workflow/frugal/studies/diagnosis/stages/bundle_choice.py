"""Stage `bundle_choice`: the policy that a budget led to, with all that it takes to ask it.

A policy of a front is one member of its file; the bundle keeps the whole file and says which.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from frugal.acquire.bundles import bundle_payloads
from frugal.core.errors import DataError
from frugal.core.stored import StoredArrays
from frugal.core.streams import Streams
from frugal.data.case_document import TableColumns
from frugal.data.description import load_description
from frugal.studies.diagnosis.frames import divided


def bundle_choice(
    *,
    choice: Mapping[str, Any],
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    description: Path,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
    **policies: StoredArrays,
) -> dict[str, Any]:
    """The files of a bundle: `policy` and `cases`; see `acquire.bundles`.

    `policies` are the files of all families that may have been chosen.

    Raises:
        DataError: the chosen solution keeps no policy, or its file is not among the inputs.
    """
    del progress
    place = choice["policy"]
    if place is None:
        raise DataError(
            f"the budget led to a solution of the family {choice['family']!r}, which keeps no "
            "policy to ask; choose among fronts and trees (diagnosis.choose.method)"
        )
    stored = next((one for one in policies.values() if one.source == place["file"]), None)
    if stored is None:
        raise DataError(
            f"the chosen policy lies in {place['file']}, which is not among the inputs "
            f"{', '.join(one.source for one in policies.values()) or 'none'}"
        )
    data, part = divided(table, catalogue, streams)
    return bundle_payloads(
        settings=settings,
        policy=stored,
        table=TableColumns.of(data, part),
        catalogue=catalogue,
        description=load_description(description),
        classifier=None,  # that of a policy that only stops lies in its file
        streams=Streams(streams.root, "roll_out_front", dict(streams.wildcards)),
        member=int(place["position"]),
    )
