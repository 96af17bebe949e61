# What all steps share: the validated config, one shell line, figures.

import json
import os
import shlex
import sys
from functools import cache

from snakemake.settings.enums import RerunTrigger
from snakemake.settings.types import DeploymentMethod

from frugal.results.files import noted_digest
from frugal.results.replacing import require_no_way_out
from frugal.core.blocks import keys_of
from frugal.results.manifests import lock_digest, made_otherwise, manifest_path
from frugal.results.manifests import settled as settled_words
from frugal.results.sources import source_digest
from frugal.results.survey import survey, tidy_up
from frugal.core.errors import FrugalError
from frugal.run.stage_words import (
    figure_files,
    figures_of,
    require_plain_places,
    shell_line,
    stage_words,
)
from frugal.run.study import load_study, published_file
from frugal_engine import import_nothing_from_here, keep_finished_files, kept, make_again

keep_finished_files()
if not MODULE:  # whose jobs say so themselves
    import_nothing_from_here()


def cannot_start(error):
    """End the run with what is wrong, and the config files that may have it."""
    files = () if MODULE else workflow.config_settings.configfiles or ()
    names = [Path(path).name for path in files]
    sentence = str(error)
    if names and sentence.startswith("config: "):
        sentence = f"config ({', '.join(names)} over config.yaml): {sentence[8:]}"
    sys.exit(f"Frugal cannot start: {sentence}")


def checked(load, *arguments):
    """What a function returns; what it refuses ends the run."""
    try:
        return load(*arguments)
    except FrugalError as error:
        cannot_start(error)


checked(require_plain_places, PROJECT, os.getcwd())

STUDY = checked(load_study, config, PROJECT)
config.update(STUDY.config)  # with every default
for remark in STUDY.remarks():
    logger.warning(f"Frugal: {remark}")


# Targets that write nothing under results/
READING = {"audit", "plan", "benchmark", "claims", "rocrate"}


def require_writable(folder):
    """End the run before it plans anything if it could write nothing."""
    reads = workflow.dryrun or READING.intersection(sys.argv)
    if folder.exists() and not reads and not os.access(folder, os.W_OK):
        sys.exit(f"Frugal cannot start: {folder}/ cannot be written to")


require_writable(Path(PREFIX, "results"))


def look_over_results():
    """Before a run: finish what a killed writer began, and say what is missing or out of date.

    In a store nothing is half done, and nothing is said of it.
    """
    if STORED or not workflow.is_main_process:
        return  # one job of a run that has looked already
    try:
        with within():
            require_no_way_out()
            if not workflow.dryrun:
                tidy_up()
            surveyed = survey(lock_digest())
    except FrugalError as error:
        cannot_start(error)
    strict = config["environment"] == "strict"
    elsewhere = {PREFIX + path.as_posix() for path in surveyed.elsewhere if strict}

    def wanted(jobs):
        ours = own_jobs(jobs)
        moved = [job for job in ours if not elsewhere.isdisjoint(job.output)]
        return moved + unnoticed_changes(ours, surveyed)

    make_again(wanted, as_module=MODULE)
    for line in surveyed.lines(strict=strict):
        print(line, file=sys.stderr)


@cache
def outside_digest(path):
    """SHA-256 of a file from outside as it is; None where it is not there."""
    return noted_digest(Path(path), OURS / "digests") if os.path.isfile(path) else None


def digests_now(job, recorded):
    """Name of an input → SHA-256 of its files: of a result as its manifest states it."""
    digests = {}
    for name, value in job.input.items():
        paths = [value] if isinstance(value, str) else value
        digests[name] = [
            recorded.get(bare(path)) if is_made(bare(path)) else outside_digest(str(path))
            for path in paths
        ]
    return digests


def unnoticed_changes(jobs, surveyed):
    """Jobs whose files were made of something else than now, which Snakemake does not notice.

    It compares times, and parameters with its own notes in .snakemake; these are gone where results
    were copied, and tell nothing of a step that was run by hand.
    """
    if RerunTrigger.PARAMS not in workflow.rerun_triggers:
        return []
    changed = []
    for job in jobs:
        files = {name: bare(path) for name, path in job.output.items()}
        manifest = surveyed.manifests.get(files.pop("manifest", None))
        settled = job.params.get("settings")
        if None in (manifest, settled):
            continue
        now = (job.params.get("source"), digests_now(job, surveyed.digests))
        if made_otherwise(manifest, settled, files.values(), *now):
            if not workflow.persistence.params_changed(job):
                changed.append(job)
    if changed:
        print(
            f"{len(changed)} steps have files that were made with another seed, settings, code or "
            f"inputs than there are now, first {changed[0].output[0]}; they are made again",
            file=sys.stderr,
        )
    return changed


look_over_results()


