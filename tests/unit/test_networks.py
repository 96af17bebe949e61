from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from frugal.learn import networks
from frugal.learn.lockstep import FlatParameters, layer_shapes, layers_of
from frugal.learn.networks import fit_networks

from tests.defaults import DEFAULT
from tests.oracles.perceptron import penalised_loss
from tests.unit.double_precision import GAP, double_precision

pytestmark = pytest.mark.trains

SETTINGS: dict[str, Any] = {"hidden": 8, "layers": 2, "epochs": 4, "batch": 64}
SETTINGS |= {"learning_rate": 0.01, "activation": "silu"}
DECAY = 1e-4


def world(n, seed):
    """Inputs, log-odds, binary target: logistic in three inputs."""
    rng = np.random.default_rng(seed)
    x = rng.normal(loc=3, scale=2, size=(n, 3))
    log_odds = (x - 3) @ [0.8, -0.5, 0.0] - 0.5
    target = (rng.random(n) < 1 / (1 + np.exp(-log_odds))).astype(np.float64)
    return x, log_odds, target[:, None]


@pytest.mark.parametrize("activation", ["relu", "silu"])
@pytest.mark.parametrize("loss", ["binary", "squared"])
@pytest.mark.parametrize("layers", [0, 1, 3])
def test_gradient_equals_autograd(loss, layers, activation):
    shape = [4, *[5] * layers, 2]
    generator = torch.Generator().manual_seed(0)
    size = sum(i * o + o for i, o in pairwise(shape))
    values, x, y, row_weight = (
        torch.randn(s, generator=generator, dtype=torch.float64)
        for s in ((3, size), (3, 20, 4), (3, 20, 2), (3, 20))
    )
    values *= 0.4  # no log-odds so large that log(1 − p) is infinite
    y, row_weight = (y > 0).double(), row_weight.abs()
    weight = (row_weight / row_weight.sum(dim=1, keepdim=True))[:, :, None]
    with double_precision():
        parameters = FlatParameters(layer_shapes(shape), rows=4)
    parameters.flat[:3] = values
    parameters.gradient.fill_(torch.nan)
    decay = torch.tensor([0.3, 0.0, 2.0], dtype=torch.float64)
    slope = networks._slope(loss, y, weight)
    networks._write_gradient(parameters, 3, x, slope, decay[:, None, None], activation)
    assert torch.isnan(parameters.gradient[3]).all()  # a finished network is left alone
    wanted = {k: v[:3].clone().requires_grad_() for k, v in parameters.views.items()}
    weights, biases = layers_of(wanted)
    for k in range(3):
        one = [w[k] for w in weights], [b[k] for b in biases]
        penalised_loss(
            *one, x[k], y[k], row_weight[k], float(decay[k]), loss == "binary", activation
        ).backward(retain_graph=True)
    for name, leaf in wanted.items():
        found = parameters.gradient_views[name][:3]
        torch.testing.assert_close(found, leaf.grad, rtol=0, atol=1e-12)  # float64 round-off


def test_one_cycle_rises_to_its_peak_and_falls_to_nothing():
    rate = networks._one_cycle(1001, 0.1).numpy()
    assert rate[[0, 300, 1000]] == pytest.approx([0.1 / 25, 0.1, 0.1 / 2.5e5], rel=1e-5)
    assert (np.diff(rate[:301]) >= 0).all()
    assert (np.diff(rate[300:]) <= 0).all()
    assert networks._one_cycle(1, 0.1).tolist() == pytest.approx([0.1 / 25])


def test_lock_step_equals_networks_apart():
    x, _, y = world(900, 1)
    wide = np.column_stack([x, x[:, :2] ** 2])
    train = np.zeros((4, 900))
    train[0, :700] = 1
    train[1, 100:] = 1
    train[2, :55] = np.linspace(0.5, 2, 55)  # few rows, weighted: another batch, fewer steps
    train[3, 300:600] = 1
    tables, source, decay = [x, wide], [0, 1, 0, 1], [1e-4, 1e-2, 0.1, 0.0]
    with double_precision():
        together = fit_networks(
            tables,
            [y, y],
            source,
            train,
            loss="binary",
            rngs=np.random.default_rng(5).spawn(4),
            weight_decay=decay,
            **SETTINGS,
        )
        for k, rng in enumerate(np.random.default_rng(5).spawn(4)):
            table = tables[source[k]]
            apart = fit_networks(
                [table],
                [y],
                [0],
                train[[k]],
                loss="binary",
                rngs=[rng],
                weight_decay=[decay[k]],
                **SETTINGS,
            )
            # probabilities, after up to 40 steps
            np.testing.assert_allclose(
                together.predict(k, table), apart.predict(0, table), rtol=0, atol=GAP
            )


