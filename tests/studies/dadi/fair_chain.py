"""The dadi stages called one after another on a small table in memory, without files or engine."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from frugal.core.context import Context
from frugal.core.streams import Streams
from frugal.data.description import load_description
from frugal.data.encoding import encode
from frugal.data.parsing import raw_from_frame
from frugal.data.simulators import loan_applications
from frugal.data.tables import table_to_frames
from frugal.studies.dadi.spec import DadiStudy
from frugal.studies.dadi.stages.agents import (
    audit_fairness,
    roll_out_dadi,
    train_dadi,
    train_fair_agent,
)
from frugal.studies.dadi.stages.fit_fair_baselines import fit_fair_baselines
from frugal.studies.dadi.stages.tables import score_dadi, summarise_dadi

from tests.defaults import DEFAULT as CONFIG
from tests.unit.stored_bundles import as_read

ROOT = Path(__file__).parents[3]
FOLDS = (0, 1)
GAMMAS = [0.5, 1.0]
TREES = {"trees": 8, "leaves": 4, "learning_rate": 0.3, "min_leaf": 10}
BASELINES = {
    "full_features": {"kind": "network"},
    "boosting": {"kind": "boosting", "withheld": False},
    "all_and_group": {"kind": "boosting", "withheld": True},
    "forward_2": {"kind": "forward", "most": 2, "gamma": 1.0},
    "random_50": {"kind": "random", "probability": 0.5},
}
SMALL = {"pretraining_iterations": 10, "iterations": 12, "agents": 8, "exploration_iterations": 6}
SMALL |= {"evaluate_every": 6, "evaluated_rows": 30, "checkpoint_every": 3, "processing_steps": 2}


class Notebook:
    """A checkpoint kept in memory; killed after so many savings."""

    def __init__(self, *, killed_after: int = 10**9) -> None:
        self.state: dict[str, np.ndarray] | None = None
        self.savings, self.killed_after = 0, killed_after

    def load(self) -> dict[str, np.ndarray] | None:
        return self.state

    def save(self, state: Mapping[str, np.ndarray]) -> None:
        if self.savings == self.killed_after:
            raise KeyboardInterrupt
        self.savings += 1
        self.state = {name: np.array(array) for name, array in state.items()}


def study(**changes: Any) -> DadiStudy:
    """The default's block made small, and whatever else is changed."""
    block = CONFIG["dadi"]
    small = block | {
        "folds": block["folds"] | {"run": list(FOLDS)},
        "gammas": GAMMAS,
        "resamples": 50,
        "training": block["training"] | SMALL | changes.pop("training", {}),
        "audit": block["audit"] | {"rows": 80, "boosting": TREES, "set_network": {"iterations": 5}},
        "baseline_options": block["baseline_options"] | {"selection_rows": 80, "boosting": TREES},
        "baselines": BASELINES,
        "agents": changes.pop("agents", {}),
    }
    scenario = block["scenarios"][0] | {
        "dataset": "loans",
        "rows": 300,
        "selection_by": "X9",
        "shown_gammas": [0.5],
        "withheld_panels": [],
        "gammas": None,
        "networks": {"memory_width": 8, "encoding_width": 6, "head_width": 8},
    }
    return DadiStudy(small | {"scenarios": [scenario | changes]})


def loans(n: int = 360) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The telling loans as stored, fewer of them."""
    described = load_description(ROOT / "config/datasets/telling_loans.yaml")
    raw = raw_from_frame(loan_applications(rows=n, divisor=1.0, seed=0), source="loans")
    encoded = encode(raw, described)
    assert described.groups is not None
    return table_to_frames(
        encoded.table,
        np.full(n, "train"),
        sensitive=encoded.sensitive,
        groups=described.groups.names,
        report={"name": "loans", "title": "Loans"},
    )


def given(stage: Any, fold: int, settings: Mapping[str, Any]) -> Context:
    """What every stage is called with, beside its tables."""
    wildcards = {"dataset": "loans", "fold": str(fold)}
    return Context(settings, Streams(1, stage.__name__, wildcards))


def run_fold(planned: DadiStudy, fold: int, stored: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that the stages of one fold make."""
    made = train_dadi(
        **stored,
        context=given(train_dadi, fold, planned.train_settings("loans")),
        checkpoint=Notebook(),
    )
    weights: dict[str, Any] = {"weights": as_read(made["weights"])}
    further = {}
    for k, name in enumerate(planned.agents):
        settings = planned.fair_agent_settings("loans", name)
        one = train_fair_agent(**stored, context=given(train_fair_agent, fold, settings))
        further[f"policy_{k}"] = as_read(one["policy"])
        further[f"classifier_{k}"] = one["classifier"]
    made |= roll_out_dadi(
        **stored,
        **weights,
        **further,
        context=given(roll_out_dadi, fold, planned.roll_out_settings("loans")),
    )
    made |= audit_fairness(
        **stored,
        outcomes=made["outcomes"],
        context=given(audit_fairness, fold, planned.audit_settings("loans")),
    )
    made |= fit_fair_baselines(
        **stored,
        **weights,
        context=given(fit_fair_baselines, fold, planned.baseline_settings("loans")),
    )
    made |= score_dadi(
        outcomes=made["outcomes"],
        predictions=made["predictions"],
        audit=made["audit"],
        context=given(score_dadi, fold, planned.score_settings()),
    )
    return made


def summarised(folds: Mapping[int, Mapping[str, Any]]) -> dict[str, pd.DataFrame]:
    """The summary of several folds, read as Snakemake's files are."""

    def joined(name: str) -> pd.DataFrame:
        frames = [made[name].assign(dataset="loans", fold=str(k)) for k, made in folds.items()]
        return pd.concat(frames, ignore_index=True)

    tables = {name: joined(name) for name in ("scores", "selection", "singles", "audit")}
    return summarise_dadi(
        **tables, context=Context(study().summary_settings(), Streams(1, "summarise_dadi", {}))
    )
