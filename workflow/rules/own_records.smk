# Where `records` is given, everything made of them lies in its own folder.

import os

from frugal.core.errors import FrugalError
from frugal.run.own_records import search_files

try:
    OWN_RECORDS = search_files(config, PROJECT, Path.cwd())
except FrugalError as error:
    sys.exit(f"Frugal cannot start: {error}")
if not MODULE:
    OWN_RECORDS.folder.mkdir(parents=True, exist_ok=True)
    if workflow.overwrite_workdir is not None:  # else `workdir` does it
        os.chdir(OWN_RECORDS.folder)
