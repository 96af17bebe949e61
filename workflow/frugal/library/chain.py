"""The chain of stages in memory: their own functions, one after the other, no file between them.

    decide:    table → gaps → policies of each fold → choice → answer
    evaluate:  table → gaps → classifier → policies → episodes → propensities → costs → verdict

The rules under `workflow/rules` are the same chain in files. `made` answers from either: from the
workflow where a folder was given (`folder`), else from memory, where a stage runs once for the same
settings and inputs.
"""

import copy
import importlib
import inspect
import json
import sys
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from frugal.core.errors import extras_named
from frugal.library.asked import Asked
from frugal.library.folder import ALL_ROWS, files_of
from frugal.results.sources import STAGES

if TYPE_CHECKING:
    from frugal.results.replacing import Growing

Payloads = Mapping[str, Any]


def made(asked: Asked, stage: str, *, again: bool = False, **keys: str) -> Payloads:
    """The payloads of a stage by name of output.

    Args:
        asked: the question.
        stage: one of `FILES`.
        again: in a folder, the workflow looks once more whether its files are up to date.
        keys: wildcards beside data set and mechanism.

    Raises:
        FrugalError: a stage refuses; its own sentence.
    """
    payloads = _payloads(asked, stage, again=again, **keys)
    return payloads if asked.folder else copy.deepcopy(dict(payloads))  # tables may be changed


def _payloads(asked: Asked, stage: str, *, again: bool = False, **keys: str) -> Payloads:
    if asked.folder is None:
        return _STAGES[stage](asked, **keys)
    from frugal.results.files import read_payload

    texts, files = (".txt", ".html"), files_of(asked, stage, keys, again=again)
    return {
        name: path.read_bytes() if path.suffix in texts else read_payload(path)
        for name, path in files.items()
    }


def _table(asked: Asked) -> Payloads:
    raw = asked.study.raw_inputs(asked.dataset)
    paths = {name: Path(path) for name, path in raw.items()}
    settings = asked.study.prepare_settings(asked.dataset)
    return _run(asked, "prepare_data", {"dataset": asked.dataset}, settings, paths)


def _gaps(asked: Asked) -> Payloads:
    settings = asked.study.missingness_settings(**asked.keys)
    return _run(asked, "draw_missingness", asked.keys, settings, _table(asked))


def _records(asked: Asked, *more: str) -> dict[str, Any]:
    """The table with its masks, and further outputs of `draw_missingness`."""
    gaps = _gaps(asked)
    return {**_table(asked), **{name: gaps[name] for name in ("masks", *more)}}


def _candidates(asked: Asked, fold: str) -> Payloads:
    """Policies that learned on all folds but one, and their paths on that one."""
    keys = {**asked.keys, "held_out": fold}
    settings = asked.study.candidate_settings()
    return _run(asked, "learn_candidates", keys, settings, _records(asked))


def _choice(asked: Asked) -> Payloads:
    folds = asked.study.folds(asked.dataset)
    paths = [({**asked.keys, "held_out": k}, _candidates(asked, k)["paths"]) for k in folds]
    refitted = _candidates(asked, ALL_ROWS)["paths"]
    inputs = {**_records(asked, "graph"), "paths": paths, "refitted": refitted}
    return _run(asked, "judge_candidates", asked.keys, asked.study.judging_settings(), inputs)


def _answer(asked: Asked, *, page: bool = False) -> Payloads:
    """The answer as a text and a document, and as a page where one is wanted."""
    choice, catalogue = _choice(asked), _table(asked)["catalogue"]
    judged = {name: choice[name] for name in ("choice", "outcomes", "net_benefit")}
    inputs = {**judged, "catalogue": catalogue, "page": page}
    written = _run(asked, "write_answer", {}, asked.decision.answer_settings(), inputs)
    return {**written, "document": json.loads(written["document"])}


def _classifier(asked: Asked) -> Payloads:
    settings = asked.study.config["afape"]["classifier"]
    return _run(asked, "fit_classifier", {"dataset": asked.dataset}, settings, _table(asked))


