"""Where `snakemake search` and `snakemake over_time` find one's own records and put their results.

Read by the Snakefile where `records` is given.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from frugal.core.declarations import of_studies
from frugal.core.errors import ConfigError
from frugal.core.schema_check import asked_file, read_yaml, require_no_table

SEARCH = "search"  # a target


@dataclass(frozen=True)
class RecordFiles:
    """Inputs and folder of a run on one's own records; all paths absolute.

    Attributes:
        target: by the keys of the YAML.
        inputs: of the first step: the YAML, as `description`, and the files that it names.
        folder: `results/TARGET/NAME` in the folder of the start.
    """

    target: str
    inputs: Mapping[str, Path]
    folder: Path


def own_records(config: Mapping[str, Any], base: Path, folder: Path) -> RecordFiles:
    """The files that the key `records` leads to; a fault of the YAML is found at the start.

    Args:
        config: of the run.
        base: the project's folder.
        folder: the working folder; relative paths start there.

    Raises:
        ConfigError: a sentence with the key or file, the value found and the values allowed.
        DataError: of the records.
        SearchSizeError: their tables would take too much memory.
    """
    if config["table"] is not None:
        raise ConfigError(
            "config: 'table' and 'records' are both given; one run answers one of them"
        )
    path = asked_file(str(config["records"]), base)
    if path is None:
        raise ConfigError(
            f"config: 'records' is {str(config['records'])!r}, and there is no such file; allowed "
            "is a YAML like docs/examples/searches.yaml or docs/examples/wards.yaml"
        )
    require_no_table(path, "docs/how-to/over_time.md and docs/how-to/own_searches.md have examples")
    document = read_yaml(path)
    for study in of_studies("own_records"):
        if isinstance(document, dict) and study.KEY in document:
            return study.record_files(path.absolute(), folder)
    return _searches(path.absolute(), folder)


def _searches(path: Path, folder: Path) -> RecordFiles:
    from frugal.search.own_policies import require_memory
    from frugal.search.own_records import load_records_description, read_own_records

    described = load_records_description(path)
    require_file(path, "file", described.file, described.document["file"])
    records = read_own_records(described, described.file)
    require_memory(records, described)
    inputs = {"description": path, "records": described.file.absolute()}
    place = folder / "results" / SEARCH / described.document["name"]
    return RecordFiles(SEARCH, inputs, place)


def require_file(path: Path, key: str, file: Path, written: str) -> None:
    """Refuse a key of a YAML that names no file.

    Raises:
        ConfigError: there is none.
    """
    if not file.is_file():
        raise ConfigError(f"{path}: {key!r} is {written!r}, and there is no such file")
