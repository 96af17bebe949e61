"""Reads a config as JSON or YAML and as nothing else: Snakemake would also run Python in it.

`python -m frugal config [FILE…]` prints the whole config of these files, defaults and all.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from frugal.config.blocks import schema_of
from frugal.config.root import Config, effective
from frugal.core import strict_yaml
from frugal.core.arguments import command_parser
from frugal.core.declarations import PROJECT
from frugal.core.errors import ConfigError, say


def read_config_file(path: Path) -> dict[str, Any]:
    """Content of a config, read as JSON where it is JSON, else as YAML.

    Raises:
        ConfigError: there is no such file, it is neither, or it demands to be run as a program.
    """
    try:
        return strict_yaml.read_config_file(path)
    except strict_yaml.StrictYamlError as error:
        raise ConfigError(str(error)) from None


def typed_entries(entries: Iterable[str], read: Mapping[str, Any]) -> dict[str, Any]:
    """The values of `--config` that are lists or mappings, read as in a config file.

    Args:
        entries: KEY=VALUE each.
        read: the config as Snakemake read it; other values are left unchanged.

    Raises:
        ConfigError: such a value is no YAML as a config file has it.
    """
    values: dict[str, Any] = {}
    for key, _, value in (entry.partition("=") for entry in entries):
        if isinstance(read.get(key), list | dict):
            try:
                values = laid_over(values, {key: strict_yaml.parse_yaml(value)})
            except strict_yaml.StrictYamlError as error:
                raise ConfigError(f"--config {key}: {error}") from None
    return values


def laid_over(config: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Two configs as one, as Snakemake merges them: mappings by their keys, all else replaced."""
    nested = {
        key: laid_over(config[key], value)
        for key, value in over.items()
        if isinstance(value, Mapping) and isinstance(config.get(key), Mapping)
    }
    return {**config, **over, **nested}


def config_with(**values: Any) -> dict[str, Any]:
    """The default config with some values, but those that are None.

    Raises:
        ConfigError: a value is not allowed.
    """
    stated = {name: value for name, value in values.items() if value is not None}
    return effective({**read_config_file(PROJECT / "config.yaml"), **stated})


def config_command(words: list[str]) -> int:
    """Print the whole config, or its JSON Schema; returns the exit status.

    Raises:
        ConfigError: a file cannot be read, or a key or value is not allowed.
    """
    parser = command_parser("config", "The whole config, every default written out.")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="laid over config.yaml")
    parser.add_argument("--schema", action="store_true", help="a JSON Schema, for editors")
    args = parser.parse_args(words)
    if args.schema:
        text = json.dumps(schema_of(Config), indent=1, ensure_ascii=False)
    else:
        merged: Mapping[str, Any] = {}
        for path in (PROJECT / "config.yaml", *args.files):
            merged = laid_over(merged, read_config_file(path))
        config = effective(merged)
        text = yaml.safe_dump(config, sort_keys=False, allow_unicode=True, width=100).rstrip()
    say(*text.split("\n"))
    return 0
