"""Unit and meaning of the columns that tables of several studies have; a manifest repeats them.

Those of one study are in its `columns.py`. A column without a description cannot be written: a
reader should never have to guess.
"""

import re
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from frugal.core.errors import DataError

COST = "cost unit of the data set"

COLUMNS: dict[str, tuple[str, str]] = {
    # identity
    "row_id": ("", "identity of the unit in the raw data"),
    "part": ("", "part of the split, for example train or test"),
    "label": ("", "class index, in the order of the catalogue's classes"),
    "sensitive": ("", "group of the protected attribute, 0 or 1, in the order of the catalogue"),
    "group_index": ("", "group that policies are judged in, in the order of the catalogue"),
    "cluster_index": ("", "rows with one number belong together"),
    "dataset": ("", "name of the data set"),
    "seed": ("", "seed of the study: one draw of missingness and of the policy's randomness"),
    "world": ("", "blocked: only recorded panels; full: all; retrospective: the records' own set"),
    "draw": ("", "number of the imputation draw; 0 where there is only one"),
    "panel": ("", "name of the panel"),
    # decisions and outcomes
    "policy": ("", "name of the agent or method that acted"),
    "member": ("", "number of the policy among those that its method trains together"),
    "step": ("decisions", "0 for the first decision of the unit"),
    "action": (
        "",
        "index of the panel acquired; from the number of panels on: stop, or a diagnosis",
    ),
    "probability": ("", "with which the policy took the decision"),
    "cost": (
        COST,
        "acquisition plus misclassification cost; acquisition alone in decisions and in the tables "
        "of diagnosis and dadi",
    ),
    "acquisition_cost": (COST, "cost of the acquired panels"),
    "misclassification_cost": (COST, "cost of the predicted class against the label"),
    "verdict": ("", "class predicted at the end, in the order of the catalogue's classes"),
    "belief": ("", "probability of the second of two classes when the decision was taken"),
    # missingness and nuisances
    "bin": ("", "number of the bin of predicted probability"),
    # estimates
    "n": ("rows", "evaluation rows"),
    "frequency": ("", "share of units for which the panel is acquired"),
    "threshold": (
        "",
        "of positivity: probability called weak; of net benefit: predicted probability that is "
        "decided positive; of a search: δ, or λ of ndp",
    ),
    # imputation
    "method": (
        "",
        "name of the method: of imputation, of a nuisance (empty where it follows from others), or "
        "an agent or baseline that is compared",
    ),
    # treatment search
    "patient": ("", "who the unit belongs to; a split never divides a patient"),
    "units": ("units", "test units, or those of them that the row speaks of"),
    "value": ("", "expected return from here; of cdp and cg minus the expected trials left"),
    # recourse
    "group": (
        "",
        "group of units: of recourse, those that may take the same actions; of afape, as "
        "defined in the data set's YAML, empty where all are compared",
    ),
    # dadi
    "iteration": ("", "joint training iterations, or outer loops of training, so far"),
    "objective": ("nats", "combined loss γ L_C − (1 − γ) L_A, with the penalty for cost"),
    "label_loss": ("nats", "group-normalised cross-entropy of the classifier"),
    "adversary_loss": ("nats", "group-normalised cross-entropy of the adversary"),
    "panels": ("panels", "mean number of panels acquired"),
    "on_front": ("", "True where no other point is at least as good in both and better in one"),
    # diagnosis
    "family": (
        "",
        "family of rows compared: a front by its method, baselines, selection or bayes; in dadi, "
        "methods of one kind",
    ),
    "split": ("", "part of the units: train, validation or test"),
    "f1": ("", "2 TP / (2 TP + FP + FN)"),
    "am": ("", "mean of sensitivity and specificity"),
    "auroc": ("", "chance that an ill unit has a higher probability than a healthy one"),
    "solutions": ("", "number of solutions"),
    "steps": ("decisions", "steps of training of one policy so far"),
    "classifier_auroc_random": ("", "AUROC of the classifier where random panels are known"),
    "classifier_auroc_policy": ("", "AUROC of the classifier on the states that the policy visits"),
    "classifier_log_loss_random": (
        "nats",
        "mean log-loss of the classifier where random panels are known",
    ),
    "classifier_log_loss_policy": (
        "nats",
        "mean log-loss of it on the states that the policy visits",
    ),
    "imputer": ("", "name of the imputer"),
    "rmse": (
        "",
        "root mean squared error of hidden entries, in standard deviations of training rows",
    ),
    "entries": ("", "hidden entries that are scored"),
}

OF_ITS_COLUMN = "that of the column named"

PATTERNS: tuple[tuple[str, tuple[str, str]], ...] = (
    (r"value:(.+)", ("unit of the raw column", "encoded feature {0}")),
    (r"observed:(.+)", ("", "True where panel {0} is in the records")),
    (r"acquired:(.+)", ("", "True where the policy acquired panel {0}")),
)


def describe_columns(
    table: Any, units: Mapping[str, str], study_columns: ModuleType
) -> list[dict[str, str]]:
    """Name, dtype, unit and meaning of each column of a DataFrame.

    Args:
        table: the DataFrame.
        units: of the encoded features, which a data set names; empty for other tables.
        study_columns: the `columns.py` of the study that makes the table.

    Raises:
        DataError: a column has no description.
    """
    exact, shaped = {**COLUMNS, **study_columns.COLUMNS}, (*PATTERNS, *study_columns.PATTERNS)
    described = []
    for name, dtype in zip(map(str, table.columns), table.dtypes, strict=True):
        feature = (units[name], "encoded feature") if name in units else None
        unit, meaning = feature or exact.get(name) or _shaped(name, exact, shaped)
        described.append({"name": name, "dtype": str(dtype), "unit": unit, "meaning": meaning})
    return described


def _shaped(
    name: str, exact: Mapping[str, tuple[str, str]], shaped: Sequence[tuple[str, tuple[str, str]]]
) -> tuple[str, str]:
    for pattern, (unit, meaning) in shaped:
        if match := re.fullmatch(pattern, name, flags=re.DOTALL):
            own_unit = exact[match[1]][0] if unit == OF_ITS_COLUMN else unit
            return own_unit, meaning.format(*match.groups())
    raise DataError(
        f"column {name!r} has no description in the study's columns.py, nor in frugal.core.columns"
    )
