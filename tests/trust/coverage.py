"""How often intervals hold a policy's population cost, over new rows and new gaps.

  OMP_NUM_THREADS=1 python -m tests.trust.coverage [DRAWS] [FOLDER]

Rows come from a population of 10⁶ of the synthetic world. A draw takes n of them, draws their gaps,
fits the probabilities of gaps on the same rows as `decide` does, and judges every policy by the
estimators that verdicts read. One Parquet for each cell and block of draws; what is there is not
made again. Prints, for each mechanism, n, policy and estimator: how many intervals of 95 % held the
truth, the mean error, the mean standard error over the spread of the estimates, and the share of
draws in which it would not be read. Below, for the estimator that is read: the share of draws in
which the simultaneous intervals of all policies held, and that of the policy of least estimate.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from frugal.answer.stages.data import fit_classifier
from frugal.answer.stages.records import draw_missingness
from frugal.core.context import Context
from frugal.core.scaling import fit_scaling
from frugal.core.streams import Streams
from frugal.core.table import Panel, Table
from frugal.data.tables import table_to_frames
from frugal.judge.registry import ESTIMATORS, READ
from frugal.judge.verdicts import readable
from frugal.missing.graphs import parse_graph
from frugal.missing.law import calibrate, complete_logits
from frugal.results.replacing import collected
from frugal.studies.afape import judging
from frugal.studies.afape.stages.worlds import Judges
from sklearn.datasets import make_classification

from tests.defaults import DEFAULT

SIZES, DRAWS, BLOCK = (800, 2_000), 400, 50
POPULATION, CHUNK, TRAIN = 1_000_000, 100_000, 5_000
COMPLETE = {"strong": 0.15}  # share of complete cases
ELSE = 0.25  # of other mechanisms
CONFIG = DEFAULT["afape"]
LAWS: dict[str, dict[str, Any]] = {
    "mcar": {"X2": {"intercept": 1.0}, "superX3": {"intercept": 0.0}},
    "mar": {
        "X2": {"intercept": 1.0, "values": {"X1": 0.75}},
        "superX3": {"intercept": 0.0, "values": {"X1": -0.75}},
    },
    "mnar": {
        "X2": {"intercept": 2.0, "values": {"X1": 0.5}},
        "superX3": {"intercept": 0.0, "values": {"X2": -0.75}},
    },
    "strong": {
        "X2": {"intercept": 2.0, "values": {"X1": 1.5}},
        "superX3": {"intercept": 0.0, "values": {"X2": -1.5}},
    },
}
AGENTS: dict[str, dict[str, Any]] = {
    "never": {"kind": "fixed", "panels": "none"},
    "random_10": {"kind": "random", "probability": 0.1},
    "random_50": {"kind": "random", "probability": 0.5},
    "always": {"kind": "fixed", "panels": "all"},
    "rule": {
        "kind": "rule",
        "steps": [{"panel": "X2"}, {"panel": "superX3", "when": {"column": "X2", "above": 0}}],
    },
}
NUISANCE = {
    **CONFIG["nuisance"],
    "method": "logistic",
    "outcome_method": "boosting",
    "boosting": {"trees": 1, "leaves": 2, "learning_rate": 0.1, "min_leaf": 20},  # of mean costs
}
EVALUATION = {
    **CONFIG["evaluation"],
    "resamples": 2,
    "convergence_sizes": [],
    "hidden_causes": {"gammas": [1.0], "folds": 2, "leaves": 2, "leaf_rows": 50, "rows": 1_000},
}
COLUMNS = [
    "agent",
    "estimator",
    "draw",
    "status",
    "estimate",
    "std_error",
    "ci_low",
    "ci_high",
    "simultaneous_low",
    "simultaneous_high",
    "ess",
    "largest_weight_share",
]


def population() -> Table:
    """A million rows of the synthetic world of the default config."""
    values, label = make_classification(
        n_samples=POPULATION,
        n_features=4,
        n_informative=4,
        n_redundant=0,
        n_clusters_per_class=2,
        class_sep=1.0,
        flip_y=0.0,
        random_state=10,
    )
    values, label = np.asarray(values), np.asarray(label)
    return Table(
        row_id=np.arange(POPULATION),
        values=fit_scaling(values).standardise(values),
        columns=("X1", "X2", "X3", "X4"),
        onehot=(),
        label=label,
        classes=("no", "yes"),
        panels=(
            Panel("X1", ("X1",), 0.0, True),
            Panel("X2", ("X2",), 0.84, False),
            Panel("superX3", ("X3", "X4"), 0.86, False),
        ),
        misclassification_cost=np.array([[0.0, 6.6], [6.6, 0.0]]),
    )


class World:
    """The population, a classifier of its first rows, and what every policy costs in it."""

    def __init__(self, folder: Path) -> None:
        read = {name: ESTIMATORS[name] for name in READ}
        setattr(judging, "ESTIMATORS", read)  # noqa: B010 - a third of the time
        self.table = population()
        rows = self.table.take(np.arange(TRAIN))
        frame, catalogue = table_to_frames(rows, np.full(TRAIN, "train"))
        classifier = fit_classifier(
            table=frame,
            catalogue=catalogue,
            context=Context(CONFIG["classifier"], Streams(1, "fit_classifier", {})),
        )["classifier"]
        self.judges = Judges(classifier, AGENTS, {}, NUISANCE, EVALUATION, 1)
        path = folder / "truth.parquet"
        if not path.exists():
            write(pd.DataFrame({"agent": list(AGENTS), "truth": self._truths()}), path)
        self.truth = pd.read_parquet(path).set_index("agent")["truth"]

    def _truths(self) -> list[float]:
        """Over the rows that the classifier has not seen, none with a gap."""
        costs: dict[str, list[np.ndarray]] = {name: [] for name in AGENTS}
        for start in range(TRAIN, POPULATION, CHUNK):
            rows = self.table.take(np.arange(start, min(start + CHUNK, POPULATION)))
            for name, world in self.judges.play(
                self._stored(rows, {}, start), start
            ).worlds.items():
                costs[name].append(world.loc[world["world"] == "full", "cost"].to_numpy())
        return [float(np.concatenate(parts).mean()) for parts in costs.values()]

    def law(self, mechanism: str) -> dict[str, Any]:
        """Of the gaps, with a given share of complete cases in the population."""
        complete = COMPLETE.get(mechanism, ELSE)
        law = {"source": "induced", "standardise": False, "panels": LAWS[mechanism]}
        graph = parse_graph(mechanism, law | {"complete_share": complete}, self.table)
        found = calibrate(
            graph, [complete_logits(graph, self.table)], complete_share=complete
        ).indicators
        return {
            name: {**one, "intercept": found[name].intercept}
            for name, one in LAWS[mechanism].items()
        }

    def _stored(self, rows: Table, panels: Mapping[str, Any], seed: int) -> dict[str, Any]:
        """Some rows as stored, and one draw of their gaps."""
        frame, catalogue = table_to_frames(rows, np.full(len(rows), "test"))
        stored: dict[str, Any] = {"table": frame, "catalogue": catalogue}
        law = {"source": "induced", "standardise": False, "complete_share": None, "panels": panels}
        return stored | collected(
            draw_missingness(
                **stored,
                context=Context(
                    {"name": "m", "seeds": [seed], "missingness": law, "s": None},
                    Streams(seed, "draw_missingness", {}),
                ),
            )
        )

    def judged(self, panels: Mapping[str, Any], n: int, seed: int) -> pd.DataFrame:
        """A row for each policy and estimator of one draw."""
        rng = np.random.default_rng([n, seed])
        rows = self.table.take(np.sort(rng.choice(np.arange(TRAIN, POPULATION), n, replace=False)))
        played = self.judges.play(self._stored(rows, panels, seed), seed)
        return self.judges.judge(played, seed)["estimates"].assign(draw=seed)[COLUMNS]


def write(frame: pd.DataFrame, path: Path) -> None:
    """Whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partly = path.with_suffix(".part")
    frame.to_parquet(partly)
    partly.rename(path)


