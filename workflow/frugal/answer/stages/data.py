"""Stages of data: raw files, the encoded table, the classifier, imputers compared."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from frugal.answer.frames import remark
from frugal.core.context import Context
from frugal.core.errors import ConfigError, DataError
from frugal.core.rows import Rows
from frugal.core.scaling import fit_scaling
from frugal.data.description import load_description
from frugal.data.downloads import downloaded_bytes
from frugal.data.prepare import gaps_of, prepare, suspicions
from frugal.data.tables import StoredTable, table_from_frames
from frugal.learn.imputation_errors import compare_errors, hide_at_random, imputation_error
from frugal.learn.imputer_kinds import fit_imputer
from frugal.learn.trees import classifier_of
from frugal.results.replacing import Growing

TIMEOUT_SECONDS = 60.0  # of silence
TOTAL_SECONDS = 3600.0


def fetch_file(*, context: Context) -> dict[str, bytes]:
    """Download, verify, hand on the bytes."""
    content = downloaded_bytes(
        context.settings["url"],
        expected_sha256=context.settings["sha256"],
        expected_content_sha256=context.settings.get("content_sha256"),
        expected_bytes=context.settings.get("bytes"),
        timeout_seconds=TIMEOUT_SECONDS,
        total_seconds=TOTAL_SECONDS,
    )
    return {"file": content}


def prepare_data(*, description: Path, context: Context, **raw: Path) -> Growing:
    """Encode a data set as in its YAML; `raw` holds its files in the order of the YAML.

    The report of a table that is divided into folds has its gaps, and probable mistakes.

    Settings: keys that replace those of the YAML.

    Raises:
        DataError, ConfigError: the files are not those that the YAML describes.
    """
    described = load_description(description, context.settings)
    names = [file.name for file in described.source.files]
    if len(raw) != len(names):
        raise DataError(f"{description} describes {len(names)} raw files, {len(raw)} were given")
    files = dict(zip(names, raw.values(), strict=True))
    try:
        prepared = prepare(described, files, context.streams.root)
    except (ConfigError, DataError) as error:
        raise type(error)(f"{description}: {error}") from error
    if described.split.scheme == "folds":  # an answer names what it rests on
        looks = list(suspicions(prepared, described))
        prepared.report.update(gaps=gaps_of(prepared.table), suspicions=looks)
        for sentence in looks:
            remark(sentence)
    catalogue = {}
    for table, catalogue in prepared.frames():  # noqa: B007  # the same of every block
        yield {"table": table}
    return {"catalogue": catalogue}


PARTS = ("train", "encoder", "agent")  # the first that the table has


def fit_classifier(
    *, table: pd.DataFrame | Rows, catalogue: Mapping[str, Any], context: Context
) -> dict[str, dict[str, np.ndarray]]:
    """Train on the rows of part `train`: once as recorded, once with panels dropped at random.

    A table whose split is that of `diagnosis` has no such part, and `encoder` in its place; one
    that is divided into folds has `agent`.
    """
    stored = StoredTable(table, catalogue, unlabelled=True)
    name = next((part for part in PARTS if stored.parts([part])), PARTS[0])
    data = stored.at(stored.positions([name]))
    data = data if data.labelled.all() else data.take(data.labelled)
    streams = context.streams.of_any_table() if name == PARTS[-1] else context.streams
    return {"classifier": classifier_of(data, context.settings, streams).to_arrays()}


def compare_imputers(
    *, table: pd.DataFrame, catalogue: Mapping[str, Any], context: Context
) -> dict[str, pd.DataFrame]:
    """Fit each imputer to training rows and fill in hidden values of others [diagnosis, table 8].

    Rows are drawn and split anew for each seed, independently of other parts of the table; all
    imputers of a seed learn from the same rows and fill in the same holes.

    Settings: `seeds`; `most_rows` of the table that are drawn; `train_share` and
    `validation_share` of them, the rest is evaluated; `hidden_share`; and `imputers`, by name, each
    with its `kind` and the settings of that kind. Columns that do not vary in training, and those
    of one-hot groups, are hidden but not scored.
    """
    settings, streams = context.settings, context.streams
    data, _ = table_from_frames(table, catalogue)
    if "mean" not in settings["imputers"]:
        raise ConfigError("imputer_comparison.imputers lacks 'mean', which others are held against")
    rows = []
    for seed in settings["seeds"]:
        train, validation, judged = _split(len(data), settings, streams.generator("rows", seed))
        scaling = fit_scaling(data.values[train])
        hidden = hide_at_random(
            data.values[judged],
            onehot=data.onehot,
            share=settings["hidden_share"],
            rng=streams.generator("hidden", seed),
        )
        coded = [column for group in data.onehot for column in group]
        spread = np.nanmax(data.values[train], axis=0) > np.nanmin(data.values[train], axis=0)
        scored = hidden & (spread & ~np.isin(np.arange(len(data.columns)), coded))
        for name in context.progress(list(settings["imputers"]), desc=f"imputers, seed {seed}"):
            options = dict(settings["imputers"][name])
            imputer = fit_imputer(
                options.pop("kind"),
                data.values[train],
                onehot=data.onehot,
                validation=data.values[validation],
                settings=options,
                rng=streams.generator("fit", name, seed),
            )
            filled = imputer.impute(np.where(hidden, np.nan, data.values[judged]))
            error = imputation_error(data.values[judged], filled, scored, scaling)
            rows.append((name, seed, int(scored.sum()), error))
    errors = pd.DataFrame(rows, columns=["imputer", "seed", "entries", "rmse"])
    return {"comparison": compare_errors(errors)}


def _split(
    n: int, settings: Mapping[str, Any], rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows to learn from, to pick EMFlow's weights on, and to evaluate."""
    order = rng.permutation(n)[: settings["most_rows"]]
    first = round(len(order) * settings["train_share"])
    second = first + round(len(order) * settings["validation_share"])
    parts = np.split(order, [first, second])
    if not all(map(len, parts)):
        raise ConfigError(
            f"imputer_comparison splits {len(order)} rows into {len(parts[0])} to learn from, "
            f"{len(parts[1])} to pick weights on and {len(parts[2])} to evaluate; each needs one"
        )
    return parts[0], parts[1], parts[2]
