"""Bundles of agents of the small table, and the roll-out that their advice must repeat."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from frugal.answer.stages.agents import bundle_agent, roll_out
from frugal.core.context import Context
from frugal.core.streams import Streams
from frugal.core.table import Table
from frugal.results.files import payload_bytes, read_payload, write_bytes
from frugal.results.replacing import collected
from frugal.studies.afape.stages.records import impute_features

from tests.unit.afape_chain import NO_IMPUTATION, draw, small_table
from tests.unit.dataset_documents import document

SEED = 7
WHO = {"dataset": "d", "mechanism": "m", "agent": "a"}
UNTRAINED: dict[str, dict[str, Any]] = {
    "random": {"kind": "random", "probability": 0.5},
    "fixed": {"kind": "fixed", "panels": ["P3"]},
    "rule": {
        "kind": "rule",
        "steps": [{"panel": "P2", "when": {"column": "X1", "above": 0}}, {"panel": "P3"}],
    },
    "python": {"kind": "python", "file": "config/policies/second_look.py", "function": "choose"},
}
FUNCTION = Path(__file__).parents[2] / UNTRAINED["python"]["file"]
_DESCRIPTION = document() | {
    "columns": [{"name": f"X{j}", "type": "numeric", "unit": "1"} for j in range(1, 5)],
    "panels": [
        {"name": "P1", "columns": ["X1"], "free": True},
        {"name": "P2", "columns": ["X2"], "cost": 1},
        {"name": "P3", "columns": ["X3", "X4"], "cost": 1},
    ],
    "label": {
        "column": "Y",
        "classes": [{"name": "no", "values": [0]}, {"name": "yes", "values": [1]}],
    },
    "misclassification_cost": [[0, 1], [1, 0]],
    "missing_values": "induced",
    "split": {"scheme": "counts", "seed": 0, "parts": {"train": 80, "agent": 80, "test": 80}},
}
_DESCRIPTION["source"]["format"] |= {"comment": None, "missing": ["", "NA"]}


def telling_table() -> Table:
    """The small table with a label that panels tell of, errors being worth eight of them."""
    table = small_table()
    label = (table.values @ [0.3, 1.0, 1.0, 0.5] > 0).astype(np.int64)
    return replace(table, label=label, misclassification_cost=8.0 * (1 - np.eye(2)))


def bundle_in(
    folder: Path,
    settings: dict[str, Any],
    given: dict[str, Any],
    policy: Path | pd.DataFrame | None,
) -> Path:
    """The bundle of an agent of the small table, as the stage makes it."""
    folder.mkdir(parents=True, exist_ok=True)
    described = folder.parent / "small.yaml"
    described.write_text(yaml.safe_dump(_DESCRIPTION), encoding="utf-8")
    made = bundle_agent(
        table=given["table"],
        catalogue=given["catalogue"],
        classifier=given["classifier"],
        description=described,
        context=Context(settings, Streams(SEED, "bundle_agent", WHO)),
        policy=read_payload(policy) if isinstance(policy, Path) else policy,
    )
    for name, payload in made.items():
        path = folder / {"cases": "cases.json"}.get(name, f"{name}.safetensors")
        write_bytes(path, payload_bytes(path, payload))
    return folder


def rolled_out(
    settings: dict[str, Any],
    given: dict[str, Any],
    table: Table,
    law: dict[str, Any],
    policy: Path | None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Decisions and outcomes of the roll-out, of all worlds."""
    drawn: dict[str, Any] = draw(table, law, source="induced")
    stored = {"table": given["table"], "catalogue": given["catalogue"]}
    imputed = collected(
        impute_features(
            **stored,
            masks=drawn["masks"],
            context=Context(NO_IMPUTATION, Streams(SEED, "impute_features", WHO)),
        )
    )
    made = collected(
        roll_out(
            **stored,
            classifier=given["classifier"],
            **drawn,
            **imputed,
            context=Context(settings, Streams(SEED, "roll_out", WHO)),
            policy=None if policy is None else read_payload(policy),
        )
    )
    return made["decisions"], pd.concat([made["blocked"], made["worlds"]], ignore_index=True)


def cases_in(path: Path, table: Table, observed: np.ndarray) -> Path:
    """The rows of the table as a CSV of cases, empty where a panel is not observed."""
    values = np.where(table.columns_observed(observed), table.values, np.nan)
    frame = pd.DataFrame(values, columns=list(table.columns))
    frame.insert(0, "unit", table.row_id)
    frame.to_csv(path, index=False)
    return path
