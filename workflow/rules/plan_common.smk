# What a run will take, and what Snakemake itself took, for the rules and hooks of plan.smk.

from snakemake.settings.enums import Quietness

from frugal.run.memory import used

# Of the files in which rules stand; all others are those of afape, the first study.
STUDY_OF_FILE = {
    "treatment": "treatment",
    "recourse": "recourse",
    "dadi": "dadi",
    "diagnosis": "diagnosis",
}


def study_words():
    """`--study NAME=STUDY` for each step that measures itself."""
    words = ["--study", "engine=engine"]
    for each in workflow.rules:
        if "used" in each.log.keys():
            study = STUDY_OF_FILE.get(Path(str(each.snakefile)).stem, "afape")
            words += ["--study", f"{each.name}={study}"]
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
    from frugal.run.plans import plan_lines, planned

    steps = steps_to_run()
    if not steps or Quietness.ALL in (workflow.output_settings.quiet or ()):
        return
    jobs = [sized(job.rule.name, dict(job.wildcards.items()), job_sizes()) for job in steps]
    plan = planned(jobs, UNIT_COSTS)
    cores = workflow.resource_settings.cores or workflow.resource_settings.nodes or 1
    lines = list(plan_lines(plan, cores=int(cores), measured_on=UNIT_COSTS.measured_on))
    shown = lines if config["scale"] == "paper" else lines[:1]
    print("\n".join(shown), file=sys.stderr, flush=True)


def say_results():
    """What came out: the answers of the study and of the report, and where everything lies."""
    named = {job.rule.name for job in workflow.dag.jobs}
    answer = "results/summary/verdict.txt"
    if named & {"decide", "search"}:
        answer = "results/verdict.txt"
    if named & {"afape", "decide", "search"} and (told := result_text(answer)):
        print(f"\n{told}", file=sys.stderr)
    for study in ("diagnosis", "dadi", "treatment", "recourse"):
        section = f"{EXPLORED}/study={study}/section.json"
        if f"explore_{study}" in named and (told := result_text(section)):
            print(said_of(study, told), file=sys.stderr)
        elif study == "dadi" and study in named:
            for path in DADI.answer_files("verdict.txt"):
                if told := result_text(path):
                    print(f"\n{told}", file=sys.stderr)
        elif study in named:
            print(f"{study} → {shown(f'results/summary/{study}.parquet')}", file=sys.stderr)
    if "report" in named and is_there("results/report.html"):
        print(f"All of it: {shown('results/report.html')}", file=sys.stderr)


def said_of(study, section):
    """The report's answers of a study, a line for each."""
    answers = json.loads(section)["answers"]
    said = [
        f"{study}, {answer['title']}: {answer['sentence']} ({answer['trust']})"
        for answer in answers
    ]
    return "\n".join([*said, f"  → {shown(f'results/summary/{study}.parquet')}"])


def note_engine():
    """The CPU time of Snakemake itself, without its jobs, as one more measurement, and all sizes."""
    path = Path(own_prefix(), "benchmarks/engine.jsonl")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(used(children=False) | {"ended": "done"}) + "\n")
    path.with_name("sizes.json").write_text(json.dumps(job_sizes(), indent=1) + "\n")
