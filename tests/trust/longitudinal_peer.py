"""Estimates of one fixed plan next to those of `cleverly`, an independent package.

  python -m tests.trust.longitudinal_peer [DRAWS] [UNITS]

Needs `cleverly` 0.1.7 in the environment (`pip install cleverly`), which has the estimators of the
R package `lmtp` for plans that records equal: weighting, sequential regressions, the sequentially
doubly robust and the targeted one. The plan orders both tests of the simulated wards
(`tests/studies/over_time/wards.py`) in each window, so a record contains it where it equals it.
Both packages get the same fitted probabilities, histories and outcomes, and regress linearly. It
prints the mean of each estimate with the mean of its standard errors, and the largest difference
over the draws.
"""

import sys
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
from cleverly.longitudinal import LTMLE, SDR, SequentialGComputation, SequentialIPW  # pyright: ignore[reportMissingImports]
from frugal.studies.over_time.estimates import estimate_over_time
from frugal.studies.over_time.history_fits import (
    TimedFit,
    cases_over_time,
    fit_expected,
    history_inputs,
)
from frugal.studies.over_time.orders import follow, plan
from sklearn.linear_model import LinearRegression

from tests.studies.over_time import wards
from tests.trust.over_time import COSTS, records_of

PAIRS = {
    "offline_ipw": SequentialIPW,
    "semi_offline_direct": SequentialGComputation,
    "semi_offline_doubly_robust": SDR,
    "targeted": LTMLE,  # next to the doubly robust one, too
}

BOUNDS = (0.0, 3 * (sum(wards.PRICES) + wards.SET_UP) + wards.MISSED)  # of the cost


def estimates(seed: int, units: int) -> dict[tuple[str, str], float]:
    """Estimate and standard error by both packages in one draw."""
    rng, windows = np.random.default_rng([49, seed]), range(wards.WINDOWS)
    records = records_of(wards.draw(units, rng))
    both = plan(records, "both", {t: ["chemistry", "gas"] for t in windows})
    path, fit = follow(records, both, COSTS), TimedFit(method="linear", folds=2, bounded=False)
    risk = [wards.risk(records.static[:, 0], np.nan_to_num(last)) for last in path.last]
    (case,) = cases_over_time(records, COSTS, [path], fit, rng, [np.stack(risk)])
    history, fold = history_inputs(records, COSTS), rng.integers(0, 2, units)
    chance = case.exact_reach[:, 1:] / case.exact_reach[:, :-1]
    of_plan = (records, history, path, case.outcome, chance, fold, fit, rng, np.unique(fold))
    case = replace(case, expected=fit_expected(*of_plan))

    frame = pd.DataFrame({"y": case.outcome[:, 0], "age": records.static[:, 0]})
    blocks: list[list[str]] = []
    for t in windows:
        frame[f"a{t}"] = records.recorded[:, t].all(axis=1).astype(int)
        frame[f"p{t}"], frame[f"q{t}"] = chance[:, t], 1 - chance[:, t]
        varying = history[t][:, np.ptp(history[t], axis=0) > 0][:, 1:]  # without age
        blocks.append([f"h{t}_{k}" for k in range(varying.shape[1])])
        frame[blocks[-1]] = varying
    design = {
        "outcome": "y",
        "treatment": [f"a{t}" for t in windows],
        "baseline": ["age"],
        "time_varying": blocks,
        "treatment_probabilities": {f"a{t}": {1: f"p{t}", 0: f"q{t}"} for t in windows},
    }
    row = {}
    for name, peer in PAIRS.items():
        linear = {} if peer is SequentialIPW else {"outcome_learner": LinearRegression()}
        if peer in (SDR, LTMLE):
            linear |= {"pseudo_learner": LinearRegression(), "n_folds": 2, "q_bounds": BOUNDS}
        model = peer({"both": 1}, g_bounds=(1e-9, 1.0), random_state=seed, **linear)
        theirs = model.fit(frame, **design).estimates["ey_regimen[both]"]
        ours = estimate_over_time(case, name if peer is not LTMLE else "semi_offline_doubly_robust")
        row |= {(name, "ours"): ours.mean[0], (name, "error"): ours.std_error[0]}
        error = theirs.std_error if peer in (SDR, LTMLE) else theirs.plugin_std_error
        row |= {(name, "theirs"): theirs.psi, (name, "their error"): error}
    return row


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    draws, units = (int(v) for v in [*sys.argv[1:3], *["20", "4000"][len(sys.argv) - 1 :]])
    rows = [estimates(seed, units) for seed in range(draws)]
    every = pd.DataFrame(rows, columns=pd.MultiIndex.from_tuples(rows[0]))
    table = every.mean().unstack().loc[list(PAIRS)]
    for name in PAIRS:
        difference = (every[name]["ours"] - every[name]["theirs"]).abs()
        table.loc[name, "largest difference"] = difference.max()
    print(table.to_string(float_format=lambda value: f"{value:.4g}"))


if __name__ == "__main__":
    main()
