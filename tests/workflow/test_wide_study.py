"""A table of 70 panels, 8 of which can be missing, judged in 8 GiB of addresses.

A table of all subsets of 40 panels would be 256 GiB for one unit; 70 do not fit into 64 bits.
"""

import numpy as np
import pandas as pd
import pytest
import yaml

from tests.unit.dataset_documents import document
from tests.workflow import warm_jobs
from tests.workflow.runs import BIN, ROOT, plain_environment, run

pytestmark = pytest.mark.workflow
MEMORY_BYTES = 4 * 2**30  # of addresses, a job; the libraries alone take up to two
ROWS, PANELS, MISSABLE = 300, 70, 8
STATUSES = {"ok", "not_available", "not_identified", "no_support"}

LEFT_OUT = ("random_10", "random_90", "never", "dqn", "sb3_ppo", "sm_ddpo", "cwcf", "greedy")
LEFT_OUT += ("dadi",)


def write_table(folder):
    """A CSV of age, one column a panel and the label, and its description."""
    rng = np.random.default_rng(PANELS)
    values = rng.normal(size=(ROWS, PANELS + 1)).round(3)
    label = np.where(values[:, 1] + values[:, 2] + rng.normal(size=ROWS) > 0, "ill", "well")
    columns = [f"x{j}" for j in range(PANELS + 1)]
    frame = pd.DataFrame(values, columns=columns)
    for j in range(1, MISSABLE + 1):
        frame.loc[rng.random(ROWS) < 0.05, f"x{j}"] = np.nan
    frame.assign(y=label).to_csv(folder / "wide.csv", index=False)
    described = document() | {
        "name": "wide",
        "columns": [{"name": name, "type": "numeric", "unit": "1"} for name in columns],
        "panels": [{"name": "age", "columns": ["x0"], "free": True}]
        + [{"name": f"p{j}", "columns": [f"x{j}"], "cost": 1} for j in range(1, PANELS + 1)],
        "label": {
            "column": "y",
            "classes": [{"name": "well", "values": ["well"]}, {"name": "ill", "values": ["ill"]}],
        },
        "misclassification_cost": [[0, 50], [300, 0]],
        "split": {"scheme": "fractions", "seed": 0, "parts": {"train": 0.3, "test": 0.7}},
    }
    described["source"]["files"] = [{"name": "wide.csv"}]
    (folder / "wide.yaml").write_text(yaml.safe_dump(described), encoding="utf-8")


def write_config(folder):
    """Policies by chance, of fixed panels and by a rule; causes: age, of every panel with gaps."""
    when = {"column": "x1", "above": 0}
    config = {
        "datasets": {"wide": "wide.yaml"},
        "afape": {
            "seeds": [0],
            "classifier": {"trees": 10},
            "agents": dict.fromkeys(LEFT_OUT)
            | {"mine": {"kind": "rule", "steps": [{"panel": "p1"}, {"panel": "p2", "when": when}]}},
            "nuisance": {"method": "logistic", "outcome_method": "boosting"},
            "imputation": {"chained_trees": None, "missforest": None, "multiple": None},
            "evaluation": {"resamples": 20, "convergence_sizes": []},
            "figures": {"frequency_agent": "mine", "convergence_agents": ["mine"]},
            "scenarios": [
                {
                    "dataset": "wide",
                    "mechanism": "own",
                    "missingness": {
                        "source": "own",
                        "panels": {f"p{j}": {"values": ["x0"]} for j in range(1, MISSABLE + 1)},
                    },
                    "nuisance_method": None,
                    "s": None,
                }
            ],
        },
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")


def test_a_wide_table_ends_with_a_summary_and_figures_in_little_memory(tmp_path):
    write_table(tmp_path)
    write_config(tmp_path)
    summary = "results/summary/afape.parquet"
    words = ["--cores", "1", "--directory", str(tmp_path)]
    words += ["--configfile", str(tmp_path / "config.yaml"), "--"]
    done = run(
        [str(BIN / "snakemake"), *words, "afape"],
        ROOT,
        plain_environment() | {warm_jobs.ADDRESSES: str(MEMORY_BYTES)},
    )
    assert done.returncode == 0, done.stdout[-5000:]
    rows = pd.read_parquet(tmp_path / summary, partitioning=None)
    ok = rows["status"] == "ok"
    assert set(rows["status"]) <= STATUSES
    assert np.isfinite(rows.loc[ok, "estimate"]).all()
    assert (rows.loc[~ok, "reason"].str.len() > 20).all()
    status = rows.set_index(["agent", "estimator"])["status"]
    for agent in ("random_50", "always", "mine"):
        for name in ("blocking", "stabilised_ipw", "stabilised_afais_s_policy"):
            assert status[agent, name] == "ok"
