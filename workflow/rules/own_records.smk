# With `records`, everything made of them lies in its own folder.

from frugal.core.errors import FrugalError
from frugal.run.own_records import RecordFiles, own_records


def own_record_files():
    """The files, as JSON can hold them; with a store by their paths from here."""
    files = own_records(config, PROJECT, Path.cwd())
    paths = {"folder": files.folder, **files.inputs}
    paths = {name: canonical(path) if STORED else str(path) for name, path in paths.items()}
    return {"target": files.target, "paths": paths, "size": files.size}


try:
    OWN_RECORDS = FACTS.once("own_records", {}, own_record_files)
except FrugalError as error:
    sys.exit(f"Frugal cannot start: {error}")
OWN_PATHS = {name: Path(path) for name, path in OWN_RECORDS["paths"].items()}
OWN_RECORDS = RecordFiles(
    target=OWN_RECORDS["target"],
    folder=OWN_PATHS.pop("folder"),
    inputs=OWN_PATHS,
    size=tuple(OWN_RECORDS["size"]),
)
if not MODULE:
    OWN_FOLDER = canonical(OWN_RECORDS.folder)
    move_to(OWN_RECORDS.folder)
