import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from frugal.acquire.acquisition import BatchedAcquisition, StopReward, theorem_reward
from frugal.acquire.encoders import ValuesEncoder
from frugal.acquire.policies.sb3 import ACTIVATIONS, Sb3Policy, require_law
from frugal.acquire.rollouts import roll_out
from frugal.acquire.train import sb3 as sb3_agents
from frugal.acquire.train.sb3 import (
    ACTIVATION_TYPES,
    OpenVecEnv,
    algorithms,
    fit_sb3,
    generators_put_back,
    require_sb3,
    silence,
)
from frugal.core.episodes import Policy
from frugal.core.errors import ConfigError, DataError
from frugal.core.world import World

from tests.oracles.single_environment import AcquisitionEnv
from tests.unit.acquisition_cases import small_environment, small_problem

pytestmark = [pytest.mark.trains, pytest.mark.filterwarnings("ignore::UserWarning")]

SMALL: dict[str, Any] = {
    "A2C": {"n_steps": 4},
    "ARS": {"n_delta": 2, "n_eval_episodes": 8},
    "DQN": {"learning_starts": 32, "batch_size": 16, "buffer_size": 1000},
    "MaskablePPO": {"n_steps": 8, "batch_size": 32, "n_epochs": 2},
    "PPO": {"n_steps": 8, "batch_size": 32, "n_epochs": 2},
    "QRDQN": {
        "learning_starts": 32,
        "batch_size": 16,
        "buffer_size": 1000,
        "policy_kwargs": {"n_quantiles": 7, "net_arch": [8]},
    },
    "TRPO": {"n_steps": 8, "batch_size": 32},
}
PAIR = (3.0, -0.2)


def fitted(algorithm: str, seed: int = 0, *, steps: int = 256, **arguments: Any):
    given = SMALL[algorithm] | arguments
    return fit_sb3(
        small_environment([PAIR], 8, start="free"),
        algorithm=algorithm,
        policy="MlpPolicy",
        steps=steps,
        arguments=given,
        rng=np.random.default_rng(seed),
    )


def policy_of(fit: sb3_agents.Sb3Weights, *, greedy: bool, d: int = 5) -> Sb3Policy:
    rng = np.random.default_rng(3)
    scaling = rng.normal(size=d), rng.uniform(0.5, 2, size=d)
    return Sb3Policy(fit.layers, fit.activation, fit.stochastic, greedy, *scaling, False)


