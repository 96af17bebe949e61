# With `records`, everything made of them lies in its own folder.

from frugal.core.errors import FrugalError
from frugal.run.own_records import SearchFiles, search_files


def own_records():
    """The files, as JSON can hold them; with a store by their paths from here."""
    files = vars(search_files(config, PROJECT, Path.cwd()))
    size = files.pop("size")
    paths = {name: canonical(path) if STORED else str(path) for name, path in files.items()}
    return {"paths": paths, "size": size}


try:
    OWN_RECORDS = FACTS.once("own_records", {}, own_records)
except FrugalError as error:
    sys.exit(f"Frugal cannot start: {error}")
OWN_RECORDS = SearchFiles(
    size=tuple(OWN_RECORDS["size"]),
    **{name: Path(path) for name, path in OWN_RECORDS["paths"].items()},
)
if not MODULE:
    OWN_FOLDER = canonical(OWN_RECORDS.folder)
    move_to(OWN_RECORDS.folder)
