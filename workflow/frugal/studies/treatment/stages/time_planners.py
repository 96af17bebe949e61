"""Stage `time_planners`: CPU seconds of learning every policy, on the first repeat of a scenario.

Its output is a measurement: no two runs are alike, so it lies beside the other timings, outside
results/, and only the summary's column `cpu_s` comes from it.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from frugal.core.streams import Streams
from frugal.search.repeats import search_repeat
from frugal.studies.treatment.searches import IDENTITY, Searches

_WARM_UP_UNITS = 2  # compiled code is loaded before the clock counts


def time_planners(
    *,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
    description: Path | None = None,
    units: pd.DataFrame | None = None,
    catalogue: Mapping[str, Any] | None = None,
    searches: pd.DataFrame | None = None,
) -> dict[str, pd.DataFrame]:
    """Learn the first repeat's policies again and keep what that took."""
    del progress
    study = Searches(
        settings,
        streams,
        description=description,
        units=units,
        catalogue=catalogue,
        searches=searches,
    )
    frames = []
    repeat = next(study.repeats(1))
    for entry in settings["grids"].values():
        options = study.options(entry)
        learn = partial(search_repeat, study.streams, repeat, options=options, keep_policies=False)
        learn(n_train=_WARM_UP_UNITS)
        for n_train in study.sizes(entry, repeat):
            made = learn(n_train=n_train)
            frames.append(made.scores[["n_train", *IDENTITY, "cpu_s"]])
    timings = pd.concat(frames, ignore_index=True)
    return {"timings": timings.drop_duplicates(["n_train", *IDENTITY], ignore_index=True)}
