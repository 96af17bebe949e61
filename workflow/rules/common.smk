# What every rule shares: the validated config, the one shell line, sidecars as declared outputs.

import json
import shlex
import sys

sys.path.insert(0, f"{workflow.basedir}/workflow")

from frugal.artifacts.sidecars import sidecar_path
from frugal.artifacts.sources import source_digest
from frugal.contracts.errors import FrugalError
from frugal.data.study import load_study

try:
    STUDY = load_study(config, Path(workflow.basedir))
except FrugalError as error:
    sys.exit(f"Frugal cannot start: {error}")

shell.prefix(
    f"export PYTHONPATH={shlex.quote(workflow.basedir + '/workflow')} OMP_NUM_THREADS=1; "
)
stage_command = "python -m frugal {rule} {params.arguments} 2> {log}"


wildcard_constraints:
    dataset=r"[A-Za-z0-9_.-]+",
    mechanism=r"[A-Za-z0-9_.-]+",
    agent=r"[A-Za-z0-9_.-]+",


def audited(**outputs):
    """The named payloads and, as declared outputs too, the sidecar of each."""
    sidecars = {f"{k}_sidecar": str(sidecar_path(Path(v))) for k, v in outputs.items()}
    return outputs | sidecars


def stage_arguments(settings=None):
    """The command line of a stage: named inputs and outputs, wildcards, settings, seed."""

    def arguments(wildcards, input, output):
        words = []
        for name, value in input.items():
            if name.startswith("_"):
                continue
            if isinstance(value, str):
                words += ["--input", f"{name}={value}"]
            else:
                words += [w for path in value for w in ("--input", f"{name}[]={path}")]
        for name, value in output.items():
            if not name.endswith("_sidecar"):
                words += ["--output", f"{name}={value}"]
        for name, value in wildcards.items():
            words += ["--wildcard", f"{name}={value}"]
        chosen = settings(wildcards) if callable(settings) else settings
        if chosen is not None:
            words += ["--settings", json.dumps(chosen)]
        words += ["--seed", str(config["seed"])]
        return shlex.join(words)

    return arguments


def report_arguments():
    """Words that make a second Snakemake read the same workflow, folder and config."""
    words = ["--snakefile", f"{workflow.basedir}/Snakefile", "--cores", "1"]
    base = Path(workflow.basedir, "config.yaml")
    files = [str(path) for path in workflow.configfiles if Path(path).resolve() != base.resolve()]
    if files:
        words += ["--configfile", *files]
    overrides = [
        f"{k}={json.dumps(v)}" for k, v in workflow.config_settings.config.items()
    ]
    if overrides:
        words += ["--config", *overrides]
    return shlex.join(words)