def states(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Visible values, acquired and available panels of the small world. (1, n, …)"""
    rng = np.random.default_rng(5)
    world, _ = small_problem()
    acquired, available = rng.random((2, n, world.panels)) < np.array([0.4, 0.8])[:, None, None]
    visible = world.visible(rng.integers(len(world), size=n), acquired)
    return visible[None], acquired[None], available[None]


def test_every_algorithm_for_discrete_actions_without_memory_is_found_by_name():
    assert list(algorithms()) == sorted(SMALL, key=str.lower)


@pytest.mark.parametrize("algorithm", SMALL)
def test_a_trained_policy_is_the_networks_law_over_what_is_allowed(algorithm, monkeypatch):
    learners = []
    monkeypatch.setattr(
        sb3_agents, "silence", lambda learner: (learners.append(learner), silence(learner))
    )
    fit = fitted(algorithm)
    theirs = learners[0].policy
    greedy = not fit.stochastic
    policy = policy_of(fit, greedy=greedy)
    assert isinstance(policy, Policy)
    values, acquired, available = states(60)
    seen = np.nan_to_num((values[0] - policy.centre) / policy.scale)
    observation = torch.from_numpy(np.hstack([seen, acquired[0]]).astype(np.float32))
    with torch.no_grad():
        if fit.stochastic:
            scores = theirs.get_distribution(observation).distribution.probs.numpy()
        elif algorithm == "DQN":
            scores = theirs.q_net(observation).numpy()
        elif algorithm == "QRDQN":
            scores = theirs.quantile_net(observation).mean(dim=1).numpy()
        else:
            scores = theirs.action_net(observation).numpy()
    allowed = np.hstack([available[0] & ~acquired[0], np.ones((60, 2), dtype=bool)])
    law = policy.action_probabilities(values, acquired, available)[0]
    np.testing.assert_allclose(law.sum(axis=1), 1.0, rtol=1e-12)
    assert (law[:, :-1][~allowed[:, :4]] == 0).all()
    if greedy:
        best = np.where(allowed, scores, -np.inf).argmax(axis=1)
        np.testing.assert_array_equal(law.argmax(axis=1), np.minimum(best, 4))
        verdict = np.eye(2)[scores[:, 4:].argmax(axis=1)]
    else:
        wanted = np.where(allowed, scores, 0.0)
        wanted /= wanted.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(law[:, :4], wanted[:, :4], rtol=1e-4, atol=1e-6)
        verdict = scores[:, 4:] / scores[:, 4:].sum(axis=1, keepdims=True)
    said = policy.predict(values, acquired)
    assert said is not None
    np.testing.assert_allclose(said[0], verdict, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("greedy", [True, False])
def test_a_batch_and_its_rows_get_the_same_answers(greedy):
    policy = policy_of(fitted("PPO"), greedy=greedy)
    values, acquired, available = states(40)
    together = policy.action_probabilities(values, acquired, available)
    for i in range(40):
        one = np.s_[:, i : i + 1]
        alone = policy.action_probabilities(values[one], acquired[one], available[one])
        np.testing.assert_allclose(alone, together[one], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_activations_are_those_of_torch(activation):
    x = np.linspace(-40, 40, 401)
    wanted = ACTIVATION_TYPES[activation]()(torch.from_numpy(x)).numpy()
    np.testing.assert_allclose(ACTIVATIONS[activation](x), wanted, rtol=1e-10, atol=1e-14)
    assert list(ACTIVATIONS) == list(ACTIVATION_TYPES)


@pytest.mark.parametrize("algorithm", ["MaskablePPO", "DQN", "ARS"])
def test_the_same_seed_gives_the_same_bytes_and_nothing_global_moves(algorithm):
    kept = np.random.get_state(legacy=False), torch.random.get_rng_state()  # noqa: NPY002
    one, two = fitted(algorithm, 1), fitted(algorithm, 1)
    for name, layer in one.layers.items():
        assert layer.dtype == np.float32
        np.testing.assert_array_equal(layer, two.layers[name])
    np.testing.assert_equal(np.random.get_state(legacy=False), kept[0])  # noqa: NPY002
    assert torch.equal(torch.random.get_rng_state(), kept[1])
    other = fitted(algorithm, 2)
    assert any((layer != other.layers[name]).any() for name, layer in one.layers.items())


def test_generators_are_put_back_after_an_error_too():
    def fail() -> None:
        random.seed(3)
        raise KeyError

    before = random.getstate()  # the checker of types draws from it: nothing typed in between
    with pytest.raises(KeyError), generators_put_back():
        fail()
    after = random.getstate()
    assert before == after


def test_training_makes_no_folder(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for algorithm in ("MaskablePPO", "QRDQN", "ARS"):
        fitted(algorithm)
    assert not list(tmp_path.iterdir())


def test_the_curve_has_the_mean_return_of_the_episodes_that_ended():
    environment = small_environment([PAIR], 8, start="free")
    vectorised = OpenVecEnv(environment)
    vectorised.reset()
    total, ended = 0.0, 0
    rng = np.random.default_rng(0)
    for _ in range(50):
        vectorised.step_async(rng.integers(6, size=8))
        _, reward, done, _ = vectorised.step_wait()
        total, ended = total + reward.sum(), ended + done.sum()
    open_returns = vectorised._return.sum()
    assert sum(count for _, count, _ in vectorised.ends) == ended
    assert sum(gain for *_, gain in vectorised.ends) + open_returns == pytest.approx(total)
    curve = fitted("PPO", steps=640).curve
    assert list(curve) == ["transitions", "mean_return"]
    assert curve["transitions"].iloc[-1] == 640
    assert curve["transitions"].is_monotonic_increasing
    assert (curve["mean_return"].dropna() <= 1).all()


def partly_available() -> World:
    world, _ = small_problem()
    available = np.random.default_rng(2).random((len(world), world.panels)) < 0.6
    return replace(world, available=available)


def test_masked_actions_in_a_batch_do_what_they_do_to_one_unit():
    """The batch against the Gymnasium environment, step by step, put into the same states."""
    world = partly_available()
    encoder, reward = ValuesEncoder.of(world), theorem_reward(np.array([3.0]), np.array([-0.05]))
    batch = BatchedAcquisition(
        world, encoder, reward, learners=1, episodes=6, start="free", rng=np.random.default_rng(0)
    )
    vectorised = OpenVecEnv(batch)
    vectorised.reset()
    plain = [AcquisitionEnv(world, encoder, reward, learner=0, start="free") for _ in range(6)]

    def put(i: int) -> None:
        plain[i].reset()
        plain[i]._row[0], plain[i]._acquired[:] = batch.row[0, i], False

    for i in range(6):
        put(i)
    rng, masked, late = np.random.default_rng(1), 0, 0
    for _ in range(200):
        chosen = rng.choice(world.actions, size=6, p=[0.22, 0.22, 0.22, 0.22, 0.06, 0.06])
        vectorised.step_async(chosen)
        seen, gained, done, infos = vectorised.step_wait()
        for i in range(6):
            wanted, price, ended, truncated, info = plain[i].step(chosen[i])
            masked, late = masked + info["masked"], late + truncated
            assert gained[i] == pytest.approx(price)
            assert done[i] == (ended or truncated)
            if done[i]:
                assert infos[i]["TimeLimit.truncated"] == truncated
                np.testing.assert_array_equal(infos[i]["terminal_observation"], wanted)
                put(i)
            else:
                np.testing.assert_array_equal(seen[i], wanted)
                np.testing.assert_array_equal(
                    vectorised.env_method("action_masks")[i], plain[i].action_masks()
                )
    assert masked > 100
    assert late > 10


def test_an_agent_that_only_stops_has_no_verdict_and_acquires_what_pays():
    """One free choice: the panel costs nothing and halves the loss; stopping first does not."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(300, 2))
    world = World(
        "blocked",
        0,
        np.arange(300),
        values,
        np.array([[False, True]]),
        np.array([True, False]),
        np.ones((300, 1), dtype=bool),
        (values[:, 1] > 0).astype(np.int64),
        np.zeros(1),
        2,
        1,
    )
    loss = np.tile(np.array([1.0, 0.0], dtype=np.float32), (300, 1))
    environment = BatchedAcquisition(
        world,
        ValuesEncoder.of(world),
        StopReward(loss, np.ones(1, dtype=np.float32)),
        learners=1,
        episodes=16,
        start="free",
        rng=rng,
    )
    fit = fit_sb3(
        environment,
        algorithm="A2C",
        policy="MlpPolicy",
        steps=8000,
        arguments={"gamma": 1.0, "learning_rate": 0.005},
        rng=rng,
    )
    policy = Sb3Policy(
        fit.layers, fit.activation, fit.stochastic, True, np.zeros(2), np.ones(2), False
    )
    assert (policy.panels, policy.terminals) == (1, 1)
    episodes = roll_out(policy, world, uniforms=rng.random((300, 2)))
    assert episodes.verdict is None
    assert episodes.acquired.mean() > 0.99


@pytest.mark.parametrize("algorithm", ["PPO", "QRDQN"])
def test_stored_arrays_are_the_policy(algorithm):
    fit = fitted(algorithm)
    policy = policy_of(fit, greedy=True)
    again = Sb3Policy.from_arrays(policy.to_arrays(), {"greedy": True})
    values, acquired, available = states(30)
    np.testing.assert_array_equal(
        policy.action_probabilities(values, acquired, available),
        again.action_probabilities(values, acquired, available),
    )
    assert again.to_arrays().keys() == policy.to_arrays().keys()
    assert (again.activation, again.stochastic) == (policy.activation, policy.stochastic)


def without(arrays: dict, name: str) -> dict:
    return {k: v for k, v in arrays.items() if k != name}


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda a: without(a, "0.bias"), "lacks the array '0.bias'"),
        (lambda a: without(a, "0.weight"), "lacks the array '0.weight'"),
        (lambda a: without(a, "activation"), "lacks the array 'activation'"),
        (lambda a: a | {"own": np.zeros(1)}, "has the array 'own'; allowed are 0.weight, 0.bias"),
        (lambda a: a | {"1.bias": np.zeros(9, np.float32)}, r"'1.bias' of shape \(9\)"),
        (lambda a: a | {"0.bias": np.zeros(64)}, "'0.bias' of <f8 numbers; allowed: float32"),
        (lambda a: a | {"scale": np.zeros(5)}, "has 0.0 in the array 'scale'"),
        (lambda a: a | {"centre": np.full(5, np.nan)}, "has nan in the array 'centre'"),
        (lambda a: a | {"activation": np.array([9], np.uint8)}, "has 9 in the array 'activation'"),
        (
            lambda a: a | {"column_bits": np.ones(1, np.uint8)},
            "6 actions; allowed are 10 inputs for 5 columns",
        ),
    ],
)
def test_other_arrays_are_refused_in_one_sentence(spoil, sentence):
    arrays = policy_of(fitted("PPO"), greedy=True).to_arrays()
    with pytest.raises(DataError, match=sentence) as refusal:
        Sb3Policy.from_arrays(spoil(arrays), {"greedy": True})
    assert "\n" not in str(refusal.value)