def _training(asked: Asked, agent: str) -> Payloads:
    inputs = {**_records(asked), **_classifier(asked)}
    return _run(asked, "train_agent", asked.keys_of(agent), asked.study.agents[agent], inputs)


def _policies(asked: Asked, agents: list[str]) -> list[Any]:
    """The policies of those of these agents that learn, or are a file."""
    from frugal.results.files import read_payload

    files, filed = asked.study.own_files, asked.study.filed_agents
    return [
        read_payload(files[agent])
        if agent in files
        else _payloads(asked, "train_agent", agent=agent)["policy"]
        for agent in agents
        if agent in filed
    ]


def _episodes(asked: Asked, agent: str) -> Payloads:
    imputation = asked.study.config["afape"]["imputation"]
    imputed = _run(asked, "impute_features", asked.keys, imputation, _records(asked))
    inputs = {**_records(asked, "graph", "identification"), **_classifier(asked), **imputed}
    inputs |= dict(zip(["policy"], _policies(asked, [agent]), strict=False))
    return _run(asked, "roll_out", asked.keys_of(agent), asked.study.agents[agent], inputs)


def _costs(asked: Asked) -> tuple[Payloads, Payloads]:
    """Costs of every policy by every estimator, and the check of the graph."""
    study, records = asked.study, _records(asked, "graph", "identification")
    episodes = {agent: _episodes(asked, agent) for agent in study.agents}
    blocked, worlds = (
        [(asked.keys_of(agent), payloads[name]) for agent, payloads in episodes.items()]
        for name in ("blocked", "worlds")
    )
    inputs = {f"policy_{k}": one for k, one in enumerate(_policies(asked, [*study.agents]))}
    inputs |= {**records, "blocked": blocked}
    settings = study.nuisance_settings(**asked.keys)
    fitted = _run(asked, "fit_nuisances", asked.keys, settings, inputs)
    propensities = {"propensities": fitted["propensities"]}
    inputs = {**records, "blocked": blocked, "worlds": worlds, **propensities}
    inputs["agents"] = fitted["agents"]
    evaluation = study.config["afape"]["evaluation"]
    costs = _run(asked, "estimate_costs", asked.keys, evaluation, inputs)
    inputs = {**_records(asked, "identification"), **propensities}
    return costs, _run(asked, "check_graph", asked.keys, None, inputs)


def _summary(asked: Asked) -> Payloads:
    costs, _ = _costs(asked)
    inputs = {"estimates": [(asked.keys, costs["estimates"])]}
    return _run(asked, "summarise_afape", {}, None, inputs)


def _verdicts(asked: Asked) -> Payloads:
    costs, check = _costs(asked)
    frames = {"graph_check": check["graph_check"]}
    frames |= {name: costs[name] for name in ("comparisons", "groups", "sensitivity", "tipping")}
    inputs = {name: [(asked.keys, frame)] for name, frame in frames.items()}
    settings = asked.study.verdict_settings()
    return _run(asked, "give_verdicts", {}, settings, {**_summary(asked), **inputs})


class _NoCheckpoint:
    """A checkpoint of a long stage that keeps nothing."""

    def load(self) -> None:
        """No state was saved."""

    def save(self, state: Mapping[str, Any]) -> None:
        """Keep nothing."""


_NO_CHECKPOINT = _NoCheckpoint()


