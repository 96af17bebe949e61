"""What the workflow calls as it starts: the executor in its place, and what is left in Slurm."""

import sys
from pathlib import Path

from snakemake_interface_executor_plugins.registry import ExecutorPluginRegistry

from frugal_slurm.notes import Notes

NOTES = Path(".snakemake/slurm_jobs")


def adapt_executor() -> None:
    """From now on `executor` asks Slurm and judges failures; without the plugin nothing is done."""
    if ExecutorPluginRegistry().is_installed("slurm"):
        from frugal_slurm.executor import adapt_slurm_executor

        adapt_slurm_executor()


def tell_jobs_left() -> None:
    """A line where this start runs steps on this machine, and an earlier one left some in Slurm."""
    if line := Notes(NOTES).line_elsewhere():
        print(line, file=sys.stderr)
