"""`frugal.sklearn`: an acquisition policy as an estimator of scikit-learn.

It learns from records with missing values, and needs no description of a table. Judging is another
step: `frugal.decide` compares policies, this only learns one.
"""

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from frugal.acquire.kinds import Ground, kind_of
from frugal.acquire.rollouts import roll_out, states_of
from frugal.config.root import effective
from frugal.core.declarations import PROJECT
from frugal.core.errors import sentences
from frugal.core.layout import Layout
from frugal.core.schema_check import did_you_mean, listed, read_yaml
from frugal.core.streams import Streams
from frugal.core.table import Panel, Table
from frugal.core.world import World
from frugal.learn.trees import classifier_of
from frugal.run.config_files import laid_over

STOP = "stop"


class Acquirer(ClassifierMixin, BaseEstimator):
    """Learns which panel to acquire next, when to stop, and what to predict then.

    NaN in X is a value that was not acquired. Values of a row that are there count as acquired and
    paid for, also at prediction.

    Args:
        kind: name of a policy, as `frugal.decide` tries them (`afape.answer.prefer` in
            config/decide.yaml); None: the first of these.
        prices: of panels: one number for each, or column (or panel) → number; columns without one
            are known at the start. (d,)
        errors: cost of predicting a class (column) for a case of a class (row), in the unit of
            prices; None: 1 for each error. (k, k)
        panels: name → columns that are acquired together; other priced columns are one each.
        random_state: seed of training.

    Attributes:
        classes_: of y, sorted. (k,)
        n_features_in_: columns of X.
        feature_names_in_: their names, where X has some.
        panel_names_: panels that can be acquired, in order. (a,)
    """

    def __init__(
        self,
        kind: Any = None,
        *,
        prices: Any = 0.0,
        errors: Any = None,
        panels: Any = None,
        random_state: Any = None,
    ) -> None:
        self.kind = kind
        self.prices = prices
        self.errors = errors
        self.panels = panels
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> "Acquirer":
        """Learn on records.

        Args:
            X: values, NaN where not acquired. (n, d)
            y: labels. (n,)

        Raises:
            ValueError: there is one class, a parameter is not allowed, or X is not numeric.
        """
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_all_finite="allow-nan")
        check_classification_targets(y)
        self.classes_, label = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"Acquirer learns from two classes or more; y has 1 class: {self.classes_[0]!r}"
            )
        tried, classifier = _tried()
        name = next(iter(tried)) if self.kind is None else self.kind
        if name not in tried:
            raise ValueError(
                f"kind is {self.kind!r}; allowed are {listed(tried)}"
                f"{did_you_mean(str(self.kind), tried)}"
            )
        self._table = self._as_table(X, label.astype(np.int64))
        self.panel_names_ = np.array([panel.name for panel in self._table.actions], dtype=object)
        streams = Streams(_seed(self.random_state), "acquirer", {})
        recorded = self._held(X)
        trees = classifier_of(self._table, classifier, streams)
        ground = Ground(self._table, recorded, None, trees, streams, lambda rows, **_: rows)
        settings = tried[name]
        kind = kind_of(settings)
        assert kind.fit is not None, "bug: a kind that decide tries learns"
        with sentences():
            arrays = kind.fit(ground, settings).arrays
        self._policy = kind.build(settings, Layout.of(self._table), arrays)
        return self

    def next_panel(self, X: Any) -> np.ndarray:
        """Name of the panel to acquire next for each row, or "stop". (n,)"""
        world, acquired = self._world(X)
        states = states_of(self._policy, world, row=np.arange(len(world)), acquired=acquired)
        names = np.array([*self.panel_names_, STOP], dtype=object)
        return names[states.action_probability.argmax(axis=1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities from the values that are there. (n, k)"""
        world, acquired = self._world(X)
        states = states_of(self._policy, world, row=np.arange(len(world)), acquired=acquired)
        shares = states.verdict if states.probability is None else states.probability
        assert shares is not None, "bug: a policy of decide predicts"
        return shares / shares.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> np.ndarray:
        """Class of the least expected cost, from the values that are there. (n,)"""
        world, acquired = self._world(X)
        states = states_of(self._policy, world, row=np.arange(len(world)), acquired=acquired)
        assert states.verdict is not None, "bug: a policy of decide predicts"
        return self.classes_[states.verdict.argmax(axis=1)]

    def path(self, X: Any) -> pd.DataFrame:
        """What is acquired, paid and predicted if the policy runs on each row to its end.

        Values of X are shown when their panel is acquired; panels with NaN cannot be had. A row for
        each case: a column of truth for each panel, `price` and `predicted`.
        """
        table = self._rows(X)
        acquired = self._held(table.values)
        world = World.of_table(table, available=acquired)
        uniforms = np.zeros((len(acquired), acquired.shape[1] + 1))
        episodes = roll_out(self._policy, world, uniforms=uniforms)
        assert episodes.verdict is not None, "bug: a policy of decide predicts"
        verdict = self.classes_[episodes.verdict[0].argmax(axis=1)]
        frame = pd.DataFrame(episodes.acquired[0], columns=list(self.panel_names_))
        return frame.assign(price=episodes.cost[0], predicted=verdict)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _rows(self, X: Any) -> Table:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        return self._table_of(X, np.zeros(len(X), dtype=np.int64))

    def _world(self, X: Any) -> tuple[World, np.ndarray]:
        """The rows as a world in which all panels can be had, and those that are there. (n, a)"""
        table = self._rows(X)
        return World.of_table(table), self._held(table.values)

    def _held(self, X: np.ndarray) -> np.ndarray:
        """Panels of which a row has a value. (n, a)"""
        provides = self._table.provides
        return (np.isfinite(X).astype(np.float32) @ provides.T.astype(np.float32)) > 0

    def _table_of(self, X: np.ndarray, label: np.ndarray) -> Table:
        table = self._table
        return Table(
            row_id=np.arange(len(X)),
            values=X,
            columns=table.columns,
            onehot=(),
            label=label,
            classes=table.classes,
            panels=table.panels,
            misclassification_cost=table.misclassification_cost,
        )

    def _as_table(self, X: np.ndarray, label: np.ndarray) -> Table:
        """The training rows with their panels and costs."""
        names = getattr(self, "feature_names_in_", np.arange(X.shape[1]))
        columns = tuple(map(str, names))
        place: dict[Any, str] = dict(zip(names.tolist(), columns, strict=True))
        place |= {column: column for column in columns}
        grouped = {str(n): [place.get(c, c) for c in cs] for n, cs in (self.panels or {}).items()}
        grouped_columns = [column for group in grouped.values() for column in group]
        if unknown := [column for column in grouped_columns if column not in columns]:
            raise ValueError(f"panels names the column {unknown[0]!r}; X has {listed(columns)}")
        prices = self._prices(columns, place, grouped)
        rest = [column for column in columns if column not in grouped_columns]
        free = tuple(column for column in rest if column not in prices)
        panels = [Panel("known at the start", free, 0.0, True)] if free else []
        alone = {column: [column] for column in rest if column in prices}
        panels += [
            Panel(name, tuple(group), float(prices[name]), False)
            for name, group in {**grouped, **alone}.items()
        ]
        k = len(self.classes_)
        errors = 1.0 - np.eye(k) if self.errors is None else np.array(self.errors, dtype=float)
        if errors.shape != (k, k) or not (np.isfinite(errors).all() and (errors >= 0).all()):
            raise ValueError(f"errors is {self.errors!r}; allowed are {k} × {k} costs from 0 on")
        classes = tuple(map(str, self.classes_.tolist()))
        return Table(
            row_id=np.arange(len(X)),
            values=X,
            columns=columns,
            onehot=(),
            label=label,
            classes=classes,
            panels=tuple(panels),
            misclassification_cost=errors,
        )

    def _prices(
        self, columns: Sequence[str], place: Mapping[Any, str], grouped: Mapping[str, Any]
    ) -> dict[str, float]:
        """Price of each panel that is not known at the start."""
        grouped_columns = {column for group in grouped.values() for column in group}
        names = [*grouped, *(column for column in columns if column not in grouped_columns)]
        stated: Any = self.prices
        if isinstance(stated, Mapping):
            prices = {place.get(name, str(name)): price for name, price in stated.items()}
        elif isinstance(stated, Real):
            prices = dict.fromkeys(names, stated)
        else:
            if len(stated) != len(names):
                raise ValueError(f"prices has {len(stated)} numbers; there are {len(names)} panels")
            prices = dict(zip(names, stated, strict=True))
        for name, price in prices.items():
            if name not in names:
                raise ValueError(
                    f"prices names {name!r}; the panels are {listed(names)}"
                    f"{did_you_mean(name, names)}"
                )
            if not isinstance(price, Real) or not 0 <= float(price) < np.inf:
                raise ValueError(
                    f"prices has {price!r} for {name!r}; allowed are numbers from 0 on"
                )
        if lacking := [name for name in grouped if name not in prices]:
            raise ValueError(f"prices has none for the panel {lacking[0]!r}")
        return {name: float(price) for name, price in prices.items()}


def path_cost(estimator: Acquirer, X: Any, y: Any) -> float:
    """Minus the mean cost of a case along its path, panels and errors; a scorer, larger is better.

    On complete rows it is what the policy would cost. Of rows with gaps, panels that lack cannot be
    had, so it is not: `frugal.decide` estimates that.
    """
    path = estimator.path(X)
    true = np.searchsorted(estimator.classes_, np.asarray(y))
    predicted = np.searchsorted(estimator.classes_, path["predicted"].to_numpy())
    errors = estimator._table.misclassification_cost[true, predicted]
    return -float(np.mean(path["price"].to_numpy() + errors))


def _tried() -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Settings of the policies that `decide` tries, in its order, and of the classifier there."""
    config = laid_over(*(read_yaml(PROJECT / f"{f}.yaml") for f in ("config", "config/decide")))
    block = effective(config)["afape"]
    return {name: block["agents"][name] for name in block["answer"]["prefer"]}, block["classifier"]


def _seed(random_state: Any) -> int:
    return 0 if random_state is None else int(np.random.RandomState(random_state).randint(2**31))
