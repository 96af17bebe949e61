"""Invented tables of the diagnosis study, shaped like real ones; used by tests of figures."""

import numpy as np
import pandas as pd

CLASSIFIERS = {
    "logistic": 0.55,
    "forest": 0.58,
    "xgboost": 0.62,
    "lightgbm": 0.63,
    "perceptron": 0.6,
}
FRONT = "sm_ddpo_end2end"


def solutions_frame() -> pd.DataFrame:
    """190 solutions of a front, two other methods with several, and single ones."""
    rng = np.random.default_rng(0)
    cost = np.sort(rng.gamma(2, 28, 190))
    f1 = 0.2 + 0.42 * (1 - np.exp(-cost / 35)) - rng.exponential(0.03, 190)
    front = pd.DataFrame({"method": FRONT, "pair": range(190), "cost": cost, "f1": f1})
    front["on_front"] = f1 > np.maximum.accumulate(np.r_[-1, f1[:-1]])
    front["on_test_front"] = front["on_front"]
    front.loc[front.index[front["on_front"]][::3], "on_front"] = False
    others = [("cwcf", 8, 0.75), ("greedy", 6, 0.9)]
    several = [
        pd.DataFrame(
            {
                "method": m,
                "pair": range(k),
                "cost": np.linspace(5, 150, k),
                "on_front": True,
                "f1": share * (0.2 + 0.4 * (1 - np.exp(-np.linspace(5, 150, k) / 40))),
            }
        )
        for m, k, share in others
    ]
    single = [("random", 70, 0.4), ("fixed", 74, 0.5)]
    single += [(f"{c}_full", 290, f) for c, f in CLASSIFIERS.items()]
    single += [(f"{c}_fixed", 74, f - 0.12) for c, f in CLASSIFIERS.items()]
    alone = pd.DataFrame(single, columns=["method", "cost", "f1"]).assign(pair=0, on_front=False)
    frame = pd.concat([front, *several, alone], ignore_index=True)
    frame["on_test_front"] = frame["on_test_front"].eq(True)
    frame["auroc"] = 0.72 + 0.35 * frame["f1"]
    frame["am"] = 0.5 + 0.5 * frame["f1"]
    return frame.assign(seed=0, split="test")


def curves_frame(pairs: int = 18) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    steps = np.arange(1, 41) * 5000
    rows = []
    for pair in range(pairs):
        rise = 1 - np.exp(-steps / (40_000 * (1 + pair / 9)))
        for split, gap in (("train", 0.0), ("validation", 0.02), ("test", 0.03)):
            noise = rng.normal(0, 0.008, (5, 40))
            rows.append(
                pd.DataFrame(
                    {
                        "pair": pair,
                        "iteration": range(40),
                        "steps": steps,
                        "split": split,
                        "f1": 0.25 + 0.35 * rise - gap + noise[0],
                        "auroc": 0.6 + 0.25 * rise - gap + noise[1],
                        "cost": 150 - (60 + 3 * pair) * rise + 60 * noise[2],
                        "classifier_auroc_random": 0.55 + 0.22 * rise + noise[3] / 2,
                        "classifier_auroc_policy": 0.55 + 0.29 * rise + noise[4] / 2,
                        "kept": np.arange(40) == 31,
                    }
                )
            )
    return pd.concat(rows, ignore_index=True)


PANELS = ["blood_count", "CRP", "HbA1c", "TSAT", "biochemistry", "vitamin_B12"]


def shares_frame() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    groups = {"all": 5000, "women, 18–49": 1700, "women, 50 and older": 900, "men": 2400}
    return pd.DataFrame(
        [
            {
                "group": g,
                "label": label,
                "panel": p,
                "n": int(n * rate),
                "share": np.clip(rng.random() * (1.3 if label == "low" else 0.8), 0, 1),
            }
            for g, n in groups.items()
            for label, rate in (("normal", 0.94), ("low", 0.06))
            for p in PANELS
        ]
    )


def steps_frame() -> pd.DataFrame:
    """Two patients: one soon healthy, one with three orders."""
    free = "age 34 years; sex female; body mass index 23.4 kg/m²"
    count = "; ".join(
        f"{name} {value}"
        for name, value in (
            ("haemoglobin", "10.9 g/dL"),
            ("haematocrit", "33.8 %"),
            ("red cells", "4.61 10⁶/µL"),
            ("mean cell volume", "73.3 fL"),
            ("distribution width", "17.9 %"),
            ("platelets", "402 10³/µL"),
            ("white cells", "6.2 10³/µL"),
        )
    )
    long = "; ".join(f"value {k} {k / 7:.2f} mmol/L" for k in range(20))
    rows = [
        (17, 0, "known before", "age 61 years; sex male; body mass index 27.0 kg/m²", 0.02, 0.0),
        (17, 1, "blood count", count, 0.004, 26.0),
        (4211, 0, "known before", free, 0.11, 0.0),
        (4211, 1, "blood count", count, 0.63, 26.0),
        (4211, 2, "biochemistry", long, 0.58, 74.0),
        (4211, 3, "TSAT", "iron 28 µg/dL; transferrin saturation 6.1 %", 0.97, 114.0),
    ]
    frame = pd.DataFrame(rows, columns=["row_id", "step", "panel", "values", "belief", "paid"])
    ill = frame["row_id"] == 4211
    return frame.assign(
        diagnosis=np.where(ill, "low", "normal"), label=np.where(ill, "low", "normal")
    )
