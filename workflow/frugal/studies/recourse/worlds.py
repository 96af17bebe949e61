"""Simulated worlds of the recourse study: units, actions, costs, thresholds and groups.

Also the parts of labelled data that the study compares: explanations by frequency, and the split.
Knows no solver and no generator; a world has no information on which actions are cheapest.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

from frugal.core.errors import ConfigError, DataError
from frugal.studies.recourse.instance import CoverInstance


@dataclass(frozen=True)
class WorldDesign:
    """Parameters from which a world is drawn.

    Attributes:
        features: d, coordinates of a unit and of an action.
        draws: units before duplicates are dropped.
        feature_probability: that a unit has a feature.
        actions: a, in all for `everyone` and `assigned`; of each group for `own`.
        action_probabilities: that an action provides a feature; one per group for `own`, else one.
        access: `everyone` (one group), `assigned` (each group may take some of the common actions),
            or `own` (each group has actions drawn for it alone).
        groups: 1 for `everyone`.
        actions_per_group: of the common actions, for `assigned`; else None.
        needed: [first, last) feature whose threshold is 1; the others' is 0.
    """

    features: int
    draws: int
    feature_probability: float
    actions: int
    action_probabilities: tuple[float, ...]
    access: str
    groups: int
    actions_per_group: int | None
    needed: tuple[int, int]

    def __post_init__(self) -> None:
        if self.access not in ("everyone", "assigned", "own"):
            raise ConfigError(
                f"access is {self.access!r}; allowed are 'everyone', 'assigned' and 'own'"
            )
        if self.access == "everyone" and self.groups != 1:
            raise ConfigError(f"access 'everyone' has 1 group, not {self.groups}")
        needed = self.groups if self.access == "own" else 1
        if len(self.action_probabilities) != needed:
            raise ConfigError(
                f"access {self.access!r} needs {needed} action probabilities, but "
                f"{len(self.action_probabilities)} are given"
            )
        probabilities = (self.feature_probability, *self.action_probabilities)
        if not all(0 <= p <= 1 for p in probabilities):
            raise ConfigError(f"a probability lies outside [0, 1]: {probabilities}")
        if not 0 <= self.needed[0] < self.needed[1] <= self.features:
            raise ConfigError(f"features {self.needed} are needed, but there are {self.features}")
        if (self.actions_per_group is not None) != (self.access == "assigned"):
            raise ConfigError("'actions_per_group' belongs to access 'assigned', and only to it")
        if self.actions_per_group is not None and self.actions_per_group > self.actions:
            raise ConfigError(
                f"a group gets {self.actions_per_group} of only {self.actions} actions"
            )
        if self.actions_per_group == 0:
            raise ConfigError(
                f"a group gets none of {self.actions} actions; each of {self.groups} gets its "
                f"share, so at least {self.groups} are needed"
            )


@dataclass(frozen=True, eq=False)
class RecourseWorld:
    """Units and the actions open to them. Shapes: n units, d features.

    Attributes:
        features: distinct states. (n, d)
        group: group of each unit. (n,)
        coordinate_cost: whole cost of each feature, shared by all actions. (d,)
        instance: actions with cost, provided features, thresholds and access.
    """

    features: Bool[np.ndarray, "n d"]
    group: Int[np.ndarray, " n"]
    coordinate_cost: Int[np.ndarray, " d"]
    instance: CoverInstance


_GROUP_PROBABILITIES = (0.4, 0.5, 0.6, 0.7, 0.8)
_NEEDED_OF_20 = {
    "first_5": (0, 5),
    "first_10": (0, 10),
    "mid_5": (7, 12),
    "last_5": (15, 20),
    "last_10": (10, 20),
}
VARIANTS = ("dim_20", "dim_50", "dim_100", "manual_groups", "probabilistic_groups", *_NEEDED_OF_20)


def variant_design(
    variant: str, *, draws: int, feature_probability: float, actions: int, action_probability: float
) -> WorldDesign:
    """The paper's data set of that name (see `VARIANTS`), at any size.    [recourse, sec. 4.1]

    The paper's numbers are 100,000 draws, 0.68, 100 actions and 0.5. Differs from the paper where
    it is silent: a manual group is given a fifth of the actions at random, a probabilistic group
    has `actions` of its own, and the middle five of twenty features are numbers 7 to 11, from 0.

    Raises:
        ConfigError: there is no such variant.
    """
    if variant not in VARIANTS:
        raise ConfigError(f"there is no variant {variant!r}; allowed are {', '.join(VARIANTS)}")
    features = int(variant.removeprefix("dim_")) if variant.startswith("dim_") else 20
    manual, probabilistic = variant == "manual_groups", variant == "probabilistic_groups"
    return WorldDesign(
        features=features,
        draws=draws,
        feature_probability=feature_probability,
        actions=actions,
        action_probabilities=_GROUP_PROBABILITIES if probabilistic else (action_probability,),
        access="assigned" if manual else "own" if probabilistic else "everyone",
        groups=5 if manual or probabilistic else 1,
        actions_per_group=actions // 5 if manual else None,
        needed=_NEEDED_OF_20.get(variant, (0, features)),
    )


def sample_world(design: WorldDesign, rng: np.random.Generator) -> RecourseWorld:
    """One world: actions and costs first, then units.

        x_j ~ Bernoulli(p_f),  a_ij ~ Bernoulli(p_a),  w_j ~ Uniform{1..d},  cᵢ = Σⱼ wⱼ aᵢⱼ

    Each state is kept once and then put in one group at random.    [recourse, sec. 4.1]
    """
    d = design.features
    coordinate_cost = rng.integers(1, d, size=d, endpoint=True)
    blocks = [rng.random((design.actions, d)) < p for p in design.action_probabilities]
    provides = np.concatenate(blocks)
    thresholds = np.zeros(d, dtype=np.int64)
    thresholds[slice(*design.needed)] = 1
    features = rng.random((design.draws, d)) < design.feature_probability
    features = features[first_occurrences(features)]
    return RecourseWorld(
        features=features,
        group=rng.integers(design.groups, size=len(features)),
        coordinate_cost=coordinate_cost,
        instance=CoverInstance(
            cost=(provides @ coordinate_cost).astype(np.float64),
            provides=provides,
            thresholds=thresholds,
            access=_sample_access(design, len(provides), rng),
        ),
    )


def _sample_access(
    design: WorldDesign, actions: int, rng: np.random.Generator
) -> Bool[np.ndarray, "g a"]:
    """Which group may take which action."""
    if design.access == "own":
        return np.repeat(np.eye(design.groups, dtype=bool), design.actions, axis=1)
    if design.actions_per_group is None:
        return np.ones((design.groups, actions), dtype=bool)
    rank = rng.permuted(np.tile(np.arange(actions), (design.groups, 1)), axis=1)
    return rank < design.actions_per_group


def first_occurrences(rows: Bool[np.ndarray, "n d"]) -> Int[np.ndarray, " m"]:
    """Index of the first of each distinct row, ascending. (m,)"""
    packed = np.packbits(rows, axis=1)
    as_one = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1]))).reshape(-1)
    _, first = np.unique(as_one, return_index=True)
    return np.sort(first)


def explanation_index(
    action_set: Int[np.ndarray, "n m"],
) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, "k m"], Int[np.ndarray, " k"]]:
    """The distinct action sets ("explanations", or named CFEs) and which one each unit has.

    Returns:
        index into the k explanations (n,), the explanations themselves (k, m) in lexical order,
        and how many units have each (k,).
    """
    sets, index, frequency = np.unique(action_set, axis=0, return_inverse=True, return_counts=True)
    return index.reshape(-1), sets, frequency


def frequent_explanations(
    action_set: Int[np.ndarray, "n m"], *, more_than: int
) -> Bool[np.ndarray, " n"]:
    """True for units whose explanation is that of more than so many units; 0 keeps all. (n,)

    The study's subsets are `all` (0), `>10` and `>40`.    [recourse, sec. 4.1]
    """
    index, _, frequency = explanation_index(action_set)
    return frequency[index] > more_than


def train_rows(n: int, *, train_share: float, rng: np.random.Generator) -> Bool[np.ndarray, " n"]:
    """True for the training rows: a random share of n, to the nearest row. (n,)

    Raises:
        ConfigError: the share is not strictly between 0 and 1.
        DataError: a part would be empty.
    """
    if not 0 < train_share < 1:
        raise ConfigError(f"train_share is {train_share}; it lies strictly between 0 and 1")
    count = round(n * train_share)
    if not 0 < count < n:
        raise DataError(f"{n} units cannot be split in two parts at a share of {train_share}")
    train = np.zeros(n, dtype=bool)
    train[rng.permutation(n)[:count]] = True
    return train
