"""What does Adult allow? Every set of panels around five, judged by boosting on one fold.

Usage: python -m tests.benchmarks.dadi_sets RESULTS
RESULTS is what `--configfile config/paper_dadi_adult.yaml` made; the prepared table is enough.

Age, both educations, capital gain and loss belong to each set, fnlwgt to none; the other seven
panels make 128 sets. For each, one boosting learns the label and one the group, with the group
weights of the study's losses, on the training rows of fold 0; both are judged on its test rows.
Printed are, for each γ, the sets with the largest R of eq. 1, what nobody could undercut (no set
with a larger AUC has a smaller disparity), and the same with decisions at the label's share instead
of at one half. Some 6 CPU minutes.
"""

import itertools
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from frugal.core.streams import Streams
from frugal.judge.fairness import contingency, demographic_disparity
from frugal.learn.weighted_logistic import equal_group_weights
from frugal.studies.dadi.frames import fold_of
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss, roc_auc_score
from tqdm import tqdm

BASE = ("age", "education", "education-num", "capital-gain", "capital-loss")
OTHERS = (
    "workclass",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "hours-per-week",
    "native-country",
)
GAMMAS = (0.5, 0.6, 0.65, 0.7, 0.8, 0.9, 1.0)
BOOSTING: dict[str, Any] = {
    "max_iter": 150,
    "learning_rate": 0.1,
    "early_stopping": False,
    "random_state": 0,
}
DESIGN = {"rows": None, "withheld_panels": ["sex"], "folds": 6, "validation_share": 0.1333333}


def learned(values, target, weight, train, test):
    """Probability of target 1 for the test rows. (m,)"""
    model = HistGradientBoostingClassifier(**BOOSTING)
    model.fit(values[train], target[train], sample_weight=weight[train])
    return model.predict_proba(values[test])[:, 1]


def judged(fold, others):
    """One set of panels: its name and its numbers."""
    names = [panel.name for panel in fold.shown.actions]
    chosen = [names.index(name) for name in (*BASE, *others)]
    values = fold.values[:, np.isin(fold.panel_of_column, chosen)]
    train, test = fold.rows("train"), fold.rows("test")
    label, group = fold.label, fold.sensitive
    weight = equal_group_weights(group)
    told = learned(values, label, weight, train, test)
    guessed = learned(values, group, weight, train, test)
    at_share = np.quantile(told, 1 - label[train].mean())
    disparity = {
        name: float(demographic_disparity(contingency(label[test], group[test], told >= cut)))
        for name, cut in (("disparity", 0.5), ("disparity_at_share", at_share))
    }
    losses = {
        "label_loss": log_loss(label[test], told, sample_weight=weight[test]),
        "group_loss": log_loss(group[test], guessed, sample_weight=weight[test]),
    }
    return {
        "others": " + ".join(others) or "none",
        "auc": roc_auc_score(label[test], told),
        **disparity,
        "group_auc": roc_auc_score(group[test], guessed),
        **losses,
    }


def front(found, gap):
    """Sets with no other of larger AUC and smaller gap, from the largest AUC on."""
    ordered = found.sort_values("auc", ascending=False)
    least = ordered[gap].cummin()
    return ordered[(ordered[gap] == least) & ~least.duplicated()]


def main():
    """Print what the sets reach."""
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    place = Path(sys.argv[1]) / "data/dataset=adult_fair"
    table = pd.read_parquet(place / "table.parquet", partitioning=None)
    catalogue = json.loads((place / "catalogue.json").read_text())
    streams = Streams(20230501, "dadi_sets", {"dataset": "adult_fair", "fold": "0"})
    fold = fold_of(table, catalogue, DESIGN, streams)
    sizes = range(len(OTHERS) + 1)
    sets = [chosen for size in sizes for chosen in itertools.combinations(OTHERS, size)]
    found = pd.DataFrame([judged(fold, others) for others in tqdm(sets)])
    shown = ["others", "auc", "disparity", "disparity_at_share", "group_auc"]
    for gamma in GAMMAS:
        found["R"] = (1 - gamma) * found["group_loss"] - gamma * found["label_loss"]
        best = found.nlargest(2, "R")[[*shown, "R"]]
        print(f"\nlargest R at γ = {gamma}\n{best.round(3).to_string(index=False)}")
    for gap in ("disparity", "disparity_at_share"):
        print(
            f"\nnot undercut in {gap}\n{front(found, gap)[shown].round(3).to_string(index=False)}"
        )


if __name__ == "__main__":
    main()
