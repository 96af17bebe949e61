"""Stage `label_units`: units with their cheapest actions, each with its certificate.

One stage for simulated worlds, for a real table whose bins are capabilities, and for a user's own
catalogue of actions and units.
"""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from frugal.contracts import Streams
from frugal.contracts.cover import Covers
from frugal.covers.branch_and_bound import cheapest_covers, unreachable_features
from frugal.data.capabilities import capabilities_of, load_capability_rules
from frugal.data.description import load_description
from frugal.data.prepare import read_raw
from frugal.data.recourse_catalogue import (
    EVERYONE,
    Catalogue,
    parse_catalogue,
    parse_units,
    refusal_sentences,
)
from frugal.data.recourse_worlds import sample_world, variant_design
from frugal.stages._recourse_frames import feature_columns, instance_arrays, slot_frame

Units = tuple[tuple[str, ...], np.ndarray, np.ndarray, Catalogue]


def label_units(
    *,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
    rules: Path | None = None,
    description: Path | None = None,
    catalogue: Path | None = None,
    units: Path | None = None,
    **raw: Path,
) -> dict[str, Any]:
    """Read or draw units, solve each, and say of every unit what became of it.

    Units of one's own that cannot be covered are also named on stderr, a sentence each.
    """
    del progress
    source = settings["source"]
    if source["kind"] == "simulated":
        names, features, group, known = _simulated(source, streams)
    elif source["kind"] == "table":
        assert rules is not None
        assert description is not None
        names, features, group, known = _table(rules, description, raw)
    else:
        assert catalogue is not None
        assert units is not None
        known = parse_catalogue(catalogue.read_text("utf-8"), source=catalogue.name)
        names, features, group = parse_units(units.read_text("utf-8"), known, source=units.name)
    covers = cheapest_covers(features, group, known.instance, max_nodes=settings["max_nodes"])
    out_of_reach = unreachable_features(features, group, known.instance)
    labels = _label_frame(names, features, group, known, covers, settings["most_actions"])
    reasons = refusal_sentences(names, features.astype(np.int64), group, out_of_reach, known)
    labels["refusal"] = [reasons.get(name, "") for name in names]
    if source["kind"] == "own":
        for sentence in reasons.values():
            print(f"frugal label_units: {sentence}", file=sys.stderr)
    counts = labels["label_status"].value_counts()
    return {
        "labels": labels,
        "instance": instance_arrays(known.instance),
        "names": {
            "actions": list(known.actions),
            "features": list(known.features),
            "groups": list(known.groups),
            "status": {str(k): int(v) for k, v in counts.items()},
            **_groups_of_own(source["kind"], names, group, known),
        },
    }


def _groups_of_own(kind: str, names, group, known: Catalogue) -> dict[str, dict[str, str]]:
    """Group of each unit by name, for a catalogue of one's own."""
    if kind != "own":
        return {}
    return {"units": {name: known.groups[g] for name, g in zip(names, group, strict=True)}}


def _simulated(source: Mapping[str, Any], streams: Streams) -> Units:
    design = variant_design(
        source["world"],
        draws=source["draws"],
        feature_probability=source["feature_probability"],
        actions=source["actions"],
        action_probability=source["action_probability"],
    )
    world = sample_world(design, streams.generator("world"))
    actions, d = world.instance.provides.shape
    groups = design.groups
    known = Catalogue(
        tuple(f"a{i}" for i in range(actions)),
        tuple(f"x{j}" for j in range(d)),
        tuple(f"group {g}" for g in range(groups)) if groups > 1 else (EVERYONE,),
        world.instance,
    )
    return tuple(str(i) for i in range(len(world.features))), world.features, world.group, known


def _table(rules_path: Path, description_path: Path, raw: Mapping[str, Path]) -> Units:
    described = load_description(description_path)
    rules = load_capability_rules(rules_path)
    files = dict(zip([f.name for f in described.source.files], raw.values(), strict=True))
    features = capabilities_of(read_raw(described, files), rules)
    names = tuple(str(i) for i in range(len(features)))
    return names, features, np.zeros(len(features), dtype=np.int64), rules.catalogue


def _label_frame(names, features, group, known: Catalogue, covers: Covers, most: int):
    """Certificates, statuses, chosen actions by number and by name, and the features."""
    size = (covers.action_set >= 0).sum(axis=1)
    status = np.select(
        [
            ~covers.coverable,
            ~covers.settled,
            size == 0,
            ~covers.unique,
            size > most,
        ],
        ["uncoverable", "unproven", "positive", "tied", "too_many_actions"],
        "labelled",
    )
    slots = max(most, covers.action_set.shape[1])
    words = [";".join(known.actions[a] for a in row if a >= 0) for row in covers.action_set]
    columns = pd.DataFrame(features, columns=feature_columns(known.features))
    return pd.concat(
        [
            pd.DataFrame(
                {
                    "row_id": names, "group": group,
                    "label_status": status,
                    "actions_chosen": words,
                    "cheapest_cost": covers.cost, "lower_bound": covers.lower_bound,
                    "optima": covers.optima, "size": size,
                }
            ),
            slot_frame(covers.action_set, slots=slots),
            columns,
        ],
        axis=1,
    )  # fmt: skip
