"""When to measure again: policies over time, judged on records of units in windows."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from frugal.core.errors import ConfigError, DataError
from frugal.core.schema_check import read_yaml, require_no_table
from frugal.library.question import TemporaryFolder, door, require, require_entries

if TYPE_CHECKING:
    import pandas as pd

    from frugal.studies.over_time.config import TimedSettings
    from frugal.studies.over_time.data import TimedData
    from frugal.studies.over_time.orders import LearnedOrders, OrderPlan
    from frugal.studies.over_time.records import TimedPolicy

__all__ = ["TimedAnswer", "load_over_time", "order_plan", "over_time"]

_DATA = "the result of frugal.load_over_time(PATH)"


@door
def load_over_time(
    path: str | Path,
    *,
    hours: float | int | None = None,
    static: Sequence[str] = (),
    data_mirror: str | Path | None = None,
) -> "TimedData":
    """Records over time: units in windows of equal length.

    Args:
        path: YAML of two long tables (docs/how-to/over_time.md), which takes none of the other
            arguments; or YAML of a data set of stays, `source.format.kind: stays`.
        hours: of stays, length of a window.
        static: of stays, columns known at the start.
        data_mirror: of stays, folder with the published files.

    Returns:
        Records, costs and `remarks`, a sentence for each kind of row that was left out.

    Raises:
        ConfigError, DataError: a sentence with the key or file, the value found and allowed values.
    """
    from frugal.studies.over_time.data import read_over_time, stays_over_time

    require_no_table(Path(path), "frugal over_time {0} takes the table")
    document = read_yaml(Path(path))
    if not (isinstance(document, dict) and "source" in document):
        return read_over_time(Path(path))
    from frugal.data.description import load_description
    from frugal.data.raw import locate_file

    description = load_description(Path(path))
    if hours is None or data_mirror is None:
        raise ConfigError(
            "hours or data_mirror is None; records of stays need the length of a window and the "
            "folder of the published files"
        )
    paths = {}
    for file in description.source.files:
        place = locate_file(description, file.name, data_mirror=Path(data_mirror))
        if place is not None:
            paths[file.name] = place
    return stays_over_time(description, paths, hours=hours, static=static)


@door
def order_plan(
    data: "TimedData",
    name: str,
    at: Mapping[int, Sequence[str]] | None = None,
    *,
    again: Sequence[Mapping[str, Any]] = (),
    stop: int | None = None,
) -> "OrderPlan":
    """A fixed schedule of panels, and panels that are repeated, always or while a value is high.

    Args:
        data: from `load_over_time`.
        name: of the plan, in tables.
        at: window, from 0 on → panels ordered in it.
        again: panels ordered repeatedly; each has `panels`, `every` (windows) and, if it depends on
            the last value, `above` or `below`: column and limit, such as `("lactate", 2)`.
        stop: window before which it decides; None: after the last one.

    Raises:
        ConfigError: a panel, column, window or key does not exist.
    """
    from frugal.studies.over_time.data import TimedData
    from frugal.studies.over_time.orders import plan

    require("data", data, TimedData, _DATA)
    return plan(data.records, name, at, again, stop)


@dataclass(frozen=True, eq=False, repr=False)
class TimedAnswer:
    """Policies over time, judged on the same records.

    Attributes:
        outcomes: a row for each policy and for recorded practice: cost with its interval, parts of
            acquisition and errors, saving against recorded practice with its interval, records that
            contain and that equal the ordered panels, effective records; NaN with a `reason` where
            too few records contain them. `label_shift`, with its interval, is the share of positive
            labels in the weighted records less that in all: zero, if orders depend on the recorded
            history only.
        estimates: the cost of each policy by every estimator, with standard errors.
        support: by policy and window: units at risk, records that contain all that was ordered, and
            probabilities that they do; `tipping_gamma` as below, of hidden causes in one window.
        tipping_gamma: factor on the odds that a record contains the ordered panels, by which
            hidden causes must shift them until the named policy costs as much as recorded practice,
            by weighting; infinite beyond 20, NaN where no policy is named.
        named: the policy of least cost; None where too few records contain any.
        learned: the policy learned from all units; None without one.
        page: the answer as a page of HTML, which shows some units window by window.
    """

    outcomes: "pd.DataFrame"
    estimates: "pd.DataFrame"
    support: "pd.DataFrame"
    tipping_gamma: float
    named: str | None
    learned: "LearnedOrders | None"
    page: Path
    _sentences: tuple[str, ...]
    _data: "TimedData"
    _policies: Mapping[str, "TimedPolicy"]
    _files: Mapping[str, bytes]
    _scratch: TemporaryFolder | None = None

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: the page itself, where it lies in a temporary folder."""
        page = self.page if self._scratch is None else self.page.read_bytes()
        return {**vars(self), "page": page}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if isinstance(content := state["page"], bytes):
            state["page"] = state["_scratch"] / "answer.html"
            state["page"].write_bytes(content)
        vars(self).update(state)

    def summary(self) -> str:
        """The policy of least cost, how sure, assumptions, changes that would alter it."""
        return "\n".join(self._sentences)

    def __str__(self) -> str:
        return self.summary()

    @door
    def save(self, folder: str | Path) -> Path:
        """Keep the answer as a folder: its text and page, `answer.json`, the policies, the YAML.

        `frugal advise FOLDER` reads the policies.

        Raises:
            ConfigError: data or policies are none that a YAML describes.
            DataError: there is such a file already.
        """
        from frugal.library.kept_answers import keep

        if not self._files:
            raise ConfigError(
                "save takes an answer on data of a YAML of two long tables, with plans of "
                "order_plan"
            )
        read = [f"Read: {sentence}." for sentence in self._data.remarks]
        text = "\n".join([*self._sentences, *read]) + "\n"
        outcomes = json.loads(self.outcomes.to_json(orient="records"))
        document = {"over_time": 1, "policy": self.named, "sentences": list(self._sentences)}
        document |= {"outcomes": outcomes}
        keep(Path(folder), text, self.page.read_bytes(), document, self._files)
        return Path(folder)

    @door
    def advise(
        self,
        measurements: str | Path,
        units: str | Path,
        *,
        hours: float | int | None = None,
        policy: str | None = None,
    ) -> "pd.DataFrame":
        """Panels to order now for units that are still followed, and why.

        Args:
            measurements: CSV or Parquet like that of the records, with the values so far.
            units: the same of units; label, end and cluster are not read.
            hours: since the start of each unit; None: it is in the window after that of its last
                value.
            policy: that orders; None: the named one.

        Returns:
            A row for each unit: its window, its state, the next order, why, and, if a policy was
            learned, the expected cost of each choice.

        Raises:
            ConfigError: there is no such policy, or the records are stays of a data set.
            DataError: a file does not match the description.
        """
        from frugal.studies.over_time.data import read_running
        from frugal.studies.over_time.order_advice import order_advice, require_policy

        policies = {**self._policies, **({self.learned.name: self.learned} if self.learned else {})}
        chosen = require_policy(policies, policy, self.named)
        files = (Path(measurements), Path(units))
        records, now = read_running(self._data.keys, files, self._data.levels, hours)
        return order_advice(records, now, self._data.costs, chosen, self.learned)


