"""Puts the executor in place where Snakemake has the plugin for Slurm."""

from snakemake_interface_executor_plugins.registry import ExecutorPluginRegistry


def adapt_executor() -> None:
    """From now on `executor` asks Slurm and judges failures; without the plugin nothing is done."""
    if ExecutorPluginRegistry().is_installed("slurm"):
        from frugal_slurm.executor import adapt_slurm_executor

        adapt_slurm_executor()
