# Whether results lie in a store (`--default-storage-provider`, docs/how-to/storage.md), and what a job on another
# machine receives, where it cannot look itself.

import hashlib
import json

from frugal_store import OURS
from frugal_workers import StartFacts, canonical, go_back, move_into

STORED = workflow.storage_settings.default_storage_provider is not None
OWN_FOLDER = None  # of one's own table or records; with a store the working folder stays

go_back()


def move_to(folder):
    """Make the folder of one's own table or records the working folder; without --directory `workdir` does."""
    folder.mkdir(parents=True, exist_ok=True)
    if not MODULE and not STORED:
        move_into(folder, now=workflow.overwrite_workdir is not None)


def facts_file():
    """The file of what one start has found out; another config is another start."""
    key = json.dumps([MODULE_PREFIX, config], sort_keys=True, default=str)
    return OURS / f"facts-{hashlib.sha256(key.encode()).hexdigest()[:12]}.json"


FACTS = StartFacts(facts_file(), recall=STORED and not workflow.is_main_process)
