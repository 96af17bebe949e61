"""Objects that the verbs return: a table, its missing values, policies, decisions, answers.

Tables are copied on access. Shapes: n units, d features.
"""

import re
import shutil
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from frugal.core.errors import ConfigError, DataError, extras_named
from frugal.core.schema_check import did_you_mean, listed
from frugal.library.chain import bundle_of, page_of, payloads_of
from frugal.library.contents import WithHelp
from frugal.library.frames import as_cases, as_pandas, is_frame, is_row
from frugal.library.question import KeptFile, Question, TemporaryFolder, door
from frugal.results.replacing import replace_files

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from frugal.acquire.bundles import CaseBundle
    from frugal.data.cases import Cases


@dataclass(frozen=True, eq=False, repr=False)
class OfQuestion:
    """Results of a question.

    Attributes:
        question: its config and folder; the inputs of the other steps.
    """

    question: Question

    @property
    def folder(self) -> Path | None:
        """In which `results/` lies, as after `snakemake decide`; None where all is in memory."""
        return self.question.folder


@dataclass(frozen=True, eq=False, repr=False)
class Table(OfQuestion):
    """A table that is described, read and encoded."""

    @property
    def name(self) -> str:
        """Of the data set, as in its YAML."""
        return self.question.dataset

    @property
    def unit(self) -> str:
        """Of prices and costs of errors."""
        return self.question.study.descriptions[self.name].cost_unit

    @property
    def panels(self) -> dict[str, float | None]:
        """Panel → price in the table's unit, 0 for a free one; None where prices are drawn."""
        panels = self.question.study.descriptions[self.name].panels
        return {panel.name: 0.0 if panel.free else panel.cost for panel in panels}

    @property
    def policies(self) -> list[str]:
        """Names of the policies that `decide` tries on it."""
        return list(self.question.study.agents)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Assumptions about missing values, and probable mistakes; a sentence each."""
        from frugal.answer.words import all_remarks

        described = self.question.described
        settings, report = self.question.decision.answer_settings(), self.catalogue["report"]
        read = all_remarks(report, settings["causes"], settings["remarks"])
        return (*(described.remarks if described else ()), *read, *report["suspicions"])

    @property
    def frame(self) -> "pd.DataFrame":
        """Rows as stages read them: encoded features with NaN where unknown, label, part. (n, …)"""
        return payloads_of(self.question, "prepare_data")["table"]

    @property
    def catalogue(self) -> dict[str, Any]:
        """Columns with their units, panels with their prices, classes, costs of errors."""
        return payloads_of(self.question, "prepare_data")["catalogue"]

    @door
    def description(self, path: str | Path) -> Path:
        """Write the YAML of a data frame, and its cells as a CSV; the path of the YAML.

        `load` of that YAML, `snakemake decide --config table=PATH` and the frame give the same
        numbers.

        Raises:
            DataError: there is such a file already, or the table was not a data frame.
        """
        from frugal.results.replacing import replace_files

        if self.question.described is None:
            raise DataError(f"table {self.name!r} was not a data frame; its YAML is there already")
        place = Path(path)
        if place.suffix not in (".yaml", ".yml"):
            raise DataError(f"path is {str(place)!r}; allowed is a name that ends in .yaml")
        files = self.question.described.files(place)
        for file in files:
            if file.exists():
                raise DataError(f"{file} is there already; name another")
        replace_files(files)
        return place

    def __repr__(self) -> str:
        return f"Table({self.name!r}, panels={list(self.panels)})"

    def _repr_html_(self) -> str:
        prices = [f"{name}: {_price(price, self.unit)}" for name, price in self.panels.items()]
        return html_of(f"Table {self.name}", {"Panels": prices, "Assumptions": self.remarks})


@dataclass(frozen=True, eq=False, repr=False)
class Masks(OfQuestion):
    """Which panels of a table are missing where, and by which missingness model."""

    @property
    def name(self) -> str:
        """Of the mechanism."""
        return self.question.mechanism

    @property
    def law(self) -> Mapping[str, Any]:
        """The missingness model, as `missingness` of a scenario in a config."""
        return self.question.study.scenario(**self.question.keys)["missingness"]

    @property
    def frame(self) -> "pd.DataFrame":
        """Whether each panel is observed, a row for each unit and seed."""
        return payloads_of(self.question, "draw_missingness")["masks"]

    @property
    def graph(self) -> dict[str, Any]:
        """The assumed graph: panels, and the causes of their missing values."""
        return payloads_of(self.question, "draw_missingness")["graph"]

    @property
    def identification(self) -> dict[str, Any]:
        """Quantities that such records identify, and by which panels' indicators."""
        return payloads_of(self.question, "draw_missingness")["identification"]

    def __repr__(self) -> str:
        return f"Masks({self.question.dataset!r}, {self.name!r})"


