"""Stage `recommend_actions`: a fitted generator answers new units, and no answer fails.

Run by hand, on what `answer_units` and `label_units` wrote (recourse; beyond the paper).
"""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.errors import ConfigError, DataError
from frugal.core.stored import part_of
from frugal.core.streams import Streams
from frugal.cover.catalogue import refusal_sentences, units_of
from frugal.cover.generator import answerer
from frugal.cover.instance import COST_DECIMALS
from frugal.cover.learned.answers import as_action_sets, as_membership
from frugal.cover.learned.stored import Arrays
from frugal.cover.repair import repair_answers
from frugal.cover.sheets import read_sheet
from frugal.cover.solvers.branch_and_bound import cheapest_covers, unreachable_features
from frugal.studies.recourse.frames import action_words, catalogue_of


def recommend_actions(
    *,
    generators: Mapping[str, np.ndarray],
    instance: Mapping[str, np.ndarray],
    names: Mapping[str, Any],
    units: Path,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, Any]:
    """Ask one generator, repair by the solver what does not work, and show the proven optimum.

    `extra_cost` is what the repaired answer costs more than the cheapest set.
    Units that cannot be covered are also named on stderr, a sentence each.

    Args:
        generators: of `answer_units`.
        instance: of `label_units`.
        names: of `label_units`.
        units: CSV as `label_units` takes it.
        settings: generator (a name in `generators`), max_nodes.
        streams: not used; nothing is random.
        progress: not used.

    Raises:
        ConfigError: a setting is missing, or there is no such generator.
        DataError: a unit is not what the catalogue describes.
    """
    del streams, progress
    kind, arrays, max_nodes = _asked(generators, settings)
    known = catalogue_of(names, instance)
    who, amounts, group = units_of(read_sheet(units), known, source=units.name)
    if amounts.max(initial=0) > 1:
        raise DataError(f"{units.name} has a {amounts.max()}; generators know features of 0 or 1")
    features, actions = amounts.astype(bool), len(known.actions)
    positive = (known.instance.deficit(features) == 0).all(axis=1)
    answers = answerer(kind, arrays, known.instance)(features, group)
    given = as_membership(answers.action_set, actions=actions) & ~positive[:, None]
    repaired = repair_answers(features, group, given, known.instance, max_nodes=max_nodes)
    best = cheapest_covers(features, group, known.instance, max_nodes=max_nodes)
    out_of_reach = unreachable_features(features, group, known.instance)
    reasons = refusal_sentences(who, amounts.astype(np.int64), group, out_of_reach, known)
    for sentence in reasons.values():
        print(f"frugal recommend_actions: {sentence}", file=sys.stderr)
    status = np.select(
        [positive, ~repaired.coverable, repaired.was_feasible],
        ["positive", "uncoverable", "works"],
        "repaired",
    )
    frame = {
        "row_id": who,
        "group": group,
        "answer_status": status,
        "answer": action_words(as_action_sets(given), known.actions),
        "answer_cost": repaired.cost_before,
        "confidence": answers.confidence,
        "repaired": action_words(as_action_sets(repaired.chosen), known.actions),
        "repaired_cost": repaired.cost_after,
        "cheapest": action_words(best.action_set, known.actions),
        "cheapest_cost": best.cost,
        "lower_bound": best.lower_bound,
        "extra_cost": np.round(
            repaired.cost_after - np.where(best.coverable, best.cost, 0.0), COST_DECIMALS
        ),
        "refusal": [reasons.get(name, "") for name in who],
    }
    return {"recommendations": pd.DataFrame(frame)}


def _asked(
    generators: Mapping[str, np.ndarray], settings: Mapping[str, Any]
) -> tuple[str, Arrays, int]:
    """Kind and arrays of the generator that the settings name, and the solver's limit."""
    if set(settings) != {"generator", "max_nodes"}:
        given = ", ".join(settings) or "none"
        raise ConfigError(f"settings are generator and max_nodes; given are {given}")
    parts = [key.split("/", 2) for key in generators]
    if odd := [key for key, part in zip(generators, parts, strict=True) if len(part) < 3]:
        raise DataError(
            f"the stored generators have the array {odd[0]!r}; allowed are names such as "
            "generator/kind/array"
        )
    kinds = {part[0]: part[1] for part in parts}
    name, max_nodes = settings["generator"], settings["max_nodes"]
    if name not in kinds:
        raise ConfigError(f"there is no generator {name!r} here; there are {', '.join(kinds)}")
    if not isinstance(max_nodes, int) or max_nodes < 1:
        raise ConfigError(f"max_nodes is {max_nodes!r}; it is a whole number from 1")
    start = f"{name}/{kinds[name]}/"
    own = {k.removeprefix(start): k for k in generators if k.startswith(start)}
    return kinds[name], part_of(generators, own), max_nodes
