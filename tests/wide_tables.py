"""Synthetic tables of many rows and panels, and the stages of `afape` on them, one after another.

The label depends on a free column and on the first panels; gaps depend on the free column. Serves
benchmarks and trust pages: memory and time are read after every stage.
"""

import contextlib
import resource
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from frugal.answer.stages.agents import roll_out
from frugal.answer.stages.data import fit_classifier
from frugal.answer.stages.records import draw_missingness
from frugal.core.context import Context
from frugal.core.streams import Streams
from frugal.core.table import Panel, Table
from frugal.data.tables import table_to_frames
from frugal.results.replacing import collected
from frugal.studies.afape.stages.estimates import estimate_costs, fit_nuisances
from frugal.studies.afape.stages.records import impute_features
from scipy.special import expit, logit

from tests.unit.afape_chain import NO_IMPUTATION, partitions

TELLING = 6  # panels that tell of the label
TRAIN = 4000  # rows that the classifier is fitted on
CLASSIFIER: dict[str, Any] = {"kind": "boosting", "trees": 40, "min_leaf": 20, "leaves": 8}
CLASSIFIER |= {"learning_rate": 0.15, "subsample_probability": 0.5}
NUISANCE: dict[str, Any] = {"method": "logistic", "outcome_method": "boosting", "folds": 2}
NUISANCE |= {"rows": 1_000_000, "logistic": {"C": 1.0}}
NUISANCE |= {"boosting": {"trees": 20, "leaves": 8, "learning_rate": 0.2, "min_leaf": 50}}
NUISANCE |= {"bins": 10}
EVALUATION = {
    "resamples": 100,
    "resample_share": 0.7,
    "positivity_threshold": 0.01,
    "convergence_sizes": [],
    "hidden_causes": {
        "gammas": [1, 2],
        "folds": 2,
        "leaves": 4,
        "leaf_rows": 100,
        "rows": 1_000_000,
    },
}


def wide_table(rows: int, panels: int, *, seed: int = 0) -> Table:
    """One free column, and one column a panel; errors cost 10 and 4, panels .1."""
    rng = np.random.default_rng([seed, rows, panels])
    values = rng.normal(size=(rows, panels + 1))
    strength = np.r_[0.8, np.linspace(1.2, 0.5, min(TELLING, panels))]
    score = values[:, : len(strength)] @ strength - 0.5
    return Table(
        row_id=np.arange(rows),
        values=values,
        columns=("free", *(f"x{j}" for j in range(panels))),
        onehot=(),
        label=(rng.random(rows) < expit(score)).astype(np.int64),
        classes=("no", "yes"),
        panels=(
            Panel("known", ("free",), 0.0, True),
            *(Panel(f"p{j}", (f"x{j}",), 0.1, False) for j in range(panels)),
        ),
        misclassification_cost=np.array([[0.0, 4.0], [10.0, 0.0]]),
    )


def gaps(missing: int, share: float) -> dict[str, Any]:
    """Law of the first panels: about this share of rows lacks each, more where `free` is low."""
    return {
        f"p{j}": {"intercept": float(logit(1 - share)), "values": {"free": 0.4}}
        for j in range(missing)
    }


def few_panels(panels: int) -> dict[str, dict[str, Any]]:
    """Agents that order at most 8 panels."""
    first = [f"p{j}" for j in range(min(8, panels))]
    steps: list[dict[str, Any]] = [
        {"panel": "p0"},
        {"panel": "p1", "when": {"column": "x0", "between": [-1.0, 1.5]}},
        {"panel": "p2", "when": {"column": "x1", "above": -0.5}},
        {"panel": "p3", "when": {"column": "free", "above": 0.0}},
    ]
    return {
        "never": {"kind": "fixed", "panels": "none"},
        "four": {"kind": "fixed", "panels": first[:4]},
        "eight": {"kind": "fixed", "panels": first},
        "rule": {"kind": "rule", "steps": steps},
    }


def many_panels() -> dict[str, dict[str, Any]]:
    """Agents that order many."""
    return {
        "random 5 %": {"kind": "random", "probability": 0.05},
        "random 50 %": {"kind": "random", "probability": 0.5},
        "always": {"kind": "fixed", "panels": "all"},
    }


@dataclass
class Meter:
    """CPU seconds and peak memory of stages, in the process that runs them."""

    rows: list[dict[str, Any]] = field(default_factory=list)

    def run(self, stage: str, ask: Callable[[], Any]) -> Any:
        """The stage's answer; what it took is kept."""
        peak_from_now_on()
        began = time.process_time()
        answer = ask()
        self.rows.append(
            {"stage": stage, "cpu_s": time.process_time() - began, "peak_mb": peak_mb()}
        )
        return answer


def peak_from_now_on() -> None:
    """Forget the peak of this process's memory so far, where the system lets it be forgotten."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_mb() -> float:
    """Peak of resident memory, MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def chain(
    table: Table,
    law: Mapping[str, Any],
    agents: Mapping[str, Mapping[str, Any]],
    *,
    seeds: int = 1,
    meter: Meter | None = None,
) -> dict[str, pd.DataFrame]:
    """Estimates of all agents, from the stages that the workflow runs."""
    meter = meter or Meter()
    part = np.where(np.arange(len(table)) < min(TRAIN, len(table) // 3), "train", "test")
    frame, catalogue = table_to_frames(table, part)
    stored = {"table": frame, "catalogue": catalogue}
    who = {"dataset": "d", "mechanism": "m"}

    def common(stage: str, settings: Any, **more: str) -> Context:
        return Context(settings, Streams(1, stage, who | more))

    missing = {
        "source": "induced",
        "panels": dict(law),
        "standardise": False,
        "complete_share": None,
    }
    asked = {"name": "m", "seeds": list(range(seeds)), "missingness": missing, "s": None}
    classifier = meter.run(
        "fit_classifier",
        lambda: fit_classifier(**stored, context=common("fit_classifier", CLASSIFIER)),
    )["classifier"]
    drawn = meter.run(
        "draw_missingness",
        lambda: collected(draw_missingness(**stored, context=common("draw_missingness", asked))),
    )
    imputed = collected(
        impute_features(
            **stored, masks=drawn["masks"], context=common("impute_features", NO_IMPUTATION)
        )
    )
    played = meter.run(
        "roll_out",
        lambda: {
            agent: collected(
                roll_out(
                    **stored,
                    classifier=classifier,
                    **drawn,
                    **imputed,
                    context=common("roll_out", settings, agent=agent),
                )
            )
            for agent, settings in agents.items()
        },
    )
    blocked = partitions({agent: made["blocked"] for agent, made in played.items()})
    nuisance = NUISANCE | {"agents": dict(agents), "filed": []}
    fitted = meter.run(
        "fit_nuisances",
        lambda: collected(
            fit_nuisances(
                **stored, **drawn, blocked=blocked, context=common("fit_nuisances", nuisance)
            )
        ),
    )
    return meter.run(
        "estimate_costs",
        lambda: estimate_costs(
            **stored,
            **drawn,
            blocked=blocked,
            worlds=partitions({agent: made["worlds"] for agent, made in played.items()}),
            propensities=fitted["propensities"],
            agents=fitted["agents"],
            context=common("estimate_costs", EVALUATION),
        ),
    )
