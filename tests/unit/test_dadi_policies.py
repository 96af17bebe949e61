"""Trained DADI agents at work: batched rollouts, given sets, and the policy that others can ask."""

import numpy as np
import pytest
from frugal.agents.dadi_policies import DadiPolicies, panel_of_columns
from frugal.contracts import Panel, Policy, Table
from frugal.contracts.errors import ConfigError, DataError
from frugal.data.tables import withhold_panels
from frugal.environments.rollouts import acquisition_order, roll_out

from tests.unit.dadi_cases import PANEL, fit, settings, table

pytestmark = pytest.mark.trains

GAMMAS = (0.2, 0.6, 1.0)
VALUES, LABEL, SENSITIVE = table(np.random.default_rng(20), 70)
RESULT = fit(VALUES, LABEL, SENSITIVE, gammas=GAMMAS, iterations=25, learning_rate=2e-2)
POLICIES = DadiPolicies(RESULT.weights, settings(), PANEL)
FREE = PANEL == -1
PROVIDES = np.arange(4)[:, None] == PANEL


def test_every_learner_stops_and_its_decisions_are_its_best():
    """Replayed state by state: the largest Q of what is left, until that is "stop"."""
    found = POLICIES.roll_out(VALUES, label=None)
    assert 0 < found.acquired.mean() < 1
    assert (found.acquired.sum(axis=2) == (found.order >= 0).sum(axis=2)).all()
    for k in range(len(GAMMAS)):
        acquired = np.zeros((len(VALUES), 4), dtype=bool)
        for step in range(5):
            q = POLICIES.state_values(VALUES, acquired)[k]
            q[:, :4][acquired] = -np.inf
            going = ~np.isnan(found.q_values[k, :, step])
            np.testing.assert_allclose(
                found.q_values[k, going, step], q.max(axis=1)[going], atol=1e-6
            )
            best = q.argmax(axis=1)
            order = found.order[k, :, step] if step < 4 else np.full(len(VALUES), -1)
            assert (np.where(best == 4, -1, best)[going] == order[going]).all()
            acquired[going & (best < 4), best[going & (best < 4)]] = True
        assert (acquired == found.acquired[k]).all()


def test_probabilities_of_a_rollout_are_those_of_its_sets():
    found = POLICIES.roll_out(VALUES, label=None)
    of_label, of_attribute = POLICIES.predict_from_sets(VALUES, found.acquired, label=None)
    np.testing.assert_allclose(of_label, found.label_probability, atol=1e-6)
    np.testing.assert_allclose(of_attribute, found.adversary_probability, atol=1e-6)
    assert of_label.min() > 0
    assert of_label.max() < 1
    everywhere = np.ones((len(VALUES), 4), dtype=bool)
    same, _ = POLICIES.predict_from_sets(VALUES, everywhere, label=None)
    repeated = np.broadcast_to(everywhere, (3, *everywhere.shape))
    assert np.array_equal(same, POLICIES.predict_from_sets(VALUES, repeated, label=None)[0])


def test_a_value_that_is_not_acquired_changes_nothing():
    sets = np.zeros((len(VALUES), 4), dtype=bool)
    sets[:, 2] = True
    other = VALUES.copy()
    other[:, 0] += 3
    other[:, 1:4] = other[:, [2, 3, 1]]
    one, two = (POLICIES.predict_from_sets(v, sets, label=None)[0] for v in (VALUES, other))
    np.testing.assert_allclose(one, two, atol=1e-7)


def test_the_adapter_is_a_policy_that_rolls_out_alike():
    batched = POLICIES.roll_out(VALUES, label=None)
    for k in range(len(GAMMAS)):
        policy = POLICIES.policy(k, exploration=0.0)
        assert isinstance(policy, Policy)
        episodes = roll_out(
            policy, VALUES.astype(np.float64), free_columns=FREE, provides=PROVIDES,
            available=np.ones((len(VALUES), 4), dtype=bool),
            uniforms=np.full((len(VALUES), 5), 0.5),
        )  # fmt: skip
        assert (episodes.acquired == batched.acquired[k]).all()
        assert (acquisition_order(episodes) == batched.order[k]).all()


def test_the_adapter_keeps_to_what_is_available_and_explores_evenly():
    rng = np.random.default_rng(1)
    available, acquired = rng.random((70, 4)) < 0.6, rng.random((70, 4)) < 0.4
    known = FREE | (acquired @ PROVIDES)
    values = np.where(known, VALUES, np.nan).astype(np.float64)
    answer = POLICIES.policy(1, exploration=0.5).action_probabilities(values, acquired, available)
    allowed = np.hstack([available & ~acquired, np.ones((70, 1), dtype=bool)])
    assert (answer[~allowed] == 0).all()
    np.testing.assert_allclose(answer.sum(axis=1), 1, atol=1e-12)
    evenly = 0.5 / allowed.sum(axis=1)
    assert np.allclose(np.sort(answer, axis=1)[:, -1], 0.5 + evenly)
    assert np.allclose(answer[allowed & (answer < 0.5)], np.repeat(evenly, allowed.sum(axis=1) - 1))


def test_equalised_odds_needs_the_label_to_predict_the_attribute():
    result = fit(VALUES, LABEL, SENSITIVE, objective="equalised_odds")
    policies = DadiPolicies(result.weights, settings(objective="equalised_odds"), PANEL)
    with pytest.raises(DataError, match="equalised odds reads the label"):
        policies.roll_out(VALUES, label=None)
    told, other = (policies.roll_out(VALUES, label=y) for y in (LABEL, 1 - LABEL))
    assert np.array_equal(told.acquired, other.acquired)
    assert np.array_equal(told.label_probability, other.label_probability)
    assert (told.adversary_probability != other.adversary_probability).any()


def _table(panels):
    return Table(
        np.arange(4), np.zeros((4, 3)), ("u", "v", "w"), (), np.array([0, 1, 0, 1]), ("n", "y"),
        panels, np.zeros((2, 2)),
    )  # fmt: skip


def test_panels_of_a_table_become_numbers_and_overlap_is_refused():
    free = Panel("always", ("v",), 0.0, True)
    panels = (Panel("second", ("w",), 1.0, False), free, Panel("first", ("u",), 1.0, False))
    assert panel_of_columns(_table(panels)).tolist() == [1, -1, 0]
    overlapping = (*panels, Panel("both", ("u", "w"), 1.0, False))
    with pytest.raises(ConfigError, match="column 'u' belongs to 2 panels"):
        panel_of_columns(_table(overlapping))


def test_a_withheld_column_that_another_panel_reveals_is_refused():
    """Or the agent would collect the protected attribute under another name."""
    panels = (
        Panel("group", ("u",), 1.0, False), Panel("person", ("u", "v"), 1.0, False),
        Panel("rest", ("w",), 1.0, False),
    )  # fmt: skip
    with pytest.raises(ConfigError, match="'group' is to be withheld, but 'person' would reveal"):
        withhold_panels(_table(panels), ["group"])
    shown = withhold_panels(_table(panels), ["group", "person"])
    assert (shown.columns, [panel.name for panel in shown.panels]) == (("w",), ["rest"])
