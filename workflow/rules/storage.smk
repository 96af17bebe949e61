# Where jobs work: in the working folder, within a module's prefix, or in the local copies of a store
# (`--default-storage-provider`, docs/how-to/storage.md). The paths that they see are the same everywhere.

import os
import re
import shlex
import shutil
from contextlib import chdir, nullcontext

from snakemake.io import contains_wildcard
from snakemake.settings.types import SharedFSUsage

from frugal.core.errors import FrugalError
from frugal_store import Store, vouch
from frugal_workers import (
    OUTSIDE,
    outside_name,
    project_files,
    require_deployable,
    send_with_jobs,
    sent_files,
    show_logs_of,
)

if STORED and OWN_FOLDER is not None and not MODULE:
    MODIFIER.path_modifier.prefix = f"{OWN_FOLDER}/"

PREFIX = str(MODIFIER.modify_path("results/x")).removesuffix("results/x")
APART = MODULE or STORED  # jobs work in another folder than Snakemake
STORE = None
LOOK, FETCHED = (
    OURS / f"{what}{own_prefix().replace(os.sep, '-')}" for what in ("look", "fetched")
)
# What targets that only read need of a store, which is fetched for them
READ_FROM_STORE = {
    "audit": ("results", OUTSIDE, "benchmarks"),
    "rocrate": ("results",),
    "benchmark": ("benchmarks",),
}
PATHVAR = re.compile("<[a-z][a-z0-9_]*>")  # as Snakemake defines its `pathvars`
READ_BY_SUFFIX = (".json", ".parquet", ".safetensors")
LISTED, FROM_OUTSIDE = {}, {}


def bare(path):
    """A path as a job sees it that works within the prefix."""
    return str(path).removeprefix(PREFIX)


def within():
    """The working folder is that of the jobs, if it is there."""
    return chdir(PREFIX) if os.path.isdir(PREFIX) else nullcontext()


def in_place(command, folder=PREFIX):
    """The shell line of a job, which works within the prefix; logs are reached by `LOGS`."""
    if not APART:
        return command
    place = shlex.quote(str(folder) or ".").replace("{", "{{").replace("}", "}}")
    return f'{environment_words()}here="$PWD"; cd {place} && {command}'


LOGS = f'"$here"{os.sep}' if APART and not os.path.isabs(PREFIX) else ""
LOOK_IN = f"--look-in {OUTSIDE}" if STORED else ""
# Where answers are put for a person: next to results/, or where that would lie without a store
ANSWERS = f'"$here"{os.sep}{shlex.quote(own_prefix() or ".")}' if STORED else "."


def is_made(path):
    """True for a file that a step makes; the YAML of the user's table may lie with its answer."""
    mine = ("results/decide/", "results/search/", "results/over_time/")
    return path.startswith("results/") and not path.startswith(mine)


def outside(path):
    """A file that no job makes: as it is, by its full path within a prefix, or its place in a store."""
    if is_made(path):
        return path
    if contains_wildcard(path) or PATHVAR.search(path):
        cannot_start(
            f"a file is {path!r}, and Snakemake reads a word in braces, or between < and >, as a "
            "name for another; rename it, or its folder"
        )
    if STORED:
        name = outside_name(path)
        FROM_OUTSIDE[name.partition("/")[2]] = path
        return name
    return os.path.abspath(path) if MODULE else path


def located(question, inputs, also=()):
    """An input function whose files lie outside results/: a missing one ends the run with a sentence.

    A job on another machine receives, by the name of the question, what the first process has found.
    `also` are endings of this project's own files that the step reads as a source, too.
    """
    refused = [ending for ending in READ_BY_SUFFIX if ending not in also]

    def find(wildcards):
        files = inputs(wildcards)
        for path in files.values():
            if Path(path).suffix in refused and not is_made(path):
                cannot_start(
                    f"a file is {path!r}; allowed for a file from outside is any name that does "
                    f"not end in {', '.join(refused)}, which are read as this project's own"
                )
        return {name: outside(path) for name, path in files.items()}

    def stored(wildcards):
        try:
            return FACTS.once(question, dict(wildcards.items()), lambda: find(wildcards))
        except FrugalError as error:
            cannot_start(error)

    return stored


