"""`python -m frugal advise` for a policy of treatment searches: the next treatment for each unit.

Needs the folder that `snakemake search` calls `policy`, and a file like the records.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from frugal.core.errors import ConfigError, DataError, say
from frugal.core.studies import Adviser
from frugal.results.files import csv_bytes, read_payload, require_sealed
from frugal.results.manifests import write_apart
from frugal.studies.treatment.data.levels import Strata, combined
from frugal.studies.treatment.data.own_records import (
    RecordsDescription,
    describe_records,
    read_own_records,
)
from frugal.studies.treatment.search.plain_words import EDITION, StepTable, next_step, step_table

MOST_SHOWN = 40  # units on a terminal


def advise_searches(args: argparse.Namespace) -> int:
    """Print the next step of every unit; returns the exit status.

    Raises:
        DataError: the folder or the file is invalid.
    """
    rows = search_advice(args.bundle, args.cases)
    if args.out is not None:
        write_apart(args.out, csv_bytes(rows))
    for row in rows.head(MOST_SHOWN).to_dict("records"):
        so_far = f" (so far {row['history']})" if row["history"] else ""
        say(f"{row['unit']}{so_far}: {row['next']}; {row['why']}")
    if len(rows) > MOST_SHOWN:
        say(f"These are the first {MOST_SHOWN} of {len(rows):,} units; --out FILE.csv writes all.")
    return 0


SEARCHES = Adviser(name="treatment searches", file="policy.json", advise=advise_searches)


def load_search_policy(folder: Path) -> tuple[StepTable, RecordsDescription, Strata]:
    """A stored policy, its records' description and its contexts; all of them fit together.

    Raises:
        DataError: the folder holds no such policy, or its parts are invalid.
    """
    path, arrays = folder / "policy.json", folder / "policy.safetensors"
    document = read_payload(path)
    if not isinstance(document, dict) or document.get("searches") != EDITION:
        raise DataError(f"{path} is no policy of treatment searches, edition {EDITION}")
    require_sealed(path, document, "make it again by snakemake search", [arrays.name])
    try:
        table = step_table(read_payload(arrays), document)
        described = describe_records(document.get("description"), path)
    except (ConfigError, DataError) as error:
        raise DataError(f"{path}: {error}") from None
    incomplete = document.get("gaps")
    if not isinstance(incomplete, list) or [type(flag) for flag in incomplete] != [bool] * len(
        described.covariates
    ):
        raise DataError(f"{path}: 'gaps' is not true or false for each covariate")
    strata = combined(described.covariates, tuple(incomplete))
    names = tuple(described.document.get("treatments", table.treatments))
    for key, expected in (
        ("contexts", strata.names),
        ("outcomes", described.outcomes.names),
        ("treatments", names),
    ):
        if getattr(table, key) != expected:
            raise DataError(f"{path}: {key!r} are not those of its 'description'")
    return table, described, strata


def search_advice(folder: Path, file: Path) -> pd.DataFrame:
    """One row per unit: its history, the next treatment, why, and the records behind it."""
    table, described, strata = load_search_policy(folder)
    records = read_own_records(described, file, treatments=table.treatments)
    context = strata.index(records.covariate, records.names)
    tried = np.full((len(records.names), len(table.treatments)), -1, dtype=np.int64)
    unit, place = np.nonzero(records.action >= 0)
    tried[unit, records.action[unit, place]] = records.outcome[unit, place]
    rows = []
    for u, name in enumerate(records.names):
        history = [
            f"{table.treatments[a]}: {table.outcomes[y]}" for a, y in enumerate(tried[u]) if y >= 0
        ]
        step = next_step(table, int(context[u]), tried[u].tolist())
        rows.append({"unit": name, "history": ", ".join(history), **step})
    return pd.DataFrame(rows)
