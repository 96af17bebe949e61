"""Worlds of the recourse study with every unit's one cheapest action set: what generators learn.

Taking an action moves a unit's state for certain and costs a known amount, so a label is the
cheapest plan of a deterministic decision process, and a set cover finds it. Knows no learner.
"""

from dataclasses import dataclass

import numpy as np

from frugal.cover.instance import Covers, LabelledUnits
from frugal.cover.solvers.branch_and_bound import cheapest_covers
from frugal.cover.worlds import RecourseWorld, WorldDesign, sample_world


@dataclass(frozen=True)
class LabelCounts:
    """Where the units of a world went. Every unit is counted once.

    Attributes:
        units: distinct units.
        positive: need no action.
        uncoverable: no set of actions that they may take is enough.
        tied: more than one cheapest set.
        unproven: the search stopped at `max_nodes` before it was known that a set is the only one.
        by_size: units with a unique set of 1, 2, … actions, the largest kept size last.
        larger: units with a unique set of more actions than are kept.
        tied_by_size: the tied units by the number of actions of the set found, like `by_size`.
    """

    units: int
    positive: int
    uncoverable: int
    tied: int
    unproven: int
    by_size: tuple[int, ...]
    larger: int
    tied_by_size: tuple[int, ...]


def labelled_world(
    design: WorldDesign, *, most_actions: int, max_nodes: int, rng: np.random.Generator
) -> tuple[LabelledUnits, LabelCounts]:
    """A world and its labels: units with exactly one cheapest set, of at most so many actions.

    Args:
        design: what the world is drawn from; `variant_design` gives the paper's.
        most_actions: larger sets are left out (the paper keeps three).
        max_nodes: see `cheapest_covers`.
        rng: draws the world; the labels need no randomness.

    Returns:
        The labelled units, and how many were left out for which reason.     [recourse, table 5]
    """
    world = sample_world(design, rng)
    covers = cheapest_covers(world.features, world.group, world.instance, max_nodes=max_nodes)
    return unique_labels(world, covers, most_actions=most_actions)


def unique_labels(
    world: RecourseWorld, covers: Covers, *, most_actions: int
) -> tuple[LabelledUnits, LabelCounts]:
    """The units of a solved world that can serve as labels, and why the others cannot."""
    size = (covers.action_set >= 0).sum(axis=1)
    positive = covers.coverable & (size == 0)
    labelled = covers.unique & (size > 0)
    kept = labelled & (size <= most_actions)
    tied = covers.tied & ~positive
    width = int(size[kept].max(initial=1))
    units = LabelledUnits(
        features=world.features[kept],
        action_set=covers.action_set[kept][:, :width],
        cost=covers.cost[kept],
        optima=covers.optima[kept],
        group=world.group[kept],
        instance=world.instance,
    )
    return units, LabelCounts(
        units=len(size),
        positive=int(positive.sum()),
        uncoverable=int((~covers.coverable).sum()),
        tied=int(tied.sum()),
        unproven=int((~covers.settled).sum()),
        by_size=_counts_by_size(size[kept], most_actions),
        larger=int((labelled & ~kept).sum()),
        tied_by_size=_counts_by_size(size[tied], most_actions),
    )


def _counts_by_size(size: np.ndarray, most: int) -> tuple[int, ...]:
    """How many sets have 1, 2, … `most` actions."""
    return tuple(int(count) for count in np.bincount(size, minlength=most + 1)[1 : most + 1])
