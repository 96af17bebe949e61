"""The kind `cascade`: boosted trees per set of panels; the next is bought by probability.

Sets of panels one after the other, each bought if the belief is in a window. Learns on blocked
records for the table's own costs, and in `diagnosis` for a score within budgets. Of more than two
classes each has its own models, which predict it against all others; the next set is bought within
a window of the expected cost of the best decision (`ClassPath`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import expit

from frugal.acquire.kinds import UNTUNED, AgentKind, Ground, Learned, Saved, trained
from frugal.acquire.onnx_graph import NO_PANEL, GraphNode, GraphOutputs, State, logistic, two
from frugal.acquire.reading import ERRORS, Reading, ThresholdRules, cheapest_class, panel_or_stop
from frugal.acquire.train.cascade import Cascade, fit_cascades
from frugal.acquire.train.class_paths import (
    ClassSets,
    ClassWindows,
    LearnsClasses,
    cheapest_path,
    scaled_to_one,
)
from frugal.acquire.train.payoff import SMALLEST, Learns, Objective, fit_for_cost
from frugal.acquire.train.tree_sets import (
    NETWORK,
    FoldedNetwork,
    SetBeliefs,
    Stack,
    StackedBeliefs,
    TreeRows,
    numbered,
    stored_trees,
)
from frugal.core.episodes import (
    Belief,
    Law,
    Panels,
    Readings,
    RowPanels,
    RowReadings,
    RowValues,
    Traits,
)
from frugal.core.layout import Layout
from frugal.core.stored import Array, Stored, Within, apart, arrays_of, declared, part_of, under
from frugal.learn.cross_fitted_trees import MOST_LOG_ODDS, log_odds_of
from frugal.learn.linear_parts import FURTHEST, LinearPart
from frugal.learn.tree_scoring import predict_proba
from frugal.learn.trees import TreeEnsemble

TREES = "trees."  # prefix of a model's arrays, before its number
LINEAR = "linear."  # of the regression of the model of this number
NO_END = 2.0  # a window's upper end where it has none


@dataclass(frozen=True, eq=False)
class CascadePolicies(ThresholdRules):
    """K cascades of s sets. Shapes: a panels, M models.

    A state belongs to the first set of its cascade that contains the acquired panels; panels of no
    set are not looked at. Its belief is that of this set's trees. If panels of the set are left,
    the cheapest is bought; else the next set that offers something, while the windows on the way
    hold the belief.

    Attributes:
        sets: each contains the one before. (K, s, a)
        model: of each set. (K, s)
        low: predicted probability from which the next set is bought. (K, s)
        high: below which it is; the last set's window is empty. (K, s)
        threshold: predicted probability from which a unit is classified as ill. (K,)
        ensembles: the models.
        cost: of the panels. (a,)
        stack: a network that tells of every set in addition to its model; None: models alone.
        linear: a regression for each model; none: models alone.
    """

    sets: Annotated[Bool[np.ndarray, "K s a"], Within()]
    model: Annotated[Int[np.ndarray, "K s"], Within(low=0)]
    low: Annotated[Float[np.ndarray, "K s"], Within(low=0.0, high=1.0)]
    high: Annotated[Float[np.ndarray, "K s"], Within(low=0.0, high=NO_END)]
    threshold: Annotated[Float[np.ndarray, " K"], Within(above=0, high=1)]
    ensembles: Sequence[TreeEnsemble]
    cost: Float[np.ndarray, " a"]
    stack: Stack | None = None
    linear: Sequence[LinearPart] = ()

    @property
    def traits(self) -> Traits:
        """See `Traits`."""
        return Traits(consistent=True, why=self.why, threshold=self.threshold)

    def member(self, k: int) -> "CascadePolicies":
        """One of them alone, with all models."""
        return replace(self, **{name: array[[k]] for name, array in arrays_of(self).items()})

    @property
    def reached(self) -> Bool[np.ndarray, "K a"]:
        """Panels of the sets that a case may come to."""
        comes = np.cumprod(self.low[:, :-1] < self.high[:, :-1], axis=1).sum(axis=1)
        return self.sets[np.arange(self.members), comes]

    def decide(self, reading: Readings, acquired: Panels, available: Panels) -> Law:
        """1 for the next panel, or for "stop". (K, m, a + 1)"""
        stage = self._stage(acquired)
        return self.go_on(self._belief(reading, stage), acquired, available)

    def go_on(
        self, probability: Float[np.ndarray, "K m"], acquired: Panels, available: Panels
    ) -> Law:
        """`decide` by the values that windows compare in each state. (K, m, a + 1)"""
        left = available & ~acquired
        sets = [self.sets[:, None, t] for t in range(self.sets.shape[1])]
        start = _start(sets, acquired, left)
        going = np.ones(start.shape, dtype=bool)
        buyable = np.zeros_like(left)
        for t, panels in enumerate(sets):
            offered = left & panels
            at_stage = going & (t >= start)
            buys = at_stage & offered.any(axis=2)
            buyable |= offered & buys[..., None]
            within = (probability >= self.low[:, None, t]) & (probability < self.high[:, None, t])
            going &= ~at_stage | (~buys & within)
        panel = np.where(buyable, self.cost, np.inf).argmin(axis=2)
        return panel_or_stop(panel, np.any(buyable, axis=2), acquired.shape[2])

    def believe(self, reading: Readings, acquired: Panels) -> Belief:
        """Class probabilities as the trees have them. (K, m, 2)"""
        ill = self._belief(reading, self._stage(acquired))
        return np.stack([1 - ill, ill], axis=-1)

    def _stage(self, acquired: Panels) -> Int[np.ndarray, "K m"]:
        """Number of the first set that contains the panels acquired of the last."""
        return _stage([self.sets[:, None, t] for t in range(self.sets.shape[1])], acquired)

    def _belief(self, reading: np.ndarray, stage: np.ndarray) -> Float[np.ndarray, "K m"]:
        model = np.take_along_axis(self.model, stage, axis=1)
        return stated_by_models(self.ensembles, model, reading, self.stack, self.linear)

    def sentences(self, panels: Sequence[str]) -> list[str]:
        """Decisions of each cascade, in words."""
        return [self._sentence(k, panels) for k in range(self.members)]

    def _sentence(self, k: int, panels: Sequence[str]) -> str:
        ordered = self.stages(k, panels, _range)
        return f"{ordered}; positive from {100 * self.threshold[k]:.3g} % on"

    def stages(self, k: int, panels: Sequence[str], window: Callable[[float, float], str]) -> str:
        """The sets of one cascade in turn, each with its window in words."""
        stages = []
        for t in range(self.sets.shape[1]):
            if t and self.low[k, t - 1] >= self.high[k, t - 1]:
                break  # nobody comes to the sets that follow
            before = self.sets[k, t - 1] if t else np.zeros_like(self.sets[k, t])
            names = [panels[int(j)] for j in np.flatnonzero(self.sets[k, t] & ~before)]
            if names:
                within = window(self.low[k, t - 1], self.high[k, t - 1]) if t else ""
                stages.append(" + ".join(names) + within)
        return "; then ".join(stages) or "no panel"

    def why(
        self,
        member: int,
        values: RowValues,
        probability: Float[np.ndarray, "m 2"],
        acquired: RowPanels,
        available: RowPanels,
        action_probability: Float[np.ndarray, "m a+1"],
        layout: Layout,
    ) -> list[str]:
        """The risk in each state, and the window that leads to the decision or ends the search."""
        names = np.array([panel.name for panel in layout.actions], dtype=object)
        closed = acquired | ~available
        start = _start(list(self.sets[member]), acquired, ~closed).tolist()
        states = zip(probability[:, 1].tolist(), start, acquired, closed, strict=True)
        return [self._why(member, *state, names) for state in states]

    def _why(
        self,
        k: int,
        risk: float,
        start: int,
        acquired_set: np.ndarray,
        closed: np.ndarray,
        names: np.ndarray,
    ) -> str:
        risk_text, within = f"risk {100 * risk:.3g} %", ""
        for t in range(start, self.sets.shape[1]):
            low, high = float(self.low[k, t]), float(self.high[k, t])
            if (self.sets[k, t] & ~closed).any():
                before = self.sets[k, t - 1] if t else np.zeros_like(acquired_set)
                begun = names[acquired_set & self.sets[k, t] & ~before]
                if within:
                    return f"{risk_text}: bought{within}"
                return f"goes with {' + '.join(begun)}" if len(begun) else "bought for everyone"
            if low >= high:
                break
            if not low <= risk < high:
                end = f"below {100 * low:.3g} %" if risk < low else f"{100 * high:.3g} % or more"
                return f"{risk_text}, {end}: nothing more is bought"
            within = _range(low, high) or " for everyone"
        return f"{risk_text}: no further panel"

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Everything the policies are; `from_arrays` is the inverse."""
        trees, linear = numbered(TREES, self.ensembles), numbered(LINEAR, self.linear)
        return arrays_of(self) | trees | linear | (self.stack.to_arrays() if self.stack else {})

    @staticmethod
    def from_arrays(arrays: Mapping[str, np.ndarray], layout: Layout) -> "CascadePolicies":
        """The policies that `to_arrays` wrote.

        Raises:
            DataError: the arrays are no such policies; the message names the place.
        """
        part = apart(arrays, TREES, NETWORK, LINEAR)
        stored = Stored("cascade", part)
        stored.require(declared(CascadePolicies), a=len(layout.actions))
        ensembles = stored_ensembles(arrays, layout)
        if int(part["model"].max()) >= len(ensembles):
            raise stored.refusal(
                f"names the model {part['model'].max()}; there are {len(ensembles)}, from 0 on"
            )
        if (part["sets"][:, :-1] > part["sets"][:, 1:]).any():
            raise stored.refusal("has a set that does not contain the one before it")
        return CascadePolicies(
            **part,
            ensembles=ensembles,
            cost=layout.action_cost,
            stack=Stack.from_arrays(arrays, columns=len(layout.columns)),
            linear=stored_regressions(arrays, len(layout.columns), len(ensembles)),
        )


