"""Policies act on units of a part: one roll-out, and one schema of episodes, for every study."""

import numpy as np
import pandas as pd
from jaxtyping import Float

from frugal.acquire.kinds import end_shares
from frugal.acquire.logs import Scene, decision_frame, outcome_frame
from frugal.acquire.rollouts import roll_out
from frugal.core.episodes import Episodes, Policy
from frugal.core.world import StateEncoder
from frugal.learn.trees import TreeEnsemble


def acted(
    scene: Scene,
    policy: Policy,
    *,
    uniforms: Float[np.ndarray, "n A"] | None = None,
    classifier: TreeEnsemble | None = None,
    cuts: Float[np.ndarray, " K"] | None = None,
    states: StateEncoder | None = None,
    beliefs: bool = False,
) -> tuple[pd.DataFrame, pd.DataFrame, Episodes]:
    """Outcomes, decisions and episodes of K members on n units.

    Args:
        scene: who acts where on whom.
        policy: of the members.
        uniforms: as of `roll_out`; None for policies that leave nothing to chance.
        classifier: predicts the class where the policy only stops.
        cuts: least probability of class 1 that is decided 1; None: the likeliest class. (K,)
        states: readings of the world's states that were kept.
        beliefs: whether the predicted probabilities at each decision are logged.
    """
    world = scene.world
    drawn = np.zeros((len(world), world.panels + 1)) if uniforms is None else uniforms
    episodes = roll_out(policy, world, uniforms=drawn, states=states, beliefs=beliefs)
    shares = end_shares(episodes, world, classifier)
    verdict = shares.argmax(axis=2)
    if cuts is not None:
        verdict = (shares[..., 1] >= cuts[:, None]).astype(np.int64)
    outcomes = outcome_frame(scene, episodes.acquired, verdict=verdict, shares=shares)
    return outcomes, decision_frame(scene, episodes), episodes
