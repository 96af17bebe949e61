"""GDFS: it picks the panel that tells most, less its price; it learns as autograd would."""

from typing import Any

import numpy as np
import pytest
import torch
from frugal.acquire.kinds import Learned
from frugal.core.errors import DataError
from frugal.studies.field.panel_choosers import GdfsSettings, GdfsTraining, first_chooser
from frugal.studies.field.policies.gdfs import SHARES, learn, penalties

from tests.studies.field import panel_network_cases as networks
from tests.studies.field import plain_panel_networks as plain
from tests.unit import tree_agent_cases as cases
from tests.unit.double_precision import double_precision

pytestmark = pytest.mark.trains

OWN: dict[str, Any] = {"folds": 2, "network": networks.NETWORK, "updates": 1500, "batch": 64}
OWN |= {"learning_rate": 3e-3, "temperatures": [1.0, 0.1], "price_weights": 4}
HOW = GdfsSettings(15, 20, 1e-2, (1.0, 0.1), 0.003)
PENALTY, FOLDS = [0.01, 0.2, 0.01], [0, 0, 1]
NATS_PER_PRICE = 0.1
CLEAR = 0.02  # nats between the best and the next; the closest 9 states differ by 0.009 to 0.0102


def training_of(units, penalty=PENALTY, folds=FOLDS, how=HOW):
    predictor = first_chooser(
        len(penalty), [14, 9, 8, units.label.shape[1]], np.random.default_rng(1)
    )
    rngs = np.random.default_rng(2).spawn(max(folds) + 2)
    return GdfsTraining(units, predictor, penalty, folds, how, rngs)


def test_it_picks_the_most_informative_panel_less_its_price_in_every_state():
    believers, units = networks.on_all(networks.whole_world(networks.turn_risk))
    how = GdfsSettings(2000, 256, 3e-3, (1.0, 0.1), 0.0)
    rngs = np.random.default_rng(0).spawn(3)
    training = GdfsTraining(units, believers.parameters(1), [NATS_PER_PRICE] * 2, [0, 1], how, rngs)
    training.run()
    learnt = believers.with_chooser("logits", training.predictor, training.chooser)
    acquired, values = networks.states()
    read = learnt.believer.reads.read(values).astype(np.float32)
    margin = learnt.margins(0, read, acquired, np.ones_like(acquired))
    found = np.where(margin.max(axis=1) > 0, margin.argmax(axis=1), 3)
    gain = networks.information(values, networks.turn_risk) - NATS_PER_PRICE * np.array(
        cases.CELL_PRICE
    )
    gain = np.append(np.where(acquired, -np.inf, gain), np.zeros((len(gain), 1)), axis=1)
    first, second = np.sort(gain, axis=1)[:, :-3:-1].T
    clear = first - second > CLEAR
    assert clear.sum() == 48
    assert set(gain.argmax(axis=1)[clear]) == {0, 1, 2, 3}
    np.testing.assert_array_equal(found[clear], gain.argmax(axis=1)[clear])


@pytest.mark.parametrize("classes", [2, 5])
def test_gradients_written_out_are_those_of_autograd(classes):
    with double_precision():
        training = training_of(networks.random_units(classes))
        units, episodes = training.episodes.units, training.episodes
        training.chooser.flat.mul_(3)  # the last layer is nearly 0 at first
        gumbel = torch.randn(3, 20, 5)
        noisy = training.write_gradient(episodes.look(), gumbel, 0.4)
        for k, (penalty, fold) in enumerate(zip(PENALTY, FOLDS, strict=True)):
            own_of = (training.chooser, training.predictor)
            modules = [plain.module_of(one.views, k) for one in own_of]
            alone = training_of(units, [0.0] * 2, [0, 1]).episodes
            alone.row, alone.acquired = episodes.row[[k]], episodes.acquired[[k]]
            loss, choice = plain.gdfs_loss(
                modules[0], modules[1], units, alone, gumbel[[k]], 0.4, penalty
            )
            loss.backward()
            assert fold in (0, 1)
            torch.testing.assert_close(noisy[k].argmax(dim=1), choice)
            networks.require_same(modules, own_of, k, slopes=True)


@pytest.mark.parametrize("classes", [2, 5])
def test_networks_in_lock_step_learn_what_each_learns_alone_with_autograd(classes):
    with double_precision():
        units = networks.random_units(classes)
        together = training_of(units)
        own_of = (together.predictor, together.chooser)
        first = [[plain.module_of(one.views, k) for k in range(3)] for one in own_of]
        together.run()
        for k, (penalty, fold) in enumerate(zip(PENALTY, FOLDS, strict=True)):
            rngs = np.random.default_rng(2).spawn(3)
            plain.train_gdfs(units, first[0][k], first[1][k], penalty, fold, HOW, rngs)
            networks.require_same([part[k] for part in first], own_of, k)


def test_it_learns_for_a_cost_and_comes_near_the_best_rule():
    networks.require_near_best(learn, OWN, "logits")


@pytest.fixture(scope="module")
def nested():
    world = cases.nested_world(1200, 3)
    rows = networks.folded(world, judging=300)
    made = learn(rows, cases.objective("f1", world), OWN, np.array([0.0, 1.0, 3.0]))
    return world, made


def test_what_a_unit_cannot_have_or_adds_nothing_is_never_bought_and_what_is_free_always(nested):
    world, made = nested
    episodes = cases.run(networks.read_back(made, world, "logits"), world)
    cases.require_useful_panels(episodes, world)
    budgets = np.array([0.0, 1.0, 3.0])[: len(episodes.cost)]
    assert (episodes.cost.mean(axis=1) <= budgets + 0.1).all()


def test_stored_rules_act_alike_in_batches_of_any_size_and_spoilt_ones_are_refused(nested):
    world, made = nested
    networks.require_alike_in_batches(made, world, "logits")
    for changed, words in (
        ({"threshold": made.arrays["threshold"] * 0}, "'threshold'"),
        ({"chooser": made.arrays["chooser"] + 99}, "chooser"),
        ({"penalty": np.ones(7)}, "7 choosers"),
        ({"chooser.0.weight": made.arrays["chooser.0.weight"][:, 1:]}, r"0\.weight"),
    ):
        spoilt = Learned(made.arrays | changed, made.curve)
        with pytest.raises(DataError, match=words):
            networks.read_back(spoilt, world, "logits")


def test_rules_are_stated_in_words(nested):
    world, made = nested
    said = networks.read_back(made, world, "logits").sentences([f"p{k}" for k in range(4)])
    assert len(said) == len(made.curve)
    assert all("nats per unit of price" in one and "positive from" in one for one in said)


def test_penalties_are_shares_of_the_entropy_for_the_price_of_all_panels():
    world = cases.nested_world(400, 3, missing=0.0)
    rate, price = world.label.mean(), 5.0  # the second panel holds the first, the third is free
    entropy = -rate * np.log(rate) - (1 - rate) * np.log(1 - rate)
    found = penalties(networks.folded(world), 4)
    np.testing.assert_allclose(found * price, np.geomspace(*SHARES, 4) * entropy)
