"""Stage `prepare_searches`: raw tests → units, splits by patient, and who was given what."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.errors import ConfigError, DataError
from frugal.core.streams import Streams
from frugal.search.description import load_search_description
from frugal.search.patient_splits import split_patients
from frugal.search.prescribing import simulate_prescriptions
from frugal.search.records import TrialRecords
from frugal.search.susceptibility import SusceptibilityTable
from frugal.search.tables import read_searches, trials_frame, units_catalogue, units_frame


def prepare_searches(
    *,
    description: Path,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
    **raw: Path,
) -> dict[str, Any]:
    """Read a table; per split, draw the test patients and, where none are known, prescriptions.

    Raises:
        DataError, ConfigError: the files are not those that the YAML describes.
    """
    described = load_search_description(description)
    names = [file.name for file in described.files]
    if len(raw) != len(names):
        raise DataError(f"{description} describes {len(names)} raw files, {len(raw)} were given")
    try:
        table, recorded = read_searches(described, dict(zip(names, raw.values(), strict=True)))
        searches = _searches(table, recorded, settings, streams, progress)
    except (ConfigError, DataError) as error:
        raise type(error)(f"{description}: {error}") from error
    catalogue = units_catalogue(table)
    catalogue["report"] |= {
        "title": described.title,
        "note": described.note,
        "prescriptions": "simulated" if recorded is None else "recorded",
    }
    return {"units": units_frame(table), "catalogue": catalogue, "searches": searches}


def _searches(
    table: SusceptibilityTable,
    recorded: TrialRecords | None,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> pd.DataFrame:
    """Who was given what, in each split."""
    parts = []
    for seed in progress(range(settings["seeds"]), desc="splits"):
        is_test = split_patients(
            table.patient, test_share=settings["test_share"], rng=streams.generator("split", seed)
        )
        records = recorded
        if records is None:
            records = simulate_prescriptions(
                table,
                is_test=is_test,
                **settings["prescribing"],
                rng=streams.generator("prescriptions", seed),
            )
        trials = trials_frame(records, table.row_id)
        part = pd.Series(np.where(is_test, "test", "train"), index=table.row_id)
        trials.insert(1, "part", trials["row_id"].map(part).to_numpy(dtype=object))
        trials.insert(0, "seed", seed)
        parts.append(trials)
    return pd.concat(parts, ignore_index=True)
