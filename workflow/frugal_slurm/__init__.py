"""Snakemake's executor for Slurm, for what clusters do: jobs that end, wait or are left behind.

`snakemake-executor-plugin-slurm` submits, and is left to. What it says of a job's end is replaced:

- `cluster`: what Slurm says of jobs, why they ended, and what they wait for;
- `notes`: what was submitted, so that a later start finds what a killed Snakemake left running;
- `causes`: what stands last on the terminal;
- `executor`: all of these in the plugin's place. Only it imports Snakemake.

Made for the versions that the lock pins; tests/unit/test_replaced.py fails where others differ.
"""

import sys
from pathlib import Path

NOTES = Path(".snakemake/slurm_jobs")


def adapt_executor() -> None:
    """From now on `executor` asks Slurm and judges failures; without the plugin nothing is done."""
    from snakemake_interface_executor_plugins.registry import ExecutorPluginRegistry

    if ExecutorPluginRegistry().is_installed("slurm"):
        from frugal_slurm.executor import Executor

        registered = ExecutorPluginRegistry().get_plugin("slurm")
        registered.executor = Executor  # type: ignore[attr-defined]


def tell_jobs_left() -> None:
    """A line where this start runs steps on this machine, and an earlier one left some in Slurm."""
    from frugal_slurm.notes import Notes

    if line := Notes(NOTES).line_elsewhere():
        print(line, file=sys.stderr)
