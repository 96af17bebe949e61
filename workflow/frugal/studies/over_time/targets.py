"""`snakemake over_time --config records=my.yaml`: the files of a run on one's own records."""

from pathlib import Path

from frugal.core.errors import ConfigError
from frugal.core.schema_check import read_yaml
from frugal.core.studies import RecordFiles, RecordsTarget, require_named_file


def timed_files(path: Path, folder: Path) -> RecordFiles:
    """Both tables that the YAML names; results in `results/over_time/NAME`.

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
        require_named_file(path, f"{name}.file", inputs[name], written)
    units_file(keys, inputs["units"])
    return RecordFiles("over_time", inputs, folder / "results" / "over_time" / keys.name)


OVER_TIME = RecordsTarget(
    name="over_time",
    doc="records over time: when to measure again",
    files=timed_files,
    key="measurements",
)
