# The memory and run time of every step, what a run will take, and what Snakemake itself took. All of it follows from the config and config/costs.yaml.

import re
from collections import Counter

from snakemake.settings.enums import Quietness

from frugal.run.memory import free_memory_mb, used
from frugal.run.plans import load_costs, plan_lines

COSTS = PROJECT / "config" / "costs.yaml"
MEASURED = checked(load_costs, COSTS)
ENGINE_MB = 250  # Snakemake itself: 198 seen over the 144 jobs of the default


def memory(wildcards, attempt, rulename):
    """MB of a job, as its step was measured, with room; doubled at a further attempt.

    A job that is submitted to a cluster also holds the Snakemake that runs it.
    """
    mb = MEASURED.stated_mb(own_name(rulename), attempt)
    return mb if workflow.local_exec else mb + ENGINE_MB


def minutes(wildcards, attempt, rulename):
    """Run time that a cluster is asked for, doubled at a further attempt."""
    return MEASURED.stated_minutes(own_name(rulename), attempt)


def limit_memory():
    """Jobs that run at one time on this machine get no more together than it has left.

    `--resources mem_mb=…`, or `resources:` in a profile, comes first. Snakemake counts a job that
    needs more than the limit as one that takes all of it: it runs alone.
    """
    if workflow.is_main_process and "mem_mb" not in workflow.global_resources:
        left = max(1, free_memory_mb() - ENGINE_MB)
        workflow.register_resource("mem_mb", left)
        if workflow.scheduler is not None:  # made before
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


def study_words():
    """`--study NAME=STUDY` for each step that measures itself; rules of no study are of afape."""
    studies = {path.name for path in PACKAGE.glob("studies/*/")}
    words = ["--study", "engine=engine"]
    for each in workflow.rules:
        if "used" in each.log.keys():
            file = Path(str(each.snakefile)).stem
            words += ["--study", f"{each.name}={file if file in studies else 'afape'}"]
    return shlex.join(words)


def steps_to_run():
    """The jobs of this very run that are steps; not those that only read or show what steps made."""
    return [
        job
        for job in workflow.dag.needrun_jobs()
        if not job.rule.norun and job.rule.name not in workflow._localrules
    ]


def say_plan():
    """The estimate of this very run on the terminal, from the jobs that will run."""
    steps = steps_to_run()
    if not steps or Quietness.ALL in (workflow.output_settings.quiet or ()):
        return
    jobs = Counter(own_name(job.rule.name) for job in steps)
    cores = workflow.resource_settings.cores or workflow.resource_settings.nodes or 1
    lines = list(plan_lines(jobs, cores=int(cores), costs=MEASURED))
    shown = lines if config["scale"] == "paper" else lines[:1]
    print("\n".join(shown), file=sys.stderr, flush=True)


def say_results():
    """What came out: the answers of the study and of the report, and where everything lies."""
    named = {job.rule.name for job in workflow.dag.jobs}
    of_one = {"decide", "search", "over_time"}
    if named & of_one and (text := result_text("results/verdict.txt")):
        print(f"\n{text}", file=sys.stderr)
    for study in PROMISED:
        section = f"{EXPLORED}/study={study}/section.json"
        if f"explore_{study}" in named and (text := result_text(section)):
            print(short_section(study, text), file=sys.stderr)
        elif study in ANSWER_TEXTS and study in named:
            for path in ANSWER_TEXTS[study]:
                if text := result_text(path):
                    print(f"\n{text}", file=sys.stderr)
        elif study in named:
            print(f"{study} → {shown(f'results/summary/{study}.parquet')}", file=sys.stderr)
    if "report" in named and (STORED or Path("results/report.html").exists()):
        print(f"Report: {shown('results/report.html')}", file=sys.stderr)


def short_section(study, section):
    """The report's answers of a study, a line for each."""
    answers = json.loads(section)["answers"]
    lines = [
        f"{study}, {answer['title']}: {answer['sentence']} ({answer['trust']})"
        for answer in answers
    ]
    return "\n".join([*lines, f"  → {shown(f'results/summary/{study}.parquet')}"])


def note_engine():
    """The CPU time of Snakemake itself, without its jobs, as one more measurement."""
    path = Path(own_prefix(), "benchmarks/engine.jsonl")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(used(children=False) | {"ended": "done"}) + "\n")
