"""Trained DADI agents at work: batched rollouts, given sets, and the policy that others can ask."""

import numpy as np
import pytest
from frugal.acquire.rollouts import acquisition_order
from frugal.core.episodes import Policy
from frugal.core.errors import ConfigError, DataError
from frugal.core.scaling import Scaling
from frugal.core.table import Panel, Table
from frugal.data.tables import withhold_panels
from frugal.studies.dadi.networks import DadiPolicies
from frugal.studies.dadi.policies.dadi import panel_of_columns

from tests.studies.dadi.dadi_cases import PANEL, acquired_by, fit, settings, table

pytestmark = pytest.mark.trains

GAMMAS = (0.2, 0.6, 1.0)
VALUES, LABEL, SENSITIVE = table(np.random.default_rng(20), 70)
DOUBLE = VALUES.astype(np.float64)
WORLD_VALUES = np.broadcast_to(DOUBLE, (3, *DOUBLE.shape))


@pytest.fixture(scope="module")
def result():
    return fit(VALUES, LABEL, SENSITIVE, gammas=GAMMAS, iterations=25, learning_rate=2e-2)


@pytest.fixture(scope="module")
def policies(result):
    return DadiPolicies(result.weights, settings(), PANEL, scaling=None)


def test_every_learner_stops_and_its_decisions_are_its_best(policies):
    """Replayed state by state: the largest Q of what is left, until that is "stop"."""
    found = acquired_by(policies, VALUES)
    order = acquisition_order(found)
    assert 0 < found.acquired.mean() < 1
    assert (found.probability == 1).all()
    steps = np.bincount(found.member * len(VALUES) + found.row).reshape(3, -1)
    acquired = np.zeros((3, len(VALUES), 4), dtype=bool)
    for step in range(5):
        q = policies.state_values(WORLD_VALUES, acquired)
        q[..., :4][acquired] = -np.inf
        best, going = q.argmax(axis=2), step < steps
        taken = order[:, :, step] if step < 4 else np.full(going.shape, -1)
        assert (np.where(best == 4, -1, best)[going] == taken[going]).all()
        bought = going & (best < 4)
        acquired[(*np.nonzero(bought), best[bought])] = True
    assert (acquired == found.acquired).all()


def test_verdicts_of_a_rollout_are_the_probabilities_at_its_sets(policies):
    found = acquired_by(policies, VALUES)
    assert found.verdict is not None
    of_label, of_attribute = policies.predict_from_sets(DOUBLE, found.acquired, label=None)
    np.testing.assert_allclose(of_label, found.verdict[..., 1], atol=1e-6)
    np.testing.assert_allclose(found.verdict.sum(axis=2), 1, atol=1e-6)
    assert of_label.min() > 0
    assert of_label.max() < 1
    assert ((of_attribute > 0) & (of_attribute < 1)).all()
    everywhere = np.ones((len(VALUES), 4), dtype=bool)
    same, _ = policies.predict_from_sets(DOUBLE, everywhere, label=None)
    repeated = np.broadcast_to(everywhere, (3, *everywhere.shape))
    assert np.array_equal(same, policies.predict_from_sets(DOUBLE, repeated, label=None)[0])


def test_a_value_that_is_not_acquired_changes_nothing(policies):
    sets = np.zeros((len(VALUES), 4), dtype=bool)
    sets[:, 2] = True
    other = DOUBLE.copy()
    other[:, 0] += 3
    other[:, 1:4] = other[:, [2, 3, 1]]
    one, two = (policies.predict_from_sets(v, sets, label=None)[0] for v in (DOUBLE, other))
    np.testing.assert_allclose(one, two, atol=1e-7)


def test_each_learner_rolls_out_alike_alone_and_next_to_the_others(result, policies):
    policy: Policy = policies
    assert policy.members == len(GAMMAS)
    together = acquired_by(policies, VALUES)
    for k in range(len(GAMMAS)):
        own = {name: array[[k]] for name, array in result.weights.items()}
        alone = acquired_by(DadiPolicies(own, settings(), PANEL, scaling=None), VALUES)
        assert (alone.acquired[0] == together.acquired[k]).all()
        assert (acquisition_order(alone)[0] == acquisition_order(together)[k]).all()


def test_values_in_units_of_the_table_are_brought_to_the_scale_of_the_networks(result, policies):
    scaling = Scaling(np.arange(7.0), np.full(7, 2.0))
    raw = DOUBLE * 2.0 + np.arange(7.0)
    scaled = DadiPolicies(result.weights, settings(), PANEL, scaling=scaling)
    one, two = acquired_by(policies, VALUES), acquired_by(scaled, raw)
    assert (one.acquired == two.acquired).all()
    np.testing.assert_allclose(one.verdict, two.verdict, atol=1e-5)  # pyright: ignore


def test_a_policy_keeps_to_what_is_available_and_explores_evenly(result):
    rng = np.random.default_rng(1)
    available, acquired = rng.random((3, 70, 4)) < 0.6, rng.random((3, 70, 4)) < 0.4
    known = (PANEL == -1) | (acquired @ (np.arange(4)[:, None] == PANEL))
    policies = DadiPolicies(result.weights, settings(), PANEL, scaling=None, exploration=0.5)
    answer = policies.action_probabilities(np.where(known, DOUBLE, np.nan), acquired, available)
    allowed = np.pad(available & ~acquired, ((0, 0), (0, 0), (0, 1)), constant_values=True)
    assert (answer[~allowed] == 0).all()
    np.testing.assert_allclose(answer.sum(axis=2), 1, atol=1e-12)
    evenly = 0.5 / allowed.sum(axis=2)
    assert np.allclose(np.sort(answer, axis=2)[..., -1], 0.5 + evenly)
    rest = allowed.sum(axis=2) - 1
    assert np.allclose(answer[allowed & (answer < 0.5)], np.repeat(evenly.ravel(), rest.ravel()))


def test_equalised_odds_needs_the_label_to_predict_the_attribute_and_for_nothing_else():
    result = fit(VALUES, LABEL, SENSITIVE, objective="equalised_odds")
    policies = DadiPolicies(
        result.weights, settings(objective="equalised_odds"), PANEL, scaling=None
    )
    found = acquired_by(policies, VALUES)  # no label is at hand here
    with pytest.raises(DataError, match="equalised odds reads the label"):
        policies.predict_from_sets(DOUBLE, found.acquired, label=None)
    told, other = (
        policies.predict_from_sets(DOUBLE, found.acquired, label=y) for y in (LABEL, 1 - LABEL)
    )
    assert np.array_equal(told[0], other[0])
    assert (told[1] != other[1]).any()


def _table(panels):
    return Table(
        np.arange(4),
        np.zeros((4, 3)),
        ("u", "v", "w"),
        (),
        np.array([0, 1, 0, 1]),
        ("n", "y"),
        panels,
        np.zeros((2, 2)),
    )


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
        Panel("group", ("u",), 1.0, False),
        Panel("person", ("u", "v"), 1.0, False),
        Panel("rest", ("w",), 1.0, False),
    )
    with pytest.raises(ConfigError, match="'group' is to be withheld, but 'person' would reveal"):
        withhold_panels(_table(panels), ["group"])
    shown = withhold_panels(_table(panels), ["group", "person"])
    assert (shown.columns, [panel.name for panel in shown.panels]) == (("w",), ["rest"])
