"""Invented tables of the recourse study, shaped like real ones; used by tests of figures."""

import numpy as np
import pandas as pd

ACCURACY = {
    "hamming": 0.55,
    "dense_named": 0.95,
    "dense_named_action": 0.7,
    "padded_full_action": 0.8,
    "sequence_full_action": 0.85,
    "seen_cover": 0.99,
    "named": 0.99,
    "named_ag2": 0.995,
    "named_action": 0.996,
    "full_action": 0.998,
}
SCENARIO = {"dataset": "simulated", "variant": "dim_20", "seed": 0, "subset": "all"}


def summary_frame() -> pd.DataFrame:
    rows = []
    for name, whole in ACCURACY.items():
        for actions, n in (("all", 14000), ("1", 5000), ("2", 8600), ("3", 400)):
            share = whole ** (1 if actions == "all" else int(actions))
            half = 1.96 * np.sqrt(share * (1 - share) / n)
            rows.append(
                {
                    **SCENARIO,
                    "generator": name,
                    "actions": actions,
                    "n": n,
                    "accuracy": share,
                    "half_width": half,
                    "accuracy_low": max(0, share - half),
                    "accuracy_high": min(1, share + half),
                    "infeasible_share": (1 - whole) / 2,
                    "repaired_accuracy": whole + (1 - whole) / 5,
                    "repaired_infeasible_share": 0.0,
                    "empty_share": 0.2 if name == "hamming" else 0.0,
                    "repair_cost_gap": np.nan if name == "named_ag2" else 0.1,
                }
            )
    return pd.DataFrame(rows)


def confidence_frame() -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "generator": name,
                "mean_confidence": k / 10 + 0.05,
                "n": 9 if k == 0 else 50 * k,
                "accuracy": min(1.0, k / 10 + 0.08),
            }
            for name in ACCURACY
            for k in range(10)
        ]
    )


def frequency_frame() -> pd.DataFrame:
    classes = [(0, 0), (1, 1), (2, 5), (6, 20), (21, -1)]
    return pd.DataFrame(
        [
            {
                "generator": name,
                "at_least": a,
                "at_most": b,
                "accuracy": whole * k / 4,
                "accuracy_low": max(0.0, whole * k / 4 - 0.02),
                "accuracy_high": min(1.0, whole * k / 4 + 0.01),
            }
            for name, whole in ACCURACY.items()
            for k, (a, b) in enumerate(classes)
        ]
    )


def mistake_frame() -> pd.DataFrame:
    true = np.arange(50, 150, dtype=float)
    works = pd.DataFrame({"feasible": True, "answer_cost": true + 7, "true_cost": true})
    fails = pd.DataFrame({"feasible": False, "answer_cost": true - 9, "true_cost": true})
    both = pd.concat([works, fails])
    return both.assign(dataset="simulated", variant="dim_20", generator="hamming")


def sizes_frame() -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"dataset": "simulated", "variant": v, "group": g, "size": s, "n": 1000 * (4 - s) + g}
            for v in ("manual_groups", "probabilistic_groups")
            for g in range(5)
            for s in (1, 2, 3)
        ]
    )
