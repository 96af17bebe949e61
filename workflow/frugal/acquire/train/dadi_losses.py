"""What DADI minimises and what it pays its agents: pure functions of losses.

The combined loss of classifier and adversary [dadi, eq. 1], the rewards whose sum it is, returns
over a window of decisions, and the weights that make each sensitive group count the same. Must not
know networks or data.
"""

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int
from torch import Tensor

from frugal.core.errors import DataError


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
    Either way the mean weight is 1, and losses and rewards use the same weights, so that what the
    adversary learns is what the agent is paid for.

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
    """What the agent minimises, γ L_C − (1 − γ) L_A  [dadi, eq. 1].

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
        cost: penalty of what was acquired, 0 if nothing was.
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


def allowed_decisions(known: Float[Tensor, "k n a1"]) -> Bool[Tensor, "k n a1"]:
    """Panels not acquired yet, and "stop", which is always allowed and stands last.

    Args:
        known: 1 where a panel is acquired; the last column stands for free columns.
    """
    allowed = known == 0
    allowed[..., -1] = True
    return allowed
