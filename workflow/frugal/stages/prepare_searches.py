"""Stage `prepare_searches`: raw tests → units, splits by patient, and who was given what."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from frugal.contracts import Streams
from frugal.data.patient_splits import split_patients
from frugal.data.prescribing import simulate_prescriptions
from frugal.data.search_description import load_search_description
from frugal.data.search_tables import read_searches, trials_frame, units_catalogue, units_frame


def prepare_searches(
    *,
    description: Path,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
    **raw: Path,
) -> dict[str, Any]:
    """Read a table; per split, draw the test patients and, where none are known, prescriptions."""
    described = load_search_description(description)
    names = [file.name for file in described.files]
    table, recorded = read_searches(described, dict(zip(names, raw.values(), strict=True)))
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
    catalogue = units_catalogue(table)
    catalogue["report"] |= {
        "title": described.title,
        "note": described.note,
        "prescriptions": "simulated" if recorded is None else "recorded",
    }
    return {
        "units": units_frame(table),
        "catalogue": catalogue,
        "searches": pd.concat(parts, ignore_index=True),
    }
