"""Runs a stage in a Python of its own, with one thread, as the workflow does."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from frugal.core.declarations import PACKAGE
from frugal.core.errors import DataError, FrugalError
from frugal.results.manifests import Job
from frugal.run.stage_words import SETTINGS, stage_words

_LINES_SHOWN = 5  # of what a stage said before it broke


def run_in_own_python(stage: str, words: Sequence[str], folder: Path) -> None:
    """Run `python -m frugal STAGE …` in a folder.

    Raises:
        DataError: the stage refuses; its own sentence.
        FrugalError: it failed; with its last output.
    """
    words, settings_text = list(words), None
    if SETTINGS in words:  # by a pipe, as one word has at most 131,072 bytes
        at = words.index(SETTINGS) + 1
        words[at], settings_text = "@/dev/stdin", words[at]
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-P", "-m", "frugal", stage, *words],
        cwd=folder,
        env=environment,
        input=settings_text,
        capture_output=True,
        text=True,
        check=False,
        errors="replace",
    )
    if done.returncode == 0:
        return
    lines = done.stderr.strip().splitlines()
    refusal = f"frugal {stage}: "
    if done.returncode == 2 and lines and lines[-1].startswith(refusal):
        raise DataError(lines[-1].removeprefix(refusal))
    sentence = f"stage {stage} failed (exit code {done.returncode}); its last output:"
    raise FrugalError(sentence, *lines[-_LINES_SHOWN:])


def job_words(job: Job) -> list[str]:
    """The words after `python -m frugal STAGE` of a job."""
    inputs = {
        name: [str(path) for path in paths] if isinstance(paths, list) else str(paths)
        for name, paths in job.inputs.items()
    }
    outputs = {name: str(path) for name, path in job.outputs.items()}
    return stage_words(inputs, outputs, job.wildcards, job.settings, job.seed, job.arithmetic)
