# Where `table` is given, that table is the only one, and everything of it lies in its own folder.

import os

from frugal.core.errors import FrugalError
from frugal.run.own_table import decision

try:
    OWN_TABLE = decision(config, PROJECT, Path.cwd(), Path(PREFIX) if MODULE else None)
except FrugalError as error:
    sys.exit(f"Frugal cannot start: {error}")
for remark in OWN_TABLE.remarks:
    logger.warning(f"Frugal: {remark}")
config.clear()
config.update(OWN_TABLE.config)
OWN_TABLE.folder.mkdir(parents=True, exist_ok=True)
if not MODULE and workflow.overwrite_workdir is not None:  # else `workdir` does it
    os.chdir(OWN_TABLE.folder)