def test_values_are_not_drawn_by_and_weights_too_large_are_stated():
    arrays = policy_of(fitted("DQN"), greedy=True).to_arrays()
    with pytest.raises(ConfigError, match="greedy false; its algorithm learns values"):
        Sb3Policy.from_arrays(arrays, {"greedy": False})
    with pytest.raises(ConfigError, match="greedy None; allowed are true and false"):
        Sb3Policy.from_arrays(arrays, {})
    values, acquired, available = states(3)
    arrays["scale"] = np.full(5, 1e-300)
    with pytest.raises(DataError, match="scores that are not numbers"), np.errstate(all="ignore"):
        Sb3Policy.from_arrays(arrays, {"greedy": True}).action_probabilities(
            values, acquired, available
        )


GOOD: dict[str, Any] = {"algorithm": "PPO", "policy": "MlpPolicy", "steps": 10, "arguments": {}}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"algorithm": "PP0"},
            "has the algorithm 'PP0'; allowed are A2C, ARS, DQN, MaskablePPO, PPO, QRDQN, TRPO",
        ),
        ({"algorithm": "SAC"}, "'SAC', which acts on continuous actions or has a memory; allowed"),
        ({"algorithm": "RecurrentPPO"}, "'RecurrentPPO', which acts on continuous"),
        ({"algorithm": "HerReplayBuffer"}, "'HerReplayBuffer'; allowed are A2C"),
        ({"policy": "CnnPolicy"}, "'CnnPolicy'; allowed for PPO are MlpPolicy"),
        ({"policy": "LinearPolicy"}, "'LinearPolicy'; allowed for PPO are MlpPolicy"),
        ({"steps": 0}, "0 steps; allowed are 1, 2, 3"),
        ({"arguments": {"gama": 1}}, "PPO has the argument 'gama'; allowed are learning_rate"),
        ({"arguments": {"device": "cuda"}}, "has the argument 'device'; allowed are"),
        (
            {"arguments": {"policy_kwargs": {"activation_fn": "sine"}}},
            "activation_fn 'sine'; allowed are tanh, relu",
        ),
        ({"arguments": {"policy_kwargs": {"lr": 1}}}, "'lr'; allowed are net_arch, activation_fn"),
        ({"arguments": {"policy_kwargs": 3}}, "policy_kwargs 3; allowed are names with values"),
        ({"arguments": {"policy_kwargs": {"net_arch": [8, -1]}}}, r"net_arch \[8, -1\]; allowed"),
    ],
)
def test_settings_are_refused_before_training(change, sentence):
    require_sb3(**GOOD)
    with pytest.raises(ConfigError, match=sentence) as refusal:
        require_sb3(**(GOOD | change))
    assert "\n" not in str(refusal.value)