def _price(price: float | None, unit: str) -> str:
    return "price drawn" if price is None else f"{price:g} {unit}" if price else "free"


def html_of(title: str, parts: Mapping[str, Sequence[str]]) -> str:
    """A title and lists below headings, as a notebook shows an object."""
    text = f"<p><b>{escape(title)}</b></p>"
    for heading, lines in parts.items():
        items = "".join(f"<li>{escape(line)}</li>" for line in lines)
        text += f"<p><b>{escape(heading)}</b></p><ul>{items}</ul>" if lines else ""
    return f"<div>{text}</div>"


def shown_figure(figure: "Figure") -> "Axes":
    """The first axes of a figure; in a notebook, as the last line of a cell, they show it."""
    axes = figure.axes[0]

    def picture() -> bytes:
        """The figure as a PNG."""
        content = BytesIO()
        figure.savefig(content, format="png", dpi=90, bbox_inches="tight")
        return content.getvalue()

    vars(axes)["_repr_png_"] = vars(figure)["_repr_png_"] = picture
    return axes


class _Advises(WithHelp):
    """Answers questions about new cases, from the bundle of a policy."""

    @cached_property
    def _read(self) -> "CaseBundle":
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: all but the bundle in memory, which is read again."""
        return {name: value for name, value in vars(self).items() if name != "_read"}

    def _cases(self, cases: Any, id_column: str | None, *, complete: bool) -> "Cases":
        """Cases of a frame or file, encoded as the policy's table."""
        from frugal.acquire.advice import cases_of

        source = as_cases(cases, lambda: [e["from"] for e in self._read.cases["columns"]])
        return cases_of(self._read, source, id_column=id_column, complete=complete)

    @door
    def advise(
        self,
        cases: Any,
        *,
        without: Sequence[str] = (),
        simulate: bool = False,
        id_column: str | None = None,
        rollout: int | None = None,
        refer: float | str | Path | None = None,
    ) -> "pd.DataFrame":
        """The next panel for each new case, its price, the predicted probability, and the reason.

        Args:
            cases: the table's columns by their names in its file, or such a CSV, Excel or Parquet
                file; empty, NaN or without a column is not acquired yet. One case may be a mapping
                or a Series; an array has the columns in the order of the table.
            without: panels that cannot be had now.
            simulate: the whole path from nothing acquired, where the cases have the values.
            id_column: names the cases; by default the first column, if it is no feature.
            rollout: draw as the roll-out of this seed did, for the table's rows in their order.
            refer: price of handing a case to a person, or answer.json of a table loaded with
                `refer`.

        Returns:
            A row for each decision, as `python -m frugal advise --out` writes it.

        Raises:
            DataError: the cases are not cases of the policy's table, or a panel is none.
        """
        from frugal.acquire.advice import advice_frame
        from frugal.run.advise import advise

        with extras_named("advice"):
            read, bundle = self._cases(cases, id_column, complete=simulate), self._read
            how = {"simulate": simulate, "rollout": rollout, "refer": refer}
            advice = advise(bundle, read, without, **how)
        return advice_frame(bundle, read, advice)

    @property
    def classes(self) -> list[str]:
        """Names of the classes, in the order of the columns of `predict_proba`."""
        return list(self._read.layout.classes)

    def _warned(self, cases: Any) -> "pd.DataFrame":
        """Output of `advise`, with a warning of values that training did not see."""
        advice = self.advise(cases)
        outside = advice.loc[advice["outside"] != "", "outside"]
        if len(outside):
            warnings.warn(
                f"{len(outside):,} of {len(advice):,} cases are outside the training data, the "
                f"first by {outside.iloc[0]}; `advise` has it for each in the column `outside`",
                stacklevel=4,  # beyond `door` and this
            )
        return advice

    @overload
    def next(self, cases: Mapping[str, Any]) -> str: ...
    @overload
    def next(self, cases: Any) -> "pd.Series": ...
    @door
    def next(self, cases: Any) -> "pd.Series | str":
        """The panel to acquire next for each case, or `stop`, by the index of the cases. (n,)

        Args:
            cases: as of `advise`, which also states prices and reasons; of one row the panel alone.
        """
        chosen = self._warned(cases)["next"]
        if is_row(cases):
            return str(chosen.iloc[0])
        return chosen.set_axis(as_pandas(cases).index) if is_frame(cases) else chosen

    @door
    def predict(self, cases: Any) -> "np.ndarray":
        """The class of least expected cost if nothing more is acquired, as a text. (n,)

        Args:
            cases: as of `advise`.
        """
        return self._warned(cases)["predicted"].to_numpy()

    @door
    def predict_proba(self, cases: Any) -> "np.ndarray":
        """Predicted probability of each of `classes`, given the values of a case. (n, k)

        Args:
            cases: as of `advise`.
        """
        return self._warned(cases)[[f"belief {name}" for name in self.classes]].to_numpy()

    @door
    def export(
        self, path: str | Path, *, table: str | None = None, id_column: str | None = None
    ) -> Path:
        """Write the policy for other systems, as `frugal export` does; the path.

        Args:
            path: its ending sets the format: .sql is one SELECT of standard SQL, whose result has
                the next panel, the predicted class, and the probability of each class; .json are
                rules (docs/reference/rules.md); .csv is a data dictionary of REDCap, of a policy
                that does not order by predicted probabilities; .onnx is a graph.
            table: in SQL, with the columns of the cases by their names; NULL is not acquired. By
                default cases.
            id_column: in SQL, names the cases; by default the result has all their columns.

        Raises:
            DataError: the name has another ending or is there already, or the policy is of a kind
                that other systems cannot run.
        """
        place = Path(path)
        if place.exists():
            raise DataError(f"path is {str(place)!r}; allowed is a new name")
        with extras_named("export"):
            from frugal.acquire.exports import exported

            place.write_bytes(exported(self._read, place, table=table, id_column=id_column))
        return place


