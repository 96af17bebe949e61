"""Algorithms of stable-baselines3 and sb3-contrib on the batched decision process, by name.

Whatever the class, it learns from the same records as the other agents, and leaves a plain network.
Action masks are requested by `env_method("action_masks")`, or are at the end of the observation
for trainers whose memory keeps observations only (the reference DQN). All that stable-baselines3
does besides training is kept away from all others: global seeds, folders of logs. The only module
that knows it.
"""

import inspect
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import sb3_contrib
import stable_baselines3
import torch
from gymnasium import spaces
from jaxtyping import Float, Float32
from sb3_contrib.ars.policies import ARSPolicy
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from sb3_contrib.common.recurrent.policies import RecurrentActorCriticPolicy
from sb3_contrib.qrdqn.policies import QRDQNPolicy
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.dqn.policies import DQNPolicy
from torch import nn

from frugal.acquire.acquisition import BatchedAcquisition
from frugal.core.errors import ConfigError, FrugalError

ACTIVATION_TYPES: Mapping[str, type[nn.Module]] = {
    "tanh": nn.Tanh,
    "relu": nn.ReLU,
    "leaky_relu": nn.LeakyReLU,
    "elu": nn.ELU,
    "silu": nn.SiLU,
}
ACTORS = (ActorCriticPolicy, MaskableActorCriticPolicy)  # their network gives logits
FAMILIES: Mapping[type, Callable[[Any], list[nn.Module]]] = {
    ActorCriticPolicy: lambda policy: [*policy.mlp_extractor.policy_net, policy.action_net],
    MaskableActorCriticPolicy: lambda policy: [*policy.mlp_extractor.policy_net, policy.action_net],
    DQNPolicy: lambda policy: [*policy.q_net.q_net],
    QRDQNPolicy: lambda policy: [*policy.quantile_net.quantile_net],
    ARSPolicy: lambda policy: [*policy.action_net],
}  # policies of discrete actions whose network can be read: the modules from observation to scores
OURS = (
    "self",
    "policy",
    "env",
    "seed",
    "device",
    "verbose",
    "tensorboard_log",
    "stats_window_size",
    "use_sde",
    "sde_sample_freq",
    "_init_setup_model",
    "replay_buffer_class",
    "replay_buffer_kwargs",
    "rollout_buffer_class",
    "rollout_buffer_kwargs",
)
# … arguments that are set here, serve continuous actions, or are no plain values
POLICY_ARGUMENTS = (
    "net_arch",
    "activation_fn",
    "ortho_init",
    "optimizer_kwargs",
    "n_quantiles",
    "with_bias",
)
LOOKS = 20  # rows of the training curve
TELLING = 160  # characters of a foreign error that a sentence repeats


@contextmanager
def generators_put_back() -> Iterator[None]:
    """Put the global generators of Python, NumPy and torch back, which every trainer seeds."""
    states = np.random.get_state(legacy=False), torch.random.get_rng_state()  # noqa: NPY002
    kept_python = random.getstate()
    try:
        yield
    finally:
        np.random.set_state(states[0])  # noqa: NPY002
        torch.random.set_rng_state(states[1])
        random.setstate(kept_python)


def silence(learner: BaseAlgorithm) -> None:
    """Let a trainer log nothing; its own logger would make a folder among temporary files."""
    learner.set_logger(Logger(folder=None, output_formats=[]))


