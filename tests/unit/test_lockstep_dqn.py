import numpy as np
import pytest
import torch
from frugal.acquire.train.lockstep_dqn import Batch, DqnTrainer, QNetworks, fit_dqn, fresh_weights
from frugal.config.learners import DqnSettings
from frugal.core.errors import ConfigError

from tests.unit.acquisition_cases import PAIRS, small_environment
from tests.unit.double_precision import GAP, LAST_PLACE, double_precision

pytestmark = pytest.mark.trains

SHORT = DqnSettings(
    dueling=True,
    learning_rate=0.003,
    learning_rate_last=1e-5,
    batch=16,
    memory=300,
    learning_starts=64,
    target_every=64,
    epsilon_last=0.3,
    episodes=16,
    transitions=640,
)


def test_what_a_learner_learns_does_not_depend_on_the_others(monkeypatch):
    forward = QNetworks.forward
    monkeypatch.setattr(QNetworks, "forward", lambda self, seen: forward(self, seen.double()))
    monkeypatch.setattr(QNetworks, "export", _in_float32)
    with double_precision():
        fits = [
            fit_dqn(
                small_environment(pairs, 16, start="random"),
                settings=SHORT,
                moments=2,
                rngs=[np.random.default_rng(seed) for seed in seeds],
            )
            for pairs, seeds in ((PAIRS, (5, 6, 7)), (PAIRS[1:2], (6,)))
        ]
    for name, together in fits[0].weights.items():
        apart = fits[1].weights[name][0]
        np.testing.assert_allclose(together[1], apart, rtol=LAST_PLACE, atol=GAP)


def _in_float32(networks: QNetworks) -> dict[str, np.ndarray]:
    return {k: v.to(torch.float32).numpy() for k, v in networks.parameters.views.items()}


def test_a_second_run_is_identical():
    one, two = (
        fit_dqn(
            small_environment(PAIRS[:1], 16, start="free"),
            settings=SHORT,
            moments=4,
            rngs=[np.random.default_rng(0)],
        )
        for _ in range(2)
    )
    for name, weights in one.weights.items():
        np.testing.assert_array_equal(weights, two.weights[name])
    np.testing.assert_array_equal(one.transitions, [160, 320, 480, 640])
    np.testing.assert_array_equal(one.td_error, two.td_error)
    assert np.isfinite(one.mean_return).all()


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("bound", [None, 0.25])
def test_the_update_follows_its_formula(double, bound):
    rng = np.random.default_rng(0)
    settings = SHORT.changed(double=double, huber_bound=bound, discount=0.9, max_gradient_norm=1e9)
    weights = fresh_weights(3, 4, hidden=(5,), dueling=False, rngs=[rng])
    trainer = DqnTrainer(weights, settings)
    trainer.target.parameters.flat.mul_(-1.5)
    state, after = (torch.from_numpy(rng.normal(size=(1, 6, 3)).astype(np.float32)) for _ in "ab")
    mask = torch.from_numpy(rng.random((1, 6, 4)) < 0.5)
    mask[:, :, 3] = True
    action = torch.from_numpy(rng.integers(4, size=(1, 6)))
    reward = torch.from_numpy(rng.normal(size=(1, 6)).astype(np.float32))
    done = torch.tensor([[0.0, 1, 0, 0, 1, 0]])
    next_value = trainer.target.values(after)
    leaves = {k: torch.from_numpy(v[0]).requires_grad_() for k, v in weights.items()}

    def value(x: torch.Tensor) -> torch.Tensor:
        top = torch.relu(x @ leaves["0.weight"] + leaves["0.bias"])
        return top @ leaves["1.weight"] + leaves["1.bias"]

    losses = []
    for i in range(6):
        allowed = [a for a in range(4) if mask[0, i, a]]
        choice = value(after[0, i])[0].detach() if double else next_value[0, i]
        best = max(allowed, key=lambda a: float(choice[a]))
        goal = reward[0, i] + 0.9 * (1 - done[0, i]) * next_value[0, i, best]
        error = value(state[0, i])[0, action[0, i]] - goal
        kept = error.abs() if bound is None else error.abs().clamp(max=bound)
        losses.append(kept * error.abs() - kept**2 / 2)
    torch.stack(losses).mean().backward()
    trainer.learn(Batch(state, action, reward, done, after, mask, next_value))
    for name, leaf in leaves.items():
        ours = trainer.online.parameters.gradient_views[name][0]
        torch.testing.assert_close(ours, leaf.grad, rtol=1e-4, atol=1e-6)


def test_exploration_falls_linearly_and_then_stays():
    settings = SHORT.changed(transitions=1000, exploration_share=0.4)
    found = [settings.epsilon(t) for t in (0, 100, 200, 400, 1000)]
    assert found == pytest.approx([1.0, 0.825, 0.65, 0.3, 0.3])


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"transitions_per_update": 7}, "must divide `episodes`, 16"),
        ({"memory": 8}, "must not be below `episodes`, 16"),
        ({"learning_starts": 640}, "must be below `transitions`, 640, or nothing is learned"),
    ],
)
def test_settings_that_do_not_fit_are_refused(changed, sentence):
    with pytest.raises(ConfigError, match=sentence):
        DqnSettings.of(SHORT.plain() | {"hidden": [64]} | changed)