@door
def over_time(
    data: "TimedData",
    policies: "Sequence[TimedPolicy] | None" = None,
    *,
    method: Literal["boosting", "linear"] | None = None,
    folds: int | None = None,
    fold_draws: int | None = None,
    margin: float = 0.05,
    seed: int | None = None,
    learned: bool | None = None,
    learner: Literal["trees", "network"] | None = None,
    folder: str | Path | None = None,
    cores: int = 1,
) -> TimedAnswer:
    """Costs of policies over time, by the semi-offline doubly robust estimator.

    Every policy decides in the end by a cross-fitted model of the label, fitted to its final states
    on records that contain its orders, weighted to represent all units. Intervals take nuisances as
    known, and units of a cluster as one.

    Args:
        data: from `load_over_time`.
        policies: from `order_plan`, or objects of one's own with `name` and `order(state)`; None:
            the plans of the YAML.
        method: of the nuisances: boosted trees, or logistic and ridge regressions; None: as the
            YAML has it, or boosting.
        folds: of cross-fitting; None: as the YAML has it, or 3.
        fold_draws: draws of folds, over which estimates are medians; their errors count the spread
            of the draws. None: as the YAML has it, or 5.
        margin: share of the cost that counts as nothing.
        seed: of folds and learners; None: that of a config.
        learned: also learn a policy, which orders one of the sets of panels that `policies` order,
            or none, in each window, or follows one of them where records do not show that it saves
            anything; it is learned for each fold from the others, and judged on it. None: as the
            YAML has it, or not.
        learner: of that policy, boosted trees, or networks that windows share; None: as the YAML
            has it, or trees.
        folder: where the same is made by the workflow, in `results/over_time/NAME/`, as `snakemake
            over_time` does; stays are first written there as two long tables, `NAME.parquet` and
            `NAME_units.parquet`, by the name of their data set. None: in memory.
        cores: with a folder, jobs at a time.

    Raises:
        ConfigError: no policy, a name that occurs twice, an argument of another form, or, with a
            folder, data or policies that no YAML describes, or other records of this name in it.
        DataError: a policy returns no truth values.
    """
    from frugal.library.chain import progress_of
    from frugal.results.files import payload_bytes
    from frugal.run.config_files import config_with
    from frugal.studies.over_time.advice import stored_orders
    from frugal.studies.over_time.answer import (
        TimedQuestion,
        fit_cases,
        judge_cases,
        learn_policies,
    )
    from frugal.studies.over_time.config import TimedSettings
    from frugal.studies.over_time.data import TimedData
    from frugal.studies.over_time.history_fits import TimedFit
    from frugal.studies.over_time.orders import OrderPlan, plan_of
    from frugal.studies.over_time.page import timed_page
    from frugal.studies.over_time.records import TimedPolicy

    require("data", data, TimedData, _DATA)
    if policies is None:
        plans = data.keys.plans
        policies = [plan_of(data.records, name, entry) for name, entry in plans.items()]
    policies = require_entries("policies", policies, "a list of results of order_plan")
    for policy in policies:
        require("a policy", policy, TimedPolicy, "a result of order_plan, or has name and order")
    stated: dict[str, Any] = {
        "method": method,
        "folds": folds,
        "fold_draws": fold_draws,
        "learned": learned,
        "learner": learner,
    }
    for key, value in (data.document or {}).items():
        if key in stated and stated[key] is None:
            stated[key] = value
    stated = {key: value for key, value in stated.items() if value is not None}
    settings = TimedSettings.read(stated, where="over_time")
    root: int = config_with(margin=margin, seed=seed)["seed"]
    if cores < 1:
        raise ConfigError(f"cores is {cores}; allowed are whole numbers from 1 on")
    question = TimedQuestion(data, policies, TimedFit.of(settings), root)
    by_name = {policy.name: policy for policy in policies}
    if folder is not None:
        if data.document is None:
            data = _written(data, Path(folder))
        config = {"seed": root, "margin": margin}
        return _in_folder(data, by_name, settings, Path(folder), config, cores)
    question = question.within_support(learned=settings.learned)
    by_name |= {policy.name: policy for policy in question.policies}
    shown = progress_of("learn"), progress_of("judge")
    best, others = learn_policies(question, shown[0]) if settings.learned else (None, [])
    cases = fit_cases(question, others, shown[1])
    verdict, scratch = judge_cases(data, cases, margin, root, question.support), TemporaryFolder()
    (page := scratch / "answer.html").write_bytes(timed_page(question, verdict, cases, others))
    files = {}
    if data.document is not None and all(isinstance(policy, OrderPlan) for policy in policies):
        described = _described_by(data, {policy.name: policy for policy in policies}, settings)
        judged = (question.support, [] if best is None else [best], verdict)
        orders, arrays = stored_orders(data, described, *judged)
        of = {"policy/orders.json": orders, "policy/orders.safetensors": arrays}
        files = {name: payload_bytes(Path(name), payload) for name, payload in of.items()}
        files[f"{data.keys.name}.yaml"] = json.dumps(described, indent=1).encode()
    tables = (verdict.outcomes, verdict.estimates, verdict.support)
    result = (*tables, verdict.tipping_gamma, verdict.named, best, page)
    return TimedAnswer(*result, verdict.sentences, data, by_name, files, scratch)


