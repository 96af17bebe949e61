"""A fair form: which fields to collect, so that decisions are accurate and fair."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from frugal.core.errors import ConfigError, extras_named
from frugal.library.chain import bundle_written, payloads_of, run_stage, table_of
from frugal.library.folder import Payloads, Steps
from frugal.library.objects import OfQuestion, StoredPolicy, Table, html_of, shown_figure
from frugal.library.question import KeptFile, Question, door
from frugal.library.verbs import load
from frugal.run.config_files import laid_over
from frugal.studies.dadi.spec import DadiStudy, load_dadi_study

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["FairForm", "fair_form"]


class _NoCheckpoint:
    """A checkpoint of a long stage that keeps nothing."""

    def __repr__(self) -> str:
        return "no checkpoint"

    def load(self) -> None:
        """No state was saved."""

    def save(self, state: Mapping[str, Any]) -> None:
        """Keep nothing."""


_NO_CHECKPOINT = _NoCheckpoint()


def _study(question: Question) -> DadiStudy:
    return load_dadi_study(question.study.config, question.study.descriptions)


def _summary(question: Question) -> Payloads:
    """All stages of dadi up to its tables, and the weights of the first fold's agents."""
    study, name = _study(question), question.dataset
    table, first, tables = table_of(question), {}, {}
    for fold in study.block["folds"]["run"]:
        keys = {"dataset": name, "fold": str(fold)}
        inputs = {**table, "checkpoint": _NO_CHECKPOINT}
        trained = run_stage(question, "train_dadi", keys, study.train_settings(name), inputs)
        inputs = {**table, "weights": trained["weights"]}
        rolled = run_stage(question, "roll_out_dadi", keys, study.roll_out_settings(name), inputs)
        base = run_stage(
            question, "fit_fair_baselines", keys, study.baseline_settings(name), inputs
        )
        outcomes = {"outcomes": rolled["outcomes"]}
        inputs = {**table, **outcomes}
        audit = run_stage(question, "audit_fairness", keys, study.audit_settings(name), inputs)
        inputs = {**outcomes, "predictions": base["predictions"], **audit}
        scored = run_stage(question, "score_dadi", keys, study.score_settings(), inputs)
        first = first or {"weights": trained["weights"]}
        for part, frame in {**scored, "singles": rolled["singles"], **audit}.items():
            tables.setdefault(part, []).append((keys, frame))
    return {**run_stage(question, "summarise_dadi", {}, study.summary_settings(), tables), **first}


def _answer(question: Question) -> Payloads:
    """The agent that is chosen, the answer as a text and a page, and the files of its bundle."""
    from frugal.studies.dadi.figures import tradeoff_figure

    study, name = _study(question), question.dataset
    table, summary = table_of(question), _summary(question)
    picture = question.scratch / "form.png"
    picture.parent.mkdir(exist_ok=True)
    tradeoff_figure(summary["means"].payload, name, None).savefig(picture)
    inputs = {key: summary[key] for key in ("summary", "means", "least_disparity")}
    inputs |= {"catalogue": table["catalogue"], "picture": KeptFile.of(picture)}
    settings = {**study.answer_settings(name), "reading": {"A new case": "form.policy.advise"}}
    answer = run_stage(question, "write_dadi_answer", {"dataset": name}, settings, inputs)
    inputs: dict[str, Any] = {**table, "choice": answer["choice"], "weights": summary["weights"]}
    inputs["description"] = question.files["description"]
    settings = study.bundle_settings(name)
    return {**answer, **run_stage(question, "bundle_dadi", {"dataset": name}, settings, inputs)}


_STEPS = Steps({"summarise_dadi": _summary, "write_dadi_answer": _answer})
_payloads = partial(payloads_of, steps=_STEPS)


@dataclass(frozen=True, eq=False, repr=False)
class FairForm(OfQuestion):
    """Ways to collect the fields of a form: agents of each γ, other methods, their fairness."""

    @property
    def outcomes(self) -> "pd.DataFrame":
        """AUC, disparity, cost and share of positive decisions, a row for each method and fold.

        As `results/summary/dadi.parquet`.
        """
        return _payloads(self.question, "summarise_dadi")["summary"]

    @property
    def selection(self) -> "pd.DataFrame":
        """How often the agent of each γ acquires each panel."""
        return _payloads(self.question, "summarise_dadi")["selection"]

    @property
    def audit(self) -> "pd.DataFrame":
        """How well models predict the group from the panels that each agent acquires."""
        return _payloads(self.question, "summarise_dadi")["audit"]

    @property
    def gamma(self) -> float:
        """The γ of the agent to use."""
        return float(_payloads(self.question, "write_dadi_answer")["choice"]["gamma"])

    def summary(self) -> str:
        """The answer in words: which agent, its AUC, disparity and cost."""
        return _payloads(self.question, "write_dadi_answer")["sentence"].decode()

    @cached_property
    def policy(self) -> StoredPolicy:
        """The agent to use, for new applicants; in a temporary folder."""
        answer = _answer(self.question)
        files = {name: answer[name] for name in ("policy", "cases")}
        return StoredPolicy(bundle_written(self.question, "form", files))

    def plot(self) -> "Axes":
        """Lines: AUC and disparity along γ, and one against the other with all methods.

        As the last line of a notebook's cell they show the figure.
        """
        with extras_named("plot"):
            from frugal.studies.dadi.figures import tradeoff_figure

            means = _payloads(self.question, "summarise_dadi")["means"]
            return shown_figure(tradeoff_figure(means, Table(self.question).name, None))

    def __repr__(self) -> str:
        return f"FairForm({self.question.dataset!r}, gamma={self.gamma:g})"

    def _repr_html_(self) -> str:
        lines = [line for line in self.summary().splitlines() if line.strip()]
        return html_of(f"Form {self.question.dataset}", {"Answer": lines})


@door
def fair_form(
    table: Table | str | Path,
    *,
    gammas: Sequence[float] = (0.1, 0.5, 1.0),
    withheld: Sequence[str] = (),
    **settings: Any,
) -> FairForm:
    """Agents that choose the fields of a form, so decisions are accurate and fair.

    Runs the study dadi on one table in memory: an agent for each γ, an audit of how well their
    panels predict the group, and other methods for comparison.

    Args:
        table: from `load`, or the path of a YAML; complete, with two groups under `sensitive`.
        gammas: weights of accuracy, each between 0 and 1; at 1 fairness does not count.
        withheld: panels that may not be acquired.
        settings: keys of `dadi` in docs/reference/config.md, such as `training`, `folds` and
            `baselines`, and `networks`, the sizes of the networks.

    Raises:
        ConfigError: a setting is not allowed, or the table has no two groups.
        DataError: the table has missing values, or a part lacks a class or a group.
    """
    table = table if isinstance(table, Table) else load(table)
    if table.folder is not None:
        raise ConfigError(
            f"folder is {str(table.folder)!r}; fair_form takes a table that was loaded without a "
            "folder; for files run snakemake dadi"
        )
    shown, block = [float(gamma) for gamma in gammas], table.question.decision.config["dadi"]
    scenario: dict[str, Any] = {"dataset": table.name, "withheld_panels": list(withheld)}
    scenario |= {"shown_gammas": shown[:1]}
    scenario |= {key: settings.pop(key) for key in ("networks",) if key in settings}
    changes = {**settings, "gammas": shown, "scenarios": [scenario]}
    form = FairForm(table.question.with_block("dadi", laid_over(block, changes)))
    _payloads(form.question, "summarise_dadi")
    return form
