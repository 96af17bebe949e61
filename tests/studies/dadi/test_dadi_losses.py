"""What DADI minimises and pays: groups, telescoping rewards, and equal optima."""

from functools import cache

import numpy as np
import pytest
import torch
from frugal.core.errors import DataError
from frugal.studies.dadi.training import (
    allowed_decisions,
    combined_loss,
    decision_rewards,
    group_weights,
    n_step_returns,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.three_panel_world import (
    PANELS,
    STOP,
    ThreePanelWorld,
    all_policies,
    decisions_of,
)


def _units(rng, n):
    return rng.integers(2, size=n), (rng.random(n) < 0.3).astype(np.int64), rng.random(n)


def _mean_of_group_means(loss, groups):
    """By hand: the loss of each group's members, averaged, and the groups' averages averaged."""
    means = []
    for group in groups:
        members = [loss[i] for i in range(len(loss)) if group(i)]
        means.append(sum(members) / len(members))
    return sum(means) / len(means)


@pytest.mark.parametrize("objective", ["demographic_parity", "equal_opportunity", "equalised_odds"])
def test_group_normalised_losses_are_means_of_group_means(objective):
    y, b, loss = _units(np.random.default_rng(0), 211)
    tables = group_weights(y, b, objective=objective, group_normalised=True)
    by_b = [lambda i: b[i] == 0, lambda i: b[i] == 1]
    positive = [lambda i: b[i] == 0 and y[i] == 1, lambda i: b[i] == 1 and y[i] == 1]
    negative = [lambda i: b[i] == 0 and y[i] == 0, lambda i: b[i] == 1 and y[i] == 0]
    groups = {
        "demographic_parity": by_b,
        "equal_opportunity": positive,
        "equalised_odds": positive + negative,
    }[objective]
    for table, expected in zip(tables, (by_b, groups), strict=True):
        weighted = float(np.mean(table[b, y].astype(float) * loss))
        assert weighted == pytest.approx(_mean_of_group_means(loss, expected), rel=1e-6)


def test_without_normalisation_all_members_of_a_group_weigh_the_same():
    y, b, loss = _units(np.random.default_rng(1), 150)
    for objective in ("demographic_parity", "equalised_odds"):
        tables = group_weights(y, b, objective=objective, group_normalised=False)
        assert all((table == 1).all() for table in tables)
    _, table = group_weights(y, b, objective="equal_opportunity", group_normalised=False)
    weighted = float(np.mean(table[b, y].astype(float) * loss))
    assert weighted == pytest.approx(loss[y == 1].mean(), rel=1e-6)
    assert (table[:, 0] == 0).all()


def test_a_group_without_units_is_refused():
    y, b = np.array([0, 0, 1]), np.array([0, 1, 0])
    group_weights(y, b, objective="demographic_parity", group_normalised=True)
    with pytest.raises(DataError, match="sensitive = 1 and label = 1"):
        group_weights(y, b, objective="equal_opportunity", group_normalised=True)
    with pytest.raises(DataError, match="sensitive = 1; "):
        group_weights(
            y, np.zeros(3, dtype=int), objective="demographic_parity", group_normalised=True
        )


def _rewards(losses, decisions, costs, reward):
    """Rewards of one episode: losses of the sets before each decision and after the last."""
    t = len(decisions)
    return decision_rewards(
        torch.tensor(losses[:-1], dtype=torch.float64),
        torch.tensor(losses[1:], dtype=torch.float64),
        first=torch.arange(t) == 0,
        stop=torch.tensor(decisions) == STOP,
        cost=torch.tensor(costs, dtype=torch.float64),
        reward=reward,
    )


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.floats(0, 9), st.floats(0, 9), st.floats(0, 3)), min_size=1, max_size=8),
    st.floats(0, 1),
    st.sampled_from(["difference", "terminal"]),
)
def test_rewards_of_any_trajectory_sum_to_the_final_value(sets, gamma, reward):
    """Σ rₜ = R(O_T) − cost, whatever the sets' losses and however long the episode."""
    combined = [
        float(combined_loss(torch.tensor(c), torch.tensor(a), torch.tensor(gamma)))
        for c, a, _ in sets
    ]
    decisions = [0] * (len(sets) - 1) + [STOP]
    costs = [cost for _, _, cost in sets[:-1]] + [0.0]
    rewards = _rewards([*combined, combined[-1]], decisions, costs, reward)
    assert float(rewards.sum()) == pytest.approx(-combined[-1] - sum(costs), abs=1e-9)
    returns = n_step_returns(
        rewards[:, None, None],
        (torch.tensor(decisions) != STOP).double()[:, None, None],
        torch.full((len(decisions), 1, 1), 1e6, dtype=torch.float64),
        cut=torch.zeros(len(decisions), 1, 1, dtype=torch.bool),
    )
    assert float(returns[0, 0, 0]) == pytest.approx(float(rewards.sum()), abs=1e-9)