def environment_words():
    """Where a job finds the package and, unless conda gives it one, this very Python."""
    words = [f"PYTHONPATH={shlex.quote(str(SOURCES))}", "OMP_NUM_THREADS=1", "PYTHONSAFEPATH=1"]
    if DeploymentMethod.CONDA not in workflow.deployment_settings.deployment_method:
        words.append(f'PATH={shlex.quote(str(Path(sys.executable).parent))}:"$PATH"')
    exports = f"export {' '.join(words)}; "
    return exports.replace("{", "{{").replace("}", "}}")  # Snakemake formats it


if not MODULE:
    shell.prefix(environment_words())


wildcard_constraints:
    dataset=r"[A-Za-z0-9_.-]+",
    mechanism=r"[A-Za-z0-9_.-]+",
    agent=r"[A-Za-z0-9_.-]+",
    file=r"[A-Za-z0-9_.+-]+",
    seeds=r"|/seeds=[0-9+-]+",  # a portion of a scenario, see plan_common.smk
    rows=r"|/rows=[0-9]+-([0-9]+|on)",


# To which the rules of each study add: where its raw files are published, the folders of its files
# from outside, the inputs of its target, its texts to read first, and the units of the report
PUBLISHED, OUTSIDE = [STUDY.fetch_settings], [STUDY.outside_folders]
PROMISED, ANSWER_TEXTS, CASES = {}, {}, {}
ALSO = []  # files of the default run that no study's target makes


def published(wildcards):
    """Where a raw file of any study is published; their settings are read by now."""
    return published_file(PUBLISHED, wildcards.dataset, wildcards.file)


def reported_studies():
    """The studies requested with the report; all of them if none is."""
    present = [study for study in PROMISED if workflow.is_rule(study)]
    return [s for s in present if s in workflow.dag_settings.targets] or present


def reported_files(wildcards):
    """What the reported studies promise."""
    return [path for study in reported_studies() for path in getattr(rules, study).input]


def engine_arguments(targets, *options):
    """Words that make a second Snakemake read the same workflow and config in this folder."""
    words = ["--snakefile", workflow.main_snakefile, "--cores", "1", "--nolock"]
    words += [*options, *store_words()]
    if files := workflow.config_settings.configfiles:
        words += ["--configfile", *map(str, files)]
    if overrides := workflow.config_settings.config_args:  # those of the first Snakemake
        words += ["--config", *overrides]
    return shlex.join([*words, "--", *targets])


def bundled_policy(wildcards):
    """What a bundle holds: of a table with folds the policies of all of them."""
    if not STUDY.folds(wildcards.dataset):
        return trained_policy(wildcards)
    scenario = f"dataset={wildcards.dataset}/mechanism={wildcards.mechanism}"
    place, graph = f"results/candidates/{scenario}", f"results/missingness/{scenario}/graph.json"
    if wildcards.agent not in STUDY.trained_agents:
        return trained_policy(wildcards) | {"graph": graph}
    choice = {"choice": f"{place}/choice.json"} if config["objective"] == "f1" else {}
    return {"policies": f"{place}/joined/policies.safetensors", "graph": graph} | choice


def candidates_of_folds(wildcards):
    """Policies that learned on all folds but one, for each fold."""
    place = f"results/candidates/dataset={wildcards.dataset}/mechanism={wildcards.mechanism}"
    folds = enumerate(STUDY.folds(wildcards.dataset))
    return {f"policies_{k}": f"{place}/held_out={fold}/policies.safetensors" for k, fold in folds}


def trained_policy(wildcards):
    """The stored policy of an agent that learns; nothing for the others."""
    paths = STUDY.policy_inputs(wildcards.dataset, wildcards.mechanism, [wildcards.agent])
    return {"policy": outside(path) for path in paths.values()}


def decided(wildcards):
    """The answer of the user's table; without one, a sentence on how to name it."""
    if config["table"] is None:
        cannot_start(
            "decide needs your table: --config table=my.yaml, a YAML that "
            "`python -m frugal init TABLE --label COLUMN` writes"
        )
    answer = rules.write_answer.output
    return [answer.text, answer.page, answer.document, *STUDY.bundle_files()]


def own_target():
    """The target of the user's records: search or over_time; None without any."""
    return None if config["records"] is None else OWN_RECORDS.target


def own_inputs():
    """The YAML of the user's records, and the files that it names."""
    return {name: outside(str(path)) for name, path in OWN_RECORDS.inputs.items()}


def require_records(target, example):
    """End the run with a sentence on how to name the records of a target, where they are others."""
    if own_target() != target:
        cannot_start(
            f"{target} needs your records: --config records=my.yaml, a YAML like "
            f"docs/examples/{example}.yaml"
        )


def searched(wildcards):
    """The answer of the user's records of searches."""
    require_records("search", "searches")
    answer = rules.write_search_answer.output
    return [answer.text, answer.words, rules.draw_search.output.tree]
