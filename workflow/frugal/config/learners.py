"""Blocks of learners: networks, trees, imputers, and the kinds that files declare.

Knows no study.
"""

from collections.abc import Iterator
from typing import Annotated, Literal

from annotated_types import Ge, Le, Len, Lt
from pydantic import StringConstraints

from frugal.config.blocks import (
    Block,
    Count,
    Layers,
    NonNegative,
    Positive,
    PositivePair,
    Probability,
    ProbabilityPair,
    Share,
    Two,
    UpToOne,
    Whole,
    optional,
    required,
    setting,
)

Activation = Literal["silu", "tanh"]
MissingPanels = Literal["blocked", "weighted"]  # a row acts with what it has; or counts for others


class Boosting(Block):
    """Boosted trees."""

    trees: Count = setting(100)
    leaves: Two = setting(15)
    learning_rate: Positive = setting(0.1)
    min_leaf: Count = setting(50, "rows")


class BoostingSettings(Block):
    """Boosted trees that are cross-fitted."""

    trees: Count = setting(150, "at most; the loss on held-out rows decides how many are kept")
    leaves: Two = setting(8)
    learning_rate: Positive = setting(0.08)
    min_leaf: Count = setting(40, "rows; a fifteenth of the rows if that is less")
    ridge: NonNegative = setting(5.0, "penalty of leaf values")
    column_share: UpToOne = setting(0.6, "drawn for each tree")
    row_share: UpToOne = setting(0.8, "drawn for each tree")
    folds: Two = setting(3, "of cross-fitting")
    repeats: Count = setting(2, "divisions into folds whose trees are averaged")


class Gains(Block):
    """Trees that predict the gain of a panel, on either half of the rows."""

    trees: Count = setting(20)
    leaves: Two = setting(8)
    learning_rate: Positive = setting(0.2)
    min_leaf: Count = setting(80, "rows; a fifteenth of the rows if that is less")
    ridge: NonNegative = setting(5.0, "penalty of leaf values")


class MaskedNetworkSettings(Block):
    """A network of all sets of panels."""

    copies: Count = setting(8, "of each row, in each of which other panels are hidden")
    hidden: Count = setting(128, "units of a hidden layer")
    layers: Count = setting(2, "hidden ones")
    epochs: Count = setting(6, "passes over the copies")
    batch: Count = setting(512, "copies in a step")
    learning_rate: Positive = setting(0.002, "highest of a cycle")
    weight_decay: NonNegative = setting(0.003, "penalty of squared weights")


class DqnSettings(Block):
    """Deep Q-learning."""

    hidden: Layers = setting([64, 64], "units of each hidden layer")
    double: bool = setting(True, "the online network chooses the next action")
    dueling: bool = setting(False, "Q = V + A − mean A")
    huber_bound: Positive | None = setting(
        None, "errors beyond it count linearly; null: squared error"
    )
    learning_rate: Positive = setting(0.001, "at first")
    learning_rate_last: Positive = setting(0.0001, "at the end; it falls linearly")
    discount: Probability = setting(1.0)
    batch: Count = setting(64, "transitions in an update")
    memory: Count = setting(20000, "transitions kept")
    learning_starts: Count = setting(1000, "transitions before the first update")
    transitions_per_update: Count = setting(8, "divides `episodes`")
    target_every: Count = setting(1000, "transitions between two copies into the target network")
    exploration_share: Probability = setting(0.5, "of the transitions, in which ε falls")
    epsilon_first: Probability = setting(1.0, "ε of ε-greedy exploration at first")
    epsilon_last: Probability = setting(0.05, "and from then on")
    max_gradient_norm: Positive = setting(10.0)
    episodes: Count = setting(64, "run side by side")
    transitions: Count = setting(40000, "of all episodes together")

    def _refusals(self) -> Iterator[str]:
        if self.episodes % self.transitions_per_update:
            yield (
                f".transitions_per_update is {self.transitions_per_update}; it must divide "
                f"`episodes`, {self.episodes}"
            )
        if self.memory < self.episodes:
            yield (f".memory is {self.memory}; it must not be below `episodes`, {self.episodes}")
        if self.learning_starts >= self.transitions:
            yield (
                f".learning_starts is {self.learning_starts}; it must be below `transitions`, "
                f"{self.transitions}, or nothing is learned"
            )

    def epsilon(self, transitions: int) -> float:
        """ε after so many transitions of a learner."""
        done = transitions / max(1.0, self.exploration_share * self.transitions)
        return self.epsilon_first + min(done, 1.0) * (self.epsilon_last - self.epsilon_first)


