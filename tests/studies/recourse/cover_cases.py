"""Small random covering instances for the tests of the covers."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
from frugal.studies.recourse.catalogue import Catalogue
from frugal.studies.recourse.frames import labelled_of
from frugal.studies.recourse.instance import CoverInstance, Covers, LabelledUnits
from frugal.studies.recourse.solvers.branch_and_bound import cheapest_covers
from frugal.studies.recourse.stages.tables import label_frame
from frugal.studies.recourse.worlds import RecourseWorld, WorldDesign, sample_world

REFERENCE = Path(__file__).parents[2] / "reference" / "recourse_set_cover.json"


def random_case(seed, *, amounts, units=6):
    """Units, groups and an instance with free actions, ties, unmet access and odd thresholds."""
    rng = np.random.default_rng(seed)
    a, d, g = int(rng.integers(1, 8)), int(rng.integers(1, 6)), int(rng.integers(1, 4))
    provides = rng.integers(0, 3, (a, d)) if amounts else rng.random((a, d)) < 0.4
    top = 4 if amounts else 2
    instance = CoverInstance(
        cost=rng.choice([0.0, 0.1, 0.2, 0.3, 1.0, 2.5], size=a),
        provides=provides,
        thresholds=rng.integers(0, top, d),
        access=rng.random((g, a)) < 0.8,
    )
    features = rng.integers(0, top, (units, d)) if amounts else rng.random((units, d)) < 0.4
    return features, rng.integers(0, g, units), instance


def bits(text, d):
    """Feature j of a hexadecimal mask is its bit j."""
    return [bool(int(text, 16) >> j & 1) for j in range(d)]


def reference_cases():
    """(features, instance, least cost, number of optima) of each reference instance."""
    for case in json.loads(REFERENCE.read_text())["instances"]:
        d = case["n"]
        instance = CoverInstance(
            cost=np.array(case["action_cost"], dtype=float),
            provides=np.array([bits(text, d) for text in case["actions"]]),
            thresholds=np.ones(d, dtype=np.int64),
            access=np.ones((1, len(case["actions"])), dtype=bool),
        )
        features = np.array([bits(text, d) for text in case["agents"]])
        yield features, instance, np.array(case["opt_cost"]), np.array(case["n_optimal_sets"])


def paper_example():
    """The paper's example of five features and nine actions."""
    example = json.loads(REFERENCE.read_text())["paper_example"]
    instance = CoverInstance(
        cost=np.array(example["costs"], dtype=float),
        provides=np.array(example["actions"]) > 0,
        thresholds=np.array(example["t"]),
        access=np.ones((1, len(example["costs"])), dtype=bool),
    )
    return np.array([example["x"]]) > 0, instance


def solved_world(design: WorldDesign, rng: np.random.Generator) -> tuple[RecourseWorld, Covers]:
    """A world and a cheapest set of each of its units."""
    world = sample_world(design, rng)
    return world, cheapest_covers(world.features, world.group, world.instance, max_nodes=10**7)


def world_labels(
    design: WorldDesign, rng: np.random.Generator
) -> tuple[pd.DataFrame, CoverInstance]:
    """The labels of all units of a world, as `label_units` writes them, and its instance."""
    world, covers = solved_world(design, rng)
    actions, features = (tuple(map(str, range(n))) for n in world.instance.gain.shape)
    groups = ("all",) * len(world.instance.access)
    catalogue = Catalogue(actions, features, groups, world.instance)
    units = tuple(map(str, range(len(world.features))))
    labels = label_frame(units, world.features, world.group, catalogue, covers, 3)
    return labels, world.instance


def labelled_world(design: WorldDesign, rng: np.random.Generator) -> LabelledUnits:
    """A world's units with one cheapest set of at most three actions."""
    return labelled_of(*world_labels(design, rng))
