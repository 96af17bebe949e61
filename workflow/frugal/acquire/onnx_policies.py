"""The formulas of the policies, written once more as graphs; a test holds both beside each other.

Public functions are (state, policy, member) → answer; a declaration of a kind names its own, see
`kinds.AgentKind`. Those that are no short formula are not here.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from frugal.acquire.onnx_nodes import Node
from frugal.acquire.onnx_state import (
    NO_PANEL,
    Answer,
    State,
    entropy,
    logistic,
    mean,
    numbered,
    perceptron,
    tilted,
    two,
)
from frugal.acquire.policies.fixed_set import ClassSet
from frugal.core.errors import DataError
from frugal.core.scaling import Scaling
from frugal.learn.cross_fitted_trees import MOST_LOG_ODDS
from frugal.learn.linear_parts import FURTHEST, LinearPart
from frugal.learn.trees import TreeEnsemble


def fixed(state: State, policy: Any, member: int) -> Answer:
    """A fixed set of panels, in their order."""
    del member
    wanted = (state.open & policy.panels[None]).of_kind("d")
    return Answer(state.panel_or_stop(wanted, wanted.max() > 0), None)


def _q_values(state: State, weights: Mapping[str, np.ndarray], seen: Node) -> Node:
    """Values of every action, dueling or not."""
    layers = numbered(weights)
    if "value.weight" not in weights:
        return perceptron(seen, *layers, "relu")
    top = perceptron(seen, layers[0][:-1], layers[1][:-1], "relu").rectified()
    values = top @ layers[0][-1] + layers[1][-1]
    return top @ weights["value.weight"] + weights["value.bias"] + values - values.mean()


def dqn(state: State, policy: Any, member: int) -> Answer:
    """The action of the highest value among those that are there."""
    del member
    seen = state.observed(Scaling(policy.centre, policy.scale), column_bits=policy.column_bits)
    value = _q_values(state, policy.weights, seen.of_kind("d"))
    of_panel = state.open.where(value.columns(0, state.panels), NO_PANEL)
    stop = value.columns(state.panels, state.panels + 1)
    return Answer(state.panel_or_stop(of_panel, ~(of_panel.max() < stop)), None)


def sb3(state: State, policy: Any, member: int) -> Answer:
    """The best action of a network, or the law that it draws from."""
    del member
    if policy.terminals > 1:
        raise DataError("an sb3 agent that gives verdicts cannot be written as an ONNX graph")
    seen = state.observed(Scaling(policy.centre, policy.scale), column_bits=policy.column_bits)
    score = perceptron(seen.of_kind("d"), *numbered(policy.weights), policy.activation)
    of_panel = state.open.where(score.columns(0, state.panels), NO_PANEL)
    stop = score.columns(state.panels, state.panels + 1)
    if policy.greedy:
        return Answer(state.panel_or_stop(of_panel, ~(of_panel.max() < stop)), None)
    return Answer(of_panel.beside(stop).apply("Softmax", axis=-1), None)


def cwcf(state: State, policy: Any, member: int) -> Answer:
    """The panel of the highest value, or a verdict; the belief follows from the values of both."""
    weights = {name: array[member] for name, array in policy.weights.items()}
    seen = state.observed(policy.scaling, column_bits=policy.column_bits)
    value = _q_values(state, weights, seen).of_kind("d")
    of_panel = state.open.where(value.columns(0, state.panels), NO_PANEL)
    ends = [value.columns(state.panels + j, state.panels + j + 1) for j in (0, 1)]
    healthy, ill = policy.class_weights
    worth = [(ends[1] * (-1 / healthy)).largest(1e-9), (ends[0] * (-1 / ill)).largest(1e-9)]
    threshold = healthy / (healthy + ill)
    if policy.threshold is not None:
        threshold = float(policy.threshold[member])
    belief = tilted(worth[1] / (worth[0] + worth[1]), threshold)
    return Answer(state.panel_or_stop(of_panel, of_panel.max() > ends[0].largest(ends[1])), belief)


def _normal_scores(state: State, reads: Any) -> Node:
    """As `NormalScores.read`: straight lines between knots, a column at a time. (m, 2 d)"""
    known = state.values.known()
    x = known.where(state.values, 0).with_last_axis()
    width, rise = np.diff(reads.knots, axis=1), np.diff(reads.scores, axis=1)
    slope = np.divide(rise, width, out=np.zeros_like(rise), where=width > 0)
    along = (x - reads.knots[:, :-1]).rectified().smallest(width) * slope
    axes = state.graph.constant(np.array([2]))
    total = state.graph.op("ReduceSum", [along, axes], "d", keepdims=0) + reads.scores[:, 0]
    return known.where(total, 0).beside(known.of_kind("d")).of_kind("f").of_kind("d")


def panel_networks(state: State, policy: Any, member: int) -> Answer:
    """The panel of most worth for its price, above the least; a mean over networks."""
    networks, chooser = policy.networks, int(policy.chooser[member])
    seen = _normal_scores(state, networks.believer.reads)
    some = range(chooser * networks.folds, (chooser + 1) * networks.folds)

    def told(weights: Sequence[np.ndarray], biases: Sequence[np.ndarray], k: int) -> Node:
        return perceptron(seen, [w[k] for w in weights], [b[k] for b in biases], "relu")

    odds = [
        told(networks.believer.weights, networks.believer.biases, k)
        .clipped(-MOST_LOG_ODDS, MOST_LOG_ODDS) for k in some
    ]  # fmt: skip
    said = [told(networks.weights, networks.biases, k) for k in some]
    a = state.panels
    if networks.says == "logits":
        margins = [one.columns(0, a) - one.columns(a, a + 1) for one in said]
        price = np.ones(a)
    else:
        margins = [
            entropy(o) / ((s * -1.0).apply("Exp") + 1.0) for o, s in zip(odds, said, strict=True)
        ]
        price = np.where(networks.cost > 0, networks.cost, 1.0)
    margin = mean(margins) / price
    margin = state.at_once(state.graph.constant(networks.cost[None] <= 0), margin)
    margin = state.adding().where(margin, NO_PANEL)
    intercept, slope = policy.calibration[member]
    ill = logistic(mean(odds) * float(slope) + float(intercept))
    least = max(float(policy.least[member]), NO_PANEL)
    return Answer(state.panel_or_stop(margin, margin.max() > least), two(ill))


def actor(state: State, policy: Any, member: int) -> Answer:
    """The actor's law, or its likeliest action; of a classifier that is a network."""
    from frugal.learn.imputers.mean import MeanImputer

    if not isinstance(policy.imputer, MeanImputer) or policy.models:
        raise DataError(
            "an sm_ddpo agent is written as an ONNX graph if its encoder is of kind 'mean' and "
            "its classifier a network; this one is not"
        )
    row = state.completed(policy.imputer.scaling).clipped(-policy.input_bound, policy.input_bound)
    own = {name: array[member] for name, array in policy.classifiers.export().items()}
    activation = policy.classifiers.activation
    belief = perceptron(row, *numbered(own), activation).apply("Softmax", axis=-1)
    actor = {name: array[member] for name, array in policy.learners.export().items()}
    seen = belief.beside(row, state.acquired.of_kind("f"))
    logits = perceptron(seen, *numbered(actor, "policy."), policy.learners.activation)
    a, ends = state.panels, policy.terminals
    masked = state.adding().where(logits.columns(0, a), -1e8)
    law = masked.beside(logits.columns(a, a + ends)).apply("Softmax", axis=-1).of_kind("d")
    if policy.greedy:
        of_panel, end = law.columns(0, a), law.columns(a, a + ends).max()
        chosen = state.panel_or_stop(of_panel, ~(of_panel.max() < end))
        return Answer(chosen, belief.of_kind("d"))
    return Answer(law.columns(0, a).beside(law.columns(a, a + ends).sum()), belief.of_kind("d"))


