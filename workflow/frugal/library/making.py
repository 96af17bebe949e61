"""Makes what is asked for: the stages of a chain that are out of date, each in a Python of its own.

A stage runs as `python -m frugal STAGE …` in the folder of its results, as in the workflow: one
thread, whatever the program around it has set, so that it makes the same bytes.
"""

import json
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from frugal.config.declared import kinds_with
from frugal.core.errors import DataError
from frugal.core.files import file_digest
from frugal.core.sidecars import lock_digest, recorded_arithmetic, shown_path, sidecar_path
from frugal.core.sources import source_digest
from frugal.library.asked import Asked
from frugal.library.steps import STEPS, Keys
from frugal.run.own_python import run_in_own_python
from frugal.run.stage_words import stage_words

Inputs = dict[str, str | list[str]]
REFITTED = {"held_out": "none"}  # wildcard of the policies that learned on all rows


@dataclass(frozen=True)
class _Planned:
    """One job: its stage, wildcards and inputs, and how many jobs stand in line before it."""

    stage: str
    keys: Keys
    inputs: Inputs
    outputs: Mapping[str, str]
    depth: int


def made(asked: Asked, stage: str, keys: Keys) -> dict[str, Path]:
    """The outputs of a stage, by name; made where they are not there or out of date.

    Raises:
        FrugalError: a stage refuses; its own sentence.
    """
    make(asked, [(stage, keys)])
    return {name: asked.folder / path for name, path in STEPS[stage].paths(keys).items()}


def make(asked: Asked, targets: Iterable[tuple[str, Keys]]) -> None:
    """Have all of these stages and what they read up to date.

    Raises:
        FrugalError: a stage refuses; its own sentence.
    """
    planned: dict[tuple[str, ...], _Planned] = {}
    for stage, keys in targets:
        _plan(asked, stage, keys, planned)
    with ThreadPoolExecutor(asked.cores) as pool:
        for depth in sorted({job.depth for job in planned.values()}):
            waiting = [job for job in planned.values() if job.depth == depth]
            list(pool.map(lambda job: _bring_up_to_date(asked, job), waiting))


def commands(asked: Asked, targets: Iterable[tuple[str, Keys]]) -> list[list[str]]:
    """The words after `python -m frugal` of all jobs that these need, up to date or not."""
    planned: dict[tuple[str, ...], _Planned] = {}
    for stage, keys in targets:
        _plan(asked, stage, keys, planned)
    return [[job.stage, *_words(asked, job)] for job in planned.values()]


def answer_targets(asked: Asked) -> list[tuple[str, Keys]]:
    """What `snakemake decide` promises: the answer, and a bundle of each policy."""
    agents, without = asked.study.agents, kinds_with("rows_only")
    bundles = [
        ("bundle_agent", {**asked.keys, **REFITTED, "agent": name})
        for name, one in agents.items()
        if one["kind"] not in without
    ]
    return [("write_answer", asked.keys), *bundles]


def _plan(
    asked: Asked, stage: str, keys: Keys, planned: dict[tuple[str, ...], _Planned]
) -> _Planned:
    """The job with all that it reads, each once."""
    own = STEPS[stage].own(keys)
    name = (stage, *STEPS[stage].paths(keys).values())
    if name in planned:
        return planned[name]
    inputs: Inputs = {}
    depth = 0
    for word in STEPS[stage].reads:
        given, source = word.split("=") if "=" in word else (None, word)
        before: list[_Planned] = []
        if "." not in source:
            found, needed = _of_study(asked, source, keys)
            inputs |= found
            before = [_plan(asked, trainer, key, planned) for trainer, key in needed]
        else:
            other, _, output = source.removesuffix("[]").partition(".")
            keys_of_one = {**keys, **REFITTED} if given == "refitted" else keys
            all_keys = _of_all(asked, other, keys) if source.endswith("[]") else [keys_of_one]
            before = [_plan(asked, other, key, planned) for key in all_keys]
            paths = [STEPS[other].paths(key)[output] for key in all_keys]
            inputs[given or output] = paths if source.endswith("[]") else paths[0]
        depth = max([depth, *(job.depth + 1 for job in before)])
    planned[name] = _Planned(stage, own, inputs, STEPS[stage].paths(keys), depth)
    return planned[name]