def learned_cascades(cascades: Sequence[Cascade], beliefs: SetBeliefs) -> Learned:
    """Stored cascades: their windows, and the trees of their sets, each stored once.

    `mean_return` of the curve is the score of each, out of fold.
    """
    used = sorted(
        {panels for c in cascades for panels in c.path}, key=lambda s: (len(s), sorted(s))
    )
    ensembles = {id(beliefs.of(panels).ensemble): beliefs.of(panels).ensemble for panels in used}
    parts = {id(beliefs.of(panels).ensemble): beliefs.part(panels) for panels in used}
    number = {key: k for k, key in enumerate(ensembles)}
    length = max(len(c.path) for c in cascades)

    def padded(entries: Sequence[Any], last: Any) -> list[Any]:
        return [*entries, *[last] * (length - len(entries))]

    policies = CascadePolicies(
        np.stack([[beliefs.rows.bits(s) for s in padded(c.path, c.path[-1])] for c in cascades]),
        np.array(
            [
                [number[id(beliefs.of(s).ensemble)] for s in padded(c.path, c.path[-1])]
                for c in cascades
            ]
        ),
        np.array([padded(c.low, 1.0) for c in cascades]),
        np.minimum([padded(c.high, 1.0) for c in cascades], NO_END),
        np.array([c.threshold for c in cascades]),
        tuple(ensembles.values()),
        beliefs.rows.world.action_cost,
        beliefs.stack if isinstance(beliefs, StackedBeliefs) else None,
        tuple(part for part in parts.values() if part is not None),
    )
    score, price = [c.score for c in cascades], [c.price for c in cascades]
    return Learned.of_rules(policies.to_arrays(), len(beliefs.rows.world), score, price)


