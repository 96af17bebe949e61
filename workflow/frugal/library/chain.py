"""The chain of stages in memory: their own functions, one after the other, no file between them.

    table → missingness → policies of each fold → choice → answer

Studies go on from these in their own `verbs.py`, with `Steps` of their own. The rules
under `workflow/rules` are the same chain in files. `payloads_of` answers from either: from the
workflow where a folder was given (`folder`), else from memory, where a stage runs once for the same
settings and inputs.
"""

import copy
import hashlib
import importlib
import inspect
import json
import logging
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from frugal.config.parts import declared_parts, requested
from frugal.core.errors import extras_named
from frugal.library.folder import FILES, MADE_WITH, Made, Payloads, Steps, files_of
from frugal.library.question import KeptFile, Question
from frugal.results.sources import STAGES

if TYPE_CHECKING:
    from frugal.answer.evidence import Evidence
    from frugal.results.replacing import Growing


_BAR: ContextVar[Any] = ContextVar("bar", default=None)  # of the whole, where there is one
logging.getLogger("frugal").addHandler(logging.NullHandler())  # `Table.remarks` has the sentences


def payloads_of(
    question: Question, stage: str, *, steps: Steps | None = None, again: bool = False, **keys: str
) -> dict[str, Any]:
    """The payloads of a stage by name of output.

    Args:
        question: the question.
        stage: one of the steps.
        steps: of a study; None: those of the library.
        again: in a folder, the workflow looks once more whether its files are up to date.
        keys: wildcards other than data set and mechanism.

    Raises:
        FrugalError: a stage refuses; its own sentence.
    """
    payloads = {
        name: payload.payload
        for name, payload in _payloads(question, steps or STEPS, stage, again=again, **keys).items()
    }
    return payloads if question.folder else copy.deepcopy(payloads)  # tables may be changed


def _payloads(
    question: Question, steps: Steps, stage: str, *, again: bool = False, **keys: str
) -> Payloads:
    if question.folder is None:
        return steps.made[stage](question, **keys)
    from frugal.results.files import file_digest, read_payload

    texts, files = (".txt", ".html"), files_of(question, steps, stage, keys, again=again)
    return {
        name: Made(
            file_digest(path), path.read_bytes() if path.suffix in texts else read_payload(path)
        )
        for name, path in files.items()
    }


def table_of(question: Question) -> Payloads:
    """The table and its catalogue."""
    files = {
        name: file
        for name, file in question.files.items()
        if name == "description" or name.startswith("raw_")
    }
    settings = question.study.prepare_settings(question.dataset)
    return run_stage(question, "prepare_data", {"dataset": question.dataset}, settings, files)


def missingness_of(question: Question) -> Payloads:
    """The masks, their graph and what it identifies."""
    settings = question.study.missingness_settings(**question.keys)
    causes = question.study.causes_input(**question.keys)
    inputs = {**table_of(question), **{name: question.files[name] for name in causes}}
    return run_stage(question, "draw_missingness", question.keys, settings, inputs)


def records_of(question: Question, *more: str) -> dict[str, Any]:
    """The table with its masks, and further outputs of `draw_missingness`."""
    missingness = missingness_of(question)
    return {**table_of(question), **{name: missingness[name] for name in ("masks", *more)}}


def _candidates(question: Question, fold: str) -> Payloads:
    """Policies that learned on all folds but one, and their paths on that one."""
    keys = {**question.keys, "held_out": fold}
    settings = question.study.candidate_settings()
    return run_stage(question, "learn_candidates", keys, settings, records_of(question, "graph"))


def _joined(question: Question) -> Payloads:
    """The policies of all folds, joined, and their paths on all rows."""
    archives = {
        f"policies_{k}": _candidates(question, fold)["policies"]
        for k, fold in enumerate(question.study.folds(question.dataset))
    }
    inputs = {**records_of(question, "graph"), **archives}
    settings = question.study.candidate_settings()
    return run_stage(question, "join_candidates", question.keys, settings, inputs)


def _followed(question: Question) -> dict[str, Any]:
    """The records, and the paths of the policies of each fold along them."""
    folds = question.study.folds(question.dataset)
    paths = [({**question.keys, "held_out": k}, _candidates(question, k)["paths"]) for k in folds]
    return {**records_of(question, "graph"), "paths": paths}


def evidence_of(question: Question) -> "Evidence":
    """The evidence of `judge_candidates`, without the policies that are handed out."""
    from frugal.answer.evidence import Evidence
    from frugal.answer.stages.answers import judge_candidates
    from frugal.core.streams import Streams

    inputs = {
        name: _as_taken(question, judge_candidates, name, value)
        for name, value in _followed(question).items()
    }
    joined = inputs["paths"].open(0).read().iloc[:0]
    streams = Streams(question.seed, "judge_candidates", dict(question.keys))
    settings = question.study.judging_settings()
    return Evidence.of(**inputs, joined=joined, settings=settings, streams=streams)


