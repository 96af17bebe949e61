#!/usr/bin/env python3
"""`snakemake rocrate` after the study of ten lines, judged by the public validator of RO-Crates.

The validator (roc-validator, from PyPI) gets an environment of its own. Where w3id.org cannot be
reached, the context of RO-Crate 1.1 comes from the package `rocrate`, and it is said. Shown is that
all holds which the profile Workflow Run Crate 0.5 requires, and that a spoilt crate is refused; not
what it recommends.
With --short: the same.
Usage: .ci/check_crate.py [--short] FOLDER     (an empty folder; two minutes)
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import environment
from environment import BIN, CANNOT_RUN, ROOT, require

if __name__ == "__main__":
    OPTIONS = environment.begin(__doc__)
from tests.workflow.runs import TEN_LINES, snakemake  # found after `begin`
from tests.workflow.shared import finished, folder_of_runs

VALIDATOR = ("roc-validator==0.13.0", "rocrate==0.16.0")


def validator(folder: Path) -> Path:
    """The Python of an environment that has the validator; ends here where it cannot be had."""
    subprocess.run([BIN / "python", "-m", "venv", folder], check=True)
    pip = [folder / "bin/pip", "install", "--quiet", *VALIDATOR]
    if subprocess.run(pip, stdout=sys.stderr).returncode != 0:
        print(f"{environment.name()}: {', '.join(VALIDATOR)} cannot be installed here")
        sys.exit(CANNOT_RUN)
    return folder / "bin/python"


def judged(python: Path, folder: Path) -> tuple[int, str]:
    """Exit status and words of the validator on a crate."""
    command = [python, ROOT / ".ci/crate_validator.py", folder]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return done.returncode, done.stdout


def main() -> None:
    """Make a crate, have it judged, spoil it, have it judged again."""
    python = validator(OPTIONS.folder / "validator")
    study = finished("ten_lines", folder_of_runs(OPTIONS.folder)).folder
    run = shutil.copytree(study, OPTIONS.folder / "run")
    done = snakemake(run, "rocrate", configs=(TEN_LINES,))
    require(done.returncode == 0, "snakemake rocrate ended", done.stdout)
    path = run / "ro-crate-metadata.json"
    crate = json.loads(path.read_bytes())
    files = [e for e in crate["@graph"] if "sha256" in e]
    status, output = judged(python, run)
    require(status == 0, f"a crate of {len(files)} files is valid; {output.strip()}", output)
    for entity in crate["@graph"]:
        if entity["@id"] == "#run":
            del entity["instrument"]
    path.write_text(json.dumps(crate), encoding="utf-8")
    status, output = judged(python, run)
    require(status == 1, "one whose action names no workflow is not", output)


if __name__ == "__main__":
    main()
