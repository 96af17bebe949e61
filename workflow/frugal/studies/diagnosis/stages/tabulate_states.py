"""Stage `tabulate_states`: every unit completed at every set of panels, once for all readers."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.acquire.encoders import fits, tabulate
from frugal.acquire.reading import completed_states
from frugal.core.streams import Streams
from frugal.learn.imputer_kinds import imputer_of
from frugal.studies.diagnosis.frames import divided, rows_of, task_of
from frugal.studies.diagnosis.states import PARTS, STATES, of_encoder


def tabulate_states(
    *,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    encoder: Mapping[str, np.ndarray],
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, Any]:
    """Completed rows, standardised, of the parts that policies learn on and are judged on.

    The file holds the encoder, too, by which its readers know that theirs is the same. Where the
    rows at all sets of panels would take more memory than is allowed it holds nothing else, and
    its readers complete rows as they are asked for: the same numbers, in more time.
    """
    data, part = divided(table, catalogue, streams)
    world = task_of(data, terminals=len(data.classes))
    imputer = imputer_of(encoder, columns=len(data.columns))
    arrays = of_encoder(encoder)
    most = max(len(rows_of(part, name)) for name in PARTS)
    if not fits(most, world.panels, len(data.columns), settings["memory_gib"]):
        return {"states": arrays}
    for name in progress(PARTS, desc="parts"):
        here = world.take(rows_of(part, name))
        states = completed_states(imputer, here)
        kept = tabulate(states, len(here), here.panels, max_gib=settings["memory_gib"])
        arrays[STATES + name] = kept.table
    return {"states": arrays}
