"""Stages of labels and of recourse's tables: the summary and its checks."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.context import Context
from frugal.core.errors import ConfigError, DataError
from frugal.core.schema_check import did_you_mean, listed
from frugal.core.streams import Streams
from frugal.data.description import load_description
from frugal.data.prepare import read_raw
from frugal.studies.recourse.accuracy import (
    accuracy_rows,
    confidence_rows,
    frequency_rows,
    group_rows,
)
from frugal.studies.recourse.capabilities import capabilities_of, load_capability_rules
from frugal.studies.recourse.catalogue import (
    EVERYONE,
    Catalogue,
    catalogue_of,
    group_warnings,
    refusal_sentences,
    units_of,
)
from frugal.studies.recourse.choices import rule_columns
from frugal.studies.recourse.config import FILES, LabelSettings
from frugal.studies.recourse.frames import (
    SCENARIO,
    action_words,
    feature_columns,
    instance_arrays,
    keyed,
    slot_frame,
)
from frugal.studies.recourse.instance import Covers, price_text
from frugal.studies.recourse.sheets import read_sheet
from frugal.studies.recourse.solvers.branch_and_bound import cheapest_covers, unreachable_features
from frugal.studies.recourse.worlds import sample_world, variant_design

Units = tuple[tuple[str, ...], np.ndarray, np.ndarray, Catalogue, dict[str, Any]]


def label_units(
    *,
    context: Context,
    rules: Path | None = None,
    description: Path | None = None,
    catalogue: Path | None = None,
    units: Path | None = None,
    **raw: Path,
) -> dict[str, Any]:
    """Read or draw units, solve each, and record the outcome of every unit.

    Of units of one's own, those that cannot be covered and groups that occur on one side only are
    named on stderr, a sentence each.

    One stage for simulated worlds, for a real table whose bins are capabilities, and for a user's
    own catalogue of actions and units.

    Raises:
        ConfigError: the settings are not those of a source, or its files are not given, or others.
        DataError: a file has wrong content: which, where, and the values allowed.
    """
    settings = context.settings
    LabelSettings.check(settings)
    source, remarks = settings["source"], []
    named = {"rules": rules, "description": description, "catalogue": catalogue, "units": units}
    source_files = _source_files(
        source["kind"], {k: p for k, p in named.items() if p is not None} | raw
    )
    if source["kind"] == "simulated":
        names, features, group, known_catalogue, more = _simulated(source, context.streams)
    elif source["kind"] == "table":
        names, features, group, known_catalogue, more = _table(source_files, raw)
    else:
        names, features, group, known_catalogue, more = _users_units(source_files, remarks)
    covers = cheapest_covers(
        features, group, known_catalogue.instance, max_nodes=settings["max_nodes"]
    )
    out_of_reach = unreachable_features(features, group, known_catalogue.instance)
    labels = label_frame(names, features, group, known_catalogue, covers, settings["most_actions"])
    reasons = refusal_sentences(
        names, features.astype(np.int64), group, out_of_reach, known_catalogue
    )
    labels["refusal"] = [reasons.get(name, "") for name in names]
    if source["kind"] == "own":
        open_units = np.flatnonzero(labels["label_status"] == "unproven")
        remarks += [
            f"unit {names[u]!r} is not settled: its set costs {price_text(covers.cost[u])}, and "
            f"one may cost as little as {price_text(covers.lower_bound[u])}; raise max_nodes"
            for u in open_units
        ]
        for sentence in [*remarks, *reasons.values()]:
            print(f"frugal label_units: {sentence}", file=sys.stderr)
    counts = labels["label_status"].value_counts()
    return {
        "labels": labels,
        "instance": instance_arrays(known_catalogue.instance),
        "names": {
            "actions": list(known_catalogue.actions),
            "features": list(known_catalogue.features),
            "groups": list(known_catalogue.groups),
            "status": {str(k): int(v) for k, v in counts.items()},
            **more,
        },
    }


def _source_files(kind: str, files: Mapping[str, Any]) -> Mapping[str, Path]:
    """The files of a source, all of them and no others.

    Raises:
        ConfigError: one is missing, is not read by this source, or is no regular file.
    """
    needed = FILES[kind]
    for name in needed:
        if name not in files:
            raise ConfigError(
                f"source.kind {kind!r} needs the input {name!r} (--input {name}=PATH); given are "
                f"{listed(files) or 'none'}"
            )
    for name, file in files.items():
        if name not in needed and kind != "table":
            raise ConfigError(
                f"source.kind {kind!r} reads no input {name!r}; it reads {listed(needed) or 'none'}"
                f"{did_you_mean(name, needed)}"
            )
        if not isinstance(file, Path):
            raise ConfigError(
                f"input {name!r} is no single file of text; it is one CSV, or one YAML"
            )
    return files


def _users_units(files: Mapping[str, Path], remarks: list[str]) -> Units:
    """Units of one's own; remarks on their groups are added to `remarks`."""
    catalogue, units = files["catalogue"], files["units"]
    labelled_catalogue = catalogue_of(
        read_sheet(catalogue, "action", "cost"), source=catalogue.name
    )
    if labelled_catalogue.rules:
        raise DataError(
            f"{catalogue.name} has actions that require or exclude others; the study knows no such "
            "rules, `python -m frugal recourse` does"
        )
    people = read_sheet(units, "unit")
    names, features, group = units_of(people, labelled_catalogue, source=units.name)
    if rules := rule_columns(people, labelled_catalogue):
        raise DataError(
            f"{units.name} has rules of single units ({listed(rules)}); the study knows no such "
            "rules, `python -m frugal recourse` does"
        )
    remarks += group_warnings(
        people, group, labelled_catalogue, source=catalogue.name, of_units=units.name
    )
    of = {name: labelled_catalogue.groups[g] for name, g in zip(names, group, strict=True)}
    return names, features, group, labelled_catalogue, {"units": of}


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
    catalogue = Catalogue(
        tuple(f"a{i}" for i in range(actions)),
        tuple(f"x{j}" for j in range(d)),
        tuple(f"group {g}" for g in range(groups)) if groups > 1 else (EVERYONE,),
        world.instance,
    )
    names = tuple(str(i) for i in range(len(world.features)))
    return names, world.features, world.group, catalogue, {}


