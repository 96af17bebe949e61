# Whether results lie in a store (`--default-storage-provider`, docs/how-to/storage.md), and what a job on another
# machine is told, where it cannot look itself.

import hashlib
import json
import os

from frugal_store import OURS
from frugal_workers import Told, canonical

STORED = workflow.storage_settings.default_storage_provider is not None
OWN_FOLDER = (
    None  # of one's own table or records; with a store the working folder stays
)

# A step of a job in Slurm begins where its job has moved to: it goes back, to move as every process does.
if os.environ.get("FRUGAL_MOVED_TO") == os.getcwd():
    os.chdir(os.environ["FRUGAL_STARTED_IN"])


def move_to(folder):
    """Make the folder of one's own table or records the working folder; without --directory `workdir` does."""
    folder.mkdir(parents=True, exist_ok=True)
    if MODULE or STORED:
        return
    os.environ["FRUGAL_STARTED_IN"] = os.getcwd()
    os.environ["FRUGAL_MOVED_TO"] = os.path.realpath(folder)
    if workflow.overwrite_workdir is not None:
        os.chdir(folder)


def told_file():
    """Where it stands what one start has found out: another config is another start."""
    asked = json.dumps([MODULE_PREFIX, config], sort_keys=True, default=str)
    return OURS / f"told-{hashlib.sha256(asked.encode()).hexdigest()[:12]}.json"


TOLD = Told(told_file(), recall=STORED and not workflow.is_main_process)
