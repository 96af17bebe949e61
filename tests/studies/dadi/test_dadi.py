"""DADI's training: against a plain version, what γ means, checkpoints, refusals."""

import numpy as np
import pytest
import torch
from frugal.config.learners import DadiSettings
from frugal.core.errors import ConfigError, DataError
from frugal.studies.dadi import fitting as dadi
from frugal.studies.dadi.fitting import Curves, iterations_done
from frugal.studies.dadi.networks import (
    CLASS_HEAD,
    ENCODER,
    POLICY_HEAD,
    NetworkSizes,
    first_parameters,
    named_weights,
    repeated,
)
from frugal.studies.dadi.set_encoder import EncoderSteps
from frugal.studies.dadi.token_memory import UnitTable, lay_out_tokens
from frugal.studies.dadi.training import JointTraining, Population, group_weights

from tests.studies.dadi.dadi_cases import COST, PANEL, SETTINGS, all_in_reach, fit, settings, table
from tests.studies.dadi.plain_dadi import PlainDadi
from tests.unit.double_precision import GAP, LAST_PLACE, double_precision

pytestmark = pytest.mark.trains


class Killed(Exception):
    pass


def _same(one, other) -> bool:
    return one.keys() == other.keys() and all(
        one[name].tobytes() == other[name].tobytes() for name in one
    )


# --- against the plain version -----------------------------------------------------------------


def _plain_weights(networks, head):
    first, second, third = head[0], head[2], head[4]
    return {
        "first": first.weight.T,
        "first_bias": first.bias[None],
        "second": second.weight.T,
        "second_bias": second.bias[None],
        "third": third.weight.T,
        "third_bias": third.bias[None],
    }


def _pairs(networks, named, learner, learners):
    """Each parameter of the plain networks beside the lock-step one."""
    for g, encoder in ((learner, networks.encoder), (learners + learner, networks.other_encoder)):
        for name, leaf in encoder.parameters_by_name().items():
            yield name, leaf, named[ENCODER + name][g]
    heads = (
        (CLASS_HEAD, learner, networks.classifier),
        (CLASS_HEAD, learners + learner, networks.adversary),
        (POLICY_HEAD, learner, networks.policy),
    )
    for prefix, g, head in heads:
        for name, leaf in _plain_weights(networks, head).items():
            yield prefix + name, leaf, named[prefix + name][g]


@pytest.mark.parametrize(
    ("returns", "reward", "objective", "changes"),
    [
        ("n_step", "difference", "demographic_parity", {}),
        ("watkins", "difference", "demographic_parity", {}),
        ("watkins", "terminal", "equal_opportunity", {}),
        ("n_step", "terminal", "equalised_odds", {"cost_weight": 0.1}),
        ("watkins", "difference", "equalised_odds", {"cost_weight": 0.3}),
    ],
)
@double_precision()
def test_lockstep_training_equals_a_plain_learner_with_the_same_draws(
    returns, reward, objective, changes
):
    """Ten iterations, a target update among them; in double precision."""
    rng = np.random.default_rng(2)
    values, label, sensitive = table(rng, 60)
    values = np.nan_to_num(values)
    exact = values.astype(np.float64)
    panel = np.array([0, 1, 1, 1, 2, 3, 4])  # the plain version knows no free columns
    s = settings(
        exploration_iterations=0,
        exploration_end=0.4,
        learning_rate=1e-3,
        returns=returns,
        iterations=10,
        decay_share=0.5,
        reward=reward,
        objective=objective,
        **changes,
    )
    sizes = NetworkSizes(values.shape[1], 5, s)
    generator = torch.Generator().manual_seed(5)
    stack = repeated(first_parameters(sizes, generator), sizes, 2)
    tables = group_weights(label, sensitive, objective=objective, group_normalised=True)
    cost = torch.tensor([1.0, 2.0, 0.5, 1.0, 3.0, 0.0])
    weights = [torch.from_numpy(t[sensitive, label]) for t in tables]
    population = Population(
        UnitTable(lay_out_tokens(values, panel), 5),
        torch.from_numpy(label).float(),
        torch.from_numpy(sensitive).float(),
        weights[0],
        weights[1],
        cost,
        all_in_reach(60, 5),
    )
    gammas, before = (0.3, 1.0), stack.flat.clone()
    draws = torch.Generator()
    draws.set_state(generator.get_state())
    training = JointTraining(
        stack,
        population,
        gamma=torch.tensor(gammas),
        sizes=sizes,
        steps=EncoderSteps(),
        generator=generator,
    )
    plain = []
    first_row = torch.randint(60, (s.agents,), generator=draws)
    for k, gamma in enumerate(gammas):
        learner = PlainDadi(
            exact,
            panel,
            torch.from_numpy(label),
            torch.from_numpy(sensitive),
            weights,
            gamma,
            hidden=8,
            width=6,
            processing_steps=3,
            head=8,
            window=4,
            agents=8,
            learning_rate=1e-3,
            target_every=5,
            returns=returns,
            reward=reward,
            reads_label=s.adversary_reads_label,
            prices=s.cost_weight * cost,
        )
        for _, leaf, source in _pairs(learner.networks, stack.views, k, 2):
            leaf.data.copy_(source.detach())
        learner.row = first_row
        learner.start()
        plain.append(learner)
    for i in range(10):
        training.iterate()
        explore = torch.rand(4, 8, generator=draws) < 0.4
        scores = torch.rand(4, 8, 6, generator=draws)
        new_row = torch.randint(60, (8,), generator=draws)
        for learner in plain:
            learner.adam.param_groups[0]["lr"] = s.learning_rate_at(i)
            learner.iterate(explore, scores, new_row)
    moved = float((stack.flat - before).abs().max())
    assert moved > 5e-3
    for k, learner in enumerate(plain):
        for name, leaf, found in _pairs(learner.networks, stack.views, k, 2):
            gap = float((leaf.detach() - found.detach()).abs().max())
            assert gap < GAP * moved, f"{name} of learner {k}: {gap:.1e}"