def _table(source_files: Mapping[str, Path], raw: Mapping[str, Path]) -> Units:
    described = load_description(source_files["description"])
    rules = load_capability_rules(source_files["rules"])
    if rules.dataset != described.name:
        raise ConfigError(
            f"{source_files['rules'].name} is written for the data set {rules.dataset!r}, and "
            f"{source_files['description'].name} describes {described.name!r}"
        )
    expected = [file.name for file in described.source.files]
    if len(raw) != len(expected):
        raise ConfigError(
            f"{source_files['description'].name} names the files {listed(expected)}, one input "
            f"each (raw_0, raw_1, …); given are {listed(raw) or 'none'}"
        )
    files = dict(zip(expected, raw.values(), strict=True))
    features = capabilities_of(read_raw(described, files), rules)
    names = tuple(str(i) for i in range(len(features)))
    group = np.zeros(len(features), dtype=np.int64)
    return names, features, group, rules.catalogue, {"cost_unit": rules.cost_unit}


def label_frame(names, features, group, catalogue: Catalogue, covers: Covers, most: int):
    """Certificates, statuses, chosen actions, and the features.    [recourse, table 5]"""
    size = (covers.action_set >= 0).sum(axis=1)
    status = np.select(
        [~covers.coverable, ~covers.settled, size == 0, covers.tied, size > most],
        ["uncoverable", "unproven", "positive", "tied", "too_many_actions"],
        "labelled",
    )
    slots = max(most, covers.action_set.shape[1])
    words = action_words(covers.action_set, catalogue.actions)
    columns = pd.DataFrame(features, columns=feature_columns(catalogue.features))
    return pd.concat(
        [
            pd.DataFrame(
                {
                    "row_id": names,
                    "group": group,
                    "label_status": status,
                    "actions_chosen": words,
                    "cheapest_cost": covers.cost,
                    "lower_bound": covers.lower_bound,
                    "optima": covers.optima,
                    "size": size,
                }
            ),
            slot_frame(covers.action_set, slots=slots),
            columns,
        ],
        axis=1,
    )


