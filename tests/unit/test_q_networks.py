import numpy as np
import pytest
import torch
from frugal.acquire.train.lockstep_dqn import QNetworks, fresh_weights

pytestmark = pytest.mark.trains

K, B, W, A = 3, 7, 5, 4


def slow_values(weights: dict[str, torch.Tensor], k: int, x: torch.Tensor) -> torch.Tensor:
    """One network by torch's own layers, for autograd."""
    for i in range(2):
        x = torch.relu(x @ weights[f"{i}.weight"][k] + weights[f"{i}.bias"][k])
    values = x @ weights["2.weight"][k] + weights["2.bias"][k]
    if "value.weight" in weights:
        worth = x @ weights["value.weight"][k] + weights["value.bias"][k]
        values = worth + values - values.mean(dim=1, keepdim=True)
    return values


def fresh(dueling: bool) -> dict[str, np.ndarray]:
    rngs = [np.random.default_rng(k) for k in range(K)]
    return fresh_weights(W, A, hidden=(6, 8), dueling=dueling, rngs=rngs)


@pytest.mark.parametrize("dueling", [False, True])
def test_values_and_gradient_equal_autograd(dueling):
    weights = fresh(dueling)
    networks = QNetworks(weights)
    rng = torch.Generator().manual_seed(0)
    x, slope = torch.randn(K, B, W, generator=rng), torch.randn(K, B, A, generator=rng)
    leaves = {name: torch.from_numpy(w).requires_grad_() for name, w in weights.items()}
    slow = torch.stack([slow_values(leaves, k, x[k]) for k in range(K)])
    (slow * slope).sum().backward()
    passed = networks.forward(x)
    networks.write_gradient(passed, slope)
    torch.testing.assert_close(passed.values, slow.detach(), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(networks.values(x), passed.values)
    for name, leaf in leaves.items():
        torch.testing.assert_close(
            networks.parameters.gradient_views[name], leaf.grad, rtol=1e-4, atol=1e-5
        )


def test_each_learner_is_clipped_by_its_own_length():
    networks = QNetworks(fresh(True))
    torch.manual_seed(0)
    networks.parameters.gradient.normal_()
    parts = {k: v.clone() for k, v in networks.parameters.gradient_views.items()}
    for part in networks.parameters.gradient_views.values():
        part[1] *= 1e-3
    networks.clip_gradient(0.5, epsilon=1e-6)
    for k in range(K):
        length = torch.cat([p[k].ravel() for p in parts.values()]).norm()
        factor = 1e-3 if k == 1 else 0.5 / (length + 1e-6)
        for name, part in networks.parameters.gradient_views.items():
            torch.testing.assert_close(part[k], parts[name][k] * factor)


def test_dueling_values_average_to_the_worth_of_the_state():
    networks = QNetworks(fresh(True))
    x = torch.randn(K, B, W, generator=torch.Generator().manual_seed(1))
    passed, views = networks.forward(x), networks.parameters.views
    worth = torch.baddbmm(views["value.bias"], passed.entering[-1], views["value.weight"])
    torch.testing.assert_close(passed.values.mean(dim=2, keepdim=True), worth)


def test_first_weights_do_not_depend_on_how_many_learners_there_are():
    together = fresh(True)
    alone = fresh_weights(W, A, hidden=(6, 8), dueling=True, rngs=[np.random.default_rng(2)])
    for name in together:
        np.testing.assert_array_equal(together[name][2], alone[name][0])
        bound = 1 / np.sqrt(together[name.replace("bias", "weight")].shape[1])
        assert np.abs(together[name]).max() <= bound


def test_exported_weights_rebuild_the_networks_and_are_copies():
    networks = QNetworks(fresh(False))
    exported = networks.export()
    networks.parameters.flat.zero_()
    again = QNetworks(exported)
    for name, array in fresh(False).items():
        np.testing.assert_array_equal(again.parameters.views[name].numpy(), array)
