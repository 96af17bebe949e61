"""A table of visits for `frugal init`, and what is read by the YAML that it writes."""

from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from frugal.data.description import load_description
from frugal.data.prepare import prepare
from frugal.data.raw import locate_file
from frugal.run.init_command import init_command

N = 60


def with_gaps(rng: np.random.Generator, word: str) -> np.ndarray:
    return np.where(rng.random(N) < 0.3, word, rng.normal(9, 2, N).round(1).astype(str))


def visits() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    ill = rng.random(N) < 0.3
    return pd.DataFrame(
        {
            "case_id": [f"c{k // 2}" for k in range(N)],
            "row": range(1, N + 1),
            "seen": [f"2026-01-{1 + k % 28:02d}" for k in range(N)],
            "site": "one",
            "age": rng.integers(20, 90, N),
            "sex": rng.choice(["f", "m"], N),
            "lab_crp": with_gaps(rng, ""),
            "lab_pct": with_gaps(rng, "NA"),
            "sofa": np.where(rng.random(N) < 0.2, -9, rng.integers(0, 15, N)),
            "discharged_to": np.where(ill, "ward", "home"),
            "ill": np.where(ill, "yes", "no"),
        }
    )


def init(folder: Path, *words: str, name: str = "t.csv") -> str:
    assert init_command([str(folder / name), "--label", "ill", *words]) == 0
    return (folder / "t.yaml").read_text()


def priced(folder: Path) -> Path:
    """The YAML with every price filled in."""
    path = folder / "t.yaml"
    document = yaml.safe_load(path.read_text())
    for panel in document["panels"]:
        if not panel.get("free"):
            panel["cost"] = 1
    if len(document["label"].get("classes", ())) == 2:
        document["misclassification_cost"] = [[0, 10], [20, 0]]
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    return path


def values_of(path: Path) -> dict[str, np.ndarray]:
    described = load_description(path)
    files = {}
    for file in described.source.files:
        found = locate_file(described, file.name, data_mirror=None)
        assert found is not None
        files[file.name] = found
    table = prepare(described, files, 0).table
    return {name: table.values[:, k] for k, name in enumerate(table.columns)}