def _choice(question: Question) -> Payloads:
    inputs = {**_followed(question), "joined": _joined(question)["paths"]}
    return run_stage(
        question, "judge_candidates", question.keys, question.study.judging_settings(), inputs
    )


def _answer(question: Question, *, page: bool = False) -> Payloads:
    """The answer as a text and a document, and as a page where one is wanted."""
    choice, catalogue = _choice(question), table_of(question)["catalogue"]
    judged = {name: payload for name, payload in choice.items() if name != "terms"}
    inputs = {**judged, "catalogue": catalogue, "page": page}
    for name, settings in requested(question.decision.config).items():
        if stage := declared_parts()[name].literals.get("stage"):  # on a file of the part
            read = {**table_of(question), "terms": choice["terms"]}
            read |= {"description": question.files["description"]}
            read |= {"cases": question.files[next(iter(settings))]}
            inputs |= run_stage(question, stage, {}, None, read)
    settings = question.decision.answer_settings()
    if question.described is not None:
        settings["run"]["Repeat"] = "frugal.decide of the same table, with the same arguments"
    written = run_stage(question, "write_answer", {}, settings, inputs)
    document = written["document"]
    return {**written, "document": replace(document, payload=json.loads(document.payload))}


def classifier_of(question: Question) -> Payloads:
    """The classifier of agents that do not predict a class themselves."""
    settings = question.study.config["afape"]["classifier"]
    return run_stage(
        question, "fit_classifier", {"dataset": question.dataset}, settings, table_of(question)
    )


def _training(question: Question, agent: str) -> Payloads:
    inputs = {**records_of(question), **classifier_of(question)}
    return run_stage(
        question, "train_agent", question.keys_of(agent), question.study.agents[agent], inputs
    )


def policies_of(question: Question, agents: list[str]) -> list[Any]:
    """The policies of those of these agents that learn, or are a file."""
    files, filed = question.functions, question.study.filed_agents
    return [
        files[agent]
        if agent in files
        else _payloads(question, STEPS, "train_agent", agent=agent)["policy"]
        for agent in agents
        if agent in filed
    ]


STEPS = Steps(
    {
        "prepare_data": table_of,
        "draw_missingness": missingness_of,
        "fit_classifier": classifier_of,
        "train_agent": _training,
        "judge_candidates": _choice,
        "write_answer": _answer,
    },
    FILES,
    MADE_WITH,
)


def page_of(question: Question) -> Path:
    """The answer's page; in a temporary folder, where everything else is in memory."""
    if question.folder is not None:
        return files_of(question, STEPS, "write_answer", {})["page"]
    from frugal.results.files import write_bytes

    content = _answer(question, page=True)["page"]
    page = question.scratch / content.identity / "answer.html"
    write_bytes(page, content.payload)
    return page


def bundle_of(question: Question, agent: str, *, of_answer: bool) -> Path:
    """The folder of a policy with all that `advise` and `export` need; made once.

    That of an answer, the policies of all folds, where the workflow puts it; others apart.
    """
    if of_answer and question.folder is not None:
        return files_of(question, STEPS, "bundle_agent", {"agent": agent})["cases"].parent
    study = question.study
    inputs: dict[str, Any] = {"description": question.files["description"]}
    inputs |= {
        **_payloads(question, STEPS, "prepare_data"),
        **_payloads(question, STEPS, "fit_classifier"),
    }
    if of_answer:
        inputs["graph"] = missingness_of(question)["graph"]
    if of_answer and agent in study.trained_agents:
        inputs["policies"] = _joined(question)["policies"]
        if question.decision.config["objective"] == "f1":
            inputs["choice"] = _choice(question)["choice"]
    else:
        inputs |= dict(zip(["policy"], policies_of(question, [agent]), strict=False))
    payloads = run_stage(
        question, "bundle_agent", question.keys_of(agent), study.agents[agent], inputs
    )
    return bundle_written(question, agent, payloads)


def bundle_written(question: Question, agent: str, payloads: Payloads) -> Path:
    """The folder of these payloads, which is temporary."""
    from frugal.core.layout import Bundle
    from frugal.core.stored import StoredArrays
    from frugal.results.files import payload_bytes, write_bytes

    folder = question.scratch / payloads["cases"].identity / agent
    for name, payload in payloads.items():
        payload, path = (
            payload.payload,
            folder / f"{name}.{'json' if name == 'cases' else 'safetensors'}",
        )
        if isinstance(payload, StoredArrays):
            payload = Bundle(payload.header or {}, payload)
        write_bytes(path, payload_bytes(path, payload))
    return folder


