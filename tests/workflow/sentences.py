"""Sentences that the tests and the checks of `.ci/` expect on a terminal, each written down once.

Standard library only: a check reads them before anything is installed. `tests/unit/test_checks.py`
shows that ours are what the code says, and that the others' stand in what is installed.
"""

import errno
import os
from pathlib import Path


def missing_column(description: Path) -> str:
    """What `prepare_data` says of the ten lines without `troponin`; its hint follows."""
    return f"frugal prepare_data: {description}: ten_lines.csv has no column 'troponin'"


# Of Frugal, of the operating system.
LOCKED = "Frugal cannot start: {folder}/ cannot be written to"
DISK_FULL = os.strerror(errno.ENOSPC)

# Of Snakemake and of its executor for Slurm.
SUBMITTED = "has been submitted with SLURM jobid"
ENVIRONMENT_MADE = "Creating conda environment"
PINS_USED = "Using pinnings from"
POST_DEPLOYED = "Running post-deploy script"
ACTIVATED = "Activating conda environment: "

# Ours, of what becomes of jobs in Slurm (`workflow/frugal_slurm`).
MEMORY = " of memory it requested; it comes again with more"
TIME = "minutes it requested; it comes again with more"
CANCELLED = "was cancelled in Slurm"
NODES_AWAY = "the nodes that could take it are not there"
TOO_LONG = "it needs more minutes than the partition allows"
WAITED_FOR = "are in Slurm still; they are waited for, not submitted again"
STALE = "would write what is made otherwise now; they are cancelled"
SILENT = "Slurm does not answer; its jobs go on, and it is asked again"
FORGETS = "this Slurm keeps no accounts, and forgets a job 5 s after its end"
