# With `records`, everything made of them lies in its own folder.

from frugal.core.errors import FrugalError
from frugal.run.own_records import own_records

try:
    OWN_RECORDS = own_records(config, PROJECT, Path.cwd())
except FrugalError as error:
    sys.exit(f"Frugal cannot start: {error}")
if not MODULE:
    OWN_FOLDER = os.path.relpath(OWN_RECORDS.folder)
    move_to(OWN_RECORDS.folder)
