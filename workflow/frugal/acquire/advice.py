"""Advice of a bundled policy for new cases: the next panel, its price, and why.

Frames in the words of the table; decisions are those of the roll-out. Knows no file.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int

from frugal.acquire.bundles import CaseBundle
from frugal.acquire.rollouts import States, draw_actions, roll_out, states_of, visited_sets
from frugal.core.episodes import REFERRED, RowPanels
from frugal.core.region_words import few_records, not_offered
from frugal.core.world import World
from frugal.data.cases import Cases, read_cases
from frugal.learn.tree_scoring import expected_cost_prediction, predict_proba_acquired

STOP = "stop"
_ALTERNATIVES = 4  # that a reason names


@dataclass(frozen=True, eq=False)
class CaseAdvice:
    """Decisions about units, in order. Shapes: m decisions, a panels, k classes.

    Attributes:
        row: unit of each. (m,)
        acquired: panels known before it. (m, a)
        action: panel, or a for "stop". (m,)
        states: decisions of the policy in these states.
        probability: class probabilities, by the policy or by the classifier. (m, k)
        label: class that would be predicted now; k where a person would decide. (m,)
        why: reason of each, in a few words. (m,)
    """

    row: Int[np.ndarray, " m"]
    acquired: RowPanels
    action: Int[np.ndarray, " m"]
    states: States
    probability: Float[np.ndarray, "m k"]
    label: Int[np.ndarray, " m"]
    why: list[str]


def cases_of(
    bundle: CaseBundle, source: Path | pd.DataFrame, *, id_column: str | None, complete: bool
) -> Cases:
    """Cases of a file or frame, encoded as the policy's table; see `read_cases`.

    A result that (almost) no record of such a case holds is noted under `outside`: what is
    predicted from it was learned from other cases.
    """
    layout = bundle.layout
    cases = read_cases(
        source, bundle.cases, provides=layout.provides, id_column=id_column, complete=complete
    )
    if complete:  # all values are at hand, whether they would be ordered or not
        return cases
    outside = [[text] if text else [] for text in cases.outside]
    for hole in bundle.unsupported:
        panel = layout.actions[hole.panel].name
        words = f"{panel}: {few_records(hole, layout.columns, layout.onehot)}"
        given = cases.acquired[:, hole.panel] & hole.contains(cases.values)
        for k in np.flatnonzero(given).tolist():
            outside[k].append(words)
    return replace(cases, outside=["; ".join(texts) for texts in outside])


def case_uniforms(
    bundle: CaseBundle, ids: Sequence[str], rollout: int | None
) -> Float[np.ndarray, "n b"]:
    """Uniform draws of decisions: entry k decides the step at which k panels are known. (n, a + 1)

    Args:
        bundle: whose policy draws.
        ids: of the units; a unit's draws follow from its name, independent of the other rows.
        rollout: a seed of the study: the draws of the roll-out, for the rows of the table in its
            order; None for others.
    """
    steps = len(bundle.layout.actions) + 1
    if rollout is not None:
        return bundle.streams.generator("decisions", rollout).random((len(ids), steps))
    uniforms_by_unit = {
        name: bundle.streams.generator("case", name).random(steps) for name in set(ids)
    }
    return np.array([uniforms_by_unit[name] for name in ids]).reshape(len(ids), steps)


def advise_next(
    bundle: CaseBundle,
    cases: Cases,
    *,
    available: Bool[np.ndarray, "n a"],
    uniforms: Float[np.ndarray, "n a+1"],
) -> CaseAdvice:
    """One decision for each unit, in its present state.

    Args:
        bundle: with the policy.
        cases: units with the panels that they have.
        available: panels that can be had, or are. (n, a)
        uniforms: of `case_uniforms`.
    """
    world, row = _world(bundle, cases, available), np.arange(len(cases.ids))
    states = states_of(bundle.policy, world, row=row, acquired=cases.acquired, member=bundle.member)
    action = draw_actions(states.action_probability, uniforms[row, cases.acquired.sum(axis=1)])
    return _advice(bundle, cases, world, row, cases.acquired, action, states)


def advise_path(
    bundle: CaseBundle,
    cases: Cases,
    *,
    available: Bool[np.ndarray, "n a"],
    uniforms: Float[np.ndarray, "n a+1"],
) -> CaseAdvice:
    """Every decision from the first to "stop", for units whose values are all at hand.

    Args:
        bundle: whose policy is run.
        cases: the units.
        available: panels that it may acquire. (n, a)
        uniforms: of `case_uniforms`.
    """
    world = _world(bundle, cases, available)
    episodes = roll_out(bundle.policy, world, uniforms=uniforms)
    mine = episodes.member == bundle.member
    row, acquired = episodes.row[mine], visited_sets(episodes)[mine]
    states = states_of(bundle.policy, world, row=row, acquired=acquired, member=bundle.member)
    return _advice(bundle, cases, world, row, acquired, episodes.action[mine], states)


def _advice(
    bundle: CaseBundle,
    cases: Cases,
    world: World,
    row: np.ndarray,
    acquired: np.ndarray,
    action: np.ndarray,
    states: States,
) -> CaseAdvice:
    """Decisions with their evidence."""
    probability, label = _class_probabilities(bundle, cases, row, acquired, states)
    why = _reasons(bundle, world, row, acquired, states)
    if bundle.unsupported:
        why = _with_closed(bundle, why, world.visible(row, acquired), acquired)
    return CaseAdvice(row, acquired, action, states, probability, label, why)


def _with_closed(
    bundle: CaseBundle, why: Sequence[str], visible: np.ndarray, acquired: np.ndarray
) -> list[str]:
    """Reasons, with the panels that are not offered for lack of records."""
    layout, result = bundle.layout, list(why)
    panels = [panel.name for panel in layout.actions]
    for hole in bundle.unsupported:
        reason = not_offered(hole, panels, layout.columns, layout.onehot)
        lacks = ~acquired[:, hole.panel] & hole.closes(lambda column: visible[:, column])
        for k in np.flatnonzero(lacks).tolist():
            result[k] += f"; {reason}"
    return result


def with_referral(
    bundle: CaseBundle, advice: CaseAdvice, threshold: Float[np.ndarray, " m"]
) -> CaseAdvice:
    """The same, with a person where the prediction is expected to cost at least the threshold."""
    costs = advice.probability @ bundle.misclassification_cost
    refers = costs[np.arange(len(advice.label)), advice.label] >= threshold
    return replace(advice, label=np.where(refers, len(bundle.layout.classes), advice.label))


def prices_of(bundle: CaseBundle, cases: Cases) -> Float[np.ndarray, "n a"]:
    """Price of each panel for each case. (n, a)"""
    layout = bundle.layout
    price = np.tile(layout.action_cost, (len(cases.ids), 1))
    names = [panel.name for panel in layout.actions]
    for fee in bundle.cases.get("fees", ()):
        if fee["panel"] in names:
            of_case = cases.values[:, layout.columns.index(fee["column"])]
            price[:, names.index(fee["panel"])] = of_case + fee["waiting"]
    return price


def advice_frame(bundle: CaseBundle, cases: Cases, advice: CaseAdvice) -> pd.DataFrame:
    """A row for each decision, in the words of the table; `threshold` is `decision_threshold`."""
    panels = [panel.name for panel in bundle.layout.actions]
    choices = [*panels, STOP]
    price, shared = prices_of(bundle, cases)[advice.row], bundle.layout.shared_costs
    names = np.array(panels, dtype=object)
    frame = pd.DataFrame(
        {
            "acquired": [" + ".join(names[acquired]) for acquired in advice.acquired],
            "next": [choices[j] for j in advice.action],
            "price": shared.step_price(advice.acquired, advice.action, price),
            "cost_so_far": shared.price(advice.acquired, price),
            "predicted": [(*bundle.layout.classes, REFERRED)[j] for j in advice.label],
        }
    )
    if (threshold := decision_threshold(bundle, advice.states)) is not None:
        frame["threshold"] = threshold
    for j, name in enumerate(bundle.layout.classes):
        frame[f"belief {name}"] = advice.probability[:, j]
    for j, name in enumerate(choices):
        frame[f"probability {name}"] = advice.states.action_probability[:, j]
    if advice.states.scores is not None:
        for j, name in enumerate(choices):
            frame[f"score {name}"] = advice.states.scores[:, j]
    frame["why"] = advice.why
    frame["outside"] = [cases.outside[row] for row in advice.row]
    name = cases.id_name
    while name in frame.columns:  # the cases' column may be called price
        name += "_"
    frame.insert(0, name, [cases.ids[row] for row in advice.row])
    return frame


def decision_threshold(bundle: CaseBundle, states: States) -> float | None:
    """Probability of the second of two classes from which on it is predicted; None where none is.

    That of the policy where it predicts the class, else the one at which both predictions cost the
    same in expectation. Of more classes there is none, nor of a policy that predicts the class by
    other means than its predicted probability.
    """
    if len(bundle.layout.classes) != 2:
        return None
    if states.verdict is not None:
        threshold = bundle.policy.traits.threshold
        if threshold is not None:
            return float(threshold[bundle.member])
        believes = states.probability is None or np.array_equal(states.probability, states.verdict)
        return 0.5 if believes else None
    (well, alarm), (miss, ill) = bundle.misclassification_cost.tolist()
    extra = alarm - well + miss - ill
    return (alarm - well) / extra if extra > 0 else 0.5


def _reasons(
    bundle: CaseBundle, world: World, row: np.ndarray, acquired: np.ndarray, states: States
) -> list[str]:
    """Why, in a few words for each decision: the scores compared, the best first, or the rule."""
    choices = [*(panel.name for panel in bundle.layout.actions), STOP]
    scores, action_probability = states.scores, states.action_probability
    why = bundle.policy.traits.why
    if scores is None and why is not None:
        probability = states.verdict if states.probability is None else states.probability
        return why(
            bundle.member,
            world.visible(row, acquired),
            probability,
            acquired,
            world.offered(row, acquired),
            action_probability,
            bundle.layout,
        )
    if scores is None:
        quantity, compared = (
            "probability",
            np.where(action_probability > 0, action_probability, -np.inf),
        )
    else:
        quantity, compared = bundle.policy.traits.compares, scores
    order = np.argsort(-np.nan_to_num(compared, nan=-np.inf), axis=1, kind="stable")
    reasons = []
    for row, ranks in zip(compared.tolist(), order[:, : _ALTERNATIVES + 1].tolist(), strict=True):
        shown = [f"{choices[j]} {row[j]:.3g}" for j in ranks if row[j] > -np.inf]
        more = ", …" if len(shown) > _ALTERNATIVES else ""
        reasons.append(f"{quantity}: {', '.join(shown[:_ALTERNATIVES])}{more}")
    return reasons


def _world(bundle: CaseBundle, cases: Cases, available: np.ndarray) -> World:
    """The cases as a world; nobody knows their labels."""
    n, layout = len(cases.ids), bundle.layout
    return World(
        "cases",
        0,
        np.arange(n),
        cases.values,
        layout.provides,
        layout.free_columns,
        available,
        np.zeros(n, dtype=np.int64),
        layout.action_cost,
        len(layout.classes),
        1,
        unsupported=bundle.unsupported,
    )


def _class_probabilities(
    bundle: CaseBundle, cases: Cases, row: np.ndarray, acquired: np.ndarray, states: States
) -> tuple[np.ndarray, np.ndarray]:
    """Class probabilities, by the policy or by the classifier, and the class of the least cost."""
    if states.verdict is not None:
        probability = states.verdict if states.probability is None else states.probability
        return probability, states.verdict.argmax(axis=1)
    assert bundle.classifier is not None, "bug: a bundle without a verdict has a classifier"
    layout = bundle.layout
    shares = predict_proba_acquired(
        bundle.classifier, cases.values, layout.provides, layout.free_columns, row, acquired
    )
    return shares, expected_cost_prediction(shares, bundle.misclassification_cost)
