"""Lets Frugal look at config files and `--config` before Snakemake reads them; it logs nothing.

Snakemake reads the files of `--configfile` before it opens the Snakefile: nested 10,000 deep they
end in a traceback there, with aliases of aliases of mappings they take all memory, and those that
say `__use_yte__: true` are run as Python. The one place for code of one's own before that is a
plugin, which Snakemake imports as it starts. This one puts a check in front of the two functions
that read a config, and is otherwise a logger that nobody has to choose. Snakemake is pinned;
`tests/workflow/test_strict_configs.py` tells when the two move.
"""

import importlib.util
import logging
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import snakemake.settings.types as settings
from snakemake_interface_logger_plugins.base import LogHandlerBase

_STRICT = Path(__file__).parents[1] / "frugal" / "data" / "strict_yaml.py"


def _strict_yaml() -> ModuleType:
    """The reader by its path: importing the package here would fix which copy a Snakefile gets."""
    spec = importlib.util.spec_from_file_location("_frugal_strict_yaml", _STRICT)
    if spec is None or spec.loader is None:
        raise ImportError(f"{_STRICT} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _refusing(check: Callable[[Any], None], read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`read`, preceded by a check whose refusal ends the program with its sentence."""

    def checked(found: Any) -> Any:
        try:
            check(found)
        except _YAML.StrictYamlError as error:
            sys.exit(f"Frugal cannot start: {error}")
        return read(found)

    return checked


def _require_entries(entries: Sequence[str] | None) -> None:
    """Check what `--config` gives: KEY=VALUE each, whose values may be YAML."""
    for entry in entries or ():
        key, _, value = entry.partition("=")
        try:
            _YAML.require_word(value)
        except _YAML.StrictYamlError as error:
            raise _YAML.StrictYamlError(f"--config {key}: {error}") from None


_NO = property(lambda _: False)


class LogHandler(LogHandlerBase):
    """A logger that writes nothing."""

    writes_to_stream = writes_to_file = has_filter = has_formatter = needs_rulegraph = _NO

    def emit(self, record: logging.LogRecord) -> None:
        """Nothing."""


_YAML = _strict_yaml()
settings.load_configfile = _refusing(_YAML.require_config_file, settings.load_configfile)
if (_cli := sys.modules.get("snakemake.cli")) is not None and hasattr(_cli, "parse_config"):
    vars(_cli)["parse_config"] = _refusing(_require_entries, _cli.parse_config)
