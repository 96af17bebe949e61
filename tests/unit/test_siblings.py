"""Policies of all folds act as one: votes, beliefs, reasons, what is stored, and the graph."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from frugal.acquire.advice import advise_next
from frugal.acquire.bundles import CaseBundle, export_policy
from frugal.acquire.kinds import Ground, kind_of, load_policy
from frugal.acquire.siblings import SIBLINGS, Siblings, joined
from frugal.core.episodes import Traits
from frugal.core.errors import DataError
from frugal.core.layout import Bundle, Layout, bundle_header
from frugal.core.streams import Streams
from frugal.data.cases import Cases
from frugal.learn.trees import classifier_of

from tests.unit.test_candidates import AGENTS, CLASSIFIER, with_levels


@dataclass(frozen=True)
class Orders:
    """Orders one panel, or stops, and believes in one probability."""

    action: int
    belief: float
    threshold: float | None = None
    members: int = 1

    @property
    def traits(self) -> Traits:
        return Traits(
            threshold=None if self.threshold is None else np.array([self.threshold]),
            why=lambda member, values, *rest: [f"says {self.action}"] * len(values),
        )

    def action_probabilities(self, values, acquired, available):
        return np.broadcast_to(np.eye(4)[self.action], (*acquired.shape[:2], 4))

    def predict(self, values, acquired):
        return np.broadcast_to([1 - self.belief, self.belief], (*acquired.shape[:2], 2))


LAYOUT = Layout.of(with_levels(1, 10))
STATE = np.zeros((1, 1, 5)), np.zeros((1, 1, 3), dtype=bool), np.ones((1, 1, 3), dtype=bool)


@pytest.mark.parametrize(
    ("actions", "voted"),
    [((0, 0, 3), 0), ((0, 1, 3, 3), 3), ((2, 2, 1, 3, 3), 2), ((0, 1, 1, 3, 3), 1), ((3, 3, 0), 3)],
)
def test_most_of_those_that_go_on_choose_the_panel(actions, voted):
    policy = Siblings([Orders(action, 0.5) for action in actions])
    assert policy.action_probabilities(*STATE)[0, 0].tolist() == np.eye(4)[voted].tolist()


def test_beliefs_and_thresholds_are_means():
    policy = Siblings([Orders(0, p, t) for p, t in ((0.2, 0.1), (0.3, 0.2), (0.1, 0.6))])
    belief = policy.believe(*STATE[:2])
    assert belief is not None
    np.testing.assert_allclose(belief[0, 0], [0.8, 0.2])
    threshold = policy.traits.threshold
    assert threshold is not None
    np.testing.assert_allclose(threshold, [0.3])
    below = policy.predict(*STATE[:2])
    above = Siblings([Orders(0, 0.31, 0.3)] * 3).predict(*STATE[:2])
    assert below is not None
    assert above is not None
    assert below[0, 0].argmax() == 0
    assert above[0, 0].argmax() == 1
    none = Siblings([Orders(0, 0.2), Orders(0, 0.4, 0.1)])  # one has no threshold
    assert none.traits.threshold is None
    mean = none.predict(*STATE[:2])
    assert mean is not None
    np.testing.assert_allclose(mean[0, 0], [0.7, 0.3])


def test_the_reason_is_that_of_one_who_agrees():
    policy = Siblings([Orders(3, 0.3), Orders(1, 0.9), Orders(1, 0.31)])
    values, acquired, available = (part[0] for part in STATE)
    belief = policy.believe(*STATE[:2])
    assert belief is not None
    law = policy.action_probabilities(*STATE)[0]
    why = policy.why(0, values, belief[0], acquired, available, law, LAYOUT)
    assert why == ["says 1 (2 of 3 policies agree)"]


@pytest.fixture(scope="module", params=[("cascade", 2), ("permutation", 2), ("fixed", 3)])
def bundle(request):
    """Three policies that learned on other rows."""
    name, classes = request.param
    settings = AGENTS[name]
    kind, streams = kind_of(settings), Streams(0, "learn_candidates", {})
    each = []
    for seed in (1, 5, 9):
        table = with_levels(seed, 200, classes)
        recorded = np.isfinite(table.values)[:, [1, 2, 3]]
        classifier = classifier_of(table, CLASSIFIER, streams)
        ground = Ground(table, recorded, None, classifier, streams)
        assert kind.fit is not None
        header = bundle_header(kind.name, settings, Layout.of(table), ground.digest)
        each.append(Bundle(header, kind.fit(ground, settings).arrays).stored("policies"))
    return joined(each), each, table


def test_a_bundle_of_siblings_is_read_back(bundle):
    stored, each, table = bundle
    policy, layout = load_policy(stored.stored("policy"))
    assert layout == Layout.of(table)
    assert isinstance(policy, Siblings)
    for one, alone in zip(policy.each, each, strict=True):
        own, _ = load_policy(alone)
        state = table.values[None], np.zeros((1, len(table), 3), dtype=bool)
        np.testing.assert_array_equal(one.predict(*state), own.predict(*state))
    trained = {stored.header["trained_on"], *(one.header["trained_on"] for one in each)}
    assert len(trained) == 4
    for wrong in (0, -1, "3"):
        header = stored.header | {SIBLINGS: wrong}
        with pytest.raises(DataError, match="stored policy"):
            load_policy(Bundle(header, stored.arrays).stored("policy"))
    with pytest.raises(DataError):
        load_policy(Bundle(stored.header | {SIBLINGS: 4}, stored.arrays).stored("policy"))


def test_the_graph_votes_and_believes_as_the_siblings(bundle):
    import onnxruntime

    stored, _, table = bundle
    policy, layout = load_policy(stored.stored("policy"))
    errors, streams = table.misclassification_cost, Streams(0, "roll_out", {})
    kind = stored.header["kind"]
    asked = with_levels(2, 200, len(table.classes))
    rng, known = np.random.default_rng(2), np.isfinite(asked.values)[:, [1, 2, 3]]
    acquired, can = known & (rng.random((200, 3)) < 0.4), rng.random((200, 3)) < 0.8
    cases = Cases("line", [str(k) for k in range(200)], asked.values, acquired, [""] * 200)
    given = CaseBundle(policy, 0, kind, layout, None, errors, "EUR", streams, {})
    advice = advise_next(given, cases, available=acquired | can, uniforms=np.zeros((200, 4)))
    session = onnxruntime.InferenceSession(export_policy(given))
    states = {"values": asked.values, "acquired": acquired, "available": acquired | can}
    law, belief = map(np.asarray, session.run(["probabilities", "belief"], states))
    np.testing.assert_array_equal(law, advice.states.action_probability)
    np.testing.assert_allclose(belief, advice.probability, atol=1e-6)
    assert isinstance(policy, Siblings)
    how = {"available": acquired | can, "uniforms": np.zeros((200, 4))}
    alone = [advise_next(replace(given, policy=one), cases, **how).action for one in policy.each]
    agree = np.all([action == alone[0] for action in alone], axis=0)
    assert agree.sum() > 0
    np.testing.assert_array_equal(advice.action[agree], alone[0][agree])
    assert all(why.endswith("policies agree)") for why in advice.why)