def test_the_first_layer_is_scaled_for_two_inputs_whatever_the_columns():
    """Standard deviations of 3,200 draws or more, each off by 5 standard errors at most."""
    sizes = NetworkSizes(400, 5, settings())
    views = first_parameters(sizes, torch.Generator().manual_seed(0)).views
    for name, scale in (("position", 1.0), ("second", (2 / 8) ** 0.5)):
        leaf = views[ENCODER + name].detach()
        spread = 5 / (2 * leaf.numel()) ** 0.5
        assert float(leaf.std()) == pytest.approx(scale, rel=spread)


# --- what a learner depends on -------------------------------------------------------------------


def test_gamma_one_is_plain_acquisition_blind_to_the_attribute():
    """Another attribute changes nothing but the adversary, to the byte."""
    values, label, sensitive = table(np.random.default_rng(3), 60)
    one = fit(values, label, sensitive, gammas=(1.0,), group_normalised=False)
    other = fit(values, label, 1 - sensitive[::-1].copy(), gammas=(1.0,), group_normalised=False)
    seen = {name for name in one.weights if not name.startswith("adversary")}
    assert len(seen) >= 15
    for name in seen:
        assert one.weights[name].tobytes() == other.weights[name].tobytes(), name
    changed = [
        (one.weights[name] != other.weights[name]).any() for name in one.weights.keys() - seen
    ]
    assert any(changed)


def test_equal_opportunity_never_looks_at_the_attribute_of_negatives():
    values, label, sensitive = table(np.random.default_rng(4), 60)
    other = np.where(label == 0, 1 - sensitive, sensitive)
    changes = {"objective": "equal_opportunity", "group_normalised": False}
    one, two = (fit(values, label, b, **changes) for b in (sensitive, other))
    assert _same(one.weights, two.weights)
    parity = fit(values, label, other, group_normalised=False)
    assert not _same(parity.weights, fit(values, label, sensitive, group_normalised=False).weights)


@double_precision()
def test_a_learner_is_the_same_whichever_run_next_to_it(monkeypatch):
    """Same draws; products of other batch sizes may round differently, hence not to the byte.

    Cross-entropies are taken in float32 here, too: weights moved by 5e-8 when each of these was
    moved by one or two of its last places. Whatever leaked from a learner to another would move
    them by the learning rate, 5e-3.
    """
    monkeypatch.setattr(dadi, "named_weights", _in_float32)
    monkeypatch.setattr(Curves, "add", lambda self, training: None)  # policies are in float32
    values, label, sensitive = table(np.random.default_rng(5), 60)
    alone = fit(values, label, sensitive, gammas=(0.3,))
    beside = fit(values, label, sensitive, gammas=(0.9, 0.3, 0.0))
    for name, array in alone.weights.items():
        np.testing.assert_allclose(
            array[0], beside.weights[name][1], rtol=LAST_PLACE, atol=2e-6, err_msg=name
        )
    assert _same(alone.pretrained, beside.pretrained)


def _in_float32(named):
    return named_weights({name: leaf.to(torch.float32) for name, leaf in named.items()})