def look_into_store():
    """A folder that shows what the store holds, for the survey before a run."""
    LISTED.clear()
    LISTED.update(STORE.look(LOOK))
    return LOOK


def sidecar_here(path):
    """A sidecar where it can be read before the run; None where the store has none."""
    if not STORED:
        return Path(path)
    if bare(path) not in LISTED:
        return None
    STORE.fetch({bare(path): LISTED[bare(path)]}, LOOK)
    return LOOK / bare(path)


def fetch_what_is_read():
    """Copy from the store what `audit` and its like read, for they read whole folders."""
    if not STORED:
        return
    rules_run = {own_name(job.rule.name) for job in workflow.dag.needrun_jobs()}
    folders = {f for name in rules_run for f in READ_FROM_STORE.get(name, ())}
    shutil.rmtree(FETCHED, ignore_errors=True)
    try:
        for folder in sorted(folders):
            (FETCHED / folder).mkdir(parents=True)
            STORE.fetch(STORE.listed(folder), FETCHED)
    except FrugalError as error:
        cannot_start(error)
    if "benchmark" in rules_run:  # what this process itself has measured lies here
        mine = Path(own_prefix(), "benchmarks")
        for path in [mine / "engine.jsonl", mine / "sizes.json"]:
            if path.exists():
                shutil.copy(path, FETCHED / "benchmarks")


def put_what_was_described():
    """Put the description that `rocrate` has made next to the results, and remove what was fetched."""
    if STORED:
        for path in [*FETCHED.glob("ro-crate-*"), *FETCHED.glob("ro-crate-*/*")]:
            if path.is_file():
                STORE.put(path.relative_to(FETCHED).as_posix(), path)
        shutil.rmtree(FETCHED, ignore_errors=True)


def on_what_was_fetched(command):
    """The shell line of a target that only reads."""
    return in_place(command, FETCHED) if STORED else command


def is_there(name):
    """Whether a result is here, or in the store."""
    return STORE.object(name).exists() if STORED else Path(name).exists()


def result_text(name):
    """The text of a small result, here or in the store; None where it is not there."""
    if STORED:
        return STORE.text(name)
    return Path(name).read_text(encoding="utf-8") if Path(name).exists() else None


def shown(name):
    """A result as a person finds it, from the folder of the start on."""
    if STORED:
        return STORE.shown(name)
    return name if MODULE or OWN_FOLDER is None else f"{OWN_FOLDER}/{name}"


def store_words():
    """Words that tell a second Snakemake of the store; passwords are in the environment."""
    factory = workflow.spawned_job_args_factory
    words = factory.get_default_storage_provider_args() if STORED else ""
    return shlex.split(" ".join([words, *factory.get_storage_provider_args()]))


if STORED:
    if workflow.storage_settings.default_storage_provider == "fs" and not (
        workflow.dryrun or shutil.which("rsync")
    ):
        sys.exit(
            "Frugal cannot start: the storage plugin fs copies by rsync, which is not installed; "
            "install it (Debian: apt-get install rsync), here and where jobs run"
        )
    STORE = Store(
        workflow.storage_registry.default_storage_provider,
        str(MODIFIER.modify_path("results/x").flags["storage_object"].query).removesuffix(
            "results/x"
        ),
        Path(PREFIX),
    )
    vouch(STORE)
    show_logs_of(STORE)
    send_with_jobs(
        lambda: [*project_files(PROJECT), *sent_files(config, PROJECT), FACTS.path],
        beside=MODULE,
    )


if STORED and workflow.is_main_process:
    if SharedFSUsage.SOURCES not in workflow.storage_settings.shared_fs_usage:
        try:
            require_deployable(PROJECT, config, moved=workflow.overwrite_workdir is not None)
        except FrugalError as error:
            sys.exit(f"Frugal cannot start: {error}")
