"""Files of stages, up to date, in a folder in which the workflow runs."""

import json
from collections.abc import Mapping
from pathlib import Path

from frugal.library.asked import Question
from frugal.run.engine import run_workflow

_DATA = "dataset={dataset}"
_SCENARIO = f"{_DATA}/mechanism={{mechanism}}"
FILES = {  # stage → folder under results/, and its files; docs/reference/outputs.md
    "prepare_data": (f"data/{_DATA}", "table.parquet catalogue.json"),
    "draw_missingness": (
        f"missingness/{_SCENARIO}",
        "masks.parquet graph.json identification.json",
    ),
    "fit_classifier": (f"classifiers/{_DATA}", "classifier.safetensors"),
    "train_agent": (f"agents/{_SCENARIO}/agent={{agent}}", "policy.safetensors training.parquet"),
    "roll_out": (
        f"rollouts/{_SCENARIO}/agent={{agent}}",
        "blocked.parquet worlds.parquet decisions.parquet",
    ),
    "judge_candidates": (
        f"candidates/{_SCENARIO}",
        "choice.json outcomes.parquet net_benefit.parquet terms.parquet",
    ),
    "bundle_agent": (f"bundles/{_SCENARIO}/agent={{agent}}", "cases.json"),
    "check_graph": (f"nuisances/{_SCENARIO}", "graph_check.parquet"),
    "summarise_afape": ("summary", "summary=afape.parquet"),
    "give_verdicts": (
        "summary",
        "sentence=verdict.txt comparisons.parquet groups.parquet sensitivity.parquet "
        "verdicts.parquet",
    ),
    "write_answer": ("", "text=verdict.txt page=answer.html document=answer.json"),
}


_LAST: dict[Path, str] = {}  # folder → the config with which the workflow last ran there
_PART_OF = {  # stage → the one with which it is made
    "judge_candidates": "write_answer",
    "bundle_agent": "write_answer",
    "summarise_afape": "give_verdicts",
    "check_graph": "give_verdicts",
}


def files_of(
    question: Question, stage: str, keys: Mapping[str, str], *, again: bool = False
) -> dict[str, Path]:
    """The files of a stage by name of output, made again where they are gone or
    another question has replaced it since.

    Raises:
        FrugalError: the workflow cannot start, or a stage refuses; its own sentence.
    """
    assert question.folder is not None, "bug: no folder"
    producer = _PART_OF.get(stage, stage)
    target = next(iter(_paths(question, producer, keys).values())).as_posix()
    decides = producer == "write_answer"
    config = question.run_config(decides=decides)
    config_text = json.dumps(config, sort_keys=True, default=str)
    files = {name: question.folder / path for name, path in _paths(question, stage, keys).items()}
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


def _paths(question: Question, stage: str, keys: Mapping[str, str]) -> dict[str, Path]:
    """Output → file, from the folder on."""
    folder, words = FILES[stage]
    place = Path("results", folder.format(**question.keys, **keys))
    files = [word.rpartition("=")[::2] for word in words.split()]
    return {name or file.partition(".")[0]: place / file for name, file in files}
