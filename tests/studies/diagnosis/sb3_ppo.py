"""Reference trainer: sb3-contrib's MaskablePPO on the batched decision process.

Takes the settings of the lock-step trainer and gives back weights by the same names, so that the
two can be compared number by number [diagnosis, app. D]. Must not know how the lock-step trainer
works, nor the data.
"""

from typing import Any

import numpy as np
import torch
from frugal.acquire.acquisition import BatchedAcquisition
from frugal.acquire.train.sb3 import AcquisitionVecEnv, generators_put_back, silence
from frugal.config.learners import PpoSettings
from jaxtyping import Float32
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from torch import nn

ACTIVATIONS = {"silu": nn.SiLU, "tanh": nn.Tanh}


def maskable_ppo(environment: Any, *, settings: PpoSettings, seed: int) -> MaskablePPO:
    """sb3-contrib's learner with these settings and discount 1.

    Args:
        environment: a vectorised environment of stable-baselines3 with `settings.episodes`.
        settings: the same as of the lock-step trainer; `compiled` is not read.
        seed: of weights, actions and order of steps.
    """
    learner = MaskablePPO(
        "MlpPolicy",
        environment,
        learning_rate=settings.learning_rate,
        n_steps=settings.steps // settings.episodes,
        batch_size=settings.batch,
        n_epochs=settings.epochs,
        gamma=1.0,
        gae_lambda=settings.gae_lambda,
        clip_range=settings.clip,
        ent_coef=settings.entropy_weight,
        vf_coef=settings.value_weight,
        max_grad_norm=settings.max_gradient_norm,
        policy_kwargs={
            "net_arch": list(settings.hidden),
            "activation_fn": ACTIVATIONS[settings.activation],
        },
        seed=seed,
        device="cpu",
    )
    silence(learner)
    return learner


def weights_of(policy: MaskableActorCriticPolicy) -> dict[str, Float32[np.ndarray, "..."]]:
    """Weights by the names of `ActorCritic.export`, with a leading axis of one learner."""
    result = {}
    extractor = policy.mlp_extractor
    nets = {
        "policy": (extractor.policy_net, policy.action_net),
        "value": (extractor.value_net, policy.value_net),
    }
    for part, (hidden, head) in nets.items():
        layers = [layer for layer in (*hidden, head) if isinstance(layer, nn.Linear)]
        for i, layer in enumerate(layers):
            result[f"{part}.{i}.weight"] = layer.weight.detach().numpy().T[None].copy()
            result[f"{part}.{i}.bias"] = layer.bias.detach().numpy()[None].copy()
    return result


def fit_sb3_ppo(
    environment: BatchedAcquisition,
    *,
    settings: PpoSettings,
    updates: int,
    rng: np.random.Generator,
) -> dict[str, Float32[np.ndarray, "..."]]:
    """Train the one learner of an environment; arguments and weights as of `fit_ppo`.

    stable-baselines3 seeds the global generators of Python, NumPy and torch; their states are put
    back afterwards.
    """
    torch.set_num_threads(1)
    with generators_put_back():
        vectorised = AcquisitionVecEnv(environment, mask_in_observation=False)
        seed = int(rng.integers(2**31 - 1))
        learner = maskable_ppo(vectorised, settings=settings, seed=seed)
        learner.learn(updates * settings.steps)
    return weights_of(learner.policy)
