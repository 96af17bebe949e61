"""Invented tables of the afape study, shaped and sized like real ones; used by tests of figures."""

import numpy as np
import pandas as pd
from frugal.draw import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure

ESTIMATORS = [
    "ground_truth",
    "blocking",
    "complete_case",
    "imputation_missforest",
    "multiple_imputation",
    "multiple_imputation_label",
    "ipw",
    "stabilised_ipw",
    "stabilised_ipw_true",
    "afais",
    "stabilised_afais_s",
    "stabilised_afais_s_true",
    "off_policy_set",
    "off_policy_sequence",
    "doubly_robust",
    "doubly_robust_afais",
]
AGENTS = ["random_10", "random_50", "random_90", "always", "never", "dqn"]
SCENARIOS = [
    ("heloc", "mcar"),
    ("heloc", "mar"),
    ("heloc", "mnar"),
    ("income", "mcar"),
    ("income", "mar"),
    ("income", "mnar"),
]
ROWS = 9800
TRUTH = {
    "random_10": 6.51,
    "random_50": 6.43,
    "random_90": 6.62,
    "always": 6.83,
    "never": 6.72,
    "dqn": 6.05,
}
BIAS = {
    "blocking": 0.55,
    "complete_case": -0.4,
    "imputation_missforest": 0.7,
    "multiple_imputation": 0.5,
    "multiple_imputation_label": 0.12,
}
SPREAD = {
    "ground_truth": 0.04,
    "ipw": 0.3,
    "afais": 0.15,
    "off_policy_set": 0.5,
    "off_policy_sequence": 0.9,
}
SIZE = {
    "ground_truth": 1.0,
    "blocking": 1.0,
    "imputation_missforest": 1.0,
    "multiple_imputation": 1.0,
    "multiple_imputation_label": 1.0,
    "complete_case": 0.12,
    "off_policy_set": 0.01,
    "off_policy_sequence": 0.0008,
}


def _status(mechanism: str, estimator: str, agent: str) -> str:
    if estimator == "afais" and mechanism == "mnar":
        return "not_identified"
    if estimator == "off_policy_sequence":
        return "not_available" if agent == "dqn" else "ok"
    if estimator == "off_policy_set" and agent == "always" and mechanism == "mnar":
        return "no_support"
    return "ok"


def summary_frame(
    scenarios: list[tuple[str, str]], agents: list[str], estimators: list[str], seeds: int
) -> pd.DataFrame:
    """A summary with biased estimators, absurd off-policy ones, statuses and warnings."""
    rng = np.random.default_rng(5)
    rows = []
    for dataset, mechanism in scenarios:
        for agent in agents:
            truth = TRUTH.get(agent, 6.4) - (3.4 if dataset == "income" else 0)
            pull = {"never": 0.0, "random_10": 0.25, "dqn": 1.6}.get(agent, 0.8)
            for estimator in estimators:
                status = _status(mechanism, estimator, agent)
                for seed in range(seeds):
                    spread = SPREAD.get(estimator, 0.08)
                    value = truth + pull * BIAS.get(estimator, 0) + spread * rng.normal() / 2
                    if estimator == "ground_truth":
                        value = truth
                    if estimator == "off_policy_sequence" and agent == "random_90":
                        value = truth + 48.3
                    if status != "ok":
                        value = np.nan
                    ess = ROWS * SIZE.get(estimator, 0.3 if agent == "random_10" else 0.08)
                    rows.append(
                        {
                            "dataset": dataset,
                            "mechanism": mechanism,
                            "agent": agent,
                            "estimator": estimator,
                            "seed": seed,
                            "estimate": value,
                            "std_error": spread,
                            "ci_low": value - 1.96 * spread,
                            "ci_high": value + 1.96 * spread,
                            "resample_low": value - spread,
                            "resample_high": value + spread,
                            "truth": truth,
                            "n": ROWS,
                            "ess": ess if status == "ok" else np.nan,
                            "largest_weight_share": 1 / ess,
                            "usable_rows": int(ess),
                            "status": status,
                            "warning": "ess_below_30" if ess < 30 else "",
                            "acquisition_cost": 0.4 * value * (agent != "never"),
                            "misclassification_cost": value * (0.6 if agent != "never" else 1.0),
                        }
                    )
    return pd.DataFrame(rows)


