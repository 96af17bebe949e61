"""Stage `prepare_data`: raw files or a simulator → encoded table and its catalogue."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from frugal.core.errors import ConfigError, DataError
from frugal.core.streams import Streams
from frugal.data.description import load_description
from frugal.data.prepare import prepare
from frugal.results.replacing import Growing


def prepare_data(
    *,
    description: Path,
    settings: Any,
    streams: Streams,
    progress: Callable[..., Any],
    **raw: Path,
) -> Growing:
    """Encode a data set as its YAML says; `raw` holds its files in the order of the YAML.

    Settings: keys that replace those of the YAML.

    Raises:
        DataError, ConfigError: the files are not those that the YAML describes.
    """
    del progress
    described = load_description(description, settings)
    names = [file.name for file in described.source.files]
    if len(raw) != len(names):
        raise DataError(f"{description} describes {len(names)} raw files, {len(raw)} were given")
    files = dict(zip(names, raw.values(), strict=True))
    try:
        prepared = prepare(described, files, streams.root)
    except (ConfigError, DataError) as error:
        raise type(error)(f"{description}: {error}") from error
    catalogue = {}
    for table, catalogue in prepared.frames():  # noqa: B007  # the same of every block
        yield {"table": table}
    return {"catalogue": catalogue}
