"""Episodes as tables: the one schema of decisions and the one of outcomes, whatever made them.

Who acted is a policy's name and the number of its member; where, a world and a draw; on whom, a
seed, a part of the split and a row. Knows no policy, estimator or file.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int

from frugal.core.episodes import Episodes
from frugal.core.world import World

WORLDS = (
    "blocked",
    "full",
    "retrospective",
    "chained_trees",
    "missforest",
    "multiple",
    "multiple_label",
)
IDENTITY = ("policy", "member", "world", "draw", "seed", "part", "row_id")
DECISIONS = (*IDENTITY, "step", "action", "cost", "probability", "belief")
OUTCOMES = (
    *IDENTITY,
    "label",
    "verdict",
    "probability",
    "acquisition_cost",
    "misclassification_cost",
    "cost",
)


@dataclass(frozen=True)
class Member:
    """One of the policies that act together.

    Attributes:
        policy: name of the agent or method.
        number: of the member within it.
    """

    policy: str
    number: int


@dataclass(frozen=True, eq=False)
class Scene:
    """Who acted where on whom, repeated in each row of the tables.

    Attributes:
        members: K of them, in the order of the episodes' leading axis.
        world: n units.
        seed: of the study.
        part: of the split, of each unit. (n,)
        panels: names of the a panels.
        error_cost: of each verdict on each unit. (n, k)
        parts: that the whole table has, where the units are some of it; None: those of the units.
    """

    members: Sequence[Member]
    world: World
    seed: int
    part: np.ndarray
    panels: Sequence[str]
    error_cost: Float[np.ndarray, "n k"]
    parts: Sequence[str] | None = None

    def identity(self, member: np.ndarray, row: np.ndarray) -> dict[str, Any]:
        """The columns `IDENTITY` of m rows: member and unit of each. (m,)"""
        names = list(dict.fromkeys(entry.policy for entry in self.members))
        codes = np.array([names.index(entry.policy) for entry in self.members])
        parts = sorted(set(self.part.tolist()) if self.parts is None else self.parts)
        place = np.searchsorted(parts, self.part) if parts else np.zeros(0, dtype=np.int64)
        numbers = np.array([entry.number for entry in self.members], dtype=np.int16)
        where = np.full(len(row), WORLDS.index(self.world.name))
        return {
            "policy": pd.Categorical.from_codes(codes[member], categories=pd.Index(names)),
            "member": numbers[member],
            "world": pd.Categorical.from_codes(where, categories=pd.Index(WORLDS)),
            "draw": np.int16(self.world.draw),
            "seed": np.int32(self.seed),
            "part": pd.Categorical.from_codes(place[row], categories=pd.Index(parts)),
            "row_id": self.world.row_id[row],
        }


def decision_frame(scene: Scene, episodes: Episodes) -> pd.DataFrame:
    """One row per decision; `belief` is the probability of the second of two classes, or NaN."""
    probability = episodes.belief
    if probability is None or probability.shape[1] != 2:
        believed = np.full(len(episodes.row), np.nan)
    else:
        believed = probability[:, 1]
    return pd.DataFrame(
        scene.identity(episodes.member, episodes.row)
        | {
            "step": episodes.step.astype(np.int16),
            "action": episodes.action.astype(np.int16),
            "cost": episodes.price,
            "probability": episodes.probability,
            "belief": believed,
        }
    )


def outcome_frame(
    scene: Scene,
    acquired: Bool[np.ndarray, "K n a"],
    *,
    verdict: Int[np.ndarray, "K n"],
    shares: Float[np.ndarray, "K n k"],
) -> pd.DataFrame:
    """One row per member and unit: acquired panels, prediction, costs.

    Args:
        scene: who acted where.
        acquired: panels acquired in the end.
        verdict: predicted class.
        shares: class probabilities that it follows from.
    """
    member, row = (index.ravel() for index in np.indices(acquired.shape[:2]))
    label, paid = scene.world.label[row], (acquired @ scene.world.action_cost).ravel()
    wrong = scene.error_cost[row, verdict.ravel()]
    two = shares.shape[2] == 2
    columns = scene.identity(member, row) | {
        "label": label.astype(np.int16),
        "verdict": verdict.ravel().astype(np.int16),
        "probability": shares[..., 1].ravel().astype(np.float64) if two else np.nan,
        "acquisition_cost": paid,
        "misclassification_cost": wrong,
        "cost": paid + wrong,
    }
    sets = acquired.reshape(len(row), -1).T
    columns |= dict(zip((f"acquired:{name}" for name in scene.panels), sets, strict=True))
    return pd.DataFrame(columns)
