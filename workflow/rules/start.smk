# Where a start works, and whether results lie in a store (`--default-storage-provider`,
# docs/how-to/storage.md).

from frugal_engine import go_back, move_into

OURS = Path(".snakemake/frugal")  # files of the engine's own, from the working folder on
STORED = workflow.storage_settings.default_storage_provider is not None
OWN_FOLDER = None  # of one's own table or records

go_back()


def move_to(folder):
    """Make the folder of one's own table or records the working folder; without --directory `workdir` does."""
    folder.mkdir(parents=True, exist_ok=True)
    if not MODULE:
        move_into(folder, now=workflow.overwrite_workdir is not None)