class DqnAgent(DqnSettings):
    """The DQN of blocked records."""

    double: bool = setting(False, "the online network chooses the next action")
    huber_bound: Positive | None = setting(
        None, "of errors, in largest misclassification costs; linear beyond; null: squared error"
    )
    learning_rate: Positive = setting(0.003, "at first")
    learning_rate_last: Positive = setting(0.00003, "at the end; it falls linearly")
    batch: Count = setting(256, "transitions in an update")
    memory: Count = setting(200000, "transitions kept")
    transitions_per_update: Count = setting(64, "divides `episodes`")
    target_every: Count = setting(1024, "transitions between two copies into the target network")
    epsilon_last: Probability = setting(0.2, "and from then on")
    episodes: Count = setting(256, "run side by side")
    transitions: Count = setting(200000, "of all episodes together")
    start: Literal["free", "random"] = setting(
        "free", "random: each available panel is known at first with probability ½"
    )
    moments: Count = setting(40, "rows of the training curve")


class TreeSettings(Block):
    """Of every regression of chained boosted trees."""

    trees: Count = setting(60, "most of a regression; held-out rows determine how many are kept")
    leaves: Two = setting(15)
    learning_rate: Positive = setting(0.15)
    min_leaf: Count = setting(20)
    linear_penalty: Positive = setting(10.0, "of squared slopes, in standard deviations")


class ChainedTreesSettings(TreeSettings):
    """Chained boosted trees."""

    rounds: Count = setting(2)


class EmflowSettings(Block):
    """EMFlow."""

    couplings: Count = setting(8)
    hidden: Layers = setting([32, 32], "units of each hidden layer")
    passes: Annotated[int, Ge(1), Le(1000)] = setting(2, "imputations of a row")
    mask_draws: Count = setting(10, "epochs, each under masks of its own")
    hidden_share: ProbabilityPair = setting([0.1, 0.9], "lowest and highest share hidden of a row")
    batch: Count = setting(256, "rows")
    learning_rate: Positive = setting(0.001)
    weight_decay: NonNegative = setting(0.000001)
    alpha: NonNegative = setting(1000000.0, "weight of the squared error")
    em_scale: Positive = setting(0.99, "of ρ_t")
    em_power: Positive = setting(0.8, "of ρ_t")

    def _refusals(self) -> Iterator[str]:
        if self.hidden_share[0] > self.hidden_share[1]:
            yield f".hidden_share is {self.hidden_share}; the lowest share must come first"


class MissForest(Block):
    """MissForest."""

    forest: Literal["histogram", "scikit-learn"] = setting("histogram")
    trees: Count = setting(30)
    min_leaf_numeric: Count = setting(5)
    min_leaf_categorical: Count = setting(1)
    max_rounds: Count = setting(4)
    max_train_rows: Count | None = setting(None)


class PpoSettings(Block):
    """Proximal policy optimisation."""

    hidden: Layers = setting([64, 64], "units of each hidden layer")
    activation: Activation = setting("silu")
    learning_rate: Positive = setting(0.001)
    steps: Count = setting(512, "of a learner between two updates")
    episodes: Count = setting(64, "run side by side; divides steps")
    batch: Two = setting(128, "steps in a minibatch")
    epochs: Count = setting(6, "passes over the steps of an update")
    clip: Positive = setting(0.2)
    gae_lambda: Probability = setting(0.95)
    value_weight: NonNegative = setting(0.5)
    entropy_weight: NonNegative = setting(0.0)
    max_gradient_norm: Positive = setting(0.5)
    compiled: bool = setting(False, "torch.compile; needs a C++ compiler")

    def _refusals(self) -> Iterator[str]:
        if self.steps % self.episodes:
            yield f".episodes is {self.episodes}; it must divide `steps`, {self.steps}"
        if self.steps % self.batch == 1:
            yield (
                f".batch is {self.batch}; of {self.steps} `steps` the last minibatch would be a "
                "single step, whose advantage cannot be normalised"
            )


