"""The chain of stages in memory: their own functions, one after the other, no file between them.

    decide:    table → missingness → policies of each fold → choice → answer
    evaluate:  table → missingness → classifier → policies → episodes → propensities → costs →
        verdict

The rules under `workflow/rules` are the same chain in files. `made` answers from either: from the
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
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from frugal.config.parts import declared_parts, requested
from frugal.core.errors import extras_named
from frugal.library.asked import KeptFile, Question
from frugal.library.folder import files_of
from frugal.results.sources import STAGES

if TYPE_CHECKING:
    from frugal.results.replacing import Growing


@dataclass(frozen=True, eq=False)
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
logging.getLogger("frugal").addHandler(logging.NullHandler())  # `Table.remarks` has the sentences


def payloads_of(
    question: Question, stage: str, *, again: bool = False, **keys: str
) -> dict[str, Any]:
    """The payloads of a stage by name of output.

    Args:
        question: the question.
        stage: one of `FILES`.
        again: in a folder, the workflow looks once more whether its files are up to date.
        keys: wildcards other than data set and mechanism.

    Raises:
        FrugalError: a stage refuses; its own sentence.
    """
    payloads = {
        name: payload.payload
        for name, payload in _payloads(question, stage, again=again, **keys).items()
    }
    return payloads if question.folder else copy.deepcopy(payloads)  # tables may be changed


def _payloads(question: Question, stage: str, *, again: bool = False, **keys: str) -> Payloads:
    if question.folder is None:
        return _STAGES[stage](question, **keys)
    from frugal.results.files import file_digest, read_payload

    texts, files = (".txt", ".html"), files_of(question, stage, keys, again=again)
    return {
        name: Made(
            file_digest(path), path.read_bytes() if path.suffix in texts else read_payload(path)
        )
        for name, path in files.items()
    }


def missingness_identity(question: Question) -> str:
    """Identity of a table and its missing values, by content; in a folder that folder."""
    return str(question.folder or _missingness(question)["masks"].identity)


def _table(question: Question) -> Payloads:
    files = {
        name: file
        for name, file in question.files.items()
        if name == "description" or name.startswith("raw_")
    }
    settings = question.study.prepare_settings(question.dataset)
    return _run(question, "prepare_data", {"dataset": question.dataset}, settings, files)


def _missingness(question: Question) -> Payloads:
    settings = question.study.missingness_settings(**question.keys)
    causes = question.study.causes_input(**question.keys)
    inputs = {**_table(question), **{name: question.files[name] for name in causes}}
    return _run(question, "draw_missingness", question.keys, settings, inputs)


def _records(question: Question, *more: str) -> dict[str, Any]:
    """The table with its masks, and further outputs of `draw_missingness`."""
    missingness = _missingness(question)
    return {**_table(question), **{name: missingness[name] for name in ("masks", *more)}}


def _candidates(question: Question, fold: str) -> Payloads:
    """Policies that learned on all folds but one, and their paths on that one."""
    keys = {**question.keys, "held_out": fold}
    settings = question.study.candidate_settings()
    return _run(question, "learn_candidates", keys, settings, _records(question, "graph"))


def _joined(question: Question) -> Payloads:
    """The policies of all folds, joined, and their paths on all rows."""
    archives = {
        f"policies_{k}": _candidates(question, fold)["policies"]
        for k, fold in enumerate(question.study.folds(question.dataset))
    }
    inputs = {**_records(question, "graph"), **archives}
    settings = question.study.candidate_settings()
    return _run(question, "join_candidates", question.keys, settings, inputs)


def _choice(question: Question) -> Payloads:
    folds = question.study.folds(question.dataset)
    paths = [({**question.keys, "held_out": k}, _candidates(question, k)["paths"]) for k in folds]
    joined = _joined(question)["paths"]
    inputs = {**_records(question, "graph"), "paths": paths, "joined": joined}
    return _run(
        question, "judge_candidates", question.keys, question.study.judging_settings(), inputs
    )


def _answer(question: Question, *, page: bool = False) -> Payloads:
    """The answer as a text and a document, and as a page where one is wanted."""
    choice, catalogue = _choice(question), _table(question)["catalogue"]
    judged = {name: payload for name, payload in choice.items() if name != "terms"}
    inputs = {**judged, "catalogue": catalogue, "page": page}
    for name, settings in requested(question.decision.config).items():
        if stage := declared_parts()[name].literals.get("stage"):  # on a file of the part
            read = {**_table(question), "terms": choice["terms"]}
            read |= {"description": question.files["description"]}
            read |= {"cases": question.files[next(iter(settings))]}
            inputs |= _run(question, stage, {}, None, read)
    settings = question.decision.answer_settings()
    if question.described is not None:
        settings["run"]["Repeat"] = "frugal.decide of the same table, with the same arguments"
    written = _run(question, "write_answer", {}, settings, inputs)
    document = written["document"]
    return {**written, "document": replace(document, payload=json.loads(document.payload))}


def _classifier(question: Question) -> Payloads:
    settings = question.study.config["afape"]["classifier"]
    return _run(
        question, "fit_classifier", {"dataset": question.dataset}, settings, _table(question)
    )


def _training(question: Question, agent: str) -> Payloads:
    inputs = {**_records(question), **_classifier(question)}
    return _run(
        question, "train_agent", question.keys_of(agent), question.study.agents[agent], inputs
    )


def _policies(question: Question, agents: list[str]) -> list[Any]:
    """The policies of those of these agents that learn, or are a file."""
    files, filed = question.functions, question.study.filed_agents
    return [
        files[agent]
        if agent in files
        else _payloads(question, "train_agent", agent=agent)["policy"]
        for agent in agents
        if agent in filed
    ]


def _episodes(question: Question, agent: str) -> Payloads:
    imputation = question.study.config["afape"]["imputation"]
    imputed = _run(question, "impute_features", question.keys, imputation, _records(question))
    inputs = {**_records(question, "graph", "identification"), **_classifier(question), **imputed}
    inputs |= dict(zip(["policy"], _policies(question, [agent]), strict=False))
    return _run(question, "roll_out", question.keys_of(agent), question.study.agents[agent], inputs)


def _costs(question: Question) -> tuple[Payloads, Payloads]:
    """Costs of every policy by every estimator, and the check of the graph."""
    study, records = question.study, _records(question, "graph", "identification")
    episodes = {agent: _episodes(question, agent) for agent in study.agents}
    blocked, worlds = (
        [(question.keys_of(agent), payloads[name]) for agent, payloads in episodes.items()]
        for name in ("blocked", "worlds")
    )
    inputs = {
        f"policy_{k}": policy for k, policy in enumerate(_policies(question, [*study.agents]))
    }
    inputs |= {**records, "blocked": blocked}
    settings = study.nuisance_settings(**question.keys)
    fitted = _run(question, "fit_nuisances", question.keys, settings, inputs)
    propensities = {"propensities": fitted["propensities"]}
    inputs = {**records, "blocked": blocked, "worlds": worlds, **propensities}
    inputs["agents"] = fitted["agents"]
    evaluation = study.config["afape"]["evaluation"]
    costs = _run(question, "estimate_costs", question.keys, evaluation, inputs)
    inputs = {**_records(question, "identification"), **propensities}
    return costs, _run(question, "check_graph", question.keys, None, inputs)


def _summary(question: Question) -> Payloads:
    costs, _ = _costs(question)
    inputs = {"estimates": [(question.keys, costs["estimates"])]}
    return _run(question, "summarise_afape", {}, None, inputs)


def _verdicts(question: Question) -> Payloads:
    costs, check = _costs(question)
    frames = {"graph_check": check["graph_check"]}
    frames |= {name: costs[name] for name in ("comparisons", "groups", "sensitivity", "tipping")}
    inputs = {name: [(question.keys, frame)] for name, frame in frames.items()}
    settings = question.study.verdict_settings()
    return _run(question, "give_verdicts", {}, settings, {**_summary(question), **inputs})


class _NoCheckpoint:
    """A checkpoint of a long stage that keeps nothing."""

    def __repr__(self) -> str:
        return "no checkpoint"

    def load(self) -> None:
        """No state was saved."""

    def save(self, state: Mapping[str, Any]) -> None:
        """Keep nothing."""


_NO_CHECKPOINT = _NoCheckpoint()


def _fair_summary(question: Question) -> Payloads:
    """All stages of dadi up to its tables, and the weights of the first fold's agents."""
    from frugal.studies.dadi.spec import load_dadi_study

    study, name = (
        load_dadi_study(question.study.config, question.study.descriptions),
        question.dataset,
    )
    table, first, tables = _table(question), {}, {}
    for fold in study.block["folds"]["run"]:
        keys = {"dataset": name, "fold": str(fold)}
        inputs = {**table, "checkpoint": _NO_CHECKPOINT}
        trained = _run(question, "train_dadi", keys, study.train_settings(name), inputs)
        inputs = {**table, "weights": trained["weights"]}
        rolled = _run(question, "roll_out_dadi", keys, study.roll_out_settings(name), inputs)
        base = _run(question, "fit_fair_baselines", keys, study.baseline_settings(name), inputs)
        outcomes = {"outcomes": rolled["outcomes"]}
        inputs = {**table, **outcomes}
        audit = _run(question, "audit_fairness", keys, study.audit_settings(name), inputs)
        inputs = {**outcomes, "predictions": base["predictions"], **audit}
        scored = _run(question, "score_dadi", keys, study.score_settings(), inputs)
        first = first or {"weights": trained["weights"]}
        for part, frame in {**scored, "singles": rolled["singles"], **audit}.items():
            tables.setdefault(part, []).append((keys, frame))
    return {**_run(question, "summarise_dadi", {}, study.summary_settings(), tables), **first}