def fitted_on(x, y, weight=None, *, seed=0, loss="binary", **changed):
    """One network on one table, of the default stream."""
    weight = np.ones(len(x)) if weight is None else weight
    rngs = [np.random.default_rng(seed)]
    more = {"loss": loss, "rngs": rngs, "weight_decay": [DECAY]}
    return fit_networks([x], [y], [0], weight[None], **more, **(SETTINGS | changed))


def test_same_stream_gives_the_same_bytes():
    x, _, y = world(500, 2)
    weight = np.ones((2, 500))
    both = {"loss": "binary", "weight_decay": [DECAY] * 2, **SETTINGS}
    one, two, other = (
        fit_networks([x], [y], [0, 0], weight, rngs=rngs, **both).predict(0, x)
        for rngs in (np.random.default_rng(seed).spawn(2) for seed in (0, 0, 1))
    )
    assert one.tobytes() == two.tobytes()
    assert not np.array_equal(one, other)


def test_rows_without_weight_are_not_read():
    x, _, y = world(400, 3)
    train = (np.arange(400) < 300).astype(np.float64)
    spoiled_x, spoiled_y = x.copy(), y.copy()
    spoiled_x[300:], spoiled_y[300:] = 1e9, 1 - y[300:]
    one, two = (fitted_on(a, b, train).predict(0, x) for a, b in ((x, y), (spoiled_x, spoiled_y)))
    assert one.tobytes() == two.tobytes()


def test_logistic_truth_is_recovered():
    x, _, y = world(20_000, 4)
    fitted = fitted_on(x, y, epochs=10, batch=256)
    fresh, log_odds, _ = world(5_000, 5)
    p, truth = fitted.predict(0, fresh)[:, 0], 1 / (1 + np.exp(-log_odds))
    excess = -(truth * np.log(p / truth) + (1 - truth) * np.log((1 - p) / (1 - truth))).mean()
    # A model with q free parameters costs about q/2n: the 113 of this one cost .0028. Ten trainings
    # cost .0007 on average, standard deviation .0003.
    assert 0 <= excess < 0.003


def test_means_in_their_own_units():
    rng = np.random.default_rng(6)
    x = rng.normal(size=(6000, 2))
    y = np.column_stack([1000 + 50 * np.abs(x[:, 0]), 1e-3 * x[:, 1], np.full(6000, 7.0)])
    fitted = fit_networks(
        [x],
        [y],
        [0],
        np.ones((1, 6000)),
        loss="squared",
        rngs=[rng],
        weight_decay=[DECAY],
        **{**SETTINGS, "epochs": 20},
    )
    error = np.abs(fitted.predict(0, x) - y).mean(axis=0)
    # of ten trainings the worst was .009; the spread of the targets is one of these units
    assert (error < 0.05 * np.array([50, 1e-3, 1])).all()
    assert error[2] == 0  # a target that never varied is predicted as it was


def test_an_input_that_never_varied_in_training_is_not_read():
    x, _, y = world(500, 7)
    x[:, 2] = 0.0
    fitted = fitted_on(x, y)
    changed = x + np.array([0, 0, 5])
    np.testing.assert_array_equal(fitted.predict(0, x), fitted.predict(0, changed))
    assert fitted.predict(0, x[:0]).shape == (0, 1)


def test_no_network_of_the_default_stays_with_a_linear_law():
    """Log-odds with a sine in one of three inputs; a linear law is left with an excess of .006."""
    config = DEFAULT
    default = config["afape"]["nuisance"]["network"]
    rng = np.random.default_rng(6)
    x = rng.normal(size=(33_000, 3))
    truth = 1 / (1 + np.exp(0.75 * x[:, 0] - 0.5 * np.sin(2 * x[:, 1]) - 2))
    y = (rng.random(33_000) < truth)[:, None].astype(np.float64)
    fitted = fit_networks(
        [x],
        [y],
        [0] * 6,
        np.tile(np.arange(33_000) < 25_000, (6, 1)) * 1.0,
        loss="binary",
        **{name: value for name, value in default.items() if name != "ridge"},
        weight_decay=[default["ridge"] / 25_000] * 6,
        activation="silu",
        rngs=rng.spawn(6),
    )
    p, fresh = truth[25_000:], x[25_000:]
    for k in range(6):
        q = fitted.predict(k, fresh)[:, 0]
        assert (p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))).mean() < 0.003
