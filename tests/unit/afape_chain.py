"""The afape stages called one after another on a small table in memory, without files or engine."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from frugal.answer.stages.agents import roll_out
from frugal.answer.stages.data import fit_classifier
from frugal.answer.stages.records import draw_missingness
from frugal.core.context import Context
from frugal.core.rows import FrameRows, Partitions
from frugal.core.stored import StoredArrays
from frugal.core.streams import Streams
from frugal.core.table import Belonging, Table
from frugal.data.tables import table_to_frames
from frugal.results.replacing import collected
from frugal.studies.afape.stages.estimates import estimate_costs, fit_nuisances
from frugal.studies.afape.stages.records import impute_features

from tests.unit.missingness_tables import three_panels

AGENTS = {
    "half": {"kind": "random", "probability": 0.5},
    "always": {"kind": "fixed", "panels": "all"},
}
CLASSIFIER = {"kind": "forest", "trees": 5, "min_leaf": 2, "subsample_probability": 0.5}
NUISANCE = {
    "method": "logistic",
    "outcome_method": "boosting",
    "folds": 2,
    "rows": 10_000,
    "logistic": {"C": 1.0},
    "boosting": {"trees": 5, "leaves": 4, "learning_rate": 0.1, "min_leaf": 5},
    "bins": 4,
    "agents": AGENTS,
    "filed": [],
}
EVALUATION = {
    "resamples": 20,
    "resample_share": 0.7,
    "positivity_threshold": 0.01,
    "convergence_sizes": [50],
    "hidden_causes": {
        "gammas": [1, 2, 5],
        "folds": 2,
        "leaves": 4,
        "leaf_rows": 10,
        "rows": 10_000,
    },
}
NO_IMPUTATION = {"chained_trees": None, "missforest": None, "multiple": None}


@dataclass(frozen=True)
class Chain:
    """What all stages made of one scenario."""

    drawn: Mapping[str, Any]
    blocked: pd.DataFrame
    worlds: pd.DataFrame
    nuisances: Mapping[str, pd.DataFrame]
    estimates: Mapping[str, pd.DataFrame]

    def status(self, agent: str) -> dict[str, str]:
        """Estimator → status."""
        rows = self.estimates["estimates"]
        rows = rows[rows["agent"] == agent]
        return dict(zip(rows["estimator"], rows["status"], strict=True))

    def rows(self, estimator: str) -> pd.DataFrame:
        """The estimates of one estimator."""
        frame = self.estimates["estimates"]
        return frame[frame["estimator"] == estimator]


def small_table(n: int = 240, *, seed: int = 0, gaps: Mapping[str, float] | None = None) -> Table:
    """X1 free, P2 = {X2}, P3 = {X3, X4}; `gaps`: share of rows that lack a panel."""
    table = three_panels(n, seed=seed)
    rng = np.random.default_rng(seed + 1)
    for panel, share in (gaps or {}).items():
        columns = {"P2": [1], "P3": [2, 3]}[panel]
        rows = np.flatnonzero(rng.random(n) < share)
        table.values[rows[:, None], columns] = np.nan
    return table


def frames(
    table: Table, *, train: int = 80, belonging: Belonging | None = None
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The table as stored: the first rows train the classifier, the others are the test."""
    split = np.where(np.arange(len(table)) < train, "train", "test")
    return table_to_frames(table, split, belonging=belonging)


def draw(table: Table, panels: Mapping[str, Any], *, source: str, s=None, seeds=(0,)):
    """`draw_missingness` with the given law."""
    law: dict[str, Any] = {"source": source, "panels": panels}
    if source == "induced":
        law |= {"standardise": False, "complete_share": None}
    frame, catalogue = frames(table)
    return collected(
        draw_missingness(
            table=frame,
            catalogue=catalogue,
            context=Context(
                {"name": "m", "seeds": list(seeds), "missingness": law, "s": s},
                Streams(1, "draw_missingness", {}),
            ),
        )
    )


def partitions(tables: Mapping[str, pd.DataFrame]) -> Partitions:
    """Tables by agent, as a stage that reads one at a time is given them."""
    frames = list(tables.values())
    return Partitions([{"agent": agent} for agent in tables], lambda k: FrameRows(frames[k]))


def run_chain(
    table: Table,
    panels: Mapping[str, Any],
    *,
    source: str,
    s=None,
    agents: Mapping = AGENTS,
    nuisance: Mapping = NUISANCE,
    policies: Mapping[str, StoredArrays] = MappingProxyType({}),
    belonging: Belonging | None = None,
) -> Chain:
    """All stages from masks to estimates, with every agent; `policies`: files of trained ones."""
    frame, catalogue = frames(table, belonging=belonging)
    stored = {"table": frame, "catalogue": catalogue}
    drawn = draw(table, panels, source=source, s=s)
    own = {"dataset": "d", "mechanism": "m"}

    def common(stage, settings, **more) -> Context:
        return Context(settings, Streams(1, stage, own | more))

    classifier = fit_classifier(**stored, context=common("fit_classifier", CLASSIFIER))[
        "classifier"
    ]
    imputed = collected(
        impute_features(
            **stored, masks=drawn["masks"], context=common("impute_features", NO_IMPUTATION)
        )
    )
    played = {
        agent: collected(
            roll_out(
                **stored,
                classifier=classifier,
                **drawn,
                **imputed,
                policy=policies.get(agent),
                context=common("roll_out", settings, agent=agent),
            )
        )
        for agent, settings in agents.items()
    }
    blocked = pd.concat(
        [made["blocked"].assign(agent=agent) for agent, made in played.items()], ignore_index=True
    )
    own_nuisance = {**NUISANCE, **nuisance, "agents": agents, "filed": list(policies)}
    given: dict[str, Any] = {f"policy_{i}": one for i, one in enumerate(policies.values())}
    by_agent = partitions({agent: made["blocked"] for agent, made in played.items()})
    nuisances = collected(
        fit_nuisances(
            **stored,
            **drawn,
            blocked=by_agent,
            context=common("fit_nuisances", own_nuisance),
            **given,
        )
    )
    estimates = estimate_costs(
        **stored,
        **drawn,
        blocked=by_agent,
        worlds=partitions({agent: made["worlds"] for agent, made in played.items()}),
        propensities=nuisances["propensities"],
        agents=nuisances["agents"],
        context=common("estimate_costs", EVALUATION),
    )
    worlds = pd.concat(
        [made["worlds"].assign(agent=agent) for agent, made in played.items()], ignore_index=True
    )
    return Chain(drawn, blocked, worlds, nuisances, estimates)
