"""Makes Snakemake read configs as JSON or YAML only, never as a program.

Snakemake runs the Python in a config that says `__use_yte__: true`, before it reads any Snakefile.
It imports packages of this name earlier still, when it makes its command line; so the reader of
configs is replaced here, for every run of the Snakemake in whose environment this project is
installed. It logs nothing.
"""

import sys
from pathlib import Path
from typing import Any

from snakemake.common import configfile
from snakemake_interface_logger_plugins.base import LogHandlerBase

# A plugin must have one; this one says nothing.
_NOTHING = {
    "emit": lambda self, record: None,
    **dict.fromkeys(("writes_to_stream", "writes_to_file", "needs_rulegraph"), False),
    **dict.fromkeys(("has_filter", "has_formatter"), True),
}
LogHandler = type("LogHandler", (LogHandlerBase,), _NOTHING)


def read_config(path: str | Path) -> Any:
    """What a config holds.

    Raises:
        SystemExit: it is not there, or no YAML that this project accepts, in one sentence.
    """
    from frugal.contracts.errors import ConfigError
    from frugal.data.config_files import read_config_file

    try:
        return read_config_file(Path(path))
    except ConfigError as error:
        sys.exit(f"Frugal cannot start: {error}")


configfile._load_configfile = read_config
