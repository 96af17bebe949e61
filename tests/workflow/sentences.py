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
AGAIN = "Trying to restart job"
ENVIRONMENT_MADE = "Creating conda environment"
PINS_USED = "Using pinnings from"
POST_DEPLOYED = "Running post-deploy script"
ACTIVATED = "Activating conda environment: "