@dataclass(frozen=True, eq=False)
class ClassPath(Reading):
    """Sets one after the other, of a label of k classes. s sets, a panels.

    The next set is bought while the expected cost of the best decision, as a share of the most
    expensive error, lies in the window of the set.

    Attributes:
        of_class: k members, each the same sets with the models of one class against all others.
        errors: cost of predicting a class (column) for a unit of a class (row). (k, k)
    """

    of_class: CascadePolicies
    errors: Float[np.ndarray, "k k"]

    @property
    def traits(self) -> Traits:
        """See `Traits`."""
        return Traits(consistent=True, why=self.why)

    @property
    def members(self) -> int:
        """1."""
        return 1

    @property
    def reached(self) -> Bool[np.ndarray, "1 a"]:
        """Panels of the sets that a case may come to."""
        return self.of_class.reached[:1]

    @property
    def relative(self) -> Float[np.ndarray, "k k"]:
        """Costs of errors in units of the most expensive one. (k, k)"""
        return self.errors / max(float(self.errors.max()), SMALLEST)

    def read(self, values: RowValues, acquired: RowPanels) -> RowReadings:
        """The state's values, as trees read them. (m, d)"""
        return self.of_class.read(values, acquired)

    def decide(self, reading: Readings, acquired: Panels, available: Panels) -> Law:
        """1 for the next panel, or for "stop". (1, m, a + 1)"""
        least = (self.believe(reading, acquired) @ self.relative).min(axis=2)
        return self.of_class.member(0).go_on(least, acquired, available)

    def conclude(self, reading: Readings, acquired: Panels) -> Belief:
        """1 for the class of least expected cost. (1, m, k)"""
        return cheapest_class(self.believe(reading, acquired), self.errors)

    def believe(self, reading: Readings, acquired: Panels) -> Belief:
        """Class probabilities. (1, m, k)"""
        k = len(self.errors)
        each = self.of_class.believe(np.repeat(reading, k, axis=0), np.repeat(acquired, k, axis=0))
        return scaled_to_one(each[..., 1].T)[None]

    def sentences(self, panels: Sequence[str]) -> list[str]:
        """Its decisions, in words."""
        ordered = self.of_class.stages(0, panels, self._range)
        return [f"{ordered}; then the class of least expected cost"]

    def _range(self, low: float, high: float) -> str:
        """A window in words, in the unit of costs."""
        unit = float(self.errors.max())
        if low <= 0 and high >= 1:
            return ""
        end = "" if high >= 1 else f" and below {high * unit:.3g}"
        return f" if the best decision costs {low * unit:.3g} or more in expectation{end}"

    def why(
        self,
        member: int,
        values: RowValues,
        probability: Float[np.ndarray, "m k"],
        acquired: RowPanels,
        available: RowPanels,
        action_probability: Float[np.ndarray, "m a+1"],
        layout: Layout,
    ) -> list[str]:
        """Cost of the best decision in each state, and whether a panel follows."""
        stops = (action_probability[:, -1] == 1).tolist()
        if self.of_class.sets.shape[1] == 1:
            return ["no further panel" if stop else "bought for everyone" for stop in stops]
        least = (probability @ self.errors).min(axis=1).tolist()
        return [
            f"best decision costs {cost:.3g} in expectation: "
            + ("nothing more is bought" if stop else "bought")
            for cost, stop in zip(least, stops, strict=True)
        ]

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Everything the policy is; `from_arrays` is the inverse."""
        return self.of_class.to_arrays() | {ERRORS: self.errors}

    @staticmethod
    def from_arrays(arrays: Mapping[str, np.ndarray], layout: Layout) -> "ClassPath":
        """The policy that `to_arrays` wrote.

        Raises:
            DataError: the arrays are no such policy of the classes of the layout.
        """
        part, k = part_of(arrays, {ERRORS: ERRORS}), len(layout.classes)
        stored = Stored("path of sets", part)
        stored.require({ERRORS: Array("float64", (k, k), low=0)})
        rest = part_of(arrays, {name: name for name in arrays if name != ERRORS})
        policies = CascadePolicies.from_arrays(rest, layout)
        if len(policies.sets) != k or (policies.sets != policies.sets[:1]).any():
            raise stored.refusal(
                f"has {len(policies.sets)} members; allowed are the same sets for each of {k} "
                "classes"
            )
        return ClassPath(policies, part[ERRORS])


def learned_path(path: ClassWindows) -> Learned:
    """A path of sets as a bundle holds it; `mean_return` is minus its cost, out of fold."""
    sets, s = path.of, len(path.sets)
    k, rows = len(sets.beliefs), sets.rows
    parts = [
        part
        for beliefs in sets.beliefs
        for panels in path.sets
        if (part := beliefs.part(panels)) is not None
    ]
    policies = CascadePolicies(
        np.tile([rows.bits(panels) for panels in path.sets], (k, 1, 1)),
        np.arange(k * s).reshape(k, s),
        np.tile([*path.low, 1.0], (k, 1)),
        np.minimum(np.tile([*path.high, 1.0], (k, 1)), NO_END),
        np.full(k, UNTUNED),
        tuple(beliefs.of(panels).ensemble for beliefs in sets.beliefs for panels in path.sets),
        rows.world.action_cost,
        linear=tuple(parts),
    )
    arrays = ClassPath(policies, sets.errors).to_arrays()
    return Learned.of_rules(arrays, len(rows.world), [-path.cost], [path.price])


def fit_paths(
    kind: str, learn: Learns, of_classes: LearnsClasses, ground: Ground, settings: Mapping[str, Any]
) -> Learned:
    """`fit_for_cost`; of more than two classes, where costs are minimised, a path of sets.

    Args:
        kind: of the agent.
        learn: of two classes, see `fit_for_cost`.
        of_classes: (sets of panels, settings) → the path of least cost.
        ground: training data.
        settings: of the agent.
    """
    if len(ground.table.classes) == 2 or ground.budgets:
        return fit_for_cost(kind, learn, ground, settings)
    return learned_path(of_classes(ClassSets.of(ground, settings), settings))


def build(
    settings: Mapping[str, Any], layout: Layout, stored: Saved
) -> CascadePolicies | ClassPath:
    """The trained cascades, or the path of a label of more than two classes."""
    policy = CascadePolicies if len(layout.classes) == 2 else ClassPath
    return policy.from_arrays(trained(stored, settings["kind"]), layout)


def stated_by_models(
    ensembles: Sequence[TreeEnsemble],
    model: Int[np.ndarray, "K m"],
    reading: Readings,
    stack: Stack | None,
    linear: Sequence[LinearPart] = (),
) -> Float[np.ndarray, "K m"]:
    """Probability of illness by the model of each state and its regression. (K, m)"""
    probability = np.empty(model.shape)
    for k, ensemble in enumerate(ensembles):
        of_model = model == k
        if of_model.any():
            rows = reading[of_model]
            probability[of_model] = predict_proba(ensemble, rows, np.ones_like(rows, dtype=bool))[
                :, 1
            ]
            if linear:
                odds = log_odds_of(probability[of_model])
                probability[of_model] = expit(linear[k].log_odds(odds, rows.astype(np.float64)))
    if stack is None:
        return probability
    values = reading.reshape(-1, reading.shape[2]).astype(np.float64)
    return stack.probability(probability.ravel(), values).reshape(probability.shape)


def _range(low: float, high: float) -> str:
    """A window of predicted probability in words."""
    if low <= 0 and high > 1:
        return ""
    if high > 1:
        return f" if the risk is {100 * low:.3g} % or more"
    if low <= 0:
        return f" if the risk is below {100 * high:.3g} %"
    return f" if the risk is {100 * low:.3g} to {100 * high:.3g} %"


def stored_regressions(
    arrays: Mapping[str, np.ndarray], columns: int, models: int
) -> tuple[LinearPart, ...]:
    """The regressions among a bundle's arrays, one for each model; none if there are none.

    Raises:
        DataError: one is no regression on so many columns, or a model has none.
    """
    parts = [under(arrays, f"{LINEAR}{k}.") for k in range(models)]
    if not any(parts):
        return ()
    return tuple(LinearPart.from_arrays(part, columns=columns) for part in parts)


def stored_ensembles(arrays: Mapping[str, np.ndarray], layout: Layout) -> tuple[TreeEnsemble, ...]:
    """The models among a bundle's arrays, in the order of their numbers.

    Raises:
        DataError: one is no ensemble, or is for other columns or classes.
    """
    count = len({name.split(".")[1] for name in arrays if name.startswith(TREES)})
    parts = [under(arrays, f"{TREES}{k}.") for k in range(count)]
    return tuple(stored_trees(part, columns=len(layout.columns)) for part in parts)


def learn(
    rows: TreeRows,
    objective: Objective,
    settings: Mapping[str, Any],
    budgets: np.ndarray,
    network: FoldedNetwork | None = None,
) -> Learned:
    """Cascades as a bundle holds them; `mean_return` is the score of each, out of fold."""
    return learned_cascades(
        *fit_cascades(rows, objective, settings=settings, budgets=budgets, network=network)
    )


def graph_of_windows(state: State, policy: Any, member: int) -> GraphOutputs:
    """As `decide` and `believe`, of one cascade, or of a path of several classes."""
    if not isinstance(policy, ClassPath):
        stage = _stage_node(state, policy.sets[member])
        probability = _belief_node(state, policy, member, stage)
        return _graph_of(state, policy, member, stage, probability, two(probability))
    of_class, k = policy.of_class, len(policy.errors)
    stage = _stage_node(state, of_class.sets[0])
    each = [_belief_node(state, of_class, c, stage) for c in range(k)]
    unnormalised = each[0].concat(*each[1:])
    probability = unnormalised / unnormalised.sum()
    least = (probability @ -policy.relative).max() * -1.0
    cheapest = (probability @ -policy.errors).argmax().equals(np.arange(k)).of_kind("d")
    path = _graph_of(state, of_class, 0, stage, least, probability)
    return replace(path, verdict=cheapest)


def _stage(sets: Sequence[np.ndarray], acquired: np.ndarray) -> np.ndarray:
    """Number of the first set that contains the panels acquired of the last."""
    of_last = acquired & sets[-1]
    return np.stack([(of_last <= panels).all(axis=-1) for panels in sets], axis=-1).argmax(axis=-1)


def _start(sets: Sequence[np.ndarray], acquired: np.ndarray, left: np.ndarray) -> np.ndarray:
    """Number of the set from which decisions go on.

    A state that holds a panel of a later set, and lacks an available one of an earlier set, is at
    the last set of which nothing is left: nobody has decided on the sets that follow.
    """
    stage = _stage(sets, acquired)
    is_open = np.stack([(left & panels).any(axis=-1) for panels in sets], axis=-1)
    before = np.take_along_axis(is_open, np.maximum(stage - 1, 0)[..., None], axis=-1)[..., 0]
    complete = np.maximum((~is_open).sum(axis=-1) - 1, 0)
    return np.where(before & (stage > 0), complete, stage)


def _stage_node(state: State, sets: np.ndarray) -> GraphNode:
    """Number of the first set that contains the acquired panels. (m, 1)"""
    beyond = (sets[-1] & ~sets).T.astype(np.float32)
    outside = ((state.acquired.of_kind("f") @ beyond) > 0).of_kind("f")
    return (outside * -1.0).argmax()


def _belief_node(state: State, policy: Any, member: int, stage: GraphNode) -> GraphNode:
    """Predicted probability by the model of the set. (m, 1)"""
    model = policy.model[member]
    of_model = {k: log_odds_node(state, policy, k) for k in np.unique(model).tolist()}
    odds = of_model[model[0]]
    for t, k in enumerate(model.tolist()):
        odds = stage.equals(t).where(of_model[k], odds)
    return logistic(odds)


def _graph_of(
    state: State,
    policy: CascadePolicies,
    member: int,
    stage: GraphNode,
    probability: GraphNode,
    belief: GraphNode,
) -> GraphOutputs:
    """As `go_on`, of one cascade."""
    sets = policy.sets[member]
    going, buyable = ~(stage < 0), state.open & np.zeros((1, state.panels), dtype=bool)
    offers = [state.open & panels[None] for panels in sets]
    open_in = [offered.of_kind("f").max() > 0 for offered in offers]
    skipped = stage < 0
    for t, before in enumerate(open_in[:-1]):
        skipped = skipped | (stage.equals(t + 1) & before)
    for t, offered in enumerate(offers):
        reached = open_in[t + 1] if t + 1 < len(sets) else ~(stage < 0)
        comes = (skipped & reached) | (~skipped & ~(stage > t))
        buys = going & comes & open_in[t]
        buyable = buyable | (offered & buys)
        low, high = float(policy.low[member, t]), float(policy.high[member, t])
        within = (probability >= low) & (probability < high)
        going = going & (~comes | (~buys & within))
    cheapest = buyable.where(state.graph.constant(-policy.cost[None]), NO_PANEL)
    return GraphOutputs(state.panel_or_stop(cheapest, cheapest.max() > NO_PANEL), belief)


def log_odds_node(state: State, policy: Any, k: int) -> GraphNode:
    """Of class 1 by a model of sets, and by the regression next to it. (m, 1)"""
    sums = state.graph.leaf_sums(policy.ensembles[k], state.values).of_kind("d")
    odds = (sums.columns(1, 2) - sums.columns(0, 1)).clipped(-MOST_LOG_ODDS, MOST_LOG_ODDS)
    if not policy.linear:
        return odds
    part: LinearPart = policy.linear[k]
    values = state.values.of_kind("f").of_kind("d")
    observed, d = values.known(), len(part.centre)
    z = ((values - part.centre) / part.scale).clipped(-FURTHEST, FURTHEST)
    intercept, slope, unknown = np.split(part.slope[:, None], [1, d + 1])
    linear = observed.where(z, 0) @ slope + (~observed).of_kind("d") @ unknown + intercept
    total = odds * float(part.weights[1]) + linear * float(part.weights[2])
    return (total + float(part.weights[0])).clipped(-MOST_LOG_ODDS, MOST_LOG_ODDS)


CASCADE = AgentKind(
    name="cascade",
    build=build,
    fit=partial(fit_paths, "cascade", learn, cheapest_path),
    front=learn,
    settings={
        "boosting": ("BoostingSettings", "the trees of each set of panels", {"repeats": 3}),
        "linear": ("bool", "whether a logistic regression is averaged with the trees", False),
        "missing": ("MissingPanels", "how rows that lack panels are learned from", "blocked"),
        "gates": ("Count", "sets that are bought one after the other, at most", 3),
        "sets": ("Two", "of panels that trees are fitted to, at most", 16),
        "price_weights": ("Two", "prices of panels that are tried; not for a cost", 24),
    },
    doc="sets of panels one after the other, each bought within a window of the predicted "
    "probability; boosted trees of each set",
    acts_on_beliefs=True,
    graph=graph_of_windows,
    looks={"cascade": (60, "cascade of trees", "vermillion", "D")},
)
