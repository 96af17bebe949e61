"""`frugal.sklearn.evaluate`: a policy from elsewhere, judged from records with missing values.

It is followed along the records and judged by the functions of `frugal.decide`, next to recorded
practice and the policies that acquire every panel, and none.
"""

import warnings
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import pandas as pd
from jaxtyping import Bool, Int
from sklearn.base import clone

from frugal.acquire.policies.python import STOP, Origin, read_answer, shown
from frugal.answer.candidates import PRACTICE, follow, of_division
from frugal.answer.documents import interval_of, parts_of_cost, shares_of
from frugal.core.episodes import Belief, Law, Panels, Traits, Values
from frugal.core.errors import ConfigError, DataError
from frugal.core.schema_check import listed
from frugal.core.streams import Streams
from frugal.core.table import Panel, Table
from frugal.data.cell_texts import plain_text
from frugal.judge.choice import Candidates
from frugal.judge.comparisons import LEVEL
from frugal.judge.intervals import normal_interval
from frugal.judge.semi_offline import Paths
from frugal.learn.tree_scoring import predict_proba
from frugal.learn.trees import TreeEnsemble, classifier_of
from frugal.library.chain import evidence_of
from frugal.library.estimator import Acquirer, case_prices, error_costs, panels_of
from frugal.library.frames import as_pandas, is_frame
from frugal.library.question import door, without_others
from frugal.library.verbs import load

if TYPE_CHECKING:
    from frugal.answer.evidence import Evidence

POLICY, COMPARED = "policy", ("always", "never")
ROW = "number of the row"  # column that leads from a state to the row of X


@door
def evaluate(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    prices: Any = None,
    errors: Any = None,
    panels: Mapping[Any, Sequence[Any]] | None = None,
    positive: Any = None,
    causes: str | Path | None = None,
    cv: int | None = None,
) -> pd.DataFrame:
    """Cost of a case by any policy, estimated from records with missing values.

    `estimator` has two methods. `next_panel(X)` returns for each row the name of the panel to
    acquire next, and None or "stop" to end; or probabilities of the panels and of "stop" last,
    (m, a + 1), by which panels are drawn. `predict(X)` returns a class for each row. Both get rows
    of X whose values are NaN in panels that are not acquired yet. A panel that is acquired already
    ends the path, as does one that (almost) no record of such cases holds; a warning counts these.
    `predict_proba` is used where there is one, to predict outcomes of incomplete paths.

    A fitted object is judged as it is. If it was fitted on rows of X, its estimate is too low: use
    `cv`, or other rows.

    Args:
        estimator: the policy, such as an `Acquirer`; a scikit-learn estimator where `cv` is given.
        X: records, NaN where a value was not acquired: a frame, or an array of numbers. (n, d)
        y: labels. (n,)
        prices: of panels, as of `Acquirer`; or of each panel for each case, an array or a frame
            with a column for each panel (n, a). None: those of an `Acquirer`.
        errors: cost of predicting a class (column) for a case of a class (row), classes sorted
            (k, k); or as `frugal.load` takes them. None: those of an `Acquirer`, else 1 each.
        panels: as of `Acquirer`. None: those of an `Acquirer`.
        positive: class that `missed` of `errors` is about; by default as of `frugal.load`.
        causes: YAML of the causes of each panel's missing values; by default the columns that all
            rows have.
        cv: 5: the estimator is cloned and fitted on the rows outside each fold of `frugal.decide`,
            and judged on that fold; where `decide` divides few rows repeatedly, in each division.

    Returns:
        A row for the `policy`, for recorded `practice`, `always` and `never`: mean cost of a case
        with its standard error and 95 % interval, its parts, effective sample size, shares of cases
        for which each panel is acquired; `difference`: cost of the policy less that of the row,
        with its 95 % interval. NaN: too few records follow the row's policy.

    Raises:
        ConfigError: an argument is not allowed, or the object lacks a method.
        DataError: the records are none that can be judged, the policy returns a name of no panel or
            class, or too few records follow it.
        ValueError: a price or cost of an error is none.
    """
    _require(estimator, ("next_panel", "predict"), "next_panel(X) and predict(X)")
    if cv is not None:
        _require(estimator, ("fit", "get_params"), "the methods of scikit-learn where cv is given")
    if isinstance(estimator, Acquirer):
        prices = estimator.prices if prices is None else prices
        errors = estimator.errors if errors is None else errors
        panels = estimator.panels if panels is None else panels
    if prices is None:
        raise ConfigError("prices is None; allowed is a number for each panel, as of Acquirer")
    records = _RowsOfX.of(X, y)
    described, groups = _described(records, prices, panels)
    described["errors"] = _named_errors(errors, records.class_names)
    question = load(**described, positive=positive, causes=causes).question
    question = question.with_agents(without_others(question, COMPARED))
    folds = question.study.folds(question.dataset)
    if cv not in (None, len(folds)):
        raise ConfigError(f"cv is {cv}; allowed are None and {len(folds)}, the folds of decide")
    evidence = evidence_of(question)
    outside = _Outside.of(estimator, records, groups, evidence.table)
    classifier = question.study.candidate_settings()["classifier"]
    learned = partial(outside.learned_on, classifier=classifier, refits=cv is not None)
    divided = [
        (fold, {POLICY: _along(evidence, fold, number, learned), **paths})
        for number, (fold, paths) in enumerate(evidence.divided)
    ]
    settings = {**evidence.settings, "agents": [POLICY, *COMPARED]}
    candidates = replace(evidence, divided=divided, settings=settings).judge_all(evidence.law)
    _warn(outside, evidence)
    if POLICY not in candidates.outcomes:
        raise DataError(
            "too few records follow the policy for an estimate of its cost; allowed are policies "
            "that acquire fewer panels, or panels that more records hold together"
        )
    return _compared(candidates, evidence.table)