def test_gamma_one_pays_for_the_label_alone_and_gamma_zero_for_the_attribute_alone():
    label, adversary = torch.rand(2, 50, generator=torch.Generator().manual_seed(0))
    assert torch.equal(combined_loss(label, adversary, torch.tensor(1.0)), label)
    assert torch.equal(combined_loss(label, adversary, torch.tensor(0.0)), -adversary)
    before, after = combined_loss(label[:25], adversary[:25], torch.tensor(1.0)), label[25:]
    rewards = decision_rewards(
        before,
        after,
        first=torch.zeros(25, dtype=torch.bool),
        stop=torch.zeros(25, dtype=torch.bool),
        cost=torch.zeros(25),
        reward="difference",
    )
    assert torch.equal(rewards, label[:25] - label[25:])


@pytest.mark.parametrize(("seed", "gamma"), [(0, 0.5), (1, 0.8), (2, 0.2), (3, 1.0)])
def test_both_rewards_have_the_optimum_of_equation_one(seed, gamma):
    """All 244 policies of a world of three panels, each unit weighted by its probability."""
    world = ThreePanelWorld(np.random.default_rng(seed))

    @cache
    def episode(unit, decisions):
        """Combined loss in the end, and what both rewards sum to."""
        held = [decisions[:t] for t in range(len(decisions))]
        losses = [gamma * c - (1 - gamma) * a for c, a in (world.losses(unit, h) for h in held)]
        paid = [
            float(_rewards([*losses, losses[-1]], decisions, [0.0] * len(decisions), reward).sum())
            for reward in ("difference", "terminal")
        ]
        return np.array([losses[-1], *paid])

    scores = [
        sum(world.law[unit] * episode(unit, decisions_of(policy, unit)) for unit in world.units)
        for policy in all_policies(tuple(range(PANELS)))
    ]
    objective, difference, terminal = np.array(scores).T
    assert len(scores) == 244
    np.testing.assert_allclose(difference, -objective, atol=1e-12)
    np.testing.assert_allclose(terminal, -objective, atol=1e-12)
    assert np.ptp(objective) > 1e-3
    best = set(np.flatnonzero(objective < objective.min() + 1e-12))
    assert best == set(np.flatnonzero(difference > difference.max() - 1e-12))
    assert best == set(np.flatnonzero(terminal > terminal.max() - 1e-12))


def test_returns_end_at_a_stop_and_else_take_the_value_of_the_last_state():
    rewards = torch.tensor([[[1.0, 1.0]], [[2.0, 2.0]], [[4.0, 4.0]]])
    goes_on = torch.tensor([[[1.0, 1.0]], [[0.0, 1.0]], [[1.0, 1.0]]])
    value = torch.tensor([[[90.0, 90.0]], [[70.0, 70.0]], [[8.0, 8.0]]])
    never = torch.zeros(3, 1, 2, dtype=torch.bool)
    found = n_step_returns(rewards, goes_on, value, cut=never)
    assert found[:, 0].tolist() == [[3.0, 15.0], [2.0, 14.0], [12.0, 12.0]]


def test_returns_are_cut_where_the_next_decision_was_exploratory():
    """The second decision of agent 0 and the third of agent 1 were drawn at random."""
    rewards = torch.tensor([[[1.0, 1.0]], [[2.0, 2.0]], [[4.0, 4.0]]])
    goes_on = torch.tensor([[[1.0, 1.0]], [[0.0, 1.0]], [[1.0, 1.0]]])
    value = torch.tensor([[[90.0, 90.0]], [[70.0, 70.0]], [[8.0, 8.0]]])
    cut = torch.tensor([[[True, False]], [[False, True]], [[False, False]]])
    found = n_step_returns(rewards, goes_on, value, cut=cut)
    assert found[:, 0].tolist() == [[91.0, 73.0], [2.0, 72.0], [12.0, 12.0]]


def test_acquired_panels_are_not_allowed_and_stop_always_is():
    known = torch.tensor([[[1.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 1.0, 1.0]]])
    assert allowed_decisions(known).tolist() == [
        [[False, True, True], [True, True, True], [False, False, True]]
    ]
