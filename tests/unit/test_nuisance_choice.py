from dataclasses import replace

import numpy as np
import pytest
from frugal.learn.calibration import log_loss
from frugal.learn.nuisance_choice import METHODS, Head, MeanHead, fit_means, fit_probabilities

from tests.unit.nuisance_fits import cross_fit, separate_fit

pytestmark = pytest.mark.trains

SETTINGS = {
    "network": {
        "hidden": 8,
        "layers": 1,
        "epochs": 5,
        "batch": 64,
        "learning_rate": 0.02,
        "ridge": 1.0,
    },
    "logistic": {"C": 1.0},
    "boosting": {"trees": 40, "leaves": 7, "learning_rate": 0.1, "min_leaf": 20},
}
N = 1500


def rng():
    return np.random.default_rng(3)


def heads(seed=0):
    """One law that is logistic and one that is a checkerboard."""
    draw = np.random.default_rng(seed)
    z = draw.normal(size=(N, 2))
    straight = 1 / (1 + np.exp(-(z @ [1.2, -0.8])))
    squares = np.where((z[:, 0] > 0) ^ (z[:, 1] > 0), 0.9, 0.1)
    usable = draw.random(N) < 0.9
    return [Head(z, draw.random(N) < p, usable) for p in (straight, squares)]


def test_each_law_gets_the_method_of_least_loss_and_just_what_that_method_fits():
    two, fold = heads(), np.arange(N) % 2
    chosen = fit_probabilities(
        two, rule={"fold": fold}, method="lowest_loss", settings=SETTINGS, rng=rng()
    )
    assert [one.method for one in chosen] == ["logistic", "boosting"]
    for name in METHODS:
        alone = cross_fit(two, fold=fold, method=name, settings=SETTINGS[name], rng=rng())
        named = fit_probabilities(
            two, rule={"fold": fold}, method=name, settings=SETTINGS, rng=rng()
        )
        for head, values, one, its in zip(two, alone, chosen, named, strict=True):
            loss = log_loss(values[head.usable], head.target[head.usable])
            assert one.losses[name] == pytest.approx(loss, rel=1e-12)
            assert its.losses == {name: one.losses[name]}
            assert its.method == name
            np.testing.assert_array_equal(its.values, values)
            if one.method == name:
                np.testing.assert_array_equal(one.values, values)
    for one, head in zip(chosen, two, strict=True):
        assert one.losses[one.method] == min(one.losses.values())
        assert one.rows == head.usable.sum()


def test_what_follows_in_a_stream_does_not_depend_on_whether_a_method_was_chosen():
    fold = np.arange(N) % 2
    streams = [rng(), rng()]
    for method, one in zip(("lowest_loss", "network"), streams, strict=True):
        fit_probabilities(heads(), rule={"fold": fold}, method=method, settings=SETTINGS, rng=one)
    after = [one.spawn(1)[0].random() for one in streams]
    assert after[0] == after[1]


def test_with_a_part_to_learn_from_the_choice_and_the_fit_read_no_other_row():
    part = np.arange(N)
    rule = {"fold": part % 2, "train": part < 1000, "predict": part >= 1000}
    shared = {"rule": rule, "method": "lowest_loss", "settings": SETTINGS}
    found = fit_probabilities(heads(), **shared, rng=rng())
    assert [one.method for one in found] == ["logistic", "boosting"]
    spoilt = [replace(h, target=np.where(part < 1000, h.target, ~h.target)) for h in heads()]
    again = fit_probabilities(spoilt, **shared, rng=rng())
    for one, two, head in zip(found, again, heads(), strict=True):
        assert one.losses == two.losses
        np.testing.assert_array_equal(one.values, two.values)
        np.testing.assert_array_equal(np.isfinite(one.values), rule["predict"])
        assert one.rows == (head.usable & rule["train"]).sum()
    (straight,) = separate_fit(
        heads()[:1],
        train=rule["train"],
        predict=rule["predict"],
        method="logistic",
        settings=SETTINGS["logistic"],
        rng=rng(),
    )
    np.testing.assert_array_equal(found[0].values, straight)
    (named, _) = fit_probabilities(heads(), **{**shared, "method": "logistic"}, rng=rng())
    np.testing.assert_array_equal(named.values, straight)
    assert np.isnan(named.losses["logistic"])  # a named one is not fitted in folds as well


@pytest.mark.parametrize("method", ["lowest_loss", "network"])
def test_no_inputs_are_a_mean_and_a_split_without_rows_is_no_fit(method):
    straight, _ = heads()
    fold = np.arange(N) % 2
    none = replace(straight, inputs=np.zeros((N, 0)))
    gone = replace(straight, usable=straight.usable & (fold == 1))
    one, two = fit_probabilities(
        [none, gone], rule={"fold": fold}, method=method, settings=SETTINGS, rng=rng()
    )
    assert one.method == "mean"
    assert one.losses == {"mean": pytest.approx(0.69, abs=0.02)}  # nats, of a fair coin
    assert (two.method, two.losses, two.rows) == ("", {}, 0)
    assert np.isnan(two.values).all()


def test_means_are_judged_by_their_share_of_variance_in_any_unit():
    draw = np.random.default_rng(5)
    z = draw.normal(size=(N, 2))
    cost = np.column_stack([np.abs(z[:, 0]), z[:, 1] + 0.3 * draw.normal(size=N), np.full(N, 0.1)])
    usable = draw.random(N) < 0.8  # the sum of many .1 rounds
    cost[~usable] = np.nan
    fold = np.arange(N) % 2
    found = []
    for unit in (1.0, 1000.0):
        head = MeanHead(z, cost * [1.0, unit, unit], usable)
        (one,) = fit_means(
            [head], rule={"fold": fold}, method="lowest_loss", settings=SETTINGS, rng=rng()
        )
        found.append(one)
        (values,) = cross_fit(
            [head], fold=fold, method=one.method, settings=SETTINGS[one.method], rng=rng()
        )
        np.testing.assert_array_equal(one.values, values)
        share = np.square(values - head.target)[usable].mean(axis=0)[:2]
        share = (share / head.target[usable].var(axis=0)[:2]).mean()
        assert one.losses[one.method] == pytest.approx(share, rel=1e-12)
    assert set(found[0].losses) == {"network", "boosting"}
    assert found[0].method == found[1].method
    for name, loss in found[0].losses.items():
        assert found[1].losses[name] == pytest.approx(loss, rel=1e-3)  # trees and float32 round
