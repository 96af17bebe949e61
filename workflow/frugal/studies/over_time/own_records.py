"""The files of a run on one's own records over time: `snakemake over_time`.

Read by the Snakefile, so what reads the files is imported where they are there.
"""

from pathlib import Path

from frugal.core.errors import ConfigError
from frugal.core.schema_check import read_yaml
from frugal.run.own_records import RecordFiles, require_file

KEY = "measurements"  # of such a YAML
TARGET = "over_time"


def record_files(path: Path, folder: Path) -> RecordFiles:
    """Inputs and folder of the run, of a YAML that has the key.

    Raises:
        ConfigError, DataError: the YAML or the file of units is invalid.
    """
    from frugal.studies.over_time.config import TimedDataset
    from frugal.studies.over_time.data import units_file

    keys = TimedDataset.read(read_yaml(path), where=str(path))
    if not keys.plans:
        raise ConfigError(
            f"{path}: 'plans' is missing; allowed are one or more schedules or rules, see "
            "docs/how-to/over_time.md"
        )
    inputs = {"description": path}
    for name in ("measurements", "units"):
        written = getattr(keys, name).file
        inputs[name] = (path.parent / written).absolute()
        require_file(path, f"{name}.file", inputs[name], written)
    units_file(keys, inputs["units"])
    return RecordFiles(TARGET, inputs, folder / "results" / TARGET / keys.name)
