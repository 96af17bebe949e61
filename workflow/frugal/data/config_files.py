"""Reads a config as JSON or YAML and as nothing else: Snakemake would also run Python in it."""

import json
from pathlib import Path
from typing import Any

from frugal.contracts.errors import ConfigError
from frugal.data.schema_check import read_yaml

TEMPLATE_KEY = "__use_yte__"  # of Snakemake: true makes texts that begin with ? Python


def read_config_file(path: Path) -> Any:
    """What a config holds: that of JSON where it is JSON, else that of YAML.

    Raises:
        ConfigError: there is no such file, it is neither, or it asks to be run as a program.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        document = read_yaml(path)
    if isinstance(document, dict) and TEMPLATE_KEY in document:
        raise ConfigError(
            f"{path}: unknown key {TEMPLATE_KEY!r} at top level; it makes Snakemake run Python "
            "that stands in the file, so leave it out and write the values themselves"
        )
    return document
