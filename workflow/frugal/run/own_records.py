"""Where `snakemake search` and `snakemake over_time` find one's own records and put their results.

Read by the Snakefile where `records` is given.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from frugal.core.declarations import load_one
from frugal.core.errors import ConfigError
from frugal.core.schema_check import read_yaml, requested_file, require_no_table
from frugal.core.studies import RecordFiles, declared_by_studies


def own_records(config: Mapping[str, Any], base: Path, folder: Path) -> RecordFiles:
    """The files that the key `records` leads to; a fault of the YAML is found at the start.

    Args:
        config: of the run.
        base: the project's folder.
        folder: the working folder; relative paths start there.

    Raises:
        ConfigError: a sentence with the key or file, the value found and the values allowed.
        DataError: of the records.
    """
    if config["table"] is not None:
        raise ConfigError(
            "config: 'table' and 'records' are both given; one run answers one of them"
        )
    path = requested_file(str(config["records"]), base)
    if path is None:
        raise ConfigError(
            f"config: 'records' is {str(config['records'])!r}, and there is no such file; allowed "
            "is a YAML like docs/examples/searches.yaml or docs/examples/wards.yaml"
        )
    require_no_table(path, "frugal search {0} and frugal over_time {0} take the table")
    document = read_yaml(path)
    keys = document if isinstance(document, dict) else {}
    targets = declared_by_studies("targets", "RecordsTarget")
    for name, target in sorted(targets.items(), key=lambda item: "key" not in item[1].literals):
        if target.literals.get("key") in (None, *keys):
            return load_one(target.module, "RecordsTarget", name).files(path.absolute(), folder)
    raise ConfigError(f"{path}: no study reads such records")