class ClassifierSettings(Block):
    """A network that predicts the class of a completed state."""

    hidden: Layers = setting([64, 64], "units of each hidden layer")
    activation: Activation = setting("silu")
    learning_rate: Positive = setting(0.001)
    batch: Count = setting(256, "states in a minibatch")
    class_weights: PositivePair = setting([1.0, 1.0], "of the first and the second class")


class BoostedSettings(Block):
    """One boosted model of all sets of panels, for all policies that are trained together."""

    boosting: BoostingSettings = setting(BoostingSettings(leaves=24, repeats=1))
    copies: Count = setting(4, "of each row, in each of which other panels are hidden")
    refits: Whole = required(
        "times that it learns from the states visited, too, at even distances; none if it is "
        "pretrained and not tuned"
    )

    def refitted_after(self, outer_loops: int) -> set[int]:
        """Outer loops after which it is fitted anew, at even distances."""
        parts = self.refits + 1
        return {round(outer_loops * k / parts) for k in range(1, parts)} - {0, outer_loops}


class SmDdpoTraining(Block):
    """SM-DDPO, algorithm 1; settings that all methods share."""

    ppo: PpoSettings = setting(PpoSettings())
    classifier: ClassifierSettings | BoostedSettings = setting(
        ClassifierSettings(class_weights=[1.0, 3.0])
    )
    outer_loops: Count = setting(64, "L")
    policy_updates: Count = setting(2, "L1: of PPO in an outer loop")
    classifier_updates: Count = setting(20, "L2: minibatches in an outer loop")
    visited_states: Count = setting(20000, "Q: latest states kept for the classifier")
    input_bound: Positive = setting(
        5.0, "completed values are clipped to ± this many standard deviations"
    )
    start: Literal["random", "free", "mixed"] = setting(
        "free", "panels known at the start of a training episode; mixed: half of the episodes each"
    )
    validate_every: Count = setting(4, "outer loops between two looks at the validation units")
    patience: Count = setting(
        8, "looks without an improvement of any policy, after which training stops"
    )
    watched_units: Count = setting(1000, "training units of the training curves")


class SmDdpoVariant(Block):
    """How SM-DDPO's classifier learns, and how the class is decided."""

    variant: Literal["end2end", "pretrained"] = setting(
        "end2end", "whether the classifier starts from nothing"
    )
    pretraining_updates: Whole = setting(
        0, "minibatches of the classifier before; read by pretrained only"
    )
    tuned: bool = setting(True, "whether a pretrained classifier goes on learning")
    verdict: Literal["actor", "belief"] = setting(
        "actor",
        "how the class is decided: actor, or a threshold on the classifier's belief, which "
        "validation units choose",
    )


class SmDdpoMethod(SmDdpoVariant):
    """One way to learn a front of policies."""

    classifier: BoostedSettings = optional("in place of that under training")


class SmDdpoSettings(SmDdpoTraining, SmDdpoMethod):
    """How the loops of algorithm 1 run."""

    classifier: ClassifierSettings | BoostedSettings = setting(ClassifierSettings())
    criterion: Literal["f1", "am", "value"] = required(
        "criterion for the best weights; value: mean sum of rewards"
    )

    @property
    def classifier_learns(self) -> bool:
        """Whether the classifier learns from visited states."""
        return self.variant == "end2end" or self.tuned


class DadiNetworks(Block):
    """Sizes of DADI's networks  [dadi, app. C]."""

    memory_width: Count = setting(32, "units per hidden layer of the memory network")
    encoding_width: Count = setting(16, "memory vector, and units of the LSTM")
    head_width: Count = setting(32, "units per hidden layer of classifier, adversary, policy")