def _fair_summary(asked: Asked) -> Payloads:
    """All stages of dadi up to its tables, and the weights of the first fold's agents."""
    from frugal.studies.dadi.spec import load_dadi_study

    study, name = load_dadi_study(asked.study.config, asked.study.descriptions), asked.dataset
    table, first, tables = _table(asked), {}, {}
    for fold in study.block["folds"]["run"]:
        keys = {"dataset": name, "fold": str(fold)}
        inputs = {**table, "checkpoint": _NO_CHECKPOINT}
        trained = _run(asked, "train_dadi", keys, study.train_settings(name), inputs)
        inputs = {**table, "weights": trained["weights"]}
        rolled = _run(asked, "roll_out_dadi", keys, study.roll_out_settings(name), inputs)
        base = _run(asked, "fit_fair_baselines", keys, study.baseline_settings(name), inputs)
        outcomes = {"outcomes": rolled["outcomes"]}
        inputs = {**table, **outcomes}
        audit = _run(asked, "audit_fairness", keys, study.audit_settings(name), inputs)
        inputs = {**outcomes, "predictions": base["predictions"], **audit}
        scored = _run(asked, "score_dadi", keys, study.score_settings(), inputs)
        first = first or {"weights": trained["weights"]}
        for part, frame in {**scored, "singles": rolled["singles"], **audit}.items():
            tables.setdefault(part, []).append((keys, frame))
    return {**_run(asked, "summarise_dadi", {}, study.summary_settings(), tables), **first}


def _fair_answer(asked: Asked) -> Payloads:
    """The agent that is chosen, the answer as a text and a page, and the files of its bundle."""
    from frugal.studies.dadi.figures import tradeoff_figure
    from frugal.studies.dadi.spec import load_dadi_study

    study, name = load_dadi_study(asked.study.config, asked.study.descriptions), asked.dataset
    table, summary = _table(asked), _fair_summary(asked)
    picture = asked.scratch / "form.png"
    picture.parent.mkdir(exist_ok=True)
    tradeoff_figure(summary["means"], name, None).savefig(picture)
    inputs = {key: summary[key] for key in ("summary", "means", "least_disparity")}
    inputs |= {"catalogue": table["catalogue"], "picture": picture}
    settings = {**study.answer_settings(name), "reading": {"A new case": "form.policy.advise"}}
    answer = _run(asked, "write_dadi_answer", {"dataset": name}, settings, inputs)
    inputs = {**table, "choice": answer["choice"], "weights": summary["weights"]}
    inputs["description"] = Path(asked.study.described_input(name)["description"])
    settings = study.bundle_settings(name)
    return {**answer, **_run(asked, "bundle_dadi", {"dataset": name}, settings, inputs)}


_STAGES: Mapping[str, Callable[..., Payloads]] = {
    "prepare_data": _table,
    "draw_missingness": _gaps,
    "fit_classifier": _classifier,
    "train_agent": _training,
    "roll_out": _episodes,
    "judge_candidates": _choice,
    "write_answer": _answer,
    "check_graph": lambda asked: _costs(asked)[1],
    "summarise_afape": _summary,
    "give_verdicts": _verdicts,
    "summarise_dadi": _fair_summary,
    "write_dadi_answer": _fair_answer,
}


def page_of(asked: Asked) -> Path:
    """The answer's page; in a temporary folder, where everything else is in memory."""
    if asked.folder is not None:
        return files_of(asked, "write_answer", {})["page"]
    content = _answer(asked, page=True)["page"]
    page = asked.scratch / f"answer-{id(content)}.html"
    page.write_bytes(content)
    return page


def bundle_of(asked: Asked, agent: str, *, of_answer: bool) -> Path:
    """The folder of a policy with all that `advise` and `export` need; made once.

    That of an answer, which learned on all rows, where the workflow puts it; others apart.
    """
    if of_answer and asked.folder is not None:
        return files_of(asked, "bundle_agent", {"agent": agent})["cases"].parent
    study = asked.study
    inputs = {**_payloads(asked, "prepare_data"), **_payloads(asked, "fit_classifier")}
    inputs["description"] = Path(study.described_input(asked.dataset)["description"])
    if of_answer and agent in study.trained_agents:
        inputs["policies"] = _candidates(asked, ALL_ROWS)["policies"]
    else:
        inputs |= dict(zip(["policy"], _policies(asked, [agent]), strict=False))
    payloads = _run(asked, "bundle_agent", asked.keys_of(agent), study.agents[agent], inputs)
    return _bundle_written(asked, agent, payloads)


