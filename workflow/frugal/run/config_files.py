"""Reads a config as JSON or YAML and as nothing else: Snakemake would also run Python in it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from frugal.core import strict_yaml
from frugal.core.errors import ConfigError


def read_config_file(path: Path) -> dict[str, Any]:
    """What a config holds: that of JSON where it is JSON, else that of YAML.

    Raises:
        ConfigError: there is no such file, it is neither, or it asks to be run as a program.
    """
    try:
        return strict_yaml.read_config_file(path)
    except strict_yaml.StrictYamlError as error:
        raise ConfigError(str(error)) from None


def laid_over(config: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Two configs as one, as Snakemake merges them: mappings by their keys, all else replaced."""
    nested = {
        key: laid_over(config[key], value)
        for key, value in over.items()
        if isinstance(value, Mapping) and isinstance(config.get(key), Mapping)
    }
    return {**config, **over, **nested}