def _warn(outside: "_Outside", evidence: "Evidence") -> None:
    """Warn where requests were refused, or the records contradict the missingness model."""
    sentences = [
        f"next_panel returns {panel!r} in {len(rows)} rows where (almost) no record holds it; the "
        "policy is judged as if it stopped there"
        for panel, rows in sorted(outside.refused.items())
    ]
    if evidence.refused:
        sentences.append(
            "the records contradict the causes of missing values; the estimates may be biased"
        )
    for sentence in sentences:
        warnings.warn(sentence, stacklevel=4)  # beyond `door` and `evaluate`


@dataclass(frozen=True, eq=False)
class _RowsOfX:
    """Rows and labels as the policy knows them.

    Attributes:
        X: as a frame whose index is the number of the row. (n, d)
        as_array: whether the policy takes arrays.
        y: labels. (n,)
        classes: labels that occur, sorted. (k,)
    """

    X: pd.DataFrame
    as_array: bool
    y: np.ndarray
    classes: list[Any]

    @classmethod
    def of(cls, X: Any, y: Any) -> "_RowsOfX":
        """Checked for their shapes.

        Raises:
            DataError: X is no table, or y has another length, a missing label or one class.
        """
        framed = is_frame(X)
        array = None if framed else np.asarray(X)
        if array is not None and array.ndim != 2:
            raise DataError(f"X is of shape {array.shape}; allowed is a table (n, d)")
        frame = (as_pandas(X) if framed else pd.DataFrame(array)).reset_index(drop=True)
        labels = np.asarray(y)
        if labels.shape != (len(frame),):
            raise DataError(f"y is of shape {labels.shape}; X has {len(frame)} rows")
        if pd.isna(labels).any():
            raise DataError(f"y has no label in {pd.isna(labels).sum()} rows; allowed are classes")
        classes = np.unique(labels).tolist()
        if len(classes) < 2:
            raise DataError(f"y has {len(classes)} class; allowed are two or more")
        return cls(frame, not framed, labels, classes)

    @property
    def columns(self) -> list[str]:
        """Names of the columns as texts."""
        return list(map(str, self.X.columns))

    @property
    def class_names(self) -> list[str]:
        """Names of the classes, as a file has them."""
        return list(map(plain_text, self.classes))

    def state(self, row: np.ndarray, hidden: Bool[np.ndarray, "m d"]) -> Any:
        """Rows as the policy gets them, without the hidden values."""
        values = self.X.iloc[row].reset_index(drop=True).mask(hidden)
        return values.to_numpy() if self.as_array else values


def _described(
    records: _RowsOfX, prices: Any, panels: Any
) -> tuple[dict[str, Any], dict[str, Sequence[str]]]:
    """Arguments of `load`, with the label in the frame; columns of each panel."""
    means: Any = prices
    if by_case := getattr(prices, "ndim", 1) == 2:
        means = np.asarray(prices, dtype=np.float64).mean(axis=0).tolist()
        if isinstance(prices, pd.DataFrame):
            means = dict(zip(prices.columns, means, strict=True))
    each = panels_of(list(records.X.columns), means, panels)
    free = [column for panel in each if panel.free for column in panel.columns]
    groups: dict[str, Sequence[str]] = {
        panel.name: panel.columns for panel in each if not panel.free
    }
    if STOP in groups:
        raise ConfigError(f"next_panel returns {STOP!r} to end, and a panel has this name")
    costs: dict[str, Any] = {panel.name: panel.cost for panel in each if not panel.free}
    frame = records.X.set_axis(records.columns, axis=1)
    if by_case:
        of_cases = case_prices(prices, list(costs), len(frame))
        for name, fee in zip(list(costs), of_cases.T, strict=True):
            if np.ptp(fee) > 0:  # a column of one value would be left out
                column = _unused(f"price of {name}", frame)
                frame, costs[name] = frame.assign(**{column: fee}), {"column": column}
                free.append(column)
    label = _unused("label", frame)
    described = {
        "table": frame.assign(**{label: list(map(plain_text, records.y.tolist()))}),
        "label": label,
        "prices": costs,
        "panels": {name: names for name, names in groups.items() if list(names) != [name]},
        "free": free,
    }
    return described, groups


