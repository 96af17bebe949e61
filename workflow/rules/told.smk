# Whether results lie in a store (`--default-storage-provider`, docs/storage.md), and what a job on another
# machine is told, where it cannot look itself.

from frugal_store import OURS
from frugal_workers import Told, canonical

STORED = workflow.storage_settings.default_storage_provider is not None
TOLD = Told(
    OURS / f"told{MODULE_PREFIX.replace('/', '-')}.json",
    recall=STORED and not workflow.is_main_process,
)
OWN_FOLDER = (
    None  # of one's own table or records; with a store the working folder stays
)