def test_a_dear_panel_is_not_acquired():
    values, label, sensitive = table(np.random.default_rng(6), 90)
    dear = fit(
        values,
        label,
        sensitive,
        gammas=(1.0,),
        cost_weight=50.0,
        iterations=60,
        learning_rate=1e-2,
        evaluate_every=60,
        exploration_iterations=60,
    )
    assert dear.curves["panels"].tolist() == [0.0]
    assert dear.curves["cost"].tolist() == [0.0]


@pytest.mark.parametrize(
    "change",
    [
        {"reward": "terminal"},
        {"objective": "equalised_odds"},
        {"pretraining_iterations": 0},
        {"group_normalised": False},
        {"returns": "watkins"},
        {"decay_share": 0.5},
    ],
)
def test_every_setting_changes_what_is_learnt(change):
    values, label, sensitive = table(np.random.default_rng(7), 60)
    usual, other = fit(values, label, sensitive), fit(values, label, sensitive, **change)
    assert not _same(usual.weights, other.weights)
    assert np.isfinite(other.curves.to_numpy()).all()


@pytest.mark.parametrize(
    "changes", [{"exploration_start": 0.0, "exploration_end": 0.0}, {"window": 1}]
)
def test_returns_without_a_later_random_decision_are_never_cut(changes):
    values, label, sensitive = table(np.random.default_rng(13), 60)
    whole, cut = (
        fit(values, label, sensitive, returns=name, **changes) for name in ("n_step", "watkins")
    )
    assert _same(whole.weights, cut.weights)


# --- results and checkpoints ---------------------------------------------------------------------


def test_result_has_learners_in_front_and_a_row_per_evaluation():
    values, label, sensitive = table(np.random.default_rng(8), 60)
    result = fit(values, label, sensitive)
    assert {len(array) for array in result.weights.values()} == {2}
    assert {len(array) for array in result.pretrained.values()} == {1}
    assert result.weights.keys() == result.pretrained.keys()
    assert result.curves["iteration"].tolist() == [3, 3, 6, 6, 9, 9, 12, 12]
    assert result.curves["gamma"].tolist() == [0.3, 1.0] * 4
    cost = result.curves["cost"]
    assert ((cost >= 0.5 * result.curves["panels"]) & (cost <= COST.sum())).all()
    gamma = result.curves["gamma"].to_numpy()
    expected = gamma * result.curves["label_loss"] - (1 - gamma) * result.curves["adversary_loss"]
    np.testing.assert_allclose(result.curves["objective"], expected, atol=1e-6)


@pytest.mark.parametrize("changes", [{}, {"returns": "watkins", "decay_share": 0.75}])
@pytest.mark.parametrize("killed_at", [1, 2, 3])
def test_a_killed_run_ends_with_the_same_bytes(killed_at, changes):
    values, label, sensitive = table(np.random.default_rng(9), 60)
    whole, kept = fit(values, label, sensitive, **changes), []

    def save(state):
        kept.append({name: array.copy() for name, array in state.items()})
        if len(kept) == killed_at:
            raise Killed

    with pytest.raises(Killed):
        fit(values, label, sensitive, save=save, **changes)
    assert int(kept[-1]["iteration"]) == 5 * (killed_at - 1)
    again = fit(values, label, sensitive, state=kept[-1], **changes)
    assert _same(whole.weights, again.weights)
    assert _same(whole.pretrained, again.pretrained)
    assert whole.curves.equals(again.curves)


def test_a_rerun_gives_the_same_bytes_and_training_leaves_saved_states_alone():
    values, label, sensitive = table(np.random.default_rng(10), 60)
    saved, copies = [], []

    def save(state):
        saved.append(state)
        copies.append({name: array.copy() for name, array in state.items()})

    first, second = fit(values, label, sensitive, save=save), fit(values, label, sensitive)
    assert _same(first.weights, second.weights)
    assert all(_same(state, copy) for state, copy in zip(saved, copies, strict=True))


def test_iterations_are_stated_where_a_checkpoint_has_a_whole_number_of_them():
    assert iterations_done(None) == 0
    assert iterations_done({}) == 0
    for told, expected in ((7, 7), (np.uint8(3), 3), (7.0, 0), ([7], 0), ([7, 8], 0), ("7", 0)):
        assert iterations_done({"iteration": np.array(told)}) == expected


def test_a_checkpoint_of_another_run_is_refused():
    values, label, sensitive = table(np.random.default_rng(11), 60)
    kept = []
    fit(values, label, sensitive, save=kept.append)
    for changes in ({"learning_rate": 1e-3}, {"gammas": (0.4, 1.0)}):
        with pytest.raises(DataError, match="checkpoint belongs to a run with other settings"):
            fit(values, label, sensitive, state=kept[-1], **changes)
    values[0, 0] += 1
    with pytest.raises(DataError, match="checkpoint belongs"):
        fit(values, label, sensitive, state=kept[-1])


