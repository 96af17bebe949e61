"""Checks the command line's configs before Snakemake reads them; acts only where it is chosen.

Snakemake imports every installed package of this name at each start, also those of other workflows,
so the import does nothing. `profiles/default` chooses this logger (`logger: frugal`), and
Snakemake then makes the handler before it reads the files of `--configfile`: files nested 10,000
deep would end in a traceback there, aliases of aliases take all memory, and `__use_yte__: true`
runs Python. What the terminal shows is in `terminal.py`, which the Snakefile calls.
"""

import argparse
import importlib.util
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from snakemake_interface_logger_plugins.base import LogHandlerBase

_STRICT = Path(__file__).parents[1] / "frugal" / "core" / "strict_yaml.py"
_NO = property(lambda _: False)


class LogHandler(LogHandlerBase):
    """Ends the start with a sentence where a config would hurt; writes no log itself."""

    writes_to_stream = writes_to_file = has_filter = has_formatter = needs_rulegraph = _NO

    def __post_init__(self) -> None:
        """Check the command line of this start."""
        require_harmless(sys.argv[1:])

    def emit(self, record: logging.LogRecord) -> None:
        """Nothing."""


def require_harmless(words: Sequence[str]) -> None:
    """End the program where a file of `--configfile` or a value of `--config` is refused.

    Args:
        words: of Snakemake's command line.

    Raises:
        SystemExit: with the sentence.
    """
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--configfile", "--configfiles", nargs="+", action="extend", default=[])
    parser.add_argument("--config", "-C", nargs="*", action="extend", default=[])
    end = words.index("--") if "--" in words else len(words)
    given, _ = parser.parse_known_args(words[:end])
    yaml, key = _strict_yaml(), ""
    try:
        for path in given.configfile:
            yaml.read_config_file(Path(path))
        for entry in given.config:
            name, _, value = entry.partition("=")
            key = f"--config {name}: "
            yaml.require_word(value)
    except yaml.StrictYamlError as error:
        sys.exit(f"Frugal cannot start: {key}{error}")


def _strict_yaml() -> ModuleType:
    """The reader by its path: importing the package here would fix which copy a Snakefile gets."""
    spec = importlib.util.spec_from_file_location("_frugal_strict_yaml", _STRICT)
    if spec is None or spec.loader is None:
        raise ImportError(f"{_STRICT} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
