"""A scenario of many rows and two seeds: by several jobs as by one."""

import pandas as pd
import pytest
import yaml

from tests.workflow.runs import ROOT, jobs, snakemake

pytestmark = [pytest.mark.workflow, pytest.mark.trains]
ROWS, MOST = 140_000, 131_072
SHOWN = "results/summary/verdict.txt"
JOINED = ("results/estimates", "results/nuisances", "results/summary")


def write(folder, name, job_rows):
    """Data set and config: two policies, two seeds, all that is slow left out."""
    world = yaml.safe_load((ROOT / ".test/tiny_world.yaml").read_text(encoding="utf-8"))
    world |= {
        "name": "many",
        "split": world["split"] | {"parts": {"train": 500, "agent": ROWS - 4000, "test": 3500}},
    }
    world["source"]["generator"]["population"] = ROWS
    (folder / "many.yaml").write_text(yaml.safe_dump(world), encoding="utf-8")
    tiny = yaml.safe_load((ROOT / ".test/config.yaml").read_text(encoding="utf-8"))
    block = tiny["afape"]
    block |= {
        "job_rows": job_rows,
        "agents": block["agents"] | dict.fromkeys(("dqn", "random_50")),
        "imputation": {"chained_trees": None, "missforest": None, "multiple": None},
        "nuisance": {"method": "logistic", "outcome_method": "boosting", "rows": 5000},
        "evaluation": {
            "resamples": 10,
            "convergence_sizes": [100],
            "hidden_causes": {"rows": 5000},
        },
        "figures": {"frequency_agent": "half", "convergence_agents": ["half"]},
        "scenarios": [block["scenarios"][0] | {"dataset": "many"}],
    }
    block["grid"] = {"agents": ["half"]}
    config = folder / f"{name}.yaml"
    config.write_text(
        yaml.safe_dump({"datasets": {"many": str(folder / "many.yaml")}, "afape": block}),
        encoding="utf-8",
    )
    return config


def test_several_jobs_make_the_bytes_of_one(tmp_path):
    made = {}
    for name, job_rows in (("one", 10 * ROWS), ("several", MOST)):
        config = write(tmp_path, name, job_rows)
        folder = tmp_path / f"run_{name}"
        folder.mkdir()
        done = snakemake(folder, SHOWN, configs=(config,))
        assert done.returncode == 0, done.stdout[-5000:]
        made[name] = (jobs(done.stdout), folder)
    one, several = (count for count, _ in made.values())
    assert (one["roll_out"], several["roll_out"]) == (2, 2 * 2 * 2)  # policies, seeds, rows
    assert (one["estimate_costs"], several["estimate_costs"]) == (1, 2)
    assert "join_seeds" not in one
    assert several["join_seeds"] == 1
    whole, divided = (folder for _, folder in made.values())
    place = "dataset=many/mechanism=mnar"
    compared = 0
    for path in sorted((whole / "results").rglob("*")):
        name = path.relative_to(whole)
        if path.is_file() and name.as_posix().startswith(JOINED) and path.name[0] != "_":
            if path.name in ("propensities.parquet", "agents.parquet"):
                continue
            assert path.read_bytes() == (divided / name).read_bytes(), name
            compared += 1
    assert compared == 14 + 6  # tables of the scenario, files of the summary
    played = whole / "results/rollouts" / place / "agent=half/decisions.parquet"
    parts = sorted(
        (divided / "results/rollouts" / place).glob("seeds=*/agent=half/*/decisions.parquet")
    )
    assert [path.parent.name for path in parts] == ["rows=0-131071", "rows=131072-on"] * 2
    found = pd.concat([pd.read_parquet(path, partitioning=None) for path in parts])
    every = pd.read_parquet(played, partitioning=None)
    order = ["seed", "world", "row_id", "step"]
    one, other = (f.sort_values(order).reset_index(drop=True) for f in (found, every))
    pd.testing.assert_frame_equal(one, other)
    again = snakemake(divided, SHOWN, "-n", configs=(tmp_path / "several.yaml",))
    assert "Nothing to be done" in again.stdout