KEYS = [*SCENARIO, "generator"]
FRONT = ["dataset", "variant", "generator", "subset", "actions"]
NUMBERS = ["n", "accuracy", "accuracy_se", "feasible_share_of_mistakes", "cost_gap"]


def summarise_recourse(
    *, outcomes: pd.DataFrame, labels: pd.DataFrame, context: Context
) -> dict[str, pd.DataFrame]:
    """Accuracies, groups, confidence, frequencies, and outcomes of the units of each group."""
    outcomes, labels = (
        t.assign(seed=t["seed"].astype(str).astype(int)) for t in (outcomes, labels)
    )
    tables: dict[str, list[pd.DataFrame]] = {
        "summary": [],
        "groups": [],
        "confidence": [],
        "frequencies": [],
    }
    edges = tuple(context.settings["frequency_edges"])
    for key, rows in outcomes.groupby(KEYS, sort=False):
        tables_of_study = {
            "summary": accuracy_rows(rows),
            "groups": group_rows(rows),
            "confidence": confidence_rows(rows, bins=context.settings["bins"]),
            "frequencies": frequency_rows(rows, edges=edges),
        }
        for name, table in tables_of_study.items():
            tables[name].append(keyed(table, KEYS, key))
    joined = {name: pd.concat(parts, ignore_index=True) for name, parts in tables.items()}
    summary = joined["summary"]
    further = [c for c in summary.columns if c not in FRONT + NUMBERS]
    counts = labels.groupby(
        ["dataset", "variant", "seed", "group", "label_status", "size"], sort=False
    )
    return joined | {
        "summary": summary[FRONT + NUMBERS + further],
        "sizes": counts.size().rename("n").reset_index(),
    }


def check_recourse(
    *, summary: pd.DataFrame, outcomes: pd.DataFrame, labels: pd.DataFrame, context: Context
) -> dict[str, dict[str, Any]]:
    """Count rows, check certificates and ranges.

    Raises:
        DataError: the first check that fails.
    """
    expected = {tuple(row) for row in context.settings["rows"]}
    overall = summary[summary["actions"] == "all"].astype({"seed": str})
    present = set(overall[KEYS].itertuples(index=False, name=None))
    if present != expected:
        lost = sorted(expected - present) or sorted(present - expected)
        raise DataError(f"the recourse summary lacks or adds {len(lost)} results, first {lost[0]}")
    solved = labels[
        labels["label_status"].isin(["labelled", "tied", "positive", "too_many_actions"])
    ]
    wrong = outcomes[~outcomes["correct"]]
    checks = {
        "every cost of a solved unit meets its lower bound": np.isclose(
            solved["cheapest_cost"], solved["lower_bound"]
        ),
        "a labelled unit has one cheapest set": labels.loc[
            labels["label_status"] == "labelled", "optima"
        ]
        == 1,
        "a unit that cannot be covered has a reason": labels.loc[
            labels["label_status"] == "uncoverable", "refusal"
        ]
        != "",
        "a right answer works": outcomes.loc[outcomes["correct"], "feasible"],
        "no wrong answer that works is cheaper": wrong.loc[wrong["feasible"], "answer_cost"]
        >= wrong.loc[wrong["feasible"], "true_cost"],
        "a repaired answer works": outcomes["repaired_feasible"],
        "no repaired answer is cheaper than the cheapest": outcomes["repaired_cost"]
        >= outcomes["true_cost"],
        "an accuracy is a share": summary["accuracy"].between(0, 1),
    }
    for property_, holds in checks.items():
        if not np.all(holds):
            raise DataError(f"recourse: it does not hold that {property_}")
    return {"checks": {"rows": len(summary), "units": len(labels), "passed": list(checks)}}
