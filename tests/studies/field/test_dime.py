"""DIME: its values are what each panel tells; what it learns is what autograd would."""

from typing import Any

import numpy as np
import pytest
import torch
from frugal.learn.lockstep import FlatParameters
from frugal.studies.field.panel_choosers import DimeSettings, DimeTraining, first_chooser
from frugal.studies.field.policies.dime import ALL, learn, levels
from frugal.studies.field.policies.panel_networks import ChooserWalk

from tests.studies.field import panel_network_cases as networks
from tests.studies.field import plain_panel_networks as plain
from tests.unit import tree_agent_cases as cases
from tests.unit.double_precision import double_precision

pytestmark = pytest.mark.trains

OWN: dict[str, Any] = {"folds": 2, "network": networks.NETWORK, "updates": 800, "batch": 64}
OWN |= {"learning_rate": 3e-3, "exploration": [1.0, 0.1], "levels": 20}
HOW = DimeSettings(15, 20, 1e-2, (1.0, 0.1), 0.003)
WITHIN = 0.01  # nats


def training_of(units, how=HOW):
    predictor = first_chooser(2, [14, 9, 8, units.label.shape[1]], np.random.default_rng(1))
    rngs = np.random.default_rng(2).spawn(3)
    return DimeTraining(units, predictor, [0, 1], how, rngs)


def test_values_are_the_enumerated_information_of_each_panel_in_every_state():
    believers, units = networks.on_all(networks.whole_world(cases.cell_risk), hidden=64)
    how = DimeSettings(5000, 1024, 1e-2, (1.0, 1.0), 0.0)
    first = {name: view[:1] for name, view in believers.parameters(1).views.items()}
    rngs = np.random.default_rng(0).spawn(3)[::2]
    training = DimeTraining(units, FlatParameters.of(first), [0], how, rngs)
    training.run()
    both = (training.predictor, training.chooser)  # of one network, which stands for both
    twice = [{k: v.repeat(2, 1, 1) for k, v in one.views.items()} for one in both]
    learnt = believers.with_chooser("values", *map(FlatParameters.of, twice))
    acquired, values = networks.states()
    read = learnt.believer.reads.read(values).astype(np.float32)
    told = learnt.margins(0, read, acquired, np.ones_like(acquired)) * np.array(cases.CELL_PRICE)
    exact = networks.information(values, cases.cell_risk)
    assert exact[~acquired].max() > 0.1
    np.testing.assert_allclose(told[~acquired], exact[~acquired], atol=WITHIN)
    assert (told[acquired] == -np.inf).all()


@pytest.mark.parametrize("classes", [2, 5])
def test_gradients_written_out_are_those_of_autograd(classes):
    with double_precision():
        units = networks.random_units(classes)
        training = training_of(units)
        episodes = training.episodes
        training.chooser.flat.mul_(3)
        alone = [training_of(units).episodes for _ in range(2)]
        for k, one in enumerate(alone):
            one.row, one.acquired = episodes.row[[k]].clone(), episodes.acquired[[k]].clone()
        explores, order = torch.rand(2, 20) < 0.5, torch.rand(2, 20, 4)
        training.step(explores, order)
        for k in range(2):
            own_of = (training.chooser, training.predictor)
            modules = [plain.module_of(one.views, k) for one in own_of]
            losses = plain.dime_losses(
                modules[0], modules[1], units, alone[k], explores[[k]], order[[k]]
            )
            (losses[0] + losses[1]).backward()
            went = losses[2]
            torch.testing.assert_close(episodes.acquired[k][went], alone[k].acquired[0][went])
            networks.require_same(modules, own_of, k, slopes=True)


@pytest.mark.parametrize("classes", [2, 5])
def test_networks_in_lock_step_learn_what_each_learns_alone_with_autograd(classes):
    with double_precision():
        units = networks.random_units(classes)
        together = training_of(units)
        own_of = (together.predictor, together.chooser)
        first = [[plain.module_of(one.views, k) for k in range(2)] for one in own_of]
        together.run()
        for k in range(2):
            rngs = np.random.default_rng(2).spawn(3)
            plain.train_dime(units, first[0][k], first[1][k], k, HOW, rngs)
            networks.require_same([part[k] for part in first], own_of, k)


def test_it_learns_for_a_cost_and_comes_near_the_best_rule():
    networks.require_near_best(learn, OWN, "values")


@pytest.fixture(scope="module")
def nested():
    world = cases.nested_world(1200, 3)
    rows = networks.folded(world, judging=300)
    return world, learn(rows, cases.objective("f1", world), OWN, np.array([0.0, 1.0, 3.0, 9.0]))


def test_what_a_unit_cannot_have_or_adds_nothing_is_never_bought_and_what_is_free_always(nested):
    world, made = nested
    episodes = cases.run(networks.read_back(made, world, "values"), world)
    cases.require_useful_panels(episodes, world)


def test_stored_rules_act_alike_in_batches_of_any_size(nested):
    world, made = nested
    networks.require_alike_in_batches(made, world, "values")


def test_levels_go_from_all_to_nothing():
    margin = np.array([[0.3, 0.1], [0.2, -np.inf], [-np.inf, -np.inf]])
    way = ChooserWalk(margin, np.zeros((3, 2, 1)), np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 1.0]]))
    found = levels(way, 4)
    np.testing.assert_allclose(found, [ALL, 0.1, 0.2, 0.3])
    np.testing.assert_array_equal(way.ends(found[0])[1], [2, 1])
    np.testing.assert_array_equal(way.ends(found[-1])[1], [0, 0])
    nothing = ChooserWalk(np.full((1, 2), -np.inf), np.zeros((1, 2, 1)), np.zeros((1, 2)))
    assert levels(nothing, 4) == [ALL]