@dataclass(frozen=True, eq=False, repr=False)
class StoredPolicy(_Advises):
    """A policy that was kept as a folder.

    Attributes:
        bundle: the folder.
        function: file of one's own function, for a policy of kind `python`.
    """

    bundle: Path
    function: Path | None = None

    @cached_property
    def _read(self) -> "CaseBundle":
        from frugal.acquire.bundles import read_bundle

        read = read_bundle(self.bundle, function=self.function)
        vars(self)["_kept"] = self._files()
        return read

    def _files(self) -> list[KeptFile]:
        """The files as they are now."""
        files = [*self.bundle.glob("*.json"), *self.bundle.glob("*.safetensors")]
        return [KeptFile.of(path) for path in (*files, *filter(None, [self.function]))]

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: the files themselves."""
        files = vars(self).get("_kept") or self._files()
        return {"name": self.bundle.name, "files": files, "function": self.function is not None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        scratch = TemporaryFolder()
        paths = [scratch / state["name"] / file.path.name for file in state["files"]]
        replace_files(
            {path: file.content for path, file in zip(paths, state["files"], strict=True)}
        )
        function = paths[-1] if state["function"] else None
        parts = {"bundle": paths[0].parent, "function": function, "_kept": state["files"]}
        vars(self).update(parts, _scratch=scratch)

    @property
    def kind(self) -> str:
        """One of docs/reference/agents.md."""
        return self._read.kind

    def __repr__(self) -> str:
        return f"StoredPolicy({str(self.bundle)!r})"


@dataclass(frozen=True, eq=False, repr=False)
class Policy(_Advises):
    """A policy of one table and its missingness, trained if it is of a kind that learns.

    Attributes:
        question: its config and folder.
        name: under which it is evaluated.
        of_answer: whether it is one that `decide` hands out: the policies of all folds, which vote.
    """

    question: Question
    name: str
    of_answer: bool = False

    @property
    def settings(self) -> Mapping[str, Any]:
        """As under `afape.agents` of a config."""
        return self.question.study.agents[self.name]

    @property
    def kind(self) -> str:
        """One of docs/reference/agents.md."""
        return self.settings["kind"]

    @property
    def training(self) -> "pd.DataFrame | None":
        """The training curve; None for a kind that does not learn."""
        if self.name not in self.question.study.trained_agents:
            return None
        return payloads_of(self.question, "train_agent", agent=self.name)["training"]

    @property
    def bundle(self) -> Path:
        """The folder that `python -m frugal advise` and `export` take."""
        return bundle_of(self.question, self.name, of_answer=self.of_answer)

    @cached_property
    def _read(self) -> "CaseBundle":
        from frugal.acquire.bundles import read_bundle

        file = self.question.functions.get(self.name)
        function = None if file is None else self.question.located(file)
        return read_bundle(self.bundle, function=function)

    @door
    def save(self, folder: str | Path) -> Path:
        """Keep the policy as a folder of its own, which `load_policy` reads anywhere.

        Raises:
            DataError: there is such a file or folder already.
        """
        place = Path(folder)
        if place.exists():
            raise DataError(f"{place} is there already; name a folder that is not")
        shutil.copytree(self.bundle, place)
        return place

    def __repr__(self) -> str:
        return f"Policy({self.name!r}, kind={self.kind!r})"

    def _repr_html_(self) -> str:
        settings = [f"{key}: {value}" for key, value in self.settings.items()]
        calls = [f"policy.{call}(cases)" for call in ("advise", "next", "predict", "predict_proba")]
        return html_of(f"Policy {self.name}", {"Settings": settings, "New cases": calls})


@dataclass(frozen=True, eq=False, repr=False)
class ComparedPolicies(OfQuestion):
    """Policies that were evaluated."""

    @property
    def policies(self) -> list[str]:
        """Names of the policies that were evaluated."""
        return list(self.question.study.agents)

    def _require(self, name: str) -> None:
        """Refuse a name of no policy."""
        if name not in self.policies:
            raise ConfigError(
                f"there is no policy {name!r}; evaluated were {listed(self.policies)}"
                f"{did_you_mean(name, self.policies)}"
            )

    def __repr__(self) -> str:
        class_name = type(self).__name__
        return f"{class_name}({self.question.dataset!r}, policies={self.policies})"


class Recommendation(WithHelp, ABC):
    """An answer, in memory or in a folder: its document, and its words when printed."""

    @property
    @abstractmethod
    def document(self) -> dict[str, Any]:
        """The answer under stable names, as `answer.json`."""

    @abstractmethod
    def summary(self) -> str:
        """The answer in at most twelve lines."""

    @property
    @abstractmethod
    def best(self) -> _Advises:
        """The policy to use, for new cases."""

    @property
    def state(self) -> str:
        """How sure it is: best, good_enough, short_list or open; empty of an answer without it."""
        return str(self.document.get("state", ""))

    def __str__(self) -> str:
        return self.summary()


@dataclass(frozen=True, eq=False, repr=False)
class Answer(ComparedPolicies, Recommendation):
    """A recommendation for a table: which policy, its cost and saving, and how sure that is."""

    @property
    def document(self) -> dict[str, Any]:
        """The answer under stable names, as `answer.json`."""
        return payloads_of(self.question, "write_answer")["document"]

    def summary(self) -> str:
        """The answer in at most twelve lines, as `verdict.txt`; in memory no line names a file."""
        if self.folder is not None:
            return payloads_of(self.question, "write_answer")["text"].decode()
        draws = "" if find_spec("matplotlib") else " (needs pip install 'frugal[report]')"
        return self.text_with('answer.best.advise("cases.csv")', f"answer.page{draws}")

    def text_with(self, advise: str, page: str) -> str:
        """The summary, with the call or command that advises on a case, and that of the page."""
        text = payloads_of(self.question, "write_answer")["text"].decode()
        for label, call in (("Next panel for a new case", advise), ("All on one page", page)):
            line = f"{label}: {call}"
            text = re.sub(rf"^{label}: .*$", lambda _, line=line: line, text, flags=re.MULTILINE)
        return text

    @door
    def save(self, folder: str | Path) -> Path:
        """Keep the answer as a folder, which `frugal.load_answer` reads anywhere.

        It holds the text, `answer.json`, the policy to use as a bundle, and `answer.html` where the
        packages for pictures are there.

        Raises:
            DataError: there is such a file or folder already.
        """
        from frugal.library.kept_answers import save_answer

        save_answer(self, Path(folder))
        return Path(folder)

    def to_html(self) -> str:
        """The page as a text of HTML."""
        return self.page.read_text(encoding="utf-8")

    def __repr__(self) -> str:
        named = self.document["policy"]
        return f"Answer({self.question.dataset!r}, policy={named!r}, state={self.state!r})"

    def _repr_html_(self) -> str:
        from frugal.answer.words import words

        text = words(self._choice, self.outcomes, self.table.unit, self.table.catalogue["classes"])
        report = self.table.catalogue["report"]
        predicts = filter(None, [report.get("predicts")])
        parts = {
            "What to do": [text.orders, *filter(None, [text.errors]), text.cost],
            "How sure": [text.sure],
            "What it rests on": [*predicts, text.rests, *report["suspicions"]],
            "What would change it": [*text.changes, *text.last],
        }
        return html_of(f"Answer for {self.question.dataset}", parts)

    @property
    def table(self) -> Table:
        """The table that was evaluated."""
        return Table(self.question)

    @property
    def _choice(self) -> dict[str, Any]:
        return payloads_of(self.question, "judge_candidates")["choice"]

    def plot(self) -> "Axes":
        """Bars: cost of every policy, in panels and in errors, with intervals; as on the page.

        As the last line of a notebook's cell they show the figure.
        """
        with extras_named("plot"):
            from frugal.answer.pictures import costs_figure, f1_figure

            best, unit = self._choice["policy"], self.table.unit
            drawn = f1_figure if self._choice["objective"] == "f1" else costs_figure
            return shown_figure(drawn(self.outcomes, best, cost_unit=unit))

    def plot_trust(self) -> "Axes":
        """Bars: how many complete rows the estimate of every policy is as informative as."""
        with extras_named("plot_trust"):
            from frugal.answer.pictures import rows_figure

            return shown_figure(rows_figure(self.outcomes, self._choice["policy"]))

    def plot_prices(self) -> "Axes":
        """Lines: by which factor each price may change before another policy becomes better."""
        with extras_named("plot_prices"):
            from frugal.answer.pictures import prices_figure
            from frugal.answer.words import in_words

            choice, catalogue = self._choice, self.table.catalogue
            names = in_words(list(choice["prices"]), catalogue["classes"])
            ranges, now = (
                {label: choice[key][name] for name, label in names.items()}
                for key in ("prices", "unit_costs")
            )
            return shown_figure(prices_figure(ranges, now, self.table.unit))

    def plot_net_benefit(self) -> "Axes":
        """Lines: net benefit of every policy by threshold, panels paid for.

        Raises:
            ConfigError: there are not two classes, or a missed positive costs nothing.
        """
        if not len(self.net_benefit):
            raise ConfigError(
                "net benefit is defined for two classes where missing the second one costs more "
                "than finding it"
            )
        with extras_named("plot_net_benefit"):
            from frugal.answer.pictures import net_benefit_figure

            choice = self._choice
            at = choice["net_benefit"]["threshold"]
            return net_benefit_figure(self.net_benefit, choice["policy"], at).axes[0]

    @property
    def net_benefit(self) -> "pd.DataFrame":
        """Net benefit of every policy, of treating all and none, at each threshold; a row each."""
        return payloads_of(self.question, "judge_candidates")["net_benefit"]

    @property
    def outcomes(self) -> "pd.DataFrame":
        """Cost of every policy with its interval, split into panels and errors; a row each."""
        from frugal.answer.words import PolicyTable

        return PolicyTable(payloads_of(self.question, "judge_candidates")["outcomes"])

    @property
    def page(self) -> Path:
        """The whole answer as one page of HTML, with its picture."""
        return page_of(self.question)

    @door
    def transport(self, cases: Any, *, id_column: str | None = None) -> "pd.DataFrame":
        """Costs of the policies for other cases, whose labels are not known.

        Judged rows are weighted by how much their always-known columns resemble the other cases;
        all else that matters for costs must be the same there.

        Args:
            cases: the table's columns by their names in its file, or such a CSV, Excel or Parquet
                file; only always-known columns are read.
            id_column: names the cases; by default the first column, if it is no feature.

        Returns:
            A row for each policy and for practice, the cheapest first: cost, its interval, saving
            over practice, and how many equal rows the weights are as informative as.

        Raises:
            DataError: the cases are not cases of the table, or lack an always-known value.
        """
        from frugal.answer.parts.elsewhere import costs, overlap

        read = self.best._cases(cases, id_column, complete=True)
        judged = payloads_of(self.question, "judge_candidates")
        table = payloads_of(self.question, "prepare_data")
        moved = costs(judged["terms"], table["table"], table["catalogue"], read.values)
        if warning := overlap(moved, len(judged["terms"]) // len(moved)):
            warnings.warn(warning, stacklevel=3)
        return moved

    @door
    def design(self, cases: int, *, budget: float | None = None) -> dict[str, Any]:
        """Which panels to record in further cases, with which probability; as in answer.json.

        Args:
            cases: number of further cases.
            budget: most that recording a case may cost on average, in the table's unit; by default
                present cost of the panels of a recorded case.

        Raises:
            ConfigError: a number is not allowed.
        """
        question = self.question.with_keys(design=cases, budget=budget)
        return payloads_of(question, "judge_candidates")["choice"]["design"]

    @property
    def best(self) -> Policy:
        """The policy to use, for new cases."""
        return self.policy()

    @door
    def policy(self, name: str | None = None) -> Policy:
        """One of the policies for new cases: those of all folds, which vote.

        Args:
            name: by default the policy to use.

        Raises:
            ConfigError: no policy of that name was evaluated.
        """
        name = str(self.document["policy"]) if name is None else name
        self._require(name)
        return Policy(self.question, name, of_answer=True)