def _of_all(asked: Asked, stage: str, keys: Keys) -> list[Keys]:
    """Wildcards of each job of a stage whose tables are read as one."""
    place = {**keys, **asked.keys}
    if "agent" in STEPS[stage].keys:
        return [{**place, "agent": name} for name in asked.study.agents]
    if "held_out" in STEPS[stage].keys:
        return [{**place, "held_out": name} for name in asked.study.folds(keys["dataset"])]
    return [place]


def _of_study(asked: Asked, word: str, keys: Keys) -> tuple[Inputs, list[tuple[str, Keys]]]:
    """Inputs that the study names, and the jobs that train the policies among them."""
    study, dataset = asked.study, keys["dataset"]
    if word == "description":
        return _absolute(study.described_input(dataset)), []
    if word == "raw":
        found = study.raw_inputs(dataset)
        return _absolute({k: v for k, v in found.items() if k not in {"description"}}), []
    if "held_out" in keys and keys["agent"] in study.trained_agents:  # the policy of an answer
        path = STEPS["learn_candidates"].paths(keys)["policies"]
        return {"policies": path}, [("learn_candidates", keys)]
    agents = [keys["agent"]] if word == "policy" else list(study.agents)
    found = study.policy_inputs(dataset, keys["mechanism"], agents)
    if word == "policy" and found:
        found = {word: found["policy_0"]}
    trained = [name for name in agents if name in study.trained_agents]
    return _absolute(found), [("train_agent", {**keys, "agent": name}) for name in trained]


def _absolute(paths: Mapping[str, str]) -> Inputs:
    """Files from outside by their full paths, for jobs run in another folder."""
    return {
        name: path if path.startswith("results/") else str(Path(path).absolute())
        for name, path in paths.items()
    }


def _words(asked: Asked, job: _Planned) -> list[str]:
    step = STEPS[job.stage]
    settings = step.settings(asked, job.keys)
    return stage_words(job.inputs, job.outputs, job.keys, settings, asked.seed, asked.arithmetic)


def _bring_up_to_date(asked: Asked, job: _Planned) -> None:
    if _stands(asked, job):
        return
    run_in_own_python(job.stage, _words(asked, job), asked.folder)


def _stands(asked: Asked, job: _Planned) -> bool:
    """Whether every output is there, whole, and made of the same inputs, settings and code."""
    step = STEPS[job.stage]
    settings = step.settings(asked, job.keys)
    wanted = {
        "stage": job.stage,
        "wildcards": dict(job.keys),
        "seed": asked.seed,
        "settings": {} if settings is None else json.loads(json.dumps(settings)),
        "inputs": _records(asked, job),
        "source": source_digest(job.stage, settings),
        "environment": lock_digest(),
        "arithmetic": recorded_arithmetic(asked.arithmetic).get("arithmetic"),
    }
    for path in job.outputs.values():
        payload = asked.folder / path
        try:
            document = json.loads(sidecar_path(payload).read_bytes())
            if {key: document.get(key) for key in wanted} != wanted:
                return False
            if document["sha256"] != file_digest(payload):
                return False
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return False
    return True


def _records(asked: Asked, job: _Planned) -> list[dict[str, str]]:
    """Every input as a sidecar tells it."""
    told = []
    for name, given in job.inputs.items():
        for path in [given] if isinstance(given, str) else given:
            key = name if isinstance(given, str) else f"{name}[]"
            file = asked.folder / path
            if not file.is_file():
                raise DataError(f"{path} does not exist; it is an input of {job.stage}")
            told.append({"name": key, "path": shown_path(Path(path)), "sha256": file_digest(file)})
    return told
