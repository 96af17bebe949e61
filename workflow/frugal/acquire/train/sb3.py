"""Agents trained by an algorithm of stable-baselines3 or sb3-contrib, named in a config.

Any algorithm for discrete actions and without memory. It trains through `OpenVecEnv`: with masks
where it knows them, else a masked action is paid for and changes nothing. Knows neither data nor
the policy that its weights become (`sb3_policy`).
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import sb3_contrib
import stable_baselines3
import torch
from jaxtyping import Float32
from sb3_contrib.ars.policies import ARSPolicy
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from sb3_contrib.common.recurrent.policies import RecurrentActorCriticPolicy
from sb3_contrib.qrdqn.policies import QRDQNPolicy
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.dqn.policies import DQNPolicy
from torch import nn

from frugal.acquire.acquisition import BatchedAcquisition
from frugal.acquire.policies.sb3_policy import require_law
from frugal.acquire.sb3_adapter import OpenVecEnv, generators_put_back, silence
from frugal.core.errors import ConfigError, FrugalError

ACTIVATION_TYPES: Mapping[str, type[nn.Module]] = {
    "tanh": nn.Tanh, "relu": nn.ReLU, "leaky_relu": nn.LeakyReLU, "elu": nn.ELU, "silu": nn.SiLU,
}  # fmt: skip
ACTORS = (ActorCriticPolicy, MaskableActorCriticPolicy)  # their network gives logits
FAMILIES: Mapping[type, Callable[[Any], list[nn.Module]]] = {
    ActorCriticPolicy: lambda policy: [*policy.mlp_extractor.policy_net, policy.action_net],
    MaskableActorCriticPolicy: lambda policy: [*policy.mlp_extractor.policy_net, policy.action_net],
    DQNPolicy: lambda policy: [*policy.q_net.q_net],
    QRDQNPolicy: lambda policy: [*policy.quantile_net.quantile_net],
    ARSPolicy: lambda policy: [*policy.action_net],
}  # policies of discrete actions whose network can be read: the modules from observation to scores
OURS = (
    "self", "policy", "env", "seed", "device", "verbose", "tensorboard_log", "stats_window_size",
    "use_sde", "sde_sample_freq", "_init_setup_model", "replay_buffer_class",
    "replay_buffer_kwargs", "rollout_buffer_class", "rollout_buffer_kwargs",
)  # fmt: skip
# … arguments that are set here, serve continuous actions, or are no plain values
POLICY_ARGUMENTS = (
    "net_arch", "activation_fn", "ortho_init", "optimizer_kwargs", "n_quantiles", "with_bias",
)  # fmt: skip
LOOKS = 20  # rows of the training curve
TELLING = 160  # characters of a foreign error that a sentence repeats


@dataclass(frozen=True, eq=False)
class Sb3Weights:
    """What training leaves: the network that acts, and how training went.

    Attributes:
        layers: of layer i, "i.weight" (in, out) and "i.bias" (out,); the last has an output for
            each action.
        activation: between layers.
        stochastic: True where outputs are logits of an actor, False where they are values.
        curve: `transitions` and `mean_return` of the episodes that ended since the row before, in
            the unit of the reward; NaN where none ended.
    """

    layers: Mapping[str, Float32[np.ndarray, "..."]]
    activation: str
    stochastic: bool
    curve: pd.DataFrame


@cache
def algorithms() -> Mapping[str, type[BaseAlgorithm]]:
    """The algorithms that can train an agent, by name, in alphabetical order."""
    found = {name: kind for name, kind in _offered().items() if _family(kind) is not None}
    return dict(sorted(found.items(), key=lambda pair: pair[0].lower()))


def require_sb3(
    *, algorithm: str, policy: str, steps: int, arguments: Mapping[str, Any], greedy: bool
) -> None:
    """Refuse settings that no training could follow, before anything is trained.

    Raises:
        ConfigError: names the setting, what it is, and what is allowed.
    """
    kind = _algorithm(algorithm)
    _policy(algorithm, kind, policy)
    _arguments(algorithm, kind, policy, arguments)
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
        raise ConfigError(f"an agent of kind 'sb3' has {steps!r} steps; allowed are 1, 2, 3, …")
    require_law(stochastic=_family(kind) in ACTORS, greedy=greedy)


def fit_sb3(
    environment: BatchedAcquisition,
    *,
    algorithm: str,
    policy: str,
    steps: int,
    arguments: Mapping[str, Any],
    rng: np.random.Generator,
) -> Sb3Weights:
    """Train the one learner of an environment.

    What is not among the arguments has stable-baselines3's own default, `gamma` included. The
    global generators, which it seeds, are put back; it logs nothing.

    Args:
        environment: of one learner.
        algorithm: name of a class of stable-baselines3 or sb3-contrib.
        policy: "MlpPolicy", or "LinearPolicy" where the algorithm has it.
        steps: transitions over all episodes; algorithms finish the rollout that they began.
        arguments: of the class, as plain values; `policy_kwargs` may have `POLICY_ARGUMENTS`, with
            `activation_fn` by name.
        rng: draws the seed of weights, actions and order of steps.

    Raises:
        ConfigError: the algorithm, its policy or an argument is not allowed; or the training
            failed with them. One sentence says which.
    """
    kind = _algorithm(algorithm)
    chosen = _policy(algorithm, kind, policy)
    given = _arguments(algorithm, kind, policy, arguments)
    seed = int(rng.integers(2**31 - 1))
    torch.set_num_threads(1)
    vectorised = OpenVecEnv(environment)
    with generators_put_back():
        try:
            build: Any = kind
            learner = build(chosen, vectorised, seed=seed, device="cpu", **given)
            silence(learner)
            learner.learn(steps)
        except FrugalError:
            raise
        except (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError,
                TypeError, ValueError) as error:  # fmt: skip
            raise ConfigError(
                f"{algorithm} of stable-baselines3 cannot train with these arguments: "
                f"{type(error).__name__}: {_first_line(error)}"
            ) from error
    return _weights(algorithm, learner.policy, _curve(vectorised))


def _offered() -> dict[str, type[BaseAlgorithm]]:
    """All algorithms of both packages."""
    return {
        name: kind
        for package in (stable_baselines3, sb3_contrib)
        for name in package.__all__
        if inspect.isclass(kind := getattr(package, name)) and issubclass(kind, BaseAlgorithm)
    }


def _family(kind: type[BaseAlgorithm]) -> type | None:
    """Of which family its policy is; None: for continuous actions, with memory, or unknown."""
    policy = kind.policy_aliases.get("MlpPolicy", object)
    if issubclass(policy, RecurrentActorCriticPolicy):
        return None
    return next((family for family in FAMILIES if issubclass(policy, family)), None)


def _algorithm(name: str) -> type[BaseAlgorithm]:
    found = algorithms().get(name)
    if found is None:
        why = ", which acts on continuous actions or has a memory" if name in _offered() else ""
        raise ConfigError(
            f"an agent of kind 'sb3' has the algorithm {name!r}{why}; allowed are "
            f"{', '.join(algorithms())}"
        )
    return found


def _policy(algorithm: str, kind: type[BaseAlgorithm], name: str) -> type:
    """The policy class of a name; those for images and dictionaries are not for these states."""
    flat = {
        alias: policy
        for alias, policy in kind.policy_aliases.items()
        if alias in ("MlpPolicy", "LinearPolicy")
    }
    if name not in flat:
        raise ConfigError(
            f"an agent of kind 'sb3' has the policy {name!r}; allowed for {algorithm} are "
            f"{', '.join(flat)}"
        )
    return flat[name]


def _arguments(
    algorithm: str, kind: type[BaseAlgorithm], policy: str, given: Mapping[str, Any]
) -> dict[str, Any]:
    """Arguments of the class, names of activations replaced and pairs as it wants them."""
    allowed = [name for name in inspect.signature(kind.__init__).parameters if name not in OURS]
    _require_names(f"{algorithm} has the argument", given, allowed)
    result = dict(given)
    if isinstance(result.get("train_freq"), list):
        result["train_freq"] = tuple(result["train_freq"])
    own = result.pop("policy_kwargs", None) or {}
    if not isinstance(own, Mapping):
        raise ConfigError(f"{algorithm} has policy_kwargs {own!r}; allowed are names with values")
    parameters = inspect.signature(kind.policy_aliases[policy].__init__).parameters
    _require_names(
        f"the {policy} of {algorithm} has the argument",
        own,
        [name for name in POLICY_ARGUMENTS if name in parameters],
    )
    own = dict(own)
    if "activation_fn" in own:
        activation = own["activation_fn"]
        if activation not in ACTIVATION_TYPES:
            raise ConfigError(
                f"the {policy} of {algorithm} has activation_fn {activation!r}; allowed are "
                f"{', '.join(ACTIVATION_TYPES)}"
            )
        own["activation_fn"] = ACTIVATION_TYPES[activation]
    if "net_arch" in own:
        _require_sizes(f"the {policy} of {algorithm}", own["net_arch"], kind)
    return result | ({"policy_kwargs": own} if own else {})


def _require_names(what: str, given: Mapping[str, Any], allowed: list[str]) -> None:
    for name in given:
        if name not in allowed:
            raise ConfigError(f"{what} {name!r}; allowed are {', '.join(allowed) or 'none'}")


def _require_sizes(what: str, sizes: Any, kind: type[BaseAlgorithm]) -> None:
    """A list of layer sizes; of an actor and critic also one list for each."""
    parts = [sizes]
    if isinstance(sizes, Mapping) and _family(kind) in ACTORS and set(sizes) == {"pi", "vf"}:
        parts = list(sizes.values())
    for part in parts:
        if not isinstance(part, list) or not all(type(n) is int and n > 0 for n in part):
            allowed = "a list of whole numbers above 0"
            if _family(kind) in ACTORS:
                allowed += ", or one each as pi and vf"
            raise ConfigError(f"{what} has net_arch {sizes!r}; allowed is {allowed}")


def _weights(algorithm: str, policy: Any, curve: pd.DataFrame) -> Sb3Weights:
    """The acting network of a trained policy.

    Raises:
        ConfigError: a weight is not a number.
    """
    family = next(family for family in FAMILIES if isinstance(policy, family))
    modules = FAMILIES[family](policy)
    result = {}
    linear = [module for module in modules if isinstance(module, nn.Linear)]
    for i, layer in enumerate(linear):
        weight = layer.weight.detach().numpy().T
        bias = np.zeros(weight.shape[1], dtype=np.float32)  # of a network without biases
        if layer.bias is not None:
            bias = layer.bias.detach().numpy()
        if i == len(linear) - 1 and family is QRDQNPolicy:  # the mean of quantiles is linear
            quantiles = (-1, policy.n_quantiles, policy.action_space.n)
            weight, bias = (part.reshape(quantiles).mean(axis=1) for part in (weight, bias))
            bias = bias[0]
        result[f"{i}.weight"] = np.ascontiguousarray(weight)
        result[f"{i}.bias"] = bias.copy()
    if not all(np.isfinite(array).all() for array in result.values()):
        raise ConfigError(
            f"{algorithm} of stable-baselines3 ended with weights that are not numbers; lower its "
            "learning_rate"
        )
    between = [module for module in modules if not isinstance(module, nn.Linear)]
    kind = type(between[0]) if between else nn.Tanh  # without hidden layers any will do
    activation = next(name for name, known in ACTIVATION_TYPES.items() if known is kind)
    return Sb3Weights(result, activation, family in ACTORS, curve)


def _curve(vectorised: OpenVecEnv) -> pd.DataFrame:
    """Mean return of the episodes that ended in each of `LOOKS` parts of the training."""
    ends = np.array(vectorised.ends, dtype=float).reshape(-1, 3)
    last = vectorised.transitions
    cuts = np.ceil(last * np.arange(1, LOOKS + 1) / LOOKS).astype(np.int64)
    part = np.searchsorted(cuts, ends[:, 0])
    count, total = (np.bincount(part, weights=ends[:, i], minlength=LOOKS) for i in (1, 2))
    mean = np.divide(total, count, out=np.full(LOOKS, np.nan), where=count > 0)
    return pd.DataFrame({"transitions": cuts, "mean_return": mean})


def _first_line(error: BaseException) -> str:
    text = next((line.strip() for line in str(error).splitlines() if line.strip()), "no reason")
    return text if len(text) <= TELLING else text[: TELLING - 1] + "…"
