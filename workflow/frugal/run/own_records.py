"""Where `snakemake search` finds one's own records, and where it puts its results.

Read by the Snakefile where `records` is given.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from frugal.core.errors import ConfigError
from frugal.core.schema_check import asked_file


@dataclass(frozen=True)
class SearchFiles:
    """Inputs and folders of `snakemake search`; all paths absolute.

    Attributes:
        description: the YAML.
        records: the file that it names.
        folder: `results/search/NAME` in the folder of the start.
        size: rows of the tables that the search needs, see `own_policies.require_memory`, and
            number of treatments.
    """

    description: Path
    records: Path
    folder: Path
    size: tuple[int, int]


def search_files(config: Mapping[str, Any], base: Path, folder: Path) -> SearchFiles:
    """The files that the key `records` leads to, read once, so that a fault is found at the start.

    Args:
        config: of the run.
        base: the project's folder.
        folder: the working folder; relative paths start there.

    Raises:
        ConfigError: a sentence with the key or file, the value found and the values allowed.
        DataError: of the records.
        SearchSizeError: their tables would take too much memory.
    """
    from frugal.search.own_policies import require_memory
    from frugal.search.own_records import load_records_description, read_own_records

    if config["table"] is not None:
        raise ConfigError(
            "config: 'table' and 'records' are both given; one run answers one of them"
        )
    path = asked_file(str(config["records"]), base)
    if path is None:
        raise ConfigError(
            f"config: 'records' is {str(config['records'])!r}, and there is no such file; allowed "
            "is a YAML like docs/examples/searches.yaml"
        )
    described = load_records_description(path.absolute())
    if not described.file.is_file():
        raise ConfigError(
            f"{path}: 'file' is {described.document['file']!r}, and there is no such file"
        )
    where = folder / "results" / "search" / described.document["name"]
    records = read_own_records(described, described.file)
    size = require_memory(records, described), len(records.treatments)
    return SearchFiles(path.absolute(), described.file.absolute(), where, size)
