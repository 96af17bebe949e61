# Whether results lie in a store (`--default-storage-provider`, docs/how-to/storage.md), and what a job on another
# machine is told, where it cannot look itself.

import hashlib
import json

from frugal_store import OURS
from frugal_workers import Told, canonical, go_back, move_into

STORED = workflow.storage_settings.default_storage_provider is not None
OWN_FOLDER = None  # of one's own table or records; with a store the working folder stays

go_back()


def move_to(folder):
    """Make the folder of one's own table or records the working folder; without --directory `workdir` does."""
    folder.mkdir(parents=True, exist_ok=True)
    if not MODULE and not STORED:
        move_into(folder, now=workflow.overwrite_workdir is not None)


def told_file():
    """Where it stands what one start has found out: another config is another start."""
    asked = json.dumps([MODULE_PREFIX, config], sort_keys=True, default=str)
    return OURS / f"told-{hashlib.sha256(asked.encode()).hexdigest()[:12]}.json"


TOLD = Told(told_file(), recall=STORED and not workflow.is_main_process)