def _named_errors(errors: Any, classes: Sequence[str]) -> Mapping[Any, Any]:
    """Costs of errors by name, as `load` takes them."""
    if isinstance(errors, Mapping):
        return errors
    costs = error_costs(errors, len(classes))
    return {
        f"{true} as {decided}": float(costs[i, j])
        for i, true in enumerate(classes)
        for j, decided in enumerate(classes)
        if i != j
    }


def _unused(name: str, frame: pd.DataFrame) -> str:
    while name in frame.columns:
        name += "_"
    return name


def _require(estimator: Any, methods: Sequence[str], allowed: str) -> None:
    for method in methods:
        if not callable(getattr(estimator, method, None)):
            raise ConfigError(
                f"estimator is of type {type(estimator).__name__} and has no method {method!r}; "
                f"allowed is an object with {allowed}"
            )


class _Answer(Origin):
    """A method of the policy, for sentences."""

    def refuse(self, reason: str, *, line: int | None = None) -> NoReturn:
        """Raise a sentence with the method."""
        del line
        raise DataError(f"{self.name} {reason}")


_NEXT = _Answer("", "next_panel", 0)


@dataclass(frozen=True, eq=False)
class _Outside:
    """An object with `next_panel` and `predict` as a policy of states that hold a row's number.

    Attributes:
        estimator: the object.
        records: where rows of X are read.
        reveals: columns of X that each panel reveals. (a, d)
        panels: their names.
        classes: labels in the order of the table. (k,)
        classifier: predicts outcomes where the object has no probabilities.
        refused: panel → rows in which it is not offered, and requested.
    """

    estimator: Any
    records: _RowsOfX
    reveals: Bool[np.ndarray, "a d"]
    panels: Sequence[str]
    classes: Sequence[Any]
    classifier: TreeEnsemble | None = None
    refused: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    members: int = 1

    @classmethod
    def of(
        cls, estimator: Any, records: _RowsOfX, groups: Mapping[str, Sequence[str]], data: Table
    ) -> "_Outside":
        """An object on the rows of a table; `groups` are columns of X of each panel."""
        panels = [panel.name for panel in data.actions]
        reveals = np.array([[c in groups[p] for c in records.columns] for p in panels], dtype=bool)
        place = [records.class_names.index(name) for name in data.classes]
        classes = [records.classes[k] for k in place]
        return cls(estimator, records, reveals.reshape(len(panels), -1), panels, classes)

    def learned_on(
        self, data: Table, streams: Streams, *, classifier: Mapping[str, Any], refits: bool
    ) -> "_Outside":
        """The same, fitted on rows, where `refits`; with a classifier, where that is needed."""
        estimator, trees = self.estimator, None
        if refits:
            X, y = self.records.X.iloc[data.row_id], self.records.y[data.row_id]
            unfitted: Any = clone(estimator)
            estimator = unfitted.fit(X.to_numpy() if self.records.as_array else X, y)
        if not (hasattr(estimator, "predict_proba") and hasattr(estimator, "classes_")):
            trees = classifier_of(data, classifier, streams)
        return replace(self, estimator=estimator, classifier=trees)

    @property
    def traits(self) -> Traits:
        """Its probabilities are not its verdict."""
        return Traits(believe=self.class_probabilities)

    def action_probabilities(self, values: Values, acquired: Panels, available: Panels) -> Law:
        """Its choices; "stop" where a panel is acquired already or not offered. (1, m, a + 1)"""
        answer = self.estimator.next_panel(self._state(values, acquired))
        if not isinstance(answer, pd.DataFrame) and np.ndim(answer) == 1:
            answer = np.array([STOP if _ends(name) else str(name) for name in answer], object)
        chosen = read_answer(_NEXT, answer, values.shape[1], self.panels)
        if not (np.isfinite(chosen) & (chosen >= 0)).all() or (chosen.sum(axis=1) <= 0).any():
            _NEXT.refuse("returns a row of no probabilities; allowed are numbers from 0 on")
        chosen = chosen / chosen.sum(axis=1, keepdims=True)
        requested = chosen[:, :-1] > 0
        row, panel = np.nonzero(requested & ~available[0] & ~acquired[0])
        for number, name in zip(_rows(values)[row], np.array(self.panels)[panel], strict=True):
            self.refused[name].add(int(number))
        chosen[:, :-1][acquired[0] | ~available[0]] = 0.0
        chosen[:, -1] += 1 - chosen.sum(axis=1)
        return np.clip(chosen, 0.0, 1.0)[None]

    def predict(self, values: Values, acquired: Panels) -> Belief:
        """1 for the class that it predicts. (1, m, k)"""
        predicted = np.asarray(self.estimator.predict(self._state(values, acquired)))
        classes = self.classes
        if predicted.shape != (values.shape[1],):
            raise DataError(
                f"predict returns an array of shape {predicted.shape} for {values.shape[1]} rows"
            )
        place = {name: k for k, name in enumerate(classes)}
        for name in predicted.tolist():
            if name not in place:
                raise DataError(
                    f"predict returns {shown(name)}; y has the classes {listed(classes)}"
                )
        return np.eye(len(classes))[[place[name] for name in predicted.tolist()]][None]

    def class_probabilities(self, values: Values, acquired: Panels) -> Belief:
        """Class probabilities of the object, or those of the classifier. (1, m, k)"""
        if self.classifier is not None:
            visible = values[0, :, :-1]
            return predict_proba(self.classifier, visible, np.isfinite(visible))[None]
        shares = np.asarray(self.estimator.predict_proba(self._state(values, acquired)), float)
        theirs, classes = list(self.estimator.classes_), self.classes
        if shares.shape != (values.shape[1], len(theirs)) or not np.isfinite(shares).all():
            raise DataError(
                f"predict_proba returns an array of shape {shares.shape}, or no numbers; allowed "
                f"is {(values.shape[1], len(theirs))}: a probability of each of its classes_"
            )
        none = np.zeros(len(shares))
        each = [shares[:, theirs.index(c)] if c in theirs else none for c in classes]
        return np.stack(each, axis=1)[None]

    def _state(self, values: Values, acquired: Panels) -> Any:
        """Rows of X whose panels are NaN unless acquired."""
        hidden = (~acquired[0]).astype(np.float32) @ self.reveals.astype(np.float32) > 0
        return self.records.state(_rows(values), hidden)


