"""Costs for other cases, and what they were there: PhysioNet 2012, sets a and b for set c.

  OMP_NUM_THREADS=1 python -m tests.trust.other_ward MIRROR [order]

MIRROR holds the files as `data_mirror` does (`physionet2012/set-a.tar.gz`, …). A row is a stay:
age, sex, kind of unit, and the last heart rate and coma score of the first 24 hours are known, six
panels of laboratory values cost. `decide` learns on sets a and b; `transport` reads columns of set
c, no label. Then the policies of sets a and b are followed along set c, and judged by its labels.
Prices and costs of errors are made up. Prints a row for each policy, with `order` of `ORDERS`.
"""

import sys
from dataclasses import replace
from pathlib import Path

import frugal
import numpy as np
import pandas as pd
from frugal.answer.candidates import PRACTICE, from_frame
from frugal.answer.stages.agents import learn_candidates
from frugal.core.context import Context
from frugal.core.streams import Streams
from frugal.data.tables import EVERY, StoredTable
from frugal.judge.choice import judged
from frugal.learn.record_law import Causes, RecordLaw
from frugal.library.chain import payloads_of

from tests.trust.ordering_habit import read

HOURS, FOLDS = 24, 5
KNOWN = ("Age", "Gender", "ICUType", "HR", "GCS")
PANELS = {
    "chemistry": (["Creatinine", "BUN", "Na", "K", "HCO3", "Glucose"], 10),
    "blood count": (["WBC", "HCT", "Platelets"], 8),
    "blood gas": (["pH", "PaO2", "PaCO2"], 20),
    "lactate": (["Lactate"], 15),
    "liver": (["ALT", "AST", "Bilirubin", "Albumin"], 20),
    "troponin": (["TroponinT"], 25),
}
MEASURED = [name for columns, _ in PANELS.values() for name in columns]
ERRORS = {"missed": 1000.0, "false alarm": 150.0}
AGENTS = ["cascade", "fixed", "constant", "never", "always"]
FIRST = [{"panel": name} for name in PANELS]
ORDERS = {f"first_{k}": {"kind": "rule", "steps": FIRST[:k]} for k in (1, 2)}
ORDERS |= {f"greedy_{k}": {"kind": "greedy", "least_gain": k / 1000} for k in (5, 10)}
SEX = {0.0: "f", 1.0: "m"}


def stays(mirror: Path) -> list[pd.DataFrame]:
    """A table of each set: last values of the first hours, and whether the patient died."""
    tables = []
    for measured, died in read(mirror):
        kept = (measured.hour < HOURS) & np.isfinite(measured.value) & (measured.parameter >= 0)
        rows = pd.DataFrame(
            {
                "stay": measured.stay[kept],
                "name": np.array(measured.parameters)[measured.parameter[kept]],
                "hour": measured.hour[kept],
                "value": measured.value[kept],
            }
        ).sort_values("hour", kind="stable")
        last = rows.groupby(["stay", "name"])["value"].last().unstack("name")
        last = last.reindex(range(len(died)))[[*KNOWN, *MEASURED]]
        last["died"] = np.where(died, "yes", "no")
        last["Gender"] = last["Gender"].map(SEX)
        last["ICUType"] = "unit " + last["ICUType"].map("{:.0f}".format)
        tables.append(last.dropna(subset=list(KNOWN)).reset_index(drop=True))
    return tables


def loaded(frame: pd.DataFrame, cases: Path | None = None) -> frugal.Table:
    return frugal.load(
        frame,
        label="died",
        positive="yes",
        prices={name: price for name, (_, price) in PANELS.items()},
        panels={name: columns for name, (columns, _) in PANELS.items()},
        free=KNOWN,
        errors=ERRORS,
        transport=cases,
    )


def actual(learned: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    """Cost of each policy of the first table on the second, by its labels, with standard errors."""
    question = loaded(pd.concat([learned, other], ignore_index=True)).question
    table = payloads_of(question, "prepare_data")
    missing = payloads_of(question, "draw_missingness")
    frame, catalogue = table["table"], table["catalogue"]
    outside = (frame["row_id"] >= len(learned)).to_numpy()
    folds = StoredTable(frame, catalogue).folds
    part = frame["part"].astype(str).to_numpy(copy=True)
    spread = np.array(folds[1:])[np.arange(len(part)) % (len(folds) - 1)]
    frame["part"] = np.where(outside, folds[0], np.where(part == folds[0], spread, part))
    settings = question.study.candidate_settings()
    settings["agents"] = {name: settings["agents"][name] for name in AGENTS}
    paths = learn_candidates(
        table=frame,
        catalogue=catalogue,
        masks=missing["masks"],
        graph=missing["graph"],
        context=Context(settings, Streams(0, "learn_candidates", {"held_out": folds[0]})),
    )["paths"]
    stored = StoredTable(frame, catalogue)
    data = stored.at(stored.positions(EVERY)).take(outside)
    panels = [panel.name for panel in data.actions]
    observed = np.column_stack([np.isfinite(other[PANELS[name][0]]).any(axis=1) for name in panels])
    values = np.where(data.columns_observed(observed), data.values, np.nan)
    always = np.flatnonzero(np.isfinite(values).all(axis=0) & (np.ptp(values, axis=0) > 0))
    fold = np.random.default_rng(0).permutation(len(data)) % FOLDS
    causes = [Causes(tuple(always.tolist()))] * len(panels)
    law = RecordLaw(observed, values, data.label, fold, causes, data.provides)
    followed = from_frame(paths, data)
    followed[PRACTICE] = replace(followed[PRACTICE], acquired=observed)
    candidates = judged(
        followed,
        law,
        values[:, always],
        data.action_cost,
        data.misclassification_cost,
        practice=PRACTICE,
    )
    names = [*candidates.names, PRACTICE]
    error = np.sqrt(np.diag(candidates.covariance(names)))
    cost = [candidates.cost(name) for name in names]
    return pd.DataFrame({"actual": cost, "error": error}, index=names)


def main() -> None:
    """Print costs on sets a and b, for set c by transport, and those of set c."""
    a, b, c = stays(Path(sys.argv[1]))
    learned = pd.concat([a, b], ignore_index=True)
    died = [f"{(table['died'] == 'yes').mean():.1%}" for table in (learned, c)]
    print(f"{len(learned)} and {len(c)} stays; died: {' and '.join(died)}")
    orders = sys.argv[2:] == ["order"]
    answer = frugal.decide(loaded(learned), agents=ORDERS if orders else AGENTS)
    print(answer.summary(), flush=True)
    if orders:
        print(answer.outcomes.round(2).to_string())
        return
    moved = answer.transport(c).set_index("agent")
    rows = answer.outcomes.set_index("agent")[["cost", "ci_low", "ci_high"]]
    rows = rows.join(moved.add_suffix(" for c")).join(actual(learned, c))
    print(rows.round(2).to_string())


if __name__ == "__main__":
    main()