class DadiTraining(Block):
    """How DADI's agents are trained  [dadi, app. C]."""

    processing_steps: Count = setting(5, "readings of the memory")
    pretraining_iterations: Whole = setting(
        2000, "steps of classifier and adversary before the policy learns"
    )
    iterations: Count = setting(5000, "of joint training; the paper: 20000")
    agents: Count = setting(64, "units acquired for at the same time; even")
    window: Count = setting(4, "n of the n-step returns")
    returns: Literal["n_step", "watkins"] = setting(
        "watkins",
        "n_step: as the paper; watkins: go on with the value of the state before the first later "
        "decision that is not the greedy one",
    )
    learning_rate: Positive = setting(0.0005, "of Adam")
    decay_share: Probability = setting(
        0.5,
        "share of the iterations, at the end, during which the learning rate falls in a straight "
        "line; 0: constant, as the paper",
    )
    decay_to: Probability = setting(0.01, "share of the learning rate that is left at the end")
    target_every: Count = setting(100, "iterations between two copies of the target network")
    exploration_start: Probability = setting(1.0, "probability of a random decision at first")
    exploration_end: Probability = setting(0.1, "and after exploration_iterations")
    exploration_iterations: Whole = setting(2000, "over which it falls; the paper: 10000")
    objective: Literal["demographic_parity", "equal_opportunity", "equalised_odds"] = setting(
        "demographic_parity", "which gap the adversary measures"
    )
    reward: Literal["difference", "terminal"] = setting(
        "difference", "of the combined loss after each decision, or at the end only"
    )
    group_normalised: bool = setting(True, "each group weighs the same in the losses")
    cost_weight: NonNegative = setting(0.0, "nats per unit of cost")
    evaluate_every: Count = setting(500, "iterations")
    evaluated_rows: Count = setting(1000, "validation rows")
    checkpoint_every: Count = setting(500, "iterations; a killed run goes on from there")
    compiled: bool = setting(False, "torch.compile; needs a C compiler, rounds otherwise")

    def _refusals(self) -> Iterator[str]:
        if self.exploration_end > self.exploration_start:
            yield (
                f".exploration_end is {self.exploration_end}; it lies at or below "
                f"exploration_start, {self.exploration_start}"
            )
        if self.exploration_iterations > self.iterations:
            yield (
                f".exploration_iterations is {self.exploration_iterations}, more than iterations, "
                f"{self.iterations}: exploration would never reach its end"
            )
        if self.agents % 2:
            yield (
                f".agents is {self.agents}; it must be even: half of a pretraining batch holds "
                "full sets"
            )


class DadiSettings(DadiTraining, DadiNetworks):
    """How a DADI agent is built and trained  [dadi, app. C]."""

    @property
    def adversary_reads_label(self) -> bool:
        """Whether the adversary reads the label."""
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


class Condition(Block):
    """On one column of the table, by its name in the data set's YAML.

    Above and/or below for a number, is for levels; false while the column is not acquired, and
    where its value is missing.
    """

    column: str
    above: float = optional("in the unit of the column; the bound itself is outside")
    below: float = optional("the same")
    is_: Annotated[list[str], Len(1)] = optional("levels, any of which; quote yes and no", "is")


class RuleStep(Block):
    """Acquires its panel if all its conditions hold."""

    panel: str
    when: Condition | Annotated[list[Condition], Len(1)] = optional(
        "one condition or a list; all must hold; left out: always"
    )


class TrainingSettings(Block):
    """Settings that generators share."""

    epochs: Count = setting(20, "passes over the training rows, at most")
    batch: Two = setting(256, "units in a step")
    learning_rate: Positive = setting(0.01, "peak of the one-cycle schedule")
    weight_decay: NonNegative = setting(0.0)
    held_out_share: Share = setting(0.05, "of the training units; they choose the weights")
    patience: Count = setting(20, "epochs without a better one before training stops")


class DenseSettings(TrainingSettings):
    """A dense network  [recourse, sec. 4.3]; MC reads no loss weight."""

    hidden: Count = setting(256, "units of a hidden layer")
    layers: Count = setting(2, "hidden layers")
    dropout: Annotated[float, Ge(0), Lt(1)] = setting(0.1)
    loss_weight: Positive = setting(0.1, "p_w of NA and FA")
    sparsity: NonNegative = setting(0.05, "α of NA and FA")


Panels = Literal["all", "none"] | list[str]
RuleSteps = Annotated[list[RuleStep], Len(1)]
Three = Annotated[int, Ge(3)]
PythonFile = Annotated[str, StringConstraints(pattern="[.]py$")]
ParquetFile = Annotated[str, StringConstraints(pattern="[.]parquet$")]
