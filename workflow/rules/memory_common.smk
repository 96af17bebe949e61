# Memory of every step, from its size and one table of costs, and how much may be taken at one time.

from functools import cache

from snakemake.settings.enums import Quietness

from frugal.run.memory import free_memory_mb
from frugal.run.plans import load_costs, sized, stated_memory_mb
from frugal.run.job_sizes import config_sizes

COSTS = PROJECT / "config" / "costs.yaml"
UNIT_COSTS = checked(load_costs, COSTS)

ENGINE_MB = 250  # Snakemake itself: 198 seen over the 144 jobs of the default


@cache
def job_sizes():
    """What the config says of the size of its jobs; asked for once all studies are read."""
    return config_sizes(
        STUDY,
        DADI,
        DIAGNOSIS,
        TREATMENT,
        RECOURSE,
        rows=UNIT_COSTS.rows,
        portions=PORTIONS,
        own_records=None if config["records"] is None else OWN_RECORDS.size,
    )


def memory(wildcards, attempt, rulename):
    """MB of a job by its size, with room, more at a further attempt; every rule states it.

    A job that is submitted (Slurm) also holds the Snakemake that runs it.
    """
    job = sized(own_name(rulename), dict(wildcards.items()), job_sizes())
    mb = stated_memory_mb(job, UNIT_COSTS)
    return (mb if workflow.local_exec else mb + ENGINE_MB) * attempt


def limit_memory():
    """Jobs that run at one time on this machine get no more together than it has left.

    `--resources mem_mb=…`, or `resources:` in a profile, comes first. Snakemake counts a job that
    needs more than the limit as one that takes all of it: it runs alone.
    """
    if workflow.is_main_process and "mem_mb" not in workflow.global_resources:
        left = max(1, free_memory_mb() - ENGINE_MB)
        workflow.register_resource("mem_mb", left)
        if workflow.scheduler is not None:  # made before it was told
            workflow.scheduler.global_resources["mem_mb"] = left


# With `--jobs` steps may be submitted to other machines; the executor is not known before the start
if workflow.resource_settings.nodes is None:
    limit_memory()


def say_too_large(jobs):
    """A line on the terminal that names the steps with a job too large for this machine."""
    if Quietness.ALL in (workflow.output_settings.quiet or ()):
        return
    limit = workflow.global_resources["mem_mb"].value
    needs = {}
    for job in jobs:
        if job.rule.name not in workflow.resource_settings.overwrite_resources:
            need = memory(job.wildcards, 1, job.rule.name)
            needs[job.rule.name] = max(need, needs.get(job.rule.name, 0))
    if too_large := [f"{k} ({mb} MB)" for k, mb in needs.items() if mb > limit]:
        print(
            f"Memory: {limit} MB are what jobs may take here (free on this machine, or "
            f"--resources mem_mb); more is needed by {', '.join(too_large)}: such a job runs "
            "alone, and may be slow or killed",
            file=sys.stderr,
            flush=True,
        )