def main() -> None:
    """Make what is not there, a block of every cell after the other, and print."""
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else DRAWS
    folder = Path(sys.argv[2] if len(sys.argv) > 2 else "results/trust/coverage")
    world = World(folder)
    laws = {mechanism: world.law(mechanism) for mechanism in LAWS}
    for start in range(0, draws, BLOCK):
        for n in SIZES:
            for mechanism, law in laws.items():
                path = folder / f"{mechanism}-{n}-{start}.parquet"
                if path.exists():
                    continue
                seeds = range(start, min(start + BLOCK, draws))
                found = pd.concat([world.judged(law, n, seed) for seed in seeds])
                write(found.assign(mechanism=mechanism, n=n), path)
                print(path.name, flush=True)
    show(folder)


def show(folder: Path) -> None:
    """A row a cell, and all cells together."""
    table = tabulate(folder)
    write(table, folder / "coverage.parquet")
    print(table.to_string(index=False, float_format="%.3f"))
    read = table[table["estimator"] == READ[0]]
    print(
        f"{READ[0]}: {read['covered'].sum() / read['read'].sum():.3f} of "
        f"{read['read'].sum()} intervals hold the truth; least of a cell "
        f"{(read['covered'] / read['read']).min():.3f}"
    )
    print(at_once(folder).to_string(index=False, float_format="%.3f"))