def resample_frame(summary: pd.DataFrame, resamples: int) -> pd.DataFrame:
    """Resamples scattered around each estimate; those of one estimator lack some."""
    rng = np.random.default_rng(6)
    keys = ["dataset", "mechanism", "agent", "estimator", "seed", "truth"]
    ok = summary[summary["status"] == "ok"].reset_index(drop=True)
    table = ok.loc[ok.index.repeat(resamples), keys].reset_index(drop=True)
    spread = np.repeat(ok["std_error"].to_numpy(), resamples) * 0.65
    table["resample"] = np.tile(np.arange(resamples), len(ok))
    table["estimate"] = np.repeat(ok["estimate"].to_numpy(), resamples)
    table["estimate"] += spread * rng.normal(size=len(table))
    lacking = (table["estimator"] == "off_policy_set") & (table["resample"] % 7 == 0)
    table.loc[lacking, "estimate"] = np.nan
    return table


def convergence_frame(
    scenarios: list[tuple[str, str]], agents: list[str], seeds: int
) -> pd.DataFrame:
    """Errors that shrink with n around each estimator's bias."""
    rng = np.random.default_rng(7)
    shown = ["ground_truth", "blocking", "complete_case", "imputation_missforest", "stabilised_ipw"]
    rows = []
    for dataset, mechanism in scenarios:
        for agent in agents:
            for estimator in [*shown, "stabilised_afais_s"]:
                bias = BIAS.get(estimator, 0) * (0.4 if agent == "random_10" else 1.0)
                wide = 6.0 if estimator == "stabilised_ipw" else 2.2
                for seed in range(seeds):
                    for n in np.geomspace(100, 100_000, 10).astype(int):
                        error = bias + wide * rng.normal() / np.sqrt(n)
                        rows.append(
                            (dataset, mechanism, agent, estimator, seed, n, 1.2 + error, 1.2)
                        )
    names = ["dataset", "mechanism", "agent", "estimator", "seed", "n", "estimate", "truth"]
    return pd.DataFrame(rows, columns=names)


def frequency_frame() -> pd.DataFrame:
    """Ten panels, one agent; blocked acquisitions are rarer than true ones."""
    panels = ["age", "workclass", "education", "marital_relationship", "occupation", "race"]
    panels += ["sex", "capital", "hours", "native_country"]
    truth = np.array([1.0, 0.12, 0.55, 0.48, 0.86, 0.03, 0.07, 0.38, 0.21, 0.05])
    rows = []
    for estimator, share in (
        ("ground_truth", 1.0),
        ("blocking", 0.55),
        ("stabilised_afais_s", 1.02),
    ):
        for panel, frequency in zip(panels, truth, strict=True):
            value = frequency if panel == "age" else min(frequency * share, 1.0)
            error = 0.03 if estimator == "stabilised_afais_s" else 0.005
            rows.append(("income", "mnar", "dqn", estimator, 0, panel, value, error))
    names = [
        "dataset",
        "mechanism",
        "agent",
        "estimator",
        "seed",
        "panel",
        "frequency",
        "std_error",
    ]
    return pd.DataFrame(rows, columns=names)


def calibration_frame() -> pd.DataFrame:
    """Three nuisances in ten bins: two well calibrated, one steep."""
    centre = np.linspace(0.04, 0.96, 10)
    rows = []
    drawn = (("complete", "", 1.0), ("afa_propensity", "boosting", 1.1))
    for name, method, power in (*drawn, ("occupation_observed", "logistic", 2.0)):
        for b, p in enumerate(centre):
            count = int(1 + 2500 * np.exp(-((p - 0.35) ** 2) / 0.05))
            rows.append((name, method, b, p, p**power, count))
    return pd.DataFrame(
        rows, columns=["nuisance", "method", "bin", "mean_probability", "rate", "n"]
    )


SUMMARY = summary_frame(SCENARIOS, AGENTS, ESTIMATORS, 3)
FIRST = SUMMARY[SUMMARY["seed"] == 0]
CASE = style.select(FIRST, dataset="income", mechanism="mnar")


def legend_texts(figure: Figure) -> list[str]:
    """Words of a figure's first legend."""
    return [t.get_text() for t in figure.legends[0].get_texts()]


def titled(figure: Figure, title: str) -> Axes:
    """The panel with a title at its left."""
    return next(a for a in figure.axes if a.get_title(loc="left") == title)
