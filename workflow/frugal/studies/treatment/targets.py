"""`snakemake search --config records=my.yaml`: the files of a run on one's own searches."""

from pathlib import Path

from frugal.core.studies import RecordFiles, RecordsTarget, require_named_file


def search_files(path: Path, folder: Path) -> RecordFiles:
    """The records that the YAML names, read and checked; results in `results/search/NAME`.

    Raises:
        ConfigError, DataError: of the YAML, or of the records.
        SearchSizeError: their tables would take too much memory.
    """
    from frugal.studies.treatment.data.own_records import load_records_description, read_own_records
    from frugal.studies.treatment.search.own_policies import require_memory

    described = load_records_description(path)
    require_named_file(path, "file", described.file, described.document["file"])
    records = read_own_records(described, described.file)
    require_memory(records, described)
    inputs = {"description": path, "records": described.file.absolute()}
    place = folder / "results" / "search" / described.document["name"]
    return RecordFiles("search", inputs, place)


SEARCH = RecordsTarget(
    name="search", doc="own records: which treatment to try next", files=search_files
)