# --- refusals ------------------------------------------------------------------------------------


def test_inputs_that_cannot_be_learnt_from_are_refused():
    values, label, sensitive = table(np.random.default_rng(12), 60)
    with pytest.raises(DataError, match="sensitive attribute has the classes"):
        fit(values, label, sensitive + 1)
    with pytest.raises(ConfigError, match=r"gamma is 1\.5"):
        fit(values, label, sensitive, gammas=(1.5,))
    with pytest.raises(ConfigError, match="no gamma"):
        fit(values, label, sensitive, gammas=())
    with pytest.raises(DataError, match="sensitive = 1; "):
        fit(values, label, np.zeros_like(sensitive))
    with pytest.raises(DataError, match="rows to train on and rows to validate it; one is empty"):
        fit(values[:2], label[:2], sensitive[:2], validation=np.arange(0))
    with pytest.raises(DataError, match=r"panels \[-1, 0, 2, 3\].*costs are given for 4 panels"):
        fit(values[:, PANEL != 1], label, sensitive, panel=PANEL[PANEL != 1])


def test_networks_that_diverge_are_refused():
    values, label, sensitive = table(np.random.default_rng(15), 60)
    with pytest.raises(DataError, match="diverged, they are no longer finite; lower its learning"):
        fit(values, label, sensitive, learning_rate=1e30)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"exploration_start": 0.1}, "exploration_end is 0.2; it lies at or below"),
        ({"objective": "parity"}, "'objective' is 'parity'; allowed are demographic_parity"),
        ({"reward": "final"}, "allowed are difference, terminal"),
        ({"agents": 7}, "must be even"),
        ({"window": 0}, "'window' is 0; allowed are values from 1 on"),
        ({"iterations": True}, "'iterations' is True; allowed is a whole number"),
        ({"learning_rate": float("inf")}, "'learning_rate' is inf; allowed is a number"),
        ({"exploration_end": 1.2}, "'exploration_end' is 1.2; allowed are values up to 1"),
        ({"learning_rate": 0.0}, "'learning_rate' is 0.0; allowed are values above 0"),
        ({"cost_weight": -1.0}, "'cost_weight' is -1.0; allowed are values from 0 on"),
        ({"returns": "cut"}, "allowed are n_step, watkins"),
        ({"decay_share": 1.5}, "'decay_share' is 1.5; allowed are values up to 1"),
        ({"decay_to": -0.1}, "'decay_to' is -0.1; allowed are values from 0 on"),
    ],
)
def test_settings_out_of_range_are_refused(changes, text):
    with pytest.raises(ConfigError, match=text):
        settings(**changes)


def test_settings_of_another_version_are_refused_by_name():
    known = {**SETTINGS, "decay_iterations": 3}
    del known["returns"]
    with pytest.raises(ConfigError, match="key 'returns' is missing"):
        DadiSettings.of(known)
    assert DadiSettings.of(SETTINGS) == settings()


def test_exploration_falls_in_a_straight_line():
    s = settings(exploration_start=1.0, exploration_end=0.1, exploration_iterations=10)
    assert [round(s.exploration(i), 12) for i in (0, 5, 10, 99)] == [1.0, 0.55, 0.1, 0.1]


def test_the_learning_rate_falls_in_a_straight_line_to_the_last_iteration():
    s = settings(iterations=10, decay_share=0.4, learning_rate=0.5, decay_to=0.2)
    assert [round(s.learning_rate_at(i), 12) for i in range(10)] == [*[0.5] * 6, 0.4, 0.3, 0.2, 0.1]
    constant = settings(iterations=10, decay_share=0.0)
    assert {constant.learning_rate_at(i) for i in range(10)} == {constant.learning_rate}


def test_weights_are_drawn_with_a_spread_by_their_number_of_inputs():
    """Two entries of a token are not zero: He's rule gives √(2/2) for values and positions."""
    sizes = NetworkSizes(40, 5, settings(encoding_width=64, head_width=64))
    leaves = first_parameters(sizes, torch.Generator().manual_seed(0)).views
    for part, inputs in (("value", 2), ("position", 2), ("second", None)):
        leaf = next(leaf for name, leaf in leaves.items() if name.endswith(f".{part}"))
        expected = (2 / (inputs or leaf.shape[1])) ** 0.5
        error = 4 * expected / (2 * leaf.numel()) ** 0.5  # four standard errors
        assert leaf.std().item() == pytest.approx(expected, abs=error)