def at_once(folder: Path) -> pd.DataFrame:
    """By mechanism and n: draws in which simultaneous intervals of all, and of the least, hold."""
    rows = judged_rows(folder)
    rows = rows[rows["is_read"] & (rows["estimator"] == READ[0])]
    held = rows["truth"].between(rows["simultaneous_low"], rows["simultaneous_high"])
    least = rows.groupby(["mechanism", "n", "draw"])["estimate"].transform("min")
    rows = rows.assign(held=held, named=held | (rows["estimate"] > least))
    draws = rows.groupby(["mechanism", "n", "draw"])[["held", "named"]].all()
    return draws.groupby(["mechanism", "n"]).mean().reset_index()


def judged_rows(folder: Path) -> pd.DataFrame:
    """Every estimate of every draw, with the truth, and whether it is read and holds it."""
    truth = pd.read_parquet(folder / "truth.parquet").set_index("agent")["truth"]
    files = [path for law in LAWS for path in sorted(folder.glob(f"{law}-*.parquet"))]
    rows = pd.concat([pd.read_parquet(path) for path in files])
    rows = rows.assign(truth=rows["agent"].map(truth), is_read=readable(rows))
    covers = rows["is_read"] & rows["truth"].between(rows["ci_low"], rows["ci_high"])
    return rows.assign(covers=covers)


def tabulate(folder: Path) -> pd.DataFrame:
    """One row a cell: draws, how many were read, how many of these cover, errors."""
    rows = judged_rows(folder)
    made = []
    for key, cell in rows.groupby(["mechanism", "n", "agent", "estimator"]):
        read = cell[cell["is_read"]]
        made.append(
            dict(zip(("mechanism", "n", "agent", "estimator"), key, strict=True))
            | {
                "draws": len(cell),
                "read": len(read),
                "covered": int(read["covers"].sum()),
                "share": read["covers"].mean(),
                "bias": (read["estimate"] - read["truth"]).mean(),
                "spread": read["estimate"].std(ddof=1),
                "error_ratio": read["std_error"].mean() / read["estimate"].std(ddof=1),
            }
        )
    return pd.DataFrame(made)


if __name__ == "__main__":
    main()