def test_only_probabilities_are_drawn_from():
    require_law(stochastic=require_sb3(**GOOD), greedy=False)
    settings: dict[str, Any] = GOOD | {"algorithm": "DQN"}
    with pytest.raises(ConfigError, match="its algorithm learns values"):
        require_law(stochastic=require_sb3(**settings), greedy=False)


@pytest.mark.parametrize(
    "arguments",
    [
        {"learning_rate": "fast"},
        {"batch_size": 1},
        {"n_steps": 0},
        {"clip_range": "wide"},
        {"learning_rate": 1e30},
        {"n_epochs": "many"},
        {"gamma": None},
        {"policy_kwargs": {"optimizer_kwargs": {"speed": 1}}},
    ],
)
def test_what_stable_baselines3_refuses_is_one_sentence(arguments):
    with pytest.raises(ConfigError, match="PPO of stable-baselines3") as refusal:
        fitted("PPO", **arguments)
    assert "\n" not in str(refusal.value)


def test_sizes_of_actor_and_critic_and_a_network_without_hidden_layers():
    both = fitted("PPO", policy_kwargs={"net_arch": {"pi": [7, 6], "vf": [5]}})
    assert both.layers["1.weight"].shape == (7, 6)
    assert both.activation == "tanh"
    bare = fitted("DQN", policy_kwargs={"net_arch": []})
    assert bare.layers["0.weight"].shape == (9, 6)
    relu = fitted("A2C", policy_kwargs={"activation_fn": "relu"})
    assert relu.activation == "relu"


def test_a_linear_policy_without_biases():
    fit = fit_sb3(
        small_environment([PAIR], 8, start="free"),
        algorithm="ARS",
        policy="LinearPolicy",
        steps=300,
        arguments={"n_delta": 2},
        rng=np.random.default_rng(0),
    )
    assert list(fit.layers) == ["0.weight", "0.bias"]
    assert not fit.layers["0.bias"].any()
    assert fit.layers["0.weight"].any()
