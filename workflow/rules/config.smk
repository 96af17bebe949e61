# Where the project lies, and its config. Config files are read strictly before Snakemake merges them: a
# key that is written twice, for example, would silently lose its first value. Those of `--configfile` it has
# read by now; what it cannot read at all is refused before by the logger of profiles/default
# (workflow/snakemake_logger_plugin_frugal).

import sys

from snakemake.sourcecache import LocalSourceFile

if not isinstance(workflow.current_basedir, LocalSourceFile):
    sys.exit(
        f"Frugal cannot start: its workflow is {workflow.current_basedir}; allowed is a folder on this "
        "machine, for its steps are a Python package: clone it, and name its workflow/Snakefile"
    )
PROJECT = Path(str(workflow.current_basedir)).parents[1]
SOURCES = PROJECT / "workflow"
if not (SOURCES / "frugal").is_dir():  # installed from a wheel: PROJECT is frugal/project
    SOURCES = PROJECT.parents[1]
sys.path.insert(0, str(SOURCES))

from frugal.core.errors import ConfigError
from frugal.core.declarations import PACKAGE
from frugal.run.config_files import laid_over, read_config_file, typed_entries

if PACKAGE != (SOURCES / "frugal").resolve():
    sys.exit(
        f"Frugal cannot start: this run has loaded {PACKAGE}, and the workflow is that of {SOURCES}; "
        "allowed is one copy of the project in a run"
    )


def strict(path):
    """The path, or the end of the run with what is wrong in the file."""
    try:
        read_config_file(Path(path))
    except ConfigError as error:
        sys.exit(f"Frugal cannot start: {error}")
    return str(path)


def typed_words():
    """Lists and mappings of `--config`, in which Snakemake takes every number for a text."""
    try:
        settings = workflow.config_settings
        return typed_entries(settings.config_args or (), settings.config)
    except ConfigError as error:
        sys.exit(f"Frugal cannot start: {error}")


def paper_configs():
    """Those of the papers' sizes that are there."""
    names = ("", "_dadi", "_treatment", "_diagnosis", "_recourse")
    paths = [PROJECT / "config" / f"paper{name}.yaml" for name in names]
    return [path for path in paths if path.is_file()]


def with_defaults(overlay):
    """A module's config over the project's files, in the order in which Snakemake merges them."""
    merged = dict(overlay)
    waiting = [PROJECT / "config.yaml"]
    for path in waiting:
        merged = laid_over(laid_over(merged, read_config_file(Path(strict(path)))), overlay)
        if len(waiting) == 1:
            waiting += paper_configs() if merged["scale"] == "paper" else []
            waiting += [PROJECT / "config/decide.yaml"] if merged["table"] else []
    return merged
