"""DADI learns what it should on small loans whose fair and unfair features are known.

Seeds are fixed, so that a pass stays a pass. The learners are checked against what the world makes
optimal, with margins of a fifth (training is short); the gap of an independent attribute against
4.5 standard errors.
"""

from dataclasses import replace

import numpy as np
import pytest
from frugal.agents.dadi import fit_dadi
from frugal.agents.dadi_policies import DadiPolicies
from frugal.agents.dadi_settings import DadiSettings

pytestmark = [pytest.mark.statistical, pytest.mark.trains]

FAIR, UNFAIR, CATEGORY, TELLTALE = range(4)
PANEL = np.array([FAIR, UNFAIR, CATEGORY, CATEGORY, TELLTALE])
UNITS, TEST = 6000, 2000
SETTINGS = DadiSettings(
    memory_width=16, encoding_width=8, processing_steps=3, head_width=16,
    pretraining_iterations=400, iterations=1500, agents=64, window=4, returns="n_step",
    learning_rate=2e-3, decay_share=0.0, decay_to=1.0, target_every=50,
    exploration_start=1.0, exploration_end=0.1, exploration_iterations=750,
    objective="demographic_parity", reward="difference", group_normalised=True, cost_weight=0.0,
    evaluate_every=1500, evaluated_rows=500, checkpoint_every=10_000, compiled=False,
)  # fmt: skip


def _loans(rng, *, attribute_tells):
    """A fair feature, an unfair one, a category, and a telltale that is fair in category 0 only."""
    n = UNITS + TEST
    sensitive = rng.integers(2, size=n)
    shift = 2.0 * sensitive - 1 if attribute_tells else np.zeros(n)
    category = rng.integers(2, size=n)
    fair = rng.normal(size=n)
    own, other = rng.normal(size=(2, n))
    unfair, telltale = own + 1.5 * shift, other + 1.5 * shift * category
    score = 2 * fair + 1.5 * own + 2 * other
    label = (rng.random(n) < 1 / (1 + np.exp(-score))).astype(np.int64)
    columns = (fair, unfair, category == 0, category == 1, telltale)
    return np.column_stack(columns).astype(np.float32), label, sensitive, category


def _trained(values, label, sensitive, gammas):
    train = np.arange(UNITS)
    result = fit_dadi(
        values, PANEL, label, sensitive, train[:-500], train[-500:], panel_cost=np.ones(4),
        gammas=np.array(gammas), settings=SETTINGS, rng=np.random.default_rng(7),
        save=lambda state: None, state=None,
    )  # fmt: skip
    policies = DadiPolicies(result.weights, SETTINGS, PANEL)
    return policies.roll_out(values[UNITS:], label=None)


def test_unfair_features_are_avoided_when_fairness_counts_and_taken_when_it_does_not():
    values, label, sensitive, category = _loans(np.random.default_rng(1), attribute_tells=True)
    found = _trained(values, label, sensitive, (0.5, 1.0))
    fairly, plainly = found.acquired.mean(axis=1)
    assert fairly[FAIR] > 0.8
    assert fairly[UNFAIR] < 0.2
    assert plainly[[FAIR, UNFAIR, TELLTALE]].min() > 0.8
    # the telltale is worth its while only to those who look at the category first
    safe, telling = (found.acquired[0, category[UNITS:] == c, TELLTALE].mean() for c in (0, 1))
    assert telling < 0.1
    assert safe > telling + 0.2


def test_an_independent_attribute_leaves_no_gap():
    """γ = 0: the agent hides b and nothing else; b has nothing to do with any feature."""
    values, label, sensitive, _ = _loans(np.random.default_rng(2), attribute_tells=False)
    found = _trained(values, label, sensitive, (0.0, 1.0))
    b = sensitive[UNITS:]
    for probability in found.label_probability:
        positive = probability > 0.5
        rates = [positive[b == group].mean() for group in (0, 1)]
        errors = [positive[b == group].std() / np.sqrt((b == group).sum()) for group in (0, 1)]
        assert abs(rates[0] - rates[1]) <= 4.5 * np.hypot(*errors)


@pytest.mark.parametrize(("returns", "takes"), [("n_step", False), ("watkins", True)])
def test_returns_that_count_exploration_charge_a_fair_feature_for_accidents(returns, takes):
    """One fair feature whose gain is below what accidents in the rest of its window cost.

    The fair feature lowers the combined loss by 0.026 nats at γ = ½, each of six unfair ones raises
    it by 0.17; three decisions out of ten are random, most of them unfair. Whoever takes the fair
    feature and is judged by what follows in a window of four does worse than by stopping at once.
    """
    rng = np.random.default_rng(3)
    n = UNITS + TEST
    sensitive = rng.integers(2, size=n)
    fair = rng.normal(size=n)
    unfair = rng.normal(size=(n, 6)) + (2.0 * sensitive - 1)[:, None]
    label = (rng.random(n) < 1 / (1 + np.exp(-0.7 * fair))).astype(np.int64)
    values = np.column_stack([fair, unfair]).astype(np.float32)
    train = np.arange(UNITS)
    settings = replace(SETTINGS, returns=returns, exploration_end=0.3)
    result = fit_dadi(
        values, np.arange(7), label, sensitive, train[:-500], train[-500:],
        panel_cost=np.ones(7), gammas=np.array([0.5]), settings=settings,
        rng=np.random.default_rng(7), save=lambda state: None, state=None,
    )  # fmt: skip
    found = DadiPolicies(result.weights, settings, np.arange(7)).roll_out(
        values[UNITS:], label=None
    )
    share = found.acquired[0].mean(axis=0)
    assert share[1:].max() < 0.05
    assert share[0] > 0.95 if takes else share[0] < 0.05
