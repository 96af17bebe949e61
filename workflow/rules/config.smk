# Config files are read strictly before Snakemake merges them: a key that is written twice, say, would
# silently lose its first value. Those of `--configfile` it has read by now; what it cannot read at
# all is refused before by `workflow/snakemake_logger_plugin_frugal`, where Frugal is installed.

import sys

SOURCES = Path(workflow.basedir, "workflow")
sys.path.insert(0, str(SOURCES))

from frugal.core.errors import ConfigError
from frugal.run.config_files import read_config_file


def strict(path):
    """The path, or the end of the run with what is wrong in the file."""
    try:
        read_config_file(Path(path))
    except ConfigError as error:
        sys.exit(f"Frugal cannot start: {error}")
    return path


for path in workflow.config_settings.configfiles or ():
    strict(path)