def run_stage(
    question: Question,
    stage: str,
    keys: Mapping[str, str],
    settings: Any,
    inputs: Mapping[str, Any],
) -> Payloads:
    """Call a stage with the streams that the workflow gives it, unless it was called just so."""
    from threadpoolctl import threadpool_limits

    from frugal.core.arithmetic import correct_torch_when_loaded, is_pinned
    from frugal.core.context import Context
    from frugal.core.streams import Streams
    from frugal.results.replacing import collected

    settings = json.loads(json.dumps({} if settings is None else settings))
    identities = {name: _identity(value) for name, value in inputs.items()}
    called = json.dumps([stage, keys, settings, question.seed, identities])
    if called not in question.memory:
        streams = Streams(question.seed, stage, dict(keys))
        if is_pinned():  # this Python was started for portable arithmetic
            correct_torch_when_loaded()
        subject = f"agent {keys['agent']!r}" if "agent" in keys else f"the stage {stage}"
        # two threads round sums in another order
        with threadpool_limits(1), extras_named(subject):
            function = getattr(importlib.import_module(STAGES[stage]), stage)
            converted = {
                name: _as_taken(question, function, name, value) for name, value in inputs.items()
            }
            result = function(**converted, context=Context(settings, streams, progress_of(stage)))
            grows = inspect.isgenerator(result)
            payloads = collected(cast("Growing", result)) if grows else result
        if (bar := _BAR.get()) is not None:
            bar.update()
        identity = hashlib.sha256(called.encode()).hexdigest()
        question.memory[called] = {
            name: Made(f"{identity}-{name}", _as_read(payload))
            for name, payload in payloads.items()
        }
    return question.memory[called]


def _identity(value: Any) -> Any:
    """Identity of an input: the bytes of a file, or the call that made a payload."""
    if isinstance(value, list):
        return [[dict(keys), payload.identity] for keys, payload in value]
    if isinstance(value, KeptFile):
        return value.digest + value.path.suffix
    return value.identity if isinstance(value, Made) else repr(value)


def _as_taken(question: Question, stage: Callable[..., Any], name: str, value: Any) -> Any:
    """An input as the stage takes it: several tables one at a time, or as one."""
    from frugal.core.rows import FrameRows, Partitions
    from frugal.core.stored import StoredArrays
    from frugal.results.files import joined_frames, read_payload
    from frugal.run.stage_command import kinds_of

    if isinstance(value, KeptFile):
        path = question.located(value)
        return read_payload(path) if StoredArrays in kinds_of(stage, name) else path
    if not isinstance(value, list):
        return value.payload if isinstance(value, Made) else value
    folders, frames = [keys for keys, _ in value], [payload.payload for _, payload in value]
    if Partitions in kinds_of(stage, name):
        return Partitions(folders, lambda k: FrameRows(frames[k]))
    return joined_frames(folders, frames)


def _as_read(payload: Any) -> Any:
    """A payload as the next stage would read it from a file: the same types."""
    import numpy as np
    import pandas as pd
    import pyarrow as pa

    from frugal.core.layout import Bundle

    if isinstance(payload, Bundle):
        return Bundle(json.loads(json.dumps(payload.header)), payload.arrays).stored("")
    if isinstance(payload, pd.DataFrame):
        return pa.Table.from_pandas(payload, preserve_index=False).to_pandas()
    if isinstance(payload, bytes):
        return payload
    arrays = any(isinstance(value, np.ndarray) for value in payload.values())
    return payload if arrays else json.loads(json.dumps(payload))


@contextmanager
def one_bar(stages: int) -> Iterator[None]:
    """One bar for so many stages that run within, with the name of the present one."""
    if (outer := _BAR.get()) is not None:
        outer.total += stages
        yield
        return
    with progress_of("")(total=stages, bar_format="{percentage:3.0f}% {bar:20} {desc}") as bar:
        token = _BAR.set(bar)
        try:
            yield
        finally:
            _BAR.reset(token)


def progress_of(stage: str) -> Callable[..., Any]:
    """A bar of progress in a terminal or a notebook; elsewhere nothing is shown."""
    with warnings.catch_warnings():  # a notebook without ipywidgets shows the terminal's bar
        warnings.simplefilter("ignore")
        from tqdm.auto import tqdm

    if (bar := _BAR.get()) is not None:
        bar.set_description_str(stage.replace("_", " "))
        return partial(tqdm, disable=True)
    hidden = not (sys.stderr.isatty() or "ipykernel" in sys.modules)
    return partial(tqdm, desc=stage.replace("_", " "), leave=False, mininterval=1, disable=hidden)
