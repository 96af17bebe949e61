# With `table`, that table is the only one, and everything of it lies in its own folder.

from frugal.core.errors import FrugalError
from frugal.run.own_table import decision

try:
    OWN_TABLE = decision(config, PROJECT, Path.cwd(), Path(MODULE_PREFIX) if MODULE else None)
except FrugalError as error:
    sys.exit(f"Frugal cannot start: {error}")
if workflow.is_main_process:
    for remark in OWN_TABLE.remarks:
        logger.warning(f"Frugal: {remark}")
config.clear()
config.update(OWN_TABLE.config)
OWN_FOLDER = OWN_TABLE.place.as_posix()
move_to(OWN_TABLE.folder)