def _fair_answer(question: Question) -> Payloads:
    """The agent that is chosen, the answer as a text and a page, and the files of its bundle."""
    from frugal.studies.dadi.figures import tradeoff_figure
    from frugal.studies.dadi.spec import load_dadi_study

    study, name = (
        load_dadi_study(question.study.config, question.study.descriptions),
        question.dataset,
    )
    table, summary = _table(question), _fair_summary(question)
    picture = question.scratch / "form.png"
    picture.parent.mkdir(exist_ok=True)
    tradeoff_figure(summary["means"].payload, name, None).savefig(picture)
    inputs = {key: summary[key] for key in ("summary", "means", "least_disparity")}
    inputs |= {"catalogue": table["catalogue"], "picture": KeptFile.of(picture)}
    settings = {**study.answer_settings(name), "reading": {"A new case": "form.policy.advise"}}
    answer = _run(question, "write_dadi_answer", {"dataset": name}, settings, inputs)
    inputs: dict[str, Any] = {**table, "choice": answer["choice"], "weights": summary["weights"]}
    inputs["description"] = question.files["description"]
    settings = study.bundle_settings(name)
    return {**answer, **_run(question, "bundle_dadi", {"dataset": name}, settings, inputs)}


_STAGES: Mapping[str, Callable[..., Payloads]] = {
    "prepare_data": _table,
    "draw_missingness": _missingness,
    "fit_classifier": _classifier,
    "train_agent": _training,
    "roll_out": _episodes,
    "judge_candidates": _choice,
    "write_answer": _answer,
    "check_graph": lambda question: _costs(question)[1],
    "summarise_afape": _summary,
    "give_verdicts": _verdicts,
    "summarise_dadi": _fair_summary,
    "write_dadi_answer": _fair_answer,
}


