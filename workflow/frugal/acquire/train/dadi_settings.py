"""Settings of a DADI agent: sizes, schedule, and what it is rewarded for.

Holds names and ranges only; it must not know data, networks or files.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import inf
from typing import Any

from frugal.core.errors import ConfigError

OBJECTIVES = ("demographic_parity", "equal_opportunity", "equalised_odds")
REWARDS = ("difference", "terminal")
RETURNS = ("n_step", "watkins")
_MAY_BE_ZERO = (
    "pretraining_iterations",
    "iterations",
    "exploration_iterations",
    "cost_weight",
)


@dataclass(frozen=True, kw_only=True)
class DadiSettings:
    """How a DADI agent is built and trained  [dadi, app. C].

    Attributes:
        memory_width: units in each of the two hidden layers of the memory network.
        encoding_width: width of a memory vector, and units of the LSTM.
        processing_steps: how often the memory is read.
        head_width: units in each of the two hidden layers of classifier, adversary and policy.
        pretraining_iterations: steps of classifier and adversary before the policy learns.
        iterations: joint steps; each is `window` decisions of `agents` agents.
        agents: units acquired for at the same time, and the batch of pretraining; even.
        window: n of the n-step returns.
        returns: "n_step", as in the paper, which count whatever follows a decision in its window,
            or "watkins", which go on with the value of the state before the first later decision
            that is not the greedy one.
        learning_rate: of Adam, in pretraining and until it falls.
        decay_share: share of the joint iterations, at the end, during which it falls in a straight
            line; 0, as in the paper, if it does not.
        decay_to: what is left of it in the last iteration, as a share.
        target_every: iterations between two copies of the target network.
        exploration_start: probability of a random decision at first.
        exploration_end: the same from `exploration_iterations` on.
        exploration_iterations: over which it falls in a straight line.
        objective: which gap the adversary stands for.
        reward: "difference" of the combined loss after each decision, or "terminal" only.
        group_normalised: whether each sensitive group weighs the same in the losses.
        cost_weight: reward lost per unit of acquisition cost, in nats per unit of cost.
        evaluate_every: iterations between two evaluations on validation units.
        evaluated_rows: validation units of an evaluation, at most.
        checkpoint_every: iterations between two checkpoints.
        compiled: whether the encoder runs through torch.compile; results differ in rounding.
    """

    memory_width: int
    encoding_width: int
    processing_steps: int
    head_width: int
    pretraining_iterations: int
    iterations: int
    agents: int
    window: int
    returns: str
    learning_rate: float
    decay_share: float
    decay_to: float
    target_every: int
    exploration_start: float
    exploration_end: float
    exploration_iterations: int
    objective: str
    reward: str
    group_normalised: bool
    cost_weight: float
    evaluate_every: int
    evaluated_rows: int
    checkpoint_every: int
    compiled: bool

    def __post_init__(self) -> None:
        for name, allowed in (
            ("objective", OBJECTIVES),
            ("reward", REWARDS),
            ("returns", RETURNS),
        ):
            if getattr(self, name) not in allowed:
                raise ConfigError(
                    f"{name} of a DADI agent is {getattr(self, name)!r}; allowed are "
                    f"{', '.join(allowed)}"
                )
        for field in fields(self):
            value, lowest = getattr(self, field.name), 0 if field.name in _MAY_BE_ZERO else 1
            if field.type is int and (type(value) is not int or value < lowest):
                raise ConfigError(
                    f"{field.name} of a DADI agent is {value!r}; it is a whole number from {lowest}"
                )
        for name in ("exploration_start", "exploration_end", "decay_share", "decay_to"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(
                    f"{name} of a DADI agent is {getattr(self, name)}; it lies between 0 and 1"
                )
        if self.exploration_end > self.exploration_start:
            raise ConfigError(
                f"exploration of a DADI agent rises from {self.exploration_start} to "
                f"{self.exploration_end}; exploration_end lies at or below exploration_start"
            )
        if not 0 < self.learning_rate < inf:
            raise ConfigError(
                f"learning_rate of a DADI agent is {self.learning_rate}; it is a finite "
                "number above 0"
            )
        if not 0 <= self.cost_weight < inf:
            raise ConfigError(
                f"cost_weight of a DADI agent is {self.cost_weight}; it is a finite "
                "number, not below 0"
            )
        if self.agents % 2:
            raise ConfigError(
                f"a DADI agent trains {self.agents} agents at a time; the number must be even, "
                "since half of a pretraining batch holds full sets"
            )

    @classmethod
    def read(cls, training: Mapping[str, Any]) -> "DadiSettings":
        """Settings from a document, with every key and no other.

        Raises:
            ConfigError: a key is missing or unknown, or a value is out of range.
        """
        names = [field.name for field in fields(cls)]
        missing = [name for name in names if name not in training]
        unknown = [name for name in training if name not in names]
        if missing or unknown:
            raise ConfigError(
                f"the settings of a DADI agent lack {', '.join(missing) or 'nothing'} and have the "
                f"unknown keys {', '.join(unknown) or 'none'}; known are {', '.join(names)}"
            )
        return cls(**training)

    @property
    def adversary_reads_label(self) -> bool:
        """Whether the adversary is told the label."""
        return self.objective == "equalised_odds"

    def exploration(self, iteration: int) -> float:
        """ε: probability of a random decision in an iteration, from 0."""
        if iteration >= self.exploration_iterations:
            return self.exploration_end
        done = iteration / self.exploration_iterations
        return self.exploration_start + done * (self.exploration_end - self.exploration_start)

    def learning_rate_at(self, iteration: int) -> float:
        """Learning rate of a joint iteration, from 0."""
        left, falling = self.iterations - 1 - iteration, round(self.decay_share * self.iterations)
        if left >= falling:
            return self.learning_rate
        end = self.decay_to * self.learning_rate
        return end + (self.learning_rate - end) * left / falling