def _trees_with_bits(state: State, believer: TreeEnsemble) -> Node:
    """As `told`: values, then 1 for each panel acquired and NaN for each other; rounded. (m, 1)"""
    ones = state.acquired.of_kind("d")
    seen = state.values.of_kind("f").of_kind("d").beside(state.acquired.where(ones, np.nan))
    return state.graph.trees(believer, seen).columns(1, 2)


def opportunistic(state: State, policy: Any, member: int) -> Answer:
    """The panel of the highest value that reaches the least; those of the first set at once."""
    network = policy.network
    scaling = Scaling(network.centre, network.scale)
    rounded = State(
        state.graph, state.bundle, state.values.of_kind("f").of_kind("d"), state.acquired,
        state.open,
    )  # fmt: skip
    seen = rounded.observed(scaling, column_bits=network.column_bits).of_kind("d")
    value = _q_values(state, network.weights, seen).columns(0, state.panels)
    value = state.adding().where(value, NO_PANEL)
    first = state.open & policy.base[None]
    value = state.at_once(first, value)
    law = state.panel_or_stop(value, value.max() >= float(policy.least[member]))
    return Answer(law, two(_trees_with_bits(state, policy.believer)))


def dadi(state: State, policy: Any, member: int) -> Answer:
    """The action of the highest value; a set encoder reads what is known."""
    from frugal.acquire.train.dadi_networks import CLASS_HEAD, ENCODER, POLICY_HEAD
    from frugal.learn.set_encoder import OUTSIDE

    if policy.exploration:
        raise DataError("a dadi agent that explores cannot be written as an ONNX graph")
    own = {name: leaf.detach().numpy() for name, leaf in policy.named.items()}
    part = {name: array[member] for name, array in own.items()}
    seen = state.values if policy.scaling is None else state.in_deviations(policy.scaling)
    known = seen.known()
    x = known.where(seen, 0).of_kind("f").with_last_axis()
    bias = part[ENCODER + "position"] + part[ENCODER + "first_bias"]
    first = x @ part[ENCODER + "value"] + bias
    memory = _three(first.rectified(), part, ENCODER, 1)
    inside = known.of_kind("f")
    size = inside.sum()
    reading = _weighed(inside / size.largest(1), memory)
    filled = (size > 0).of_kind("f")
    outside = (inside - 1.0) * OUTSIDE
    h = part[ENCODER + "third"].shape[1]
    query = cell = reading * 0.0
    for _ in range(policy.processing_steps):
        sums = query.beside(reading) @ part[ENCODER + "cell"] + part[ENCODER + "cell_bias"]
        let_in, keep, let_out = (logistic(sums.columns(j * h, (j + 1) * h)) for j in range(3))
        cell = keep * cell + let_in * sums.columns(3 * h, 4 * h).apply("Tanh")
        query = let_out * cell.apply("Tanh")
        match = state.graph.op("Squeeze", [memory @ query.with_last_axis(),
                               state.graph.constant(np.array([2]))], "f")  # fmt: skip
        reading = _weighed((match + outside).apply("Softmax", axis=-1), memory) * filled
    value = _three(reading, part, POLICY_HEAD, 0).of_kind("d")
    told = reading
    if part[CLASS_HEAD + "first"].shape[0] > h:  # the adversary reads the label, and this one not
        told = reading.beside(size * 0.0)
    ill = logistic(_three(told, part, CLASS_HEAD, 0)).of_kind("d")
    of_panel = state.open.where(value.columns(0, state.panels), NO_PANEL)
    stop = value.columns(state.panels, state.panels + 1)
    return Answer(state.panel_or_stop(of_panel, ~(of_panel.max() < stop)), two(ill))