class AcquisitionVecEnv(VecEnv):
    """E episodes of one learner; an episode that ends goes on with a new unit.

    An action that the mask excludes is a mistake of the trainer and fails an assertion.
    """

    def __init__(self, environment: BatchedAcquisition, *, mask_in_observation: bool) -> None:
        """Wrap an environment of K = 1.

        Args:
            environment: the batched process.
            mask_in_observation: True appends the action mask, as 0 and 1, to the observation.
        """
        learners, episodes, width = environment.observation.shape
        assert learners == 1, "bug: stable-baselines3 trains one learner at a time"
        actions = environment.task.actions
        width += actions * mask_in_observation
        self._environment, self._append = environment, mask_in_observation
        self._no_infos: list[dict[str, Any]] = [{} for _ in range(episodes)]
        super().__init__(
            episodes, spaces.Box(-np.inf, np.inf, (width,), np.float32), spaces.Discrete(actions)
        )

    def reset(self) -> Float32[np.ndarray, "E w"]:
        """Current observations: the process restarts by itself and is never at an end."""
        self._seen = self._observe()
        return self._seen

    def step_async(self, actions: np.ndarray) -> None:
        """Keep the actions for `step_wait`."""
        self._actions = actions

    def step_wait(self) -> Any:
        """Observations, rewards, ends and infos of one step of all episodes."""
        last = self._seen
        reward, done = self._environment.step(self._actions[None])
        self._seen = self._observe()
        infos = self._no_infos
        if done.any():
            infos = list(infos)
            for i in np.flatnonzero(done[0]):
                infos[i] = {"terminal_observation": last[i], "TimeLimit.truncated": False}
        return self._seen, reward[0], done[0], infos

    def close(self) -> None:
        """Nothing is open."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """The attribute of the whole batch, once for each episode requested."""
        return [getattr(self, attr_name, None)] * len(self._chosen(indices))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Episodes share their attributes, so none can be set for one of them."""
        raise AttributeError(f"{attr_name!r} cannot be set on a batched environment")

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        """Answers `action_masks`, the one method that trainers call."""
        if method_name != "action_masks":
            raise AttributeError(f"a batched environment has no method {method_name!r}")
        mask = self._environment.action_mask[0]
        return [mask[i] for i in self._chosen(indices)]

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Never."""
        return [False] * len(self._chosen(indices))

    def has_attr(self, attr_name: str) -> bool:
        """True for `action_masks`: the trainer then reads masks."""
        return attr_name == "action_masks" or hasattr(self, attr_name)

    def _chosen(self, indices: int | Sequence[int] | None) -> Sequence[int]:
        return list(self._get_indices(indices))

    def _observe(self) -> Float32[np.ndarray, "E w"]:
        observation = self._environment.observation[0]
        if not self._append:
            return observation
        return np.hstack([observation, self._environment.action_mask[0].astype(np.float32)])


class OpenVecEnv(AcquisitionVecEnv):
    """The same for trainers that may know no masks.

    A masked action changes nothing and costs its panel's price; an episode is truncated after
    a + 1 steps. A reset begins every episode anew. It notes how episodes end.

    Attributes:
        transitions: so far, over all episodes.
        ends: at each step at which episodes ended: transitions so far, episodes that ended, and
            their sum of returns.
    """

    def __init__(self, environment: BatchedAcquisition) -> None:
        super().__init__(environment, mask_in_observation=False)
        self.ends: list[tuple[int, int, float]] = []
        self.transitions = 0
        self._steps = np.zeros(self.num_envs, dtype=np.int64)
        self._return: Float[np.ndarray, " E"] = np.zeros(self.num_envs)

    def reset(self) -> Float32[np.ndarray, "E w"]:
        """Observations of new episodes."""
        self._environment.restart(np.ones((1, self.num_envs), dtype=bool))
        self._steps[:], self._return[:] = 0, 0.0
        return super().reset()

    def step_wait(self) -> Any:
        """Observations, rewards, ends and infos of one step of all episodes."""
        last = self._seen
        gained, stopped = (part[0] for part in self._environment.attempt(self._actions[None]))
        self._steps += 1
        self._return += gained
        self.transitions += self.num_envs
        late = ~stopped & (self._steps > self._environment.task.panels)
        done, infos = stopped | late, list(self._no_infos)
        final = np.where(late[:, None], self._observe(), last)  # a terminal action changes no panel
        if late.any():
            self._environment.restart(late[None])
        for i in np.flatnonzero(done):
            infos[i] = {"terminal_observation": final[i], "TimeLimit.truncated": bool(late[i])}
        if done.any():
            ended = self.transitions, int(done.sum()), float(self._return[done].sum())
            self.ends.append(ended)
            self._steps[done], self._return[done] = 0, 0.0
        self._seen = self._observe()
        return self._seen, gained, done, infos


@dataclass(frozen=True, eq=False)
class Sb3Weights:
    """Output of training: the network that acts, and how training went.

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
    trainable = {name: kind for name, kind in _offered().items() if _family(kind) is not None}
    return dict(sorted(trainable.items(), key=lambda pair: pair[0].lower()))