def _written(data: "TimedData", folder: Path) -> "TimedData":
    """Stays, written into a folder as two long tables, with the YAML of these.

    Raises:
        ConfigError: the folder holds other stays of this name.
    """
    from dataclasses import replace

    from frugal.results.replacing import replace_files
    from frugal.studies.over_time.data import long_tables

    document, *tables = long_tables(data)
    folder.mkdir(parents=True, exist_ok=True)
    for block, table in zip(("measurements", "units"), tables, strict=True):
        path, content = folder / document[block]["file"], table.to_parquet(None, index=False)
        if path.is_file() and path.read_bytes() != content:
            raise ConfigError(
                f"{path} holds other stays; allowed is a folder of its own for each set of stays"
            )
        if not path.is_file():
            replace_files({path: content})
    return replace(data, document=document, folder=folder)


def _described_by(
    data: "TimedData", policies: Mapping[str, "TimedPolicy"], settings: "TimedSettings"
) -> dict[str, Any]:
    """The YAML of data with these plans and settings; its files by their full paths.

    Raises:
        ConfigError: a policy is none that a YAML describes.
    """
    from frugal.studies.over_time.orders import OrderPlan

    plans = {}
    for name, policy in policies.items():
        if not isinstance(policy, OrderPlan):
            raise ConfigError(
                f"policy {name!r} is none of order_plan; with a folder allowed are plans, which a "
                "YAML describes"
            )
        plans[name] = policy.entry.model_dump(mode="json", exclude_none=True)
    keys, document, home = data.keys, dict(data.document or {}), data.folder or Path()
    for block, name in (("measurements", keys.measurements.file), ("units", keys.units.file)):
        document[block] = {**document[block], "file": str((home / name).absolute())}
    return {**document, **settings.model_dump(), "plans": plans}


