"""Reads a config as JSON or YAML and as nothing else: Snakemake would also run Python in it."""

from collections.abc import Iterable, Mapping
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


def typed_entries(entries: Iterable[str], read: Mapping[str, Any]) -> dict[str, Any]:
    """The values of `--config` that are lists or mappings, read as in a config file.

    Args:
        entries: KEY=VALUE each.
        read: what Snakemake has made of them; other values are left as they are there.

    Raises:
        ConfigError: such a value is no YAML as a config file has it.
    """
    found: dict[str, Any] = {}
    for key, _, value in (entry.partition("=") for entry in entries):
        if isinstance(read.get(key), list | dict):
            try:
                found = laid_over(found, {key: strict_yaml.parse_yaml(value)})
            except strict_yaml.StrictYamlError as error:
                raise ConfigError(f"--config {key}: {error}") from None
    return found


def laid_over(config: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Two configs as one, as Snakemake merges them: mappings by their keys, all else replaced."""
    nested = {
        key: laid_over(config[key], value)
        for key, value in over.items()
        if isinstance(value, Mapping) and isinstance(config.get(key), Mapping)
    }
    return {**config, **over, **nested}
