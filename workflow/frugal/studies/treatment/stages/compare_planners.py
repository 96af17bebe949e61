"""Stage `compare_planners`: policies learned on every repeat of a scenario, played and scored."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from frugal.core.streams import Streams
from frugal.search.planning.policy_frames import name_cells
from frugal.search.repeats import search_repeat
from frugal.studies.treatment.searches import IDENTITY, Searches


def compare_planners(
    *,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
    description: Path | None = None,
    units: pd.DataFrame | None = None,
    catalogue: Mapping[str, Any] | None = None,
    searches: pd.DataFrame | None = None,
) -> dict[str, pd.DataFrame]:
    """Scores, units by trials, best outcomes by trials; every policy of every repeat, opened."""
    study = Searches(
        settings,
        streams,
        description=description,
        units=units,
        catalogue=catalogue,
        searches=searches,
    )
    kept: dict[str, list[pd.DataFrame]] = {
        name: [] for name in ("scores", "trials", "best_after", "policies")
    }
    repeats = study.repeats(settings["seeds"])
    for repeat in progress(repeats, total=settings["seeds"], desc="repeats"):
        for grid, entry in settings["grids"].items():
            for n_train in study.sizes(entry, repeat):
                made = search_repeat(
                    study.streams,
                    repeat,
                    n_train=n_train,
                    options=study.options(entry),
                    keep_policies=True,
                )
                for name in ("scores", "trials", "best_after"):
                    kept[name].append(_labelled(getattr(made, name), grid))
                assert made.policies is not None
                kept["policies"].append(_labelled(_opened(made.policies, study), grid))
    tables = {name: pd.concat(frames, ignore_index=True) for name, frames in kept.items()}
    return tables | {"scores": tables["scores"].drop(columns="cpu_s")}  # a clock is no result


def _labelled(frame: pd.DataFrame, grid: str) -> pd.DataFrame:
    """A copy with the name of the grid as first column."""
    return pd.concat([pd.Series(grid, index=frame.index, name="grid"), frame], axis=1)


def _opened(cells: pd.DataFrame, study: Searches) -> pd.DataFrame:
    """Policies as tables of the histories that each can come to."""
    keys = cells[["seed", "n_train", *IDENTITY]]
    numbers = {name: cells[name].to_numpy() for name in cells.columns.difference(keys.columns)}
    named = name_cells(
        numbers, contexts=study.contexts, actions=study.actions, outcomes=study.results
    )
    return pd.concat([keys, named.rename(columns={"action": "next"})], axis=1)
