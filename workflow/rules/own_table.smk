# With `table`, that table is the only one, and everything of it lies in its own folder.

from frugal.core.errors import FrugalError
from frugal.run.own_table import Decision, decision


def own_table():
    """What is decided on the table, as JSON can hold it.

    With a store jobs see the working folder as it is, so its files are named from there.
    """
    within = Path(MODULE_PREFIX) if MODULE else None
    decided = decision(config, PROJECT, Path.cwd(), within)
    if STORED:
        named = decided.config["datasets"]
        named[decided.dataset] = canonical(named[decided.dataset])
        decided.config["afape"]["answer"]["instead"][decided.dataset].pop("source", None)
        if decided.config["causes"] is not None:
            decided.config["causes"] = canonical(decided.config["causes"])
    return {**vars(decided), "place": str(decided.place), "folder": None}


try:
    OWN_TABLE = FACTS.once("own_table", {}, own_table)
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
