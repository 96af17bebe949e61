"""`frugal.sklearn`: an acquisition policy as an estimator of scikit-learn.

It learns from records with missing values, and needs no description of a table. Judging is another
step: `frugal.sklearn.evaluate`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import MetadataRequest
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

    def fit(self, X: Any, y: Any, prices: Any = None) -> "Acquirer":
        """Learn on records.

        Args:
            X: values, NaN where not acquired. (n, d)
            y: labels. (n,)
            prices: of each panel for each case, as in `PathCost`. Their means take the place of
                the parameter's numbers, as policies of `frugal.decide` learn by means, too. (n, a)

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
        self._table = self._as_table(X, label.astype(np.int64), prices)
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

    def _as_table(self, X: np.ndarray, label: np.ndarray, prices: Any) -> Table:
        """The training rows with their panels and costs."""
        names = getattr(self, "feature_names_in_", np.arange(X.shape[1]))
        panels = panels_of(names.tolist(), self.prices, self.panels)
        if prices is not None:
            priced = [panel.name for panel in panels if not panel.free]
            means = dict(zip(priced, case_prices(prices, priced, len(X)).mean(axis=0), strict=True))
            panels = [replace(p, cost=float(means.get(p.name, 0.0))) for p in panels]
        return Table(
            row_id=np.arange(len(X)),
            values=X,
            columns=tuple(map(str, names)),
            onehot=(),
            label=label,
            classes=tuple(map(str, self.classes_.tolist())),
            panels=tuple(panels),
            misclassification_cost=error_costs(self.errors, len(self.classes_)),
        )


def panels_of(names: Sequence[Any], prices: Any, panels: Any) -> list[Panel]:
    """Panels of columns with these names; the columns without a price are the first, free one.

    Raises:
        ValueError: a name is none of a column or panel, or a price is no number from 0 on.
    """
    columns = list(map(str, names))
    place: dict[Any, str] = dict(zip(names, columns, strict=True)) | {c: c for c in columns}
    grouped = {str(n): [place.get(c, c) for c in cs] for n, cs in (panels or {}).items()}
    grouped_columns = [column for group in grouped.values() for column in group]
    if unknown := [column for column in grouped_columns if column not in columns]:
        raise ValueError(f"panels names the column {unknown[0]!r}; X has {listed(columns)}")
    rest = [column for column in columns if column not in grouped_columns]
    priced = _prices(prices, place, [*grouped, *rest])
    if lacking := [name for name in grouped if name not in priced]:
        raise ValueError(f"prices has none for the panel {lacking[0]!r}")
    free = tuple(column for column in rest if column not in priced)
    alone = {column: [column] for column in rest if column in priced}
    return [
        *([Panel("known at the start", free, 0.0, True)] if free else []),
        *(Panel(n, tuple(group), priced[n], False) for n, group in {**grouped, **alone}.items()),
    ]


def _prices(stated: Any, place: Mapping[Any, str], names: Sequence[str]) -> dict[str, float]:
    """Price of each panel that is not known at the start."""
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
                f"prices names {name!r}; the panels are {listed(names)}{did_you_mean(name, names)}"
            )
        if not isinstance(price, Real) or not 0 <= float(price) < np.inf:
            raise ValueError(f"prices has {price!r} for {name!r}; allowed are numbers from 0 on")
    return {name: float(price) for name, price in prices.items()}


def error_costs(errors: Any, k: int) -> Float[np.ndarray, "k k"]:
    """Cost of predicting a class (column) for a case of a class (row); None: 1 for each error.

    Raises:
        ValueError: they are not k × k numbers from 0 on.
    """
    refusal = f"errors is {errors!r}; allowed are {k} × {k} costs from 0 on"
    try:
        costs = 1.0 - np.eye(k) if errors is None else np.array(errors, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{refusal}, as [[0, 10], [40, 0]]") from None
    if costs.shape != (k, k) or not (np.isfinite(costs).all() and (costs >= 0).all()):
        raise ValueError(refusal)
    return costs


def case_prices(prices: Any, panels: Sequence[str], n: int) -> Float[np.ndarray, "n a"]:
    """Prices of panels for each case: an array, or a frame with a column for each panel.

    Raises:
        ValueError: they are of another shape or other panels, or not numbers from 0 on.
    """
    if isinstance(prices, pd.DataFrame):
        prices = prices.rename(columns=str)
        if set(prices.columns) != set(panels):
            raise ValueError(
                f"prices has the columns {listed(prices.columns)}; the panels are {listed(panels)}"
            )
        prices = prices[list(panels)]
    stated = np.asarray(prices, dtype=np.float64)
    if stated.shape != (n, len(panels)):
        raise ValueError(
            f"prices is of shape {stated.shape}; allowed is {(n, len(panels))}: a row for each "
            f"case, and a column for each of {listed(panels)}"
        )
    if not (np.isfinite(stated).all() and (stated >= 0).all()):
        raise ValueError("prices has a cell that is no number from 0 on")
    return stated


class PathCost:
    """Minus the mean cost of a case along its path, panels and errors; a scorer, larger is better.

    On complete rows it is the cost of the policy in use. In rows with gaps, missing panels cannot
    be had, so it is not: `frugal.sklearn.evaluate` estimates that.

    `path_cost(estimator, X, y, prices=None)` takes prices of each panel for each case: an array in
    the order of `panel_names_`, or a frame with these columns (n, a); None: those of the estimator.
    `path_cost.set_score_request(prices=True)` is a scorer to which scikit-learn routes them.
    """

    def __init__(self, request: bool | str | None = None) -> None:
        self._request = request

    def __call__(self, estimator: Any, X: Any, y: Any, prices: Any = None) -> float:
        """The score of an `Acquirer`, or of a pipeline that ends with one, on rows with labels."""
        if isinstance(estimator, Pipeline):
            X = estimator[:-1].transform(X) if len(estimator) > 1 else X
            estimator = estimator[-1]
        path = estimator.path(X)
        true = np.searchsorted(estimator.classes_, np.asarray(y))
        predicted = np.searchsorted(estimator.classes_, path["predicted"].to_numpy())
        errors = estimator._table.misclassification_cost[true, predicted]
        paid = path["price"].to_numpy()
        if prices is not None:
            panels = estimator.panel_names_.tolist()
            paid = (path[panels] * case_prices(prices, panels, len(path))).sum(axis=1).to_numpy()
        return -float(np.mean(paid + errors))

    def set_score_request(self, *, prices: bool | str | None) -> "PathCost":
        """The same scorer, with `prices` requested (True), or under another name (a text)."""
        return PathCost(prices)

    def get_metadata_routing(self) -> MetadataRequest:
        """The request, as scikit-learn reads it."""
        request = MetadataRequest(owner="path_cost")
        request.score.add_request(param="prices", alias=self._request)
        return request


path_cost = PathCost()


def _tried() -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Settings of the policies that `decide` tries, in its order, and of the classifier there."""
    config = laid_over(*(read_yaml(PROJECT / f"{f}.yaml") for f in ("config", "config/decide")))
    block = effective(config)["afape"]
    return {name: block["agents"][name] for name in block["answer"]["prefer"]}, block["classifier"]


def _seed(random_state: Any) -> int:
    return 0 if random_state is None else int(np.random.RandomState(random_state).randint(2**31))
