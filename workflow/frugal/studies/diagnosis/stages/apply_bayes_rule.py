"""Stage `apply_bayes_rule`: what the exact rules of a simulated clinic would say of its patients.

For every fixed set of panels the best rule that sees it: a bound for whatever orders the same for
everyone, known only because the world is. A policy that orders by what it has seen may pass it.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from frugal.acquire.policies.fixed_classifiers import FixedClassifiers
from frugal.config.dataset import ClinicalGenerator
from frugal.core.errors import ConfigError
from frugal.core.streams import Streams
from frugal.data.clinical_simulator import (
    ClinicalWorld,
    clinical_world,
    patients_of,
    posterior,
    static_rules,
)
from frugal.data.description import load_description
from frugal.studies.diagnosis.frames import Solution, divided, fixed_runs, task_of, whole_sets


def apply_bayes_rule(
    *,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    description: Path,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, pd.DataFrame]:
    """Call ill whoever's exact posterior is above the threshold that is best for the criterion.

    For F1 that is the population's best threshold of the set; for AM the share of the ill. Sets
    with a panel whose columns another panel of the set brings as well are left out.

    Raises:
        ConfigError: the data set is not the simulated clinic.
    """
    generator = load_description(description).source.generator
    if not isinstance(generator, ClinicalGenerator):
        raise ConfigError(
            f"{description} is no simulated clinic, so that its Bayes rule is unknown"
        )
    data, part = divided(table, catalogue, streams)
    clinic = clinical_world(generator)
    ill_share = float(clinic.share @ clinic.prevalence)
    solutions, sets, rules, thresholds = [], [], [], []
    for code, rule in progress(list(enumerate(static_rules(clinic, data))), desc="sets"):
        chosen = np.isin([panel.name for panel in data.actions], rule.panels)
        if _redundant(data.provides[chosen]):
            continue
        columns = data.columns_observed(chosen[None])[0]
        words = "all panels" if (chosen == whole_sets(data)).all() else " + ".join(rule.panels)
        solutions.append(Solution("bayes_static", code, np.nan, np.nan, words or "no panel"))
        sets.append(chosen)
        rules.append(_of_visible(clinic, data.columns, columns))
        best = rule.rule.threshold if settings["criterion"] == "f1" else ill_share
        thresholds.append(np.nextafter(best, np.inf))  # ill is who lies above it
    policies = FixedClassifiers(np.stack(sets), rules, np.array(thresholds))
    world = task_of(data, terminals=len(data.classes))
    return fixed_runs(policies, solutions, data, world, part, streams)


def _of_visible(
    clinic: ClinicalWorld, names: Sequence[str], columns: np.ndarray
) -> Callable[[np.ndarray], np.ndarray]:
    """Posterior probability of illness, given some columns."""
    seen = np.array([columns[names.index(feature)] for feature in clinic.features])

    def risk(visible: np.ndarray) -> np.ndarray:
        group, values = patients_of(clinic, names, visible)
        return posterior(clinic, group, values, np.tile(seen, (len(values), 1)))

    return risk


def _redundant(provides: np.ndarray) -> bool:
    """True if some panel of a set brings nothing that another one does not."""
    inside = (provides[:, None] <= provides[None]).all(axis=2)
    return bool((inside & ~np.eye(len(provides), dtype=bool)).any())