def _three(x: Node, part: Mapping[str, np.ndarray], prefix: str, start: int) -> Node:
    """Perceptrons whose layers are called first, second and third, from one of them on."""
    names = [prefix + name for name in ("first", "second", "third")[start:]]
    return perceptron(x, [part[n] for n in names], [part[f"{n}_bias"] for n in names], "relu")


def _weighed(share: Node, memory: Node) -> Node:
    """Sum of memory vectors by shares. (m, d), (m, d, h) → (m, h)"""
    graph = share.graph
    axes = graph.constant(np.array([1]))
    return graph.op("ReduceSum", [share.with_last_axis() * memory, axes], "f", keepdims=0)


def belief_windows(state: State, policy: Any, member: int) -> Answer:
    """As `CascadePolicies.decide` and `believe`, of one cascade."""
    sets, model = policy.sets[member], policy.model[member]
    beyond = (sets[-1] & ~sets).T.astype(np.float32)
    outside = ((state.acquired.of_kind("f") @ beyond) > 0).of_kind("f")
    stage = (outside * -1.0).argmax()  # the first set that contains what was acquired
    of_model = {k: _log_odds(state, policy, k) for k in np.unique(model).tolist()}
    odds = of_model[model[0]]
    for t, k in enumerate(model.tolist()):
        odds = stage.equals(t).where(of_model[k], odds)
    belief = logistic(odds)
    going, wanted = ~(stage < 0), state.open & np.zeros((1, state.panels), dtype=bool)
    for t, panels in enumerate(sets):
        offered, comes = state.open & panels[None], ~(stage > t)
        buys = going & comes & (offered.of_kind("f").max() > 0)
        wanted = wanted | (offered & buys)
        low, high = float(policy.low[member, t]), float(policy.high[member, t])
        within = (belief >= low) & (belief < high)
        going = going & (~comes | (~buys & within))
    cheapest = wanted.where(state.graph.constant(-policy.cost[None]), NO_PANEL)
    return Answer(state.panel_or_stop(cheapest, cheapest.max() > NO_PANEL), two(belief))


def fixed_set(state: State, policy: Any, member: int) -> Answer:
    """A cascade of one set; of more classes, the models of each against all others."""
    if not isinstance(policy, ClassSet):
        return belief_windows(state, policy, member)
    of_class = policy.of_class
    each = [logistic(_log_odds(state, of_class, k)) for k in range(len(policy.errors))]
    together = each[0].beside(*each[1:])
    return Answer(belief_windows(state, of_class, member).law, together / together.sum())


def _log_odds(state: State, policy: Any, k: int) -> Node:
    """Of class 1 by a model of sets, and by the regression beside it. (m, 1)"""
    sums = state.graph.leaf_sums(policy.ensembles[k], state.values).of_kind("d")
    odds = (sums.columns(1, 2) - sums.columns(0, 1)).clipped(-MOST_LOG_ODDS, MOST_LOG_ODDS)
    if not policy.linear:
        return odds
    part: LinearPart = policy.linear[k]
    seen = state.values.of_kind("f").of_kind("d")
    known, d = seen.known(), len(part.centre)
    z = ((seen - part.centre) / part.scale).clipped(-FURTHEST, FURTHEST)
    intercept, slope, unknown = np.split(part.slope[:, None], [1, d + 1])
    linear = known.where(z, 0) @ slope + (~known).of_kind("d") @ unknown + intercept
    total = odds * float(part.weights[1]) + linear * float(part.weights[2])
    return (total + float(part.weights[0])).clipped(-MOST_LOG_ODDS, MOST_LOG_ODDS)
