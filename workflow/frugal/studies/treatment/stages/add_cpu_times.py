"""Stage `add_cpu_times`: the summary table of `treatment`, which also says what learning cost.

CPU seconds are a measurement, and no two runs measure the same. They join last, in a table that no
other step reads: everything else is the same bytes twice.
"""

from collections.abc import Callable
from typing import Any

import pandas as pd

from frugal.core.errors import DataError
from frugal.core.streams import Streams
from frugal.studies.treatment.searches import IDENTITY, sized
from frugal.studies.treatment.stages.summarise_treatment import KEY, NUMBERS


def add_cpu_times(
    *,
    repeats: pd.DataFrame,
    timings: pd.DataFrame,
    settings: Any,
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, pd.DataFrame]:
    """The summary table of the contract: the rows of `summarise_treatment`, with `cpu_s`.

    Raises:
        DataError: a policy was not timed.
    """
    del settings, streams, progress
    timed = sized(timings, ["dataset"]).drop(columns="n_train")
    rows = sized(repeats, ["dataset", "seed"]).merge(
        timed, on=["dataset", "size", *IDENTITY], how="left", validate="many_to_one"
    )
    untimed = rows.loc[rows["cpu_s"].isna(), KEY]
    if len(untimed):
        at = ", ".join(f"{name} {value}" for name, value in untimed.iloc[0].items())
        raise DataError(f"{len(untimed)} policies were not timed by time_planners, first {at}")
    further = [c for c in repeats.columns if c not in KEY + NUMBERS]
    return {"summary": rows[[*KEY, *NUMBERS, "cpu_s", *further]]}
