# Where `table` is given, that table is the only one, and everything of it lies in its own folder.

from frugal.core.errors import FrugalError
from frugal.run.own_table import Decision, decision


def own_table():
    """What is decided on the table, as JSON can hold it.

    With a store jobs see the working folder as it is, so its files are named from there.
    """
    within = Path(MODULE_PREFIX) if MODULE else None
    found = decision(config, PROJECT, Path.cwd(), within)
    if STORED:
        named = found.config["datasets"]
        named[found.dataset] = canonical(named[found.dataset])
        found.config["afape"]["answer"]["instead"][found.dataset].pop("source", None)
        if found.config["causes"] is not None:
            found.config["causes"] = canonical(found.config["causes"])
    return {**vars(found), "place": str(found.place), "folder": None}


try:
    OWN_TABLE = TOLD.once("own_table", {}, own_table)
except FrugalError as error:
    sys.exit(f"Frugal cannot start: {error}")
OWN_TABLE = Decision(
    **OWN_TABLE | {"place": Path(OWN_TABLE["place"]), "folder": Path.cwd() / OWN_TABLE["place"]}
)
if workflow.is_main_process:
    for remark in OWN_TABLE.remarks:
        logger.warning(f"Frugal: {remark}")
config.clear()
config.update(OWN_TABLE.config)
OWN_FOLDER = OWN_TABLE.place.as_posix()
move_to(OWN_TABLE.folder)