def _rows(values: Values) -> np.ndarray:
    return values[0, :, -1].astype(np.int64)


def _ends(name: Any) -> bool:
    """Whether a name of no panel ends the path: None, as a frame may hold it."""
    return name is None or (isinstance(name, float) and bool(np.isnan(name)))


def _along(
    evidence: "Evidence",
    fold: Int[np.ndarray, " n"],
    number: int,
    learned: Callable[[Table, Streams], _Outside],
) -> Paths:
    """A policy along all records, in one division into folds.

    Args:
        evidence: the records.
        fold: of each row. (n,)
        number: of the division.
        learned: the policy, of the rows of the other folds.
    """
    data, n, order = evidence.table, len(fold), evidence.table.content_order
    streams = of_division(evidence.streams, number)
    uniforms = np.empty((n, len(data.actions) + 1))  # nothing depends on the order of the rows
    uniforms[order] = streams.generator("decisions").random(uniforms.shape)
    numbered = replace(
        data,
        values=np.column_stack([data.values, data.row_id]),
        columns=(*data.columns, ROW),
        panels=(*data.panels, Panel(ROW, (ROW,), 0.0, True)),
    )
    parts: list[tuple[np.ndarray, Paths]] = []
    for k in np.unique(fold):
        inside = np.flatnonzero(fold == k)
        policy = learned(data.take(order[(fold != k)[order]]), streams)
        followed = follow(
            policy,
            numbered.take(inside),
            evidence.observed[inside],
            uniforms[inside],
            None,
            unsupported=evidence.records.unsupported,
        )
        parts.append((inside, followed))
    back = np.argsort(np.concatenate([rows for rows, _ in parts]))
    return Paths(
        *(np.concatenate([getattr(p, f.name) for _, p in parts])[back] for f in fields(Paths))
    )


def _compared(candidates: Candidates, data: Table) -> pd.DataFrame:
    """The table of `evaluate`."""
    rows = []
    for name in (POLICY, PRACTICE, *COMPARED):
        if name not in candidates.outcomes:
            rows.append({"agent": name})
            continue
        covariance = candidates.covariance([name, POLICY])
        cost, difference = candidates.cost(name), candidates.cost(POLICY) - candidates.cost(name)
        spread = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
        error = np.sqrt([covariance[0, 0], max(spread, 0.0)])
        low, high = normal_interval(np.array([cost, difference]), error, level=LEVEL)
        rows.append(
            {
                "agent": name,
                "cost": cost,
                "std_error": error[0],
                **interval_of(float(low[0]), float(high[0]), candidates),
                "difference": difference,
                "difference_low": low[1],
                "difference_high": high[1],
                **parts_of_cost(candidates, name),
                **shares_of(candidates, name, data),
            }
        )
    return pd.DataFrame(rows).drop(columns="referral_cost").set_index("agent")