def bundle_of_form(asked: Asked) -> Path:
    """The same of the agent that is chosen for a form."""
    answer = _fair_answer(asked)
    return _bundle_written(asked, "form", {name: answer[name] for name in ("policy", "cases")})


def _bundle_written(asked: Asked, agent: str, payloads: Payloads) -> Path:
    """The folder of these payloads, which is temporary."""
    from frugal.core.layout import Bundle
    from frugal.core.stored import StoredArrays
    from frugal.results.files import payload_bytes, write_bytes

    folder = asked.scratch / f"{agent}-{id(payloads['policy'])}"
    for name, payload in payloads.items():
        path = folder / f"{name}.{'json' if name == 'cases' else 'safetensors'}"
        if isinstance(payload, StoredArrays):
            payload = Bundle(payload.header or {}, payload)
        write_bytes(path, payload_bytes(path, payload))
    return folder


def _run(
    asked: Asked, stage: str, keys: Mapping[str, str], settings: Any, inputs: Mapping[str, Any]
) -> Payloads:
    """Call a stage with the streams that the workflow gives it, unless it was called just so."""
    from threadpoolctl import threadpool_limits

    from frugal.core.arithmetic import correct_torch_when_loaded, is_pinned
    from frugal.core.streams import Streams
    from frugal.results.replacing import together

    settings = json.loads(json.dumps({} if settings is None else settings))
    called = json.dumps([stage, keys, settings, {k: _identity(v) for k, v in inputs.items()}])
    if called not in asked.memory:
        streams = Streams(asked.seed, stage, dict(keys))
        if is_pinned():  # this Python was started for portable arithmetic
            correct_torch_when_loaded()
        # two threads round sums in another order
        with threadpool_limits(1), extras_named(_called(stage, keys)):
            function = getattr(importlib.import_module(STAGES[stage]), stage)
            given = {name: _as_taken(function, name, value) for name, value in inputs.items()}
            result = function(
                **given, settings=settings, streams=streams, progress=_progress(stage)
            )
            grows = inspect.isgenerator(result)
            payloads = together(cast("Growing", result)) if grows else result
        read = {name: _as_read(payload) for name, payload in payloads.items()}
        asked.memory[called] = (inputs, read)
    return asked.memory[called][1]


def _called(stage: str, keys: Mapping[str, str]) -> str:
    return f"agent {keys['agent']!r}" if "agent" in keys else f"the stage {stage}"


def _identity(value: Any) -> Any:
    """Identity of an input as long as it is in memory."""
    if isinstance(value, list):
        return [[dict(keys), id(one)] for keys, one in value]
    return str(value) if isinstance(value, Path) else id(value)


def _as_taken(stage: Callable[..., Any], name: str, value: Any) -> Any:
    """An input as the stage takes it: several tables one at a time, or as one."""
    from frugal.core.rows import FrameRows, Partitions
    from frugal.results.files import joined_frames
    from frugal.run.stage_command import takes_one_by_one

    if not isinstance(value, list):
        return value
    folders, frames = [keys for keys, _ in value], [frame for _, frame in value]
    if takes_one_by_one(stage, name):
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


class _NoBar:
    """A bar of progress that shows nothing, called like tqdm."""

    def __new__(cls, rows: Any = None, **_: Any) -> Any:
        """The rows themselves, where there are some."""
        return object.__new__(cls) if rows is None else rows

    def update(self, steps: int = 1) -> None:
        """Show nothing."""

    def close(self) -> None:
        """Show nothing."""


def _progress(stage: str) -> Callable[..., Any]:
    """A bar of progress in a terminal or a notebook; elsewhere nothing is shown."""
    if not (sys.stderr.isatty() or "ipykernel" in sys.modules):
        return _NoBar
    with warnings.catch_warnings():  # a notebook without ipywidgets shows the terminal's bar
        warnings.simplefilter("ignore")
        from tqdm.auto import tqdm

    return partial(tqdm, desc=stage.replace("_", " "), leave=False, mininterval=1)
