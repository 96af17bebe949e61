"""The kind `sm_ddpo`: Algorithm 1 of [diagnosis, sec. 5.3] on blocked records, for costs.

Panel selectors learn by PPO, K reward pairs in lock-step, while each learner's classifier, which
its states show, learns from the states that were visited. The imputer is frozen. `diagnosis` trains
its front by the same functions.

Differs from the paper: as an agent it has one reward instead of a front, −(price of panels) − (cost
of the error); the encoder and the actors learn from records, in which panels may be missing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from frugal.acquire.acquisition import BatchedAcquisition, DiagnosisReward
from frugal.acquire.kinds import AgentKind, Ground, Learned, Saved, trained
from frugal.acquire.reading import completed_states
from frugal.acquire.rollouts import roll_out
from frugal.acquire.train.state_classifier import (
    Classifiers,
    ClassifierTrainer,
    fit_state_classifier,
    learn_states,
    tuned_threshold,
)
from frugal.config.learners import BoostedSettings, ClassifierSettings, SmDdpoSettings
from frugal.core.episodes import RowPanels
from frugal.core.errors import DataError
from frugal.core.layout import Layout
from frugal.core.scaling import average_ranks
from frugal.core.stored import under
from frugal.core.world import StateEncoder, World, packed_sets, unpacked_sets
from frugal.learn.imputer_kinds import fit_encoder, imputer_arrays, imputer_of
from frugal.studies.diagnosis.lockstep_ppo import ActorCritic, PpoTrainer, collect_rollout
from frugal.studies.diagnosis.policies.fronts import (
    CLASSIFIER,
    MODEL,
    THRESHOLD,
    TREES,
    BoostedBelief,
    DiagnosisPolicies,
    ImputedStates,
    ModelProbabilities,
    state_embedding,
)

SMALLEST_PROBABILITY = 1e-7  # of float32 probabilities, in logarithms
SCORES = (
    "f1",
    "am",
    "auroc",
    "cost",
    "value",
    "classifier_auroc_random",
    "classifier_auroc_policy",
    "classifier_log_loss_random",
    "classifier_log_loss_policy",
)
LEAST_THRESHOLD = 1e-6  # on a belief
Weights = dict[str, np.ndarray]
Units = tuple[World, StateEncoder]
ENCODER, ACTOR = "encoder.", "actor."  # prefixes among the bundle's arrays
VARIANT = ("variant", "pretraining_updates", "tuned", "verdict")
CRITERION = "value"  # weights are kept by the mean sum of rewards on validation rows


@dataclass(frozen=True, eq=False)
class WatchedUnits:
    """Units on which policies are watched, and states of them drawn once at random.

    Attributes:
        task: the units.
        states: observations of their states.
        row: unit of each random state. (m,)
        acquired: panels of each random state. (m, a)
    """

    task: World
    states: ImputedStates
    row: Int[np.ndarray, " m"]
    acquired: RowPanels

    @classmethod
    def drawn(cls, task: World, states: ImputedStates, rng: np.random.Generator) -> "WatchedUnits":
        """One random state of each unit: each available panel is known with probability ½."""
        acquired = (rng.random(task.available.shape) < 0.5) & task.available
        return cls(task, states, np.arange(len(task)), acquired)


def score_policies(
    policies: DiagnosisPolicies, units: WatchedUnits, reward: DiagnosisReward
) -> dict[str, Float[np.ndarray, " K"]]:
    """Scores of the deterministic policies, from the free block on, and of their classifiers.

    Args:
        policies: of K learners.
        units: on which they are watched.
        reward: of each learner.

    Returns:
        For each of `SCORES` a value per learner (K,): F1, AM and AUROC of diagnoses; mean cost in
        the data set's unit; mean sum of rewards; AUROC and mean log-loss (nats) of the classifier
        on random states and on all states that the policy visits.
    """
    world, completed = units.task, units.states.completed
    episodes = roll_out(
        policies,
        world,
        uniforms=np.zeros((len(world), world.panels + 1)),
        states=completed,
        beliefs=True,
    )
    assert episodes.verdict is not None, "bug: these policies have a verdict"
    label, predicted = world.label, episodes.verdict.argmax(axis=2)
    f1, am = f1_and_am(label, predicted)
    at = np.arange(policies.members)[:, None]
    reward_mean = reward.matrix[at, label, predicted].mean(axis=1)
    cost = episodes.cost.mean(axis=1)
    auroc = [area_under_curve(label, probability) for probability in episodes.verdict[:, :, 1]]
    result = {"f1": f1, "am": am, "auroc": np.array(auroc), "cost": cost}
    result["value"] = reward_mean - reward.cost_weight * cost
    states = completed.encode(units.row, units.acquired)
    on_random = policies.beliefs(states)[:, :, 1]
    judged = {"random": [(label[units.row], p) for p in on_random]}
    assert episodes.belief is not None, "bug: predicted probabilities were not logged"
    cuts = np.bincount(episodes.member, minlength=policies.members).cumsum()[:-1]
    parts = np.split(label[episodes.row], cuts), np.split(episodes.belief[:, 1], cuts)
    judged["policy"] = list(zip(*parts, strict=True))
    for name, pairs in judged.items():
        result[f"classifier_auroc_{name}"] = np.array([area_under_curve(*pair) for pair in pairs])
        result[f"classifier_log_loss_{name}"] = np.array([_log_loss(*pair) for pair in pairs])
    return result


def f1_and_am(
    label: Int[np.ndarray, " n"], diagnosis: Int[np.ndarray, "K n"]
) -> tuple[Float[np.ndarray, " K"], Float[np.ndarray, " K"]]:
    """F1 = 2TP/(2TP + FP + FN), 0 without a positive; AM = (TPR + TNR)/2. (K,), (K,)"""
    ill, called = label == 1, diagnosis == 1
    hit, false = (called & ill).sum(axis=1), (called & ~ill).sum(axis=1)
    f1 = 2 * hit / np.maximum(hit + false + ill.sum(), 1)
    am = 0.5 * (hit / max(ill.sum(), 1) + 1 - false / max((~ill).sum(), 1))
    return f1, am


def area_under_curve(label: Int[np.ndarray, " n"], score: Float[np.ndarray, " n"]) -> float:
    """Probability that an ill unit scores higher than a healthy one, ties half; NaN undefined."""
    ill = label == 1
    pairs = ill.sum() * (~ill).sum()
    if not pairs or np.isnan(score).any():
        return float("nan")
    above = average_ranks(score)[ill].sum() - ill.sum() * (ill.sum() + 1) / 2
    return float(above / pairs)


def _log_loss(label: np.ndarray, probability: np.ndarray) -> float:
    bounded = np.clip(probability, SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY)
    return float(-np.log(np.where(label == 1, bounded, 1 - bounded)).mean())


@dataclass(frozen=True, eq=False)
class SmDdpoResult:
    """K trained policies.

    Attributes:
        weights: of policy, value and classifier by name, leading axis K, and where the belief says
            the class, its thresholds; each learner's are those of its best look at the validation
            units.
        curves: one row per learner, look and set of units: `learner`, `iteration` (outer loops
            done), `steps` (of a learner), `split`, and `training_scores.SCORES`.
        best_iteration: outer loop after which each learner's weights were kept. (K,)
    """

    weights: Weights
    curves: pd.DataFrame
    best_iteration: Int[np.ndarray, " K"]


def fit_sm_ddpo(
    train: World,
    train_imputed: StateEncoder,
    validation: Units,
    *,
    reward: DiagnosisReward,
    settings: Mapping[str, Any],
    rng: np.random.Generator,
    watched: Mapping[str, Units] | None = None,
    also: World | None = None,
) -> SmDdpoResult:
    """Train K policies and classifiers on one set of units  [diagnosis, alg. 1].

    Each outer loop: L1 times run the policies with the classifier in its present state and update
    them by PPO; then L2 minibatches of the classifier from the states visited. All K share the
    order of units and of minibatches, so a learner's result depends on its group.

    Args:
        train: units of the decision process; two classes, a diagnosis for each.
        train_imputed: completed rows of their states, standardised; frozen.
        validation: units by which weights are chosen and training stops, and their encoder.
        reward: of each of the K learners.
        settings: block of config, see `SmDdpoSettings`.
        rng: first weights, units, actions, minibatches.
        watched: further units whose curves are drawn, by name of the split; they decide nothing.
        also: further units that a boosted classifier learns from.

    Raises:
        DataError: the units have other than two classes.
        ConfigError: a setting is missing or unknown.
    """
    torch.set_num_threads(1)
    if (train.classes, train.terminals) != (2, 2):
        raise DataError(
            f"SM-DDPO diagnoses one of two classes; here are {train.classes} classes and "
            f"{train.terminals} terminal actions"
        )
    how = SmDdpoSettings.of(settings)
    streams = rng.spawn(4)
    boosted, others = None, {"validation": validation, **(watched or {})}
    if isinstance(how.classifier, BoostedSettings):
        boosted = BoostedBelief(train, also, how.classifier, rng.spawn(1)[0])
        train_imputed = boosted.of_training(train_imputed)
        others = {k: (w, boosted.of_others(states, w)) for k, (w, states) in others.items()}
    run = _Run(train, train_imputed, reward, how, streams[:3], boosted)
    some = np.sort(streams[3].permutation(len(train))[: how.watched_units])
    every: dict[str, Units] = {"train": (train.take(some), _Subset(train_imputed, some)), **others}
    sets = {
        name: WatchedUnits.drawn(task, ImputedStates(encoder, task.panels), streams[3])
        for name, (task, encoder) in every.items()
    }
    keeper = _Keeper(len(reward.cost_weight), how.criterion)
    for done in range(how.outer_loops + 1):
        if done:
            run.outer_loop(done)
        if done % how.validate_every == 0 or done == how.outer_loops:
            weights = run.export()
            if how.verdict == "belief":
                weights |= _thresholds(weights, sets["validation"], reward, settings)
            policies = DiagnosisPolicies(weights, settings, adds=train.adds)
            scores = {k: score_policies(policies, units, reward) for k, units in sets.items()}
            steps = done * how.policy_updates * how.ppo.steps
            keeper.look(done, steps, run.numbered(weights), scores)
            if keeper.stale >= how.patience:
                break
    return SmDdpoResult(
        run.with_models(keeper.weights), pd.concat(keeper.rows, ignore_index=True), keeper.best
    )


def _thresholds(
    weights: Weights, units: WatchedUnits, reward: DiagnosisReward, settings: Mapping[str, Any]
) -> Weights:
    """The threshold on the predicted probability that serves each learner best on some units.

    For F1 and AM it is tried; a learner's reward follows from its values of verdicts.
    """
    matrix = reward.matrix
    if settings["criterion"] == "value":
        healthy, ill = matrix[:, 0, 0] - matrix[:, 0, 1], matrix[:, 1, 1] - matrix[:, 1, 0]
        thresholds = np.clip(healthy / (healthy + ill), LEAST_THRESHOLD, 1.0)
        return {THRESHOLD: thresholds.astype(np.float32)}
    start = {THRESHOLD: np.full(len(matrix), 0.5, dtype=np.float32)}
    policies = DiagnosisPolicies(weights | start, settings, adds=units.task.adds)
    world, completed = units.task, units.states.completed
    uniforms = np.zeros((len(world), world.panels + 1))
    acquired = roll_out(policies, world, uniforms=uniforms, states=completed).acquired
    rows = np.arange(len(world))
    completed_rows = np.stack([completed.encode(rows, panels) for panels in acquired])
    probability = policies.beliefs(completed_rows)[..., 1].astype(np.float64)
    thresholds = [tuned_threshold(units.task.label, p, settings["criterion"]) for p in probability]
    return {THRESHOLD: np.clip(thresholds, LEAST_THRESHOLD, 1.0).astype(np.float32)}


@dataclass(frozen=True, eq=False)
class _Subset:
    """An encoder for some of the units."""

    encoder: StateEncoder
    rows: np.ndarray

    @property
    def width(self) -> int:
        return self.encoder.width

    def encode(self, row: np.ndarray, acquired: np.ndarray) -> np.ndarray:
        return self.encoder.encode(self.rows[row], acquired)


class _Keeper:
    """Curves so far, and each learner's weights at its best look; a look before training counts
    for the curves only.
    """

    def __init__(self, learners: int, criterion: str) -> None:
        self.rows: list[pd.DataFrame] = []
        self.weights: Weights = {}
        self.best = np.zeros(learners, dtype=np.int64)
        self.stale = 0  # looks since any learner improved
        self._criterion, self._score = criterion, np.full(learners, -np.inf)

    def look(self, iteration: int, steps: int, weights: Weights, scores) -> None:
        for split, values in scores.items():
            head = {"learner": np.arange(len(self.best)), "iteration": iteration, "steps": steps}
            body = {name: values[name] for name in SCORES}
            self.rows.append(pd.DataFrame({**head, "split": split, **body}))
        score = scores["validation"][self._criterion]
        better = score > self._score if iteration else np.zeros(len(score), dtype=bool)
        if not self.weights:
            self.weights = weights
        for name, array in weights.items():
            self.weights[name][better] = array[better]
        self._score = np.where(better, score, self._score)
        self.best[better] = iteration
        self.stale = self.stale + 1 if iteration and not better.any() else 0


class _Run:
    """State of Algorithm 1: environment, networks, visited states."""

    def __init__(
        self,
        task: World,
        imputed: StateEncoder,
        reward: DiagnosisReward,
        how: SmDdpoSettings,
        streams: list[np.random.Generator],
        boosted: BoostedBelief | None,
    ) -> None:
        first, units, draws = streams
        learners = len(reward.cost_weight)
        self._task, self._imputed, self._how, self._draws = task, imputed, how, draws
        self._boosted, self._columns = boosted, imputed.width - (boosted is not None)
        self._environment = BatchedAcquisition(
            task,
            ImputedStates(imputed, task.panels),
            reward,
            learners=learners,
            episodes=how.ppo.episodes,
            start=how.start,
            rng=units,
            only_new=True,
        )
        self._trainer_of_classifiers: ClassifierTrainer | None = None
        self._classifiers: Classifiers | ModelProbabilities
        if isinstance(how.classifier, BoostedSettings):
            self._classifiers = ModelProbabilities(np.zeros(learners, dtype=np.int64), 1)
        else:
            self._classifiers = self._first_classifiers(learners, how.classifier, first)
            self._trainer_of_classifiers = ClassifierTrainer(self._classifiers, how.classifier)
        self._selectors = ActorCritic.fresh(
            learners,
            task.classes + self._columns + task.panels,
            task.actions,
            hidden=how.ppo.hidden,
            activation=how.ppo.activation,
            rng=first,
        )
        self._trainer = PpoTrainer(self._selectors, how.ppo)
        self._visited = _VisitedStates(learners, how.visited_states, task.panels)
        self._generator = torch.Generator().manual_seed(int(draws.integers(2**63 - 1)))

    def export(self) -> Weights:
        """Copies of all weights by name, with the boosted model of now where there is one."""
        selectors = self._selectors.export()
        if self._boosted is not None:
            now = len(self._boosted.models) - 1
            selector_model = {MODEL: np.zeros(self._selectors.count, dtype=np.int64)}
            return selectors | selector_model | self._boosted.arrays([now])
        assert isinstance(self._classifiers, Classifiers), "bug: there is no model"
        classifier = self._classifiers.export()
        return selectors | {CLASSIFIER + k: v for k, v in classifier.items()}

    def numbered(self, weights: Weights) -> Weights:
        """Weights to be kept: in place of the boosted model its number."""
        if self._boosted is None:
            return weights
        rest = {name: array for name, array in weights.items() if not name.startswith(TREES)}
        return rest | {MODEL: weights[MODEL] + len(self._boosted.models) - 1}

    def with_models(self, weights: Weights) -> Weights:
        """Kept weights with the boosted models that they name."""
        if self._boosted is None:
            return weights
        used, model = np.unique(weights[MODEL], return_inverse=True)
        return weights | {MODEL: model.astype(np.int64)} | self._boosted.arrays(used.tolist())

    def outer_loop(self, done: int) -> None:
        """One pass of Algorithm 1's outer loop, the how manieth."""
        ppo = self._how.ppo
        for _ in range(self._how.policy_updates):
            rollout = collect_rollout(
                self._selectors,
                self._environment,
                self._observe,
                steps=ppo.steps // ppo.episodes,
                gae_lambda=ppo.gae_lambda,
                generator=self._generator,
            )
            self._trainer.learn(rollout, self._generator)
        if self._how.classifier_learns:
            self._improve_classifier(done)

    def _improve_classifier(self, done: int) -> None:
        """Minibatches of the networks from states visited; the boosted model when its time is."""
        trainer = self._trainer_of_classifiers
        if trainer is not None:
            for _ in range(self._how.classifier_updates):
                row, acquired = self._visited.sample(trainer.settings.batch, self._draws)
                learn_states(
                    trainer,
                    self._task,
                    self._imputed,
                    row,
                    acquired,
                    input_bound=self._how.input_bound,
                )
        boosted = self._boosted
        if boosted is not None and done in boosted.settings.refitted_after(self._how.outer_loops):
            each = -(-boosted.enough // self._selectors.count)
            row, acquired = self._visited.sample(each, self._draws)
            boosted.refit(row.reshape(-1), acquired.reshape(-1, self._task.panels))

    def _observe(self, environment: BatchedAcquisition) -> Tensor:
        """State embeddings; the states go into Q."""
        self._visited.add(environment.row, environment.acquired)
        return state_embedding(
            torch.from_numpy(environment.observation),
            self._classifiers,
            columns=self._columns,
            input_bound=self._how.input_bound,
        )

    def _first_classifiers(
        self, learners: int, settings: ClassifierSettings, rng: np.random.Generator
    ) -> Classifiers:
        """Classifiers from nothing, or copies of one fitted on randomly masked states."""
        how, task = self._how, self._task
        if how.variant == "end2end":
            return Classifiers.fresh(
                learners, self._columns, task.classes, settings=settings, rng=rng
            )
        fitted = fit_state_classifier(
            task,
            self._imputed,
            settings=settings,
            updates=how.pretraining_updates,
            input_bound=how.input_bound,
            rng=rng,
        )
        return fitted.networks.repeated(learners)


class _VisitedStates:
    """The latest states of each learner: Q of Algorithm 1, as units and sets."""

    def __init__(self, learners: int, capacity: int, panels: int) -> None:
        self._panels = panels
        self._row = np.zeros((learners, capacity), dtype=np.int64)
        self._known = np.zeros((learners, capacity, -(-panels // 8)), dtype=np.uint8)
        self._at = self._filled = 0

    def add(self, row: Int[np.ndarray, "K E"], acquired: Bool[np.ndarray, "K E a"]) -> None:
        """Keep the states of one step, in place of the oldest."""
        capacity = self._row.shape[1]
        place = (self._at + np.arange(row.shape[1])) % capacity
        self._row[:, place], self._known[:, place] = row, packed_sets(acquired)
        self._at = (self._at + row.shape[1]) % capacity
        self._filled = min(self._filled + row.shape[1], capacity)

    def sample(self, batch: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Units and sets of some states of each learner, with replacement. (K, b), (K, b, a)"""
        pick = rng.integers(self._filled, size=(len(self._row), batch))
        codes = self._known[np.arange(len(pick))[:, None], pick]
        return np.take_along_axis(self._row, pick, 1), unpacked_sets(codes, self._panels)


def fit(ground: Ground, settings: Mapping[str, Any]) -> Learned:
    """Fit the encoder, then actor and classifier.

    Raises:
        DataError: the label has other than two classes, or too few rows are left to validate on.
    """
    ground.require_two_classes("sm_ddpo")
    order = ground.streams.generator("validation").permutation(len(ground.table))
    n_validation = round(settings["validation_share"] * len(order))
    validation, train = np.sort(order[:n_validation]), np.sort(order[n_validation:])
    for name, rows in (("learn from", train), ("validate on", validation)):
        if len(np.unique(ground.table.label[rows])) < 2:
            raise DataError(
                f"an agent of kind 'sm_ddpo' has {len(rows)} rows to {name}, of one class only; "
                "give the part 'agent' more rows, or change validation_share"
            )
    imputer = fit_encoder(
        ground.values[train],
        ground.values[validation],
        table=ground.table,
        settings=settings["encoder"],
        rng=ground.streams.generator("encoder"),
    )
    world, unit = ground.world(terminals=2), ground.unit
    matrix = -(ground.table.misclassification_cost / unit)[None].astype(np.float32)
    units = [(w, completed_states(imputer, w)) for w in (world.take(train), world.take(validation))]
    result = fit_sm_ddpo(
        *units[0],
        units[1],
        reward=DiagnosisReward(matrix, np.array([1 / unit], dtype=np.float32)),
        settings=_training(settings),
        rng=ground.streams.generator("learner"),
    )
    arrays = {ACTOR + name: array for name, array in result.weights.items()}
    arrays |= {ENCODER + name: array for name, array in imputer_arrays(imputer).items()}
    curve = result.curves.drop(columns="learner").rename(columns={"value": "mean_return"})
    curve["mean_return"] *= unit
    return Learned(arrays, curve)


def _training(settings: Mapping[str, Any]) -> dict[str, Any]:
    variant = {name: settings[name] for name in VARIANT}
    return {**settings["training"], **variant, "criterion": CRITERION}


def build(settings: Mapping[str, Any], layout: Layout, stored: Saved) -> DiagnosisPolicies:
    """Actor, classifier and encoder."""
    stored = trained(stored, "sm_ddpo")
    imputer = imputer_of(under(stored, ENCODER), columns=len(layout.columns))
    policy = DiagnosisPolicies(
        under(stored, ACTOR),
        _training(settings),
        adds=layout.provides & ~layout.free_columns,
        imputer=imputer,
        greedy=settings["greedy"],
    )
    shape = (policy.columns, policy.panels, policy.classes)
    expected = (len(layout.columns), len(layout.actions), len(layout.classes))
    if shape != expected:
        raise DataError(
            f"the stored SM-DDPO policies have {shape[0]} columns, {shape[1]} panels and "
            f"{shape[2]} classes; its header has {', '.join(map(str, expected))}"
        )
    return policy


def front_settings(training: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that a front's policies are built with, of the block they were trained by."""
    rest = {k: v for k, v in training.items() if k not in (*VARIANT, "criterion")}
    return {
        "kind": "sm_ddpo",
        "encoder": {"kind": "stored"},
        "validation_share": 0.0,
        "greedy": True,
        **{name: training[name] for name in VARIANT},
        "training": rest,
    }


SM_DDPO = AgentKind(
    name="sm_ddpo",
    build=build,
    fit=fit,
    settings={
        "encoder": ("Encoder", "", {"kind": "mean"}),
        "validation_share": ("Probability", "of the part `agent`; chooses the weights", 0.25),
        "greedy": ("bool", "true: the likeliest action; false: drawn among them", True),
        "training": (
            "SmDdpoTraining",
            "",
            {"classifier": {"class_weights": [1.0, 1.0]}, "outer_loops": 48, "patience": 6},
        ),
    },
    shares=("SmDdpoVariant",),
    doc="SM-DDPO: completes the state, orders panels by PPO, and gives its own verdict",
    two_classes=True,
    looks={
        "sm_ddpo_end2end": (10, "SM-DDPO, end to end", "blue", "o"),
        "sm_ddpo_pretrain": (20, "SM-DDPO, pretrained", "sky", "s"),
        "sm_ddpo_boosted": (50, "SM-DDPO, boosted belief", "blue", "h"),
        "sm_ddpo": (51, "SM-DDPO for the costs", "blue", "8"),
    },
)
