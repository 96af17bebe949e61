"""AFAIS(s) by the policy beside DoubleML's average potential outcome, in one run.

  python -m tests.benchmarks.judge FOLDER [DRAWS]

FOLDER holds `table.parquet` and `catalogue.json` as `prepare_data` leaves them (`results/data/…`).
Needs `doubleml` beside the project's packages (`pip install doubleml`; it is no dependency).

Gaps depend on an always-known column (MAR), since DoubleML takes covariates without gaps. Each draw
takes rows of the test part with replacement, draws gaps, and judges the same episodes by both:
DoubleML takes "every panel is recorded" as the treatment, the policy's cost as the outcome, the
causes of gaps as covariates, a forest for the mean cost and a logistic regression for the
probability, five folds. Prints root mean squared errors against the population's cost and their
ratio (goal: at most .75 over all policies), and CPU seconds of both (ours of all estimators).
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from frugal.answer.stages.data import fit_classifier
from frugal.answer.stages.records import draw_missingness
from frugal.core.context import Context
from frugal.core.streams import Streams
from frugal.data.tables import panel_matrix, table_from_frames
from frugal.missing.law import grid_law
from frugal.results.replacing import collected
from frugal.studies.afape.stages.worlds import Drawn, Judges

from tests.defaults import DEFAULT

CONFIG = DEFAULT["afape"]
AGENTS = {name: CONFIG["agents"][name] for name in ("never", "random_10", "random_50", "always")}
SHARE, PANELS, ROWS, FOLDS = 0.3, 3, 5_000, 5
EVALUATION = {
    **CONFIG["evaluation"],
    "resamples": 2,
    "convergence_sizes": [],
    "hidden_causes": {**CONFIG["evaluation"]["hidden_causes"], "gammas": [1.0]},
}
NUISANCE = {**CONFIG["nuisance"], "method": "logistic", "folds": FOLDS}


def main() -> None:
    """Draw, judge by both, print."""
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder, draws = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 40
    table = pd.read_parquet(folder / "table.parquet")
    catalogue = json.loads((folder / "catalogue.json").read_text(encoding="utf-8"))
    data, part = table_from_frames(table, catalogue)
    law = grid_law(data, "mar", missing_share=SHARE, panels=PANELS)
    classifier = fit_classifier(
        table=table,
        catalogue=catalogue,
        context=Context(CONFIG["classifier"], Streams(1, "fit_classifier", {})),
    )["classifier"]
    judges = Judges(classifier, AGENTS, {}, NUISANCE, EVALUATION, 1)
    population = table[part == "test"].reset_index(drop=True)
    full = judges.play(with_gaps(population, catalogue, {**law, "panels": {}}, 0), 0).worlds
    truth = {a: w.loc[w["world"] == "full", "cost"].mean() for a, w in full.items()}
    rows = []
    for draw in range(draws):
        rng = np.random.default_rng(draw)
        count = min(ROWS, len(population))
        taken = population.iloc[rng.integers(0, len(population), count)]
        taken = taken.assign(row_id=np.arange(count)).reset_index(drop=True)
        drawn = judges.play(with_gaps(taken, catalogue, law, draw), draw)
        rows += compared(judges, drawn, law, truth, draw)
    show(pd.DataFrame(rows), len(population))


def with_gaps(rows: pd.DataFrame, catalogue: Any, law: Any, draw: int) -> dict[str, Any]:
    """Rows as stored, with masks."""
    rows = rows.assign(row_id=np.arange(len(rows)))
    stored: dict[str, Any] = {"table": rows, "catalogue": catalogue}
    return stored | collected(
        draw_missingness(
            **stored,
            context=Context(
                {"name": "m", "seeds": [draw], "missingness": law, "s": None},
                Streams(draw, "draw_missingness", {}),
            ),
        )
    )


def compared(
    judges: Judges, drawn: Drawn, law: Any, truth: dict[str, float], draw: int
) -> list[dict[str, Any]]:
    """Errors of both on one draw, for each policy."""
    start = time.process_time()
    found = judges.judge(drawn, draw)["estimates"].set_index(["agent", "estimator"])["estimate"]
    ours = (time.process_time() - start) / len(AGENTS)
    data, _ = table_from_frames(drawn.stored["table"], drawn.stored["catalogue"])
    complete = np.asarray(panel_matrix(drawn.stored["masks"], "observed", data).all(axis=1))
    causes = sorted({c for one in law["panels"].values() for c in one["values"]})
    known = data.values[:, [data.columns.index(c) for c in causes]]
    made = []
    for agent, episodes in drawn.blocked.items():
        start = time.process_time()
        theirs = potential_outcome(episodes["cost"].to_numpy(), complete, known, draw)
        made.append(
            {
                "agent": agent,
                "draw": draw,
                "theirs_s": time.process_time() - start,
                "ours_s": ours,
                "theirs": theirs - truth[agent],
                "ours": found[agent, "stabilised_afais_s_policy"] - truth[agent],
            }
        )
    return made


def potential_outcome(
    cost: np.ndarray, complete: np.ndarray, known: np.ndarray, seed: int
) -> float:
    """DoubleML's mean cost if every panel were recorded."""
    try:
        import doubleml  # pyright: ignore[reportMissingImports]
    except ImportError:
        sys.exit("this benchmark compares with DoubleML: pip install doubleml beside the project")
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.linear_model import LogisticRegression

    np.random.seed(seed)  # noqa: NPY002  # DoubleML draws its folds by it
    frame = doubleml.DoubleMLData.from_arrays(known, np.where(complete, cost, 0.0), complete * 1.0)
    model = doubleml.DoubleMLAPO(
        frame,
        RandomForestRegressor(100, min_samples_leaf=5, random_state=seed),
        LogisticRegression(),
        treatment_level=1,
        n_folds=FOLDS,
    )
    return float(model.fit().coef[0])


def show(rows: pd.DataFrame, population: int) -> None:
    """Root mean squared errors and their ratio."""
    draws = rows["draw"].nunique()
    print(f"{population} rows as the population, {draws} draws; root mean squared error")
    print(f"{'policy':12s} {'AFAIS(s)':>9s} {'DoubleML':>9s} {'ratio':>6s}   CPU s a policy")
    for agent, one in [*rows.groupby("agent", sort=False), ("all", rows)]:
        ours, theirs = (np.sqrt((one[name] ** 2).mean()) for name in ("ours", "theirs"))
        seconds = f"{one['ours_s'].mean():.2f}, {one['theirs_s'].mean():.2f}"
        print(f"{agent!s:12s} {ours:9.4f} {theirs:9.4f} {ours / theirs:6.2f}   {seconds}")


if __name__ == "__main__":
    main()
