# What the rules of steps are written in: places, outputs with their manifest, logs, parameters.

DATASET = "dataset={dataset}"
SCENARIO = f"{DATASET}/mechanism={{mechanism}}"
AGENT = f"{SCENARIO}/agent={{agent}}"
EXPLORED = "results/explorer"  # parts of the report
CATEGORIES = {  # of figures in Snakemake's own report
    "afape": "afape: acquisition policies judged under missing data",
    "dadi": "dadi: fair acquisition against an adversary",
    "diagnosis": "diagnosis: which panels to order, for every budget",
    "recourse": "recourse: cheapest actions, proven and learnt",
    "treatment": "treatment: searches for a near-optimal treatment",
}


def cases_of(study):
    """The files of the report that hold units of a study step by step."""
    return [f"{EXPLORED}/study={study}/{place}/cases.json" for place in CASES.get(study, ())]


def outputs_of(rule, names):
    """Outputs of an earlier rule as inputs of the same names."""
    return {name: getattr(rule.output, name) for name in names.split()}


def audited(folder=None, names="", **paths):
    """Outputs and the job's manifest, kept until replaced; in a folder each is named as its file.

    A file without an ending is a table, NAME.parquet.
    """
    files = [name if "." in name else f"{name}.parquet" for name in names.split()]
    paths = {file.partition(".")[0]: f"{folder}/{file}" for file in files} | paths
    manifest = str(manifest_path(Path(next(iter(paths.values())))))
    return {name: kept(path) for name, path in (paths | {"manifest": manifest}).items()}


def summarised(study, names):
    """Tables of a whole study as outputs: its summary, and others with their name behind."""
    files = {name: study if name == "summary" else f"{study}_{name}" for name in names.split()}
    return audited(**{name: f"results/summary/{file}.parquet" for name, file in files.items()})


class Arguments(str):
    """What follows the name of a stage on its command line, and that name."""

    stage: str


def stage_params(stage, settings):
    """Parameters of a step: what decides it, its command line, and the digest of its sources.

    Snakemake compares only parameters that follow from wildcards alone. `arguments` also names
    inputs and outputs, so seed and settings are a parameter as well: a changed one
    runs the step again.
    """
    chosen = settings if callable(settings) else lambda wildcards: settings

    def arguments(wildcards, input, output):
        payloads = {k: bare(v) for k, v in output.items() if k != "manifest"}
        files = {
            k: bare(v) if isinstance(v, str) else [bare(path) for path in v]
            for k, v in input.items()
        }
        arguments = (files, payloads, keys_of(dict(wildcards.items())))
        decided = (chosen(wildcards), config["seed"], config["arithmetic"])
        long = Path(os.path.abspath(OURS / "settings"))  # for settings too long for a line
        line = Arguments(shell_line(stage_words(*arguments, *decided), long))
        line.stage = stage
        return line

    return {
        "settled": lambda w: settled_words(config["seed"], chosen(w), config["arithmetic"]),
        "arguments": arguments,
        "source": lambda w: source_digest(stage, chosen(w)),
    }


def figure_outputs(stage, place, **labels):
    """PNG and its table as a page (both in the report), PDF and table of each figure, audited."""
    parts = dict(part.split("=") for part in place.split("/"))
    study = parts.get("study", "afape")
    labels = {name: value for name, value in parts.items() if "{" in value} | labels
    outputs = {}
    for name in figures_of(stage):
        captioned = f"treatment_{name}" if study == "treatment" else name
        there = Path(PROJECT, f"workflow/report/{captioned}.rst").exists()
        files = figure_files(name, f"results/figures/{place}")
        for kind, shown in (("png", "figure"), ("page", "table")):
            files[f"{name}_{kind}"] = report(
                files[f"{name}_{kind}"],
                caption=f"../report/{captioned if there else 'figure'}.rst",
                category=CATEGORIES.get(study, study),
                labels={"figure": name.replace("_", " "), **labels, "shown": shown},
            )
        outputs |= files
    return audited(**outputs)


def pictures(stage, place, **values):
    """The PNGs of a step, of every combination of values."""
    names = figures_of(stage)
    return expand(f"results/figures/{place}/{{name}}.png", **values, name=names)


def complete_steps():
    """Give each step what follows from its name, its outputs and its settings: logs and parameters.

    Logs are named as the step and the parts of its output's path that hold wildcards.
    """
    for step in workflow.rules:
        if step.module_globals is not globals() or "settings" not in step.params.keys():
            continue
        stage = own_name(step.name)
        constrain(step)
        path = getattr(rules, stage).output[0] if step.output else ""
        place = Path(stage, *(part for part in Path(path).parts if "{" in part)).as_posix()
        if not step.log:  # which a module's user may have named
            step.log_modifier = MODIFIER.path_modifier
            step.set_log(
                messages=log_place(f"logs/{place}.log"),
                used=log_place(f"benchmarks/{place}.jsonl"),
            )
        params = stage_params(stage, step.params.settings)
        step.params.settings = params.pop("settled")
        step.set_params(**params)
