"""Files of stages, up to date, in a folder in which the workflow runs."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from frugal.library.question import Question
from frugal.run.engine import run_workflow

_DATA = "dataset={dataset}"
SCENARIO = f"{_DATA}/mechanism={{mechanism}}"


@dataclass(frozen=True)
class Made:
    """A payload of a stage.

    Attributes:
        identity: of the file, or of the stage's call and the output: settings and the identities of
            all inputs, so it is the same in any process.
        payload: as the next stage reads it.
    """

    identity: str
    payload: Any


Payloads = Mapping[str, Made]
Files = Mapping[str, tuple[str, str]]


@dataclass(frozen=True)
class Steps:
    """Stages that can be read, those of the library or of a study.

    Attributes:
        made: stage → its payloads in memory, a function of the question and further wildcards.
        files: stage → folder below results/, and its files; docs/reference/outputs.md.
        made_with: stage → the one with which it is made, where that is another.
    """

    made: Mapping[str, Callable[..., Payloads]]
    files: Files = field(default_factory=dict)
    made_with: Mapping[str, str] = field(default_factory=dict)


FILES: Files = {
    "prepare_data": (f"data/{_DATA}", "table.parquet catalogue.json"),
    "draw_missingness": (f"missingness/{SCENARIO}", "masks.parquet graph.json identification.json"),
    "fit_classifier": (f"classifiers/{_DATA}", "classifier.safetensors"),
    "train_agent": (f"agents/{SCENARIO}/agent={{agent}}", "policy.safetensors training.parquet"),
    "judge_candidates": (
        f"candidates/{SCENARIO}",
        "choice.json outcomes.parquet net_benefit.parquet terms.parquet",
    ),
    "bundle_agent": (f"bundles/{SCENARIO}/agent={{agent}}", "cases.json"),
    "write_answer": ("", "text=verdict.txt page=answer.html document=answer.json"),
}


_LAST: dict[Path, str] = {}  # folder → the config with which the workflow last ran there
MADE_WITH = {"judge_candidates": "write_answer", "bundle_agent": "write_answer"}


def files_of(
    question: Question, steps: Steps, stage: str, keys: Mapping[str, str], *, again: bool = False
) -> dict[str, Path]:
    """The files of a stage by name of output, made again where they are gone or
    another question has replaced it since.

    Raises:
        FrugalError: the workflow cannot start, or a stage refuses; its own sentence.
    """
    assert question.folder is not None, "bug: no folder"
    producer = steps.made_with.get(stage, stage)
    target = next(iter(_paths(question, steps.files[producer], keys).values())).as_posix()
    decides = producer == "write_answer"
    config = question.run_config(decides=decides)
    config_text = json.dumps(config, sort_keys=True, default=str)
    paths = _paths(question, steps.files[stage], keys)
    files = {name: question.folder / path for name, path in paths.items()}
    current = target in question.ran and _LAST.get(question.folder) == config_text
    if again or not current or not all(path.is_file() for path in files.values()):
        question.require_unchanged()
        place, goal = (
            (question.folder.parents[2], "decide") if decides else (question.folder, target)
        )
        run_workflow(config, place, goal, question.cores)
        question.ran.add(target)
        _LAST[question.folder] = config_text
    return files


def _paths(
    question: Question, files_of_stage: tuple[str, str], keys: Mapping[str, str]
) -> dict[str, Path]:
    """Output → file, from the folder on."""
    folder, words = files_of_stage
    place = Path("results", folder.format(**question.keys, **keys))
    files = [word.rpartition("=")[::2] for word in words.split()]
    return {name or file.partition(".")[0]: place / file for name, file in files}
