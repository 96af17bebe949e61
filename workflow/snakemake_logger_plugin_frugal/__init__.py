"""Makes Snakemake read configs strictly, as JSON or YAML and never as a program.

Snakemake reads the files of `--configfile` before it opens the Snakefile: nested 10,000 deep they
end in a traceback there, aliases of aliases of mappings take all memory, and Python in a file that
says `__use_yte__: true` is run. The one place for code of one's own before that is a plugin, which
Snakemake imports by its name as it starts. This one replaces the function that reads a config file
and puts a check in front of the one that reads `--config`. Snakemake is pinned;
`tests/workflow/test_strict_configs.py` tells when the two move. What the terminal shows is in
`terminal.py`.
"""

import importlib.util
import logging
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import snakemake.settings.types as settings
from snakemake.common import configfile
from snakemake_interface_logger_plugins.base import LogHandlerBase

from snakemake_logger_plugin_frugal import profiles, terminal

_STRICT = Path(__file__).parents[1] / "frugal" / "core" / "strict_yaml.py"


def _strict_yaml() -> ModuleType:
    """The reader by its path: importing the package here would fix which copy a Snakefile gets."""
    spec = importlib.util.spec_from_file_location("_frugal_strict_yaml", _STRICT)
    if spec is None or spec.loader is None:
        raise ImportError(f"{_STRICT} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _read_config(path: str | Path) -> Any:
    """What a config file holds, or the end of the program with what is wrong in it."""
    try:
        return _YAML.read_config_file(Path(path))
    except _YAML.StrictYamlError as error:
        sys.exit(f"Frugal cannot start: {error}")


def _checking(parse: Callable[[Any], Any]) -> Callable[[Sequence[str] | None], Any]:
    """The reader of `--config` (KEY=VALUE each), which first refuses values that would hurt it."""

    def checked(entries: Sequence[str] | None) -> Any:
        for entry in entries or ():
            key, _, value = entry.partition("=")
            try:
                _YAML.require_word(value)
            except _YAML.StrictYamlError as error:
                sys.exit(f"Frugal cannot start: --config {key}: {error}")
        return parse(entries)

    return checked


_NO = property(lambda _: False)


class LogHandler(LogHandlerBase):
    """A logger, as a plugin must have one; it writes nothing."""

    writes_to_stream = writes_to_file = has_filter = has_formatter = needs_rulegraph = _NO

    def emit(self, record: logging.LogRecord) -> None:
        """Nothing."""


_YAML = _strict_yaml()
terminal.install()
profiles.install()
configfile.load_configfile = settings.load_configfile = _read_config
if (_cli := sys.modules.get("snakemake.cli")) is not None and hasattr(_cli, "parse_config"):
    vars(_cli)["parse_config"] = _checking(_cli.parse_config)
