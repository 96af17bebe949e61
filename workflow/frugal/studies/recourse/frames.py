"""Tables and arrays of the recourse study between its steps: columns in, columns out."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.errors import DataError
from frugal.core.stored import Array, Stored
from frugal.studies.recourse.catalogue import Catalogue
from frugal.studies.recourse.instance import CoverInstance, LabelledUnits

LARGEST_AMOUNT = 10**9  # that an action adds, or that a feature needs
_INSTANCE = {
    "cost": Array("float64", ("actions",), low=0),
    "provides": Array(("bool", "int64"), ("actions", "features"), low=0, high=LARGEST_AMOUNT),
    "thresholds": Array("int64", ("features",), low=0, high=LARGEST_AMOUNT),
    "access": Array("bool", ("groups", "actions")),
}
SCENARIO = ["dataset", "variant", "seed", "subset"]


def feature_columns(names: Sequence[str]) -> list[str]:
    """`feature:name` of each feature."""
    return [f"feature:{name}" for name in names]


def instance_arrays(instance: CoverInstance) -> dict[str, np.ndarray]:
    """A catalogue as arrays that a file can hold."""
    return {
        "cost": instance.cost,
        "provides": instance.gain,
        "thresholds": instance.thresholds.astype(np.int64),
        "access": instance.access,
    }


def instance_of(arrays: Mapping[str, np.ndarray]) -> CoverInstance:
    """The catalogue again; amounts of at most one are read as yes/no.

    Raises:
        DataError: the arrays are no catalogue; the message names the first.
    """
    Stored("catalogue of actions", arrays).require(_INSTANCE)
    provides = arrays["provides"]
    return CoverInstance(
        cost=arrays["cost"],
        provides=provides.astype(bool) if provides.max(initial=0) <= 1 else provides,
        thresholds=arrays["thresholds"],
        access=arrays["access"].astype(bool),
    )


def catalogue_of(names: Mapping[str, Any], instance: Mapping[str, np.ndarray]) -> Catalogue:
    """The catalogue again, with the names of its actions, features and groups.

    Raises:
        DataError: the arrays are no catalogue, or a list of names is not one for each.
    """
    stored = instance_of(instance)
    sizes = {
        "actions": stored.gain.shape[0],
        "features": stored.gain.shape[1],
        "groups": len(stored.access),
    }
    for key, size in sizes.items():
        names_of_kind = names.get(key) if isinstance(names, Mapping) else None
        if not (
            isinstance(names_of_kind, list) and all(isinstance(name, str) for name in names_of_kind)
        ):
            raise DataError(f"the stored names have no list of texts under {key!r}")
        if len(names_of_kind) != size or len(set(names_of_kind)) != size:
            raise DataError(
                f"the stored names have {len(set(names_of_kind))} different {key}; the stored "
                f"catalogue of actions has {size}"
            )
    actions, features, groups = (tuple(names[key]) for key in sizes)
    return Catalogue(actions, features, groups, stored)


def labelled_of(labels: pd.DataFrame, instance: CoverInstance) -> LabelledUnits:
    """The units that can be learnt from: those of label_status `labelled`.

    Raises:
        DataError: an amount, threshold or state is above 1, so no yes/no state represents it;
            or the labels are of another catalogue.
    """
    labelled = labels[labels["label_status"] == "labelled"]
    columns = [c for c in labels.columns if str(c).startswith("feature:")]
    largest = {
        "an action adds": instance.gain.max(initial=0),
        "a feature needs": instance.thresholds.max(initial=0),
        "a unit has": labelled[columns].to_numpy(dtype=np.int64).max(initial=0),
    }
    for subject, amount in largest.items():
        if amount > 1:
            raise DataError(
                f"{subject} {int(amount)}, but generators learn yes/no features of 0 or 1; leave "
                "the scenario's subsets and generators empty, and it is solved only"
            )
    slots = [c for c in labels.columns if str(c).startswith("chosen:")]
    actions, d = instance.gain.shape
    if len(columns) != d or not slots:
        raise DataError(
            f"the stored labels have {len(columns)} columns of features and {len(slots)} of chosen "
            f"actions; the stored catalogue has {d} features, and at least one action is chosen"
        )
    groups = len(instance.access)
    for name, low, high in [("group", 0, groups - 1), *((slot, -1, actions - 1) for slot in slots)]:
        entries = labelled[name].to_numpy()
        if entries.dtype.kind not in "iu" or not ((entries >= low) & (entries <= high)).all():
            raise DataError(
                f"column {name!r} of the stored labels holds a value that is no whole number from "
                f"{low} to {high}, as the stored catalogue has them"
            )
    return LabelledUnits(
        features=labelled[columns].to_numpy(dtype=bool),
        action_set=labelled[slots].to_numpy(dtype=np.int64),
        cost=labelled["cheapest_cost"].to_numpy(dtype=np.float64),
        optima=labelled["optima"].to_numpy(dtype=np.int64),
        group=labelled["group"].to_numpy(dtype=np.int64),
        instance=instance,
    )


def slot_frame(action_set: np.ndarray, *, slots: int) -> pd.DataFrame:
    """Action sets as columns `chosen:0`, `chosen:1`, …, −1 where a set is shorter."""
    padded = np.full((len(action_set), slots), -1, dtype=np.int64)
    padded[:, : action_set.shape[1]] = action_set
    return pd.DataFrame(padded, columns=[f"chosen:{k}" for k in range(slots)])


def action_words(action_set: np.ndarray, names: Sequence[str]) -> list[str]:
    """Names of each set's actions, separated by semicolons; empty for an empty set."""
    words = list(map(str, names))
    return [";".join([words[a] for a in row if a >= 0]) for row in action_set.tolist()]


def keyed(rows: pd.DataFrame, keys: Sequence[str], values: Any) -> pd.DataFrame:
    """The rows with key columns in front."""
    return rows.assign(**dict(zip(keys, values, strict=True)))[[*keys, *rows.columns]]