def require_sb3(*, algorithm: str, policy: str, steps: int, arguments: Mapping[str, Any]) -> bool:
    """Whether the algorithm learns probabilities of actions, and not their values alone.

    Refuses settings that no training could follow, before anything is trained.

    Raises:
        ConfigError: names the setting, its value, and the values allowed.
    """
    kind = _algorithm(algorithm)
    _policy(algorithm, kind, policy)
    _arguments(algorithm, kind, policy, arguments)
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
        raise ConfigError(f"an agent of kind 'sb3' has {steps!r} steps; allowed are 1, 2, 3, …")
    return _family(kind) in ACTORS


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

    A setting that is not among the arguments has stable-baselines3's own default, `gamma` included.
    The global generators, which it seeds, are put back; it logs nothing.

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
            failed with them. The message states which.
    """
    kind = _algorithm(algorithm)
    chosen = _policy(algorithm, kind, policy)
    keywords = _arguments(algorithm, kind, policy, arguments)
    seed = int(rng.integers(2**31 - 1))
    torch.set_num_threads(1)
    vectorised = OpenVecEnv(environment)
    with generators_put_back():
        try:
            build: Any = kind
            learner = build(chosen, vectorised, seed=seed, device="cpu", **keywords)
            silence(learner)
            learner.learn(steps)
        except FrugalError:
            raise
        except (
            ArithmeticError,
            AssertionError,
            AttributeError,
            LookupError,
            RuntimeError,
            TypeError,
            ValueError,
        ) as error:
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
    kind = algorithms().get(name)
    if kind is None:
        why = ", which acts on continuous actions or has a memory" if name in _offered() else ""
        raise ConfigError(
            f"an agent of kind 'sb3' has the algorithm {name!r}{why}; allowed are "
            f"{', '.join(algorithms())}"
        )
    return kind


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
    algorithm: str, kind: type[BaseAlgorithm], policy: str, arguments: Mapping[str, Any]
) -> dict[str, Any]:
    """Arguments of the class, names of activations replaced and pairs as it wants them."""
    allowed = [name for name in inspect.signature(kind.__init__).parameters if name not in OURS]
    _require_names(f"{algorithm} has the argument", arguments, allowed)
    result = dict(arguments)
    if isinstance(result.get("train_freq"), list):
        result["train_freq"] = tuple(result["train_freq"])
    policy_kwargs = result.pop("policy_kwargs", None) or {}
    if not isinstance(policy_kwargs, Mapping):
        raise ConfigError(
            f"{algorithm} has policy_kwargs {policy_kwargs!r}; allowed are names with values"
        )
    parameters = inspect.signature(kind.policy_aliases[policy].__init__).parameters
    _require_names(
        f"the {policy} of {algorithm} has the argument",
        policy_kwargs,
        [name for name in POLICY_ARGUMENTS if name in parameters],
    )
    policy_kwargs = dict(policy_kwargs)
    if "activation_fn" in policy_kwargs:
        activation = policy_kwargs["activation_fn"]
        if activation not in ACTIVATION_TYPES:
            raise ConfigError(
                f"the {policy} of {algorithm} has activation_fn {activation!r}; allowed are "
                f"{', '.join(ACTIVATION_TYPES)}"
            )
        policy_kwargs["activation_fn"] = ACTIVATION_TYPES[activation]
    if "net_arch" in policy_kwargs:
        _require_sizes(f"the {policy} of {algorithm}", policy_kwargs["net_arch"], kind)
    return result | ({"policy_kwargs": policy_kwargs} if policy_kwargs else {})


def _require_names(subject: str, names: Mapping[str, Any], allowed: list[str]) -> None:
    for name in names:
        if name not in allowed:
            raise ConfigError(f"{subject} {name!r}; allowed are {', '.join(allowed) or 'none'}")


def _require_sizes(subject: str, sizes: Any, kind: type[BaseAlgorithm]) -> None:
    """A list of layer sizes; of an actor and critic also one list for each."""
    parts = [sizes]
    if isinstance(sizes, Mapping) and _family(kind) in ACTORS and set(sizes) == {"pi", "vf"}:
        parts = list(sizes.values())
    for part in parts:
        if not isinstance(part, list) or not all(type(n) is int and n > 0 for n in part):
            allowed = "a list of whole numbers above 0"
            if _family(kind) in ACTORS:
                allowed += ", or one each as pi and vf"
            raise ConfigError(f"{subject} has net_arch {sizes!r}; allowed is {allowed}")


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
    activation = next(name for name, layer_type in ACTIVATION_TYPES.items() if layer_type is kind)
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