def page_of(question: Question) -> Path:
    """The answer's page; in a temporary folder, where everything else is in memory."""
    if question.folder is not None:
        return files_of(question, "write_answer", {})["page"]
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
        return files_of(question, "bundle_agent", {"agent": agent})["cases"].parent
    study = question.study
    inputs: dict[str, Any] = {"description": question.files["description"]}
    inputs |= {**_payloads(question, "prepare_data"), **_payloads(question, "fit_classifier")}
    if of_answer:
        inputs["graph"] = _missingness(question)["graph"]
    if of_answer and agent in study.trained_agents:
        inputs["policies"] = _joined(question)["policies"]
        if question.decision.config["objective"] == "f1":
            inputs["choice"] = _choice(question)["choice"]
    else:
        inputs |= dict(zip(["policy"], _policies(question, [agent]), strict=False))
    payloads = _run(question, "bundle_agent", question.keys_of(agent), study.agents[agent], inputs)
    return _bundle_written(question, agent, payloads)


def bundle_of_form(question: Question) -> Path:
    """The same of the agent that is chosen for a form."""
    answer = _fair_answer(question)
    return _bundle_written(question, "form", {name: answer[name] for name in ("policy", "cases")})


def _bundle_written(question: Question, agent: str, payloads: Payloads) -> Path:
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


def _run(
    question: Question,
    stage: str,
    keys: Mapping[str, str],
    settings: Any,
    inputs: Mapping[str, Any],
) -> Payloads:
    """Call a stage with the streams that the workflow gives it, unless it was called just so."""
    from threadpoolctl import threadpool_limits

    from frugal.core.arithmetic import correct_torch_when_loaded, is_pinned
    from frugal.core.streams import Streams
    from frugal.results.replacing import together

    settings = json.loads(json.dumps({} if settings is None else settings))
    identities = {name: _identity(value) for name, value in inputs.items()}
    called = json.dumps([stage, keys, settings, question.seed, identities])
    if called not in question.memory:
        streams = Streams(question.seed, stage, dict(keys))
        if is_pinned():  # this Python was started for portable arithmetic
            correct_torch_when_loaded()
        # two threads round sums in another order
        with threadpool_limits(1), extras_named(_called(stage, keys)):
            function = getattr(importlib.import_module(STAGES[stage]), stage)
            converted = {
                name: _as_taken(question, function, name, value) for name, value in inputs.items()
            }
            result = function(
                **converted, settings=settings, streams=streams, progress=_progress(stage)
            )
            grows = inspect.isgenerator(result)
            payloads = together(cast("Growing", result)) if grows else result
        identity = hashlib.sha256(called.encode()).hexdigest()
        question.memory[called] = {
            name: Made(f"{identity}-{name}", _as_read(payload))
            for name, payload in payloads.items()
        }
    return question.memory[called]


def _called(stage: str, keys: Mapping[str, str]) -> str:
    return f"agent {keys['agent']!r}" if "agent" in keys else f"the stage {stage}"


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


def _progress(stage: str) -> Callable[..., Any]:
    """A bar of progress in a terminal or a notebook; elsewhere nothing is shown."""
    with warnings.catch_warnings():  # a notebook without ipywidgets shows the terminal's bar
        warnings.simplefilter("ignore")
        from tqdm.auto import tqdm

    hidden = not (sys.stderr.isatty() or "ipykernel" in sys.modules)
    return partial(tqdm, desc=stage.replace("_", " "), leave=False, mininterval=1, disable=hidden)
