"""How DADI learns: pretraining of classifier and adversary, then all networks jointly.

K learners, one for each γ, run in lock-step. They start from the same pretrained networks and share
every random draw: two γ are compared on common random numbers. Which learners run beside
another changes its result by rounding only, which a long training can enlarge. Networks do not
change within a window of decisions, so the forward passes that chose the decisions serve the update
as well. Must not know files.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from frugal.config.learners import DadiSettings
from frugal.core.errors import DataError
from frugal.learn.lockstep import Adam, FlatParameters
from frugal.studies.dadi.networks import (
    ENCODER,
    NetworkSizes,
    class_logits,
    decision_values,
    values_at_sets,
)
from frugal.studies.dadi.set_encoder import EncoderSteps, SetReading, encode, read_sets
from frugal.studies.dadi.token_memory import Memory, UnitTable, remember

ADAM_EPSILON = 1e-8


def group_weights(
    label: Int[np.ndarray, " n"],
    sensitive: Int[np.ndarray, " n"],
    *,
    objective: str,
    group_normalised: bool,
) -> tuple[Float32[np.ndarray, "2 2"], Float32[np.ndarray, "2 2"]]:
    """Weight of a unit in the classifier's and in the adversary's loss  [dadi, app. C].

        Σᵢ wᵢ ℓᵢ / n = (1/|groups|) Σ_g (mean of ℓ in group g)

    Our reading of "group-normalised": the classifier's groups are b = 0 and b = 1. The adversary's
    are the same for demographic parity, (b, y = 1) for equal opportunity, which leaves y = 0 out,
    and (b, y) for equalised odds. Without normalisation the members of all groups weigh the same.
    Either way the mean weight is 1, and losses and rewards use the same weights: the loss that the
    adversary learns is the one that pays the agent.

    Args:
        label: y of the training units. (n,)
        sensitive: b of the training units. (n,)
        objective: "demographic_parity", "equal_opportunity" or "equalised_odds".
        group_normalised: whether groups rather than units weigh the same.

    Returns:
        Weights in the classifier's loss and in the adversary's, at [b, y].

    Raises:
        DataError: a group has no unit.
    """
    share = np.zeros((2, 2))
    np.add.at(share, (sensitive, label), 1 / len(label))
    by_b = [np.array([[1, 1], [0, 0]]), np.array([[0, 0], [1, 1]])]
    positive = [np.array([[0, 1], [0, 0]]), np.array([[0, 0], [0, 1]])]
    groups = {
        "demographic_parity": by_b,
        "equal_opportunity": positive,
        "equalised_odds": [*positive, np.array([[1, 0], [0, 0]]), np.array([[0, 0], [1, 0]])],
    }
    return (
        _mean_one_weights(share, by_b, group_normalised),
        _mean_one_weights(share, groups[objective], group_normalised),
    )


def _mean_one_weights(
    share: np.ndarray, groups: list[np.ndarray], normalised: bool
) -> Float32[np.ndarray, "2 2"]:
    weight = np.zeros((2, 2))
    for group in groups:
        mass = (share * group).sum()
        if not mass:
            b, y = np.argwhere(group)[0]
            with_label = "" if group.sum() > 1 else f" and label = {y}"
            raise DataError(
                f"no training unit has sensitive = {b}{with_label}; the losses of a fair agent "
                "need units of every group"
            )
        weight += group / mass if normalised else group
    return (weight / (share * weight).sum()).astype(np.float32)


def combined_loss(
    label_loss: Float[Tensor, "..."], adversary_loss: Float[Tensor, "..."], gamma: Tensor
) -> Float[Tensor, "..."]:
    """Loss of the agent, γ L_C − (1 − γ) L_A  [dadi, eq. 1].

    Args:
        label_loss: L_C of each set, in nats.
        adversary_loss: L_A of each set, in nats.
        gamma: γ of each learner, shaped to match.

    Returns:
        The combined loss of each set; −R(O) of [dadi, eq. 2].
    """
    return gamma * label_loss - (1 - gamma) * adversary_loss


def decision_rewards(
    loss_before: Float[Tensor, "..."],
    loss_after: Float[Tensor, "..."],
    *,
    first: Bool[Tensor, "..."],
    stop: Bool[Tensor, "..."],
    cost: Float[Tensor, "..."],
    reward: str,
) -> Float[Tensor, "..."]:
    """Reward of a decision; the rewards of an episode sum to R(O_T) − cost  [dadi, eq. 2].

        difference:  r₁ = R(O₁),   rₜ = R(Oₜ) − R(Oₜ₋₁)
        terminal:    rₜ = 0,       r_stop = R(O_T)

    Args:
        loss_before: combined loss of the set before the decision; R = −loss.
        loss_after: of the set after it; the same set if the decision was to stop.
        first: whether it was the episode's first decision.
        stop: whether it was to stop.
        cost: penalty of the acquired panels, 0 if nothing was.
        reward: "difference" or "terminal".

    Returns:
        Rewards in nats.
    """
    if reward == "terminal":
        return torch.where(stop, -loss_after, torch.zeros_like(loss_after)) - cost
    return torch.where(first, -loss_after, loss_before - loss_after) - cost


def n_step_returns(
    rewards: Float[Tensor, "t k n"],
    goes_on: Float[Tensor, "t k n"],
    value: Float[Tensor, "t k n"],
    *,
    cut: Bool[Tensor, "t k n"],
) -> Float[Tensor, "t k n"]:
    """Undiscounted returns of each decision to the end of its window  [dadi, app. C].

        Gₜ = rₜ + 1[not stopped] Fₜ,    Fₜ = Gₜ₊₁, or V(sₜ₊₁) at a cut and at the window's end

    Without cuts these are the paper's returns. Differs from the paper where there are: cuts before
    every decision that is not the greedy one make them, within the window, those of Watkins's Q(λ)
    with λ = 1 (Watkins 1989; Sutton and Barto, Reinforcement Learning, 12.10), which value the
    greedy policy alone.

    Args:
        rewards: of the window's decisions.
        goes_on: 1 unless the decision was to stop.
        value: of the state after each decision; read at cuts and at the end.
        cut: whether a return ends with the value after this decision; the last entry of t is not
            read, since there all do.

    Returns:
        Targets of Q.
    """
    returns, following = [], value[-1]
    for t in reversed(range(len(rewards))):
        returns.append(rewards[t] + goes_on[t] * following)
        if t:
            following = torch.where(cut[t - 1], value[t - 1], returns[-1])
    return torch.stack(returns[::-1])


def allowed_decisions(acquired: Float[Tensor, "k n a1"]) -> Bool[Tensor, "k n a1"]:
    """Panels not acquired yet, and "stop", which is always allowed and comes last.

    Args:
        acquired: 1 where a panel is acquired; the last column is for free columns.
    """
    allowed = acquired == 0
    allowed[..., -1] = True
    return allowed


@dataclass(frozen=True, eq=False)
class Population:
    """Training units and their weights. Shapes: n units, a panels.

    Attributes:
        units: their tokens.
        label: y. (n,)
        sensitive: b. (n,)
        label_weight: in the classifier's loss. (n,)
        adversary_weight: in the adversary's loss. (n,)
        cost: price of each panel, in the data set's unit; 0 for "stop", the last. (a + 1,)
        start: 1 where a panel is out of reach of a unit, so it may not be acquired, and in the
            last column, which is for free columns. (n, a + 1)
    """

    units: UnitTable
    label: Float[Tensor, " n"]
    sensitive: Float[Tensor, " n"]
    label_weight: Float[Tensor, " n"]
    adversary_weight: Float[Tensor, " n"]
    cost: Float[Tensor, " a1"]
    start: Float[Tensor, "n a1"]

    def targets(self, row: Int[Tensor, "k n"]) -> tuple[Tensor, Tensor]:
        """Classes and weights of the units, for classifiers then adversaries. (2 k, n) each"""
        return (
            torch.cat((self.label[row], self.sensitive[row])),
            torch.cat((self.label_weight[row], self.adversary_weight[row])),
        )


def class_losses(logits: Tensor, targets: tuple[Tensor, Tensor]) -> Tensor:
    """Weighted cross-entropies L_C (first half), L_A (second) in nats  [dadi, eq. 1]. (2 k, n)"""
    return targets[1] * binary_cross_entropy_with_logits(logits, targets[0], reduction="none")


def pretrain(
    stack: FlatParameters,
    population: Population,
    *,
    settings: DadiSettings,
    steps: EncoderSteps,
    generator: torch.Generator,
) -> None:
    """Teach classifier and adversary full and partial sets, in place  [dadi, app. C].

    Half of a batch holds full sets; in the other half each panel is dropped with a probability that
    is drawn evenly from [0, 1] for each unit.

    Args:
        stack: a single learner.
        population: training units, with the weights of pretraining.
        settings: batch, iterations and learning rate.
        steps: of the encoder.
        generator: draws units and sets.
    """
    adam = Adam(stack, learning_rate=settings.learning_rate, epsilon=ADAM_EPSILON)
    half, panels = settings.agents // 2, len(population.cost) - 1
    for _ in range(settings.pretraining_iterations):
        row = torch.randint(len(population.units), (1, settings.agents), generator=generator)
        drop = torch.rand(half, 1, generator=generator)
        sets = torch.ones(1, settings.agents, panels + 1)
        sets[0, :half, :panels] = (torch.rand(half, panels, generator=generator) >= drop).float()
        memory = remember(stack.views, ENCODER, population.units.tokens(row))
        member = population.units.members(population.units.holdings(row), sets)
        reading = read_sets(
            stack.views,
            ENCODER,
            memory,
            member,
            processing_steps=settings.processing_steps,
            steps=steps,
        )
        encoding = encode(stack.views, ENCODER, memory, [reading], steps=steps).squeeze(2)
        label = population.label[row] if settings.adversary_reads_label else None
        logits = class_logits(stack.views, encoding, label)
        adam.descend(class_losses(logits, population.targets(row)).mean(dim=1).sum())


@dataclass(frozen=True, eq=False)
class _Window:
    """A window of t decisions of n agents in k learners.

    Attributes:
        readings: of the sets before each decision. t
        action: decisions. (t, k, n)
        target: return of each decision. (t, k, n)
        live: 1 if the agent had not stopped before. (t, k, n)
        goes_on: 1 if the agent has not stopped in the end. (k, n)
        acquired: panels in the end. (k, n, a + 1)
    """

    readings: list[SetReading]
    action: Tensor
    target: Tensor
    live: Tensor
    goes_on: Tensor
    acquired: Tensor


@dataclass(frozen=True, eq=False)
class _Decisions:
    """Records of a window while it is rolled out: one entry per decision.

    Values of a state (acquired, best, loss) has one more, of the state in the end.
    """

    readings: list[SetReading] = field(default_factory=list)
    action: list[Tensor] = field(default_factory=list)
    live: list[Tensor] = field(default_factory=list)
    acquired: list[Tensor] = field(default_factory=list)
    best: list[Tensor] = field(default_factory=list)
    loss: list[Tensor] = field(default_factory=list)


class JointTraining:
    """Joint training of K learners, which can be interrupted between any two iterations.

    Args:
        stack: K pretrained learners; they learn in place.
        population: training units.
        gamma: γ of each learner. (k,)
        sizes: of the networks, with all settings.
        steps: of the encoder.
        generator: draws units and exploration.
    """

    def __init__(
        self,
        stack: FlatParameters,
        population: Population,
        *,
        gamma: Float[Tensor, " k"],
        sizes: NetworkSizes,
        steps: EncoderSteps,
        generator: torch.Generator,
    ) -> None:
        self._settings, self._population, self._steps = sizes.settings, population, steps
        self._gamma, self._generator, self._panels = gamma[:, None], generator, sizes.panels
        self.stack = stack
        self._adam = Adam(stack, learning_rate=self._settings.learning_rate, epsilon=ADAM_EPSILON)
        self._target = FlatParameters(sizes.stacked(len(gamma)))
        self._target.flat.copy_(stack.flat)
        k = len(gamma)
        self._row = self._draw_units().expand(k, -1).clone()
        self._known = population.start[self._row]
        self.iteration = 0
        self._squared_error, self._since = torch.zeros(k, dtype=torch.float64), 0

    def iterate(self) -> None:
        """One iteration: a window of decisions of all agents, then one update of all networks.

        An agent that stops rests until the window ends and then starts with another unit. Its rest
        is no part of any loss.
        """
        with torch.enable_grad():
            memory = remember(self.stack.views, ENCODER, self._population.units.tokens(self._row))
        window = self._decide(memory)
        self._update(memory, window)
        self.iteration += 1
        if self.iteration % self._settings.target_every == 0:
            self._target.flat.copy_(self.stack.flat)
        stopped = window.goes_on == 0
        self._row = torch.where(stopped, self._draw_units(), self._row)
        self._known = torch.where(
            stopped[..., None], self._population.start[self._row], window.acquired
        )

    @torch.no_grad()
    def _decide(self, memory: Memory) -> _Window:
        """Let every agent take its window of decisions, ε-greedily, and compute their values."""
        rolled = _Decisions()
        acquired, live = self._known, torch.ones(self._row.shape)
        holdings = self._population.units.holdings(self._row)
        random, scores = self._draw_exploration()
        for t in range(self._settings.window + 1):
            reading, loss, q = self._look(
                memory, self._population.units.members(holdings, acquired)
            )
            allowed = allowed_decisions(acquired)
            best = q.masked_fill(~allowed, -torch.inf).argmax(dim=2)
            rolled.acquired.append(acquired)
            rolled.best.append(best)
            rolled.loss.append(loss)
            if t == self._settings.window:
                break
            drawn = scores[t].masked_fill(~allowed, -1).argmax(dim=2)
            action = torch.where(random[t], drawn, best)
            rolled.readings.append(reading)
            rolled.action.append(action)
            rolled.live.append(live)
            live = live * (action < self._panels)
            acquired = acquired.scatter(2, action.unsqueeze(2), 1.0)
        return self._valued(rolled, random)

    def _look(
        self, memory: Memory, member: tuple[Tensor, Tensor]
    ) -> tuple[SetReading, Tensor, Tensor]:
        """Readings of the agents' sets, their combined loss (k, n), and Q (k, n, a + 1)."""
        settings, named = self._settings, self.stack.views
        reading = read_sets(
            named,
            ENCODER,
            memory,
            member,
            processing_steps=settings.processing_steps,
            steps=self._steps,
        )
        encoding, k = reading.encoding, len(self._gamma)
        label = self._population.label[self._row] if settings.adversary_reads_label else None
        logits = class_logits(named, encoding, label)
        losses = class_losses(logits, self._population.targets(self._row))
        loss = combined_loss(losses[:k], losses[k:], self._gamma)
        return reading, loss, decision_values(named, encoding[:k])

    def _valued(self, rolled: _Decisions, random: Tensor) -> _Window:
        """The window with the return of each decision."""
        action, loss, acquired = (
            torch.stack(x) for x in (rolled.action, rolled.loss, rolled.acquired)
        )
        best = torch.stack(rolled.best)
        stop = action == self._panels
        reward = decision_rewards(
            loss[:-1],
            loss[1:],
            first=(acquired[:-1] == self._population.start[self._row]).all(dim=3),
            stop=stop,
            cost=self._settings.cost_weight * self._population.cost[action],
            reward=self._settings.reward,
        )
        goes_on = (~stop).float()
        after = self._target_values(acquired[1:], best[1:], random)
        cut = torch.zeros_like(stop)
        if self._settings.returns == "watkins":
            cut[:-1] = action[1:] != best[1:-1]
        target = n_step_returns(reward, goes_on, after, cut=cut)
        live = torch.stack(rolled.live)
        return _Window(rolled.readings, action, target, live, live[-1] * goes_on[-1], acquired[-1])

    def _target_values(self, acquired: Tensor, best: Tensor, random: Tensor) -> Tensor:
        """Double Q-learning: the target's value of the network's preferred action, by decision.

        Only of states whose value a return may need, 0 elsewhere: those at the window's end, and,
        where returns are cut, those before a decision that was drawn at random, which are states
        of the same agents in all learners. One pass of the encoder takes them all.
        """
        needed = torch.zeros_like(random)
        if self._settings.returns == "watkins":
            needed[:-1] = random[1:]
        needed[-1] = True
        at, agent = needed.nonzero(as_tuple=True)
        q = values_at_sets(
            self._target.views,
            self._population.units,
            self._row[:, agent],
            acquired[at, :, agent].transpose(0, 1),
            processing_steps=self._settings.processing_steps,
        )
        chosen = best[at, :, agent].T.unsqueeze(2)
        result = torch.zeros(best.shape)
        result[at, :, agent] = q.gather(2, chosen).squeeze(2).T
        return result

    def _update(self, memory: Memory, window: _Window) -> None:
        """One Adam step on (Q − G)² + L_C + L_A, each averaged over the decisions of a learner."""
        named, k = self.stack.views, len(self._gamma)
        encoding = encode(named, ENCODER, memory, window.readings, steps=self._steps)
        encoding = encoding.flatten(1, 2)
        share = window.live / window.live.sum(dim=(0, 2), keepdim=True)
        share, action, target = (
            part.permute(1, 2, 0).flatten(1) for part in (share, window.action, window.target)
        )  # (k, n t), as the encodings
        row = self._row.repeat_interleave(self._settings.window, dim=1)
        label = self._population.label[row] if self._settings.adversary_reads_label else None
        losses = class_losses(class_logits(named, encoding, label), self._population.targets(row))
        chosen = decision_values(named, encoding[:k]).gather(2, action.unsqueeze(2)).squeeze(2)
        squared_error = ((chosen - target).square() * share).sum(dim=1)
        loss = squared_error.sum() + (losses * torch.cat((share, share))).sum()
        self._adam.learning_rate = self._settings.learning_rate_at(self.iteration)
        self._adam.descend(loss)
        self._squared_error += squared_error.detach()
        self._since += 1

    def _draw_units(self) -> Int[Tensor, " n"]:
        """Units drawn evenly, with replacement; the same for all learners."""
        count = len(self._population.units)
        return torch.randint(count, (self._settings.agents,), generator=self._generator)

    def _draw_exploration(self) -> tuple[Tensor, Tensor]:
        """Whether a decision is random, and scores whose largest allowed one is then taken.

        The same for all learners. (t, n) and (t, n, a + 1)
        """
        t, n = self._settings.window, self._settings.agents
        random = torch.rand(t, n, generator=self._generator)
        scores = torch.rand(t, n, self._panels + 1, generator=self._generator)
        return random < self._settings.exploration(self.iteration), scores

    def take_squared_error(self) -> Float[Tensor, " k"]:
        """Mean squared error of Q over the iterations since the last call."""
        mean_error = self._squared_error / max(1, self._since)
        self._squared_error, self._since = torch.zeros_like(mean_error), 0
        return mean_error

    def state(self) -> dict[str, Tensor]:
        """Everything that the next iteration depends on."""
        return {
            "parameters": self.stack.flat.detach(),
            "target": self._target.flat,
            "first_moment": self._adam.first,
            "second_moment": self._adam.second,
            "adam_steps": torch.tensor(self._adam.steps),
            "row": self._row,
            "known": self._known,
            "generator": self._generator.get_state(),
            "iteration": torch.tensor(self.iteration),
            "squared_error": self._squared_error,
            "since": torch.tensor(self._since),
        }

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go on where `state` was written down."""
        with torch.no_grad():
            self.stack.flat.copy_(state["parameters"])
        self._target.flat.copy_(state["target"])
        self._adam.restore(state["first_moment"], state["second_moment"], int(state["adam_steps"]))
        self._row, self._known = state["row"].clone(), state["known"].clone()
        self._generator.set_state(state["generator"])
        self.iteration = int(state["iteration"])
        self._squared_error, self._since = state["squared_error"].clone(), int(state["since"])