def _in_folder(
    data: "TimedData",
    policies: Mapping[str, "TimedPolicy"],
    settings: "TimedSettings",
    folder: Path,
    config: Mapping[str, Any],
    cores: int,
) -> TimedAnswer:
    """The same by the workflow, of a YAML with these policies, which is written into the folder.

    Raises:
        ConfigError: data or policies are none that a YAML describes.
        DataError: the data are not those of the files any more.
    """
    import numpy as np

    from frugal.results.files import read_payload
    from frugal.results.replacing import replace_files
    from frugal.run.engine import run_workflow
    from frugal.studies.over_time.advice import read_orders

    keys, content = (
        data.keys,
        json.dumps(_described_by(data, policies, settings), indent=1).encode(),
    )
    folder.mkdir(parents=True, exist_ok=True)
    path = folder.absolute() / f"{keys.name}.yaml"
    before = path.read_bytes() if path.is_file() else b"{"
    if not before.startswith(b"{"):
        raise ConfigError(f"{path} would be overwritten; allowed is a folder without it")
    if before != content:
        replace_files({path: content})
    run_workflow({**config, "records": str(path)}, folder.absolute(), "over_time", cores)
    place = folder / "results" / "over_time" / keys.name / "results"
    arrays = read_payload(place / "records.safetensors")
    for name, array in data.to_arrays()[0].items():
        if not np.array_equal(arrays[name], array, equal_nan=array.dtype.kind == "f"):
            raise DataError(
                f"{name!r} of the data is not that of the files; with a folder allowed are "
                "data as load_over_time reads them"
            )
    plans = list(policies.values())
    document, within, learned = read_orders(place / "policy", data.records, plans, data.levels)
    outcomes, estimates, support = (
        read_payload(place / f"{name}.parquet") for name in ("outcomes", "estimates", "support")
    )
    gamma, named = document["tipping_gamma"], document["named"]
    if gamma is None:
        gamma = np.nan if named is None else np.inf
    sentences = tuple(document["sentences"])
    tables = (outcomes, estimates, support)
    page = place.parent / "answer.html"
    policies = {policy.name: policy for policy in (*plans, *within)}
    contents = {
        f"policy/{file.name}": file.read_bytes() for file in (place / "policy").glob("orders.*")
    }
    contents[path.name] = content
    return TimedAnswer(*tables, gamma, named, learned, page, sentences, data, policies, contents)
