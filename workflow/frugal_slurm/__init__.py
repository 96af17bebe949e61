"""Snakemake's executor for Slurm, taught what clusters do: jobs that end, wait or are left behind.

`snakemake-executor-plugin-slurm` submits, and is left to. What it says of a job's end is replaced:

- `states`: what Slurm says of jobs, with an accounting database or without;
- `ends`: why a job ended, and whether more memory or time would help;
- `waiting`: which jobs wait for something that will not come by itself;
- `notes`: what was submitted, so that a later start finds what a killed Snakemake left running;
- `causes`: what stands last on the terminal;
- `jobs`: names and files of Snakemake's jobs;
- `executor`: all of these in the plugin's place. Only it imports Snakemake; `install` calls it.

Made for the versions that the lock pins; tests/workflow/test_slurm.py tells where others
differ.
"""
