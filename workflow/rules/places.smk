# Where jobs work: in the working folder, within a module's prefix, or in the local copies of a store
# (`--default-storage-provider`, docs/how-to/storage.md). The paths that they see are the same everywhere.

import os
import re
import shlex
from contextlib import chdir, nullcontext

from snakemake.io import IOFile, contains_wildcard
from snakemake.settings.types import SharedFSUsage

PREFIX = str(MODIFIER.modify_path("results/x")).removesuffix("results/x")
APART = MODULE or STORED  # jobs work in another folder than Snakemake
PATHVAR = re.compile("<[a-z][a-z0-9_]*>")  # as Snakemake defines its `pathvars`
READ_BY_SUFFIX = (".json", ".parquet", ".safetensors")


def bare(path):
    """A path as a job sees it that works within the prefix."""
    return str(path).removeprefix(PREFIX)


def within():
    """The working folder is that of the jobs, if it is there."""
    return chdir(PREFIX) if os.path.isdir(PREFIX) else nullcontext()


def in_place(command):
    """The shell line of a job, which works within the prefix; logs are reached by `LOGS`."""
    if not APART:
        return command
    place = shlex.quote(PREFIX or ".").replace("{", "{{").replace("}", "}}")
    return f'{environment_words()}here="$PWD"; cd {place} && {command}'


LOGS = f'"$here"{os.sep}' if APART and not os.path.isabs(PREFIX) else ""
# Where answers are put for a person: next to results/, or, with a store, where that would lie
ANSWERS = f'"$here"{os.sep}{shlex.quote(own_prefix() or ".")}' if STORED else "."
# A storage plugin brings what the rule of a step names, and no manifest of it
BROUGHT = " --from-store" if STORED else ""


READS_A_FOLDER = (
    "reads manifests and whole folders, which no storage plugin brings: go to the folder of the "
    "plugin fs, or copy results/ from the store, and start it there without a store"
)


def of_a_folder(command):
    """The shell line of a target that reads whole folders."""
    sentence = shlex.quote(f"This target {READS_A_FOLDER}")
    return f"echo {sentence} | tee {{log:q}} >&2; exit 1" if STORED else command


def log_place(path):
    """Where a step's log lies: here, too, where results lie in a store, if its job can reach it."""
    here = STORED and SharedFSUsage.SOURCES in workflow.storage_settings.shared_fs_usage
    return local(f"{MODULE_PREFIX}{path}") if here else path


def is_made(path):
    """True for a file that a step makes; the YAML of the user's table may lie with its answer."""
    mine = ("results/decide/", "results/search/", "results/over_time/")
    return path.startswith("results/") and not path.startswith(mine)


def outside(path):
    """A file that no job makes: as it is, or by its full path where jobs work elsewhere."""
    if is_made(path):
        return path
    if contains_wildcard(path) or PATHVAR.search(path):
        cannot_start(
            f"a file is {path!r}, and Snakemake reads a word in braces, or between < and >, as a "
            "name for another; rename it, or its folder"
        )
    if STORED:
        return local(os.path.abspath(path))  # no store has it
    return os.path.abspath(path) if MODULE else path


def located(inputs, also=()):
    """An input function whose files lie outside results/: a missing one ends the run with a sentence.

    `also` are endings of this project's own files that the step reads as a source, too.
    """
    refused = [ending for ending in READ_BY_SUFFIX if ending not in also]

    def find(wildcards):
        files = checked(inputs, wildcards)
        for path in files.values():
            if Path(path).suffix in refused and not is_made(path):
                cannot_start(
                    f"a file is {path!r}; allowed for a file from outside is any name that does "
                    f"not end in {', '.join(refused)}, which are read as this project's own"
                )
        return {name: outside(path) for name, path in files.items()}

    return find


def shown(name):
    """A result as a person finds it, from the folder of the start on."""
    if STORED:
        return f"{str(workflow.storage_settings.default_storage_prefix).rstrip('/')}/{name}"
    return name if MODULE or OWN_FOLDER is None else f"{OWN_FOLDER}/{name}"


def result_text(name):
    """The text of a small result that is here, None else: with a store, an answer's copy."""
    path = Path(Path(name).name if STORED else name)
    return path.read_text(encoding="utf-8") if path.exists() else None


def store_words():
    """Words that tell a second Snakemake of the store; passwords are in the environment."""
    factory = workflow.spawned_job_args_factory
    words = factory.get_default_storage_provider_args() if STORED else ""
    return shlex.split(" ".join([words, *factory.get_storage_provider_args()]))


def constrain(step):
    """Write into outputs in a store what their wildcards may be.

    The plugin s3 reads a path once, before Snakemake writes `wildcard_constraints` into it.
    """
    for k, path in enumerate(step.output if STORED else ()):
        stored = path.storage_object
        query = step._update_item_wildcard_constraints(stored.query)
        stored = stored.provider.object(query)
        step.output[k] = IOFile(stored.local_path(), rule=step)
        step.output[k].clone_flags(path, skip_storage_object=True)
        step.output[k].flags["storage_object"] = stored
